"""The thesis' scenes, trajectories and snapshots, drawn from recordings: arm and person as capsules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import joint_columns, vectors
from ..outcome import Table
from .curves import INFLUENCE, column, trajectory_rows
from .style import FULL, STYLE, letter
from .views import FRONT, SIDE, TOP, View, Window, draw_arm, draw_moment, draw_person, frame, point, window

Array = NDArray[Any]

SNAPSHOTS = 6
LETTERS = "abcdef"
TRAIL = 2.0
"""s: the way of the tool that a snapshot shows behind it."""

VIEWS = {SIDE: "from the side", TOP: "from above", FRONT: "from the front"}
STATION: dict[str, Any] = {
    "linestyle": "",
    "marker": "s",
    "markersize": 4,
    "color": "#111111",
    "markerfacecolor": "white",
    "zorder": 5,
}
ARROW = {"arrowstyle": "-|>", "color": "#7a6a50", "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}


def _pair_of_views(
    plt: Any, view: View, table: Table, rows: Sequence[int], planes: Sequence[tuple[int, int]], *, alone: bool = False
) -> tuple[Any, Any, list[Window]]:
    """A figure with two views beside each other, of one scale; that from above is as high as the other or higher.

    With `alone` the second has room for the arm only.
    """
    seen = [window(view, table, rows, plane, people=not alone or k == 0) for k, plane in enumerate(planes)]
    height = max(each.size[1] for each in seen)
    seen = [each.grown(height) if plane == TOP else each for each, plane in zip(seen, planes, strict=True)]
    widths = [each.size[0] for each in seen]
    inches = min(3.4, (FULL - 1.1) * height / sum(widths))
    figure, axes = plt.subplots(
        1, 2, figsize=(FULL, inches + 0.75), layout="constrained", gridspec_kw={"width_ratios": widths}
    )
    for axis, plane in zip(axes, planes, strict=True):
        letter(axis, VIEWS[plane])
        axis.set_anchor("S")
    return figure, axes, seen


def layout(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figures 4.1 and 4.8: the scene at the start, from the side and from above, and how near the coworker comes.

    A coworker who comes along y is shown from the front.
    """
    table = tables[0]
    nearest = int(np.nanargmin(column(table, "distance_axes")))
    start, end = vectors(table, "person")[0], vectors(table, "person")[nearest]
    level = FRONT if abs(end[1] - start[1]) > abs(end[0] - start[0]) else SIDE
    figure, axes, seen = _pair_of_views(plt, view, table, (0, nearest), (level, TOP))
    for axis, plane, part in zip(axes, (level, TOP), seen, strict=True):
        draw_person(axis, view, end[0], end[1], plane, faint=True)
        draw_moment(axis, view, table, 0, plane)
        way = [start[list(plane)], end[list(plane)]]
        if plane == level:
            height = view.floor + 0.45 * view.person_height
            way = [np.array([place[0], height]) for place in way]
        if np.linalg.norm(way[1] - way[0]) > 0.05:
            axis.annotate("", way[1], way[0], arrowprops=ARROW, zorder=4)
        point(axis, vectors(table, "tool")[0], plane, "tool")
        frame(axis, view, plane, part)
    return figure


def trajectories(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.14: ways of the tool and of the coworker, from above and from the side."""
    table = tables[0]
    people = vectors(table, "person")
    outer = [0] + [int(pick(people[:, k])) for k in (0, 1) for pick in (np.nanargmin, np.nanargmax)]
    figure, axes, seen = _pair_of_views(plt, view, table, outer, (TOP, SIDE), alone=True)
    rows = trajectory_rows(table)
    tool, person = vectors(table, "tool")[rows], people[rows]
    for axis, plane, part in zip(axes, (TOP, SIDE), seen, strict=True):
        draw_arm(axis, view, joint_columns(table)[0], plane, faint=True)
        axis.plot(*person[:, list(plane)].T, zorder=4, **(STYLE["coworker"] | {"linewidth": 1.0, "label": "coworker"}))
        axis.plot(*tool[:, list(plane)].T, zorder=4, **(STYLE["tool"] | {"linewidth": 1.0, "label": "tool"}))
        places = stations(table)[:, list(plane)].T
        axis.plot(*places, label="stations of the task", **STATION)
        frame(axis, view, plane, part)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=2.6)
    return figure


def stations(table: Table, resting: float = 0.3) -> Array:
    """(k, 3) the different goals that stay where they are for `resting` seconds or more, 5 cm apart at the least."""
    goal, t = vectors(table, "goal"), column(table, "t")
    changes = np.flatnonzero(np.any(np.abs(np.diff(goal, axis=0)) > 1e-9, axis=1)) + 1
    edges = [0, *changes.tolist(), len(t)]
    found: list[Array] = []
    for start, end in pairwise(edges):
        long = t[end - 1] - t[start] >= resting
        if long and all(np.linalg.norm(goal[start] - known) > 0.05 for known in found):
            found.append(goal[start])
    return np.array(found).reshape(-1, 3)


def moments(table: Table, count: int = SNAPSHOTS) -> list[int]:
    """Rows that tell the story of a task: the first time in each of its states, and the nearest approach.

    Where there are fewer states than pictures, the rest are spread evenly over the run.
    """
    states = [str(name) for name in table["state"]]
    rows = len(states)
    nearest = int(np.nanargmin(column(table, "distance_axes")))
    seen: dict[str, int] = {}
    for start, end in _stays(states):
        if states[start] not in seen:
            seen[states[start]] = (start + end) // 2
    others = [row for name, row in seen.items() if name != states[nearest]]
    chosen = [*others[: count - 1], nearest]
    for row in np.linspace(0, rows - 1, count + 2).astype(int)[1:-1]:
        if len(chosen) < count and all(abs(row - other) > rows / (4 * count) for other in chosen):
            chosen.append(int(row))
    return sorted(set(chosen))


def _stays(states: Sequence[str]) -> list[tuple[int, int]]:
    """(first row, row after the last) of each stay in a state."""
    edges = [0, *[k for k in range(1, len(states)) if states[k] != states[k - 1]], len(states)]
    return list(pairwise(edges))


def snapshots(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.15: six moments of the cell, from above."""
    table = tables[0]
    chosen, goals, t = moments(table), stations(table), column(table, "t")
    seen = window(view, table, chosen, TOP)
    inches = (FULL - 0.8) / 3 * seen.size[1] / seen.size[0]
    figure, axes = plt.subplots(2, 3, figsize=(FULL, 2 * inches + 1.0), sharex=True, sharey=True, layout="constrained")
    for k, axis in enumerate(axes.flat):
        if k >= len(chosen):
            axis.set_visible(False)
            continue
        row = chosen[k]
        draw_moment(axis, view, table, row, TOP)
        axis.plot(goals[:, 0], goals[:, 1], **(STATION | {"markersize": 3.5}))
        carried = vectors(table, "object")[row] if "object_x" in table else np.full(3, np.nan)
        if np.isfinite(carried).all():
            axis.plot(carried[0], carried[1], marker="D", markersize=3.5, color="#c0392b", zorder=6)
        trail = np.flatnonzero((t >= t[row] - TRAIL) & (t <= t[row]))
        trail = trail[:: max(1, len(trail) // 100)]
        axis.plot(column(table, "tool_x")[trail], column(table, "tool_y")[trail], **_trail())
        letter(axis, f"({LETTERS[k]}) {t[row]:.1f} s, {str(table['state'][row]).replace('_', ' ')}")
        frame(axis, view, TOP, seen, x=k >= 3, y=k % 3 == 0)
    return figure


def _trail() -> dict[str, Any]:
    return {"color": "#1f5fa8", "linewidth": 0.9, "zorder": 4}


def trap(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.16: the scene of test 6, with the way of the tool in the last third and an arrow along it."""
    table = tables[0]
    t, tool = column(table, "t"), vectors(table, "tool")
    row, goal = len(t) - 1, vectors(table, "goal")[-1]
    swing = tool[t >= t[0] + (t[-1] - t[0]) * 2 / 3]
    figure, axes, seen = _pair_of_views(plt, view, table, (0, row), (SIDE, TOP))
    # Longer than the swing, which may be a few millimetres: the arrow shows the direction.
    half, centre = max(0.15, float(np.ptp(swing[:, 0])) / 2), swing.mean(axis=0)
    for axis, plane, part in zip(axes, (SIDE, TOP), seen, strict=True):
        draw_moment(axis, view, table, row, plane)
        axis.plot(*swing[:: max(1, len(swing) // 400), list(plane)].T, **_trail())
        up = centre[plane[1]] + 0.16
        ends = [(centre[0] - half, up), (centre[0] + half, up)]
        axis.annotate("", *ends, arrowprops={"arrowstyle": "<|-|>", "color": "#1f5fa8", "linewidth": 1.2}, zorder=6)
        point(axis, goal, plane, "goal", "*")
        frame(axis, view, plane, part)
    return figure


def approach(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.19: the scene of test 7 at the start, when the arm begins to react, and at the nearest."""
    table = tables[0]
    apart, t = column(table, "distance_axes"), column(table, "t")
    nearest = int(np.nanargmin(apart))
    inside = np.flatnonzero(apart <= INFLUENCE[7])
    rows = (0, int(inside[0]) if len(inside) else nearest // 2, nearest)
    names = ("at the start", "the arm reacts" if len(inside) else "on the way", "nearest")
    seen = window(view, table, rows, SIDE)
    inches = (FULL - 0.8) / 3 * seen.size[1] / seen.size[0]
    figure, axes = plt.subplots(1, 3, figsize=(FULL, inches + 0.9), sharey=True, layout="constrained")
    for k, (axis, row, name) in enumerate(zip(axes, rows, names, strict=True)):
        draw_moment(axis, view, table, row, SIDE)
        frame(axis, view, SIDE, seen, y=k == 0)
        letter(axis, f"({LETTERS[k]}) {t[row]:.1f} s, {name}:\n{apart[row]:.2f} m between axes")
    return figure
