"""Operation counts of a method on a chain of n joints, and ours beside the published ones.

Operation counts of a method on a chain of n revolute joints: traced for small n, a polynomial from there on.

The first joints meet a standing base and the last ones a bare tip, so a count becomes a polynomial only from some n on.
`cost` looks for the least such n and degree: the polynomial goes through degree + 1 counts exactly (Fractions) and must
meet the two beyond them.  Tracing Lagrange-Euler for 30 joints would take too long.

`tensor_rotations` counts the three ways to turn a symmetric tensor (thesis, Appendix I).

Our counts beside the published ones: a row for each method and number of joints; which is lower, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from .. import dynamics
from ..algebra import Expr, Graph, Program, trace
from ..algebra.linalg import Array, PrincipalForm, matrix, rotate_featherstone, rotate_naive, rotate_principal
from ..algebra.polynomial import Polynomial, shown, through
from ..algebra.program import Count
from ..dynamics.derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from ..dynamics.published import Published, published
from ..errors import UnknownNameError
from ..model import Model
from ..model.symbolic import symbolic

DERIVATIVES = (InverseDynamicsDerivatives, ForwardDynamicsDerivatives)


class _Symbols:
    """What a trace takes its graph from."""

    def __init__(self) -> None:
        self.graph = Graph(share=False)


def tensor_rotations() -> dict[str, Count]:
    """The count of R I R^T by each of them, as written; the thesis' way has its form made offline."""

    def offline(symbols: _Symbols, R: Array) -> Array:
        def known(name: str) -> Expr:
            return symbols.graph.input(name, parameter=True)

        Q = matrix([[known(f"Q{i}{k}") for k in range(2)] for i in range(3)])
        return rotate_principal(R, PrincipalForm(known("lambda3"), known("trace"), Q))

    def online(way: Callable[[Array, Array], Array]) -> Callable[[_Symbols, Array, Array], Array]:
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
    """Every (quantity, method) of the registry that depends on the arm's pose, or those of one quantity.

    Without derivatives, of which no paper here has a count (docs/derivatives.md).
    """
    for name in (dynamics.quantity(quantity).name,) if quantity else dynamics.REGISTRY:
        what = dynamics.quantity(name)
        if quantity or ("q" in what.inputs and what.result not in DERIVATIVES):
            yield from ((name, method) for method in (*what.formulations, *what.variants))


@cache
def cost(
    quantity: str, method: str, condition: str = "general", kinematics: bool = True, counting: str = "shared"
) -> Cost:
    """The cost of a method; `kinematics=False` starts from ready link frames."""
    if kinematics is False and not needs_frames(quantity, method):
        kinematics = True  # the same program: it never asks for link frames
    since, found = fitted(lambda n: general(quantity, method, n, condition, kinematics, counting))
    return Cost(quantity, method, condition, kinematics, counting, since, found)


def fitted(count: Callable[[int], Count]) -> tuple[int | None, dict[str, Polynomial]]:
    """The polynomials of a count of n joints, and from which n on they hold; None and nothing if there are none."""
    for last in range(FIRST + VERIFIED, LAST + 1):
        for since in range(FIRST, last - VERIFIED + 1):
            found = _polynomials({n: count(n) for n in range(since, last + 1)})
            if found is None:
                continue
            while since > 1 and _meets(found, since - 1, count(since - 1)):
                since -= 1
            return since, found
    return None, {}


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
        "ours is below both at every n. Where (27) sums over the links from a joint outwards, ours takes them as "
        "one body, with one mass, one centre of mass and one sum of tensors. The first link turns about its own "
        "axis alone: its part is a constant. GDAHJ is the form of this method with the least work."
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


def crossover(one: Sequence[float], other: Sequence[float], joints: Sequence[int]) -> int | None:
    """The first number of joints from which `one` stays below `other`."""
    ahead = [a < b for a, b in zip(one, other, strict=True)]
    if not ahead[-1]:
        return None
    last = max((k for k, better in enumerate(ahead) if not better), default=-1)
    return joints[last + 1] if last >= 0 else joints[0]


def signed(difference: Fraction) -> str:
    """A difference with its sign."""
    return f"{'+' if difference > 0 else ''}{shown(difference)}"


def _total(cost: Cost, n: int) -> int:
    count = cost.at(n)
    return count.mul + count.add + count.div
