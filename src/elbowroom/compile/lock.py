"""The lock of everything that compiles, and fork.

There is one lock for the process, as LLVM's context is one.  A fork waits for it and for llvmlite's own: a child has
none of its parent's other threads, so what one of them was changing would stay half changed there, and a lock that it
held would stay locked.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ParamSpec, TypeVar

from llvmlite.binding import ffi

P = ParamSpec("P")
R = TypeVar("R")

COMPILING = threading.RLock()
_LLVM: Any = getattr(ffi.lib, "_lock", nullcontext())  # held in every call into LLVM, also where an object of it dies


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """A function that holds the lock."""

    @functools.wraps(function)
    def locked(*args: P.args, **named: P.kwargs) -> R:
        with COMPILING:
            return function(*args, **named)

    return locked


class _CompiledOnce(functools.cached_property[R]):
    """`functools.cached_property` has a lock of its own before Python 3.12, of which a fork knows nothing."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        kept, name = vars(instance), self.func.__name__
        with COMPILING:
            if name not in kept:
                kept[name] = self.func(instance)
            return kept[name]


def compiled_once(make: Callable[[Any], R]) -> functools.cached_property[R]:
    """A property that is made when it is first asked for, under the lock, and kept."""
    return _CompiledOnce(make)


def _before_fork() -> None:
    COMPILING.acquire()
    _LLVM.__enter__()


def _after_fork() -> None:
    _LLVM.__exit__(None, None, None)
    COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
