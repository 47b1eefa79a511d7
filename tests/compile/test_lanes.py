"""Many states at once: rows in and out of lanes for every width, and the order of the steps."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from elbowroom.algebra import cos, sin, trace
from elbowroom.compile import compiled, engine, llvm
from elbowroom.compile.lower import SHORT, lower

HOST = engine.host()


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 9, 13, 17])
def test_every_element_comes_from_its_place_and_goes_to_its_place(size, bits, dtype):
    """Rows reversed, and every second element alone: tiles of all widths, overlapping ones, columns by themselves."""
    program = trace(lambda _, x: {"back": x[::-1], "some": x[::2]}, None, {"x": (size,)}, name="places")
    target = llvm.Target(HOST.cpu, HOST.features, bits, HOST.fma)
    loaded = engine.Loaded(engine.object_code(llvm.module(program, target, np.dtype(dtype), "many"), target))
    many = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("many"))
    count = 2 * target.lanes("double" if dtype is np.float64 else "float") + 1
    x = np.arange(count * size, dtype=dtype).reshape(count, size)
    back, some = np.full((count + 1, size), -1, dtype), np.full((count + 1, -(-size // 2)), -1, dtype)
    pointers = (ctypes.c_void_p * 3)(*(a.__array_interface__["data"][0] for a in (x, back, some)))
    assert many(pointers, count) == -1
    assert np.array_equal(back[:-1], x[:, ::-1])
    assert np.array_equal(some[:-1], x[:, ::2])
    assert (back[-1] == -1).all()  # nothing is written behind the end
    assert (some[-1] == -1).all()


def steps_of(function, **inputs):
    return [k for k, _ in lower(trace(function, None, inputs, name="steps")).steps]


def test_steps_are_in_the_order_of_the_algorithm_unless_a_short_program_divides():
    def both(_, x):
        first, second = x[0] * x[1], x[1] * x[2]
        return [second * 3.0, first * 2.0]

    def divided(_, x):
        first, second = x[0] * x[1], x[1] * x[2]
        return [second / x[0], first * 2.0]

    def long(_, x):
        total = x[0]
        for _step in range(SHORT):
            total = total * x[1]
        return [*divided(_, x), total]

    assert steps_of(both, x=(3,)) == sorted(steps_of(both, x=(3,)))
    assert steps_of(divided, x=(3,)) != sorted(steps_of(divided, x=(3,)))
    assert steps_of(long, x=(3,)) == sorted(steps_of(long, x=(3,)))


@pytest.mark.parametrize("joints", [1, 4, 5, 9, 12, 35])
def test_sines_of_any_number_of_joints(joints):
    """One state packs its angles into vectors, a batch takes groups of them: the bits are the same."""
    program = trace(lambda _, q: {"s": sin(q), "c": cos(q)}, None, {"q": (joints,)}, name="turns")
    kernel = compiled(program)
    Q = np.random.default_rng(0).uniform(-9, 9, (6, joints))
    batch = kernel(Q)
    np.testing.assert_allclose(batch.s, np.sin(Q), rtol=0, atol=2**-52)  # 2 ulp of numbers up to one
    np.testing.assert_allclose(batch.c, np.cos(Q), rtol=0, atol=2**-52)
    for k, q in enumerate(Q):
        one = kernel(q)
        assert np.array_equal(one.s, batch.s[k])
        assert np.array_equal(one.c, batch.c[k])
