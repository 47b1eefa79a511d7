"""How fast a run goes: as fast as it can, or in real time.

    with pace:
        for k in range(cycles):
            t = pace.wait(k)            # s since the start: when cycle k is to begin, now
            ...                         # the cycle

`AsFastAsPossible` never waits and reads no clock: t = k T, so a run repeats to the bit.

`RealTime` keeps absolute deadlines.  With T the period and s the deadlines skipped so far, cycle k begins at

    t_k = (k + s) T

so no error adds up.  It sleeps until a little before, and reads the clock over and over for the rest (`spin`), since
a sleep ends some 50 us late.  A cycle that ends after the next one's deadline is an overrun; the next begins at once.
Deadlines that passed together with the one after them are skipped and counted in s: after a second's pause there is one
late cycle, not a thousand hurried ones, and t, which jumps by that second, tells the supervisor.  Inside the `with` the
garbage collector is frozen and off; cycles of references made meanwhile stay in memory until the end.
"""

from __future__ import annotations

import gc
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

SPIN = 200e-6  # s
MOST_READS = 1_000_000  # of the clock in one wait, a tenth of a second or so: one that stands still ends it
_FINE = 5  # bits of a lateness that are told apart: bins are at most 1/32 wide


class Pace(Protocol):
    """When cycles begin.  Used in a `with`, which begins anew each time."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def wait(self, k: int) -> float:
        """Returns when cycle k is to begin, k = 0, 1, 2, ..., with its time (s) since the start."""


class AsFastAsPossible:
    """Cycle k of that period (s) is at k * period; nothing waits."""

    def __init__(self, period: float) -> None:
        self.period = _checked("AsFastAsPossible", period)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to undo."""

    def wait(self, k: int) -> float:
        """The time of cycle k, at once."""
        return k * self.period


@dataclass(frozen=True)
class PaceSummary:
    """How well the deadlines were kept.  Lateness (s) is the time from a deadline to the beginning of its cycle.

    Percentiles are never too small, and too large by at most a thirty-second part; `worst` is exact.
    """

    cycles: int
    overruns: int  # cycles that began late since the one before took too long
    skipped: int  # deadlines without a cycle
    steps_back: int  # times that the clock went back, or stood still
    median: float
    p99: float
    p999: float
    worst: float


class RealTime:
    """Cycle k begins at its deadline on the clock, which counts nanoseconds; `sleep` takes seconds.

    The clock starts with the first `wait`.  Of the last `spin` seconds before a deadline none is slept.  If the clock
    goes back, the deadlines go with it: no time has passed then, and nothing hangs.
    """

    def __init__(
        self,
        period: float,
        *,
        spin: float = SPIN,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.period = _checked("RealTime", period)
        if not 0.0 <= spin < math.inf:
            raise ValueError(f"RealTime: spin: expected at least 0 s; got {spin!r}")
        self._ns, self._spin = period * 1e9, round(spin * 1e9)
        self._clock, self._sleep = clock, sleep
        self._lateness = Lateness()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._start = self._last = 0  # ns: of cycle 0, and the last reading of the clock
        self._running = False
        self.overruns = self.skipped = self.steps_back = 0
        self._lateness.clear()

    def __enter__(self) -> Self:
        self._begin_anew()
        collector.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        collector.__exit__()

    def wait(self, k: int) -> float:
        """Returns at the deadline of cycle k, or at once if that has passed; see the head of this file for the time."""
        now = self._clock()
        if not self._running:
            self._running, self._last = True, now
            self._start = now - int(k * self._ns)
            self._lateness.add(0)
            return k * self.period
        if now < self._last:
            self._stepped_back(now)
        index = k + self.skipped
        late = now - self._start - int(index * self._ns)
        if late > 0:
            self.overruns += 1
            if late >= self._ns:
                passed = int(late // self._ns)
                self.skipped += passed
                index += passed
            self._last = now
        else:
            late = self._until(index, now)
        self._lateness.add(late)
        return index * self.period

    def _until(self, index: int, now: int) -> int:
        """Waits for a deadline; how late it became, ns."""
        clock, due = self._clock, int(index * self._ns)
        left = self._start + due - now
        if left > self._spin:
            self._sleep((left - self._spin) * 1e-9)
        last = now
        for _ in range(MOST_READS):
            now = clock()
            if now < last:
                self._last = last
                self._stepped_back(now)
            last = now
            late = now - self._start - due
            if late >= 0:
                break
        else:
            self.steps_back += 1
            self._start, late = now - due, 0
        self._last = now
        return late

    def _stepped_back(self, now: int) -> None:
        self._start -= self._last - now
        self.steps_back += 1

    def summary(self) -> PaceSummary:
        """Of the run so far, or the last one."""
        lateness = self._lateness
        return PaceSummary(
            lateness.count,
            self.overruns,
            self.skipped,
            self.steps_back,
            lateness.quantile(0.5),
            lateness.quantile(0.99),
            lateness.quantile(0.999),
            lateness.worst * 1e-9,
        )


class Lateness:
    """Counts of times in ns, in bins that grow with them, there from the start: exact below 32 ns, then 1/32 wide."""

    def __init__(self) -> None:
        self._bins = [0] * (64 << _FINE)
        self.clear()

    def clear(self) -> None:
        """As new."""
        self._bins[:] = [0] * len(self._bins)
        self.count = self.worst = 0

    def add(self, ns: int) -> None:
        """One more."""
        shift = ns.bit_length() - _FINE - 1
        self._bins[ns if shift < 0 else (shift << _FINE) + (ns >> shift)] += 1  # the leading one moves on by a bin row
        self.count += 1
        if ns > self.worst:
            self.worst = ns

    def quantile(self, share: float) -> float:
        """The least time (s) that this share of them kept within, rounded up to its bin's end; NaN if there is none."""
        wanted, found = math.ceil(share * self.count), 0
        for k, times in enumerate(self._bins):
            found += times
            if times and found >= wanted:
                shift = max((k >> _FINE) - 1, 0)
                last = ((k - (shift << _FINE) + 1) << shift) - 1
                return min(last, self.worst) * 1e-9
        return math.nan


class Collector:
    """Python's garbage collector, out of the way from the first `with` to the end of the last, then as it was found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._was_enabled = self._froze = False

    def __enter__(self) -> None:
        """Collects once, and then no more.  What is there is frozen, unless something was frozen already."""
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._was_enabled, self._froze = gc.isenabled(), gc.get_freeze_count() == 0
            try:
                gc.collect()
                gc.disable()
                if self._froze:
                    gc.freeze()
            except BaseException:  # Ctrl-C: nobody will call exit
                self._restore()
                raise

    def __exit__(self, *_: object) -> None:
        """One less."""
        with self._lock:
            if self._depth == 1:
                self._restore()
            else:
                self._depth -= 1

    def _restore(self) -> None:
        self._depth = 0
        if self._froze:
            gc.unfreeze()
        if self._was_enabled:
            gc.enable()


collector = Collector()


def _checked(name: str, period: float) -> float:
    if not isinstance(period, int | float) or isinstance(period, bool) or not 1e-6 <= period < math.inf:
        raise ValueError(f"{name}: period: expected a time of at least 1e-6 s; got {period!r}")
    return float(period)
