"""Rotations from angles, with exact zeros and ones at multiples of 90 degrees.

A traced program drops every product with an exact zero, so cos(pi/2) = 6e-17 would cost operations and give nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .model import Array

PRINTED_RIGHT_ANGLE = 1e-11
"""An angle this close to a multiple of pi/2 is taken as that multiple: files print 1.57079632679 (5e-12 off)."""


def cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin, exact at (printed) multiples of 90 degrees."""
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) < PRINTED_RIGHT_ANGLE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return math.cos(angle), math.sin(angle)


def rx(angle: float) -> Array:
    """Rotation about x."""
    c, s = cos_sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def ry(angle: float) -> Array:
    """Rotation about y."""
    c, s = cos_sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rz(angle: float) -> Array:
    """Rotation about z."""
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def rpy(roll: float, pitch: float, yaw: float) -> Array:
    """URDF's fixed-axis roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll)."""
    return rz(yaw) @ ry(pitch) @ rx(roll)


def z_to(axis: ArrayLike) -> Array:
    """A rotation that carries z onto the direction `axis`; a signed permutation for +-x, +-y, +-z."""
    a = np.asarray(axis, dtype=float)
    a = np.ldexp(a, -int(np.frexp(np.abs(a).max())[1]))  # exact, and no square overflows or vanishes
    a = a / np.linalg.norm(a)
    main = int(np.abs(a).argmax())
    if np.abs(np.delete(a, main)).max() == 0:
        third = np.zeros(3)
        third[main] = a[main]
        first = np.zeros(3)
        first[(main + 1) % 3] = 1.0
    else:
        third = a
        helper = np.zeros(3)
        helper[int(np.abs(a).argmin())] = 1.0
        first = np.cross(helper, third)
        first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(third, first), third])


def pose(R: ArrayLike, p: ArrayLike) -> Array:
    """The (4, 4) homogeneous matrix of a rotation and a translation."""
    T = np.eye(4)
    T[:3, :3] = R
    T[:3, 3] = p
    return T
