"""Going around or waiting: what a planner is asked, how it chooses, and what it answers.

A person who has stood still for long is a wall with a margin.  While anybody moves, `moving_people` says what is done:

around    one who moves is a cost: the way through where they are now may be free by the time the arm comes there, or
          the way around closed
wait      a route leads around those who stand, and is followed only if none of the others could come to it, at
          `hand_speed` from where they are, while the arm is on it: hands come from where nobody expects them

For the former there are two candidates: a route around everybody as they are now, which keeps `moving_margin` to those
who move, whose hands may come out; and one around those who stand alone, which may lead through where others are now.
A route keeps the widest of the margins to those who stand that has a way.  Where that costs `LONG` times the straight
way or more, narrower ones down to `ROOMY` are tried until half of the budget is spent, and taken if they cost a fifth
less; but not in a hurry, while anybody moves.  Each candidate is weighed for every delay of DELAYS, with people where
they are then expected: moved by their velocities for `horizon` seconds at most, grown by `uncertainty` for as long.
At a clearance c the supervisor leaves a part of an arm's speed,

    share(c) = (c - NEAR) / (FAR - NEAR), between LEAST and 1

and a candidate costs its delay and its time divided by that share, s; one that comes nearer than `kept` of
`moving_margin` to where somebody who moves is expected by then, at WEIGHED places of it, is none.  That is all the room
that the second candidate is sure to have from them.  The least wins; with a delay it is "wait".
On a route with less room than `moving_margin` beside a thing or somebody who stands the field reaches less far: such a
one is not begun where somebody who moves could come to it either.

Nobody knows how long somebody who stands will stay.  So a way around them is taken once they have stood for as long as
it costs more than the straight way: then no more than twice the better of both is ever lost, whatever they do.

An arm that people hold up stands nearer to them than the wide margins.  It then first moves to the nearest free
configuration that a straight line of joints leads to without coming nearer to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...geometry.pairs import Clearance
from ...geometry.shapes import RADIUS, ROW, VELOCITY_A, VELOCITY_B, A, B
from ..control.command import Goal
from .follower import SampledRoute
from .route import Route
from .settings import WAIT
from .world import Obstacle, World

if TYPE_CHECKING:
    from .checker import Checker
    from .planner import Plan, Planner
    from .settings import Planning

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
SAMPLES = 128  # of a route in an answer
THERE = 1e4  # m: rows farther away are of nobody
DELAYS = (0.0, 0.5, 1.0, 2.0, 3.0)  # s
WEIGHED = 16  # places of a route at which its clearance is looked at
NEAR, FAR, LEAST = 0.05, 0.45, 0.05  # m, m, -
STEPS_ASIDE = (0.1, 0.2, 0.3, 0.5, 0.8)  # rad or m: how far away free configurations are looked for
DRAWN, TRIED = 64, 8  # configurations drawn at each of these distances, and lines tried to the nearest free ones
LONG, WORTH = 2.0, 0.8  # times the straight way, and times the cost with a wider margin
ROOMY = 0.04  # m: narrower than that only where nothing else has a way
ASIDE = 0.8  # of the present clearance: what the way out to the margin keeps


class Choice(IntEnum):
    """What is better."""

    AROUND = 1
    WAIT = 2  # people move on: waiting is quicker
    NO_WAY = 3  # around those who stand, with any margin
    FAILED = 4  # the planner raised
    REACHABLE = 5  # there is a way, but somebody who moves could come to it while the arm is on it


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked: the joints, where the tool should go, and who is where."""

    number: int
    t: float  # s
    q: Array  # (n,)
    aim: Array  # (3,)
    rotation: Array | None  # (3, 3), None: any
    people: Array  # (P, S, 13); rows of nobody are far away
    stood: Array  # (P,) s, for how long each has stood; 0 for who moves
    things: Array  # (K, 13)


@dataclass(frozen=True, eq=False)
class Answer:
    """The choice, with its number and time as asked; `route` where there is one."""

    number: int
    t: float
    choice: Choice
    aim: Array  # (3,) as asked
    margin: float = 0.0  # m, to people who stand, and `moving_margin` where nobody does: it sets the field on the route
    delay: float = 0.0  # s, that waiting was found best
    route: SampledRoute | None = None
    seconds: float = 0.0  # that planning took
    problem: str = ""


def choose(
    planner: Planner,
    request: Request,
    rules: Planning,
    shapes: Sequence[Obstacle] = (),
    *,
    near: Clearance | None = None,
    repeatable: bool = False,
) -> Answer:
    """The answer to a request; `shapes` are there for good, such as the floor.  `repeatable` counts, not times.

    `near` is of the planner's body and as many capsules of people as a request has; made anew if omitted.
    """
    asked = _Asked(planner, request, rules, shapes, near, repeatable)
    there: Flags = np.any(np.abs(request.people[:, :, 0]) < THERE, axis=1)
    still = there & asked.still
    moving = there & ~still
    wait = bool(moving.any()) and rules.moving_people == WAIT
    if wait:
        there = still  # where the others are does not matter, or there is no route
    hurry = bool(moving.any()) and not wait  # who moves soon makes another route of it: an early one is worth more
    found = [asked.best(there, hurry=hurry)]
    if hurry:
        found.append(asked.best(still, hurry=hurry))
    candidates = [each for each in found if each is not None]
    said = request.number, request.t
    if not candidates:
        return Answer(*said, Choice.NO_WAY, request.aim, seconds=asked.spent)
    (margin, route), delay = candidates[0], 0.0
    if hurry:
        costs = [
            (cost, later, k)
            for k, (_, route) in enumerate(candidates)
            for cost, later in zip(asked.costs(route, DELAYS, moving), DELAYS, strict=True)
        ]
        cost, delay, k = min(costs)
        if cost == np.inf:  # they are expected to stay where every route leads
            return Answer(*said, Choice.NO_WAY, request.aim, seconds=asked.spent)
        margin, route = candidates[k]
    elif there.any():
        more = asked.costs(route, (0.0,), np.zeros_like(moving))[0] - asked.straight()
        delay = max(0.0, more - asked.blocker(there))
    if delay > 0.0:
        return Answer(*said, Choice.WAIT, request.aim, margin, delay, seconds=asked.spent)
    if not route.duration > 0.0:  # it is there
        return Answer(*said, Choice.WAIT, request.aim, margin, rules.again, seconds=asked.spent)
    sampled = SampledRoute.of(route, SAMPLES)
    who = request.people[moving].reshape(-1, ROW)
    if moving.any() and rules.waits(margin) and could_come(planner.checker, sampled, 0.0, who, rules):
        return Answer(*said, Choice.REACHABLE, request.aim, margin, seconds=asked.spent)
    return Answer(*said, Choice.AROUND, request.aim, margin, 0.0, sampled, asked.spent)


def could_come(checker: Checker, route: SampledRoute, clock: float, people: Array, rules: Planning) -> bool:
    """Whether people (k, 13) could come to the arm on what is left of a route, at `hand_speed` from where they are.

    They set out `latency` before the arm does: so much later it is known what they do.
    """
    ahead = np.arange(route.index(clock), len(route))
    when = rules.latency + (ahead - ahead[0]) * route.duration / (len(route) - 1)
    apart = checker.against(World.of_rows(people)).each(route.q[ahead])[0]
    return bool((apart <= rules.hand_speed * when).any())


class _Asked:
    """A request while it is worked on."""

    def __init__(
        self,
        planner: Planner,
        request: Request,
        rules: Planning,
        shapes: Sequence[Obstacle] = (),
        near: Clearance | None = None,
        repeatable: bool = False,
    ) -> None:
        self.planner, self.request, self.rules = planner, request, rules
        self.still: Flags = request.stood >= rules.still_after
        capsules = request.people.shape[0] * request.people.shape[1]
        self._near = Clearance(planner.checker.body, capsules) if near is None else near
        self._shapes, self._repeatable = tuple(shapes), repeatable
        self._random = np.random.default_rng(request.number)
        self._along = dict[Route, tuple[Array, Array]]()
        self._began, self._rounds = planner.now(), 0
        pose = np.eye(4)
        if request.rotation is not None:
            pose[:3, :3], pose[:3, 3] = request.rotation, request.aim
        goal = Goal(request.aim) if request.rotation is None else pose
        self._ends = planner.joint_poses(goal, request.q, self._random)  # once, for all margins

    @property
    def spent(self) -> float:
        """Since the request came, s."""
        return self.planner.now() - self._began

    @property
    def _left(self) -> float:
        """What is left of the budget, 0 to 1."""
        used = self._rounds / self.rules.rounds if self._repeatable else self.spent / self.rules.budget
        return max(1.0 - used, 0.0)

    def world(self, who: Flags, margin: float, thing_margin: float = 0.0) -> World:
        """These people, and things, each grown by its margin; who moves by `moving_margin` at least."""
        people = self.request.people.copy()
        people[:, :, RADIUS] += np.where(self.still, margin, max(margin, self.rules.moving_margin))[:, None]
        return self._of(people[who].reshape(-1, ROW), thing_margin)

    def _of(self, people: Array, thing_margin: float = 0.0) -> World:
        every = np.concatenate([people, self.request.things])
        every[len(people) :, RADIUS] += thing_margin
        return World.of_rows(every, self._shapes)

    def margins(self, who: Flags, *, hurry: bool = False) -> list[tuple[float, float]]:
        """Distances to those of these people who stand and to things, the widest first.

        A hand that reaches out is seen a tenth of a second late: where all of them move there is one distance alone.
        """
        people, things = self.rules.margins, self.rules.thing_margins
        if hurry:
            narrower = tuple(each for each in people if each < self.rules.moving_margin)
            people = (self.rules.moving_margin, *(narrower if (who & self.still).any() else ()))
        checker = self.planner.checker
        near = World.of_rows(self.request.things).within(checker.center, checker.radius + things[0])
        if not len(near.capsules):  # what the arm cannot come near to is not gone around
            return [(each, 0.0) for each in (people if who.any() else people[:1])]
        if not who.any():
            return [(each, each) for each in things]
        wide = [(each, min(each, things[0])) for each in people]
        return [*wide, *((people[-1], each) for each in things if each < wide[-1][1])]

    def best(self, who: Flags, *, hurry: bool = False) -> tuple[float, Route] | None:
        """A route around these people, and things, with the margin to both: see the module's docstring.

        In a `hurry`, while anybody moves, it is the first that is found, of half as many tries.
        """
        if not len(self._ends):
            return None
        margins = self.margins(who, hurry=hurry)
        found, least = None, np.inf
        for k, (margin, thing_margin) in enumerate(margins):
            least_margin = min(margin, thing_margin) if thing_margin else margin
            if found is not None and (least < LONG * self.straight() or least_margin < ROOMY or self._left < 0.5):
                break
            tries = -(-self.rules.tries // 2) if hurry else self.rules.tries
            route = self._with(who, margin, thing_margin, self._left / (len(margins) - k), tries)
            if route is None:
                continue
            if hurry:
                return least_margin, route
            cost = self.costs(route, (0.0,), np.zeros_like(who))[0]
            if cost < WORTH * least:
                found, least = (least_margin, route), cost
        return found

    def _with(self, who: Flags, margin: float, thing_margin: float, part: float, tries: int) -> Route | None:
        """A route with these margins, for part of the budget."""
        plan = self._plan(self.request.q, who, margin, thing_margin, part, tries)
        if plan.outcome.name != "START_IN_COLLISION":
            return plan.route if plan.reached else None
        aside = self._aside(who, margin, thing_margin)
        if aside is None:
            return None
        plan = self._plan(aside, who, margin, thing_margin, part, tries)
        if not plan.reached or plan.route is None:
            return None
        return self.planner.timed(np.vstack([self.request.q, plan.route.path]))

    def _plan(self, start: Array, who: Flags, margin: float, thing_margin: float, part: float, tries: int) -> Plan:
        rules = self.rules
        plan = self.planner.plan(
            start,
            self._ends,
            self.world(who, margin, thing_margin),
            margin=self._clear(thing_margin),
            budget=max(part * rules.budget, 1e-3),
            seed=self.request.number,
            rounds=max(int(part * rules.rounds), 1) if self._repeatable else None,
            tries=tries,
            prove=False,  # there is no time for it, and people go
        )
        self._rounds += plan.rounds
        return plan

    def _clear(self, thing_margin: float) -> float:
        """What is kept of all besides; beside things that leave little room, not more than of them."""
        return min(self.rules.clear, thing_margin) if thing_margin else self.rules.clear

    def _aside(self, who: Flags, margin: float, thing_margin: float) -> Array | None:
        """The nearest configuration found with the margin, reached along a line of joints that keeps clear."""
        checker, q = self.planner.checker, self.request.q
        now = self._clearance(q, self.request.people)
        if not now > 0.0:
            return None
        drawn = [q + step * self._random.standard_normal((DRAWN, len(q))) for step in STEPS_ASIDE]
        tried = np.clip(np.concatenate(drawn), checker.lower, checker.upper)
        free = tried[checker.free(tried, self.world(who, margin, thing_margin), self._clear(thing_margin))]
        people = self.request.people[who].reshape(-1, ROW)
        people[:, RADIUS] += ASIDE * now
        kept = self._of(people)
        for candidate in free[np.argsort(np.abs(free - q).max(axis=1))][:TRIED]:
            if checker.edge_free(q, candidate, kept, 0.0):
                found: Array = candidate
                return found
        return None

    def costs(self, route: Route, delays: Sequence[float], moving: Flags) -> list[float]:
        """Of following a route after each of these delays, s; infinite where it comes too near to who moves, as is
        expected."""
        q, takes = self._places(route)
        waited = np.array(delays)
        after = waited[:, None] + np.cumsum(takes) - takes  # (delays, places) s from now
        people = self.expected(after.ravel(), moving)
        apart = self._near.of_rows(np.tile(q, (len(waited), 1)), people.reshape(len(people), -1, ROW))
        apart = apart.reshape(*after.shape, *people.shape[1:3])  # of each capsule of each person
        total = waited + (takes / self._share(apart.min(axis=(2, 3), initial=np.inf))).sum(axis=1)
        near = apart[:, :, moving].min(axis=(1, 2, 3), initial=np.inf)
        total[near < self.rules.kept * self.rules.moving_margin] = np.inf
        found: list[float] = total.tolist()
        return found

    def _places(self, route: Route) -> tuple[Array, Array]:
        """Joints (places, n) along a route, and how long (places,) the arm is about each, s; found once."""
        if route not in self._along:
            part = route.duration / WEIGHED
            states = [route.at((k + 0.5) * part) for k in range(WEIGHED)]
            q, qd = (np.array(each) for each in zip(*states, strict=True))
            speeds = np.linalg.norm((self.planner.arm.jacobian(q)[0] @ qd[..., None])[..., 0], axis=1)
            self._along[route] = q, part * np.maximum(1.0, speeds / self.rules.speed)
        return self._along[route]

    def straight(self) -> float:
        """Of the straight way if nobody were there, s."""
        tool = self.planner.arm.pose(self.request.q)[:3, 3]
        return float(np.linalg.norm(self.request.aim - tool)) / self.rules.speed

    def blocker(self, there: Flags) -> float:
        """For how long the person has stood who is nearest to the arm, s."""
        near = [self._clearance(self.request.q, rows) if here else np.inf
                for rows, here in zip(self.request.people, there, strict=True)]  # fmt: skip
        return float(self.request.stood[int(np.argmin(near))])

    @staticmethod
    def _share(clearance: Array) -> Array:
        return np.clip((clearance - NEAR) / (FAR - NEAR), LEAST, 1.0)

    def _clearance(self, q: Array, people: Array) -> float:
        """Least distance of the arm's links that move from people, m."""
        return float(self._near.of(q, people.reshape(-1, ROW))[1].surfaces)

    def expected(self, after: Array, moving: Flags) -> Array:
        """(B, P, S, 13) everybody as expected so many seconds (B,) later."""
        people = np.repeat(self.request.people[None], len(after), axis=0)
        ahead = np.minimum(after, self.rules.horizon)[:, None, None]
        there = people[:, moving]
        there[..., A] += ahead[..., None] * there[..., VELOCITY_A]
        there[..., B] += ahead[..., None] * there[..., VELOCITY_B]
        there[..., RADIUS] += ahead * self.rules.uncertainty
        people[:, moving] = there
        return people
