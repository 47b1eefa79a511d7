"""`elbowroom experiment`: the thesis' seven tests, and recorded people, run again."""

from __future__ import annotations

import json as json_text
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ElbowroomError
from .terminal import (
    INTERRUPTED,
    Interrupts,
    RecordingFormat,
    RecordingKind,
    free_folder,
    heading,
    line,
    needs_format,
    note,
    plain,
    progress_bar,
    table,
)

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..experiments.thesis.checks import Check
    from ..experiments.thesis.experiment import Job, Suite
    from ..experiments.thesis.outcome import Outcome

FOLDER = "elbowroom-experiments"


class PlantChoice(StrEnum):
    """What moves the arm."""

    KINEMATIC = "kinematic"
    RIGID = "rigid"
    MUJOCO = "mujoco"
    ALL = "all"


def experiment(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="1..7|all|recorded|vary",
            help="A test, several (1,2), all, a recorded person, or what survives other gains.  Without it: a list.",
        ),
    ] = None,
    plant: Annotated[
        PlantChoice | None, typer.Option(help="What moves: kinematic, rigid, mujoco, all.  [kinematic; of `all`, all]")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another arm than puma560: a name, a URDF or a TOML file.")
    ] = None,
    tip: Annotated[str | None, typer.Option(metavar="LINK", help="The link where the arm of a URDF file ends.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Where to write.  [{FOLDER}, or the next name that is free]")
    ] = None,
    motion: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="recorded: Vicon CSV, BVH or a ROS 2 bag; may be repeated."),
    ] = None,
    format_: RecordingFormat = RecordingKind.CSV,
    json: Annotated[bool, typer.Option("--json", help="The numbers as JSON on stdout, nothing else there.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty; files of the same names go.")
    ] = False,
) -> None:
    """Run the thesis' experiments again and write recordings, plots and a report.

    \b
    elbowroom experiment                        the tests and their variants, nothing is run
    elbowroom experiment 1                      test 1, every variant, on the kinematic plant
    elbowroom experiment 1,2                    both: test 2 is judged beside test 1, test 4 too
    elbowroom experiment all                    all seven, three plants, six arms: some minutes
    elbowroom experiment 3 --plant mujoco --robot panda --out side
    elbowroom experiment recorded --motion take.csv
    elbowroom experiment vary                   every gain 20 % up and down: which results survive; some minutes

    The folder then holds report.html, which needs nothing else, figures/, results.json, and recordings/: a CSV file a
    run, or MCAP, a row a cycle, 0.3 to 5 MB each; those of `all` are about 260 MB.  The same call gives the same bytes.

    Ctrl-C keeps what there is: the report is made of the runs that are finished.  The exit status is 1 if a run failed
    or a file could not be written.
    """
    from ..experiments.thesis.experiment import Suite, ready  # what simulates is loaded when something is simulated

    if what is None:
        if json or motion:
            raise typer.BadParameter("say which: a test from 1 to 7, all, or recorded")
        listed()
        return
    if what == "vary":
        if plant or robot or tip or motion or out or force:
            raise typer.BadParameter("vary takes no option but --json: it runs puma560 on the kinematic plant")
        varied(json)
        return
    with Interrupts() as interrupts:
        jobs, missing = planned(what, plant and plant.value, robot, tip, motion or [])
        ready(jobs)  # asked before anything runs or is written
        needs_format(format_)
        suite = Suite(jobs, _folder(out, force), ending=f".{format_.value}")
        status = made(suite, missing, interrupts, json, _command(what, plant, robot, tip, motion or []))
    raise typer.Exit(status)


def varied(json: bool) -> None:
    """Which results hold when every gain is changed, one at a time."""
    from ..experiments.thesis.robustness import PART, vary

    with Interrupts() as interrupts, _bar() as bar:
        task = bar.add_task("gains")

        def told(done: int, count: int, words: str) -> None:
            interrupts.check()
            bar.update(task, description=words, completed=done, total=count)

        try:
            found = vary(told)
        except KeyboardInterrupt:
            note("interrupted", "nothing is written")
            raise typer.Exit(INTERRUPTED) from None
    if json:
        sys.stdout.write(json_text.dumps([asdict(row) for row in found], indent=2) + "\n")
        return
    heading(f"Results of the thesis when every gain is {100 * PART:.0f} % more or less, one at a time")
    rows = [
        (
            row.test or "",
            row.text,
            "yes" if row.as_is else "no",
            f"{row.holds} of {row.of}",
            "; ".join(row.fails) if row.holds or not row.of else "all",
        )
        for row in found
    ]
    table(("test", "result", "holds", "survives", "fails with"), rows, words=5)


def _command(what: str, plant: PlantChoice | None, robot: str | None, tip: str | None, motions: list[Path]) -> str:
    """The call again, for a shell, without what says where the results go: those are the same anywhere."""
    words = ["elbowroom", "experiment", what]
    for name, value in (("--plant", plant and plant.value), ("--robot", robot), ("--tip", tip)):
        words += [name, value] if value else []
    for motion in motions:
        words += ["--motion", str(motion)]
    return shlex.join(words)


def _folder(out: Path | None, force: bool) -> Path:
    """Where to write: a folder that is new, or empty, or given with --force."""
    if out is None:
        names = [Path(FOLDER), *(Path(f"{FOLDER}-{k}") for k in range(2, 10_000))]
        out = next(name for name in names if not name.exists())
    free_folder(out, force)
    try:
        (out / "recordings").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ElbowroomError(f"{out}: cannot be written to: {error.strerror or error}") from error
    return out


# ---- runs and files


def planned(
    what: str, plant: str | None, robot: str | None, tip: str | None, motions: Sequence[Path]
) -> tuple[list[Job], dict[str, str]]:
    """What is run, and what is left out of it and why."""
    from ..experiments.thesis.experiment import (
        TESTS,
        experiments,
        installed,
        jobs_of,
        jobs_of_all,
        no_mujoco,
        plants,
        recorded,
    )

    whole = plant == "all" or (what == "all" and plant is None and robot is None)
    missing = {"mujoco": no_mujoco()} if whole and not installed("mujoco") else {}
    kinds = ("kinematic",) if plant is None else plants() if plant == "all" else (plant,)
    if tip is not None and robot is None:
        raise typer.BadParameter("--tip belongs to --robot FILE.urdf")
    if what == "recorded":
        if not motions:
            raise typer.BadParameter("recorded needs a recording: --motion FILE")
        return recorded(motions, kinds, robot, tip), missing
    if motions:
        raise typer.BadParameter("--motion belongs to `recorded`")
    if what == "all":
        if plant is None and robot is None:
            return jobs_of_all(), missing
        fit = [each for each in experiments() if each.unfit(robot) is None]
        missing |= {str(each.test): str(each.unfit(robot)) for each in experiments() if each not in fit}
        return [job for each in fit for job in jobs_of(each, kinds, robot, tip)], missing
    chosen = list(dict.fromkeys(what.split(",")))
    if not set(chosen) <= set(map(str, TESTS)):
        raise typer.BadParameter(f"expected a test from 1 to 7, several as in 1,2, all, recorded or vary; got {what!r}")
    return [job for k in chosen for job in jobs_of(experiments()[int(k) - 1], kinds, robot, tip)], missing


def made(suite: Suite, missing: dict[str, str], interrupts: Interrupts, json: bool, command: str) -> int:
    """Runs, writes, and says what came of it; the exit status.  `command` is what was called, for the report."""
    from ..experiments.thesis.checks import checks, numbers, unjudged
    from ..experiments.thesis.experiment import ARM
    from ..experiments.thesis.outcome import rows

    for why in missing.values():
        note("left out", why)
    interrupted = _run(suite, interrupts)
    if interrupted:
        missing["interrupted"] = interrupted
    _write_results(suite)
    arm = _arm(suite.outcomes)
    found, beside = checks(suite.outcomes, arm), numbers(suite.outcomes, arm)
    alone = unjudged(suite.outcomes)
    told = {str(test): why for test, why in alone.items()} | missing | suite.failed
    page, cut = _write_report(suite, found, told, interrupts, command)
    for problem in suite.problems:
        note("warning", problem)
    for name, why in suite.failed.items():
        note("failed", f"{name}: {why}", "bold red")
    if json:
        sys.stdout.write(rows(suite.outcomes))
        sys.stdout.flush()
    else:
        summary(suite.outcomes)
        if beside:
            line(f"{_met(beside)} numbers of the thesis are met, on every plant that was run.")
            if arm != ARM:
                line(plain(f"The gains are those for {ARM}; there is no reason why {arm} should meet them."))
        if found:
            line(f"{_met(found)} results in words hold, on every plant that was run.")
        for check in (*(beside if arm == ARM else ()), *found):
            if not check.met:
                note("not met", f"test {check.test}: {check.text}: {check.value}; wanted {check.wanted}")
        for test, why in alone.items():
            note("note", f"test {test}: {why}")
    if page is not None:
        note("written", str(page), "green")
    if interrupted or cut or interrupts.asked:
        return INTERRUPTED
    return 1 if suite.failed or suite.problems else 0


def _bar() -> Progress:
    """A bar on stderr, gone when it is done; nothing where stderr is no terminal."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    parts = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    return progress_bar(*parts, TimeElapsedColumn(), TimeRemainingColumn())


def _run(suite: Suite, interrupts: Interrupts) -> str:
    """All runs, with a bar on a terminal and a line a run elsewhere, both on stderr; where Ctrl-C came, if it did."""
    total = len(suite.jobs)
    try:
        with _bar() as bar:
            whole = bar.add_task("experiments", total=float(total))

            def told(k: int, name: str, done: int, count: int) -> None:
                bar.update(whole, description=f"{k + 1}/{total} {name}", completed=k + done / count)
                if bar.disable and done == count:
                    print(f"{k + 1}/{total} {name}", file=sys.stderr, flush=True)

            suite.run(told, interrupts.check)
    except KeyboardInterrupt:
        words = suite.broken_off()
        note("interrupted", f"{words}; results and report are made of those, Ctrl-C again leaves the report out")
        return words
    return ""


def _write_results(suite: Suite) -> None:
    """Before anything else: it is small, and all numbers are in it."""
    from ..experiments.thesis.results import UnwrittenError, write_results

    assert suite.folder is not None
    try:
        write_results(suite.outcomes, suite.folder)
    except UnwrittenError as error:
        suite.problems.append(str(error))


def _write_report(
    suite: Suite, found: list[Check], missing: dict[str, str], interrupts: Interrupts, command: str
) -> tuple[Path | None, bool]:
    """The report's path, and whether Ctrl-C cut it short."""
    from ..experiments.thesis.results import NO_MATPLOTLIB, UnwrittenError, write_report

    assert suite.folder is not None
    page, cut = None, False
    try:
        with _bar() as bar:
            figures = bar.add_task("figures")

            def told(k: int, count: int, name: str) -> None:
                interrupts.check()
                bar.update(figures, description=name, completed=k, total=count)

            page, problem = write_report(suite.outcomes, found, suite.folder, suite.jobs, missing, told, command)
        if problem and problem.startswith(NO_MATPLOTLIB):
            note("left out", f"figures: {problem}")
        elif problem:
            suite.problems.append(f"figures: {problem}")
    except UnwrittenError as error:
        suite.problems.append(f"{error}{_stale(suite.folder)}")
    except KeyboardInterrupt:
        cut = True
        note("interrupted", f"no report; results.json and recordings are in {suite.folder}{_stale(suite.folder)}")
    return page, cut


def _stale(folder: Path) -> str:
    from ..experiments.thesis.results import REPORT

    return f"; the {REPORT} there is of an earlier call" if (folder / REPORT).exists() else ""


def _arm(outcomes: Sequence[Outcome]) -> str:
    """The arm that the thesis' claims are checked with."""
    from ..experiments.thesis.experiment import ARM

    robots = [run.robot for run in outcomes if run.test is not None]
    return ARM if ARM in robots or not robots else robots[0]


def _met(some: Sequence[Check]) -> str:
    from ..experiments.thesis.checks import counted

    return "{} of {}".format(*counted(some))


COLUMNS = {
    "min_distance": "least, m",
    "min_x_difference": "x diff., m",
    "min_y_difference": "y diff., m",
    "peak_x_speed": "x, m/s",
    "peak_y_speed": "y, m/s",
    "min_joint3_deg": "joint 3, deg",
    "goal_error": "off goal, m",
    "rms_jerk": "jerk, m/s3",
    "contacts": "contacts",
    "cycles": "task cycles",
}
"""The numbers of the summary; a column is there if one of the runs is about it (`SHOWN`, as in the report)."""

DIGITS = {"min_joint3_deg": 1, "rms_jerk": 2}


def listed() -> None:
    """The tests, their variants, and how they are run."""
    from ..experiments.thesis.experiment import ARMS, experiments

    heading("The thesis' seven tests")
    table(("test", "what happens", "variants"), [(e.test, e.title, ", ".join(e.variants)) for e in experiments()],
          words=3)  # fmt: skip
    line()
    line("elbowroom experiment 1                       one test, every variant, on the kinematic plant")
    line("elbowroom experiment all                     all, also on rigid and mujoco, and with", ", ".join(ARMS))
    line("elbowroom experiment recorded --motion FILE  the cell beside a recorded person (Vicon CSV, BVH)")
    line("elbowroom experiment vary                    which results survive other gains")
    line("elbowroom experiment --help                  plants, arms, where results go")


def summary(outcomes: Sequence[Outcome]) -> None:
    """One line a run, with the numbers that its test is about; the thesis' number in brackets."""
    if not outcomes:
        return
    cells = {name: [_beside(run, name) for run in outcomes] for name in COLUMNS}
    kept = {name: column for name, column in cells.items() if any(cell != "-" for cell in column)}
    who = [f"{run.test if run.test is not None else run.scene} {run.variant}" for run in outcomes]
    rows = [
        (name, run.plant, run.robot, *(column[k] for column in kept.values()))
        for k, (name, run) in enumerate(zip(who, outcomes, strict=True))
    ]
    table(("test", "plant", "robot", *(COLUMNS[name] for name in kept)), rows, words=3)


def _beside(run: Outcome, name: str) -> str:
    """A number of a run and the thesis', or a dash where the test is not about it."""
    from ..experiments.thesis.texts import RECORDED, SHOWN

    about = RECORDED if run.test is None else SHOWN.get(run.test, ())
    value, thesis = run.metrics.get(name), run.thesis.get(name)
    if (name not in about and thesis is None) or value is None or isinstance(value, str | list | dict):
        return "-"
    digits = DIGITS.get(name, 3)
    ours = str(value) if isinstance(value, int) else f"{value:.{digits}f}"
    return f"{ours} ({thesis:g})" if thesis is not None else ours
