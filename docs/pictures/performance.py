"""Writes the tables of docs/performance.md, lines of README.md and the page's pictures, from runs of `elbowroom bench`.

python docs/pictures/performance.py                               runs dynamics, batch, chains and distance first
python docs/pictures/performance.py dynamics.json ... [gpu.json]  takes runs of earlier, written with --json

A file is known by its rows.  What no run is given for stays as it is; "What we are slower at" is written where all four
of the CPU's runs are there, since it names every row in which somebody else is faster.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from elbowroom.bench import charts
from elbowroom.bench.gpu import CardReport, CardRow
from elbowroom.bench.timing import US, FirstCall, Report, Row
from elbowroom.experiments.figure_style import look

ROOT = Path(__file__).parent.parent.parent
PICTURES = Path(__file__).parent
README, PAGE = ROOT / "README.md", ROOT / "docs" / "performance.md"
SUITES = ("dynamics", "batch", "chains", "distance")
REFEREE = "Pinocchio"
SIZE = 4096  # of the batches in short
LENGTHS = (7, 13, 20, 30, 50, 100)  # of the chains in short
PICTURE: dict[str, Callable[..., None]] = {
    "dynamics": charts.times,
    "batch": partial(charts.curves, over="states"),
    "chains": partial(charts.curves, over="n"),
    "gpu": charts.times,
}
Cells = list[str]


def measured(files: list[str]) -> dict[str, Report]:
    """Suite -> its run."""
    if not files:
        return dict(read(ran(suite)) for suite in SUITES)
    return dict(read(Path(name).read_text(encoding="utf-8")) for name in files)


def ran(suite: str) -> str:
    """A run now."""
    command = [sys.executable, "-m", "elbowroom", "bench", suite, "--json", "-"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read(text: str) -> tuple[str, Report]:
    """A run's suite and report."""
    content = json.loads(text)
    del content["elbowroom"]
    kinds: tuple[type[Row], type[Report]] = (CardRow, CardReport) if "card" in content else (Row, Report)
    rows = [kinds[0](**row) for row in content.pop("rows")]
    content.setdefault("load", None)
    calls = [FirstCall(**call) for call in content.pop("first_calls")]
    return rows[0].bench, kinds[1](rows=rows, first_calls=calls, **content)


# ---- words


def seconds(value: float) -> str:
    """With three digits, in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if value >= size:
            shown = value / size
            return f"{shown:.0f} {unit}" if shown >= 99.95 else f"{shown:.3g} {unit}"
    return f"{value / 1e-12:.3g} ps"


def times(value: float) -> str:
    """How many times ours."""
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def said(suite: str, report: Report) -> str:
    """What ran on what, and how noisy it was."""
    versions = {row.who: row.version for row in report.rows if "," not in row.who}
    told = ", ".join(f"{who} {version}" for who, version in versions.items())
    cores = f"{report.cores} core{'s' if report.cores > 1 else ''}"
    noisy = sorted(row.p90_seconds / row.seconds_per_state for row in report.rows)
    tenths = noisy[len(noisy) // 2], noisy[int(0.95 * (len(noisy) - 1))]
    busy = f" Load average {report.load:.1f}." if report.load is not None else ""
    absent = f" Not installed for it: {listed(report.missing)}." if report.missing else ""
    return (
        f"One run of `elbowroom bench {suite}` on {report.cpu}, {cores}, Python {report.python}: {told}.{absent} "
        f"Spread: nine tenths of the rounds kept within {tenths[0]:.2g} times their best in half of the rows, and "
        f"within {tenths[1]:.2g} times in nineteen of twenty.{busy}"
    )


def briefly(suite: str, report: Report) -> str:
    """The same in fewer words."""
    versions = {row.who: row.version for row in report.rows if "," not in row.who}
    told = ", ".join(f"{who} {version}" for who, version in versions.items())
    noisy = sorted(row.p90_seconds / row.seconds_per_state for row in report.rows)
    return (
        f"`elbowroom bench {suite}`, {report.cpu}, {report.cores} cores: {told}. Best of many rounds, nine tenths of "
        f"which were within {noisy[len(noisy) // 2]:.2g} times that in half of the rows."
    )


def values(rows: Iterable[Row], name: str) -> list[Any]:
    """All of a column, each once, in order."""
    return list(dict.fromkeys(getattr(row, name) for row in rows))


def table(head: Cells, lines: Iterable[Cells]) -> list[str]:
    """In markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines)] + [""]


def places(rows: Iterable[Row]) -> dict[tuple[str, int, str], dict[str, Row]]:
    """Robot, size and quantity -> who -> row."""
    found: dict[tuple[str, int, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row.robot, row.states, row.quantity), {})[row.who] = row
    return found


# ---- the page


def whole(suite: str, report: Report) -> str:
    """Every row of a run: the best time, in brackets how many times ours, and the spread of a line."""
    lines = [said(suite, report), ""]
    sizes = values(report.rows, "states")
    for size in sizes:
        rows = [row for row in report.rows if row.states == size]
        if len(sizes) > 1:
            lines += [f"**{size} states in a call**", ""]
        others = [who for who in values(rows, "who") if who != US]
        head = ["arm", "quantity", US, *(who.removeprefix(f"{US}, ") for who in others), "spread"]
        lines += table(head, (one_line(key, found, others) for key, found in places(rows).items()))
    lines += [note.strip() for note in report.notes]
    return "\n".join(lines)


def one_line(key: tuple[str, int, str], found: dict[str, Row], others: list[str]) -> Cells:
    """An arm and a quantity."""
    robot, _, quantity = key
    cells = [
        f"{seconds(found[w].seconds_per_state)} ({times(found[w].ratio_to_us)})" if w in found else "" for w in others
    ]
    spread = max(row.p90_seconds / row.seconds_per_state for row in found.values())
    return [robot, quantity, seconds(found[US].seconds_per_state), *cells, f"{spread:.1f}"]


def slower(reports: dict[str, Report]) -> str:
    """Every row in which another is faster, and what a first call takes."""
    lines = []
    for suite, report in reports.items():
        ours = {key: found[US] for key, found in places(report.rows).items()}
        for row in report.rows:
            best = ours[row.robot, row.states, row.quantity]
            if not row.who.startswith(US) and row.ratio_to_us < 1.0:
                size = f", {row.states} states" if row.states > 1 else ""
                lines.append(
                    f"- `bench {suite}`, {row.robot}, {row.quantity}{size}: {row.who} took "
                    f"{seconds(row.seconds_per_state)}, we took {seconds(best.seconds_per_state)}."
                )
    if not lines:
        lines.append("- No row of these runs has another ahead of us.")
    arms, chain = reports["dynamics"].first_calls, reports["chains"].first_calls
    if arms and chain:
        least, most = min(call.seconds for call in arms), max(call.seconds for call in arms)
        long = listed(f"{seconds(call.seconds)} for {call.n} joints" for call in chain if call.n in LENGTHS)
        lines.append(
            "- The first call of a quantity compiles it. Where no cache has its code, "
            f"`{arms[0].quantity}` took {seconds(least)} to {seconds(most)} for the arms above, {long}. "
            "Pinocchio, MuJoCo and coal need nothing of that kind."
        )
    return "\n".join(lines)


# ---- in short, at the top of the page


def short_dynamics(report: Report) -> str:
    """One arm's times, and Pinocchio's ratios for all."""
    return short(report, "dynamics", "one state, from Python", report.rows)


def short_batch(report: Report) -> str:
    """The same for batches of one size."""
    size = SIZE if SIZE in values(report.rows, "states") else values(report.rows, "states")[-1]
    rows = [row for row in report.rows if row.states == size]
    return short(report, "batch", f"{size} states in a call, time of one, one thread each", rows)


def short(report: Report, suite: str, title: str, rows: list[Row]) -> str:
    """A line a quantity: the first arm's times, and Pinocchio's ratios for all arms."""
    robots, found = values(rows, "robot"), places(rows)
    size = rows[0].states
    extra = [who for who in (f"{US}, out=", f"{US}, float32") if any(row.who == who for row in rows)]
    head = [title, US, *(who.removeprefix(f"{US}, ") for who in extra), REFEREE, f"times ours: {', '.join(robots)}"]
    lines = []
    for quantity in values(rows, "quantity"):
        first = found[robots[0], size, quantity]
        ratios = [
            times(theirs.ratio_to_us)
            for theirs in (found[name, size, quantity].get(REFEREE) for name in robots)
            if theirs is not None
        ]
        shown = [seconds(first[who].seconds_per_state) if who in first else "" for who in (US, *extra, REFEREE)]
        lines.append([quantity, *shown, ", ".join(ratios)])
    return "\n".join([f"{briefly(suite, report)} Times of `{robots[0]}`.", "", *table(head, lines)])


def short_chains(report: Report) -> str:
    """A column a length."""
    lengths = [n for n in values(report.rows, "n") if n in LENGTHS]
    by = {(row.n, row.quantity, row.who): row for row in report.rows}
    lines = []
    for quantity in values(report.rows, "quantity"):
        cells = [by[n, quantity, US].seconds_per_state for n in lengths]
        theirs = [by.get((n, quantity, REFEREE)) for n in lengths]
        told = [f" ({times(row.ratio_to_us)})" if row is not None else "" for row in theirs]
        lines.append([quantity, *(f"{seconds(s)}{ratio}" for s, ratio in zip(cells, told, strict=True))])
    head = ["random chains, one state", *(f"n = {n}" for n in lengths)]
    text = f"{briefly('chains', report)} In brackets how many times ours {REFEREE} takes."
    return "\n".join([text, "", *table(head, lines)])


# ---- cards


def card_said(report: Any) -> str:
    """The card, what it can do, and how noisy it was."""
    versions = {row.who: row.version for row in report.rows if "," not in row.who}
    told = ", ".join(f"{who} {version}" for who, version in versions.items())
    rates = listed(f"{rate / 1e12:.1f} T/s in {dtype}" for dtype, rate in report.fused_per_second.items())
    spread = max(row.p90_seconds / row.seconds_per_state for row in report.rows)
    worst = max(row.differs for row in report.rows)
    same = f"Results differ by {worst:.1e} at most." if worst else "The results compared are the CPU's to the last bit."
    return (
        f"One run of `elbowroom bench gpu` on {report.card}: {told}. The card copies "
        f"{report.copy_bytes_per_second / 1e12:.2f} TB/s, read and written, and does {rates} fused multiply-adds. "
        f"Nine tenths of the rounds of everybody kept within {spread:.2f} times their best. {same}"
    )


def by_contender(rows: Iterable[Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Robot, dtype and quantity -> who -> row."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        found.setdefault((row.robot, row.dtype, row.quantity), {})[row.who] = row
    return found


def percent(part: float) -> str:
    """A part as per cent."""
    return f"{100 * part:.0f} %"


def whole_gpu(report: Any) -> str:
    """Both layouts, what part of the card's limits rows reach, and frax."""
    lines = [card_said(report), ""]
    for dtype in values(report.rows, "dtype"):
        head = ["arm", dtype, "rows", "of copy", "of arithmetic", "columns", "of copy", "frax"]
        body = []
        for (robot, kind, quantity), found in by_contender(report.rows).items():
            if kind != dtype:
                continue
            rows, columns, frax = found[US], found[f"{US}, columns"], found.get("frax")
            body.append(
                [
                    robot,
                    quantity,
                    seconds(rows.seconds_per_state),
                    percent(rows.of_copy),
                    percent(rows.of_arithmetic),
                    seconds(columns.seconds_per_state),
                    percent(columns.of_copy),
                    f"{seconds(frax.seconds_per_state)} ({times(frax.ratio_to_us)})" if frax else "",
                ]
            )
        lines += table(head, body)
    return "\n".join([*lines, *report.notes])


def short_gpu(report: Any) -> str:
    """The first arm."""
    first, found = report.rows[0].robot, by_contender(report.rows)
    lines = []
    for quantity in values(report.rows, "quantity"):
        cells = [quantity]
        for dtype in values(report.rows, "dtype"):
            row, frax = found[first, dtype, quantity][US], found[first, dtype, quantity].get("frax")
            cells += [seconds(row.seconds_per_state), percent(row.of_copy), times(frax.ratio_to_us) if frax else ""]
        lines.append(cells)
    kinds = values(report.rows, "dtype")
    columns = (x for kind in kinds for x in (kind, "of copy", "frax, times ours"))
    head = ["batches on a card, time of one state", *columns]
    what = "*of copy*: bytes that must move, as a part of what a copy moves in that time."
    text = f"{card_said(report)} {what} `{first}`, (B, n) rows."
    return "\n".join([text, "", *table(head, lines)])


SHORT: dict[str, Callable[[Report], str]] = {
    "dynamics": short_dynamics,
    "batch": short_batch,
    "chains": short_chains,
    "gpu": short_gpu,
}


# ---- README: a line each


def lines_of(suite: str, report: Any) -> dict[str, tuple[str, str]]:
    """What a run has for README's table: by the first cell, ours and the peer's."""
    if suite == "gpu":
        found = by_contender(report.rows)["panda", "float64", "mass_matrix"]
        return {"mass matrix, batch on a card, float64, time of one": both(found[US], found.get("frax"), "frax")}
    size = SIZE if suite == "batch" else report.rows[0].states
    asked = {
        "dynamics": {
            "mass matrix of `panda`, one state, from Python": "mass_matrix",
            "inverse dynamics, one state": "inverse_dynamics",
        },
        "batch": {f"inverse dynamics, {SIZE} states in a call, time of one": "inverse_dynamics"},
    }
    rows = {(row.quantity, row.who): row for row in report.rows if row.robot == "panda" and row.states == size}
    return {
        first: both(rows[quantity, US], rows.get((quantity, REFEREE)), REFEREE)
        for first, quantity in asked.get(suite, {}).items()
        if (quantity, US) in rows
    }


def both(ours: Any, theirs: Any, who: str) -> tuple[str, str]:
    """Two cells."""
    told = f"{who} {seconds(theirs.seconds_per_state)} ({times(theirs.ratio_to_us)} times)" if theirs else ""
    return seconds(ours.seconds_per_state), told


def write_line(path: Path, first: str, cells: tuple[str, str]) -> None:
    """The second and the third cell of the row that begins so."""
    page = path.read_text(encoding="utf-8")
    row = rf"^(\| {re.escape(first)} \|)[^|]*\|[^|]*\|"
    changed, count = re.subn(row, lambda m: f"{m[1]} {cells[0]} | {cells[1]} |", page, flags=re.M)
    if count != 1:
        raise SystemExit(f"{path}: expected a row {first!r} once; got {count}")
    path.write_text(changed, encoding="utf-8")


# ---- writing


def write(path: Path, name: str, text: str) -> None:
    """Between the marks of that name on a page."""
    page = path.read_text(encoding="utf-8")
    marks = rf"(<!-- bench {name} -->\n).*?(<!-- end of it -->)"
    changed, count = re.subn(marks, lambda m: f"{m[1]}{text.strip()}\n{m[2]}", page, flags=re.S)
    if count != 1:
        raise SystemExit(f"{path}: expected the marks of {name!r} once; got {count}")
    path.write_text(changed, encoding="utf-8")


def draw(suite: str, report: Report) -> None:
    """The page's picture of a run."""
    with look():
        PICTURE[suite](report, PICTURES / f"{suite}_times.svg")


def main() -> None:
    """Every run into its places."""
    reports = measured(sys.argv[1:])
    for suite, report in reports.items():
        if suite in SHORT:
            for first, cells in lines_of(suite, report).items():
                write_line(README, first, cells)
            write(PAGE, f"short {suite}", SHORT[suite](report))
            write(PAGE, suite, whole_gpu(report) if suite == "gpu" else whole(suite, report))
            draw(suite, report)
    if set(SUITES) <= set(reports):
        write(PAGE, "slower", slower({suite: reports[suite] for suite in SUITES}))


if __name__ == "__main__":
    main()
