"""Inverse of the mass matrix in O(n^2), one sweep of columns: for many joints.

The Kalman filter (kalman.py) turns a unit torque at joint k into innovations epsilon_jk at the joints j <= k inboard,
with x the force and moment that is left of it behind joint j:

    epsilon_kk = 1,  x = G_k        inwards:  z = Phi_j x,   epsilon = -H z,   x = z + G epsilon                     (1)

The smoother would carry accelerations back outwards, a second sweep of columns.  But what it finds at joint j depends
on the column through x alone, and linearly.  Let S_j be the motion of link j under a force there, all joints beyond it
gone and the sign turned: its compliance, the negative of what holds link j in place.  With S' = Phi_j^T S_{j-1} Phi_j,

    (M^-1)_jk = epsilon_jk / D_j - a_j . x_jk,        a_j = S' G_j                                                  (2)
    S_j = (1 - G_j H)^T S' (1 - G_j H) - H^T H / D_j,         S_0 = 0 at the base                                   (3)

So a recursion inwards (G, D), one outwards (S, a), and (1) with (2) for the pairs.  (3) changes one row and column.
"""

from __future__ import annotations

import numpy as np

from ..algebra import Scalar, dot
from ..algebra.linalg import Array
from ..algebra.loops import pairs, scan
from ..model import Model
from .aba import Articulated, moved_outward
from .kalman import Gains, riccati
from .kinematics import Joints

_Inboard = tuple[Array, Array, float]  # of the joint inboard: G as moment and force, 1 if it turns


def mass_matrix_inverse(model: Model, q: Array, joint_inertia: Array | None = None) -> Array:
    """M^-1 (n, n), both triangles; `joint_inertia` (n,) adds to M's diagonal."""
    joints = Joints(model, q)
    gains = riccati(model, joints, joint_inertia)
    answers = compliances(model, joints, gains)

    def previous(i: int, before: _Inboard) -> tuple[_Inboard, _Inboard]:
        return (*gains.G[i], 1.0 if model.revolute(i) else 0.0), before

    inboard = scan(model.n, previous, (np.zeros(3), np.zeros(3), 1.0))

    def element(j: int, column: tuple[Scalar, Array, Array]) -> tuple[Scalar, Scalar]:
        innovation, moment, force = column
        a_n, a_f = answers[j]
        found = gains.D_inverse[j] * innovation - (dot(a_n, moment) + dot(a_f, force))  # (2)
        return found, found

    def move(j: int, column: tuple[Scalar, Array, Array]) -> tuple[Scalar, Array, Array]:
        moment, force = joints.force_inward(j, *column[1:])
        G_n, G_f, turns = inboard[j]
        innovation = -(turns * moment[2] + (1.0 - turns) * force[2])
        return innovation, moment + G_n * innovation, force + G_f * innovation  # (1)

    return pairs(model.n, lambda k: (1.0, *gains.G[k]), element, move)


def compliances(model: Model, joints: Joints, gains: Gains) -> list[tuple[Array, Array]]:
    """a_j of every joint, as what multiplies a moment and a force.

    S is kept in the blocks of an inertia: J takes forces to accelerations of the frame's origin, K moments to angular
    ones, H moments to accelerations of the origin.
    """

    def outward(j: int, before: Articulated) -> tuple[Articulated, tuple[Array, Array]]:
        S = moved_outward(joints, j, before)
        G_n, G_f = gains.G[j]
        a_n, a_f = S.K @ G_n + S.H.T @ G_f, S.H @ G_n + S.J @ G_f
        corner = dot(G_n, a_n) + dot(G_f, a_f) - gains.D_inverse[j]
        J, H, K = (block.astype(object) for block in S)
        if model.revolute(j):  # row and column of the joint's own axis (3)
            _lessen(K, a_n, corner)
            H[:, 2] = H[:, 2] - a_f
        else:
            _lessen(J, a_f, corner)
            H[2, :] = H[2, :] - a_n
        return Articulated(J, H, K), (a_n, a_f)

    still = Articulated(*(np.zeros((3, 3)) for _ in range(3)))
    return scan(model.n, outward, still)


def _lessen(S: Array, a: Array, corner: Scalar) -> None:
    """Take a from the third row and column of a symmetric S, and add to their crossing."""
    S[0, 2] = S[2, 0] = S[0, 2] - a[0]
    S[1, 2] = S[2, 1] = S[1, 2] - a[1]
    S[2, 2] = S[2, 2] - 2.0 * a[2] + corner
