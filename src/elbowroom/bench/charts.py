"""Charts of the benchmarks, as files.

    times       a mark a contender, a line a quantity, a panel a robot
    curves      time against the length of a chain or the size of a batch, a panel a quantity
    figure4     the mass matrix by composite bodies and by GDAHJ against the length of a chain, and where they cross
    cycles      the part of the control cycles that took longer than a time
    pages       how late cycles begin, a line a number of open pages
    encounters  least distance to people against throughput, a point a method, a panel an arm

Contenders differ in mark, dash, width and lightness, so that a grey print reads as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..experiments.figure_style import pyplot, save
from .avoidance import REFERENCE, CycleReport
from .timing import BUSY, EMPTY, OURS_OUT, US, Report, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .encounters.report import EncounterReport
    from .paper_times import Figure4Report

BLUE, DARK, GREY, LIGHT, RED = "#1f5fa8", "#111111", "#8a8a8a", "#c4c4c4", "#c0392b"
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
METHOD_STYLES = {
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
CYCLE_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    EMPTY: ("the clock alone", {"color": "#9a9a9a", "linestyle": "-", "linewidth": 1.0}),
    BUSY: ("a loop that computes nothing, as long", {"color": "#9a9a9a", "linestyle": (0, (1, 1.2)), "linewidth": 1.6}),
    f"{US}: {REFERENCE}": (f"{US} {REFERENCE}", {"color": "#1f5fa8", "linestyle": "-", "linewidth": 2.4}),
    f"{US}: F operational, supervised": (
        f"{US} F operational, supervised",
        {"color": "#1f5fa8", "linestyle": (0, (5, 1.5)), "linewidth": 1.6},
    ),
    f"{US}: {REFERENCE}, once a millisecond": (
        f"{US} {REFERENCE}, once a millisecond",
        {"color": "#1f5fa8", "linestyle": (0, (1, 1.2)), "linewidth": 2.0},
    ),
}
PEER_DASHES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)))


def _styles(whose: Sequence[str]) -> dict[str, Style]:
    """A style each; those that have none of their own take one of a family."""
    ours, theirs, others = iter(THREADS), iter(PEER_THREADS), iter(OTHERS * 10)
    styles = {}
    for who in whose:
        family = others if not who.endswith("threads") else ours if who.startswith(US) else theirs
        styles[who] = STYLES.get(who) or next(family, None) or next(others)
    return styles


def times(report: Report, path: Path) -> None:
    """Best times, and a line to what nine tenths of the rounds kept within, on logarithmic axes."""
    from matplotlib.ticker import EngFormatter, NullFormatter

    robots, whose = _values(report.rows, "robot"), _values(report.rows, "who")
    quantities = list(dict.fromkeys(map(_quantity, report.rows)))
    styles = _styles(whose)
    wide = min(2, len(robots))
    tall = -(-len(robots) // wide)
    height = tall * (0.9 + 0.42 * len(quantities)) + 1.2
    figure, grid = pyplot().subplots(
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
    _finish(figure, report, path, grid.T.tolist(), "best time (figures: ours)")


def _quantity(row: Row) -> str:
    if dtype := getattr(row, "dtype", ""):
        return f"{row.quantity}, {dtype}"
    return row.quantity if row.states == 1 or row.bench == "distance" else f"{row.quantity}, {row.states}"


def _marks(panel: Axes, rows: list[Row], places: list[int], style: Style, who: str) -> None:
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


def curves(report: Report, path: Path, *, over: str) -> None:
    """Best times over `over` ("n" or "states"), a panel a quantity; where there are more robots, a row of panels each.

    The line above a mark ends at what nine tenths of the rounds kept within.
    """
    from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

    quantities, whose = _values(report.rows, "quantity"), _values(report.rows, "who")
    robots = _values(report.rows, "robot") if over == "states" else [""]
    styles = _styles(whose)
    columns = min(len(quantities), 2 if len(quantities) <= 4 else 3)
    wide, tall = (columns, -(-len(quantities) // columns)) if len(robots) == 1 else (len(quantities), len(robots))
    figure, grid = pyplot().subplots(
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
    _finish(figure, report, path, grid.T.tolist(), said)


FIGURE_4 = {
    "text": "text on floats, in Python",
    "straight": "compiled, a straight line",
    "loops": "compiled, with loops",
}
FIGURE_4_LINES = {
    ("crba", True): ("CRBA", Style("s", LIGHT, DARK)),
    ("gdahj", True): ("GDAHJ, with its kinematics", Style("v", "white", BLUE, DASHED)),
    ("gdahj", False): ("GDAHJ, link frames given (as in the paper)", Style("o", BLUE, BLUE, "-", 2.4)),
}


def figure4(report: Figure4Report, path: Path) -> None:
    """Best times against the number of joints, a panel a kind of code; a line down where GDAHJ gets ahead."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter, NullLocator

    codes = [code for code in FIGURE_4 if report.curve(code, "crba")]
    figure, grid = pyplot().subplots(
        1, len(codes), figsize=(4.3 * len(codes) if len(codes) > 1 else 6.5, 4.6), squeeze=False, layout="constrained"
    )
    for panel, code in zip(grid[0], codes, strict=True):
        for (method, kinematics), (label, style) in FIGURE_4_LINES.items():
            points = report.curve(code, method, kinematics=kinematics)
            panel.loglog(
                [p.n for p in points], [p.seconds for p in points], marker=style.mark, ms=5, color=style.edge,
                markerfacecolor=style.face, markeredgecolor=style.edge, linestyle=style.dash, linewidth=style.width,
                label=label,
            )  # fmt: skip
        for each in report.crossovers:
            if each.code == code and each.joints is not None and not each.always:
                panel.axvline(each.joints, color=RED, linewidth=1.0, linestyle=DOTTED if each.kinematics else "-")
        panel.set_title(FIGURE_4[code], fontsize=10, loc="left")
        told = [each.text for each in report.crossovers if each.code == code]
        panel.text(
            0.03, 0.97, "\n".join(["GDAHJ ahead", *told]), transform=panel.transAxes, va="top", fontsize=8, color=RED,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
        )  # fmt: skip
        n = [p.n for p in report.curve(code, "crba")]
        panel.set_xticks([k for k in (2, 3, 4, 6, 10, 13, 20, 30, 50, 100, 200, 500) if n[0] <= k <= n[-1]])
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter(EngFormatter("s"))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_xlabel("joints", fontsize=9)
    grid[0][0].set_ylabel("time of one mass matrix", fontsize=9)
    figure.suptitle(
        "Figure 4 of the GDAHJ paper (in Matlab, without kinematics: ahead above 13 joints, at best by 2.2 times)\n"
        f"random chains, one call, the best of {report.rounds} rounds; {report.cpu}",
        fontsize=10,
    )
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=3)
    save(figure, [path])


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, name) for row in rows))


def _finish(figure: Figure, report: Report, path: Path, columns: list[list[Axes]], said: str) -> None:
    for column in columns:
        lowest = [panel for panel in column if panel.get_visible()][-1]
        lowest.set_xlabel(said, fontsize=9)
        lowest.tick_params(labelbottom=True)
    figure.suptitle(
        f"{TITLES.get(report.rows[0].bench, report.rows[0].bench)}; {getattr(report, 'card', '') or report.cpu}\n"
        "marks: the best round; thin lines: to where nine tenths of the rounds kept within",
        fontsize=10,
    )
    handles, labels = columns[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels) if len(labels) <= 6 else 4)
    save(figure, [path])


def cycles(report: CycleReport, path: Path) -> None:
    """The part of the cycles that took longer than a time, both on logarithmic axes: tails show as they are."""
    from matplotlib.ticker import EngFormatter

    figure, axes = pyplot().subplots(figsize=(8.5, 5.2), layout="constrained")
    peers = [f"{row.who}: {row.quantity}" for row in report.rows if row.who != US]
    lines = dict(CYCLE_LINES)
    for name, dash in zip(peers, PEER_DASHES, strict=False):
        lines[name] = (name.replace(":", "", 1), {"color": "#111111", "linestyle": dash, "linewidth": 1.3})
    for name, (label, style) in lines.items():
        if name in report.curves:
            curve = report.curves[name]
            axes.loglog(curve.seconds, curve.longer, drawstyle="steps-post", label=label, **style)
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("time of a cycle")
    axes.set_ylabel("part of the cycles that took longer")
    axes.set_title(f"{report.capsules} capsules of an arm against {report.person_capsules} of a person; {report.cpu}")
    axes.axhline(1e-3, color="#666666", linewidth=0.8)
    corner = axes.get_yaxis_transform()  # x in parts of the axes, y in data
    axes.text(0.995, 1.1e-3, "99.9th percentile", transform=corner, ha="right", va="bottom", fontsize=8)
    figure.legend(fontsize=8, loc="outside lower center", ncols=2)
    save(figure, [path])


class LatenessRow(Protocol):
    """How late cycles began with so many pages open (below 0: an empty loop), s."""

    pages: int
    median: float
    p99: float
    p999: float
    worst: float


class LatenessReport(Protocol):
    """What `elbowroom bench page` gives; viewer/session/page_benchmark.py, which makes it, stands above this room."""

    rows: Sequence[LatenessRow]
    cpu: str
    period: float  # s between cycles


def pages(report: LatenessReport, path: Path) -> None:
    """How late cycles begin, a line a number of open pages: the median, the tail and the worst of each."""
    from matplotlib.ticker import EngFormatter

    figure, axes = pyplot().subplots(figsize=(8.5, 1.6 + 0.5 * len(report.rows)), layout="constrained")
    names = ["an empty loop" if row.pages < 0 else f"{row.pages} pages" for row in report.rows]
    marks = {"median": ("o", "#1f5fa8"), "p99": ("s", "#c4c4c4"), "p999": ("D", "white"), "worst": ("X", "#8a8a8a")}
    labels = {"p99": "99 %", "p999": "99.9 %"}
    places = range(len(names))
    axes.hlines(places, [r.median for r in report.rows], [r.worst for r in report.rows], color="#9a9a9a", linewidth=0.9)
    for name, (mark, face) in marks.items():
        late = [getattr(row, name) for row in report.rows]
        axes.plot(late, places, mark, color=face, markeredgecolor="#111111", ms=8, label=labels.get(name, name))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("how late a cycle begins")
    axes.set_title(f"The live cell's loop, {1000 * report.period:g} ms a cycle; {report.cpu}")
    figure.legend(fontsize=8, loc="outside lower center", ncols=len(marks))
    save(figure, [path])


def encounters(report: EncounterReport, path: Path) -> None:
    """Least distance that 95 % of the runs kept, against throughput with its interval; touching is shaded."""
    robots = list(dict.fromkeys(row.robot for row in report.rows))
    figure, grid = pyplot().subplots(
        1, len(robots), figsize=(1.0 + 4.2 * len(robots), 4.9), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    names = list(dict.fromkeys(row.method for row in report.rows))
    for axes, robot in zip(grid[0], robots, strict=True):
        for row in (row for row in report.rows if row.robot == robot):
            style = METHOD_STYLES.get(row.method, Style("P", "white", DARK))
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
    save(figure, [path])
