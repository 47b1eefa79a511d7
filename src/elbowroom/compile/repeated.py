"""The loop of a Repeated as LLVM IR: the function `one` or `block` around the function `turn`, which is the program.

What is fed back lies in two places that take turns, so `turn` never writes where it reads:

    one      the caller's outputs and one place more; the first turn reads the caller's inputs, the last writes the
             caller's outputs, and nothing is copied
    block    all arrays of `turn` are columns (transpose.py): rows become columns before the first turn and columns
             rows after the last, so a turn moves no lanes about

Working memory of more than `STACK` bytes is on the heap: a thread's stack may be small.
"""

from __future__ import annotations

from ..algebra import Port, Repeated
from .ir import Writer
from .loops import arguments

ALIGNMENT = 64  # bytes of a cache line
STACK = 4096  # bytes of working memory that a thread's stack always has


class Room:
    """Places in the working memory."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._size = 0

    def place(self, name: str, size: int) -> str:
        """A place of so many bytes, on a cache line of its own."""
        self.lines.append(f"  {name} = getelementptr i8, ptr %room, i64 {self._size}")
        self._size += -(-size // ALIGNMENT) * ALIGNMENT
        return name

    def taken(self) -> tuple[list[str], list[str]]:
        """The lines that take the memory and name its places, and those that give it back."""
        if not self._size:
            return [], []
        if self._size <= STACK:
            return [f"  %room = alloca [{self._size} x i8], align {ALIGNMENT}", *self.lines], []
        take = [
            f"  %heap = call ptr @malloc(i64 {self._size + ALIGNMENT})",
            "  %none = icmp eq ptr %heap, null",
            "  br i1 %none, label %poor, label %start",
            "poor:",
            "  call void @llvm.trap()",
            "  unreachable",
            "start:",
            "  %number = ptrtoint ptr %heap to i64",
            f"  %after = add i64 %number, {ALIGNMENT - 1}",
            f"  %round = and i64 %after, {-ALIGNMENT}",
            "  %room = inttoptr i64 %round to ptr",
            *self.lines,
        ]
        return take, ["  call void @free(ptr %heap)"]


def loop(name: str, repeated: Repeated, w: Writer, scratch: int) -> list[str]:
    """The function `name`, which calls `turn`; `scratch`: bytes that `turn` wants to work in."""
    lanes = w.lanes > 1
    room = Room()
    fed = {p.name for p in repeated.fed}
    before, after = [], []  # rows into columns, columns into rows
    takes, gives = {}, {}  # what `turn` is called with
    phis = []

    def columns(name: str, port: Port) -> str:
        return room.place(name, port.size * w.bytes)

    def copied(to: str, rows: str, at: str, port: Port) -> list[str]:
        return [f"  call void @into_{to}(ptr {rows}, ptr {at}, i64 {port.size})"] if port.size else []

    for port in repeated.inputs:
        takes[port.name] = f"%i_{port.name}"
        if lanes and port.name not in fed:
            takes[port.name] = columns(f"%c_{port.name}", port)
            before += copied("columns", f"%i_{port.name}", takes[port.name], port)
    for port in repeated.outputs:
        gives[port.name] = f"%o_{port.name}"
        if port.name in fed:
            spare, last = columns(f"%a_{port.name}", port), f"%o_{port.name}"
            start = f"%i_{port.name}"
            if lanes:
                last = columns(f"%b_{port.name}", port)
                start = spare if repeated.times % 2 else last  # the place that the first turn does not write
                before += copied("columns", f"%i_{port.name}", start, port)
                after += copied("rows", f"%o_{port.name}", last, port)
            places = (last, spare) if repeated.times % 2 else (spare, last)
            takes[port.name], gives[port.name] = f"%from_{port.name}", f"%to_{port.name}"
            phis += [
                f"  %from_{port.name} = phi ptr [{start}, %ready], [%to_{port.name}, %turn]",
                f"  %to_{port.name} = phi ptr [{places[0]}, %ready], [%other_{port.name}, %turn]",
                f"  %other_{port.name} = phi ptr [{places[1]}, %ready], [%to_{port.name}, %turn]",
            ]
        elif lanes:
            gives[port.name] = columns(f"%d_{port.name}", port)
            after += copied("rows", f"%o_{port.name}", gives[port.name], port)
    given = [*takes.values(), *gives.values(), *([room.place("%scratch", scratch)] if scratch else [])]
    take, give_back = room.taken()
    return [
        f"define void @{name}({arguments(repeated, 'ptr noalias')}) {{",
        *take,
        *before,
        "  br label %ready",
        "ready:",
        "  br label %turn",
        "turn:",
        "  %k = phi i64 [0, %ready], [%next, %turn]",
        *phis,
        f"  call void @turn({', '.join(f'ptr {x}' for x in given)})",
        "  %next = add i64 %k, 1",
        f"  %more = icmp slt i64 %next, {repeated.times}",
        "  br i1 %more, label %turn, label %done",
        "done:",
        *after,
        *give_back,
        "  ret void",
        "}",
    ]
