"""Vectors times Jacobians with loops kept: beside the straight line, forward products and complex steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom import dynamics
from elbowroom.algebra import Program, Rolled
from elbowroom.compile import compiled
from elbowroom.dynamics.whole_arm import rolled_slopes
from elbowroom.model import Model, chains
from marks import slow_where
from strategies import examples, robots

CASES = [(name, method) for name, what in dynamics.REGISTRY.items() for method in what.looped]
ROUNDING = 1e-11
"""Of the largest number: some thousand roundings of 1e-16, and M^-1 of random chains magnifies them up to 1e3 times."""

TINY = 1e-3
"""Where terms of order one cancel to nothing their roundings stay."""


def _driven(model: Model) -> Model:
    """With rotors and dry friction in some of the joints."""
    some = np.arange(model.n) % 3 == 0
    return dataclasses.replace(model, rotor_inertia=0.3 * some, coulomb=0.2 * some, viscous=np.full(model.n, 0.1))


def _several(found):
    return tuple(found.values()) if isinstance(found, dict) else found if isinstance(found, tuple) else (found,)


def _given(program, *batch: int, seed: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (*batch, *p.shape)) for p in program.inputs]


def _agree(found, wanted) -> None:
    for a, b in zip(_several(found), _several(wanted), strict=True):
        assert np.abs(a - b).max() <= ROUNDING * (np.abs(b).max() + TINY)


QUICK = ("gravity_torque", "mass_matrix", "forward_dynamics")


@pytest.mark.parametrize("case", slow_where(lambda case: case[0] not in QUICK, CASES), ids="-".join)
def test_loops_are_kept_in_reverse(case: tuple[str, str]) -> None:
    """Against the straight line's, of joints of every kind; a batch has the same bits as its states alone."""
    rolled = dynamics.rolled(_driven(chains.random(7, 3, kinds="RPRRPRR")), *case)
    product = rolled.vjp()
    assert isinstance(product, Rolled)
    straight = product.straight()
    assert [(p.name, p.shape) for p in product.inputs] == [(p.name, p.shape) for p in straight.inputs]
    assert [(p.name, p.shape) for p in product.outputs] == [(p.name, p.shape) for p in straight.outputs]
    kernel, states = compiled(product), _given(product, 6)
    many = kernel(*states)
    _agree(many, straight.evaluate(*states))
    for a, b in zip(_several(many), _several(kernel(*(x[4] for x in states))), strict=True):
        assert np.array_equal(a[4], b)


@examples(12)
@given(robots(), st.sampled_from(CASES))
def test_any_arm_gives_the_same_number_forwards_and_in_reverse(model: Model, case: tuple[str, str]) -> None:
    """y_bar . (J x_dot) = (y_bar J) . x_dot."""
    rolled = dynamics.rolled(model, *case)
    forward, reverse = rolled.jvp(), rolled.vjp()
    n = len(rolled.inputs)
    x, dots = _given(forward)[:n], _given(forward)[n:]
    bars = _given(reverse, seed=5)[n:]
    ahead = [bar * y for bar, y in zip(bars, _several(compiled(forward)(*x, *dots)), strict=True)]
    back = [y * dot for dot, y in zip(dots, _several(compiled(reverse)(*x, *bars)), strict=True)]
    size = sum(np.abs(part).sum() for part in (*ahead, *back))
    assert abs(sum(part.sum() for part in ahead) - sum(part.sum() for part in back)) <= ROUNDING * (size + TINY)


@examples(8)
@given(
    robots(), st.sampled_from([("inverse_dynamics", "rnea"), ("forward_dynamics", "brandl"), ("mass_matrix", "gdahj")])
)
def test_any_arm_agrees_with_a_complex_step(model: Model, case: tuple[str, str]) -> None:
    """Without dry friction, whose jump a complex number does not know."""
    model = dataclasses.replace(model, coulomb=np.zeros(model.n))
    rolled = dynamics.rolled(model, *case)
    reverse = compiled(rolled.vjp())
    x = _given(rolled)
    (bar,) = _given(rolled.vjp(), seed=5)[len(x) :]
    found = _several(reverse(*x, bar))
    for k, slopes in enumerate(found):
        for i in range(model.n):
            moved = [a.astype(complex) for a in x]
            moved[k][i] += 1e-30j
            wanted = (bar * np.asarray(rolled.straight().evaluate(*moved, dtype=complex)).imag).sum() / 1e-30
            assert abs(slopes[i] - wanted) <= ROUNDING * (np.abs(slopes).max() + np.abs(bar).sum())


@pytest.mark.parametrize("n", [50, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case", [("inverse_dynamics", "rnea"), ("forward_dynamics", "brandl"), ("mass_matrix", "gdahj")], ids="-".join
)
def test_long_chains(n: int, case: tuple[str, str]) -> None:
    """Forwards and in reverse, and the derivative by unit vectors in a batch."""
    rolled = dynamics.rolled(chains.random(n, 1), *case)
    forward, reverse = rolled.jvp("q"), rolled.vjp("q")
    assert isinstance(reverse, Rolled)
    x = _given(rolled)
    (bar,) = _given(reverse, seed=5)[len(x) :]
    columns = compiled(forward)(*(np.tile(a, (n, 1)) for a in x), np.eye(n))  # row k: by joint k
    wanted = (columns * bar).reshape(n, -1).sum(axis=1)
    size = np.abs(columns * bar).reshape(n, -1).sum(axis=1).max()
    assert np.abs(compiled(reverse)(*x, bar) - wanted).max() <= ROUNDING * size


@pytest.mark.parametrize("ways", ["vjp jvp", "jvp vjp", "vjp vjp"])
def test_second_derivatives_keep_their_loops_where_there_is_no_matrix(ways: str) -> None:
    first, second = ways.split()
    rolled = dynamics.rolled(chains.random(5, 3, kinds="RPRRP"), "inverse_dynamics", "rnea")
    product = getattr(getattr(rolled, first)("q"), second)("q")
    assert isinstance(product, Rolled)
    x = _given(product)
    _agree(compiled(product)(*x), product.straight().evaluate(*x))


@pytest.mark.parametrize("way", ["vjp", "jvp"])
def test_an_adjoint_of_a_matrix_is_differentiated_as_a_straight_line(way: str) -> None:
    rolled = dynamics.rolled(chains.random(4, 3), "mass_matrix", "gdahj")
    product = getattr(rolled.vjp(), way)()
    assert isinstance(product, Program)
    x = _given(product)
    _agree(compiled(product)(*x), getattr(rolled.straight().vjp(), way)().evaluate(*x))


def test_several_matrices_and_some_of_the_inputs() -> None:
    rolled = rolled_slopes(_driven(chains.random(6, 3, kinds="RPRRPR")), "inverse_dynamics", ("q", "qd"))
    product = rolled.vjp("qd", "q")
    assert isinstance(product, Rolled)
    assert [p.name for p in product.outputs] == ["qd_bar", "q_bar"]
    x = _given(product)
    _agree(compiled(product)(*x), product.straight().evaluate(*x))


def test_an_input_that_does_not_matter_has_an_adjoint_of_zero() -> None:
    still = dataclasses.replace(chains.random(5, 1), gravity=np.zeros(3))
    assert not compiled(dynamics.rolled(still, "gravity_torque", "rnea").vjp())(*np.ones((2, 5))).any()
    M = dynamics.rolled(chains.random(5, 1), "inverse_dynamics", "rnea").vjp("qdd")
    assert len(M.loops) < len(dynamics.rolled(chains.random(5, 1), "inverse_dynamics", "rnea").vjp().loops)


def test_operations_of_a_reverse_product_are_counted() -> None:
    rolled = dynamics.rolled(chains.random(20, 1), "mass_matrix", "gdahj")
    assert rolled.count.total < rolled.vjp().count.total < 6 * rolled.count.total
    assert rolled.vjp().digest != rolled.vjp("q").jvp("q").digest


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [(0, 0, 0), (12, 24, 24), (7, 3, 9)], ids=str)
def test_what_is_not_finite_is_found_in_a_long_input(value: float, where: tuple[int, int, int]) -> None:
    """Of more numbers than are looked at one by one, in a whole block of states and in what is left over."""
    kernel = compiled(dynamics.rolled(chains.random(25, 1), "mass_matrix", "gdahj").vjp())
    q, bars = np.random.default_rng(0).uniform(-1, 1, (13, 25)), np.ones((13, 25, 25))
    kernel(q, bars)
    bars[where] = value
    with pytest.raises(ValueError, match="mass_matrix_bar must be finite"):
        kernel(q, bars)
