"""Shells: the surfaces of the workspace, and of the distance about a person at which the arm is pushed away.

The workspace's shells are those of avoidance/control/workspace.py: two half-spheres and a floor.  Round a person lies
the surface at the distance of influence; as seen from the middle of the body it is where a ray from outside first
comes so near to a capsule, found by stepping along the ray by the distance that is left (sphere tracing):

    |p - segment_k| - r_k = influence,     p = middle + s u

A hollow that a ray crosses on its way in is covered by what lies before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..snapshot import Snapshot
from . import triangles
from .capsules import FAR, seen
from .palette import INNER, REACH, SHELL, names_of, part_of

Array = NDArray[Any]

STEPS, ENOUGH = 24, 2e-3  # of a ray, and how near (m) is there
EVERY = 3  # snapshots between two looks at the surface round a person
CHANGED = 0.008  # m: a surface that moved by less stays
FIRST = ("head", "coworker")  # the parts that a person's capsules begin with


class Shells:
    """The workspace's shells, and a surface round each person."""

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self._built: Any = None
        self._directions, self._faces = triangles.ball(24)
        self._directions = self._directions / np.linalg.norm(self._directions, axis=1, keepdims=True)
        self._people: dict[int, Any] = {}
        self._groups: list[slice] | None = None
        self._count = 0

    def hide(self) -> None:
        """Nothing of it."""
        if self._built is not None or self._people:
            self._scene.remove_by_name("/shells")
            self._built, self._people, self._groups = None, {}, None

    def show(self, snapshot: Snapshot) -> None:
        """As a snapshot has it."""
        self._workspace(snapshot.scene.shells or {})
        people = np.asarray(snapshot.people, dtype=float)
        influence = snapshot.scene.shown.get("influence")
        if not influence or not len(people):
            return
        if self._groups is None:
            self._groups = people_of(names_of(len(people), snapshot.scene.people_names))
        axis = snapshot.scene.shown.get("measure") == "axis"
        for k, group in enumerate(self._groups):
            self._around(k, people[group], float(influence), axis)
        self._count += 1

    def _workspace(self, found: Mapping[str, Any]) -> None:
        floor, inner, outer = (found.get(key) for key in ("floor", "inner", "outer"))
        center = tuple(found.get("center") or (0.0, 0.0, 0.0))
        what = (floor, inner, outer, center)
        if what == self._built:
            return
        self._scene.remove_by_name("/shells/workspace")
        self._built = what
        for name, radius, colour, opacity in (("inner", inner, INNER, 0.16), ("outer", outer, SHELL, 0.10)):
            if radius is None:
                continue
            self._surface(name, triangles.dome(radius), colour, opacity, center)
            self._line(f"{name}_lines", _arcs(radius), colour, center)
        if floor is not None:
            wide = outer if outer is not None else 1.5
            disc = triangles.lathe([(wide, 0.0), (0.0, 0.0)], 2 * triangles.ROUND)
            at = (center[0], center[1], float(floor))
            self._surface("floor", disc, SHELL, 0.14, at)
            self._line("floor_line", _circle(wide), SHELL, at)

    def _surface(self, name: str, solid: triangles.Solid, colour: Any, opacity: float, at: Any) -> None:
        self._scene.add_mesh_simple(
            f"/shells/workspace/{name}",
            *solid,
            color=colour,
            opacity=opacity,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            position=at,
        )

    def _line(self, name: str, points: Array, colour: Any, at: Any) -> None:
        self._scene.add_line_segments(
            f"/shells/workspace/{name}", points=points, colors=colour, thickness=0.004, position=at
        )

    def _around(self, k: int, rows: Array, influence: float, axis: bool) -> None:
        """The surface round one person."""
        fresh = k not in self._people
        there = bool((np.abs(rows) < FAR).all())
        middle = centre(rows) if there else np.zeros(3)
        if not fresh:
            seen(self._people[k], there)
            if not there:
                return
            self._people[k].position = middle
            if self._count % EVERY:
                return
        elif not there:
            return  # made when they come
        radii = 0.0 * rows[:, 6] if axis else rows[:, 6]
        reach = around(rows[:, :3] - middle, rows[:, 3:6] - middle, radii + influence, self._directions)
        vertices = (self._directions * reach[:, None]).astype(np.float32)
        if fresh:
            self._people[k] = self._scene.add_mesh_simple(
                f"/shells/people/{k}",
                vertices,
                self._faces,
                color=REACH,
                opacity=0.13,
                cast_shadow=False,
                receive_shadow=False,
                position=middle,
            )
        elif np.abs(vertices - self._people[k].vertices).max() > CHANGED:
            self._people[k].vertices = vertices


def people_of(names: tuple[str, ...]) -> list[slice]:
    """Which rows are one person's."""
    starts = [
        k for k, name in enumerate(names) if part_of(name) in FIRST or (k and part_of(names[k - 1]) == "coworker")
    ]
    starts = sorted({0, *starts})
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(names)], strict=True)]


def centre(rows: Array) -> Array:
    """The middle of the capsule with the greatest volume."""
    length = np.linalg.norm(rows[:, 3:6] - rows[:, :3], axis=1)
    k = int((rows[:, 6] ** 2 * (length + 4 / 3 * rows[:, 6])).argmax())
    return 0.5 * (rows[k, :3] + rows[k, 3:6])


def around(a: Array, b: Array, radii: Array, directions: Array) -> Array:
    """(m,) how far along each direction (m, 3) from the origin the outermost of the capsules' surfaces is."""
    way = b - a
    size = np.maximum(np.einsum("ij,ij->i", way, way), 1e-12)
    far = float((np.maximum(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) + radii).max())
    s = np.full(len(directions), far)
    left = np.arange(len(directions))
    for _ in range(STEPS):
        p = directions[left] * s[left, None]
        off = p[:, None] - a
        part = np.clip(np.einsum("mij,ij->mi", off, way) / size, 0.0, 1.0)
        off -= part[..., None] * way
        gap = (np.sqrt(np.einsum("mij,mij->mi", off, off)) - radii).min(axis=1)
        s[left] = np.maximum(s[left] - gap, 0.0)
        left = left[(gap > ENOUGH) & (s[left] > 0.0)]
        if not len(left):
            break
    return s


def _circle(radius: float) -> Array:
    angle = np.linspace(0.0, 2 * np.pi, 97)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


def _arcs(radius: float) -> Array:
    """The rim of a dome and two arcs over it."""
    angle = np.linspace(0.0, np.pi, 49)
    over = np.stack([radius * np.cos(angle), 0 * angle, radius * np.sin(angle)], axis=1)
    arcs = [np.stack([line[:-1], line[1:]], axis=1) for line in (over, over[:, [1, 0, 2]])]
    return np.concatenate([_circle(radius), *arcs]).astype(np.float32)
