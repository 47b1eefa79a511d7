"""How near an arm is to capsules: all of its body, and those of its capsules that move.

    clearance = Clearance(Body(arm))
    whole, moving = clearance.of(q, rows)      rows (k, 13) of people

Capsules of the fixed base count for the first alone: a person who leans against a column has not been touched.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.capsules import BASE
from .body import Body
from .distance import AXIS_DISTANCE, DISTANCE
from .pairs import Pairs
from .shapes import PARKED

Array = NDArray[np.float64]
PERSON = 14
"""Capsules that there is room for from the start: one person's."""


class Near(NamedTuple):
    """Least distances, m: between the axes of the nearest capsules, and between surfaces (negative in overlap)."""

    axes: float
    surfaces: float


NOBODY = Near(math.inf, math.inf)


class Clearance:
    """Of one body from so many capsules, or more: the room for them grows."""

    def __init__(self, body: Body, capsules: int = PERSON) -> None:
        self._body, self._still = body, np.zeros(body.arm.n)
        self._moving = np.array([link != BASE for link in body.links])
        self._room(capsules)

    def _room(self, capsules: int) -> None:
        own = len(self._body)
        self._rows = np.tile(PARKED, (own + capsules, 1))
        self._pairs = Pairs(own, capsules) if own and capsules else None
        self._table = np.empty((0, 0)) if self._pairs is None else self._pairs.kernel.empty()
        self._of_moving = np.repeat(self._moving, capsules)

    def of(self, q: Array, rows: Array) -> tuple[Near, Near]:
        """At q (n,) from rows (k, 13): of all capsules of the body, and of those that move; infinite without any."""
        own = len(self._body)
        if len(self._rows) - own < len(rows):
            self._room(len(rows))
        if self._pairs is None or not len(rows):
            return NOBODY, NOBODY
        self._body.rows(q, self._still, out=self._rows[:own])
        self._rows[own : own + len(rows)] = rows
        self._rows[own + len(rows) :] = PARKED
        table = self._pairs(self._rows, self._table)
        moving = table[self._of_moving]
        return _least(table), _least(moving) if len(moving) else NOBODY


def _least(table: Array) -> Near:
    return Near(float(table[:, AXIS_DISTANCE].min()), float(table[:, DISTANCE].min()))
