"""What a cell shows of itself on ROS 2: its status as diagnostics, and markers for RViz.

/diagnostics            diagnostic_msgs/DiagnosticArray: status, reason, distances; when it changes, and `RATE`
/elbowroom/markers      visualization_msgs/MarkerArray: capsules of arm and people, nearest points, goal, route
"""

from __future__ import annotations

import time

import numpy as np

from ...cell import Cell
from ...cell.recording.scene_messages import ARM, GOAL, NEAREST, PERSON, ROUTE, Markers, diagnostics
from .goal import Following, GoalTopic
from .node import RELIABLE, Node
from .plant import Ros2Plant

RATE = 10.0  # Hz
ABOVE = np.array([0.0, 0.0, 0.2])  # m, of the tool: where the status stands
DIAGNOSTICS, MARKERS = "/diagnostics", "/elbowroom/markers"
NONE_REFUSED = "none since"
NAME = "elbowroom"  # of the status in the diagnostics


class Ros2Status:
    """Publishes a cell's status; `publish(t)` once a control step, which sends at most `RATE` times a second."""

    def __init__(self, node: Node, cell: Cell, plant: Ros2Plant, frame: str, goals: GoalTopic | None = None) -> None:
        self.cell, self.plant, self.frame, self.goals = cell, plant, frame, goals
        self._diagnostics = node.publish(DIAGNOSTICS, "diagnostic_msgs/msg/DiagnosticArray", RELIABLE)
        self._markers = node.publish(MARKERS, "visualization_msgs/msg/MarkerArray", RELIABLE)
        self._next, self._before = -1.0, ""

    def publish(self, t: float) -> None:
        """The control step at t is over."""
        cell = self.cell
        status = cell.command.status.value
        due = t >= self._next
        if not due and status == self._before:
            return
        self._before = status
        ns = time.time_ns()
        guard = cell.guard
        values = {
            "task": cell.task.state,
            "task cycles": cell.task.cycles,
            **self._of_goals(),
            "distance, m": cell.near.surfaces,
            "age of people, s": cell.age,
            "stops": 0 if guard is None else guard.counters["stops"],
            "latched": "" if guard is None or guard.latched is None else guard.latched.value,
            "dropped": ", ".join(f"{n} {why}" for why, n in self.plant.dropped.items() if n) or "nothing",
        }
        reason = cell.command.reason
        self._diagnostics.send(diagnostics(ns, NAME, status, reason, cell.arm.name, values))
        if due:
            self._next = t + 1.0 / RATE
            self._markers.send(self._drawn(ns))

    def _of_goals(self) -> dict[str, str]:
        """What became of goals."""
        goals, task = self.goals, self.cell.task
        if goals is None or not isinstance(task, Following):
            return {}
        counted = f"{goals.number} received, {task.cycles} reached, {goals.refused} refused, {goals.repeated} repeated"
        return {"goal": task.text, "goals": counted, "goal refused": goals.problem or NONE_REFUSED}

    def _drawn(self, ns: int) -> object:
        cell, marks = self.cell, Markers(ns, self.frame)
        marks.capsules("arm", cell.controller.rows[: len(cell.body)], ARM)
        marks.capsules("people", cell.people_rows, PERSON)
        marks.ball("goal", cell.task.goal.position, 0.02, GOAL)
        if cell.people and cell.near.surfaces < 10.0:
            marks.line("nearest", cell.controller.nearest_points(), 0.01, NEAREST)
        else:
            marks.gone("nearest")
        marks.line("route", cell.detour.line if cell.detour is not None else (), 0.01, ROUTE)
        marks.text("status", cell.tool + ABOVE, cell.command.status.value, GOAL)
        return marks.message
