"""`elbowroom bench`: the benchmarks of `elbowroom.bench`, from the command line."""

from __future__ import annotations

import dataclasses
import importlib
import json as json_
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live

from .. import __version__
from ..errors import ElbowroomError
from . import bench_cycles
from .terminal import console, duration, heading, line, plain, table

if TYPE_CHECKING:
    from ..bench.dynamics import Report, Row

DEFAULT_ROBOTS = ("panda", "ur5e", "puma560")
US = "elbowroom"
DRAWN = (".png", ".svg", ".pdf")
UNWRITTEN = ("curves",)  # what a report holds for the plot alone


class Suite(StrEnum):
    """What can be measured."""

    DYNAMICS = "dynamics"
    DISTANCE = "distance"
    AVOIDANCE = "avoidance"
    PAGE = "page"


TAKES = {
    Suite.DYNAMICS: {"robot"},
    Suite.DISTANCE: {"plot"},
    Suite.AVOIDANCE: {"cycles", "plot"},
    Suite.PAGE: set(),
}
MODULES = {Suite.PAGE: "elbowroom.viewer.load"}  # the others are in elbowroom.bench


def bench(
    suite: Annotated[Suite, typer.Argument(help="What to measure.")],
    robot: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"dynamics: an arm, as often as wanted.  [{', '.join(DEFAULT_ROBOTS)}]"),
    ] = None,
    cycles: Annotated[
        int | None,
        typer.Option(metavar="N", min=1000, help="avoidance: how many cycles of ours are timed.  [100000]"),
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="PATH|-", help="Write JSON to a file, or to stdout with -.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PATH", help="distance, avoidance: draw it, as png, svg or pdf.")
    ] = None,
) -> None:
    """Measure speed here, beside other libraries, where they are installed.

    \b
    elbowroom bench dynamics                    mass matrices, torques: one state and batches
    elbowroom bench dynamics --robot ur5e --robot panda --json times.json
    elbowroom bench distance --plot times.svg   all distances of arm and person
    elbowroom bench avoidance --cycles 20000    one control cycle, and its tail
    elbowroom bench page                        whether open pages make the live cell's loop late

    A minute or so each; let nothing else run meanwhile.
    """
    for name, value in {"robot": robot, "cycles": cycles, "plot": plot}.items():
        if value and name not in TAKES[suite]:
            raise typer.BadParameter(f"--{name} does not go with {suite.value}")
    draw = None if plot is None else _drawing(suite, plot)  # before anything is measured
    module = _module(suite)
    options: dict[str, Any] = {} if cycles is None else {"cycles": cycles}
    robots = [list(robot or DEFAULT_ROBOTS)] if suite is Suite.DYNAMICS else []
    with _progress() as progress:
        report = module.run(*robots, progress=progress, **options)
    if draw is not None:
        draw(report)
    if json is None:
        PRINTS[suite](report)
        return
    content = {name: value for name, value in dataclasses.asdict(report).items() if name not in UNWRITTEN}
    text = json_.dumps({"elbowroom": __version__, **content}, indent=2) + "\n"
    if json == "-":
        sys.stdout.write(text)
    else:
        Path(json).write_text(text, encoding="utf-8")


def _module(suite: Suite) -> Any:
    """The suite's module, which is imported only here: it brings the other libraries in."""
    name = MODULES.get(suite, f"elbowroom.bench.{suite.value}")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name.startswith(missing):
            raise ElbowroomError(f"the benchmark {suite.value!r} is not part of this installation") from error
        extra = "viewer" if suite is Suite.PAGE else "bench"
        raise ElbowroomError(
            f"the benchmark {suite.value!r} needs {missing}: pip install 'elbowroom[{extra}]'"
        ) from error


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line that shows on a terminal alone.  No thread renews it: that would be timed, too."""
    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as live:
        yield lambda text: live.update(plain(text), refresh=True)


def _drawing(suite: Suite, path: Path) -> Callable[[Any], None]:
    """What draws a report of the suite into a file; says at once if it cannot."""
    from ..experiments import figures

    if path.suffix.lower() not in DRAWN:
        raise typer.BadParameter(f"--plot must end with {', '.join(DRAWN)}; got {str(path)!r}")
    if not path.parent.is_dir():
        raise ElbowroomError(f"--plot: there is no folder {str(path.parent)!r}")
    plt = figures.pyplot()

    def draw(report: Any) -> None:
        from ..bench import chart

        with plt.rc_context(figures.LOOK):
            (chart.cycles if suite is Suite.AVOIDANCE else chart.times)(plt, report, path)

    return draw


def _print_dynamics(report: Report) -> None:
    versions = _introduce(report)
    for kind, title in (
        ("dynamics", "One state: a call from Python, array in, new array out"),
        ("batch", "A batch: time a state, one thread"),
    ):
        rows = [row for row in report.rows if row.bench == kind]
        if rows:
            heading(f"{title}; in brackets how many times ours")
            _compare(rows)
    if "Pinocchio" in versions:
        line("Pinocchio's batches: its own parallel calls on one thread; the mass matrix one call a state.")
    _missing(report.missing)


def _print_distance(report: Report) -> None:
    versions = _introduce(report)
    heading("Capsules of an arm against those of a person: best time; in brackets how many times ours")
    _compare(report.rows)
    noise = max(row.p90_seconds / row.seconds_per_state for row in report.rows)
    line(f"Nine tenths of the rounds of each kept within {noise:.1f} times its best.")
    if "coal" in versions:
        line("coal: its function for two shapes, called from Python for each pair; the least taken as we go.")
    if "coal in Pinocchio" in versions:
        line("coal in Pinocchio: Pinocchio's own loop over all pairs (computeDistances); it does not pick the least.")
    line("Ours in one call also has the speed at which each pair closes.  A batch has a scene of ours after the other.")
    _missing(report.missing)


def _print_page(report: Any) -> None:
    line(f"elbowroom {__version__}; {report.cpu}; the live cell's loop, {1000 * report.period:g} ms a cycle")
    heading("How late cycles begin, by open pages")
    table(
        ["pages", "cycles", "median", "99 %", "99.9 %", "worst", "overruns", "kB/s a page"],
        (
            [
                "an empty loop" if row.pages < 0 else str(row.pages),
                row.cycles,
                *map(duration, (row.median, row.p99, row.p999, row.worst)),
                row.overruns,
                f"{row.bytes_a_second / 1000:.0f}" if row.pages > 0 else "",
            ]
            for row in report.rows
        ),
    )
    line("A page here is a websocket client that reads all it is sent, and draws nothing.")


PRINTS: dict[Suite, Callable[[Any], None]] = {
    Suite.DYNAMICS: _print_dynamics,
    Suite.DISTANCE: _print_distance,
    Suite.AVOIDANCE: bench_cycles.show,
    Suite.PAGE: _print_page,
}


def _introduce(report: Report) -> dict[str, str]:
    versions = {row.who: row.version for row in report.rows}
    line(", ".join(f"{who} {version}" for who, version in versions.items()) + f"; {report.cpu}")
    return versions


def _missing(names: list[str]) -> None:
    if names:
        line(f"Not installed here: {', '.join(names)}.  pip install 'elbowroom[bench]' adds them.")


def _compare(rows: list[Row]) -> None:
    """A line a robot and quantity, a column a contender."""
    others = list(dict.fromkeys(row.who for row in rows if row.who != US))
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row.robot, row.quantity), {})[row.who] = row

    def theirs(row: Row | None) -> str:
        return "" if row is None else f"{duration(row.seconds_per_state)} ({row.ratio_to_us:.1f})"

    table(
        ["robot", "quantity", US, *others],
        (
            [robot, quantity, duration(by[US].seconds_per_state), *(theirs(by.get(who)) for who in others)]
            for (robot, quantity), by in lines.items()
        ),
        words=2,
    )
