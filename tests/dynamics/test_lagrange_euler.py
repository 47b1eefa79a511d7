"""Lagrange-Euler: the dynamic coefficients against the other formulations and Pinocchio, and what they must satisfy."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import trace
from elbowroom.dynamics import christoffel, crba, lagrange_euler, rnea
from elbowroom.dynamics.kinematics import poses
from elbowroom.model import chains, from_dh
from elbowroom.model.symbolic import symbolic
from referees import CATALOGUE, batch, error, frictionless, loop, mass_scale, pinocchio, subject, thinned

SUBJECTS = (*CATALOGUE, "physical4", "physical6", "gdahj3", "gdahj8")
SAME = 1e-11
"""Some ten thousand operations in a row of sums, 1e-16 each, of the greatest entry; a wrong term is of its size."""


def program(model, function, inputs):
    return trace(function, model, dict.fromkeys(inputs.split(), (model.n,)))


@pytest.mark.parametrize("robot", thinned(SUBJECTS))
def test_coefficients_as_a_program_on_a_batch(robot):
    """D, h and c at once, against composite bodies, the O(n^2) Christoffel symbols and Newton-Euler."""
    model, s = subject(robot), batch(robot, 10)
    D, h, c = program(model, lagrange_euler.coefficients, "q").evaluate(s.q).values()
    M = loop(lambda q: crba.mass_matrix(model, q), s.q)
    size = np.abs(M).max(axis=(1, 2))
    assert error(D, M) < SAME
    assert error(h, loop(lambda q: christoffel.christoffel(model, q), s.q), size) < SAME
    weight = np.full(10, model.mass.sum() * np.linalg.norm(model.gravity) + 1e-6)
    assert error(c, loop(lambda q: rnea.gravity_torque(model, q), s.q), weight) < SAME


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical5"])
def test_every_function_on_floats(robot):
    model, s = subject(robot), batch(robot, 2)
    for q, qd, qdd, w, ws in zip(s.q, s.qd, s.qdd, s.tool_wrench, s.link_wrench, strict=True):
        size = np.abs(crba.mass_matrix(model, q)).max()
        le = lagrange_euler
        for ours, theirs, scale in (
            (le.mass_matrix(model, q), crba.mass_matrix(model, q), size),
            (le.christoffel(model, q), christoffel.christoffel(model, q), size),
            (le.coriolis_matrix(model, q, qd), christoffel.coriolis_matrix(model, q, qd), 2 * size),
            (le.coriolis_torque(model, q, qd), rnea.coriolis_torque(model, q, qd), 4 * size),
            (le.gravity_torque(model, q), rnea.gravity_torque(model, q), model.mass.sum() * 10),
            (le.inverse_dynamics(model, q, qd, qdd), rnea.inverse_dynamics(model, q, qd, qdd), 5 * size),
            (le.inverse_dynamics(model, q, qd, qdd, w), rnea.inverse_dynamics(model, q, qd, qdd, w), 5 * size + 20),
            (le.inverse_dynamics(model, q, qd, qdd, ws), rnea.inverse_dynamics(model, q, qd, qdd, ws), 5 * size + 20),
        ):
            assert ours.dtype == float
            assert ours.shape == theirs.shape
            assert np.abs(ours - theirs).max() < SAME * scale


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical6"])
def test_against_pinocchio(robot):
    model, s, pin = frictionless(subject(robot)), batch(robot, 10), pinocchio(robot)
    n = model.n
    M, C = loop(pin.mass_matrix, s.q), loop(pin.coriolis_matrix, s.q, s.qd)
    ours = program(model, lagrange_euler.mass_matrix, "q").evaluate(s.q)
    assert error(ours + np.diag(model.rotor_inertia), M) < 1e-10
    ours = program(model, lagrange_euler.coriolis_torque, "q qd").evaluate(s.q, s.qd)
    assert error(ours, np.einsum("bij,bj->bi", C, s.qd), mass_scale(robot, 10)) < 1e-10
    tau = program(model, lagrange_euler.inverse_dynamics, "q qd qdd").evaluate(s.q, s.qd, s.qdd)
    assert error(tau + model.rotor_inertia * s.qdd, loop(pin.inverse_dynamics, s.q, s.qd, s.qdd)) < 1e-10
    assert n == tau.shape[1]


@pytest.mark.parametrize("kinds", ["RRRRR", "RPRRP", "PPRPR"])
def test_what_the_paper_says_of_h(kinds):
    """h_ikm = h_imk exactly (one of each pair is computed); h_iii = 0; h_ikm + h_kim = dD_ik/dq_m by differences."""
    model = chains.random(5, seed=3, kinds=kinds)
    q = np.random.default_rng(0).uniform(-2, 2, 5)
    D, h, _ = lagrange_euler.coefficients(model, q)
    size = np.abs(D).max()
    assert np.array_equal(h, h.swapaxes(1, 2))
    assert np.abs(np.einsum("iii->i", h)).max() < 1e-14 * size, "a joint's own speed does not load it"
    assert np.abs(h).max() > 1e-2 * size, "and yet h is not zero"
    step = 1e-5  # error step^2 / 6 and eps / step: 2e-11 and 2e-11 of D
    for m, e in enumerate(np.eye(5)):
        slope = (lagrange_euler.mass_matrix(model, q + step * e) - lagrange_euler.mass_matrix(model, q - step * e)) / (
            2 * step
        )
        assert np.abs(h[:, :, m] + h[:, :, m].T - slope).max() < 1e-8 * size


def test_derivatives_of_the_poses_are_U():
    """U_ij and U_ijk by differences of A_i, which know nothing of Q."""
    model = chains.random(4, seed=5, kinds="RPRR")
    q = np.random.default_rng(1).uniform(-1, 1, 4)
    T = lagrange_euler._steps(model, q)
    U = lagrange_euler._first(model, q, T)
    second = lagrange_euler._second(model, T, U)
    h = 1e-4  # first differences: h^2 = 1e-8; mixed ones: h^2 and eps / h^2 = 1e-8
    for (i, j), ours in U.items():
        e = np.eye(4)[j] * h
        slope = (poses(model, q + e)[i] - poses(model, q - e)[i]) / (2 * h)
        assert np.abs(ours - slope[:3]).max() < 1e-7
        assert not slope[3].any()
    for (i, j, k), ours in second.items():
        a, b = np.eye(4)[j] * h, np.eye(4)[k] * h
        bend = (
            poses(model, q + a + b)[i]
            - poses(model, q + a - b)[i]
            - poses(model, q - a + b)[i]
            + poses(model, q - a - b)[i]
        ) / (4 * h * h)
        assert np.abs(ours - bend[:3]).max() < 1e-6


def test_the_sign_of_gravity():
    """(2.4) prints a plus before the gravity sum: that would be the torque to push a hanging weight down."""
    model = chains.planar(2)
    raised = lagrange_euler.gravity_torque(model, np.zeros(2))
    assert np.allclose(raised, [9.81 * 2, 9.81 * 0.5], atol=1e-12)  # 2 rods of 1 m and 1 kg held out level
    _, _, c = lagrange_euler.coefficients(model, np.zeros(2))
    assert np.array_equal(c, raised)


def test_one_robot_in_the_papers_own_convention():
    """Standard Denavit-Hartenberg, as (2.1): T = Rz Tz Tx Rx multiplied out by hand, differentiated by differences."""
    rng = np.random.default_rng(7)
    a, alpha, d = rng.uniform(-0.5, 0.5, 3), rng.uniform(-2, 2, 3), rng.uniform(-0.5, 0.5, 3)
    mass, com = rng.uniform(1, 3, 3), rng.uniform(-0.3, 0.3, (3, 3))
    inertia = np.array([np.diag(x) for x in rng.uniform(0.1, 0.2, (3, 3))])
    model = from_dh(a=a, alpha=alpha, d=d, mass=mass, com=com, inertia=inertia)
    q = rng.uniform(-2, 2, 3)

    def height(angles):
        A, total = np.eye(4), 0.0
        for i in range(3):
            c, s, ca, sa = np.cos(angles[i]), np.sin(angles[i]), np.cos(alpha[i]), np.sin(alpha[i])
            A = A @ np.array(
                [[c, -s * ca, s * sa, a[i] * c], [s, c * ca, -c * sa, a[i] * s], [0, sa, ca, d[i]], [0, 0, 0, 1]]
            )  # (2.1)
            total += mass[i] * 9.81 * (A @ [*com[i], 1])[2]
        return total

    step = 1e-5  # error step^2 and eps / step, times 30 J
    slope = [(height(q + e) - height(q - e)) / (2 * step) for e in np.eye(3) * step]
    assert np.abs(lagrange_euler.gravity_torque(model, q) - slope).max() < 1e-7


def test_the_count_is_far_below_the_published_one():
    """Published with 4x4 products done anew; ours, exactly a polynomial, grows with 3/2 n^4 where theirs has 128/3."""
    counts = {}
    for n in range(3, 10):
        model = symbolic("R" * n)
        counts[n] = trace(lagrange_euler.inverse_dynamics, model, dict.fromkeys(("q", "qd", "qdd"), (n,))).count
        assert counts[n].mul <= 128 / 3 * n**4 + 512 / 3 * n**3 + 739 / 3 * n**2 + 160 / 3 * n
        assert counts[n].add <= 98 / 3 * n**4 + 781 / 6 * n**3 + 559 / 3 * n**2 + 245 / 6 * n
    products = [counts[n].mul for n in range(4, 10)]  # a polynomial from four joints on; three share one product more
    assert not np.diff(products, 5).any()
    assert np.diff(products, 4)[0] / 24 <= 1.5, "the leading coefficient"
