"""The scene that the benchmarks of distances and of avoidance share: an arm at work and a person beside it.

The arm swings about its ready posture and the person sways a few centimetres, both on smooth orbits of one period, so
that the frames repeat without a jump, a frame a cycle.  The states do not follow from the commands: every contender
sees the same ones.  The arm stands on a table as high as `TABLE`; the person stands on the floor before it, near enough
to be felt by the field and too far to stop the arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..geometry import Body, Person
from ..geometry.shapes import VELOCITY_A, VELOCITY_B, A, B
from ..loading import load

Array = NDArray[np.float64]

ROBOT = "panda"
PERIOD = 0.001  # s between cycles
FRAMES = 2000  # an orbit lasts two seconds
SWING = 0.1  # rad, of every joint about its ready posture
SWAY = 0.05  # m, of the person
TABLE = 0.8  # m, from the floor to the arm's base
AHEAD = 0.95  # m, from the arm's base to the person


class Frame(NamedTuple):
    """What a cycle is told: the joints, and the person's capsules."""

    q: Array  # (n,)
    qd: Array  # (n,)
    rows: Array  # (capsules, 13)


@dataclass(frozen=True)
class Scene:
    """An arm, its capsules, and what happens."""

    arm: Arm
    body: Body
    frames: Sequence[Frame]

    @property
    def capsules(self) -> int:
        """How many the person has."""
        return len(self.frames[0].rows)

    @cached_property
    def goal(self) -> Array:
        """(3,) where the tool is drawn to: beside where it is, on the person's side."""
        ready: Array = self.arm.pose(self.arm.ready)[:3, 3]
        return ready + np.array([0.1, 0.1, -0.1])

    def rows(self, frame: int) -> Array:
        """(R + K, 13): the arm's capsules, then the person's."""
        q, qd, person = self.frames[frame]
        return np.vstack([self.body.rows(q, qd), person])


def scene(frames: int = FRAMES) -> Scene:
    """The scene, with an orbit of so many frames."""
    arm = load(ROBOT)
    person = np.array(Person.standing((AHEAD, 0.0, -TABLE)).rows)
    rate = 2.0 * math.pi / (frames * PERIOD)  # rad/s, once around
    phases = np.linspace(0.0, math.pi, arm.n)  # so that some joint always moves
    told = []
    for k in range(frames):
        angle = rate * k * PERIOD
        q = arm.ready + SWING * np.sin(angle + phases)
        qd = SWING * rate * np.cos(angle + phases)
        told.append(Frame(q, qd, _moved(person, SWAY * math.sin(angle), SWAY * rate * math.cos(angle))))
    return Scene(arm, Body(arm), told)


def _moved(rows: Array, shift: float, speed: float) -> Array:
    """The person shifted towards the arm, all of it moving at that speed (m, m/s)."""
    moved = rows.copy()
    for end in (A, B):
        moved[:, end] -= [shift, 0.0, 0.0]
    for velocity in (VELOCITY_A, VELOCITY_B):
        moved[:, velocity] = [-speed, 0.0, 0.0]
    return moved
