"""The planner's process: blocks in shared memory, and F31: killed or stopped, no control step waits for it."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from planner_scenes import HeldUp

import elbowroom as er
from elbowroom.avoidance.planning import background
from elbowroom.avoidance.planning.background import (
    Background,
    Block,
    Sizes,
    packed_answer,
    packed_request,
    unpacked_answer,
    unpacked_request,
)
from elbowroom.avoidance.planning.decision import SAMPLES, Answer, Choice, Request
from elbowroom.avoidance.planning.detour import WITHOUT, RouteState
from elbowroom.avoidance.planning.follower import SampledRoute
from elbowroom.avoidance.planning.settings import Planning

RULES = Planning(still_after=0.2, budget=0.2, silent=0.3, restart=0.1, latest=60.0)
PATIENCE = 120.0  # s that a test waits for a process at most: a machine may be busy
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(scope="module")
def arm():
    return er.load("panda")


@pytest.fixture
def loop(arm):
    """An arm that is held up, its planner ready in a process of its own."""
    made = HeldUp(arm, None)
    planner = Background(made.controller, RULES)
    assert planner.wait(PATIENCE), planner.problem
    yield HeldUp(arm, RULES, planner=planner)
    planner.close()


def until(true, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


class TestBlocks:
    def test_a_request_and_an_answer_come_out_as_they_went_in(self):
        sizes, draw = Sizes(7, 2, 13, 3), np.random.default_rng(0).standard_normal
        asked = Request(5, 1.5, draw(7), draw(3), None, draw((2, 13, 13)), np.array([1.5, 0.0]), draw((3, 13)))
        again = unpacked_request(5, packed_request(asked), sizes)
        assert packed_request(asked).shape == (sizes.request - background.HEAD,)
        for name in ("q", "aim", "people", "stood", "things"):
            assert np.array_equal(getattr(again, name), getattr(asked, name))
        assert (again.number, again.t, again.rotation) == (5, 1.5, None)
        route = SampledRoute(draw((SAMPLES, 7)), draw((SAMPLES, 7)), 3.5)
        said = Answer(5, 1.5, Choice.AROUND, asked.aim, 0.25, 0.5, route, 0.03, "wörds")
        found = unpacked_answer(packed_answer(said, sizes), sizes)
        assert np.array_equal(found.route.q, route.q)
        assert np.array_equal(found.route.qd, route.qd)
        assert (found.choice, found.margin, found.delay, found.route.duration) == (Choice.AROUND, 0.25, 0.5, 3.5)
        assert (found.number, found.t, found.seconds, found.problem) == (5, 1.5, 0.03, "wörds")
        assert np.array_equal(found.aim, asked.aim)

    def test_a_message_is_taken_once_and_the_newest_wins(self):
        memory = np.zeros(12)
        writer, reader = Block(memory), Block(memory)
        assert reader.take() is None
        writer.put(1, np.arange(10.0))
        writer.put(2, np.arange(10.0) + 1)
        assert np.array_equal(reader.take(), np.arange(10.0) + 1)
        assert reader.take() is None

    def test_one_that_is_written_in_part_is_none(self):
        """As a writer leaves it that is stopped in the middle."""
        memory = np.zeros(12)
        writer, reader = Block(memory), Block(memory)
        writer.put(1, np.arange(10.0))
        memory[7] = 99.0
        assert reader.take() is None
        memory[7] = 5.0
        assert reader.take() is not None


class TestF31Process:
    @posix
    def test_goes_around_and_survives_kill_and_stop(self, loop):
        """One process for all, since it takes a second to start."""
        planner = loop.detour.planner
        # it answers
        assert loop.run(3.0, until=lambda loop: loop.detour.asked == 1)
        until(lambda: planner._keeper.asked is None or _answers(loop))
        loop.step()
        assert loop.detour.state is RouteState.AROUND, loop.detour.text
        loop.detour.reset()
        # SIGSTOP: the steps go on while it is stopped, and say what is wrong once it was silent for long
        pid = planner.pid
        os.kill(pid, signal.SIGSTOP)
        until(lambda: _state(pid) in "Tt")
        asked = loop.detour.asked
        loop.run(3.0, until=lambda loop: loop.detour.asked > asked)
        steps = 0
        while _state(pid) in "Tt" and steps < 2000 and planner.pid == pid:
            loop.step()  # would never return if it waited
            steps += 1
        assert steps > 1
        assert not loop.detour.follower.active
        until(lambda: planner.starts == 2 and planner.ready)  # ended, and started anew
        # kill -9
        pid = planner.pid
        os.kill(pid, signal.SIGKILL)
        for _ in range(50):
            loop.step()
        until(lambda: "SIGKILL" in planner.problem)
        planner._keeper._start_at = math.inf  # not yet, or a fast start would end what is looked at here
        loop.detour._pending = False
        loop.run(2.0, until=lambda loop: loop.detour.text == WITHOUT)
        assert loop.detour.text == WITHOUT
        assert loop.guard.latched is None
        planner._keeper._start_at = 0.0
        until(lambda: planner.starts == 3 and planner.ready and not planner.problem)

    @posix
    def test_ends_with_its_caller(self, loop):
        pid = loop.detour.planner.pid
        assert _state(pid) not in "Z?"
        loop.detour.close()
        until(lambda: _state(pid) in "Z?")

    @posix
    @pytest.mark.slow
    def test_ends_when_its_caller_is_killed(self, tmp_path):
        script = tmp_path / "caller.py"
        script.write_text(
            "import os, signal, sys, elbowroom as er\n"
            "from elbowroom.avoidance import Controller, Config\n"
            "from elbowroom.avoidance.planning.background import Background\n"
            "from elbowroom.avoidance.planning.settings import Planning\n"
            "planner = Background(Controller(er.load('planar2'), Config(period=0.01)), Planning())\n"
            "assert planner.wait(120)\n"
            "print(planner.pid, flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        import subprocess

        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        pid = int(done.stdout)
        until(lambda: _state(pid) in "Z?")

    def test_leaves_no_file(self, loop):
        path = Path(loop.detour.planner._keeper._path)
        assert path.name.startswith("elbowroom-planner-")
        assert not path.exists()


class TestF31BackOff:
    def test_a_process_that_cannot_start_is_tried_ever_less_often(self, arm, monkeypatch):
        monkeypatch.setattr(background, "BOOT", "raise SystemExit(3)")
        monkeypatch.setattr(background, "TICK", 0.01)
        controller = HeldUp(arm, None).controller
        planner = Background(controller, Planning(restart=0.05, silent=0.5))
        try:
            until(lambda: planner.starts >= 4)
            assert planner._keeper._pause >= 0.05 * 2**3
            assert planner.problem == "ended with exit status 3"
            assert not planner.ask(Request(1, 0.0, arm.ready, np.zeros(3), None, np.zeros((1, 13, 13)),
                                           np.array([9.0]), np.zeros((0, 13))))  # fmt: skip
        finally:
            planner.close()
        assert not Path(planner._keeper._path).exists()


def _answers(loop) -> bool:
    """Steps while the planner works; whether its answer was taken."""
    loop.step()
    return loop.detour.state is RouteState.AROUND


def _state(pid: int) -> str:
    """R, S, T (stopped), Z (gone, not waited for) or ? (gone)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "?"
