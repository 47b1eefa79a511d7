"""Figures of an encounter, from the arm's joints and the people as they truly were.

touched       a capsule of the arm that joints move and one of a person overlap at a control time
approach      they do while the arm's own motion of the last cycle closes that pair faster than `APPROACH`
least         the least distance of arm and people over the run, m; negative in overlap
itself, floor how deep the arm was in itself (`Body.self_pairs`) and in the floor at worst; 0 for never, m
ends          joints that were at or beyond a limit of their position at a control time
goals         goals reached; `alone`: by the reference, the K controller with nobody there
jerk          root of the mean, over time and joints, of the squared second difference of the commanded speeds
              divided by the period squared, rad/s^3
fastest       the greatest commanded speed of a joint in velocity limits of the model

Intervals at 95 %, and a test for pairs:

rate        Clopper and Pearson's exact interval for k events in n runs; no event in n: below about 3 / n
paired      McNemar's exact test for two methods in the same scenes: with b scenes in which only the one touched and
            c in which only the other did, how likely a difference as large is by chance
ratio       the bootstrap's interval for a ratio of two sums over runs, runs drawn anew with their pairs kept
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ElbowroomError
from ...geometry import Pairs
from ...geometry.distance import CLOSING, DISTANCE
from .scene import CAPSULES, PERIOD, EncounterScene, still

Array = NDArray[np.float64]
APPROACH = 0.05  # m/s


class RunTrack(NamedTuple):
    """What the arm did in a run of T steps."""

    q: Array  # (T + 1, n)
    asked: Array  # (T, n) the commanded speeds
    goals: int
    stops: int
    seconds: Array  # (T,) of each step


@dataclass(frozen=True)
class RunResult:
    """One run of one method; the module's docstring has the definitions."""

    seed: int
    touched: bool
    approach: bool
    least: float
    itself: float
    floor: float
    ends: int
    goals: int
    alone: int
    jerk: float
    stops: int
    microseconds: float  # median of the steps
    fastest: float


@cache
def _pairs(own: int, others: int) -> Pairs:
    return Pairs(own, others)


def _rms(values: Array) -> float:
    """Zero of nothing: a run of two cycles has no jerk."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def measured(scene: EncounterScene, track: RunTrack, alone: int) -> RunResult:
    """The result of a run; `alone` is what the reference reached."""
    where = scene.place
    moved = np.vstack([np.zeros(where.arm.n), np.diff(track.q, axis=0) / PERIOD])
    rows = where.body.kernel(track.q, moved)
    people = still(scene.rows).reshape(len(rows), scene.people * CAPSULES, -1)
    table = _pairs(len(where.moving), people.shape[1])(
        np.ascontiguousarray(np.concatenate([rows[:, where.moving], people], axis=1))
    )
    distance, closing = table[..., DISTANCE], table[..., CLOSING]
    contact = distance < 0.0
    model = where.arm.model
    ends = ((track.q <= model.lower) | (track.q >= model.upper)).any(axis=0)
    return RunResult(
        seed=scene.seed,
        touched=bool(contact.any()),
        approach=bool((contact & (closing > APPROACH)).any()),
        least=float(distance.min()),
        itself=max(0.0, -float(where.own(rows).min())),
        floor=max(0.0, -float(where.above(rows).min())),
        ends=int(ends.sum()),
        goals=track.goals,
        alone=alone,
        jerk=_rms(np.diff(track.asked, n=2, axis=0)) / PERIOD**2,
        stops=track.stops,
        microseconds=float(np.median(track.seconds)) * 1e6,
        fastest=float((np.abs(track.asked) / model.velocity).max()),
    )


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


def _scipy() -> ModuleType:
    try:
        from scipy import stats
    except ImportError as error:
        raise ElbowroomError(
            "intervals and tests of rates need scipy: pip install scipy; the peers come with pip install '.[bench]'"
        ) from error
    return stats
