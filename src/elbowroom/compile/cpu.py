"""The CPU backend: kernels from the cache or compiled now, for one state and for many."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import llvmlite
import numpy as np

from .. import disk_cache as disk
from ..algebra import Port
from . import engine, entry, llvm, loops, team
from .engine import OfThisProcess
from .kernel import Array, Kernel, Signature
from .lock import alone
from .loops import Compilable

if TYPE_CHECKING:
    from .recipe import Recipe

BLOCK = 4096  # states that one thread does alone: fewer are not worth waking another
LEAST = 2048  # of the last pieces


class Code(OfThisProcess):
    """One function (`one` or `many`) of a kernel, compiled when it is first needed."""

    def __init__(self, identity: str | None, kind: str, dtype: np.dtype[Any], make: Callable[[], Compilable]) -> None:
        self.kind, self.dtype, self.make = kind, dtype, make
        self.name = identity and disk.key(identity, kind, dtype.str, engine.host(), llvmlite.__version__)
        self._loaded: engine.Loaded | None = None

    @alone
    def facts(self, describe: Callable[[Compilable], dict[str, Any]]) -> dict[str, Any]:
        """What the cache knows about the kernel; compiles it if it knows nothing."""
        found = disk.load(self.name) if self.name else None
        if found is None:
            program = self.make()
            code = engine.object_code(llvm.module(program, engine.host(), self.dtype, self.kind), engine.host())
            found = describe(program), code
            if self.name:
                disk.store(self.name, *found)
        self._loaded = engine.Loaded(found[1])
        return found[0]

    @alone
    def address(self, function: str, describe: Callable[[Compilable], dict[str, Any]]) -> int:
        """Where a function of it is."""
        if self._loaded is None:
            self.facts(describe)
        assert self._loaded is not None  # facts() loads
        return self._loaded.address(function)


class Cpu(OfThisProcess):
    """Backend of one kernel: straight-line code for one state, SIMD lanes and threads for many."""

    def __init__(self, one: Code, many: Code, describe: Callable[[Compilable], dict[str, Any]]) -> None:
        self._one, self._many, self._describe = one, many, describe
        self.single = one.address("single", describe)  # of the function that takes an array of pointers
        self._single = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.single)
        self._batch: Any = None
        self._many_at = 0
        self._table: Any = None  # the entry's
        self.lanes = engine.host().lanes("double" if one.dtype.itemsize == 8 else "float")

    def one(self, inputs: list[Array], outputs: list[Array]) -> None:
        """One state."""
        self._single(_pointers(inputs + outputs))

    def many(self, inputs: list[Array], outputs: list[Array], batch: int, threads: int) -> bool:
        """Many states, the GIL released; with threads, pieces of them go to the next that is free.  False on a NaN.

        All of it is one call of machine code: Ctrl-C waits for its end, and no thread writes after it.
        """
        if self._batch is None:
            self._many_at = self._many.address("many", self._describe)
            self._batch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self._many_at)
            if self._table is not None:
                entry.offer(self._table, self._many_at)
        arrays = inputs + outputs
        threads = min(threads, _cores())  # more would only take turns
        if threads == 1 or batch <= BLOCK:
            return self._done(self._batch(_pointers(arrays), batch))
        pieces = _pieces(batch, threads, self.lanes)
        widths = [a.nbytes // batch for a in arrays]
        return self._done(team.share(self._many_at, [_address(a) for a in arrays], widths, pieces, threads))

    @staticmethod
    def _done(answer: int) -> bool:
        """What `many` returns: all done, or the state where it stopped."""
        if answer == loops.NO_MEMORY:
            raise MemoryError("no memory for a block of states")
        return answer == loops.DONE

    def entry(self, bundle: Any) -> Callable[[Any], None] | None:
        """What gives an emitted function its code; None where there can be none."""
        if self._one.dtype != np.float64 or not entry.supported():
            return None
        address, bind = (self._one.address(function, self._describe) for function in ("entry", "bind"))
        self._table = table = entry.table(bundle)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(ctypes.addressof(table))
        return lambda function: entry.enter(function, address, self, bundle, table)


@alone
def kernel(recipe: Recipe) -> Kernel:
    """The kernel of a recipe: from the cache without tracing, else of the program that the recipe makes now."""
    made: dict[str, Any] = {}

    def program() -> Any:
        if "program" not in made:
            made["method"], made["program"] = recipe.make()
        return made["program"]

    def describe(traced: Compilable) -> dict[str, Any]:
        ports = [[(p.name, p.shape) for p in side] for side in (traced.inputs, traced.outputs)]
        return {"name": traced.name, "method": made["method"], "inputs": ports[0], "outputs": ports[1]}

    one, many = (Code(recipe.identity, which, recipe.dtype, program) for which in ("one", "many"))
    facts = one.facts(describe)
    signature = Signature(
        facts["name"],
        facts["method"],
        *(tuple(Port(name, tuple(shape)) for name, shape in facts[side]) for side in ("inputs", "outputs")),
    )
    backend = Cpu(one, many, describe)
    enter = backend.entry if entry.fits(signature.inputs, signature.outputs) else None
    return Kernel(signature, backend, program, dtype=recipe.dtype, entry=enter, origin=(kernel, (recipe,)))


def _pieces(batch: int, threads: int, lanes: int) -> list[tuple[int, int]]:
    """First states and sizes: each an equal share of half of what is left, so that few are enough to end together."""
    pieces, first = [], 0
    while first < batch:
        share = max(LEAST, (batch - first) // (2 * threads))
        size = min(-(-share // lanes) * lanes, batch - first)
        pieces.append((first, size))
        first += size
    return pieces


def _cores() -> int:
    """How many threads this process can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _pointers(arrays: list[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*map(_address, arrays))
