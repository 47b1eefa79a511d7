"""Perception: what is believed about people from sensor frames, which may be late, dropped or wrong.

Of a person's capsule:

    it grows by its age       radius + v age,  v = human_speed, or its measured speed if that is greater; age is the
                              person's, and sinks slowly after a silence, or the arm would feel every frame come
    it jumped: it is covered  radius + moved + what the old one was thicker by, for `jump_confirm`: both are inside
    it is no longer reported  it stays where it was last seen, and grows, until `clear_confirm` of reports without it

That is the body that a promise is made for.  Another one, `predicted`, is where the capsule is likely to be now: a
Kalman filter of constant velocity for each end (`CapsuleTrack`), carried on to t; its radius is the one last seen.

A point between the ends of an axis moves no farther than the ends do, so a capsule thickened by that distance holds
the old one.  Ends that were swapped are the same capsule; the pairing that moved less counts.

Of a person: sensor.py says which frames are accepted; where one is not, the last good one stays and ages.  Data is
stale when it is older than `max_age`.  A person is known once somebody was seen, or nobody for `clear_confirm`.

What is remembered is a row of 32 numbers a capsule, its 13 as last seen, SEEN, COVER, UNTIL, LOST and its track, and a
row of 6 a person: RAW and GOOD, the stamps of the last frame and of the last good one, ALONE, since when nobody was
there, KNOWN, COUNT, of the capsules that are there, and HELD, the age that bodies are grown by.

`Watch` keeps it, cycle by cycle.  The supervisor does not hand a controller the caller's obstacles but its own copy,
`predicted`.

"No data" never means "no human".  Data older than `max_age` stops the arm; before the first of a person it is held, and
waits.  A report of nobody is data: it must keep coming too.  Somebody last seen is kept, wherever they were, until
reports of nobody have been consistent for `clear_confirm`; as long as these come, that time is no stop.  Before anybody
was ever seen the same time is waited, and the arm is held meanwhile.

Things (`Obstacles.put`) have no stamps and no people in them: they are passed on as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Condition, Scalar, Table, maximum, minimum, sqrt, trace, where
from ...algebra.functions import largest, summed
from ...algebra.linalg import Array, dot, vector
from ...algebra.table import padded
from ...compile import compiled
from ...compile.kernel import Kernel
from ...compile.pipeline import Call, Copy, Sound, Step
from ...errors import ShapeError
from ...geometry import PARKED, ROW
from ...geometry.shapes import RADIUS, A, B
from ..control.command import GOAL
from ..control.obstacles import Obstacles
from ..copies import Rebuilt
from .limits import Limits
from .sensor import NEVER, OF_SENSOR, RULES, FrameCheck, PerceptionRules, PersonFrame, check_frame, impossible, tracked

SEEN, COVER, UNTIL, LOST = range(ROW, ROW + 4)
TRACK = slice(ROW + 4, ROW + 19)
MEMORY = ROW + 19
RAW, GOOD, ALONE, KNOWN, COUNT, HELD = range(6)
PERSON = 6
FAR = 5e5  # m: whoever is beyond is a parked row
MOST_COVER = 1e6  # m: jumps that go on and on still give a number


class Clock(NamedTuple):
    """The time of a cycle, and what the limiter needs besides."""

    t: Scalar  # s
    dt: Scalar  # s
    stop: Scalar  # 0 or 1, as overlap
    overlap: Scalar


class Told(NamedTuple):
    """What a look found; all but the last count people."""

    stale: Scalar
    waiting: Scalar
    refused: Scalar
    jumped: Scalar
    missing: Scalar
    changed: Scalar
    age: Scalar  # s, the greatest of people's data


CLOCK, TOLD = Clock._fields, Told._fields


def _moved(row: Array, last: Array) -> tuple[Scalar, Condition]:
    """The greater distance of the two ends, paired the way that moved less; whether that way swaps them."""

    def apart(x: slice, y: slice) -> Scalar:
        step = row[x] - last[y]
        return dot(step, step)

    straight, crossed = maximum(apart(A, A), apart(B, B)), maximum(apart(A, B), apart(B, A))
    return sqrt(minimum(straight, crossed)), crossed < straight


class Kept(NamedTuple):
    """One capsule after a look."""

    believed: Array  # (13,) as last seen, grown
    predicted: Array  # (13,) as it is likely to be now
    pace: Scalar  # m/s, how fast it may move
    grown: Scalar  # m, by which the believed body is thicker than the one seen
    memory: Array  # (32,)
    jumped: Condition
    missing: Condition
    there: Condition


def kept(row: Array, memory: Array, frame: PersonFrame, t: Scalar, rules: PerceptionRules) -> Kept:
    """What becomes of one capsule."""
    fresh, restart, stamp, age = frame
    last, (seen, cover, until, lost) = memory[:ROW], memory[ROW : TRACK.start]
    here, was = row[0] < FAR, last[0] < FAR
    came, missing = fresh & here, fresh & was & ~here
    moved, swapped = _moved(row, last)
    carried = where(was & (stamp < until), cover, 0.0)
    jumped = came & was & (rules.max_human_speed * (stamp - seen) + rules.jump_allowance < moved)
    covering = moved + maximum(last[RADIUS] + carried - row[RADIUS], 0.0)
    followed = where(carried > 0.0, carried + moved, 0.0)  # the old place must stay inside
    cover = where(came, minimum(where(jumped, covering, followed), MOST_COVER), cover)
    until = where(jumped, stamp + rules.jump_confirm, until)
    lost = where(came | (missing & (restart | (lost <= seen))), stamp, lost)  # the first frame without it
    cleared = missing & (rules.clear_confirm <= stamp - lost)
    track = tracked(row, memory[TRACK], came, ~was | restart | jumped, swapped, stamp - seen, rules)
    seen = where(came, stamp, seen)
    choices = zip(row, last, PARKED.tolist(), strict=True)
    now = vector(*(where(came, new, where(cleared, nowhere, old)) for new, old, nowhere in choices))
    there = now[0] < FAR
    speed = sqrt(maximum(*(dot(x, x) for x in (track.speed[:3], track.speed[3:]))))
    pace = minimum(maximum(speed, rules.human_speed), rules.max_human_speed)
    covered = where(t < until, cover, 0.0)
    grown = pace * maximum(age, t - seen) + covered
    believed, predicted = now.copy(), now.copy()
    believed[RADIUS] = now[RADIUS] + where(there, grown, 0.0)
    ends = track.at(minimum(maximum(t - seen, 0.0), rules.max_age))
    predicted[:RADIUS] = [where(there, x, nowhere) for x, nowhere in zip(ends, PARKED[:RADIUS].tolist(), strict=True)]
    predicted[RADIUS] = now[RADIUS] + where(there, covered, 0.0)
    for body in (believed, predicted):
        body[RADIUS + 1 :] = [where(there, x, 0.0) for x in track.speed]
    remembered = np.array([*now, seen, cover, until, lost, *track.ends, *track.speed, track.xx, track.xv, track.vv])
    return Kept(believed, predicted, pace, grown, remembered, jumped, there & (seen < lost), there)


def concluded(
    looked: FrameCheck,
    jumped: Condition,
    missing: Condition,
    there: Scalar,
    memory: Array,
    t: Scalar,
    rules: PerceptionRules,
) -> tuple[Array, list[Scalar]]:
    """What is remembered of a person (6,), and TOLD.

    Of their capsules: whether any jumped, whether any is missing, and how many are there.
    """
    (fresh, restart, stamp, held), refused, last = looked
    _, _, alone, known, count, _ = memory
    alone = where(fresh & restart, stamp, alone)
    met = fresh & ((there > 0.0) | (rules.clear_confirm <= stamp - alone))
    known = where(met, 1.0, known)
    ever = last > NEVER  # before the first frame the arm waits
    stale = ever & ((t < last - rules.clock_tolerance) | (last + rules.max_age < t))
    conditions = (stale, known < 0.5, refused, jumped, fresh & missing, there != count)
    told = [*(where(c, 1.0, 0.0) for c in conditions), maximum(t - last, 0.0)]
    return vector(stamp, last, alone, known, there, held), told


# ---- kernels: of a capsule, in lanes, and of all people, in turn
FRAME = ("fresh", "restart", "stamp", "age", "refused", "last")  # of a person, as numbers
FOUND = ("jumped", "missing", "there")  # of a capsule, as numbers


def _columns(
    layout: tuple[int, int, int],
    function: Callable[..., dict[str, Array]],
    takes: dict[str, int],
    shared: dict[str, int],
) -> Table:
    """A table with an entry for each capsule of a person: `rows` and `frames` are by rows, other arrays by columns."""
    people, others, size = layout
    indices = {"rows": tuple(range(people * size)), "frames": tuple(p for p in range(people) for _ in range(size))}
    counts = {"rows": people * size + others, "frames": people}
    program = trace(function, None, {k: (n,) for k, n in (takes | shared).items()}, name=function.__name__.strip("_"))
    rows = [name for name in takes if name in counts]
    columns = "memory", "new_memory", "found", "impossible"
    return Table(program, tuple(counts[k] for k in rows), tuple(indices[k] for k in rows), columns)


def _suspecting(layout: tuple[int, int, int]) -> Table:
    return _columns(layout, _suspected, {"rows": ROW}, {})


def _suspected(_: None, rows: Array) -> dict[str, Array]:
    return {"impossible": vector(where(impossible(rows), 1.0, 0.0))}


def _keeping(layout: tuple[int, int, int]) -> Table:
    takes = {"rows": ROW, "frames": len(FRAME), "memory": MEMORY}
    return _columns(layout, _kept, takes, {"clock": len(CLOCK), "rules": len(RULES)})


def _kept(_: None, rows: Array, frames: Array, memory: Array, clock: Array, rules: Array) -> dict[str, Array]:
    fresh, restart, stamp, age, _, _ = frames
    found = kept(rows, memory, PersonFrame(fresh > 0.5, restart > 0.5, stamp, age), clock[0], PerceptionRules(*rules))
    return {
        "believed": found.believed,
        "predicted": found.predicted,
        "pace": vector(found.pace, found.grown),
        "new_memory": found.memory,
        "found": vector(*(where(c, 1.0, 0.0) for c in (found.jumped, found.missing, found.there))),
    }


def _framed(layout: tuple[int, int, int], **x: Array) -> dict[str, Array]:
    """FRAME of every person.  goal is an input only because compiled code refuses what is not finite."""
    size, found = layout[2], []
    for p, (memory, stamp) in enumerate(zip(x["people"], x["stamps"], strict=True)):
        wrong = largest(x["impossible"][0][p * size : (p + 1) * size]) > 0.0
        looked = check_frame(wrong, memory, stamp, x["clock"], PerceptionRules(*x["rules"]))
        frame = looked.frame
        fresh, restart, refused = (where(c, 1.0, 0.0) for c in (frame.fresh, frame.restart, looked.refused))
        found.append([fresh, restart, frame.stamp, frame.age, refused, looked.last])
    return {"frames": np.array(found, dtype=object)}


def _concluded(layout: tuple[int, int, int], **x: Array) -> dict[str, Array]:
    """What is remembered of people; `told` is TOLD, added up over them; age the greatest."""
    size, persons = layout[2], []
    told: list[Scalar] = [0.0] * len(TOLD)
    for p, (memory, frame) in enumerate(zip(x["people"], x["frames"], strict=True)):
        jumped, missing, there = x["found"][:, p * size : (p + 1) * size]
        fresh, restart, stamp, age, refused, last = frame
        looked = FrameCheck(PersonFrame(fresh > 0.5, restart > 0.5, stamp, age), refused > 0.5, last)
        any_jumped, any_missing = largest(jumped) > 0.0, largest(missing) > 0.0
        rules = PerceptionRules(*x["rules"])
        remembered, (*counts, oldest) = concluded(
            looked, any_jumped, any_missing, summed(there), memory, x["clock"][0], rules
        )
        persons.append(remembered)
        told = [total + count for total, count in zip(told[:-1], counts, strict=True)] + [maximum(told[-1], oldest)]
    return {
        "new_people": np.array(persons, dtype=object),
        "stamps": np.array([memory[GOOD] for memory in persons], dtype=object),
        "told": vector(*told),
    }


def kernels(layout: tuple[int, int, int]) -> dict[str, Kernel]:
    """The kernels of a look, in order."""
    people, _, size = layout
    lanes = padded(people * size)
    shapes: dict[str, tuple[int, ...]] = {
        "stamps": (people,),
        "people": (people, PERSON),
        "impossible": (1, lanes),
        "frames": (people, len(FRAME)),
        "found": (len(FOUND), lanes),
        "clock": (len(CLOCK),),
        "rules": (len(RULES),),
        "goal": (GOAL,),
    }

    def of_people(function: Callable[..., dict[str, Array]], *names: str) -> Kernel:
        return compiled(function, layout, {k: shapes[k] for k in names}, name=function.__name__.strip("_"))

    return {
        "suspect": compiled(_suspecting, layout),
        "frame": of_people(_framed, "impossible", "stamps", "people", "clock", "rules", "goal"),
        "keep": compiled(_keeping, layout),
        "conclude": of_people(_concluded, "frames", "found", "people", "clock", "rules"),
    }


Note = Callable[[str, float, str], None]  # kind, time, text


class Watch(Rebuilt):
    """What is believed about people, cycle by cycle.

    `look` once a cycle; then `predicted` is what a controller should see, and `told` (7,) is TOLD.
    `clock` (4,) is CLOCK, which others read too.
    """

    def __init__(self, layout: tuple[int, int, int], limits: Limits, clock: Array, note: Note) -> None:
        people, others, size = layout
        self.predicted = Obstacles(people, others, size)
        self.rejected = self.jumps = self.lost = 0  # counts: frames refused, with a jump, with somebody missing
        self._limits, self._clock, self._note = limits, clock, note
        self._things = slice(people * size, None)
        self._things_until = math.inf  # s, until when the last sound places of things will do
        self.told, self.believed = np.zeros(len(TOLD)), np.tile(PARKED, (max(1, people * size), 1))
        self.pace = np.zeros((max(1, people * size), 2))
        """(7,); (S, 13) as last seen, grown; (S, 2) how fast each capsule may be, m/s, and what it has grown by, m."""
        self.pace[:] = limits.human_speed, 0.0
        self._kernels = kernels(layout) if people else {}
        self._outs: dict[str, Any] = {name: kernel.empty() for name, kernel in self._kernels.items()}
        self._memory = np.zeros((MEMORY, padded(people * size)))  # a column a capsule
        self._memory[:ROW] = PARKED[:, None]
        self._last_things = np.tile(PARKED, (others, 1))
        self._people = np.zeros((people, PERSON))
        self._people[:] = NEVER, NEVER, NEVER, 0.0, 0.0, 0.0
        known = {"max_age": limits.oldest} | {name: getattr(limits.sensor, field) for name, field in OF_SENSOR.items()}
        self._rules = np.array([known[name] if name in known else getattr(limits, name) for name in RULES])
        self._oldest = limits.oldest
        self._clean, self._stamps = np.tile(PARKED, (len(self.predicted.rows), 1)), np.zeros(people)
        self._no_goal = np.zeros(GOAL)
        self._make_ready()

    def _ready(self) -> None:
        """The compiled functions; what they fill is others' memory too."""
        if self._outs:
            places = self.predicted.rows[: self._things.start]
            shared = {"believed": self.believed, "predicted": places, "pace": self.pace}
            self._outs["keep"] = self._outs["keep"]._replace(**shared)
            self._outs["conclude"] = self._outs["conclude"]._replace(stamps=self.predicted.stamps, told=self.told)
        self._runs = {name: kernel.fast(kernel.general) for name, kernel in self._kernels.items()}

    def write_to(self, predicted: Obstacles, believed: Array) -> None:
        """From now on in another's memory, so that nobody need be copied there at every step."""
        predicted.copy_from(self.predicted)
        believed[:] = self.believed
        self.predicted, self.believed = predicted, believed
        self._ready()

    def _arrays(self, rows: Array, stamps: Array, goal: Array) -> dict[str, tuple[list[Array], Any]]:
        """What each kernel takes and fills."""
        known = {"rows": rows, "stamps": stamps, "goal": goal, "memory": self._memory, "people": self._people}
        known |= {"clock": self._clock, "rules": self._rules}
        found = {}
        for name, kernel in self._kernels.items():
            out = self._outs[name]
            found[name] = [known[p.name] for p in kernel.signature.inputs], out
            filled = (out,) if isinstance(out, np.ndarray) else out
            known |= {p.name: x for p, x in zip(kernel.signature.outputs, filled, strict=True) if p.name != "stamps"}
        return found

    def calls(self, rows: Array, stamps: Array, goal: Array) -> tuple[list[Step], list[Step]]:
        """A look as steps of a pipeline, for obstacles in these arrays; and, for its end, what is remembered."""
        found = self._arrays(rows, stamps, goal)
        look: list[Step] = [Call(self._kernels[name], takes, out) for name, (takes, out) in found.items()]
        look.append(Sound(rows, "things"))
        remember: list[Step] = [Copy(new, old) for new, old in self._changes()]
        if len(self._last_things):
            look.append(Copy(rows[self._things], self.predicted.rows[self._things]))
            remember.append(Copy(rows[self._things], self._last_things))
        return look, remember

    def _changes(self) -> list[tuple[Array, Array]]:
        """Memory after a look, and where it is kept."""
        if not self._outs:
            return []
        return [(self._outs["keep"].new_memory, self._memory), (self._outs["conclude"].new_people, self._people)]

    def look(self, t: float, obstacles: Obstacles, goal: Array) -> bool:
        """Takes the obstacles as they are at time t; False if some number of obstacles or goal is not finite."""
        if obstacles.layout != self.predicted.layout:
            raise ShapeError(
                f"obstacles must have the places (people, others, capsules) {self.predicted.layout}; "
                f"got {obstacles.layout}"
            )
        self._clock[0] = t
        sound = bool(np.isfinite(obstacles.rows).all() and np.isfinite(obstacles.stamps).all())
        sound = sound and bool(np.isfinite(goal).all())
        if sound:
            self._look(obstacles.rows, obstacles.stamps)
        else:
            self._guarded(t, obstacles)
        self.looked(obstacles)
        return sound

    def _look(self, rows: Array, stamps: Array) -> None:
        """Runs the kernels, and remembers."""
        found = self._arrays(rows, stamps, self._no_goal)
        for name, (takes, out) in found.items():
            self._runs[name](*takes, out=out)
        self.predicted.rows[self._things] = self._last_things[:] = rows[self._things]
        for new, old in self._changes():
            old[:] = new

    def looked(self, obstacles: Obstacles) -> None:
        """These obstacles were looked at."""
        self.predicted.names = obstacles.names
        obstacles.reads += 1

    @property
    def waiting(self) -> bool:
        """Whether the arm is held until somebody was seen, or nobody for long enough."""
        return bool(self.told[1] > 0.0)

    def stale(self, t: float) -> str:
        """What is too old, as a sentence; nothing if all is well."""
        if self.told[0] > 0.0:
            for p, good in enumerate(self._people[:, GOOD].tolist()):
                if good > NEVER and not good - self._limits.clock_tolerance <= t <= good + self._oldest:
                    oldest = f"max_age, {self._oldest:g} s"
                    return f"person {p}: the last good data is older than {oldest}: {t - good:.4f} s"
        if t > self._things_until:
            return f"things: their places were not finite for {self._oldest:g} s"
        return ""

    def remark(self, t: float) -> None:
        """Counts and tells what the last look found."""
        refused, jumped, missing, changed = (int(x) for x in self.told[2:6].tolist())
        self.rejected += refused
        self.jumps += jumped
        self.lost += missing
        if refused:
            self._note("rejected_frames", t, "a person's frame was refused: not finite, not possible, or not new")
        if jumped:
            self._note("jumps", t, "a person jumped farther than people can; old and new place are both kept")
        if missing:
            self._note("lost", t, "somebody is no longer seen; kept, and growing, until confirmed gone")
        if changed:
            self.predicted.counts[:] = self._people[:, COUNT]

    def taken(self, stamps: NDArray[np.float64]) -> list[bool]:
        """Of each person, whether the frame with this stamp (people,) is the last that was taken."""
        found: list[bool] = (self._people[:, GOOD] == stamps).tolist()
        return found

    def forget(self, t: float) -> None:
        """After a step of the clock back to t: stamps from before mean nothing, the places of people still do."""
        memory, people = self._memory, self._people
        memory[[SEEN, LOST]] = t
        memory[UNTIL] = np.where(memory[COVER] > 0, t + self._limits.jump_confirm, t)
        people[:, [RAW, GOOD]] = NEVER
        people[:, KNOWN] = 0.0
        self._things_until = math.inf

    def _guarded(self, t: float, obstacles: Obstacles) -> None:
        """The slow way in, where not everything is finite: a frame with such a number is made one that is refused."""
        np.copyto(self._clean, obstacles.rows)
        finite: NDArray[np.bool_] = np.all(np.isfinite(self._clean), axis=1)
        for p in range(self.predicted.people):
            place = self.predicted.place(p)
            if not finite[place].all():
                self._clean[place] = PARKED
                self._clean[place, RADIUS] = -1.0
        wrong = ~finite[self._things]
        if wrong.any():
            self._clean[self._things][wrong] = self._last_things[wrong]
            self._things_until = min(self._things_until, t + self._oldest)
            self._note("rejected_things", t, "the place of a thing is not finite; its last one is kept")
        else:
            self._things_until = math.inf
        self._stamps[:] = np.nan_to_num(obstacles.stamps, nan=-NEVER, posinf=-NEVER, neginf=NEVER)
        self._look(self._clean, self._stamps)
