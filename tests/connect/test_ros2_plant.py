"""A ROS 2 robot as a plant, with a clock and a network of the test's own: faults, and what is sent meanwhile."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import select
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from ros2_offline import Network

from elbowroom.avoidance import Command, Config, Limits, State, Status
from elbowroom.cell import Cell, GoTo, Scene, mounted
from elbowroom.cell.mocap.ros_people import nanoseconds
from elbowroom.cli.ros2 import StatusLines, terminated
from elbowroom.connect.ros2.node import Message
from elbowroom.connect.ros2.plant import Ros2Plant, Topics
from elbowroom.connect.ros2.session import AGE, Ros2Options, Ros2Session
from elbowroom.connect.ros2.watchdog import ANSWER, BEAT, QUIT, Watchdog, guard

PERIOD = 0.01
TRAJECTORIES, SPEEDS = "/trajectory_controller/joint_trajectory", "/velocity_controller/commands"


class World:
    """A robot that follows what it is sent, a cell that commands it, and the clock of both."""

    def __init__(self, silent: bool = False, supervision: str = "stop") -> None:
        scene = Scene(
            robot="planar2",
            origin="base",
            controller=Config(period=PERIOD),
            limits=Limits(max_state_age=AGE),
            supervision=supervision,
            face=False,
        )
        arm = mounted(scene)
        point = arm.pose(arm.ready + np.array([1.0, -0.8]))[:3, 3] - arm.model.base[:3, 3]
        scene = dataclasses.replace(scene, task=GoTo(tuple(point.tolist())))
        self.now, self.node = 1000.0, Network()
        self.plant = Ros2Plant(arm, self.node, Topics(command=TRAJECTORIES, silent=silent), clock=lambda: self.now)
        self.arm, self.q, self.qd = arm, np.array(arm.ready), np.zeros(arm.n)
        self.spoil = lambda q: q
        self.silent = False
        self.points: list[tuple[float, np.ndarray]] = []
        self.tell()
        self.cell = Cell(scene, plant=self.plant)
        self.t = 0.0

    @property
    def sent(self) -> list:
        return self.node.topics[self.plant.topics.command].queue

    def tell(self) -> None:
        if not self.silent:
            q, ns = self.spoil(self.q.tolist()), round(1e9 * self.now)
            header = (ns // 10**9, ns % 10**9), ""
            states = self.node.topics["/joint_states"]
            states.queue.append(Message((header, self.arm.joint_names, tuple(q), tuple(self.qd), ()), 1))

    def step(self) -> Command:
        """A control step; what it sent is followed from point to point, for a period."""
        command = self.cell.step(self.t)
        if self.plant.commands is not None and self.sent:
            _, _, points = self.sent[-1]
            if points and self.plant.topics.is_trajectory:
                self.points = [(self.now + 1e-9 * nanoseconds(after), np.array(q)) for q, _, _, _, after in points]
        ahead = [(end, q) for end, q in self.points if end > self.now]
        self.qd = (ahead[0][1] - self.q) / (ahead[0][0] - self.now) if ahead else np.zeros(self.arm.n)
        self.q = self.q + PERIOD * self.qd
        self.cell.advance(self.t, PERIOD)
        self.t, self.now = self.t + PERIOD, self.now + PERIOD
        self.tell()
        return command

    def positions(self, since: int) -> np.ndarray:
        """All positions of the trajectories sent since."""
        return np.array([q for _, _, points in self.sent[since:] for q, _, _, _, _ in points])


def moving(**others) -> World:
    """An arm on its way, at some speed."""
    world = World(**others)
    for _ in range(400):
        world.step()
        if np.abs(world.qd).max() > 0.3:
            assert world.cell.guard.latched is None, world.cell.guard.reason
            return world
    raise AssertionError(f"it does not move: {world.cell.command}")


FAULTS = {"nan": lambda q: [math.nan, *q[1:]], "jump": lambda q: [q[0] + 1.0, *q[1:]], "silent": None}


@pytest.mark.parametrize("fault", FAULTS)
def test_trajectories_of_a_stop_never_begin_at_a_state_that_was_refused(fault):
    """They go on the way the arm went, not back, and not farther than the ramp from its speed."""
    world = moving()
    at, v, since = world.q.copy(), world.qd.copy(), len(world.sent)
    if fault == "silent":
        world.silent = True
    else:
        world.spoil = FAULTS[fault]
        world.node.topics["/joint_states"].queue.clear()
        world.tell()
    for _ in range(60):
        before = world.q.copy()
        world.step()
        back = (before - world.positions(-1)) @ v / (v @ v)  # s at the speed that it had
        assert back.max() < 1e-3  # rounding of stamps alone; 0.05 and more where it is pulled back
    assert world.cell.guard.latched is not None
    if fault != "silent":
        assert world.cell.guard.latched is Status.STOP_STATE_INVALID
    positions = world.positions(since)
    assert len(positions) >= 60
    assert np.isfinite(positions).all()
    ahead = (positions - at) @ v / (v @ v)  # s at the speed that it had
    aside = np.abs(positions - at - ahead[:, None] * v).max()
    assert ahead.max() < 0.4  # 0.1 s until silence is noticed, and a ramp of at most 0.25 s
    assert aside < 0.1  # the way bends a little until it is stopped
    assert np.abs(world.qd).max() < 1e-4
    assert np.abs(world.q - positions[-1]).max() < 1e-5  # it stands where the last one ends


def test_a_trajectory_stays_within_the_limits_and_takes_up_a_reset_where_the_arm_is():
    world = World()
    plant, n = world.plant, world.arm.n
    command = Command(n)
    world.q = np.minimum(world.arm.model.upper, 3.0) - 0.01
    world.now += PERIOD
    world.tell()
    plant.pump()
    plant._route._upper[:] = world.q + 0.01
    command.qd[:], command.status = 1.0, Status.OK
    plant.write(command)
    positions = world.positions(-1)
    assert positions.max() <= (world.q + 0.01).max() + 1e-12
    (_, speeds, *_), _ = world.sent[-1][2]
    assert not any(speeds)  # at the limit it stands
    command.qd[:], command.status = 0.0, Status.STOP_HUMAN
    world.now += PERIOD
    plant.write(command)
    ends = world.positions(-1)[-1]
    world.q = world.q - 0.5  # moved by hand
    for _ in range(3):
        world.now += PERIOD
        world.tell()
        plant.pump()
        plant.write(command)
        np.testing.assert_array_equal(world.positions(-1)[-1], ends)  # a stop takes no state
    command.status = Status.OK
    plant.write(command)
    np.testing.assert_allclose(world.positions(-1)[-1], world.q, atol=1e-12)


def test_nothing_is_sent_before_a_state_is_known():
    world = World()
    world.plant._route.reference = None
    before = len(world.sent)
    world.plant.brake()
    assert len(world.sent) == before


def session(world: World) -> Ros2Session:
    """A session of such a robot."""
    link = Ros2Session.__new__(Ros2Session)
    link.options, link.plant, link._watchdog = Ros2Options(command=TRAJECTORIES), world.plant, None
    link.notices = []
    return link


@pytest.mark.parametrize("pause", [PERIOD, 3.0])
def test_the_last_stop_is_told_how_much_time_has_passed(pause):
    """After 3 s without a command the supervisor trusts nothing; after a period it slows down as ever."""
    world = moving()
    t, steps, step = world.cell.command.t, [], world.cell.step
    world.now += pause - PERIOD

    def stepped(at: float) -> Command:
        steps.append(at)
        command = step(at)
        world.now += PERIOD
        world.tell()
        return command

    world.cell.step = stepped
    session(world).run_down(world.cell, 2.0)
    assert steps[0] == pytest.approx(t + pause, abs=1e-6)
    assert (len(steps) > 1) == (pause == PERIOD)
    assert np.diff(steps) == pytest.approx(PERIOD, abs=1e-6)
    assert not world.cell.command.qd.any()


# ---- the way to the robot, and the watchdog


def test_a_command_that_the_network_does_not_take_stops_the_arm_and_is_no_heartbeat():
    world, beats = moving(), []
    link = session(world)
    link._watchdog = SimpleNamespace(beat=lambda: beats.append("beat"), listen=lambda: beats.append("listen"))
    world.step()
    link._beat()
    world.node.topics[TRAJECTORIES].works = False
    world.step()
    link._beat()
    assert beats == ["beat", "listen"]
    world.step()
    assert "the network did not take a command" in world.cell.guard.reason


def test_nobody_who_listens_to_commands_any_more_stops_the_arm():
    world = moving()
    world.node.topics[TRAJECTORIES].subscribers = 0
    for _ in range(40):  # more than DISCOVERY
        world.step()
    assert f"{TRAJECTORIES}: nobody listens to commands any more" in world.cell.guard.reason
    world.plant.unlatch()
    world.plant.pump()
    assert "nobody listens" in world.plant.held  # still


@pytest.fixture
def pipes():
    """Two pipes: what the controller says, and what the watchdog says."""
    ends = [*os.pipe(), *os.pipe()]
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def controllers_side(given: int, told: int, clock) -> Watchdog:
    watchdog = Watchdog.__new__(Watchdog)
    watchdog._in, watchdog._out, watchdog.clock, watchdog.timeout = given, told, clock, 0.2
    watchdog.fault, watchdog._waiting = "", None
    for end in (given, told):
        os.set_blocking(end, False)
    return watchdog


def test_a_watchdog_that_does_not_answer_is_a_fault(pipes):
    _, given, told, says = pipes
    now = 0.0
    watchdog = controllers_side(given, told, lambda: now)
    for _ in range(100):
        watchdog.beat()
        os.write(says, BEAT)
        now += PERIOD
    watchdog.beat()
    os.write(says, BEAT)
    now += 10.0  # the controller itself was held up: the answer lay there
    watchdog.beat()
    assert watchdog.fault == ""
    for _ in range(round(ANSWER / PERIOD)):  # suspended
        now += PERIOD
        watchdog.beat()
    now += PERIOD
    watchdog.beat()
    assert watchdog.fault == "watchdog: its process does not answer"
    watchdog.reset()
    os.close(says)
    watchdog.beat()
    assert watchdog.fault == "watchdog: its process has ended"


def said(end: int) -> bytes:
    """What comes at the end of a pipe; nothing after a minute, where the test would wait for ever."""
    return os.read(end, 64) if select.select([end], [], [], 60.0)[0] else b""


def test_a_watchdog_is_ready_once_it_is_connected_and_answers(pipes):
    listens, given, hears, told = pipes
    node = Network()
    node.id = "me"
    writer = node.publish(SPEEDS, "")
    writer.subscribers = 0
    thread = threading.Thread(target=guard, args=(node, SPEEDS, 2, 60.0, listens, told))
    thread.start()
    try:
        assert not select.select([hears], [], [], 0.1)[0]  # nobody listens yet
        writer.subscribers = 1
        assert said(hears) == b"me\n"
        os.write(given, BEAT)
        assert said(hears) == BEAT
        assert writer.queue == []
    finally:
        writer.subscribers = 1
        os.write(given, QUIT)
        thread.join(60.0)
    assert not thread.is_alive()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_that_end_a_program_are_as_ctrl_c(name):
    number, seen = getattr(signal, name), []
    before = signal.signal(number, lambda *_: seen.append(name))  # else a slip would end the tests
    try:
        with pytest.raises(KeyboardInterrupt), terminated():
            signal.raise_signal(number)
        assert seen == []
        signal.raise_signal(number)
        assert seen == [name]  # as it was
        signal.signal(number, signal.SIG_IGN)
        with terminated():
            signal.raise_signal(number)  # nohup stays
    finally:
        signal.signal(number, before)


# ---- a dry run


def test_a_dry_run_says_what_would_stop_the_arm(capsys):
    world = World(silent=True, supervision="watch")
    link = session(world)
    link.options, link.goals = Ros2Options(command=TRAJECTORIES, dry_run=True), None
    lines, people = StatusLines(link, world.cell), [""]
    world.plant.faults.append(lambda: people[0])

    def said(steps: int = 1) -> str:
        for _ in range(steps):
            world.step()
            lines.look(0, 0)
        return capsys.readouterr().out

    assert link.options.dry
    assert "would stop" not in said(5)
    people[0] = "/people: 2 people, and room for 1"
    assert "would stop: /people: 2 people, and room for 1" in said()
    assert "would stop" not in said(5)  # once
    world.node.others[TRAJECTORIES] = ["another"]
    assert f"would stop: {TRAJECTORIES}: 1 other publisher of commands; /people: 2 people" in said(40)
    world.silent = True
    assert "would stop: it does not answer; " in said(20)
    assert TRAJECTORIES not in world.node.topics  # nothing was published, nor announced


def test_efforts_are_the_torques_and_the_wrong_number_of_them_is_dropped():
    world = World()
    plant, state = world.plant, State(world.q)

    def told(effort):
        world.now += PERIOD
        ns = round(1e9 * world.now)
        header = (ns // 10**9, ns % 10**9), ""
        names, q, qd = world.arm.joint_names[::-1], tuple(world.q[::-1]), tuple(world.qd[::-1])
        world.node.topics["/joint_states"].queue.append(Message((header, names, q, qd, effort), 1))
        plant.read(state)

    told(())
    assert state.tau is None
    efforts = np.arange(1.0, world.arm.n + 1.0)
    told(tuple(efforts[::-1]))
    assert np.array_equal(state.tau, efforts)  # in the arm's order
    told((1.0,))
    assert plant.dropped["numbers"] == 1
    assert np.array_equal(state.tau, efforts)
