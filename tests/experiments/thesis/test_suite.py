"""A list of runs: what it is made of, and that nothing which happens to one of them is lost or hidden."""

from __future__ import annotations

import errno
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from elbowroom.cell.recording import table
from elbowroom.cell.recording.table import read as read_recording
from elbowroom.cell.runner import Cell
from elbowroom.errors import DivergenceError, ElbowroomError, RecordingError, pip_install
from elbowroom.experiments.thesis import experiment as suite
from elbowroom.experiments.thesis import results
from elbowroom.experiments.thesis.experiment import (
    ARM,
    ARMS,
    SCENES,
    Job,
    Suite,
    experiments,
    installed,
    jobs_of,
    jobs_of_all,
    read,
    ready,
    recorded,
)
from elbowroom.experiments.thesis.results import UnwrittenError, write_report, write_results


def brief(test=1, seconds=0.4):
    """A test that lasts a moment: 20 cycles."""
    return read(SCENES / f"test{test}.toml", {"duration": seconds})


@pytest.fixture
def jobs():
    return [Job(brief(test), "printed", "kinematic") for test in (1, 2, 3)]


@pytest.fixture
def without(monkeypatch):
    """A function that hides a package."""

    def hide(package):
        monkeypatch.setitem(sys.modules, package, None)
        real = installed
        for module in (suite, results):
            monkeypatch.setattr(module, "installed", lambda name: name != package and real(name))

    return hide


def names(some):
    return [job.name for job in some]


# ---- what is run


def test_all_is_every_variant_three_plants_and_six_arms():
    pytest.importorskip("mujoco")
    jobs = jobs_of_all()
    assert len(set(names(jobs))) == len(jobs)  # each has a file of its own
    kinds = Counter((job.plant, job.robot) for job in jobs)
    variants = sum(len(test.variants) for test in experiments())
    main = sum(len(test.main()) for test in experiments())
    assert kinds[("kinematic", None)] == variants
    assert kinds[("rigid", None)] == kinds[("mujoco", None)] == main
    others = ("panda", "iiwa7", "iiwa14", "ur5e", "ur10e")
    assert {arm: kinds[("kinematic", arm)] for arm in ARMS} == dict.fromkeys(others, 10)
    bare = [(1, "printed"), (2, "printed"), (3, "printed"), (4, "printed"), (5, "mended")]
    guarded = [(1, "improved"), (2, "improved"), (3, "improved"), (4, "improved"), (5, "supervised")]
    ran = [(job.experiment.test, job.variant) for job in jobs if job.robot == "ur5e"]
    assert sorted(ran) == sorted([*bare, *guarded])
    assert {job.experiment.test for job in jobs if job.robot} == {1, 2, 3, 4, 5}
    assert {"printed", "no_filter"} <= {job.variant for job in jobs if job.experiment.test == 1}
    assert len([job for job in jobs if job.experiment.test == 7 and job.plant == "mujoco"]) == 6


def test_without_mujoco_the_others_run(without):
    without("mujoco")
    assert {job.plant for job in jobs_of_all()} == {"kinematic", "rigid"}
    with pytest.raises(ElbowroomError, match=r"^the MuJoCo plant needs MuJoCo: pip install (-e )?'\.\[mujoco\]'$"):
        ready(jobs_of(brief(), ["mujoco"]))
    ready(jobs_of(brief(), ["kinematic", "rigid"]))


def test_a_package_that_is_hidden_is_not_installed(monkeypatch):
    assert installed("numpy")
    assert not installed("no_such_package")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert not installed("mujoco")


def test_recordings_with_one_name_have_scenes_of_their_own(tmp_path):
    files = [
        tmp_path / folder / "take" / name for folder, name in (("a", "0.csv"), ("b", "0.csv"), ("a", "walk.v2.csv"))
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    jobs = recorded([*files, files[0]], ["kinematic"])
    called = ["take_0", "take_0_2", "take_walk.v2", "take_0_3"]
    assert names(jobs) == [f"{name}_{kind}_kinematic_{ARM}" for name in called for kind in ("bare", "supervised")]
    assert [job.experiment.table["people"]["coworker"]["file"] for job in jobs[::2]] == [
        *map(str, files),
        str(files[0]),
    ]
    with pytest.raises(RecordingError, match=r"nosuch\.csv: there is no such recording"):
        recorded([tmp_path / "nosuch.csv"], ["kinematic"])
    with pytest.raises(RecordingError, match="is a folder, and no ROS 2 bag; expected a recording"):
        recorded([tmp_path], ["kinematic"])


def test_what_cannot_run_is_known_before_anything_runs(tmp_path):
    with pytest.raises(ElbowroomError, match=r"no arm 'pamda'.*did you mean panda"):
        ready(jobs_of(brief(), ["kinematic"], "pamda"))
    bad = tmp_path / "bad.csv"
    bad.write_text("Frame,Time\n1,what\n")
    with pytest.raises(RecordingError, match=rf"^{bad}"):
        ready(recorded([bad], ["kinematic"]))


# ---- what happens on the way


def test_runs_are_made_in_order_and_told(jobs, tmp_path):
    told = []
    whole = Suite(jobs, tmp_path)
    whole.run(lambda *said: told.append(said))
    assert [run.test for run in whole.outcomes] == [1, 2, 3]
    assert (whole.failed, whole.problems) == ({}, [])
    assert [said for said in told if said[2] == said[3]] == [(k, job.name, 20, 20) for k, job in enumerate(jobs)]
    assert sorted(file.name for file in (tmp_path / "recordings").iterdir()) == [f"{job.name}.csv" for job in jobs]
    assert [read_recording(run.csv).rows for run in whole.outcomes] == [20] * 3
    assert whole.broken_off() == "between two runs, 3 of 3 runs finished"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DivergenceError("the plant left the numbers at t = 0.2 s"), "the plant left the numbers at t = 0.2 s"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero (test_suite.py, line "),
    ],
)
def test_a_run_that_fails_does_not_take_the_others_with_it(jobs, tmp_path, monkeypatch, error, words):
    def step(self, t, real=Cell.step):
        if t > 0.2 and self.scene.controller.repulsion.influence == 0.5:  # test 2
            raise error
        return real(self, t)

    monkeypatch.setattr(Cell, "step", step)
    whole = Suite(jobs, tmp_path)
    whole.run()
    assert [run.test for run in whole.outcomes] == [1, 3]
    assert list(whole.failed) == [jobs[1].name]
    assert whole.failed[jobs[1].name].startswith(words)
    assert read_recording(tmp_path / "recordings" / f"{jobs[1].name}.csv").rows == 11  # up to the failure


def test_an_interrupt_keeps_what_there_is(jobs, tmp_path):
    told = []

    def check():
        told.append(None)
        if len(told) == 30:  # one before a run, one a cycle but its last: in the second run, after its ninth cycle
            raise KeyboardInterrupt

    whole = Suite(jobs, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        whole.run(check=check)
    assert [run.test for run in whole.outcomes] == [1]
    path = tmp_path / "recordings" / f"{jobs[1].name}.csv"
    said = f"in {jobs[1].name}, after 9 of 20 control steps, which are in {path}; 1 of 3 runs finished"
    assert whole.broken_off() == said
    table = read_recording(path)
    assert (table.rows, table.torn) == (9, None)


def test_an_interrupt_between_runs(jobs):
    def check(seen=[]):  # noqa: B006  # counts
        seen.append(None)
        if len(seen) == 21:  # 1 + 19, and the next is before the second run
            raise KeyboardInterrupt

    whole = Suite(jobs)
    with pytest.raises(KeyboardInterrupt):
        whole.run(check=check)
    assert whole.broken_off() == "between two runs, 1 of 3 runs finished"


def full_after(monkeypatch, size):
    """A disk with room for so many bytes of recordings."""
    left = [size]

    def write(file, data, real=table._write):
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        some = data[: left[0]]
        left[0] -= len(some)
        return real(file, some)

    monkeypatch.setattr(table, "_write", write)


def test_a_full_disk_costs_recordings_and_no_numbers(jobs, tmp_path, monkeypatch):
    free = Suite(jobs, tmp_path / "free")
    free.run()
    full_after(monkeypatch, free.outcomes[0].csv.stat().st_size + 9000)  # the notes, and a few rows
    whole = Suite(jobs, tmp_path / "full")
    whole.run()
    assert [run.row() for run in whole.outcomes] == [run.row() for run in free.outcomes]
    assert whole.failed == {}
    one, two, three = (tmp_path / "full" / "recordings" / f"{job.name}.csv" for job in jobs)
    assert one.read_bytes() == free.outcomes[0].csv.read_bytes()
    assert 0 < read_recording(two).rows < 20  # whole rows, as many as there was room for
    assert not three.exists()
    assert len(whole.problems) == 2
    assert whole.problems[0].startswith(f"{two}: No space left on device (ENOSPC): the file holds the ")
    assert whole.problems[0].endswith("memory holds all of them, and the numbers come from there")
    assert whole.problems[1].startswith(
        f"{three}: cannot be written: No space left on device (ENOSPC): this run is not"
    )


def test_interrupted_on_a_full_disk(jobs, tmp_path, monkeypatch):
    full_after(monkeypatch, 6000)  # the notes, and a row or two
    whole = Suite(jobs, tmp_path)

    def check(seen=[]):  # noqa: B006  # counts
        seen.append(None)
        if len(seen) == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole.run(check=check)
    assert "No space left on device" in whole.broken_off()


# ---- what is written in the end


@pytest.fixture
def made(jobs):
    whole = Suite(jobs[:1])
    whole.run()
    return whole


def test_results_are_rows_of_json(made, tmp_path):
    path = write_results(made.outcomes, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name] == ["results.json"]
    (row,) = json.loads(path.read_text())
    assert set(row) == {"test", "variant", "plant", "robot", "metrics", "thesis"}


def test_a_file_that_cannot_be_written_is_named_and_the_old_one_stays(made, tmp_path, monkeypatch):
    (tmp_path / "results.json").write_text("old")
    (tmp_path / "report.html").write_text("old")

    def full(self, *args, **kwargs):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(results, "draw_all", lambda *args, **kwargs: {})
    with pytest.raises(UnwrittenError, match=r"results\.json: cannot be written: No space left on device$"):
        write_results(made.outcomes, tmp_path)
    with pytest.raises(UnwrittenError, match=r"report\.html: cannot be written: No space left on device$"):
        write_report(made.outcomes, [], tmp_path, made.jobs, {})
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["report.html", "results.json"]
    assert (tmp_path / "report.html").read_text() == "old"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "figures: cannot be written: No space left on device"),
        (RuntimeError("no font"), "could not be drawn: RuntimeError: no font"),
    ],
)
def test_figures_that_fail_do_not_cost_the_report(made, tmp_path, monkeypatch, error, words):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(results, "draw_all", fail)
    written = write_report(made.outcomes, [], tmp_path, made.jobs, {"mujoco": "is not here"})
    assert written.problem.endswith(words)
    page = written.path.read_text()
    assert words in page
    assert "is not here" in page


def test_without_matplotlib_the_report_says_so(made, tmp_path, without):
    without("matplotlib")
    written = write_report(made.outcomes, [], tmp_path, made.jobs, {})
    assert written.problem == f"drawing needs matplotlib: {pip_install('report')}"
    assert "drawing needs matplotlib" in written.path.read_text()


def test_an_interrupted_report_is_not_there(made, tmp_path, monkeypatch):
    def half(path, *args, **kwargs):
        path.with_name("report.html.part").write_text("<html")
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "report", lambda outcomes, figures, path, **options: half(path))
    monkeypatch.setattr(results, "draw_all", lambda *args, **kwargs: {})
    with pytest.raises(KeyboardInterrupt):
        write_report(made.outcomes, [], tmp_path, made.jobs, {})
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == []


def test_a_report_of_nothing(tmp_path):
    written = write_report([], [], tmp_path, jobs_of_all(), {"interrupted": "between two runs"})
    assert "between two runs" in written.path.read_text()
    assert json.loads(write_results([], tmp_path).read_text()) == []
