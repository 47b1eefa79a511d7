"""Conveyors: the in-feed brings objects to a place where it holds them, the out-feed carries them away.

Objects on a belt are points.  The in-feed is one number, the gap from its front object to the end of the belt; the
others follow at even spacing.  It stops while an object waits at the end, so a robot that is late finds a queue and
nothing is dropped.  The out-feed always runs: an object is carried `length` from where it was put, and is delivered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..avoidance.settings import FieldError, less, point, positive, setting
from .points import Point

Array = NDArray[np.float64]
MOST = 1000  # objects on a belt; more is a slip of units


@dataclass(frozen=True)
class Conveyor:
    """A straight belt with objects at even spacing."""

    direction: tuple[float, float, float] = setting((0.0, -1.0, 0.0), "", "way that it carries; any length")
    speed: float = setting(0.2, "m/s", "of the belt")
    length: float = setting(1.0, "m", "of the belt, from or to the place where the robot works")
    spacing: float = setting(0.3, "m", "from object to object")

    def __post_init__(self) -> None:
        point(self, "direction")
        if not 1e-6 <= math.hypot(*self.direction) <= 1e6:
            raise FieldError("direction", "a vector that is not zero", self.direction, place="Conveyor")
        positive(self, "speed", most=10.0)
        positive(self, "length", "spacing", most=100.0)
        less(self, "spacing", "length")
        if self.length / self.spacing > MOST:
            raise FieldError("spacing", f"at least length / {MOST} (m)", self.spacing, place="Conveyor")

    @property
    def way(self) -> Array:
        """The unit direction (3,)."""
        return np.array(self.direction) / math.hypot(*self.direction)

    @property
    def room(self) -> int:
        """The most objects that are on the belt at once."""
        return math.floor(self.length / self.spacing) + 1

    @property
    def interval(self) -> float:
        """From object to object without a stop, s."""
        return self.spacing / self.speed


class InFeed:
    """Brings objects to `end` (3,), one after the other.  It begins full, with the first object there."""

    def __init__(self, belt: Conveyor, end: Point) -> None:
        self.belt = belt
        self._way = belt.way
        self._queue = np.array(end) - self._way * (belt.spacing * np.arange(belt.room))[:, None]  # with no gap
        self.gap = 0.0
        self.brought = 1

    @property
    def waiting(self) -> bool:
        """Whether an object is at the end."""
        return self.gap == 0.0

    def move(self, dt: float) -> None:
        """dt seconds pass; the belt stops when an object comes to the end."""
        if self.gap > 0.0:
            self.gap = max(0.0, self.gap - self.belt.speed * dt)
            self.brought += self.gap == 0.0

    def take(self) -> None:
        """The object at the end is lifted off, and the belt runs again."""
        self.gap += self.belt.spacing

    def write(self, out: Array) -> int:
        """Writes the places of its objects into the first rows of `out`, front first; returns how many."""
        count = min(math.floor((self.belt.length - self.gap) / self.belt.spacing) + 1, self.belt.room)
        np.subtract(self._queue[:count], self._way * self.gap, out=out[:count])
        return count


class OutFeed:
    """Carries away what is put on it."""

    def __init__(self, belt: Conveyor) -> None:
        self.belt = belt
        self._way = belt.way
        self._put = np.zeros((belt.room + 1, 3))  # where each was put, the oldest first
        self._carried = np.zeros(belt.room + 1)  # how far each came, m
        self._count = 0
        self.delivered = 0

    @property
    def free(self) -> bool:
        """Whether the last object is a spacing away, so that there is room for another."""
        return self._count == 0 or bool(self._carried[self._count - 1] >= self.belt.spacing)

    def move(self, dt: float) -> None:
        """dt seconds pass; objects that come to the end of the belt are delivered."""
        if self._count == 0:
            return
        self._carried[: self._count] += self.belt.speed * dt
        while self._count and self._carried[0] >= self.belt.length:
            self._put[:-1] = self._put[1:]
            self._carried[:-1] = self._carried[1:]
            self._count -= 1
            self.delivered += 1

    def put(self, at: Array) -> None:
        """An object is let go at a point (3,); ask first whether the belt is free."""
        self._put[self._count] = at
        self._carried[self._count] = 0.0
        self._count += 1

    def write(self, out: Array) -> int:
        """Writes the places of its objects into the first rows of `out`, oldest first; returns how many."""
        count = self._count
        np.multiply(self._carried[:count, None], self._way, out=out[:count])
        out[:count] += self._put[:count]
        return count
