"""What the CBF-QP law needs of the present, in two compiled calls: its wish, and a row of its problem for each pair.

    present = Present(where, people, capsules)
    wish, own, table = present(q, goal, rows)       own (R, 13): the arm's capsules; rows (k, 13): people's
    table[:, : n], table[:, n], table[:, n + 1]     a = n^T J of the pair, its distance, the speed at which y comes

The pairs are those of each capsule that moves with each of people's, and the arm's own (`self_pairs`).  A row of the
arm's is one of shapes.ROW and after it how fast each joint alone moves both ends; people's have zeros there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Table, sqrt, trace, where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import matrix, vector
from ...avoidance import Config
from ...avoidance.control.least_squares import damped
from ...compile import compiled
from ...dynamics.kinematics import forward_kinematics, jacobian_at
from ...geometry import ROW
from ...geometry.distance import separation
from ...geometry.segments import dot
from ...model import LinkCapsule, Model
from ...model.capsules import BASE
from .scene import Place

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Arm:
    """The arm's part: what the K controller's task alone would do, and the rows of its capsules."""

    capsules: tuple[LinkCapsule, ...]
    gain: float
    most: float  # m/s
    damping: float
    posture: float

    def __call__(self, model: Model, q: Scalars, goal: Scalars, ready: Scalars) -> dict[str, Scalars]:
        frames, last = forward_kinematics(model, q), model.n - 1
        tool = frames.point(last, model.tool[:3, 3])
        error = goal - tool
        v, speed = self.gain * error, self.gain * sqrt(dot(error, error))
        v = v * where(speed > self.most, self.most / where(speed > self.most, speed, 1.0), 1.0)
        J, back = jacobian_at(model, frames, last, tool).Jv, self.posture * (ready - q)
        rows = []
        for each in self.capsules:
            ends, speeds = [], []
            for local in map(np.array, (each.a, each.b)):
                if each.link == BASE:
                    ends.append(model.base[:3, 3] + model.base[:3, :3] @ local)
                    speeds.append(np.zeros((3, model.n)))
                else:
                    ends.append(frames.point(each.link, local))
                    speeds.append(jacobian_at(model, frames, each.link, ends[-1]).Jv)
            joints = [x for a, b in zip(speeds[0].T, speeds[1].T, strict=True) for x in (*a, *b)]
            rows.append([*ends[0], *ends[1], each.radius, *np.zeros(6), *joints])
        return {"wish": back + damped(J, v - J @ back, self.damping), "rows": matrix(rows)}


def _pair(_: None, x: Scalars, y: Scalars) -> Scalars:
    """A row of the table: a, distance, the speed at which y comes."""
    pair = separation(x[:ROW], y[:ROW])
    along = []
    for first in range(ROW, len(x), 6):
        a: Any = 0.0
        for sign, row, part in ((1.0, x, pair.lambda_x), (-1.0, y, pair.lambda_y)):
            start, end = dot(row[first : first + 3], pair.normal), dot(row[first + 3 : first + 6], pair.normal)
            a = a + sign * (start + part * (end - start))
        along.append(a)
    return vector(*along, pair.distance, pair.speed_y)


class At(NamedTuple):
    """The present."""

    wish: Array  # (n,)
    own: Array  # (R, 13 + 6 n)
    table: Array  # (P, n + 2)


class Present:
    """See the module's docstring."""

    def __init__(self, where: Place, people: int, capsules: int) -> None:
        arm, body, defaults = where.arm, where.body, Config()
        pull, n = defaults.attraction, arm.n
        self._ready, own, slots = arm.ready.copy(), len(body), people * capsules
        formula = _Arm(body.link_capsules, pull.kp, pull.max_speed, defaults.damping, defaults.posture)
        self._arm = compiled(formula, arm.model, {"q": (n,), "goal": (3,), "ready": (n,)}, name="barrier")
        moving = [int(k) for k in where.moving]
        first = [*(k for k in moving for _ in range(slots)), *(i for i, _ in body.self_pairs)]
        second = [*(own + k for _ in moving for k in range(slots)), *(j for _, j in body.self_pairs)]
        self.people = len(moving) * slots  # of the pairs: the first ones
        width = ROW + 6 * n
        self._rows = np.zeros((own + slots, width))
        self._found = self._arm.empty()._replace(rows=self._rows[:own])
        program = trace(_pair, None, {"x": (width,), "y": (width,)}, name="barriers", output="barriers")
        self._pairs = compiled(Table(program, own + slots, (tuple(first), tuple(second)))) if first else None
        self._table = np.zeros((0, n + 2)) if self._pairs is None else self._pairs.empty()
        self._own = own

    def __call__(self, q: Array, goal: Array, rows: Array) -> At:
        """At q (n,) with the tool's goal (3,), and people's rows (k, 13)."""
        self._arm(q, goal, self._ready, out=self._found)
        self._rows[self._own :, :ROW] = rows
        if self._pairs is not None:
            self._pairs(self._rows, out=self._table)
        found: Any = self._found
        return At(found.wish, self._rows[: self._own], self._table)
