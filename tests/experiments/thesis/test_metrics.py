"""Numbers of a run, in closed form: sines whose jerk, vibration and swing are known."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.errors import RecordingError
from elbowroom.experiments.thesis.metrics import GRID, metrics, resampled
from elbowroom.experiments.thesis.outcome import Outcome, find, plain, rows, same_variant
from strategies import examples


def recording(t, place=None, velocity=None, **columns):
    """A table with the columns of a recording: nobody about, the tool where `place` says."""
    size = len(t)
    zero, text = np.zeros(size), np.full(size, "", dtype="<U20")
    found = {"t": t, "state": text, "status": np.full(size, "OK", dtype="<U20"), "verdict": text, "law_status": text}
    for what in ("tool", "person", "goal"):
        found |= {f"{what}_{axis}": zero for axis in "xyz"}
    found |= {f"{what}_v{axis}": zero for what in ("tool", "person") for axis in "xyz"}
    found |= {name: np.full(size, np.inf) for name in ("distance_axes", "distance_surfaces", "clearance")}
    found |= {"cycles": zero, "contacts": zero}
    found |= {f"q{i + 1}": zero for i in range(6)} | {f"qd{i + 1}": zero for i in range(6)}
    if place is not None:
        found |= {"tool_x": place, "tool_vx": velocity}
    return found | columns


def sine(amplitude, frequency, period=0.01, duration=20.0):
    t = period * np.arange(round(duration / period) + 1)
    w = 2 * np.pi * frequency
    return t, amplitude * np.sin(w * t), amplitude * w * np.cos(w * t)


def left(frequency):
    """What the mean over a step of the grid leaves of a sine."""
    return math.sin(math.pi * frequency * GRID) / (math.pi * frequency * GRID)


@pytest.mark.parametrize("period", [0.001, 0.005, 0.008, 0.02])
@pytest.mark.parametrize("frequency", [0.5, 3.0])
def test_jerk_of_a_sine_whatever_the_period(period, frequency):
    amplitude = 0.1
    found = metrics(recording(*sine(amplitude, frequency, period)), period=period)["rms_jerk"]
    expected = amplitude * (2 * math.pi * frequency * left(frequency)) ** 3 / math.sqrt(2)
    # 8 ms do not divide the grid: cubics between rows are off by (2 pi f 8 ms)^4 / 384, over GRID^3; 1e-3 of the jerk.
    # The rest is the mean over a run that does not end with a whole wave.
    assert found == pytest.approx(expected, rel=5e-3)


@examples(20)
@given(st.sampled_from([0.001, 0.002, 0.004, 0.005, 0.01]), st.integers(0, 2**32 - 1))
def test_periods_that_divide_the_grid_give_the_same_jerk_and_vibration(period, seed):
    rng = np.random.default_rng(seed)
    size, f, phase = rng.uniform(0.01, 0.1, 3), rng.uniform(0.2, 6.0, 3), rng.uniform(0, 6, 3)

    def numbers(step):
        t = step * np.arange(round(6.0 / step) + 1)
        inner = 2 * np.pi * np.outer(t, f) + phase
        return metrics(recording(t, np.sin(inner) @ size, np.cos(inner) @ (size * 2 * np.pi * f)), period=step)

    one, other = numbers(period), numbers(GRID)
    # the rows lie on the grid: the same positions but for rounding, whose third difference is 1e-16 / GRID^3 = 1e-11
    assert one["rms_jerk"] == pytest.approx(other["rms_jerk"], rel=1e-6)
    assert one["vibration"] == pytest.approx(other["vibration"], rel=1e-6)


def test_jerk_is_that_of_the_time_when_the_tool_moves():
    """x' = a (1 - cos w t) / 2 for a whole number of waves, then as long at rest."""
    a, w = 0.4, 2 * np.pi
    t = 0.01 * np.arange(2001)
    moving = t <= 10.0
    velocity = np.where(moving, a * (1 - np.cos(w * t)) / 2, 0.0)
    place = np.where(moving, a * (t - np.sin(w * t) / w) / 2, a * 10.0 / 2)
    found = metrics(recording(t, place, velocity), period=0.01)["rms_jerk"]
    # 2 %: steps slower than `MOVING` are left out, 3 % of the time; over all of the time it would be 0.71 of this
    assert found == pytest.approx(a * w**2 / (2 * math.sqrt(2)), rel=0.02)
    assert metrics(recording(t), period=0.01)["rms_jerk"] == 0.0


@pytest.mark.parametrize("frequency", [3.0, 5.0, 8.25])
def test_vibration_is_the_velocity_above_two_hertz(frequency):
    amplitude = 0.01
    fast = sine(amplitude, frequency)
    slow = sine(0.2, 0.5)
    expected = amplitude * 2 * math.pi * frequency * left(frequency) / math.sqrt(2)
    # these frequencies are multiples of 1 / 4 s, so a Hann window spreads them over three lines and no more
    assert metrics(recording(*fast), period=0.01)["vibration"] == pytest.approx(expected, rel=1e-3)
    both = recording(fast[0], fast[1] + slow[1], fast[2] + slow[2])
    assert metrics(both, period=0.01)["vibration"] == pytest.approx(expected, rel=1e-3)
    assert metrics(recording(*slow), period=0.01)["vibration"] < 1e-6
    assert metrics(recording(*sine(0.2, 0.61)), period=0.01)["vibration"] < 2e-3 * 0.2 * 2 * math.pi * 0.61  # leaks


def test_too_short_to_tell():
    t, x, v = sine(0.1, 3.0, duration=0.5)
    assert metrics(recording(t, x, v), period=0.01)["vibration"] is None
    one = metrics(recording(np.array([0.0])), period=0.01)
    assert one["rms_jerk"] is None
    assert one["duration"] == 0.0
    json.dumps(one, allow_nan=False)


def test_cubics_between_rows_keep_a_cubic():
    t = np.array([0.0, 0.07, 0.1, 0.158])
    x = np.stack([t**3, 1 - t, 2 * t**2], axis=1)
    v = np.stack([3 * t**2, -np.ones(4), 4 * t], axis=1)
    on_grid = GRID * np.arange(8)
    expected = np.stack([on_grid**3, 1 - on_grid, 2 * on_grid**2], axis=1)
    np.testing.assert_allclose(resampled(t, x, v), expected, atol=1e-15)


@pytest.mark.parametrize("frequency", [0.31, 0.7, 2.4])
def test_swing_of_the_last_third(frequency):
    t, x, v = sine(0.05, frequency, duration=30.0)
    x = x + np.where(t < 15.0, 1.0, 0.0) + 0.002 * t  # what came before does not count, a slow drift hardly
    found = metrics(recording(t, x, v), period=0.01)
    assert found["oscillation_frequency"] == pytest.approx(frequency, rel=0.02)  # a tenth of a line of 10 s
    assert found["oscillation_amplitude"] == pytest.approx(0.05, abs=0.011)  # the drift makes 2 cm over the third
    still = metrics(recording(t), period=0.01)
    assert (still["oscillation_amplitude"], still["oscillation_frequency"]) == (0.0, None)


def test_least_and_greatest_values():
    t = np.array([0.0, 0.1, 0.2])
    table = recording(
        t,
        np.array([0.5, 0.4, 0.5]),
        np.array([0.0, -0.7, 0.2]),
        tool_vy=np.array([0.0, 0.0, 0.6]),
        person_x=np.array([2.0, 1.2, 1.6]),
        person_y=np.array([0.3, -0.2, 0.4]),
        distance_axes=np.array([1.4, 0.75, np.nan]),
        distance_surfaces=np.array([1.0, 0.35, np.inf]),
        clearance=np.array([1.1, 0.4, -0.02]),
        goal_x=np.array([0.5, 0.5, 0.515]),
        contacts=np.array([0, 1, 2]),
        cycles=np.array([0, 0, 3]),
    )
    found = metrics(table, period=0.1)
    expected = {
        "min_distance": 0.75,
        "min_surface_distance": 0.35,
        "min_clearance": -0.02,
        "min_x_difference": 0.8,
        "peak_x_speed": 0.7,
        "peak_tool_speed": 0.7,
        "peak_toward_speed": (0.2 * 1.1 + 0.6 * 0.4) / math.hypot(1.1, 0.4),  # the last row; the second goes away
        "contacts": 2,
        "cycles": 3,
        "duration": 0.2,
        "return_error": 0.0,
        "goal_error": 0.015,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert found["reached"] is True
    assert "min_y_difference" not in found
    sideways = metrics(table, period=0.1, axis="y")
    assert sideways["min_y_difference"] == pytest.approx(0.2)
    assert sideways["peak_y_speed"] == pytest.approx(0.6)
    assert metrics(table | {"goal_x": np.array([0.5, 0.5, 0.53])}, period=0.1)["reached"] is False


def test_nobody_is_no_distance():
    t = np.linspace(0, 1, 11)
    nobody = {f"person_{axis}": np.full(11, np.nan) for axis in "xyz"}
    found = metrics(recording(t, **nobody), period=0.1)
    for name in ("min_distance", "min_surface_distance", "min_clearance", "min_x_difference", "peak_toward_speed"):
        assert found[name] is None
    json.dumps(found, allow_nan=False)


def test_joints():
    t = np.linspace(0, 1, 5)
    turn = np.array([0.0, 0.2, 0.1, 0.3, 0.3])
    found = metrics(recording(t, q2=turn, q3=turn - math.pi, qd2=-turn), period=0.25)
    assert found["joint_travel"] == pytest.approx([0, 0.5, 0.5, 0, 0, 0])
    assert found["peak_joint_speeds"] == pytest.approx([0, 0.3, 0, 0, 0, 0])
    assert found["min_joint3_deg"] == pytest.approx(-180.0)
    shifted = metrics(recording(t, q3=turn - math.pi), period=0.25, joint3_zero=-math.pi)
    assert shifted["min_joint3_deg"] == pytest.approx(0.0, abs=1e-9)
    mirrored = metrics(recording(t, q3=turn), period=0.25, joint3_sign=-1.0)
    assert mirrored["min_joint3_deg"] == pytest.approx(math.degrees(-0.3))


def test_statuses_and_stops():
    t = 0.5 * np.arange(6)
    verdict = np.array(["STOP_HUMAN", "OK", "STOP_LIMIT", "STOP_LIMIT", "AVOIDING", "STOP_HUMAN"])
    status = np.array(["OK", "OK", "OK", "AVOIDING", "AVOIDING", "SLOWING_HUMAN"])
    found = metrics(recording(t, verdict=verdict, status=status), period=0.5)
    assert found["stops"] == 3  # times that one begins, not rows
    assert found["stopped_time"] == pytest.approx(2.0)
    assert found["time_in_status"] == pytest.approx({"OK": 1 / 2, "AVOIDING": 1 / 3, "SLOWING_HUMAN": 1 / 6})


@pytest.mark.parametrize(
    "change, options, message",
    [
        ({"tool_x": None}, {}, "columns missing: tool_x"),
        ({"tool_x": np.zeros(4)}, {}, "one length"),
        ({"t": np.array([0.0, 0.2, 0.1])}, {}, "t must rise"),
        ({}, {"period": 0.0}, "period must be positive"),
        ({}, {"axis": "w"}, "axis must be x, y or z; got 'w'"),
    ],
)
def test_what_is_wrong_with_a_table(change, options, message):
    table = recording(np.array([0.0, 0.1, 0.2])) | change
    table = {name: column for name, column in table.items() if column is not None}
    with pytest.raises(RecordingError, match=message):
        metrics(table, **({"period": 0.1} | options))


def test_an_outcome_is_a_row_of_json():
    numbers = {
        "min_distance": np.float64(0.7),
        "contacts": np.int64(0),
        "gone": math.inf,
        "travel": np.array([1.0, np.nan]),
    }
    run = Outcome(1, None, "printed", "kinematic", "puma560", "a walk", numbers, {"min_distance": 0.75})
    scene = Outcome(None, "walk.csv", "bare", "rigid", "panda", "", {})
    first, second = json.loads(rows([run, scene]))
    assert first == {
        "test": 1,
        "variant": "printed",
        "plant": "kinematic",
        "robot": "puma560",
        "metrics": {"min_distance": 0.7, "contacts": 0, "gone": None, "travel": [1.0, None]},
        "thesis": {"min_distance": 0.75},
    }
    assert second["scene"] == "walk.csv"
    assert "test" not in second
    for test, name in ((1, "walk"), (None, None)):
        with pytest.raises(ValueError, match="of a test or of a scene"):
            Outcome(test, name, "bare", "rigid", "panda", "", {})
    assert plain(True) is True


def test_variants_are_found_by_their_first_words():
    runs = [
        Outcome(test, None, variant, "kinematic", "puma560", "", {})
        for test, variant in ((1, "supervised"), (1, "no_filter"), (1, "printed"), (7, "weak_potential"))
    ]
    assert find(runs, 1, "printed") is runs[2]
    assert find(runs, 1, "no filter") is runs[1]
    assert find(runs, 1) is runs[1]
    assert find(runs, 7, "weak") is runs[3]
    assert find(runs, 2) is None
    assert not same_variant("filtered", "printed")
