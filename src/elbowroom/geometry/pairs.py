"""Many capsules against many, in one compiled call.

    pairs = Pairs(8, 14)                 8 capsules of an arm against 14 of a person
    table = pairs(rows)                  (112, 12): one `separation` a pair, in SIMD lanes
    pairs.least(rows)                    the nearest pair: (i, j, distance)

`rows` (8 + 14, 13) holds the first capsules, then the second ones, in the layout of shapes.ROW.  `more` adds pairs of
rows, such as capsules of the arm that must not meet each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra import Table, trace
from ..compile import cpu
from .distance import DISTANCE, pair_row
from .shapes import ROW

Array = NDArray[np.float64]


class Least(NamedTuple):
    """The nearest pair: the numbers of its two rows, and the distance of their surfaces (m)."""

    first: int
    second: int
    distance: float


class Pairs:
    """A fixed set of pairs of capsule rows, compiled."""

    def __init__(self, first: int, second: int = 0, more: Iterable[tuple[int, int]] = ()) -> None:
        self.pairs = (*((i, first + j) for i in range(first) for j in range(second)), *more)
        self.rows = first + second
        if not self.pairs:
            raise ValueError(f"there must be a pair at least; got {first} and {second} rows and no more")
        columns = tuple(zip(*self.pairs, strict=True))

        def make() -> tuple[str, Table]:
            def row(_: Any, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
                return pair_row(x, y)

            program = trace(row, None, {"x": (ROW,), "y": (ROW,)}, name="separations", output="separations")
            return "separations", Table(program, self.rows, columns)

        self.kernel = cpu.kernel(("geometry pairs", self.rows, repr(columns)), float, make)

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
