"""People who move by formulas: their velocities are derivatives, nothing is kept between calls, bounds hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elbowroom.avoidance import Obstacles
from elbowroom.cell import RandomWalk, Reach, Recorded, Still, Walk
from elbowroom.cell.mocap.recorded import Motion
from elbowroom.cell.people.coworker import Coworker
from elbowroom.cell.people.reach import STRETCH
from elbowroom.errors import ElbowroomError, ShapeError
from elbowroom.geometry import Person
from elbowroom.geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B
from elbowroom.simulation import minimum_jerk
from strategies import examples

STEP = 1e-5  # s: a central difference errs by STEP^2/6 of the third derivative, here below 1e-8 m/s


def seen(who: Coworker, t: float) -> np.ndarray:
    out = np.full((len(who.names), 13), np.nan)
    assert who.look(t, out) == t
    return out


def assert_velocities_are_rates(who: Coworker, t: float, atol: float) -> None:
    before, now, after = (seen(who, x) for x in (t - STEP, t, t + STEP))
    for end, rate in ((A, VELOCITY_A), (B, VELOCITY_B)):
        np.testing.assert_allclose(now[:, rate], (after[:, end] - before[:, end]) / (2 * STEP), atol=atol)
    at = [who.point(x)[0] for x in (t - STEP, t + STEP)]
    np.testing.assert_allclose(who.point(t)[1], (at[1] - at[0]) / (2 * STEP), atol=atol)


def moving() -> list[Coworker]:
    """One of each kind."""
    reach = Reach((0, 0), (0.5, 0, 1))
    frames = np.array([reach.points(t)[0] for t in np.arange(5.0)])
    motion = Motion(reach.point_names, np.arange(5.0), frames, np.isfinite(frames).all(axis=2))
    return [
        Still(Person.standing((1, 2, 0))),
        Walk((2, 0), (1, 0), 0.3),
        Walk((2, 0), (1, 1), 0.3, 2, "standing", pause=0.5, delay=0.2, acceleration=0.5),
        RandomWalk(3, (0, 1, -1, 1), 1.5, "standing", turn=1.0),
        Reach((1, 0), (0.6, 0.1, 1.2), times=None),
        Recorded(motion),
    ]


KINDS = ["still", "walk", "smooth walk", "random walk", "reach", "recorded"]


@pytest.mark.parametrize("who", moving(), ids=KINDS)
def test_every_kind_is_a_coworker_and_nothing_is_kept_between_calls(who):
    assert isinstance(who, Coworker)
    assert who.duration > 0
    times = [0.0, 0.3, 3.9, 1.7]
    there = [seen(who, t) for t in times]
    back = [seen(who, t) for t in reversed(times)]
    for one, other in zip(there, reversed(back), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.isfinite(one).all()
        assert (one[:, RADIUS] > 0).all()
    at, velocity = who.point(1.7)
    at += 1.0  # what is handed out is a copy
    assert not np.array_equal(at, who.point(1.7)[0])
    assert velocity.shape == (3,)


@pytest.mark.parametrize("who", moving(), ids=KINDS)
def test_rows_of_the_wrong_number_and_times_that_are_none_are_refused(who):
    with pytest.raises(ShapeError, match=rf"out must have shape \({len(who.names)}, 13\); got \(14, 13\)"):
        who.look(0.0, np.zeros((14, 13)))
    for t in (math.nan, math.inf):
        with pytest.raises(ValueError, match="t must be a finite time"):
            who.look(t, np.zeros((len(who.names), 13)))


def test_what_is_seen_goes_into_the_obstacles_of_a_controller():
    people, who = Obstacles(people=1), Walk((2, 0), (1, 0), 0.3, shape="standing")
    stamp = who.look(0.5, out := np.empty((13, 13)))
    people.see(out, stamp)
    assert people.stamps[0] == 0.5
    np.testing.assert_array_equal(people.rows[:13], out)


# --- Still ---


def test_somebody_still_stays():
    person = Person.cylinder((1, 2, 0.5))
    who = Still(person)
    np.testing.assert_array_equal(seen(who, 0.0), person.rows)
    np.testing.assert_array_equal(seen(who, 1e6), person.rows)
    np.testing.assert_allclose(who.point(3.0), [[1, 2, 0.5], [0, 0, 0]])
    assert who.duration == math.inf
    np.testing.assert_allclose(Still(Person.standing((1, 2, 0))).point(0)[0][:2], [1, 2])
    with pytest.raises(ValueError, match="must be at rest"):
        Still(Person.cylinder((0, 0, 0), velocity=(1, 0, 0)))


# --- Walks ---


def test_the_thesis_walk_along_x_is_at_constant_speed_with_instant_turns():
    """Test 1: 0.3 m/s towards the robot along X, and back; 1.5 m take 5 s."""
    who = Walk((2.0, 0.1), (0.5, 0.1), 0.3)
    assert who.names == ("coworker",)
    assert who.duration == math.inf
    for t, x, v in (
        (0, 2.0, -0.3),
        (1, 1.7, -0.3),
        (4.9, 0.53, -0.3),
        (5.1, 0.53, 0.3),
        (9, 1.7, 0.3),
        (10.5, 1.85, -0.3),
    ):
        at, velocity = who.point(t)
        np.testing.assert_allclose(at, [x, 0.1, 0], atol=1e-12)
        np.testing.assert_allclose(velocity, [v, 0, 0], atol=1e-15)
        person = Person.cylinder((x, 0.1, 0), velocity=(v, 0, 0))
        np.testing.assert_allclose(seen(who, t), person.rows, atol=1e-12)
    np.testing.assert_allclose(who.point(1004.9)[0], [0.53, 0.1, 0], atol=1e-9)  # the hundredth time


def test_the_thesis_walk_along_y_from_two_and_a_half_metres():
    """Test 3: 0.2 m/s along Y; one way only."""
    who = Walk((0.4, 2.5), (0.4, 0.5), 0.2, periods=0.5)
    assert who.duration == pytest.approx(10)
    np.testing.assert_allclose(who.point(5), [[0.4, 1.5, 0], [0, -0.2, 0]], atol=1e-12)
    np.testing.assert_allclose(who.point(11), [[0.4, 0.5, 0], [0, 0, 0]], atol=1e-12)


def test_periods_pauses_and_delay():
    who = Walk((0, 0), (1, 0), 0.5, 2, pause=1.0, delay=3.0)
    assert who.leg == pytest.approx(3)
    assert who.duration == pytest.approx(3 + 4 * 3)
    for t, x, v in ((-1, 0, 0), (2.9, 0, 0), (3.5, 0.25, 0.5), (5.5, 1, 0), (6.5, 0.75, -0.5), (8.5, 0, 0), (20, 0, 0)):
        np.testing.assert_allclose([who.point(t)[0][0], who.point(t)[1][0]], [x, v], atol=1e-12)
    assert who.point(1e9)[1][0] == 0


def test_a_standing_figure_looks_ahead_on_the_way_back_too():
    who = Walk((2, 1, 0.2), (1, 1, 0.2), 0.3, shape="standing")
    for t in (1.0, 5.0):
        at, velocity = who.point(t)
        person = Person.standing(at, facing=math.pi).moved((0, 0, 0), velocity)
        np.testing.assert_allclose(seen(who, t), person.rows, atol=1e-12)
    turned = Walk((2, 1), (1, 1), 0.3, shape="standing", facing=0.5)
    np.testing.assert_allclose(seen(turned, 0.0)[:, :6], Person.standing((2, 1, 0), 0.5).rows[:, :6], atol=1e-12)


@given(
    st.floats(0.1, 3), st.floats(0.05, 2), st.floats(0.1, 5), st.floats(0, 1), st.floats(0, 1), st.floats(0, 3)
)  # fmt: skip
def test_a_smooth_turn_has_its_speed_and_acceleration(length, speed, acceleration, pause, delay, part):
    who = Walk((0, 0), (0, length), speed, None, pause=pause, delay=delay, acceleration=acceleration)
    t = delay + part * who.leg
    (_, y, _), (_, v, _) = who.point(t)
    assert -1e-12 <= y <= length * (1 + 1e-12)
    assert abs(v) <= speed
    h = 1e-4
    change = (who.point(t + h)[1][1] - v) / h
    assert abs(change) <= acceleration * (1 + 1e-6)  # rounding of the difference: 1e-16 / 1e-4 of the speed
    travelled = who.point(t + h)[0][1] - y
    assert travelled == pytest.approx(h * v, abs=h * h * acceleration)  # the position is the integral
    peak = max(abs(who.point(delay + k / 50 * who.leg)[1][1]) for k in range(51))
    assert peak <= min(speed, math.sqrt(acceleration * length)) * (1 + 1e-12)


def test_a_smooth_leg_rises_cruises_and_falls():
    """1 m at 0.5 m/s and 0.5 m/s^2: 1 s up over 0.25 m, 1 s along, 1 s down; a short leg never has the speed."""
    who = Walk((0, 0), (1, 0), 0.5, acceleration=0.5)
    assert who.leg == pytest.approx(3)
    for t, x, v in (
        (0.5, 0.0625, 0.25),
        (1, 0.25, 0.5),
        (1.5, 0.5, 0.5),
        (2.5, 0.9375, 0.25),
        (3, 1, 0),
        (4, 0.75, -0.5),
    ):
        np.testing.assert_allclose([who.point(t)[0][0], who.point(t)[1][0]], [x, v], atol=1e-12)
    short = Walk((0, 0), (0.08, 0), 0.5, acceleration=0.5)
    assert short.leg == pytest.approx(0.8)
    np.testing.assert_allclose([short.point(0.4)[0][0], short.point(0.4)[1][0]], [0.04, 0.2], atol=1e-12)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"end": (2, 0)}, "start and end must differ"),
        ({"speed": 0}, "Walk.speed must be more than 0; got 0"),
        ({"speed": math.nan}, "Walk.speed must be finite"),
        ({"start": (1,)}, r"Walk.start must be \(x, y\) or \(x, y, z\)"),
        ({"periods": 0.3}, "multiple of a half, or None; got 0.3"),
        ({"periods": 0}, "Walk.periods must be more than 0"),
        ({"pause": -1}, "Walk.pause must be at least 0; got -1"),
        ({"acceleration": 0}, "Walk.acceleration must be more than 0"),
        ({"shape": "sphere"}, 'shape must be "cylinder" or "standing"'),
        ({"radius": -1}, "radius must be positive"),
    ],
)
def test_bad_walks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Walk(**({"start": (2, 0), "end": (1, 0), "speed": 0.3} | arguments))


# --- Random walks ---

corners = st.tuples(st.floats(-5, 5), st.floats(0.01, 6), st.floats(-5, 5), st.floats(0.01, 6))


@examples(40)
@given(st.integers(0, 2**32), corners, st.floats(0.05, 2.0), st.floats(0, 1))
def test_random_walks_keep_to_their_area_and_speed(seed, corner, fastest, part):
    x, width, y, depth = corner
    area = (x, x + width, y, y + depth)
    who = RandomWalk(seed, area, fastest)
    times = np.linspace(0, who.period, 1500) + part
    path = np.array([np.concatenate(who.point(t)) for t in times])
    eps = 1e-12 * (10 + width + depth)  # rounding of sums of metres
    assert (path[:, 0] >= area[0] - eps).all()
    assert (path[:, 0] <= area[1] + eps).all()
    assert (path[:, 1] >= area[2] - eps).all()
    assert (path[:, 1] <= area[3] + eps).all()
    speeds = np.linalg.norm(path[:, 3:], axis=1)
    assert speeds.max() <= fastest * (1 + 1e-12)
    # It uses what it is given.  1500 samples of at most 17 waves a round miss a peak by (17 pi / 1500)^2 / 2, 0.1 %.
    assert speeds.max() >= 0.98 * fastest
    assert np.ptp(path[:, 0]) >= 0.98 * width
    assert np.ptp(path[:, 1]) >= 0.98 * depth


@examples(30)
@given(st.integers(0, 1000), st.floats(0, 100), st.floats(-3, 3), st.floats(0, 3))
def test_the_velocity_of_a_random_walk_is_its_derivative(seed, t, facing, turn):
    """1e-6: the fastest of the sines has some 20 rad/s and 0.1 m; its third derivative times STEP^2/6 is 1e-8."""
    who = RandomWalk(seed, (-1, 1, 0, 1), 2.0, "standing", floor=-0.3, facing=facing, turn=turn)
    assert_velocities_are_rates(who, t, 1e-6)


def test_the_seed_is_the_path():
    one, same, other = (RandomWalk(seed, (0, 1, 0, 1)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.point(7.7), same.point(7.7))
    assert np.abs(one.point(7.7)[0] - other.point(7.7)[0]).max() > 1e-3
    np.testing.assert_allclose(one.point(0.4), one.point(0.4 + one.period), atol=1e-9)
    assert one.period > 15  # s: in a square metre at 2 m/s


def test_the_figure_turns_to_where_it_goes():
    """At speed v to the left by as much of `turn` as v is of the largest speed."""
    who = RandomWalk(5, (0, 2, 0, 2), 1.0, "standing", facing=0.0, turn=1.2)
    for t in (0.0, 1.0, 2.5):
        at, velocity = who.point(t)
        yaw = 1.2 * velocity[1] / 1.0
        np.testing.assert_allclose(seen(who, t)[:, :6], Person.standing(at, yaw).rows[:, :6], atol=1e-12)


def test_a_walk_on_a_line_and_bad_areas():
    who = RandomWalk(0, (1, 1, 0, 2), 1.0)
    assert {who.point(t)[0][0] for t in range(20)} == {1.0}
    for area in ((0, 0, 0, 0), (1, 0, 0, 1), (0, 1, 1, 0)):
        with pytest.raises(ValueError, match=r"RandomWalk.area must be"):
            RandomWalk(0, area)
    with pytest.raises(ValueError, match=r"RandomWalk.max_speed must be more than 0"):
        RandomWalk(0, (0, 1, 0, 1), 0)
    with pytest.raises(ElbowroomError, match=r"RandomWalk.area must have shape"):
        RandomWalk(0, (0, 1, 0))


# --- Reaching ---


def test_least_jerk_starts_and_ends_at_rest_and_is_fastest_in_the_middle():
    assert minimum_jerk(-1) == minimum_jerk(0) == (0, 0, 0)
    assert minimum_jerk(1) == minimum_jerk(2) == (1, 0, 0)
    assert minimum_jerk(0.5) == (0.5, 1.875, 0)


def points(who: Reach, t: float) -> dict[str, np.ndarray]:
    return dict(zip(who.point_names, who.points(t)[0], strict=True))


def test_the_hand_goes_to_the_target_and_back():
    target = np.array([0.55, -0.1, 1.2])
    who = Reach((1, 0), target, start=1.0, reach_time=0.8, hold=0.5, times=2, pause=0.4)
    assert who.duration == pytest.approx(1 + 2 * 2.1 + 0.4)
    hand = who.names.index("right_hand")
    rest = seen(who, 0.0)[hand, A]
    for t in (1.8, 2.0, 2.3, 1.8 + 2.5):
        np.testing.assert_allclose(seen(who, t)[hand, A], target, atol=1e-12)
    for t in (0.5, 1.0, 3.1, 3.4, 6.0, 100.0):
        np.testing.assert_allclose(seen(who, t)[hand, A], rest, atol=1e-12)
    middle = seen(who, 1.4)
    np.testing.assert_allclose(middle[hand, A], (rest + target) / 2, atol=1e-12)
    fastest = 1.875 * np.linalg.norm(target - rest) / 0.8
    assert np.linalg.norm(middle[hand, VELOCITY_A]) == pytest.approx(fastest)
    np.testing.assert_allclose(who.point(1.4), [[1, 0, 0], [0, 0, 0]])


@examples(40)
@given(
    st.sampled_from(["left", "right"]),
    st.floats(0.25, 0.9),
    st.floats(-0.3, 0.3),
    st.floats(0.8, 1.5),
    st.floats(-3, 3),
    st.floats(0.02, 2.4),
)
def test_bones_keep_their_lengths_and_velocities_are_derivatives(side, ahead, aside, height, yaw, t):
    """1e-6 m/s: least jerk and the bending elbow have third derivatives below 1e4, times STEP^2/6."""
    c, s = math.cos(yaw), math.sin(yaw)
    target = (c * ahead - s * aside, s * ahead + c * aside, height)
    try:
        who = Reach((0, 0), target, hand=side, facing=yaw)
    except ValueError:
        assume(False)  # too near the shoulders, or too far
    now, rest = points(who, t), points(who, 0.0)
    for one, other in (
        (f"{side}_shoulder", f"{side}_elbow"),
        (f"{side}_elbow", f"{side}_hand"),
        ("collar", "hip"),
        ("head", "collar"),
        ("left_shoulder", "right_shoulder"),
    ):
        length = np.linalg.norm(now[one] - now[other])
        assert length == pytest.approx(np.linalg.norm(rest[one] - rest[other]), abs=1e-9)
    assert_velocities_are_rates(who, t, 1e-6)
    reach = np.linalg.norm(rest[f"{side}_hand"] - rest[f"{side}_shoulder"])
    assert np.linalg.norm(now[f"{side}_hand"] - now[f"{side}_shoulder"]) <= reach * (1 + 1e-6)


def test_somebody_leans_only_as_far_as_the_arm_is_short():
    near, far, farther = (Reach((0, 0), (x, 0, 1.1)) for x in (0.4, 0.7, 0.8))
    assert near.lean == 0 < far.lean < farther.lean
    shoulder = points(far, 1.2)["right_shoulder"]
    arm = np.linalg.norm(np.array([0.7, 0, 1.1]) - shoulder)
    most = np.linalg.norm(points(far, 0)["right_hand"] - points(far, 0)["right_shoulder"])
    # The least lean is found to a degree, which moves the shoulder, 0.52 m from the hip, by 1 cm.
    assert most - 0.01 < arm <= most * (1 + 1e-9)
    assert points(far, 1.2)["head"][0] > points(far, 0)["head"][0] + 0.05
    np.testing.assert_array_equal(points(far, 1.2)["hip"], points(far, 0)["hip"])
    hanging = [points(far, t)["left_hand"] - points(far, t)["left_shoulder"] for t in (0, 1.2)]
    np.testing.assert_allclose(*hanging, atol=1e-12)


def test_the_elbow_hangs_back_at_rest_and_down_when_stretched():
    who = Reach((0, 0), (0.6, -0.2, 1.45))
    rest, out = points(who, 0.0), points(who, 1.2)
    assert rest["right_elbow"][0] < -0.03  # looks along x
    middle = (out["right_shoulder"] + out["right_hand"]) / 2
    assert out["right_elbow"][2] < middle[2] - 0.03
    straight = np.linalg.norm(rest["right_hand"] - rest["right_shoulder"])
    whole = sum(
        np.linalg.norm(rest[a] - rest[b]) for a, b in (("right_shoulder", "right_elbow"), ("right_elbow", "right_hand"))
    )
    assert straight == pytest.approx(STRETCH * whole)
    for a, b in itertools.pairwise((0.0, 0.5, 1.0)):
        assert points(who, b)["right_hand"][0] > points(who, a)["right_hand"][0]


def test_height_and_floor():
    who = Reach((0, 0, 0.5), (0.4, 0, 1.5), height=1.6)
    np.testing.assert_allclose(who.point(0)[0], [0, 0, 0.5])
    assert points(who, 0)["head"][2] == pytest.approx(0.5 + 0.93 * 1.6)
    left = Reach((0, 0), (0.5, 0, 1.2), hand="left")
    assert points(left, 1.2)["left_hand"] == pytest.approx([0.5, 0, 1.2])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"target": (1.5, 0, 1.2)}, "leaning by 60 degrees the shoulder is still .* m away: stand nearer"),
        ({"target": (0.05, -0.3, 1.47), "facing": 0.0}, "comes to .* m: choose another target or facing"),
        ({"target": (0, 0, 1.2)}, "facing must be given where the target is straight above"),
        ({"target": (0.5, 0)}, r"Reach.target must have shape \(3,\)"),
        ({"target": (0.5, math.nan, 1)}, "Reach.target must be finite"),
        ({"hand": "middle"}, 'Reach.hand must be "left" or "right"'),
        ({"times": 0}, "Reach.times must be a whole number, at least 1, or None; got 0"),
        ({"times": True}, "Reach.times"),
        ({"reach_time": 0}, "Reach.reach_time must be more than 0"),
        ({"start": -1}, "Reach.start must be at least 0"),
    ],
)
def test_bad_reaches_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Reach(**({"position": (0, 0), "target": (0.5, 0, 1.2)} | arguments))
