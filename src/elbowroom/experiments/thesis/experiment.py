"""The seven tests as data: a scene a file (scenes/), variants in it, and the thesis' numbers beside them.

    for each in experiments():  print(each.test, each.title, each.variants)
    outcome = run_job(Job(experiments()[0], "filter", "mujoco"))

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

from ...cell.layers import is_file, layered, merged, read_file, variants
from ...cell.recording.table import Recording
from ...cell.runner import Cell, record_to, run
from ...cell.scene import Scene, scene
from ...errors import ConfigError, RecordingError
from .metrics import bodily, metrics
from .outcome import SUPERVISED, Outcome

SCENES = Path(__file__).parent / "scenes"
ARM = "puma560"
"""The arm of the tests; the thesis does not name its own."""
TESTS = range(1, 8)
LIMITS = ("lower", "upper")


@dataclass(frozen=True, eq=False)
class Experiment:
    """One test, or (`test` None) another scene, which then has a name."""

    test: int | None
    file: Path
    table: Mapping[str, Any] = field(repr=False)
    axis: str = "x"
    joint3_zero: float = 0.0  # rad, the arm's angle that counts as 0
    thesis: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    others: tuple[str, ...] = ()  # variants that only the kinematic plant runs
    scene_name: str = ""

    @property
    def name(self) -> str:
        """For files: test1, or the scene's own."""
        return f"test{self.test}" if self.test is not None else self.scene_name or self.file.stem

    @property
    def title(self) -> str:
        """What happens."""
        return str(self.table.get("title", self.file.stem))

    @property
    def arm(self) -> str:
        """The arm that the file is about."""
        return str(self.table.get("robot", ARM))

    @property
    def variants(self) -> tuple[str, ...]:
        """Their names, the main one first."""
        return variants(self.table)

    def main(self) -> tuple[str, ...]:
        """The variants that every plant runs."""
        return tuple(name for name in self.variants if name not in (*self.others, SUPERVISED))

    def unfit(self, robot: str | None) -> str | None:
        """Why this test says nothing about an arm, or None if it can be run with it.

        A test of joint limits has those of its own arm; with the limits of another it would show something else.
        """
        limits = [key for key in LIMITS if key in self.table]
        own = self.table.get("robots", {}).get(robot, {})
        if robot in (None, self.arm) or all(key in own for key in limits):
            return None
        what = self.name if self.test is None else f"test {self.test}"
        return f"{what} is about a joint limit of {self.arm}, which means nothing for {robot}: it runs with {self.arm}"

    def scene(self, variant: str, plant: str | None = None, robot: str | None = None, tip: str | None = None) -> Scene:
        """The scene of a variant, on a plant and with an arm other than its own if asked for.

        A `robot` that is a file is looked for from where the program runs; `tip` is the link that a URDF's arm ends at.
        """
        if reason := self.unfit(robot):
            raise ConfigError(reason)
        asked = str(Path(robot).absolute()) if robot is not None and is_file(robot) else robot
        try:
            table = layered(self.table, asked, variant)
            above: dict[str, Any] = {} if plant is None else {"plant": {"kind": plant}}
            return scene(merged(table, above | ({} if tip is None else {"tip": tip})), self.file.parent)
        except ConfigError as error:
            raise ConfigError(f"{self.file}: {error}") from error


def read(file: Path, changes: Mapping[str, Any] | None = None, name: str = "") -> Experiment:
    """An experiment from its file, with some of its settings changed; `name` is for one that is no test."""
    table = merged(read_file(file), changes or {})
    own: Any = table.pop("experiment", {})
    return Experiment(
        own.get("test"),
        file,
        table,
        own.get("axis", "x"),
        math.radians(own.get("joint3_zero", 0.0)),
        own.get("thesis", {}),
        tuple(own.get("kinematic_only", ())),
        name,
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
    tip: str | None = None  # of a URDF file: the link that the arm ends at

    @property
    def name(self) -> str:
        """For files and progress: test1_filter_kinematic_puma560."""
        arm = self.robot or self.experiment.arm
        return f"{self.experiment.name}_{self.variant}_{self.plant}_{Path(arm).stem if is_file(arm) else arm}"

    @property
    def scene(self) -> Scene:
        """What is run."""
        return self.experiment.scene(self.variant, self.plant, self.robot, self.tip)


def run_job(
    job: Job,
    folder: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
    started: Callable[[Cell, Recording], object] | None = None,
    problem: Callable[[str], object] | None = None,
) -> Outcome:
    """Makes the run, its recording in `folder` if there is one, and measures it.

    `started` is given the cell and the recording before the first step: who is interrupted still has both.  `problem`
    is called with the reason why a file does not hold the whole run, as on a full disk: numbers come from memory, so
    the run goes on.  Without it, a file that cannot even be begun is an error.
    """
    cell = Cell(job.scene)
    recording = Recording(cell.arm.n)
    if folder is not None:
        notes = {"experiment": job.name, "variant": job.variant, "elbowroom": _version()}
        try:
            recording = record_to(cell, folder / f"{job.name}.csv", notes=notes, replace=True)
        except RecordingError as error:
            if problem is None:
                raise
            problem(f"{error}: this run is not recorded; its numbers come from memory")
    if started is not None:
        started(cell, recording)
    run(cell, recording, progress=progress)
    if problem is not None and recording.problem:
        problem(f"{recording.problem}, and the numbers come from there")
    return measured(job, cell, recording)


def measured(job: Job, cell: Cell, recording: Recording) -> Outcome:
    """The outcome of what has been recorded of a run."""
    each, table = job.experiment, recording.table()
    numbers = dict(metrics(table, period=cell.period, axis=each.axis, joint3_zero=each.joint3_zero))
    numbers |= bodily(cell, table)
    numbers["resets"] = cell.resets
    counters = {} if cell.guard is None else cell.guard.counters
    numbers["supervisor_stops"] = counters.get("stops")
    return Outcome(
        each.test,
        None if each.test is not None else each.name,
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
