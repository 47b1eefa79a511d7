"""Models from URDF files: the serial chain from the root link to a tip, with everything else merged into it.

A URDF is a tree.  Joint j stands in its parent link at T_j (its `origin`); the child link's frame is the
joint's, moved about or along `axis`.  Our joints move about or along z, so our frame i is the URDF frame of
the i-th moving joint turned by a rotation Z_i that carries z onto the axis:

    (E_i, p_i) = Z_{i-1}^T  T_a T_b ... T_i  Z_i      T_a, T_b ...: the fixed joints on the way; Z_0 = 1
    tool       = Z_n^T  T_c T_d ...                   the fixed joints from the last moving link to the tip

Only joints on the chain move.  Every other link is rigid in the chain link that carries it, where its own
joints at zero put it, and adds its mass there; a `ModelWarning` names the movable joints locked in this way.
What the root carries does not move; of it only the shape counts.

Without a `tip` the natural one is taken (model/tips.py) and, where there was a choice, a `ModelNotice` says so; where
several chains are equally natural (two arms, four legs) the error lists them.

Collision geometry, or else what is seen, becomes capsules (model/collision.py) on the chain link that carries it, or on
the base; a `ModelWarning` names what has none, since distances will ignore it.  What the arm looks like is read apart
from it (model/visuals.py, by way of `carried`).  Transmissions and simulator extensions are not looked at.
"""

from __future__ import annotations

import math
import os
import warnings
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ..errors import MissingShapeWarning, ModelError, ModelNotice, ModelWarning, close_names, did_you_mean, warn
from ..reading import named, read_up_to
from . import tips
from .capsules import NOT_HELD, LinkCapsule, reduced
from .check import INERTIA, MASS, bounded
from .collision import MANY, LinkShape, reasons, shape_of, told
from .inertia import NOTHING, MassProperties, from_six, merge, moved
from .model import Array, Model, create
from .rotations import pose, z_to
from .urdf_xml import MAX_BYTES, branches, number, only, origin, part, quoted, read_robot, vector
from .xacro import Expanded, expanded, is_xacro

ROUNDING = 1e-15
"""What is this small beside its neighbours is left over from rounding, and would cost operations."""

_LETTER = {"revolute": "R", "continuous": "R", "prismatic": "P"}
_FREE = ("floating", "planar")
_KINDS = (*_LETTER, "fixed", *_FREE)


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
    links: dict[str, Element]
    bodies: dict[str, MassProperties]  # by link, in the link's own frame
    joints: list[_Joint]  # the joint that leads to a link comes before those that leave it


_Seats = dict[str, tuple[int, Array]]
"""By link: the chain link that carries it (-1: the root), and its pose (4, 4) in that link's URDF frame."""


def load(
    path: str | os.PathLike[str], tip: str | None = None, *, name: str | None = None, xacro: bool = False
) -> Model:
    """The chain from the root link to link `tip` of a URDF file; the tool frame is the tip's own frame.

    `name` replaces the robot's name in the file.  `xacro` says that a xacro file may be evaluated (model/xacro.py).
    """
    data, notices = _text_of(path, xacro)
    try:
        return _model(data, tip, name, Path(path), notices)
    except ModelError as error:
        raise ModelError(f"{named(path)}: {error}") from error


def _text_of(path: str | os.PathLike[str], xacro: bool) -> Expanded:
    """The URDF in a file; of a xacro file the one that it gives."""
    data = read_up_to(path, MAX_BYTES + 1, ModelError)
    return expanded(Path(path), data, xacro) if is_xacro(Path(path), data, xacro) else Expanded(data)


def parse(text: str | bytes, tip: str | None = None, *, name: str | None = None) -> Model:
    """As `load`, from the text of a URDF."""
    return _model(text, tip, name, None)


class CarriedLink(NamedTuple):
    """A link of the file, and what carries it."""

    name: str
    element: Element
    link: int  # 0: the base, i + 1: link i of the chain
    T: Array  # (4, 4) its pose in the frame of that


def carried(path: str | os.PathLike[str], tip: str | None = None) -> tuple[Element, list[CarriedLink]]:
    """The <robot> of a URDF file, and all of its links as they ride on the chain that `load(path, tip)` gives."""
    data = _text_of(path, False).urdf
    try:
        robot = read_robot(data)
        tree = _read_tree(robot)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelNotice)  # told by `load`
            end = _guessed(tree, "", None) if tip is None else _known(tip, tree)
        moving = _moving_joints(tree, end)
        turns = [pose(z_to(_axis(joint)), (0, 0, 0)) for joint in moving]
        return robot, [
            CarriedLink(name, tree.links[name], i + 1, T if i < 0 else turns[i].T @ T)
            for name, (i, T) in _seats(tree, moving).items()
        ]
    except ModelError as error:
        raise ModelError(f"{named(path)}: {error}") from error


def root_link(path: str | os.PathLike[str]) -> str:
    """The name of the root link of a URDF file, whose frame is the model's world."""
    try:
        return _read_tree(read_robot(_text_of(path, False).urdf)).root
    except ModelError as error:
        raise ModelError(f"{named(path)}: {error}") from error


def placements_of(path: str | os.PathLike[str], tip: str) -> tuple[str, list[Array]]:
    """The kinds of the joints to `tip` and each one's frame (4, 4) in the one before: the kinematics alone."""
    try:
        tree = _read_tree(read_robot(_text_of(path, False).urdf))
        moving = _moving_joints(tree, _known(tip, tree))
        return "".join(_LETTER[joint.kind] for joint in moving), _placements(moving, _seats(tree, moving))
    except ModelError as error:
        raise ModelError(f"{named(path)}: {error}") from error


def beyond(robot: Element, tip: str) -> set[str]:
    """The links of a <robot> that hang on the link `tip`."""
    tree = _read_tree(robot)
    found = {tip}
    for joint in tree.joints:  # parents first
        if joint.parent in found:
            found.add(joint.child)
    return found - {tip}


def _model(
    data: str | bytes, tip: str | None, name: str | None, file: Path | None, notices: tuple[str, ...] = ()
) -> Model:
    robot = read_robot(data)
    tree = _read_tree(robot)
    name = name or robot.get("name") or ("robot" if file is None else file.stem)
    tip = _guessed(tree, name, file) if tip is None else _known(tip, tree)
    moving = _moving_joints(tree, tip)
    seats = _seats(tree, moving)
    model, shapes = _chain(tree, tip, moving, seats, name, file)

    locked = _locked(tree, set(model.joint_names))
    if locked:
        message = f"{name}: joints off the chain to {tip!r} are locked at zero: {branches(locked)}"
        ride = any(joint.name in locked and seats[joint.parent][0] >= 0 for joint in tree.joints)
        warn(message, ModelWarning if ride else ModelNotice)  # those on the base change nothing of the arm's dynamics
    missing = [f"joint {joint.name!r} has no {what}" for joint in moving for what in _missing_limits(joint)]
    missing += [f"the {what} limits are 0 for every joint" for what in _columns(moving)[1]]
    if missing:
        warn(f"{name}: taken as unlimited: {'; '.join(missing)}")
    for notice in dict.fromkeys([*notices, *(each for shape in shapes.values() for each in shape.notices)]):
        warn(f"{name}: {notice}", ModelNotice)
    many = sum(len(shape.capsules) for shape in shapes.values())
    if many > len(model.capsules):
        warn(f"{name}: {many} capsules were merged into {len(model.capsules)} that hold them; {NOT_HELD}", ModelNotice)
    seen = [link for link, shape in shapes.items() if shape.visual and shape.capsules]
    if seen:
        message = (
            f"{name}: no collision geometry that can be used, capsules are about what is seen: {quoted(seen, MANY)}"
        )
        warn(message, ModelNotice)
    bare = [problem for shape in shapes.values() for problem in shape.problems]
    if bare:
        message = f"{name}: collision geometry without capsules, which distances will ignore: {told(bare)}"
        warn(MissingShapeWarning(message, reasons(bare)))
    return model


def _locked(tree: _Tree, moving: set[str]) -> dict[str, str]:
    """The movable joints off the chain, each with the first one of its branch, which may be itself."""
    first: dict[str, str] = {}  # by link
    found: dict[str, str] = {}
    for joint in tree.joints:  # parents first
        branch = first.get(joint.parent, "")
        if joint.kind != "fixed" and joint.name not in moving:
            branch = branch or joint.name
            found[joint.name] = branch
        if branch:
            first[joint.child] = branch
    return found


def _chain(
    tree: _Tree, tip: str, moving: list[_Joint], seats: _Seats, name: str, file: Path | None
) -> tuple[Model, dict[str, LinkShape]]:
    """The moving joints as a Model, each link with the mass and shape of all it carries; and the links' shapes."""
    turns = [pose(z_to(_axis(joint)), (0, 0, 0)) for joint in moving]  # Z_i; its transpose is its inverse
    placements = _placements(moving, seats)
    parts: list[list[MassProperties]] = [[] for _ in moving]
    for link, (i, T) in seats.items():
        body = tree.bodies[link]
        if i >= 0 and (body.mass > 0 or body.inertia.any()):
            parts[i].append(moved(body, turns[i].T @ T))
    links = [reduce(merge, bodies) if bodies else NOTHING for bodies in parts]
    shapes = {
        link: shape_of(tree.links[link], link, i, T if i < 0 else turns[i].T @ T, file)
        for link, (i, T) in seats.items()
    }
    tool = turns[-1].T @ seats[tip][1]
    model = create(
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
        source="" if file is None else file.name,
        capsules=reduced(_distinct([capsule for shape in shapes.values() for capsule in shape.capsules])),
        **_columns(moving)[0],
    )
    return model, shapes


def _placements(moving: list[_Joint], seats: _Seats) -> list[Array]:
    """Each joint's frame (4, 4) in the one before, z along its axis."""
    turns = [pose(z_to(_axis(joint)), (0, 0, 0)) for joint in moving]
    return [
        before.T @ seats[joint.parent][1] @ joint.T @ Z
        for before, joint, Z in zip([np.eye(4), *turns[:-1]], moving, turns, strict=True)
    ]


def _distinct(capsules: list[LinkCapsule]) -> list[LinkCapsule]:
    """In the order of the links, base first; the name of a link may be that of another's second capsule: not here."""
    taken: set[str] = set()
    found = []
    for capsule in sorted(capsules, key=lambda capsule: capsule.link):
        name = capsule.name
        while name in taken:
            name += "'"
        taken.add(name)
        found.append(replace(capsule, name=name))
    return found


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
    """The joints that move between the root and the tip, inboard first; a base that floats is held at zero."""
    above = {joint.child: joint for joint in tree.joints}
    moving: list[_Joint] = []
    base: _Joint | None = None
    link = tip
    while link in above:
        joint = above[link]
        kind = "mimic" if joint.element.find("mimic") is not None else joint.kind
        moves = joint.kind in _LETTER and kind != "mimic"
        if kind in _FREE and moving:
            base = base or joint
        elif joint.kind != "fixed" and (base or not moves):
            wrong = base or joint
            expected = f"expected {', '.join(_LETTER)} or fixed"
            if kind == "mimic":
                followed = joint.element.find("mimic").get("joint", "")  # type: ignore[union-attr]  # it has one
                expected = (
                    f"it follows joint {followed!r}, and every joint of an arm moves by itself; an arm that ends "
                    f"before it has tip= {joint.parent!r}, and one without the <mimic> element moves both"
                )
            raise ModelError(
                f"joint {wrong.name!r}: a {wrong.kind if base else kind} joint cannot be on the chain to {tip!r}; "
                f"{expected}"
            )
        elif moves:
            moving.append(joint)
        link = joint.parent
    if not moving:
        raise ModelError(f"no joint moves between the root {tree.root!r} and the tip {tip!r}")
    return moving[::-1]


def _guessed(tree: _Tree, name: str, file: Path | None) -> str:
    """The natural tip; where there was a choice, it is told."""
    edges = [
        tips.Edge(
            joint.child,
            joint.parent,
            joint.name,
            moves=(moves := joint.kind in _LETTER and joint.element.find("mimic") is None),
            locked=not moves and joint.kind != "fixed",
            length=float(np.linalg.norm(joint.T[:3, 3])),
        )
        for joint in tree.joints
    ]
    found = tips.guess(tree.root, edges, f"elbowroom check {'arm.urdf' if file is None else named(file)} --tip")
    if found.choices > 1:
        warn(f"{name}: {found}", ModelNotice)
    return found.tip


def _known(tip: str, tree: _Tree) -> str:
    if tip not in tree.bodies:
        near = close_names(tip, tree.bodies, 5) or tree.bodies
        raise ModelError(f"there is no link {tip!r} to be the tip; choose from {quoted(near)}")
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
    links = _named(robot, "link")
    bodies = {name: _body(element, name) for name, element in links.items()}
    joints = [_joint(element, name) for name, element in _named(robot, "joint").items()]
    above: dict[str, str] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in bodies:
                raise ModelError(f"joint {joint.name!r}: there is no link {link!r}{did_you_mean(link, bodies)}")
        other = above.setdefault(joint.child, joint.name)
        if other != joint.name:
            raise ModelError(f"link {joint.child!r} has two parents, by joints {other!r} and {joint.name!r}")
    roots = [link for link in bodies if link not in above]
    if len(roots) > 1:
        raise ModelError(f"expected one root link; these have no parent: {quoted(roots)}")
    outward = _outward(roots[0], joints) if roots else []
    if len(outward) < len(joints):
        cycle = {joint.name for joint in joints} - {joint.name for joint in outward}
        raise ModelError(f"expected a tree; these joints run in a cycle: {quoted(sorted(cycle))}")
    if not roots:
        raise ModelError("the robot has no links")
    return _Tree(roots[0], links, bodies, outward)


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
    parent, child = (part(element, tag, owner).get("link") for tag in ("parent", "child"))
    if not parent or not child:
        raise ModelError(f"{owner}: must name the link of its <parent> and of its <child>")
    return _Joint(name, kind, parent, child, origin(element, owner), element)


def _body(link: Element, name: str) -> MassProperties:
    owner = f"link {name!r}"
    inertial = only(link, "inertial", owner)
    if inertial is None:
        return NOTHING
    mass = number(part(inertial, "mass", owner), "value", owner)
    if mass < 0:  # asked here, since merged into a heavier link it would not show
        raise ModelError(f"{owner}: mass must not be negative; got {mass:g} kg")
    tensor = part(inertial, "inertia", owner)
    moments = [number(tensor, which, owner) for which in ("ixx", "iyy", "izz")]
    products = [number(tensor, which, owner, default=0.0) for which in ("ixy", "iyz", "ixz")]
    bounded(mass, MASS, f"{owner}: mass")  # these too are asked here, by the name of this link and not its carrier's
    bounded(moments + products, INERTIA, f"{owner}: <inertia>")
    return moved(MassProperties(mass, np.zeros(3), from_six(*moments, *products)), origin(inertial, owner))


def _axis(joint: _Joint) -> Array:
    """The axis of a joint, its largest entry +-1; URDF's default is x."""
    owner = f"joint {joint.name!r}"
    axis = vector(part(joint.element, "axis", owner), "xyz", owner, default=(1.0, 0.0, 0.0))
    if not axis.any():
        raise ModelError(f"{owner}: axis must not be zero")
    axis /= np.abs(axis).max()  # so that no square overflows on the way to a unit vector
    return axis


def _drive(joint: _Joint) -> dict[str, float]:
    """Limits and friction.  In a <limit>, a lower or upper left out is zero, as in URDF."""
    owner = f"joint {joint.name!r}"
    limit, dynamics = (part(joint.element, tag, owner) for tag in ("limit", "dynamics"))
    unlimited = joint.kind == "continuous" or joint.element.find("limit") is None
    return {
        "lower": -math.inf if unlimited else number(limit, "lower", owner, default=0.0),
        "upper": math.inf if unlimited else number(limit, "upper", owner, default=0.0),
        "velocity": number(limit, "velocity", owner, default=math.inf),
        "effort": number(limit, "effort", owner, default=math.inf),
        "viscous": number(dynamics, "damping", owner, default=0.0),
        "coulomb": number(dynamics, "friction", owner, default=0.0),
    }


def _columns(moving: list[_Joint]) -> tuple[dict[str, Any], list[str]]:
    """Limits and friction of all joints, and which limits are 0 for every joint: left blank, so taken as not given."""
    drives = [_drive(joint) for joint in moving]
    columns = {what: [drive[what] for drive in drives] for what in drives[0]}
    blank = [what for what in ("velocity", "effort") if not any(columns[what])]
    return columns | {what: [math.inf] * len(moving) for what in blank}, blank


def _missing_limits(joint: _Joint) -> list[str]:
    """What URDF demands of a joint's <limit> and the file leaves out."""
    limit = joint.element.find("limit")
    if limit is None:
        return [] if joint.kind == "continuous" else ["<limit>"]
    return [f"{what} limit" for what in ("velocity", "effort") if what not in limit.attrib]
