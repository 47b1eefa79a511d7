"""Programs as C: every operation, our own sines, names, layouts; against the LLVM kernel bit for bit."""

from __future__ import annotations

import ctypes
import re
import struct

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from ccompiler import CC, FUSED, called, compiled, library, needs_cc
from elbowroom import dynamics
from elbowroom.algebra import Port, absolute, cos, log, maximum, minimum, sin, sqrt, trace, uniform, where
from elbowroom.compile import compiled as compiled_here
from elbowroom.compile import source
from elbowroom.compile.source import (
    Dialect,
    Source,
    argument_names,
    digits,
    identifier,
    literal,
    rounded,
)
from elbowroom.compile.source_support import support

INCLUDES = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stdint", "string"))
REALS = {"double": np.float64, "float": np.float32}


def everything(_, v):
    """Every operation there is, at random, on what came before."""
    rng = np.random.default_rng(5)
    values = [v[0], v[1], v[2], v[0] * 0.3 - v[1], 0.75, -1.5]
    makers = [
        lambda a, b, c: a + b,
        lambda a, b, c: a - b * c,
        lambda a, b, c: a * b - c,
        lambda a, b, c: a * b + c,
        lambda a, b, c: 1.7 - a * b,
        lambda a, b, c: a / (b * b + 1.0),
        lambda a, b, c: minimum(a, b),
        lambda a, b, c: maximum(a, c),
        lambda a, b, c: -a,
        lambda a, b, c: sin(a),
        lambda a, b, c: cos(b + c),
        lambda a, b, c: absolute(a),
        lambda a, b, c: sqrt(absolute(b)),
        lambda a, b, c: log(absolute(b)),
        lambda a, b, c: uniform(where(a < 0.0, 3.0, 5.0), 7, 123456, 4) * a,
        lambda a, b, c: where(a < b, c, a + c),
        lambda a, b, c: where((a <= b) & ~(a < 0.0), a, b),
        lambda a, b, c: where((a > b) | (a == b), b, a * 3.0),
    ]
    for k in range(12 * len(makers)):
        picked = [values[i] for i in rng.integers(0, len(values), 3)]
        made = makers[k % len(makers)](*picked)
        values.append(made if k % 3 else sin(made))  # sines keep the numbers small
    return {
        "many": np.array(values[6:], dtype=object),
        "last": values[-1],
        "first": v[0],
        "fixed": np.array([1.5, -2.0]),
    }


PROGRAM = trace(everything, None, {"v": (3,)})
V = np.random.default_rng(1).uniform(-2, 2, (50, 3)).astype(np.float32).astype(float)


def text_of(name: str, program, dialect: Dialect) -> str:
    text = Source(program, dialect)
    return "\n".join([INCLUDES, support(dialect, [text]), text.text(name)])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A function that builds text once: (text, flags) -> library."""
    kept: dict = {}

    def build(text: str, *flags: str, strict: bool = True) -> ctypes.CDLL:
        if (text, flags) not in kept:
            folder = tmp_path_factory.mktemp("c")
            (folder / "x.c").write_text(text)
            kept[text, flags] = library(folder, [folder / "x.c"], *flags, strict=strict)
        return kept[text, flags]

    return build


def test_the_program_of_these_tests_has_every_operation():
    there = {op[0] for _, op in Source(PROGRAM, Dialect()).lowered.steps}
    assert there == {*source.STEPS, *source.FUNCTIONS, "uniform"}


@needs_cc
@pytest.mark.parametrize("real", REALS)
def test_own_sines_and_the_host_s_fusing_give_the_kernel_s_bits(built, real):
    lib = built(text_of("f", PROGRAM, Dialect(real, "own")), *FUSED, "-Wconversion", "-Wdouble-promotion")
    got = called(lib, "f", PROGRAM, {"v": V}, REALS[real])
    kernel = compiled_here(PROGRAM, dtype=REALS[real])
    wanted = kernel(V.astype(REALS[real]))
    for name in ("many", "last", "first", "fixed"):
        assert np.array_equal(got[name], getattr(wanted, name)), name


@needs_cc
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("trig", ["libm", "own"])
def test_without_fusing_the_steps_are_numpy_s(built, real, trig):
    """With libm's sines every step but those is NumPy's own; a sine differs by an ulp or two, which the program carries
    along and, here and there, divides by something small."""
    lib = built(text_of("f", PROGRAM, Dialect(real, trig)), "-DEW_USE_FMA=0", *FUSED, "-ffp-contract=off")
    got = called(lib, "f", PROGRAM, {"v": V}, REALS[real])["many"]
    wanted = PROGRAM.evaluate(V, dtype=REALS[real])["many"]
    apart = np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted))
    # A comparison may flip where its two sides agree to rounding; what `where` then jumps by is no error of a step.
    assert np.mean(apart <= 1e4 * np.finfo(REALS[real]).eps) > 0.99


# ---- sine and cosine
SINCOS = trace(
    lambda _, x: {"s": sin(x[0]), "c": cos(x[0]), "alone": cos(x[0] * 2.0)}, None, {"x": (1,)}, name="sincos"
)


def hard_points() -> np.ndarray:
    rng = np.random.default_rng(0)
    multiples = np.arange(-6300, 6301, 70) * (np.pi / 2)
    near = np.concatenate([multiples, np.nextafter(multiples, 1e9), np.nextafter(multiples, -1e9)])
    return np.concatenate(
        [rng.uniform(-1e4, 1e4, 300), rng.uniform(-4, 4, 300), near, 10.0 ** rng.uniform(-300, 0, 50), [0.0]]
    )


WAYS = {
    "fused": (*FUSED,),
    "apart": ("-DEW_USE_FMA=0", "-ffp-contract=off"),
    "a compiler that fuses as it likes": (*FUSED, "-O2", "-ffp-contract=fast", "-std=gnu99"),
}


@needs_cc
@pytest.mark.parametrize("way", WAYS)
def test_own_sines_within_two_ulp(built, way):
    lib = built(text_of("f", SINCOS, Dialect("double", "own")), *WAYS[way])
    x = hard_points()
    got = called(lib, "f", SINCOS, {"x": x[:, None]})
    mpmath.mp.dps = 40
    for name, exact_of in (("s", mpmath.sin), ("c", mpmath.cos)):
        for xi, yi in zip(x, got[name], strict=True):
            exact = exact_of(mpmath.mpf(float(xi)))
            ulp = np.spacing(abs(float(exact))) if exact != 0 else np.spacing(0.0)
            assert abs(mpmath.mpf(float(yi)) - exact) < 2 * mpmath.mpf(float(ulp)), xi  # as the comment beside it says


@needs_cc
@pytest.mark.parametrize("way", WAYS)
def test_own_sines_in_single_precision(built, way):
    lib = built(text_of("f", SINCOS, Dialect("float", "own")), *WAYS[way])
    x = np.random.default_rng(2).uniform(-1e4, 1e4, 3000).astype(np.float32)
    got = called(lib, "f", SINCOS, {"x": x[:, None]}, np.float32)
    for name, exact in (("s", np.sin(x.astype(float))), ("c", np.cos(x.astype(float)))):
        assert np.abs(got[name] - exact).max() < 2.0**-23  # as the comment beside it says


@needs_cc
def test_own_sines_of_infinity_and_nan_are_nan(built):
    lib = built(text_of("f", SINCOS, Dialect("double", "own")), *FUSED)
    got = called(lib, "f", SINCOS, {"x": np.array([[np.inf], [-np.inf], [np.nan]])})
    assert all(np.isnan(values).all() for values in got.values())


@needs_cc
def test_own_sines_refuse_fast_math(tmp_path):
    (tmp_path / "x.c").write_text(text_of("f", SINCOS, Dialect("double", "own")))
    with pytest.raises(AssertionError, match="need IEEE arithmetic"):
        compiled([CC, "-ffast-math", "-c", "x.c"], cwd=tmp_path)


# ---- numbers and names
@given(st.floats(allow_nan=False))
def test_a_literal_is_the_number(value):
    text = literal(value, "double").strip("()")
    assert float(text.replace("HUGE_VAL", "inf")) == value
    assert re.fullmatch(r"-?(HUGE_VAL|\d+\.\d+(e[+-]\d+)?|\d+e[+-]\d+)", text)  # never an integer


@given(st.floats(allow_nan=False))
def test_a_float_literal_is_the_nearest_float(value):
    nearest = rounded(value, "float")
    text = literal(value, "float").strip("()")
    read = float(text.replace("HUGE_VALF", "inf").rstrip("f")) if "HUGE" not in text else float(nearest)
    assert rounded(read, "float") == nearest
    if abs(value) < 3e38:
        assert struct.pack("f", value) == struct.pack("f", nearest)
        assert text.endswith("f")
        assert len(digits(abs(nearest), "float")) <= 16


@given(st.text(max_size=80))
def test_an_identifier_is_one(text):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", identifier(text))


@needs_cc
def test_awkward_argument_names(built):
    ports = ("double", "t1", "sin", "ew_bits", "count", "λ", "μ", "class", "EW_FMA")
    program = trace(
        lambda _, **x: {"t1": sin(x["t1"]) + sum(x.values()), "λ": x["λ"] * 2.0}, None, dict.fromkeys(ports, ())
    )
    names = argument_names((*program.inputs, *program.outputs))
    assert len(set(names)) == len(names) == 11
    lib = built(text_of("f", program, Dialect("double", "own")), *FUSED)
    inputs = {p: np.arange(1.0, 4.0) + k for k, p in enumerate(ports)}
    got = called(lib, "f", program, inputs)
    assert np.allclose(got["t1"], program.evaluate(**inputs)["t1"])
    assert np.array_equal(got["λ"], 2 * inputs["λ"])


def test_arguments_keep_their_names():
    assert argument_names([Port("q", (7,)), Port("qd", (7,)), Port("Jv", (3, 7))]) == ["q", "qd", "Jv"]


@needs_cc
def test_an_output_may_lie_where_an_input_lies(built):
    program = trace(lambda _, x: np.array([x[2], x[0] * x[1], sin(x[0])]), None, {"x": (3,)})
    lib = built(text_of("f", program, Dialect()))
    x = np.array([0.3, 2.0, 5.0])
    wanted = program.evaluate(x)
    at = ctypes.c_void_p(x.ctypes.data)
    lib.f(at, at)
    assert np.allclose(x, wanted, rtol=1e-15)  # a sine may differ by an ulp


@pytest.mark.parametrize(("quantity", "most"), [("inverse_dynamics", 58), ("coriolis_matrix", 120)])
def test_few_values_are_alive_at_once(quantity, most):
    """What a recursion leaves at a joint is used at once: 55 and 117 values, and 84 and 140 if it waits for the end.

    A compiler for a microcontroller keeps our order, and values that wait are flash and stack.
    """
    method = {"inverse_dynamics": "rnea", "coriolis_matrix": "christoffel"}[quantity]
    steps = Source(dynamics.program(er.load("panda").model, quantity, method), Dialect()).steps
    last = {k: at for at, (_, (_, *operands)) in enumerate(steps) for k in operands}
    ends = [last[k] for k, _ in steps if k in last]
    born = [at for at, (k, _) in enumerate(steps) if k in last]
    alive = [sum(b <= at <= e for b, e in zip(born, ends, strict=True)) for at in range(len(steps))]
    assert max(alive) <= most
