"""Our own sine and cosine: accuracy against 60 digits, the same bits in every width, with and without fused steps."""

from __future__ import annotations

import ctypes

import mpmath
import numpy as np
import pytest

from elbowroom.algebra import cos, sin, trace
from elbowroom.compile import engine, llvm

PROGRAM = trace(lambda _, x: {"s": sin(x), "c": cos(x)}, None, {"x": (1,)}, name="sincos")
HOST = engine.host()


def compiled(target: llvm.Target, dtype=np.float64):
    """sin and cos of an array through `many`, for a target."""
    code = engine.object_code(llvm.module(PROGRAM, target, np.dtype(dtype), "many"), target)
    loaded = engine.Loaded(code)
    many = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("many"))

    def run(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s, c = np.empty_like(x), np.empty_like(x)
        pointers = (ctypes.c_void_p * 3)(*(a.__array_interface__["data"][0] for a in (x, s, c)))
        assert many(pointers, len(x)) == -1
        return s, c

    run.keep = loaded
    return run


def x86(fma: bool, bits: int) -> llvm.Target:
    """This CPU, told how wide to go and whether to fuse; without fusing, its fma instructions are switched off too."""
    features = HOST.features if fma else HOST.features.replace("+fma", "-fma")
    return llvm.Target(HOST.cpu, features, bits, fma)


fused_and_not = pytest.mark.parametrize("fma", [True, False] if HOST.fma else [False])


def hard_points() -> np.ndarray:
    """Random angles up to 1e4, and the doubles next to multiples of pi/2, where the result cancels to nothing."""
    rng = np.random.default_rng(0)
    multiples = np.arange(-6300, 6301, 7) * (np.pi / 2)
    near = np.concatenate([multiples, np.nextafter(multiples, 1e9), np.nextafter(multiples, -1e9)])
    tiny = 10.0 ** rng.uniform(-300, 0, 200)
    return np.concatenate([rng.uniform(-1e4, 1e4, 2000), rng.uniform(-4, 4, 2000), near, tiny, -tiny, [0.0]])


@fused_and_not
def test_within_two_ulp_up_to_1e4(fma):
    x = hard_points()
    s, c = compiled(x86(fma, 256))(x)
    mpmath.mp.dps = 60
    for computed, exact_of in ((s, mpmath.sin), (c, mpmath.cos)):
        worst = 0.0
        for xi, yi in zip(x, computed, strict=True):
            exact = exact_of(mpmath.mpf(float(xi)))
            ulp = np.spacing(abs(float(exact))) if exact != 0 else np.spacing(0.0)
            worst = max(worst, float(abs(mpmath.mpf(float(yi)) - exact) / mpmath.mpf(float(ulp))))
        assert worst < 2.0  # what the docstring promises


@fused_and_not
def test_absolute_error_up_to_1e9(fma):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-1e9, 1e9, 2000), np.round(rng.uniform(-6e8, 6e8, 500)) * (np.pi / 2)])
    s, c = compiled(x86(fma, 256))(x)
    mpmath.mp.dps = 60
    for computed, exact_of in ((s, mpmath.sin), (c, mpmath.cos)):
        worst = max(
            abs(mpmath.mpf(float(y)) - exact_of(mpmath.mpf(float(v)))) for v, y in zip(x, computed, strict=True)
        )
        assert worst <= mpmath.mpf(2) ** -52  # what the docstring promises


@fused_and_not
def test_the_same_bits_in_every_width(fma):
    x = hard_points()
    results = [compiled(x86(fma, bits))(x) for bits in (128, 256, 512)]
    for s, c in results[1:]:
        assert np.array_equal(s, results[0][0])
        assert np.array_equal(c, results[0][1])


@fused_and_not
def test_single_precision_within_two_ulp(fma):
    x = np.random.default_rng(2).uniform(-1e4, 1e4, 20000).astype(np.float32)
    s, c = compiled(x86(fma, 256), np.float32)(x)
    for computed, exact in ((s, np.sin(x.astype(float))), (c, np.cos(x.astype(float)))):
        # Absolute, at the spacing next to 1: single precision keeps no guard against cancellation near multiples of pi.
        assert np.abs(computed - exact).max() < 2 * np.spacing(np.float32(0.5))


def test_infinity_gives_nan_and_not_a_number_stays():
    program = trace(lambda _, x: sin(1.0 / x) + cos(1.0 / x), None, {"x": (1,)}, name="wild")
    loaded = engine.Loaded(engine.object_code(llvm.module(program, HOST, np.dtype(float), "many"), HOST))
    many = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("many"))
    x, y = np.array([0.0, -0.0, 1.0, 0.5, 0.0]), np.zeros(5)
    many((ctypes.c_void_p * 2)(x.__array_interface__["data"][0], y.__array_interface__["data"][0]), 5)
    assert np.isnan(y[[0, 1, 4]]).all()
    assert np.allclose(y[2:4], np.sin(1 / x[2:4]) + np.cos(1 / x[2:4]))
