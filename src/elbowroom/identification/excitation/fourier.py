"""Joint motions as Fourier series that begin and end at rest: positions, speeds and accelerations linear in X.

    q_j(t) = c_j + sum_l (a_jl sin(l w t) - b_jl cos(l w t)) / (l w),        w = 2 pi / T,  l = 1 ... L              (1)

over one period T.  Speed and acceleration are 0 at both ends if sum_l a_jl = 0 and sum_l l b_jl = 0; the coefficients
are taken from the null space of these, so that X (2 L - 1, n) is free: the centres c, and 2 L - 2 shapes a joint.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..measurements import Array


@dataclass(frozen=True, eq=False)
class Series:
    """The motions (1) of one period (s) at some times: q = value @ X, qd = rate @ X, qdd = second @ X."""

    period: float
    harmonics: int
    t: Array = field(repr=False)  # (M,)
    value: Array = field(repr=False)  # (M, 2 L - 1)
    rate: Array = field(repr=False)
    second: Array = field(repr=False)

    def motion(self, X: Array) -> tuple[Array, Array, Array]:
        """q, qd, qdd (M, n) of the coefficients X (2 L - 1, n)."""
        return self.value @ X, self.rate @ X, self.second @ X


def series(period: float, harmonics: int, t: Array) -> Series:
    """The motions at the times t (M,), for at least two harmonics."""
    orders = np.arange(1, harmonics + 1)
    w = 2.0 * np.pi / period
    s, c = np.sin(w * np.outer(t, orders)), np.cos(w * np.outer(t, orders))
    value = np.hstack([s, -c]) / np.tile(orders * w, 2)
    rate = np.hstack([c, s])
    second = np.hstack([-s, c]) * np.tile(orders * w, 2)
    ones, zeros = np.ones(harmonics), np.zeros(harmonics)
    rest = np.array([np.concatenate([ones, zeros]), np.concatenate([zeros, orders.astype(float)])])
    shapes = np.linalg.svd(rest)[2][2:].T  # (2 L, 2 L - 2)
    one = np.ones((len(t), 1))
    return Series(
        period,
        harmonics,
        t,
        np.hstack([one, value @ shapes]),
        np.hstack([0.0 * one, rate @ shapes]),
        np.hstack([0.0 * one, second @ shapes]),
    )
