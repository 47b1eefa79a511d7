"""A controller at work, for tests of what it does in the long run."""

from __future__ import annotations

import numpy as np
from reference import arm_and_body

from elbowroom.avoidance import Config, Controller, Goal, State

PERIOD = 0.01


class ClosedLoop:
    """A panda that does what it is told at 100 Hz, its goal where it starts; `least` is the smallest distance so far.

    There is room for one capsule of a person and for one thing.
    """

    def __init__(self, **options):
        self.arm, self.body = arm_and_body("few")
        config = Config(period=PERIOD, **options)
        self.controller = Controller(self.arm, config, body=self.body, people=1, others=1, person_capsules=1)
        self.state, self.places = State(self.arm.ready.copy()), self.controller.obstacles()
        self.tool = self.arm.pose(self.arm.ready)[:3, 3].copy()
        self.goal, self.k, self.least = Goal(self.tool.copy()), 0, np.inf
        self.places.nobody(0.0)

    @property
    def t(self):
        return self.k * PERIOD

    @property
    def error(self):
        return float(np.linalg.norm(self.arm.pose(self.state.q)[:3, 3] - self.goal.position))

    def command(self):
        command = self.controller.step(self.t, PERIOD, self.state, self.places, self.goal)
        assert not command.status.stops, command.reason
        return command

    def move(self, command):
        """The arm follows the command for a period."""
        self.state.qd[:] = command.qd
        self.state.q += PERIOD * command.qd
        self.k += 1
        self.least = min(self.least, command.distance)

    def step(self):
        command = self.command()
        self.move(command)
        return command

    def run(self, duration):
        for _ in range(round(duration / PERIOD)):
            command = self.step()
        return command
