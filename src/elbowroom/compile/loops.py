"""The functions around a kernel's straight-line code: pointers from an array, blocks of states, turns of a Repeated.

The loop of a Repeated is the function `one` or `block` around the function `turn`, which is the program.  What is fed
back lies in two places that take turns, so `turn` never writes where it reads:

    one      the caller's outputs and one place more; the first turn reads the caller's inputs, the last writes the
             caller's outputs, and nothing is copied
    block    all arrays of `turn` are columns (transpose.py): rows become columns before the first turn and columns
             rows after the last, so a turn moves no lanes about

The input that takes another row in every turn is read where it lies, in lanes the same number in all of them.

Working memory of more than `STACK` bytes is on the heap: a thread's stack may be small.
"""

from __future__ import annotations

from ..algebra import Port, Program, Repeated, Rolled, Sliced, Table, Unwound
from . import finite
from .ir import IrWriter

Compilable = Program | Table | Rolled | Sliced | Repeated | Unwound
"""What there are kernels of."""

DONE, NO_MEMORY = -1, -2  # what `many` returns if it did not stop at a state
ALIGNMENT = 64  # bytes of a cache line
STACK = 4096  # bytes of working memory that a thread's stack always has
HEAP = ("declare ptr @malloc(i64)", "declare void @free(ptr)")


def arguments(program: Compilable, kind: str = "ptr") -> str:
    """The pointers that every kernel function takes: inputs, then outputs."""
    return ", ".join(f"{kind} %{port}" for port, _ in _ports(program))


def gathered(table: Table, kind: str, lanes: int) -> str:
    """The pointers that a block of a Table takes: one a lane where it takes or gives rows, else one."""
    together = {f"i_{p.name}" for p in table.shared} | {f"{side}_{name}" for side in "io" for name in table.columns}
    together |= {f"i_{name}" for name in table.uniform(lanes)}
    listed = [
        [port] if port in together else [f"{port}_{lane}" for lane in range(lanes)] for port, _ in _ports(table.program)
    ]
    return ", ".join(f"{kind} %{name}" for names in listed for name in names)


def _ports(program: Compilable) -> list[tuple[str, int]]:
    return [*((f"i_{p.name}", p.size) for p in program.inputs), *((f"o_{p.name}", p.size) for p in program.outputs)]


def _pointers(program: Compilable) -> list[str]:
    lines = []
    for k, (port, _) in enumerate(_ports(program)):
        lines.append(f"  %at{k} = getelementptr ptr, ptr %pointers, i64 {k}")
        lines.append(f"  %{port} = load ptr, ptr %at{k}")
    return lines


def single(program: Compilable, name: str = "single") -> str:
    """`one` for a caller that holds an array of pointers."""
    return "\n".join(
        [
            f"define void @{name}(ptr %pointers) {{",
            *_pointers(program),
            f"  call void @one({arguments(program)})",
            "  ret void",
            "}",
        ]
    )


def many(program: Program | Rolled | Sliced | Repeated | Unwound, scalar: str, lanes: int) -> str:
    """Whole blocks in place; the states that are left over go through a block of their own, the last one repeated."""
    width = 8 if scalar == "double" else 4
    ports = _ports(program)
    inputs = len(program.inputs)
    shared = {k for k, port in enumerate(program.inputs) if port.shared}
    own = [k for k in range(inputs) if k not in shared]
    padded = [f"%{port}" if k in shared else f"%pad{k}" for k, (port, _) in enumerate(ports)]
    lines = ["define i64 @many(ptr %pointers, i64 %count) {", "entry:", *_pointers(program)]
    for k, (_, size) in enumerate(ports):
        lines.append(f"  %bytes{k} = add i64 0, {size * width}")
    lines += [f"  %whole = and i64 %count, {-lanes}", "  br label %check"]
    lines += ["check:"]
    for k in sorted(shared):
        lines += [
            f"  %sound{k} = call i1 @finite_rows(ptr %{ports[k][0]}, i64 {ports[k][1]})",
            f"  br i1 %sound{k}, label %check{k}, label %unsound",
            f"check{k}:",
        ]
    lines += ["  br label %begin"]
    lines += ["unsound:", "  ret i64 0"] if shared else []
    lines += [
        "begin:",
        "  br label %head",
        "head:",
        "  %b = phi i64 [0, %begin], [%next, %go]",
        "  %more = icmp slt i64 %b, %whole",
        "  br i1 %more, label %body, label %after",
        "body:",
    ]
    call = []
    for k, (port, size) in enumerate(ports):
        lines.append(f"  %off{k} = mul i64 %b, {0 if k in shared else size}")
        lines.append(f"  %here{k} = getelementptr {scalar}, ptr %{port}, i64 %off{k}")
        call.append(f"ptr %here{k}")
    lines += [
        f"  %fine = call i1 @finite({', '.join(call[k] for k in own)})",
        "  br i1 %fine, label %go, label %bad",
        "bad:",
        "  ret i64 %b",
        "go:",
        f"  call void @block({', '.join(call)})",
        f"  %next = add i64 %b, {lanes}",
        "  br label %head",
        "after:",
        "  %left = sub i64 %count, %whole",
        "  %none = icmp eq i64 %left, 0",
        "  br i1 %none, label %done, label %room",
        "room:",  # on the heap: a thread's stack may be small
        f"  %pad = call ptr @malloc(i64 {sum(size for _, size in ports) * lanes * width})",
        "  %got = icmp ne ptr %pad, null",
        "  br i1 %got, label %start, label %poor",
        "poor:",
        f"  ret i64 {NO_MEMORY}",
        "start:",
        *(
            f"  %pad{k} = getelementptr {scalar}, ptr %pad, i64 {lanes * sum(size for _, size in ports[:k])}"
            for k in range(len(ports))
        ),
        "  br label %fill",
        "fill:",
        "  %lane = phi i64 [0, %start], [%lane1, %fill]",
        "  %past = sub i64 %left, 1",
        "  %inside = icmp slt i64 %lane, %left",
        "  %pick = select i1 %inside, i64 %lane, i64 %past",
        "  %state = add i64 %whole, %pick",
    ]
    for k, (port, size) in ((k, ports[k]) for k in own):
        lines += [
            f"  %fo{k} = mul i64 %state, {size}",
            f"  %from{k} = getelementptr {scalar}, ptr %{port}, i64 %fo{k}",
            f"  %to{k}o = mul i64 %lane, {size}",
            f"  %to{k} = getelementptr {scalar}, ptr %pad{k}, i64 %to{k}o",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %to{k}, ptr %from{k}, i64 %bytes{k}, i1 false)",
        ]
    lines += [
        "  %lane1 = add i64 %lane, 1",
        f"  %again = icmp slt i64 %lane1, {lanes}",
        "  br i1 %again, label %fill, label %last",
        "last:",
        f"  %fine2 = call i1 @finite({', '.join(f'ptr %pad{k}' for k in own)})",
        "  br i1 %fine2, label %go2, label %bad2",
        "bad2:",
        "  call void @free(ptr %pad)",
        "  ret i64 %whole",
        "go2:",
        f"  call void @block({', '.join(f'ptr {x}' for x in padded)})",
    ]
    for k, (port, size) in enumerate(ports[inputs:], start=inputs):
        lines += [
            f"  %ro{k} = mul i64 %whole, {size}",
            f"  %result{k} = getelementptr {scalar}, ptr %{port}, i64 %ro{k}",
            f"  %rb{k} = mul i64 %left, %bytes{k}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %result{k}, ptr %pad{k}, i64 %rb{k}, i1 false)",
        ]
    lines += ["  call void @free(ptr %pad)", "  br label %done", "done:", f"  ret i64 {DONE}", "}"]
    return "\n".join(lines)


def gathering(table: Table, scalar: str, lanes: int) -> str:
    """`one` of a Table: for each block of entries, the rows of every lane looked up in constant arrays, then `block`.

    Lanes beyond the last entry do the last one again, to the same place.
    """
    padded = table.padded if table.columns else -(-table.entries // lanes) * lanes
    entry = [min(k, table.entries - 1) for k in range(padded)]
    taking = table.program.inputs[: len(table.indices)]
    columns: list[list[int] | None] = [
        [column[k] * port.size for k in entry] for port, column in zip(taking, table.indices, strict=True)
    ]
    rest, outputs = table.program.inputs[len(table.indices) :], table.program.outputs
    columns += [None] * len(rest)
    places = table.places or range(table.entries)
    columns += [None if port.name in table.columns else [places[k] * port.size for k in entry] for port in outputs]
    uniform = table.uniform(lanes)
    lines = []
    for c, column in enumerate(columns):
        if column is not None:
            lines.append(f"@column{c} = internal constant [{padded} x i64] [{', '.join(f'i64 {x}' for x in column)}]")
    lines += [
        f"define void @one({arguments(table)}) {{",
        "entry:",
        "  br label %body",
        "body:",
        "  %b = phi i64 [0, %entry], [%next, %body]",
    ]
    bases = [f"%i_{p.name if table.apart else 'rows'}" for p in taking] + [f"%i_{p.name}" for p in rest]
    bases += [f"%o_{p.name}" for p in outputs]
    names = [p.name for p in (*taking, *rest, *outputs)]
    call = []
    for c, base in enumerate(bases):
        if columns[c] is None:
            if names[c] in table.columns:
                lines.append(f"  %p{c} = getelementptr {scalar}, ptr {base}, i64 %b")
                base = f"%p{c}"
            call.append(f"ptr {base}")
            continue
        for lane in range(1 if names[c] in uniform and c < len(taking) else lanes):
            r = f"{c}_{lane}"
            lines += [
                f"  %n{r} = add i64 %b, {lane}",
                f"  %a{r} = getelementptr [{padded} x i64], ptr @column{c}, i64 0, i64 %n{r}",
                f"  %k{r} = load i64, ptr %a{r}",
                f"  %p{r} = getelementptr {scalar}, ptr {base}, i64 %k{r}",
            ]
            call.append(f"ptr %p{r}")
    lines += [
        f"  call void @block({', '.join(call)})",
        f"  %next = add i64 %b, {lanes}",
        f"  %more = icmp slt i64 %next, {padded}",
        "  br i1 %more, label %body, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def tables(table: Table, scalar: str) -> str:
    """`many` of a Table: `one` on each array of rows that is finite, up to the first that is not."""
    lines = [
        finite.array("finite", scalar),
        "define i64 @many(ptr %pointers, i64 %count) {",
        "entry:",
        *_pointers(table),
        "  br label %head",
        "head:",
        "  %s = phi i64 [0, %entry], [%next, %go]",
        "  %left = icmp slt i64 %s, %count",
        "  br i1 %left, label %body, label %done",
        "body:",
    ]
    call = []
    for k, (where, count) in enumerate(_ports(table)):
        lines.append(f"  %off{k} = mul i64 %s, {count}")
        lines.append(f"  %here{k} = getelementptr {scalar}, ptr %{where}, i64 %off{k}")
        call.append(f"ptr %here{k}")
    fine = []
    for k, port in enumerate(table.inputs):
        lines.append(f"  %fine{k} = call i1 @finite({call[k]}, i64 {port.size})")
        fine.append(f"%fine{k}")
        if k:
            lines.append(f"  %and{k} = and i1 {fine[-2] if k == 1 else f'%and{k - 1}'}, %fine{k}")
    lines += [
        f"  br i1 {fine[0] if len(fine) == 1 else f'%and{len(fine) - 1}'}, label %go, label %bad",
        "bad:",
        "  ret i64 %s",
        "go:",
        f"  call void @one({', '.join(call)})",
        "  %next = add i64 %s, 1",
        "  br label %head",
        "done:",
        f"  ret i64 {DONE}",
        "}",
    ]
    return "\n".join(lines)


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


def transposing(name: str, block: str, program: Compilable, w: IrWriter) -> list[str]:
    """The function `name` of arrays that are columns, by one of rows."""
    room, before, after = Room(), list[str](), list[str]()
    for port, size in _ports(program):
        at = room.place(f"%r_{port}", size * w.bytes)
        to, lines = ("rows", before) if port.startswith("i_") else ("columns", after)
        if size:
            lines.append(f"  call void @into_{to}(ptr {at}, ptr %{port}, i64 {size})")
    take, give_back = room.taken()
    given = ", ".join(f"ptr %r_{port}" for port, _ in _ports(program))
    head = f"define void @{name}({arguments(program, 'ptr noalias')}) {{"
    return [head, *take, *before, f"  call void @{block}({given})", *after, *give_back, "  ret void", "}"]


def turns(name: str, repeated: Repeated, w: IrWriter, scratch: int, *, columns: bool = False) -> list[str]:
    """The function `name`, which calls `turn`; `scratch`: bytes that `turn` wants to work in.

    `columns`: the caller's arrays are columns already.
    """
    lanes = w.lanes > 1 and not columns
    room = Room()
    fed = {p.name for p in repeated.fed}
    before, after = [], []  # rows into columns, columns into rows
    takes, gives = {}, {}  # what `turn` is called with
    phis: list[str] = []
    stepped: list[str] = []  # to the next of the rows

    def placed(name: str, port: Port) -> str:
        return room.place(name, port.size * w.bytes)

    def copied(to: str, rows: str, at: str, port: Port) -> list[str]:
        return [f"  call void @into_{to}(ptr {rows}, ptr {at}, i64 {port.size})"] if port.size else []

    for port in repeated.inputs:
        takes[port.name] = f"%i_{port.name}"
        if port.name == repeated.rows:
            takes[port.name] = f"%row_{port.name}"
            step = port.size // repeated.times
            kind = w.type if columns else w.scalar
            stepped.append(f"  %past_{port.name} = getelementptr {kind}, ptr %row_{port.name}, i64 {step}")
            phis.append(f"  %row_{port.name} = phi ptr [%i_{port.name}, %ready], [%past_{port.name}, %turn]")
        elif lanes and port.name not in fed:
            takes[port.name] = placed(f"%c_{port.name}", port)
            before += copied("columns", f"%i_{port.name}", takes[port.name], port)
    for port in repeated.outputs:
        gives[port.name] = f"%o_{port.name}"
        if port.name in fed:
            spare, last = placed(f"%a_{port.name}", port), f"%o_{port.name}"
            start = f"%i_{port.name}"
            if lanes:
                last = placed(f"%b_{port.name}", port)
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
            gives[port.name] = placed(f"%d_{port.name}", port)
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
        *stepped,
        "  %next = add i64 %k, 1",
        f"  %more = icmp slt i64 %next, {repeated.times}",
        "  br i1 %more, label %turn, label %done",
        "done:",
        *after,
        *give_back,
        "  ret void",
        "}",
    ]
