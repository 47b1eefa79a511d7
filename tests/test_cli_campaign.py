"""`elbowroom campaign` from outside: what it prints, Ctrl-C, processes that are killed, and going on afterwards."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import elbowroom as er
from elbowroom.campaign import load, read_finds, read_rows
from elbowroom.campaign import runs as runs_
from elbowroom.cli.campaign import bounds
from elbowroom.errors import ElbowroomError

TEXT = 'seed = 3\nlaw = { each = ["still", "blind"] }\nduration = 2.0\nsensor.noise = { uniform = [0.0, 0.02] }\n'
RUNS = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("campaign")
    (found / "some.toml").write_text(TEXT)
    return found


@pytest.fixture(scope="module")
def wanted(folder):
    return runs_.rows(load(folder / "some.toml"), 0, RUNS).tobytes()


def start(folder, *arguments, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(er.__file__).parents[1]), *sys.path])}
    quick = ("--format", "npy", "--no-report")
    words = [sys.executable, "-m", "elbowroom.cli", "campaign", "some.toml", *quick, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, cwd=folder, env=environment, **pipes, **options)


def until_blocks(process, folder, count):
    """Waits for so many complete blocks."""
    sums = folder / "blocks/SHA256SUMS"
    for _ in range(6000):
        if sums.is_file() and len(sums.read_text().splitlines()) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("no blocks")


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid):
    for _ in range(1000):
        if not Path(f"/proc/{pid}").exists() or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return True
        time.sleep(0.01)
    return False


def kept(folder, wanted):
    """How many runs are complete; they are the first bits of what is wanted, block by block."""
    rows = read_rows(folder)[0]
    size = len(wanted) // RUNS
    assert all(row.tobytes() == wanted[row["run"] * size : (row["run"] + 1) * size] for row in rows)
    return len(rows)


def test_a_campaign_and_its_summary(run, folder, wanted):
    quick = ("--format", "npy", "--no-report")
    status, out, err = run("campaign", folder / "some.toml", "--runs", 20, "--out", folder / "quick", *quick)
    assert status == 0
    assert not (folder / "quick/report.html").exists()
    assert kept(folder / "quick", wanted) == 20
    assert "panda" in out
    assert "still" in out
    assert "none in 10: below 26 %" in out
    assert "written: 20 runs in" in err
    assert "control steps/s" in err
    status, out, err = run("campaign", folder / "some.toml", "--out", folder / "quick", "--resume", "--no-report")
    assert status == 0
    assert "none in 10" in out


def test_a_report_of_what_is_there(run, folder, monkeypatch):
    pytest.importorskip("scipy")
    there = folder / "told"
    run("campaign", folder / "some.toml", "--runs", 20, "--out", there, "--format", "npy", "--no-report")
    status, out, _ = run("campaign", "report", there, "--no-pages")
    assert status == 0
    assert f"{there}/report.html: 20 runs" in " ".join(out.split()).replace("/ ", "/")
    assert "20 simulated encounters" in (there / "report.html").read_text()
    assert not (there / "worst").exists()
    if importlib.util.find_spec("viser") is not None:
        monkeypatch.setattr("elbowroom.campaign.statistics.WORST", 2)
        (there / "worst").mkdir()
        (there / "worst/000099.html").write_text("of a report before")
        assert run("campaign", "report", there)[0] == 0
        pages = sorted(path.name for path in (there / "worst").iterdir())
        assert len(pages) == 2
        assert all(f'href="worst/{name}"' in (there / "report.html").read_text() for name in pages)
    (there / "blocks/000000.npy").write_bytes(b"cut off")
    status, _, err = run("campaign", "report", there, "--no-pages")
    assert status == 1
    assert "000000.npy: is not as it was written" in " ".join(err.split())


def test_a_report_that_cannot_be_written_leaves_the_campaign_as_it_is(run, folder, monkeypatch):
    def wanting(*_):
        raise ElbowroomError("intervals and tests of rates need scipy")

    monkeypatch.setattr("elbowroom.campaign.report.sections.rate", wanting)
    monkeypatch.setattr("elbowroom.campaign.statistics.WORST", 0)
    there = folder / "untold"
    status, _, err = run("campaign", folder / "some.toml", "--runs", 20, "--out", there, "--format", "npy")
    assert status == 0
    assert "no report: intervals and tests of rates need scipy" in err
    assert "written: 20 runs in" in err


def test_a_search_its_report_and_its_finds(run, folder, monkeypatch):
    pytest.importorskip("cma")
    monkeypatch.setattr("elbowroom.campaign.search.over.__kwdefaults__", {"islands": 2, "population": 4})
    (folder / "one.toml").write_text('law = "still"\nduration = 0.5\nsensor.noise = { uniform = [0.0, 0.02] }\n')
    out = folder / "sought"
    quick = ("--workers", 1, "--format", "npy")
    status, _, err = run(
        "campaign", "search", folder / "one.toml", "--evaluations", 10, "--out", out, *quick, "--no-report"
    )
    assert status == 0, err
    assert "written: 16 runs in" in err
    status, said, _ = run("campaign", "report", out, "--no-pages")
    assert status == 0
    assert "report.html: 16 runs" in " ".join(said.split()).replace("/ ", "/")
    assert len(read_finds(out / "finds.toml")) == 10  # at most five of one scene, and there are two
    status, _, err = run("campaign", "search", folder / "some.toml", "--out", folder / "no")
    assert status == 1
    assert "law: a search has one; got" in " ".join(err.split())
    status, _, err = run("campaign", "search", folder / "one.toml", "--objective", "worst", "--out", folder / "no")
    assert status == 1
    assert "objective: expected one of least-distance, contact-speed, own-speed" in " ".join(err.split())
    assert not (folder / "no").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--engine", "local", "--address", "auto"), "engine 'local' has no address; expected engine 'ray'"),
        (("--engine", "locale"), "engine: expected one of local, cuda, ray; got 'locale'; did you mean local?"),
        (("--seed", "-4"), "seed: expected a whole number from 0 to 1048575; got -4"),
        (("--resume",), "no campaign is there"),
        (("--resume", "--block", "3"), "--block is as before"),
    ],
)
def test_what_cannot_be_is_said_on_one_line(run, folder, arguments, said):
    status, _, err = run("campaign", folder / "some.toml", "--out", folder / "none", "--format", "npy", *arguments)
    assert status in (1, 2)
    assert said in " ".join(err.split())
    assert "Traceback" not in err
    assert not (folder / "none").exists()


def test_bounds_are_exact():
    pytest.importorskip("scipy")
    assert bounds(0, 1000) == "none in 1000: below 0.3 %"
    assert bounds(27, 1000) == "27: 1.8 to 3.9 %"  # as docs/avoidance/encounters.md has it


@pytest.mark.slow  # tests/campaign/test_campaign_store.py has it without the command
@pytest.mark.parametrize("group", [False, True])
def test_ctrl_c_keeps_complete_blocks_and_resume_goes_on(folder, wanted, group):
    """Ctrl-C of a terminal goes to the whole group of processes."""
    out = folder / f"interrupted{group}"
    options = ("--out", out, "--workers", 2)
    process = start(folder, "--runs", RUNS, "--block", 4, *options, start_new_session=True)
    until_blocks(process, out, 2)
    workers = children(process.pid)
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    text, err = process.communicate(timeout=100)
    assert process.returncode == 130
    count = kept(out, wanted)
    assert 8 <= count < RUNS
    assert f"interrupted: {count} of {RUNS} runs are kept in {out}; --resume goes on" in err
    assert "Traceback" not in err
    assert "still" in text
    assert all(map(gone, workers))
    again = start(folder, *options, "--resume")
    text, err = again.communicate(timeout=100)
    assert again.returncode == 0, err
    assert read_rows(out)[0].tobytes() == wanted


def test_a_second_ctrl_c_ends_at_once(folder, wanted):
    out = folder / "twice"
    process = start(folder, "--runs", RUNS, "--block", 4, "--out", out)
    until_blocks(process, out, 1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert kept(out, wanted) < RUNS


@pytest.mark.slow  # tests/campaign/test_campaign_store.py has it without the command
def test_a_worker_that_is_killed_is_replaced(folder, wanted):
    out = folder / "worker"
    process = start(folder, "--runs", RUNS, "--block", 10, "--out", out, "--workers", 2)
    until_blocks(process, out, 1)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert "note: a worker process was ended by SIGKILL; block" in err
    assert read_rows(out)[0].tobytes() == wanted


@pytest.mark.slow  # tests/campaign/test_campaign_store.py has it without the command
def test_the_whole_command_killed_and_resumed(folder, wanted):
    out = folder / "killed"
    process = start(folder, "--runs", RUNS, "--block", 4, "--out", out, "--workers", 2)
    until_blocks(process, out, 2)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    assert 8 <= kept(out, wanted) < RUNS
    again = start(folder, "--out", out, "--resume", "--workers", 1)  # at once: no worker holds the folder
    _, err = again.communicate(timeout=100)
    assert again.returncode == 0, err
    assert read_rows(out)[0].tobytes() == wanted
    assert all(map(gone, workers))
