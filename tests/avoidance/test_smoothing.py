"""The moving average: against brute force, over a million steps, its delay measured, its start stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance.control.smoothing import Filter, MovingAverage, average
from elbowroom.compile import compiled
from elbowroom.errors import ConfigError

PERIOD = 0.001


def brute(samples, m):
    """(3.78), with zeros before the first sample."""
    padded = np.vstack([np.zeros((m - 1, samples.shape[1])), samples])
    return np.array([padded[i : i + m].mean(axis=0) for i in range(len(samples))])


def filtered(samples, m):
    smooth = Filter(samples.shape[1], m * PERIOD, PERIOD)
    assert smooth.samples == m
    out = np.empty(samples.shape[1])
    return np.array([smooth.push(x, out).copy() for x in samples])


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_it_is_the_mean_of_the_last_m(m, seed):
    samples = np.random.default_rng(seed).normal(size=(100, 3))
    # sums of up to 30 numbers of order one
    assert np.allclose(filtered(samples, m), brute(samples, m), rtol=0, atol=1e-14)


def test_it_starts_at_rest_and_ramps_up():
    out = filtered(np.ones((6, 1)), 4)
    assert np.array_equal(out[:, 0], [0.25, 0.5, 0.75, 1.0, 1.0, 1.0])


def test_duration_zero_passes_through_to_the_bit():
    samples = np.random.default_rng(1).normal(size=(50, 2))
    smooth = Filter(2, 0.0, PERIOD)
    out = np.empty(2)
    assert (smooth.samples, smooth.delay) == (1, 0.0)
    assert np.array_equal([smooth.push(x, out).copy() for x in samples], samples)


def test_a_constant_is_exact_after_a_big_one_has_left():
    """1e16 swallows 0.1; a running sum alone would never give it back."""
    smooth = Filter(1, 5 * PERIOD, PERIOD)
    out = np.empty(1)
    smooth.push(np.array([1e16]), out)
    for _ in range(2 * smooth.samples):
        smooth.push(np.array([0.1]), out)
    assert out[0] == pytest.approx(0.1, rel=1e-15)


@pytest.mark.slow
def test_no_drift_over_a_million_steps():
    """The error is that of one ring, not of a million steps, which a plain running sum shows."""
    m, n = 50, 1_000_000
    values = np.random.default_rng(3).normal(size=(n, 1)) * 1000.0
    smooth, out = Filter(1, m * PERIOD, PERIOD), np.empty(1)
    last = np.empty(3 * m)
    for i in range(n):
        smooth.push(values[i], out)
        if i >= n - 3 * m:
            last[i - n + 3 * m] = out[0]
    x = values[:, 0].tolist()
    true = [math.fsum(x[i - m + 1 : i + 1]) / m for i in range(n - 3 * m, n)]
    # 2 m roundings of sums of some 1e4 (1e-12 each) at most, over m
    allowed = 2e-12
    assert np.abs(last - true).max() < allowed
    running = 0.0
    for i in range(n):
        running += x[i] - (x[i - m] if i >= m else 0.0)
    assert abs(running / m - true[-1]) > allowed, "a plain running sum would pass: the test has no teeth"


@pytest.mark.parametrize("m", [1, 2, 5, 20])
def test_the_delay_is_what_a_ramp_shows(m):
    smooth = Filter(1, m * PERIOD, PERIOD)
    out = np.empty(1)
    for k in range(200):
        t = k * PERIOD
        smooth.push(np.array([t]), out)
    assert t - out[0] == pytest.approx(smooth.delay, abs=1e-15)  # on a ramp of slope one, late by the delay
    assert smooth.delay == MovingAverage(m * PERIOD).delay(PERIOD) == (m - 1) / 2 * PERIOD


def test_filter_program_and_kernel_agree():
    m, n = 4, 3
    program = er.trace(
        lambda _, new, oldest, total, fresh, restart, samples: average(new, oldest, total, fresh, restart, samples),
        None,
        {"new": (n,), "oldest": (n,), "total": (n,), "fresh": (n,), "restart": (), "samples": ()},
    )
    kernel = compiled(program)
    smooth, out = Filter(n, m * PERIOD, PERIOD), np.empty(n)
    state = {way: [np.zeros((m, n)), np.zeros(n), np.zeros(n)] for way in (program.evaluate, kernel, average)}
    for i, new in enumerate(np.random.default_rng(2).normal(size=(30, n))):
        slot = i % m
        expected = smooth.push(new, out).copy()
        for way, memory in state.items():
            ring, total, fresh = memory
            given_ = (new, ring[slot].copy(), total, fresh, float(slot == m - 1), float(m))
            found = way(*given_)
            found = tuple(found.values()) if isinstance(found, dict) else tuple(found)
            # sums alone, in one order: the same bits (a mean is a division, or a product with 1/4, which is exact)
            assert np.array_equal(found[0], expected)
            memory[1:] = found[1:]
            ring[slot] = new


def test_reset_forgets():
    smooth, out = Filter(2, 3 * PERIOD, PERIOD), np.empty(2)
    for _ in range(5):
        smooth.push(np.array([4.0, -4.0]), out)
    smooth.reset()
    assert np.array_equal(smooth.push(np.array([3.0, 6.0]), out), [1.0, 2.0])


def test_push_allocates_nothing():
    import tracemalloc

    smooth, out, x = Filter(7, 50 * PERIOD, PERIOD), np.empty(7), np.ones(7)
    for _ in range(200):
        smooth.push(x, out)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        smooth.push(x, out)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1000  # a few views and whole numbers; an array kept for each step would be 56,000


@pytest.mark.parametrize(
    "duration, period, m", [(0.0, 0.001, 1), (0.05, 0.001, 50), (0.0014, 0.001, 1), (0.01, 0.004, 2)]
)
def test_samples_are_the_nearest_whole_number(duration, period, m):
    assert MovingAverage(duration).samples(period) == m


@pytest.mark.parametrize("wrong", [-0.1, math.nan, 50.0, "0.1"])
def test_a_bad_duration_is_refused(wrong):
    with pytest.raises(ConfigError, match=r"^MovingAverage: duration: expected .*; got "):
        MovingAverage(wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, "1"])
def test_a_bad_period_is_refused(wrong):
    with pytest.raises(ConfigError, match="period must be a number > 0"):
        MovingAverage(0.1).delay(wrong)
