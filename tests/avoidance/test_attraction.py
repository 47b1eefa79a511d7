"""Attraction: PI with its windup held, (3.77) printed and mended, turning, paths and poles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifting import four_ways
from scipy.spatial.transform import Rotation

from elbowroom.avoidance.control.attraction import (
    Attraction,
    Path,
    Pole,
    held,
    pull,
    rotation_error,
    slow_down_factor,
    turn,
)
from elbowroom.errors import ConfigError, ShapeError

reals = st.floats(-3.0, 3.0)
vectors = st.tuples(reals, reals, reals).map(np.array)
settings = st.builds(
    Attraction,
    kp=st.floats(0.0, 20.0),
    ki=st.floats(0.0, 20.0),
    max_speed=st.floats(0.01, 2.0),
    windup=st.floats(0.0, 1.0),
)


def length(v):
    return float(np.linalg.norm(v))


# ---- PI


def test_inside_its_bounds_it_is_the_printed_law():
    """(3.47), (3.48): e = p_e - p_pole, v = -Kp e - Ki int e."""
    s = Attraction(kp=2.0, ki=0.5, max_speed=10.0, windup=10.0)
    tool, pole, dt = np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.1, 0.5]), 0.01
    integral = np.zeros(3)
    printed_integral = np.zeros(3)
    for _ in range(5):
        v, integral = pull(s, pole - tool, integral, dt, 1.0)
        e = tool - pole
        printed_integral += e * dt
        assert np.allclose(v, -2.0 * e - 0.5 * printed_integral, rtol=0, atol=1e-15)
        tool = tool + v * dt


@given(settings, vectors, vectors, st.floats(1e-4, 0.1), st.floats(0.0, 1.0))
def test_speed_and_integral_stay_in_their_bounds(s, error, integral, dt, slow):
    v, kept = pull(s, error, integral, dt, slow)
    assert np.isfinite(v).all()
    assert np.isfinite(kept).all()
    rounding = 1 + 1e-12
    assert length(v) <= s.max_speed * slow * rounding
    assert s.ki * length(kept) <= s.windup * rounding


@given(settings, vectors, st.floats(1e-4, 0.1), st.floats(0.0, 1.0))
def test_direction_is_kept(s, error, dt, slow):
    v, _ = pull(s, error, np.zeros(3), dt, slow)  # a fresh integral is along the error too
    assert np.allclose(np.cross(v, error), 0.0, atol=1e-12 * (1 + length(error)) ** 2)
    assert v @ error >= 0


def test_the_integral_does_not_grow_while_the_speed_is_held():
    s = Attraction(kp=5.0, ki=1.0, max_speed=0.5, windup=10.0)
    integral = np.array([0.2, 0.0, 0.0])
    v, kept = pull(s, np.array([1.0, 0.0, 0.0]), integral, 0.01, 1.0)
    assert length(v) == pytest.approx(0.5)
    assert np.array_equal(kept, integral)
    # an error that unwinds is summed, held or not
    _, kept = pull(s, np.array([-0.01, 0.0, 0.0]), np.array([2.0, 0.0, 0.0]), 0.01, 1.0)
    assert kept[0] == pytest.approx(2.0 - 0.0001)


def test_it_does_not_wind_up_while_held_back_by_a_person():
    s = Attraction(kp=0.1, ki=1.0, max_speed=1.0, windup=0.5)
    integral = np.zeros(3)
    for _ in range(10_000):
        v, integral = pull(s, np.array([0.3, 0.0, 0.0]), integral, 0.01, 0.0)
        assert not v.any()
    assert not integral.any()
    _, half = pull(s, np.array([0.3, 0.0, 0.0]), integral, 0.01, 0.5)
    assert half[0] == pytest.approx(0.5 * 0.3 * 0.01)


def test_it_leaves_saturation_without_overshoot_of_a_plain_integral():
    """A point that starts 2 m off: with the windup held it overshoots less than a PI law that sums all the way."""

    def overshoot(s, plain):
        x, integral, most = -2.0, np.zeros(3), 0.0
        for _ in range(6000):
            error = np.array([-x, 0.0, 0.0])
            if plain:
                integral = integral + error * 0.005
                v = np.clip(s.kp * error + s.ki * integral, -s.max_speed, s.max_speed)
            else:
                v, integral = pull(s, error, integral, 0.005, 1.0)
            x += v[0] * 0.005
            most = max(most, x)
        return most, abs(x)

    s = Attraction(kp=2.0, ki=1.0, max_speed=0.3, windup=0.1)
    guarded, rest = overshoot(s, plain=False)
    assert rest < 1e-3
    assert guarded < 0.15 < overshoot(s, plain=True)[0]


def test_nothing_is_divided_by_zero():
    with np.errstate(all="raise"):
        v, kept = pull(Attraction(), np.zeros(3), np.zeros(3), 0.01, 1.0)
        assert not v.any()
        assert not kept.any()
        assert not held(np.zeros(3), 0.0).any()
        v, kept = pull(Attraction(ki=0.0, windup=0.0), np.ones(3), np.ones(3), 0.01, 1.0)
        assert np.isfinite(v).all()
        assert np.isfinite(kept).all()


@pytest.mark.parametrize("error", [[0, 0, 0], [0.1, -0.2, 0.05], [3, 1, 2], [-3, -1, -2]])
@pytest.mark.parametrize("integral", [[0, 0, 0], [5.0, 0, 0]])
def test_pull_four_ways(error, integral):
    for slow in (0.0, 0.4, 1.0):
        four_ways(pull, Attraction(ki=0.3), error=error, integral=integral, dt=0.01, slow=slow)


# ---- restraint near people


def printed(d, d0, n):
    """(3.77) as it stands in the thesis."""
    return 2 / (1 + math.exp(-((d / d0) ** n))) - 1


@pytest.mark.parametrize("n", range(1, 9))
def test_the_printed_factor(n):
    s = Attraction(slow_down="printed", exponent=n)
    for d in (0.0, 0.1, 0.4, 0.8, 1.2, 2.0):
        assert slow_down_factor(s, d, 0.8) == pytest.approx(printed(d, 0.8, n), rel=1e-13, abs=1e-15)
    assert slow_down_factor(s, 0.8, 0.8) == pytest.approx(math.tanh(0.5), rel=1e-14)  # 0.46 at d0, whatever n
    assert slow_down_factor(s, 1e6, 0.8) == 1.0


@pytest.mark.parametrize("n", range(1, 9))
def test_the_mended_factor(n):
    s = Attraction(slow_down="mended", exponent=n)
    factor = np.array([float(slow_down_factor(s, d, 0.8)) for d in np.linspace(-0.2, 1.0, 601)])
    assert (np.diff(factor) >= 0).all()
    for d in (0.8, 0.80001, 3.0, 1e6):
        assert slow_down_factor(s, d, 0.8) == 1.0
    # zero slope at d0: 1 - (1 - x^n)^2 leaves (n h / d0)^2 at most, a tenth more for the next order
    h = 1e-4
    assert 1 - slow_down_factor(s, 0.8 - h, 0.8) <= 1.1 * (n * h / 0.8) ** 2


@pytest.mark.parametrize("form", ["printed", "mended"])
@pytest.mark.parametrize("n", [1, 2, 8])
def test_contact_and_penetration_leave_nothing(form, n):
    s = Attraction(slow_down=form, exponent=n)
    for d in (0.0, -1e-9, -0.3, -10.0):
        assert slow_down_factor(s, d, 0.5) == 0.0


def test_off_is_one():
    assert slow_down_factor(Attraction(slow_down="off"), -1.0, 0.5) == 1.0


@pytest.mark.parametrize("form", ["printed", "mended"])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_factor_four_ways(form, n):
    for d in (-0.1, 0.0, 0.2, 0.5, 0.9, 1e6):
        four_ways(slow_down_factor, Attraction(slow_down=form, exponent=n), distance=d, influence=0.5)


# ---- turning

axes = vectors.filter(lambda v: length(v) > 0.1).map(lambda v: v / length(v))


@given(axes, st.floats(0.0, math.pi), vectors)
def test_the_rotation_error_is_twice_the_sine_of_half_the_angle(axis, angle, tool):
    R_tool = Rotation.from_rotvec(tool).as_matrix()
    R_goal = Rotation.from_rotvec(angle * axis).as_matrix() @ R_tool
    found = rotation_error(R_tool, R_goal)
    expected = 2 * math.sin(angle / 2) * axis
    if angle > math.pi - 1e-6:  # both ways round are equally short
        found = found * np.sign(found @ expected)
    # entries of the matrices are off by 1e-16; where one of the smaller quaternion parts is divided by the greatest
    # (>= 1/2) that stays 1e-15
    assert np.allclose(found, expected, rtol=0, atol=2e-15)


@pytest.mark.parametrize("axis", [*np.eye(3), -np.eye(3)[1], np.ones(3) / math.sqrt(3), np.array([0.6, -0.8, 0.0])])
@pytest.mark.parametrize("short", [0.0, 1e-12, 1e-9, 1e-6])
def test_half_a_turn_is_finite_and_full(axis, short):
    R = Rotation.from_rotvec((math.pi - short) * axis).as_matrix()
    error = rotation_error(np.eye(3), R)
    assert length(error) == pytest.approx(2.0, rel=1e-12)
    assert abs(error @ axis) == pytest.approx(2.0, rel=1e-12)
    if short >= 1e-9:
        assert error @ axis > 0, "the short way round"


def test_turning_reaches_the_goal_and_is_held():
    s = Attraction(rotation_gain=4.0, max_turn=1.5)
    R = Rotation.from_rotvec([0.3, -2.0, 1.0]).as_matrix()
    goal = Rotation.from_rotvec([-1.0, 0.5, 2.0]).as_matrix()
    for _ in range(1000):
        w = turn(s, R, goal)
        assert length(w) <= 1.5 * (1 + 1e-12)
        R = Rotation.from_rotvec(w * 0.01).as_matrix() @ R
    assert length(rotation_error(R, goal)) < 1e-9
    assert not turn(s, goal, goal).round(15).any()


@pytest.mark.parametrize("rotvec", [[0, 0, 0], [0.3, 0.1, -0.2], [math.pi, 0, 0], [0, 0, -3.0], [0, 3.1, 0.2]])
def test_turn_four_ways(rotvec):
    goal = Rotation.from_rotvec(rotvec).as_matrix()
    tool = np.eye(3) if np.isclose(length(rotvec), math.pi) else Rotation.from_rotvec([0.2, 0.1, 0.4]).as_matrix()
    four_ways(turn, Attraction(), R_tool=tool, R_goal=goal)


# ---- paths and poles

CORNER = [[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 2, 0]]


def test_a_path_is_travelled_by_length():
    path = Path(CORNER)
    assert path.length == 3.0
    assert len(path.points) == 3, "a repeated point counts once"
    for s, expected in [(-1, [0, 0, 0]), (0, [0, 0, 0]), (0.25, [0.25, 0, 0]), (1, [1, 0, 0]), (2.5, [1, 1.5, 0])]:
        assert np.allclose(path.position(s), expected, rtol=0, atol=1e-15)
    assert np.array_equal(path.position(3), [1, 2, 0])
    assert np.array_equal(path.position(99), [1, 2, 0])
    assert np.array_equal(path.direction(0.999), [1, 0, 0])
    assert np.array_equal(path.direction(1), [0, 1, 0])


@given(st.lists(vectors, min_size=2, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_two_points_of_a_path_are_no_farther_apart_than_the_way_between(points, a, b):
    if max(length(p - points[0]) for p in points) < 1e-6:
        return
    path = Path(points)
    s, t = a * path.length, b * path.length
    assert length(path.position(s) - path.position(t)) <= abs(s - t) + 1e-12


def test_the_pole_moves_at_its_speed_and_stops():
    pole = Pole(Path(CORNER), 0.5)
    assert pole.duration == 6.0
    h = 1e-6
    for t in (0.3, 1.0, 2.5, 5.0):
        position, velocity = pole.at(t)
        assert np.allclose((pole.at(t + h)[0] - position) / h, velocity, atol=1e-8)  # rounding 1e-16 / 1e-6
        assert length(velocity) == pytest.approx(0.5)
    for t in (-1.0, 6.0, 7.0):
        assert not pole.at(t)[1].any()
    assert np.array_equal(pole.at(1e9)[0], [1, 2, 0])


def test_the_pole_waits_at_the_end_of_its_leash():
    pole = Pole(Path(CORNER), 0.5, leash=0.2)
    t, tool = 0.0, np.zeros(3)
    for _ in range(1000):
        t = pole.advance(t, 0.01, tool)
    gap = length(pole.at(t)[0] - tool)
    assert 0.2 <= gap <= 0.2 + 0.5 * 0.01 + 1e-12, "one step past the leash at most"
    assert pole.advance(t, 0.01, pole.at(t)[0]) == t + 0.01
    free = Pole(Path(CORNER), 0.5)
    assert free.advance(2.0, 0.01, [9, 9, 9]) == 2.01


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Path([[0, 0, 0]]), "two different points or more; got 1"),
        (lambda: Path([[0, 0, 0], [0, 0, 0]]), "two different points or more; got 1"),
        (lambda: Path(np.zeros((0, 3))), "got 0"),
        (lambda: Path([[0, 0, 0], [0, 0, math.nan]]), "finite"),
        (lambda: Pole(Path(CORNER), 0.0), "speed must be a number > 0"),
        (lambda: Pole(Path(CORNER), math.nan), "speed must be a number > 0"),
        (lambda: Pole(Path(CORNER), 1.0, leash=-1.0), "leash must be a number > 0"),
    ],
)
def test_bad_paths_and_poles(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_path_of_the_wrong_shape():
    with pytest.raises(ShapeError, match=r"\(k, 3\)"):
        Path([[0, 0], [1, 1]])


@pytest.mark.parametrize(
    "wrong",
    [
        {"kp": -1.0},
        {"ki": math.nan},
        {"max_speed": 0.0},
        {"max_speed": 500.0},  # millimetres a second
        {"windup": -0.1},
        {"rotation_gain": -1.0},
        {"max_turn": 90.0},  # degrees a second
        {"slow_down": "on"},
        {"exponent": 0},
        {"exponent": 2.0},
        {"exponent": 9},
        {"exponent": True},
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=f"^Attraction: {next(iter(wrong))}: expected .*; got "):
        Attraction(**wrong)
