"""Where ours and a published count part, and why: the verdict from the numbers, the reason in words."""

from __future__ import annotations

from fractions import Fraction

from ..algebra.polynomial import shown
from ..dynamics.published import Published
from .costs import Cost

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
