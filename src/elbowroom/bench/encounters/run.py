"""One encounter: a method in the loop with an arm whose joints follow the command exactly.

    q(k+1) = q(k) + qd(k) PERIOD, held at the joints' limits

A method is anything with `step(t, dt, state, obstacles, goal)` that returns a command with `.qd`, as Controller and
Supervisor have it.  Where it has `latched`, it is reset `RESET_AFTER` a stop.  `factory(arm, people, sensor)` makes it
anew for every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Goal, State
from ...avoidance.control.obstacles import Obstacles
from ...geometry.skeleton import NAMES
from .scene import PERIOD, REACHED, Frames, Scene

Array = NDArray[np.float64]
Factory = Callable[[Arm, int, str], Any]

CAPSULES = len(NAMES)  # of a person
RESET_AFTER = 1.0  # s


class Track(NamedTuple):
    """What the arm did."""

    q: Array  # (T + 1, n)
    asked: Array  # (T, n) the commanded speeds
    goals: int
    stops: int
    seconds: Array  # (T,) of each step


def run(scene: Scene, factory: Factory, frames: Frames | None, sensor: str = "camera") -> Track:
    """The encounter with this method; without frames nobody is there."""
    arm = scene.place.arm
    method = factory(arm, scene.people, sensor)
    obstacles = _places(method, scene.people)
    steps, n = len(scene.times) - 1, arm.n
    q, asked = np.empty((steps + 1, n)), np.empty((steps, n))
    q[0] = arm.ready
    lower, upper = arm.model.lower, arm.model.upper
    state, goal = State(q[0]), Goal(scene.goals[0])
    goals = stops = shown = 0
    latched, reset_at = False, 0.0
    spent = np.empty(steps)
    pose, tool = arm.pose, np.empty((4, 4))
    clock = time.perf_counter_ns
    for k in range(steps):
        t = k * PERIOD
        if frames is None:
            for person in range(scene.people):
                obstacles.nobody(t, person)
        else:
            there = shown
            while there < len(frames.arrivals) and frames.arrivals[there] <= t + 1e-9:
                there += 1
            if there > shown:
                for person in range(scene.people):
                    obstacles.see(frames.rows[there - 1, person], frames.stamps[there - 1], person, NAMES)
                shown = there
        state.t = t
        if latched and t >= reset_at:
            method.reset(t)
        begin = clock()
        command = method.step(t, PERIOD, state, obstacles, goal)
        spent[k] = 1e-9 * (clock() - begin)
        asked[k] = command.qd
        if getattr(method, "latched", None):
            if not latched:
                latched, stops, reset_at = True, stops + 1, t + RESET_AFTER
        else:
            latched = False
        ahead = q[k + 1] = np.clip(q[k] + PERIOD * asked[k], lower, upper)
        state.q[:], state.qd[:] = ahead, (ahead - q[k]) / PERIOD
        if np.linalg.norm(pose(ahead, out=tool)[:3, 3] - goal.position) < REACHED:
            goals += 1
            goal.position = scene.goals[goals % len(scene.goals)]
            goal.t = t
    return Track(q, asked, goals, stops, spent)


def _places(method: Any, people: int) -> Obstacles:
    """The obstacles as the method takes them."""
    for owner in (method, getattr(method, "controller", None)):
        make = getattr(owner, "obstacles", None)
        if make is not None:
            places: Obstacles = make()
            return places
    return Obstacles(people, 0, CAPSULES)
