"""The body that an arm carries: mass and centre in the tool frame, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .measurements import Array


@dataclass(frozen=True, eq=False)
class Payload:
    """A body in the tool frame as least squares has it; `known_by` says what its share was told apart by."""

    mass: float  # kg
    mass_error: float
    com: Array  # (3,) m
    com_error: Array  # (3,)
    parameters: Array = field(repr=False)  # (10,) as a link's, about the tool frame's origin
    errors: Array = field(repr=False)  # (10,)
    known_by: str

    def __str__(self) -> str:
        centre = ", ".join(f"{c:.4f} +- {e:.4f}" for c, e in zip(self.com, self.com_error, strict=True))
        return f"{self.mass:.4f} +- {self.mass_error:.4f} kg at ({centre}) m"


def payload(parameters: Array, covariance: Array, errors: Array, known_by: str) -> Payload:
    """The payload of ten parameters (10,) with their covariance (10, 10).

    The centre c = (m c)/m has errors to first order.  Along an axis that no torque depends on, and without a mass that
    is above its error, it is not known: NaN, with an infinite error.
    """
    m, mc = float(parameters[0]), parameters[1:4]
    com, com_error = np.full(3, np.nan), np.full(3, np.inf)
    if m > float(errors[0]):
        com = mc / m
        slopes = np.concatenate([-com[:, None] / m, np.eye(3) / m], axis=1)  # (3, 4) of c by m and m c
        com_error = np.sqrt(np.diag(slopes @ covariance[:4, :4] @ slopes.T))
        silent = ~np.isfinite(errors[1:4])
        com[silent], com_error[silent] = np.nan, np.inf
    return Payload(m, float(errors[0]), com, com_error, parameters, errors, known_by)
