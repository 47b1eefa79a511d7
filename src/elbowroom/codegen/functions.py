"""What is asked for, checked, and traced: a C function a quantity."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from .. import dynamics
from ..arm import Arm
from ..compile.source import Dialect, Source, identifier
from ..errors import ElbowroomError

NAMES = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"""
HEADERS = frozenset(NAMES.split())
"""Headers of C, which a header of ours would hide."""


@dataclass(frozen=True)
class Function:
    """One C function: a quantity of the arm by a method."""

    name: str  # in C
    quantity: str
    method: str
    unit: str
    wrench: str  # "", or where outside wrenches act: "tool", "links"
    source: Source

    @property
    def signature(self) -> str:
        """What the header declares."""
        return self.source.signature(self.name)


T = TypeVar("T", bound=str)


def functions_of(
    arm: Arm, quantities: Iterable[str], dialect: Dialect, prefix: str, method: str | None, wrench: str
) -> tuple[Function, ...]:
    """A function for each quantity, by the method that is named or by the cheapest for this arm."""
    names = [quantities] if isinstance(quantities, str) else list(dict.fromkeys(quantities))
    if not names:
        raise ElbowroomError(f"quantities: expected at least one of {', '.join(dynamics.REGISTRY)}; got none")
    one_of("wrench", wrench, "", "tool", "links")
    made = []
    for quantity in names:
        what = dynamics.quantity(quantity)
        at = wrench if what.wrench else ""
        if method is None:
            chosen, program = dynamics.cheapest(arm.model, quantity, wrench=at)
        else:
            chosen, program = method, dynamics.program(arm.model, quantity, method, wrench=at)
        made.append(Function(f"{prefix}_{quantity}", quantity, chosen, what.unit, at, Source(program, dialect)))
    if wrench and not any(f.wrench for f in made):
        raise ElbowroomError(f"wrench: none of {', '.join(names)} takes outside wrenches; leave it out")
    return tuple(made)


def prefix_of(arm: str, name: str | None) -> str:
    """What files and functions begin with: the name that was asked for, else the arm's as C takes it."""
    prefix = identifier(arm)
    if name is None:
        return f"{prefix}_arm" if prefix.lower() in HEADERS else prefix
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,59}", name):
        raise ElbowroomError(
            f"name: expected at most 60 letters, digits and _, a letter first, for files and C functions; got {name!r}"
        )
    if name.lower() in HEADERS:
        raise ElbowroomError(f"name: {name}.h would hide a header of C; take another")
    return name


def one_of(name: str, value: T, *known: str) -> T:
    """The value, if it is one of the known ones."""
    if value not in known:
        raise ElbowroomError(f"{name}: expected one of {', '.join(map(repr, known))}; got {value!r}")
    return value
