"""The diagonalized equations counted recursion by recursion, beside Table 2 of document 003.

The paper counts what leads from (q, nu, tau) to nud, or from (q, xi, tau) to xid; `quasi_acceleration` does the same.
Each operation counts for the part of the text (`algebra.part`) that first needs it, so the parts add up to the whole.

The recursions are not cut in the same places.  Where the paper has a line of its own and we have none:

    psi       never formed: G and the joint's crossing are applied one after the other
    V+ and V  crossing a joint is one operation of ours, under V+; the paper shifts in one line and turns in the other
    z and z+  as V+ and V: the crossing is under z
    y         travels with z as one vector s = z + y, so that its crossing and some sums are under z and z+
    C         comes out of the lines for kappa and nud
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..algebra.parts import listening
from ..algebra.polynomial import Polynomial
from ..algebra.program import Count, kinds, live_nodes, tallied
from ..dynamics import diagonalized
from ..dynamics.published import TABLE_2, published
from ..model.symbolic import symbolic
from .compare import cost, fitted

FORMS = {"normalized": "diagonalized", "unnormalized": "diagonalized_unnormalized"}
"""The two forms, and what forward dynamics through them is called."""
Pair = tuple[Polynomial | None, Polynomial | None]
"""Multiplications with divisions, and additions."""
OURS = {"ε": "κ", "ξ̇": "ν̇"}
"""Lines of the table whose work has another label in `dynamics.diagonalized`, which writes both forms."""
WITHIN = {"ψ": "not formed", "C(θ, ν)": "in ν̇", "C(θ, ξ)": "in κ"}
"""Lines of the table that ours does not have, and why."""


REMARKS = (
    "Recursion by recursion each operation counts where it is first needed, so ours add up, too. Crossing a joint is "
    "one step of ours, under V⁺ for velocities and under z for forces; the paper shifts in one line and turns in "
    "another.",
    "ψ is never formed here, and y travels with z as one vector: of its 158N multiplications (unnormalized 59N) 24N "
    "remain; its crossing and some sums are under z and z⁺.",
    "λ keeps 15 of its 21 entries, as P⁺ does: its row along the joint's axis is empty.",
)
"""What explains the differences."""


@dataclass(frozen=True)
class RecursionCount:
    """A line of Table 2 under one condition: theirs and ours; divisions are among the multiplications."""

    form: str  # "normalized" or "unnormalized"
    condition: str  # "general" or "orthogonal"
    name: str  # as the paper writes it
    published_mul: Polynomial
    published_add: Polynomial
    mul: Polynomial | None  # None: ours has no such line, `within` says why
    add: Polynomial | None
    within: str = ""


@cache
def by_part(n: int, condition: str = "general", form: str = "normalized") -> dict[str, Count]:
    """The `shared` counts of quasi_acceleration for n revolute joints, by the names of its parts."""
    model = symbolic("R" * n, condition, share=True)
    graph, starts, names = model.graph, [0], ["sines"]

    def began(name: str) -> None:
        starts.append(len(graph.nodes))
        names.append(name)

    q, speeds, tau = (np.array([graph.input(f"{port}[{k}]") for k in range(n)]) for port in ("q", "speeds", "tau"))
    with listening(began):
        result = diagonalized.quasi_acceleration(model, q, speeds, tau, normalized=form == "normalized")
    counted = list(kinds(node.operation for node in graph.nodes))
    found: dict[str, list[str]] = {name: [] for name in names}
    for k in live_nodes(graph, (graph.operand(x) for x in result)):
        found[names[bisect_right(starts, k) - 1]].append(counted[k])
    return {name: tallied(each) for name, each in found.items()}


def table_2(form: str, condition: str = "general") -> list[RecursionCount]:
    """The lines of Table 2 for one form, ours beside theirs, in the paper's order."""
    orthogonal = condition == "orthogonal"
    rows = []
    for line in TABLE_2:
        if line.part not in ("common", form):
            continue
        mul, add = (line.mul_orthogonal, line.add_orthogonal) if orthogonal else (line.mul, line.add)
        theirs = Polynomial.read(mul), Polynomial.read(add)
        within = WITHIN.get(line.name, "")
        ours = (None, None) if within else _fit(OURS.get(line.name, line.name), condition, form)
        rows.append(RecursionCount(form, condition, line.name, *theirs, *ours, within))
    return rows


def cells(line: RecursionCount) -> tuple[str, str, str, str]:
    """Multiplications theirs and ours, additions theirs and ours, as they are printed; N for the joints."""
    theirs, ours = (line.published_mul, line.published_add), (line.mul, line.add)
    return _shown(theirs, ours, line.within)


def in_all(form: str, condition: str = "general") -> tuple[str, str, str, str]:
    """The same of the whole."""
    figure = published("forward_dynamics", FORMS[form], condition)[0]
    return _shown((figure.mul, figure.add), whole(form, condition), "")


def _shown(theirs: Pair, ours: Pair, without: str) -> tuple[str, str, str, str]:
    cells = [
        without if x is None else str(x).replace("n", "N") for pair in zip(theirs, ours, strict=True) for x in pair
    ]
    return cells[0], cells[1], cells[2], cells[3]


def whole(form: str, condition: str = "general") -> Pair:
    """All of our multiplications and divisions, and additions, from the quasi-velocities to their rates."""
    return _with_divisions(cost("quasi_acceleration", FORMS[form], condition).polynomials)


def _fit(name: str, condition: str, form: str) -> Pair:
    return _with_divisions(fitted(lambda n: by_part(n, condition, form).get(name, Count()))[1])


def _with_divisions(p: Mapping[str, Polynomial]) -> Pair:
    return (p["mul"] + p["div"], p["add"]) if p else (None, None)
