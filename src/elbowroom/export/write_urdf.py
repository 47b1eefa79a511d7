"""URDF: the arm for ROS, Pinocchio, Drake and our own reader.

    world           the root; a fixed joint leads to the base, where the model's base stands
    joint i         revolute, continuous (no limits) or prismatic, axis z, at (E_i, p_i) in the link before
    link i          mass, centre and full tensor
    tool            a link without mass, fixed to the last one
    capsules        cylinder and two spheres each, whose union it is; URDF has no capsule that all readers know

A reader must find both limits of a slide, and speed and effort with them; where the model has none, `NO_LIMIT` is
written.  URDF cannot hold rotor inertia, gravity and `ready`; notes say what is lost.

Angles are roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll).  Near pitch = +-90 degrees roll and yaw are each poorly
known and only their sum or difference matters; roll is therefore taken from R with that very yaw undone, so that the
three give R back to rounding wherever R stands.
"""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

import numpy as np

from ..model.capsules import LinkCapsule
from ..model.inertia import about_estimates
from ..model.model import STANDARD_GRAVITY, Array, Model
from ..model.rotations import pose, z_to
from .xml_text import Export, add, document, element, name_of_ours, names

NO_LIMIT = 1e9
"""rad, m, rad/s, m/s, N m, N: written where the model has no limit and URDF demands a number."""


def urdf(model: Model) -> str:
    """The arm as URDF."""
    return urdf_with_notes(model).text


def urdf_with_notes(model: Model) -> Export:
    """As `urdf`, with the notes that also stand at the top of the text."""
    notes = _lost(model)
    notes += filter(None, [about_estimates(model)])
    links: set[str] = set()
    joints: set[str] = set()
    link_names = names(model.link_names, "link", links, notes)
    joint_names = names(model.joint_names, "joint", joints, notes)
    shape_names = names((capsule.name for capsule in model.capsules), "capsule", set(), notes)
    world, base, tool = (name_of_ours(name, links) for name in ("world", "base", "tool"))
    root = element("robot", name=names([model.name], "robot", set(), notes)[0])
    add(root, "link", name=world)
    _joint(root, name_of_ours("world_to_base", joints), "fixed", world, base, model.base)
    parents = [base, *link_names]
    for i in range(-1, model.n):
        link = add(root, "link", name=parents[i + 1])
        if i >= 0:
            _inertial(link, model, i)
        for capsule, name in zip(model.capsules, shape_names, strict=True):
            if capsule.link == i:
                _collisions(link, capsule, name)
        if i + 1 < model.n:
            _moving_joint(root, model, i + 1, joint_names[i + 1], parents[i + 1], parents[i + 2])
    _joint(root, name_of_ours("to_tool", joints), "fixed", link_names[-1], tool, model.tool)
    add(root, "link", name=tool)
    return Export(document(root, notes), tuple(notes))


def _lost(model: Model) -> list[str]:
    """What URDF cannot hold of this model."""
    notes = []
    if model.rotor_inertia.any():
        notes.append(f"URDF has no rotor inertia; left out, joint by joint: {_told(model.rotor_inertia)}")
    if tuple(model.gravity) != STANDARD_GRAVITY:
        notes.append(f"URDF has no gravity; the model's is {_told(model.gravity)} m/s2 in the world")
    columns = (model.lower, model.upper, model.velocity, model.effort)
    if any(not np.isfinite(column).all() for column in columns):
        notes.append(f"URDF wants a number for every limit; {NO_LIMIT:g} stands for none")
    return notes


def _told(values: Array) -> str:
    return ", ".join(f"{v:.6g}" for v in values)


def _joint(root: Element, name: str, kind: str, parent: str, child: str, T: Array) -> Element:
    joint = add(root, "joint", name=name, type=kind)
    _origin(joint, T)
    add(joint, "parent", link=parent)
    add(joint, "child", link=child)
    return joint


def _moving_joint(root: Element, model: Model, i: int, name: str, parent: str, child: str) -> None:
    unlimited = math.isinf(model.lower[i]) and math.isinf(model.upper[i])
    kind = "prismatic" if not model.revolute(i) else "continuous" if unlimited else "revolute"
    joint = _joint(root, name, kind, parent, child, pose(model.E[i], model.p[i]))
    add(joint, "axis", xyz=(0, 0, 1))
    positions = {"lower": _limit(model.lower[i]), "upper": _limit(model.upper[i])} if kind != "continuous" else {}
    add(joint, "limit", **positions, velocity=_limit(model.velocity[i]), effort=_limit(model.effort[i]))
    add(joint, "dynamics", damping=model.viscous[i], friction=model.coulomb[i])


def _limit(value: float) -> float:
    return float(np.clip(value, -NO_LIMIT, NO_LIMIT))


def _inertial(link: Element, model: Model, i: int) -> None:
    if model.link_names[i] in model.estimated:  # a reader of the file must not take a guess for a measurement
        return
    inertial = add(link, "inertial")
    add(inertial, "origin", xyz=model.com[i], rpy=(0, 0, 0))
    add(inertial, "mass", value=model.mass[i])
    I = model.inertia[i]  # noqa: E741  # as in the equations
    add(inertial, "inertia", ixx=I[0, 0], ixy=I[0, 1], ixz=I[0, 2], iyy=I[1, 1], iyz=I[1, 2], izz=I[2, 2])


def _collisions(link: Element, capsule: LinkCapsule, name: str) -> None:
    a, b = np.array(capsule.a), np.array(capsule.b)
    length = float(np.linalg.norm(b - a))
    if length > 0:
        collision = _collision(link, name, pose(z_to(b - a), (a + b) / 2))
        add(collision, "cylinder", radius=capsule.radius, length=length)
    for end, title in ((a, f"{name}:a"), (b, f"{name}:b")) if length > 0 else ((a, name),):
        add(_collision(link, title, pose(np.eye(3), end)), "sphere", radius=capsule.radius)


def _collision(link: Element, name: str, T: Array) -> Element:
    collision = add(link, "collision", name=name)
    _origin(collision, T)
    return add(collision, "geometry")


def _origin(parent: Element, T: Array) -> None:
    add(parent, "origin", xyz=T[:3, 3], rpy=roll_pitch_yaw(T[:3, :3]))


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """The angles of R = Rz(yaw) Ry(pitch) Rx(roll); yaw is 0 where only its sum with roll matters."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw
