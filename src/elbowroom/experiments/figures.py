"""The papers' curves, drawn with matplotlib: operations against n (thesis, Figure 2.9), error against n (GDAHJ, 5).

Styles differ in dash, width and lightness, so that a grey print reads as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import counting
from ..counting.compare import comparable, strictest
from ..counting.costs import Cost
from ..errors import ElbowroomError
from .accuracy import HAS_EXTENDED, Accuracy

METHODS = ("crba", "gda", "gdahj")
LABEL = {"crba": "CRBA", "gda": "GDA", "gdahj": "GDAHJ"}
STYLE: dict[str, dict[str, Any]] = {
    "crba": {"color": "#111111", "linestyle": "-"},
    "gda": {"color": "#8a8a8a", "linestyle": (0, (5, 1.5, 1, 1.5))},
    "gdahj": {"color": "#1f5fa8", "linestyle": (0, (5, 2))},
}
JOINTS = range(2, 31)
LOOK: dict[str, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.titlesize": 11,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.hashsalt": "elbowroom",  # the same numbers give the same file
}


def pyplot() -> Any:
    """matplotlib's pyplot without a window, or an error that says how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ElbowroomError("the figures need matplotlib: pip install '.[report]'") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def crossover(one: Sequence[float], other: Sequence[float], joints: Sequence[int]) -> int | None:
    """The first number of joints from which `one` stays below `other`."""
    ahead = [a < b for a, b in zip(one, other, strict=True)]
    if not ahead[-1]:
        return None
    last = max((k for k, better in enumerate(ahead) if not better), default=-1)
    return joints[last + 1] if last >= 0 else joints[0]


def totals(method: str, *, kinematics: bool, joints: Sequence[int] = JOINTS) -> list[int]:
    """Our multiplications and additions for the mass matrix, counted `shared`."""
    cost = counting.cost("mass_matrix", method, "general", kinematics)
    return [cost.at(n).mul + cost.at(n).add for n in joints]


def published_totals(method: str, *, kinematics: bool, joints: Sequence[int] = JOINTS) -> list[float]:
    """The printed ones; where they leave kinematics out and it is wanted, our own forward kinematics is added."""
    figures = comparable("mass_matrix", method, kinematics=False)
    frames: Cost | None = None
    if kinematics and counting.needs_frames("mass_matrix", method):
        frames = counting.cost("poses", "kinematics")
    found = []
    for n in joints:
        best = strictest(figures, n)
        extra = 0 if frames is None else frames.at(n).mul + frames.at(n).add
        found.append(float("nan") if best is None else float(best.total(n)) + extra)
    return found


def operations(path: Path) -> list[Path]:
    """Figure 2.9: operations for the mass matrix against n, kinematics apart and included, crossovers marked."""
    plt = pyplot()
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
        for axis, kinematics in zip(axes, (False, True), strict=True):
            for method in METHODS:
                axis.plot(
                    JOINTS, totals(method, kinematics=kinematics), linewidth=2.4, label=LABEL[method], **STYLE[method]
                )
                theirs = published_totals(method, kinematics=kinematics)
                axis.plot(
                    JOINTS,
                    theirs,
                    linewidth=0.9,
                    marker="o",
                    markersize=3.2,
                    markevery=4,
                    markerfacecolor="white",
                    **STYLE[method],
                )
            _mark(
                axis, totals("gdahj", kinematics=kinematics), totals("crba", kinematics=kinematics), "ours", filled=True
            )
            _mark(
                axis,
                published_totals("gdahj", kinematics=kinematics),
                published_totals("crba", kinematics=kinematics),
                "published",
                filled=False,
            )
            axis.set_title(f"kinematics {'included' if kinematics else 'apart (link frames given)'}", loc="left")
            axis.set_xlabel("joints n")
            axis.set_xlim(JOINTS[0], JOINTS[-1] + 0.4)
        axes[0].set_ylim(bottom=0)
        axes[0].set_ylabel("multiplications + additions, counted shared")
        handles = [
            *axes[0].get_legend_handles_labels()[0],
            plt.Line2D([], [], color="#444444", linewidth=2.4, label="ours"),
            plt.Line2D(
                [],
                [],
                color="#444444",
                linewidth=0.9,
                marker="o",
                markersize=3.2,
                markerfacecolor="white",
                label="published",
            ),
        ]
        axes[0].legend(handles=handles, loc="upper left", handlelength=3.2)
        axes[1].annotate(
            "published GDA and GDAHJ leave kinematics out;\nour forward kinematics is added to them here",
            (0.03, 0.97),
            xycoords="axes fraction",
            va="top",
            fontsize=8.5,
            color="#444444",
        )
        figure.suptitle(
            "Joint-space inertia matrix, general chain: operations against joints (thesis, Fig 2.9)",
            x=0.01,
            ha="left",
            fontsize=12,
        )
        return _saved(plt, figure, path)


def _mark(axis: Any, gdahj: Sequence[float], crba: Sequence[float], whose: str, *, filled: bool) -> None:
    n = crossover(gdahj, crba, list(JOINTS))
    if n is None:
        return
    y = gdahj[n - JOINTS[0]]
    axis.plot(
        [n],
        [y],
        marker="s",
        markersize=8,
        markerfacecolor="#c0392b" if filled else "white",
        markeredgecolor="#c0392b",
        zorder=5,
    )
    axis.annotate(
        f"{whose}: GDAHJ ahead from n = {n}",
        (n, y),
        xytext=(0.98, 0.05) if filled else (0.06, 0.50),
        textcoords="axes fraction",
        ha="right" if filled else "left",
        va="center",
        fontsize=9,
        color="#c0392b",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        arrowprops={"arrowstyle": "-", "color": "#c0392b", "linewidth": 0.8, "shrinkB": 5},
    )


def errors(path: Path, found: Sequence[Accuracy]) -> list[Path]:
    """Figure 5: metric (32) against n, median and range over random chains."""
    plt = pyplot()
    lines = [("between", "GDAHJ against CRBA, both double (the paper's Fig 5)", {"color": "#111111", "linestyle": "-"})]
    if HAS_EXTENDED:
        lines += [
            ("gdahj", "GDAHJ against extended precision", STYLE["gdahj"]),
            ("crba", "CRBA against extended precision", {"color": "#8a8a8a", "linestyle": "-."}),
        ]
    joints = [a.n for a in found]
    with plt.rc_context(LOOK):
        figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
        between = np.array([a.between for a in found], dtype=float)
        band = {"color": "#ececec", "linewidth": 0, "label": "range of the first over the chains"}
        for name, label, style in lines:
            median = [float(np.median(getattr(a, name))) for a in found]
            axis.plot(joints, median, linewidth=2, label=label, **style)
        axis.fill_between(joints, between.min(axis=1), between.max(axis=1), zorder=0, **band)
        axis.set_yscale("log")
        axis.set_xlim(joints[0], joints[-1])
        axis.set_xlabel("joints n")
        axis.set_ylabel("metric (32): sum |A - B| / max |(A + B) / 2|")
        axis.legend(loc="lower right", handlelength=3.2)
        chains = len(found[0].between)
        axis.set_title(
            f"Rounding error of the mass matrix, {chains} random chains for each n: medians", loc="left", fontsize=11
        )
        return _saved(plt, figure, path)


def _saved(plt: Any, figure: Any, path: Path) -> list[Path]:
    """The figure as PNG and SVG beside each other."""
    written = []
    for suffix, metadata in ((".png", {}), (".svg", {"Date": None})):
        target = path.with_suffix(suffix)
        figure.savefig(target, metadata=metadata)
        written.append(target)
    plt.close(figure)
    return written
