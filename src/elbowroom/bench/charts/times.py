"""The pictures of the benchmarks, drawn with a pyplot that is handed in.

    times       a mark a contender, a line a quantity, a panel a robot
    curves      time against the length of a chain or the size of a batch, a panel a quantity

Contenders differ in mark, dash, width and lightness, so that a grey print reads as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..report import OURS_OUT, US, Report, Row
from .cycles import save

BLUE, DARK, GREY, LIGHT = "#1f5fa8", "#111111", "#8a8a8a", "#c4c4c4"
TITLES = {
    "dynamics": "One state, a call from Python",
    "batch": "Batches: time of one state",
    "chains": "Random chains: time of one state",
    "distance": "Distances of capsules",
    "gpu": "Batches on the card: time of one state",
}
DASHED, DOTTED, DASH_DOT = (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5))


class Style(NamedTuple):
    """How a contender is drawn: its mark, the mark's inside, and its line."""

    mark: str
    face: str
    edge: str
    dash: Any = "-"
    width: float = 1.4


STYLES = {
    US: Style("o", BLUE, BLUE, "-", 2.6),
    OURS_OUT: Style("o", "white", BLUE, DASHED, 1.8),
    "elbowroom, float32": Style("v", BLUE, BLUE, DOTTED, 1.8),
    "elbowroom, columns": Style("^", "white", BLUE, DASHED),
    "elbowroom, crba": Style("^", "white", BLUE, DASHED),
    "elbowroom, gdahj": Style("v", "white", BLUE, DOTTED),
    "Pinocchio": Style("s", LIGHT, DARK),
    "MuJoCo": Style("D", "white", DARK, DASHED),
    "Robotics Toolbox": Style("^", GREY, DARK, DASH_DOT),
    "frax": Style("X", GREY, DARK, DOTTED),
    "coal": Style("s", LIGHT, DARK),
    "coal in Pinocchio": Style("D", "white", DARK, DASHED),
}
THREADS = (Style("P", BLUE, BLUE, DASH_DOT), Style("*", BLUE, BLUE, DASH_DOT))
PEER_THREADS = (Style("p", "white", DARK, DASHED), Style("h", "white", DARK, DASHED))
OTHERS = (Style("d", GREY, DARK, DASHED), Style("<", "white", DARK, DOTTED), Style(">", LIGHT, DARK, DASH_DOT))


def _styles(whose: Sequence[str]) -> dict[str, Style]:
    """A style each; those that have none of their own take one of a family."""
    ours, theirs, others = iter(THREADS), iter(PEER_THREADS), iter(OTHERS * 10)
    styles = {}
    for who in whose:
        family = others if not who.endswith("threads") else ours if who.startswith(US) else theirs
        styles[who] = STYLES.get(who) or next(family, None) or next(others)
    return styles


def times(plt: Any, report: Report, path: Path) -> None:
    """Best times, and a line to what nine tenths of the rounds kept within, on logarithmic axes."""
    from matplotlib.ticker import EngFormatter, NullFormatter

    robots, whose = _values(report.rows, "robot"), _values(report.rows, "who")
    quantities = list(dict.fromkeys(map(_quantity, report.rows)))
    styles = _styles(whose)
    wide = min(2, len(robots))
    tall = -(-len(robots) // wide)
    height = tall * (0.9 + 0.42 * len(quantities)) + 1.2
    figure, grid = plt.subplots(
        tall, wide, figsize=(5.2 * wide if wide > 1 else 8.5, height), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for panel in grid.flat[len(robots) :]:
        panel.set_visible(False)
    for panel, robot in zip(grid.flat, robots, strict=False):
        for who, style in styles.items():
            rows = [row for row in report.rows if (row.robot, row.who) == (robot, who)]
            _marks(panel, rows, [quantities.index(_quantity(row)) for row in rows], style, who)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(EngFormatter("s"))
        panel.xaxis.set_minor_formatter(NullFormatter())  # a short axis would name 2 x 10^-7 beside 100 ns
        panel.set_yticks(range(len(quantities)), quantities)
        panel.set_ylim(len(quantities) - 0.5, -0.6)
        panel.margins(x=0.08)
        panel.set_title(robot if len(robots) > 1 else "")
    _finish(plt, figure, report, path, grid, "best time (figures: ours)")


def _quantity(row: Row) -> str:
    if dtype := getattr(row, "dtype", ""):
        return f"{row.quantity}, {dtype}"
    return row.quantity if row.states == 1 or row.bench == "distance" else f"{row.quantity}, {row.states}"


def _marks(panel: Any, rows: list[Row], places: list[int], style: Style, who: str) -> None:
    from matplotlib.ticker import EngFormatter

    best = [row.seconds_per_state for row in rows]
    panel.hlines(places, best, [row.p90_seconds for row in rows], color=GREY, linewidth=1.0, zorder=2)
    panel.plot(
        best,
        places,
        style.mark,
        color=style.face,
        markeredgecolor=style.edge,
        ms=7,
        zorder=4 if who == US else 3,
        label=who,
    )
    if who == US:
        said = EngFormatter("s", places=0 if max(best, default=0.0) < 1e-6 else 1)
        for seconds, place in ((s, p) for s, p in zip(best, places, strict=True) if math.isfinite(s)):
            panel.annotate(
                said(seconds), (seconds, place), (0, 7), textcoords="offset points", ha="center", fontsize=7, color=BLUE
            )


def curves(plt: Any, report: Report, path: Path, *, over: str) -> None:
    """Best times over `over` ("n" or "states"), a panel a quantity; where there are more robots, a row of panels each.

    The line above a mark ends at what nine tenths of the rounds kept within.
    """
    from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

    quantities, whose = _values(report.rows, "quantity"), _values(report.rows, "who")
    robots = _values(report.rows, "robot") if over == "states" else [""]
    styles = _styles(whose)
    columns = min(len(quantities), 2 if len(quantities) <= 4 else 3)
    wide, tall = (columns, -(-len(quantities) // columns)) if len(robots) == 1 else (len(quantities), len(robots))
    figure, grid = plt.subplots(
        tall, wide, figsize=(4.6 * wide if len(robots) == 1 else 3.1 * wide, 2.9 * tall + 1.2), sharex=True,
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    places = [(robot, quantity) for robot in robots for quantity in quantities]
    for panel in grid.flat[len(places) :]:
        panel.set_visible(False)
    for panel, (robot, quantity) in zip(grid.flat, places, strict=False):
        for who, style in styles.items():
            rows = [r for r in report.rows if (r.quantity, r.who) == (quantity, who) and robot in ("", r.robot)]
            x = [getattr(row, over) for row in rows]
            y = [row.seconds_per_state for row in rows]
            panel.loglog(
                x, y, marker=style.mark, ms=5.5, color=style.edge, markerfacecolor=style.face, linestyle=style.dash,
                linewidth=style.width, markeredgecolor=style.edge, label=who, zorder=4 if who == US else 3,
            )  # fmt: skip
            panel.vlines(x, y, [row.p90_seconds for row in rows], color=GREY, linewidth=1.0, zorder=2)
        panel.set_title(f"{robot}, {quantity}" if robot else quantity, fontsize=10)
        panel.yaxis.set_major_formatter(EngFormatter("s"))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_xticks(sorted({getattr(row, over) for row in report.rows}))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.tick_params(axis="x", labelsize=8)
    said = {"n": "joints", "states": "states in a call"}[over]
    _finish(plt, figure, report, path, grid, said)


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, name) for row in rows))


def _finish(plt: Any, figure: Any, report: Report, path: Path, grid: Any, said: str) -> None:
    for column in grid.T:
        lowest = [panel for panel in column if panel.get_visible()][-1]
        lowest.set_xlabel(said, fontsize=9)
        lowest.tick_params(labelbottom=True)
    figure.suptitle(
        f"{TITLES.get(report.rows[0].bench, report.rows[0].bench)}; {getattr(report, 'card', '') or report.cpu}\n"
        "marks: the best round; thin lines: to where nine tenths of the rounds kept within",
        fontsize=10,
    )
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels) if len(labels) <= 6 else 4)
    save(plt, figure, path)
