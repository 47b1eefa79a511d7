"""Timing of cycles, each by itself, in turns, with the machine's own jitter beside.

A control loop does not live by its mean: the slowest cycle in a thousand counts.  So each cycle is timed alone, into an
array that is there before, with the garbage collector frozen.  Contenders take turns, a chunk of cycles each, so that a
noisy second meets them all; the first cycles of a chunk, which find another's data in the caches, are not timed.

Two floors run in the same turns, to tell what the machine does from what a contender does:

    empty   the clock read twice with nothing between
    busy    a loop that computes nothing and lasts about as long as a cycle of ours: as wide a target for interrupts
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cell.pace import collector

Nanoseconds = NDArray[np.int64]

CHUNKS = 50
WARM, WARMEST = 2, 50  # cycles at the start of a chunk that are not timed: a twentieth of it, within these
EMPTY, BUSY = "empty", "busy"


def _nothing(t: float, frame: Any) -> None:
    """Nothing to prepare."""


@dataclass(frozen=True)
class Contender:
    """Something that a cycle can be done with; `cycle` and `prepare` take the time (s) and a frame."""

    cycle: Callable[[float, Any], Any]
    frames: Sequence[Any]  # one a cycle, over and over
    cycles: int
    prepare: Callable[[float, Any], Any] = _nothing  # before each cycle, not timed
    pause: float = 0.0  # s slept before each cycle


@dataclass(frozen=True)
class Spread:
    """How long cycles took, s."""

    median: float
    p90: float
    p999: float
    max: float


def spread(taken: NDArray[Any]) -> Spread:
    """Of times in nanoseconds.  p90 and p999 are the least times that 90 % and 99.9 % of the cycles kept within."""
    p90, p999 = np.quantile(taken, (0.9, 0.999), method="inverted_cdf")
    return Spread(*(float(t) * 1e-9 for t in (np.median(taken), p90, p999, taken.max())))


def measure(
    contenders: Mapping[str, Contender],
    *,
    period: float,
    like: str,
    chunks: int = CHUNKS,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Nanoseconds]:
    """Every cycle's time of every contender, and of the floors `EMPTY` and `BUSY`; the busy one lasts as `like` does.

    Time is told to a contender as a loop of that period (s) would tell it.
    """
    runs = {name: _Run(c, period) for name, c in contenders.items()}
    most = max(c.cycles for c in contenders.values())
    floors = {EMPTY: np.zeros(most, np.int64), BUSY: np.zeros(most, np.int64)}
    idle = 100  # empty turns of the busy floor
    with collector:
        for run in runs.values():
            run.warm(WARMEST)
        idle = _like(runs[like].sample(), _busy_sample(idle), idle)
        for chunk in range(chunks):
            if progress is not None:
                progress(f"cycles, turn {chunk + 1} of {chunks}")
            for run in runs.values():
                part = run.part(chunk, chunks)
                if len(part):
                    run.warm(min(WARMEST, max(WARM, len(part) // 20)))
                    run.timed(part)
            part = _part(most, chunk, chunks)
            _empty(part, floors[EMPTY])
            _busy(part, floors[BUSY], range(idle))
            if len(part):  # the next turn's is as long as the contender was in this one
                theirs = runs[like].taken[part.start : part.stop]
                idle = _like(_median(theirs), _median(floors[BUSY][part.start : part.stop]), idle)
    return {name: run.taken for name, run in runs.items()} | floors


def _like(wanted: float, taken: float, turns: int) -> int:
    """How many turns last as long as is wanted, if so many lasted as long as was taken."""
    return turns if not wanted > 0.0 or not taken > 0.0 else max(1, round(turns * wanted / taken))


def _median(taken: Nanoseconds) -> float:
    return float(np.median(taken)) if len(taken) else 0.0


def _part(cycles: int, chunk: int, chunks: int) -> range:
    return range(cycles * chunk // chunks, cycles * (chunk + 1) // chunks)


class _Run:
    """A contender on its way through its cycles."""

    def __init__(self, contender: Contender, period: float) -> None:
        self.contender, self.period = contender, period
        self.taken: Nanoseconds = np.zeros(contender.cycles, np.int64)
        self.count = 0  # cycles so far, timed or not

    def part(self, chunk: int, chunks: int) -> range:
        """The cycles of a chunk."""
        return _part(self.contender.cycles, chunk, chunks)

    def warm(self, count: int) -> None:
        """Cycles that are not timed."""
        self._cycles(range(count), np.zeros(count, np.int64), 0.0)

    def timed(self, part: range) -> None:
        """Cycles whose time is kept."""
        self._cycles(part, self.taken, self.contender.pause)

    def sample(self, count: int = 200) -> float:
        """The median of some cycles that are not kept, ns."""
        taken = np.zeros(count, np.int64)
        self._cycles(range(count), taken, 0.0)
        return _median(taken)

    def _cycles(self, part: range, taken: Nanoseconds, pause: float) -> None:
        clock, cycle, prepare = time.perf_counter_ns, self.contender.cycle, self.contender.prepare
        frames, turn, period = self.contender.frames, self.count, self.period
        size = len(frames)
        for k in part:
            turn += 1
            t, frame = turn * period, frames[turn % size]
            prepare(t, frame)
            if pause:
                time.sleep(pause)
            start = clock()
            cycle(t, frame)
            stop = clock()
            taken[k] = stop - start
        self.count = turn


def _empty(part: range, taken: Nanoseconds) -> None:
    clock = time.perf_counter_ns
    for k in part:
        start = clock()
        stop = clock()
        taken[k] = stop - start


def _busy(part: range, taken: Nanoseconds, idle: range) -> None:
    clock = time.perf_counter_ns
    for k in part:
        start = clock()
        for _ in idle:
            pass
        stop = clock()
        taken[k] = stop - start


def _busy_sample(turns: int, count: int = 200) -> float:
    """The median of the busy floor with so many turns, ns."""
    taken = np.zeros(count, np.int64)
    _busy(range(count), taken, range(turns))
    return _median(taken)
