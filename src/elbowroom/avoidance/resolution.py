"""From velocities of points to velocities of joints.

    damped least squares    qd = J^T (J J^T + lambda^2 1)^-1 v                                  (3.49)
    Jacobian transpose      qd = alpha J^T v,  alpha = (e . v) / (e . e),  e = J J^T v           (3.51)-(3.54)

Both stay finite at a singularity: the first by its damping, the second because it inverts nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra import cross, dot, where
from ..algebra.linalg import Array, cholesky_solve, settled


def gram(J: Array) -> Array:
    """J J^T, each entry once."""
    m = len(J)
    G = np.empty((m, m), dtype=object)
    for i in range(m):
        for j in range(i + 1):
            G[i, j] = G[j, i] = J[i] @ J[j]
    return settled(G)


def damped(J: Array, v: Array, damping: Any) -> Array:
    """qd (n,) by damped least squares (3.49)."""
    return J.T @ cholesky_solve(gram(J) + damping * damping * np.eye(len(J)), v)


def transposed(J: Array, v: Array) -> Array:
    """qd (n,) by the Jacobian transpose (3.51), its step alpha by (3.53)-(3.54); zero where J^T v is."""
    back = J.T @ v
    e = J @ back
    size = e @ e
    alpha = where(size > 0.0, e @ v, 0.0) / where(size > 0.0, size, 1.0)
    return alpha * back


def resolved(method: str, J: Array, v: Array, damping: Any) -> Array:
    """qd (n,) by the method of that name, "dls" or "transpose"."""
    return transposed(J, v) if method == "transpose" else damped(J, v, damping)


def openness(J: Array, damping: Any) -> Any:
    """det(J J^T) / det(J J^T + lambda^2 1) of J (3, n): near 1 far from singularities, 0 at one.

    The fraction of a velocity that damping lets through, in the worst direction, lies above it.
    """
    G = gram(J)
    damped_ = _determinant(G + damping * damping * np.eye(3))
    return _determinant(G) / where(damped_ > 0.0, damped_, 1.0)


def _determinant(A: Array) -> Any:
    return dot(A[0], cross(A[1], A[2]))
