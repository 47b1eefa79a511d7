"""Pipelines: kernels in one native call on bound arrays, against the same calls one by one."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import Repeated, Table, sin, sqrt, trace
from elbowroom.compile import compiled, pipeline
from elbowroom.compile.pipeline import Call, Copy, FromRing, Pipeline, Refused, Sound, ToRing
from elbowroom.errors import DtypeError, ShapeError


def _turned(_, x, gain):
    return {"y": sin(x) * gain[0] + x, "total": np.array([x @ x])}


def _joined(_, y, x):
    return y - 0.5 * x


TURNED = trace(_turned, None, {"x": (5,), "gain": (1,)}, name="turned")
JOINED = trace(_joined, None, {"y": (5,), "x": (5,)}, name="joined")


def kernel(program, dtype=np.float64):
    return compiled(program, dtype=dtype)


class Case:
    """Two kernels, the second on what the first gives, and a copy back: x goes round."""

    def __init__(self, dtype=np.float64, **checked):
        self.turned, self.joined = kernel(TURNED, dtype), kernel(JOINED, dtype)
        self.x, self.gain = np.linspace(-1, 1, 5, dtype=dtype), np.array([0.7], dtype)
        self.first, self.second = self.turned.empty(), self.joined.empty()
        self.steps = [
            Call(self.turned, (self.x, self.gain), self.first, checked.get("turned")),
            Call(self.joined, (self.first.y, self.x), self.second, checked.get("joined")),
            Copy(self.second, self.x),
        ]

    def wanted(self, x):
        first = self.turned(x, self.gain)
        return first, self.joined(first.y, x)


@pytest.fixture(params=["emitted", "ctypes"])
def way(request, monkeypatch):
    """As on CPython, and as on an interpreter whose objects are laid out in another way."""
    if request.param == "ctypes":
        monkeypatch.setattr(pipeline, "supported", lambda: False)
    elif not pipeline.supported():
        pytest.skip("no emitted functions on this interpreter")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_has_the_bits_of_the_calls(way, dtype):
    case = Case(dtype)
    run, x = Pipeline(case.steps).run, case.x.copy()
    for _ in range(4):
        first, second = case.wanted(x)
        assert run() is None
        for a, b in zip((*case.first, case.second), (*first, second), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(case.x, second)  # copied back
        x = second


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arguments_go_into_the_arrays_that_take_them(way, dtype):
    case = Case(dtype)
    run = Pipeline(case.steps, takes=(case.x, case.gain)).run
    rng = np.random.default_rng(0)
    for _ in range(3):
        x, gain = rng.normal(size=5).astype(dtype), rng.normal(size=1).astype(dtype)
        kept = x.copy()
        assert run(x, gain) is None
        np.testing.assert_array_equal(case.gain, gain)
        np.testing.assert_array_equal(case.second, case.wanted(x)[1])
        np.testing.assert_array_equal(x, kept)


def test_any_array_of_numbers_is_taken(way):
    case = Case()
    run = Pipeline(case.steps, takes=(case.x,)).run
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    wanted = case.wanted(x)[1]
    strided = np.repeat(x, 2)[::2]
    odd = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float64)
    odd[:] = x
    for given in (x, [1, 2, 3, 4, 5], strided, x.astype(np.float32), x.astype(">f8"), x.astype(int), odd, tuple(x)):
        assert run(given) is None
        np.testing.assert_array_equal(case.second, wanted)
    case.x[:] = x
    assert run(case.x) is None  # the very array
    np.testing.assert_array_equal(case.second, wanted)


def test_an_array_without_axes_takes_a_float(way):
    doubled = trace(lambda _, t, x: t * 2.0 + x[0], None, {"t": (), "x": (1,)}, name="doubled", output="d")
    f = kernel(doubled)
    t, x, d = np.zeros(()), np.ones(1), np.zeros(())
    run = Pipeline([Call(f, (t, x), d)], takes=(t,)).run
    for given in (0.25, np.float64(0.5), 3, np.array(0.125)):
        assert run(given) is None
        assert d == 2.0 * float(given) + 1.0
    assert run(float("nan")) == (0, "doubled", "t")


def test_arguments_that_do_not_fit_are_named(way):
    case = Case()
    run = Pipeline(case.steps, takes=(case.x, case.gain)).run
    before = case.x.copy()
    one = np.ones(1)
    for args, error, message in (
        ((np.ones(4), one), ShapeError, r"argument 0 must have shape \(5,\); got \(4,\)"),
        ((np.ones((5, 1)), one), ShapeError, r"argument 0 must have shape \(5,\); got \(5, 1\)"),
        ((np.ones(5), 1.0), ShapeError, r"argument 1 must have shape \(1,\); got \(\)"),
        ((np.ones(5), ["a"]), DtypeError, "argument 1 must be real numbers"),
        ((np.ones(5), np.ones(1, complex)), DtypeError, "argument 1 must be real numbers; got dtype complex"),
        ((np.ones(5),), TypeError, "takes 2 arguments; got 1"),
        ((), TypeError, "takes 2 arguments; got 0"),
        ((one, one, one), TypeError, "takes 2 arguments; got 3"),
    ):
        with pytest.raises(error, match=message):
            run(*args)
    with pytest.raises(TypeError):
        run(np.ones(5), gain=one)
    assert case.x.shape == before.shape


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_before_its_kernel(way, value):
    case = Case()
    run = Pipeline(case.steps, takes=(case.x,)).run
    assert run(np.ones(5)) is None
    first, second = [x.copy() for x in case.first], case.second.copy()
    bad = np.ones(5)
    bad[3] = value
    refused = run(bad)
    assert refused == Refused(0, "turned", "x")
    assert (refused.step, refused.kernel, refused.input) == (0, "turned", "x")
    for a, b in zip((*case.first, case.second), (*first, second), strict=True):
        np.testing.assert_array_equal(a, b)  # as they were
    with pytest.raises(ValueError, match="x must be finite"):
        case.turned(case.x, case.gain)  # the way to the message
    case.gain[0] = value
    assert run(np.ones(5)) == (0, "turned", "gain")
    case.gain[0] = 0.5
    assert run(np.ones(5)) is None


def test_a_refusal_in_the_middle_leaves_the_rest(way):
    case = Case(turned=())
    run = Pipeline(case.steps).run
    case.x[4] = np.nan
    case.second[:] = 7.0
    assert run() == (1, "joined", "y")  # the first let it pass, the second's first input has it
    assert np.isnan(case.first.y[4])
    assert (case.second == 7.0).all()
    assert np.isnan(case.x[4])


def test_inputs_that_are_not_checked_pass(way):
    case = Case(turned=("gain",), joined=())
    run = Pipeline(case.steps).run
    case.x[0] = np.nan
    assert run() is None
    assert np.isnan(case.second[0])
    case.gain[0] = np.inf
    assert run() == (0, "turned", "gain")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 11])
def test_every_place_is_checked(size, dtype):
    program = trace(lambda _, x: x * 2.0, None, {"x": (size,)}, name="doubled")
    x, out = np.zeros(size, dtype), np.zeros(size, dtype)
    run = Pipeline([Call(kernel(program, dtype), (x,), out)]).run
    info = np.finfo(dtype)
    for k in range(size):
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            x[k] = value
            assert run() == (0, "doubled", "x")
        for value in (info.max / 2, -info.max / 2, info.tiny, info.smallest_subnormal, -0.0):
            x[k] = value
            assert run() is None


def test_tables_and_loops_are_kernels_too(way):
    gap = trace(lambda _, a, b: sqrt((a - b) @ (a - b)), None, {"a": (3,), "b": (3,)}, name="gap", output="gap")
    gaps = kernel(Table(gap, 6, ((0, 1, 2, 3, 4), (1, 2, 3, 4, 5))))
    slower = kernel(Repeated(trace(lambda _, v, g: {"v": v - g[0] * v}, None, {"v": (5,), "g": (1,)}, name="slow"), 9))
    rows, found = np.random.default_rng(1).normal(size=(6, 3)), np.zeros(5)
    g, out = np.array([0.1]), np.zeros(5)
    assert Pipeline([Call(gaps, (rows,), found), Call(slower, (found, g), out)]).run() is None
    np.testing.assert_array_equal(found, gaps(rows))
    np.testing.assert_array_equal(out, slower(found, g))


def test_an_arm_s_kernels():
    arm = er.load("panda")
    q, qd, out = arm.ready.copy(), np.full(7, 0.1), [np.zeros((7, 7)), np.zeros(7)]
    steps = [Call(arm.compile("mass_matrix"), (q,), out[0]), Call(arm.compile("bias_torque"), (q, qd), out[1])]
    run = Pipeline(steps, takes=(q, qd)).run
    assert run(arm.ready, np.full(7, 0.3)) is None
    np.testing.assert_array_equal(out[0], arm.mass_matrix(arm.ready))
    np.testing.assert_array_equal(out[1], arm.bias_torque(arm.ready, np.full(7, 0.3)))


def test_arrays_that_cannot_be_bound_are_named():
    f = kernel(JOINED)
    x, y, out = np.ones(5), np.ones(5), np.ones(5)
    odd = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float64)
    sealed = np.ones(5)
    sealed.flags.writeable = False
    both = np.ones(8)
    for call, error, message in (
        (Call(f, (np.ones(10)[::2], x), out), ValueError, "inputs for y must be contiguous and aligned"),
        (Call(f, (y, odd), out), ValueError, "inputs for x must be contiguous and aligned"),
        (Call(f, (y, x.astype(np.float32)), out), DtypeError, "inputs for x must be of float64; got float32"),
        (Call(f, (y, x.astype(int)), out), DtypeError, "inputs for x must be of float64 or float32; got int64"),
        (Call(f, (y, x.astype(">f8")), out), DtypeError, "inputs for x must be of float64 or float32; got >f8"),
        (Call(f, (y, [1.0] * 5), out), TypeError, "inputs for x must be an array that can be bound"),
        (Call(f, (y, np.ones(4)), out), ShapeError, r"inputs for x must have shape \(5,\); got \(4,\)"),
        (Call(f, (y,), out), ShapeError, r"inputs must be 2 arrays \(y, x\); got 1"),
        (Call(f, np.ones((2, 5)), out), ShapeError, r"inputs must be 2 arrays \(y, x\); got array"),
        (Call(f, (y, x), None), ShapeError, r"out must be 1 arrays \(out\); got None"),
        (Call(f, (y, x), (out, out)), ShapeError, r"out must be 1 arrays \(out\); got 2"),
        (Call(f, (y, x), np.ones(10)[::2]), ValueError, "out for out must be contiguous"),
        (Call(f, (y, x), sealed), ValueError, "out for out is read-only"),
        (Call(f, (y, x), x), ValueError, "step 0, joined: out for out lies on x"),
        (Call(f, (both[:5], x), both[3:]), ValueError, "out for out lies on y"),
        (Call(f, (y, x), out, checked=("z",)), ValueError, r"checked must be of its inputs y, x; got \['z'\]"),
        (Call(lambda y, x: y, (y, x), out), TypeError, "step 0: expected a kernel of the CPU"),
        (Copy(x, np.ones(4)), ShapeError, r"source and to must be alike; got \(5,\) of float64 and \(4,\)"),
        (Copy(x, np.ones(5, np.float32)), ShapeError, "must be alike"),
        (Copy(x, sealed), ValueError, "step 0: to is read-only"),
        (f, TypeError, "step 0 of a pipeline must be a Call or a Copy"),
    ):
        with pytest.raises(error, match=message):
            Pipeline([call])
    two = kernel(TURNED)
    with pytest.raises(ValueError, match="out for total lies on y"):
        Pipeline([Call(two, (x, np.ones(1)), (both[:5], both[4:5]))])
    with pytest.raises(ValueError, match="one step at least"):
        Pipeline([])
    good = Call(f, (y, x), out)
    with pytest.raises(ValueError, match=r"takes\[1\] is read-only"):
        Pipeline([good], takes=(x, sealed))
    with pytest.raises(ValueError, match=r"takes\[0\] must be contiguous"):
        Pipeline([good], takes=(np.ones((4, 4))[:, 1],))
    with pytest.raises(DtypeError, match=r"takes\[0\]: an array that takes a float must be of float64"):
        Pipeline([good], takes=(np.zeros((), np.float32),))
    Pipeline([Call(f, (sealed, x), out)])  # inputs are only read


def test_it_holds_all_that_it_stands_on(way):
    case = Case()
    x, second = case.x, case.second
    wanted = case.wanted(x)[1]
    run = Pipeline(case.steps).run
    del case
    gc.collect()
    rubbish = [np.full(5, np.nan) for _ in range(1000)]  # takes the place of what was let go
    assert run() is None
    np.testing.assert_array_equal(second, wanted)
    with pytest.raises(ValueError, match="resize"):
        x.resize(50)  # NumPy sees that it is referred to
    assert len(rubbish) == 1000


def test_it_lets_go_of_all_that_it_stands_on(way):
    case = Case()
    made = Pipeline(case.steps)
    array, whole = weakref.ref(case.x), weakref.ref(made)
    assert made.run() is None
    del made
    gc.collect()
    assert whole() is None
    del case
    gc.collect()
    assert array() is None


def test_runs_leave_no_memory_behind():
    case = Case(turned=(), joined=())
    made, x = Pipeline(case.steps, takes=(case.x,)), np.ones(5)
    bad = np.full(5, np.nan)
    refusing = Pipeline(Case().steps[:1], takes=(case.x,)).run
    run = made.run
    references = sys.getrefcount(None)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        run(x)
        refusing(bad)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 1000  # bytes: the loop's own integer, not 1000 objects
    assert abs(sys.getrefcount(None) - references) < 100


def test_refusals_may_be_kept():
    """The object that a run returns is the caller's own: dropping it many times breaks nothing."""
    case = Case()
    run = Pipeline(case.steps, takes=(case.x,)).run
    bad = np.full(5, np.nan)
    kept = [run(bad) for _ in range(100)]
    del kept
    assert run(bad) == (0, "turned", "x")
    last = run(bad)
    del run, case
    gc.collect()
    assert last == Refused(0, "turned", "x")


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_it_cannot_be_pickled_or_copied(copied):
    with pytest.raises(TypeError, match="bound to memory of this process"):
        copied(Pipeline(Case().steps))


def test_its_function_cannot_be_pickled(way):
    with pytest.raises(TypeError, match="bound to memory of this process"):
        pickle.dumps(Pipeline(Case().steps).run)


def _in_child(run, case, answers):
    refused = run(np.ones(5))
    answers.send((refused, case.second.copy(), run(np.full(5, np.nan))))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_runs_it_on_its_own_memory(way):
    case = Case()
    run = Pipeline(case.steps, takes=(case.x,)).run
    assert run(np.zeros(5)) is None
    before = case.second.copy()
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(run, case, there))
    child.start()
    assert here.poll(60)
    refused, second, then = here.recv()
    child.join(60)
    assert child.exitcode == 0
    assert refused is None
    assert then == (0, "turned", "x")
    np.testing.assert_array_equal(second, case.wanted(np.ones(5))[1])
    np.testing.assert_array_equal(case.second, before)
    assert run(np.ones(5)) is None
    np.testing.assert_array_equal(case.second, second)


def test_threads_may_share_it(way):
    """Runs follow each other: what is given and what comes out never mix within one."""
    case = Case()
    run = Pipeline(case.steps[:2], takes=(case.x,)).run
    wrong = []

    def work(k):
        mine = np.full(5, 0.1 * k)
        for _ in range(300):
            if run(mine) is not None:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    np.testing.assert_array_equal(case.second, case.wanted(case.x)[1])


def test_it_says_what_it_is():
    made = Pipeline(Case().steps)
    assert repr(made) == "<pipeline of 3 steps: turned, joined, copy>"
    assert made.run.__doc__


def test_what_was_looked_through_is_looked_through_again_once_it_was_written(way):
    """By a copy or by a kernel, in whole or in part; and what an earlier step did not look at is looked at later."""
    case = Case()
    bad, other = np.array([0.0, np.inf, 0.0, 0.0, 0.0]), case.turned.empty()
    again = Call(case.turned, (case.x, case.gain), other)
    assert Pipeline([case.steps[0], again, case.steps[1]]).run() is None
    part = case.x[1:3]
    for written in (Copy(bad, case.x), Copy(bad[1:3], part)):
        case.x[:] = 0.5
        assert Pipeline([case.steps[0], written, again]).run() == Refused(2, "turned", "x")
    unseen = Case(turned=())
    unseen.x[2] = np.nan
    assert Pipeline(unseen.steps[:2]).run() in (Refused(1, "joined", "y"), Refused(1, "joined", "x"))
    total, still = case.first.total, np.full(5, 0.5)
    total[:], case.x[:] = 1.0, 1e200  # whose square is not finite any more
    uses = Call(case.turned, (still, total), other)
    assert Pipeline([uses, case.steps[0], uses]).run() == Refused(2, "turned", "gain")


def test_a_ring_is_read_and_written_at_the_row_that_an_array_names(way):
    ring, at = np.arange(12.0).reshape(4, 3), np.array([2.0])
    new, old = np.array([-1.0, -2.0, -3.0]), np.zeros(3)
    run = Pipeline([FromRing(ring, at, old), ToRing(new, ring, at)]).run
    assert run() is None
    assert old.tolist() == [6.0, 7.0, 8.0]
    assert ring[2].tolist() == new.tolist()
    at[0] = 3.0
    run()
    assert old.tolist() == [9.0, 10.0, 11.0]
    assert ring[:2].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("row", [-1.0, 4.0, 1e300, -1e300, np.nan, np.inf])
def test_a_row_that_is_not_there_is_the_first(row):
    ring, guard = np.arange(12.0).reshape(4, 3), np.zeros(3)
    Pipeline([FromRing(ring, np.array([row]), guard)]).run()
    assert guard.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("at", [np.zeros(2), np.zeros(1, np.float32), np.zeros(())])
def test_a_ring_that_does_not_fit_is_refused(at):
    with pytest.raises(ShapeError, match="at must have shape"):
        Pipeline([FromRing(np.zeros((4, 3)), at, np.zeros(3))])
    with pytest.raises(ShapeError, match="a row of the ring must be like the array"):
        Pipeline([ToRing(np.zeros(2), np.zeros((4, 3)), np.zeros(1))])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_run_goes_on_only_where_an_array_is_sound(way, value):
    go, source, to = np.zeros(1), np.ones(3), np.zeros(3)
    run = Pipeline([Sound(go, "go"), Copy(source, to)]).run
    go[0] = value
    assert run() == Refused(0, "go", "array")
    assert not to.any()
    go[0] = 0.0
    assert run() is None
    assert to.all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 3, 4, 5, 15, 16, 17, 31, 33, 100])
def test_what_is_not_finite_is_found_wherever_it_is(size, dtype):
    x = np.random.default_rng(size).normal(size=size).astype(dtype) * dtype(1e30)
    run = Pipeline([Sound(x)]).run
    assert run() is None
    for k in range(size):
        for value in (np.nan, np.inf, -np.inf):
            kept, x[k] = x[k], value
            assert run() is not None
            x[k] = kept
    x[:] = np.finfo(dtype).max  # a sum of them overflows, they themselves are finite
    assert run() is None


def test_a_pipeline_may_be_nothing_but_what_it_takes(way):
    place, number = np.zeros((2, 3)), np.zeros(())
    run = Pipeline((), takes=(place, number)).run
    assert run(np.arange(6.0).reshape(2, 3), 1.5) is None
    assert place.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert number == 1.5
    with pytest.raises(ShapeError):
        run(np.zeros((3, 3)), 1.5)
