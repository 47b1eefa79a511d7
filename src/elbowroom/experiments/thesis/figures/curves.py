"""The thesis' curves over time: places along the approach, distances, velocities, the angle of joint 3.

Each function takes pyplot, the recordings that its figure needs and the view, and returns the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import joint3_degrees, joint_columns
from ..outcome import Table
from .style import FULL, SHADE, SOFT, across, ends, letter, line, mark, thinned, time_axis
from .views import View

Array = NDArray[Any]

INFLUENCE = {1: 1.0, 2: 0.5, 3: 0.7, 4: 1.0, 5: 1.0, 6: 1.0, 7: 0.7}
"""m, between axes: the distance of influence of each test (thesis, Table 4.1; test 7 as its text has it)."""

THESIS: dict[int, dict[str, float]] = {
    1: {"min_distance": 0.75, "min_x_difference": 0.82, "peak_x_speed": 0.56},
    2: {"min_distance": 0.35, "min_x_difference": 0.32, "peak_x_speed": 0.41},
    3: {"min_distance": 0.50, "min_y_difference": 0.52},
    4: {"min_x_difference": 0.70, "peak_x_speed": 0.61},
    7: {"min_joint3_deg": 12.4},
}
"""The thesis' numbers, by test; that of test 7 is of the scaling factor's run."""

NEAR_LIMIT = 5.0
"""degrees: joint 3 is near its limit when it is closer than this."""


def column(table: Table, name: str) -> Array:
    """A column as floats."""
    return np.asarray(table[name], dtype=float)


def _places(axis: Any, table: Table, along: str, thesis: float | None) -> None:
    """Tool, coworker and their difference along an axis of the world."""
    t, tool, person = column(table, "t"), column(table, f"tool_{along}"), column(table, f"person_{along}")
    # A coworker on the negative side approaches too: the difference is shown as a distance.
    apart = np.abs(person - tool)
    curves = (("tool", tool, "tool"), ("coworker", person, "coworker"), ("difference", apart, "difference"))
    for name, curve, _ in curves:
        line(axis, t, curve, name)
    time_axis(axis, t, f"{along}, m")
    axis.margins(y=0.1)
    labels = [(float(curve[-1]), text, name) for name, curve, text in curves]
    if thesis is not None:
        across(axis, thesis)
        labels.append((thesis, f"thesis {thesis:.2f} m", "thesis"))
    row = int(np.nanargmin(apart))
    mark(axis, t[row], apart[row], f"{apart[row]:.2f} m", curves=[(t, curve) for _, curve, _ in curves])
    ends(axis, labels, gap=0.11)


def places(test: int, along: str) -> Any:
    """Figures 4.5, 4.9, 4.11: one run."""

    def draw(plt: Any, tables: Sequence[Table], view: View) -> Any:
        figure, axis = plt.subplots(figsize=(FULL, 2.7), layout="constrained")
        _places(axis, tables[0], along, THESIS.get(test, {}).get(f"min_{along}_difference"))
        return figure

    return draw


def places_twice(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.2: with the filter and without."""
    figure, axes = plt.subplots(2, 1, figsize=(FULL, 4.6), sharex=True, sharey=True, layout="constrained")
    for axis, table, name in zip(axes, tables, ("with the filter", "without the filter"), strict=True):
        _places(axis, table, "x", THESIS[1]["min_x_difference"])
        letter(axis, name)
    axes[0].set_xlabel("")
    return figure


def distances(test: int) -> Any:
    """Figures 4.3, 4.6, 4.10: the least distance between axes, thick, and between surfaces, thin."""

    def draw(plt: Any, tables: Sequence[Table], view: View) -> Any:
        table = tables[0]
        figure, axis = plt.subplots(figsize=(FULL, 2.5), layout="constrained")
        t, apart, surfaces = (column(table, name) for name in ("t", "distance_axes", "distance_surfaces"))
        line(axis, t, surfaces, "surfaces")
        line(axis, t, apart, "axes")
        time_axis(axis, t, "least distance, m")
        axis.set_ylim(0.0 if np.nanmin(surfaces) >= 0 else None, float(np.nanmax(apart)) * 1.08)
        influence, thesis = INFLUENCE[test], THESIS.get(test, {}).get("min_distance")
        labels = [(float(apart[-1]), "between axes", "axes"), (float(surfaces[-1]), "between surfaces", "surfaces")]
        across(axis, influence, "influence")
        labels.append((influence, f"influence {influence:g} m", "influence"))
        if thesis is not None:
            across(axis, thesis)
            labels.append((thesis, f"thesis {thesis:.2f} m", "thesis"))
        row = int(np.nanargmin(apart))
        mark(axis, t[row], apart[row], f"{apart[row]:.2f} m")
        ends(axis, labels)
        return figure

    return draw


def _velocity(axis: Any, table: Table, style: str, peak: float | None) -> None:
    """The x velocity of the tool with its greatest size, and the thesis' to both sides."""
    t, v = column(table, "t"), column(table, "tool_vx")
    axis.axhline(0.0, color="#bbbbbb", linewidth=0.7, zorder=1)
    line(axis, t, v, style)
    time_axis(axis, t, "x velocity, m/s")
    axis.margins(y=0.16)
    row = int(np.nanargmax(np.abs(v)))
    if peak is not None:
        for side in (-peak, peak):  # the thesis says its size only
            across(axis, side)
        axis.autoscale_view()
        ends(axis, [(peak, f"thesis {peak:.2f} m/s", "thesis")])
    mark(axis, t[row], v[row], f"{abs(v[row]):.2f} m/s", above=v[row] > 0)


def velocity(test: int | None = None) -> Any:
    """Figures 4.7, 4.22, 4.24: one run; in test 7 the time when joint 3 is near its limit is shaded."""

    def draw(plt: Any, tables: Sequence[Table], view: View) -> Any:
        figure, axis = plt.subplots(figsize=(FULL, 2.5), layout="constrained")
        _velocity(axis, tables[0], "tool", None if test is None else THESIS.get(test, {}).get("peak_x_speed"))
        if test == 7:
            _shade_limit(axis, tables[0], view)
        return figure

    return draw


def velocity_twice(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.4: with the filter and without."""
    figure, axes = plt.subplots(2, 1, figsize=(FULL, 4.2), sharex=True, sharey=True, layout="constrained")
    panels = zip(axes, tables, ("with the filter", "without the filter"), ("tool", "unfiltered"), strict=True)
    for axis, table, name, style in panels:
        _velocity(axis, table, style, THESIS[1]["peak_x_speed"])
        letter(axis, name)
    axes[0].set_xlabel("")
    return figure


def velocity_and_joints(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.12: the x velocity under F, and how much each joint moves under F (first table) and K (second)."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(FULL, 2.6), layout="constrained", gridspec_kw={"width_ratios": (2.1, 1.0)}
    )
    _velocity(left, tables[0], "tool", THESIS[4]["peak_x_speed"])
    force, kinematic = (np.sqrt(np.mean(joint_columns(table, "qd") ** 2, axis=0)) for table in tables)
    place = np.arange(1, len(force) + 1)
    right.bar(place - 0.2, kinematic, 0.38, color="#111111", label="K (test 1)")
    right.bar(place + 0.2, force, 0.38, color="#e6edf5", edgecolor="#1f5fa8", hatch="////", label="F (test 4)")
    right.set_xticks(place)
    right.set_xlabel("joint")
    right.set_ylabel("RMS joint speed, rad/s")
    right.grid(visible=False, axis="x")
    right.margins(y=0.3)
    right.legend(loc="upper center", ncols=2, handlelength=1.2, columnspacing=1.0, borderaxespad=0.1)
    return figure


def joint3(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figures 4.20, 4.21, 4.23: the angle of joint 3 and its limit."""
    return _joint3(plt, tables, view, None)


def joint3_scaled(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.23: the same, with the thesis' least angle."""
    return _joint3(plt, tables, view, THESIS[7]["min_joint3_deg"])


def _joint3(plt: Any, tables: Sequence[Table], view: View, thesis: float | None) -> Any:
    table = tables[0]
    figure, axis = plt.subplots(figsize=(FULL, 2.5), layout="constrained")
    t, angle = column(table, "t"), joint3_degrees(table, view.joint3_zero, view.joint3_sign)
    line(axis, t, angle, "angle")
    time_axis(axis, t, "angle of joint 3, degrees")
    limit = float(np.degrees(view.joint3_limit))
    low, high = min(float(angle.min()), limit), max(float(angle.max()), limit)
    axis.set_ylim(low - 0.16 * (high - low), high + 0.1 * (high - low))
    axis.axhspan(axis.get_ylim()[0], limit, color=SHADE, zorder=0)
    labels = [(limit, f"limit {limit:.0f}°", "limit")]
    across(axis, limit, "limit")
    if thesis is not None:
        across(axis, thesis)
        labels.append((thesis, f"thesis {thesis:.1f}°", "thesis"))
    row = int(np.argmin(angle))
    mark(axis, t[row], angle[row], f"{angle[row]:.1f}°")
    ends(axis, labels)
    return figure


def _shade_limit(axis: Any, table: Table, view: View) -> None:
    """Shades the time when joint 3 is within `NEAR_LIMIT` of its limit, or beyond it."""
    t, angle = column(table, "t"), joint3_degrees(table, view.joint3_zero, view.joint3_sign)
    near = angle < np.degrees(view.joint3_limit) + NEAR_LIMIT
    if not near.any():
        return
    edges = np.flatnonzero(np.diff(np.concatenate([[0], near.astype(int), [0]])))
    for start, end in edges.reshape(-1, 2):
        axis.axvspan(t[start], t[min(end, len(t) - 1)], color=SHADE, zorder=0, linewidth=0)
    axis.annotate(
        f"shaded: joint 3 within {NEAR_LIMIT:.0f}° of its limit, or beyond",
        (0.995, 1.0),
        xycoords="axes fraction",
        ha="right",
        va="bottom",
        fontsize=7.5,
        color=SOFT,
    )


def trapped_velocities(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.17: x velocities of the tool and of the obstacle, which stands still."""
    table = tables[0]
    figure, axis = plt.subplots(figsize=(FULL, 2.5), layout="constrained")
    t, tool, person = (column(table, name) for name in ("t", "tool_vx", "person_vx"))
    line(axis, t, tool, "tool", linewidth=1.2)
    line(axis, t, person, "coworker")
    time_axis(axis, t, "x velocity, m/s")
    axis.margins(y=0.08)
    ends(axis, [(float(tool[-1]), "tool", "tool"), (float(person[-1]), "obstacle", "coworker")], gap=0.1)
    return figure


def trapped_places(plt: Any, tables: Sequence[Table], view: View) -> Any:
    """Figure 4.18: x of the tool, of its goal and of the obstacle."""
    table = tables[0]
    figure, axis = plt.subplots(figsize=(FULL, 2.5), layout="constrained")
    t, tool, person, goal = (column(table, name) for name in ("t", "tool_x", "person_x", "goal_x"))
    line(axis, t, person, "coworker")
    line(axis, t, goal, "influence")
    line(axis, t, tool, "tool", linewidth=1.2)
    time_axis(axis, t, "x, m")
    axis.margins(y=0.08)
    labels = [(tool, "tool", "tool"), (person, "obstacle", "coworker"), (goal, "goal", "influence")]
    ends(axis, [(float(curve[-1]), text, style) for curve, text, style in labels], gap=0.1)
    return figure


def trajectory_rows(table: Table) -> Array:
    """The rows of a path that are worth drawing."""
    t = column(table, "t")
    return thinned(t, column(table, "tool_x"), column(table, "tool_y"), column(table, "person_x"), bins=400)
