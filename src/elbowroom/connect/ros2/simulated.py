"""A simulated robot on ROS 2, as ros2_control has one: joint states out, joint speeds or trajectories in.

    /joint_states                     sensor_msgs/JointState, `rate` times a second
    /velocity_controller/commands     std_msgs/Float64MultiArray: followed until the next one, as group controllers do
    /trajectory_controller/joint_trajectory   trajectory_msgs/JointTrajectory: followed to its end
    /robot_description                std_msgs/String, for who comes later, too
    /people                           geometry_msgs/PoseArray: who stands where

To try `elbowroom ros2` without a robot, and for tests, which give orders in lines (`order`): a person at a place, a
clock that jumps, joints by other names, silence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Command, State
from ...cell.mocap.bags import PEOPLE, TYPES
from ...cell.mocap.ros_people import nanoseconds
from ...cell.plants.plant import Kinematic
from ...cell.recording.ros_messages import Value
from ...cell.recording.scene_messages import header, point, turned
from ...errors import ConfigError
from ...export.write_urdf import urdf
from ...model.rotations import rz
from .node import LATCHED, RELIABLE, Node
from .plant import JOINT_STATE, SPEEDS, TRAJECTORY

Array = NDArray[np.float64]

STATES, COMMANDS = "/joint_states", "/velocity_controller/commands"
TRAJECTORIES = "/trajectory_controller/joint_trajectory"
RATE = 100.0  # Hz
NEAR, AWAY, PACE, PAUSE = 0.3, 2.0, 0.5, 3.0  # m from the tool, m farther away, m/s, s: of somebody who walks


class SimulatedRobot:
    """A robot that moves as it is commanded; `step(dt)` is one period."""

    def __init__(self, arm: Arm, node: Node, q: Array | None = None) -> None:
        self.arm, self.node, self.plant = arm, node, Kinematic(arm)
        self.state, self.command = State(np.array(arm.ready)), Command(arm.n)
        self._states = node.publish(STATES, JOINT_STATE, RELIABLE)
        self._commands = node.subscribe(COMMANDS, SPEEDS, RELIABLE)
        self._trajectories = node.subscribe(TRAJECTORIES, TRAJECTORY, RELIABLE)
        self._description = node.publish("/robot_description", "std_msgs/msg/String", LATCHED)
        self._description.send((urdf(arm.model),))
        self._people = node.publish(PEOPLE, TYPES[PEOPLE], RELIABLE)
        self.received = 0
        self.time, self.walks = 0.0, False
        self._start = np.array(self.arm.ready if q is None else q)
        self.well()

    def well(self) -> None:
        """At rest where it started, without a fault, nobody there."""
        self.plant.reset(self._start)
        self.command.qd[:] = 0.0
        self.people: list[tuple[float, float, float]] | None = []  # x, y, where they look; None: no messages
        self.names: tuple[str, ...] = self.arm.joint_names[::-1]  # in another order than the model's, as robots do
        self.offset = 0  # ns that its clock is wrong by
        self.silent = False
        self.frozen = False  # the same state again and again, with new stamps
        self.spoilt: Callable[[list[float]], list[float]] | None = None
        self._points: list[tuple[float, Array]] = []  # of a trajectory: when, s from its arrival, and speeds
        self._since = 0.0

    def walked(self, t: float) -> tuple[float, float, float]:
        """Somebody who walks up to where the tool rests and away again: where they stand at t (s), and look."""
        x, y = (self.arm.pose(self._start)[:3, 3] - self.arm.model.base[:3, 3])[:2].tolist()
        facing, near, way = math.atan2(y, x), math.hypot(x, y) + NEAR, AWAY / PACE
        times = np.cumsum([0.0, PAUSE, way, PAUSE, way])  # away, up, beside it, back
        left = float(np.interp(t % times[-1], times, [AWAY, AWAY, 0.0, 0.0, AWAY]))
        at = self.arm.model.base[:2, 3] + (near + left) * np.array([math.cos(facing), math.sin(facing)])
        return float(at[0]), float(at[1]), facing + math.pi

    def step(self, dt: float) -> None:
        """Takes commands, moves, publishes."""
        self.time += dt
        if self.walks:
            self.people = [self.walked(self.time)]
        for message in self._commands.take():
            _, speeds = message.value
            if len(speeds) == self.arm.n:
                self.received += 1
                self.command.qd[:], self._points = speeds, []
        for message in self._trajectories.take():
            self._follow(message.value)
        self._since += dt
        if self._points:
            self.command.qd[:] = next(
                (speeds for end, speeds in self._points if self._since < end), np.zeros(self.arm.n)
            )
        self.plant.write(self.command)
        self.plant.advance(dt)
        if not self.frozen:
            self.plant.read(self.state)
        ns = time.time_ns() + self.offset
        if not self.silent:
            self._states.send(self._message(ns))
        if self.people is not None:
            poses = tuple((point((x, y, 0.0)), turned(rz(yaw))) for x, y, yaw in self.people)
            self._people.send((header(ns), poses))

    def _message(self, ns: int) -> Value:
        order = [self.arm.joint_names.index(name) if name in self.arm.joint_names else 0 for name in self.names]
        q, qd = ([values[k] for k in order] for values in (self.state.q.tolist(), self.state.qd.tolist()))
        if self.spoilt is not None:
            q = self.spoilt(q)
        return header(ns, ""), self.names, q, qd, ()

    def _follow(self, value: Value) -> None:
        """A trajectory: from point to point at the speed between them."""
        _, names, points = value
        if set(names) != set(self.arm.joint_names):
            return
        self.received += 1
        order = [names.index(name) for name in self.arm.joint_names]
        before, at, found = np.array(self.state.q), 0.0, []
        for positions, _, _, _, after in points:
            there, end = np.array([positions[k] for k in order]), 1e-9 * nanoseconds(after)
            if end > at:
                found.append((end, (there - before) / (end - at)))
            before, at = there, end
        self._points, self._since = found, 0.0

    # ---- orders, for tests and for trying faults
    def order(self, line: str) -> str:
        """Does what a line says, and answers in a line."""
        word, *rest = line.split()
        numbers = [float(x) for x in rest if x.replace(".", "", 1).replace("-", "", 1).replace("e", "", 1).isdigit()]
        if word == "well":
            self.well()
        elif word == "people":
            self.people = [(numbers[k], numbers[k + 1], math.pi) for k in range(0, len(numbers) - 1, 2)]
        elif word == "blind":
            self.people = None
        elif word == "clock":
            self.offset += round(1e9 * numbers[0])
        elif word == "names":
            self.names = tuple(rest)
        elif word == "silent":
            self.silent = not self.silent
        elif word == "frozen":
            self.frozen = not self.frozen
        elif word == "nan":
            self.spoilt = lambda q: [math.nan, *q[1:]]
        elif word == "jump":
            self.spoilt = lambda q: [q[0] + 1.0, *q[1:]]
        elif word != "report":
            raise ConfigError(
                f"order: expected well, people, blind, clock, names, silent, frozen, nan, jump or report; got {word!r}"
            )
        fastest = float(np.abs(self.command.qd).max())
        return f"received {self.received} fastest {fastest:.6f} q {' '.join(f'{x:.6f}' for x in self.state.q)}"

    def serve(
        self, orders: Callable[[], str | None], rate: float = RATE, answer: Callable[[str], object] = len
    ) -> None:
        """Goes on at its rate until an order is "quit"; `orders` gives the next, or None at once."""
        period, due = 1.0 / rate, time.monotonic()
        while True:
            line = orders()
            if line is not None:
                if line.strip() == "quit":
                    return
                answer(self.order(line))
            self.step(period)
            due = max(due + period, time.monotonic() - period)
            time.sleep(max(0.0, due - time.monotonic()))
