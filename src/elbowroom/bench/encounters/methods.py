"""The methods that encounters compare, each made anew for every run by its `factory(arm, people, sensor)`.

A method has `step(t, dt, state, obstacles, goal)`, which returns a command with `.qd`, as Controller and Supervisor
have it.  Ours come first in ALL; the others are a control-barrier law as the literature has it, mink and Pink.

CBF-QP is the command nearest to the wish that lets no distance fall too fast:

    min |qd - wish|^2 + relaxed (s_1^2 + s_2^2)
    people        a . qd + s_1 >= v - gamma (d - clear)       v: the person's speed towards the arm, or 0 ("static")
    itself, floor a . qd + s_2 >=   - gamma (d - narrow)
    joints        gamma (lower - q) <= qd <= gamma (upper - q), within the velocity limits

with a = n^T J at the nearest points.  The wish is the K controller's own task without pushes: the attraction of the
package's defaults by damped least squares, and a pull to the ready posture in its null space.  People are where the
last frame has them.  Settings are round numbers, the same for all arms, and were not searched.

mink and Pink solve their problems of bench/peers/avoidance.py, with people who turn as well as move.  They get the task
of the K controller (the tool drawn at most as fast as the package's default), the same capsules, joint limits and
solver; no floor.  Neither looks at the person's velocity.

Where a problem has no answer, the arm stands still for that cycle.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import (
    Attraction,
    Config,
    Controller,
    Goal,
    Limits,
    Repulsion,
    Sensor,
    State,
    Status,
    Supervisor,
    Workspace,
)
from ...avoidance.control.obstacles import Obstacles
from ...avoidance.planning.detour import Detour
from ...avoidance.planning.settings import WAIT, Planning
from ...avoidance.settings import read
from ...errors import ElbowroomError, UnknownNameError, did_you_mean, pip_install
from ...geometry import Person
from ...geometry.shapes import A, B
from ..peers.avoidance import INFLUENCE, NEAREST, SOLVER, mink_problem, pink_problem
from ..scene import SceneFrame, TimedScene, of_rows
from .barrier import BarrierProblem, BarrierSettings
from .scene import CAPSULES, PERIOD, STAND, place

Array = NDArray[np.float64]

COST = 50.0  # of Pink's task of the tool, as in its examples with this barrier; with 1 the barrier's own cost rules
LEAST = 1e-6  # m, half a capsule's axis: a person who was not seen yet is a point far away


@dataclass
class JointSpeeds:
    """A command: the speeds of the joints."""

    qd: Array  # (n,)


def modules(name: str, *needed: str) -> list[ModuleType]:
    """The libraries that a method needs."""
    try:
        return [importlib.import_module(module) for module in needed]
    except ImportError as error:
        raise ElbowroomError(f"{name} needs {error.name}: {pip_install('bench')}") from error


class BarrierLaw:
    """CBF-QP, with the person's velocity or without."""

    def __init__(self, arm: Arm, people: int, sensor: str, *, velocity: bool = True, capsules: int = CAPSULES) -> None:
        (daqp,) = modules("the CBF-QP law", "daqp")
        self._solve = daqp.solve
        self._people, self._capsules, self._n = people, capsules, arm.n
        self._problem = BarrierProblem(place(arm), people, capsules, BarrierSettings(velocity=velocity))
        self.command = JointSpeeds(np.zeros(arm.n))

    def obstacles(self) -> Obstacles:
        """Places for people."""
        return Obstacles(self._people, 0, self._capsules)

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> JointSpeeds:
        """The command for now; stands still where the problem has no answer."""
        problem = self._problem
        problem.state(state.q, goal.position, obstacles.rows)
        sense = np.zeros(len(problem.lower), dtype=np.intc)
        found, _, flag, _ = self._solve(problem.H, problem.f, problem.A, problem.upper, problem.lower, sense)
        self.command.qd = found[: self._n] if flag >= 1 else np.zeros(self._n)
        return self.command


# ---- mink and Pink


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

    def __init__(self, arm: Arm, people: int, sensor: str, *, rows: Array | None = None) -> None:
        """`rows`: the capsules of all people, as large as they will be; of standing ones far away if omitted."""
        self._arm, self._people, where = arm, people, place(arm)
        far = [Person.standing((5.0 + 2.0 * k, 0.0, where.base[2])).rows for k in range(people)]
        first = np.concatenate(far) if rows is None else rows
        none = np.zeros(arm.n)
        self.shown = TimedScene(arm, where.body, [SceneFrame(arm.ready, none, first, np.zeros(6))])
        self._pull = Attraction()
        self.gain = self._pull.kp * PERIOD  # of the error a cycle
        self.command = JointSpeeds(none)

    def obstacles(self) -> Obstacles:
        """Places for people."""
        return Obstacles(self._people, 0, self.shown.capsules // self._people)

    def target(self, q: Array, goal: Goal) -> Array:
        """(3,) the goal, or a point on the way to it that draws as fast as allowed."""
        tool = self._arm.pose(q)[:3, 3]
        way = goal.position - tool
        most = self._pull.max_speed / self._pull.kp
        point: Array = tool + way * min(1.0, most / max(float(np.linalg.norm(way)), 1e-9))
        return point

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> JointSpeeds:
        """The command for now."""
        try:
            self.command.qd = np.asarray(self.solve(state.q, obstacles.rows, self.target(state.q, goal)))
        except Exception:  # each library has its own for a problem without an answer
            self.command.qd = np.zeros(self._arm.n)
        if not np.isfinite(self.command.qd).all():
            self.command.qd = np.zeros(self._arm.n)
        return self.command

    @abstractmethod
    def solve(self, q: Array, rows: Array, target: Array) -> Array:
        """(n,) speeds."""


class Mink(_Peer):
    """mink with its CollisionAvoidanceLimit, which counts pairs from as far as our field reaches."""

    def __init__(self, arm: Arm, people: int, sensor: str, *, rows: Array | None = None) -> None:
        super().__init__(arm, people, sensor, rows=rows)
        self._mink, self._mujoco, _ = modules("mink", "mink", "mujoco", SOLVER)
        self._problem = mink_problem(self._mink, self._mujoco, self.shown, INFLUENCE, self.gain)
        self._turned = np.stack([at.R for at in of_rows(self.shown.frames[0].rows)])  # of each capsule in its body
        model = self._problem.configuration.model
        self._geoms = [model.geom(f"person {k}").id for k in range(self.shown.capsules)]

    def solve(self, q: Array, rows: Array, target: Array) -> Array:
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
        qd: Array = self._mink.solve_ik(configuration, tasks, PERIOD, SOLVER, damping=1e-3, limits=limits)
        return qd


class Pink(_Peer):
    """Pink with its SelfCollisionBarrier over the nearest pairs of arm and people."""

    def __init__(self, arm: Arm, people: int, sensor: str, *, rows: Array | None = None) -> None:
        super().__init__(arm, people, sensor, rows=rows)
        self._pink, self._pin, coal, _ = modules("Pink", "pink", "pinocchio", "coal", SOLVER)
        self._problem = pink_problem(self._pink, self._pin, coal, self.shown, NEAREST, self.gain, COST)
        objects = self._problem.configuration.collision_model.geometryObjects
        self._objects = [objects[k] for k in self._problem.person]

    def solve(self, q: Array, rows: Array, target: Array) -> Array:
        """(n,) speeds."""
        configuration, tasks, barriers, _ = self._problem
        for thing, middle, R, half in zip(self._objects, *placements(rows), strict=True):
            thing.placement = self._pin.SE3(R, middle)
            if hasattr(thing.geometry, "halfLength"):  # no ball
                thing.geometry.halfLength = max(half, LEAST)
        tasks[0].set_target(self._pin.SE3(np.eye(3), target))
        configuration.update(q)
        qd: Array = self._pink.solve_ik(configuration, tasks, PERIOD, SOLVER, barriers=barriers)
        return qd


class HasSpeeds(Protocol):
    """A command: the speeds of the joints, `qd` (n,)."""

    @property
    def qd(self) -> NDArray[np.float64]:
        """rad/s, m/s of a slide."""


class Method(Protocol):
    """What keeps an arm clear of people while it goes to its goals.

    It may have `obstacles()`, which makes the places for people, and stops that latch (`Latching`).
    """

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """The command for now."""


@runtime_checkable
class Latching(Protocol):
    """A method whose stops last until they are reset."""

    @property
    def latched(self) -> object:
        """The stop that lasts, or what is false."""

    def reset(self, t: float) -> object:
        """Ends the stop."""


Factory = Callable[[Arm, int, str], Method]


def config(arm: Arm, controller: str = "K", **settings: Any) -> Config:
    """The package's defaults with the floor of the scene."""
    floor = float(arm.model.base[2, 3]) - STAND
    return Config(controller=controller, period=PERIOD, workspace=Workspace(floor=floor), **settings)


def controller(
    arm: Arm,
    people: int,
    sensor: str,
    *,
    law: str = "K",
    capsules: int = CAPSULES,
    overrides: Mapping[str, object] | None = None,
    **settings: Any,
) -> Controller:
    """A law alone; a person has so many capsules.  `overrides`: settings as a table of a scene file has them."""
    chosen = law_settings(arm, law=law, overrides=overrides, **settings)
    return Controller(arm, chosen, people=people, person_capsules=capsules)


def law_settings(arm: Arm, *, law: str = "K", overrides: Mapping[str, object] | None = None, **settings: Any) -> Config:
    """The settings of such a law."""
    chosen = config(arm, law, **settings)
    return read(Config, overrides, "controller", chosen) if overrides else chosen


def supervised(
    arm: Arm, people: int, sensor: str, *, law: str = "K", limits: Limits | None = None, **settings: Any
) -> Supervisor:
    """A law with its supervisor, which is told what kind of sensor there is: that of `limits`, or an exact one."""
    limits = Limits() if limits is None else limits
    if sensor == "ideal" and limits.sensor == Sensor():
        limits = replace(limits, sensor=Sensor.exact(PERIOD))
    return Supervisor(controller(arm, people, sensor, law=law, **settings), limits)


class PlannedArm:
    """A law with its supervisor, and a planner for when it is held up; plans are repeatable (`Inline`)."""

    def __init__(
        self, arm: Arm, people: int, sensor: str, *, planning: Planning | None = None, limits: Limits | None = None
    ) -> None:
        self.guard = supervised(arm, people, sensor, limits=limits)
        self.controller = cast(Controller, self.guard.controller)
        self.detour = Detour(self.controller, Planning() if planning is None else planning)
        self._arm, self._slowed = arm, False

    @property
    def latched(self) -> object:
        """The supervisor's stop."""
        return self.guard.latched

    def reset(self, t: float) -> object:
        """Ends the stop."""
        return self.guard.reset(t)

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """The supervisor's command, on a route where there is one."""
        tool, held = self._arm.pose(state.q)[:3, 3], self.guard.latched is not None
        seen = self.guard.watch.predicted
        found = self.detour.step(t, dt, state.q, tool, goal.position, seen, held=held, slowed=self._slowed)
        command = self.guard.step(t, dt, state, obstacles, goal if found is None else found)
        self._slowed = command.status is Status.SLOWING_HUMAN
        return command


class BlindArm:
    """The K controller with nobody to see: what the arm would do alone."""

    def __init__(self, arm: Arm, people: int, sensor: str, **settings: Any) -> None:
        self.controller = controller(arm, people, sensor, **settings)
        self._empty = self.controller.obstacles()

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """As if nobody were there."""
        return self.controller.step(t, dt, state, self._empty, goal)


class StandingArm:
    """An arm that stands."""

    def __init__(self, arm: Arm, people: int, sensor: str) -> None:
        self.command = JointSpeeds(np.zeros(arm.n))

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> JointSpeeds:
        """Nothing."""
        return self.command


METHODS: dict[str, Factory] = {
    "blind": BlindArm,
    "still": StandingArm,
    "K": controller,
    "F": partial(controller, law="F"),
    "K supervised": supervised,
    "F supervised": partial(supervised, law="F"),
    "K supervised with planning": PlannedArm,
    "CBF-QP": BarrierLaw,
    "CBF-QP static": partial(BarrierLaw, velocity=False),
    "mink": Mink,
    "Pink": Pink,
}
"""By the name in tables; CBF-QP static does not look at the person's velocity."""


CURVE: dict[str, Factory] = {
    **{f"v_h {speed:g}": partial(supervised, limits=Limits(human_speed=speed)) for speed in (0.5, 1.0, 1.6, 2.0)},
    "power and force": partial(supervised, limits=Limits(mode="power_and_force")),
    "both": partial(supervised, limits=Limits(mode="both")),
}
"""K supervised under other assumptions about people: their speed (m/s), or that contact of a short time may be made."""


CLOSE: dict[str, Factory] = {
    "K close": partial(
        supervised,
        limits=Limits(
            evasion_distance=0.04,
            evasion_hands=0.0,
            evasion_gain=5.0,
            evasion_time=0.0,
            evasion_weight=100.0,
            evasion_effort=3.0,
            jerk=0.0,
            acceleration=40.0,
        ),
        repulsion=Repulsion(influence=0.02, lookahead=0.0),
        waiting=None,
    )
}
"""K supervised for a sensor without noise and delay, which lets an arm come near and give way late."""

PARTS: dict[str, Factory] = {
    "K supervised": supervised,
    "pull 1": partial(supervised, attraction=Attraction(kp=1.0)),
    "field 0.5": partial(supervised, repulsion=Repulsion(influence=0.5)),
    "no waiting": partial(supervised, waiting=None),
    "no early retreat from hands": partial(supervised, limits=Limits(evasion_hands=0.0)),
    "no evasion": partial(supervised, limits=Limits(evasion_weight=1e-6)),
    "no separation": partial(supervised, limits=Limits(separation=False)),
    "velocities as measured": partial(supervised, limits=Limits(sensor=Sensor(velocity_noise=0.0))),
    "max_age 0.15": partial(supervised, limits=Limits(max_age=0.15)),
    "no bound on jerk": partial(supervised, limits=Limits(jerk=0.0)),
    "creep 0.01": partial(supervised, limits=Limits(creep=0.01)),
    "K": controller,
}
"""K supervised with one of its parts changed or left out, and without all of them: what each is worth."""

WAITING: dict[str, Factory] = {
    "K supervised with planning that waits": partial(PlannedArm, planning=Planning(moving_people=WAIT)),
}
"""With no route past people who move: the arm waits for them to stand."""

SETS = {"curve": CURVE, "parts": PARTS}
ALL = METHODS | CURVE | CLOSE | PARTS | WAITING
WITHOUT = dict.fromkeys(["K supervised with planning", *WAITING], "K supervised")
"""What some methods are without what they add: they are compared pair by pair."""


def expanded(names: Sequence[str]) -> list[str]:
    """The methods' own names, each once; "curve" and "parts" stand for those of `CURVE` and `PARTS`."""
    wanted = [one for name in names for one in SETS.get(name.strip().lower(), [name])]
    return list(dict.fromkeys(map(method, wanted)))


def method(name: str) -> str:
    """The method's own name, from one in any case and with - for a space; refused by name."""
    known = {key.lower().replace(" ", "-"): key for key in ALL}
    wanted = name.strip().lower().replace(" ", "-")
    if wanted not in known:
        hint = did_you_mean(wanted, [*known, *SETS], 2, 0.5)
        raise UnknownNameError(f"no method {name!r}: expected one of {', '.join(known)}, or {', '.join(SETS)}{hint}")
    return known[wanted]
