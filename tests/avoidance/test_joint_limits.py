"""Joint limits: (3.72) and (3.74), printed and mended, at the limit, beyond it, without one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifting import four_ways

import elbowroom as er
from elbowroom.avoidance.control.joint_limits import JointLimits, potential, scaling
from elbowroom.errors import ConfigError

LOWER, UPPER = np.array([-1.0]), np.array([2.0])
angles = st.floats(-1.5, 2.5)
settings = st.builds(
    JointLimits,
    form=st.sampled_from(["mended", "printed"]),
    margin=st.floats(0.1, 0.5),  # a quarter of the range: more is cut there in the mended form
    gain=st.floats(0.01, 10.0),
    exponent=st.integers(1, 8),
    floor=st.floats(0.01, 0.09),
)


def push(s, q):
    return float(potential(s, np.array([q]), LOWER, UPPER)[0])


def factor(s, q, way):
    return float(scaling(s, np.array([q]), LOWER, UPPER, np.array([way]))[0])


# ---- the potential, (3.72)


def printed_potential(k, n, margin, q):
    """(3.72) as it stands in the thesis, for limits -1 and 2; defined between them only."""
    low, high = q + 1.0, q - 2.0
    if 0 < low < margin:
        return math.copysign(1, low) * k / abs(low) ** n
    if -margin < high < 0:
        return math.copysign(1, high) * k / abs(high) ** n
    return 0.0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_printed_potential(n):
    s = JointLimits(form="printed", margin=0.3, gain=0.2, exponent=n, floor=0.001)
    for q in (-0.99, -0.8, -0.70001, -0.69, 0.0, 1.69, 1.71, 1.95, 1.999):
        assert push(s, q) == pytest.approx(printed_potential(0.2, n, 0.3, q), rel=1e-10)  # 2 - 1.999 loses three digits


def test_the_printed_potential_jumps_at_the_margin_and_the_mended_does_not():
    for q, way in ((-0.7, -1), (1.7, 1)):
        inside, outside = q + way * 1e-9, q - way * 1e-9
        jump = [abs(push(JointLimits(form=f, margin=0.3, gain=0.2), inside)) for f in ("printed", "mended")]
        assert jump[0] == pytest.approx(0.2 / 0.3, rel=1e-6)
        assert jump[1] < 0.2 / 0.3**2 * 1.1e-9  # slope k / margin^2 times the step
        assert push(JointLimits(form="printed", margin=0.3, gain=0.2), outside) == 0.0


@given(settings, angles)
def test_the_potential_is_finite_and_points_back(s, q):
    value = push(s, q)
    assert abs(value) <= s.gain / s.floor**s.exponent * (1 + 1e-12)
    if q < -1.0 + s.margin < 2.0 - s.margin:  # the lower limit alone is felt, from inside or from beyond
        assert value > 0
    if q > 2.0 - s.margin > -1.0 + s.margin:
        assert value < 0
    if s.margin < 1.0:
        assert push(s, 0.5) == 0.0


@given(settings, angles)
def test_the_mended_potential_is_the_printed_one_less_its_jump(s, q):
    if s.form == "printed":
        return
    whole = JointLimits(form="printed", margin=s.margin, gain=s.gain, exponent=s.exponent, floor=s.floor)
    jump = s.gain / s.margin**s.exponent
    felt = (q + 1.0 < s.margin) - (2.0 - q < s.margin)
    assert push(s, q) == pytest.approx(push(whole, q) - felt * jump, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", ["printed", "mended"])
def test_at_and_beyond_the_limit_the_potential_is_that_of_the_floor(form):
    s = JointLimits(form=form, floor=0.02)
    for q in (-1.0, -1.2, -9.0):
        assert push(s, q) == push(s, -1.0 + 0.01) > 0
    for q in (2.0, 2.2, 9.0):
        assert push(s, q) == push(s, 2.0 - 0.01) < 0


# ---- the factor, (3.74)


def printed_factor(margin, q):
    """(3.74) as it stands in the thesis, for limits -1 and 2."""
    if -1.0 < q < -1.0 + margin:
        return 0.5 * (1 - math.cos(math.pi * (q + 1.0) / margin))
    if 2.0 - margin < q < 2.0:
        return 0.5 * (1 - math.cos(math.pi * (q - 2.0) / margin))
    return 1.0


def test_the_printed_factor_whatever_the_direction():
    s = JointLimits(form="printed", margin=0.3)
    for q in (-0.99, -0.85, -0.7, 0.0, 1.7, 1.85, 1.99):
        for way in (-1.0, 0.0, 1.0):
            assert factor(s, q, way) == pytest.approx(printed_factor(0.3, q), abs=1e-15)


@pytest.mark.parametrize("q, out", [(-1.0, -1.0), (-1.1, -1.0), (2.0, 1.0), (2.1, 1.0)])
def test_at_the_limit_the_printed_factor_freezes_and_the_mended_lets_go(q, out):
    printed, mended = JointLimits(form="printed"), JointLimits(form="mended")
    assert factor(printed, q, out) == factor(printed, q, -out) == 0.0
    assert factor(mended, q, out) == 0.0
    assert factor(mended, q, -out) == factor(mended, q, 0.0) == 1.0


@given(settings, angles, st.floats(-1.0, 1.0))
def test_the_factor_is_a_fraction_and_the_scaled_motion_is_continuous(s, q, way):
    a = factor(s, q, way)
    assert 0.0 <= a <= 1.0
    h = 1e-9
    # |da/dq| <= pi / (2 margin) <= 16; the factor may change by 1 with the sign of the motion, times the motion itself
    assert abs(factor(s, q + h, way) * way - a * way) <= 16 * h * 1.01 + 1e-15
    assert abs(factor(s, q, way + h) * (way + h) - a * way) <= 2.01 * h + 1e-15


@given(settings, angles)
def test_the_mended_factor_is_the_printed_one_towards_the_limit(s, q):
    mended = JointLimits(form="mended", margin=s.margin)
    printed = JointLimits(form="printed", margin=s.margin)
    both = min(factor(mended, q, -1.0), factor(mended, q, 1.0))
    assert both == factor(printed, q, 1.0)


def test_no_speed_towards_a_limit_ever_passes_it():
    """A joint driven at the limit at 2 rad/s through the factor stops in front of it, at 1 kHz."""
    s, q = JointLimits(margin=0.2), 1.5
    for _ in range(5000):
        q += 2.0 * factor(s, q, 2.0) * 0.001
        assert q < 2.0
    assert q > 1.9


def test_how_hard_the_factor_brakes():
    """Speed v a(x) is slowed at v^2 a da/dx, 3 pi sqrt(3) / 16 = 1.02 v^2 / margin at most, as docs/avoidance say."""
    s, h, v = JointLimits(margin=0.2), 1e-6, 1.0
    q = 2.0 - np.linspace(1e-3, 0.199, 500)
    braking = [v**2 * factor(s, x, v) * (factor(s, x - h, v) - factor(s, x + h, v)) / (2 * h) for x in q]
    assert max(braking) == pytest.approx(3 * math.pi * math.sqrt(3) / 16 * v**2 / 0.2, rel=1e-4)  # 500 points


# ---- both


@pytest.mark.parametrize("form", ["printed", "mended"])
def test_a_joint_without_limits_is_left_alone(form):
    s = JointLimits(form=form, margin=0.5)
    lower, upper = np.array([-np.inf, -np.inf, -1.0]), np.array([np.inf, 1.0, np.inf])
    q = np.array([100.0, 0.9, -0.9])
    with np.errstate(all="raise"):
        pushes = potential(s, q, lower, upper)
        factors = scaling(s, q, lower, upper, np.array([1.0, 1.0, -1.0]))
    assert pushes[0] == 0.0
    assert pushes[1] < 0 < pushes[2]
    assert factors[0] == 1.0
    assert factors[1] == pytest.approx(factors[2])
    assert 0 < factors[1] < 1
    four_ways(lambda g, q: potential(g, q, lower, upper), s, q=q)
    for law in (lambda g, q: potential(g, q, lower, upper), lambda g, q: scaling(g, q, lower, upper, q)):
        assert np.isfinite(er.trace(law, s, {"q": (3,)}).constants).all(), "an infinite limit got into the trace"


def test_margins_that_overlap_add_up_and_take_the_smaller_factor():
    s = JointLimits(form="printed", margin=1.0, gain=0.1)
    lower, upper, middle = np.array([-0.5]), np.array([0.5]), np.array([0.0])
    assert potential(s, middle, lower, upper)[0] == 0.0
    assert potential(s, np.array([0.1]), lower, upper)[0] < 0
    both = scaling(JointLimits(form="printed", margin=1.0), np.array([0.1]), lower, upper, np.ones(1))[0]
    assert both == pytest.approx(0.5 * (1 - math.cos(math.pi * 0.4)))


@pytest.mark.parametrize("form", ["printed", "mended"])
@pytest.mark.parametrize("n", [1, 3])
def test_four_ways(form, n):
    s = JointLimits(form=form, exponent=n)
    lower, upper = np.array([-1.0, -2.0, -np.inf]), np.array([2.0, 2.0, np.inf])
    for q in ([0.0, 0.0, 0.0], [-0.95, 1.9, 5.0], [-1.0, 2.0, 0.0], [-3.0, 3.0, 1.0]):
        four_ways(lambda g, q: potential(g, q, lower, upper), s, q=q)
        for way in ([1.0, -1.0, 1.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]):
            four_ways(lambda g, q, direction: scaling(g, q, lower, upper, direction), s, q=q, direction=way)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "springs"},
        {"form": "fixed"},
        {"margin": 0.0},
        {"margin": 10.0},  # degrees
        {"gain": -1.0},
        {"exponent": 0},
        {"floor": 0.0},
        {"floor": 0.3},  # above the margin
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=f"^JointLimits: {next(iter(wrong))}: expected .*; got "):
        JointLimits(**wrong)
