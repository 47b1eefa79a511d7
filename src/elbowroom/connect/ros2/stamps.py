"""Stamps of another clock: when, on our monotonic clock, that happened which a message shows.

A message stamped s on its sender's clock is taken at a on ours.  a - s is the difference of the clocks and the time
that the message was on its way.  The least of a - s so far is taken for the difference of the clocks, let grow by
`DRIFT`, so a message that came as fast as any is of now, and one that was held up is as old as it is:

    known = min(known + DRIFT (time passed), a - s)
    taken = s + known               never later than a

Clocks that drift are followed so; a delay that lasts is not: it stays age, and is a fault once every message of
`WINDOW` seconds has been late by more than `tolerance`.  The delay that the fastest messages have, too, is not seen
here: a sensor states it (`latency`).

A clock that jumps is not followed either: a step ahead shows as a message that came before it was sent, a step back as
stamps that decrease.  Every fault is latched until `forget`, which keeps the known difference unless the clock jumped.
A message may also have come faster than all before it because those were held up: by `tolerance`, and as long as they
lay here until they were taken (`waited`, the time since messages were last taken).  The first `LEARN` messages are not
judged.
"""

from __future__ import annotations

import math

WINDOW = 10.0  # s
DRIFT = 2e-4  # s a second: two clocks of 100 ppm each
TOLERANCE = 0.05  # s
LATEST = 1.0  # s on the way: more is a fault at once
LEARN = 25  # messages
MOST_WAITED = 0.2  # s


class StampClock:
    """Times of messages of one sender on our own clock.  `fault` says in words what is wrong with its clock, if so."""

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        self.tolerance = tolerance
        self.repeated = self.reordered = 0
        self.begin()

    def begin(self) -> None:
        """Knows nothing, as of a sender that is new."""
        self.fault, self.jumped = "", False
        self._last: int | None = None  # ns
        self._known, self._margin, self._at = math.inf, 0.0, math.inf  # s: difference, waited, when
        self._late = math.inf  # s, since when every message has been late
        self._count = 0

    def forget(self) -> None:
        """After a reset: faults are looked for anew.  What a clock is known by stays, unless it jumped."""
        if self.jumped:
            self.begin()
        self.fault, self._late = "", math.inf

    def when(self, ns: int, arrived: float, waited: float = 0.0) -> float:
        """When it was, s on our clock, without a judgement: for senders whose stamps have no order, as /tf's."""
        difference = arrived - 1e-9 * ns
        self._known += DRIFT * max(0.0, arrived - self._at)  # inf at first
        self._at = arrived
        if difference <= self._known:
            self._known, self._margin = difference, waited
        return 1e-9 * ns + self._known

    def age(self, ns: int, now: float) -> float:
        """How old (s) another message of the same clock is; 0 while the clock is not known."""
        return max(0.0, now - 1e-9 * ns - self._known) if self._known < math.inf else 0.0

    def taken(self, ns: int, arrived: float, waited: float = 0.0) -> float | None:
        """When it was, s on our clock; None for a stamp that is not newer than the last one, or that cannot be.

        `arrived` is when it was taken; it may have lain here for `waited` (s).
        """
        waited = min(waited, MOST_WAITED)
        if ns <= 0:
            self.fault = self.fault or "its stamps are 0"
            return None
        if self._last is not None and ns <= self._last:
            back = 1e-9 * (self._last - ns)
            self.repeated += ns == self._last
            self.reordered += ns < self._last
            if back > self.tolerance:
                self.fault, self.jumped = self.fault or f"its clock went back by {back:.3f} s", True
            return None
        self._last = ns
        self._count += 1
        before, margin = self._known, self._margin
        when = self.when(ns, arrived, waited)
        if self._count > LEARN:
            self._judge(arrived - 1e-9 * ns - before, margin, arrived, waited)
        return when

    def _judge(self, later: float, margin: float, arrived: float, waited: float) -> None:
        """A message that came so much later (s) than the fastest."""
        if later < -margin - self.tolerance:
            self.fault, self.jumped = self.fault or f"its clock went ahead by {-later:.3f} s", True
        elif later > LATEST + waited:
            self.fault = self.fault or f"its stamps are {later:.3f} s late"
        if later <= self.tolerance + waited:
            self._late = math.inf
            return
        self._late = min(self._late, arrived)
        if arrived - self._late >= WINDOW:
            self.fault = self.fault or f"its messages come {later:.3f} s later than before, for {WINDOW:g} s"
