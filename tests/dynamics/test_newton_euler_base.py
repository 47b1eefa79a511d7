"""Newton-Euler in base axes against the one in link axes and Pinocchio; its damping."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import trace
from elbowroom.dynamics import rnea, rnea_base
from elbowroom.model import chains
from elbowroom.model.symbolic import symbolic
from referees import CATALOGUE, batch, error, frictionless, loop, pinocchio, subject, thinned

SUBJECTS = (*CATALOGUE, "physical3", "physical7", "physical12", "gdahj8", "gdahj12")
SAME = 1e-11  # rounding of some thousand operations, relative to the greatest torque


def program(model, function, inputs, **more):
    return trace(function, model, {**dict.fromkeys(inputs.split(), (model.n,)), **more})


@pytest.mark.parametrize("robot", thinned(SUBJECTS))
def test_same_torques_as_in_link_axes(robot):
    model, s = subject(robot), batch(robot, 20)
    inputs = "q qd qdd"
    ours = program(model, rnea_base.inverse_dynamics, inputs).evaluate(s.q, s.qd, s.qdd)
    assert error(ours, program(model, rnea.inverse_dynamics, inputs).evaluate(s.q, s.qd, s.qdd)) < SAME
    for wrench, shape in ((s.tool_wrench, (6,)), (s.link_wrench, (model.n, 6))):
        both = [
            program(model, f, inputs, wrench=shape).evaluate(s.q, s.qd, s.qdd, wrench)
            for f in (rnea_base.inverse_dynamics, rnea.inverse_dynamics)
        ]
        assert error(*both) < SAME
    speed = np.abs(s.qd).max() ** 2 * model.mass.sum()
    for name in ("bias_torque", "coriolis_torque"):
        both = [program(model, getattr(f, name), "q qd").evaluate(s.q, s.qd) for f in (rnea_base, rnea)]
        assert error(*both, speed) < SAME
    both = [program(model, f.gravity_torque, "q").evaluate(s.q) for f in (rnea_base, rnea)]
    assert error(*both, model.mass.sum()) < SAME


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical6"])
def test_against_pinocchio(robot):
    model, s, pin = frictionless(subject(robot)), batch(robot, 10), pinocchio(robot)
    tau = program(model, rnea_base.inverse_dynamics, "q qd qdd").evaluate(s.q, s.qd, s.qdd)
    assert error(tau + model.rotor_inertia * s.qdd, loop(pin.inverse_dynamics, s.q, s.qd, s.qdd)) < 1e-10
    assert (
        error(program(model, rnea_base.bias_torque, "q qd").evaluate(s.q, s.qd), loop(pin.bias_torque, s.q, s.qd))
        < 1e-10
    )


@pytest.mark.parametrize("kinds", ["RRRR", "RPPR"])
def test_floats_and_damping(kinds):
    model = chains.random(4, seed=2, kinds=kinds)
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(-2, 2, (3, 4))
    b = np.array([0.5, 0.0, 2.0, 1.0])
    plain = rnea_base.inverse_dynamics(model, q, qd, qdd)
    assert plain.dtype == float
    assert error([plain], [rnea.inverse_dynamics(model, q, qd, qdd)]) < SAME
    damped = rnea_base.inverse_dynamics(model, q, qd, qdd, damping=b)
    assert np.abs(damped - plain - b * qd).max() < 1e-13 * np.abs(plain).max()
    traced = program(model, lambda m, **x: rnea_base.inverse_dynamics(m, **x, damping=b), "q qd qdd")
    assert error([traced.evaluate(q, qd, qdd)], [damped]) < SAME


def test_gravity_is_the_bases_acceleration_upwards():
    """A weight on a vertical slide: f = m (a + 9.81); the paper's initial condition with the sign that holds it up."""
    model = chains.random(1, seed=0, kinds="P")
    up = model.E[0][2, 2]
    tau = rnea_base.inverse_dynamics(model, np.zeros(1), np.zeros(1), np.ones(1))
    assert abs(tau[0] - model.mass[0] * (1 + 9.81 * up)) < 1e-12


def test_the_count_is_linear_and_above_the_link_frames():
    """No count is published for Table 1.  Turning a tensor a link costs more than Table 2's 132 n and 111 n - 4."""
    inputs = ("q", "qd", "qdd")
    counts = [
        trace(rnea_base.inverse_dynamics, symbolic("R" * n), dict.fromkeys(inputs, (n,))).count for n in (4, 5, 6)
    ]
    assert not np.diff([c.mul for c in counts], 2).any()
    assert not np.diff([c.add for c in counts], 2).any()
    link = trace(rnea.inverse_dynamics, symbolic("R" * 6), dict.fromkeys(inputs, (6,))).count
    assert link.total < counts[-1].total
    assert counts[-1].mul <= 152 * 6 - 97
    assert counts[-1].add <= 134 * 6 - 106
