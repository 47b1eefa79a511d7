"""Everything that is written after the runs: results.json, the figures, and report.html.

A file is whole or not there: it is written beside its place and then moved.  One that cannot be written is
reported, and the others are written all the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...avoidance.settings import dumps
from ...cell.layout import mounted
from ...errors import ElbowroomError, pip_install
from .checks import Check
from .experiment import ARM, TESTS, Job, experiments, installed
from .figures import Drawn, chosen, draw_all, name
from .outcome import Outcome, rows
from .report import report
from .scene_drawings import SceneDrawing
from .texts import DISCUSSION

RESULTS, REPORT, FIGURES = "results.json", "report.html", "figures"
NO_MATPLOTLIB = "drawing needs matplotlib: "


class UnwrittenError(ElbowroomError):
    """A file of the results that could not be written; the message begins with its name."""


class Written(NamedTuple):
    """The report's path, and why it has no figures if it has none."""

    path: Path
    problem: str | None


def write_results(outcomes: Iterable[Outcome], folder: Path) -> Path:
    """results.json, a row a run; its path."""
    path = folder / RESULTS
    with _whole(path) as part:
        part.write_text(rows(outcomes), encoding="utf-8")
        part.replace(path)
    return path


def write_report(
    outcomes: Sequence[Outcome],
    checks: Iterable[Check],
    folder: Path,
    jobs: Sequence[Job],
    missing: Mapping[str, str],
    progress: Callable[[int, int, str], None] | None = None,
    command: str = "elbowroom experiment all",
) -> Written:
    """The figures, if there is matplotlib, and report.html.

    `missing` is what the report says about what is not there.  Figures that could not be made are listed there too.
    `command` is the call that makes the same numbers again.
    """
    told = dict(missing)
    tests = [run for run in outcomes if run.test is not None]
    figures, problem = _drawn(tests, jobs, folder / FIGURES, progress) if tests else ({}, None)
    if problem:
        told["figures"] = problem
    settings = {f"The controller of {job.name}": dumps(job.scene.controller, comments=True) for job in jobs[:1]}
    path = folder / REPORT
    with _whole(path, f"; figures: {problem}" if problem else ""):
        report(
            outcomes,
            figures,
            path,
            checks=checks,
            discussion=_discussion(outcomes),
            settings=settings,
            expected=sorted({job.experiment.test for job in jobs if job.experiment.test is not None}),
            missing=told,
            robot=tests[0].robot if tests else None,
            command=command,
        )
    return Written(path, problem)


@contextlib.contextmanager
def _whole(path: Path, also: str = "") -> Iterator[Path]:
    """The file beside a path that takes its place when it is whole; it is gone if that does not happen.

    `also` is said after what happened.
    """
    part = path.with_name(path.name + ".part")
    try:
        yield part
    except OSError as error:
        raise UnwrittenError(f"{path}: cannot be written: {error.strerror or error}{also}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _drawn(
    tests: Sequence[Outcome], jobs: Sequence[Job], folder: Path, progress: Callable[[int, int, str], None] | None
) -> tuple[Mapping[str, Drawn], str | None]:
    """The figures of the first run's arm on its plant, or why there are none."""
    if not installed("matplotlib"):
        return {}, NO_MATPLOTLIB + pip_install("report")
    asked = sorted({run.test for run in tests if run.test is not None})
    runs = chosen(tests, tests[0].robot, tests[0].plant)
    now = ""

    def told(k: int, count: int, words: str) -> None:
        nonlocal now
        now = ""  # what was before is whole
        if progress is not None:
            progress(k, count, words)
        now = name(words.split()[-1])

    try:
        folder.mkdir(exist_ok=True)
        seen = view(next(job for job in jobs if job.experiment.test is not None))
        found = draw_all(runs, seen, folder, tests=asked, progress=told)
        now = ""
        return found, None
    except OSError as error:
        return {}, f"{folder}: cannot be written: {error.strerror or error}"
    except Exception as error:  # a report without figures is better than none
        return {}, f"could not be drawn: {type(error).__name__}: {error}"
    finally:
        for half in folder.glob(f"{now}.*") if now else ():
            with contextlib.suppress(OSError):
                half.unlink()


def _discussion(outcomes: Sequence[Outcome]) -> Mapping[str, str]:
    """What is said about the runs that there are: it is about the arm and the gains that come with elbowroom."""
    own = {run.test for run in outcomes if run.test is not None and run.robot == ARM}
    if own:  # the summary is about the whole chapter
        return {name: text for name, text in DISCUSSION.items() if name != "summary" or len(own) == len(TESTS)}
    return {"recorded": DISCUSSION.get("recorded", "")} if any(run.test is None for run in outcomes) else {}


def view(job: Job) -> SceneDrawing:
    """How the arm and the coworker of a job look."""
    scene = job.scene
    arm = mounted(scene)
    who = next(iter(scene.people.values()), None)
    return SceneDrawing(
        arm,
        scene.cover or None,
        person_radius=float(getattr(who, "radius", 0.2)),
        person_height=float(getattr(who, "height", 1.8)),
        floor=float(arm.model.base[2, 3] + scene.floor),
        joint3_zero=experiments()[6].joint3_zero,  # figures of joint 3 are of test 7 alone
    )
