"""Everything that is written after the runs: results.json, the figures, and report.html."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...avoidance.settings import dumps
from ...cell.runner import mounted
from .discussion import DISCUSSION
from .experiment import ARM, Job, experiments
from .layout_views import View
from .outcome import Outcome, rows
from .plots import chosen, draw_all
from .report import report
from .report_numbers import Check


def write(
    outcomes: Sequence[Outcome],
    checks: Iterable[Check],
    folder: Path,
    jobs: Sequence[Job],
    missing: Mapping[str, str],
    progress: Callable[[int, int, str], None] | None = None,
) -> Path:
    """results.json first, for it is small; then figures and the report, which need matplotlib.  The report's path."""
    (folder / "results.json").write_text(rows(outcomes), encoding="utf-8")
    told = dict(missing)
    figures = {}
    tests = [run for run in outcomes if run.test is not None]
    first = next((job for job in jobs if job.experiment.test is not None), None)
    if importlib.util.find_spec("matplotlib") is None:
        told["figures"] = "drawing needs matplotlib: pip install 'elbowroom[report]'"
    elif tests and first is not None:
        arm, plant = tests[0].robot, tests[0].plant
        (folder / "figures").mkdir(exist_ok=True)
        asked = sorted({run.test for run in tests if run.test is not None})
        figures = dict(
            draw_all(chosen(tests, arm, plant), view(first), folder / "figures", tests=asked, progress=progress)
        )
    expected = sorted({job.experiment.test for job in jobs if job.experiment.test is not None})
    settings = (
        {} if first is None else {"The controller of " + first.name: dumps(first.scene.controller, comments=True)}
    )
    return report(
        outcomes,
        figures,
        folder / "report.html",
        checks=checks,
        discussion=DISCUSSION if _own_arm(outcomes) else {},
        settings=settings,
        expected=expected,
        missing=told,
        robot=tests[0].robot if tests else None,
    )


def _own_arm(outcomes: Sequence[Outcome]) -> bool:
    """Whether these are the tests with the arm that the discussion is about."""
    return any(run.test is not None and run.robot == ARM for run in outcomes)


def view(job: Job) -> View:
    """How the arm and the coworker of a job look."""
    scene = job.scene
    arm = mounted(scene)
    who = next(iter(scene.people.values()), None)
    return View(
        arm,
        scene.cover or None,
        person_radius=float(getattr(who, "radius", 0.2)),
        person_height=float(getattr(who, "height", 1.8)),
        floor=float(arm.model.base[2, 3] + scene.floor),
        joint3_zero=experiments()[6].joint3_zero,  # figures of joint 3 are of test 7 alone
    )
