"""The spatial operators: factorisations, rates against differences, inverse dynamics; and the paper's misprints.

A test named `misprint` shows twice what it says: the corrected reading holds, and the printed one does not.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given

from elbowroom.algebra import trace
from elbowroom.dynamics import christoffel, crba, operator_rates, operators, rnea
from elbowroom.dynamics.kinematics import forward_kinematics
from elbowroom.model import chains
from elbowroom.model.symbolic import symbolic
from referees import batch, error, states, subject
from strategies import examples, robots

NAMES = ("puma560", "stanford", "scara", "physical1", "physical4", "physical7", "gdahj8")
every = pytest.mark.parametrize("name", NAMES)

ROUNDING = 1e-11
"""Identities between our own results: 1e-16 times some thousand operations in a row and what cancels between them."""

STEP = 1e-5
DIFFERENCED = 1e-7
"""A central difference errs by h^2 |f'''| / 6 and eps |f| / h: some 1e-9 of |f| here, and two digits for fast arms."""

WRONG = 1e-3
"""A wrong formula differs by much more than this part of the size of its terms."""


def apart(ours, theirs, floor=1e-6) -> float:
    """The greatest difference as a part of the greatest entry."""
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), floor))


@functools.cache
def at(name, gravity=True):
    s = batch(name, 2)
    return operators.spatial_operators(subject(name), s.q[0], s.qd[0], gravity=gravity)


def along(name, t, acceleration=None):
    """The operators a little later or earlier on a motion through the state of `at`."""
    s = batch(name, 2)
    qdd = 0.0 if acceleration is None else acceleration
    q, qd = s.q[0] + t * s.qd[0] + 0.5 * t * t * qdd, s.qd[0] + t * qdd
    return operators.spatial_operators(subject(name), q, qd), q


def rate(name, f, acceleration=None):
    """The time derivative of f(operators, q) by a central difference."""
    return (f(*along(name, STEP, acceleration)) - f(*along(name, -STEP, acceleration))) / (2 * STEP)


def revolute5():
    """A chain that only turns, at a state: what the paper's misprints are shown on."""
    model = chains.random(5, seed=2)
    return model, states(model, 1)


# ---- what the operators are


@every
def test_definitions(name):
    o = at(name)
    one = np.eye(6 * o.N)
    assert apart(o.Phi @ (one - o.E_Phi), one) < ROUNDING
    assert apart(o.Psi @ (one - o.E_Psi), one) < ROUNDING
    assert apart(o.E_Psi, o.E_Phi @ o.tau_bar) < ROUNDING
    assert apart(o.Phi.T @ o.H.T @ o.theta_dot, o.V) < ROUNDING
    assert apart(o.H @ o.P @ o.H.T, o.D) < ROUNDING
    assert apart(o.E_Phi @ o.tau_bar @ o.P @ o.tau_bar.T @ o.E_Phi.T + o.M, o.P) < ROUNDING  # (12)
    assert apart(o.E_Psi @ o.lam @ o.E_Psi.T + o.X + o.X.T, o.lam) < ROUNDING  # (21)
    assert np.abs(o.H @ o.Omega_delta).max() < 1e-15
    assert apart(o.Psi.T @ o.H.T @ o.xi, o.V) < ROUNDING  # (49)


@every
def test_factorisations(name):
    """(22)-(26) against the composite-body mass matrix, in the paper's order."""
    s = batch(name, 2)
    M = crba.mass_matrix(subject(name), s.q[0])[::-1, ::-1]
    o = at(name)
    factor, inverse, m = operators.unit_factor(o), operators.unit_factor_inverse(o), operators.mass_factor(o)
    one = np.eye(o.N)
    assert apart(operators.mass_matrix(o), M) < ROUNDING
    assert apart(factor @ o.D @ factor.T, M) < ROUNDING
    assert np.abs(np.triu(factor, 1)).max(initial=0.0) == 0.0, "lower triangular from the tip"
    assert apart(factor @ inverse, one) < ROUNDING
    allowed = ROUNDING * np.linalg.cond(M)  # an inverse magnifies rounding by cond(M)
    assert apart(operators.mass_matrix_inverse(o) @ M, one) < allowed
    assert apart(m @ m.T, M) < ROUNDING
    assert apart(m, np.linalg.cholesky(M)) < allowed, "the Cholesky factor, since it is lower with a positive diagonal"


@every
def test_velocities_hold_the_energy(name):
    s, o = batch(name, 2), at(name)
    twice = s.qd[0] @ crba.mass_matrix(subject(name), s.q[0]) @ s.qd[0]
    assert o.nu @ o.nu == pytest.approx(twice, rel=ROUNDING)
    assert o.xi @ o.D @ o.xi == pytest.approx(twice, rel=ROUNDING)


# ---- rates, Table 1


@every
@pytest.mark.parametrize("what", operator_rates.Rates._fields)
def test_inertial_rates(name, what):
    ours = getattr(operator_rates.inertial_rates(at(name)), what)
    scale = np.abs(getattr(at(name), what)).max() * np.abs(batch(name, 2).qd[0]).max() + 1e-6
    assert apart(ours, rate(name, lambda o, _: getattr(o, what)), floor=scale) < DIFFERENCED


@every
@pytest.mark.parametrize("what", operator_rates.Rates._fields)
def test_local_rates(name, what):
    """Components in each link's own frame, differenced, and put back into world axes."""
    model = subject(name)

    def turned(q):
        blocks = [np.kron(np.eye(2), R) for R in forward_kinematics(model, q).R[::-1]]
        return operators.block_diagonal(blocks)

    def into(o, q):
        A, B = getattr(o, what), turned(q)
        return (B.T @ A if A.shape[0] == len(B) else A) @ (B if A.shape[1] == len(B) else np.eye(o.N))

    difference, B = rate(name, into), turned(batch(name, 2).q[0])
    difference = B @ difference if difference.shape[0] == len(B) else difference
    difference = difference @ B.T if difference.shape[1] == len(B) else difference
    ours = getattr(operator_rates.local_rates(at(name)), what)
    scale = np.abs(getattr(at(name), what)).max() * np.abs(batch(name, 2).qd[0]).max() + 1e-6
    assert apart(ours, difference, floor=scale) < DIFFERENCED


@every
def test_inertia_rate_in_closed_form(name):
    """(17) and (19): the sums over all links beyond are the diagonal blocks of Psi (X + X*) Psi*."""
    o = at(name)
    driving = o.X + o.X.T
    tilde = o.Psi - np.eye(6 * o.N)
    for whole, ours in (
        (tilde @ driving @ tilde.T, operator_rates.local_rates(o).P),
        (o.Psi @ driving @ o.Psi.T, o.lam),
    ):
        for k in range(o.N):
            part = slice(6 * k, 6 * k + 6)
            assert apart(whole[part, part], ours[part, part], floor=np.abs(o.lam).max() + 1e-6) < ROUNDING


@every
def test_mass_factor_rate(name):
    """(29), (30) and (31) against a difference of (26)."""
    o = at(name)
    difference = rate(name, lambda later, _: operators.mass_factor(later))
    floor = np.abs(operators.mass_factor(o)).max()
    assert apart(operator_rates.mass_factor_rate(o), difference, floor) < DIFFERENCED
    assert apart(operator_rates.mass_factor_rate_by_lambda(o), operator_rates.mass_factor_rate(o), floor) < ROUNDING
    assert (
        apart(operator_rates.mass_factor_rate_times_nu(o), operator_rates.mass_factor_rate(o) @ o.nu, floor) < ROUNDING
    )


@every
def test_energy_gradient(name):
    """(32) is twice the gradient of the kinetic energy: against C^T qd, and against a difference joint by joint."""
    s, model = batch(name, 2), subject(name)
    q, qd = s.q[0], s.qd[0]
    ours = operator_rates.energy_gradient(at(name))[::-1]
    floor = qd @ crba.mass_matrix(model, q) @ qd
    assert apart(ours, 2 * christoffel.coriolis_transpose_qd(model, q, qd), floor) < ROUNDING

    def twice(q):
        return qd @ crba.mass_matrix(model, q) @ qd

    steps = STEP * np.eye(model.n)
    difference = np.array([(twice(q + d) - twice(q - d)) / (2 * STEP) for d in steps])
    assert apart(ours, difference, floor) < DIFFERENCED


@every
def test_xi_rate(name):
    """(36) against a difference of xi on a motion with acceleration."""
    qdd = batch(name, 2).qdd[0]
    difference = rate(name, lambda o, _: o.xi, qdd)
    assert apart(operator_rates.xi_rate(at(name), qdd[::-1]), difference) < DIFFERENCED


# ---- the Coriolis term


@every
def test_coriolis_forms_agree(name):
    """(41), (42), (45), (46) and (48), which with Omega_delta* in place of -Omega_delta holds for slides too."""
    o = at(name, gravity=False)
    C, C_xi = operator_rates.coriolis(o), operator_rates.coriolis(o, normalized=False)
    floor = np.abs(o.D_root_inverse @ o.H @ o.Psi).max() * np.abs(o.b).max() + 1e-6
    assert apart(operator_rates.coriolis_from_rates(o), C, floor) < ROUNDING
    assert apart(o.D_root @ C + 0.5 * operator_rates.local_rates(o).D @ o.xi, C_xi, floor) < ROUNDING
    c, c_xi = operator_rates.coriolis_elements(o), operator_rates.coriolis_elements(o, normalized=False)
    assert apart(c @ o.nu + o.D_root_inverse @ o.H @ o.Psi @ o.b, C, floor) < ROUNDING
    assert apart(c_xi @ o.xi + o.H @ o.Psi @ o.b, C_xi, floor) < ROUNDING
    assert np.array_equal(c, -c.T)
    assert apart(np.diag(c_xi), 0.5 * np.diag(operator_rates.local_rates(o).D), floor) < ROUNDING


@every
def test_coriolis_of_nu_does_no_work(name):
    o = at(name, gravity=False)
    C = operator_rates.coriolis(o)
    assert abs(o.nu @ C) <= ROUNDING * (np.linalg.norm(o.nu) * np.linalg.norm(C) + 1e-9)


# ---- inverse dynamics (38), (39)


@every
@pytest.mark.parametrize("kind", ["none", "tool", "links"])
def test_inverse_dynamics(name, kind):
    """The O(n) recursion, the block matrices and the sums per joint against Newton-Euler."""
    model, s = subject(name), batch(name, 2)
    for k in range(2):
        wrench = {"none": None, "tool": s.tool_wrench[k], "links": s.link_wrench[k]}[kind]
        arguments = (model, s.q[k], s.qd[k], s.qdd[k], wrench)
        theirs = rnea.inverse_dynamics(*arguments)
        assert apart(operators.inverse_dynamics(*arguments), theirs) < ROUNDING
        assert apart(operators.inverse_dynamics_by_blocks(*arguments), theirs) < ROUNDING
        assert apart(sum(operators.torque_terms(*arguments)).sum(axis=1), theirs) < ROUNDING


@every
def test_torque_terms_are_what_they_say(name):
    model, s = subject(name), batch(name, 2)
    terms = operators.torque_terms(model, s.q[0], s.qd[0], s.qdd[0])
    M = crba.mass_matrix(model, s.q[0])
    assert apart(terms.acceleration, M * s.qdd[0]) < ROUNDING
    assert np.abs(np.tril(terms.bias_force, -1)).max(initial=0.0) == 0.0, "a link inboard of a joint does not load it"
    still = operators.torque_terms(model, s.q[0], 0 * s.qd[0], 0 * s.qdd[0])
    assert np.abs(still.bias_acceleration).max() == 0.0
    gravity = rnea.gravity_torque(model, s.q[0])
    assert apart(still.bias_force.sum(axis=1), gravity, floor=model.mass.sum()) < ROUNDING


@given(robots())
@examples(20)
def test_inverse_dynamics_on_any_robot(model):
    s = states(model, 2)
    inputs = {"q": (model.n,), "qd": (model.n,), "qdd": (model.n,), "wrench": (model.n, 6)}
    program = trace(operators.inverse_dynamics, model, inputs)
    arguments = (s.q, s.qd, s.qdd, s.link_wrench)
    theirs = np.array([rnea.inverse_dynamics(model, *x) for x in zip(*arguments, strict=True)])
    assert error(program.evaluate(*arguments), theirs, 1e-6) < ROUNDING


def test_operators_of_expressions():
    """The same text traced: the operators and what is made of them, as a Program."""
    model, s = subject("physical3"), batch("physical3", 3)

    def everything(model, q, qd, qdd):
        o = operators.spatial_operators(model, q, qd)
        return {
            "M": operators.mass_matrix(o),
            "inverse": operators.mass_matrix_inverse(o),
            "mdot": operator_rates.mass_factor_rate(o),
            "C": operator_rates.coriolis(o),
            "c": operator_rates.coriolis_elements(o),
            "E_Psi": operator_rates.inertial_rates(o).E_Psi,
            "tau": operators.inverse_dynamics_by_blocks(model, q, qd, qdd),
            "terms": sum(operators.torque_terms(model, q, qd, qdd)),
        }

    traced = trace(everything, model, {"q": (3,), "qd": (3,), "qdd": (3,)}).evaluate(s.q, s.qd, s.qdd)
    for k in range(3):
        for key, plain in everything(model, s.q[k], s.qd[k], s.qdd[k]).items():
            assert plain.dtype == float, key
            assert apart(traced[key][k], plain) < ROUNDING, key


@pytest.mark.parametrize(
    "condition, published", [("general", (142, -161, 109, -135)), ("orthogonal", (104, -117, 87, -102))]
)
def test_inverse_dynamics_costs_less_than_published(condition, published):
    """Section 6: 142 N - 161 and 109 N - 135; twists of 0, +-90 degrees 104 N - 117 and 87 N - 102.

    Ours is linear from n = 3 on, with a smaller slope and a smaller value at 3, hence below for every n.
    """
    counts = []
    for n in range(3, 7):
        inputs = dict.fromkeys(("q", "qd", "qdd"), (n,))
        counts.append(trace(operators.inverse_dynamics, symbolic("R" * n, condition), inputs).count)
    for kind, (slope, constant) in (("mul", published[:2]), ("add", published[2:])):
        ours = [getattr(count, kind) for count in counts]
        assert len(set(np.diff(ours))) == 1
        assert ours[0] <= 3 * slope + constant
        assert ours[1] - ours[0] <= slope


# ---- misprints of the paper


def test_misprint_direction_of_l():
    """l(k, k-1) from O_{k-1} to O_k, as the Nomenclature says, would not give the mass matrix."""
    model, s = revolute5()
    o = operators.spatial_operators(model, s.q[0], s.qd[0])
    M = crba.mass_matrix(model, s.q[0])[::-1, ::-1]
    assert apart(operators.mass_matrix(o), M) < ROUNDING
    flipped = o.E_Phi.copy()
    for k in range(1, o.N):
        flipped[6 * k : 6 * k + 3, 6 * k - 3 : 6 * k] *= -1
    printed = dataclasses.replace(o, Phi=np.linalg.inv(np.eye(6 * o.N) - flipped))
    assert apart(operators.mass_matrix(printed), M) > WRONG


def test_misprint_force_row_of_b():
    """m w x v, where the print has m p x v."""
    model, s = revolute5()
    o = operators.spatial_operators(model, s.q[0], s.qd[0], gravity=False)
    theirs = rnea.coriolis_torque(model, s.q[0], s.qd[0])[::-1]
    assert apart(o.H @ o.Phi @ (o.M @ o.Phi.T @ o.a + o.b), theirs) < ROUNDING
    printed, frames = o.b.copy(), forward_kinematics(model, s.q[0])
    for k in range(o.N):
        i = model.n - 1 - k
        w, v, h = o.V[6 * k : 6 * k + 3], o.V[6 * k + 3 : 6 * k + 6], frames.R[i] @ (model.mass[i] * model.com[i])
        row = model.mass[i] * np.cross(w, v) + np.cross(w, np.cross(w, h))
        assert apart(row, o.b[6 * k + 3 : 6 * k + 6]) < ROUNDING
        printed[6 * k + 3 : 6 * k + 6] = np.cross(h, v) + np.cross(w, np.cross(w, h))
    assert apart(o.H @ o.Phi @ (o.M @ o.Phi.T @ o.a + printed), theirs) > WRONG


def test_misprint_table_1_row_1():
    """The local rate of E_Phi is E_Phi Omega_delta; the print has Phi behind it."""
    o = at("gdahj8")
    printed = o.E_Phi @ o.Omega_delta @ o.Phi + o.Omega @ o.E_Phi - o.E_Phi @ o.Omega
    difference = rate("gdahj8", lambda later, _: later.E_Phi)
    assert apart(operator_rates.inertial_rates(o).E_Phi, difference) < DIFFERENCED
    assert apart(printed, difference) > WRONG


def test_misprint_16_lacks_a_dot():
    """Pdot = E_Psi (Pdot + [Omega_delta, P]) E_Psi*; the print has P inside, and mends itself in (18)."""
    o = at("gdahj8")
    P_rate = operator_rates.local_rates(o).P
    assert apart(o.E_Psi @ (P_rate + o.X + o.X.T) @ o.E_Psi.T, P_rate) < ROUNDING
    assert apart(o.E_Psi @ (o.P + o.X + o.X.T) @ o.E_Psi.T, P_rate) > WRONG


def test_misprint_commutator_of_E_Psi_and_lambda():
    """(31), (42) and (47): E_Psi lambda - lambda E_Psi*; a commutator E_Psi lambda - lambda E_Psi is something else."""
    model, s = revolute5()
    o = operators.spatial_operators(model, s.q[0], s.qd[0], gravity=False)
    bracket, literal = o.E_Psi @ o.lam - o.lam @ o.E_Psi.T, o.E_Psi @ o.lam - o.lam @ o.E_Psi
    m_rate_nu = operator_rates.mass_factor_rate(o) @ o.nu
    C = operator_rates.coriolis_from_rates(o)
    for between, holds in ((bracket, True), (literal, False)):
        inner = o.Omega_delta @ o.Phi @ o.K @ o.H @ o.P + 0.5 * (o.Omega_delta @ o.P - o.P @ o.Omega_delta + between)
        skewed = between - o.Omega_delta @ o.P - o.P @ o.Omega_delta
        C_42 = 0.5 * o.D_root_inverse @ o.H @ o.Psi @ (skewed + 2 * o.V_cross @ o.M) @ o.V
        assert (apart(o.H @ o.Phi @ inner @ o.V, m_rate_nu) < ROUNDING) is holds
        assert (apart(C_42, C) < ROUNDING) is holds
        work = float(abs(o.V @ skewed @ o.V) / (np.linalg.norm(C) * np.linalg.norm(o.nu)))
        assert (work < ROUNDING) is holds  # (47)


def test_misprint_35_lacks_a_star():
    """xidot = d/dt[1 + H Phi K]* thetad + (1 + H Phi K)* thetadd."""
    qdd = batch("gdahj8", 2).qdd[0][::-1]
    o = at("gdahj8")
    factor = operators.unit_factor(o)
    factor_rate = rate("gdahj8", lambda later, _: operators.unit_factor(later))
    theirs = operator_rates.xi_rate(o, qdd)
    assert apart(factor_rate.T @ o.theta_dot + factor.T @ qdd, theirs) < DIFFERENCED
    assert apart(factor_rate.T @ o.theta_dot + factor @ qdd, theirs) > WRONG


def test_misprint_36_needs_lambda():
    """D^-1 H lambda taubar* V with Phi~*, or the local Pdot with the full Phi*; not Pdot with Phi~* as printed."""
    qdd = batch("gdahj8", 2).qdd[0]
    o = at("gdahj8")
    difference = rate("gdahj8", lambda later, _: later.xi, qdd)
    P_rate, tilde = operator_rates.local_rates(o).P, o.Phi - np.eye(6 * o.N)

    def reading(P_rate, Phi):
        bias = o.D_inverse @ o.H @ (P_rate @ o.tau_bar.T @ o.V + o.P @ Phi.T @ o.Omega_delta.T @ o.V)
        return bias + o.G.T @ o.Phi.T @ o.H.T @ qdd[::-1]

    assert apart(reading(o.lam, tilde), difference) < DIFFERENCED
    assert apart(reading(P_rate, o.Phi), difference) < DIFFERENCED
    assert apart(reading(P_rate, tilde), difference) > WRONG


def test_misprint_43_has_dots():
    """The kinetic energy is xi* D xi / 2, without the dots of the print."""
    model, s = revolute5()
    o = operators.spatial_operators(model, s.q[0], s.qd[0])
    energy = 0.5 * s.qd[0] @ crba.mass_matrix(model, s.q[0]) @ s.qd[0]
    xi_rate = operator_rates.xi_rate(o, s.qdd[0][::-1])
    assert 0.5 * o.xi @ o.D @ o.xi == pytest.approx(energy, rel=ROUNDING)
    assert 0.5 * xi_rate @ o.D @ xi_rate != pytest.approx(energy, rel=WRONG)


def test_misprint_48_has_the_other_sign():
    """c_ki holds P Omega_delta*, which is -P Omega_delta where joints turn; the print has +P Omega_delta."""
    model, s = revolute5()
    o = operators.spatial_operators(model, s.q[0], s.qd[0], gravity=False)
    c, force = operator_rates.coriolis_elements(o), o.D_root_inverse @ o.H @ o.Psi @ o.b
    C = operator_rates.coriolis_from_rates(o)
    assert apart(c @ o.nu + force, C) < ROUNDING
    assert apart(-c @ o.nu + force, C) > WRONG


def test_misprint_section_6_lost_a_star():
    """thetad = (1 - H Psi K)* D^-1/2 nu."""
    o = at("gdahj8")
    inverse = operators.unit_factor_inverse(o)
    assert apart(inverse.T @ o.D_root_inverse @ o.nu, o.theta_dot) < ROUNDING
    assert apart(inverse @ o.D_root_inverse @ o.nu, o.theta_dot) > WRONG


def test_misprint_Omega_delta_of_a_slide():
    """(4) gives a sliding joint the turn of a turning one; right is [[0, h~], [0, 0]] thetad, with P Omega_delta*."""
    model = chains.random(4, seed=6, kinds="RPRP")
    s = states(model, 1)
    o = operators.spatial_operators(model, s.q[0], s.qd[0], gravity=False)
    C = o.D_root_inverse @ operators.unit_factor_inverse(o) @ _twice_differenced(model, s.q[0], s.qd[0], o)
    assert apart(operator_rates.coriolis(o), C) < DIFFERENCED
    turning = o.Omega_delta.copy()
    for k in (0, 2):  # the slides, from the tip
        part = slice(6 * k, 6 * k + 6)
        h = o.H[k, 6 * k + 3 : 6 * k + 6]
        turning[part, part] = np.kron(np.eye(2), operators.skew(h)) * o.theta_dot[k]
    lam = np.zeros_like(o.lam)
    for _ in range(o.N):
        lam = o.E_Psi @ lam @ o.E_Psi.T + turning @ o.P + (turning @ o.P).T
    printed = dataclasses.replace(o, Omega_delta=turning, lam=lam)
    assert apart(operator_rates.coriolis(printed), C) > WRONG
    commuting = 0.5 * (o.E_Psi @ o.lam - o.lam @ o.E_Psi.T - o.X - o.P @ o.Omega_delta) @ o.V
    assert apart(o.D_root_inverse @ o.H @ o.Psi @ (commuting + o.b), C) > WRONG


def _twice_differenced(model, q, qd, o):
    """mdot nu - thetad* M_theta thetad / 2 by differences of M alone, the paper's order."""

    def m(q):
        return np.linalg.cholesky(crba.mass_matrix(model, q)[::-1, ::-1])

    m_rate = (m(q + STEP * qd) - m(q - STEP * qd)) / (2 * STEP)
    gradient = christoffel.coriolis_transpose_qd(model, q, qd)[::-1]
    return m_rate @ o.nu - gradient


def test_misprint_46_its_note_lacks_nu():
    """-D d(D^-1/2)/dt nu = H Pdot H* D^-1/2 nu / 2 = H Pdot H* xi / 2; the middle of the print has no nu."""
    o = at("gdahj8")
    D_rate = operator_rates.local_rates(o).D
    root_rate = rate("gdahj8", lambda later, _: later.D_root_inverse)
    left = -o.D @ root_rate @ o.nu
    assert apart(0.5 * D_rate @ o.D_root_inverse @ o.nu, left) < DIFFERENCED
    assert apart(0.5 * np.diag(D_rate @ o.D_root_inverse), left) > WRONG


def test_misprint_nu_C_vanishes_only_without_gravity():
    """(47) against the remark that gravity may be put into b: then C is no longer orthogonal to nu."""
    model, s = revolute5()
    free = operators.spatial_operators(model, s.q[0], s.qd[0], gravity=False)
    weighed = operators.spatial_operators(model, s.q[0], s.qd[0])
    scale = np.linalg.norm(free.nu) * np.linalg.norm(operator_rates.coriolis(free))
    assert abs(free.nu @ operator_rates.coriolis(free)) < ROUNDING * scale
    power = s.qd[0] @ rnea.gravity_torque(model, s.q[0])
    assert weighed.nu @ operator_rates.coriolis(weighed) == pytest.approx(power, rel=1e-9)
    assert abs(power) > WRONG * scale
