"""A chain whose numbers are columns, one entry a joint, for tracing recursions into loops (algebra/rolling.py).

Joints whose code differs are of different kinds: those that turn and those that slide, those whose placement is a
Denavit-Hartenberg row and those whose placement is not, those with a rotor or dry friction and those without.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..algebra.rolling import Roll, Rows, Turn
from ..algebra.tensors import PrincipalForm
from .model import Array, Model, Split

COLUMNS = ("E", "p", "mass", "com", "moments", "rotor_inertia", "viscous", "coulomb")


class RolledModel:
    """What a formulation asks of a Model, by joint as Rows.  Trace it once; ask for another to trace again."""

    def __init__(self, model: Model) -> None:
        self._model = model
        signatures = [_signature(model, i) for i in range(model.n)]
        known = list(dict.fromkeys(signatures))
        self.n = Roll(tuple(known.index(s) for s in signatures))
        self._turns = [s[0] for s in known]
        self.base: Array = model.base
        self.gravity: Array = model.gravity
        self.tool: Array = model.tool

    def revolute(self, i: Turn) -> bool:
        """Whether joints of this turn's kind turn (else they slide)."""
        return bool(self._turns[i.kind])

    def __getattr__(self, name: str) -> Rows:
        """The model's own COLUMNS, as Rows."""
        if name not in COLUMNS:
            raise AttributeError(f"a rolled model has no {name!r}")
        rows = self.n.given(list(getattr(self._model, name)))
        self.__dict__[name] = rows
        return rows

    def split(self, i: Turn) -> Split:
        """Placements in the parts of a Denavit-Hartenberg row, as far as they are one."""
        found: Split = self._splits[i]
        return found

    def principal(self, i: Turn) -> PrincipalForm:
        """Tensors in the form that turns most cheaply."""
        found: PrincipalForm = self._principals[i]
        return found

    @cached_property
    def _splits(self) -> Rows:
        return self.n.given([self._model.split(i) for i in range(self._model.n)])

    @cached_property
    def _principals(self) -> Rows:
        return self.n.given([self._model.principal(i) for i in range(self._model.n)])


def _signature(model: Model, i: int) -> tuple[Any, ...]:
    split = model.split(i)
    turns = model.revolute(i)
    drive = model.rotor_inertia[i] == 0.0, model.coulomb[i] == 0.0
    return turns, split.along_z is None, turns or split.theta == 0.0, *drive
