"""What `elbowroom bench planning`, `bench traps` and `bench replanning` print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ... import __version__
from ..terminal import heading, line, plain, table
from .tables import busy, missing, rate_text, ratio

if TYPE_CHECKING:
    from ...bench.encounters.run import Interval
    from ...bench.planning.replanning import LaterRow, ReplanningReport, RequestRow, StepRow, TimeSpread
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
    table(["problems", "of", "no way", "solved, %", "OMPL, %", "of OMPL's, %", "touches"], map(_solved, report.rows))
    heading("How long that took, and how long the ways are")
    table(["problems", "ms", "95 %", "CPU ms", "95 %", "OMPL ms", "95 %", "rad", "OMPL rad"], map(_times, report.rows))
    if any(row.vamp_solved for row in report.rows):
        heading("VAMP's RRT-Connect and shortening, with its own spheres, on the same problems")
        table(["problems", "of", "solved, %", "ms", "95 %"], (_vamp(row) for row in report.rows if row.vamp_solved))
    line("of: problems whose start and goal are free by our checker; + those that are not, which count for no one.")
    line("no way: of these, problems that ours proves to have none; solved and OMPL: of the others.")
    line("ms: median until the way is there, shortened and timed, on the clock and of the processor; OMPL's is of the")
    line("processor, to its first way, found through Python.")
    line("rad: median length of the way where both have one.  touches: timed routes that touch, looked at every mrad.")
    line("In brackets: the lower end of Clopper and Pearson's exact interval at 95 %.")
    busy(report.load, report.cores)
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
        others: list[Row | None] = [row for who, row in by.items() if who != US]
        for peer in others or [None]:
            timed = [ours, peer] if peer else [ours]
            found.append(
                [
                    robot,
                    quantity,
                    f"{1e-3 / ours.seconds_per_state:.0f}" + (f" ({ratio(peer.ratio_to_us)})" if peer else ""),
                    f"{1e-3 / peer.seconds_per_state:.0f}" if peer else "",
                    f"{peer.who} {peer.version}" if peer else "",
                    f"{max(row.p90_seconds / row.seconds_per_state for row in timed):.1f}",
                ]
            )
    return found


def _solved(row: SetRow) -> list[object]:
    return [
        row.name,
        f"{row.problems}" + (f" + {row.refused}" if row.refused else ""),
        row.no_way or "",
        *map(_least, (row.solved, row.ompl_solved, row.of_ompl)),
        row.touches,
    ]


def _vamp(row: SetRow) -> list[object]:
    times = (_number(value, 2, 1e3) for value in (row.vamp_median, row.vamp_p95))
    return [row.name, row.problems, _least(row.vamp_solved), *times]


def _times(row: SetRow) -> list[object]:
    return [
        row.name,
        *(
            _number(value, 1, 1e3)
            for value in (row.median, row.p95, row.cpu, row.cpu_p95, row.ompl_median, row.ompl_p95)
        ),
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
    busy(report.load, report.cores)
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


def replanning(report: ReplanningReport) -> None:
    """What became of requests, how long they took, and control steps with planning beside those without."""
    last, period = report.seed + report.runs - 1, 1e3 * report.period
    cores = f"{report.cores} core{'s' if report.cores > 1 else ''}"
    line(f"elbowroom {__version__}; {plain(report.cpu)}, {cores}")
    line(
        f"{report.runs} runs an arm, seeds {report.seed} to {last}: {report.duration:g} s in real time with planning, "
        f"in turns with as long without; {period:g} ms a step"
    )
    heading("Requests, beside a person who walks across the work and back")
    outcomes = list(report.requests[0].outcomes)
    table(
        ["robot", "requests", *outcomes, "replans", "dropped"],
        ([row.robot, row.requests, *row.outcomes.values(), row.replans, row.dropped] for row in report.requests),
    )
    heading("How long an answer took, ms")
    table(["robot", "what", "median", "95 %", "longest"], (r for row in report.requests for r in _asked(row)), words=2)
    heading("Control steps, ms")
    table(
        ["robot", "planning", "steps", "own", "99 %", "step", "99 %", "longest", "late", "99 %", "longest", "over"],
        map(_step_cells, report.steps),
        words=2,
    )
    heading("With planning less without, us")
    table(["robot", "of", "median", "99 %"], (cells for row in report.later for cells in _later(row)), words=2)
    line(
        "answer: from the request to the control step that has the answer, which looks once in a period.  planning: on"
    )
    line("the planner's own clock.  CPU: of the planner's process, for the request.")
    line("own: CPU time of a step.  step: from its beginning until the command is written.  late: from its deadline to")
    line("its beginning.  over: commands written after the next deadline, and deadlines without a step.")
    line("In brackets: a bootstrap's bounds at 95 %, by pairs of turns.")
    line("at work: of the steps with planning, those that began with a request not answered yet.")
    touched = [f"{row.robot} {row.contacts}, without planning {row.contacts_without}" for row in report.later]
    line(plain(f"Contacts with this person, who does not look out: {'; '.join(touched)}."))
    busy(report.load, report.cores)
    for note in report.notes:
        line(plain(note))


def _asked(row: RequestRow) -> Iterator[list[object]]:
    """A line a time."""
    spreads = {"answer with a route": row.routes, "any answer": row.answers, "planning": row.planning, "CPU": row.cpu}
    for name, spread in spreads.items():
        if spread is not None:
            yield [row.robot, name, *(_number(value, 1, 1e3) for value in (spread.median, spread.p95, spread.max))]


def _step_cells(row: StepRow) -> list[object]:
    def tail(spread: TimeSpread) -> list[str]:
        return [_number(value, 2, 1e3) for value in (spread.median, spread.p99, spread.max)]

    return [row.robot, row.planning, row.steps, *tail(row.own)[:2], *tail(row.step), *tail(row.late), row.over]


def _microseconds(interval: Interval) -> str:
    value, low, high = (round(1e6 * each) for each in (interval.value, interval.low, interval.high))
    return f"{value:+d} ({low:+d}, {high:+d})"


def _later(row: LaterRow) -> Iterator[list[object]]:
    pairs = {
        "own": (row.own_median, row.own_p99),
        "step": (row.step_median, row.step_p99),
        "late": (row.late_median, row.late_p99),
    }
    for name, each in pairs.items():
        yield [row.robot, name, *map(_microseconds, each)]


def _least(interval: Interval | None) -> str:
    """A part with the lower end of its interval, %."""
    return "" if interval is None else f"{100 * interval.value:.1f} (> {100 * interval.low:.0f})"


def _maybe(interval: Interval | None) -> str:
    return "" if interval is None else rate_text(interval)


def _number(value: float | None, digits: int, times: float = 1.0) -> str:
    return "" if value is None else f"{times * value:.{digits}f}"
