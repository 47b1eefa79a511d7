"""A sensor's error: the whole person is seen a little beside where they are, anew in every picture.

The error of the picture at time t is drawn from a generator that is seeded with (seed, t), so a coworker stays a
function of time: the same t gives the same rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...geometry.shapes import A, B
from .coworker import Coworker
from .shapes import number

Array = NDArray[np.float64]


class Noisy:
    """Somebody seen with a normal error of `sigma` (m) along each axis; velocities are as they are."""

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
