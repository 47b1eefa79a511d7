"""What an arm looks like: the <visual> elements of a URDF, as data for those who draw it.

    visuals_of("arm.urdf", "tool0")        a tuple of `Visual`, fixed joints merged as `urdf.load` merges them
    visuals_of("panda")                    those of a description in an installed wheel (model/looks.py), else ()

Looks have no part in a Model: neither its digest nor anything that is computed depends on them.  Mesh files are found
here (model/packages.py) and not read: who draws reads them.  What cannot be drawn is named
in a `MissingShapeWarning` and stands in the tuple as `missing` with its reason, so that the link's capsules can be
shown for it, and said why.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from ..errors import MissingShapeWarning, ModelError, warn
from . import catalogue, mjcf
from .bounds import LENGTH, bounded
from .collision import Problem, reasons, told
from .looks import borrowed
from .meshes import MAX_BYTES, SUFFIXES
from .model import Array
from .packages import locate, shortened
from .urdf import beyond, carried
from .urdf_xml import number, numbers, origin, part

MISSING = "missing"
MOST = 120
"""So many visuals of an arm are drawn at most; the others are missing."""
LONGEST = 300  # characters of a reason
MOST_BYTES = 2 * MAX_BYTES
"""And so many bytes of mesh files."""

_SIZES = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
Colour = tuple[float, float, float, float]
Pose = tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True)
class Visual:
    """A thing to draw on a link, of plain numbers and texts only.

    `size` is x, y, z of a box, the radius of a sphere, radius and length of a cylinder or capsule (along z, about the
    middle), and the scale in x, y, z of a mesh; of what is missing it is empty.
    """

    name: str  # of the URDF's link
    link: int  # that carries it: 0 the base, i + 1 link i of the chain
    kind: str  # box, sphere, cylinder, capsule, mesh or missing
    size: tuple[float, ...]
    pose: Pose  # (4, 4) in that link's frame
    mesh: str = ""  # the file
    colour: Colour | None = None  # red, green, blue, opacity, each 0 to 1; None: none is given
    reason: str = ""  # why it is missing, with the names of link and file


def visuals_of(robot: str | os.PathLike[str], tip: str | None = None) -> tuple[Visual, ...]:
    """What to draw of the arm that `load(robot, tip)` gives; nothing for one of which only capsules are known."""
    path = Path(robot)
    if os.fspath(robot) in catalogue.names() or path.suffix.lower() == ".toml":
        return _of_catalogue(robot)
    if path.suffix.lower() not in (".urdf", ".xml", ".mjcf", ".xacro"):
        return ()
    return _of_mjcf(path, tip) if mjcf.is_mjcf(path) else _of_urdf(path, tip)


def _of_catalogue(robot: str | os.PathLike[str]) -> tuple[Visual, ...]:
    """What a wheel has of the arm, in the frames of our links; without what hangs beyond the arm's end."""
    where = catalogue.looks_of(robot)
    if where is None:
        return ()
    name = os.fspath(robot)
    model = catalogue.load(name) if name in catalogue.names() else catalogue.from_toml(robot)
    found = borrowed(model, where)
    if found is None:
        return ()
    shown = _of_urdf(found.file, found.tip, whole=False)
    return tuple(
        visual if visual.kind == MISSING else replace(visual, pose=_plain(found.frames[visual.link] @ visual.pose))
        for visual in shown
    )


def _of_urdf(path: Path, tip: str | None, *, whole: bool = True) -> tuple[Visual, ...]:
    """The visuals of a URDF file; not `whole`: of the links up to the tip alone."""
    root, links = carried(path, tip)
    if not whole and tip is not None:
        off = beyond(root, tip)
        links = [each for each in links if each.name not in off]
    materials = _materials(root)
    found: list[Visual] = []
    wrong: list[Problem] = []
    left, room = MOST, MOST_BYTES
    for name, element, link, T in links:
        for visual, bytes_, problem in _drawn(element, name, link, T, path, materials):
            if problem:
                wrong.append(problem)
            elif left == 0 or bytes_ > room:
                file = f"mesh {Path(visual.mesh).name!r}: " if visual.mesh else ""
                text = f"link {name!r}: {file}more than {MOST} shapes or {MOST_BYTES / 1e6:g} MB of meshes"
                wrong.append(Problem(name, text))
                visual = _missing(name, link, text)
            else:
                left, room = left - 1, room - bytes_
            found.append(visual)
    if wrong:
        message = f"{root.get('name') or path.stem}: not drawn, capsules are shown instead: {told(wrong)}"
        warn(MissingShapeWarning(message, reasons(wrong)))
    return tuple(_once_missing(found))


def _of_mjcf(path: Path, tip: str | None) -> tuple[Visual, ...]:
    found: list[Visual] = []
    for k, geom in enumerate(mjcf.seen(path, tip)):
        problem = f"link {geom.name!r}: more than {MOST} shapes" if k >= MOST else ""
        if geom.kind == "mesh" and not (geom.mesh.lower().endswith(SUFFIXES) and os.path.isfile(geom.mesh)):
            problem = f"link {geom.name!r}: mesh {Path(geom.mesh).name!r}: not a file of one of {', '.join(SUFFIXES)}"
        if problem:
            found.append(_missing(geom.name, geom.link, problem))
        else:
            found.append(Visual(geom.name, geom.link, geom.kind, geom.size, _plain(geom.T), geom.mesh, geom.colour))
    return tuple(_once_missing(found))


def _once_missing(found: list[Visual]) -> Iterator[Visual]:
    """One that is missing stands for all of its link, and its reason says how many."""
    more = Counter(visual.link for visual in found if visual.kind == MISSING)
    for visual in found:
        if visual.kind != MISSING:
            yield visual
            continue
        others = more.pop(visual.link, 0) - 1
        if others > 0:
            visual = replace(visual, reason=f"{visual.reason}; and {others} more of this link")
        if others >= 0:
            yield visual


def _drawn(
    element: Element, name: str, link: int, T: Array, urdf: Path, materials: dict[str, Colour]
) -> Iterator[tuple[Visual, int, Problem | None]]:
    """The visuals of a URDF link that stands at T in `link`, the bytes of their files, and what is wrong with them."""
    owner = f"link {name!r}"
    for visual in element.findall("visual"):
        try:
            kind, size, mesh = _shape(part(visual, "geometry", owner), owner, urdf)
            pose = T @ origin(visual, owner)
            bytes_ = os.stat(mesh).st_size if mesh else 0
            if bytes_ > MAX_BYTES:
                raise ModelError(f"mesh {Path(mesh).name!r}: must not be larger than {MAX_BYTES / 1e6:g} MB")
        except (ModelError, OSError) as error:
            problem = Problem.of(name, error)
            yield _missing(name, link, problem.text), 0, problem
            continue
        yield Visual(name, link, kind, size, _plain(pose), mesh, _colour(visual, materials)), bytes_, None


def _missing(name: str, link: int, problem: str) -> Visual:
    short = problem if len(problem) <= LONGEST else f"{problem[:LONGEST]}..."  # it goes with every picture
    return Visual(name, link, MISSING, (), _plain(np.eye(4)), reason=short)


def _plain(pose: Array) -> Pose:
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in pose)


def _shape(geometry: Element, owner: str, urdf: Path) -> tuple[str, tuple[float, ...], str]:
    """Kind, size and mesh file."""
    shapes = [shape for shape in geometry if shape.tag in _SIZES or shape.tag == "mesh"]
    if len(shapes) != 1:
        raise ModelError(f"{owner}: <geometry> of <visual> must be one of {', '.join(_SIZES)}, mesh")
    shape = shapes[0]
    if shape.tag == "mesh":
        filename = shape.get("filename", "")
        if not filename.lower().endswith(SUFFIXES):
            raise ModelError(f"mesh {shortened(filename)}: expected a file of one of {', '.join(SUFFIXES)}")
        scale = tuple(numbers(shape, "scale", owner, 3, (1.0, 1.0, 1.0)))
        if not all(scale):
            raise ModelError(f"{owner}: scale of <mesh> must not be zero; got {list(scale)}")
        bounded(scale, LENGTH, f"{owner}: scale of <mesh>")
        return "mesh", scale, str(locate(filename, urdf).path)
    if shape.tag == "box":
        size = tuple(numbers(shape, "size", owner, 3, None))
    else:
        size = tuple(number(shape, key, owner) for key in _SIZES[shape.tag])
    if min(size) <= 0:
        raise ModelError(f"{owner}: sizes of <{shape.tag}> must be positive; got {list(size)}")
    bounded(size, LENGTH, f"{owner}: sizes of <{shape.tag}>")
    return shape.tag, size, ""


def _materials(robot: Element) -> dict[str, Colour]:
    """Colours by name: the robot's own, and those that a visual defines in passing."""
    found: dict[str, Colour] = {}
    for material in (*robot.findall("material"), *robot.findall("link/visual/material")):
        colour = _rgba(material)
        if colour is not None:
            found.setdefault(material.get("name", ""), colour)
    return found


def _colour(visual: Element, materials: dict[str, Colour]) -> Colour | None:
    material = visual.find("material")
    if material is None:
        return None
    return _rgba(material) or materials.get(material.get("name", ""))


def _rgba(material: Element) -> Colour | None:
    """The colour in a <material>; None where there is none or it makes no sense, since the shape is worth drawing."""
    element = material.find("color")
    if element is None:
        return None
    try:
        r, g, b, a = (min(max(value, 0.0), 1.0) for value in numbers(element, "rgba", "material", 4, None))
    except ModelError:
        return None
    return r, g, b, a
