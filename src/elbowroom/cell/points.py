"""Points of a task: checked where they enter, shifted to where the scene has its origin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..avoidance.settings import FieldError, point
from ..errors import ConfigError, ShapeError

Array = NDArray[np.float64]
Point = tuple[float, float, float]
FAR = 1000.0  # m; farther away is a slip of units


def near_point(settings: Any, name: str) -> None:
    """A setting is three numbers of a cell's size; kept as a tuple."""
    point(settings, name)
    value = getattr(settings, name)
    if max(map(abs, value)) > FAR:
        raise FieldError(name, f"three numbers from -{FAR:g} to {FAR:g} (m)", value, place=type(settings).__name__)


def checked_point(name: str, value: ArrayLike) -> Array:
    """Three numbers of a cell's size, as a new array (3,)."""
    array = np.array(value, dtype=float)
    if array.shape != (3,):
        raise ShapeError(f"{name} must have shape (3,); got {array.shape}")
    if not (np.abs(array) <= FAR).all():
        raise ConfigError(f"{name} must be three numbers from -{FAR:g} to {FAR:g} (m); got {array.tolist()}")
    return array


def shifted(at: Point, origin: ArrayLike) -> Point:
    """The point as seen from where the origin (3,) was measured."""
    x, y, z = (checked_point("origin", origin) + at).tolist()
    return x, y, z


def away(one: ArrayLike, other: ArrayLike) -> float:
    """The distance of two points, m; NaN where one is not known.  Huge numbers do not overflow on the way."""
    return math.dist(one, other)  # type: ignore[arg-type]  # arrays will do
