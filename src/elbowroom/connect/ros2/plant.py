"""A robot on ROS 2 as a plant: joint states in, commands out, with the interface of any plant in another program.

    plant = Ros2Plant(arm, node, Topics(command="/velocity_controller/commands"))
    plant.wait(5.0)                  until joint states come: the only call that takes its time
    plant.write(command); plant.read(state)

Joint states are taken by the names of their joints, whatever their order; further joints (a gripper) do no harm, and
messages without any of ours are passed over.  A message in which joints of ours are missing, twice there, or without a
position is refused and counted in `dropped`; without speeds they are computed from positions.

What ends the arm's motion, latched until `unlatch`: a clock that jumps, stamps of 0, a second publisher of our joints'
states, another publisher of commands, nobody who listens to ours any more, a command that was not sent.  `held` says it
in words, and the cell stops for it.  No states for `timeout` is no connection, and stops too.  A real arm cannot be
placed: `reset` leaves it where it stands.

Commands are joint speeds (std_msgs/Float64MultiArray, ros2_control's group controllers, in the order of the arm's
joints, or as `Topics.command_joints` says) or short trajectories (trajectory_msgs/JointTrajectory): the commanded speed
for 50 ms, then a ramp to rest.  A trajectory ends by itself, and begins at positions that the supervisor accepted
(trajectory.py); a speed is followed until the next one comes, and needs the watchdog (watchdog.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arm import Arm
from ...avoidance import Command, State
from ...cell.mocap.ros_people import nanoseconds
from ...cell.plants.plant import configuration, positive_time
from ...cell.recording.ros_messages import Value
from ...errors import ConfigError, did_you_mean
from .node import RELIABLE, SENSOR, Node, Publisher, checked_topic
from .stamps import StampClock
from .trajectory import Trajectories

Array = NDArray[np.float64]

TIMEOUT = 0.1  # s
PATIENCE = 2.0  # s
DISCOVERY = 0.25  # s between looks at who else is there
JOINT_STATE = "sensor_msgs/msg/JointState"
SPEEDS, TRAJECTORY = "std_msgs/msg/Float64MultiArray", "trajectory_msgs/msg/JointTrajectory"
DROPPED = ("joints", "numbers", "repeated", "publisher")


@dataclass(frozen=True)
class Topics:
    """Names of topics; `command=None` sends nothing, and so does `silent`, which looks at who else commands."""

    joint_states: str = "/joint_states"
    command: str | None = None
    trajectory: bool | None = None  # None: as the name of the topic says
    silent: bool = False
    command_joints: tuple[str, ...] = ()  # the order of joint speeds, as the controller has it; (): the arm's own

    @property
    def is_trajectory(self) -> bool:
        """Whether commands are trajectories."""
        named = self.command is not None and self.command.endswith("joint_trajectory")
        return named if self.trajectory is None else self.trajectory


class Ros2Plant:
    """A robot on ROS 2.  See the module's docstring."""

    lockstep = False
    contacts = 0  # a robot does not say
    touching = False

    def __init__(
        self,
        arm: Arm,
        node: Node,
        topics: Topics,
        *,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if topics.command is not None and topics.command == topics.joint_states:
            raise ConfigError(f"command: expected another topic than that of the joint states, {topics.command}")
        self.arm, self.node, self.topics, self.timeout = arm, node, topics, positive_time(timeout)
        self.clock, self.patience = clock, PATIENCE
        self.connections, self.dropped = 0, dict.fromkeys(DROPPED, 0)
        self.stamps = StampClock()
        self.missing: tuple[str, ...] = ()  # joints of ours that the last message with some of them had not
        self.seen: tuple[str, ...] = ()  # joints of the last message
        self.faults: list[Callable[[], str]] = []  # further reasons to stop, asked in every cycle
        self.fault = ""  # what is latched
        self.sent = True  # whether the network took the last command
        self._listened = False  # somebody has listened to commands
        self._states = node.subscribe(checked_topic(topics.joint_states), JOINT_STATE, SENSOR)
        kind = TRAJECTORY if topics.is_trajectory else SPEEDS
        self.commands: Publisher | None = None
        if topics.command is not None and not topics.silent:
            self.commands = node.publish(checked_topic(topics.command), kind, RELIABLE)
        self._sent_order = command_order(arm, topics)
        self._order: dict[tuple[str, ...], list[int]] = {}
        self._q, self._qd, self._t = np.zeros(arm.n), np.zeros(arm.n), -math.inf
        self._tau: Array | None = None  # efforts, where the messages have them
        self._publisher: int | None = None
        self._looked = self._pumped = -math.inf
        self._waited = math.inf  # s, between the last two looks
        self._connected = False
        self._route = Trajectories(arm)
        self.pumps: list[Callable[[float], None]] = []  # other inputs, taken with the joint states

    # ---- what is known about the other side
    @property
    def connected(self) -> bool:
        """Whether joint states come: the last is younger than `timeout`."""
        return self.clock() - self._t <= self.timeout

    @property
    def held(self) -> str:
        """Why the arm must not move, in words; "" if nothing speaks against it."""
        return next(iter(self.reasons()), "")

    def reasons(self) -> list[str]:
        """All reasons why the arm must not move."""
        return [why for why in (self.fault, *(each() for each in self.faults)) if why]

    @property
    def description(self) -> str:
        """What it is, and where."""
        return f"ROS 2 robot on {self.topics.joint_states}, domain {self.node.domain}"

    def wait(self, seconds: float) -> bool:
        """Waits until joint states come, at most so long; whether they do."""
        end = self.clock() + seconds
        while True:
            self.pump()
            if self.connected or self.clock() >= end:
                return self.connected
            time.sleep(0.005)

    def settle(self, seconds: float) -> bool:
        """Nothing is asked that could be answered."""
        return True

    def trouble(self) -> str:
        """Why no joint states come, in words; "" if they do."""
        if self.connected:
            return ""
        topic = self.topics.joint_states
        if self.missing:
            names = ", ".join(self.missing)
            hint = did_you_mean(self.missing[0], self.seen)
            return (
                f"{topic}: expected joints {names} of {self.arm.name}; its messages have {', '.join(self.seen)}{hint}"
            )
        if self.stamps.fault:
            return f"{topic}: {self.stamps.fault}"
        for other in self.node.publishers(topic):
            if other.type != JOINT_STATE:
                return f"{topic}: expected messages of type {JOINT_STATE}; somebody publishes {other.type}"
        if not self._states.publishers:
            return f"{topic}: nobody publishes there in domain {self.node.domain}, interface {self.node.interface}"
        return f"{topic}: no message comes"

    # ---- as any plant
    def reset(self, q: ArrayLike) -> None:
        """Ends a stop where the arm stands: a real one cannot be placed at q."""
        configuration(self.arm, q)
        self.unlatch()

    def unlatch(self) -> None:
        """Ends a stop: faults are looked for anew."""
        self.fault, self._publisher = "", None
        self.stamps.forget()
        self._looked = -math.inf

    def write(self, command: Command) -> None:
        """Sends a command, if there is a topic for it; what is not finite is sent as zeros."""
        if self.commands is None:
            return
        qd = np.asarray(command.qd, dtype=float)
        sound = qd.shape == (self.arm.n,) and bool(np.isfinite(qd).all())
        self._send(qd if sound else np.zeros(self.arm.n), sound and not command.status.stops)

    def brake(self) -> None:
        """Zero speeds, or a trajectory to rest ahead of where the arm was sent."""
        self._send(np.zeros(self.arm.n), False)

    def _send(self, speed: Array, accepted: bool) -> None:
        """A command; `accepted`: the supervisor took the state that it was made from."""
        if self.commands is None:
            return
        message: Value | None
        if self.topics.is_trajectory:
            now, route = self.clock(), self._route
            message = route.moving(speed, self._q, self._t, now) if accepted else route.stopping(speed, now)
        else:
            message = speeds_message(tuple(speed[self._sent_order].tolist()))
        self.sent = message is None or self.commands.send(message)
        if not self.sent:
            self.fault = self.fault or f"{self.topics.command}: the network did not take a command"

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """Nothing: time passes by itself."""

    def read(self, state: State) -> None:
        """Fills state.q, state.qd, state.t and, where there are efforts, state.tau from the newest message."""
        self.pump()
        if self._t > -math.inf:
            state.q[:], state.qd[:], state.t = self._q, self._qd, self._t
            state.tau = None if self._tau is None else self._tau.copy()

    def close(self) -> None:
        """Stops the arm; the node is its maker's to close."""
        for _ in range(3):  # a message may be lost on its way
            self.brake()

    # ---- messages
    def pump(self) -> None:
        """Takes what has come.  Never waits, never raises because of what came."""
        now = self.clock()
        self._waited, self._pumped = now - self._pumped, now
        for message in self._states.take():
            self._take(message.value, message.publisher, now)
        for pump in self.pumps:
            pump(now)
        if not self.fault and self.stamps.fault:
            self.fault = f"{self.topics.joint_states}: {self.stamps.fault}"
        if now - self._looked >= DISCOVERY:
            self._looked = now
            self._look_around()
        if self.connected != self._connected:
            self._connected = not self._connected
            self.connections += self._connected

    def _look_around(self) -> None:
        """Whether somebody else commands the arm, and whether it still listens."""
        command = self.topics.command
        if command is None or self.fault:
            return
        self.fault = other_commanders(self.node, command)
        if self.fault:
            return
        if self.commands is not None:
            if self.commands.subscribers:
                self._listened = True
            elif self._listened:
                self.fault = f"{command}: nobody listens to commands any more"

    def _take(self, value: tuple[Value, ...], publisher: int, now: float) -> None:
        """A joint state: taken, or dropped for a reason."""
        (sent, _), names, position, velocity, effort = value
        order = self._order.get(names)
        if order is None:
            order = self._ordered(names)
            if order is None:
                return
        if self._publisher is not None and publisher != self._publisher:
            self.dropped["publisher"] += 1
            self.fault = self.fault or f"{self.topics.joint_states}: a second publisher of the same joints"
            return
        if len(position) != len(names) or not {len(velocity), len(effort)} <= {0, len(names)}:
            self.dropped["numbers"] += 1
            return
        taken = self.stamps.taken(nanoseconds(sent), now, self._waited)
        if taken is None:
            self.dropped["repeated"] += 1
            return
        self._publisher = publisher
        q = np.array([position[k] for k in order])  # NaN is the supervisor's affair: it stops for it
        if velocity:
            self._qd[:] = [velocity[k] for k in order]
        elif self._t > -math.inf and taken > self._t:
            self._qd[:] = (q - self._q) / (taken - self._t)
        self._q[:], self._t = q, taken
        self._tau = np.array([effort[k] for k in order]) if effort else None

    def _ordered(self, names: tuple[str, ...]) -> list[int] | None:
        """Where our joints are among these names; None if they are not, once each."""
        own = self.arm.joint_names
        if not set(own) & set(names):  # of another device
            if not self._order:
                self.missing, self.seen = own, names
            return None
        self.missing, self.seen = tuple(name for name in own if name not in names), names
        if self.missing or any(names.count(name) > 1 for name in own):
            self.dropped["joints"] += 1
            return None
        if len(self._order) < 16:
            self._order[names] = [names.index(name) for name in own]
        return [names.index(name) for name in own]


def other_commanders(node: Node, command: str) -> str:
    """That somebody else publishes commands, in words; "" if nobody does."""
    others = len(node.publishers(command))
    return f"{command}: {others} other publisher{'s' * (others > 1)} of commands" if others else ""


def command_order(arm: Arm, topics: Topics) -> list[int]:
    """Which of the arm's joints each number of a message with joint speeds is for; refuses an order that is none."""
    own, given = arm.joint_names, topics.command_joints
    if not given:
        return list(range(arm.n))
    if topics.is_trajectory:
        raise ConfigError("command joints: expected none for trajectories, whose messages name their joints; got some")
    wrong = [name for name in given if name not in own]
    lacking = [name for name in own if name not in given]
    if wrong or lacking or len(given) != len(own):
        twice = next((name for name in given if given.count(name) > 1), "")
        what = (
            f"{wrong[0]!r}{did_you_mean(wrong[0], own)}" if wrong else f"{twice!r} twice" if twice else ", ".join(given)
        )
        raise ConfigError(f"command joints: expected {', '.join(own)} of {arm.name}, in any order; got {what}")
    return [own.index(name) for name in given]


def speeds_message(speeds: tuple[float, ...]) -> Value:
    """A std_msgs/Float64MultiArray of joint speeds."""
    return ((), 0), speeds
