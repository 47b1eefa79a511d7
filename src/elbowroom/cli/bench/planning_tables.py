"""What `elbowroom bench planning` and `bench traps` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import __version__
from ..terminal import heading, line, plain, table
from .tables import missing, rate_text, ratio

if TYPE_CHECKING:
    from ...bench.encounters.run import Interval
    from ...bench.planning.report import PlanningReport, SetRow
    from ...bench.timing import Row
    from ...bench.traps.report import TrapReport, TrapRow

US = "elbowroom"


def planning(report: PlanningReport) -> None:
    """Configurations a second, then a line a set of problems."""
    peer = "" if report.ompl is None else f", OMPL {report.ompl}"
    line(f"elbowroom {__version__}{peer}; {plain(report.cpu)}; one core")
    heading("Configurations checked in a second, in thousands; in brackets how many times the peer's")
    table(["robot", "quantity", US, "peer", "who", "spread"], _validity_lines(report.validity), words=2)
    heading(f"Problems: a way within {report.budget:g} s, ours beside OMPL's RRT-Connect with our checker")
    table(["problems", "of", "solved, %", "OMPL, %", "of OMPL's, %", "touches"], map(_solved, report.rows))
    heading("How long that took, and how long the ways are")
    table(["problems", "ms", "95 %", "OMPL ms", "95 %", "rad", "OMPL rad"], map(_times, report.rows))
    line("of: problems whose start and goal are free by our checker; + those that are not, which count for no one.")
    line("ms: median until the way is there, shortened and timed; OMPL's is its first way, found through Python.")
    line("rad: median length of the way where both have one.  touches: timed routes that touch, looked at every mrad.")
    line("In brackets: the lower end of Clopper and Pearson's exact interval at 95 %.")
    _busy(report.load, report.cores)
    for note in report.notes:
        line(plain(note))
    missing(report.missing)


def _validity_lines(rows: list[Row]) -> list[list[object]]:
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row.robot, row.quantity), {})[row.who] = row
    found: list[list[object]] = []
    for (robot, quantity), by in lines.items():
        ours = by[US]
        others = [row for who, row in by.items() if who != US]
        peer = others[0] if others else None
        found.append(
            [
                robot,
                quantity,
                f"{1e-3 / ours.seconds_per_state:.0f}" + (f" ({ratio(peer.ratio_to_us)})" if peer else ""),
                f"{1e-3 / peer.seconds_per_state:.0f}" if peer else "",
                f"{peer.who} {peer.version}" if peer else "",
                f"{max(row.p90_seconds / row.seconds_per_state for row in by.values()):.1f}",
            ]
        )
    return found


def _solved(row: SetRow) -> list[object]:
    return [
        row.name,
        f"{row.problems}" + (f" + {row.refused}" if row.refused else ""),
        *map(_least, (row.solved, row.ompl_solved, row.of_ompl)),
        row.touches,
    ]


def _times(row: SetRow) -> list[object]:
    return [
        row.name,
        *(_number(value, 1, 1e3) for value in (row.median, row.p95, row.ompl_median, row.ompl_p95)),
        *(_number(value, 2) for value in (row.length, row.ompl_length)),
    ]


def traps(report: TrapReport) -> None:
    """A table an arm, and what the columns mean."""
    last = report.seed + report.runs - 1
    line(
        f"{report.runs} scenes an arm, seeds {report.seed} to {last}: an obstacle on the straight way to the goal, "
        f"{report.duration:g} s; {plain(report.cpu)}"
    )
    for robot in dict.fromkeys(row.robot for row in report.rows):
        heading(f"{plain(robot)}")
        table(
            ["method", "of", "reached, %", "touched", "time", "plan, ms"],
            (_trap_cells(row) for row in report.rows if row.robot == robot),
        )
    if report.ompl is not None:
        line(
            f"of: scenes that OMPL {report.ompl}'s RRT-Connect solves in {report.budget:g} s with our checker; its own"
        )
        line("line is of all scenes.")
    else:
        line("of: all scenes; which of them can be solved at all is not known without OMPL.")
    line("reached: the tool within 2.5 cm of its goal in time; in brackets Clopper and Pearson's intervals at 95 %.")
    line(
        "touched: runs in which the arm overlapped the obstacle.  time: to the goal, over that of the free arm; median"
    )
    line("where both arrive.  plan: median of all planning in a run; the arm stands meanwhile.  free arm: K as if the")
    line("obstacle were not there; where it touches, the straight way is no way.")
    own = [f"{row.robot} {row.method} {row.itself} and {row.floor}" for row in report.rows if row.itself or row.floor]
    if own:
        line(plain(f"Runs that overlapped the arm itself and the floor: {', '.join(own)}."))
    _busy(report.load, report.cores)
    for note in report.notes:
        line(plain(note))
    missing(report.missing)


def _trap_cells(row: TrapRow) -> list[object]:
    return [
        row.method,
        row.runs,
        _maybe(row.reached),
        row.touched,
        _number(row.time_ratio, 2),
        _number(row.planning, 1, 1e3),
    ]


def _least(interval: Interval | None) -> str:
    """A part with the lower end of its interval, %."""
    return "" if interval is None else f"{100 * interval.value:.1f} (> {100 * interval.low:.0f})"


def _maybe(interval: Interval | None) -> str:
    return "" if interval is None else rate_text(interval)


def _number(value: float | None, digits: int, times: float = 1.0) -> str:
    return "" if value is None else f"{times * value:.{digits}f}"


def _busy(load: float | None, cores: int) -> None:
    if load is not None and load > 0.75 + 0.5 * cores:
        line(f"The machine was busy: {load:.1f} processes on {cores} cores; the times show it.")
