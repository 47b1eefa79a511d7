"""How near an arm and people truly are, whatever the sensor shows: for recordings, not for control."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry import ROW, Body
from ..geometry.distance import AXIS_DISTANCE, DISTANCE
from ..geometry.pairs import Pairs

Array = NDArray[np.float64]


class Near(NamedTuple):
    """Least distances, m: between the axes of the nearest capsules, and between surfaces (negative in overlap)."""

    axes: float
    surfaces: float


class Nearness:
    """Of one body and so many capsules of people."""

    def __init__(self, body: Body, capsules: int) -> None:
        self._body, self._own = body, len(body)
        self._rows = np.zeros((self._own + capsules, ROW))
        self._pairs = Pairs(self._own, capsules) if capsules else None
        self._table = self._pairs.kernel.empty() if self._pairs is not None else None
        self._still = np.zeros(body.arm.n)

    def of(self, q: Array, people: Array) -> Near:
        """At q (n,), with people where these rows (capsules, 13) are; infinite without any."""
        if self._pairs is None:
            return Near(math.inf, math.inf)
        self._body.rows(q, self._still, out=self._rows[: self._own])
        self._rows[self._own :] = people
        table = self._pairs(self._rows, self._table)
        return Near(float(table[:, AXIS_DISTANCE].min()), float(table[:, DISTANCE].min()))
