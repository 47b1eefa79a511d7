"""People: the upright cylinder, bodies from skeletons, what is made up and how it moves, and what is refused."""

from __future__ import annotations

import csv
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elbowroom.errors import DtypeError, ShapeError, UnknownNameError
from elbowroom.geometry import Capsule, Person, Sizes, Skeleton, Sphere, distance
from elbowroom.geometry.person import NAMES, POINTS
from elbowroom.geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B
from strategies import examples

RECORDED = (  # the nine points of the recordings in shared/data
    "collar", "head", "left_elbow", "left_hand", "left_shoulder", "right_elbow", "right_hand", "right_shoulder", "hip",
)  # fmt: skip
MOTION = Path(__file__).resolve().parents[3] / "shared" / "data" / "coworker-motion"


def figure(**changes) -> dict:
    """Nine points of somebody who stands at the origin, looks along x and stretches the left arm forwards."""
    return {
        "head": (0, 0, 1.7),
        "collar": (0, 0, 1.5),
        "hip": (0, 0, 1.0),
        "left_shoulder": (0, 0.2, 1.5),
        "right_shoulder": (0, -0.2, 1.5),
        "left_elbow": (0.3, 0.2, 1.5),
        "right_elbow": (0, -0.2, 1.2),
        "left_hand": (0.6, 0.2, 1.5),
        "right_hand": (0, -0.2, 0.9),
    } | changes


def row(person: Person, name: str) -> np.ndarray:
    return person.rows[person.names.index(name)]


# --- The cylinder ---


def test_the_cylinder_reaches_from_the_floor_to_its_height():
    person = Person.cylinder((1, 2, 0.5), height=1.7, radius=0.25, velocity=(-0.3, 0, 0))
    assert person.names == ("coworker",)
    (only,) = person.rows
    np.testing.assert_allclose(only[A], [1, 2, 0.75])
    np.testing.assert_allclose(only[B], [1, 2, 0.5 + 1.7 - 0.25])
    assert only[RADIUS] == 0.25
    np.testing.assert_array_equal(only[VELOCITY_A], [-0.3, 0, 0])
    np.testing.assert_array_equal(only[VELOCITY_B], [-0.3, 0, 0])
    (capsule,) = Person.cylinder((0, 0, 0)).capsules()
    floor, ceiling = Sphere((0, 0, -1), 1.0), Sphere((0, 0, 2.8), 1.0)  # they touch it at 0 and at 1.8 m
    assert distance(capsule, floor).distance == pytest.approx(0, abs=1e-15)
    assert distance(capsule, ceiling).distance == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"radius": 0.0}, "radius must be positive; got 0 m"),
        ({"radius": 1.0}, "height must be at least twice the radius, 2 m; got 1.8 m"),
        ({"height": math.nan}, "height must be finite; got nan"),
        ({"position": (0, 0)}, r"position must have shape \(3,\); got \(2,\)"),
        ({"position": (0, math.inf, 0)}, "position must be finite"),
        ({"velocity": (0, 0, math.nan)}, "velocity must be finite"),
    ],
)
def test_a_bad_cylinder_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Person.cylinder(**({"position": (0, 0, 0)} | arguments))


# --- From a skeleton ---


def test_nine_points_give_thirteen_capsules():
    person = Person.from_skeleton(figure())
    assert person.names == NAMES
    assert len(person) == 13
    sizes = Sizes()
    np.testing.assert_allclose(row(person, "torso")[:7], [0, 0, 1.5, 0, 0, 1, sizes.torso])
    np.testing.assert_allclose(row(person, "left_upper_arm")[:7], [0, 0.2, 1.5, 0.3, 0.2, 1.5, sizes.upper_arm])
    np.testing.assert_allclose(row(person, "head")[:6], [0, 0, 1.7, 0, 0, 1.6])
    assert (person.rows[:, 7:] == 0).all()


def test_the_wrist_is_a_hands_length_before_the_hand_and_the_hand_beyond_the_wrist():
    person = Person.from_skeleton(figure(), sizes=Sizes(hand_length=0.1))
    np.testing.assert_allclose(row(person, "left_forearm")[B], [0.5, 0.2, 1.5], atol=1e-15)
    np.testing.assert_allclose(row(person, "left_hand")[A], [0.6, 0.2, 1.5])
    np.testing.assert_array_equal(row(person, "left_hand")[A], row(person, "left_hand")[B])
    points = figure(right_wrist=(0, -0.2, 0.9))
    del points["right_hand"]
    person = Person.from_skeleton(points, sizes=Sizes(hand_length=0.1))
    np.testing.assert_allclose(row(person, "right_forearm")[B], [0, -0.2, 0.9])
    np.testing.assert_allclose(row(person, "right_hand")[A], [0, -0.2, 0.8], atol=1e-15)
    both = Person.from_skeleton(figure(left_wrist=(0.5, 0.3, 1.4)))
    np.testing.assert_allclose(row(both, "left_forearm")[B], [0.5, 0.3, 1.4])
    np.testing.assert_allclose(row(both, "left_hand")[A], [0.6, 0.2, 1.5])


def test_missing_legs_go_straight_down_to_the_floor():
    person = Person.from_skeleton(figure(hip=(0.1, 0, 1.0)), sizes=Sizes(hip_width=0.2, ankle_height=0.1), floor=-0.5)
    np.testing.assert_allclose(row(person, "left_thigh")[:6], [0.1, 0.1, 1.0, 0.1, 0.1, 0.3], atol=1e-15)
    np.testing.assert_allclose(row(person, "right_shin")[:6], [0.1, -0.1, 0.3, 0.1, -0.1, -0.4], atol=1e-15)


def test_given_legs_are_taken():
    legs = {
        "left_hip": (0, 0.1, 1),
        "right_hip": (0, -0.1, 1),
        "left_knee": (0.3, 0.1, 0.6),
        "left_ankle": (0.3, 0.1, 0.1),
    }
    points = figure(**legs)
    del points["hip"]
    person = Person.from_skeleton(points)
    np.testing.assert_allclose(row(person, "left_shin")[:6], [0.3, 0.1, 0.6, 0.3, 0.1, 0.1])
    np.testing.assert_allclose(row(person, "torso")[B], [0, 0, 1])  # between the hip joints
    np.testing.assert_allclose(row(person, "right_shin")[B], [0, -0.1, Sizes().ankle_height])
    person = Person.from_skeleton(figure(left_knee=(0.3, 0.1, 0.6)))  # no ankle: below the knee
    np.testing.assert_allclose(row(person, "left_shin")[B], [0.3, 0.1, Sizes().ankle_height])
    person = Person.from_skeleton(figure(left_ankle=(0.2, 0.1, 0.0)))  # no knee: half way
    np.testing.assert_allclose(row(person, "left_shin")[A], [0.1, 0.095, 0.5], atol=1e-15)


def test_other_names_of_the_same_points():
    points = figure()
    points["neck"], points["pelvis"] = points.pop("collar"), points.pop("hip")
    np.testing.assert_array_equal(Person.from_skeleton(points).rows, Person.from_skeleton(figure()).rows)


@pytest.mark.parametrize(
    "changes, name, expected",
    [
        ({"left_hand": (0.3, 0.2, 1.5)}, "left_forearm", [0.3, 0.2, 1.5, 0.3, 0.2, 1.5]),  # the hand at the elbow
        (
            {"left_hand": (0.35, 0.2, 1.5)},
            "left_forearm",
            [0.3, 0.2, 1.5, 0.35, 0.2, 1.5],
        ),  # nearer than a hand's length
        ({"left_shoulder": (0, -0.2, 1.8)}, "left_thigh", [0, 0.09, 1.0, 0, 0.09, 0.54]),  # one shoulder over the other
    ],
)
def test_degenerate_skeletons_are_defined(changes, name, expected):
    points = figure(**changes)
    person = Person.from_skeleton(points)
    np.testing.assert_allclose(row(person, name)[:6], expected, atol=1e-15)
    names = tuple(points)
    compiled = Skeleton(names).fill(np.array(list(points.values()), dtype=float), np.zeros((9, 3)))
    np.testing.assert_allclose(compiled, person.rows, atol=1e-15)


@examples(50)
@given(arrays(float, (9, 3), elements=st.floats(-3, 3)), arrays(float, (9, 3), elements=st.floats(-3, 3)))
def test_compiled_rows_are_those_of_the_formula(points, velocities):
    """1e-12: the made-up points divide by lengths of metres; fused multiply-adds differ in the last bits."""
    skeleton = Skeleton(RECORDED)
    person = Person.from_skeleton(
        dict(zip(RECORDED, points, strict=True)), dict(zip(RECORDED, velocities, strict=True))
    )
    out = np.empty((13, 13))
    assert skeleton.fill(points, velocities, out=out) is out
    np.testing.assert_allclose(out, person.rows, atol=1e-12)


def test_velocities_are_the_rates_of_a_rigid_motion_in_the_plane():
    """Walking, turning about z is not: what is made up takes the line of the shoulders as not turning."""
    points = {name: np.array(p, dtype=float) for name, p in figure().items()}
    speed = np.array([0.7, -0.2, 0.0])
    person = Person.from_skeleton(points, dict.fromkeys(points, speed))
    np.testing.assert_allclose(person.rows[:, VELOCITY_A], np.tile(speed, (13, 1)), atol=1e-15)
    np.testing.assert_allclose(person.rows[:, VELOCITY_B], np.tile(speed, (13, 1)), atol=1e-15)


@pytest.mark.parametrize("known", ["hand", "wrist"])
def test_a_swinging_forearm_carries_what_is_made_up(known):
    """The forearm turns about the elbow: the made-up point's velocity is its rate (central difference, 1e-8)."""
    w, h = 2.0, 1e-6

    def swung(t):
        tip = np.array([0.3 + 0.3 * math.cos(w * t), 0.2 + 0.3 * math.sin(w * t), 1.5])
        points = figure(**{f"left_{known}": tip})
        if known == "wrist":
            del points["left_hand"]
        rate = np.array([-0.3 * w * math.sin(w * t), 0.3 * w * math.cos(w * t), 0.0])
        return Person.from_skeleton(points, {f"left_{known}": rate})

    now, before, after = swung(0.4), swung(0.4 - h), swung(0.4 + h)
    for name in ("left_forearm", "left_hand"):
        rate = (row(after, name) - row(before, name)) / (2 * h)
        np.testing.assert_allclose(row(now, name)[VELOCITY_B], rate[B], atol=1e-8)
        np.testing.assert_allclose(row(now, name)[VELOCITY_A], rate[A], atol=1e-8)


def test_a_sinking_hip_moves_the_knee_half_as_fast_and_the_ankle_not():
    person = Person.from_skeleton(figure(), {"hip": (0.5, 0, -1.0)})
    np.testing.assert_allclose(row(person, "left_thigh")[VELOCITY_B], [0.5, 0, -0.5])
    np.testing.assert_allclose(row(person, "left_shin")[VELOCITY_B], [0.5, 0, 0])


# --- What is refused ---


def test_a_bad_point_is_refused_by_name():
    with pytest.raises(ValueError, match=r"points\['left_elbow'\] must be finite"):
        Person.from_skeleton(figure(left_elbow=(0, math.nan, 0)))
    with pytest.raises(ValueError, match=r"velocities\['hip'\] must be finite"):
        Person.from_skeleton(figure(), {"hip": (0, 0, math.inf)})
    with pytest.raises(ShapeError, match=r"points\['hip'\] must have shape \(3,\)"):
        Person.from_skeleton(figure(hip=(0, 0)))
    with pytest.raises(DtypeError, match=r"points\['hip'\] must be real numbers"):
        Person.from_skeleton(figure(hip=("0", "0", "0")))


def test_unknown_missing_and_doubled_points_are_named():
    with pytest.raises(UnknownNameError, match="no point 'left_elbo' in a skeleton; expected left_elbow"):
        Person.from_skeleton(figure(left_elbo=(0, 0, 0)))
    points = figure()
    del points["left_hand"], points["hip"], points["head"]
    with pytest.raises(ValueError, match="needs head; left_wrist or left_hand; hip, or left_hip and right_hip besides"):
        Person.from_skeleton(points)
    with pytest.raises(ValueError, match="'collar' is there twice"):
        Person.from_skeleton(figure(neck=(0, 0, 0)))
    with pytest.raises(UnknownNameError, match="velocities: 'left_knee' is none of the points"):
        Person.from_skeleton(figure(), {"left_knee": (0, 0, 0)})


@pytest.mark.parametrize("value", [0, -0.1, math.nan, math.inf, "wide", True])
def test_sizes_are_positive(value):
    with pytest.raises(ValueError, match=r"Sizes.torso must be a positive number of metres"):
        Sizes(torso=value)


def test_a_nan_in_the_loop_is_refused_by_the_kernel():
    skeleton = Skeleton(RECORDED)
    points = np.zeros((9, 3))
    points[3, 1] = np.nan
    for _ in range(2):  # the method, then the entry that took its place
        with pytest.raises(ValueError, match="points must be finite"):
            skeleton.fill(points, np.zeros((9, 3)))
        skeleton.fill(np.zeros((9, 3)), np.zeros((9, 3)))


def test_rows_of_your_own_are_checked():
    rows = Person.cylinder((0, 0, 0)).rows
    assert not rows.flags.writeable
    with pytest.raises(ShapeError, match=r"Person.rows must have shape \(2, 13\)"):
        Person(("a", "b"), rows)
    bad = rows.copy()
    bad[0, RADIUS] = -1
    with pytest.raises(ValueError, match="a: radius must not be negative; got -1"):
        Person(("a",), bad)


# --- Standing and moving ---


def test_a_standing_person_has_the_height_and_faces_where_told():
    person = Person.standing((1, 2, 0.3), facing=math.pi / 2, height=1.7)
    top = (person.rows[:, [2, 5]].max(axis=1) + person.rows[:, RADIUS]).max()
    assert top == pytest.approx(0.3 + 1.7, abs=0.05)  # a ball for a head does not end exactly at the crown
    assert row(person, "left_hand")[A][0] < 1 - 0.1  # looking along y, the left hand is at smaller x
    assert row(person, "right_hand")[A][0] > 1 + 0.1
    lowest = (person.rows[:, [2, 5]].min(axis=1) - person.rows[:, RADIUS]).min()
    assert lowest == pytest.approx(0.3, abs=0.05)
    np.testing.assert_allclose(row(person, "torso")[:2], [1, 2])


def test_a_standing_person_stands_in_one_piece():
    """Every part touches another one, from head to shin."""
    capsules = Person.standing((0, 0, 0)).capsules()
    assert all(isinstance(c, Capsule) for c in capsules)
    for i, c in enumerate(capsules):
        assert min(distance(c, other).distance for j, other in enumerate(capsules) if j != i) < 0


def test_moving_shifts_ends_and_adds_velocity():
    person = Person.standing((0, 0, 0))
    moved = person.moved((1, 2, 3), velocity=(0.1, 0.2, 0.3))
    np.testing.assert_allclose(moved.rows[:, A], person.rows[:, A] + [1, 2, 3])
    np.testing.assert_allclose(moved.rows[:, B], person.rows[:, B] + [1, 2, 3])
    np.testing.assert_allclose(moved.rows[:, 7:], np.tile([0.1, 0.2, 0.3], (13, 2)))
    np.testing.assert_array_equal(moved.rows[:, RADIUS], person.rows[:, RADIUS])
    assert (person.rows[:, 7:] == 0).all()
    np.testing.assert_allclose(Person.standing((1, 2, 3)).rows, person.moved((1, 2, 3)).rows, atol=1e-14)
    assert pickle.loads(pickle.dumps(moved)).names == moved.names


def test_the_height_scales_a_standing_person():
    tall, small = (Person.standing((0, 0, 0), height=h).rows for h in (2.0, 1.0))
    k = NAMES.index("torso")
    np.testing.assert_allclose(tall[k, :6], 2 * small[k, :6])
    with pytest.raises(ValueError, match="height must be positive"):
        Person.standing((0, 0, 0), height=0)


# --- Recorded people ---


def test_recorded_coworkers_become_people():
    """Vicon frames of the nine points: rows are finite, hands where the markers are, bones of a person's lengths."""
    if not MOTION.is_dir():
        pytest.skip(f"the recordings in {MOTION} are not here")
    files = sorted(MOTION.glob("*/*.csv"))
    assert files
    for file in files[:3]:
        with file.open(encoding="utf-8-sig") as stream:
            table = list(csv.reader(stream))
        names = [cell.split(":")[1] for cell in table[2] if ":" in cell]
        assert set(names) <= set(POINTS)
        for frame in table[5::200]:
            numbers = np.array([float(x) if x else math.nan for x in frame[2 : 2 + 6 * len(names)]]).reshape(-1, 6)
            if not np.isfinite(numbers).all():
                continue  # a blank cell: the marker was hidden
            points = dict(zip(names, numbers[:, 3:] / 1000, strict=True))
            person = Person.from_skeleton(points, floor=-1.0)
            np.testing.assert_allclose(row(person, "left_hand")[A], points["left_hand"])
            arm = row(person, "left_upper_arm")
            assert 0.1 < np.linalg.norm(arm[B] - arm[A]) < 0.5
