"""Joint speeds for the velocity of a point: damped least squares, Jacobian transpose, null space, weights.

    damped least squares    qd = J^T (J J^T + lambda^2 1)^-1 v                                  (3.49)
    Jacobian transpose      qd = alpha J^T v,  alpha = (b . b) / (e . e + lambda^2 b . b),
                            b = J^T v,  e = J J^T v                                              (3.51)-(3.54)
    null space              N x = x - J^T (J J^T + eps^2 1)^-1 J x

(3.54) has no lambda: there alpha grows without bound as a point comes near the axis of the only joint that moves it.
With it both stay bounded everywhere, by |v| / (2 lambda) for one joint.  The projection never makes a vector longer,
whatever eps is, so eps is small and the task hardly feels what goes through N.

A joint much slower than the others, such as a lift under an arm, should do little of the work: at its speed limit it
would slow all of them.  With weights D = diag(d_i), d_i = min(1, v_i / v_slow) of its greatest speed v_i,

    qd = D (J D)^T ((J D)(J D)^T + lambda^2 1)^-1 v          the least |D^-1 qd| instead of the least |qd|
    N x = x - D (J D)^T ((J D)(J D)^T + eps^2 1)^-1 J x

and in the transpose J D stands for J, too.  Weights of 1 give the equations above; an arm without a slow joint has no
weights at all, and its programs have no D.
"""

from __future__ import annotations

import math

import numpy as np

from ...algebra import Scalar, cross, dot, where
from ...algebra.linalg import Array, cholesky_solve, settled
from ...model import Model

SLOW_TURN = 0.5  # rad/s: a revolute joint that is slower works less than others
SLOW_SLIDE = 0.25  # m/s: a prismatic one


def speed_weights(model: Model) -> Array | None:
    """d_i (n,), 1 for the fastest joints; None where all are alike, or none is slow.

    A joint whose speed limit is not known counts as fast.  An arm all of whose joints are slow works as any other: the
    greatest weight is always 1.
    """
    weights = np.ones(model.n)
    for i, fastest in enumerate(model.velocity.tolist()):
        if math.isfinite(fastest) and fastest > 0.0:
            weights[i] = min(1.0, fastest / (SLOW_TURN if model.revolute(i) else SLOW_SLIDE))
    weights /= weights.max()
    return None if (weights == 1.0).all() else weights


def gram(J: Array) -> Array:
    """J J^T, each entry once."""
    m = len(J)
    G = np.empty((m, m), dtype=object)
    for i in range(m):
        for j in range(i + 1):
            G[i, j] = G[j, i] = J[i] @ J[j]
    return settled(G)


def damped(J: Array, v: Array, damping: Scalar, weights: Array | None = None) -> Array:
    """qd (n,) by damped least squares (3.49)."""
    if weights is not None:
        return weights * damped(J * weights, v, damping)
    return J.T @ cholesky_solve(gram(J) + damping * damping * np.eye(len(J)), v)


def transposed(J: Array, v: Array, damping: Scalar, weights: Array | None = None) -> Array:
    """qd (n,) by the Jacobian transpose (3.51), its step alpha by (3.53)-(3.54), damped; zero where J^T v is."""
    if weights is not None:
        return weights * transposed(J * weights, v, damping)
    b = J.T @ v
    e, size = J @ b, b @ b
    bound = e @ e + damping * damping * size
    return (size / where(bound > 0.0, bound, 1.0)) * b


def resolved(method: str, J: Array, v: Array, damping: Scalar, weights: Array | None = None) -> Array:
    """qd (n,) by the method of that name, "dls" or "transpose"."""
    return (transposed if method == "transpose" else damped)(J, v, damping, weights)


UNFELT = 1e-4  # m: eps of the null space


def null_space(J: Array, speed: Array, weights: Array | None = None) -> Array:
    """N speed (n,): the part of joint speeds that the task of J (m, n) does not feel."""
    return speed - damped(J, J @ speed, UNFELT, weights)


def openness(J: Array, damping: Scalar) -> Scalar:
    """det(J J^T) / det(J J^T + lambda^2 1) of J (3, n): near 1 far from singularities, 0 at one.

    The fraction of a velocity that damping lets through, in the worst direction, lies above it.
    """
    G = gram(J)
    damped_ = _determinant(G + damping * damping * np.eye(3))
    return _determinant(G) / where(damped_ > 0.0, damped_, 1.0)


def _determinant(A: Array) -> Scalar:
    return dot(A[0], cross(A[1], A[2]))
