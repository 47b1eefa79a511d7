"""The CUDA text of a schedule: one kernel, in which a thread is a lane and does all its steps, turn after turn.

    columns    [warp][number][32]: element e of an array is row `first(array) + e` of ColumnPlaces; a warp's lanes read
               neighbours, and all places of a lane are a fixed distance from each other
    tables     [warp][row][element][32], each with how many rows it has

Every kernel of the CPU that a step calls is a function of its own, written once whatever the number of calls; it reads
an input where the first step needs it.  The steps, and so the roundings, are those of the lanes (lanes.py):
a lane has the same bits on both.

The warps of a block wait for each other before every function: code this long is read from far away, once for all.

A lane ends where its own check fails or its own Halt holds: the number of that step, from 1 on, is written to `codes`,
and the lane is not active any more.  The others do not notice.  After `turns` a lane goes on in the next launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...algebra import Port, Program, Repeated, Table
from ...errors import ElbowroomError
from .. import source_support
from ..cuda import WARP, dialect
from ..kernel import Array
from ..pipeline import Call, Copy, FromRing, Sound, Span, ToRing
from ..source import Real, Source
from .steps import (
    Around,
    Blend,
    Checks,
    ColumnPlaces,
    Gather,
    Halt,
    Label,
    LaneStep,
    LaneTables,
    Repeat,
    Scatter,
    Unfused,
    Where,
    left_sound,
    reads_and_writes,
)

THREADS = 256  # of a block
NAME = "schedule"

MOVES = """\
static __device__ __forceinline__ void ew_copy({real}* __restrict__ to, const {real}* __restrict__ from, int size)
{{
#pragma unroll 16
    for (int e = 0; e < size; ++e) {{
        to[e * 32] = from[e * 32];
    }}
}}

/* Whether one of them is not finite: 0 times it is not 0. */
static __device__ __noinline__ int ew_odd(const {real}* x, int size)
{{
    {real} sum = 0;
#pragma unroll 16
    for (int e = 0; e < size; ++e) {{
        sum = EW_FMA(x[e * 32], ({real})0, sum);
    }}
    return !(sum == 0);
}}

/* A whole number, held between two. */
static __device__ __forceinline__ long long ew_row({real} at, long long rows, long long otherwise)
{{
    return at >= 0 && at < ({real})rows ? (long long)at : otherwise;
}}
"""


class ScheduleText:
    """See the module's docstring."""

    def __init__(self, steps: Sequence[LaneStep], active: Array, places: ColumnPlaces, real: Real) -> None:
        self.real, self.places, self._active = real, places, active
        self.steps, self.tables = list[LaneStep](), list[LaneTables]()
        self._functions: dict[tuple[str, bool, tuple[int, ...]], str] = {}
        self._sources: list[Source] = []
        self._written: list[str] = []
        self._checks = Checks(steps)
        self._depth = 0
        body = self._all(steps, "alive", [], 2)[0]
        self.text = "\n".join([*self._before(), *self._written, *self._kernel(body), ""])

    # ---- the whole
    def _before(self) -> list[str]:
        d = dialect(self.real)
        return [source_support.support(d, self._sources, always=True), MOVES.format(real=self.real)]

    def _kernel(self, body: list[str]) -> list[str]:
        tables = [f"{self.real}* table{k}, long long rows{k}" for k in range(len(self.tables))]
        arguments = ", ".join([f"{self.real}* columns", "int* codes", "long long lanes", "long long turns", *tables])
        return [
            f'extern "C" __global__ void __launch_bounds__({THREADS}) {NAME}({arguments})',
            "{",
            f"    const long long lane = (long long)blockIdx.x * {THREADS} + threadIdx.x;",
            f"    {self.real}* const x = columns + lane / {WARP} * {self.places.rows * WARP}ll + lane % {WARP};",
            f"    int alive = lane < lanes && {self._at(self._active)}[0] != 0;",
            "    for (long long turn = 0; turn < turns; ++turn) {",
            "        if (!__syncthreads_or(alive)) {",
            "            return;",
            "        }",
            *body,
            "    }",
            "}",
        ]

    # ---- steps
    def _all(self, steps: Iterable[LaneStep], on: str, sound: list[Span], depth: int) -> tuple[list[str], list[Span]]:
        """Lines of steps that a lane does where `on` holds; all threads of a block come by."""
        lines: list[str] = []
        for step in steps:
            more, sound = self._step(step, on, sound)
            lines += [f"{'    ' * depth}{line}" for line in more]
        return lines, sound

    def _step(self, step: LaneStep, on: str, sound: list[Span]) -> tuple[list[str], list[Span]]:
        """The lines of a step, and which arrays are known to be finite after it."""
        if isinstance(step, Where | Repeat):
            return self._nested(step, on, sound)
        lines: list[str] = []
        if isinstance(step, Call | Sound):
            looked, sound = self._checks.of(step, sound)
            if isinstance(step, Sound):
                odd = " || ".join(f"ew_odd({self._at(array)}, {array.size})" for array in looked)
                lines += self._ends(step, odd) if odd else []
        together = isinstance(step, Call)
        if isinstance(step, Call):
            reads, writes = reads_and_writes(step)
            given = ", ".join(self._at(array) for array in (*reads, *writes))
            watched = tuple(k for k, array in enumerate(step.inputs) if any(array is each for each in looked))
            call = f"{self._function(step, watched)}({given})"
            lines += self._ends(step, call) if watched else [f"{call};"]
        elif isinstance(step, Halt):
            lines += self._ends(step, self._holds(step.mask))
        elif not isinstance(step, Label | Around | Sound):
            lines += self._moved(step)
        if lines:
            whole = on if on == "alive" else f"{on} && alive"
            lines = [f"if ({whole}) {{", *(f"    {line}" for line in lines), "}"]
        return ["__syncthreads();", *lines] if together else lines, left_sound(sound, [step])

    def _nested(self, step: Where | Repeat, on: str, sound: list[Span]) -> tuple[list[str], list[Span]]:
        """Done by a block as long as a lane of it needs that; the others of its lanes leave it out."""
        self._depth += 1
        here, still = f"on{self._depth}", left_sound(sound, step.steps)
        if isinstance(step, Where):
            inner, _ = self._all(step.steps, here, list(sound), 1)
            head = f"const int {here} = {on} && alive && {self._holds(step.mask)};"
            return [head, f"if (__syncthreads_or({here})) {{", *inner, "}"], still
        inner, _ = self._all(step.steps, here, still, 1)
        count = f"again{self._depth}"
        again = f"    {here} = {here} && alive && {self._holds(step.mask)};"
        loop = f"for (long long {count} = 0; {count} < {step.most} && __syncthreads_or({here}); ++{count}) {{"
        return [f"int {here} = {on} && alive;", loop, *inner, again, "}"], still

    def _moved(self, step: LaneStep) -> list[str]:
        """Copies of all kinds."""
        if isinstance(step, Copy):
            return [f"ew_copy({self._at(step.to)}, {self._at(step.source)}, {step.to.size});"]
        if isinstance(step, Blend):
            line = f"ew_copy({self._at(step.to)}, {self._at(step.source)}, {step.to.size});"
            return [f"if ({self._holds(step.mask)}) {{", f"    {line}", "}"]
        if not isinstance(step, FromRing | ToRing | Gather | Scatter):
            raise ElbowroomError(f"a card has no {type(step).__name__}: its lanes have tables of their own")
        at = f"{self._at(step.at)}[0]"
        if isinstance(step, FromRing | ToRing):
            own = step.to if isinstance(step, FromRing) else step.source
            rows, size = len(step.ring), own.size
            there = f"{self._at(step.ring)} + ew_row({at}, {rows}, 0) * {size * WARP}"
        else:
            own = step.source if isinstance(step, Scatter) else step.to
            k, size = self._table(step.tables), own.size
            start = f"table{k} + lane / {WARP} * rows{k} * {size * WARP} + lane % {WARP}"
            there = f"{start} + ew_row({at}, rows{k}, 0) * {size * WARP}"
        line = f"ew_copy({self._at(own)}, {there}, {size});"
        if isinstance(step, ToRing | Scatter):
            line = f"ew_copy({there}, {self._at(own)}, {size});"
        if not isinstance(step, Gather):
            return [line]
        nan = f"for (int e = 0; e < {size}; ++e) {{ {self._at(own)}[e * {WARP}] = ew_real({_NAN[self.real]}); }}"
        return [f"if ({at} >= 0) {{", f"    {line}", "} else {", f"    {nan}", "}"]

    def _ends(self, step: LaneStep, condition: str) -> list[str]:
        self.steps.append(step)
        lines = [f"codes[lane] = {len(self.steps)};", f"{self._at(self._active)}[0] = 0;", "alive = 0;"]
        return [f"if ({condition}) {{", *(f"    {line}" for line in lines), "}"]

    def _holds(self, mask: Array) -> str:
        return f"{self._at(mask)}[0] != 0"

    def _at(self, array: Array) -> str:
        return f"(x + {self.places.first(array) * WARP})"

    def _table(self, tables: LaneTables) -> int:
        if tables not in self.tables:
            self.tables.append(tables)
        return self.tables.index(tables)

    # ---- functions
    def _function(self, step: Call, watched: tuple[int, ...]) -> str:
        """The name of the function of a call that looks through these inputs, by number."""
        program = step.kernel.program
        if not isinstance(program, Program | Repeated | Table):
            raise ElbowroomError(f"{step.kernel.name}: no program of nested loops on a card yet; got {program!r:.60}")
        key = program.digest, not isinstance(step, Unfused), watched
        if key not in self._functions:
            name = self._functions[key] = f"ew_{len(self._functions)}_{step.kernel.name}"
            names = {program.inputs[k].name for k in watched}
            self._written.append(_Function(name, program, self.real, names, fused=key[1]).text())
            self._sources.append(Source(_body(program), dialect(self.real)))
        return self._functions[key]


def _body(program: Program | Repeated | Table) -> Program | Repeated:
    return program.program if isinstance(program, Table) else program


class _Function:
    """A kernel as a function of one lane; it returns whether one of the watched inputs is not finite."""

    def __init__(
        self, name: str, program: Program | Repeated | Table, real: Real, watched: set[str], *, fused: bool
    ) -> None:
        self.name, self.program, self.real, self.watched = name, program, real, watched
        self.one = _body(program)
        self.source = Source(self.one, replace(dialect(real), fused=fused))

    def text(self) -> str:
        """The whole function."""
        program, source = self.program, self.source
        inputs, outputs = ([name for name, _ in side.values()] for side in (source.inputs, source.outputs))
        constants, arguments = list[str](), [*inputs, *outputs]
        if isinstance(program, Table):
            constants, lines = self._entries(program)
            if not program.apart:
                arguments = ["rows", *inputs[len(program.indices) :], *outputs]
        else:
            times = program.times if isinstance(program, Repeated) else 1

            def row(own: str, whole: Port, k: int) -> str:
                return f"{own}[(k * {whole.size // times} + {k}) * {WARP}]"

            lines = source.body(_column, _column, late=True, row=row, seen=self._seen)
        kind = "int" if self.watched else "void"
        listed = ", ".join(f"{self.real}* __restrict__ {x}" for x in arguments)
        head = f"static __device__ __noinline__ {kind} {self.name}({listed})"
        if self.watched:
            rest = [f"    ew_sum += {x} * 0;" for x in self._unread()]
            lines = [f"    {self.real} ew_sum = 0;", *rest, *lines, "    return !(ew_sum == 0);"]
        return "\n".join([*constants, head, "{", *lines, "}", ""])

    def _seen(self, port: str, value: str) -> str | None:
        """The sum of 0 times each value is 0 if all are finite."""
        return f"    ew_sum = EW_FMA({value}, ({self.real})0, ew_sum);" if self._watches(port) else None

    def _watches(self, port: str) -> bool:
        rows = isinstance(self.program, Table) and not self.program.apart
        taken = (
            {p.name for p in self.one.inputs[: len(self.program.indices)]} if isinstance(self.program, Table) else {}
        )
        return port in self.watched or (rows and port in taken and "rows" in self.watched)

    def _unread(self) -> list[str]:
        """Elements of watched inputs that no step reads."""
        program, loads = self.program, set(self.source.lowered.loads.values())
        found = list[str]()
        for port in program.inputs:
            if port.name not in self.watched:
                continue
            if not isinstance(program, Table):
                name = self.source.inputs[port.name][0]
                turns = isinstance(program, Repeated) and program.rows == port.name
                found += (
                    [] if turns else [_column(name, port, k) for k in range(port.size) if (port.name, k) not in loads]
                )
                continue
            own = [p for p in self.one.inputs if p.name == port.name]
            name = self.source.inputs[port.name][0] if own else "rows"
            column, taking = (
                port.name in program.columns,
                program.inputs[: 1 if not program.apart else len(program.indices)],
            )
            if column:
                read = {k for which, k in loads if which == port.name}
                found += [_column(name, port, k) for k in range(port.size) if k // program.padded not in read]
            elif port in taking:
                width = port.shape[1]
                read_rows = [
                    (r, k)
                    for p, rows in zip(self.one.inputs, program.indices, strict=False)
                    if not own or p.name == port.name
                    for which, k in loads
                    if which == p.name
                    for r in set(rows)
                ]
                there = set(read_rows)
                found += [_column(name, port, k) for k in range(port.size) if divmod(k, width) not in there]
            else:
                found += [_column(name, port, k) for k in range(port.size) if (port.name, k) not in loads]
        return found

    def _entries(self, table: Table) -> tuple[list[str], list[str]]:
        """The numbers of a Table's rows, and its lines: entry after entry; those beyond the last are that again."""
        source = self.source
        count = table.padded if table.columns else table.entries
        entry = [min(k, table.entries - 1) for k in range(count)]
        constants, before = list[str](), list[str]()

        def chosen(own: str, array: str, port: Port, rows: Sequence[int]) -> None:
            listed = ", ".join(str(rows[k] * port.size * WARP) for k in entry)
            constants.append(f"static __device__ const int {self.name}_{own}[{count}] = {{{listed}}};")
            before.append(f"    {self.real}* const {own}_row = {array} + {self.name}_{own}[entry];")

        taking = table.program.inputs[: len(table.indices)]
        for port, column in zip(taking, table.indices, strict=True):
            own = source.inputs[port.name][0]
            chosen(own, own if table.apart else "rows", port, column)
        for port in table.program.outputs:
            if port.name not in table.columns:
                own = source.outputs[port.name][0]
                chosen(own, own, port, table.places or range(table.entries))

        def across(own: str, port: Port, k: int) -> str:
            column = port.name in table.columns
            return f"{own}[({k * table.padded} + entry) * {WARP}]" if column else _column(own, port, k)

        def read(own: str, port: Port, k: int) -> str:
            return _column(f"{own}_row", port, k) if port in taking else across(own, port, k)

        def write(own: str, port: Port, k: int) -> str:
            return across(own, port, k) if port.name in table.columns else _column(f"{own}_row", port, k)

        body = [f"    {line}" for line in (*before, *source.body(read, write, late=True, seen=self._seen))]
        return constants, ["#pragma unroll 1", f"    for (int entry = 0; entry < {count}; ++entry) {{", *body, "    }"]


_NAN = {"double": "0x7ff8000000000000ull", "float": "0x7fc00000u"}


def _column(name: str, port: Port, k: int) -> str:
    return f"{name}[{k * WARP}]"
