"""Traps: scenes with an obstacle at rest on the straight line from the tool to its goal.

`trap(place, seed)` is made from a seed alone; nothing in it was chosen by looking at what a method does there.

    start, goal  two joint poses of `Place.candidates`, the arm clear of itself and the floor, the tool in front of the
                 arm; `APART` of the reach between the tools, the straight line clear of the arm's column.  A method is
                 told the position of the goal alone
    obstacle     a ball, a post from the floor, a bar or a plate of three bars across the line, its middle on the line;
                 `TOOL_CLEAR` from the tool at start and goal, `ARM_CLEAR` from the whole arm in both poses

Every obstacle is three capsules, so that one compiled law serves all: a ball is one capsule three times, a post and a
bar are cut in three.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...errors import ElbowroomError
from ...geometry import Capsule
from ...geometry.pairs import Clearance
from ...geometry.shapes import RADIUS, A, B
from ..encounters.scene import COLUMN, PERIOD, EncounterScene, Place, SensorFrames, beside

Array = NDArray[np.float64]

CAPSULES = 3  # of an obstacle
DURATION = 20.0  # s
APART = (0.5, 1.5)  # of the reach, between the tool at start and at the goal
ALONG = (0.35, 0.65)  # of the way, where the obstacle is
TOOL_CLEAR = 0.20  # m
ARM_CLEAR = 0.05  # m
DRAWS = 5000  # at most, for a scene
KINDS = ("ball", "post", "bar", "plate")


@dataclass(frozen=True, eq=False)
class TrapScene:
    """An arm between start and goal, and an obstacle between."""

    place: Place
    seed: int
    kind: str
    start: Array  # (n,)
    goal: Array  # (n,) a joint pose at the goal
    point: Array  # (3,) the goal
    rows: Array  # (CAPSULES, 13) the obstacle

    def encounter(self, duration: float = DURATION) -> EncounterScene:
        """The same as an encounter with somebody who never moves, for the loop of encounters."""
        steps = round(duration / PERIOD)
        times = PERIOD * np.arange(steps + 1, dtype=float)
        rows = np.broadcast_to(self.rows, (steps + 1, 1, *self.rows.shape))
        points = np.zeros((steps + 1, 1, 0, 3))
        return EncounterScene(self.place, self.seed, 1, times, self.point[None], points, rows, start=self.start)

    @property
    def frames(self) -> SensorFrames:
        """One frame, seen from the start on."""
        names = ("obstacle",) * CAPSULES
        return SensorFrames(np.zeros(1), np.zeros(1), self.place, None, self.rows[None, None], names)


def trap(where: Place, seed: int) -> TrapScene:
    """The scene of this seed."""
    random = np.random.default_rng([3, seed])
    poses, tools = where.candidates
    clearance = Clearance(where.body, CAPSULES)
    for _ in range(DRAWS):
        i, j = random.integers(len(tools), size=2)
        way = tools[j] - tools[i]
        far = float(np.linalg.norm(way))
        ends = (tools[i][:2] - where.base[:2], tools[j][:2] - where.base[:2])
        if not APART[0] * where.reach < far < APART[1] * where.reach or beside(*ends) < COLUMN * where.reach:
            continue
        kind = KINDS[int(random.integers(len(KINDS)))]
        rows = obstacle(kind, tools[i] + random.uniform(*ALONG) * way, way / far, float(where.base[2]), random)
        if min(_from_point(rows, tools[k]) for k in (i, j)) < TOOL_CLEAR:
            continue
        if min(clearance.of(poses[k], rows)[0].surfaces for k in (i, j)) < ARM_CLEAR:
            continue
        return TrapScene(where, seed, kind, poses[i].copy(), poses[j].copy(), tools[j].copy(), rows)
    raise ElbowroomError(
        f"{where.arm.name}: expected room for an obstacle between two poses, {TOOL_CLEAR:g} m from the tool; "
        f"found none in {DRAWS} scenes of seed {seed}"
    )


def obstacle(kind: str, middle: Array, along: Array, floor: float, random: np.random.Generator) -> Array:
    """(CAPSULES, 13) rows: its middle on a line of this direction (3,)."""
    up = np.array([0.0, 0.0, 1.0])
    across = np.cross(up, along)
    size = float(np.linalg.norm(across))
    across = across / size if size > 0.1 else np.array([1.0, 0.0, 0.0])  # a line straight up has no side of its own
    if kind == "ball":
        return _cut(middle, middle, random.uniform(0.08, 0.15))
    if kind == "post":
        return _cut(np.array([*middle[:2], floor]), middle + up * random.uniform(0.05, 0.3), random.uniform(0.04, 0.08))
    half = across * random.uniform(0.15, 0.35)
    if kind == "bar":
        return _cut(middle - half, middle + half, random.uniform(0.04, 0.08))
    radius = random.uniform(0.04, 0.06)
    third = np.cross(along, across)
    third /= np.linalg.norm(third)
    bars = [middle + third * (step * 1.8 * radius) for step in (-1.0, 0.0, 1.0)]
    return np.array([Capsule(at - half, at + half, radius).row() for at in bars])


def _cut(a: Array, b: Array, radius: float) -> Array:
    """A capsule in three pieces."""
    points = [a + (b - a) * part for part in np.linspace(0.0, 1.0, CAPSULES + 1)]
    return np.array([Capsule(p, q, float(radius)).row() for p, q in pairwise(points)])


def _from_point(rows: Array, point: Array) -> float:
    """m, from the surfaces of capsules (k, 13)."""
    a, s = rows[:, A], rows[:, B] - rows[:, A]
    long = np.maximum((s * s).sum(axis=1), 1e-300)  # a ball's axis is a point, and any part of it will do
    part = np.clip(((point - a) * s).sum(axis=1) / long, 0.0, 1.0)
    return float((np.linalg.norm(a + part[:, None] * s - point, axis=1) - rows[:, RADIUS]).min())
