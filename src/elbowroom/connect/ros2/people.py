"""People from ROS 2 topics, as coworkers of a cell.

    people = Ros2People(node, places=2, frame="world")
    plant.pumps.append(people.pump)
    people.places[0].look(t, rows)          capsules, and when they were measured

Skeletons come as REP-155 (ROS4HRI) has them, ids on /humans/bodies/tracked and frames on /tf, or poses of standing
people as a geometry_msgs/PoseArray on /people.  All are brought into `frame`, over the frames of /tf and /tf_static.
People come from one publisher of one topic, the first that sends: messages of another are a fault until `forget`, or
one that sees nobody would hide whom the other sees.

"No data" never means "nobody": a place is empty as of the last message that said so, and that ages as any measurement
does.  A message counts only once everybody in it has a place: more people than places, or somebody of whom nothing is
known, are a `problem` until a message comes that is good.

Ages are on our clock: of a message by its stamp (stamps.py), of a frame of /tf by its own, each publisher's clock
apart; what a figure is made of is as old as the oldest part.  The sensor's `latency` is added to all.  A moving frame
that is older than `max_age` is as good as missing.
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
from ...cell.recording.ros_messages import Value, stamp
from ...errors import ConfigError
from ...geometry import PARKED, Person
from ...geometry.person import NAMES
from .node import SENSOR, STATIC, TRANSFORMS, Message, Node
from .stamps import MOST_WAITED, StampClock

Array = NDArray[np.float64]
HEARD = 0.5  # s: what has come since then counts as coming, before the arm moves
OLDEST = 0.5  # s, of a moving frame
SAME = 1e-3  # m, and of a rotation's entries: two frames at one place
MOST = 8  # places
SENDERS = 64  # publishers of /tf
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

    def look(self, t: float, out: Array) -> float:
        """The capsules as last measured, parked while messages say that nobody has this place; and when that was."""
        people = self._people
        out[:] = PARKED if self.empty else self.rows
        return t - max(0.0, people.clock() - (people.listed if self.empty else self.taken)) - people.latency

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
        root: str = "",
        floor: float | None = None,
        height: float = HEIGHT,
        latency: float = 0.0,
        max_age: float = OLDEST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= places <= MOST:
            raise ConfigError(f"people: expected from 1 to {MOST} places for people; got {places}")
        self.node, self.frame, self.height, self.clock = node, frame, height, clock
        self.root = root  # the arm's root link, which must be where `frame` is; "" where its name is not known
        self.floor = floor  # m, where everybody stands; None: as high as poses say, and legs of bodies go down to 0
        self.misplaced = ""  # what /tf says of the root's place, where that is another than `frame`
        self.latency, self.max_age = latency, max_age
        self.topics = people, bodies
        self.places = tuple(Seat(self) for _ in range(places))
        self.listed = -math.inf  # s, when a message last said who is there, and everybody had a place
        self.source: tuple[str, int] | None = None  # topic and publisher of people
        self.tree = FrameTree()
        self.problem = ""  # why what is seen cannot be used, until it can
        self.dropped = {"frame": 0, "numbers": 0, "stamp": 0, "source": 0}
        self._second = ""  # a second source of people, until `forget`
        self._stamps = {topic: StampClock() for topic in self.topics}
        self._senders: dict[int, StampClock] = {}  # of /tf
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
        return self.clock() - self.listed <= HEARD

    @property
    def fault(self) -> str:
        """Why the arm must not move, in words; "" if nothing speaks against it."""
        clocks = [f"{topic}: {each.fault}" for topic, each in self._stamps.items() if each.fault]
        return self.misplaced or self._second or self.problem or (clocks[0] if clocks else "")

    def forget(self) -> None:
        """After a reset: faults are looked for anew.  A `problem` lasts until a message is good."""
        if self._second or any(each.jumped for each in self._stamps.values()):
            self._senders.clear()
        for each in self._stamps.values():
            each.begin() if self._second else each.forget()
        self.source, self._second = None, ""

    def pump(self, now: float) -> None:
        """Takes what has come.  Never waits, never raises because of what came."""
        self._waited, self._pumped = now - self._pumped, now
        for message in self._static.take():
            self.tree.add(message.value, fixed=True)
        moved = self._tf.take()
        for message in moved:
            self._frames(message, now)
        if self.root and self.root != self.frame:
            self._check_root()
        for message in self._people.take():
            if self._comes_from(self.topics[0], message.publisher):
                self._poses(message.value, now)
        for message in self._ids.take():
            if self._comes_from(self.topics[1], message.publisher):
                self._tracked(message.value, now)

    def _check_root(self) -> None:
        """Whether the arm's model, whose origin is its root link, begins where `frame` is, as far as /tf says it."""
        placed = self.tree.pose(self.root, self.frame)
        if placed is None or np.allclose(placed.T, np.eye(4), atol=SAME):
            self.misplaced = ""
            return
        at = ", ".join(f"{x:.3f}" for x in placed.T[:3, 3])
        turn = math.degrees(math.acos(min(1.0, max(-1.0, 0.5 * (float(np.trace(placed.T[:3, :3])) - 1.0)))))
        self.misplaced = (
            f"frame: expected the arm's root link {self.root!r}, or a frame at the same place; in {self.frame!r} "
            f"/tf has {self.root!r} at ({at}) m, turned by {turn:.1f} deg"
        )

    def _frames(self, message: Message, now: float) -> None:
        """Moving frames, stamped with our clock."""
        if message.publisher not in self._senders and len(self._senders) >= SENDERS:
            self.dropped["frame"] += 1
            return
        sender, waited = self._senders.setdefault(message.publisher, StampClock()), min(self._waited, MOST_WAITED)
        (all_of,) = message.value
        ours = [stamp(round(1e9 * sender.when(nanoseconds(sent), now, waited))) for (sent, _), _, _ in all_of]
        placed = ((at, parent) for at, ((_, parent), _, _) in zip(ours, all_of, strict=True))
        self.tree.add((tuple((head, *each[1:]) for head, each in zip(placed, all_of, strict=True)),))

    def _comes_from(self, topic: str, publisher: int) -> bool:
        """Whether a message is of the one source of people; another is a fault."""
        self.source = self.source or (topic, publisher)
        if self.source == (topic, publisher):
            return True
        self.dropped["source"] += 1
        if topic == self.source[0]:
            self._second = self._second or f"{topic}: a second publisher of people"
        else:
            self._second = self._second or f"{topic}: people come from {self.source[0]} already; expected one of both"
        return False

    def _aged(self, ns: int, taken: float, now: float) -> float | None:
        """When that was (s) which frames as old as ns and a message of `taken` show; None for frames too old."""
        if ns == ALWAYS:
            return taken
        return None if now - 1e-9 * ns > self.max_age else min(taken, 1e-9 * ns)

    # ---- poses
    def _poses(self, value: Value, now: float) -> None:
        (sent, frame), poses = value
        taken = self._stamps[self.topics[0]].taken(nanoseconds(sent), now, self._waited)
        if taken is None:
            self.dropped["stamp"] += 1
            return
        frame = frame.lstrip("/")
        if not frame:
            self.dropped["frame"] += 1
            self.problem = f"{self.topics[0]}: expected the name of a frame (header.frame_id); got none"
            return
        placed = self.tree.pose(frame, self.frame)
        measured = None if placed is None else self._aged(placed.ns, taken, now)
        if placed is None or measured is None:
            self.dropped["frame"] += 1
            old = "" if placed is None else f" of the last {self.max_age:g} s"
            self.problem = f"{self.topics[0]}: no transform{old} from {frame!r} to {self.frame!r}"
            return
        found: list[Figure] = []
        for each in poses:
            T = transform(*each)
            if T is None:
                self.dropped["numbers"] += 1
                return
            T = placed.T @ T
            feet = np.array([T[0, 3], T[1, 3], T[2, 3] if self.floor is None else self.floor])
            figure = Person.from_skeleton(standing(feet, heading(T), self.height), floor=float(feet[2]))
            found.append((figure.rows, feet))
        self._seat(found, measured)

    def _seat(self, found: list[Figure], taken: float) -> None:
        """Everybody to the place of who was nearest, new ones to empty places."""
        if len(found) > len(self.places):
            self.problem = f"{self.topics[0]}: {len(found)} people, and room for {len(self.places)}"
            return
        self.listed, self.problem = taken, ""
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
        taken = self._stamps[self.topics[1]].taken(nanoseconds(sent), now, self._waited)
        if taken is None:
            self.dropped["stamp"] += 1
            return
        ids = tuple(dict.fromkeys(ids))
        if len(ids) > len(self.places):
            self.problem = f"{self.topics[1]}: {len(ids)} bodies, and room for {len(self.places)}"
            return
        for seat in self.places:
            if not seat.empty and seat.id not in ids:
                seat.leave()
        problems = [self._body(who, taken, now) for who in ids]
        self.problem = next((each for each in problems if each), "")
        if not self.problem:
            self.listed = taken

    def _body(self, who: str, taken: float, now: float) -> str:
        """A body that is listed, to a place; what is wrong with it, "" if nothing is."""
        found = skeleton(self.tree, who, self.frame)
        measured = None if found is None else self._aged(found.ns, taken, now)
        if found is None or measured is None:
            self.dropped["frame"] += 1
            old = "" if found is None else f" of the last {self.max_age:g} s"
            return f"{self.topics[1]}: no frames{old} of body {who!r} in {self.frame!r}"
        seat = next((each for each in self.places if each.id == who), None)
        seat = seat or next(each for each in self.places if each.empty)  # as many places as bodies, or more
        if seat.empty or measured >= seat.taken:
            floor, hip = self.floor or 0.0, found.points["hip"]
            figure = Person.from_skeleton(found.points, floor=floor)
            seat.sit(figure.rows, np.array([hip[0], hip[1], floor]), measured, who)
        return ""
