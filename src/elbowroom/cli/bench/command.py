"""`elbowroom bench`: the benchmarks of `elbowroom.bench`, from the command line."""

from __future__ import annotations

import dataclasses
import importlib
import json as json_
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import __version__
from ...errors import ElbowroomError, pip_install
from ..terminal import line, plain, progress_line, write_json
from . import contact_tables, first_call_tables, identification_tables, planning_tables, tables

DEFAULT_ROBOTS = ("panda", "ur5e", "iiwa14", "puma560")
DRAWN = (".png", ".svg", ".pdf")
UNWRITTEN = ("curves",)  # what a report holds for the plot alone


class SensorKind(StrEnum):
    """What encounters are seen by."""

    CAMERA = "camera"
    IDEAL = "ideal"


class Benchmark(StrEnum):
    """What can be measured."""

    DYNAMICS = "dynamics"
    BATCH = "batch"
    DERIVATIVES = "derivatives"
    FIRST_CALLS = "first-calls"
    CHAINS = "chains"
    FIGURE4 = "figure4"
    DISTANCE = "distance"
    AVOIDANCE = "avoidance"
    GPU = "gpu"
    PAGE = "page"
    ENCOUNTERS = "encounters"
    SEARCH = "search"
    PLANNING = "planning"
    TRAPS = "traps"
    REPLANNING = "replanning"
    ROLLOUTS = "rollouts"
    CONTACT = "contact"
    IDENTIFICATION = "identification"


TAKES = {
    Benchmark.DYNAMICS: {"robot", "rounds"},
    Benchmark.BATCH: {"robot", "rounds", "states"},
    Benchmark.DERIVATIVES: {"robot", "rounds", "states"},
    Benchmark.FIRST_CALLS: {"robot", "joints"},
    Benchmark.CHAINS: {"joints", "rounds"},
    Benchmark.FIGURE4: {"joints", "rounds"},
    Benchmark.DISTANCE: {"rounds"},
    Benchmark.AVOIDANCE: {"cycles"},
    Benchmark.GPU: {"robot", "rounds", "states"},
    Benchmark.PAGE: set(),
    Benchmark.ENCOUNTERS: {"robot", "runs", "seed", "people", "sensor", "methods", "jobs", "limb_speed"},
    Benchmark.SEARCH: {"robot", "runs", "seed", "jobs", "candidates"},
    Benchmark.PLANNING: {"robot", "runs", "seed", "rounds", "problems"},
    Benchmark.TRAPS: {"robot", "runs", "seed", "methods", "jobs"},
    Benchmark.REPLANNING: {"robot", "runs", "seed"},
    Benchmark.ROLLOUTS: {"robot", "runs", "seed"},
    Benchmark.CONTACT: {"robot", "runs", "seed"},
    Benchmark.IDENTIFICATION: {"robot", "runs", "seed"},
}
ROBOTS: dict[Benchmark, tuple[str, ...]] = {  # not the default ones
    **dict.fromkeys((Benchmark.ENCOUNTERS, Benchmark.SEARCH, Benchmark.IDENTIFICATION), ("panda", "ur5e", "iiwa14")),
    **dict.fromkeys((Benchmark.PLANNING, Benchmark.TRAPS), ("panda", "ur5e", "iiwa14", "xarm7", "z1")),
    **dict.fromkeys((Benchmark.REPLANNING, Benchmark.ROLLOUTS, Benchmark.FIRST_CALLS), ("panda",)),
    Benchmark.CONTACT: ("panda", "iiwa14", "ur10e"),
}
UNDRAWN = (
    Benchmark.DERIVATIVES,
    Benchmark.FIRST_CALLS,
    Benchmark.SEARCH,
    Benchmark.PLANNING,
    Benchmark.TRAPS,
    Benchmark.REPLANNING,
    Benchmark.ROLLOUTS,
    Benchmark.CONTACT,
    Benchmark.IDENTIFICATION,
)
RUNS = {
    Benchmark.DYNAMICS: "elbowroom.bench.dynamics:one_state",
    Benchmark.BATCH: "elbowroom.bench.dynamics:batches",
    Benchmark.DERIVATIVES: "elbowroom.bench.derivatives:run",
    Benchmark.FIRST_CALLS: "elbowroom.bench.first_calls:run",
    Benchmark.CHAINS: "elbowroom.bench.dynamics:long_chains",
    Benchmark.FIGURE4: "elbowroom.bench.paper_times:figure_4",
    Benchmark.DISTANCE: "elbowroom.bench.distance:run",
    Benchmark.AVOIDANCE: "elbowroom.bench.avoidance:run",
    Benchmark.GPU: "elbowroom.bench.gpu:run",
    Benchmark.PAGE: "elbowroom.viewer.session.page_benchmark:run",
    Benchmark.ENCOUNTERS: "elbowroom.bench.encounters.report:run",
    Benchmark.SEARCH: "elbowroom.bench.encounters.search:run",
    Benchmark.PLANNING: "elbowroom.bench.planning.report:run",
    Benchmark.TRAPS: "elbowroom.bench.traps.report:run",
    Benchmark.REPLANNING: "elbowroom.bench.planning.replanning:run",
    Benchmark.ROLLOUTS: "elbowroom.bench.encounters.rollouts:run",
    Benchmark.CONTACT: "elbowroom.bench.contact:run",
    Benchmark.IDENTIFICATION: "elbowroom.bench.identification:run",
}
"""The functions that measure: they bring the other libraries in, and are imported when they are called for."""


def bench(
    benchmark: Annotated[Benchmark, typer.Argument(help="What to measure.")],
    robot: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="dynamics, batch, derivatives, first-calls, gpu, encounters, planning, traps, replanning, rollouts, "
            "contact, identification: an arm or, for the last seven, a file; as often as wanted.  "
            f"[{', '.join(DEFAULT_ROBOTS)}; encounters, identification the first three; planning, traps with xarm7 and "
            "z1; first-calls, replanning, rollouts the first; contact panda, iiwa14 and ur10e]",
        ),
    ] = None,
    joints: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", min=1, help="chains, figure4, first-calls: a length, as often as wanted.  [up to 100]"
        ),
    ] = None,
    states: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="batch, derivatives, gpu: states in a call.  [several sizes; 4096]"),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="dynamics to distance, gpu, planning: turns of each contender.  [60; gpu 15; planning 30]",
        ),
    ] = None,
    cycles: Annotated[
        int | None,
        typer.Option(metavar="N", min=1000, help="avoidance: how many cycles of ours are timed.  [100000]"),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="encounters, search, traps, replanning: how many, for each arm; planning: for each set; rollouts: "
            "turns; contact: ten minutes of work; identification: draws of the noise.  "
            "[100; search 60; replanning, identification 10; rollouts 3; contact 5]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="encounters, search, planning, traps, replanning, rollouts, contact, identification: the first seed.  "
            "[0; search 1000000]",
        ),
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="search: how many settings are drawn.  [30]")
    ] = None,
    people: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=2, help="encounters: people about the arm, 1 or 2.  [1]")
    ] = None,
    sensor: Annotated[
        SensorKind | None, typer.Option(help="encounters: what is seen of the people.  [camera]", show_default=False)
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="encounters, traps: which to compare, as K,K-supervised,mink, or curve, parts.  [all]",
        ),
    ] = None,
    limb_speed: Annotated[
        float | None,
        typer.Option(metavar="M/S", min=0.5, max=2.9, help="encounters: no point of a person is faster.  [2.9]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="encounters, search, traps: processes.  [all cores]")
    ] = None,
    problems: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="planning: the source archive of vamp-planner, with MotionBenchMaker's problems, or its folder.",
        ),
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
    elbowroom bench derivatives                 derivatives of dynamics, the regressor; several quantities in one kernel
    elbowroom bench first-calls                 derivatives that nothing has compiled yet: how long a first call takes
    elbowroom bench chains                      6 to 100 joints; compiles for a minute or two at first
    elbowroom bench figure4 --plot figure4.svg  Figure 4 of the GDAHJ paper: GDAHJ against CRBA, and where they cross
    elbowroom bench distance --plot times.svg   all distances of arm and person
    elbowroom bench avoidance --cycles 20000    one control cycle, and its tail
    elbowroom bench gpu                         batches on a CUDA card
    elbowroom bench page                        whether open pages make the live cell's loop late
    elbowroom bench encounters --runs 20        touches and throughput among people who walk and reach
    elbowroom bench encounters --robot my.urdf --people 2 --methods K,K-supervised --plot clear.png
    elbowroom bench encounters --methods curve  supervised under other assumptions about people
    elbowroom bench encounters --methods parts  supervised, with one of its parts left out at a time
    elbowroom bench planning --problems vamp_planner-0.6.4.tar.gz   problems solved, times; OMPL beside it
    elbowroom bench planning --robot my.urdf --runs 20              scenes of our own, for any arm
    elbowroom bench traps --runs 100            an obstacle on the straight way to the goal: who gets around it
    elbowroom bench replanning --runs 4         ways around a walking person: how soon; are control steps later
    elbowroom bench rollouts                    control steps a second, arms one by one and in lanes
    elbowroom bench contact --runs 5            pushes felt through torques, false alarms, and what reactions help
    elbowroom bench identification --runs 20    inertias and payload found in MuJoCo: are they within their errors
    elbowroom bench search                      settings drawn at random, in training encounters; half an hour

    One to five minutes each, replanning a minute a run, encounters longer with all methods; let nothing else run
    meanwhile.
    """
    options: dict[str, Any] = {"robot": robot, "joints": joints, "states": states, "rounds": rounds, "cycles": cycles}
    options |= {"candidates": candidates}
    options |= {"runs": runs, "seed": seed, "people": people, "jobs": jobs, "limb_speed": limb_speed}
    options |= {"problems": problems}
    options |= {"sensor": sensor and sensor.value, "methods": methods and methods.split(",")}
    given = {name: value for name, value in options.items() if value}
    for name in given.keys() - TAKES[benchmark]:
        raise typer.BadParameter(f"--{name.replace('_', '-')} does not go with {benchmark.value}")
    if plot is not None and benchmark in UNDRAWN:
        raise typer.BadParameter(f"--plot does not go with {benchmark.value}")
    draw = None if plot is None else _drawing(benchmark, plot)  # before anything is measured
    run = _measuring(benchmark)
    robots = [given.pop("robot", list(ROBOTS.get(benchmark, DEFAULT_ROBOTS)))] if "robot" in TAKES[benchmark] else []
    with progress_line() as progress:
        report = run(*robots, progress=progress, **given)
    if draw is not None:
        draw(report)
    if json is None:
        PRINTS[benchmark](report)
        if plot is not None:
            line("\nWritten:", plain(str(plot)))
        return
    content = {name: value for name, value in dataclasses.asdict(report).items() if name not in UNWRITTEN}
    content = {"elbowroom": __version__, **content}
    if json == "-":
        write_json(content, indent=2)
    else:
        Path(json).write_text(json_.dumps(content, indent=2) + "\n", encoding="utf-8")
        line("Written:", plain(", ".join(str(path) for path in (json, plot) if path)))


def _measuring(benchmark: Benchmark) -> Callable[..., Any]:
    """The function that measures, imported now."""
    name, _, function = RUNS[benchmark].partition(":")
    try:
        run: Callable[..., Any] = getattr(importlib.import_module(name), function)
        return run
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name.startswith(missing):
            raise ElbowroomError(f"the benchmark {benchmark.value!r} is not part of this installation") from error
        extra = "viewer" if benchmark is Benchmark.PAGE else "bench"
        raise ElbowroomError(f"the benchmark {benchmark.value!r} needs {missing}: {pip_install(extra)}") from error


def _drawing(benchmark: Benchmark, path: Path) -> Callable[[Any], None]:
    """What draws a report of the benchmark into a file; says at once if it cannot."""
    from ...experiments.figure_style import look, pyplot

    if path.suffix.lower() not in DRAWN:
        raise typer.BadParameter(f"--plot must end with {', '.join(DRAWN)}; got {str(path)!r}")
    if not path.parent.is_dir():
        raise ElbowroomError(f"--plot: there is no folder {str(path.parent)!r}")
    pyplot()  # before anything is measured

    def draw(report: Any) -> None:
        from ...bench import charts

        sizes = len({getattr(row, "states", 1) for row in report.rows})
        kinds: dict[Benchmark, Callable[..., None]] = {
            Benchmark.DYNAMICS: charts.times,
            Benchmark.DISTANCE: charts.times,
            Benchmark.GPU: charts.times,
            Benchmark.AVOIDANCE: charts.cycles,
            Benchmark.BATCH: partial(charts.curves, over="states") if sizes > 1 else charts.times,
            Benchmark.CHAINS: partial(charts.curves, over="n"),
            Benchmark.FIGURE4: charts.figure4,
            Benchmark.PAGE: charts.pages,
            Benchmark.ENCOUNTERS: charts.encounters,
        }
        with look():
            kinds[benchmark](report, path)

    return draw


PRINTS: dict[Benchmark, Callable[[Any], None]] = {
    Benchmark.DYNAMICS: tables.dynamics,
    Benchmark.BATCH: tables.batch,
    Benchmark.DERIVATIVES: tables.derivatives,
    Benchmark.FIRST_CALLS: first_call_tables.first_calls,
    Benchmark.CHAINS: tables.chains,
    Benchmark.FIGURE4: tables.figure4,
    Benchmark.DISTANCE: tables.distance,
    Benchmark.AVOIDANCE: tables.avoidance,
    Benchmark.GPU: tables.gpu,
    Benchmark.PAGE: tables.page,
    Benchmark.ENCOUNTERS: tables.encounters,
    Benchmark.SEARCH: tables.search,
    Benchmark.PLANNING: planning_tables.planning,
    Benchmark.TRAPS: planning_tables.traps,
    Benchmark.REPLANNING: planning_tables.replanning,
    Benchmark.ROLLOUTS: tables.rollouts,
    Benchmark.CONTACT: contact_tables.contact,
    Benchmark.IDENTIFICATION: identification_tables.identification,
}
