"""Where ours and a published count part, and why: the verdict from the numbers, the reason in words."""

from __future__ import annotations

from fractions import Fraction

from ..algebra.polynomial import shown
from ..dynamics.published import Published
from .costs import Cost

RANGE = range(3, 31)  # joints over which counts are compared; the papers' polynomials hold from 3 on

REASONS: dict[tuple[str, str], str] = {
    ("mass_matrix", "crba"): (
        "Both work in link frames from the joint angles on. Ours crosses a joint by two planar turns, of which a "
        "symmetric tensor keeps the trace, and leaves out what the standing base never asks for."
    ),
    ("mass_matrix", "gda"): (
        "Both start from ready link frames. The GDA paper and the thesis print two figures for one algorithm."
    ),
    ("mass_matrix", "gdahj"): (
        "Both start from ready link frames, with two inner products a pair: 3n² + 2.5n² is the least for that loop. "
        "They differ in the linear term alone, which the thesis leaves open."
    ),
    ("coriolis_matrix", "gda"): (
        "Both start from ready link frames and give the same matrix (not the Christoffel form). The GDA paper and the "
        "thesis print two figures."
    ),
    ("centrifugal_matrix", "gda"): (
        "Both start from ready link frames. Their matrix multiplies squared speeds, ours speeds, so ours multiplies "
        "each column by its speed as well."
    ),
    ("mass_matrix_rate", "gda"): "Both start from ready link frames.",
    ("inverse_dynamics", "rnea"): (
        "Both work in link frames from the joint angles on. Ours crosses a joint by two planar turns and leaves the "
        "standing base out."
    ),
    ("inverse_dynamics", "operator"): (
        "The same recursions with zeros folded. The paper keeps spatial quantities on both sides of every joint; in a "
        "trace those that are equal are one."
    ),
    ("forward_dynamics", "diagonalized"): (
        "The paper counts divisions among the multiplications and leaves roots out; so does the comparison. It "
        "multiplies a vector by stored matrices where a trace meets equal expressions and shares them."
    ),
    ("forward_dynamics", "diagonalized_unnormalized"): (
        "As the normalized form, without its roots; equal expressions are shared where the paper multiplies by stored "
        "matrices."
    ),
    ("forward_dynamics", "aba"): (
        "The figure is Featherstone's of 1987. Ours keeps articulated inertias symmetric and turns them in two planes."
    ),
    ("forward_dynamics", "crba"): (
        "Inertia matrix, bias torque and a linear solve, both; ours takes the cheaper inertia matrix."
    ),
    ("forward_dynamics", "walker_orin_1"): (
        "Walker and Orin call a general Newton-Euler recursion for every column; with unit accelerations and no "
        "velocities much of it folds away."
    ),
    ("forward_dynamics", "walker_orin_2"): (
        "As the first method, each column started at its own link; what n calls have in common is shared."
    ),
    ("forward_dynamics", "walker_orin_3"): "The inertia matrix by composite bodies; cheaper turns of the tensors.",
    ("forward_dynamics", "walker_orin_4"): (
        "Conjugate gradients, n steps with a Newton-Euler product each. Ours keeps every direction conjugate to all "
        "before it, which costs a cubic term that the print has not: without it n steps give about six digits."
    ),
    ("forward_dynamics", "walker_orin_4_short"): (
        "Conjugate gradients as the textbook has them: fewer operations, and about six digits after n steps."
    ),
    (
        "forward_dynamics",
        "brandl",
    ): "Brandl's form of the articulated body; split turns and symmetric updates as there.",
    ("forward_dynamics", "kalman"): "The filter and the smoother with zeros folded and equal expressions shared.",
    ("inverse_dynamics", "lagrange_euler"): (
        "The figure multiplies full 4 x 4 matrices. Ours has the same matrices, but products with their zeros and ones "
        "fold away and equal products are done once."
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
