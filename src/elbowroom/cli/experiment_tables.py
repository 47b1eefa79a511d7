"""What `elbowroom experiment` prints: the list of tests, and a line a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..experiments.thesis.experiment import experiments
from ..experiments.thesis.outcome import Outcome
from ..experiments.thesis.suite import ARMS
from .terminal import heading, line, number, table


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
    """One line a run; the thesis' number in brackets."""
    if not outcomes:
        return
    shown = []
    for run in outcomes:
        along = "min_y_difference" if "min_y_difference" in run.metrics else "min_x_difference"
        cells = [_beside(run, name) for name in ("min_distance", along, "peak_x_speed")]
        jerk = run.metrics.get("rms_jerk")
        smooth = number(jerk, 3) if isinstance(jerk, float) else "-"
        who = f"{run.test if run.test is not None else run.scene} {run.variant}"
        shown.append((who, run.plant, run.robot, *cells, smooth, run.metrics["contacts"], run.metrics["cycles"]))
    heads = ("test", "plant", "robot", "least, m", "diff., m", "x, m/s", "jerk, m/s3", "contacts", "cycles")
    table(heads, shown, words=3)


def _beside(run: Outcome, name: str) -> str:
    value, thesis = run.metrics.get(name), run.thesis.get(name)
    ours = f"{value:.3f}" if isinstance(value, float) else "-"
    return f"{ours} ({thesis:g})" if thesis is not None else ours
