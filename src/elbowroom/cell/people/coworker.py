"""Coworkers: the interface of people in a cell, the figure of a person, and a sensor's noise.

    Still, Walk, RandomWalk                    people who stand, walk or wander (walking.py)
    Reach(position, target)                    stands, reaches to a point with one hand and withdraws (reach.py)
    Recorded(file)                             a recording (mocap/recorded.py)
    Noisy(coworker, sigma)                     any of them, seen with an error

Time is an argument, and nothing is kept between calls.  Metres, seconds, radians, world frame with z up.

A figure is a person's capsules about a point of the floor, moved as one rigid piece.  One that stands at p (3,), moves
with v (3,) and looks along yaw, turning at w, has its points r and their velocities at

    p + R(yaw) r        v + w z x R(yaw) r
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algebra import normal, trace
from ...arrays import finite, fixed, number
from ...compile import compiled
from ...errors import ShapeError
from ...geometry import ROW, Person
from ...geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B

Array = NDArray[np.float64]
Shape = Literal["cylinder", "standing"]


@runtime_checkable
class Coworker(Protocol):
    """A person in the cell, as a function of time: the same t gives the same rows, whatever was asked before."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the capsules, in the order of the rows."""

    @property
    def duration(self) -> float:
        """How long the motion lasts, s; infinite for one without an end."""

    def look(self, t: float, out: Array) -> float | None:
        """Fills `out` (k, 13) with the capsules that are known at time t (s), velocities included.

        Returns the time of their measurement: t, or less where the data is old, -inf where nothing was ever measured
        (the rows are parked then); None if the sensor says that nobody is there.  Parked rows with a time: it said so
        then.
        """

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person stands on the floor (3,), and the velocity of that point (3,): what the thesis logs."""


@cache
def _errors() -> Any:
    """Three normal numbers of (key, run, frame), compiled."""

    def errors(_: object, c: Array) -> Array:
        return np.array([normal(c[0], c[1], c[2], axis) for axis in range(3)])

    return compiled(trace(errors, None, {"c": (3,)}))


class Noisy:
    """A person seen with sensor noise: a normal error of `sigma` (m) along each axis; velocities are exact.

    The whole person is shifted, anew in every picture.  The error of the picture at time t is a function of the seed
    and of t's 64 bits (algebra.normal), so a coworker stays a function of time: the same t gives the same rows.
    """

    def __init__(self, who: Coworker, sigma: float, seed: int = 1) -> None:
        self.who, self.sigma, self.seed = who, number("Noisy.sigma", sigma), seed
        self.names, self.duration = who.names, who.duration

    def error(self, t: float) -> Array:
        """(3,) m, of the picture that was taken at t."""
        bits = int(np.float64(t).view(np.uint64))
        above = (self.seed >> 52) << 32  # what a key has no room for
        counter = np.array([self.seed & (1 << 52) - 1, above + (bits >> 32), bits & 0xFFFFFFFF], float)
        drawn: Array = _errors()(counter)
        return self.sigma * drawn

    def look(self, t: float, out: Array) -> float | None:
        """The capsules as seen, and when they were."""
        stamp = self.who.look(t, out)
        if stamp is not None and stamp > -np.inf:
            off = self.error(stamp)
            out[:, A] += off
            out[:, B] += off
        return stamp

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person really stands, and the velocity."""
        return self.who.point(t)


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
