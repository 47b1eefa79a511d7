"""Mass properties of rigid bodies: moved, merged into one, and estimated from the shape where a file gives none.

Links whose file gives no mass or no inertia are taken as their capsules, filled evenly.  A capsule of radius r about a
segment of length l is a cylinder of mass m_c and two half balls, together m_b:

    along its axis    m_c r^2 / 2 + 2 m_b r^2 / 5
    across it         m_c (l^2 / 12 + r^2 / 4) + m_b (2 r^2 / 5 + l^2 / 4 + 3 l r / 8)

Where capsules overlap, as those of one shape do that a file writes as a cylinder and two balls, both would count.  So
masses and inertias are those of the sum, times the part of its volume that the union has, by the points of a grid.  A
link that has a mass keeps it, and its centre; only its inertia is that of its shape then.  `Model.estimated` names the
links, so that nothing is promised with numbers that nobody measured.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from .capsules import Cover, distance_to_segment
from .model import Array, Model

DENSITY = 650.0  # kg/m^3 of an arm's capsules: the median of the catalogue's arms, which have 310 to 960
GRID = 40  # points of the grid along each axis
BALL = 0.02  # m: the radius of the ball that a link without capsules is taken as


class MassProperties(NamedTuple):
    """Mass, centre of mass, and inertia about the centre of mass, in some frame's axes."""

    mass: float
    com: Array  # (3,)
    inertia: Array  # (3, 3)


NOTHING = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))


def moved(body: MassProperties, T: Array) -> MassProperties:
    """The body given in a frame that stands at T (4, 4), expressed in the frame that T is given in."""
    R = T[:3, :3]
    return MassProperties(body.mass, R @ body.com + T[:3, 3], R @ body.inertia @ R.T)


def merge(a: MassProperties, b: MassProperties) -> MassProperties:
    """Both as one body (parallel axes: I = I_a + I_b + reduced mass (d.d 1 - d d^T), d between the centres)."""
    mass = a.mass + b.mass
    if mass == 0:
        return MassProperties(0.0, a.com, a.inertia + b.inertia)
    d = b.com - a.com
    reduced = a.mass * b.mass / mass
    inertia = a.inertia + b.inertia + reduced * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, (a.mass * a.com + b.mass * b.com) / mass, inertia)


def about_origin(mass: float, com: Array, inertia: Array) -> Array:
    """Inertia (3, 3) about the frame's origin from that about the centre of mass (parallel axes)."""
    moment: Array = inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return moment


def second_moment(inertia: Array) -> Array:
    """S = int x x^T dm (3, 3) from the inertia about the same point: tr(I)/2 1 - I."""
    moment: Array = np.trace(inertia) * 0.5 * np.eye(3) - inertia
    return moment


def from_six(ixx: float, iyy: float, izz: float, ixy: float = 0.0, iyz: float = 0.0, ixz: float = 0.0) -> Array:
    """The symmetric tensor from its six numbers, products of inertia as off-diagonal entries."""
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]], dtype=float)


def lacking(model: Model) -> tuple[str, ...]:
    """The links without mass, or without any inertia."""
    moments = np.abs(model.inertia).max(axis=(1, 2))
    return tuple(model.link_names[i] for i in range(model.n) if model.mass[i] == 0 or moments[i] == 0)


def estimated(model: Model, density: float) -> Model:
    """The model with masses (`density`, kg/m^3) and inertias for the links that lack them."""
    known = isinstance(density, int | float | np.number) and not isinstance(density, bool)
    if not known or not 0 < density < math.inf:
        raise ModelError(f"density must be a number of kg/m^3 above 0; got {density!r}")
    names = lacking(model)
    mass, com, inertia = model.mass.copy(), model.com.copy(), model.inertia.copy()
    for i in (model.link_names.index(name) for name in names):
        body = _filled(model, i, float(density))
        if mass[i] > 0:
            inertia[i] = body.inertia * (mass[i] / body.mass)
        else:
            mass[i], com[i], inertia[i] = body
    return dataclasses.replace(model, mass=mass, com=com, inertia=inertia, estimated=names)


def about_estimates(model: Model) -> str:
    """What is to be said of an arm with estimated masses; "" of another."""
    count = len(model.estimated)
    if not count:
        return ""
    which = f"all {count} links" if count == model.n else ", ".join(map(repr, model.estimated))
    total = sum(model.mass[model.link_names.index(name)] for name in model.estimated)
    return (
        f"mass or inertia are missing for {which}: estimated from their shapes, together {_digits(total)} kg; "
        "torques and forces are guesses"
    )


def _digits(value: float) -> str:
    """With three digits, and never as a power of ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _filled(model: Model, link: int, density: float) -> MassProperties:
    """A link as its capsules, all of one density."""
    shapes = [Cover(np.array(c.a), np.array(c.b), c.radius) for c in model.capsules if c.link == link]
    if not shapes:
        return _capsule(np.zeros(3), np.zeros(3), BALL, density)
    body, part = NOTHING, _union(shapes)
    for shape in shapes:
        body = merge(body, _capsule(shape.a, shape.b, shape.radius, density))
    return MassProperties(part * body.mass, body.com, part * body.inertia)


def _union(shapes: list[Cover]) -> float:
    """The volume of the union of capsules, in the sum of theirs; 1 for a single one."""
    if len(shapes) == 1:
        return 1.0
    low = np.min([np.minimum(s.a, s.b) - s.radius for s in shapes], axis=0)
    high = np.max([np.maximum(s.a, s.b) + s.radius for s in shapes], axis=0)
    axes = [np.linspace(x, y, 2 * GRID + 1)[1::2] for x, y in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = np.array([distance_to_segment(points, s.a, s.b) <= s.radius for s in shapes])
    return float(inside.any(axis=0).sum() / max(1, inside.sum())) or 1.0


def _capsule(a: Array, b: Array, r: float, density: float) -> MassProperties:
    length = float(np.linalg.norm(b - a))
    tube, ends = density * math.pi * r**2 * length, density * 4 / 3 * math.pi * r**3
    along = tube * r**2 / 2 + ends * 2 * r**2 / 5
    across = tube * (length**2 / 12 + r**2 / 4) + ends * (2 * r**2 / 5 + length**2 / 4 + 3 * length * r / 8)
    u = (b - a) / length if length > 0 else np.array([0.0, 0.0, 1.0])
    axis = np.outer(u, u)
    return MassProperties(tube + ends, (a + b) / 2, along * axis + across * (np.eye(3) - axis))
