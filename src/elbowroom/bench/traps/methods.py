"""The methods that traps compare: those of encounters, shown the obstacle in a person's place, and K with a planner.

K does not wait here (`waiting=None`): the obstacle is no person who will go away.

    K with planning      K as `Config(planning=Planning())` has it: the field leads, and an arm that is held up asks for
                         a way around (planning/detour.py); an answer takes `Planning.latency` in the time of the run.
                         It is shown the obstacle as things
    K planned at once    a route is planned before the arm sets out, and followed (planning/follower.py).  The time
                         that planning takes is time in which the arm stands.  `STUCK` without progress, or at the end
                         of the route and not at the goal, it is planned anew
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Attraction, Controller, Goal, State
from ...avoidance.control.obstacles import Obstacles
from ...avoidance.planning import Planner, World
from ...avoidance.planning.detour import Detour
from ...avoidance.planning.follower import Follower
from ...avoidance.planning.settings import Planning
from ...errors import UnknownNameError, did_you_mean
from ...geometry import HalfSpace
from ..encounters.methods import BarrierLaw, BlindArm, Factory, HasSpeeds, JointSpeeds, Mink, config, controller
from ..encounters.scene import REACHED, place
from .scene import CAPSULES, TrapScene

Array = NDArray[np.float64]

MARGINS = (0.08, 0.04, 0.02, 0.01)  # m: the room that a route keeps, the next where there is none with more
BUDGET = 1.0  # s, for each
TRIES = 4
STUCK = 1.0  # s


@cache
def planner_of(arm: Arm) -> Planner:
    """One for all runs of an arm: what it builds once is kept."""
    return Planner(arm, body=place(arm).body, tool_speed=Attraction().max_speed)


def world_of(arm: Arm, rows: Array) -> World:
    """The obstacle's capsules and the floor."""
    return World.of_rows(rows, [HalfSpace(place(arm).base, np.array([0.0, 0.0, 1.0]))])


class DetourArm:
    """K with planning, without a supervisor."""

    def __init__(self, arm: Arm, people: int, sensor: str, *, capsules: int = CAPSULES) -> None:
        self._law = Controller(arm, config(arm, waiting=None), people=0, others=capsules)
        self.detour = Detour(self._law, Planning())
        self._arm, self._things, self._shown = arm, self._law.obstacles(), Obstacles(people, 0, capsules)

    def obstacles(self) -> Obstacles:
        """What the loop fills."""
        return self._shown

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """The law's command, on a route where there is one."""
        tool = self._arm.pose(state.q)[:3, 3]
        self._things.rows[:] = obstacles.rows
        found = self.detour.step(t, dt, state.q, tool, goal.position, self._things)
        return self._law.step(t, dt, state, self._things, goal if found is None else found)


class RouteArm:
    """K planned at once; see the module."""

    def __init__(self, arm: Arm, people: int, sensor: str, *, capsules: int = CAPSULES) -> None:
        self._arm = arm
        self.controller = controller(arm, people, sensor, capsules=capsules, waiting=None)
        self.follower = Follower(self.controller, Planning(speed=Attraction().max_speed))
        self._begins, self._since, self._clock = -math.inf, -math.inf, 0.0  # s
        self._still = JointSpeeds(np.zeros(arm.n))
        self.planning = list[float]()  # s, of each plan

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """Along the route, and then to the goal."""
        if not self.planning or (t - self._since > STUCK and not self._there(state.q, goal)):
            self._plan(t, state.q, obstacles, goal)
        if t < self._begins:
            return self._still
        if self.follower.active:
            goal = self.follower.step(dt, state.q)
            if self.follower.clock > self._clock:
                self._clock, self._since = self.follower.clock, t
        return self.controller.step(t, dt, state, obstacles, goal)

    def _there(self, q: Array, goal: Goal) -> bool:
        return bool(np.linalg.norm(self._arm.pose(q)[:3, 3] - goal.position) < REACHED)

    def _plan(self, t: float, q: Array, obstacles: Obstacles, goal: Goal) -> None:
        world, spent, seed = world_of(self._arm, obstacles.rows), 0.0, len(self.planning)
        self.follower.end()
        for margin in MARGINS:
            plan = planner_of(self._arm).plan(
                q, Goal(goal.position), world, margin=margin, budget=BUDGET, seed=seed, tries=TRIES
            )
            spent += plan.seconds
            if plan.reached and plan.route is not None:
                self.follower.begin(plan.route, margin)
                break
        self.planning.append(spent)
        self._begins = self._since = t + spent
        self._clock = 0.0


Made = Callable[[TrapScene], Factory]

METHODS: dict[str, Made] = {
    "K": lambda scene: partial(controller, capsules=CAPSULES, waiting=None),
    "K with planning": lambda scene: DetourArm,
    "K planned at once": lambda scene: RouteArm,
    "CBF-QP": lambda scene: partial(BarrierLaw, capsules=CAPSULES),
    "mink": lambda scene: partial(Mink, rows=scene.rows),
}
"""By the name in tables: a factory as encounters take it, for a scene."""

FREE = "free arm"


def free_arm(scene: TrapScene) -> Factory:
    """K with nothing in its way."""
    return partial(BlindArm, capsules=CAPSULES, waiting=None)


NEEDS = {"CBF-QP": ("daqp",), "mink": ("mink", "mujoco", "daqp")}


def method_named(name: str) -> str:
    """The method's own name, from one in any case and with - for a space; refused by name."""
    known = {key.lower().replace(" ", "-"): key for key in METHODS}
    wanted = name.strip().lower().replace(" ", "-")
    if wanted not in known:
        hint = did_you_mean(wanted, list(known), 2, 0.5)
        raise UnknownNameError(f"no method {name!r}: expected one of {', '.join(known)}{hint}")
    return known[wanted]


def planning_seconds(method: object) -> float:
    """s, that a method spent planning; NaN for one that does not plan."""
    times = getattr(method, "planning", None)
    return math.nan if not times else float(sum(times))
