"""Paces, on a clock made by hand: every number is exact, and no test waits."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom.cell.pace as pace_module
from elbowroom.cell.pace import AsFastAsPossible, Lateness, Pace, RealTime

MS = 1_000_000  # ns


class Clock:
    """Nanoseconds that pass only by sleeping, working, and `tick` with each reading."""

    def __init__(self, now: int = 5_000_000_000, tick: int = 0, oversleep: int = 0) -> None:
        self.now, self.tick, self.oversleep = now, tick, oversleep
        self.slept: list[int] = []
        self.reads = 0

    def __call__(self) -> int:
        self.reads += 1
        self.now += self.tick
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds * 1e9))
        self.now += self.slept[-1] + self.oversleep

    def work(self, ns: int) -> None:
        self.now += ns


def real_time(clock: Clock, period: float = 0.001, **more) -> RealTime:
    return RealTime(period, clock=clock, sleep=clock.sleep, **more)


def test_as_fast_as_possible_multiplies_and_never_adds_up():
    pace: Pace = AsFastAsPossible(0.001)
    with pace:
        assert [pace.wait(k) for k in (0, 1, 2, 3, 10**6)] == [0.0, 0.001, 0.002, 3 * 0.001, 10**6 * 0.001]


def test_a_cycle_begins_at_its_deadline_having_slept_until_the_spin():
    clock = Clock(tick=100)
    began = clock.now
    with real_time(clock, spin=200e-6) as pace:
        times = []
        for k in range(5):
            t = pace.wait(k)
            times.append((t, clock.now - began))
            clock.work(300_000)
    start = times[0][1]  # the clock starts with the first wait
    for k, (t, at) in enumerate(times):
        assert t == k * 0.001
        assert 0 <= at - start - k * MS < 100  # the reading at or after the deadline, a tick of 100 ns apart
    # All but the work, the spin and the reading at the entry, 100 ns, is slept; the first wait sleeps not.
    assert clock.slept[0] == MS - 300_000 - 200_000 - 100
    assert len(clock.slept) == 4
    assert pace.summary().overruns == pace.summary().skipped == 0


def test_an_odd_period_does_not_drift():
    clock = Clock(tick=1)
    with real_time(clock, 1 / 3000, spin=1e-7) as pace:
        pace.wait(0)
        start = clock.now
        for k in range(1, 3001):
            pace.wait(k)
        assert 0 <= clock.now - start - 1000 * MS <= 1  # a reading a nanosecond; 3000 x 333 333 ns would be 1000 short


def test_a_late_cycle_begins_at_once_and_the_next_is_on_time_again():
    clock = Clock()
    with real_time(clock, spin=0.0) as pace:
        pace.wait(0)
        start = clock.now
        clock.work(1_400_000)
        assert pace.wait(1) == 0.001
        assert clock.now == start + 1_400_000
        clock.work(100_000)
        assert pace.wait(2) == 0.002
        assert clock.now == start + 2 * MS
    got = pace.summary()
    assert (got.cycles, got.overruns, got.skipped) == (3, 1, 0)
    assert got.worst == 400_000 * 1e-9


def test_after_a_long_pause_deadlines_are_skipped_not_caught_up_with():
    clock = Clock()
    with real_time(clock, spin=0.0) as pace:
        pace.wait(0)
        start = clock.now
        clock.work(10 * MS + 300_000)
        began = []
        for k in range(1, 5):
            began.append((pace.wait(k), clock.now - start))
            clock.work(100_000)
    # Deadlines 1 to 9 have passed, and so has 10: it is the one that this cycle is late for, by 0.3 ms.
    assert began == [(0.01, 10_300_000), (0.011, 11 * MS), (0.012, 12 * MS), (13 * 0.001, 13 * MS)]
    got = pace.summary()
    assert (got.cycles, got.overruns, got.skipped) == (5, 1, 9)
    assert got.worst == pytest.approx(9_300_000 * 1e-9, rel=1e-15)  # of the deadline that was its own


def test_a_deadline_reached_to_the_nanosecond_is_kept():
    clock = Clock()
    with real_time(clock) as pace:
        pace.wait(0)
        clock.work(MS)
        assert pace.wait(1) == 0.001
        assert pace.summary().overruns == 0
        clock.work(2 * MS)  # the next one's deadline too
        assert pace.wait(2) == 0.003
    assert (pace.summary().overruns, pace.summary().skipped) == (1, 1)


@given(st.lists(st.integers(0, 5 * MS), min_size=1, max_size=50), st.integers(50, 1000), st.integers(0, 2 * MS))
def test_whatever_cycles_take_time_is_on_the_grid_true_and_never_hurried(works, tick, oversleep):
    clock = Clock(tick=tick, oversleep=oversleep)
    pace = real_time(clock)  # without its `with`, which only sees to the garbage collector, slowly
    pace.wait(0)
    start, before = clock.now, 0.0
    for k, work in enumerate(works, start=1):
        clock.work(work)
        t = pace.wait(k)
        index = round(t * 1000)
        assert t == index * 0.001
        assert index == k + pace.skipped
        assert t > before
        late = clock.now - start - index * MS
        assert 0 <= late < MS + oversleep  # never early; late by less than a period, but for the sleep's own
        before = t
    assert pace.summary().cycles == len(works) + 1


def test_a_clock_that_goes_back_between_cycles_does_not_hang():
    clock = Clock()
    with real_time(clock, spin=0.0) as pace:
        pace.wait(0)
        clock.work(-3_600_000 * MS)  # an hour
        assert pace.wait(1) == 0.001
        assert sum(clock.slept) == MS  # no time had passed as far as one knows
        assert pace.wait(2) == 0.002
        assert sum(clock.slept) == 2 * MS
    assert pace.summary().steps_back == 1


def test_a_clock_that_goes_back_during_the_wait_does_not_hang():
    clock = Clock(tick=1000)
    pace = RealTime(0.001, clock=clock, sleep=lambda s: clock.work(-5000 * MS))
    with pace:
        pace.wait(0)
        assert pace.wait(1) == 0.001
        assert 900 < clock.reads < 1100  # a millisecond by readings alone, a microsecond each
    assert pace.summary().steps_back == 1


def test_a_clock_that_stands_still_does_not_hang(monkeypatch):
    monkeypatch.setattr(pace_module, "MOST_READS", 100)
    with RealTime(0.001, clock=lambda: 7, sleep=lambda s: None) as pace:
        assert [pace.wait(k) for k in range(3)] == [0.0, 0.001, 0.002]
    assert pace.summary().steps_back == 2
    assert pace.summary().worst == 0.0


def test_each_with_begins_anew():
    clock = Clock()
    pace = real_time(clock)
    for _ in range(2):
        with pace:
            assert pace.wait(0) == 0.0
            clock.work(7 * MS)
            pace.wait(1)
        assert (pace.summary().cycles, pace.summary().skipped) == (2, 6)
        clock.work(1000 * MS)


def test_the_real_clock_works_too():
    with RealTime(1e-4) as pace:
        times = [pace.wait(k) for k in range(20)]
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0)
    assert pace.summary().cycles == 20


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=300))
def test_quantiles_are_never_too_small_and_a_thirty_second_too_large_at_most(times):
    lateness = Lateness()
    for ns in times:
        lateness.add(ns)
    assert (lateness.count, lateness.worst) == (len(times), max(times))
    for share in (0.001, 0.5, 0.99, 0.999, 1.0):
        true = int(np.quantile(times, share, method="inverted_cdf"))
        got = lateness.quantile(share) * 1e9
        # 1e-15: the two roundings of ns to s and back
        assert true * (1 - 1e-15) <= got <= true * (1 + 1 / 32) * (1 + 1e-15)


def test_no_cycles_no_quantiles():
    got = RealTime(0.001).summary()
    assert got.cycles == 0
    assert math.isnan(got.median)


@pytest.mark.usefixtures("collector")
def test_the_garbage_collector_is_off_inside_and_as_before_afterwards():
    with RealTime(0.001):
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    gc.disable()
    with RealTime(0.001):
        pass
    assert not gc.isenabled()
    with pytest.raises(KeyboardInterrupt), RealTime(0.001):
        raise KeyboardInterrupt
    assert not gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("collector")
def test_what_somebody_froze_stays_frozen():
    gc.freeze()
    count = gc.get_freeze_count()
    with RealTime(0.001):
        assert gc.get_freeze_count() <= count
    assert 0 < gc.get_freeze_count() <= count  # frozen things may be dropped, none is added


@pytest.mark.usefixtures("collector")
def test_paces_within_and_across_each_other():
    with RealTime(0.001):
        with pytest.raises(ZeroDivisionError), RealTime(0.001):
            _ = 1 / 0
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    one, two = RealTime(0.001), RealTime(0.001)
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert not gc.isenabled()
    two.__exit__(None, None, None)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("collector")
def test_ctrl_c_while_entering_leaves_the_collector_on(monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gc, "collect", interrupted)
        with pytest.raises(KeyboardInterrupt), RealTime(0.001):
            pass
    assert gc.isenabled()
    with RealTime(0.001):
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, True, "1"])
def test_a_period_must_be_one(bad):
    for make in (AsFastAsPossible, RealTime):
        with pytest.raises(ValueError, match=rf"{make.__name__}: period: expected a time of at least 1e-6 s; got"):
            make(bad)


@pytest.mark.parametrize("bad", [-1e-6, math.nan, math.inf])
def test_spin_must_be_a_time(bad):
    with pytest.raises(ValueError, match="RealTime: spin: expected at least 0 s"):
        RealTime(0.001, spin=bad)
