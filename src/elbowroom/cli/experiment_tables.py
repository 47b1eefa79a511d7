"""What `elbowroom experiment` prints: the list of tests, and a line a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..experiments.thesis.experiment import experiments
from ..experiments.thesis.outcome import Outcome
from ..experiments.thesis.report_texts import RECORDED, SHOWN
from ..experiments.thesis.suite import ARMS
from .terminal import heading, line, table

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
    "cycles": "cycles",
}
"""The numbers of the summary; a column is there if one of the runs is about it (`SHOWN`, as in the report)."""

DIGITS = {"min_joint3_deg": 1, "rms_jerk": 2}


def listed() -> None:
    """The tests, their variants, and how they are run."""
    heading("The thesis' seven tests")
    table(("test", "what happens", "variants"), [(e.test, e.title, ", ".join(e.variants)) for e in experiments()],
          words=3)  # fmt: skip
    line()
    line("elbowroom experiment 1                       one test, every variant, on the kinematic plant")
    line("elbowroom experiment all                     all, also on rigid and mujoco, and with", ", ".join(ARMS))
    line("elbowroom experiment recorded --motion FILE  the cell beside a recorded person (Vicon CSV, BVH)")
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
    about = RECORDED if run.test is None else SHOWN.get(run.test, ())
    value, thesis = run.metrics.get(name), run.thesis.get(name)
    if (name not in about and thesis is None) or value is None or isinstance(value, str | list | dict):
        return "-"
    digits = DIGITS.get(name, 3)
    ours = str(value) if isinstance(value, int) else f"{value:.{digits}f}"
    return f"{ours} ({thesis:g})" if thesis is not None else ours
