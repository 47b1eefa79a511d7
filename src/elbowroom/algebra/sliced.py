"""A matrix that is linear in an input, once for every unit vector of it: an array of three axes, its loops kept.

    out[i, j, k] = out[i, k, j] = matrix(..., unit vector k)[i, j],    j <= k

of a Rolled whose slices are symmetric in their last axis and the number of the slice, as Christoffel symbols are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .looped import Rolled
from .program import Count, Port, Program


@dataclass(frozen=True, eq=False)
class Sliced:
    """A Rolled, and the input that takes unit vectors."""

    name: str
    rolled: Rolled
    by: str
    straight: Callable[[], Program]  # the same function without loops

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The Rolled's but that one."""
        return tuple(port for port in self.rolled.inputs if port.name != self.by)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """All slices in one array."""
        return (Port(self.name, (self.rolled.joints,) * 3),)

    @property
    def count(self) -> Count:
        """The operations of all slices."""
        one, n = self.rolled.count, self.rolled.joints
        return Count(**{what: n * getattr(one, what) for what in Count.__dataclass_fields__})

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(repr(("sliced", self.name, self.rolled.digest, self.by)).encode()).hexdigest()

    def jacobian(self, *of: str, value: bool = False) -> Program:
        """`Program.jacobian` of the same function without loops."""
        return self.straight().jacobian(*of, value=value)

    def vjp(self, *of: str) -> Program:
        """`Program.vjp` of the same function without loops."""
        return self.straight().vjp(*of)

    def jvp(self, *of: str) -> Program | Sliced:
        """`Program.jvp`, with the loops kept."""
        product = self.rolled.jvp(*(of or (port.name for port in self.inputs)))
        if self.by in of or not isinstance(product, Rolled):
            return self.straight().jvp(*of)
        return Sliced(f"{self.name}_dot", product, self.by, lambda: self.straight().jvp(*of))

    @property
    def sparsity(self) -> dict[tuple[str, str], Any]:
        """`Program.sparsity` of the same function without loops."""
        return self.straight().sparsity

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """The array by the straight-line Program of the same function; see `Program.evaluate`."""
        return self.straight().evaluate(*args, **named)

    def __str__(self) -> str:
        text = str(self.rolled).replace("\n", "\n    ")
        return f"for every unit vector {self.by}:\n    {text}"
