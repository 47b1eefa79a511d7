"""Draws the picture of docs/cell/task.md beside itself.

    python docs/pictures/task.py

Left: the states and events of TRANSITIONS, as the thesis' Fig 4.13.  Right: one cycle from above, with a controller, an
arm and somebody who walks in.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, State
from elbowroom.cell import Kinematic, PickAndPlace, Walk
from elbowroom.cell.pick_and_place import AVOID, PERSON_NEAR, STATES, TRANSITIONS
from elbowroom.experiments.figure_style import look, pyplot

HERE = Path(__file__).parent
BLUE, SAND, RED, INK, GREY = "#1f5fa8", "#c58b2a", "#c0392b", "#111111", "#8a8a8a"
DT = 0.004
RADIUS = 0.3  # m, of the cylinder who walks


def diagram(axes: Any, plt: Any) -> None:
    """One box a state, one arrow a row of the table."""
    height = {state: -k for k, state in enumerate(s for s in STATES if s != AVOID)}
    half, bar = 0.62, 2.1  # half a box, and where avoid stands
    arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11}
    for number, (state, y) in enumerate(height.items(), 1):
        axes.add_patch(plt.Rectangle((-half, y - 0.21), 2 * half, 0.42, facecolor="white", edgecolor=INK, zorder=2))
        axes.text(0, y, f"{number}  {state}", ha="center", va="center", zorder=3)
    low, high = min(height.values()) - 0.21, max(height.values()) + 0.21
    axes.add_patch(plt.Rectangle((bar, low), 0.5, high - low, facecolor="#ece3d2", edgecolor=INK, zorder=2))
    axes.text(bar + 0.25, (low + high) / 2, f"7  {AVOID}", ha="center", va="center", rotation=90, zorder=3)
    bend = 0.0
    for row in TRANSITIONS:
        if row.event == PERSON_NEAR:
            y = height[row.state] + 0.08
            axes.annotate("", (bar, y), (half, y), arrowprops=arrow)
        elif row.state == AVOID:  # back to where it came from: an arrow to every state
            for y in height.values():
                axes.annotate("", (half, y - 0.08), (bar, y - 0.08), arrowprops=arrow | {"linestyle": (0, (3, 2))})
            axes.text((half + bar) / 2, -0.13, row.event, ha="center", va="top", fontsize=8.5)
        elif height[row.to] == height[row.state] - 1:
            y = height[row.state] - 0.21
            axes.annotate("", (0, y - 0.58), (0, y), arrowprops=arrow)
            axes.text(0.08, y - 0.29, row.event, va="center", fontsize=8.5)
        else:  # up again, on the left
            up, down = height[row.to], height[row.state]
            steps = up - down
            x = -half - 0.28 - (0.5 if steps > 1 else 0.0)
            end = up + (0.1 if steps > 1 else -0.1)
            axes.plot([-half, x, x], [down, down, end], color=INK, linewidth=1)
            axes.annotate("", (-half, end), (x, end), arrowprops=arrow)
            axes.text(x - 0.06, (up + down) / 2, row.event, ha="right", va="center", fontsize=8.5, rotation=90)
            bend = min(bend, x)
    axes.text((half + bar) / 2, 0.13, PERSON_NEAR, ha="center", va="bottom", fontsize=8.5)
    axes.set(xlim=(bend - 0.35, bar + 0.6), ylim=(low - 0.15, high + 0.25))
    axes.set_axis_off()
    axes.set_title("The states and what leads from one to the next", loc="left")


def cycle() -> tuple[PickAndPlace, Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The second cycle of a panda: its cell, the walk, times, tool, whether it avoids, and the objects at the end."""
    arm = er.load("panda")
    rest = arm.pose(arm.ready)
    cell = PickAndPlace(pick=(0.12, 0.32, -0.25), place=(0.12, -0.32, -0.25)).placed(rest[:3, 3])
    controller, plant, state = Controller(arm, Config(period=DT), people=1), Kinematic(arm), State(arm.ready)
    people, who = controller.obstacles(), Walk((2.2, 0.0), (0.95, 0.0), 0.3, 1, delay=8.7)
    plant.reset(arm.ready)
    job, capsules, distance = cell.begin(rest[:3, 3]), np.empty((len(who.names), 13)), np.inf
    job.goal.rotation = rest[:3, :3]
    times, tools, avoids, objects = [], [], [], []
    while job.cycles < 2 and state.t < 60:
        plant.read(state)
        tool = arm.pose(state.q)[:3, 3]
        goal = job.step(state.t, DT, tool, distance)
        people.see(capsules, who.look(state.t, capsules))
        command = controller.step(state.t, DT, state, people, goal)
        plant.write(command)
        plant.advance(DT, capsules)
        distance = command.distance
        if job.cycles == 1:
            times.append(state.t)
            tools.append(tool)
            avoids.append(job.state == AVOID)
            objects.append(job.objects.copy())
    return cell, who, np.array(times), np.array(tools), np.array(avoids), objects[len(objects) * 3 // 4]


def above(axes: Any, plt: Any) -> None:
    """Belts, way, tool, person."""
    cell, who, times, tools, avoids, objects = cycle()
    for end, belt, sign in ((cell.pick, cell.infeed, -1), (cell.place, cell.outfeed, 1)):
        far = np.array(end) + sign * belt.length * belt.way
        near = np.array(end) - sign * 0.06 * belt.way  # a little beyond the place of work
        low, high = sorted((near[1], far[1]))
        axes.add_patch(plt.Rectangle((low, end[0] - 0.1), high - low, 0.2, facecolor="#e9e9e9", edgecolor=GREY))
        middle = (np.array(end) + far) / 2
        axes.annotate(
            "",
            (middle + 0.15 * belt.way)[[1, 0]] + [0, 0.06],
            (middle - 0.15 * belt.way)[[1, 0]] + [0, 0.06],
            arrowprops={"arrowstyle": "-|>", "color": GREY},
        )
    axes.plot(objects[:, 1], objects[:, 0], "s", color=SAND, markersize=7, markeredgecolor=INK, label="objects")
    stops = [cell.home, cell.pick, cell.place, cell.home]
    way = np.concatenate([cell.way(a, b) for a, b in pairwise(stops)])
    axes.plot(way[:, 1], way[:, 0], color=INK, linewidth=1, linestyle=(0, (4, 3)), label="way of the pole", zorder=3)
    axes.plot(tools[:, 1], tools[:, 0], color=BLUE, linewidth=1.8, label="tool", zorder=4)
    shown = np.where(avoids[:, None], tools, np.nan)
    axes.plot(shown[:, 1], shown[:, 0], color=RED, linewidth=4, label="tool, avoiding", zorder=5, solid_capstyle="butt")
    there = who.end
    axes.add_patch(plt.Circle(there[[1, 0]], RADIUS, facecolor="#d9c8a5", edgecolor="white", zorder=2))
    axes.annotate("somebody walks\nin and out", there[[1, 0]], ha="center", va="center", fontsize=9)
    for name, point, shift in (
        ("home", cell.home, (0, -16)),
        ("pick", cell.pick, (0, 9)),
        ("place", cell.place, (0, 9)),
    ):
        axes.annotate(name, (point[1], point[0]), shift, textcoords="offset points", ha="center", fontsize=9)
    axes.plot(0, 0, "o", color=INK, markersize=9)
    axes.annotate("arm", (0, 0), (0, -16), textcoords="offset points", ha="center", fontsize=9)
    axes.set(xlim=(1.5, -1.5), ylim=(-0.12, 1.45), aspect="equal", xlabel="y, m", ylabel="x, m")
    axes.legend(loc="upper left", fontsize=8.5, ncols=1)
    axes.set_title(f"One cycle from above: {times[-1] - times[0]:.1f} s, alone {cell.cycle_time:.1f} s", loc="left")


def main() -> None:
    """Writes the picture."""
    plt = pyplot()
    with look():
        figure = plt.figure(figsize=(11.5, 4.9), layout="constrained")
        grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.75))
        diagram(figure.add_subplot(grid[0]), plt)
        above(figure.add_subplot(grid[1]), plt)
        figure.savefig(HERE / "task.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
