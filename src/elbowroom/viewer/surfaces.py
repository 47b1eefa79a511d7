"""Mesh files as surfaces to draw (model/meshes.py), with smooth and sharp edges.

Where two triangles meet at less than `CREASE` the edge is smooth, else sharp; a page makes normals from shared corners,
so the corners of sharp edges are doubled.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import meshes
from ..model.surfaces import Surface

Array = NDArray[Any]

CREASE = math.radians(35.0)


def read(path: str | Path) -> list[Surface]:
    """What a mesh file shows."""
    return [creased(surface) for surface in meshes.surfaces(path)]


def creased(surface: Surface) -> Surface:
    """The same with corners shared where the surface is smooth, and only there."""
    points, where = np.unique(surface.vertices.round(7), axis=0, return_inverse=True)
    faces = where.reshape(-1)[surface.faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]  # no area
    a, b, c = (points[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    groups = _smooth(faces, normals)
    # one vertex for each group of corners
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return Surface(points[faces.reshape(-1)[first]], inverse.reshape(-1, 3), surface.colour)


def _smooth(faces: Array, normals: Array) -> Array:
    """(3 F,) a number for every corner, the same for those that meet in a point across smooth edges."""
    corner = np.arange(faces.size).reshape(-1, 3)
    ends = np.stack([corner, np.roll(corner, -1, axis=1)], axis=-1).reshape(-1, 2)  # both corners of each edge
    flat = faces.reshape(-1)
    flip = flat[ends[:, 0]] > flat[ends[:, 1]]
    ends[flip] = ends[flip][:, ::-1]
    keys = flat[ends]
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    ends, keys = ends[order], keys[order]
    same = (keys[1:] == keys[:-1]).all(axis=1)
    first, second = ends[:-1][same], ends[1:][same]
    smooth = np.einsum("ij,ij->i", normals[first[:, 0] // 3], normals[second[:, 0] // 3]) > math.cos(CREASE)
    one, other = first[smooth].reshape(-1), second[smooth].reshape(-1)
    label = np.arange(faces.size)
    while True:  # the least number of neighbours spreads
        least = label.copy()
        np.minimum.at(least, one, label[other])
        np.minimum.at(least, other, label[one])
        least = least[least]
        if (least == label).all():
            return label
        label = least
