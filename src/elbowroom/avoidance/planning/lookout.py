"""Looking out: who stands, and whether a route is still free of people, of things and of the arm itself.

    lookout.look(t, obstacles)                         with every step; True where there is something new to look at
    lookout.blocked(q, route, clock, margin, obstacles)    whether what is ahead is not free
    lookout.occupied(t, aim, work, obstacles)          whether somebody is too near to where the arm should go

Those who stand must leave all of a route free, those who move the next second of it, as they will be by then if they
keep their velocities (`THEN`).  What lies between the arm, which may lag, and the route is looked at,
too.  Links of the arm that overlap already may do so, each group of them by as much as it does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...geometry.shapes import RADIUS, ROW, VELOCITY_A, VELOCITY_B, A, B
from .checker import Checker
from .decision import ASIDE, THERE, could_come
from .world import Obstacle, World

if TYPE_CHECKING:
    from ..control.controller import Controller
    from ..control.obstacles import Obstacles
    from .follower import SampledRoute
    from .settings import Planning

Array = NDArray[np.float64]

AHEAD = 9  # places of the straight way to an aim at which things are looked for
OWN = 0.002  # m, that rounding and the way onto a route may cost between links that overlap already
THEN = ((0.4, 0.0), (1.0, 0.4))  # s of a route ahead, and when people who move must leave it free
JOINING = 8  # configurations between the arm and the route that are looked at
LOOK = 0.0199  # s: people and route are looked at no more often
ROOM = 0.05  # m beyond field and margin: then the straight way is taken


class Lookout:
    """What a detour sees, for one controller; `shapes` are there for good.  See the module's docstring."""

    def __init__(self, controller: Controller, rules: Planning, shapes: tuple[Obstacle, ...]) -> None:
        self.controller, self.rules, self._shapes = controller, rules, shapes
        self.checker = Checker(controller.body, lower=controller.lower, upper=controller.upper)
        places = controller.obstacles()
        self._people, self._capsules = places.people, places.person_capsules
        self._anchors = np.full((self._people, self._capsules, 6), math.inf)
        self._load()
        self.reset()

    def _load(self) -> None:
        """Compiles, or loads, what looking at routes needs: not in the loop."""
        ready = np.tile(self.controller.arm.ready, (2, 1))
        for count in range(len(self.controller.obstacles().rows) + 1):
            people = np.zeros((count, ROW))
            people[:, RADIUS] = 1.0
            self._free(ready, people, people[:0], 0.0)

    def reset(self) -> None:
        """Forgets whom it saw."""
        self._since = np.full(self._people, -math.inf)  # since when each person stands
        self._stamps = np.full(self._people, math.nan)
        self._anchors[:] = math.inf
        self._things: Array = np.zeros((0, RADIUS))  # as they were when they were looked at
        self._looked = -math.inf

    # ---- people
    def look(self, t: float, obstacles: Obstacles) -> bool:
        """Whether there is a new frame of anybody, or a thing was moved; who stands since when."""
        if 0.0 <= t - self._looked < LOOK:
            return False
        things = self.things(obstacles)[:, :RADIUS]
        same = np.array_equal(things, self._things)
        if same and self._people and np.array_equal(obstacles.stamps, self._stamps):
            return False
        self._looked, self._things = t, things.copy()
        self._stamps[:] = obstacles.stamps
        ends = self.people(obstacles)[:, :, :6]
        with np.errstate(invalid="ignore"):
            gone = np.abs(ends - self._anchors).max(axis=(1, 2), initial=0.0)
        moved = ~(gone <= self.rules.still_within)
        self._anchors[moved] = ends[moved]
        self._since[moved] = t
        return True

    def people(self, obstacles: Obstacles) -> Array:
        """(P, S, 13) their capsules."""
        return obstacles.rows[: self._people * self._capsules].reshape(self._people, self._capsules, ROW)

    def things(self, obstacles: Obstacles) -> Array:
        """(K, 13) the capsules of things."""
        return obstacles.rows[self._people * self._capsules :]

    def moving(self, t: float, obstacles: Obstacles) -> NDArray[np.bool_]:
        """(P,) who is there and does not stand."""
        there = (np.abs(self.people(obstacles)[:, :, 0]) < THERE).any(axis=1)
        return there & ~(t - self._since >= self.rules.still_after)

    def stood(self, t: float, obstacles: Obstacles) -> Array:
        """(P,) s, for how long each has stood; 0 for who moves."""
        return np.minimum(np.where(self.moving(t, obstacles), 0.0, t - self._since), 1e6)

    def occupied(self, t: float, aim: Array, work: Array, obstacles: Obstacles) -> bool:
        """Whether somebody is too near to where the arm should go.

        One who stands, if nearer than the least margin; one who moves, if the arm would wait for the goal (`Waiting`).
        """
        rules, near = self.controller.config.waiting, self.rules.margins[-1]
        if rules is not None and self.moving(t, obstacles).any():
            near = max(near, rules.near)
        rows = self.people(obstacles).reshape(-1, ROW)
        return any(_distance(point, rows) < near for point in (aim, work))

    def thing_between(self, tool: Array, aim: Array, obstacles: Obstacles) -> bool:
        """Whether a thing is so near to the straight way to an aim that its field reaches there."""
        things, reach = self.things(obstacles), self.controller.config.repulsion.influence
        ways = tool + np.linspace(0.0, 1.0, AHEAD)[:, None] * (aim - tool)
        return bool(len(things)) and min(_distance(way, things) for way in ways) < reach

    # ---- routes
    def blocked(self, q: Array, route: SampledRoute, clock: float, margin: float, obstacles: Obstacles) -> bool:
        """Whether what is ahead of an arm at q (n,) is not free; the route's own time is `clock` (s)."""
        start = route.index(clock)
        part = np.linspace(0.0, 1.0, JOINING, endpoint=False)[:, None]
        rest = np.concatenate([q + part * (route.q[start] - q), route.q[start:]])
        room = self.controller.command.distance
        grown = min(self.rules.kept * margin, ASIDE * max(room, 0.0)) if room < THERE else 0.0
        people, things = self.people(obstacles), self.things(obstacles)
        now = float(np.nanmax(self._stamps)) if len(self._stamps) else 0.0
        still = now - self._since >= self.rules.still_after
        if not self._free(rest, people[still].reshape(-1, ROW), things, grown):
            return True
        if still.all():
            return False
        rate = (len(route) - 1) / route.duration
        first = 0
        for until, after in THEN:
            end = JOINING + int(until * rate) + 1
            who = self._expected(people[~still].reshape(-1, ROW), min(after, self.rules.horizon))
            if not self._free(rest[first:end], who, things[:0], grown):
                return True
            first = end
        return False

    @staticmethod
    def _expected(rows: Array, after: float) -> Array:
        """Capsules (k, 13) so many seconds later, if they keep their velocities."""
        found = rows.copy()
        found[:, A] += after * rows[:, VELOCITY_A]
        found[:, B] += after * rows[:, VELOCITY_B]
        return found

    def could_come(self, t: float, route: SampledRoute, clock: float, margin: float, obstacles: Obstacles) -> bool:
        """Whether the arm should wait, since somebody who moves could come to what is left of a route."""
        moving = self.moving(t, obstacles)
        if not self.rules.waits(margin) or not moving.any():
            return False
        return could_come(self.checker, route, clock, self.people(obstacles)[moving].reshape(-1, ROW), self.rules)

    def straight_free(
        self, q: Array, route: SampledRoute, aim: Array | None, margin: float, obstacles: Obstacles
    ) -> bool:
        """Whether people have left the straight way to the end of a route."""
        waiting, people = self.controller.config.waiting, self.people(obstacles).reshape(-1, ROW)
        if aim is not None and waiting is not None and _distance(aim, people) < waiting.clear:
            return False  # the field would keep the arm from its aim
        straight = q + np.linspace(0.0, 1.0, 2 * JOINING)[:, None] * (route.q[-1] - q)
        reach = max(self.controller.config.repulsion.influence, margin) + ROOM
        return self._free(straight, obstacles.rows, obstacles.rows[:0], reach)  # things as people: the field is of both

    def _free(self, q: Array, people: Array, things: Array, grown: float) -> bool:
        """Whether all of q (k, n) is clear of them, and its own links come no nearer than they are at the first."""
        rows = np.concatenate([people, things])
        rows[: len(people), RADIUS] += grown
        slack = self.checker.against(World.of_rows(rows, self._shapes)).each(q)
        clear, own = slack[0], slack[1:]
        return bool((clear > 0.0).all() and (own > np.minimum(own[:, :1], 0.0) - OWN).all())


def _distance(point: Array, rows: Array) -> float:
    """Least distance (m) of a point to capsules (k, 13); infinite where there are none."""
    there = rows[np.abs(rows[:, 0]) < THERE]
    if not len(there):
        return math.inf
    a, along = there[:, A], there[:, B] - there[:, A]
    square = np.maximum((along * along).sum(axis=1), 1e-18)  # a ball: any part of its axis is its centre
    part = np.clip(((point - a) * along).sum(axis=1) / square, 0.0, 1.0)
    off = np.linalg.norm(point - a - part[:, None] * along, axis=1) - there[:, RADIUS]
    return float(off.min())
