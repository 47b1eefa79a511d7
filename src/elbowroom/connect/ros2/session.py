"""A cell on a ROS 2 robot: the link's parts put together, and taken apart when it is over.

    with Ros2Session(Ros2Options(command="/velocity_controller/commands")) as link:
        arm = link.description(10.0)                    from /robot_description, or one of your own
        cell = link.cell(scene)                         the scene's task on the robot, people from topics
        run(cell, pace=RealTime(cell.period), progress=link.told(cell), ended=lambda: link.run_down(cell))

The loop is the cell's own (cell/runner.py): joint states, people and goals are taken at the beginning of a control
step, the supervisor judges, commands go out at its end.  A stop is latched until somebody publishes on
/elbowroom/reset.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Limits, Sensor
from ...cell import Cell, RealTime, Scene, mounted
from ...cell.fitting import gaps_at
from ...cell.mocap.bags import BODIES, PEOPLE, TF, TF_STATIC, TYPES
from ...cell.recording.scene_messages import WORLD
from ...errors import ConfigError
from ...geometry import Body
from ...model.check import ANGLE
from ...model.urdf import root_link
from .goal import GOAL_TOPIC, POSE, FollowGoal, Following, GoalTopic
from .node import LATCHED, LOOPBACK, RELIABLE, SENSOR, STATIC, TRANSFORMS, Node, Quality, quality_lacks
from .outputs import Ros2Status
from .people import Ros2People
from .plant import JOINT_STATE, TIMEOUT, Ros2Plant, Topics, other_commanders
from .watchdog import TIMEOUT as WATCHDOG
from .watchdog import Watchdog

DESCRIPTION, RESET = "/robot_description", "/elbowroom/reset"
EMPTY = "std_msgs/msg/Empty"
LOOK, MOST_NOTICES = 0.5, 32  # s between looks at who publishes what; notices that are kept
AGE = 0.05  # s: a joint state may be as old, where the scene does not say
QUIET = 5.0  # s: a reset that comes sooner after another is one that somebody repeats
FOUND = 0.5  # s in which others that publish commands are found
WAIT = 10.0  # s for what must be there before the arm may move
LARGEST = 2**24  # bytes of a URDF


@dataclass(frozen=True)
class Ros2Options:
    """What a session is asked for."""

    joint_states: str = "/joint_states"
    command: str | None = None  # None: nothing is published, the arm is only watched
    dry_run: bool = False  # nothing is published though there is a topic for commands, which is looked at
    trajectory: bool | None = None
    command_joints: tuple[str, ...] = ()  # the order of joint speeds in messages; (): the arm's own
    people: int = 1  # places; 0: no people are looked for
    people_topic: str = PEOPLE
    bodies_topic: str = BODIES
    goal_topic: str = GOAL_TOPIC
    frame: str = ""  # which people and goals are brought into; "": the root link of the arm's URDF, else "world"
    floor: float | None = None  # m, height in that frame where people stand; None: as poses and the scene say
    domain: int | None = None
    interface: str = LOOPBACK
    hashes: bool = True
    watchdog: bool = True
    timeout: float | None = None  # s without joint states; None: `TIMEOUT`
    turn: bool | None = None  # whether goals say the tool's rotation too; None: as the scene's controller

    @property
    def dry(self) -> bool:
        """Whether nothing is published."""
        return self.command is None or self.dry_run


class Ros2Session:
    """The link to a ROS 2 robot; see the module's docstring."""

    def __init__(self, options: Ros2Options) -> None:
        self.options = options
        self.node = Node(options.domain, interface=options.interface, hashes=options.hashes)
        self.plant: Ros2Plant | None = None
        self.people: Ros2People | None = None
        self.goals: GoalTopic | None = None
        self._status: Ros2Status | None = None
        self._watchdog: Watchdog | None = None
        self._resets = self.node.subscribe(RESET, EMPTY, RELIABLE)
        self._heard = -math.inf  # s, the last message that asked for a reset
        self.resets = self.refused = 0
        self.root = ""  # link of the arm's URDF; "" where it has none
        self.warnings: list[str] = []  # of what was found before the arm moves
        self.notices: list[str] = []  # and while it does
        self._next_look = -math.inf

    @property
    def frame(self) -> str:
        """That people and goals are brought into: as asked for, or the arm's root link."""
        return self.options.frame or self.root or WORLD

    # ---- before the arm moves
    def description(self, seconds: float = WAIT) -> str:
        """The URDF that /robot_description has, as text; a ConfigError if none comes."""
        topic = self.node.subscribe(DESCRIPTION, "std_msgs/msg/String", LATCHED)
        end = time.monotonic() + seconds
        while True:
            for message in topic.take():
                (text,) = message.value
                if len(text) > LARGEST or not text.strip():
                    raise ConfigError(f"{DESCRIPTION}: expected a URDF of at most {LARGEST} bytes; got {len(text)}")
                return str(text)
            if time.monotonic() >= end:
                others = self.node.publishers(DESCRIPTION)
                wrong = [each.type for each in others if each.type != "std_msgs/msg/String"]
                wrong += [lack for each in others if (lack := quality_lacks(each, LATCHED))]
                why = f"somebody publishes {wrong[0]} there" if wrong else f"nothing came in {seconds:g} s"
                raise ConfigError(f"{DESCRIPTION}: expected a URDF (std_msgs/String); {why}: give --robot FILE")
            time.sleep(0.01)

    def connect(self, arm: Arm, seconds: float = WAIT) -> Ros2Plant:
        """The robot as the plant of this arm, once its joint states come; a ConfigError says why they do not."""
        options = self.options
        order = options.command_joints
        topics = Topics(options.joint_states, options.command, options.trajectory, options.dry, order)
        if options.command is not None and not options.dry:
            self._alone(options.command)
        self.plant = plant = Ros2Plant(arm, self.node, topics, timeout=options.timeout or TIMEOUT)
        if options.people:
            self.people = people = Ros2People(
                self.node,
                options.people,
                frame=self.frame,
                root=self.root,
                floor=options.floor,
                people=options.people_topic,
                bodies=options.bodies_topic,
            )
            plant.pumps.append(people.pump)
            plant.faults.append(lambda: people.fault)
        if not plant.wait(seconds):
            raise ConfigError(f"ROS 2: {plant.trouble()}")
        if plant.fault and not options.dry:  # a dry run tells it, and goes on
            raise ConfigError(f"ROS 2: {plant.fault}")
        if self.people is not None:
            self._wait_for_people(self.people, plant, seconds)
            if self.people.fault:
                raise ConfigError(f"ROS 2: {self.people.fault}")
        if plant.commands is not None:
            end = time.monotonic() + seconds
            while not plant.commands.subscribers:
                if time.monotonic() >= end:
                    raise ConfigError(f"ROS 2: {options.command}: expected a controller that listens; nobody does")
                plant.pump()
                time.sleep(0.01)
            if options.watchdog and not topics.is_trajectory:
                self._watch(plant, arm.n)
        return plant

    def _alone(self, command: str) -> None:
        """Refuses a second commander before it publishes anything, so that the first does not stop because of it."""
        end = time.monotonic() + FOUND
        while time.monotonic() < end:
            if why := other_commanders(self.node, command):
                raise ConfigError(f"ROS 2: {why}")
            time.sleep(0.01)

    def _wait_for_people(self, people: Ros2People, plant: Ros2Plant, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not people.heard:
            if time.monotonic() >= end:
                for topic in people.topics:
                    for other in self.node.publishers(topic):
                        if other.type not in (people._people.kind, people._ids.kind):
                            raise ConfigError(f"ROS 2: {topic}: expected people; somebody publishes {other.type}")
                where = " or ".join(people.topics)
                why = people.problem or f"no message says who is there, on {where}"
                raise ConfigError(f"ROS 2: {why}; --people 0 does without, where a fence keeps everybody out")
            plant.pump()
            time.sleep(0.01)

    def _watch(self, plant: Ros2Plant, joints: int) -> None:
        assert self.options.command is not None
        watchdog = Watchdog(self.node, self.options.command, joints, WATCHDOG)
        self._watchdog = watchdog
        plant.faults.append(lambda: watchdog.fault)

    def cell(self, scene: Scene, seconds: float = WAIT) -> Cell:
        """The scene's cell on the robot: its task, its settings, people from topics, no reset by itself."""
        if scene.controller.makes_torque:
            raise ConfigError("controller: expected one that makes joint speeds (K) for a ROS 2 robot; got torques (F)")
        limits = scene.limits
        if limits.max_state_age == Limits().max_state_age:  # made for a plant in the same process
            limits = dataclasses.replace(limits, max_state_age=AGE)
        if self.options.people and limits.sensor == Sensor.exact():
            limits = dataclasses.replace(limits, sensor=Sensor())
        scene = dataclasses.replace(
            scene,
            face=False,  # the world is the frame of the robot's base
            reset_after=0.0,
            limits=limits,
            supervision="watch" if self.options.dry else "stop",
        )
        self.root = root_of(scene)
        arm = mounted(scene)
        plant = self.plant or self.connect(arm, seconds)
        people = {} if self.people is None else self.people.settings
        cell = Cell(dataclasses.replace(scene, people=people), plant=plant)
        if self.people is not None:
            if self.options.floor is None and scene.floor:  # a scene's, before anything is fitted
                self.people.floor = float(arm.model.base[2, 3]) + scene.floor
            self.people.latency, self.people.max_age = limits.sensor.latency, limits.oldest
        if not self.options.dry:
            self._status = Ros2Status(self.node, cell, plant, self.frame, self.goals)
        return cell

    def guarded(self, scene: Scene, seconds: float = WAIT) -> Cell:
        """A cell whose tool follows the goals of a topic, from where the arm stands."""
        self.root = root_of(scene)
        arm = mounted(dataclasses.replace(scene, face=False))
        plant = self.connect(arm, seconds)
        frames = self.people
        if frames is None:  # goals may be in other frames all the same
            frames = tree = Ros2People(self.node, frame=self.frame, root=self.root)
            plant.pumps.append(frames.pump)
            plant.faults.append(lambda: tree.misplaced)
        self.goals = GoalTopic(self.options.goal_topic, frames.tree, self.frame, arm, plant.stamps.age)
        plant.pumps.append(self.goals.pump)
        q = np.clip(plant._q, arm.model.lower, arm.model.upper)
        q = np.clip(q, -ANGLE.most, ANGLE.most)
        started = dataclasses.replace(
            scene, task=FollowGoal(self.goals), start=tuple(q.tolist()), check_reach=False, fit=False
        )
        if self.options.turn is not None:
            law = dataclasses.replace(scene.controller, task="pose" if self.options.turn else "position")
            started = dataclasses.replace(started, controller=law)
        cell = self.cell(self._standing(started, arm, q))
        if isinstance(cell.task, Following):
            cell.task.attach(cell)
        return cell

    def _standing(self, scene: Scene, arm: Arm, q: NDArray[np.float64]) -> Scene:
        """The scene, so that the arm stands where it is at q: its links are not pushed off as near as they are."""
        own = scene.controller.self_collision
        if own is None or scene.self_gaps or not arm.model.capsules:
            return scene
        body = Body(arm, cover=scene.cover or None)
        for (i, j), gap in zip(body.self_pairs, body.self_gaps(q[None])[0].tolist(), strict=True):
            if gap <= 0.0:
                both = f"the shapes of {body.names[i]} and {body.names[j]} overlap by {-gap:.3f} m"
                self.warnings.append(f"{both} where the arm stands; it moves them apart")
        return dataclasses.replace(scene, self_gaps=gaps_at(body, q, own.influence))

    # ---- while it moves
    def told(self, cell: Cell, progress: Callable[[int, int], object] | None = None) -> Callable[[int, int], object]:
        """A progress callback: beats the watchdog, publishes the status, and resets a stop when that was asked for."""

        def moved(done: int, total: int) -> None:
            t = cell.command.t
            if self.goals is not None:
                self.goals.listen(self.node)
            self._beat()
            self._reset(cell, t)
            self._look_around(t)
            if self._status is not None:
                self._status.publish(t)
            if progress is not None:
                progress(done, total)

        return moved

    def _look_around(self, now: float) -> None:
        """Notices, once each, publishers whose messages cannot be taken: of another type than the topic's."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK
        for topic, (kind, quality) in self._inputs().items():
            for other in self.node.publishers(topic):
                said = f"{topic}: expected {kind}; somebody publishes {other.type}, which is not taken"
                if other.type == kind:
                    lack = quality_lacks(other, quality)
                    said = f"{topic}: somebody publishes {lack}; its messages are not taken" if lack else ""
                if said and said not in self.notices and len(self.notices) < MOST_NOTICES:
                    self.notices.append(said)

    def _inputs(self) -> dict[str, tuple[str, Quality]]:
        """Topics that are listened to, the types of their messages, and what is asked of who publishes them."""
        options = self.options
        found = {TF: (TYPES[TF], TRANSFORMS), TF_STATIC: (TYPES[TF_STATIC], STATIC), RESET: (EMPTY, RELIABLE)}
        found[options.joint_states] = JOINT_STATE, SENSOR
        if self.goals is not None:
            found[self.goals.topic] = POSE, RELIABLE
        if self.people is not None:
            found |= {options.people_topic: (TYPES[PEOPLE], SENSOR), options.bodies_topic: (TYPES[BODIES], SENSOR)}
        return found

    def _beat(self) -> None:
        """Tells the watchdog of a command that was sent: one that was not is none."""
        if self._watchdog is None:
            return
        if self.plant is None or self.plant.sent:
            self._watchdog.beat()
        else:
            self._watchdog.listen()

    def _reset(self, cell: Cell, t: float) -> None:
        """Ends a stop if that was asked for; a message that is repeated does not end every stop to come."""
        guard, plant = cell.guard, self.plant
        if not self._resets.take() or plant is None or guard is None:
            return
        now = plant.clock()
        repeated, self._heard = now - self._heard < QUIET, now
        if guard.latched is None:
            return
        if repeated:
            self.refused += 1
            return
        plant.unlatch()
        if self.people is not None:
            self.people.forget()
        if self._watchdog is not None:
            self._watchdog.reset()
        if guard.reset(t):
            self.resets += 1
            if isinstance(cell.task, Following):
                cell.task.stand()  # it may have been moved meanwhile
        else:
            self._heard = -math.inf  # it was refused, and may be given again

    def run_down(self, cell: Cell, seconds: float = 2.0) -> None:
        """Stops the arm along its own direction: run()'s `ended`, before anything else is done at the end."""
        plant, guard = self.plant, cell.guard
        if plant is None or self.options.dry or guard is None:
            return
        guard.stop("the program ends")
        with RealTime(cell.period) as pace:
            for k in range(max(1, round(seconds / cell.period))):
                pace.wait(k)
                now = plant.clock() + cell._clock  # on the clock of the run, whatever has taken its time
                cell.step(now if now > cell.command.t else cell.command.t + cell.period)
                self._beat()
                if not np.any(cell.command.qd):
                    break

    def close(self) -> None:
        """Sends zeros, ends the watchdog, leaves the network."""
        if self.plant is not None:
            self.plant.close()
        if self._watchdog is not None:
            self._watchdog.close()
        self.node.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def root_of(scene: Scene) -> str:
    """The name of the root link of a scene's arm, where the model begins; "" of an arm that is no URDF file."""
    path = Path(scene.robot)
    return root_link(path) if path.suffix in (".urdf", ".xacro") and path.is_file() else ""


@contextmanager
def saved_description(text: str) -> Iterator[Path]:
    """The URDF of a topic as a file, until the end: recordings hold their arm themselves."""
    with tempfile.TemporaryDirectory(prefix="elbowroom_") as folder:
        path = Path(folder) / "robot_description.urdf"
        path.write_text(text, encoding="utf-8")
        yield path
