"""Every pair of formulations of a quantity agrees, on floats and as traced Programs on batches; GDA's by-products."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given

import elbowroom as er
from elbowroom import dynamics
from elbowroom.dynamics import REGISTRY, gda, kinematics
from referees import CATALOGUE, QUICK, batch, error, joined, physical_chain, states, subject, thinned
from strategies import examples, robots

AGREE = 1e-11
"""Two formulations differ by rounding alone: 1e-16 times some thousand operations; M^-1 and forward dynamics lose
cond(M) more, which is up to 5e4 for the catalogue (UR wrists) and for drawn robots is watched by `condition`."""

PAIRED = {name: q for name, q in REGISTRY.items() if len(q.formulations) > 1}
INVERTED = ("mass_matrix_inverse", "forward_dynamics")


def mass_matrices(model, s) -> np.ndarray:
    """M of every state, (B, n, n); by floats, so it is asked for once a test."""
    return np.array([dynamics.whole("mass_matrix", "crba")(model, q) for q in s.q])


@functools.cache
def of_batch(robot, count) -> np.ndarray:
    """M of every state of a test name."""
    return mass_matrices(subject(robot), batch(robot, count))


def condition(M) -> float:
    """cond(M), the greatest, by which an inverse of M may magnify rounding."""
    return float(np.linalg.cond(M).max())


def arguments(quantity, s):
    stand_in = {"nu": "qd", "epsilon": "tau"}  # quasi-velocities and quasi-forces are numbers like others
    return [getattr(s, stand_in.get(name, name)) for name in quantity.inputs]


def floors(name, model, s, M):
    """The size of the terms that a quantity is a sum of, where the whole may vanish; one a state."""
    size, speed = np.abs(M).max(axis=(1, 2)), np.abs(s.qd).max(axis=1)
    weight = np.full(len(size), model.mass.sum() * np.linalg.norm(model.gravity) + 1e-6)
    return {
        "mass_matrix_rate": size * speed,
        "centrifugal_matrix": size * speed,
        "coriolis_matrix": size * speed,
        "christoffel": size,
        "bias_torque": weight + size * speed**2,
        "coriolis_transpose_qd": size * speed**2,
        "coriolis_torque": size * speed**2,
        "gravity_torque": weight,
    }.get(name, 0.0)


def test_the_registry_pairs_what_the_issue_asks_for():
    """So that a formulation that is dropped from the registry is missed here."""
    wanted = {
        "mass_matrix": {"crba", "gda", "gdahj", "lagrange_euler", "dalembert", "rnea_columns"},
        "mass_matrix_inverse": {"crba", "aba"},
        "mass_matrix_rate": {"christoffel", "gda"},
        "centrifugal_matrix": {"christoffel", "gda"},
        "coriolis_transpose_qd": {"christoffel", "gda"},
        "coriolis_torque": {"rnea", "gda", "christoffel"},
        "gravity_torque": {"rnea", "gda"},
        "inverse_dynamics": {"rnea", "rnea_base", "gda", "lagrange_euler", "dalembert", "operator"},
        "forward_dynamics": {
            *("aba", "crba", "brandl", "kalman", "diagonalized", "diagonalized_unnormalized"),
            *(f"walker_orin_{k}" for k in (1, 2, 3, 4)),
        },
        "kinetic_energy": {"rnea", "crba"},
    }
    for name, methods in wanted.items():
        assert methods <= set(REGISTRY[name].formulations), name
    for name, quantity in REGISTRY.items():
        assert quantity.name == name
        assert set(quantity.fast) <= set(quantity.formulations), name
        assert quantity.fast, name


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize(
    "robot",
    thinned([*CATALOGUE, "physical1", "physical2", "physical3", "physical5", "physical8", "gdahj3"], QUICK - {"panda"}),
)
def test_traced_on_a_batch(robot, name):
    """The Program of every formulation on 20 states, against the first one's."""
    model, quantity = subject(robot), PAIRED[name]
    s = batch(robot, 20)
    programs = {m: dynamics.program(model, name, m) for m in quantity.formulations}
    values = {m: joined(program.evaluate(*arguments(quantity, s))) for m, program in programs.items()}
    M = of_batch(robot, 20)
    allowed, floor = AGREE * (condition(M) if name in INVERTED else 1.0), floors(name, model, s, M)
    for a, b in itertools.combinations(values, 2):
        assert error(values[a], values[b], floor) < min(allowed, 1e-9), (a, b)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("robot", thinned(["panda", "stanford", "physical5", "gdahj3"], {"stanford", "gdahj3"}))
def test_floats_and_the_traced_program_agree(robot, name):
    """The same text with floats flowing through it: every method, variants too, every quantity."""
    model, quantity = subject(robot), REGISTRY[name]
    s = batch(robot, 5)
    for method in (*quantity.formulations, *quantity.variants):
        program = dynamics.program(model, name, method)
        function = dynamics.whole(name, method)
        traced = program.evaluate(*arguments(quantity, s))
        for k in range(5):
            plain = function(model, *(x[k] for x in arguments(quantity, s)))
            if isinstance(traced, dict):
                pairs = [(traced[key][k], getattr(plain, key), key) for key in traced]
            else:
                pairs = [(traced[k], plain, name)]
            for ours, theirs, what in pairs:
                theirs = np.asarray(theirs)
                assert theirs.dtype == float, f"{method} leaves floats as {theirs.dtype}"
                assert ours.shape == theirs.shape
                # A null-space projection is 1 less a product: where nothing is left of it, roundings of that 1 are.
                scale = max(np.abs(theirs).max(), 1.0 if what == "null_space" else 1e-3)
                # Folding changes the order of roundings; an inverse magnifies that by cond(M) of up to 1e4.  Short
                # conjugate gradients lose their directions to rounding and keep about six digits after n steps; a
                # difference quotient divides roundings of |M| by a step of 1e-5 and keeps about nine.
                loose = {"walker_orin_4_short": 1e-4, "difference": 1e-9}.get(method, 1e-10)
                assert np.abs(ours - theirs).max() / scale < loose, method


@pytest.mark.parametrize("name", REGISTRY)
def test_shapes_are_as_registered(name):
    model = physical_chain(3, seed=4)
    quantity, s = REGISTRY[name], states(model, 2)
    for method in (*quantity.formulations, *quantity.variants):
        out = dynamics.program(model, name, method).evaluate(*arguments(quantity, s))
        arrays = list(out.values()) if isinstance(out, dict) else [out]
        assert [array.shape for array in arrays] == [(2, *shape) for shape in quantity.shapes(3)]


@given(robots(max_joints=4))
@examples(15)
def test_every_pair_on_any_robot(model):
    s = states(model, 3)
    M = mass_matrices(model, s)
    for name, quantity in PAIRED.items():
        values = {}
        for method in quantity.formulations:
            traced = joined(dynamics.program(model, name, method).evaluate(*arguments(quantity, s)))
            floats = np.array(
                [joined(dynamics.whole(name, method)(model, *x), 0) for x in zip(*arguments(quantity, s), strict=True)]
            )
            values[method], values[method, "floats"] = traced, floats
        allowed, floor = AGREE * (condition(M) if name in INVERTED else 1.0), floors(name, model, s, M) + 1e-9
        for a, b in itertools.combinations(values, 2):
            assert error(values[a], values[b], floor) < allowed, (name, a, b)


@given(robots(max_joints=4))
@examples(25)
def test_wrenches_on_any_robot(model):
    s = states(model, 2)
    M = mass_matrices(model, s)
    for name in ("inverse_dynamics", "forward_dynamics"):
        quantity = REGISTRY[name]
        for kind, wrench in (("tool", s.tool_wrench), ("links", s.link_wrench)):
            values = [
                dynamics.program(model, name, method, wrench=kind).evaluate(*arguments(quantity, s), wrench)
                for method in quantity.formulations
            ]
            allowed = AGREE * (condition(M) if name in INVERTED else 1.0)
            for a, b in itertools.combinations(values, 2):
                assert error(a, b, np.ones(2)) < allowed, (name, kind)


@given(robots())
@examples(30)
def test_skew_and_power_on_any_robot(model):
    """dM/dt - 2C skew, and C qd by Newton-Euler: the two that tie the Christoffel matrix down to one."""
    s = states(model, 3)

    def traced(name, method, *inputs):  # evaluated, not compiled: a robot is used once
        return dynamics.program(model, name, method).evaluate(*inputs)

    C = traced("coriolis_matrix", "christoffel", s.q, s.qd)
    rate = traced("mass_matrix_rate", "gda", s.q, s.qd)
    scale = np.abs(traced("mass_matrix", "crba", s.q)).max() * np.abs(s.qd).max()
    N = rate - 2 * C
    assert np.abs(N + N.swapaxes(1, 2)).max() < AGREE * scale
    torque = np.einsum("bij,bj->bi", C, s.qd)
    assert np.abs(torque - traced("coriolis_torque", "rnea", s.q, s.qd)).max() < AGREE * scale * np.abs(s.qd).max()


# GDA's by-products.

SHEETS = ("panda", "stanford", "physical6", "gdahj8")


def com_positions(model, q):
    frames = kinematics.forward_kinematics(model, q)
    return np.array([frames.point(i, model.com[i]) for i in range(model.n)])


@pytest.mark.parametrize("robot", SHEETS)
def test_link_sheets_give_the_acceleration_of_every_centre_of_mass(robot):
    model, s = subject(robot), batch(robot, 10)
    for q, qd, qdd in zip(s.q, s.qd, s.qdd, strict=True):
        sheets = gda.link_sheets(model, q, qd)
        for i in range(model.n):
            acceleration = sheets.C[i] @ qdd + sheets.D[i] @ qd  # (18)
            parts = kinematics.injected_accelerations(model, q, qd, qdd, link=i, point=model.com[i])
            expected = sum(parts).sum(axis=0)
            scale = np.abs(expected).max() + np.abs(qdd).max() + (qd @ qd)
            assert np.abs(acceleration - expected).max() < AGREE * scale
            assert not sheets.C[i][:, i + 1 :].any(), "columns beyond the link are zero"
            assert not sheets.D[i][:, i + 1 :].any()
            assert not sheets.U[i][:, i + 1 :].any()
            assert not sheets.V[i][:, i + 1 :].any()


@pytest.mark.parametrize("robot", SHEETS)
def test_link_sheets_give_the_acceleration_by_finite_differences(robot):
    """The second difference along q + qd t + qdd t^2/2, which knows no formula of ours beyond the frames."""
    model, s, h = subject(robot), batch(robot, 10), 1e-4
    for q, qd, qdd in zip(s.q, s.qd, s.qdd, strict=True):
        sheets = gda.link_sheets(model, q, qd)
        ahead, here, behind = (com_positions(model, q + qd * t + qdd * t * t / 2) for t in (h, 0, -h))
        expected = (ahead - 2 * here + behind) / h**2
        got = np.array([sheets.C[i] @ qdd + sheets.D[i] @ qd for i in range(model.n)])
        # h^2 f''''/12 with f'''' up to (8 joints x 2 rad/s)^4, and 4 eps |p| / h^2 with |p| < 10 m: 5e-5 and 1e-6.
        assert np.abs(got - expected).max() < 1e-4 * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize("robot", SHEETS)
def test_link_sheets_give_the_rate_of_angular_momentum(robot):
    """mu = d(I w)/dt about the centre of mass, by I wd + w x I w with w, wd from the Jacobian of the link."""
    model, s = subject(robot), batch(robot, 10)
    for q, qd, qdd in zip(s.q, s.qd, s.qdd, strict=True):
        sheets = gda.link_sheets(model, q, qd)
        frames = kinematics.forward_kinematics(model, q)
        for i in range(model.n):
            Jw = kinematics.jacobian(model, q, link=i).Jw
            w = Jw @ qd
            wd = Jw @ qdd + kinematics.jacobian_rate(model, q, qd, link=i).Jw @ qd
            tensor = frames.R[i] @ model.inertia[i] @ frames.R[i].T
            expected = tensor @ wd + np.cross(w, tensor @ w)
            moment = sheets.U[i] @ qdd + sheets.V[i] @ qd  # (22)
            scale = np.abs(tensor).max() * (np.abs(wd).max() + w @ w) + 1e-12
            assert np.abs(moment - expected).max() < AGREE * scale


@pytest.mark.parametrize("robot", SHEETS)
def test_joint_sheets_project_to_the_matrices(robot):
    model, s = subject(robot), batch(robot, 10)
    for q, qd in zip(s.q, s.qd, strict=True):
        sheets = gda.joint_sheets(model, q, qd)
        M, B = gda.mass_matrix(model, q), gda.coriolis_matrix(model, q, qd)
        z = kinematics.forward_kinematics(model, q).z
        for j in range(model.n):
            if model.revolute(j):  # a prismatic row takes the force, which the sheets do not hold
                assert np.abs(z[j] @ sheets.G[j] - M[j]).max() < AGREE * np.abs(M).max()  # (30)
                assert np.abs(z[j] @ sheets.H[j] - B[j]).max() < AGREE * np.abs(M).max() * np.abs(qd).max()  # (31)


@pytest.mark.parametrize("robot", SHEETS)
def test_joint_sheets_are_the_moments_of_the_links_beyond(robot):
    """G_j = sum_{i >= j} U_i + m_i [p_Ci - p_j] C_i (27), H likewise (28), from the link sheets."""
    model, s = subject(robot), batch(robot, 3)
    for q, qd in zip(s.q, s.qd, strict=True):
        links, joints = gda.link_sheets(model, q, qd), gda.joint_sheets(model, q, qd)
        com, p = com_positions(model, q), kinematics.forward_kinematics(model, q).p
        for moments, rates, whole in ((links.U, links.C, joints.G), (links.V, links.D, joints.H)):
            for j in range(model.n):
                expected = sum(
                    moments[i] + model.mass[i] * np.cross(com[i] - p[j], rates[i], axisb=0, axisc=0)
                    for i in range(j, model.n)
                )
                assert np.abs(whole[j] - expected).max() < AGREE * max(np.abs(expected).max(), 1.0)


# Asking for methods.


def test_unknown_quantity_and_method_name_the_near_ones():
    arm = er.load("planar2")
    with pytest.raises(er.UnknownNameError, match=r"mass_matrx.*did you mean mass_matrix"):
        arm.compile("mass_matrx")
    with pytest.raises(er.UnknownNameError, match=r"method of mass_matrix must be one of crba, gda, gdahj.*'rnea'"):
        arm.compile("mass_matrix", method="rnea")


@pytest.mark.parametrize("robot", thinned(["panda", "physical8"]))
def test_the_default_method_is_the_cheapest_fast_one(robot):
    arm = er.Arm(subject(robot))
    for name, quantity in PAIRED.items():
        chosen, _ = dynamics.cheapest(arm.model, name)
        assert chosen in quantity.fast

        def cost(method, name=name):
            count = dynamics.program(arm.model, name, method).count
            return count.total + 3 * count.div + 10 * count.sincos + count.other

        assert cost(chosen) == min(map(cost, quantity.fast))


def test_named_methods_are_what_they_say():
    arm = er.load("panda")
    assert arm.compile("mass_matrix").method == dynamics.cheapest(arm.model, "mass_matrix")[0]
    assert arm.compile("mass_matrix", method="gda").method == "gda"
    assert arm.compile("mass_matrix", method="gda").count != arm.compile("mass_matrix", method="crba").count


def test_formulations_by_module_on_floats():
    """As in ARCHITECTURE.md: er.dynamics.gda.mass_matrix(arm.model, q), rigid body alone."""
    puma = er.load("puma560")
    M = er.dynamics.gda.mass_matrix(puma.model, puma.ready)
    assert M.dtype == float
    whole = puma.mass_matrix(puma.ready)
    assert np.allclose(whole - M, np.diag(puma.model.rotor_inertia), atol=1e-14)


@pytest.mark.parametrize("mass", [[2, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0]])
@pytest.mark.parametrize("kinds", ["RRRR", "PRPR", "RPRP", "PPRR"])
def test_links_without_mass_have_no_centre_to_divide_by(mass, kinds):
    """GDA takes the centre of mass of the links beyond a joint, which may weigh nothing."""
    rng = np.random.default_rng(0)
    a, alpha, d, q = rng.uniform(-1, 1, (4, 4))
    inertia = np.array([0.1 * np.eye(3) + 0.01 * k for k in range(4)])
    com = rng.uniform(-0.3, 0.3, (4, 3))
    model = er.model.from_mdh(a=a, alpha=alpha, d=d, mass=mass, com=com, inertia=inertia, kinds=kinds)
    expected = dynamics.crba.mass_matrix(model, q)
    assert np.abs(gda.mass_matrix(model, q) - expected).max() < 1e-14 * np.abs(expected).max()  # some hundred roundings
