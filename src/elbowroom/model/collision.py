"""Capsules from the <collision> elements of a URDF.

    sphere, capsule    themselves
    cylinder, box      the capsule about them, of least volume or near it (model/covering.py)
    mesh               the same about its vertices, scaled; STL and OBJ files in the model's folder (model/meshes.py)

An element that cannot be used leaves its link without that capsule; what is wrong with it is returned, not raised,
since the arm moves all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .bounds import LENGTH, bounded
from .capsules import LinkCapsule, moved_capsule
from .covering import Cover, covering_capsule, covering_cylinder
from .meshes import locate, vertices
from .urdf_xml import number, numbers, origin, part, vector

Array = NDArray[Any]
KINDS = ("sphere", "capsule", "cylinder", "box", "mesh")


def capsules_of(link: Element, name: str, number_: int, T: Array, urdf: Path | None) -> Iterator[LinkCapsule | str]:
    """The capsules of a link that stands at T (4, 4) in frame `number_`, or for each that fails what is wrong.

    `urdf` is the file, beside which meshes lie; None where the URDF is no file.
    """
    elements = link.findall("collision")
    for k, element in enumerate(elements):
        title = name if len(elements) == 1 else f"{name}:{k + 1}"
        owner = f"link {name!r}"
        try:
            cover = _cover(part(element, "geometry", owner), owner, urdf)
            a, b = (tuple(end.tolist()) for end in (cover.a, cover.b))
            yield moved_capsule(LinkCapsule(title, number_, a, b, cover.radius), T @ origin(element, owner))
        except ModelError as error:
            text = str(error)
            yield text if text.startswith(owner) else f"{owner}: {text}"


def _cover(geometry: Element, owner: str, urdf: Path | None) -> Cover:
    shapes = [shape for shape in geometry if shape.tag in KINDS]
    if len(shapes) != 1:
        raise ModelError(f"{owner}: <geometry> of <collision> must be one of {', '.join(KINDS)}")
    shape = shapes[0]
    if shape.tag == "sphere":
        return Cover(np.zeros(3), np.zeros(3), _size(shape, "radius", owner))
    if shape.tag == "box":
        corners = np.array(np.meshgrid(*([-x / 2, x / 2] for x in _sizes(shape, "size", owner)))).reshape(3, -1).T
        return covering_capsule(corners)
    if shape.tag == "mesh":
        return _mesh(shape, owner, urdf)
    radius, length = _size(shape, "radius", owner), _size(shape, "length", owner)
    if shape.tag == "cylinder":
        return covering_cylinder(radius, length)
    end = np.array([0.0, 0.0, length / 2])
    return Cover(-end, end, radius)


def _mesh(shape: Element, owner: str, urdf: Path | None) -> Cover:
    filename = shape.get("filename", "")
    if urdf is None:
        raise ModelError(f"mesh {filename!r:.100}: a URDF that is no file has no folder to look in")
    scale = vector(shape, "scale", owner, default=(1.0, 1.0, 1.0))
    with np.errstate(over="ignore"):  # what is infinite then is refused
        points = vertices(locate(filename, urdf)) * scale
    bounded(points, LENGTH, f"mesh {filename!r:.100}: its vertices, scaled,")
    return covering_capsule(points)


def _size(shape: Element, key: str, owner: str) -> float:
    value = number(shape, key, owner)
    if value <= 0:
        raise ModelError(f"{owner}: {key} of <{shape.tag}> must be positive; got {value:g}")
    bounded(value, LENGTH, f"{owner}: {key} of <{shape.tag}>")
    return value


def _sizes(shape: Element, key: str, owner: str) -> list[float]:
    values = list(numbers(shape, key, owner, 3, None))
    if min(values) <= 0:
        raise ModelError(f"{owner}: {key} of <{shape.tag}> must be positive; got {values}")
    bounded(values, LENGTH, f"{owner}: {key} of <{shape.tag}>")
    return values
