"""Rigid bodies in one frame: moved, and merged into one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .model import Array


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
