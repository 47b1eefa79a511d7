"""Triangles of what the page shows, and turns: plain numbers, no page needed.

Every solid is (vertices (V, 3) float32, faces (F, 3) uint32), its faces seen from outside against the clock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Solid = tuple[Array, Array]

ROUND = 32  # corners of a circle


def lathe(profile: ArrayLike, around: int = ROUND) -> Solid:
    """A profile (k, 2) of radii and heights, from the lower end of the outside to the upper, turned about z."""
    radius, height = np.array(profile, dtype=float).T
    angle = np.linspace(0.0, 2 * np.pi, around, endpoint=False)
    vertices = np.stack(
        [np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle)), np.repeat(height[:, None], around, axis=1)],
        axis=-1,
    ).reshape(-1, 3)
    i, k = np.meshgrid(np.arange(len(radius) - 1), np.arange(around), indexing="ij")
    a, b = i * around + k, i * around + (k + 1) % around
    faces = np.stack([a, b, b + around, a, b + around, a + around], axis=-1).reshape(-1, 3)
    return vertices.astype(np.float32), faces.astype(np.uint32)


def capsule(length: float, radius: float) -> Solid:
    """A capsule about the origin, its axis along z."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2)
    end = np.where(angle < 0, -0.5, 0.5) * length
    return lathe(np.stack([radius * np.cos(angle), radius * np.sin(angle) + end], axis=1))


def tube() -> Solid:
    """The side of a cylinder of radius and length 1 about the origin, open at both ends."""
    return lathe([(1.0, -0.5), (1.0, 0.5)])


def ball(around: int = ROUND) -> Solid:
    """A sphere of radius 1, with a ring of corners at its equator, where a tube of as many joins."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, around // 2 + 1)
    return lathe(np.stack([np.cos(angle), np.sin(angle)], axis=1), around)


def cylinder(radius: float, length: float) -> Solid:
    """A closed cylinder about the origin; corners on its edges are doubled, which keeps them sharp."""
    r, h = radius, length / 2
    return lathe([(0.0, -h), (r, -h), (r, -h), (r, h), (r, h), (0.0, h)])


def ring(inner: float, outer: float, height: float) -> Solid:
    """A flat ring that lies on z = 0."""
    i, o, h = inner, outer, height
    return lathe([(i, 0.0), (o, 0.0), (o, 0.0), (o, h), (o, h), (i, h), (i, h), (i, 0.0)], 2 * ROUND)


def dome(radius: float) -> Solid:
    """The half of a sphere above z = 0."""
    angle = np.linspace(0.0, np.pi / 2, ROUND // 2)
    return lathe(radius * np.stack([np.cos(angle), np.sin(angle)], axis=1), 2 * ROUND)


def box(x: float, y: float, z: float) -> Solid:
    """A box about the origin, each side with corners of its own."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=float)
    vertices: list[Array] = []
    faces: list[list[tuple[int, int, int]]] = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            side = np.empty((4, 3))
            side[:, axis] = sign
            side[:, (axis + 1) % 3], side[:, (axis + 2) % 3] = corners[:, 0], corners[:, 1]
            vertices.append(side if sign > 0 else side[::-1])
            k = 4 * len(faces)
            faces.append([(k, k + 1, k + 2), (k, k + 2, k + 3)])
    size = 0.5 * np.array([x, y, z])
    return (np.concatenate(vertices) * size).astype(np.float32), np.array(faces, dtype=np.uint32).reshape(-1, 3)


def helmet() -> Solid:
    """A hard hat for a head of radius 1 at the origin, its peak towards x."""
    shell = lathe([(1.08, 0.12), (1.06, 0.42), (0.92, 0.76), (0.62, 1.0), (0.28, 1.11), (0.0, 1.14)])
    vertices, faces = lathe([(1.0, 0.10), (1.0, 0.10), (1.15, 0.10), (1.15, 0.16), (1.15, 0.16), (1.0, 0.16)])
    front = np.where(np.hypot(vertices[:, 0], vertices[:, 1]) > 1.1, np.maximum(vertices[:, 0], 0.0) / 1.15, 0.0)
    vertices = vertices + np.stack([0.34 * front**2, 0.0 * front, -0.08 * front**2], axis=1)
    return joined([shell, (vertices, faces)])


def gripper(gap: float) -> Solid:
    """Two fingers and a palm; the middle between the finger tips is the origin, the palm lies towards -z."""
    parts = [moved(box(gap + 0.036, 0.034, 0.02), (0.0, 0.0, -0.062))]
    for side in (-1.0, 1.0):
        parts.append(moved(box(0.012, 0.022, 0.056), (side * (gap / 2 + 0.006), 0.0, -0.026)))
    return joined(parts)


def moved(solid: Solid, shift: ArrayLike) -> Solid:
    """The same elsewhere."""
    return (solid[0] + np.array(shift)).astype(np.float32), solid[1]


def joined(solids: list[Solid]) -> Solid:
    """Several as one."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in solids[:-1])])
    faces = [faces + np.uint32(start) for (_, faces), start in zip(solids, starts, strict=True)]
    return np.concatenate([vertices for vertices, _ in solids]).astype(np.float32), np.concatenate(faces)


def turned(axis: Array) -> Array:
    """Unit quaternions (..., 4) as w, x, y, z that turn z to these directions (..., 3); none where there is none."""
    axis = np.asarray(axis, dtype=float)
    size = np.linalg.norm(axis, axis=-1, keepdims=True)
    x, y, z = np.moveaxis(axis / np.where(size > 1e-9, size, 1.0), -1, 0)
    q = np.stack([1.0 + z, -y, x, 0.0 * z], axis=-1)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    q = np.where(length > 1e-6, q / np.where(length > 1e-6, length, 1.0), [0.0, 1.0, 0.0, 0.0])  # straight down
    return np.where(size > 1e-9, q, [1.0, 0.0, 0.0, 0.0])


def quaternion(R: Array) -> Array:
    """The unit quaternion (4,) as w, x, y, z of a rotation (3, 3)."""
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
