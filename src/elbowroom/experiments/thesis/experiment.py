"""The seven tests as data: a scene a file (scenes/), variants in it, and the thesis' numbers beside them.

    for each in experiments():  print(each.test, each.title, each.variants)
    outcome = run_job(Job(experiments()[0], "printed", "mujoco"))

A file's table `experiment` is what the scene itself does not need: the number of the test, the axis along which the
coworker comes, and the numbers that the thesis reports, by variant.

A suite is a list of jobs, made one after the other, and what is left of them at any time:

    suite = Suite(jobs_of_all(), folder)
    suite.run(progress)            # may be interrupted: `outcomes` holds what was finished
    write_report(suite.outcomes, ...)     # results.py

`all` is every variant of tests 1 to 7 on the kinematic plant, their main variants on the other plants, and tests 1 to
5 with the arms of `ARMS`, bare and guarded.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...cell.layout import shaped
from ...cell.mocap.recorded import is_motion
from ...cell.people.settings import made
from ...cell.recording.table import CSV, Recording
from ...cell.runner import Cell, record_to, run
from ...cell.scene import PLANTS, Scene, is_file, layered, merged, read_file, scene, variants
from ...errors import ConfigError, ElbowroomError, RecordingError, pip_install
from .metrics import bodily, metrics
from .outcome import IMPROVED, SUPERVISED, Outcome

log = logging.getLogger("elbowroom.experiments")
log.addHandler(logging.NullHandler())

SCENES = Path(__file__).parent / "scenes"
ARM = "puma560"
"""The arm of the tests; the thesis does not name its own."""
TESTS = range(1, 8)
LIMITS = ("lower", "upper")
ARMS = ("panda", "iiwa7", "iiwa14", "ur5e", "ur10e")
WITH_ARMS = range(1, 6)
EVERY = 25  # control steps between two movements of a bar
Progress = Callable[[int, str, int, int], object]
"""Called with the number of the job, its name, its control steps done and in all."""


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

    @property
    def guarded(self) -> str:
        """The variant that shows what elbowroom makes of the test: as improved, or under the supervisor."""
        return IMPROVED if IMPROVED in self.variants else SUPERVISED

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


def read(file: Path, changes: Mapping[str, object] | None = None, name: str = "") -> Experiment:
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
        """For files and progress: test1_printed_kinematic_puma560."""
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
    ending: str = CSV,
) -> Outcome:
    """Makes the run, its recording in `folder` if there is one, as CSV or MCAP by `ending`, and measures it.

    `started` is given the cell and the recording before the first step: who is interrupted still has both.  `problem`
    is called with the reason why a file does not hold the whole run, as on a full disk: numbers come from memory, so
    the run goes on.  Without it, a file that cannot even be begun is an error.
    """
    cell = Cell(job.scene)
    recording = Recording(cell.arm.n)
    if folder is not None:
        notes = {"experiment": job.name, "variant": job.variant, "elbowroom": _version()}
        try:
            recording = record_to(cell, folder / f"{job.name}{ending}", notes=notes, replace=True)
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


# ---- many runs


def installed(package: str) -> bool:
    """Whether a package can be imported here, without doing so."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # one that is there in part
        return False


def no_mujoco() -> str:
    """What is said where MuJoCo is missing."""
    return f"the MuJoCo plant needs MuJoCo: {pip_install('mujoco')}"


def plants() -> tuple[str, ...]:
    """The plants that can run here."""
    return tuple(kind for kind in PLANTS if kind != "mujoco" or installed("mujoco"))


def jobs_of(
    experiment: Experiment, kinds: Sequence[str], robot: str | None = None, tip: str | None = None
) -> list[Job]:
    """Every variant of a test on each of these plants."""
    return [Job(experiment, variant, kind, robot, tip) for kind in kinds for variant in experiment.variants]


def jobs_of_all() -> list[Job]:
    """What `elbowroom experiment all` runs; see the module's docstring."""
    tests = experiments()
    jobs = [job for test in tests for job in jobs_of(test, ("kinematic",))]
    for kind in plants():
        if kind != "kinematic":
            jobs += [Job(test, variant, kind) for test in tests for variant in test.main()]
    for arm in ARMS:
        for test in (each for each in tests if each.test in WITH_ARMS):
            jobs += [Job(test, variant, "kinematic", arm) for variant in (test.main()[0], test.guarded)]
    return jobs


def recorded(
    motions: Sequence[Path], kinds: Sequence[str], robot: str | None = None, tip: str | None = None
) -> list[Job]:
    """The cell beside each of these recorded people.

    A scene is named after the recording's folder and file.  Where two would have one name, they are counted.
    """
    jobs: list[Job] = []
    times: Counter[str] = Counter()
    for motion in motions:
        if not is_motion(motion):
            reason = (
                "is a folder, and no ROS 2 bag; expected a recording"
                if motion.is_dir()
                else "there is no such recording"
            )
            raise RecordingError(f"{motion}: {reason}")
        take = f"{motion.resolve().parent.name}_{motion.stem}".lstrip("_")
        times[take] += 1
        name = take if times[take] == 1 else f"{take}_{times[take]}"
        jobs += jobs_of(beside(motion, name), kinds, robot, tip)
    return jobs


def beside(motion: Path, name: str) -> Experiment:
    """The cell beside the person of one recording."""
    changes = {"people": {"coworker": {"file": str(motion.resolve())}}, "title": f"The cell beside {name}"}
    return read(SCENES / "recorded.toml", changes, name)


def ready(jobs: Iterable[Job]) -> None:
    """Raises for what can be known before anything runs: an arm, a recording or a plant that is not there."""
    seen = set()
    for job in jobs:
        if job.plant == "mujoco" and not installed("mujoco"):
            raise ElbowroomError(no_mujoco())
        key = job.experiment, job.robot
        if key in seen:
            continue
        seen.add(key)
        scene = job.scene
        shaped(scene)
        made(scene.people, np.zeros(3), 0.0)


class Suite:
    """Jobs, and what has come of them.

    `outcomes` are the runs that were made, `failed` says why others were not, and `problems` what happened to files.
    Recordings are CSV or MCAP, by the `ending` of their names.
    """

    def __init__(self, jobs: Iterable[Job], folder: Path | None = None, *, ending: str = CSV) -> None:
        self.jobs, self.folder, self.ending = list(jobs), folder, ending
        self.outcomes: list[Outcome] = []
        self.failed: dict[str, str] = {}
        self.problems: list[str] = []
        self._now: tuple[Job, Cell, Recording] | None = None

    @property
    def recordings(self) -> Path | None:
        """Where recordings are written."""
        return None if self.folder is None else self.folder / "recordings"

    def run(self, progress: Progress | None = None, check: Callable[[], object] | None = None) -> None:
        """Makes every run.  One that fails is listed in `failed`, and the others go on.

        `check` is called in every control step, and between runs, and may raise KeyboardInterrupt.  After one, what was
        recorded of the run in progress is in its file, and the interrupt goes on.
        """
        if self.recordings is not None:
            self.recordings.mkdir(parents=True, exist_ok=True)
        for k, job in enumerate(self.jobs):
            self._now = None
            if check is not None:
                check()
            try:
                outcome = run_job(job, self.recordings, self._telling(k, progress, check), self._begun(job),
                                  self.problems.append, self.ending)  # fmt: skip
            except ElbowroomError as error:
                self.failed[job.name] = str(error)
            except Exception as error:  # a slip of ours in one run must not cost the others
                self.failed[job.name] = _slip(error)
                log.exception("%s", job.name)
            else:
                self.outcomes.append(outcome)
        self._now = None

    def _begun(self, job: Job) -> Callable[[Cell, Recording], None]:
        def begun(cell: Cell, recording: Recording) -> None:
            self._now = job, cell, recording

        return begun

    def _telling(
        self, k: int, progress: Progress | None, check: Callable[[], object] | None
    ) -> Callable[[int, int], None]:
        name = self.jobs[k].name

        def told(done: int, count: int) -> None:
            if progress is not None and (done % EVERY == 0 or done == count):
                progress(k, name, done, count)
            if check is not None and done < count:  # a run that is whole is measured first
                check()

        return told

    def broken_off(self) -> str:
        """After an interrupt: what was going on, in words, and its file."""
        done = f"{len(self.outcomes)} of {len(self.jobs)} runs finished"
        if self._now is None:
            return f"between two runs, {done}"
        job, cell, recording = self._now
        where = ""
        if recording.problem:
            where = f" ({recording.problem})"
        elif recording.path is not None:
            where = f", which are in {recording.path}"
        return f"in {job.name}, after {len(recording)} of {cell.scene.cycles} control steps{where}; {done}"


def _slip(error: Exception) -> str:
    """An error that nobody meant: its kind, and where it came from."""
    at = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(at[-1].filename).name}, line {at[-1].lineno})" if at else ""
    return f"{type(error).__name__}: {error}{where}"
