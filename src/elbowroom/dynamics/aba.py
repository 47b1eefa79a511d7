"""Forward dynamics by the articulated-body algorithm in link frames, O(n).

Links i..n, free to move in their joints, answer a motion of link i with force f and moment n about frame i:

    n = J wd + H a + bias_n           (wd, a): angular acceleration, acceleration of the frame's origin
    f = H^T wd + K a + bias_f         J, K symmetric, all (3, 3); one rigid link has H = [h x], K = m 1,
                                      bias_n = w x I w, bias_f = w x (w x h)

Joint i leaves its own direction s free.  With (u_n, u_f) = the inertia's columns along s, d = s . u and the torque that
remains e = tau_i - s . bias, what the link inboard feels is

    J - u_n u_n^T / d,  H - u_n u_f^T / d,  K - u_f u_f^T / d,  bias + inertia zeta + u e / d

(zeta: the joint's velocity-product acceleration), turned into frame i-1 and shifted by the offset p with P = [p x]:

    K' = K,   H' = H + P K,   J' = J + P H'^T - H P

Rotors add `joint_inertia` to d: they ride on the joint and nothing else feels them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import Scalar, cross
from ..algebra.linalg import Array, dot, is_constant, matrix, placed_matrix, skew, symmetric, turned_matrix
from ..algebra.loops import gathered, scan
from ..model import Model
from .kinematics import Joints, Z
from .rnea import less_wrench


class Articulated(NamedTuple):
    """The apparent inertia of links i..n at frame i."""

    J: Array
    H: Array
    K: Array


_Felt = tuple[Articulated, Array, Array]  # what a link inboard feels: inertia, bias moment and force


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
    bias: list[tuple[Array, Array]] = []
    zeta: list[tuple[Array, Array]] = []
    w = np.zeros(3)
    for i in range(model.n):
        normal = joints.outward(i, cross(w, cross(w, joints.offset[i])))
        w = joints.outward(i, w)
        swing = cross(w, Z * qd[i])
        if model.revolute(i):
            zeta.append((swing, normal))
            w = w + Z * qd[i]
        else:
            zeta.append((np.zeros(3), normal + 2.0 * swing))
        _, h, inertia, _ = model.moments[i]
        b_n, b_f = cross(w, inertia @ w), cross(w, cross(w, h))
        bias.append((b_n, b_f))
    bias = less_wrench(model, q, bias, wrench)
    return accelerations(model, joints, tau, bias, zeta, -model.gravity, joint_inertia)


def mass_matrix_inverse(model: Model, q: Array, joint_inertia: Array | None = None) -> Array:
    """M^-1 (n, n): the accelerations for unit torques, at rest without gravity; symmetric by M's own symmetry."""
    n = model.n
    joints = Joints(model, q)
    rest = [(np.zeros(3), np.zeros(3))] * n
    columns = [accelerations(model, joints, np.eye(n)[k], rest, rest, np.zeros(3), joint_inertia) for k in range(n)]
    return matrix([[columns[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)])


def accelerations(
    model: Model,
    joints: Joints,
    tau: Array,
    bias: list[tuple[Array, Array]],
    zeta: list[tuple[Array, Array]],
    base_acceleration: Array,
    joint_inertia: Array | None,
) -> Array:
    """The inward and outward sweeps: qdd (n,) for given bias (moment, force) and zeta of every link."""
    extra = np.zeros(model.n) if joint_inertia is None else joint_inertia

    def inward(i: int, beyond: _Felt) -> tuple[_Felt, tuple[Array, Array, Scalar, Scalar]]:
        A = Articulated(*(x + y for x, y in zip(rigid(model, i), beyond[0], strict=True)))
        b_n, b_f = bias[i][0] + beyond[1], bias[i][1] + beyond[2]
        if model.revolute(i):
            u_n, u_f = A.J[:, 2], A.H[2, :]
            d, along = u_n[2], b_n[2]
        else:
            u_n, u_f = A.H[:, 2], A.K[:, 2]
            d, along = u_f[2], b_f[2]
        inverse, torque = 1.0 / (d + extra[i]), tau[i] - along
        left = freed(A, u_n, u_f, inverse, on_axis=is_constant(extra[i], 0.0), revolute=model.revolute(i))
        push = torque * inverse
        z_n, z_f = zeta[i]
        b_n = b_n + left.J @ z_n + left.H @ z_f + u_n * push
        b_f = b_f + left.H.T @ z_n + left.K @ z_f + u_f * push
        return (moved(joints, i, left), *joints.force_inward(i, b_n, b_f)), (u_n, u_f, inverse, torque)

    def outward(i: int, before: tuple[Array, Array]) -> tuple[tuple[Array, Array], Scalar]:
        wd, a = joints.motion_outward(i, *before)
        wd, a = wd + zeta[i][0], a + zeta[i][1]
        u_n, u_f, inverse, torque = answers[i]
        qdd = (torque - (dot(u_n, wd) + dot(u_f, a))) * inverse
        return ((wd + Z * qdd, a) if model.revolute(i) else (wd, a + Z * qdd)), qdd

    nothing = Articulated(*(np.zeros((3, 3)) for _ in range(3))), np.zeros(3), np.zeros(3)
    answers = scan(model.n, inward, nothing, inward=True)
    return gathered(scan(model.n, outward, (np.zeros(3), model.base[:3, :3].T @ base_acceleration)))


def rigid(model: Model, i: int) -> Articulated:
    """The inertia of link i alone, about its frame's origin."""
    mass, h, inertia, _ = model.moments[i]
    return Articulated(inertia, skew(h), mass * np.eye(3))


def freed(A: Articulated, u_n: Array, u_f: Array, inverse: Scalar, *, on_axis: bool, revolute: bool) -> Articulated:
    """The inertia less what the free joint gives way to; without a rotor its own axis becomes exactly weightless."""
    g_n, g_f = u_n * inverse, u_f * inverse
    J = _less_outer(A.J, u_n, g_n, hollow=on_axis and revolute)
    K = _less_outer(A.K, u_f, g_f, hollow=on_axis and not revolute)
    H = A.H - np.array([[x * y for y in g_f.tolist()] for x in u_n.tolist()])
    if on_axis:
        H = H.copy()
        if revolute:
            H[2, :] = 0.0
        else:
            H[:, 2] = 0.0
    return Articulated(J, H, K)


def _less_outer(S: Array, u: Array, g: Array, *, hollow: bool) -> Array:
    """The symmetric S - u g^T; `hollow` says that its third row and column cancel."""
    (u0, u1, u2), (g0, g1, g2) = u.tolist(), g.tolist()
    xx, yy, xy = S[0, 0] - u0 * g0, S[1, 1] - u1 * g1, S[0, 1] - u0 * g1
    if hollow:
        return symmetric(xx, yy, 0.0, xy, 0.0, 0.0)
    return symmetric(xx, yy, S[2, 2] - u2 * g2, xy, S[1, 2] - u1 * g2, S[0, 2] - u0 * g2)


def moved(joints: Joints, i: int, A: Articulated) -> Articulated:
    """The inertia of frame i (or any other symmetric matrix in such blocks) turned and shifted to frame i-1."""
    screw, turn, twist = joints.screw[i], joints.turn[i], joints.twist[i]
    if screw is None:
        J, K = joints.tensor_inward(i, A.J), joints.tensor_inward(i, A.K)
        return _shifted(Articulated(J, joints.tensor_inward(i, A.H, is_symmetric=False), K), joints.offset[i])
    if turn is not None:
        A = Articulated(*(turned_matrix(*turn, block) for block in A))
    A = _shifted_along(A, screw.along_z, (2, 0, 1))
    A = Articulated(placed_matrix(twist, A.J), placed_matrix(twist, A.H, is_symmetric=False), placed_matrix(twist, A.K))
    return _shifted_along(A, screw.along_x, (0, 1, 2))


def moved_outward(joints: Joints, i: int, A: Articulated) -> Articulated:
    """The opposite: such a matrix of frame i-1, shifted and turned to frame i.

    What turns forces into motions (a compliance) moves so, with J for forces and origins, K for moments and angles.
    """
    screw, turn, twist = joints.screw[i], joints.turn[i], joints.twist[i]
    if screw is None:
        A = _placed_back(twist, _shifted(A, -joints.offset[i]))
    else:
        A = _shifted_along(_placed_back(twist, _shifted_along(A, -screw.along_x, (0, 1, 2))), -screw.along_z, (2, 0, 1))
    return A if turn is None else Articulated(*(turned_matrix(turn[0], -turn[1], block) for block in A))


def _placed_back(twist: Array, A: Articulated) -> Articulated:
    E = twist.T
    return Articulated(placed_matrix(E, A.J), placed_matrix(E, A.H, is_symmetric=False), placed_matrix(E, A.K))


def _shifted(A: Articulated, p: Array) -> Articulated:
    """The inertia about a point that the frame's origin is at p from."""
    J, H, K = A
    P = skew(p)
    H_moved = H + P @ K
    X, Y = P @ H_moved.T, H @ P

    def entry(a: int, b: int) -> Scalar:
        return J[a, b] + (X[a, b] - Y[a, b])

    return Articulated(
        symmetric(entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(1, 2), entry(0, 2)), H_moved, K
    )


def _shifted_along(A: Articulated, p: Scalar, axes: tuple[int, int, int]) -> Articulated:
    """The same for an offset p along the first of these axes (in cyclic order): 11 multiplications, 14 additions."""
    k, i, j = axes
    J, H, K = (block.tolist() for block in A)
    G = [list(row) for row in H]
    G[i] = [h - p * x for h, x in zip(H[i], K[j], strict=True)]
    G[j] = [h + p * x for h, x in zip(H[j], K[i], strict=True)]
    J[i][i] = J[i][i] - p * (G[i][j] + H[i][j])
    J[j][j] = J[j][j] + p * (G[j][i] + H[j][i])
    J[k][i] = J[i][k] = J[k][i] - p * H[k][j]
    J[k][j] = J[j][k] = J[k][j] + p * H[k][i]
    J[i][j] = J[j][i] = J[i][j] + p * (H[i][i] - G[j][j])
    return Articulated(matrix(J), matrix(G), A.K)
