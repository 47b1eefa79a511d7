"""The compiled function: one place that makes kernels, names them in the cache and takes them to other processes.

    compiled(function, subject, inputs)     the kernel of function(subject, **inputs), as `trace` takes them
    compiled(maker, subject)                the kernel of what maker(subject) returns: a Program, or as below
    compiled(program)                       the kernel of a Program, Table, Rolled, Repeated or Unwound

A kernel on disk goes by the identity of all of these (identity.py), of the package's sources and of the compiler and
CPU.  What has no identity is compiled in every process.  A pickled kernel is these arguments, and is made of them again
where it is unpickled: from the cache, if the machine has one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algebra import trace
from ..errors import DtypeError, TraceError
from . import cpu
from .identity import UnidentifiedError, identity
from .kernel import Kernel
from .loops import Compilable


def compiled(
    function: Callable[..., Any] | Compilable,
    subject: Any = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    *,
    name: str | None = None,
    output: str = "out",
    method: str = "",
    dtype: Any = np.float64,
    result: type[tuple[Any, ...]] | None = None,
) -> Kernel:
    """The kernel of a function, from the cache without tracing it if it was compiled before.

    `inputs` are names and shapes.  Without them the function makes the program itself, function(subject) -> Program, or
    (method, Program).  `name` and `output` are those of `trace`; `method` is what the kernel says it computes by.
    `result` is the named tuple that several outputs come in, with their names; without it one is made.

    A function is followed as far as it names other functions, globals and what it encloses, so a change in any of them
    is another kernel; what it reads of files or the environment is not seen.
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise DtypeError(f"dtype must be float64 or float32; got {kind}")
    if not callable(function) and not isinstance(function, Compilable):
        raise TypeError(
            f"compiled: expected a function, a Program, Table, Rolled, Repeated or Unwound; got {function!r:.60}"
        )
    if inputs is not None and not isinstance(inputs, Mapping):
        raise TypeError(f'compiled: inputs must be names and shapes, {{"q": (7,)}}; got {inputs!r:.60}')
    shapes = None if inputs is None else {port: tuple(shape) for port, shape in inputs.items()}
    return cpu.kernel(Recipe(function, subject, shapes, name, output, method, kind, result))


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a kernel is made of: the arguments of `compiled`."""

    function: Any
    subject: Any
    inputs: dict[str, tuple[int, ...]] | None
    name: str | None
    output: str
    method: str
    dtype: np.dtype[Any]
    result: type[tuple[Any, ...]] | None = None
    identity: str | None = field(init=False)
    """The hash of all of them as they were when the kernel was made; None where something has none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", self._identity())

    def _identity(self) -> str | None:
        try:
            return identity(self.function, self.subject, self.inputs, self.name, self.output, self.method)
        except UnidentifiedError:
            return None

    def make(self) -> tuple[str, Compilable]:
        """The method and the program, traced now."""
        if self.identity != self._identity():
            raise TraceError(
                f"{self.title}: what it was compiled from has changed since (a global, what a function encloses, an "
                "array); its program cannot be traced any more: compile it again"
            )
        if isinstance(self.function, Compilable):
            made: Any = self.function
        elif self.inputs is None:
            made = self.function(self.subject)
        else:
            made = trace(self.function, self.subject, self.inputs, name=self.name, output=self.output)
        method, program = made if isinstance(made, tuple) and len(made) == 2 else (self.method, made)
        if not isinstance(program, Compilable):
            raise TypeError(
                f"{self.title}: without inputs it must return a Program, Table, Rolled, Repeated or Unwound, which "
                f"it makes of its subject; got {program!r:.60}"
            )
        return method or program.name, program

    @property
    def title(self) -> str:
        """What to call it in a message."""
        return self.name or str(getattr(self.function, "__name__", "") or getattr(self.function, "name", "kernel"))

    def portable(self) -> Recipe:
        """The same for another process: of the traced program where the function is a lambda, or in another function.

        pickle keeps functions by name alone.
        """
        try:
            pickle.dumps((self.function, self.subject))
        except Exception:  # whatever it is that an object says to being pickled
            method, program = self.make()
            return replace(self, function=program, subject=None, inputs=None, method=method)
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        found = self.portable()
        kept = (found.function, found.subject, found.inputs, found.name, found.output, found.method, found.dtype)
        return Recipe, (*kept, found.result)
