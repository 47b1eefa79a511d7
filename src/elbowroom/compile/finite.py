"""Emitted checks that every number is finite: then 0 x is zero, summed over all; of a NaN or an infinity it is NaN.

    zero_sum    the sum over vectors whose number is known when the code is written
    block       the check of a block of states
    array       the check of an array, as long as it is when the code runs

Several sums are kept apart, so that none waits for the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..algebra import Program, Repeated, Rolled, Sliced, Unwound
from .ir import IrWriter

LANES, SUMS = 4, 4
LONG = 500  # numbers of an input of a block that are still looked at one by one
MOST = 5000  # and of one state


def zero_sum(w: IrWriter, arrays: Iterable[tuple[str, int]]) -> str:
    """0 x summed lane by lane over arrays: pointers, and how many vectors lie behind each."""
    zero = w.constant(0.0)
    sums, turn = [zero] * SUMS, 0
    for pointer, vectors in arrays:
        for k in range(vectors):
            at = w.put(f"getelementptr {w.type}, ptr {pointer}, i64 {k}")
            x = w.put(f"load {w.type}, ptr {at}, align {w.size}")
            sums[turn] = w.product_sum(x, zero, sums[turn])
            turn = (turn + 1) % SUMS
    total = sums[0]
    for part in sums[1:]:
        total = w.binary("fadd", total, part)
    return total


def every_zero(w: IrWriter, total: str) -> str:
    """Whether every lane is zero."""
    zero = w.put(f"fcmp oeq {w.type} {total}, {w.constant(0.0)}")
    if w.lanes == 1:
        return zero
    bits = w.put(f"bitcast {w.truth} {zero} to i{w.lanes}")
    return w.put(f"icmp eq i{w.lanes} {bits}, -1")


def block(program: Program | Rolled | Sliced | Repeated | Unwound, w: IrWriter) -> str:
    """The function `finite` of a block's own inputs: as many vectors as a port has scalars, one a lane's state.

    Those of a long port are looked at in a loop, `finite_rows`.
    """
    own = [port for port in program.inputs if not port.shared]
    short = [(f"%i_{port.name}", port.size) for port in own if port.size <= LONG]
    every = every_zero(w, zero_sum(w, short))
    for port in own:
        if port.size > LONG:
            fine = w.put(f"call i1 @finite_rows(ptr %i_{port.name}, i64 {port.size * w.lanes})")
            every = w.put(f"and i1 {every}, {fine}")
    takes = ", ".join(f"ptr %i_{p.name}" for p in own)
    return "\n".join([f"define internal i1 @finite({takes}) {{", *w.lines, f"  ret i1 {every}", "}"])


def in_loops(program: Program | Rolled | Sliced | Repeated | Unwound) -> bool:
    """Whether `finite_rows` is needed: for what all states share, and for long inputs."""
    return any(port.shared or port.size > LONG for port in program.inputs)


def array(name: str, scalar: str) -> str:
    """The function `name`(pointer, count), true where all numbers of an array are finite.

    Sums of lanes; then one sum for what is left of them, then number by number.
    """
    kind = f"<{LANES} x {scalar}>"
    size = 8 if scalar == "double" else 4
    sums = range(SUMS)

    def added(k: int, at: str, total: str, new: str) -> list[str]:
        return [
            f"  %{new}at{k} = getelementptr {scalar}, ptr %x, i64 {at}",
            f"  %{new}v{k} = load {kind}, ptr %{new}at{k}, align {size}",
            f"  %{new}p{k} = fmul contract {kind} %{new}v{k}, zeroinitializer",
            f"  %{new}{k} = fadd contract {kind} {total}, %{new}p{k}",
        ]

    lines = [
        f"define internal i1 @{name}(ptr %x, i64 %count) {{",
        "entry:",
        f"  %most = and i64 %count, {-LANES * SUMS}",
        f"  %whole = and i64 %count, {-LANES}",
        "  br label %head",
        "head:",
        "  %k = phi i64 [0, %entry], [%next, %body]",
        *(f"  %sum{k} = phi {kind} [zeroinitializer, %entry], [%more{k}, %body]" for k in sums),
        "  %inside = icmp slt i64 %k, %most",
        "  br i1 %inside, label %body, label %join",
        "body:",
        *(f"  %k{k} = add i64 %k, {k * LANES}" for k in sums),
        *(line for k in sums for line in added(k, f"%k{k}", f"%sum{k}", "more")),
        f"  %next = add i64 %k, {LANES * SUMS}",
        "  br label %head",
        "join:",
        f"  %half0 = fadd {kind} %sum0, %sum1",
        f"  %half1 = fadd {kind} %sum2, %sum3",
        f"  %all = fadd {kind} %half0, %half1",
        "  br label %few",
        "few:",
        "  %m = phi i64 [%most, %join], [%after, %vector]",
        f"  %total = phi {kind} [%all, %join], [%one0, %vector]",
        "  %left = icmp slt i64 %m, %whole",
        "  br i1 %left, label %vector, label %judge",
        "vector:",
        *added(0, "%m", "%total", "one"),
        f"  %after = add i64 %m, {LANES}",
        "  br label %few",
        "judge:",
        f"  %zero = fcmp oeq {kind} %total, zeroinitializer",
        f"  %bits = bitcast <{LANES} x i1> %zero to i{LANES}",
        f"  %fine = icmp eq i{LANES} %bits, -1",
        "  br label %tail",
        "tail:",
        "  %j = phi i64 [%whole, %judge], [%last, %rest]",
        "  %good = phi i1 [%fine, %judge], [%both, %rest]",
        "  %again = icmp slt i64 %j, %count",
        "  br i1 %again, label %rest, label %done",
        "rest:",
        f"  %where = getelementptr {scalar}, ptr %x, i64 %j",
        f"  %number = load {scalar}, ptr %where",
        f"  %nothing = fmul {scalar} %number, 0.0",
        f"  %ok = fcmp oeq {scalar} %nothing, 0.0",
        "  %both = and i1 %good, %ok",
        "  %last = add i64 %j, 1",
        "  br label %tail",
        "done:",
        "  ret i1 %good",
        "}",
    ]
    return "\n".join(lines)
