"""Overlays: the tool and its path, the goal, arrows of repulsion and attraction, the line of least distance."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..snapshot import Snapshot
from . import triangles
from .capsules import seen
from .palette import CALM, FLOOR, PULL, PUSH, TOOL, TRACE, colour_of, linear

Array = NDArray[Any]

TRAIL = 120  # pieces of the tool's path
STRIDE = 0.004  # m: a piece is at least so long
GAP = 1.0  # s: after a pause this long, or a step back, the path begins anew
SCALE = 0.6  # m of an arrow for 1 m/s
LEAST = 0.02  # m/s: what pushes less is not drawn
SHOWN = 3.0  # m: a distance greater is not drawn
OPEN, CLOSED = 0.10, 0.074  # m between the fingers


class Overlays:
    """Lines and arrows about the tool."""

    def __init__(self, scene: Any) -> None:
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
        self._least = scene.add_line_segments("/marks/least", points=line, colors=CALM, thickness=0.009)
        vertices, faces = triangles.ball(16)
        self._ends = scene.add_batched_meshes_simple(
            "/marks/ends",
            vertices * np.float32(0.013),
            faces,
            batched_wxyzs=np.tile(np.array([1.0, 0, 0, 0], dtype=np.float32), (2, 1)),
            batched_positions=np.zeros((2, 3), dtype=np.float32),
            batched_colors=linear(CALM),
            lod="off",
            cast_shadow=False,
        )
        self._label = scene.add_label("/marks/label", "", anchor="bottom-center")
        arrow = {"shaft_radius": 0.011, "head_radius": 0.028, "head_length": 0.06, "visible": False}
        self._push = scene.add_arrows("/marks/push", points=line, colors=linear(PUSH), **arrow)
        self._pull = scene.add_arrows("/marks/pull", points=line, colors=linear(PULL), **arrow)
        self._goal = scene.add_icosphere("/marks/goal", radius=0.016, color=PULL, opacity=0.65, cast_shadow=False)
        self._tool = scene.add_frame("/marks/tool", axes_length=0.07, axes_radius=0.0025, origin_radius=0.004)
        self._fingers = [
            scene.add_mesh_simple(f"/marks/tool/{name}", *triangles.gripper(gap), color=TOOL, visible=False)
            for name, gap in (("open", OPEN), ("closed", CLOSED))
        ]

    def show(self, snapshot: Snapshot, fingers: bool = True, arrows: bool = True) -> None:
        """As a snapshot has it; without fingers where the arm's own are seen."""
        tool = np.asarray(snapshot.tool, dtype=float)
        self._show_tool(snapshot, tool, fingers)
        self._show_path(snapshot.t, tool)
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
            self._tool.wxyz = triangles.quaternion(np.asarray(pose)[:3, :3])
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
    """From the nearest points of the axes to those of the surfaces, unless these overlap."""
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
