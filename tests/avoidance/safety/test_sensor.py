"""Sensors of people: the ages of frames that follow from what one states, and a `max_age` that does not fit them."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.avoidance import Limits, Sensor
from elbowroom.avoidance import settings as tables
from elbowroom.avoidance.control.obstacles import Obstacles
from elbowroom.avoidance.safety.perception import CLOCK, TOLD, Watch
from elbowroom.errors import ConfigError
from elbowroom.geometry import Sphere

LOG = "elbowroom.avoidance"
PERSON = Sphere([1.0, 0.0, 1.0], 0.1).row()[None]
STALE = TOLD.index("stale")
SENSORS = {"camera": Sensor.skeleton_camera(), "markers": Sensor.motion_capture(), "exact": Sensor.exact()}
sensors = pytest.mark.parametrize("sensor", SENSORS.values(), ids=SENSORS)


def oldest_seen(sensor, limits, *, silence):
    """The greatest age (s) of a frame in a second, and whether any was too old; silences of that length (s)."""
    clock = np.zeros(len(CLOCK))
    watch = Watch((1, 0, 1), limits, clock, lambda *_: None)
    places, goal = Obstacles(1, 0, 1), np.zeros(15)
    period = 0.001
    clock[1] = period
    stamps = np.arange(0, 1000) * sensor.frame_period
    begins = 0.3 + 0.5 * sensor.frame_period  # between two frames
    stamps = stamps[(stamps < begins) | (stamps > begins + silence)]
    arrives = stamps + sensor.latency
    age, stale = 0.0, False
    for k in range(1, 1000):
        t = k * period
        there = stamps[arrives <= t]
        if len(there) == 0:
            continue
        if there[-1] != places.stamps[0]:
            places.see(PERSON, there[-1])
        watch.look(t, places, goal)
        age, stale = max(age, t - there[-1]), stale or watch.told[STALE] > 0
    return age, stale


# ---- what follows from a sensor's numbers
@sensors
def test_a_frame_is_as_old_as_stated(sensor):
    age, stale = oldest_seen(sensor, Limits(sensor=sensor), silence=0.0)
    # time is looked at once in a millisecond
    assert sensor.ordinary_age - 0.001 <= age <= sensor.ordinary_age + 1e-9
    assert not stale


@sensors
def test_a_silence_that_is_normal_is_no_stop(sensor):
    age, stale = oldest_seen(sensor, Limits(sensor=sensor), silence=sensor.dropout)
    assert sensor.ordinary_age < age <= sensor.longest_age
    assert not stale


@sensors
def test_a_longer_silence_is_a_stop(sensor):
    age, stale = oldest_seen(sensor, Limits(sensor=sensor), silence=sensor.dropout + 3 * sensor.frame_period)
    assert age > sensor.longest_age
    assert stale


def test_the_numbers_of_the_default():
    sensor = Limits().sensor
    assert sensor == Sensor() == Sensor.skeleton_camera()
    assert sensor.ordinary_age == pytest.approx(0.1 + 0.033)
    assert Limits().oldest == sensor.longest_age == pytest.approx(0.1 + 0.033 + 0.15 + 0.033)
    assert sensor.uncertainty == pytest.approx(0.03)


@given(st.floats(0.0, 1.0))
def test_noise_counts_three_times_in_the_clearance(noise):
    quiet, noisy = (Limits(sensor=Sensor(noise=x)).clearance for x in (0.0, noise))
    assert noisy - quiet == pytest.approx(3 * noise, abs=1e-12)  # a difference of numbers of order 1


# ---- a max_age that does not fit
def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.name == LOG and r.levelno == logging.WARNING]


def test_a_max_age_below_that_of_every_frame_is_refused():
    numbers = r"at least 0.133 s, .* \(latency 0.1 \+ frame_period 0.033\); got 0.1$"
    with pytest.raises(ConfigError, match=f"Limits: max_age: expected {numbers}"):
        Limits(max_age=0.1)
    with pytest.raises(ConfigError, match=r"limits.toml: max_age: expected at least 0.02 s"):
        tables.loads(Limits, "max_age = 0.015\n[sensor]\nlatency = 0.01\nframe_period = 0.01", "limits.toml")
    Limits(max_age=0.1, sensor=Sensor.motion_capture())  # for this one it will do


@sensors
def test_a_max_age_that_a_drop_out_exceeds_is_warned_of_once(sensor, caplog):
    max_age = 0.5 * (sensor.ordinary_age + sensor.longest_age)
    limits = Limits(max_age=max_age, sensor=sensor)
    (told,) = warnings(caplog)
    numbers = max_age, sensor.longest_age, sensor.latency, sensor.frame_period, sensor.dropout
    for name, value in zip(("max_age is", "become", "latency", "frame_period", "dropout"), numbers, strict=True):
        assert f"{name} {value:g}" in told
    assert "will stop the arm until it is reset" in told
    # and that is what happens
    assert oldest_seen(sensor, limits, silence=sensor.dropout)[1]
    assert not oldest_seen(sensor, limits, silence=0.0)[1]
    assert len(warnings(caplog)) == 1


@sensors
@pytest.mark.parametrize("longer", [None, 0.0, 1.0])
def test_what_fits_is_not_spoken_of(sensor, longer, caplog):
    Limits(sensor=sensor, max_age=None if longer is None else sensor.longest_age + longer)
    assert not warnings(caplog)


@given(st.floats(0.0, 1.0), st.floats(1e-3, 0.5), st.floats(0.0, 1.0))
def test_the_ages_themselves_fit_however_they_round(latency, frame_period, dropout):
    sensor = Sensor(latency=latency, frame_period=frame_period, dropout=dropout)
    for age in (sensor.ordinary_age, sensor.longest_age):
        Limits(sensor=sensor, max_age=float(f"{age:.12g}"))


# ---- settings
@sensors
def test_toml_round_trip(sensor):
    assert tables.loads(Sensor, tables.dumps(sensor)) == sensor


@pytest.mark.parametrize(
    "text, message",
    [
        ("latency = -0.1", "limits.toml: sensor.latency: expected a number >= 0"),
        ("latency = 100", "limits.toml: sensor.latency: expected .* <= 5"),  # in ms
        ("frame_period = 0", "limits.toml: sensor.frame_period: expected a number > 0"),
        ("dropout = nan", "limits.toml: sensor.dropout: expected"),
        ("noise = 10.0", "limits.toml: sensor.noise: expected .* <= 1"),  # in mm
        ("frame_rate = 30", "limits.toml: sensor.frame_rate: unknown key"),
    ],
)
def test_what_cannot_be_is_refused_by_name(text, message):
    with pytest.raises(ConfigError, match=message):
        tables.loads(Limits, f"[sensor]\n{text}", "limits.toml")


def test_the_first_frame_is_waited_for_without_end():
    """No data has no age: `stale` begins with the first frame."""
    clock = np.zeros(len(CLOCK))
    watch = Watch((1, 0, 1), Limits(), clock, lambda *_: None)
    places, goal = Obstacles(1, 0, 1), np.zeros(15)
    clock[1] = 0.001
    for t in (0.0, 1.0, 1e6):
        watch.look(t, places, goal)
        assert watch.waiting
        assert watch.told[STALE] == 0.0
        assert not watch.stale(t)
    places.see(PERSON, 1e6)
    watch.look(1e6 + 0.01, places, goal)
    assert not watch.waiting
    late = 1e6 + Limits().oldest
    for t, old in ((math.nextafter(late, 0.0) - 1e-6, False), (late + 1e-6, True)):
        watch.look(t, places, goal)
        assert bool(watch.stale(t)) == old
