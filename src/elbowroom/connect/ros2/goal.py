"""A goal from a ROS 2 topic, as the task of a cell.

    FollowGoal(GoalTopic("/goal_pose", tree, "world"))

The tool goes where the newest geometry_msgs/PoseStamped says, and stays there until the next; before the first it stays
where it is.  A goal that is not finite, beyond `FAR`, or in a frame that is not named or that nothing connects is
refused and counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...avoidance import Goal
from ...cell.mocap.ros_people import FrameTree, transform
from ...cell.task import checked_point
from .node import RELIABLE, Node, Subscription, checked_topic

Array = NDArray[np.float64]
FAR = 10.0  # m: a goal that is farther away is a slip
THERE = 0.01  # m
POSE = "geometry_msgs/msg/PoseStamped"
GOAL_TOPIC = "/goal_pose"


class GoalTopic:
    """The newest goal of a topic: `pose` (4, 4) in the frame, None before the first; `number` counts them.

    It listens from `listen` on: a goal that is sent before the arm can go there finds nobody.
    """

    def __init__(self, topic: str, tree: FrameTree, frame: str) -> None:
        self.topic, self.frame, self._tree = checked_topic(topic), frame, tree
        self._goals: Subscription | None = None
        self.pose: Array | None = None
        self.number = self.refused = 0
        self.problem = ""  # why the last one was refused

    def listen(self, node: Node) -> None:
        """Goals count from now on."""
        self._goals = self._goals or node.subscribe(self.topic, POSE, RELIABLE)

    def pump(self, now: float) -> None:
        """Takes what has come."""
        for message in self._goals.take() if self._goals is not None else ():
            (_, frame), (position, orientation) = message.value
            T = transform(position, orientation)
            frame = frame.lstrip("/")
            placed = self._tree.pose(frame, self.frame) if frame else None
            if T is None or placed is None or np.linalg.norm((placed.T @ T)[:3, 3]) > FAR:
                self.refused += 1
                lost = f"no transform from {frame!r} to {self.frame!r}" if frame else "expected a frame_id; got none"
                far = f"expected a point within {FAR:g} m"
                why = "expected finite numbers and a rotation" if T is None else lost if placed is None else far
                self.problem = f"{self.topic}: a goal was refused: {why}"
                continue
            self.pose, self.problem = placed.T @ T, ""
            self.number += 1


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
    """FollowGoal at work: "waiting" for the first goal, then "going" and "there"; a task cycle per goal reached."""

    work: Array | None = None

    def __init__(self, topic: GoalTopic, tool: ArrayLike) -> None:
        self.topic = topic
        self.goal = Goal(checked_point("tool", tool))
        self.objects: Array = np.zeros((0, 3))
        self.object: Array = np.full(3, math.nan)
        self.start(tool)

    def __repr__(self) -> str:
        return f"<Following {self.topic.topic}: {self.state}>"

    def start(self, tool: ArrayLike) -> None:
        """Begins anew: goals of before are forgotten."""
        self.goal.position = checked_point("tool", tool)
        self.state, self.cycles = "waiting", 0
        self._number = self.topic.number

    @property
    def aim(self) -> Array | None:
        """The goal, until the tool is there."""
        return self.goal.position if self.state == "going" else None

    def rejoin(self, tool: Array) -> None:
        """Goes on to the goal."""

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """The newest goal."""
        topic = self.topic
        if topic.number != self._number and topic.pose is not None:
            self._number, self.state = topic.number, "going"
            self.goal.position, self.goal.rotation = topic.pose[:3, 3], topic.pose[:3, :3]
        if self.state == "going" and math.dist(tool, self.goal.position) <= THERE:
            self.state = "there"
            self.cycles += 1
        self.goal.t = t
        return self.goal
