"""The CBF-QP law's problem, written by three compiled calls: of the arm, of its pairs with people, of its own pairs.

    problem = BarrierProblem(where, people, capsules, BarrierSettings())
    problem.state(q, goal, rows)        rows (k, 13): people's
    daqp.solve(problem.H, problem.f, problem.A, problem.upper, problem.lower, sense)

x is the joint speeds and s_1, s_2.  `lower` and `upper` hold the bounds of x, then those of the rows A x: first the
pairs of each capsule that moves with each of people's, then the arm's own (`self_pairs`), then what could meet the
floor.  A row of a pair that does not count has no bound.

A row of the arm's capsules is one of shapes.ROW, and after it how fast each joint alone moves both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, Table, maximum, minimum, sqrt, trace, where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import matrix, vector
from ...avoidance import Config
from ...avoidance.control.least_squares import damped
from ...compile import compiled
from ...compile.pipeline import Call, Pipeline
from ...dynamics.kinematics import forward_kinematics, jacobian_at
from ...errors import ElbowroomError
from ...geometry import ROW
from ...geometry.distance import separation
from ...geometry.segments import dot
from ...model import LinkCapsule, Model
from ...model.capsules import BASE
from .scene import Place

Array = NDArray[np.float64]
FREE = 1e30  # of a row without a bound
SLACK = 1e3  # most of s_1 and s_2


@dataclass(frozen=True)
class BarrierSettings:
    """See the docstring of methods.py."""

    gamma: float = 4.0  # 1/s
    clear: float = 0.05  # m, from people
    narrow: float = 0.02  # m, from the arm itself and the floor
    relaxed: float = 1e3
    near: float = 0.6  # m: pairs farther apart do not count
    fast: float = 3.0  # m/s: more is asked of no row, or noise would rule
    velocity: bool = True  # whether the person's counts


@dataclass(frozen=True)
class _Arm:
    """The arm's part: what the K controller's task alone would do, the rows of its capsules, bounds, and the floor."""

    capsules: tuple[LinkCapsule, ...]
    lifted: tuple[tuple[int, int], ...]  # capsules, and which of their ends
    set: BarrierSettings
    gain: float
    most: float  # m/s
    damping: float
    posture: float

    def __call__(self, model: Model, q: Scalars, goal: Scalars, fixed: Scalars) -> dict[str, Scalars]:
        n, gamma = model.n, self.set.gamma
        ready, lower, upper, speed, floor = (*fixed[: 4 * n].reshape(4, n), fixed[-1])
        frames, last = forward_kinematics(model, q), n - 1
        tool = frames.point(last, model.tool[:3, 3])
        error = goal - tool
        v, asked = self.gain * error, self.gain * sqrt(dot(error, error))
        v = v * where(asked > self.most, self.most / where(asked > self.most, asked, 1.0), 1.0)
        J, back = jacobian_at(model, frames, last, tool).Jv, self.posture * (ready - q)
        wish = back + damped(J, v - J @ back, self.damping)
        ends, moves = [], []
        for each in self.capsules:
            for local in map(np.array, (each.a, each.b)):
                fixed_there = each.link == BASE
                ends.append(
                    model.base[:3, 3] + model.base[:3, :3] @ local if fixed_there else frames.point(each.link, local)
                )
                moves.append(np.zeros((3, n)) if fixed_there else jacobian_at(model, frames, each.link, ends[-1]).Jv)
        rows = [
            [*ends[2 * k], *ends[2 * k + 1], each.radius, *np.zeros(6)]
            + [x for a, b in zip(moves[2 * k].T, moves[2 * k + 1].T, strict=True) for x in (*a, *b)]
            for k, each in enumerate(self.capsules)
        ]
        high = [minimum(s, gamma * maximum(up - x, 0.0)) for x, up, s in zip(q, upper, speed, strict=True)]
        low = [maximum(-s, gamma * minimum(down - x, 0.0)) for x, down, s in zip(q, lower, speed, strict=True)]
        found = {
            "rows": matrix(rows),
            "pull": vector(*(-x for x in wish), 0.0, 0.0),
            "low": vector(*low, 0.0, 0.0),
            "high": vector(*high, SLACK, SLACK),
        }
        if self.lifted:
            at = [2 * k + end for k, end in self.lifted]
            found["floor"] = matrix([[*moves[k][2], 0.0, 1.0] for k in at])
            heights = [(ends[m][2], self.capsules[k].radius) for m, (k, _) in zip(at, self.lifted, strict=True)]
            found["floor_low"] = vector(*(-gamma * (z - radius - floor - self.set.narrow) for z, radius in heights))
        return found


@dataclass(frozen=True)
class _Pair:
    """A row of the problem, [a, slack], and its bound."""

    itself: bool
    set: BarrierSettings

    def __call__(self, _: None, x: Scalars, y: Scalars) -> dict[str, Scalars]:
        pair, chosen = separation(x[:ROW], y[:ROW]), self.set
        a = []
        for first in range(ROW, len(x), 6):
            speed: Scalar = 0.0
            for sign, row, part in ((1.0, x, pair.lambda_x), (-1.0, y, pair.lambda_y))[: 2 if self.itself else 1]:
                start, end = dot(row[first : first + 3], pair.normal), dot(row[first + 3 : first + 6], pair.normal)
                speed = speed + sign * (start + part * (end - start))
            a.append(speed)
        if self.itself:
            return {"a": vector(*a, 0.0, 1.0), "least": vector(-chosen.gamma * (pair.distance - chosen.narrow))}
        comes = pair.speed_y if chosen.velocity else 0.0
        least = minimum(comes - chosen.gamma * (pair.distance - chosen.clear), chosen.fast)
        return {"a": vector(*a, 1.0, 0.0), "least": vector(where(pair.distance < chosen.near, least, -FREE))}


class BarrierProblem:
    """See the module's docstring."""

    def __init__(self, where: Place, people: int, capsules: int, settings: BarrierSettings) -> None:
        arm, body, defaults = where.arm, where.body, Config()
        pull, n, own, slots = defaults.attraction, arm.n, len(body), people * capsules
        lifted = tuple((int(k), int(end)) for end in (0, 1) for k in np.flatnonzero(where.lifted[:, end]))
        moving = [int(k) for k in where.moving]
        met = [(k, other) for k in moving for other in range(slots)]
        between = list(body.self_pairs)
        speed = np.where(np.isfinite(arm.model.velocity), arm.model.velocity, 2.0)
        limits = np.clip([arm.model.lower, arm.model.upper], -FREE, FREE)
        fixed = np.concatenate([arm.ready, *limits, speed, [where.base[2]]])
        count, width = len(met) + len(between) + len(lifted), n + 2
        self.H = np.diag([*np.ones(n), settings.relaxed, settings.relaxed])
        self.A, self.lower, self.upper = np.zeros((count, width)), np.zeros(width + count), np.full(width + count, FREE)
        takes = np.zeros(n), np.zeros(3), np.zeros((slots, ROW))
        mine = np.zeros((own, ROW + 6 * n))
        formula = _Arm(
            body.link_capsules, lifted, settings, pull.kp, pull.max_speed, defaults.damping, defaults.posture
        )
        ports = {"q": (n,), "goal": (3,), "fixed": fixed.shape}
        of_arm = compiled(formula, arm.model, ports, name="barrier_arm")
        places = {"rows": mine, "low": self.lower[:width], "high": self.upper[:width]}
        if lifted:
            places |= {"floor": self.A[-len(lifted) :], "floor_low": self.lower[-len(lifted) :]}
        found: Any = of_arm.empty()._replace(**places)
        self.f: Array = found.pull
        calls, first = [Call(of_arm, (*takes[:2], fixed), found)], 0
        for itself, pairs, others in ((False, met, takes[2]), (True, between, mine)):
            last = first + len(pairs)
            if pairs:
                shapes = {"x": mine.shape[1:], "y": others.shape[1:]}
                program = trace(_Pair(itself, settings), None, shapes, name="barriers")
                table = compiled(Table(program, (len(mine), len(others)), tuple(zip(*pairs, strict=True))))
                bounds = self.lower[width + first : width + last].reshape(-1, 1)
                calls.append(Call(table, (mine, others), (self.A[first:last], bounds)))
            first = last
        self._run = Pipeline(calls, takes=takes).run

    def state(self, q: Array, goal: Array, rows: Array) -> None:
        """The problem at q (n,) with the tool's goal (3,), and people's rows (k, 13)."""
        refused = self._run(q, goal, rows)
        if refused is not None:
            raise ElbowroomError(f"CBF-QP: joints, goal and people must be finite; {refused.input} is not")
