"""The figures of a campaign's report, each an SVG to be set in the page; lines of laws differ in dash and lightness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...experiments.figure_style import SOFT, letter, look, panels
from ...experiments.html_report import figure_svg
from ..statistics import EDGES, REGIONS, SPEEDS, Summary, quantile
from .sensitivity import OUTCOMES, Correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: tuple[dict[str, Any], ...] = (
    {"color": "#111111", "linestyle": "-", "linewidth": 1.7},
    {"color": "#1f5fa8", "linestyle": (0, (5, 1.6)), "linewidth": 1.6},
    {"color": "#c0392b", "linestyle": (0, (7, 1.4, 1.2, 1.4)), "linewidth": 1.6},
    {"color": "#6f9fd0", "linestyle": "-", "linewidth": 1.4},
    {"color": "#8c8c8c", "linestyle": (0, (2, 1.2)), "linewidth": 1.6},
    {"color": "#b5651d", "linestyle": (0, (1, 1.4)), "linewidth": 1.8},
)
MARKS = "osD^vP"
COLUMNS = 2  # panels beside each other


def arm_name(arm: str) -> str:
    """What the page calls an arm: the name of its file, or its own."""
    return Path(arm).stem


def least_distances(found: Summary) -> str:
    """The part of runs below each distance, by arm and law; logarithmic, because the tail is what counts."""
    arms = list(dict.fromkeys(arm for arm, _ in found.least))
    laws = list(dict.fromkeys(law for _, law in found.least))
    rows = -(-len(arms) // COLUMNS)
    with look():
        figure, axes = panels(rows, min(COLUMNS, len(arms)), 0.9 + 2.3 * rows, share="xy")
        for axis, arm in zip(axes, arms, strict=False):
            for k, law in enumerate(laws):
                counts = found.least.get((arm, law))
                if counts is None:
                    continue
                part = np.cumsum(counts) / counts.sum()
                shown = part > 0
                axis.step(EDGES[1:][shown], part[shown], where="pre", label=law, **LINES[k % len(LINES)])
            axis.axvline(0.0, color=SOFT, linewidth=0.8)
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(lambda part, _: f"{100 * part:g} %")
            axis.yaxis.set_minor_formatter(lambda part, _: "")
            axis.set_xlabel("least distance of the run, m (negative: overlap)")
            axis.set_ylabel("part of runs below")
            letter(axis, arm_name(arm))
        low = min(float(EDGES[np.flatnonzero(counts)[0]]) for counts in found.least.values())
        high = max(quantile(counts, EDGES, 0.95) for counts in found.least.values())
        axes[0].set_xlim(min(low, 0.0) - 0.02, max(high, 0.1))
        _named(figure, axes, len(arms))
        return figure_svg(figure, "least", "part of runs with a least distance below, by arm and law")


def _named(figure: Figure, axes: Sequence[Axes], used: int) -> None:
    """A legend above, where there is more than one line; panels without anything go."""
    for axis in axes[used:]:
        axis.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), 4), fontsize=9)


def contact_speeds(found: Summary) -> str:
    """By region of the body and law: from the 5th to the 95th of a hundred, the median, and the greatest."""
    laws = list(dict.fromkeys(law for law, _ in found.contacts))
    regions = [name for name in REGIONS if any((law, name) in found.contacts for law in laws)]
    with look():
        figure, axes = panels(1, 1, 0.8 + 0.2 * len(laws) * len(regions) + 0.15 * len(regions))
        axis = axes[0]
        for k, law in enumerate(laws):
            style, first = LINES[k % len(LINES)], True
            for r, region in enumerate(regions):
                counts = found.contacts.get((law, region))
                if counts is None:
                    continue
                y = r + 0.7 * ((k + 0.5) / len(laws) - 0.5)
                low, middle, high = (quantile(counts, SPEEDS, part) for part in (0.05, 0.5, 0.95))
                axis.plot([low, high], [y, y], color=style["color"], linewidth=1.4)
                mark = {"color": style["color"], "linestyle": "none", "markersize": 5}
                axis.plot([middle], [y], marker=MARKS[k % len(MARKS)], label=law if first else None, **mark)
                axis.plot([found.hardest[law, region]], [y], marker="|", markeredgewidth=1.4, **mark)
                first = False
        axis.set_yticks(range(len(regions)), regions)
        axis.set_ylim(len(regions) - 0.5, -0.5)
        axis.grid(visible=False, axis="y")
        low = min(float(SPEEDS[np.flatnonzero(counts)[0]]) for counts in found.contacts.values())
        axis.set_xlim(min(low, 0.0), 1.05 * max(0.5, *found.hardest.values()))
        axis.set_xlabel("closing speed at the beginning of the contact, m/s")
        _named(figure, axes, 1)
        return figure_svg(figure, "contact", "contact speed by region of the body and law")


def goals(found: Summary) -> str:
    """Part of runs by goals reached."""
    most = max(max(counts) for counts in found.goals.values())
    with look():
        figure, axes = panels(1, 1, 2.4)
        for k, (law, counts) in enumerate(found.goals.items()):
            total = sum(counts.values())
            part = [counts.get(n, 0) / total for n in range(most + 1)]
            axes[0].plot(
                range(most + 1), part, label=law, marker=MARKS[k % len(MARKS)], markersize=4, **LINES[k % len(LINES)]
            )
        axes[0].set_xlabel("goals reached in the run")
        axes[0].set_ylabel("part of runs")
        axes[0].set_ylim(bottom=0)
        axes[0].locator_params(axis="x", integer=True)
        _named(figure, axes, 1)
        return figure_svg(figure, "goals", "part of runs by the number of goals reached, by law")


def influences(found: Sequence[Correlation]) -> str:
    """Rank correlations with their bounds, a panel an outcome, a line a parameter; the greatest above."""
    names = list(dict.fromkeys(each.parameter for each in found))
    laws = list(dict.fromkeys(each.law for each in found))
    strength = {n: max((abs(e.rank.value) for e in found if e.parameter == n), default=0.0) for n in names}
    names.sort(key=lambda name: -np.nan_to_num(strength[name]))
    words = {"least": "with the least distance", "goals": "with the goals reached"}
    with look():
        figure, axes = panels(1, len(OUTCOMES), 0.9 + (0.16 * len(laws) + 0.12) * len(names), share="xy")
        for axis, outcome in zip(axes, OUTCOMES, strict=True):
            axis.axvline(0.0, color=SOFT, linewidth=0.8)
            for each in found:
                if each.outcome != outcome or not np.isfinite(each.rank.value):
                    continue
                k = laws.index(each.law)
                y = names.index(each.parameter) + 0.7 * ((k + 0.5) / len(laws) - 0.5)
                colour = LINES[k % len(LINES)]["color"]
                axis.plot([each.rank.low, each.rank.high], [y, y], color=colour, linewidth=1.4)
                axis.plot(
                    [each.rank.value],
                    [y],
                    linestyle="none",
                    marker=MARKS[k % len(MARKS)],
                    markersize=5,
                    color=colour,
                    markerfacecolor=colour if each.clear else "white",
                )
            axis.set_xlabel("rank correlation")
            letter(axis, words[outcome])
            axis.grid(visible=False, axis="y")
        axes[0].set_yticks(range(len(names)), names)
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        for k, law in enumerate(laws):
            axes[0].plot(
                [], [], linestyle="none", marker=MARKS[k % len(MARKS)], color=LINES[k % len(LINES)]["color"], label=law
            )
        _named(figure, axes, len(OUTCOMES))
        return figure_svg(figure, "influence", "rank correlations of drawn parameters with least distance and goals")
