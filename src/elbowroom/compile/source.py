"""Programs as text of C-like languages: C99, and CUDA by the same emitter.

Lines of C, one value a line: what ir.IrWriter is for LLVM IR, so that sincos.py, log.py and algebra/philox.py are
written once for both.

`lower` decides what the steps are and what is fused; here each becomes one line, so C does the roundings of the LLVM
code: with a fused multiply-add in hardware and our own sines, the same bits.  Steps stand in the order in which the
algorithm did them, also where `lower` goes depth first: that tears a recursion's pairs apart, and for the Panda's
inverse dynamics would keep 100 values alive at once instead of 55, which a Cortex-M pays for in flash and stack.

    const double t14 = EW_FMA(t12, t9, t3);

A `Dialect` says what differs from language to language.  How an element of an argument is reached, and what stands
before and after the steps, is up to who asks for them: `text` here for a C function of one state, `cuda` for
kernels.  The text stands on `source_support`.

A Repeated is a loop around the steps of its program.  What is fed back are variables, set anew at the end of a turn:

    double t0 = x[0];
    for (int k = 0; k < 16; ++k) {
        ...
        t0 = t14;
    }
    x_[0] = t0;

Every input is read before the first output is written: an output may lie where an input lies.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from ..algebra import Port, Program, Repeated
from ..algebra.expr import CONDITIONS, Operation
from ..algebra.philox import Philox
from ..errors import ElbowroomError
from .lower import lower, turned_steps
from .spill import Spills, spills

Real = Literal["double", "float"]

BINARY = {"fadd": "{} + {}", "fsub": "{} - {}", "fdiv": "{} / {}"}
WHOLE = {"and": "&", "or": "|", "xor": "^", "add": "+", "shl": "<<", "lshr": ">>"}


def suffix(real: Real) -> str:
    """What ends the names of math.h's functions, and numbers, of this type."""
    return "" if real == "double" else "f"


def rounded(value: float, real: Real) -> float:
    """The number of this type that is nearest."""
    if real == "double" or math.isinf(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:  # beyond the greatest float
        return math.copysign(math.inf, value)


def digits(value: float, real: Real) -> str:
    """A finite number with as many digits as tell it from its neighbours, and a point or an exponent."""
    if real == "double":
        return repr(value)
    text = next(t for k in range(1, 10) if rounded(float(t := f"{value:.{k}g}"), real) == value)
    return text if any(c in text for c in ".e") else text + ".0"


def literal(value: float, real: Real, infinity: str = "") -> str:
    """A number as C writes it, in brackets if it is negative.  Decimal: C++ before 2017 has no other.

    `infinity` is how the language writes that; math.h's macro where nothing else is said.
    """
    value = rounded(value, real)
    size = abs(value)
    endless = infinity or "HUGE_VAL" + suffix(real).upper()
    text = endless if math.isinf(size) else digits(size, real) + suffix(real)
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


@dataclass
class SourceWriter:
    """Lines of one function's body."""

    scalar: Real
    fma: bool = True  # whether EW_FMA fuses; else products and sums are apart
    integer: str = ""  # the unsigned integer of the same size
    product: str = "{} * {}"
    words: tuple[str, str] = ("uint32_t", "uint64_t")  # integers of 32 and 64 bits
    lines: list[str] = field(default_factory=list)
    prefix: str = "r"  # of variables that have no name of their own
    _next: int = 0

    def put(self, text: str, kind: str = "", name: str = "", *, changes: bool = False) -> str:
        """A new variable holding the value of an expression."""
        if not name:
            self._next += 1
            name = f"{self.prefix}{self._next}"
        self.lines.append(f"    {'' if changes else 'const '}{kind or self.scalar} {name} = {text};")
        return name

    def constant(self, value: float) -> str:
        """A number."""
        return literal(value, self.scalar)

    def whole(self, value: int) -> str:
        """A whole number."""
        return f"{value}u"

    def binary(self, instruction: str, x: str, y: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.put((self.product if instruction == "fmul" else BINARY[instruction]).format(x, y))

    def negated(self, x: str) -> str:
        """-x."""
        return f"(-{x})"

    def call(self, intrinsic: str, *arguments: str) -> str:
        """A function of math.h; fma as EW_FMA."""
        name = "EW_FMA" if intrinsic == "fma" else intrinsic + suffix(self.scalar)
        return self.put(f"{name}({', '.join(arguments)})")

    def product_sum(self, a: str, b: str, c: str) -> str:
        """a * b + c, fused where the machine can."""
        return self.put(f"EW_FMA({a}, {b}, {c})")

    def as_integer(self, x: str) -> str:
        """The bits of a value."""
        return self.put(f"ew_bits({x})", self.integer)

    def as_float(self, x: str) -> str:
        """The value of bits."""
        return self.put(f"ew_real({x})")

    def integer_op(self, instruction: str, x: str, y: str) -> str:
        """add, and, or, xor, shl."""
        return self.put(f"{x} {WHOLE[instruction]} {y}", self.integer)

    def nonzero(self, x: str) -> str:
        """Whether an integer is not zero."""
        return self.put(f"{x} != 0u", "int")

    def select(self, condition: str, x: str, y: str) -> str:
        """x where the condition holds, else y."""
        return self.put(f"{condition} ? {x} : {y}")

    def less(self, x: str, y: str) -> str:
        """Whether x < y."""
        return self.put(f"{x} < {y}", "int")

    # ---- words of 32 bits, for algebra/philox.py
    def word(self, value: int) -> str:
        """A word."""
        return f"{value}u"

    def word_of(self, bits: str, first: int) -> str:
        """The word that begins at a bit."""
        return self.put(f"({self.words[0]})({bits} >> {first})" if first else f"({self.words[0]}){bits}", self.words[0])

    def word_op(self, instruction: str, x: str, y: str) -> str:
        """add, and, xor, lshr."""
        return self.put(f"{x} {WHOLE[instruction]} {y}", self.words[0])

    def wide_product(self, x: str, factor: int) -> tuple[str, str]:
        """The upper and the lower word of a product."""
        product = self.put(f"({self.words[1]}){x} * {factor}u", self.words[1])
        return self.word_of(product, 32), self.word_of(product, 0)

    def joined(self, high: str, low: str) -> str:
        """Two words in the integer of a double's size, or the upper one in that of a float's."""
        return self.put(f"({self.words[1]}){high} << 32 | {low}", self.words[1]) if self.scalar == "double" else high

    def in_double(self) -> Self:
        """The same lines in double precision, with names of its own; for plain sums and products."""
        return type(self)("double", False, "", "{} * {}", self.words, self.lines, self.prefix, self._next + 1000)

    def extended(self, x: str) -> str:
        """A float as a double."""
        return self.put(f"(double){x}")

    def truncated(self, x: str) -> str:
        """A double as a float."""
        return self.put(f"(float){x}")


Trig = Literal["libm", "own"]
Reach = Callable[[str, Port, int], str]
"""How element k of an argument, by its name in C and its port, is written."""

STEPS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "fma": "EW_FMA({}, {}, {})",
    "fms": "EW_FMA({}, {}, -{})",
    "fnma": "EW_FMA(-{}, {}, {})",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "not": "!{}",
    "min": "({0} < {1}) ? {0} : {1}",
    "max": "({0} > {1}) ? {0} : {1}",
    "select": "{} ? {} : {}",
}
APART = {"fma": "{} * {} + {}", "fms": "{} * {} - {}", "fnma": "{2} - {0} * {1}"}
"""Where nothing may fuse, as in NumPy; whoever compiles it must not fuse either."""
FUNCTIONS = {"sin": "sin", "cos": "cos", "sqrt": "sqrt", "log": "log", "abs": "fabs"}  # of math.h

WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while

    alignas alignof and and_eq asm bitand bitor bool catch class co_await co_return co_yield compl concept const_cast
    consteval constexpr constinit decltype delete dynamic_cast explicit export false friend mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert
    static_cast template this thread_local throw true try typeid typename typeof using virtual wchar_t xor xor_eq

    count state first states lane mine tile odd greatest i k max min blockIdx threadIdx

    sin cos sqrt log fabs fma sinf cosf sqrtf logf fabsf fmaf memcpy NAN INFINITY HUGE_VAL HUGE_VALF"""
KEYWORDS = frozenset(WORDS.split())
"""Words of C, of C++ and of our own text that no argument may be called."""


def identifier(text: str) -> str:
    """A name as C allows it, in ASCII: what it does not becomes `_`, at most 60 characters of it."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")[:60].rstrip("_") or "x"
    return f"x{name}" if name[0].isdigit() else name


def argument_names(ports: Iterable[Port]) -> list[str]:
    """A name in C for every port: its own where that can be, else one like it that nothing else has."""
    names: list[str] = []
    for port in ports:
        name = identifier(port.name)
        if re.match(r"t\d|ew_|EW_", name):  # our own variables, functions and macros
            name = f"x{name}"
        while name in KEYWORDS or name in names:
            name += "_"
        names.append(name)
    return names


@dataclass(frozen=True)
class Dialect:
    """What differs between the languages.  As it is: C99."""

    real: Real = "double"
    trig: Trig = "libm"
    helper: str = "static"  # what stands before a function that nobody else calls
    product: str = "{} * {}"  # a product that no compiler may fuse with a sum
    integers: tuple[str, str] = ("uint32_t", "uint64_t")
    infinity: str = ""  # how it is written where math.h's HUGE_VAL and HUGE_VALF are not known
    loop: str = ""  # a line that stands before a loop, so that it stays one
    fused: bool = True  # whether products and sums are fused as `lower` says; False: never

    @property
    def integer(self) -> str:
        """The unsigned integer of the same size as a number."""
        return self.integers[self.real == "double"]


def plain(name: str, port: Port, k: int) -> str:
    """Element k of an argument that holds one state."""
    return f"{name}[{k}]"


class Source:
    """One Program, or Repeated, as the text of a function."""

    def __init__(self, program: Program | Repeated, dialect: Dialect) -> None:
        self.program = program
        self.dialect = dialect
        turn = program.program if isinstance(program, Repeated) else program
        self.lowered = lower(turn)
        self.steps = sorted(self.lowered.steps)  # as they were traced: fewer values alive at once than depth first
        names = argument_names((*program.inputs, *program.outputs))
        self.inputs = {p.name: (name, p) for name, p in zip(names, program.inputs, strict=False)}  # port -> its name
        self.outputs = {p.name: (name, p) for name, p in zip(names[len(self.inputs) :], program.outputs, strict=True)}
        self.rows = program.rows if isinstance(program, Repeated) else ""  # the input read in the loop
        self._turned = turned_steps(self.lowered)
        self._drawn = _neighbours(self.steps, self.lowered.constants)
        self._late: dict[int, str] = {}  # inputs that are read some steps before the first that needs them
        self._new: set[int] = set()  # inputs that were read, and that no step has used yet
        if not dialect.fused and self.has("sin", "cos", "log"):
            raise ElbowroomError(f"{program.name}: sines and logarithms of our own need fused products and sums")
        self._again: dict[int, str] = {}  # value -> the variable that it was read back into
        self._unwritten: Collection[tuple[str, int]] = ()
        self._results: dict[int, list[tuple[str, Port, int]]] = {}  # value -> where it goes
        for (name, port), operands in zip(self.outputs.values(), turn.results, strict=True):
            for element, operand in enumerate(operands):
                self._results.setdefault(operand, []).append((name, port, element))

    def needed(self, results: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        """The elements of inputs that these elements of outputs depend on; of a Repeated, all that are read."""
        loads = self.lowered.loads
        if isinstance(self.program, Repeated):
            return set(loads.values())
        wanted = {k for k, places in self._results.items() for _, port, e in places if (port.name, e) in results}
        for k, (_, *operands) in reversed(self.steps):  # a step comes after those that it takes
            if k in wanted:
                wanted.update(operands)
        return {place for k, place in loads.items() if k in wanted}

    def passed_on(self) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
        """(output, input): elements of outputs that are elements of inputs, as they are."""
        for k, places in self._results.items():
            if k in self.lowered.loads:
                yield from (((port.name, element), self.lowered.loads[k]) for _, port, element in places)

    def has(self, *operations: str) -> bool:
        """Whether one of these operations is in it."""
        return any(op[0] in operations for _, op in self.steps)

    def signature(self, name: str) -> str:
        """A C function's name and arguments, inputs first."""
        real = self.dialect.real
        arguments = [f"const {real} {name}[{port.size}]" for name, port in self.inputs.values()]
        arguments += [f"{real} {name}[{port.size}]" for name, port in self.outputs.values()]
        return f"void {name}({', '.join(arguments)})"

    def text(self, name: str) -> str:
        """The whole C function."""
        return "\n".join([self.signature(name), "{", *self.body(), "}", ""])

    def spills(self, registers: int, given: Sequence[tuple[str, int]] = ()) -> Spills:
        """What waits elsewhere where there are so many registers; `given`: outputs whose places serve until written."""
        if isinstance(self.program, Repeated) or self.has("uniform"):
            return Spills()
        until: dict[int, int] = {}
        slots = {place: slot for slot, place in enumerate(given)}
        for at, (k, _) in enumerate(self._own_steps()):
            until |= {slots[port.name, e]: at for _, port, e in self._results.get(k, ()) if (port.name, e) in slots}
        return spills([*self.lowered.loads, *self._turned], self._own_steps(), registers, until)

    def alive(self) -> int:
        """The most values that wait for a step at once, where each input is read as late as can be."""
        steps = self._own_steps()
        flags = {k for k, (name, *_) in steps if name in CONDITIONS}
        last = {k: at for at, (_, step) in enumerate(steps) for k in step[1:] if k >= 0 and k not in flags}
        here, most = set[int](), 0
        for at, (value, step) in enumerate(steps):
            here.update(k for k in step[1:] if k in last)
            most = max(most, len(here))
            here.difference_update([k for k in step[1:] if last.get(k) == at])
            here.update([value] if value in last else [])
        return most

    def body(
        self,
        read: Reach = plain,
        write: Reach = plain,
        between: Sequence[str] = (),
        spilled: Spills | None = None,
        waiting: Callable[[int], str] = str,
        *,
        ahead: int | None = None,
        row: Reach | None = None,
        seen: Callable[[str, str], str | None] = lambda port, value: None,
        made: Callable[[str, str], str | None] = lambda port, value: None,
        unwritten: Collection[tuple[str, int]] = (),
    ) -> list[str]:
        """The lines between the braces; `between` stands after the last input is read, before an output is written.

        `ahead`: an input is read so many steps before the first that needs it, so that no output may lie on an input;
        without, all inputs are read first.  `row` says how element k of the row of this turn (`k` in the text) is
        reached in a Repeated; `seen` may give a line that stands before the first use of a value of an input, `made`
        one behind the writing of one of an output (not in a Repeated).  `unwritten`: elements of outputs that are left
        out.  `spilled`: what waits in places that `waiting` names by their slots.
        """
        w = self._writer()
        self._row, self._seen, self._made, self._unwritten = row or self._plain_row, seen, made, unwritten
        used = {port for port, _ in self.lowered.loads.values()}
        w.lines += [f"    (void){name};" for port, (name, _) in self.inputs.items() if port not in used]
        fed = {p.name for p in self.program.fed} if isinstance(self.program, Repeated) else set()
        for k, (port, element) in self.lowered.loads.items():
            if ahead is not None and not isinstance(self.program, Repeated):
                self._late[k] = read(*self.inputs[port], element)
            elif port != self.rows:
                w.put(read(*self.inputs[port], element), name=f"t{k}", changes=port in fed)
                self._was_read(w, k)
        w.lines += between
        if isinstance(self.program, Repeated):
            self._loop(w, write, self.program)
        else:
            self._run(w, lambda k: self._finish(w, k, write), spilled or Spills(), waiting, ahead or 0)
        return w.lines

    def _plain_row(self, name: str, whole: Port, element: int) -> str:
        assert isinstance(self.program, Repeated)
        return f"{name}[k * {whole.size // self.program.times} + {element}]"

    def _read(self, w: SourceWriter, operands: Iterable[int]) -> None:
        """Reads the inputs among these values that were not read yet."""
        for k in operands:
            if k in self._late:
                w.put(self._late.pop(k), name=f"t{k}")
                self._new.add(k)

    def _needs(self, w: SourceWriter, operands: Sequence[int]) -> None:
        """The same, for a step that uses them now."""
        self._read(w, operands)
        for k in operands:
            if k in self._new:
                self._new.remove(k)
                self._was_read(w, k)

    def _was_read(self, w: SourceWriter, k: int) -> None:
        line = self._seen(self.lowered.loads[k][0], f"t{k}")
        if line is not None:
            w.lines.append(line)

    def _writer(self) -> SourceWriter:
        return SourceWriter(self.dialect.real, integer=self.dialect.integer, words=self.dialect.integers, prefix="ew_")

    def _own_steps(self) -> list[tuple[int, Operation]]:
        """The steps that are written one by one: all but the sines and cosines of inputs."""
        return [(k, operation) for k, operation in self.steps if k not in self._turned]

    def _run(
        self,
        w: SourceWriter,
        finish: Callable[[int], None],
        spilled: Spills | None = None,
        waiting: Callable[[int], str] = str,
        ahead: int = 0,
    ) -> None:
        """All steps; `finish` is called with every value once it is there."""
        spilled = spilled or Spills()
        self._again = {}

        def store(at: int) -> None:
            w.lines += [f"    {waiting(slot)} = {self._operand(k)};" for k, slot in spilled.stores.get(at, ())]

        steps = self._own_steps()
        there = [k for k in self._results if k < 0 or k in self.lowered.loads or k in self._turned]
        soon = [x for _, step in steps[:ahead] for x in step[1:]]
        self._read(w, [*(x for x, _ in self._turned.values()), *there, *soon])
        self._turn(w)
        for k in there:
            finish(k)
        store(-1)
        for at, (k, operation) in enumerate(steps):
            self._read(w, [x for _, step in steps[at + ahead : at + ahead + 1] for x in step[1:]])
            for value, slot in spilled.loads.get(at, ()):
                self._again[value] = w.put(waiting(slot), name=f"t{value}_{at}")
            self._step(w, k, operation)
            finish(k)
            store(at)

    def _loop(self, w: SourceWriter, write: Reach, repeated: Repeated) -> None:
        """The steps so many times; what is fed back goes into the variables of the inputs, other results into `_last`.

        Results that are numbers, or inputs that stay the same, need no variable.
        """
        loads = self.lowered.loads
        fed = {p.name for p in repeated.fed}
        again: dict[int, int] = {}  # the value of an input that is fed back -> the value that it gets
        variable = {place: k for k, place in loads.items() if place[0] in fed}
        final: list[tuple[tuple[str, Port, int], str]] = []  # where an output goes, and the variable it is in
        last: dict[int, str] = {}
        for operand, places in self._results.items():
            for place in places:
                k = variable.get((place[1].name, place[2]))
                if k is not None:
                    again[k] = operand
                    final.append((place, f"t{k}"))
                elif operand < 0 or (operand in loads and loads[operand][0] not in {*fed, self.rows}):
                    final.append((place, self._operand(operand)))
                else:
                    last[operand] = f"t{operand}_last"
                    final.append((place, last[operand]))
        zero = literal(0.0, w.scalar)
        for name in last.values():
            w.put(zero, name=name, changes=True)
        inside = self._writer()
        for k, (port, element) in loads.items():
            if port == self.rows:
                inside.put(self._row(*self.inputs[port], element), name=f"t{k}")
                self._was_read(inside, k)

        def finish(k: int) -> None:
            if k in last:
                inside.lines.append(f"    {last[k]} = t{k};")

        self._run(inside, finish)
        moved = {k: operand for k, operand in again.items() if operand in again and operand != k}
        for k, operand in moved.items():  # these wait, so that none reads what another has set
            inside.put(f"t{operand}", name=f"t{k}_next")
        for k, operand in again.items():
            if operand != k:
                inside.lines.append(f"    t{k} = {f't{k}_next' if k in moved else self._operand(operand)};")
        w.lines += [self.dialect.loop] if self.dialect.loop else []
        w.lines += [f"    for (int k = 0; k < {repeated.times}; ++k) {{", *(f"    {x}" for x in inside.lines), "    }"]
        w.lines += [f"    {write(*place)} = {name};" for place, name in final]

    def _turn(self, w: SourceWriter) -> None:
        """The sines and cosines of inputs."""
        pairs: dict[int, dict[str, int]] = {}
        for step, (k, which) in self._turned.items():
            pairs.setdefault(k, {})[which] = step
        for k, wanted in pairs.items():
            self._needs(w, [k])
            self._sincos(w, f"t{k}", wanted)

    def _sincos(self, w: SourceWriter, x: str, wanted: dict[str, int]) -> None:
        """Sine, cosine or both of x, into the values that are named."""
        if self.dialect.trig == "libm":
            for which, k in wanted.items():
                w.put(f"{which}{suffix(w.scalar)}({x})", name=f"t{k}")
            return
        spare = f"t{next(iter(wanted.values()))}_"  # what nobody wants
        names = [f"t{wanted[which]}" if which in wanted else spare for which in ("sin", "cos")]
        w.lines.append(f"    {w.scalar} {names[0]}, {names[1]};")
        w.lines.append(f"    ew_sincos({x}, &{names[0]}, &{names[1]});")

    def _operand(self, k: int) -> str:
        if k >= 0:
            return self._again.get(k, f"t{k}")
        return literal(self.lowered.constants[-1 - k], self.dialect.real, self.dialect.infinity)

    def _step(self, w: SourceWriter, k: int, operation: Operation) -> None:
        name, *operands = operation
        self._needs(w, operands)
        x = [self._operand(i) for i in operands]
        if name in ("sin", "cos"):
            self._sincos(w, x[0], {name: k})
        elif name == "uniform":
            self._uniform(w, k, operands)
        elif name == "log" and self.dialect.trig == "own":
            w.put(f"ew_log({x[0]})", name=f"t{k}")
        elif name in FUNCTIONS:
            w.put(f"{FUNCTIONS[name]}{suffix(w.scalar)}({x[0]})", name=f"t{k}")
        else:
            form = APART.get(name, STEPS[name]) if not self.dialect.fused else STEPS[name]
            w.put(form.format(*x), "int" if name in CONDITIONS else "", f"t{k}")

    def _uniform(self, w: SourceWriter, k: int, operands: list[int]) -> None:
        """A random number, and that of its block's other channel where somebody reads it."""
        pair = self._drawn.get(k, (None, None))
        if k != min(j for j in (*pair, k) if j is not None):  # it is there already
            return
        known: list[str | int] = [f"t{j}" if j >= 0 else int(self.lowered.constants[-1 - j]) for j in operands]
        counter, key = Philox(w).counted(known[0], known[1], known[2], known[3])
        given = [w.word(x) if isinstance(x, int) else x for x in (*counter, *key)]
        names = [f"t{k}_{which}" if j is None else f"t{j}" for j, which in zip(pair, ("even", "odd"), strict=True)]
        w.lines.append(f"    {w.scalar} {names[0]}, {names[1]};")
        w.lines.append(f"    ew_uniform({', '.join(given)}, &{names[0]}, &{names[1]});")
        if pair == (None, None):  # which of the two shows only now
            w.put(Philox(w).chosen(f"t{operands[3]}", *names), name=f"t{k}")

    def _finish(self, w: SourceWriter, k: int, write: Reach) -> None:
        """Store an output as soon as it is known."""
        if k in self._results:
            self._needs(w, [k])
        for place in self._results.get(k, ()):
            if (place[1].name, place[2]) not in self._unwritten:
                w.lines.append(f"    {write(*place)} = {self._operand(k)};")
            line = self._made(place[1].name, self._operand(k)) if k >= 0 else None
            w.lines += [line] if line else []


def _neighbours(
    steps: Iterable[tuple[int, Operation]], constants: Sequence[float]
) -> dict[int, tuple[int | None, int | None]]:
    """Per random number of a known channel: the values of the even and the odd channel of its block."""
    blocks: dict[tuple[int, ...], list[int | None]] = {}
    place: dict[int, tuple[int, ...]] = {}
    for k, (name, *operands) in steps:
        if name == "uniform" and operands[3] < 0:
            channel = int(constants[-1 - operands[3]])
            place[k] = (*operands[:3], channel // 2)
            blocks.setdefault(place[k], [None, None])[channel % 2] = k
    return {k: (blocks[at][0], blocks[at][1]) for k, at in place.items()}
