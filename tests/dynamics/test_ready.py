"""The ready pose: off limits and singularities, clear, over the work, and always the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import elbowroom as er
from elbowroom.dynamics import ready
from elbowroom.geometry import Body
from elbowroom.model import catalogue
from elbowroom.model.model import Model

ARMS = [name for name in catalogue.names() if name != "planar2"]  # which has no height to choose


def unposed(name: str) -> Model:
    """An arm of the catalogue as if its file gave no ready pose."""
    return dataclasses.replace(catalogue.load(name), ready=np.zeros(catalogue.load(name).n), has_ready=False)


@pytest.mark.parametrize("name", ARMS)
def test_the_catalogue_keeps_its_own(name):
    assert (er.load(name).ready == catalogue.load(name).ready).all()


@pytest.mark.parametrize("name", ARMS)
def test_it_is_off_the_limits_clear_and_well_conditioned(name):
    arm = er.Arm(unposed(name))
    q = arm.ready
    room = np.minimum(q - arm.model.lower, arm.model.upper - q)
    span = arm.model.upper - arm.model.lower
    assert (room > np.minimum(0.2, 0.1 * span)).all()  # 0.2 rad: where a controller begins to slow a joint
    assert Body(arm).self_gap(q[None])[0] > 0.02  # m: what a supervisor keeps links apart by
    Jv, _ = arm.jacobian(q)
    Q = ready.spread(*arm.model.sampling_range(), 200)
    usual = np.median([np.linalg.svd(arm.jacobian(x)[0], compute_uv=False)[-1] for x in Q])
    assert np.linalg.svd(Jv, compute_uv=False)[-1] > usual  # better than most, where it can move in all directions


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa7"])
def test_the_tool_points_down_in_front_above_the_floor(name):
    arm = er.Arm(unposed(name))
    T = arm.pose(arm.ready)
    last = arm.poses(arm.ready)[-1]
    assert (last[:3, :3] @ ready.approach(arm.model))[2] < -0.5
    assert T[2, 3] > 0.1
    assert T[0, 3] > 0.2


def test_turning_the_base_about_the_vertical_changes_nothing():
    model = unposed("ur5e")
    turn = np.array([[0.0, -1, 0, 0.3], [1, 0, 0, -0.2], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert (er.Arm(model).ready == er.Arm(model).with_base(turn).ready).all()


def test_a_hanging_arm_has_another():
    model = unposed("ur5e")
    over = np.diag([1.0, -1.0, -1.0, 1.0])
    q = er.Arm(model).with_base(over).ready
    arm = er.Arm(model).with_base(over)
    assert (arm.poses(q)[-1][:3, :3] @ ready.approach(model))[2] < -0.5  # still down, though the base is upside down


def test_it_is_searched_for_anew_with_the_same_result():
    model = unposed("panda")
    assert (ready.ready_pose(model) == ready.ready_pose(model)).all()


@pytest.mark.parametrize("n", [1, 2, 9])
def test_any_chain_has_one_within_its_limits(n):
    model = er.chains.random(n, seed=3).model
    q = er.Arm(dataclasses.replace(model, has_ready=False)).ready
    assert ((model.lower <= q) & (q <= model.upper)).all()


def test_a_table_with_a_ready_pose_keeps_it():
    columns = {"a": [0.0, 0.5], "alpha": [0.0, 0.0], "d": [0.0, 0.0], "mass": [1.0, 1.0]}
    body = {"com": np.zeros((2, 3)), "inertia": np.tile(0.1 * np.eye(3), (2, 1, 1))}
    assert (er.Arm.from_mdh(**columns, **body, ready=[0.0, 0.0]).ready == 0.0).all()
    assert er.Arm.from_mdh(**columns, **body).model.has_ready is False


def test_the_reach_of_a_planar_arm_is_its_length():
    model = catalogue.load("planar2")
    length = float(np.linalg.norm(model.p[1]) + np.linalg.norm(model.tool[:3, 3]))
    assert ready.reach(model) == pytest.approx(length, rel=0.01)  # the farthest of 6000 samples
