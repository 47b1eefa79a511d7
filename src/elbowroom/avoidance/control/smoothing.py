"""The moving average (3.78), without drift, and the delay that it costs.

    v_i = (1/m) sum_{j=0}^{m-1} x_{i-j}

The sum is kept running: the new sample in, the oldest out.  Each such step rounds, and a running sum alone would drift
without bound.  So a second sum grows from zero beside it and takes its place each time the ring of samples has come
round: an error lives for at most one ring.

A moving average of m samples answers (m - 1)/2 periods late; a reaction time must count that.  It starts filled
with zeros, an arm at rest, so its first m answers ramp up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...algebra import Array, Scalar
from ...algebra.functions import where
from ...errors import ConfigError
from ..checks import Settings, as_number, setting


@dataclass(frozen=True)
class MovingAverage(Settings):
    """How long commands are averaged."""

    duration: float = setting(0.05, "[0, 10] s", "time that the average spans; 0 passes commands through")

    def samples(self, period: float) -> int:
        """m, the samples of that period which the duration spans, one at least."""
        if not (as_number(period) or 0.0) > 0:
            raise ConfigError(f"period must be a number > 0 (s); got {period!r}")
        return max(1, round(self.duration / period))

    def delay(self, period: float) -> float:
        """How late the average answers, s: (m - 1)/2 periods."""
        return 0.5 * (self.samples(period) - 1) * period


def average(
    new: Array, oldest: Array, total: Array, fresh: Array, restart: Scalar, samples: float
) -> tuple[Array, Array, Array]:
    """(mean, total', fresh') after a sample; restart is 1 at the last slot of the ring, else 0.

    oldest is what the slot held before; at the start it, total and fresh are zero.
    """
    fresh = fresh + new
    wraps = restart > 0
    total = where(wraps, fresh, total + (new - oldest))
    return total / samples, total, where(wraps, fresh * 0.0, fresh)


class Filter:
    """A moving average of vectors of length n that owns its ring; `push` allocates nothing."""

    def __init__(self, n: int, duration: float, period: float) -> None:
        average = MovingAverage(duration)
        self.samples = average.samples(period)
        self.delay = average.delay(period)
        self._ring = np.zeros((self.samples, n))
        self._total, self._fresh, self._step = np.zeros(n), np.zeros(n), np.zeros(n)
        self._slot = 0

    def reset(self) -> None:
        """As new: an arm at rest."""
        for array in (self._ring, self._total, self._fresh):
            array[:] = 0.0
        self._slot = 0

    def push(self, x: NDArray[np.float64], out: NDArray[np.float64]) -> NDArray[np.float64]:
        """The average with x (n,) in it, written to out: `average` in place."""
        oldest = self._ring[self._slot]
        np.subtract(x, oldest, out=self._step)
        self._fresh += x
        oldest[:] = x
        self._slot += 1
        if self._slot == self.samples:
            self._slot = 0
            self._total[:] = self._fresh
            self._fresh[:] = 0.0
        else:
            self._total += self._step
        return np.divide(self._total, self.samples, out=out)
