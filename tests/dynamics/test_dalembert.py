"""Generalized d'Alembert: every term by itself, the whole against the other formulations and Pinocchio."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from elbowroom.algebra import trace
from elbowroom.dynamics import crba, dalembert, kinematics, rnea
from elbowroom.model import chains
from elbowroom.model.symbolic import symbolic
from referees import CATALOGUE, batch, error, frictionless, loop, pinocchio, subject, thinned

SUBJECTS = (*CATALOGUE, "physical4", "physical8", "gdahj3", "gdahj12")
SAME = 1e-11  # rounding of some thousand operations, relative to the greatest entry


def program(model, function, inputs, **more):
    return trace(function, model, {**dict.fromkeys(inputs.split(), (model.n,)), **more})


@pytest.mark.parametrize("robot", thinned(SUBJECTS))
def test_the_whole_against_the_others(robot):
    model, s = subject(robot), batch(robot, 10)
    M = program(model, crba.mass_matrix, "q").evaluate(s.q)
    size = np.abs(M).max(axis=(1, 2))
    assert error(program(model, dalembert.mass_matrix, "q").evaluate(s.q), M) < SAME
    both = [program(model, f.coriolis_torque, "q qd").evaluate(s.q, s.qd) for f in (dalembert, rnea)]
    assert error(*both, 4 * size) < SAME
    both = [program(model, f.gravity_torque, "q").evaluate(s.q) for f in (dalembert, rnea)]
    assert error(*both, model.mass.sum() * 10) < SAME
    for wrench, shape in ((s.tool_wrench, (6,)), (s.link_wrench, (model.n, 6))):
        both = [
            program(model, f.inverse_dynamics, "q qd qdd", wrench=shape).evaluate(s.q, s.qd, s.qdd, wrench)
            for f in (dalembert, rnea)
        ]
        assert error(*both) < SAME


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical6"])
def test_against_pinocchio(robot):
    model, s, pin = frictionless(subject(robot)), batch(robot, 10), pinocchio(robot)
    tau = program(model, dalembert.inverse_dynamics, "q qd qdd").evaluate(s.q, s.qd, s.qdd)
    assert error(tau + model.rotor_inertia * s.qdd, loop(pin.inverse_dynamics, s.q, s.qd, s.qdd)) < 1e-10


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical5", "gdahj3"])
def test_terms_are_what_moving_and_turning_give(robot):
    """The same arm with point masses has the _tran terms alone, with massless tensors the _rot terms alone."""
    model, s = subject(robot), batch(robot, 3)
    points = dataclasses.replace(model, inertia=np.zeros_like(model.inertia))
    spinning = dataclasses.replace(model, mass=np.zeros(model.n))
    for q, qd in zip(s.q, s.qd, strict=True):
        terms = dalembert.terms(model, q, qd)
        assert all(x.dtype == float for x in terms)
        size = np.abs(terms.D_tran).max() + np.abs(terms.D_rot).max()
        assert np.abs(terms.D_tran - crba.mass_matrix(points, q)).max() < SAME * size
        assert np.abs(terms.D_rot - crba.mass_matrix(spinning, q)).max() < SAME * size
        assert np.abs(terms.h_tran - rnea.coriolis_torque(points, q, qd)).max() < 4 * SAME * size
        assert np.abs(terms.h_rot - rnea.coriolis_torque(spinning, q, qd)).max() < 4 * SAME * size
        assert np.abs(terms.c - rnea.gravity_torque(model, q)).max() < SAME * 10 * model.mass.sum()
        for j in range(model.n):
            if not model.revolute(j):
                assert not terms.D_rot[j].any()
                assert terms.h_rot[j] == 0


def test_4_3_and_4_4_as_read():
    """The sums written out one by one, as the errata read them: (4.3) garbled and (4.4) missing in print."""
    model = chains.random(4, seed=9)
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-2, 2, (2, 4))
    R, p = kinematics.forward_kinematics(model, q)
    z = [x[:, 2] for x in R]
    c = [R[s] @ model.com[s] for s in range(4)]
    l = [p[k + 1] - p[k] for k in range(3)]  # noqa: E741
    w = [sum(qd[i] * z[i] for i in range(k + 1)) for k in range(4)]
    g = [
        sum((np.cross(sum(qd[a] * z[a] for a in range(b)), qd[b] * z[b]) for b in range(1, k + 1)), start=np.zeros(3))
        for k in range(4)
    ]
    h_tran, h_rot = np.zeros(4), np.zeros(4)
    for i in range(4):
        for s in range(i, 4):
            inner = np.cross(w[s], np.cross(w[s], c[s])) + np.cross(g[s], c[s])
            for k in range(s):
                inner = inner + np.cross(w[k], np.cross(w[k], l[k])) + np.cross(g[k], l[k])
            h_tran[i] += model.mass[s] * inner @ np.cross(z[i], p[s] + c[s] - p[i])
            own = [R[s].T @ axis for axis in z]
            pairs = sum(
                (np.cross(qd[j] * own[j], qd[k] * own[k]) for j in range(s + 1) for k in range(j + 1, s + 1)),
                start=np.zeros(3),
            )
            omega = sum(qd[j] * own[j] for j in range(s + 1))
            h_rot[i] += own[i] @ model.inertia[s] @ pairs + np.cross(own[i], omega) @ model.inertia[s] @ omega
    terms = dalembert.terms(model, q, qd)
    assert error([terms.h_tran], [h_tran]) < 1e-12
    assert error([terms.h_rot], [h_rot]) < 1e-12


PUBLISHED = {"mul": (69, 268 / 3, 105 / 2, 13 / 6), "add": (45, 146 / 3, 44, 4 / 3)}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_count_is_below_the_published_one_to_30_joints(kind):
    """The cubic through n = 4..7 holds at 3, 8 and 9, so it may be taken to 30; n = 3 is counted itself."""
    inputs = ("q", "qd", "qdd")
    counts = {
        n: getattr(trace(dalembert.inverse_dynamics, symbolic("R" * n), dict.fromkeys(inputs, (n,))).count, kind)
        for n in range(3, 10)
    }
    cubic = np.polynomial.Polynomial.fit([4, 5, 6, 7], [counts[n] for n in (4, 5, 6, 7)], 3)
    for n in (3, 8, 9):
        assert abs(cubic(n) - counts[n]) < 1e-6
    for n in range(3, 31):
        assert cubic(n) <= sum(a * n**k for k, a in enumerate(PUBLISHED[kind]))
