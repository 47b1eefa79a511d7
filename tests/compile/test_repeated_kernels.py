"""Repeated as machine code, C and CUDA: the bits of the program's own kernel called as often."""

from __future__ import annotations

import ctypes
import re
import tracemalloc

import numpy as np
import pytest

import card
from card import needs_cxx, to_card
from ccompiler import FUSED, called, library, needs_cc
from elbowroom.algebra import Repeated, cos, maximum, minimum, sin, sqrt, trace, where
from elbowroom.compile import compiled, cpu, cuda, engine, llvm, loops
from elbowroom.compile.lower import lower
from elbowroom.compile.source import Dialect, Source
from elbowroom.compile.source_support import fused, support
from elbowroom.errors import ShapeError

DTYPES = [np.float64, np.float32]


def _sweep(_, x, prices, rows, gram, weights, offset):
    """A sweep of projected Gauss-Seidel over a few constraints, and results of all kinds."""
    x, prices = x.copy(), prices.copy()
    for k in range(len(prices)):
        lack = 0.4 * cos(offset[0]) - rows[k] @ x - gram[k] @ prices
        price = maximum(0.0, prices[k] + weights[k] * lack)
        x = x + rows[k] * ((price - prices[k]) * 0.25)
        prices[k] = price
    x = np.array([maximum(-2.0, minimum(2.0, each)) for each in x], dtype=object)
    return {
        "worst": np.array([sqrt(prices @ prices)]),
        "x": x,
        "prices": prices,
        "same": rows[0],
        "fixed": np.array([1.5, 0.0]),
    }


def sweep(count, joints=7):
    ports = {"x": (joints,), "prices": (count,), "rows": (count, joints), "gram": (count, count), "weights": (count,)}
    return trace(_sweep, None, {**ports, "offset": (1,)}, name="sweep")


def _moved(_, a, b, still, gain):
    """Values that change places, an input that nobody reads, one that stays, a number, the turn before's value."""
    return {
        "a": np.array([a[1], a[2], a[0], sin(a[3]) + b[0] * gain[0], a[4], 0.25]),
        "b": np.array([a[3], where(a[3] < b[1], b[1], -b[0])]),
        "before": a[3:4],
        "still": np.array([gain[1] * b[0], a[0] + a[3]]),
        "gained": gain[1:],
    }


MOVED = trace(_moved, None, {"a": (6,), "b": (2,), "still": (2,), "gain": (2,)}, name="moved")
CASES = {
    "one constraint": (sweep(1), 3),
    "five constraints": (sweep(5), 16),
    "one turn": (sweep(3), 1),
    "two turns": (sweep(3), 2),
    "cut into functions": (sweep(14), 5),
    "moved": (MOVED, 7),
    "moved, even": (MOVED, 4),
    "numbers": (
        trace(lambda _, a, g: {"b": a * g, "a": a * 0.5 + sin(g)}, None, {"a": (), "g": ()}, name="numbers"),
        9,
    ),
}


def states(program, batch, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-0.5, 0.5, (batch, *p.shape)).astype(dtype) for p in program.inputs]


@pytest.fixture
def shorter_functions(monkeypatch):
    """A program that is long enough to be cut takes a minute to compile; so a shorter one is cut."""
    monkeypatch.setattr(llvm, "ALONE", 400)
    monkeypatch.setattr(llvm, "CHUNK", 120)


def kernel(program, dtype=np.float64):
    return compiled(program, dtype=dtype)


def turn_by_turn(repeated, inputs, dtype):
    """The outputs by name, by so many calls of the program's own kernel."""
    single, values = kernel(repeated.program, dtype), {p.name: x for p, x in zip(repeated.inputs, inputs, strict=True)}
    for _ in range(repeated.times):
        found = single(*values.values())
        results = found._asdict() if hasattr(found, "_asdict") else {repeated.outputs[0].name: found}
        values |= {p.name: results[p.name] for p in repeated.fed}
    return results


def named(repeated, found):
    return found._asdict() if hasattr(found, "_asdict") else {repeated.outputs[0].name: found}


def assert_same(found, wanted, at=...):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value[at], err_msg=name)


@pytest.mark.usefixtures("shorter_functions")
def test_the_cases_are_what_they_say():
    assert len(lower(CASES["cut into functions"][0]).steps) > llvm.ALONE
    assert len(lower(CASES["five constraints"][0]).steps) < llvm.ALONE


@pytest.mark.usefixtures("shorter_functions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_the_bits_of_as_many_calls(case, dtype):
    repeated = Repeated(*CASES[case])
    f, inputs = kernel(repeated, dtype), states(repeated, 21, dtype)
    wanted = turn_by_turn(repeated, inputs, dtype)
    assert_same(named(repeated, f(*inputs)), wanted)
    for b in (0, 13, 20):
        assert_same(named(repeated, f(*(x[b] for x in inputs))), wanted, b)
        assert_same(named(repeated, f.general(*(x[b] for x in inputs))), wanted, b)


@pytest.mark.parametrize("case", ["five constraints", "moved"])
def test_it_is_near_the_slow_evaluation(case):
    repeated = Repeated(*CASES[case])
    inputs = states(repeated, 9)
    slow = repeated.evaluate(*inputs)
    for name, value in named(repeated, kernel(repeated)(*inputs)).items():
        np.testing.assert_allclose(value, slow[name], rtol=0, atol=1e-13, err_msg=name)  # fused products round apart


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 8, 17])
def test_batches_of_any_size(batch):
    repeated = Repeated(*CASES["five constraints"])
    inputs = states(repeated, batch)
    assert_same(named(repeated, kernel(repeated)(*inputs)), turn_by_turn(repeated, inputs, np.float64))


def test_threads_give_the_same_bits():
    repeated = Repeated(sweep(2, joints=3), 4)
    f, inputs = kernel(repeated), states(repeated, 3 * cpu.BLOCK + 5)
    assert_same(named(repeated, f(*inputs, threads=3)), named(repeated, f(*inputs)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("port", ["x", "gram", "offset"])
def test_what_is_not_finite_is_refused_by_name(port, value):
    repeated = Repeated(*CASES["five constraints"])
    inputs = states(repeated, 6)
    k = [p.name for p in repeated.inputs].index(port)
    inputs[k][(5,) + (0,) * (inputs[k].ndim - 1)] = value
    f = kernel(repeated)
    for given in (inputs, [x[5] for x in inputs]):
        with pytest.raises(ValueError, match=f"{port} must be finite"):
            f(*given)
    f(*(x[4] for x in inputs))


def test_outputs_may_be_given_also_where_inputs_lie():
    repeated = Repeated(*CASES["moved"])
    f, inputs = kernel(repeated), [x[0] for x in states(repeated, 1)]
    fresh, given = f(*inputs), f.empty()
    assert f(*inputs, out=given) is given
    for a, b in zip(fresh, given, strict=True):
        np.testing.assert_array_equal(a, b)
    on_input = f.empty()._replace(a=inputs[0])
    f(*inputs, out=on_input)
    for a, b in zip(fresh, on_input, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_way_with_given_arrays_allocates_nothing():
    repeated = Repeated(*CASES["five constraints"])
    f = kernel(repeated)
    inputs, out = [np.ascontiguousarray(x[0]) for x in states(repeated, 1)], f.empty()
    f(*inputs, out=out)
    grown = []
    tracemalloc.start()
    for _ in range(3):  # whatever else the process allocates now and then, it does not in each of these
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            f(*inputs, out=out)
        grown.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert min(grown) < 1000  # bytes: the loop's own integer, not 1000 arrays


@pytest.mark.parametrize("kind", ["one", "many"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_turn_never_writes_where_it_reads(kind, times):
    """Its arguments are noalias; a compiler that makes use of that shows in no bit until it does."""
    ir = llvm.module(Repeated(MOVED, times), engine.host(), np.dtype(float), kind)
    first = dict(re.findall(r"%(\w+) = phi ptr \[(%\w+), %ready\]", ir))
    for port in ("a", "b", "still"):
        read, written, other = (first[f"{which}_{port}"] for which in ("from", "to", "other"))
        assert written not in (read, other)
        assert (written if times % 2 else other) == (f"%o_{port}" if kind == "one" else f"%b_{port}")  # the last turn's


@pytest.mark.parametrize("kind", ["one", "many"])
def test_little_memory_is_on_the_stack_and_much_on_the_heap(kind):
    """A call must not pay for malloc, and a thread's stack may be small."""
    target = engine.host()

    def loop(program):
        ir = llvm.module(Repeated(program, 3), target, np.dtype(float), kind)
        start = ir.index(f"define void @{'one' if kind == 'one' else 'block'}(")
        return ir[start : ir.index("\n}", start)]

    small, large = loop(MOVED), loop(sweep(40))
    assert "alloca" in small
    assert "malloc" not in small
    stack = [int(line.split("[")[1].split(" x")[0]) for line in large.splitlines() if "alloca" in line]
    assert all(size <= loops.STACK for size in stack)
    if kind == "many":
        assert "malloc" in large
        assert "call void @free" in large


# ---- C and CUDA
INCLUDES = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stdint", "string"))
TEXTS = ["one constraint", "five constraints", "one turn", "moved", "moved, even", "numbers"]


@needs_cc
@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("case", TEXTS)
def test_c_has_the_kernel_s_bits(tmp_path, case, real):
    repeated, dtype = Repeated(*CASES[case]), DTYPES[real == "float"]
    dialect = Dialect(real, "own")
    source = Source(repeated, dialect)
    text = "\n".join([INCLUDES, support(dialect, [source]), source.text("f")])
    assert text.count("for (int k") == 1
    (tmp_path / "x.c").write_text(text)
    lib = library(tmp_path, [tmp_path / "x.c"], *FUSED, "-Wconversion", "-Wdouble-promotion")
    inputs = states(repeated, 7, dtype)
    by_name = {p.name: x for p, x in zip(repeated.inputs, inputs, strict=True)}
    assert_same(called(lib, "f", repeated, by_name, dtype), turn_by_turn(repeated, inputs, dtype))


@needs_cc
def test_in_c_an_output_may_lie_where_its_input_lies(tmp_path):
    program = trace(lambda _, x: {"x": np.array([x[2], x[0] * x[1], x[0]])}, None, {"x": (3,)}, name="f")
    repeated = Repeated(program, 5)
    (tmp_path / "x.c").write_text("\n".join([INCLUDES, fused("double"), Source(repeated, Dialect()).text("f")]))
    lib = library(tmp_path, [tmp_path / "x.c"], *FUSED)
    x = np.array([0.3, 2.0, 5.0])
    wanted = kernel(repeated)(x)
    lib.f(x.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.c_void_p))
    np.testing.assert_array_equal(x, wanted)


@needs_cxx
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ["five constraints", "moved"])
def test_cuda_has_the_kernel_s_bits(monkeypatch, case, dtype, layout):
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)
    repeated = Repeated(*CASES[case])
    inputs = states(repeated, 40, dtype)
    f = cuda.CudaKernel("test", repeated, dtype, layout)
    assert f.text.count("#pragma unroll 1\n") == 1
    assert f.count.total == repeated.count.total
    turned = layout == "columns"
    found = f(*(to_card(np.moveaxis(x, 0, -1) if turned else x) for x in inputs))
    wanted = turn_by_turn(repeated, inputs, dtype)
    for name, value in named(repeated, found).items():
        np.testing.assert_array_equal(np.moveaxis(value, -1, 0) if turned else value, wanted[name], err_msg=name)


@needs_cxx
def test_cuda_refuses_what_is_not_finite(monkeypatch):
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)
    repeated = Repeated(*CASES["moved"])
    inputs = states(repeated, 5)
    inputs[2][3, 1] = np.nan  # an input that no step reads
    with pytest.raises(ValueError, match="still must be finite"):
        cuda.CudaKernel("test", repeated)(*map(to_card, inputs))


def _least(_, x, best, row):
    apart = x - row[:2]
    return {"best": np.array([minimum(best[0], apart[0] * apart[0] + apart[1] * apart[1] + row[2])])}


def _rows_kernel(dtype, times=5):
    program = trace(_least, None, {"x": (2,), "best": (1,), "row": (3,)}, name="nearest")
    return compiled(Repeated(program, times, "row"), dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("states", [1, 3, 16, 37])
def test_rows_are_the_same_for_all_states(states, dtype):
    rng = np.random.default_rng(states)
    x, rows = rng.normal(size=(states, 2)).astype(dtype), rng.normal(size=(5, 3)).astype(dtype)
    start = np.full((states, 1), 9.0, dtype)
    kernel = _rows_kernel(dtype)
    found = kernel(x, start, rows)
    wanted = np.minimum(9.0, ((x[:, None] - rows[:, :2]) ** 2).sum(axis=2) + rows[:, 2]).min(axis=1)
    # one rounding more or less of numbers of size 10: fused sums
    np.testing.assert_allclose(found[:, 0], wanted, rtol=0, atol=20 * np.finfo(dtype).eps)
    for k in range(states):
        np.testing.assert_array_equal(kernel(x[k], start[k], rows), found[k])  # the same bits alone


def test_threads_share_the_rows():
    rng = np.random.default_rng(0)
    x, rows = rng.normal(size=(20_000, 2)), rng.normal(size=(5, 3))
    start = np.full((len(x), 1), 9.0)
    kernel = _rows_kernel(np.float64)
    np.testing.assert_array_equal(kernel(x, start, rows, threads=2), kernel(x, start, rows))


def test_rows_are_checked():
    kernel = _rows_kernel(np.float64)
    x, start = np.zeros((4, 2)), np.ones((4, 1))
    rows = np.zeros((5, 3))
    with pytest.raises(ShapeError, match=r"nearest: row must have shape \(5, 3\), one for all states; got \(4, 5, 3\)"):
        kernel(x, start, np.zeros((4, 5, 3)))
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"nearest: row must be finite; got nan at \(3, 1\)"):
        kernel(x, start, rows)
    with pytest.raises(ValueError, match="nearest: row must be finite"):
        kernel(x[0], start[0], rows)
