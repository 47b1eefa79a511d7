"""CUDA text of a kernel of the CPU: a function of one lane, whose arrays are columns, element e at `x[e * 32]`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...algebra import Port, Program, Repeated, Table
from ..cuda import WARP, dialect
from ..source import Real, Source
from .needed import Part

# When an input is read, as measured on an H200: reading waits for nothing where much is asked for at once, but what has
# come takes registers, and a multiprocessor has fewer warps then.
FEW, MANY = 64, 128  # an entry's inputs are read first if there are few, or if it needs many registers anyway
AHEAD = 100  # steps from reading an input to using it, in a kernel with too many of them to read all first


def body_of(program: Program | Repeated | Table) -> Program | Repeated:
    """What a table does for each entry, or the program itself."""
    return program.program if isinstance(program, Table) else program


class CardFunction:
    """A kernel as a function of one lane; it returns whether one of the watched inputs or outputs is not finite.

    `part` says what is done of it, if not all; what it reads elsewhere is so far from the beginning of its array.
    `renewed`: a column that a table takes and another that it makes, by name, which lie in the same place.
    """

    def __init__(
        self,
        name: str,
        program: Program | Repeated | Table,
        real: Real,
        watched: set[str],
        made: set[str],
        *,
        fused: bool,
        part: Part | None = None,
        renewed: Collection[str] = (),
    ) -> None:
        self.name, self.program, self.real, self.watched, self.made = name, program, real, watched, made
        self.part, self.renewed = part or Part.all(program), renewed
        self.one = body_of(program)
        self.source = Source(self.one, replace(dialect(real), fused=fused))

    def text(self) -> str:
        """The whole function."""
        program, source = self.program, self.source
        inputs, outputs = ([name for name, _ in side.values()] for side in (source.inputs, source.outputs))
        constants, arguments, more = list[str](), [*inputs, *outputs], ""
        if isinstance(program, Table):
            constants, lines = self._entries(program)
            if not program.apart:
                arguments = ["rows", *inputs[len(program.indices) :], *outputs]
            more = ", const int part, const int parts"
        else:
            times = program.times if isinstance(program, Repeated) else 1

            def row(own: str, whole: Port, k: int) -> str:
                return f"{own}[(k * {whole.size // times} + {k}) * {WARP}]"

            ahead = None if self.renewed else AHEAD  # all is read before anything of it is written
            lines = source.body(
                self._column,
                _column,
                ahead=ahead,
                row=row,
                seen=self._seen,
                made=self._made,
                unwritten=self.part.unwritten,
            )
        looks = bool(self.watched or self.made)
        kind = "int" if looks else "void"
        ports = dict(source.inputs.values()) | dict(source.outputs.values())
        alone = {x: "" if x in ports and ports[x].name in self.renewed else "__restrict__ " for x in arguments}
        listed = ", ".join(f"{self.real}* {alone[x]}{x}" for x in arguments)
        head = f"static __device__ __forceinline__ {kind} {self.name}({listed}{more})"
        if looks:
            rest = [f"    ew_sum += {x} * 0;" for x in self._unread()]
            if isinstance(program, Table) and rest:
                rest = ["    if (part == 0) {", *(f"    {line}" for line in rest), "    }"]
            lines = [f"    {self.real} ew_sum = 0;", *rest, *lines, "    return !(ew_sum == 0);"]
        return "\n".join([*constants, head, "{", *lines, "}", ""])

    def _column(self, name: str, port: Port, k: int) -> str:
        """An element of an input."""
        if (port.name, k) not in self.part.elsewhere:
            return _column(name, port, k)
        at, apart = self.part.elsewhere[port.name, k]
        return f"{name}[({at} + entry * {apart}) * {WARP}]" if apart else f"{name}[{at * WARP}]"

    def _seen(self, port: str, value: str) -> str | None:
        """The sum of 0 times each value is 0 if all are finite."""
        return self._summed(value) if self._watches(port) else None

    def _made(self, port: str, value: str) -> str | None:
        return self._summed(value) if port in self.made else None

    def _summed(self, value: str) -> str:
        return f"    ew_sum = EW_FMA({value}, ({self.real})0, ew_sum);"

    def _watches(self, port: str) -> bool:
        rows = isinstance(self.program, Table) and not self.program.apart
        taken = (
            {p.name for p in self.one.inputs[: len(self.program.indices)]} if isinstance(self.program, Table) else {}
        )
        return port in self.watched or (rows and port in taken and "rows" in self.watched)

    def _unread(self) -> list[str]:
        """Elements of watched inputs that no step reads, but for those of columns, which are read entry by entry."""
        program, loads = self.program, {*self.source.lowered.loads.values(), *self.part.trusted}
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
                continue
            if port in taking:
                width = port.shape[1]
                read_rows = [
                    (r, k)
                    for p, rows in zip(self.one.inputs, program.indices, strict=False)
                    if not own or p.name == port.name
                    for which, k in loads
                    if which == p.name
                    for r in {rows[min(entry, len(rows) - 1)] for entry in self.part.entries}
                ]
                there = set(read_rows)
                found += [_column(name, port, k) for k in range(port.size) if divmod(k, width) not in there]
            else:
                found += [_column(name, port, k) for k in range(port.size) if (port.name, k) not in loads]
        return found

    def _entries(self, table: Table) -> tuple[list[str], list[str]]:
        """The numbers of a Table's rows, and its lines: entry after entry, of all or of one of some equal parts.

        Those beyond the last are that again.
        """
        source, count = self.source, len(self.part.entries)
        constants, before = list[str](), [f"    const int entry = {_numbered(self.part.entries)};"]

        def chosen(own: str, array: str, port: Port, rows: Sequence[int]) -> None:
            taken = [rows[min(k, table.entries - 1)] for k in self.part.entries]
            listed = ", ".join(str(row * port.size * WARP) for row in taken)
            constants.append(f"static __device__ const int {self.name}_{own}[{count}] = {{{listed}}};")
            before.append(f"    {self.real}* const {own}_row = {array} + {self.name}_{own}[at];")

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
            if (port.name, k) in self.part.elsewhere:
                return self._column(own, port, k)
            return _column(f"{own}_row", port, k) if port in taking else across(own, port, k)

        def write(own: str, port: Port, k: int) -> str:
            return across(own, port, k) if port.name in table.columns else _column(f"{own}_row", port, k)

        unread = list[str]()
        for port in table.inputs:
            if port.name in table.columns and port.name in self.watched:
                own, there = (
                    source.inputs[port.name][0],
                    {k for which, k in source.lowered.loads.values() if which == port.name},
                )
                unread += [across(own, port, k) for k in range(port.size // table.padded) if k not in there]
        before += [f"    ew_sum += {x} * 0;" for x in unread]
        first_all = len(source.lowered.loads) <= FEW or source.alive() > MANY or self.renewed
        ahead = None if first_all else 0
        lines = source.body(read, write, ahead=ahead, seen=self._seen, made=self._made, unwritten=self.part.unwritten)
        body = [f"    {line}" for line in (*before, *lines)]
        first, last = f"{count} * part / parts", f"{count} * (part + 1) / parts"
        loop = f"    for (int at = {first}; at < {last}; ++at) {{"
        return constants, ["#pragma unroll 1", loop, *body, "    }"]


def _numbered(entries: Sequence[int]) -> str:
    """The number of entry `at` of some, in C: they are all, or runs of equal length with equal gaps."""
    length = next((k for k, entry in enumerate(entries) if entry != entries[0] + k), len(entries))
    gap = entries[length] - entries[0] - length if length < len(entries) else 0
    if any(entry != entries[0] + k + k // length * gap for k, entry in enumerate(entries)):
        listed = ", ".join(f"at == {k} ? {entry}" for k, entry in enumerate(entries[:-1]))
        return f"{listed.replace(', ', ' : ')} : {entries[-1]}"
    begin = f"{entries[0]} + " if entries[0] else ""
    return f"{begin}at + at / {length} * {gap}" if gap else f"{begin}at"


def _column(name: str, port: Port, k: int) -> str:
    return f"{name}[{k * WARP}]"
