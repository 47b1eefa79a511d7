"""Closed forms and the identities that any arm obeys, whoever computes them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import elbowroom as er
from referees import CATALOGUE, arm, batch, error, subject, thinned

NAMES = (*CATALOGUE, "physical1", "physical4", "physical7", "gdahj8")
every = pytest.mark.parametrize("name", thinned(NAMES))
rubbing = pytest.mark.parametrize(
    "name", thinned(["puma560", "panda", "stanford", "physical4"], {"stanford", "physical4"})
)

ROUNDING = 1e-11
"""An identity between two of our own results holds to rounding: 1e-16 times some thousand operations in a row, times
what cancels between them (energies and torques of order 100 that leave a difference of order 1)."""

STEP = 1e-5
DIFFERENCED = 1e-7
"""A central difference with step h errs by h^2 |f'''| / 6 and eps |f| / h: with h = 1e-5 and derivatives that grow by a
factor of 2 to 10 an order, some 1e-9 and 1e-11 of |f|.  Two digits are left for the arms that turn fast."""


def product(A, x):
    """A x over a batch."""
    return np.einsum("bij,bj->bi", A, x)


def inner(x, y):
    """x . y over a batch."""
    return np.einsum("bi,bi->b", x, y)


def size(M):
    """The greatest entry of each state's matrix."""
    return np.abs(M).reshape(len(M), -1).max(axis=1)


# Closed forms.


def test_planar2_is_the_closed_form_in_its_file():
    """Every term of the two-link arm, C written from the textbook's h = -m2 l1 r2 sin q2."""
    l1, r1, r2, m1, m2, J1, J2, g = 0.5, 0.25, 0.2, 3.0, 2.0, 0.0625, 0.027, 9.81
    ours, s = er.load("planar2"), batch("planar2")
    (q1, q2), (v1, v2) = s.q.T, s.qd.T
    c2, h = np.cos(q2), -m2 * l1 * r2 * np.sin(q2)
    m22 = J2 + m2 * r2**2 + 0 * c2
    m12 = J2 + m2 * (r2**2 + l1 * r2 * c2)
    m11 = J1 + J2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * c2)
    M = np.moveaxis(np.array([[m11, m12], [m12, m22]]), 2, 0)
    C = np.moveaxis(np.array([[h * v2, h * (v1 + v2)], [-h * v1, 0 * h]]), 2, 0)
    far = m2 * r2 * np.cos(q1 + q2)
    weight = g * np.array([(m1 * r1 + m2 * l1) * np.cos(q1) + far, far]).T
    height = m1 * r1 * np.sin(q1) + m2 * (l1 * np.sin(q1) + r2 * np.sin(q1 + q2))
    assert error(ours.mass_matrix(s.q), M) < 1e-14  # a dozen operations
    assert error(ours.coriolis_matrix(s.q, s.qd), C, size(M) * size(s.qd)) < 1e-14
    assert error(ours.gravity_torque(s.q), weight, g * np.ones(len(M))) < 1e-14
    assert np.abs(ours.potential_energy(s.q) - g * height).max() < 1e-13  # of at most 20 J
    tool = np.array([l1 * np.cos(q1) + 0.4 * np.cos(q1 + q2), l1 * np.sin(q1) + 0.4 * np.sin(q1 + q2)]).T
    assert np.abs(ours.pose(s.q)[:, [0, 2], 3] - tool).max() < 1e-15 * 4  # of 0.9 m


def test_a_pendulum():
    """One rod: M = m l^2/3, g = m 9.81 l/2 cos q, no Coriolis torque, qdd = -(3 g / 2 l) cos q."""
    rod = er.chains.planar(1, length=0.8, mass=2.5)
    q, qd = np.linspace(-3, 3, 50)[:, None], np.ones((50, 1))
    assert np.allclose(rod.mass_matrix(q)[:, 0, 0], 2.5 * 0.8**2 / 3, rtol=1e-15)
    assert np.allclose(rod.gravity_torque(q), 2.5 * 9.81 * 0.4 * np.cos(q), rtol=1e-14)
    assert np.abs(rod.coriolis_torque(q, qd)).max() < 1e-15  # rounding of numbers of order one
    fall = rod.forward_dynamics(q, qd, np.zeros((50, 1)))
    assert np.allclose(fall, -1.5 * 9.81 / 0.8 * np.cos(q), rtol=1e-13)


def test_a_slide_up_a_slope():
    """A mass on a prismatic axis at 30 degrees: M = m, g = m 9.81 sin(30)."""
    slide = er.Arm.from_mdh(
        a=[0], alpha=[math.radians(60)], d=[0], mass=[3.0], com=[[0.1, 0.2, 0.3]],
        inertia=[np.diag([0.1, 0.1, 0.1])], kinds="P", lower=[0], upper=[1],
    )  # fmt: skip
    assert slide.mass_matrix([0.5])[0, 0] == 3.0
    assert slide.gravity_torque([0.5])[0] == pytest.approx(3.0 * 9.81 * 0.5, rel=1e-15)


def test_planar_chain_hanging_straight_carries_its_weight():
    """n rods stretched out level: the shoulder holds n m g at the middle of the chain."""
    chain = er.chains.planar(6, length=0.3, mass=1.5)
    assert chain.gravity_torque(np.zeros(6))[0] == pytest.approx(6 * 1.5 * 9.81 * 0.9, rel=1e-14)
    down = np.r_[-math.pi / 2, np.zeros(5)]
    assert np.abs(chain.gravity_torque(down)).max() < 1e-14  # cos(pi/2) is 6e-17


# Identities.


@every
def test_mass_matrix_is_the_derivative_of_torque_by_acceleration(name):
    """tau is linear in qdd, so unit accelerations give M's columns without a difference quotient."""
    s, ours = batch(name, 50), arm(name)
    rest = ours.inverse_dynamics(s.q, s.qd, np.zeros_like(s.qd))
    M = ours.mass_matrix(s.q)
    for k, unit in enumerate(np.eye(ours.n)):
        column = ours.inverse_dynamics(s.q, s.qd, np.tile(unit, (50, 1))) - rest
        assert error(column, M[:, :, k], size(M) + size(rest)) < ROUNDING


@rubbing
def test_inverse_dynamics_is_the_sum_of_its_parts(name):
    s, ours = batch(name), arm(name, friction=True)
    Jv, Jw = ours.jacobian(s.q)
    total = (
        product(ours.mass_matrix(s.q), s.qdd)
        + product(ours.coriolis_matrix(s.q, s.qd), s.qd)
        + ours.gravity_torque(s.q)
        + ours.friction_torque(s.qd)
    )
    assert error(ours.inverse_dynamics(s.q, s.qd, s.qdd), total) < ROUNDING
    pushed = total - product(Jv.swapaxes(1, 2), s.tool_wrench[:, :3])
    pushed -= product(Jw.swapaxes(1, 2), s.tool_wrench[:, 3:])
    assert error(ours.inverse_dynamics(s.q, s.qd, s.qdd, s.tool_wrench), pushed, size(total)) < ROUNDING


@rubbing
def test_forward_dynamics_undoes_inverse_dynamics(name):
    s, ours = batch(name), arm(name, friction=True)
    for wrench in (None, s.tool_wrench, s.link_wrench):
        tau = ours.inverse_dynamics(s.q, s.qd, s.qdd, wrench)
        back = ours.forward_dynamics(s.q, s.qd, tau, wrench)
        # Rounding of tau (1e-15) comes back through M^-1, up to cond(M) = 5e4 for the UR arms' light wrists.
        assert error(back, s.qdd) < 1e-9


@every
def test_the_inverse_is_the_inverse(name):
    s, ours = batch(name), arm(name)
    product_ = ours.mass_matrix(s.q) @ ours.mass_matrix_inverse(s.q)
    # cond(M) up to 5e4 times rounding.
    assert np.abs(product_ - np.eye(ours.n)).max() < 1e-10
    inverse = ours.mass_matrix_inverse(s.q)
    assert np.array_equal(inverse, inverse.swapaxes(1, 2))


@every
def test_mass_matrix_is_positive_definite(name):
    assert np.linalg.eigvalsh(arm(name).mass_matrix(batch(name).q)).min() > 0


@every
def test_mass_matrix_rate_is_the_finite_difference_and_c_plus_its_transpose(name):
    s, ours = batch(name), arm(name)
    rate = ours.mass_matrix_rate(s.q, s.qd)
    C = ours.coriolis_matrix(s.q, s.qd)
    floor = size(ours.mass_matrix(s.q)) * size(s.qd)
    assert error(rate, C + C.swapaxes(1, 2), floor) < ROUNDING
    ahead, behind = ours.mass_matrix(s.q + STEP * s.qd), ours.mass_matrix(s.q - STEP * s.qd)
    assert error(rate, (ahead - behind) / (2 * STEP), floor) < DIFFERENCED
    assert np.array_equal(rate, rate.swapaxes(1, 2)), "both triangles hold the same numbers"


@every
def test_rate_minus_twice_c_is_skew(name):
    s, ours = batch(name), arm(name)
    N = ours.mass_matrix_rate(s.q, s.qd) - 2 * ours.coriolis_matrix(s.q, s.qd)
    floor = size(ours.mass_matrix(s.q)) * size(s.qd)
    assert (size(N + N.swapaxes(1, 2)) / floor).max() < ROUNDING


@pytest.mark.parametrize("name", ["panda", "puma560", "ur5e", "stanford"])
def test_gda_form_has_the_same_product_and_is_not_skew(name):
    s, ours = batch(name), arm(name)
    B = ours.coriolis_matrix(s.q, s.qd, form="gda")
    floor = size(ours.mass_matrix(s.q)) * size(s.qd) ** 2
    assert error(product(B, s.qd), ours.coriolis_torque(s.q, s.qd), floor) < ROUNDING
    N = ours.mass_matrix_rate(s.q, s.qd) - 2 * B
    asymmetry = size(N + N.swapaxes(1, 2)) / (size(ours.mass_matrix(s.q)) * size(s.qd))
    assert asymmetry.min() > 1e-6, "not skew at any of 1000 states: ten orders of magnitude above rounding"
    assert np.median(asymmetry) > 0.01


@every
def test_coriolis_transpose_qd(name):
    s, ours = batch(name), arm(name)
    C = ours.coriolis_matrix(s.q, s.qd)
    floor = size(ours.mass_matrix(s.q)) * size(s.qd) ** 2
    w = ours.coriolis_transpose_qd(s.q, s.qd)
    assert error(w, product(C.swapaxes(1, 2), s.qd), floor) < ROUNDING
    assert error(w, product(ours.mass_matrix_rate(s.q, s.qd), s.qd) - product(C, s.qd), floor) < ROUNDING


@every
def test_coriolis_transpose_qd_is_the_gradient_of_the_kinetic_energy(name):
    s, ours = batch(name, 50), arm(name)
    floor = size(ours.mass_matrix(s.q)) * size(s.qd) ** 2
    assert error(ours.coriolis_transpose_qd(s.q, s.qd), gradient(ours.kinetic_energy, s.q, s.qd), floor) < DIFFERENCED


@every
def test_gravity_torque_is_the_gradient_of_the_potential_energy(name):
    s, ours = batch(name, 50), arm(name)
    g = ours.gravity_torque(s.q)
    weight = np.full(50, subject(name).mass.sum() * np.linalg.norm(subject(name).gravity))
    assert error(g, gradient(ours.potential_energy, s.q), weight) < DIFFERENCED


def gradient(function, q, *rest):
    """df/dq (B, n) by central differences."""
    n = q.shape[1]
    steps = STEP * np.eye(n)
    return np.array([(function(q + e, *rest) - function(q - e, *rest)) / (2 * STEP) for e in steps]).T


@every
def test_kinetic_energy_is_half_of_qd_m_qd(name):
    s, ours = batch(name), arm(name)
    assert error(ours.kinetic_energy(s.q, s.qd), inner(s.qd, product(ours.mass_matrix(s.q), s.qd)) / 2) < ROUNDING


@every
def test_power_is_the_rate_of_the_energy(name):
    """tau . qd = d(T + V)/dt along the motion; d/dt by the chain rule from our own gradients."""
    s, ours = batch(name), arm(name)
    power = inner(ours.inverse_dynamics(s.q, s.qd, s.qdd), s.qd)
    M, rate = ours.mass_matrix(s.q), ours.mass_matrix_rate(s.q, s.qd)
    growth = inner(s.qd, product(M, s.qdd)) + inner(s.qd, product(rate, s.qd)) / 2
    growth += inner(ours.gravity_torque(s.q), s.qd)
    scale = size(M) * size(s.qd) * size(s.qdd) + size(ours.gravity_torque(s.q)) * size(s.qd)
    assert (np.abs(power - growth) / scale).max() < ROUNDING


@every
def test_christoffel_symbols(name):
    s, ours = batch(name, 100), arm(name)
    gamma = ours.christoffel(s.q)
    assert gamma.shape == (100, ours.n, ours.n, ours.n)
    assert np.array_equal(gamma, gamma.swapaxes(2, 3)), "symmetric in the two speeds"
    scale = size(ours.mass_matrix(s.q))
    C = np.einsum("bijk,bk->bij", gamma, s.qd)
    assert error(C, ours.coriolis_matrix(s.q, s.qd), scale * size(s.qd)) < ROUNDING
    torque = np.einsum("bijk,bj,bk->bi", gamma, s.qd, s.qd)
    assert error(torque, ours.coriolis_torque(s.q, s.qd), scale * size(s.qd) ** 2) < ROUNDING
    # The definition itself: Gamma_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2, dM/dq_k along a unit speed.
    units = [np.tile(e, (100, 1)) for e in np.eye(ours.n)]
    dM = np.stack([ours.mass_matrix_rate(s.q, e) for e in units], axis=-1)  # (B, i, j, k)
    defined = (dM + np.einsum("bikj->bijk", dM) - np.einsum("bjki->bijk", dM)) / 2
    assert error(gamma, defined, scale) < ROUNDING


@every
def test_the_centrifugal_matrix_is_the_squares_alone(name):
    s, ours = batch(name, 100), arm(name)
    gamma = ours.christoffel(s.q)
    squares = np.einsum("bijj,bj->bij", gamma, s.qd)
    floor = size(ours.mass_matrix(s.q)) * size(s.qd)
    assert error(ours.centrifugal_matrix(s.q, s.qd), squares, floor) < ROUNDING


@every
def test_jacobians_are_derivatives_of_the_pose(name):
    s, ours = batch(name, 50), arm(name)
    T, Td = ours.pose(s.q), (ours.pose(s.q + STEP * s.qd) - ours.pose(s.q - STEP * s.qd)) / (2 * STEP)
    Jv, Jw = ours.jacobian(s.q)
    spin = Td[:, :3, :3] @ T[:, :3, :3].swapaxes(1, 2)  # [w x]
    w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    # Speeds of up to 2 rad/s in up to 7 joints: third derivatives of up to 14^3, times h^2 / 6, are 5e-8.
    assert np.abs(product(Jv, s.qd) - Td[:, :3, 3]).max() < 1e-6
    assert np.abs(product(Jw, s.qd) - w).max() < 1e-6
    after, before = ours.jacobian(s.q + STEP * s.qd), ours.jacobian(s.q - STEP * s.qd)
    for rate, a, b in zip(ours.jacobian_rate(s.q, s.qd), after, before, strict=True):
        assert np.abs(rate - (a - b) / (2 * STEP)).max() < 1e-6


@every
def test_injected_accelerations_are_jacobian_terms(name):
    s, ours = batch(name), arm(name)
    parts = ours.injected_accelerations(s.q, s.qd, s.qdd)
    rate, J = ours.jacobian_rate(s.q, s.qd), ours.jacobian(s.q)
    floor = size(s.qdd) + size(s.qd) ** 2
    by_speed = (parts.normal + parts.coriolis).sum(axis=1)
    assert error(by_speed, product(rate.Jv, s.qd), floor) < ROUNDING
    assert error(parts.tangential.sum(axis=1), product(J.Jv, s.qdd), floor) < ROUNDING
    # Each frame's tangential part is its own column.
    assert error(parts.tangential, (J.Jv * s.qdd[:, None, :]).swapaxes(1, 2), floor) < ROUNDING


def test_injected_accelerations_on_a_merry_go_round():
    """A bead at radius r on a turning slide: -r w^2 inwards from the turn, 2 w v sideways (Coriolis), by the turn."""
    inertia = [np.eye(3) * 0.1] * 2
    table = er.Arm.from_mdh(
        a=[0, 0], alpha=[0, math.pi / 2], theta=[0, 0], d=[0, 0], mass=[1, 1], com=np.zeros((2, 3)),
        inertia=inertia, kinds="RP", lower=[-3, 0], upper=[3, 2],
    )  # fmt: skip
    q, qd, qdd = [0.0, 1.5], [2.0, 0.7], [0.5, 0.3]
    out = np.array([0, -1.0, 0])  # the slide's axis, Rx(90 deg) z
    side = np.array([1.0, 0, 0])  # z x out
    parts = table.injected_accelerations(q, qd, qdd)
    assert np.allclose(parts.tangential, [0.5 * 1.5 * side, 0.3 * out], atol=1e-15)
    assert np.allclose(parts.normal, [-4 * 1.5 * out, [0, 0, 0]], atol=1e-15)
    assert np.allclose(parts.coriolis, [2 * 2.0 * 0.7 * side, [0, 0, 0]], atol=1e-15)


@pytest.mark.parametrize("name", ["planar2", "panda", "puma560", "scara", "physical4"])
def test_energy_is_conserved(name):
    """A fall from a moving start, gravity on, friction off, by an 8th-order integrator at 1e-11.

    What the integrator may lose is its tolerance times the energies that are exchanged, and some hundred steps.
    """
    ours, s = arm(name), batch(name, 1)
    n = ours.n

    def fall(_, x):
        return np.r_[x[n:], ours.forward_dynamics(x[:n], x[n:], np.zeros(n))]

    def energy(x):
        return ours.kinetic_energy(x[:n], x[n:]) + ours.potential_energy(x[:n])

    start = np.r_[s.q[0], s.qd[0]]
    path = solve_ivp(fall, (0, 0.5), start, method="DOP853", rtol=1e-11, atol=1e-11)
    assert path.success
    kinetic = [ours.kinetic_energy(x[:n], x[n:]) for x in path.y.T]
    drift = max(abs(energy(x) - energy(start)) for x in path.y.T)
    assert np.ptp(kinetic) > 0.1, "nothing moved, so nothing was shown"
    assert drift < 1e-8 * max(kinetic)


def test_friction_takes_energy_and_never_gives():
    puma, s = er.load("puma560"), batch("puma560")
    assert (inner(puma.friction_torque(s.qd), s.qd) > 0).all()
