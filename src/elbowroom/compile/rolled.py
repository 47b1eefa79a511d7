"""Loops over joints as LLVM IR: the function `one` of a Rolled.

Columns lie one after the other in a scratch array, each with `lanes` times a whole number of entries: joint i is at
place i + pad, the first `pad` places are empty.  Then every joint has its place in an aligned block of lanes, and the
last block is full.

    each        blocks of joints in SIMD lanes (one joint after the other if joints are of several kinds)
    scan        one joint after the other, what is carried in registers
    pairs       one joint j after the other, inwards; the columns i >= j in SIMD lanes, last block first.  What depends
                on j alone is computed once and spread over the lanes.

The block that holds column j holds some i < j too.  Those lanes compute from columns that are not born yet, and write
elements (j, i) and (i, j) that joint i writes again, later; so nothing needs to be masked but the empty places.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algebra import Program
from ..algebra.rolled import Loop, Rolled
from .emit import Emitter
from .ir import Writer, hex_float
from .loops import arguments
from .lower import Lowered, lower
from .sincos import sincos

ALIGNMENT = 64


def one(rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> str:
    """The function `one` with its tables; `needed` gets what the module must declare."""
    needed.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    return "\n".join(_Function(rolled, scalar, lanes, fma, needed).text())


class _Writer(Writer):
    """Registers are named by their line, so that several writers may share the lines."""

    def name(self) -> str:
        return f"%r{len(self.lines)}"


class _Function:
    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        self.rolled, self.scalar, self.lanes = rolled, scalar, lanes
        self.bytes = 8 if scalar == "double" else 4
        self.pad = -rolled.joints % lanes
        self.places = rolled.joints + self.pad
        self.s = _Writer(scalar, 1, fma, intrinsics=needed)
        self.v = _Writer(scalar, lanes, fma, self.s.lines, needed)
        used = _used(rolled)
        self.column = {name: k for k, name in enumerate(name for name in used if name not in rolled.constants)}
        self.table = {name: k for k, name in enumerate(name for name in used if name in rolled.constants)}
        self._labels = 0
        self._here = "entry"

    # ---- the whole
    def text(self) -> list[str]:
        n, out = self.rolled.joints, self.rolled.outputs[0].name
        size = max(1, len(self.column)) * self.places * self.bytes + ALIGNMENT
        self._put(
            f"%room = call ptr @malloc(i64 {size})",  # on the heap: a thread's stack may be small
            "%none = icmp eq ptr %room, null",
            "br i1 %none, label %poor, label %start",
        )
        self._open("poor")
        self._put("call void @llvm.trap()", "unreachable")
        self._open("start")
        self._put(
            "%number = ptrtoint ptr %room to i64",
            f"%after = add i64 %number, {ALIGNMENT - 1}",
            f"%round = and i64 %after, {-ALIGNMENT}",
            "%scratch = inttoptr i64 %round to ptr",
        )
        if self.pad:
            for name in self.column:  # the empty places must hold numbers
                self._store(self.v, self._address(name, "0"), "zeroinitializer", aligned=True)
        for port in self.rolled.inputs:
            if port.name in self.column:
                at = self._address(port.name, str(self.pad))
                self._put(f"call void @llvm.memcpy.p0.p0.i64(ptr {at}, ptr %i_{port.name}, i64 {n * self.bytes}, i1 0)")
        forms = {"each": self._each, "outward": self._scan, "inward": self._scan}
        forms |= {"pairs": self._pairs, "diagonal": self._diagonal}
        for loop in self.rolled.loops:
            forms[loop.form](loop)
        if self.rolled.vector != "":
            at = self._address(str(self.rolled.vector), str(self.pad))
            self._put(f"call void @llvm.memcpy.p0.p0.i64(ptr %o_{out}, ptr {at}, i64 {n * self.bytes}, i1 0)")
        self._put("call void @free(ptr %room)", "ret void")
        return [
            *self._tables(),
            f"define void @one({arguments(self.rolled, 'ptr noalias')}) {{",
            "entry:",
            *self.s.lines,
            "}",
        ]

    def _tables(self) -> list[str]:
        lines = []
        rows = []
        for name in self.table:
            values = [0.0] * self.pad + list(self.rolled.constants[name])
            numbers = ", ".join(f"{self.scalar} {hex_float(x, self.scalar)}" for x in values)
            rows.append(f"[{self.places} x {self.scalar}] [{numbers}]")
        if rows:
            kind = f"[{len(rows)} x [{self.places} x {self.scalar}]]"
            lines.append(f"@numbers = internal constant {kind} [{', '.join(rows)}], align {ALIGNMENT}")
        kinds = ", ".join(f"i32 {k}" for k in [0] * self.pad + list(self.rolled.kinds))
        return [*lines, f"@kinds = internal constant [{self.places} x i32] [{kinds}]"]

    # ---- lines
    def _put(self, *lines: str) -> None:
        self.s.lines += [f"  {line}" for line in lines]

    def _label(self) -> str:
        self._labels += 1
        return f"b{self._labels}"

    def _open(self, label: str) -> str:
        self.s.lines.append(f"{label}:")
        self._here = label
        return label

    def _address(self, name: str, place: str) -> str:
        base, k = ("%scratch", self.column[name]) if name in self.column else ("@numbers", self.table[name])
        return self.s.put(f"getelementptr [{self.places} x {self.scalar}], ptr {base}, i64 {k}, i64 {place}")

    def _load(self, w: Writer, name: str, place: str) -> str:
        align = self.bytes * w.lanes
        return w.put(f"load {w.type}, ptr {self._address(name, place)}, align {align}")

    def _store(self, w: Writer, address: str, value: str, *, aligned: bool) -> None:
        align = self.bytes * w.lanes if aligned else self.bytes
        self._put(f"store {w.type} {value}, ptr {address}, align {align}")

    # ---- loops
    def _turns(
        self,
        first: str,
        last: str,
        step: int,
        carried: dict[str, str],
        body: Callable[[str, dict[str, str]], dict[str, str]],
    ) -> None:
        """Places from first to last (both taken, if there is any between), with values carried from turn to turn."""
        before, head, work, after = self._here, self._label(), self._label(), self._label()
        self._put(f"br label %{head}")
        self._open(head)
        x, following = f"%x_{head}", f"%y_{head}"
        at = len(self.s.lines)
        phis = {name: f"%{head}_{k}" for k, name in enumerate(carried)}
        self.s.lines += [""] * (1 + len(carried))
        more = self.s.put(f"icmp {'sle' if step > 0 else 'sge'} i64 {x}, {last}")
        self._put(f"br i1 {more}, label %{work}, label %{after}")
        self._open(work)
        results = body(x, phis)
        self._put(f"{following} = add i64 {x}, {step}", f"br label %{head}")
        self.s.lines[at] = f"  {x} = phi i64 [{first}, %{before}], [{following}, %{self._here}]"
        for k, (name, start) in enumerate(carried.items()):
            sources = f"[{start}, %{before}], [{results[name]}, %{self._here}]"
            self.s.lines[at + 1 + k] = f"  {phis[name]} = phi {self.scalar} {sources}"
        self._open(after)

    def _by_kind(self, loop: Loop, x: str, emit: Callable[[Program], dict[str, str]]) -> dict[str, str]:
        """The body for the kind of the joint at x; what the bodies return, merged."""
        if len(loop.bodies) == 1:
            return emit(loop.bodies[0])
        address = self.s.put(f"getelementptr i32, ptr @kinds, i64 {x}")
        kind = self.s.put(f"load i32, ptr {address}")
        labels, join = [self._label() for _ in loop.bodies], self._label()
        cases = " ".join(f"i32 {k}, label %{label}" for k, label in enumerate(labels[1:], start=1))
        self._put(f"switch i32 {kind}, label %{labels[0]} [{cases}]")
        ends, results = [], []
        for label, body in zip(labels, loop.bodies, strict=True):
            self._open(label)
            results.append(emit(body))
            ends.append(self._here)
            self._put(f"br label %{join}")
        self._open(join)
        merged = {}
        for name in results[0]:
            sources = ", ".join(f"[{r[name]}, %{end}]" for r, end in zip(results, ends, strict=True))
            merged[name] = self.s.put(f"phi {self.scalar} {sources}")
        return merged

    def _each(self, loop: Loop) -> None:
        if len(loop.bodies) > 1:
            self._scan(loop)
            return

        def block(x: str, _: dict[str, str]) -> dict[str, str]:
            steps = _Steps(loop.bodies[0], self.v)
            steps.run({name: self._load(self.v, name, x) for name in steps.inputs})
            for name, value in steps.results().items():
                self._store(self.v, self._address(name, x), value, aligned=True)
            return {}

        self._turns("0", str(self.places - self.lanes), self.lanes, {}, block)

    def _scan(self, loop: Loop) -> None:
        first, last = str(self.pad), str(self.places - 1)
        step = 1
        if loop.form == "inward":
            first, last, step = last, first, -1
        start = {name: hex_float(value, self.scalar) for name, value in loop.carried}

        def turn(x: str, carried: dict[str, str]) -> dict[str, str]:
            def emit(program: Program) -> dict[str, str]:
                steps = _Steps(program, self.s)
                steps.run({name: carried.get(name) or self._load(self.s, name, x) for name in steps.inputs})
                results = steps.results()
                for name, value in results.items():
                    if name not in carried:
                        self._store(self.s, self._address(name, x), value, aligned=True)
                return {name: results[name] for name in carried}

            return self._by_kind(loop, x, emit)

        self._turns(first, last, step, start, turn)

    def _diagonal(self, loop: Loop) -> None:
        n, out = self.rolled.joints, self.rolled.outputs[0].name

        def turn(x: str, _: dict[str, str]) -> dict[str, str]:
            i = self.s.put(f"sub i64 {x}, {self.pad}")
            at = self.s.put(f"getelementptr {self.scalar}, ptr %o_{out}, i64 {self.s.put(f'mul i64 {i}, {n + 1}')}")

            def emit(program: Program) -> dict[str, str]:
                steps = _Steps(program, self.s)
                loads = {name: self._load(self.s, name, x) for name in steps.inputs if name != "d"}
                steps.run(loads | {"d": self.s.put(f"load {self.scalar}, ptr {at}")})
                self._store(self.s, at, steps.results()["d"], aligned=True)
                return {}

            return self._by_kind(loop, x, emit)

        self._turns(str(self.pad), str(self.places - 1), 1, {}, turn)

    def _pairs(self, loop: Loop) -> None:
        n, out, s = self.rolled.joints, self.rolled.outputs[0].name, self.s

        def joint(x: str, _: dict[str, str]) -> dict[str, str]:
            for name, source in loop.born:
                value = self._load(s, source, x) if isinstance(source, str) else hex_float(source, self.scalar)
                self._store(s, self._address(name, x), value, aligned=True)
            j = s.put(f"sub i64 {x}, {self.pad}")
            row = s.put(f"sub i64 {s.put(f'mul i64 {j}, {n}')}, {self.pad}")  # element (j, i) is at row + place of i
            row = s.put(f"getelementptr {self.scalar}, ptr %o_{out}, i64 {row}")
            column = s.put(f"sub i64 {j}, {self.pad * n}")  # element (i, j) is at column + n times the place of i
            column = s.put(f"getelementptr {self.scalar}, ptr %o_{out}, i64 {column}")
            first = s.put(f"and i64 {x}, {-self.lanes}")
            return self._by_kind(loop, x, lambda program: self._row(program, x, first, row, column))

        self._turns(str(self.places - 1), str(self.pad), -1, {}, joint)

    def _row(self, program: Program, x: str, first: str, row: str, column: str) -> dict[str, str]:
        """The elements of joint j with all columns from the last block to the first that it needs."""
        steps = _Steps(program, self.v)
        steps.alone(self.s, {name: self._load(self.s, name, x) for name in steps.inputs if not name.startswith("v.")})

        def block(y: str, lanes: range) -> None:
            steps.run({name: self._load(self.v, name[2:], y) for name in steps.inputs if name.startswith("v.")})
            results = steps.results()
            for name, value in results.items():
                if name.startswith("v."):
                    self._store(self.v, self._address(name[2:], y), value, aligned=True)
            down = self.s.put(f"mul i64 {y}, {self.rolled.joints}")
            for values, base, step, at in (
                (results["back"], column, self.rolled.joints, down),
                (results["forth"], row, 1, y),
            ):
                if step == 1 and len(lanes) == self.lanes:
                    address = self.s.put(f"getelementptr {self.scalar}, ptr {base}, i64 {at}")
                    self._store(self.v, address, values, aligned=False)
                    continue
                for lane in lanes:
                    value = self.v.put(f"extractelement {self.v.type} {values}, i32 {lane}")
                    address = self.s.put(f"getelementptr {self.scalar}, ptr {base}, i64 {at}")
                    address = self.s.put(f"getelementptr {self.scalar}, ptr {address}, i64 {lane * step}")
                    self._store(self.s, address, value, aligned=True)

        def full(y: str, _: dict[str, str]) -> dict[str, str]:
            block(y, range(self.lanes))
            return {}

        last = first
        if self.pad:  # the first block has empty places
            low = self.s.put(f"icmp slt i64 {first}, {self.lanes}")
            last = self.s.put(f"select i1 {low}, i64 {self.lanes}, i64 {first}")
        self._turns(str(self.places - self.lanes), last, -self.lanes, {}, full)
        if self.pad:
            some, done = self._label(), self._label()
            self._put(f"br i1 {low}, label %{some}, label %{done}")
            self._open(some)
            block("0", range(self.pad, self.lanes))
            self._put(f"br label %{done}")
            self._open(done)
        return {}


class _Steps:
    """One turn's Program, written over scalars or lanes."""

    def __init__(self, program: Program, writer: Writer) -> None:
        self.lowered: Lowered = lower(program)
        self.program, self.w = program, writer
        self.inputs = [port.name for port in program.inputs]
        self._known: dict[int, str] = {}  # what does not depend on the lane, spread over the lanes
        self._done: set[int] = set()  # all of that, needed again or not
        self._value: dict[int, str] = {}

    def alone(self, writer: Writer, loads: dict[str, str]) -> None:
        """Compute what follows from these scalars alone, and spread over the lanes what others need of it."""
        done = self._run(writer, loads, {})
        needed = {k for v, op in self.lowered.steps if v not in done for k in op[1:] if k in done}
        needed |= {k for operands in self.program.results for k in operands if k in done}
        w = self.w
        for k in sorted(needed):
            lane = w.put(f"insertelement {w.type} undef, {w.scalar} {done[k]}, i32 0")
            self._known[k] = w.put(f"shufflevector {w.type} {lane}, {w.type} undef, <{w.lanes} x i32> zeroinitializer")
        self._done = set(done)

    def run(self, loads: dict[str, str]) -> None:
        """Compute all the rest."""
        self._value = self._run(self.w, loads, self._known)

    def results(self) -> dict[str, str]:
        """The registers of the outputs, by name."""
        found = {}
        for port, (k,) in zip(self.program.outputs, self.program.results, strict=True):
            found[port.name] = self._value[k] if k >= 0 else self.w.constant(self.program.constants[-1 - k])
        return found

    def _run(self, writer: Writer, loads: dict[str, str], known: dict[int, str]) -> dict[int, str]:
        """The steps all of whose operands are there."""
        emitter = Emitter(self.lowered, writer, alone=True)
        value = emitter.value = dict(known)
        for k, (name, _) in self.lowered.loads.items():
            if name in loads:
                value[k] = loads[name]
        turned: dict[int, tuple[str, str]] = {}
        for k, operation in self.lowered.steps:
            if k in value or k in self._done or any(i >= 0 and i not in value for i in operation[1:]):
                continue
            if operation[0] in ("sin", "cos") and operation[1] >= 0:
                if operation[1] not in turned:
                    turned[operation[1]] = sincos(writer, value[operation[1]])
                value[k] = turned[operation[1]][operation[0] == "cos"]
            else:
                value[k] = emitter._step(operation)
        return value


def _used(rolled: Rolled) -> list[str]:
    """The columns that any loop reads or writes."""
    found: dict[str, None] = {}
    for loop in rolled.loops:
        carried = {name for name, _ in loop.carried}
        for body in loop.bodies:
            for port in (*body.inputs, *body.outputs):
                if port.name not in carried and port.name not in ("forth", "back", "d"):
                    found[port.name.removeprefix("v.")] = None
        for name, source in loop.born:
            found[name] = None
            if isinstance(source, str):
                found[source] = None
    if isinstance(rolled.vector, str) and rolled.vector:
        found[rolled.vector] = None
    return list(found)
