"""Limits of one's own in the supervisor's filter: held, after people's, and never silently lost."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from supervising import Fake, fast

import elbowroom as er
from elbowroom.algebra import sqrt
from elbowroom.avoidance import (
    Config,
    Controller,
    Goal,
    Limits,
    MotionLimit,
    Repulsion,
    State,
    Status,
    Supervisor,
    Workspace,
)
from elbowroom.cell import Cell, GoTo, Scene, run
from elbowroom.cell.runner import notes_of
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


def lifted(limits=(), by=0.2, steps=300, persons=(), people=1, config=None, **settings):
    """The highest point (m) of the tool that is drawn up, and the supervisor after that."""
    config = Config(period=DT) if config is None else config
    controller = Controller(PANDA, config, people=people, person_capsules=1)
    supervisor = Supervisor(controller, Limits(**settings), motion_limits=limits)
    cell = Drawn(controller, supervisor, Goal(START + by * UP), persons)
    return max(cell.step() for _ in range(steps)), supervisor


class Drawn:
    """An arm that follows the commanded speeds, or accelerations, towards a goal."""

    def __init__(self, controller, supervisor, goal, persons=(), q=PANDA.ready):
        self.supervisor, self.goal, self.persons = supervisor, goal, persons
        self.people, self.state, self.t = controller.obstacles(), State(q.copy()), 0.0
        self.torque = controller.makes_torque

    def step(self):
        """The tool's height, m, after one more."""
        t, state = self.t, self.state
        state.t = self.goal.t = t
        for k in range(self.people.layout[0]):
            self.people.nobody(t, k)
        for k, person in enumerate(self.persons):
            self.people.see(person, t, k)
        self.command = command = self.supervisor.step(t, DT, state, self.people, self.goal)
        speed = command.qd
        if self.torque:
            speed = state.qd + DT * PANDA.forward_dynamics(state.q, state.qd, command.tau)
        state.q[:] += speed * DT
        state.qd[:] = speed
        self.t += DT
        return PANDA.pose(state.q)[2, 3]


ROOM = (
    1e-3  # m: a row yields by a thousandth of what the wish lacks, at most a velocity limit or so; over the gain of 4
)


@pytest.mark.parametrize("law", ["K", "F"])
@pytest.mark.parametrize("people", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_arm_stays_within_a_limit_of_one_s_own(law, people):
    config = Config(controller=law, period=DT)
    free, _ = lifted(people=people, config=config)
    assert free > START[2] + 0.15  # without it the tool goes there
    held, supervisor = lifted([Ceiling(START[2] + 0.05)], people=people, config=config)
    assert START[2] + 0.045 < held < START[2] + 0.05 + ROOM
    assert supervisor.latched is None
    assert supervisor.command.status is Status.SLOWING_LIMIT
    assert "a limit of yours" in supervisor.command.reason


def test_of_several_the_nearest_decides_and_any_iterable_will_do():
    held, _ = lifted(Ceiling(START[2] + room) for room in (0.1, 0.04))
    assert START[2] + 0.035 < held < START[2] + 0.04 + ROOM


def test_a_limit_that_is_far_away_or_asks_for_nothing_changes_no_bit():
    """The command is that of a supervisor without it: rows that the wish does not violate change nothing."""
    _, plain = lifted(steps=100)
    for limit in (Ceiling(START[2] + 5.0), Nothing()):
        _, other = lifted([limit], steps=100)
        np.testing.assert_array_equal(plain.command.qd, other.command.qd)


class Nothing:
    """No limit here: a need of -inf."""

    def rows(self, model, frames, q):
        return [(np.eye(model.n)[0], -np.inf)]


def test_one_that_asks_for_nothing_stands_beside_one_that_holds():
    held, supervisor = lifted([Nothing(), Ceiling(START[2] + 0.05)])
    assert supervisor.latched is None
    assert held < START[2] + 0.05 + ROOM


@dataclass(frozen=True)
class Scaled:
    """The rows of another, in another unit."""

    inner: MotionLimit
    unit: float

    def rows(self, model, frames, q):
        return [(a * self.unit, need * self.unit) for a, need in self.inner.rows(model, frames, q)]


def test_the_unit_of_a_row_does_not_matter():
    limit = Ceiling(START[2] + 0.05)
    _, one = lifted([limit], steps=150)
    _, other = lifted([Scaled(limit, 1000.0)], steps=150)
    np.testing.assert_allclose(other.command.qd, one.command.qd, rtol=0, atol=1e-9)  # rounding, over 150 steps


@dataclass(frozen=True)
class Downwards:
    """Rows that ask the tool to go down at some speed, m/s, so many times over."""

    speed: float
    count: int = 1

    def rows(self, model, frames, q):
        tool = frames.point(model.n - 1, model.tool[:3, 3])
        up = jacobian_at(model, frames, model.n - 1, tool).Jv[2]
        return [(-(1.0 + 0.1 * k) * up, (1.0 + 0.1 * k) * self.speed) for k in range(self.count)]


def lowest(limits, floor):
    config = Config(period=DT, workspace=Workspace(floor=floor))
    controller = Controller(PANDA, config, people=1, person_capsules=1)
    supervisor = Supervisor(controller, Limits(), motion_limits=limits)
    cell = Drawn(controller, supervisor, Goal(START))
    return min(cell.step() for _ in range(300))


@pytest.mark.slow
def test_rows_of_one_s_own_do_not_crowd_out_the_floor():
    """They are solved for beside those of things and the floor; as many as there are, and in whatever unit."""
    floor = START[2] - 0.15
    one = lowest([Downwards(0.2)], floor)
    for limit in (Downwards(0.2, 4), Scaled(Downwards(0.2, 4), 1000.0)):
        assert lowest([limit], floor) > floor
    assert floor < one < START[2] - 0.1


def test_people_come_before_a_limit_of_one_s_own():
    """Pressed down towards a hand, the arm stops short of it, as fast as people allow and not as the limit asks."""
    hand = np.array([Capsule(START - (0.1, 0, 0.35), START - (-0.1, 0, 0.35), 0.05).row()])
    bare = lowest_beside(hand, separation=False)
    kept = lowest_beside(hand)
    assert kept > bare + 0.02  # the promise keeps it higher


def lowest_beside(hand, **settings):
    config = Config(period=DT, repulsion=Repulsion(gain=1e-6, max_strength=1e-6), waiting=None)  # no field helps
    limits = Limits(evasion_weight=1e-6, **settings)
    controller = Controller(PANDA, config, people=1, person_capsules=1)
    supervisor = Supervisor(controller, limits, motion_limits=[Downwards(0.3)])
    cell = Drawn(controller, supervisor, Goal(START), [hand])
    low = min(cell.step() for _ in range(100))
    assert supervisor.latched is None
    return low


class Root:
    """A row that is not a number where the first joint is below 0; else it asks for nothing."""

    def rows(self, model, frames, q):
        return [(np.eye(model.n)[0], sqrt(q[0]) - 1e6)]


@pytest.mark.parametrize("law", ["K", "F"])
def test_a_row_that_is_not_a_number_stops_the_arm_along_its_ramp(law):
    """In the middle of a motion, in the native cycle: a controlled stop, and the limit is named."""
    q = PANDA.ready.copy()
    q[0] = 0.1
    config = Config(controller=law, period=DT)
    controller = Controller(PANDA, config, people=1, person_capsules=1)
    supervisor = Supervisor(controller, Limits(), motion_limits=[Root()])
    turned = PANDA.pose(np.where(np.arange(7) == 0, -0.6, q))[:3, 3]
    cell = Drawn(controller, supervisor, Goal(turned), q=q)
    while supervisor.latched is None and cell.t < 5.0:
        before = cell.state.qd.copy()
        cell.step()
    assert supervisor.latched is Status.STOP_INTERNAL
    assert cell.command.reason == "motion_limits: the rows of Root are not finite"
    assert np.abs(before).max() > 0.1
    after = cell.state.qd
    assert np.abs(after).max() > 0.3 * np.abs(before).max()  # it runs down, not to zero at once
    for _ in range(100):
        cell.step()
    assert np.abs(cell.state.qd).max() < 1e-3
    assert supervisor.counters["exceptions"] == 0


class Wide:
    def rows(self, model, frames, q):
        return [(np.zeros(model.n + 1), 0.0)]


class Branching:
    """An `if` on a value, which cannot be traced."""

    def rows(self, model, frames, q):
        return [(np.ones(model.n), 0.0)] if q[0] < 1.0 else [(np.ones(model.n), 1.0)]


class Rows:
    """Gives what it is told to, to a call with so many arguments."""

    def __init__(self, given, takes=3):
        self.rows = (lambda model, frames, q: given) if takes == 3 else lambda model, frames: given


def test_what_is_no_limit_is_refused():
    def made(limits):
        return Supervisor(Controller(PANDA, Config(period=DT), people=1, person_capsules=1), motion_limits=limits)

    with pytest.raises(ConfigError, match=r"Wide.rows: expected pairs of a row \(7,\) and a number; got shapes \(8,\)"):
        made([Wide()])
    expected = r"motion_limits: expected a list of objects with `rows\(model, frames, q\)`"
    for wrong, shown in (
        (Ceiling(1.0), "; got Ceiling"),
        (None, "; got None"),
        ([3], r", but int has no rows\(model, frames, q\); got 3"),
        ([Ceiling], ", but Ceiling is a class, not an object of it; got <class"),
        ([Rows(None, takes=2)], ", but Rows.rows does not take model, frames, q; got <"),
    ):
        with pytest.raises(ConfigError, match=expected + shown):
            made(wrong)
    for wrong, shown in ((None, "None"), ([np.zeros(7)], r"array\(\[0"), ([(np.zeros(7), 0.0, 1.0)], r"\(array")):
        with pytest.raises(ConfigError, match=rf"Rows.rows: expected pairs of a row \(7,\) and a number; got {shown}"):
            made([Rows(wrong)])
    with pytest.raises(ConfigError, match=r"Rows.rows: expected pairs of a row \(7,\) and a number; got nan in"):
        made([Rows([(np.zeros(7), math.nan)])])
    with pytest.raises(ConfigError, match=r"Branching.rows: .*if"):
        made([Branching()])
    with pytest.raises(ConfigError, match="motion_limits: expected at most 16 rows together; got 17"):
        made([Downwards(0.1, 17)])
    with pytest.raises(ConfigError, match="motion_limits: expected a Controller of elbowroom's own"):
        Supervisor(Fake(), fast(), places=(1, 0, 2), motion_limits=[Ceiling(1.0)])
    assert isinstance(Ceiling(1.0), MotionLimit)


class Movable:
    """A ceiling whose height can be changed."""

    def __init__(self, height):
        self.height = height

    def rows(self, model, frames, q):
        return Ceiling(self.height).rows(model, frames, q)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copied", "pickled"])
def test_a_copy_holds_what_the_original_held_whatever_became_of_the_limit(copied):
    limit = Movable(START[2] + 0.05)
    controller = Controller(PANDA, Config(period=DT), people=1, person_capsules=1)
    supervisor = Supervisor(controller, Limits(), motion_limits=[limit])
    cell = Drawn(controller, supervisor, Goal(START + 0.2 * UP))
    for _ in range(20):
        cell.step()
    limit.height = START[2] + 5.0
    other = copied(supervisor)
    again = Drawn(other.controller, other, Goal(START + 0.2 * UP), q=cell.state.q)
    again.state.qd[:], again.t = cell.state.qd, cell.t
    for each in (cell, again):
        top = max(each.step() for _ in range(250))
        assert START[2] + 0.045 < top < START[2] + 0.05 + ROOM


def test_a_cell_holds_them_and_its_recording_says_so():
    scene = Scene(robot="panda", duration=2.0, supervision="stop", task=GoTo((0.0, 0.0, 0.2)))
    tops = []
    for limits in ((), (Ceiling(START[2] + 0.03),)):
        cell = Cell(scene, motion_limits=limits)
        table = run(cell).table()
        tops.append(table["tool_z"].max() - START[2])
        assert ("motion limits" in notes_of(cell)) == bool(limits)
    assert tops[0] > 0.1
    assert tops[1] < 0.03 + ROOM
    assert "Ceiling(height=" in notes_of(cell)["motion limits"]
    with pytest.raises(ConfigError, match='expected a scene with supervision = "stop", which holds them; got "off"'):
        Cell(Scene(robot="panda", duration=1.0, supervision="off"), motion_limits=[Ceiling(2.0)])
