"""The capsule about given points, of a small volume; exact in that every point lies within it.

For a direction u the axis runs along u through the centre of a small circle about the points seen along u.  With a
radius r not below that circle's, point i at height t_i and distance d_i from the axis is within r of any axis that
reaches from t_i + s_i downwards and from t_i - s_i upwards, s_i^2 = r^2 - d_i^2.  So the shortest axis goes from

    low = min (t_i + s_i)      to      high = max (t_i - s_i)

(where low > high any point between them is the centre of a sphere).  A greater radius gives a shorter axis: a few radii
are tried, and of all directions the principal ones and then ever smaller turns of the best.  A capsule is convex, so
one about the vertices of a mesh holds the whole mesh.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_EXTREMES = 200  # directions whose outermost points stand for all while the axis is sought
_GROWTH = np.linspace(1.0, 1.5, 9)  # radii tried, as parts of the least
_TURNS = (0.3, 0.12, 0.05, 0.02, 0.008)  # rad


class Cover(NamedTuple):
    """A capsule: the ends of its axis (3,) and its radius."""

    a: Array
    b: Array
    radius: float

    @property
    def volume(self) -> float:
        """Cubic metres."""
        length = float(np.linalg.norm(self.b - self.a))
        return math.pi * self.radius**2 * (length + 4 / 3 * self.radius)


def covering_capsule(points: Array) -> Cover:
    """A capsule about the points (N, 3), N at least 1, of a volume within a tenth of the least, as a rule."""
    outer = _extremes(points)
    axes = list(np.linalg.svd(outer - outer.mean(axis=0), full_matrices=True)[2])
    best, u = min(((_along(outer, axis), axis) for axis in axes), key=lambda found: found[0].volume)
    for angle in _TURNS:
        for _ in range(3):  # until no turn by this angle is better
            tried = [(_along(outer, turned), turned) for turned in _turned(u, angle)]
            cover, direction = min(tried, key=lambda found: found[0].volume)
            if cover.volume >= best.volume:
                break
            best, u = cover, direction
    return Cover(best.a, best.b, float(distance_to_segment(points, best.a, best.b).max()))


def covering_cylinder(radius: float, length: float) -> Cover:
    """The capsule of least volume about a cylinder along z, centred; r^2 = radius^2 + (what the axis is short)^2."""
    short = np.linspace(0.0, length / 2, 200)
    r = np.hypot(radius, short)
    best = int((r**2 * (length - 2 * short + 4 / 3 * r)).argmin())
    end = np.array([0.0, 0.0, length / 2 - short[best]])
    return Cover(-end, end, float(r[best]))


def distance_to_segment(points: Array, a: Array, b: Array) -> Array:
    """(N,) distances of points (N, 3) from the segment a b."""
    d = b - a
    square = float(d @ d)
    part = np.clip((points - a) @ d / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - a - part[:, None] * d, axis=1))


def _along(points: Array, u: Array) -> Cover:
    """The best capsule whose axis runs along the unit vector u."""
    t = points @ u
    flat = points - t[:, None] * u
    centre = _circle(flat)
    d = np.linalg.norm(flat - centre, axis=1)
    r = _GROWTH * max(float(d.max()), 1e-9)
    s = np.sqrt(np.maximum(r[:, None] ** 2 - d**2, 0.0))
    low, high = (t + s).min(axis=1), (t - s).max(axis=1)
    middle = (low + high) / 2
    sphere = low > high
    low, high = np.where(sphere, middle, low), np.where(sphere, middle, high)
    best = int((r**2 * (high - low + 4 / 3 * r)).argmin())
    return Cover(centre + low[best] * u, centre + high[best] * u, float(r[best]))


def _circle(flat: Array) -> Array:
    """About the centre of the least circle around the points: step by step towards the farthest one."""
    centre = (flat.max(axis=0) + flat.min(axis=0)) / 2
    for k in range(1, 30):
        away = flat - centre
        centre = centre + away[(away**2).sum(axis=1).argmax()] / (k + 4)
    return np.asarray(centre)


def _extremes(points: Array) -> Array:
    """The outermost points in directions spread evenly over the sphere; all where they are few."""
    if len(points) <= _EXTREMES:
        return points
    k = np.arange(_EXTREMES) + 0.5
    z, turn = 1 - 2 * k / _EXTREMES, math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    directions = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), z])
    best, at = np.full(_EXTREMES, -math.inf), np.zeros(_EXTREMES, dtype=int)
    for start in range(0, len(points), 4096):  # in pieces, so that memory stays small
        heights = points[start : start + 4096] @ directions.T
        rows = heights.argmax(axis=0)
        top = heights[rows, np.arange(_EXTREMES)]
        better = top > best
        best[better], at[better] = top[better], rows[better] + start
    return points[np.unique(at)]


def _turned(u: Array, angle: float) -> list[Array]:
    """u tilted by an angle towards eight sides."""
    side = np.cross(u, np.eye(3)[int(np.abs(u).argmin())])
    side /= np.linalg.norm(side)
    other = np.cross(u, side)
    around = np.arange(8) * math.pi / 4
    return [math.cos(angle) * u + math.sin(angle) * (math.cos(x) * side + math.sin(x) * other) for x in around]
