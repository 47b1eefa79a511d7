"""Limits: settings in and out of TOML, bounds of joints, the speed formulas, the joints' box, the compiled limiter."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Limits, MovingAverage, Sensor, State, Status, Supervisor
from elbowroom.avoidance import settings as tables
from elbowroom.avoidance.control.pushes import WIDTH
from elbowroom.avoidance.safety.filter.approach_speed import (
    TOUCHED,
    separation_distance,
    separation_speed,
)
from elbowroom.avoidance.safety.filter.joint_speed_limits import braking_speed, joint_box, ramp
from elbowroom.avoidance.safety.filter.limiter import Limiter
from elbowroom.avoidance.safety.filter.stages import SUMMARY
from elbowroom.avoidance.safety.limits import UNLIMITED, Facts, bounds
from elbowroom.avoidance.safety.perception import CLOCK, TOLD
from elbowroom.errors import ConfigError
from elbowroom.geometry import Body, Capsule, Person, pair_row
from elbowroom.geometry.distance import DISTANCE, LAMBDA_X, NORMAL
from elbowroom.model import LinkCapsule

ARM = er.load("planar2")
PANDA = er.load("panda")


# ---- settings
def test_defaults_are_those_of_the_safety_page():
    limits = Limits()
    assert (limits.max_age, limits.human_speed, limits.max_overruns, limits.max_overrun) == (None, 1.6, 3, 10)
    assert limits.sensor == Sensor.skeleton_camera()
    assert limits.oldest == limits.sensor.longest_age
    assert limits.separation
    assert limits.mode == "separation"
    assert limits.clearance == pytest.approx(3 * 0.01 + 0.02)  # the sensor's noise, the arm's error


@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(velocities=(1.0, 2.0), max_age=0.4, in_collision="stop", period=0.002),
        Limits(sensor=Sensor.motion_capture(), max_age=0.2, mode="both"),
    ],
)
@pytest.mark.parametrize("comments", [False, True])
def test_toml_round_trip(limits, comments):
    assert tables.loads(Limits, tables.dumps(limits, comments=comments)) == limits


def test_every_setting_has_a_unit_or_none_and_a_meaning():
    for row in tables.rows(Limits()):
        assert row.doc, row.name


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"creep": 0.06}, "Limits: creep: expected a number >= 0.01 and <= 0.05 \\(m/s\\); got 0.06"),
        ({"mode": "force"}, "Limits: mode: expected .*power_and_force"),
        ({"sensor": "camera"}, "Limits: sensor: expected a Sensor; got 'camera'"),
        ({"evasion_gain": 0.0}, "Limits: evasion_gain: expected a number > 0"),
        ({"evasion_effort": 0.0}, "Limits: evasion_effort: expected a number > 0 and <= 10"),
        ({"evasion_distance": -0.1}, "Limits: evasion_distance: expected a number >= 0"),
        ({"keep_off": 20.0}, "Limits: keep_off: expected a number >= 0 and <= 1 "),  # in mm
        ({"thing_weight": math.inf}, "Limits: thing_weight: expected a finite number > 0"),
        ({"robot_uncertainty": math.nan}, "Limits: robot_uncertainty: expected a finite number >= 0"),
        ({"jerk": -1.0}, "Limits: jerk: expected a number >= 0"),
        ({"max_age": -0.1}, "Limits: max_age: expected a number > 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong, message):
    with pytest.raises(ConfigError, match=message):
        Limits(**wrong)


@pytest.mark.parametrize("name", ["deceleration", "person_uncertainty"])
def test_settings_that_are_no_more_are_unknown(name):
    with pytest.raises(ConfigError, match=f"limits.toml: {name}: unknown key"):
        tables.loads(Limits, f"{name} = 0.1", "limits.toml")


# ---- bounds
def test_bounds_of_an_arm():
    found = bounds(Limits(torque_fraction=0.5), PANDA, PANDA.model.lower, PANDA.model.upper)
    assert np.array_equal(found.velocity, PANDA.model.velocity)
    assert np.array_equal(found.effort, PANDA.model.effort * 0.5)
    assert np.array_equal(found.acceleration, np.full(7, 10.0))
    assert found.table.shape == (5, 7)


def test_what_a_model_lacks_is_finite_for_compiled_code():
    puma = er.load("puma560")
    found = bounds(Limits(), puma, np.full(6, -np.inf), np.full(6, np.inf))
    assert np.array_equal(found.velocity, np.full(6, 2.0))
    assert np.isfinite(found.table).all()
    assert (found.upper == UNLIMITED).all()


def test_each_joints_own_limits():
    limits = Limits(velocities=(1.0, 2.0), accelerations=(3.0, 4.0))
    found = bounds(limits, ARM, ARM.model.lower, ARM.model.upper)
    assert found.velocity.tolist() == [1.0, 2.0]
    assert found.acceleration.tolist() == [3.0, 4.0]


# ---- speed and separation
WORKED = {"human_speed": 1.6, "reaction": 0.1, "deceleration": 5.0, "clearance": 0.2}


@pytest.mark.parametrize("distance, speed", [(0.36, 0.0), (0.5, 0.31), (1.0, 1.19)])
def test_the_worked_numbers(distance, speed):
    """T_r 0.1 s, a 5 m/s2, C + Z 0.2 m: stand still at 0.36 m, 0.31 m/s at 0.5 m, 1.19 m/s at 1 m."""
    assert separation_speed(distance, **WORKED) == pytest.approx(speed, abs=0.005)  # printed with two digits
    assert separation_speed(0.36, **WORKED) == pytest.approx(0.0, abs=1e-12)
    assert separation_speed(0.3601, **WORKED) > 0.0


@given(st.floats(0.0, 20.0), st.floats(0.0, 5.0), st.floats(0.0, 1.0), st.floats(0.1, 50.0), st.floats(0.0, 1.0))
def test_the_speed_is_the_root_of_the_separation(v, human, reaction, a, clearance):
    d = separation_distance(v, human, reaction, a, clearance)
    # the root of a quadratic with terms up to 50 x 20, less numbers of order 50
    assert separation_speed(d, human, reaction, a, clearance) == pytest.approx(v, abs=1e-6, rel=1e-9)


@given(st.floats(-1.0, 5.0), st.floats(0.1, 4.0))
def test_faster_people_and_shorter_distances_mean_slower_arms(distance, human):
    others = {"reaction": 0.1, "deceleration": 5.0, "clearance": 0.2}
    v = separation_speed(distance, human, **others)
    assert v >= 0.0
    assert separation_speed(distance, human + 0.1, **others) <= v + 1e-12
    assert separation_speed(distance + 0.1, human, **others) >= v - 1e-12


def test_following_the_speed_never_brakes_harder_than_promised():
    """A person walks up at v_h while the arm comes at v_max: its speed falls by less than a, and is zero in time."""
    d, dt, a = 3.0, 1e-4, WORKED["deceleration"]
    v = separation_speed(d, **WORKED)
    while d > 0.0:
        d -= (v + WORKED["human_speed"]) * dt
        faster, v = v, separation_speed(d, **WORKED)
        assert faster - v <= a * dt * (1 + 1e-6)  # the curve is convex: its chord is less steep
    assert v == 0.0


def test_what_comes_before_the_filter_does_not_count_in_the_reaction_time():
    for duration in (0.0, 0.05):
        controller = Controller(ARM, Config(smoothing=MovingAverage(duration)), person_capsules=1)
        supervisor = Supervisor(controller, Limits(latency=0.03))
        assert supervisor.reaction == pytest.approx(0.03 + 0.001, abs=1e-15)
    assert controller.delay > 0.02


# ---- braking
@given(st.floats(0.0, 10.0), st.floats(0.1, 100.0), st.floats(1e-4, 0.1))
def test_a_joint_at_the_braking_speed_can_stop(margin, a, horizon):
    v = braking_speed(margin, a, horizon)
    # a difference of square roots: absolute rounding of a horizon
    assert v * horizon + v * v / (2 * a) == pytest.approx(margin, abs=1e-9)
    assert v <= math.sqrt(2 * a * margin) + 1e-12
    after = braking_speed(margin - v * horizon, a, horizon)
    assert v - after <= a * horizon * (1 + 1e-9)


@pytest.mark.parametrize("margin", [0.0, -1e-9, -1.0])
def test_at_and_beyond_the_limit_there_is_no_speed(margin):
    assert braking_speed(margin, 10.0, 0.01) == 0.0


# ---- the stop ramp and the joints' box
HORIZON, REACTION = 0.011, 0.02  # s


def joints(rng):
    """Bounds of a panda, and a state that some command before has led to: q, that command, its change, dt.

    From where it began that command left room to brake, and for the ramp, before the joints' ends.
    """
    found = bounds(Limits(), PANDA, PANDA.model.lower, PANDA.model.upper)
    dt = 0.001 * rng.choice([1, 1, 10])
    start = rng.uniform(found.lower, found.upper)
    last = rng.uniform(-1, 1, 7) * found.velocity * rng.choice([0.0, 0.1, 1.0])
    lasting = HORIZON + (np.abs(last) / (found.acceleration * 1.5)).max() / 2
    back, forth = (
        np.minimum(braking_speed(margin, found.acceleration, HORIZON), margin / lasting)
        for margin in (start - found.lower, found.upper - start)
    )
    last = np.clip(last, -back, forth)
    return found, start + last * dt, last, rng.uniform(-1, 1, 7) * found.acceleration * dt, dt


def box_of(found, q, last, change, dt, *, jerk=None, pace=1.0):
    return joint_box(q, last, change, found, SimpleNamespace(stop_factor=1.5, jerk=jerk, horizon=HORIZON), dt, pace)


seeds = given(st.integers(0, 2**32 - 1))


@seeds
def test_the_ramp_runs_down_along_its_direction(seed):
    rng = np.random.default_rng(seed)
    stop = rng.uniform(1.0, 30.0, 4)
    first = last = rng.normal(size=4) * rng.choice([0.0, 1e-9, 1.0], 4)
    cycles = math.ceil((np.abs(first) / stop).max() / 0.001 - 1e-6)
    for _ in range(cycles + 1):
        left, rest = ramp(last, stop, 0.001)
        after = last * left
        assert (np.abs(last - after) <= stop * 0.001 * (1 + 1e-9)).all()  # one product
        assert rest == pytest.approx((np.abs(after) / stop).max(), abs=1e-12)  # as long as that one takes
        # along the first speeds: as much is left of each of them, but for the rounding of a few hundred products
        left = float(after @ first) / (first @ first or 1.0)
        assert np.allclose(after, left * first, rtol=0, atol=1e-12)
        assert left <= 1.0
        last = after
    assert not last.any()


@seeds
@pytest.mark.parametrize("jerk", [None, 20.0])
@pytest.mark.parametrize("pace", [1.0, 0.2])
def test_the_box_is_what_the_joints_can_do(jerk, pace, seed):
    rng = np.random.default_rng(seed)
    found, q, last, change, dt = joints(rng)
    box = box_of(found, q, last, change, dt, jerk=jerk, pace=pace)
    low, up = box.low, box.up
    assert (low <= up).all()
    assert box.last is last
    assert np.array_equal(box.ramp, last * ramp(last, found.acceleration * 1.5, dt)[0])
    step, most = found.acceleration * dt, found.velocity * pace
    forth, back = (braking_speed(room, found.acceleration, HORIZON) for room in (found.upper - q, q - found.lower))
    for j in range(7):
        ends = low[j], up[j]
        # the acceleration allows for it, or the joint's end asks for it: sums of numbers of order 1
        for v in ends:
            assert abs(v - last[j]) <= step[j] + 1e-12 or v in (forth[j], -back[j])
            assert -back[j] <= v <= forth[j]
            assert abs(v) <= max(most[j], abs(last[j]) - step[j]) + 1e-12
        if jerk is not None and abs(last[j]) <= most[j]:
            swing = jerk * step[j] * dt
            held = [max(0.0, change[j]) + swing, min(0.0, change[j]) - swing]
            assert up[j] - last[j] <= held[0] + 1e-12 or up[j] == -back[j]
            assert low[j] - last[j] >= held[1] - 1e-12 or low[j] == forth[j]
    corners = np.maximum(np.abs(low), np.abs(up))
    assert (corners / (found.acceleration * 1.5)).max() <= box.stopping + 1e-12


@seeds
def test_the_box_leaves_room_for_the_ramp_before_the_ends(seed):
    """All joints of a ramp stop together, after T_s: half of that at full speed, besides the horizon."""
    rng = np.random.default_rng(seed)
    found, q, last, change, dt = joints(rng)
    box = box_of(found, q, last, change, dt)
    low, up = box.low, box.up
    lasting, step = HORIZON + box.stopping / 2, found.acceleration * dt
    forth, back = found.upper - q, q - found.lower
    # or the joint brakes as hard as it may
    assert ((up * lasting <= np.maximum(forth, 0) + 1e-12) | (up <= np.maximum(last - step, 0) + 1e-12)).all()
    assert ((-low * lasting <= np.maximum(back, 0) + 1e-12) | (-low <= np.maximum(-last - step, 0) + 1e-12)).all()
    # and where that room is there, a joint may go on as it does
    margin = np.minimum(forth, back)
    free = np.abs(last) <= np.minimum(margin / lasting, braking_speed(margin, found.acceleration, HORIZON))
    assert ((low <= last) & (last <= up))[free].all()


@seeds
@pytest.mark.parametrize("jerk", [None, 20.0])
@pytest.mark.parametrize("pace", [1.0, 0.2])
def test_the_box_of_a_mirrored_joint_is_mirrored(jerk, pace, seed):
    found, q, last, change, dt = joints(np.random.default_rng(seed))
    mirrored = dataclasses.replace(found, lower=-found.upper, upper=-found.lower)
    box = box_of(found, q, last, change, dt, jerk=jerk, pace=pace)
    other = box_of(mirrored, -q, -last, -change, dt, jerk=jerk, pace=pace)
    for ours, theirs in ((box.low, -other.up), (box.up, -other.low), (box.ramp, -other.ramp)):
        assert np.array_equal(ours, theirs)
    assert box.stopping == other.stopping


def test_without_a_limit_of_jerk_the_whole_acceleration_is_there_at_once():
    found = bounds(Limits(), PANDA, PANDA.model.lower, PANDA.model.upper)
    zero = np.zeros(7)
    free, smooth = (box_of(found, PANDA.ready, zero, zero, 0.001, jerk=jerk) for jerk in (None, 20.0))
    assert np.allclose(free.up, 10.0 * 0.001, rtol=1e-12)
    assert np.allclose(smooth.up, 20.0 * 10.0 * 0.001**2, rtol=1e-12)
    assert np.array_equal(free.low, -free.up)


# ---- the compiled limiter
def limiter_of(controller, limits):
    """A limiter with memory of its own: it, and the arrays that others fill."""
    layout = controller.layout
    found = bounds(limits, PANDA, PANDA.model.lower, PANDA.model.upper)
    places = layout.people, layout.others, layout.person_capsules
    slots = layout.people * layout.person_capsules
    x = SimpleNamespace(
        clock=np.zeros(len(CLOCK)),
        told=np.zeros(len(TOLD)),
        pace=np.zeros((slots, 2)),
        rows=np.zeros((layout.rows + slots, 13)),
        bounds=found,
        pairs=np.zeros((len(layout.pairs), WIDTH)),
    )
    known = Facts(layout, places, 0.001, REACTION, False, found, None)
    x.limiter = Limiter(PANDA.model, known, limits, x.clock, x.told, x.pace, x.rows, HORIZON)
    return x


@cache  # compiled in the process that runs such a test, not in each that collects it
def panda_controller():
    return Controller(PANDA, person_capsules=2)


@cache
def panda_body():
    return Body(PANDA)


@cache
def panda_limiter():
    return limiter_of(panda_controller(), Limits())


def put_people(x, q, rng):
    """Two capsules near the tool, and those believed: thicker.  Fills rows, pairs and paces."""
    layout = panda_controller().layout
    centre = PANDA.pose(q)[:3, 3] + rng.normal(size=3) * rng.choice([0.2, 0.6])
    x.rows[: layout.own] = panda_body().rows(q, np.zeros(7))
    for k, row in enumerate(x.rows[layout.own : layout.rows]):
        row[:3] = centre + rng.normal(size=3) * 0.2
        row[3:6] = row[:3] + rng.normal(size=3) * 0.2
        row[6] = rng.uniform(0.02, 0.15)
        row[7:] = rng.normal(size=6)
        x.pace[k] = rng.uniform(1.6, 3.0), rng.uniform(0.0, 0.2)
        x.rows[layout.rows + k] = row
        x.rows[layout.rows + k, 6] += x.pace[k, 1]
    for k, (i, j) in enumerate(layout.pairs):
        x.pairs[k, : WIDTH - 1] = pair_row(x.rows[i], x.rows[j])


def approach(x, q, qd):
    """Of each pair: distance to the body that is believed, the arm's speed towards it, its pace and its growth."""
    layout, own = panda_controller().layout, panda_body().rows(q, qd)
    for i in (i for i, capsule in enumerate(layout.capsules) if capsule.link >= 0):  # those that move
        for k in range(len(x.pace)):
            row = pair_row(own[i], x.rows[layout.rows + k])
            point = own[i, 7:10] + row[LAMBDA_X] * (own[i, 10:13] - own[i, 7:10])
            yield row[DISTANCE], -float(point @ row[NORMAL]), *x.pace[k]


@seeds
def test_a_command_keeps_to_the_joints_and_to_people(seed):
    """Whatever is wanted: as much is allowed as the joints can do, and as the ramp can end before a person is there."""
    rng = np.random.default_rng(seed)
    x, limits = panda_limiter(), Limits()
    found, q, last, change, dt = joints(rng)
    put_people(x, q, rng)
    limiter = x.limiter
    limiter.last[:], limiter.change[:], x.clock[1] = last, change, dt
    wanted = rng.normal(size=7) * rng.choice([0.05, 0.5, 5.0])
    limiter.allow(q, last, wanted, np.zeros(7), x.pairs)
    qd, summary = limiter.out.qd, dict(zip(SUMMARY, limiter.out.summary, strict=True))
    after = last * ramp(last, found.acceleration * 1.5, dt)[0]
    forth, back = (braking_speed(room, found.acceleration, HORIZON) for room in (found.upper - q, q - found.lower))
    assert (-back <= qd).all()
    assert (qd <= forth).all()
    assert (np.abs(qd) <= found.velocity * (1 + 1e-12)).all()  # a scale rounds once
    step = found.acceleration * dt
    hard = np.sign(last) * np.maximum(np.abs(last) - 1.5 * step, 0.0)  # where not even the ramp is certified
    low, up = np.minimum(np.minimum(last - step, after), hard), np.maximum(np.maximum(last + step, after), hard)
    # sums of numbers of order 1; or the joint's end asks for more
    assert ((low - 1e-12 <= qd) | (qd == forth)).all()
    assert ((qd <= up + 1e-12) | (qd == -back)).all()
    stopping = (np.abs(qd) / (found.acceleration * 1.5)).max()
    for (d, speed, pace, grown), (_, run, *_) in zip(approach(x, q, qd), approach(x, q, after), strict=True):
        drift = limits.creep * (1.0 if d + grown > 0.0 else TOUCHED)
        room = d - limits.clearance - pace * (REACTION + stopping)
        # nearest points by two texts: distances to 1e-12, over a T_r of 0.02 s
        assert speed <= max(drift, room / (REACTION + stopping / 2), run) + 1e-9
    nearest = min(d + grown for d, _, _, grown in approach(x, q, qd))
    assert summary["people_distance"] == pytest.approx(nearest, abs=1e-9)  # to the body as seen
    assert summary["margin"] >= -1e-9
    Jv, Jw = PANDA.jacobian(q)
    assert np.allclose(limiter.out.tool_velocity, np.r_[Jv @ qd, Jw @ qd], rtol=0, atol=1e-12)
    assert np.allclose(limiter.out.q, q + qd * dt, rtol=0, atol=1e-15)
    assert np.array_equal(limiter.out.change, qd - last)


def test_what_is_harmless_is_passed_on_to_the_bit():
    x = panda_limiter()
    x.told[:], x.clock[:] = 0.0, [1.0, 0.001, 0.0, 0.0]
    wanted = np.linspace(-0.3, 0.3, 7)
    x.limiter.last[:], x.limiter.change[:] = wanted - 0.001, 0.001
    x.limiter.allow(PANDA.ready, np.zeros(7), wanted, np.zeros(7), x.limiter.no_pairs)
    assert np.array_equal(x.limiter.out.qd, wanted)
    assert x.limiter.out.summary[0] == 0.0


def test_what_overflows_calls_for_attention():
    """Speeds whose squares are huge, or infinite: then torques are not finite, and no comparison may pass that by."""
    found = bounds(Limits(), ARM, ARM.model.lower, ARM.model.upper)
    clock, told, limits = np.array([1.0, 0.001, 0.0, 0.0]), np.zeros(len(TOLD)), Limits(separation=False)
    known = Facts(None, (1, 0, 2), 0.001, REACTION, True, found, None)
    limiter = Limiter(ARM.model, known, limits, clock, told, np.zeros((2, 2)), None, HORIZON)
    rest = np.zeros(2), ARM.gravity_torque(ARM.ready), limiter.no_pairs
    for speed in (0.0, 1e100):
        limiter.allow(ARM.ready, np.full(2, speed), *rest)
        assert limiter.out.summary[0] == (0.0 if speed == 0.0 else 1.0)
    with pytest.raises(ValueError, match="must be finite"):
        limiter.allow(ARM.ready, np.full(2, 1e200), *rest)


def test_a_stop_and_a_wait_want_nothing():
    x = limiter_of(panda_controller(), Limits(jerk=0.0))
    limiter, zero, wanted = x.limiter, np.zeros(7), np.full(7, 0.2)
    x.clock[1] = 0.001
    for stale, waiting, factor in ((0, 0, None), (1, 0, 1.5), (0, 1, 1.5)):
        x.told[:2] = stale, waiting
        limiter.last[:] = wanted
        limiter.allow(PANDA.ready, zero, wanted, zero, limiter.no_pairs)
        fall = wanted - limiter.out.qd
        assert np.allclose(fall, 0.0 if factor is None else 0.01 * factor, rtol=0, atol=1e-15)


def test_a_capsule_that_no_joint_can_move_is_no_obstacle_to_the_limiter():
    """The column of an upright arm turns on its own axis: its ends never move, and their speed is the constant zero."""
    upright = er.Arm.from_mdh(
        a=[0, 0],
        alpha=[0, np.pi / 2],
        d=[0.3, 0],
        mass=[1, 1],
        com=[[0, 0, -0.1], [0.2, 0, 0]],
        inertia=[np.eye(3) * 0.01] * 2,
        velocity=[1, 1],
        lower=[-2, -2],
        upper=[2, 2],
    )
    column = LinkCapsule("column", 0, (0.0, 0.0, -0.3), (0.0, 0.0, 0.0), 0.05)
    boom = LinkCapsule("boom", 1, (0.0, 0.0, 0.0), (0.4, 0.0, 0.0), 0.05)
    controller = Controller(upright, Config(), body=Body(upright, capsules=[column, boom]))
    people = controller.obstacles()
    people.see(Person.cylinder((1.0, 0.0, 0.0)), 0.0)
    guard = Supervisor(controller)
    command = guard.step(0.0, 0.001, State(upright.ready), people, Goal(upright.pose(upright.ready)[:3, 3]))
    assert not command.status.stops, command.reason


def test_what_a_joint_at_its_stop_leaves_is_held_before_people():
    """One joint carries the arm away from a hand, the other towards it; the first is at its stop."""
    arm = er.load("planar2")

    class Fixed:
        def __init__(self, inner):
            self.inner, self.arm = inner, inner.arm

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def step(self, *cycle):
            command = self.inner.step(*cycle).copy()
            command.qd[:] = [1.0, -2.0]
            return command

    q = np.zeros(2)
    tip, J = arm.pose(q)[:3, 3], arm.jacobian(q)[0]
    up = J @ [1.0, 0.0] / np.linalg.norm(J @ [1.0, 0.0])
    # the promise alone; and the arm is held where it is, whatever it is commanded
    alone = {"evasion_distance": 0.0, "evasion_gain": 100.0, "following_error": 10.0}
    for gap in (0.15, 0.05, -0.02):
        controller = Controller(arm, upper=[0.0, 2.79])
        guard = Supervisor(Fixed(controller), Limits(sensor=Sensor.exact(0.001), **alone))
        people, limits = controller.obstacles(), guard.limits
        hand = tip - up * (0.09 + gap)
        for k in range(1, 200):
            people.see(Capsule(hand, hand, 0.05).row()[None], 0.001 * k)
            command = guard.step(0.001 * k, 0.001, State(q, t=0.001 * k), people, Goal(tip))
        stopping = (np.abs(command.qd) / (guard.bounds.acceleration * limits.stop_factor)).max()
        room = gap - limits.clearance - limits.human_speed * (guard.reaction + stopping)
        most = max(limits.creep if gap > 0.0 else 0.0, room / (guard.reaction + stopping / 2))
        assert most < 2.0 * np.linalg.norm(J[:, 1])  # what is wanted of the tip: so the rule counts
        assert -(J @ command.qd) @ up <= most + 1e-9  # rounding of a distance over a T_r of 0.01 s
        assert command.qd[0] <= 0.0  # at its end
        assert (command.status is Status.IN_COLLISION) == (gap < 0.0)


@pytest.mark.parametrize("wrong", [b"x", "x", np.array(0.5), {"a": 1.0}])
def test_what_is_no_list_of_numbers_is_refused(wrong):
    with pytest.raises(ConfigError, match=r"Limits: velocities: expected a list of numbers"):
        Limits(velocities=wrong)
