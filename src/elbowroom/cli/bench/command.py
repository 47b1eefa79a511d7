"""`elbowroom bench`: the benchmarks of `elbowroom.bench`, from the command line."""

from __future__ import annotations

import dataclasses
import importlib
import json as json_
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live

from ... import __version__
from ...errors import ElbowroomError
from ..terminal import console, line, plain
from . import tables

DEFAULT_ROBOTS = ("panda", "ur5e", "iiwa14", "puma560")
DRAWN = (".png", ".svg", ".pdf")
UNWRITTEN = ("curves",)  # what a report holds for the plot alone


class Sensor(StrEnum):
    """What encounters are seen by."""

    CAMERA = "camera"
    IDEAL = "ideal"


class Suite(StrEnum):
    """What can be measured."""

    DYNAMICS = "dynamics"
    BATCH = "batch"
    CHAINS = "chains"
    DISTANCE = "distance"
    AVOIDANCE = "avoidance"
    GPU = "gpu"
    PAGE = "page"
    ENCOUNTERS = "encounters"
    SEARCH = "search"


TAKES = {
    Suite.DYNAMICS: {"robot", "rounds"},
    Suite.BATCH: {"robot", "rounds", "states"},
    Suite.CHAINS: {"joints", "rounds"},
    Suite.DISTANCE: {"rounds"},
    Suite.AVOIDANCE: {"cycles"},
    Suite.GPU: {"robot", "rounds", "states"},
    Suite.PAGE: set(),
    Suite.ENCOUNTERS: {"robot", "runs", "seed", "people", "sensor", "methods", "jobs", "limb_speed"},
    Suite.SEARCH: {"robot", "runs", "seed", "jobs", "candidates"},
}
ROBOTS = dict.fromkeys((Suite.ENCOUNTERS, Suite.SEARCH), ("panda", "ur5e", "iiwa14"))  # where not the default ones
MODULES = {
    Suite.PAGE: "elbowroom.viewer.session.page_benchmark",
    Suite.ENCOUNTERS: "elbowroom.bench.encounters.report",
    Suite.SEARCH: "elbowroom.bench.encounters.search",
}


def bench(
    suite: Annotated[Suite, typer.Argument(help="What to measure.")],
    robot: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"dynamics, batch, gpu, encounters: an arm or, for encounters, a file; as often as wanted.  "
            f"[{', '.join(DEFAULT_ROBOTS)}; encounters the first three]",
        ),
    ] = None,
    joints: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="chains: a length, as often as wanted.  [6 to 100]"),
    ] = None,
    states: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="batch, gpu: states in a call.  [several sizes]")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="dynamics to distance, gpu: turns of everybody.  [60; gpu 15]"),
    ] = None,
    cycles: Annotated[
        int | None,
        typer.Option(metavar="N", min=1000, help="avoidance: how many cycles of ours are timed.  [100000]"),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="encounters, search: how many, for each arm.  [100; search 60]"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="encounters, search: the first seed.  [0; search 1000000]")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="search: how many settings are drawn.  [30]")
    ] = None,
    people: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=2, help="encounters: people about the arm, 1 or 2.  [1]")
    ] = None,
    sensor: Annotated[
        Sensor | None, typer.Option(help="encounters: what is seen of the people.  [camera]", show_default=False)
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...", help="encounters: which to compare, as K,K-supervised,mink, or curve, parts.  [all]"
        ),
    ] = None,
    limb_speed: Annotated[
        float | None,
        typer.Option(metavar="M/S", min=0.5, max=2.9, help="encounters: no point of a person is faster.  [2.9]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="encounters, search: processes.  [all cores]")
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="PATH|-", help="Write JSON instead of the table, to a file or with - to stdout."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="PATH", help="Draw it, as png, svg or pdf.")] = None,
) -> None:
    """Measure speed here, and what an arm does among people, beside other libraries, where they are installed.

    \b
    elbowroom bench dynamics                    mass matrices, torques, ...: one state
    elbowroom bench dynamics --robot ur5e --robot panda --json times.json --plot times.svg
    elbowroom bench batch                       many states: a time each, on one thread and more
    elbowroom bench chains                      6 to 100 joints; compiles for a minute or two at first
    elbowroom bench distance --plot times.svg   all distances of arm and person
    elbowroom bench avoidance --cycles 20000    one control cycle, and its tail
    elbowroom bench gpu                         batches on a CUDA card
    elbowroom bench page                        whether open pages make the live cell's loop late
    elbowroom bench encounters --runs 20        touches and throughput among people who walk and reach
    elbowroom bench encounters --robot my.urdf --people 2 --methods K,K-supervised --plot clear.png
    elbowroom bench encounters --methods curve  supervised under other assumptions about people
    elbowroom bench encounters --methods parts  supervised, with one of its parts left out at a time
    elbowroom bench search                      settings drawn at random, in training encounters; half an hour

    One to five minutes each, encounters longer with all methods; let nothing else run meanwhile.
    """
    options: dict[str, Any] = {"robot": robot, "joints": joints, "states": states, "rounds": rounds, "cycles": cycles}
    options |= {"candidates": candidates}
    options |= {"runs": runs, "seed": seed, "people": people, "jobs": jobs, "limb_speed": limb_speed}
    options |= {"sensor": sensor and sensor.value, "methods": methods and methods.split(",")}
    given = {name: value for name, value in options.items() if value}
    for name in given.keys() - TAKES[suite]:
        raise typer.BadParameter(f"--{name.replace('_', '-')} does not go with {suite.value}")
    if plot is not None and suite is Suite.SEARCH:
        raise typer.BadParameter("--plot does not go with search")
    draw = None if plot is None else _drawing(suite, plot)  # before anything is measured
    module = _module(suite)
    robots = [given.pop("robot", list(ROBOTS.get(suite, DEFAULT_ROBOTS)))] if "robot" in TAKES[suite] else []
    with _progress() as progress:
        report = module.run(*robots, progress=progress, **given)
    if draw is not None:
        draw(report)
    if json is None:
        PRINTS[suite](report)
        if plot is not None:
            line("\nWritten:", plain(str(plot)))
        return
    content = {name: value for name, value in dataclasses.asdict(report).items() if name not in UNWRITTEN}
    text = json_.dumps({"elbowroom": __version__, **content}, indent=2) + "\n"
    if json == "-":
        sys.stdout.write(text)
    else:
        Path(json).write_text(text, encoding="utf-8")
        line("Written:", plain(", ".join(str(path) for path in (json, plot) if path)))


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
        raise ElbowroomError(f"the benchmark {suite.value!r} needs {missing}: pip install '.[{extra}]'") from error


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line that shows on a terminal alone.  No thread renews it: that would be timed, too."""
    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as live:
        yield lambda text: live.update(plain(text), refresh=True)


def _drawing(suite: Suite, path: Path) -> Callable[[Any], None]:
    """What draws a report of the suite into a file; says at once if it cannot."""
    from ...experiments.figure_style import LOOK, pyplot

    if path.suffix.lower() not in DRAWN:
        raise typer.BadParameter(f"--plot must end with {', '.join(DRAWN)}; got {str(path)!r}")
    if not path.parent.is_dir():
        raise ElbowroomError(f"--plot: there is no folder {str(path.parent)!r}")
    plt = pyplot()

    def draw(report: Any) -> None:
        from ...bench import charts

        sizes = len({getattr(row, "states", 1) for row in report.rows})
        kinds: dict[Suite, Callable[..., None]] = {
            Suite.DYNAMICS: charts.times,
            Suite.DISTANCE: charts.times,
            Suite.GPU: charts.times,
            Suite.AVOIDANCE: charts.cycles,
            Suite.BATCH: partial(charts.curves, over="states") if sizes > 1 else charts.times,
            Suite.CHAINS: partial(charts.curves, over="n"),
            Suite.PAGE: charts.pages,
            Suite.ENCOUNTERS: charts.encounters,
        }
        with plt.rc_context(LOOK):
            kinds[suite](plt, report, path)

    return draw


PRINTS: dict[Suite, Callable[[Any], None]] = {
    Suite.DYNAMICS: tables.dynamics,
    Suite.BATCH: tables.batch,
    Suite.CHAINS: tables.chains,
    Suite.DISTANCE: tables.distance,
    Suite.AVOIDANCE: tables.avoidance,
    Suite.GPU: tables.gpu,
    Suite.PAGE: tables.page,
    Suite.ENCOUNTERS: tables.encounters,
    Suite.SEARCH: tables.search,
}
