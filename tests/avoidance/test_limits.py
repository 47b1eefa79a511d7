"""Limits: settings in and out of TOML, bounds of joints, the speed formulas, and the compiled limiter against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Limits, State, Status, Supervisor
from elbowroom.avoidance import settings as tables
from elbowroom.avoidance.belief import CLOCK, TOLD
from elbowroom.avoidance.fitting import Facts
from elbowroom.avoidance.limiter import Limiter, limiting
from elbowroom.avoidance.limits import UNLIMITED, bounds
from elbowroom.avoidance.pushes import WIDTH
from elbowroom.avoidance.saturation import RULES, SUMMARY
from elbowroom.avoidance.separation_speed import braking_speed, separation_distance, separation_speed
from elbowroom.geometry import Body, Capsule, Person, pair_row
from elbowroom.geometry.distance import DISTANCE, LAMBDA_X, NORMAL, SPEED_Y
from elbowroom.model import LinkCapsule

ARM = er.load("planar2")
PANDA = er.load("panda")


# ---- settings
def test_defaults_are_those_of_the_safety_page():
    limits = Limits()
    assert (limits.max_age, limits.human_speed, limits.max_overruns, limits.max_overrun) == (0.1, 1.6, 3, 10)
    assert limits.separation
    assert limits.clearance == pytest.approx(0.2)


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(velocities=(1.0, 2.0), max_age=0.2, in_collision="stop", period=0.002)]
)
@pytest.mark.parametrize("comments", [False, True])
def test_toml_round_trip(limits, comments):
    assert tables.loads(Limits, tables.dumps(limits, comments=comments)) == limits


def test_every_setting_has_a_unit_or_none_and_a_meaning():
    for row in tables.rows(Limits()):
        assert row.doc, row.name


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


def test_filter_lag_counts_in_the_reaction_time():
    from elbowroom.avoidance import Config, Supervisor
    from elbowroom.avoidance.smoothing import MovingAverage

    for duration in (0.0, 0.05):
        controller = Controller(ARM, Config(smoothing=MovingAverage(duration)), person_capsules=1)
        supervisor = Supervisor(controller, Limits(latency=0.03))
        assert supervisor.reaction == pytest.approx(controller.delay + 0.03 + 0.001, abs=1e-15)
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


# ---- the compiled limiter against plain NumPy
def reference(x, layout, body, limits, reaction, horizon):
    """Steps 1 to 4 of saturation.py, written down again with loops and floats."""
    b = x["bounds"]
    lower, upper, velocity, acceleration = b[0], b[1], b[2], b[3]
    nearest = min(x["pairs"][layout.pair(i, k)][DISTANCE] for i in range(layout.own) for k in range(layout.slots))
    most = velocity * (1.0 if nearest > 0 else limits.retreat_fraction)
    v0 = x["wanted"] * min(1.0, *(m / abs(y) if y else 1.0 for m, y in zip(most, x["wanted"], strict=True)))

    def room(gaps):
        run = acceleration * horizon
        return np.sqrt(run**2 + 2 * acceleration * np.maximum(gaps, 0)) - run

    def braked(speed):
        return np.clip(speed, -room(x["q"] - lower), room(upper - x["q"]))

    v0 = braked(v0)
    rows = body.rows(x["q"], v0)
    scale = 1.0
    for i in range(layout.own):
        for k in range(layout.slots):
            row = x["pairs"][layout.pair(i, k)]
            point = rows[i, 7:10] + row[LAMBDA_X] * (rows[i, 10:13] - rows[i, 7:10])
            approach = -float(point @ row[NORMAL])
            human = max(limits.human_speed, row[SPEED_Y])
            root = human**2 + (limits.deceleration * reaction) ** 2
            root += 2 * limits.deceleration * (row[DISTANCE] - limits.clearance)
            v = math.sqrt(max(root, 0.0)) - limits.deceleration * reaction - human
            v = max(v, limits.creep) if row[DISTANCE] > 0 else 0.0
            if approach > v:
                scale = min(scale, v / approach)
    v = v0 * scale
    change = v - x["last"]
    step = acceleration * x["clock"][1]
    v = x["last"] + change * min(1.0, *(m / abs(y) if y else 1.0 for m, y in zip(step, change, strict=True)))
    return braked(v), scale


@given(st.integers(0, 2**32 - 1))
def test_the_kernel_is_the_formula(seed):
    rng = np.random.default_rng(seed)
    limits, layout, body, kernel = Limits(), KERNEL["layout"], KERNEL["body"], KERNEL["kernel"]
    q = rng.uniform(PANDA.model.lower - 0.05, PANDA.model.upper + 0.05)
    obstacles = np.zeros((layout.slots, 13))
    centre = PANDA.pose(q)[:3, 3] + rng.normal(size=3) * 0.6
    for row in obstacles:
        row[:3] = centre + rng.normal(size=3) * 0.2
        row[3:6] = row[:3] + rng.normal(size=3) * 0.2
        row[6] = rng.uniform(0.02, 0.15)
        row[7:] = rng.normal(size=6)
    own = body.rows(q, np.zeros(7))
    pairs = np.zeros((len(layout.pairs), WIDTH))
    everything = np.vstack([own, obstacles])
    for k, (i, j) in enumerate(layout.pairs):
        pairs[k, : WIDTH - 1] = pair_row(everything[i], everything[j])
    found = bounds(limits, PANDA, PANDA.model.lower, PANDA.model.upper)
    rules = {"horizon": 0.011, "period": 0.001, "reaction": 0.0755, "clearance": limits.clearance}
    x = {
        "q": q,
        "qd": rng.normal(size=7) * 0.3,
        "wanted": rng.normal(size=7) * rng.choice([0.05, 0.5, 5.0]),
        "last": rng.uniform(-1, 1, 7) * found.velocity * rng.choice([0.1, 1.0]),
        "tau": np.zeros(7),
        "pairs": pairs,
        "bounds": found.table,
        "clock": np.array([1.0, 0.001 * rng.choice([1, 1, 20]), 0.0, 0.0]),
        "told": np.zeros(len(TOLD)),
        "rules": np.array([rules.get(r, getattr(limits, r, 0.0)) for r in RULES]),
    }
    x["rules"][RULES.index("stop_distance")] = -1e12
    expected, scale = reference(x, layout, body, limits, 0.0755, 0.011)
    result = kernel(*x.values())
    summary = dict(zip(SUMMARY, result.summary, strict=True))
    # nearest points by two texts: distances to 1e-12, and a hundred operations on numbers of order 1
    assert np.allclose(result.qd, expected, rtol=0, atol=1e-9)
    assert summary["human_scale"] == pytest.approx(scale, abs=1e-9)
    assert summary["fastest"] == np.abs(x["qd"]).max()
    Jv, Jw = PANDA.jacobian(q)
    assert np.allclose(result.tool_velocity, np.r_[Jv @ result.qd, Jw @ result.qd], rtol=0, atol=1e-12)
    assert np.allclose(result.q, q + result.qd * x["clock"][1], rtol=0, atol=1e-15)


def _kernel():
    controller = Controller(PANDA, person_capsules=2)
    return {
        "layout": controller.layout,
        "body": Body(PANDA),
        "kernel": limiting(PANDA.model, controller.layout, False),
    }


KERNEL = _kernel()


def test_what_overflows_calls_for_attention():
    """Speeds whose squares are infinite: the torques are not finite, and no comparison may pass that by."""
    found = bounds(Limits(), ARM, ARM.model.lower, ARM.model.upper)
    rules = np.array([float(getattr(Limits(), name, None) or 0.001) for name in RULES])
    rest = [np.ones((1, WIDTH)), found.table, np.array([1.0, 0.001, 0.0, 0.0]), np.zeros(len(TOLD)), rules]
    kernel, tau = limiting(ARM.model, None, True), ARM.gravity_torque(ARM.ready)
    for speed in (0.0, 1e200):
        summary = kernel(ARM.ready, np.full(2, speed), np.zeros(2), np.zeros(2), tau, *rest).summary
        assert np.isfinite(summary[SUMMARY.index("size")]) == (speed == 0.0)
        assert summary[0] == (0.0 if speed == 0.0 else 1.0)


def test_a_stop_and_a_wait_want_nothing():
    layout = KERNEL["layout"]
    found = bounds(Limits(), PANDA, PANDA.model.lower, PANDA.model.upper)
    clock, told = np.zeros(len(CLOCK)), np.zeros(len(TOLD))
    known = Facts(layout, (1, 0, 2), 0.001, 0.1, False, found)
    limiter = Limiter(PANDA.model, known, Limits(), clock, told, 0.011)
    q, zero, wanted = PANDA.ready, np.zeros(7), np.full(7, 0.2)
    clock[1] = 0.001
    for stale, waiting, factor in ((0, 0, None), (1, 0, 1.5), (0, 1, 1.0)):
        told[:2] = stale, waiting
        limiter.last[:] = wanted
        limiter.allow(q, zero, wanted, zero, limiter.no_pairs)
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
    for gap in (0.3, 0.05, -0.02):
        controller = Controller(arm, upper=[0.0, 2.79])
        guard, people = Supervisor(Fixed(controller)), controller.obstacles()
        hand = tip - up * (0.09 + gap)
        for k in range(1, 100):
            people.see(Capsule(hand, hand, 0.05).row()[None], 0.001 * k)
            command = guard.step(0.001 * k, 0.001, State(q, t=0.001 * k), people, Goal(tip))
        assert -(J @ command.qd) @ up <= (guard.limits.creep if gap > 0 else 0.0) + 1e-12
        assert command.status in (Status.SLOWING_HUMAN, Status.IN_COLLISION)
