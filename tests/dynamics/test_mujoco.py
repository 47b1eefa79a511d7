"""MuJoCo as the second referee, for the arms whose tensors it accepts; 1000 states each in one batch through `Arm`.

The relative error and its tolerance are defined, with the reason, in `referees.error` and `referees.TOLERANCE`.
"""

from __future__ import annotations

import functools

import pytest

from referees import CATALOGUE, SUBJECTS, TOLERANCE, MuJoCo, arm, batch, error, loop, mujoco_accepts, subject, thinned

ACCEPTED = tuple(name for name in SUBJECTS if mujoco_accepts(subject(name)))
every = pytest.mark.parametrize("name", thinned(ACCEPTED))


@functools.cache
def engine(name: str) -> MuJoCo:
    return MuJoCo(subject(name))


def test_what_is_left_out_is_known():
    """The PUMA's first link has no mass, a link of the Stanford arm no moment: MuJoCo takes neither."""
    assert set(CATALOGUE) - set(ACCEPTED) == {"puma560", "stanford"}
    assert {f"physical{n}" for n in range(1, 13)} <= set(ACCEPTED)


@every
def test_mass_matrix(name):
    s = batch(name)
    assert error(arm(name).mass_matrix(s.q), loop(engine(name).mass_matrix, s.q)) < TOLERANCE


@every
def test_bias_torque(name):
    s = batch(name)
    assert error(arm(name).bias_torque(s.q, s.qd), loop(engine(name).bias_torque, s.q, s.qd)) < TOLERANCE


@every
def test_inverse_dynamics(name):
    s = batch(name)
    theirs = loop(engine(name).inverse_dynamics, s.q, s.qd, s.qdd)
    assert error(arm(name).inverse_dynamics(s.q, s.qd, s.qdd), theirs) < TOLERANCE


@every
def test_forward_dynamics(name):
    s = batch(name)
    theirs = loop(engine(name).forward_dynamics, s.q, s.qd, s.tau)
    assert error(arm(name).forward_dynamics(s.q, s.qd, s.tau), theirs) < TOLERANCE


@every
@pytest.mark.parametrize("where", ["tool_wrench", "link_wrench"])
def test_forward_dynamics_under_a_wrench(name, where):
    s = batch(name)
    w = getattr(s, where)
    theirs = loop(engine(name).forward_dynamics, s.q, s.qd, s.tau, w)
    assert error(arm(name).forward_dynamics(s.q, s.qd, s.tau, w), theirs) < TOLERANCE
