"""Rearranged programs: the same numbers up to rounding, in fewer operations; each liberty that is taken, by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom import dynamics
from elbowroom.algebra import cos, maximum, sin, sqrt, trace, where
from elbowroom.algebra.rearrange import rearranged
from elbowroom.dynamics import whole_arm
from strategies import examples


def program(function):
    """Of three scalars."""
    return trace(lambda _, x, y, z: function(x, y, z), None, {"x": (), "y": (), "z": ()})


LIBERTIES = {
    "constants of a product": (lambda x, y, z: (x + x) * 0.5, 0),
    "constants of a sum": (lambda x, y, z: (0.5 - x + 1.25) - 0.75, 1),
    "equal terms": (lambda x, y, z: x * 3.0 + y * x - x * 3.0, 1),
    "multiples": (lambda x, y, z: x * 3.0 + x * 4.0 - x, 1),
    "what was added is taken off": (lambda x, y, z: ((x + y) - y) * ((z - x) + x), 1),
    "the other way round": (lambda x, y, z: (x - (x + y)) * (z - (z - x)), 1),
    "a common factor": (lambda x, y, z: x * y + x * z, 2),
    "a common constant": (lambda x, y, z: x * 0.3 - z * 0.3 + y, 3),
    "a factor across a tree": (lambda x, y, z: (x * y + z) - (x * sin(z) + x * x), 4),
    "inside a function": (lambda x, y, z: sqrt(maximum((x * x + x * x) * 0.5, 0.0)), 2),
    "inside a choice": (lambda x, y, z: where((x < y) & ~(y < z), x + x - x, cos(x - y + y)), 0),
}


@pytest.mark.parametrize("what", LIBERTIES)
def test_each_liberty(what):
    function, operations = LIBERTIES[what]
    given_, found = program(function), rearranged(program(function))
    assert found.count.total == operations < given_.count.total
    args = np.random.default_rng(1).normal(size=(3, 50))
    assert found.evaluate(*args) == pytest.approx(given_.evaluate(*args), rel=1e-13, abs=1e-13)  # a few roundings


def test_a_product_that_others_read_stays():
    """Taking x out would leave the products to be made all the same."""

    def function(x, y, z):
        a, b = x * y, x * z
        return np.array([a + b, a, b], dtype=object)

    assert rearranged(program(function)).digest == program(function).digest


def test_ports_names_and_shapes_stay():
    traced = trace(lambda _, q: {"M": np.outer(q, q) + np.outer(q, q), "g": q[0] - q[0]}, None, {"q": (2,)}, name="f")
    found = rearranged(traced)
    assert (found.name, found.inputs, found.outputs) == (traced.name, traced.inputs, traced.outputs)
    assert found.evaluate(np.array([2.0, 3.0]))["M"].tolist() == [[8, 12], [12, 18]]


TREES = st.recursive(
    st.sampled_from(["x", "y", "z", 0.5, -2.0, 3.0]),
    lambda t: st.tuples(st.sampled_from(["+", "-", "*"]), t, t),
    max_leaves=30,
)


def built(tree, leaves):
    if not isinstance(tree, tuple):
        return leaves.get(tree, tree)
    name, a, b = tree
    a, b = built(a, leaves), built(b, leaves)
    return a + b if name == "+" else a - b if name == "-" else a * b


@given(st.lists(TREES, min_size=1, max_size=3))
@examples(150)
def test_polynomials_with_small_whole_numbers_are_exact(trees):
    """On these inputs most results are exact, whatever the order; none may cost more than before."""
    traced = program(lambda x, y, z: np.array([built(t, {"x": x, "y": y, "z": z}) for t in trees], dtype=object))
    found = rearranged(traced)
    assert found.count.total <= traced.count.total
    args = [np.array([1.0, -3.0, 2.0]), np.array([2.0, 1.0, -1.0]), np.array([4.0, 2.0, -3.0])]
    size = [np.abs(a) + 3.0 for a in args]  # every term taken positive: what rounding may be measured by
    bound = program(lambda x, y, z: np.array([built(_positive(t), {"x": x, "y": y, "z": z}) for t in trees]))
    slack = 1e-14 * bound.evaluate(*size)
    assert (np.abs(found.evaluate(*args) - traced.evaluate(*args)) <= slack).all()


def _positive(tree):
    if isinstance(tree, tuple):
        name, a, b = tree
        return ("+" if name == "-" else name), _positive(a), _positive(b)
    return abs(tree) if isinstance(tree, float) else tree


def test_an_arms_program_is_rearranged_and_symbols_are_not(monkeypatch):
    model = er.load("ur5e").model
    shorter = dynamics.program(model, "mass_matrix", "crba")
    general = dynamics.program(model.symbolic(), "mass_matrix", "crba").digest
    monkeypatch.setattr(whole_arm, "LARGE", 0)
    assert shorter.count.total < dynamics.program(model, "mass_matrix", "crba").count.total
    monkeypatch.setattr(whole_arm, "rearranged", None)
    assert dynamics.program(model.symbolic(), "mass_matrix", "crba").digest == general
