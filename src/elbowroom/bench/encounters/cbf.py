"""A control-barrier law as the literature has it: the command nearest to the wish that lets no distance fall too fast.

    min |qd - wish|^2 + RELAXED (s_1^2 + s_2^2)
    people        a . qd + s_1 >= v - GAMMA (d - CLEAR)       v: the person's speed towards the arm, or 0 ("static")
    itself, floor a . qd + s_2 >=   - GAMMA (d - NARROW)
    joints        GAMMA (lower - q) <= qd <= GAMMA (upper - q), within the velocity limits

with a = n^T J at the nearest points.  The wish is the K controller's own task without pushes: the attraction of the
package's defaults by damped least squares, and a pull to the ready posture in its null space.  People are where the
last frame has them.  Settings are round numbers, the same for all arms, and were not searched.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Config, Goal, State
from ...avoidance.control.obstacles import Obstacles
from ...errors import ElbowroomError
from ...geometry import Pairs
from ...geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y, NORMAL, SPEED_Y
from ...geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B
from .run import CAPSULES
from .scene import place

Array = NDArray[np.float64]

GAMMA = 4.0  # 1/s
CLEAR = 0.05  # m, from people
NARROW = 0.02  # m, from the arm itself and the floor
RELAXED = 1e3
NEAR = 0.6  # m: pairs farther apart do not count
FAST = 3.0  # m/s: more is asked of no row, or noise would rule


class BarrierLaw:
    """The law, with the person's velocity or without."""

    def __init__(self, arm: Arm, people: int, sensor: str, *, velocity: bool = True) -> None:
        try:
            self._solve = importlib.import_module("daqp").solve
        except ImportError as error:
            raise ElbowroomError("the CBF-QP law needs daqp: pip install '.[bench]'") from error
        self.velocity, self._people = velocity, people
        self._arm, where = arm, place(arm)
        self._body, self._floor, self._lifted = where.body, where.base[2], where.lifted
        self._own = len(self._body)
        moving = np.array(where.moving)
        own = self._body.self_pairs
        self._pairs = Pairs(self._own, people * CAPSULES, own)
        slots = people * CAPSULES
        self._first = (moving[:, None] * slots + np.arange(slots)).ravel()  # pairs of what moves with people
        self._capsule = np.repeat(moving, slots)
        self._i, self._j = np.array(own, dtype=int).reshape(-1, 2).T
        speed = arm.model.velocity
        self._speed = np.where(np.isfinite(speed), speed, 2.0)
        defaults = Config()
        self._attraction, self._damping, self._posture = defaults.attraction, defaults.damping, defaults.posture
        self.command = SimpleNamespace(qd=np.zeros(arm.n))

    def obstacles(self) -> Obstacles:
        """Places for people."""
        return Obstacles(self._people, 0, CAPSULES)

    def wish(self, q: Array, goal: Goal) -> Array:
        """(n,) the task alone."""
        arm, n = self._arm, self._arm.n
        error = goal.position - arm.pose(q)[:3, 3]
        v = self._attraction.kp * error
        v *= min(1.0, self._attraction.max_speed / max(float(np.linalg.norm(v)), 1e-9))
        Jv = arm.jacobian(q)[0]
        back = Jv.T @ np.linalg.inv(Jv @ Jv.T + self._damping**2 * np.eye(3))
        qd: Array = back @ v + (np.eye(n) - back @ Jv) @ (self._posture * (arm.ready - q))
        return qd

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Any:
        """The command for now; stands still where the problem has no answer."""
        q, n = state.q, self._arm.n
        wish = self.wish(q, goal)
        own = self._body.rows(q, np.zeros(n))
        moves = self._body.kernel(np.broadcast_to(q, (n, n)).copy(), np.eye(n))  # (n, R, 13) by each joint alone
        table = self._pairs(np.concatenate([own, obstacles.rows]))
        people, itself = table[self._first], table[self._own * self._people * CAPSULES :]
        near = people[:, DISTANCE] < NEAR
        people, capsule = people[near], self._capsule[near]
        rows = [_along(moves, capsule, people[:, LAMBDA_X], people[:, NORMAL])]
        comes = people[:, SPEED_Y] if self.velocity else 0.0
        need = [np.minimum(comes - GAMMA * (people[:, DISTANCE] - CLEAR), FAST)]
        if len(itself):
            normal = itself[:, NORMAL]
            first = _along(moves, self._i, itself[:, LAMBDA_X], normal)
            rows.append(first - _along(moves, self._j, itself[:, LAMBDA_Y], normal))
            need.append(-GAMMA * (itself[:, DISTANCE] - NARROW))
        for end, height in ((VELOCITY_A, 2), (VELOCITY_B, 5)):
            lifted = self._lifted[:, 0 if height == 2 else 1]
            rows.append(moves[:, lifted, end.start + 2].T)
            need.append(-GAMMA * (own[lifted, height] - own[lifted, RADIUS] - self._floor - NARROW))
        G, g = np.concatenate(rows), np.concatenate(need)
        slack = np.zeros((len(g), 2))
        slack[: len(people), 0], slack[len(people) :, 1] = 1.0, 1.0
        up = np.minimum(self._speed, GAMMA * np.maximum(self._arm.model.upper - q, 0.0))
        low = np.maximum(-self._speed, GAMMA * np.minimum(self._arm.model.lower - q, 0.0))
        found, _, flag, _ = self._solve(
            np.diag([*np.ones(n), RELAXED, RELAXED]),
            np.array([*-wish, 0.0, 0.0]),
            np.ascontiguousarray(np.hstack([G, slack])),
            np.array([*up, 1e3, 1e3, *np.full(len(g), 1e30)]),
            np.array([*low, 0.0, 0.0, *g]),
            np.zeros(n + 2 + len(g), dtype=np.intc),
        )
        self.command.qd = found[:n] if flag >= 1 else np.zeros(n)
        return self.command


def _along(moves: Array, capsule: Array, part: Array, normal: Array) -> Array:
    """(k, n): the speeds along normals (k, 3) that each joint gives to points of capsules."""
    at = moves[:, capsule, VELOCITY_A] * (1.0 - part)[:, None] + moves[:, capsule, VELOCITY_B] * part[:, None]
    speeds: Array = np.einsum("jkc,kc->kj", at, normal)
    return speeds
