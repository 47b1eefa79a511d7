"""The Geometric Dynamics Algorithm, O(n^2): inertia, Coriolis and centrifugal matrices and the inertia rate.

Every frame j injects into every link i >= j an acceleration of its centre of mass and a moment about it, linear in
qdd_j and in qd_j.  Column j of a link's sheet holds them (equations of the GDA paper; z_j is its k_j, r = p_Ci - p_j):

    C_i[j] = z_j x r                              acceleration by qdd_j            (19)
    D_i[j] = z_j x (z_j x r) qd_j + 2 z_j x v^r   acceleration by qd_j             (20)
    U_i[j] = I_i z_j                              moment by qdd_j                  (23)
    V_i[j] = (L_i w_j) x z_j / 2 + (L_i z_j) x w^r     moment by qd_j              (24)

with L_i = tr(I_i) 1 - 2 I_i (12) and v^r, w^r the velocities that the frames beyond j give the link (8, 14).  A joint's
sheet sums the moments of the links beyond it about its own origin,

    G_j[k] = sum_{i >= j} U_i[k] + m_i (p_Ci - p_j) x C_i[k]      (27)      H_j likewise from V, D      (28)

and its row of the matrices is the part along its axis: M_jk = z_j . G_j[k] (30), B_jk = z_j . H_j[k] (31).  The sheets
themselves are `link_sheets` and `joint_sheets`.  The matrices need the rows alone, so there the sums are arranged to be
projected first: z_j . (r x f) as (z_j x r) . f with z_j x r made once a joint, z_j . (sum I_i) z_k as the product of
(sum I_i) z_j and z_k, and L/2 = tr(I)/2 1 - I, twice w^r and twice v^r carried instead of L, w^r and v^r.

Prismatic joints (not in the paper): a prismatic frame injects C_i[j] = z_j and nothing else; its z_j qd_j enters v^r of
the frames before it; its row takes the summed force, not the moment.

**B is not the Christoffel matrix.**  It puts the whole pair term (j, k > j) into column j, so B qd is right but
dM/dt - 2B is not skew: use `coriolis_matrix(form="christoffel")` for observers and passivity-based control.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..algebra import Scalar, cross, dot
from ..algebra.linalg import Array, is_constant, matrix, rotate_principal, vector, zeros
from ..model import Model
from .joints import Z
from .kinematics import Frames, forward_kinematics, velocities, wrench_torque


class LinkSheets(NamedTuple):
    """Per link i: p''_Ci = C_i qdd + D_i qd and mu_Ci = U_i qdd + V_i qd (18, 22); columns beyond i are zero."""

    C: Array  # (n, 3, n)
    D: Array
    U: Array
    V: Array


class JointSheets(NamedTuple):
    """Per joint j: the moment about its origin G_j qdd + H_j qd (26)."""

    G: Array  # (n, 3, n)
    H: Array


class Column(NamedTuple):
    """What one frame injects into the links from its own outwards: an acceleration and a moment per link."""

    acceleration: list[Array]
    moment: list[Array]


def link_sheets(model: Model, q: Array, qd: Array) -> LinkSheets:
    """The matrices C, D, U, V of every link."""
    links = _Links(model, q)
    tangential = [links.tangential(j) for j in range(model.n)]
    velocity = links.by_velocity(qd)
    return LinkSheets(
        C=_sheet(model.n, [c.acceleration for c in tangential]),
        D=_sheet(model.n, [c.acceleration for c in velocity]),
        U=_sheet(model.n, [c.moment for c in tangential]),
        V=_sheet(model.n, [c.moment for c in velocity]),
    )


def joint_sheets(model: Model, q: Array, qd: Array) -> JointSheets:
    """The matrices G and H of every joint."""
    links = _Links(model, q)

    def sheet(columns: list[Column]) -> Array:
        moments = [[m for m, _ in links.at_joints(k, column, down_to=0)] for k, column in enumerate(columns)]
        return np.array([matrix(np.array([moments[k][j] for k in range(model.n)]).T) for j in range(model.n)])

    return JointSheets(
        G=sheet([links.tangential(k) for k in range(model.n)]),
        H=sheet(links.by_velocity(qd)),
    )


def mass_matrix(model: Model, q: Array) -> Array:
    """M (n, n), both triangles: rows j >= k of column k and their mirror image (27, 30).

    The links from j outwards have one mass and one centre of mass c.  Joint k accelerates c by a = z_k x (c - p_k)
    (19), which gives their force; its moment is carried from one link's centre of mass to the next.  The first link
    turns about its own axis alone, so that its part is a constant.
    """
    frames, n = forward_kinematics(model, q), model.n
    z, p = frames.z, frames.p
    M = zeros(n, n)
    mass: Scalar = 0.0
    tensor, c, com = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    a, moment = [np.zeros(3)] * n, [np.zeros(3)] * n  # by joint k: at c, and about com, the centre of mass of link j

    def torque(j: int, k: int, arm: Array, turning: Array) -> Scalar:
        """What joint j balances of joint k's acceleration: z_j . G_j[k] (30)."""
        along = dot(z[j], moment[k]) + dot(arm, a[k])
        return along + dot(turning, z[k]) if model.revolute(k) else along

    for j in range(n - 1, 0, -1):
        outer, beyond = com, mass  # of the links beyond j
        com, mass = frames.point(j, model.com[j]), mass + model.mass[j]
        step = beyond * (outer - com)
        share = 1.0 if is_constant(beyond, 0.0) else model.mass[j] / mass  # known before the robot moves
        c = (1.0 - share) * c + share * com
        tensor = tensor + rotate_principal(frames.R[j], model.principal(j))
        turning, arm = tensor @ z[j], frames.R[j] @ (mass * cross(Z, model.com[j]))  # arm: mass z_j x (com - p_j)
        for k in range(j + 1):
            moment[k] = moment[k] + cross(step, a[k])
            a[k] = cross(z[k], c - p[k]) if model.revolute(k) else z[k]
            if model.revolute(j):
                M[j, k] = M[k, j] = torque(j, k, arm, turning)
            else:
                M[j, k] = M[k, j] = mass * dot(z[j], a[k]) if j != k else mass
    x, y, _ = model.com[0]
    if model.revolute(0):
        own = model.inertia[0][2, 2] + model.mass[0] * (x * x + y * y)
        M[0, 0] = own + torque(0, 0, mass * cross(z[0], com - p[0]), tensor @ z[0])
    else:
        M[0, 0] = mass + model.mass[0]
    return matrix(M)


def coriolis_matrix(model: Model, q: Array, qd: Array) -> Array:
    """B (n, n) of the paper: B qd is the Coriolis and centrifugal torque; not the Christoffel form (28, 31)."""
    links = _Links(model, q)
    return links.matrix_of(links.by_velocity(qd))


def centrifugal_matrix(model: Model, q: Array, qd: Array) -> Array:
    """The part of C that multiplies qd_j with qd_j alone, (n, n): the normal terms of (20) and (24)."""
    links = _Links(model, q)
    return links.matrix_of([links.centrifugal(k) for k in range(model.n)]) * qd


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """B qd (n,)."""
    return coriolis_matrix(model, q, qd) @ qd


def gravity_torque(model: Model, q: Array) -> Array:
    """g (n,): the links' weights at their centres of mass, along the columns C_i (19)."""
    links = _Links(model, q)
    torque: list[Scalar] = [0.0] * model.n
    for j in range(model.n):
        pull = sum(
            (m * a for m, a in zip(model.mass[j:], links.tangential(j).acceleration, strict=True)),
            start=np.zeros(3),
        )
        torque[j] = -dot(pull, model.gravity)
    return vector(*torque)


def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
    """tau (n,) = M qdd + B qd + g - J^T w."""
    tau = mass_matrix(model, q) @ qdd + coriolis_matrix(model, q, qd) @ qd + gravity_torque(model, q)
    return tau if wrench is None else tau - wrench_torque(model, forward_kinematics(model, q), wrench)


def mass_matrix_rate(model: Model, q: Array, qd: Array) -> Array:
    """dM/dt (n, n) along qd, both triangles (32-37)."""
    links = _Links(model, q)
    frames = links.frames
    omega, v = velocities(model, frames, qd)
    z = frames.z
    zd = [cross(omega[k], z[k]) for k in range(model.n)]  # (33)
    v_com = [v[i] + cross(omega[i], links.com[i] - frames.p[i]) for i in range(model.n)]
    rate = zeros(model.n, model.n)
    for j in range(model.n):
        column = links.tangential(j)
        changing = _tangential_rate(model, links, j, omega, zd[j], v_com, v[j])
        F, Fd, G, Gd = (np.zeros(3) for _ in range(4))  # sums over the links from k outwards, about frame k
        for k in range(model.n - 1, j - 1, -1):
            if k + 1 < model.n:
                step, stepd = frames.p[k + 1] - frames.p[k], v[k + 1] - v[k]
                Gd = Gd + cross(stepd, F) + cross(step, Fd)
                G = G + cross(step, F)
            f, fd = (model.mass[k] * x.acceleration[k - j] for x in (column, changing))
            r, rd = links.com[k] - frames.p[k], v_com[k] - v[k]  # (36)
            G = G + column.moment[k - j] + cross(r, f)
            Gd = Gd + changing.moment[k - j] + cross(rd, f) + cross(r, fd)  # (34)
            F, Fd = F + f, Fd + fd
            whole, wholed = (G, Gd) if model.revolute(k) else (F, Fd)
            rate[k, j] = rate[j, k] = dot(zd[k], whole) + dot(z[k], wholed)  # (32)
    return matrix(rate)


def coriolis_transpose_qd(model: Model, q: Array, qd: Array) -> Array:
    """C^T qd (n,) with the Christoffel C, as dM/dt qd - C qd: the term of the momentum observer."""
    return mass_matrix_rate(model, q, qd) @ qd - coriolis_torque(model, q, qd)


def _tangential_rate(
    model: Model, links: _Links, j: int, omega: list[Array], zd: Array, v_com: list[Array], v: Array
) -> Column:
    """The time derivatives of column j of C_i (37) and U_i (35) for i >= j."""
    z, p = links.frames.z[j], links.frames.p[j]
    if not model.revolute(j):
        return Column([zd] * (model.n - j), [np.zeros(3)] * (model.n - j))
    acceleration = [cross(zd, links.com[i] - p) + cross(z, v_com[i] - v) for i in range(j, model.n)]
    moment = []
    for i in range(j, model.n):
        tensor = links.tensor[i]
        beyond = cross(omega[i] - omega[j], z) if i > j else np.zeros(3)
        moment.append(cross(omega[i], tensor @ z) - tensor @ beyond)
    return Column(acceleration, moment)


def _sheet(n: int, columns: list[list[Array]]) -> Array:
    """(n, 3, n) from per-frame lists that start at the frame's own link."""
    blank = np.zeros(3)
    return np.array([matrix(np.array([columns[j][i - j] if i >= j else blank for j in range(n)]).T) for i in range(n)])


class _Links:
    """The links in the world: frames, centres of mass, tensors; and the columns that each frame injects."""

    def __init__(self, model: Model, q: Array, frames: Frames | None = None) -> None:
        self.model = model
        self.frames = forward_kinematics(model, q) if frames is None else frames
        self.com = [self.frames.point(i, model.com[i]) for i in range(model.n)]
        self.tensor = [rotate_principal(self.frames.R[i], model.principal(i)) for i in range(model.n)]

    @cached_property
    def half_L(self) -> list[Array]:
        """L_i / 2 = tr(I_i)/2 1 - I_i (12); the trace does not turn."""
        found = []
        for i, tensor in enumerate(self.tensor):
            inertia = self.model.inertia[i]
            half = (inertia[0, 0] + inertia[1, 1] + inertia[2, 2]) * 0.5
            found.append(half * np.eye(3) - tensor)
        return found

    def tangential(self, j: int) -> Column:
        """Column j of C_i (19) and U_i (23) for i >= j."""
        n, z = self.model.n, self.frames.z[j]
        if not self.model.revolute(j):
            return Column([z] * (n - j), [np.zeros(3)] * (n - j))
        return Column(
            [cross(z, self.com[i] - self.frames.p[j]) for i in range(j, n)],
            [self.tensor[i] @ z for i in range(j, n)],
        )

    def centrifugal(self, j: int) -> Column:
        """The normal terms of column j of D_i (20) and V_i (24) for i >= j, per unit of speed: z x (z x r) is
        z (z . r) - r."""
        n, z, p = self.model.n, self.frames.z[j], self.frames.p[j]
        if not self.model.revolute(j):
            return Column([np.zeros(3)] * (n - j), [np.zeros(3)] * (n - j))
        offsets = [self.com[i] - p for i in range(j, n)]
        return Column(
            [z * dot(z, r) - r for r in offsets],
            [cross(self.half_L[i] @ z, z) for i in range(j, n)],
        )

    def by_velocity(self, qd: Array) -> list[Column]:
        """All columns of D_i (20) and V_i (24), normal and Coriolis terms together.

        With s = w_j x r, D = z_j x (s + 2 v^r), and V = (L/2 z_j) x (w_j + 2 w^r); v^r (8) grows inwards, twice it by s
        a side, and w_j + 2 w^r is twice the link's angular velocity less those of links j and j-1 (14).
        """
        n = self.model.n
        omega, _ = velocities(self.model, self.frames, qd)
        twice_v = [np.zeros(3)] * n  # 2 v^r of every link
        columns: list[Column] = []
        for j in range(n - 1, -1, -1):
            z, p = self.frames.z[j], self.frames.p[j]
            w = z * qd[j]
            if not self.model.revolute(j):
                columns.append(Column([np.zeros(3)] * (n - j), [np.zeros(3)] * (n - j)))
                for i in range(j, n):
                    twice_v[i] = twice_v[i] + (w + w)
                continue
            inboard = omega[j] + omega[j - 1] if j > 0 else omega[j]
            acceleration, moment = [], []
            for i in range(j, n):
                swing = cross(w, self.com[i] - p)
                together = twice_v[i] + swing
                twice_v[i] = together + swing
                acceleration.append(cross(z, together))
                moment.append(cross(self.half_L[i] @ z, (omega[i] + omega[i]) - inboard))
            columns.append(Column(acceleration, moment))
        return columns[::-1]

    def at_joints(self, k: int, column: Column, *, down_to: int) -> list[tuple[Array, Array]]:
        """Moment about joint j and force that column k of the links beyond sums to, for j >= down_to (27, 28)."""
        frames, n = self.frames, self.model.n
        force, moment = np.zeros(3), np.zeros(3)
        found = []
        for j in range(n - 1, down_to - 1, -1):
            if j + 1 < n:
                moment = moment + cross(frames.p[j + 1] - frames.p[j], force)
            if j >= k:
                f = self.model.mass[j] * column.acceleration[j - k]
                force = force + f
                moment = moment + column.moment[j - k] + cross(self.com[j] - frames.p[j], f)
            found.append((moment, force))
        return found[::-1]

    def matrix_of(self, columns: list[Column]) -> Array:
        """The (n, n) matrix whose column k is what every joint feels of columns[k] (28, 31).

        With the moment N of the links from j outwards about the world's origin, row j is z_j . N - (z_j x p_j) . F.
        """
        n, z, p = self.model.n, self.frames.z, self.frames.p
        t = [cross(z[j], p[j]) for j in range(n)]
        B = zeros(n, n)
        for k, column in enumerate(columns):
            moment, force = np.zeros(3), np.zeros(3)
            for j in range(n - 1, -1, -1):
                if j >= k:
                    f = self.model.mass[j] * column.acceleration[j - k]
                    force, moment = force + f, moment + column.moment[j - k] + cross(self.com[j], f)
                B[j, k] = dot(z[j], moment) - dot(t[j], force) if self.model.revolute(j) else dot(z[j], force)
        return matrix(B)
