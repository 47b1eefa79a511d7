"""Capsules from the shapes of a URDF's links.

    sphere, capsule    themselves
    cylinder, box      the capsule about them, of least volume or near it (model/capsules.py)
    mesh               the same about its vertices, scaled, or a few where one would waste much; any file that
                       model/meshes.py reads, where model/packages.py finds it

A link's <collision> elements are taken, and its <visual> elements where it has none, or none that can be used.  An
element that cannot be used leaves its link without that capsule; what is wrong with it is returned, not raised, since
the arm moves all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ..algebra import Array
from ..disk_cache import numbers as remembered
from ..errors import ModelError
from .capsules import Cover, LinkCapsule, covering_capsule, covering_capsules, covering_cylinder, moved_capsule
from .check import LENGTH, bounded
from .meshes import MAX_BYTES, contents, readers, surfaces
from .packages import NotFoundError, locate, shortened
from .urdf_xml import number, numbers, origin, part, quoted, vector

KINDS = ("sphere", "capsule", "cylinder", "box", "mesh")
MANY = 10
"""A warning lists so many things that failed, and counts the rest."""
Kind = Literal["collision", "visual"]


class ShapeProblem(NamedTuple):
    """What is wrong with a shape of a link: a sentence with its name, and of a file that is not there the reason."""

    link: str
    text: str
    why: str = ""  # the same for all files that are not there for the same reason
    remedy: str = ""

    @classmethod
    def of(cls, link: str, error: Exception) -> ShapeProblem:
        """What an error says about a link."""
        owner, text = f"link {link!r}", str(error)
        text = text if text.startswith(owner) else f"{owner}: {text}"
        return cls(link, text, error.why, error.remedy) if isinstance(error, NotFoundError) else cls(link, text)

    @property
    def reason(self) -> str:
        """Why, and what to do; without the link where others have the same."""
        return f"{self.why}; {self.remedy}" if self.remedy else self.why or self.text


def reasons(problems: list[ShapeProblem]) -> tuple[str, ...]:
    """Why, each reason once, and where there are many the first of them."""
    found = list(dict.fromkeys(problem.reason for problem in problems))
    return (*found[:MANY], *([f"and {len(found) - MANY} more"] if len(found) > MANY else []))


def told(problems: list[ShapeProblem]) -> str:
    """All of them in a sentence; the reason of files that are not there once, with their links."""
    groups: dict[str, list[ShapeProblem]] = {}
    for k, problem in enumerate(problems):
        groups.setdefault(problem.why or str(k), []).append(problem)
    parts = []
    for group in groups.values():
        links = list(dict.fromkeys(problem.link for problem in group))
        alone = len(links) == 1
        parts.append(group[0].text if alone else f"meshes of {quoted(links, MANY)}: {group[0].reason}")
    return "; ".join(parts[:MANY]) + (f"; and {len(parts) - MANY} more" if len(parts) > MANY else "")


@dataclass
class LinkShape:
    """The capsules of a link, what is wrong with its shapes, and what is worth telling about them."""

    capsules: list[LinkCapsule] = field(default_factory=list)
    problems: list[ShapeProblem] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    visual: bool = False  # the capsules are those of its <visual> elements


def shape_of(link: Element, name: str, number_: int, T: Array, urdf: Path | None) -> LinkShape:
    """The capsules of a link that stands at T (4, 4) in frame `number_`.

    `urdf` is the file, beside which meshes lie; None where the URDF is no file.
    """
    shape = LinkShape()
    for kind in ("collision", "visual"):
        shape.visual = kind == "visual" and bool(link.findall("visual"))
        problems: list[ShapeProblem] = []
        _fill(shape, link.findall(kind), kind, name, number_, T, urdf, problems)
        if kind == "collision" or not link.findall("collision"):
            shape.problems += problems
        if shape.capsules:
            shape.problems = shape.problems if not shape.visual else []
            break
    return shape


def _fill(
    shape: LinkShape,
    elements: list[Element],
    kind: Kind,
    name: str,
    number_: int,
    T: Array,
    urdf: Path | None,
    problems: list[ShapeProblem],
) -> None:
    owner = f"link {name!r}"
    covers: list[LinkCapsule] = []
    for element in elements:
        try:
            for cover in _covers(part(element, "geometry", owner), owner, kind, urdf, shape):
                a, b = (tuple(end.tolist()) for end in (cover.a, cover.b))
                capsule = LinkCapsule(name, number_, a, b, cover.radius)
                covers.append(moved_capsule(capsule, T @ origin(element, owner)))
        except ModelError as error:
            problems.append(ShapeProblem.of(name, error))
    for k, capsule in enumerate(covers):
        title = name if len(elements) == 1 and len(covers) == 1 else f"{name}:{k + 1}"
        shape.capsules.append(LinkCapsule(title, capsule.link, capsule.a, capsule.b, capsule.radius))


def _covers(geometry: Element, owner: str, kind: Kind, urdf: Path | None, shape: LinkShape) -> Iterator[Cover]:
    shapes = [inner for inner in geometry if inner.tag in KINDS]
    if len(shapes) != 1:
        raise ModelError(f"{owner}: <geometry> of <{kind}> must be one of {', '.join(KINDS)}")
    solid = shapes[0]
    if solid.tag == "sphere":
        yield Cover(np.zeros(3), np.zeros(3), _size(solid, "radius", owner))
    elif solid.tag == "box":
        corners = np.array(np.meshgrid(*([-x / 2, x / 2] for x in _sizes(solid, "size", owner)))).reshape(3, -1).T
        yield covering_capsule(corners)
    elif solid.tag == "mesh":
        yield from _mesh(solid, owner, urdf, shape)
    else:
        radius, length = _size(solid, "radius", owner), _size(solid, "length", owner)
        end = np.array([0.0, 0.0, length / 2])
        yield covering_cylinder(radius, length) if solid.tag == "cylinder" else Cover(-end, end, radius)


def _mesh(solid: Element, owner: str, urdf: Path | None, shape: LinkShape) -> tuple[Cover, ...]:
    filename = solid.get("filename", "")
    if urdf is None:
        raise ModelError(f"mesh {shortened(filename)}: a URDF that is no file has no folder to look in")
    scale = vector(solid, "scale", owner, default=(1.0, 1.0, 1.0))
    found = locate(filename, urdf)
    if found.instead:
        shape.notices.append(found.instead)
    path = found.path
    changed = path.stat()
    sx, sy, sz = scale.tolist()
    return _fitted(str(path), changed.st_mtime_ns, changed.st_size, (sx, sy, sz), filename)


@lru_cache(maxsize=256)  # both arms of a robot are of the same parts
def _fitted(path: str, changed: int, size: int, scale: tuple[float, float, float], filename: str) -> tuple[Cover, ...]:
    file = Path(path)
    data = contents(file, MAX_BYTES)

    def fit() -> Array:
        points, edges = mesh_points(file, data)
        with np.errstate(over="ignore"):  # what is infinite then is refused
            points = points * np.array(scale)
        bounded(points, LENGTH, f"mesh {shortened(filename)}: its vertices, scaled,")
        return np.array([[*cover.a, *cover.b, cover.radius] for cover in covering_capsules(points, edges)])

    suffix = file.suffix.lower()
    if suffix == ".gltf":  # its vertices are in files beside it
        rows = fit()
    else:
        rows = remembered(fit, 7, "capsules", suffix, hashlib.sha256(data).hexdigest(), scale, *readers())
    return tuple(Cover(row[:3], row[3:6], float(row[6])) for row in rows)


def mesh_points(path: Path, data: bytes | None = None) -> tuple[Array, Array]:
    """(N, 3) vertices and (E, 2) edges of a mesh file, in its own units."""
    points: list[Array] = []
    faces: list[Array] = []
    count = 0
    for surface in surfaces(path, data):
        points.append(surface.vertices)
        faces.append(surface.faces + count)
        count += len(surface.vertices)
    corners = np.concatenate(faces)
    return np.concatenate(points), corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)


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
