"""Power and force: the arm's effective mass, the speed that a contact bears, and a supervisor that holds to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from supervising import ARM, PERIOD, Cell
from test_filter import closing

import elbowroom as er
from elbowroom.avoidance import Attraction, Config, Controller, Limits, Repulsion, Sensor
from elbowroom.avoidance.safety.filter.body_regions import OF_CAPSULE, REGIONS, _mobility, contact_speed, table
from elbowroom.avoidance.safety.filter.capsule_motion import moving
from elbowroom.avoidance.safety.filter.stages import SUMMARY
from elbowroom.avoidance.safety.limits import MODES
from elbowroom.dynamics.kinematics import forward_kinematics
from elbowroom.geometry import Capsule, Person
from elbowroom.geometry.person import NAMES
from strategies import examples, robots

SHORT = Config(  # an arm in a hurry that hardly sees anybody
    period=PERIOD, repulsion=Repulsion(influence=0.02), waiting=None, attraction=Attraction(kp=20.0, max_speed=5.0)
)
QUICK = {"velocities": (10.0, 10.0), "accelerations": (100.0, 100.0), "jerk": 0.0}
# Or evasion, not the promise, would hold it back.
QUICK |= {"evasion_distance": 0.0, "evasion_hands": 0.0, "evasion_gain": 100.0}
HAND = REGIONS["hand, fingers"]


# ---- formulas
def mobility(arm, q, link, point, normal):
    """a M^-1 a^T with NumPy's inverse; point (3,) in the link's axes, normal in the world's."""
    a = normal @ arm.jacobian(q, link=link, point=point)[0]
    return a @ np.linalg.inv(arm.mass_matrix(q)) @ a


def assert_mobility(arm, rng):
    q = rng.uniform(-1, 1, arm.n)
    link, share = int(rng.integers(arm.n)), rng.random()
    ends, normal = rng.uniform(-0.3, 0.3, (2, 3)), rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    frames = forward_kinematics(arm.model, q)
    found = _mobility(arm.model, frames, q)(link, [frames.point(link, end) for end in ends], normal, share)
    wanted = mobility(arm, q, link, ends[0] + share * (ends[1] - ends[0]), normal)
    # Rounding, enlarged by the condition of M: below 1e5 for these arms.
    assert float(found) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["planar2", "panda", "ur5e"])
def test_the_effective_mass_of_catalogue_arms(name):
    arm, rng = er.load(name), np.random.default_rng(0)
    for _ in range(10):
        assert_mobility(arm, rng)


@examples(15)
@given(robots(max_joints=4), st.integers(0, 2**32 - 1))
def test_the_effective_mass_of_random_arms(model, seed):
    assert_mobility(er.Arm(model), np.random.default_rng(seed))


@pytest.mark.parametrize("name", REGIONS)
def test_the_energy_of_a_contact_is_what_its_region_bears(name):
    """1/2 mu v^2 = (2 F)^2 / (2 k): all of the energy is in the spring when its force is twice F."""
    region = REGIONS[name]
    for arm_mass in (0.5, 3.0, 20.0):
        v = contact_speed(region.bears, 1 / region.mass, 1 / arm_mass)
        mu = 1 / (1 / region.mass + 1 / arm_mass)
        assert v == pytest.approx(2 * region.force / math.sqrt(mu * region.stiffness), rel=1e-12)
        assert mu * v**2 / 2 == pytest.approx((2 * region.force) ** 2 / (2 * region.stiffness), rel=1e-12)


def test_a_head_and_what_has_no_name_may_not_be_met():
    assert {name for name in NAMES if OF_CAPSULE[name] not in REGIONS} == {"head"}
    found = table([NAMES, ("coworker",), ()], len(NAMES))
    permitted = found[:, 0] > 0
    assert permitted[: len(NAMES)].tolist() == [name != "head" for name in NAMES]
    assert not found[len(NAMES) :].any()
    assert contact_speed(*found[0], 1.0) == 0.0


# ---- a supervisor
def ball(name, x):
    """A part of a person in the way of the arm, which moves in the plane y = 0."""
    row = Capsule([x, 0, 0.1], [x, 0, 0.1], 0.05).row()
    return Person((name,), np.array([row]))


def cell(mode, person):
    limits = Limits(sensor=Sensor.exact(PERIOD), mode=mode, **QUICK)
    made = Cell(Controller(ARM, SHORT, person_capsules=1), limits, person=person)
    made.goal.position = np.array([0.95, 0.0, 0.1])
    return made


def borne(made, q):
    """(Q,) the speeds that the hand bears, by NumPy; one for each capsule that moves."""
    layout, found = made.controller.layout, []
    for i, row in zip(moving(layout), made.supervisor.limiter.array("promise"), strict=True):
        capsule, (_, normal, share) = layout.capsules[i], (row[0], row[1:4], row[4])
        a, b = np.array(capsule.a), np.array(capsule.b)
        inverse = mobility(ARM, q, capsule.link, a + share * (b - a), normal)
        found.append(math.sqrt(HAND.bears * (1 / HAND.mass + inverse)))
    return np.array(found)


def test_an_arm_is_held_to_what_a_hand_bears():
    """It comes up to the hand at that speed, not above, and the margin says how much is left."""
    made = cell("power_and_force", ball("left_hand", 0.9))
    limiter, fastest = made.supervisor.limiter, 0.0
    for _ in range(300):
        q = made.state.q.copy()
        command = made.cycle()
        if limiter.out.summary[SUMMARY.index("people_distance")] <= 0.0:
            break  # the speed is for a contact that passes: from here on the rules of separation hold
        speeds = closing(made.controller.body, q, command.qd, made.controller.all_rows[made.controller.layout.rows :])
        most = np.maximum(borne(made, q), made.supervisor.limits.creep).repeat(2)  # of both points of a pair
        # m/s: rounding of sums of order 1.  What the ramp does may be above what is borne, never what is allowed.
        assert (limiter.array("allowed") >= most - 1e-9).all()
        assert (speeds <= limiter.array("allowed") + 1e-9).all()
        assert command.margin == pytest.approx((limiter.array("allowed") - speeds).min(), abs=1e-9)
        fastest = max(fastest, (speeds / most).max())
    margins = made.supervisor.recorder.table()["margin"]
    assert margins[-1] == command.margin
    assert made.supervisor.latched is None
    assert 0.9 < fastest <= 1.0 + 1e-9


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_presses_on(mode):
    """Who is touched is not come nearer to than `creep`, whatever contact bears."""
    made = cell(mode, ball("left_hand", 0.9))
    for _ in range(600):
        q = made.state.q.copy()
        command = made.cycle()
        touched = made.supervisor.limiter.array("promise")[:, 0] + made.supervisor.watch.pace[0, 1] <= 0.0
        if touched.any():
            seen = made.controller.all_rows[made.controller.layout.rows :]
            run = closing(made.controller.body, q, made.supervisor.limiter.array("ramp"), seen)
            speeds = closing(made.controller.body, q, command.qd, seen)
            assert (speeds <= np.maximum(run, made.supervisor.limits.creep) + 1e-9)[touched.repeat(2)].all()


@pytest.mark.parametrize("name", ["head", "coworker"])
def test_what_may_not_be_met_is_kept_from_as_without_the_mode(name):
    person = ball(name, 0.9)
    first, second = (cell(mode, person) for mode in ("separation", "power_and_force"))
    for _ in range(300):
        assert first.cycle().qd.tobytes() == second.cycle().qd.tobytes()
    np.testing.assert_array_equal(first.supervisor.limiter.array("allowed"), second.supervisor.limiter.array("allowed"))


@pytest.mark.parametrize("x", [0.8, 1.2, 2.5])
def test_both_is_the_greater_of_the_two(x):
    allowed = {}
    for mode in MODES:
        made = cell(mode, ball("left_hand", x))
        made.cycle(2)
        allowed[mode] = made.supervisor.limiter.array("allowed").copy()
    most = np.maximum(allowed["separation"], allowed["power_and_force"])
    np.testing.assert_allclose(allowed["both"], most, rtol=1e-12)
