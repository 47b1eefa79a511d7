"""Contacts of arm and people: whether they touch, and how often they have.

    contacts = Contacts();  contacts.see(t, touching)        counts touches from what is seen now and then

A touch that lasts is one touch, and one that is interrupted for less than `RELEASE` is still the same: bodies that are
pressed together may part for a moment, in an engine as in life.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arm import Arm
from ...errors import ConfigError, ShapeError
from ...geometry import ROW, Body

Array = NDArray[np.float64]

RELEASE = 0.1
"""s: arm and person must be apart for so long before the next touch is another one."""


class Contacts:
    """Counts touches."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Nothing has touched yet."""
        self.count = 0
        self.touching = False
        self._last = -math.inf  # s, when there was touch

    def see(self, t: float, touching: bool) -> None:
        """What is the case at time t (s); times do not decrease."""
        if touching:
            self.count += not self.touching and t - self._last > RELEASE
            self._last = t
        self.touching = touching


def own_body(arm: Arm, body: Body | None) -> Body | None:
    """The body that touches: the given one if it is the arm's, else the arm's own; None where the arm has no shape."""
    if body is None:
        return Body(arm) if arm.model.capsules else None
    if body.arm.model.digest != arm.model.digest:
        raise ConfigError(f"body: expected the body of {arm.name}; got that of {body.arm.name}")
    return body


def people_rows(rows: ArrayLike) -> Array:
    """Capsule rows (k, 13) of people, or what is wrong with them."""
    array = np.asarray(rows, dtype=float)
    if array.ndim != 2 or array.shape[1] != ROW:
        raise ShapeError(f"person_rows must have shape (k, {ROW}); got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("person_rows must be finite: these are where people are, not where a sensor saw them")
    return array
