"""Steps as LLVM IR: the body of a function over scalars, or over SIMD lanes with one state a lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ..algebra import Port, Program, Table
from ..algebra.expr import CONDITIONS, Operation
from ..algebra.philox import Philox, Words
from .ir import IrWriter, Together, hex_float
from .log import log
from .lower import Lowered, Steps, lower, turned_steps
from .registers import Registers
from .sincos import sincos
from .transpose import joined, transposed

Piece = tuple[int, int, int]  # of an output: its number, the first element, how many

PACK = 4  # angles of one state in a vector
GROUP = 8  # sines whose steps go side by side: enough to hide how long a step takes, few enough for the registers


class Emitter:
    """Writes steps over scalars or lanes."""

    def __init__(
        self,
        lowered: Lowered,
        writer: IrWriter,
        chunks: Sequence[Steps] = (),
        *,
        table: Table | None = None,
        columns: bool = False,
        rows: str = "",
        strides: Mapping[str, int] | None = None,
        registers: int = 0,
    ) -> None:
        self.registers = registers  # values to keep in them; 0: that is left to LLVM
        self.lowered = lowered
        self.program = lowered.program
        self.table = table  # every lane has pointers of its own: its state may lie anywhere
        self.shared = {rows} if table is None else {p.name for p in table.shared} | table.uniform(writer.lanes)
        self.columns = set() if table is None else set(table.columns)
        self.whole = columns or writer.lanes == 1  # an element of all lanes is one value in memory
        self.strides = strides or {}  # of ports whose elements are so many values apart, where that is not one
        self.w = writer
        self.value: dict[int, str] = {}
        self.turned = turned_steps(lowered)
        self._blocks: dict[tuple[int, ...], Words[str]] = {}  # of random words
        self.slots: dict[int, int] = {}
        self.loads: Mapping[int, int] = dict.fromkeys(lowered.loads, 0)  # by which chunk each input is loaded
        self._taken: set[int] = set()  # values of other functions, in their slots
        self._left: set[int] = set()  # values for other functions, in their slots as soon as they are known
        self._homes: dict[int, str] = {}  # of values that wait on the stack
        self._places: dict[int, str] = {}  # of slots
        self.pieces = self._pieces(chunks)

    def chunk(self, number: int, steps: Steps, taken: set[int], left: set[int]) -> list[str]:
        """The lines of one function's body: values of others are loaded where needed, outputs stored once known."""
        w = self.w
        w.restart()
        self.value, self._blocks, self._homes, self._places = {}, {}, {}, {}
        self._taken, self._left = taken, left
        self._start(number)
        made = {k: at for at, (k, _) in enumerate(steps) if k not in self.turned}
        stores: dict[int, list[Piece]] = {}
        last = max(made.values(), default=-1) if w.lanes > 1 and not self.registers else -1
        for piece in self.pieces[number]:  # LLVM orders lanes best where all of them are stored at the end
            stores.setdefault(max(last, *(made.get(k, -1) for k in self._members(piece))), []).append(piece)
        for piece in stores.get(-1, ()):
            self._store_piece(piece)
        for k in sorted(left & self.value.keys()):
            self._store_slot(k)
        registers = Registers([steps[at] for at in made.values()], self.registers, self.value)
        for k, at in made.items():
            self.value[k] = self._step(steps[at][1])
            for piece in stores.get(at, ()):
                self._store_piece(piece)
            if k in left:
                self._store_slot(k)
            for gone in registers.next():
                self._to_memory(gone)
        return [*(f"  {home} = alloca {w.type}" for home in self._homes.values()), *w.lines]

    # ---- inputs, and their sines and cosines
    def _start(self, number: int) -> None:
        here = {k: place for k, place in self.lowered.loads.items() if self.loads[k] == number}
        self._load_tiles(here)
        for k, (port, element) in here.items():
            if k not in self.value:
                self.value[k] = self._load(port, element)
        if number == 0:
            self._turn()

    def _turn(self) -> None:
        w, turns = self.w, self.lowered.turns
        pairs = self._in_groups(w, [self.value[k] for k in turns]) if w.lanes > 1 else self._packed(turns)
        registers = dict(zip(turns, pairs, strict=True))
        for step, (k, name) in self.turned.items():
            self.value[step] = registers[k][name == "cos"]

    def _in_groups(self, w: IrWriter, xs: list[str]) -> list[tuple[str, str]]:
        """Sine and cosine of several vectors, a group of them at once."""
        pairs: list[tuple[str, str]] = []
        size = -(-len(xs) // max(1, -(-len(xs) // GROUP)))  # all groups alike
        while len(pairs) < len(xs):
            group = tuple(xs[len(pairs) : len(pairs) + size])
            pairs += zip(*sincos(Together(w, len(group)), group), strict=True)
        return pairs

    def _packed(self, turns: tuple[int, ...]) -> list[tuple[str, str]]:
        """Sine and cosine of several scalars, packed into vectors; lanes without one repeat the last."""
        vector, packs = self.w.widened(PACK), []
        for start in range(0, len(turns), PACK):
            pack = "undef"
            for lane in range(PACK):
                register = self.value[turns[min(start + lane, len(turns) - 1)]]
                pack = vector.put(f"insertelement {vector.type} {pack}, {self.w.scalar} {register}, i32 {lane}")
            packs.append(pack)
        pairs = []
        for both in self._in_groups(vector, packs):
            for lane in range(PACK):
                sine, cosine = (vector.put(f"extractelement {vector.type} {x}, i32 {lane}") for x in both)
                pairs.append((sine, cosine))
        self.w._next = vector._next
        return pairs[: len(turns)]

    # ---- steps
    def _operand(self, k: int) -> str:
        if k < 0:
            return self.w.constant(self.lowered.constants[-1 - k])
        if k not in self.value:
            self.value[k] = self._from_memory(k)
        return self.value[k]

    def _step(self, operation: Operation) -> str:
        w, value = self.w, self.value
        name, *operands = operation
        x = [value[k] if k in value else self._operand(k) for k in operands]
        if name in ("add", "sub", "mul", "div"):
            return w.binary(f"f{name}", *x)
        if name == "fma":
            return w.product_sum(*x)
        if name == "fms":
            return w.product_sum(x[0], x[1], w.negated(x[2]))
        if name == "fnma":
            factor, other = reversed(x[:2]) if w.is_negated(x[1]) and not w.is_negated(x[0]) else x[:2]
            return w.product_sum(w.negated(factor), other, x[2])
        if name == "neg":
            return w.negated(x[0])
        if name in ("sin", "cos"):
            return sincos(w, x[0])[name == "cos"]
        if name == "sqrt":
            return w.call("sqrt", x[0])
        if name == "log":
            return log(w, x[0])
        if name == "uniform":
            return self._uniform(operands)
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

    def _uniform(self, operands: list[int]) -> str:
        """A random number; two channels that are known beforehand may share a block of words."""
        steps = Philox(self.w)
        known = [int(self.lowered.constants[-1 - k]) if k < 0 else None for k in operands]
        channel = known[3]
        place = (*operands[:3], operands[3] if channel is None else -1 - channel // 2)
        if place not in self._blocks:
            given = [self._operand(k) if c is None else c for k, c in zip(operands, known, strict=True)]
            self._blocks[place] = steps.block(given[0], given[1], given[2], given[3])
        words = self._blocks[place]
        if channel is not None:
            return steps.between(words, channel % 2)
        return steps.chosen(self._operand(operands[3]), steps.between(words, 0), steps.between(words, 1))

    # ---- memory
    def _address(self, side: str, port: Port, element: int, lane: int = 0) -> str:
        if self.whole:
            base, at = f"%{side}_{port.name}", element * self.strides.get(port.name, 1)
            return self.w.put(f"getelementptr {self.w.type}, ptr {base}, i64 {at}") if at else base
        base, offset = f"%{side}_{port.name}", element + lane * port.size
        if self.table is not None:
            base, offset = f"{base}_{lane}", element
        if offset == 0:
            return base
        return self.w.put(f"getelementptr {self.w.scalar}, ptr {base}, i64 {offset}")

    def _column(self, side: str, port: Port, element: int) -> str:
        """Where an element of all lanes lies side by side, in a Table."""
        assert self.table is not None  # nothing else has such columns
        return self.w.put(f"getelementptr {self.w.scalar}, ptr %{side}_{port.name}, i64 {element * self.table.padded}")

    def _load(self, name: str, element: int) -> str:
        w = self.w
        port = next(p for p in self.program.inputs if p.name == name)
        if self.whole and (w.lanes == 1 or name not in self.shared):
            return w.put(f"load {w.type}, ptr {self._address('i', port, element)}, align {w.bytes}")
        if name in self.columns:
            return w.put(f"load {w.type}, ptr {self._column('i', port, element)}, align {w.size}")
        if name in self.shared:
            at = w.put(f"getelementptr {w.scalar}, ptr %i_{name}, i64 {element}")
            one = w.put(f"insertelement {w.type} undef, {w.scalar} {w.put(f'load {w.scalar}, ptr {at}')}, i32 0")
            return w.put(f"shufflevector {w.type} {one}, {w.type} undef, <{w.lanes} x i32> zeroinitializer")
        packed = "undef"
        for lane in range(w.lanes):
            scalar = w.put(f"load {w.scalar}, ptr {self._address('i', port, element, lane)}")
            packed = w.put(f"insertelement {w.type} {packed}, {w.scalar} {scalar}, i32 {lane}")
        return packed

    def _load_tiles(self, loads: Mapping[int, tuple[str, int]]) -> None:
        """In lanes, inputs a tile of neighbouring columns at a time, transposed, where two of them are needed."""
        w, width = self.w, self.w.tile
        if self.whole:
            return
        wanted: dict[tuple[str, int], int] = {place: k for k, place in loads.items()}
        for port in self.program.inputs:
            if port.name in self.columns or port.name in self.shared:
                continue
            for start in _covering(0, port.size, width):
                here = {j: wanted[at] for j in range(width) if (at := (port.name, start + j)) in wanted}
                here = {j: k for j, k in here.items() if k not in self.value}  # the last tile lies over another
                if len(here) < 2:
                    continue
                rows = []
                for lane in range(w.lanes):
                    address = self._address("i", port, start, lane)
                    rows.append(w.put(f"load <{width} x {w.scalar}>, ptr {address}, align {w.size}"))
                columns = transposed(w, [joined(w, rows[j::width]) for j in range(width)])
                self.value |= {k: columns[j] for j, k in here.items()}

    def _store(self, port: Port, element: int, register: str) -> None:
        w = self.w
        if self.whole:
            address = self._address("o", port, element)
            w.lines.append(f"  store {w.type} {register}, ptr {address}, align {w.bytes}")
            return
        if port.name in self.columns:
            w.lines.append(f"  store {w.type} {register}, ptr {self._column('o', port, element)}, align {w.size}")
            return
        for lane in range(w.lanes):
            scalar = w.put(f"extractelement {w.type} {register}, i32 {lane}")
            address = self._address("o", port, element, lane)
            w.lines.append(f"  store {w.scalar} {scalar}, ptr {address}")

    def _members(self, piece: Piece) -> tuple[int, ...]:
        number, start, width = piece
        return self.program.results[number][start : start + width]

    def _pieces(self, chunks: Sequence[Steps]) -> list[list[Piece]]:
        """The pieces in which outputs are stored, by the function that does it: one that makes all members of a piece.

        In lanes tiles of neighbours, to be transposed; numbers that are known beforehand in vectors, so many in each
        function: the time to compile one grows with the square of its stores.
        """
        first = self.lowered.loads.keys() | self.turned.keys()
        made = {k: number for number, chunk in enumerate(chunks) for k, _ in chunk if k not in first}
        found: list[list[Piece]] = [[] for _ in chunks]
        known: list[Piece] = []
        for number, (port, operands) in enumerate(zip(self.program.outputs, self.program.results, strict=True)):
            for start, width in self._tiles(port, operands) if chunks else ():
                homes = {made.get(k, 0) for k in operands[start : start + width] if k >= 0} or {0}
                pieces = [(number, start, width)] if len(homes) == 1 else []
                for piece in pieces or [(number, k, 1) for k in range(start, start + width)]:
                    members = self._members(piece)
                    if max(members) < 0:
                        known.append(piece)
                    else:
                        found[max(made.get(k, 0) for k in members)].append(piece)
        for k, piece in enumerate(known):
            found[k * len(found) // len(known)].append(piece)
        return found

    def _tiles(self, port: Port, operands: tuple[int, ...]) -> list[tuple[int, int]]:
        """Start and width of the pieces of an output."""
        w, found, done = self.w, [], 0
        if w.lanes == 1 and port.name not in self.strides:
            for known, run in groupby(range(port.size), lambda k: operands[k] < 0):
                elements = list(run)
                width = PACK if known else 1
                found += [(k, min(width, elements[-1] + 1 - k)) for k in elements[::width]]
            return found
        rows = not self.whole and port.name not in self.columns
        for width, least in ((w.lanes, w.tile + 1), (w.tile, 2)) if rows else ():
            for start in _covering(done, port.size, width):
                if port.size - done >= least:
                    found.append((start, width))
                    done = start + width
        return found + [(element, 1) for element in range(done, port.size)]

    def _store_piece(self, piece: Piece) -> None:
        port, start, width = self.program.outputs[piece[0]], *piece[1:]
        registers = [self._operand(k) for k in self._members(piece)]
        if width == 1:
            self._store(port, start, registers[0])
        elif self.w.lanes > 1:
            self._store_tile(port, start, registers)
        else:
            listed = ", ".join(f"{self.w.scalar} {number}" for number in registers)
            address = self._address("o", port, start)
            kind = f"<{width} x {self.w.scalar}>"
            self.w.lines.append(f"  store {kind} <{listed}>, ptr {address}, align {self.w.size}")

    def _store_tile(self, port: Port, start: int, columns: list[str]) -> None:
        """Neighbouring columns of an output, transposed."""
        w, width = self.w, len(columns)
        for j, row in enumerate(transposed(w, columns)):
            for part in range(w.lanes // width):
                piece = row
                if width < w.lanes:
                    listed = ", ".join(f"i32 {part * width + i}" for i in range(width))
                    mask = f"<{width} x i32> <{listed}>"
                    piece = w.put(f"shufflevector {w.type} {row}, {w.type} {row}, {mask}")
                address = self._address("o", port, start, part * width + j)
                w.lines.append(f"  store <{width} x {w.scalar}> {piece}, ptr {address}, align {w.size}")

    def _slot(self, k: int) -> str:
        if k not in self._places:
            self._places[k] = self.w.put(f"getelementptr {self.w.type}, ptr %scratch, i64 {self.slots[k]}")
        return self._places[k]

    def _is_condition(self, k: int) -> bool:
        return self.program.operations[k][0] in CONDITIONS

    def _to_memory(self, k: int) -> None:
        """Forget the register of a value, which waits on the stack unless it has a slot."""
        if k not in self._taken and k not in self._left and k not in self._homes:
            self._homes[k] = f"%home{k}"
            self._write(k, self._homes[k])
        del self.value[k]

    def _from_memory(self, k: int) -> str:
        w = self.w
        place = self._homes.get(k) or self._places.get(k) or self._slot(k)
        value = w.put(f"load {w.type}, ptr {place}, align {w.size}")
        return w.put(f"fcmp one {w.type} {value}, {w.constant(0.0)}") if self._is_condition(k) else value

    def _store_slot(self, k: int) -> None:
        self._write(k, self._slot(k))

    def _write(self, k: int, address: str) -> None:
        w, value = self.w, self.value[k]
        if self._is_condition(k):  # memory holds numbers
            value = w.select(value, w.constant(1.0), w.constant(0.0))
        w.lines.append(f"  store {w.type} {value}, ptr {address}, align {w.size}")


class SharedWriter(IrWriter):
    """Registers are named by their line, so that several writers may share the lines.

    A number is no register: one that is loaded inside a loop or a case is not there outside of it.
    """

    def constant(self, value: float) -> str:
        """A number in every lane."""
        return self._splat(hex_float(value, self.scalar), self.scalar)

    def name(self) -> str:
        """A new register."""
        return f"%r{len(self.lines)}"


def spread(w: IrWriter, value: str) -> str:
    """A scalar in all lanes."""
    lane = w.put(f"insertelement {w.type} undef, {w.scalar} {value}, i32 0")
    return w.put(f"shufflevector {w.type} {lane}, {w.type} undef, <{w.lanes} x i32> zeroinitializer")


class TurnSteps:
    """One turn's Program, written over scalars or lanes."""

    def __init__(self, program: Program, writer: IrWriter) -> None:
        self.lowered: Lowered = lower(program)
        self.program, self.w = program, writer
        self.inputs = [port.name for port in program.inputs]
        self._known: dict[int, str] = {}  # what does not depend on the lane, spread over the lanes
        self._done: set[int] = set()  # all of that, needed again or not
        self._value: dict[int, str] = {}

    def alone(self, writer: IrWriter, loads: dict[str, str]) -> None:
        """Compute what follows from these values alone, spread over the lanes where they are scalars."""
        done = self._run(writer, loads, {})
        needed = {k for v, op in self.lowered.steps if v not in done for k in op[1:] if k in done}
        needed |= {k for operands in self.program.results for k in operands if k in done}
        for k in sorted(needed):
            self._known[k] = done[k] if writer.lanes == self.w.lanes else spread(self.w, done[k])
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

    def _run(self, writer: IrWriter, loads: dict[str, str], known: dict[int, str]) -> dict[int, str]:
        """The steps all of whose operands are there."""
        emitter = Emitter(self.lowered, writer)
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


def _covering(first: int, size: int, width: int) -> list[int]:
    """Where tiles of a width start that cover a row from `first` on; the last may lie over its neighbour.

    None for a row that is narrower than a tile.
    """
    return [min(start, size - width) for start in range(first, size, width)] if size >= width else []
