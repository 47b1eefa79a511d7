"""The loops of an Unwound: turns forth, every value that is fed back stored, and turns of the adjoints back.

    one      the caller's arrays; what is fed back is copied to the start of its tape
    block    all arrays of the turns are columns (transpose.py)

The tape has a place a turn.  Adjoints that are fed back, and sums, have two places that take turns, as in `turns`.
"""

from __future__ import annotations

from ..algebra import Port
from ..algebra.unwound import Unwound
from .ir import IrWriter
from .loops import Room, arguments


class _Lines:
    """Lines of one function, and what it works in."""

    def __init__(self, w: IrWriter, *, lanes: bool) -> None:
        self.w, self.lanes, self.room = w, lanes, Room()
        self.lines: list[str] = []

    def place(self, name: str, port: Port, times: int = 1) -> str:
        """Room for so many times a port's numbers."""
        return self.room.place(name, max(1, port.size * times) * self.w.bytes)

    def moved(self, to: str, source: str, port: Port, into: str) -> None:
        """An array of the caller's into one of ours ("columns"), or back ("rows")."""
        if not port.size:
            return
        if self.lanes:
            pair = f"ptr {source}, ptr {to}" if into == "columns" else f"ptr {to}, ptr {source}"
            self.lines.append(f"  call void @into_{into}({pair}, i64 {port.size})")
        else:
            size = port.size * self.w.bytes
            self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def cleared(self, at: str, port: Port) -> None:
        """Zeros."""
        size = port.size * self.w.bytes
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {at}, i8 0, i64 {size}, i1 false)")


def unwinding(name: str, unwound: Unwound, w: IrWriter, scratch: int, *, columns: bool = False) -> list[str]:
    """The function `name`, which calls `forth` and `back`; `scratch`: bytes that these want to work in.

    `columns`: the caller's arrays are columns already.
    """
    repeated, times = unwound.repeated, unwound.repeated.times
    lines = _Lines(w, lanes=w.lanes > 1 and not columns)
    w.needed.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    w.needed.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    fed = {p.name: p for p in repeated.fed}
    at: dict[str, str] = {}  # where a turn finds an input, or an adjoint that stays
    for port in unwound.inputs:
        given = f"%i_{port.name}"
        if port.name == repeated.rows:
            continue
        if port.name in fed:
            lines.moved(lines.place(f"%tape_{port.name}", port, times), given, port, "columns")
        elif lines.lanes:
            at[port.name] = lines.place(f"%c_{port.name}", port)
            lines.moved(at[port.name], given, port, "columns")
        else:
            at[port.name] = given
    spare = f", ptr {lines.room.place('%scratch', scratch)}" if scratch else ""
    turning = {unwound.bars[n]: fed[n] for n in unwound.active} | {f"{p.name}_bar": p for p in unwound.sums}
    for bar, port in turning.items():
        a = lines.place(f"%a_{bar}", port)
        lines.place(f"%b_{bar}", port)
        if port.name in fed:
            lines.moved(a, f"%i_{bar}", port, "columns")
        else:
            lines.cleared(a, port)
    last = {unwound.bars[p.name]: p for p in repeated.outputs if p.name not in fed}
    for bar, port in last.items():
        lines.cleared(lines.place(f"%z_{bar}", port), port)
    rows = {f"{p.name}_bar": p for p in unwound.of if p.name == repeated.rows}
    for bar, port in rows.items():
        at[bar] = lines.place(f"%e_{bar}", port) if lines.lanes else f"%o_{bar}"

    def here(k: str, tag: str) -> dict[str, str]:
        """The inputs of turn k, with the lines that find them."""
        found = dict(at)
        for port_name, port in fed.items():
            found[port_name] = f"%{tag}_{port_name}"
            lines.lines.append(f"  %{tag}n_{port_name} = mul i64 {k}, {port.size}")
            lines.lines.append(
                f"  {found[port_name]} = getelementptr {w.type}, ptr %tape_{port_name}, i64 %{tag}n_{port_name}"
            )
        if repeated.rows:
            size = next(p for p in repeated.program.inputs if p.name == repeated.rows).size
            kind = w.type if columns else w.scalar
            found[repeated.rows] = f"%{tag}_row"
            lines.lines.append(f"  %{tag}rn = mul i64 {k}, {size}")
            lines.lines.append(f"  %{tag}_row = getelementptr {kind}, ptr %i_{repeated.rows}, i64 %{tag}rn")
        return found

    def call(function: str, program_inputs: list[str], outputs: list[str]) -> None:
        lines.lines.append(
            f"  call void @{function}({', '.join(f'ptr {x}' for x in (*program_inputs, *outputs))}{spare})"
        )

    lines.lines.append("  br label %ready")
    lines.lines.append("ready:")
    if times > 1:
        lines.lines += ["  br label %forth", "forth:", "  %k = phi i64 [0, %ready], [%next, %forth]"]
        known = here("%k", "f")
        outputs = []
        for port in unwound.forth.outputs:
            outputs.append(f"%g_{port.name}")
            lines.lines.append(f"  %g_{port.name} = getelementptr {w.type}, ptr %f_{port.name}, i64 {port.size}")
        call("forth", [known[p.name] for p in unwound.forth.inputs], outputs)
        lines.lines += [
            "  %next = add i64 %k, 1",
            f"  %more = icmp slt i64 %next, {times - 1}",
            "  br i1 %more, label %forth, label %turn",
            "turn:",
            "  br label %back",
        ]
    else:
        lines.lines += ["  br label %turn", "turn:", "  br label %back"]
    lines.lines += ["back:", f"  %j = phi i64 [{times - 1}, %turn], [%before, %back]"]
    for bar in turning:
        lines.lines += [
            f"  %from_{bar} = phi ptr [%a_{bar}, %turn], [%to_{bar}, %back]",
            f"  %to_{bar} = phi ptr [%b_{bar}, %turn], [%from_{bar}, %back]",
        ]
    known = here("%j", "h") | {bar: f"%from_{bar}" for bar in turning}
    if last:
        lines.lines.append(f"  %is_last = icmp eq i64 %j, {times - 1}")
    for bar in last:
        lines.lines.append(f"  %l_{bar} = select i1 %is_last, ptr {at[bar]}, ptr %z_{bar}")
        known[bar] = f"%l_{bar}"
    gives = {bar: f"%to_{bar}" for bar in turning}
    for bar, port in rows.items():
        size = port.size // times
        lines.lines.append(f"  %en = mul i64 %j, {size}")
        lines.lines.append(f"  %er = getelementptr {w.type}, ptr {at[bar]}, i64 %en")
        gives[bar] = "%er"
    back = unwound.back
    call("back", [known[p.name] for p in back.inputs], [gives[p.name] for p in back.outputs])
    lines.lines += [
        "  %before = sub i64 %j, 1",
        "  %again = icmp sge i64 %before, 0",
        "  br i1 %again, label %back, label %done",
        "done:",
    ]
    for port in unwound.of:
        bar = unwound.bars.get(port.name, f"{port.name}_bar") if port.name in fed else f"{port.name}_bar"
        if bar in turning:
            lines.moved(f"%o_{port.name}_bar", f"%{'b' if times % 2 else 'a'}_{bar}", port, "rows")
        elif lines.lanes:
            lines.moved(f"%o_{port.name}_bar", at[bar], port, "rows")
    take, give_back = lines.room.taken()
    head = f"define void @{name}({arguments(unwound, 'ptr noalias')}) {{"
    return [head, *take, *lines.lines, *give_back, "  ret void", "}"]
