"""Static scene: light, floor, pedestal, conveyors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import triangles
from .palette import BELT, FLOOR, GRID, HAZE, LINES, RAIL, STEEL

Array = NDArray[Any]

WIDE = 0.24  # m, of a belt
LOW = 0.055  # m: a belt's top, below the middle of what lies on it


def light(scene: Any) -> None:
    """A high sun with shadows, and a pale sky that the floor runs into."""
    scene.world_axes.visible = False
    scene.configure_environment_map("apartment", environment_intensity=0.3)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(200, 196, 190), intensity=0.6)
    scene.add_light_directional(
        "/light/sun", color=(255, 248, 238), intensity=2.2, cast_shadow=True, position=(1.5, -2.5, 5.0)
    )
    scene.add_light_directional(
        "/light/fill", color=(225, 235, 255), intensity=0.4, cast_shadow=False, position=(-4.0, 3.0, 3.0)
    )
    # No fog: viser's outline of what the pointer is over cannot be drawn in it, and the page would stop.
    scene.set_background_image(np.full((2, 2, 3), HAZE, dtype=np.uint8), format="png")


def ground(scene: Any, floor: float, base: Array) -> None:
    """The floor, and what the arm stands on."""
    scene.add_box(
        "/floor/slab",
        dimensions=(60.0, 60.0, 0.02),
        position=(0.0, 0.0, floor - 0.011),
        color=FLOOR,
        cast_shadow=False,
        receive_shadow=True,
    )
    scene.add_grid(
        "/floor/grid",
        infinite_grid=True,
        cell_size=0.25,
        section_size=1.0,
        cell_color=GRID,
        section_color=LINES,
        fade_distance=9.0,
        shadow_opacity=0.0,
        position=(0.0, 0.0, floor + 0.001),
    )
    height = float(base[2]) - floor
    if height < 0.05:
        return
    x, y = float(base[0]), float(base[1])
    parts = [
        triangles.moved(triangles.cylinder(0.075, height - 0.03), (x, y, floor + 0.5 * height)),
        triangles.moved(triangles.cylinder(0.15, 0.018), (x, y, floor + 0.009)),
        triangles.moved(triangles.cylinder(0.12, 0.018), (x, y, floor + height - 0.012)),
    ]
    scene.add_mesh_simple("/floor/pedestal", *triangles.joined(parts), color=STEEL)


def belts(scene: Any, ends: Sequence[tuple[Array, Array]], floor: float) -> None:
    """Conveyors between two points: rails, legs and a belt on rollers."""
    for k, (start, end) in enumerate(ends):
        start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        way = end - start
        length, yaw = float(np.linalg.norm(way[:2])) + 0.1, float(np.arctan2(way[1], way[0]))
        top = float(start[2]) - LOW - floor
        if top < 0.12:
            continue
        middle = 0.5 * (start + end)
        place = {
            "position": (float(middle[0]), float(middle[1]), floor),
            "wxyz": (float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))),
        }
        frame = [
            triangles.moved(triangles.box(length, 0.018, 0.07), (0.0, s * (WIDE / 2 + 0.013), top - 0.04))
            for s in (-1, 1)
        ]
        for along in (-1.0, 1.0):
            x = along * (length / 2 - 0.09)
            frame += [
                triangles.moved(triangles.box(0.035, 0.035, top - 0.06), (x, s * (WIDE / 2 - 0.01), 0.5 * (top - 0.06)))
                for s in (-1, 1)
            ]
            frame.append(triangles.moved(triangles.box(0.03, WIDE, 0.03), (x, 0.0, 0.3 * top)))
        scene.add_mesh_simple(f"/belts/{k}/frame", *triangles.joined(frame), color=RAIL, **place)
        scene.add_mesh_simple(
            f"/belts/{k}/belt", *triangles.moved(_loop(length, 0.028), (0.0, 0.0, top - 0.028)), color=BELT, **place
        )


def _loop(length: float, radius: float) -> triangles.Solid:
    """A belt round two rollers, along x, closed at its sides."""
    half = 0.5 * length - radius
    turn = np.linspace(-np.pi / 2, np.pi / 2, 9)
    outline = np.concatenate(
        [
            np.stack([half + radius * np.cos(turn), radius * np.sin(turn)], axis=1),
            np.stack([-half - radius * np.cos(turn), -radius * np.sin(turn)], axis=1),
        ]
    )
    n = len(outline)
    near, far = (np.insert(outline, 1, side * WIDE / 2, axis=1) for side in (-1.0, 1.0))
    vertices = np.concatenate([near, far, near, far])
    k = np.arange(n)
    after = (k + 1) % n
    side = np.stack([k, after, n + after, k, n + after, n + k], axis=1).reshape(-1, 3)[:, ::-1]
    fan = np.stack([0 * k[1:-1], k[1:-1], k[2:]], axis=1)
    faces = np.concatenate([side, 2 * n + fan, 3 * n + fan[:, ::-1]])
    return vertices.astype(np.float32), faces.astype(np.uint32)
