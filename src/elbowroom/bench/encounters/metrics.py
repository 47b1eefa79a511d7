"""What came of an encounter, from the arm's joints and the people as they truly were.

touched       a capsule of the arm that joints move and one of a person overlap at a control time
approach      they do while the arm's own motion of the last cycle closes that pair faster than `APPROACH`
least         the least distance of arm and people over the run, m; negative in overlap
itself, floor how deep the arm was in itself (`Body.self_pairs`) and in the floor at worst; 0 for never, m
ends          joints that were at or beyond a limit of their position at a control time
goals         goals reached; `alone`: by the reference, the K controller with nobody there
jerk          root of the mean, over time and joints, of the squared second difference of the commanded speeds
              divided by the period squared, rad/s^3
fastest       the greatest commanded speed of a joint in velocity limits of the model
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...geometry import Pairs
from ...geometry.distance import CLOSING, DISTANCE
from .run import CAPSULES, Track
from .scene import PERIOD, Scene, still

Array = NDArray[np.float64]
APPROACH = 0.05  # m/s


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


def measured(scene: Scene, track: Track, alone: int) -> RunResult:
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
