"""Repeated: a program run on what it returned, as data."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import Repeated, trace
from elbowroom.errors import ShapeError


def _step(_, x, v, gain):
    return {"v": v - gain * x[:2], "x": np.array([x[0] + v[0], x[1] + v[1], x[0]]), "sum": x[0] + v[0]}


PROGRAM = trace(_step, None, {"x": (3,), "v": (2,), "gain": ()}, name="step")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("times", [1, 2, 7])
def test_it_is_the_program_run_on_what_it_returned(times, dtype):
    rng = np.random.default_rng(0)
    x, v, gain = rng.normal(size=(5, 3)), rng.normal(size=(5, 2)), rng.normal(size=5)
    found = Repeated(PROGRAM, times).evaluate(x, v=v, gain=gain, dtype=dtype)
    values = {"x": x, "v": v}
    for _ in range(times):
        wanted = PROGRAM.evaluate(**values, gain=gain, dtype=dtype)
        values = {name: wanted[name] for name in values}
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].dtype == dtype
        np.testing.assert_array_equal(found[name], value)


def test_a_single_output_comes_as_an_array():
    halved = trace(lambda _, x: {"x": x * 0.5}, None, {"x": (2,)}, name="halved")
    np.testing.assert_array_equal(Repeated(halved, 3).evaluate([8.0, 16.0]), [1.0, 2.0])


def test_it_says_what_it_takes_gives_and_costs():
    repeated = Repeated(PROGRAM, 4)
    assert (repeated.name, repeated.inputs, repeated.outputs) == ("step", PROGRAM.inputs, PROGRAM.outputs)
    assert {p.name for p in repeated.fed} == {"x", "v"}
    assert repeated.count.total == 4 * PROGRAM.count.total
    assert repeated.count.mul == 4 * PROGRAM.count.mul
    digests = {PROGRAM.digest, repeated.digest, Repeated(PROGRAM, 5).digest}
    assert len(digests) == 3
    assert Repeated(PROGRAM, np.int64(4)).digest == repeated.digest


def test_it_prints_as_a_loop_that_sets_all_at_once():
    lines = str(Repeated(PROGRAM, 4)).splitlines()
    assert lines[0] == "def step(x: (3,), v: (2,), gain: ()):"
    assert lines[1] == "    for _ in range(4):"
    assert lines[-2].startswith("        v, x, sum = array((2,), [")
    assert lines[-1] == "    return v, x, sum"


@pytest.mark.parametrize("times", [0, -1, 2.0, "3", True, None])
def test_turns_are_counted_in_whole_numbers(times):
    with pytest.raises(ValueError, match="step: times must be a whole number, at least 1; got"):
        Repeated(PROGRAM, times)


def test_something_must_be_fed_back():
    program = trace(lambda _, a: {"b": a * 2.0}, None, {"a": (2,)}, name="doubled")
    with pytest.raises(ShapeError, match=r"doubled: one output at least .* got outputs b and inputs a"):
        Repeated(program, 2)


def test_what_is_fed_back_must_fit():
    program = trace(lambda _, a, b: {"a": a[0], "b": b}, None, {"a": (2,), "b": (2,)}, name="shrunk")
    with pytest.raises(ShapeError, match=r"shrunk: a is fed back, .* \(2,\); got \(\)"):
        Repeated(program, 2)


def test_rows_take_turns():
    program = trace(
        lambda _, x, best, row: {"best": np.array([best[0] * 0.5 + x[0] * row[0] + row[1]])},
        None,
        {"x": (1,), "best": (1,), "row": (2,)},
        name="summed",
    )
    repeated = Repeated(program, 3, "row")
    assert [(p.name, p.shape, p.shared) for p in repeated.inputs] == [
        ("x", (1,), False),
        ("best", (1,), False),
        ("row", (3, 2), True),
    ]
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    # ((8/2 + 2 + 2)/2 + 6 + 4)/2 + 10 + 6, by hand, x = 2
    np.testing.assert_array_equal(repeated.evaluate([2.0], [8.0], rows), [23.0])
    np.testing.assert_array_equal(repeated.evaluate([[2.0], [0.0]], [[8.0], [0.0]], rows)[0], [23.0])
    assert repeated.digest != Repeated(program, 3).digest


def test_rows_name_an_input_that_is_not_fed_back():
    for wrong in ("x", "nobody"):
        with pytest.raises(ShapeError, match="step: rows must name an input that is not fed back; got"):
            Repeated(PROGRAM, 2, wrong)
