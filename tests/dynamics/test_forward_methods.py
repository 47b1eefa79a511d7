"""Forward dynamics by Walker and Orin's four methods, as a Kalman filter and by Brandl: one answer, few operations."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import trace
from elbowroom.dynamics import aba, brandl, crba, kalman, rnea, walker_orin
from elbowroom.dynamics.kinematics import Joints
from elbowroom.model import chains
from elbowroom.model.symbolic import symbolic
from referees import CATALOGUE, batch, error, frictionless, loop, pinocchio, subject, thinned

METHODS = {
    "walker_orin_1": walker_orin.forward_dynamics_1,
    "walker_orin_2": walker_orin.forward_dynamics_2,
    "walker_orin_3": walker_orin.forward_dynamics_3,
    "walker_orin_4": walker_orin.forward_dynamics_4,
    "kalman": kalman.forward_dynamics,
    "brandl": brandl.forward_dynamics,
}
SUBJECTS = (*CATALOGUE, "physical3", "physical8", "gdahj3", "gdahj8")


def program(model, function, **more):
    return trace(function, model, {**dict.fromkeys(("q", "qd", "tau"), (model.n,)), **more})


def condition(model, q):
    """cond(M), the most by which a backward stable solve may magnify its rounding."""
    return max(np.linalg.cond(crba.mass_matrix(model, x)) for x in q)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", thinned(SUBJECTS))
def test_same_accelerations_as_the_articulated_body(robot, method):
    """Rotors and no wrench, and wrenches without rotors, as Programs; 1e-11 times cond(M), never above 1e-9."""
    model, s = subject(robot), batch(robot, 10)
    allowed = min(1e-9, 1e-13 * condition(model, s.q) + 1e-12)
    rotors = model.rotor_inertia

    def geared(f):
        return lambda m, **x: f(m, **x, joint_inertia=rotors)

    both = [program(model, geared(f)).evaluate(s.q, s.qd, s.tau) for f in (METHODS[method], aba.forward_dynamics)]
    assert error(*both) < allowed
    shape, wrench = ((6,), s.tool_wrench) if model.n % 2 else ((model.n, 6), s.link_wrench)
    both = [
        program(model, f, wrench=shape).evaluate(s.q, s.qd, s.tau, wrench)
        for f in (METHODS[method], aba.forward_dynamics)
    ]
    assert error(*both) < allowed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", ["panda", "stanford", "physical6"])
def test_against_pinocchio(robot, method):
    model, s, pin = frictionless(subject(robot)), batch(robot, 10), pinocchio(robot)
    rotors = model.rotor_inertia
    ours = program(model, lambda m, **x: METHODS[method](m, **x, joint_inertia=rotors)).evaluate(s.q, s.qd, s.tau)
    assert error(ours, loop(pin.forward_dynamics, s.q, s.qd, s.tau)) < 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", ["R", "P", "RPRRP"])
def test_floats_undo_newton_euler(method, kinds):
    model = chains.random(len(kinds), seed=6, kinds=kinds)
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, qd, qdd = rng.uniform(-2, 2, (3, model.n))
        wrench = rng.uniform(-20, 20, (model.n, 6))
        tau = rnea.inverse_dynamics(model, q, qd, qdd, wrench)
        found = METHODS[method](model, q, qd, tau, wrench)
        assert found.dtype == float
        assert np.abs(found - qdd).max() < 1e-11  # cond(M) about 1e2, accelerations about 2


@pytest.mark.parametrize("function", [walker_orin.forward_dynamics_4, walker_orin.forward_dynamics_4_short])
def test_conjugate_gradients_end_where_nothing_is_left(function):
    """Torques that just hold the arm: the right side is exactly zero, and so is every step, without a NaN."""
    model = chains.planar(3)
    q, still = np.array([0.3, -0.5, 0.2]), np.zeros(3)
    tau = rnea.inverse_dynamics(model, q, still, still)
    with np.errstate(all="raise"):  # a division by zero would show here, even if its result is never used
        assert np.array_equal(function(model, q, still, tau), still)
    traced = program(model, function).evaluate(q, still, tau)
    assert np.abs(traced).max() < 1e-13  # folding may leave a residual of a rounding
    one = chains.random(1, seed=1)  # exact after one step; a second finds r = 0
    qdd = function(one, np.array([0.4]), np.array([1.0]), np.array([2.0]))
    assert error([qdd], [aba.forward_dynamics(one, np.array([0.4]), np.array([1.0]), np.array([2.0]))]) < 1e-14


def test_the_textbooks_conjugate_gradients_lose_digits():
    """Why method 4 keeps all directions: the short form is right in exact numbers and off by 1e-9 and more in ours."""
    model, s = subject("iiwa14"), batch("iiwa14", 10)
    theirs = loop(lambda *x: aba.forward_dynamics(model, *x), s.q, s.qd, s.tau)
    short = loop(lambda *x: walker_orin.forward_dynamics_4_short(model, *x), s.q, s.qd, s.tau)
    whole = loop(lambda *x: walker_orin.forward_dynamics_4(model, *x), s.q, s.qd, s.tau)
    assert 1e-9 < error(short, theirs) < 1e-4
    assert error(whole, theirs) < 1e-12


@pytest.mark.parametrize("kinds", ["RRRRR", "RPRPR"])
def test_the_factors_of_the_inverse(kinds):
    """Filter and smoother as matrices: F T with unit diagonal, and M^-1 = F* D^-1 F (25)."""
    model = chains.random(5, seed=8, kinds=kinds)
    rotors = np.array([0.0, 1.0, 0.0, 0.5, 2.0])
    joints = Joints(model, np.random.default_rng(2).uniform(-2, 2, 5))
    gains = kalman.riccati(model, joints, rotors)
    unit = np.eye(5)
    F = np.array([kalman.filtered(model, joints, gains, e) for e in unit], dtype=float).T
    assert np.abs(np.tril(F, -1)).max() == 0, "innovations come from the tip inwards"
    assert np.allclose(np.diag(F), 1.0)
    D = np.array(gains.D_inverse, dtype=float)
    q = np.random.default_rng(2).uniform(-2, 2, 5)
    inverse = np.linalg.inv(crba.mass_matrix(model, q) + np.diag(rotors))
    size = np.abs(inverse).max()
    assert np.abs(F.T @ np.diag(D) @ F - inverse).max() < 1e-13 * size * 100  # cond(M) below 100
    columns = [kalman.smoother(model, joints, gains, kalman.filtered(model, joints, gains, e)) for e in unit]
    assert np.abs(np.array(columns) - inverse).max() < 1e-13 * size * 100


PUBLISHED = {
    "walker_orin_1": (-33, 197 + 1 / 6, 130.5, 1 / 3),
    "walker_orin_2": (-33, 261 + 1 / 6, 66.5, 1 / 3),
    "walker_orin_3": (-113, 358 + 1 / 6, 21.5, 1 / 3),
    "walker_orin_4_short": (-31, 207, 132.5, 0),
    "kalman": (-503, 477, 0, 0),
    "brandl": (-420, 470, 0, 0),
}


def published(method, n):
    return sum(a * n**k for k, a in enumerate(PUBLISHED[method]))


@pytest.mark.parametrize("method", PUBLISHED)
def test_counts_are_below_the_published_ones_to_30_joints(method):
    """In all (Kozlowski's Table 3), as a cubic through n = 4..7 that holds at 3, 8 and 9."""
    function = {**METHODS, "walker_orin_4_short": walker_orin.forward_dynamics_4_short}[method]
    counts = {n: program(symbolic("R" * n), function).count.total for n in range(3, 10)}
    cubic = np.polynomial.Polynomial.fit([4, 5, 6, 7], [counts[n] for n in (4, 5, 6, 7)], 3)
    for n in (3, 8, 9):
        assert abs(cubic(n) - counts[n]) < 1e-5
    for n in range(3, 31):
        assert cubic(n) <= published(method, n)


def test_every_method_costs_less_than_the_one_before():
    count = {m: program(symbolic("R" * 8), f).count.total for m, f in METHODS.items()}
    assert count["walker_orin_1"] > count["walker_orin_2"] > count["walker_orin_3"]
    assert count["walker_orin_4"] > count["walker_orin_3"]
    assert count["brandl"] < program(symbolic("R" * 8), aba.forward_dynamics).count.total


def test_the_misprints_of_table_3():
    """The values printed at N = 6 and 12 decide for N^3/3 in method 3; 4 gives 5981, 21533 (print: 5967, 21537)."""

    def third(lead, n):
        return lead * n**3 + 21.5 * n**2 + (358 + 1 / 6) * n - 113

    assert round(third(1 / 3, 6)) == 2882
    assert round(third(1 / 3, 12)) == 7857
    assert round(third(1 / 6, 6)) != 2882
    assert round(published("walker_orin_4_short", 6)) == 5981
    assert round(published("walker_orin_4_short", 12)) == 21533
