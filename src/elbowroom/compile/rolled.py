"""Loops over joints as LLVM IR: what the functions `one` and `block` of a Rolled share (rolled_functions.py)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ..algebra import Program, Rolled
from ..algebra.rolled import Loop
from .ir import Writer, hex_float
from .loops import arguments
from .turn import SharedWriter, Steps, spread

ALIGNMENT = 64


class Function(ABC):
    """What both functions share: `w` writes what happens at one joint."""

    w: Writer
    pad = 0

    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        self.rolled, self.scalar, self.lanes = rolled, scalar, lanes
        self.bytes = 8 if scalar == "double" else 4
        self.s = SharedWriter(scalar, 1, fma, needed=needed)
        self.v = SharedWriter(scalar, lanes, fma, self.s.lines, needed)
        used = _used(rolled)
        self.column = {name: k for k, name in enumerate(name for name in used if name not in rolled.constants)}
        self.table = {name: k for k, name in enumerate(name for name in used if name in rolled.constants)}
        self.matrix = f"%o_{rolled.outputs[0].name}"
        self._labels = 0
        self._here = "entry"

    @property
    def places(self) -> int:
        """The length of a column."""
        return self.rolled.joints + self.pad

    # ---- the whole
    def text(self, name: str) -> list[str]:
        """The tables and the function."""
        size = max(1, len(self.column)) * self.places * self.w.bytes + ALIGNMENT
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
        self._take_inputs()
        forms = {"each": self._each, "outward": self._scan, "inward": self._scan}
        forms |= {"pairs": self._pairs, "diagonal": self._diagonal}
        for loop in self.rolled.loops:
            forms[loop.form](loop)
        if self.rolled.vector:
            self._give_vector(self.rolled.vector)
        self._put("call void @free(ptr %room)", "ret void")
        return [
            *self._tables(),
            f"define void @{name}({arguments(self.rolled, 'ptr noalias')}) {{",
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

    @abstractmethod
    def _take_inputs(self) -> None:
        """The inputs into their columns."""

    @abstractmethod
    def _give_vector(self, column: str) -> None:
        """A column into the output."""

    @abstractmethod
    def _each(self, loop: Loop) -> None:
        """A loop whose turns do not wait for one another."""

    @abstractmethod
    def _row(self, program: Program, x: str) -> dict[str, str]:
        """The elements (j, i) and (i, j) of the joint j at x with all i >= j."""

    @abstractmethod
    def _on_diagonal(self, i: str, change: Callable[[str], str]) -> None:
        """Element (i, i) of the matrix as `change` makes it of what it was."""

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
        base, k, kind = "%scratch", self.column.get(name), self.w.type
        if k is None:
            base, k, kind = "@numbers", self.table[name], self.scalar
        return self.s.put(f"getelementptr [{self.places} x {kind}], ptr {base}, i64 {k}, i64 {place}")

    def _load(self, w: Writer, name: str, place: str) -> str:
        address = self._address(name, place)
        if name in self.table and w is self.w and w.lanes > 1:  # one number for all states
            return spread(w, w.put(f"load {w.scalar}, ptr {address}"))
        return w.put(f"load {w.type}, ptr {address}, align {w.bytes}")

    def _store(self, w: Writer, address: str, value: str, *, aligned: bool = True) -> None:
        self._put(f"store {w.type} {value}, ptr {address}, align {w.bytes if aligned else self.bytes}")

    def _element(self, offset: str, more: int = 0) -> str:
        """The address of an element of the matrix."""
        at = self.s.put(f"getelementptr {self.scalar}, ptr {self.matrix}, i64 {offset}")
        return self.s.put(f"getelementptr {self.scalar}, ptr {at}, i64 {more}") if more else at

    def _lane(self, value: str, lane: int) -> str:
        return self.v.put(f"extractelement {self.v.type} {value}, i32 {lane}")

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
            self.s.lines[at + 1 + k] = f"  {phis[name]} = phi {self.w.type} {sources}"
        self._open(after)

    def _joints(self, body: Callable[[str], None], *, inward: bool = False) -> None:
        """Every place that has a joint."""
        ends = str(self.pad), str(self.places - 1)

        def turn(x: str, _: dict[str, str]) -> dict[str, str]:
            body(x)
            return {}

        self._turns(*(ends[::-1] if inward else ends), -1 if inward else 1, {}, turn)

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
            merged[name] = self.s.put(f"phi {self.w.type} {sources}")
        return merged

    def _scan(self, loop: Loop) -> None:
        ends, step = (str(self.pad), str(self.places - 1)), 1
        if loop.form == "inward":
            ends, step = ends[::-1], -1
        start = {name: self.w.constant(value) for name, value in loop.carried}

        def turn(x: str, carried: dict[str, str]) -> dict[str, str]:
            def emit(program: Program) -> dict[str, str]:
                steps = Steps(program, self.w)
                steps.run({name: carried.get(name) or self._load(self.w, name, x) for name in steps.inputs})
                results = steps.results()
                for name, value in results.items():
                    if name not in carried:
                        self._store(self.w, self._address(name, x), value)
                return {name: results[name] for name in carried}

            return self._by_kind(loop, x, emit)

        self._turns(*ends, step, start, turn)

    def _diagonal(self, loop: Loop) -> None:
        def turn(x: str) -> None:
            def emit(program: Program) -> dict[str, str]:
                steps = Steps(program, self.w)
                loads = {name: self._load(self.w, name, x) for name in steps.inputs if name != "d"}

                def changed(old: str) -> str:
                    steps.run(loads | {"d": old})
                    return steps.results()["d"]

                self._on_diagonal(self.s.put(f"sub i64 {x}, {self.pad}"), changed)
                return {}

            self._by_kind(loop, x, emit)

        self._joints(turn)

    def _pairs(self, loop: Loop) -> None:
        def joint(x: str) -> None:
            for name, source in loop.born:
                value = self._load(self.w, source, x) if isinstance(source, str) else self.w.constant(source)
                self._store(self.w, self._address(name, x), value)
            self._by_kind(loop, x, lambda program: self._row(program, x))

        self._joints(joint, inward=True)

    def _columns(self, steps: Steps, w: Writer, y: str) -> tuple[str, str]:
        """The columns at y moved on, and what they give: the elements (j, i) and (i, j)."""
        steps.run({name: self._load(w, name[2:], y) for name in steps.inputs if name.startswith("v.")})
        results = steps.results()
        for name, value in results.items():
            if name.startswith("v."):
                self._store(w, self._address(name[2:], y), value)
        return results["forth"], results["back"]


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
    if rolled.vector:
        found[rolled.vector] = None
    return list(found)
