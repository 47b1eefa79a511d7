"""The toolbox way: matrices from many Newton-Euler calls, and the inertia rate by differencing."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import trace
from elbowroom.dynamics import christoffel, columns, crba, rnea, walker_orin
from elbowroom.dynamics.kinematics import Joints
from elbowroom.model import chains
from elbowroom.model.symbolic import symbolic
from referees import CATALOGUE, batch, error, loop, mass_scale, pinocchio, subject, thinned

SUBJECTS = (*CATALOGUE, "physical3", "physical8", "gdahj3", "gdahj8")
SAME = 1e-11  # rounding of some thousand operations, relative to the greatest entry


def program(model, function, inputs):
    return trace(function, model, dict.fromkeys(inputs.split(), (model.n,)))


@pytest.mark.parametrize("robot", thinned(SUBJECTS))
def test_mass_matrix(robot):
    model, s = subject(robot), batch(robot, 10)
    M = program(model, crba.mass_matrix, "q").evaluate(s.q)
    for function in (columns.mass_matrix, walker_orin.triangle):
        ours = program(model, function, "q").evaluate(s.q)
        assert error(ours, M) < SAME
        assert np.array_equal(ours, ours.swapaxes(1, 2))


@pytest.mark.parametrize("robot", thinned(SUBJECTS))
def test_coriolis_matrix_is_the_christoffel_one(robot):
    model, s = subject(robot), batch(robot, 10)
    C = program(model, columns.coriolis_matrix, "q qd").evaluate(s.q, s.qd)
    floor = 2 * np.abs(program(model, crba.mass_matrix, "q").evaluate(s.q)).max(axis=(1, 2))
    assert error(C, program(model, christoffel.coriolis_matrix, "q qd").evaluate(s.q, s.qd), floor) < SAME
    rate = program(model, christoffel.mass_matrix_rate, "q qd").evaluate(s.q, s.qd)
    skew = rate - 2 * C
    assert np.abs(skew + skew.swapaxes(1, 2)).max() < SAME * floor.max()


@pytest.mark.parametrize("robot", ["panda", "physical6"])
def test_against_pinocchio(robot):
    model, s, pin = subject(robot), batch(robot, 10), pinocchio(robot)
    M = program(model, columns.mass_matrix, "q").evaluate(s.q)
    assert error(M + np.diag(model.rotor_inertia), loop(pin.mass_matrix, s.q)) < 1e-10
    C = program(model, columns.coriolis_matrix, "q qd").evaluate(s.q, s.qd)
    theirs = np.einsum("bij,bj->bi", loop(pin.coriolis_matrix, s.q, s.qd), s.qd)
    assert error(np.einsum("bij,bj->bi", C, s.qd), theirs, mass_scale(robot, 10)) < 1e-10


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical6", "gdahj8"])
def test_differencing_gives_the_rate_to_a_few_digits(robot):
    """h^2/6 (sum of speeds)^2 = 1e-10 x (16/6)^2 at most, and eps/h = 2e-11: 1e-8 of |M| |qd| with room to spare."""
    model, s = subject(robot), batch(robot, 10)
    rate = program(model, christoffel.mass_matrix_rate, "q qd").evaluate(s.q, s.qd)
    floor = np.abs(program(model, crba.mass_matrix, "q").evaluate(s.q)).max(axis=(1, 2))
    ours = program(model, columns.mass_matrix_rate, "q qd").evaluate(s.q, s.qd)
    assert error(ours, rate, floor) < 1e-8
    assert np.array_equal(ours, ours.swapaxes(1, 2))
    floats = columns.mass_matrix_rate(model, s.q[0], s.qd[0])
    assert floats.dtype == float
    assert np.abs(floats - rate[0]).max() < 1e-8 * floor[0]


def test_the_steps_order_is_two():
    model, s = subject("panda"), batch("panda", 1)
    rate = christoffel.mass_matrix_rate(model, s.q[0], s.qd[0])
    errors = [np.abs(columns.mass_matrix_rate(model, s.q[0], s.qd[0], step=h) - rate).max() for h in (1e-2, 1e-3)]
    assert 80 < errors[0] / errors[1] < 125


@pytest.mark.parametrize("kinds", ["R", "P", "RPR", "PRRPR"])
def test_floats(kinds):
    n = len(kinds)
    model = chains.random(n, seed=4, kinds=kinds)
    q, qd = np.random.default_rng(1).uniform(-2, 2, (2, n))
    M = columns.mass_matrix(model, q)
    C = columns.coriolis_matrix(model, q, qd)
    assert M.dtype == C.dtype == float
    size = np.abs(M).max()
    assert np.abs(M - crba.mass_matrix(model, q)).max() < SAME * size
    assert np.abs(C - christoffel.coriolis_matrix(model, q, qd)).max() < 2 * SAME * size


@pytest.mark.parametrize("start", [0, 2, 4])
def test_product_with_the_inertia(start):
    """M v, whole or for the rows from `start` on when the joints before stand still."""
    model = chains.random(5, seed=11, kinds="RPRRP")
    rng = np.random.default_rng(6)
    q, v = rng.uniform(-2, 2, (2, 5))
    ours = columns.inertia_product(model, Joints(model, q), v, start=start)
    expected = crba.mass_matrix(model, q)[start:, start:] @ v[start:]
    assert error([ours], [expected]) < SAME
    if start == 0:
        assert error([ours], [rnea.inverse_dynamics(model, q, 0 * q, v) - rnea.gravity_torque(model, q)]) < SAME


def test_orders_of_growth():
    """n^2 for the mass matrix and n^3 for the Coriolis matrix, whose baselines the thesis gives as such."""
    M = [program(symbolic("R" * n), columns.mass_matrix, "q").count.total for n in range(4, 8)]
    C = [program(symbolic("R" * n), columns.coriolis_matrix, "q qd").count.total for n in range(4, 9)]
    assert not np.diff(M, 3).any()
    assert np.diff(M, 2).all()
    assert not np.diff(C, 4).any()
    assert np.diff(C, 3).all()
    for n, ours in zip(range(4, 8), M, strict=True):
        assert ours > program(symbolic("R" * n), crba.mass_matrix, "q").count.total
