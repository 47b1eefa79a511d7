"""The Christoffel-consistent Coriolis matrix in O(n^2) by link frames, and what follows from it.

Joint j moves a particle at x with velocity J_j = z_j x (x - p_j) a unit of speed (a prismatic joint with J_j = z_j).
Particles live in flat space, so the Christoffel symbols of the arm are int J_i . dJ_j/dq_k dm, and

    C_ij = int J_i . Jdot_j dm                                                             (1)

is the matrix for which dM/dt - 2C is skew.  Let V stand for the motion (w, v) of link j at frame j; then, with x from
frame j, Jdot_j = (w x z) x x + v x z + z x xdot for a revolute joint and w x z for a prismatic one.  The links from j
outwards act as one body with mass m, first moment h, inertia I and two sums that hold its velocities,

    P = int xdot dm,        W = int (x . xdot) 1 - xdot x^T dm                              (2)

whose part from one link is m v + w x h and (h . v) 1 - v h^T - [w x] S with S = tr(I)/2 1 - I.  Per joint j:

    (n1, f1) = int (x x Jdot_j, Jdot_j) dm      (n2, f2) = int (x x J_j, J_j) dm      n3 = int xdot x J_j dm

    revolute   n1 = I (w x z) + h x (v x z) + W z       n2 = I z      n3 = W^T z
               f1 = m v x z + (w x z) x h + z x P       f2 = z x h
    prismatic  n1 = h x (w x z)                         n2 = h x z    n3 = P x z
               f1 = m w x z                             f2 = m z

Carried inwards to frame i (n turns and gains p x f, n3 only turns), they give both elements of a pair,

    C_ij = z . n1 (or z . f1 if i slides),   C_ji = (w x z) . n2 + (v x z) . f2 + z . n3  (or (w x z) . f2)     (3)

with w, v of link i.  C is linear in qd: unit speeds give the Christoffel symbols themselves; C + C^T is dM/dt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import Scalar, cross, dot
from ..algebra.linalg import Array, matrix, vector, zeros
from ..algebra.loops import late, pairs, scan
from ..model import Model
from .kinematics import Joints, Z
from .rnea import Rates


class MovingBody(NamedTuple):
    """Links j..n as one body about frame j, with the velocity sums (2)."""

    mass: Scalar
    h: Array
    inertia: Array
    W: Array
    P: Array

    def joined(self, other: MovingBody) -> MovingBody:
        """Both together."""
        return MovingBody(
            self.mass + other.mass,
            self.h + other.h,
            self.inertia + other.inertia,
            self.W + other.W,
            self.P + other.P,
        )

    def inward(self, joints: Joints, i: int) -> MovingBody:
        """The body about frame i, about frame i-1: W gains (p . P) 1 - P p^T."""
        p = joints.offset[i]
        P = joints.inward(i, self.P)
        W = joints.tensor_inward(i, self.W, is_symmetric=False)
        h, inertia = joints.body_inward(i, self.mass, self.h, self.inertia)
        along = dot(p, P)
        moved = [[W[a, b] + ((along if a == b else 0.0) - P[a] * p[b]) for b in range(3)] for a in range(3)]
        return MovingBody(self.mass, h, inertia, matrix(moved), P)


NOTHING = MovingBody(0.0, np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3))

Motion = tuple[Array, Array]  # of a link: angular velocity, velocity of its frame's origin; in its own axes


class Moments(NamedTuple):
    """What joint j leaves for the joints inboard."""

    n1: Array
    f1: Array
    n2: Array
    f2: Array
    n3: Array

    def inward(self, joints: Joints, i: int) -> Moments:
        """The moments at frame i, at frame i-1."""
        n1, f1 = joints.force_inward(i, self.n1, self.f1)
        n2, f2 = joints.force_inward(i, self.n2, self.f2)
        return Moments(n1, f1, n2, f2, joints.inward(i, self.n3))


def coriolis_matrix(model: Model, q: Array, qd: Array) -> Array:
    """C (n, n) with C_ij = sum_k Gamma_ijk qd_k: C qd is the Coriolis torque and dM/dt - 2C is skew."""
    return _coriolis(model, Joints(model, q), qd)


def mass_matrix_rate(model: Model, q: Array, qd: Array) -> Array:
    """dM/dt (n, n) = C + C^T; n1 and n3 are carried as their sum."""
    joints = Joints(model, q)
    motion = link_motion(model, joints, qd)
    moments = _moments(model, joints, motion)

    def start(j: int) -> Moments:
        own = moments[j]
        return own._replace(n1=own.n1 + own.n3, n3=np.zeros(3))

    def felt(i: int, column: Moments) -> tuple[Scalar, Scalar]:
        forth, back = _pair(model, i, motion[i], column)
        return forth + back, forth + back

    def own(j: int) -> Scalar:
        return 2.0 * (moments[j].n1[2] if model.revolute(j) else moments[j].f1[2])

    return pairs(model.n, start, felt, lambda i, column: column.inward(joints, i), own)


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """C qd (n,)."""
    return coriolis_matrix(model, q, qd) @ qd


def christoffel(model: Model, q: Array) -> Array:
    """Gamma (n, n, n), first kind: sum_jk Gamma_ijk qd_j qd_k is the Coriolis torque; Gamma_ijk = Gamma_ikj."""
    joints = Joints(model, q)
    slices = [_coriolis(model, joints, unit) for unit in np.eye(model.n)]
    gamma = zeros(model.n, model.n, model.n)
    for k, slice_ in enumerate(slices):
        for j in range(k + 1):  # the symmetry in j, k: one of each pair
            gamma[:, j, k] = gamma[:, k, j] = slice_[:, j]
    return gamma if any(s.dtype == object for s in slices) else gamma.astype(float)


def centrifugal_matrix(model: Model, q: Array, qd: Array) -> Array:
    """(n, n): column j is Gamma_ijj qd_j, the part of C that multiplies qd_j with qd_j alone."""
    joints = Joints(model, q)
    columns = [_coriolis(model, joints, unit)[:, j] * qd[j] for j, unit in enumerate(np.eye(model.n))]
    return matrix(np.array(columns).T)


def coriolis_transpose_qd(model: Model, q: Array, qd: Array) -> Array:
    """C^T qd (n,), which is the gradient of the kinetic energy dT/dq, in O(n).

    To the links beyond joint j, with momentum P and angular momentum L about frame j, turning joint j a little looks
    as if the motion (w, v) of link j turned back against them:

        dT/dq_j = -z . (w x L + v x P)  for a revolute joint,   -z . (w x P)  for a prismatic one
    """
    joints = Joints(model, q)
    motion = link_motion(model, joints, qd)
    L, P = np.zeros(3), np.zeros(3)
    gradient: list[Scalar] = [0.0] * model.n
    for j in range(model.n - 1, -1, -1):
        w, v = motion[j]
        mass, h, inertia, _ = model.moments[j]
        L, P = L + inertia @ w + cross(h, v), P + mass * v + cross(w, h)
        turning = cross(w, L) + cross(v, P) if model.revolute(j) else cross(w, P)
        gradient[j] = -turning[2]
        if j > 0:
            L, P = joints.force_inward(j, L, P)
    return vector(*gradient)


def link_motion(model: Model, joints: Joints, qd: Rates) -> list[Motion]:
    """Per link: angular velocity and velocity of its frame's origin, in its own axes."""

    def outward(i: int, previous: Motion) -> tuple[Motion, Motion]:
        w, v = joints.motion_outward(i, *previous)
        here = (w + Z * qd[i], v) if model.revolute(i) else (w, v + Z * qd[i])
        return here, here

    return scan(model.n, outward, (np.zeros(3), np.zeros(3)))


def _coriolis(model: Model, joints: Joints, qd: Array) -> Array:
    motion = link_motion(model, joints, qd)
    moments = _moments(model, joints, motion)
    return pairs(
        model.n,
        lambda j: moments[j],
        lambda i, column: _pair(model, i, motion[i], column),
        lambda i, column: column.inward(joints, i),
    )


def _pair(model: Model, i: int, motion: Motion, moments: Moments) -> tuple[Scalar, Scalar]:
    """C_ij and C_ji from the moments at frame i (3)."""
    w, v = motion
    n1, f1, n2, f2, n3 = moments
    if not model.revolute(i):
        return f1[2], w[1] * f2[0] - w[0] * f2[1]
    return n1[2], w[1] * n2[0] - w[0] * n2[1] + v[1] * f2[0] - v[0] * f2[1] + n3[2]


def _moments(model: Model, joints: Joints, motion: list[Motion]) -> list[Moments]:
    """The moments of every joint at its own frame."""
    links = late(model.n, lambda j: moving_link(model, j, *motion[j]))

    def inward(j: int, beyond: MovingBody) -> tuple[MovingBody, MovingBody]:
        body = links[j].joined(beyond)
        return body.inward(joints, j), body

    return scan(model.n, inward, NOTHING, lambda j, body: own_moments(model, j, motion[j], body), inward=True)


def own_moments(model: Model, j: int, motion: Motion, body: MovingBody) -> Moments:
    """The moments of joint j at its own frame."""
    w, v = motion
    mass, h, inertia, W, P = body
    zd = vector(w[1], -w[0], 0.0)  # w x z
    if model.revolute(j):
        sweep = vector(v[1], -v[0], 0.0)  # v x z
        return Moments(
            n1=inertia @ zd + cross(h, sweep) + W[:, 2],
            f1=mass * sweep + cross(zd, h) + vector(-P[1], P[0], 0.0),
            n2=inertia[:, 2],
            f2=vector(-h[1], h[0], 0.0),
            n3=W[2, :],
        )
    return Moments(
        n1=cross(h, zd),
        f1=mass * zd,
        n2=vector(h[1], -h[0], 0.0),
        f2=vector(0.0, 0.0, mass),
        n3=vector(P[1], -P[0], 0.0),
    )


def moving_link(model: Model, i: int, w: Array, v: Array) -> MovingBody:
    """Link i alone about its frame, (2)."""
    m, h, inertia, S = model.moments[i]
    turned = np.array([cross(w, S[:, b]) for b in range(3)]).T
    hv = dot(h, v)
    W = [[(hv if a == b else 0.0) - v[a] * h[b] - turned[a, b] for b in range(3)] for a in range(3)]
    return MovingBody(m, h, inertia, matrix(W), m * v + cross(w, h))
