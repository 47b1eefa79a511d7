"""Stamps of another clock: when, on our monotonic clock, that happened which a message shows.

A message stamped s on its sender's clock is taken at a on ours.  a - s is the difference of the clocks and the time
that the message was on its way.  The least of a - s over the last `WINDOW` seconds is taken for the difference of the
clocks, so a message that came as fast as any is of now, and one that was held up is as old as it is:

    taken = s + min(a - s)          never later than a

Clocks that drift are followed so.  A clock that jumps is not: a step ahead shows as a message that came before it was
sent, a step back as stamps that decrease.  Either is a fault, latched until `forget`.  A message may also have come
faster than all before it because those were held up: by `tolerance`, and as long as they lay here until they were taken
(`waited`, the time since messages were last taken).  The first `LEARN` messages are not judged.
"""

from __future__ import annotations

from collections import deque

WINDOW = 10.0  # s
TOLERANCE = 0.05  # s
LATEST = 1.0  # s on the way: more is a step of the clock
LEARN = 25  # messages
MOST_WAITED = 0.2  # s


class StampClock:
    """Times of messages of one sender on our own clock.  `fault` says in words what is wrong with its clock, if so."""

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        self.tolerance = tolerance
        self.repeated = self.reordered = 0
        self.forget()

    def forget(self) -> None:
        """Begins anew, as after a reset."""
        self.fault = ""
        self._last: int | None = None  # ns
        self._least: deque[tuple[float, float, float]] = deque()  # arrival and difference, both growing; waited
        self._count = 0

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
                self.fault = self.fault or f"its clock went back by {back:.3f} s"
            return None
        difference = arrived - 1e-9 * ns
        self._count += 1
        if self._count > LEARN:
            _, known, margin = self._least[0]
            if difference < known - margin - self.tolerance:
                self.fault = self.fault or f"its clock went ahead by {known - difference:.3f} s"
            elif difference > known + LATEST + waited:
                self.fault = self.fault or f"its stamps are {difference - known:.3f} s late"
        self._last = ns
        least = self._least
        while least and least[-1][1] >= difference:
            least.pop()
        least.append((arrived, difference, waited))
        while least[0][0] < arrived - WINDOW:
            least.popleft()
        return 1e-9 * ns + least[0][1]
