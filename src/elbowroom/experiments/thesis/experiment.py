"""The seven tests as data: a scene a file (scenes/), variants in it, and the thesis' numbers beside them.

    for each in experiments():  print(each.test, each.title, each.variants)
    outcome = run_one(experiments()[0], "filter", plant="mujoco")

A file's table `experiment` is what the scene itself does not need: the number of the test, the axis along which the
coworker comes, and the numbers that the thesis reports, by variant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ...cell.layers import layered, merged, read_file, variants
from ...cell.record import Recording
from ...cell.runner import Cell, record_to, run
from ...cell.scene import Scene, scene
from ...errors import ConfigError
from .metrics import metrics
from .outcome import SUPERVISED, Outcome

SCENES = Path(__file__).parent / "scenes"
ARM = "puma560"
"""The arm of the tests; the thesis does not name its own."""
TESTS = range(1, 8)


@dataclass(frozen=True, eq=False)
class Experiment:
    """One test, or (`test` None) another scene."""

    test: int | None
    file: Path
    table: Mapping[str, Any] = field(repr=False)
    axis: str = "x"
    joint3_zero: float = 0.0  # rad, the arm's angle that counts as 0
    thesis: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    others: tuple[str, ...] = ()  # variants that only the kinematic plant runs

    @property
    def title(self) -> str:
        """What happens."""
        return str(self.table.get("title", self.file.stem))

    @property
    def variants(self) -> tuple[str, ...]:
        """Their names, the main one first."""
        return variants(self.table)

    def main(self) -> tuple[str, ...]:
        """The variants that every plant runs."""
        return tuple(name for name in self.variants if name not in (*self.others, SUPERVISED))

    def scene(self, variant: str, plant: str | None = None, robot: str | None = None) -> Scene:
        """The scene of a variant, on a plant and with an arm other than its own if asked for."""
        table = layered(self.table, robot, variant)
        if plant is not None:
            table = merged(table, {"plant": {"kind": plant}})
        try:
            return scene(table, self.file.parent)
        except ConfigError as error:
            raise ConfigError(f"{self.file}: {error}") from error


def read(file: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """An experiment from its file, with some of its settings changed."""
    table = merged(read_file(file), changes or {})
    own = table.pop("experiment", {})
    return Experiment(
        own.get("test"),
        file,
        table,
        own.get("axis", "x"),
        math.radians(own.get("joint3_zero", 0.0)),
        own.get("thesis", {}),
        tuple(own.get("kinematic_only", ())),
    )


@cache
def experiments() -> tuple[Experiment, ...]:
    """Tests 1 to 7."""
    return tuple(read(SCENES / f"test{number}.toml") for number in TESTS)


@dataclass(frozen=True)
class Job:
    """One run that is to be made."""

    experiment: Experiment
    variant: str
    plant: str
    robot: str | None = None  # the scene's own

    @property
    def name(self) -> str:
        """For files and progress: test1_filter_kinematic_puma560."""
        what = f"test{self.experiment.test}" if self.experiment.test else self.experiment.file.stem
        arm = Path(self.robot or str(self.experiment.table.get("robot", ARM))).stem
        return f"{what}_{self.variant}_{self.plant}_{arm}"

    @property
    def scene(self) -> Scene:
        """What is run."""
        return self.experiment.scene(self.variant, self.plant, self.robot)


def run_job(
    job: Job,
    folder: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
    started: Callable[[Cell, Recording], object] | None = None,
) -> Outcome:
    """Makes the run, its recording in `folder` if there is one, and measures it.

    `started` is given the cell and the recording before the first cycle: who is interrupted still has both.
    """
    chosen = job.scene
    cell = Cell(chosen)
    notes = {"experiment": job.name, "variant": job.variant, "elbowroom": _version()}
    path = None if folder is None else folder / f"{job.name}.csv"
    recording = Recording(cell.arm.n) if path is None else record_to(cell, path, notes=notes, replace=True)
    if started is not None:
        started(cell, recording)
    run(cell, recording, progress=progress)
    return measured(job, cell, recording)


def measured(job: Job, cell: Cell, recording: Recording) -> Outcome:
    """The outcome of what has been recorded of a run."""
    each, table = job.experiment, recording.table()
    numbers = dict(metrics(table, period=cell.period, axis=each.axis, joint3_zero=each.joint3_zero))
    numbers["resets"] = cell.resets
    counters = {} if cell.guard is None else cell.guard.counters
    numbers["supervisor_stops"] = counters.get("stops")
    named = None if each.test is not None else each.file.stem
    return Outcome(
        each.test,
        named,
        job.variant,
        job.plant,
        cell.arm.name,
        cell.scene.title,
        numbers,
        dict(each.thesis.get(job.variant, {})) if each.test is not None else {},
        table,
        recording.path,
    )


def _version() -> str:
    from ... import __version__

    return __version__
