"""Base parameters: the combinations of the links' inertial parameters that torques depend on, found by rank.

The columns of the regressor Y (regressor.py), stacked over many random states as W, are not independent: some are zero,
and some are combinations of others whatever the motion.  Taken from left to right, base first, a column is kept if it
is not a combination of those kept before it, W = W_kept [1 K] up to the order of the columns, so that

    tau = Y p = Y_kept beta,        beta = p_kept + K p_rest                                                       (1)

The kept ones are the base parameters of Gautier and Khalil.  Each has the name of the parameter whose column it is, and
its combination says what it stands for.  A column counts as dependent if less than TOLERANCE of its length is left when
the others are taken off it.  `model/base_parameters.py` does the same by formulas, to make programs shorter; it keeps
one or two more than there need be where a slide follows the first turning joint, or all axes are parallel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..model import Model
from ..model.model import Array
from ..model.parameters import parameter_names

TOLERANCE = 1e-8
"""Half of the digits of float64.  What is left of dependent columns of the catalogue's arms is below 1e-13 of them, of
independent ones above 1e-4."""

SIGNIFICANT = 1e-10
"""Coefficients below this part of the largest in a combination are rounding, and are 0."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """What can be known of an arm's links from its torques: `len(names)` combinations of its 10 n parameters."""

    names: tuple[str, ...]  # of the parameter that each combination begins with, "link3.Izz"
    kept: Array = field(repr=False)  # (b,) the columns of the regressor that belong to them
    combinations: Array = field(repr=False)  # (b, 10 n): beta = combinations @ parameters
    values: Array = field(repr=False)  # (b,) of the model
    parameters: tuple[str, ...] = field(repr=False)  # names of all 10 n
    without_effect: tuple[str, ...] = field(repr=False)  # parameters that no torque depends on

    def __len__(self) -> int:
        return len(self.names)

    def regressor(self, Y: ArrayLike) -> Array:
        """The columns of a regressor (..., n, 10 n) that belong to the base parameters, (..., n, b)."""
        given = np.asarray(Y, dtype=float)
        if given.ndim < 2 or given.shape[-1] != len(self.parameters):
            raise ShapeError(
                f"regressor must have {len(self.parameters)} columns, (..., n, 10 n); got shape {given.shape}"
            )
        return given[..., self.kept]

    def combination(self, k: int) -> str:
        """Base parameter k written out: "link2.Izz + link3.Iyy + 0.1 link3.m"."""
        row = self.combinations[k]
        first = self.kept[k]
        text = self.parameters[first]
        for column in np.flatnonzero(row):
            if column == first:
                continue
            size = abs(row[column])
            factor = "" if abs(size - 1.0) < SIGNIFICANT else f"{size:.6g} "
            text += f" {'-' if row[column] < 0 else '+'} {factor}{self.parameters[column]}"
        return text

    def __str__(self) -> str:
        lines = [f"{value:12.6g}  {self.combination(k)}" for k, value in enumerate(self.values)]
        return "\n".join((f"{len(self)} base parameters of {len(self.parameters)}", *lines))


def independent_columns(unit: Array) -> tuple[list[int], Array]:
    """Of columns of length 1 or 0, from left to right, those that are no combination of those before; their basis."""
    kept: list[int] = []
    basis = np.empty((len(unit), 0))
    for column, rest in enumerate(unit.T):
        for _ in range(2):  # once more takes off what rounding left of the first
            rest = rest - basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > TOLERANCE:
            kept.append(column)
            basis = np.column_stack([basis, rest / size])
    return kept, basis


def base_parameters(model: Model, Y: Array) -> BaseParameters:
    """The base parameters of an arm by its regressors (B, n, 10 n) at random states, at least 10 n in all."""
    W = Y.reshape(-1, Y.shape[-1])
    lengths = np.linalg.norm(W, axis=0)
    felt = lengths > TOLERANCE * lengths.max()
    unit = np.divide(W, lengths, where=felt, out=np.zeros_like(W))
    kept, basis = independent_columns(unit)
    R = basis.T @ unit
    K = np.linalg.solve(R[:, kept], R) * (lengths / lengths[kept][:, None])
    K[np.abs(K) < SIGNIFICANT * np.abs(K).max(axis=1, keepdims=True)] = 0.0
    K[:, kept] = np.eye(len(kept))
    names = parameter_names(model)
    return BaseParameters(
        tuple(names[k] for k in kept),
        np.array(kept),
        K,
        K @ model.parameters,
        names,
        tuple(names[k] for k in np.flatnonzero(~felt)),
    )
