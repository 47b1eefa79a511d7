"""Derivatives of dynamics: complex steps, Pinocchio, identities, loops; every quantity of the registry.

A complex step of a traced program (test_program_derivatives.py) is exact to rounding.  Comparisons with zero have
their own answer for complex numbers, so dry friction, which has the derivative 0, is left out of it.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import warnings

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given

import elbowroom as er
import foreign
from elbowroom import dynamics
from elbowroom.algebra import Repeated, trace
from elbowroom.algebra.derivatives import estimate
from elbowroom.algebra.looped import Rolled
from elbowroom.bench.peers.dynamics import pinocchio_model
from elbowroom.compile import compiled
from elbowroom.compile.cuda import CudaKernel
from elbowroom.errors import ElbowroomError, ModelError, UnknownNameError
from elbowroom.model import Model
from referees import (
    SUBJECTS,
    TOLERANCE,
    error,
    frictionless,
    physical_chain,
    states,
    subject,
    thinned,
)
from strategies import examples, robots

INVERSE = "inverse_dynamics_derivatives"
FORWARD = "forward_dynamics_derivatives"
INVERTING = ("mass_matrix_inverse", "inverse", "forward", "operational")  # quantities by M^-1, or named like one
H = 1e-40  # of a complex step: nothing is subtracted, so as small as one likes


def drawn(program, model: Model, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {port.name: rng.uniform(-1, 1, port.shape) for port in program.inputs}


def complex_step(program, given: dict[str, np.ndarray], by: str) -> dict[str, np.ndarray]:
    """d outputs / d `by`, the input's axis last."""
    size = given[by].size
    batch = {name: np.broadcast_to(x, (size, *x.shape)).astype(complex) for name, x in given.items()}
    batch[by] = given[by] + 1j * H * np.eye(size)
    found = program.evaluate(dtype=complex, **batch)
    found = found if isinstance(found, dict) else {program.outputs[0].name: found}
    return {name: np.moveaxis(x.imag / H, 0, -1) for name, x in found.items()}


def check_jacobian(program, model: Model, tolerance: float = 1e-12) -> None:
    given = drawn(program, model)
    jacobian = program.jacobian()
    found = jacobian.evaluate(**given)
    found = found if isinstance(found, dict) else {jacobian.outputs[0].name: found}
    for port in program.inputs:
        for name, expected in complex_step(program, given, port.name).items():
            got = found[f"{name}_d{port.name}"]
            assert got.shape == expected.shape
            assert np.abs(got - expected).max() <= tolerance * (1.0 + np.abs(expected).max()), (name, port.name)
            zeros = ~program.sparsity[name, port.name]
            assert not got[zeros].any()


# ---- every quantity
@pytest.mark.parametrize("name", dynamics.REGISTRY)
def test_every_quantity_of_the_registry_has_derivatives(name):
    """1e-12 of the largest entry: a thousand roundings; times the condition number (below 1e3) where M is inverted."""
    for model in (subject("stanford"), physical_chain(3, seed=5)):
        model = dataclasses.replace(model, coulomb=np.zeros(model.n))
        _, program = dynamics.cheapest(model, name)
        check_jacobian(program, model, 1e-9 if name.startswith(INVERTING) else 1e-11)


@given(robots(max_joints=4))
@examples(15)
def test_torques_energies_and_poses_of_any_robot(model):
    model = dataclasses.replace(model, coulomb=np.zeros(model.n))
    for name in ("mass_matrix", "inverse_dynamics", "kinetic_energy", "pose"):
        check_jacobian(dynamics.cheapest(model, name)[1], model, 1e-11)


@given(robots(max_joints=5))
@examples(25)
def test_the_recursion_and_newton_euler_differentiated_agree_on_any_robot(model):
    """On floats and traced, prismatic joints, rotors and friction included; and with the identities of (1)."""
    s = states(model, 1)
    q, qd, qdd = s.q[0], s.qd[0], s.qdd[0]
    ways = []
    for method in ("recursion", "automatic"):
        function = dynamics.whole(INVERSE, method)
        traced = dynamics.program(model, INVERSE, method).evaluate(q, qd, qdd)
        ways += [function(model, q, qd, qdd), list(traced.values())]
    M = dynamics.whole("mass_matrix", "crba")(model, q)
    C = dynamics.whole("coriolis_matrix", "christoffel")(model, q, qd)
    weight = np.abs(M).max() * (5.0 + np.abs(qd).max() ** 2) + 10.0 * model.mass.sum()
    for way in ways:
        for ours, first in zip(way, ways[0], strict=True):
            assert np.abs(ours - first).max() <= 1e-12 * weight
        assert np.abs(way[2] - M).max() <= 1e-13 * weight
        assert np.abs(way[1] - 2 * C - np.diag(model.viscous)).max() <= 1e-12 * weight


@given(robots(max_joints=5))
@examples(15)
def test_forward_dynamics_derivatives_undo_those_of_inverse_dynamics_on_any_robot(model):
    s = states(model, 1)
    q, qd, tau = s.q[0], s.qd[0], s.tau[0]
    M = dynamics.whole("mass_matrix", "crba")(model, q)
    allowed = 1e-12 * np.linalg.cond(M)
    qdd = dynamics.whole("forward_dynamics", "aba")(model, q, qd, tau)
    inverse = dynamics.whole(INVERSE, "recursion")(model, q, qd, qdd)
    found = dynamics.program(model, FORWARD, "recursion").evaluate(q, qd, tau)
    for part, by in (("dqdd_dq", inverse.dtau_dq), ("dqdd_dqd", inverse.dtau_dqd)):
        back = -M @ found[part]
        size = np.abs(by).max() + np.abs(M).max() * np.abs(found[part]).max() + model.mass.sum()
        assert np.abs(back - by).max() <= allowed * size
    assert np.abs(M @ found["dqdd_dtau"] - np.eye(model.n)).max() <= allowed


# ---- Pinocchio
def of_pinocchio(model: Model, s):
    m = pinocchio_model(pin, model)
    data = m.createData()
    inverse, forward = [], []
    for q, qd, qdd, tau in zip(s.q, s.qd, s.qdd, s.tau, strict=True):
        pin.computeRNEADerivatives(m, data, q, qd, qdd)
        M = np.triu(data.M) + np.triu(data.M, 1).T
        inverse.append((data.dtau_dq.copy(), data.dtau_dv.copy(), M))
        pin.computeABADerivatives(m, data, q, qd, tau)
        inverted = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        forward.append((data.ddq_dq.copy(), data.ddq_dv.copy(), inverted))
    return [np.array(x) for x in zip(*inverse, strict=True)], [np.array(x) for x in zip(*forward, strict=True)]


def compare_with_pinocchio(model: Model, count: int) -> None:
    """1e-10 for torques, the project's promise; 1e-12 cond(M) for accelerations."""
    model = frictionless(model)
    s = states(model, count)
    inverse, forward = of_pinocchio(model, s)
    M = inverse[2]
    scale = np.abs(M).max(axis=(1, 2)) * np.maximum(np.abs(s.qdd).max(axis=1), np.abs(s.qd).max(axis=1) ** 2)
    found = dynamics.cheapest(model, INVERSE)[1].evaluate(s.q, s.qd, s.qdd)  # a model is used once: not compiled
    for ours, theirs in zip(found.values(), inverse, strict=True):
        assert error(ours, theirs, scale) < TOLERANCE
    allowed = 1e-12 * np.linalg.cond(M).max()
    found = dynamics.program(model, FORWARD, "recursion").evaluate(s.q, s.qd, s.tau)
    for ours, theirs in zip(found.values(), forward, strict=True):
        assert error(ours, theirs, 1e-6 + np.zeros(count)) < max(allowed, 1e-11)


@pytest.mark.parametrize("name", thinned(SUBJECTS))
def test_pinocchio(name):
    compare_with_pinocchio(subject(name), 20)


def test_pinocchio_through_an_arm():
    """Compiled, in a batch."""
    model = frictionless(subject("panda"))
    arm, s = er.Arm(model), states(model, 100)
    inverse, forward = of_pinocchio(model, s)
    for ours, theirs in zip(arm.inverse_dynamics_derivatives(s.q, s.qd, s.qdd), inverse, strict=True):
        assert error(ours, theirs) < TOLERANCE
    for ours, theirs in zip(arm.forward_dynamics_derivatives(s.q, s.qd, s.tau), forward, strict=True):
        assert error(ours, theirs) < TOLERANCE


FOREIGN = ["xarm7", "z1", "tiago", "kr16", "talos_arm"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
def test_pinocchio_on_foreign_arms(name):
    robot = foreign.ARMS[name]
    try:
        path = robot.path
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{robot.wheel} is not installed (extra `foreign`)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a description lacks is `elbowroom check`'s to say
        model = er.load(path, tip=robot.tip).model
    compare_with_pinocchio(model, 20)


# ---- the arm's face
@pytest.fixture(scope="module")
def stanford():
    return er.load("stanford")


@pytest.fixture(scope="module")
def state():
    return np.random.default_rng(3).uniform(-1, 1, (3, 6))


def test_by_name_and_by_compile(stanford, state):
    q, qd, qdd = state
    named = stanford.inverse_dynamics_derivatives(q, qd, qdd)
    assert named._fields == ("dtau_dq", "dtau_dqd", "dtau_dqdd")
    kernel = stanford.compile("inverse_dynamics", derivative=("qd", "q"))
    found = kernel(q, qd, qdd)
    assert found._fields == ("inverse_dynamics_dqd", "inverse_dynamics_dq")
    assert np.allclose(found.inverse_dynamics_dq, named.dtau_dq, rtol=0, atol=1e-12 * np.abs(named.dtau_dq).max())
    assert np.allclose(found.inverse_dynamics_dqd, named.dtau_dqd, rtol=0, atol=1e-12 * np.abs(named.dtau_dq).max())
    many = kernel(*np.broadcast_to(state[:, None], (3, 5, 6)))
    assert np.array_equal(many.inverse_dynamics_dq[3], found.inverse_dynamics_dq)
    single = stanford.compile("inverse_dynamics", derivative="q", dtype=np.float32)(q, qd, qdd)
    assert single.dtype == np.float32
    assert np.abs(single - named.dtau_dq).max() < 1e-5 * np.abs(named.dtau_dq).max()


def test_pose_derivatives_hold_the_jacobian(stanford, state):
    q = state[0]
    slopes = stanford.pose_derivatives(q)
    J = stanford.jacobian(q)
    assert slopes.shape == (4, 4, 6)
    assert np.allclose(slopes[:3, 3], J.Jv, atol=1e-14)
    assert not slopes[3].any()
    R = stanford.pose(q)[:3, :3]
    for k in range(6):
        W = slopes[:3, :3, k] @ R.T
        assert np.allclose([W[2, 1], W[0, 2], W[1, 0]], J.Jw[:, k], atol=1e-14)


def test_gravity_is_the_gradient_of_the_potential_energy_and_its_slope_symmetric(stanford, state):
    q = state[0]
    gradient = stanford.compile("potential_energy", derivative="q")(q)
    assert np.allclose(gradient, stanford.gravity_torque(q), atol=1e-11)
    hessian = stanford.compile("gravity_torque", derivative="q")(q)
    assert np.allclose(hessian, hessian.T, atol=1e-11)


def test_the_rate_of_the_mass_matrix_is_its_derivative_along_the_motion(stanford, state):
    q, qd, _ = state
    slopes = stanford.compile("mass_matrix", derivative="q")(q)
    assert np.allclose(slopes @ qd, stanford.mass_matrix_rate(q, qd), atol=1e-12)


@pytest.mark.parametrize("wrench", [(6,), (6, 6)])
def test_wrenches(stanford, state, wrench):
    q, qd, x = state
    w = np.random.default_rng(4).uniform(-20, 20, wrench)
    h = 1e-6

    def differences(f):
        return np.array([(f(q + h * e) - f(q - h * e)) / (2 * h) for e in np.eye(6)]).T

    by_q = stanford.inverse_dynamics_derivatives(q, qd, x, w).dtau_dq
    expected = differences(lambda q: stanford.inverse_dynamics(q, qd, x, w))
    # a central difference errs by h^2 and by rounding over h: 1e-9 of torques of some hundred
    assert np.abs(by_q - expected).max() < 1e-6
    by_q = stanford.forward_dynamics_derivatives(q, qd, x, w).dqdd_dq
    expected = differences(lambda q: stanford.forward_dynamics(q, qd, x, w))
    assert np.abs(by_q - expected).max() < 1e-6 * (1 + np.abs(expected).max())


def test_what_is_written_into(stanford, state):
    q, qd, qdd = state
    kernel = stanford.compile(INVERSE)
    out = kernel.empty()
    assert stanford.inverse_dynamics_derivatives(q, qd, qdd, out=out) is out
    assert np.array_equal(out.dtau_dq, kernel(q, qd, qdd).dtau_dq)


def test_what_cannot_be_is_refused_by_name(stanford):
    with pytest.raises(UnknownNameError, match="derivative: mass_matrix has the inputs q; got 'qd'"):
        stanford.compile("mass_matrix", derivative="qd")
    with pytest.raises(UnknownNameError, match="expected one or more different inputs"):
        stanford.compile("mass_matrix", derivative=("q", "q"))
    with pytest.raises(UnknownNameError, match="no quantity 'mass'"):
        stanford.compile("mass", derivative="q")
    with pytest.raises(UnknownNameError, match="different quantities"):
        stanford.compile(("mass_matrix", "mass_matrix"))
    with pytest.raises(UnknownNameError, match="a name for each"):
        stanford.compile(("mass_matrix", "bias_torque"), method="crba")


# ---- long chains
def test_long_chains_keep_their_loops():
    model = dataclasses.replace(physical_chain(14, seed=2), coulomb=np.zeros(14))
    arm, rng = er.Arm(model), np.random.default_rng(0)
    q, qd, x = rng.uniform(-1, 1, (3, 14))
    assert isinstance(arm.compile(INVERSE).program, Rolled)
    expected = dynamics.whole(INVERSE, "recursion")(model, q, qd, x)
    found = arm.inverse_dynamics_derivatives(q, qd, x)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max()
    many = arm.inverse_dynamics_derivatives(*np.broadcast_to(np.array([q, qd, x])[:, None], (3, 3, 14)))
    assert all(np.array_equal(a, b[1]) for a, b in zip(found, many, strict=True))
    for name, inputs in (("inverse_dynamics", (q, qd, x)), ("bias_torque", (q, qd)), ("gravity_torque", (q,))):
        kernel = arm.compile(name, derivative=("qd", "q") if len(inputs) > 1 else "q")
        assert isinstance(kernel.program, Rolled)
        straight = kernel.program.straight().evaluate(*inputs)
        ours = kernel(*inputs)
        pairs = [(ours, straight)] if len(inputs) == 1 else zip(ours, straight.values(), strict=True)
        for a, b in pairs:
            assert np.abs(a - b).max() <= 1e-11 * np.abs(b).max()
    by_q, by_qd, inverse = arm.forward_dynamics_derivatives(q, qd, x)
    at = arm.inverse_dynamics_derivatives(q, qd, arm.forward_dynamics(q, qd, x))
    M, allowed = arm.mass_matrix(q), 1e-11 * np.linalg.cond(arm.mass_matrix(q))
    assert np.abs(M @ by_q + at.dtau_dq).max() <= allowed * np.abs(at.dtau_dq).max()
    assert np.abs(M @ by_qd + at.dtau_dqd).max() <= allowed * np.abs(at.dtau_dqd).max()
    assert np.abs(M @ inverse - np.eye(14)).max() <= allowed


def test_a_kernel_that_would_be_a_million_operations_is_refused():
    arm = er.chains.random(31)
    with pytest.raises(ModelError, match=r"up to 30 joints in one kernel; got 31.*arm\.forward_dynamics_deriv"):
        arm.compile(FORWARD)


# ---- several quantities in one kernel
def test_several_quantities_share_their_work(state):
    arm = er.load("panda")
    q, qd = np.random.default_rng(5).uniform(-1, 1, (2, 7))
    names = ("mass_matrix", "bias_torque", "jacobian")
    kernel = arm.compile(names)
    found = kernel(q, qd)
    assert found._fields == ("mass_matrix", "bias_torque", "jacobian_Jv", "jacobian_Jw")
    assert np.allclose(found.mass_matrix, arm.mass_matrix(q), atol=1e-14)
    assert np.allclose(found.bias_torque, arm.bias_torque(q, qd), atol=1e-13)
    assert np.allclose(found.jacobian_Jw, arm.jacobian(q).Jw, atol=1e-14)
    alone = [arm.compile(name).count for name in names]
    assert kernel.count.total < sum(count.total for count in alone)
    assert kernel.count.sincos == 14 < sum(count.sincos for count in alone)


def test_the_gda_triple_is_one_kernel():
    arm = er.load("panda")
    names = ("mass_matrix_rate", "bias_torque", "coriolis_transpose_qd")
    q, qd = np.random.default_rng(6).uniform(-1, 1, (2, 7))
    kernel = arm.compile(names)
    found = kernel(q, qd)
    for name in names:
        expected = getattr(arm, name)(*(q, qd))
        assert np.allclose(getattr(found, name), expected, atol=1e-13)
    assert kernel.count.total < sum(arm.compile(name).count.total for name in names)


def test_several_quantities_have_derivatives_too(stanford, state):
    q, qd, _ = state
    found = stanford.compile(("gravity_torque", "potential_energy"), derivative="q")(q)
    assert found._fields == ("gravity_torque_dq", "potential_energy_dq")
    assert np.allclose(found.potential_energy_dq, stanford.gravity_torque(q), atol=1e-11)
    kernel = stanford.compile(("mass_matrix", "bias_torque"), method=("gdahj", "rnea"))
    assert kernel.method == "gdahj, rnea"
    assert np.allclose(kernel(q, qd).mass_matrix, stanford.mass_matrix(q), atol=1e-11)


# ---- products with vectors
def test_products_of_hessians_with_vectors_in_batches(stanford):
    """Of the kinetic energy by qd: M times a vector."""
    program = stanford.compile("kinetic_energy").program
    kernel = compiled(program.vjp("qd").jvp("qd"))
    rng = np.random.default_rng(7)
    q, qd, v = rng.uniform(-1, 1, (3, 10, 6))
    found = kernel(q, qd, np.ones(10), v)
    assert np.allclose(found, np.einsum("bij,bj->bi", stanford.mass_matrix(q), v), atol=1e-12)


def test_a_derivative_of_too_many_operations_is_refused_with_their_number():
    arm = er.chains.random(40, seed=1)
    said = r"up to 300,000 operations .* for 40 joints there are about \d{3},\d{3}; .*jvp\('q'\)"
    with pytest.raises(ModelError, match=said):
        arm.compile("mass_matrix", derivative="q")
    with pytest.raises(ModelError, match="for 40 joints there are 2,560,000 entries"):
        arm.compile("christoffel", derivative="q")
    arm = er.chains.random(7, seed=1)
    program = dynamics.program(arm.model, "mass_matrix", "crba")
    assert 0.5 < estimate(program, ["q"]) / len(program.jacobian("q").operations) < 3.0


def test_a_kernel_has_the_kernels_of_its_products(stanford):
    """`vjp` and `jvp` for the same machine and dtype, by the inputs that are named; what has none says so."""
    kernel = stanford.compile("kinetic_energy", dtype=np.float32)
    q, qd = np.random.default_rng(3).uniform(-1, 1, (2, 5, 6)).astype(np.float32)
    back, forth = kernel.vjp("qd"), kernel.jvp("qd")
    assert back.dtype == forth.dtype == np.float32
    momentum = back(q, qd, np.ones(5, np.float32))
    wanted = np.einsum("bij,bj->bi", stanford.mass_matrix(q.astype(float)), qd)
    assert np.allclose(momentum, wanted, atol=1e-4)  # float32, a few hundred operations
    assert np.allclose(forth(q, qd, qd), np.einsum("bi,bi->b", wanted, qd), atol=1e-4)
    assert [port.name for port in kernel.vjp().signature.outputs] == ["q_bar", "qd_bar"]
    card = stanford.compile("kinetic_energy", device="cuda", layout="columns").vjp("qd")
    assert (card.layout, card.program.digest) == (
        "columns",
        stanford.compile("kinetic_energy").vjp("qd").program.digest,
    )
    turns = Repeated(trace(lambda _, x: {"x": x * 0.5}, None, {"x": (2,)}), 3)
    with pytest.raises(ElbowroomError, match="program: a Repeated has no jvp"):
        compiled(turns).jvp()
    with pytest.raises(ElbowroomError, match="program: a Repeated on a card has no vjp"):
        CudaKernel("", turns).vjp()
