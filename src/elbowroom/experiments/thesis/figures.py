"""The figures of the thesis' chapter 4, one entry each: its caption, the runs that it needs, how it is drawn.

    draw("4.2", outcomes, view, [Path("fig.svg"), Path("fig.pdf")])
    draw_all(outcomes, view, folder)         every figure whose runs are there; others are listed with what they lack

Figure 4.13, the state diagram of the cell, is no recording's.  Curves over time are drawn here, scenes in
scene_drawings.py, all in one look (experiments/figure_style.py); the thesis' numbers are thin dashed lines with their
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import ElbowroomError, UnknownNameError
from ..figure_style import (
    SHADE,
    SOFT,
    across,
    ends,
    letter,
    line,
    look,
    mark,
    panel,
    panels,
    save,
    time_axis,
)
from .metrics import column, joint3_degrees, joint_columns
from .outcome import Outcome, Table, find
from .scene_drawings import SceneDrawing, approach, layout, snapshots, trajectories, trap
from .texts import INFLUENCE, THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILTER, NO_FILTER = "printed", "no filter"
NOISE_FILTER, NOISE_NO_FILTER = "noise filter", "noise no filter"
WEAK, STRONG, SCALING = "weak", "strong", "scaling"

NEAR_LIMIT = 5.0
"""degrees: joint 3 is near its limit when it is closer than this."""

Draw = Callable[[Sequence[Table], SceneDrawing], "Figure"]
"""Draws a figure from the recordings that it needs, in the order of its needs."""


class Need(NamedTuple):
    """A run that a figure is drawn from; without a variant, the first of the test that is not supervised."""

    test: int
    variant: str | None = None

    def __str__(self) -> str:
        return f"test {self.test}" + ("" if self.variant is None else f" ({self.variant})")


class FigureEntry(NamedTuple):
    """A figure: what it shows, the runs that it needs in this order, and its function."""

    caption: str
    needs: tuple[Need, ...]
    draw: Draw

    @property
    def test(self) -> int:
        """The test that it belongs to."""
        return self.needs[0].test


@dataclass(frozen=True)
class Drawn:
    """A figure as files, or why there is none."""

    caption: str
    test: int
    paths: tuple[Path, ...] = ()
    missing: str = ""
    plant: str = ""

    @property
    def svg(self) -> Path | None:
        """The file that a page takes in."""
        return next((path for path in self.paths if path.suffix.lower() == ".svg"), None)


# ---- curves over time


def _places(axis: Axes, table: Table, along: str, thesis: float | None) -> None:
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


def places(test: int, along: str) -> Draw:
    """Figures 4.5, 4.9, 4.11: one run."""

    def draw(tables: Sequence[Table], view: SceneDrawing) -> Figure:
        figure, axis = panel(2.7)
        _places(axis, tables[0], along, THESIS.get(test, {}).get(f"min_{along}_difference"))
        return figure

    return draw


def places_twice(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.2: with the filter and without."""
    figure, axes = panels(2, 1, 4.6, share="xy")
    for axis, table, name in zip(axes, tables, ("with the filter", "without the filter"), strict=True):
        _places(axis, table, "x", THESIS[1]["min_x_difference"])
        letter(axis, name)
    axes[0].set_xlabel("")
    return figure


def distances(test: int) -> Draw:
    """Figures 4.3, 4.6, 4.10: the least distance between axes, thick, and between surfaces, thin."""

    def draw(tables: Sequence[Table], view: SceneDrawing) -> Figure:
        table = tables[0]
        figure, axis = panel(2.5)
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


def _velocity(axis: Axes, table: Table, style: str, peak: float | None) -> None:
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


def velocity(test: int | None = None) -> Draw:
    """Figures 4.7, 4.22, 4.24: one run; in test 7 the time when joint 3 is near its limit is shaded."""

    def draw(tables: Sequence[Table], view: SceneDrawing) -> Figure:
        figure, axis = panel(2.5)
        _velocity(axis, tables[0], "tool", None if test is None else THESIS.get(test, {}).get("peak_x_speed"))
        if test == 7:
            _shade_limit(axis, tables[0], view)
        return figure

    return draw


def velocity_twice(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.4: with the filter and without."""
    figure, axes = panels(2, 1, 4.2, share="xy")
    names, styles = ("with the filter", "without the filter"), ("tool", "unfiltered")
    for axis, table, name, style in zip(axes, tables, names, styles, strict=True):
        _velocity(axis, table, style, THESIS[1]["peak_x_speed"])
        letter(axis, name)
    axes[0].set_xlabel("")
    return figure


def confined(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """The tool between two people: its y velocity with the filter and without."""
    figure, axes = panels(2, 1, 4.2, share="xy")
    names, styles = ("with the filter", "without the filter"), ("tool", "unfiltered")
    for axis, table, name, style in zip(axes, tables, names, styles, strict=True):
        t = column(table, "t")
        line(axis, t, column(table, "tool_vy"), style)
        time_axis(axis, t, "y velocity, m/s")
        letter(axis, name)
    axes[0].set_xlabel("")
    return figure


def velocity_and_joints(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.12: the x velocity under F, and how much each joint moves under F (first table) and K (second)."""
    figure, (left, right) = panels(1, 2, 2.6, widths=(2.1, 1.0))
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


def joint3(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figures 4.20, 4.21, 4.23: the angle of joint 3 and its limit."""
    return _joint3(tables, view, None)


def joint3_scaled(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.23: the same, with the thesis' least angle."""
    return _joint3(tables, view, THESIS[7]["min_joint3_deg"])


def _joint3(tables: Sequence[Table], view: SceneDrawing, thesis: float | None) -> Figure:
    table = tables[0]
    figure, axis = panel(2.5)
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


def _shade_limit(axis: Axes, table: Table, view: SceneDrawing) -> None:
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


def trapped_velocities(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.17: x velocities of the tool and of the obstacle, which stands still."""
    table = tables[0]
    figure, axis = panel(2.5)
    t, tool, person = (column(table, name) for name in ("t", "tool_vx", "person_vx"))
    line(axis, t, tool, "tool", width=1.2)
    line(axis, t, person, "coworker")
    time_axis(axis, t, "x velocity, m/s")
    axis.margins(y=0.08)
    ends(axis, [(float(tool[-1]), "tool", "tool"), (float(person[-1]), "obstacle", "coworker")], gap=0.1)
    return figure


def trapped_places(tables: Sequence[Table], view: SceneDrawing) -> Figure:
    """Figure 4.18: x of the tool, of its goal and of the obstacle."""
    table = tables[0]
    figure, axis = panel(2.5)
    t, tool, person, goal = (column(table, name) for name in ("t", "tool_x", "person_x", "goal_x"))
    line(axis, t, person, "coworker")
    line(axis, t, goal, "influence")
    line(axis, t, tool, "tool", width=1.2)
    time_axis(axis, t, "x, m")
    axis.margins(y=0.08)
    labels = [(tool, "tool", "tool"), (person, "obstacle", "coworker"), (goal, "goal", "influence")]
    ends(axis, [(float(curve[-1]), text, style) for curve, text, style in labels], gap=0.1)
    return figure


# ---- the figures

_ONE, _TWO = (Need(1, FILTER),), (Need(1, FILTER), Need(1, NO_FILTER))

FIGURES: dict[str, FigureEntry] = {
    "4.1": FigureEntry("Test 1: the scene. Dashed capsules are what the controller sees of the arm.", _ONE, layout),
    "4.2": FigureEntry("Test 1: x of tool and coworker, and their difference, with and without the filter.", _TWO,
                       places_twice),
    "4.3": FigureEntry("Test 1: least distance of coworker and robot.", _ONE, distances(1)),
    "4.4": FigureEntry("Test 1: x velocity of the tool, with and without the filter.", _TWO, velocity_twice),
    "4.4b": FigureEntry("Test 1, a sensor that errs: x velocity of the tool, with and without the filter. "
                        "Not in the thesis.", (Need(1, NOISE_FILTER), Need(1, NOISE_NO_FILTER)), velocity_twice),
    "4.4c": FigureEntry("Test 1, confined between two people, a sensor without error: y velocity of the tool, with and "
                        "without the filter. Not in the thesis.",
                        (Need(1, "confined filter"), Need(1, "confined no filter")), confined),
    "4.5": FigureEntry("Test 2: x of tool and coworker, and their difference.", (Need(2),), places(2, "x")),
    "4.6": FigureEntry("Test 2: least distance of coworker and robot.", (Need(2),), distances(2)),
    "4.7": FigureEntry("Test 2: x velocity of the tool.", (Need(2),), velocity(2)),
    "4.8": FigureEntry("Test 3: the scene; the coworker comes from the side.", (Need(3),), layout),
    "4.9": FigureEntry("Test 3: y of tool and coworker, and their difference.", (Need(3),), places(3, "y")),
    "4.10": FigureEntry("Test 3: least distance of coworker and robot.", (Need(3),), distances(3)),
    "4.11": FigureEntry("Test 4: x of tool and coworker, and their difference.", (Need(4),), places(4, "x")),
    "4.12": FigureEntry("Test 4: x velocity of the tool under F, and how much each joint moves under K and under F.",
                        (Need(4), Need(1, FILTER)), velocity_and_joints),
    "4.14": FigureEntry("Test 5: ways of the tool and of the coworker.", (Need(5),), trajectories),
    "4.15": FigureEntry("Test 5: moments of the cell, from above.", (Need(5),), snapshots),
    "4.16": FigureEntry("Test 6: the scene; the arrow shows how the tool swings.", (Need(6),), trap),
    "4.17": FigureEntry("Test 6: x velocities of the tool and of the obstacle.", (Need(6),), trapped_velocities),
    "4.18": FigureEntry("Test 6: x of the tool, of its goal and of the obstacle.", (Need(6),), trapped_places),
    "4.19": FigureEntry("Test 7: the approach.", (Need(7, SCALING),), approach),
    "4.20": FigureEntry("Test 7, weak potential: angle of joint 3.", (Need(7, WEAK),), joint3),
    "4.20b": FigureEntry("Test 7, weak potential, mended: angle of joint 3. Not in the thesis.",
                         (Need(7, "mended weak"),), joint3),
    "4.21": FigureEntry("Test 7, strong potential: angle of joint 3.", (Need(7, STRONG),), joint3),
    "4.21b": FigureEntry("Test 7, strong potential, mended: angle of joint 3. Not in the thesis.",
                         (Need(7, "mended strong"),), joint3),
    "4.22": FigureEntry("Test 7, strong potential: x velocity of the tool.", (Need(7, STRONG),), velocity(7)),
    "4.23": FigureEntry("Test 7, scaling factor: angle of joint 3.", (Need(7, SCALING),), joint3_scaled),
    "4.23b": FigureEntry("Test 7, scaling factor, mended: angle of joint 3. Not in the thesis.",
                         (Need(7, "mended scaling"),), joint3_scaled),
    "4.24": FigureEntry("Test 7, scaling factor: x velocity of the tool.", (Need(7, SCALING),), velocity(7)),
}  # fmt: skip
"""The figures, by their numbers in the thesis; a letter marks one that it does not have."""


def name(number: str) -> str:
    """The name of a figure's files, without a suffix: figure_4_02 for 4.2, so that they sort."""
    chapter, _, place = number.partition(".")
    letter = place.lstrip("0123456789")
    return f"figure_{chapter}_{int(place.removesuffix(letter)):02d}{letter}"


def draw(number: str, outcomes: Iterable[Outcome], view: SceneDrawing, paths: Sequence[Path]) -> Drawn:
    """One figure from the runs of one arm on one plant, as files whose suffixes say the formats.

    Where a run is not there, nothing is written and `missing` says which.
    """
    if number not in FIGURES:
        raise UnknownNameError(f"no figure {number!r}; there are {', '.join(FIGURES)}")
    entry, runs = FIGURES[number], list(outcomes)
    tables: list[Table] = []
    plant = ""
    for need in entry.needs:
        run = find(runs, need.test, need.variant)
        if run is None or len(run.table.get("t", ())) < 2:
            return Drawn(entry.caption, entry.test, missing=f"no run of {need}")
        tables.append(run.table)
        plant = run.plant
    with look(printed=True):
        return Drawn(entry.caption, entry.test, tuple(save(entry.draw(tables, view), paths)), plant=plant)


def draw_all(
    outcomes: Iterable[Outcome],
    view: SceneDrawing,
    folder: Path,
    *,
    suffixes: Sequence[str] = (".svg", ".png"),
    tests: Iterable[int] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Mapping[str, Drawn]:
    """Every figure (of these tests) into a folder, from the runs of one arm on one plant; see `chosen`.

    A figure that cannot be drawn is listed as missing, with the reason; the others are drawn.
    """
    runs = list(outcomes)
    wanted = None if tests is None else set(tests)
    numbers = [number for number, entry in FIGURES.items() if wanted is None or entry.test in wanted]
    found: dict[str, Drawn] = {}
    for k, number in enumerate(numbers):
        if progress is not None:
            progress(k, len(numbers), f"figure {number}")
        entry = FIGURES[number]
        try:
            found[number] = draw(number, runs, view, [folder / f"{name(number)}{suffix}" for suffix in suffixes])
        except (ValueError, KeyError, IndexError, ElbowroomError) as error:
            found[number] = Drawn(entry.caption, entry.test, missing=f"could not be drawn: {error}")
    return found


def chosen(outcomes: Iterable[Outcome], robot: str, plant: str) -> list[Outcome]:
    """The runs of the tests with one arm on one plant."""
    return [run for run in outcomes if run.test is not None and run.robot == robot and run.plant == plant]
