"""Joint speed limits of one cycle: the box of speeds that keeps each joint within its range, and the stop ramp.

A joint that follows the box can always stop before its position limit (`braking_speed` of separation_speed.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algebra import absolute, maximum, minimum, where
from ...algebra.linalg import Array, vector
from .folds import largest
from .separation_speed import braking_speed


class Box(NamedTuple):
    """What the joints can do in this cycle, and the ramp to a standstill from where they are: it may brake harder."""

    low: Array  # (n,)
    up: Array
    last: Array  # (n,) the command before
    left: Any  # the part of it that is the ramp's next command
    rest: Any  # s, that this one still takes
    stopping: Any  # T_s, s, from the worst corner
    cornered: Any = False  # whether even the ramp is not certified

    def within(self, stop: Array, time: Any, dt: Any) -> Box:
        """What of it can be stopped in a time (s).

        Where that is shorter than the ramp's, no joint exceeds the ramp, and each may brake as hard as a stop does.
        """
        lasting = maximum(time, self.rest)
        cornered = time < self.rest
        low, up = [], []
        for lo, hi, a, v, r in zip(self.low, self.up, stop, self.last, self.ramp, strict=True):
            most, hard = a * lasting, a * dt
            least, greatest = minimum(maximum(lo, -most), most), minimum(maximum(hi, -most), most)
            low.append(where(cornered, minimum(maximum(v - hard, 0.0), r), least))
            up.append(where(cornered, maximum(minimum(v + hard, 0.0), r), greatest))
        return self._replace(low=vector(*low), up=vector(*up), stopping=lasting, cornered=cornered)

    @property
    def ramp(self) -> Array:
        """(n,) its next command."""
        return self.last * self.left


def ramp(last: Array, stop: Array, dt: Any) -> tuple[Any, Any]:
    """What part of `last` (n,) the next command of the stop ramp is, and how long (s) that one still takes to stop.

    `stop` (n,) decelerates; directions stay.
    """
    duration = largest(absolute(v) / a for v, a in zip(last, stop, strict=True))
    rest = maximum(duration - dt, 0.0)
    return where(duration > 0.0, rest / where(duration > 0.0, duration, 1.0), 0.0), rest


def joint_box(q: Array, last: Array, change: Array, b: Any, rules: Any, dt: Any, pace: Any) -> Box:
    """The box of speeds: velocity, acceleration, change of acceleration, and the ends of the joints.

    Before a joint's end there is room to brake, and room for the ramp too, which brakes all joints in the same time:
    the joint goes on for the horizon and then half of T_s.  The latter gives way to the acceleration; the end does not.
    """
    stop = b.acceleration * rules.stop_factor
    low, up = [], []
    for j, v in enumerate(last):
        most, step = b.velocity[j] * pace, b.acceleration[j] * dt
        least, greatest = minimum(maximum(v - step, -most), v + step), maximum(minimum(v + step, most), v - step)
        if rules.jerk is not None:
            swing = rules.jerk * step * dt  # from the last change, or from none: ceasing to accelerate is always free
            least = maximum(least, minimum(v + minimum(change[j], 0.0) - swing, greatest))
            greatest = minimum(greatest, maximum(v + maximum(change[j], 0.0) + swing, least))
        low.append(least)
        up.append(maximum(greatest, least))
    stopping = largest(maximum(absolute(x), absolute(y)) / a for x, y, a in zip(low, up, stop, strict=True))
    lasting = rules.horizon + 0.5 * stopping
    for j in range(len(low)):
        room, behind = (maximum(margin, 0.0) for margin in (b.upper[j] - q[j], q[j] - b.lower[j]))
        forth, back = (braking_speed(margin, b.acceleration[j], rules.horizon) for margin in (room, behind))
        least, greatest = low[j], up[j]
        up[j] = minimum(greatest, maximum(room / lasting, least))
        low[j] = maximum(least, minimum(-behind / lasting, greatest))
        up[j], low[j] = minimum(maximum(up[j], -back), forth), maximum(minimum(low[j], forth), -back)
    return Box(vector(*low), vector(*up), last, *ramp(last, stop, dt), stopping)
