"""Kernels of so many inputs that no function loads all of them: the same numbers, and NaN found wherever it is."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom import chains
from elbowroom.algebra import trace
from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled, entry, finite, llvm, lower


def _sums(_, x, y):
    """Many steps that take inputs far apart, one of them passed on as it is."""
    found, total = [x[7]], y[0]
    for k in range(len(x)):
        total = total * 0.5 + x[k] * x[(k * 37) % len(x)]
        if k % 50 == 0:
            found.append(total)
    return vector(*found, total)


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(lower, "MANY", 300)
    monkeypatch.setattr(finite, "MOST", 1000)
    monkeypatch.setattr(llvm, "ALONE", 500)
    return compiled(_sums, None, {"x": (1501,), "y": (2,)}, name="sums")


@pytest.mark.parametrize("states", [1, 3, 37])
def test_the_same_numbers_whoever_loads_the_inputs(kernel, states):
    rng = np.random.default_rng(states)
    x, y = rng.uniform(-1, 1, (states, 1501)), rng.uniform(-1, 1, (states, 2))
    found = kernel(x, y) if states > 1 else kernel(x[0], y[0])[None]
    wanted = np.array([_sums(None, *each) for each in zip(x, y, strict=True)], dtype=float)
    assert np.abs(found - wanted).max() < 1e-14  # a fused product or two of numbers near 1


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 15, 700, 1487, 1496, 1500])
def test_a_number_that_is_none_is_found(kernel, at, number):
    """In the loop over sums, in the vectors after it, and in the last one by itself."""
    x = np.zeros(1501)
    x[at] = number
    with pytest.raises(ValueError, match="x"):
        kernel(x, np.zeros(2))
    kernel(np.full(1501, 1e300), np.zeros(2))  # numbers, however large


def test_many_inputs_are_looked_through_in_a_loop(monkeypatch):
    """The test above is of that loop."""
    program = trace(_sums, None, {"x": (1501,), "y": (2,)}, name="sums")
    assert "finite_rows" not in entry.emit(program, "double")
    monkeypatch.setattr(finite, "MOST", 1000)
    assert "@finite_rows" in entry.emit(program, "double")


@pytest.mark.slow
def test_a_long_adjoint_is_compiled_soon_and_right():
    """Of 20 joints of a planar chain: 8,000 numbers that it is given."""
    arm = chains.planar(20)
    product = compiled(arm.compile("christoffel").program.vjp())
    rng = np.random.default_rng(0)
    q, weights = rng.uniform(-1, 1, 20), rng.uniform(-1, 1, (20, 20, 20))
    step, found = 1e-6, product(q, weights)
    for k in (0, 7, 19):
        e = step * np.eye(20)[k]
        slope = ((arm.christoffel(q + e) - arm.christoffel(q - e)) * weights).sum() / (2 * step)
        assert found[k] == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(found).max())
