"""Plants: closed forms, limits, energy, friction, contacts, and MuJoCo beside our own dynamics."""

from __future__ import annotations

import dataclasses
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance import Command, State, Status
from elbowroom.cell import Kinematic, MuJoCo, RigidBody, heavier
from elbowroom.cell.plants import plant as motion_room
from elbowroom.cell.plants.drive import LAG, Drive
from elbowroom.cell.plants.plant import RELEASE, TouchCounter, rigid_motion, step
from elbowroom.geometry import Body, Capsule, Person
from elbowroom.geometry.pairs import Clearance
from elbowroom.model import create
from strategies import examples

PLANTS = (Kinematic, RigidBody, MuJoCo)
COULOMB, MASS = 4.0, 2.0  # N, kg


@pytest.fixture(scope="module")
def panda():
    return er.load("panda")


@pytest.fixture(scope="module")
def slider():
    """A mass that slides along the world's x axis, with Coulomb friction, between 0 and 1 m."""
    along_x = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    model = create(
        "P", [along_x], [[0, 0, 0]], [MASS], [[0, 0, 0]], [np.eye(3)], lower=[0.0], upper=[1.0], effort=[50.0],
        coulomb=[COULOMB], name="slider",
    )  # fmt: skip
    return er.Arm(model)


def commanded(arm, qd=None, tau=None, status=Status.OK):
    command = Command(arm.n)
    command.status = status
    if qd is not None:
        command.qd[:] = qd
    if tau is not None:
        command.tau[:] = tau
    return command


def state_of(plant):
    state = State(np.zeros(plant.arm.n))
    plant.read(state)
    return state


def pillar(at, x, height=0.3, radius=0.1):
    """One upright capsule as rows (1, 13), x metres beside a point."""
    return Capsule(np.add(at, [x, 0, 0]), np.add(at, [x, 0, height]), radius).row()[None]


def swing(arm, k):
    """Speeds (n,) of a smooth motion, 0.3 rad/s at most."""
    return 0.3 * np.sin(0.05 * k + np.arange(arm.n))


# ---- kinematic


def test_a_ramp_in_closed_form(slider):
    plant = Kinematic(slider, velocity=0.5, acceleration=2.0)
    plant.reset([0.1])
    plant.write(commanded(slider, qd=[10.0]))  # twenty times the limit
    plant.advance(0.1)
    state = state_of(plant)
    assert (state.qd[0], state.t) == (0.2, 0.1)
    assert state.q[0] == pytest.approx(0.1 + 2.0 * 0.1**2 / 2, rel=1e-15)
    plant.advance(0.4)  # 0.15 s to the limit of speed, 0.25 s at it
    state = state_of(plant)
    assert state.qd[0] == 0.5
    assert state.q[0] == pytest.approx(0.1 + 0.5**2 / (2 * 2.0) + 0.25 * 0.5, rel=1e-15)


@given(
    st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.floats(1e-4, 0.2)), min_size=1, max_size=20),
    st.floats(0.1, 3.0),
    st.floats(0.5, 20.0),
)
@examples(50)
def test_kinematic_joints_obey_their_limits(path, velocity, acceleration):
    arm = er.load("planar2")
    lower, upper = arm.model.lower, arm.model.upper
    plant = Kinematic(arm, velocity=velocity, acceleration=acceleration)
    before = state_of(plant).qd.copy()
    for first, second, dt in path:
        plant.write(commanded(arm, qd=[first, second]))
        plant.advance(dt)
        state = state_of(plant)
        assert (np.abs(state.qd) <= velocity).all()
        at_stop = (state.q == lower) | (state.q == upper)
        change = np.abs(state.qd - before)
        assert ((change <= acceleration * dt * (1 + 1e-12) + 1e-12) | at_stop).all()  # rounding of a difference
        assert ((lower <= state.q) & (state.q <= upper)).all()
        before = state.qd.copy()


def test_two_steps_are_one_of_twice_the_time(panda):
    whole, halves = Kinematic(panda), Kinematic(panda)
    for k in range(20):
        for plant in (whole, halves):
            plant.write(commanded(panda, qd=2 * swing(panda, 20 * k)))
        whole.advance(0.02)
        halves.advance(0.01)
        halves.advance(0.01)
    # the same polynomial evaluated in pieces: rounding alone
    assert np.abs(state_of(whole).q - state_of(halves).q).max() < 1e-14


@pytest.mark.parametrize("kind", [Kinematic, RigidBody])
def test_a_joint_stops_dead_at_its_end_and_comes_back(slider, kind):
    plant = kind(slider, velocity=2.0, acceleration=20.0)
    plant.reset([0.9])
    plant.write(commanded(slider, qd=[1.0]))
    plant.advance(0.5)
    assert (state_of(plant).q[0], state_of(plant).qd[0]) == (1.0, 0.0)
    plant.write(commanded(slider, qd=[-1.0]))
    plant.advance(0.2)
    assert state_of(plant).q[0] < 0.9


@pytest.mark.parametrize("kind", [Kinematic, RigidBody])
def test_a_joint_beyond_its_end_is_not_thrown_back(slider, kind):
    plant = kind(slider)
    plant.reset([1.1])
    assert state_of(plant).q[0] == 1.1
    plant.write(commanded(slider, qd=[0.3]))
    plant.advance(0.1)
    assert state_of(plant).q[0] == 1.1
    plant.write(commanded(slider, qd=[-0.3]))
    plant.advance(0.1)
    assert 1.0 < state_of(plant).q[0] < 1.1


def test_limits_that_a_model_lacks_are_the_supervisors():
    plant = Kinematic(er.load("puma560"))  # its source has none
    assert (plant.drive.limits == [[2.0] * 6, [15.0] * 6]).all()


# ---- rigid body


@pytest.fixture(scope="module")
def ur5e():
    return er.load("ur5e")


def test_free_motion_is_that_of_simulate_and_keeps_its_energy(ur5e):
    """The ur5e has no friction.  The step is of first order: half the step, half the error."""
    duration = 0.2
    exact = er.simulate(ur5e, ur5e.ready, np.zeros(6), np.zeros(6), duration=duration, dt=1e-3)
    assert exact.work[-1] == 0
    away, drift = [], []
    for substep in (1e-3, 5e-4):
        plant = RigidBody(ur5e, drive="torque", substep=substep)
        plant.reset(ur5e.ready)
        plant.write(commanded(ur5e))
        plant.advance(duration)
        state = state_of(plant)
        away.append(np.abs(state.q - exact.q[-1]).max())
        energy = ur5e.kinetic_energy(state.q, state.qd) + ur5e.potential_energy(state.q)
        drift.append(abs(energy - exact.energy[0]) / ur5e.kinetic_energy(state.q, state.qd))
    assert away[0] < 5e-3  # falls by about half a radian
    assert drift[0] < 0.02
    for error in (away, drift):
        assert error[0] / error[1] == pytest.approx(2.0, rel=0.1)  # what is of second order is a tenth here


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560", "stanford"])
def test_a_commanded_speed_is_followed(name):
    arm = er.load(name)
    plant, ideal = RigidBody(arm), Kinematic(arm)
    for k in range(50):
        for each in (plant, ideal):
            each.write(commanded(arm, qd=swing(arm, k)))
            each.advance(0.01)
        # the drive knows the arm, friction included: rounding of torques of 100 N m over inertias of 0.01 kg m2
        assert np.abs(state_of(plant).qd - state_of(ideal).qd).max() < 1e-10
    # the ramp is summed by steps here and integrated there: a step times half of all that the speed has changed
    assert np.abs(state_of(plant).q - state_of(ideal).q).max() < 1e-3 * 0.3


@pytest.mark.parametrize("kind", [RigidBody, MuJoCo])
def test_a_wrong_mass_costs_position_but_no_lasting_speed(panda, kind):
    plant = kind(panda, mass_error=0.3, payload=1.0)
    plant.write(commanded(panda))
    plant.advance(1.0)
    state = state_of(plant)
    sag = np.abs(state.q - panda.ready).max()
    # the joints' accelerations are wrong by some m/s2 over the arm's length, over k^2 / 4 = 2500: milliradians
    assert 1e-4 < sag < 0.02
    assert np.abs(state.qd).max() < 1e-6  # fifty time constants of the drive later


def test_heavier_scales_masses_and_adds_the_payload(panda):
    other = heavier(panda, 0.3, 2.0)
    assert other.model.mass.sum() == pytest.approx(1.3 * panda.model.mass.sum() + 2.0)
    assert heavier(panda) is panda
    with pytest.raises(er.ModelError, match="mass_error must be above -1"):
        heavier(panda, -1.0)


def test_torques_are_held_within_the_effort_limits(slider):
    plant = RigidBody(slider, drive="torque")
    plant.reset([0.0])
    plant.write(commanded(slider, tau=[1e6]))
    plant.advance(0.01)
    assert state_of(plant).qd[0] == pytest.approx((50.0 - COULOMB) / MASS * 0.01, rel=1e-12)


def test_coulomb_friction_holds_slides_and_stops(slider):
    plant = RigidBody(slider, drive="torque")
    plant.reset([0.5])
    plant.write(commanded(slider, tau=[0.99 * COULOMB]))
    plant.advance(1.0)
    assert (state_of(plant).q[0], state_of(plant).qd[0]) == (0.5, 0.0)
    plant.write(commanded(slider, tau=[2 * COULOMB]))
    plant.advance(0.1)
    speed, start = state_of(plant).qd[0], state_of(plant).q[0]
    assert speed == pytest.approx(COULOMB / MASS * 0.1, rel=1e-12)
    plant.write(commanded(slider))
    plant.advance(1.0)
    assert state_of(plant).qd[0] == 0.0  # and not to and fro about it
    way = speed**2 / (2 * COULOMB / MASS)
    assert state_of(plant).q[0] - start == pytest.approx(way, abs=speed * 1e-3)  # a step at most


@pytest.mark.parametrize("name", ["panda", "puma560", "iiwa7"])
def test_the_sweeps_are_enough(name, monkeypatch):
    """Against many more, with friction in every joint and half of the joints at a stop."""
    model = er.load(name).model
    if not model.coulomb.any():
        model = dataclasses.replace(model, coulomb=np.full(model.n, 2.0))
    rng = np.random.default_rng(0)
    kernel, clock = rigid_motion(model), np.array([1e-3])
    for scale in (0.01, 0.3, 1.0) * 2:
        q = np.where(rng.random(model.n) < 0.5, model.upper, rng.uniform(*model.sampling_range()))
        qd, tau = scale * rng.normal(size=model.n), 5 * rng.normal(size=model.n)
        found = kernel(q, qd, tau, clock)
        monkeypatch.setattr(motion_room, "SWEEPS", 300)
        many = step(model, q, qd, tau, clock)
        monkeypatch.undo()
        assert np.abs(found.qd - many["qd"]).max() < 1e-3  # rad/s, what motion.SWEEPS promises
        assert (found.q <= np.maximum(q, model.upper)).all()


def test_a_diverging_plant_says_when():
    arm = er.load("puma560")  # without effort limits
    plant = RigidBody(arm, drive="torque")
    plant.write(commanded(arm, tau=np.full(6, 1e200)))
    with pytest.raises(er.DivergenceError, match="diverged at t"):
        plant.advance(0.1)


# ---- drive


@pytest.mark.parametrize("kind", PLANTS)
def test_commands_are_copied_and_hold_until_the_next(panda, kind):
    plant = kind(panda)
    command = commanded(panda, qd=np.full(7, 0.1))
    plant.write(command)
    command.qd[:] = 5.0
    plant.advance(0.1)
    assert np.abs(state_of(plant).qd - 0.1).max() < 1e-6


@pytest.mark.parametrize("kind", PLANTS)
def test_a_command_that_is_not_finite_brakes_the_arm(panda, kind):
    plant = kind(panda, acceleration=2.0)
    plant.write(commanded(panda, qd=np.full(7, 0.2)))
    plant.advance(0.2)
    plant.write(commanded(panda, qd=np.full(7, np.nan)))
    assert plant.drive.refused == 1
    plant.advance(0.05)
    assert np.abs(state_of(plant).qd - 0.1).max() < 1e-6  # within its acceleration
    plant.advance(0.2)
    assert np.abs(state_of(plant).qd).max() < 1e-6
    with pytest.raises(er.ShapeError, match="must have shape"):
        plant.write(Command(3))


@pytest.mark.parametrize("kind", [RigidBody, MuJoCo])
def test_a_stop_without_torques_is_the_brakes(panda, kind):
    """A supervisor that cannot trust the state commands zero torque; an arm without its brakes would fall."""
    plant = kind(panda, drive="torque", acceleration=1.0)
    lift = panda.gravity_torque(panda.ready)
    lift[0] += 5.0
    plant.write(commanded(panda, tau=lift))
    plant.advance(0.1)
    speed = state_of(plant).qd[0]
    assert speed > 0.1
    plant.write(commanded(panda, status=Status.STOP_STATE_STALE))
    plant.advance(0.05)
    assert state_of(plant).qd[0] == pytest.approx(speed - 1.0 * 0.05, abs=1e-6)  # from where it was, by its limit
    plant.advance(2.0)
    assert np.abs(state_of(plant).qd).max() < 1e-6
    plant.write(commanded(panda))
    plant.advance(0.1)
    assert np.abs(state_of(plant).qd).max() > 0.1  # without a stop, zero torque is zero torque


def test_an_arm_that_was_held_up_does_not_rush(panda):
    """Nothing turns the joints for a second: the reference waits nearby."""
    drive, q, h = Drive(panda), panda.ready.copy(), 0.01
    drive.reset(q)
    drive.write(commanded(panda, qd=np.r_[0.2, np.zeros(6)]), q, np.zeros(7))
    for _ in range(100):
        drive.torque(q, np.zeros(7), h)
    assert 0 < drive.position[0] - q[0] < LAG + 1.01 * h * 0.2  # and a step of its own


# ---- all of them


@pytest.mark.parametrize("kind", PLANTS)
def test_reset_is_exact_and_the_same_calls_give_the_same_bytes(panda, kind):
    plant = kind(panda)
    rows = np.array(Person.standing((0.5, 0.1, -0.5)).rows)
    start = panda.ready + 0.1
    runs = []
    for _ in range(2):
        plant.reset(start)
        state = state_of(plant)
        assert (state.q == start).all()
        assert not state.qd.any()
        assert (state.t, plant.contacts, plant.touching) == (0.0, 0, False)
        trace = []
        for k in range(30):
            plant.write(commanded(panda, qd=swing(panda, k)))
            plant.advance(0.004, rows)
            state = state_of(plant)
            trace.append([*state.q, *state.qd, state.t, plant.contacts, plant.touching])
        runs.append(np.array(trace).tobytes())
    assert runs[0] == runs[1]


@pytest.mark.parametrize("kind", PLANTS)
def test_a_reset_arm_stands(panda, kind):
    plant = kind(panda)
    plant.reset(panda.ready)
    plant.advance(0.5)
    # the drive knows the arm's gravity: rounding, fed back
    assert np.abs(state_of(plant).q - panda.ready).max() < 1e-9


@pytest.mark.parametrize("kind", PLANTS)
def test_bad_input_is_refused_by_name(panda, kind):
    plant = kind(panda)
    for bad, error, told in (
        (lambda: plant.reset(np.zeros(3)), er.ShapeError, "q must have shape"),
        (lambda: plant.reset(np.full(7, np.nan)), ValueError, "q must be finite"),
        (lambda: plant.advance(0.0), ValueError, "must be positive"),
        (lambda: plant.advance(0.01, np.zeros((2, 3))), er.ShapeError, "person_rows must have shape"),
        (lambda: plant.advance(0.01, np.full((1, 13), np.nan)), ValueError, "person_rows must be finite"),
        (lambda: kind(panda, velocity=-1.0), ValueError, "velocity must be finite and above 0"),
        (lambda: kind(panda, acceleration=[1.0]), er.ShapeError, "acceleration must be one number"),
        (lambda: kind(panda, body=Body(er.load("ur5e"))), ValueError, "expected the body of panda"),
    ):
        with pytest.raises(error, match=told):
            bad()
    for kwargs, told in (({"drive": "position"}, "drive must be one of"), ({"gain": 0.0}, "gain must be above 0")):
        if kind is not Kinematic:
            with pytest.raises(ValueError, match=told):
                kind(panda, **kwargs)


# ---- contacts


def test_a_touch_that_lasts_or_flickers_counts_once():
    contacts = TouchCounter()
    for t, now, count in (
        (0.0, True, 1),
        (0.1, True, 1),
        (0.12, False, 1),
        (0.15, True, 1),  # apart for less than RELEASE
        (0.2, False, 1),
        (0.15 + RELEASE + 0.01, True, 2),
    ):
        contacts.see(t, now)
        assert (contacts.count, contacts.touching) == (count, now)


@pytest.mark.parametrize("kind", PLANTS)
def test_a_person_who_walks_into_the_arm_is_a_contact(panda, kind):
    plant = kind(panda, pushes=False) if kind is MuJoCo else kind(panda)  # or the hand would not wait for them
    told = []
    for x in (1.0, 0.5, 0.0, 0.0, 0.5, 1.0, 0.0):  # m beside the hand
        rows = pillar(panda.pose(panda.ready)[:3, 3], x)
        for _ in range(10):  # longer than RELEASE
            plant.advance(0.02, rows)
        told.append((plant.touching, plant.contacts))
    assert told == [(False, 0), (False, 0), (True, 1), (True, 1), (False, 1), (False, 1), (True, 2)]
    plant.advance(0.02)
    plant.advance(0.02, np.empty((0, 13)))
    assert not plant.touching


@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_all_plants_see_the_same_contacts(name):
    arm = er.load(name)
    plants = [Kinematic(arm), RigidBody(arm), MuJoCo(arm), MuJoCo(arm, pushes=False)]
    clearance = Clearance(Body(arm))
    rng = np.random.default_rng(1)
    seen = set()
    for k in range(150):
        q = rng.uniform(*arm.model.sampling_range())
        person = Person.standing((*rng.uniform(-0.8, 0.8, 2), rng.uniform(-1, 0)), facing=rng.uniform(0, 6))
        rows = np.array(person.rows[: 1 + k % len(person.rows)])
        if k % 5 == 0:
            rows[:, 3:6] = rows[:, :3]  # spheres
        distance = clearance.of(q, rows)[1].surfaces
        if abs(distance) < 1e-3:  # m; a person's speed here, or an engine's rounding, may decide
            continue
        for plant in plants:
            plant.reset(q)
            plant.advance(1e-6, rows)  # s: nothing moves by more than a micrometre
        assert {plant.touching for plant in plants} == {bool(distance <= 0)}
        seen.add(distance <= 0)
    assert seen == {True, False}


@pytest.mark.parametrize("kind", [Kinematic, RigidBody])
def test_a_distance_that_is_known_is_not_computed_again(panda, kind, monkeypatch):
    plant, hand = kind(panda), panda.pose(panda.ready)[:3, 3]
    rows = pillar(hand, 0.0)
    plant.advance(0.02, rows)
    rows[:] = pillar(hand, 1.0)  # whose array it was may use it for something else
    assert (plant.touching, plant.contacts) == (True, 1)
    plant.advance(0.2, pillar(hand, 1.0))
    plant.advance(0.2, pillar(hand, 0.0))  # what was between is counted, though nobody asked
    assert plant.contacts == 2
    monkeypatch.setattr(Clearance, "of", lambda *_: pytest.fail("computed again"))
    plant.advance(0.2, pillar(hand, 1.0))
    plant.distance_known(0.6)
    assert (plant.touching, plant.contacts) == (False, 2)
    plant.distance_known(-0.1)  # nothing has moved since
    assert (plant.touching, plant.contacts) == (False, 2)
    plant.advance(0.2, pillar(hand, 0.0))
    plant.distance_known(-0.1)
    assert (plant.touching, plant.contacts) == (True, 3)
    plant.reset(panda.ready)
    assert plant.contacts == 0


@pytest.mark.parametrize("kind", PLANTS)
def test_the_fixed_base_touches_nobody(panda, kind):
    plant = kind(panda)
    plant.advance(0.01, Capsule([0, 0, 0.0], [0, 0, 0.02], 0.02).row()[None])
    assert not plant.touching


@pytest.mark.parametrize("kind", PLANTS)
def test_an_arm_without_a_shape_touches_nobody(slider, kind):
    plant = kind(slider)
    plant.advance(0.01, Capsule([0, 0, 0.0], [0, 0, 1.0], 1.0).row()[None])
    assert plant.contacts == 0


def test_another_cover_is_another_shape():
    arm = er.load("puma560")
    name, _ = arm.model.covers[0]
    body = Body(arm, cover=name)
    q = arm.ready
    beside = np.add(arm.pose(q)[:3, 3], [0.0, 0.09, 0.0])  # m: within the thesis' wide forearm, outside the wrist
    rows = pillar(beside, 0.0, height=0.01, radius=0.01)
    expected = [bool(Clearance(shape).of(q, rows)[1].surfaces <= 0) for shape in (Body(arm), body)]
    assert expected == [False, True]
    for kind in PLANTS:
        for cover, touches in zip((None, body), expected, strict=True):
            plant = kind(arm, body=cover)
            plant.reset(q)
            plant.advance(1e-6, rows)
            assert plant.touching == touches


# ---- MuJoCo


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_mujoco_falls_as_we_do(name):
    """Same equations, same first-order step: rounding alone, as long as no joint is at a limit."""
    arm = er.load(name)
    ours, theirs = (kind(arm, drive="torque") for kind in (RigidBody, MuJoCo))
    for plant in (ours, theirs):
        plant.write(commanded(arm))
        plant.advance(0.15)
    assert np.abs(state_of(ours).qd).max() > 3.0
    assert np.abs(state_of(ours).q - state_of(theirs).q).max() < 1e-11
    assert np.abs(state_of(ours).qd - state_of(theirs).qd).max() < 1e-11


@pytest.mark.parametrize(("name", "near"), [("panda", 1e-11), ("ur5e", 1e-11), ("puma560", 0.02)])
def test_mujoco_follows_as_we_do(name, near):
    """Rounding alone; but the PUMA has Coulomb friction, which is soft in MuJoCo where a joint turns round."""
    arm = er.load(name)
    plants = [kind(arm) for kind in (RigidBody, MuJoCo)]
    for k in range(60):
        for plant in plants:
            plant.write(commanded(arm, qd=swing(arm, k)))
            plant.advance(0.01)
        ours, theirs = map(state_of, plants)
        assert np.abs(ours.q - theirs.q).max() < near / 10
        assert np.abs(ours.qd - theirs.qd).max() < near


def test_the_puma_needs_bodies_that_could_exist_and_the_notes_say_so():
    notes = MuJoCo(er.load("puma560")).notes
    assert any("link1" in note for note in notes)


def test_mujoco_holds_joint_limits(panda):
    plant = MuJoCo(panda, drive="torque")
    plant.write(commanded(panda, tau=[0, 0, 0, 0, 12, 0, 0]))
    plant.advance(2.0)
    over = state_of(plant).q - panda.model.upper
    assert over.max() < 0.05  # rad: its limits are springs, and gravity and 12 N m lean on them


def test_people_push_the_arm_or_do_not(panda):
    rows = pillar(panda.pose(panda.ready)[:3, 3], 0.1)
    moved = []
    for pushes in (True, False):
        plant = MuJoCo(panda, pushes=pushes)
        plant.reset(panda.ready)
        plant.advance(0.2, rows)
        assert plant.contacts == 1
        moved.append(np.abs(state_of(plant).q - panda.ready).max())
    assert moved[0] > 1e-3
    assert moved[1] < 1e-9


def test_mujoco_takes_as_many_capsules_as_it_was_made_for(panda):
    plant = MuJoCo(panda, person_capsules=2)
    row = Capsule([5, 0, 0], [5, 0, 1], 0.1).row()
    plant.advance(0.01, np.array([row, row]))
    with pytest.raises(er.ShapeError, match="at most 2 rows"):
        plant.advance(0.01, np.array([row] * 3))
    with pytest.raises(ValueError, match="person_capsules must be"):
        MuJoCo(panda, person_capsules=-1)


def test_without_mujoco_the_extra_is_named(panda, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(er.ElbowroomError, match=r"'\.\[mujoco\]'"):
        MuJoCo(panda)


def test_capsules_point_anywhere():
    from elbowroom.cell.plants.mujoco import _turns_z_to

    axes = np.array([[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0], [0.3, 0.2, -0.9], [1e-9, 0, -1], [0, 0, 0]], float)
    length = np.linalg.norm(axes, axis=1)
    w, x, y, z = _turns_z_to(axes, length).T
    turned = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    along = np.einsum("ij,ij->i", turned[:-1], axes[:-1]) / length[:-1]
    assert np.abs(np.abs(along) - 1).max() < 1e-15 * 4
    assert math.isclose(w[-1], 1.0)
