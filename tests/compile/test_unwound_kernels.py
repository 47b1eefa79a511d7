"""Reverse derivatives of loops: beside complex steps through the loop itself, and as machine code of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import Repeated, Unwound, cos, maximum, sin, sqrt, trace, where
from elbowroom.algebra.program import Program
from elbowroom.compile import compiled, engine, llvm
from elbowroom.errors import UnknownNameError

STEP = 1e-30


def _moved(_, a, b, still, gain):
    """Values that change places, an input that nobody reads, one that stays, a number, the turn before's value."""
    return {
        "a": np.array([a[1], a[2], a[0], sin(a[3]) + b[0] * gain[0], a[4], 0.25]),
        "b": np.array([a[3], where(a[3] < b[1], b[1], -b[0])]),
        "before": a[3:4],
        "gained": gain[1:] * a[0],
    }


def _follow(_, x, point, stiffness, dt):
    """A point that is drawn along a path, whose rows are its points; results that are not fed back."""
    pull = stiffness * (point - x[:3])
    speed = x[3:] * (1.0 - 0.3 * dt) + pull * dt
    place = x[:3] + speed * dt
    return {
        "x": np.concatenate([place, speed]),
        "distance": sqrt(0.1 + (point - place) @ (point - place)),
        "turned": maximum(cos(place[0]), stiffness * 0.1),
    }


def _long(_, x, a):
    """So many operations that they are cut into functions."""
    x = x.copy()
    for k in range(900):
        i, j = k % 6, (k * 5 + 1) % 6
        x[i] = x[i] * 0.9 + 0.1 * a[j] * x[j]
    return {"x": x, "sum": x @ a}


MOVED = trace(_moved, None, {"a": (6,), "b": (2,), "still": (2,), "gain": (2,)}, name="moved")
FOLLOW = trace(_follow, None, {"x": (6,), "point": (3,), "stiffness": (), "dt": ()}, name="follow")
LONG = trace(_long, None, {"x": (6,), "a": (6,)}, name="long")
CASES = {
    "one turn": Repeated(FOLLOW, 1, rows="point"),
    "two turns": Repeated(FOLLOW, 2, rows="point"),
    "rows": Repeated(FOLLOW, 7, rows="point"),
    "the same point": Repeated(FOLLOW, 6),
    "moved": Repeated(MOVED, 5),
    "moved, even": Repeated(MOVED, 4),
    "cut into functions": Repeated(LONG, 3),
}


def states(program, *batch, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-0.5, 0.5, p.shape if p.shared else (*batch, *p.shape)) for p in program.inputs]


def several(found):
    return list(found.values()) if isinstance(found, dict) else list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_a_complex_step_through_the_loop(case):
    repeated = CASES[case]
    found = repeated.vjp()
    assert isinstance(found, Unwound)
    given, count = states(found), len(repeated.inputs)
    bars = given[count:]
    slopes = several(found.evaluate(*given))
    for k, slope in enumerate(slopes):
        for index in np.ndindex(slope.shape):
            moved = [x.astype(complex) for x in given[:count]]
            moved[k][index] += STEP * 1j
            ends = several(repeated.evaluate(*moved, dtype=complex))
            wanted = sum((bar * end.imag).sum() for bar, end in zip(bars, ends, strict=True)) / STEP
            assert abs(slope[index] - wanted) <= 1e-12 * (1.0 + abs(wanted)), (case, k, index)


@pytest.mark.parametrize("case", CASES)
def test_one_state_and_a_batch_have_the_same_bits(case):
    program = CASES[case].vjp()
    kernel, batch = compiled(program), 13
    given = states(program, batch)
    many = several(kernel(*given))
    for a, b in zip(many, several(program.evaluate(*given)), strict=True):
        assert np.abs(a - b).max() <= 1e-13 * (1.0 + np.abs(b).max())
    for k in (0, 5, 12):
        one = several(kernel(*(x if p.shared else x[k] for x, p in zip(given, program.inputs, strict=True))))
        assert all(np.array_equal(a[k], b) for a, b in zip(many, one, strict=True))


@pytest.mark.parametrize("case", ["rows", "moved", "cut into functions"])
def test_single_precision(case):
    program = CASES[case].vjp()
    given = states(program, 5)
    found = several(compiled(program, dtype=np.float32)(*(x.astype(np.float32) for x in given)))
    for a, b in zip(found, several(program.evaluate(*given)), strict=True):
        assert np.abs(a - b).max() <= 1e-5 * (1.0 + np.abs(b).max())


@pytest.mark.parametrize("case", CASES)
def test_blocks_of_columns_are_compiled(case):
    text = llvm.module(CASES[case].vjp(), engine.host(), np.dtype(np.float64), "columns")
    assert engine.object_code(text, engine.host())


def test_by_some_of_the_inputs():
    repeated = CASES["rows"]
    found, every = repeated.vjp("stiffness"), repeated.vjp()
    assert [p.name for p in found.outputs] == ["stiffness_bar"]
    given = states(every, 4)
    assert np.allclose(compiled(found)(*given), compiled(every)(*given).stiffness_bar, rtol=1e-13)
    points = repeated.vjp("point")
    assert [(p.name, p.shape) for p in points.outputs] == [("point_bar", (7, 3))]
    assert np.allclose(compiled(points)(*given), compiled(every)(*given).point_bar, rtol=1e-13)
    with pytest.raises(UnknownNameError, match="follow has no input 'stifness'; did you mean stiffness"):
        repeated.vjp("stifness")


def test_the_loop_is_kept():
    few, many = Repeated(FOLLOW, 3, rows="point").vjp(), Repeated(FOLLOW, 300, rows="point").vjp()
    lengths = [llvm.module(x, engine.host(), np.dtype(np.float64), "one").count("\n") for x in (few, many)]
    assert lengths[1] < lengths[0] + 20  # of them those that take memory from the heap
    assert isinstance(many.back, Program)
    assert many.count.total == 299 * many.forth.count.total + 300 * many.back.count.total
    assert few.digest != many.digest
