"""What `elbowroom bench avoidance` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terminal import duration, heading, line, table
from . import tables

if TYPE_CHECKING:
    from ...bench.avoidance import CycleReport, CycleRow


def show(report: CycleReport) -> None:
    """The table of cycles, the machine's floor under it, and what each contender does."""
    versions = {row.who: row.version for row in report.rows}
    first = report.rows[0]
    line(", ".join(f"{who} {version}" for who, version in versions.items()) + f"; {report.cpu}")
    heading(
        f"One cycle, state and person in, command out: {first.robot}, {first.n} joints, {report.capsules} capsules, "
        f"a person of {report.person_capsules}, {report.pairs} pairs"
    )
    table(["who", "what", "cycles", "median", "99.9 %", "slowest", "ratio"], map(_cells, report.rows), words=2)
    line("Under it, in the same turns, this machine's own jitter:")
    table(["what", "median", "99.9 %", "slowest"], _floors(first))
    _distribution(report)
    line(f"ratio: of the medians, to {first.quantity!r}.  Times of batches are for one state.")
    line("99.9 %: all but one cycle in a thousand kept within it; a guess where there are fewer than 10000 cycles.")
    said = ", ".join(f"{status} {count}" for status, count in report.statuses.items())
    line(f"What {first.quantity!r} said, in its cycles: {said}.")
    stopped = sum(count for status, count in report.statuses.items() if status.startswith("STOP"))
    if stopped:
        line(f"It stood still in {stopped} of them: these times are not those of an arm at work.")
    heading("What a cycle does")
    for text in dict.fromkeys(f"{row.who}, {row.says}." for row in report.rows):
        line(text)
    if any(row.who in ("mink", "Pink") for row in report.rows):
        line(
            "mink and Pink solve a quadratic program and are another method: they bound speeds towards an obstacle, "
            "ours pushes away from it.  Times alone are compared here."
        )
    line(f"The thesis' simulation, all of it, took {duration(report.thesis_s)} a cycle on its computer; not run here.")
    tables.missing(report.missing)


def _distribution(report: CycleReport) -> None:
    """Which part of the cycles took longer than some times: the tail in figures."""
    heading("Cycles that took longer than ...")
    floors = {"empty": "the clock alone", "busy": "a loop that computes nothing"}
    table(
        ["who", *map(duration, report.thresholds_s)],
        (
            [floors.get(name, name.replace(":", "", 1)), *map(_part, parts)]
            for name, parts in report.beyond.items()
            if not name.endswith(("at once", "step alone"))
        ),
    )


def _part(part: float) -> str:
    return "-" if part == 0.0 else f"{100 * part:.2g} %" if part < 0.995 else "all" if part == 1.0 else "> 99 %"


def _cells(row: CycleRow) -> list[object]:
    times = (duration(s) for s in (row.median_s, row.p999_s, row.max_s))
    return [row.who, row.quantity, row.cycles, *times, f"{row.ratio_to_us:.2f}"]


def _floors(row: CycleRow) -> list[list[object]]:
    empty = (row.floor_median_s, row.floor_p999_s, row.floor_max_s)
    busy = (row.busy_median_s, row.busy_p999_s, row.busy_max_s)
    return [
        ["the clock read twice, nothing between", *map(duration, empty)],
        ["a loop that computes nothing, as long as our cycle", *map(duration, busy)],
    ]
