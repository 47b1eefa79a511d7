"""Repeated: one Program run a fixed number of times, as data.

    x, y = program(x, y, a, b)      times over: outputs that have the name and shape of an input are fed back into it

The other inputs (a, b) are the same in every turn.  The outputs are those of the last turn.  A backend keeps the loop,
so its code stays as short as that of the program.  Every turn computes the whole program: what follows from the inputs
that stay the same is better computed before, by a program of its own.
"""

from __future__ import annotations

import hashlib
import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..errors import ShapeError
from .count import Count
from .program import Port, Program


@dataclass(frozen=True, eq=False)
class Repeated:
    """A Program, and how often it is run on what it returned."""

    program: Program
    times: int

    def __post_init__(self) -> None:
        try:
            times = operator.index(self.times)
        except TypeError:
            times = 0
        if times < 1 or isinstance(self.times, bool):
            raise ValueError(f"{self.name}: times must be a whole number, at least 1; got {self.times!r}")
        object.__setattr__(self, "times", times)
        inputs = {p.name: p for p in self.inputs}
        for port in self.outputs:
            if port.name in inputs and port.shape != inputs[port.name].shape:
                raise ShapeError(
                    f"{self.name}: {port.name} is fed back, so its shape as an output must be that as an input, "
                    f"{inputs[port.name].shape}; got {port.shape}"
                )
        if not self.fed:
            raise ShapeError(
                f"{self.name}: one output at least must have the name of an input, to be fed back; "
                f"got outputs {', '.join(p.name for p in self.outputs)} and inputs {', '.join(inputs) or 'none'}"
            )

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The program's: what is fed back as it is before the first turn, and what stays the same."""
        return self.program.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The program's, after the last turn."""
        return self.program.outputs

    @cached_property
    def fed(self) -> tuple[Port, ...]:
        """The outputs that are fed back."""
        inputs = {p.name for p in self.inputs}
        return tuple(p for p in self.outputs if p.name in inputs)

    @property
    def count(self) -> Count:
        """The operations of all turns."""
        one = self.program.count
        return Count(**{what: self.times * getattr(one, what) for what in Count.__dataclass_fields__})

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(repr(("repeated", self.program.digest, self.times)).encode()).hexdigest()

    def evaluate(self, *args: ArrayLike, dtype: DTypeLike = np.float64, **named: ArrayLike) -> Any:
        """The outputs after the last turn, slowly; see `Program.evaluate`."""
        values: dict[str, Any] = dict(self.program._bind(args, named, dtype))
        found: Any = None
        for _ in range(self.times):
            found = self.program.evaluate(dtype=dtype, **values)
            results = found if len(self.outputs) > 1 else {self.outputs[0].name: found}
            values |= {p.name: results[p.name] for p in self.fed}
        return found

    def __str__(self) -> str:
        head, *lines, end = str(self.program).splitlines()
        steps, results = lines[: -len(self.outputs)], lines[-len(self.outputs) :]
        together = [", ".join(part) for part in zip(*(line.strip().split(" = ", 1) for line in results), strict=True)]
        turn = ["    " + line for line in (*steps, f"    {together[0]} = {together[1]}")]
        return "\n".join([head, f"    for _ in range({self.times}):", *turn, end])
