"""A goal that is dragged on the page: the tool goes there, and the task waits until the goal is released."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...avoidance import Goal
from ...cell.task import Task

Array = NDArray[np.float64]
DRAGGED = "following_the_dragged_goal"  # the state


class DraggedGoal:
    """A Task in the place of `task`, which goes on from where it was when it is put back."""

    state = DRAGGED

    def __init__(self, task: Task, position: ArrayLike) -> None:
        self.task = task
        self.goal = Goal(position, rotation=task.goal.rotation)

    def __getattr__(self, name: str) -> Any:  # cycles, objects and what else the work has
        if name == "task":  # not made yet
            raise AttributeError(name)
        return getattr(self.task, name)

    def start(self, tool: ArrayLike) -> None:
        """Begins anew: the work, and the goal at the tool."""
        self.task.start(tool)
        self.goal.position = self.task.goal.position

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """No time passes for the work, but an object that is carried stays with the tool."""
        self.task.step(t, 0.0, tool, distance)
        self.goal.t = t
        return self.goal
