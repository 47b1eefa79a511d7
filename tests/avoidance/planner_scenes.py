"""An arm that a person holds up, for the tests of detours: a panda that should turn its tool past a standing person."""

from __future__ import annotations

import numpy as np

from elbowroom.avoidance import Config, Controller, Goal, Limits, Sensor, State, Supervisor
from elbowroom.avoidance.planning.detour import Detour
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.geometry import Person
from elbowroom.geometry.pairs import Clearance

PERIOD = 0.01
RULES = Planning(still_after=0.2)


class HeldUp:
    """The loop: a supervised arm between two poses, a person where they stand, and a detour."""

    def __init__(self, arm, rules=RULES, planner=None, where=(0.55, 0.0), turn=1.2):
        self.arm, self.person = arm, Person.standing((*where, -0.4))
        self.controller = Controller(arm, Config(period=PERIOD), people=1, person_capsules=13)
        self.guard = Supervisor(self.controller, Limits(sensor=Sensor.exact(PERIOD)))
        self.obstacles = self.controller.obstacles()
        self.start, end = self.turned(-turn), self.turned(turn)
        self.aim = arm.pose(end)[:3, 3].copy()
        self.state, self.goal = State(self.start), Goal(self.aim)
        self.detour = None if rules is None else Detour(self.controller, rules, planner=planner)
        self.t, self.least, self.texts = 0.0, np.inf, []
        self._clear = Clearance(self.controller.body, 13)

    def turned(self, angle):
        q = self.arm.ready.copy()
        q[0] += angle
        q[3] += 0.9  # out, to where a person stands
        return q

    @property
    def away(self):
        return float(np.linalg.norm(self.arm.pose(self.state.q)[:3, 3] - self.aim))

    def step(self):
        """One control step; the joints do as commanded."""
        self.obstacles.see(self.person, self.t)
        self.state.t, goal = self.t, self.goal
        if self.detour is not None:
            tool, held = self.arm.pose(self.state.q)[:3, 3], self.guard.latched is not None
            found = self.detour.step(
                self.t, PERIOD, self.state.q, tool, self.aim, self.guard.watch.predicted, held=held
            )
            goal = goal if found is None else found
            if self.detour.text not in self.texts[-1:]:
                self.texts.append(self.detour.text)
        goal.t = self.t
        command = self.guard.step(self.t, PERIOD, self.state, self.obstacles, goal)
        self.state.qd[:] = command.qd
        self.state.q += PERIOD * command.qd
        self.least = min(self.least, self._clear.of(self.state.q, self.person.rows)[1].surfaces)
        self.t += PERIOD
        return command

    def run(self, seconds, until=lambda loop: loop.away < 0.02):
        for _ in range(round(seconds / PERIOD)):
            self.step()
            if until(self):
                return True
        return False
