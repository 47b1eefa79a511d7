"""The F controller: forces through the arm's inertia; linearised, operational and in joint space (3.56)-(3.76)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import Kinematics, unit
from test_velocity_law import ALONE, SOFT, one_capsule, open_configurations, step

import elbowroom as er
from elbowroom.avoidance import Attraction, Config, Controller, Force, Goal, JointLimits, State
from elbowroom.avoidance.control.force_law import clamped
from elbowroom.geometry import Body, Sphere, distance

FREE = ALONE | {"repulsion": SOFT, "controller": "F", "superposition": "joint"}


def ball_near(body, q, rng, far=0.25):
    capsule = body.capsules(q)[0]
    return Sphere(capsule.a + far * unit(rng), 0.03)


def push_on(arm, body, q, ball, gain=0.3, influence=0.5):
    """J_cp^T n f (n,) of (3.57) and the point, by the exact distance."""
    capsule, link = body.capsules(q)[0], body.links[0]
    apart = distance(capsule, ball)
    point = apart.smooth_a + capsule.radius * apart.normal
    J = Kinematics(arm.model).at(q, np.zeros(arm.n)).jacobian(link, point)[:3]
    return J.T @ apart.normal * gain * (1.0 - apart.distance / influence)


# ---- linearised


@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_linearised_is_inertia_times_speed_equals_push(name):
    """(3.71): M qd_rep = R T J_cp^T f; the inertia is Pinocchio's."""
    arm = er.load(name)
    body = one_capsule(arm, 4)
    force = Force(resistance=40.0, time_factor=0.2)
    rng, configurations = open_configurations(arm, 4, seed=1)
    for q in configurations:
        ball = ball_near(body, q, rng)
        command, _ = step(arm, Config(force=force, **FREE), lambda o, b=ball: o.see([b.row()], 0.0), q, body=body)
        M = Kinematics(arm.model).at(q, np.zeros(arm.n)).mass_matrix()
        expected = 40.0 * 0.2 * push_on(arm, body, q, ball)
        assert np.linalg.norm(expected) > 0.01
        # of torques of order one, after solving with a matrix of condition up to 1e4
        np.testing.assert_allclose(M @ command.qd, expected, rtol=0, atol=1e-10)


def test_joints_of_little_inertia_move_more():
    """The thesis' remark on test 4: seen per unit of torque, the wrist gives way before the shoulder.

    The damped inverse shares a motion by lever arms alone; inertia moves the share to the light joints.
    """
    arm = er.load("panda")
    body = one_capsule(arm, 6)
    rng, configurations = open_configurations(arm, 10, seed=5)
    shares = []
    for q in configurations:
        ball = ball_near(body, q, rng)
        by_law = []
        for options in (FREE, FREE | {"controller": "K"}):
            command, _ = step(arm, Config(**options), lambda o, b=ball: o.see([b.row()], 0.0), q, body=body)
            by_law.append(np.abs(command.qd[4:]).sum() / np.abs(command.qd).sum())
        shares.append(by_law)
    force, kinematic = np.array(shares).T
    assert (force > kinematic).all()
    # and it is the cheapest motion for its gain: no other of equal J^T f . qd has less kinetic energy
    M = arm.mass_matrix(q)
    tau = push_on(arm, body, q, ball)
    command, _ = step(arm, Config(**FREE), lambda o: o.see([ball.row()], 0.0), q, body=body)
    qd = command.qd
    for _ in range(20):
        other = rng.standard_normal(arm.n)
        other *= (tau @ qd) / (tau @ other)
        assert other @ M @ other >= qd @ M @ qd * (1 - 1e-9)


def test_as_it_comes_the_force_controller_goes_by_inertia():
    """The same with the default superposition: without inertia in it, F would be K under another name."""
    arm = er.load("panda")
    body = one_capsule(arm, 6)
    rng, configurations = open_configurations(arm, 10, seed=5)
    options = {name: value for name, value in FREE.items() if name != "superposition"}
    energies = []
    for q in configurations:
        ball = ball_near(body, q, rng)
        M, tau = arm.mass_matrix(q), push_on(arm, body, q, ball)
        found = []
        for controller in ("F", "K"):
            config = Config(**options | {"controller": controller})
            qd = step(arm, config, lambda o, b=ball: o.see([b.row()], 0.0), q, body=body)[0].qd
            found.append(qd @ M @ qd / (tau @ qd) ** 2)  # kinetic energy for the same giving way
        energies.append(found)
    force, kinematic = np.array(energies).T
    assert (force < 0.95 * kinematic).mean() > 0.8


@pytest.mark.parametrize("what", ["time_factor", "resistance"])
def test_the_time_factor_and_the_resistance_scale(what):
    arm = er.load("ur5e")
    body = one_capsule(arm, 5)
    ball = Sphere(body.capsules(arm.ready)[0].a + np.array([0.2, 0.1, 0.05]), 0.03)

    def speed(value):
        config = Config(force=Force(**{what: value}), **FREE)
        return step(arm, config, lambda o: o.see([ball.row()], 0.0), arm.ready, body=body)[0].qd

    assert np.linalg.norm(speed(0.1)) > 1e-6
    np.testing.assert_allclose(speed(0.3), 3.0 * speed(0.1), rtol=1e-12)


def test_the_period_does_not_scale_the_repulsion():
    """The thesis' own time step is a gain: a faster loop pushes as hard as a slow one."""
    arm = er.load("ur5e")
    body = one_capsule(arm, 5)
    ball = Sphere(body.capsules(arm.ready)[0].a + np.array([0.2, 0.1, 0.05]), 0.03)
    one, two = (
        step(arm, Config(period=p, **FREE), lambda o: o.see([ball.row()], 0.0), arm.ready, body=body)[0].qd
        for p in (0.001, 0.158)
    )
    assert np.array_equal(one, two)


def test_the_potential_acts_through_inertia():
    """(3.73): at a limit, M qd = R T tau_lim, away from it."""
    arm = er.load("panda")
    q = arm.ready.copy()
    q[3] = arm.model.upper[3] - 0.05
    rules = JointLimits("potential", "printed", margin=0.2, gain=0.02)
    config = Config(**FREE | {"joint_limits": rules})
    command, _ = step(arm, config, None, q, body=one_capsule(arm, 6))
    tau = np.zeros(7)
    tau[3] = -0.02 / 0.05 * 60.0 * 0.158
    np.testing.assert_allclose(arm.mass_matrix(q) @ command.qd, tau, rtol=0, atol=1e-10)
    assert command.qd[3] < 0


def test_the_printed_scaling_leaves_the_attraction_alone_and_the_mended_one_does_not():
    """(3.76): N scales what the repulsion does; a joint at its limit still follows the attraction into it."""
    arm = er.load("panda")
    q = arm.ready.copy()
    q[5] = arm.model.upper[5] - 1e-3
    goal = Goal(arm.pose(q + np.eye(7)[5] * 0.3)[:3, 3])
    speeds = {}
    for form in ("printed", "mended"):
        rules = JointLimits("scaling", form)
        options = FREE | {"joint_limits": rules, "attraction": Attraction()}
        speeds[form] = step(arm, Config(**options), None, q, goal, one_capsule(arm, 6))[0].qd[5]
    assert speeds["printed"] > 0.01
    assert 0 <= speeds["mended"] < 1e-4


# ---- torques


def test_forward_dynamics_of_the_torque_gives_the_acceleration():
    """(3.66)-(3.68): a square Jacobian, little damping: x'' is f_att + J M^-1 J_cp^T f, the arm moving."""
    arm = er.load("ur5e")
    body = one_capsule(arm, 3)
    force = Force(method="operational", torque_fraction=1.0, kp=30.0, kv=8.0, max_acceleration=3.0)
    config = Config(task="pose", damping=1e-6, force=force, **FREE)
    rng, configurations = open_configurations(arm, 6, seed=2)
    for q in configurations:
        if abs(np.linalg.det(np.vstack(arm.jacobian(q)))) < 0.01:
            continue
        qd = 0.3 * rng.standard_normal(6)
        tool = arm.pose(q)
        turn = 0.2 * unit(rng)
        goal = Goal(tool[:3, 3] + 0.05 * unit(rng), 0.1 * unit(rng), pin.exp3(turn) @ tool[:3, :3])
        ball = ball_near(body, q, rng)
        command, _ = step(arm, config, lambda o, b=ball: o.see([b.row()], 0.0), q, goal, body, qd)
        k = Kinematics(arm.model).at(q, qd)
        J = k.tool_jacobian()
        qdd = arm.forward_dynamics(q, qd, command.tau)
        measured = J @ qdd + k.drift()
        v = J @ qd
        error = np.r_[goal.position - tool[:3, 3], turn * (2 * np.sin(0.1) / 0.2)]
        f = np.r_[30.0 * error[:3], 30.0 * error[3:]]
        f[:3] *= min(1.0, 3.0 / np.linalg.norm(f[:3]))
        f[3:] *= min(1.0, 3.0 / np.linalg.norm(f[3:]))
        f = f * command.slow - 8.0 * (v - command.slow * np.r_[goal.velocity, np.zeros(3)])
        expected = f + J @ np.linalg.solve(k.mass_matrix(), 60.0 * push_on(arm, body, q, ball))
        assert (np.abs(command.tau) < arm.model.effort).all(), "a clamped torque would say nothing"
        # damping of 1e-12 over sigma^2 > 1e-3, times accelerations of order 10
        np.testing.assert_allclose(measured, expected, rtol=0, atol=1e-6)


def test_the_acceleration_reported_is_that_of_the_tool():
    """`Command.acceleration` says "of the tool by (3.68)": it must be so while the arm moves, too."""
    arm = er.load("ur5e")
    config = Config(task="pose", damping=1e-6, force=Force(method="operational", torque_fraction=1.0), **FREE)
    rng, (q, *_) = open_configurations(arm, 1, seed=2)
    qd = 0.5 * rng.standard_normal(6)
    goal = Goal(arm.pose(q)[:3, 3] + 0.02 * unit(rng), rotation=arm.pose(q)[:3, :3])
    command, _ = step(arm, config, None, q, goal, one_capsule(arm, 3), qd)
    k = Kinematics(arm.model).at(q, qd)
    measured = (k.tool_jacobian() @ arm.forward_dynamics(q, qd, command.tau) + k.drift())[:3]
    assert np.linalg.norm(k.drift()[:3]) > 0.01
    np.testing.assert_allclose(command.acceleration, measured, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", ["operational", "joint"])
@pytest.mark.parametrize("name", ["panda", "scara", "puma560"])
def test_at_the_goal_the_torque_holds_the_arm(method, name):
    """At rest, at the goal and at the posture, with nobody near, the torque is gravity's."""
    arm = er.load(name)
    body = one_capsule(arm, arm.n - 1)
    config = Config(controller="F", force=Force(method=method), self_collision=None)
    command, _ = step(arm, config, None, arm.ready, body=body)
    np.testing.assert_allclose(command.tau, arm.gravity_torque(arm.ready), rtol=0, atol=1e-9)
    np.testing.assert_allclose(command.qd, 0.0, atol=1e-12)


@pytest.mark.parametrize("method", ["operational", "joint"])
def test_the_speed_is_the_torque_through_forward_dynamics(method):
    """Arms that take velocities get what the torques make of the arm in dt; friction is left to the drive."""
    arm = er.load("scara")
    body = Body.from_frames(arm, 0.05)
    qd = np.array([0.2, -0.3, 0.05, 0.4])
    config = Config(controller="F", force=Force(method=method))
    goal = Goal(arm.pose(arm.ready)[:3, 3] + [0.05, 0.02, 0.01])
    command, _ = step(arm, config, None, arm.ready, goal, body, qd)
    qdd = arm.forward_dynamics(arm.ready, qd, command.tau + arm.friction_torque(qd))
    np.testing.assert_allclose(command.qd, qd + 0.001 * qdd, rtol=0, atol=1e-12)
    np.testing.assert_allclose(command.q, arm.ready + 0.001 * command.qd, rtol=0, atol=1e-15)


def test_joint_space_pd():
    """(3.56): on the first step the joint goal is where the arm is, so only speeds count."""
    arm = er.load("panda")
    qd = np.linspace(-0.3, 0.3, 7)
    force = Force(method="joint", kp=50.0, kv=7.0, torque_fraction=1.0)
    command, controller = step(arm, Config(force=force, **FREE), None, arm.ready, body=one_capsule(arm, 6), qd=qd)
    bias, M = arm.bias_torque(arm.ready, qd), arm.mass_matrix(arm.ready)
    np.testing.assert_allclose(command.tau, M @ (-7.0 * qd) + bias, rtol=0, atol=1e-10)
    # the arm is found elsewhere at the next step: the spring pulls it back
    q = arm.ready + 0.01
    goal = Goal(arm.pose(arm.ready)[:3, 3])
    command = controller.step(0.001, 0.001, State(q), controller.obstacles(), goal)
    expected = arm.mass_matrix(q) @ np.full(7, -50.0 * 0.01) + arm.gravity_torque(q)
    np.testing.assert_allclose(command.tau, expected, rtol=0, atol=1e-9)


def test_the_joint_goal_follows_the_tool_goal():
    """(3.56)'s q_d comes from the Cartesian goal by inverse kinematics: the tool of q_d arrives at the goal."""
    arm = er.load("panda")
    config = Config(controller="F", period=0.01, force=Force(method="joint"), self_collision=None)
    controller = Controller(arm, config, body=one_capsule(arm, 6), people=1, person_capsules=1)
    places, state = controller.obstacles(), State(arm.ready)
    goal = Goal(arm.pose(arm.ready)[:3, 3] + [0.1, 0.1, -0.1])
    for k in range(1200):
        command = controller.step(0.01 * k, 0.01, state, places, goal)
        state.qd[:] = command.qd
        state.q += 0.01 * command.qd
    # kp = 3/s, held at 0.5 m/s at first: e^-30 of 17 cm and more
    assert np.linalg.norm(arm.pose(state.q)[:3, 3] - goal.position) < 1e-4


# ---- clamping


@given(st.lists(st.floats(-500, 500), min_size=4, max_size=4), st.floats(0.1, 1.0))
def test_torques_are_clamped_on_both_sides(torque, fraction):
    """(3.59)-(3.60), which print one side; a joint without a limit keeps what it has."""
    effort = np.array([100.0, 50.0, np.inf, 10.0])
    found = np.asarray(clamped(np.array(torque), fraction, effort), dtype=float)
    C = np.abs(torque) < fraction * effort
    printed = np.where(C, torque, np.sign(torque) * np.where(np.isfinite(effort), fraction * effort, 0.0))
    np.testing.assert_allclose(found, printed, rtol=1e-15)


@pytest.mark.parametrize("method", ["operational", "joint"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_commanded_torques_stay_inside_the_effort_limits(method, side):
    """A joint hurled one way or the other asks for more brake than there is."""
    arm = er.load("panda")
    force = Force(method=method, torque_fraction=0.5)
    config = Config(controller="F", force=force, joint_limits=JointLimits("none"))
    qd = side * np.array([2.0, 2.0, 2.0, -2.0, 2.0, -2.0, 2.0]) * 2.0
    command, _ = step(arm, config, None, arm.ready, body=one_capsule(arm, 6), qd=qd)
    most = 0.5 * arm.model.effort
    assert (np.abs(command.tau) <= most).all()
    assert (np.abs(command.tau) == most).any()
    # what the arm then does is what the clamped torque does
    qdd = arm.forward_dynamics(arm.ready, qd, command.tau + arm.friction_torque(qd))
    np.testing.assert_allclose(command.qd, qd + 0.001 * qdd, rtol=0, atol=1e-10)


# ---- joint limits


@pytest.mark.parametrize("method", ["scaling", "potential"])
@pytest.mark.parametrize("law", ["linearised", "operational", "joint"])
def test_joints_stay_within_their_limits(law, method):
    """The goal lies round the base, past the first joint's limit: the joint must stop before it."""
    arm = er.load("panda")
    q = arm.ready.copy()
    q[0] = 2.3
    turn = pin.exp3(np.array([0.0, 0.0, 1.2]))
    goal = Goal(turn @ arm.pose(q)[:3, 3])
    config = Config(
        controller="F", period=0.005, force=Force(method=law), joint_limits=JointLimits(method), self_collision=None
    )
    controller = Controller(arm, config, body=one_capsule(arm, 6), people=1, person_capsules=1)
    places, state, least = controller.obstacles(), State(q), np.inf
    for k in range(1000):
        command = controller.step(0.005 * k, 0.005, state, places, goal)
        state.qd[:] = command.qd
        state.q += 0.005 * command.qd
        least = min(least, (arm.model.upper - state.q).min(), (state.q - arm.model.lower).min())
    assert least > 0


def test_pushes_add_up_in_torque():
    """(3.57)-(3.58): the repulsion's torque is J^T f, whatever the attraction does."""
    arm = er.load("panda")
    body = one_capsule(arm, 5)
    ball = Sphere(body.capsules(arm.ready)[0].a + np.array([0.1, 0.2, 0.1]), 0.03)
    for method in ("operational", "joint"):
        force = Force(method=method, torque_fraction=1.0, resistance=20.0)
        options = dataclasses.replace(Config(**FREE), force=force, attraction=Attraction(kp=0.0, slow_down="off"))
        goal = Goal(arm.pose(arm.ready)[:3, 3] + [0.03, 0.0, 0.0])
        alone, _ = step(arm, options, None, arm.ready, goal, body)
        both, _ = step(arm, options, lambda o: o.see([ball.row()], 0.0), arm.ready, goal, body)
        expected = 20.0 * push_on(arm, body, arm.ready, ball)
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(both.tau - alone.tau, expected, rtol=0, atol=1e-9)
