"""How far two shapes are apart, where, and how fast that changes.

`distance(x, y)` takes shapes and answers once.  `separation` is the same for two capsule rows (13 numbers each, see
shapes.py), over any scalar, so that it can be traced, compiled and run for every pair of a scene; `pair_row` is its
answer as one row of `WIDTH` = 12 numbers, with `DISTANCE`, `POINT_X`, ... naming the columns.

Everything rests on the distance of the axes:

    spheres     |p1 - p2|                                                    (3.2)
    capsules    |A x_min - y|, with the nearest points r1, r2 of segments.py (3.35)-(3.37)
    half-space  n . (end - point), least over the two ends
    shell       radius - |end - center|, least over the two ends (a ball is convex: the farthest point is an end)

The distance of the surfaces is that less the radii, negative in penetration.  The normal leads from y to x and is the
gradient of the distance by moving x.

Exact nearest points jump from end to end as two axes pass through parallel; the vector between them does not, since
it is the least vector of a convex set that moves continuously.  So a controller takes the exact distance and normal,
but pushes at the smooth point, which is blended over `angle` (the thesis' tolerance, 3.13) with the middle of the
overlap.  A shell is not convex from inside, and there the normal jumps too: `separation_from_shell` takes it at the
smooth point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra import Array, Scalar, minimum, sqrt, where
from ..algebra.linalg import vector
from ..compile import compiled
from ..compile.kernel import Kernel
from .segments import PARALLEL, PARALLEL_ANGLE, Point, Three, along, chosen, dot, inverse, minus, nearest
from .shapes import RADIUS, ROW, VELOCITY_A, VELOCITY_B, A, B, Capsule, HalfSpace, HollowSphere, Sphere

WIDTH = 12
DISTANCE, AXIS_DISTANCE, CLOSING = 0, 1, 2
POINT_X, NORMAL = slice(3, 6), slice(6, 9)
SPEED_Y, LAMBDA_X, LAMBDA_Y = 9, 10, 11


class PairRow(NamedTuple):
    """What a controller needs of a pair; in this order it is one row of `WIDTH` numbers."""

    distance: Scalar  # m, of the surfaces, negative in penetration
    axis_distance: Scalar  # m, of the axes
    closing: Scalar  # m/s, minus the rate of the axis distance: positive while approaching
    point_x: Array  # (3,) m, smooth point on the axis of x, where to push
    normal: Array  # (3,) unit, from y to x
    speed_y: Scalar  # m/s, velocity of y's smooth point towards x: positive while it comes
    lambda_x: Scalar  # exact nearest point of x's axis: 0 at a, 1 at b
    lambda_y: Scalar


def separation(x: Array, y: Array, angle: float = PARALLEL_ANGLE) -> PairRow:
    """Two capsule rows (13,), traced or numbers.  An axis that meets another still has a normal: see `nearest`."""
    near = nearest(x[A], x[B], y[A], y[B], angle)
    closing = _speed(y, near.lambda2, near.normal) - _speed(x, near.lambda1, near.normal)
    speed_y = _speed(y, near.smooth2, near.normal)  # the exact point jumps through parallel, and its speed with it
    return PairRow(
        near.distance - (x[RADIUS] + y[RADIUS]),
        near.distance,
        closing,
        vector(*along(x[A], minus(x[B], x[A]), near.smooth1)),
        vector(*near.normal),
        speed_y,
        near.lambda1,
        near.lambda2,
    )


def separation_from_plane(x: Array, point: Array, normal: Array, angle: float = PARALLEL_ANGLE) -> PairRow:
    """A capsule row (13,) and the half-space with this point (3,) and unit normal (3,)."""
    part, smooth, height = _to_plane(x[A], x[B], point, normal, angle)
    point_x = vector(*along(x[A], minus(x[B], x[A]), smooth))
    closing = -_speed(x, part, normal)
    return PairRow(height - x[RADIUS], height, closing, point_x, vector(*normal), 0.0, part, 0.0)


def separation_from_shell(x: Array, center: Array, radius: Scalar, angle: float = PARALLEL_ANGLE) -> PairRow:
    """A capsule row (13,) and the hollow sphere with this center (3,) and radius.  Its normal is that at point_x."""
    part, smooth, depth, normal, smooth_normal = _to_shell(x[A], x[B], center, radius, angle)
    point_x = vector(*along(x[A], minus(x[B], x[A]), smooth))
    closing = -_speed(x, part, normal)
    return PairRow(depth - x[RADIUS], depth, closing, point_x, vector(*smooth_normal), 0.0, part, 0.0)


def pair_row(x: Array, y: Array, angle: float = PARALLEL_ANGLE) -> Array:
    """`separation` as one row (12,): distance, axis_distance, closing, point_x, normal, speed_y, lambda_x, lambda_y."""
    return stacked(separation(x, y, angle))


def pair_of_rows(_: None, x: Array, y: Array) -> Array:
    """`pair_row` as `trace` takes a function: of nothing but its inputs."""
    return pair_row(x, y)


def stacked(pair: PairRow) -> Array:
    """A PairRow as one row (12,)."""
    distance, axis, closing, point, normal, speed, lambda_x, lambda_y = pair
    return vector(distance, axis, closing, *point, *normal, speed, lambda_x, lambda_y)


def _speed(row: Array, part: Scalar, normal: Point) -> Scalar:
    """Velocity along the normal of the point at this part of a row's axis."""
    start, end = dot(row[VELOCITY_A], normal), dot(row[VELOCITY_B], normal)
    return start + part * (end - start)


def _to_plane(a: Point, b: Point, point: Point, normal: Point, angle: float) -> tuple[Scalar, Scalar, Scalar]:
    """The lowest part of the axis, the smooth one, and its height over the plane."""
    s = minus(b, a)
    square = dot(s, s)
    low, rise = dot(minus(a, point), normal), dot(s, normal)
    level = rise * rise <= square * PARALLEL
    part = where(level, 0.5, where(rise > 0.0, 0.0, 1.0))
    weight = minimum(rise * rise * inverse(square) * (1.0 / math.sin(angle) ** 2), 1.0)
    return part, 0.5 + weight * (part - 0.5), low + part * rise


def _to_shell(
    a: Point, b: Point, center: Point, radius: Scalar, angle: float
) -> tuple[Scalar, Scalar, Scalar, Three, Three]:
    """The outermost part of the axis, the smooth one, its depth below the shell, and the inward normals at both."""
    s, start, end = minus(b, a), minus(a, center), minus(b, center)
    near_square, far_square = dot(start, start), dot(end, end)
    part = where(far_square > near_square, 1.0, 0.0)
    slope = far_square - near_square  # twice the axis' part along the ray to its middle, times that ray's length
    limit = 2.0 * math.sin(angle) * radius
    weight = minimum(slope * slope * inverse(dot(s, s)) / (limit * limit), 1.0)
    smooth = 0.5 + weight * (part - 0.5)
    ray = chosen(far_square > near_square, end, start)
    normal, length = _inwards(ray, (0.0, 0.0, 1.0))
    smooth_normal, _ = _inwards(along(start, s, smooth), normal)
    return part, smooth, radius - length, normal, smooth_normal


def _inwards(ray: Point, otherwise: Point) -> tuple[Three, Scalar]:
    """The unit vector against a ray from the center, or `otherwise` in the center itself; and the ray's length."""
    length = sqrt(dot(ray, ray))
    there = length > 0.0
    scale = -1.0 / where(there, length, 1.0)
    return chosen(there, (ray[0] * scale, ray[1] * scale, ray[2] * scale), otherwise), length


@dataclass(frozen=True, eq=False)
class Separation:
    """How x and y lie to each other: `point_a`, `smooth_a` belong to x, `point_b`, `smooth_b` to y.

    `point_a`, `point_b` (3,) are the nearest points of the surfaces (in penetration, the deepest).  `smooth_a`,
    `smooth_b` (3,) are equal to them but near parallel, where they pass through the middle of the overlap and lie
    within the shapes, at most radius (1 - cos angle) under the surface.
    """

    distance: float  # m, of the surfaces, negative in penetration
    axis_distance: float  # m, of the axes
    point_a: NDArray[np.float64]
    point_b: NDArray[np.float64]
    smooth_a: NDArray[np.float64]
    smooth_b: NDArray[np.float64]
    normal: NDArray[np.float64]  # unit, from y to x


def distance(
    x: Sphere | Capsule | HalfSpace | HollowSphere,
    y: Sphere | Capsule | HalfSpace | HollowSphere,
    *,
    angle: float = PARALLEL_ANGLE,
) -> Separation:
    """The distance of two shapes, one at least a Sphere or a Capsule; `angle` (rad) is that of the smooth points."""
    for name, shape in (("x", x), ("y", y)):
        if not isinstance(shape, Sphere | Capsule | HalfSpace | HollowSphere):
            raise TypeError(
                f"distance: {name} must be a Sphere, Capsule, HalfSpace or HollowSphere; got {type(shape).__name__}"
            )
    if not 0.0 < angle <= math.pi / 2:
        raise ValueError(f"distance: angle must be above 0 and at most pi/2 rad; got {angle!r}")
    if isinstance(x, Sphere | Capsule):
        return _from_capsule(x, y, angle)
    if isinstance(y, Sphere | Capsule):
        back = _from_capsule(y, x, angle)
        ends = back.point_b, back.point_a, back.smooth_b, back.smooth_a
        return Separation(back.distance, back.axis_distance, *ends, _frozen(0.0 - back.normal))
    raise TypeError(
        f"distance: one of the two must be a Sphere or a Capsule; got {type(x).__name__} and {type(y).__name__}, "
        "which have no end"
    )


def _from_capsule(x: Sphere | Capsule, y: Sphere | Capsule | HalfSpace | HollowSphere, angle: float) -> Separation:
    if isinstance(y, Sphere | Capsule):
        found = _capsules()(x.row(), y.row(), np.array([angle]))
        found.flags.writeable = False
        return Separation(float(found[0]), float(found[1]), *(found[k : k + 3] for k in range(2, 17, 3)))
    a, b = (x.center, x.center) if isinstance(x, Sphere) else (x.a, x.b)
    if isinstance(y, HalfSpace):
        *parts, height = _to_plane(a, b, y.point, y.normal, angle)
        axis = [a + (b - a) * float(part) for part in parts]
        on_x = [p - x.radius * y.normal for p in axis]
        on_y = [p - ((p - y.point) @ y.normal) * y.normal for p in axis]
        return _answer(height - x.radius, height, on_x, on_y, y.normal)
    exact, smooth, depth, *inward = _to_shell(a, b, y.center, y.radius, angle)
    normals = [np.array(n, dtype=float) for n in inward]
    on_x = [a + (b - a) * float(part) - x.radius * n for part, n in zip((exact, smooth), normals, strict=True)]
    on_y = [y.center - y.radius * n for n in normals]
    return _answer(depth - x.radius, depth, on_x, on_y, normals[0])


def _between_capsules(_: None, x: Array, y: Array, angle: Array) -> Array:
    """The 17 numbers of a Separation of two rows."""
    near = nearest(x[A], x[B], y[A], y[B], angle[0])
    s1, s2 = minus(x[B], x[A]), minus(y[B], y[A])
    on_x = [along(along(x[A], s1, part), near.normal, -x[RADIUS]) for part in (near.lambda1, near.smooth1)]
    on_y = [along(along(y[A], s2, part), near.normal, y[RADIUS]) for part in (near.lambda2, near.smooth2)]
    surface = near.distance - (x[RADIUS] + y[RADIUS])
    return vector(surface, near.distance, *on_x[0], *on_y[0], *on_x[1], *on_y[1], *near.normal)


@cache
def _capsules() -> Kernel:
    inputs = {"x": (ROW,), "y": (ROW,), "angle": (1,)}
    return compiled(_between_capsules, None, inputs, name="distance", method="parallelogram")


def _answer(distance: Scalar, axis: Scalar, on_x: list[Array], on_y: list[Array], normal: Array) -> Separation:
    points = [_frozen(p) for p in (on_x[0], on_y[0], on_x[1], on_y[1], normal)]
    return Separation(float(distance), float(axis), *points)


def _frozen(array: Array) -> NDArray[np.float64]:
    copy = np.array(array, dtype=float)
    copy.flags.writeable = False
    return copy
