"""What of a push can be seen at all: `best` of bench/contact.py, against readings that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Contact
from elbowroom.bench.contact import IN_TIME, best, felt

DRAWS = 40_000


def a_push(arm, seed):
    random = np.random.default_rng(seed)
    q = arm.ready + random.uniform(-0.3, 0.3, arm.n)
    link = int(random.integers(arm.n))
    return q, link, random.uniform(-0.2, 0.2, 3), random.normal(size=3)


@pytest.mark.parametrize("period", [0.001, 0.01])
@pytest.mark.parametrize("name", ["planar2", "scara"])
def test_the_best_test_of_drawn_readings_has_this_distance(name, period):
    """f as readings give it, weighted for the push's own direction, is `best` standard deviations off on the average.

    `scara` has a slide, whose noise is a force.
    """
    arm, stated = er.load(name), Contact()
    q, link, point, force = a_push(arm, 1)
    random, n = np.random.default_rng(2), max(round(IN_TIME / period), 1)
    f, M = arm.jacobian(q, link=link, point=point).Jv.T @ force, arm.mass_matrix(q)
    noise = np.array([stated.torque_noise if arm.model.revolute(j) else stated.force_noise for j in range(arm.n)])
    times = period * np.arange(1, n + 1)
    speeds = times[:, None] * np.linalg.solve(M, f) + stated.speed_noise * random.normal(size=(DRAWS, n, arm.n))
    torques = (noise * random.normal(size=(DRAWS, n, arm.n))).mean(axis=1)  # the drive's own are known but for these
    accelerations = np.einsum("t,dtj->dj", times, speeds) / (times @ times)
    found = accelerations @ M - torques
    weights = np.linalg.solve(np.cov(found.T), f)
    distance = float((found @ weights).mean() / (found @ weights).std())
    # mean and deviation of so many draws: the deviation is known to 1 / sqrt(2 DRAWS), the weights hardly count
    assert distance == pytest.approx(best(arm, q, link, point, force, period), rel=5 / np.sqrt(DRAWS), abs=0.03)


@pytest.mark.parametrize("period", [0.001, 0.01])
def test_no_joint_alone_says_more(period):
    arm = er.load("panda")
    for seed in range(20):
        q, link, point, force = a_push(arm, seed)
        assert best(arm, q, link, point, force, period) >= felt(arm, q, link, point, force, period)


def test_a_push_through_the_axis_of_the_first_joint_cannot_be_seen():
    arm = er.load("panda")
    assert best(arm, arm.ready, 0, np.array([0.0, 0.0, -0.1]), np.array([20.0, 0.0, 0.0]), 0.001) < 1e-9
    assert best(arm, arm.ready, 0, np.array([0.0, 0.3, 0.0]), np.array([20.0, 0.0, 0.0]), 0.001) > 4.65
