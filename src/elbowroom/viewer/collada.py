"""Triangles of a COLLADA file (.dae), the visual meshes of most arms.

Read are the geometries that the scene's nodes place, with the nodes' matrices, and the diffuse colour of each material;
not read are textures, skins, animations and whatever else.  Lengths become metres (`<unit meter=...>`).  The axis that
the file calls up is left as it is, as ROS tools leave it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from defusedxml.ElementTree import fromstring
from numpy.typing import NDArray

from ..errors import ModelError
from .surfaces import Surface, checked

Array = NDArray[Any]
Colour = tuple[float, float, float, float]
Part = tuple[Surface, str]  # triangles as the geometry has them, and the symbol of their material

DEEP = 64  # nodes in nodes
MANY = 20_000  # steps taken: nodes and what is in them, geometries placed and their parts
TAGS = 1_000_000  # beginnings and ends of elements


def parts(data: bytes) -> Iterator[Surface]:
    """Everything that the scene shows, one after the other: who has enough stops."""
    if data.count(b"<") > TAGS:
        raise ModelError(f"expected {TAGS // 2} elements at most")
    root = fromstring(data, forbid_dtd=True)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "COLLADA":
        raise ModelError(f"expected <COLLADA>; got <{root.tag[:40]}>")
    file = _File(root)
    scenes = file.by_id("visual_scene")
    wanted = root.find("scene/instance_visual_scene")
    scene = scenes.get(_id(wanted)) if wanted is not None else next(iter(scenes.values()), None)
    unit = root.find("asset/unit")
    scale = 1.0 if unit is None else float(unit.get("meter", 1.0))
    T = np.diag([scale, scale, scale, 1.0])
    if scene is None:  # geometries alone
        for geometry in file.by_id("geometry").values():
            yield from file.placed(geometry, T, {})
        return
    for node in scene.findall("node"):
        yield from file.shown(node, T, 0)


def _id(element: Element | None, key: str = "url") -> str:
    return "" if element is None else element.get(key, "").removeprefix("#")


def _numbers(element: Element | None) -> Array:
    text = "" if element is None else (element.text or "").strip()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # what is no number, in older versions of numpy
        return np.fromstring(text, sep=" ")  # a list of words would take many times the file


def _whole(element: Element | None) -> Array:
    """The whole numbers in an element: places in a list, or counts."""
    numbers = _numbers(element)
    if not (np.abs(numbers) < 2.0**63).all():  # NaN neither
        raise ModelError("expected whole numbers in the lists of corners")
    return numbers.astype(int)


def _diffuse(effect: Element) -> Colour | None:
    rgba = _numbers(next((diffuse.find("color") for diffuse in effect.iter("diffuse")), None))
    if rgba.size != 4 or not np.isfinite(rgba).all():
        return None
    r, g, b, a = np.clip(rgba, 0.0, 1.0).tolist()
    return r, g, b, a


def moved(surface: Surface, T: Array, colour: Colour | None) -> Surface:
    """The same at T, and not inside out where T mirrors."""
    faces = surface.faces[:, ::-1] if np.linalg.det(T[:3, :3]) < 0 else surface.faces
    return Surface(surface.vertices @ T[:3, :3].T + T[:3, 3], faces, colour)


class _File:
    def __init__(self, root: Element) -> None:
        self._root = root
        self._count = 0
        # each element is read once, however often it is placed; by identity
        self._parts: dict[int, list[Part]] = {}  # of geometries
        self._poses: dict[int, Array] = {}  # of nodes
        self._chosen: dict[int, dict[str, str]] = {}  # materials by symbol, of placed geometries
        self._geometries, self._nodes = self.by_id("geometry"), self.by_id("node")
        self._colours = self._read_colours()

    def by_id(self, tag: str) -> dict[str, Element]:
        return {element.get("id", ""): element for element in self._root.iter(tag)}

    def _read_colours(self) -> dict[str, Colour]:
        """By the id of the material."""
        effects = {name: _diffuse(effect) for name, effect in self.by_id("effect").items()}
        found = {name: effects.get(_id(m.find("instance_effect"))) for name, m in self.by_id("material").items()}
        return {name: colour for name, colour in found.items() if colour is not None}

    def _step(self, count: int = 1) -> None:
        self._count += count
        if self._count > MANY:
            raise ModelError("expected fewer nodes and parts")

    def shown(self, node: Element, T: Array, deep: int) -> Iterator[Surface]:
        """What a node and those in it show."""
        self._step()
        if deep > DEEP:
            raise ModelError(f"expected nodes in nodes {DEEP} deep at most")
        self._step(len(node))
        if id(node) not in self._poses:
            self._poses[id(node)] = _pose(node)
        T = T @ self._poses[id(node)]
        for instance in node.findall("instance_geometry"):
            geometry = self._geometries.get(_id(instance))
            if geometry is not None:
                if id(instance) not in self._chosen:
                    materials = instance.iter("instance_material")
                    self._chosen[id(instance)] = {m.get("symbol", ""): _id(m, "target") for m in materials}
                yield from self.placed(geometry, T, self._chosen[id(instance)])
        for child in node.findall("node"):
            yield from self.shown(child, T, deep + 1)
        for instance in node.findall("instance_node"):
            other = self._nodes.get(_id(instance))
            if other is not None:
                yield from self.shown(other, T, deep + 1)

    def placed(self, geometry: Element, T: Array, chosen: dict[str, str]) -> Iterator[Surface]:
        """The triangles of a geometry, which is read when it is placed for the first time."""
        self._step()
        if id(geometry) not in self._parts:
            mesh = geometry.find("mesh")
            self._parts[id(geometry)] = [] if mesh is None else list(self._read(mesh))
        for surface, symbol in self._parts[id(geometry)]:
            self._step()
            yield moved(surface, T, self._colours.get(chosen.get(symbol, symbol)))

    def _read(self, mesh: Element) -> Iterator[Part]:
        sources = dict(_with_id(mesh, "source"))
        places = {
            name: next((_id(i, "source") for i in vertices.findall("input") if i.get("semantic") == "POSITION"), "")
            for name, vertices in _with_id(mesh, "vertices")
        }
        points: dict[str, Array] = {}  # by the id of the source
        for element in mesh:
            if element.tag in ("triangles", "polylist", "polygons"):
                inputs = element.findall("input")
                place = next(i for i in inputs if i.get("semantic") == "VERTEX")
                offset, stride = int(place.get("offset", 0)), 1 + max(int(i.get("offset", 0)) for i in inputs)
                source = places[_id(place, "source")]
                if source not in points:
                    if source not in sources:
                        raise ModelError("expected the positions of the vertices")
                    points[source] = _numbers(sources[source].find("float_array")).reshape(-1, 3)
                surface = checked(points[source], _triangles(element, offset, stride))
                if len(surface.faces):
                    yield surface, element.get("material", "")


def _triangles(element: Element, offset: int, stride: int) -> Array:
    """(F, 3) numbers of the corners; polygons become fans."""
    lists = [_whole(p).reshape(-1, stride)[:, offset] for p in element.findall("p")]
    corners = np.concatenate([np.zeros(0, dtype=int), *lists])
    if element.tag == "triangles":
        return corners.reshape(-1, 3)
    if element.tag == "polylist":
        counts = _whole(element.find("vcount"))
    else:
        counts = np.array([len(numbers) for numbers in lists], dtype=int)
    if len(counts) and (counts.min() < 0 or counts.max() > len(corners) or counts.sum() > len(corners)):
        raise ModelError("expected as many corners as the polygons have")
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, fans)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(fans) - fans, fans)
    return corners[np.stack([first, second, second + 1], axis=1)]


def _with_id(mesh: Element, tag: str) -> list[tuple[str, Element]]:
    return [(element.get("id", ""), element) for element in mesh.findall(tag)]


def _pose(node: Element) -> Array:
    T = np.eye(4)
    for element in node:
        if element.tag in _STEPS:
            T = T @ _STEPS[element.tag](_numbers(element))
    return T


def _translate(v: Array) -> Array:
    T = np.eye(4)
    T[:3, 3] = v
    return T


def _rotate(v: Array) -> Array:
    v = v.reshape(4)
    axis = v[:3] / np.linalg.norm(v[:3])
    c, s = math.cos(math.radians(v[3])), math.sin(math.radians(v[3]))
    x, y, z = axis
    T = np.eye(4)
    T[:3, :3] = c * np.eye(3) + (1 - c) * np.outer(axis, axis) + s * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return T


_STEPS: dict[str, Callable[[Array], Array]] = {
    "matrix": lambda v: v.reshape(4, 4),
    "translate": _translate,
    "rotate": _rotate,
    "scale": lambda v: np.diag([*v.reshape(3), 1.0]),
}
