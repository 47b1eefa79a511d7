"""Calls that are timed, as a user types them: ours, and those of another library (a `Peer`).

Ours: `arm.mass_matrix(q)`, with `out=`, for a batch, on more threads, in float32.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ... import dynamics
from ...arm import Arm
from ...compile import engine
from ..timing import FirstCall, Statement

Array = NDArray[np.float64]
Arrays = Sequence[Array]
"""q, qd, qdd and tau of a state (n,), or of a batch (B, n)."""

STATE = ("q", "qd", "qdd", "tau")
POSE_AND_JACOBIAN = "pose and jacobian"
UNCACHED = {"ELBOWROOM_CACHE": "off"}


def states(rng: np.random.Generator, *shape: int) -> list[Array]:
    """q, qd, qdd and tau, each an array of its own of this shape."""
    return [rng.uniform(-1, 1, shape) for _ in STATE]


def inputs(quantity: str) -> str:
    """What it takes, as it is typed: "q, qd"."""
    return ", ".join(dynamics.quantity(quantity).inputs)


def one(arm: Arm, quantity: str, state: Arrays, *, out: bool = False) -> Statement:
    """One state: array in, new array out; or into an array that is there (`out`)."""
    names: dict[str, object] = {"arm": arm} | dict(zip(STATE, state, strict=True))
    if quantity == POSE_AND_JACOBIAN:
        names |= {"T": np.empty((4, 4)), "J": arm.jacobian(state[0])}
        return Statement("arm.pose(q, out=T), arm.jacobian(q, out=J)" if out else "arm.pose(q), arm.jacobian(q)", names)
    if not out:
        return Statement(f"arm.{quantity}({inputs(quantity)})", names)
    result = np.empty(dynamics.quantity(quantity).shape(arm.n))
    return Statement(f"arm.{quantity}({inputs(quantity)}, out=result)", names | {"result": result})


def by_method(arm: Arm, quantity: str, method: str, state: Arrays) -> Statement:
    """One state through the kernel of a named method."""
    kernel = arm.compile(quantity, method=method)
    named = SimpleNamespace(**{quantity: kernel.fast(kernel.general)})  # in an attribute, as the arm's own is
    return Statement(f"named.{quantity}({inputs(quantity)})", {"named": named} | dict(zip(STATE, state, strict=True)))


def many(
    arm: Arm, quantity: str, batch: Arrays, *, threads: int = 1, dtype: DTypeLike = np.float64, out: bool = True
) -> Statement:
    """A batch, one state a row; into an array that is there, as one who computes many batches does, or a new one."""
    kernel = arm.compile(quantity, dtype=dtype)
    names: dict[str, object] = {"kernel": kernel} | {
        name: x.astype(dtype) for name, x in zip(STATE, batch, strict=True)
    }
    given = inputs(quantity) + (f", threads={threads}" if threads > 1 else "")  # one is what a call without it takes
    if not out:
        return Statement(f"kernel({given})", names)
    shape = len(batch[0]), *dynamics.quantity(quantity).shape(arm.n)
    return Statement(f"kernel({given}, out=result)", names | {"result": np.empty(shape, dtype)})


def first_call(arm: Arm, quantity: str) -> FirstCall:
    """How long the first call takes where neither this process nor a cache has its code."""
    fresh, zeros = Arm(arm.model), np.zeros(arm.n)
    engine.forget()
    with environment(**UNCACHED):
        start = time.perf_counter()
        fresh.compile(quantity)(*[zeros] * len(dynamics.quantity(quantity).inputs))
        return FirstCall(arm.name, arm.n, quantity, time.perf_counter() - start)


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """These variables of the environment, for a while."""
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


# ---- other libraries


def as_given(array: Array) -> object:
    """An input as we take it: a state (n,), or one state a row."""
    return array


@dataclass(frozen=True)
class Peer:
    """Another library on one arm: statements by quantity, over the names q, qd, qdd, tau and those in `names`.

    A quantity that it does not have is left out.
    """

    name: str
    version: str
    names: Mapping[str, object]
    one: dict[str, str] = field(default_factory=dict)  # one state
    many: dict[str, str] = field(default_factory=dict)  # a batch in one call
    ready: Callable[[Array], object] = as_given  # a batch's input as the peer wants it, made outside of the clock
    ready_one: Callable[[Array], object] = as_given

    def for_state(self, quantity: str, state: Arrays) -> Statement:
        """Its statement for one state (q, qd, qdd, tau)."""
        return Statement(self.one[quantity], {**self.names} | _named(self.ready_one, state))

    def for_batch(self, quantity: str, batch: Arrays) -> Statement:
        """Its statement for a batch, one state a row."""
        return Statement(self.many[quantity], {**self.names} | _named(self.ready, batch))

    def in_loop(self, quantity: str, batch: Arrays) -> Statement:
        """A list of its single calls, where it has no batch of its own."""
        rows = [tuple(x[k] for x in batch) for k in range(len(batch[0]))]
        loop = f"for q, qd, qdd, tau in rows:\n    {self.one[quantity]}"
        return Statement(loop, {**self.names} | {"rows": rows})


def _named(ready: Callable[[Array], object], arrays: Arrays) -> dict[str, object]:
    return {name: ready(x) for name, x in zip(STATE, arrays, strict=True)}
