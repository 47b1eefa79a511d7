"""Identification: exact recovery, standard errors that are true, bodies that can exist, payloads, filters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import elbowroom as er
from elbowroom.bench.planning.arms import foreign, installed
from elbowroom.identification import checked, identify, unseen
from elbowroom.identification.bodies import BASIS, parameters_of, pseudo_inertias
from elbowroom.identification.consistency import consistent, prior_bodies
from elbowroom.identification.equations import Kind, Unknown, equations, payload_map, rows
from elbowroom.identification.least_squares import Fit, fit
from elbowroom.identification.payload import payload
from elbowroom.model import with_parameters
from elbowroom.model.inertia import MassProperties, moved
from strategies import examples, robots

PLANAR = er.load("planar2")


def measured(arm, count=60, seed=0, noise=0.0, name="run", true=None):
    """States drawn at random, with the torques of the arm, speeds and accelerations; 100 rows a second."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(*arm.model.sampling_range(), (count, arm.n))
    qd, qdd = rng.uniform(-2, 2, (2, count, arm.n))
    tau = (true or arm).inverse_dynamics(q, qd, qdd)
    return checked(name, arm.n, 0.01 * np.arange(count), q, tau + noise * rng.normal(size=tau.shape), qd, qdd)


def truth(what, model):
    """The true values of the unknowns of an arm."""
    known = {
        Kind.BASE: what.base.combinations @ model.parameters,
        Kind.VISCOUS: model.viscous,
        Kind.COULOMB: model.coulomb,
        Kind.ROTOR: model.rotor_inertia,
        Kind.OFFSET: np.zeros(model.n),
    }
    return np.array([known[unknown.kind][unknown.index] for unknown in what.unknowns])


def positive(parameters):
    """Whether all these links are bodies."""
    return (np.linalg.eigvalsh(pseudo_inertias(np.asarray(parameters).reshape(-1, 10)))[:, 0] > 0).all()


# ---- least squares


@examples(20)
@given(robots(max_joints=3), st.booleans())
def test_torques_without_noise_give_the_base_parameters_back(model, offset):
    """Random chains with slides, rotors and friction, any gravity; 1e-8: the digits of a regressor with cond. 1e6."""
    arm = er.Arm(model)
    found = identify(arm, measured(arm, 40 + 20 * arm.n), offset=offset)
    wanted = truth(found.equations, model)
    size = max(1e-3, float(np.abs(wanted).max()))
    assert np.abs(found.fit.values - wanted).max() < 1e-8 * size * max(1.0, found.fit.condition / 1e4)
    assert positive(found.consistent.parameters)


def test_rotors_are_found_where_a_torque_tells_them_from_the_links():
    model = dataclasses.replace(er.load("puma560").model, rotor_inertia=np.linspace(0.1, 0.6, 6))
    arm = er.Arm(model)
    found = identify(arm, measured(arm, 200), rotors=True)
    assert [u.name for u in found.equations.unknowns if u.kind is Kind.ROTOR] == [
        f"joint{k}.rotor" for k in (3, 4, 5, 6)
    ]  # the first two only add to a link's Izz
    assert np.allclose(found.fit.values, truth(found.equations, model), atol=1e-10)


def test_standard_errors_and_variances_are_what_repetition_shows():
    """60 draws of noise that differs by joint: spread and stated errors agree, and so do the weights."""
    noise = np.array([0.5, 0.05])
    fits = [identify(PLANAR, measured(PLANAR, 200, seed=k, noise=noise)).fit for k in range(60)]
    wanted = truth(equations(PLANAR), PLANAR.model)
    z = np.array([(each.values - wanted) / each.errors for each in fits])
    assert abs(np.sqrt((z**2).mean()) - 1.0) < 0.1  # 600 numbers, some dependent: 0.03 by chance
    assert 0.92 < (np.abs(z) < 1.96).mean() < 0.975
    assert np.allclose(np.mean([each.deviation for each in fits], axis=0), noise, rtol=0.03)


def test_weights_beat_equal_weights():
    """A joint whose torques are noisy must not spoil what the other one tells."""
    noise = np.array([2.0, 0.01])
    runs = [measured(PLANAR, 100, seed=k, noise=noise) for k in range(20)]
    wanted = truth(equations(PLANAR), PLANAR.model)
    place = [k for k, u in enumerate(equations(PLANAR).unknowns) if u.name == "forearm.Izz"]

    def plain(run):
        part = rows(equations(PLANAR), run)
        return np.linalg.lstsq(part.W.reshape(-1, 10), part.tau.ravel(), rcond=None)[0]

    ours = np.array([identify(PLANAR, run).fit.values - wanted for run in runs])[:, place]
    theirs = np.array([plain(run) - wanted for run in runs])[:, place]
    assert np.abs(ours).mean() < 0.2 * np.abs(theirs).mean()


def test_residuals_that_last_widen_the_errors():
    """The same rows nine times over tell no more than once: errors three times as wide as if they did."""
    rng = np.random.default_rng(0)
    W, tau = rng.normal(size=(300, 2, 4)), rng.normal(size=(300, 2))
    once = fit(W, tau)
    often = fit(np.repeat(W, 9, axis=0), np.repeat(tau, 9, axis=0))
    assert (once.correlation == 0).all()
    assert (often.correlation > 0.8).all()
    assert (often.errors > 0.9 * once.errors).all()


def test_what_the_data_does_not_determine_is_named():
    """A joint that stands still: its friction, and all that its acceleration would show."""
    arm = er.Arm(dataclasses.replace(PLANAR.model, viscous=[0.1, 0.3], coulomb=[0.2, 0.7]))
    run = measured(arm, 200, noise=0.01)
    q, qd, qdd = run.q.copy(), run.qd.copy(), run.qdd.copy()
    q[:, 1], qd[:, 1], qdd[:, 1] = 0.3, 0.0, 0.0
    tau = arm.inverse_dynamics(q, qd, qdd) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    found = identify(arm, checked("still", 2, run.t, q, tau, qd, qdd))
    assert set(found.undetermined) >= {"elbow.viscous", "elbow.coulomb", "forearm.Izz"}
    assert "shoulder.viscous" not in found.undetermined
    assert np.isinf(found.fit.errors[[u.name for u in found.equations.unknowns].index("elbow.viscous")])
    assert found.fit.scaled_condition == np.inf
    assert positive(found.consistent.parameters)
    assert found.arm.model.viscous[1] == 0.3  # the model's
    assert found.arm.model.coulomb[1] == 0.7


# ---- bodies


def test_pseudo_inertias_are_linear_and_move_with_frames():
    rng = np.random.default_rng(0)
    arm = er.chains.random(3, seed=1).model
    p = arm.parameters.reshape(-1, 10)
    assert np.allclose(parameters_of(pseudo_inertias(p)), p)
    assert np.allclose(np.einsum("ik,kab->iab", p, BASIS), pseudo_inertias(p))
    assert np.allclose(pseudo_inertias(p)[:, 3, 3], arm.mass)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.linalg.qr(rng.normal(size=(3, 3)))[0], (0.1, -0.2, 0.3)
    T[:3, :3] *= np.sign(np.linalg.det(T[:3, :3]))
    body = MassProperties(float(arm.mass[0]), arm.com[0], arm.inertia[0])
    there = moved(body, T)
    single = dataclasses.replace(arm, mass=[there.mass] * 3, com=[there.com] * 3, inertia=[there.inertia] * 3)
    assert np.allclose(payload_map(T) @ p[0], single.parameters[:10])


@examples(15)
@given(robots(max_joints=3), st.integers(0, 10**6), st.floats(0.01, 30.0), st.floats(1e-3, 10.0))
def test_links_are_always_bodies(model, seed, noise, r):
    """However bad the data, and however much least squares is off: every pseudo-inertia is positive definite."""
    arm = er.Arm(model)
    found = identify(arm, measured(arm, 30 + 10 * arm.n, seed=seed, noise=noise), regularisation=r)
    assert positive(found.consistent.parameters)
    assert (found.arm.model.viscous >= 0).all()
    assert (found.arm.model.coulomb >= 0).all()
    assert found.consistent.errors.min() > 0


@pytest.mark.parametrize("name", ["planar2", "scara"])
def test_torques_with_the_wrong_sign_give_bodies_all_the_same(name):
    """Links of negative mass fit best: the minimum lies on the edge of what can exist, or beyond what is computable."""
    arm = er.load(name)
    run = measured(arm, 60 * arm.n)
    found = identify(arm, dataclasses.replace(run, tau=-run.tau))
    assert positive(found.consistent.parameters)
    assert found.consistent.regularisation >= 1.0
    assert found.consistent.distance > 1e6
    assert found.far_from_bodies
    assert not identify(arm, run).far_from_bodies


def test_the_minimum_is_that_of_another_solver():
    """scipy's least squares over log-Cholesky factors, an unconstrained form of the same problem."""
    arm = er.chains.random(2, seed=4).without_friction()  # its links are no bodies
    found = identify(arm, measured(arm, 60, noise=1.0))
    what, F = found.equations, found.fit.information
    J0, _ = prior_bodies(arm.model)
    held = np.array([u.name in found.consistent.zeroed for u in what.unknowns])
    lower = np.tril_indices(4)

    def unpacked(x):
        L = np.zeros((2, 4, 4))
        L[:, lower[0], lower[1]] = x[:20].reshape(2, 10)
        L[:, range(4), range(4)] = np.exp(L[:, range(4), range(4)])
        J = L @ L.transpose(0, 2, 1)
        others = np.zeros(len(held))[len(what.base) :]
        others[~held[len(what.base) :]] = x[20:]
        return J, others

    def value(x):
        J, others = unpacked(x)
        d = np.concatenate([what.base.combinations @ parameters_of(J).ravel(), others]) - found.fit.values
        ratio = np.linalg.solve(J0, J)
        divergence = np.trace(ratio, axis1=1, axis2=2) - np.log(np.linalg.det(ratio)) - 4
        return 0.5 * d @ F @ d + divergence.sum()

    L0 = np.linalg.cholesky(J0)
    L0[:, range(4), range(4)] = np.log(L0[:, range(4), range(4)])
    start = np.concatenate(
        [L0[:, lower[0], lower[1]].ravel(), found.fit.values[len(what.base) :][~held[len(what.base) :]]]
    )
    theirs = optimize.minimize(value, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    ours = np.concatenate([what.base.combinations @ found.consistent.parameters, found.consistent.drives])
    d = ours - found.fit.values
    ratio = np.linalg.solve(J0, pseudo_inertias(found.consistent.parameters.reshape(-1, 10)))
    least = 0.5 * d @ F @ d + (np.trace(ratio, axis1=1, axis2=2) - np.log(np.linalg.det(ratio)) - 4).sum()
    assert least <= theirs.fun + 1e-7
    assert abs(least - theirs.fun) < 1e-4 * max(1.0, least)  # BFGS stops by differences


def test_without_data_the_model_stays():
    """No information: the links are the prior's, exactly."""
    model = er.load("panda").model
    what = equations(er.load("panda"))
    k = len(what.unknowns)
    nothing = Fit(
        np.zeros(k), np.zeros((k, k)), np.zeros(k, bool), np.ones(7), np.zeros(7), 1.0, 1.0, np.zeros((k, k)), 0, 0
    )
    found = consistent(model, what.base, what.unknowns, nothing, 1.0)
    assert np.allclose(found.parameters, parameters_of(prior_bodies(model)[0]).ravel(), rtol=1e-9)


def test_the_identified_model_predicts_as_the_equations_do():
    arm = er.load("scara")
    run = measured(arm, 100, noise=0.1)
    found = identify(arm, run)
    by_arm = found.arm.inverse_dynamics(run.q, run.qd, run.qdd)
    assert np.allclose(by_arm, found.predictions[0].consistent, atol=1e-9)
    again = with_parameters(arm.model, found.consistent.parameters)
    assert np.allclose(found.arm.model.inertia, again.inertia)


# ---- payload


@pytest.mark.parametrize("name", ["ur5e", "stanford"])
def test_a_payload_is_found_by_runs_without_it_though_the_links_are_not_known(name):
    believed = er.load(name)
    true = er.Arm(dataclasses.replace(believed.model, mass=1.2 * believed.model.mass))
    com, inertia = np.array([0.03, -0.02, 0.08]), np.diag([0.004, 0.003, 0.002])
    loaded = true.with_payload(1.5, com, inertia)
    found = identify(
        believed,
        measured(believed, 150, seed=1, noise=0.05, true=loaded),
        empty=measured(believed, 150, seed=2, noise=0.05, true=true),
    )
    load = found.payload
    assert load.known_by == "runs without it"
    assert abs(load.mass - 1.5) < 4 * load.mass_error < 0.2
    assert (np.abs(load.com - com) < 4 * load.com_error).all()
    assert (load.com_error < 0.02).all()
    # the arm that is written is the empty one, and an unseen run has both
    shown = unseen(found, measured(believed, 50, seed=3, true=loaded))
    assert (shown.rms(shown.consistent) < 0.2 * shown.rms(shown.model)).all()


def test_a_payload_is_found_beside_links_that_are_known():
    """Without noise to rounding, with friction of its own; and a hidden payload that is none has no centre."""
    arm = er.load("panda", friction=False)
    true = er.Arm(dataclasses.replace(arm.model, viscous=np.full(7, 0.4), coulomb=np.full(7, 0.7)))
    loaded = true.with_payload(0.8, (0.01, 0.02, 0.1), np.diag([0.003, 0.002, 0.001]))
    found = identify(arm, measured(arm, 60, true=loaded), carrying=True)
    assert found.arm is None
    assert abs(found.payload.mass - 0.8) < 1e-9
    assert np.allclose(found.payload.com, (0.01, 0.02, 0.1), atol=1e-9)
    nothing = identify(arm, measured(arm, 60, noise=1.0), carrying=True).payload
    assert nothing.mass < 3 * nothing.mass_error
    assert "kg" in str(nothing)


def test_a_mass_within_its_error_has_no_centre():
    p, errors = np.array([0.1, 0.01, *np.zeros(8)]), np.full(10, 0.2)
    load = payload(p, np.diag(errors**2), errors, "nothing")
    assert np.isnan(load.com).all()
    assert np.isinf(load.com_error).all()
    errors[0] = 0.05
    load = payload(p, np.diag(errors**2), errors, "nothing")
    assert np.allclose(load.com, [0.1, 0, 0])
    assert np.allclose(load.com_error[1], 2.0)  # 0.2 kg m over 0.1 kg
    assert np.allclose(load.com_error[0], np.hypot(2.0, 0.1 * 0.05 / 0.1))


# ---- filters


def swung(arm, rate=200.0, seconds=12.0, noise=0.0, seed=0):
    """Smooth motion with torques, positions and torques alone."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = 2 * np.pi * rng.uniform(0.2, 0.6, (3, arm.n))
    phase, size = rng.uniform(0, 6, (3, arm.n)), rng.uniform(0.2, 0.6, (3, arm.n))
    angle = w * t[:, None, None] + phase
    q = (size * np.sin(angle)).sum(axis=1)
    tau = arm.inverse_dynamics(q, (w * size * np.cos(angle)).sum(axis=1), (-(w**2) * size * np.sin(angle)).sum(axis=1))
    return checked("swung", arm.n, t, q, tau + noise * rng.normal(size=tau.shape))


def test_speeds_and_accelerations_come_from_positions():
    """With dry friction, whose steps the filter rounds off on both sides; 1 %: when it turns is known to half a row."""
    arm = er.Arm(dataclasses.replace(PLANAR.model, coulomb=[2.0, 1.0], viscous=[0.5, 0.3]))
    found = identify(arm, swung(arm))
    wanted = truth(found.equations, arm.model)
    assert np.abs(found.fit.values - wanted).max() < 0.01 * np.abs(wanted).max()
    assert found.cutoffs[0] is not None


def test_errors_hold_with_filters():
    """White noise on the torques, 40 draws: filtered residuals are correlated, thinned ones are not."""
    arm = er.Arm(dataclasses.replace(PLANAR.model, coulomb=[2.0, 1.0], viscous=[0.5, 0.3]))
    z = []
    for seed in range(40):
        rng, run = np.random.default_rng(seed), swung(arm, seed=1)
        noisy = dataclasses.replace(run, tau=run.tau + rng.normal(size=run.tau.shape))
        found = identify(arm, noisy, cutoff=4.0).fit
        z.append((found.values - truth(equations(arm), arm.model)) / found.errors)
    assert 0.8 < np.sqrt(np.mean(np.square(z))) < 1.15  # wider where chance correlates the residuals, never narrower
    assert (np.abs(z) < 1.96).mean() > 0.92


def test_a_joint_that_stands_does_not_count():
    """Dry friction of a joint at rest is any force: rows in which it stood are left out, and only those."""
    arm = er.Arm(dataclasses.replace(PLANAR.model, coulomb=[2.0, 1.0]))
    run = measured(arm, 200)
    qd, tau = np.where(np.abs(run.qd) < 0.1, 0.1, run.qd), run.tau.copy()
    qd[50:60, 1] = 0.0
    tau[:] = arm.inverse_dynamics(run.q, qd, run.qdd)
    tau[50:60, 1] += 0.9  # within the friction's reach
    found = identify(arm, checked("stood", 2, run.t, run.q, tau, qd, run.qdd))
    assert found.fit.rows == 2 * 200 - 10
    assert np.allclose(found.fit.values, truth(found.equations, arm.model), atol=1e-10)


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="pip install '.[foreign]' adds arms of others")
@pytest.mark.parametrize("name", ["z1", "xarm7"])
def test_arms_of_others(name):
    """URDFs of the wheel example-robot-data: friction, a payload, bodies."""
    believed = foreign(name).without_friction()
    true = dataclasses.replace(believed.model, mass=0.9 * believed.model.mass, coulomb=np.full(believed.n, 0.5))
    loaded = er.Arm(true).with_payload(0.6, (0.0, 0.02, 0.05))
    found = identify(
        believed,
        measured(believed, 120, seed=1, noise=0.05, true=loaded),
        empty=measured(believed, 120, seed=2, noise=0.05, true=er.Arm(true)),
    )
    assert abs(found.payload.mass - 0.6) < 4 * found.payload.mass_error < 0.2
    assert positive(found.consistent.parameters)
    assert np.allclose(found.arm.model.coulomb, 0.5, atol=0.1)


def test_unknowns_have_units_and_meanings():
    arm = er.load("stanford")
    found = identify(arm, measured(arm, 100))
    units = {row.name: row.unit for row in found.table}
    assert units["joint3.viscous"] == "N s/m"
    assert units["joint1.viscous"] == "N m s/rad"
    assert {row.unit for row in found.table} <= {"kg", "kg m", "kg m2", "N m s/rad", "N s/m", "N m", "N"}
    assert Unknown(Kind.BASE, found.table[0].name, 0) == found.equations.unknowns[0]
