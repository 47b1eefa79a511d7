"""Draws the picture of docs/tutorials/your_own_cell.md beside itself.

    python docs/pictures/your_own_cell.py

The scene of examples/cell.toml.  Left: tool and visitor from above.  Right: how far apart they are, and what the task
does meanwhile, alone and with the visitor.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from elbowroom.cell import Cell, Scene, run
from elbowroom.experiments.figure_style import look, pyplot

HERE = Path(__file__).parent
FILE = HERE.parents[1] / "examples" / "cell.toml"
BLUE, SAND, RED, INK, GREY = "#1f5fa8", "#c58b2a", "#c0392b", "#111111", "#8a8a8a"
SHADES = {"avoid": RED, "pick": "#6d6d6d", "place": "#6d6d6d"}  # other states are light
RADIUS = 0.2  # m, of the visitor


def with_cylinder(scene: Scene) -> Scene:
    """With the visitor of the tutorial, who is one."""
    people = {name: dataclasses.replace(who, shape="cylinder") for name, who in scene.people.items()}  # type: ignore[type-var]
    return dataclasses.replace(scene, people=people)


def above(axes: Any, plt: Any, scene: Scene, table: dict[str, np.ndarray]) -> None:
    """x up, as seen from behind the arm."""
    rest = table["tool_x"][0], table["tool_y"][0]
    avoids = table["state"] == "avoid"
    axes.plot(table["person_y"], table["person_x"], color=SAND, linewidth=1.6, linestyle=(0, (5, 2)), label="visitor")
    axes.plot(table["tool_y"], table["tool_x"], color=BLUE, linewidth=1.6, label="tool")
    shown = np.where(avoids, table["tool_x"], np.nan)
    axes.plot(table["tool_y"], shown, color=RED, linewidth=4.0, label="tool, avoiding", solid_capstyle="butt")
    nearest = int(table["distance_surfaces"].argmin())
    there = table["person_y"][nearest], table["person_x"][nearest]
    axes.add_patch(plt.Circle(there, RADIUS, facecolor="#e6d6b4", edgecolor="white", zorder=1.5))
    axes.annotate(f"nearest at\n{table['t'][nearest]:.1f} s", there, ha="center", va="center", fontsize=8)
    for name in ("pick", "place"):
        x, y, _ = getattr(scene.task, name)
        axes.plot(rest[1] + y, rest[0] + x, "s", color=INK, markersize=6)
        axes.annotate(name, (rest[1] + y, rest[0] + x), (0, 8), textcoords="offset points", ha="center", fontsize=9)
    axes.plot(0, 0, "o", color=INK, markersize=9)
    axes.annotate("arm", (0, 0), (0, -15), textcoords="offset points", ha="center", fontsize=9)
    axes.set(xlim=(0.8, -0.8), ylim=(-0.15, 2.25), aspect="equal", xlabel="y, m", ylabel="x, m")
    axes.legend(loc="upper right", fontsize=8.5)
    axes.set_title("From above", loc="left")


def strip(axes: Any, table: dict[str, np.ndarray], label: str, *, named: bool) -> None:
    """The states of the task as a band."""
    t, state = table["t"], table["state"]
    edges = [0, *(np.flatnonzero(state[1:] != state[:-1]) + 1), len(t) - 1]
    for a, b in pairwise(edges):
        colour = SHADES.get(state[a], "#cfd8e3")
        axes.axvspan(t[a], t[b], facecolor=colour, edgecolor="white", linewidth=1.5)
        if named and t[b] - t[a] > 1.0:
            ink = "white" if state[a] in SHADES else INK
            axes.text((t[a] + t[b]) / 2, 0.5, state[a], ha="center", va="center", fontsize=8, color=ink)
    axes.set(yticks=[], ylim=(0, 1))
    axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=9)
    axes.grid(visible=False)


def main() -> None:
    """Writes the picture."""
    scene = with_cylinder(Scene.load(FILE))
    runs = {name: run(Cell(with_cylinder(Scene.load(FILE, variant=name)))).table() for name in (None, "alone", "hurry")}
    table = runs[None]
    plt = pyplot()
    with look():
        figure = plt.figure(figsize=(11.0, 4.9), layout="constrained")
        grid = figure.add_gridspec(3, 2, width_ratios=(1.0, 1.75), height_ratios=(5.0, 0.7, 0.7))
        above(figure.add_subplot(grid[:, 0]), plt, scene, table)
        upper = figure.add_subplot(grid[0, 1])
        upper.plot(table["t"], table["distance_surfaces"], color=BLUE, linewidth=1.8, label="the scene")
        hurry = runs["hurry"]
        dashed = {"color": GREY, "linewidth": 1.4, "linestyle": (0, (4, 2))}
        upper.plot(hurry["t"], hurry["distance_surfaces"], **dashed, label="variant hurry")
        upper.axhline(scene.task.safety, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))  # type: ignore[attr-defined]
        upper.annotate("the task pauses below", (0.1, 0.53), fontsize=8)
        upper.set(ylim=(0, None), xlim=(0, scene.duration), ylabel="arm to visitor, m")
        upper.tick_params(labelbottom=False)
        upper.legend(loc="lower right", fontsize=8.5)
        upper.set_title("Distance, and what the task does", loc="left")
        for k, (name, label) in enumerate(((None, "visited"), ("alone", "alone"))):
            below = figure.add_subplot(grid[k + 1, 1], sharex=upper)
            strip(below, runs[name], label, named=True)
            below.tick_params(labelbottom=k == 1)
        below.set_xlabel("t, s")
        figure.savefig(HERE / "your_own_cell.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
