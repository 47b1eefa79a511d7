"""What `elbowroom bench encounters` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...bench.encounters.search import TOUCH, defaults
from ..terminal import heading, line, plain, table
from . import tables

if TYPE_CHECKING:
    from ...bench.encounters.metrics import Interval
    from ...bench.encounters.report import EncounterReport, MethodRow
    from ...bench.encounters.search import SearchReport


BEST = 6


def show(report: EncounterReport) -> None:
    """A table of contacts and one of work for each arm, and what the columns mean."""
    who = "one person" if report.people == 1 else f"{report.people} people"
    sensor = {"camera": "a skeleton camera", "ideal": "an ideal sensor"}[report.sensor]
    last = report.seed + report.runs - 1
    line(
        f"{report.runs} encounters of {report.duration:g} s, seeds {report.seed} to {last}: {who}, no point of them "
        f"faster than {report.limb_speed:g} m/s; {sensor}; {report.cpu}"
    )
    for robot in dict.fromkeys(row.robot for row in report.rows):
        rows = [row for row in report.rows if row.robot == robot]
        heading(f"{plain(robot)}: people")
        table(
            ["method", "touched, %", "approach, %", "least, m: min", "5 %", "median", "p, as K"],
            map(_contacts, rows),
        )
        heading(f"{plain(robot)}: the arm and its work")
        table(
            ["method", "throughput", "itself, %", "floor, %", "ends, %", "jerk", "stops", "us"],
            map(_work, rows),
        )
    line("In brackets: intervals at 95 %.  Rates: Clopper and Pearson's exact ones.  Throughput: the bootstrap's.")
    line("touched: runs in which capsules of arm and person overlapped.  approach: while the arm itself closed in by")
    line("more than 5 cm/s.  least: distance over a run; its minimum, 5 % quantile and median over the runs.")
    line("p, as K: McNemar's exact test of touches in the same scenes against K alone.  throughput: goals reached over")
    line("those of the arm alone.  itself, floor: runs in which the arm overlapped them.  ends: with a joint at")
    line("a limit.  jerk: RMS, rad/s^3.  stops: latched ones a run.  us: median time of a step, here.")
    if report.load is not None and report.load > 1.5 * report.cores:
        line(f"This machine was busy: {report.load:.1f} processes on {report.cores} cores; the times show it.")
    tables.missing(report.missing)


def show_search(report: SearchReport) -> None:
    """The best candidates and today's settings."""
    last = report.seed + report.runs - 1
    line(f"{', '.join(report.robots)}: {report.runs} training encounters each, seeds {report.seed} to {last}")
    today = defaults()
    names = list(today)
    shown = [c for k, c in enumerate(report.candidates) if k < BEST or c.settings == today]
    figures = {
        "score": [f"{c.score:.3f}" for c in shown],
        "throughput": [f"{c.throughput:.3f}" for c in shown],
        "touched, %": [f"{100 * c.touched:.1f}" for c in shown],
        "jerk, of the law's": [f"{c.jerk:.2f}" for c in shown],
        "faults": [str(c.faults) for c in shown],
    }
    figures |= {name.replace("_", " "): [f"{c.settings[name]:g}" for c in shown] for name in names}
    heads = ["today" if c.settings == today else str(1 + report.candidates.index(c)) for c in shown]
    table(["", *heads], [[name, *values] for name, values in figures.items()])
    line(f"score: throughput less {TOUCH:g} times the part of the runs with a touch, averaged over the arms.")
    line("jerk, of the law's: on the arm where it is most; above 1 a candidate does not count.  jerk: the limit.")
    line("faults: runs with an approach contact, an overlap with the arm itself or the floor, a joint at its end.")


def _contacts(row: MethodRow) -> list[object]:
    pair = row.against_reference
    return [
        row.method,
        _rate(row.touched),
        _rate(row.approach),
        f"{row.least:.3f}",
        f"{row.least_5:.3f}",
        f"{row.least_median:.3f}",
        "-" if pair is None else f"{pair.p:.2g} ({pair.only_this}:{pair.only_other})",
    ]


def _work(row: MethodRow) -> list[object]:
    return [
        row.method,
        f"{row.throughput.value:.2f} ({row.throughput.low:.2f} to {row.throughput.high:.2f})",
        _rate(row.itself),
        _rate(row.floor),
        _rate(row.ends),
        f"{row.jerk:.0f}",
        f"{row.stops:.1f}",
        f"{row.microseconds:.0f}",
    ]


def _rate(interval: Interval) -> str:
    low, high = 100 * interval.low, 100 * interval.high
    return f"0 (< {high:.1f})" if interval.value == 0.0 else f"{100 * interval.value:.1f} ({low:.1f} to {high:.1f})"
