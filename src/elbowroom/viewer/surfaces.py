"""Mesh files as triangles to draw: STL, OBJ, COLLADA (.dae) and GLB.

A file is data here: nothing that it names is opened or fetched (material libraries, textures, buffers elsewhere), its
size is capped, and a file that is not what it should be is a ModelError that names it.  Coordinates are the file's own,
in metres where it says its unit (COLLADA).

Where two triangles meet at less than `CREASE` the edge is smooth, else sharp; a page makes normals from shared corners,
so the corners of sharp edges are doubled.
"""

from __future__ import annotations

import io
import math
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model.meshes import MAX_BYTES

Array = NDArray[Any]

CREASE = math.radians(35.0)
MOST_TEXT = 20_000_000  # bytes of a file of text, which is read slowly
MOST_TRIANGLES = 400_000
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84  # bytes of a binary STL before its triangles


class Surface(NamedTuple):
    """Triangles of one colour; None where the file has none for it."""

    vertices: Array  # (V, 3)
    faces: Array  # (F, 3)
    colour: tuple[float, float, float, float] | None = None


def read(path: str | Path) -> list[Surface]:
    """What a mesh file shows."""
    path = Path(path)
    kinds = {".stl": _stl, ".obj": _obj, ".dae": _dae, ".glb": _glb}
    reader = kinds.get(path.suffix.lower())
    if reader is None:
        raise ModelError(f"mesh {path.name!r}: expected one of {', '.join(kinds)}")
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(f"mesh {path.name!r}: cannot be read: {error.strerror}") from error
    most = MAX_BYTES if len(data) > MAX_BYTES or not _text(path, data) else MOST_TEXT
    if len(data) > most:
        raise ModelError(f"mesh {path.name!r}: must not be larger than {most / 1e6:g} MB")
    try:
        found = [surface for surface in reader(data) if len(surface.faces)]
    except ModelError as error:
        raise ModelError(f"mesh {path.name!r}: {error}") from error
    except Exception as error:  # whatever a reader trips over in a broken file
        raise ModelError(f"mesh {path.name!r}: expected triangles in a file of its kind; {error!r:.80}") from error
    if not found or not all(np.isfinite(surface.vertices).all() for surface in found):
        raise ModelError(f"mesh {path.name!r}: expected triangles of finite numbers")
    if sum(len(surface.faces) for surface in found) > MOST_TRIANGLES:
        raise ModelError(f"mesh {path.name!r}: must not have more than {MOST_TRIANGLES} triangles")
    return [creased(surface) for surface in found]


def _text(path: Path, data: bytes) -> bool:
    return path.suffix.lower() in (".obj", ".dae") or (path.suffix.lower() == ".stl" and not _binary(data))


def _binary(data: bytes) -> bool:
    count = int.from_bytes(data[80:_HEADER], "little")
    return len(data) >= _HEADER and len(data) == _HEADER + count * _TRIANGLE.itemsize


def _stl(data: bytes) -> list[Surface]:
    if _binary(data):
        corners = np.frombuffer(data, _TRIANGLE, offset=_HEADER)["corners"].reshape(-1, 3)
    elif data.lstrip()[:5] == b"solid":
        rows = [words[1:4] for words in map(bytes.split, data.splitlines()) if words and words[0] == b"vertex"]
        corners = np.array(rows, dtype=float).reshape(-1, 3)
    else:
        raise ModelError("expected an STL file")
    return [Surface(corners.astype(float), np.arange(len(corners)).reshape(-1, 3))]


def _obj(data: bytes) -> list[Surface]:
    vertices: list[list[bytes]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            vertices.append(words[1:4])
        elif words[0] == b"f":
            corners = [int(word.split(b"/")[0]) for word in words[1:]]
            corners = [k - 1 if k > 0 else len(vertices) + k for k in corners]
            faces += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
    return [checked(np.array(vertices, dtype=float), np.array(faces, dtype=int).reshape(-1, 3))]


def _dae(data: bytes) -> list[Surface]:
    from .collada import parts  # brings an XML parser along

    return [checked(vertices, faces, colour) for vertices, faces, colour in parts(data)]


def _glb(data: bytes) -> list[Surface]:
    import trimesh

    scene: Any = trimesh.load_scene(io.BytesIO(data), file_type="glb", resolver=None, skip_materials=True)
    mesh = scene.to_mesh()
    return [checked(np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=int))]


def checked(vertices: Array, faces: Array, colour: tuple[float, float, float, float] | None = None) -> Surface:
    """A surface whose faces are all of its own vertices."""
    if len(faces) and (vertices.ndim != 2 or vertices.shape[1] != 3 or faces.min() < 0 or faces.max() >= len(vertices)):
        raise ModelError("expected faces whose corners are in the file")
    return Surface(vertices, faces, colour)


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
