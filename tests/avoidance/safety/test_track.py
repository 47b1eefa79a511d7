"""Where people are, as estimated: sensor.CapsuleTrack against a Kalman filter in matrix form, and its noise."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.avoidance import Limits, Sensor
from elbowroom.avoidance.safety.sensor import FIRST_SPEED, OF_SENSOR, RULES, UNKNOWN, CapsuleTrack, PerceptionRules

SENSORS = {
    "skeleton camera": Sensor.skeleton_camera(),
    "motion capture": Sensor.motion_capture(),
    "with velocities": Sensor(noise=0.01, velocity_noise=0.2),
    "exact": Sensor.exact(),
}


def rules(sensor):
    limits = Limits(sensor=sensor)
    known = {"max_age": limits.oldest} | {name: getattr(sensor, field) for name, field in OF_SENSOR.items()}
    return PerceptionRules(*(known[name] if name in known else getattr(limits, name) for name in RULES))


class Matrices:
    """One coordinate: x = (position, velocity), both measured at once, in the textbook's form."""

    def __init__(self, position, velocity, sensor):
        self.R = np.diag([sensor.noise**2, sensor.velocity_noise**2])
        self.density = 0.1 * sensor.acceleration**2
        # Before the first frame: any position, a velocity around 0.  The frame's velocity corrects that.
        doubt = FIRST_SPEED**2
        weight = doubt / (doubt + sensor.velocity_noise**2)
        self.x = np.array([position, weight * velocity])
        self.P = np.diag([sensor.noise**2, weight * sensor.velocity_noise**2])

    def frame(self, position, velocity, h):
        F = np.array([[1.0, h], [0.0, 1.0]])
        Q = self.density * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
        x, P = F @ self.x, F @ self.P @ F.T + Q
        K = P @ np.linalg.inv(P + self.R)
        self.x = x + K @ (np.array([position, velocity]) - x)
        self.P = P - K @ P


def tracked(frames, sensor):
    """The tracks after each frame (h, ends, speed)."""
    known = rules(sensor)
    (_, ends, speed), *rest = frames
    found = [CapsuleTrack.started(ends, speed, known)]
    for h, ends, speed in rest:
        found.append(found[-1].corrected(ends, speed, h, known))
    return found


@pytest.mark.parametrize("name", SENSORS)
def test_it_is_the_filter_of_the_textbook(name):
    sensor, rng = SENSORS[name], np.random.default_rng(0)
    frames = [(rng.uniform(0.005, 0.2), rng.standard_normal(6), rng.standard_normal(6)) for _ in range(40)]
    tracks = tracked(frames, sensor)
    for c in range(6):
        plain = Matrices(frames[0][1][c], frames[0][2][c], sensor)
        for k, track in enumerate(tracks):
            if k:
                h, ends, speed = frames[k]
                plain.frame(ends[c], speed[c], h)
            # Two corrections one after the other, or both at once: the same but for rounding, which the inverse of a
            # matrix of 1e6 (an unknown velocity) and 1e-4 (m^2) enlarges by their ratio, 1e10.
            near = {"rtol": 1e-5, "atol": 1e-8}
            np.testing.assert_allclose([track.ends[c], track.speed[c]], plain.x, **near)
            np.testing.assert_allclose([track.xx, track.xv, track.vv], plain.P[[0, 0, 1], [0, 1, 1]], **near)


@pytest.mark.parametrize("name", SENSORS)
def test_a_covariance_stays_one(name):
    sensor, rng = SENSORS[name], np.random.default_rng(1)
    frames = [(rng.uniform(0.001, 1.0), rng.standard_normal(6), rng.standard_normal(6)) for _ in range(300)]
    for track in tracked(frames, sensor):
        assert track.xx >= 0
        assert track.vv >= 0
        assert track.xv**2 <= track.xx * track.vv * (1 + 1e-9) + 1e-18


@pytest.mark.parametrize("name", SENSORS)
def test_constant_velocity_is_followed_without_lag(name):
    """Without noise the error of a steady motion goes to zero, of a place h ahead too."""
    sensor = SENSORS[name]
    start, velocity, h = np.arange(6.0), np.array([1.5, -0.3, 0.0, 0.7, 2.0, -1.0]), sensor.frame_period
    measured = velocity if sensor.velocity_noise < UNKNOWN else np.zeros(6)  # none comes with an unknown one
    frames = [(h, start + velocity * (h * k), measured) for k in range(round(4.0 / h))]
    tracks = tracked(frames, sensor)
    off = [np.abs(t.at(0.1) - (start + velocity * (h * k + 0.1))).max() for k, t in enumerate(tracks)]
    # An unknown velocity is told as 0 with a noise of 1000 m/s, which still counts a little: its gain is below
    # vv / 1000^2 of the speed, 2 m/s, over some seconds.
    assert off[-1] < 1e-5


def test_noise_is_reduced():
    """A limb at rest before a skeleton camera: the spread of the estimates is what the covariance says, and less.

    The filter is linear, so the variance of its error is exactly the sum of squared responses; that the covariance adds
    the wandering it allows for makes xx and vv upper bounds.  300 frames of 6 coordinates that are correlated over
    about 10 frames: the sample's standard deviation is within 1 / sqrt(2 * 180), 5 %, times 4.
    """
    sensor, rng = Sensor.skeleton_camera(), np.random.default_rng(2)
    h, noise = sensor.frame_period, sensor.noise
    frames = [(h, noise * rng.standard_normal(6), np.zeros(6)) for _ in range(330)]
    settled = tracked(frames, sensor)[30:]
    position, speed = (np.std([getattr(t, k) for t in settled]) for k in ("ends", "speed"))
    doubt = 1.0 + 4.0 / np.sqrt(2 * 180)
    differences = np.sqrt(2) * noise / h  # the noise of a velocity from two frames next to each other
    # Measured: 0.74 of the sensor's noise, 0.27 of that of differences.
    assert position < np.sqrt(settled[-1].xx) * doubt < noise
    assert speed < np.sqrt(settled[-1].vv) * doubt < differences / 1.5
