"""The papers' two curves: operations against n (thesis, Figure 2.9), rounding error against n (GDAHJ paper, Figure 5).

How far GDAHJ and CRBA are from each other and from the truth (GDAHJ paper, equation 32) is

    e(A, B) = sum |A - B| / max |(A + B) / 2|                                                                  (32)

over all entries of two mass matrices of one chain.  The paper takes A and B from the two algorithms, both in double
precision.  Here each is also held against the plain sum over the links, M = sum m Jv^T Jv + Jw^T I Jw, in extended
precision, so that one sees whose error it is.  The chains are the paper's: masses of 1 to 10 kg, positive definite
tensors with entries of 1 to 10 kg m^2, random Denavit-Hartenberg parameters, a random pose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import counting
from ..algebra.linalg import Array
from ..counting.compare import Cost, comparable, crossover, strictest
from ..dynamics import crba, gdahj
from ..model import chains, from_mdh
from .figure_style import look, pyplot, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("crba", "gda", "gdahj")
LABEL = {"crba": "CRBA", "gda": "GDA", "gdahj": "GDAHJ"}
STYLE: dict[str, dict[str, Any]] = {
    "crba": {"color": "#111111", "linestyle": "-"},
    "gda": {"color": "#8a8a8a", "linestyle": (0, (5, 1.5, 1, 1.5))},
    "gdahj": {"color": "#1f5fa8", "linestyle": (0, (5, 2))},
}
JOINTS = range(2, 31)
EXTENDED = np.longdouble
HAS_EXTENDED = bool(np.finfo(EXTENDED).eps < np.finfo(float).eps / 100)
"""Whether this machine's long double is longer (on x86 it is; elsewhere it may be double itself)."""


@dataclass(frozen=True)
class Accuracy:
    """Metric (32) for chains of n joints, one value a chain."""

    n: int
    between: NDArray[Any]  # GDAHJ and CRBA, both in double: the paper's Figure 5
    gdahj: NDArray[Any]  # GDAHJ in double and the extended truth
    crba: NDArray[Any]  # CRBA in double and the extended truth


def metric(A: Array, B: Array) -> float:
    """(32) of two matrices."""
    return float(np.abs(A - B).sum() / np.abs((A + B) / 2).max())


def measure(
    numbers: Sequence[int], *, samples: int = 12, seed: int = 0, progress: Callable[[int, int, str], None] | None = None
) -> list[Accuracy]:
    """Metric (32) for `samples` random chains of every number of joints."""
    found = []
    for k, n in enumerate(numbers):
        if progress is not None:
            progress(k, len(numbers), f"error metric (32), {n} joints")
        rng = np.random.default_rng((seed, n))
        values = np.array([_sample(n, rng) for _ in range(samples)])
        found.append(Accuracy(n, *values.T))
    return found


def _sample(n: int, rng: np.random.Generator) -> tuple[float, float, float]:
    bodies = chains.random(n, int(rng.integers(1 << 30)))
    a, d = rng.uniform(-0.5, 0.5, (2, n))
    alpha, q = rng.uniform(-np.pi, np.pi, (2, n))
    model = from_mdh(a=a, alpha=alpha, d=d, mass=bodies.mass, com=bodies.com, inertia=bodies.inertia)
    one, other = gdahj.mass_matrix(model, q), crba.mass_matrix(model, q)
    truth = exact_mass_matrix(a, alpha, d, q, bodies.mass, bodies.com, bodies.inertia)
    return metric(one, other), metric(one, truth), metric(other, truth)


def exact_mass_matrix(
    a: Array, alpha: Array, d: Array, q: Array, mass: Array, com: Array, inertia: Array
) -> NDArray[np.longdouble]:
    """M (n, n) of revolute joints in modified Denavit-Hartenberg parameters, every operation in extended precision."""
    a, alpha, d, q, mass, com, inertia = (np.asarray(x, dtype=EXTENDED) for x in (a, alpha, d, q, mass, com, inertia))
    n = len(q)
    R, p = np.eye(3, dtype=EXTENDED), np.zeros(3, dtype=EXTENDED)
    axes, origins = np.zeros((3, n), dtype=EXTENDED), np.zeros((3, n), dtype=EXTENDED)
    M = np.zeros((n, n), dtype=EXTENDED)
    for i in range(n):
        ca, sa, cq, sq = np.cos(alpha[i]), np.sin(alpha[i]), np.cos(q[i]), np.sin(q[i])
        p = p + R @ np.array([a[i], -sa * d[i], ca * d[i]])
        R = R @ np.array([[cq, -sq, 0 * cq], [ca * sq, ca * cq, -sa], [sa * sq, sa * cq, ca]])
        axes[:, i], origins[:, i] = R[:, 2], p
        Jw, r = axes[:, : i + 1], (p + R @ com[i])[:, None] - origins[:, : i + 1]
        Jv = np.cross(Jw, r, axis=0)
        M[: i + 1, : i + 1] += mass[i] * (Jv.T @ Jv) + Jw.T @ (R @ inertia[i] @ R.T) @ Jw
    return M


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
    with look():
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
        return save(figure, [path.with_suffix(".png"), path.with_suffix(".svg")])


def _mark(axis: Axes, gdahj: Sequence[float], crba: Sequence[float], whose: str, *, filled: bool) -> None:
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
    with look():
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
        return save(figure, [path.with_suffix(".png"), path.with_suffix(".svg")])
