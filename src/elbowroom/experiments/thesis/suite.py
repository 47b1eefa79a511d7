"""What `elbowroom experiment` runs: a list of jobs, made one after the other, and what is left of them at any time.

    suite = Suite(jobs_of_all(), folder)
    suite.run(progress)            # may be interrupted: `outcomes` holds what was finished
    write(suite.outcomes, ...)     # figures, report.html, results.json (pages.py)

`all` is every variant of tests 1 to 7 on the kinematic plant, their main variants on the other plants, and tests 1 to
5 with the arms of `ARMS`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ...cell.record import Recording
from ...cell.runner import Cell
from ...cell.scene import PLANTS
from ...errors import ElbowroomError
from .experiment import SCENES, Experiment, Job, experiments, read, run_job
from .outcome import Outcome

ARMS = ("panda", "iiwa7", "ur10e")
WITH_ARMS = range(1, 6)
Progress = Callable[[int, str, int, int], object]
"""Told the number of the job, its name, its cycles done and in all."""


def has_mujoco() -> bool:
    """Whether the MuJoCo plant can run here."""
    return importlib.util.find_spec("mujoco") is not None


def plants() -> tuple[str, ...]:
    """The plants that can run here."""
    return tuple(kind for kind in PLANTS if kind != "mujoco" or has_mujoco())


def jobs_of(experiment: Experiment, kinds: Sequence[str], robot: str | None = None) -> list[Job]:
    """Every variant of a test on each of these plants."""
    return [Job(experiment, variant, kind, robot) for kind in kinds for variant in experiment.variants]


def jobs_of_all() -> list[Job]:
    """What `elbowroom experiment all` runs; see the module's docstring."""
    tests = experiments()
    jobs = [job for test in tests for job in jobs_of(test, ("kinematic",))]
    for kind in plants():
        if kind != "kinematic":
            jobs += [Job(test, variant, kind) for test in tests for variant in test.main()]
    jobs += [Job(test, test.main()[0], "kinematic", arm) for arm in ARMS for test in tests if test.test in WITH_ARMS]
    return jobs


def recorded(motion: Path, kinds: Sequence[str], robot: str | None = None) -> list[Job]:
    """The cell beside a recorded person."""
    if not motion.is_file():
        raise ElbowroomError(f"{motion}: there is no such recording")
    changes = {"people": {"coworker": {"file": str(motion.resolve())}}, "title": f"The cell beside {_take(motion)}"}
    scene = read(SCENES / "recorded.toml", changes)
    named = Experiment(None, Path(_take(motion)), scene.table, scene.axis)
    return jobs_of(named, kinds, robot)


def _take(motion: Path) -> str:
    """A name for a recording: its folder's and its own."""
    return f"{motion.resolve().parent.name}_{motion.stem}"


class Suite:
    """Jobs, and what has come of them."""

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

    def run(self, progress: Progress | None = None) -> None:
        """Makes every run.  One that fails is told in `failed` and does not take the others with it.

        After Ctrl-C what was recorded of the run in progress is in its file; the interrupt goes on.
        """
        if self.recordings is not None:
            self.recordings.mkdir(parents=True, exist_ok=True)
        for k, job in enumerate(self.jobs):

            def told(done: int, count: int, k: int = k, name: str = job.name) -> None:
                if progress is not None and (done % 50 == 0 or done == count):
                    progress(k, name, done, count)

            def begun(cell: Cell, recording: Recording, job: Job = job) -> None:
                self._now = job, cell, recording

            try:
                self.outcomes.append(run_job(job, self.recordings, told, begun))
            except (ElbowroomError, ArithmeticError) as error:
                self.failed[job.name] = str(error)
            else:
                recording = self._now[2] if self._now is not None else None
                if recording is not None and recording.problem:
                    self.problems.append(recording.problem)
            self._now = None

    def broken_off(self) -> str:
        """After an interrupt: what was going on, in words, and its file."""
        if self._now is None:
            return "between two runs"
        job, _, recording = self._now
        where = "" if recording.path is None else f"; {recording.path} has them"
        return f"in {job.name}, after {len(recording)} cycles{where}"
