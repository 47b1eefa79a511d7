"""`elbowroom experiment`: the thesis' seven tests, and recorded people, run again."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ElbowroomError
from .terminal import Interrupts

FOLDER = "elbowroom-experiments"


class Plants(StrEnum):
    """What moves the arm."""

    KINEMATIC = "kinematic"
    RIGID = "rigid"
    MUJOCO = "mujoco"
    ALL = "all"


def experiment(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="1..7|all|recorded",
            help="A test, several (1,2), all of them, or a recorded person.  Without it: a list.",
        ),
    ] = None,
    plant: Annotated[
        Plants | None, typer.Option(help="What moves: kinematic, rigid, mujoco, all.  [kinematic; of `all`, all]")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another arm than puma560: a name, a URDF or a TOML file.")
    ] = None,
    tip: Annotated[str | None, typer.Option(metavar="LINK", help="The link where the arm of a URDF file ends.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Where to write.  [{FOLDER}, or the next name that is free]")
    ] = None,
    motion: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="recorded: a Vicon CSV or a BVH file; may be repeated.")
    ] = None,
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
    elbowroom experiment all                    all seven, three plants, four arms: a minute or two
    elbowroom experiment 3 --plant mujoco --robot panda --out side
    elbowroom experiment recorded --motion take.csv

    The folder then holds report.html, which needs nothing else, figures/, results.json, and recordings/: a CSV file a
    run, a row a cycle, 0.3 to 5 MB each; those of `all` are about 100 MB.  The same call gives the same bytes.

    Ctrl-C keeps what there is: the report is made of the runs that are finished.  The exit status is 1 if a run failed
    or a file could not be written.
    """
    from ..experiments.thesis.suite import Suite, ready  # what simulates is loaded when something is simulated
    from . import experiment_runs as runs
    from .experiment_runs import listed

    if what is None:
        if json or motion:
            raise typer.BadParameter("say which: a test from 1 to 7, all, or recorded")
        listed()
        return
    with Interrupts() as interrupts:
        jobs, missing = runs.planned(what, plant and plant.value, robot, tip, motion or [])
        ready(jobs)  # asked before anything runs or is written
        suite = Suite(jobs, _folder(out, force))
        status = runs.made(suite, missing, interrupts, json, _command(what, plant, robot, tip, motion or []))
    raise typer.Exit(status)


def _command(what: str, plant: Plants | None, robot: str | None, tip: str | None, motions: list[Path]) -> str:
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
    if out.exists() and not out.is_dir():
        raise ElbowroomError(f"{out}: is a file; expected the name of a folder")
    try:
        if out.is_dir() and any(out.iterdir()) and not force:
            raise ElbowroomError(
                f"{out}: is not empty, and nothing in it is overwritten unasked; take another or --force"
            )
        (out / "recordings").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ElbowroomError(f"{out}: cannot be written to: {error.strerror or error}") from error
    return out
