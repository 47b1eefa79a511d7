"""People who walk: straight back and forth, or at random within an area; and people who stand still.

    Still(person)                              a person who stays
    Walk(start, end, speed)                    back and forth between two points of the floor (thesis, chapter 4)
    RandomWalk(seed, area, max_speed)          smooth, seeded, within an area and a speed

The path of a random walk is a sum of sines for each axis, with whole numbers n of waves in one round,

    f(a) = sum_k A_k sin(n_k a + phi_k),    a = w t

scaled to the sides of the area.  Largest values are taken over a grid of step h; between its points a function lies
within h^2/8 of the largest second derivative of them, and the sums of |A_k| n_k^j bound the derivatives.  So the path
provably stays inside, and w is as fast as the speed allows.  Metres, seconds, radians, world frame with z up.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import finite, fixed, number
from ...geometry import Person
from ...geometry.shapes import RADIUS, A, B
from .coworker import Figure, Shape, checked, figure, floor_point

Array = NDArray[np.float64]


class Still:
    """A person who stays where they are; `point` (3,) is below the hip, or below the only capsule."""

    duration = math.inf

    def __init__(self, person: Person) -> None:
        if np.any(person.rows[:, RADIUS + 1 :]):
            raise ValueError("Still: the person must be at rest; got one with velocities")
        self.names, self._rows = person.names, person.rows
        low = (person.rows[:, [2, 5]].min(axis=1) - person.rows[:, RADIUS]).min()
        x, y, _ = person.rows[person.names.index("torso"), B] if "torso" in person.names else person.rows[0, A]
        self._point = fixed([x, y, low])

    def look(self, t: float, out: Array) -> float:
        """The rows of the person, measured now."""
        now = checked(t, out, len(self.names))
        out[:] = self._rows
        return now

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person stands, at rest."""
        return self._point.copy(), np.zeros(3)


@dataclass(frozen=True, eq=False)
class Walk:
    """Straight from start to end and back, (x, y) or (x, y, z) each, at constant speed (m/s) with instant turns.

    One period is there and back; `periods` may have a half, and None is for ever.  `delay` (s) is waited before the
    first step, `pause` (s) at each end.  With an `acceleration` (m/s^2) the speed grows and falls at that rate instead
    of instantly.  A "standing" figure looks along `facing` (rad), towards the end if it is None, on the way back too.
    """

    start: Array
    end: Array
    speed: float
    periods: float | None = None
    shape: Shape = "cylinder"
    _: KW_ONLY
    pause: float = 0.0
    delay: float = 0.0
    acceleration: float | None = None
    facing: float | None = None
    height: float = 1.8
    radius: float = 0.3
    _figure: Figure = field(init=False, repr=False)
    _way: tuple[Array, float] = field(init=False, repr=False)  # direction, length

    def __post_init__(self) -> None:
        start, end = floor_point("Walk.start", self.start), floor_point("Walk.end", self.end)
        length = float(np.linalg.norm(end - start))
        if length == 0:
            raise ValueError(f"Walk: start and end must differ; got {self.start!r} twice")
        values: dict[str, Any] = {"start": start, "end": end, "_way": (fixed((end - start) / length), length)}
        values["speed"] = number("Walk.speed", self.speed, more=True)
        values |= {what: number(f"Walk.{what}", getattr(self, what)) for what in ("pause", "delay")}
        if self.acceleration is not None:
            values["acceleration"] = number("Walk.acceleration", self.acceleration, more=True)
        if self.periods is not None and (not number("Walk.periods", self.periods, more=True) * 2 % 1 == 0):
            raise ValueError(f"Walk.periods must be a multiple of a half, or None; got {self.periods!r}")
        yaw = math.atan2(end[1] - start[1], end[0] - start[0]) if self.facing is None else self.facing
        values["facing"] = float(finite("Walk.facing", yaw, ()))
        values["_figure"] = figure(self.shape, self.height, self.radius)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the capsules."""
        return self._figure.names

    @property
    def leg(self) -> float:
        """Time of one way with the pause after it, s."""
        peak, rise = self._peak()
        return rise + self._way[1] / peak + self.pause

    @property
    def duration(self) -> float:
        """Until the last pause is over, s."""
        return math.inf if self.periods is None else self.delay + 2 * self.periods * self.leg

    def _peak(self) -> tuple[float, float]:
        """The highest speed on one way, and the time of reaching it from rest."""
        if self.acceleration is None:
            return self.speed, 0.0
        peak = min(self.speed, math.sqrt(self.acceleration * self._way[1]))
        return peak, peak / self.acceleration

    def _along(self, t: float) -> tuple[float, float]:
        """How far from the start, and how fast away from it."""
        length, leg = self._way[1], self.leg
        gone = t - self.delay
        if gone < 0:
            return 0.0, 0.0
        legs = math.floor(gone / leg)
        if self.periods is not None and legs >= 2 * self.periods:
            return (length if 2 * self.periods % 2 == 1 else 0.0), 0.0
        x, v = self._leg(gone - legs * leg)
        return (x, v) if legs % 2 == 0 else (length - x, -v)

    def _leg(self, t: float) -> tuple[float, float]:
        """Way and speed at a time of one leg: rise, cruise, fall, pause."""
        length = self._way[1]
        peak, rise = self._peak()
        left = rise + length / peak - t
        if left <= 0:
            return length, 0.0
        if t < rise and self.acceleration is not None:
            return 0.5 * self.acceleration * t * t, self.acceleration * t
        if left < rise and self.acceleration is not None:
            return length - 0.5 * self.acceleration * left * left, self.acceleration * left
        return peak * (t - 0.5 * rise), peak

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person stands, and the velocity."""
        x, v = self._along(t)
        way = self._way[0]
        return self.start + x * way, v * way

    def look(self, t: float, out: Array) -> float:
        """The capsules, measured now."""
        now = checked(t, out, len(self.names))
        assert self.facing is not None
        self._figure.put(out, *self.point(now), self.facing)
        return now


WAVES = range(5, 18)  # waves in one round: the fastest is about three times the slowest
TERMS, GRID = 3, 8192


class RandomWalk:
    """Smooth random motion within `area` (x0, x1, y0, y1), never faster than `max_speed` (m/s), which it comes up to.

    The area is for the point on the floor; the body reaches beyond.  The same seed gives the same path.  It has no end
    and repeats itself after `period` seconds.  The figure looks along `facing` (rad), and turns by up to `turn` (rad)
    to the side that it moves to: by all of it when it goes straight to the left or right at full speed.
    """

    duration = math.inf

    def __init__(
        self,
        seed: int,
        area: ArrayLike,
        max_speed: float = 2.0,
        shape: Shape = "cylinder",
        *,
        floor: float = 0.0,
        facing: float = 0.0,
        turn: float = 0.0,
        height: float = 1.8,
        radius: float = 0.3,
    ) -> None:
        self.seed, self.area = seed, fixed(finite("RandomWalk.area", area, (4,)))
        x0, x1, y0, y1 = self.area
        if not (x0 <= x1 and y0 <= y1 and (x0, y0) != (x1, y1)):
            raise ValueError(
                f"RandomWalk.area must be (x0, x1, y0, y1) with x0 <= x1, y0 <= y1 and not both equal; got {area!r}"
            )
        self.max_speed = number("RandomWalk.max_speed", max_speed, more=True)
        self._floor, self._facing = number("floor", floor, least=-math.inf), number("facing", facing, least=-math.inf)
        self._turn = number("turn", turn, least=-math.inf)
        self._figure = figure(shape, height, radius)
        self.names = self._figure.names
        random = np.random.default_rng(seed)
        waves = [np.sort(random.choice(WAVES, TERMS, replace=False)) for _ in "xy"]
        self._waves = np.array(waves, dtype=float)  # (2, TERMS)
        self._sizes = random.uniform(0.5, 1.0, (2, TERMS))
        self._phases = random.uniform(0.0, 2 * math.pi, (2, TERMS))
        self._centre = np.zeros(2)
        self._fit(np.array([x0, y0]), np.array([x1, y1]))

    def _fit(self, low: Array, high: Array) -> None:
        """Scales the sums to the area, and time to the speed."""
        step = 2 * math.pi / GRID
        angles = step * np.arange(GRID)

        def slack(order: int) -> Array:
            """(2,) How far a derivative may lie beyond its values on the grid."""
            return step**2 / 8 * (self._sizes * self._waves ** (order + 2)).sum(axis=1)

        values, beyond = self._sums(angles, 0), slack(0)
        least, most = values.min(axis=0) - beyond, values.max(axis=0) + beyond
        scale = (high - low) / (most - least)
        self._sizes = self._sizes * scale[:, None]
        self._centre = low - least * scale
        fastest = np.linalg.norm(self._sums(angles, 1), axis=1).max() + np.linalg.norm(slack(1))
        self._rate = self.max_speed / float(fastest)  # rad of the round a second

    def _sums(self, angles: ArrayLike, order: int) -> Array:
        """(..., 2) a derivative of the two sums of sines."""
        inner = np.multiply.outer(np.asarray(angles), self._waves) + (self._phases + order * math.pi / 2)
        total: Array = (self._sizes * self._waves**order * np.sin(inner)).sum(axis=-1)
        return total

    @property
    def period(self) -> float:
        """After so many seconds the path repeats itself."""
        return 2 * math.pi / self._rate

    def _state(self, t: float, order: int) -> Array:
        """(3,) position, velocity or acceleration."""
        planar = self._rate**order * self._sums(self._rate * t, order)
        if order == 0:
            planar = planar + self._centre
        return np.array([*planar, self._floor if order == 0 else 0.0])

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person stands, and the velocity."""
        return self._state(t, 0), self._state(t, 1)

    def look(self, t: float, out: Array) -> float:
        """The capsules, measured now."""
        now = checked(t, out, len(self.names))
        at, velocity = self.point(now)
        left = np.array([-math.sin(self._facing), math.cos(self._facing), 0.0])
        share = self._turn / self.max_speed
        yaw, yaw_rate = self._facing + share * float(left @ velocity), share * float(left @ self._state(now, 2))
        self._figure.put(out, at, velocity, yaw, yaw_rate)
        return now
