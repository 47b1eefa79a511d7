"""The picture of encounters: how far from people against how much of the work, one point a method, a panel an arm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..encounters.report import EncounterReport
from .cycles import save
from .times import BLUE, DARK, GREY, LIGHT, Style

STYLES = {
    "blind": Style("x", DARK, DARK),
    "still": Style("+", DARK, DARK),
    "K": Style("o", "white", BLUE),
    "F": Style("s", "white", BLUE),
    "K supervised": Style("o", BLUE, BLUE),
    "F supervised": Style("s", BLUE, BLUE),
    "CBF-QP": Style("D", GREY, DARK),
    "CBF-QP static": Style("D", "white", DARK),
    "mink": Style("^", LIGHT, DARK),
    "Pink": Style("v", LIGHT, DARK),
}


def encounters(plt: Any, report: EncounterReport, path: Path) -> None:
    """Least distance that 95 % of the runs kept, against throughput with its interval; touching is shaded."""
    robots = list(dict.fromkeys(row.robot for row in report.rows))
    figure, grid = plt.subplots(
        1, len(robots), figsize=(1.0 + 4.2 * len(robots), 4.9), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    names = list(dict.fromkeys(row.method for row in report.rows))
    for axes, robot in zip(grid[0], robots, strict=True):
        for row in (row for row in report.rows if row.robot == robot):
            style = STYLES.get(row.method, Style("P", "white", DARK))
            value, low, high = row.throughput.value, row.throughput.low, row.throughput.high
            axes.errorbar(
                value,
                100 * row.least_5,
                xerr=[[max(value - low, 0.0)], [max(high - value, 0.0)]],
                fmt=style.mark,
                color=style.edge,
                markerfacecolor=style.face,
                markeredgecolor=style.edge,
                markeredgewidth=1.6,
                markersize=9,
                elinewidth=1.0,
                label=row.method,
                zorder=3,
            )
        axes.set_title(robot)
        axes.set_xlabel("throughput: goals reached, over those alone")
    low, high = grid[0][0].get_ylim()
    for axes in grid[0]:
        axes.axhspan(min(low, -1.0), 0.0, color="#f3e3e0", zorder=0)
        axes.axhline(0.0, color="#b0685c", linewidth=0.9, zorder=1)
        axes.set_ylim(min(low, -1.0), max(high, 5.0))
        axes.set_xlim(left=-0.03, right=max(1.08, axes.get_xlim()[1]))
    grid[0][0].set_ylabel("least distance, 5 % quantile of the runs, cm")
    grid[0][-1].text(
        0.99, 0.01, "arm and person overlap", transform=grid[0][-1].transAxes, ha="right", va="bottom", fontsize=8,
        color="#8a4a40",
    )  # fmt: skip
    handles = {h.get_label(): h for axes in grid[0] for h in axes.get_legend_handles_labels()[0]}
    figure.legend(
        [handles[name] for name in names], names, fontsize=8, loc="outside lower center", ncols=min(len(names), 5)
    )
    who = "one person" if report.people == 1 else f"{report.people} people"
    figure.suptitle(
        f"{report.runs} encounters of {report.duration:g} s each; {who}; {report.sensor} sensor; bars: 95 %",
        fontsize=11,
    )
    save(plt, figure, path)
