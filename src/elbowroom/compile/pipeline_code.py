"""The LLVM IR that runs a pipeline (pipeline.py): one text for all of them, which reads what to do from records.

Records are rows of 64-bit words in memory that does not move:

    TABLE     types and functions of CPython; where the steps and the taken arguments are, and how many
    STEP      a function, its argument, where its checks are, and how many
    CHECK     data, how many numbers, bytes of a number, what to return if one of them is not finite
    TAKEN     descriptor, axes, where the dimensions are, bytes, destination: what an argument must be, and where it is
              copied to; a descriptor of 0 stands for a Python float

    run(table)               the steps in order, each after its checks; returns FINE, or what the check that failed says
    entry(self, args, ...)   the same for CPython (entry.py): copies the arguments, then runs; returns `fine`, or
                             that member of the tuple `refusals`.  Arguments of any other kind go to the Python
                             function at the head of `self`
    copy(words)              as a function of a step: words are destination, source, bytes
    from_ring, to_ring       the same with a row of the source, or of the destination: words are as well the bytes of a
                             row, where its number lies (a double) and how many rows there are; no such row: the first
    nothing(words)           for a step that is checks alone
"""

from __future__ import annotations

from . import finite
from .entry import ALIGNED, DATA, DESCR, DIMS, FLAGS, MORE, NDIM, TUPLE_ITEMS, TYPE

CONTIGUOUS = 0x1
BYTES = 32  # offset of the content of a bytes object
FLOAT = 16  # offset of the number of a Python float
FINE = -1
TABLE = ("fine", "refusals", "ndarray", "float", "vectorcall", "incref", "steps", "step_count", "taken", "taken_count")
STEP = ("function", "argument", "checks", "check_count")
CHECK = ("data", "count", "size", "refusal")
TAKEN = ("descr", "ndim", "dims", "bytes", "destination")


def _load(register: str, where: str, offset: int, kind: str = "ptr") -> str:
    """What lies so many bytes behind an address, in a register."""
    return "\n".join(
        [
            f"  %{register}_at = getelementptr i8, ptr {where}, i64 {offset}",
            f"  %{register} = load {kind}, ptr %{register}_at",
        ]
    )


def _words(record: tuple[str, ...], where: str, **kinds: str) -> str:
    """Words of a record in registers of their names: ptr or i64."""
    return "\n".join(_load(name, where, 8 * record.index(name), kind) for name, kind in kinds.items())


RUN = f"""\
define i64 @run(ptr %table) {{
entry:
{_words(TABLE, "%table", steps="ptr", step_count="i64")}
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %call]
  %more = icmp slt i64 %k, %step_count
  br i1 %more, label %step, label %done
step:
  %step_at = getelementptr [{len(STEP)} x i64], ptr %steps, i64 %k
{_words(STEP, "%step_at", function="ptr", argument="ptr", checks="ptr", check_count="i64")}
  br label %check
check:
  %c = phi i64 [0, %step], [%following, %passed]
  %again = icmp slt i64 %c, %check_count
  br i1 %again, label %look, label %call
look:
  %check_at = getelementptr [{len(CHECK)} x i64], ptr %checks, i64 %c
{_words(CHECK, "%check_at", data="ptr", count="i64", size="i64")}
  %double = icmp eq i64 %size, 8
  br i1 %double, label %doubles, label %floats
doubles:
  %fine8 = call i1 @finite_double(ptr %data, i64 %count)
  br label %judge
floats:
  %fine4 = call i1 @finite_float(ptr %data, i64 %count)
  br label %judge
judge:
  %good = phi i1 [%fine8, %doubles], [%fine4, %floats]
  br i1 %good, label %passed, label %refused
passed:
  %following = add i64 %c, 1
  br label %check
refused:
{_words(CHECK, "%check_at", refusal="i64")}
  ret i64 %refusal
call:
  call void %function(ptr %argument)
  %next = add i64 %k, 1
  br label %head
done:
  ret i64 {FINE}
}}"""

COPY = f"""\
define void @copy(ptr %words) {{
{_load("to", "%words", 0)}
{_load("from", "%words", 8)}
{_load("size", "%words", 16, "i64")}
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret void
}}"""

NOTHING = """\
define void @nothing(ptr %words) {
  ret void
}"""


def _ring(name: str, moved: str) -> str:
    """`copy` between an array and a row of another: that of the "from", or of the "to"."""
    other = "to" if moved == "from" else "from"
    return f"""\
define void @{name}(ptr %words) {{
{_load("to_base", "%words", 0)}
{_load("from_base", "%words", 8)}
{_load("size", "%words", 16, "i64")}
{_load("number", "%words", 24)}
{_load("rows", "%words", 32, "i64")}
  %at = load double, ptr %number
  %row = call i64 @llvm.fptosi.sat.i64.f64(double %at)
  %inside = icmp ult i64 %row, %rows
  %k = select i1 %inside, i64 %row, i64 0
  %offset = mul i64 %k, %size
  %{moved} = getelementptr i8, ptr %{moved}_base, i64 %offset
  %{other} = getelementptr i8, ptr %{other}_base, i64 0
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret void
}}"""


ENTRY = f"""\
define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names) {{
entry:
{_load("kept", "%self", TUPLE_ITEMS + 8 * MORE)}
  %table = getelementptr i8, ptr %kept, i64 {BYTES}
{_words(TABLE, "%table", fine="ptr", ndarray="ptr", float="ptr", vectorcall="ptr", incref="ptr")}
{_words(TABLE, "%table", taken="ptr", taken_count="i64")}
  %expected = icmp eq i64 %nargs, %taken_count
  %unnamed = icmp eq ptr %names, null
  %usual = and i1 %expected, %unnamed
  br i1 %usual, label %head, label %slow
head:
  %k = phi i64 [0, %entry], [%next_number, %number], [%next_array, %copied]
  %more = icmp slt i64 %k, %taken_count
  br i1 %more, label %take, label %go
take:
  %given_at = getelementptr ptr, ptr %args, i64 %k
  %given = load ptr, ptr %given_at
  %taken_at_k = getelementptr [{len(TAKEN)} x i64], ptr %taken, i64 %k
{_words(TAKEN, "%taken_at_k", descr="ptr", destination="ptr")}
{_load("type", "%given", TYPE)}
  %is_number = icmp eq ptr %descr, null
  br i1 %is_number, label %maybe_number, label %maybe_array
maybe_number:
  %is_float = icmp eq ptr %type, %float
  br i1 %is_float, label %number, label %slow
number:
{_load("value", "%given", FLOAT, "double")}
  store double %value, ptr %destination
  %next_number = add i64 %k, 1
  br label %head
maybe_array:
  %is_array = icmp eq ptr %type, %ndarray
  br i1 %is_array, label %array, label %slow
array:
{_words(TAKEN, "%taken_at_k", ndim="i64", dims="ptr", bytes="i64")}
{_load("given_descr", "%given", DESCR)}
{_load("axes", "%given", NDIM, "i32")}
{_load("flags", "%given", FLAGS, "i32")}
{_load("shape", "%given", DIMS)}
{_load("source", "%given", DATA)}
  %same_descr = icmp eq ptr %given_descr, %descr
  %deep = sext i32 %axes to i64
  %same_axes = icmp eq i64 %deep, %ndim
  %marked = and i32 %flags, {CONTIGUOUS | ALIGNED}
  %plain = icmp eq i32 %marked, {CONTIGUOUS | ALIGNED}
  %alike = and i1 %same_descr, %same_axes
  %fits = and i1 %alike, %plain
  br i1 %fits, label %axis, label %slow
axis:
  %a = phi i64 [0, %array], [%next_axis, %equal]
  %any = icmp slt i64 %a, %ndim
  br i1 %any, label %compare, label %copied
compare:
  %wanted_at = getelementptr i64, ptr %dims, i64 %a
  %wanted = load i64, ptr %wanted_at
  %found_at = getelementptr i64, ptr %shape, i64 %a
  %found = load i64, ptr %found_at
  %same = icmp eq i64 %found, %wanted
  br i1 %same, label %equal, label %slow
equal:
  %next_axis = add i64 %a, 1
  br label %axis
copied:
  call void @llvm.memmove.p0.p0.i64(ptr %destination, ptr %source, i64 %bytes, i1 false)
  %next_array = add i64 %k, 1
  br label %head
go:
  %ended = call i64 @run(ptr %table)
  %all = icmp eq i64 %ended, {FINE}
  br i1 %all, label %done, label %refused
refused:
{_words(TABLE, "%table", refusals="ptr")}
  %items = getelementptr i8, ptr %refusals, i64 {TUPLE_ITEMS}
  %item = getelementptr ptr, ptr %items, i64 %ended
  %why = load ptr, ptr %item
  br label %done
done:
  %result = phi ptr [%fine, %go], [%why, %refused]
  call void %incref(ptr %result)
  ret ptr %result
slow:
{_load("python", "%self", TUPLE_ITEMS)}
  %answer = call ptr %vectorcall(ptr %python, ptr %args, i64 %nargs, ptr %names)
  ret ptr %answer
}}"""


def module(room: str) -> str:
    """The whole text; `room` is what every module needs for its outside functions."""
    doubles, floats = finite.array("finite_double", "double"), finite.array("finite_float", "float")
    move = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"
    move += "\ndeclare i64 @llvm.fptosi.sat.i64.f64(double)"
    rings = _ring("from_ring", "from"), _ring("to_ring", "to")
    return "\n".join([room, move, doubles, floats, COPY, *rings, NOTHING, RUN, ENTRY, ""])
