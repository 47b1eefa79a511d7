"""One look for all figures: sizes, line styles, marks, labels at the ends of lines, files.

matplotlib's own settings are in figures.mplstyle, and what differs in print in print.mplstyle; `look` applies them.

Lines differ in dash, width and lightness, so that a grey print reads as well.  A long recording is thinned to what can
be seen: of every fine step in time the least and the greatest value stay, so that no peak is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, ElbowroomError, pip_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

COLUMN, FULL = 3.5, 7.2
"""in: the width of a column and of a page of a paper."""

STYLE: dict[str, dict[str, Any]] = {
    "tool": {"color": "#111111", "linestyle": "-", "linewidth": 1.7},
    "coworker": {"color": "#8c8c8c", "linestyle": (0, (5, 1.6)), "linewidth": 1.5},
    "difference": {"color": "#1f5fa8", "linestyle": (0, (7, 1.4, 1.2, 1.4)), "linewidth": 1.9},
    "axes": {"color": "#111111", "linestyle": "-", "linewidth": 1.8},
    "surfaces": {"color": "#6f9fd0", "linestyle": "-", "linewidth": 0.9},
    "unfiltered": {"color": "#1f5fa8", "linestyle": "-", "linewidth": 0.9},
    "angle": {"color": "#111111", "linestyle": "-", "linewidth": 1.7},
    "limit": {"color": "#111111", "linestyle": (0, (2, 1.2)), "linewidth": 1.0},
    "thesis": {"color": "#c0392b", "linestyle": (0, (9, 3)), "linewidth": 0.8},
    "influence": {"color": "#777777", "linestyle": (0, (1, 2)), "linewidth": 1.0},
}
SHADE = "#eeeeea"
SOFT = "#555555"
BINS = 600
"""Steps in time that a curve over the full width is thinned to."""

SUFFIXES = (".svg", ".png", ".pdf")


def pyplot() -> ModuleType:
    """matplotlib's pyplot without a window, or an error that says how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ElbowroomError(f"the figures need matplotlib: {pip_install('report')}") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def look(*, printed: bool = False) -> AbstractContextManager[None]:
    """matplotlib's settings, while the context lasts: of a figure on a screen or, `printed`, on a page of a paper."""
    files = ["figures.mplstyle", *(["print.mplstyle"] if printed else [])]
    found: AbstractContextManager[None] = pyplot().style.context([Path(__file__).with_name(name) for name in files])
    return found


def panel(height: float) -> tuple[Figure, Axes]:
    """A figure of the full width and this height (in), with one pair of axes."""
    figure, (axis,) = panels(1, 1, height)
    return figure, axis


def panels(
    rows: int, columns: int, height: float, *, share: str = "", widths: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure of the full width and this height (in), and its axes row by row.

    `share` has the letters of the axes, x and y, that all panels have in common; `widths` are those of the columns.
    """
    figure, axes = pyplot().subplots(
        rows,
        columns,
        figsize=(FULL, height),
        sharex="x" in share,
        sharey="y" in share,
        squeeze=False,
        layout="constrained",
        width_ratios=widths,
    )
    return figure, list(axes.flat)


def thinned(t: Array, *curves: Array, bins: int = BINS) -> Array:
    """The rows to draw: of each of `bins` steps in time the ends, and the least and greatest of every curve."""
    rows = len(t)
    if rows <= 4 * bins:
        return np.arange(rows)
    edges = np.linspace(0, rows, bins + 1).astype(int)
    keep = {0, rows - 1}
    for start, end in pairwise(edges):
        for curve in curves:
            piece = curve[start:end]
            keep |= {int(start + np.argmin(piece)), int(start + np.argmax(piece))}
    return np.array(sorted(keep))


def line(axis: Axes, t: Array, y: Array, style: str, *, width: float | None = None) -> None:
    """A curve over time, thinned, in one of the styles; `width` replaces the style's."""
    rows = thinned(t, np.nan_to_num(y))
    axis.plot(t[rows], y[rows], **(STYLE[style] | ({} if width is None else {"linewidth": width})))


def across(axis: Axes, y: float, style: str = "thesis") -> None:
    """A thin line at a height; `ends` names it."""
    axis.axhline(y, zorder=1.5, **STYLE[style])


def mark(
    axis: Axes, t: float, y: float, text: str, *, above: bool = False, curves: Sequence[tuple[Array, Array]] = ()
) -> None:
    """A ring at a point of a curve, with its number, where the curve leaves room: below a least, above a greatest.

    Where there are other `curves`, (t, y) each, the number goes to the nearest height at which it lies on none of them.
    """
    from matplotlib.patheffects import withStroke

    axis.plot([t], [y], marker="o", markersize=4.5, color="white", markeredgecolor="#111111", zorder=5, clip_on=False)
    low, high = axis.get_xlim()
    late, early = t > high - 0.05 * (high - low), t < low + 0.05 * (high - low)
    if curves and (away := _room(axis, t, y, curves)):
        bottom, top = axis.get_ylim()
        axis.annotate(
            text,
            (t, y),
            (t, y + away * (top - bottom)),
            ha="center",
            va="center",
            fontsize=8,
            arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3},
            zorder=6,
        )
        return
    axis.annotate(
        text,
        (t, y),
        (0, 5 if above else -5),
        textcoords="offset points",
        ha="right" if late else "left" if early else "center",
        va="bottom" if above else "top",
        fontsize=8,
        path_effects=[withStroke(linewidth=2.4, foreground="white")],
        zorder=6,
    )


def _room(axis: Axes, t: float, y: float, curves: Sequence[tuple[Array, Array]]) -> float:
    """How far above the point, in parts of the axis' height, a label lies on no curve; 0 where it may stay below."""
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    wide, high = 0.055 * (right - left), 0.05 * (top - bottom)  # half of a label
    for away in (-0.075, 0.1, -0.15, 0.15, -0.2, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45):
        centre = y + away * (top - bottom)
        if not bottom + high < centre < top - high:
            continue
        near = [curve[np.abs(times - t) < wide] for times, curve in curves]
        if all(not len(part) or part.min() > centre + high or part.max() < centre - high for part in near):
            return away if away != -0.075 else 0.0
    return 0.0


def ends(axis: Axes, labels: Sequence[tuple[float, str, str]], gap: float = 0.085) -> None:
    """Names of lines at their right ends, (value, text, style) each, kept apart by `gap` parts of the axis' height."""
    low, high = axis.get_ylim()
    places = sorted(((value - low) / (high - low), text, style) for value, text, style in labels)
    heights = [min(max(place, 0.0), 1.0) for place, _, _ in places]
    for _ in range(50):
        for k in range(1, len(heights)):
            lack = gap - (heights[k] - heights[k - 1])
            if lack > 0:
                heights[k - 1] -= lack / 2
                heights[k] += lack / 2
    for height, (_, text, style) in zip(heights, places, strict=True):
        axis.annotate(
            text,
            (1.0, height),
            (4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=STYLE[style]["color"],
            annotation_clip=False,
        )


def time_axis(axis: Axes, t: Array, label: str) -> None:
    """Seconds along, what along the height."""
    axis.set_xlim(float(t[0]), float(t[-1]) if len(t) > 1 else float(t[0]) + 1.0)
    axis.set_xlabel("time, s")
    axis.set_ylabel(label)


def letter(axis: Axes, text: str) -> None:
    """A panel's name, above its left corner."""
    axis.set_title(text, loc="left", pad=4, color=SOFT)


def save(figure: Figure, paths: Sequence[Path]) -> list[Path]:
    """The figure as files, a format a name: .svg, .png or .pdf; the same numbers give the same file."""
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            raise ConfigError(f"{path.name}: a figure can be {', '.join(SUFFIXES)}; got {path.suffix or 'no suffix'!r}")
    undated: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None, "ModDate": None}}
    for path in paths:
        figure.savefig(path, metadata=undated.get(path.suffix.lower()))
    pyplot().close(figure)
    return list(paths)
