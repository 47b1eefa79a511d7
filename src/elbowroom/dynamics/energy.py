"""Kinetic and potential energy.

T = sum m v.v/2 + w.I w/2 (links, centre of mass) = qd^T M qd / 2,      V = -sum m gravity . p_C
"""

from __future__ import annotations

import numpy as np

from ..algebra import Scalar, cross, dot
from ..algebra.linalg import Array
from ..model import Model
from . import crba
from .kinematics import Joints, Z, forward_kinematics


def kinetic_energy(model: Model, q: Array, qd: Array) -> Scalar:
    """T, scalar, from the links' own velocities carried outwards in link frames, O(n)."""
    joints = Joints(model, q)
    w, v = np.zeros(3), np.zeros(3)
    total: Scalar = 0.0
    for i in range(model.n):
        w, v = joints.motion_outward(i, w, v)
        if model.revolute(i):
            w = w + Z * qd[i]
        else:
            v = v + Z * qd[i]
        v_com = v + cross(w, model.com[i])
        total = total + 0.5 * (model.mass[i] * dot(v_com, v_com) + dot(w, model.inertia[i] @ w))
    return total


def kinetic_energy_from_mass_matrix(model: Model, q: Array, qd: Array) -> Scalar:
    """T = qd^T M qd / 2 with M by composite bodies."""
    return 0.5 * (qd @ (crba.mass_matrix(model, q) @ qd))


def potential_energy(model: Model, q: Array) -> Scalar:
    """V, scalar, zero when every centre of mass is at the world's origin: g = dV/dq."""
    frames = forward_kinematics(model, q)
    total: Scalar = 0.0
    for i in range(model.n):
        total = total - model.mass[i] * dot(model.gravity, frames.point(i, model.com[i]))
    return total
