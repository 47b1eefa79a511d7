"""BatchPipeline: the steps of a pipeline for many states, as each alone would be."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled
from elbowroom.compile.batch_pipeline import BatchPipeline
from elbowroom.compile.pipeline import Call, Copy, FromRing, Pipeline, Sound, ToRing


def halved(_, x, y):
    return {"sum": vector(*(a + 0.5 * b for a, b in zip(x, y, strict=True))), "first": vector(1.0 / x[0])}


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


def test_each_state_as_alone(parts):
    steps, x, both, memory, ring, at = parts
    batch, random = BatchPipeline(steps, 5), np.random.default_rng(0)
    given, places = random.uniform(1.0, 2.0, (6, 5, 3)), random.integers(4, size=(6, 5))
    for values, at_now in zip(given, places, strict=True):
        batch[x][:], batch[at][:, 0] = values, at_now
        assert batch.run(5) is None
    run = Pipeline(steps).run
    for state in range(5):
        memory[:], ring[:] = 0.0, 0.0
        for values, at_now in zip(given[:, state], places[:, state], strict=True):
            x[:], at[0] = values, at_now
            assert run() is None
        for array in (memory, ring, both):
            assert np.array_equal(batch[array][state], array)


def test_states_that_may_not_go_on_are_named_and_nothing_lasts(parts):
    steps, x, _, memory, *_ = parts
    batch = BatchPipeline(steps, 4)
    batch[x][2, 1] = np.nan
    assert batch.run(4).tolist() == [2]
    batch[x][2], batch[x][1, 0] = 1.0, 0.0  # 1 / 0 is infinite: the Sound ends it
    assert batch.run(4).tolist() == [1]
    assert not batch[memory].any()
    batch.swap(1, 3)
    assert batch.run(3) is None
    assert batch[memory][:3].all()
    assert not batch[memory][3].any()


def test_states_come_and_go(parts):
    steps, x, _, memory, *_ = parts
    batch = BatchPipeline(steps, 3)
    x[:] = 7.0
    batch.put(1)
    batch.run(3)
    batch.take(1)
    assert memory.tolist() == [7.0, 7.0, 7.0]
    batch.keep(np.array([1, 2]))
    assert batch[memory][0].tolist() == [7.0, 7.0, 7.0]


def test_parts_and_wholes_are_written_together(parts):
    steps, x, both, *_ = parts
    batch = BatchPipeline(steps, 2)
    batch[x][:] = 2.0
    batch.run(2)
    assert batch[both].tolist() == [[2.0, 2.0, 2.0, 0.5]] * 2
