"""The inertial parameters of an arm's links as one vector, in which its torques are linear.

Ten numbers a link, in the order of Pinocchio's `Inertia.toDynamicParameters`:

    m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz

with I about the link frame's origin and products of inertia as entries of the tensor.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from .model import Array, Model

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # of I, in that order


def parameters(model: Model) -> Array:
    """The vector (10 n,)."""
    entries = [[mass, *first, *(inertia[e] for e in ENTRIES)] for mass, first, inertia, _ in model.moments]
    return np.array(entries, dtype=float).ravel()


def parameter_names(model: Model) -> tuple[str, ...]:
    """A name for each: "link1.m", "link1.mx" (the first moment m c_x), ..., "link1.Izz"."""
    return tuple(f"{link}.{name}" for link in model.link_names for name in NAMES)


def with_parameters(model: Model, vector: ArrayLike) -> Model:
    """The arm whose links have these parameters (10 n,); masses must be positive.

    Whether such bodies could be built is not asked: `elbowroom check` does.
    """
    given = np.asarray(vector, dtype=float)
    if given.shape != (10 * model.n,):
        raise ModelError(f"{model.name}: parameters must have shape ({10 * model.n},), ten a link; got {given.shape}")
    rows = given.reshape(model.n, 10)
    for link, mass in zip(model.link_names, rows[:, 0], strict=True):
        if not mass > 0:
            raise ModelError(
                f"{model.name}: link {link!r}: the mass must be positive to have a centre; got {mass:g} kg"
            )
    com = rows[:, 1:4] / rows[:, :1]
    inertia = np.empty((model.n, 3, 3))
    for (a, b), column in zip(ENTRIES, rows[:, 4:].T, strict=True):
        inertia[:, a, b] = inertia[:, b, a] = column
    shift = (com**2).sum(1)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    return dataclasses.replace(model, mass=rows[:, 0], com=com, inertia=inertia - rows[:, 0, None, None] * shift)
