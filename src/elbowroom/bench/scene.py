"""The scene that the benchmarks of distances and of avoidance share: an arm at work and a person beside it.

The arm swings about its ready posture, the goal of its tool runs round a circle, and the person sways a few
centimetres, all on smooth orbits of one period, so that the frames repeat without a jump, a frame a cycle.  Every
contender sees the same frames.  The arm stands on a table as high as `TABLE`; the person stands on the floor before it,
near enough to be felt by the field and too far to stop the arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import Arm
from ..geometry import Body, Person
from ..geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B
from ..loading import load

Array = NDArray[np.float64]

ROBOT = "panda"
PERIOD = 0.001  # s between cycles
FRAMES = 2000  # an orbit lasts two seconds
SWING = 0.1  # rad, of every joint about its ready posture
SWAY = 0.05  # m, of the person
CIRCLE = 0.05  # m, radius of the goal's way
CENTER = (0.1, 0.0, -0.1)  # m, its middle, from where the tool is at ready
TABLE = 0.8  # m, from the floor to the arm's base
AHEAD = 0.82  # m, from the arm's base to the person


class SceneFrame(NamedTuple):
    """What a cycle is told: the joints, the person's capsules, and where the tool should be."""

    q: Array  # (n,)
    qd: Array  # (n,)
    rows: Array  # (capsules, 13)
    goal: Array  # (6,) position and velocity


@dataclass(frozen=True)
class TimedScene:
    """An arm, its capsules, and what happens."""

    arm: Arm
    body: Body
    frames: Sequence[SceneFrame]

    @property
    def capsules(self) -> int:
        """How many the person has."""
        return len(self.frames[0].rows)

    def rows(self, frame: int) -> Array:
        """(R + K, 13): the arm's capsules, then the person's."""
        q, qd, person, _ = self.frames[frame]
        return np.vstack([self.body.rows(q, qd), person])


def scene(frames: int = FRAMES) -> TimedScene:
    """The scene, with an orbit of so many frames."""
    arm = load(ROBOT)
    person = np.array(Person.standing((AHEAD, 0.0, -TABLE)).rows)
    rate = 2.0 * math.pi / (frames * PERIOD)  # rad/s, once around
    phases = np.linspace(0.0, math.pi, arm.n)  # so that some joint always moves
    center = arm.pose(arm.ready)[:3, 3] + CENTER
    told = []
    for k in range(frames):
        angle = rate * k * PERIOD
        sine, cosine = math.sin(angle), math.cos(angle)
        q = arm.ready + SWING * np.sin(angle + phases)
        qd = SWING * rate * np.cos(angle + phases)
        goal = np.concatenate([center, np.zeros(3)])
        goal[1:3] += CIRCLE * cosine, CIRCLE * sine
        goal[4:6] = -CIRCLE * rate * sine, CIRCLE * rate * cosine
        told.append(SceneFrame(q, qd, _moved(person, SWAY * sine, SWAY * rate * cosine), goal))
    return TimedScene(arm, Body(arm), told)


def _moved(rows: Array, shift: float, speed: float) -> Array:
    """The person shifted towards the arm, all of it moving at that speed (m, m/s)."""
    moved = rows.copy()
    for end in (A, B):
        moved[:, end] -= [shift, 0.0, 0.0]
    for velocity in (VELOCITY_A, VELOCITY_B):
        moved[:, velocity] = [-speed, 0.0, 0.0]
    return moved


# ---- capsules as other libraries want them


class PlacedCapsule(NamedTuple):
    """A capsule as other libraries want it: along z of a frame in its middle."""

    middle: Array  # (3,)
    R: Array  # (3, 3)
    length: float  # of the axis
    radius: float


def placed(a: ArrayLike, b: ArrayLike, radius: float) -> PlacedCapsule:
    """The capsule with its axis from a to b."""
    start, end = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(end - start))
    if length == 0.0:
        return PlacedCapsule(start, np.eye(3), 0.0, radius)
    z = (end - start) / length
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return PlacedCapsule((start + end) / 2, np.column_stack([x, np.cross(z, x), z]), length, radius)


def of_rows(rows: Array) -> list[PlacedCapsule]:
    """Of capsule rows (k, 13)."""
    return [placed(row[A], row[B], float(row[RADIUS])) for row in rows]


def middles(rows: Array) -> Array:
    """(k, 3) of the capsules' axes."""
    return 0.5 * (rows[:, A] + rows[:, B])
