"""Derivatives of inverse and forward dynamics, analytically in O(n^2) by link frames, or automatically.

Continues christoffel.py, whose symbols these are: links j..n as one body with mass m, first moment h, inertia I and
the velocity sums W, P; w, v the motion of link j at frame j; a its acceleration there (less gravity), U = [wd x] +
[w x][w x] as in rnea.py; n, f the moment and force that joint j carries.  C is linear in qd and its Christoffel symbols
are symmetric, so with M the mass matrix

    d tau/d qdd = M,        d tau/d qd = 2 C                                                                     (1)

For d tau/d q let joint j turn a little, and everything beyond it as well.  Seen from the links beyond, which turn
along, the motion that they are carried with changes by (w x z, v x z) a unit of angle, and its acceleration by

    revolute   s_n = U z,   s_f = a x z + 2 v x (w x z)          prismatic   s_n = 0,   s_f = U z                (2)

while the joints inboard feel the force of the links beyond turned against their axes.  Column i is born at frame i as

    revolute   n4 = I s_n + h x s_f + 2 W (w x z) + z x n        prismatic   n4 = h x s_f + z x f                (3)
               f4 = m s_f + s_n x h + 2 (w x z) x P + z x f                  f4 = m s_f

and is carried inwards beside (n1, f1), (n2, f2) and n3.  At joint j <= i it gives both elements of the pair:

    d tau_j/d q_i = z . n4  (z . f4 if j slides)                                                                 (4)
    d tau_i/d q_j = s_n . n2 + s_f . f2 + 2 (w x z) . n3  (s_f . f2 if j slides),  with w, s of joint j           (5)

Forward dynamics undoes inverse dynamics, so its derivatives at (q, qd, tau) are those of inverse dynamics at the
acceleration qdd that tau gives:

    d qdd/d tau = M^-1,      d qdd/d q = -M^-1 d tau/d q,      d qdd/d qd = -M^-1 d tau/d qd                      (6)

The recursion is that of Carpentier and Mansard (RSS 2018) and of Singh, Russo and Wensing (RA-L 2022) in effect, as
particles have it.  `automatic` differentiates Newton-Euler itself (algebra/derivatives.py): a referee, and a rival by
count.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..algebra import Expr, Scalar, cross, dot, trace
from ..algebra.derivatives import differentiated
from ..algebra.linalg import Array, matrix, vector
from ..algebra.loops import late, matrices, on_diagonal, same, scan
from ..model import Model
from . import crba, rnea
from .christoffel import NOTHING, Moments, Motion, MovingBody, link_motion, moving_link, own_moments
from .kinematics import Joints


class InverseDynamicsDerivatives(NamedTuple):
    """The derivatives of tau = M qdd + C qd + g + friction; of a batch of B states each is (B, n, n)."""

    dtau_dq: NDArray[np.float64]  # (n, n)
    dtau_dqd: NDArray[np.float64]  # (n, n), = 2 C + viscous friction, C the Christoffel matrix
    dtau_dqdd: NDArray[np.float64]  # (n, n), = M


class ForwardDynamicsDerivatives(NamedTuple):
    """The derivatives of the acceleration that torques give; of a batch of B states each is (B, n, n)."""

    dqdd_dq: NDArray[np.float64]  # (n, n)
    dqdd_dqd: NDArray[np.float64]  # (n, n)
    dqdd_dtau: NDArray[np.float64]  # (n, n), = M^-1


class _Shift(NamedTuple):
    """What turning joint j does to the motion that links beyond it are carried with, (2)."""

    turning: Array  # w x z
    turning2: Array  # twice that
    sliding2: Array  # 2 v x z
    s_n: Array
    s_f: Array


class _Column(NamedTuple):
    """What joint i leaves for the joints inboard."""

    moments: Moments  # n1, f1 and n3 twice what christoffel.py has: all of them are linear in the velocities
    n4: Array
    f4: Array


class _Beyond(NamedTuple):
    """Links j..n as one body, and the moment and force that they take."""

    body: MovingBody
    n: Array
    f: Array


def inverse_dynamics_derivatives(model: Model, q: Array, qd: Array, qdd: Array) -> InverseDynamicsDerivatives:
    """(d tau/d q, d tau/d qd, d tau/d qdd), (n, n) each, rigid bodies alone."""
    return InverseDynamicsDerivatives(*torque_derivatives(model, q, qd, qdd, -model.gravity))


def torque_derivatives(
    model: Model, q: Array, qd: rnea.Rates, qdd: rnea.Rates, base_acceleration: Array, by: tuple[int, ...] = (0, 1, 2)
) -> tuple[Array, ...]:
    """Of the three those that `by` names by number, of an arm whose base accelerates."""
    joints = Joints(model, q)
    motion = link_motion(model, joints, qd)

    def then(j: int, accelerated: rnea.Accelerated) -> tuple[_Shift, Array, Array]:
        return _shift(model, j, motion[j], accelerated), *rnea.link_load(model, j, accelerated)

    links = rnea.accelerations(model, joints, qd, qdd, base_acceleration, then)
    doubled = late(model.n, lambda j: (2.0 * motion[j][0], 2.0 * motion[j][1]))
    bodies = late(model.n, lambda j: moving_link(model, j, *doubled[j]))

    def inward(j: int, beyond: _Beyond) -> tuple[_Beyond, _Beyond]:
        _, n, f = links[j]
        here = _Beyond(bodies[j].joined(beyond.body), n + beyond.n, f + beyond.f)
        return _Beyond(here.body.inward(joints, j), *joints.force_inward(j, here.n, here.f)), here

    def born(i: int, beyond: _Beyond) -> _Column:
        return _born(model, i, doubled[i], links[i][0], beyond)

    nothing = _Beyond(NOTHING, np.zeros(3), np.zeros(3))
    columns = scan(model.n, inward, nothing, born, inward=True)

    def felt(j: int, column: _Column) -> tuple[tuple[Scalar, Scalar], ...]:
        (n1, f1, n2, f2, n3), n4, f4 = column
        shift = links[j][0]
        if not model.revolute(j):
            found = (f4[2], dot(shift.s_f, f2)), (f1[2], dot(shift.turning2, f2)), (f2[2], f2[2])
        else:
            by_q = dot(shift.s_n, n2) + dot(shift.s_f, f2) + dot(shift.turning, n3)  # (4), (5)
            by_qd = dot(shift.turning2, n2) + dot(shift.sliding2, f2) + n3[2]
            found = (n4[2], by_q), (n1[2], by_qd), (n2[2], n2[2])
        return tuple(found[k] for k in by)

    def move(j: int, column: _Column) -> _Column:
        return _Column(column.moments.inward(joints, j), *joints.force_inward(j, column.n4, column.f4))

    return matrices(model.n, len(by), lambda i: columns[i], felt, move)


def _shift(model: Model, j: int, motion: Motion, accelerated: rnea.Accelerated) -> _Shift:
    (w, v), (_, _, a, U) = motion, accelerated
    turning = vector(w[1], -w[0], 0.0)
    sliding2 = vector(2.0 * v[1], -2.0 * v[0], 0.0)
    if not model.revolute(j):
        return _Shift(turning, 2.0 * turning, sliding2, np.zeros(3), U[:, 2])
    s_f = vector(a[1], -a[0], 0.0) + cross(2.0 * v, turning)
    return _Shift(turning, 2.0 * turning, sliding2, U[:, 2], s_f)


def _born(model: Model, i: int, doubled: Motion, shift: _Shift, beyond: _Beyond) -> _Column:
    """Column i at its own joint, (3)."""
    own = own_moments(model, i, doubled, beyond.body)
    (mass, h, inertia, W, P), n, f = beyond
    if not model.revolute(i):
        return _Column(own, cross(h, shift.s_f) + vector(-f[1], f[0], 0.0), mass * shift.s_f)
    n4 = inertia @ shift.s_n + cross(h, shift.s_f) + W @ shift.turning + vector(-n[1], n[0], 0.0)
    f4 = mass * shift.s_f + cross(shift.s_n, h) + cross(shift.turning, P) + vector(-f[1], f[0], 0.0)
    return _Column(own, n4, f4)


def forward_dynamics_derivatives(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    joint_inertia: Array | None = None,
    damping: Array | None = None,
) -> ForwardDynamicsDerivatives:
    """(d qdd/d q, d qdd/d qd, d qdd/d tau), (n, n) each, by (6).

    `joint_inertia` (n,) adds to M's diagonal, `damping` (n,) to the diagonal of d tau/d qd.
    """
    inverse = crba.mass_matrix_inverse(model, q, joint_inertia)
    qdd = inverse @ (tau - rnea.bias_torque(model, q, qd))
    found = inverse_dynamics_derivatives(model, q, qd, qdd)
    by_qd = found.dtau_dqd if damping is None else on_diagonal(found.dtau_dqd, damping)
    return ForwardDynamicsDerivatives(matrix(-(inverse @ found.dtau_dq)), matrix(-(inverse @ by_qd)), inverse)


def inverse_dynamics_automatic(model: Model, q: Array, qd: Array, qdd: Array) -> InverseDynamicsDerivatives:
    """The same by differentiating recursive Newton-Euler, operation by operation."""
    if any(type(x) is Expr for array in (q, qd, qdd) for x in array.flat):
        tau = rnea.inverse_dynamics(model, q, qd, qdd)
        return InverseDynamicsDerivatives(*differentiated(tau, (q, qd, qdd)))
    inputs = dict.fromkeys(("q", "qd", "qdd"), (model.n,))
    found = cast("dict[str, Array]", trace(rnea.inverse_dynamics, model, inputs).jacobian().evaluate(q, qd, qdd))
    return InverseDynamicsDerivatives(*found.values())


# ---- of quantities whose code has loops, by the inputs that `by` names by number
def inverse_dynamics_by(model: Model, by: tuple[int, ...], q: Array, qd: Array, qdd: Array) -> tuple[Array, ...]:
    """Derivatives of inverse dynamics of the whole arm."""
    found = torque_derivatives(model, q, qd, qdd, -model.gravity, by)
    drives = (None, model.viscous, model.rotor_inertia)
    return tuple(
        M if drives[k] is None else on_diagonal(M, cast("Array", drives[k])) for M, k in zip(found, by, strict=True)
    )


def bias_torque_by(model: Model, by: tuple[int, ...], q: Array, qd: Array) -> tuple[Array, ...]:
    """Derivatives of C qd + g."""
    return torque_derivatives(model, q, qd, same(model.n, 0.0), -model.gravity, by)


def coriolis_torque_by(model: Model, by: tuple[int, ...], q: Array, qd: Array) -> tuple[Array, ...]:
    """Derivatives of C qd."""
    return torque_derivatives(model, q, qd, same(model.n, 0.0), np.zeros(3), by)


def gravity_torque_by(model: Model, by: tuple[int, ...], q: Array) -> tuple[Array, ...]:
    """The derivative of g."""
    still = same(model.n, 0.0)
    return torque_derivatives(model, q, still, still, -model.gravity, by)
