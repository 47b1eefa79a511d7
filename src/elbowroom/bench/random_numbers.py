"""Random numbers of counters beside NumPy's generator: ns a number, in lanes and one state at a time.

python -m elbowroom.bench.random_numbers
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..algebra import normal, trace, uniform
from ..compile import compiled

CHANNELS = 16  # numbers a state of a batch
ALONE = 256  # numbers of one state: enough that the call itself hardly counts
STATES = 4096
DRAWS: dict[str, Callable[..., Any]] = {"uniform": uniform, "normal": normal}


class DrawTimes(NamedTuple):
    """ns a number."""

    what: str
    dtype: str
    lanes: float
    one_state: float  # of a call, less a call of as many additions
    numpy: float  # Generator(Philox).random or standard_normal


def measured(rounds: int = 20) -> Iterator[DrawTimes]:
    """Both distributions in both precisions; the shortest of so many rounds."""
    theirs = np.random.Generator(np.random.Philox(1))
    for dtype in (np.float64, np.float32):
        plain = _kernel(lambda _1, run, _2, channel: run + channel, ALONE, dtype)
        for what, draw in DRAWS.items():
            kernel, alone = _kernel(draw, CHANNELS, dtype), _kernel(draw, ALONE, dtype)
            runs = np.arange(STATES, dtype=dtype)[:, None]
            table, out = kernel(runs), np.empty(STATES * CHANNELS, dtype)
            numpys: Any = theirs.random if what == "uniform" else theirs.standard_normal
            one, row = runs[3], alone(runs[3])
            call = _shortest(partial(alone, one, out=row), rounds, 100)
            empty = _shortest(partial(plain, one, out=row), rounds, 100)
            yield DrawTimes(
                what,
                np.dtype(dtype).name,
                lanes=_shortest(partial(kernel, runs, out=table), rounds, 10) / table.size,
                one_state=(call - empty) / ALONE,
                numpy=_shortest(partial(numpys, out=out, dtype=dtype), rounds, 10) / out.size,
            )


def _kernel(draw: Callable[..., Any], channels: int, dtype: Any) -> Any:
    def numbers(_: object, run: Any) -> Any:
        return np.array([draw(1, run[0], 2, channel) for channel in range(channels)])

    return compiled(trace(numbers, None, {"run": (1,)}), dtype=dtype)


def _shortest(call: Callable[[], object], rounds: int, times: int) -> float:
    """ns a call."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter_ns() - start) / times)
    return best


if __name__ == "__main__":
    for row in measured():
        print(f"{row.what:8} {row.dtype}  lanes {row.lanes:.2f}  one state {row.one_state:.1f}  NumPy {row.numpy:.2f}")
