"""Matrices out of many Newton-Euler calls, as toolboxes make them, and the inertia rate by differencing.

Newton-Euler is linear in the accelerations and quadratic in the speeds, so it can be asked for one column at a time:

    M[:, k] = NE(qdd = e_k, qd = 0, no gravity)                                              n calls
    2 Gamma[:, j, k] = NE(qd = e_j + e_k) - NE(qd = e_j) - NE(qd = e_k)                      n (n + 1) / 2 calls
    C = sum_k Gamma[:, :, k] qd_k                                                            the Christoffel matrix
    dM/dt = (M(q + h qd) - M(q - h qd)) / 2h + O(h^2)                                        2 composite bodies

The baselines of the thesis' Tables 2.1 and 2.2: easy to write and O(n^2), O(n^3), O(n^2).  At rest, a link's force and
moment about its frame are f = m a + wd x h and n = I wd + h x a, with h = m c and I about the frame.
"""

from __future__ import annotations

import numpy as np

from ..algebra import Scalar, cross
from ..algebra.linalg import Array, matrix, vector, zeros
from ..model import Model
from . import crba, rnea
from .kinematics import Joints, Z

STEP = 1e-5
"""Seconds.  The central difference errs by h^2/6 times the third derivative, which grows with the cube of the speeds,
and by rounding over h: about 1e-9 of |M| |qd| at 2 rad/s in every joint, 1e-7 at 20 rad/s; no step does much better."""


def mass_matrix(model: Model, q: Array) -> Array:
    """M (n, n), both triangles, column by column; of each pair of entries that of the later column is kept."""
    n = model.n
    joints = Joints(model, q)
    M = [inertia_product(model, joints, unit) for unit in np.eye(n)]
    return matrix([[M[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)])


def coriolis_matrix(model: Model, q: Array, qd: Array) -> Array:
    """C (n, n), the Christoffel form: one call for every joint's own speed, one for every pair of joints."""
    n = model.n
    unit = np.eye(n)
    alone = [rnea.coriolis_torque(model, q, e) for e in unit]
    C = zeros(n, n)
    for k in range(n):
        C[:, k] = C[:, k] + alone[k] * qd[k]
        for j in range(k):
            pair = rnea.coriolis_torque(model, q, unit[j] + unit[k])
            gamma = 0.5 * (pair - alone[j] - alone[k])
            C[:, j] = C[:, j] + gamma * qd[k]
            C[:, k] = C[:, k] + gamma * qd[j]
    return matrix(C)


def mass_matrix_rate(model: Model, q: Array, qd: Array, step: float = STEP) -> Array:
    """dM/dt (n, n) by a central difference of M along qd, `step` seconds either way; digits short of the others."""
    ahead, behind = (crba.mass_matrix(model, q + h * qd) for h in (step, -step))
    half = 0.5 / step
    n = model.n
    rate = zeros(n, n)
    for j in range(n):
        for i in range(j + 1):
            rate[i, j] = rate[j, i] = (ahead[i, j] - behind[i, j]) * half
    return matrix(rate)


def inertia_product(model: Model, joints: Joints, qdd: Array, *, start: int = 0) -> Array:
    """M qdd (n - start,) for the rows from `start` on, by Newton-Euler at rest; joints before `start` stand still."""
    wd, a = np.zeros(3), np.zeros(3)
    force, moment = [], []
    for i in range(start, model.n):
        if i > start:
            wd, a = joints.motion_outward(i, wd, a)
        if model.revolute(i):
            wd = wd + Z * qdd[i]
        else:
            a = a + Z * qdd[i]
        mass, h, inertia, _ = model.moments[i]
        force.append(mass * a + cross(wd, h))
        moment.append(inertia @ wd + cross(h, a))

    tau: list[Scalar] = []
    f, m = np.zeros(3), np.zeros(3)
    for i in range(model.n - 1, start - 1, -1):
        f, m = f + force[i - start], m + moment[i - start]
        tau.append(m[2] if model.revolute(i) else f[2])
        if i > start:
            m, f = joints.force_inward(i, m, f)
    return vector(*tau[::-1])
