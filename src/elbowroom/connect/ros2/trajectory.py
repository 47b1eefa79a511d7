"""Short trajectories for a controller that takes positions: where the arm goes at a commanded speed, and how it ends.

A trajectory begins at the reference q_r: the last position that the supervisor accepted, and what the trajectories sent
since lead to.  In a stop nothing is taken from joint states any more: a state that was refused, or that does not come,
must not become a position that the arm is sent to.

    moving         q_r + H v at v after H = `HORIZON`, then at rest after the ramp r: q_r + (H + r / 2) v
    stopped        at rest after r at q_r + r / 2 v, v the speed sent last; the same end in every further message

r = max(H, |v| / 4 v_max): a quarter second from the fastest.  Positions are within the joints' limits, or as far out
as the reference is already; what is not finite is never part of one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...cell.recording.ros_messages import Value, stamp

Array = NDArray[np.float64]

HORIZON = 0.05  # s that a trajectory goes on at the commanded speed


class Trajectories:
    """The trajectories of an arm, one after the other."""

    def __init__(self, arm: Arm) -> None:
        velocity = np.maximum(arm.model.velocity, 0.0)
        self._names, self._fastest = arm.joint_names, np.where(velocity > 0, velocity, 1.0)
        self._lower, self._upper = np.array(arm.model.lower), np.array(arm.model.upper)
        self.reference: Array | None = None  # where the arm is to be now
        self._speed, self._when = np.zeros(arm.n), -math.inf  # sent last, and when
        self._seen = -math.inf  # s, of the last state that was taken
        self._rest: Array | None = None  # where a stop ends
        self._ends = 0.0

    def moving(self, speed: Array, q: Array, t: float, now: float) -> Value | None:
        """On at this speed from q, which was so at t and which the supervisor accepted; None if nothing is known."""
        self._pass(now)
        if t > self._seen and np.isfinite(q).all():
            self._seen, self.reference = t, q + self._way(max(now - t, 0.0))
        return self._onwards(speed)

    def stopping(self, speed: Array, now: float) -> Value | None:
        """In a stop: on at this speed, or to rest if that is 0; no state is taken.  None if none ever was."""
        self._pass(now)
        if speed.any():
            return self._onwards(speed)
        if self.reference is None:
            return None
        if self._rest is None:
            ramp = self._ramp(self._speed)
            self._rest, self._ends = self._within(self.reference + 0.5 * ramp * self._speed), now + ramp
            self.reference, self._speed = self._rest, np.zeros_like(self._speed)
        return self._message((self._rest, self._speed, max(self._ends - now, HORIZON)))

    def _onwards(self, speed: Array) -> Value | None:
        if self.reference is None:
            return None
        self._rest, self._speed = None, speed.copy()
        ramp = self._ramp(speed)
        ahead = self.reference + HORIZON * speed
        inside = self._within(ahead)
        rest = self._within(ahead + 0.5 * ramp * speed)
        through = np.where(inside == ahead, speed, 0.0)
        return self._message((inside, through, HORIZON), (rest, np.zeros_like(speed), HORIZON + ramp))

    def _pass(self, now: float) -> None:
        """The reference goes on along the last trajectory."""
        if self.reference is not None and self._rest is None:
            self.reference = self._within(self.reference + self._way(max(now - self._when, 0.0)))
        self._when = now

    def _way(self, seconds: float) -> Array:
        """How far the last trajectory leads in so long."""
        ramp = self._ramp(self._speed)
        braking = min(max(seconds - HORIZON, 0.0), ramp)
        return self._speed * (min(seconds, HORIZON) + braking - 0.5 * braking * braking / ramp)

    def _ramp(self, speed: Array) -> float:
        return max(HORIZON, float(np.max(np.abs(speed) / (4.0 * self._fastest))))

    def _within(self, q: Array) -> Array:
        """Within the limits, or no farther out than the reference."""
        known = q if self.reference is None else self.reference
        return np.clip(q, np.minimum(self._lower, known), np.maximum(self._upper, known))

    def _message(self, *points: tuple[Array, Array, float]) -> Value | None:
        if not all(np.isfinite(q).all() for q, _, _ in points):
            return None
        none: tuple[float, ...] = ()
        told = tuple(
            (tuple(q.tolist()), tuple(speed.tolist()), none, none, stamp(round(1e9 * after)))
            for q, speed, after in points
        )
        return ((0, 0), ""), self._names, told
