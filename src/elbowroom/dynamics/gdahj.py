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

import numpy as np

from ..algebra import Scalar, cross, dot
from ..algebra.linalg import Array, rotate_principal, skew
from ..algebra.loops import each, pairs, scan
from ..model import Model
from .kinematics import Frames, forward_kinematics

_Sums = tuple[Scalar, Array, Array, Array]  # of the links from i on: mass, sum of m p_C, b, D^T


def mass_matrix(model: Model, q: Array) -> Array:
    """M (n, n), both triangles."""
    return from_frames(model, forward_kinematics(model, q))


def from_frames(model: Model, frames: Frames) -> Array:
    """M (n, n) with the kinematics known: the link frames in the world."""
    z, p = frames.z, frames.p
    rows = _rows(model, frames)

    def element(j: int, row: tuple[Array, Array]) -> tuple[Scalar, Scalar]:
        d, y = row
        turn, t = (z[j], cross(z[j], p[j])) if model.revolute(j) else (np.zeros(3), -z[j])
        M_ij = dot(turn, d) + dot(t, y)  # (2.53)
        return M_ij, M_ij

    return pairs(model.n, lambda i: rows[i], element)


def _rows(model: Model, frames: Frames) -> list[tuple[Array, Array]]:
    """d_i and y_i of every joint."""
    z, p = frames.z, frames.p

    def link(i: int) -> tuple[Array, Array, Array]:
        """What link i alone gives h, b and D^T."""
        m, com = model.mass[i], frames.point(i, model.com[i])
        lever = m * (com - p[i])
        kappa = _double_cross(com, lever)  # (2.46), transposed: [a][b] becomes [b][a]
        return m * com, lever, rotate_principal(frames.R[i], model.principal(i)) - kappa

    def inward(i: int, beyond: tuple[*_Sums, Array]) -> tuple[tuple[*_Sums, Array], _Sums]:
        mass, h, b, D, tip = beyond  # of the links beyond i: mass, sum of m p_C, b, D^T; frame i+1
        m_com, lever, own = links[i]
        step = tip - p[i]
        eta = lever + mass * step  # (2.45)
        D = D + (own - _double_cross(h, step))  # D_i^T (2.50)
        here = mass + model.mass[i], h + m_com, b + eta, D
        return (*here, p[i]), here

    def row(i: int) -> tuple[Array, Array]:
        mass, h, b, D = sums[i]
        return (D @ z[i], cross(b, z[i])) if model.revolute(i) else (cross(h, z[i]), -mass * z[i])

    links = each(model.n, link)
    nothing: tuple[*_Sums, Array] = (0.0, np.zeros(3), np.zeros(3), np.zeros((3, 3)), np.zeros(3))
    sums = scan(model.n, inward, nothing, inward=True)
    return each(model.n, row)


def _double_cross(a: Array, b: Array) -> Array:
    """[a][b] = b a^T - (a.b) 1."""
    return skew(a) @ skew(b)
