"""From a person's plan (people.py) to the points of the skeleton, compiled: as many times at once as there are lanes.

    walks       at a time t the part of a walk that is done: cruising between two ramps, each a smooth step of the speed
    reaches     the part of the way on which the hand is, with the least jerk, out and back
    figure      r, angle and yaw of the place; the trunk leant about the hip, a hand that hangs carried by its shoulder,
                elbows by the two links of cell/people/reach.py

`walked`, `reached` and `posed` are written for any scalar.

The greatest speed of a plan is found the same way: a lane has a stretch of the times, and compares each with the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, cos, maximum, minimum, sin, sqrt, where
from ...algebra.functions import largest
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.pipeline import Call, Copy
from ...compile.recycled import piece
from ...compile.schedules.lanes import LaneSchedule
from ...compile.schedules.steps import Around, Gather, Halt, LaneStep, LaneTables, Repeat, Scatter, Spread, Unfused

Array = NDArray[np.float64]
STEP = ("start", "length", "speed", "r", "angle", "yaw")  # of a walk; the last three are changes
GRASP = ("start", "time", "hold", "side", "x", "y", "z", "lean")  # of a reach; x, y, z lead from rest to the target
PLACE = ("r", "angle", "yaw")
REACHING = ("lean", "left_x", "left_y", "left_z", "right_x", "right_y", "right_z", "left", "right")  # summed up
TOGETHER = 4  # walks, and as many reaches, that are summed up in one call
AT = ("number", "next", "left")  # of a time, of the walks and reaches that come next; times left
COUNTS = ("last", "groups", "stride", "compared")


def _clipped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return minimum(maximum(x, low), high)


def walked(rise: float, t: Scalar, step: Scalars) -> Scalar:
    """The part of a walk (STEP) that is done; `rise` (s) is that of the speed."""
    start, length, speed = step[:3]
    total = length / speed + rise
    x = _clipped(t - start, 0.0, total)
    up, down = _clipped(x / rise, 0.0, 1.0), _clipped((total - x) / rise, 0.0, 1.0)

    def ramp(s: Scalar) -> Scalar:
        return s * s * s * (1.0 - 0.5 * s)

    done = rise * (ramp(up) - ramp(down)) + 0.5 * rise + _clipped(x - rise, 0.0, total - 2.0 * rise)
    return done * speed / length


def grasped(t: Scalar, grasp: Scalars) -> Scalar:
    """How far the hand of a reach (GRASP) is on its way to the target."""
    start, time, hold = grasp[:3]
    s = _clipped(minimum(t - start, start + 2.0 * time + hold - t) / time, 0.0, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@dataclass(frozen=True)
class Figure:
    """Which points are which."""

    points: int
    hip: int
    trunk: tuple[int, ...]
    shoulders: tuple[int, ...]
    elbows: tuple[int, ...]
    hands: tuple[int, ...]
    rise: float


def _walked(parts: Figure, t: Scalar, step: Scalars, place: Sequence[Scalar]) -> list[Scalar]:
    """PLACE after one walk more."""
    done = walked(parts.rise, t, step)
    return [x + done * by for x, by in zip(place, step[3:], strict=True)]


def _reached(t: Scalar, grasp: Scalars, reaching: Sequence[Scalar]) -> list[Scalar]:
    """REACHING with one reach more."""
    done, right = grasped(t, grasp), grasp[3] > 0.5
    left_part, right_part = where(right, 0.0, done), where(right, done, 0.0)
    lean, *hands, left, both = reaching
    moved = [
        x + part * by for x, part, by in zip(hands, [left_part] * 3 + [right_part] * 3, [*grasp[4:7]] * 2, strict=True)
    ]
    return [lean + done * grasp[7], *moved, left + left_part, both + right_part]


def _done(
    parts: Figure, t: Scalars, group: Scalars, place: Scalars, reaching: Scalars, at: Scalars, counts: Scalars
) -> dict[str, Scalars]:
    """PLACE and REACHING with the walks and reaches of a group more."""
    now, sums, walks = [*place], [*reaching], TOGETHER * len(STEP)
    for step in group[:walks].reshape(TOGETHER, -1):
        now = _walked(parts, t[0], step, now)
    for grasp in group[walks:].reshape(TOGETHER, -1):
        sums = _reached(t[0], grasp, sums)
    following = at[1] + 1.0
    more = where(following < counts[1], 1.0, 0.0)
    return {
        "new_place": vector(*now),
        "new_reaching": vector(*sums),
        "next": vector(following),
        "more": vector(more),
    }


def posed(parts: Figure, place: Scalars, reaching: Scalars, who: Scalars) -> Scalars:
    """(P, 3) points; `who` is the standing figure, the lengths of upper arm and forearm, and the base."""
    figure, (upper, fore), base = who[:-5].reshape(-1, 3), who[-5:-3], who[-3:]
    at = [list(point) for point in figure]
    c, s = cos(reaching[0]), sin(reaching[0])
    hip = figure[parts.hip]
    for k in parts.trunk:
        x, y, z = figure[k] - hip
        at[k] = [hip[0] + (c * x + s * z), hip[1] + y, hip[2] + (c * z - s * x)]
    for side, (hand, elbow, shoulder) in enumerate(zip(parts.hands, parts.elbows, parts.shoulders, strict=True)):
        hangs = 1.0 - reaching[7 + side]
        moved = [a - b for a, b in zip(at[shoulder], figure[shoulder], strict=True)]
        there = reaching[1 + 3 * side : 4 + 3 * side]
        at[hand] = [x + by + hangs * m for x, by, m in zip(figure[hand], there, moved, strict=True)]
        at[elbow] = bent(at[shoulder], at[hand], upper, fore)
    r, angle, yaw = place
    c, s = cos(yaw), sin(yaw)
    x0, y0 = base[0] + r * cos(angle), base[1] + r * sin(angle)
    return np.array([[x0 + c * x - s * y, y0 + s * x + c * y, base[2] + z] for x, y, z in at], dtype=object)


def bent(shoulder: list[Scalar], hand: list[Scalar], upper: Scalar, fore: Scalar) -> list[Scalar]:
    """The elbow as in cell/people/reach.py, in the axes of the body, y left."""
    r = [a - b for a, b in zip(hand, shoulder, strict=True)]
    d = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    along = 0.5 * d + (upper * upper - fore * fore) / (2.0 * d)
    aside = sqrt(maximum(upper * upper - along * along, 0.0)) / sqrt(r[2] * r[2] + r[0] * r[0])  # n is y x r
    out = along / d
    return [shoulder[0] + out * r[0] + aside * r[2], shoulder[1] + out * r[1], shoulder[2] + out * r[2] - aside * r[0]]


def _counted(_: None, at: Scalars, counts: Scalars) -> dict[str, Scalars]:
    """The next time of each lane, the last one repeated; and whether there is none left."""
    last, _, stride, _ = counts
    left, following = at[2] - 1.0, minimum(at[0] + stride, last)
    return {
        "later": vector(following, 0.0, left),
        "half": vector(0.5 * following),
        "over": vector(where(left < 1.0, 1.0, 0.0)),
    }


def _step(_: None, a: Scalars, b: Scalars) -> Scalar:
    return largest((x - y) @ (x - y) for x, y in zip(a, b, strict=True))


def _greatest(_: None, step: Scalars, known: Scalars, at: Scalars, counts: Scalars) -> dict[str, Scalars]:
    """known: the greatest so far, below 0 before there is a time to compare with."""
    now = where(known[0] < 0.0, 0.0, maximum(step[0], known[0]))
    return {"greatest": vector(where(at[0] < counts[3], now, known[0]))}


NEVER = 1e30  # s
NO_STEP, NO_GRASP = (NEVER, 1.0, 1.0, 0.0, 0.0, 0.0), (NEVER, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Plan(NamedTuple):
    """What a schedule has of a person; who and where they begin are as `posed` and PLACE have them."""

    groups: Array  # (G, TOGETHER (STEP + GRASP)): walks, and reaches
    begin: Array  # (3,)
    who: Array


def plan(begin: Array, steps: Sequence[Sequence[float]], grasps: Sequence[Sequence[float]], who: Array) -> Plan:
    """From rows of STEP and of GRASP; those that fill up a group move nothing."""
    count = max(-(-len(steps) // TOGETHER), -(-len(grasps) // TOGETHER), 1)
    rows = [
        np.array([*some, *[none] * (count * TOGETHER - len(some))], dtype=float).reshape(count, -1)
        for some, none in ((steps, NO_STEP), (grasps, NO_GRASP))
    ]
    return Plan(np.concatenate(rows, axis=1), begin, who)


class _Schedule:
    """The points at one time after the other: all of them; or of every second, and how far the fastest goes from one
    to the next."""

    def __init__(self, known: Figure, *, fastest: bool) -> None:
        at, counts, active, t = np.zeros(len(AT)), np.zeros(len(COUNTS)), np.ones(1), np.zeros(1)
        begin, place, new_place = (np.zeros(len(PLACE)) for _ in range(3))
        none, reaching, new_reaching = (np.zeros(len(REACHING)) for _ in range(3))
        group, who = np.zeros(TOGETHER * (len(STEP) + len(GRASP))), np.zeros(3 * known.points + 5)
        points, before = np.zeros((known.points, 3)), np.zeros((known.points, 3))
        over, more, moved, greatest, so_far = (np.zeros(1) for _ in range(5))
        later, half, following = np.zeros(len(AT)), np.zeros(1), np.zeros(1)
        self._tables = [LaneTables(k) for k in (1, group.size, points.size)]
        of_times, of_groups, of_points = self._tables
        number, which = at[:1], at[1:2]

        def call(function: Any, inputs: dict[str, Array], outs: Any, subject: Any = None) -> Call:
            shapes = {k: x.shape for k, x in inputs.items()}
            kernel = compiled(function, subject, shapes, name=function.__name__.strip("_"))
            return Call(kernel, tuple(inputs.values()), outs, checked=())

        given = {"t": t, "group": group, "place": place, "reaching": reaching, "at": at, "counts": counts}
        done: list[LaneStep] = [
            Spread(of_groups, which, group),
            call(_done, given, (new_place, new_reaching, following, more), known),
            *(Copy(new_place, place), Copy(new_reaching, reaching), Copy(following, which)),
        ]
        compared: list[LaneStep] = [
            call(_step, {"a": before, "b": points}, moved),
            call(_greatest, {"step": moved, "known": so_far, "at": at, "counts": counts}, greatest),
            *(Copy(greatest, so_far), Copy(points, before)),
        ]
        one: list[LaneStep] = [
            Gather(of_times, number, t),
            *(Copy(begin, place), Copy(none, reaching)),
            Repeat(done, more, 1 << 30),
            call(posed, {"place": place, "reaching": reaching, "who": who}, points, known),
        ]
        count: list[LaneStep] = [call(_counted, {"at": at, "counts": counts}, (later, half, over)), Copy(later, at)]
        steps = [*one, Scatter(points, number, of_points), *count, Halt(over), Around(1 << 40)]
        if fastest:
            first = [*one, *compared, Scatter(points, half, of_points), *count, Halt(over)]
            steps = [*first, *one, *compared, *count, Around(1 << 40)]
        self._schedule = schedule = LaneSchedule(steps, active)
        schedule[active][:] = 1.0
        self._at, self._half, *self._given = (schedule[x] for x in (at, half, counts, begin, who))
        self.greatest = schedule[so_far][0] if fastest else np.zeros(0)
        self.lanes, self._numbers = schedule.lanes, np.arange(schedule.lanes, dtype=float)

    def run(
        self, plan: Plan, times: Array, apart: int, stride: int, each: int, found: Array, compared: int = 0
    ) -> None:
        """`each` times of every lane, `stride` apart; the lanes' first ones are `apart`."""
        last = len(times) - 1
        for table, values in zip(self._tables, (times[:, None], plan.groups, found), strict=True):
            self._schedule.assign(table, None, np.ascontiguousarray(values, dtype=float))
        self._at[:] = 0.0
        self._at[0], self._at[2] = np.minimum(apart * self._numbers, last), each
        self._half[0] = 0.5 * self._at[0]
        counts = np.array([last, len(plan.groups), stride, compared], dtype=float)
        for columns, numbers in zip(self._given, (counts, plan.begin, plan.who), strict=True):
            columns[:] = numbers[:, None]
        self._schedule.run()


def _stretched(left: tuple[float, ...], effort: Scalars, who: Scalars) -> Scalars:
    """The greatest distance (1,) of hand and shoulder, which leans forwards about the hip, on the parts of a way."""
    hang, way, shoulder, hip = who.reshape(4, 3)
    x, y, z = shoulder - hip
    squares = list[Scalar]()
    for cos_, sin_, far, rest in zip(*effort.reshape(3, -1), left, strict=True):
        square: Scalar = 0.0
        leant = cos_ * x + sin_ * z, y, cos_ * z - sin_ * x
        for hand, by, at, base, on in zip(hang, way, shoulder, hip, leant, strict=True):
            now = base + on
            off = hand + far * by + rest * (now - at) - now
            square = square + off * off
        squares.append(square)
    return vector(sqrt(largest(squares)))


class Efforts:
    """Efforts of a reach, a lane each: cosine and sine of the lean, and how far the hand is, (E, K) on K parts of its
    way; `left` (K,) is what of the hand's hanging is left there.  The bits are NumPy's."""

    def __init__(self, cos_: Array, sin_: Array, far: Array, left: Array) -> None:
        at, counts, later, over, active = np.zeros(len(AT)), np.zeros(len(COUNTS)), np.zeros(len(AT)), *np.zeros((2, 1))
        efforts, self._found = np.concatenate([cos_, sin_, far], axis=1), np.zeros((len(far), 1))
        effort, who, stretched = np.zeros(efforts.shape[1]), np.zeros(12), np.zeros(1)
        given, results = LaneTables(len(effort)), LaneTables(1)
        shapes = {"effort": effort.shape, "who": who.shape}
        kernel = compiled(_stretched, tuple(left.tolist()), shapes, name="stretched")
        count = compiled(_counted, None, {"at": at.shape, "counts": counts.shape}, name="counted")
        steps: list[LaneStep] = [
            Gather(given, at[:1], effort),
            Unfused(kernel, (effort, who), stretched, checked=()),
            Scatter(stretched, at[:1], results),
            Call(count, (at, counts), (later, np.zeros(1), over), checked=()),
            *(Copy(later, at), Halt(over), Around(1 << 40)),
        ]
        self._schedule = schedule = LaneSchedule(steps, active)
        schedule[active][:] = 1.0
        schedule[counts][0], schedule[counts][2] = len(far) - 1.0, schedule.lanes
        lanes = schedule.lanes
        self._at, self._who = schedule[at], schedule[who]
        self._first = np.array([np.arange(lanes), np.zeros(lanes), np.full(lanes, -(-len(far) // lanes))], dtype=float)
        schedule.assign(given, None, efforts)
        schedule.assign(results, None, self._found)

    def stretched(self, hang: Array, way: Array, shoulder: Array, hip: Array) -> Array:
        """(E,) the farthest that a hand is from its shoulder: as it hangs, its way, shoulder and hip (3,), m."""
        self._at[:] = self._first
        self._who[:] = np.concatenate([hang, way, shoulder, hip])[:, None]
        self._schedule.run()
        return self._found[:, 0]


class Motion:
    """Plans to points; `parts` says which points are which."""

    def __init__(self, *parts: Any) -> None:
        self.parts = Figure(*parts)
        self._all, self._fastest = (_Schedule(self.parts, fastest=each) for each in (False, True))

    def points(self, times: Array, of: Plan) -> Array:
        """(T, P, 3)."""
        found = piece((len(times), self.parts.points, 3), np.dtype(float))
        lanes = self._all.lanes
        self._all.run(of, times, 1, lanes, -(-len(times) // lanes), found)
        return found

    def along(self, times: Array, of: Plan, compared: int) -> tuple[float, Array]:
        """The farthest that any of these points moves from one of so many first times to the next, m; and the points
        (K, P, 3) at every second time, where their number is odd."""
        fastest = self._fastest
        stretch = 2 * -(-(len(times) - 1) // (2 * fastest.lanes))
        found = piece((len(times) // 2 + 1, self.parts.points, 3), np.dtype(float))
        fastest.greatest[:] = -1.0
        fastest.run(of, times, stretch, 1, stretch + 1, found, compared)
        return float(np.sqrt(fastest.greatest.max())), found
