"""Execution times of the thesis' Table 2.1 on this machine: one call for a PUMA 560, by each method it compares.

Two times a method: the formulation's own text on floats, which is the like of the thesis' MATLAB functions, and the
compiled kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import dynamics
from ..dynamics.published import EXECUTION_TIMES
from ..loading import load
from .clock import race

ROBOT = "puma560"


class Times(NamedTuple):
    """Seconds a call."""

    text: float  # the formulation on floats
    compiled: float  # the kernel


def run(*, rounds: int = 20, progress: Callable[[int, int, str], None] | None = None) -> dict[tuple[str, str], Times]:
    """Times of the lines of Table 2.1 that the registry has, all contenders in turns."""
    arm = load(ROBOT)
    rng = np.random.default_rng(0)
    state = {name: rng.uniform(-1, 1, arm.n) for name in ("q", "qd", "qdd", "tau")}
    texts: dict[str, Callable[[], Any]] = {}
    kernels: dict[str, Callable[[], Any]] = {}
    for k, (quantity, method, _) in enumerate(EXECUTION_TIMES):
        if progress is not None:
            progress(k, len(EXECUTION_TIMES), f"timing {quantity}, {method}")
        what = dynamics.quantity(quantity)
        if method in what.formulations | what.variants:
            inputs = [state[name] for name in what.inputs]
            name = f"{quantity} {method}"
            texts[name] = functools.partial(dynamics.whole(quantity, method), arm.model, *inputs)
            kernels[name] = functools.partial(arm.compile(quantity, method=method), *inputs)
    slow, fast = race(texts, rounds=rounds), race(kernels, rounds=rounds)
    lines = [(quantity, method, f"{quantity} {method}") for quantity, method, _ in EXECUTION_TIMES]
    return {(q, m): Times(slow[name].best, fast[name].best) for q, m, name in lines if name in texts}
