"""Limits of one's own in the supervisor's filter: held, after people's, and never silently lost."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from supervising import Fake, fast

import elbowroom as er
from elbowroom.algebra import sqrt
from elbowroom.avoidance import Config, Controller, Goal, Limits, MotionLimit, State, Status, Supervisor
from elbowroom.cell import Cell, Scene
from elbowroom.dynamics.kinematics import jacobian_at
from elbowroom.errors import ConfigError
from elbowroom.geometry import Capsule

PANDA = er.load("panda")
START = PANDA.pose(PANDA.ready)[:3, 3]
UP = np.array([0.0, 0.0, 1.0])
DT = 0.01


@dataclass(frozen=True)
class Ceiling:
    """The tool stays below a height (m); it comes nearer by gain (1/s) times what is left."""

    height: float
    gain: float = 4.0

    def rows(self, model, frames, q):
        tool = frames.point(model.n - 1, model.tool[:3, 3])
        up = jacobian_at(model, frames, model.n - 1, tool).Jv[2]
        return [(-up, -self.gain * (self.height - tool[2]))]


def lifted(*limits, by=0.2, steps=300, person=None):
    """The highest point (m) of the tool that is drawn up, and the supervisor."""
    controller = Controller(PANDA, Config(period=DT), people=1, person_capsules=1)
    supervisor = Supervisor(controller, Limits(), motion_limits=limits)
    people, state, goal = controller.obstacles(), State(PANDA.ready), Goal(START + by * UP)
    top = START[2]
    for k in range(steps):
        state.t = goal.t = t = k * DT
        if person is None:
            people.nobody(t)
        else:
            people.see(person, t)
        command = supervisor.step(t, DT, state, people, goal)
        state.qd[:] = command.qd
        state.q[:] += command.qd * DT
        top = max(top, PANDA.pose(state.q)[2, 3])
    return top, supervisor


def test_the_arm_stays_within_a_limit_of_one_s_own():
    free, _ = lifted()
    assert free > START[2] + 0.19  # without it the tool gets there
    for room in (0.05, 0.1):
        held, supervisor = lifted(Ceiling(START[2] + room))
        # Rows yield by need / weight: 4 1/s of what is missing, over 1000, is far below a tenth of a millimetre.
        assert START[2] + 0.9 * room < held < START[2] + room + 1e-4
        assert supervisor.latched is None
        assert supervisor.command.status is Status.SLOWING_LIMIT


def test_several_limits_hold_together_and_the_nearest_decides():
    held, _ = lifted(Ceiling(START[2] + 0.1), Ceiling(START[2] + 0.04))
    assert held < START[2] + 0.04 + 1e-4


def test_a_limit_that_is_far_away_changes_no_bit():
    _, plain = lifted(steps=100)
    _, far = lifted(Ceiling(START[2] + 5.0), steps=100)
    np.testing.assert_array_equal(plain.command.qd, far.command.qd)


def test_people_come_first():
    """A ceiling that presses the arm down into somebody yields: the row of people does not."""
    hand = np.array([Capsule(START - (0.1, 0, 0.2), START - (-0.1, 0, 0.2), 0.05).row()])
    pressed, supervisor = lifted(Ceiling(START[2] - 0.3), by=0.0, person=hand)
    assert supervisor.latched is None
    assert supervisor.command.margin > -1e-6  # what is allowed towards people is kept to
    assert pressed >= START[2]


class Root:
    """A row that is not a number where q[0] is below 0."""

    def rows(self, model, frames, q):
        return [(np.eye(model.n)[0], sqrt(q[0]) - 100.0)]


def test_a_row_that_is_not_a_number_stops_the_arm():
    q = PANDA.ready.copy()
    q[0] = -0.1
    controller = Controller(PANDA, Config(period=DT), people=1, person_capsules=1)
    supervisor = Supervisor(controller, Limits(), motion_limits=[Root()])
    people, state, goal = controller.obstacles(), State(q), Goal(START)
    for k in range(3):
        state.t = goal.t = k * DT
        people.nobody(k * DT)
        command = supervisor.step(k * DT, DT, state, people, goal)
    assert supervisor.latched is Status.STOP_INTERNAL
    assert "rows must be finite" in command.reason
    assert np.isfinite(command.qd).all()


class Wide:
    def rows(self, model, frames, q):
        return [(np.zeros(model.n + 1), 0.0)]


def test_what_is_no_limit_is_refused():
    controller = Controller(PANDA, Config(period=DT), people=1, person_capsules=1)
    with pytest.raises(ConfigError, match=r"Wide.rows: expected pairs of a row \(7,\) and a number; got shapes \(8,\)"):
        Supervisor(controller, Limits(), motion_limits=[Wide()])
    with pytest.raises(ConfigError, match=r"motion_limits: expected objects with `rows\(model, frames, q\)`; got 3"):
        Supervisor(controller, Limits(), motion_limits=[3])
    with pytest.raises(ConfigError, match="motion_limits: expected a Controller of elbowroom's own"):
        Supervisor(Fake(), fast(), places=(1, 0, 2), motion_limits=[Ceiling(1.0)])
    assert isinstance(Ceiling(1.0), MotionLimit)


def test_a_copy_keeps_its_limits():
    _, supervisor = lifted(Ceiling(START[2] + 0.05), steps=150)
    other = copy.deepcopy(supervisor)
    np.testing.assert_array_equal(other.limiter.array("rows"), supervisor.limiter.array("rows"))


def test_a_cell_takes_them_and_needs_a_supervisor_for_it():
    scene = Scene(robot="panda", duration=1.0, supervision="stop")
    assert Cell(scene, motion_limits=[Ceiling(2.0)]).guard is not None
    with pytest.raises(ConfigError, match='expected a scene with supervision = "stop", which holds them; got "off"'):
        Cell(Scene(robot="panda", duration=1.0, supervision="off"), motion_limits=[Ceiling(2.0)])
