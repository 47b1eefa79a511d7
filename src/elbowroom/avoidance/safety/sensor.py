"""Sensor settings: latency, frame period, drop-outs and noise.  perception.py notices frames that are late or missing.

    latency          from the moment that a frame shows to the moment it is there; stamps are of the former
    frame_period     between frames
    dropout          the longest silence that is normal
    noise            of a measured point, one standard deviation an axis
    velocity_noise   the same of the velocity that comes with it; without one velocities are estimated alone

A frame is `latency` old when it comes and `latency + frame_period` when the next one comes: that age is ordinary, and
the body last seen is always grown for it.  After `longest_age`, latency + 2 frame_period + dropout, something is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..checks import non_negative, positive, setting

UNKNOWN = 1e3  # m/s: the noise of a velocity that nobody measured


@dataclass(frozen=True)
class Sensor:
    """What is known about the sensor of people."""

    latency: float = setting(0.1, "s", "from what a frame shows to its arrival; stamps say when it was so")
    frame_period: float = setting(0.033, "s", "between frames")
    dropout: float = setting(0.15, "s", "longest silence that is normal")
    noise: float = setting(0.01, "m", "of a point, one standard deviation an axis")
    velocity_noise: float = setting(UNKNOWN, "m/s", "of the velocities that come with points; 1000: not measured")
    acceleration: float = setting(3.0, "m/s^2", "of limbs, typical: what the estimate of velocities allows for")

    def __post_init__(self) -> None:
        non_negative(self, "latency", "dropout", most=5.0)
        positive(self, "frame_period", most=1.0)
        non_negative(self, "noise", most=1.0)
        non_negative(self, "velocity_noise", most=UNKNOWN)
        positive(self, "acceleration", most=1000.0)

    @classmethod
    def skeleton_camera(cls) -> Sensor:
        """A depth camera with skeleton tracking: 30 frames/s, a tenth of a second late, 1 cm of noise."""
        return cls()

    @classmethod
    def motion_capture(cls) -> Sensor:
        """Markers on the body: 100 frames/s, 10 ms late, 1 mm of noise."""
        return cls(latency=0.01, frame_period=0.01, dropout=0.05, noise=0.001)

    @classmethod
    def exact(cls, frame_period: float = 0.01) -> Sensor:
        """A simulation that tells positions and velocities as they are, without delay."""
        return cls(latency=0.0, frame_period=frame_period, dropout=0.05, noise=0.0, velocity_noise=0.0)

    @property
    def ordinary_age(self) -> float:
        """How old a frame is, s, when the next one comes."""
        return self.latency + self.frame_period

    @property
    def longest_age(self) -> float:
        """How old a frame is, s, when the longest normal silence ends."""
        return self.ordinary_age + self.dropout + self.frame_period

    @property
    def uncertainty(self) -> float:
        """Z_d, m: three standard deviations of a point."""
        return 3.0 * self.noise
