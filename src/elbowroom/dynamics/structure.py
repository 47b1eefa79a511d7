"""Which inertias D_ik and velocity coefficients h_ikm of an arm vanish identically (document 004, section 2).

D is the mass matrix; h are the Christoffel symbols of the first kind, so that the torque of joint i is
sum_k D_ik qdd_k + sum_km h_ikm qd_k qd_m + gravity.  Always h_iii = 0 and h_ikm = h_imk.

An entry is `ZERO` where that is proven, for the arm's numbers as they are stored: a traced program with its constants
folded in has the number 0 for it, or, of an h, the traced D do not contain the joint angles it could come from,

    h_ikm = (dD_ik/dq_m + dD_im/dq_k - dD_km/dq_i) / 2            so   h_iki = dD_ii/dq_k / 2 = 0 for k <= i

Where neither holds but it is at rounding level at every one of many random poses, it is `ROUNDING`: most likely zero
for a reason that folding does not see, such as sin^2 + cos^2 = 1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ..algebra import Program
from ..algebra.linalg import Array
from ..model import Model
from .quantities import quantity
from .whole_arm import program

POSES = 64
TOLERANCE = 1e-12
"""Of the largest entry at a pose: some hundred operations of 1e-16 each; true couplings are far above it."""


class EntryKind(IntEnum):
    """What an entry is over all poses."""

    ZERO = 0  # proven
    ROUNDING = 1  # zero to rounding at every pose tried
    CONSTANT = 2  # the same number at every pose, proven
    VARIES = 3


@dataclass(frozen=True)
class Structure:
    """The pattern of an arm's dynamics."""

    inertia: Array  # (n, n) of EntryKind: D_ik
    velocity: Array  # (n, n, n) of EntryKind: h_ikm

    @property
    def n(self) -> int:
        """How many joints."""
        return len(self.inertia)

    def vanishing(self, entry: EntryKind = EntryKind.ZERO) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
        """The D_ik with i <= k and the h_ikm with k <= m that are `entry`; joints are numbered from 1."""
        inertia = [(i + 1, k + 1) for i, k in np.argwhere(self.inertia == entry).tolist() if i <= k]
        velocity = [(i + 1, k + 1, m + 1) for i, k, m in np.argwhere(self.velocity == entry).tolist() if k <= m]
        return inertia, velocity


def structure(model: Model, *, seed: int = 0) -> Structure:
    """The pattern of the mass matrix and of the Christoffel symbols of this arm, rotors included."""
    rng = np.random.default_rng(seed)
    turns = np.array([model.revolute(i) for i in range(model.n)])
    q = rng.uniform(-1, 1, (POSES, model.n)) * np.where(turns, np.pi, 1.0)
    inertia, velocity = _entries(model, "mass_matrix", q), _entries(model, "christoffel", q)
    return Structure(inertia, np.where(_independent(model), int(EntryKind.ZERO), velocity))


def _independent(model: Model) -> Array:
    """(n, n, n): whether all three derivatives that make h_ikm vanish, or cancel, because D lacks those angles."""
    n = model.n
    held = np.logical_and.reduce(
        [_contains(program(model, "mass_matrix", method)) for method in quantity("mass_matrix").fast]
    )  # (n, n, n): D_ik contains q_m in every program
    found = np.zeros((n, n, n), dtype=bool)
    for i, k, m in np.ndindex(n, n, n):
        terms: Counter[tuple[int, int, int]] = Counter()
        for a, b, angle, sign in ((i, k, m, 1), (i, m, k, 1), (k, m, i, -1)):
            terms[min(a, b), max(a, b), angle] += sign
        found[i, k, m] = not any(held[term] for term, times in terms.items() if times)
    return found


def _contains(traced: Program) -> Array:
    """(n, n, n): whether entry (i, k) of a traced mass matrix is made of q_m."""
    n = traced.outputs[0].shape[0]
    made_of: list[int] = []  # a bit a joint
    for op, *operands in traced.operations:
        if op in ("input", "parameter"):
            made_of.append(1 << operands[0][1])
        else:
            bits = 0
            for operand in operands:
                bits |= made_of[operand] if operand >= 0 else 0
            made_of.append(bits)
    entries = [made_of[operand] if operand >= 0 else 0 for operand in traced.results[0]]
    return np.array([[bool(bits >> m & 1) for m in range(n)] for bits in entries]).reshape(n, n, n)


def _entries(model: Model, name: str, q: Array) -> Array:
    """What each entry is, by the best that any of the quantity's fast methods can prove."""
    programs = [program(model, name, method) for method in quantity(name).fast]
    proven = np.minimum.reduce([_folded(p) for p in programs])
    values = np.abs(np.asarray(programs[0].evaluate(q)))
    largest = values.reshape(len(q), -1).max(axis=1).reshape(-1, *[1] * (values.ndim - 1))
    small = (values <= TOLERANCE * largest).all(axis=0)
    return np.where(small & (proven > EntryKind.ROUNDING), int(EntryKind.ROUNDING), proven)


def _folded(traced: Program) -> Array:
    """What the constants among a program's results say."""

    def kind(operand: int) -> EntryKind:
        if operand >= 0:
            return EntryKind.VARIES
        return EntryKind.ZERO if traced.constants[-1 - operand] == 0 else EntryKind.CONSTANT

    found = [kind(operand) for operand in traced.results[0]]
    return np.array(found, dtype=int).reshape(traced.outputs[0].shape)
