"""Forward dynamics as a Kalman filter and smoother along the chain, O(n).

Newton-Euler gives the torque T = tau - (C qd + g - J^T w) that is left for accelerating the joints, and the factors of

    M^-1 = (1 - H Psi K)* D^-1 (1 - H Psi K)                                             (Kozlowski, 25)

are two sweeps.  Space is time here: the filter runs from the tip to the base and turns T into innovations epsilon, the
smoother runs back and turns them into accelerations; P, the articulated inertia, is the filter's covariance.

    filter      z(k) = Phi z+(k-1),   epsilon(k) = T(k) - H z(k),   z+(k) = z(k) + G(k) epsilon(k)
    smoother    alpha+(k) = Phi* alpha(k+1),   qdd(k) = D^-1(k) epsilon(k) - G*(k) alpha+(k),
                alpha(k) = alpha+(k) + H* qdd(k)
    gains       D = H P H*,   G = P H* D^-1,   P+ = P - G D G*,   P(k) = Phi P+(k-1) Phi* + M(k)   (Riccati)

The paper numbers links from the tip, as above; the code from the base.  The covariance update is that of `aba`; what
differs is that speeds, gravity and wrenches are settled by Newton-Euler beforehand, so that filter and smoother see a
chain at rest.  Rotors add their inertia to D.

Published: 477 n - 503 operations in all (Table 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import Scalar, dot
from ..algebra.linalg import Array, is_constant, vector
from ..algebra.loops import scan, unzipped
from ..model import Model
from .aba import Articulated, freed, moved, rigid
from .kinematics import Joints, Z
from .rnea import inverse_dynamics


class Gains(NamedTuple):
    """What the Riccati equation gives each joint, base first."""

    G: list[tuple[Array, Array]]  # moment and force a unit of innovation
    D_inverse: list[Scalar]


def forward_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """qdd (n,) for joint torques tau, outside wrenches and gravity; `joint_inertia` (n,) adds to M's diagonal."""
    joints = Joints(model, q)
    gains = riccati(model, joints, joint_inertia)
    left = tau - inverse_dynamics(model, q, qd, np.zeros(model.n), wrench)
    return smoother(model, joints, gains, filtered(model, joints, gains, left))


def riccati(model: Model, joints: Joints, joint_inertia: Array | None = None) -> Gains:
    """G and 1 / D of every joint, from the tip inwards."""
    extra = np.zeros(model.n) if joint_inertia is None else joint_inertia

    def inward(k: int, beyond: Articulated) -> tuple[Articulated, tuple[tuple[Array, Array], Scalar]]:
        P, turns = Articulated(*(x + y for x, y in zip(rigid(model, k), beyond, strict=True))), model.revolute(k)
        moment, force = (P.J[:, 2], P.H[2, :]) if turns else (P.H[:, 2], P.K[:, 2])  # P H*
        inverse = 1.0 / ((moment[2] if turns else force[2]) + extra[k])  # of D
        left = freed(P, moment, force, inverse, on_axis=is_constant(extra[k], 0.0), revolute=turns)
        return moved(joints, k, left), ((moment * inverse, force * inverse), inverse)

    nothing = Articulated(*(np.zeros((3, 3)) for _ in range(3)))
    return Gains(*unzipped(scan(model.n, inward, nothing, inward=True), 2))


def filtered(model: Model, joints: Joints, gains: Gains, torque: Array) -> list[Scalar]:
    """The innovations epsilon = (1 - H Psi K) T, from the tip inwards."""
    innovation: list[Scalar] = [0.0] * model.n
    moment, force = np.zeros(3), np.zeros(3)
    for k in range(model.n - 1, -1, -1):
        felt = moment[2] if model.revolute(k) else force[2]
        innovation[k] = torque[k] - felt
        if k > 0:
            G_n, G_f = gains.G[k]
            moment, force = moment + G_n * innovation[k], force + G_f * innovation[k]
            moment, force = joints.force_inward(k, moment, force)
    return innovation


def smoother(model: Model, joints: Joints, gains: Gains, innovation: list[Scalar]) -> Array:
    """qdd = (1 - H Psi K)* D^-1 epsilon, from the base outwards."""
    qdd: list[Scalar] = [0.0] * model.n
    wd, a = np.zeros(3), np.zeros(3)
    for k in range(model.n):
        wd, a = joints.motion_outward(k, wd, a)
        G_n, G_f = gains.G[k]
        qdd[k] = gains.D_inverse[k] * innovation[k] - (dot(G_n, wd) + dot(G_f, a))
        if model.revolute(k):
            wd = wd + Z * qdd[k]
        else:
            a = a + Z * qdd[k]
    return vector(*qdd)
