"""Control loops without a robot: what a controller is handed, how, and an arm that follows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from ..avoidance import Config, Controller, Goal, State, Supervisor
from .scene import PERIOD, Frame, Scene

STATES = 256  # of a batch


class Loop:
    """A controller, supervised or bare, with what it is handed."""

    def __init__(self, told: Scene, config: Config, *, supervised: bool) -> None:
        controller = Controller(told.arm, config, body=told.body, person_capsules=told.capsules)
        # The arm is where the frames have it, whatever is commanded.
        steps = Supervisor(controller, acting=False) if supervised else controller
        state, obstacles, goal = State(told.arm.ready), controller.obstacles(), Goal(np.zeros(3))
        step, see = steps.step, obstacles.see
        q, qd, moving = state.q, state.qd, goal.packed[:6]

        def hand_over(t: float, frame: Frame) -> None:
            q[:] = frame.q
            qd[:] = frame.qd
            moving[:] = frame.goal
            state.t = goal.t = t
            see(frame.rows, t)

        def alone(t: float, frame: Frame) -> Any:
            return step(t, PERIOD, state, obstacles, goal)

        def whole(t: float, frame: Frame) -> Any:
            q[:] = frame.q
            qd[:] = frame.qd
            moving[:] = frame.goal
            state.t = goal.t = t
            see(frame.rows, t)
            return step(t, PERIOD, state, obstacles, goal)

        def note(t: float, frame: Frame) -> None:
            """Outside of the clock: what the last cycle said."""
            if t > 1.5 * PERIOD:  # there was one
                self.statuses[str(steps.command.status)] += 1

        self.controller, self.command = controller, steps.command
        self.statuses: Counter[str] = Counter()
        self.hand_over, self.alone, self.whole, self.note = hand_over, alone, whole, note


def at_work(told: Scene, orbits: int = 6) -> Scene:
    """The scene with the states of an arm that follows the supervised K controller to the letter, its last orbit.

    Where that orbit does not quite close, the rest is taken off evenly, so that the frames repeat without a jump.
    """
    loop = Loop(told, Config(), supervised=True)
    q, qd = np.array(told.arm.ready), np.zeros(told.arm.n)
    size, lived = len(told.frames), list[Frame]()
    for k in range(orbits * size):
        lived.append(told.frames[k % size]._replace(q=q, qd=qd))
        qd = np.array(loop.whole((k + 1) * PERIOD, lived[-1]).qd)
        q = q + qd * PERIOD
    last = lived[-size:]
    drift = (q - last[0].q) / size  # rad a cycle
    closed = [f._replace(q=f.q - k * drift, qd=f.qd - drift / PERIOD) for k, f in enumerate(last)]
    return replace(told, frames=closed)


class Batch:
    """`Controller.many`, each state with a person of its own."""

    def __init__(self, controller: Controller, told: Scene) -> None:
        many = controller.many

        def cycle(t: float, frame: Frame) -> Any:
            return many(frame.q, frame.qd, frame.rows, frame.goal)

        self.cycle = cycle
        size = len(told.frames)
        starts = range(0, size, STATES)
        picked = [[told.frames[(start + k) % size] for k in range(STATES)] for start in starts]
        self.frames = [
            batch._replace(goal=batch.goal[:, :3].copy())  # `many` takes positions
            for batch in (Frame(*(np.array(part) for part in zip(*frames, strict=True))) for frames in picked)
        ]
