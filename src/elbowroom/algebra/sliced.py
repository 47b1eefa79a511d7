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

from ..errors import ModelError
from .derivatives import MOST_OPERATIONS, named_inputs
from .looped import Rolled
from .program import Count, Port, Program

MOST_GIVEN = 35_000
"""Numbers that a derivative may be given: operations on as many take as long to compile as `MOST_OPERATIONS`."""


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
        """`Program.vjp` of the same function without loops; refused if that is too long."""
        by = ", ".join(repr(port.name) for port in named_inputs(self, of))
        assert self.rolled.straight is not None  # `roll` gives it
        given = self.outputs[0].size + sum(port.size for port in self.inputs)
        about = self.rolled.straight().count.total * self.rolled.joints * 4 // 5  # so of random chains, less of planar
        if given <= MOST_GIVEN and about <= 4 * MOST_OPERATIONS:  # beyond that, tracing all slices takes long, too
            about = self.straight().count.total * 5 // 2  # so of random chains, more of planar
        if given <= MOST_GIVEN and about <= MOST_OPERATIONS:
            product = self.straight().vjp(*of)
            about = product.count.total
            if about <= MOST_OPERATIONS:
                return product
        raise ModelError(
            f"{self.name}: vjp({by}): expected up to {MOST_OPERATIONS:,} operations in a straight line, on up to "
            f"{MOST_GIVEN:,} numbers, some ten seconds to compile; for {self.rolled.joints} joints there are about "
            f"{about:,} and {given:,}; jvp({by}) keeps the loops and gives products with a vector"
        )

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
