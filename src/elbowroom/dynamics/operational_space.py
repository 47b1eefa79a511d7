"""Operational space: how the tool's motion and the forces on it are related, after Khatib (1987).

With J (k, n) the Jacobian of the task, b = C qd + g and xdd = J qdd + dJ/dt qd, the motion of the tool obeys

    Lambda xdd + mu = F,     tau = J^T F + N tau_0,     M qdd + b = tau                                            (1)

    A = J M^-1 J^T               the mobility: the tool's acceleration for a force on it
    Lambda = A^-1                the inertia that a force on the tool feels
    Jbar = M^-1 J^T Lambda       the dynamically consistent inverse, J Jbar = 1: qd = Jbar v has the least energy
    N = 1 - J^T Jbar^T           the null space: torques N tau_0 do not accelerate the task, J M^-1 N = 0
    mu = Jbar^T b - Lambda dJ/dt qd                                                                                (2)

By elimination from the tip inwards M = L^T D L; with V = L^-T J^T it is A = V^T D^-1 V and M^-1 J^T = L^-1 D^-1 V.
The columns of V are made orthogonal under D^-1 (modified Gram-Schmidt), V = Q R with R unit upper triangular, so that

    Q^T D^-1 Q = m diagonal,     Lambda = R^-1 m^-1 R^-T,     Jbar = L^-1 D^-1 Q m^-1 R^-T                         (3)

and A itself is not needed: its elimination would lose twice the digits.

Where the arm is singular or has fewer joints than the task has directions, A has no inverse.  m_k is what is left of
A_kk: the mobility of direction k with those before it held.  If that is less than LOST of the largest mobility of its
three (translations, rotations), or than LEAST, the direction is left out: its row and column of Lambda are zero.
Lambda is then a generalized inverse, A Lambda A = A, the rest of (2) is as it stands, J Jbar projects onto the motions
that the arm can make, N does not depend on which directions were left out, and J M^-1 N = 0 holds still, as far as the
mobility that was left out was zero.  Everything stays finite, and `rank` says how many directions are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..algebra import Scalar, maximum, where
from ..algebra.linalg import Array, ltdl, matrix, settled, zeros
from ..algebra.loops import same
from ..model import Model
from . import crba, rnea
from .joints import Joints
from .kinematics import forward_kinematics, jacobian

LOST = 1e-6
"""An inertia of a million times that of the direction that moves most easily is of no use to a controller: about a
thousandth of a radian from a singularity.  What rounding leaves of a column of V is 1e-7 of it in float32, and of its
square 1e-14."""

LEAST = 1e-30
"""1/kg or 1/(kg m^2): what moves less does so by rounding, and the inverse of less overflows in float32."""


class OperationalSpace(NamedTuple):
    """The dynamics at the tool, world axes, k = 6 (velocity, then angular velocity) or k = 3 (velocity alone)."""

    inertia: NDArray[np.float64]  # Lambda (k, k)
    inverse: NDArray[np.float64]  # Jbar (n, k)
    null_space: NDArray[np.float64]  # N (n, n), of torques
    bias: NDArray[np.float64]  # mu (k,): the force that holds the tool's acceleration at zero; gravity is in it
    rank: NDArray[np.float64]  # (), how many of the k directions the arm can move in

    @property
    def shape(self) -> NoReturn:
        """There is none: each part has its own."""
        raise AttributeError(
            "operational_space gives 5 arrays, each with its own shape: found.inertia, found.bias, ..."
        )


def operational_space(model: Model, q: Array, qd: Array, joint_inertia: Array | None = None) -> OperationalSpace:
    """Of the tool's velocity and angular velocity, k = 6; friction is not in it."""
    return _of_task(model, q, qd, joint_inertia, 6)


def operational_space_translation(
    model: Model, q: Array, qd: Array, joint_inertia: Array | None = None
) -> OperationalSpace:
    """Of the tool's velocity alone, k = 3; friction is not in it."""
    return _of_task(model, q, qd, joint_inertia, 3)


def _of_task(model: Model, q: Array, qd: Array, joint_inertia: Array | None, k: int) -> OperationalSpace:
    n = model.n
    J = np.vstack(jacobian(model, q))[:k]
    L, D = ltdl(crba.with_rotors(crba.mass_matrix(model, q), joint_inertia))
    V = J.T.astype(object)
    for i in range(n - 1, -1, -1):
        for j in range(i):
            V[j] = V[j] - L[i, j] * V[i]
    inertia, inverse, rank = generalized_inverse(V, [1.0 / D[i] for i in range(n)])
    for i in range(n):
        for j in range(i):
            inverse[i] = inverse[i] - L[i, j] * inverse[j]
    inverse = settled(inverse)
    bias = inverse.T @ rnea.bias_torque(model, q, qd) - inertia @ _drift(model, q, qd)[:k]
    return OperationalSpace(inertia, inverse, matrix(np.eye(n) - J.T @ inverse.T), settled(bias), rank)  # type: ignore[arg-type]


def generalized_inverse(V: Array, weights: Sequence[Scalar]) -> tuple[Array, Array, Scalar]:
    """Lambda (k, k) with A Lambda A = A for A = V^T W V, then W V Lambda (n, k), and the rank; W = diag(weights) > 0.

    The inverse where there is one; else rows and columns that those before them determine are zero in it.
    """
    n, k = V.shape
    columns = [V[:, c] for c in range(k)]  # become orthogonal, one after the other
    X: list[list[Scalar]] = [[float(i == j) for j in range(k)] for i in range(k)]  # becomes R^-T, unit lower triangular
    whole = [_along(column, column * weights) for column in columns]
    inverses: list[Scalar] = []
    rank: Scalar = 0.0
    least: Scalar = LEAST
    for c in range(k):
        weighted = columns[c] * weights
        if c % 3 == 0:  # metres and radians apart
            least = LEAST
            for i in range(c, min(c + 3, k)):
                least = maximum(least, LOST * whole[i])
        left = _along(columns[c], weighted)
        kept = left > least
        inverses.append(where(kept, 1.0 / where(kept, left, 1.0), 0.0))
        rank = rank + where(kept, 1.0, 0.0)
        for i in range(c + 1, k):
            factor = _along(columns[i], weighted) * inverses[c]
            columns[i] = columns[i] - factor * columns[c]
            for j in range(c + 1):
                X[i][j] = X[i][j] - factor * X[c][j]
        columns[c] = weighted
    found, applied = zeros(k, k), zeros(n, k)
    for i in range(k):
        for j in range(i + 1):
            terms = (X[c][i] * (inverses[c] * X[c][j]) for c in range(i, k))
            found[i, j] = found[j, i] = sum(terms, start=0.0)
    for j in range(k):
        applied[:, j] = sum((columns[c] * (inverses[c] * X[c][j]) for c in range(j, k)), start=np.zeros(n))
    return matrix(found), applied, rank


def _along(a: Array, b: Array) -> Scalar:
    """The product of two columns, as a sum."""
    product: Scalar = sum((x * y for x, y in zip(a, b, strict=True)), start=0.0)
    return product


def _drift(model: Model, q: Array, qd: Array) -> Array:
    """dJ/dt qd (6,): the tool's acceleration while the joints' speeds do not change."""
    joints, frames = Joints(model, q), forward_kinematics(model, q)
    motion = rnea.accelerations(model, joints, qd, same(model.n, 0.0), -model.gravity, lambda _, found: found)
    _, wd, a, U = motion[-1]
    R = frames.R[-1]
    return np.concatenate([R @ (a + U @ model.tool[:3, 3]) + model.gravity, R @ wd])
