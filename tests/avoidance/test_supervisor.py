"""The supervisor as a whole: status, stops, speed and separation with real pairs, torques, memory, random faults."""

from __future__ import annotations

import logging
import math
import tracemalloc
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from supervising import ARM, EXACT, LOG, PERIOD, PERSON, WALK, Cell, Fake, assert_latched, fast, lines

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Force, Goal, Limits, Obstacles, State, Status, Supervisor
from elbowroom.avoidance.safety.filter.approach_speed import TOUCHED
from elbowroom.avoidance.safety.filter.stages import SUMMARY
from elbowroom.avoidance.safety.stop import IMMEDIATE
from elbowroom.geometry import Body, Capsule, Sphere, distance
from strategies import examples

NAN, INF = math.nan, math.inf
NO_EVASION = {"evasion_distance": 0.0, "evasion_hands": 0.0, "evasion_gain": 100.0}


class Wants(Fake):
    """Wants what it is told to, with the pair table of a real controller."""

    def __init__(self, controller):
        super().__init__(controller.arm)
        self.real, self.layout, self.pairs = controller, controller.layout, controller.pairs
        self.all_rows, self.obstacles = controller.all_rows, controller.obstacles

    def step(self, t, dt, state, obstacles, goal):
        self.real.step(t, dt, state, obstacles, goal)
        return super().step(t, dt, state, obstacles, goal)


@cache  # compiled in the process that runs such a test, not in each that collects it
def real():
    return Controller(ARM, Config(self_collision=None), person_capsules=1)


def exact(**others):
    """People seen exactly, no evasion, accelerations that change at once: what people's promise alone does."""
    return Limits(**EXACT | NO_EVASION | {"jerk": 0.0} | others)


# ---- the interface
def test_it_steps_like_a_controller_and_keeps_one_command():
    controller = Controller(ARM, person_capsules=2)
    cell = Cell(controller, Limits())
    first = cell.supervisor.step(0.001, PERIOD, cell.state, cell.obstacles, cell.goal)
    assert first.status is Status.SLOWING_HUMAN  # it waits for the first frame
    assert first is cell.supervisor.step(0.002, PERIOD, cell.state, cell.obstacles, cell.goal)
    qd = first.qd
    cell.k = 2
    cell.cycle(10)
    assert cell.supervisor.command.qd is qd  # a driver may keep the array


def test_an_ordinary_command_is_the_controllers_to_the_bit():
    cell = Cell()
    cell.controller.wanted[:] = 0.123, -0.456
    cell.cycle(200)
    command = cell.cycle()
    assert np.array_equal(command.qd, [0.123, -0.456])
    assert command.status is Status.OK
    assert command.reason == ""
    assert np.array_equal(command.info, cell.controller.command.info)


def test_a_real_controller_reaches_its_goal_under_supervision():
    controller = Controller(ARM, person_capsules=2)
    cell = Cell(controller, Limits())
    there = ARM.pose(ARM.ready + np.array([0.4, 0.3]))[:3, 3]
    cell.goal.position[:] = there
    cell.cycle(6000)
    assert cell.supervisor.latched is None
    assert np.linalg.norm(ARM.pose(cell.state.q)[:3, 3] - there) < 0.01  # the attraction is slow near its end


def test_a_stop_of_the_first_cycle_stays_at_zero_whatever_the_next_one_measures():
    """The speeds of a stop never grow: not even to the speed that is measured once the first command was zero."""
    cell = Cell()
    step = cell.supervisor.step
    assert not step(0.001, PERIOD, cell.state, cell.obstacles, None).qd.any()
    cell.state.qd[:] = 2.0
    cell.k = 1
    assert not cell.cycle(follow=False).qd.any()
    assert cell.supervisor.latched is Status.STOP_INTERNAL


def test_joints_of_no_numbers_in_the_first_cycle_stop_the_arm():
    cell = Cell()
    cell.state.q = np.array([None, 0.0], dtype=object)
    command = cell.cycle(follow=False)
    assert command.status is Status.STOP_STATE_INVALID
    assert not command.qd.any()


def test_the_first_command_starts_from_the_measured_speed():
    cell = Cell()
    cell.state.qd[:] = 0.4, -0.2
    cell.controller.wanted[:] = 0.4, -0.2
    assert np.array_equal(cell.cycle().qd, [0.4, -0.2])
    fast_start = Cell()
    fast_start.state.qd[:] = 3.2, 0.0  # over the limit, but not by a tenth: held there
    fast_start.controller.wanted[:] = 3.0, 0.0
    assert fast_start.cycle(follow=False).qd[0] == 3.0


# ---- status
def test_precedence():
    """A stop, IN_COLLISION, hold, slowing for people, then for limits, the controller's own: each hides the rest."""
    cell = Cell(Wants(real()), exact(jump_allowance=10.0), person=PERSON[:1])
    wants = cell.controller
    cell.cycle(600)
    wants.status = Status.AVOIDING
    assert cell.cycle().status is Status.AVOIDING
    wants.wanted[:] = 50.0, 0.0  # over every limit
    assert cell.cycle(follow=False).status is Status.SLOWING_LIMIT
    _, way = towards(cell, 0.03)
    wants.wanted[:] = way * 50.0
    assert cell.cycle(20, follow=False).status is Status.SLOWING_HUMAN
    cell.goal.valid_for = 0.0
    assert cell.cycle(follow=False).status is Status.HOLD_COMMAND_TIMEOUT
    overlap(cell)
    assert cell.cycle(follow=False).status is Status.IN_COLLISION
    cell.supervisor.stop()
    assert cell.cycle(follow=False).status is Status.STOP_INTERNAL


def overlap(cell):
    tip = ARM.pose(cell.state.q)[:3, 3]
    cell.person = Sphere(tip, 0.05).row()[None]


def towards(cell, gap):
    """Stretches the arm out and puts a sphere `gap` beside its tip; joint speeds that bring the tip there at 1 m/s."""
    q = cell.state.q
    q[:] = 0.0
    Jv, _ = ARM.jacobian(q)
    tip, way = ARM.pose(q)[:3, 3], np.array([1.0, 0.0]) / np.linalg.norm(Jv[:, 0])
    along = Jv @ way
    cell.person = Sphere(tip + along * (gap + 0.04 + 0.1), 0.1).row()[None]
    return along, way


# ---- speed and separation
def approach_speeds(cell, qd):
    """(distance, speed towards the person) of every capsule of the arm, by geometry.distance and differences."""
    body, h = Body(ARM), 1e-6
    person = Capsule(cell.person[0, :3], cell.person[0, 3:6], float(cell.person[0, 6]))
    now, then = ([distance(c, person).distance for c in body.capsules(cell.state.q + qd * step)] for step in (-h, h))
    return [((a + b) / 2, (a - b) / (2 * h)) for a, b in zip(now, then, strict=True)]


def margin(cell, qd, grown=0.0, pace=WALK):
    """What the worst capsule leaves of the speed (m/s) from which the command's own stop ramp ends in time."""
    bounds, limits, reaction = cell.supervisor.bounds, cell.supervisor.limits, cell.supervisor.reaction
    stopping = (np.abs(qd) / (bounds.acceleration * limits.stop_factor)).max()
    needed = limits.clearance + pace * (reaction + stopping) + grown

    def allowed(d):
        drift = limits.creep * (1.0 if d > 0.0 else TOUCHED)
        return max(drift, (d - needed) / (reaction + stopping / 2))

    return min(allowed(d) - u for d, u in approach_speeds(cell, qd))


def assert_as_fast_as_allowed(cell, command, **person):
    """The stop ramp ends in time, and would not from twice the speed: what a cycle may add, and turning, cost less."""
    # of central differences of a distance of order 1 over 1e-6 rad
    assert margin(cell, command.qd, **person) >= -1e-4
    assert margin(cell, command.qd * 2.0, **person) < 0
    assert command.margin >= 0.0
    # in a cycle that finds a little more room than the last one, the acceleration is what slows it
    assert command.status in (Status.SLOWING_HUMAN, Status.SLOWING_LIMIT)


def steady(cell, cycles=300):
    """The last command of cycles in which an arm is held in its place."""
    return cell.cycle(cycles, follow=False)


@pytest.mark.parametrize("gap", [0.2, 0.4, 0.6])
def test_the_approach_is_as_fast_as_the_formula_says(gap, caplog):
    caplog.set_level(logging.INFO, logger=LOG)
    cell = Cell(Wants(real()), exact(velocities=(50.0, 50.0), accelerations=(100.0, 100.0)))
    _, way = towards(cell, gap)
    cell.controller.wanted[:] = way * 20.0  # 20 m/s towards the person
    assert_as_fast_as_allowed(cell, steady(cell))
    assert len(lines(caplog, "SLOWING_HUMAN")) >= 1


@given(st.integers(0, 2**32 - 1))
@examples(60)
def test_no_pair_approaches_faster_than_it_may(seed):
    rng = np.random.default_rng(seed)
    cell = ssm()
    cell.state.q[:] = rng.uniform(-2.5, 2.5, 2)
    cell.state.qd[:] = 0.0
    centre = rng.normal(size=3) * [0.7, 0.3, 0.7]
    velocity = rng.normal(size=3) * 2.0
    cell.person = Capsule(centre, centre + rng.normal(size=3) * 0.3, 0.1).row(velocity, velocity)[None]
    cell.controller.wanted[:] = rng.normal(size=2) * 30.0
    cell.obstacles.nobody(cell.t)
    cell.cycle(2, see=False, fault=lambda c: c.obstacles.nobody(c.t), follow=False)  # the last one has gone
    cell.supervisor.limiter.last[:] = 0.0
    command = cell.cycle(follow=False)
    assert cell.supervisor.latched is None, cell.supervisor.reason
    left = margin(cell, command.qd, pace=max(WALK, float(np.linalg.norm(velocity))))
    # of the central differences, where the nearest point jumps by a kink
    assert left >= -1e-4
    assert -1e-4 <= command.margin <= left + 1e-3  # for every command of this cycle, not for this one alone
    if command.status is Status.SLOWING_HUMAN:
        assert np.linalg.norm(command.qd) < np.linalg.norm(cell.controller.wanted)


@cache
def ssm():
    at_once = {"velocities": (50.0, 50.0), "accelerations": (1000.0,) * 2, "clear_confirm": 0.0, "jump_confirm": 0.0}
    return Cell(Wants(real()), exact(**at_once, max_human_speed=100.0))


def test_motion_away_is_never_slowed():
    cell = Cell(Wants(real()), exact(jump_allowance=10.0))
    for gap in (0.01, 0.2, 0.5):
        _, way = towards(cell, gap)
        cell.controller.wanted[:] = -way * 0.3
        command = cell.cycle(100, follow=False)
        assert all(speed <= 0 for _, speed in approach_speeds(cell, command.qd))  # the scene is as meant
        assert np.array_equal(command.qd, -way * 0.3)
        assert command.status is Status.OK


def test_a_person_who_comes_fast_counts_as_fast():
    for speed in (1.0, 2.5):
        cell = Cell(Wants(real()), exact(velocities=(50.0, 50.0), accelerations=(100.0, 100.0)))
        along, way = towards(cell, 0.4)
        cell.person[0, 7:13] = [*(-speed * along), *(-speed * along)]
        cell.controller.wanted[:] = way * 20.0
        assert_as_fast_as_allowed(cell, steady(cell), pace=max(WALK, speed))


def test_old_data_slows_too():
    """The person may have come nearer by 1.6 m/s since."""
    cell = Cell(Wants(real()), exact(velocities=(50.0, 50.0), accelerations=(100.0, 100.0)))
    _, way = towards(cell, 0.6)
    cell.controller.wanted[:] = way * 20.0
    steady(cell)
    command = cell.cycle(80, follow=False, see=False)
    assert_as_fast_as_allowed(cell, command, grown=WALK * 80 * PERIOD)
    assert cell.supervisor.limiter.out.summary[SUMMARY.index("people_distance")] == pytest.approx(0.6, abs=1e-9)


def test_without_separation_only_overlap_counts():
    cell = Cell(Wants(real()), exact(separation=False))
    _, way = towards(cell, 0.05)
    cell.controller.wanted[:] = way * 0.5
    assert np.allclose(cell.cycle(100, follow=False).qd, way * 0.5)


def test_somebody_near_is_retreated_from():
    """The wish is to stand; the arm opens the distance as the row of evasion asks, all the more the nearer.

    What has no name may be a hand: 0.12 + 0.14 m.
    """
    speeds = []
    for gap in (0.27, 0.2, 0.02):
        cell = Cell(Wants(real()), Limits(**EXACT))
        towards(cell, gap)
        command = cell.cycle(300, follow=False)
        assert not command.status.stops
        speeds.append(approach_speeds(cell, command.qd)[-1][1])  # of the outer link
    assert speeds[0] == 0.0  # beyond evasion_distance + evasion_hands there is nothing to be asked for
    assert speeds[2] < speeds[1] < 0.0


def test_a_thing_is_come_near_slowly():
    """d falls by thing_gain (d - keep_off) at most, whatever is wanted; people's promise is not for things."""
    controller = Controller(ARM, Config(self_collision=None), people=1, others=1, person_capsules=1)
    limits = exact(thing_weight=1e6)  # so that the row hardly yields
    for gap, wanted in ((0.05, 0.1), (0.05, 0.5), (0.3, 0.5)):
        cell = Cell(Wants(controller), limits, person=PERSON[:1])
        _, way = towards(cell, gap)
        thing, cell.person = cell.person, PERSON[:1]
        cell.obstacles.rows[1] = thing[0]
        cell.controller.wanted[:] = way * wanted
        command = cell.cycle(300, follow=False)
        tip = np.linalg.norm(ARM.jacobian(cell.state.q)[0] @ command.qd)
        # the row yields by its price over its weight: a millionth of what it holds back
        assert tip == pytest.approx(min(wanted, limits.thing_gain * (gap - limits.keep_off)), rel=1e-3)


# ---- stopping and starting
def test_the_operators_stop(caplog):
    cell = Cell()
    before = cell.moving().qd
    cell.supervisor.stop("wrong part")
    assert cell.supervisor.latched is None  # from the next cycle on
    command = cell.cycle()
    assert command.status is Status.STOP_INTERNAL
    assert command.reason == "operator: wrong part"
    assert 0 < command.qd[0] < before[0]
    assert_latched(cell, Status.STOP_INTERNAL, caplog)


def test_a_stop_asked_for_between_cycles_is_not_reset_away():
    cell = Cell()
    cell.moving()
    cell.supervisor.stop("one")
    cell.cycle(100)
    cell.supervisor.stop("two")
    assert not cell.supervisor.reset(cell.t)
    cell.cycle()
    assert not cell.supervisor.reset(cell.t)  # it was a reason in the last cycle
    cell.cycle()
    assert cell.supervisor.reset(cell.t)


def test_reset_without_a_stop_changes_nothing():
    cell = Cell()
    cell.moving()
    assert cell.supervisor.reset(cell.t)
    assert cell.controller.resets == 0
    assert np.array_equal(cell.cycle().qd, [0.6, -0.3])


def test_after_a_reset_the_arm_starts_from_rest():
    cell = Cell()
    cell.moving()
    cell.supervisor.stop()
    cell.cycle(100)
    assert cell.supervisor.reset(cell.t)
    assert cell.controller.resets == 1
    first = cell.supervisor.limits.jerk * 10.0 * PERIOD**2  # of an acceleration that begins at none
    assert np.abs(cell.cycle().qd).max() == pytest.approx(first, rel=1e-9)


def test_a_stop_keeps_to_position_limits():
    """Joint 1 is far faster, so the ramp along the direction is long; joint 2 is about to reach its limit."""
    cell = Cell()
    cell.controller.wanted[:] = 3.0, 0.45
    cell.cycle(400, follow=False)
    a, h = 10.0, 11 * PERIOD
    cell.state.q[1] = ARM.model.upper[1] - (0.45 * h + 0.45**2 / (2 * a))  # just enough for a
    cell.supervisor.state_checks.forget()  # put there, and no jump
    cell.supervisor.stop()
    for _ in range(300):
        cell.cycle()
        assert cell.supervisor.latched is Status.STOP_INTERNAL
        assert cell.state.q[1] <= ARM.model.upper[1] + 1e-12


@pytest.mark.parametrize("method", ["operational", "joint"])
def test_a_stop_with_torques_brakes_and_holds(method):
    controller = Controller(ARM, Config(controller="F", force=Force(method=method)), person_capsules=1)
    cell = Cell(controller, Limits(), person=PERSON[:1])
    cell.goal.position[:] = ARM.pose(ARM.ready + np.array([0.8, 0.4]))[:3, 3]
    q, qd = cell.state.q, cell.state.qd

    def run(cycles):
        for _ in range(cycles):
            command = cell.cycle(follow=False, announced=False)
            qd[:] += ARM.forward_dynamics(q, qd, command.tau) * PERIOD
            q[:] += qd * PERIOD
        return command

    run(300)
    assert np.abs(qd).max() > 0.1
    cell.supervisor.stop()
    before = np.abs(qd).max()
    run(40)
    assert np.abs(qd).max() < 0.6 * before
    run(400)
    assert np.abs(qd).max() < 1e-3
    at = q.copy()
    command = run(200)
    assert np.abs(q - at).max() < 1e-4  # it does not sag
    assert np.allclose(command.tau, ARM.gravity_torque(q), atol=0.01)
    assert cell.supervisor.reset(cell.t)
    run(100)
    assert np.abs(qd).max() > 0.01


def test_a_wait_with_torques_holds_the_arm():
    controller = Controller(ARM, Config(controller="F", force=Force(method="operational")), person_capsules=1)
    cell = Cell(controller, Limits(), person=PERSON[:1])
    command = cell.cycle(see=False, fault=lambda c: c.obstacles.nobody(c.t), follow=False)
    assert command.status is Status.SLOWING_HUMAN
    assert np.allclose(command.tau, ARM.gravity_torque(ARM.ready), atol=1e-9)


# ---- rule 5
def test_it_allocates_nothing_that_stays():
    cell = Cell(Controller(ARM, person_capsules=2), Limits(record=0.5, record_after=0.1))
    step, state, obstacles, goal = cell.supervisor.step, cell.state, cell.obstacles, cell.goal
    obstacles.see(PERSON, 0.0)

    def run(first, cycles):
        for k in range(first, first + cycles):
            t = k * PERIOD
            state.t = t
            if k % 30:
                obstacles.stamps[0] = t
            step(t, PERIOD, state, obstacles, goal)

    run(1, 2000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(2001, 10_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert cell.supervisor.latched is None
    assert grown < 10_000  # a few numbers and events; an array kept a cycle would be over a million


@pytest.mark.slow
def test_faults_without_end_take_no_memory_without_end(caplog):
    caplog.set_level(logging.CRITICAL, logger=LOG)  # pytest keeps every line
    cell = Cell(limits=fast(record=0.2, record_after=0.05))
    rng = np.random.default_rng(0)

    def run(cycles):
        for _ in range(cycles):
            kind = rng.integers(5)
            cell.obstacles.rows[0, 0] = [NAN, 5.0, 900.0, 5.0, -5.0][kind]
            cell.controller.error = ValueError("x") if kind == 3 else None
            cell.cycle(follow=False, fault=(lambda c: NAN) if kind == 4 else None)
            cell.supervisor.reset(cell.t)

    run(2000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(3000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000  # a thousand events of a hundred bytes or two, exchanged for others


# ---- random faults
FAULTS = ("nothing", "nothing", "nothing", "unseen", "nobody", "bad frame", "jump", "bad q", "bad qd", "old state")
FAULTS += (
    "elsewhere",
    "frozen",
    "back in time",
    "step",
    "late",
    "raise",
    "nan command",
    "huge command",
    "old goal",
    "no permit",
    "stop",
    "reset",
)


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_random_faults(seed):
    """Whatever comes, commands are finite and within limits, a stop stays until a reset, and no reset is early."""
    rng = np.random.default_rng(seed)
    cell = Cell(limits=fast(record=0.05, record_after=0.01, hold_time=0.05))
    supervisor, bounds = cell.supervisor, cell.supervisor.bounds
    most = bounds.acceleration * cell.supervisor.limits.stop_factor
    last = np.zeros(2)
    cell.controller.wanted[:] = rng.normal(size=2)
    for _ in range(30):
        fault = str(rng.choice(FAULTS))
        cell.controller.error = None
        cell.goal = Goal([0.5, 0, 0], t=cell.t, valid_for=0.0 if fault == "old goal" else INF)
        cell.controller.wanted[:] = rng.normal(size=2) * (1e6 if fault == "huge command" else 1.0)
        if fault == "nan command":
            cell.controller.wanted[int(rng.integers(2))] = rng.choice([NAN, INF, -INF])
        if fault == "raise":
            cell.controller.error = RuntimeError("x")
        if fault == "stop":
            supervisor.stop()
        if fault == "jump":
            cell.person = PERSON + np.r_[rng.normal(size=3), np.zeros(10)]
        supervisor.permit = fault != "no permit"
        if fault == "reset":
            supervisor.reset(cell.t)
        for _ in range(int(rng.integers(1, 30))):
            latched = supervisor.latched
            good = cell.state.q.copy(), cell.state.qd.copy()
            command = cell.cycle(
                see=fault not in ("unseen", "nobody"),
                late=int(rng.integers(1, 20)) if fault == "late" else 5000 if fault == "step" else 0,
                fault=lambda c, f=fault: spoiled(c, f),
                follow=False,
                announced=False,
            )
            # `cycle` has checked: finite, within velocity and effort limits
            if latched is not None:
                assert supervisor.latched is not None
                assert command.status in (latched, supervisor.latched)
            if supervisor.latched in IMMEDIATE:
                assert not command.qd.any()
            else:
                assert (np.abs(command.qd - last) <= most * max(command.dt, 0.0) * (1 + 1e-9) + 1e-12).all()
            if supervisor.latched is not None:
                assert command.status is supervisor.latched
                assert np.linalg.norm(command.qd) <= np.linalg.norm(last) + 1e-12
            cell.state.q[:], cell.state.qd[:] = good
            if fault != "frozen":
                cell.state.q += command.qd * PERIOD
                cell.state.qd[:] = command.qd
            last = command.qd
    # and when all is well again, it can be brought back
    cell.controller.error, supervisor.permit = None, True
    cell.controller.wanted[:] = 0.1, 0.1
    cell.goal = Goal([0.5, 0, 0])
    cell.cycle(400)
    assert supervisor.reset(cell.t)
    cell.cycle(100)
    assert supervisor.latched is None


def spoiled(cell, fault):
    """What the supervisor is given instead."""
    if fault == "nobody":
        cell.obstacles.nobody(cell.t)
    elif fault == "bad frame":
        cell.obstacles.rows[0, 3] = NAN
    elif fault == "bad q":
        cell.state.q[0] = NAN
    elif fault == "elsewhere":
        cell.state.q[0] += 1.5
    elif fault == "bad qd":
        cell.state.qd[1] = INF
    elif fault == "old state":
        cell.state.t -= 0.1
    elif fault == "back in time":
        return cell.t - 0.5
    return None


@pytest.mark.parametrize("name", ["scara", pytest.param("stanford", marks=pytest.mark.slow)])
def test_any_controller_of_the_catalogue_can_be_supervised(name):
    arm = er.load(name)
    controller = Controller(arm, people=1, person_capsules=1)
    supervisor = Supervisor(controller)
    state, obstacles, goal = State(arm.ready.copy()), Obstacles(1, 0, 1), Goal(arm.pose(arm.ready)[:3, 3] + 0.1)
    for k in range(1, 200):
        state.t = k * PERIOD
        obstacles.see(PERSON[:1], state.t)
        command = supervisor.step(state.t, PERIOD, state, obstacles, goal)
        assert supervisor.latched is None, supervisor.reason
        state.q += command.qd * PERIOD
        state.qd[:] = command.qd
    assert command.qd.any()
