"""Repulsion: how strongly an obstacle pushes at a distance, how far that reaches, and what is done near a goal.

With gain k, distance d and influence d0 (thesis 3.8.1); every profile is zero from d0 outwards and continuous there:

    inverse    k (1/d - 1/d0)             (3.44)    k in m^2/s
    linear     k (1 - d/d0)               (3.45)    k in m/s: the strength at d = 0
    cosine     k/2 (1 + cos(pi d/d0))               named in the text; k as for linear, no kink at d0
    power5     k ((d0/d)^5 - 1)           (3.46)    k in m/s; the profile of the thesis' tests

The strength is a speed.  The force controller makes a force of it (Force.resistance), so one field serves both.

Three things are ours.  d is held at `floor` from below, so that contact and penetration give a finite push; a push f
is bent to f F / (f + F), F being `max_strength`, unless `form` is "printed".  A pair that closes at c > 0 m/s is felt
from d0 + lookahead c.  One that parts at p > 0 m/s pushes by 1 - ease min(1, p / parting_speed) of that.  The thesis
has none of them.

Waiting: an arm whose goal is occupied by a person keeps farther from people until the goal is free.  Beside a person
who stands at its goal an arm gains nothing, and that is where hands meet it: they start from rest, 0.3 to 0.5 m away,
and a sensor reports it a tenth of a second later.  With g the distance from the goal to the nearest person's surface:

    level = (clear - g) / (clear - near), between 0 and 1; followed in `time`, first order
    influence of people = influence + level (waiting.influence - influence), if that is more

That is the influence of all people, in the field's own measure; g is to surfaces.  Things keep what they have.

Goal scaling: with a plain field no goal near an obstacle is the end of the motion, since there is a push at it (goals
non-reachable with obstacles nearby; Ge and Cui, New potential functions for mobile robot path planning, IEEE Trans.
Robotics and Automation 16(5), 2000).  Their repulsive potential is multiplied by a power of the distance to the goal.
Here each push of people and things is, and so is the restraint (3.77).  With e the distance from the tool to its goal:

    x     = (e / distance)^exponent, at most 1
    trust = (d / least - 1) (1 - c / speed), each factor between 0 and 1
    share = 1 - trust (1 - x)^2                     what is left of a push: all of it, with zero slope, at `distance`

d is the distance between surfaces and c the speed at which the obstacle comes, or that of the goal if it is greater.
So nothing fades that is nearer than `least` or comes at `speed`, and the goal is free of pushes where every obstacle is
at rest and at least twice `least` away.  Their second term, which draws to the goal the harder the nearer an obstacle
is, is left out.  The pushes of the floor, the shells and the arm itself are never scaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from ...algebra import Scalar, trace
from ...algebra.functions import cos, maximum, minimum, power, sqrt, where
from ...algebra.linalg import Array, dot
from ...geometry.segments import projection
from ...geometry.shapes import RADIUS, A, B
from ..checks import Settings, refusal, setting


class Profile(Protocol):
    """The shape of a field: how strongly an obstacle pushes inside the influence, one of `PROFILES` or one's own."""

    def __call__(self, gain: Scalar, distance: Scalar, influence: Scalar, /) -> Scalar:
        """The strength (m/s), zero at the influence; over any scalar, without an `if` on a value."""


def inverse(gain: Scalar, distance: Scalar, influence: Scalar) -> Scalar:
    """k (1/d - 1/d0), (3.44)."""
    return gain * (1.0 / distance - 1.0 / influence)


def linear(gain: Scalar, distance: Scalar, influence: Scalar) -> Scalar:
    """k (1 - d/d0), (3.45)."""
    return gain * (1.0 - distance / influence)


def cosine(gain: Scalar, distance: Scalar, influence: Scalar) -> Scalar:
    """k/2 (1 + cos(pi d/d0)); the thesis names the shape and prints no formula."""
    return gain * 0.5 * (1.0 + cos(math.pi * (distance / influence)))


def power5(gain: Scalar, distance: Scalar, influence: Scalar) -> Scalar:
    """k ((d0/d)^5 - 1), (3.46)."""
    return gain * (power(influence / distance, 5) - 1.0)


PROFILES: dict[str, Profile] = {"inverse": inverse, "linear": linear, "cosine": cosine, "power5": power5}
MEASURES = ("surface", "axis")
FORMS = ("mended", "printed")
EDGE = 1e-6  # of max_strength: what a profile may be at the influence, or below zero, by rounding


@dataclass(frozen=True)
class Repulsion(Settings):
    """How an obstacle pushes a link."""

    profile: str | Profile = setting(
        "power5", PROFILES, "shape over the distance: inverse, linear, cosine or power5, or a function"
    )
    gain: float = setting(0.1, "(0, inf) m/s", "k of the profile; of inverse, m^2/s")
    influence: float = setting(0.22, "(0, 10] m", "distance d0 at which the push begins")
    measure: str = setting("surface", MEASURES, "distance between surfaces, or the capsules' axes as in the thesis")
    floor: float = setting(0.01, "(0, 10] m", "smaller distances, and penetration, count as it", below="influence")
    max_strength: float = setting(1.0, "(0, inf) m/s", "what no push exceeds; of the form mended")
    form: str = setting("mended", FORMS, "mended: pushes are bent below max_strength; printed: as the profile is")
    lookahead: float = setting(0.2, "[0, 10] s", "the influence grows by this times the closing speed")
    ease: float = setting(0.5, "[0, 1]", "part of the push that goes while the pair is parting, 0 to 1")
    parting_speed: float = setting(0.25, "(0, 20] m/s", "parting speed from which all of `ease` goes")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.profile, str):
            self._examine(self.profile)

    def _examine(self, profile: Profile) -> None:
        """Refuses a function that does not push away inside the influence, begins with a jump at its edge, or needs
        to know its numbers."""
        places = [self.floor + k / 10 * (self.influence - self.floor) for k in range(11)]
        try:
            found = [float(profile(self.gain, place, self.influence)) for place in places]
        except Exception as error:  # code of a user's
            raise refusal(self, "profile", f"a function (gain, distance, influence); it says {error}") from error
        if not all(math.isfinite(push) and push >= -EDGE * self.max_strength for push in found):
            raise refusal(self, "profile", "a function that gives finite strengths of 0 or more inside the influence")
        if abs(found[-1]) > EDGE * self.max_strength:
            raise refusal(
                self, "profile", f"a function that is zero at the influence, where it gives {found[-1]:g} m/s"
            )
        try:
            trace(lambda _, gain, d, d0: profile(gain, d, d0), None, {"gain": (), "d": (), "d0": ()})
        except Exception as error:
            raise refusal(self, "profile", f"a function over any scalar; with symbols it says {error}") from error

    @classmethod
    def thesis(cls, gain: float, influence: float, **others: Any) -> Repulsion:
        """The thesis' own: power 5 between axes, deaf to velocities, unbounded unless max_strength is given."""
        own: dict[str, Any] = {
            "gain": gain,
            "influence": influence,
            "measure": "axis",
            "lookahead": 0.0,
            "ease": 0.0,
            "form": "mended" if "max_strength" in others else "printed",
        }
        return cls(**own | others)


def reach(field: Repulsion, closing: Scalar, influence: Scalar | None = None) -> Scalar:
    """The influence, the field's own if none is given, grown by the closing speed (m/s, positive while approaching)."""
    return (field.influence if influence is None else influence) + field.lookahead * maximum(closing, 0.0)


def demand(field: Repulsion, distance: Scalar, closing: Scalar, influence: Scalar | None = None) -> Scalar:
    """How strongly the profile asks to push, >= 0, not yet held at the most: zero at and beyond the (grown) influence.

    distance, in m, is between surfaces (then negative in penetration) or axes, as `measure` says; closing is the speed
    at which it shrinks, in m/s.
    """
    influence = reach(field, closing, influence)
    profile = PROFILES[field.profile] if isinstance(field.profile, str) else field.profile
    inside = profile(field.gain, maximum(distance, field.floor), influence)
    parting = maximum(-closing, 0.0)
    eased = inside * (1.0 - field.ease * minimum(parting / field.parting_speed, 1.0))
    return where(distance < influence, eased, 0.0)


def bounded(field: Repulsion, asked: Scalar) -> Scalar:
    """A demand bent below `max_strength`, f F / (f + F): what asks for more always gets more, and never all of F.

    A plain clamp would make all near obstacles equal, and two opposite ones cancel.  The printed form is not bent.
    """
    if field.form == "printed":
        return asked
    return asked * (field.max_strength / (asked + field.max_strength))


def strength(field: Repulsion, distance: Scalar, closing: Scalar) -> Scalar:
    """How strongly one obstacle pushes: `demand`, `bounded`."""
    return bounded(field, demand(field, distance, closing))


# ---- goals near people and things
@dataclass(frozen=True)
class GoalScaling(Settings):
    """How the pushes of people and things fade as the tool comes to its goal."""

    distance: float = setting(0.5, "(0, 10] m", "of the tool from its goal, within which pushes fade")
    exponent: int = setting(2, "[1, 8]", "power of that distance that they fade with, 1 to 8")
    least: float = setting(0.05, "(0, 10] m", "what is nearer to the arm pushes in full; from twice as far it may fade")
    speed: float = setting(0.2, "(0, 20] m/s", "what comes so fast, or a goal that moves so fast, lets nothing fade")


def goal_share(rules: GoalScaling, error: Scalar, distance: Scalar, speed: Scalar) -> Scalar:
    """What is left of an obstacle's push, 0 to 1.

    error (m) is between tool and goal, distance (m) between the surfaces of link and obstacle; speed (m/s) is the
    greater of the obstacle's, towards the link, and the goal's own.
    """
    x = power(minimum(error / rules.distance, 1.0), rules.exponent)
    far = minimum(maximum(distance / rules.least - 1.0, 0.0), 1.0)
    still = 1.0 - minimum(maximum(speed, 0.0) / rules.speed, 1.0)
    return 1.0 - far * still * power(1.0 - x, 2)


# ---- waiting for a goal that a person occupies
OCCUPIED = "a person occupies the goal: the arm waits at a distance until it is free"
HALF = 0.5  # the level from which a command says so


@dataclass(frozen=True)
class Waiting(Settings):
    """How an arm waits for a goal that a person occupies."""

    influence: float = setting(0.8, "(0, 10] m", "of people, while one of them occupies the goal")
    near: float = setting(0.22, "[0, 10] m", "a person nearer to the goal than this occupies it", below="clear")
    clear: float = setting(0.42, "(0, 10] m", "a person farther from it leaves it free")
    time: float = setting(0.15, "[0, 10] s", "time in which the influence follows")


def occupied(near: Scalar, clear: Scalar, goal: Array, people: list[Array]) -> Scalar:
    """From 0, the goal (3,) is free, to 1, one of some capsules (13,) occupies it; near, clear (m): see `Waiting`."""
    level: Scalar = 0.0
    per_metre = 1.0 / (clear - near)
    for row in people:
        off = goal - (row[A] + (row[B] - row[A]) * projection(goal, row[A], row[B]))
        distance = sqrt(dot(off, off)) - row[RADIUS]
        level = maximum(level, minimum((clear - distance) * per_metre, 1.0))
    return level


def followed(rules: Waiting, level: Scalar, wanted: Scalar, dt: Scalar) -> Scalar:
    """The level after dt."""
    return level + (wanted - level) * (dt / maximum(dt + rules.time, 1e-9))


def influence(rules: Waiting, field: Repulsion, level: Scalar) -> Scalar:
    """How far a field of people reaches, m."""
    return field.influence + level * maximum(rules.influence - field.influence, 0.0)
