"""Primitives: the colours, triangles and capsules of which everything on the page is made.

Every solid is (vertices (V, 3) float32, faces (F, 3) uint32), its faces seen from outside against the clock.

A capsule of ends a, b and radius r is a tube of radius and length 1, turned and stretched, and two balls:

    tube   at (a + b) / 2, turned to b - a, stretched by r, r, |b - a|
    balls  at a and at b, stretched by r

All tubes are copies of one mesh and all balls of another, so a picture sends a handful of arrays, however many capsules
there are, and none that becomes a little longer needs a new mesh.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.rotations import quaternion as quaternion

if TYPE_CHECKING:
    import viser

Array = NDArray[Any]
Solid = tuple[Array, Array]
Colour = tuple[int, int, int]

ARM: tuple[Colour, Colour] = ((238, 240, 241), (214, 219, 223))
JOINT = (62, 74, 84)
TOOL = (54, 62, 70)
PERSON, HEAD = (104, 132, 156), (232, 190, 160)
SLEEVE, TROUSERS, SHOE, TAPE = (92, 118, 142), (74, 82, 96), (52, 50, 50), (226, 228, 214)
HELMET = (236, 186, 78)
DANGER, CARE, CALM = (206, 58, 52), (226, 154, 44), (62, 138, 96)
PUSH, PULL, TRACE = (206, 58, 52), (46, 140, 96), (46, 120, 160)
FLOOR, GRID, LINES = (236, 237, 238), (220, 223, 225), (200, 205, 209)
HAZE = (221, 219, 217)  # beyond the floor: as the floor looks far away
STEEL, RAIL, BELT = (150, 156, 160), (196, 201, 204), (84, 92, 98)
OBJECT = (216, 124, 62)
SHELL, INNER, REACH = (70, 130, 170), (190, 110, 70), (226, 154, 44)
GRIP = (38, 132, 160)

RED_WITHIN, GREEN_BEYOND = 0.1, 0.4  # m: nearer, the line of least distance is red; farther, green


def colour_of(distance: float) -> Colour:
    """The colour of a distance to a person: red where it is near, amber, green."""
    if not math.isfinite(distance) or distance >= GREEN_BEYOND:
        return CALM
    if distance <= RED_WITHIN:
        return DANGER
    part = (distance - RED_WITHIN) / (GREEN_BEYOND - RED_WITHIN)
    return mixed(DANGER, CARE, 2 * part) if part < 0.5 else mixed(CARE, CALM, 2 * part - 1)


def mixed(first: Colour, second: Colour, part: float) -> Colour:
    """The colour at a part of the way from the first to the second."""
    r, g, b = (round(a + (b - a) * part) for a, b in zip(first, second, strict=True))
    return r, g, b


def linear(colours: ArrayLike) -> NDArray[np.uint8]:
    """The same colours as amounts of light: what viser's page takes the colours of copies of a mesh for."""
    part = np.asarray(colours, dtype=float) / 255
    light = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return np.round(255 * light).astype(np.uint8)


# ---- triangles
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
    """The same solid, shifted."""
    return (solid[0] + np.array(shift)).astype(np.float32), solid[1]


def joined(solids: list[Solid]) -> Solid:
    """Several solids as one."""
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


# ---- capsules
FAR = 100.0  # m: what is farther is parked there, and not shown
NOTHING = 1e-6  # what is not shown is so small
WIDER = 1.012  # a band, than what it is around


class Band(NamedTuple):
    """A ring round a capsule."""

    row: int  # of the capsule
    part: float  # of the way from a to b
    width: float  # m
    colour: Colour


def copies(
    scene: viser.SceneApi,
    name: str,
    solid: Solid,
    count: int,
    colours: ArrayLike,
    *,
    size: float = 1.0,
    cast_shadow: bool = True,
    receive_shadow: bool = True,
) -> viser.BatchedMeshHandle:
    """So many copies of a solid as one thing of the scene, yet at the origin; colours (3,), or (count, 3)."""
    return scene.add_batched_meshes_simple(
        name,
        *solid,
        batched_wxyzs=np.tile(np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32), (count, 1)),
        batched_positions=np.zeros((count, 3), dtype=np.float32),
        batched_scales=np.full((count, 3), size, dtype=np.float32),
        batched_colors=linear(colours),
        lod="off",
        cast_shadow=cast_shadow,
        receive_shadow=receive_shadow,
    )


class CapsuleMeshes:
    """Capsules under one name of the scene.  Colours are of the sides (k, 3) and of the ends (k, 2, 3)."""

    def __init__(self, scene: viser.SceneApi, name: str, sides: Array, ends: Array, bands: Sequence[Band] = ()) -> None:
        self._rows = np.array([band.row for band in bands], dtype=int)
        self._parts = np.array([band.part for band in bands])[:, None]
        self._widths = np.array([band.width for band in bands])
        rings = np.array([band.colour for band in bands], dtype=np.uint8).reshape(-1, 3)
        tubes, balls = np.concatenate([sides, rings]), ends.reshape(-1, 3)
        self._tubes = copies(scene, f"{name}/tubes", tube(), len(tubes), tubes, size=NOTHING)
        self._balls = copies(scene, f"{name}/balls", ball(), len(balls), balls, size=NOTHING)
        self._last: Array = np.zeros((0, 0))

    def show(self, rows: Array, shown: Array | None = None) -> bool:
        """Rows (k, 7): both ends and the radius; `shown` (k,) says which.  False if nothing is new."""
        there: Array = np.abs(rows).max(axis=1) < FAR  # NaN is not
        if shown is not None:
            there = there & shown
        rows = np.where(there[:, None], rows, 0.0)
        if np.array_equal(rows, self._last):
            return False
        self._last = rows
        a, b, radius = rows[:, :3], rows[:, 3:6], np.where(there, np.maximum(rows[:, 6], 1e-3), NOTHING)
        way = b - a
        length, turn = np.maximum(np.linalg.norm(way, axis=1), NOTHING), turned(way)
        k = self._rows
        middles = np.concatenate([0.5 * (a + b), a[k] + self._parts * way[k]])
        wide = np.concatenate([radius, WIDER * radius[k]])
        long = np.concatenate([np.where(there, length, NOTHING), np.where(there[k], self._widths, NOTHING)])
        tubes, balls = self._tubes, self._balls
        tubes.batched_positions = middles.astype(np.float32)
        tubes.batched_wxyzs = np.concatenate([turn, turn[k]]).astype(np.float32)
        tubes.batched_scales = np.stack([wide, wide, long], axis=1).astype(np.float32)
        balls.batched_positions = rows[:, :6].reshape(-1, 3).astype(np.float32)
        balls.batched_scales = np.repeat(radius, 6).reshape(-1, 3).astype(np.float32)
        return True


def seen(handle: viser.SceneNodeHandle, whether: bool) -> None:
    """Shows or hides a thing; asking what it is costs less than sending it again."""
    if handle.visible != whether:
        handle.visible = whether
