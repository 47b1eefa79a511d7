"""MJCF: the arm for MuJoCo.

    base            a body where the model's base stands, with the base's capsules; it holds the chain
    link i          a body at (E_i, p_i) in the one before, with mass, centre and full tensor
    joint i         a hinge or slide about z: limits, armature (rotor), damping (viscous), frictionloss (Coulomb),
                    actuatorfrcrange (effort)
    tool            a site on the last link
    capsules        geoms, spheres where the axis has no length, without mass
    ready           a keyframe

Capsules meet the world, and those of the arm itself only in the pairs that are asked for.

The servos of `velocity` and `position` stand for a drive with its own controller: gravity is compensated within the
effort limit, and the gains are those of joint i alone at `ready`, all other joints held, with its inertia m_i:

    velocity    kv = w m_i                        position    kp = w^2 m_i,  kv = 2 w m_i (critically damped)

MuJoCo takes bodies that could exist alone; for others see bodies.py.

A cover is wider than the arm, and the capsules of neighbours overlap by construction, so that most pairs must not push.
MuJoCo excludes pairs of bodies, and lists pairs of geoms that touch whatever is excluded.  So a pair of bodies of which
all capsules may meet is left alone; any other is excluded, and those of its capsules that may meet are listed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from itertools import combinations
from xml.etree.ElementTree import Element, ParseError

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ..dynamics import whole
from ..errors import ModelError
from ..model.capsules import BASE
from ..model.inertia import about_estimates
from ..model.model import Array, Model
from ..model.rotations import pose
from .bodies import realizable
from .xml_text import Export, add, document, element, name_of_ours, names


def filter_contacts(root: Element, model: Model, bodies: list[str], self_pairs: Iterable[tuple[int, int]]) -> None:
    """Excludes the pairs of bodies that must not meet, and lists the pairs of geoms that may all the same."""
    meet = {(min(pair), max(pair)) for pair in self_pairs}
    for pair in sorted(meet):
        if not 0 <= pair[0] < pair[1] < len(model.capsules):
            raise ModelError(
                f"{model.name}: self_pairs must be two different capsules, by number, of {len(model.capsules)}; "
                f"got {pair}"
            )
        if model.capsules[pair[0]].link == model.capsules[pair[1]].link:
            raise ModelError(f"{model.name}: self_pairs must be of two links; got {pair}, both of one")
    by_link: dict[int, list[int]] = {}
    for k, capsule in enumerate(model.capsules):
        by_link.setdefault(capsule.link, []).append(k)
    contact = element("contact")
    listed: list[tuple[int, int]] = []
    for i, j in combinations(sorted(by_link), 2):
        both = [(min(x, y), max(x, y)) for x in by_link[i] for y in by_link[j]]
        allowed = [pair for pair in both if pair in meet]
        if len(allowed) < len(both) or _filtered_by_mujoco(i, j):
            add(contact, "exclude", body1=bodies[i - BASE], body2=bodies[j - BASE])
            listed += allowed
    for x, y in sorted(listed):
        add(contact, "pair", geom1=model.capsules[x].name, geom2=model.capsules[y].name)
    if len(contact):
        root.append(contact)


def _filtered_by_mujoco(i: int, j: int) -> bool:
    """MuJoCo keeps a body and its parent apart by itself; what is asked for is then to be listed."""
    return abs(i - j) == 1


ACTUATORS = ("none", "torque", "velocity", "position")
BANDWIDTH = 30.0
"""rad/s: w of the servos."""

FAR = 1e10
"""Where only one side has a limit, the other is here: MuJoCo's own greatest value."""

TINY = 1e-300
"""MuJoCo wants a range to have room, however little."""

SHORT = 1e-6
"""m: MuJoCo wants the ends of a capsule to be this far apart; a shorter one is the sphere about it."""


def mjcf(
    model: Model,
    *,
    actuators: str = "none",
    extra: str = "",
    contacts: bool = True,
    self_pairs: Iterable[tuple[int, int]] = (),
    adjust: bool = False,
    bandwidth: float = BANDWIDTH,
) -> str:
    """The arm as MJCF, for MuJoCo.

    `actuators` is one of `ACTUATORS`; those that are there are named after their joints.  `extra` is XML that goes into
    the worldbody as it is (bodies, geoms, lights; angles in radians).  `contacts` False leaves the capsules as shapes
    that nothing touches.  `self_pairs` are pairs of the arm's own capsules, by number, that may touch each other, such
    as `geometry.Body(arm).self_pairs`.  `adjust` see `realizable`.
    """
    return mjcf_with_notes(
        model,
        actuators=actuators,
        extra=extra,
        contacts=contacts,
        self_pairs=self_pairs,
        adjust=adjust,
        bandwidth=bandwidth,
    ).text


def mjcf_with_notes(
    model: Model,
    *,
    actuators: str = "none",
    extra: str = "",
    contacts: bool = True,
    self_pairs: Iterable[tuple[int, int]] = (),
    adjust: bool = False,
    bandwidth: float = BANDWIDTH,
) -> Export:
    """As `mjcf`, with the notes that also stand at the top of the text."""
    if actuators not in ACTUATORS:
        raise ModelError(f"actuators must be one of {', '.join(ACTUATORS)}; got {actuators!r}")
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ModelError(f"bandwidth must be positive and finite, in rad/s; got {bandwidth!r}")
    model, changes = realizable(model, adjust=adjust)
    notes = [*changes, *filter(None, [about_estimates(model)])]
    model = _named(model, notes)
    root = element("mujoco", model=model.name)
    add(root, "compiler", angle="radian")
    add(root, "option", gravity=model.gravity, integrator="implicitfast")
    world = add(root, "worldbody")
    base_name = name_of_ours("base", {"world", *model.link_names})
    base = _body(world, base_name, model.base)
    _geoms(base, model, BASE, contacts)
    last = _links(model, base, servo=actuators in ("velocity", "position"), contacts=contacts)
    add(last, "site", name="tool", pos=model.tool[:3, 3], xyaxes=_axes(model.tool))
    added = _parsed(extra)
    world.extend(added)
    if contacts:
        filter_contacts(root, model, [base_name, *model.link_names], self_pairs)
    if actuators != "none":
        _actuate(root, model, actuators, bandwidth)
    if not any(part.tag in ("joint", "freejoint") for child in added for part in child.iter()):
        # else the state has further entries, whose values are not ours to choose
        control = model.ready if actuators == "position" else None
        add(add(root, "keyframe"), "key", name="ready", qpos=model.ready, ctrl=control)
    if np.isfinite(model.velocity).any() and actuators != "velocity":
        notes.append("MJCF has no speed limits of joints but those of velocity actuators: left out")
    return Export(document(root, notes), tuple(notes))


def bare_mjcf(model: Model) -> str:
    """The moving bodies alone, the first of them in the world: for timing, and to hold the dynamics against MuJoCo's.

    No base body, limits, friction, shapes or site; rotors and gravity are there.
    """
    free, none = np.full(model.n, math.inf), np.zeros(model.n)
    first = model.base @ pose(model.E[0], model.p[0])
    E, p = model.E.copy(), model.p.copy()
    E[0], p[0] = first[:3, :3], first[:3, 3]
    bare = dataclasses.replace(
        model, E=E, p=p, lower=-free, upper=free, effort=free, viscous=none, coulomb=none, capsules=()
    )
    bare, _ = realizable(_named(bare, []))
    root = element("mujoco", model=bare.name)
    add(root, "compiler", angle="radian")
    add(root, "option", gravity=bare.gravity)
    _links(bare, add(root, "worldbody"), servo=False, contacts=False)
    return document(root, ())


def _named(model: Model, notes: list[str]) -> Model:
    """The model with names that MJCF can hold; what is not the arm's (the world) has its own."""
    shapes = names((capsule.name for capsule in model.capsules), "capsule", set(), notes)
    return dataclasses.replace(
        model,
        name=names([model.name], "model", set(), notes)[0],
        joint_names=tuple(names(model.joint_names, "joint", set(), notes)),
        link_names=tuple(names(model.link_names, "link", {"world"}, notes)),
        capsules=tuple(dataclasses.replace(c, name=name) for c, name in zip(model.capsules, shapes, strict=True)),
    )


# ---- bodies and joints


def _axes(T: Array) -> Array:
    """The x and y axes of a frame, in a row."""
    return np.r_[T[:3, 0], T[:3, 1]]


def _body(parent: Element, name: str, T: Array, gravcomp: str | None = None) -> Element:
    return add(parent, "body", name=name, pos=T[:3, 3], xyaxes=_axes(T), gravcomp=gravcomp)


def _links(model: Model, parent: Element, *, servo: bool, contacts: bool) -> Element:
    """The bodies of the links, each in the one before; the last of them."""
    for i in range(model.n):
        T = pose(model.E[i], model.p[i])
        parent = _body(parent, model.link_names[i], T, gravcomp="1" if servo else None)
        I = model.inertia[i]  # noqa: E741  # as in the equations
        six = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        add(parent, "inertial", pos=model.com[i], mass=model.mass[i], fullinertia=six)
        _joint(parent, model, i, servo=servo)
        _geoms(parent, model, i, contacts)
    return parent


def _joint(body: Element, model: Model, i: int, *, servo: bool) -> None:
    limits = _range(model, i)
    add(
        body,
        "joint",
        name=model.joint_names[i],
        type="hinge" if model.revolute(i) else "slide",
        axis=(0, 0, 1),
        limited="false" if limits is None else "true",
        range=limits,
        armature=model.rotor_inertia[i],
        damping=model.viscous[i],
        frictionloss=model.coulomb[i],
        actuatorfrcrange=_both_sides(model.effort[i]),
        actuatorgravcomp="true" if servo else None,
    )


def _range(model: Model, i: int) -> tuple[float, float] | None:
    """The limits of joint i, None where it has none; equal ones are as near as MuJoCo lets them be."""
    if np.isinf(model.lower[i]) and np.isinf(model.upper[i]):
        return None
    low, high = max(model.lower[i], -FAR), min(model.upper[i], FAR)
    return low, max(high, low + max(1e-15 * abs(low), TINY))


def _both_sides(limit: float) -> tuple[float, float] | None:
    """The range of a limit that holds both ways, None where there is none."""
    return (-max(limit, TINY), max(limit, TINY)) if math.isfinite(limit) else None


# ---- shapes


def _geoms(body: Element, model: Model, link: int, contacts: bool) -> None:
    """The capsules of one link, or of the base."""
    touched = None if contacts else "0"
    for capsule in model.capsules:
        if capsule.link != link:
            continue
        a, b = np.array(capsule.a), np.array(capsule.b)
        length = float(np.linalg.norm(b - a))
        shape = {"type": "capsule", "fromto": np.r_[a, b], "size": capsule.radius}
        if length <= SHORT:
            shape = {"type": "sphere", "pos": (a + b) / 2, "size": capsule.radius + length / 2}
        add(body, "geom", name=capsule.name, **shape, mass="0", contype=touched, conaffinity=touched)


# ---- actuators


def _actuate(root: Element, model: Model, actuators: str, bandwidth: float) -> None:
    actuator = add(root, "actuator")
    inertia = np.diag(np.asarray(whole("mass_matrix", "crba")(model, model.ready), dtype=float))
    for i, name in enumerate(model.joint_names):
        force = _both_sides(model.effort[i])
        common = {"name": name, "joint": name, "forcerange": force}
        if actuators == "torque":
            add(actuator, "motor", **common, ctrlrange=force)
        elif actuators == "velocity":
            add(actuator, "velocity", **common, ctrlrange=_both_sides(model.velocity[i]), kv=bandwidth * inertia[i])
        else:
            kp, kv = bandwidth**2 * inertia[i], 2 * bandwidth * inertia[i]
            add(actuator, "position", **common, ctrlrange=_range(model, i), kp=kp, kv=kv)


# ---- what the caller adds


def _parsed(extra: str) -> list[Element]:
    """The elements of a piece of XML."""
    try:
        return list(fromstring(f"<worldbody>{extra}</worldbody>", forbid_dtd=True))
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ModelError(
            f"extra must be well-formed XML, elements of a worldbody: {error}; got {extra!r:.80}"
        ) from error
