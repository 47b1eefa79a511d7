"""Draws the pictures of docs/avoidance/bodies.md beside itself, with the library's own capsules.

    python docs/pictures/bodies.py

A capsule seen from far away is a stadium: the hull of two circles.  Farther ones are drawn first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom.experiments.figure_style import look, pyplot
from elbowroom.geometry import Body, Capsule, Person, distance

HERE = Path(__file__).parent
BLUE, SAND, RED, INK = "#1f5fa8", "#c58b2a", "#c0392b", "#111111"

REACHING = {
    "head": (0.98, 0.05, 1.62),
    "collar": (1.0, 0.02, 1.42),
    "hip": (1.08, 0.0, 0.95),
    "left_shoulder": (1.02, -0.17, 1.4),
    "right_shoulder": (0.98, 0.21, 1.4),
    "left_elbow": (1.08, -0.24, 1.13),
    "left_hand": (0.95, -0.24, 0.9),
    "right_elbow": (0.8, 0.33, 1.2),
    "right_hand": (0.55, 0.24, 1.12),
}


def seen_from(azimuth: float, elevation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right, up and towards the eye, for an eye at these angles (degrees)."""
    a, e = math.radians(azimuth), math.radians(elevation)
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    towards = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    return right, np.cross(towards, right), towards


def stadium(capsule: Capsule, right: np.ndarray, up: np.ndarray) -> np.ndarray:
    """(N, 2) the outline of a capsule as it is seen."""
    a, b = ([end @ right, end @ up] for end in (capsule.a, capsule.b))
    along = math.atan2(b[1] - a[1], b[0] - a[0])
    half = np.linspace(math.pi / 2, 3 * math.pi / 2, 40)
    circle = np.column_stack([np.cos(half + along), np.sin(half + along)]) * capsule.radius
    return np.vstack([a + circle, b - circle])


def draw(axes: Any, groups: Sequence[tuple[Sequence[Capsule], str]], view: Any, alpha: float = 0.55) -> None:
    """The capsules of every group in its colour, farther ones first and paler."""
    right, up, towards = view
    all_of_them = [(float((c.a + c.b) @ towards) / 2, c, colour) for shapes, colour in groups for c in shapes]
    for _, capsule, colour in sorted(all_of_them, key=lambda item: item[0]):
        outline = stadium(capsule, right, up)
        axes.fill(*outline.T, facecolor=colour, edgecolor="white", linewidth=1.0, alpha=alpha)
        ends = np.array([[end @ right, end @ up] for end in (capsule.a, capsule.b)])
        axes.plot(*ends.T, color=INK, linewidth=0.8, marker=".", markersize=3)
    axes.set_aspect("equal")
    axes.set_axis_off()


def side_by_side(figure: Any) -> None:
    """The Panda on a table beside a person who reaches over, with the nearest pair."""
    axes = figure.subplots()
    view = seen_from(-65.0, 14.0)
    arm = er.load("panda").with_base([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.6], [0, 0, 0, 1]])
    body, person = Body(arm), Person.from_skeleton(REACHING)
    robot, human = body.capsules(arm.ready), person.capsules()
    draw(axes, [(robot, BLUE), (human, SAND)], view)
    pairs = [(distance(x, y), i, j) for i, x in enumerate(robot) for j, y in enumerate(human)]
    near, i, j = min(pairs, key=lambda pair: pair[0].distance)
    right, up, _ = view
    ends = np.array([[p @ right, p @ up] for p in (near.point_a, near.point_b)])
    axes.plot(*ends.T, color=RED, linewidth=2.5, marker="o", markersize=4)
    names = f"{body.names[i]} to {person.names[j]}".replace("_", " ")
    place = {"xytext": (8, 34), "textcoords": "offset points", "ha": "center"}
    axes.annotate(f"{names}:\n{near.distance * 100:.0f} cm", ends.mean(axis=0), color=RED, **place)
    for z, x, y, colour in ((0.0, (-0.5, 1.6), 0.6, "#eeeeee"), (0.6, (-0.35, 0.6), 0.35, "#d9d9d9")):  # floor, table
        plane = np.array([(x[0], -y, z), (x[1], -y, z), (x[1], y, z), (x[0], y, z)])
        axes.fill(plane @ right, plane @ up, facecolor=colour, zorder=z)


def covers(figure: Any) -> None:
    """The PUMA 560's own nine capsules, and the thesis' two."""
    view = seen_from(-60.0, 12.0)
    arm = er.load("puma560")
    q = np.radians([0, 20, -150, 0, 40, 0])
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, cover, title in zip(panels, (None, "thesis"), ("Body(arm)", 'Body(arm, cover="thesis")'), strict=True):
        draw(axes, [(Body(arm, cover=cover).capsules(q), BLUE)], view)
        axes.set_title(title, loc="left")


def main() -> None:
    """Writes the pictures."""
    plt = pyplot()
    for name, painter, size in (("bodies", side_by_side, (7.0, 6.0)), ("covers", covers, (8.0, 4.0))):
        with look():
            figure = plt.figure(figsize=size, layout="constrained")
            painter(figure)
            figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
