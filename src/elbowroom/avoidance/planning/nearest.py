"""Which of an arm's links is nearest to what, in words: for the reasons of plans.

Axes are sampled, so of two that are about as near the other one may be named; no distance comes from here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .checker import Checker
from .world import World

Array = NDArray[np.float64]

SAMPLES = 33  # points of an axis


def nearest_pair(checker: Checker, q: Array, world: World) -> str:
    """The two that are nearest at q (n,): a link and an obstacle, or two links; "" where there is nothing."""
    body, part = checker.body, np.linspace(0.0, 1.0, SAMPLES)[:, None]
    placed = dict(zip(body.names, body.capsules(q), strict=True))
    axes = {name: each.a + part * (each.b - each.a) for name, each in placed.items()}
    found = [
        (float(np.min(off)) - placed[link.name].radius, f"{link.name} and {what}")
        for link in checker.moving
        for off, what in _obstacles(axes[link.name], world)
    ]
    for x, y in checker.pairs:
        off = np.linalg.norm(axes[x.name][:, None] - axes[y.name], axis=2).min()
        found.append((float(off) - x.radius - y.radius, f"{x.name} and {y.name}"))
    return min(found, default=(0.0, ""))[1]


def _obstacles(points: Array, world: World) -> list[tuple[Array, str]]:
    """Distances (k,) of points (k, 3) to each obstacle, and what it is."""
    found: list[tuple[Array, str]] = []
    for row in world.capsules:
        a, along = row[0:3], row[3:6] - row[0:3]
        t = np.clip((points - a) @ along * row[7], 0.0, 1.0)[:, None]
        kind = "capsule" if row[7] else "sphere"
        found.append((np.linalg.norm(points - a - t * along, axis=1) - row[6], _at(kind, a + 0.5 * along)))
    for row in world.boxes:
        inside = np.abs((points - row[0:3]) @ row[3:12].reshape(3, 3)) - row[12:15]
        off = np.linalg.norm(np.maximum(inside, 0.0), axis=1)
        found.append((off - row[15], _at("box", row[0:3])))
    for row in world.planes:
        found.append((points @ row[0:3] - row[3], _at("half-space below", row[0:3] * row[3])))
    return found


def _at(kind: str, place: Array) -> str:
    return f"{kind} at {(place.round(3) + 0.0).tolist()}"
