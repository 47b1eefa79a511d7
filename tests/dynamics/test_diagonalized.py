"""The diagonalized equations of motion: energy, work, transforms both ways, recursions, forward dynamics, counts."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given

from elbowroom.algebra import trace
from elbowroom.algebra.linalg import ltdl
from elbowroom.dynamics import aba, crba, diagonalized, energy, operator_rates, operators
from elbowroom.model import chains, from_mdh
from elbowroom.model.symbolic import symbolic
from referees import batch, error, states, subject
from strategies import examples, robots

NAMES = ("puma560", "panda", "stanford", "scara", "physical1", "physical4", "physical7", "gdahj8")
every = pytest.mark.parametrize("name", NAMES)
either = pytest.mark.parametrize("normalized", [True, False])
with_and_without = pytest.mark.parametrize("rotors", [False, True])

ROUNDING = 1e-11
"""Identities between our own results: 1e-16 times some thousand operations in a row and what cancels between them."""

INVERTED = 1e-9
"""Where M is inverted, rounding grows by cond(M), up to 5e4 for the catalogue."""

STEP = 1e-5
DIFFERENCED = 1e-6
"""A central difference errs by h^2 |f'''| / 6 and eps |f| / h.  The torques here accelerate light wrists by some
1e3 rad/s^2, so that third derivatives are some 1e4 times the first: 1e-10 x 1e4 / 6."""

COUNT = 4


def mass_matrix(model, q, joint_inertia):
    M = crba.mass_matrix(model, q)
    return M if joint_inertia is None else M + np.diag(joint_inertia)


def rotor_inertia(model, rotors):
    """Some rotor on every joint, whatever the model has; or none."""
    return np.linspace(0.1, 0.4, model.n) if rotors else None


def cases(name, rotors=False):
    model, s = subject(name), batch(name, COUNT)
    return model, s, rotor_inertia(model, rotors)


def close(ours, theirs, allowed, floor=0.0):
    """Greatest difference within `allowed` of the greatest entry."""
    return np.abs(ours - theirs).max() <= allowed * max(np.abs(theirs).max(), floor, 1e-9)


# ---- inertia, velocities, forces


def test_double_pendulum_in_closed_form():
    """Two point masses on massless rods in a plane: D, xi and the energy by hand.

    The outer joint alone sees m l^2.  With it free, the inner one sees its own mass and what of the outer mass cannot
    give way: m sin^2 of the angle between the rods, at l.
    """
    m1, m2, l1, l2 = 2.0, 3.0, 0.5, 0.7
    model = from_mdh(
        a=[0, l1],
        alpha=[0, 0],
        d=[0, 0],
        mass=[m1, m2],
        com=[[l1, 0, 0], [l2, 0, 0]],
        inertia=np.zeros((2, 3, 3)),
        gravity=(0, 0, 0),
    )
    q, qd = np.array([0.3, 0.8]), np.array([1.1, -0.4])
    D = diagonalized.diagonal_inertia(model, q)
    assert pytest.approx([m1 * l1**2 + m2 * (l1 * np.sin(q[1])) ** 2, m2 * l2**2], rel=1e-14) == D
    xi = diagonalized.quasi_velocities(model, q, qd, normalized=False)
    swing = qd[0] * (1 + l1 * np.cos(q[1]) / l2) + qd[1]  # of the outer rod, as its own mass feels it
    assert xi == pytest.approx([qd[0], swing], rel=1e-14)


@every
@with_and_without
def test_diagonal_inertia_is_that_of_the_factorised_mass_matrix(name, rotors):
    """M = L^T D L from the composite-body M; and 1 / (M^-1)_nn for the last joint with all inboard ones locked."""
    model, s, extra = cases(name, rotors)
    for q in s.q:
        D = diagonalized.diagonal_inertia(model, q, extra)
        M = mass_matrix(model, q, extra)
        assert close(D, np.array(ltdl(M)[1], dtype=float), INVERTED)
        assert D[-1] == pytest.approx(M[-1, -1], rel=ROUNDING)
        assert D[0] == pytest.approx(1 / np.linalg.inv(M)[0, 0], rel=INVERTED)


@every
@with_and_without
def test_kinetic_energy_is_half_the_square_of_nu(name, rotors):
    model, s, extra = cases(name, rotors)
    for q, qd in zip(s.q, s.qd, strict=True):
        nu = diagonalized.quasi_velocities(model, q, qd, joint_inertia=extra)
        xi = diagonalized.quasi_velocities(model, q, qd, normalized=False, joint_inertia=extra)
        D = diagonalized.diagonal_inertia(model, q, extra)
        T = 0.5 * qd @ mass_matrix(model, q, extra) @ qd
        assert 0.5 * nu @ nu == pytest.approx(T, rel=ROUNDING)
        assert 0.5 * D @ xi**2 == pytest.approx(T, rel=ROUNDING)
        if extra is None:
            assert 0.5 * nu @ nu == pytest.approx(energy.kinetic_energy(model, q, qd), rel=ROUNDING)


@every
@either
@with_and_without
def test_there_and_back(name, normalized, rotors):
    model, s, extra = cases(name, rotors)
    options = {"normalized": normalized, "joint_inertia": extra}
    for q, qd, tau in zip(s.q, s.qd, s.tau, strict=True):
        nu = diagonalized.quasi_velocities(model, q, qd, **options)
        epsilon = diagonalized.quasi_forces(model, q, tau, **options)
        assert close(diagonalized.joint_velocities(model, q, nu, **options), qd, INVERTED)
        assert close(diagonalized.joint_torques(model, q, epsilon, **options), tau, INVERTED)
        assert nu @ epsilon == pytest.approx(qd @ tau, rel=INVERTED, abs=INVERTED * np.abs(qd * tau).sum())


@every
def test_transforms_are_the_operators(name):
    """Against the block matrices: nu = m* qd and tau = m epsilon, the mass factor of (26)."""
    model, s, _ = cases(name)
    for q, qd, tau in zip(s.q, s.qd, s.tau, strict=True):
        o = operators.spatial_operators(model, q, qd)
        m, unit = operators.mass_factor(o)[::-1, ::-1], operators.unit_factor(o)[::-1, ::-1]
        assert close(diagonalized.quasi_velocities(model, q, qd), m.T @ qd, ROUNDING)
        assert close(diagonalized.quasi_velocities(model, q, qd, normalized=False), unit.T @ qd, ROUNDING)
        assert close(diagonalized.joint_torques(model, q, tau), m @ tau, ROUNDING)
        assert close(diagonalized.joint_torques(model, q, tau, normalized=False), unit @ tau, ROUNDING)


@every
@with_and_without
def test_the_mass_factor_factorises_with_rotors_too(name, rotors):
    """m m* = M: columns of m from unit epsilons, rows of m* from unit speeds."""
    model, s, extra = cases(name, rotors)
    q = s.q[0]
    units = np.eye(model.n)
    m = np.array([diagonalized.joint_torques(model, q, e, joint_inertia=extra) for e in units]).T
    m_star = np.array([diagonalized.quasi_velocities(model, q, e, joint_inertia=extra) for e in units]).T
    M = mass_matrix(model, q, extra)
    assert close(m @ m.T, M, ROUNDING)
    assert close(m_star, m.T, ROUNDING)


# ---- the Coriolis term


@every
@either
@pytest.mark.parametrize("kind", ["free", "gravity", "tool", "links"])
def test_coriolis_recursion_is_the_operator_form(name, normalized, kind):
    """(42) and (45) with block matrices, against the recursion in link frames."""
    model, s, _ = cases(name)
    for k in range(COUNT):
        gravity = kind != "free"
        wrench = {"tool": s.tool_wrench[k], "links": s.link_wrench[k]}.get(kind)
        o = operators.spatial_operators(model, s.q[k], s.qd[k], wrench, gravity=gravity)
        C = diagonalized.coriolis(model, s.q[k], s.qd[k], normalized=normalized, gravity=gravity, wrench=wrench)
        scale = np.diag(o.D_root_inverse) if normalized else np.ones(o.N)
        floor = np.abs(scale[:, None] * (o.H @ o.Psi)).max() * np.abs(o.b).max()
        assert close(C[::-1], operator_rates.coriolis(o, normalized=normalized), ROUNDING, floor)


@every
def test_the_printed_recursions(name):
    """The recursions under (42) and (45) link by link, as printed, in world axes; y of the first is twice that of the
    second less lambda h xi, which is what makes the normalized equations cheap."""
    model, s, _ = cases(name)
    for q, qd in zip(s.q, s.qd, strict=True):
        o = operators.spatial_operators(model, q, qd, gravity=False)
        part = [slice(6 * k, 6 * k + 6) for k in range(o.N)]

        def block(A, k, j, part=part):
            return A[part[k], part[j]]

        y_nu, y_xi = np.zeros(6), np.zeros(6)
        C_nu, C_xi = np.zeros(o.N), np.zeros(o.N)
        for k in range(o.N):
            V, h = o.V[part[k]], o.H[k, part[k]]
            P, M, X, lam = (block(A, k, k) for A in (o.P, o.M, o.X, o.lam))
            VxM = block(o.V_cross, k, k) @ M
            from_tip = block(o.E_Psi, k, k - 1) if k > 0 else np.zeros((6, 6))
            to_base = block(o.E_Psi, k + 1, k).T @ o.V[part[k + 1]] if k + 1 < o.N else np.zeros(6)
            y_nu = from_tip @ y_nu + (2 * VxM - X + X.T) @ V - lam @ to_base
            if k > 0:
                y_nu = y_nu + from_tip @ block(o.lam, k - 1, k - 1) @ o.V[part[k - 1]]
            y_xi = from_tip @ y_xi + lam @ h * o.xi[k] + (VxM - X) @ V
            C_nu[k], C_xi[k] = 0.5 * h @ y_nu / np.sqrt(h @ P @ h), h @ y_xi
            size = np.abs(lam).max() * np.abs(o.V).max() + np.abs(y_xi).max() + 1e-9
            assert np.abs(y_nu - (2 * y_xi - lam @ h * o.xi[k])).max() < ROUNDING * size
        floor = np.abs(o.b).max()
        scale = np.abs(o.D_root_inverse).max() * floor
        assert close(diagonalized.coriolis(model, q, qd, gravity=False)[::-1], C_nu, ROUNDING, scale)
        ours = diagonalized.coriolis(model, q, qd, gravity=False, normalized=False)
        assert close(ours[::-1], C_xi, ROUNDING, floor)


@every
@with_and_without
def test_coriolis_of_nu_does_no_work(name, rotors):
    """(47), sharp; and with gravity the work is the weight's."""
    model, s, extra = cases(name, rotors)
    for q, qd in zip(s.q, s.qd, strict=True):
        nu = diagonalized.quasi_velocities(model, q, qd, joint_inertia=extra)
        C = diagonalized.coriolis(model, q, qd, gravity=False, joint_inertia=extra)
        assert abs(nu @ C) <= ROUNDING * (np.linalg.norm(nu) * np.linalg.norm(C) + 1e-9)
        weighed = diagonalized.coriolis(model, q, qd, joint_inertia=extra)
        power = _power_of_weight(model, q, qd)
        scale = np.linalg.norm(nu) * (np.linalg.norm(C) + np.linalg.norm(weighed))
        assert nu @ weighed == pytest.approx(-power, abs=1e-6 * scale)  # a difference of the potential energy


def _power_of_weight(model, q, qd):
    h = 1e-6
    return -(energy.potential_energy(model, q + h * qd) - energy.potential_energy(model, q - h * qd)) / (2 * h)


@every
@with_and_without
def test_relation_46(name, rotors):
    """C(q, xi) = D^1/2 C(q, nu) + Dd xi / 2, Dd by a difference of D."""
    model, s, extra = cases(name, rotors)
    for q, qd in zip(s.q, s.qd, strict=True):

        def D(t, q=q, qd=qd):
            return diagonalized.diagonal_inertia(model, q + t * qd, extra)

        D_rate = (D(STEP) - D(-STEP)) / (2 * STEP)
        options = {"joint_inertia": extra}
        C_nu = diagonalized.coriolis(model, q, qd, **options)
        C_xi = diagonalized.coriolis(model, q, qd, normalized=False, **options)
        xi = diagonalized.quasi_velocities(model, q, qd, normalized=False, **options)
        assert close(np.sqrt(D(0)) * C_nu + 0.5 * D_rate * xi, C_xi, DIFFERENCED, np.abs(D(0)).max())


@every
@either
def test_coriolis_components(name, normalized):
    """(48): c is skew (but for the unnormalized diagonal), and what it lacks is linear in the bias forces alone."""
    model, s, _ = cases(name)
    for q, qd in zip(s.q, s.qd, strict=True):
        c = diagonalized.coriolis_components(model, q, qd, normalized=normalized)
        off = c - np.diag(np.diag(c))
        assert np.array_equal(off, -off.T)
        if normalized:
            assert not np.diag(c).any()
        o = operators.spatial_operators(model, q, qd, gravity=False)
        nu = diagonalized.quasi_velocities(model, q, qd, normalized=normalized)
        force = (o.H @ o.Psi @ o.b)[::-1]
        force = force / np.sqrt(np.diag(o.D))[::-1] if normalized else force
        C = diagonalized.coriolis(model, q, qd, normalized=normalized, gravity=False)
        assert close(c @ nu + force, C, ROUNDING, np.abs(force).max() + np.abs(c).max() * np.abs(nu).max())


# ---- equations of motion


@every
@either
@with_and_without
def test_quasi_acceleration_is_the_rate_of_the_quasi_velocity(name, normalized, rotors):
    """nud (40) and xid (44) against a difference of nu and xi on the motion that the torques cause."""
    model, s, extra = cases(name, rotors)
    options = {"normalized": normalized, "joint_inertia": extra}
    for q, qd, tau in zip(s.q, s.qd, s.tau, strict=True):
        qdd = aba.forward_dynamics(model, q, qd, tau, None, extra)
        step = STEP / (1 + np.abs(qdd).max() / 100)  # a light wrist under 50 N m turns fast

        def nu(t, q=q, qd=qd, qdd=qdd):
            return diagonalized.quasi_velocities(model, q + t * qd + 0.5 * t * t * qdd, qd + t * qdd, **options)

        ours = diagonalized.quasi_acceleration(model, q, nu(0.0), tau, **options)
        assert close(ours, (nu(step) - nu(-step)) / (2 * step), DIFFERENCED)


@every
@either
@with_and_without
def test_the_equations_as_they_are_written(name, normalized, rotors):
    """nud + C = epsilon and D xid + C = kappa, each term by its own function, wrenches and gravity inside C."""
    model, s, extra = cases(name, rotors)
    options = {"normalized": normalized, "joint_inertia": extra}
    for k in range(COUNT):
        q, qd, tau, wrench = s.q[k], s.qd[k], s.tau[k], s.link_wrench[k]
        nu = diagonalized.quasi_velocities(model, q, qd, **options)
        acceleration = diagonalized.quasi_acceleration(model, q, nu, tau, wrench=wrench, **options)
        C = diagonalized.coriolis(model, q, qd, wrench=wrench, **options)
        epsilon = diagonalized.quasi_forces(model, q, tau, **options)
        inertia = 1.0 if normalized else diagonalized.diagonal_inertia(model, q, extra)
        assert close(inertia * acceleration + C, epsilon, INVERTED, np.abs(C).max())


@every
@with_and_without
@pytest.mark.parametrize("kind", ["none", "tool", "links"])
def test_forward_dynamics_is_that_of_the_articulated_body(name, rotors, kind):
    model, s, extra = cases(name, rotors)
    for k in range(COUNT):
        wrench = {"none": None, "tool": s.tool_wrench[k], "links": s.link_wrench[k]}[kind]
        arguments = (model, s.q[k], s.qd[k], s.tau[k], wrench, extra)
        theirs = aba.forward_dynamics(*arguments)
        assert close(diagonalized.forward_dynamics(*arguments), theirs, INVERTED)
        assert close(diagonalized.forward_dynamics_unnormalized(*arguments), theirs, INVERTED)


def test_a_rotor_on_some_joints_only():
    """Joints with and without one side by side: the empty row along the axis is each joint's own matter."""
    for kinds in ("RRRRR", "RPRPR", "PRPRP"):
        model = chains.random(5, seed=9, kinds=kinds)
        s, extra = states(model, 3), np.array([0.0, 0.7, 0.0, 0.3, 0.0])
        for q, qd, tau in zip(s.q, s.qd, s.tau, strict=True):
            theirs = np.linalg.solve(
                crba.mass_matrix(model, q) + np.diag(extra),
                tau - crba.inverse_dynamics(model, q, qd, np.zeros(5)),
            )
            assert close(diagonalized.forward_dynamics(model, q, qd, tau, None, extra), theirs, INVERTED)
            assert close(diagonalized.forward_dynamics_unnormalized(model, q, qd, tau, None, extra), theirs, INVERTED)


@given(robots())
@examples(25)
def test_any_robot_traced(model):
    """Programs of both routes on awkward robots (right angles, zero offsets, rotors), against the articulated body."""
    s = states(model, 2)
    n = model.n
    shapes = {"q": (n,), "qd": (n,), "tau": (n,), "wrench": (n, 6)}
    arguments = (s.q, s.qd, s.tau, s.link_wrench)
    extra = model.rotor_inertia
    theirs = np.array([aba.forward_dynamics(model, *x, extra) for x in zip(*arguments, strict=True)])
    cond = max(np.linalg.cond(mass_matrix(model, q, extra)) for q in s.q)
    for route in (diagonalized.forward_dynamics, diagonalized.forward_dynamics_unnormalized):
        program = trace(functools.partial(route, joint_inertia=extra), model, shapes)
        assert error(program.evaluate(*arguments), theirs, 1e-6) < 1e-12 * cond + ROUNDING


@given(robots(max_joints=4))
@examples(25)
def test_no_work_on_any_robot(model):
    s = states(model, 2)
    for q, qd in zip(s.q, s.qd, strict=True):
        nu = diagonalized.quasi_velocities(model, q, qd, joint_inertia=model.rotor_inertia)
        C = diagonalized.coriolis(model, q, qd, gravity=False, joint_inertia=model.rotor_inertia)
        T = 0.5 * qd @ mass_matrix(model, q, model.rotor_inertia) @ qd
        assert 0.5 * nu @ nu == pytest.approx(T, rel=1e-9, abs=1e-12)
        assert abs(nu @ C) <= ROUNDING * T * np.abs(qd).max(), "whose terms are energies times speeds"


@pytest.mark.parametrize("name", ["physical4", "stanford"])
def test_every_function_traces_and_agrees_with_floats(name):
    model, s = subject(name), batch(name, COUNT)
    n = model.n
    for normalized in (True, False):
        for function, inputs in (
            (diagonalized.diagonal_inertia, "q"),
            (diagonalized.quasi_velocities, "q qd"),
            (diagonalized.joint_velocities, "q nu"),
            (diagonalized.quasi_forces, "q tau"),
            (diagonalized.joint_torques, "q epsilon"),
            (diagonalized.coriolis, "q qd"),
            (diagonalized.coriolis_components, "q qd"),
            (diagonalized.quasi_acceleration, "q nu tau"),
        ):
            options = {} if function is diagonalized.diagonal_inertia else {"normalized": normalized}
            names = inputs.split()
            program = trace(functools.partial(function, **options), model, dict.fromkeys(names, (n,)))
            arguments = [{"nu": s.qd, "epsilon": s.tau}.get(x, getattr(s, x, None)) for x in names]
            traced = program.evaluate(*arguments)
            for k in range(COUNT):
                plain = function(model, *(x[k] for x in arguments), **options)
                assert plain.dtype == float
                assert close(traced[k], plain, 1e-10), function.__name__  # folding changes the order of roundings


# ---- counts

PUBLISHED = {  # Table 2: multiplications and divisions, additions; slope and constant each
    ("general", True): ((605, -462), (530, -448)),
    ("general", False): ((500, -319), (426, -286)),
    ("orthogonal", True): ((406, -381), (376, -359)),
    ("orthogonal", False): ((314, -238), (284, -218)),
}


@pytest.mark.parametrize("condition, normalized", PUBLISHED)
def test_costs_less_than_published(condition, normalized):
    """Table 2 counts nud or xid from (q, nu or xi, tau).  A root counts with the divisions.

    Linear from n = 4 on, below the published line at 3, 4 and 5 and flatter: below for every n.
    """
    function = functools.partial(diagonalized.quasi_acceleration, normalized=normalized)
    counts = []
    for n in range(3, 8):
        count = trace(function, symbolic("R" * n, condition), dict.fromkeys(("q", "nu", "tau"), (n,))).count
        assert count.sqrt <= (n if normalized else 0)
        counts.append((count.mul + count.div + count.sqrt, count.add))
    for ours, (slope, constant) in zip(np.array(counts).T, PUBLISHED[condition, normalized], strict=True):
        assert all(ours <= slope * np.arange(3, 8) + constant)
        steps = np.diff(ours)
        assert len(set(steps[1:])) == 1
        assert (steps <= slope).all()


def test_normalizing_is_nearly_free():
    """Remark (a): per joint a root and five multiplications, where Table 2 charges 105."""
    n = 6
    inputs = dict.fromkeys(("q", "nu", "tau"), (n,))
    normalized, plain = (
        trace(functools.partial(diagonalized.quasi_acceleration, normalized=x), symbolic("R" * n), inputs).count
        for x in (True, False)
    )
    assert normalized.mul - plain.mul <= 5 * n
    assert normalized.add - plain.add <= n


def test_misprints_in_the_sums_of_table_2():
    """Additions, first case: the common rows sum to 345 N - 180 (print: 354); the second z+ is 13 N - 3 (print: 43)."""
    common = [(94, 105), (0, 0), (6, 12), (9, 17), (6, 12), (19, 1), (40, 27), (0, 0), (171, 6)]
    assert tuple(np.sum(common, axis=0)) == (345, 180)
    assert (345 + 185, 180 + 268) == (530, 448)
    assert (345 + 81, 180 + 106) == (426, 286)
    without_z = [(5, 9), (0, 0), (47, 71), (0, 0), (1, 0)]  # second case, multiplications
    slope, constant = np.sum(without_z, axis=0)
    assert (66 - slope, 83 - constant) == (13, 3)


def test_misprints_in_table_3():
    """The third Walker-Orin method needs N^3 / 3 to give the table's own figures; the fourth gives 5981 and 21533."""

    def third(N, cubic):
        return cubic * N**3 + 21.5 * N**2 + (358 + 1 / 6) * N - 113

    assert [round(third(N, 1 / 3)) for N in (6, 12)] == [2882, 7857]
    assert [round(third(N, 1 / 6)) for N in (6, 12)] != [2882, 7857]
    assert [132.5 * N**2 + 207 * N - 31 for N in (6, 12)] == [5981, 21533]
