"""Many capsules against many, in one compiled call; and how near an arm is to a set of capsules.

    pairs = Pairs(8, 14)                 8 capsules of an arm against 14 of a person
    table = pairs(rows)                  (112, 12): one `separation` a pair, in SIMD lanes
    pairs.least(rows)                    the nearest pair: (i, j, distance)

`rows` (8 + 14, 13) holds the first capsules, then the second ones, in the layout of shapes.ROW.  `more` adds pairs of
rows, such as capsules of the arm that must not meet each other.

    clearance = Clearance(Body(arm))
    whole, moving = clearance.of(q, rows)      rows (k, 13) of people: least distances of the body, of what moves of it

Capsules of the fixed base count for `whole` alone: a person who leans against a column has not been touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra import Table, trace
from ..compile import compiled
from ..model.capsules import BASE
from .body import Body
from .distance import AXIS_DISTANCE, DISTANCE, pair_of_rows
from .shapes import PARKED, ROW

Array = NDArray[np.float64]
PERSON = 14
"""Capsules that there is room for from the start: one person's."""


class Least(NamedTuple):
    """The nearest pair: the numbers of its two rows, and the distance of their surfaces (m)."""

    first: int
    second: int
    distance: float


def _separations(subject: tuple[int, tuple[tuple[int, ...], ...]]) -> Table:
    """The table for this many rows, with columns of the first and of the second of every pair."""
    program = trace(pair_of_rows, None, {"x": (ROW,), "y": (ROW,)}, name="separations", output="separations")
    return Table(program, *subject)


class Pairs:
    """A fixed set of pairs of capsule rows, compiled."""

    def __init__(self, first: int, second: int = 0, more: Iterable[tuple[int, int]] = ()) -> None:
        self.pairs = (*((i, first + j) for i in range(first) for j in range(second)), *more)
        self.rows = first + second
        if not self.pairs:
            raise ValueError(f"there must be a pair at least; got {first} and {second} rows and no more")
        self.kernel = compiled(_separations, (self.rows, tuple(zip(*self.pairs, strict=True))))

    def __len__(self) -> int:
        return len(self.pairs)

    def __call__(self, rows: Array, out: Array | None = None) -> Array:
        """(P, 12): a row of `separation` a pair; (B, P, 12) for (B, rows, 13)."""
        return self.kernel(rows) if out is None else self.kernel(rows, out=out)

    def least(self, rows: Array) -> Least:
        """The nearest pair."""
        table = self(rows)
        k = int(table[:, DISTANCE].argmin())
        return Least(*self.pairs[k], float(table[k, DISTANCE]))


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
        own = len(self._moving)
        self._rows = np.tile(PARKED, (own + capsules, 1))
        self._pairs = Pairs(own, capsules) if own and capsules else None
        self._table = np.empty((0, 0)) if self._pairs is None else self._pairs.kernel.empty()
        self._of_moving = np.repeat(self._moving, capsules)

    def of(self, q: Array, rows: Array) -> tuple[Near, Near]:
        """At q (n,) from rows (k, 13): of all capsules of the body, and of those that move; infinite without any."""
        own = len(self._moving)
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

    def of_rows(self, q: Array, rows: Array) -> Array:
        """(B, k) m: at each q (B, n), from each of its rows (B, k, 13), of what moves; infinite where nothing does."""
        own, (batch, count) = len(self._moving), rows.shape[:2]
        if len(self._rows) - own < count:
            self._room(count)
        room = len(self._rows) - own
        if self._pairs is None or not count or not self._moving.any():
            return np.full((batch, count), math.inf)
        every = np.empty((batch, own + room, ROW))
        every[:, :own] = self._body.kernel.general(q, np.zeros_like(q))
        every[:, own : own + count] = rows
        every[:, own + count :] = PARKED
        apart = self._pairs.kernel.general(every)[:, :, DISTANCE].reshape(batch, own, room)
        least: Array = apart[:, self._moving, :count].min(axis=1)
        return least


def _least(table: Array) -> Near:
    return Near(float(table[:, AXIS_DISTANCE].min()), float(table[:, DISTANCE].min()))
