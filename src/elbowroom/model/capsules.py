"""Capsules on links: the arm's outer shape, as data.

A capsule is all that lies within `radius` of the segment from a to b; with a = b it is a sphere.  It is rigid in one
link, in the axes of that link's frame, or in the base (link -1), in the axes of the base frame.  A cover is a set of
capsules that holds the whole arm.  An arm may have other covers beside its own, each by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array
from ..errors import ModelError
from .check import LENGTH, bounded

BASE = -1
"""The link number of what stands still."""

Point = tuple[float, float, float]
Covers = tuple[tuple[str, tuple["LinkCapsule", ...]], ...]
"""Covers by name, in an order that a hash can rely on."""


@dataclass(frozen=True)
class LinkCapsule:
    """A capsule on link number `link` (-1: the fixed base), its axis from a to b in that link's axes, metres."""

    name: str
    link: int
    a: Point
    b: Point
    radius: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"a capsule's name must be a text that is not empty; got {self.name!r}")
        if isinstance(self.link, bool) or not isinstance(self.link, int | np.integer) or self.link < BASE:
            raise ModelError(f"capsule {self.name!r}: link must be a whole number, at least -1; got {self.link!r}")
        object.__setattr__(self, "link", int(self.link))
        for end in ("a", "b"):
            object.__setattr__(self, end, _point(getattr(self, end), f"capsule {self.name!r}: {end}"))
        object.__setattr__(self, "radius", _radius(self.radius, f"capsule {self.name!r}: radius"))


def moved_capsule(capsule: LinkCapsule, T: Array) -> LinkCapsule:
    """The capsule given in a frame that stands at T (4, 4), expressed in the frame that T is given in."""
    a, b = (tuple((T[:3, :3] @ end + T[:3, 3]).tolist()) for end in (capsule.a, capsule.b))
    return replace(capsule, a=a, b=b)


def checked_capsules(capsules: Iterable[LinkCapsule], n: int, owner: str) -> tuple[LinkCapsule, ...]:
    """The capsules as a tuple, refused where a link does not exist or two have one name."""
    checked = tuple(capsules)
    for capsule in checked:
        if not isinstance(capsule, LinkCapsule):
            raise ModelError(f"{owner}: capsules must be LinkCapsule; got {capsule!r:.80}")
        if capsule.link >= n:
            raise ModelError(
                f"{owner}: capsule {capsule.name!r}: link must be a number from -1 (the base) to {n - 1}; "
                f"got {capsule.link}"
            )
    names = [capsule.name for capsule in checked]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"{owner}: capsules must have different names; got {name!r} twice")
    return checked


def checked_covers(
    covers: Mapping[str, Sequence[LinkCapsule]] | Covers, n: int, owner: str
) -> tuple[tuple[str, tuple[LinkCapsule, ...]], ...]:
    """Covers by name, sorted, each checked."""
    try:
        pairs = dict(covers)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{owner}: covers must be capsules by name; got {covers!r:.80}") from error
    return tuple((name, checked_capsules(pairs[name], n, f"{owner}: cover {name!r}")) for name in sorted(pairs))


def _point(value: ArrayLike, what: str) -> Point:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} must be 3 finite numbers; got {value!r:.80}") from error
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be 3 finite numbers; got {value!r:.80}")
    bounded(array, LENGTH, what)
    x, y, z = (array + 0.0).tolist()  # -0.0 becomes 0.0, so that equal capsules are equal to the letter
    return x, y, z


def _radius(value: Any, what: str) -> float:
    try:
        radius = float(value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} must be a positive number; got {value!r:.80}") from error
    if not (math.isfinite(radius) and radius > 0):
        raise ModelError(f"{what} must be positive and finite; got {value!r}")
    bounded(radius, LENGTH, what)
    return radius
