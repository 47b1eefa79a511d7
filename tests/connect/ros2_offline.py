"""A ROS 2 robot without a network: a node's interface, a clock that the test moves, and a guarded arm on both."""

from __future__ import annotations

import functools
import math
from unittest import mock

import numpy as np

from elbowroom.avoidance import Command, Config, Limits, Sensor
from elbowroom.cell import Scene
from elbowroom.connect.ros2.node import Message
from elbowroom.connect.ros2.people import Ros2People
from elbowroom.connect.ros2.plant import Ros2Plant
from elbowroom.connect.ros2.session import Ros2Options, Ros2Session
from elbowroom.loading import load

PERIOD = 0.01
SPEEDS = "/velocity_controller/commands"
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


class Endpoint:
    """A publisher or a subscription without a network: `queue` is what was sent, or what is to be taken."""

    def __init__(self, topic: str, kind: str = "") -> None:
        self.topic, self.kind, self.queue = topic, kind, []
        self.publishers = self.subscribers = 1
        self.works = True
        self.unsent = 0

    def take(self) -> list[Message]:
        taken, self.queue = self.queue, []
        return taken

    def send(self, value) -> bool:
        if self.works:
            self.queue.append(value)
        self.unsent += not self.works
        return self.works


class Network:
    """A node's interface, without a network."""

    domain, interface = 0, "none"

    def __init__(self) -> None:
        self.topics: dict[str, Endpoint] = {}
        self.others: dict[str, list[object]] = {}

    def subscribe(self, topic, kind, quality=None) -> Endpoint:
        return self.topics.setdefault(topic, Endpoint(topic, kind))

    def publish(self, topic, kind, quality=None) -> Endpoint:
        return self.topics.setdefault(topic, Endpoint(topic, kind))

    def publishers(self, topic) -> list[object]:
        return self.others.get(topic, [])

    def close(self) -> None:
        """Nothing is open."""


class Guarded:
    """`elbowroom ros2` without its command line: a robot that follows joint speeds, and the session that guards it."""

    def __init__(self, robot: str, q=None, **asked) -> None:
        self.node, self.arm = Network(), load(robot)
        self.joints = list(range(self.arm.n))  # of each number that the robot's controller takes
        self.q = np.array(self.arm.ready if q is None else q, dtype=float)
        self.qd = np.zeros(self.arm.n)
        self.now, self.t = 1000.0, 0.0
        self.node.subscribe("/joint_states", "")
        self.tell()
        self.link = link = Ros2Session.__new__(Ros2Session)
        link.node, link.options = self.node, Ros2Options(**{"command": SPEEDS, "people": 0, "watchdog": False} | asked)
        link.plant = link.people = link.goals = link._status = link._watchdog = None
        link._resets, link._heard = self.node.subscribe("/elbowroom/reset", ""), -math.inf
        link.resets, link.refused, link.root, link.warnings, link.notices = 0, 0, "", [], []
        link._next_look = -math.inf
        limits = Limits(sensor=Sensor())
        scene = Scene(robot=robot, origin="base", controller=Config(period=PERIOD), limits=limits)
        parts = {each.__name__: functools.partial(each, clock=lambda: self.now) for each in (Ros2Plant, Ros2People)}
        with mock.patch.multiple("elbowroom.connect.ros2.session", **parts):
            self.cell = link.guarded(scene)
        self.told = link.told(self.cell)
        self.cell.reset()

    def tell(self) -> None:
        """A joint state, stamped with the robot's clock."""
        ns = round(1e9 * self.now)
        state = ((ns // 10**9, ns % 10**9), ""), self.arm.joint_names, tuple(self.q), tuple(self.qd), ()
        self.node.topics["/joint_states"].queue.append(Message(state, 1))

    def send(self, at, turned=UPRIGHT, frame: str = "world", age: float | None = None) -> None:
        """A goal; its stamp is 0 unless it has an age."""
        ns = 0 if age is None else round(1e9 * (self.now - age))
        goal = ((ns // 10**9, ns % 10**9), frame), (tuple(map(float, at)), tuple(map(float, turned)))
        self.node.topics["/goal_pose"].queue.append(Message(goal, 7))

    def step(self, count: int = 1) -> Command:
        """Control steps; the robot moves at the speed that it was sent last."""
        for _ in range(count):
            command = self.cell.step(self.t)
            self.told(0, 0)
            sent = self.node.topics[SPEEDS].queue if SPEEDS in self.node.topics else []
            self.qd = np.zeros(self.arm.n)
            if sent:
                self.qd[self.joints] = sent[-1][1]
            self.q = self.q + PERIOD * self.qd
            self.cell.advance(self.t, PERIOD)
            self.t, self.now = self.t + PERIOD, self.now + PERIOD
            self.tell()
        return command

    def until(self, condition, most: int = 3000) -> None:
        """Control steps until the condition holds."""
        for _ in range(most):
            self.step()
            if condition():
                return
        raise AssertionError(f"gave up waiting at t = {self.t:g} s: {self.cell.command}")
