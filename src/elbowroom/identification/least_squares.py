"""Weighted least squares with unknown variances, its standard errors, and what the data does not determine.

Joint j's residuals have the variance s_j^2, which is not known: it is estimated from the residuals of a fit, the fit is
weighted by 1/s_j, and so on until the variances stay (feasible generalised least squares).  With h_i the leverage of
row i,

    s_j^2 = sum of squared residuals of joint j / sum of (1 - h_i) over its rows

which has no bias whatever the number of unknowns.  The covariance of the estimate x is (W^T W)^-1 of the weighted W.
Where residuals of neighbouring rows of joint j are correlated by r_j, beyond what chance does, the model misses
something that lasts (friction, a filter too fine), and the rows tell less than their number: the covariance is then

    (W^T W)^-1 (sum_j c_j W_j^T W_j) (W^T W)^-1,        c_j = (1 + r_j) / (1 - r_j)                                 (1)

as of residuals that decay by r_j from row to row.

Columns are scaled to length 1 before anything else.  Directions with a singular value below RANK of the greatest are
not determined; a parameter with a part in one has no standard error (infinity), and its value is the least that fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import RecordingError
from .measurements import Array

RANK = 1e-10
"""Of the greatest singular value of the scaled W.  Exact dependence leaves some 1e-16; noise lifts it far above."""

PART = 1e-6
"""Of a parameter in directions that are not determined, from which on it counts as not determined."""

ROUNDS = 50
SETTLED = 1e-6  # relative change of the deviations
MOST_CORRELATED = 0.98
NO_TORQUE = 1e-9  # N m or N
FINEST = 1e-4
"""Of the rms torque of a joint, its least deviation: no torque is measured, nor is an arm rigid, to more digits."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The estimate of k unknowns from rows of n joints."""

    values: Array  # (k,)
    covariance: Array = field(repr=False)  # (k, k); of what is determined
    determined: Array = field(repr=False)  # (k,) bool: whether the rows say anything about each
    deviation: Array = field(repr=False)  # (n,) s_j, N m or N
    correlation: Array = field(repr=False)  # (n,) r_j
    condition: float  # of the weighted W
    scaled_condition: float  # of the same with columns of length 1
    information: Array = field(repr=False)  # (k, k) the inverse of the covariance; 0 in what is not determined
    rows: int  # equations in all
    rounds: int  # until the variances stayed

    @property
    def errors(self) -> Array:
        """(k,) standard errors; infinity where the rows say nothing."""
        return np.where(self.determined, np.sqrt(np.maximum(np.diag(self.covariance), 0.0)), np.inf)


def fit(
    W: Array, tau: Array, used: NDArray[np.bool_] | None = None, run_ends: tuple[int, ...] = (), name: str = "data"
) -> Fit:
    """The unknowns of tau = W x for W (N, n, k), tau (N, n).

    `used` (N, n): which equations count; `run_ends` are the rows at which other runs begin.
    """
    N, n, k = W.shape
    used = np.ones((N, n), dtype=bool) if used is None else used
    if int(used.sum()) < 2 * k:
        raise RecordingError(
            f"{name}: too short: expected at least {2 * k} equations for {k} unknowns; got {int(used.sum())}, from "
            f"{N} rows of {n} joints"
        )
    # each joint's equations as R_j x = c_j, (k, k), and what no x can take off its residuals
    parts = [_triangle(W[used[:, j], j], tau[used[:, j], j]) for j in range(n)]
    R, c, rest = (np.array([part[i] for part in parts]) for i in range(3))
    count = used.sum(axis=0)
    square = np.array([(tau[used[:, j], j] ** 2).mean() if count[j] else 0.0 for j in range(n)])
    floor = FINEST * np.sqrt(np.maximum(square, max(FINEST**2 * float(square.mean()), NO_TORQUE**2)))
    deviation = np.ones(n)
    rounds, settled = 0, False
    while not settled and rounds < ROUNDS:
        rounds += 1
        solved = _solved(R / deviation[:, None, None], c / deviation[:, None])
        freedom = np.maximum(count - (solved.U**2).sum(axis=(1, 2)), 1e-9)
        found = np.maximum(np.sqrt((rest + ((c - R @ solved.x) ** 2).sum(axis=1)) / freedom), floor)
        settled = bool(np.abs(found - deviation).max() <= SETTLED * found.max())
        deviation = found
    solved = _solved(R / deviation[:, None, None], c / deviation[:, None])
    s, scale = solved.s, solved.scale
    r = _correlation(np.where(used, tau - W @ solved.x, np.nan), run_ends)
    V = solved.Vt.T / scale[:, None]  # x = V z in directions z that are determined
    inner = np.einsum("jak,j,jal->kl", solved.U, (1.0 + r) / (1.0 - r), solved.U)  # (1)
    core = inner / s[:, None] / s
    back = solved.Vt * scale  # z = back x
    outside = np.eye(k) - V @ back
    return Fit(
        solved.x,
        V @ core @ V.T,
        np.abs(outside).max(axis=1) < PART,
        deviation,
        r,
        float(np.linalg.cond(np.linalg.qr((R / deviation[:, None, None]).reshape(n * k, k), mode="r"))),
        float(s[0] / s[-1]) if len(s) == k else float("inf"),
        back.T @ np.linalg.inv(core) @ back,
        int(used.sum()),
        rounds,
    )


def _triangle(W: Array, tau: Array) -> tuple[Array, Array, float]:
    """W (N, k) and tau (N,) as a triangle R (k, k) and c (k,) with the same normal equations, and what is left over."""
    k = W.shape[1]
    both = np.zeros((max(len(W), k + 1), k + 1))
    both[: len(W), :k], both[: len(W), k] = W, tau
    R: Array = np.linalg.qr(both, mode="r")  # type: ignore[assignment]  # an array in this mode
    return R[:k, :k], R[:k, k], float(R[k, k] ** 2)


class _Solved(NamedTuple):
    x: Array  # (k,)
    U: Array  # (n, k, rank), by joint
    s: Array  # (rank,)
    Vt: Array  # (rank, k)
    scale: Array  # (k,) lengths of the columns


def _solved(R: Array, c: Array) -> _Solved:
    """The estimate, and the singular values of the equations with columns of length 1, of what is determined."""
    n, k = c.shape
    flat = R.reshape(n * k, k)
    length = np.linalg.norm(flat, axis=0)
    scale = np.where(length > 0.0, length, 1.0)
    _, s, Vt = np.linalg.svd(np.linalg.qr(flat / scale, mode="r"))  # small: many threads are no use to it
    rank = int((s > RANK * s[0]).sum())
    s, Vt = s[:rank], Vt[:rank]
    U = (flat / scale) @ Vt.T / s
    return _Solved((Vt.T @ ((U.T @ c.ravel()) / s)) / scale, U.reshape(n, k, rank), s, Vt, scale)


def _correlation(residual: Array, run_ends: tuple[int, ...]) -> Array:
    """(n,) of neighbouring rows of each joint, where it is more than chance, at least 0; NaN where there is no row."""
    product = residual[1:] * residual[:-1]
    product[[end - 1 for end in run_ends]] = np.nan
    pairs = np.isfinite(product).sum(axis=0)
    both = np.nansum(product, axis=0) / np.maximum(pairs, 1)
    square = np.nansum(residual**2, axis=0) / np.maximum(np.isfinite(residual).sum(axis=0), 1)
    r = np.divide(both, square, where=square > 0.0, out=np.zeros_like(square))
    chance = 2.0 / np.sqrt(np.maximum(pairs, 1))
    return np.where(r > chance, np.minimum(r, MOST_CORRELATED), 0.0)
