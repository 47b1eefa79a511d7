"""The figures of the reports: torques measured and predicted, parameters with their errors, an exciting motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..experiments.figure_style import SOFT, STYLE, letter, look, panels, thinned
from ..experiments.html_report import figure_svg
from .excitation import Excitation
from .identify import Identification, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED: dict[str, Any] = {"color": "#8c8c8c", "linestyle": "-", "linewidth": 2.2}
MODEL: dict[str, Any] = {"color": "#c0392b", "linestyle": (0, (4, 2)), "linewidth": 1.0}
FOUND: dict[str, Any] = {"color": "#111111", "linestyle": "-", "linewidth": 1.0}


def torques(found: Identification, shown: Prediction, name: str) -> str:
    """One panel per joint: measured, by the model as it was given, and as identified."""
    arm = found.prior
    rows = -(-arm.n // 2)
    with look():
        figure, axes = panels(rows, 2 if arm.n > 1 else 1, 0.5 + 1.45 * rows, share="x")
        best = shown.least_squares if shown.consistent is None else shown.consistent
        for j, axis in enumerate(axes[: arm.n]):
            for values, style, label in (
                (shown.measured, MEASURED, "measured"),
                (shown.model, MODEL, "model as given"),
                (best, FOUND, "identified"),
            ):
                some = thinned(shown.t, values[:, j])
                axis.plot(shown.t[some], values[some, j], label=label, **style)
            axis.set_xlim(float(shown.t[0]), float(shown.t[-1]))
            letter(axis, f"{arm.joint_names[j]}, {'N m' if arm.model.revolute(j) else 'N'}")
            if j >= arm.n - 2:
                axis.set_xlabel("time, s")
        _legend(figure, axes, arm.n)
        return figure_svg(figure, name, "torques, measured and predicted, by joint")


def parameters(found: Identification) -> str:
    """Value and 95 % interval of each parameter beside the model's; grey: not determined."""
    rows = [row for row in found.table if row.model is not None and np.isfinite(row.error)]
    with look():
        figure, axes = panels(1, 1, 1.0 + 0.14 * len(rows))
        axis = axes[0]
        for k, row in enumerate(rows):
            size = max(abs(row.value), abs(row.model or 0.0), 2.0 * row.error)
            colour = "#111111" if row.determined else "#aaaaaa"
            low, high = (row.value - 1.96 * row.error) / size, (row.value + 1.96 * row.error) / size
            axis.plot(np.clip([low, high], -2, 2), [k, k], color=colour, linewidth=1.4)
            axis.plot([row.value / size], [k], marker="o", markersize=3.5, color=colour, linestyle="none")
            axis.plot([(row.model or 0.0) / size], [k], marker="|", markersize=7, color="#c0392b", linestyle="none")
        axis.axvline(0.0, color=SOFT, linewidth=0.6)
        axis.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=6.5)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xlabel("value, in the larger of it and the model's (red); bars: 95 % of least squares")
        axis.grid(visible=False, axis="y")
        return figure_svg(figure, "parameters", "parameters with their 95 % intervals beside the model's")


def motion(found: Excitation) -> str:
    """Positions and speeds of a trajectory, within the limits that it keeps to."""
    arm, bounds = found.arm, found.bounds
    with look():
        figure, axes = panels(arm.n, 2, 0.5 + 1.0 * arm.n, share="x")
        for j in range(arm.n):
            unit = "rad" if arm.model.revolute(j) else "m"
            for axis, values, low, high, what in (
                (axes[2 * j], found.q[:, j], bounds.lower[j], bounds.upper[j], unit),
                (axes[2 * j + 1], found.qd[:, j], -bounds.velocity[j], bounds.velocity[j], f"{unit}/s"),
            ):
                some = thinned(found.t, values)
                axis.plot(found.t[some], values[some], **FOUND)
                for limit in (low, high):
                    axis.axhline(limit, **STYLE["limit"])
                letter(axis, f"{arm.joint_names[j]}, {what}")
        for axis in axes[-2:]:
            axis.set_xlabel("time, s")
        return figure_svg(figure, "motion", "positions and speeds of the trajectory by joint, with their limits")


def _legend(figure: Figure, axes: list[Axes], used: int) -> None:
    for axis in axes[used:]:
        axis.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, fontsize=9)
