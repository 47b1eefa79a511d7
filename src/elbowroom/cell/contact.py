"""Whether an arm touches somebody, and how often it has.

    contacts = Contacts();  contacts.see(t, touching)        counts touches from what is seen now and then
    surfaces = Surfaces(body);  surfaces.distance(q, rows)   of the arm's moving capsules from a person's, m

A touch that lasts is one touch, and one that is interrupted for less than `RELEASE` is still the same: bodies that are
pressed together may part for a moment, in an engine as in life.  Capsules of the fixed base are left out: a person who
leans against a column has not been touched by an arm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import Arm
from ..errors import ConfigError, ShapeError
from ..geometry import PARKED, ROW, Body
from ..geometry.pairs import Pairs
from ..model.capsules import BASE

Array = NDArray[np.float64]

RELEASE = 0.1
"""s: arm and person must be apart for so long before the next touch is another one."""


PERSON = 14
"""Capsules that there is room for from the start: one person's."""


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


class Surfaces:
    """The moving capsules of a body, and how near capsule rows come to them."""

    def __init__(self, body: Body) -> None:
        moving = [capsule for capsule in body.link_capsules if capsule.link != BASE]
        self._body = Body(body.arm, capsules=moving) if moving else None
        self._still = np.zeros(body.arm.n)
        self._rows: Array = np.empty((0, ROW))
        self._pairs: Pairs | None = None
        self.distance(body.arm.ready, np.tile(PARKED, (PERSON, 1)))  # compiled now, not in the middle of a run

    def distance(self, q: Array, rows: Array) -> float:
        """The least distance of surfaces (m) at q (n,) from rows (k, 13), negative in overlap; inf without any."""
        if self._body is None or not len(rows):
            return math.inf
        own = len(self._body)
        if self._pairs is None or len(self._rows) - own < len(rows):  # room for more people than ever before
            self._pairs = Pairs(own, len(rows))
            self._rows = np.tile(PARKED, (own + len(rows), 1))
        self._body.rows(q, self._still, out=self._rows[:own])
        self._rows[own : own + len(rows)] = rows
        self._rows[own + len(rows) :] = PARKED
        return self._pairs.least(self._rows).distance


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
