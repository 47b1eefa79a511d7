"""LaneSchedule: steps of pipelines in SIMD lanes, each lane as a state alone would be."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import Repeated, Table, trace, where
from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled
from elbowroom.compile.pipeline import Call, Copy, FromRing, Pipeline, Sound, ToRing
from elbowroom.compile.schedules.column_code import column_code, lanes_of
from elbowroom.compile.schedules.lanes import LaneSchedule
from elbowroom.compile.schedules.steps import (
    Around,
    Blend,
    Gather,
    Halt,
    Label,
    LaneTables,
    Repeat,
    Scatter,
    Unfused,
    Where,
    carried,
)

PRECISIONS = ("float64", "float32")


def halved(_, x, y):
    return {"sum": vector(*(a + 0.5 * b for a, b in zip(x, y, strict=True))), "first": vector(1.0 / x[0])}


def kernel_of_a_table():
    """Pairs of rows, what is shared, and columns of their own; not as many entries as there are lanes."""

    def product(_, x, y, gain, memory):
        return {"found": vector(x @ y * gain[0], x[0]), "new": memory * 2.0 + x[1]}

    program = trace(product, None, {"x": (2,), "y": (2,), "gain": (1,), "memory": (2,)})
    return compiled(Table(program, (3, 2), ((0, 1, 2, 2, 1), (0, 1, 0, 1, 0)), ("memory", "new")))


def kernel_of_turns():
    def turned(_, x, by):
        return {"x": vector(x[0] + by[0] * x[1], x[1] - by[0] * x[0])}

    return compiled(Repeated(trace(turned, None, {"x": (2,), "by": (1,)}), 3))


def kernel_of_sines():
    def long(_, x):
        y = list(x)
        for k in range(1400):  # more than one function holds
            y[k % 3] = y[k % 3] * 0.5 + y[(k + 1) % 3] * y[(k + 2) % 3] + 0.01 * k
        return vector(*y)

    return compiled(long, None, {"x": (3,)})


def aligned(array, dtype):
    room = np.zeros(array.size + 64, dtype)
    first = (-room.ctypes.data % 64) // room.itemsize
    found = room[first : first + array.size].reshape(array.shape)
    found[:] = array
    return found


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("made", [kernel_of_a_table, kernel_of_turns, kernel_of_sines])
def test_columns_have_the_bits_of_one_state(made, dtype):
    kernel = made()
    single = kernel if dtype == "float64" else compiled(kernel.program, dtype=dtype)
    code, random = column_code(kernel, dtype), np.random.default_rng(0)
    assert code.lanes == lanes_of(dtype)
    ports = kernel.signature
    states = [[random.uniform(0.1, 0.9, p.shape).astype(dtype) for p in ports.inputs] for _ in range(code.lanes)]
    given = [aligned(np.stack([s[k].ravel() for s in states], axis=1), dtype) for k in range(len(ports.inputs))]
    found = [aligned(np.zeros((p.size, code.lanes)), dtype) for p in ports.outputs]
    code.run(given, found)
    for lane, state in enumerate(states):
        alone = single(*state)
        for mine, its in zip(found, (alone,) if isinstance(alone, np.ndarray) else alone, strict=True):
            assert np.array_equal(mine[:, lane], its.ravel())


def test_copies_within_an_array_are_refused():
    """Forward, a vector at a time, they would read what they have written."""
    memory, active = np.zeros(8), np.zeros(1)
    with pytest.raises(ValueError, match="must not overlap"):
        LaneSchedule([Label("go"), Copy(memory[:6], memory[2:]), Around(1)], active)
    LaneSchedule([Label("go"), Copy(memory[:4], memory[4:]), Around(1)], active)


def test_products_and_sums_apart_are_numpys():
    def moved(_, x, v):
        return vector(*(a + 0.9 * b for a, b in zip(x, v, strict=True)))

    kernel = compiled(moved, None, {"x": (4,), "v": (4,)})
    x, v, out, active = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(1)
    values = np.random.default_rng(0).standard_normal((2, 4, lanes_of(np.float64)))
    differs = False
    for kind in (Unfused, Call):
        schedule = LaneSchedule([Label("go"), kind(kernel, (x, v), out), Around(1)], active)
        schedule[x][:], schedule[v][:] = values
        schedule.run()
        plain = values[0] + 0.9 * values[1]
        if kind is Unfused:
            assert np.array_equal(schedule[out], plain)
        differs = not np.array_equal(schedule[out], plain)
    assert differs  # the test can fail


@pytest.fixture
def parts():
    kernel = compiled(halved, None, {"x": (3,), "y": (3,)}, name="halved")
    x, memory, ring, at, oldest = np.ones(3), np.zeros(3), np.zeros((4, 3)), np.zeros(1), np.zeros(3)
    both = np.zeros(4)  # the outputs are parts of it
    steps = [
        FromRing(ring, at, oldest),
        Call(kernel, (x, oldest), (both[:3], both[3:])),
        Sound(both),
        Copy(both[:3], memory),
        ToRing(both[:3], ring, at),
    ]
    return steps, x, both, memory, ring, at


def test_each_lane_as_a_pipeline_alone(parts):
    steps, x, both, memory, ring, at = parts
    active, random = np.zeros(1), np.random.default_rng(0)
    schedule = LaneSchedule([*steps, Around(1)], active)
    schedule[active][:] = 1.0
    lanes = schedule.lanes
    given, places = random.uniform(1.0, 2.0, (6, lanes, 3)), random.integers(4, size=(6, lanes))
    for values, at_now in zip(given, places, strict=True):
        schedule[x][:], schedule[at][0] = values.T, at_now
        assert isinstance(schedule.run().step, Around)
    run = Pipeline(steps).run
    for lane in range(lanes):
        memory[:], ring[:] = 0.0, 0.0
        for values, at_now in zip(given[:, lane], places[:, lane], strict=True):
            x[:], at[0] = values, at_now
            assert run() is None
        for array in (memory, ring, both):
            assert np.array_equal(schedule[array][:, lane], array.ravel())


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_lanes_that_may_not_go_on_are_named_and_nothing_lasts(parts, dtype):
    steps, x, _, memory, *_ = parts
    active = np.zeros(1)
    schedule = LaneSchedule([*steps, Around(1)], active, dtype)
    schedule[active][:, :4] = 1.0
    schedule[x][1, 2] = np.nan
    schedule[x][1, 6] = np.nan  # not active
    assert schedule.run().lanes == [2]
    schedule[x][:, 2], schedule[x][0, 1] = 1.0, 0.0  # 1 / 0 is infinite: the Sound ends it
    assert schedule.run() == (steps[2], [1])
    assert not schedule[memory].any()
    schedule[active][0, 1] = 0.0
    assert isinstance(schedule.run().step, Around)
    assert schedule[memory][:, [0, 2, 3]].all()


def counted(_, k, most):
    return {"next": k + 1.0, "more": vector(where(k[0] + 1.0 < most[0], 1.0, 0.0))}


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_conditions_and_loops(dtype):
    k, most, after, more, active, mask, seen = (np.zeros(1) for _ in range(7))
    count = Call(compiled(counted, None, {"k": (1,), "most": (1,)}, name="counted"), (k, most), (after, more))
    loop = Repeat([count, Copy(after, k)], more, 6)
    schedule = LaneSchedule(
        [Where(mask, [loop, Blend(mask, k, seen)]), Halt(mask), Label("end"), Around(1)], active, dtype
    )
    schedule[active][:], schedule[most][:] = 1.0, 3.0
    assert isinstance(schedule.run().step, Around)
    assert not schedule[k].any()
    schedule[mask][0, 1] = 1.0
    ended = schedule.run()
    assert (type(ended.step), ended.lanes) == (Halt, [1])
    assert schedule[k].tolist() == [[3.0] * schedule.lanes]  # all lanes go along
    assert schedule[seen][0, 1] == 3.0
    assert schedule[seen].sum() == 3.0  # but only those of the mask are given it
    assert isinstance(schedule.run("end").step, Around)
    schedule[most][0, 0], schedule[k][:] = 1e9, 0.0
    schedule.run()
    assert schedule[k][0, 0] == 6.0  # and not for ever
    schedule[active][0, 1] = 0.0
    schedule[k][:] = 0.0
    assert isinstance(schedule.run().step, Around)
    assert not schedule[k].any()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_tables_of_each_lane(dtype):
    at, row, active = np.zeros(1), np.zeros(2), np.zeros(1)
    given, kept = LaneTables(2), LaneTables(2)
    schedule = LaneSchedule([Gather(given, at, row), Scatter(row, at, kept), Around(1)], active, dtype)
    schedule[active][0, :3] = 1.0
    tables = [np.arange(6.0).reshape(3, 2).astype(dtype) + 10.0 * lane for lane in range(3)]
    found = [np.full((3, 2), -1.0, dtype) for _ in range(3)]
    for lane in range(3):
        schedule.assign(given, lane, tables[lane])
        schedule.assign(kept, lane, found[lane])
    schedule[at][0, :3] = 2.0, 0.0, -1.0
    schedule.run()
    assert schedule[row][:, :3].T[:2].tolist() == [[4.0, 5.0], [10.0, 11.0]]
    assert np.isnan(schedule[row][:, 2]).all()
    assert found[0].tolist() == [[-1.0, -1.0], [-1.0, -1.0], [4.0, 5.0]]
    with pytest.raises(ValueError, match="contiguous"):
        schedule.assign(given, 0, tables[0][:, ::-1])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("width", [1, 3, 17, 45])
def test_rows_of_all_lanes_at_once_and_one_by_one(dtype, width):
    """Where a lane is not active, or has no row, the others are moved one after the other; with the same result."""
    at, row, active = np.zeros(1), np.zeros(width), np.zeros(1)
    given, kept = LaneTables(width), LaneTables(width)
    schedule = LaneSchedule([Gather(given, at, row), Scatter(row, at, kept), Around(1)], active, dtype)
    lanes = schedule.lanes
    tables = np.random.default_rng(1).normal(size=(lanes, 5, width)).astype(dtype)
    which = np.arange(lanes) % 5
    for left_out in (None, lanes - 1):
        found = np.full((lanes, 5, width), -1.0, dtype)
        for lane in range(lanes):
            schedule.assign(given, lane, tables[lane])
            schedule.assign(kept, lane, found[lane])
        schedule[at][0], schedule[active][:], schedule[row][:] = which, 1.0, 0.0
        wanted = np.full_like(found, -1.0)
        wanted[np.arange(lanes), which] = tables[np.arange(lanes), which]
        if left_out is not None:
            schedule[active][0, left_out] = 0.0
            wanted[left_out] = -1.0
        schedule.run()
        assert np.array_equal(found, wanted)
        assert np.array_equal(schedule[row].any(axis=0), [lane != left_out for lane in range(lanes)])


def test_what_is_carried_from_turn_to_turn(parts):
    steps, x, both, _, ring, at = parts
    assert {id(a) for a in carried(steps)} == {id(a) for a in (ring, at, x, both)}  # that is written in parts
