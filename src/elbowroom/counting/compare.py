"""Our counts beside the published ones: one row a method, condition, way of counting and number of joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..algebra.polynomial import Polynomial
from ..algebra.program import Count
from ..dynamics.published import Published, published
from ..model import Model
from .costs import COUNTINGS, Cost, cost, counted, customised, needs_frames

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class CountRow:
    """A count of ours and the strictest printed figure under the same conditions, if there is one."""

    quantity: str
    method: str
    condition: str  # "general", "orthogonal", or a robot's name where its constants are folded in
    kinematics: bool  # counted from joint angles on (else from ready link frames); a robot's own counts always
    n: int
    mul: int
    add: int
    div: int
    sqrt: int
    sincos: int
    published_mul: int | float | None
    published_add: int | float | None
    published_total: int | float | None
    published_in: str | None
    counting: str  # "as_written", "shared" or "customised"

    @property
    def total(self) -> int:
        """What a printed total is held against: divisions among the multiplications, roots and sines apart."""
        return self.mul + self.add + self.div

    @property
    def difference(self) -> int | float | None:
        """How much ours is above the printed total (below: negative)."""
        return None if self.published_total is None else self.total - self.published_total


def comparable(
    quantity: str, method: str, condition: str = "general", *, kinematics: bool = True
) -> tuple[Published, ...]:
    """The figures that count the same thing.  A method that never asks for link frames costs the same either way."""
    found = published(quantity, method, condition)
    if not found or not needs_frames(quantity, method):
        return found
    return tuple(p for p in found if p.kinematics == kinematics)


def strictest(figures: Iterable[Published], n: int) -> Published | None:
    """The least of the printed totals at n; the first of equal ones."""
    return min((p for p in figures if p.printed), key=lambda p: p.total(n), default=None)


def general_rows(
    numbers: Sequence[int],
    conditions: Sequence[str] = ("general", "orthogonal"),
    quantity: str = "",
    countings: Sequence[str] = COUNTINGS[:2],
    progress: Progress | None = None,
) -> Iterator[CountRow]:
    """Rows for chains of revolute joints with symbols for their parameters."""
    for one in costs(conditions, quantity, countings, progress):
        figures = comparable(one.quantity, one.method, one.condition, kinematics=one.kinematics)
        for n in numbers:
            yield _row(one.quantity, one.method, one.condition, one.kinematics, n, one.at(n), one.counting, figures)


def costs(
    conditions: Sequence[str],
    quantity: str = "",
    countings: Sequence[str] = COUNTINGS[:2],
    progress: Progress | None = None,
) -> Iterator[Cost]:
    """The cost of every method, kinematics apart and included; the same cost under both names where it is the same."""
    asked = [
        (name, method, condition, kinematics, counting)
        for condition in conditions
        for name, method in counted(quantity)
        for kinematics in (False, True)
        for counting in countings
    ]
    for k, (name, method, condition, kinematics, counting) in enumerate(asked):
        if progress is not None:
            progress(k, len(asked), f"{name}, {method}")
        found = cost(name, method, condition, kinematics, counting)
        yield Cost(name, method, condition, kinematics, counting, found.since, found.polynomials)


def customised_rows(model: Model, quantity: str = "", progress: Progress | None = None) -> Iterator[CountRow]:
    """Rows for one arm, kinematics included; without printed figures, which are of a general chain."""
    asked = list(counted(quantity))
    for k, (name, method) in enumerate(asked):
        if progress is not None:
            progress(k, len(asked), f"{name}, {method}")
        yield _row(name, method, model.name, True, model.n, customised(model, name, method), "customised", ())


def _row(
    quantity: str,
    method: str,
    condition: str,
    kinematics: bool,
    n: int,
    count: Count,
    counting: str,
    figures: Sequence[Published],
) -> CountRow:
    best = strictest(figures, n)
    return CountRow(
        quantity=quantity,
        method=method,
        condition=condition,
        kinematics=kinematics,
        n=n,
        mul=count.mul,
        add=count.add,
        div=count.div,
        sqrt=count.sqrt,
        sincos=count.sincos,
        published_mul=None if best is None else _number(best.mul, n),
        published_add=None if best is None else _number(best.add, n),
        published_total=None if best is None else _number(best.total, n),
        published_in=None if best is None else ", ".join(p.where for p in figures if _same(p, best)),
        counting=counting,
    )


def _same(p: Published, best: Published) -> bool:
    return p.printed and (p.mul, p.add, p.total) == (best.mul, best.add, best.total)


def _number(polynomial: Polynomial | None, n: int) -> int | float | None:
    if polynomial is None:
        return None
    value: Fraction = polynomial(n)
    return int(value) if value.denominator == 1 else float(value)
