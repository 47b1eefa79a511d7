"""Rolled: a recursion over joints as data, its steps traced once each, its loops kept (rolling.py makes it).

Every loop has one small Program a kind of joint, over columns of numbers, one number a joint.  Names in it:

    t3      a column of constants               v.s3            the column s3 of another joint i (in pairs, at joint j)
    s3      a column that some loop writes      forth, back     the elements (j, i) and (i, j) of the matrix
    k.3     what a recursion carries            d               element (i, i), before and after
    q, ...  an input
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .count import Count
from .program import Port, Program


@dataclass(frozen=True)
class Loop:
    """One loop: its form, a Program a kind of joint, and what a recursion starts from."""

    form: str
    bodies: tuple[Program, ...]
    carried: tuple[tuple[str, float], ...] = ()  # of a scan: name and first value
    born: tuple[tuple[str, str | float], ...] = ()  # of pairs: the column that moves, and where it is born


@dataclass(frozen=True, eq=False)
class Rolled:
    """Loops over the joints of a chain: named, shaped inputs -> named, shaped outputs, as a Program."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    joints: int
    kinds: tuple[int, ...]  # of every joint
    constants: dict[str, tuple[float, ...]]  # t columns
    written: tuple[str, ...]  # s columns
    loops: tuple[Loop, ...]
    vector: str = ""  # the column that is the output, where it is one number a joint
    straight: Callable[[], Program] | None = None  # the same function without loops

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        loops = [(x.form, [b.digest for b in x.bodies], x.carried, x.born) for x in self.loops]
        rest = (self.inputs, self.outputs, self.kinds, self.constants, self.written, self.vector)
        return hashlib.sha256(repr((rest, loops)).encode()).hexdigest()

    @property
    def count(self) -> Count:
        """The operations of all turns of all loops, those of pairs n (n + 1) / 2 times."""
        total = dict.fromkeys(Count.__dataclass_fields__, 0)
        for loop in self.loops:
            for i, kind in enumerate(self.kinds):
                for what in total:
                    times = self.joints - i if loop.form == "pairs" else 1
                    total[what] += times * getattr(loop.bodies[kind].count, what)
        return Count(**total)

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """The outputs by the straight-line Program of the same function; see `Program.evaluate`."""
        assert self.straight is not None  # `roll` gives it
        return self.straight().evaluate(*args, **named)

    def __str__(self) -> str:
        lines = [f"def {self.name}({', '.join(f'{p.name}: {p.shape}' for p in self.inputs)}):"]
        for loop in self.loops:
            for kind, body in enumerate(loop.bodies):
                lines.append(f"    for joints of kind {kind}, {loop.form}:")
                lines += ["    " + line for line in str(body).splitlines()[1:-1]]
        return "\n".join(lines)
