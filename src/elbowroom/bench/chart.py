"""The pictures of the benchmarks, drawn with a pyplot that is handed in.

Lines differ in dash, width and lightness, so that a grey print reads as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .avoidance import REFERENCE
from .avoidance import Report as Cycles
from .cycles import BUSY, EMPTY
from .dynamics import US, Report

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
MARKS = (("o", "#1f5fa8"), ("s", "#bbbbbb"), ("D", "white"))
PEER_DASHES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)))


def cycles(plt: Any, report: Cycles, path: Path) -> None:
    """The part of the cycles that took longer than a time, both on logarithmic axes: tails show as they are."""
    from matplotlib.ticker import EngFormatter

    figure, axes = plt.subplots(figsize=(8.5, 5.2), layout="constrained")
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
    _save(plt, figure, path)


def times(plt: Any, report: Report, path: Path) -> None:
    """A mark a contender, a line a quantity, on a logarithmic axis."""
    from matplotlib.ticker import EngFormatter

    quantities = list(dict.fromkeys(row.quantity for row in report.rows))
    whose = list(dict.fromkeys(row.who for row in report.rows))
    figure, axes = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
    for who, (mark, colour) in zip(whose, MARKS, strict=False):
        rows = [row for row in report.rows if row.who == who]
        places = [quantities.index(row.quantity) for row in rows]
        best = [row.seconds_per_state for row in rows]
        spread = [[0.0] * len(rows), [max(0.0, row.p90_seconds - row.seconds_per_state) for row in rows]]
        axes.errorbar(
            best,
            places,
            xerr=spread,
            fmt=mark,
            color=colour,
            ecolor="#777777",
            markeredgecolor="#222222",
            ms=8,
            label=who,
        )
        for seconds, place in zip(best, places, strict=True):
            axes.annotate(f"{seconds * 1e6:.3g}", (seconds, place), (0, 8), textcoords="offset points", ha="center",
                          fontsize=8)  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_yticks(range(len(quantities)), quantities)
    axes.set_ylim(len(quantities) - 0.5, -0.6)
    axes.margins(x=0.1)
    axes.set_xlabel("best time (figures in microseconds), and the line to nine tenths of the rounds")
    axes.set_title(f"Distances of capsules; {report.cpu}")
    figure.legend(fontsize=8, loc="outside lower center", ncols=len(whose))
    _save(plt, figure, path)


def _save(plt: Any, figure: Any, path: Path) -> None:
    undated = {"Date": None} if path.suffix.lower() == ".svg" else None  # the same numbers give the same file
    figure.savefig(path, metadata=undated)
    plt.close(figure)
