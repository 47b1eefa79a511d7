"""Workspace limits: a floor and two half-spheres above it that push the arm back (thesis 3.10.1, Fig 3.17).

    floor    keeps above the height z = floor         distance  z - floor - r
    outer    keeps inside a sphere about center       distance  outer - |p - c| - r
    inner    keeps outside a sphere about center      distance  |p - c| - inner - r

p and r are the centre and radius of a sphere that stands for a piece of the arm: the tool, or the end of a link's
capsule.  Surfaces stand still, so each push is repulsion.strength of the surface distance, with the arm's own closing
speed if it is given.  What holds the base is inside the inner sphere for good: act with it on the tool's end alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ...algebra import Scalar
from ...algebra.functions import sqrt, where
from ...algebra.linalg import dot, vector
from ..checks import FieldError, Settings, setting
from . import repulsion
from .repulsion import Repulsion

Array = NDArray[Any]
_SHELL = Repulsion(profile="linear", gain=0.5, influence=0.1, max_strength=0.5, lookahead=0.0, ease=0.0)


@dataclass(frozen=True)
class Workspace(Settings):
    """Where the arm may be; a surface left out does not act."""

    floor: float | None = setting(None, "[-100, 100] m", "height of the floor")
    inner: float | None = setting(None, "(0, 100] m", "radius of the inner half-sphere", below="outer")
    outer: float | None = setting(None, "(0, 100] m", "radius of the outer half-sphere")
    center: tuple[float, float, float] = setting((0.0, 0.0, 0.0), "m", "centre of both half-spheres")
    repulsion: Repulsion = setting(_SHELL, "", "how the surfaces push; its influence is the safety margin")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repulsion.measure != "surface":
            raise FieldError("repulsion.measure", '"surface"', self.repulsion.measure, place="Workspace")


def _arm(settings: Workspace, at: Array) -> tuple[Array, Scalar]:
    """From the centre to the point, and how far."""
    offset = at - vector(*settings.center)
    return offset, sqrt(dot(offset, offset))


def distances(settings: Workspace, at: Array, radius: Scalar) -> dict[str, Scalar]:
    """The surface distance of a sphere to each surface that is there, m, negative beyond it."""
    found: dict[str, Scalar] = {}
    if settings.floor is not None:
        found["floor"] = at[2] - settings.floor - radius
    _, far = _arm(settings, at)
    if settings.inner is not None:
        found["inner"] = far - settings.inner - radius
    if settings.outer is not None:
        found["outer"] = settings.outer - far - radius
    return found


def _push(settings: Workspace, surface: str, at: Array, radius: Scalar, closing: Scalar) -> Scalar:
    distance = distances(settings, at, radius).get(surface)
    return 0.0 if distance is None else repulsion.strength(settings.repulsion, distance, closing)


def floor_push(settings: Workspace, at: Array, radius: Scalar, closing: Scalar = 0.0) -> tuple[Scalar, Array]:
    """Strength and unit direction (3,) of the floor's push on a sphere: straight up."""
    return _push(settings, "floor", at, radius, closing), vector(0.0, 0.0, 1.0)


def outer_push(settings: Workspace, at: Array, radius: Scalar, closing: Scalar = 0.0) -> tuple[Scalar, Array]:
    """Strength and direction (3,) of the outer sphere's push: to the centre; no direction at the centre itself."""
    offset, far = _arm(settings, at)
    return _push(settings, "outer", at, radius, closing), offset * where(far > 0, -1.0 / where(far > 0, far, 1.0), 0.0)


def inner_push(settings: Workspace, at: Array, radius: Scalar, closing: Scalar = 0.0) -> tuple[Scalar, Array]:
    """Strength and unit direction (3,) of the inner sphere's push: away from the centre; up from the centre itself."""
    offset, far = _arm(settings, at)
    apart = far > 0
    away = offset * (1.0 / where(apart, far, 1.0))
    return _push(settings, "inner", at, radius, closing), where(apart, away, vector(0.0, 0.0, 1.0))
