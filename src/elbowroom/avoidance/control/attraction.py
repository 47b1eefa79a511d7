"""Attraction of the tool: a pole that moves along a path, a PI law towards it, and restraint near people.

The thesis' error is e = p_e - p_pole (3.47) and its law v = -Kp e - Ki int e (3.48).  Here the error is pole - tool, so

    v = kp e + ki I,    I = int e dt

with what the thesis leaves open: v is held at max_speed, direction kept; |ki I| is held at windup; and I does not grow
while v is held, nor faster than the arm is let go.  Near a person v is scaled by (3.77), with x = d/d0 and exponent n:

    printed    2 / (1 + exp(-x^n)) - 1 = tanh(x^n / 2)     0.46 at d0, and below 1 at every distance
    mended     x^n (2 - x^n) up to d0, 1 beyond            1 at d0 with zero slope

Both are 0 in contact and in penetration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algebra import Scalar
from ...algebra.functions import exp, maximum, minimum, power, sqrt, where
from ...algebra.linalg import dot, vector
from ...errors import ConfigError, ShapeError
from ..checks import Settings, as_number, setting

Array = NDArray[Any]
SLOW_DOWN = ("printed", "mended", "off")


@dataclass(frozen=True)
class Attraction(Settings):
    """How the tool is drawn to its pole."""

    kp: float = setting(3.0, "[0, inf) 1/s", "speed for each metre of error")
    ki: float = setting(
        0.0, "[0, inf) 1/s^2", "speed for a metre of error kept up for a second; an arm that follows needs none"
    )
    max_speed: float = setting(0.5, "(0, 20] m/s", "greatest speed of attraction")
    windup: float = setting(0.1, "[0, 20] m/s", "greatest speed that the integral may ask for")
    rotation_gain: float = setting(1.0, "[0, inf) 1/s", "turning speed for each radian of error")
    max_turn: float = setting(1.0, "(0, 20] rad/s", "greatest turning speed")
    slow_down: str = setting("mended", SLOW_DOWN, "restraint near people (3.77): printed, mended or off")
    exponent: int = setting(2, "[1, 8]", "n of (3.77), 1 to 8")


def held(v: Array, most: Scalar) -> Array:
    """A vector whose length is at most `most`, direction kept; zero stays zero."""
    length = sqrt(dot(v, v))
    return v * where(length > most, most / where(length > 0, length, 1.0), 1.0)


class Pull(NamedTuple):
    """The velocity of attraction and the integral to remember."""

    velocity: Array  # (3,) m/s
    integral: Array  # (3,) m s


def pull(settings: Attraction, error: Array, integral: Array, dt: Scalar, slow: Scalar) -> Pull:
    """(3.48) with its windup held.  error = pole - tool (3,), m; slow in [0, 1] scales the velocity and what is summed.

    While the velocity is held at max_speed, an error that would drive it further is not summed.
    """
    summed = integral + error * (dt * slow)
    asked = settings.kp * error + settings.ki * summed
    driven = dot(error, asked) > 0
    saturated = dot(asked, asked) > settings.max_speed * settings.max_speed
    kept = where(saturated & driven, integral, summed)
    share = settings.ki * sqrt(dot(kept, kept))
    kept = kept * where(share > settings.windup, settings.windup / where(share > 0, share, 1.0), 1.0)
    velocity = held(settings.kp * error + settings.ki * kept, settings.max_speed)
    return Pull(velocity * slow, kept)


def slow_down_factor(settings: Attraction, distance: Scalar, influence: Scalar) -> Scalar:
    """(3.77): how much of the attraction is left at this distance from a person, 0 to 1."""
    if settings.slow_down == "off":
        return 1.0
    x = maximum(distance, 0.0) / influence
    if settings.slow_down == "printed":
        return 2.0 / (1.0 + exp(-power(x, settings.exponent))) - 1.0
    y = power(minimum(x, 1.0), settings.exponent)
    return y * (2.0 - y)


def rotation_error(R_tool: Array, R_goal: Array) -> Array:
    """2 sin(theta/2) a (3,) for the turn by theta <= pi about a that takes the tool to the goal, world frame.

    Twice the vector part of its quaternion, taken from whichever of the four squared parts is the greatest (never below
    1/4), so that no angle is singular.  At half a turn both ways round are equal; one is taken.
    """
    (a, b, c), (d, e, f), (g, h, i) = (R_goal @ R_tool.T).tolist()
    wx, wy, wz, xy, xz, yz = h - f, c - g, d - b, b + d, c + g, f + h  # 4 w x and so on, of the unit quaternion
    squares = (1.0 + a + e + i, 1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i)  # 4 w w, 4 x x, 4 y y, 4 z z
    candidates = (
        (squares[0], wx, wy, wz),
        (wx, squares[1], xy, xz),
        (wy, xy, squares[2], yz),
        (wz, xz, yz, squares[3]),
    )  # each row is the quaternion, 4 times its own part long
    best, row = squares[0], candidates[0]
    for square, candidate in zip(squares[1:], candidates[1:], strict=True):
        greater = square > best
        best = where(greater, square, best)
        row = tuple(where(greater, new, old) for new, old in zip(candidate, row, strict=True))
    scale = where(row[0] < 0, -1.0, 1.0) / sqrt(best)  # w >= 0: the short way round
    return vector(row[1] * scale, row[2] * scale, row[3] * scale)


def turn(settings: Attraction, R_tool: Array, R_goal: Array) -> Array:
    """Angular velocity (3,) rad/s, world frame, that turns the tool to the goal: gain times the error, held."""
    return held(rotation_error(R_tool, R_goal) * settings.rotation_gain, settings.max_turn)


class Path:
    """Way points joined by straight lines, in world coordinates; a point repeated at once counts once."""

    def __init__(self, points: ArrayLike) -> None:
        given = np.array(points, dtype=float)
        if given.ndim != 2 or given.shape[1] != 3:
            raise ShapeError(f"points must have shape (k, 3); got {given.shape}")
        if not np.isfinite(given).all():
            raise ConfigError("points must be finite; got NaN or infinity")
        moved = np.linalg.norm(np.diff(given, axis=0), axis=1) > 0
        self.points = given[np.r_[True, moved][: len(given)]]
        if len(self.points) < 2:
            raise ConfigError(f"a path needs two different points or more; got {len(self.points)}")
        steps = np.diff(self.points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        self._directions = steps / lengths[:, None]
        self._marks = np.r_[0.0, np.cumsum(lengths)]  # length travelled at each point

    @property
    def length(self) -> float:
        """From the first point to the last, m."""
        return float(self._marks[-1])

    def _leg(self, s: float) -> int:
        leg = int(np.searchsorted(self._marks, s, side="right")) - 1
        return min(max(leg, 0), len(self._directions) - 1)

    def position(self, s: float) -> Array:
        """The point (3,) after s metres; the ends hold before and after."""
        s = min(max(s, 0.0), self.length)
        leg = self._leg(s)
        if s == self.length:
            return self.points[-1].copy()
        return self.points[leg] + self._directions[leg] * (s - self._marks[leg])

    def direction(self, s: float) -> Array:
        """The unit direction (3,) of travel after s metres; at a corner, that of the leg that begins."""
        return self._directions[self._leg(s)].copy()


class Pole:
    """The attraction pole: it moves along a path at constant speed, and waits for a tool that lags.

    Its clock t is its own: `at(t)` is where it is, and `advance(t, dt, tool)` the next t.  With a leash (m) it stays
    while the tool is that far away or farther; without one it never waits.
    """

    def __init__(self, path: Path, speed: float, leash: float | None = None) -> None:
        for name, value in (("speed", speed), ("leash", leash)):
            if not (name == "leash" and value is None) and not (as_number(value) or 0.0) > 0:
                raise ConfigError(f"{name} must be a number > 0 ({'m/s' if name == 'speed' else 'm'}); got {value!r}")
        self.path = path
        self.speed = float(speed)
        self.leash = math.inf if leash is None else float(leash)

    @property
    def duration(self) -> float:
        """From the first point to the last without waiting, s."""
        return self.path.length / self.speed

    def at(self, t: float) -> tuple[Array, Array]:
        """Position (3,) and velocity (3,) of the pole; it stands still before the start and after the end."""
        s = self.speed * t
        moving = 0.0 <= s < self.path.length
        return self.path.position(s), self.path.direction(s) * (self.speed if moving else 0.0)

    def advance(self, t: float, dt: float, tool: ArrayLike) -> float:
        """The pole's clock dt later: t + dt, or t while the tool is out at the leash's end."""
        gap = np.asarray(tool, dtype=float) - self.path.position(self.speed * t)
        return t + dt if float(np.sqrt(gap @ gap)) < self.leash else t
