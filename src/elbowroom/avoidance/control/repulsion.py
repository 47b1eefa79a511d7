"""How strongly an obstacle pushes: four profiles over the distance, and what approach and parting do to them.

With gain k, distance d and influence d0 (thesis 3.8.1); every profile is zero from d0 outwards and continuous there:

    inverse    k (1/d - 1/d0)             (3.44)    k in m^2/s
    linear     k (1 - d/d0)               (3.45)    k in m/s: the strength at d = 0
    cosine     k/2 (1 + cos(pi d/d0))               named in the text; k as for linear, no kink at d0
    power5     k ((d0/d)^5 - 1)           (3.46)    k in m/s; the profile of the thesis' tests

The strength is a speed.  The force controller makes a force of it (Force.resistance), so one field serves both.

Three things are ours.  d is held at `floor` from below, so that contact and penetration give a finite push; a push f
is bent to f F / (f + F), F being `max_strength`.  A pair that closes at c > 0 m/s is felt from d0 + lookahead c.  One
that parts at p > 0 m/s pushes by 1 - ease min(1, p / parting_speed) of that.  The thesis has neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...algebra.functions import cos, maximum, minimum, power, where
from ..settings import choice, fraction, less, non_negative, positive, setting

Profile = Callable[[Any, Any, Any], Any]  # gain, distance, influence -> strength inside the influence


def inverse(gain: Any, distance: Any, influence: Any) -> Any:
    """k (1/d - 1/d0), (3.44)."""
    return gain * (1.0 / distance - 1.0 / influence)


def linear(gain: Any, distance: Any, influence: Any) -> Any:
    """k (1 - d/d0), (3.45)."""
    return gain * (1.0 - distance / influence)


def cosine(gain: Any, distance: Any, influence: Any) -> Any:
    """k/2 (1 + cos(pi d/d0)); the thesis names the shape and prints no formula."""
    return gain * 0.5 * (1.0 + cos(math.pi * (distance / influence)))


def power5(gain: Any, distance: Any, influence: Any) -> Any:
    """k ((d0/d)^5 - 1), (3.46)."""
    return gain * (power(influence / distance, 5) - 1.0)


PROFILES: dict[str, Profile] = {"inverse": inverse, "linear": linear, "cosine": cosine, "power5": power5}
MEASURES = ("surface", "axis")


@dataclass(frozen=True)
class Repulsion:
    """How an obstacle pushes a link."""

    profile: str = setting("power5", "", "shape over the distance: inverse, linear, cosine or power5")
    gain: float = setting(0.1, "m/s", "k of the profile; of inverse, m^2/s")
    influence: float = setting(0.22, "m", "distance d0 at which the push begins")
    measure: str = setting("surface", "", "distance between surfaces, or between the capsules' axes as in the thesis")
    floor: float = setting(0.01, "m", "smaller distances, and penetration, count as this one")
    max_strength: float = setting(1.0, "m/s", "what no push exceeds")
    lookahead: float = setting(0.2, "s", "the influence grows by this times the closing speed")
    ease: float = setting(0.5, "", "part of the push that goes while the pair is parting, 0 to 1")
    parting_speed: float = setting(0.25, "m/s", "parting speed from which all of `ease` goes")

    def __post_init__(self) -> None:
        choice(self, "profile", PROFILES)
        choice(self, "measure", MEASURES)
        positive(self, "gain", "max_strength")
        positive(self, "influence", "floor", most=10.0)
        positive(self, "parting_speed", most=20.0)
        non_negative(self, "lookahead", most=10.0)
        fraction(self, "ease")
        less(self, "floor", "influence")

    @classmethod
    def thesis(cls, gain: float, influence: float, **others: Any) -> Repulsion:
        """The thesis' own: power 5 between axes, deaf to velocities."""
        own: dict[str, Any] = {
            "gain": gain,
            "influence": influence,
            "measure": "axis",
            "lookahead": 0.0,
            "ease": 0.0,
            "max_strength": 100.0,
        }
        return cls(**own | others)


def reach(field: Any, closing: Any, influence: Any = None) -> Any:
    """The influence, the field's own if none is given, grown by the closing speed (m/s, positive while approaching)."""
    return (field.influence if influence is None else influence) + field.lookahead * maximum(closing, 0.0)


def demand(field: Any, distance: Any, closing: Any, influence: Any = None) -> Any:
    """How strongly the profile asks to push, >= 0, not yet held at the most: zero at and beyond the (grown) influence.

    distance, in m, is between surfaces (then negative in penetration) or axes, as `measure` says; closing is the speed
    at which it shrinks, in m/s.
    """
    influence = reach(field, closing, influence)
    inside = PROFILES[field.profile](field.gain, maximum(distance, field.floor), influence)
    parting = maximum(-closing, 0.0)
    eased = inside * (1.0 - field.ease * minimum(parting / field.parting_speed, 1.0))
    return where(distance < influence, eased, 0.0)


def bounded(field: Any, asked: Any) -> Any:
    """A demand bent below `max_strength`, f F / (f + F): what asks for more always gets more, and never all of F.

    A plain clamp would make all near obstacles equal, and two opposite ones cancel.
    """
    return asked * (field.max_strength / (asked + field.max_strength))


def strength(field: Any, distance: Any, closing: Any) -> Any:
    """How strongly one obstacle pushes: `demand`, `bounded`."""
    return bounded(field, demand(field, distance, closing))
