"""Our own calls, as a user types them: `arm.mass_matrix(q)`, with `out=`, for a batch, on more threads, in float32."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import dynamics
from ...arm import Arm
from ..clock import Typed
from ..report import FirstCall
from .peer import STATE

POSE_AND_JACOBIAN = "pose and jacobian"
UNCACHED = {"ELBOWROOM_CACHE": "off"}


def states(rng: np.random.Generator, *shape: int) -> list[Any]:
    """q, qd, qdd and tau, each an array of its own of this shape."""
    return [rng.uniform(-1, 1, shape) for _ in STATE]


def inputs(quantity: str) -> str:
    """What it takes, as it is typed: "q, qd"."""
    return ", ".join(dynamics.quantity(quantity).inputs)


def one(arm: Arm, quantity: str, state: list[Any], *, out: bool = False) -> Typed:
    """One state: array in, new array out; or into an array that is there (`out`)."""
    names = {"arm": arm} | dict(zip(STATE, state, strict=True))
    if quantity == POSE_AND_JACOBIAN:
        names |= {"T": np.empty((4, 4)), "J": arm.jacobian(state[0])}
        return Typed("arm.pose(q, out=T), arm.jacobian(q, out=J)" if out else "arm.pose(q), arm.jacobian(q)", names)
    if not out:
        return Typed(f"arm.{quantity}({inputs(quantity)})", names)
    result = np.empty(dynamics.quantity(quantity).shape(arm.n))
    return Typed(f"arm.{quantity}({inputs(quantity)}, out=result)", names | {"result": result})


def by_method(arm: Arm, quantity: str, method: str, state: list[Any]) -> Typed:
    """One state through the kernel of a named method."""
    kernel = arm.compile(quantity, method=method)
    named = SimpleNamespace(**{quantity: kernel.fast(kernel.general)})  # in an attribute, as the arm's own is
    return Typed(f"named.{quantity}({inputs(quantity)})", {"named": named} | dict(zip(STATE, state, strict=True)))


def many(
    arm: Arm, quantity: str, batch: list[Any], *, threads: int = 1, dtype: Any = np.float64, out: bool = True
) -> Typed:
    """A batch, one state a row; into an array that is there, as one who computes many batches does, or a new one."""
    kernel = arm.compile(quantity, dtype=dtype)
    names = {"kernel": kernel} | {name: x.astype(dtype) for name, x in zip(STATE, batch, strict=True)}
    given = inputs(quantity) + (f", threads={threads}" if threads > 1 else "")  # one is what a call without it takes
    if not out:
        return Typed(f"kernel({given})", names)
    shape = len(batch[0]), *dynamics.quantity(quantity).shape(arm.n)
    return Typed(f"kernel({given}, out=result)", names | {"result": np.empty(shape, dtype)})


def first_call(arm: Arm, quantity: str) -> FirstCall:
    """How long the first call takes where neither this process nor a cache has its code."""
    fresh, zeros = Arm(arm.model), np.zeros(arm.n)
    with _environment(**UNCACHED):
        start = time.perf_counter()
        fresh.compile(quantity)(*[zeros] * len(dynamics.quantity(quantity).inputs))
        return FirstCall(arm.name, arm.n, quantity, time.perf_counter() - start)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
