"""`elbowroom count` and `elbowroom tables`: operations by method, and the papers' tables, ours beside theirs."""

from __future__ import annotations

import dataclasses
import itertools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .terminal import DelayedBar, Tip, heading, line, plain, table, write_json

if TYPE_CHECKING:
    from ..counting import Cost, CountRow
    from ..dynamics.published import Published
    from ..model import Model


def tables(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into; made if it is not there.")],
) -> None:
    """Write the papers' tables and curves, ours beside theirs: HTML, PNG, SVG.

    \b
    elbowroom tables --out papers               then open papers/index.html
    """
    from ..bench.paper_times import table_2_1
    from ..experiments import papers
    from ..experiments.figure_style import pyplot

    pyplot()  # before anything is measured
    with DelayedBar() as progress:
        timings = table_2_1(progress=progress)
        written = papers.write(out, timings, progress=progress)
    for path in written:
        line(plain(path))
    for sentence in papers.order_of_methods(timings):
        line(plain(f"Table 2.1. {sentence}"))


NUMBERS = "3,6,7,12,30"
LARGEST = 1000  # joints; a polynomial has no bound, a slip of the finger has

WAYS = """\
as_written: zeros and ones folded, nothing shared; shared: equal expressions once; customised: shared, with one
robot's constants folded in.  Subtractions are additions, negations are free, what is done with parameters alone is
offline and free.  A difference is ours less the published total: divisions count with the multiplications, roots and
sines stand apart.  Published: 000 GDA paper, 001 thesis, 002 GDAHJ paper, 003 Kozlowski, 004 Milicevic; T a table."""

CONDITION = {
    "general": "modified Denavit-Hartenberg, every parameter a symbol, joints that turn",
    "orthogonal": "twists of +-90 degrees, offsets along x alone, joints that turn",
}


class Condition(StrEnum):
    """What is known about the chain."""

    GENERAL = "general"
    ORTHOGONAL = "orthogonal"


def _numbers(text: str) -> list[int]:
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(1 <= n <= LARGEST for n in found):
        raise typer.BadParameter(f"expected numbers of joints from 1 to {LARGEST} such as {NUMBERS}; got {text!r}")
    return list(dict.fromkeys(found))


def count(
    what: Annotated[
        str | None, typer.Argument(metavar="ARM", help="A catalogue name or a file: count its own programs.")
    ] = None,
    n: Annotated[str | None, typer.Option(metavar="N,N,...", help=f"Numbers of joints.  [{NUMBERS}]")] = None,
    condition: Annotated[Condition | None, typer.Option(help="One of the two alone.")] = None,
    quantity: Annotated[str, typer.Option(metavar="NAME", help="One quantity alone, such as mass_matrix.")] = "",
    recursions: Annotated[
        bool, typer.Option("--recursions", help="The diagonal forms recursion by recursion: 003's Table 2.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Rows as JSON, alone on stdout.")] = False,
    tip: Tip = None,
) -> None:
    """Count operations, by method and number of joints, beside the published counts.

    \b
    elbowroom count panda                       one arm, its own constants folded in
    elbowroom count --n 6,7 --quantity mass_matrix
    elbowroom count --condition orthogonal --json
    elbowroom count --recursions                Table 2 of document 003, line by line, ours beside theirs
    """
    from .. import counting, dynamics
    from ..counting.compare import costs
    from ..loading import load

    if recursions:
        if what is not None or n is not None or quantity:
            raise typer.BadParameter("--recursions has polynomials of its own: leave the arm, --n and --quantity out")
        _recursions([condition.value] if condition else [c.value for c in Condition], json)
        return
    if quantity:
        dynamics.quantity(quantity)
    if what is not None:
        if n is not None or condition is not None:
            raise typer.BadParameter("an arm has its own joints and twists: leave --n and --condition out")
        _arm(load(what, tip).model, quantity, json)
        return
    numbers = _numbers(NUMBERS if n is None else n)
    conditions = [condition.value] if condition else [c.value for c in Condition]
    if json:
        with DelayedBar() as progress:
            _print_json(list(counting.general_rows(numbers, conditions, quantity, progress=progress)))
        return
    line(WAYS)
    names = dict.fromkeys(name for name, _ in counting.counted(quantity))
    for chosen, name in itertools.product(conditions, names):
        with DelayedBar() as progress:
            found = list(costs([chosen], name, progress=progress))
        _quantity(chosen, name, found, numbers)


def _print_json(rows: list[CountRow]) -> None:
    write_json([dataclasses.asdict(row) for row in rows])


# ---- chains with symbols


def _quantity(condition: str, quantity: str, found: list[Cost], numbers: list[int]) -> None:
    from .. import counting
    from ..counting.compare import comparable

    heading(f"{quantity}, {condition}: {CONDITION[condition]}")
    blocks: dict[tuple[str, bool], dict[str, Cost]] = {}
    for one in found:
        if one.kinematics or counting.needs_frames(one.quantity, one.method):
            blocks.setdefault((one.method, one.kinematics), {})[one.counting] = one
    rows: list[list[object]] = []
    fits: list[list[object]] = []
    notes: list[str] = []
    for (method, kinematics), ways in blocks.items():
        title = [method, _kinematics(quantity, method, kinematics)]
        figures = comparable(quantity, method, condition, kinematics=kinematics)
        for k, n in enumerate(numbers):
            rows.append([*(["", ""] if k else title), *_cells(ways, figures, n)])
        fits += _fits(title, ways, figures)
        for note in dict.fromkeys(f.note for f in figures if f.note):
            notes.append(f"{method}, {', '.join(f.where for f in figures if f.note == note)}: {note}")
    columns = ["method", "kinematics", "n", "shared: mul", "add", "div", "root", "sin, cos"]
    table([*columns, "as_written", "published", "difference"], rows, words=2)
    line("")
    table(["method", "kinematics", "counting", "multiplications", "additions", "other", "holds, where"], fits, words=3)
    for note in notes:
        line(note)


def _kinematics(quantity: str, method: str, kinematics: bool) -> str:
    from .. import counting

    if not counting.needs_frames(quantity, method):
        return "its own"  # in link frames: no forward kinematics to count apart
    return "included" if kinematics else "apart"


def _cells(ways: dict[str, Cost], figures: tuple[Published, ...], n: int) -> list[object]:
    from .. import counting
    from ..algebra.polynomial import shown
    from ..counting.compare import signed

    ours, written = ways["shared"].at(n), ways["as_written"].at(n)
    best = counting.strictest(figures, n)
    cells: list[object] = [n, ours.mul, ours.add, ours.div, ours.sqrt, ours.sincos, f"{written.mul} + {written.add}"]
    if best is None:
        return [*cells, "", ""]
    parts = f"{shown(best.mul(n))} + {shown(best.add(n))} = " if best.mul and best.add else ""
    difference = ours.mul + ours.add + ours.div - best.total(n)
    return [*cells, f"{parts}{shown(best.total(n))}", signed(difference)]


def _fits(title: list[str], ways: dict[str, Cost], figures: tuple[Published, ...]) -> list[list[object]]:
    lines: list[list[object]] = []
    for way in ("shared", "as_written"):
        one = ways[way]
        if one.since is None:
            lines.append([*(title if not lines else ["", ""]), way, "no polynomial", "", "", ""])
            continue
        p = one.polynomials
        named = (("div", "div"), ("sqrt", "roots"), ("sincos", "sines"), ("other", "choices"))
        other = ", ".join(f"{p[kind]} {word}" for kind, word in named if p[kind].coefficients)
        lines.append([*(title if not lines else ["", ""]), way, p["mul"], p["add"], other, f"n >= {one.since}"])
    grouped: dict[tuple[object, object, object], list[Published]] = {}
    for figure in figures:
        grouped.setdefault((figure.mul, figure.add, figure.total), []).append(figure)
    for (mul, add, total), same in grouped.items():
        where = ", ".join(figure.where.replace("Table ", "T") for figure in same) if same[0].printed else ""
        way = "published" if same[0].printed else "recount"
        lines.append(["", "", way, mul or f"in all {total}", add or "", "", where])
    return lines


# ---- recursion by recursion


def _recursions(conditions: list[str], json: bool) -> None:
    from ..counting import recursions

    if json:
        found = [row for c in conditions for form in recursions.FORMS for row in recursions.table_2(form, c)]
        write_json([{k: v if isinstance(v, str) else v and str(v) for k, v in vars(row).items()} for row in found])
        return
    line("From quasi-velocities to their rates, N joints that turn: Table 2 of document 003, ours (shared) beside it.")
    line("Divisions count as multiplications; roots and sines are left out.")
    for condition, form in itertools.product(conditions, recursions.FORMS):
        heading(f"{form}, {condition}: {CONDITION[condition]}")
        rows: list[tuple[str, ...]] = [
            (row.name, *recursions.cells(row)) for row in recursions.table_2(form, condition)
        ]
        rows.append(("in all", *recursions.in_all(form, condition)))
        table(["recursion", "theirs: mul", "ours", "theirs: add", "ours"], rows)
    line("")
    for remark in recursions.REMARKS:
        line(remark)


# ---- one arm


def _arm(model: Model, quantity: str, json: bool) -> None:
    from .. import counting

    with DelayedBar() as progress:
        rows = list(counting.customised_rows(model, quantity, progress))
    if json:
        _print_json(rows)
        return
    name = plain(model.name)
    name.stylize("bold")
    line(name, f"{model.n} joints ({model.kinds}), customised: its own constants folded in, equal expressions once.")
    line("Kinematics included; rotors and friction where it has them.  The published counts are of a general chain:")
    line("elbowroom count, without an arm, has them beside ours.\n")
    lines: list[list[object]] = []
    shown = ""
    for row in rows:
        counts = (row.mul, row.add, row.div, row.sqrt, row.sincos, row.total)
        lines.append(["" if row.quantity == shown else row.quantity, row.method, *counts])
        shown = row.quantity
    table(["quantity", "method", "mul", "add", "div", "root", "sin, cos", "in all"], lines, words=2)
