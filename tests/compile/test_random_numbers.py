"""Random numbers and logarithms in every backend: the interpreter's bits of `uniform`, the same bits of the rest."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import mpmath
import numpy as np
import pytest

import card
from card import needs_cxx, to_card
from ccompiler import FUSED, called, library, needs_cc
from elbowroom.algebra import Repeated, Table, log, normal, trace, uniform
from elbowroom.algebra.draws import normal_quantile
from elbowroom.compile import compiled, cuda, engine, llvm
from elbowroom.compile.source import Dialect, Source
from elbowroom.compile.source_support import support
from philox_vectors import KNOWN

REALS = {"double": np.float64, "float": np.float32}
INCLUDES = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stdint", "string"))
KEY = 2**51 + 12345  # a constant may be greater than what single precision holds
UNIFORM = ("all", "constant", "neighbour", "alone", "channel")
HOST = engine.host()


def draws(_, k):
    """Counters that are read, computed and constant; two channels of one block, one alone, one that is computed."""
    key, run, frame, channel = k
    return {
        "all": uniform(key, run, frame, channel),
        "constant": uniform(KEY, run, frame, 6),
        "neighbour": uniform(KEY, run, frame, 7),
        "alone": uniform(key, 2**40 + 1, frame, 3),
        "channel": uniform(KEY, run, 5, channel * 2.0 + 1.0),
        "normal": normal(KEY, run, frame, 6),
        "log": log(run + 0.5),
    }


PROGRAM = trace(draws, None, {"k": (4,)})


def counters(dtype, count=333):
    rng = np.random.default_rng(4)
    if dtype == np.float32:
        return rng.integers(0, 2**22, (count, 4)).astype(dtype)
    return np.stack([rng.integers(0, 2**b, count) for b in (52, 52, 32, 31)], 1).astype(dtype)


@pytest.fixture(params=REALS.values(), ids=REALS)
def dtype(request):
    return request.param


def test_one_state_lanes_and_the_interpreter(dtype):
    k = counters(dtype)
    kernel, wanted = compiled(PROGRAM, dtype=dtype), PROGRAM.evaluate(k, dtype=dtype)
    many = kernel(k)
    for name in UNIFORM:
        assert np.array_equal(getattr(many, name), wanted[name]), name
    eps = np.finfo(dtype).eps
    assert np.abs(many.normal - wanted["normal"]).max() < 16 * 6 * eps  # both within 8 ulp, of numbers below 6
    np.testing.assert_allclose(many.log, wanted["log"], rtol=4 * eps)  # NumPy's own is within 3 ulp in single precision
    for s in (0, 100, 332):
        for name, one in kernel(k[s])._asdict().items():
            assert one == getattr(many, name)[s], name


def run_at(target: llvm.Target, program, dtype, x):
    """A program through `many`, for a target."""
    loaded = engine.Loaded(engine.object_code(llvm.module(program, target, np.dtype(dtype), "many"), target))
    many = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("many"))
    found = [np.empty((len(x), *p.shape), dtype) for p in program.outputs]
    many((ctypes.c_void_p * (1 + len(found)))(*(a.__array_interface__["data"][0] for a in (x, *found))), len(x))
    return found


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_the_same_bits_in_every_width(bits, dtype):
    k = counters(dtype)
    wanted = compiled(PROGRAM, dtype=dtype)(k)
    found = run_at(llvm.Target(HOST.cpu, HOST.features, bits, HOST.fma), PROGRAM, dtype, k)
    for port, x in zip(PROGRAM.outputs, found, strict=True):
        assert np.array_equal(x, getattr(wanted, port.name)), port.name


def test_lanes_have_products_of_vectors_and_no_loop(dtype):
    """Words are multiplied in lanes of 64 bits; nothing is taken out of its lane for it."""
    program = trace(lambda _, k: uniform(1, k[0], k[1], 0), None, {"k": (2,)})
    target = llvm.Target(HOST.cpu, HOST.features, 256, HOST.fma)
    text = llvm.module(program, target, np.dtype(dtype), "many")
    products = re.findall(r"= mul (<.*?>) %", text)
    assert re.search(r"extractelement <\d+ x i", text) is None
    assert set(products) == {"<4 x i64>"}
    assert len(products) <= (20 if dtype == np.float64 else 40)


def test_two_channels_share_a_block():
    def program(channels):
        return trace(lambda _, r: np.array([uniform(1, r, 2, c) for c in channels]), None, {"r": ()})

    def products(channels):
        return llvm.module(program(channels), HOST, np.dtype(float), "many").count("= mul ")

    assert products((4, 5)) == products((4,)) < products((5, 6))
    runs = np.arange(20.0)
    assert np.array_equal(compiled(program(range(9)))(runs), uniform(1, runs[:, None], 2, np.arange(9.0)))


# ---- C and CUDA
@needs_cc
@pytest.mark.parametrize("real", REALS)
def test_c_has_the_same_bits(tmp_path, real):
    dialect = Dialect(real, "own")
    source = Source(PROGRAM, dialect)
    text = "\n".join([INCLUDES, support(dialect, [source]), source.text("f")])
    assert text.count("    ew_uniform(") == 4  # five numbers, two of them of one block
    (tmp_path / "x.c").write_text(text)
    lib = library(tmp_path, [tmp_path / "x.c"], *FUSED, "-Wconversion", "-Wdouble-promotion")
    k = counters(REALS[real], 50)
    found, wanted = called(lib, "f", PROGRAM, {"k": k}, REALS[real]), compiled(PROGRAM, dtype=REALS[real])(k)
    for name, values in found.items():
        assert np.array_equal(values, getattr(wanted, name)), name


@needs_cc
@pytest.mark.parametrize("way", [("-DEW_USE_FMA=0",), ("-O2", "-ffp-contract=fast", "-std=gnu99", *FUSED)])
def test_no_compiler_s_fusing_changes_uniform_numbers(tmp_path, way):
    source = Source(PROGRAM, Dialect())  # libm's logarithm
    text = "\n".join([INCLUDES, support(source.dialect, [source]), source.text("f")])
    assert "ew_log" not in text
    (tmp_path / "x.c").write_text(text)
    k = counters(float, 50)
    found = called(library(tmp_path, [tmp_path / "x.c"], *way), "f", PROGRAM, {"k": k})
    wanted = PROGRAM.evaluate(k)
    for name in UNIFORM:
        assert np.array_equal(found[name], wanted[name]), name


@needs_cc
def test_c_has_the_published_vectors(tmp_path):
    source = Source(PROGRAM, Dialect())
    call = "void g(const uint32_t* c, double* u) { ew_uniform(c[0], c[1], c[2], c[3], c[4], c[5], u, u + 1); }"
    (tmp_path / "x.c").write_text("\n".join([INCLUDES, support(source.dialect, [source]), source.text("f"), call]))
    lib = library(tmp_path, [tmp_path / "x.c"])
    for counter, key, words in KNOWN:
        given, u = np.array([*counter, *key], np.uint32), np.empty(2)
        lib.g(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(u.ctypes.data))
        pairs = (words[0] << 32 | words[1], words[2] << 32 | words[3])
        assert u.tolist() == [((pair >> 12) + 0.5) / 2**52 for pair in pairs]


@needs_cxx
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_cuda_s_text_has_the_same_bits(monkeypatch, dtype, layout):
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)
    k = counters(dtype, 70)
    wanted = compiled(PROGRAM, dtype=dtype)(k)
    kernel = cuda.CudaKernel("draws", PROGRAM, dtype, layout=layout)
    found = kernel(to_card(k.T if layout == "columns" else k))
    for name in (p.name for p in PROGRAM.outputs):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc on this machine")
def test_nvcc_takes_the_text(tmp_path, dtype):
    real = "double" if dtype == np.float64 else "float"
    text = cuda.text(cuda.CudaText(PROGRAM, real), "draws")
    (tmp_path / "x.cu").write_text(text)
    done = subprocess.run(
        ["nvcc", "--fmad=false", "-std=c++17", "-ptx", "-o", "x.ptx", "x.cu"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]
    assert "mul.wide.u32" in (tmp_path / "x.ptx").read_text()


# ---- where programs are parts of something greater
def test_in_a_loop_a_table_and_a_long_program(dtype):
    turn = trace(lambda _, n, x: {"n": n + 1.0, "x": x + uniform(KEY, 3, n, 1)}, None, {"n": (), "x": ()})
    n, x = compiled(Repeated(turn, 9), dtype=dtype)(np.zeros(20, dtype), np.zeros(20, dtype))
    total = dtype(0.0)
    for k in range(9):
        total = total + turn.evaluate(dtype(k), dtype(0.0), dtype=dtype)["x"]
    assert (n == 9).all()
    assert (x == total).all()

    row = trace(lambda _, a, b: uniform(a[0], b[0], a[1], 2), None, {"a": (2,), "b": (2,)})
    table = Table(row, 3, ((0, 1, 2, 0), (1, 2, 0, 0)))
    rows = counters(dtype, 3)[:, 2:]
    assert np.array_equal(compiled(table, dtype=dtype)(rows), [
        row.evaluate(rows[i], rows[j], dtype=dtype) for i, j in zip(*table.indices, strict=True)
    ])  # fmt: skip

    def long(_, k):  # cut into several functions: a block is made where it is read
        total = uniform(KEY, k[1], k[2], 8)
        for _ in range(3000):
            total = total * k[0] + 0.5
        return total + uniform(KEY, k[1], k[2], 9)

    program, k = trace(long, None, {"k": (3,)}), counters(dtype, 20)[:, :3]
    k[:, 0] = 0.0  # what is between does not matter
    assert np.array_equal(compiled(program, dtype=dtype)(k), program.evaluate(k, dtype=dtype))


# ---- the logarithm
@pytest.mark.parametrize("fma", [True, False] if HOST.fma else [False])
def test_the_logarithm_within_an_ulp(fma, dtype):
    features = HOST.features if fma else HOST.features.replace("+fma", "-fma")
    rng = np.random.default_rng(0)
    wide = 300 if dtype == np.float64 else 37
    x = [10.0 ** rng.uniform(-wide, wide, 1000), rng.uniform(0.5, 2, 1000), 1 + 1e-4 * rng.standard_normal(1000)]
    x = np.concatenate(x).astype(dtype)
    program = trace(lambda _, x: log(x), None, {"x": (1,)})
    found = run_at(llvm.Target(HOST.cpu, features, 256, fma), program, dtype, x)[0][:, 0]
    mpmath.mp.dps = 40
    for xi, yi in zip(x, found, strict=True):
        exact = mpmath.log(mpmath.mpf(float(xi)))
        assert abs(mpmath.mpf(float(yi)) - exact) <= float(np.spacing(dtype(abs(exact)))), xi


def test_where_there_is_no_logarithm(dtype):
    program = trace(
        lambda _, x: {"over": log(1.0 / x[0]), "of": log(x[0]), "none": log(x[0] / x[0])}, None, {"x": (1,)}
    )
    least = np.finfo(dtype).tiny
    given = np.array([0.0, -0.0, -2.0, 1.0, least / 2, least], dtype)
    found = compiled(program, dtype=dtype)(given[:, None])
    np.testing.assert_array_equal(found.over[:4], [np.inf, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(found.of[:5], [-np.inf, -np.inf, np.nan, 0.0, -np.inf])
    assert found.of[5] == pytest.approx(np.log(float(least)), rel=float(np.finfo(dtype).eps))
    np.testing.assert_array_equal(found.none[:2], [np.nan, np.nan])


def test_the_compiled_quantile(dtype):
    bits = 52 if dtype == np.float64 else 23
    rng = np.random.default_rng(1)
    u = np.concatenate([rng.integers(0, 2**bits, 500), 2.0 ** rng.uniform(0, bits, 500) // 1])
    u = ((u + 0.5) / 2.0**bits).astype(dtype)
    u = np.concatenate([u, 1 - u, [2.0 ** -(bits + 1)]]).astype(dtype)
    found = compiled(trace(lambda _, u: normal_quantile(u), None, {"u": ()}), dtype=dtype)(u)
    mpmath.mp.dps = 40
    for ui, xi in zip(u, found, strict=True):
        x = mpmath.mpf(float(xi))
        error = (mpmath.ncdf(x) - mpmath.mpf(float(ui))) / mpmath.npdf(x)  # Newton's step from here to the quantile
        assert abs(error) <= 8 * float(np.spacing(dtype(abs(xi)))), ui  # as its docstring says
