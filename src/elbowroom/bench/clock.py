"""Timing contenders side by side: in turns, many short rounds, the best and the median of them.

A shared machine slows down for whole seconds; taking turns spreads that over everybody, and the best round of many is
what the code costs when nobody disturbs it.  The median and the slowest tenth show how noisy the run was.

A contender is a statement as a user types it, with the names in it, or a call without arguments.  The statement stands
in the timed loop itself: no wrapper of ours adds to a call of a few hundred nanoseconds, nor to another library's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Seconds a call."""

    best: float
    median: float
    p90: float


@dataclass(frozen=True)
class Typed:
    """A statement and what its names mean."""

    statement: str
    names: dict[str, Any]

    def __call__(self) -> Any:
        """What the statement gives, once."""
        return eval(self.statement, dict(self.names))  # our own text: it is in this folder


def race(
    contenders: Mapping[str, Typed | Callable[[], Any]], *, rounds: int = 60, round_seconds: float = 0.002
) -> dict[str, Timing]:
    """Each contender's time, all measured in turns; every round lasts about `round_seconds`.

    Before a round of many calls comes one that is not timed: it finds the caches full of another's data.
    """
    timers = {name: _timer(what) for name, what in contenders.items()}
    repeats = {}
    for name, timer in timers.items():
        timer.timeit(1)
        once = timer.timeit(1)
        repeats[name] = max(1, min(100_000, int(round_seconds / max(once, 1e-8))))
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, timer in timers.items():
            count = repeats[name]
            if count > 1:
                timer.timeit(1)
            taken[name].append(timer.timeit(count) / count)
    return {
        name: Timing(min(times), float(np.median(times)), float(np.quantile(times, 0.9)))
        for name, times in taken.items()
    }


def _timer(what: Typed | Callable[[], Any]) -> Timer:
    """timeit's, which keeps the garbage collector out of a round."""
    if isinstance(what, Typed):
        return Timer(what.statement, timer=time.perf_counter, globals=dict(what.names))
    return Timer(what, timer=time.perf_counter)
