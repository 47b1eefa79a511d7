"""Arm, the public face: shapes, batches, `out=`, kernels, and what is said about bad input."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import elbowroom as er
from elbowroom.errors import ShapeError
from referees import batch, error

N = 7
METHODS = {
    "mass_matrix": (("q",), (N, N)),
    "mass_matrix_inverse": (("q",), (N, N)),
    "mass_matrix_rate": (("q", "qd"), (N, N)),
    "coriolis_matrix": (("q", "qd"), (N, N)),
    "centrifugal_matrix": (("q", "qd"), (N, N)),
    "coriolis_transpose_qd": (("q", "qd"), (N,)),
    "christoffel": (("q",), (N, N, N)),
    "gravity_torque": (("q",), (N,)),
    "coriolis_torque": (("q", "qd"), (N,)),
    "bias_torque": (("q", "qd"), (N,)),
    "friction_torque": (("qd",), (N,)),
    "kinetic_energy": (("q", "qd"), ()),
    "potential_energy": (("q",), ()),
    "inverse_dynamics": (("q", "qd", "qdd"), (N,)),
    "forward_dynamics": (("q", "qd", "tau"), (N,)),
    "pose": (("q",), (4, 4)),
    "poses": (("q",), (N, 4, 4)),
}
PAIRS = {
    "jacobian": (("q",), 2, (3, N)),
    "jacobian_rate": (("q", "qd"), 2, (3, N)),
    "injected_accelerations": (("q", "qd", "qdd"), 3, (N, 3)),
}
FEW = ("mass_matrix", "inverse_dynamics", "kinetic_energy")
every = pytest.mark.parametrize("name", METHODS)
few = pytest.mark.parametrize("name", FEW)


@pytest.fixture(scope="module")
def panda():
    return er.load("panda")


@pytest.fixture(scope="module")
def s():
    return batch("panda", 9)


def inputs(name, s, at=...):
    return [np.array(getattr(s, what)[at]) for what in METHODS[name][0]]


# What it is.


def test_what_it_is(panda):
    assert panda.n == 7
    assert panda.name == "panda"
    assert panda.joint_names == panda.model.joint_names
    assert len(panda.joint_names) == 7
    assert np.array_equal(panda.ready, panda.model.ready)
    assert repr(panda) == "<Arm panda: 7 joints RRRRRRR>"


# Shapes.


@every
def test_one_state_is_a_row_of_the_batch(panda, s, name):
    """Issue 3: identical results for one state and for the same state in a batch."""
    shape = METHODS[name][1]
    function = getattr(panda, name)
    many = function(*inputs(name, s))
    assert many.shape == (9, *shape)
    assert many.dtype == np.float64
    for k in range(9):
        one = function(*inputs(name, s, k))
        assert np.shape(one) == shape
        assert np.array_equal(one, many[k])


@every
def test_the_second_call_is_the_first(panda, s, name):
    """Whatever is put in the method's place after compiling gives the same, and a new array each time."""
    function = getattr(panda, name)
    first, second = function(*inputs(name, s, 0)), getattr(panda, name)(*inputs(name, s, 0))
    assert np.array_equal(first, second)
    if METHODS[name][1]:
        assert first is not second
        assert not np.shares_memory(first, second)
    else:
        assert isinstance(first, float)


@pytest.mark.parametrize("name", PAIRS)
def test_labelled_results(panda, s, name):
    names, parts, shape = PAIRS[name]
    result = getattr(panda, name)(*(getattr(s, what) for what in names))
    assert len(result) == parts
    assert all(part.shape == (9, *shape) for part in result)
    one = getattr(panda, name)(*(getattr(s, what)[2] for what in names))
    for a, b in zip(one, result, strict=True):
        assert np.array_equal(a, b[2])


def test_the_shape_of_a_jacobian_says_that_it_is_a_pair(panda):
    found = panda.jacobian(panda.ready)
    with pytest.raises(AttributeError, match=r"jacobian gives 2 arrays.*: Jv, Jw = "):
        _ = found.shape
    assert np.vstack(found).shape == (6, 7)


def test_jacobians_are_a_labelled_pair(panda, s):
    J = panda.jacobian(s.q[0])
    assert J.Jv is J[0]
    assert J.Jw is J[1]
    assert panda.jacobian_rate(s.q[0], s.qd[0])._fields == ("Jv", "Jw")
    parts = panda.injected_accelerations(s.q[0], s.qd[0], s.qdd[0])
    assert parts._fields == ("tangential", "normal", "coriolis")


@few
def test_more_batch_axes(panda, s, name):
    flat = getattr(panda, name)(*inputs(name, s))
    deep = getattr(panda, name)(*(x.reshape(3, 3, N) for x in inputs(name, s)))
    assert np.array_equal(deep, flat.reshape(3, 3, *METHODS[name][1]))


@every
def test_an_empty_batch_gives_an_empty_result(panda, name):
    names, shape = METHODS[name]
    assert getattr(panda, name)(*[np.empty((0, N))] * len(names)).shape == (0, *shape)


def test_an_empty_batch_of_jacobians_and_wrenches(panda):
    none = np.empty((0, N))
    assert panda.jacobian(none).Jv.shape == (0, 3, N)
    assert panda.jacobian(none, link=2, point=(0, 0, 1)).Jv.shape == (0, 3, N)
    assert panda.inverse_dynamics(none, none, none, np.empty((0, 6))).shape == (0, N)
    assert panda.inverse_dynamics(none, none, none, np.empty((0, N, 6))).shape == (0, N)


# What is taken.


@few
def test_lists_integers_and_tuples(panda, name):
    lists = [[1, 0, -1, -2, 0, 2, 1]] * len(METHODS[name][0])
    arrays = [np.array(x, dtype=float) for x in lists]
    expected = getattr(panda, name)(*arrays)
    assert np.array_equal(getattr(panda, name)(*lists), expected)
    assert np.array_equal(getattr(panda, name)(*map(tuple, lists)), expected)
    for dtype in (np.int64, np.int8, np.float32, np.uint8):
        wanted = [np.array(np.abs(x), dtype=float) for x in lists]
        given = [np.abs(np.array(x)).astype(dtype) for x in lists]
        assert np.array_equal(getattr(panda, name)(*given), getattr(panda, name)(*wanted)), dtype


@few
def test_read_only_strided_reversed_and_fortran_arrays(panda, s, name):
    function = getattr(panda, name)
    plain = inputs(name, s)
    expected = function(*plain)
    for made in (_read_only, _strided, _fortran, _big_endian, _unaligned):
        given = [made(x) for x in plain]
        kept = [x.copy() for x in given]
        assert np.array_equal(function(*given), expected), made.__name__
        assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True)), "inputs are left alone"
        for k in (0, 8):
            assert np.array_equal(function(*(x[k] for x in given)), expected[k]), made.__name__
    backwards = [x[::-1, ::-1] for x in plain]
    assert np.array_equal(function(*backwards), function(*map(np.ascontiguousarray, backwards)))


def _read_only(x):
    y = x.copy()
    y.flags.writeable = False
    return y


def _strided(x):
    wide = np.full((len(x) * 2, x.shape[1] * 3), np.nan)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def _fortran(x):
    return np.asfortranarray(x)


def _big_endian(x):
    return x.astype(">f8")


def _unaligned(x):
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    y = raw[1:].view(np.float64).reshape(x.shape)
    y[...] = x
    return y


def test_by_name(panda, s):
    by_position = panda.coriolis_matrix(s.q[0], s.qd[0])
    assert np.array_equal(panda.coriolis_matrix(qd=s.qd[0], q=s.q[0]), by_position)
    assert np.array_equal(panda.coriolis_matrix(s.q[0], qd=s.qd[0]), by_position)
    assert np.array_equal(panda.mass_matrix(q=s.q), panda.mass_matrix(s.q))


def test_a_subclass_of_array(panda, s):
    class Mine(np.ndarray):
        pass

    assert np.array_equal(panda.mass_matrix(s.q[0].view(Mine)), panda.mass_matrix(s.q[0]))


# What is refused, saying which argument, what was expected, what came.


@every
@pytest.mark.parametrize("shape", [(N - 1,), (N + 1,), (3, N - 1), (N, 1), (0,), ()])
def test_wrong_shape(panda, s, name, shape):
    names, _ = METHODS[name]
    for k, what in enumerate(names):
        given = inputs(name, s, 0)
        given[k] = np.zeros(shape)
        with pytest.raises(ShapeError) as caught:
            getattr(panda, name)(*given)
        message = str(caught.value)
        assert f"{name}: " in message
        assert what in message
        if shape[-1:] != (N,):
            assert f"{what} must have shape (7,)" in message
        assert f"{shape}" in message


@few
@pytest.mark.parametrize("bad", [5, 2.5, None, "q", "1234567", [], {}])
def test_what_is_no_array(panda, s, name, bad):
    for k, what in enumerate(METHODS[name][0]):
        given = inputs(name, s, 0)
        given[k] = bad
        with pytest.raises((TypeError, ValueError), match=f"{name}: {what} must"):
            getattr(panda, name)(*given)


@few
@pytest.mark.parametrize(
    "dtype", [complex, bool, "U5", "S5", object, "datetime64[s]"], ids=lambda d: getattr(d, "__name__", d)
)
def test_wrong_dtype(panda, s, name, dtype):
    for k, what in enumerate(METHODS[name][0]):
        given = inputs(name, s, 0)
        given[k] = np.zeros(N).astype(dtype)
        with pytest.raises(TypeError, match=f"{name}: {what} must be real numbers; got dtype"):
            getattr(panda, name)(*given)


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(panda, s, name, bad):
    names, _ = METHODS[name]
    for k, what in enumerate(names):
        one = inputs(name, s, 0)
        one[k][3] = bad
        with pytest.raises(ValueError, match=rf"{name}: {what} must be finite; got {bad} at \(3,\)"):
            getattr(panda, name)(*one)
        many = inputs(name, s)
        many[k][5, 6] = bad
        with pytest.raises(ValueError, match=rf"{name}: {what} must be finite; got {bad} at \(5, 6\)"):
            getattr(panda, name)(*many)
        many[k] = many[k][:, ::-1]  # a view takes another way in
        with pytest.raises(ValueError, match=rf"{name}: {what} must be finite"):
            getattr(panda, name)(*many)


@pytest.mark.parametrize("position", range(17))
def test_a_nan_anywhere_in_a_batch_is_seen(panda, position):
    """Lanes, their remainder, the first and the last."""
    q = np.zeros((17, N))
    q[position, position % N] = np.nan
    with pytest.raises(ValueError, match="q must be finite"):
        panda.mass_matrix(q)


def test_a_nan_in_a_threaded_batch_is_seen(panda):
    f = panda.compile("gravity_torque")
    q = np.zeros((20_000, N))
    assert f(q, threads=2).shape == (20_000, N)
    for at in (0, 4095, 4096, 19_999):
        q[at, 2] = np.nan
        with pytest.raises(ValueError, match="q must be finite"):
            f(q, threads=2)
        q[at, 2] = 0.0


def test_mismatched_batches(panda, s):
    with pytest.raises(ShapeError, match=r"one batch shape; got q \(9, 7\), qd \(4, 7\)"):
        panda.coriolis_matrix(s.q, s.qd[:4])
    with pytest.raises(ShapeError, match=r"one batch shape; got q \(9, 7\), qd \(7,\)"):
        panda.coriolis_matrix(s.q, s.qd[0])
    with pytest.raises(ShapeError, match=r"one batch shape; got q \(7,\), qd \(9, 7\)"):
        panda.coriolis_matrix(s.q[0], s.qd)


def test_missing_and_extra_arguments(panda, s):
    with pytest.raises(TypeError, match="qd"):
        panda.coriolis_matrix(s.q[0])
    with pytest.raises(TypeError):
        panda.mass_matrix()
    with pytest.raises(TypeError):
        panda.mass_matrix(s.q[0], s.qd[0])
    with pytest.raises(TypeError, match="speed"):
        panda.mass_matrix(s.q[0], speed=1)
    kernel = panda.compile("coriolis_matrix")
    with pytest.raises(TypeError, match=r"takes inputs q, qd; missing: qd"):
        kernel(s.q[0])
    with pytest.raises(TypeError, match=r"takes 2 inputs \(q, qd\); got 3"):
        kernel(s.q[0], s.q[0], s.q[0])
    with pytest.raises(TypeError, match="'v' twice or besides"):
        kernel(s.q[0], v=s.qd[0])


def test_an_unknown_form(panda, s):
    with pytest.raises(ValueError, match="'christoffel' or 'gda'; got 'skew'"):
        panda.coriolis_matrix(s.q[0], s.qd[0], form="skew")


def test_errors_after_success_and_success_after_errors(panda, s):
    expected = panda.mass_matrix(s.q[0])
    for bad in (np.zeros(3), np.full(N, np.nan), "q", None):
        with pytest.raises((TypeError, ValueError)):
            panda.mass_matrix(bad)
        assert np.array_equal(panda.mass_matrix(s.q[0]), expected)


# out=


@every
def test_out_is_filled_and_returned(panda, s, name):
    shape = METHODS[name][1]
    function = getattr(panda, name)
    for at, full in ((..., (9, *shape)), (0, shape)):
        given = inputs(name, s, at)
        out = np.full(full, np.nan)
        assert function(*given, out=out) is out
        assert np.array_equal(out, function(*given))


@few
def test_out_may_be_strided(panda, s, name):
    shape = (9, *METHODS[name][1])
    wide = np.full((18, *shape[1:]), -1.0)
    result = getattr(panda, name)(*inputs(name, s), out=wide[::2])
    assert np.array_equal(result, getattr(panda, name)(*inputs(name, s)))
    assert np.array_equal(wide[::2], result)
    assert (wide[1::2] == -1.0).all(), "what lies between is left alone"


def test_bad_out(panda, s):
    q = s.q[0]
    for bad, message in (
        (np.zeros((N, N - 1)), r"out for mass_matrix must have shape \(7, 7\); got \(7, 6\)"),
        (np.zeros((2, N, N)), r"must have shape \(7, 7\); got \(2, 7, 7\)"),
        (np.zeros((N, N), np.float32), "must be an array of float64; got float32"),
        (np.zeros((N, N), int), "must be an array of float64; got int64"),
        (np.zeros((N, N)).tolist(), "must be an array of float64; got list"),
        (np.zeros((N, N), ">f8"), "must be an array of float64; got >f8"),
        (_read_only(np.zeros((N, N))), "out for mass_matrix is read-only"),
    ):
        before = copy.deepcopy(bad)
        with pytest.raises((TypeError, ValueError), match=message):
            panda.mass_matrix(q, out=bad)
        assert np.array_equal(bad, before), "a refused array is left alone"


def test_out_may_be_one_of_the_inputs(panda, s):
    """Results as if every input were read before anything is written."""
    for at in (0, ...):
        q, qd, tau = (np.array(getattr(s, w)[at]) for w in ("q", "qd", "tau"))
        expected = panda.forward_dynamics(q, qd, tau)
        for which in range(3):
            given = [q.copy(), qd.copy(), tau.copy()]
            panda.forward_dynamics(*given, out=given[which])
            assert np.array_equal(given[which], expected), which


def test_out_that_overlaps_an_input_shifted(panda):
    """Rows of `out` that lie on later rows of the input."""
    room = np.random.default_rng(1).uniform(-1, 1, (41, N))
    expected = panda.gravity_torque(room[:40].copy())
    panda.gravity_torque(room[:40], out=room[1:])
    assert np.array_equal(room[1:], expected)


def test_out_of_a_labelled_pair(panda, s):
    f = panda.compile("jacobian")
    Jv, Jw = np.zeros((3, N)), np.zeros((3, N))
    result = f(s.q[0], out=(Jv, Jw))
    assert result.Jv is Jv
    assert np.array_equal(Jw, panda.jacobian(s.q[0]).Jw)
    with pytest.raises(ShapeError, match="out must be 2 arrays; got 1"):
        f(s.q[0], out=(Jv,))


# Wrenches.


def test_a_wrench_on_links_or_at_the_tool(panda, s):
    q, qd, qdd, w = s.q[0], s.qd[0], s.qdd[0], s.tool_wrench[0]
    bare = panda.inverse_dynamics(q, qd, qdd)
    Jv, Jw = panda.jacobian(q)
    pushed = panda.inverse_dynamics(q, qd, qdd, w)
    assert np.allclose(pushed, bare - Jv.T @ w[:3] - Jw.T @ w[3:], rtol=0, atol=1e-12)  # torques of some 100 N m
    assert np.allclose(panda.inverse_dynamics(q, qd, qdd, np.zeros(6)), bare, rtol=0, atol=1e-12)
    links = np.zeros((N, 6))
    links[3] = w
    Jv, Jw = panda.jacobian(q, link=3)
    pushed = panda.inverse_dynamics(q, qd, qdd, links)
    assert np.allclose(pushed, bare - Jv.T @ w[:3] - Jw.T @ w[3:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_bad_wrenches(panda, s, name):
    function = getattr(panda, name)
    one, many = inputs(name, s, 0), inputs(name, s)
    for state, shape in ((one, (5,)), (one, (9, 6)), (one, (7,)), (many, (6,)), (many, (7, 6, 1)), (one, ())):
        with pytest.raises(ShapeError, match=r"wrench must have shape \(6,\) at the tool or \(7, 6\) at the links"):
            function(*state, np.zeros(shape))
    for shape in ((4, 6), (4, 7, 6)):
        with pytest.raises(ShapeError, match="one batch shape"):
            function(*many, np.zeros(shape))
    with pytest.raises(ValueError, match="wrench must be finite"):
        function(*one, np.full(6, np.nan))
    with pytest.raises(TypeError, match="wrench must be real numbers"):
        function(*one, np.zeros(6, dtype=complex))


def test_a_six_joint_arm_tells_links_from_batches():
    """n = 6: a (6, 6) wrench is per link for one state, and at the tool for six."""
    arm, s = er.load("ur5e"), batch("ur5e", 6)
    w = s.link_wrench[0]
    per_link = arm.inverse_dynamics(s.q[0], s.qd[0], s.qdd[0], w)
    at_tool = arm.inverse_dynamics(s.q, s.qd, s.qdd, w)
    assert at_tool.shape == (6, 6)
    assert np.array_equal(at_tool[2], arm.inverse_dynamics(s.q[2], s.qd[2], s.qdd[2], w[2]))
    assert not np.allclose(per_link, at_tool[0])


# Points on links.


def test_links_by_name_number_and_from_the_tip(panda, s):
    q = s.q[0]
    name = panda.model.link_names[2]
    by_number = panda.jacobian(q, link=2, point=(0.1, 0.2, 0.3))
    for link in (name, 2 - N, np.int64(2)):
        assert np.array_equal(panda.jacobian(q, link=link, point=[0.1, 0.2, 0.3]).Jv, by_number.Jv)
    assert not by_number.Jv[:, 3:].any(), "joints beyond the link do not move it"
    at_frame = panda.jacobian(q, link=2).Jv
    # two programs, each rearranged for itself: they differ by roundings of numbers below 1
    assert np.allclose(at_frame, panda.jacobian(q, link=2, point=(0, 0, 0)).Jv, rtol=0, atol=1e-15)


def test_the_tool_is_the_default_point(panda, s):
    q = s.q[0]
    tool = panda.model.tool[:3, 3]
    assert np.allclose(panda.jacobian(q).Jv, panda.jacobian(q, link=-1, point=tool).Jv, rtol=0, atol=1e-15 * 10)


def test_unknown_links(panda, s):
    q = s.q[0]
    with pytest.raises(er.UnknownNameError, match=r"link must be one of .*; got 'elbow'"):
        panda.jacobian(q, link="elbow")
    for link in (7, -8):
        with pytest.raises(er.UnknownNameError, match=f"link must be a number from -7 to 6; got {link}"):
            panda.jacobian(q, link=link)
    with pytest.raises(ShapeError, match=r"jacobian: point must have shape \(3,\).*got \(2,\)"):
        panda.jacobian(q, point=(0, 0))
    with pytest.raises(ValueError, match="point must be finite"):
        panda.jacobian(q, point=(0, 0, np.nan))


# Kernels.


def test_a_kernel_says_what_it_is(panda, s):
    f = panda.compile("mass_matrix", method="crba")
    assert f.method == "crba"
    assert f.name == "mass_matrix"
    assert f.count == f.program.count
    assert f.count.mul > 100
    assert "mass_matrix" in repr(f)
    assert np.array_equal(f(s.q[0], out=np.empty((N, N))), f(s.q)[0])


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_change_nothing(panda, threads):
    q = np.random.default_rng(2).uniform(-2, 2, (20_003, N))
    f = panda.compile("gravity_torque")
    assert np.array_equal(f(q, threads=threads), f(q))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", None])
def test_bad_threads(panda, s, threads):
    with pytest.raises(ValueError, match="threads must be a whole number, at least 1"):
        panda.compile("gravity_torque")(s.q, threads=threads)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33])
def test_every_remainder_of_the_lanes(panda, count):
    """Whatever the SIMD width, the states beyond the last full vector are computed too, and nothing beyond them."""
    q = np.random.default_rng(count).uniform(-2, 2, (count, N))
    room = np.full((count + 8, N), -7.0)
    panda.gravity_torque(q, out=room[4 : 4 + count])
    assert np.array_equal(room[4 : 4 + count], [panda.gravity_torque(x) for x in q])
    assert (room[:4] == -7.0).all()
    assert (room[4 + count :] == -7.0).all()


def test_large_angles_are_reduced(panda):
    """sin and cos far from zero: against the same angle brought back by whole turns in extended precision."""
    q = np.random.default_rng(0).uniform(-1e4, 1e4, (100, N))
    back = np.array(
        [[float(np.fmod(np.longdouble(x), 2 * np.arctan2(np.longdouble(0), np.longdouble(-1)))) for x in r] for r in q]
    )
    # The angle itself is known to 1e4 x 1e-16 / 2; the torque turns with it.
    assert error(panda.gravity_torque(q), panda.gravity_torque(back)) < 1e-11


def test_float32(panda, s):
    f = panda.compile("mass_matrix", dtype=np.float32)
    M = f(s.q.astype(np.float32))
    assert M.dtype == np.float32
    # 24 bits, 6e-8, times some dozens of operations in a row.
    assert error(M.astype(float), panda.mass_matrix(s.q.astype(np.float32).astype(float))) < 1e-5
    assert np.array_equal(f(s.q.astype(np.float32)[0]), M[0])
    with pytest.raises(TypeError, match="must be an array of float32; got float64"):
        f(s.q, out=np.zeros((9, N, N)))


@pytest.mark.parametrize("dtype", [np.float16, int, complex])
def test_other_precisions_are_refused(panda, dtype):
    with pytest.raises(TypeError, match="float64 or float32"):
        panda.compile("mass_matrix", dtype=dtype)


FIRST_USE = """
import threading
import numpy as np
import elbowroom as er

for trial in range(5):
    arm = er.load("ur10e").with_payload(0.1 * trial)
    q = np.random.default_rng(0).uniform(-2, 2, (8, 6))
    answers, start = [None] * 8, threading.Barrier(8)

    def ask(k):
        start.wait()
        answers[k] = [arm.mass_matrix(q[k]) for _ in range(50)]

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expected = er.Arm(arm.model).mass_matrix(q)
    assert all(np.array_equal(a, expected[k]) for k in range(8) for a in answers[k])
"""


def test_first_use_from_many_threads():
    """Eight threads ask a fresh arm at once.  In a process of its own with an empty cache, since it may crash there."""
    environment = os.environ | {"ELBOWROOM_CACHE": "off", "PYTHONPATH": str(Path(er.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_many_threads_call_one_arm():
    """After its first use."""
    arm = er.load("ur10e")
    states = batch("ur10e", 8)
    expected = arm.mass_matrix(states.q)
    arm.mass_matrix(states.q[0])
    answers = [None] * 8
    start = threading.Barrier(8)

    def ask(k):
        start.wait()
        answers[k] = [arm.mass_matrix(states.q[k]) for _ in range(50)]

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(8):
        assert all(np.array_equal(a, expected[k]) for a in answers[k])


def test_a_method_outlives_its_arm(panda, s):
    """The compiled code belongs to whoever can still call it."""
    expected = panda.mass_matrix(s.q)
    arm = er.load("panda")
    arm.mass_matrix(s.q[0])
    method, kernel = arm.mass_matrix, arm.compile("mass_matrix", method="gdahj")
    del arm
    gc.collect()
    assert np.array_equal(method(s.q[0]), expected[0])
    assert np.array_equal(method(s.q), expected)
    assert error(kernel(s.q), expected) < 1e-13  # another formulation: rounding


# Variants and copies.


def test_variants_are_new_arms(panda, s):
    before = panda.mass_matrix(s.q)
    heavy = panda.with_payload(3.0)
    assert not np.array_equal(heavy.mass_matrix(s.q), before)
    assert np.array_equal(panda.mass_matrix(s.q), before)
    tool = np.eye(4)
    tool[2, 3] = 0.5
    moved = panda.with_tool(tool)
    assert np.allclose(moved.pose(s.q), panda.poses(s.q)[:, -1] @ tool, rtol=0, atol=1e-15 * 8)
    assert np.array_equal(moved.mass_matrix(s.q), before), "a tool has no mass"


def test_pickled_and_copied_arms_compute_the_same(panda, s):
    panda.mass_matrix(s.q[0])
    for again in (pickle.loads(pickle.dumps(panda)), copy.copy(panda), copy.deepcopy(panda)):
        assert again.model == panda.model
        assert np.array_equal(again.mass_matrix(s.q), panda.mass_matrix(s.q))
        assert np.array_equal(again.mass_matrix(s.q[0]), panda.mass_matrix(s.q[0]))


def test_two_arms_do_not_share(s):
    """The method that is put in place after compiling belongs to the one arm."""
    a, b = er.load("panda"), er.load("panda").with_payload(5.0)
    A, B = a.mass_matrix(s.q[0]), b.mass_matrix(s.q[0])
    assert not np.array_equal(A, B)
    assert np.array_equal(a.mass_matrix(s.q[0]), A)
    assert np.array_equal(b.mass_matrix(s.q[0]), B)


# Loading.


def test_unknown_arms_get_near_names():
    with pytest.raises(er.UnknownNameError, match=r"no arm 'pandaa'.*did you mean panda"):
        er.load("pandaa")
    with pytest.raises(er.UnknownNameError, match=r"catalogue name \(iiwa14, .*ur5e\) or a \.urdf, .*or \.toml file"):
        er.load("zzz")
    with pytest.raises(er.ModelError, match="tip names a link of a URDF"):
        er.load("panda", tip="hand")


def test_a_missing_file_is_named():
    with pytest.raises((er.ModelError, OSError), match=r"nowhere\.urdf"):
        er.load("nowhere.urdf")
    with pytest.raises((er.ModelError, OSError), match=r"nowhere\.toml"):
        er.load("nowhere.toml")


URDF = """<robot name="one"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" iyz="0" ixz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 -1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="50"/></joint></robot>"""


def test_a_urdf_file(urdf_file):
    path = urdf_file(URDF)
    for arm in (er.load(path), er.load(str(path)), er.Arm.from_urdf(path), er.load(path, tip="rod")):
        assert arm.joint_names == ("hinge",)
        assert arm.mass_matrix([0.3])[0, 0] == pytest.approx(0.1 + 2 * 0.25, rel=1e-15)
        assert arm.gravity_torque([0.3])[0] == pytest.approx(2 * 9.81 * 0.5 * np.cos(0.3), rel=1e-15)


def test_a_urdf_with_a_massless_tip_is_refused(urdf_file):
    path = urdf_file(URDF.replace('mass value="2"', 'mass value="0"').replace("0.1", "0").replace("0.01", "0"))
    with pytest.raises(er.ModelError, match=r"link 'rod'.*not positive definite"):
        er.load(path)


def test_a_urdf_that_looks_odd_warns(urdf_file):
    with pytest.warns(er.ModelWarning, match="taken as unlimited: the velocity limits are 0 for every joint"):
        er.load(urdf_file(URDF.replace('velocity="1"', 'velocity="0"')))


def test_the_library_never_prints(capfd, s):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = er.load("panda")
        arm.mass_matrix(s.q)
        arm.inverse_kinematics(arm.pose(s.q[0]))
        repr(arm.compile("mass_matrix"))
    assert capfd.readouterr() == ("", "")


# Arguments that are nearly right.


def test_a_named_link_means_its_frame_and_no_link_means_the_tool(panda):
    q = panda.ready
    last = panda.jacobian(q, link=-1)
    at_frame = panda.jacobian(q, link=panda.n - 1, point=[0, 0, 0])
    assert np.allclose(last.Jv, at_frame.Jv, rtol=0, atol=1e-15)  # roundings: two programs, each rearranged for itself
    assert np.array_equal(last.Jv, panda.jacobian(q, link=panda.model.link_names[-1]).Jv)
    assert np.allclose(panda.jacobian(q).Jv, panda.jacobian(q, link=-1, point=panda.model.tool[:3, 3]).Jv, atol=1e-15)
    assert np.abs(panda.jacobian(q).Jv - last.Jv).max() > 0.01  # the flange is 0.107 m beyond the frame


def test_what_is_nearly_right_is_taken_or_named(panda):
    Q = np.tile(panda.ready, (5000, 1))
    assert panda.compile("pose")(Q, threads=np.int64(2)).shape == (5000, 4, 4)
    with pytest.raises(ValueError, match="threads must be a whole number"):
        panda.compile("pose")(Q, threads=2.5)
    with pytest.raises(ShapeError, match="q must be one array"):
        panda.mass_matrix([[0, 0, 0], [0, 0]])
    with pytest.raises(er.DtypeError, match="point must be real numbers"):
        panda.jacobian(panda.ready, point=["a", "b", "c"])
    with pytest.raises(er.UnknownNameError, match=r"link must be a name or a number; got 2\.0"):
        panda.jacobian(panda.ready, link=2.0)


def test_a_wrong_dtype_is_a_type_error_and_a_value_error(panda):
    for kind in (TypeError, ValueError, er.ElbowroomError):
        with pytest.raises(kind, match="q must be real numbers"):
            panda.mass_matrix(np.zeros(7, complex))


def test_masked_entries_are_refused_and_misaligned_memory_is_taken(panda):
    masked = np.ma.array(panda.ready, mask=[0, 0, 1, 0, 0, 0, 0])
    with pytest.raises(ValueError, match="q has masked entries"):
        panda.mass_matrix(masked)
    assert np.array_equal(panda.mass_matrix(np.ma.array(panda.ready)), panda.mass_matrix(panda.ready))
    room = np.zeros(7 * 8 + 1, np.uint8)
    odd = room[1:].view(np.float64)
    odd[:] = panda.ready
    assert not odd.flags.aligned
    assert np.array_equal(panda.mass_matrix(odd), panda.mass_matrix(panda.ready))


def test_two_outputs_need_two_arrays(panda):
    both = np.zeros((3, 7))
    with pytest.raises(ValueError, match="lies on another of the outputs"):
        panda.jacobian(panda.ready, out=(both, both))
    Jv, Jw = np.zeros((3, 7)), np.zeros((3, 7))
    assert panda.jacobian(panda.ready, out=(Jv, Jw)).Jw is Jw
    assert np.array_equal(Jv, panda.jacobian(panda.ready).Jv)
    nu = np.zeros(7)
    assert panda.quasi_velocities(panda.ready, np.ones(7), out=nu) is nu
