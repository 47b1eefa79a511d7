"""GDA's inertia matrix step by step: where the two published counts and ours differ.

The GDA paper's figure is the sum of the authors' count sheet, which goes line by line through their code.  The thesis
prints a sum alone, 6n² multiplications and 5n² + 2n additions less.  It is the sum of the same sheet with the sign of
n² turned round in the two lines that the loop over the joints ends with (the force that is summed, the projection on
the axis), and without the 2n additions of the last joint's row.  The authors' sheet of the centrifugal matrix has
those two signs turned round as well.  A negative number of operations is no count: docs/errata.md.

    pairs i >= j of a link and a joint      n(n + 1)/2, without the last joint's row n(n - 1)/2

Ours takes the links from a joint outwards as one body where the sum over links comes first (elbowroom.dynamics.gda).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra.polynomial import Polynomial


@dataclass(frozen=True)
class Operations:
    """Multiplications and additions, from 3 joints on."""

    mul: Polynomial
    add: Polynomial

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.mul + other.mul, self.add + other.add)


@dataclass(frozen=True)
class Step:
    """One step of the algorithm, in the three counts."""

    name: str
    paper: Operations
    thesis: Operations
    ours: Operations
    how: str  # ours


def _step(
    name: str, paper: tuple[str, str], ours: tuple[str, str], how: str, thesis: tuple[str, str] | None = None
) -> Step:
    def read(counts: tuple[str, str]) -> Operations:
        return Operations(*(Polynomial.read(count) for count in counts))

    return Step(name, read(paper), read(paper if thesis is None else thesis), read(ours), how)


GDA_INERTIA: tuple[Step, ...] = (
    _step(
        "centre of mass of a link",
        ("9n", "9n"),
        ("9n - 9", "9n - 9"),
        "the first link turns about its own axis alone and needs none",
    ),
    _step(
        "tensor of a link, turned (Algorithm 2.2)",
        ("28n", "21n"),
        ("28n - 28", "21n - 21"),
        "nor a tensor",
    ),
    _step(
        "moment by the tensor, U (23)",
        ("4.5n^2 + 4.5n", "3n^2 + 3n"),
        ("1.5n^2 + 10.5n", "1.5n^2 + 13.5n - 12"),
        "tensors are summed, and multiplied by the row's own axis once; then an inner product a pair",
    ),
    _step(
        "acceleration of a centre of mass, C (19)",
        ("3n^2 + 3n", "3n^2 + 3n"),
        ("3n^2 + 9n - 18", "3n^2 + 6n - 12"),
        "of the common centre of the links beyond, which takes 6 and 3 a link",
    ),
    _step(
        "force, summed inwards",
        ("1.5n^2 + 1.5n", "1.5n^2 - 1.5n"),
        ("0", "0"),
        "their common mass is in the levers, once a joint",
        thesis=("-1.5n^2 + 1.5n", "-1.5n^2 - 1.5n"),
    ),
    _step(
        "moment of the force, carried inwards (27)",
        ("7.5n^2 + 1.5n", "7.5n^2 + 1.5n - 3"),
        ("4.5n^2 + 7.5n - 9", "4n^2 + n - 6"),
        "one cross product a pair; the other is an inner product with z x r, made once a joint",
    ),
    _step(
        "part along the axis (30)",
        ("1.5n^2 + 1.5n", "n^2 + n"),
        ("1.5n^2 - 1.5n", "1.5n^2 - 1.5n + 1"),
        "nothing is carried to the last joint; the first link's constant is added",
        thesis=("-1.5n^2 + 1.5n", "-n^2 - n"),
    ),
)
"""Ours are `shared`, kinematics apart."""


def in_all(which: str, steps: tuple[Step, ...] = GDA_INERTIA) -> Operations:
    """The sum over the steps of one of `paper`, `thesis`, `ours`."""
    zero = Operations(Polynomial(), Polynomial())
    return sum((getattr(step, which) for step in steps), start=zero)
