"""Checks of joint states: the formulas on floats and compiled, and no stop for any honest motion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from supervising import ARM, PERIOD, Cell

import elbowroom as er
from elbowroom.avoidance import Limits, Status
from elbowroom.avoidance.safety.limits import bounds
from elbowroom.avoidance.safety.state_checks import CHECKS, StateChecks, checked
from elbowroom.errors import ConfigError
from strategies import examples

SCARA = er.load("scara")  # revolute and prismatic joints


def checks(limits=None, arm=ARM, torque=False):
    limits = Limits() if limits is None else limits
    given = np.zeros(arm.n)
    held = bounds(limits, arm, arm.model.lower, arm.model.upper)
    return StateChecks(arm, limits, held, given, torque=torque), given


# ---- formulas
@given(st.integers(0, 2**32 - 1), st.booleans())
@examples(50)
def test_floats_and_compiled_code_agree(seed, torque):
    rng = np.random.default_rng(seed)
    looked, given_speeds = checks(torque=torque)
    memory, t = np.zeros((4, 2)), 0.0
    for _ in range(20):
        h = float(rng.choice([0.0, 1e-3, 1e-2]))
        q, qd = rng.normal(size=2) * rng.choice([0.01, 1.0, 1e7]), rng.normal(size=2)
        given_speeds[:] = rng.normal(size=2) * 5.0
        rules = looked.rules.copy()
        rules[0] = h if t else -1.0
        expected = checked(torque, q, qd, given_speeds, memory, rules)
        t = t + h if t else 1.0
        stop = looked.look(t, q, qd)
        rules[0] = looked.rules[0]  # the difference of two stamps, not h itself
        expected = checked(torque, q, qd, given_speeds, memory, rules)
        memory = np.array(expected["memory"], dtype=float)
        # fused steps round less often; positions up to 1e7
        assert np.allclose(looked.memory, memory, rtol=1e-12, atol=1e-12)
        assert (stop is None) == (not expected["found"][0] > 0.0)


@pytest.mark.parametrize("off, stops", [(0.0499, False), (0.0501, True), (-0.0499, False), (-0.0501, True)])
@pytest.mark.parametrize("arm", [ARM, SCARA])
def test_a_jump_is_measured_from_where_the_speed_leads(arm, off, stops):
    """A joint at 1 rad/s or m/s: a hundredth in 10 ms is its way, and what is more is a jump."""
    for joint in range(arm.n):
        looked, _ = checks(arm=arm)
        q, qd, step = arm.ready.copy(), np.zeros(arm.n), np.zeros(arm.n)
        qd[joint] = step[joint] = 1.0
        assert looked.look(5.0, q, qd) is None
        a = looked.rules[4 + 2 * arm.n + joint]
        slack = math.copysign(0.5 * a * 0.01**2, off)  # what braking may have changed between two readings
        found = looked.look(5.01, q + step * (0.01 + off + slack), qd)
        assert (found is Status.STOP_STATE_INVALID) == stops
        if stops:
            assert arm.joint_names[joint] in looked.reason
            assert (" rad " if arm.model.revolute(joint) else " m ") in looked.reason


def test_between_two_speeds_any_way_is_possible():
    looked, _ = checks()
    q, way = ARM.ready, np.array([0.3, 0.0])
    assert looked.look(1.0, q, np.array([3.0, 0.0])) is None
    assert looked.look(1.1, q + way, np.zeros(2)) is None  # braked at the last moment
    looked.forget()
    assert looked.look(1.2, q, np.array([3.0, 0.0])) is None
    assert looked.look(1.3, q, np.zeros(2)) is None  # at the first


def test_the_first_reading_is_believed_wherever_a_joint_can_be():
    looked, _ = checks()
    assert looked.look(100.0, ARM.model.upper.copy(), np.zeros(2)) is None
    looked.forget()
    assert looked.look(100.001, ARM.model.lower.copy(), np.zeros(2)) is None


def test_stamps_without_sense_give_no_motion_to_compare_with():
    looked, _ = checks()
    assert looked.look(1.0, ARM.ready, np.zeros(2)) is None
    for stamp in (math.nan, math.inf, -5.0, 1e9):  # each is a stop of timing's
        assert looked.look(stamp, ARM.ready + 1.0, np.zeros(2)) is None


@pytest.mark.parametrize("name", CHECKS)
def test_the_settings_are_what_counts(name):
    """Each fault is none where its setting is wide enough."""
    faults = {
        "position_jump": lambda c: c.state.q.__setitem__(0, c.state.q[0] + 0.06 * (c.k % 2)),
        "limit_excess": lambda c: c.state.q.__setitem__(0, ARM.model.upper[0] + 0.15),
        "following_error": lambda c: None,
    }
    for wide in (False, True):
        limits = Limits(separation=False, **{name: 0.2} if wide else {})
        cell = Cell(limits=limits)
        cell.controller.wanted[1] = 0.5
        if name == "limit_excess":
            cell.state.q[0] = ARM.model.upper[0] + 0.15
        cycles = 250 if name == "following_error" else 20
        q = cell.state.q.copy()
        for _ in range(cycles):
            cell.state.q[:] = q
            cell.cycle(fault=faults[name], follow=False, announced=name == "limit_excess")
        assert (cell.supervisor.latched is None) == wide, cell.supervisor.reason


@pytest.mark.parametrize(
    "name, value",
    [
        ("position_jump", 0.0),
        ("position_jump", 2.0),
        ("limit_excess", -0.1),
        ("following_error", 0.0),
        ("following_error", math.nan),
        ("encoder_noise", -1e-3),
        ("encoder_noise", 0.03),
    ],
)
def test_settings_that_would_switch_it_off_are_refused(name, value):
    with pytest.raises(ConfigError, match=f"Limits: {name}: expected a (finite )?number [>=]+ "):
        Limits(**{name: value})


# ---- honest motions
def wanted_speeds(t):
    """Two joints that start, reverse and stop, at up to 3 rad/s."""
    wave = 3.0 * np.sin(2.0 * np.pi * t) if t < 2.0 else 0.0
    return np.array([wave, math.copysign(1.5, math.sin(5.0 * t)) if t < 2.5 else 0.01])


class Drive:
    """Follows commands late: by a dead time and by a first-order lag (s); exactly between two readings."""

    def __init__(self, dead, lag):
        self.dead, self.lag, self.queue = dead, lag, []
        self.q, self.qd = ARM.ready.copy(), np.zeros(2)

    def advance(self, t, command, dt, steps=8):
        self.queue.append((t + self.dead, command.copy()))
        h = dt / steps
        for k in range(steps):
            while len(self.queue) > 1 and self.queue[1][0] <= t + k * h:
                self.queue.pop(0)
            asked = self.queue[0][1] if self.queue[0][0] <= t + k * h else np.zeros(2)
            before = self.qd.copy()
            self.qd += (asked - self.qd) * (1.0 - math.exp(-h / self.lag) if self.lag else 1.0)
            self.q += 0.5 * (before + self.qd) * h if self.lag else self.qd * h


@pytest.mark.parametrize("rate", [100, 250, 500, 1000])
@pytest.mark.parametrize(
    "drive, noise, quantum, jitter, smooth",
    [
        ((0.0, 0.0), 0.0, 0.0, 0.0, 0.0),
        ((0.0, 0.03), 0.0, 0.0, 0.0, 0.0),
        ((0.04, 0.01), 0.0, 0.0, 0.0, 0.0),  # as late as Limits.latency says
        ((0.0, 0.0), 1e-3, 0.0, 0.0, 0.0),
        ((0.0, 0.0), 0.0, 5e-3, 0.0, 0.0),  # 1257 counts a turn
        ((0.0, 0.0), 0.0, 0.0, 0.3, 0.0),
        ((0.0, 0.0), 0.0, 0.0, 0.0, 0.03),  # speeds that are filtered, and so 30 ms old
        ((0.02, 0.02), 5e-4, 1e-3, 0.3, 0.01),  # all of it
    ],
)
def test_no_honest_arm_is_stopped(rate, drive, noise, quantum, jitter, smooth):
    period = 1.0 / rate
    limits = Limits(separation=False, record=0.1, record_after=0.05, period=period)
    cell = Cell(limits=limits)
    supervisor, state, rng = cell.supervisor, cell.state, np.random.default_rng(rate)
    arm, filtered, t = Drive(*drive), np.zeros(2), 0.0
    travelled = 0.0
    for k in range(1, 3 * rate):
        last, t = t, k * period + jitter * period * rng.uniform(-0.5, 0.5)
        if k > 1:
            before = arm.q.copy()
            arm.advance(last, supervisor.command.qd, t - last)
            travelled += np.abs(arm.q - before).max()
        q = arm.q + rng.uniform(-noise, noise, 2)
        state.q[:] = quantum * np.round(q / quantum) if quantum else q
        filtered += (arm.qd - filtered) * (1.0 - math.exp(-period / smooth) if smooth else 1.0)
        state.qd[:], state.t = filtered, t
        cell.obstacles.see(cell.person, t)
        cell.controller.wanted[:] = wanted_speeds(t)
        supervisor.step(t, period, state, cell.obstacles, cell.goal)
        assert supervisor.latched is None, supervisor.reason
    assert travelled > 2.0  # it did move


@pytest.mark.parametrize("acceleration", [10.0, 20.0, 50.0])
def test_a_drive_as_late_as_stated_may_accelerate_as_stated(acceleration):
    """All that it owes is on its way: a latency^2 of it."""
    period = 0.002
    cell = Cell(limits=Limits(separation=False, period=period, acceleration=acceleration))
    supervisor, state, arm, t = cell.supervisor, cell.state, Drive(cell.supervisor.limits.latency, 0.0), 0.0
    for k in range(1, 1000):
        last, t = t, k * period
        if k > 1:
            arm.advance(last, supervisor.command.qd, t - last)
        state.q[:], state.qd[:], state.t = arm.q, arm.qd, t
        cell.obstacles.see(cell.person, t)
        cell.controller.wanted[:] = wanted_speeds(t)
        supervisor.step(t, period, state, cell.obstacles, cell.goal)
        assert supervisor.latched is None, supervisor.reason


def test_late_cycles_and_repeated_states_are_no_jumps():
    cell = Cell(limits=Limits(separation=False, max_overruns=1000))
    rng = np.random.default_rng(3)
    cell.controller.wanted[:] = 2.0, -1.0
    for k in range(600):
        late = int(rng.choice([0, 0, 0, 3, 10]))
        cell.state.q += cell.supervisor.command.qd * late * PERIOD
        cell.cycle(late=late)
        if k % 100 == 99:
            cell.controller.wanted *= -1.0
        assert cell.supervisor.latched is None, cell.supervisor.reason


def test_a_reading_that_serves_several_cycles():
    """Readings come every fourth cycle, with their own stamps, while commands come in every one."""
    cell = Cell()
    cell.controller.wanted[:] = 2.0, -1.0
    q = cell.state.q.copy()
    for k in range(1, 2000):
        t = k * PERIOD
        if k % 4 == 1:
            cell.state.q[:], cell.state.qd[:], cell.state.t = q, cell.supervisor.command.qd, t
        cell.obstacles.see(cell.person, t)
        command = cell.supervisor.step(t, PERIOD, cell.state, cell.obstacles, cell.goal)
        assert cell.supervisor.latched is None, cell.supervisor.reason
        q += command.qd * PERIOD
        if k % 500 == 0:
            cell.controller.wanted *= -1.0
