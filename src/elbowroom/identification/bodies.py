"""Pseudo-inertias: a body's ten parameters as one symmetric matrix J (4, 4), linear in them, over (x, y, z, 1).

    J = [ S     m c ]        S = tr(I)/2 1 - I,   I about the frame's origin
        [ m c^T   m ]

A body with these parameters can exist, with mass in more than a plane, if and only if J is positive definite (Wensing,
Kim, Slotine 2018).
"""

from __future__ import annotations

import numpy as np

from ..model.parameters import ENTRIES, NAMES
from .measurements import Array

PER_LINK = len(NAMES)


def pseudo_inertias(parameters: Array) -> Array:
    """Parameters (..., 10) -> J (..., 4, 4)."""
    tensor = np.empty((*parameters.shape[:-1], 3, 3))
    for k, (a, b) in enumerate(ENTRIES):
        tensor[..., a, b] = tensor[..., b, a] = parameters[..., 4 + k]
    J = np.zeros((*parameters.shape[:-1], 4, 4))
    trace = np.trace(tensor, axis1=-2, axis2=-1)
    J[..., :3, :3] = 0.5 * trace[..., None, None] * np.eye(3) - tensor
    J[..., :3, 3] = J[..., 3, :3] = parameters[..., 1:4]
    J[..., 3, 3] = parameters[..., 0]
    return J


def parameters_of(J: Array) -> Array:
    """J (..., 4, 4) -> parameters (..., 10)."""
    S = J[..., :3, :3]
    tensor = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    found = np.empty((*J.shape[:-2], PER_LINK))
    found[..., 0] = J[..., 3, 3]
    found[..., 1:4] = J[..., :3, 3]
    for k, (a, b) in enumerate(ENTRIES):
        found[..., 4 + k] = tensor[..., a, b]
    return found


BASIS = pseudo_inertias(np.eye(PER_LINK))
"""(10, 4, 4): J = sum of parameter k times BASIS[k]."""
