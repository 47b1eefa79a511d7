"""A person who stands, reaches to a point with one hand, stays there and withdraws.

The hand goes straight from the side of the body to the target and back, each way with the least jerk (Flash and Hogan
1985): the part of the way at x = t / T is

    s(x) = 10 x^3 - 15 x^4 + 6 x^5

The fastest is 1.875 times the mean.  The elbow follows by two links: with r the hand from the shoulder, d = |r|, l1 the
upper arm, l2 the forearm with the hand, and y the line from the right shoulder to the left,

    elbow = shoulder + a r/d + h n,    a = (d^2 + l1^2 - l2^2) / (2 d),   h = sqrt(l1^2 - a^2),   n = y x r / |y x r|

so it points back where the arm hangs, and down where the arm is stretched forwards.  The arm is never quite straight,
and the hand never passes the line through the shoulders too near: there the elbow would have no place or two.

Where the arm alone is too short, the trunk leans forwards about the hip, by the least angle that suffices, in step with
the hand; the other arm goes on hanging.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...arrays import finite, fixed, number
from ...geometry import Person, Sizes, Skeleton
from ...geometry.person import SIDES
from ...geometry.shapes import A, B
from ...simulation import minimum_jerk
from .coworker import checked, floor_point

Array = NDArray[np.float64]

STRETCH = 0.98  # of the arm's length: as far as it is stretched, and as it hangs at rest
NEAREST = 0.1  # m, between the hand's way and the line through the shoulders
LEANS = np.radians(np.arange(0.0, 61.0))  # what is tried, the least first
PARTS = np.linspace(0.0, 1.0, 101)  # of the way, where it is checked


def elbow(hand: Array, velocity: Array, upper: float, fore: float, across: Array) -> tuple[Array, Array]:
    """The elbow and its velocity, from those of the hand, all (3,) as seen from the shoulder.

    `across` (3, 3) is the cross product with the direction from the right shoulder to the left.
    """
    d = math.sqrt(hand @ hand)
    u = hand / d
    rate = float(u @ velocity)
    du = (velocity - u * rate) / d
    difference = (upper**2 - fore**2) / (2 * d)
    a, da = 0.5 * d + difference, rate * (0.5 - difference / d)
    h = math.sqrt(upper**2 - a**2)
    m, dm = across @ u, across @ du
    size = math.sqrt(m @ m)
    n = m / size
    dn = (dm - n * (n @ dm)) / size
    return a * u + h * n, da * u + a * du - a * da / h * n + h * dn


@dataclass(frozen=True, eq=False)
class Reach:
    """Stands at `position`, (x, y) or (x, y, z), and reaches to `target` (3,) with the middle of a palm.

    From `start` (s) the hand goes there in `reach_time`, stays for `hold`, comes back in as long, and waits for `pause`
    before the next time; `times` in all, None for ever.  `facing` (rad) is towards the target if None.
    """

    position: Array
    target: Array
    start: float = 0.0
    reach_time: float = 1.0
    hold: float = 0.5
    times: int | None = 1
    hand: Literal["left", "right"] = "right"
    _: KW_ONLY
    pause: float = 1.0
    facing: float | None = None
    height: float = 1.8
    sizes: Sizes = field(default_factory=Sizes)
    _skeleton: Skeleton = field(init=False, repr=False)
    _rest: Array = field(init=False, repr=False)  # (P, 3) the points with the hand at rest
    _lengths: tuple[float, float] = field(init=False, repr=False)  # upper arm; forearm and hand
    _across: Array = field(init=False, repr=False)  # (3, 3) the cross product with the line of the shoulders
    _trunk: list[int] = field(init=False, repr=False)  # the points that lean, about the hip
    _hip: int = field(init=False, repr=False)
    _own: list[int] = field(init=False, repr=False)  # shoulder, elbow, hand
    _other: list[int] = field(init=False, repr=False)
    lean: float = field(init=False)  # rad, at the target

    def __post_init__(self) -> None:
        if self.hand not in SIDES:
            raise ValueError(f'Reach.hand must be "left" or "right"; got {self.hand!r}')
        foot, target = floor_point("Reach.position", self.position), finite("Reach.target", self.target, (3,))
        values: dict[str, Any] = {"position": foot, "target": fixed(target)}
        for what in ("start", "hold", "pause"):
            values[what] = number(f"Reach.{what}", getattr(self, what))
        values["reach_time"] = number("Reach.reach_time", self.reach_time, more=True)
        if self.times is not None and (type(self.times) is not int or self.times < 1):
            raise ValueError(f"Reach.times must be a whole number, at least 1, or None; got {self.times!r}")
        values["facing"] = self._towards(foot, target)
        points = standing_points(foot, values["facing"], self.height, self.sizes)
        shoulder, bend, palm = (points[f"{self.hand}_{what}"] for what in ("shoulder", "elbow", "hand"))
        values["_lengths"] = (float(np.linalg.norm(bend - shoulder)), float(np.linalg.norm(palm - bend)))
        x, y = -math.sin(values["facing"]), math.cos(values["facing"])
        values["_across"] = fixed([[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]])
        points[f"{self.hand}_hand"] = shoulder + STRETCH * (palm - shoulder)
        values["_skeleton"] = Skeleton(tuple(points), self.sizes, float(foot[2]))
        values["_rest"] = fixed(list(points.values()))
        names = list(points)
        values["_trunk"] = [names.index(name) for name in ("head", "collar", "left_shoulder", "right_shoulder")]
        values["_hip"] = names.index("hip")
        for what, side in (("_own", self.hand), ("_other", SIDES[1 - SIDES.index(self.hand)])):
            values[what] = [names.index(f"{side}_{limb}") for limb in ("shoulder", "elbow", "hand")]
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "lean", self._least_lean())

    def _towards(self, foot: Array, target: Array) -> float:
        x, y = (target - foot)[:2]
        if self.facing is not None:
            return float(finite("Reach.facing", self.facing, ()))
        if x == y == 0:
            raise ValueError("Reach.facing must be given where the target is straight above the position")
        return math.atan2(y, x)

    def _least_lean(self) -> float:
        """The least lean with which the arm can follow the hand all the way."""
        hip, shoulder, palm = (self._rest[k] for k in (self._hip, self._own[0], self._own[2]))
        most = STRETCH * sum(self._lengths)
        hand = palm + PARTS[:, None] * (self.target - palm)
        for lean in LEANS:
            arm = hand - hip - np.array([(shoulder - hip) @ self._leant(part * lean) for part in PARTS])
            far = float(np.linalg.norm(arm, axis=1).max())
            if far <= most * (1 + 1e-9):  # at rest it is just that
                break
        else:
            raise ValueError(
                f"Reach.target: expected a point that the {self.hand} arm of {most:.2f} m reaches; leaning by "
                f"{math.degrees(LEANS[-1]):.0f} degrees the shoulder is still {far:.2f} m away: stand nearer"
            )
        near = float(np.linalg.norm(arm @ self._across, axis=1).min())
        if near < NEAREST:
            raise ValueError(
                f"Reach.target: expected a way for the hand at least {NEAREST} m from the line through the shoulders; "
                f"it comes to {near:.2f} m: choose another target or facing"
            )
        return float(lean)

    def _leant(self, angle: float) -> Array:
        """(3, 3) what leans points from the hip, in rows, forwards by this angle."""
        k = self._across
        return np.eye(3) - math.sin(angle) * k + (1 - math.cos(angle)) * (k @ k)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the capsules."""
        return self._skeleton.names

    @property
    def duration(self) -> float:
        """Until the hand is back for the last time, s."""
        if self.times is None:
            return math.inf
        return self.start + self.times * (2 * self.reach_time + self.hold) + (self.times - 1) * self.pause

    def reached(self, t: float) -> tuple[float, float]:
        """The part of the way to the target at time t, and its rate (1/s)."""
        away = 2 * self.reach_time + self.hold
        gone = t - self.start
        if gone < 0:
            return 0.0, 0.0
        count = math.floor(gone / (away + self.pause))
        if self.times is not None and count >= self.times:
            return 0.0, 0.0
        gone -= count * (away + self.pause)
        back = gone > self.reach_time + self.hold
        part, rate, _ = minimum_jerk((away - gone if back else gone) / self.reach_time)
        return part, (-rate if back else rate) / self.reach_time

    def points(self, t: float) -> tuple[Array, Array]:
        """The points of the skeleton at time t and their velocities, (P, 3) each, in the order of `point_names`."""
        part, rate = self.reached(t)
        at, velocity = self._rest.copy(), np.zeros_like(self._rest)
        hip, trunk = at[self._hip], self._trunk
        leaning = (at[trunk] - hip) @ self._leant(part * self.lean)
        at[trunk], velocity[trunk] = hip + leaning, -rate * self.lean * (leaning @ self._across)
        shoulder, bend, palm = self._other
        at[[bend, palm]] += at[shoulder] - self._rest[shoulder]
        velocity[[bend, palm]] = velocity[shoulder]
        shoulder, bend, palm = self._own
        way = self.target - at[palm]
        at[palm], velocity[palm] = at[palm] + part * way, rate * way
        seen = elbow(at[palm] - at[shoulder], velocity[palm] - velocity[shoulder], *self._lengths, self._across)
        at[bend], velocity[bend] = at[shoulder] + seen[0], velocity[shoulder] + seen[1]
        return at, velocity

    @property
    def point_names(self) -> tuple[str, ...]:
        """Names of the points of the skeleton."""
        return self._skeleton.points

    def look(self, t: float, out: Array) -> float:
        """The capsules, measured now."""
        now = checked(t, out, len(self.names))
        self._skeleton.fill(*self.points(now), out=out)
        return now

    def point(self, t: float) -> tuple[Array, Array]:
        """Where the person stands, at rest."""
        return self.position.copy(), np.zeros(3)


def standing_points(foot: Array, facing: float, height: float, sizes: Sizes) -> dict[str, Array]:
    """The points of a standing person, read off its capsules."""
    person = Person.standing(foot, facing, height, sizes)
    rows = dict(zip(person.names, person.rows, strict=True))
    points = {"head": rows["head"][A], "collar": rows["torso"][A], "hip": rows["torso"][B]}
    for side in SIDES:
        for name, part, end in (
            ("shoulder", "upper_arm", A),
            ("elbow", "upper_arm", B),
            ("hand", "hand", A),
            ("hip", "thigh", A),
            ("knee", "thigh", B),
            ("ankle", "shin", B),
        ):
            points[f"{side}_{name}"] = rows[f"{side}_{part}"][end]
    return points
