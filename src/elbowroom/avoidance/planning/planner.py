"""The planner: from a joint pose to another, or to where the tool should be, around what stands in the way.

    planner = Planner(arm)
    plan = planner.plan(arm.ready, goal, World([Box(...), ...]), margin=0.03)
    plan.outcome, plan.route, plan.reason

`goal` is a joint pose (n,), several (k, n), a pose of the tool (4, 4), or a Goal, whose position counts and for which
the tool may turn.  Of several the one that is reached first counts.  Joints without limits take the shorter way round.
What is found is shortened, its corners are rounded and it is timed (smoothing.py, route.py).  The same seed and
`rounds` of the search give the same route; a `budget` is time on the clock, so what it cuts off depends on the machine.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arm import Arm
from ...errors import ConfigError, ShapeError
from ...geometry import Body
from ..control.command import Goal
from . import search, smoothing
from .barrier import JOINTS, Barrier
from .checker import Against, Checker
from .goals import other_ways, solutions, target_of, wrapped
from .nearest import nearest_pair
from .route import Route
from .world import World

Array = NDArray[np.float64]

SPEED, ACCELERATION = 2.0, 10.0  # rad/s and rad/s^2 where the model says nothing
QUICK = 1.4  # times the straight way of the tool: nothing quicker is looked for
OVERLAP = 0.03  # m, of the arm's own capsules at the start that is put up with: they are wider than its links
GUARD = 0.001  # m kept beside the margin
MANY, MANY_STARTS = 96, 240  # joint poses of a goal, and starts for them, where the first dozen touch
PROOFS = {16: 4, 160: 6}  # rounds of a search after which it is looked for a barrier, dividing cells so often
HORIZON = 0.5  # m beyond the arm's reach and the margin: what is farther away plays no part


class Outcome(StrEnum):
    """How a search ended."""

    REACHED = "reached"
    START_IN_COLLISION = "start in collision"
    GOAL_IN_COLLISION = "goal in collision"
    GOAL_UNREACHABLE = "goal unreachable"
    NO_WAY = "no way"
    BUDGET_SPENT = "budget spent"


@dataclass(frozen=True, eq=False)
class Plan:
    """What was found: the outcome in words, and a route: to the goal, or as far as it came."""

    outcome: Outcome
    reason: str
    route: Route | None
    path: Array  # (k, n) way points
    seconds: float
    rounds: int

    @property
    def reached(self) -> bool:
        """Whether the route ends at the goal."""
        return self.outcome is Outcome.REACHED

    def __repr__(self) -> str:
        return f"<Plan: {self.outcome}, {self.seconds * 1e3:.1f} ms, {self.route!r}>"


class Planner:
    """Plans for one arm and body; see the module's docstring.

    `lower`, `upper` (n,) replace the joint limits, `speed`, `acceleration` (n,) what routes are timed with: the model's
    speeds and 10 rad/s^2 if omitted.  `tool_speed` (m/s) bounds that of the tool, too.
    """

    def __init__(
        self,
        arm: Arm,
        *,
        body: Body | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        tool_speed: float = math.inf,
        checker: Checker | None = None,
    ) -> None:
        if not isinstance(arm, Arm):
            raise ConfigError(f"arm: expected Arm; got {arm!r:.60}; er.load makes one")
        if checker is not None and (lower is not None or upper is not None):
            raise ValueError("lower, upper: a checker that is given has its own; make it with them")
        if not tool_speed > 0.0:
            raise ValueError(f"tool_speed must be a number above 0, m/s; got {tool_speed}")
        self.arm = arm
        self.checker = checker or Checker(Body(arm) if body is None else body, lower=lower, upper=upper)
        n = arm.n
        known = np.where(np.isfinite(arm.model.velocity), arm.model.velocity, SPEED)
        self.speed = known if speed is None else np.array(speed, dtype=float)
        self.acceleration = np.full(n, ACCELERATION) if acceleration is None else np.array(acceleration, dtype=float)
        self.tool_speed = tool_speed

    def __repr__(self) -> str:
        return f"<Planner of {self.checker!r}>"

    @staticmethod
    def now() -> float:
        """s, on the clock that a budget is of."""
        return time.perf_counter()

    def plan(
        self,
        start: ArrayLike,
        goal: ArrayLike | Goal,
        world: World,
        *,
        margin: float = 0.02,
        apart: float = 0.0,
        budget: float = 1.0,
        rounds: int | None = None,
        seed: int = 0,
        tries: int = 1,
        prove: bool = True,
    ) -> Plan:
        """A route from start (n,) to a goal that keeps `margin` (m) from the world, found within `budget` (s).

        The shortest in time of as many as `tries` that are found within half of the budget, the first one always.
        With `rounds` that many rounds of the search are the budget; `budget` then does not count.
        The arm's own links stay `apart` (m), or half as far as they are at start and goal where that is less; where
        they overlap at the start by less than 3 cm, they come no nearer.
        `prove`: a search for joint poses that lasts is interrupted to look for a proof that there is no way
        (barrier.py); some hundredths of a second, and after ten times as many rounds up to a second more.  Of a tool's
        pose not all joint poses are known, so nothing is proved.  Without
        `prove` a reason does not name which link is too near to what, either: that takes some milliseconds.
        """
        if not isinstance(world, World):
            raise TypeError(f"world: expected a World, World() where nothing stands; got {world!r}")
        if not 0.0 <= margin < math.inf:
            raise ValueError(f"margin must be a number of 0 or more; got {margin}")
        if not 0.0 <= apart < math.inf:
            raise ValueError(f"apart must be a number of 0 or more; got {apart}")
        if tries < 1:
            raise ValueError(f"tries must be 1 or more; got {tries}")
        began = self.now()
        checker, rng = self.checker, np.random.default_rng(seed)
        first = self._pose("start", start)
        near = world.within(checker.center, checker.radius + margin + HORIZON)
        against = checker.against(near, margin)
        own = against.own(first)
        if -OVERLAP < float(own.min()) <= 0.0:  # links that a field or a hand brought together must get apart again
            against = checker.against(near, margin, np.where(own <= 0.0, own - GUARD, 0.0))

        def ended(outcome: Outcome, reason: str, path: Array | Route, used: int = 0) -> Plan:
            route = path if isinstance(path, Route) else self.timed(path) if len(path) > 1 else None
            if route is not None:
                route.clearance = float(np.min(checker.clearance(route.q, near)))
            way = path.path if isinstance(path, Route) else path
            return Plan(outcome, reason, route, way, self.now() - began, used)

        def between(q: Array) -> str:
            pair = nearest_pair(checker, q, near) if prove else ""
            return f" between {pair}" if pair else ""

        room = float(against.slack(first)[0])
        if room <= 0.0:
            clear = float(checker.clearance(first[0], near))
            why = f"start: {clear:.3f} m clear{between(first[0])}, {margin:.3f} m asked for"
            if not checker.within_limits(first)[0]:
                why = f"start: beyond a joint limit: {self._beyond(first[0])}"
            return ended(Outcome.START_IN_COLLISION, why, first)
        ends = self.joint_poses(goal, first[0], rng)
        if not len(ends):
            where = np.round(np.asarray(target_of(goal, self.arm.n)), 3).tolist()
            return ended(Outcome.GOAL_UNREACHABLE, f"goal: no joint pose within the limits reaches {where}", first)
        rooms = against.slacks(ends)
        if not (rooms.min(axis=0) > 0.0).any() and target_of(goal, self.arm.n) is not None:
            ends = self.joint_poses(goal, first[0], rng, many=True)
            rooms = against.slacks(ends)
        if not (rooms.min(axis=0) > 0.0).any():
            clears = np.asarray(checker.clearance(ends, near))
            best_end = int(clears.argmax())
            poses = "a joint pose" if len(ends) == 1 else f"{len(ends)} joint poses"
            why = f"goal: {clears[best_end]:.3f} m clear at best in {poses}{between(ends[best_end])}"
            why += f", {margin:.3f} m asked for"
            if not checker.within_limits(ends).any():
                why = f"goal: beyond a joint limit: {self._beyond(ends[0])}"
            return ended(Outcome.GOAL_IN_COLLISION, why, first)
        asked_for = ends[rooms.min(axis=0) > 0.0]
        prove = prove and target_of(goal, self.arm.n) is None
        # what float32, samples and timing may be off by is kept besides, and own links apart, as far as both ends allow
        best = np.minimum(against.slacks(first)[:, 0], rooms[:, int(rooms.min(axis=0).argmax())])
        keeping = margin + min(GUARD, 0.5 * float(best[0])), against.apart + min(apart, 0.5 * float(best[1]))
        against = checker.against(near, *keeping)
        ends = ends[against.slack(ends) > 0.0]
        routes = self._straight(against, first, ends, tries)
        if routes and (tries == 1 or self._quick(routes[0])):
            return ended(Outcome.REACHED, "straight", routes[0])
        straight, used = len(routes), 0
        low, high = self._range(np.vstack([first, ends]))
        barrier: Barrier | None = None

        def go_on(done: int) -> bool:
            nonlocal barrier
            if prove and not routes and done in PROOFS:
                barrier = barrier or Barrier(checker, near, margin)
                if barrier.between(first[0], asked_for, PROOFS[done]):
                    return False
            part = 0.5 if routes else 1.0  # one is there: others may cost half of the time
            if rounds is not None:
                return used + done < part * rounds
            return self.now() < began + part * budget

        while len(routes) - straight < tries and (not routes or go_on(0)):
            found = search.connect(against, first, ends, rng, low, high, go_on)
            used += found.rounds
            if found.path is not None:
                routes.append(self.timed(smoothing.rounded(against, smoothing.shortened(against, found.path, rng))))
            elif barrier is not None and barrier.parts:
                names = ", ".join(self.arm.joint_names[:JOINTS])
                links = ", ".join(dict.fromkeys(each.name for each in barrier.links))
                why = f"goal: no way, proved: {names} cannot go there: one of {links} would come too near"
                return ended(Outcome.NO_WAY, why, found.nearest, used)
            elif not routes:
                allowed = f"{budget:g} s" if rounds is None else f"{rounds} rounds"
                why = f"no way found in {self.now() - began:.2f} s, {used} rounds; the budget is {allowed}"
                return ended(Outcome.BUDGET_SPENT, why, found.nearest, used)
        quickest = min(range(len(routes)), key=lambda k: routes[k].duration)
        return ended(Outcome.REACHED, "straight" if quickest < straight else "around", routes[quickest], used)

    def _beyond(self, q: Array) -> str:
        """The joints of q (n,) that are beyond their limits, with these."""
        lower, upper, model = self.checker.lower, self.checker.upper, self.arm.model
        return "; ".join(
            f"{model.joint_names[i]} is {q[i]:.4g}, limits {lower[i]:.4g} to {upper[i]:.4g} "
            + ("rad" if model.revolute(i) else "m")
            for i in np.flatnonzero((q < lower) | (q > upper)).tolist()
        )

    def _straight(self, against: Against, first: Array, ends: Array, most: int) -> list[Route]:
        """Straight routes to some of the goals, the quickest first."""
        some = ends[against.edges_free(np.repeat(first, len(ends), axis=0), ends)]
        order = np.argsort(self.checker.moved(some - first))[:most]
        return sorted((self.timed(np.vstack([first, some[k]])) for k in order), key=lambda route: route.duration)

    def _quick(self, route: Route) -> bool:
        """Whether a route takes hardly longer than the tool must at its greatest speed."""
        tool = self.arm.pose(route.path[[0, -1]])[:, :3, 3]
        return route.duration <= QUICK * float(np.linalg.norm(tool[1] - tool[0])) / self.tool_speed

    def joint_poses(
        self, goal: ArrayLike | Goal, start: Array, rng: np.random.Generator, *, many: bool = False
    ) -> Array:
        """(k, n) where the arm may end for a goal, as `plan` takes it; none where it is out of reach.

        For a pose or a point those that were found: a dozen, or `many`.  Joints without ends are turned either way.
        """
        n, model = self.arm.n, self.arm.model
        lower, upper = self.checker.lower, self.checker.upper
        endless = np.array([model.revolute(i) for i in range(n)]) & np.isinf(lower) & np.isinf(upper)
        target = target_of(goal, n)
        if target is not None:
            if not np.isfinite(target).all():
                raise ValueError(f"goal must be finite; got\n{target}")
            if many:
                found = solutions(
                    self.arm, target, start, lower, upper, rng, most=MANY, starts=MANY_STARTS, at_ends=True
                )
            else:
                found = solutions(self.arm, target, start, lower, upper, rng)
            return other_ways(found, start, endless)
        found = np.atleast_2d(np.asarray(goal, dtype=float))
        if found.ndim != 2 or found.shape[1] != n or not len(found):
            raise ShapeError(f"goal must be joint poses ({n},) or (k, {n}), a pose (4, 4) or a Goal; got {found.shape}")
        if not np.isfinite(found).all():
            raise ValueError(f"goal must be finite; got {found}")
        return other_ways(wrapped(found, start, lower, upper, endless), start, endless)

    def timed(self, path: ArrayLike) -> Route:
        """A route along a path (k, n), within the planner's speeds and accelerations."""
        tool = (lambda q: self.arm.pose(q)[:, :3, 3]) if self.tool_speed < math.inf else None
        return Route(path, self.speed, self.acceleration, tool=tool, tool_speed=self.tool_speed)

    def _range(self, poses: Array) -> tuple[Array, Array]:
        """Where configurations are drawn: the joints' ranges; of a joint that turns more than once, half a turn about
        starts and goals, and of a slide without ends as many metres."""
        lower, upper = self.checker.lower, self.checker.upper
        low, high = np.maximum(lower, poses.min(axis=0) - np.pi), np.minimum(upper, poses.max(axis=0) + np.pi)
        wide = upper - lower > 2.0 * np.pi
        wide &= np.array([self.arm.model.revolute(i) for i in range(self.arm.n)]) | np.isinf(upper - lower)
        return np.where(wide, low, lower), np.where(wide, high, upper)

    def _pose(self, name: str, q: ArrayLike) -> Array:
        found = np.array(q, dtype=float)
        if found.shape != (self.arm.n,):
            raise ShapeError(f"{name} must have shape ({self.arm.n},); got {found.shape}")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} must be finite; got {found}")
        return found[None]
