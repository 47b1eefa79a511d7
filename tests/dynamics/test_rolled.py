"""Recursions with their loops kept: the numbers of the straight line, for one state and for many, at any length."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom import dynamics
from elbowroom.algebra import Program, Rolled, Sliced
from elbowroom.algebra import sliced as sliced_module
from elbowroom.algebra.rolling import roll
from elbowroom.compile import compiled, cpu
from elbowroom.dynamics import crba
from elbowroom.dynamics.whole_arm import sliced
from elbowroom.errors import ModelError, TraceError, UnknownNameError
from elbowroom.model import Model, chains
from elbowroom.model.symbolic import RolledModel
from marks import slow_where
from referees import placement
from strategies import examples, robots

CASES = [(name, method) for name, what in dynamics.REGISTRY.items() for method in what.looped]
ROUNDING = 1e-11
"""Of the largest entry: some thousand roundings of 1e-16, and M^-1 of random chains magnifies them up to 1e3 times."""

TINY = 1e-3
"""Where terms of order one cancel to nothing their roundings stay."""


def _kernel(model: Model, name: str, method: str, dtype: type = float) -> cpu.Kernel:
    rolled = dynamics.rolled(model, name, method)
    return compiled(rolled, method=method, dtype=dtype)


def _states(model: Model, name: str, count: int) -> list[np.ndarray]:
    inputs = dynamics.quantity(name).inputs
    return list(np.random.default_rng(0).uniform(-1, 1, (len(inputs), count, model.n)))


def _check(model: Model, name: str, method: str, count: int = 6) -> None:
    """One state against the formulation on floats; a batch against single states, to the last bit."""
    kernel, states = _kernel(model, name, method), _states(model, name, count)
    many = kernel(*states)
    for k in range(count):
        state = [np.ascontiguousarray(x[k]) for x in states]
        expected = dynamics.whole(name, method)(model, *state)
        one, several = kernel(*state), isinstance(expected, tuple)
        for part, wanted in enumerate(expected) if several else [(0, expected)]:
            found, among = (one[part], many[part][k]) if several else (one, many[k])
            assert np.array_equal(found, among)
            assert np.abs(found - wanted).max() <= ROUNDING * (np.abs(wanted).max() + TINY)


def _driven(model: Model) -> Model:
    """With rotors and dry friction in some of the joints."""
    some = np.arange(model.n) % 3 == 0
    return dataclasses.replace(model, rotor_inertia=0.3 * some, coulomb=0.2 * some, viscous=np.full(model.n, 0.1))


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_chain_of_every_kind_of_joint(name: str, method: str) -> None:
    """Turning and sliding joints, with and without drives: a step for each kind."""
    _check(_driven(chains.random(9, 3, kinds="RPRRRPPRR")), name, method)


QUICK = ("gravity_torque", "mass_matrix", "forward_dynamics")


@pytest.mark.parametrize("case", slow_where(lambda case: case[0] not in QUICK, CASES), ids="-".join)
def test_products_with_vectors_keep_their_loops(case: tuple[str, str]) -> None:
    """The Jacobian times a vector against the straight line's, of joints of every kind; a batch has the same bits."""
    model = _driven(chains.random(7, 3, kinds="RPRRPRR"))
    rolled = dynamics.rolled(model, *case)
    product = rolled.jvp()
    assert isinstance(product, Rolled)
    assert [p.name for p in product.inputs] == [p.name + end for end in ("", "_dot") for p in rolled.inputs]
    kernel = compiled(product)
    given_ = list(np.random.default_rng(2).uniform(-1, 1, (len(product.inputs), 3, 7)))
    expected = product.straight().evaluate(*given_)
    many, one = kernel(*given_), kernel(*(x[1] for x in given_))
    several = isinstance(expected, dict)
    triples = zip(expected.values(), many, one, strict=True) if several else [(expected, many, one)]
    for wanted, found, alone in triples:
        assert np.abs(found - wanted).max() <= ROUNDING * (np.abs(wanted).max() + TINY)
        assert np.array_equal(found[1], alone)


def test_a_product_by_one_input_of_several_and_by_none_that_matters() -> None:
    model = chains.random(5, 1)
    q, qd, qdd, v = np.random.default_rng(3).uniform(-1, 1, (4, 5))
    by_qdd = compiled(dynamics.rolled(model, "inverse_dynamics", "rnea").jvp("qdd"))
    M = dynamics.whole("mass_matrix", "crba")(model, q)
    assert np.abs(by_qdd(q, qd, qdd, v) - M @ v).max() <= ROUNDING * np.abs(M).max()
    still = dataclasses.replace(model, gravity=np.zeros(3))
    flat = compiled(dynamics.rolled(still, "gravity_torque", "rnea").jvp())
    assert not flat(q, v).any()


@examples(8)
@given(robots(), st.sampled_from(CASES))
def test_any_arm(model: Model, case: tuple[str, str]) -> None:
    _check(model, *case, count=2)


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize(
    ("name", "method"),
    [("mass_matrix", "crba"), ("mass_matrix", "gdahj"), ("mass_matrix_inverse", "compliance")],
)
def test_every_length(name: str, method: str, n: int) -> None:
    """Fewer joints than lanes, whole blocks of lanes, and blocks with empty places."""
    _check(chains.random(n, 1), name, method, count=5)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_coriolis_matrices_of_every_length(n: int) -> None:
    _check(chains.random(n, 1), "coriolis_matrix", "christoffel", count=3)


@pytest.mark.parametrize(("name", "method"), [("mass_matrix", "gdahj"), ("mass_matrix_inverse", "compliance")])
def test_placements_that_are_no_denavit_hartenberg_rows(name: str, method: str) -> None:
    rng = np.random.default_rng(5)
    poses = [placement(rng) for _ in range(7)]
    E, p = np.array([T[:3, :3] for T in poses]), np.array([T[:3, 3] for T in poses])
    _check(dataclasses.replace(chains.random(7, 1, kinds="RRPRRPR"), E=E, p=p), name, method)


def test_single_precision() -> None:
    model = chains.random(9, 1)
    kernel, (q,) = _kernel(model, "mass_matrix", "gdahj", np.float32), _states(model, "mass_matrix", 9)
    expected = dynamics.gdahj.mass_matrix(model, q[0])
    got = kernel(q.astype(np.float32))
    assert got.dtype == np.float32
    assert np.abs(got[0] - expected).max() < 1e-5 * np.abs(expected).max()  # a hundred roundings of 1e-7


def test_what_is_symmetric_or_zero_is_carried_once() -> None:
    """A composite body is mass, three of h and six of I; with base parameters links that turn have no mass."""
    for model in (chains.random(6, 1), _driven(chains.random(6, 1))):
        loops = dynamics.rolled(model, "mass_matrix", "crba").loops
        assert [len(loop.carried) for loop in loops if loop.form == "inward"] == [9]
    loops = roll(crba.mass_matrix, RolledModel(chains.random(6, 1)), ("q",), (6, 6), name="M", straight=_none).loops
    assert [len(loop.carried) for loop in loops if loop.form == "inward"] == [10]


def _none() -> Program:
    raise NotImplementedError


def test_a_result_that_is_a_number_is_written() -> None:
    """No joint that turns feels a speed here, and what is zero for some joints is not for others."""
    _check(chains.random(3, 1, kinds="PPR"), "coriolis_torque", "rnea")
    _check(chains.random(3, 1, kinds="PRR"), "coriolis_torque", "rnea")


def test_the_code_does_not_grow_with_the_chain() -> None:
    short, long = (dynamics.rolled(chains.random(n, 1), "coriolis_matrix", "christoffel") for n in (5, 80))
    assert [[b.digest for b in x.bodies] for x in short.loops] == [[b.digest for b in x.bodies] for x in long.loops]
    assert long.count.total > 80 * short.count.total  # but the work does, with the square


def test_long_chains_get_loops_and_short_ones_do_not() -> None:
    fastest, *_ = dynamics.quantity("mass_matrix").looped
    joints = dynamics.quantity("mass_matrix").formulation(fastest).loops_from
    f, g = (er.chains.random(n, seed=1).compile("mass_matrix") for n in (joints, joints - 1))
    assert isinstance(f.program, Rolled)
    assert isinstance(g.program, Program)
    assert f.method == fastest
    q = np.linspace(-1, 1, joints)
    assert np.allclose(f.program.evaluate(q), f(q), rtol=0, atol=ROUNDING * np.abs(f(q)).max())
    assert f.count.sincos == 2 * joints
    assert str(f.program).startswith("def mass_matrix(q: (16,)):")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_state_that_is_not_finite_is_refused(bad: float) -> None:
    f = er.chains.random(17, seed=1).compile("mass_matrix")
    Q = np.zeros((7, 17))
    Q[5, 3] = bad
    with pytest.raises(ValueError, match=r"q must be finite; got (nan|inf) at \(5, 3\)"):
        f(Q)


def test_rows_have_no_numbered_joints() -> None:
    with pytest.raises(TraceError, match="indexed by the step's own turn; got 0"):
        RolledModel(chains.random(3, 1)).mass[0]  # type: ignore[index]
    model = RolledModel(chains.random(3, 1))
    with pytest.raises(TypeError):  # loops that are Python's own cannot be kept
        dynamics.lagrange_euler.mass_matrix(model, model.n.input("q"))


def test_pinocchio_on_twenty_joints() -> None:
    pin = pytest.importorskip("pinocchio")
    from elbowroom.bench.peers.dynamics import pinocchio_model

    arm = er.chains.random(20, seed=4)
    model = pinocchio_model(pin, arm.model)
    data = model.createData()
    q, qd, qdd, tau = np.random.default_rng(0).uniform(-1, 1, (4, 20))

    def whole(M: np.ndarray) -> np.ndarray:
        return np.triu(M) + np.triu(M, 1).T

    for got, expected in (
        (arm.mass_matrix(q), whole(pin.crba(model, data, q))),
        (arm.coriolis_matrix(q, qd), pin.computeCoriolisMatrix(model, data, q, qd)),
        (arm.mass_matrix_inverse(q), whole(pin.computeMinverse(model, data, q))),
        (arm.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, q, qd, qdd)),
        (arm.forward_dynamics(q, qd, tau), pin.aba(model, data, q, qd, tau)),
    ):
        assert np.abs(got - expected).max() <= ROUNDING * np.abs(expected).max()


# ---- outside wrenches
WRENCHES = [(name, kind) for name in ("inverse_dynamics", "forward_dynamics") for kind in ("tool", "links")]


@pytest.mark.parametrize(("name", "kind"), WRENCHES)
def test_wrenches_in_loops(name: str, kind: str) -> None:
    """Values and products, forwards and in reverse, of joints of every kind; a batch has the bits of its states."""
    model = _driven(chains.random(7, 3, kinds="RPRRPRR"))
    (method,) = (m for m in dynamics.quantity(name).looped)
    rolled = dynamics.rolled(model, name, method, kind)
    for program in (rolled, rolled.jvp(), rolled.jvp("q"), rolled.vjp("q", "qd")):
        assert isinstance(program, Rolled)
        straight = program.straight()
        assert [(p.name, p.shape) for p in program.inputs] == [(p.name, p.shape) for p in straight.inputs]
        kernel = compiled(program)
        rng = np.random.default_rng(4)
        states = [rng.uniform(-1, 1, (5, *p.shape)) for p in program.inputs]
        many, wanted, one = kernel(*states), straight.evaluate(*states), kernel(*(x[3] for x in states))
        several = isinstance(wanted, dict)
        for a, b, c in zip(many, wanted.values(), one, strict=True) if several else [(many, wanted, one)]:
            assert np.abs(a - b).max() <= ROUNDING * (np.abs(b).max() + TINY)
            assert np.array_equal(a[3], c)


@pytest.mark.parametrize("kind", ["tool", "links"])
def test_a_long_arm_is_pushed_and_undoes_it(kind: str) -> None:
    arm = er.chains.random(30, seed=1)
    q, qd, qdd = np.random.default_rng(5).uniform(-1, 1, (3, 30))
    push = np.random.default_rng(6).uniform(-1, 1, 6 if kind == "tool" else (30, 6))
    kernel = arm._kernel("inverse_dynamics", wrench=kind)
    assert isinstance(kernel.program, Rolled)
    tau = arm.inverse_dynamics(q, qd, qdd, wrench=push)
    assert np.abs(arm.forward_dynamics(q, qd, tau, wrench=push) - qdd).max() < 1e-9  # cond(M) of a random chain
    wanted = dynamics.whole("inverse_dynamics", "rnea")(arm.model, q, qd, qdd, push)
    assert np.abs(tau - wanted).max() <= ROUNDING * np.abs(wanted).max()


def test_a_derivative_of_a_pushed_arm_knows_the_push() -> None:
    """Torques of an arm that is pushed have slopes of their own: the loops of those without a push are not taken."""
    arm = er.chains.random(13, seed=1)
    q, qd, qdd = np.random.default_rng(5).uniform(-1, 1, (3, 13))
    push = np.random.default_rng(6).uniform(-1, 1, 6)
    slopes, h = arm.inverse_dynamics_derivatives(q, qd, qdd, push).dtau_dq, 1e-6
    ends = [arm.inverse_dynamics(q + s * h * np.eye(13)[2], qd, qdd, wrench=push) for s in (1, -1)]
    assert np.abs(slopes[:, 2] - (ends[0] - ends[1]) / (2 * h)).max() <= 1e-7 * np.abs(slopes).max()


def test_a_product_by_the_wrench_in_reverse_is_a_straight_line() -> None:
    rolled = dynamics.rolled(chains.random(5, 3), "inverse_dynamics", "rnea", "tool")
    assert isinstance(rolled.vjp("wrench"), Program)
    assert [p.name for p in rolled.vjp("wrench").outputs] == ["wrench_bar"]


# ---- arrays of three axes
@pytest.mark.parametrize("kinds", ["R", "RPRRP", "PRRRRPR"])
def test_christoffel_symbols_in_loops(kinds: str) -> None:
    rolled = sliced(chains.random(len(kinds), 3, kinds=kinds), "christoffel")
    kernel = compiled(rolled)
    q = np.random.default_rng(7).uniform(-1, 1, (9, len(kinds)))
    many, wanted = kernel(q), rolled.evaluate(q)
    assert np.abs(many - wanted).max() <= ROUNDING * (np.abs(wanted).max() + TINY)
    assert np.array_equal(many, many.swapaxes(2, 3))
    for k in (0, 8):
        assert np.array_equal(kernel(q[k]), many[k])
    single = compiled(rolled, dtype=np.float32)(q.astype(np.float32))
    assert np.abs(single - wanted).max() <= 1e-5 * (np.abs(wanted).max() + TINY)


def test_long_arms_take_them() -> None:
    short, long = er.chains.random(14, seed=1), er.chains.random(40, seed=1)
    assert isinstance(short.compile("christoffel").program, Program)
    kernel = long.compile("christoffel")
    assert isinstance(kernel.program, Sliced)
    assert kernel.count.total == 40 * long.compile("coriolis_matrix").count.total
    q, qd = np.random.default_rng(8).uniform(-1, 1, (2, 40))
    wanted = long.coriolis_torque(q, qd)
    found = np.einsum("ijk,j,k->i", kernel(q), qd, qd)
    assert np.abs(found - wanted).max() <= ROUNDING * np.abs(wanted).max()


def test_products_of_christoffel_symbols_keep_their_loops() -> None:
    product = sliced(chains.random(4, 3, kinds="RPRR"), "christoffel").jvp()
    assert isinstance(product, Sliced)
    assert [p.name for p in product.inputs] == ["q", "q_dot"]
    q, dot = np.random.default_rng(9).uniform(-1, 1, (2, 5, 4))
    wanted = product.evaluate(q, dot)
    assert np.abs(compiled(product)(q, dot) - wanted).max() <= ROUNDING * np.abs(wanted).max()
    with pytest.raises(UnknownNameError, match="no input 'qd'"):
        sliced(chains.random(4, 3), "christoffel").jvp("qd")
    assert isinstance(sliced(chains.random(4, 3), "christoffel").vjp(), Program)
    with pytest.raises(UnknownNameError, match="no input 'qd'"):
        sliced(chains.random(4, 3), "christoffel").vjp("qd")


def test_an_adjoint_of_christoffel_symbols_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the operations of one slice, before the others are traced; by all of them; by its own."""
    many = r"christoffel: vjp\('q'\): expected up to [\d,]+ .* for {} joints there are about {} and {}; jvp\('q'\)"
    long = sliced(chains.random(50, 1), "christoffel")
    untraced = dataclasses.replace(long, straight=lambda: pytest.fail("all slices were traced"))
    with pytest.raises(ModelError, match=many.format(50, r"4,\d{3},\d{3}", "125,050")):
        untraced.vjp("q")
    short = sliced(chains.random(4, 3), "christoffel")
    lines = short.straight().count.total * 5 // 2
    monkeypatch.setattr(sliced_module, "MOST_OPERATIONS", lines - 1)
    with pytest.raises(ModelError, match=many.format(4, f"{lines:,}", 68)):
        short.vjp("q")
    flat = sliced(chains.planar(8), "christoffel")
    lines, exact = flat.straight().count.total * 5 // 2, flat.straight().vjp("q").count.total
    assert exact > lines
    monkeypatch.setattr(sliced_module, "MOST_OPERATIONS", exact - 1)
    with pytest.raises(ModelError, match=many.format(8, f"{exact:,}", 520)):
        flat.vjp("q")
    monkeypatch.setattr(sliced_module, "MOST_OPERATIONS", exact)
    assert flat.vjp("q").count.total == exact
    monkeypatch.setattr(sliced_module, "MOST_GIVEN", 519)
    untraced = dataclasses.replace(flat, straight=lambda: pytest.fail("all slices were traced"))
    with pytest.raises(ModelError, match=many.format(8, r"[\d,]+", 520)):
        untraced.vjp("q")
