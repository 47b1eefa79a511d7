"""Figures: a person's capsules about a point of the floor, to be put somewhere as one rigid piece.

A figure that stands at p (3,), moves with v (3,) and looks along yaw, turning at w, has its points r and their
velocities at

    p + R(yaw) r        v + w z x R(yaw) r
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import finite
from ...errors import ShapeError
from ...geometry import ROW, Person
from ...geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B

Array = NDArray[np.float64]
Shape = Literal["cylinder", "standing"]


@dataclass(frozen=True, eq=False)
class Figure:
    """Named capsule rows (k, 13) about the origin of the floor, looking along x."""

    names: tuple[str, ...]
    rows: Array

    def put(self, out: Array, at: Array, velocity: Array, yaw: float = 0.0, yaw_rate: float = 0.0) -> None:
        """Writes the rows of the figure at this place (3,) into `out` (k, 13)."""
        c, s = math.cos(yaw), math.sin(yaw)
        turned = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])  # R', for points in rows
        spun = yaw_rate * np.array([[-s, c, 0.0], [-c, -s, 0.0], [0.0, 0.0, 0.0]])  # its rate
        out[:, RADIUS] = self.rows[:, RADIUS]
        for end, rate in ((A, VELOCITY_A), (B, VELOCITY_B)):
            out[:, end] = at + self.rows[:, end] @ turned
            out[:, rate] = velocity + self.rows[:, end] @ spun


def figure(shape: Shape, height: float = 1.8, radius: float = 0.3) -> Figure:
    """The thesis' "cylinder" of this height and radius, or a "standing" person of this height."""
    if shape == "cylinder":
        person = Person.cylinder((0.0, 0.0, 0.0), height, radius)
    elif shape == "standing":
        person = Person.standing((0.0, 0.0, 0.0), 0.0, height)
    else:
        raise ValueError(f'shape must be "cylinder" or "standing"; got {shape!r}')
    return Figure(person.names, person.rows)


def checked(t: float, out: Array, count: int) -> float:
    """The time as a float; refuses one that is not finite, and an `out` that has not `count` rows."""
    if not math.isfinite(t):
        raise ValueError(f"t must be a finite time in seconds; got {t!r}")
    if out.shape != (count, ROW):
        raise ShapeError(f"out must have shape {(count, ROW)}; got {out.shape}")
    return float(t)


def floor_point(what: str, value: ArrayLike) -> Array:
    """A point (3,) from (x, y), which is on the floor at z = 0, or (x, y, z)."""
    shape = np.shape(value)
    if shape not in ((2,), (3,)):
        raise ShapeError(f"{what} must be (x, y) or (x, y, z); got shape {shape}")
    point = np.zeros(3)
    point[: shape[0]] = finite(what, value, shape)
    return fixed(point)


def fixed(array: Any) -> Array:
    """A read-only array of floats."""
    held: Array = np.array(array, dtype=float)
    held.flags.writeable = False
    return held


def number(what: str, value: Any, *, least: float = 0.0, more: bool = False) -> float:
    """A finite number, at least `least`, or with `more` above it; refused by name."""
    x = float(finite(what, value, ()))
    if x < least or (more and x == least):
        raise ValueError(f"{what} must be {'more than' if more else 'at least'} {least:g}; got {x:g}")
    return x
