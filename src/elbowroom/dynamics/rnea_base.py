"""Inverse dynamics by recursive Newton-Euler with every vector in base axes, O(n).

Milicevic, Golubovic, Slavkovic, Table 1.  Outwards, i = 1..n:

    w_i  = w_{i-1} + z_i qd_i                                    (a prismatic joint: w_{i-1})
    wd_i = wd_{i-1} + z_i qdd_i + w_{i-1} x z_i qd_i             (a prismatic joint: wd_{i-1})
    a_i  = a_{i-1} + wd_{i-1} x l_i + w_{i-1} x (w_{i-1} x l_i)  (prismatic: + z_i qdd_i + 2 w_i x z_i qd_i)
    a_Ci = a_i + wd_i x s_i + w_i x (w_i x s_i)

and inwards, i = n..1, with I_i about the centre of mass in base axes:

    F_i = m_i a_Ci            M_i = I_i wd_i + w_i x I_i w_i
    f_i = F_i + f_{i+1}       n_i = n_{i+1} + l_{i+1} x f_{i+1} + s_i x F_i + M_i
    tau_i = z_i . n_i + b_i qd_i                                 (prismatic: z_i . f_i + b_i qd_i)

The paper's frame i sits at the far end of link i (standard Denavit-Hartenberg), ours at its joint: its z_{i-1} is our
z_i, its p*_i our l_{i+1} = p_{i+1} - p_i, its p*_i + s_i our s_i = p_Ci - p_i, and its v'_i belongs to our frame i+1.
The base accelerates at minus gravity.

Costs more than `rnea`, which is the same recursion in link axes (Table 2): here every tensor must be turned.
"""

from __future__ import annotations

import numpy as np

from ..algebra import Scalar, cross, dot
from ..algebra.linalg import Array, rotate_featherstone, vector
from ..model import Model
from .kinematics import forward_kinematics, link_wrench
from .rnea import acceleration_field


def inverse_dynamics(
    model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None, damping: Array | None = None
) -> Array:
    """tau (n,) = M qdd + C qd + g + b qd - J^T w; `damping` is b (n,), N m s, none if omitted."""
    return _recursion(model, q, qd, qdd, -model.gravity, wrench, damping)


def bias_torque(model: Model, q: Array, qd: Array) -> Array:
    """C qd + g (n,)."""
    return _recursion(model, q, qd, np.zeros(model.n), -model.gravity)


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """C qd (n,)."""
    return _recursion(model, q, qd, np.zeros(model.n), np.zeros(3))


def gravity_torque(model: Model, q: Array) -> Array:
    """g (n,), the torque that holds the arm still."""
    still = np.zeros(model.n)
    return _recursion(model, q, still, still, -model.gravity)


def _recursion(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    base_acceleration: Array,
    wrench: Array | None = None,
    damping: Array | None = None,
) -> Array:
    n = model.n
    frames = forward_kinematics(model, q)
    z, p = frames.z, frames.p
    l = [here - before for here, before in zip(p, [model.base[:3, 3], *p[:-1]], strict=True)]  # noqa: E741  # as in the equations
    w, wd, a = np.zeros(3), np.zeros(3), base_acceleration
    U = np.zeros((3, 3))  # U x = wd x x + w x (w x x), as in rnea
    force: list[Array] = []
    moment: list[Array] = []  # about frame i
    for i in range(n):
        a = a + U @ l[i]
        speed, swing = z[i] * qd[i], cross(w, z[i] * qd[i])
        if model.revolute(i):
            w, wd = w + speed, wd + z[i] * qdd[i] + swing
            U = acceleration_field(w, wd)
        else:
            a = a + z[i] * qdd[i] + 2.0 * swing
        s = frames.R[i] @ model.com[i]
        F = model.mass[i] * (a + U @ s)
        tensor = rotate_featherstone(frames.R[i], model.inertia[i])
        M = tensor @ wd + cross(w, tensor @ w) + cross(s, F)
        if wrench is not None:
            outside, couple, arm = link_wrench(model, i, wrench)
            if outside is not None:
                F, M = F - outside, M - couple - cross(frames.R[i] @ arm, outside)
        force.append(F)
        moment.append(M)

    tau: list[Scalar] = [0.0] * n
    f, m = np.zeros(3), np.zeros(3)
    for i in range(n - 1, -1, -1):
        f, m = f + force[i], m + moment[i]
        tau[i] = dot(z[i], m if model.revolute(i) else f)
        if damping is not None:
            tau[i] = tau[i] + damping[i] * qd[i]
        m = m + cross(l[i], f)
    return vector(*tau)
