"""Draws the picture of docs/cell/coworkers.md beside itself.

    python docs/pictures/coworkers.py

Left: a random walk from above.  Middle: somebody reaching in, from the side.  Right: that reach as a recording with
a gap, and how old the data is that `look` gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from bodies import stadium

from elbowroom.cell import RandomWalk, Reach, Recorded
from elbowroom.cell.mocap.recorded import Motion
from elbowroom.experiments.figure_style import look, pyplot
from elbowroom.geometry import Capsule

HERE = Path(__file__).parent
BLUE, SAND, RED, INK, GREY = "#1f5fa8", "#c58b2a", "#c0392b", "#111111", "#8a8a8a"


def walk(axes: Any, plt: Any) -> None:
    """30 s of a random walk, wider and darker where it is faster."""
    who = RandomWalk(seed=1, area=(0.6, 2.2, -1.2, 1.2), max_speed=2.0)
    times = np.linspace(0, 30, 1001)
    path = np.array([np.concatenate(who.point(t)) for t in times])
    speed = np.linalg.norm(path[:, 3:], axis=1)
    from matplotlib.collections import LineCollection

    pieces = np.stack([path[:-1, :2], path[1:, :2]], axis=1)
    shown = LineCollection(pieces, array=speed[:-1], cmap="Blues", linewidths=0.6 + speed[:-1])
    shown.set_clim(-0.5, 2.0)
    axes.add_collection(shown)
    axes.add_patch(plt.Rectangle((0.6, -1.2), 1.6, 2.4, fill=False, edgecolor=INK, linestyle=(0, (4, 3))))
    axes.add_patch(plt.Circle(path[0, :2], 0.3, facecolor=SAND, alpha=0.6, edgecolor="white", zorder=2.5))
    axes.annotate("the cylinder\nat the start", path[0, :2], ha="center", va="center", fontsize=8, zorder=3)
    axes.set(xlim=(0.2, 2.6), ylim=(-1.45, 1.45), aspect="equal", xlabel="x, m", ylabel="y, m")
    axes.set_title("RandomWalk: 30 s within an area", loc="left")
    axes.annotate(f"up to {speed.max():.1f} m/s", (0.62, -1.38), color=BLUE, fontsize=9)


def reach(axes: Any) -> Reach:
    """At rest, and with the hand at the target."""
    who = Reach((1.0, 0.0), (0.35, 0.1, 1.05), start=0.5, reach_time=0.9, hold=0.6)
    out = np.empty((len(who.names), 13))
    right, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    for t, colour, alpha in ((0.0, GREY, 0.25), (1.5, SAND, 0.55)):
        who.look(t, out)
        for row in out[np.argsort(-out[:, 1])]:
            outline = stadium(Capsule(row[:3], row[3:6], row[6]), right, up)
            axes.fill(*outline.T, facecolor=colour, edgecolor="white", linewidth=0.8, alpha=alpha, zorder=2)
    at = who.names.index("right_hand")
    way = np.array([(who.look(t, out), *out[at, :3]) for t in np.linspace(0.5, 1.4, 40)])
    axes.plot(way[:, 1], way[:, 3], color=RED, linewidth=1.8, zorder=3)
    axes.plot(*who.target[[0, 2]], "x", color=RED, markersize=8, markeredgewidth=2, zorder=3)
    axes.annotate("target", who.target[[0, 2]], (0.12, 1.2), color=RED)
    axes.set(xlim=(0.0, 1.45), ylim=(-0.05, 1.95), aspect="equal", xlabel="x, m", ylabel="z, m")
    axes.set_title(f"Reach: leans {np.degrees(who.lean):.0f}°", loc="left")
    return who


def recorded(panels: Any, who: Reach) -> None:
    """The reach at 100 frames a second, the hip hidden for 0.25 s."""
    frames = np.arange(0.0, 3.2, 0.01)
    places = np.array([who.points(t)[0] for t in frames])
    valid = np.ones(places.shape[:2], dtype=bool)
    valid[(frames > 0.9) & (frames < 1.15), who.point_names.index("hip")] = False
    take = Recorded(Motion(who.point_names, frames, places, valid))
    times, out, at = np.arange(0.0, 3.19, 0.005), np.empty((13, 13)), who.names.index("right_hand")
    stamps, hand = [], []
    for t in times:
        stamps.append(take.look(t, out))
        hand.append(out[at, 0])
    truth = [who.points(t)[0][who.point_names.index("right_hand"), 0] for t in times]
    panels[0].plot(times, truth, color=GREY, linestyle=(0, (4, 2)), label="the hand")
    panels[0].plot(times, hand, color=BLUE, label="as looked at")
    panels[0].set(ylabel="x, m")
    panels[0].legend(fontsize=8)
    panels[0].set_title("Recorded: a gap is old data", loc="left")
    panels[1].plot(times, 1000 * (times - np.array(stamps)), color=RED)
    panels[1].axhline(100, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
    panels[1].annotate("a supervisor stops", (3.2, 110), ha="right", fontsize=8)
    panels[1].set(xlabel="t, s", ylabel="age, ms")


def main() -> None:
    """Writes the picture."""
    plt = pyplot()
    with look():
        figure = plt.figure(figsize=(11.0, 4.4), layout="constrained")
        grid = figure.add_gridspec(2, 3, width_ratios=(1.15, 1.0, 1.35))
        walk(figure.add_subplot(grid[:, 0]), plt)
        who = reach(figure.add_subplot(grid[:, 1]))
        top = figure.add_subplot(grid[0, 2])
        recorded((top, figure.add_subplot(grid[1, 2], sharex=top)), who)
        figure.savefig(HERE / "coworkers.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
