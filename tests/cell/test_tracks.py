"""Points over time: velocities, interpolation, gaps, resampling, placement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elbowroom.cell.mocap.recorded import Motion, Placement
from elbowroom.errors import ShapeError, UnknownNameError
from strategies import examples


def motion(positions, valid=None, times=None, points=("hip",)) -> Motion:
    positions = np.asarray(positions, dtype=float)
    times = np.arange(len(positions)) * 0.1 if times is None else times
    return Motion(points, times, positions, np.ones(positions.shape[:2], bool) if valid is None else valid)


def test_velocities_are_central_and_one_sided_beside_a_gap():
    t = np.arange(7) * 0.1
    track = np.stack([t**2, 3 * t, 0 * t], axis=1)[:, None, :]
    valid = np.array([1, 1, 1, 0, 1, 1, 1], dtype=bool)[:, None]
    got = motion(track, valid, t).velocities[:, 0]
    # Central differences of a parabola are exact; one-sided ones are those half a step away.
    expected = np.stack(
        [[0.1, 0.2, 0.3, math.nan, 0.9, 1.0, 1.1], [3, 3, 3, math.nan, 3, 3, 3], [0, 0, 0, math.nan, 0, 0, 0]]
    )
    np.testing.assert_allclose(got, expected.T, atol=1e-12)
    lonely = motion(track, np.array([0, 1, 0, 1, 1, 0, 1], dtype=bool)[:, None], t)
    assert np.isnan(lonely.velocities[[1, 6], 0]).all()
    assert (lonely.frame(0.1).velocities == 0).all()


@examples(50)
@given(
    arrays(float, (6, 2, 3), elements=st.floats(-2, 2)),
    arrays(float, 6, elements=st.floats(0.01, 0.5)),
    st.floats(0.001, 0.999),
)
def test_between_frames_the_velocity_is_the_derivative_and_frames_are_kept(track, steps, part):
    """2e-6 of the speed and jerk: tracks of metres in hundredths of a second have third derivatives of 1e7 m/s^3."""
    got = motion(track, times=np.cumsum(steps), points=("hip", "head"))
    times, h = got.times, 1e-6
    for t in times:
        np.testing.assert_allclose(got.at(t).positions, got.frame(t).positions, atol=1e-12)
        np.testing.assert_allclose(got.at(t).velocities, got.velocities[np.searchsorted(times, t)], atol=1e-9)
    k = int(part * 5)
    t = float(times[k] + (part * 5 - k) * (times[k + 1] - times[k]))
    if times[k] + 2 * h < t < times[k + 1] - 2 * h:
        rate = (got.at(t + h).positions - got.at(t - h).positions) / (2 * h)
        np.testing.assert_allclose(got.at(t).velocities, rate, atol=2e-6 * 1e4 / steps.min())
        assert got.at(t).stamp == t


def test_straight_lines_stay_straight_lines():
    t = np.linspace(0, 1, 11)
    line = np.stack([2 * t, 1 - t, 0.5 + 0 * t], axis=1)[:, None]
    got = motion(line, times=t)
    for one in (got, got.smoothed(0.3), got.resampled(37.0), got.smoothed(10.0)):
        moment = one.at(0.437)
        np.testing.assert_allclose(moment.positions[0], [0.874, 0.563, 0.5], atol=1e-12)
        np.testing.assert_allclose(moment.velocities[0], [2, -1, 0], atol=1e-10)


def test_smoothing_averages_within_a_stretch():
    x = np.array([0, 0, 3, 0, 0, 9, 9, 9, 0, 0], dtype=float)
    valid = np.ones((10, 1), bool)
    valid[5] = False
    got = motion(np.stack([x, x, x], axis=1)[:, None], valid).smoothed(0.2).positions[:, 0, 0]
    np.testing.assert_allclose(got, [0, 1, 1, 1, 0, math.nan, 9, 6, 3, 0], atol=1e-12)


def test_bridging_fills_short_gaps_of_a_point_by_lines_and_no_long_ones():
    x = np.array([0, 1, 9, 3, 9, 9, 6, 7], dtype=float)
    valid = np.array([1, 1, 0, 1, 0, 0, 1, 1], dtype=bool)[:, None]
    track = motion(np.stack([x, x, x], axis=1)[:, None], valid)
    np.testing.assert_allclose(track.gaps, [(0.1, 0.3), (0.3, 0.6)])
    assert track.bridged(0.0).gaps == track.gaps
    one = track.bridged(0.2)
    np.testing.assert_allclose(one.gaps, [(0.3, 0.6)])
    np.testing.assert_allclose(one.positions[2, 0], [2, 2, 2])
    both = track.bridged(0.3)
    assert both.gaps == ()
    np.testing.assert_allclose(both.positions[:, 0, 1], np.arange(8), atol=1e-12)
    edges = motion(np.zeros((3, 1, 3)), np.array([0, 1, 0], dtype=bool)[:, None]).bridged(99)
    np.testing.assert_array_equal(edges.complete, [False, True, False])  # nothing is made up beyond the ends


def test_resampling_keeps_gaps():
    t = np.arange(11) * 0.1
    valid = np.ones((11, 1), bool)
    valid[4:6] = False
    track = motion(np.stack([t, t, t], axis=1)[:, None], valid, t)
    double = track.resampled(20)
    np.testing.assert_allclose(double.times, np.arange(21) * 0.05, atol=1e-12)
    shown = double.times[double.complete]
    np.testing.assert_allclose(
        shown, [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]
    )
    np.testing.assert_allclose(double.positions[double.complete, 0, 0], shown, atol=1e-12)
    same = track.resampled(10)
    np.testing.assert_array_equal(same.valid, track.valid)
    np.testing.assert_array_equal(same.positions, track.positions)
    with pytest.raises(ValueError, match="more than 10000000"):
        track.resampled(1e8)
    with pytest.raises(ValueError, match="rate must be more than 0"):
        track.resampled(0)


def test_speeds_by_point():
    t = np.arange(101) * 0.01
    hip, head = np.stack([2 * t, 0 * t, 0 * t], axis=1), np.stack([t**2, 0 * t, 0 * t], axis=1)
    valid = np.ones((101, 2), bool)
    valid[50, 0] = False
    got = motion(np.stack([hip, head], axis=1), valid, t, ("hip", "head"))
    speeds = got.speeds()
    assert {name: len(s) for name, s in speeds.items()} == {"hip": 96, "head": 99}
    np.testing.assert_allclose(speeds["hip"], 2, atol=1e-9)
    np.testing.assert_allclose(got.speeds((0, 50, 100))["head"], [0.02, 1.0, 1.98], atol=1e-9)
    assert np.isnan(motion(np.zeros((1, 1, 3))).speeds((50,))["hip"]).all()


def test_bad_motions_are_refused():
    good = {"points": ("hip",), "times": [0.0, 1.0], "positions": np.zeros((2, 1, 3)), "valid": np.ones((2, 1), bool)}
    for change, error, message in (
        ({"times": [1.0, 1.0]}, ValueError, "must grow"),
        ({"times": []}, ValueError, "one at least"),
        ({"times": [0.0, math.nan]}, ValueError, "must be finite"),
        ({"positions": np.zeros((2, 2, 3))}, ShapeError, r"Motion.positions must have shape \(2, 1, 3\)"),
        ({"valid": np.ones(2, bool)}, ShapeError, r"Motion.valid must have shape \(2, 1\)"),
    ):
        with pytest.raises(error, match=message):
            Motion(**(good | change))
    held = Motion(**good)
    assert not held.positions.flags.writeable
    assert "2 frames, 1.00 s, 0.0 %" in repr(held)
    with pytest.raises(UnknownNameError, match="no point 'head' in the motion; it has hip"):
        held.only(["head"])
    with pytest.raises(ValueError, match="no frame from 5 s to inf s; the motion ends at 1 s"):
        held.part(5)


# --- Placement ---


def test_a_placement_turns_then_shifts():
    place = Placement((1, 2, 3), math.pi / 2, 2.0)
    np.testing.assert_allclose(place.apply([[1, 0, 1]]), [[1, 4, 5]], atol=1e-15)
    moved = place.then((10, 0, 0), math.pi)
    np.testing.assert_allclose(moved.apply([[1, 0, 1]]), [[9, -4, 5]], atol=1e-14)
    assert Placement().apply([1.0, 2.0, 3.0]).tolist() == [1, 2, 3]
    for arguments in (((0, 0),), ((0, 0, math.nan),), ((0, 0, 0), math.inf), ((0, 0, 0), 0.0, 0.0)):
        with pytest.raises(ValueError, match=r"Placement\."):
            Placement(*arguments)
