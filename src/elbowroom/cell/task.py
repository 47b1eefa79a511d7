"""Tasks: what the tool should do, as goals for a controller.

    Rest()                stay where the tool is
    GoTo(point)           go to a point and stay there
    PickAndPlace(...)     objects from one conveyor to another, in the seven states of Fig 4.13 (pick_and_place.py)
    DraggedGoal(task)     another task waits while its goal is dragged on the page

All but the last are settings: frozen, read from TOML by the names in `TASKS` (scene.py).  `placed(origin)` shifts
their points, and `begin(tool)` makes a Task of them, which has a state and steps with time.  Nothing is drawn at
random: the same calls give the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..avoidance import Goal
from ..avoidance.checks import Settings, setting
from ..avoidance.protocols import lacking
from ..errors import ConfigError, ShapeError

Array = NDArray[np.float64]
Point = tuple[float, float, float]
FAR = 1000.0  # m; farther away is a slip of units
DRAGGED = "following_the_dragged_goal"  # the state while a goal is dragged


@runtime_checkable
class Task(Protocol):
    """What a tool is doing.  A step reads where the tool is and says where it should be."""

    @property
    def state(self) -> str:
        """The name of the present state."""

    @property
    def cycles(self) -> int:
        """Task cycles: how often the work was done so far."""

    @property
    def goal(self) -> Goal:
        """What the controller is given: one object, assigned to in place.  Its rotation is the caller's."""

    @property
    def objects(self) -> Array:
        """Places (k, 3) of the objects that there are, a carried one included, m; k may be 0."""

    @property
    def object(self) -> Array:
        """The place (3,) of the object that is handled, m; NaN without one."""

    def start(self, tool: ArrayLike) -> None:
        """Begins anew; the tool rests at that point (3,)."""

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """dt seconds passed until t; the tool is at a point (3,), the nearest person so far away (m, inf: nobody)."""


@runtime_checkable
class Aiming(Protocol):
    """A Task that says where it is going, so that a held-up arm can go around (Config.planning); others cannot."""

    @property
    def aim(self) -> Array | None:
        """The point (3,) that the tool should come to next; None while the tool is where it works."""

    @property
    def work(self) -> Array | None:
        """The point (3,) that the tool works at after that; None for the same."""

    def rejoin(self, tool: Array) -> None:
        """A route has ended, at its aim or before: the task goes on from where the tool is (3,)."""


@runtime_checkable
class TaskSettings(Protocol):
    """A task as data."""

    def placed(self, origin: ArrayLike) -> TaskSettings:
        """The same task with its points shifted by `origin` (3,), m."""

    def begin(self, tool: ArrayLike) -> Task:
        """The task at work, its tool at rest at a point (3,)."""


def at_work(settings: TaskSettings, origin: Array, tool: Array) -> Task:
    """The task with points from `origin` (3,), its tool at rest at a point (3,); a ConfigError where it is none."""
    name = f"task: {type(settings).__name__}"
    placed = settings.placed(origin)
    if why := lacking(placed, TaskSettings):
        raise ConfigError(f"{name}.placed: expected a task, but {why}; got {placed!r:.60}")
    task = placed.begin(tool)
    if why := lacking(task, Task):
        raise ConfigError(f"{name}.begin: expected a task at work, but {why}; got {task!r:.60}")
    if not isinstance(task.goal, Goal):
        raise ConfigError(f"{name}.begin: expected a Goal as `goal`; got {task.goal!r:.60}")
    return task


@dataclass(frozen=True)
class Rest:
    """Stay where the tool is at the start."""

    def placed(self, origin: ArrayLike) -> Rest:
        """Itself: it has no point of its own."""
        return self

    def begin(self, tool: ArrayLike) -> Resting:
        """The task at work, its tool at rest at a point (3,)."""
        return Resting(tool)


@dataclass(frozen=True)
class GoTo(Settings):
    """Go to a point and stay there.  A tool that is pushed away comes back."""

    point: Point = setting((0.0, 0.0, 0.0), "[-1000, 1000] m", "where to go")
    tolerance: float = setting(0.01, "(0, 10] m", "how near is there")

    def placed(self, origin: ArrayLike) -> GoTo:
        """The same with its point shifted by `origin` (3,), m."""
        return replace(self, point=shifted(self.point, origin))

    def begin(self, tool: ArrayLike) -> Going:
        """The task at work, its tool at rest at a point (3,)."""
        return Going(self, tool)


class Resting:
    """Rest at work: always in the state "resting"."""

    state = "resting"
    cycles = 0

    def __init__(self, tool: ArrayLike) -> None:
        self.goal = Goal(checked_point("tool", tool))
        self.objects: Array = np.zeros((0, 3))
        self.object: Array = np.full(3, math.nan)

    def __repr__(self) -> str:
        return "<Resting>"

    def start(self, tool: ArrayLike) -> None:
        """Rests at that point (3,) from now on."""
        self.goal.position = checked_point("tool", tool)

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """The goal stays."""
        self.goal.t = t
        return self.goal


class Going:
    """GoTo at work: "going" outside the tolerance and "there" within.  One task cycle once it was there, never more."""

    def __init__(self, settings: GoTo, tool: ArrayLike) -> None:
        self.settings = settings
        self.goal = Goal(settings.point)
        self.objects: Array = np.zeros((0, 3))
        self.object: Array = np.full(3, math.nan)
        self.start(tool)

    def __repr__(self) -> str:
        return f"<Going: {self.state}, to {self.settings.point}>"

    def start(self, tool: ArrayLike) -> None:
        """Begins anew; the tool rests at that point (3,)."""
        self.cycles = 0
        self._look(checked_point("tool", tool))

    work: Array | None = None

    @property
    def aim(self) -> Array | None:
        """The point, until the tool is there."""
        return None if self.state == "there" else self.goal.position

    def rejoin(self, tool: Array) -> None:
        """Goes on to the point."""

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """The goal is the point, whatever happens on the way."""
        self.goal.t = t
        self._look(tool)
        return self.goal

    def _look(self, tool: Array) -> None:
        self.state = "there" if away(tool, self.settings.point) <= self.settings.tolerance else "going"
        if self.state == "there":
            self.cycles = 1


class DraggedGoal:
    """A goal that is dragged on a page, as a Task: the tool goes there, and `task` waits.

    It stands in the place of `task`, which goes on from where it was when it is put back.
    """

    state = DRAGGED

    def __init__(self, task: Task, position: ArrayLike) -> None:
        self.task = task
        self.goal = Goal(position, rotation=task.goal.rotation)

    def __getattr__(self, name: str) -> Any:  # cycles, objects and what else the task has
        if name == "task":  # not made yet
            raise AttributeError(name)
        return getattr(self.task, name)

    work: Array | None = None

    @property
    def aim(self) -> Array | None:
        """Where the goal was dragged to."""
        return self.goal.position

    def rejoin(self, tool: Array) -> None:
        """Goes on to the goal; the task rejoins when it goes on."""
        if isinstance(self.task, Aiming):
            self.task.rejoin(tool)

    def start(self, tool: ArrayLike) -> None:
        """Begins anew: the task, and the goal at the tool."""
        self.task.start(tool)
        self.goal.position = self.task.goal.position

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """No time passes for the task, but an object that is carried stays with the tool."""
        self.task.step(t, 0.0, tool, distance)
        self.goal.t = t
        return self.goal


# ---- points: checked where they enter, shifted to where the scene has its origin


def checked_point(name: str, value: ArrayLike) -> Array:
    """Three numbers of a cell's size, as a new array (3,)."""
    array = np.array(value, dtype=float)
    if array.shape != (3,):
        raise ShapeError(f"{name} must have shape (3,); got {array.shape}")
    if not (np.abs(array) <= FAR).all():
        raise ConfigError(f"{name} must be three numbers from -{FAR:g} to {FAR:g} (m); got {array.tolist()}")
    return array


def shifted(at: Point, origin: ArrayLike) -> Point:
    """The point as seen from where the origin (3,) was measured."""
    x, y, z = (checked_point("origin", origin) + at).tolist()
    return x, y, z


def away(one: ArrayLike, other: ArrayLike) -> float:
    """The distance of two points, m; NaN where one is not known.  Huge numbers do not overflow on the way."""
    return math.dist(one, other)  # type: ignore[arg-type]  # arrays will do
