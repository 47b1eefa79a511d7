"""The rows that are solved for: the worst that the wish may violate, as the problem that solver.py solves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....algebra.linalg import Array, vector
from ....compile import compiled
from ....compile.kernel import Kernel
from .rows import ROWS, Constraint, chosen
from .solver import DOUBLE, GIVEN, QuadraticProblem, Tolerance, opened, solver_kernel


class RowKinds(NamedTuple):
    """How many of the first rows are people's, and of the last of motion limits; and what counts as nothing."""

    people: int
    own: int
    tolerance: Tolerance


def picked(kinds: RowKinds, rows: Array, start: Array, low: Array, up: Array) -> dict[str, Array]:
    """The rows that are solved for, as a QuadraticProblem and then as a Tableau has them, and their kinds."""
    best = chosen([Constraint.of(row) for row in rows], kinds.people, kinds.own)
    A, (need, yields, kind) = (
        np.array([row.a for row in best]),
        (vector(*numbers) for numbers in zip(*((row.need, row.yields, row.kind) for row in best), strict=True)),
    )
    tableau = opened(QuadraticProblem(start, low, up, A, need, yields), kinds.tolerance)
    given = {name: getattr(tableau, name) for name in GIVEN}
    return given | {"A": A, "need": need, "yields": yields, "kinds": kind}


def solving_kernels(n: int, rows: int, people: int, own: int, tolerance: Tolerance = DOUBLE) -> dict[str, Kernel]:
    """`pick`, of so many rows of an arm with n joints, and `solve`."""
    inputs = {"rows": (rows, n + 4), "start": (n,), "low": (n,), "up": (n,)}
    return {
        "pick": compiled(picked, RowKinds(people, own, tolerance), inputs, name="picked"),
        "solve": solver_kernel(n, rows=ROWS + own, tolerance=tolerance),
    }
