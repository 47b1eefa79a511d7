"""What every accepted robot must be good for: numbers of dynamics and kinematics, its capsules, its export."""

from __future__ import annotations

from typing import Any

import numpy as np

from elbowroom import Arm, dynamics
from elbowroom.export import urdf as export
from elbowroom.model import Model

from ..target import Broken

SLOW = 25  # joints: the float path of Python is slow beyond


def finite(what: str, value: Any) -> np.ndarray:
    """The numbers, if they are."""
    array = np.asarray(value, dtype=float)
    if not np.isfinite(array).all():
        raise Broken(f"{what} of an accepted input is not finite")
    return array


def use(model: Model) -> None:
    """Checks the arm as `er.load` does, and computes with it; errors of the check are refusals."""
    Arm.checked(model)
    low, high = model.sampling_range()
    rng = np.random.default_rng(0)
    for q in (model.ready, rng.uniform(low, high)):
        finite("a configuration", q)
        if model.n > SLOW:
            continue
        M = finite("the mass matrix", dynamics.whole("mass_matrix", "crba")(model, q))
        if not np.allclose(M, M.T, rtol=1e-9, atol=1e-9 * np.abs(M).max()):  # two ways of rounding one sum
            raise Broken("the mass matrix of an accepted input is not symmetric")
        still = np.zeros(model.n)
        finite("the gravity torque", dynamics.whole("inverse_dynamics", "rnea")(model, q, still, still))
        finite("the torque", dynamics.whole("inverse_dynamics", "rnea")(model, q, still + 0.1, still + 0.1))
    for capsule in model.capsules:
        finite("a capsule", (*capsule.a, *capsule.b, capsule.radius))
    export(model)
