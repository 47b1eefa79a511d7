"""Many capsules against many, in one compiled call.

    pairs = Pairs(8, 14)                 8 capsules of an arm against 14 of a person
    table = pairs(rows)                  (112, 12): one `separation` a pair, in SIMD lanes
    pairs.least(rows)                    the nearest pair: (i, j, distance)

`rows` (8 + 14, 13) holds the first capsules, then the second ones, in the layout of shapes.ROW.  `more` adds pairs of
rows, such as capsules of the arm that must not meet each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra import Table, trace
from ..compile import compiled
from .distance import DISTANCE, pair_of_rows
from .shapes import ROW

Array = NDArray[np.float64]


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
