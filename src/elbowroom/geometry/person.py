"""People as capsules that move: the thesis' single cylinder, and a body from the points of a skeleton.

    Person.cylinder(position, height=1.8, radius=0.3, velocity=(0, 0, 0))    one upright capsule (thesis, section 3.5)
    Person.from_skeleton(points, velocities)                                 13 capsules, from 9 points or more
    Person.standing(position, facing=0.0)                                    the same, upright, arms at the sides

A person is data: `names` and `rows`, one row of 13 numbers a capsule (shapes.py), velocities included.  For a loop that
sees new points every cycle, `Skeleton` writes such rows from one array of points by compiled code (skeleton.py, which
also says what is made up where points are missing).  Metres, m/s, world frame with z up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array
from ..arrays import finite
from ..errors import UnknownNameError
from .shapes import RADIUS, ROW, VELOCITY_A, VELOCITY_B, A, B, Capsule
from .skeleton import LIMBS, MIDDLE, SIDES, Sizes, Skeleton

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
        return cls.from_skeleton(points, sizes=sizes, floor=float(foot[2]))

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
