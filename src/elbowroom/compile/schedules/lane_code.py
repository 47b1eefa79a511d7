"""The LLVM IR that runs a schedule over the lanes of a block (lanes.py): one text for each precision.

Arrays are columns (transpose.py): an element of all lanes is one vector.  A mask is such a vector, 0 where it is false.

A schedule is rows of two words, an operation and where its words are.  An operation returns how many rows are jumped
over, backwards if negative, or STOP: then `run` ends and gives the row's number.

    call        function, pointers...                       one kernel
    check       mask, active, hit, count, (data, size)...   STOP where one of an active lane of it is not finite
    halt        mask, active, hit                           STOP where the mask holds in an active lane
    skip        mask, active, rows                          jumps where it holds in none
    again       mask, active, counter, most, rows           jumps back where it holds in one, and not for ever
    around      counter, most, rows                         jumps back so many times, then STOP
    copy        to, from, vectors
    blend       mask, to, from, vectors                     copies the lanes of the mask
    from_ring   to, ring, at, elements, rows                the row of a ring whose number is `at`, lane by lane
    to_ring     from, ring, at, elements, rows
    gather      to, tables, at, elements, mask              the same from a table of each lane's own, row-major;
                                                            NaN where the number of the row is negative
    scatter     from, tables, at, elements, mask
    spread      to, table, at, elements                     the row of one table whose number is `at` of the first lane,
                                                            into all lanes

`hit` are the lanes for which it stopped, as a mask.
"""

from __future__ import annotations

from ..ir import IrWriter
from ..transpose import into_columns, into_rows

STOP = -(1 << 62)
OPERATIONS = (
    *("call", "check", "halt", "skip", "again", "around", "copy", "blend"),
    *("from_ring", "to_ring", "gather", "scatter", "spread"),
)
SUMS = 4


def _words(**kinds: str) -> str:
    lines = []
    for k, (name, kind) in enumerate(kinds.items()):
        lines.append(f"  %{name}_at = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}_at")
    return "\n".join(lines)


def _holds(w: IrWriter, name: str, pointer: str) -> str:
    """Whether a mask holds, lane by lane."""
    load = f"  %{name}_v = load {w.type}, ptr {pointer}, align {w.bytes}"
    return f"{load}\n  %{name}_i = fcmp une {w.type} %{name}_v, zeroinitializer"


def _hit(w: IrWriter, holds: str) -> str:
    one = w._splat("1.0", w.scalar)
    return (
        f"  %hits = select {w.truth} {holds}, {w.type} {one}, {w.type} zeroinitializer\n"
        f"  store {w.type} %hits, ptr %hit, align {w.bytes}"
    )


def _any(w: IrWriter, holds: str) -> str:
    return f"  %bits = bitcast {w.truth} {holds} to i{w.lanes}\n  %any = icmp ne i{w.lanes} %bits, 0"


def _run() -> str:
    return f"""\
define i64 @run(ptr %schedule, i64 %first) {{
entry:
  br label %step
step:
  %k = phi i64 [%first, %entry], [%next, %go]
  %at = getelementptr [2 x ptr], ptr %schedule, i64 %k
  %words_at = getelementptr ptr, ptr %at, i64 1
  %operation = load ptr, ptr %at
  %words = load ptr, ptr %words_at
  %jump = call i64 %operation(ptr %words)
  %stops = icmp eq i64 %jump, {STOP}
  br i1 %stops, label %done, label %go
go:
  %over = add i64 %k, 1
  %next = add i64 %over, %jump
  br label %step
done:
  ret i64 %k
}}"""


CALL = """\
define i64 @call(ptr %words) {
  %function = load ptr, ptr %words
  %pointers = getelementptr i64, ptr %words, i64 1
  call void %function(ptr %pointers)
  ret i64 0
}"""


def _check(w: IrWriter) -> str:
    sums = range(SUMS)
    v, fma = w.type, f"@llvm.fmuladd.{w.suffix}"
    w.needed.add(f"declare {v} {fma}({v}, {v}, {v})")
    body, ends = [], []
    for s in sums:
        body += [
            f"  %x{s}_at = getelementptr {v}, ptr %here, i64 {s}",
            f"  %x{s} = load {v}, ptr %x{s}_at, align {w.bytes}",
            f"  %t{s} = call {v} {fma}({v} %x{s}, {v} zeroinitializer, {v} %u{s})",
        ]
    ends.append(f"  %e1 = fadd {v} %s0, %s1")
    ends += [f"  %e{s} = fadd {v} %e{s - 1}, %s{s}" for s in sums[2:]]
    outer = "\n".join(f"  %s{s} = phi {v} [zeroinitializer, %entry], [%u{s}, %array]" for s in sums)
    inner = "\n".join(
        f"  %u{s} = phi {v} [%s{s}, %body], [%t{s}, %four], [%u{s}{'' if s else 'x'}, %one]" for s in sums
    )
    lines = "\n".join(body)
    return f"""\
define i64 @check(ptr %words) {{
entry:
{_words(mask="ptr", active="ptr", hit="ptr", count="i64")}
  br label %head
head:
  %k = phi i64 [0, %entry], [%following, %array]
{outer}
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %end
body:
  %two = mul i64 %k, 2
  %place = add i64 %two, 4
  %data_at = getelementptr i64, ptr %words, i64 %place
  %size_at = getelementptr i64, ptr %data_at, i64 1
  %data = load ptr, ptr %data_at
  %size = load i64, ptr %size_at
  br label %vectors
vectors:
  %j = phi i64 [0, %body], [%j4, %four], [%j1, %one]
{inner}
  %left = sub i64 %size, %j
  %here = getelementptr {v}, ptr %data, i64 %j
  %many = icmp sge i64 %left, {SUMS}
  br i1 %many, label %four, label %few
four:
{lines}
  %j4 = add i64 %j, {SUMS}
  br label %vectors
few:
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %one, label %array
one:
  %y = load {v}, ptr %here, align {w.bytes}
  %u0x = call {v} {fma}({v} %y, {v} zeroinitializer, {v} %u0)
  %j1 = add i64 %j, 1
  br label %vectors
array:
  %following = add i64 %k, 1
  br label %head
end:
{chr(10).join(ends)}
{_holds(w, "lanes", "%mask")}
{_holds(w, "live", "%active")}
  %odd = fcmp une {v} %e{SUMS - 1}, zeroinitializer
  %both = and {w.truth} %live_i, %lanes_i
  %bad = and {w.truth} %odd, %both
{_any(w, "%bad")}
  br i1 %any, label %stop, label %fine
stop:
{_hit(w, "%bad")}
  ret i64 {STOP}
fine:
  ret i64 0
}}"""


def _masked(w: IrWriter, name: str, takes: str, yes: str, no: str, before: str = "") -> str:
    """An operation that begins with a mask and the active lanes."""
    return f"""\
define i64 @{name}(ptr %words) {{
{takes}
{_holds(w, "held", "%mask")}
{_holds(w, "live", "%active")}
  %both = and {w.truth} %held_i, %live_i
{_any(w, "%both")}
{before}
  br i1 %any, label %yes, label %no
yes:
{yes}
no:
{no}
}}"""


def _branches(w: IrWriter) -> list[str]:
    halt = _masked(
        *(w, "halt", _words(mask="ptr", active="ptr", hit="ptr")),
        *(f"{_hit(w, '%both')}\n  ret i64 {STOP}", "  ret i64 0"),
    )
    skip = _masked(w, "skip", _words(mask="ptr", active="ptr", rows="i64"), "  ret i64 0", "  ret i64 %rows")
    takes = _words(mask="ptr", active="ptr", counter="ptr", most="i64", rows="i64")
    yes = """\
  %count = load i64, ptr %counter
  %after = add i64 %count, 1
  store i64 %after, ptr %counter
  %few = icmp slt i64 %after, %most
  br i1 %few, label %back, label %no
back:
  ret i64 %rows"""
    again = _masked(w, "again", takes, yes, "  store i64 0, ptr %counter\n  ret i64 0")
    around = f"""\
define i64 @around(ptr %words) {{
{_words(counter="ptr", most="i64", rows="i64")}
  %count = load i64, ptr %counter
  %after = add i64 %count, 1
  %few = icmp slt i64 %after, %most
  br i1 %few, label %back, label %no
back:
  store i64 %after, ptr %counter
  ret i64 %rows
no:
  store i64 0, ptr %counter
  ret i64 {STOP}
}}"""
    return [halt, skip, again, around]


def _copies(w: IrWriter) -> list[str]:
    copy = f"""\
define i64 @copy(ptr %words) {{
entry:
{_words(to="ptr", source="ptr", vectors="i64")}
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %k, %vectors
  br i1 %more, label %body, label %done
body:
  %x_at = getelementptr {w.type}, ptr %source, i64 %k
  %y_at = getelementptr {w.type}, ptr %to, i64 %k
  %x = load {w.type}, ptr %x_at, align {w.bytes}
  store {w.type} %x, ptr %y_at, align {w.bytes}
  %next = add i64 %k, 1
  br label %head
done:
  ret i64 0
}}"""
    blend = f"""\
define i64 @blend(ptr %words) {{
entry:
{_words(mask="ptr", to="ptr", source="ptr", vectors="i64")}
{_holds(w, "lanes", "%mask")}
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %k, %vectors
  br i1 %more, label %body, label %done
body:
  %x_at = getelementptr {w.type}, ptr %source, i64 %k
  %y_at = getelementptr {w.type}, ptr %to, i64 %k
  %x = load {w.type}, ptr %x_at, align {w.bytes}
  %y = load {w.type}, ptr %y_at, align {w.bytes}
  %z = select {w.truth} %lanes_i, {w.type} %x, {w.type} %y
  store {w.type} %z, ptr %y_at, align {w.bytes}
  %next = add i64 %k, 1
  br label %head
done:
  ret i64 0
}}"""
    return [copy, blend]


def _at_once(w: IrWriter, copy: str) -> str:
    """Rows of all lanes' tables at once, where every lane is active and has one."""
    return f"""\
  %places = alloca ptr, i64 {w.lanes}
  br label %look
look:
  %l = phi i64 [0, %entry], [%l1, %look]
  %all = phi i1 [true, %entry], [%still, %look]
  %n_at = getelementptr {w.scalar}, ptr %at, i64 %l
  %n = load {w.scalar}, ptr %n_at
  %i = call i64 @llvm.fptosi.sat.i64.{"f64" if w.scalar == "double" else "f32"}({w.scalar} %n)
  %a_at = getelementptr {w.scalar}, ptr %mask, i64 %l
  %a = load {w.scalar}, ptr %a_at
  %on = fcmp une {w.scalar} %a, 0.0
  %has = icmp sge i64 %i, 0
  %good = and i1 %on, %has
  %still = and i1 %all, %good
  %t_at = getelementptr ptr, ptr %tables, i64 %l
  %t = load ptr, ptr %t_at
  %begins = mul i64 %i, %elements
  %there_at = getelementptr {w.scalar}, ptr %t, i64 %begins
  %place_at = getelementptr ptr, ptr %places, i64 %l
  store ptr %there_at, ptr %place_at
  %l1 = add i64 %l, 1
  %others = icmp slt i64 %l1, {w.lanes}
  br i1 %others, label %look, label %looked
looked:
  br i1 %still, label %fast, label %slow
fast:
  call void @{copy}(ptr %places, ptr %array, i64 %elements)
  ret i64 0
slow:"""


def _by_lane(w: IrWriter, name: str, takes: str, start: str, element: str, at_once: str = "") -> str:
    """An operation that goes through lanes and elements: `%lane`, `%e`, `%own` where the lane's element lies."""
    return f"""\
define i64 @{name}(ptr %words) {{
entry:
{takes}
{at_once}
  br label %head
head:
  %lane = phi i64 [0, %{"slow" if at_once else "entry"}], [%following, %past]
  %more = icmp slt i64 %lane, {w.lanes}
  br i1 %more, label %begin, label %done
begin:
  %number_at = getelementptr {w.scalar}, ptr %at, i64 %lane
  %number = load {w.scalar}, ptr %number_at
  %index = call i64 @llvm.fptosi.sat.i64.{"f64" if w.scalar == "double" else "f32"}({w.scalar} %number)
{start}
body:
  %e = phi i64 [0, %ready], [%next, %body]
  %column = mul i64 %e, {w.lanes}
  %own_index = add i64 %column, %lane
  %own = getelementptr {w.scalar}, ptr %array, i64 %own_index
{element}
  %next = add i64 %e, 1
  %again = icmp slt i64 %next, %elements
  br i1 %again, label %body, label %past
past:
  %following = add i64 %lane, 1
  br label %head
done:
  ret i64 0
}}"""


def _rows(w: IrWriter) -> list[str]:
    ring = """\
  %inside = icmp ult i64 %index, %rows
  %row = select i1 %inside, i64 %index, i64 0
  br label %ready
ready:
  %first = mul i64 %row, %elements
  br label %body"""
    there = f"""\
  %place = add i64 %first, %e
  %place_column = mul i64 %place, {w.lanes}
  %there_index = add i64 %place_column, %lane
  %there = getelementptr {w.scalar}, ptr %ring, i64 %there_index"""
    table = f"""\
  %live_at = getelementptr {w.scalar}, ptr %mask, i64 %lane
  %live = load {w.scalar}, ptr %live_at
  %runs = fcmp une {w.scalar} %live, 0.0
  br i1 %runs, label %ready, label %past
ready:
  %table_at = getelementptr ptr, ptr %tables, i64 %lane
  %table = load ptr, ptr %table_at
  %known = icmp sge i64 %index, 0
  %row = select i1 %known, i64 %index, i64 0
  %first = mul i64 %row, %elements
  br label %body"""
    outside = f"""\
  %place = add i64 %first, %e
  %there = getelementptr {w.scalar}, ptr %table, i64 %place"""
    nan = "0x7FF8000000000000"
    load = f"  %x = load {w.scalar}, ptr"
    store = f"  store {w.scalar}"
    of_ring = _words(array="ptr", ring="ptr", at="ptr", elements="i64", rows="i64")
    of_table = _words(array="ptr", tables="ptr", at="ptr", elements="i64", mask="ptr")
    gathered, scattered = (_at_once(w, copy) if w.lanes > 1 else "" for copy in ("into_columns", "into_rows"))
    shown = f"{load} %there\n  %z = select i1 %known, {w.scalar} %x, {w.scalar} {nan}\n{store} %z, ptr %own"
    return [
        _by_lane(w, "from_ring", of_ring, ring, f"{there}\n{load} %there\n{store} %x, ptr %own"),
        _by_lane(w, "to_ring", of_ring, ring, f"{there}\n{load} %own\n{store} %x, ptr %there"),
        _by_lane(w, "gather", of_table, table, f"{outside}\n{shown}", gathered),
        _by_lane(w, "scatter", of_table, table, f"{outside}\n{load} %own\n{store} %x, ptr %there", scattered),
    ]


def _spread(w: IrWriter) -> str:
    number = "f64" if w.scalar == "double" else "f32"
    return f"""\
define i64 @spread(ptr %words) {{
entry:
{_words(array="ptr", tables="ptr", at="ptr", elements="i64")}
  %table = load ptr, ptr %tables
  %number = load {w.scalar}, ptr %at
  %index = call i64 @llvm.fptosi.sat.i64.{number}({w.scalar} %number)
  %first = mul i64 %index, %elements
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %k, %elements
  br i1 %more, label %body, label %done
body:
  %place = add i64 %first, %k
  %x_at = getelementptr {w.scalar}, ptr %table, i64 %place
  %y_at = getelementptr {w.type}, ptr %array, i64 %k
  %x = load {w.scalar}, ptr %x_at
  %one = insertelement {w.type} poison, {w.scalar} %x, i32 0
  %all = shufflevector {w.type} %one, {w.type} poison, <{w.lanes} x i32> zeroinitializer
  store {w.type} %all, ptr %y_at, align {w.bytes}
  %next = add i64 %k, 1
  br label %head
done:
  ret i64 0
}}"""


def module(room: str, scalar: str, lanes: int) -> str:
    """The whole text; `room` is what every module needs for its outside functions."""
    w = IrWriter(scalar, lanes, fma=True)
    parts = [_run(), CALL, _check(w), *_branches(w), *_copies(w), *_rows(w), _spread(w)]
    if w.lanes > 1:
        parts += [*into_columns(w, apart=True), *into_rows(w, apart=True)]
    w.needed |= {
        room,
        f"declare i64 @llvm.fptosi.sat.i64.{'f64' if scalar == 'double' else 'f32'}({scalar})",
    }
    return "\n".join([*sorted(w.needed), *parts, ""])
