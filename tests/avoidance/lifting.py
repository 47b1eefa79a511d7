"""One question, four ways: floats, floats lifted out of their settings, a traced Program, compiled code."""

from __future__ import annotations

import numpy as np

import elbowroom as er
from elbowroom.avoidance.settings import leaves, lifted
from elbowroom.compile import compiled

# Compiled code fuses products with sums and has its own cosine: each operation may round differently by 1e-16, a few
# dozen in a row on numbers of order one; strengths reach 1e3 or so, hence relative.
ROUNDING = {"rtol": 1e-11, "atol": 1e-12}


def rows(result):
    """Everything a function returned, as one flat row of floats."""
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])


def four_ways(function, settings, **inputs):
    """Asserts that `function(settings, **inputs)` is the same all four ways, every gain a runtime input; gives it."""
    inputs = {name: np.asarray(value, dtype=float) for name, value in inputs.items()}
    plain = {name: value if value.ndim else float(value) for name, value in inputs.items()}
    values = np.array([value for _, value in leaves(settings)])
    found = rows(function(settings, **plain))
    assert np.array_equal(rows(function(lifted(settings, values.tolist()), **plain)), found)

    def with_gains(_, gains, **given):
        return function(lifted(settings, gains), **given)

    program = er.trace(with_gains, None, {"gains": values.shape} | {k: v.shape for k, v in inputs.items()})
    kernel = compiled(program)
    for way in (program.evaluate, kernel):
        result = way(values, *inputs.values())
        result = result._asdict() if hasattr(result, "_asdict") else result
        np.testing.assert_allclose(rows(result), found, **ROUNDING)
    return found
