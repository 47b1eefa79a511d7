"""Our counts beside the published ones: a row for each method and number of joints; which is lower, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..algebra.polynomial import Polynomial, shown
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


# ---- which is lower, and why

RANGE = range(3, 31)  # joints over which counts are compared; the papers' polynomials hold from 3 on

REASONS: dict[tuple[str, str], str] = {
    ("mass_matrix", "crba"): (
        "Both work in link frames from the joint angles on. Ours crosses a joint by two planar turns, each of "
        "which uses that a symmetric tensor keeps its trace, and by two shifts along one axis; the first "
        "joint needs its own row only."
    ),
    ("mass_matrix", "gda"): (
        "Both start from ready link frames. The GDA paper and the thesis print two figures for one algorithm; "
        "ours is below the first at every n. Against the thesis' the quadratic term is at or below and the "
        "linear one is higher: the sums that are projected once a joint cost more there than the figure "
        "leaves room for. GDAHJ is the form of this method with the least work."
    ),
    ("mass_matrix", "gdahj"): (
        "Both start from ready link frames, with two inner products a pair: 3n² multiplications and 2.5n² "
        "additions, the least for that loop. They differ in the lower terms; the thesis leaves open how far "
        "the linear one goes down."
    ),
    ("coriolis_matrix", "gda"): (
        "Both start from ready link frames and give the same matrix (not the Christoffel form). Ours takes "
        "the normal and the Coriolis term of a pair in one product, carries twice the relative velocity, and "
        "projects moments about the world's origin."
    ),
    ("centrifugal_matrix", "gda"): (
        "Both start from ready link frames. Their matrix multiplies squared speeds, ours speeds, so ours "
        "multiplies each column by its speed as well. The printed figure leaves out a loop of the authors' "
        "own code."
    ),
    ("mass_matrix_rate", "gda"): (
        "Both start from ready link frames. Ours turns the link tensors by the thesis' cheap rotation and "
        "carries the sums inwards, so that each pair is touched once."
    ),
    ("inverse_dynamics", "rnea"): (
        "Both work in link frames from the joint angles on. Ours takes force and moment of a link from one "
        "matrix of its accelerations, shifts along one axis at a time, and leaves the standing base out."
    ),
    ("inverse_dynamics", "operator"): (
        "The same two sweeps. The paper keeps spatial quantities on both sides of every joint; ours crosses a "
        "joint once, by planar turns and shifts along one axis."
    ),
    ("forward_dynamics", "diagonalized"): (
        "The paper's figure ends at the quasi-acceleration, ours goes on to qdd. Divisions count as "
        "multiplications and roots stand apart, there and here. Most is saved because the recursion for y "
        "telescopes (docs/errata.md), so that the normalized form costs little more than the other, and by "
        "keeping the inertia's rate symmetric."
    ),
    ("forward_dynamics", "diagonalized_unnormalized"): (
        "As the normalized form, without its roots; the paper's figure ends at the quasi-acceleration, ours at qdd."
    ),
    ("forward_dynamics", "aba"): (
        "The figure is Featherstone's of 1987. Ours keeps articulated inertias symmetric and turns them in two planes."
    ),
    ("forward_dynamics", "crba"): (
        "Inertia matrix, bias torque and a linear solve, both; ours takes the cheaper inertia matrix. The "
        "same program is Walker and Orin's third method."
    ),
    ("forward_dynamics", "walker_orin_1"): (
        "Walker and Orin call a general Newton-Euler recursion for every column; with unit accelerations and "
        "no velocities much of it folds away."
    ),
    ("forward_dynamics", "walker_orin_2"): (
        "As the first method, each column started at its own link; what n calls have in common is shared."
    ),
    ("forward_dynamics", "walker_orin_3"): ("The inertia matrix by composite bodies; cheaper turns of the tensors."),
    ("forward_dynamics", "walker_orin_4"): (
        "Conjugate gradients, n steps with a Newton-Euler product each. Ours keeps every direction conjugate "
        "to all before it, which costs a cubic term that the print has not: without it n steps give about six "
        "digits."
    ),
    ("forward_dynamics", "walker_orin_4_short"): (
        "Conjugate gradients as the textbook has them: fewer operations, and about six digits after n steps."
    ),
    ("forward_dynamics", "brandl"): (
        "The bias forces are settled beforehand by one Newton-Euler sweep, which is cheaper than adding each "
        "joint's velocity terms to the articulated bodies."
    ),
    ("forward_dynamics", "kalman"): ("The filter and the smoother with zeros folded and equal expressions shared."),
    ("inverse_dynamics", "lagrange_euler"): (
        "The figure multiplies full 4 x 4 matrices. Ours has the same matrices, but products with their zeros "
        "and ones fold away and equal products are done once."
    ),
    ("inverse_dynamics", "dalembert"): (
        "The same terms; sums that grow link by link are carried along instead of being started anew for every pair."
    ),
}


def reason(quantity: str, method: str) -> str:
    """Why our count of a method is not the published one."""
    return REASONS.get((quantity, method), "")


def verdict(cost: Cost, figure: Published) -> str:
    """How our total compares with a printed one from 3 to 30 joints, and where a part of it goes the other way."""
    totals = {n: _total(cost, n) - figure.total(n) for n in RANGE}
    above = [n for n, difference in totals.items() if difference > 0]
    if not above:
        text = "equal" if not any(totals.values()) else "at or below" if 0 in totals.values() else "below"
    elif len(above) == len(totals):
        text = "above"
    elif above == list(range(above[0], RANGE.stop)):
        text = f"below up to n = {above[0] - 1}, above from there"
    elif above == list(range(RANGE.start, above[-1] + 1)):
        text = f"above up to n = {above[-1]}, below from there"
    else:
        text = f"above at {len(above)} of {len(totals)} n"
    text += f" ({signed(totals[7])} at n = 7, {signed(totals[30])} at n = 30)"
    if not above and figure.mul is not None and figure.add is not None:
        parts = {
            "multiplications": max(cost.at(n).mul + cost.at(n).div - figure.mul(n) for n in RANGE),
            "additions": max(cost.at(n).add - figure.add(n) for n in RANGE),
        }
        text += "".join(f"; {what} above by up to {shown(worst)}" for what, worst in parts.items() if worst > 0)
    return text


def signed(difference: Fraction) -> str:
    """A difference with its sign."""
    return f"{'+' if difference > 0 else ''}{shown(difference)}"


def _total(cost: Cost, n: int) -> int:
    count = cost.at(n)
    return count.mul + count.add + count.div
