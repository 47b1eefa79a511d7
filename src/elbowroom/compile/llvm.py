"""CPU code through llvmlite: one state, or many at once in SIMD lanes.

For one Program and one floating-point type there are two modules, each made when it is first needed:

    one(inputs..., outputs...)      straight-line code for one state; sines of all joints in one vector operation
    single(pointers)                `one` for callers that hold an array of pointers
    entry, bind                     `one` for CPython (entry.py)

    many(pointers, count)           blocks of `lanes` states, one state a lane, row-major arrays in and out; returns
                                    -1, or the first state of a block with a NaN or infinity in it, where it stopped

A Table has one function of `lanes` entries (`block`) with pointers of its own for every lane; its `one` is the loop
over blocks that looks those pointers up, and its `many` calls `one` for each array of rows.

A Rolled has loops over its joints in `one` and in `block` (rolled_functions.py).

The code has no fast-math: sums and products are done as written and fused by `lower` alone, so one state and the same
state in a batch give the same bits.  Long programs are cut into functions of `CHUNK` steps (cut.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import Program, Rolled, Table
from . import entry
from .cut import crossing, slots_for
from .emit import Emitter
from .ir import Writer
from .loops import HEAP, arguments, finite, gathering, many, single, tables
from .lower import Lowered, lower
from .rolled_functions import function as rolled_function

ROOM = "@room = internal global [64 x i64] zeroinitializer"  # the loader's table of outside functions lies behind it
LINE = 64  # bytes of a cache line
ALONE = 2000  # steps that one function still holds; longer ones compile faster in pieces and run as fast
CHUNK = 500  # steps a function where there are more


@dataclass(frozen=True)
class Target:
    """The CPU to write for."""

    cpu: str
    features: str
    vector_bits: int
    fma: bool

    def lanes(self, scalar: str) -> int:
        """States at once: what one vector register holds."""
        return max(2, self.vector_bits // (64 if scalar == "double" else 32))


def module(program: Program | Table | Rolled, target: Target, dtype: np.dtype[np.floating], kind: str) -> str:
    """LLVM IR text of a Program or Table for one state (kind "one") or for many ("many")."""
    scalar = {8: "double", 4: "float"}[dtype.itemsize]
    needed: set[str] = {ROOM, *HEAP, "declare void @llvm.trap()"}
    if isinstance(program, Rolled):
        lanes, name = target.lanes(scalar), "one" if kind == "one" else "block"
        parts = [rolled_function(name, program, scalar, lanes, target.fma, needed)]
        if kind == "one":
            parts += [single(program), entry.emit(program) if scalar == "double" else ""]
        else:
            parts += [finite(program, Writer(scalar, lanes, target.fma, needed=needed)), many(program, scalar, lanes)]
        return "\n".join([*sorted(needed), *parts, ""])
    if isinstance(program, Table):
        lanes = target.lanes(scalar)
        writer = Writer(scalar, lanes, target.fma, needed=needed)
        parts = [
            *_function("block", lower(program.program), writer, gathered=True),
            gathering(program, scalar, lanes),
        ]
        if kind == "one":
            parts += [single(program), entry.emit(program) if scalar == "double" else ""]
        else:
            parts += [tables(program, scalar)]
        return "\n".join([*sorted(needed), *parts, ""])
    lowered = lower(program)
    if kind == "one":
        parts = [
            *_function("one", lowered, Writer(scalar, 1, target.fma, needed=needed)),
            single(program),
            entry.emit(program) if scalar == "double" else "",
        ]
    else:
        lanes = target.lanes(scalar)
        needed.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        parts = [
            *_function("block", lowered, Writer(scalar, lanes, target.fma, needed=needed)),
            finite(program, Writer(scalar, lanes, target.fma, needed=needed)),
            many(program, scalar, lanes),
        ]
    return "\n".join([*sorted(needed), *parts, ""])


def _function(name: str, lowered: Lowered, writer: Writer, *, gathered: bool = False) -> list[str]:
    """One function, or a chain of them with a scratch array; `gathered`: with pointers of its own for every lane."""
    total = len(lowered.steps)
    chunks = [lowered.steps] if total <= ALONE else [lowered.steps[k : k + CHUNK] for k in range(0, total, CHUNK)]
    emit = Emitter(lowered, writer, alone=len(chunks) == 1, gathered=gathered)
    lanes = writer.lanes if gathered else 0
    aligned = f"alignstack({LINE}) " if writer.lanes > 1 else ""  # a vector that waits on the stack lies in one line
    parameters = arguments(lowered.program, "ptr" if gathered else "ptr noalias", lanes)  # lanes may share a row
    if len(chunks) == 1:
        body = emit.chunk(chunks[0], set(), set(), first=True)
        return [f"define void @{name}({parameters}) {aligned}{{", *body, "  ret void", "}"]
    functions, calls = [], []
    crossings = crossing(lowered, chunks)
    emit.slots = slots_for(crossings)
    for number, chunk in enumerate(chunks):
        body = emit.chunk(chunk, *crossings[number], first=number == 0)
        functions += [f"define internal void @{name}_{number}({parameters}, ptr noalias %scratch) {aligned}{{", *body]
        functions += ["  ret void", "}"]
        calls.append(f"  call void @{name}_{number}({arguments(lowered.program, lanes=lanes)}, ptr %scratch)")
    size = max(emit.slots.values(), default=0) + 1
    functions += [
        f"define void @{name}({parameters}) {{",
        f"  %scratch = call ptr @malloc(i64 {size * emit.w.bytes})",  # on the heap: a thread's stack may be small
        "  %none = icmp eq ptr %scratch, null",
        "  br i1 %none, label %poor, label %go",
        "poor:",
        "  call void @llvm.trap()",
        "  unreachable",
        "go:",
        *calls,
        "  call void @free(ptr %scratch)",
        "  ret void",
        "}",
    ]
    return functions
