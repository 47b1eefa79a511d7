"""Draws the picture of docs/avoidance/supervisor.md beside itself, with the library's own supervisor.

    python docs/pictures/supervisor.py

Lines differ in dash, width and lightness, so that a grey print reads as well.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Controller, Goal, Limits, State, Supervisor
from elbowroom.avoidance.safety.filter.joint_speed_limits import braking_speed
from elbowroom.experiments.figure_style import look, pyplot
from elbowroom.geometry import Person

HERE = Path(__file__).parent
INK, BLUE, GREY, RED = "#111111", "#1f5fa8", "#8a8a8a", "#c0392b"


def separation(axes: Any) -> None:
    """v_max over the distance, for three speeds of the person; 1 kHz, a stop of 0.1 s, a camera."""
    d, limits = np.linspace(0.0, 0.8, 400), Limits()
    reaction, stopping = limits.latency + 0.001, 0.1
    styles = ((0.5, BLUE, (0, (5, 2))), (1.6, INK, "-"), (2.7, RED, (0, (1, 1.2))))
    for human, colour, dash in styles:
        room = d - limits.clearance - human * (reaction + stopping)
        speed = np.maximum(room / (reaction + stopping / 2), limits.creep)
        axes.plot(d, speed, color=colour, linestyle=dash, linewidth=2.2, label=f"person {human} m/s")
    axes.set(xlim=(0, 0.8), ylim=(-0.05, 2.2), xlabel="distance to the believed body, m")
    axes.set_ylabel("speed towards the person, m/s")
    axes.set_title("speed and separation", loc="left")
    axes.legend(loc="lower right", handlelength=3.2)


def braking(axes: Any) -> None:
    """The speed before a joint's limit, for a command that holds for no time and for eleven periods."""
    margin = np.linspace(0.0, 0.1, 400)
    axes.plot(margin, braking_speed(margin, 10.0, 0.0), color=GREY, linestyle=(0, (5, 2)), linewidth=2.0, label="h = 0")
    axes.plot(margin, braking_speed(margin, 10.0, 0.011), color=INK, linewidth=2.4, label="h = 11 ms")
    axes.set(xlim=(0, 0.1), ylim=(0, 1.5), xlabel="room to the limit, rad", ylabel="speed towards it, rad/s")
    axes.set_title("before a joint's limit, 10 rad/s²", loc="left")
    axes.legend(loc="lower right", handlelength=3.2)


def stop(axes: Any) -> None:
    """A stop by old data, from the flight recorder."""
    arm = er.load("panda")
    controller = Controller(arm)
    guard = Supervisor(controller, Limits(record=1.2, record_after=0.15))
    people, person = controller.obstacles(), Person.standing((0.3, 1.4, 0.0))
    state, goal = State(arm.ready), Goal(arm.pose(arm.ready)[:3, 3] + np.array([0.0, -0.6, 0.1]))
    for k in range(1, 1200):
        t = k * 0.001
        state.t = t
        if t <= 0.7:
            people.see(person, t)  # then the camera falls silent
        command = guard.step(t, 0.001, state, people, goal)
        state.qd[:] = command.qd
        state.q += command.qd * 0.001
    record = guard.recorder.dump
    assert record is not None
    table = record.table()
    t = table["t"]
    for j, colour, dash in (
        (0, INK, "-"),
        (1, BLUE, (0, (5, 2))),
        (2, GREY, (0, (5, 1.5, 1, 1.5))),
        (5, RED, (0, (1, 1.2))),
    ):
        axes.plot(t, table["command"][:, j], color=colour, linestyle=dash, linewidth=2.0, label=f"joint {j + 1}")
    axes.set(xlim=(0.45, t[-1]), ylim=(-0.8, 1.0), xlabel="time, s", ylabel="joint speed, rad/s")
    for x, text in ((0.7, "last data"), (record.t, "stop")):
        axes.axvline(x, color=GREY, linewidth=0.9)
        axes.annotate(text, (x, axes.get_ylim()[0]), (3, 4), textcoords="offset points", fontsize=8, color="#555555")
    axes.set_title("a stop, from the flight recorder", loc="left")
    axes.legend(loc="upper left", handlelength=3.2, ncols=2)


def main() -> None:
    """Draws it."""
    logging.getLogger("elbowroom.avoidance").setLevel(logging.CRITICAL)
    plt = pyplot()
    with look():
        figure, axes = plt.subplots(1, 3, figsize=(13.5, 3.6), layout="constrained")
        separation(axes[0])
        braking(axes[1])
        stop(axes[2])
        figure.savefig(HERE / "supervisor.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
