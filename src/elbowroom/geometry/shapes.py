"""The shapes that robots, people and cells are covered with: five solids, frozen and validated.

    Sphere(center, radius)        all points within `radius` of a point
    Capsule(a, b, radius)         all points within `radius` of the segment from a to b (the thesis calls it a cylinder)
    Box(center, half, rotation)   a box: half its edges, and its axes as columns; for planning (avoidance/planning/)
    HalfSpace(point, normal)      all points on the side that `normal` points away from: a floor has its normal up
    HollowSphere(center, radius)  all points outside of `radius`: a shell to stay inside of

A capsule also has a flat form for compiled code, a row of `ROW` = 13 numbers: `row[A]`, `row[B]` the ends of its axis,
`row[RADIUS]`, and `row[VELOCITY_A]`, `row[VELOCITY_B]` the velocities of the ends.  A sphere is a row with A equal
to B.  `PARKED` fills an empty slot: a point a thousand kilometres away, at rest.  Metres, m/s, world frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import finite
from ..errors import ShapeError

Array = NDArray[np.float64]

A, B, RADIUS = slice(0, 3), slice(3, 6), 6
VELOCITY_A, VELOCITY_B = slice(7, 10), slice(10, 13)
ROW = 13

LARGEST = 1e9  # m or m/s: what is beyond is a mistake, and squares of what is allowed never overflow


_REST: Array = np.zeros(3)


def _numbers(what: str, value: ArrayLike) -> Array:
    array = finite(what, value)
    if (np.abs(array) > LARGEST).any():
        raise ValueError(f"{what} must be within {LARGEST:g} of zero (SI units); got {value!r:.80}")
    return array


def _point(what: str, value: ArrayLike) -> Array:
    """A read-only copy of three finite numbers."""
    array = _numbers(what, value)
    if array.shape != (3,):
        raise ShapeError(f"{what} must have shape (3,); got {array.shape}")
    array.flags.writeable = False
    return array


def _radius(what: str, value: ArrayLike, *, positive: bool = False) -> float:
    array = _numbers(what, value)
    if array.shape != ():
        raise ShapeError(f"{what} must be one number; got shape {array.shape}")
    radius = float(array)
    if radius < 0 or (positive and radius == 0):
        raise ValueError(f"{what} must be {'positive' if positive else 'zero or positive'}, in metres; got {radius!r}")
    return radius


def _velocity(what: str, value: Any) -> Array:
    if isinstance(value, float) and value == 0.0:  # at rest, the usual case
        return _REST
    array = _numbers(what, value)
    if array.shape != (3,) and (array.shape != () or array != 0):
        raise ShapeError(f"{what} must have shape (3,), or be 0 for a shape at rest; got {value!r:.80}")
    return array


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball: everything within `radius` (m) of `center` (3,)."""

    center: Array
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _point("Sphere.center", self.center))
        object.__setattr__(self, "radius", _radius("Sphere.radius", self.radius))

    def row(self, velocity: ArrayLike = 0.0) -> Array:
        """Its 13 numbers for compiled code, with the velocity (3,) of its centre."""
        speed = _velocity("Sphere.row: velocity", velocity)
        return _row(self.center, self.center, self.radius, speed, speed)


@dataclass(frozen=True, eq=False)
class Capsule:
    """Everything within `radius` (m) of the segment from `a` (3,) to `b` (3,).  With a equal to b, a sphere."""

    a: Array
    b: Array
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", _point("Capsule.a", self.a))
        object.__setattr__(self, "b", _point("Capsule.b", self.b))
        object.__setattr__(self, "radius", _radius("Capsule.radius", self.radius))

    @property
    def length(self) -> float:
        """Length of the axis; the capsule is longer by twice its radius."""
        return float(np.linalg.norm(self.b - self.a))

    def row(self, velocity_a: ArrayLike = 0.0, velocity_b: ArrayLike = 0.0) -> Array:
        """Its 13 numbers for compiled code, with the velocities (3,) of the ends of its axis."""
        ends = _velocity("Capsule.row: velocity_a", velocity_a), _velocity("Capsule.row: velocity_b", velocity_b)
        return _row(self.a, self.b, self.radius, *ends)


@dataclass(frozen=True, eq=False)
class Box:
    """A box about `center` (3,) with half edges `half` (3,), m, along the columns of `rotation` (3, 3)."""

    center: Array
    half: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _point("Box.center", self.center))
        half = _point("Box.half", self.half)
        if not (half > 0.0).all():
            raise ValueError(f"Box.half must be positive, half the edges in metres; got {half.tolist()}")
        object.__setattr__(self, "half", half)
        rotation = _numbers("Box.rotation", self.rotation)
        if rotation.shape != (3, 3) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
            raise ValueError(f"Box.rotation must be a rotation matrix (3, 3); got\n{rotation}")
        rotation.flags.writeable = False
        object.__setattr__(self, "rotation", rotation)


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """Everything on the far side of a plane: `point` (3,) lies in it, `normal` (3,) leads out of the solid.

    The normal is stored with unit length.
    """

    point: Array
    normal: Array

    def __post_init__(self) -> None:
        normal = _point("HalfSpace.normal", self.normal)
        largest = float(np.abs(normal).max())
        if largest == 0:
            raise ValueError(f"HalfSpace.normal must not be zero; got {self.normal!r}")
        unit = normal / largest  # first to a size whose square neither vanishes nor overflows
        unit = unit / np.linalg.norm(unit)
        unit.flags.writeable = False
        object.__setattr__(self, "point", _point("HalfSpace.point", self.point))
        object.__setattr__(self, "normal", unit)


@dataclass(frozen=True, eq=False)
class HollowSphere:
    """Everything farther than `radius` (m) from `center` (3,): a workspace shell, to be kept inside of."""

    center: Array
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _point("HollowSphere.center", self.center))
        object.__setattr__(self, "radius", _radius("HollowSphere.radius", self.radius, positive=True))


def _row(a: Array, b: Array, radius: float, velocity_a: Array, velocity_b: Array) -> Array:
    row = np.empty(ROW)
    row[A], row[B], row[RADIUS] = a, b, radius
    row[VELOCITY_A], row[VELOCITY_B] = velocity_a, velocity_b
    return row


PARKED: Array = Sphere(np.full(3, 1e6), 0.0).row()
PARKED.flags.writeable = False
