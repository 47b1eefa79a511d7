"""The sensor of people: its settings, which of its frames are accepted, and velocities estimated from noisy frames.

    latency          from the moment that a frame shows to the moment it is there; stamps are of the former
    frame_period     between frames
    dropout          the longest silence that is normal
    noise            of a measured point, one standard deviation an axis
    velocity_noise   the same of the velocity that comes with it; without one velocities are estimated alone

A frame is `latency` old when it comes and `latency + frame_period` when the next one comes: that age is ordinary, and
the body last seen is always grown for it.  After `longest_age`, latency + 2 frame_period + dropout, something is wrong.

A person's frame is accepted if its stamp is newer than that of the last one accepted and not from the future, no radius
is negative and no number beyond sense (`check_frame`); else it is refused, and the last good one stays and ages.
perception.py has what is believed about people from these frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...algebra import Condition, Scalar, maximum, minimum, where
from ...algebra.linalg import Array, vector
from ...geometry.shapes import RADIUS
from ..checks import Settings, setting

NEVER = -1e30  # s: the stamp of what never was: compiled code takes finite numbers alone, in single precision too
FIRST_SPEED = 1.5  # m/s: of a limb seen for the first time, one standard deviation
LARGEST = 1e13  # m^2: the squares of a capsule's numbers add up to less, those of a parked one too
AGE_FALLS = 5.0  # 1/s: how fast a person's held age sinks to what it is
UNKNOWN = 1e3  # m/s: the noise of a velocity that nobody measured


@dataclass(frozen=True)
class Sensor(Settings):
    """Settings of the sensor of people: what it states about itself."""

    latency: float = setting(0.1, "[0, 5] s", "from what a frame shows to its arrival; stamps say when it was so")
    frame_period: float = setting(0.033, "(0, 1] s", "between frames")
    dropout: float = setting(0.15, "[0, 5] s", "longest silence that is normal")
    noise: float = setting(0.01, "[0, 1] m", "of a point, one standard deviation an axis")
    velocity_noise: float = setting(
        UNKNOWN, f"[0, {UNKNOWN}] m/s", "of the velocities that come with points; 1000: not measured"
    )
    acceleration: float = setting(3.0, "(0, 1000] m/s^2", "of limbs, typical: what estimates of velocities allow for")

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


class PerceptionRules(NamedTuple):
    """The settings of `Limits` and its sensor that perception needs, as numbers or as a program's inputs."""

    human_speed: Scalar
    max_human_speed: Scalar
    jump_allowance: Scalar
    jump_confirm: Scalar
    clear_confirm: Scalar
    max_age: Scalar
    clock_tolerance: Scalar
    noise: Scalar
    velocity_noise: Scalar
    limb_acceleration: Scalar


RULES = PerceptionRules._fields
OF_SENSOR = {"noise": "noise", "velocity_noise": "velocity_noise", "limb_acceleration": "acceleration"}
"""Those rules that are the sensor's, and what it calls them."""


# ---- frames
class PersonFrame(NamedTuple):
    """What a capsule needs to know of its person's frame."""

    fresh: Condition  # it is new and good
    restart: Condition  # it came after a silence
    stamp: Scalar
    age: Scalar  # that bodies are grown by


def impossible(row: Array) -> Condition:
    """Whether a capsule cannot be: numbers beyond sense, or a negative radius."""
    return (row @ row > LARGEST) | (row[RADIUS] < 0.0)


class FrameCheck(NamedTuple):
    """Whether a person's frame was accepted, before their capsules are looked at one by one."""

    frame: PersonFrame
    refused: Condition
    last: Scalar  # s, the stamp of the last good frame


def check_frame(wrong: Condition, memory: Array, stamp: Scalar, clock: Array, rules: PerceptionRules) -> FrameCheck:
    """Whether a person's frame is new and good; `wrong`: one of its capsules cannot be.

    memory (6,) is the person's, clock perception.CLOCK.
    """
    raw, good, _, _, _, held = memory
    t, dt = clock[0], clock[1]
    fresh = (good < stamp) & (stamp <= t + rules.clock_tolerance) & ~wrong
    restart = rules.max_age < stamp - good
    refused = (stamp != raw) & ~fresh & (stamp > NEVER)
    last = where(fresh, stamp, good)
    age = minimum(maximum(t - last, 0.0), rules.max_age)
    held = maximum(age, where(restart, 0.0, held - AGE_FALLS * dt * (held - age)))
    return FrameCheck(PersonFrame(fresh, restart, stamp, held), refused, last)


# ---- velocities
class CapsuleTrack(NamedTuple):
    """A Kalman filter of constant velocity for both ends of a capsule; all coordinates share one covariance.

    Between frames, h apart, the velocity wanders as white noise of acceleration with density s (m^2/s^3) lets it:

        P' = F P F^T + s [h^3/3, h^2/2; h^2/2, h],   F = [1, h; 0, 1]

    and a frame corrects by the position, then by the velocity that came with it.
    """

    ends: Array  # (6,) m, both ends
    speed: Array  # (6,) m/s
    xx: Scalar  # covariance: m^2, m^2/s, m^2/s^2
    xv: Scalar
    vv: Scalar

    def at(self, h: Scalar) -> Array:
        """The ends (6,) h seconds on."""
        return self.ends + self.speed * h

    def corrected(self, ends: Array, speed: Array, h: Scalar, rules: PerceptionRules) -> CapsuleTrack:
        """After a frame, h after the last."""
        s = rules.limb_acceleration * rules.limb_acceleration * 0.1  # a limb pushes one way for a tenth of a second
        xx = self.xx + h * (2.0 * self.xv + h * self.vv) + s * (h * h * h) * (1.0 / 3.0)
        xv = self.xv + h * self.vv + s * (h * h) * 0.5
        vv = self.vv + s * h
        x, v = self.at(h), self.speed
        spread = xx + rules.noise * rules.noise
        weight = 1.0 / where(spread > 0.0, spread, 1.0)
        gain_x, gain_v, off = xx * weight, xv * weight, ends - x
        x, v = x + off * gain_x, v + off * gain_v
        xx, xv, vv = xx * (1.0 - gain_x), xv * (1.0 - gain_x), vv - gain_v * xv
        spread = vv + rules.velocity_noise * rules.velocity_noise
        weight = 1.0 / where(spread > 0.0, spread, 1.0)
        gain_x, gain_v, off = xv * weight, vv * weight, speed - v
        x, v = x + off * gain_x, v + off * gain_v
        return CapsuleTrack(x, v, xx - gain_x * xv, xv * (1.0 - gain_v), maximum(vv * (1.0 - gain_v), 0.0))

    @classmethod
    def started(cls, ends: Array, speed: Array, rules: PerceptionRules) -> CapsuleTrack:
        """From one frame: a velocity that was measured well counts, else the limb is at rest and may be fast."""
        doubt = FIRST_SPEED * FIRST_SPEED
        measured = rules.velocity_noise * rules.velocity_noise
        weight = doubt / (doubt + measured)
        return cls(ends, speed * weight, rules.noise * rules.noise, 0.0, weight * measured)


def tracked(
    row: Array, memory: Array, came: Condition, anew: Condition, swapped: Condition, h: Scalar, rules: PerceptionRules
) -> CapsuleTrack:
    """The track after a look: corrected by a frame, started by a first one, else as it was."""
    order = [*range(3, 6), *range(3)]
    ends, speed = row[:RADIUS], row[RADIUS + 1 :]
    ends, speed = (vector(*(where(swapped, x[k], x[i]) for i, k in enumerate(order))) for x in (ends, speed))
    old = CapsuleTrack(memory[:6], memory[6:12], *memory[12:])
    gap = minimum(maximum(h, 0.0), 1.0)
    numbers = zip(
        *(
            [*track.ends, *track.speed, track.xx, track.xv, track.vv]
            for track in (CapsuleTrack.started(ends, speed, rules), old.corrected(ends, speed, gap, rules), old)
        ),
        strict=True,
    )
    chosen = vector(*(where(came, where(anew, first, next_), before) for first, next_, before in numbers))
    return CapsuleTrack(chosen[:6], chosen[6:12], *chosen[12:])
