"""Triangles of a COLLADA file (.dae), the visual meshes of most arms, read by pycollada.

Taken are the geometries that the scene's nodes place, with the nodes' matrices, and the diffuse colour of each
material; lengths become metres (`<unit meter=...>`).  The axis that the file calls up is left as it is, as ROS tools
leave it.

pycollada opens no other file, but it has no limits of its own: the bytes are parsed without DTD and entities before it
sees them, and what the nodes place is counted, since a small file may place one geometry a million times.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from defusedxml.ElementTree import fromstring
from numpy.typing import NDArray

from ..errors import ModelError
from .meshes import Colour, Surface, checked

Array = NDArray[Any]

TAGS = 1_000_000  # beginnings and ends of elements
DEEP = 64  # nodes in nodes
MANY = 20_000  # nodes and geometries placed
PLACED = 100_000_000
"""Letters of the geometries, each as often as it is placed."""


def parts(data: bytes) -> Iterator[Surface]:
    """Everything that the scene shows, one after the other: who has enough stops."""
    if data.count(b"<") > TAGS:
        raise ModelError(f"expected {TAGS // 2} elements at most")
    root = fromstring(data, forbid_dtd=True)
    if root.tag.rpartition("}")[2] != "COLLADA":
        raise ModelError(f"expected <COLLADA>; got <{root.tag.rpartition('}')[2][:40]}>")
    _count(root)
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
            yield checked(vertices, faces[:, ::-1] if mirrored else faces, _colour(primitive.material))


def _colour(material: Any) -> Colour | None:
    rgba = getattr(getattr(material, "effect", None), "diffuse", None)
    if not isinstance(rgba, tuple) or len(rgba) != 4 or not np.isfinite(rgba).all():
        return None  # none, or a texture
    r, g, b, a = np.clip(rgba, 0.0, 1.0).tolist()
    return r, g, b, a


def _count(root: Element) -> None:
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
        if deep > DEEP:
            raise ModelError(f"expected nodes in nodes {DEEP} deep at most")
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
    if sum(things for things, _ in totals) > MANY:
        raise ModelError("expected fewer nodes and parts")
    if sum(letters for _, letters in totals) > PLACED:
        raise ModelError("expected fewer triangles, each as often as it is placed")
