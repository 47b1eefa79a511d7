"""From a person's plan (people.py) to the points of the skeleton, compiled: as many times at once as there are lanes.

    walks       at a time t the part of a walk that is done: cruising between two ramps, each a smooth step of the speed
    reaches     the part of the way on which the hand is, with the least jerk, out and back
    figure      r, angle and yaw of the place; the trunk leant about the hip, a hand that hangs carried by its shoulder,
                elbows by the two links of cell/people/reach.py

`walked`, `reached` and `posed` are written for any scalar.
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
from ...compile.lane_schedule import Around, Gather, Halt, LaneSchedule, LaneStep, LaneTables, Repeat, Scatter, Spread
from ...compile.pipeline import Call, Copy

Array = NDArray[np.float64]
STEP = ("start", "length", "speed", "r", "angle", "yaw")  # of a walk; the last three are changes
GRASP = ("start", "time", "hold", "side", "x", "y", "z", "lean")  # of a reach; x, y, z lead from rest to the target
PLACE = ("r", "angle", "yaw")
REACHING = ("lean", "left_x", "left_y", "left_z", "right_x", "right_y", "right_z", "left", "right")  # summed up
AT = ("number", "walk", "reach")  # of a time, of the walk and of the reach that come next
COUNTS = ("last", "walks", "reaches", "lanes")


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


def _walked(parts: Figure, t: Scalars, step: Scalars, place: Scalars, at: Scalars) -> dict[str, Scalars]:
    done = walked(parts.rise, t[0], step)
    return {"new_place": vector(*(x + done * by for x, by in zip(place, step[3:], strict=True))), "next": at + 1.0}


def _reached(_: Figure, t: Scalars, grasp: Scalars, reaching: Scalars, at: Scalars) -> dict[str, Scalars]:
    done, right = grasped(t[0], grasp), grasp[3] > 0.5
    left_part, right_part = where(right, 0.0, done), where(right, done, 0.0)
    lean, *hands, left, both = reaching
    moved = [
        x + part * by for x, part, by in zip(hands, [left_part] * 3 + [right_part] * 3, [*grasp[4:7]] * 2, strict=True)
    ]
    return {
        "new_reaching": vector(lean + done * grasp[7], *moved, left + left_part, both + right_part),
        "next": at + 1.0,
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
    last, _, _, lanes = counts
    after = at[0] + lanes
    return {"later": vector(minimum(after, last), 0.0, 0.0), "over": vector(where(at[0] >= last, 1.0, 0.0))}


def _more(_: None, at: Scalars, counts: Scalars) -> dict[str, Scalars]:
    return {
        "walks": vector(where(at[1] < counts[1], 1.0, 0.0)),
        "reaches": vector(where(at[2] < counts[2], 1.0, 0.0)),
    }


class Motion:
    """Plans to points; `parts` says which points are which."""

    def __init__(self, *parts: Any) -> None:
        self.parts = known = Figure(*parts)
        self._who = np.zeros(3 * known.points + 5)
        self._at, self._counts, self._active, t = np.zeros(len(AT)), np.zeros(len(COUNTS)), np.ones(1), np.zeros(1)
        self._begin, place, new_place = (np.zeros(len(PLACE)) for _ in range(3))
        none, reaching, new_reaching = (np.zeros(len(REACHING)) for _ in range(3))
        step, grasp = np.zeros(len(STEP)), np.zeros(len(GRASP))
        points, over, walks, reaches, later, following = (
            np.zeros((known.points, 3)),
            *(np.zeros(1) for _ in range(3)),
            *(np.zeros(3) for _ in range(2)),
        )
        self._over = Halt(over)
        self._tables = {
            "t": LaneTables(1),
            "steps": LaneTables(len(STEP)),
            "grasps": LaneTables(len(GRASP)),
            "points": LaneTables(points.size),
        }
        number, walk, reach = (self._at[k : k + 1] for k in range(3))

        def call(function: Any, inputs: dict[str, Array], outs: Any, subject: Any = None) -> Call:
            kernel = compiled(
                function, subject, {k: x.shape for k, x in inputs.items()}, name=function.__name__.strip("_")
            )
            return Call(kernel, tuple(inputs.values()), outs, checked=())

        next_walk, next_reach = following[:1], following[1:2]
        more = call(_more, {"at": self._at, "counts": self._counts}, (walks, reaches))
        all_steps: list[LaneStep] = [
            Gather(self._tables["t"], number, t),
            Copy(self._begin, place),
            Copy(none, reaching),
            Repeat(
                [
                    Spread(self._tables["steps"], walk, step),
                    call(_walked, {"t": t, "step": step, "place": place, "at": walk}, (new_place, next_walk), known),
                    *(Copy(new_place, place), Copy(next_walk, walk), more),
                ],
                walks,
                1 << 30,
            ),
            Repeat(
                [
                    Spread(self._tables["grasps"], reach, grasp),
                    call(
                        _reached,
                        {"t": t, "grasp": grasp, "reaching": reaching, "at": reach},
                        (new_reaching, next_reach),
                        known,
                    ),
                    *(Copy(new_reaching, reaching), Copy(next_reach, reach), more),
                ],
                reaches,
                1 << 30,
            ),
            call(posed, {"place": place, "reaching": reaching, "who": self._who}, points, known),
            Scatter(points, number, self._tables["points"]),
            call(_counted, {"at": self._at, "counts": self._counts}, (later, over)),
            self._over,
            Copy(later, self._at),
            Around(1 << 40),
        ]
        self._schedule = LaneSchedule(all_steps, self._active)
        self._schedule[self._active][:] = 1.0
        self._columns = [self._schedule[x] for x in (self._at, self._counts, self._begin, self._who)]
        self._numbers = np.arange(self._schedule.lanes, dtype=float)

    def points(
        self,
        times: Array,
        begin: Array,
        steps: Sequence[Sequence[float]],
        grasps: Sequence[Sequence[float]],
        who: Sequence[float],
    ) -> Array:
        """(T, P, 3): rows of STEP, of GRASP; where the person begins (PLACE); `who` as `posed` has it."""
        schedule, last = self._schedule, len(times) - 1
        found = np.empty((len(times), self.parts.points, 3))
        no_step, no_grasp = (0.0, 1.0, 1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        tables = times[:, None], steps or [no_step], grasps or [no_grasp], found
        for table, values in zip(self._tables.values(), tables, strict=True):
            schedule.assign(table, None, np.ascontiguousarray(values, dtype=float))
        at, *given = self._columns
        at[0], at[1:] = np.minimum(self._numbers, last), 0.0
        counts = last, len(steps), len(grasps), schedule.lanes
        for columns, numbers in zip(given, (counts, begin, who), strict=True):
            columns[:] = np.asarray(numbers)[:, None]
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
