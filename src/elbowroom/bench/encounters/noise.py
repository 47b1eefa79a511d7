"""What is random in the encounters' sensor, as functions of counters: (seed, frame, channel).

    key         8 (seed // 2^32) + 2: the same for all scenes of a campaign, whose seeds differ in their lower 32 bits
    run         seed % 2^32
    latency     channel 0 of frame 0
    drop-outs   number j, from 0 on: channel 2 is the time before it, exponential, and channel 3 its length
    noise       frame k of the camera, from its first on: channels 4 + 3 i to 6 + 3 i are the three coordinates of point
                i, counted through all people

`timing` and `seen` are written for any scalar, so that encounters in lanes or on a card draw what one alone draws, to
the bit: here they are compiled, too, since NumPy rounds where machine code fuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import Array, Scalar, log, normal, trace, uniform
from ...compile import compiled
from ...compile.recycled import piece

PROCESS = 2  # of the key: what is random here; a scene has others
LATENCY, WAIT, LENGTH, POINTS = 0, 2, 3, 4  # channels
TOGETHER = 16  # drop-outs that are drawn at once
SCALAR: tuple[int, ...] = ()


def key_and_run(seed: int) -> tuple[int, int]:
    """The first two counters of a scene."""
    return 8 * (seed >> 32) + PROCESS, seed & 0xFFFFFFFF


def timing(
    _: object, key: Scalar, run: Scalar, number: Scalar, latency: Array, gap: Array, every: Scalar
) -> dict[str, Scalar]:
    """The run's latency (s), and drop-out `number`: the time before it and its length (s)."""
    return {
        "latency": latency[0] + (latency[1] - latency[0]) * uniform(key, run, 0, LATENCY),
        "wait": -every * log(uniform(key, run, number, WAIT)),
        "length": gap[0] + (gap[1] - gap[0]) * uniform(key, run, number, LENGTH),
    }


def seen(
    _: object, key: Scalar, run: Scalar, frame: Scalar, channel: Scalar, true: Scalar, deviation: Scalar
) -> Scalar:
    """A coordinate as the camera sees it."""
    return true + deviation * normal(key, run, frame, channel)


@cache
def _timing_kernel() -> Any:
    def table(_: object, given: Array) -> Array:
        found = timing(None, given[0], given[1], given[2], given[3:5], given[5:7], given[7])
        return np.array([found["latency"], found["wait"], found["length"]])

    return compiled(trace(table, None, {"given": (8,)}))


def timings(
    seed: int, latency: tuple[float, float], gap: tuple[float, float], every: float
) -> Iterator[tuple[float, float, float]]:
    """`timing` of a scene, drop-out after drop-out."""
    for first in count(0, TOGETHER):
        given = np.empty((TOGETHER, 8))
        given[:, [0, 1, 3, 4, 5, 6, 7]] = *key_and_run(seed), *latency, *gap, every
        given[:, 2] = np.arange(first, first + TOGETHER)
        for row in _timing_kernel()(given).tolist():
            yield row[0], row[1], row[2]


@cache
def _seen_kernel(numbers: int, first: int) -> Any:
    """So many coordinates of a frame at once, the first of which has channel `first`: two channels cost as much as one
    where they are constants."""

    def frame_seen(_: object, key: Scalar, run: Scalar, frame: Scalar, true: Array, deviation: Scalar) -> Array:
        channels = enumerate(true, first)
        return np.array([seen(None, key, run, frame, float(k), x, deviation) for k, x in channels], dtype=object)

    shapes = {"key": SCALAR, "run": SCALAR, "frame": SCALAR, "true": (numbers,), "deviation": SCALAR}
    return compiled(trace(frame_seen, None, shapes))


def seen_points(
    seed: int, true: NDArray[np.float64], deviation: float, which: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Points (frames, people, P, 3) with the camera's error; `which` are the numbers of frames, if not all in order."""
    frames, people, numbers = len(true), true.shape[1], true[0, 0].size
    given = np.empty((4, frames))
    given[0], given[1] = key_and_run(seed)
    given[2], given[3] = np.arange(frames) if which is None else which, deviation
    key, run, number, deviations = given
    found = [piece((frames, numbers), true.dtype) for _ in range(people)]
    for k, out in enumerate(found):
        kernel = _seen_kernel(numbers, POINTS + k * numbers)
        kernel(key, run, number, true[:, k].reshape(frames, -1), deviations, out=out)
    both: NDArray[np.float64] = found[0] if people == 1 else np.stack(found, axis=1)
    return both.reshape(true.shape)
