"""`elbowroom ros2` and `elbowroom run --plant ros2`, beside a simulated robot in another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from ros2_world import ENV, until

from elbowroom.cell.recording.table import read
from elbowroom.loading import load

pytest.importorskip("cyclonedds", reason="cyclonedds (extra connect) speaks DDS")
pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")

LENIENT = """
[limits]
max_state_age = 5.0
max_overruns = 1000
max_overrun = 1000
max_repeats = 1000
clock_step = 10.0
[limits.sensor]
dropout = 2.0
"""
COMMANDS = "/velocity_controller/commands"
TURNED = np.array([0.3, -0.3])


@pytest.fixture
def scene(tmp_path):
    """The tool goes to a point that the arm reaches from its ready pose."""
    arm = load("planar2")
    x, y, z = (arm.pose(arm.ready + TURNED)[:3, 3] - arm.model.base[:3, 3]).tolist()
    path = tmp_path / "scene.toml"
    path.write_text(
        'robot = "planar2"\nduration = 30.0\norigin = "base"\n'
        f'[task]\nkind = "go_to"\npoint = [{x}, {y}, {z}]\n{LENIENT}'
    )
    return path


def test_a_scenes_task_is_done_on_a_ros_2_robot(run, domain, robot, scene, tmp_path, monkeypatch):
    """`run --plant ros2`: the robot in its process is on its way to where the scene wants the tool.

    How far it comes in so many seconds is the machine's affair: test_ros2_link.py waits until it is there.
    """
    for name in ("WATCHDOG", "TIMEOUT"):
        monkeypatch.setattr(f"elbowroom.connect.ros2.session.{name}", 10.0)  # s: a busy machine is no fault here
    monkeypatch.setattr("elbowroom.connect.ros2.stamps.StampClock._judge", lambda *_: None)  # nor are its late messages
    out = tmp_path / "run.mcap"
    call = ["run", scene, "--plant", "ros2", "--command", COMMANDS, "--domain", domain, "--seconds", 3, "--out", out]
    call += ["--people", 0]  # whose messages come late on a busy machine, which stops the arm as it should
    status, said, errors = run(*call)
    assert status == 0, errors
    assert f"planar2: joint states on /joint_states, domain {domain}, interface lo" in said
    assert "planar2 on a ROS 2 robot" in said
    table, arm = read(out), load("planar2")
    assert table.rows > 5
    assert not any(status.startswith("STOP") for status in table["status"]), said
    wanted = arm.pose(arm.ready + TURNED)[:3, 3]
    begun, left = (np.linalg.norm(arm.pose(q)[:3, 3] - wanted) for q in (arm.ready, robot.order("report")["q"]))
    assert left < begun - 1e-3, said


def test_a_call_that_does_not_say_whether_to_move_is_refused(run, scene, domain):
    for call in (["ros2", "--robot", "planar2"], ["run", scene, "--plant", "ros2"]):
        status, _, errors = run(*call)
        assert status == 2
        assert "--command: expected the topic of a controller" in errors.replace("\n", " ")
    status, _, errors = run("ros2", "--robot", "planar2", "--joint-states", "joints", "--dry-run")
    assert status == 1
    assert "topic: expected a whole name such as /joint_states; got 'joints'" in errors
    status, _, errors = run("run", scene, "--plant", "ros")
    assert status == 2
    assert "did you mean ros2?" in errors.replace("\n", " ")


@pytest.mark.parametrize("order", [("--reset",), ("--go-to", "0.4,0.3,0.5")])
def test_a_dry_run_gives_no_orders(run, domain, order):
    status, _, err = run("ros2", "--dry-run", *order, "--domain", domain)
    assert status == 2
    assert "--dry-run publishes nothing" in err


def test_a_dry_run_says_what_it_would_do(run, domain, robot):
    before = robot.order("report")["received"]
    status, said, errors = run("ros2", "--domain", domain, "--dry-run", "--people", 0, "--seconds", 0.3)
    assert status == 0, errors
    assert "dry run: nothing is published" in said
    assert "30 control steps, 0 goals reached" in said
    assert robot.order("report")["received"] == before


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_stop_the_arm_and_keep_the_recording(domain, robot, scene, tmp_path, name):
    out = tmp_path / "run.mcap"
    call = [sys.executable, "-m", "elbowroom", "ros2", "--robot", "planar2", "--domain", str(domain), "--people", "0"]
    call += ["--command", COMMANDS, "--scene", str(scene), "--out", str(out)]
    before = robot.order("report")["received"]
    # a signal that these tests were told to ignore, as by nohup, would be ignored by the program, too
    call = [sys.executable, "-c", "import os, signal, sys; signal.signal(int(sys.argv[1]), signal.SIG_DFL); "
            "os.execv(sys.argv[2], sys.argv[2:])", str(int(getattr(signal, name))), *call]  # fmt: skip
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    try:
        until(lambda: process.poll() is not None or robot.order("report")["received"] > before + 20, "for commands")
        process.send_signal(getattr(signal, name))
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    assert "control steps, 0 goals reached" in said
    assert robot.order("report")["fastest"] == 0.0
    assert read(out).rows > 10
    assert json.loads(read(out).notes["epoch"]) > 1e18  # stamped with the clock, as bags are
