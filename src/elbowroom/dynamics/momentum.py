"""Generalized momentum, link by link, and what changes it: the terms of a momentum observer, O(n^2).

Link i has the momentum P_i = m_i v_Ci and, about its centre of mass, L_i = I_i w_i.  Joint j <= i feels of it

    p_ij = z_j . N        N = L_i + (p_Ci - p_j) x P_i,      z_j . P_i of a prismatic joint                     (1)

Its rate has a part that moves the link, Y_ij, which the torque pays for, and one that is there because the axis moves:

    d/dt p_ij = Y_ij + b_ij,      b_ij = dJ_ij/dt . (P_i, L_i) - g_ij
              = (w_j x z_j) . N - z_j . (v_j x P_i) + z_j . ((p_Ci - p_j) x m_i gravity)                        (2)
                (w_j x z_j) . P_i + z_j . m_i gravity                               of a prismatic joint

(v_Ci x P_i = 0 takes one term away).  Summed over the links these are p = M qd and b = C^T qd - g with the Christoffel
C, and Y is the torque of the rigid arm: to know it takes no acceleration, but the rate of p.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import cross, dot
from ..algebra.linalg import Array, matrix, zeros
from ..model import Model
from .kinematics import forward_kinematics, velocities


class LinkMomenta(NamedTuple):
    """What each joint feels of each link; rows are links, columns joints."""

    momentum: Array  # (n, n) p_ij
    rest: Array  # (n, n) b_ij: the rate of p_ij while the joint gives no torque for this link


def link_momenta(model: Model, q: Array, qd: Array) -> LinkMomenta:
    """p_ij and b_ij (n, n) of the rigid links: sums over i are M qd and C^T qd - g."""
    n, frames = model.n, forward_kinematics(model, q)
    omega, v = velocities(model, frames, qd)
    axis_rate = [cross(omega[j], frames.z[j]) for j in range(n)]
    momentum, rest = zeros(n, n), zeros(n, n)
    for i in range(n):
        R, com, weight = frames.R[i], frames.point(i, model.com[i]), model.mass[i] * np.asarray(model.gravity)
        P = model.mass[i] * (v[i] + cross(omega[i], com - frames.p[i]))
        L = R @ (model.inertia[i] @ (R.T @ omega[i]))
        for j in range(i + 1):
            z, lever = frames.z[j], com - frames.p[j]
            if model.revolute(j):
                N = L + cross(lever, P)
                momentum[i, j] = dot(z, N)  # (1)
                rest[i, j] = dot(axis_rate[j], N) - dot(z, cross(v[j], P)) + dot(z, cross(lever, weight))  # (2)
            else:
                momentum[i, j] = dot(z, P)
                rest[i, j] = dot(axis_rate[j], P) + dot(z, weight)
    return LinkMomenta(matrix(momentum), matrix(rest))
