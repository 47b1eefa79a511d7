"""The two-program cell from the command line: `elbowroom plant`, and `elbowroom run --plant HOST:PORT`."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from elbowroom.cell import Scene
from elbowroom.cell.recording.table import read
from elbowroom.cli import plant as command
from elbowroom.errors import ConfigError

GIVE_UP = 240.0  # s: a test that hangs ends; none is judged by it
SCENE = """
title = "Two programs"
robot = "puma560"
cover = "thesis"
start = [0.0, 0.75, -2.15, 0.0, 0.7, 0.0]
duration = {duration}
reset_after = 0.4
[task]
kind = "pick_and_place"
pick = [0.0, 0.15, -0.1]
place = [0.0, -0.15, -0.1]
[controller]
period = 0.02
[limits]                             # a busy machine must not stop the arm by itself
max_state_age = 1.0
max_repeats = 1000
max_overruns = 1000
max_overrun = 1000
clock_step = 10.0
{more}
"""


@pytest.fixture
def scene_file(tmp_path):
    """A function that writes the scene of these tests, with more tables, into a file."""

    def write(duration: float = 1.6, more: str = "", name: str = "cell.toml"):
        path = tmp_path / name
        path.write_text(SCENE.format(duration=duration, more=more))
        return path

    return write


@pytest.fixture
def served():
    """A function that serves the plant of a scene from a thread; gives its address as the command takes it."""
    with contextlib.ExitStack() as ends:

        def serve(scene: Scene, **options) -> str:
            options = {"period": 0.004, "timeout": 0.2, "lockstep": True} | options
            server = ends.enter_context(command.serve(scene, 0, **options))
            ended = threading.Event()
            thread = threading.Thread(target=server.serve, args=(ended.is_set,))
            ends.callback(thread.join)
            ends.callback(ended.set)
            thread.start()
            return f"127.0.0.1:{server.address[1]}"

        yield serve


@pytest.fixture
def hasty(monkeypatch):
    """A plant that is not there is not waited for."""
    monkeypatch.setattr(command, "WAIT", 0.2)
    monkeypatch.setattr(command, "TOLD", 0.1)


# ---- in lockstep, as in one program


def test_a_run_in_two_programs_is_the_run_in_one(run, served, scene_file, tmp_path):
    file = scene_file()
    address = served(Scene.load(file).with_plant("rigid"))
    assert run("run", file, "--plant", "rigid", "--out", tmp_path / "one.csv")[0] == 0
    status, out, said = run("run", file, "--plant", address, "--out", tmp_path / "two.csv")
    assert (status, said) == (0, "")
    assert "puma560 on the rigid plant: 1.6 s, 80 control steps of 20 ms" in out
    assert f"another program at {address}, in lockstep; never lost" in out
    one, two = read(tmp_path / "one.csv"), read(tmp_path / "two.csv")
    assert two.notes["plant"] == f"rigid at {address}"
    for column in one:
        np.testing.assert_array_equal(one[column], two[column], err_msg=column)
    assert two.notes["scene.toml"] == one.notes["scene.toml"]
    assert np.ptp(two["q1"]) > 0.01
    assert run("run", file, "--plant", address)[0] == 0  # the one before has left


# ---- what goes wrong before anything moves


def test_where_a_plant_may_be(run, scene_file, hasty):
    file = scene_file()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for where, expected in (
        (
            "mujoko",
            "expected kinematic, rigid, mujoco, ros2, or HOST:PORT of `elbowroom plant`, such as 127.0.0.1:7777",
        ),
        ("mujoko", "got 'mujoko'; did you mean mujoco?"),
        ("127.0.0.1:0", "expected a port from 1 to 65535 after the colon; got '127.0.0.1:0'"),
        ("127.0.0.1:high", "expected a port from 1 to 65535"),
        ("192.168.1.4:7777", "expected a plant on this machine, such as 127.0.0.1:7777; got '192.168.1.4:7777'"),
        (
            f"127.0.0.1:{port}",
            f"no plant answers there; start one: elbowroom plant {file} --robot ur5e --port {port}",
        ),
    ):
        status, out, said = run("run", file, "--robot", "ur5e", "--plant", where)
        assert (status, out) == (1 if "answers" in expected else 2, "")
        assert f"--plant{' ' + where if status == 1 else ''}: " in said
        assert expected in " ".join(said.split())


def test_another_arm_is_refused_and_both_are_named(run, served, scene_file, hasty):
    file, turned = (
        scene_file(),
        scene_file(more="\n[variants.turned]\nstart = [2.5, 0.75, -2.15, 0.0, 0.7, 0.0]\ntask.kind = 'rest'"),
    )
    address = served(Scene.load(file))
    port = address.rpartition(":")[2]
    status, _, said = run("run", file, "--robot", "ur5e", "--plant", address)
    assert status == 1
    assert "the plant is puma560 on the kinematic plant; the controller is for ur5e, whose joints are others" in said
    assert f"start it for the same scene: elbowroom plant {file} --robot ur5e --port {port}" in said
    status, _, said = run("run", turned, "--variant", "turned", "--plant", address)
    assert status == 1
    assert "which has the joints of puma560 here, but another base, tool, mass or limit" in said
    assert f"elbowroom plant {turned} --variant turned --port {port}" in said
    twice = served(Scene.load(turned, variant="turned"))
    assert run("run", turned, "--variant", "turned", "--plant", twice)[::2] == (0, "")


def test_a_drive_for_other_commands_is_refused(run, served, scene_file):
    file = scene_file(more='\n[variants.force]\ncontroller.controller = "F"\ncontroller.force.method = "operational"')
    address = served(Scene.load(file).with_plant("rigid"))
    status, _, said = run("run", file, "--variant", "force", "--plant", address)
    assert status == 1
    assert "expected a drive that takes torques, which the controller makes; the plant takes joint speeds" in said


def test_more_people_than_the_plant_has_room_for(run, served, scene_file, monkeypatch):
    file = scene_file(more='\n[people.ann]\nkind = "still"\nshape = "standing"\nposition = [1.5, 0.0]')
    monkeypatch.setattr(command, "ROOM", 3)
    alone = Scene.load(scene_file(name="alone.toml")).with_plant("mujoco")
    address = served(alone)
    status, _, said = run("run", file, "--plant", address)
    assert status == 1
    assert re.search(r"room for the \d\d capsules of people in the scene; the plant has it for 3; start it", said)


def test_a_port_that_is_taken(run, served, scene_file):
    port = served(Scene.load(scene_file())).rpartition(":")[2]
    status, _, said = run("plant", scene_file(), "--port", port)
    assert status == 1
    assert f"error: --port: expected a free one; got {port}: there is a plant at it, puma560 on the kinematic" in said
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        status, _, said = run("plant", scene_file(), "--port", other.getsockname()[1])
        assert "something else listens there; --port 0 takes any" in said
    for options, expected in (
        (["--period", "0.2"], "--timeout: expected more than the period, 0.2 s; got 0.1 s"),
        (["--period", "0"], "a step of time must be positive and finite"),
        (["--robot", "pume560"], "--robot: "),
    ):
        status, _, said = run("plant", *options, "--port", 0)
        assert status == 1
        assert expected in said


def test_a_plant_that_is_busy_is_not_taken(served, scene_file, hasty):
    scene = Scene.load(scene_file())
    host, port = served(scene, lockstep=False, timeout=GIVE_UP).split(":")
    with command.connect(scene, (host, int(port)), "start") as first:
        assert first.connected
        with pytest.raises(ConfigError, match="has another controller"):
            command.connect(scene, (host, int(port)), "start")


def test_a_plant_says_what_it_is_and_ends_by_itself(run, scene_file):
    file = scene_file()
    status, out, said = run("plant", file, "--port", 0, "--seconds", 0.1)
    assert (status, said) == (0, "")
    first, how, connect = out.splitlines()
    port = re.fullmatch(r"puma560 on the kinematic plant listens at 127\.0\.0\.1:(\d+); Ctrl-C ends it", first)[1]
    assert how == "  in real time, a tick every 4 ms; it stops when no command comes for 100 ms"
    assert connect == f"  connect: elbowroom run {file} --plant 127.0.0.1:{port}"
    _, out, _ = run("plant", "--robot", "ur5e", "--plant", "mujoco", "--port", 0, "--lockstep", "--seconds", 0.1)
    assert "ur5e on the mujoco plant listens" in out
    assert "  in lockstep: time passes as its controller says" in out
    assert "  connect: elbowroom run --robot ur5e --plant 127.0.0.1:" in out


# ---- two processes, one of them killed


class Program:
    """A command in a process of its own; what it prints is collected by threads."""

    def __init__(self, *arguments: object) -> None:
        words = [sys.executable, "-m", "elbowroom.cli", *map(str, arguments)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = {"out": "", "err": ""}
        pipes = (("out", self.process.stdout), ("err", self.process.stderr))
        self.threads = [threading.Thread(target=self._collect, args=pipe, daemon=True) for pipe in pipes]
        for thread in self.threads:
            thread.start()

    def _collect(self, name: str, pipe) -> None:
        with pipe:
            for text in pipe:
                self.said[name] += text

    def end(self, number: int) -> int:
        """Sends a signal and waits; the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(GIVE_UP)
        for thread in self.threads:
            thread.join(GIVE_UP)
        return status


@pytest.fixture
def program():
    """A function that starts a command; all are ended with the test."""
    with contextlib.ExitStack() as ends:

        def start(*arguments: object) -> Program:
            made = Program(*arguments)
            ends.callback(lambda: made.end(signal.SIGKILL) if made.process.poll() is None else None)
            return made

        yield start


def until(what, *programs: Program) -> object:
    """Waits until this is true, and gives it; fails with what the programs said if it never is."""
    end = time.monotonic() + GIVE_UP
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    told = "\n".join(f"{p.process.args}: {p.process.poll()}\n{p.said['out']}{p.said['err']}" for p in programs)
    raise AssertionError(f"nothing came of it:\n{told}")


@pytest.mark.slow
@pytest.mark.parametrize("mode", [(), ("--lockstep",)], ids=["real time", "lockstep"])
def test_the_run_survives_a_plant_that_is_killed_and_started_again(program, scene_file, tmp_path, mode):
    file, recording = scene_file(duration=3600.0), tmp_path / "run.csv"
    options = (file, "--plant", "rigid", "--timeout", 2.0, *mode)
    first = program("plant", *options, "--port", 0)
    port = until(lambda: re.search(r"listens at 127\.0\.0\.1:(\d+)", first.said["out"]), first)[1]
    control = program("run", file, "--plant", f"127.0.0.1:{port}", "--out", recording)

    def rows():
        with contextlib.suppress(Exception):  # not there yet, or its last line is just being written
            return read(recording)

    def moving(since: float) -> bool:
        """Whether the arm has moved without a stop after this time."""
        table = rows()
        if table is None:
            return False
        speed = np.abs(np.column_stack([table[f"qd{k}"] for k in range(1, 7)])).max(axis=1)
        stopped = np.char.startswith(np.asarray(table["status"], dtype=str), "STOP")
        return bool(((speed > 0.01) & ~stopped & (table["t"] > since)).any())

    assert until(lambda: moving(0.0), first, control)
    assert "controller 127.0.0.1:" in first.said["out"]
    first.end(signal.SIGKILL)
    until(lambda: re.search(r"plant: lost at \S+ s: the arm is stopped", control.said["err"]), first, control)
    assert f"elbowroom plant {file} --port {port} --plant rigid" in control.said["err"]
    assert control.process.poll() is None

    def stopped():
        table = rows()
        return table is not None and table["status"][-1] == "STOP_STATE_STALE" and table.rows

    if not mode:  # in lockstep time stands still, and so does the file
        until(stopped, control)
    second = program("plant", *options, "--port", port)
    back = until(lambda: re.search(r"plant: back at (\S+) s; the stop is reset", control.said["err"]), second, control)
    assert until(lambda: moving(float(back[1])), second, control)
    assert control.end(signal.SIGINT) == 130
    out = control.said["out"]
    assert "puma560 on the rigid plant" in out
    assert re.search(rf"another program at 127\.0\.0\.1:{port}, in .*; lost \d+ times?: at \S+ s for \S+ s", out)
    assert re.search(r"stops +\d+, [1-9]\d* resets?", out)
    status, why = ("STOP_INTERNAL", "plant: it") if mode else ("STOP_STATE_STALE", "the joint state is older than")
    assert f"{status}: {why}" in out, out
    assert re.search(r"\d s  reset", out)
    table = read(recording)
    assert status in set(table["status"])
    assert table.notes["plant"] == f"rigid at 127.0.0.1:{port}"
    until(lambda: re.search(r"controller 127\.0\.0\.1:\d+ left after", second.said["out"]), second)
    assert second.end(signal.SIGINT) == 0
    assert "ended: by Ctrl-C" in second.said["err"]
    assert os.path.getsize(recording) > 0
