"""Mesh files as triangles: STL, OBJ, PLY, OFF, GLB and glTF by trimesh, COLLADA (.dae) by pycollada.

A file is data here.  Of the files that it names (material libraries, buffers) only those in its own folder are opened,
never a picture; its size is capped, and a file that is not what it should be is a ModelError that names it.  Triangles
and parts are counted before the libraries unpack them, or as they come, so that a small file cannot become large.
Coordinates are the file's own, in metres where it says its unit (COLLADA).
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import logging
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algebra import Array
from ..errors import ModelError
from ..reading import regular
from .packages import real

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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


SUFFIXES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".off")
MAX_BYTES = 50_000_000
MOST_TEXT = 20_000_000  # bytes of a file of text, which is read slowly
MOST_TRIANGLES = 400_000
MOST_SURFACES = 2_000  # each is a thing of its own on the page
MOST_JSON = 5_000_000  # bytes of what a GLB says about itself
MOST_LISTED = 20_000  # things of a kind in it
FARTHEST = 1e9  # in the file's own unit: a kilometre in micrometres
_WIDEST = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}  # numbers of 4 bytes
_BINARY_STL, _STL_TRIANGLE = 84, 50  # bytes before the triangles, and of each
_NUMBER = re.compile(rb"^[ \t]*(?:v|vertex)[ \t][^\n]*_", re.MULTILINE)

COLLADA_TAGS = 1_000_000  # of a COLLADA file: beginnings and ends of elements
COLLADA_DEEP = 64  # nodes in nodes
COLLADA_MANY = 20_000  # nodes and geometries placed
COLLADA_PLACED = 100_000_000
"""Letters of the geometries, each as often as it is placed."""


def surfaces(path: str | Path, data: bytes | None = None) -> list[Surface]:
    """What a mesh file shows; `data` is its content where that was read already."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ModelError(f"mesh {path.name!r}: expected one of {', '.join(SUFFIXES)}")
    data = contents(path, MAX_BYTES) if data is None else data
    if len(data) > MOST_TEXT and _is_text(suffix, data):
        raise ModelError(f"mesh {path.name!r}: must not be larger than {MOST_TEXT / 1e6:g} MB")
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():  # what becomes of numbers too great is refused
            warnings.simplefilter("ignore")  # the libraries' own, about NumPy
            return list(_few(_collada(data) if suffix == ".dae" else _by_trimesh(data, suffix, path.parent)))
    except ModelError as error:
        raise ModelError(f"mesh {path.name!r}: {error}") from error
    except ImportError as error:
        raise ModelError(f"mesh {path.name!r}: needs the package {error.name!r}: pip install {error.name}") from error
    except Exception as error:  # whatever a library trips over in a broken file
        raise ModelError(f"mesh {path.name!r}: expected triangles in a file of its kind; {error!r:.80}") from error


@cache
def readers() -> tuple[str, ...]:
    """The libraries that read the files, with their versions."""
    return tuple(f"{name} {importlib.metadata.version(name)}" for name in ("trimesh", "pycollada"))


def contents(path: Path, most: int) -> bytes:
    """The bytes of a mesh file, `most` at most."""
    try:
        with open(path, "rb", opener=regular) as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"mesh {path.name!r}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most:
        raise ModelError(f"mesh {path.name!r}: must not be larger than {most / 1e6:g} MB")
    return data


def _few(found: Iterable[Surface]) -> Iterator[Surface]:
    """Those with triangles, counted as they come: a small file may place a large mesh a thousand times."""
    triangles = count = 0
    for surface in found:
        if not len(surface.faces):
            continue
        triangles, count = triangles + len(surface.faces), count + 1
        _most(triangles, MOST_TRIANGLES, "triangles")
        _most(count, MOST_SURFACES, "parts")
        if not (np.abs(surface.vertices) <= FARTHEST).all():  # nor is NaN
            break
        yield surface
    else:
        if count:
            return
    raise ModelError(f"expected triangles of finite numbers, {FARTHEST:g} at most")


def _most(count: int, most: int, what: str) -> None:
    if count > most:
        raise ModelError(f"must not have more than {most} {what}")


def _is_text(suffix: str, data: bytes) -> bool:
    return suffix in (".obj", ".dae", ".gltf", ".off") or (suffix == ".stl" and not is_binary_stl(data))


def is_binary_stl(data: bytes) -> bool:
    """Whether an STL file is binary: its size is what the triangle count says (it may begin with "solid" too)."""
    count = int.from_bytes(data[80:_BINARY_STL], "little")
    return len(data) >= _BINARY_STL and len(data) == _BINARY_STL + count * _STL_TRIANGLE


class _Folder:
    """What trimesh asks for the files that a mesh names: material libraries and buffers in the mesh's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = real(folder)

    def get(self, name: str) -> bytes:
        path = real(self.folder / name)
        if path.suffix.lower() not in (".mtl", ".bin") or not path.is_relative_to(self.folder):
            raise FileNotFoundError(name)
        return contents(path, MAX_BYTES)

    __getitem__ = get


def _by_trimesh(data: bytes, suffix: str, folder: Path) -> Iterator[Surface]:
    counts = {".stl": _count_stl, ".obj": _count_obj, ".glb": _count_glb, ".gltf": _count_gltf}
    counts.get(suffix, _count_header)(data)
    import trimesh

    logging.getLogger("trimesh").setLevel(logging.CRITICAL)  # what is wrong is said here, by name
    resolver: Any = _Folder(folder)
    scene: Any = trimesh.load_scene(
        io.BytesIO(data),
        file_type=suffix[1:],
        resolver=resolver,
        process=False,
        skip_materials=suffix in (".glb", ".gltf"),  # they hold pictures
    )
    for node in scene.graph.nodes_geometry:
        T, name = scene.graph[node]
        shape = scene.geometry[name]
        faces = np.asarray(getattr(shape, "faces", ()), dtype=int).reshape(-1, 3)
        vertices = np.asarray(shape.vertices, dtype=float) @ T[:3, :3].T + T[:3, 3]
        mirrored = np.linalg.det(T[:3, :3]) < 0
        yield checked(vertices, faces[:, ::-1] if mirrored else faces, _colour(shape) if suffix == ".obj" else None)


def _colour(shape: Any) -> Colour | None:
    material = getattr(getattr(shape, "visual", None), "material", None)
    rgba = getattr(material, "diffuse", None)
    if rgba is None or not getattr(material, "name", None) or len(rgba) != 4:
        return None  # trimesh's own grey stands for none
    r, g, b, a = (float(value) / 255.0 for value in rgba)
    return r, g, b, a


def _count_stl(data: bytes) -> None:
    if is_binary_stl(data):
        _most(int.from_bytes(data[80:_BINARY_STL], "little"), MOST_TRIANGLES, "triangles")
        return
    if data.lstrip()[:5].lower() != b"solid":
        raise ModelError("expected an STL file")
    _most(data.count(b"vertex") // 3, MOST_TRIANGLES, "triangles")
    _plain_numbers(data)


def _count_obj(data: bytes) -> None:
    triangles = 0
    for line in io.BytesIO(data):
        if line.lstrip()[:2] in (b"f ", b"f\t"):
            corners = line.split(b"#")[0].split()[1:]
            triangles += max(len(corners) - 2, 0)
            if len({corner.count(b"/") for corner in corners}) > 1:  # trimesh would take one number for another
                raise ModelError("expected faces whose corners are all written alike")
    _most(triangles, MOST_TRIANGLES, "triangles")
    _plain_numbers(data)


def _plain_numbers(data: bytes) -> None:
    if _NUMBER.search(data):  # Python would take 1_0 for ten
        raise ModelError("expected vertices of three numbers")


def _count_header(data: bytes) -> None:
    """PLY and OFF: how many faces there are stands at the beginning."""
    head = data[:20_000]
    if head[:3] == b"ply":
        counts = [int(word) for word in re.findall(rb"element[ \t]+(?:face|tristrips)[ \t]+(\d{1,18})", head)]
        if b"tristrips" in head:
            raise ModelError("expected faces, not strips")
    else:
        counts = [int(word) for word in head.split(b"\n")[1:2] and head.split()[2:3]]
    for count in counts:
        _most(count, MOST_TRIANGLES, "triangles")


def _count_gltf(data: bytes) -> None:
    if len(data) > MOST_JSON:
        raise ModelError(f"expected {MOST_JSON} bytes of JSON at most")
    _count_listed(json.loads(data))


def _count_glb(data: bytes) -> None:
    """Refuses a GLB whose own lists say that it is too much, before anything of it is unpacked."""
    size = int.from_bytes(data[12:16], "little")
    if size > MOST_JSON:
        raise ModelError(f"expected {MOST_JSON} bytes of JSON at most")
    header = json.loads(data[20 : 20 + size])
    if any("uri" in buffer for buffer in header.get("buffers", [])):
        raise ModelError("expected a file that is whole, without buffers elsewhere")
    _count_listed(header)


def _count_listed(header: dict[str, Any]) -> None:
    views, accessors, shapes, nodes = (header.get(key, []) for key in ("bufferViews", "accessors", "meshes", "nodes"))
    children = sum(len(node.get("children", [])) for node in nodes)
    if max(*map(len, (views, accessors, shapes, nodes)), children) > MOST_LISTED:
        raise ModelError(f"expected {MOST_LISTED} accessors, meshes and nodes at most")
    counts = [_whole(accessor["count"]) for accessor in accessors]
    # a view is cut out of its buffer, and views may overlap; an accessor may repeat what it shows
    bytes_ = sum(_whole(view["byteLength"]) for view in views)
    bytes_ += sum(count * _WIDEST.get(a["type"], 16) * 4 for count, a in zip(counts, accessors, strict=True))
    if bytes_ > 2 * MAX_BYTES:
        raise ModelError(f"must not be larger than {2 * MAX_BYTES / 1e6:g} MB when it is unpacked")
    sizes = [_size(shape["primitives"], counts) for shape in shapes]
    placed = [sizes[node["mesh"]] for node in nodes if "mesh" in node]
    for listed in (sizes, placed):  # trimesh unpacks all that there are, then copies those that are placed
        for k, (what, most) in enumerate(
            (("parts", MOST_SURFACES), ("triangles", MOST_TRIANGLES), ("vertices", 3 * MOST_TRIANGLES))
        ):
            _most(sum(size[k] for size in listed), most, what)


def _size(primitives: list[Any], counts: list[int]) -> tuple[int, int, int]:
    """Parts, triangles and vertices of a mesh in a GLB."""
    triangles = points = 0
    for primitive in primitives:
        if "KHR_draco_mesh_compression" in primitive.get("extensions", {}):
            raise ModelError("expected a file without compression")
        corners = counts[primitive.get("indices", primitive["attributes"]["POSITION"])]
        triangles += max(corners - 2, 0) if primitive.get("mode", 4) == 5 else corners // 3  # 5: strips
        points += max(counts[k] for k in primitive["attributes"].values())
    return len(primitives), triangles, points


def _whole(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ModelError(f"expected a count; got {value!r:.40}")
    return value


def _collada(data: bytes) -> Iterator[Surface]:
    """What the scene of a COLLADA file shows, one after the other.

    Taken are the geometries that the scene's nodes place, with the nodes' matrices, and the diffuse colour of each
    material; lengths become metres (`<unit meter=...>`).  The axis that the file calls up is left as it is, as ROS
    tools leave it.  pycollada opens no other file, but it has no limits of its own: the bytes are parsed without DTD
    and entities before it sees them, and what the nodes place is counted, since a small file may place one geometry a
    million times.
    """
    from defusedxml.ElementTree import fromstring  # an XML parser, which other meshes do without

    if data.count(b"<") > COLLADA_TAGS:
        raise ModelError(f"expected {COLLADA_TAGS // 2} elements at most")
    root = fromstring(data, forbid_dtd=True)
    if root.tag.rpartition("}")[2] != "COLLADA":
        raise ModelError(f"expected <COLLADA>; got <{root.tag.rpartition('}')[2][:40]}>")
    _count_collada(root)
    import collada  # takes a sixth of a second
    from collada.common import DaeBrokenRefError, DaeUnsupportedError

    file = collada.Collada(io.BytesIO(data), ignore=[DaeBrokenRefError, DaeUnsupportedError])
    scale = float(file.assetInfo.unitmeter or 1.0)
    if file.scene is None:
        raise ModelError("expected a scene that shows something")
    for bound in file.scene.objects("geometry"):
        mirrored = np.linalg.det(bound.matrix[:3, :3]) < 0
        for primitive in bound.primitives():
            triangles = primitive.triangleset() if hasattr(primitive, "triangleset") else primitive
            corners = getattr(triangles, "vertex_index", None)
            if corners is None or triangles.vertex is None or np.ndim(corners) != 2 or corners.shape[1] != 3:
                continue  # lines and the like
            vertices = np.asarray(triangles.vertex, dtype=float) * scale
            faces = np.asarray(corners, dtype=int)
            yield checked(vertices, faces[:, ::-1] if mirrored else faces, _diffuse(primitive.material))


def _diffuse(material: Any) -> Colour | None:
    rgba = getattr(getattr(material, "effect", None), "diffuse", None)
    if not isinstance(rgba, tuple) or len(rgba) != 4 or not np.isfinite(rgba).all():
        return None  # none, or a texture
    r, g, b, a = np.clip(rgba, 0.0, 1.0).tolist()
    return r, g, b, a


def _count_collada(root: Element) -> None:
    """Refuses a scene that places too much."""

    def all_of(element: Element, tag: str) -> list[Element]:
        return [found for found in element.iter() if found.tag.rpartition("}")[2] == tag]

    def target(element: Element) -> str:
        return element.get("url", "").removeprefix("#")

    sizes = {
        geometry.get("id", ""): sum(len(inner.text or "") for inner in geometry.iter())
        for geometry in all_of(root, "geometry")
    }
    nodes = {node.get("id", ""): node for node in all_of(root, "node")}
    known: dict[int, tuple[int, int]] = {}

    def weight(node: Element, deep: int) -> tuple[int, int]:
        """Things placed by a node, and their letters."""
        if deep > COLLADA_DEEP:
            raise ModelError(f"expected nodes in nodes {COLLADA_DEEP} deep at most")
        if id(node) not in known:
            things, letters = 1, 0
            for child in node:
                tag = child.tag.rpartition("}")[2]
                inner = child if tag == "node" else nodes.get(target(child)) if tag == "instance_node" else None
                if inner is not None:
                    more = weight(inner, deep + 1)
                    things, letters = things + more[0], letters + more[1]
                elif tag == "instance_geometry":
                    things, letters = things + 1, letters + sizes.get(target(child), 0)
            known[id(node)] = things, letters
        return known[id(node)]

    totals = [weight(child, 0) for scene in all_of(root, "visual_scene") for child in scene]
    if sum(things for things, _ in totals) > COLLADA_MANY:
        raise ModelError("expected fewer nodes and parts")
    if sum(letters for _, letters in totals) > COLLADA_PLACED:
        raise ModelError("expected fewer triangles, each as often as it is placed")
