"""People as capsules that move: the thesis' single cylinder, and a body from the points of a skeleton.

    Person.cylinder(position, height=1.8, radius=0.3, velocity=(0, 0, 0))    one upright capsule (thesis, section 3.5)
    Person.from_skeleton(points, velocities)                                 13 capsules, from 9 points or more
    Person.standing(position, facing=0.0)                                    the same, upright, arms at the sides

A person is data: `names` and `rows`, one row of 13 numbers a capsule (shapes.py), velocities included.  For a loop that
sees new points every cycle, `Skeleton` writes such rows from one array of points by compiled code.

What a skeleton must have: head, collar, hip, and on each side shoulder, elbow, and wrist or hand.  The rest is taken
where it is given, and else made up:

    hand          a hand's length beyond the wrist, along the forearm (or the wrist, that much before the hand)
    left, right   hip joints: half a hip's width beside the hip, along the horizontal line of the shoulders
    knee, ankle   straight below the hip joint: half way down, and at an ankle's height over the floor

A point that is made up moves as the points that it is made of, the line of the shoulders taken as not turning.  Metres,
m/s, world frame with z up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array, Scalar, sqrt, where
from ..algebra.linalg import matrix, vector
from ..arrays import finite
from ..compile import compiled
from ..compile.kernel import Kernel
from ..compile.method import answer, compiled_once, kernel_method
from ..errors import UnknownNameError, close_names
from .shapes import RADIUS, ROW, VELOCITY_A, VELOCITY_B, A, B, Capsule

SIDES = ("left", "right")
MIDDLE = ("head", "collar", "hip")
LIMBS = ("shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle")
POINTS = (*MIDDLE, *(f"{side}_{limb}" for side in SIDES for limb in LIMBS))
"""The points that a skeleton may have."""

ALIASES = {"neck": "collar", "pelvis": "hip"}

NAMES = (
    "head",
    "torso",
    "shoulders",
    *(f"{side}_{part}" for part in ("upper_arm", "forearm", "hand", "thigh", "shin") for side in SIDES),
)
"""The capsules of a person from a skeleton, in the order of its rows."""


@dataclass(frozen=True)
class Sizes:
    """Radii of the capsules and lengths of what is made up, metres.

    Assumptions of ours: about a 95th-percentile man in work clothes, each part rounded outwards.  A hand's ball reaches
    from the middle of the palm to the finger tips.  Feet beyond the ankles are not covered.
    """

    head: float = 0.14
    torso: float = 0.21
    shoulders: float = 0.10
    upper_arm: float = 0.07
    forearm: float = 0.06
    hand: float = 0.11
    thigh: float = 0.11
    shin: float = 0.09
    hand_length: float = 0.09  # wrist to the middle of the palm
    hip_width: float = 0.18  # between the hip joints
    ankle_height: float = 0.08

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise ValueError(f"Sizes.{f.name} must be a positive number of metres; got {value!r}")


class _Point(NamedTuple):
    """Where a point is, and its velocity; (3,) each, over any scalar."""

    at: Array
    speed: Array


def _between(a: _Point, b: _Point, part: Scalar) -> _Point:
    """The point that lies at this part of the way from a to b."""
    return _Point(a.at + (b.at - a.at) * part, a.speed + (b.speed - a.speed) * part)


def skeleton_rows(points: Mapping[str, tuple[Array, Array]], sizes: Sizes, floor: float) -> Array:
    """(13, 13): the rows of `NAMES` from points by name, each a position (3,) and a velocity (3,), over any scalar."""
    body = {name: _Point(*point) for name, point in points.items()}
    for side in SIDES:
        body |= _forearm(body, side, sizes)
    body |= _hips(body, sizes)
    for side in SIDES:
        body |= _leg(body, side, sizes, floor)
    parts = [
        (body["head"], _between(body["head"], body["collar"], 0.5), sizes.head),
        (body["collar"], body["hip"], sizes.torso),
        (body["left_shoulder"], body["right_shoulder"], sizes.shoulders),
    ]
    for start, end, radius in (
        ("shoulder", "elbow", sizes.upper_arm),
        ("elbow", "wrist", sizes.forearm),
        ("hand", "hand", sizes.hand),
        ("hip", "knee", sizes.thigh),
        ("knee", "ankle", sizes.shin),
    ):
        parts += [(body[f"{side}_{start}"], body[f"{side}_{end}"], radius) for side in SIDES]
    return matrix([[*a.at, *b.at, radius, *a.speed, *b.speed] for a, b, radius in parts])


def _forearm(body: dict[str, _Point], side: str, sizes: Sizes) -> dict[str, _Point]:
    """Wrist and hand, of which one may be made up along the line from the elbow."""
    wrist, hand = f"{side}_wrist", f"{side}_hand"
    if wrist in body and hand in body:
        return {}
    given, missing, step = (hand, wrist, -sizes.hand_length) if hand in body else (wrist, hand, sizes.hand_length)
    elbow = body[f"{side}_elbow"]
    reach = body[given].at - elbow.at
    length = sqrt(reach[0] * reach[0] + reach[1] * reach[1] + reach[2] * reach[2])
    far = length > sizes.hand_length  # a shorter forearm is none: the hand is at the wrist
    part = where(far, 1.0 + step / where(far, length, 1.0), 1.0)
    return {missing: _between(elbow, body[given], part)}


def _hips(body: dict[str, _Point], sizes: Sizes) -> dict[str, _Point]:
    """The hip joints, and the hip between them."""
    if "left_hip" in body and "right_hip" in body:
        return {} if "hip" in body else {"hip": _between(body["left_hip"], body["right_hip"], 0.5)}
    across = body["left_shoulder"].at - body["right_shoulder"].at
    length = sqrt(across[0] * across[0] + across[1] * across[1])
    wide = length > 0.0  # else one shoulder is above the other, and any direction is as good
    scale = 0.5 * sizes.hip_width / where(wide, length, 1.0)
    x, y = where(wide, across[0] * scale, 0.0), where(wide, across[1] * scale, 0.5 * sizes.hip_width)
    hip, half = body["hip"], vector(x, y, 0.0)
    made = {"left_hip": _Point(hip.at + half, hip.speed), "right_hip": _Point(hip.at - half, hip.speed)}
    return {name: point for name, point in made.items() if name not in body}


def _leg(body: dict[str, _Point], side: str, sizes: Sizes, floor: float) -> dict[str, _Point]:
    """Knee and ankle, straight down where they are not given."""
    hip, knee, ankle = f"{side}_hip", f"{side}_knee", f"{side}_ankle"
    above = body.get(knee, body[hip])
    x, y, _ = above.at
    vx, vy, _ = above.speed
    below = body.get(ankle, _Point(vector(x, y, floor + sizes.ankle_height), vector(vx, vy, 0.0)))
    return {ankle: below, knee: body.get(knee, _between(body[hip], below, 0.5))}


class Skeleton:
    """Rows of a person from an array of points, compiled: for a loop that sees new points every cycle.

    `points` names the rows of the arrays that `fill` takes; `names` names the rows that it gives.
    """

    def __init__(self, points: Sequence[str], sizes: Sizes | None = None, floor: float = 0.0) -> None:
        self.points = _known(points)
        self.sizes = Sizes() if sizes is None else sizes
        self.floor = float(finite("floor", floor, ()))
        self.names = NAMES

    def __repr__(self) -> str:
        return f"<Skeleton of {len(self.points)} points: {len(self.names)} capsules>"

    @compiled_once
    def kernel(self) -> Kernel:
        """points (P, 3), velocities (P, 3) -> rows (13, 13); `out=` as well."""
        ports = {"points": (len(self.points), 3), "velocities": (len(self.points), 3)}
        return compiled(type(self).formula, self, ports, name="skeleton", output="rows")

    def formula(self, points: Array, velocities: Array) -> Array:
        """The rows over any scalar; `fill` is this, compiled."""
        named = {name: (points[k], velocities[k]) for k, name in enumerate(self.points)}
        return skeleton_rows(named, self.sizes, self.floor)

    @kernel_method
    def fill(self, points: ArrayLike, velocities: ArrayLike, *, out: Array | None = None) -> Array:
        """The rows (13, 13) at these points (P, 3) with these velocities (P, 3), in the order of `points`."""
        found: Array = answer(self, Skeleton.fill, self.kernel, points, velocities, out=out)
        return found

    def __reduce__(self) -> tuple[type[Skeleton], tuple[tuple[str, ...], Sizes, float]]:
        return type(self), (self.points, self.sizes, self.floor)


def _known(points: Sequence[str]) -> tuple[str, ...]:
    """The points under their own names, refused where one is unknown, twice there or missing."""
    names = tuple(ALIASES.get(name, name) for name in points)
    for given, name in zip(points, names, strict=True):
        if name not in POINTS:
            near = close_names(str(given), (*POINTS, *ALIASES), 2) or POINTS
            raise UnknownNameError(f"no point {given!r} in a skeleton; expected {' or '.join(near)}")
        if names.count(name) > 1:
            raise ValueError(f"points: {name!r} is there twice")
    needed = ["head", "collar", *(f"{side}_{limb}" for side in SIDES for limb in ("shoulder", "elbow"))]
    missing = [name for name in needed if name not in names]
    missing += [f"{s}_wrist or {s}_hand" for s in SIDES if not {f"{s}_wrist", f"{s}_hand"} & set(names)]
    if "hip" not in names and not {"left_hip", "right_hip"} <= set(names):
        missing.append("hip, or left_hip and right_hip")
    if missing:
        raise ValueError(f"a skeleton needs {'; '.join(missing)} besides {', '.join(names)}")
    return names


STATURE = {
    "head": 0.93,
    "collar": 0.85,
    "shoulder": 0.818,
    "elbow": 0.63,
    "wrist": 0.485,
    "hip": 0.53,
    "knee": 0.285,
    "ankle": 0.039,
}
"""Heights of the joints as parts of a person's height; head and collar are ours."""

SHOULDER_HALF, HIP_HALF = 0.1295, 0.05  # half the width between the joints, as parts of the height


def standing_points(position: ArrayLike, facing: float = 0.0, height: float = 1.8) -> dict[str, Array]:
    """The points (3,) of the skeleton of `Person.standing`, by name."""
    foot = finite("position", position, (3,))
    turn, tall = float(finite("facing", facing, ())), float(finite("height", height, ()))
    if tall <= 0:
        raise ValueError(f"Person.standing: height must be positive; got {tall:g} m")
    left = np.array([-math.sin(turn), math.cos(turn), 0.0])
    up = np.array([0.0, 0.0, 1.0])
    points = {name: foot + tall * STATURE[name] * up for name in MIDDLE}
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for limb in LIMBS:
            if limb in STATURE:
                width = HIP_HALF if limb in ("hip", "knee", "ankle") else SHOULDER_HALF
                points[f"{side}_{limb}"] = foot + tall * (STATURE[limb] * up + sign * width * left)
    return points


@dataclass(frozen=True, eq=False)
class Person:
    """Named capsules with velocities: `rows` (k, 13), read-only, one a name."""

    names: tuple[str, ...]
    rows: Array

    def __post_init__(self) -> None:
        rows = finite("Person.rows", self.rows, (len(self.names), ROW)).copy()
        if (rows[:, RADIUS] < 0).any():
            worst = int(rows[:, RADIUS].argmin())
            raise ValueError(f"Person: {self.names[worst]}: radius must not be negative; got {rows[worst, RADIUS]:g}")
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "names", tuple(self.names))

    @classmethod
    def cylinder(
        cls,
        position: ArrayLike,
        height: float = 1.8,
        radius: float = 0.3,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Person:
        """The thesis' coworker: one upright capsule, standing with its lowest point at `position` (3,)."""
        foot, speed = finite("position", position, (3,)), finite("velocity", velocity, (3,))
        height, radius = (float(finite(what, x, ())) for what, x in (("height", height), ("radius", radius)))
        if radius <= 0:
            raise ValueError(f"Person.cylinder: radius must be positive; got {radius:g} m")
        if height < 2 * radius:
            raise ValueError(
                f"Person.cylinder: height must be at least twice the radius, {2 * radius:g} m; got {height:g} m"
            )
        a, b = (foot + np.array([0.0, 0.0, z]) for z in (radius, height - radius))
        return cls(("coworker",), np.array([[*a, *b, radius, *speed, *speed]]))

    @classmethod
    def from_skeleton(
        cls,
        points: Mapping[str, ArrayLike],
        velocities: Mapping[str, ArrayLike] | None = None,
        sizes: Sizes | None = None,
        floor: float = 0.0,
    ) -> Person:
        """The articulated person at these points (3,) by name, with velocities (3,) by name (0 where none is given)."""
        skeleton = Skeleton(tuple(points), sizes, floor)
        moving = {} if velocities is None else velocities
        for name in moving:
            if name not in points:
                raise UnknownNameError(f"velocities: {name!r} is none of the points, {', '.join(points)}")
        at = np.array([finite(f"points[{name!r}]", point, (3,)) for name, point in points.items()])
        speed = np.array([finite(f"velocities[{name!r}]", moving.get(name, (0.0, 0.0, 0.0)), (3,)) for name in points])
        return cls(skeleton.names, np.array(skeleton.formula(at, speed), dtype=float))

    @classmethod
    def standing(
        cls, position: ArrayLike, facing: float = 0.0, height: float = 1.8, sizes: Sizes | None = None
    ) -> Person:
        """An upright figure with its arms at its sides, feet at `position` (3,), looking along `facing` (rad from x).

        Joints are at the parts of the height that Drillis and Contini give (1966).
        """
        foot = finite("position", position, (3,))
        return cls.from_skeleton(standing_points(foot, facing, height), sizes=sizes, floor=float(foot[2]))

    def moved(self, translation: ArrayLike, velocity: ArrayLike = (0.0, 0.0, 0.0)) -> Person:
        """The same person shifted by `translation` (3,), with `velocity` (3,) added to that of every point."""
        shift, speed = finite("translation", translation, (3,)), finite("velocity", velocity, (3,))
        rows = self.rows.copy()
        for columns, change in ((A, shift), (B, shift), (VELOCITY_A, speed), (VELOCITY_B, speed)):
            rows[:, columns] += change
        return replace(self, rows=rows)

    def capsules(self) -> list[Capsule]:
        """The capsules as shapes."""
        return [Capsule(row[A], row[B], float(row[RADIUS])) for row in self.rows]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Person of {len(self)} capsules>"
