"""What an arm plans around, as the rows that compiled checks read: capsules, boxes and half-spaces.

    world = World([Box((0.5, 0.0, 0.2), (0.1, 0.3, 0.2)), HalfSpace((0, 0, 0), (0, 0, 1))])
    world = World.of_rows(people, things)       # people: (k, 13) rows, as sensors and the supervisor's belief have them

A world is what stands there now.  It is cheap to make: a controller makes one a sensor frame.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ShapeError
from ...geometry import ROW, Box, Capsule, HalfSpace, Sphere
from ...geometry.segments import POINT
from ...geometry.shapes import RADIUS, A, B

Array = NDArray[np.float64]
Obstacle = Capsule | Sphere | Box | HalfSpace

CAPSULE, BOX, PLANE = 8, 16, 4
"""Numbers a row: both ends, radius, 1 / length squared; center, rotation, half edges, radius; normal, height."""

FAR = 1e4
"""m: where rows stand that fill a table up; squares of it are numbers in float32 too."""

_AWAY = {
    CAPSULE: np.array([FAR] * 6 + [0.0, 0.0]),
    BOX: np.array([FAR] * 3 + [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0] + [0.1] * 3 + [0.0]),
    PLANE: np.array([0.0, 0.0, 1.0, -FAR]),
}


class World:
    """Obstacles in the world frame; see the module's docstring."""

    def __init__(self, shapes: Iterable[Obstacle] = (), *, capsules: Array | None = None) -> None:
        rows: dict[int, list[Array]] = {CAPSULE: [], BOX: [], PLANE: []}
        for shape in shapes:
            if isinstance(shape, Sphere):
                rows[CAPSULE].append(_capsule(shape.center, shape.center, shape.radius))
            elif isinstance(shape, Capsule):
                rows[CAPSULE].append(_capsule(shape.a, shape.b, shape.radius))
            elif isinstance(shape, Box):
                rows[BOX].append(np.concatenate([shape.center, shape.rotation.ravel(), shape.half, [0.0]]))
            elif isinstance(shape, HalfSpace):
                rows[PLANE].append(np.append(shape.normal, shape.normal @ shape.point))
            else:
                raise TypeError(f"World: expected Capsule, Sphere, Box or HalfSpace; got {type(shape).__name__}")
        self.capsules, self.boxes, self.planes = (np.array(rows[w]).reshape(-1, w) for w in (CAPSULE, BOX, PLANE))
        if capsules is not None:
            self.capsules = np.vstack([self.capsules, capsules])

    @classmethod
    def of_rows(cls, rows: ArrayLike, shapes: Iterable[Obstacle] = (), *, grown: float = 0.0) -> World:
        """A world of people's capsules, rows (k, 13), and of other shapes; people's radii `grown` by so much (m)."""
        given = np.asarray(rows, dtype=float)
        if given.ndim != 2 or given.shape[1] != ROW:
            raise ShapeError(f"rows must have shape (k, {ROW}); got {given.shape}")
        if np.isnan(given[:, : RADIUS + 1]).any():  # nobody would stand where it is, and it would be gone through
            raise ValueError("rows must be numbers; got NaN")
        if not np.isfinite(grown):
            raise ValueError(f"grown must be a number, m; got {grown}")
        ends = np.abs(given[:, :RADIUS]).reshape(-1, 2, 3).max(axis=2)
        near = given[ends.min(axis=1) < FAR]  # empty places are parked far away
        if not ((near[:, RADIUS] >= 0.0) & np.isfinite(near[:, : RADIUS + 1]).all(axis=1)).all():
            raise ValueError("rows must be finite, with radii of 0 or more")
        axis = near[:, B] - near[:, A]
        square = (axis * axis).sum(axis=1)
        inverse = np.where(square > POINT, 1.0 / np.maximum(square, POINT), 0.0)
        return cls(shapes, capsules=np.column_stack([near[:, A], near[:, B], near[:, RADIUS] + grown, inverse]))

    def __len__(self) -> int:
        return len(self.capsules) + len(self.boxes) + len(self.planes)

    def __repr__(self) -> str:
        return f"<World: {len(self.capsules)} capsules, {len(self.boxes)} boxes, {len(self.planes)} half-spaces>"

    def within(self, center: Array, radius: float) -> World:
        """The obstacles that come within a radius (m) of a point (3,); all half-spaces."""
        a, b = self.capsules[:, 0:3], self.capsules[:, 3:6]
        part = np.clip(((center - a) * (b - a)).sum(axis=1) * self.capsules[:, 7], 0.0, 1.0)
        off = np.linalg.norm(a + (b - a) * part[:, None] - center, axis=1) - self.capsules[:, 6]
        turned = np.einsum("kji,kj->ki", self.boxes[:, 3:12].reshape(-1, 3, 3), center - self.boxes[:, 0:3])
        out = np.linalg.norm(np.maximum(np.abs(turned) - self.boxes[:, 12:15], 0.0), axis=1)
        found = World()
        found.capsules, found.boxes = self.capsules[off <= radius], self.boxes[out <= radius]
        found.planes = self.planes
        return found


def _capsule(a: Array, b: Array, radius: float) -> Array:
    square = float((b - a) @ (b - a))
    return np.array([*a, *b, radius, 1.0 / square if square > POINT else 0.0])


def filled_up(rows: Array, size: int) -> Array:
    """A table of so many rows: these, and ones that stand far away."""
    return np.vstack([rows, np.tile(_AWAY[rows.shape[1]], (size - len(rows), 1))])
