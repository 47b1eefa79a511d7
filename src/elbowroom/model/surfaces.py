"""Triangles of one colour: what a mesh file is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

Array = NDArray[Any]
Colour = tuple[float, float, float, float]


class Surface(NamedTuple):
    """Triangles of one colour; None where the file has none for it."""

    vertices: Array  # (V, 3)
    faces: Array  # (F, 3)
    colour: Colour | None = None


def checked(vertices: Array, faces: Array, colour: Colour | None = None) -> Surface:
    """A surface whose faces are all of its own vertices, and these all in use."""
    if not len(faces):
        return Surface(np.zeros((0, 3)), np.zeros((0, 3), dtype=int), colour)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError("expected faces whose corners are in the file")
    used, where = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], where.reshape(-1, 3), colour)
