"""mink and Pink in encounters: their problems of bench/peers/avoidance.py, with people who turn as well as move.

They get the task of the K controller (the tool drawn at most as fast as the package's default), the same capsules,
joint limits and solver; no floor.  Neither looks at the person's velocity.  Where a problem has no answer, the arm
stands still for that cycle.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Attraction, Goal, State
from ...avoidance.control.obstacles import Obstacles
from ...errors import ElbowroomError
from ...geometry import Person
from ...geometry.shapes import A, B
from ..peers.avoidance import INFLUENCE, NEAREST, SOLVER, mink_problem, pink_problem
from ..scene import Frame, of_rows
from ..scene import Scene as Shown
from .run import CAPSULES
from .scene import PERIOD, place

Array = NDArray[np.float64]

COST = 50.0  # of Pink's task of the tool, as in its examples with this barrier; with 1 the barrier's own cost rules
LEAST = 1e-6  # m, half a capsule's axis: a person who was not seen yet is a point far away


def modules(name: str, *needed: str) -> list[Any]:
    """The libraries that a method needs."""
    try:
        return [importlib.import_module(module) for module in needed]
    except ImportError as error:
        raise ElbowroomError(f"{name} needs {error.name}: pip install '.[bench]'") from error


class Placements(NamedTuple):
    """Capsules (k, ...) along z of a frame in their middle."""

    middle: Array  # (k, 3)
    R: Array  # (k, 3, 3)
    half: Array  # (k,) of the axis


def placements(rows: Array) -> Placements:
    """Of capsule rows (k, 13); a ball is turned as the world is."""
    a, b = rows[:, A], rows[:, B]
    length = np.linalg.norm(b - a, axis=1)
    z = np.where(length[:, None] > 0.0, b - a, [0.0, 0.0, 1.0]) / np.where(length > 0.0, length, 1.0)[:, None]
    aside = np.where(np.abs(z[:, :1]) < 0.7, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    x = aside - z * (aside * z).sum(axis=1, keepdims=True)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return Placements((a + b) / 2, np.stack([x, np.cross(z, x), z], axis=2), length / 2)


class _Peer(ABC):
    """What both share: places for people, and the task."""

    def __init__(self, arm: Arm, people: int, sensor: str) -> None:
        self._arm, self._people, where = arm, people, place(arm)
        far = [Person.standing((5.0 + 2.0 * k, 0.0, where.base[2])).rows for k in range(people)]
        none = np.zeros(arm.n)
        self.shown = Shown(arm, where.body, [Frame(arm.ready, none, np.concatenate(far), np.zeros(6))])
        self._pull = Attraction()
        self.gain = self._pull.kp * PERIOD  # of the error a cycle
        self.command = SimpleNamespace(qd=none)

    def obstacles(self) -> Obstacles:
        """Places for people."""
        return Obstacles(self._people, 0, CAPSULES)

    def target(self, q: Array, goal: Goal) -> Array:
        """(3,) the goal, or a point on the way to it that draws as fast as allowed."""
        tool = self._arm.pose(q)[:3, 3]
        way = goal.position - tool
        most = self._pull.max_speed / self._pull.kp
        point: Array = tool + way * min(1.0, most / max(float(np.linalg.norm(way)), 1e-9))
        return point

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Any:
        """The command for now."""
        try:
            self.command.qd = np.asarray(self.solve(state.q, obstacles.rows, self.target(state.q, goal)))
        except Exception:  # each library has its own for a problem without an answer
            self.command.qd = np.zeros(self._arm.n)
        if not np.isfinite(self.command.qd).all():
            self.command.qd = np.zeros(self._arm.n)
        return self.command

    @abstractmethod
    def solve(self, q: Array, rows: Array, target: Array) -> Any:
        """(n,) speeds."""


class Mink(_Peer):
    """mink with its CollisionAvoidanceLimit, which counts pairs from as far as our field reaches."""

    def __init__(self, arm: Arm, people: int, sensor: str) -> None:
        super().__init__(arm, people, sensor)
        self._mink, self._mujoco, _ = modules("mink", "mink", "mujoco", SOLVER)
        self._problem = mink_problem(self._mink, self._mujoco, self.shown, INFLUENCE, self.gain)
        self._turned = np.stack([at.R for at in of_rows(self.shown.frames[0].rows)])  # of each capsule in its body
        model = self._problem.configuration.model
        self._geoms = [model.geom(f"person {k}").id for k in range(self.shown.capsules)]

    def solve(self, q: Array, rows: Array, target: Array) -> Any:
        """(n,) speeds."""
        configuration, tasks, limits = self._problem
        model, data = configuration.model, configuration.data
        at = placements(rows)
        data.mocap_pos[:] = at.middle
        for k, R in enumerate(at.R @ self._turned.transpose(0, 2, 1)):
            self._mujoco.mju_mat2Quat(data.mocap_quat[k], R.ravel())
            if model.geom_size[self._geoms[k], 1]:  # no ball
                model.geom_size[self._geoms[k], 1] = max(at.half[k], LEAST)
        tasks[0].set_target(self._mink.SE3.from_translation(target))
        configuration.update(q)
        return self._mink.solve_ik(configuration, tasks, PERIOD, SOLVER, damping=1e-3, limits=limits)


class Pink(_Peer):
    """Pink with its SelfCollisionBarrier over the nearest pairs of arm and people."""

    def __init__(self, arm: Arm, people: int, sensor: str) -> None:
        super().__init__(arm, people, sensor)
        self._pink, self._pin, coal, _ = modules("Pink", "pink", "pinocchio", "coal", SOLVER)
        self._problem = pink_problem(self._pink, self._pin, coal, self.shown, NEAREST, self.gain, COST)
        objects = self._problem.configuration.collision_model.geometryObjects
        self._objects = [objects[k] for k in self._problem.person]

    def solve(self, q: Array, rows: Array, target: Array) -> Any:
        """(n,) speeds."""
        configuration, tasks, barriers, _ = self._problem
        for thing, middle, R, half in zip(self._objects, *placements(rows), strict=True):
            thing.placement = self._pin.SE3(R, middle)
            if hasattr(thing.geometry, "halfLength"):  # no ball
                thing.geometry.halfLength = max(half, LEAST)
        tasks[0].set_target(self._pin.SE3(np.eye(3), target))
        configuration.update(q)
        return self._pink.solve_ik(configuration, tasks, PERIOD, SOLVER, barriers=barriers)
