"""Programs as CasADi functions: the same numbers, CasADi's own derivatives beside ours, and C that it loads again."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import elbowroom as er
from ccompiler import CC, needs_cc
from elbowroom.algebra import absolute, maximum, minimum, sign, trace, uniform, where
from elbowroom.algebra.linalg import vector
from elbowroom.codegen import casadi_function
from elbowroom.errors import ElbowroomError


@pytest.fixture(scope="module")
def casadi():
    return pytest.importorskip("casadi", reason="CasADi (100 MB) is not installed")


@pytest.fixture(scope="module")
def state():
    return np.random.default_rng(0).uniform(-1, 1, (3, 6))


@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "jacobian", "kinetic_energy"])
def test_the_same_numbers(casadi, state, name):
    program = er.load("stanford").compile(name).program
    f = casadi_function(program)
    given = state[: len(program.inputs)]
    ours = program.evaluate(*given)
    ours = list(ours.values()) if isinstance(ours, dict) else [ours]
    theirs = f(*given)
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    assert [f.name_in(k) for k in range(f.n_in())] == [p.name for p in program.inputs]
    for mine, other in zip(ours, theirs, strict=True):
        shape = mine.shape if mine.ndim == 2 else (mine.size, 1)
        # the same operations in the same order
        assert np.allclose(np.array(other).reshape(shape), mine.reshape(shape), rtol=1e-13, atol=1e-13)


def test_its_derivatives_are_ours(casadi, state):
    arm = er.load("stanford")
    f = casadi_function(arm.compile("inverse_dynamics").program)
    q, qd, qdd = (casadi.SX.sym(name, 6) for name in ("q", "qd", "qdd"))
    slopes = casadi.Function("slopes", [q, qd, qdd], [casadi.jacobian(f(q, qd, qdd), q)])
    ours = arm.inverse_dynamics_derivatives(*state).dtau_dq
    assert np.allclose(np.array(slopes(*state)), ours, atol=1e-11)


def test_arrays_of_three_axes_and_every_operation(casadi):
    slopes = er.load("planar2").compile("pose", derivative="q").program
    f = casadi_function(slopes)
    assert f.size_out(0) == (16, 2)
    q = np.array([0.3, -0.8])
    assert np.allclose(np.array(f(q)).reshape(4, 4, 2), slopes.evaluate(q), atol=1e-15)

    def kinks(_, x):
        least = minimum(x[0], x[1])
        inside = where((x[0] < x[1]) & ~(x[0] <= 0.0) | (x[1] < -3.0), maximum(x[0], 0.5), -x[1])
        return vector(absolute(x[0]), least, inside, sign(x[1]))

    program = trace(kinks, None, {"x": (2,)})
    f = casadi_function(program, "kinks")
    for x in ([0.2, 0.9], [-0.2, 0.9], [0.4, 0.1], [0.0, -4.0]):
        assert np.array_equal(np.array(f(x)).ravel(), program.evaluate(x))


@needs_cc
def test_generated_c_is_loaded_again(casadi, state, tmp_path, monkeypatch):
    import subprocess

    monkeypatch.chdir(tmp_path)  # CasADi writes where it is
    f = casadi_function(er.load("stanford").compile("inverse_dynamics").program, "torques")
    f.generate("torques.c")
    subprocess.run([CC, "-O1", "-fPIC", "-shared", "torques.c", "-o", "torques.so"], check=True)
    again = casadi.external("torques", str(tmp_path / "torques.so"))
    assert np.array_equal(np.array(again(*state)), np.array(f(*state)))


def test_what_cannot_be_is_refused(casadi, monkeypatch):
    drawn = trace(lambda _, x: x + uniform(1.0, x, 0.0, 0.0), None, {"x": ()})
    with pytest.raises(ElbowroomError, match="random numbers have no expression in CasADi"):
        casadi_function(drawn)
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(ElbowroomError, match=r"pip install (-e )?'\.\[casadi\]'"):
        casadi_function(drawn)
