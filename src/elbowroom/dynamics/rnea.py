"""Inverse dynamics by recursive Newton-Euler in link frames, O(n).

Outwards, angular velocity w, angular acceleration wd and acceleration a of each frame's origin (the base accelerates
at minus gravity); inwards, the force f and moment n that each joint carries.  All points of a link accelerate as

    a(x) = a + U x,   U = [wd x] + [w x][w x]                                          (1)

so with h = m c and the second moment S = int x x^T dm = tr(I)/2 1 - I about the frame's origin,

    f = int a(x) dm = m a + U h                                                        (2)
    n = int x x a(x) dm = h x a + vee(U S - (U S)^T)                                   (3)

where vee takes the vector of a skew matrix.  (3) is the usual I wd + w x I w + h x a in fewer operations, and U is
needed anyhow to carry the acceleration to the next frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..algebra import Scalar, cross
from ..algebra.linalg import Array, is_constant, matrix, vector
from ..algebra.loops import each, gathered, same, scan
from ..model import Model
from .kinematics import Joints, Z, forward_kinematics, link_wrench

Then = TypeVar("Then")
Loads = list[tuple[Array, Array]]  # per link: moment about its frame's origin, force
Rates = Array | Sequence[Scalar]  # speeds or accelerations of the joints (n,)
Accelerated = tuple[Array, Array, Array, Array]  # of a link: w, wd, acceleration of its frame's origin, U


def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
    """tau (n,) = M qdd + C qd + g - J^T w, rigid body alone."""
    return _recursion(model, q, qd, qdd, -model.gravity, wrench)


def bias_torque(model: Model, q: Array, qd: Array) -> Array:
    """C qd + g (n,)."""
    return _recursion(model, q, qd, same(model.n, 0.0), -model.gravity)


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """C qd (n,)."""
    return _recursion(model, q, qd, same(model.n, 0.0), np.zeros(3))


def gravity_torque(model: Model, q: Array) -> Array:
    """g (n,), the torque that holds the arm still."""
    still = same(model.n, 0.0)
    return _recursion(model, q, still, still, -model.gravity)


def acceleration_field(w: Array, wd: Array) -> Array:
    """U = [wd x] + [w x][w x] (3, 3), equation (1): 6 multiplications, 9 additions."""
    (wx, wy, wz), (dx, dy, dz) = w.tolist(), wd.tolist()
    xx, yy, zz, xy, yz, xz = wx * wx, wy * wy, wz * wz, wx * wy, wy * wz, wx * wz
    return matrix([[-(yy + zz), xy - dz, xz + dy], [xy + dz, -(xx + zz), yz - dx], [xz - dy, yz + dx, -(xx + yy)]])


def _turning_moment(w: Array, wd: Array, U: Array, inertia: Array, S: Array) -> Array:
    """vee(U S - (U S)^T), equation (3); what two entries share of the symmetric S is taken together.

    What S has on its diagonal acts as I_ii wd_i + (I_kk - I_jj) w_j w_k too, which a link with few moments of inertia
    has in fewer products; of a full one both take six.
    """
    moments = np.diagonal(inertia)
    differences = [moments[k] - moments[j] for j, k in ((1, 2), (2, 0), (0, 1))]
    by_inertia = _nonzero(*moments, *differences) < 2 * _nonzero(*np.diagonal(S))

    def component(i: int, j: int, k: int) -> Scalar:
        """Entry (k, j) of U S less entry (j, k)."""
        shared = (U[k, k] - U[j, j]) * S[j, k]
        if by_inertia:
            turning = moments[i] * wd[i] + differences[i] * (w[j] * w[k])
            return U[k, i] * S[i, j] - U[j, i] * S[i, k] + shared + turning
        return U[k, i] * S[i, j] + U[k, j] * S[j, j] - U[j, i] * S[i, k] - U[j, k] * S[k, k] + shared

    return vector(component(0, 1, 2), component(1, 2, 0), component(2, 0, 1))


def _nonzero(*scalars: Scalar) -> int:
    return sum(not is_constant(x, 0.0) for x in scalars)


def link_loads(model: Model, joints: Joints, qd: Rates, qdd: Rates, base_acceleration: Array) -> Loads:
    """The outward half: moment about its frame and force (2, 3) that every link's own motion takes, in its axes."""
    return accelerations(model, joints, qd, qdd, base_acceleration, lambda i, motion: link_load(model, i, motion))


def link_load(model: Model, i: int, motion: Accelerated) -> tuple[Array, Array]:
    """The moment about its frame and the force that the motion of link i takes, (2) and (3)."""
    w, wd, a, U = motion
    mass, h, inertia, S = model.moments[i]
    return _turning_moment(w, wd, U, inertia, S) + cross(h, a), mass * a + U @ h


def accelerations(
    model: Model,
    joints: Joints,
    qd: Rates,
    qdd: Rates,
    base_acceleration: Array,
    then: Callable[[int, Accelerated], Then],
) -> list[Then]:
    """then(i, (w, wd, a, U)) of every link, outwards from a base that accelerates; in the link's axes."""

    def outward(i: int, before: Accelerated) -> tuple[Accelerated, Accelerated]:
        w, wd, a, U = before
        screw = joints.screw[i]
        a = joints.outward(i, a + (U @ joints.offset[i] if screw is None else U[:, 0] * screw.along_x))
        w, wd = joints.outward(i, w), joints.outward(i, wd)
        swing = cross(w, Z * qd[i])
        if model.revolute(i):
            w, wd = w + Z * qd[i], wd + swing + Z * qdd[i]
        else:
            a = a + 2.0 * swing + Z * qdd[i]
        U = acceleration_field(w, wd)
        if screw is not None:  # the axis belongs to both links, so the rest of the offset may use this link's U
            a = a + U[:, 2] * screw.along_z
        return (w, wd, a, U), (w, wd, a, U)

    start = np.zeros(3), np.zeros(3), model.base[:3, :3].T @ base_acceleration, np.zeros((3, 3))
    return scan(model.n, outward, start, then)


def less_wrench(model: Model, q: Array, loads: Loads, wrench: Array | None) -> Loads:
    """The links' loads less what the outside takes off them."""
    if wrench is None:
        return loads
    frames = forward_kinematics(model, q)

    def left(i: int) -> tuple[Array, Array]:
        moment, force = loads[i]
        outside, couple, arm = link_wrench(model, i, wrench)
        if outside is None:
            return moment, force
        outside = frames.R[i].T @ outside
        return moment - frames.R[i].T @ couple - cross(arm, outside), force - outside

    return each(model.n, left)


def _recursion(
    model: Model, q: Array, qd: Rates, qdd: Rates, base_acceleration: Array, wrench: Array | None = None
) -> Array:
    joints = Joints(model, q)
    loads = less_wrench(model, q, link_loads(model, joints, qd, qdd, base_acceleration), wrench)

    def inward(i: int, beyond: tuple[Array, Array]) -> tuple[tuple[Array, Array], Scalar]:
        m, f = (x + y for x, y in zip(beyond, loads[i], strict=True))
        return joints.force_inward(i, m, f), m[2] if model.revolute(i) else f[2]

    return gathered(scan(model.n, inward, (np.zeros(3), np.zeros(3)), inward=True))
