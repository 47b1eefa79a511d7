"""Mesh files as triangles to draw: STL, OBJ, COLLADA (.dae) and GLB.

A file is data here: nothing that it names is opened or fetched (material libraries, textures, buffers elsewhere), its
size is capped, and a file that is not what it should be is a ModelError that names it.  Triangles and parts are counted
as they are read, or before where the file lists them, so that a small file cannot become large.  Coordinates are the
file's own, in metres where it says its unit (COLLADA).

Where two triangles meet at less than `CREASE` the edge is smooth, else sharp; a page makes normals from shared corners,
so the corners of sharp edges are doubled.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model import meshes
from ..model.meshes import MAX_BYTES

Array = NDArray[Any]

CREASE = math.radians(35.0)
FARTHEST = 1e9  # in the file's own unit: a kilometre in micrometres
MOST_TEXT = 20_000_000  # bytes of a file of text, which is read slowly
MOST_TRIANGLES = 400_000
MOST_SURFACES = 2_000  # each is a thing of its own on the page
MOST_JSON = 5_000_000  # bytes of what a GLB says about itself
MOST_LISTED = 20_000  # things of a kind in it
_WIDEST = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}  # numbers of 4 bytes


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
    data = meshes.contents(path, MAX_BYTES)
    if len(data) > MOST_TEXT and _text(path, data):
        raise ModelError(f"mesh {path.name!r}: must not be larger than {MOST_TEXT / 1e6:g} MB")
    try:
        with np.errstate(all="ignore"):  # what becomes of numbers too great is refused
            found = list(_few(reader(data)))
    except ModelError as error:
        raise ModelError(f"mesh {path.name!r}: {error}") from error
    except Exception as error:  # whatever a reader trips over in a broken file
        raise ModelError(f"mesh {path.name!r}: expected triangles in a file of its kind; {error!r:.80}") from error
    return [creased(surface) for surface in found]


def _few(surfaces: Iterable[Surface]) -> Iterator[Surface]:
    """Those with triangles, counted as they come: a small file may place a large mesh a thousand times."""
    triangles = count = 0
    for surface in surfaces:
        if not len(surface.faces):
            continue
        triangles, count = triangles + len(surface.faces), count + 1
        if triangles > MOST_TRIANGLES:
            raise ModelError(f"must not have more than {MOST_TRIANGLES} triangles")
        if count > MOST_SURFACES:
            raise ModelError(f"must not have more than {MOST_SURFACES} parts")
        if not (np.abs(surface.vertices) <= FARTHEST).all():  # nor is NaN
            break
        yield surface
    else:
        if count:
            return
    raise ModelError(f"expected triangles of finite numbers, {FARTHEST:g} at most")


def _text(path: Path, data: bytes) -> bool:
    return path.suffix.lower() in (".obj", ".dae") or (path.suffix.lower() == ".stl" and not meshes.is_binary(data))


def _stl(data: bytes) -> Iterator[Surface]:
    corners = meshes.stl(data, MOST_TRIANGLES)
    yield Surface(corners, np.arange(len(corners)).reshape(-1, 3))


def _obj(data: bytes) -> Iterator[Surface]:
    yield checked(*meshes.obj(data, MOST_TRIANGLES))


def _dae(data: bytes) -> Iterator[Surface]:
    from .collada import parts  # brings an XML parser along

    return parts(data)


def _glb(data: bytes) -> Iterator[Surface]:
    import trimesh

    _count_glb(data)
    scene: Any = trimesh.load_scene(io.BytesIO(data), file_type="glb", resolver=None, skip_materials=True)
    mesh = scene.to_mesh()
    yield checked(np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=int))


def _count_glb(data: bytes) -> None:
    """Refuses a GLB whose own lists say that it is too much, before anything of it is unpacked."""
    size = int.from_bytes(data[12:16], "little")
    if size > MOST_JSON:
        raise ModelError(f"expected {MOST_JSON} bytes of JSON at most")
    header: dict[str, Any] = json.loads(data[20 : 20 + size])
    views, accessors, shapes, nodes = (header.get(key, []) for key in ("bufferViews", "accessors", "meshes", "nodes"))
    children = sum(len(node.get("children", [])) for node in nodes)
    if max(*map(len, (views, accessors, shapes, nodes)), children) > MOST_LISTED:
        raise ModelError(f"expected {MOST_LISTED} accessors, meshes and nodes at most")
    counts = [_count(accessor["count"]) for accessor in accessors]
    # a view is cut out of its buffer, and views may overlap; an accessor may repeat what it shows
    bytes_ = sum(_count(view["byteLength"]) for view in views)
    bytes_ += sum(count * _WIDEST.get(a["type"], 16) * 4 for count, a in zip(counts, accessors, strict=True))
    if bytes_ > 2 * MAX_BYTES:
        raise ModelError(f"must not be larger than {2 * MAX_BYTES / 1e6:g} MB when it is unpacked")
    sizes = [_size_glb(shape["primitives"], counts) for shape in shapes]
    placed = [sizes[node["mesh"]] for node in nodes if "mesh" in node]
    for listed in (sizes, placed):  # trimesh unpacks all that there are, then copies those that are placed
        for k, (what, most) in enumerate(
            (("parts", MOST_SURFACES), ("triangles", MOST_TRIANGLES), ("vertices", 3 * MOST_TRIANGLES))
        ):
            if sum(size[k] for size in listed) > most:
                raise ModelError(f"must not have more than {most} {what}")


def _size_glb(primitives: list[Any], counts: list[int]) -> tuple[int, int, int]:
    """Parts, triangles and vertices of a mesh in a GLB."""
    triangles = points = 0
    for primitive in primitives:
        if "KHR_draco_mesh_compression" in primitive.get("extensions", {}):
            raise ModelError("expected a file without compression")
        corners = counts[primitive.get("indices", primitive["attributes"]["POSITION"])]
        triangles += max(corners - 2, 0) if primitive.get("mode", 4) == 5 else corners // 3  # 5: strips
        points += max(counts[k] for k in primitive["attributes"].values())
    return len(primitives), triangles, points


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ModelError(f"expected a count; got {value!r:.40}")
    return value


def checked(vertices: Array, faces: Array, colour: tuple[float, float, float, float] | None = None) -> Surface:
    """A surface whose faces are all of its own vertices, and these all in use."""
    if not len(faces):
        return Surface(np.zeros((0, 3)), faces, colour)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError("expected faces whose corners are in the file")
    used, where = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], where.reshape(-1, 3), colour)


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
