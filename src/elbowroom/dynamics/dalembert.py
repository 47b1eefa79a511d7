"""Generalized d'Alembert equations of motion: closed form, with what links do by moving and by turning apart, O(n^3).

Milicevic, Golubovic, Slavkovic, (4.1)-(4.5), for revolute joints:

    D_ij   = sum_{s >= j} m_s [z_j x (r_s - p_j)] . [z_i x (r_s - p_i)]            D_tran, i <= j     (4.2)
           + sum_{s >= j} (sR0 z_i)^T I_s (sR0 z_j)                                D_rot
    h_tran = sum_{s >= i} m_s a_s . [z_i x (r_s - p_i)]                                               (4.3)
    h_rot  = sum_{s >= i} (sR0 z_i)^T (I_s g_s + w_s x I_s w_s)                                       (4.4)
    c_i    = -gravity . [z_i x sum_{s >= i} m_s (r_s - p_i)]                                          (4.5)

r_s is the centre of mass of link s, (sR0) turns into its axes, in which I_s is constant; a_s and g_s are the linear and
angular acceleration that the joint speeds alone give it:

    w_s = sum_{p <= s} qd_p z_p,     g_s = sum_{p <= s} (sum_{q < p} qd_q z_q) x qd_p z_p
    a_s = sum_{k < s} [w_k x (w_k x l_k) + g_k x l_k] + w_s x (w_s x c_s) + g_s x c_s

with l_k from frame k to frame k+1 and c_s from frame s to r_s.  The paper's z_{i-1}, p_{i-1}, p*_k are our z_i, p_i,
l_k.  Its print of (4.3) is garbled and (4.4) is missing; these are the forms that agree with the others, (4.4) after
(sR0 z x w)^T I w = (sR0 z)^T (w x I w) and with its double sum of cross products recognised as g_s.

Prismatic joints are our extension: such a joint moves every r_s beyond it along z_i, so z_i stands for
z_i x (r_s - p_i), turns nothing, so its rows and columns of D_rot and h_rot are zero, and adds 2 w x z qd to a_s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import cross, dot
from ..algebra.linalg import Array, matrix, vector, zeros
from ..model import Model
from .kinematics import Frames, Joints, Z, forward_kinematics, wrench_torque
from .rnea import acceleration_field

Columns = list[list[Array]]


class Terms(NamedTuple):
    """The equations of motion term by term: (D_tran + D_rot) qdd + h_tran + h_rot + c = tau (4.1)."""

    D_tran: Array  # (n, n)
    D_rot: Array  # (n, n)
    h_tran: Array  # (n,)
    h_rot: Array  # (n,)
    c: Array  # (n,)


def terms(model: Model, q: Array, qd: Array) -> Terms:
    """D_tran, D_rot (n, n), h_tran, h_rot, c (n,), apart."""
    frames = forward_kinematics(model, q)
    moved, turned = _moved(model, frames), _turned(model, q)
    return Terms(
        _D_tran(model, moved),
        _D_rot(model, turned),
        _h_tran(model, frames, moved, qd),
        _h_rot(model, q, turned, qd),
        _c(model, moved),
    )


def mass_matrix(model: Model, q: Array) -> Array:
    """D (n, n) = D_tran + D_rot, both triangles (4.2)."""
    D_tran = _D_tran(model, _moved(model, forward_kinematics(model, q)))
    return _both(D_tran, _D_rot(model, _turned(model, q)))


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """h_tran + h_rot (n,) (4.3, 4.4)."""
    frames = forward_kinematics(model, q)
    return _h_tran(model, frames, _moved(model, frames), qd) + _h_rot(model, q, _turned(model, q), qd)


def gravity_torque(model: Model, q: Array) -> Array:
    """c (n,) (4.5)."""
    return _c(model, _moved(model, forward_kinematics(model, q)))


def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
    """tau (n,) = D qdd + h_tran + h_rot + c (4.1), less J^T w."""
    D_tran, D_rot, h_tran, h_rot, c = terms(model, q, qd)
    tau = _both(D_tran, D_rot) @ qdd + h_tran + h_rot + c
    return tau if wrench is None else tau - wrench_torque(model, forward_kinematics(model, q), wrench)


def _both(D_tran: Array, D_rot: Array) -> Array:
    """D_tran + D_rot, each pair of equal entries added once."""
    n = len(D_tran)
    D = zeros(n, n)
    for j in range(n):
        for i in range(j + 1):
            D[i, j] = D[j, i] = D_tran[i, j] + D_rot[i, j]
    return matrix(D)


def _moved(model: Model, frames: Frames) -> Columns:
    """Per link s and joint i <= s: z_i x (r_s - p_i), how the joint moves the centre of mass."""
    r = [frames.point(s, model.com[s]) for s in range(model.n)]

    def column(s: int, i: int) -> Array:
        return cross(frames.z[i], r[s] - frames.p[i]) if model.revolute(i) else frames.z[i]

    return [[column(s, i) for i in range(s + 1)] for s in range(model.n)]


def _turned(model: Model, q: Array) -> Columns:
    """Per link s and joint i <= s: sR0 z_i, how the joint turns the link, in its axes; nothing if it slides."""
    joints = Joints(model, q)
    columns: Columns = []
    axes: list[Array] = []
    for s in range(model.n):
        axes = [*(joints.outward(s, z) for z in axes), Z if model.revolute(s) else np.zeros(3)]
        columns.append(axes)
    return columns


def _D_tran(model: Model, moved: Columns) -> Array:
    return _summed(model.n, moved, [[model.mass[s] * column for column in moved[s]] for s in range(model.n)])


def _D_rot(model: Model, turned: Columns) -> Array:
    return _summed(model.n, turned, [[model.inertia[s] @ z for z in turned[s]] for s in range(model.n)])


def _summed(n: int, columns: Columns, weighted: Columns) -> Array:
    """sum_{s >= j} column_si . weighted_sj for i <= j, and its mirror image (4.2)."""
    D = zeros(n, n)
    for j in range(n):
        for i in range(j + 1):
            D[i, j] = D[j, i] = sum((dot(columns[s][i], weighted[s][j]) for s in range(j, n)), start=0.0)
    return matrix(D)


def _h_tran(model: Model, frames: Frames, moved: Columns, qd: Array) -> Array:
    force = [m * a for m, a in zip(model.mass, _accelerations(model, frames, qd), strict=True)]
    return _projected(model.n, moved, force)  # (4.3)


def _h_rot(model: Model, q: Array, turned: Columns, qd: Array) -> Array:
    joints = Joints(model, q)
    w, g = np.zeros(3), np.zeros(3)  # in link axes
    moment = []
    for s in range(model.n):
        w, g = joints.outward(s, w), joints.outward(s, g)
        if model.revolute(s):
            g = g + cross(w, Z * qd[s])
            w = w + Z * qd[s]
        moment.append(model.inertia[s] @ g + cross(w, model.inertia[s] @ w))
    return _projected(model.n, turned, moment)  # (4.4)


def _c(model: Model, moved: Columns) -> Array:
    weight = [-m * model.gravity for m in model.mass]
    return _projected(model.n, moved, weight)  # (4.5)


def _projected(n: int, columns: Columns, load: list[Array]) -> Array:
    """sum_{s >= i} column_si . load_s, (n,)."""
    return vector(*(sum((dot(columns[s][i], load[s]) for s in range(i, n)), start=0.0) for i in range(n)))


def _accelerations(model: Model, frames: Frames, qd: Array) -> list[Array]:
    """a_s of every centre of mass, by the joint speeds alone; U x = w x (w x x) + g x x."""
    w, g, a = np.zeros(3), np.zeros(3), np.zeros(3)  # in base axes, a of frame s
    U = np.zeros((3, 3))
    found = []
    previous = model.base[:3, 3]
    for s in range(model.n):
        a = a + U @ (frames.p[s] - previous)
        speed = frames.z[s] * qd[s]
        swing = cross(w, speed)
        if model.revolute(s):
            w, g = w + speed, g + swing
            U = acceleration_field(w, g)
        else:
            a = a + 2.0 * swing
        found.append(a + U @ (frames.R[s] @ model.com[s]))
        previous = frames.p[s]
    return found
