"""Draws the pictures of docs/avoidance/fields.md, limits.md and smoothing.md beside itself, with the library's laws.

    python docs/pictures/fields.py

Lines differ in dash, width and lightness, so that a grey print reads as well.  The thesis' figures are made anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elbowroom.avoidance.control.attraction import Attraction, slow_down_factor
from elbowroom.avoidance.control.joint_limits import JointLimits, potential, scaling
from elbowroom.avoidance.control.repulsion import Repulsion, demand, strength
from elbowroom.avoidance.control.smoothing import Filter
from elbowroom.experiments.figure_style import look, pyplot

HERE = Path(__file__).parent
INK, BLUE, GREY, RED = "#111111", "#1f5fa8", "#8a8a8a", "#c0392b"
STYLES: list[dict[str, Any]] = [
    {"color": INK, "linestyle": "-", "linewidth": 2.4},
    {"color": BLUE, "linestyle": (0, (5, 2)), "linewidth": 2.0},
    {"color": GREY, "linestyle": (0, (5, 1.5, 1, 1.5)), "linewidth": 2.0},
    {"color": RED, "linestyle": (0, (1, 1.2)), "linewidth": 2.2},
]
PRINTED, MENDED = STYLES[1], STYLES[0]


def repulsion(axes: Any) -> None:
    """Figure 3.14, and what closing and parting speeds do to one profile."""
    d = np.linspace(0.02, 1.5, 600)
    for style, (profile, label) in zip(
        (STYLES[1], STYLES[2], STYLES[3], STYLES[0]),
        {
            "inverse": "inverse (3.44)",
            "linear": "linear (3.45)",
            "cosine": "cosine",
            "power5": "power 5 (3.46)",
        }.items(),
        strict=True,
    ):
        field = Repulsion.thesis(1.0, 1.0, profile=profile)
        axes[0].plot(d, demand(field, d, 0.0), label=label, **style)
    axes[0].set(xlim=(0, 1.5), ylim=(0, 4), xlabel="distance d / d0", ylabel="strength / k")
    axes[0].set_title("four profiles (thesis, Fig 3.14)", loc="left")
    axes[0].legend(loc="upper right", handlelength=3.4)

    field, d = Repulsion(), np.linspace(-0.05, 0.9, 600)
    cases = ((0.5, "coming at 0.5 m/s", STYLES[3]), (0.0, "standing", STYLES[0]), (-0.25, "leaving", STYLES[1]))
    for closing, label, style in cases:
        axes[1].plot(d, strength(field, d, closing), label=label, **style)
    axes[1].axvline(0.0, color=GREY, linewidth=0.8)
    axes[1].annotate("contact", (0.006, 0.04), color="#555555", fontsize=9)
    axes[1].set(xlim=(-0.05, 0.9), ylim=(0, 1.1), xlabel="surface distance, m", ylabel="strength, m/s")
    axes[1].set_title("power 5 with the default settings", loc="left")
    axes[1].legend(loc="upper right", handlelength=3.4)


def slow_down(axes: Any) -> None:
    """Figure 3.20: (3.77) printed and mended, for two exponents."""
    x = np.linspace(-0.1, 2.0, 600)
    for axis, n in zip(axes, (1, 2), strict=True):
        for form, style in (("printed", PRINTED), ("mended", MENDED)):
            settings = Attraction(slow_down=form, exponent=n)
            axis.plot(x, [float(slow_down_factor(settings, d, 1.0)) for d in x], label=form, **style)
        axis.plot([1.0], [np.tanh(0.5)], marker="o", color=RED, markersize=6)
        axis.annotate("0.46 at d0", (1.04, 0.40), color=RED, fontsize=9)
        axis.axvline(1.0, color=GREY, linewidth=0.8)
        axis.set(xlim=(-0.1, 2.0), ylim=(0, 1.06), xlabel="distance d / d0")
        axis.set_title(f"restraint near people (3.77), n = {n} (thesis, Fig 3.20)", loc="left")
    axes[0].set_ylabel("what is left of the attraction")
    axes[1].legend(loc="lower right", handlelength=3.4)


def joint_limits(axes: Any) -> None:
    """Figure 3.19, the factor printed and mended; and the potential (3.72), printed and mended."""
    lower, upper, margin = np.array([-1.0]), np.array([1.0]), 0.5
    q = np.linspace(-1.15, 1.15, 920)

    def factor(form: str, way: float) -> list[float]:
        settings = JointLimits(form=form, margin=margin)
        return [float(scaling(settings, np.array([x]), lower, upper, np.array([way]))[0]) for x in q]

    axes[0].plot(q, factor("printed", 1.0), label="printed, either way", color="#c4d4e6", linewidth=7)
    axes[0].plot(q, factor("mended", 1.0), label="mended, moving up", **MENDED)
    axes[0].plot(q, factor("mended", -1.0), label="mended, moving down", **STYLES[3])
    axes[0].set(ylim=(0, 1.06), xlabel="joint position, limits at -1 and 1, margin 0.5", ylabel="factor")
    axes[0].set_title("scaling (3.74) (thesis, Fig 3.19)", loc="left")
    axes[0].legend(loc="lower center", handlelength=3.4)
    for form, style in (("mended", MENDED), ("printed", PRINTED)):
        settings = JointLimits(form=form, margin=margin, gain=0.1, exponent=1, floor=0.05)
        push = [float(potential(settings, np.array([x]), lower, upper)[0]) for x in q]
        axes[1].plot(q, push, label=form, **style)
    axes[1].set(ylim=(-2.2, 2.2), xlabel="joint position", ylabel="push")
    axes[1].set_title("potential (3.72), k = 0.1, n = 1, floor 0.05", loc="left")
    axes[1].legend(loc="upper right", handlelength=3.4)
    for axis in axes:
        axis.set_xlim(-1.15, 1.15)
        for limit in (-1.0, 1.0):
            axis.axvline(limit, color=GREY, linewidth=0.8)


def smoothing(axes: Any) -> None:
    """(3.78): a noisy step and a ramp, and how late the average answers."""
    period, duration = 0.001, 0.05
    t = np.arange(0, 0.3, period)
    noise = np.random.default_rng(0).normal(size=t.size) * 0.08
    for axis, signal, title in (
        (axes[0], np.where(t > 0.08, 0.5, 0.0) + noise, "a noisy step"),
        (axes[1], np.clip(t - 0.05, 0, None) * 3, "a ramp"),
    ):
        smooth, out = Filter(1, duration, period), np.empty(1)
        axis.plot(t, signal, label="command", color=GREY, linewidth=1.0)
        axis.plot(t, [float(smooth.push(np.array([x]), out)[0]) for x in signal], label="average of 50 ms", **MENDED)
        axis.set(xlim=(0, 0.3), xlabel="time, s")
        axis.set_title(title, loc="left")
    late, level = smooth.delay, 0.45
    axes[1].annotate(
        "",
        (0.2 + late, level),
        (0.2, level),
        arrowprops={"arrowstyle": "<->", "color": RED, "shrinkA": 0, "shrinkB": 0},
    )
    axes[1].annotate(f"{1000 * late:.1f} ms late", (0.235, 0.43), color=RED, fontsize=9)
    axes[0].set_ylabel("joint speed, rad/s")
    axes[0].legend(loc="lower right", handlelength=3.4)


PICTURES = {"repulsion": repulsion, "slow_down": slow_down, "joint_limits": joint_limits, "smoothing": smoothing}


def main() -> None:
    """Every picture, as SVG."""
    plt = pyplot()
    for name, draw in PICTURES.items():
        with look():
            figure, axes = plt.subplots(1, 2, figsize=(10, 3.7), layout="constrained")
            draw(axes)
            figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
