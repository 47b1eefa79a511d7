"""People who walk about an arm and reach into its work: random, seeded, smooth and never faster than stated.

A person walks from place to place on arcs about the arm's base, stands, and reaches with one hand to points near the
arm's goals, also while still walking up; the trunk leans with the hand.  Places, speeds, pauses and targets are drawn;
nothing reacts to the arm.

    walking    smooth ramps of `RISE` seconds to a speed drawn from `WALK`, r and angle of the place in step
    hand       straight in the axes of the body from the side to the target and back, each way with the least jerk, its
               greatest speed drawn from `HAND`; the elbow by the two links of cell/people/reach.py
    whole      if a point were faster than `limb_speed` all the same, the person does everything so much slower

The capsules are those of `geometry.Skeleton` (13).  Legs hang straight below the hips and do not stride; feet and the
swing of the arms while walking are not there.  Metres, seconds, radians; the floor is at `floor`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...cell.people.reach import STRETCH, standing_points
from ...geometry import Sizes
from ...geometry.person import SIDES, Skeleton
from ...geometry.person import standing_points as joints
from .people_motion import Efforts, Motion, Plan, plan
from .script import ScriptedRandom

Array = NDArray[np.float64]

LIMB_SPEED = 2.9  # m/s, that no point of a person exceeds
WALK = (0.5, 1.6)  # m/s
HAND = (1.2, 2.5)  # m/s, greatest speed of a reach, in the axes of the body
SLOWER = 0.85  # of the limb speed: what walking, and a hand beside the body, may have of it
RISE = 0.4  # s, from standing to walking
HEIGHTS = (1.6, 1.9)  # m
STARTS = (1.3, 2.2)  # m from the base: where a person is at first
AROUND = (0.9, 1.6)  # m from the base: places to stand at without reaching
NEAREST = 0.6  # m from the base: no place is nearer
SIDEWAYS = math.radians(150)  # places are within it of the arm's front
REACHES = 0.75  # part of the stops at which a hand reaches
STAND_OFF = (0.5, 0.8)  # m between the target and where the person stands
SCATTER = 0.11  # m, standard deviation of a target about a goal
ASKEW = math.radians(35)  # standard deviation of the side from which a target is approached
LEAN = math.radians(60)  # the most that a trunk leans
LEANING = 1.2  # m/s, of the head by leaning
BEFORE, AFTER = 0.4, 0.6  # s, before and after arriving, between which the hand starts
HOLDS = (0.2, 0.8)  # s, that a hand stays
STANDS = (0.1, 0.8)  # s, between being back and walking on
PEAK = 1.875  # greatest speed over the mean of a least-jerk motion
FINE = 0.005  # s between samples by which the greatest speed is found
PARTS = np.linspace(0.0, 1.0, 11)
_EFFORTS = np.array(  # (46, 2) how far a person leans and, leaning as far as that goes, how far the hand comes
    [*((lean, 1.0) for lean in np.linspace(0.0, LEAN, 21)), *((LEAN, far) for far in np.linspace(0.96, 0.0, 25))]
)


@dataclass(frozen=True)
class Step:
    """A walk: from `start` (s), `length` (m) at `speed`, by `change` (3,) of r, angle and yaw."""

    start: float
    length: float
    speed: float
    change: Array

    @property
    def end(self) -> float:
        """When it is done, s."""
        return self.start + self.length / self.speed + RISE


@dataclass(frozen=True)
class Grasp:
    """A reach: the hand of a side to `target` (3,) in the axes of the body, in `time` s each way, leaning by `lean`."""

    start: float
    time: float
    hold: float
    side: int
    target: Array
    lean: float

    @property
    def end(self) -> float:
        """When the hand is back, s."""
        return self.start + 2 * self.time + self.hold


class Walked(NamedTuple):
    """The points (K, 15, 3) at times (K,)."""

    times: Array
    points: Array


@dataclass(frozen=True)
class Visitor:
    """A person's plan: where they begin (r, angle, yaw), what they walk and reach."""

    height: float
    begin: Array
    steps: tuple[Step, ...]
    grasps: tuple[Grasp, ...]
    base: Array  # (3,) the middle of the arcs, on the floor
    slowness: float = 1.0  # how many times as long everything takes
    known: Walked | None = field(default=None, init=False, repr=False, compare=False)  # where they are at some times

    def points(self, times: Array) -> Array:
        """(T, 15, 3): the points of the skeleton at times (T,), in the order of `POINTS`."""
        if self.known is not None and np.array_equal(times, self.known.times):
            return self.known.points
        return motion().points(times / self.slowness, self._plan)

    def greatest_step(self, times: Array) -> float:
        """The farthest that one of them moves from one of these times to the next, m."""
        return motion().along(times / self.slowness, self._plan, len(times))[0]

    def checked(self, duration: float, limb_speed: float) -> Visitor:
        """The same person, so much slower that no point exceeds `limb_speed`."""
        times, compared = _fine(duration)
        greatest, points = motion().along(times, self._plan, compared)
        slowness = max(1.0, 1.005 * greatest / FINE / limb_speed)  # between samples it is hardly faster
        if slowness == 1.0:
            object.__setattr__(self, "known", Walked(times[::2], points))
            return self
        return replace(self, slowness=slowness)

    @cached_property
    def _plan(self) -> Plan:
        rest = _figure(self.height)
        steps = [(step.start, step.length, step.speed, *step.change.tolist()) for step in self.steps]
        grasps = [
            (g.start, g.time, g.hold, float(g.side), *(g.target - rest[_HANDS[g.side]]).tolist(), g.lean)
            for g in self.grasps
        ]
        who = np.concatenate([rest.ravel(), arm_lengths(self.height), self.base])
        return plan(self.begin, steps, grasps, who)


POINTS = tuple(standing_points(np.zeros(3), 0.0, 1.8, Sizes()))
_HANDS, _ELBOWS, _SHOULDERS = (
    [POINTS.index(f"{side}_{what}") for side in SIDES] for what in ("hand", "elbow", "shoulder")
)
_HIP, _HEAD = POINTS.index("hip"), POINTS.index("head")
_TRUNK = [POINTS.index(name) for name in ("head", "collar", "left_shoulder", "right_shoulder")]


def _unit() -> Array:
    """(15, 3): a standing person of one metre, with wrists in place of hands."""
    given = joints(np.zeros(3), 0.0, 1.0)
    return np.array([given[name.replace("hand", "wrist")] for name in POINTS])


_UNIT, _HAND = _unit(), Sizes().hand_length


@lru_cache(maxsize=8)
def _standing(height: float) -> Array:
    """(15, 3): `standing_points`, to the bit, in a tenth of its time."""
    at = height * _UNIT
    for hand, elbow in zip(_HANDS, _ELBOWS, strict=True):
        x, y, z = fore = at[hand] - at[elbow]
        at[hand] = at[elbow] + fore * (1.0 + _HAND / math.sqrt(x * x + y * y + z * z))
    return at


@lru_cache(maxsize=8)
def _figure(height: float) -> Array:
    """(15, 3): a standing person at the origin who looks along x, the arms not quite straight."""
    at = _standing(height).copy()
    for hand, shoulder in zip(_HANDS, _SHOULDERS, strict=True):
        at[hand] = at[shoulder] + STRETCH * (at[hand] - at[shoulder])
    return at


@lru_cache(maxsize=8)
def arm_lengths(height: float) -> tuple[float, float]:
    """Upper arm, and forearm with the hand, m."""
    points = _standing(height)
    shoulder, elbow, hand = (points[which[0]] for which in (_SHOULDERS, _ELBOWS, _HANDS))
    return float(np.linalg.norm(elbow - shoulder)), float(np.linalg.norm(hand - elbow))


@lru_cache(maxsize=8)
def _fine(duration: float) -> tuple[Array, int]:
    """Times up to the end, an odd number of them; among the first so many the greatest speed is looked for."""
    count = len(np.arange(0.0, duration, FINE))
    return FINE * np.arange(count // 2 * 2 + 1, dtype=float), count


def visitor(
    random: np.random.Generator | ScriptedRandom,
    targets: Sequence[Array],
    base: Array,
    front: float,
    duration: float,
    limb_speed: float = LIMB_SPEED,
) -> Visitor:
    """A person drawn anew, who reaches to points about `targets` (3,); `base` (3,) on the floor, `front` an angle."""
    height = random.uniform(*HEIGHTS)
    most = SLOWER * limb_speed
    walk, hand = ((min(low, 0.5 * most), min(high, most)) for low, high in (WALK, HAND))
    r, angle = random.uniform(*STARTS), front + random.uniform(-SIDEWAYS, SIDEWAYS)
    here, (base_x, base_y, floor) = [r, angle, angle + math.pi], base.tolist()  # looking at the arm
    begin = np.array(here)
    t, steps, grasps = random.uniform(0.0, 0.5), [], []
    while t < duration:
        reaches = random.random() < REACHES
        target = targets[int(random.integers(len(targets)))] + SCATTER * random.standard_normal(3)
        r, angle = _place(random, target if reaches else None, base, front)
        x, y = base_x + r * math.cos(angle), base_y + r * math.sin(angle)
        looked_x, looked_y, _ = target.tolist() if reaches else (base_x, base_y, floor)
        yaw = math.atan2(looked_y - y, looked_x - x)
        turn = math.remainder(yaw - here[2], 2 * math.pi)
        change = r - here[0], angle - here[1], turn
        length = max(math.hypot(change[0], max(here[0], r) * change[1]), 0.05)
        step = Step(t, length, min(random.uniform(*walk), length / RISE), np.array(change))
        steps.append(step)
        here, t = [now + by for now, by in zip(here, change, strict=True)], step.end
        if reaches:
            grasp = _grasp(random, height, target, np.array([x, y, floor]), yaw, step.end, hand)
            grasps.append(grasp)
            t = max(t, grasp.end)
        t += random.uniform(*STANDS)
    return Visitor(height, begin, tuple(steps), tuple(grasps), base).checked(duration, limb_speed)


def _place(
    random: np.random.Generator | ScriptedRandom, target: Array | None, base: Array, front: float
) -> tuple[float, float]:
    """r and angle of the next place: one to reach the target from, or anywhere around."""
    if target is None:
        return random.uniform(*AROUND), front + random.uniform(-SIDEWAYS, SIDEWAYS)
    offset = target[:2] - base[:2]
    out = math.atan2(offset[1], offset[0]) + ASKEW * float(random.standard_normal())
    place = offset + random.uniform(*STAND_OFF) * np.array([math.cos(out), math.sin(out)])
    off = math.remainder(math.atan2(place[1], place[0]) - front, 2 * math.pi)
    return max(_length(place), NEAREST), front + min(max(off, -SIDEWAYS), SIDEWAYS)


def _length(x: Array) -> float:
    """As np.linalg.norm has it, to the bit."""
    return math.sqrt(x.dot(x))


def _grasp(
    random: np.random.Generator | ScriptedRandom,
    height: float,
    target: Array,
    place: Array,
    yaw: float,
    arrival: float,
    speeds: tuple[float, float],
) -> Grasp:
    """A reach to the target, or as far towards it as the arm goes."""
    side = int(random.integers(2))
    c, s = math.cos(yaw), math.sin(yaw)
    x, y, z = target - place
    wanted = np.array([max(c * x + s * y, 0.2), c * y - s * x, z])
    figure = _figure(height)
    hang, hip, shoulder = figure[_HANDS[side]], figure[_HIP], figure[_SHOULDERS[side]]
    most = STRETCH * sum(arm_lengths(height)) * (1 + 1e-9)  # as it hangs it is just that
    way = wanted - hang
    enough = _efforts().stretched(hang, way, shoulder, hip) <= most
    lean, far = _EFFORTS[int(np.argmax(enough)) if enough.any() else -1].tolist()
    speed = random.uniform(*speeds)
    head = _length(figure[_HEAD] - hip)
    time = max(PEAK * far * _length(way) / speed, PEAK * lean * head / LEANING, 0.15)
    start = max(arrival + random.uniform(-BEFORE, AFTER), 0.0)
    return Grasp(start, time, random.uniform(*HOLDS), side, hang + far * way, lean)


@cache
def motion() -> Motion:
    """From plans to points."""
    return Motion(len(POINTS), _HIP, tuple(_TRUNK), tuple(_SHOULDERS), tuple(_ELBOWS), tuple(_HANDS), RISE)


@cache
def _efforts() -> Efforts:
    """How far each effort stretches an arm."""
    leant = PARTS * _EFFORTS[:, :1]  # (46, 11) the lean at each part of the way, with each effort
    return Efforts(np.cos(leant), np.sin(leant), PARTS * _EFFORTS[:, 1:], 1.0 - PARTS)


@cache
def skeleton(floor: float) -> Skeleton:
    """From the points to capsules."""
    return Skeleton(POINTS, Sizes(), floor)
