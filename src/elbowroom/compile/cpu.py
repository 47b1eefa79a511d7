"""The CPU backend: kernels from the cache or compiled now, for one state, for many, and for many by several threads.

Threads for a batch are started, put to work and waited for inside one call of machine code.  Python is not asked until
all of them are done, so whatever interrupts the caller does so before the first has begun or after the last has ended:
no thread is left writing into the caller's arrays, and there is no pool to keep, to fill or to mend after a fork.  A
thread that cannot be started is done without: its pieces go to the others.

    work        takes the next piece until there is none left
    help        a thread's life: `work`, and the last one out wakes the caller
    share       starts the threads, lets go of the interpreter's lock, works, waits, and takes the lock again

The job is an array of words (JOB), the piece to take next and the threads at work counted in it by atomic operations.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import llvmlite
import numpy as np

from .. import disk_cache as disk
from ..errors import TraceError
from . import engine, entry, llvm, loops
from .engine import OfThisProcess, alone
from .kernel import Array, Kernel, Signature
from .loops import DONE, Compilable

if TYPE_CHECKING:
    from .recipe import Recipe

BLOCK = 4096  # states that one thread does alone: fewer are not worth waking another
LEAST = 2048  # of the last pieces


class MachineCode(OfThisProcess):
    """One function (`one` or `many`) of a kernel, compiled when it is first needed."""

    def __init__(self, identity: str | None, kind: str, dtype: np.dtype[Any], make: Callable[[], Compilable]) -> None:
        self.kind, self.dtype, self.make = kind, dtype, make
        self.name = identity and disk.key(identity, kind, dtype.str, engine.host(), llvmlite.__version__)
        self._loaded: engine.Loaded | None = None

    @alone
    def signature(self, describe: Callable[[Compilable], Signature]) -> Signature:
        """What the cache knows about the kernel; compiles it if it knows nothing."""
        found = disk.load(self.name) if self.name else None
        if found is not None:
            known, code = Signature.from_facts(found[0]), found[1]
        else:
            with engine.no_collection():
                program = self.make()
                text = llvm.module(program, engine.host(), self.dtype, self.kind)
            code = engine.object_code(text, engine.host())
            known = describe(program)
            if self.name:
                disk.store(self.name, known.facts(), code)
        self._loaded = engine.Loaded(code)
        return known

    @alone
    def address(self, function: str, describe: Callable[[Compilable], Signature]) -> int:
        """Where a function of it is."""
        if self._loaded is None:
            self.signature(describe)
        assert self._loaded is not None  # signature() loads
        return self._loaded.address(function)


class Cpu(OfThisProcess):
    """Backend of one kernel: straight-line code for one state, SIMD lanes and threads for many."""

    alone = BLOCK

    def __init__(
        self, one: MachineCode, many: MachineCode, describe: Callable[[Compilable], Signature], signature: Signature
    ) -> None:
        self._shared = {k for k, port in enumerate(signature.inputs) if port.shared}
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
        self._ready_for_many()
        arrays = inputs + outputs
        threads = min(threads, _cores())  # more would only take turns
        if threads == 1 or batch <= BLOCK:
            return self._done(self._batch(_pointers(arrays), batch))
        pieces = _pieces(batch, threads, self.lanes)
        widths = [0 if k in self._shared else a.nbytes // batch for k, a in enumerate(arrays)]
        return self._done(share(self._many_at, [_address(a) for a in arrays], widths, pieces, threads))

    def _ready_for_many(self) -> None:
        if self._batch is None:
            self._many_at = self._many.address("many", self._describe)
            self._batch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self._many_at)
            if self._table is not None:
                entry.offer(self._table, self._many_at)

    def on(self, inputs: list[Array], outputs: list[Array]) -> Callable[[int], bool]:
        """`many` on the first so many states of these arrays, which must stay where they are: as long as it lives."""
        self._ready_for_many()
        arrays, batch = inputs + outputs, self._batch
        places = _pointers(arrays)

        def run(states: int, _: list[Array] = arrays) -> bool:
            return self._done(batch(places, states))

        return run

    @staticmethod
    def _done(answer: int) -> bool:
        """What `many` returns: all done, or the state where it stopped."""
        if answer == loops.NO_MEMORY:
            raise MemoryError("no memory for a block of states")
        return answer == DONE

    def entry(self, bundle: Any) -> Callable[[Any], None] | None:
        """What gives an emitted function its code; None where there can be none.  The bundle is always the same."""
        if not entry.supported():
            return None
        address, bind = (self._one.address(function, self._describe) for function in ("entry", "bind"))
        if self._table is None:
            self._table = entry.table(bundle, self._one.dtype)
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(ctypes.addressof(self._table))
        table = self._table
        return lambda function: entry.enter(function, address, self, bundle, table)


class _Traced:
    """The program of one kernel's recipe, traced when it is needed."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.made: tuple[str, Compilable] | None = None

    def program(self) -> Compilable:
        """The program."""
        if self.made is None:
            self.made = self.recipe.make()
        return self.made[1]


class _Source:
    """Where code that is kept has its program from: any kernel of now whose recipe is still as it was compiled."""

    def __init__(self) -> None:
        self.kernels: weakref.WeakSet[_Traced] = weakref.WeakSet()
        self._method = ""  # what the program said that it computes by: the same of every kernel

    def of(self, recipe: Recipe) -> _Traced:
        """What a new kernel is made of."""
        traced = _Traced(recipe)
        traced.made = next((each.made for each in list(self.kernels) if each.made is not None), None)
        self.kernels.add(traced)
        return traced

    def program(self) -> Compilable:
        """The program of one of them; one that cannot be traced any more leaves it to the others."""
        changed: TraceError | None = None
        for traced in sorted(self.kernels, key=lambda each: each.made is None):
            try:
                traced.program()
            except TraceError as error:
                changed = error
            else:
                assert traced.made is not None  # just now
                self._method, program = traced.made
                return program
        assert changed is not None  # who asks is a kernel, so there is one
        raise changed

    def describe(self, program: Compilable) -> Signature:
        """What a kernel of it takes and gives."""
        return Signature(program.name, self._method, program.inputs, program.outputs)


class _Parts(NamedTuple):
    """What kernels of one recipe share."""

    source: _Source
    signature: Signature
    backend: Cpu


KEPT = 256
_kept: OrderedDict[tuple[object, ...], _Parts] = OrderedDict()  # of the last recipes, the newest at the end


@alone
def kernel(recipe: Recipe) -> Kernel:
    """The kernel of a recipe: of code that this process has loaded, or from the cache, or of the program traced now.

    A cell that begins anew, or a controller with another gain, asks for kernels that were there a moment ago.
    """
    where = recipe.identity and disk.folder()  # no identity, no cache or sources of two versions: nothing is the same
    which = (where, disk.SOURCES.digest, recipe.identity, recipe.dtype, recipe.result)
    parts = _kept.pop(which, None) if where else None
    source = _Source() if parts is None else parts.source
    traced = source.of(recipe)
    if parts is None:
        one, many = (MachineCode(recipe.identity, kind, recipe.dtype, source.program) for kind in ("one", "many"))
        signature = one.signature(source.describe)
        parts = _Parts(source, signature, Cpu(one, many, source.describe, signature))
    if where:
        _kept[which] = parts
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    _, signature, backend = parts
    enter = backend.entry if entry.fits(signature.inputs, signature.outputs) else None
    origin = kernel, (recipe,)
    program, dtype, result = traced.program, recipe.dtype, recipe.result
    return Kernel(signature, backend, program, dtype=dtype, entry=enter, origin=origin, result=result)


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


JOB = ("many", "arrays", "starts", "widths", "pieces", "count", "next", "busy", "answer", "lock")
PYTHON = (  # CPython's own threads and locks, which every platform has
    "PyThread_start_new_thread",
    "PyThread_allocate_lock",
    "PyThread_acquire_lock",
    "PyThread_release_lock",
    "PyThread_free_lock",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)


def _field(name: str) -> str:
    return f"  %{name}_at = getelementptr i64, ptr %job, i64 {JOB.index(name)}"


def _loaded(name: str, kind: str) -> str:
    return f"{_field(name)}\n  %{name} = load {kind}, ptr %{name}_at"


IR = f"""
define internal void @work(ptr %job) {{
entry:
{_loaded("many", "ptr")}
{_loaded("arrays", "i64")}
{_loaded("starts", "ptr")}
{_loaded("widths", "ptr")}
{_loaded("pieces", "ptr")}
{_loaded("count", "i64")}
{_field("next")}
{_field("answer")}
  %pointers = alloca ptr, i64 %arrays
  br label %take
take:
  %mine = atomicrmw add ptr %next_at, i64 1 monotonic
  %more = icmp slt i64 %mine, %count
  br i1 %more, label %piece, label %end
piece:
  %first_index = mul i64 %mine, 2
  %first_at = getelementptr i64, ptr %pieces, i64 %first_index
  %size_at = getelementptr i64, ptr %first_at, i64 1
  %first = load i64, ptr %first_at
  %size = load i64, ptr %size_at
  br label %array
array:
  %k = phi i64 [0, %piece], [%k1, %array]
  %start_at = getelementptr ptr, ptr %starts, i64 %k
  %start = load ptr, ptr %start_at
  %width_at = getelementptr i64, ptr %widths, i64 %k
  %width = load i64, ptr %width_at
  %offset = mul i64 %first, %width
  %here = getelementptr i8, ptr %start, i64 %offset
  %here_at = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %here, ptr %here_at
  %k1 = add i64 %k, 1
  %all = icmp eq i64 %k1, %arrays
  br i1 %all, label %run, label %array
run:
  %result = call i64 %many(ptr %pointers, i64 %size)
  %fine = icmp eq i64 %result, {DONE}
  br i1 %fine, label %take, label %stopped
stopped:
  store atomic i64 %result, ptr %answer_at monotonic, align 8
  br label %take
end:
  ret void
}}

define internal void @help(ptr %job) {{
  call void @work(ptr %job)
{_loaded("lock", "ptr")}
{_field("busy")}
  %others = atomicrmw sub ptr %busy_at, i64 1 acq_rel
  %last = icmp eq i64 %others, 1
  br i1 %last, label %wake, label %end
wake:
  call void @PyThread_release_lock(ptr %lock)
  br label %end
end:
  ret void
}}

define i64 @share(ptr %job, i64 %helpers) {{
entry:
{_field("lock")}
{_field("busy")}
{_field("answer")}
  %lock = call ptr @PyThread_allocate_lock()
  %none = icmp eq ptr %lock, null
  br i1 %none, label %alone, label %ready
ready:
  store ptr %lock, ptr %lock_at
  %taken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %starting
starting:
  %k = phi i64 [0, %ready], [%k1, %started]
  %enough = icmp sge i64 %k, %helpers
  br i1 %enough, label %alone, label %start
start:
  %before = atomicrmw add ptr %busy_at, i64 1 monotonic
  %thread = call i64 @PyThread_start_new_thread(ptr @help, ptr %job)
  %low = trunc i64 %thread to i32
  %failed = icmp eq i32 %low, -1
  br i1 %failed, label %without, label %started
started:
  %k1 = add i64 %k, 1
  br label %starting
without:
  %back = atomicrmw sub ptr %busy_at, i64 1 monotonic
  br label %alone
alone:
  %state = call ptr @PyEval_SaveThread()
  call void @work(ptr %job)
  %busy = atomicrmw sub ptr %busy_at, i64 1 acq_rel
  %last = icmp eq i64 %busy, 1
  br i1 %last, label %done, label %wait
wait:
  %woken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %done
done:
  call void @PyEval_RestoreThread(ptr %state)
  br i1 %none, label %end, label %free
free:
  call void @PyThread_free_lock(ptr %lock)
  br label %end
end:
  %answer = load atomic i64, ptr %answer_at monotonic, align 8
  ret i64 %answer
}}
"""


@cache
def _share() -> tuple[Any, engine.Loaded]:
    """`share`, and the code that must live as long."""
    text = IR
    for name in PYTHON:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        text = text.replace(f"@{name}(", f"inttoptr (i64 {address} to ptr)(")
    loaded = engine.Loaded(engine.object_code(text, engine.host()))
    keeps_the_lock = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)  # `share` lets it go itself
    return keeps_the_lock(loaded.address("share")), loaded


def share(
    many: int, starts: Sequence[int], widths: Sequence[int], pieces: Sequence[tuple[int, int]], threads: int
) -> int:
    """Run a kernel's `many` on the pieces (first state, states) of a batch, in this thread and `threads` - 1 others.

    `starts` are the arrays' addresses, `widths` the bytes of a state in each.  DONE, or what `many` returned where it
    stopped.
    """
    words = [_words(starts), _words(widths), _words([number for piece in pieces for number in piece])]
    given = (many, len(starts), *map(ctypes.addressof, words), len(pieces), 0, 1, DONE, 0)
    run, _ = _share()
    return int(run(_words(given), min(threads, len(pieces)) - 1))


def _words(numbers: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(numbers))(*numbers)
