"""`elbowroom demo` from the command line: what it says, and that it ends as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from marks import slow_where

pytest.importorskip("viser")

from elbowroom.cli import app, main
from elbowroom.cli.demo import _here
from elbowroom.model import catalogue
from elbowroom.viewer.session import processes as children
from elbowroom.viewer.session.processes import prepare
from elbowroom.viewer.session.setup import Setup

START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background would have it ignored
from elbowroom.cli import main
main(["demo", "--no-open", "--port", "0", *sys.argv[1:]])
"""


def begin(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupted(process):
    """Ctrl-C, which goes to every process of a terminal; what was said, and whether anybody is left."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        said, complained = process.communicate(timeout=60)
    finally:
        process.kill()
    last = time.monotonic() + 20.0  # Python's own tracker of shared memory goes when it hears that its parent has gone
    while (left := _of_group(process.pid)) and time.monotonic() < last:
        time.sleep(0.05)
    return process.returncode, said, complained, left


def _of_group(group):
    """Who is left of a group of processes, by their command lines."""
    found = [each for each in Path("/proc").iterdir() if each.name.isdigit() and _group(each) == group]
    return [(each / "cmdline").read_text(errors="replace") for each in found if each.exists()]


def _group(process):
    try:
        state, _, group = (process / "stat").read_text().rsplit(")", 1)[1].split()[:3]
    except OSError:
        return None
    return None if state == "Z" else int(group)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    "when", slow_where(lambda when: when != "live after", ["starting", "the page is at", "live after"])
)
def test_ctrl_c_ends_it_at_any_time_without_a_trace_and_with_nobody_left(when):
    process = begin()
    while when not in process.stdout.readline():
        assert process.poll() is None
    _, _, complained, left = interrupted(process)
    assert "Traceback" not in complained
    assert complained == "ended: by Ctrl-C\n"
    assert not left


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals of threads")
def test_ctrl_c_waits_until_a_child_has_started_whichever_thread_takes_it(monkeypatch):
    """Python interrupts the main thread for a signal that any other took; half a child would complain."""
    done, steps = threading.Event(), []
    other = threading.Thread(target=done.wait)
    other.start()

    class Child:
        def __init__(self, **_):
            pass

        def start(self):
            signal.pthread_kill(other.ident, signal.SIGINT)
            time.sleep(0.2)  # the interrupt would come within
            steps.append("started")

    monkeypatch.setattr(children.CONTEXT, "Process", Child)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background would have it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            children.start(print)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        done.set()
        other.join()
    assert steps == ["started"]


@pytest.mark.slow
def test_beside_a_recorded_person_it_ends_by_itself_and_prints_the_true_address(take):
    process = begin("--seconds", "0.2", "--scenario", "recorded", "--motion", str(take))
    said, complained = process.communicate(timeout=120)
    assert process.returncode == 0, complained
    assert "the page is at http://127.0.0.1:" in said
    assert complained == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--robot", "r2d2"), "robot: expected one of"),
        (("--robot", "none.urdf"), "there is no file"),
        (("--tip", "hand"), "tip: expected with a URDF file alone"),
        (("--scenario", "moon"), "scenario: expected cell, walk past"),
        (("--scenario", "recorded"), "--motion"),
        (("--scenario", "recorded", "--motion", "none.csv"), "motion: expected a recording"),
        (("--scenario", "7"), "puma560"),
        (("--out", __file__), "--out: expected a folder"),
        (("--token", "short"), "token: expected 16 to 128"),
        (("--host", "0.0.0.0"), "host: expected the one address"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, words):
    result = CliRunner().invoke(app, ["demo", "--no-open", "--port", "0", "--seconds", "0", *arguments])
    assert result.exit_code == 1
    assert words in str(result.exception)


def test_which_addresses_need_no_token():
    assert all(map(_here, ("127.0.0.1", "127.0.0.9", "::1", "localhost", "LocalHost")))
    assert not any(map(_here, ("192.168.1.2", "cell.local", "0.0.0.0", "")))


BARE = """<robot name="x"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def test_an_arm_without_any_shapes_is_refused_in_one_line(tmp_path, capsys):
    file = tmp_path / "bare.urdf"
    file.write_text(BARE)
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--robot", str(file), "--no-open"])
    err = capsys.readouterr().err
    assert ended.value.code == 1
    assert len(err.splitlines()) == 1
    same = "all 1 moving links have no shape, so distances would ignore them: 'a'; give them <collision> elements"
    assert err.startswith(f"error: robot: x: {same}")
    with pytest.raises(SystemExit):
        main(["check", str(file)])
    assert same in capsys.readouterr().out


def test_prepared_is_every_arm_and_every_scenario(monkeypatch):
    made, said = [], []
    monkeypatch.setattr("elbowroom.viewer.session.processes.Cell", made.append)
    count = prepare(Setup(robot="panda"), said.append)
    assert count == len(made)
    assert {scene.robot for scene in made} >= set(catalogue.names())
    assert len(said) == len(catalogue.names()) + len(Setup().scenarios)
    assert count >= len(said) - 1  # test 7 is the PUMA's alone
