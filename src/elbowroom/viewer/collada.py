"""Triangles of a COLLADA file (.dae), the visual meshes of most arms.

Read are the geometries that the scene's nodes place, with the nodes' matrices, and the diffuse colour of each material;
not read are textures, skins, animations and whatever else.  Lengths become metres (`<unit meter=...>`).  The axis that
the file calls up is left as it is, as ROS tools leave it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from defusedxml.ElementTree import fromstring
from numpy.typing import NDArray

from ..errors import ModelError

Array = NDArray[Any]
Colour = tuple[float, float, float, float]
Part = tuple[Array, Array, Colour | None]

DEEP = 64  # nodes in nodes
MANY = 20_000  # nodes and geometries placed


def parts(data: bytes) -> Iterator[Part]:
    """Vertices (V, 3), faces (F, 3) and colour of everything that the scene shows."""
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
    return np.array((element.text or "").split() if element is not None else [], dtype=float)


class _File:
    def __init__(self, root: Element) -> None:
        self._root = root
        self._count = 0
        self._geometries, self._nodes = self.by_id("geometry"), self.by_id("node")
        self._colours = self._read_colours()

    def by_id(self, tag: str) -> dict[str, Element]:
        return {element.get("id", ""): element for element in self._root.iter(tag)}

    def _read_colours(self) -> dict[str, Colour]:
        """By the id of the material."""
        effects = self.by_id("effect")
        found: dict[str, Colour] = {}
        for name, material in self.by_id("material").items():
            effect = effects.get(_id(material.find("instance_effect")))
            diffuse = None if effect is None else next(effect.iter("diffuse"), None)
            rgba = _numbers(None if diffuse is None else diffuse.find("color"))
            if rgba.size == 4 and np.isfinite(rgba).all():
                r, g, b, a = np.clip(rgba, 0.0, 1.0).tolist()
                found[name] = r, g, b, a
        return found

    def shown(self, node: Element, T: Array, deep: int) -> Iterator[Part]:
        """What a node and those in it show."""
        self._count += 1
        if deep > DEEP or self._count > MANY:
            raise ModelError("expected fewer nodes")
        for element in node:
            if element.tag in _STEPS:
                T = T @ _STEPS[element.tag](_numbers(element))
        for instance in node.findall("instance_geometry"):
            geometry = self._geometries.get(_id(instance))
            if geometry is not None:
                chosen = {m.get("symbol", ""): _id(m, "target") for m in instance.iter("instance_material")}
                yield from self.placed(geometry, T, chosen)
        for child in node.findall("node"):
            yield from self.shown(child, T, deep + 1)
        for instance in node.findall("instance_node"):
            other = self._nodes.get(_id(instance))
            if other is not None:
                yield from self.shown(other, T, deep + 1)

    def placed(self, geometry: Element, T: Array, chosen: dict[str, str]) -> Iterator[Part]:
        """The triangles of a geometry."""
        self._count += 1
        mesh = geometry.find("mesh")
        if mesh is None or self._count > MANY:
            return
        points = {id_: self._positions(mesh, element) for id_, element in _with_id(mesh, "vertices")}
        for element in mesh:
            if element.tag in ("triangles", "polylist", "polygons"):
                vertices, faces = self._triangles(element, points)
                if np.linalg.det(T[:3, :3]) < 0:
                    faces = faces[:, ::-1]
                symbol = element.get("material", "")
                colour = self._colours.get(chosen.get(symbol, symbol))
                yield vertices @ T[:3, :3].T + T[:3, 3], faces, colour

    def _positions(self, mesh: Element, vertices: Element) -> Array:
        inputs = {i.get("semantic"): _id(i, "source") for i in vertices.findall("input")}
        source = dict(_with_id(mesh, "source")).get(inputs.get("POSITION", ""))
        if source is None:
            raise ModelError("expected the positions of the vertices")
        return _numbers(source.find("float_array")).reshape(-1, 3)

    def _triangles(self, element: Element, points: dict[str, Array]) -> tuple[Array, Array]:
        inputs = element.findall("input")
        place = next(i for i in inputs if i.get("semantic") == "VERTEX")
        offset, stride = int(place.get("offset", 0)), 1 + max(int(i.get("offset", 0)) for i in inputs)
        lists = [_numbers(p).astype(int).reshape(-1, stride)[:, offset] for p in element.findall("p")]
        vertices = points[_id(place, "source")]
        if element.tag == "triangles":
            return vertices, np.concatenate([np.zeros(0, dtype=int), *lists]).reshape(-1, 3)
        counts = _numbers(element.find("vcount")).astype(int) if element.tag == "polylist" else None
        if counts is not None and lists:
            lists = np.split(lists[0], np.cumsum(counts)[:-1])
        fans = [
            np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], axis=1)
            for corners in lists
            if len(corners) > 2
        ]
        return vertices, np.concatenate([np.zeros((0, 3), dtype=int), *fans])


def _with_id(mesh: Element, tag: str) -> list[tuple[str, Element]]:
    return [(element.get("id", ""), element) for element in mesh.findall(tag)]


def _translate(v: Array) -> Array:
    T = np.eye(4)
    T[:3, 3] = v
    return T


def _rotate(v: Array) -> Array:
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
