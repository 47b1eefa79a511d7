"""How near an arm came in a run: to people, to itself and to the floor, over all control times in SIMD lanes.

    near = nearness(place, people).of(q, points)      # q (T, n), points (T, people, P, 3)

A lane has a stretch of the run, time after time.  A capsule of the arm is measured against people where it may be
nearer to them than the nearest so far: since it was measured last it came no nearer than both have travelled,

    d(t) >= d(last) - (s(t) - s(last)) - (p(t) - p(last))        s: the capsule's way, p: that of the fastest of people

for a segment's points move no farther than the farther of its ends; ways add up what that end moves from one time to
the next.  The nearest of some times all over the run is known first.  The arm itself is measured where two of its
capsules may overlap.  Only distances: a run in which arm and people overlap is looked at more closely
(`run.distances`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, Table, minimum, sqrt, trace, where
from ...algebra.functions import largest, least
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import dot, vector
from ...compile import compiled
from ...compile.kernel import Kernel
from ...compile.pipeline import Call, Copy
from ...compile.schedules.lanes import LaneSchedule
from ...compile.schedules.steps import Around, Gather, Halt, LaneStep, LaneTables
from ...compile.schedules.steps import Where as IfAny
from ...geometry.distance import separation
from ...geometry.shapes import RADIUS, ROW, A, B
from . import people as people_
from .scene import CAPSULES, Place

Array = NDArray[np.float64]
NOTHING = 1e30  # m
ROUNDING = 1e-6  # m: what the bound leaves to the last digits of ways, in which people come from where they were parked
AHEAD = 4  # times of each lane that are looked at first


class Near(NamedTuple):
    """The least distances, m, infinite where there is nothing to be near to; and when people were nearest first."""

    people: float
    at: int  # number of the control time
    itself: float  # 0 at most: how deep it is in itself is what is looked for
    floor: float


NEAREST = ("people", "at", "itself", "floor")  # of a lane
AT = ("now", "stride", "left", "last")  # numbers of a time, times left
Indices = tuple[tuple[int, ...], tuple[int, ...]]
Pairs = tuple[tuple[int, int], ...]


def _apart(_: None, x: Scalars, y: Scalars) -> Scalars:
    return vector(separation(x, y).distance)


def _distances(subject: tuple[int, int, Indices]) -> Table:
    """Distances of the surfaces: (P, 1) for pairs of rows of two arrays."""
    first, second, indices = subject
    program = trace(_apart, None, {"x": (ROW,), "y": (ROW,)}, name="apart", output="apart")
    return Table(program, (first, second), indices)


def _ends(rows: Iterable[Scalars]) -> Scalars:
    """(6 P,) both ends of capsules."""
    return vector(*(x for row in rows for end in (A, B) for x in row[end]))


def _farthest(ends: Scalars, before: Scalars) -> Scalar:
    """How far an end moved, m."""
    return sqrt(largest(dot(step, step) for step in (ends - before).reshape(-1, 3)))


def _travelled(subject: tuple[tuple[int, ...], Pairs], **x: Scalars) -> dict[str, Scalars]:
    """The ways until now of the arm's capsules that move, of people and of pairs of the arm; and what may be nearer
    than the nearest so far."""
    moving, pairs = subject
    own, others = (_ends(rows) for rows in (x["own"][[*moving]], x["others"]))
    both = zip(moving, own.reshape(-1, 6), x["own_then"].reshape(-1, 6), strict=True)
    steps = {k: _farthest(now, then) for k, now, then in both}
    farther = [*steps.values(), _farthest(others, x["others_then"])]
    farther.append(largest(steps.get(i, 0.0) + steps.get(j, 0.0) for i, j in pairs))
    *ways, people, itself = (way + step for way, step in zip(x["ways"], farther, strict=True))
    *known, clear = x["known"]
    may_be = [
        where(known - own - people - ROUNDING <= x["nearest"][0], 1.0, 0.0)
        for known, own in zip(known, ways, strict=True)
    ]
    overlaps = where(clear - itself - ROUNDING <= 0.0, 1.0, 0.0)
    return {
        "new_ways": vector(*ways, people, itself),
        "now": own,
        "others_now": others,
        "may_be": vector(*may_be, overlaps),
        "any": vector(largest(may_be)),
    }


def _nearest(
    _: None, apart: Scalars, nearest: Scalars, at: Scalars, own: Scalars, people: Scalars
) -> dict[str, Scalars]:
    """The nearest so far, the first of several; and how near a capsule is now, with both ways, m."""
    now = least([NOTHING, *apart.ravel()])
    nearer = (now < nearest[0]) | ((now == nearest[0]) & (at[0] < nearest[1]))
    return {
        "updated": vector(*(where(nearer, x, y) for x, y in ((now, nearest[0]), (at[0], nearest[1])))),
        "known": vector(now + own[0] + people[0]),
    }


def _itself(_: None, apart: Scalars, deepest: Scalars, way: Scalars) -> dict[str, Scalars]:
    """How deep the arm was in itself so far; and how near it is to that now, with the way of its pairs, m."""
    now = least([NOTHING, *apart.ravel()])
    return {"deepest": vector(minimum(deepest[0], now)), "known": vector(now + way[0])}


def _also(lifted: tuple[tuple[int, int], ...], **x: Scalars) -> dict[str, Scalars]:
    """The floor; `lifted` are ends of capsules whose heights count: a row, and its column z."""
    heights = [x["own"][row][z] - x["own"][row][RADIUS] - x["floor"][0] for row, z in lifted]
    now, stride, left, last = x["at"]
    return {
        "also": vector(least([x["nearest"][3], *heights])),
        "later": vector(minimum(now + stride, last), stride, left - 1.0, last),
        "over": vector(where(left <= 1.0, 1.0, 0.0)),
    }


class Nearness:
    """See the module's docstring; of an arm at its place beside people, or what has `capsules` in each one's place."""

    def __init__(self, where: Place, people: int, capsules: int | None = None) -> None:
        n, own_count = where.arm.n, len(where.body)
        q, still, own = np.zeros(n), np.zeros(n), np.zeros((own_count, ROW))
        others: Array = np.zeros((people * (capsules or CAPSULES), ROW))
        own_then, others_then = np.zeros(6 * len(where.moving)), np.zeros(6 * len(others))
        own_now, others_now = np.zeros_like(own_then), np.zeros_like(others_then)
        at, nearest, later = np.zeros(len(AT)), np.zeros(len(NEAREST)), np.zeros(len(AT))
        known, may_be = (np.zeros(len(where.moving) + 1) for _ in range(2))
        ways, new_ways = (np.zeros(len(known) + 1) for _ in range(2))
        active, some, over, updated, deepest, also = (np.zeros(k) for k in (1, 1, 1, 2, 1, 1))
        self._tables = [LaneTables(n)]
        steps: list[LaneStep] = [
            Gather(self._tables[0], at[:1], q),
            Call(where.body.kernel, (q, still), own, checked=()),
        ]
        if capsules is None:
            skeleton = people_.skeleton(float(where.base[2]))
            points: Array = np.zeros((people, len(skeleton.points), 3))
            shown, rest = points, np.zeros_like(points[0])
            rows = others.reshape(people, -1, ROW)
            steps += (Call(skeleton.kernel, (points[k], rest), rows[k], checked=()) for k in range(people))
        else:
            shown = others
        self._tables.append(LaneTables(shown.size))
        steps.insert(1, Gather(self._tables[1], at[:1], shown))

        def call(function: Any, subject: Any, inputs: dict[str, Array], out: Any) -> Call:
            shapes = {name: x.shape for name, x in inputs.items()}
            kernel = compiled(function, subject, shapes, name=function.__name__.strip("_"))
            return Call(kernel, tuple(inputs.values()), out, checked=())

        def pairs(other: Array, which: list[tuple[int, int]]) -> tuple[Array, Call]:
            first, second = zip(*which, strict=True)
            kernel: Kernel[Any] = compiled(_distances, (own_count, len(other), (first, second)))
            found = np.zeros((len(which), 1))
            return found, Call(kernel, (own, other), found, checked=())

        self_pairs = tuple(where.body.self_pairs)
        if where.moving:
            given = {"own": own, "own_then": own_then, "others": others, "others_then": others_then}
            given |= {"known": known, "ways": ways, "nearest": nearest}
            results = new_ways, own_now, others_now, may_be, some
            steps.append(call(_travelled, (tuple(where.moving), self_pairs), given, results))
            for now, then in ((new_ways, ways), (own_now, own_then), (others_now, others_then)):
                steps.append(Copy(now, then))
            measuring = list[LaneStep]()
            for k, i in enumerate(where.moving):
                apart, measure = pairs(others, [(i, j) for j in range(len(others))])
                found = {"apart": apart, "nearest": nearest, "at": at, "own": ways[k : k + 1], "people": ways[-2:-1]}
                compare = call(_nearest, None, found, (updated, known[k : k + 1]))
                measuring.append(IfAny(may_be[k : k + 1], [measure, compare, Copy(updated, nearest[:2])]))
            steps.append(IfAny(some, measuring))
        if where.moving and self_pairs:
            apart, measure = pairs(own, list(self_pairs))
            compare = call(
                _itself, None, {"apart": apart, "deepest": nearest[2:3], "way": ways[-1:]}, (deepest, known[-1:])
            )
            steps.append(IfAny(may_be[-1:], [measure, compare, Copy(deepest, nearest[2:3])]))
        rest_of = {"own": own, "floor": np.array([where.base[2]]), "nearest": nearest, "at": at}
        lifted = tuple((int(i), (2, 5)[int(k)]) for i, k in np.argwhere(where.lifted))
        steps += [
            call(_also, lifted, rest_of, (also, later, over)),
            *(Copy(also, nearest[3:]), Copy(later, at)),
            Halt(over),
            Around(1 << 40),
        ]
        self._schedule = schedule = LaneSchedule(steps, active)
        schedule[active][:] = 1.0
        self._at, self._nearest = schedule[at], schedule[nearest]
        self._given = [schedule[x] for x in (known, ways)] if where.moving else []
        self._itself = bool(where.moving and self_pairs)
        self._numbers = np.arange(schedule.lanes, dtype=float)

    def of(self, q: Array, shown: Array) -> Near:
        """Over all times: joints (T, n), and points (T, people, P, 3) or rows (T, people, C, 13)."""
        count = len(q)
        for tables, values in zip(self._tables, (q, shown.reshape(count, -1)), strict=True):
            self._schedule.assign(tables, None, np.ascontiguousarray(values, np.float64))
        length = -(-count // self._schedule.lanes)  # of a lane's stretch
        for columns, start in zip(self._given, (-NOTHING, 0.0), strict=False):
            columns[:] = start
        self._nearest[:] = NOTHING
        self._nearest[2] = 0.0 if self._itself else NOTHING
        stride = max(length // AHEAD, 1)
        self._look(length, stride, -(-length // stride), count - 1)
        self._nearest[:2] = self._first()[:, None]
        self._look(length, 1, length, count - 1)
        (people, at), (itself, floor) = self._first().tolist(), self._nearest[2:].min(axis=1).tolist()
        distances = (x if x < NOTHING else np.inf for x in (people, itself, floor))
        return Near(next(distances), int(at) if people < NOTHING else 0, *distances)

    def _look(self, length: int, stride: int, times: int, last: int) -> None:
        self._at[0] = np.minimum(length * self._numbers, last)
        self._at[1], self._at[2], self._at[3] = stride, times, last
        self._schedule.run()

    def _first(self) -> Array:
        """(2,) distance and number of the time of the nearest of all lanes."""
        return np.array(min(self._nearest[:2].T.tolist()))


@cache
def nearness(where: Place, people: int, capsules: int | None = None) -> Nearness:
    """The same, made once."""
    return Nearness(where, people, capsules)
