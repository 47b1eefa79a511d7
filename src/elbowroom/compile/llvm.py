"""CPU code through llvmlite: one state, or many at once in SIMD lanes.

For one Program and one floating-point type there are two modules, each made when it is first needed:

    one(inputs..., outputs...)      straight-line code for one state; sines of all joints in one vector operation
    single(pointers)                `one` for callers that hold an array of pointers
    entry, bind                     `one` for CPython (entry.py)

    many(pointers, count)           blocks of `lanes` states, one state a lane, row-major arrays in and out

The code has no fast-math: sums and products are done as written and fused by `lower` alone, so one state and the same
state in a batch give the same bits.  Long programs are cut into functions of about `CHUNK` steps that pass values on
through a scratch array, since the time to compile a function grows faster than its length.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..algebra import Port, Program
from ..algebra.expr import Operation
from . import entry
from .ir import Writer
from .lower import Lowered, lower
from .sincos import sincos

ALONE = 6000  # steps that one function still holds; compiling it takes half a second
CHUNK = 2000  # steps a function where there are more


@dataclass(frozen=True)
class Target:
    """The CPU to write for."""

    cpu: str
    features: str
    vector_bits: int
    fma: bool

    def lanes(self, scalar: str) -> int:
        """States at once: what one vector register holds."""
        return max(2, self.vector_bits // (64 if scalar == "double" else 32))


def module(program: Program, target: Target, dtype: np.dtype[np.floating], kind: str) -> str:
    """LLVM IR text of a Program for one state (kind "one") or for many ("many")."""
    scalar = {8: "double", 4: "float"}[dtype.itemsize]
    lowered = lower(program)
    needed: set[str] = set()
    if kind == "one":
        parts = [
            *_function("one", lowered, Writer(scalar, 1, target.fma, intrinsics=needed)),
            _single(program),
            entry.emit(program) if scalar == "double" else "",
        ]
    else:
        lanes = target.lanes(scalar)
        needed.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        parts = [
            *_function("block", lowered, Writer(scalar, lanes, target.fma, intrinsics=needed)),
            _many(program, scalar, lanes),
        ]
    return "\n".join([*sorted(needed), *parts, ""])


def _parameters(program: Program) -> str:
    ports = [
        *(f"ptr noalias %i_{p.name}" for p in program.inputs),
        *(f"ptr noalias %o_{p.name}" for p in program.outputs),
    ]
    return ", ".join(ports)


def _function(name: str, lowered: Lowered, writer: Writer) -> list[str]:
    """One function, or a chain of them with a scratch array."""
    total = len(lowered.steps)
    chunks = [lowered.steps] if total <= ALONE else [lowered.steps[k : k + CHUNK] for k in range(0, total, CHUNK)]
    emit = _Emitter(lowered, writer, alone=len(chunks) == 1)
    parameters = _parameters(lowered.program)
    if len(chunks) == 1:
        body = emit.chunk(chunks[0], set(), set(), first=True)
        return [f"define void @{name}({parameters}) {{", *body, "  ret void", "}"]
    functions, calls = [], []
    crossing = _crossing(lowered, chunks)
    emit.slots = _slots(crossing)
    for number, chunk in enumerate(chunks):
        body = emit.chunk(chunk, *crossing[number], first=number == 0)
        functions += [f"define internal void @{name}_{number}({parameters}, ptr noalias %scratch) {{", *body]
        functions += ["  ret void", "}"]
        calls.append(f"  call void @{name}_{number}({_pass(lowered.program)}, ptr %scratch)")
    size = max(emit.slots.values(), default=0) + 1
    functions += [
        f"define void @{name}({parameters}) {{",
        f"  %scratch = alloca [{size} x {emit.w.type}], align 64",
        *calls,
        "  ret void",
        "}",
    ]
    return functions


def _pass(program: Program) -> str:
    ports = [*(f"ptr %i_{p.name}" for p in program.inputs), *(f"ptr %o_{p.name}" for p in program.outputs)]
    return ", ".join(ports)


def _turned_steps(lowered: Lowered) -> dict[int, tuple[int, str]]:
    """The sines and cosines of inputs: step -> (input value, sin or cos)."""
    turns = set(lowered.turns)
    return {k: (op[1], op[0]) for k, op in lowered.steps if op[0] in ("sin", "cos") and op[1] in turns}


def _reads(operation: Operation) -> Iterable[int]:
    return (k for k in operation[1:] if k >= 0)


Crossing = list[tuple[set[int], set[int]]]


def _crossing(lowered: Lowered, chunks: list[tuple[tuple[int, Operation], ...]]) -> Crossing:
    """Per chunk: the values it takes from earlier ones, and those it leaves for later ones."""
    made: dict[int, int] = dict.fromkeys(lowered.loads, 0)  # inputs are loaded, and turned, by the first chunk
    for number, chunk in enumerate(chunks):
        for value, _ in chunk:
            made[value] = number
    taken: list[set[int]] = [set() for _ in chunks]
    left: list[set[int]] = [set() for _ in chunks]
    turned = _turned_steps(lowered)
    made |= dict.fromkeys(turned, 0)
    for number, chunk in enumerate(chunks):
        for value, operation in chunk:
            for k in _reads(operation) if value not in turned else ():
                if made[k] < number:
                    taken[number].add(k)
                    left[made[k]].add(k)
    return list(zip(taken, left, strict=True))


def _slots(crossing: Crossing) -> dict[int, int]:
    """A place in the scratch array for every value that crosses; a place is used again after its last reader."""
    last: dict[int, int] = {}
    for number, (taken, left) in enumerate(crossing):
        for k in left:
            last.setdefault(k, number)
        for k in taken:
            last[k] = number
    free: list[int] = []
    slots: dict[int, int] = {}
    used = 0
    for number, (_, left) in enumerate(crossing):
        for k in sorted(left):
            if free:
                slots[k] = free.pop()
            else:
                slots[k] = used
                used += 1
        free += [slot for k, slot in slots.items() if last[k] == number]
    return slots


class _Emitter:
    """Writes steps over scalars or lanes."""

    def __init__(self, lowered: Lowered, writer: Writer, *, alone: bool) -> None:
        self.lowered = lowered
        self.program = lowered.program
        self.alone = alone  # one function holds everything
        self.w = writer
        self.value: dict[int, str] = {}
        self.turned = _turned_steps(lowered)
        self.slots: dict[int, int] = {}
        self.outputs: dict[int, list[tuple[Port, int]]] = {}
        for port, operands in zip(self.program.outputs, self.program.results, strict=True):
            for element, operand in enumerate(operands):
                self.outputs.setdefault(operand, []).append((port, element))

    def chunk(
        self, steps: tuple[tuple[int, Operation], ...], taken: set[int], left: set[int], *, first: bool
    ) -> list[str]:
        """The lines of one function's body."""
        w = self.w
        w.lines, w._next = [], 0
        self.value = {}
        for k in sorted(taken):
            self.value[k] = self._load_slot(k)
        if first:
            self._start()
        for k, operation in steps:
            if k not in self.turned:
                self.value[k] = self._step(operation)
                if not self.alone:
                    self._finish(k)
        if first and not self.alone:
            for k in (k for k in self.outputs if k < 0 or k in self.lowered.loads or k in self.turned):
                self._finish(k)
        if self.alone:
            self._store_all()
        for k in sorted(left):
            self._store_slot(k)
        return w.lines

    # ---- inputs, and their sines and cosines
    def _start(self) -> None:
        w = self.w
        for k, (port, element) in self.lowered.loads.items():
            self.value[k] = self._load(port, element)
        turns = self.lowered.turns
        if w.lanes > 1:
            pairs = [sincos(w, self.value[k]) for k in turns]
        else:
            pairs = self._all_at_once(turns)
        registers = dict(zip(turns, pairs, strict=True))
        for step, (k, name) in self.turned.items():
            self.value[step] = registers[k][name == "cos"]

    def _all_at_once(self, turns: tuple[int, ...]) -> list[tuple[str, str]]:
        """Sine and cosine of several scalars in one vector; lanes without one repeat the last."""
        if not turns:
            return []
        vector, packed = self.w.widened(-(-len(turns) // 4) * 4), "undef"
        for lane in range(vector.lanes):
            register = self.value[turns[min(lane, len(turns) - 1)]]
            packed = vector.put(f"insertelement {vector.type} {packed}, {self.w.type} {register}, i32 {lane}")
        both = sincos(vector, packed)
        pairs = []
        for lane in range(len(turns)):
            sine, cosine = (vector.put(f"extractelement {vector.type} {x}, i32 {lane}") for x in both)
            pairs.append((sine, cosine))
        self.w._next = vector._next
        return pairs

    # ---- steps
    def _operand(self, k: int) -> str:
        return self.value[k] if k >= 0 else self.w.constant(self.lowered.constants[-1 - k])

    def _step(self, operation: Operation) -> str:
        w = self.w
        name, *operands = operation
        x = [self._operand(k) for k in operands]
        if name in ("add", "sub", "mul", "div"):
            return w.binary(f"f{name}", *x)
        if name == "fma":
            return w.product_sum(*x)
        if name == "fms":
            return w.product_sum(x[0], x[1], w.negated(x[2]))
        if name == "fnma":
            return w.product_sum(w.negated(x[0]), x[1], x[2])
        if name == "neg":
            return w.negated(x[0])
        if name in ("sin", "cos"):
            return sincos(w, x[0])[name == "cos"]
        if name == "sqrt":
            return w.call("sqrt", x[0])
        if name == "abs":
            return w.call("fabs", x[0])
        if name in ("lt", "le", "eq"):
            return w.put(f"fcmp o{name} {w.type} {x[0]}, {x[1]}")
        if name in ("min", "max"):
            order = "olt" if name == "min" else "ogt"
            return w.select(w.put(f"fcmp {order} {w.type} {x[0]}, {x[1]}"), x[0], x[1])
        if name in ("and", "or"):
            return w.put(f"{name} {w.truth} {x[0]}, {x[1]}")
        if name == "not":
            true = "true" if w.lanes == 1 else "<" + ", ".join(["i1 true"] * w.lanes) + ">"
            return w.put(f"xor {w.truth} {x[0]}, {true}")
        if name == "select":
            return w.select(*x)
        raise AssertionError(f"no code for the operation {name!r}")

    # ---- memory
    def _address(self, side: str, port: str, offset: int) -> str:
        if offset == 0:
            return f"%{side}_{port}"
        return self.w.put(f"getelementptr {self.w.scalar}, ptr %{side}_{port}, i64 {offset}")

    def _load(self, name: str, element: int) -> str:
        w = self.w
        size = next(p.size for p in self.program.inputs if p.name == name)
        if w.lanes == 1:
            return w.put(f"load {w.scalar}, ptr {self._address('i', name, element)}")
        packed = "undef"
        for lane in range(w.lanes):
            scalar = w.put(f"load {w.scalar}, ptr {self._address('i', name, lane * size + element)}")
            packed = w.put(f"insertelement {w.type} {packed}, {w.scalar} {scalar}, i32 {lane}")
        return packed

    def _store(self, port: Port, element: int, register: str) -> None:
        w = self.w
        if w.lanes == 1:
            address = self._address("o", port.name, element)
            w.lines.append(f"  store {w.scalar} {register}, ptr {address}")
            return
        for lane in range(w.lanes):
            scalar = w.put(f"extractelement {w.type} {register}, i32 {lane}")
            address = self._address("o", port.name, lane * port.size + element)
            w.lines.append(f"  store {w.scalar} {scalar}, ptr {address}")

    def _finish(self, k: int) -> None:
        """Store an output as soon as it is known."""
        for port, element in self.outputs.get(k, ()):
            self._store(port, element, self._operand(k))

    def _store_all(self) -> None:
        """Store all outputs, in lanes a square of them at a time, transposed."""
        w = self.w
        for port, operands in zip(self.program.outputs, self.program.results, strict=True):
            registers = [self._operand(k) for k in operands]
            full = 0 if w.lanes == 1 else port.size - port.size % w.lanes
            for start in range(0, full, w.lanes):
                for lane, row in enumerate(self._transposed(registers[start : start + w.lanes])):
                    address = self._address("o", port.name, lane * port.size + start)
                    size = 8 if w.scalar == "double" else 4
                    w.lines.append(f"  store {w.type} {row}, ptr {address}, align {size}")
            for element in range(full, port.size):
                self._store(port, element, registers[element])

    def _transposed(self, rows: list[str]) -> list[str]:
        """A square of lanes x lanes turned about its diagonal, by log2(lanes) rounds of shuffles."""
        w, n = self.w, self.w.lanes
        step = 1
        while step < n:
            result = list(rows)
            for i in range(n):
                if i & step:
                    continue
                j = i | step
                low = [(k if not k & step else n + (k ^ step)) for k in range(n)]
                high = [(k | step) if not k & step else n + k for k in range(n)]
                for to, mask in ((i, low), (j, high)):
                    listed = ", ".join(f"i32 {k}" for k in mask)
                    result[to] = w.put(f"shufflevector {w.type} {rows[i]}, {w.type} {rows[j]}, <{n} x i32> <{listed}>")
            rows = result
            step *= 2
        return rows

    def _slot(self, k: int) -> str:
        return self.w.put(f"getelementptr {self.w.type}, ptr %scratch, i64 {self.slots[k]}")

    def _load_slot(self, k: int) -> str:
        return self.w.put(f"load {self.w.type}, ptr {self._slot(k)}")

    def _store_slot(self, k: int) -> None:
        self.w.lines.append(f"  store {self.w.type} {self.value[k]}, ptr {self._slot(k)}")


def _ports(program: Program) -> list[tuple[str, int]]:
    return [*((f"i_{p.name}", p.size) for p in program.inputs), *((f"o_{p.name}", p.size) for p in program.outputs)]


def _pointers(program: Program) -> list[str]:
    lines = []
    for k, (port, _) in enumerate(_ports(program)):
        lines.append(f"  %at{k} = getelementptr ptr, ptr %pointers, i64 {k}")
        lines.append(f"  %{port} = load ptr, ptr %at{k}")
    return lines


def _single(program: Program) -> str:
    return "\n".join(
        [
            "define void @single(ptr %pointers) {",
            *_pointers(program),
            f"  call void @one({_pass(program)})",
            "  ret void",
            "}",
        ]
    )


def _many(program: Program, scalar: str, lanes: int) -> str:
    """Whole blocks in place; the states that are left over go through a block of their own, the last one repeated."""
    width = 8 if scalar == "double" else 4
    ports = _ports(program)
    lines = ["define void @many(ptr %pointers, i64 %count) {", "entry:", *_pointers(program)]
    for k, (_, size) in enumerate(ports):
        lines.append(f"  %pad{k} = alloca [{max(1, size * lanes)} x {scalar}], align 64")
        lines.append(f"  %bytes{k} = add i64 0, {size * width}")
    lines += [
        f"  %whole = and i64 %count, {-lanes}",
        "  br label %head",
        "head:",
        "  %b = phi i64 [0, %entry], [%next, %body]",
        "  %more = icmp slt i64 %b, %whole",
        "  br i1 %more, label %body, label %after",
        "body:",
    ]
    call = []
    for k, (port, size) in enumerate(ports):
        lines.append(f"  %off{k} = mul i64 %b, {size}")
        lines.append(f"  %here{k} = getelementptr {scalar}, ptr %{port}, i64 %off{k}")
        call.append(f"ptr %here{k}")
    lines += [
        f"  call void @block({', '.join(call)})",
        f"  %next = add i64 %b, {lanes}",
        "  br label %head",
        "after:",
        "  %left = sub i64 %count, %whole",
        "  %none = icmp eq i64 %left, 0",
        "  br i1 %none, label %done, label %fill",
        "fill:",
        "  %lane = phi i64 [0, %after], [%lane1, %fill]",
        "  %past = sub i64 %left, 1",
        "  %inside = icmp slt i64 %lane, %left",
        "  %pick = select i1 %inside, i64 %lane, i64 %past",
        "  %state = add i64 %whole, %pick",
    ]
    inputs = len(program.inputs)
    for k, (port, size) in enumerate(ports[:inputs]):
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
        f"  call void @block({', '.join(f'ptr %pad{k}' for k in range(len(ports)))})",
    ]
    for k, (port, size) in enumerate(ports[inputs:], start=inputs):
        lines += [
            f"  %ro{k} = mul i64 %whole, {size}",
            f"  %result{k} = getelementptr {scalar}, ptr %{port}, i64 %ro{k}",
            f"  %rb{k} = mul i64 %left, %bytes{k}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %result{k}, ptr %pad{k}, i64 %rb{k}, i1 false)",
        ]
    lines += ["  br label %done", "done:", "  ret void", "}"]
    return "\n".join(lines)
