"""Detours: when an arm that is held up asks for a way around, which answers it takes, and what it says of it.

    detour = Detour(controller, rules)                     beside a control loop: Detour(..., planner=Background(...))
    goal = detour.step(t, dt, q, tool, aim, obstacles)     None: go on as without it
    detour.ended                                           a route ended in this step: set out anew from the tool

An arm that has come no nearer to its aim for `patience` seconds, while people or things push or slow it, asks the
planner once and goes on reactively; one that has a new aim asks at once where a thing lies on the straight way to it.
What the planner answers is taken if it is the answer to the last request, not late, for this aim, and free when it is
looked at again with people as they are now.  A route that is followed is looked at again with every frame of the
sensor, fifty a second at most: those who stand must leave all of it free, those who move what is ahead for the next
second.  Where they do not, it is given up and asked for anew.  A long one is left, too, once people have gone from the
straight way.

Beside somebody who stands the arm then works on with the field of the route, which reaches less far: until anybody
moves, or the arm is far from all of them.

Whatever goes wrong here, the arm goes on as without it.  The supervisor knows nothing of it, and holds what it holds.
"""

from __future__ import annotations

import logging
import math
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...geometry import HalfSpace
from ..control.command import INDEX, Goal
from ..control.velocity_law import SLOWED
from .background import Answering, Inline
from .decision import Answer, Choice, Request
from .follower import Follower, SampledRoute
from .lookout import Lookout
from .settings import WAIT

if TYPE_CHECKING:
    from ..control.controller import Controller
    from ..control.obstacles import Obstacles
    from .settings import Planning
    from .world import Obstacle

Array = NDArray[np.float64]
log = logging.getLogger("elbowroom.planning")

SAME_AIM = 0.05  # m: an aim that moved by less is the same
THERE_ALREADY = 0.01  # m: a tool so near to its aim needs no way
COMPARE = 0.0999  # s: a route and the straight way are compared no more often
LONG = 0.5  # s that are left of a route: then the straight way may be taken
LINE = 8  # every so many samples of a route are a point of its line
RETRY = 0.1  # s, until a planner that starts is asked again


class RouteState(IntEnum):
    """What is going on; in recordings the column `route`."""

    NONE = 0
    ASKED = 1
    AROUND = 2
    BESIDE = 3
    NO_WAY = 4
    MOVING_ON = 5
    OCCUPIED = 6
    WITHOUT = 7
    REACHABLE = 8

    @property
    def waits(self) -> bool:
        """Whether the arm waits for people, since that is all that is left or quicker."""
        return self in (RouteState.NO_WAY, RouteState.MOVING_ON, RouteState.OCCUPIED, RouteState.REACHABLE)

    def words(self, who: str) -> str:
        """A sentence about somebody or something; "" where there is nothing to say."""
        return _WORDS[self].format(who)


WITHOUT = "planner does not answer: going on without it"
_WORDS = {
    RouteState.NONE: "",
    RouteState.ASKED: "looking for a way around {}",
    RouteState.AROUND: "going around {}",
    RouteState.BESIDE: "working beside {}",
    RouteState.NO_WAY: "waiting: no way around {}",
    RouteState.MOVING_ON: "waiting: {} is moving on",
    RouteState.OCCUPIED: "waiting: {} occupies the goal",
    RouteState.WITHOUT: WITHOUT,
    RouteState.REACHABLE: "waiting to go around {}: somebody moves who could reach the route",
}


def fixed_shapes(controller: Controller) -> tuple[Obstacle, ...]:
    """What the controller's own settings say is there for good: the floor of its workspace."""
    walls = controller.config.workspace
    if walls is None or walls.floor is None:
        return ()
    return (HalfSpace(np.array([0.0, 0.0, walls.floor]), np.array([0.0, 0.0, 1.0])),)


class Detour:
    """Asks, judges answers and follows routes, for one controller.

    state, text        what is going on, also in words; "" where nothing is
    part               the number of the obstacle's row that it is about, -1 for none
    asked, replans, dropped    how many requests, routes given up and asked for anew, and answers not taken
    line               (k, 3) the tool's points of the route, for drawing; none where there is no route
    """

    def __init__(self, controller: Controller, rules: Planning, *, planner: Answering | None = None) -> None:
        self.controller, self.rules = controller, rules
        self.planner: Answering = Inline(controller, rules, fixed_shapes(controller)) if planner is None else planner
        self.follower = Follower(controller, rules)
        self.lookout = Lookout(controller, rules, fixed_shapes(controller))
        self._number = 0
        self.reset()

    def reset(self) -> None:
        """Forgets the time before; the numbers of requests go on, so that no answer from then is taken."""
        self.follower.end()
        self.follower.restore()
        self.asked = self.replans = self.dropped = 0
        self._pending = False
        self.part, self.name, self.ended = -1, "", False
        self.state, self.text = RouteState.NONE, ""
        self._said = self.state, self.name
        self.line: Array = np.zeros((0, 3))
        self.lookout.reset()
        self._aim: Array | None = None
        self._new = False  # the aim, and what lies on its way has not been looked at
        self._best, self._nearer, self._next, self._asked_at = math.inf, -math.inf, -math.inf, -math.inf
        self._moved = self._pressed = self._compared = -math.inf
        self._clock = 0.0
        self._margin = 0.0
        self._somebody_moved = False  # when it was asked
        self._until_they_stand = False  # the answer was no route, and somebody moved
        self._complaint = ""
        self._say(RouteState.NONE)

    def _say(self, state: RouteState) -> None:
        if (state, self.name) != self._said:
            self._said = state, self.name
            self.state, self.text = state, state.words(self.name)
        if state is not RouteState.AROUND:
            self.line = np.zeros((0, 3))

    def _calm(self) -> None:
        """Nothing is asked for and no route followed."""
        if self.follower.beside:
            self._say(RouteState.BESIDE)
        else:
            self._say(RouteState.NONE)

    # ---- one control step
    def step(
        self,
        t: float,
        dt: float,
        q: Array,
        tool: Array,
        aim: Array | None,
        obstacles: Obstacles,
        *,
        work: Array | None = None,
        rotation: Array | None = None,
        held: bool = False,
        slowed: bool = False,
    ) -> Goal | None:
        """The goal on a route, or None: go on reactively.  Never raises, never waits.

        `aim` (3,) is where the tool should come next, None for nowhere, and `work` (3,) what it does there, if that is
        another point; `rotation` (3, 3) where the tool keeps an orientation; `held` while the arm may not move;
        `slowed` where a supervisor slows it for people.
        """
        self.ended = False
        try:
            goal = self._step(t, dt, q, tool, aim, obstacles, work, rotation, held, slowed)
        except Exception as error:  # the loop goes on without it
            self._give_up()
            self.follower.restore()
            self._complain(f"{type(error).__name__}: {error}")
            self._pending, self._next = False, t + self.rules.again
            self._say(RouteState.WITHOUT)
            return None
        return goal

    def _step(
        self, t: float, dt: float, q: Array, tool: Array, aim: Array | None, obstacles: Obstacles,
        work: Array | None, rotation: Array | None, held: bool, slowed: bool,
    ) -> Goal | None:  # fmt: skip
        checker = self.lookout.checker
        q = np.clip(q, checker.lower, checker.upper)  # an arm at its limit is measured a hair beyond it
        if math.isinf(self._nearer) and self._nearer > 0:
            self._nearer = t
        fresh = self.lookout.look(t, obstacles)
        law = self.controller.command
        if slowed or law.push > 0.0 or law.slow < SLOWED:
            self._pressed = t
        answer = self.planner.poll(t)
        if self._new_aim(t, aim, tool) or held:
            self._give_up(beside=aim is None)
        if held:
            self.follower.restore()  # after a stop with the field as it was
        if fresh and self.follower.beside:
            self._beside(t, obstacles)
        if aim is None or held:
            self._pending = False
            self._calm()
            self._nearer = t
            return None
        if answer is not None:
            self._take(t, q, answer, obstacles)
        if self.follower.active:
            if fresh and self._blocked(q, obstacles):
                self._give_up()
                self.replans += 1
                self._ask(t, q, aim, rotation, obstacles)
            elif fresh and t - self._compared >= COMPARE and self._needless(t, q, obstacles):
                self._give_up()
            else:
                return self._follow(t, dt, q)
        work = aim if work is None else work
        self._mind(t, q, tool, aim, work, rotation, obstacles)
        return None

    def _follow(self, t: float, dt: float, q: Array) -> Goal:
        goal = self.follower.step(dt, q)
        goal.t = t
        if self.follower.clock > self._clock + 1e-3:
            self._clock, self._moved = self.follower.clock, t
        if not self.follower.active:
            self._route_over()
        elif t - self._moved > 4.0 * self.rules.patience:  # held up on the route, too
            self._give_up()
            self._next = t
            self._nearer = -math.inf
        return goal

    def _beside(self, t: float, obstacles: Obstacles) -> None:
        """Ends work beside somebody who stands: when anybody moves, or all are far enough for the field as it was."""
        field, waiting = self.controller.config.repulsion, self.controller.config.waiting
        reach = field.influence if waiting is None else max(field.influence, waiting.influence)
        stands = not self.lookout.moving(t, obstacles).any()
        if not stands or self.controller.command.distance > reach:
            self.follower.restore()

    def _mind(
        self, t: float, q: Array, tool: Array, aim: Array, work: Array, rotation: Array | None, obstacles: Obstacles
    ) -> None:
        """Whether the arm comes nearer to its aim; what is done if not.  Things on the way are seen at once."""
        away = float(np.linalg.norm(tool - aim))
        if self._new and not self._pending:
            self._new = False
            if self.lookout.thing_between(tool, aim, obstacles):
                self._ask(t, q, aim, rotation, obstacles)
                return
        if away < self._best - self.rules.progress:
            self._best, self._nearer = away, t
        stuck = t - self._nearer >= self.rules.patience and away > THERE_ALREADY
        if not stuck or t - self._pressed > self.rules.patience:
            if not self._pending:
                self._calm()
            return
        if self._pending:
            if self.planner.problem or t - self._asked_at > self.rules.latest:
                self._drop("no answer", t)
            return
        if self.planner.problem:
            self._complain(self.planner.problem)
            self._say(RouteState.WITHOUT)
        if self._until_they_stand and not self.lookout.moving(t, obstacles).any():
            self._until_they_stand, self._next = False, t  # once nobody moves any more there may be a way at once
        if t < self._next:
            return
        if self.lookout.occupied(t, aim, work, obstacles):
            self._next = t + self.rules.again
            self._nearest()
            self._say(RouteState.OCCUPIED)
            return
        self._ask(t, q, aim, rotation, obstacles)

    # ---- asking
    def _ask(self, t: float, q: Array, aim: Array, rotation: Array | None, obstacles: Obstacles) -> None:
        self._nearest()
        asked = Request(
            self._number + 1,
            t,
            q.copy(),
            np.array(aim),
            None if rotation is None else np.array(rotation),
            self.lookout.people(obstacles).copy(),
            self.lookout.stood(t, obstacles),
            self.lookout.things(obstacles).copy(),
        )
        if not self.planner.ask(asked):
            self._next = t + RETRY
            return
        self._number, self._pending, self._asked_at = asked.number, True, t
        self._somebody_moved = bool(self.lookout.moving(t, obstacles).any())
        self._until_they_stand = False
        self.asked += 1
        if not self.state.waits:
            self._say(RouteState.ASKED)

    def _nearest(self) -> None:
        """Remembers what is nearest, by its name."""
        slots = self.controller.layout.slots
        self.part = int(self.controller.command.info[INDEX["nearest"]]) % slots
        self.name = self.controller.nearest()[1].replace("_", " ")

    # ---- answers
    def _take(self, t: float, q: Array, answer: Answer, obstacles: Obstacles) -> None:
        """Follows a route, or waits, or drops an answer that will not do."""
        if answer.number != self._number or not self._pending:
            self._drop("an answer to an older request", t)
            return
        self._pending = False
        self._complaint = ""
        if answer.choice is Choice.FAILED:
            self._drop(answer.problem, t)
        elif t - answer.t > self.rules.latest:
            self._drop(f"an answer {t - answer.t:.2f} s after its request", t)
        elif self._aim is None or float(np.linalg.norm(answer.aim - self._aim)) > SAME_AIM:
            self._drop("an answer for another aim", t)
        elif answer.choice is Choice.WAIT:
            self._wait(t, RouteState.MOVING_ON, min(answer.delay, self.rules.again))
        elif answer.choice is Choice.REACHABLE:
            self._wait(t, RouteState.REACHABLE, self.rules.again)
        elif answer.choice is Choice.NO_WAY or answer.route is None:
            self._wait(t, RouteState.NO_WAY, self.rules.again)
        else:
            self._begin(t, q, answer.route, answer.margin, obstacles)

    def _begin(self, t: float, q: Array, route: SampledRoute, margin: float, obstacles: Obstacles) -> None:
        if route.q.shape[1:] != q.shape or float(np.abs(route.q[0] - q).max()) > self.rules.leash:
            self._drop("a route that begins elsewhere than at the arm", t)
            return
        every = *self.rules.margins, *self.rules.thing_margins, self.rules.moving_margin
        widest, least = max(every), min(every)
        if not least <= margin <= widest:  # the field would reach as far as it says
            self._drop(f"a route with a margin of {margin:g} m", t)
            return
        self._margin = margin
        if self.lookout.blocked(q, route, 0.0, margin, obstacles):
            self._drop("a route that is in collision", t)
            return
        if self.lookout.could_come(t, route, 0.0, margin, obstacles):  # somebody who stood when it was asked for
            after = self.rules.again if self.rules.moving_people == WAIT else RETRY
            self._wait(t, RouteState.REACHABLE, after)
            return
        self.follower.begin(route, margin)
        self._moved, self._clock = t, 0.0
        self._say(RouteState.AROUND)
        self.line = np.array(self.controller.arm.pose(route.q[::LINE])[:, :3, 3])

    def _wait(self, t: float, state: RouteState, after: float) -> None:
        """No route is followed: asked again after a while (s), or once nobody moves where somebody did."""
        self._next, self._until_they_stand = t + after, self._somebody_moved or state is RouteState.REACHABLE
        self._say(state)

    def _blocked(self, q: Array, obstacles: Obstacles) -> bool:
        """Whether what is ahead on the route is not free any more."""
        route = self.follower.route
        if not isinstance(route, SampledRoute):
            return False
        return self.lookout.blocked(q, route, self.follower.clock, self._margin, obstacles)

    def _needless(self, t: float, q: Array, obstacles: Obstacles) -> bool:
        """Whether people have left the straight way to the end of a route that is still long."""
        self._compared = t
        route = self.follower.route
        if self.follower.left < LONG or not isinstance(route, SampledRoute):
            return False
        return self.lookout.straight_free(q, route, self._aim, self._margin, obstacles)

    # ---- ends
    def _give_up(self, *, beside: bool = False) -> None:
        """Leaves the route, if there is one."""
        if self.follower.active:
            self.follower.end(beside=beside)
            self._route_over()

    def _route_over(self) -> None:
        self.ended = True
        self._best, self._nearer = math.inf, math.inf  # looked at anew from the next step on
        self._say(RouteState.NONE)

    def _drop(self, why: str, t: float) -> None:
        """An answer that is not taken, or did not come."""
        self.dropped += 1
        if why == "no answer":
            self._pending = False
            self._complain(self.planner.problem or why)
            self._say(RouteState.WITHOUT)
        else:
            log.info("dropped %s", why)
            if not self._pending:
                self._say(RouteState.NONE)
        self._next = t + self.rules.patience

    def _complain(self, what: str) -> None:
        """Once for every trouble."""
        if what != self._complaint:
            self._complaint = what
            log.warning("%s (%s)", WITHOUT, what)

    def _new_aim(self, t: float, aim: Array | None, tool: Array) -> bool:
        """Whether there is another aim than before."""
        if aim is None:
            new, self._aim = self._aim is not None, None
            return new
        if self._aim is not None and float(np.linalg.norm(aim - self._aim)) <= SAME_AIM:
            return False
        self._aim, self._new = np.array(aim), True
        self._best, self._nearer = float(np.linalg.norm(tool - aim)), t
        self._pending, self._next = False, -math.inf
        return True

    def close(self) -> None:
        """Ends the planner."""
        self.follower.end()
        self.follower.restore()
        self.planner.close()
