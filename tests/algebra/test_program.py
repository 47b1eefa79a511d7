"""Program: traced, evaluated on many states, printed, hashed and counted."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom import dynamics
from elbowroom.algebra import Count, absolute, cos, maximum, minimum, sin, sqrt, where
from elbowroom.errors import ShapeError, TraceError
from strategies import examples


def norm(_, v):
    return sqrt(v @ v)


# Random expressions: the Program against the same text on floats.

# Constants are powers of two, so that regrouping them, (x c) d = x (c d) and x / c = x (1/c), rounds nothing: the two
# must then be equal to the last bit, and no comparison can fall on the other side.
LEAVES = st.sampled_from(["x", "y", "z"]) | st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, -0.25, 4])
OPS = {
    "add": lambda a, b, v: a + b,
    "sub": lambda a, b, v: a - b,
    "mul": lambda a, b, v: a * b,
    "div": lambda a, b, v: a / (v["z"] * v["z"] + 2.0),
    "over": lambda a, b, v: -b / (-1.0 - v["x"] * v["x"]),
    "half": lambda a, b, v: a / -2,
    "neg": lambda a, b, v: -a,
    "min": lambda a, b, v: minimum(a, b),
    "max": lambda a, b, v: maximum(a, b),
    "sin": lambda a, b, v: sin(a),
    "cos": lambda a, b, v: cos(b),
    "sqrt": lambda a, b, v: sqrt(a * a + 1.0),
    "abs": lambda a, b, v: absolute(a),
    "less": lambda a, b, v: where(a < b, a, b * 2),
    "within": lambda a, b, v: where((v["y"] < b) & (v["x"] <= 1), a, b - 1),
    "either": lambda a, b, v: where((v["x"] >= a) | ~(v["y"] > 0), a + 1, b),
}
TREES = st.recursive(LEAVES, lambda t: st.tuples(st.sampled_from(sorted(OPS)), t, t), max_leaves=25)


def build(tree, values):
    if isinstance(tree, tuple):
        name, a, b = tree
        return OPS[name](build(a, values), build(b, values), values)
    return values[tree] if isinstance(tree, str) else tree


@given(st.lists(TREES, min_size=1, max_size=3), st.integers(0, 1000), st.booleans())
@examples(300)
def test_a_program_is_the_function_to_the_last_bit(trees, seed, share):
    def function(_, **values):
        return {f"out{k}": build(tree, values) for k, tree in enumerate(trees)}

    program = er.trace(function, None, {"x": (), "y": (), "z": ()}, share=share)
    for state in np.random.default_rng(seed).uniform(-2, 2, (3, 3)):
        got = program.evaluate(*state)
        for k, tree in enumerate(trees):
            expected = np.float64(build(tree, dict(zip("xyz", state, strict=True))))
            assert (got[f"out{k}"] if isinstance(got, dict) else got) == expected


# Inputs and outputs.


def test_named_shaped_inputs_and_outputs():
    def both(_, A, v, s):
        return {"scaled": A @ v * s, "norm": sqrt(v @ v)}

    program = er.trace(both, None, {"A": (2, 3), "v": (3,), "s": ()}, name="both")
    assert [(p.name, p.shape) for p in program.inputs] == [("A", (2, 3)), ("v", (3,)), ("s", ())]
    assert [(p.name, p.shape) for p in program.outputs] == [("scaled", (2,)), ("norm", ())]
    rng = np.random.default_rng(1)
    A, v, s = rng.normal(size=(5, 4, 2, 3)), rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 4))
    out = program.evaluate(A, v, s)
    assert np.allclose(out["scaled"], np.einsum("abij,abj->abi", A, v) * s[..., None], rtol=1e-13)
    assert np.allclose(out["norm"], np.linalg.norm(v, axis=-1), rtol=1e-15)
    one = program.evaluate(v=v[0, 0], s=s[0, 0], A=A[0, 0])
    assert np.array_equal(one["scaled"], out["scaled"][0, 0])
    assert one["norm"].shape == ()


def test_a_named_tuple_and_a_tuple_become_named_outputs():
    class Pair(NamedTuple):
        first: object
        second: object

    program = er.trace(lambda _, x: Pair(x + 1, x * 2), None, {"x": ()})
    assert [p.name for p in program.outputs] == ["first", "second"]
    program = er.trace(lambda _, x: (x + 1, x * 2), None, {"x": ()}, output="part")
    assert [p.name for p in program.outputs] == ["part0", "part1"]


def test_a_constant_output_fills_the_batch():
    program = er.trace(lambda _, x: np.array([x * 0, 2.0, x], dtype=object), None, {"x": ()})
    assert np.array_equal(program.evaluate(np.array([5.0, 6.0])), [[0, 2, 5], [0, 2, 6]])


def test_an_empty_batch_gives_an_empty_result():
    assert er.trace(norm, None, {"v": (3,)}).evaluate(np.empty((0, 3))).shape == (0,)


def test_what_no_output_needs_is_gone():
    def wasteful(_, x, y):
        _ = sin(y) * cos(x) + y / x
        return x * 2

    program = er.trace(wasteful, None, {"x": (), "y": ()})
    assert program.count == Count(mul=1)
    assert program.evaluate(3.0, 0.0) == 6.0


def test_bad_inputs_are_named():
    program = er.trace(norm, None, {"v": (3,)})
    with pytest.raises(ShapeError, match=r"norm: v must have shape \(3,\).*got \(4,\)"):
        program.evaluate(np.zeros(4))
    with pytest.raises(ShapeError, match=r"norm.*v.*missing: v; unknown: w"):
        program.evaluate(w=np.zeros(3))
    with pytest.raises(ShapeError, match="takes 1 inputs"):
        program.evaluate(np.zeros(3), np.zeros(3))
    two = er.trace(lambda _, a, b: a @ b, None, {"a": (3,), "b": (3,)})
    with pytest.raises(ShapeError, match="one batch shape"):
        two.evaluate(np.zeros((2, 3)), np.zeros((4, 3)))
    with pytest.raises(ShapeError, match="one batch shape"):
        two.evaluate(np.zeros((2, 3)), np.zeros(3))


def test_symbols_traced_twice_are_refused_or_give_the_same():
    """A symbolic model is for one trace; what the first left in its graph must not become an input of the second."""
    symbols = er.load("planar2").model.symbolic()
    first = er.trace(dynamics.crba.mass_matrix, symbols, {"q": (2,)})
    try:
        second = er.trace(dynamics.crba.mass_matrix, symbols, {"q": (2,)})
    except TraceError:
        return
    assert [p.name for p in second.inputs] == [p.name for p in first.inputs]


# Printing.


def test_it_prints_as_readable_code():
    program = er.trace(norm, None, {"v": (2,)}, output="length")
    lines = str(program).splitlines()
    assert lines[0] == "def norm(v: (2,)):"
    assert lines[1].endswith("= v[0] * v[0]")
    assert lines[2].endswith("= v[1] * v[1]")
    assert "sqrt(t" in lines[4]
    assert lines[5].strip().startswith("length = array((), [t")
    assert lines[-1] == "    return length"


def test_what_it_prints_is_what_it_does():
    """The printed text, run by Python itself, gives the same numbers."""

    def function(_, x, v):
        return where(x < v[0], minimum(x, 2.0) - v[1], -absolute(x / v[1]) + cos(x))

    program = er.trace(function, None, {"x": (), "v": (2,)})
    names = {"sqrt": np.sqrt, "cos": np.cos, "sin": np.sin, "array": lambda shape, items: np.reshape(items, shape)}
    exec(str(program).replace("(x: (), v: (2,))", "(x, v)"), names)
    for x, v in ((0.5, [1.0, 3.0]), (4.0, [1.0, -3.0]), (2.5, [3.0, 2.0])):
        assert names["function"](x, v) == program.evaluate(x, v)


# Hashing.

STABLE = """
import elbowroom as er, numpy as np
from elbowroom import dynamics
m = er.load("panda").model
print(m.digest, dynamics.program(m, "mass_matrix", "crba").digest, dynamics.program(m, "coriolis_matrix", "gda").digest)
"""


def test_digests_are_the_same_in_every_process():
    """PYTHONHASHSEED shuffles sets and dicts of strings between processes; the digest must not notice."""

    def digests(seed):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", STABLE], capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout.split()

    first = digests("1")
    assert first == digests("2")
    assert len(set(first)) == 3
    assert all(len(d) == 64 for d in first)
    m = er.load("panda").model
    assert first[0] == m.digest
    assert first[1] == dynamics.program(m, "mass_matrix", "crba").digest


def test_equal_programs_are_equal_and_others_not():
    one, same = (er.trace(norm, None, {"v": (3,)}) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != er.trace(norm, None, {"v": (2,)})
    assert one != er.trace(lambda _, u: sqrt(u @ u), None, {"u": (3,)}), "an input of another name"
    assert one != er.trace(norm, None, {"v": (3,)}, output="length")
    assert er.trace(lambda _, x: x * 2, None, {"x": ()}) != er.trace(lambda _, x: x * 3, None, {"x": ()})
    assert er.trace(lambda _, x: x * 2, None, {"x": ()}) != er.trace(lambda _, x: x + 2, None, {"x": ()})
    tiny = er.trace(lambda _, x: x * (1 + 1e-15), None, {"x": ()})
    assert tiny != er.trace(lambda _, x: x * (1 + 2e-15), None, {"x": ()}), "every bit of a constant counts"
    assert one != "norm"


def test_a_change_of_the_model_changes_the_program():
    m = er.load("panda").model
    heavier = m.with_payload(1e-6)
    assert dynamics.program(m, "mass_matrix", "crba") != dynamics.program(heavier, "mass_matrix", "crba")


# Counting.


def test_kinds_of_operations():
    def function(_, x, y):
        return sqrt(x * y) / (x + y) - sin(x) * cos(y) + where(x < y, minimum(x, y), absolute(x))

    count = er.trace(function, None, {"x": (), "y": ()}).count
    assert (count.mul, count.add, count.div, count.sqrt, count.sincos) == (2, 3, 1, 1, 2)
    assert count.other == 4  # <, min, abs and the choice between them
    assert count.total == 2 + 3 + 1 + 1
    assert str(count) == "2 multiplications, 3 additions, 1 divisions, 1 roots, 2 sines and cosines"


def test_negations_are_free_but_listed():
    count = er.trace(lambda _, x, y: -(x * y), None, {"x": (), "y": ()}).count
    assert count == Count(mul=1, neg=1)
    assert count.total == 1


def test_what_is_done_with_parameters_alone_is_offline():
    from elbowroom.algebra import Graph

    class Symbols:
        graph = Graph()
        a = graph.input("a", parameter=True)
        b = graph.input("b", parameter=True)

    def function(s, x):
        return (s.a * s.b + sin(s.a)) * x + s.b

    program = er.trace(function, Symbols, {"x": ()})
    assert program.count == Count(mul=1, add=1)
    assert {p.name: p.parameter for p in program.inputs} == {"x": False, "a": True, "b": True}
    xs = np.array([1.0, 2.0])
    assert np.allclose(program.evaluate(xs, a=0.5, b=3.0), (1.5 + np.sin(0.5)) * xs + 3.0, rtol=1e-15)


def test_a_hundred_thousand_operations_trace_and_evaluate():
    """A long chain of operations neither recurses nor piles up (no time is asserted)."""

    def long(_, x, y):
        for _ in range(50_000):
            x = x * y + 1.0
        return x

    program = er.trace(long, None, {"x": (), "y": ()})
    assert program.count.total == 100_000
    assert program.evaluate(0.0, 0.5) == pytest.approx(2.0, rel=1e-12)  # the sum of 2^-k
