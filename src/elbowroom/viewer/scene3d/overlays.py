"""Overlays: the tool's path, goal and route, arrows of repulsion and attraction, the least distance, and shells.

The workspace's shells are those of avoidance/control/pushes.py: two half-spheres and a floor.  Round a person lies
the surface at the distance of influence; as seen from the middle of the body it is where a ray from outside first
comes so near to a capsule, found by stepping along the ray by the distance that is left (sphere tracing):

    |p - segment_k| - r_k = influence,     p = middle + s u

A hollow that a ray crosses on its way in is covered by what lies before it.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from ...avoidance import Workspace
from ..snapshot import Snapshot
from .people import names_of, people_of
from .primitives import (
    CALM,
    FAR,
    FLOOR,
    INNER,
    PULL,
    PUSH,
    REACH,
    ROUND,
    SHELL,
    TOOL,
    TRACE,
    Array,
    Colour,
    Solid,
    ball,
    colour_of,
    copies,
    dome,
    gripper,
    lathe,
    linear,
    quaternion,
    seen,
)

if TYPE_CHECKING:
    import viser

Point = tuple[float, float, float]
TRAIL = 120  # pieces of the tool's path
ROUTE = 48  # pieces of a route's line
STRIDE = 0.004  # m: a piece is at least so long
GAP = 1.0  # s: after a pause this long, or a step back, the path begins anew
SCALE = 0.6  # m of an arrow for 1 m/s
LEAST = 0.02  # m/s: what pushes less is not drawn
SHOWN = 3.0  # m: a distance greater is not drawn
OPEN, CLOSED = 0.10, 0.074  # m between the fingers


class Overlays:
    """Lines and arrows about the tool."""

    def __init__(self, scene: viser.SceneApi) -> None:
        line = np.zeros((1, 2, 3), dtype=np.float32)
        self._places: deque[Array] = deque(maxlen=TRAIL + 1)
        self._t, self._colour, self._text = -math.inf, CALM, ""
        fade = np.linspace(0.0, 1.0, TRAIL + 1)[:, None] ** 0.7
        shades = (np.array(FLOOR) * (1 - fade) + np.array(TRACE) * fade).astype(np.uint8)
        self._path = scene.add_line_segments(
            "/marks/path",
            points=np.zeros((TRAIL, 2, 3), dtype=np.float32),
            colors=np.stack([shades[:-1], shades[1:]], axis=1),
            thickness=0.005,
            visible=False,
        )
        pieces = np.zeros((ROUTE, 2, 3), dtype=np.float32)
        self._route = scene.add_line_segments(
            "/marks/route", points=pieces, colors=PULL, thickness=0.006, visible=False
        )
        self._drawn: Array | None = None
        self._least = scene.add_line_segments("/marks/least", points=line, colors=CALM, thickness=0.009)
        vertices, faces = ball(16)
        dot = vertices * np.float32(0.013), faces
        self._ends = copies(scene, "/marks/ends", dot, 2, CALM, cast_shadow=False)
        self._label = scene.add_label("/marks/label", "", anchor="bottom-center")
        self._push, self._pull = (
            scene.add_arrows(
                f"/marks/{name}",
                points=line,
                colors=linear(colour),
                shaft_radius=0.011,
                head_radius=0.028,
                head_length=0.06,
                visible=False,
            )
            for name, colour in (("push", PUSH), ("pull", PULL))
        )
        self._goal = scene.add_icosphere("/marks/goal", radius=0.016, color=PULL, opacity=0.65, cast_shadow=False)
        self._tool = scene.add_frame("/marks/tool", axes_length=0.07, axes_radius=0.0025, origin_radius=0.004)
        self._fingers = [
            scene.add_mesh_simple(f"/marks/tool/{name}", *gripper(gap), color=TOOL, visible=False)
            for name, gap in (("open", OPEN), ("closed", CLOSED))
        ]

    def show(self, snapshot: Snapshot, fingers: bool = True, arrows: bool = True) -> None:
        """Shows a snapshot; without fingers where the arm's own are seen."""
        tool = np.asarray(snapshot.tool, dtype=float)
        self._show_tool(snapshot, tool, fingers)
        self._show_path(snapshot.t, tool)
        self._show_route(snapshot.route)
        self._goal.position = snapshot.goal
        for arrow, velocity in ((self._push, snapshot.repulsion), (self._pull, snapshot.attraction)):
            pushes = arrows and math.sqrt(float(velocity @ velocity)) > LEAST
            seen(arrow, pushes)
            if pushes:
                arrow.points = np.array([[tool, tool + SCALE * velocity]], dtype=np.float32)
        self._show_least(snapshot)

    def _show_tool(self, snapshot: Snapshot, tool: Array, fingers: bool) -> None:
        pose = snapshot.tool_pose
        self._tool.position = tool
        if pose is not None:
            self._tool.wxyz = quaternion(np.asarray(pose)[:3, :3])
        carries = bool(snapshot.carrying)
        fingers = fingers and pose is not None
        seen(self._fingers[0], fingers and not carries)
        seen(self._fingers[1], fingers and carries)

    def _show_path(self, t: float, tool: Array) -> None:
        if not 0.0 <= t - self._t < GAP:
            self._places.clear()
        self._t = t
        if self._places and np.linalg.norm(tool - self._places[-1]) < STRIDE:
            return
        self._places.append(tool)
        seen(self._path, len(self._places) > 1)
        if len(self._places) > 1:
            places = np.array(self._places, dtype=np.float32)
            places = np.concatenate([np.repeat(places[:1], TRAIL + 1 - len(places), axis=0), places])
            self._path.points = np.stack([places[:-1], places[1:]], axis=1)

    def _show_route(self, points: Array) -> None:
        seen(self._route, len(points) > 1)
        if len(points) > 1 and (self._drawn is None or not np.array_equal(points, self._drawn)):
            self._drawn = points
            part = np.linspace(0.0, len(points) - 1.0, ROUTE + 1)
            line = np.stack([np.interp(part, np.arange(len(points)), column) for column in points.T], axis=1)
            self._route.points = np.stack([line[:-1], line[1:]], axis=1).astype(np.float32)

    def _show_least(self, snapshot: Snapshot) -> None:
        nearest, distance = snapshot.nearest, snapshot.distance
        if not distance < SHOWN or nearest is None or not np.isfinite(nearest[0] + nearest[1]).all():
            nearest = None
        for handle in (self._least, self._ends, self._label):
            seen(handle, nearest is not None)
        if nearest is None:
            return
        ends = surfaces(snapshot.arm, snapshot.people, *nearest[:2])
        self._least.points = np.array([ends], dtype=np.float32)
        self._ends.batched_positions = np.array(ends, dtype=np.float32)
        self._label.position = 0.5 * (ends[0] + ends[1]) + np.array([0.0, 0.0, 0.02])
        colour = colour_of(distance)
        if colour != self._colour:
            self._colour = colour
            self._least.colors = np.array(colour, dtype=np.uint8)
            self._ends.batched_colors = linear(colour)
        text = f"{distance:.2f} m"
        if text != self._text:
            self._text = self._label.text = text


def surfaces(arm: Array, people: Array, at: Array, beside: Array) -> tuple[Array, Array]:
    """The nearest points of the surfaces, from those of the axes; these themselves where the surfaces overlap."""
    way = beside - at
    apart = float(np.linalg.norm(way))
    first, second = _radius(arm, at), _radius(people, beside)
    if apart <= first + second:
        return at, beside
    return at + way * (first / apart), beside - way * (second / apart)


def _radius(rows: Array, point: Array) -> float:
    """The radius of the capsule on whose axis a point lies."""
    if not len(rows):
        return 0.0
    a, way = rows[:, :3], rows[:, 3:6] - rows[:, :3]
    part = np.einsum("ij,ij->i", point - a, way) / np.maximum(np.einsum("ij,ij->i", way, way), 1e-12)
    off = point - a - np.clip(part, 0.0, 1.0)[:, None] * way
    return float(rows[np.einsum("ij,ij->i", off, off).argmin(), 6])


# ---- shells
STEPS, ENOUGH = 24, 2e-3  # of a ray, and how near (m) is there
EVERY = 3  # snapshots between two looks at the surface round a person
CHANGED = 0.008  # m: a surface that moved by less stays


class Shells:
    """The workspace's shells, and a surface round each person."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._built: tuple[float | None, float | None, float | None, Point] | None = None
        self._directions, self._faces = ball(24)
        self._directions = self._directions / np.linalg.norm(self._directions, axis=1, keepdims=True)
        self._people: dict[int, viser.MeshHandle] = {}
        self._groups: list[slice] | None = None
        self._count = 0

    def hide(self) -> None:
        """Removes all shells."""
        if self._built is not None or self._people:
            self._scene.remove_by_name("/shells")
            self._built, self._people, self._groups = None, {}, None

    def show(self, snapshot: Snapshot) -> None:
        """Shows the shells of a snapshot."""
        self._show_workspace(snapshot.scene.workspace or Workspace())
        people, influence = snapshot.people, snapshot.scene.shown.influence
        if not influence or not len(people):
            return
        if self._groups is None:
            self._groups = people_of(names_of(len(people), snapshot.scene.people_names))
        axis = snapshot.scene.shown.measure == "axis"
        for k, group in enumerate(self._groups):
            self._around(k, people[group], influence, axis)
        self._count += 1

    def _show_workspace(self, walls: Workspace) -> None:
        floor, inner, outer, center = what = (walls.floor, walls.inner, walls.outer, walls.center)
        if what == self._built:
            return
        self._scene.remove_by_name("/shells/workspace")
        self._built = what
        for name, radius, colour, opacity in (("inner", inner, INNER, 0.16), ("outer", outer, SHELL, 0.10)):
            if radius is None:
                continue
            self._surface(name, dome(radius), colour, opacity, center)
            self._line(f"{name}_lines", _arcs(radius), colour, center)
        if floor is not None:
            wide = outer if outer is not None else 1.5
            disc = lathe([(wide, 0.0), (0.0, 0.0)], 2 * ROUND)
            at = (center[0], center[1], floor)
            self._surface("floor", disc, SHELL, 0.14, at)
            self._line("floor_line", _circle(wide), SHELL, at)

    def _surface(self, name: str, solid: Solid, colour: Colour, opacity: float, at: Point) -> None:
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

    def _line(self, name: str, points: Array, colour: Colour, at: Point) -> None:
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
