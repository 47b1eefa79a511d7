"""Table: one Program over many pairs (or triples, ...) of rows of one array, as data.

    rows (m, w)  ->  for each k: program(rows[first[k]], rows[second[k]], ..., shared...)  ->  outputs (count, ...)

The program's first inputs all have shape (w,); input number j takes row `indices[j][k]` at entry k.  What inputs it has
beyond those is shared by all entries.  A backend may run the entries in SIMD lanes: they do not depend on each other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from .program import Port, Program

if TYPE_CHECKING:
    from .count import Count


@dataclass(frozen=True, eq=False)
class Table:
    """A Program, and which rows of an array each of its evaluations takes."""

    program: Program
    rows: int  # of the array
    indices: tuple[tuple[int, ...], ...]  # one tuple an input of the program that takes rows, all equally long

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.indices}
        if not 0 < len(self.indices) <= len(self.program.inputs) or len(lengths) != 1 or 0 in lengths:
            raise ShapeError(
                f"a table needs 1 to {len(self.program.inputs)} columns of indices, equally long and not empty; "
                f"got lengths {[len(column) for column in self.indices]}"
            )
        ports = self.program.inputs[: len(self.indices)]
        if len({p.shape for p in ports}) != 1 or len(ports[0].shape) != 1:
            raise ShapeError(f"the inputs that take rows must have one shape (w,); got {[p.shape for p in ports]}")
        for column in self.indices:
            for k in column:
                if not 0 <= k < self.rows:
                    raise ShapeError(f"an index of the table must be from 0 to {self.rows - 1}; got {k}")

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def entries(self) -> int:
        """How many evaluations."""
        return len(self.indices[0])

    @property
    def inputs(self) -> tuple[Port, ...]:
        """One array of rows, then what is shared."""
        return (Port("rows", (self.rows, *self.program.inputs[0].shape)), *self.shared)

    @property
    def shared(self) -> tuple[Port, ...]:
        """The program's inputs that are the same for all entries."""
        return self.program.inputs[len(self.indices) :]

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The program's outputs with a leading axis over the entries."""
        return tuple(Port(p.name, (self.entries, *p.shape)) for p in self.program.outputs)

    @property
    def count(self) -> Count:
        """The operations of one entry."""
        return self.program.count

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(repr((self.program.digest, self.rows, self.indices)).encode()).hexdigest()

    def evaluate(self, rows: ArrayLike, *shared: ArrayLike) -> Any:
        """The outputs for one array of rows and what is shared, slowly; see `Program.evaluate`."""
        array = np.asarray(rows, dtype=float)
        if array.shape != self.inputs[0].shape:
            raise ShapeError(f"{self.name}: rows must have shape {self.inputs[0].shape}; got {array.shape}")
        same = [np.broadcast_to(np.asarray(x, float), (self.entries, *np.shape(x))) for x in shared]
        return self.program.evaluate(*(array[list(column)] for column in self.indices), *same)
