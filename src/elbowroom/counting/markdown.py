"""The generated part of docs/counting.md: our polynomials beside the published ones.

python -m elbowroom.counting.markdown docs/counting.md        writes it anew between its two marks
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from .. import dynamics
from ..dynamics.published import PUBLISHED, Published
from ..model.symbolic import CONDITIONS
from .compare import Cost, comparable, cost, counted, general, needs_frames, reason, strictest, verdict
from .steps import GDA_INERTIA, Operations, in_all

BEGIN, END = "<!-- counts: begin (python -m elbowroom.counting.markdown) -->", "<!-- counts: end -->"
CHEAP = 2500  # operations for four joints; the others are left to those who have a minute


def section() -> str:
    """The generated part, marks included."""
    return "\n".join([BEGIN, "", *_compared(), *steps(), *_all(), END])


def lines(quantity: str, method: str) -> list[str]:
    """The lines of the table of all methods that belong to one of them."""
    found = []
    for condition in CONDITIONS:
        for kinematics in (False, True) if needs_frames(quantity, method) else (True,):
            one = cost(quantity, method, condition, kinematics)
            how = ("included" if kinematics else "apart") if needs_frames(quantity, method) else "its own"
            found.append(f"| {quantity} | {method} | {condition} | {how} | {_cells(one)} |")
    return found


def cheap() -> list[tuple[str, str]]:
    """The methods that take no time to trace."""
    return [(q, m) for q, m in counted() if general(q, m, 4, "general", True, "shared").total < CHEAP]


def _cells(one: Cost) -> str:
    if one.since is None:
        return "no polynomial | | | "
    p = one.polynomials
    other = [f"{p[kind]} {word}" for kind, word in (("div", "divisions"), ("sqrt", "roots")) if p[kind].coefficients]
    return f"{p['mul']} | {p['add']} | {', '.join(other)} | {one.since}"


def _compared() -> Iterator[str]:
    yield "### Beside the papers"
    yield ""
    yield "Counted `shared`; where the papers print two figures, the lower one."
    for name, method in counted():
        for condition in CONDITIONS:
            for kinematics in (False, True):
                if kinematics and not needs_frames(name, method):
                    continue  # the same line as without
                figures = comparable(name, method, condition, kinematics=kinematics)
                best = strictest(figures, 7)
                if best is not None:
                    yield from _compared_one(cost(name, method, condition, kinematics), figures, best)
    absent = dict.fromkeys(p.method for p in _missing())
    if absent:
        yield ""
        yield f"Published, and not among our methods: {', '.join(absent)}."
    yield ""


def _compared_one(one: Cost, figures: tuple[Published, ...], best: Published) -> Iterator[str]:
    kinematics = ""
    if needs_frames(one.quantity, one.method):
        kinematics = f", kinematics {'included' if one.kinematics else 'apart'}"
    yield ""
    yield f"**{one.quantity}, {one.method}** ({one.condition}{kinematics})"
    yield ""
    yield "| | multiplications | additions | divisions, roots | where |"
    yield "| --- | --- | --- | --- | --- |"
    since = f"from n = {one.since} on" if one.since is not None else "no polynomial"
    cells = " | ".join(_cells(one).split(" | ")[:3])
    yield f"| ours | {cells} | {since} |"
    for figure in figures:
        mul, add = (figure.mul, figure.add) if figure.mul is not None else (f"in all {figure.total}", "")
        yield f"| {'published' if figure.printed else 'recount'} | {mul} | {add} | | {figure.where} |"
    yield ""
    text = f"Ours is {verdict(one, best)}. {reason(one.quantity, one.method)}".strip()
    notes = dict.fromkeys(figure.note for figure in figures if figure.note and figure.printed)
    yield " ".join([text, *(f"Note: {note}." for note in notes)])


def steps() -> Iterator[str]:
    """GDA's inertia matrix step by step, in the two published counts and in ours."""

    def cells(*found: Operations) -> str:
        return " | ".join(f"{each.mul} | {each.add}" for each in found)

    yield "### GDA's inertia matrix, step by step"
    yield ""
    yield (
        "Multiplications and additions of each step, from ready link frames, n from 3 on. The thesis prints its sum "
        "alone; the steps that give it are the paper's with the sign of n² flipped in two of them, less 2n additions "
        "([errata](errata.md#thesis-table-22-gdas-inertia-matrix))."
    )
    yield ""
    yield "| step | GDA paper: mul | add | thesis: mul | add | ours: mul | add | ours |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for step in GDA_INERTIA:
        yield f"| {step.name} | {cells(step.paper, step.thesis, step.ours)} | {step.how} |"
    yield f"| in all | {cells(*(in_all(which) for which in ('paper', 'thesis', 'ours')))} | |"
    yield ""


def _missing() -> list[Published]:
    """Published figures of methods that the registry does not have."""
    known = {(q, m) for q, what in dynamics.REGISTRY.items() for m in (*what.formulations, *what.variants)}
    return [p for p in PUBLISHED if (p.quantity, p.method) not in known and p.quantity != "tensor_rotation"]


def _all() -> Iterator[str]:
    yield "### Every method"
    yield ""
    yield "Polynomials of our own `shared` counts, exact from the n of the last column on."
    yield ""
    yield "| quantity | method | condition | kinematics | multiplications | additions | divisions, roots | from n |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, method in counted():
        yield from lines(name, method)
    yield ""


def write(path: Path) -> None:
    """Put the section, counted now, in the place of the one in a file."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN, 1)
    path.write_text(before + section() + rest.split(END, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
