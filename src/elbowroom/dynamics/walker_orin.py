"""Forward dynamics by the four methods of Walker and Orin, through M qdd = tau - (C qd + g - J^T w).

The right side is one Newton-Euler call with qdd = 0; the methods differ in how they come by M (Kozlowski, Table 3):

    1   every column of M by a Newton-Euler call with a unit acceleration; symmetric solve            O(n^3)
    2   the same with column k started at link k, where motion begins, and its rows above k taken
        from symmetry                                                                                 O(n^3)
    3   M by composite bodies (`crba`), whose columns need no outward pass; symmetric solve           O(n^3)
    4   M never formed: conjugate gradients, whose products M v are Newton-Euler calls                O(n^2)

Method 4 repeats n times, from x = 0 and r = p = the right side, with y = M p for every direction p so far,

    alpha = r.p / p.y,   x += alpha p,   r -= alpha y,   p' = r - sum over all earlier p of (r.y / p.y) p

In exact numbers all but the last term of the sum vanish, and what remains is the textbook's p' = r + (r.r / before) p,
which `forward_dynamics_4_short` does.  In floating point the short form forgets the earlier directions: after n steps
it is off by 1e-6 on a 7-joint arm and by 1e-2 on some 12-joint chains.  The whole sum costs 2 n^3 operations more and
is as accurate as the solves.  A residual of exactly zero ends both: nothing is added from then on.

Published in all: 1: n^3/3 + 130.5 n^2 + 197.167 n - 33.  2: n^3/3 + 66.5 n^2 + 261.167 n - 33.
3: n^3/3 (print: n^3/6) + 21.5 n^2 + 358.167 n - 113.  4: 132.5 n^2 + 207 n - 31.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra import Scalar, where
from ..algebra.linalg import Array, cholesky_solve, matrix, zeros
from ..model import Model
from . import columns, crba
from .kinematics import Joints
from .rnea import inverse_dynamics


def forward_dynamics_1(
    model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None, joint_inertia: Array | None = None
) -> Array:
    """qdd (n,): M by n Newton-Euler calls, then a symmetric solve."""
    M = crba.with_rotors(columns.mass_matrix(model, q), joint_inertia)
    return cholesky_solve(M, _driving(model, q, qd, tau, wrench))


def forward_dynamics_2(
    model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None, joint_inertia: Array | None = None
) -> Array:
    """qdd (n,): M by n Newton-Euler calls, each from its own link outwards, then a symmetric solve."""
    M = crba.with_rotors(triangle(model, q), joint_inertia)
    return cholesky_solve(M, _driving(model, q, qd, tau, wrench))


def forward_dynamics_3(
    model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None, joint_inertia: Array | None = None
) -> Array:
    """qdd (n,): M by composite bodies, then a symmetric solve; the same as `crba.forward_dynamics`."""
    return crba.forward_dynamics(model, q, qd, tau, wrench, joint_inertia)


def forward_dynamics_4(
    model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None, joint_inertia: Array | None = None
) -> Array:
    """qdd (n,) by n steps of conjugate gradients, every direction made conjugate to all before it."""
    joints, extra = Joints(model, q), _extra(model, joint_inertia)
    r = _driving(model, q, qd, tau, wrench)
    x, p = np.zeros(model.n), r
    earlier: list[tuple[Array, Array, Scalar]] = []  # p, y = M p and 1 / p.y
    for _ in range(model.n):
        y = columns.inertia_product(model, joints, p) + extra * p
        earlier.append((p, y, _inverse(p @ y)))
        alpha = (r @ p) * earlier[-1][2]
        x, r = x + alpha * p, r - alpha * y
        p = r
        for before, image, inverse in earlier:
            p = p - ((r @ image) * inverse) * before
    return x


def forward_dynamics_4_short(
    model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None, joint_inertia: Array | None = None
) -> Array:
    """qdd (n,) by n steps of the textbook's conjugate gradients: the published count, and only about six digits."""
    joints, extra = Joints(model, q), _extra(model, joint_inertia)
    r = _driving(model, q, qd, tau, wrench)
    x, p, size = np.zeros(model.n), r, r @ r
    for _ in range(model.n):
        y = columns.inertia_product(model, joints, p) + extra * p
        alpha = size * _inverse(p @ y)
        x, r = x + alpha * p, r - alpha * y
        before, size = size, r @ r
        p = r + (size * _inverse(before)) * p
    return x


def triangle(model: Model, q: Array) -> Array:
    """M (n, n), both triangles, column k from Newton-Euler on the links from k outwards (method 2)."""
    joints = Joints(model, q)
    M = zeros(model.n, model.n)
    for k, unit in enumerate(np.eye(model.n)):
        M[k:, k] = M[k, k:] = columns.inertia_product(model, joints, unit, start=k)
    return matrix(M)


def _driving(model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None) -> Array:
    """tau less what Newton-Euler asks for without joint accelerations."""
    return tau - inverse_dynamics(model, q, qd, np.zeros(model.n), wrench)


def _extra(model: Model, joint_inertia: Array | None) -> Array:
    return np.zeros(model.n) if joint_inertia is None else joint_inertia


def _inverse(x: Any) -> Any:
    """1 / x; where x is exactly zero, 1, for what it multiplies is then zero too."""
    return 1.0 / where(x == 0, 1.0, x)
