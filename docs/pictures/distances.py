"""Draws the pictures of docs/avoidance/distances.md beside itself, with the library's own closest points.

    python docs/pictures/distances.py

Lines differ in dash, width and lightness, so that a grey print reads as well.  The thesis' figures are made anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elbowroom.experiments.figure_style import look, pyplot
from elbowroom.geometry import PARALLEL_ANGLE
from elbowroom.geometry.segments import nearest

HERE = Path(__file__).parent
INK, BLUE, GREY, RED = "#111111", "#1f5fa8", "#8a8a8a", "#c0392b"
FIRST = np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.2, 0.0])
SECOND = {
    "origin outside": (np.array([1.0, -0.45, 0.3]), np.array([1.75, 0.6, 0.5])),
    "origin inside": (np.array([0.2, -0.45, 0.3]), np.array([0.85, 0.55, 0.5])),
}


def parallelogram(figure: Any) -> None:
    """Figures 3.9 and 3.10: the unit square of the unknowns and what R makes of it."""
    axes = figure.subplots(1, 4, width_ratios=(1, 1.35, 1, 1.35))
    for (square, plane), (title, (a2, b2)) in zip((axes[:2], axes[2:]), SECOND.items(), strict=True):
        a1, b1 = FIRST
        A, y = np.column_stack([b2 - a2, a1 - b1]), a1 - a2  # (3.23), (3.24)
        Q, R = np.linalg.qr(A)
        signs = np.sign(np.diag(R))
        Q, R = Q * signs, R * signs[:, None]
        near = nearest(a1, b1, a2, b2)
        x = np.array([near.lambda2, near.lambda1])
        free = np.linalg.solve(R, Q.T @ y)  # (3.33)

        corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
        grid = np.stack(np.meshgrid(np.linspace(-0.5, 1.5, 120), np.linspace(-0.5, 2.0, 120)), axis=-1)
        levels = np.linalg.norm(grid @ R.T - Q.T @ y, axis=-1)
        rings = np.linspace(0.1, 1.5, 8)
        square.contour(grid[..., 0], grid[..., 1], levels, rings, colors=GREY, linewidths=0.6)
        square.fill(*corners.T, facecolor="#dfe8f3", edgecolor=BLUE, linewidth=2.0, alpha=0.75)
        square.plot(*free, marker="+", color=INK, markersize=10, markeredgewidth=1.6)
        square.plot(*x, marker="o", color=RED, markersize=7)
        square.set(xlim=(-0.45, 1.45), ylim=(-0.2, 1.7), xlabel="λ2", ylabel="λ1", aspect="equal")
        square.set_title("the unit square", loc="left")

        image = corners @ R.T - Q.T @ y  # (3.31)
        u = R @ x - Q.T @ y
        turn = np.linspace(0, 2 * np.pi, 100)
        for radius in rings:
            plane.plot(radius * np.cos(turn), radius * np.sin(turn), color=GREY, linewidth=0.6)
        plane.fill(*image.T, facecolor="#dfe8f3", edgecolor=BLUE, linewidth=2.0, alpha=0.75)
        plane.plot([0, u[0]], [0, u[1]], color=RED, linewidth=1.4, linestyle=(0, (3, 2)))
        plane.plot(0, 0, marker="+", color=INK, markersize=10, markeredgewidth=1.6)
        plane.plot(*u, marker="o", color=RED, markersize=7)
        low, high = image.min(axis=0), image.max(axis=0)
        low, high = np.minimum(low, 0) - 0.2, np.maximum(high, 0) + 0.2
        plane.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="u1, m", ylabel="u2, m", aspect="equal")
        plane.set_title(f"u = R x - Qᵀ y, {title}", loc="left")


def through_parallel(figure: Any) -> None:
    """The place of the nearest point while an axis turns through parallel, exact and smooth."""
    axes = figure.subplots(1, 2, sharey=True)
    angles = np.radians(np.linspace(-25, 25, 2001))
    low, high = np.array([-0.5, 0, 0]), np.array([0.5, 0, 0])
    cases = (
        ("rocking over the other, 0.2 m above", np.array([0, 0, 1.0]), 0.5),
        ("swinging across it, about a pivot off the middle", np.array([0, 1.0, 0]), 0.85),
    )
    for axis, (title, sideways, pivot) in zip(axes, cases, strict=True):
        places: list[tuple[float, float]] = []
        for angle in angles:
            turned = np.cos(angle) * np.array([1.0, 0, 0]) + np.sin(angle) * sideways
            a1 = np.array([pivot - 0.5, 0.03 * sideways[1], 0.2]) - turned * pivot
            near = nearest(a1, a1 + turned, low, high)
            places.append((float(near.lambda1), float(near.smooth1)))
        exact, smooth = np.array(places).T
        axis.axvspan(-np.degrees(PARALLEL_ANGLE), np.degrees(PARALLEL_ANGLE), color="#f0f0f0")
        axis.plot(np.degrees(angles), exact, label="exact", color=BLUE, linestyle=(0, (5, 2)), linewidth=1.8)
        axis.plot(np.degrees(angles), smooth, label="smooth", color=INK, linewidth=2.2)
        axis.set(xlim=(-25, 25), ylim=(-0.03, 1.03), xlabel="angle of the axes, degrees")
        axis.set_title(title, loc="left")
    axes[0].set_ylabel("place on the axis, λ1")
    axes[0].legend(loc="upper right", handlelength=3.4)


PICTURES = {"parallelogram": (parallelogram, (13, 3.0)), "through_parallel": (through_parallel, (10, 3.7))}


def main() -> None:
    """Every picture, as SVG."""
    plt = pyplot()
    for name, (draw, size) in PICTURES.items():
        with look():
            figure = plt.figure(figsize=size, layout="constrained")
            draw(figure)
            figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
