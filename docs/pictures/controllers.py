"""Draws docs/pictures/controllers.svg: the same visit of a person, answered by K and by the three F methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Force, Goal, State
from elbowroom.experiments.figure_style import look, pyplot, save
from elbowroom.geometry import Person

DT = 0.002
STYLES = {
    "K": {"color": "#111111"},
    "F linearised": {"color": "#c0392b", "linestyle": ":"},
    "F operational": {"color": "#1f5fa8", "linestyle": "--"},
    "F joint": {"color": "#888888", "linestyle": "-."},
}


def visit(config: Config) -> np.ndarray:
    """Time, distance, how far the tool is off, its speed: a person walks in at 0.35 m/s, waits, and leaves."""
    arm = er.load("panda")
    controller = Controller(arm, config)
    people, person = controller.obstacles(), Person.standing((0.0, 0.1, 0.0), facing=np.pi)
    state, goal = State(arm.ready), Goal(arm.pose(arm.ready)[:3, 3])
    rows = []
    for k in range(int(9.0 / DT)):
        t = k * DT
        x = 1.5 - 0.35 * min(t, 2.2) + 0.35 * max(t - 4.5, 0.0)
        walk = (-0.35 if t < 2.2 else 0.35 if t > 4.5 else 0.0, 0.0, 0.0)
        people.see(person.moved((x, 0.0, 0.0), velocity=walk), t)
        command = controller.step(t, DT, state, people, goal)
        if controller.makes_torque:
            state.qd += arm.forward_dynamics(state.q, state.qd, command.tau) * DT
        else:
            state.qd[:] = command.qd
        state.q += state.qd * DT
        off = np.linalg.norm(arm.pose(state.q)[:3, 3] - goal.position)
        rows.append((t, command.distance, off, np.linalg.norm(command.tool_velocity[:3])))
    return np.array(rows).T


def main() -> None:
    """One picture, three panels."""
    methods = {"K": Config(period=DT)}
    for method in ("linearised", "operational", "joint"):
        methods[f"F {method}"] = Config(controller="F", period=DT, force=Force(method=method))
    with look():
        figure, axes = pyplot().subplots(1, 3, figsize=(12, 3.6), layout="constrained")
        for label, config in methods.items():
            time, *curves = visit(config)
            for axis, curve in zip(axes, curves, strict=True):
                axis.plot(time, curve, label=label, linewidth=1.8, **STYLES[label])
        for axis, title in zip(
            axes, ("clear of the person, m", "tool off its goal, m", "speed of the tool, m/s"), strict=True
        ):
            axis.set_title(title, loc="left")
            axis.set_xlabel("s")
            axis.axvspan(2.2, 4.5, color="#f3f3f3")
        influence = Config().repulsion.influence
        axes[0].axhline(influence, color="#999999", linewidth=0.8)
        axes[0].annotate("influence", (6.9, influence + 0.03), color="#555555", fontsize=9)
        axes[2].legend(loc="upper right", handlelength=3.2)
        save(figure, [Path(__file__).with_suffix(".svg")])


if __name__ == "__main__":
    main()
