"""Joint limits of one cycle: the box of speeds that keeps each joint within its range, the stop ramp, and torques.

Before a limit that is `margin` away a joint must be able to stop, though a command is held for h until the next:

    margin >= v h + v^2 / (2 a),    so    v <= sqrt((a h)^2 + 2 a margin) - a h,    and 0 at and beyond the limit

One step of h or less later the bound has fallen by a h at most, so that a joint that follows it never passes the limit
and never brakes harder than a.
"""

from __future__ import annotations

from typing import NamedTuple

from ....algebra import Condition, Scalar, absolute, maximum, minimum, sqrt, where
from ....algebra.functions import largest
from ....algebra.linalg import Array, vector
from ..limits import Bounds, FilterRules


def braking_speed(margin: Scalar, deceleration: Scalar, horizon: Scalar) -> Scalar:
    """The greatest speed towards a limit that is `margin` away, if a command may last for `horizon` (s)."""
    run = deceleration * horizon
    return sqrt(run * run + 2.0 * deceleration * maximum(margin, 0.0)) - run


class Box(NamedTuple):
    """The speeds that the joints can have in this cycle, and the ramp to a standstill, which may brake harder."""

    low: Array  # (n,)
    up: Array
    last: Array  # (n,) the command before
    left: Scalar  # the part of it that is the ramp's next command
    rest: Scalar  # s, that this one still takes
    stopping: Scalar  # T_s, s, from the worst corner
    cornered: Condition = False  # whether even the ramp is not certified

    def within(self, stop: Array, time: Scalar, dt: Scalar) -> Box:
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


def ramp(last: Array, stop: Array, dt: Scalar) -> tuple[Scalar, Scalar]:
    """What part of `last` (n,) the next command of the stop ramp is, and how long (s) that one still takes to stop.

    `stop` (n,) decelerates; directions stay.
    """
    duration = largest(absolute(v) / a for v, a in zip(last, stop, strict=True))
    rest = maximum(duration - dt, 0.0)
    return where(duration > 0.0, rest / where(duration > 0.0, duration, 1.0), 0.0), rest


def joint_box(q: Array, last: Array, change: Array, b: Bounds, rules: FilterRules, dt: Scalar, pace: Scalar) -> Box:
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


# ---- what these leave of a wish
def scale(values: Array, most: Array) -> Scalar:
    """The greatest factor in [0, 1] that brings every value within its bound."""
    scale: Scalar = 1.0
    for value, bound in zip(values.tolist(), most.tolist(), strict=True):
        size = absolute(value)
        scale = minimum(scale, where(size > bound, bound / where(size > 0, size, 1.0), 1.0))
    return scale


def reached(last: Array, wanted: Array, box: Box) -> Array:
    """What the box lets through of a wish: as far as all joints can change together, so that the tool goes straight.

    A joint that is out of the box where it is, at its end or too fast, changes alone.
    """
    part: Scalar = 1.0
    change = wanted - last
    for v, c, lo, up in zip(last, change, box.low, box.up, strict=True):
        room = where(c > 0.0, up, lo) - v
        over = (room * c > 0.0) & (absolute(c) > absolute(room))
        part = minimum(part, where(over, room / where(over, c, 1.0), 1.0))
    moved = [where(part < 1.0, v + part * c, w) for v, c, w in zip(last, change, wanted, strict=True)]
    return vector(*(minimum(maximum(m, lo), up) for m, lo, up in zip(moved, box.low, box.up, strict=True)))


def braked(speed: Array, q: Array, bounds: Bounds, horizon: Scalar) -> tuple[Array, Scalar]:
    """Speeds from which every joint can still stop before its limits, and 0 if any had to be slowed, else 1."""
    held = []
    free: Scalar = 1.0
    for i, v in enumerate(speed.tolist()):
        a = bounds.acceleration[i]
        up = braking_speed(bounds.upper[i] - q[i], a, horizon)
        down = braking_speed(q[i] - bounds.lower[i], a, horizon)
        v_held = minimum(maximum(v, -down), up)
        free = where(v > up, 0.0, where(v < -down, 0.0, free))
        held.append(v_held)
    return vector(*held), free


def bounded_torque(tau: Array, bias: Array, effort: Array) -> tuple[Array, Scalar]:
    """bias + s (tau - bias) within the efforts, s in [0, 1]; a bias beyond them is held joint by joint."""
    scale: Scalar = 1.0
    for asked, carried, most in zip(tau.tolist(), bias.tolist(), effort.tolist(), strict=True):
        edge = where(asked > 0, most, -most)
        room, wanted = edge - carried, asked - carried
        within = where(wanted * room > 0, room / where(wanted == 0, 1.0, wanted), 0.0)
        scale = minimum(scale, where(absolute(asked) > most, within, 1.0))
    scaled = [
        minimum(maximum(b + scale * (a - b), -most), most)
        for a, b, most in zip(tau.tolist(), bias.tolist(), effort.tolist(), strict=True)
    ]
    return vector(*(where(scale < 1, s, a) for s, a in zip(scaled, tau.tolist(), strict=True))), scale
