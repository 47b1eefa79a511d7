"""A cell for tests of the supervisor: a controller that wants what it is told to, a person, and an arm that follows."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Command, Goal, Limits, Obstacles, Sensor, State, Status, Supervisor
from elbowroom.geometry import Capsule

PERIOD = 0.001
LOG = "elbowroom.avoidance"
ARM = er.load("planar2")  # two joints of 3 rad/s, 60 and 20 N m
PERSON = np.array([Capsule([5, 0, z], [5, 0, z + 0.5], 0.1).row() for z in (0.5, 1.0)])  # 2 capsules, far away
WALK = 1.6  # m/s
EXACT = {"sensor": Sensor.exact(PERIOD), "max_age": 0.1}  # s: a sensor of people without delay and without noise


def fast(**others):
    """Limits for a controller without a pair table, and people seen exactly."""
    return Limits(**EXACT | {"separation": False, "record": 1.0, "record_after": 0.1} | others)


class Fake:
    """Wants `wanted`, or `tau`; raises `error` if there is one."""

    def __init__(self, arm=ARM, *, torque=False):
        self.arm, self.makes_torque = arm, torque
        self.config = SimpleNamespace(period=PERIOD)
        self.wanted, self.tau = np.zeros(arm.n), np.zeros(arm.n)
        self.status, self.error = Status.OK, None
        self.command = Command(arm.n)
        self.resets = 0
        self.goal = self.rows = self.dt = None

    def step(self, t, dt, state, obstacles, goal):
        if self.error is not None:
            raise self.error
        self.goal, self.rows, self.dt = goal.position.copy(), obstacles.rows.copy(), dt
        self.command.qd[:], self.command.tau[:] = self.wanted, self.tau
        self.command.status, self.command.info[0] = self.status, 1.0
        return self.command

    def reset(self):
        self.resets += 1


class Panda:
    """A panda at 500 Hz under a real, supervised controller, on its way to a goal, with nobody there.

    `measured(state)` may change what is read of the arm, which follows its commands whatever is read.
    """

    PERIOD = 0.002

    def __init__(self, controller, limits=None):
        self.controller, self.arm = controller, controller.arm
        controller.reset()
        self.supervisor = Supervisor(controller, limits)
        self.q, self.qd, self.k = self.arm.ready.copy(), np.zeros(self.arm.n), 0
        self.state, self.obstacles = State(self.q), controller.obstacles()
        self.goal = Goal(self.arm.pose(self.arm.ready)[:3, 3] + [0.1, 0.4, 0.1])

    def cycle(self, cycles=1, measured=None):
        """The last command, a copy."""
        for _ in range(cycles):
            self.k += 1
            t, state = self.k * self.PERIOD, self.state
            self.obstacles.nobody(t)
            state.q[:], state.qd[:], state.t = self.q, self.qd, t
            if measured is not None:
                measured(state)
            command = self.supervisor.step(t, self.PERIOD, state, self.obstacles, self.goal)
            assert np.isfinite(command.qd).all()
            if command.status.stops:
                self.qd[:] = 0.0  # the drive's own brakes
            elif self.controller.makes_torque:
                self.qd += self.arm.forward_dynamics(self.q, self.qd, command.tau) * self.PERIOD
            else:
                self.qd[:] = command.qd
            self.q += self.qd * self.PERIOD
        return command.copy()

    def moving(self):
        """On its way, at 0.2 rad/s or more."""
        self.cycle(400)
        assert self.supervisor.latched is None, self.supervisor.reason
        assert np.abs(self.qd).max() > 0.2
        return self


class Cell:
    """One cycle after the other; `fault` may change what the supervisor gets, just before it gets it."""

    def __init__(self, controller=None, limits=None, *, places=(1, 0, 2), person=PERSON, **others):
        self.controller = Fake() if controller is None else controller
        limits = fast() if limits is None else limits
        if not hasattr(self.controller, "layout"):
            others["places"] = places
        self.supervisor = Supervisor(self.controller, limits, **others)
        self.arm = self.controller.arm
        self.state = State(self.arm.ready.copy())
        self.obstacles = Obstacles(*self.supervisor.watch.predicted.layout)
        self.goal = Goal(self.arm.pose(self.arm.ready)[:3, 3])
        self.person = person
        self.k = 0  # cycles; time is k periods to the last bit

    @property
    def t(self):
        return self.k * PERIOD

    def cycle(self, cycles=1, *, fault=None, see=True, late=0, follow=True, announced=None, dt=PERIOD):
        """Runs that many cycles, the first of them late by `late` periods; the last command, a copy.

        Without `follow` the arm is where the test puts it, which is announced unless told otherwise.
        """
        announced = not follow if announced is None else announced
        for _ in range(cycles):
            self.k += 1 + late
            late = 0
            t = self.t
            if see:
                for p in range(self.obstacles.people):
                    self.obstacles.see(self.person, t, p)
            self.state.t = t
            if fault is not None:
                t = fault(self) or t
            if announced:
                self.supervisor.state_checks.forget()
            command = self.supervisor.step(t, dt, self.state, self.obstacles, self.goal)
            assert_sane(self, command)
            if follow:
                self.state.q += command.qd * PERIOD
                self.state.qd[:] = command.qd
        return command.copy()

    def moving(self, wanted=(0.6, -0.3), cycles=200):
        """Brought to a steady motion."""
        self.controller.wanted[:] = wanted
        command = self.cycle(cycles)
        assert np.allclose(command.qd, wanted, rtol=0, atol=1e-15)
        assert command.status is Status.OK
        return command


def assert_sane(cell, command):
    """What holds for every command whatever happened: finite, within the velocity and effort limits."""
    for array in (command.qd, command.q, command.tau, command.tool_velocity):
        assert np.isfinite(array).all()
    bounds = cell.supervisor.bounds
    assert (np.abs(command.qd) <= bounds.velocity * (1 + 1e-12)).all()  # a scale rounds once
    assert (np.abs(command.tau) <= bounds.effort).all()


def lines(caplog, kind):
    """The log lines of a kind."""
    return [r for r in caplog.records if r.name == LOG and f": {kind}:" in r.getMessage()]


def assert_latched(cell, status, caplog, *, heal=None, wanted=(0.6, -0.3)):
    """The stop was told once, stays when its reason has gone, stands still, is kept on record, and ends by reset."""
    supervisor = cell.supervisor
    assert supervisor.latched is status
    told = lines(caplog, status)
    assert len(told) == 1, [r.getMessage() for r in caplog.records]
    assert told[0].levelno == logging.ERROR
    assert supervisor.reason in told[0].getMessage()
    assert supervisor.recorder.dump is not None
    assert str(status) in supervisor.recorder.dump.reason
    if heal is not None:
        heal(cell)
    command = cell.cycle(300)  # far longer than any ramp of these tests
    assert command.status is status
    assert supervisor.latched is status
    assert not command.qd.any()
    assert len(lines(caplog, status)) == 1
    assert supervisor.reset(cell.t)
    assert supervisor.latched is None
    cell.moving(wanted)
