"""Rotations from angles, with exact zeros and ones at multiples of 90 degrees; and from and to quaternions.

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


def quaternion(R: ArrayLike) -> Array:
    """The unit quaternion (4,) as w, x, y, z of a rotation (3, 3)."""
    R = np.asarray(R, dtype=float)
    w = np.sqrt(max(0.0, 1 + R[0, 0] + R[1, 1] + R[2, 2])) / 2
    if w > 0.1:
        x, y, z = (R[2, 1] - R[1, 2]), (R[0, 2] - R[2, 0]), (R[1, 0] - R[0, 1])
        q = np.array([w, x / (4 * w), y / (4 * w), z / (4 * w)])
    else:  # near a half turn: the largest part first
        k = int(np.argmax(np.diag(R)))
        i, j = (k + 1) % 3, (k + 2) % 3
        size = np.sqrt(max(1e-12, 1 + R[k, k] - R[i, i] - R[j, j])) * 2
        q = np.empty(4)
        q[0], q[1 + k] = (R[j, i] - R[i, j]) / size, size / 4
        q[1 + i], q[1 + j] = (R[i, k] + R[k, i]) / size, (R[j, k] + R[k, j]) / size
    return q / np.linalg.norm(q)


def from_quaternion(q: ArrayLike) -> Array:
    """The rotation (3, 3) of a quaternion (4,), w, x, y, z, of any length but 0."""
    w, x, y, z = np.asarray(q, dtype=float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
