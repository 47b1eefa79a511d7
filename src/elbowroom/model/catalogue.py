"""The arms that come with elbowroom, one TOML file each, and the reader of such files.

SI units.  A key that holds an angle is in radians, or in degrees with `_deg` after its name; below, `rpy`,
`lower` and so on stand for either spelling.  Unknown keys are refused, so that a slip of the pen is found.

    name, convention                 required; "dh" (standard), "mdh" (modified) or "frames" (as in URDF)
    description, source              one line each; the source is where the numbers come from
    gravity                          [x, y, z] in the world; 9.81 m/s^2 downwards when left out
    ready                            a configuration inside the limits to start from, one number a joint
    looks                            {wheel, file, tip}: a URDF file in a wheel that shows it (model/visuals.py)
    tool.xyz, tool.rpy               the tool in the last frame of the convention
    base.capsules, base.covers       capsules of what stands still, in the base frame; as those of a link

    [[joint]]                        one table a joint, base first; messages count them from 0
    name, kind                       kind is "revolute" or "prismatic"
    a, alpha, d, theta               dh, mdh: the row of the table at q = 0; what is left out is 0
    xyz, rpy, axis                   frames: the joint in the previous link's frame; its axis, else z
    lower, upper, velocity, effort   limits; none where left out
    viscous, coulomb, rotor_inertia  drive as the joint feels it
    motor_viscous, motor_coulomb,    drive as the motor feels it; reflected to the joint, inertia and viscous
      motor_inertia, gear_ratio      friction by the ratio squared, Coulomb friction by its magnitude
    link.name, link.mass, link.com   in the link's frame of the convention
    link.inertia, link.com_rpy       [ixx, iyy, izz, ixy, iyz, ixz] about com; the axes it is given in, turned
    link.capsules                    [{name, a, b, radius}, ...] that cover the link, in the same frame as com;
                                     without b a sphere; names differ within an arm
    link.covers.NAME                 the link's capsules in another cover of the arm, by that cover's name

Coulomb friction may be a pair, one number a direction of motion; the model takes their mean magnitude.
A "frames" joint whose axis is not z is re-expressed: its link's frame is turned so that z is the axis.
"""

from __future__ import annotations

import importlib.resources
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import ModelError, UnknownNameError, close_names, did_you_mean
from ..reading import named, parse_toml, read_bytes
from .capsules import BASE, LinkCapsule, moved_capsule
from .check import ANGLE, LENGTH, LINK_FIELDS, RATIO, Bound, bounded
from .dh import from_dh, from_mdh
from .inertia import MassProperties, from_six, moved
from .model import STANDARD_GRAVITY, Array, Model, create
from .rotations import pose, rpy, z_to

_SHELF = importlib.resources.files("elbowroom.model") / "catalogue"  # a folder of data beside this module
MAX_BYTES = 10_000_000  # of a file
_ROUNDING = 1e-15  # entries of a product of rotations are this far off at most
_Z = (0.0, 0.0, 1.0)
_ZERO = (0.0, 0.0, 0.0)


def names() -> tuple[str, ...]:
    """The names of all arms that come with elbowroom, sorted."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in _SHELF.iterdir() if f.name.endswith(".toml")))


def load(name: str) -> Model:
    """The arm of that name."""
    known = names()
    if name not in known:
        hint = did_you_mean(str(name).lower(), known, 3) or "."
        raise UnknownNameError(f"no robot {name!r} in the catalogue{hint} It has: {', '.join(known)}")
    file = f"{name}.toml"
    return _model((_SHELF / file).read_bytes(), file)


def from_toml(path: str | os.PathLike[str]) -> Model:
    """The arm that a TOML file of the catalogue's own layout describes."""
    return _model(read_bytes(path, MAX_BYTES, ModelError), named(path))


class Looks(NamedTuple):
    """Where a description is: the wheel, the end of the file's path in it, and the link that the arm ends at."""

    wheel: str
    file: str
    tip: str


def looks_of(what: str | os.PathLike[str]) -> Looks | None:
    """Where the looks of an arm of the catalogue, or of a TOML file of its layout, are; None where it does not say."""
    if os.fspath(what) in names():
        data = (_SHELF / f"{os.fspath(what)}.toml").read_bytes()
    else:
        data = read_bytes(what, MAX_BYTES, ModelError)
    return _looks(_Table(named(what), "", parse_toml(data, named(what), ModelError)))


@dataclass
class _Table:
    """One table of a file.  What is read is remembered, so that `close` can refuse the rest."""

    file: str
    path: str  # where in the file, "" at its top
    content: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    def has(self, key: str) -> bool:
        self.asked.append(key)
        return key in self.content

    def refuse(self, key: str, expected: str) -> NoReturn:
        got = f"got {self.content[key]!r:.500}" if key in self.content else "it is missing"
        raise ModelError(f"{self.file}: {self.path}{key}: expected {expected}; {got}")

    def choice(self, key: str, *choices: str) -> str:
        if not self.has(key) or self.content[key] not in choices:
            self.refuse(key, " or ".join(f'"{c}"' for c in choices))
        return str(self.content[key])

    def text(self, key: str, default: str | None = None) -> str:
        if not self.has(key) and default is not None:
            return default
        if not isinstance(self.content.get(key), str):
            self.refuse(key, "a string")
        return str(self.content[key])

    def number(self, key: str, default: float | None = None) -> float:
        if not self.has(key) and default is not None:
            return default
        if not _finite(self.content.get(key)):
            self.refuse(key, "a finite number")
        return float(self.content[key])

    def vector(self, key: str, size: int, default: tuple[float, ...] | None = None) -> Array:
        if not self.has(key) and default is not None:
            return np.array(default)
        value = self.content.get(key)
        if not isinstance(value, list) or len(value) != size or not all(map(_finite, value)):
            self.refuse(key, f"{size} finite numbers")
        return np.array(value, dtype=float)

    def friction(self, key: str) -> float:
        """A magnitude; of a pair, one number a direction, the mean magnitude."""
        if self.has(key) and isinstance(self.content[key], list):
            return sum(abs(x) / 2 for x in self.vector(key, 2).tolist())
        return self.number(key, 0.0)

    def number_angle(self, key: str, default: float | None = None) -> float:
        if self._in_degrees(key):
            return math.radians(self.number(key + "_deg"))
        return self.number(key, default)

    def vector_angle(self, key: str, size: int, default: tuple[float, ...] | None = None) -> Array:
        if self._in_degrees(key):
            return np.array([math.radians(x) for x in self.vector(key + "_deg", size)])
        return self.vector(key, size, default)

    def turn(self, key: str) -> Array:
        """The rotation (3, 3) of roll, pitch and yaw."""
        angles = self.vector_angle(key, 3, _ZERO)
        self.bounded(key, angles, ANGLE)
        return rpy(*angles)

    def place(self, key: str) -> Array:
        """A point, the origin where it is left out."""
        at = self.vector(key, 3, _ZERO)
        self.bounded(key, at, LENGTH)
        return at

    def bounded(self, key: str, value: Any, bound: Bound, owner: str = "") -> None:
        """Refuses what is beyond a bound before it is computed with."""
        bounded(value, bound, f"{self.file}: {self.path}{key}{owner}")

    def _in_degrees(self, key: str) -> bool:
        if self.has(key + "_deg") and key in self.content:
            self.refuse(key, f"no such key beside {key}_deg, which says the same")
        return key + "_deg" in self.content

    def inner(self, key: str, default: dict[str, Any] | None = None) -> _Table:
        if not self.has(key) and default is not None:
            return _Table(self.file, f"{self.path}{key}.", default)
        if not isinstance(self.content.get(key), dict):
            self.refuse(key, "a table")
        return _Table(self.file, f"{self.path}{key}.", self.content[key])

    def close(self) -> None:
        for key in self.content:
            if key not in self.asked:
                near = close_names(key, self.asked) or sorted(set(self.asked))
                raise ModelError(
                    f"{self.file}: {self.path}{key}: unknown key; expected {' or '.join(near)}; "
                    f"got {self.content[key]!r:.500}"
                )


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


class _Covers(NamedTuple):
    """The capsules of one link, in its own cover and in others by name."""

    own: list[LinkCapsule]
    others: dict[str, list[LinkCapsule]]


class _Joint(NamedTuple):
    """One [[joint]] table: the columns that every convention shares, and the placement's own."""

    shared: dict[str, Any]
    body: MassProperties
    placement: dict[str, Any]
    covers: _Covers


def _model(data: bytes, file: str) -> Model:
    top = _Table(file, "", parse_toml(data, file, ModelError))
    convention = _CONVENTIONS[top.choice("convention", *_CONVENTIONS)]
    if not top.has("joint") or not isinstance(top.content["joint"], list) or not top.content["joint"]:
        top.refuse("joint", "at least one [[joint]] table")
    joints = [_joint(top, i, content, convention.placement) for i, content in enumerate(top.content["joint"])]
    columns = {key: [joint.shared[key] for joint in joints] for key in joints[0].shared}
    for what in ("joint_names", "link_names"):
        for name in columns[what]:
            if columns[what].count(name) > 1:
                raise ModelError(f"{file}: {what}: expected different names; got {name!r} twice")
    kinds = "".join(columns.pop("kinds"))
    tool = top.inner("tool", {})
    tool_pose = pose(tool.turn("rpy"), tool.place("xyz"))
    tool.close()
    base = top.inner("base", {})
    covers = [_capsules(base, BASE), *(joint.covers for joint in joints)]
    base.close()
    header = {
        "name": top.text("name"),
        "description": top.text("description", ""),
        "source": top.text("source", ""),
        "gravity": top.vector("gravity", 3, STANDARD_GRAVITY),
        "ready": _ready(top, kinds, columns["lower"], columns["upper"]),
        "capsules": [capsule for part in covers for capsule in part.own],
        "covers": _by_name(covers),
    }
    _looks(top)  # no part of the model
    top.close()
    try:
        return convention.assemble(kinds, joints, tool=tool_pose, **header, **columns)
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from error


def _looks(top: _Table) -> Looks | None:
    if not top.has("looks"):
        return None
    table = top.inner("looks")
    found = Looks(table.text("wheel"), table.text("file"), table.text("tip"))
    table.close()
    return found


def _joint(top: _Table, i: int, content: Any, placement: Callable[[_Table], dict[str, Any]]) -> _Joint:
    if not isinstance(content, dict):
        top.refuse("joint", "[[joint]] tables only")
    row = _Table(top.file, f"joint[{i}].", content)
    kind = row.choice("kind", "revolute", "prismatic")
    measure = row.number_angle if kind == "revolute" else row.number  # degrees mean nothing along a slide
    link = row.inner("link")
    turn, name = link.turn("com_rpy"), link.text("name")
    given = MassProperties(link.number("mass"), link.vector("com", 3), from_six(*link.vector("inertia", 6)))
    for key, bound in LINK_FIELDS.items():
        link.bounded(key, getattr(given, key), bound, f" (link {name!r})")
    body = given._replace(inertia=turn @ given.inertia @ turn.T)
    shared = {
        "kinds": kind[0].upper(),
        "joint_names": row.text("name"),
        "link_names": name,
        "lower": measure("lower", -math.inf),
        "upper": measure("upper", math.inf),
        "velocity": measure("velocity", math.inf),
        "effort": row.number("effort", math.inf),
        **_drive(row),
    }
    joint = _Joint(shared, body, placement(row), _capsules(link, i))
    link.close()
    row.close()
    return joint


def _capsules(part: _Table, link: int) -> _Covers:
    """The capsules of a link's table or of the base's."""
    covers = part.inner("covers", {})
    others = {name: _capsule_list(covers, name, link) for name in covers.content}
    return _Covers(_capsule_list(part, "capsules", link), others)


def _capsule_list(part: _Table, key: str, link: int) -> list[LinkCapsule]:
    if not part.has(key):
        return []
    rows = part.content[key]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        part.refuse(key, "a list of {name, a, b, radius}")
    found = []
    for k, content in enumerate(rows):
        row = _Table(part.file, f"{part.path}{key}[{k}].", content)
        name, a, radius = row.text("name"), tuple(row.vector("a", 3).tolist()), row.number("radius")
        if not name:
            row.refuse("name", "a name")
        if radius <= 0:
            row.refuse("radius", "a positive number")
        found.append(LinkCapsule(name, link, a, tuple(row.vector("b", 3, a).tolist()), radius))
        row.close()
    return found


def _by_name(parts: list[_Covers]) -> dict[str, list[LinkCapsule]]:
    names = dict.fromkeys(name for part in parts for name in part.others)
    return {name: [capsule for part in parts for capsule in part.others.get(name, [])] for name in names}


def _drive(row: _Table) -> dict[str, float]:
    """Viscous and Coulomb friction at the joint; the rotor's own inertia with the ratio that reflects it."""
    ratio = row.number("gear_ratio", 1.0)
    row.bounded("gear_ratio", ratio, RATIO)
    at_motor = [key for key in ("motor_viscous", "motor_coulomb", "motor_inertia") if row.has(key)]
    if bool(at_motor) != ("gear_ratio" in row.content) or ratio == 0:
        row.refuse("gear_ratio", "a ratio other than 0 exactly where motor_ keys need one")
    for key, joint_side in (("viscous", "viscous"), ("coulomb", "coulomb"), ("inertia", "rotor_inertia")):
        if row.has(joint_side) and f"motor_{key}" in at_motor:
            row.refuse(joint_side, f"no such key beside motor_{key}, which says the same")
    return {
        "viscous": row.number("viscous", 0.0) + row.number("motor_viscous", 0.0) * ratio**2,
        "coulomb": row.friction("coulomb") + row.friction("motor_coulomb") * abs(ratio),
        "rotor_inertia": row.number("rotor_inertia", 0.0) + row.number("motor_inertia", 0.0),
        "gear_ratio": ratio if "motor_inertia" in at_motor else 1.0,
    }


def _ready(top: _Table, kinds: str, lower: list[float], upper: list[float]) -> Array | None:
    slides = "P" in kinds  # degrees mean nothing along a slide
    if not top.has("ready") and (slides or not top.has("ready_deg")):
        return None
    ready = (top.vector if slides else top.vector_angle)("ready", len(kinds))
    for i, (low, q, high) in enumerate(zip(lower, ready, upper, strict=True)):
        if not low <= q <= high:
            raise ModelError(f"{top.file}: ready[{i}]: expected a value from {low:g} to {high:g}; got {q:g}")
    return ready


class _Convention(NamedTuple):
    """How a convention reads a joint's placement, and how it makes the arm of all joints."""

    placement: Callable[[_Table], dict[str, Any]]
    assemble: Callable[..., Model]


def _dh_row(row: _Table) -> dict[str, Any]:
    return {
        "a": row.number("a", 0.0),
        "alpha": row.number_angle("alpha", 0.0),
        "d": row.number("d", 0.0),
        "theta": row.number_angle("theta", 0.0),
    }


def _frame(row: _Table) -> dict[str, Any]:
    axis = row.vector("axis", 3, _Z)
    if not axis.any():
        row.refuse("axis", "a direction")
    return {"T": pose(row.turn("rpy"), row.place("xyz")), "axis": axis}


def _from_table(maker: Callable[..., Model]) -> Callable[..., Model]:
    """The assembly of a Denavit-Hartenberg convention, `maker` being from_dh or from_mdh."""

    def assemble(kinds: str, joints: list[_Joint], **rest: Any) -> Model:
        table = {key: [joint.placement[key] for joint in joints] for key in ("a", "alpha", "d", "theta")}
        return maker(kinds=kinds, **table, **_bodies([joint.body for joint in joints]), **rest)

    return assemble


def _from_frames(
    kinds: str,
    joints: list[_Joint],
    *,
    tool: Array,
    capsules: list[LinkCapsule],
    covers: dict[str, list[LinkCapsule]],
    **rest: Any,
) -> Model:
    """Each link's frame turned by Z, which carries z onto the joint's axis: T_i becomes Z_(i-1)^T T_i Z_i."""
    turns = [pose(z_to(joint.placement["axis"]), _ZERO) for joint in joints]
    before = [np.eye(4), *turns[:-1]]
    placed = [_snapped(Z.T @ joint.placement["T"] @ turn) for joint, Z, turn in zip(joints, before, turns, strict=True)]
    E, p = [T[:3, :3] for T in placed], [T[:3, 3] for T in placed]
    bodies = [moved(joint.body, turn.T) for joint, turn in zip(joints, turns, strict=True)]

    def turned(cover: list[LinkCapsule]) -> list[LinkCapsule]:
        return [c if c.link == BASE else moved_capsule(c, turns[c.link].T) for c in cover]

    rest |= {"capsules": turned(capsules), "covers": {name: turned(cover) for name, cover in covers.items()}}
    return create(kinds, E, p, **_bodies(bodies), tool=_snapped(turns[-1].T @ tool), **rest)


def _bodies(bodies: list[MassProperties]) -> dict[str, Any]:
    return {
        "mass": np.array([body.mass for body in bodies]),
        "com": np.array([body.com for body in bodies]),
        "inertia": np.array([body.inertia for body in bodies]),
    }


def _snapped(T: Array) -> Array:
    """T with exact zeros and ones where rounding missed them, for a traced program to fold."""
    whole = np.round(T)
    return np.where(np.abs(T - whole) < _ROUNDING, whole, T)


_CONVENTIONS = {
    "dh": _Convention(_dh_row, _from_table(from_dh)),
    "mdh": _Convention(_dh_row, _from_table(from_mdh)),
    "frames": _Convention(_frame, _from_frames),
}
