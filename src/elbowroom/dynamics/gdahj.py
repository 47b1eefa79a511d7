"""Mass matrix for many joints (GDAHJ), O(n^2) with the least work inside the double loop.

In substance the composite-body method carried in one fixed frame.  Summing the balance of the links from i outwards
(thesis, 2.40-2.51) leaves, for a unit acceleration of joint j about z_j through p_j,

    moment at joint i = D_i z_j - b_i x (z_j x p_j)                                              (2.51)
    b_i = sum_{k >= i} eta_k,         eta_k = m_k (p_Ck - p_k) + (sum_{l > k} m_l) l_k           (2.45, 2.49)
    D_i = sum_{k >= i} R_k I_k R_k^T + kappa_k                                                   (2.50)
    kappa_k = -m_k [p_Ck - p_k][p_Ck] - [l_k] (sum_{l > k} m_l [p_Cl])                            (2.46)

([.] is the cross-product matrix, l_k runs from frame k to frame k+1), and so

    M_ij = z_j . d_i + t_j . y_i,   d_i = D_i^T z_i,   y_i = b_i x z_i,   t_j = z_j x p_j         (2.53)

Two inner products a pair.  (The print has y_i = b_i^T z_i below (2.53); docs/errata.md.)  Prismatic joints fit the same
loop (our extension): as a cause j they have z_j -> 0 and t_j = -z_j; as a row i, d_i = (sum m p_C) x z_i, y_i = -m z_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra import cross, dot
from ..algebra.linalg import Array, matrix, skew, zeros
from ..algebra.tensors import rotate_principal
from ..model import Model
from .kinematics import Frames, forward_kinematics


def mass_matrix(model: Model, q: Array) -> Array:
    """M (n, n), both triangles."""
    return _from_frames(model, forward_kinematics(model, q))


def _from_frames(model: Model, frames: Frames) -> Array:
    n, z, p = model.n, frames.z, frames.p
    cause = [(z[j], cross(z[j], p[j])) if model.revolute(j) else (np.zeros(3), -z[j]) for j in range(n)]
    M = zeros(n, n)
    for i, (d, y) in _rows(model, frames):
        for j in range(i + 1):
            turn, t = cause[j]
            M[i, j] = M[j, i] = dot(turn, d) + dot(t, y)  # (2.53)
    return matrix(M)


def _rows(model: Model, frames: Frames) -> list[tuple[int, tuple[Array, Array]]]:
    """d_i and y_i of every joint, tip first."""
    z, p = frames.z, frames.p
    mass: Any = 0.0  # of the links beyond i
    h = np.zeros(3)  # their sum of m p_C
    b, D = np.zeros(3), np.zeros((3, 3))
    found = []
    for i in range(model.n - 1, -1, -1):
        m, com = model.mass[i], frames.point(i, model.com[i])
        lever = m * (com - p[i])
        kappa_transposed = -_double_cross(com, lever)  # (2.46), transposed: [a][b] becomes [b][a]
        if i + 1 < model.n:
            step = p[i + 1] - p[i]
            lever = lever + mass * step  # eta_i (2.45)
            kappa_transposed = kappa_transposed - _double_cross(h, step)
        mass, h, b = mass + m, h + m * com, b + lever
        D = D + rotate_principal(frames.R[i], model.principal(i)) + kappa_transposed  # D_i^T (2.50)
        if model.revolute(i):
            found.append((i, (D @ z[i], cross(b, z[i]))))
        else:
            found.append((i, (cross(h, z[i]), -mass * z[i])))
    return found


def _double_cross(a: Array, b: Array) -> Array:
    """[a][b] = b a^T - (a.b) 1."""
    return skew(a) @ skew(b)
