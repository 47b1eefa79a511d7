"""Pinocchio as referee: every catalogue arm and mixed random chains, 1000 states each in one batch through `Arm`.

The relative error and its tolerance are defined, with the reason, in `referees.error` and `referees.TOLERANCE`.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

import elbowroom as er
from elbowroom import dynamics
from referees import (
    SUBJECTS,
    TOLERANCE,
    Pinocchio,
    arm,
    batch,
    error,
    frictionless,
    loop,
    mass_scale,
    pinocchio,
    placement,
    rotation,
    states,
    subject,
    thinned,
)

every = pytest.mark.parametrize("name", thinned(SUBJECTS))


def test_every_arm_of_the_catalogue_is_a_subject():
    assert set(er.model.catalogue.names()) <= set(SUBJECTS)
    assert len(er.model.catalogue.names()) == 9


def test_the_subjects_have_slides_and_turns():
    kinds = "".join(subject(name).kinds for name in SUBJECTS)
    assert kinds.count("P") > 20
    assert kinds.count("R") > 60


@every
def test_mass_matrix(name):
    s = batch(name)
    M = arm(name).mass_matrix(s.q)
    assert error(M, loop(pinocchio(name).mass_matrix, s.q)) < TOLERANCE
    assert np.array_equal(M, M.swapaxes(1, 2)), "both triangles hold the same numbers"


@every
def test_mass_matrix_inverse(name):
    s = batch(name)
    assert error(arm(name).mass_matrix_inverse(s.q), loop(pinocchio(name).mass_matrix_inverse, s.q)) < TOLERANCE


@every
def test_coriolis_matrix_is_the_christoffel_one(name):
    s = batch(name)
    theirs = loop(pinocchio(name).coriolis_matrix, s.q, s.qd)
    floor = mass_scale(name) * np.abs(s.qd).max(axis=1)
    assert error(arm(name).coriolis_matrix(s.q, s.qd), theirs, floor) < TOLERANCE


@every
def test_coriolis_torque(name):
    s = batch(name)
    theirs = np.einsum("bij,bj->bi", loop(pinocchio(name).coriolis_matrix, s.q, s.qd), s.qd)
    floor = mass_scale(name) * np.abs(s.qd).max(axis=1) ** 2
    assert error(arm(name).coriolis_torque(s.q, s.qd), theirs, floor) < TOLERANCE


@every
def test_mass_matrix_rate(name):
    s = batch(name)
    C = loop(pinocchio(name).coriolis_matrix, s.q, s.qd)
    floor = mass_scale(name) * np.abs(s.qd).max(axis=1)
    assert error(arm(name).mass_matrix_rate(s.q, s.qd), C + C.swapaxes(1, 2), floor) < TOLERANCE


@every
def test_coriolis_transpose_qd(name):
    s = batch(name)
    theirs = np.einsum("bji,bj->bi", loop(pinocchio(name).coriolis_matrix, s.q, s.qd), s.qd)
    floor = mass_scale(name) * np.abs(s.qd).max(axis=1) ** 2
    assert error(arm(name).coriolis_transpose_qd(s.q, s.qd), theirs, floor) < TOLERANCE


@every
def test_gravity_torque(name):
    s = batch(name)
    assert error(arm(name).gravity_torque(s.q), loop(pinocchio(name).gravity_torque, s.q)) < TOLERANCE


@every
def test_bias_torque(name):
    s = batch(name)
    assert error(arm(name).bias_torque(s.q, s.qd), loop(pinocchio(name).bias_torque, s.q, s.qd)) < TOLERANCE


@every
def test_inverse_dynamics(name):
    s = batch(name)
    theirs = loop(pinocchio(name).inverse_dynamics, s.q, s.qd, s.qdd)
    assert error(arm(name).inverse_dynamics(s.q, s.qd, s.qdd), theirs) < TOLERANCE


@every
def test_forward_dynamics(name):
    s = batch(name)
    theirs = loop(pinocchio(name).forward_dynamics, s.q, s.qd, s.tau)
    assert error(arm(name).forward_dynamics(s.q, s.qd, s.tau), theirs) < TOLERANCE


@every
@pytest.mark.parametrize("where", ["tool_wrench", "link_wrench"])
def test_inverse_dynamics_under_a_wrench(name, where):
    s = batch(name)
    w = getattr(s, where)
    theirs = loop(pinocchio(name).inverse_dynamics, s.q, s.qd, s.qdd, w)
    assert error(arm(name).inverse_dynamics(s.q, s.qd, s.qdd, w), theirs) < TOLERANCE


@every
@pytest.mark.parametrize("where", ["tool_wrench", "link_wrench"])
def test_forward_dynamics_under_a_wrench(name, where):
    s = batch(name)
    w = getattr(s, where)
    theirs = loop(pinocchio(name).forward_dynamics, s.q, s.qd, s.tau, w)
    assert error(arm(name).forward_dynamics(s.q, s.qd, s.tau, w), theirs) < TOLERANCE


@every
def test_energies(name):
    s = batch(name)
    kinetic = loop(pinocchio(name).kinetic_energy, s.q, s.qd)
    potential = loop(pinocchio(name).potential_energy, s.q)
    m = subject(name)
    # V passes through zero where the weights balance; its terms are of the size of the weight times a metre.
    weight = np.full(len(s.q), m.mass.sum() * np.linalg.norm(m.gravity))
    assert error(arm(name).kinetic_energy(s.q, s.qd), kinetic) < TOLERANCE
    assert error(arm(name).potential_energy(s.q), potential, weight) < TOLERANCE


@every
def test_poses(name):
    s = batch(name)
    assert error(arm(name).poses(s.q), loop(pinocchio(name).poses, s.q)) < TOLERANCE
    assert error(arm(name).pose(s.q), loop(pinocchio(name).pose, s.q)) < TOLERANCE


@every
def test_jacobian_and_its_rate_at_the_tool(name):
    s = batch(name)
    Jv, Jw = arm(name).jacobian(s.q)
    assert error(np.concatenate([Jv, Jw], axis=1), loop(pinocchio(name).jacobian, s.q)) < TOLERANCE
    rate = arm(name).jacobian_rate(s.q, s.qd)
    theirs = loop(pinocchio(name).jacobian_rate, s.q, s.qd)
    speed = np.abs(s.qd).max(axis=1)  # one joint's axis stands still: Jw does not change
    assert error(np.concatenate([rate.Jv, rate.Jw], axis=1), theirs, speed) < TOLERANCE


@every
def test_jacobian_and_its_rate_at_a_point_of_a_link(name):
    s = batch(name, 100)
    link, point = subject(name).n // 2, np.array([0.3, -0.2, 0.5])
    referee = Pinocchio(subject(name))
    frame = referee.add_frame(link, point)
    J = arm(name).jacobian(s.q, link=link, point=point)
    theirs = np.array([referee.jacobian(q, frame) for q in s.q])
    assert error(np.concatenate(J, axis=1), theirs) < TOLERANCE
    rate = arm(name).jacobian_rate(s.q, s.qd, link=subject(name).link_names[link], point=point)
    theirs = np.array([referee.jacobian_rate(q, qd, frame) for q, qd in zip(s.q, s.qd, strict=True)])
    assert error(np.concatenate(rate, axis=1), theirs, np.abs(s.qd).max(axis=1)) < TOLERANCE


@every
def test_injected_accelerations_sum_to_the_acceleration(name):
    s = batch(name)
    parts = arm(name).injected_accelerations(s.q, s.qd, s.qdd)
    total = (parts.tangential + parts.normal + parts.coriolis).sum(axis=1)
    theirs = loop(pinocchio(name).acceleration, s.q, s.qd, s.qdd)[:, :3]
    # One slide that accelerates at nearly nothing leaves only rounding: speeds and arms are of order one.
    assert error(total, theirs, np.ones(len(total))) < TOLERANCE


# Friction, which Pinocchio's rnea has not: added by hand from the model's own numbers.


@pytest.mark.parametrize("name", thinned(["puma560", "panda", "physical5", "physical9"]))
def test_friction_comes_on_top(name):
    m, s = subject(name), batch(name)
    assert (m.viscous + m.coulomb > 0).any() or name == "panda"
    friction = m.viscous * s.qd + m.coulomb * np.sign(s.qd)
    with_friction = arm(name, friction=True)
    # Zero friction gives zeros to compare: a newton metre is the unit of the rest.
    assert error(with_friction.friction_torque(s.qd), friction, np.ones(len(friction))) < TOLERANCE
    theirs = loop(pinocchio(name).inverse_dynamics, s.q, s.qd, s.qdd) + friction
    assert error(with_friction.inverse_dynamics(s.q, s.qd, s.qdd), theirs) < TOLERANCE
    theirs = loop(pinocchio(name).forward_dynamics, s.q, s.qd, s.tau - friction)
    assert error(with_friction.forward_dynamics(s.q, s.qd, s.tau), theirs) < TOLERANCE


def test_an_arm_may_be_loaded_without_friction():
    arm, none = er.load("panda"), er.load("panda", friction=False)
    q, qd = arm.ready, np.ones(arm.n)
    assert arm.friction_torque(qd).any()
    assert not none.friction_torque(qd).any()
    difference = arm.inverse_dynamics(q, qd, qd) - none.inverse_dynamics(q, qd, qd)
    np.testing.assert_allclose(difference, arm.friction_torque(qd), rtol=1e-10)  # of torques a thousand times as large
    assert arm.without_friction().model.digest == none.model.digest


def test_friction_is_zero_at_rest_and_odd():
    puma = er.load("puma560")
    assert (puma.model.coulomb > 0).all()
    assert np.array_equal(puma.friction_torque(np.zeros(6)), np.zeros(6))
    qd = np.array([1, -2, 3, -4, 5, -6.0])
    assert np.array_equal(puma.friction_torque(qd), -puma.friction_torque(-qd))
    assert np.allclose(puma.friction_torque(qd), puma.model.viscous * qd + puma.model.coulomb * np.sign(qd), 1e-15)


# Variants of an arm.


@pytest.mark.parametrize("name", ["panda", "stanford", "physical4"])
def test_payload_is_one_more_body_at_the_tool(name):
    rng = np.random.default_rng(3)
    tool = placement(rng)
    m = frictionless(subject(name)).with_tool(tool)
    R = rotation(rng)
    com, inertia = rng.uniform(-0.2, 0.2, 3), R @ np.diag([0.02, 0.03, 0.04]) @ R.T
    loaded = er.Arm(m).with_payload(2.5, com, inertia)
    referee = Pinocchio(m)
    referee.add_body(2.5, com, inertia, tool)
    s = states(m, 100)
    assert error(loaded.mass_matrix(s.q), loop(referee.mass_matrix, s.q)) < TOLERANCE
    theirs = loop(referee.inverse_dynamics, s.q, s.qd, s.qdd)
    assert error(loaded.inverse_dynamics(s.q, s.qd, s.qdd), theirs) < TOLERANCE
    assert error(loaded.pose(s.q), loop(referee.pose, s.q)) < TOLERANCE


def test_a_point_payload_needs_no_inertia():
    m = subject("ur5e")
    referee = Pinocchio(m)
    referee.add_body(3.0, np.array([0, 0, 0.1]), np.zeros((3, 3)), np.array(m.tool))
    s = states(m, 100)
    loaded = er.Arm(m).with_payload(3.0, (0, 0, 0.1))
    assert error(loaded.mass_matrix(s.q), loop(referee.mass_matrix, s.q)) < TOLERANCE


@pytest.mark.parametrize("name", ["panda", "scara"])
def test_base_pose_and_tilted_gravity(name):
    rng = np.random.default_rng(8)
    m = frictionless(subject(name)).with_base(placement(rng)).with_gravity([3.0, -4.0, -8.0])
    referee, s, ours = Pinocchio(m), states(m, 100), er.Arm(m)
    theirs = loop(referee.inverse_dynamics, s.q, s.qd, s.qdd, s.link_wrench)
    assert error(ours.inverse_dynamics(s.q, s.qd, s.qdd, s.link_wrench), theirs) < TOLERANCE
    theirs = loop(referee.forward_dynamics, s.q, s.qd, s.tau, s.tool_wrench)
    assert error(ours.forward_dynamics(s.q, s.qd, s.tau, s.tool_wrench), theirs) < TOLERANCE
    assert error(ours.pose(s.q), loop(referee.pose, s.q)) < TOLERANCE
    assert error(ours.potential_energy(s.q), loop(referee.potential_energy, s.q)) < TOLERANCE


def test_without_gravity_nothing_is_held():
    m = dataclasses.replace(subject("iiwa7"), gravity=np.zeros(3))
    assert np.array_equal(er.Arm(m).gravity_torque(states(m, 5).q), np.zeros((5, 7)))


# Long chains.  Few states: the point is that the same text works at any length.


def test_thirty_joints():
    ours = er.chains.random(30, seed=2)
    referee, s = Pinocchio(ours.model), states(ours.model, 10)
    M = loop(referee.mass_matrix, s.q)
    floor = np.abs(M).max(axis=(1, 2)) * np.abs(s.qd).max(axis=1)
    assert error(ours.mass_matrix(s.q), M) < TOLERANCE
    assert error(ours.coriolis_matrix(s.q, s.qd), loop(referee.coriolis_matrix, s.q, s.qd), floor) < TOLERANCE
    assert error(ours.bias_torque(s.q, s.qd), loop(referee.bias_torque, s.q, s.qd)) < TOLERANCE
    theirs = loop(referee.inverse_dynamics, s.q, s.qd, s.qdd)
    assert error(ours.inverse_dynamics(s.q, s.qd, s.qdd), theirs) < TOLERANCE
    theirs = loop(referee.forward_dynamics, s.q, s.qd, s.tau)
    assert error(ours.forward_dynamics(s.q, s.qd, s.tau), theirs) < TOLERANCE
    assert error(ours.poses(s.q), loop(referee.poses, s.q)) < TOLERANCE


@functools.cache
def hundred():
    ours = er.chains.random(100, seed=2)
    return ours, Pinocchio(ours.model), states(ours.model, 3)


def test_mass_matrix_of_a_hundred_joints():
    """One state after the other, so that only the kernel for one state is compiled (80,000 operations)."""
    ours, referee, s = hundred()
    assert error(loop(ours.mass_matrix, s.q), loop(referee.mass_matrix, s.q)) < TOLERANCE


def test_inverse_dynamics_of_a_hundred_joints():
    ours, referee, s = hundred()
    theirs = loop(referee.inverse_dynamics, s.q, s.qd, s.qdd)
    assert error(ours.inverse_dynamics(s.q, s.qd, s.qdd), theirs) < TOLERANCE


def test_forward_dynamics_of_a_hundred_joints():
    ours, referee, s = hundred()
    theirs = loop(referee.forward_dynamics, s.q, s.qd, s.tau)
    assert error(loop(ours.forward_dynamics, s.q, s.qd, s.tau), theirs) < TOLERANCE


@pytest.mark.slow
def test_coriolis_matrix_of_a_hundred_joints():
    """The Program evaluated: 190,000 operations compile in a minute, which tells nothing that M does not."""
    ours, referee, s = hundred()
    C = dynamics.program(ours.model, "coriolis_matrix", "christoffel").evaluate(s.q, s.qd)
    M = loop(referee.mass_matrix, s.q)
    floor = np.abs(M).max(axis=(1, 2)) * np.abs(s.qd).max(axis=1)
    assert error(C, loop(referee.coriolis_matrix, s.q, s.qd), floor) < TOLERANCE


def test_inverse_of_a_long_mass_matrix():
    """At n = 30; at 100 the trace alone takes half a minute."""
    ours = er.chains.random(30, seed=2)
    s = states(ours.model, 3)
    theirs = loop(Pinocchio(ours.model).mass_matrix_inverse, s.q)
    assert error(loop(ours.mass_matrix_inverse, s.q), theirs) < TOLERANCE
