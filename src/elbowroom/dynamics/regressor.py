"""The torque as a linear function of the links' inertial parameters, tau = Y(q, qd, qdd) p, O(n^2).

A link moves as rnea.py has it: w its angular velocity, a the acceleration of its frame's origin (less gravity), and
U = [wd x] + [w x][w x], so that its points accelerate as a + U x.  For its mass m, first moment h = m c and inertia I
about the frame's origin that takes the force and the moment

    f = m a + U h,        n = h x a + I wd + w x I w = h x a + N (I_xx, I_xy, I_yy, I_xz, I_yz, I_zz)             (1)

with N (3, 6) made of w and wd alone.  Let joint j alone move with unit speed: it turns link i >= j by the angular
velocity s_w and carries its frame's origin with s_v, in the axes of link i.  The power of (1) is what joint j feels:

    tau_j = s_v . f + s_w . n = m (s_v . a) + h . (U^T s_v + a x s_w) + (I_xx, ..., I_zz) . N^T s_w               (2)

So a joint's axis is carried outwards, six numbers, instead of ten columns of moment and force inwards.
"""

from __future__ import annotations

from ..algebra import cross, dot
from ..algebra.linalg import Array, matrix, zeros
from ..model import Model
from .joints import Joints, Z
from .rnea import Accelerated, accelerations

PER_LINK = 10


def regressor(model: Model, q: Array, qd: Array, qdd: Array) -> Array:
    """Y (n, 10 n) with Y @ model.parameters = M qdd + C qd + g of the rigid bodies; Y does not depend on them.

    Columns 10 i to 10 i + 9 belong to link i, and are zero in the rows of joints beyond it:

        m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz

    I is about the link frame's origin, in its axes, with the products of inertia as entries of the tensor (I_xy is
    minus the sum of m x y).  It is the order of Pinocchio's `Inertia.toDynamicParameters` and of its
    `computeJointTorqueRegressor`, whose joint frames are our link frames.
    """
    joints = Joints(model, q)
    links = accelerations(model, joints, qd, qdd, -model.gravity, lambda _, motion: (motion, _turning(motion)))
    Y = zeros(model.n, PER_LINK * model.n)
    for j in range(model.n):
        s_w, s_v = (Z, 0.0 * Z) if model.revolute(j) else (0.0 * Z, Z)
        for i in range(j, model.n):
            if i > j:
                s_w, s_v = joints.motion_outward(i, s_w, s_v)
            (_, _, a, U), N = links[i]
            felt = dot(s_v, a), *(U.T @ s_v + cross(a, s_w)).tolist(), *(s_w @ N).tolist()  # (2)
            Y[j, PER_LINK * i : PER_LINK * (i + 1)] = felt
    return matrix(Y)


def _turning(motion: Accelerated) -> Array:
    """N (3, 6): the moment I wd + w x I w by the six entries of I."""
    (wx, wy, wz), (dx, dy, dz), U = motion[0].tolist(), motion[1].tolist(), motion[3]
    xy, yz, xz = wx * wy, wy * wz, wx * wz
    rows = (
        (dx, -U[2, 0], -yz, U[1, 0], U[1, 1] - U[2, 2], yz),
        (xz, U[2, 1], dy, U[2, 2] - U[0, 0], -U[0, 1], -xz),
        (-xy, U[0, 0] - U[1, 1], xy, -U[1, 2], U[0, 2], dz),
    )
    return matrix(rows)
