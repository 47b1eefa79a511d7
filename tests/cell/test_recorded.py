"""Recorded people: the files of placements, gaps as old data, slow sensors, and the shared recordings."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Limits, Sensor, State, Status, Supervisor
from elbowroom.cell.mocap.recorded import Motion, Placement, Recorded, info_file, read_motion, read_placement
from elbowroom.errors import RecordingError
from elbowroom.geometry import PARKED, Person
from elbowroom.geometry.shapes import VELOCITY_A, A
from handwritten import NINE, POSE, vicon

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "coworker-motion"


# --- Placement files ---


@given(
    st.floats(-math.pi, math.pi),
    arrays(float, 3, elements=st.floats(-3, 3)),
    arrays(float, (4, 3), elements=st.floats(-2, 2)),
)
def test_the_authors_placement_is_their_chain_of_rotations(tmp_path_factory, yaw, offset, points):
    """As their programs do it, by scipy: CSV to BVH, BVH to their animation, offset, rotation, base rotation."""
    path = tmp_path_factory.getbasetemp() / "a_info.json"
    quaternion = Rotation.from_euler("y", yaw).as_quat()
    path.write_text(
        json.dumps({"position_offset": offset.tolist(), "orientation_quat": quaternion.tolist(), "scale": 1})
    )
    to_bvh = (
        Rotation.from_euler("z", 90, True) * Rotation.from_euler("y", 90, True) * Rotation.from_euler("z", -90, True)
    )
    animation = to_bvh.apply(points) * [-1, 1, -1]
    base = Rotation.from_quat([0.5, 0.5, 0.5, 0.5]) * Rotation.from_quat(quaternion)
    np.testing.assert_allclose(read_placement(path).apply(points), base.apply(animation + offset), atol=1e-12)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[1]", "expected an object with position_offset"),
        ("{}", "position_offset: expected 3 numbers; got None"),
        (
            '{"position_offset": [0, 0], "orientation_quat": [0, 1, 0, 0]}',
            r"position_offset: expected 3 numbers; got \[0, 0\]",
        ),
        ('{"position_offset": [0, 0, "x"], "orientation_quat": [0, 1, 0, 0]}', "position_offset: expected 3 numbers"),
        ('{"position_offset": [0, 0, NaN], "orientation_quat": [0, 1, 0, 0]}', "position_offset: expected 3 numbers"),
        ('{"position_offset": [0, 0, 0], "orientation_quat": [0, 3, 0, 0]}', "expected orientation_quat of length 1"),
        ('{"position_offset": [0, 0, 0], "orientation_quat": [0, 1, 0, 0], "scale": 0}', "scale from 0.01 to 100"),
        ('{"position_offset": [0, 0, 0], "orientation_quat": [1, 0, 0, 0]}', "to turn about the vertical"),
    ],
)
def test_malformed_placements_are_refused(write, text, message):
    with pytest.raises(RecordingError, match=message):
        read_placement(write(text, "take_info.json"))


# --- Recorded ---

INFO = '{"position_offset": [0.4, 1.0, -0.7], "orientation_quat": [0, 1, 0, 0]}'


def row(who: Recorded, t: float, name: str) -> np.ndarray:
    out = np.empty((13, 13))
    who.look(t, out)
    return out[who.names.index(name)]


def test_a_take_is_placed_by_its_own_file_or_by_yours(write):
    path = write(vicon())
    assert info_file(path).name == "take_info.json"
    np.testing.assert_allclose(row(Recorded(path), 0.0, "left_hand")[A], [-0.25, 0.2, 1.0])
    write(INFO, "take_info.json")
    # A quarter turn, and the shift (-oz, -ox, oy) = (0.7, -0.4, 1).
    np.testing.assert_allclose(row(Recorded(path), 0.0, "left_hand")[A], [0.7 - 0.2, -0.4 - 0.25, 2.0], atol=1e-12)
    np.testing.assert_allclose(row(Recorded(path), 0.02, "left_hand")[VELOCITY_A], [0, 1, 0], atol=1e-9)
    own = Placement((0, 0, -0.1), math.pi)
    np.testing.assert_allclose(row(Recorded(path, own), 0.0, "left_hand")[A], [0.25, -0.2, 0.9], atol=1e-12)
    at, velocity = Recorded(path, own, floor=-0.1).point(0.02)
    np.testing.assert_allclose([at, velocity], [[-0.02, 0, -0.1], [-1, 0, 0]], atol=1e-9)


def test_rows_are_those_of_the_skeleton_at_the_recorded_points(write):
    who = Recorded(write(vicon()))
    expected = Person.from_skeleton(
        {n: np.array(POSE[n]) / 1000 + [0.02, 0, 0] for n in NINE}, dict.fromkeys(NINE, (1, 0, 0))
    )
    out = np.empty((13, 13))
    assert who.look(0.02, out) == 0.02
    np.testing.assert_allclose(out, expected.rows, atol=1e-9)
    assert who.names == expected.names
    assert who.duration == pytest.approx(0.04)


def test_a_gap_is_old_data_and_not_absence(write):
    """Frames 3 and 4 lack the hip: from 10 ms to 40 ms the last complete frame is shown with its own time."""
    who = Recorded(write(vicon(8, hide={(3, "hip"), (4, "hip")})))
    out, last = np.empty((13, 13)), np.empty((13, 13))
    np.testing.assert_allclose(who.motion.gaps, [(0.01, 0.04)])
    assert who.look(0.01, last) == 0.01
    for t in (0.0101, 0.015, 0.02, 0.0399):
        stamp = who.look(t, out)
        assert stamp == 0.01
        np.testing.assert_allclose(out, last, atol=1e-12)
    assert who.look(0.0401, out) == 0.0401
    assert out[who.names.index("left_hand"), 0] == pytest.approx(-0.25 + 0.0401)
    assert who.look(0.005, out) == 0.005
    filled = Recorded(who.motion, bridge=0.03)
    assert filled.look(0.02, out) == 0.02
    assert out[who.names.index("torso"), 3] == pytest.approx(0.02)
    np.testing.assert_allclose(who.point(0.02)[0], [0.01, 0, 0], atol=1e-12)


def test_a_supervisor_bears_a_short_gap_and_stops_for_a_long_one(write):
    """The sensor says how old data may be; the person stands two metres away and is no reason to stop."""
    arm = er.load("planar2")
    limits = Limits(sensor=Sensor.motion_capture())  # 100 frames/s, as the take
    longest = round(limits.oldest / 0.01)
    for hidden, stops in ((longest - 2, False), (longest + 2, True)):
        gap = {(10 + k, "hip") for k in range(hidden)}
        who = Recorded(write(vicon(40, hide=gap, step=0.0)), Placement((3.0, 0.0, 0.0)))
        guard = Supervisor(Controller(arm, Config(period=0.01)), limits)
        people, out = guard.controller.obstacles(), np.empty((13, 13))
        state, goal = State(arm.ready), Goal(arm.pose(arm.ready)[:3, 3])
        for k in range(39):
            people.see(out, who.look(0.01 * k, out))
            state.t = 0.01 * k
            command = guard.step(0.01 * k, 0.01, state, people, goal)
        assert (command.status == Status.STOP_HUMAN_STALE) is stops, command.status


def test_after_the_end_data_is_old_or_the_person_stays(write):
    path = write(vicon())
    out = np.empty((13, 13))
    assert Recorded(path).look(5.0, out) == pytest.approx(0.04)
    stays = Recorded(path, end="hold")
    assert stays.look(5.0, out) == 5.0
    assert (out[:, 7:] == 0).all()
    assert out[stays.names.index("torso"), 0] == pytest.approx(0.04)
    with pytest.raises(ValueError, match='end must be "stale" or "hold"'):
        Recorded(path, end="loop")


def test_time_begins_with_the_first_complete_frame_or_where_told(write):
    path = write(vicon(8, hide={(1, "hip"), (2, "head")}))
    out = np.empty((13, 13))
    who = Recorded(path)
    assert who.look(0.0, out) == 0.0
    assert out[who.names.index("torso"), 0] == pytest.approx(0.02)
    assert who.duration == pytest.approx(0.05)
    assert who.look(-0.1, out) == -math.inf
    np.testing.assert_array_equal(out, np.tile(PARKED, (13, 1)))
    raw = Recorded(path, start=0.0, stop=0.05)
    assert raw.look(0.015, out) == -math.inf
    assert raw.look(0.02, out) == 0.02
    assert np.isnan(raw.point(0.0)[0][:2]).all()
    assert raw.duration == pytest.approx(0.05)
    hidden = vicon(2, hide={(1, "hip"), (2, "head")})
    with pytest.raises(RecordingError, match=r"expected a frame with every point; got .*head in 50 %.*hip in 50 %"):
        Recorded(write(hidden))


def test_a_slow_sensor_shows_its_last_picture(write):
    who = Recorded(write(vicon(31)), rate=20)
    out = np.empty((13, 13))
    for t, stamp in ((0.0, 0.0), (0.049, 0.0), (0.05, 0.05), (3 * 0.05, 0.15), (0.29, 0.25), (0.3, 0.3)):
        assert who.look(t, out) == pytest.approx(stamp)
        assert who.look(t, out) <= t
        assert out[who.names.index("torso"), 0] == pytest.approx(stamp)
    gap = Recorded(write(vicon(31, hide={(11, "hip"), (12, "hip")})), rate=20)
    assert gap.look(0.149, out) == pytest.approx(0.05)  # the picture at 0.1 s fell into the gap


def test_smoothing_takes_out_what_shakes(write):
    lines = vicon(41, step=0.0).split("\n")
    shaken = [line.replace(",1500,", ",1510,") if k % 2 else line for k, line in enumerate(lines)]
    path = write("\n".join(shaken))
    raw, calm = Recorded(path), Recorded(path, smooth=0.1)
    heights = [[row(who, t, "torso")[2] for t in (0.2, 0.21)] for who in (raw, calm)]
    assert abs(np.diff(heights[0])) == pytest.approx(0.01)
    assert abs(np.diff(heights[1])) < 0.001


def test_other_points_of_a_motion_are_left_out():
    frame = np.array([[*POSE.values(), (0, 0, 0)]], dtype=float) / 1000
    who = Recorded(Motion((*POSE, "toolbox"), [0.0], frame, np.ones((1, 10), bool)))
    assert "toolbox" not in who.motion.points
    out = np.empty((13, 13))
    assert who.look(0.0, out) == 0.0
    assert "1 gaps" not in repr(who)


# --- The shared recordings ---


@pytest.fixture(scope="module")
def takes():
    found = sorted(SHARED.glob("*/*.csv"))
    if not found:
        pytest.skip(f"the recordings in {SHARED} are not here")
    return found


@pytest.mark.slow
def test_the_shared_takes_are_people_beside_a_robot(takes):
    """Placed as their authors do: feet on the floor, a person's height, a person's arms, in front of the robot."""
    for take in takes:
        who = Recorded(take)
        motion = who.motion
        at = {name: motion.positions[motion.complete, k] for k, name in enumerate(motion.points)}
        assert 1.6 < np.median(at["head"][:, 2]) < 2.0
        assert 1.0 < np.median(at["hip"][:, 2]) < 1.25
        assert 0.3 < np.median(at["hip"][:, 0]) < 2.5
        upper = np.linalg.norm(at["left_elbow"] - at["left_shoulder"], axis=1)
        assert 0.15 < np.median(upper) < 0.4  # the markers are on cuffs
        # They face the robot, along -x: the left shoulder is at smaller y.
        assert np.median(at["left_shoulder"][:, 1] - at["right_shoulder"][:, 1]) < -0.2
        out = np.empty((13, 13))
        for t in np.linspace(0, who.duration, 50):
            stamp = who.look(t, out)
            assert stamp <= t
            assert np.isfinite(out).all()
        assert Recorded(take, bridge=100.0).motion.complete.all()


def test_recorded_hands_are_faster_than_walking_now_and_then(takes):
    """Some 3 % of both hands' samples are faster than 1.6 m/s, by take 0 to 21 %; the 99th percentile is 2.1 m/s."""
    samples, shares = [], []
    for take in takes:
        speeds = read_motion(take).speeds()
        hands = np.concatenate([speeds["left_hand"], speeds["right_hand"]])
        samples.append(hands)
        shares.append((hands > 1.6).mean())
    together = np.concatenate(samples)
    assert 0.02 < (together > 1.6).mean() < 0.05
    assert 1.9 < np.percentile(together, 99) < 2.4
    assert max(shares) > 0.08
    assert min(shares) == 0


def test_most_shared_takes_have_gaps_that_are_too_long_for_a_supervisor(takes):
    longest = [max((b - a for a, b in Recorded(take).motion.gaps), default=0.0) for take in takes]
    assert sum(gap > 0.1 for gap in longest) == 7
    assert max(longest) == pytest.approx(1.09)
