"""From a person's plan (people.py) to the points of the skeleton, compiled: as many times at once as there are lanes.

    walks       at a time t the part of a walk that is done: cruising between two ramps, each a smooth step of the speed
    reaches     the part of the way on which the hand is, with the least jerk, out and back
    figure      r, angle and yaw of the place; the trunk leant about the hip, a hand that hangs carried by its shoulder,
                elbows by the two links of cell/people/reach.py

`walked`, `grasped`, `posed` and `moved` are written for any scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, cos, maximum, minimum, sin, sqrt, where
from ...algebra.functions import largest
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.lane_schedule import Around, Gather, Halt, LaneSchedule, LaneStep, LaneTables, Scatter
from ...compile.pipeline import Call, Copy

Array = NDArray[np.float64]
STEP = ("start", "length", "speed", "r", "angle", "yaw")  # of a walk; the last three are changes
GRASP = ("start", "time", "hold", "side", "x", "y", "z", "lean")  # of a reach; x, y, z lead from rest to the target
PLACE = ("r", "angle", "yaw")
REACHING = ("lean", "left_x", "left_y", "left_z", "right_x", "right_y", "right_z", "left", "right")  # summed up


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


def moved(parts: Figure, t: Scalars, begin: Scalars, steps: Scalars, grasps: Scalars, who: Scalars) -> Scalars:
    """(P, 3) points at a time, of a person who begins at a PLACE, with rows of STEP and GRASP."""
    place: Any = list(begin)
    for step in steps:
        done = walked(parts.rise, t[0], step)
        place = [x + done * by for x, by in zip(place, step[3:], strict=True)]
    reaching: list[Scalar] = [0.0] * len(REACHING)
    for grasp in grasps:
        done, right = grasped(t[0], grasp), grasp[3] > 0.5
        left_part, right_part = where(right, 0.0, done), where(right, done, 0.0)
        by = [done * grasp[7], *(left_part * x for x in grasp[4:7]), *(right_part * x for x in grasp[4:7])]
        reaching = [x + y for x, y in zip(reaching, [*by, left_part, right_part], strict=True)]
    return posed(parts, vector(*place), vector(*reaching), who)


def _counted(_: None, at: Scalars, counts: Scalars) -> dict[str, Scalars]:
    """The next time of each lane, the last one repeated; and whether there is none left."""
    last, lanes = counts
    return {"later": vector(minimum(at[0] + lanes, last)), "over": vector(where(at[0] >= last, 1.0, 0.0))}


AFTER = 1e9  # s, when there is nobody any more
NO_STEP = (AFTER, 1.0, 1.0, 0.0, 0.0, 0.0)
NO_GRASP = (AFTER, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Motion:
    """Plans of at most so many walks and reaches to points."""

    def __init__(self, parts: Figure, steps: int, grasps: int) -> None:
        self.parts = parts
        given = self._given = {
            "t": np.zeros(1),
            "begin": np.zeros(len(PLACE)),
            "steps": np.zeros((steps, len(STEP))),
            "grasps": np.zeros((grasps, len(GRASP))),
            "who": np.zeros(3 * parts.points + 5),
        }
        self._at, self._counts, active = np.zeros(1), np.zeros(2), np.ones(1)
        points, later, over = np.zeros((parts.points, 3)), np.zeros(1), np.zeros(1)
        move = compiled(moved, parts, {name: x.shape for name, x in given.items()}, name="moved")
        count = compiled(_counted, None, {"at": (1,), "counts": (2,)}, name="counted")
        self._times, self._points = LaneTables(1), LaneTables(points.size)
        all_steps: list[LaneStep] = [
            Gather(self._times, self._at, given["t"]),
            Call(move, tuple(given.values()), points, checked=()),
            Scatter(points, self._at, self._points),
            Call(count, (self._at, self._counts), (later, over), checked=()),
            Halt(over),
            Copy(later, self._at),
            Around(1 << 40),
        ]
        self._schedule = LaneSchedule(all_steps, active)
        self._schedule[active][:] = 1.0

    def points(
        self,
        times: Array,
        begin: Array,
        steps: Sequence[Sequence[float]],
        grasps: Sequence[Sequence[float]],
        who: Sequence[float],
    ) -> Array:
        """(T, P, 3): rows of STEP, of GRASP; where the person begins (PLACE); `who` as `posed` has it."""
        schedule, last, given = self._schedule, len(times) - 1, self._given
        found = np.empty((len(times), self.parts.points, 3))
        given["begin"][:], given["who"][:] = begin, who
        for name, rows, none in (("steps", steps, NO_STEP), ("grasps", grasps, NO_GRASP)):
            given[name][:] = none
            if rows:
                given[name][: len(rows)] = rows
        for name in ("begin", "steps", "grasps", "who"):
            schedule[given[name]][:] = given[name].reshape(-1, 1)
        for tables, array in ((self._times, np.ascontiguousarray(times[:, None])), (self._points, found)):
            schedule.assign(tables, array)
        schedule[self._at][0] = np.minimum(np.arange(schedule.lanes), last)
        schedule[self._counts][:] = np.array([[last], [schedule.lanes]])
        schedule.run()
        return found


def _step(_: None, a: Scalars, b: Scalars) -> Scalar:
    return largest((x - y) @ (x - y) for x, y in zip(a, b, strict=True))


@cache
def _step_kernel(points: int) -> Any:
    return compiled(_step, None, {"a": (points, 3), "b": (points, 3)}, name="step")


def greatest_step(points: Array) -> float:
    """The farthest that any of points (T, P, 3) moves from one time to the next, m."""
    return float(np.sqrt(np.max(_step_kernel(points.shape[1])(points[:-1], points[1:]))))
