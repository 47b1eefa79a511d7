"""What an arm looks like: the <visual> elements of a URDF, as data for those who draw it.

    visuals_of("arm.urdf", "tool0")        a tuple of `Visual`, fixed joints merged as `urdf.load` merges them
    visuals_of("panda")                    those of a description in an installed wheel, else ()

Looks have no part in a Model: neither its digest nor anything that is computed depends on them.  Mesh files are found
here (model/packages.py) and not read: who draws reads them.  What cannot be drawn is named
in a `MissingShapeWarning` and stands in the tuple as `missing` with its reason, so that the link's capsules can be
shown for it, and said why.

An arm of the catalogue borrows its looks from a robot description in an installed wheel; its TOML file says which:

    looks = { wheel = "example-robot-data", file = "an_arm/urdf/an_arm.urdf", tip = "flange" }

Without the wheel there is nothing, and the arm is drawn by its capsules.  The description and the catalogue may place
the frames of their links differently.  With A_i(q) and B_i(q) link i in the catalogue's and in the description's chain,
what is fixed to the one is fixed to the other where

    C_i = A_i(q)^-1 B_i(q)

is the same for all q, and then a pose in the description's frame i is C_i times it in ours.  It is computed at a few
configurations; where they differ by more than can be seen, that is another arm: a `ModelNotice` says so.
"""

from __future__ import annotations

import importlib.metadata
import os
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ..errors import MissingShapeWarning, ModelError, ModelNotice, warn
from . import catalogue, mjcf
from .catalogue import Looks
from .check import LENGTH, bounded
from .collision import ShapeProblem, reasons, told
from .meshes import MAX_BYTES, SUFFIXES
from .model import Array, Model
from .packages import locate, shortened
from .rotations import pose
from .urdf import beyond, carried, placements_of
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

SAMPLES = 5
FARTHEST = 0.002  # m, and turned by so much at a metre: a description rounds to millimetres


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
    wrong: list[ShapeProblem] = []
    left, room = MOST, MOST_BYTES
    for name, element, link, T in links:
        for visual, bytes_, problem in _drawn(element, name, link, T, path, materials):
            if problem:
                wrong.append(problem)
            elif left == 0 or bytes_ > room:
                file = f"mesh {Path(visual.mesh).name!r}: " if visual.mesh else ""
                text = f"link {name!r}: {file}more than {MOST} shapes or {MOST_BYTES / 1e6:g} MB of meshes"
                wrong.append(ShapeProblem(name, text))
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
) -> Iterator[tuple[Visual, int, ShapeProblem | None]]:
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
            problem = ShapeProblem.of(name, error)
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


class Borrowed(NamedTuple):
    """A description on this machine, and its link frames in ours, the base first."""

    file: Path
    tip: str
    frames: list[Array]  # n + 1 of (4, 4)


def borrowed(model: Model, looks: Looks) -> Borrowed | None:
    """The description that an arm's looks are in; None where it is not installed, or is that of another arm."""
    file = installed(looks)
    if file is None:
        return None
    try:
        frames = frames_in(model, file, looks.tip)
    except ModelError as error:
        warnings.warn(f"{model.name}: drawn by its capsules, not as in {looks.wheel}: {error}", ModelNotice, 2)
        return None
    return Borrowed(file, looks.tip, frames)


def installed(looks: Looks) -> Path | None:
    """The file, if the wheel is installed and has it."""
    try:
        wheel = importlib.metadata.distribution(looks.wheel)
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in wheel.files or ():
        if file.as_posix().endswith(f"/{looks.file}"):
            path = Path(str(wheel.locate_file(file)))
            return path if path.is_file() else None
    return None


def frames_in(model: Model, file: Path, tip: str) -> list[Array]:
    """The link frames of a description in those of the model, the base first; a ModelError where they are not fixed."""
    kinds, placements = placements_of(file, tip)
    if kinds != model.kinds:
        raise ModelError(f"{file.name} has joints {kinds} to {tip!r}; expected {model.kinds}")
    ours = [pose(E, p) for E, p in zip(model.E, model.p, strict=True)]
    low, high = model.sampling_range()
    Q = np.random.default_rng(0).uniform(low, high, (SAMPLES, model.n))  # any: the same ones each time
    found = np.array([_between(kinds, ours, placements, q) for q in Q])  # (SAMPLES, n, 4, 4)
    off = np.abs(found - found[0]).max(axis=(0, 2, 3))
    if off.max() > FARTHEST:
        link = model.link_names[int(np.argmax(off > FARTHEST))]
        raise ModelError(f"{file.name} is that of an arm of other dimensions: its {link!r} moves otherwise")
    return [np.eye(4), *found[0]]


def _between(kinds: str, ours: list[Array], theirs: list[Array], q: Array) -> list[Array]:
    """C_i at a configuration."""
    A: Array = np.eye(4)
    B: Array = np.eye(4)
    found = []
    for kind, a, b, x in zip(kinds, ours, theirs, q, strict=True):
        moved: Array = np.eye(4)
        if kind == "R":
            moved[:2, :2] = [[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]
        else:
            moved[2, 3] = x
        A, B = A @ a @ moved, B @ b @ moved
        found.append(np.linalg.inv(A) @ B)
    return found
