"""What an exciting motion keeps to: limits of the joints, and margins to the floor and between links."""

from __future__ import annotations

import numpy as np

from ...arm import Arm
from ...avoidance import Limits
from ...avoidance.planning import Checker, World
from ...avoidance.safety.limits import Bounds
from ...errors import ConfigError
from ...geometry import Body, HalfSpace
from ..measurements import Array

INSIDE = 0.97  # of the limits, and beyond the margins, while descending
EDGE = 0.02  # of the range of positions, kept free at both ends
SLOPE = 1e-5  # rad or m: differences of clearances
ENOUGH = 0.6  # of the clearance at the centre: a margin that is wider is lowered to it
NO_SPEED, NO_LINEAR_SPEED = 2.0, 0.5  # rad/s, m/s where a joint has no limit


def bounds_of(arm: Arm, part: float, acceleration: float | None) -> Bounds:
    """The limits of an arm; `part` of those of speed and acceleration."""
    model, limits = arm.model, Limits()
    low, high = model.sampling_range()
    if not (high - low > 0.0).all():
        j = int(np.argmin(high - low))
        raise ConfigError(f"{arm.name}: joint {arm.joint_names[j]!r}: expected room to move; its limits leave none")
    turning = np.array([model.revolute(i) for i in range(arm.n)])
    speed = np.where(np.isfinite(model.velocity), model.velocity, np.where(turning, NO_SPEED, NO_LINEAR_SPEED))
    if not (speed > 0.0).all():
        j = int(np.argmin(speed))
        raise ConfigError(f"{arm.name}: joint {arm.joint_names[j]!r}: expected a speed limit above 0; got 0")
    most = np.where(turning, limits.acceleration, limits.linear_acceleration)
    most = most if acceleration is None else np.full(arm.n, acceleration)
    edge = EDGE * (high - low)
    effort = np.where(model.effort > 0.0, model.effort, np.inf)
    return Bounds(low + edge, high - edge, part * speed, part * most, effort)


def floor_world(floor: float | None) -> World:
    """Nothing but the floor at that height (m), or nothing at all."""
    return World([] if floor is None else [HalfSpace(np.array([0.0, 0.0, floor]), np.array([0.0, 0.0, 1.0]))])


class Clearance:
    """Margins to the floor and between links."""

    def __init__(self, arm: Arm, bounds: Bounds, floor: float | None, margin: float, centre: Array) -> None:
        world = floor_world(floor)
        self.notes: tuple[str, ...] = ()
        self.checker: Checker | None = None
        if not arm.model.capsules:
            self.notes = ("the arm has no shape: neither the floor nor its own links were looked at",)
            return
        self.world = world
        self.checker = Checker(Body(arm), lower=bounds.lower - 1e-9, upper=bounds.upper + 1e-9)
        there = float(self.checker.clearance(centre, world))
        if there <= 0.0:
            raise ConfigError(
                f"floor, margin: expected a configuration of {arm.name} that is clear of the floor and of itself, to "
                f"begin from; the best has {there:.3g} m: another floor (--floor), none (--no-floor), or another base"
            )
        self.margin = min(margin, ENOUGH * there)
        if self.margin < margin:
            self.notes = (f"the margin is {self.margin:.3f} m: at its centre the arm has {there:.3f} m alone",)
        self.against = self.checker.against(world, self.margin, self.margin)
        self.wanted = self.margin / INSIDE  # while descending

    def lack(self, q: Array) -> tuple[float, Array]:
        """What is missing of the margin, in margins, squared; and its slope by q (M, n)."""
        slope = np.zeros_like(q)
        if self.checker is None:
            return 0.0, slope
        wanted = max(self.wanted, 1e-6)
        missing = np.maximum(wanted - np.asarray(self.checker.clearance(q, self.world)), 0.0) / wanted
        near = np.flatnonzero(missing)
        if len(near):
            moved = q[near, None, None] + SLOPE * np.array([-1.0, 1.0])[:, None, None] * np.eye(q.shape[1])
            shape = moved.shape[:3]
            there = np.asarray(self.checker.clearance(moved.reshape(-1, q.shape[1]), self.world)).reshape(shape)
            slope[near] = -2.0 * missing[near, None] * (there[:, 1] - there[:, 0]) / (2.0 * SLOPE * wanted)
        return float((missing**2).sum()), slope

    def free(self, q: Array) -> bool:
        """Whether the whole motion along these rows keeps the margin."""
        return self.checker is None or bool(self.against.edges_free(q[:-1], q[1:]).all())

    def least(self, q: Array) -> float | None:
        """m, at the rows."""
        return None if self.checker is None else float(np.asarray(self.checker.clearance(q, self.world)).min())
