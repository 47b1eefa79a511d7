"""The Christoffel-consistent Coriolis matrix in O(n^2), and what follows from it.

A particle at x moved by joint i has Jacobian column J_i = z_i x x + t_i (t_i = -z_i x p_i; a prismatic joint has z -> 0,
t = z), and since particles live in flat space, the Christoffel symbols of the arm are int J_i . dJ_j/dq_k dm.  So

    C_ij = int J_i . dJ_j/dt dm                                                              (1)

is the matrix for which dM/dt - 2C is skew.  For one link turning at w, its particle at the world's origin moving at v,
with mass m, first moment h, inertia I and second moment S = tr(I)/2 1 - I about the origin, dJ_j/dt = zd_j x x + td_j
+ z_j x (w x x + v) integrates to

    C_ij = (z_i, t_i) . inertia (zd_j, td_j) + z_i . W z_j + t_i . (z_j x P)                   (2)
    W = -[w x] S + (h.v) 1 - v h^T,     P = m v + w x h                                       (3)

The links beyond joint max(i, j) are summed first (composite I, h, m, W, P: twelve numbers beside the inertia), so one
pair (i, j) costs two inner products and its mirror image three.  C is linear in qd: with unit speeds it gives the
Christoffel symbols themselves, and C + C^T is dM/dt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra import cross, dot
from ..algebra.linalg import Array, congruence, matrix, point_inertia, vector, zeros
from ..model import Model
from ..model.inertia import about_origin
from .kinematics import Frames, Joints, Z, forward_kinematics, velocities


class _Twist(NamedTuple):
    turn: Array  # z, zero for a prismatic joint
    slide: Array  # t


class _Moving(NamedTuple):
    """A composite body about the world's origin, and its velocity-dependent part (3)."""

    mass: Any
    h: Array
    inertia: Array
    W: Array
    P: Array


def coriolis_matrix(model: Model, q: Array, qd: Array) -> Array:
    """C (n, n) with C_ij = sum_k Gamma_ijk qd_k: C qd is the Coriolis torque and dM/dt - 2C is skew."""
    C, _ = _both(model, forward_kinematics(model, q), qd, want_rate=False)
    return C


def mass_matrix_rate(model: Model, q: Array, qd: Array) -> Array:
    """dM/dt (n, n) = C + C^T, each pair once."""
    _, rate = _both(model, forward_kinematics(model, q), qd, want_rate=True)
    return rate


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """C qd (n,)."""
    return coriolis_matrix(model, q, qd) @ qd


def christoffel(model: Model, q: Array) -> Array:
    """Gamma (n, n, n), first kind: sum_jk Gamma_ijk qd_j qd_k is the Coriolis torque; Gamma_ijk = Gamma_ikj."""
    frames = forward_kinematics(model, q)
    slices = [_both(model, frames, unit, want_rate=False)[0] for unit in np.eye(model.n)]
    gamma = zeros(model.n, model.n, model.n)
    for k, slice_ in enumerate(slices):
        for j in range(k + 1):  # the symmetry in j, k: one of each pair
            gamma[:, j, k] = gamma[:, k, j] = slice_[:, j]
    return gamma if any(s.dtype == object for s in slices) else gamma.astype(float)


def centrifugal_matrix(model: Model, q: Array, qd: Array) -> Array:
    """(n, n): column j is Gamma_ijj qd_j, the part of C that multiplies qd_j with qd_j alone."""
    frames = forward_kinematics(model, q)
    columns = []
    for j, unit in enumerate(np.eye(model.n)):
        columns.append(_both(model, frames, unit, want_rate=False)[0][:, j] * qd[j])
    return matrix(np.array(columns).T)


def coriolis_transpose_qd(model: Model, q: Array, qd: Array) -> Array:
    """C^T qd (n,), which is the gradient of the kinetic energy dT/dq, in O(n) by link frames.

    To the links beyond joint j, with momentum P and angular momentum L about frame j, turning joint j a little looks
    as if the motion (w, v) of link j turned back against them:

        dT/dq_j = -z . (w x L + v x P)  for a revolute joint,   -z . (w x P)  for a prismatic one
    """
    joints = Joints(model, q)
    w, v = np.zeros(3), np.zeros(3)
    motion = []
    for i in range(model.n):
        v = joints.outward(i, v + cross(w, joints.offset[i]))
        w = joints.outward(i, w)
        if model.revolute(i):
            w = w + Z * qd[i]
        else:
            v = v + Z * qd[i]
        motion.append((w, v))
    L, P = np.zeros(3), np.zeros(3)
    gradient: list[Any] = [0.0] * model.n
    for j in range(model.n - 1, -1, -1):
        w, v = motion[j]
        h = model.mass[j] * model.com[j]
        L = L + about_origin(model.mass[j], model.com[j], model.inertia[j]) @ w + cross(h, v)
        P = P + model.mass[j] * v + cross(w, h)
        turning = cross(w, L) + cross(v, P) if model.revolute(j) else cross(w, P)
        gradient[j] = -turning[2]
        if j > 0:
            P = joints.inward(j, P)
            L = joints.inward(j, L) + cross(joints.offset[j], P)
    return vector(*gradient)


def _twists(model: Model, frames: Frames) -> list[_Twist]:
    return [
        _Twist(z, cross(p, z)) if model.revolute(j) else _Twist(np.zeros(3), z)
        for j, (z, p) in enumerate(zip(frames.z, frames.p, strict=True))
    ]


def _origin_velocities(model: Model, frames: Frames, qd: Array) -> list[tuple[Array, Array]]:
    """Per link: w, and the velocity v of its particle at the world's origin."""
    omega, v = velocities(model, frames, qd)
    return [(w, u - cross(w, p)) for w, u, p in zip(omega, v, frames.p, strict=True)]


def _link(model: Model, frames: Frames, i: int) -> tuple[Any, Array, Array]:
    """Mass, first moment and inertia of link i about the world's origin."""
    m, com = model.mass[i], frames.point(i, model.com[i])
    h = m * com
    return m, h, congruence(frames.R[i], model.inertia[i]) + point_inertia(h, com)


def _composites(model: Model, frames: Frames, motion: list[tuple[Array, Array]]) -> list[_Moving]:
    total: _Moving | None = None
    found = []
    for i in range(model.n - 1, -1, -1):
        m, h, inertia = _link(model, frames, i)
        w, v = motion[i]
        half = (inertia[0, 0] + inertia[1, 1] + inertia[2, 2]) * 0.5
        S = matrix([[half - inertia[a, b] if a == b else -inertia[a, b] for b in range(3)] for a in range(3)])
        hv = dot(h, v)
        turned = np.array([cross(w, S[:, b]) for b in range(3)]).T
        W = matrix([[(hv if a == b else 0.0) - v[a] * h[b] - turned[a, b] for b in range(3)] for a in range(3)])
        one = _Moving(m, h, inertia, W, m * v + cross(w, h))
        total = one if total is None else _Moving(*(x + y for x, y in zip(total, one, strict=True)))
        found.append(total)
    return found[::-1]


def _both(model: Model, frames: Frames, qd: Array, *, want_rate: bool) -> tuple[Array, Array]:
    """C, and C + C^T if wanted (whose pairs need the sum of the two forces only)."""
    n = model.n
    twists = _twists(model, frames)
    motion = _origin_velocities(model, frames, qd)
    rates = []
    for j in range(n):
        w, v = motion[j - 1] if j > 0 else (np.zeros(3), np.zeros(3))
        turn, slide = twists[j]
        rates.append(_Twist(cross(w, turn), cross(w, slide) + cross(v, turn)))
    C, rate = zeros(n, n), zeros(n, n)
    for j, body in enumerate(_composites(model, frames, motion)):
        turn, slide = twists[j]
        n2, f2 = _momentum(body, twists[j])
        n1, f1 = _momentum(body, rates[j])
        n1, f1 = n1 + body.W @ turn, f1 + cross(turn, body.P)
        n3 = body.W.T @ turn + cross(body.P, slide)
        n4 = n1 + n3 if want_rate else n3
        for i in range(j + 1):
            back = dot(rates[i].turn, n2) + dot(rates[i].slide, f2)
            if want_rate:
                rate[i, j] = rate[j, i] = dot(twists[i].turn, n4) + dot(twists[i].slide, f1) + back
                continue
            C[i, j] = dot(twists[i].turn, n1) + dot(twists[i].slide, f1)
            if i < j:
                C[j, i] = back + dot(twists[i].turn, n3)
    return matrix(C), matrix(rate)


def _momentum(body: _Moving, twist: _Twist) -> tuple[Array, Array]:
    """Moment and force of the composite's inertia on a twist."""
    turn, slide = twist
    return (
        body.inertia @ turn + cross(body.h, slide),
        body.mass * slide + cross(turn, body.h),
    )
