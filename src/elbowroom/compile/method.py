"""Methods that a kernel computes, and kernels as properties: one way for `Arm`, `Body` and `Skeleton`.

    @compiled_once
    def kernel(self):                       made when it is first asked for, under the compiler's lock, and kept
        return compiled(...)

    @kernel_method
    def rows(self, q, qd, *, out=None):
        return answer(self, Body.rows, self.kernel, q, qd, out=out)

When a method is first looked up on an object, an emitted function (entry.py) takes its place in the object's `__dict__`
and stays there, so that all references are to the same function.  It calls the method as it is written until that has
made its kernel.  Then the kernel's code answers for plain states by itself and calls the method for anything else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

from . import entry
from .engine import COMPILING
from .kernel import Kernel

M = TypeVar("M", bound=Callable[..., Any])
R = TypeVar("R")


def kernel_method(method: M) -> M:
    """A method whose plain calls a kernel answers; it must return what `answer` does."""
    return cast("M", _KernelMethod(method))


class _KernelMethod:
    """The descriptor: of a class the method as it is written, of an object the function in its place."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self.method
        slow, name = MethodType(self.method, instance), self.method.__name__
        if getattr(type(instance), name) is not self.method or not entry.supported():
            return slow  # super() in a subclass that has its own, which must stay in its place
        return vars(instance).setdefault(name, entry.function(name, slow))


def answer(instance: object, method: Callable[..., Any], kernel: Kernel, *inputs: Any, out: Any = None) -> Any:
    """What the kernel gives; from now on its code answers the object's method, if that is `method`, as of the class.

    A subclass with a method of its own may call the one that it hides: the kernel is not the answer of its own.
    """
    name = method.__name__
    if getattr(type(instance), name) is method:
        kernel.serve(vars(instance).get(name))
    return kernel(*inputs) if out is None else kernel(*inputs, out=out)


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
