"""Following a route: a moving goal for the controller, with the joints of the route as its rest posture.

A route is joints over time, q(s).  The follower runs its clock s and gives the controller what that makes of the tool:

    goal      position, velocity and rotation of the tool at q(s)
    posture   q(s) + q'(s) s' / gain, so that the pull to it in the null space, gain (posture - q), is that of a
              controller of joints with the route's own speed fed forward

The clock runs at the rate

    s' = min(1, speed / |v_tool(s)|) (1 - lag / leash),    not below 0

where lag is the farthest that any joint is off q(s); a route with little room has a shorter leash (`PER_MARGIN`).  So
an arm that the supervisor slows, or holds, is waited for, and the filter need not know of the route.  Meanwhile the
field of people and things reaches less far than the route's margin: the planner kept that margin, and the field would
push the arm off its route.  All else stays as it is, above all the supervisor, which judges the commands on a route as
any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ConfigError, ShapeError
from ..control.command import Goal

if TYPE_CHECKING:
    from ..control.controller import Controller
    from .settings import Planning

Array = NDArray[np.float64]
WITHIN = 0.8  # of the route's margin: how far the field reaches meanwhile
ABOVE_FLOOR = 1.05  # times the field's floor: it must reach farther than that
PER_MARGIN, LESS, SHORTEST = 5.0, 0.004, 0.02  # rad or m a metre of margin, less so much (m), and at least
ARRIVED = 0.015  # rad or m: joints so near to the route's end have arrived
SETTLING = 1.0  # s after its end in which an arm that does not quite come there still counts as following


class JointState(NamedTuple):
    """Joints of a route at a time."""

    q: Array  # (n,)
    qd: Array  # (n,)


class TimedRoute(Protocol):
    """Joints over time: a planner's Route, or a SampledRoute."""

    @property
    def duration(self) -> float:
        """s."""

    def at(self, t: float) -> tuple[Array, Array]:
        """q (n,) and qd (n,) at t; the ends hold before and after."""


class SampledRoute:
    """Joints and their speeds at even times, cubic in between: continuous in both."""

    def __init__(self, q: ArrayLike, qd: ArrayLike, duration: float) -> None:
        self.q, self.qd, self.duration = np.array(q, dtype=float), np.array(qd, dtype=float), float(duration)
        if self.q.ndim != 2 or len(self.q) < 2 or self.q.shape != self.qd.shape:
            raise ShapeError(
                f"a sampled route must have q and qd of one shape (k, n), k >= 2; got {self.q.shape}, {self.qd.shape}"
            )
        if not (np.isfinite(self.q).all() and np.isfinite(self.qd).all() and 0.0 < self.duration < np.inf):
            raise ConfigError(f"a sampled route must be finite and take some time; got {self.duration} s")
        self._step = self.duration / (len(self.q) - 1)

    @classmethod
    def of(cls, route: TimedRoute, samples: int) -> SampledRoute:
        """Another route, at so many times."""
        states = [route.at(t) for t in np.linspace(0.0, route.duration, samples)]
        q, qd = (np.array(part) for part in zip(*states, strict=True))
        qd[-1] = 0.0
        return cls(q, qd, route.duration)

    def __len__(self) -> int:
        return len(self.q)

    def index(self, t: float) -> int:
        """The sample at t, or the last one before."""
        return min(max(int(t / self._step), 0), len(self.q) - 1)

    def at(self, t: float) -> JointState:
        """q (n,) and qd (n,) at t; before and after it the joints rest at the ends."""
        if not 0.0 <= t < self.duration:
            end = 0 if t < self.duration else -1
            return JointState(self.q[end], np.zeros_like(self.q[end]))
        k = min(int(t / self._step), len(self.q) - 2)
        h, x = self._step, t / self._step - k
        a, b, va, vb = self.q[k], self.q[k + 1], self.qd[k] * h, self.qd[k + 1] * h
        q = a + x * (va + x * (3.0 * (b - a) - 2.0 * va - vb + x * (2.0 * (a - b) + va + vb)))
        qd = (va + x * (2.0 * (3.0 * (b - a) - 2.0 * va - vb) + 3.0 * x * (2.0 * (a - b) + va + vb))) / h
        return JointState(q, qd)


class Follower:
    """Turns a route into goals for one controller.  `begin`, then `step` while it is `active`; `end` at any time."""

    def __init__(self, controller: Controller, settings: Planning) -> None:
        self.controller, self.settings, self._arm = controller, settings, controller.arm
        self.goal = Goal(self._arm.pose(self._arm.ready)[:3, 3])
        self.route: TimedRoute | None = None
        self.clock = self.lag = 0.0
        self.beside = False  # the field is still that of a route
        self._field: dict[str, float] = {}
        self._over, self._leash = 0.0, settings.leash
        self._posture = controller.posture.copy()

    @property
    def active(self) -> bool:
        """Whether a route is followed."""
        return self.route is not None

    @property
    def left(self) -> float:
        """How much of the route lies ahead at its own pace, s."""
        return 0.0 if self.route is None else max(self.route.duration - self.clock, 0.0)

    def begin(self, route: TimedRoute, margin: float) -> None:
        """From the route's beginning; people who stand and things are `margin` (m) from it, or more."""
        if self.route is None:
            self._posture[:] = self.controller.posture
        self.route, self.clock, self._over = route, 0.0, 0.0
        self._leash = min(self.settings.leash, max(PER_MARGIN * (margin - LESS), SHORTEST))
        config = self.controller.config
        influence = max(WITHIN * margin, ABOVE_FLOOR * config.repulsion.floor)
        influence = min(influence, config.repulsion.influence)
        self._field = {"repulsion.influence": influence, "repulsion.lookahead": 0.0}
        if config.waiting is not None:
            self._field["waiting.influence"] = influence
        self.controller.override(self._field | {"posture": self.settings.gain})

    def end(self, *, beside: bool = False) -> None:
        """The controller as it was before the route; `beside`: but for its field, until `restore`.

        An arm that went around somebody who stands may have to work there, nearer than the field lets it.
        """
        if self.route is not None:
            self.route, self.beside = None, beside
            self.controller.posture[:] = self._posture
            self.controller.override(self._field if beside else {})

    def restore(self) -> None:
        """The field as it was, too."""
        if self.beside and self.route is None:
            self.controller.override({})
        self.beside = False

    def step(self, dt: float, q: Array) -> Goal:
        """The goal for now, dt (s) after the last; q (n,) are the joints as measured.

        After the last step of a route `active` is False, the goal stays, and so does the field until `restore`.
        """
        if self.route is None:
            return self.goal
        route, arm, rules, goal = self.route, self._arm, self.settings, self.goal
        q_route, qd_route = route.at(self.clock)
        self.lag = float(np.abs(q - q_route).max())
        fastest = float(np.linalg.norm(arm.jacobian(q_route)[0] @ qd_route))
        rate = min(1.0, rules.speed / fastest) if fastest > 0.0 else 1.0
        rate *= max(0.0, 1.0 - self.lag / self._leash)
        self.clock = min(self.clock + rate * max(dt, 0.0), route.duration)
        q_route, qd_route = route.at(self.clock)
        speed = rate * np.asarray(qd_route)
        pose = arm.pose(q_route)
        goal.position, goal.rotation = pose[:3, 3], pose[:3, :3]
        goal.velocity = arm.jacobian(q_route)[0] @ speed
        self.controller.posture[:] = q_route + speed / rules.gain
        if self.clock >= route.duration:
            self._over += dt
            if self.lag < ARRIVED or self._over > SETTLING:
                goal.velocity = 0.0
                self.end(beside=True)
        return goal
