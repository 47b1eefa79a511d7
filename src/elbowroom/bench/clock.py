"""Timing contenders side by side: in turns, many short rounds, the best and the median of them.

A shared machine slows down for whole seconds; taking turns spreads that over everybody, and the best round of many is
what the code costs when nobody disturbs it.  The median and the slowest tenth show how noisy the run was.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Seconds a call."""

    best: float
    median: float
    p90: float


def race(
    contenders: Mapping[str, Callable[[], Any]], *, rounds: int = 60, round_seconds: float = 0.002
) -> dict[str, Timing]:
    """Each contender's time, all measured in turns; every round lasts about `round_seconds`."""
    repeats = {}
    for name, call in contenders.items():
        call()
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        repeats[name] = max(1, min(100_000, int(round_seconds / max(once, 1e-8))))
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in contenders.items():
                loop = range(repeats[name])
                start = time.perf_counter()
                for _ in loop:
                    call()
                taken[name].append((time.perf_counter() - start) / repeats[name])
    finally:
        if was_enabled:
            gc.enable()
    return {
        name: Timing(min(times), float(np.median(times)), float(np.quantile(times, 0.9)))
        for name, times in taken.items()
    }
