"""The fault matrix, a class a row: reaction, latency in cycles, latch, status, log line."""

from __future__ import annotations

import copy
import dataclasses
import logging
import math
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from supervising import ARM, LOG, PERIOD, PERSON, WALK, Cell, Fake, Panda, assert_latched, fast, lines

import elbowroom as er
from elbowroom.avoidance import Config, Contact, Controller, Force, Goal, Limits, Obstacles, State, Status, Supervisor
from elbowroom.avoidance import settings as tables
from elbowroom.avoidance.control.repulsion import Repulsion
from elbowroom.avoidance.safety.filter.stages import SUMMARY
from elbowroom.avoidance.safety.sensor import AGE_FALLS
from elbowroom.avoidance.safety.stop import WAITING
from elbowroom.errors import ConfigError, ModelError
from elbowroom.geometry import PARKED, Sphere
from strategies import examples

NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level(logging.INFO, logger=LOG)


def radii(cell):
    """Of the bodies that the promise is made for."""
    return cell.supervisor.watch.believed[:, 6]


def across(a, b):
    """The area that two plane vectors span: zero if one is along the other."""
    return a[0] * b[1] - a[1] * b[0]


def ramp_of(cell, before, cycles=100):
    """Runs a stop down: along its direction, at the deceleration of a stop, to exactly zero.  How many cycles."""
    most = cell.supervisor.bounds.acceleration * cell.supervisor.limits.stop_factor * PERIOD
    last = before
    for k in range(cycles):
        command = cell.cycle(see=False)
        step = last - command.qd
        assert (np.abs(step) <= most * (1 + 1e-9)).all()  # rounding of one product
        assert abs(across(before, command.qd)) <= 1e-12 * (before @ before)
        if not command.qd.any():
            return k + 1
        last = command.qd
    raise AssertionError("the arm does not come to rest")


class TestF1:
    """Human data older than the limit: the person grows by 1.6 m/s x age until 100 ms, then STOP_HUMAN_STALE.

    Before the first data of a person the arm waits.
    """

    def test_growth_then_a_controlled_stop(self, caplog):
        cell = Cell()
        before = cell.moving().qd
        for k in range(1, 100):
            command = cell.cycle(see=False)
            assert command.status is Status.OK
            assert np.allclose(radii(cell), 0.1 + WALK * k * PERIOD, rtol=0, atol=1e-12)  # sums of numbers of order 1
            assert np.array_equal(cell.controller.rows, PERSON)  # who stands: what the controller sees does not grow
        cycles = 0
        while cell.cycle(see=False).status is Status.OK:
            cycles += 1
        assert cycles <= 1  # latency: the cycle in which the age passes 0.1 s, give or take its rounding
        assert cell.supervisor.latched is Status.STOP_HUMAN_STALE
        first = cell.supervisor.command.qd
        assert np.linalg.norm(first) < np.linalg.norm(before)  # it brakes in that very cycle
        assert ramp_of(cell, first.copy()) == 39  # 0.6 rad/s at 1.5 x 10 rad/s^2 takes 40 cycles, one is gone
        assert_latched(cell, Status.STOP_HUMAN_STALE, caplog)

    def test_the_callers_obstacles_are_never_touched(self):
        cell = Cell()
        cell.cycle(5)
        cell.cycle(30, see=False)
        assert np.array_equal(cell.obstacles.rows, PERSON)

    def test_who_moves_faster_than_walking_grows_faster(self):
        person = PERSON.copy()
        person[0, 7:10] = 0, 3.0, 0
        cell = Cell(person=person)
        cell.cycle(5)
        cell.cycle(50, see=False)
        assert np.allclose(radii(cell), [0.1 + 3.0 * 0.05, 0.1 + WALK * 0.05], rtol=0, atol=1e-12)

    def test_growth_falls_back_slowly_when_the_sensor_is_back(self):
        """At once would be a step in what the arm may do, with every frame that comes."""
        cell = Cell()
        cell.moving()
        cell.cycle(50, see=False)
        held = 50 * PERIOD
        for _ in range(100):
            cell.cycle()
            held *= 1.0 - AGE_FALLS * PERIOD
            # a hundred products, and stamps of order 1
            assert np.allclose(radii(cell), 0.1 + WALK * held, rtol=0, atol=1e-12)
        assert 0.0 < held < 0.7 * 50 * PERIOD
        assert np.array_equal(cell.controller.rows, PERSON)

    def test_the_controller_sees_where_people_are_by_now(self):
        """Last seen at x, at 0.8 m/s: what is believed stays there and grows, what is predicted goes on, as it is."""
        speed = np.array([0.0, 0.8, 0.0])
        cell = Cell()
        for _ in range(20):
            cell.person = PERSON.copy()
            cell.person[:, :6] += np.tile(speed * (cell.t + PERIOD), 2)
            cell.person[:, 7:] = np.tile(speed, 2)
            cell.cycle()
        for k in range(1, 99):
            cell.cycle(see=False)
            # stamps of order 1, and gains of the filter that are 1 but for rounding
            assert np.allclose(cell.supervisor.watch.believed[:, :6], cell.person[:, :6], rtol=0, atol=1e-12)
            assert np.allclose(radii(cell), 0.1 + WALK * k * PERIOD, rtol=0, atol=1e-12)
            there = cell.person[:, :6] + np.tile(speed, 2) * k * PERIOD
            assert np.allclose(cell.controller.rows[:, :6], there, rtol=0, atol=1e-12)
            assert np.array_equal(cell.controller.rows[:, 6], PERSON[:, 6])

    def test_before_the_first_data_the_arm_waits(self, caplog):
        """No data does not mean that nobody is there; but a sensor that starts later than the arm is no fault."""
        cell = Cell()
        cell.controller.wanted[:] = 1.0
        for _ in range(400):  # far longer than data may be old
            command = cell.cycle(see=False)
            assert command.status is Status.SLOWING_HUMAN
            assert command.reason == WAITING
            assert not command.qd.any()
        assert cell.supervisor.latched is None
        assert len(lines(caplog, "SLOWING_HUMAN")) == 1
        assert cell.cycle().qd.all()
        cell.cycle(102, see=False)
        assert cell.supervisor.latched is Status.STOP_HUMAN_STALE  # but from then on silence is one

    def test_the_arm_waits_for_each_of_two_people(self):
        cell = Cell(places=(2, 0, 2))
        cell.controller.wanted[:] = 1.0
        for _ in range(200):
            command = cell.cycle(see=False, fault=lambda c: c.obstacles.see(PERSON, c.t, 1))
            assert command.reason == WAITING
            assert not command.qd.any()
        assert cell.cycle().qd.all()

    def test_who_was_never_seen_does_not_hide_who_is_lost(self, caplog):
        cell = Cell(places=(2, 0, 2))
        cell.cycle(5, see=False, fault=lambda c: c.obstacles.see(PERSON, c.t, 1))
        cell.cycle(102, see=False)
        assert "person 1" in cell.supervisor.reason
        assert_latched(cell, Status.STOP_HUMAN_STALE, caplog)

    def test_a_cell_without_room_for_people_needs_no_data(self):
        cell = Cell(places=(0, 1, 1))
        assert cell.cycle(see=False).status is Status.OK
        cell.moving()

    def test_each_of_two_people_must_be_seen(self):
        cell = Cell(places=(2, 0, 2))
        cell.moving()

        def only_the_first(c):
            c.obstacles.see(PERSON, c.t, 0)

        cell.cycle(99, see=False, fault=only_the_first)
        assert cell.supervisor.latched is None
        cell.cycle(2, see=False, fault=only_the_first)
        assert cell.supervisor.latched is Status.STOP_HUMAN_STALE
        assert "person 1" in cell.supervisor.reason

    def test_reset_is_refused_while_the_data_is_old(self, caplog):
        cell = Cell()
        cell.moving()
        cell.cycle(300, see=False)
        assert not cell.supervisor.reset(cell.t)
        assert not cell.supervisor.reset(cell.t)
        assert len(lines(caplog, "resets_refused")) == 2  # whoever pressed the button is told, each time
        assert cell.supervisor.counters["resets_refused"] == 2
        cell.cycle()
        assert cell.supervisor.latched  # a refused reset is not remembered
        assert cell.supervisor.reset(cell.t)

    def test_data_from_the_future_is_no_data(self):
        cell = Cell()
        cell.moving()

        def ahead(c):
            c.obstacles.see(PERSON, c.t + 0.05)

        cell.cycle(99, see=False, fault=ahead)
        assert cell.supervisor.latched is None  # the last good frame still does
        assert cell.supervisor.counters["rejected_frames"] == 99
        cell.cycle(3, see=False, fault=ahead)
        assert cell.supervisor.latched is Status.STOP_HUMAN_STALE


class TestF2:
    """Nobody right after somebody: stale, not gone, until reports have been consistent for 0.5 s."""

    @staticmethod
    def gone(c):
        c.obstacles.nobody(c.t)

    def test_kept_and_growing_until_confirmed(self, caplog):
        cell = Cell()
        cell.moving()
        for k in range(1, 500):
            assert cell.cycle(see=False, fault=self.gone).status is Status.OK  # no stop: the sensor is alive
            believed = cell.supervisor.watch.believed
            assert np.array_equal(believed[:, :6], PERSON[:, :6])
            assert np.allclose(believed[:, 6], 0.1 + WALK * k * PERIOD, rtol=0, atol=1e-12)
            assert np.array_equal(cell.controller.rows, PERSON)  # where they were, and no thicker
        assert len(lines(caplog, "lost")) == 1
        assert cell.supervisor.counters["lost"] == 499
        cell.cycle(3, see=False, fault=self.gone)
        for rows in (cell.supervisor.watch.believed, cell.controller.rows):
            assert np.array_equal(rows, np.tile(PARKED, (2, 1)))
        assert cell.supervisor.watch.predicted.counts[0] == 0
        cell.cycle(1000, see=False, fault=self.gone)
        assert cell.supervisor.latched is None  # nobody is data, as long as it keeps coming

    def test_silence_meanwhile_is_stale(self, caplog):
        cell = Cell()
        cell.moving()
        cell.cycle(200, see=False, fault=self.gone)
        cell.cycle(102, see=False)
        assert_latched(cell, Status.STOP_HUMAN_STALE, caplog)

    def test_silence_after_it_is_stale_too(self):
        cell = Cell()
        cell.cycle(5)
        cell.cycle(600, see=False, fault=self.gone)
        cell.cycle(102, see=False)
        assert cell.supervisor.latched is Status.STOP_HUMAN_STALE

    def test_seen_again_starts_anew(self):
        cell = Cell()
        cell.cycle(5)
        cell.cycle(400, see=False, fault=self.gone)
        cell.cycle(1)
        assert np.array_equal(cell.supervisor.watch.believed, PERSON)
        cell.cycle(499, see=False, fault=self.gone)
        assert cell.supervisor.watch.believed[0, 0] == 5.0

    def test_a_hand_that_is_lost_is_kept_while_the_rest_is_seen(self):
        cell = Cell()
        cell.cycle(5)

        def without_the_second(c):
            c.obstacles.see(PERSON[:1], c.t)

        cell.cycle(300, see=False, fault=without_the_second)
        believed = cell.supervisor.watch.believed
        assert np.array_equal(believed[0], PERSON[0])
        assert np.array_equal(believed[1, :6], PERSON[1, :6])
        assert believed[1, 6] == pytest.approx(0.1 + WALK * 0.3, abs=1e-12)
        cell.cycle(210, see=False, fault=without_the_second)
        assert np.array_equal(cell.supervisor.watch.believed[1], PARKED)

    def test_before_anybody_was_seen_the_arm_waits(self, caplog):
        cell = Cell()
        cell.controller.wanted[:] = 1.0
        for _ in range(500):
            command = cell.cycle(see=False, fault=self.gone)
            assert command.status is Status.SLOWING_HUMAN
            assert not command.qd.any()
        assert len(lines(caplog, "SLOWING_HUMAN")) == 1
        cell.cycle(200, see=False, fault=self.gone)
        assert cell.supervisor.latched is None
        assert cell.supervisor.command.qd.all()

    def test_somebody_ends_the_waiting_at_once(self):
        cell = Cell()
        cell.controller.wanted[:] = 1.0
        cell.cycle(10, see=False, fault=self.gone)
        assert cell.cycle().qd.all()


class TestF3:
    """NaN or Inf in a human pose or radius: the frame is refused and counts as missing."""

    @pytest.mark.parametrize(
        "where, value", [((0, 0), NAN), ((1, 4), INF), ((0, 6), NAN), ((1, 6), -0.01), ((1, 12), -INF), ((0, 2), 1e8)]
    )
    def test_the_last_good_frame_stays_and_ages(self, where, value, caplog):
        cell = Cell()
        cell.moving()

        def spoil(c):
            c.obstacles.rows[where] = value

        for k in range(1, 99):
            command = cell.cycle(fault=spoil)
            believed = cell.supervisor.watch.believed
            assert command.status is Status.OK
            assert np.array_equal(believed[:, :6], PERSON[:, :6])
            assert np.allclose(believed[:, 6], 0.1 + WALK * k * PERIOD, rtol=0, atol=1e-12)
        assert cell.supervisor.counters["rejected_frames"] == 98
        assert len(lines(caplog, "rejected_frames")) == 1
        cell.cycle(3, fault=spoil)
        assert_latched(cell, Status.STOP_HUMAN_STALE, caplog)

    def test_a_good_frame_makes_up_for_it(self):
        cell = Cell()
        cell.moving()
        for _ in range(5):
            cell.cycle(60, fault=lambda c: c.obstacles.rows.__setitem__((0, 0), NAN))
            cell.cycle()
        assert cell.supervisor.latched is None
        believed = cell.supervisor.watch.believed
        assert np.array_equal(believed[:, :6], PERSON[:, :6])
        assert (believed[:, 6] < 0.1 + WALK * 60 * PERIOD).all()  # it grows no longer
        assert np.array_equal(cell.controller.rows, PERSON)

    def test_a_bad_frame_is_counted_once_however_long_it_lies_there(self):
        cell = Cell()
        cell.moving()
        cell.cycle(fault=lambda c: c.obstacles.rows.__setitem__((0, 0), NAN))
        cell.cycle(50, see=False)
        assert cell.supervisor.counters["rejected_frames"] == 1

    def test_one_bad_person_does_not_age_the_other(self):
        cell = Cell(places=(2, 0, 2))
        cell.moving()
        cell.cycle(50, fault=lambda c: c.obstacles.rows.__setitem__((3, 0), NAN))
        assert np.array_equal(radii(cell)[:2], [0.1, 0.1])
        assert np.allclose(radii(cell)[2:], 0.1 + WALK * 0.05, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("stamp", [NAN, INF])
    def test_a_stamp_that_is_no_time(self, stamp, caplog):
        cell = Cell()
        cell.moving()
        cell.cycle(102, fault=lambda c: c.obstacles.stamps.fill(stamp))
        assert len(lines(caplog, "rejected_frames")) == 1
        assert_latched(cell, Status.STOP_HUMAN_STALE, caplog)

    def test_a_stamp_older_than_the_last_is_refused(self):
        cell = Cell()
        cell.moving()
        cell.cycle(fault=lambda c: c.obstacles.see(PERSON + 1.0, c.t - 0.5))
        assert np.array_equal(cell.supervisor.watch.believed[:, :6], PERSON[:, :6])
        assert cell.supervisor.counters["rejected_frames"] == 1

    def test_things_keep_their_last_place_and_then_stop_the_arm(self, caplog):
        cell = Cell(places=(1, 1, 2))
        cell.obstacles.put(Sphere([0, 2, 0], 0.2))
        cell.moving()
        spoil = lambda c: c.obstacles.rows.__setitem__((2, 0), NAN)  # noqa: E731
        cell.cycle(99, fault=spoil)
        assert np.array_equal(cell.controller.rows[2, :7], [0, 2, 0, 0, 2, 0, 0.2])
        assert len(lines(caplog, "rejected_things")) == 1
        cell.cycle(3, fault=spoil)
        assert cell.supervisor.latched is Status.STOP_HUMAN_STALE
        assert "things" in cell.supervisor.reason

    def test_a_thing_that_is_right_again_is_used_again(self):
        cell = Cell(places=(1, 1, 2))
        cell.obstacles.put(Sphere([0, 2, 0], 0.2))
        cell.moving()
        cell.cycle(50, fault=lambda c: c.obstacles.rows.__setitem__((2, 0), NAN))
        cell.obstacles.put(Sphere([0, 3, 0], 0.2))
        cell.cycle(200)
        assert cell.supervisor.latched is None
        assert cell.controller.rows[2, 1] == 3.0


def inside(point, row, slack=1e-12):
    """Whether a point is in a capsule; the slack is rounding of numbers of order one."""
    a, b = row[:3], row[3:6]
    s = b - a
    x = 0.0 if not s.any() else float(np.clip((point - a) @ s / (s @ s), 0, 1))
    return np.linalg.norm(point - a - x * s) <= row[6] + slack


def surface(row, rng, count=40):
    """Points on a capsule's surface."""
    at = row[:3] + rng.uniform(0, 1, (count, 1)) * (row[3:6] - row[:3])
    out = rng.normal(size=(count, 3))
    return at + row[6] * out / np.linalg.norm(out, axis=1, keepdims=True)


class TestF4:
    """An impossible jump of a human point: old and new place are both kept, and it is told."""

    def test_a_jump_is_covered_and_let_go(self, caplog):
        cell = Cell()
        cell.moving()
        moved = PERSON.copy()
        moved[0, [1, 4]] += 2.0  # 2 m in a millisecond
        cell.person = moved
        cell.cycle()
        assert cell.supervisor.counters["jumps"] == 1
        assert len(lines(caplog, "jumps")) == 1
        assert radii(cell)[0] == pytest.approx(2.1, abs=1e-12)
        assert radii(cell)[1] == 0.1
        cell.cycle(498)
        assert radii(cell)[0] == pytest.approx(2.1, abs=1e-12)
        cell.cycle(3)  # 0.5 s of consistent frames
        assert radii(cell)[0] == 0.1
        assert cell.supervisor.latched is None
        assert len(lines(caplog, "jumps")) == 1

    @given(st.integers(0, 2**32 - 1))
    @examples(30)
    def test_old_and_new_are_both_inside(self, seed):
        rng = np.random.default_rng(seed)
        old = np.r_[rng.normal(size=6), rng.uniform(0.02, 0.3), np.zeros(6)]
        new = np.r_[rng.normal(size=6) * 2, rng.uniform(0.02, 0.3), np.zeros(6)]
        cell = cell4()
        cell.obstacles.nobody(cell.t)
        cell.cycle(520, see=False, fault=lambda c: c.obstacles.nobody(c.t))  # whoever was here before is gone
        cell.person = old[None]
        cell.cycle()
        cell.person = new[None]
        cell.cycle()
        believed = cell.supervisor.watch.believed[0]
        assert all(inside(p, believed) for row in (old, new) for p in surface(row, rng))

    def test_a_thick_one_that_jumps_and_turns_out_thin(self):
        cell = Cell(places=(1, 0, 1), person=Sphere([2, 0, 0], 0.3).row()[None])
        cell.moving()
        cell.person = Sphere([3, 0, 0], 0.02).row()[None]
        cell.cycle()
        assert radii(cell)[0] == pytest.approx(1.3, abs=1e-12)  # to the far side of the old one

    def test_ends_that_swap_are_no_jump(self):
        cell = Cell()
        cell.moving()
        cell.person = PERSON[:, [3, 4, 5, 0, 1, 2, *range(6, 13)]].copy()
        cell.cycle()
        assert cell.supervisor.counters["jumps"] == 0

    def test_what_people_can_do_is_no_jump(self):
        cell = Cell()
        cell.moving()
        for _ in range(100):
            cell.person = cell.person.copy()
            cell.person[:, [0, 3]] -= 9.0 * PERIOD
            cell.cycle()
        assert cell.supervisor.counters["jumps"] == 0
        assert np.array_equal(radii(cell), [0.1, 0.1])

    def test_a_walk_after_a_jump_keeps_the_first_place_inside(self):
        cell = Cell()
        cell.moving()
        away = PERSON.copy()
        away[:, [1, 4]] += 3.0
        for _ in range(100):
            away = away.copy()
            away[:, [1, 4]] += 1.5 * PERIOD
            cell.person = away
            cell.cycle()
        assert cell.supervisor.counters["jumps"] == 1
        rng = np.random.default_rng(0)
        for old, now in zip(PERSON, cell.supervisor.watch.believed, strict=True):
            assert all(inside(p, now) for p in surface(old, rng))


@cache
def cell4():
    return Cell(places=(1, 0, 1), person=PERSON[:1])


class TestF5:
    """NaN or Inf in q or qd: STOP_STATE_INVALID in the same cycle, output finite and zero."""

    @pytest.mark.parametrize("name", ["q", "qd"])
    @pytest.mark.parametrize("value", [NAN, INF, -INF])
    def test_the_same_cycle(self, name, value, caplog):
        cell = Cell()
        cell.moving()
        before = cell.state.q.copy()

        def spoil(c):
            getattr(c.state, name)[1] = value

        command = cell.cycle(fault=spoil, follow=False)
        assert command.status is Status.STOP_STATE_INVALID
        assert not command.qd.any()
        assert not command.tau.any()
        assert not command.tool_velocity.any()
        assert np.allclose(command.q, before, rtol=0, atol=1e-3 * PERIOD * 1e3)  # where it was a cycle ago

        def heal(c):
            c.state.q[:], c.state.qd[:] = before, 0.0

        assert not cell.supervisor.reset(cell.t)
        assert_latched(cell, Status.STOP_STATE_INVALID, caplog, heal=heal)

    @pytest.mark.parametrize("q", [np.zeros(3), [0.1, "x"], None, np.array([1 + 1j, 0])])
    def test_a_state_of_another_kind(self, q):
        cell = Cell()
        cell.moving()

        def spoil(c):
            c.state.q = q

        command = cell.cycle(fault=spoil, follow=False)
        assert command.status is Status.STOP_STATE_INVALID
        assert not command.qd.any()

    def test_it_outranks_a_stop_that_is_running_down(self, caplog):
        cell = Cell()
        cell.moving()
        cell.supervisor.stop("lunch")
        assert cell.cycle().qd.any()
        command = cell.cycle(fault=lambda c: c.state.q.__setitem__(0, NAN), follow=False)
        assert command.status is Status.STOP_STATE_INVALID
        assert not command.qd.any()
        assert len(lines(caplog, "STOP_INTERNAL")) == len(lines(caplog, "STOP_STATE_INVALID")) == 1

    def test_an_arm_with_torque_gets_none(self):
        cell = Cell(Fake(torque=True))
        cell.controller.tau[:] = ARM.gravity_torque(ARM.ready)
        assert cell.cycle(follow=False).tau.any()
        command = cell.cycle(fault=lambda c: c.state.q.__setitem__(0, NAN), follow=False)
        assert not command.tau.any()
        cell.state.q[:] = ARM.ready
        assert not cell.cycle(follow=False).tau.any()  # and none by itself afterwards: the brakes have it


class TestF6:
    """A robot state that is stale or repeated, time that runs back or steps: STOP_STATE_STALE, at once to zero."""

    @pytest.mark.parametrize(
        "what, fault, latency",
        [
            ("state too old", lambda c: setattr(c.state, "t", c.t - 0.03), 1),
            ("state from the future", lambda c: setattr(c.state, "t", c.t + 0.02), 1),
            ("state not a time", lambda c: setattr(c.state, "t", NAN), 1),
            ("state older than the last", lambda c: setattr(c.state, "t", c.t - 0.005), 1),
            ("state repeated", lambda c: setattr(c.state, "t", c.frozen), 6),
            ("time runs back", lambda c: c.t - 0.01, 1),
            ("time is no number", lambda c: NAN, 1),
            ("time is infinite", lambda c: INF, 1),
            ("time stands", lambda c: c.frozen, 6),
        ],
    )
    def test_stops(self, what, fault, latency, caplog):
        cell = Cell()
        cell.moving()
        cell.frozen = cell.t
        for k in range(1, latency + 1):
            command = cell.cycle(fault=fault)
            assert (command.status is Status.STOP_STATE_STALE) == (k == latency), k
        assert not command.qd.any()
        assert not cell.supervisor.reset(cell.t)
        cell.k += 1
        assert_latched(cell, Status.STOP_STATE_STALE, caplog)

    def test_a_state_may_be_repeated_a_few_times(self):
        cell = Cell()
        cell.moving()
        for _ in range(20):
            cell.frozen = cell.t
            cell.cycle(5, fault=lambda c: setattr(c.state, "t", c.frozen))
            cell.cycle()
        assert cell.supervisor.latched is None

    def test_a_clock_that_steps_forward(self, caplog):
        cell = Cell()
        cell.moving()
        command = cell.cycle(late=2000)
        assert command.status is Status.STOP_STATE_STALE
        assert "stepped by 2.001 s" in cell.supervisor.reason
        assert not command.qd.any()
        assert_latched(cell, Status.STOP_STATE_STALE, caplog)

    def test_after_a_step_back_people_must_be_seen_anew(self):
        cell = Cell()
        cell.moving()
        cell.k -= 150  # the clock of all goes back: stamps from before are from the future now
        cell.cycle(see=False)
        assert cell.supervisor.latched is Status.STOP_STATE_STALE
        cell.cycle(see=False)
        assert np.array_equal(cell.supervisor.watch.believed[:, :6], PERSON[:, :6])  # they are still there
        assert (radii(cell) > PERSON[:, 6]).all()
        assert cell.supervisor.reset(cell.t)
        for _ in range(50):
            command = cell.cycle(see=False)
            assert command.reason == WAITING
            assert not command.qd.any()
        assert cell.supervisor.latched is None
        cell.moving()


class TestF7:
    """A joint near its limit is as slow as it must be to stop before it; beyond, it moves back alone."""

    @given(st.integers(0, 2**32 - 1))
    @examples(25)
    def test_the_limit_is_never_passed(self, seed):
        rng = np.random.default_rng(seed)
        cell = cell7()
        lower, upper = ARM.model.lower, ARM.model.upper
        side = rng.choice([-1, 1], 2)
        cell.state.q[:] = np.where(side > 0, upper, lower) - side * rng.uniform(0.0, 0.5, 2)
        cell.state.qd[:] = 0.0
        cell.supervisor.state_checks.forget()  # it is the start of another run, and no jump
        cell.supervisor.limiter.last[:] = 0.0
        cell.controller.wanted[:] = side * rng.uniform(0.5, 50, 2)
        last = np.zeros(2)
        most = cell.supervisor.bounds.acceleration
        for _ in range(150):
            late = int(rng.choice([0, 0, 0, 0, 0, 0, 0, 3, 10]))
            cell.state.q += last * (1 + late) * PERIOD  # the arm goes on until the next command, however late
            cell.state.qd[:] = last
            # rounding of a position of order 1 in every cycle
            assert (cell.state.q <= upper + 1e-12).all()
            assert (cell.state.q >= lower - 1e-12).all()
            command = cell.cycle(follow=False, late=late, announced=False)
            assert cell.supervisor.latched is None, cell.supervisor.reason
            assert (np.abs(command.qd - last) <= most * (1 + late) * PERIOD * (1 + 1e-9)).all()  # and braked as allowed
            last = command.qd
            if rng.random() < 0.01:
                cell.controller.wanted *= -1

    def test_the_braking_speed_is_the_formula(self):
        cell = Cell()
        cell.cycle()
        a, h = 10.0, 11 * PERIOD  # a command may have to last for ten periods more than one
        cell.controller.wanted[:] = 3.0, 0.0
        for margin in (0.3, 0.05, 1e-3, 1e-6):
            cell.state.q[0] = ARM.model.upper[0] - margin
            cell.supervisor.limiter.last[:] = 3.0, 0.0
            command = cell.cycle(follow=False)
            v = min(3.0, math.sqrt((a * h) ** 2 + 2 * a * margin) - a * h)
            # the margin itself is a difference of numbers of order 1
            assert command.qd[0] == pytest.approx(v, abs=1e-13)
            assert v <= math.sqrt(2 * a * margin)
            assert margin >= v * h + v * v / (2 * a) - 1e-12

    @pytest.mark.parametrize("beyond", [0.0, 1e-9, 0.09])  # from 0.1 on it is F27
    def test_beyond_only_motion_back(self, beyond, caplog):
        cell = Cell()
        cell.state.q[0] = ARM.model.upper[0] + beyond
        cell.controller.wanted[:] = 1.0, 0.5
        for _ in range(100):
            command = cell.cycle(follow=False)
            assert command.qd[0] == 0.0
            assert command.status is Status.SLOWING_LIMIT
        assert command.qd[1] == pytest.approx(0.5, abs=1e-12)  # a joint at its stop does not freeze the others
        assert cell.supervisor.latched is None
        assert len(lines(caplog, "SLOWING_LIMIT")) == 1
        cell.controller.wanted[:] = -1.0, 0.5
        assert cell.cycle(200, follow=False).qd[0] == pytest.approx(-1.0, abs=1e-12)

    def test_a_joint_without_limits_is_free(self):
        arm = er.Arm(dataclasses.replace(ARM.model, lower=np.full(2, -INF), upper=np.full(2, INF)))
        cell = Cell(Fake(arm))
        cell.state.q[:] = 1e4
        cell.moving((3.0, -3.0), 400)


@cache
def cell7():
    cell = Cell(limits=fast(max_overruns=1000))
    cell.cycle()
    return cell


class TestF8:
    """Commands over the limits of velocity, acceleration or torque are scaled along their direction, and flagged."""

    def test_velocity(self, caplog):
        cell = Cell()
        cell.controller.wanted[:] = 30.0, -15.0
        cell.cycle(700, follow=False)
        command = cell.cycle(follow=False)
        assert np.allclose(command.qd, [3.0, -1.5], rtol=1e-12)  # 3 rad/s is the first joint's limit
        assert command.status is Status.SLOWING_LIMIT
        assert cell.supervisor.counters["saturated"] == 701
        assert len(lines(caplog, "SLOWING_LIMIT")) == 1
        cell.controller.wanted[:] = 0.3, 0.3
        assert cell.cycle(500, follow=False).status is Status.OK  # flagged, not latched

    @given(st.integers(0, 2**32 - 1))
    @examples(30)
    def test_acceleration_along_the_change(self, seed):
        rng = np.random.default_rng(seed)
        cell = cell8()
        cell.supervisor.limiter.last[:] = last = rng.uniform(-3, 3, 2)
        cell.controller.wanted[:] = wanted = rng.uniform(-3, 3, 2)
        step = cell.cycle(follow=False).qd - last
        most = 10.0 * PERIOD
        assert (np.abs(step) <= most * (1 + 1e-12)).all()
        assert abs(across(step, wanted - last)) <= 1e-12  # along the change: rounding of products of order one
        assert np.abs(step).max() == pytest.approx(min(most, np.abs(wanted - last).max()), rel=1e-9)

    def test_measured_overspeed_stops(self, caplog):
        cell = Cell()
        cell.moving()
        before = cell.supervisor.command.qd.copy()
        assert cell.cycle(fault=lambda c: c.state.qd.__setitem__(0, 3.29), follow=False).status is Status.OK
        command = cell.cycle(fault=lambda c: c.state.qd.__setitem__(0, -3.31), follow=False)
        assert command.status is Status.STOP_LIMIT  # in the same cycle
        assert 0 < command.qd[0] < before[0]  # a controlled stop
        assert "1.10 times its velocity limit" in cell.supervisor.reason
        assert_latched(cell, Status.STOP_LIMIT, caplog, heal=lambda c: c.state.qd.fill(0.0))

    def test_torque_keeps_gravity_and_the_direction_of_what_moves(self, caplog):
        cell = Cell(Fake(torque=True), fast(accelerations=(900.0, 900.0)))
        q = cell.state.q.copy()
        bias = ARM.bias_torque(q, np.zeros(2))
        push = np.array([200.0, 10.0])
        cell.controller.tau[:] = bias + push
        command = cell.cycle(follow=False)
        assert command.status is Status.SLOWING_LIMIT
        assert len(lines(caplog, "SLOWING_LIMIT")) == 1
        assert (np.abs(command.tau) <= ARM.model.effort).all()
        assert np.abs(command.tau / ARM.model.effort).max() == pytest.approx(1.0, rel=1e-12)
        # products of hundreds of N m
        assert abs(across(command.tau - bias, push)) <= 1e-9

    def test_torque_within_limits_is_passed_on_to_the_bit(self):
        cell = Cell(Fake(torque=True))
        tau = ARM.bias_torque(cell.state.q, np.zeros(2)) + np.array([0.5, -0.1])
        cell.controller.tau[:] = tau
        command = cell.cycle(follow=False)
        assert np.array_equal(command.tau, tau)
        assert command.status is Status.OK
        speed = ARM.forward_dynamics(cell.state.q, np.zeros(2), tau) * PERIOD
        assert np.allclose(command.qd, speed, rtol=1e-9)  # what the torque leads to

    def test_torque_respects_acceleration_and_position_limits(self):
        cell = Cell(Fake(torque=True))
        q, qd = cell.state.q, cell.state.qd
        cell.controller.tau[:] = 30.0, 15.0
        for _ in range(3000):
            command = cell.cycle(follow=False, announced=False)
            qdd = ARM.forward_dynamics(q, qd, command.tau)
            assert (np.abs(qdd) <= 10.0 * (1 + 1e-6)).all()  # through the inverse and the forward dynamics
            qd += qdd * PERIOD
            q += qd * PERIOD
            assert (np.abs(qd) <= 3.0 * (1 + 1e-6)).all()
            assert (q <= ARM.model.upper).all()
        assert (ARM.model.upper - q < 0.05).all()  # and it got there


@cache
def cell8():
    cell = Cell(Fake(), fast(jerk=0.0))  # with any change of acceleration
    cell.cycle()
    return cell


SMALL = {"person_capsules": 1}
LAWS = {
    "K dls": Config(inverse="dls"),
    "K transpose": Config(inverse="transpose"),
    "F linearised dls": Config(controller="F"),
    "F linearised transpose": Config(controller="F", inverse="transpose"),
    "F operational": Config(controller="F", force=Force(method="operational")),
    "F joint": Config(controller="F", force=Force(method="joint")),
}


class TestF9:
    """A singular Jacobian or an ill-conditioned mass matrix: finite, bounded output, and no stop."""

    @pytest.mark.parametrize("name", LAWS)
    def test_at_singular_poses(self, name):
        controller = Controller(ARM, LAWS[name], **SMALL)
        for q in ([0.0, 0.0], [math.pi / 2, 0.0], [0.3, 1e-9], [0.0, 2.79]):  # stretched out, and folded
            cell = Cell(controller, Limits(record=0.1, record_after=0.0), person=PERSON[:1])
            controller.reset()
            cell.state.q[:] = q
            # straight out, which a stretched arm cannot do, and across
            for way in ([2.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]):
                cell.goal.position[:] = way
                for _ in range(20):
                    command = cell.cycle(follow=False, announced=False)
                    assert cell.supervisor.latched is None, cell.supervisor.reason
                    cell.state.q += command.qd * PERIOD
                    cell.state.qd[:] = command.qd

    def test_a_mass_matrix_that_nearly_vanishes(self):
        tiny = dataclasses.replace(
            ARM.model, mass=np.array([2.0, 1e-13]), inertia=ARM.model.inertia * np.array([1.0, 1e-13])[:, None, None]
        )
        cell = Cell(Fake(er.Arm(tiny), torque=True))
        cell.controller.tau[:] = 60.0, 20.0
        for _ in range(50):
            cell.cycle(follow=False)  # finite and bounded, or `assert_sane` complains

    def test_what_is_not_finite_after_all_is_a_stop(self, caplog):
        cell = Cell()
        cell.moving()
        limiter = cell.supervisor.limiter
        run = limiter._give

        def broken(*inputs, out):
            run(*inputs, out=out)
            out.qd[0] = out.summary[SUMMARY.index("size")] = NAN  # as a kernel does that divided by zero
            out.summary[0] = 1.0

        limiter._give = broken
        command = cell.cycle()
        assert command.status is Status.STOP_INTERNAL
        assert not command.qd.any()
        assert_latched(cell, Status.STOP_INTERNAL, caplog, heal=lambda c: setattr(limiter, "_give", run))


@pytest.fixture(scope="module")
def controller():
    gentle = Repulsion(lookahead=0.0, ease=0.0)
    return Controller(ARM, Config(repulsion=gentle, self_collision=None), **SMALL)


class TestF10:
    """Zero distance or penetration at the start: finite, IN_COLLISION; the arm retreats slowly, or stops."""

    @staticmethod
    def touching(cell, depth):
        """A sphere that the tip of the arm is `depth` deep in."""
        tip = ARM.pose(cell.state.q)[:3, 3]
        out = tip / np.linalg.norm(tip)
        cell.person = Sphere(tip + out * (0.04 + 0.1 - depth), 0.1).row()[None]

    @pytest.mark.parametrize("depth", [0.0, 0.02, 0.1, 0.139])  # at 0.14 the sphere's middle has no way out
    def test_retreat(self, controller, depth, caplog):
        controller.reset()
        cell = Cell(controller)
        self.touching(cell, depth)
        before = None
        for k in range(400):
            command = cell.cycle()
            if k == 0:
                assert command.status is Status.IN_COLLISION  # in the first cycle
                before = command.distance
                assert before == pytest.approx(-depth, abs=1e-9)
            assert cell.supervisor.latched is None
            if command.distance > 0:
                break
            assert (np.abs(command.qd) <= 0.2 * 3.0 * (1 + 1e-12)).all()  # a fifth of the limits
        assert command.distance > before
        assert len(lines(caplog, "IN_COLLISION")) == 1

    def test_never_deeper_even_if_the_controller_wants_to(self, controller):
        class Deeper(Fake):
            def __init__(self):
                super().__init__()
                self.layout, self.all_rows = controller.layout, controller.all_rows
                self.obstacles = controller.obstacles

            def step(self, t, dt, state, obstacles, goal):
                controller.step(t, dt, state, obstacles, goal)
                self.pairs = controller.pairs
                return super().step(t, dt, state, obstacles, goal)

            pairs = controller.pairs

        cell = Cell(Deeper(), Limits())
        self.touching(cell, 0.02)
        # speeds that carry the tip outwards, into the sphere
        tip = ARM.pose(cell.state.q)[:3, 3]
        Jv, _ = ARM.jacobian(cell.state.q)
        cell.controller.wanted[:] = np.linalg.pinv(Jv) @ tip
        for _ in range(50):
            command = cell.cycle(follow=False)
            approach = (Jv @ command.qd) @ tip / np.linalg.norm(tip)
            assert approach <= cell.supervisor.limits.creep * (1 + 1e-9)
        cell.controller.wanted *= -1
        assert cell.cycle(50, follow=False).qd.any()

    def test_stop_if_asked_for(self, controller, caplog):
        controller.reset()
        cell = Cell(controller, Limits(in_collision="stop", separation=False), person=PERSON[:1])
        cell.cycle(100)
        self.touching(cell, 0.02)
        command = cell.cycle()
        assert command.status is Status.IN_COLLISION
        assert cell.supervisor.latched is Status.IN_COLLISION
        assert len(lines(caplog, "IN_COLLISION")) == 1
        cell.cycle(300)
        assert not cell.supervisor.command.qd.any()
        assert not cell.supervisor.reset(cell.t)
        cell.person = PERSON[:1]
        cell.cycle(600)  # the jump away is covered for a while
        assert cell.supervisor.latched is Status.IN_COLLISION
        assert cell.supervisor.reset(cell.t)

    def test_a_person_too_near_stops_if_asked_for(self, controller, caplog):
        controller.reset()
        cell = Cell(controller, Limits(stop_distance=0.05))
        self.touching(cell, -0.06)
        cell.cycle(5)
        assert cell.supervisor.latched is None
        cell.supervisor.reset(cell.t)
        self.touching(cell, -0.04)
        assert cell.cycle().status is Status.STOP_HUMAN
        assert len(lines(caplog, "STOP_HUMAN")) == 1


class TestF11:
    """Late cycles are counted, dt is measured and held; STOP_OVERRUN after three in a row, or one far too late."""

    @pytest.mark.parametrize("periods", [1, 3, 10])
    def test_one_is_counted_and_measured(self, periods, caplog):
        cell = Cell()
        cell.moving()
        command = cell.cycle(late=periods, dt=123.0)
        assert command.status is Status.OK
        assert cell.controller.dt == command.dt == pytest.approx((1 + periods) * PERIOD, rel=1e-9)
        assert cell.supervisor.counters["overruns"] == 1
        assert len(lines(caplog, "overruns")) == 1
        cell.cycle(100)
        assert cell.supervisor.latched is None
        assert cell.supervisor.counters["overruns"] == 1

    @pytest.mark.parametrize("periods", [11, 50])
    def test_one_too_many_stops(self, periods, caplog):
        cell = Cell()
        cell.moving()
        before = cell.supervisor.command.qd.copy()
        command = cell.cycle(late=periods)
        assert command.status is Status.STOP_OVERRUN  # in that cycle
        assert cell.controller.dt == command.dt == pytest.approx(11 * PERIOD, rel=1e-12)  # held
        assert 0 < command.qd[0] < before[0]
        assert_latched(cell, Status.STOP_OVERRUN, caplog)

    @pytest.mark.parametrize("periods", [1, 3])
    def test_three_in_a_row_stop(self, periods, caplog):
        cell = Cell()
        cell.moving()
        for k in (1, 2, 3):
            command = cell.cycle(late=periods)
            assert (command.status is Status.STOP_OVERRUN) == (k == 3)
        assert cell.supervisor.counters["overruns"] == 3
        assert_latched(cell, Status.STOP_OVERRUN, caplog)

    def test_two_of_three_do_not(self):
        cell = Cell()
        cell.moving()
        for _ in range(20):
            cell.cycle(late=1)
            cell.cycle(late=1)
            cell.cycle()
        assert cell.supervisor.latched is None
        assert cell.supervisor.counters["overruns"] == 40

    def test_jitter_is_no_overrun(self):
        cell = Cell()
        cell.moving()
        rng = np.random.default_rng(0)
        for _ in range(200):
            before, shift = cell.supervisor.command.t, rng.uniform(-0.2, 0.2) * PERIOD
            command = cell.cycle(fault=lambda c, s=shift: c.t + s, dt=123.0)
            assert command.dt == cell.controller.dt == command.t - before  # measured, whatever is said
        assert cell.supervisor.counters["overruns"] == 0


class TestF12:
    """A controller or a user's callback that raises: a controlled stop, a log line, the flight recorder put aside."""

    @pytest.mark.parametrize("error", [RuntimeError("broken"), ZeroDivisionError("x"), MemoryError()])
    def test_the_controller_raises(self, error, caplog):
        cell = Cell()
        before = cell.moving().qd
        cell.controller.error = error
        command = cell.cycle()
        assert command.status is Status.STOP_INTERNAL  # in the same cycle
        assert type(error).__name__ in command.reason
        assert 0 < command.qd[0] < before[0]
        assert np.isnan(command.distance)  # nothing is known, and nothing old is shown
        dump = cell.supervisor.recorder.dump
        assert dump is not None
        assert len(dump.table()["t"]) == cell.k
        assert not cell.supervisor.reset(cell.t)
        assert_latched(cell, Status.STOP_INTERNAL, caplog, heal=lambda c: setattr(c.controller, "error", None))
        assert cell.controller.resets == 1

    @pytest.mark.parametrize("value", [NAN, INF])
    def test_the_controller_gives_what_is_no_number(self, value, caplog):
        cell = Cell()
        cell.moving()
        cell.controller.wanted[0] = value
        command = cell.cycle()
        assert command.status is Status.STOP_INTERNAL
        assert command.qd.any()
        assert_latched(cell, Status.STOP_INTERNAL, caplog, heal=lambda c: c.controller.wanted.fill(0.0))

    def test_the_controllers_own_stop_is_latched(self, caplog):
        cell = Cell()
        cell.moving()
        cell.controller.status = Status.STOP_INTERNAL
        assert cell.cycle().status is Status.STOP_INTERNAL
        assert_latched(cell, Status.STOP_INTERNAL, caplog, heal=lambda c: setattr(c.controller, "status", Status.OK))

    def test_the_callback_raises(self, caplog):
        seen = []

        def callback(command):
            seen.append(command.status)
            if len(seen) == 205:
                raise KeyError("no such topic")

        cell = Cell(on_command=callback)
        before = cell.moving().qd
        cell.cycle(4)
        command = cell.cycle()
        assert command.status is Status.STOP_INTERNAL
        assert "on_command: KeyError" in command.reason
        assert 0 < command.qd[0] < before[0]
        assert_latched(cell, Status.STOP_INTERNAL, caplog)
        assert len(seen) == cell.k

    def test_arguments_that_are_nonsense(self):
        cell = Cell()
        cell.moving()
        step = cell.supervisor.step
        for arguments in (
            (cell.t, PERIOD, None, cell.obstacles, cell.goal),
            (cell.t, PERIOD, cell.state, None, cell.goal),
            (cell.t, PERIOD, cell.state, cell.obstacles, None),
            (None, None, cell.state, cell.obstacles, cell.goal),
            ("x", PERIOD, cell.state, Obstacles(1, 0, 5), cell.goal),
        ):
            command = step(*arguments)
            assert command.status.stops
            assert np.isfinite(command.qd).all()

    def test_obstacles_of_other_places(self, caplog):
        cell = Cell()
        cell.moving()
        right, cell.obstacles = cell.obstacles, Obstacles(1, 3, 2)
        command = cell.cycle()
        assert command.status is Status.STOP_INTERNAL
        assert "must have the places" in command.reason
        cell.obstacles = right
        assert_latched(cell, Status.STOP_INTERNAL, caplog)


class TestF14:
    """A goal that has expired: the tool is held where it is, avoidance goes on; after 2 s a controlled stop."""

    def test_hold_then_stop(self, caplog):
        cell = Cell()
        cell.moving((0.05, -0.05))
        cell.goal = Goal([1.0, 2.0, 3.0], t=cell.t, valid_for=0.05)
        cell.cycle(50)
        assert np.array_equal(cell.controller.goal, [1.0, 2.0, 3.0])
        here = ARM.pose(cell.state.q)[:3, 3]
        command = cell.cycle()
        if command.status is Status.OK:  # the rounding of 0.05 s
            here = ARM.pose(cell.state.q)[:3, 3]
            command = cell.cycle()
        assert command.status is Status.HOLD_COMMAND_TIMEOUT
        assert np.allclose(cell.controller.goal, here, rtol=0, atol=1e-12)
        for _ in range(1998):
            command = cell.cycle()
            assert command.status is Status.HOLD_COMMAND_TIMEOUT
            assert np.allclose(command.qd, [0.05, -0.05])  # what the controller asks for is still done
        assert np.allclose(cell.controller.goal, here, rtol=0, atol=1e-12)  # held, not dragged along
        assert len(lines(caplog, "HOLD_COMMAND_TIMEOUT")) == 1
        cell.cycle(3)
        assert cell.supervisor.latched is Status.STOP_COMMS
        assert not cell.supervisor.reset(cell.t)
        assert_latched(
            cell, Status.STOP_COMMS, caplog, heal=lambda c: setattr(c, "goal", Goal([0, 0, 0])), wanted=(0.05, -0.05)
        )

    def test_a_new_goal_ends_the_hold(self):
        cell = Cell()
        cell.goal = Goal([1.0, 0, 0], t=0.0, valid_for=0.1)
        cell.cycle(500)
        assert cell.supervisor.command.status is Status.HOLD_COMMAND_TIMEOUT
        cell.goal = Goal([0.5, 0, 0], t=cell.t, valid_for=0.1)
        assert cell.cycle().status is Status.OK
        assert cell.controller.goal[0] == 0.5

    def test_a_second_hold_is_a_new_one(self):
        cell = Cell()
        cell.goal = Goal([1.0, 0, 0], t=0.0, valid_for=0.1)
        cell.cycle(1500)
        first = cell.controller.goal
        cell.goal = Goal([0.5, 0, 0], t=cell.t, valid_for=0.1)
        cell.moving((0.2, -0.2), 90)
        cell.cycle(1500)
        assert cell.supervisor.command.status is Status.HOLD_COMMAND_TIMEOUT
        assert cell.supervisor.latched is None  # 3 s of holding, but not in one piece
        assert np.linalg.norm(cell.controller.goal - first) > 1e-3

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda g: g.position.__setitem__(0, NAN),
            lambda g: setattr(g, "valid_for", NAN),
            lambda g: setattr(g, "t", NAN),
            lambda g: setattr(g, "t", 100.0),
        ],
    )
    def test_a_goal_that_makes_no_sense_is_not_valid(self, spoil):
        cell = Cell()
        cell.cycle(10)
        spoil(cell.goal)
        assert cell.cycle().status is Status.HOLD_COMMAND_TIMEOUT
        assert np.isfinite(cell.controller.goal).all()
        cell.cycle(2001)
        assert cell.supervisor.latched is Status.STOP_COMMS


class TestF16:
    """Settings that cannot be right are refused at the start, with the path to the key."""

    @pytest.mark.parametrize(
        "text, message",
        [
            ("max_agee = 0.1", r"limits.toml: max_agee: unknown key; did you mean max_age \(in s\)\?"),
            ("acceleration = -1.0", r"limits.toml: acceleration: expected a number > 0.*rad/s\^2.*got -1.0"),
            (
                "human_speed_kmh = 5",
                r"limits.toml: human_speed_kmh: unknown key; did you mean human_speed \(in m/s\)\?",
            ),
            ("max_age = 100", r"limits.toml: max_age: expected a number > 0 and <= 10 \(s\); got 100"),  # in ms
            ("max_human_speed = 1.0", r"limits.toml: max_human_speed: expected a number >= 1.6"),
            ("velocities = [1.0, 0.0]", r"limits.toml: velocities\[1\]: expected a number > 0 and <= 1000"),
            ('in_collision = "run"', r'limits.toml: in_collision: expected "retreat" or "stop"'),
            ("max_overruns = 0", r"limits.toml: max_overruns: expected a whole number from 1"),
            ("separation = 1", r"limits.toml: separation: expected true or false; got 1"),
            ("record_after = 9.0", r"limits.toml: record_after: expected a number >= 0 and <= 5"),
            ("stop_factor = 0.5", r"limits.toml: stop_factor: expected a number >= 1"),
            ("period = 0", r"limits.toml: period: expected a number >= 1e-05"),
        ],
    )
    def test_limits(self, text, message):
        with pytest.raises(ConfigError, match=message):
            tables.loads(Limits, text, "limits.toml")

    @pytest.mark.parametrize(
        "text, message",
        [
            ("[repulsion]\ngain = -0.1", r"avoid.toml: repulsion.gain: expected a number > 0"),
            ("[repulsion]\nfloor = 0.6", r"avoid.toml: repulsion.floor: expected a number below influence"),
            ("[repulsion]\ninfluence_mm = 500", r"avoid.toml: repulsion.influence_mm: unknown key"),
        ],
    )
    def test_the_controllers(self, text, message):
        with pytest.raises(ConfigError, match=message):
            tables.loads(Config, text, "avoid.toml")

    def test_what_does_not_fit_the_arm(self):
        with pytest.raises(ConfigError, match=r"Limits: velocities: expected 2 numbers, one a joint of planar2; got 3"):
            Supervisor(Fake(), fast(velocities=(1.0, 1.0, 1.0)), places=(1, 0, 2))

    def test_what_the_controller_cannot_give(self):
        with pytest.raises(
            ConfigError, match="Limits: separation: expected false, as the controller has no pair table"
        ):
            Supervisor(Fake(), Limits(), places=(1, 0, 2))
        with pytest.raises(ConfigError, match="places: expected"):
            Supervisor(Fake(), fast())
        nameless = Fake()
        del nameless.config
        with pytest.raises(ConfigError, match="Limits: period: expected a number > 0"):
            Supervisor(nameless, fast(), places=(1, 0, 2))
        assert Supervisor(nameless, fast(period=0.004), places=(1, 0, 2)).period == 0.004
        with pytest.raises(
            ConfigError, match=r"Limits: record: expected at most 1000000 cycles of 1e-05 s, 10 s; got 600"
        ):
            Supervisor(nameless, fast(period=1e-5, record=600.0), places=(1, 0, 2))


class TestF17:
    """A model that does not fit the plant, by number or names of joints, is refused."""

    @pytest.mark.parametrize(
        "names, message",
        [
            (["shoulder"], r"joint_names: expected the 2 of planar2, .*; got 1: shoulder"),
            (["a", "b", "c"], r"joint_names: expected the 2 of planar2, .*; got 3: a, b, c"),
            (ARM.joint_names[::-1], r"joint_names\[0\]: expected '.*' of planar2; got '.*'"),
            ((ARM.joint_names[0], "elbo"), r"joint_names\[1\]: expected '.*' of planar2; got 'elbo'"),
        ],
    )
    def test_refused(self, names, message):
        with pytest.raises(ConfigError, match=message):
            Supervisor(Fake(), fast(), places=(1, 0, 2), joint_names=names)

    def test_the_right_names_are_taken(self):
        Supervisor(Fake(), fast(), places=(1, 0, 2), joint_names=list(ARM.joint_names))

    def test_a_state_of_another_length_never_moves_the_arm(self):
        cell = Cell()
        command = cell.supervisor.step(0.001, PERIOD, State(np.zeros(3), t=0.001), cell.obstacles, cell.goal)
        assert command.status is Status.STOP_STATE_INVALID


class TestF18:
    """A model with zero mass, an inertia that is not positive, or zero limits: refused or warned of, by name."""

    @staticmethod
    def arm(**changes):
        return er.Arm(dataclasses.replace(ARM.model, **changes))

    def test_a_singular_mass_matrix_is_refused(self):
        weightless = self.arm(
            mass=np.array([2.0, 0.0]), inertia=ARM.model.inertia * np.array([1.0, 0.0])[:, None, None]
        )
        with pytest.raises(ModelError, match=f"link '{ARM.model.link_names[1]}'.*mass matrix is not positive definite"):
            Supervisor(Fake(weightless), fast(), places=(1, 0, 2))

    def test_what_only_looks_wrong_is_logged_by_link(self, caplog):
        massless = self.arm(mass=np.array([0.0, 1.0]))
        Supervisor(Fake(massless), fast(), places=(1, 0, 2))
        name = ARM.model.link_names[0]
        assert [r for r in caplog.records if f"link '{name}': mass is zero" in r.getMessage()]

    def test_zero_velocity_is_refused(self):
        stuck = self.arm(velocity=np.array([0.0, 3.0]))
        with pytest.raises(ConfigError, match=f"joint '{ARM.joint_names[0]}': velocity limit is zero"):
            Supervisor(Fake(stuck), fast(), places=(1, 0, 2))
        Supervisor(Fake(stuck), fast(velocities=(1.0, 1.0)), places=(1, 0, 2))

    def test_zero_effort_is_refused_for_torques_alone(self):
        weak = self.arm(effort=np.array([60.0, 0.0]))
        Supervisor(Fake(weak), fast(), places=(1, 0, 2))
        with pytest.raises(ConfigError, match=f"joint '{ARM.joint_names[1]}': effort limit is zero"):
            Supervisor(Fake(weak, torque=True), fast(), places=(1, 0, 2))

    def test_no_room_between_the_limits_is_refused(self):
        fixed = self.arm(lower=np.array([0.5, -1.0]), upper=np.array([0.5, 1.0]), ready=np.array([0.5, 0.0]))
        with pytest.raises(ConfigError, match=f"joint '{ARM.joint_names[0]}': position limits leave no room"):
            Supervisor(Fake(fixed), fast(), places=(1, 0, 2))

    def test_missing_velocity_limits_are_stood_in_for(self, caplog):
        unlimited = self.arm(velocity=np.array([INF, 3.0]))
        supervisor = Supervisor(Fake(unlimited), fast(), places=(1, 0, 2))
        assert np.array_equal(supervisor.bounds.velocity, [2.0, 3.0])
        assert f"joint '{ARM.joint_names[0]}' has no velocity limit; 2 is used" in caplog.text

    def test_every_catalogue_arm_can_be_supervised(self):
        for name in ("puma560", "stanford", "scara"):  # without limits, and with prismatic joints
            arm = er.load(name)
            supervisor = Supervisor(Fake(arm), fast(), places=(1, 0, 1))
            slides = [k == "P" for k in arm.model.kinds]
            assert (supervisor.bounds.acceleration[slides] == 5.0).all()
            assert (supervisor.bounds.velocity > 0).all()


class TestF20:
    """Permission that comes back during a stop: the stop completes, and needs its reset."""

    def test_the_stop_completes(self, caplog):
        cell = Cell()
        before = cell.moving().qd
        cell.supervisor.permit = False
        command = cell.cycle()
        assert command.status is Status.STOP_INTERNAL
        assert command.reason == "operator: permission withdrawn"
        assert 0 < command.qd[0] < before[0]
        cell.supervisor.permit = True
        last = command.qd
        while last.any():
            command = cell.cycle()
            assert np.linalg.norm(command.qd) < np.linalg.norm(last)
            assert command.status is Status.STOP_INTERNAL
            last = command.qd
        assert_latched(cell, Status.STOP_INTERNAL, caplog)

    def test_toggling_does_not_shorten_it(self):
        cell = Cell()
        cell.moving()
        for k in range(60):
            cell.supervisor.permit = bool(k % 2)
            cell.cycle()
        assert cell.supervisor.latched is Status.STOP_INTERNAL
        assert not cell.supervisor.command.qd.any()

    def test_no_reset_without_permission_or_before_the_arm_stands(self):
        cell = Cell()
        cell.moving()
        cell.supervisor.permit = False
        cell.cycle()
        cell.supervisor.permit = True
        cell.cycle()
        assert not cell.supervisor.reset(cell.t)  # still moving
        cell.cycle(100)
        cell.supervisor.permit = False
        assert not cell.supervisor.reset(cell.t)
        cell.supervisor.permit = True
        assert cell.supervisor.reset(cell.t)

    def test_an_arm_that_does_not_follow_is_not_standing(self):
        cell = Cell()
        cell.moving()
        cell.supervisor.stop()
        cell.cycle(100, follow=False)  # measured speeds stay
        assert not cell.supervisor.command.qd.any()
        assert not cell.supervisor.reset(cell.t)
        cell.state.qd[:] = 0.009
        cell.cycle(follow=False)
        assert cell.supervisor.reset(cell.t)


PANDA_LAWS = {
    "K": Config(period=Panda.PERIOD),
    "F linearised": Config(controller="F", period=Panda.PERIOD),
    "F operational": Config(controller="F", period=Panda.PERIOD, force=Force(method="operational")),
}


@pytest.fixture(scope="module", params=PANDA_LAWS)
def law(request):
    return Controller(er.load("panda"), PANDA_LAWS[request.param], person_capsules=1)


def assert_stopped(panda, command, status, joint, caplog):
    """At once to zero, latched, and named; and the latch holds when the state is right again."""
    assert command.status is status
    assert not command.qd.any()
    assert not command.tau.any()
    assert f"joint '{joint}'" in command.reason
    assert command.reason == panda.supervisor.reason
    assert panda.cycle(50).status is status
    assert len(lines(caplog, status)) == 1
    assert panda.supervisor.reset(panda.state.t)
    assert panda.cycle(50).status is Status.OK


class TestF26:
    """A position that jumps, whatever the speed says: STOP_STATE_INVALID in the same cycle, by joint."""

    @pytest.mark.parametrize("joint, jump", [(0, 1.5), (3, -0.4), (6, 0.06)])
    def test_the_same_cycle(self, law, joint, jump, caplog):
        panda = Panda(law).moving()
        command = panda.cycle(measured=lambda state: state.q.__setitem__(joint, state.q[joint] + jump))
        assert "from where its speed leads" in command.reason
        assert_stopped(panda, command, Status.STOP_STATE_INVALID, f"panda_joint{joint + 1}", caplog)

    def test_beyond_a_limit_too(self, law, caplog):
        panda = Panda(law).moving()
        command = panda.cycle(measured=lambda state: state.q.__setitem__(0, 10.0))
        assert_stopped(panda, command, Status.STOP_STATE_INVALID, "panda_joint1", caplog)

    def test_to_and_fro(self, law, caplog):
        panda = Panda(law).moving()

        def alternating(state):
            state.q[0] += 1.5 * (panda.k % 2)

        command = panda.cycle(2, alternating)
        assert command.status is Status.STOP_STATE_INVALID
        panda.cycle(20, alternating)
        assert not panda.supervisor.reset(panda.state.t)  # it goes on
        assert_stopped(panda, command, Status.STOP_STATE_INVALID, "panda_joint1", caplog)

    def test_a_stamp_that_stands_is_no_excuse(self):
        cell = Cell()
        cell.moving()
        cell.frozen = cell.t

        def repeated(c):
            c.state.t = c.frozen
            c.state.q[1] += 0.1

        assert cell.cycle(fault=repeated).status is Status.STOP_STATE_INVALID

    def test_one_that_stays_there_is_taken_after_a_reset(self, caplog):
        cell = Cell()
        cell.moving()
        cell.state.q[1] += 0.3
        assert cell.cycle().status is Status.STOP_STATE_INVALID
        assert_latched(cell, Status.STOP_STATE_INVALID, caplog)

    def test_a_reset_of_no_stop_hides_no_jump(self):
        cell = Cell()
        cell.moving()
        for _ in range(20):  # a button that sticks
            assert cell.supervisor.reset(cell.t)
            cell.cycle()
        cell.state.q[0] += 0.5
        assert cell.supervisor.reset(cell.t)
        assert cell.cycle().status is Status.STOP_STATE_INVALID

    def test_what_the_caller_writes_into_a_command_hides_no_jump(self):
        cell = Cell()
        cell.moving()
        cell.supervisor.command.qd[:] = np.nan
        cell.state.q[0] += 0.5
        assert cell.cycle().status is Status.STOP_STATE_INVALID

    @pytest.mark.parametrize("torque", [False, True])
    def test_numbers_that_overflow_do_not_switch_it_off(self, torque):
        cell = Cell(Fake(torque=torque))
        cell.cycle(5)
        for position, speed in ((0.0, 1e308), (1e308, 1e308), (-1e308, 1e308), (0.0, -1e308)):
            cell.state.q[0], cell.state.qd[0] = position, speed
            assert cell.cycle(follow=False, announced=False).status.stops
        cell.state.q[:], cell.state.qd[:] = cell.arm.ready, 0.0
        cell.cycle(3, follow=False, announced=False)
        assert cell.supervisor.reset(cell.t)
        assert not cell.cycle(3, follow=False, announced=False).status.stops
        cell.state.q[0] += 1.5
        assert cell.cycle(follow=False, announced=False).status is Status.STOP_STATE_INVALID


class TestF27:
    """A position beyond its limit by more than a tenth: STOP_STATE_INVALID in the same cycle, by joint; less is F7."""

    @pytest.mark.parametrize("joint, side", [(0, "upper"), (1, "lower")])
    def test_from_the_first_cycle_on(self, joint, side, caplog):
        cell = Cell()
        out = {"upper": 1.0, "lower": -1.0}[side]
        limit = getattr(ARM.model, side)[joint]
        cell.state.q[joint] = limit + out * 0.101
        command = cell.cycle()
        assert command.status is Status.STOP_STATE_INVALID
        assert not command.qd.any()
        assert f"joint '{ARM.joint_names[joint]}'" in command.reason
        assert "beyond its limit; limit_excess is 0.1" in command.reason
        assert not cell.supervisor.reset(cell.t)  # it is there still
        back = lambda c: c.state.q.__setitem__(joint, limit + out * 0.05)  # noqa: E731
        assert_latched(cell, Status.STOP_STATE_INVALID, caplog, heal=back, wanted=(-0.6, 0.3))

    def test_a_drift_out_of_it_stops_where_the_tolerance_ends(self):
        cell = Cell()
        cell.cycle(5)
        cell.state.q[0] = ARM.model.upper[0]
        cell.supervisor.state_checks.forget()  # put there, and no jump
        for k in range(101):
            cell.state.q[0] = ARM.model.upper[0] + 1e-3 * k - 5e-4
            assert cell.cycle().status is not Status.STOP_STATE_INVALID
        cell.state.q[0] = ARM.model.upper[0] + 0.1005
        assert cell.cycle().status is Status.STOP_STATE_INVALID

    def test_limits_of_the_task_are_not_where_the_metal_ends(self):
        """A controller may be told of narrower limits: a joint beyond those is brought back, not disbelieved."""
        narrow = Fake()
        narrow.lower, narrow.upper = np.array([-0.5, -0.5]), np.array([0.5, 0.5])
        cell = Cell(narrow)
        cell.state.q[:] = 1.0
        cell.controller.wanted[:] = -0.5
        assert not cell.cycle(100).status.stops
        assert (cell.state.q < 1.0).all()


class TestF28:
    """The command moves and the joint does not, with fresh stamps: STOP_STATE_STALE once it owes 0.05 rad, by joint."""

    @pytest.mark.parametrize("speed", ["as it is", "as it was"])
    def test_an_encoder_that_stands(self, law, speed, caplog):
        panda = Panda(law).moving()
        q, qd, last = panda.q.copy(), panda.qd.copy(), panda.qd.copy()
        owed = np.zeros(7)

        def frozen(state):
            state.q[:] = q
            if speed == "as it was":
                state.qd[:] = qd

        while panda.supervisor.latched is None:
            followed = panda.supervisor.command.qd.copy()
            command = panda.cycle(measured=frozen)
            if law.makes_torque:
                followed = (last + panda.state.qd) / 2
            owed += np.abs(followed) * Panda.PERIOD
            last[:] = panda.state.qd
        # a position may trail by the noise of its encoder when it stops
        assert owed.max() == pytest.approx(0.05, abs=0.002 + np.abs(followed).max() * Panda.PERIOD)
        assert "stands while" in command.reason
        panda.q[:] = q  # found again where it was seen last
        assert_stopped(panda, command, Status.STOP_STATE_STALE, f"panda_joint{owed.argmax() + 1}", caplog)

    @pytest.mark.parametrize("reported", ["speed", "standstill"])
    @pytest.mark.parametrize("wanted", [0.5, 0.05, 0.005])
    def test_after_as_much_as_it_owes_however_slow(self, wanted, reported, caplog):
        cell = Cell()
        cell.moving((wanted, 0.0))
        if reported == "standstill":
            cell.state.qd[:] = 0.0
        debt = 0.0
        while cell.supervisor.latched is None:
            debt += wanted * PERIOD
            assert cell.cycle(follow=False, announced=False).status in (Status.OK, Status.STOP_STATE_STALE)
        assert debt == pytest.approx(0.05, abs=0.002 + wanted * PERIOD)
        assert cell.supervisor.latched is Status.STOP_STATE_STALE
        cell.state.qd[:] = 0.0
        assert_latched(cell, Status.STOP_STATE_STALE, caplog)

    def test_one_joint_is_enough(self):
        cell = Cell()
        cell.moving((0.6, -0.3))
        stuck = cell.state.q[1]
        while cell.supervisor.latched is None:
            cell.cycle(fault=lambda c: c.state.q.__setitem__(1, stuck))
            assert cell.k < 500
        assert f"joint '{ARM.joint_names[1]}'" in cell.supervisor.reason

    def test_noise_is_no_motion(self):
        cell = Cell()
        cell.moving((0.5, 0.0))
        rng, q = np.random.default_rng(0), cell.state.q.copy()
        for _ in range(110):
            cell.state.q[:] = q + rng.uniform(-1e-3, 1e-3, 2)
            cell.cycle(follow=False, announced=False)
        assert cell.supervisor.latched is Status.STOP_STATE_STALE

    def test_an_arm_that_stands_as_commanded_owes_nothing(self):
        cell = Cell()
        cell.cycle(5000)
        assert cell.supervisor.latched is None

    def test_an_arm_that_is_not_given_the_commands_need_not_follow_them(self):
        cell = Cell(acting=False)
        cell.controller.wanted[:] = 0.5, -0.5
        assert cell.cycle(1000, follow=False, announced=False).status is Status.OK

    def test_to_and_fro_is_no_motion_that_is_owed(self):
        """A command that chatters about zero moves nothing, and a joint that stands has followed it."""
        cell = Cell(limits=fast(accelerations=(1000.0, 1000.0)))
        for k in range(2000):
            cell.controller.wanted[:] = 0.5 if k % 2 else -0.5
            cell.cycle(follow=False, announced=False)
        assert cell.supervisor.latched is None

    def test_half_of_what_is_commanded_is_followed(self):
        """A slow drive is a poor one, not a frozen encoder."""
        cell = Cell()
        cell.controller.wanted[:] = 0.5, -0.5
        for _ in range(3000):
            command = cell.cycle(follow=False, announced=False)
            cell.state.q += 0.51 * command.qd * PERIOD
            cell.state.qd[:] = 0.51 * command.qd
        assert cell.supervisor.latched is None


class TestF29:
    """A position so large that sine and cosine have no digits: STOP_STATE_INVALID in the same cycle, by joint."""

    @pytest.mark.parametrize("value", [1e17, -1e17, 1e300, 2e6])
    def test_the_same_cycle(self, law, value, caplog):
        panda = Panda(law).moving()
        command = panda.cycle(measured=lambda state: state.q.__setitem__(0, value))
        assert "sine and cosine" in command.reason
        assert_stopped(panda, command, Status.STOP_STATE_INVALID, "panda_joint1", caplog)

    def test_a_joint_without_limits(self):
        arm = er.Arm(dataclasses.replace(ARM.model, lower=np.full(2, -INF), upper=np.full(2, INF)))
        cell = Cell(Fake(arm))
        cell.state.q[:] = 9e5
        assert cell.cycle().status is Status.OK
        cell = Cell(Fake(arm))
        cell.state.q[1] = 1.1e6
        assert cell.cycle().status is Status.STOP_STATE_INVALID
        assert f"joint '{ARM.joint_names[1]}'" in cell.supervisor.reason


class Felt(Cell):
    """An arm that follows exactly and measures its torques, less what pushes its joints (n,)."""

    def __init__(self, contact=None, controller=None, **limits):
        touch = Contact() if contact is None else contact
        super().__init__(controller, fast(contact=touch, **limits))
        self.push, self.torques = np.zeros(self.arm.n), True
        self._before = self.arm.ready.copy(), np.zeros(self.arm.n)

    def measured(self, _):
        """The mean torque since the reading before."""
        (q, qd), arm, state = self._before, self.arm, self.state
        p, b = (
            [f(*at) for at in ((q, qd), (state.q, state.qd))]
            for f in (
                lambda q, qd: arm.mass_matrix(q) @ qd,
                lambda q, qd: arm.coriolis_transpose_qd(q, qd) - arm.gravity_torque(q),
            )
        )
        state.tau = (p[1] - p[0]) / PERIOD - 0.5 * (b[0] + b[1]) - self.push if self.torques else None
        self._before = state.q.copy(), state.qd.copy()

    def cycle(self, cycles=1, **others):
        return super().cycle(cycles, **{"fault": self.measured} | others)


class TestF30:
    """Contact felt by the momentum observer: stop, retract or float, latched, naming the link."""

    PUSH = np.array([8.0, 5.0])  # N m

    def pushed(self, cell, cycles=1, push=PUSH):
        cell.push[:] = push
        return cell.cycle(cycles)

    def test_a_controlled_stop_that_names_the_link(self, caplog):
        cell = Felt()
        before = cell.moving().qd
        command, latency = self.pushed(cell, push=(20.0, 0.8)), 1
        while command.status is Status.OK:
            command, latency = cell.cycle(), latency + 1
        assert latency <= 2  # 9.5 % of 20 N m come through the filter in 1 ms, and some 1.5 are allowed
        assert command.status is Status.STOP_CONTACT
        names = ARM.model.link_names
        assert re.match(
            rf"contact with link '{names[0]}' or beyond: joint '{ARM.joint_names[0]}' feels", command.reason
        )
        assert np.linalg.norm(command.qd) < np.linalg.norm(before)  # it brakes in that very cycle
        first = command.qd.copy()
        assert ramp_of(cell, first) > 10
        assert f"contact with link '{names[1]}': joint '{ARM.joint_names[1]}' feels" in cell.supervisor.reason
        assert len(lines(caplog, Status.STOP_CONTACT)) == 1
        assert len(lines(caplog, "reason")) == 1  # the outer link was named once its joint had felt it
        assert not cell.supervisor.reset(cell.t)  # it is still pushed
        self.pushed(cell, 100, push=0.0)
        assert cell.supervisor.reset(cell.t)
        assert cell.moving().status is Status.OK

    def standing(self):
        """An arm that stands, and a push within what its masses may be wrong by."""
        cell = Felt(Contact(mass_error=0.3))
        cell.cycle(200)
        allowed = cell.supervisor.contact.observer.threshold.copy()
        assert (allowed > 0.5).all()
        return cell, 0.9 * allowed

    def grows(self, cell, push):
        """Within a second, and stays for half of one."""
        for part in np.minimum(np.arange(1500) / 1000, 1.0):
            assert self.pushed(cell, push=part * push).status is Status.OK

    def test_what_the_model_may_be_wrong_by_is_no_contact(self):
        cell, push = self.standing()
        self.grows(cell, push)
        assert self.pushed(cell, 50, push=1.2 / 0.9 * push).status is Status.STOP_CONTACT

    def test_the_same_at_once_is_contact_that_its_change_shows(self):
        cell, push = self.standing()
        observer = cell.supervisor.contact.observer
        assert self.pushed(cell, 10, push=push).status is Status.STOP_CONTACT
        for _ in range(1000):
            cell.cycle()
            assert (np.abs(observer.residual) <= observer.threshold).all()
            assert not cell.supervisor.reset(cell.t)
        self.pushed(cell, 100, push=0.0)
        assert cell.supervisor.reset(cell.t)
        self.grows(cell, push)

    @pytest.mark.parametrize("torques", ["none", "nan", "shape"])
    def test_torques_that_are_none_stop_the_arm_at_once(self, torques, caplog):
        cell = Felt()
        cell.moving()

        def fault(cell):
            cell.measured(cell)
            cell.state.tau = {"none": None, "nan": np.array([1.0, NAN]), "shape": np.zeros(3)}[torques]

        command = cell.cycle(fault=fault)
        assert not command.qd.any()
        assert "tau must be 2 finite numbers, since contact is watched" in command.reason
        assert_latched(cell, Status.STOP_STATE_INVALID, caplog)

    def test_a_joint_state_that_is_none_is_still_named_as_that(self, caplog):
        cell = Felt()
        cell.moving()

        def fault(cell):
            cell.measured(cell)
            cell.state.qd[1] = NAN

        assert "qd must be 2 finite numbers" in cell.cycle(fault=fault).reason
        assert cell.supervisor.latched is Status.STOP_STATE_INVALID

    def test_retraction_goes_with_the_push_for_its_distance_and_stands(self):
        cell = Felt(Contact(reaction="retract", retract_speed=0.2, retract_distance=0.05))
        cell.moving()
        self.pushed(cell, 60)  # it has run down by then
        gone, going = 0.0, 0
        for _ in range(600):
            command = cell.cycle()
            assert command.status is Status.STOP_CONTACT
            if command.qd.any():
                going += 1
                assert command.qd @ self.PUSH > 0.0
                gone += float(np.linalg.norm(command.tool_velocity[:3])) * PERIOD
        assert 200 < going < 400  # 0.25 s, and its ramps
        assert 0.035 < gone < 0.065  # the tool is the far end of the touched link; ramps cut corners
        assert not command.qd.any()
        self.pushed(cell, 100, push=0.0)
        assert cell.supervisor.reset(cell.t)

    def test_nothing_is_retracted_from_what_has_gone(self):
        cell = Felt(Contact(reaction="retract"))
        cell.moving()
        while self.pushed(cell).status is Status.OK:
            pass
        self.pushed(cell, 20, push=0.0)
        assert not self.pushed(cell, 300, push=0.0).qd.any()

    def test_any_other_reason_to_stop_ends_a_retraction_for_good(self):
        cell = Felt(Contact(reaction="retract"))
        cell.moving()
        assert self.pushed(cell, 200).qd.any()
        cell.supervisor.permit = False
        cell.cycle()
        assert not cell.cycle(100).qd.any()
        cell.supervisor.permit = True
        assert not cell.cycle(300).qd.any()
        assert cell.supervisor.latched is Status.STOP_CONTACT

    def test_float_gives_way_as_long_as_it_is_pushed(self):
        cell = Felt(Contact(reaction="float"))
        cell.moving()
        command = self.pushed(cell, 300)
        assert command.qd @ self.PUSH > 0.0
        fastest = cell.supervisor.bounds.velocity * cell.supervisor.limits.retreat_fraction
        assert (np.abs(command.qd) <= fastest * (1 + 1e-9)).all()
        assert self.pushed(cell, 300, push=-self.PUSH).qd @ self.PUSH < 0.0
        assert not self.pushed(cell, 300, push=0.0).qd.any()
        assert cell.supervisor.latched is Status.STOP_CONTACT

    @pytest.mark.parametrize("reaction", ["stop", "retract", "float"])
    def test_an_arm_with_torques(self, reaction):
        """In its stop it is carried; to retract it is driven with the push; floating it is carried, and damped less."""
        settings = Contact(reaction=reaction)
        cell = Felt(settings, Fake(torque=True))
        g = ARM.gravity_torque(ARM.ready)
        cell.controller.tau[:] = g
        still = {"follow": False, "announced": False}
        assert cell.cycle(50, **still).status is Status.OK
        cell.push[:] = self.PUSH
        command = cell.cycle(200, **still)
        assert command.status is Status.STOP_CONTACT
        driven = command.tau - g
        if reaction == "retract":
            assert driven @ self.PUSH > 0.0
        else:
            assert np.allclose(driven, 0.0, atol=1e-9)
        cell.state.qd[:] = 0.005, -0.002
        if reaction == "float":
            tau = cell.cycle(**still).tau
            wanted = ARM.inverse_dynamics(ARM.ready, cell.state.qd, -settings.float_damping * cell.state.qd)
            assert np.allclose(tau, wanted, rtol=0, atol=1e-9)

    def test_it_changes_no_command_until_something_is_felt(self, law):
        """A panda with its real controller, whose ordinary cycles are one native call."""
        runs = []
        for contact in (None, Contact()):
            panda = Panda(law, Limits(contact=contact))
            before = [(panda.q.copy(), panda.qd.copy())]

            def measured(state, arm=panda.arm, before=before):
                q, qd = before[0]
                middle, speed, qdd = 0.5 * (q + state.q), 0.5 * (qd + state.qd), (state.qd - qd) / Panda.PERIOD
                state.tau = arm.inverse_dynamics(middle, speed, qdd)
                before[0] = state.q.copy(), state.qd.copy()

            panda.cycle(200, measured)
            runs.append((panda.q.copy(), panda.supervisor))
        assert runs[1][1].latched is None, runs[1][1].reason
        assert np.array_equal(runs[0][0], runs[1][0])

    def test_a_copy_stands_where_the_original_stood(self):
        cell = Felt(Contact(reaction="retract"))
        cell.moving()
        self.pushed(cell, 150)
        twin = copy.deepcopy(cell)
        for _ in range(100):
            assert np.array_equal(cell.cycle().qd, twin.cycle().qd)

    def test_lanes_have_no_torques(self):
        from elbowroom.avoidance.safety.lanes import Guard

        controller = Controller(er.load("panda"), Config(period=0.01), people=1, person_capsules=1)
        with pytest.raises(ConfigError, match=r"limits\.contact: expected none in lanes"):
            Guard(Supervisor(controller, Limits(contact=Contact())), [("coworker",)])
