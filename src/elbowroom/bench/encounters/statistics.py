"""How sure the figures are: intervals at 95 %, and a test for pairs.

rate        Clopper and Pearson's exact interval for k events in n runs; no event in n: below about 3 / n
paired      McNemar's exact test for two methods in the same scenes: with b scenes in which only the one touched and
            c in which only the other did, how likely a difference as large is by chance
ratio       the bootstrap's interval for a ratio of two sums over runs, runs drawn anew with their pairs kept
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ElbowroomError

LEVEL = 0.95
DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A figure between two bounds."""

    value: float
    low: float
    high: float


def rate(events: int, runs: int) -> Interval:
    """The part of runs with an event."""
    stats, tail = _scipy(), (1.0 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, events, runs - events + 1)) if events else 0.0
    high = float(stats.beta.ppf(1.0 - tail, events + 1, runs - events)) if events < runs else 1.0
    if not events:  # one bound alone: all of the doubt is above
        high = float(stats.beta.ppf(LEVEL, 1, runs))
    return Interval(events / runs, low, high)


@dataclass(frozen=True)
class Paired:
    """Scenes in which only the one had the event, only the other, and how likely that is if both are alike."""

    only_this: int
    only_other: int
    p: float


def paired(this: Sequence[bool], other: Sequence[bool]) -> Paired:
    """Events of two methods, scene by scene."""
    b = sum(x and not y for x, y in zip(this, other, strict=True))
    c = sum(y and not x for x, y in zip(this, other, strict=True))
    p = float(_scipy().binomtest(b, b + c, 0.5).pvalue) if b + c else 1.0
    return Paired(b, c, p)


def ratio(part: Sequence[float], whole: Sequence[float]) -> Interval:
    """sum(part) / sum(whole); NaN where the whole is nothing."""
    over, under = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    if not under.sum():
        return Interval(np.nan, np.nan, np.nan)
    drawn = np.random.default_rng(0).integers(len(over), size=(DRAWS, len(over)))
    below = under[drawn].sum(axis=1)
    found = over[drawn].sum(axis=1)[below > 0] / below[below > 0]
    low, high = np.quantile(found, [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2])
    return Interval(float(over.sum() / under.sum()), float(low), float(high))


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise ElbowroomError("intervals and tests of rates need scipy: pip install '.[bench]'") from error
    return stats
