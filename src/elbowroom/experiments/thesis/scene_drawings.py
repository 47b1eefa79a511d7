"""The thesis' scenes, trajectories and snapshots, drawn from recordings: arm and person as capsules.

They are seen from the side (x to the right, z up) and from above (x to the right, y up).

A capsule's shadow on a plane is a stadium: two half circles and the lines that join them.  The arm's full body is
filled, the cover that the controller sees is outlined by dashes, and the person is one upright capsule, hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arm import Arm
from ...geometry import Body, Capsule, Person
from ..figure_style import FULL, SOFT, STYLE, letter, panels, thinned
from .metrics import column, joint_columns, vectors
from .outcome import Table
from .texts import INFLUENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

Plane = tuple[int, int]
"""The two axes of the world that a view shows: to the right, and up."""

SIDE, TOP = (0, 2), (0, 1)

FRONT = (1, 2)
"""From the front: y to the right, z up."""

NAMES = ("x, m", "y, m", "z, m")
ROUND = 14  # corners of a half circle
BODY = {"facecolor": "#c9ccd0", "edgecolor": "#4a4a4a", "linewidth": 0.7}
COVER = {"facecolor": "none", "edgecolor": "#111111", "linewidth": 0.9, "linestyle": (0, (3, 1.6))}
PERSON = {"facecolor": "#f6f2ea", "edgecolor": "#7a6a50", "linewidth": 0.9}
HATCH = "////"

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
TRAIL_LINE: dict[str, Any] = {"color": "#1f5fa8", "linewidth": 0.9, "zorder": 4}
ARROW = {"arrowstyle": "-|>", "color": "#7a6a50", "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}


@dataclass(frozen=True, eq=False)
class SceneDrawing:
    """What a drawing of a scene needs besides its recording.

    `cover` names the capsules that the controller saw (None: the full body); `floor` is its height (m).  The angle of
    joint 3 is `joint3_sign * (q3 - joint3_zero)`, its limit in test 7 `joint3_limit` (rad).
    """

    arm: Arm
    cover: str | None = None
    person_radius: float = 0.3
    person_height: float = 1.8
    floor: float = 0.0
    joint3_zero: float = 0.0
    joint3_sign: float = 1.0
    joint3_limit: float = float(np.radians(10.0))

    @cached_property
    def body(self) -> Body:
        """The arm's full body."""
        return Body(self.arm)

    @cached_property
    def outline(self) -> Body | None:
        """The cover, where the controller saw another one than the full body."""
        return None if self.cover is None else Body(self.arm, cover=self.cover)

    def person(self, x: float, y: float) -> Capsule:
        """The coworker at a place on the floor."""
        return Person.cylinder((x, y, self.floor), self.person_height, self.person_radius).capsules()[0]


def stadium(a: ArrayLike, b: ArrayLike, radius: float) -> Array:
    """(2 ROUND, 2) corners of the shadow of a capsule whose axis' shadow goes from a (2,) to b (2,)."""
    start, end = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    way = end - start
    heading = float(np.arctan2(way[1], way[0])) if way.any() else 0.0
    half = heading + np.linspace(-np.pi / 2, np.pi / 2, ROUND)
    circle = radius * np.stack([np.cos(half), np.sin(half)], axis=1)
    return np.concatenate([end + circle, start - circle])


def draw_capsules(axis: Axes, capsules: Sequence[Capsule], plane: Plane, **style: Any) -> None:
    """Their shadows, the farthest first: seen along -y from the side, from above along -z."""
    from matplotlib.patches import Polygon

    along = ({0, 1, 2} - set(plane)).pop()
    sign = -1.0 if along == 1 else 1.0  # the eye is on the side of -y, of +z, of +x
    for capsule in sorted(capsules, key=lambda c: sign * float(c.a[along] + c.b[along])):
        a, b = capsule.a[list(plane)], capsule.b[list(plane)]
        axis.add_patch(Polygon(stadium(a, b, capsule.radius), closed=True, **style))


def draw_arm(axis: Axes, view: SceneDrawing, q: Array, plane: Plane, *, faint: bool = False) -> None:
    """The arm at q (n,), and its stand where the base is above the floor."""
    base = view.arm.model.base[:3, 3]
    if plane[1] == 2 and base[2] - view.floor > 1e-3:
        axis.plot([base[plane[0]]] * 2, [view.floor, base[2]], color="#9a9a9a", linewidth=5, solid_capstyle="butt")
    alpha = 0.35 if faint else 1.0
    draw_capsules(axis, view.body.capsules(q), plane, zorder=2.0, alpha=alpha, **BODY)
    if view.outline is not None and not faint:
        draw_capsules(axis, view.outline.capsules(q), plane, zorder=2.2, **COVER)


def draw_person(axis: Axes, view: SceneDrawing, x: float, y: float, plane: Plane, *, faint: bool = False) -> None:
    """The coworker, hatched; faint with a dashed outline where they were or will be."""
    if not np.isfinite([x, y]).all():
        return
    style: dict[str, Any] = dict(PERSON)
    style |= {"linestyle": (0, (2, 1.5)), "facecolor": "none"} if faint else {"hatch": HATCH}
    draw_capsules(axis, [view.person(x, y)], plane, zorder=1.8, **style)


def draw_moment(axis: Axes, view: SceneDrawing, table: Table, row: int, plane: Plane) -> None:
    """Arm and coworker in a row of a recording."""
    draw_person(axis, view, float(table["person_x"][row]), float(table["person_y"][row]), plane)
    draw_arm(axis, view, joint_columns(table)[row], plane)


@dataclass(frozen=True)
class Window:
    """What of the world a view shows, m: x from left to right, y from bottom to top."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return self.right - self.left, self.top - self.bottom

    def grown(self, height: float) -> Window:
        """At least this high, about the same middle."""
        half = max(0.0, height - self.size[1]) / 2
        return Window(self.left, self.right, self.bottom - half, self.top + half)


def window(
    view: SceneDrawing,
    table: Table,
    rows: Sequence[int],
    plane: Plane,
    *,
    people: bool = True,
    margin: float = 0.12,
) -> Window:
    """Room for the arm, and for people, in these rows of a recording; from the side it begins below the floor."""
    q, at = joint_columns(table), np.stack([table["person_x"], table["person_y"]], axis=1).astype(float)
    capsules = [capsule for row in rows for capsule in view.body.capsules(q[row])]
    capsules += [view.person(*at[row]) for row in rows if people and np.isfinite(at[row]).all()]
    near, far = list(plane), np.array([[c.radius] * 2 for c in capsules])
    ends = np.array([[c.a[near], c.b[near]] for c in capsules])
    low, high = (ends.min(axis=1) - far).min(axis=0) - margin, (ends.max(axis=1) + far).max(axis=0) + margin
    bottom = view.floor - 0.1 if plane[1] == 2 else low[1]
    return Window(float(low[0]), float(high[0]), float(bottom), float(high[1]))


def frame(axis: Axes, view: SceneDrawing, plane: Plane, seen: Window, *, x: bool = True, y: bool = True) -> None:
    """Equal scales, the ground from the side, and the names of the axes where wanted."""
    axis.set_aspect("equal")
    axis.grid(visible=False)
    axis.set_xlim(seen.left, seen.right)
    axis.set_ylim(seen.bottom, seen.top)
    if plane[1] == 2:
        # over the arm's foot, whose capsule is rounder than the foot and reaches below the floor
        axis.axhspan(seen.bottom, view.floor, color="#e4e1da", zorder=3, linewidth=0)
        axis.axhline(view.floor, color="#777777", linewidth=0.9, zorder=3.1)
    if x:
        axis.set_xlabel(NAMES[plane[0]])
    if y:
        axis.set_ylabel(NAMES[plane[1]])


def point(axis: Axes, at: ArrayLike, plane: Plane, text: str, marker: str = "x") -> None:
    """A place with its name."""
    from matplotlib.patheffects import withStroke

    x, y = np.asarray(at, dtype=float)[list(plane)].tolist()
    axis.plot(x, y, marker=marker, markersize=5, color="#111111", markerfacecolor="white", zorder=5)
    axis.annotate(
        text,
        (x, y),
        (6, 6),
        textcoords="offset points",
        fontsize=7.5,
        color=SOFT,
        zorder=5,
        path_effects=[withStroke(linewidth=2.0, foreground="white")],
    )


# ---- the figures


def _pair_of_views(
    view: SceneDrawing, table: Table, rows: Sequence[int], planes: Sequence[Plane], *, alone: bool = False
) -> tuple[Figure, list[Axes], list[Window]]:
    """A figure with two views beside each other, of one scale; that from above is as high as the other or higher.

    With `alone` the second has room for the arm only.
    """
    seen = [window(view, table, rows, plane, people=not alone or k == 0) for k, plane in enumerate(planes)]
    height = max(each.size[1] for each in seen)
    seen = [each.grown(height) if plane == TOP else each for each, plane in zip(seen, planes, strict=True)]
    widths = [each.size[0] for each in seen]
    inches = min(3.4, (FULL - 1.1) * height / sum(widths))
    figure, axes = panels(1, 2, inches + 0.75, widths=widths)
    for axis, plane in zip(axes, planes, strict=True):
        letter(axis, VIEWS[plane])
        axis.set_anchor("S")
    return figure, axes, seen


def layout(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figures 4.1 and 4.8: the scene at the start, from the side and from above, and how near the coworker comes.

    A coworker who comes along y is shown from the front.
    """
    table = tables[0]
    nearest = int(np.nanargmin(column(table, "distance_axes")))
    start, end = vectors(table, "person")[0], vectors(table, "person")[nearest]
    level = FRONT if abs(end[1] - start[1]) > abs(end[0] - start[0]) else SIDE
    figure, axes, seen = _pair_of_views(view, table, (0, nearest), (level, TOP))
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


def trajectories(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.14: ways of the tool and of the coworker, from above and from the side."""
    table = tables[0]
    people = vectors(table, "person")
    outer = [0] + [int(pick(people[:, k])) for k in (0, 1) for pick in (np.nanargmin, np.nanargmax)]
    figure, axes, seen = _pair_of_views(view, table, outer, (TOP, SIDE), alone=True)
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


def trajectory_rows(table: Table) -> Array:
    """The rows of a path that are worth drawing."""
    t = column(table, "t")
    return thinned(t, column(table, "tool_x"), column(table, "tool_y"), column(table, "person_x"), bins=400)


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


def snapshots(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.15: six moments of the cell, from above."""
    table = tables[0]
    chosen, goals, t = moments(table), stations(table), column(table, "t")
    seen = window(view, table, chosen, TOP)
    inches = (FULL - 0.8) / 3 * seen.size[1] / seen.size[0]
    figure, axes = panels(2, 3, 2 * inches + 1.0, share="xy")
    for k, axis in enumerate(axes):
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
        axis.plot(column(table, "tool_x")[trail], column(table, "tool_y")[trail], **TRAIL_LINE)
        letter(axis, f"({LETTERS[k]}) {t[row]:.1f} s, {str(table['state'][row]).replace('_', ' ')}")
        frame(axis, view, TOP, seen, x=k >= 3, y=k % 3 == 0)
    return figure


def trap(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.16: the scene of test 6, with the way of the tool in the last third and an arrow along it."""
    table = tables[0]
    t, tool = column(table, "t"), vectors(table, "tool")
    row, goal = len(t) - 1, vectors(table, "goal")[-1]
    swing = tool[t >= t[0] + (t[-1] - t[0]) * 2 / 3]
    figure, axes, seen = _pair_of_views(view, table, (0, row), (SIDE, TOP))
    # Longer than the swing, which may be a few millimetres: the arrow shows the direction.
    half, centre = max(0.15, float(np.ptp(swing[:, 0])) / 2), swing.mean(axis=0)
    for axis, plane, part in zip(axes, (SIDE, TOP), seen, strict=True):
        draw_moment(axis, view, table, row, plane)
        axis.plot(*swing[:: max(1, len(swing) // 400), list(plane)].T, **TRAIL_LINE)
        up = centre[plane[1]] + 0.16
        left, right = (centre[0] - half, up), (centre[0] + half, up)
        axis.annotate(
            "", left, right, arrowprops={"arrowstyle": "<|-|>", "color": "#1f5fa8", "linewidth": 1.2}, zorder=6
        )
        point(axis, goal, plane, "goal", "*")
        frame(axis, view, plane, part)
    return figure


def approach(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.19: the scene of test 7 at the start, when the arm begins to react, and at the nearest."""
    table = tables[0]
    apart, t = column(table, "distance_axes"), column(table, "t")
    nearest = int(np.nanargmin(apart))
    inside = np.flatnonzero(apart <= INFLUENCE[7])
    rows = (0, int(inside[0]) if len(inside) else nearest // 2, nearest)
    names = ("at the start", "the arm reacts" if len(inside) else "on the way", "nearest")
    seen = window(view, table, rows, SIDE)
    inches = (FULL - 0.8) / 3 * seen.size[1] / seen.size[0]
    figure, axes = panels(1, 3, inches + 0.9, share="y")
    for k, (axis, row, name) in enumerate(zip(axes, rows, names, strict=True)):
        draw_moment(axis, view, table, row, SIDE)
        frame(axis, view, SIDE, seen, y=k == 0)
        letter(axis, f"({LETTERS[k]}) {t[row]:.1f} s, {name}:\n{apart[row]:.2f} m between axes")
    return figure
