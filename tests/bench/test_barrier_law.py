"""The CBF-QP law's problem: its rows are the gradients of distances, its bounds what the law's docstring says."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.avoidance import Config
from elbowroom.bench.encounters.barrier import FREE, BarrierProblem, BarrierSettings
from elbowroom.bench.encounters.scene import frames, place, scene
from elbowroom.errors import ElbowroomError
from elbowroom.geometry import Pairs
from elbowroom.geometry.distance import DISTANCE, NORMAL, SPEED_Y
from elbowroom.geometry.shapes import RADIUS

STEP = 1e-6  # rad
SETTINGS = BarrierSettings()


@pytest.fixture(scope="module", params=["panda", "scara"])
def here(request):
    """A problem beside two people who move, joints, and its pairs measured anew."""
    where = place(request.param)
    what = scene(where, 3, 2, 1.0)
    people = frames(what, "ideal").row(40).reshape(-1, 13)
    problem = BarrierProblem(where, 2, len(people) // 2, SETTINGS)
    low, high = where.arm.model.sampling_range()
    q = np.clip(where.arm.ready + 0.3, low, high)
    own, slots = len(where.body), len(people)
    pairs = [(int(k), own + m) for k in where.moving for m in range(slots)] + list(where.body.self_pairs)
    table = Pairs(own + slots, 0, pairs)

    def measured(q):
        return table(np.concatenate([where.body.rows(q, np.zeros(where.arm.n)), people]))

    nearest = measured(q)[: len(where.moving) * slots]
    nearest = nearest[nearest[:, DISTANCE].argmin()]
    people[:, :6] += np.tile((nearest[DISTANCE] - 0.1) * nearest[NORMAL], 2)  # both come, one as near as 0.1 m
    problem.state(q, what.goals[0], people)
    return where, problem, q, people, measured, len(where.moving) * slots


def test_rows_are_the_gradients_of_distances(here):
    where, problem, q, _, measured, met = here
    n, count = where.arm.n, len(measured(q))
    for j in range(n):
        e = STEP * np.eye(n)[j]
        slope = (measured(q + e)[:, DISTANCE] - measured(q - e)[:, DISTANCE]) / (2 * STEP)
        assert np.abs(problem.A[:count, j] - slope).max() < 1e-6  # m/rad: of a difference of 1e-6
    assert (problem.A[:met, n:] == [1.0, 0.0]).all()
    assert (problem.A[met:, n:] == [0.0, 1.0]).all()


def test_bounds_of_pairs_count_who_comes_and_leave_out_who_is_far(here):
    where, problem, q, _, measured, met = here
    table, width = measured(q), where.arm.n + 2
    d = table[:, DISTANCE]
    lower = problem.lower[width:]
    need = np.minimum(table[:met, SPEED_Y] - 4.0 * (d[:met] - 0.05), 3.0)
    assert np.allclose(lower[:met], np.where(d[:met] < 0.6, need, -FREE), rtol=0, atol=1e-12)
    assert (d[:met] < 0.6).any()
    assert (d[:met] > 0.6).any()
    assert np.allclose(lower[met : len(d)], -4.0 * (d[met:] - 0.02), rtol=0, atol=1e-12)
    assert (problem.upper[width:] == FREE).all()


def test_the_floor_and_the_joints_have_rows_too(here):
    where, problem, q, _, measured, _ = here
    n, count = where.arm.n, len(measured(q))
    own = where.body.rows(q, np.zeros(n))
    heights = np.concatenate(
        [own[where.lifted[:, end], 2 + 3 * end] - own[where.lifted[:, end], RADIUS] for end in (0, 1)]
    )
    assert np.allclose(problem.lower[n + 2 + count :], -4.0 * (heights - where.base[2] - 0.02), rtol=0, atol=1e-12)
    for j in range(n):
        e = STEP * np.eye(n)[j]
        ends = [where.body.rows(q + sign * e, np.zeros(n)) for sign in (1.0, -1.0)]
        slope = [(ends[0] - ends[1])[where.lifted[:, end], 2 + 3 * end] / (2 * STEP) for end in (0, 1)]
        assert np.allclose(problem.A[count:, j], np.concatenate(slope), rtol=0, atol=1e-8)
    model = where.arm.model
    speed = np.where(np.isfinite(model.velocity), model.velocity, 2.0)
    assert np.allclose(problem.upper[:n], np.minimum(speed, 4.0 * (model.upper - q)))
    assert np.allclose(problem.lower[:n], np.maximum(-speed, 4.0 * (model.lower - q)))


def test_without_velocities_nobody_comes(here):
    where, _, q, people, measured, met = here
    still = BarrierProblem(where, 2, len(people) // 2, BarrierSettings(velocity=False))
    still.state(q, where.arm.pose(q)[:3, 3], people)
    d = measured(q)[:met, DISTANCE]
    need = np.minimum(-4.0 * (d - 0.05), 3.0)
    assert np.allclose(still.lower[where.arm.n + 2 :][:met], np.where(d < 0.6, need, -FREE), rtol=0, atol=1e-12)


def test_the_wish_is_the_task_by_damped_least_squares_and_the_posture_in_its_null_space(here):
    where, problem, q, people, _, _ = here
    arm, goal = where.arm, where.arm.pose(q)[:3, 3] + [0.2, -0.1, 0.05]
    problem.state(q, goal, people)
    J, error = arm.jacobian(q)[0], goal - arm.pose(q)[:3, 3]
    known = Config()
    v = known.attraction.kp * error
    v *= min(1.0, known.attraction.max_speed / np.linalg.norm(v))
    back = J.T @ np.linalg.inv(J @ J.T + known.damping**2 * np.eye(3))
    wish = back @ v + (np.eye(arm.n) - back @ J) @ (known.posture * (arm.ready - q))
    assert np.allclose(-problem.f[: arm.n], wish, rtol=0, atol=1e-10)
    with pytest.raises(ElbowroomError, match="must be finite; q is not"):
        problem.state(q * np.nan, goal, people)
