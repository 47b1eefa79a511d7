"""The pick-and-place cell of the thesis' test 5: objects from one conveyor to another (section 4.1.5, Fig 4.13).

TRANSITIONS is the whole logic: the machine, the page and its picture are made from it.  An event that a state has no
row for leaves the state as it is.  One event a step at most, and a person's comes first.

On the way the goal is a pole that moves along up, across, down at constant speed and waits for a tool that lags:

    a, up(a), up(b), b        up(p) = p raised to `approach` above pick and place, where it is not higher already

The pole waits at up(b) until there is an object to pick, or room to place one.  While avoiding it stands still: the
controller does the avoiding, and draws the tool back to the pole afterwards.

Objects on a conveyor are points.  The in-feed is one number, the gap from its front object to the end of the belt; the
others follow at even spacing.  It stops while an object waits at the end, so a robot that is late finds a queue and
nothing is dropped.  The out-feed always runs: an object is carried `length` from where it was put, and is delivered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..avoidance import Goal
from ..avoidance.checks import Settings, refusal, setting
from ..avoidance.control.attraction import Path, Pole
from .task import FAR, Point, away, checked_point, shifted

Array = NDArray[np.float64]

TO_HOME, TO_OBJECT, PICK, TO_GOAL, PLACE, BACK_HOME, AVOID = STATES = (
    "to_home",  # the thesis' 1
    "to_object",  # 2
    "pick",  # 3
    "to_goal",  # 4
    "place",  # 5
    "back_home",  # 6
    "avoid",  # 7
)
HOME_REACHED, AT_OBJECT, GRIPPED, AT_GOAL, RELEASED, PUSHED_OFF, PERSON_NEAR, PERSON_FAR = EVENTS = (
    "home reached",
    "at object",
    "gripped",
    "at goal",
    "released",
    "pushed off",  # by more than the leash, before the dwell was over
    "person near",
    "person far",
)
CAME_FROM = "came from"  # stands for the state that avoidance interrupted
MOST = 1000  # objects on a belt; more is a slip of units


class Transition(NamedTuple):
    """In this state, this event leads there."""

    state: str
    event: str
    to: str


TRANSITIONS = (
    Transition(TO_HOME, HOME_REACHED, TO_OBJECT),
    Transition(TO_OBJECT, AT_OBJECT, PICK),
    Transition(PICK, GRIPPED, TO_GOAL),
    Transition(PICK, PUSHED_OFF, TO_OBJECT),
    Transition(TO_GOAL, AT_GOAL, PLACE),
    Transition(PLACE, RELEASED, BACK_HOME),
    Transition(PLACE, PUSHED_OFF, TO_GOAL),
    Transition(BACK_HOME, HOME_REACHED, TO_OBJECT),  # a cycle is complete
    *(Transition(state, PERSON_NEAR, AVOID) for state in STATES if state != AVOID),
    Transition(AVOID, PERSON_FAR, CAME_FROM),
)
_NEXT = {(row.state, row.event): row.to for row in TRANSITIONS}
_NOWHERE = np.full(3, math.nan)
_ARRIVAL = {TO_HOME: HOME_REACHED, TO_OBJECT: AT_OBJECT, TO_GOAL: AT_GOAL, BACK_HOME: HOME_REACHED}


def following(state: str, event: str, came_from: str) -> str:
    """The state after an event; `came_from` is the state that avoidance interrupted, if it did."""
    to = _NEXT.get((state, event), state)
    return came_from if to == CAME_FROM else to


@dataclass(frozen=True)
class Conveyor(Settings):
    """A straight belt with objects at even spacing."""

    direction: Point = setting((0.0, -1.0, 0.0), "", "way that it carries; any length")
    speed: float = setting(0.2, "(0, 10] m/s", "of the belt")
    length: float = setting(1.0, "(0, 100] m", "of the belt, from or to the place where the robot works")
    spacing: float = setting(0.3, "(0, 100] m", "from object to object", below="length")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1e-6 <= math.hypot(*self.direction) <= 1e6:
            raise refusal(self, "direction", "a vector that is not zero")
        if self.length / self.spacing > MOST:
            raise refusal(self, "spacing", f"at least length / {MOST} (m)")

    @property
    def way(self) -> Array:
        """The unit direction (3,)."""
        return np.array(self.direction) / math.hypot(*self.direction)

    @property
    def room(self) -> int:
        """The most objects that are on the belt at once."""
        return math.floor(self.length / self.spacing) + 1

    @property
    def interval(self) -> float:
        """From object to object without a stop, s."""
        return self.spacing / self.speed


class InFeed:
    """Brings objects to `end` (3,), one after the other.  It begins full, with the first object there."""

    def __init__(self, belt: Conveyor, end: Point) -> None:
        self.belt = belt
        self._way = belt.way
        self._queue = np.array(end) - self._way * (belt.spacing * np.arange(belt.room))[:, None]  # with no gap
        self.gap = 0.0
        self.brought = 1

    @property
    def waiting(self) -> bool:
        """Whether an object is at the end."""
        return self.gap == 0.0

    def move(self, dt: float) -> None:
        """dt seconds pass; the belt stops when an object comes to the end."""
        if self.gap > 0.0:
            self.gap = max(0.0, self.gap - self.belt.speed * dt)
            self.brought += self.gap == 0.0

    def take(self) -> None:
        """The object at the end is lifted off, and the belt runs again."""
        self.gap += self.belt.spacing

    def write(self, out: Array) -> int:
        """Writes the places of its objects into the first rows of `out`, front first; returns how many."""
        count = min(math.floor((self.belt.length - self.gap) / self.belt.spacing) + 1, self.belt.room)
        np.subtract(self._queue[:count], self._way * self.gap, out=out[:count])
        return count


class OutFeed:
    """Carries away what is put on it."""

    def __init__(self, belt: Conveyor) -> None:
        self.belt = belt
        self._way = belt.way
        self._put = np.zeros((belt.room + 1, 3))  # where each was put, the oldest first
        self._carried = np.zeros(belt.room + 1)  # how far each came, m
        self._count = 0
        self.delivered = 0

    @property
    def free(self) -> bool:
        """Whether the last object is a spacing away, so that there is room for another."""
        return self._count == 0 or bool(self._carried[self._count - 1] >= self.belt.spacing)

    def move(self, dt: float) -> None:
        """dt seconds pass; objects that come to the end of the belt are delivered."""
        if self._count == 0:
            return
        self._carried[: self._count] += self.belt.speed * dt
        while self._count and self._carried[0] >= self.belt.length:
            self._put[:-1] = self._put[1:]
            self._carried[:-1] = self._carried[1:]
            self._count -= 1
            self.delivered += 1

    def put(self, at: Array) -> None:
        """An object is let go at a point (3,); ask first whether the belt is free."""
        self._put[self._count] = at
        self._carried[self._count] = 0.0
        self._count += 1

    def write(self, out: Array) -> int:
        """Writes the places of its objects into the first rows of `out`, oldest first; returns how many."""
        count = self._count
        np.multiply(self._carried[:count, None], self._way, out=out[:count])
        out[:count] += self._put[:count]
        return count


@dataclass(frozen=True)
class PickAndPlace(Settings):
    """The cell as data.  Points are relative to an origin that the scene decides; `begin` makes it run."""

    home: Point = setting((0.0, 0.0, 0.0), "[-1000, 1000] m", "where the tool begins and ends a task cycle")
    pick: Point = setting((0.0, 0.3, -0.25), "[-1000, 1000] m", "where the in-feed brings an object")
    place: Point = setting((0.0, -0.3, -0.25), "[-1000, 1000] m", "where it is put on the out-feed")
    approach: float = setting(0.15, "(0, 10] m", "how far above pick and place the tool goes across")
    speed: float = setting(0.25, "(0, 20] m/s", "of the pole along its way")
    leash: float = setting(0.1, "(0, 10] m", "the pole waits for a tool that is this far away or farther")
    tolerance: float = setting(
        0.01, "(0, 10] m", "how near the tool must be to have arrived, to grip and to let go", below="leash"
    )
    dwell: float = setting(0.5, "[0, 3600] s", "time at rest within the tolerance that gripping takes, and letting go")
    safety: float = setting(0.4, "[0, 100] m", "a person nearer than this: avoid")
    hysteresis: float = setting(0.05, "[0, 100] m", "avoidance ends when the person is beyond safety + hysteresis")
    infeed: Conveyor = setting(Conveyor(), "", "brings objects to pick")
    outfeed: Conveyor = setting(Conveyor(), "", "carries them away from place")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.dist(self.pick, self.place) > self.leash:
            raise refusal(self, "place", f"a point farther than leash = {self.leash!r} m from pick = {self.pick}")

    def placed(self, origin: ArrayLike) -> PickAndPlace:
        """The same cell with its points shifted by `origin` (3,), m."""
        home, pick, place = (shifted(p, origin) for p in (self.home, self.pick, self.place))
        return replace(self, home=home, pick=pick, place=place)

    def begin(self, tool: ArrayLike) -> Handling:
        """The cell at work, its tool at rest at a point (3,)."""
        return Handling(self, tool)

    def up(self, point: Point) -> Point:
        """The point, or the one above it that is high enough to go across."""
        return point[0], point[1], max(point[2], max(self.pick[2], self.place[2]) + self.approach)

    def way(self, start: Point, end: Point) -> list[Point]:
        """Way points: up, across, down."""
        return [start, self.up(start), self.up(end), end]

    @property
    def cycle_time(self) -> float:
        """One task cycle of a tool that follows at once, nobody being near, s; a slow conveyor may be what decides."""
        stops = (self.home, self.pick, self.place, self.home)
        ways = (self.way(a, b) for a, b in pairwise(stops))
        robot = sum(math.dist(a, b) for way in ways for a, b in pairwise(way)) / self.speed
        feed = self.infeed.interval + math.dist(self.up(self.pick), self.pick) / self.speed
        clear = self.outfeed.interval + math.dist(self.up(self.place), self.place) / self.speed
        return max(robot + 2 * self.dwell, feed + self.dwell, clear + self.dwell)


class Handling:
    """A pick-and-place cell at work: a Task with seven states.  `begin` of its settings makes one.

    state, before            the present state, and the one that avoidance interrupted (last)
    cycles                   objects placed with the tool back home
    goal                     for the controller; its rotation is left alone
    brought, placed, delivered    objects that came to pick, were let go at place, and left by the out-feed
    """

    def __init__(self, settings: PickAndPlace, tool: ArrayLike) -> None:
        self.settings = settings
        self.goal = Goal(checked_point("tool", tool))
        self.object: Array = np.full(3, math.nan)
        self._pick = np.array(settings.pick)
        self._rows = np.zeros((settings.infeed.room + settings.outfeed.room + 2, 3))
        self.start(tool)

    def start(self, tool: ArrayLike) -> None:
        """Begins anew, with full in-feed and empty out-feed; the tool rests at that point (3,)."""
        self.goal.position, self.goal.velocity = checked_point("tool", tool), 0.0
        self.state = self.before = TO_HOME
        self.cycles = self.placed = 0
        self._infeed = InFeed(self.settings.infeed, self.settings.pick)
        self._outfeed = OutFeed(self.settings.outfeed)
        self._carries = False
        self._offset = np.zeros(3)  # from the tool to the object, since it was gripped
        self._held = 0.0  # s at rest within the tolerance, in pick and place
        self._set_out(self.settings.home)
        self._show()

    def __repr__(self) -> str:
        return f"<Handling: {self.state}, cycles={self.cycles}>"

    @property
    def objects(self) -> Array:
        """Where the objects are (k, 3), m: in-feed first, then out-feed, then the carried one.  A view: copy it."""
        return self._rows[: self._count]

    @property
    def brought(self) -> int:
        """Objects that the in-feed brought to the robot so far."""
        return self._infeed.brought

    @property
    def delivered(self) -> int:
        """Objects that left by the out-feed so far."""
        return self._outfeed.delivered

    def step(self, t: float, dt: float, tool: Array, distance: float) -> Goal:
        """dt seconds have passed: the tool is at a point (3,), the nearest person at a distance (m, inf for nobody).

        A distance that is NaN is near.  A tool that is not finite, or over a kilometre away, is nowhere: nothing
        is reached and the pole waits.
        """
        dt = dt if 0.0 < dt < math.inf else 0.0
        known = all(-FAR <= x <= FAR for x in tool.tolist())
        tool = tool if known else _NOWHERE
        self._infeed.move(dt)
        self._outfeed.move(dt)
        if self._carries and known:
            np.add(tool, self._offset, out=self.object)
        event = self._event(dt, tool, distance)
        if event:
            self._turn(event, tool)
        off = away(tool, self.goal.position)
        if off > self.settings.leash:
            self._down = False
        elif self._clock >= self._above and off <= 0.5 * self.settings.leash:
            self._down = True
        if self.state in _ARRIVAL and dt > 0.0:
            self._follow(dt, tool)
        self.goal.t = t
        self._show()
        return self.goal

    # ---- for an arm that goes around
    @property
    def aim(self) -> Array | None:
        """The point above where the tool is going (3,); None at work and on the last way down, unless pushed off it."""
        going = (self.before if self.state == AVOID else self.state) in _ARRIVAL
        return self._aim if going and not self._down else None

    @property
    def work(self) -> Array | None:
        """Where it goes down to (3,)."""
        return self._work

    def rejoin(self, tool: Array) -> None:
        """Sets out anew from the tool (3,); what was gripped stays gripped."""
        going = self.before if self.state == AVOID else self.state
        if going not in _ARRIVAL:
            return
        self.state = going
        self.goal.position, self.goal.velocity = tool, 0.0
        self._set_out(self._end)

    def _event(self, dt: float, tool: Array, distance: float) -> str | None:
        """What happened, if anything did."""
        mine = self.settings
        if self.state == AVOID:
            return PERSON_FAR if distance > mine.safety + mine.hysteresis else None
        if not distance >= mine.safety:  # so that NaN is near
            return PERSON_NEAR
        off = away(tool, self._end)
        there = off <= mine.tolerance
        if self.state in _ARRIVAL:
            return _ARRIVAL[self.state] if there and self._clock >= self._last else None
        self._held = self._held + dt if there else 0.0
        if there and self._held >= mine.dwell:
            return GRIPPED if self.state == PICK else RELEASED
        return PUSHED_OFF if off > mine.leash else None

    def _turn(self, event: str, tool: Array) -> None:
        """The step from one state to the next, and what it does to the objects."""
        left, self.state = self.state, following(self.state, event, self.before)
        self._held = 0.0
        self.goal.velocity = 0.0
        if event == PERSON_NEAR:
            self.before = left
        elif event == GRIPPED:
            self._infeed.take()
            self._carries = True
            np.subtract(self._pick, tool, out=self._offset)
            self._set_out(self.settings.place)
        elif event == RELEASED:
            self._outfeed.put(self.object)
            self._carries = False
            self.placed += 1
            self._set_out(self.settings.home)
        elif event == HOME_REACHED:
            self.cycles += left == BACK_HOME
            self._set_out(self.settings.pick)
        elif event == PUSHED_OFF:  # from above again, and not along the belt
            self.goal.position = self.settings.up(self._end)
            self._set_out(self._end)

    def _set_out(self, end: Point) -> None:
        """The way from where the goal is to `end`."""
        x, y, z = self.goal.position.tolist()
        points = np.array(self.settings.way((x, y, z), end))
        self._end, self._clock, self._last = end, 0.0, 0.0
        self._down = False  # the tool is on the last way down, by the pole
        self._aim, self._work = np.array(self.settings.up(end)), np.array(end)
        self._pole: Pole | None = None  # where there is no way to go
        if np.linalg.norm(np.diff(points, axis=0), axis=1).any():
            self._pole = Pole(Path(points), self.settings.speed, self.settings.leash)
            self._last = self._pole.duration
        self._above = self._last - away(points[2], end) / self.settings.speed  # the pole's clock there

    def _follow(self, dt: float, tool: Array) -> None:
        """Moves the goal along the way: not past the point above the end while there is nothing to go down for."""
        if self._pole is None:
            return
        open_ = {TO_OBJECT: self._infeed.waiting, TO_GOAL: self._outfeed.free}.get(self.state, True)
        before, last = self._clock, self._last if open_ else self._above
        self._clock = max(before, min(self._pole.advance(before, dt, tool), last))
        if self._clock >= self._last:
            self.goal.position, self.goal.velocity = self._end, 0.0
            return
        self.goal.position, velocity = self._pole.at(self._clock)
        self.goal.velocity = velocity if before < self._clock < last else 0.0

    def _show(self) -> None:
        """Writes where the objects are."""
        count = self._infeed.write(self._rows)
        count += self._outfeed.write(self._rows[count:])
        if self._carries:
            self._rows[count] = self.object
            count += 1
        else:
            self.object[:] = self._pick if self._infeed.waiting else math.nan
        self._count = count
