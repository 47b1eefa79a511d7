"""The arm as its URDF draws it: meshes and shapes in the frames of its links (model/visuals.py).

Where two triangles meet at less than `CREASE` the edge is smooth, else sharp; a page makes normals from shared corners,
so the corners of sharp edges are doubled.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError, ModelWarning
from ...model import meshes
from ...model.meshes import MOST_TRIANGLES, Surface
from ...model.visuals import MISSING, Visual
from . import primitives as solids
from .primitives import ARM, Array, seen

if TYPE_CHECKING:
    import viser

TOLD = 10  # things that are not drawn
KEPT = 64  # files kept in memory, so that an arm that comes back is there at once


class LinkMeshes:
    """What the visuals of an arm show; `links` are those that are shown in full, `problem` says what is not."""

    def __init__(self, scene: viser.SceneApi, name: str, visuals: tuple[Visual, ...]) -> None:
        self.problem = ""
        self._frames: dict[int, viser.FrameHandle] = {}
        self._scene, self._name = scene, name
        missing: set[int] = set()
        wrong: list[str] = []  # in the order of the visuals
        news: list[str] = []  # of these, what nobody has warned of yet
        left = MOST_TRIANGLES
        for k, visual in enumerate(visuals):
            if visual.kind == MISSING:
                wrong.append(visual.reason or f"link {visual.name!r}")
                missing.add(visual.link)
                continue
            try:
                surfaces = surfaces_of(visual)
                left -= sum(len(surface.faces) for surface in surfaces)
                if left < 0:
                    raise ModelError(f"the arm must not have more than {MOST_TRIANGLES} triangles")
            except ModelError as error:
                news.append(f"link {visual.name!r}: {error}")
                wrong.append(news[-1])
                missing.add(visual.link)
                continue
            self._add(k, visual, surfaces)
        self.links = {visual.link for visual in visuals} - missing
        self.problem = _told(wrong)
        if news:
            warnings.warn(_told(news), ModelWarning, stacklevel=2)

    def _add(self, k: int, visual: Visual, surfaces: list[Surface]) -> None:
        if visual.link not in self._frames:
            self._frames[visual.link] = self._scene.add_frame(f"{self._name}/{visual.link}", show_axes=False)
        for j, surface in enumerate(surfaces):
            r, g, b, opacity = visual.colour or surface.colour or (*(c / 255 for c in ARM[visual.link % 2]), 1.0)
            self._scene.add_mesh_simple(
                f"{self._name}/{visual.link}/{k}_{j}",
                surface.vertices.astype(np.float32),
                surface.faces.astype(np.uint32),
                color=(round(255 * r), round(255 * g), round(255 * b)),
                opacity=None if opacity >= 1.0 else max(opacity, 0.05),
            )

    def show(self, poses: Array) -> None:
        """Poses (n + 1, 4, 4) of base and links in the world."""
        for link, frame in self._frames.items():
            there = link < len(poses) and bool(np.isfinite(poses[link]).all())
            seen(frame, there)
            if there:
                frame.position = poses[link][:3, 3]
                frame.wxyz = solids.quaternion(poses[link][:3, :3])

    def hide(self) -> None:
        """Nothing of it, until it is shown again."""
        for frame in self._frames.values():
            seen(frame, False)


def _told(wrong: list[str]) -> str:
    if not wrong:
        return ""
    more = f"; and {len(wrong) - TOLD} more" if len(wrong) > TOLD else ""
    return f"not drawn, capsules are shown instead: {'; '.join(wrong[:TOLD])}{more}"


def surfaces_of(visual: Visual) -> list[Surface]:
    """Its triangles in the link's frame."""
    T = np.array(visual.pose)
    if visual.kind == "mesh":
        found, scale = list(_file(visual.mesh)), np.array(visual.size)
    else:
        makers: dict[str, Callable[..., solids.Solid]] = {
            "box": solids.box,
            "sphere": lambda r: (solids.ball()[0] * r, solids.ball()[1]),
            "cylinder": solids.cylinder,
            "capsule": lambda r, length: solids.capsule(length, r),
        }
        found, scale = [Surface(*makers[visual.kind](*visual.size))], np.ones(3)
    flipped = np.prod(scale) < 0
    return [
        Surface(
            (surface.vertices * scale) @ T[:3, :3].T + T[:3, 3],
            surface.faces[:, ::-1] if flipped else surface.faces,
            surface.colour,
        )
        for surface in found
    ]


@lru_cache(maxsize=KEPT)
def _file(path: str) -> tuple[Surface, ...]:
    return tuple(read(path))


CREASE = math.radians(35.0)


def read(path: str | Path) -> list[Surface]:
    """What a mesh file shows."""
    return [creased(surface) for surface in meshes.surfaces(path)]


def creased(surface: Surface) -> Surface:
    """The same with corners shared where the surface is smooth, and only there."""
    points, where = np.unique(surface.vertices.round(7), axis=0, return_inverse=True)
    faces = where.reshape(-1)[surface.faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]  # no area
    a, b, c = (points[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    groups = _smooth(faces, normals)
    # one vertex for each group of corners
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return Surface(points[faces.reshape(-1)[first]], inverse.reshape(-1, 3), surface.colour)


def _smooth(faces: Array, normals: Array) -> Array:
    """(3 F,) a number for every corner, the same for those that meet in a point across smooth edges."""
    corner = np.arange(faces.size).reshape(-1, 3)
    ends = np.stack([corner, np.roll(corner, -1, axis=1)], axis=-1).reshape(-1, 2)  # both corners of each edge
    flat = faces.reshape(-1)
    flip = flat[ends[:, 0]] > flat[ends[:, 1]]
    ends[flip] = ends[flip][:, ::-1]
    keys = flat[ends]
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    ends, keys = ends[order], keys[order]
    same = (keys[1:] == keys[:-1]).all(axis=1)
    first, second = ends[:-1][same], ends[1:][same]
    smooth = np.einsum("ij,ij->i", normals[first[:, 0] // 3], normals[second[:, 0] // 3]) > math.cos(CREASE)
    one, other = first[smooth].reshape(-1), second[smooth].reshape(-1)
    label = np.arange(faces.size)
    while True:  # the least number of neighbours spreads
        least = label.copy()
        np.minimum.at(least, one, label[other])
        np.minimum.at(least, other, label[one])
        least = least[least]
        if (least == label).all():
            return label
        label = least
