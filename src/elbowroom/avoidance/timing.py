"""Whether time runs as it should: late cycles, old or repeated joint states, clocks that step.

Time is what the caller says it is (s, monotonic); this room reads no clock.  The time between cycles is measured from
it, since a period is only what was meant.  With g the gap to the last cycle and T the period:

    STOP_OVERRUN        `max_overruns` late cycles in a row (g > 1.5 T), or one late by more than `max_overrun` T
    STOP_STATE_STALE    g < 0, g > clock_step or no number: the clock stepped
                        a joint state older than max_state_age, from the future, or older than the one before
                        the same joint state, or the same time, for more than max_repeats further cycles
"""

from __future__ import annotations

import math

from .limits import Limits
from .status import Status
from .watch import Note

LATE = 1.5  # periods between cycles from which one counts as late: a half is jitter


class Timing:
    """Watches the clock; `tick` once a cycle."""

    def __init__(self, limits: Limits, period: float, note: Note) -> None:
        self.period = period
        self.dt = period  # s, measured, at most `longest`
        self.longest = (1 + limits.max_overrun) * period
        self.stop: Status | None = None  # of the last tick, and why
        self.reason = ""
        self.stepped = False  # whether the clock went back in the last tick, or was no number
        self.overruns = 0  # counted
        self._limits, self._note = limits, note
        self._on_time = LATE * period
        self._max_age, self._tolerance = limits.max_state_age, limits.clock_tolerance
        self._t = math.nan
        self._state_t = math.nan
        self._late_run = self._repeats = self._stands = 0

    def tick(self, t: float, dt: float, state_t: float) -> Status | None:
        """None if all is well, else the stop that it takes, with `reason`."""
        gap = t - self._t
        if 0.0 < gap <= self._on_time and state_t > self._state_t and -self._tolerance <= t - state_t <= self._max_age:
            self._t, self._state_t, self.dt = t, state_t, gap
            self._late_run = self._repeats = self._stands = 0
            self.stop, self.stepped = None, False
            return None
        self.stop = self._examine(t, dt, gap, state_t)
        return self.stop

    def _examine(self, t: float, dt: float, gap: float, state_t: float) -> Status | None:
        first = math.isnan(self._t)
        if not math.isfinite(t):
            self.stepped, self.dt = True, 0.0
            return self._stale(f"the time must be a number; got {t}")
        if first:
            gap = dt if 0.0 < dt <= self.longest else self.period
        self.stepped = gap < 0.0
        self.dt = min(max(gap, 0.0), self.longest)
        previous, self._t = self._state_t, t
        self._state_t = state_t
        self._stands = self._stands + 1 if gap == 0.0 else 0
        self._repeats = self._repeats + 1 if state_t == previous else 0
        late = gap > self._on_time
        self._late_run = self._late_run + 1 if late else 0
        if gap < 0.0:
            return self._stale(f"time ran back by {-gap:g} s")
        if gap > self._limits.clock_step:
            return self._stale(f"the clock stepped by {gap:g} s")
        if self._stands > self._limits.max_repeats:
            return self._stale(f"time stood still for {self._stands} cycles")
        if not -self._tolerance <= t - state_t <= self._max_age:
            return self._stale(f"the joint state is older than max_state_age, {self._max_age:g} s: {t - state_t:.4f} s")
        if state_t < previous:
            return self._stale(f"the joint state is {previous - state_t:g} s older than the one before")
        if self._repeats > self._limits.max_repeats:
            return self._stale(f"the joint state was repeated {self._repeats} times")
        return self._overrun(t, gap) if late else None

    def _stale(self, reason: str) -> Status:
        self.reason = reason
        return Status.STOP_STATE_STALE

    def _overrun(self, t: float, gap: float) -> Status | None:
        self.overruns += 1
        periods = gap / self.period - 1.0
        self._note("overruns", t, f"a cycle was {periods:.1f} periods late")
        if periods > self._limits.max_overrun + 0.5:
            self.reason = f"a cycle was {periods:.1f} periods late; at most {self._limits.max_overrun} is allowed"
        elif self._late_run >= self._limits.max_overruns:
            self.reason = f"{self._late_run} cycles in a row were late"
        else:
            return None
        return Status.STOP_OVERRUN
