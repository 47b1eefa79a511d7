"""People from ROS 2 topics, as coworkers of a cell.

    people = Ros2People(node, places=2, frame="world")
    plant.pumps.append(people.pump)
    people.places[0].look(t, rows)          capsules, and when they were measured

Skeletons come as REP-155 (ROS4HRI) has them, ids on /humans/bodies/tracked and frames on /tf, or poses of standing
people as a geometry_msgs/PoseArray on /people; whichever of both comes is taken.  All are brought into `frame`, over
the frames of /tf and /tf_static.

"No data" never means "nobody": a place is empty only while messages come that say so.  Nothing that has come is a
reason to believe that nobody is there, and a message that is too old counts as none.  More people than places stop the
arm (`problem`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...cell.mocap.bags import BODIES, HEIGHT, PEOPLE, TF, TF_STATIC, TYPES
from ...cell.mocap.ros_people import ALWAYS, FrameTree, heading, nanoseconds, skeleton, standing, transform
from ...cell.people.settings import Seen
from ...cell.recording.ros_messages import Value
from ...errors import ConfigError
from ...geometry import PARKED, Person
from ...geometry.person import NAMES
from .node import SENSOR, STATIC, TRANSFORMS, Node
from .stamps import StampClock

Array = NDArray[np.float64]
FRESH = 0.5  # s: a message that lists people says for so long who is not there
MOST = 8  # places
FASTEST = 3.0  # m/s: what is farther is somebody else
Figure = tuple[Array, Array]  # rows (13, 13), and where the person stands (3,)


class Seat:
    """One place for a person: what is known of who has it.  A Coworker."""

    names = NAMES
    duration = math.inf

    def __init__(self, people: Ros2People) -> None:
        self._people = people
        self.rows = np.tile(PARKED, (len(NAMES), 1))
        self.at = np.full(3, math.nan)
        self.taken = -math.inf  # s on our clock, of the measurement
        self.id = ""  # of the body; "" for a pose
        self.empty = True

    def look(self, t: float, out: Array) -> float | None:
        """The capsules as last measured, and when that was; None while messages say that nobody has this place."""
        now = self._people.clock()
        if self.empty:
            out[:] = PARKED
            return None if now - self._people.listed <= FRESH else -math.inf
        out[:] = self.rows
        return t - max(0.0, now - self.taken)

    def point(self, t: float) -> tuple[Array, Array]:
        """Where they stand; NaN where nobody does."""
        return self.at.copy(), np.zeros(3)

    def sit(self, rows: Array, at: Array, taken: float, who: str) -> None:
        """Somebody has this place."""
        self.rows[:], self.at[:], self.taken, self.id, self.empty = rows, at, taken, who, False

    def leave(self) -> None:
        """Nobody has it any more."""
        self.empty, self.id = True, ""
        self.at[:] = math.nan


class SeatSettings(NamedTuple):
    """The settings of a place, for a scene: it makes the coworker that has it."""

    seat: Seat

    def make(self, origin: Array, floor: float) -> Seen:
        """The coworker; ROS 2 says where they are."""
        return Seen(self.seat, self.seat)


class Ros2People:
    """The people that ROS 2 topics show.  See the module's docstring."""

    def __init__(
        self,
        node: Node,
        places: int = 1,
        *,
        frame: str = "world",
        people: str = PEOPLE,
        bodies: str = BODIES,
        floor: float = 0.0,
        height: float = HEIGHT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= places <= MOST:
            raise ConfigError(f"people: expected from 1 to {MOST} places for people; got {places}")
        self.node, self.frame, self.floor, self.height, self.clock = node, frame, floor, height, clock
        self.topics = people, bodies
        self.places = tuple(Seat(self) for _ in range(places))
        self.listed = -math.inf  # s, when a message last said who is there
        self.tree = FrameTree()
        self.problem = ""  # why what is seen cannot be used, until it can
        self.dropped = {"frame": 0, "numbers": 0, "stamp": 0}
        self._stamps = {PEOPLE: StampClock(), BODIES: StampClock()}
        self._waited, self._pumped = math.inf, -math.inf  # s: between the last two looks, and the last
        self._people = node.subscribe(people, TYPES[PEOPLE], SENSOR)
        self._ids = node.subscribe(bodies, TYPES[BODIES], SENSOR)
        self._tf = node.subscribe(TF, TYPES[TF], TRANSFORMS)
        self._static = node.subscribe(TF_STATIC, TYPES[TF_STATIC], STATIC)

    @property
    def settings(self) -> dict[str, SeatSettings]:
        """For the people of a scene."""
        return {f"person{k + 1}": SeatSettings(seat) for k, seat in enumerate(self.places)}

    @property
    def heard(self) -> bool:
        """Whether a message has said who is there, and not too long ago."""
        return self.clock() - self.listed <= FRESH

    @property
    def fault(self) -> str:
        """Why the arm must not move, in words; "" if nothing speaks against it."""
        clocks = [f"{topic}: {each.fault}" for topic, each in self._stamps.items() if each.fault]
        return self.problem or (clocks[0] if clocks else "")

    def forget(self) -> None:
        """After a reset: faults are looked for anew."""
        self.problem = ""
        for each in self._stamps.values():
            each.forget()

    def pump(self, now: float) -> None:
        """Takes what has come.  Never waits, never raises because of what came."""
        self._waited, self._pumped = now - self._pumped, now
        for message in self._static.take():
            self.tree.add(message.value, fixed=True)
        for message in self._tf.take():
            self.tree.add(message.value)
        for message in self._people.take():
            self._poses(message.value, now)
        for message in self._ids.take():
            self._tracked(message.value, now)

    # ---- poses
    def _poses(self, value: Value, now: float) -> None:
        (sent, frame), poses = value
        placed = self.tree.pose(frame.lstrip("/") or self.frame, self.frame)
        if placed is None:
            self.dropped["frame"] += 1
            self.problem = f"{self.topics[0]}: no transform from {frame!r} to {self.frame!r}"
            return
        found: list[Figure] = []
        for each in poses:
            T = transform(*each)
            if T is None:
                self.dropped["numbers"] += 1
                return
            T = placed.T @ T
            feet = np.array([T[0, 3], T[1, 3], self.floor])
            figure = Person.from_skeleton(standing(feet, heading(T), self.height), floor=self.floor)
            found.append((figure.rows, feet))
        taken = self._stamps[PEOPLE].taken(nanoseconds(sent), now, self._waited)
        if taken is None:
            self.dropped["stamp"] += 1
            return
        self._seat(found, taken)

    def _seat(self, found: list[Figure], taken: float) -> None:
        """Everybody to the place of who was nearest, new ones to empty places."""
        self.listed = taken
        if len(found) > len(self.places):
            self.problem = f"{self.topics[0]}: {len(found)} people, and room for {len(self.places)}"
            return
        self.problem = ""
        left = list(found)
        free = [seat for seat in self.places if seat.empty]
        for seat in [each for each in self.places if not each.empty]:
            reach = 0.5 + FASTEST * max(0.0, taken - seat.taken)
            near = min(left, key=lambda one: float(np.linalg.norm(one[1] - seat.at)), default=None)
            if near is None or np.linalg.norm(near[1] - seat.at) > reach:
                seat.leave()
                free.append(seat)
            else:
                seat.sit(*near, taken, "")
                left = [each for each in left if each is not near]
        for (rows, at), seat in zip(left, free, strict=False):
            seat.sit(rows, at, taken, "")

    # ---- skeletons
    def _tracked(self, value: Value, now: float) -> None:
        (sent, _), ids = value
        taken = self._stamps[BODIES].taken(nanoseconds(sent), now, self._waited)
        if taken is None:
            self.dropped["stamp"] += 1
            return
        self.listed = taken
        ids = tuple(dict.fromkeys(ids))
        if len(ids) > len(self.places):
            self.problem = f"{self.topics[1]}: {len(ids)} bodies, and room for {len(self.places)}"
            return
        self.problem = ""
        for seat in self.places:
            if not seat.empty and seat.id not in ids:
                seat.leave()
        for who in ids:
            mine = [each for each in self.places if each.id == who] or [each for each in self.places if each.empty]
            if mine:
                self._body(mine[0], who, nanoseconds(sent), taken)

    def _body(self, seat: Seat, who: str, listed: int, taken: float) -> None:
        """A body that is listed, to a place; one whose frames are missing is somebody of whom nothing is known."""
        found = skeleton(self.tree, who, self.frame)
        if found is None:
            self.dropped["frame"] += 1
            self.problem = f"{self.topics[1]}: no frames of body {who!r} in {self.frame!r}"
            return
        age = 0.0 if found.ns == ALWAYS else 1e-9 * (listed - found.ns)
        if age < -FRESH:
            self.dropped["stamp"] += 1
            return
        measured = taken - max(0.0, age)
        if not seat.empty and measured < seat.taken:
            return
        figure = Person.from_skeleton(found.points, floor=self.floor)
        hip = found.points["hip"]
        seat.sit(figure.rows, np.array([hip[0], hip[1], self.floor]), measured, who)
