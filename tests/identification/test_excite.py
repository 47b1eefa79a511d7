"""Exciting trajectories: rest at both ends, limits, clearance, gradients, and what they are worth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance.planning import Checker
from elbowroom.errors import ConfigError
from elbowroom.geometry import Body
from elbowroom.identification.excitation import excite
from elbowroom.identification.excitation.design import _held
from elbowroom.identification.excitation.fourier import series
from elbowroom.identification.excitation.limits import Clearance, bounds_of, floor_world
from elbowroom.identification.excitation.objective import Objective

SCARA = er.load("scara")
CHAIN = er.chains.random(3, seed=2)  # no shape


@pytest.fixture(scope="module")
def scara():
    return excite(SCARA, 8.0, steps=30, seed=3)


def test_series_are_derivatives_of_each_other_and_rest_at_both_ends():
    t = np.linspace(0.0, 7.0, 20001)
    at = series(7.0, 5, t)
    q, qd, qdd = at.motion(np.random.default_rng(0).normal(size=(9, 2)))
    assert np.allclose(np.gradient(q, t, axis=0)[1:-1], qd[1:-1], atol=1e-5)
    assert np.allclose(np.gradient(qd, t, axis=0)[1:-1], qdd[1:-1], atol=1e-4)
    for values in (qd, qdd):
        assert np.allclose(values[[0, -1]], 0.0, atol=1e-10)
    assert np.allclose(q[0], q[-1])


def test_a_trajectory_keeps_to_all_limits_between_its_rows_too(scara):
    q, qd, qdd = scara.at(np.linspace(0.0, 8.0, 4001))
    model = SCARA.model
    assert (q >= model.lower).all()
    assert (q <= model.upper).all()
    assert (np.abs(qd) <= 0.8 * model.velocity * 1.001).all()  # rows are 10 ms apart, these 2 ms
    assert (np.abs(qdd) <= np.array([8.0 if model.revolute(i) else 4.0 for i in range(4)]) * 1.01).all()
    clearance = Checker(Body(SCARA)).clearance(q, floor_world(0.0))
    assert clearance.min() >= scara.margin - 2e-3
    assert abs(scara.clearance - clearance.min()) < 2e-3
    assert (np.abs(SCARA.inverse_dynamics(q, qd, qdd)) <= np.where(model.effort > 0, model.effort, np.inf)).all()


def test_the_descent_makes_parameters_more_visible(scara):
    assert scara.volume > scara.volume_before + 0.1
    assert scara.gain == pytest.approx(np.exp((scara.volume - scara.volume_before) / 2))
    assert scara.evaluations > 0


def test_the_same_seed_gives_the_same_trajectory():
    told = []
    one, again = (excite(CHAIN, 5.0, steps=2, seed=1, progress=lambda *x: told.append(x)) for _ in range(2))
    other = excite(CHAIN, 5.0, steps=2, seed=2)
    assert np.array_equal(one.q, again.q)
    assert not np.array_equal(one.q, other.q)
    assert one.clearance is None
    assert "no shape" in one.notes[0]
    assert told
    assert all(0 < done <= total for done, total, _ in told)


def test_a_motion_that_meets_the_floor_is_drawn_together():
    """Within all limits of the joints, and into the floor: what comes back is the same motion, smaller, and free."""
    floor = 0.05
    bounds = bounds_of(SCARA, 1.0, 1e3)
    clear = Clearance(SCARA, bounds, floor, 0.02, SCARA.ready)
    rows = series(6.0, 4, np.linspace(0.0, 6.0, 601))
    problem = Objective(SCARA, SCARA.base_parameters(), rows, rows, bounds, clear)
    X = np.zeros((7, 4))
    X[0] = SCARA.ready
    X[1:, 2] = np.random.default_rng(0).normal(size=6)
    down = rows.motion(X)[0][:, 2] - SCARA.ready[2]
    room = np.where(down > 0, bounds.upper[2] - SCARA.ready[2], bounds.lower[2] - SCARA.ready[2])
    X[1:, 2] *= 0.99 * np.min(room[down != 0] / down[down != 0])
    assert not clear.free(rows.motion(X)[0])
    held, size = _held(problem, rows, X, SCARA.ready)
    assert 0.1 < size < 1.0
    assert np.allclose(held[1:], size * X[1:])
    assert Checker(Body(SCARA)).clearance(rows.motion(held)[0], floor_world(floor)).min() >= 0.02 - 1e-5


@pytest.mark.parametrize("arm", [SCARA, CHAIN], ids=["scara", "chain"])
def test_gradients(arm):
    """Of the objective with all penalties, beside differences; the step 1e-6 leaves some 1e-7 of the value."""
    bounds = dataclasses.replace(bounds_of(arm, 0.3, 1.0), effort=np.linspace(0.5, 2.0, arm.n))
    centre = np.clip(arm.ready, bounds.lower, bounds.upper)
    clear = Clearance(arm, bounds, 0.0, 0.3, centre)
    at = series(6.0, 4, np.linspace(0.0, 6.0, 60, endpoint=False))
    fine = series(6.0, 4, np.linspace(0.0, 6.0, 90, endpoint=False))
    objective = Objective(arm, arm.base_parameters(), at, fine, bounds, clear)
    x = np.vstack([centre, np.random.default_rng(0).normal(size=(6, arm.n))]).ravel()
    assert objective.excess(at.motion(x.reshape(-1, arm.n)))[0] > 0
    assert clear.lack(fine.value @ x.reshape(-1, arm.n))[0] > 0 or clear.checker is None
    steps = 1e-6 * np.eye(len(x))
    for weight in (0.0, 2.0):  # the penalties would hide an error in the rest
        value, gradient = objective(x, weight)
        found = [(objective(x + step, weight)[0] - objective(x - step, weight)[0]) / 2e-6 for step in steps]
        assert np.allclose(gradient, found, rtol=1e-4, atol=1e-6 * max(abs(value), np.abs(gradient).max()))


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"seconds": 0.5}, "seconds: expected 2 to 600 s; got 0.5"),
        ({"rate": 1.0}, "rate: expected 10 to 10000 Hz"),
        ({"harmonics": 1}, "harmonics: expected 2 to 50"),
        ({"part": 1.5}, "part: expected 0.01 to 1 of the limits"),
        ({"acceleration": 0.0}, "acceleration: expected"),
        ({"margin": -0.1}, "margin: expected 0 to 1 m"),
        ({"margin": float("nan")}, "margin: expected 0 to 1 m"),
        ({"floor": 5.0}, "clear of the floor and of itself"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, said):
    with pytest.raises(ConfigError, match=said):
        excite(SCARA, **arguments)


def test_a_joint_without_room_is_named():
    model = dataclasses.replace(SCARA.model, upper=SCARA.model.lower)
    with pytest.raises(ConfigError, match="expected room to move"):
        excite(er.Arm(model))
    model = dataclasses.replace(SCARA.model, velocity=0.0 * SCARA.model.velocity)
    with pytest.raises(ConfigError, match="expected a speed limit above 0"):
        excite(er.Arm(model))
