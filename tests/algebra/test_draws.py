"""Random numbers of counters: the published vectors, what is accepted, statistics, the normal quantile."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from elbowroom.algebra import log, normal, trace, uniform
from elbowroom.algebra.draws import normal_quantile
from elbowroom.algebra.philox import words
from elbowroom.algebra.rearrange import rearranged
from philox_vectors import KNOWN

LEVEL = 1e-3  # of a test of hypotheses; the numbers are always the same, so it passes always or never


@pytest.mark.parametrize("counter, key, wanted", KNOWN)
def test_the_published_vectors(counter, key, wanted):
    assert words(key, counter).tolist() == list(wanted)


def test_many_counters_at_once():
    counters, keys = np.array([c for c, _, _ in KNOWN]), np.array([k for _, k, _ in KNOWN])
    assert np.array_equal(words(keys, counters), [w for _, _, w in KNOWN])
    with pytest.raises(ValueError, match=r"key \(\.\.\., 2\) and a counter \(\.\.\., 4\); got \(3,\) and \(4,\)"):
        words([1, 2, 3], [0, 0, 0, 0])


def test_a_number_is_the_upper_bits_of_its_two_words():
    """key and run are two words each, a block has two channels; the numbers say which word goes where."""
    key, run, frame = (7 << 32) + 5, (3 << 32) + 11, 13
    for channel in (16, 17):
        high, low = (int(x) for x in words([5, 7], [8, 13, 11, 3])[2 * (channel % 2) :][:2])
        assert uniform(key, run, frame, channel) == (((high << 32 | low) >> 12) + 0.5) / 2**52
        single = trace(lambda _, c: uniform(key, run, frame, c), None, {"c": ()}).evaluate(channel, dtype=np.float32)
        assert single == ((high >> 9) + 0.5) / 2**23


def test_numbers_arrays_and_programs_agree():
    runs, channels = np.arange(5.0)[:, None], np.arange(4.0)
    table = uniform(3, runs, 9, channels)
    assert table.shape == (5, 4)
    assert table[2, 3] == uniform(3, 2, 9, 3) == uniform(3.0, np.float64(2.0), 9.0, 3.0)
    assert type(uniform(3, 2, 9, 3)) is float
    program = trace(lambda _, r: np.array([uniform(3, r, 9, c) for c in range(4)]), None, {"r": ()})
    assert np.array_equal(program.evaluate(runs[:, 0]), table)
    mixed = trace(lambda _, r: uniform(3, np.array([r, 2.0], dtype=object), 9, 3), None, {"r": ()})
    assert mixed.evaluate(4.0).tolist() == [table[4, 3], table[2, 3]]
    assert np.array_equal(rearranged(program).evaluate(runs[:, 0]), table)


def test_equal_draws_are_one_operation_and_count_as_one_call():
    program = trace(lambda _, r: uniform(1, r, 0, 0) + uniform(1, r, 0, 0) * uniform(1, r, 0, 1), None, {"r": ()})
    assert program.count.calls == 2
    assert "2 logarithms and random numbers" in str(program.count)
    assert "uniform(1.0, r, 0.0, 1.0)" in str(program)
    other = trace(lambda _, r: uniform(1, r, 0, 0) + uniform(1, r, 0, 0) * uniform(1, r, 0, 2), None, {"r": ()})
    assert program.digest != other.digest


@pytest.mark.parametrize(
    "given, said",
    [
        ((-1, 0, 0, 0), r"key must be a whole number from 0 to 2\^52 - 1; got -1"),
        ((0, 0.5, 0, 0), r"run must be a whole number .*; got 0.5"),
        ((0, 0, 2**32, 0), r"frame must be a whole number from 0 to 2\^32 - 1; got 4294967296"),
        ((0, 0, 0, np.array([1.0, np.nan])), "channel must be .*; got nan"),
    ],
)
def test_what_is_no_counter_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        uniform(*given)


def test_a_constant_that_is_no_counter_is_refused_in_a_trace():
    with pytest.raises(ValueError, match="channel must be a whole number"):
        trace(lambda _, r: uniform(1, r, 0, 1.5), None, {"r": ()})


def test_the_greatest_counters():
    assert uniform(2**52 - 1, 2**52 - 1, 2**32 - 1, 2**32 - 1) != uniform(2**52 - 2, 2**52 - 1, 2**32 - 1, 2**32 - 1)
    assert uniform(0, 2**51, 0, 0) != uniform(0, 0, 0, 0) != uniform(2**51, 0, 0, 0)


# ---- as random as they should be
SHAPE = (50, 200, 20)  # runs, frames, channels: 200,000 numbers


@pytest.fixture(scope="module")
def u():
    runs, frames, channels = (np.arange(float(n)) for n in SHAPE)
    return uniform(1, runs[:, None, None], frames[:, None], channels)


def test_they_are_uniform(u):
    assert stats.kstest(u.ravel(), "uniform").pvalue > LEVEL
    bits = (u.ravel() * 2**52).astype(np.int64)  # the lowest bits of them as well
    for shift in (0, 8, 20, 44):
        counts = np.bincount(bits >> shift & 255, minlength=256)
        assert stats.chisquare(counts).pvalue > LEVEL


def test_normal_numbers_are_normal(u):
    x = normal_quantile(u).ravel()
    assert stats.kstest(x, "norm").pvalue > LEVEL
    for far in (2.0, 3.0, 4.0):  # the tails, where a Kolmogorov-Smirnov test sees little
        for side in (x > far, x < -far):
            assert stats.binomtest(int(side.sum()), x.size, stats.norm.sf(far)).pvalue > LEVEL


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_neighbouring_counters_have_nothing_in_common(u, axis):
    a, b = (np.take(u, range(k, SHAPE[axis] - 1 + k), axis).ravel() for k in (0, 1))
    assert stats.pearsonr(a, b).pvalue > LEVEL
    cells = np.histogram2d(a, b, bins=16, range=[(0, 1), (0, 1)])[0].ravel()
    assert stats.chisquare(cells).pvalue > LEVEL


def test_neighbouring_keys_have_nothing_in_common(u):
    other = uniform(2, *np.meshgrid(*(np.arange(float(n)) for n in SHAPE), indexing="ij"))
    assert stats.pearsonr(u.ravel(), other.ravel()).pvalue > LEVEL


def test_a_bit_of_the_counter_changes_half_of_the_bits():
    counter = np.zeros((128, 4), dtype=np.uint64)
    for k in range(128):
        counter[k, k // 32] = 1 << k % 32
    flipped = words([0, 0], counter) ^ words([0, 0], [0, 0, 0, 0])
    changed = sum(int(x).bit_count() for x in flipped.ravel())
    assert stats.binomtest(changed, 128 * 128, 0.5).pvalue > LEVEL


# ---- the quantile
def test_the_quantile_in_closed_form():
    for x in (-8.0, -5.0, -1.3, -1.2, -0.1, 0.7, 1.2815, 1.2817, 3.0):
        mpmath.mp.dps = 40
        u = float(mpmath.ncdf(x))
        exact = float(x + (mpmath.mpf(u) - mpmath.ncdf(x)) / mpmath.npdf(x))  # of the u that was rounded
        assert normal_quantile(u) == pytest.approx(exact, rel=8 * 2.0**-52)  # as its docstring says
    assert normal_quantile(0.5) == 0.0
    assert normal_quantile(0.25) == -normal_quantile(0.75)


def test_the_quantile_at_the_ends_and_its_order():
    ends = normal_quantile(np.array([2.0**-53, 1 - 2.0**-53]))
    assert np.abs(ends) == pytest.approx(8.209536151601387, rel=8 * 2.0**-52)  # scipy's, and 40 digits' of mpmath
    rising = normal_quantile(np.linspace(0.0001, 0.9999, 9999))
    assert (np.diff(rising) > 0).all()
    assert normal(5, 6, 7, 8) == normal_quantile(uniform(5, 6, 7, 8))


def test_log_of_numbers_and_expressions():
    x = np.array([0.1, 1.0, 7.5])
    assert np.array_equal(log(x), np.log(x))
    assert log(2.0) == np.log(2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert log(0.0) == -np.inf
        assert np.isnan(log(-1.0))
    program = trace(lambda _, x: log(x), None, {"x": ()})
    assert np.array_equal(program.evaluate(x), np.log(x))
