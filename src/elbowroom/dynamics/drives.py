"""What the drives add to the rigid bodies: rotor inertia on M's diagonal, friction on the torque.

The functions at the end make a formulation's f(model, q, ...) one of the whole arm; every quantity of the registry
names the one that is right for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algebra import Scalar, sign
from ..algebra.linalg import Array, is_constant
from ..algebra.loops import each, gathered, on_diagonal
from ..model import Model

Function = Callable[..., Any]


def friction_torque(model: Model, qd: Array) -> Array:
    """viscous qd + coulomb sign(qd), (n,): what the motor must give beyond moving the bodies."""
    return gathered(each(model.n, lambda i: _friction(model, i, qd)))


def _friction(model: Model, i: int, qd: Array) -> Scalar:
    speed, dry = qd[i], model.coulomb[i]
    return model.viscous[i] * speed + (0.0 if is_constant(dry, 0.0) else dry * sign(speed))


def rotor_torque(model: Model, qdd: Array) -> Array:
    """What accelerating the rotors takes, (n,)."""
    return gathered(each(model.n, lambda i: model.rotor_inertia[i] * qdd[i]))


def rotor_energy(model: Model, qd: Array) -> Scalar:
    """The rotors' own kinetic energy."""
    return sum((0.5 * model.rotor_inertia[i] * (qd[i] * qd[i]) for i in range(model.n)), start=0.0)


def absent(f: Function) -> Function:
    """Neither rotors nor friction enter."""
    return f


def rotors_on_diagonal(f: Function) -> Function:
    """M = M_rigid + diag(rotor inertia)."""

    def mass_matrix(model: Model, q: Array) -> Array:
        M: Array = on_diagonal(f(model, q), model.rotor_inertia)
        return M

    return mass_matrix


def rotors_inside(f: Function) -> Function:
    """The formulation itself takes the rotors, as `joint_inertia`."""

    def with_rotors(model: Model, *inputs: Array, **named: Array) -> Array:
        found: Array = f(model, *inputs, **named, joint_inertia=model.rotor_inertia)
        return found

    return with_rotors


def rotors_in_energy(f: Function) -> Function:
    """T = T_rigid + sum of rotor inertia qd^2 / 2."""

    def kinetic_energy(model: Model, q: Array, qd: Array) -> Scalar:
        return f(model, q, qd) + rotor_energy(model, qd)

    return kinetic_energy


def added_to_torque(f: Function) -> Function:
    """tau = tau_rigid + rotor inertia qdd + friction."""

    def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
        tau: Array = f(model, q, qd, qdd, wrench) + rotor_torque(model, qdd) + friction_torque(model, qd)
        return tau

    return inverse_dynamics


def added_to_derivatives(f: Function) -> Function:
    """d tau/d qd with viscous friction on its diagonal, d tau/d qdd with rotor inertia; dry friction has none."""

    def inverse_dynamics_derivatives(model: Model, q: Array, qd: Array, qdd: Array) -> Any:
        found = f(model, q, qd, qdd)
        by_qd, by_qdd = on_diagonal(found.dtau_dqd, model.viscous), on_diagonal(found.dtau_dqdd, model.rotor_inertia)
        return found._replace(dtau_dqd=by_qd, dtau_dqdd=by_qdd)

    return inverse_dynamics_derivatives


def inside_derivatives(f: Function) -> Function:
    """Derivatives of the acceleration under tau - friction; the formulation takes rotors and damping."""

    def forward_dynamics_derivatives(model: Model, q: Array, qd: Array, tau: Array) -> Any:
        driving = tau - friction_torque(model, qd)
        return f(model, q, qd, driving, joint_inertia=model.rotor_inertia, damping=model.viscous)

    return forward_dynamics_derivatives


def taken_from_torque(f: Function) -> Function:
    """qdd of the rigid bodies and the rotors under tau - friction."""

    def forward_dynamics(model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None) -> Array:
        driving = tau - friction_torque(model, qd)
        qdd: Array = f(model, q, qd, driving, wrench, joint_inertia=model.rotor_inertia)
        return qdd

    return forward_dynamics
