"""Loops over joints as LLVM IR: the functions of a Rolled, `one` for one state, `block` for as many as there are lanes.

In `one`, columns lie one after the other in a scratch array, each with `lanes` times a whole number of entries: joint
i is at place i + pad, the first `pad` places are empty.  Then every joint has its place in an aligned block of lanes,
and the last block is full.

    each        blocks of joints in SIMD lanes (one joint after the other if joints are of several kinds)
    scan        one joint after the other, what is carried in registers
    pairs       one joint j after the other, inwards; the columns i >= j in SIMD lanes, last block first.  What depends
                on j alone is computed once and spread over the lanes.
    columns     one column i after the other, inwards, and back outwards with its adjoint

The block that holds column j holds some i < j too.  Those lanes compute from columns that are not born yet, and write
elements (j, i) and (i, j) that joint i writes again, later; so nothing needs to be masked but the empty places.

`block` computes as many states as there are lanes, one a lane, each by the same operations as `one`: a place of a
column holds all states, and every loop is over single joints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from ..algebra import Port, Program, Rolled
from ..algebra.looped import JointLoop
from .emit import SharedWriter, TurnSteps, spread
from .ir import IrWriter, hex_float
from .loops import arguments

ALIGNMENT = 64


class RolledCode(ABC):
    """What both functions share: `w` writes what happens at one joint."""

    w: IrWriter
    pad = 0

    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        self.rolled, self.scalar, self.lanes = rolled, scalar, lanes
        self.bytes = 8 if scalar == "double" else 4
        self.s = SharedWriter(scalar, 1, fma, needed=needed)
        self.v = SharedWriter(scalar, lanes, fma, self.s.lines, needed)
        used = _used(rolled)
        self.column = {name: k for k, name in enumerate(name for name in used if name not in rolled.constants)}
        self.table = {name: k for k, name in enumerate(name for name in used if name in rolled.constants)}
        self.matrices = [f"%o_{port.name}" for port in rolled.outputs]
        self.given = [f"%i_{p.name}" for p in rolled.inputs if len(p.shape) == 2 and p.name not in rolled.columns]
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
        forms |= {"pairs": self._pairs, "diagonal": self._diagonal, "columns": self._one_by_one}
        for loop in self.rolled.loops:
            forms[loop.form](loop)
        for k, column in enumerate(self.rolled.vectors):
            self._give_vector(k, column)
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
    def _taken_input(self, port: Port, offset: str) -> str:
        """A number of an input."""

    def _take_columns(self) -> None:
        """Inputs of several numbers a joint, or of some that are the same for all, into their columns."""
        for port in self.rolled.inputs:
            names = self.rolled.columns.get(port.name, ())
            for c, name in enumerate(names):
                if name not in self.column:
                    continue

                def take(x: str, port: Port = port, c: int = c, name: str = name) -> None:
                    offset = str(c)
                    if len(port.shape) == 2:
                        joint = self.s.put(f"sub i64 {x}, {self.pad}")
                        offset = self.s.put(f"add i64 {self.s.put(f'mul i64 {joint}, {port.shape[1]}')}, {c}")
                    self._store(self.w, self._address(name, x), self._taken_input(port, offset))

                self._joints(take)

    @abstractmethod
    def _give_vector(self, output: int, column: str) -> None:
        """A column into an output."""

    @abstractmethod
    def _each(self, loop: JointLoop) -> None:
        """A loop whose turns do not wait for one another."""

    @abstractmethod
    def _row(self, program: Program, x: str) -> dict[str, str]:
        """The elements (j, i) and (i, j) of the joint j at x with all i >= j."""

    @abstractmethod
    def _taken(self, matrix: int, offset: str) -> str:
        """An element of a matrix that is an input."""

    @abstractmethod
    def _on_diagonal(self, matrix: int, i: str, change: Callable[[str], str]) -> None:
        """Element (i, i) of a matrix as `change` makes it of what it was."""

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

    def _load(self, w: IrWriter, name: str, place: str) -> str:
        address = self._address(name, place)
        if name in self.table and w is self.w and w.lanes > 1:  # one number for all states
            return spread(w, w.put(f"load {w.scalar}, ptr {address}"))
        return w.put(f"load {w.type}, ptr {address}, align {w.bytes}")

    def _store(self, w: IrWriter, address: str, value: str, *, aligned: bool = True) -> None:
        self._put(f"store {w.type} {value}, ptr {address}, align {w.bytes if aligned else self.bytes}")

    def _element(self, matrix: int, offset: str, more: int = 0) -> str:
        """The address of an element of a matrix."""
        at = self.s.put(f"getelementptr {self.scalar}, ptr {self.matrices[matrix]}, i64 {offset}")
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

    def _by_kind(self, loop: JointLoop, x: str, emit: Callable[[Program], dict[str, str]]) -> dict[str, str]:
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

    def _scan(self, loop: JointLoop) -> None:
        ends, step = (str(self.pad), str(self.places - 1)), 1
        if loop.form == "inward":
            ends, step = ends[::-1], -1
        start = {name: self.w.constant(value) for name, value in loop.carried}

        def turn(x: str, carried: dict[str, str]) -> dict[str, str]:
            def emit(program: Program) -> dict[str, str]:
                steps = TurnSteps(program, self.w)
                steps.run({name: carried.get(name) or self._load(self.w, name, x) for name in steps.inputs})
                results = steps.results()
                for name, value in results.items():
                    if name not in carried:
                        self._store(self.w, self._address(name, x), value)
                return {name: results[name] for name in carried}

            return self._by_kind(loop, x, emit)

        self._turns(*ends, step, start, turn)

    def _diagonal(self, loop: JointLoop) -> None:
        def turn(x: str) -> None:
            def emit(program: Program) -> dict[str, str]:
                steps = TurnSteps(program, self.w)
                loads = {name: self._load(self.w, name, x) for name in steps.inputs if name != "d"}

                def changed(old: str) -> str:
                    steps.run(loads | {"d": old})
                    return steps.results()["d"]

                self._on_diagonal(loop.matrix, self.s.put(f"sub i64 {x}, {self.pad}"), changed)
                return {}

            self._by_kind(loop, x, emit)

        self._joints(turn)

    def _pairs(self, loop: JointLoop) -> None:
        def joint(x: str) -> None:
            for name, source in loop.born:
                value = self._load(self.w, source, x) if isinstance(source, str) else self.w.constant(source)
                self._store(self.w, self._address(name, x), value)
            self._by_kind(loop, x, lambda program: self._row(program, x))

        self._joints(joint, inward=True)

    def _one_by_one(self, loop: JointLoop) -> None:
        """Column i, carried inwards and stored at every joint, then its adjoint from the base out to its own joint.

        On the diagonal the first of two elements is the one that was written.
        """
        moving = {f"v.{name}": source for name, source in loop.born}
        moved = [port.name for port in loop.bodies[0].outputs]

        def loads(steps: TurnSteps, i: str, j: str, known: dict[str, str]) -> dict[str, str]:
            here = {n: i if n.startswith("v.") and n not in moving else j for n in steps.inputs if n not in known}
            return known | {n: self._load(self.w, n.removeprefix("v."), at) for n, at in here.items()}

        def column(i: str) -> None:
            first = {}
            for name, source in moving.items():
                first[name] = self._load(self.w, source, i) if isinstance(source, str) else self.w.constant(source)

            def inward(j: str, carried: dict[str, str]) -> dict[str, str]:
                for name, value in carried.items():
                    self._store(self.w, self._address(name[2:], j), value)

                def emit(program: Program) -> dict[str, str]:
                    steps = TurnSteps(program, self.w)
                    steps.run(loads(steps, i, j, carried))
                    return {name: value for name, value in steps.results().items() if name in carried}

                found = self._by_kind(loop, j, emit) if moved else {}
                return carried | found

            if moving:
                self._turns(i, str(self.pad), -1, first, inward)
            ends = {name: self._address(name, i) for name, _ in loop.carried}
            for name, start in loop.carried:
                self._store(self.w, ends[name], self.w.constant(start))

            def outward(j: str, carried: dict[str, str]) -> dict[str, str]:
                row, place = (self.s.put(f"sub i64 {x}, {self.pad}") for x in (j, i))
                n = self.rolled.joints
                offsets = [
                    self.s.put(f"add i64 {self.s.put(f'mul i64 {a}, {n}')}, {b}")
                    for a, b in ((row, place), (place, row))
                ]
                own = self.s.put(f"icmp eq i64 {i}, {j}")
                elements: dict[str, str] = {}
                for k in range(len(self.given)):
                    forth, back = (self._taken(k, offset) for offset in offsets)
                    zero = self.w.constant(0.0)
                    elements[f"forth{k}"] = forth
                    elements[f"back{k}"] = self.w.put(f"select i1 {own}, {self.w.type} {zero}, {self.w.type} {back}")

                def emit(program: Program) -> dict[str, str]:
                    steps = TurnSteps(program, self.w)
                    steps.run(loads(steps, i, j, {n: x for n, x in (elements | carried).items() if n in steps.inputs}))
                    results = steps.results()
                    for name, more in results.items():
                        if name not in carried:
                            address = self._address(name, j)
                            before = self.w.put(f"load {self.w.type}, ptr {address}, align {self.w.bytes}")
                            self._store(self.w, address, self.w.binary("fadd", before, more))
                    return {name: results[name] for name in carried}

                found = self._by_kind(replace(loop, bodies=loop.back), j, emit)
                for name, value in found.items():
                    self._store(self.w, ends[name], value)
                return found

            self._turns(str(self.pad), i, 1, {name: self.w.constant(x) for name, x in loop.carried}, outward)

        self._joints(column)

    def _columns(self, steps: TurnSteps, w: IrWriter, y: str) -> list[tuple[str, str]]:
        """The columns at y moved on, and what they give: the elements (j, i) and (i, j) of every matrix."""
        steps.run({name: self._load(w, name[2:], y) for name in steps.inputs if name.startswith("v.")})
        results = steps.results()
        for name, value in results.items():
            if name.startswith("v."):
                self._store(w, self._address(name[2:], y), value)
        return [(results[f"forth{k}"], results[f"back{k}"]) for k in range(len(self.matrices))]


def _used(rolled: Rolled) -> list[str]:
    """The columns that any loop reads or writes."""
    found: dict[str, None] = {}
    for loop in rolled.loops:
        carried = {name for name, _ in loop.carried} if loop.form != "columns" else set()
        for body in (*loop.bodies, *loop.back):
            for port in (*body.inputs, *body.outputs):
                if port.name not in carried and port.name != "d" and not port.name.startswith(("forth", "back")):
                    found[port.name.removeprefix("v.")] = None
        for name, source in loop.born:
            found[name] = None
            if isinstance(source, str):
                found[source] = None
    found |= dict.fromkeys(rolled.vectors)
    return list(found)


def function(name: str, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> str:
    """The function `one` or `block` with its tables; `needed` gets what the module must declare."""
    needed.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    kind = OneState if name == "one" else Block
    return "\n".join(kind(rolled, scalar, lanes, fma, needed).text(name))


class OneState(RolledCode):
    """Lanes over joints, and over columns."""

    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        super().__init__(rolled, scalar, lanes, fma, needed)
        self.w = self.s
        self.pad = -rolled.joints % lanes

    def _take_inputs(self) -> None:
        if self.pad:
            for name in self.column:  # the empty places must hold numbers
                self._store(self.v, self._address(name, "0"), "zeroinitializer")
        for port in self.rolled.inputs:
            if port.name in self.column:
                self._copy(self._address(port.name, str(self.pad)), f"%i_{port.name}")
        self._take_columns()

    def _taken_input(self, port: Port, offset: str) -> str:
        at = self.s.put(f"getelementptr {self.scalar}, ptr %i_{port.name}, i64 {offset}")
        return self.s.put(f"load {self.scalar}, ptr {at}")

    def _give_vector(self, output: int, column: str) -> None:
        self._copy(self.matrices[output], self._address(column, str(self.pad)))

    def _taken(self, matrix: int, offset: str) -> str:
        at = self.s.put(f"getelementptr {self.scalar}, ptr {self.given[matrix]}, i64 {offset}")
        return self.s.put(f"load {self.scalar}, ptr {at}")

    def _copy(self, to: str, source: str) -> None:
        size = self.rolled.joints * self.bytes
        self._put(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 0)")

    def _each(self, loop: JointLoop) -> None:
        if len(loop.bodies) > 1:
            self._scan(loop)
            return

        def block(x: str, _: dict[str, str]) -> dict[str, str]:
            steps = TurnSteps(loop.bodies[0], self.v)
            steps.run({name: self._load(self.v, name, x) for name in steps.inputs})
            for name, value in steps.results().items():
                self._store(self.v, self._address(name, x), value)
            return {}

        self._turns("0", str(self.places - self.lanes), self.lanes, {}, block)

    def _on_diagonal(self, matrix: int, i: str, change: Callable[[str], str]) -> None:
        at = self._element(matrix, self.s.put(f"mul i64 {i}, {self.rolled.joints + 1}"))
        self._store(self.s, at, change(self.s.put(f"load {self.scalar}, ptr {at}")))

    def _row(self, program: Program, x: str) -> dict[str, str]:
        """From the last block of columns to the first that holds one."""
        n, s = self.rolled.joints, self.s
        j = s.put(f"sub i64 {x}, {self.pad}")
        row = s.put(f"sub i64 {s.put(f'mul i64 {j}, {n}')}, {self.pad}")  # element (j, i) is at row + place of i
        column = s.put(f"sub i64 {j}, {self.pad * n}")  # element (i, j) is at column + n times the place of i
        first = s.put(f"and i64 {x}, {-self.lanes}")
        steps = TurnSteps(program, self.v)
        steps.alone(s, {name: self._load(s, name, x) for name in steps.inputs if not name.startswith("v.")})

        def block(y: str, lanes: range) -> None:
            elements = self._columns(steps, self.v, y)
            down = s.put(f"add i64 {column}, {s.put(f'mul i64 {y}, {n}')}")
            along = s.put(f"add i64 {row}, {y}")
            for k, (forth, back) in enumerate(elements):
                for lane in lanes:
                    self._store(s, self._element(k, down, lane * n), self._lane(back, lane))
                if len(lanes) == self.lanes:
                    self._store(self.v, self._element(k, along), forth, aligned=False)
                    continue
                for lane in lanes:
                    self._store(s, self._element(k, along, lane), self._lane(forth, lane))

        def full(y: str, _: dict[str, str]) -> dict[str, str]:
            block(y, range(self.lanes))
            return {}

        if not self.pad:
            self._turns(str(self.places - self.lanes), first, -self.lanes, {}, full)
            return {}
        low = s.put(f"icmp slt i64 {first}, {self.lanes}")  # then the first block is needed, which has empty places
        last = s.put(f"select i1 {low}, i64 {self.lanes}, i64 {first}")
        self._turns(str(self.places - self.lanes), last, -self.lanes, {}, full)
        some, done = self._label(), self._label()
        self._put(f"br i1 {low}, label %{some}, label %{done}")
        self._open(some)
        block("0", range(self.pad, self.lanes))
        self._put(f"br label %{done}")
        self._open(done)
        return {}


class Block(RolledCode):
    """Lanes over states, whose arrays follow each other in memory."""

    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        super().__init__(rolled, scalar, lanes, fma, needed)
        self.w = self.v

    def _take_inputs(self) -> None:
        n, s, v = self.rolled.joints, self.s, self.v
        for port in self.rolled.inputs:
            if port.name not in self.column:
                continue

            def take(x: str, name: str = port.name) -> None:
                packed = "undef"
                at = s.put(f"getelementptr {self.scalar}, ptr %i_{name}, i64 {x}")
                for lane in range(self.lanes):
                    address = s.put(f"getelementptr {self.scalar}, ptr {at}, i64 {lane * n}")
                    value = s.put(f"load {self.scalar}, ptr {address}")
                    packed = v.put(f"insertelement {v.type} {packed}, {self.scalar} {value}, i32 {lane}")
                self._store(v, self._address(name, x), packed)

            self._joints(take)
        self._take_columns()

    def _taken_input(self, port: Port, offset: str) -> str:
        packed = "undef"
        at = self.s.put(f"getelementptr {self.scalar}, ptr %i_{port.name}, i64 {offset}")
        for lane in range(self.lanes):
            address = self.s.put(f"getelementptr {self.scalar}, ptr {at}, i64 {lane * port.size}")
            value = self.s.put(f"load {self.scalar}, ptr {address}")
            packed = self.v.put(f"insertelement {self.v.type} {packed}, {self.scalar} {value}, i32 {lane}")
        return packed

    def _give_vector(self, output: int, column: str) -> None:
        n = self.rolled.joints
        self._joints(lambda x: self._scatter(output, x, n, self._load(self.v, column, x)))

    def _taken(self, matrix: int, offset: str) -> str:
        n, packed = self.rolled.joints, "undef"
        at = self.s.put(f"getelementptr {self.scalar}, ptr {self.given[matrix]}, i64 {offset}")
        for lane in range(self.lanes):
            address = self.s.put(f"getelementptr {self.scalar}, ptr {at}, i64 {lane * n * n}")
            value = self.s.put(f"load {self.scalar}, ptr {address}")
            packed = self.v.put(f"insertelement {self.v.type} {packed}, {self.scalar} {value}, i32 {lane}")
        return packed

    def _scatter(self, matrix: int, offset: str, apart: int, values: str) -> None:
        """A number of every state, whose arrays are so far apart."""
        for lane in range(self.lanes):
            self._store(self.s, self._element(matrix, offset, lane * apart), self._lane(values, lane))

    def _each(self, loop: JointLoop) -> None:
        self._scan(loop)

    def _on_diagonal(self, matrix: int, i: str, change: Callable[[str], str]) -> None:
        n = self.rolled.joints
        offset, packed = self.s.put(f"mul i64 {i}, {n + 1}"), "undef"
        for lane in range(self.lanes):
            value = self.s.put(f"load {self.scalar}, ptr {self._element(matrix, offset, lane * n * n)}")
            packed = self.v.put(f"insertelement {self.v.type} {packed}, {self.scalar} {value}, i32 {lane}")
        self._scatter(matrix, offset, n * n, change(packed))

    def _row(self, program: Program, x: str) -> dict[str, str]:
        n, s = self.rolled.joints, self.s
        steps = TurnSteps(program, self.v)
        own = {name: self._load(self.v, name, x) for name in steps.inputs if not name.startswith("v.")}
        steps.alone(self.v, own)
        row = s.put(f"mul i64 {x}, {n}")

        def column(y: str, _: dict[str, str]) -> dict[str, str]:
            elements = self._columns(steps, self.v, y)
            down, along = s.put(f"add i64 {s.put(f'mul i64 {y}, {n}')}, {x}"), s.put(f"add i64 {row}, {y}")
            for k, (forth, back) in enumerate(elements):
                self._scatter(k, down, n * n, back)
                self._scatter(k, along, n * n, forth)
            return {}

        self._turns(str(n - 1), x, -1, {}, column)
        return {}
