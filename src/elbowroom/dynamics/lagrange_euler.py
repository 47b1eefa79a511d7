"""Lagrange-Euler with 4x4 matrices: the dynamic coefficients D, h, c in closed form, O(n^4).

Milicevic, Golubovic, Slavkovic, equations (2.1)-(2.15).  A_i is the pose of link i in the world, Q_j the matrix that
differentiates it by joint j, and J_j the link's second moments about its frame in homogeneous coordinates:

    U_ij = dA_i/dq_j = A_j Q_j (jA_i)                    U_ijk = dU_ij/dq_k           (j, k <= i, else zero)
    D_ik  = sum_{j >= max(i,k)} Tr(U_jk J_j U_ji^T)                                   (2.11)
    h_ikm = sum_{j >= max(i,k,m)} Tr(U_jkm J_j U_ji^T)                                (2.14)
    c_i   = sum_{j >= i} -m_j g U_ji r_j                                              (2.15)
    tau_i = sum_k D_ik qdd_k + sum_km h_ikm qd_k qd_m + c_i                           (2.5)

Q is [[0, -1], [1, 0]] in the upper left corner for a revolute joint, and a one in the third row of the last column for
a prismatic one.  The paper's frames are standard Denavit-Hartenberg: joint j turns about z_{j-1}, so it writes
U_ij = 0A_{j-1} Q_j (j-1)A_i.  Ours turn about their own z, and Q_j commutes with that turn: its (j-1)A_i is our
(jA_i), its (2.1) any rigid step from frame to frame.

Both derivatives are carried outwards link by link, with T_i the step from frame i-1 to frame i:

    U_jj = A_j Q_j,   U_ij = U_{i-1,j} T_i              U_kjk = U_kj Q_k,   U_ijk = U_{i-1,jk} T_i     (j <= k)

h_ikm is the Christoffel symbol of the first kind: h_ikm = h_imk, and h_iii = 0.  (2.4) prints a plus before the gravity
sum; (2.15) has the right sign, with g the acceleration of gravity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra import Scalar
from ..algebra.linalg import Array, matrix, vector, zeros
from ..model import Model
from .kinematics import Joints, forward_kinematics, poses, wrench_torque

Pair = dict[tuple[int, int], Array]
Triple = dict[tuple[int, int, int], Array]


class Coefficients(NamedTuple):
    """The dynamic coefficients at q."""

    D: Array  # (n, n)
    h: Array  # (n, n, n)
    c: Array  # (n,)


def coefficients(model: Model, q: Array) -> Coefficients:
    """D (n, n), h (n, n, n) and c (n,): tau = D qdd + h qd qd + c."""
    T = _steps(model, q)
    U = _first(model, q, T)
    weighted = _weighted(model, U)
    return Coefficients(_D(model, U, weighted), _h(model, T, U, weighted), _c(model, weighted))


def mass_matrix(model: Model, q: Array) -> Array:
    """D (n, n), both triangles (2.11)."""
    U = _first(model, q, _steps(model, q))
    return _D(model, U, _weighted(model, U))


def christoffel(model: Model, q: Array) -> Array:
    """h (n, n, n) (2.14): h_ikm = h_imk, h_iii = 0, and h qd qd is the Coriolis torque."""
    T = _steps(model, q)
    U = _first(model, q, T)
    return _h(model, T, U, _weighted(model, U))


def coriolis_matrix(model: Model, q: Array, qd: Array) -> Array:
    """C (n, n) with C_ik = sum_m h_ikm qd_m: the Christoffel form, dM/dt - 2C is skew."""
    return matrix(christoffel(model, q) @ qd)


def coriolis_torque(model: Model, q: Array, qd: Array) -> Array:
    """h(q, qd) (n,) (2.13)."""
    return coriolis_matrix(model, q, qd) @ qd


def gravity_torque(model: Model, q: Array) -> Array:
    """c (n,) (2.15)."""
    return _c(model, _weighted(model, _first(model, q, _steps(model, q))))


def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
    """tau (n,) = D qdd + h qd qd + c (2.5), less J^T w."""
    D, h, c = coefficients(model, q)
    tau = D @ qdd + (h @ qd) @ qd + c
    return tau if wrench is None else tau - wrench_torque(model, forward_kinematics(model, q), wrench)


def _steps(model: Model, q: Array) -> list[Array]:
    """T_i, the pose (4, 4) of frame i in frame i-1."""
    joints = Joints(model, q)

    def step(i: int) -> Array:
        R, p = joints.turned(i, joints.twist[i]), joints.offset[i]
        return matrix([*([*R[k], p[k]] for k in range(3)), [0.0, 0.0, 0.0, 1.0]])

    return [step(i) for i in range(model.n)]


def _times_Q(A: Array, revolute: bool) -> Array:
    """The upper three rows of A Q; the fourth is zero for every derivative."""
    blank = np.zeros(3)
    columns = [A[:3, 1], -A[:3, 0], blank, blank] if revolute else [blank, blank, blank, A[:3, 2]]
    return matrix(np.array(columns).T)


def _first(model: Model, q: Array, T: list[Array]) -> Pair:
    """U_ij (3, 4) for j <= i."""
    A = poses(model, q)
    U: Pair = {}
    for j in range(model.n):
        U[j, j] = _times_Q(A[j], model.revolute(j))
        for i in range(j + 1, model.n):
            U[i, j] = U[i - 1, j] @ T[i]
    return U


def _second(model: Model, T: list[Array], U: Pair) -> Triple:
    """U_ijk (3, 4) for j <= k <= i; the other order is the same."""
    second: Triple = {}
    for k in range(model.n):
        for j in range(k + 1):
            second[k, j, k] = _times_Q(U[k, j], model.revolute(k))
            for i in range(k + 1, model.n):
                second[i, j, k] = second[i - 1, j, k] @ T[i]
    return second


def _weighted(model: Model, U: Pair) -> Pair:
    """U_ij J_i (3, 4); the last column of J_i is m (r_i, 1), so that of U_ij J_i is m_i U_ij r_i."""
    J = []
    for i in range(model.n):
        mass, first, _, S = model.moments[i]
        J.append(matrix([*([*S[k], first[k]] for k in range(3)), [*first, mass]]))
    return {(i, j): U[i, j] @ J[i] for i, j in U}


def _trace(A: Array, B: Array) -> Scalar:
    """Tr(A B^T)."""
    return sum((a * b for a, b in zip(A.ravel().tolist(), B.ravel().tolist(), strict=True)), start=0.0)


def _D(model: Model, U: Pair, weighted: Pair) -> Array:
    n = model.n
    D = zeros(n, n)
    for i in range(n):
        for k in range(i + 1):
            D[i, k] = D[k, i] = sum((_trace(U[j, k], weighted[j, i]) for j in range(i, n)), start=0.0)  # (2.11)
    return matrix(D)


def _h(model: Model, T: list[Array], U: Pair, weighted: Pair) -> Array:
    n = model.n
    second = _second(model, T, U)
    h = zeros(n, n, n)
    for k in range(n):
        for m in range(k, n):
            for i in range(n):
                parts = (_trace(second[j, k, m], weighted[j, i]) for j in range(max(i, m), n))
                h[i, k, m] = h[i, m, k] = sum(parts, start=0.0)  # (2.14)
    return np.array([matrix(layer) for layer in h])


def _c(model: Model, weighted: Pair) -> Array:
    n, g = model.n, model.gravity
    torque: list[Any] = [-sum((g @ weighted[j, i][:, 3] for j in range(i, n)), start=0.0) for i in range(n)]  # (2.15)
    return vector(*torque)
