"""Arm and person as capsules seen from the side (x to the right, z up) and from above (x to the right, y up).

A capsule's shadow on a plane is a stadium: two half circles and the lines that join them.  The arm's full body is
filled, the cover that the controller sees is outlined by dashes, and the person is one upright capsule, hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....arm import Arm
from ....geometry import Body, Capsule, Person
from ..metrics import joint_columns
from ..outcome import Table
from .style import SOFT

Array = NDArray[Any]

SIDE, TOP = (0, 2), (0, 1)
"""The two axes of the world that a view shows: to the right, and up."""

FRONT = (1, 2)
"""From the front: y to the right, z up."""

NAMES = ("x, m", "y, m", "z, m")
ROUND = 14  # corners of a half circle
BODY = {"facecolor": "#c9ccd0", "edgecolor": "#4a4a4a", "linewidth": 0.7}
COVER = {"facecolor": "none", "edgecolor": "#111111", "linewidth": 0.9, "linestyle": (0, (3, 1.6))}
PERSON = {"facecolor": "#f6f2ea", "edgecolor": "#7a6a50", "linewidth": 0.9}
HATCH = "////"


@dataclass(frozen=True, eq=False)
class View:
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


def draw_capsules(axis: Any, capsules: Sequence[Capsule], plane: tuple[int, int], **style: Any) -> None:
    """Their shadows, the farthest first: seen along -y from the side, from above along -z."""
    from matplotlib.patches import Polygon

    along = ({0, 1, 2} - set(plane)).pop()
    sign = -1.0 if along == 1 else 1.0  # the eye is on the side of -y, of +z, of +x
    for capsule in sorted(capsules, key=lambda c: sign * float(c.a[along] + c.b[along])):
        a, b = capsule.a[list(plane)], capsule.b[list(plane)]
        axis.add_patch(Polygon(stadium(a, b, capsule.radius), closed=True, **style))


def draw_arm(axis: Any, view: View, q: Array, plane: tuple[int, int], *, faint: bool = False) -> None:
    """The arm at q (n,), and its stand where the base is above the floor."""
    base = view.arm.model.base[:3, 3]
    if plane[1] == 2 and base[2] - view.floor > 1e-3:
        axis.plot([base[plane[0]]] * 2, [view.floor, base[2]], color="#9a9a9a", linewidth=5, solid_capstyle="butt")
    alpha = 0.35 if faint else 1.0
    draw_capsules(axis, view.body.capsules(q), plane, zorder=2.0, alpha=alpha, **BODY)
    if view.outline is not None and not faint:
        draw_capsules(axis, view.outline.capsules(q), plane, zorder=2.2, **COVER)


def draw_person(axis: Any, view: View, x: float, y: float, plane: tuple[int, int], *, faint: bool = False) -> None:
    """The coworker, hatched; faint with a dashed outline where they were or will be."""
    if not np.isfinite([x, y]).all():
        return
    style: dict[str, Any] = dict(PERSON)
    style |= {"linestyle": (0, (2, 1.5)), "facecolor": "none"} if faint else {"hatch": HATCH}
    draw_capsules(axis, [view.person(x, y)], plane, zorder=1.8, **style)


def draw_moment(axis: Any, view: View, table: Table, row: int, plane: tuple[int, int]) -> None:
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
    view: View, table: Table, rows: Sequence[int], plane: tuple[int, int], *, people: bool = True, margin: float = 0.12
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


def frame(axis: Any, view: View, plane: tuple[int, int], seen: Window, *, x: bool = True, y: bool = True) -> None:
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


def point(axis: Any, at: ArrayLike, plane: tuple[int, int], text: str, marker: str = "x") -> None:
    """A place with its name."""
    from matplotlib.patheffects import withStroke

    place = np.asarray(at, dtype=float)[list(plane)]
    axis.plot(*place, marker=marker, markersize=5, color="#111111", markerfacecolor="white", zorder=5)
    axis.annotate(
        text,
        place,
        (6, 6),
        textcoords="offset points",
        fontsize=7.5,
        color=SOFT,
        zorder=5,
        path_effects=[withStroke(linewidth=2.0, foreground="white")],
    )
