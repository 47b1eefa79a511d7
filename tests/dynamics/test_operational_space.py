"""Operational space: identities, Pinocchio's pieces, singular configurations, forces in closed loop."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given

import elbowroom as er
from elbowroom import dynamics
from elbowroom.dynamics.operational_space import LEAST, LOST, generalized_inverse
from referees import arm, error, frictionless, pinocchio, states, subject, thinned
from strategies import examples, robots

TASKS = {"operational_space": 6, "operational_space_translation": 3}
REDUNDANT = ("panda", "ur5e", "stanford", "physical8", "gdahj8")


def pieces(name, q, qd, k):
    """J, dJ/dt, M and b of Pinocchio."""
    engine = pinocchio(name)
    return engine.jacobian(q)[:k], engine.jacobian_rate(q, qd)[:k], engine.mass_matrix(q), engine.bias_torque(q, qd)


@pytest.mark.parametrize("quantity", TASKS)
@pytest.mark.parametrize("name", thinned(REDUNDANT, {"panda", "stanford"}))
def test_against_what_pinocchio_has(name, quantity):
    """Lambda, Jbar, N and mu by their definitions; 1e-12 times both condition numbers, where they mean anything."""
    k = TASKS[quantity]
    s = states(subject(name), 20)
    program = dynamics.program(frictionless(subject(name)), quantity, "ltdl")
    found = program.evaluate(s.q, s.qd)
    compared = 0
    for i in range(20):
        J, dJ, M, b = pieces(name, s.q[i], s.qd[i], k)
        A = J @ np.linalg.solve(M, J.T)
        if np.linalg.cond(A) > 1e6:
            continue
        compared += 1
        allowed = 1e-13 * np.linalg.cond(A) * np.linalg.cond(M)
        Lambda = np.linalg.inv(A)
        Jbar = np.linalg.solve(M, J.T) @ Lambda
        expected = {
            "inertia": Lambda,
            "inverse": Jbar,
            "null_space": np.eye(len(M)) - J.T @ Jbar.T,
            "bias": Jbar.T @ b - Lambda @ (dJ @ s.qd[i]),
        }
        assert found["rank"][i] == k
        for part, theirs in expected.items():
            assert error(found[part][i][None], theirs[None], 1.0) < max(allowed, 1e-11), part
        assert np.abs(J @ found["inverse"][i] - np.eye(k)).max() < max(allowed, 1e-11)
    assert compared >= 15


@given(robots(max_joints=5))
@examples(20)
def test_identities_of_any_robot(model):
    """Singular or not, fewer joints than directions: J M^-1 N = 0, N N = N, A Lambda A = A, on floats and traced."""
    s = states(model, 1)
    q, qd = s.q[0], s.qd[0]
    M = dynamics.whole("mass_matrix", "crba")(model, q)
    inverted = np.linalg.inv(M)
    for name, k in TASKS.items():
        J = np.vstack(dynamics.kinematics.jacobian(model, q))[:k]
        A = J @ inverted @ J.T
        for found in (
            dynamics.whole(name, "ltdl")(model, q, qd)._asdict(),
            dynamics.program(model, name, "ltdl").evaluate(q, qd),
        ):
            Lambda, N = found["inertia"], found["null_space"]
            # Rounding grows with Lambda and cond(M).  A direction that is left out has less than LOST of the mobility,
            # and so less than sqrt(LOST) of it together with another; or less than LEAST.
            size = np.abs(A).max()
            left = 2 * k * math.sqrt(LOST) if found["rank"] < k else 0.0
            allowed = left + 1e-14 * np.linalg.cond(M) * (1 + np.abs(Lambda).max() * size)
            assert np.isfinite(Lambda).all()
            assert np.abs(A @ Lambda @ A - A).max() <= allowed * size + k * LEAST
            free, rounding = J @ inverted @ N, k * math.sqrt(LEAST * np.abs(inverted).max())
            assert np.abs(free).max() <= allowed * np.abs(J @ inverted).max() * (1 + np.abs(N).max()) + rounding
            assert np.array_equal(Lambda, Lambda.T)
            assert found["rank"] <= min(k, model.n)


def test_forces_accelerate_the_tool_as_asked_and_null_space_torques_do_not():
    """Through forward dynamics, compiled, in a batch."""
    panda = arm("panda")
    rng = np.random.default_rng(4)
    q = panda.ready + rng.uniform(-0.3, 0.3, (30, 7))
    qd, tau_0 = rng.uniform(-1, 1, (2, 30, 7))
    xdd = rng.uniform(-1, 1, (30, 6))
    found = panda.operational_space(q, qd)
    J = np.concatenate(panda.jacobian(q), axis=1)
    drift = np.einsum("bij,bj->bi", np.concatenate(panda.jacobian_rate(q, qd), axis=1), qd)
    F = np.einsum("bij,bj->bi", found.inertia, xdd) + found.bias
    tau = np.einsum("bji,bj->bi", J, F) + 10 * np.einsum("bij,bj->bi", found.null_space, tau_0)
    got = np.einsum("bij,bj->bi", J, panda.forward_dynamics(q, qd, tau)) + drift
    assert np.abs(got - xdd).max() < 1e-9  # accelerations of the joints of up to 1e4 in the null space
    assert (found.rank == 6).all()
    one = panda.operational_space(q[3], qd[3])
    for part, many in zip(one, found, strict=True):
        assert np.array_equal(part, many[3])


def test_a_stretched_arm_stays_finite_and_says_so():
    """Outstretched, the planar arm moves across its length and not along it; its third direction never."""
    planar = er.load("planar2").without_friction()
    bent = planar.operational_space_translation([0.3, 0.9], [0.0, 0.0])
    assert bent.rank == 2
    for q in ([0.0, 0.0], [np.pi / 2, 0.0], [0.7, 0.0], [0.7, 1e-5]):
        found = planar.operational_space_translation(q, [0.5, -0.2])
        assert found.rank == 1
        assert all(np.isfinite(part).all() for part in found)
        J = planar.jacobian(q).Jv
        free = J @ planar.mass_matrix_inverse(q) @ found.null_space
        assert np.abs(free).max() < 1e-4 * np.abs(J).max()  # sqrt(LOST) of a direction may be left
    wrist = arm("ur5e")
    singular = wrist.operational_space([0.1, -1.2, 1.5, -1.0, 0.0, 0.3], np.zeros(6))  # axes 4 and 6 are parallel
    assert singular.rank == 5
    assert np.isfinite(singular.inertia).all()


def test_a_generalized_inverse_of_matrices_without_one():
    rng = np.random.default_rng(0)
    for rank in range(5):
        V = rng.normal(size=(4, rank))
        A = V @ V.T
        found, applied, kept = generalized_inverse(V.T, np.ones(rank))
        assert kept == rank
        assert np.abs(applied - V.T @ found).max(initial=0.0) < 1e-9 * (1 + np.abs(found).max())
        assert np.abs(A @ found @ A - A).max() < 1e-9 * (1 + np.abs(A).max())
        assert np.abs(found @ A @ found - found).max() < 1e-9 * (1 + np.abs(found).max()) ** 2


@pytest.mark.parametrize("offset", [0.0, 1e-310, 1e-160, 1e-17])
def test_offsets_that_are_rounding_do_not_count_as_mobility(offset):
    """A file's 1e-17 m would be an inertia of 1e34 kg, and of less the inverse overflows."""
    model = subject("physical1")
    turning = dataclasses.replace(model, kinds="R", tool=np.eye(4) + offset * np.eye(4, k=3))
    found = dynamics.whole("operational_space_translation", "ltdl")(turning, np.array([0.3]), np.array([1.0]))
    assert found.rank == 0
    assert not found.inertia.any()
    assert np.array_equal(found.null_space, [[1.0]])


def test_rotors_count_and_friction_does_not():
    model = subject("physical4")
    heavy = dataclasses.replace(model, rotor_inertia=model.rotor_inertia + 5.0)
    q, qd = np.random.default_rng(1).uniform(-1, 1, (2, 4))
    with_rotors, without = (
        dynamics.whole("operational_space_translation", "ltdl")(m, q, qd).inertia for m in (heavy, model)
    )
    assert np.linalg.eigvalsh(with_rotors - without).min() > 0
    plain = dynamics.whole("operational_space_translation", "ltdl")(frictionless(model), q, qd)
    assert np.array_equal(plain.bias, dynamics.whole("operational_space_translation", "ltdl")(model, q, qd).bias)


def test_parts_have_their_own_shapes():
    found = arm("planar2").operational_space_translation([0.1, 0.2], [0.0, 0.0])
    assert [np.shape(part) for part in found] == [(3, 3), (2, 3), (2, 2), (3,), ()]
    with pytest.raises(AttributeError, match="gives 5 arrays"):
        _ = found.shape


@pytest.mark.parametrize("robot", ["planar2", "slides4", "panda"])
def test_single_precision_leaves_out_the_same_directions(robot):
    """What rounding leaves of a direction is far below what counts as mobility, in float32 too."""
    model = {"slides4": er.chains.random(4, 3, kinds="RPRP")}.get(robot) or er.load(robot)
    rng = np.random.default_rng(8)
    q, qd = rng.uniform(-1, 1, (2, 40, model.n)).astype(np.float32)
    single = model.compile("operational_space", dtype=np.float32)(q, qd)
    double = model.compile("operational_space")(q.astype(float), qd.astype(float))
    assert np.array_equal(single.rank, double.rank)
    scale = np.abs(double.inertia).max(axis=(1, 2), keepdims=True)
    assert (np.abs(single.inertia - double.inertia) / scale).max() < 0.05  # near singular ones keep two digits
