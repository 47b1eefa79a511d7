"""Checks of time and of the joint state: does the clock run as it should, and can the reported joints be true?

Time is what the caller says it is (s, monotonic); this room reads no clock.  The time between cycles is measured from
it, since a period is only what was meant.  With g the gap to the last cycle and T the period:

    STOP_OVERRUN        `max_overruns` late cycles in a row (g > 1.5 T), or one late by more than `max_overrun` T
    STOP_STATE_STALE    g < 0, g > clock_step or no number: the clock stepped
                        a joint state older than max_state_age, from the future, or older than the one before
                        the same joint state, or the same time, for more than max_repeats further cycles

A joint state can be true where the joint can be, and if the motion that it reports leads there.

q, qd and the stamp are of this reading, q-, qd- of the one before, h the time between the two stamps, w the speed that
the joint was given for that time.  A joint is not believed if

    F29   |q| > UNLIMITED                                          sine and cosine have few digits or none there
    F26   |q - q- - h (qd- + qd) / 2| - slack > position_jump      slack = h (|qd - qd-| + a h) / 2, since the speed
                                                                   between the readings may have been either of the
                                                                   two, and beyond them by what braking (a) changes
    F27   q is beyond its limit by more than limit_excess          up to that, only motion back is let through (F7)
    F28   |s| > following_error                                    s' = s + w h, brought nearer to 0 by 2 |dx|: motion
                                                                   that was commanded and not made; a joint that makes
                                                                   half of it owes nothing

x is the position without noise: it stays while q is within encoder_noise of it, else it follows q at that distance.
w is the last command; of a torque controller, whose command is no speed, it is (qd- + qd) / 2.  A drive that is
`latency` late owes up to a latency^2 while it accelerates: a following_error below that counts as that.

Each reading is held against the one before alone.  A position that goes astray by less than position_jump a reading is
not found, nor is a joint that stands and trembles by more than encoder_noise.

F26, F27 and F29 are STOP_STATE_INVALID, in the cycle that shows them.  F28 is STOP_STATE_STALE, in the cycle in which
the joint owes too much; then the debt is cancelled, or no reset could ever be taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import Condition, Scalar, absolute, maximum, minimum, where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...arm import Arm
from ...compile import compiled
from ..control.command import Status, finite_numbers
from ..copies import Rebuilt
from .limits import UNLIMITED, Bounds, Limits
from .perception import Note

LATE = 1.5  # periods between cycles from which one counts as late: a half is jitter


def on_time(t: Scalar, state_t: Scalar, memory: Scalars, rules: Scalars) -> Condition:
    """Whether a cycle is an ordinary one: in time, with a joint state that is newer than the last and not old."""
    gap, age = t - memory[0], t - state_t
    latest, oldest, tolerance = rules
    return (gap > 0.0) & (gap <= latest) & (state_t > memory[1]) & (age >= -tolerance) & (age <= oldest)


def ticked(t: Scalar, state_t: Scalar, memory: Scalars) -> list[Scalar]:
    """`CycleTiming.memory` after such a cycle."""
    return [t, state_t, t - memory[0], 0.0, 0.0, 0.0]


class CycleTiming:
    """Checks of the time between cycles; `tick` once a cycle."""

    def __init__(self, limits: Limits, period: float, note: Note) -> None:
        self.period = period
        self.longest = (1 + limits.max_overrun) * period
        self.stop: Status | None = None  # of the last tick, and why
        self.reason = ""
        self.stepped = False  # whether the clock went back in the last tick, or was no number
        self.overruns = 0  # counted
        self._limits, self._note = limits, note
        self._on_time = LATE * period
        self._max_age, self._tolerance = limits.max_state_age, limits.clock_tolerance
        self.rules = np.array([self._on_time, self._max_age, self._tolerance])
        self.memory = np.array([math.nan, math.nan, period, 0.0, 0.0, 0.0])
        """(6,) of the last cycle: its time and the joint state's; dt (s), measured, at most `longest`; and how many
        cycles in a row were late, had the same joint state, had the same time.  Compiled code writes it too."""

    @property
    def dt(self) -> float:
        """The time between the last two cycles, s."""
        return float(self.memory[2])

    def tick(self, t: float, dt: float, state_t: float) -> Status | None:
        """None if all is well, else the stop that it takes, with `reason`."""
        self.stepped = False
        if on_time(t, state_t, self.memory, self.rules):
            self.memory[:] = ticked(t, state_t, self.memory)
            self.stop = None
        else:
            self.stop = self._examine(t, dt, state_t)
        return self.stop

    def _examine(self, t: float, dt: float, state_t: float) -> Status | None:
        before, previous, _, late_run, repeats, stands = self.memory.tolist()
        gap = t - before
        if not math.isfinite(t):
            self.stepped, self.memory[2] = True, 0.0
            return self._stale(f"the time must be a number; got {t}")
        if math.isnan(before):
            gap = dt if 0.0 < dt <= self.longest else self.period
        self.stepped = gap < 0.0
        late = gap > self._on_time
        late_run = late_run + 1 if late else 0
        repeats = repeats + 1 if state_t == previous else 0
        stands = stands + 1 if gap == 0.0 else 0
        self.memory[:] = t, state_t, min(max(gap, 0.0), self.longest), late_run, repeats, stands
        if gap < 0.0:
            return self._stale(f"time ran back by {-gap:g} s")
        if gap > self._limits.clock_step:
            return self._stale(f"the clock stepped by {gap:g} s")
        if stands > self._limits.max_repeats:
            return self._stale(f"time stood still for {stands:g} cycles")
        if not -self._tolerance <= t - state_t <= self._max_age:
            return self._stale(f"the joint state is older than max_state_age, {self._max_age:g} s: {t - state_t:.4f} s")
        if state_t < previous:
            return self._stale(f"the joint state is {previous - state_t:g} s older than the one before")
        if repeats > self._limits.max_repeats:
            return self._stale(f"the joint state was repeated {repeats:g} times")
        return self._overrun(t, gap, late_run) if late else None

    def _stale(self, reason: str) -> Status:
        self.reason = reason
        return Status.STOP_STATE_STALE

    def _overrun(self, t: float, gap: float, late_run: float) -> Status | None:
        self.overruns += 1
        periods = gap / self.period - 1.0
        self._note("overruns", t, f"a cycle was {periods:.1f} periods late")
        if periods > self._limits.max_overrun + 0.5:
            self.reason = f"a cycle was {periods:.1f} periods late; at most {self._limits.max_overrun} is allowed"
        elif late_run >= self._limits.max_overruns:
            self.reason = f"{late_run:g} cycles in a row were late"
        else:
            return None
        return Status.STOP_OVERRUN


Array = NDArray[np.float64]
CHECKS = ("position_jump", "limit_excess", "following_error")
LONGEST = 1e3  # s: stamps farther apart say nothing about a motion
FIRST = -1.0  # s: stands for h where there is no reading before


def checked(
    torque: bool, q: Scalars, qd: Scalars, given: Scalars, memory: Scalars, rules: Scalars
) -> dict[str, Scalars]:
    """The formulas above.  memory (4, n): q-, qd-, x, s; rules: h, the settings, then lowest, highest and a by joint.

    found: the greatest excess of all, above 0 if there is a fault; then that of each of CHECKS, joint by joint.
    """
    h, jump, following, noise = rules[:4]
    known = h >= 0.0
    remembered, faults = [], []
    worst: Scalar = -1.0
    readings = zip(q, qd, given, *memory, *rules[4:].reshape(3, -1), strict=True)
    for position, speed, wanted, last, last_speed, at, owed, lowest, highest, a in readings:
        mean = (last_speed + speed) * 0.5
        slack = (absolute(speed - last_speed) + a * h) * (h * 0.5)
        off = absolute(position - last - mean * h) - slack
        here = where(known, minimum(maximum(at, position - noise), position + noise), position)
        debt = owed + (mean if torque else wanted) * h
        made = absolute(here - at) * 2.0
        debt = where(known, where(debt > 0.0, maximum(debt - made, 0.0), minimum(debt + made, 0.0)), 0.0)
        jumped = where(known, off - jump, -1.0)
        beyond = maximum(position - highest, lowest - position)
        late = absolute(debt) - following
        kept = where(absolute(debt) <= following, debt, 0.0)  # and so never anything that is not finite
        remembered.append((position, speed, here, kept))
        faults.append((jumped, beyond, late))
        worst = maximum(worst, maximum(maximum(jumped, beyond), late))
    by_check = np.array(faults, dtype=object).T.ravel()
    return {"memory": np.array(remembered, dtype=object).T, "found": vector(worst, *by_check)}


def between(t: Scalar, before: Scalar) -> Scalar:
    """h: the time between two stamps (s), FIRST where there is none before or it says nothing about a motion."""
    h = t - before
    return where((h >= 0.0) & (h < LONGEST), h, FIRST)


class StateChecks(Rebuilt):
    """Checks of the joint state, reading by reading.

    `look` once a cycle; `forget` where the joints may be elsewhere for a good reason, as after a reset.
    `given` (n,) holds the speeds that the joints follow until the next look; others fill it.
    """

    def __init__(self, arm: Arm, limits: Limits, bounds: Bounds, given: Array, *, torque: bool) -> None:
        n, model = arm.n, arm.model
        inputs = {"q": (n,), "qd": (n,), "given": (n,), "memory": (4, n), "rules": (4 + 3 * n,)}
        self._kernel = kernel = compiled(checked, torque, inputs, name="state", method="joint state")
        self.reason = ""  # why the last stop
        self._arm, self._limits, self.given, self.torque = arm, limits, given, torque
        # What a joint cannot pass is the model's limit; a controller may have been told of a wider one.
        lowest = np.minimum(model.lower, bounds.lower) - limits.limit_excess
        highest = np.maximum(model.upper, bounds.upper) + limits.limit_excess
        a = bounds.acceleration * limits.stop_factor
        late = float((bounds.acceleration * limits.latency**2).max()) + 2.0 * limits.encoder_noise
        self._following = max(limits.following_error, late)
        settings = FIRST, limits.position_jump, self._following, limits.encoder_noise
        self.rules = np.array([*settings, *np.maximum(lowest, -UNLIMITED), *np.minimum(highest, UNLIMITED), *a])
        self._out = kernel.empty()
        self.memory = np.zeros_like(self._out.memory)
        """(4, n) see `checked`; compiled code writes it too, and `stamp`."""
        self.stamp = np.full(1, math.nan)  # s, of the reading before
        self._make_ready()

    def _ready(self) -> None:
        """The compiled function, and views: a number is written through them in a third of NumPy's time."""
        self._run = self._kernel.fast(self._kernel.general)
        self._h: Any = self.rules.data

    def forget(self) -> None:
        """The next reading is the first."""
        self.stamp[:] = math.nan
        self.memory[:] = 0.0

    def look(self, t: float, q: Array, qd: Array) -> Status | None:
        """Takes the joints as read at t: None if they can be true, else the stop that it takes, with `reason`."""
        self._h[0] = between(t, float(self.stamp[0]))
        try:
            self._run(q, qd, self.given, self.memory, self.rules, out=self._out)
        except (ValueError, TypeError):
            return self._not_numbers(q, qd)
        self.memory[:] = self._out.memory
        self.stamp[0] = t
        found = self._out.found
        if found[0] > 0.0:
            return self._fault(q, found[1:].reshape(len(CHECKS), -1))
        return None

    def _not_numbers(self, q: object, qd: object) -> Status:
        """The stop for a state of the wrong kind; if it is none, what it is held against cannot be trusted."""
        for name, x in (("q", q), ("qd", qd)):
            if finite_numbers(x, self._arm.n) is None:
                self.reason = f"{name} must be {self._arm.n} finite numbers; got {x}"
                return Status.STOP_STATE_INVALID
        self.forget()
        self.reason = "what the joints are held against is not finite"
        return Status.STOP_INTERNAL

    def _fault(self, q: Array, excess: Array) -> Status:
        """The stop for what was found, excess (3, n) by CHECKS; the joint that is farthest off is named."""
        jump, beyond, late = excess
        limits, size = self._limits, np.abs(q)
        if size.max() > UNLIMITED:
            i, status = int(size.argmax()), Status.STOP_STATE_INVALID
            text = f"is at {q[i]:g} {self._unit(i)}; beyond {UNLIMITED:g} sine and cosine have few digits or none"
        elif jump.max() > 0.0:
            i, status = int(jump.argmax()), Status.STOP_STATE_INVALID
            off, rule = jump[i] + limits.position_jump, f"position_jump is {limits.position_jump:g}"
            text = f"is {off:.4g} {self._unit(i)} from where its speed leads, in {1e3 * self._h[0]:.3g} ms; {rule}"
        elif beyond.max() > 0.0:
            i, status = int(beyond.argmax()), Status.STOP_STATE_INVALID
            off, rule = beyond[i] + limits.limit_excess, f"limit_excess is {limits.limit_excess:g}"
            text = f"is at {q[i]:.4g}, {off:.4g} {self._unit(i)} beyond its limit; {rule}"
        else:
            i, status = int(late.argmax()), Status.STOP_STATE_STALE
            moves = "its speed says that it moves" if self.torque else "its command moves"
            text = f"stands while {moves}, by more than following_error, {self._following:g} {self._unit(i)}"
        self.reason = f"joint {self._arm.joint_names[i]!r} {text}"
        return status

    def _unit(self, i: int) -> str:
        return "rad" if self._arm.model.revolute(i) else "m"
