"""The regressor and the base parameters: torques, Pinocchio, counts of Gautier and Khalil, bad input."""

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
from elbowroom.bench.peers.dynamics import pinocchio_model
from elbowroom.errors import ModelError, ShapeError
from elbowroom.model import Model, parameter_names, with_parameters
from referees import SUBJECTS, TOLERANCE, arm, error, physical_chain, states, subject, thinned
from strategies import examples, robots


def rigid(model: Model) -> Model:
    """The same arm without drives, which have no place in the regressor."""
    none = np.zeros(model.n)
    return dataclasses.replace(model, viscous=none, coulomb=none, rotor_inertia=none)


def compare_with_pinocchio(model: Model, count: int) -> None:
    s = states(model, count)
    built = pinocchio_model(pin, model)
    data = built.createData()
    theirs = np.array(
        [pin.computeJointTorqueRegressor(built, data, *row).copy() for row in zip(s.q, s.qd, s.qdd, strict=True)]
    )
    ours = dynamics.program(model, "regressor", "axes").evaluate(s.q, s.qd, s.qdd)
    assert error(ours, theirs.reshape(ours.shape)) < TOLERANCE
    parameters = np.concatenate([built.inertias[i + 1].toDynamicParameters() for i in range(model.n)])
    scale = 1.0 + np.abs(parameters).max()
    assert np.abs(model.parameters - parameters).max() < 1e-13 * scale  # one rounding a term of I_C + m c c


@pytest.mark.parametrize("name", thinned(SUBJECTS))
def test_pinocchio(name):
    compare_with_pinocchio(subject(name), 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xarm7", "z1", "tiago", "kr16"])
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


@given(robots(max_joints=5))
@examples(25)
def test_torques_are_linear_in_the_parameters_of_any_robot(model):
    """On floats and traced, prismatic joints included; and the regressor does not depend on the parameters."""
    model = rigid(model)
    s = states(model, 1)
    q, qd, qdd = s.q[0], s.qd[0], s.qdd[0]
    Y = dynamics.regressor.regressor(model, q, qd, qdd)
    traced = dynamics.program(model, "regressor", "axes").evaluate(q, qd, qdd)
    tau = dynamics.whole("inverse_dynamics", "rnea")(model, q, qd, qdd)
    # a hundred roundings of the terms that are summed
    allowed = 1e-13 * (np.abs(Y) @ np.abs(model.parameters)).max() + 1e-300
    assert np.abs(Y @ model.parameters - tau).max() <= 10 * allowed
    assert np.abs(traced - Y).max() <= 1e-13 * np.abs(Y).max()
    other = dataclasses.replace(model, mass=model.mass + 1.0, com=model.com + 0.1)
    assert np.array_equal(dynamics.regressor.regressor(other, q, qd, qdd), Y)


def test_through_an_arm_in_a_batch_with_drives():
    """Compiled; rotors and friction come on top."""
    model = physical_chain(4, seed=3)
    chain, s = er.Arm(model), states(model, 50)
    Y = chain.regressor(s.q, s.qd, s.qdd)
    assert Y.shape == (50, 4, 40)
    tau = Y @ model.parameters + model.rotor_inertia * s.qdd + chain.friction_torque(s.qd)
    assert error(tau, chain.inverse_dynamics(s.q, s.qd, s.qdd)) < 1e-12
    out = np.empty((4, 40))
    assert chain.regressor(s.q[7], s.qd[7], s.qdd[7], out=out) is out
    assert np.array_equal(out, Y[7])
    for j in range(4):
        assert not Y[:, j, : 10 * j].any()  # links before a joint are not felt by it


# ---- parameters as a vector
def test_parameters_go_into_a_vector_and_back():
    model = physical_chain(3, seed=1)
    assert model.parameters.shape == (30,)
    assert not model.parameters.flags.writeable
    assert parameter_names(model)[10:14] == ("link2.m", "link2.mx", "link2.my", "link2.mz")
    again = with_parameters(model, model.parameters)
    for what in ("mass", "com", "inertia"):
        assert np.abs(getattr(again, what) - getattr(model, what)).max() < 1e-14, what
    with pytest.raises(ModelError, match=r"shape \(30,\), ten a link; got \(10,\)"):
        with_parameters(model, np.ones(10))
    with pytest.raises(ModelError, match="'link1': the mass must be positive to have a centre; got 0 kg"):
        with_parameters(model, np.zeros(30))


# ---- base parameters
COUNTS = {"planar2": 6, "scara": 8, "puma560": 36, "stanford": 33, "panda": 43}
"""7 n - 6 for n turning joints in general position above a vertical axis: 36 for the PUMA (Gautier and Khalil), 43 for
the Panda.  A planar arm under gravity: h_x, h_y and I_zz of each link.  Of arms with slides the numbers are only kept
from changing here; that they are right is what the rank and the null space in the test say."""


@pytest.mark.parametrize("name", COUNTS)
def test_base_parameters(name):
    base = arm(name).base_parameters()
    assert len(base) == COUNTS[name]
    model = arm(name).model
    s = states(model, 30, seed=9)  # others than those of the search
    Y = arm(name).regressor(s.q, s.qd, s.qdd)
    tau = arm(name).inverse_dynamics(s.q, s.qd, s.qdd) - model.rotor_inertia * s.qdd
    assert error(base.regressor(Y) @ base.values, tau) < 1e-11
    assert np.linalg.matrix_rank(base.regressor(Y).reshape(-1, len(base))) == len(base)
    # any other vector with the same combinations gives the same torques
    other = model.parameters + np.linalg.svd(base.combinations)[2][len(base) :].sum(axis=0)
    assert error(Y @ other, tau, np.abs(Y).max(axis=(1, 2))) < 1e-11


@pytest.mark.parametrize("seed", range(3))
def test_base_parameters_of_chains_at_any_angle(seed):
    """7 n - 4 for turning joints in general position, the first not vertical."""
    chain = er.chains.random(3, seed=seed)
    model = dataclasses.replace(chain.model, gravity=np.array([1.0, 2.0, -9.0]))
    base = er.Arm(model).base_parameters()
    assert len(base) == 7 * 3 - 4


def test_base_parameters_are_printed_by_name():
    base = arm("planar2").base_parameters()
    assert base.names == ("upper_arm.mx", "upper_arm.my", "upper_arm.Izz", "forearm.mx", "forearm.my", "forearm.Izz")
    assert base.combination(2) == "upper_arm.Izz + 0.25 forearm.m"
    assert "upper_arm.mz" in base.without_effect
    lines = str(base).splitlines()
    assert lines[0] == "6 base parameters of 20"
    assert lines[3].split(maxsplit=1) == ["0.75", "upper_arm.Izz + 0.25 forearm.m"]
    with pytest.raises(ShapeError, match=r"20 columns, \(..., n, 10 n\); got shape \(2, 6\)"):
        base.regressor(np.zeros((2, 6)))
