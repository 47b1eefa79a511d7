"""`elbowroom experiment`: the thesis' seven tests, and recorded people, run again."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import ElbowroomError
from ..experiments.thesis.checks import checks, numbers
from ..experiments.thesis.experiment import ARM, TESTS, Job, experiments
from ..experiments.thesis.outcome import Outcome, rows
from ..experiments.thesis.pages import write
from ..experiments.thesis.report_numbers import Check
from ..experiments.thesis.suite import Suite, has_mujoco, jobs_of, jobs_of_all, plants, recorded
from .terminal import console, line, note, number, table

FOLDER = "elbowroom-experiments"
INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


class Plants(StrEnum):
    """What moves the arm."""

    KINEMATIC = "kinematic"
    RIGID = "rigid"
    MUJOCO = "mujoco"
    ALL = "all"


def experiment(
    what: Annotated[
        str, typer.Argument(metavar="1..7|all|recorded", help="A test, all of them, or a recorded person.")
    ],
    plant: Annotated[
        Plants | None, typer.Option(help="What moves: kinematic, rigid, mujoco, all.  [kinematic; of `all`, all]")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another arm: a name, a URDF or a TOML file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Where to write.  [{FOLDER}, or the next name that is free]")
    ] = None,
    motion: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="recorded: a Vicon CSV or a BVH file; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The numbers as JSON on stdout, nothing else there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
) -> None:
    """Run the thesis' experiments and write recordings, plots and a report.

    \b
    elbowroom experiment 1                      test 1, every variant, on the kinematic plant
    elbowroom experiment all                    all seven, three plants, four arms: a few minutes
    elbowroom experiment 3 --plant mujoco --robot panda --out side
    elbowroom experiment recorded --motion take.csv

    The folder then holds report.html, which needs nothing else, figures/, recordings/ (CSV) and results.json.
    Ctrl-C keeps what there is.
    """
    jobs = _jobs(what, plant, robot, motion)
    folder = _folder(out, force)
    suite = Suite(jobs, folder)
    interrupted = ""
    try:
        _run(suite)
    except KeyboardInterrupt:
        interrupted = suite.broken_off()
        note("interrupted", f"{interrupted}; the report is made of what is finished")
    arm = robot or ARM
    found = checks(suite.outcomes, _name(suite.outcomes, arm))
    missing = dict(suite.failed)
    if what == "all" and not has_mujoco():
        missing["mujoco"] = "the MuJoCo plant needs MuJoCo: pip install 'elbowroom[mujoco]'"
    if interrupted:
        missing["interrupted"] = f"interrupted {interrupted}"
    try:
        page = _write(suite, found, missing)
    except KeyboardInterrupt:
        note("interrupted", f"before the report was whole; recordings are in {folder / 'recordings'}")
        raise typer.Exit(INTERRUPTED) from None
    for problem in suite.problems:
        note("warning", problem)
    for name, why in suite.failed.items():
        note("failed", f"{name}: {why}", "bold red")
    if json:
        sys.stdout.write(rows(suite.outcomes))
    else:
        _show(suite.outcomes)
        beside = numbers(suite.outcomes, _name(suite.outcomes, arm))
        for what_kind, some in (("numbers of the thesis", beside), ("results that it puts in words", found)):
            if some:
                line(f"{sum(check.met for check in some)} of {len(some)} {what_kind} are met.")
        for check in (*beside, *found):
            if not check.met:
                note("not met", f"test {check.test}: {check.text}: {check.value}; wanted {check.wanted}")
    note("written", str(page), "green")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if suite.failed:
        raise typer.Exit(1)


def _jobs(what: str, plant: Plants | None, robot: str | None, motion: list[Path] | None) -> list[Job]:
    kinds = ("kinematic",) if plant is None else plants() if plant is Plants.ALL else (plant.value,)
    if what == "recorded":
        if not motion:
            raise typer.BadParameter("recorded needs a recording: --motion FILE")
        return [job for file in motion for job in recorded(file, kinds, robot)]
    if motion:
        raise typer.BadParameter("--motion belongs to `recorded`")
    if what == "all":
        if plant is None and robot is None:
            return jobs_of_all()
        return [job for each in experiments() for job in jobs_of(each, kinds, robot)]
    if not what.isdecimal() or int(what) not in TESTS:
        raise typer.BadParameter(f"expected a test from 1 to 7, all, or recorded; got {what!r}")
    return jobs_of(experiments()[int(what) - 1], kinds, robot)


def _folder(out: Path | None, force: bool) -> Path:
    """Where to write: a folder that is new, or empty, or given with --force."""
    if out is None:
        names = [Path(FOLDER), *(Path(f"{FOLDER}-{k}") for k in range(2, 10_000))]
        out = next(name for name in names if not name.exists())
    if out.exists() and not out.is_dir():
        raise ElbowroomError(f"{out}: is a file; expected the name of a folder")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise ElbowroomError(f"{out}: is not empty, and nothing in it is overwritten unasked; take another or --force")
    out.mkdir(parents=True, exist_ok=True)
    return out


def _bar() -> Progress:
    """A bar on stderr, gone when it is done; nothing where stderr is no terminal."""
    errors = console(stderr=True)
    parts = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    return Progress(
        *parts,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )


def _run(suite: Suite) -> None:
    """All runs, with a bar on a terminal and a line a run elsewhere, both on stderr."""
    total = len(suite.jobs)
    with _bar() as bar:
        whole = bar.add_task("experiments", total=float(total))

        def told(k: int, name: str, done: int, count: int) -> None:
            bar.update(whole, description=f"{k + 1}/{total} {name}", completed=k + done / count)
            if bar.disable and done == count:
                print(f"{k + 1}/{total} {name}", file=sys.stderr, flush=True)

        suite.run(told)


def _write(suite: Suite, found: list[Check], missing: dict[str, str]) -> Path:
    assert suite.folder is not None
    with _bar() as bar:
        figures = bar.add_task("figures")

        def told(k: int, count: int, name: str) -> None:
            bar.update(figures, description=name, completed=k, total=count)

        return write(suite.outcomes, found, suite.folder, suite.jobs, missing, told)


def _name(outcomes: list[Outcome], arm: str) -> str:
    """The name that runs have for an arm which was asked for by name or file."""
    known = {run.robot for run in outcomes}
    return arm if arm in known or not outcomes else outcomes[0].robot


def _show(outcomes: list[Outcome]) -> None:
    """One line a run; the thesis' number in brackets."""
    if not outcomes:
        return
    shown = []
    for run in outcomes:
        along = "min_y_difference" if "min_y_difference" in run.metrics else "min_x_difference"
        cells = [_beside(run, name) for name in ("min_distance", along, "peak_x_speed")]
        jerk, contacts, cycles = (run.metrics.get(name) for name in ("rms_jerk", "contacts", "cycles"))
        shown.append(
            (f"{run.what} {run.variant}", run.plant, run.robot, *cells, number(float(jerk or 0.0), 3), contacts, cycles)  # type: ignore[arg-type]
        )
    heads = ("run", "plant", "robot", "least m", "difference m", "x speed m/s", "jerk m/s3", "contacts", "cycles")
    table(heads, shown, words=3)


def _beside(run: Outcome, name: str) -> str:
    value, thesis = run.metrics.get(name), run.thesis.get(name)
    ours = f"{value:.3f}" if isinstance(value, float) else "-"
    return f"{ours} ({thesis:g})" if thesis is not None else ours
