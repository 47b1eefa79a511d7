"""What the drives add to the rigid bodies: rotor inertia on M's diagonal, friction on the torque."""

from __future__ import annotations

from typing import Any

from ..algebra import sign
from ..algebra.linalg import Array, is_constant
from ..algebra.loops import each, gathered, on_diagonal
from ..model import Model


def friction_torque(model: Model, qd: Array) -> Array:
    """viscous qd + coulomb sign(qd), (n,): what the motor must give beyond moving the bodies."""
    return gathered(each(model.n, lambda i: _friction(model, i, qd[i])))


def _friction(model: Model, i: int, speed: Any) -> Any:
    dry = model.coulomb[i]
    return model.viscous[i] * speed + (0.0 if is_constant(dry, 0.0) else dry * sign(speed))


def rotors_on_diagonal(model: Model, M: Array) -> Array:
    """M with the rotors' inertia."""
    with_rotors: Array = on_diagonal(M, model.rotor_inertia)
    return with_rotors


def rotor_torque(model: Model, qdd: Array) -> Array:
    """What accelerating the rotors takes, (n,)."""
    return gathered(each(model.n, lambda i: model.rotor_inertia[i] * qdd[i]))


def rotor_energy(model: Model, qd: Array) -> Any:
    """The rotors' own kinetic energy."""
    return sum((0.5 * model.rotor_inertia[i] * (qd[i] * qd[i]) for i in range(model.n)), start=0.0)
