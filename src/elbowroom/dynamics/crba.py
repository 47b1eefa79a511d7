"""Mass matrix by the composite-rigid-body algorithm in link frames, O(n^2); M^-1 and forward dynamics through it.

Links i..n locked together are one body with mass m, first moment h = sum m c and inertia I about frame i.  Crossing
joint i, h and I turn into the axes of frame i-1 and shift by the offset (Joints.body_inward).  A unit acceleration of
joint i needs force f and moment n on that body, which each joint inboard feels:

    revolute   f = z x h,  n = I z          M_ij = z_j . n   for a revolute j
    prismatic  f = m z,    n = h x z        M_ij = z_j . f   for a prismatic j
"""

from __future__ import annotations

import numpy as np

from ..algebra import Scalar
from ..algebra.linalg import Array, cholesky_solve, ltdl, matrix, vector, zeros
from ..algebra.loops import on_diagonal, pairs, scan
from ..model import Model
from .kinematics import Joints
from .rnea import inverse_dynamics

Composite = tuple[Scalar, Array, Array]  # mass, first moment, inertia


def mass_matrix(model: Model, q: Array) -> Array:
    """M (n, n), both triangles."""
    joints = Joints(model, q)
    body = composites(model, joints)

    def start(i: int) -> tuple[Array, Array]:
        mass, h, inertia = body[i]
        if model.revolute(i):
            return inertia[:, 2], vector(-h[1], h[0], 0.0)
        return vector(h[1], -h[0], 0.0), vector(0.0, 0.0, mass)

    def felt(j: int, column: tuple[Array, Array]) -> tuple[Scalar, Scalar]:
        n, f = column
        element = n[2] if model.revolute(j) else f[2]
        return element, element

    return pairs(model.n, start, felt, lambda j, column: joints.force_inward(j, *column))


def composites(model: Model, joints: Joints) -> list[Composite]:
    """Mass, first moment and inertia of links i..n about frame i."""

    def inward(i: int, beyond: Composite) -> tuple[Composite, Composite]:
        mass, h, inertia, _ = model.moments[i]
        body = beyond[0] + mass, beyond[1] + h, beyond[2] + inertia
        return (body[0], *joints.body_inward(i, *body)), body

    nothing: Composite = (0.0, np.zeros(3), np.zeros((3, 3)))
    return scan(model.n, inward, nothing, inward=True)


def forward_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """qdd (n,) from M qdd = tau - (C qd + g - J^T w), M by this file and the right side by Newton-Euler."""
    rest = inverse_dynamics(model, q, qd, np.zeros(model.n), wrench)
    return cholesky_solve(with_rotors(mass_matrix(model, q), joint_inertia), tau - rest)


def mass_matrix_inverse(model: Model, q: Array, joint_inertia: Array | None = None) -> Array:
    """M^-1 (n, n) = L^-1 D^-1 L^-T from M = L^T D L, both triangles."""
    n = model.n
    L, D = ltdl(with_rotors(mass_matrix(model, q), joint_inertia))
    inverse = zeros(n, n)  # of the unit lower L
    for j in range(n):
        inverse[j, j] = 1.0
        for i in range(j + 1, n):
            inverse[i, j] = -sum((L[i, k] * inverse[k, j] for k in range(j + 1, i)), start=L[i, j])
    scaled = zeros(n, n)
    for j in range(n):
        for i in range(j, n):
            scaled[i, j] = inverse[i, j] * (1.0 / D[j])
    out = zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = sum(
                (inverse[i, k] * scaled[j, k] for k in range(1, j + 1)), start=inverse[i, 0] * scaled[j, 0]
            )
    return matrix(out)


def with_rotors(M: Array, joint_inertia: Array | None) -> Array:
    """M with `joint_inertia` (n,) on its diagonal."""
    return M if joint_inertia is None else on_diagonal(M, joint_inertia)
