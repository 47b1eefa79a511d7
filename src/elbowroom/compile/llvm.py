"""CPU code through llvmlite: one state, or many at once in SIMD lanes.

For one Program and one floating-point type there are two modules, each made when it is first needed:

    one(inputs..., outputs...)      straight-line code for one state; sines of all joints in one vector operation
    single(pointers)                `one` for callers that hold an array of pointers
    entry, bind                     `one` for CPython (entry.py)

    many(pointers, count)           blocks of `lanes` states, one state a lane, row-major arrays in and out; returns
                                    -1, or the first state of a block with a NaN or infinity in it, where it stopped

    columns(pointers)               one block of `lanes` states, all arrays as columns (transpose.py); the kind
                                    "unfused" has products and sums apart, as NumPy has them

A Table has one function of `lanes` entries (`block`) with pointers of its own for every lane; its `one` is the loop
over blocks that looks those pointers up, and its `many` calls `one` for each array of rows.

A Repeated has one function for a turn of its program, and `one` and `block` are loops around it (loops.py).

A Rolled has loops over its joints in `one` and in `block` (rolled.py), an Unwound those forth and back (unwinding.py),
a Sliced one over the slices (slices.py).

The code has no fast-math: sums and products are done as written and fused by `lower` alone, so one state and the same
state in a batch give the same bits.  Long programs are cut into functions of `CHUNK` steps (lower.py),
which LLVM translates as they stand: its optimizations of a function take a time that grows with the square of the
length, and what they would gain most by, the choice of registers, is done here (registers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..algebra import Program, Repeated, Rolled, Sliced, Table, Unwound
from ..algebra.table import WIDEST
from . import entry, finite
from .emit import Emitter
from .ir import IrWriter
from .loops import HEAP, Compilable, arguments, gathered, gathering, many, single, tables, transposing, turns
from .lower import Lowered, crossing, loading, lower, slots_for
from .rolled import function as rolled_function
from .slices import function as sliced_function
from .transpose import into_columns, into_rows
from .unwinding import unwinding

ROOM = "@room = internal global [64 x i64] zeroinitializer"  # the loader's table of outside functions lies behind it
COLUMNS = ("columns", "unfused")  # kinds of code for one block of states
LINE = 64  # bytes of a cache line
ALONE = 5500  # steps and stores that one function still holds, with registers and order as LLVM finds them best
STORES = 600  # of them; LLVM looks whether any two might be of the same place
CHUNK = 500  # steps a function where there are more: the time to compile one grows faster than its length
SPARE = 4  # registers that are left for what a step itself needs


@dataclass(frozen=True)
class Target:
    """The CPU to write for."""

    cpu: str
    features: str
    vector_bits: int
    fma: bool
    registers: int = 16  # for numbers, scalars or vectors

    def lanes(self, scalar: str) -> int:
        """States at once: what one vector register holds."""
        return max(2, self.vector_bits // (64 if scalar == "double" else 32))


def module(program: Compilable, target: Target, dtype: np.dtype[np.floating], kind: str) -> str:
    """LLVM IR text of what is to be compiled, for one state (kind "one"), for many ("many"), or for one block."""
    scalar = {8: "double", 4: "float"}[dtype.itemsize]
    needed: set[str] = {
        ROOM,
        *HEAP,
        "declare void @llvm.trap()",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    }
    lanes = target.lanes(scalar)
    if kind in COLUMNS:
        fma = target.fma and kind != "unfused"
        return _in_columns(program, IrWriter(scalar, lanes, fma, needed=needed, registers=target.registers))
    if isinstance(program, Table) and program.columns:
        lanes = min(lanes, WIDEST)
    one, wide = (IrWriter(scalar, n, target.fma, needed=needed, registers=target.registers) for n in (1, lanes))
    name, writer = ("one", one) if kind == "one" else ("block", wide)
    if isinstance(program, Table):
        parts = [*_function("block", lower(program.program), wide, program), gathering(program, scalar, lanes)]
    elif isinstance(program, Rolled):
        parts = [rolled_function(name, program, scalar, lanes, target.fma, needed)]
    elif isinstance(program, Sliced):
        parts = [sliced_function(name, program, scalar, lanes, target.fma, needed)]
    elif isinstance(program, Repeated):
        parts = _repeated(name, program, writer)
    elif isinstance(program, Unwound):
        parts = _unwound(name, program, writer)
    else:
        parts = _function(name, lower(program), writer)
    if kind == "one":
        parts += [single(program), entry.emit(program, scalar)]
        if any(port.size > finite.MOST for port in program.inputs):
            parts.append(finite.array("finite_rows", scalar))
    elif isinstance(program, Table):
        parts += [tables(program, scalar)]
    else:
        wide.restart()
        parts += [finite.block(program, wide), many(program, scalar, lanes)]
        if finite.in_loops(program):
            parts.append(finite.array("finite_rows", scalar))
    return "\n".join([*sorted(needed), *parts, ""])


def _in_columns(program: Compilable, w: IrWriter) -> str:
    """The module of `columns`: one block of states, all arrays as columns.

    A Table does one entry after the other, each of them for all states; its index arrays count values of all lanes.
    """
    if isinstance(program, Table):
        lowered, strides = lower(program.program), dict.fromkeys(program.columns, program.padded)
        parts = _function("block", lowered, w, columns=True, strides=strides)
        parts.append(gathering(program, w.type, 1))
    elif isinstance(program, Repeated):
        parts = _repeated("one", program, w, columns=True)
    elif isinstance(program, Unwound):
        parts = _unwound("one", program, w, columns=True)
    elif isinstance(program, Rolled | Sliced):
        parts = [*into_columns(w), *into_rows(w)]
        if isinstance(program, Rolled):
            parts.append(rolled_function("block", program, w.scalar, w.lanes, w.fma, w.needed))
        else:
            parts.append(sliced_function("block", program, w.scalar, w.lanes, w.fma, w.needed))
        parts += transposing("one", "block", program, w)
    else:
        parts = _function("one", lower(program), w, columns=True)
    return "\n".join([*sorted(w.needed), *parts, single(program, "columns"), ""])


def _repeated(name: str, repeated: Repeated, writer: IrWriter, *, columns: bool = False) -> list[str]:
    """The function of a Repeated, and those that it calls; `columns`: so are the caller's arrays."""
    copies = [*into_columns(writer), *into_rows(writer)] if writer.lanes > 1 and not columns else []
    turn, size = _turn("turn", repeated.program, writer, "" if columns else repeated.rows)
    return [*copies, *turn, *turns(name, repeated, writer, size, columns=columns)]


def _turn(name: str, program: Program, writer: IrWriter, rows: str) -> tuple[list[str], int]:
    """The function of a turn, all arrays columns but the rows, and the bytes that it wants to work in."""
    turn, calls, size = _pieces(name, lower(program), writer, columns=True, rows=rows)
    if calls:
        head = f"define internal void @{name}({arguments(program, 'ptr noalias')}, ptr noalias %scratch) {{"
        turn += [head, *calls, "  ret void", "}"]
    return turn, size


def _unwound(name: str, unwound: Unwound, writer: IrWriter, *, columns: bool = False) -> list[str]:
    """The function of an Unwound, and those that it calls, with one scratch array for both if either wants one."""
    copies = [*into_columns(writer), *into_rows(writer)] if writer.lanes > 1 and not columns else []
    rows = "" if columns else unwound.repeated.rows
    parts, sizes = [], []
    for function, program in (("forth", unwound.forth), ("back", unwound.back)):
        lines, size = _turn(f"{function}_alone", program, writer, rows)
        ports = ", ".join(x.rpartition(" ")[2] for x in arguments(program).split(", "))
        given = ", ".join([*(f"ptr {x}" for x in ports.split(", ")), *(["ptr %scratch"] if size else [])])
        head = f"define internal void @{function}({arguments(program)}, ptr %scratch) {{"
        parts += [*lines, head, f"  call void @{function}_alone({given})", "  ret void", "}"]
        sizes.append(size)
    return [*copies, *parts, *unwinding(name, unwound, writer, max(*sizes, 8), columns=columns)]


def _function(
    name: str,
    lowered: Lowered,
    writer: IrWriter,
    table: Table | None = None,
    *,
    columns: bool = False,
    strides: Mapping[str, int] | None = None,
) -> list[str]:
    """One function, or a chain of them with a scratch array; of a Table, with pointers of its own for every lane."""
    functions, calls, size = _pieces(name, lowered, writer, table, columns=columns, strides=strides)
    if not calls:
        return functions
    return [
        *functions,
        f"define void @{name}({_parameters(lowered, writer, table)}) {{",
        f"  %scratch = call ptr @malloc(i64 {size})",  # on the heap: a thread's stack may be small
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


def _parameters(lowered: Lowered, writer: IrWriter, table: Table | None) -> str:
    if table is not None:
        return gathered(table, "ptr", writer.lanes)  # lanes may share a row
    return arguments(lowered.program, "ptr noalias")


def _pieces(
    name: str,
    lowered: Lowered,
    writer: IrWriter,
    table: Table | None = None,
    *,
    columns: bool = False,
    rows: str = "",
    strides: Mapping[str, int] | None = None,
) -> tuple[list[str], list[str], int]:
    """One function; or, of a long program, its pieces, the lines that call them, and the bytes of their scratch array.

    `columns`: in lanes, all arrays are columns (transpose.py), but the input `rows`, which is the same in all lanes.
    """
    total = len(lowered.steps)
    stores = sum(k >= 0 for operands in lowered.program.results for k in operands)
    cut = total > CHUNK and (total + stores > ALONE or stores > STORES)
    chunks = [lowered.steps[k : k + CHUNK] for k in range(0, total, CHUNK)] if cut else [lowered.steps]
    room = writer.registers - SPARE if cut else 0
    emit = Emitter(lowered, writer, chunks, table=table, columns=columns, rows=rows, strides=strides, registers=room)
    kept = f"alignstack({LINE}) " if writer.lanes > 1 else ""  # a vector that waits on the stack lies in one line
    parameters = _parameters(lowered, writer, table)
    if not cut:
        body = emit.chunk(0, chunks[0], set(), set())
        return [f"define void @{name}({parameters}) {kept}{{", *body, "  ret void", "}"], [], 0
    kept += "noinline optnone "
    writer.keep_negatives()
    functions, calls = [], []
    emit.loads = loading(lowered, chunks, 1 if emit.whole else writer.tile)
    crossings = crossing(lowered, chunks, emit.loads)
    emit.slots = slots_for(crossings)
    given = arguments(lowered.program) if table is None else gathered(table, "ptr", writer.lanes)
    for number, chunk in enumerate(chunks):
        body = emit.chunk(number, chunk, *crossings[number])
        functions += [f"define internal void @{name}_{number}({parameters}, ptr noalias %scratch) {kept}{{", *body]
        functions += ["  ret void", "}"]
        calls.append(f"  call void @{name}_{number}({given}, ptr %scratch)")
    return functions, calls, (max(emit.slots.values(), default=0) + 1) * writer.bytes
