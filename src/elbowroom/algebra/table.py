"""Table: one Program over many pairs (or triples, ...) of rows of one array, as data.

    rows (m, w)  ->  for each k: program(rows[first[k]], rows[second[k]], ..., shared...)  ->  outputs (count, ...)

The program's first inputs all have shape (w,); input number j takes row `indices[j][k]` at entry k.  What inputs it has
beyond those is shared by all entries.  A backend may run the entries in SIMD lanes: they do not depend on each other.

Where `rows` is a tuple, every one of those inputs has an array of its own, of so many rows, under its own name.

What `columns` names, inputs beyond those and outputs, has one entry a column, (w, padded): lanes that lie side by side
are read and written as they are.  `padded` is the number of entries, rounded up; the columns beyond repeat the last, of
an input too where an output is by rows: it is written from them as well.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from .program import Count, Port, Program

WIDEST = 8  # lanes


def padded(entries: int) -> int:
    """How many columns there are for so many entries."""
    return -(-entries // WIDEST) * WIDEST


@dataclass(frozen=True, eq=False)
class Table:
    """A Program, and which rows of an array each of its evaluations takes."""

    program: Program
    rows: int | tuple[int, ...]  # of the array, or of one for each of those inputs
    indices: tuple[tuple[int, ...], ...]  # one tuple an input of the program that takes rows, all equally long
    columns: tuple[str, ...] = ()  # names
    over: int = 0  # entries, of a table that takes columns alone
    places: tuple[int, ...] = ()  # the row of an output that each entry fills, where that is not its own number

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.indices} or {self.over}
        alone = bool(self.columns) and self.over > 0 and self.apart
        few = 0 if alone else 1
        if not few <= len(self.indices) <= len(self.program.inputs) or len(lengths) != 1 or 0 in lengths:
            raise ShapeError(
                f"a table needs 1 to {len(self.program.inputs)} columns of indices, equally long and not empty; "
                f"got lengths {[len(column) for column in self.indices]}"
            )
        ports = self.program.inputs[: len(self.indices)]
        if any(len(p.shape) != 1 for p in ports) or (len({p.shape for p in ports}) != 1 and not self.apart):
            raise ShapeError(f"the inputs that take rows must have one shape (w,); got {[p.shape for p in ports]}")
        if self.places and (len(self.places) != self.entries or set(self.places) != set(range(self.filled))):
            raise ShapeError(f"places must be {self.entries} rows of an output, none left out; got {self.places!r:.60}")
        for column, rows in zip(self.indices, self._rows, strict=True):
            for k in column:
                if not 0 <= k < rows:
                    raise ShapeError(f"an index of the table must be from 0 to {rows - 1}; got {k}")

    @property
    def apart(self) -> bool:
        """Whether every input that takes rows has an array of its own."""
        return isinstance(self.rows, tuple)

    @property
    def _rows(self) -> tuple[int, ...]:
        return self.rows if isinstance(self.rows, tuple) else (self.rows,) * len(self.indices)

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def entries(self) -> int:
        """How many evaluations."""
        return len(self.indices[0]) if self.indices else self.over

    @property
    def filled(self) -> int:
        """How many rows an output has."""
        return max(self.places) + 1 if self.places else self.entries

    def uniform(self, lanes: int) -> set[str]:
        """The inputs that take the same row in all of so many neighbouring entries, wherever those begin."""
        last = self.entries - 1
        blocks = [[min(k + lane, last) for lane in range(lanes)] for k in range(0, self.entries, lanes)]
        taking = zip(self.program.inputs, self.indices, strict=False)
        return {p.name for p, column in taking if all(len({column[k] for k in block}) == 1 for block in blocks)}

    @property
    def padded(self) -> int:
        """How many columns."""
        return padded(self.entries)

    @property
    def _rest(self) -> tuple[Port, ...]:
        """The program's inputs that take no rows."""
        return self.program.inputs[len(self.indices) :]

    @property
    def inputs(self) -> tuple[Port, ...]:
        """One array of rows, or several, then what is shared."""
        ports = zip(self.program.inputs, self._rows, strict=False)
        if self.apart:
            taking = [Port(p.name, (rows, *p.shape)) for p, rows in ports]
        else:
            taking = [Port("rows", (self._rows[0], *self.program.inputs[0].shape))]
        rest = (Port(p.name, (p.size, self.padded)) if p.name in self.columns else p for p in self._rest)
        return (*taking, *rest)

    @property
    def shared(self) -> tuple[Port, ...]:
        """The program's inputs that are the same for all entries."""
        return tuple(p for p in self._rest if p.name not in self.columns)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The program's outputs with a leading axis over the entries, or as columns."""
        return tuple(
            Port(p.name, (p.size, self.padded) if p.name in self.columns else (self.filled, *p.shape))
            for p in self.program.outputs
        )

    @property
    def count(self) -> Count:
        """The operations of one entry."""
        return self.program.count

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(
            repr((self.program.digest, self.rows, self.indices, self.columns, self.entries, self.places)).encode()
        ).hexdigest()

    def evaluate(self, *given: ArrayLike) -> Any:
        """The outputs for the arrays of rows and what is shared, slowly; see `Program.evaluate`."""
        arrays = [np.asarray(x, dtype=float) for x in given]
        for port, array in zip(self.inputs, arrays, strict=False):
            if array.shape != port.shape and port not in self.shared:
                raise ShapeError(f"{self.name}: {port.name} must have shape {port.shape}; got {array.shape}")
        count = len(self.indices) if self.apart else 1
        each = arrays[:count] if self.apart else arrays[:1] * len(self.indices)
        taken = [array[list(column)] for array, column in zip(each, self.indices, strict=True)]
        for port, array in zip(self._rest, arrays[count:], strict=True):
            column = port.name in self.columns
            taken.append(array.T[: self.entries] if column else np.broadcast_to(array, (self.entries, *array.shape)))
        found = self.program.evaluate(*taken)
        if isinstance(found, dict):
            return {name: self._shaped(name, x) for name, x in found.items()}
        return self._shaped(self.program.outputs[0].name, found)

    def _shaped(self, name: str, found: Any) -> Any:
        """An output of all entries, as columns if it is such."""
        if name not in self.columns:
            return found[np.argsort(self.places)[-self.filled :]] if self.places else found
        return np.pad(found.reshape(self.entries, -1), ((0, self.padded - self.entries), (0, 0)), mode="edge").T
