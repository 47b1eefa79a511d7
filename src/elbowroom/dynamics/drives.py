"""What the drives add to the rigid bodies: rotor inertia on M's diagonal, friction on the torque."""

from __future__ import annotations

from typing import Any

from ..algebra import sign
from ..algebra.linalg import Array, vector
from ..algebra.loops import on_diagonal
from ..model import Model


def friction_torque(model: Model, qd: Array) -> Array:
    """viscous qd + coulomb sign(qd), (n,): what the motor must give beyond moving the bodies."""
    return vector(*(_friction(model, i, qd[i]) for i in range(model.n)))


def _friction(model: Model, i: int, speed: Any) -> Any:
    return model.viscous[i] * speed + (model.coulomb[i] * sign(speed) if model.coulomb[i] != 0 else 0.0)


def rotors_on_diagonal(model: Model, M: Array) -> Array:
    """M with the rotors' inertia."""
    with_rotors: Array = on_diagonal(M, model.rotor_inertia)
    return with_rotors


def rotor_torque(model: Model, qdd: Array) -> Array:
    """What accelerating the rotors takes, (n,)."""
    return vector(*(model.rotor_inertia[i] * qdd[i] for i in range(model.n)))


def rotor_energy(model: Model, qd: Array) -> Any:
    """The rotors' own kinetic energy."""
    return sum((0.5 * model.rotor_inertia[i] * (qd[i] * qd[i]) for i in range(model.n)), start=0.0)
