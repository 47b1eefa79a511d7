"""Operation counts of a method on a chain of n revolute joints: traced for small n, a polynomial from there on.

The first joints meet a standing base and the last ones a bare tip, so a count becomes a polynomial only from some n on.
`cost` looks for the least such n and degree: the polynomial goes through degree + 1 counts exactly (Fractions) and must
meet the two beyond them.  Tracing Lagrange-Euler for 30 joints would take too long.

`tensor_rotations` counts the three ways to turn a symmetric tensor (thesis, Appendix I).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from .. import dynamics
from ..algebra import Graph, Program, trace
from ..algebra.linalg import Array, matrix
from ..algebra.polynomial import Polynomial, through
from ..algebra.program import Count
from ..algebra.tensors import PrincipalForm, rotate_featherstone, rotate_naive, rotate_principal
from ..errors import UnknownNameError
from ..model import Model
from ..model.symbolic import symbolic


class _Symbols:
    """What a trace takes its graph from."""

    def __init__(self) -> None:
        self.graph = Graph(share=False)


def tensor_rotations() -> dict[str, Count]:
    """The count of R I R^T by each of them, as written; the thesis' way has its form made offline."""

    def offline(symbols: _Symbols, R: Array) -> Array:
        def known(name: str) -> Any:
            return symbols.graph.input(name, parameter=True)

        Q = matrix([[known(f"Q{i}{k}") for k in range(2)] for i in range(3)])
        return rotate_principal(R, PrincipalForm(known("lambda3"), known("trace"), Q))

    def online(way: Any) -> Any:
        return lambda _, R, tensor: way(R, tensor)

    both, alone = {"R": (3, 3), "tensor": (3, 3)}, {"R": (3, 3)}
    return {
        "naive": trace(online(rotate_naive), _Symbols(), both).count,
        "featherstone": trace(online(rotate_featherstone), _Symbols(), both).count,
        "thesis": trace(offline, _Symbols(), alone).count,
    }


COUNTINGS = ("as_written", "shared", "customised")
KINDS = ("mul", "add", "div", "sqrt", "sincos", "other")
"""What is fitted.  Negations are free, and alternate with the signs of right-angled twists."""

FIRST = 3  # joints from which the papers' own polynomials hold
LAST = 12  # joints that are traced at most in search of a polynomial
VERIFIED = 2  # counts beyond those it is fitted to that a polynomial must meet


@dataclass(frozen=True)
class Cost:
    """What one method costs, under one condition, counted in one way."""

    quantity: str
    method: str
    condition: str
    kinematics: bool
    counting: str
    since: int | None  # joints from which the polynomials hold; None: no polynomial was found
    polynomials: dict[str, Polynomial] = field(default_factory=dict)

    def at(self, n: int) -> Count:
        """The count for n joints: of the polynomials where they hold (no negations then), else traced."""
        if self.since is None or n < self.since:
            return general(self.quantity, self.method, n, self.condition, self.kinematics, self.counting)
        return Count(**{kind: int(polynomial(n)) for kind, polynomial in self.polynomials.items()})

    @property
    def total(self) -> Polynomial | None:
        """Multiplications, additions and divisions; roots and sines stand apart, as in the papers."""
        if self.since is None:
            return None
        return self.polynomials["mul"] + self.polynomials["add"] + self.polynomials["div"]


def counted(quantity: str = "") -> Iterator[tuple[str, str]]:
    """Every (quantity, method) of the registry that depends on the arm's pose, or those of one quantity."""
    for name in (dynamics.quantity(quantity).name,) if quantity else dynamics.REGISTRY:
        what = dynamics.quantity(name)
        if quantity or "q" in what.inputs:
            yield from ((name, method) for method in (*what.formulations, *what.variants))


@cache
def cost(
    quantity: str, method: str, condition: str = "general", kinematics: bool = True, counting: str = "shared"
) -> Cost:
    """The cost of a method; `kinematics=False` starts from ready link frames."""
    if kinematics is False and not needs_frames(quantity, method):
        kinematics = True  # the same program: it never asks for link frames
    counts: dict[int, Count] = {}

    def count(n: int) -> Count:
        if n not in counts:
            counts[n] = general(quantity, method, n, condition, kinematics, counting)
        return counts[n]

    for last in range(FIRST + VERIFIED, LAST + 1):
        for since in range(FIRST, last - VERIFIED + 1):
            found = _polynomials({n: count(n) for n in range(since, last + 1)})
            if found is None:
                continue
            while since > 1 and _meets(found, since - 1, count(since - 1)):
                since -= 1
            return Cost(quantity, method, condition, kinematics, counting, since, found)
    return Cost(quantity, method, condition, kinematics, counting, None)


def _polynomials(counts: dict[int, Count]) -> dict[str, Polynomial] | None:
    """The polynomial of every kind through all but the last two counts, if it meets those as well."""
    fitted, checked = list(counts)[:-VERIFIED], list(counts)[-VERIFIED:]
    found = {kind: through({n: getattr(counts[n], kind) for n in fitted}) for kind in KINDS}
    return found if all(_meets(found, n, counts[n]) for n in checked) else None


def _meets(polynomials: dict[str, Polynomial], n: int, count: Count) -> bool:
    return all(polynomial(n) == getattr(count, kind) for kind, polynomial in polynomials.items())


@cache
def general(quantity: str, method: str, n: int, condition: str, kinematics: bool, counting: str) -> Count:
    """The count of one traced chain of n revolute joints with symbols for its parameters."""
    if counting not in COUNTINGS[:2]:
        raise UnknownNameError(f"counting must be one of {', '.join(COUNTINGS[:2])}; got {counting!r}")
    share = counting == "shared"
    return dynamics.program(symbolic("R" * n, condition, share=share, frames=not kinematics), quantity, method).count


@cache
def needs_frames(quantity: str, method: str) -> bool:
    """Whether a method works in the base frame, from the link frames that forward kinematics gives."""
    program = dynamics.program(symbolic("RRR", frames=True), quantity, method)
    return _reads_frames(program, quantity)


def _reads_frames(program: Program, quantity: str) -> bool:
    own = dynamics.quantity(quantity).inputs
    return any(op == "input" and rest[0][0] not in own for op, *rest in program.operations)


def customised(model: Model, quantity: str, method: str) -> Count:
    """The count with an arm's own constants folded in, its rotors and friction included where it has them.

    From joint angles on: ready link frames would hide the zeros that the arm's own twists leave in them.
    """
    return dynamics.program(model, quantity, method).count
