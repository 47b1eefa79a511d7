"""Keeping joints off their limits: by a potential that pushes back, or by a factor that lets the motion fade.

With x the distance to a limit and D the margin in which it is felt, both in the joint's own unit, rad or (prismatic) m:

    potential (3.72)   printed   k / x^n                              jumps from 0 to k / D^n at the margin's edge
                       mended    k (1 / x^n - 1 / D^n)                begins at zero there
    scaling (3.74)     printed   (1 - cos(pi x / D)) / 2              also holds a joint that moves away from the limit
                       mended    the same towards the limit, 1 away   a joint can always leave

The mended factor acts after the moving average: one that is averaged with the rest is late, and the joint runs through
its limit (velocity_law.py).  The potential points away from the limit, on both sides of it; x is held at `floor` from
below, so it stays finite.  The factor is 0 at the limit and beyond.  A joint without a limit (infinite) is never acted
on.  Where the margins of the two limits overlap, the potentials add and the smaller factor counts; the mended forms'
margin is at most a quarter of the joint's range, so there it never happens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ...algebra import Scalar
from ...algebra.functions import cos, maximum, minimum, power, where
from ...algebra.linalg import vector
from ..checks import Settings, setting

Array = NDArray[Any]
METHODS = ("scaling", "potential", "none")
FORMS = ("mended", "printed")
QUARTER = math.pi / 2  # rad: more is a slip of degrees


@dataclass(frozen=True)
class JointLimits(Settings):
    """How joints are kept off their limits."""

    method: str = setting("scaling", METHODS, "scaling (3.74), potential (3.72) or none")
    form: str = setting("mended", FORMS, "mended, or printed as in the thesis")
    margin: float = setting(0.2, f"(0, {QUARTER}] rad or m", "distance from a limit at which it is felt")
    gain: float = setting(0.01, "(0, inf) N m rad^n or rad^(n+1)/s", "k of the potential: a torque, or a joint speed")
    exponent: int = setting(1, "[1, 8]", "n of the potential, 1 to 8")
    floor: float = setting(
        0.01, f"(0, {QUARTER}] rad or m", "the potential takes smaller distances as this one", below="margin"
    )


def _margin(settings: JointLimits, low: float, high: float) -> Scalar:
    """The margin; in the mended form at most a quarter of the range, so that a short slide has a middle."""
    if settings.form == "printed" or not math.isfinite(high - low):
        return settings.margin
    return minimum(settings.margin, 0.25 * (high - low))


def _push(settings: JointLimits, gap: Scalar, margin: Scalar) -> Scalar:
    """The potential's push away from a limit that is `gap` away, >= 0."""
    push = settings.gain / power(maximum(gap, settings.floor), settings.exponent)
    if settings.form == "mended":
        push = push - settings.gain / power(margin, settings.exponent)
    return where(gap < margin, push, 0.0)


def potential(settings: JointLimits, q: Array, lower: Array, upper: Array) -> Array:
    """(3.72): what pushes each joint off its limits, (n,); N m, or rad/s where gains are speeds."""
    pushes: list[Scalar] = []
    for x, low, high in zip(q.tolist(), lower.tolist(), upper.tolist(), strict=True):
        push: Scalar = 0.0
        if math.isfinite(low):
            push = push + _push(settings, x - low, _margin(settings, low, high))
        if math.isfinite(high):
            push = push - _push(settings, high - x, _margin(settings, low, high))
        pushes.append(push)
    return vector(*pushes)


def _fade(gap: Scalar, margin: Scalar) -> Scalar:
    """(3.74): 0 at a limit and beyond, 1 from the margin on."""
    x = minimum(maximum(gap / margin, 0.0), 1.0)
    return 0.5 * (1.0 - cos(math.pi * x))


def scaling(settings: JointLimits, q: Array, lower: Array, upper: Array, direction: Array) -> Array:
    """(3.74): the factor of each joint, (n,).  direction is the motion to be scaled; only its signs count."""
    factors: list[Scalar] = []
    for x, low, high, way in zip(q.tolist(), lower.tolist(), upper.tolist(), direction.tolist(), strict=True):
        factor: Scalar = 1.0
        if math.isfinite(low):
            fade = _fade(x - low, _margin(settings, low, high))
            factor = fade if settings.form == "printed" else where(way < 0, fade, 1.0)
        if math.isfinite(high):
            fade = _fade(high - x, _margin(settings, low, high))
            factor = minimum(factor, fade if settings.form == "printed" else where(way > 0, fade, 1.0))
        factors.append(factor)
    return vector(*factors)
