"""A goal from a ROS 2 topic, as the task of a cell.

    FollowGoal(GoalTopic("/goal_pose", tree, "world"))

The tool goes where the newest geometry_msgs/PoseStamped says, and stays there until the next; before the first it stays
where it is.  A goal that is not finite, out of reach, old, or in a frame that is not named or that nothing connects is
refused and counted; the same goal again is none.  `GoalTopic.events` says in words what became of each.

Between goals the arm stands: where the task leaves joints free, they are held as they are when the goal is reached, and
as they were when the program began, or a stop was reset, before the first.  On the way they are drawn to where they
were in the beginning, so that an arm does not wind itself up from goal to goal.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arm import Arm
from ...avoidance import Goal
from ...cell import Cell
from ...cell.mocap.ros_people import FrameTree, nanoseconds, transform
from ...cell.task import checked_point
from .node import RELIABLE, Node, Subscription, checked_topic

Array = NDArray[np.float64]
FAR = 10.0  # m: a goal that is farther away is a slip
THERE, TURNED = 0.01, 0.05  # m and rad: so near is there
LEFT = 0.05  # m: farther from a goal that was reached the arm is not at it any more
SAME = 1e-6  # m, and of a rotation's entries: the same goal again
OLDEST = 5.0  # s: a goal that was stamped before is none any more
STUCK, NEARER = 5.0, 0.01  # s in which a goal must come nearer by so much, m or rad
EVENTS = 64  # that wait to be read
POSE = "geometry_msgs/msg/PoseStamped"
GOAL_TOPIC = "/goal_pose"


def reach(arm: Arm) -> tuple[Array, float]:
    """The first joint's place (3,) and how far the tool can be from it at most, m: as if all links were in a line."""
    model = arm.model
    slides = [max(abs(low), abs(high)) for low, high in zip(model.lower, model.upper, strict=True)]
    length = float(np.linalg.norm(model.p[1:], axis=1).sum() + np.linalg.norm(model.tool[:3, 3]))
    length += sum(far for far, kind in zip(slides, model.kinds, strict=True) if kind == "P")
    return model.base[:3, :3] @ model.p[0] + model.base[:3, 3], length


def turn(a: Array, b: Array) -> float:
    """The angle (rad) between two rotations (3, 3)."""
    return math.acos(min(1.0, max(-1.0, 0.5 * (float(np.trace(a.T @ b)) - 1.0))))


class GoalTopic:
    """The newest goal of a topic: `pose` (4, 4) in the frame, None before the first; `number` counts them.

    It listens from `listen` on: a goal that is sent before the arm can go there finds nobody.  `age` gives how old (s)
    a stamp (ns) is, on the clock of the robot; `arm` says how far away a goal may be.
    """

    def __init__(
        self,
        topic: str,
        tree: FrameTree,
        frame: str,
        arm: Arm | None = None,
        age: Callable[[int, float], float] | None = None,
    ) -> None:
        self.topic, self.frame, self._tree, self._age = checked_topic(topic), frame, tree, age
        self._centre, self._reach = (np.zeros(3), FAR) if arm is None else reach(arm)
        self._goals: Subscription | None = None
        self.pose: Array | None = None
        self.number = self.refused = self.repeated = 0
        self.problem = ""  # why the last one was refused
        self.events: deque[str] = deque(maxlen=EVENTS)  # what became of goals, in words, the oldest first

    def listen(self, node: Node) -> None:
        """Goals count from now on."""
        self._goals = self._goals or node.subscribe(self.topic, POSE, RELIABLE)

    def pump(self, now: float) -> None:
        """Takes what has come."""
        for message in self._goals.take() if self._goals is not None else ():
            (sent, frame), (position, orientation) = message.value
            T = transform(position, orientation)
            frame = frame.lstrip("/")
            placed = self._tree.pose(frame, self.frame) if frame else None
            why = self._refusal(T, frame, None if placed is None else placed.T, nanoseconds(sent), now)
            if why:
                self.refused += 1
                self.problem = f"{self.topic}: a goal was refused: {why}"
                self.events.append(self.problem)
                continue
            assert T is not None
            assert placed is not None
            wanted = placed.T @ T
            self.problem = ""
            if self.pose is not None and np.abs(wanted - self.pose).max() <= SAME:
                self.repeated += 1
                continue
            self.pose = wanted
            self.number += 1

    def _refusal(self, T: Array | None, frame: str, placed: Array | None, ns: int, now: float) -> str:
        """Why a goal is none; "" if it is one."""
        if T is None:
            return "expected finite numbers and a rotation"
        if placed is None:
            return f"no transform from {frame!r} to {self.frame!r}" if frame else "expected a frame_id; got none"
        age = 0.0 if self._age is None or not ns else self._age(ns, now)  # a stamp of 0 is "now", as in tf2
        if age > OLDEST:
            last = f"a stamp of the last {OLDEST:g} s on the clock of the joint states"
            return f"stale: expected {last}; it is {age:.1f} s old"
        at = (placed @ T)[:3, 3]
        away, most = float(np.linalg.norm(at - self._centre)), min(self._reach, FAR)
        if away > most:
            told = ", ".join(f"{x:.3f}" for x in at)
            within = f"a point within {most:.3g} m of the arm's first joint, as far as it reaches"
            return f"unreachable: expected {within}; ({told}) in {self.frame!r} is {away:.3g} m away"
        return ""


@dataclass(frozen=True, eq=False)
class FollowGoal:
    """Go where a topic says.  Settings of a task, for a scene."""

    topic: GoalTopic

    def placed(self, origin: ArrayLike) -> FollowGoal:
        """Itself: goals are in the frame of the world."""
        return self

    def begin(self, tool: ArrayLike) -> Following:
        """The task at work, its tool at rest at a point (3,)."""
        return Following(self.topic, tool)


class Following:
    """FollowGoal at work: "waiting" for the first goal, then "going" and "there"; a task cycle per goal reached.

    `attach` tells it of its cell, whose posture it holds and whose tool's rotation it looks at.
    """

    work: Array | None = None

    def __init__(self, topic: GoalTopic, tool: ArrayLike) -> None:
        self.topic = topic
        self.goal = Goal(checked_point("tool", tool))
        self.objects: Array = np.zeros((0, 3))
        self.object: Array = np.full(3, math.nan)
        self._cell: Cell | None = None
        self._home: Array | None = None
        self.start(tool)

    def __repr__(self) -> str:
        return f"<Following {self.topic.topic}: {self.state}>"

    def attach(self, cell: Cell) -> None:
        """The cell that this is the task of."""
        self._cell, self._home = cell, cell.controller.posture.copy()
        self.stand()

    def start(self, tool: ArrayLike) -> None:
        """Begins anew: goals of before are forgotten."""
        self.goal.position = checked_point("tool", tool)
        self.state, self.cycles = "waiting", 0
        self.off = self.turned = 0.0  # m and rad, from the goal
        self._number, self.topic.pose = self.topic.number, None  # the same goal again is a new one then
        self._least, self._since = math.inf, math.nan  # nearest so far, and when that was
        self.stand()

    def stand(self) -> None:
        """Holds the joints as they are; before the first goal the tool, too, where it is."""
        cell = self._cell
        if cell is None or not np.isfinite(cell.state.q).all():
            return
        cell.controller.posture[:] = cell.state.q
        if self.state == "waiting":
            T = cell.arm.pose(cell.state.q)
            self.goal.position, self.goal.rotation = T[:3, 3], T[:3, :3]

    @property
    def aim(self) -> Array | None:
        """The goal, until the tool is there."""
        return self.goal.position if self.state == "going" else None

    @property
    def text(self) -> str:
        """What becomes of the newest goal, in words."""
        if self.state == "waiting":
            return "none yet"
        there = "reached" if self.state == "there" else "on the way"
        if self.state == "there" and self.off > LEFT:
            there = "reached before"  # the arm gave way, or was moved while it was stopped: it comes back
        return f"{self._number}: {there}, {self._away()}"

    def rejoin(self, tool: Array) -> None:
        """Goes on to the goal."""

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """The newest goal."""
        topic = self.topic
        if topic.number != self._number and topic.pose is not None:
            self._number, self.state = topic.number, "going"
            self.goal.position, self.goal.rotation = topic.pose[:3, 3], topic.pose[:3, :3]
            self._least, self._since = math.inf, t
            if self._cell is not None and self._home is not None:
                self._cell.controller.posture[:] = self._home
            self._measure(tool)
            self._tell("at ({}) m in {!r}", ", ".join(f"{x:.3f}" for x in self.goal.position), topic.frame)
        self._measure(tool)
        if self.state == "going":
            if self.off <= THERE and self.turned <= TURNED:
                self.state = "there"
                self.cycles += 1
                self.stand()
                self._tell("reached")
            else:
                self._watch(t)
        self.goal.t = t
        return self.goal

    def _measure(self, tool: Array) -> None:
        """How far the tool is from the goal; its turn counts where the controller turns it."""
        self.off, cell = math.dist(tool, self.goal.position), self._cell
        if cell is not None and cell.controller.config.task == "pose" and np.isfinite(cell.state.q).all():
            self.turned = turn(cell.arm.pose(cell.state.q)[:3, :3], self.goal.rotation)

    def _watch(self, t: float) -> None:
        """Says so, once, where the goal does not come nearer."""
        left = self.off + self.turned
        if left < self._least - NEARER:
            self._least, self._since = left, t
        elif t - self._since > STUCK:
            self._since = math.inf
            status = "" if self._cell is None else f"; {self._cell.command.status.value}"
            self._tell(f"not reached: it has not come nearer for {STUCK:g} s{status}")

    def _away(self) -> str:
        turned = f" and {math.degrees(self.turned):.1f} deg" if self.turned else ""
        return f"{self.off:.3f} m{turned} off"

    def _tell(self, what: str, *values: object) -> None:
        self.topic.events.append(f"goal {self._number} {what.format(*values)}, {self._away()}")
