"""The pictures of control cycles and their tails, drawn with a pyplot that is handed in.

Lines differ in dash, width and lightness, so that a grey print reads as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..avoidance import REFERENCE
from ..avoidance import CycleReport as Cycles
from ..cycles import BUSY, EMPTY
from ..report import US

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
    save(plt, figure, path)


def pages(plt: Any, report: Any, path: Path) -> None:
    """How late cycles begin, a line a number of open pages: the median, the tail and the worst of each."""
    from matplotlib.ticker import EngFormatter

    figure, axes = plt.subplots(figsize=(8.5, 1.6 + 0.5 * len(report.rows)), layout="constrained")
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
    save(plt, figure, path)


def save(plt: Any, figure: Any, path: Path) -> None:
    """The same numbers give the same file."""
    undated = {"Date": None} if path.suffix.lower() == ".svg" else None
    figure.savefig(path, metadata=undated)
    plt.close(figure)
