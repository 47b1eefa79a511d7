"""From URDF: the serial chain from the root link to a tip, with everything else merged into it.

A URDF is a tree.  Joint j stands in its parent link at T_j (its `origin`); the child link's frame is the
joint's, moved about or along `axis`.  Our joints move about or along z, so our frame i is the URDF frame of
the i-th moving joint turned by a rotation Z_i that carries z onto the axis:

    (E_i, p_i) = Z_{i-1}^T  T_a T_b ... T_i  Z_i      T_a, T_b ...: the fixed joints on the way; Z_0 = 1
    tool       = Z_n^T  T_c T_d ...                   the fixed joints from the last moving link to the tip

Only joints on the chain move.  Every other link is rigid in the chain link that carries it, where its own
joints at zero put it, and adds its mass there; a `ModelWarning` names the movable joints locked in this way.
What the root carries does not move and is left out.

Without a `tip` the arm must have one end: one moving link that carries no further moving link.  The tip is
the leaf at the end of the longest run of fixed joints from there.  Fixed branches elsewhere (a camera, a base
plate) do not matter; two ends (fingers, two arms) or two such leaves are an error that lists the tips.

The XML is read without DTD, entities or anything external, and capped in size, depth and number of elements.
Meshes, transmissions and simulator extensions are not looked at.
"""

from __future__ import annotations

import difflib
import math
import os
import warnings
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from ..errors import ModelError, ModelWarning
from .inertia import NOTHING, Body, from_six, merge, moved
from .model import Array, Model, create
from .rotations import pose, rpy, z_to

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_ELEMENTS = 200_000
ROUNDING = 1e-15
"""What is this small beside its neighbours is left over from rounding, and would cost operations."""

_LETTER = {"revolute": "R", "continuous": "R", "prismatic": "P"}
_KINDS = (*_LETTER, "fixed", "floating", "planar")


@dataclass(frozen=True, eq=False)
class _Joint:
    name: str
    kind: str
    parent: str
    child: str
    T: Array  # (4, 4) its frame, and the child link's, in the parent link at zero
    element: Element


@dataclass(frozen=True, eq=False)
class _Tree:
    root: str
    bodies: dict[str, Body]  # by link, in the link's own frame
    joints: list[_Joint]  # the joint that leads to a link comes before those that leave it


_Seats = dict[str, tuple[int, Array]]
"""By link: the chain link that carries it (-1: the root), and its pose (4, 4) in that link's URDF frame."""


def load(path: str | os.PathLike[str], tip: str | None = None, *, name: str | None = None) -> Model:
    """The chain from the root link to link `tip` of a URDF file; the tool frame is the tip's own frame.

    `name` replaces the robot's name in the file.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return _model(data, tip, name, fallback=file.stem, source=file.name)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def parse(text: str | bytes, tip: str | None = None, *, name: str | None = None) -> Model:
    """As `load`, from the text of a URDF."""
    return _model(text, tip, name, fallback="robot", source="")


def _model(data: str | bytes, tip: str | None, name: str | None, fallback: str, source: str) -> Model:
    robot = _read_xml(data)
    tree = _read_tree(robot)
    name = name or robot.get("name") or fallback
    tip = _only_tip(tree) if tip is None else _known(tip, tree)
    moving = _moving_joints(tree, tip)
    seats = _seats(tree, moving)
    model = _chain(tree, tip, moving, seats, name, source)

    movable = (joint for joint in tree.joints if joint.kind != "fixed" and seats[joint.parent][0] >= 0)
    locked = [joint.name for joint in movable if joint.name not in model.joint_names]
    if locked:
        message = f"{name}: joints off the chain to {tip!r} are locked at zero: {_quoted(locked)}"
        warnings.warn(message, ModelWarning, stacklevel=3)
    missing = [f"joint {joint.name!r} has no {what}" for joint in moving for what in _missing_limits(joint)]
    if missing:
        warnings.warn(f"{name}: taken as unlimited: {'; '.join(missing)}", ModelWarning, stacklevel=3)
    return model


def _chain(tree: _Tree, tip: str, moving: list[_Joint], seats: _Seats, name: str, source: str) -> Model:
    """The moving joints as a Model, each link with the mass of all that sits on it."""
    turns = [pose(z_to(_axis(joint)), (0, 0, 0)) for joint in moving]  # Z_i; its transpose is its inverse
    placements = [
        before.T @ seats[joint.parent][1] @ joint.T @ Z
        for before, joint, Z in zip([np.eye(4), *turns[:-1]], moving, turns, strict=True)
    ]
    parts: list[list[Body]] = [[] for _ in moving]
    for link, (i, T) in seats.items():
        body = tree.bodies[link]
        if i >= 0 and (body.mass > 0 or body.inertia.any()):
            parts[i].append(moved(body, turns[i].T @ T))
    links = [reduce(merge, bodies) if bodies else NOTHING for bodies in parts]
    tool = turns[-1].T @ seats[tip][1]
    drives = [_drive(joint) for joint in moving]
    columns: dict[str, Any] = {what: [drive[what] for drive in drives] for what in drives[0]}
    return create(
        [_LETTER[joint.kind] for joint in moving],
        E=np.array([_snapped(T[:3, :3]) for T in placements]),
        p=_without_noise(np.array([T[:3, 3] for T in placements])),
        mass=[link.mass for link in links],
        com=_without_noise(np.array([link.com for link in links])),
        inertia=np.array([_without_noise((link.inertia + link.inertia.T) / 2) for link in links]),
        name=name,
        joint_names=[joint.name for joint in moving],
        link_names=[joint.child for joint in moving],
        tool=pose(_snapped(tool[:3, :3]), _without_noise(tool[:3, 3])),
        source=source,
        **columns,
    )


def _seats(tree: _Tree, moving: list[_Joint]) -> _Seats:
    """Where every link sits with all joints off the chain at zero."""
    index = {joint.name: i for i, joint in enumerate(moving)}
    seats = {tree.root: (-1, np.eye(4))}
    for joint in tree.joints:
        carrier, T = seats[joint.parent]
        on_chain = joint.name in index
        seats[joint.child] = (index[joint.name], np.eye(4)) if on_chain else (carrier, T @ joint.T)
    return seats


def _moving_joints(tree: _Tree, tip: str) -> list[_Joint]:
    """The joints that move between the root and the tip, inboard first."""
    above = {joint.child: joint for joint in tree.joints}
    moving: list[_Joint] = []
    link = tip
    while link in above:
        joint = above[link]
        kind = "mimic" if joint.element.find("mimic") is not None else joint.kind
        if joint.kind in _LETTER and kind != "mimic":
            moving.append(joint)
        elif joint.kind != "fixed":
            raise ModelError(
                f"joint {joint.name!r}: a {kind} joint cannot be on the chain to {tip!r}; "
                f"expected {', '.join(_LETTER)} or fixed"
            )
        link = joint.parent
    if not moving:
        raise ModelError(f"no joint moves between the root {tree.root!r} and the tip {tip!r}")
    return moving[::-1]


def _only_tip(tree: _Tree) -> str:
    """The tip when none is named; see the module docstring."""
    mover = {tree.root: ""}  # by link: the last moving link on the way to it, itself included
    depth = {tree.root: 0}
    ends: set[str] = set()
    for joint in tree.joints:
        depth[joint.child] = depth[joint.parent] + 1
        mover[joint.child] = mover[joint.parent] if joint.kind == "fixed" else joint.child
        if joint.kind != "fixed":
            ends.discard(mover[joint.parent])
            ends.add(joint.child)
    if not ends:
        raise ModelError("no joint moves: every joint is fixed")
    leaves = set(depth) - {joint.parent for joint in tree.joints}
    tips = [link for link in depth if link in leaves and mover[link]]
    if len(ends) == 1:
        tips = [link for link in tips if mover[link] in ends]
        deepest = max(depth[link] for link in tips)
        tips = [link for link in tips if depth[link] == deepest]
    if len(tips) > 1:
        raise ModelError(
            f"several tips: {_quoted(tips)}; name one, or any other link, as tip=... (--tip on the command line)"
        )
    return tips[0]


def _known(tip: str, tree: _Tree) -> str:
    if tip not in tree.bodies:
        near = difflib.get_close_matches(tip, tree.bodies, n=5) or tree.bodies
        raise ModelError(f"there is no link {tip!r} to be the tip; choose from {_quoted(near)}")
    return tip


def _snapped(R: Array) -> Array:
    """A rotation with its entries next to 0, 1 and -1 made exact."""
    whole = np.round(R)
    return np.where(np.abs(R - whole) < ROUNDING, whole, R)


def _without_noise(a: Array) -> Array:
    """The array with zeros for what is nothing beside its largest entry."""
    return np.where(np.abs(a) < ROUNDING * np.abs(a).max(), 0.0, a)


def _read_tree(robot: Element) -> _Tree:
    """The links and joints, checked to be one tree."""
    bodies = {name: _body(element, name) for name, element in _named(robot, "link").items()}
    joints = [_joint(element, name) for name, element in _named(robot, "joint").items()]
    above: dict[str, str] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in bodies:
                raise ModelError(f"joint {joint.name!r}: there is no link {link!r}")
        other = above.setdefault(joint.child, joint.name)
        if other != joint.name:
            raise ModelError(f"link {joint.child!r} has two parents, by joints {other!r} and {joint.name!r}")
    roots = [link for link in bodies if link not in above]
    if len(roots) > 1:
        raise ModelError(f"expected one root link; these have no parent: {_quoted(roots)}")
    outward = _outward(roots[0], joints) if roots else []
    if len(outward) < len(joints):
        cycle = {joint.name for joint in joints} - {joint.name for joint in outward}
        raise ModelError(f"expected a tree; these joints run in a cycle: {_quoted(sorted(cycle))}")
    if not roots:
        raise ModelError("the robot has no links")
    return _Tree(roots[0], bodies, outward)


def _outward(root: str, joints: list[_Joint]) -> list[_Joint]:
    """The joints that the root leads to, in the order that `_Tree` asks for."""
    leaving: dict[str, list[_Joint]] = defaultdict(list)
    for joint in joints:
        leaving[joint.parent].append(joint)
    ordered: list[_Joint] = []
    waiting = deque([root])
    while waiting:
        onward = leaving[waiting.popleft()]
        ordered += onward
        waiting += [joint.child for joint in onward]
    return ordered


def _named(robot: Element, tag: str) -> dict[str, Element]:
    """The robot's own links or joints (a transmission has <joint> elements too) by name."""
    found: dict[str, Element] = {}
    for i, element in enumerate(robot.findall(tag)):
        name = element.get("name")
        if not name:
            raise ModelError(f"{tag} number {i + 1} has no name")
        if name in found:
            raise ModelError(f"two {tag}s are named {name!r}")
        found[name] = element
    return found


def _joint(element: Element, name: str) -> _Joint:
    owner = f"joint {name!r}"
    kind = element.get("type", "")
    if kind not in _KINDS:
        raise ModelError(f"{owner}: type must be one of {', '.join(_KINDS)}; got {kind!r}")
    parent, child = (_part(element, tag).get("link") for tag in ("parent", "child"))
    if not parent or not child:
        raise ModelError(f"{owner}: must name the link of its <parent> and of its <child>")
    return _Joint(name, kind, parent, child, _origin(element, owner), element)


def _body(link: Element, name: str) -> Body:
    owner = f"link {name!r}"
    inertial = link.find("inertial")
    if inertial is None:
        return NOTHING
    mass = _number(_part(inertial, "mass"), "value", owner)
    if mass < 0:  # asked here, since merged into a heavier link it would not show
        raise ModelError(f"{owner}: mass must not be negative; got {mass:g} kg")
    tensor = _part(inertial, "inertia")
    moments = (_number(tensor, which, owner) for which in ("ixx", "iyy", "izz"))
    products = (_number(tensor, which, owner, default=0.0) for which in ("ixy", "iyz", "ixz"))
    return moved(Body(mass, np.zeros(3), from_six(*moments, *products)), _origin(inertial, owner))


def _axis(joint: _Joint) -> Array:
    """The axis of a joint, its largest entry +-1; URDF's default is x."""
    axis = _vector(_part(joint.element, "axis"), "xyz", f"joint {joint.name!r}", default=(1.0, 0.0, 0.0))
    if not axis.any():
        raise ModelError(f"joint {joint.name!r}: axis must not be zero")
    axis /= np.abs(axis).max()  # so that no square overflows on the way to a unit vector
    return axis


def _drive(joint: _Joint) -> dict[str, float]:
    """Limits and friction.  In a <limit>, a lower or upper left out is zero, as in URDF."""
    owner = f"joint {joint.name!r}"
    limit, dynamics = _part(joint.element, "limit"), _part(joint.element, "dynamics")
    unlimited = joint.kind == "continuous" or joint.element.find("limit") is None
    return {
        "lower": -math.inf if unlimited else _number(limit, "lower", owner, default=0.0),
        "upper": math.inf if unlimited else _number(limit, "upper", owner, default=0.0),
        "velocity": _number(limit, "velocity", owner, default=math.inf),
        "effort": _number(limit, "effort", owner, default=math.inf),
        "viscous": _number(dynamics, "damping", owner, default=0.0),
        "coulomb": _number(dynamics, "friction", owner, default=0.0),
    }


def _missing_limits(joint: _Joint) -> list[str]:
    """What URDF demands of a joint's <limit> and the file leaves out."""
    limit = joint.element.find("limit")
    if limit is None:
        return [] if joint.kind == "continuous" else ["<limit>"]
    return [f"{what} limit" for what in ("velocity", "effort") if what not in limit.attrib]


def _origin(element: Element, owner: str) -> Array:
    origin = _part(element, "origin")
    if "quat_xyzw" in origin.attrib:
        raise ModelError(f"{owner}: quat_xyzw of <origin> is not supported; expected rpy")
    return pose(rpy(*_vector(origin, "rpy", owner)), _vector(origin, "xyz", owner))


def _part(element: Element, tag: str) -> Element:
    """The child element, an empty one where there is none."""
    part = element.find(tag)
    return Element(tag) if part is None else part


def _number(part: Element, key: str, owner: str, default: float | None = None) -> float:
    return _numbers(part, key, owner, 1, None if default is None else (default,))[0]


def _vector(part: Element, key: str, owner: str, default: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    return np.array(_numbers(part, key, owner, 3, default))


def _numbers(part: Element, key: str, owner: str, n: int, default: Sequence[float] | None) -> Sequence[float]:
    """The n finite numbers in an attribute, or the default where it is missing."""
    text = part.get(key)
    if text is None and default is not None:
        return default
    try:
        values = [float(word) for word in (text or "").split()]
    except ValueError:
        values = []
    if len(values) != n or not all(math.isfinite(value) for value in values):
        expected = "a finite number" if n == 1 else f"{n} finite numbers"
        got = "nothing" if text is None else repr(text[:60])
        raise ModelError(f"{owner}: {key} of <{part.tag}> must be {expected}; got {got}")
    return values


def _quoted(names: Iterable[str], most: int = 40) -> str:
    listed = [repr(name) for name in names]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


class _CappedBuilder(TreeBuilder):
    """Builds the element tree while it stays small, and knows a xacro file when it sees one."""

    depth = 0
    count = 0
    namespace = ""  # of the root, as in "{...}robot"; dropped from every tag

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH:
            raise ModelError(f"XML must not be nested deeper than {MAX_DEPTH} elements")
        if self.count > MAX_ELEMENTS:
            raise ModelError(f"XML must not have more than {MAX_ELEMENTS} elements")
        namespace = tag[: tag.rfind("}") + 1]
        if self.count == 1:
            self.namespace = namespace
        if "xacro" in namespace or any("${" in value for value in attrs.values()):
            raise ModelError("this is a xacro file; run xacro first, as in: xacro arm.xacro > arm.urdf")
        return super().start(tag.removeprefix(self.namespace), attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag.removeprefix(self.namespace))


def _read_xml(data: str | bytes) -> Element:
    """The <robot> element."""
    if len(data) > MAX_BYTES:
        raise ModelError(f"a URDF must not be larger than {MAX_BYTES / 1e6:g} MB")
    parser = XMLParser(target=_CappedBuilder(), forbid_dtd=True)
    try:
        parser.feed(data)
        robot: Element = parser.close()
    except ModelError:
        raise
    except DefusedXmlException as error:
        raise ModelError("a URDF must not have a DTD, entities or external references") from error
    except ParseError as error:  # its text has the line and the column
        hint = "; if this is a xacro file, run xacro first" if "unbound prefix" in str(error) else ""
        raise ModelError(f"not well-formed XML: {error}{hint}") from error
    except (ValueError, LookupError) as error:
        raise ModelError(f"text that cannot be decoded: {error}") from error
    if robot.tag != "robot":
        raise ModelError(f"the outermost element of a URDF must be <robot>; got <{robot.tag}>")
    return robot
