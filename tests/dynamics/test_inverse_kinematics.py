"""Inverse kinematics: reachable poses are reached within the limits, unreachable ones are said to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import elbowroom as er
from elbowroom.dynamics.inverse_kinematics import rotation_vector
from elbowroom.errors import ShapeError
from referees import CATALOGUE, subject

SIX = tuple(name for name in CATALOGUE if subject(name).n >= 6)


def within(model, q):
    return bool((q >= model.lower).all() and (q <= model.upper).all())


def distance(A, B):
    """sqrt(position error squared + rotation angle squared), by SciPy."""
    turn = Rotation.from_matrix(A[:3, :3].T @ B[:3, :3]).magnitude()
    return math.hypot(np.linalg.norm(A[:3, 3] - B[:3, 3]), turn)


def test_there_are_six_and_seven_joint_arms():
    assert {"panda", "iiwa7", "iiwa14", "ur5e", "ur10e", "puma560", "stanford"} == set(SIX)


@pytest.mark.parametrize("name", SIX)
def test_reachable_poses_are_reached(name):
    arm = er.load(name)
    goals = np.random.default_rng(5).uniform(arm.model.lower, arm.model.upper, (20, arm.n))
    for q in goals:
        T = arm.pose(q)
        found = arm.inverse_kinematics(T)
        assert found.success, (q, found)
        assert found.error < 1e-9
        assert within(arm.model, found.q)
        # SciPy's angle of a nearly equal rotation is good to sqrt(eps) of itself only near pi; here to 1e-15.
        assert distance(arm.pose(found.q), T) < 1.1e-9


@pytest.mark.parametrize("name", SIX)
def test_the_default_restarts_reach_nearly_all(name):
    arm = er.load(name)
    goals = np.random.default_rng(6).uniform(arm.model.lower, arm.model.upper, (40, arm.n))
    assert sum(arm.inverse_kinematics(arm.pose(q)).success for q in goals) >= 38


@pytest.mark.parametrize("name", ["panda", "ur5e", "stanford"])
def test_from_a_start_nearby_it_stays_nearby(name):
    arm = er.load(name)
    rng = np.random.default_rng(2)
    for _ in range(5):
        q = arm.ready + rng.uniform(-0.05, 0.05, arm.n)
        found = arm.inverse_kinematics(arm.pose(q), arm.ready)
        assert found.success
        assert found.restarts == 0
        assert np.abs(found.q - arm.ready).max() < 0.5


def test_at_the_goal_it_stays():
    arm = er.load("panda")
    found = arm.inverse_kinematics(arm.pose(arm.ready), arm.ready)
    assert found.success
    assert found.iterations == 0
    assert np.array_equal(found.q, arm.ready)


def test_the_ready_configuration_is_the_default_start():
    arm = er.load("ur5e")
    T = arm.pose(arm.ready + 0.1)
    a, b = arm.inverse_kinematics(T), arm.inverse_kinematics(T, arm.ready)
    assert np.array_equal(a.q, b.q)


@pytest.mark.parametrize("name", SIX)
def test_unreachable_poses_are_said_to_be(name):
    arm = er.load(name)
    T = arm.pose(arm.ready).copy()
    T[:3, 3] = [30.0, 0, 0]
    found = arm.inverse_kinematics(T, restarts=2, iterations=50)
    assert not found.success
    assert np.isfinite(found.q).all()
    assert within(arm.model, found.q)
    assert found.error > 1.0
    assert found.error == pytest.approx(distance(arm.pose(found.q), T), rel=1e-6)


def test_limits_make_a_pose_unreachable():
    """A pose of the unlimited arm that the limited one cannot take."""
    import dataclasses

    m = er.load("planar2").model
    tight = er.Arm(dataclasses.replace(m, lower=np.array([-0.5, -0.5]), upper=np.array([0.5, 0.5])))
    T = tight.pose([2.0, 0.2])
    found = tight.inverse_kinematics(T, restarts=3)
    assert not found.success
    assert within(tight.model, found.q)
    inside = tight.inverse_kinematics(tight.pose([0.5, -0.5]), [0, 0])  # in the corner of the limits
    assert inside.success
    assert within(tight.model, inside.q)


def test_a_start_outside_the_limits_is_brought_inside():
    arm = er.load("panda")
    found = arm.inverse_kinematics(arm.pose(arm.ready), np.full(7, 100.0))
    assert within(arm.model, found.q)
    turned = arm.ready + np.array([2 * math.pi, 0, 0, 0, 0, 0, 0])  # the goal itself, a whole turn away
    found = arm.inverse_kinematics(arm.pose(arm.ready), turned)
    assert found.success
    assert within(arm.model, found.q)


def test_the_same_each_time():
    arm = er.load("iiwa7")
    q = np.random.default_rng(1).uniform(arm.model.lower, arm.model.upper)
    a, b = arm.inverse_kinematics(arm.pose(q)), er.load("iiwa7").inverse_kinematics(arm.pose(q))
    assert np.array_equal(a.q, b.q)


def test_the_tool_and_the_base_count():
    tool = np.eye(4)
    tool[:3, 3] = [0.1, 0, 0.2]
    arm = er.load("ur5e").with_tool(tool)
    T = arm.pose(arm.ready + 0.2)
    found = arm.inverse_kinematics(T)
    assert found.success
    assert distance(arm.pose(found.q), T) < 1.1e-9


def test_a_looser_tolerance_ends_sooner():
    arm = er.load("panda")
    T = arm.pose(arm.ready + 0.3)
    loose, tight = arm.inverse_kinematics(T, tolerance=1e-2), arm.inverse_kinematics(T, tolerance=1e-10)
    assert loose.success
    assert tight.success
    assert loose.iterations < tight.iterations
    assert tight.error < 1e-10


@pytest.mark.parametrize(
    "T, start, message",
    [
        (np.eye(3), None, r"T must have shape \(4, 4\); got \(3, 3\)"),
        (np.zeros((2, 4, 4)), None, r"T must have shape \(4, 4\); got \(2, 4, 4\)"),
        (np.full((4, 4), np.nan), None, "T must be finite"),
        (np.diag([1, 1, 2, 1]), None, "T must hold a rotation matrix"),
        (np.diag([1, 1, -1, 1]), None, "T must hold a rotation matrix"),
        (np.eye(4), np.zeros(3), r"start must have shape \(7,\); got \(3,\)"),
        (np.eye(4), np.full(7, np.inf), "start must be finite"),
    ],
)
def test_bad_input(T, start, message):
    with pytest.raises(ValueError, match=f"inverse_kinematics: {message}") as caught:
        er.load("panda").inverse_kinematics(T, start)
    if "shape" in message:
        assert caught.type is ShapeError


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, math.pi - 1e-3, math.pi - 1e-7, math.pi])
def test_rotation_vectors_of_every_size(angle):
    """Small turns and half turns have their own branches; the tolerance is that of an angle read off a matrix."""
    rng = np.random.default_rng(4)
    for axis in (*np.eye(3), *rng.normal(size=(5, 3))):
        axis = axis / np.linalg.norm(axis)
        v = rotation_vector(Rotation.from_rotvec(angle * axis).as_matrix())
        assert np.linalg.norm(v) == pytest.approx(angle, abs=1e-9)
        # Near half a turn the axis comes from R + 1, whose sign is free at exactly pi.
        off = min(np.abs(v - angle * axis).max(), np.abs(v + angle * axis).max() if angle > 3.14159 else np.inf)
        assert off < 1e-6


def test_a_pose_written_in_rows_is_refused():
    arm = er.load("ur5e")
    T = arm.pose(arm.ready)
    with pytest.raises(ValueError, match="last row of T must be 0 0 0 1"):
        arm.inverse_kinematics(T.T)
    with pytest.raises(er.DtypeError, match="T must be real numbers"):
        arm.inverse_kinematics(T.astype(complex))
    with pytest.raises(ValueError, match="restarts must be >= 0"):
        arm.inverse_kinematics(T, restarts=-1)
