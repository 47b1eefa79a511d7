"""What `elbowroom experiment` runs: a list of jobs, made one after the other, and what is left of them at any time.

    suite = Suite(jobs_of_all(), folder)
    suite.run(progress)            # may be interrupted: `outcomes` holds what was finished
    write_report(suite.outcomes, ...)     # results.py

`all` is every variant of tests 1 to 7 on the kinematic plant, their main variants on the other plants, and tests 1 to
5 with the arms of `ARMS`.
"""

from __future__ import annotations

import importlib.util
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from ...cell.layout import shaped
from ...cell.people.settings import made
from ...cell.recording.table import Recording
from ...cell.runner import Cell
from ...cell.scene import PLANTS
from ...errors import ElbowroomError, RecordingError
from .experiment import SCENES, Experiment, Job, experiments, read, run_job
from .outcome import Outcome

log = logging.getLogger("elbowroom.experiments")
log.addHandler(logging.NullHandler())

ARMS = ("panda", "iiwa7", "ur10e")
WITH_ARMS = range(1, 6)
NO_MUJOCO = "the MuJoCo plant needs MuJoCo: pip install '.[mujoco]'"
EVERY = 25  # control steps between two movements of a bar
Progress = Callable[[int, str, int, int], object]
"""Called with the number of the job, its name, its control steps done and in all."""


def installed(package: str) -> bool:
    """Whether a package can be imported here, without doing so."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # one that is there in part
        return False


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
    jobs += [Job(test, test.main()[0], "kinematic", arm) for arm in ARMS for test in tests if test.test in WITH_ARMS]
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
        if not motion.is_file():
            reason = "is a folder; expected a recording" if motion.is_dir() else "there is no such recording"
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
            raise ElbowroomError(NO_MUJOCO)
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
    """

    def __init__(self, jobs: Iterable[Job], folder: Path | None = None) -> None:
        self.jobs, self.folder = list(jobs), folder
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
                                  self.problems.append)  # fmt: skip
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
