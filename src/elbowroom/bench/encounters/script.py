"""A person whose random choices are given: for each what of its distribution lies below it, a number from 0 to 1.

    names(stops)                      what the numbers are of, in this order
    ScriptedRandom(numbers, rest)     stands in for the generator that `people.visitor` draws from

Numbers drawn evenly give the people of `scene`; every list of numbers gives a person whom `scene` could have drawn,
with the same bounds of speed.  Stops beyond those that are scripted are drawn from `rest`.

Of a stop without a reach `hand` is the pause after it, and `hand_speed` to `pause` are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

FIRST = ("height", "distance", "angle", "wait")
"""Of the person, before the first stop."""
STOP = (
    "reaches",
    "target",
    "target_x",
    "target_y",
    "target_z",
    "side",
    "stand_off",
    "walk_speed",
    "hand",
    "hand_speed",
    "hand_start",
    "hold",
    "pause",
)
"""Of every stop."""
_NORMAL = NormalDist()
_LEAST = 2.0**-53  # where the normal distribution's inverse is defined


def names(stops: int) -> tuple[str, ...]:
    """What the numbers of a person are of."""
    return (*FIRST, *(f"stop{k + 1}.{name}" for k in range(stops) for name in STOP))


class ScriptedRandom:
    """A random generator whose numbers are given, as far as they go; `random` begins a stop."""

    def __init__(self, numbers: Sequence[float], rest: np.random.Generator) -> None:
        self._numbers, self._rest = tuple(numbers), rest
        self._at, self._end = 0, len(FIRST)
        self._stop = -1

    def _next(self) -> float:
        if self._at < min(self._end, len(self._numbers)):
            self._at += 1
            return self._numbers[self._at - 1]
        return float(self._rest.random())

    def random(self) -> float:
        """The first number of the next stop."""
        self._stop += 1
        self._at = len(FIRST) + self._stop * len(STOP)
        self._end = self._at + len(STOP)
        return self._next()

    def uniform(self, low: float, high: float) -> float:
        """Between two numbers."""
        return low + self._next() * (high - low)

    def integers(self, count: int) -> int:
        """A whole number from 0 to below `count`."""
        return min(int(self._next() * count), count - 1)

    def standard_normal(self, size: int | None = None) -> float | NDArray[np.float64]:
        """One number, or so many."""
        if size is not None:
            return np.array([self._normal() for _ in range(size)])
        return self._normal()

    def _normal(self) -> float:
        return _NORMAL.inv_cdf(min(max(self._next(), _LEAST), 1.0 - _LEAST))
