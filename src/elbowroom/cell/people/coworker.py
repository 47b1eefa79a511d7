"""Coworkers: the interface of people in a cell, as a sensor shows them, and a sensor's noise.

    Still, Walk, RandomWalk                    people who stand, walk or wander (walking.py)
    Reach(position, target)                    stands, reaches to a point with one hand and withdraws (reach.py)
    Recorded(file)                             a recording (mocap/recorded.py)
    Noisy(coworker, sigma)                     any of them, seen with an error

Time is an argument, and nothing is kept between calls.  Metres, seconds, radians, world frame with z up.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...geometry.shapes import A, B
from ..mocap.recorded import Recorded as Recorded
from .reach import Reach as Reach
from .shapes import number
from .walking import RandomWalk as RandomWalk
from .walking import Still as Still
from .walking import Walk as Walk

Array = NDArray[np.float64]


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
        (the rows are parked then); None if the sensor says that nobody is there.
        """

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person stands on the floor (3,), and the velocity of that point (3,): what the thesis logs."""


class Noisy:
    """A person seen with sensor noise: a normal error of `sigma` (m) along each axis; velocities are exact.

    The whole person is shifted, anew in every picture.  The error of the picture at time t is drawn from a generator
    that is seeded with (seed, t), so a coworker stays a function of time: the same t gives the same rows.
    """

    def __init__(self, who: Coworker, sigma: float, seed: int = 1) -> None:
        self.who, self.sigma, self.seed = who, number("Noisy.sigma", sigma), seed
        self.names, self.duration = who.names, who.duration

    def error(self, t: float) -> Array:
        """(3,) m, of the picture that was taken at t."""
        bits = int(np.float64(t).view(np.uint64))
        return self.sigma * np.random.default_rng((self.seed, bits)).standard_normal(3)

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
