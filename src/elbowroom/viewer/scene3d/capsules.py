"""Capsules on the page, many at once.

A capsule of ends a, b and radius r is a tube of radius and length 1, turned and stretched, and two balls:

    tube   at (a + b) / 2, turned to b - a, stretched by r, r, |b - a|
    balls  at a and at b, stretched by r

All tubes are copies of one mesh and all balls of another, so a picture sends a handful of arrays, however many capsules
there are, and none that becomes a little longer needs a new mesh.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import triangles
from .palette import Colour, linear

Array = NDArray[Any]

FAR = 100.0  # m: what is farther is parked there, and not shown
NOTHING = 1e-6  # what is not shown is so small
WIDER = 1.012  # a band, than what it is around


class Band:
    """A ring round capsule `row`, at a part of the way from a to b, so wide (m)."""

    def __init__(self, row: int, part: float, width: float, colour: Colour) -> None:
        self.row, self.part, self.width, self.colour = row, part, width, colour


class Limbs:
    """Capsules under one name.  Colours are of the sides (k, 3) and of the ends (k, 2, 3)."""

    def __init__(self, scene: Any, name: str, sides: Array, ends: Array, bands: list[Band] | None = None) -> None:
        self.count, bands = len(sides), bands or []
        self._rows = np.array([band.row for band in bands], dtype=int)
        self._parts = np.array([band.part for band in bands])[:, None]
        self._widths = np.array([band.width for band in bands])
        rings = np.array([band.colour for band in bands], dtype=np.uint8).reshape(-1, 3)
        self._tubes = self._copies(scene, f"{name}/tubes", triangles.tube(), np.concatenate([sides, rings]))
        self._balls = self._copies(scene, f"{name}/balls", triangles.ball(), ends.reshape(-1, 3))
        self._last: Array = np.zeros((0, 0))

    @staticmethod
    def _copies(scene: Any, name: str, solid: triangles.Solid, colours: Array) -> Any:
        count = len(colours)
        return scene.add_batched_meshes_simple(
            name,
            *solid,
            batched_wxyzs=np.tile(np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32), (count, 1)),
            batched_positions=np.zeros((count, 3), dtype=np.float32),
            batched_scales=np.full((count, 3), NOTHING, dtype=np.float32),
            batched_colors=linear(colours),
            lod="off",
        )

    def show(self, rows: Array, shown: Array | None = None) -> bool:
        """Rows (k, 7): both ends and the radius; `shown` (k,) says which.  False if nothing is new."""
        there: Array = np.abs(rows).max(axis=1) < FAR  # NaN is not
        if shown is not None:
            there = there & shown
        rows = np.where(there[:, None], rows, 0.0)
        if np.array_equal(rows, self._last):
            return False
        self._last = rows
        a, b, radius = rows[:, :3], rows[:, 3:6], np.where(there, np.maximum(rows[:, 6], 1e-3), NOTHING)
        way = b - a
        length, turn = np.maximum(np.linalg.norm(way, axis=1), NOTHING), triangles.turned(way)
        k = self._rows
        middles = np.concatenate([0.5 * (a + b), a[k] + self._parts * way[k]])
        wide = np.concatenate([radius, WIDER * radius[k]])
        long = np.concatenate([np.where(there, length, NOTHING), np.where(there[k], self._widths, NOTHING)])
        tubes, balls = self._tubes, self._balls
        tubes.batched_positions = middles.astype(np.float32)
        tubes.batched_wxyzs = np.concatenate([turn, turn[k]]).astype(np.float32)
        tubes.batched_scales = np.stack([wide, wide, long], axis=1).astype(np.float32)
        balls.batched_positions = rows[:, :6].reshape(-1, 3).astype(np.float32)
        balls.batched_scales = np.repeat(radius, 6).reshape(-1, 3).astype(np.float32)
        return True


def seen(handle: Any, whether: bool) -> None:
    """Shows or hides; asking what it is costs less than saying it again."""
    if handle.visible != whether:
        handle.visible = whether
