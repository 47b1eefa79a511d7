"""The CUDA text of a schedule: kernels that are launched one after the other for every turn, a thread a lane.

    columns    [warp][number][32]: element e of an array is row `first(array) + e` of ColumnPlaces; a warp's lanes read
               neighbours, and all places of a lane are a fixed distance from each other
    tables     [lane][row][element], each with how many rows it has: lanes read rows of different numbers; or, where
               they are `together`, [warp][row][element][32]

Every kernel of the CPU that a step calls is a function (card_function.py).  A long one is a stage, a kernel of the
card, by itself: so each has the registers that it needs, its text is read from far away once for very many lanes, and
the card has other warps to turn to while one waits.  Short ones share a stage.  The entries of a table are shared by
the warps of a block, which has the same lanes in all of them and their rows near by.  The steps, and so the roundings,
are those of the lanes (lanes.py): a lane has the same bits on both.

A condition with stages of its own lists the lanes in which it holds, and these stages have a thread for each of the
list: where that is an eighth of the lanes, nearly every warp would have one.  What such stages alone read and write
lies in the columns of the lane whose number the thread has, beside its neighbours'; all else in those of its own lane.
A condition within such a condition is kept in `holds` from one stage to the next.  A loop is one stage.

A lane ends where its own check fails or its own Halt holds: the number of that step, from 1 on, is written to `codes`,
and the lane is not active any more.  The others do not notice.  What a step looks through is looked through by the one
that makes it, if that is done under the same conditions: a thread has it in a register there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ...algebra import Program, Repeated, Table
from ...errors import ElbowroomError
from .. import source_support
from ..cuda import WARP, dialect
from ..kernel import Array
from ..pipeline import Call, Copy, FromRing, Sound, Span, ToRing
from ..source import Real, Source
from .card_function import CardFunction, body_of
from .needed import Looked, Needed, Part
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
    carried,
    flat,
    joined,
    left_sound,
    reads_and_writes,
)

THREADS = 64  # of a block: the stages of few lanes need many blocks
PARTS = 8  # of a table's entries, in a stage: a warp of the block each, for the same lanes
NAME = "schedule"
LONG = 150  # operations from which on a kernel is a stage by itself; a table always is

MOVES = """\
static __device__ __forceinline__ void ew_copy(
    {real}* __restrict__ to, int apart, const {real}* __restrict__ from, int there, int size)
{{
    {real} some[16];
    for (int first = 0; first < size; first += 16) {{ /* reading waits for no writing */
#pragma unroll
        for (int k = 0; k < 16; ++k) {{
            if (first + k < size) {{
                some[k] = from[(first + k) * there];
            }}
        }}
#pragma unroll
        for (int k = 0; k < 16; ++k) {{
            if (first + k < size) {{
                to[(first + k) * apart] = some[k];
            }}
        }}
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
_NAN = {"double": "0x7ff8000000000000ull", "float": "0x7fc00000u"}


@dataclass(frozen=True)
class Stage:
    """A kernel of the card: for all lanes or for those of a list, by number; a block's warps may share lanes."""

    name: str
    listed: int | None
    parts: int

    @property
    def threads(self) -> int:
        """Of a block."""
        return THREADS if self.parts == 1 else WARP * self.parts

    @property
    def lanes(self) -> int:
        """Of a block."""
        return self.threads // self.parts


class ScheduleText:
    """See the module's docstring.

    All `stages` are launched in this order for a turn, with the same arguments: `listed` has room for `lists` times the
    lanes, `counts` for as many numbers, `holds` for `depth` times the lanes.  What neither a step needs nor
    somebody who looks at the arrays `wanted` is left out (needed.py); nothing is if that is omitted.
    """

    def __init__(
        self,
        steps: Sequence[LaneStep],
        active: Array,
        places: ColumnPlaces,
        real: Real,
        wanted: Sequence[Array] | None = None,
    ) -> None:
        self.real, self.places, self._active, self._every = real, places, active, tuple(steps)
        self._looked = dict[int, Looked]()  # what calls look through, by `id`
        self._one_source = dict[str, Source]()
        self._needed: Needed | None = None  # None: all is done
        self._wanted = tuple(wanted or ())
        self._put()
        if wanted is not None:
            sources = {id(x): self._source(x) for x in flat(steps) if isinstance(x, Call)}
            self._needed = Needed(steps, places, sources, self._looked, [active, *wanted])
            self._put()
        kernels = [self._kernel(*each) for each in zip(self.stages, self._bodies, strict=True)]
        support = source_support.support(dialect(real), self._sources, always=True)
        functions = [each.text() for each in self._written]
        self.text = "\n".join([support, MOVES.format(real=real), *functions, *kernels])

    def _put(self) -> None:
        """All steps into stages."""
        steps = self._every
        self.steps, self.tables, self.stages = list[LaneStep](), list[LaneTables](), list[Stage]()
        self.lists = self.depth = 0
        self._functions = dict[tuple[object, ...], str]()
        self._sources, self._written = list[Source](), list[CardFunction]()
        self._checks, self._conditions = Checks(steps), 0
        self._bodies = list[list[str]]()  # of the stages
        self._lines, self._fresh = list[str](), True  # of the present stage; whether it has none of a step yet
        self._open = list[str]()  # conditions that go on in the next stage
        self._parts = 1
        self._list: int | None = None
        lists = [step for step in steps if isinstance(step, Where) and _long(step)]
        self._scratch = self._rows_within(lists)  # that lie, in a list, in the columns of a thread's number
        self._staged(steps, "", [])
        self._break()

    # ---- stages
    def _kernel(self, stage: Stage, body: list[str]) -> str:
        tables = [f"{self.real}* table{k}, long long rows{k}" for k in range(len(self.tables))]
        own = f"{self.real}* columns, int* codes, int* listed, int* counts, int* holds, long long lanes"
        arguments, head = (
            ", ".join([own, *tables]),
            f"void __launch_bounds__({stage.threads}, 1) {stage.name}",
        )
        number = f"threadIdx.x % {stage.lanes}" if stage.parts > 1 else "threadIdx.x"
        first, lane, count = list[str](), "thread", "lanes"
        if stage is self.stages[0] and self.lists:
            first = [f"if (thread < {self.lists}) {{", "    counts[thread] = 0;", "}"]
        if stage.listed is not None:
            lane, count = f"listed[{stage.listed} * lanes + thread]", f"counts[{stage.listed}]"
        lines = [
            f"const long long thread = (long long)blockIdx.x * {stage.lanes} + {number};",
            *([f"const int part = threadIdx.x / {stage.lanes};"] if stage.parts > 1 else []),
            *first,
            f"if (thread >= {count}) {{",
            "    return;",
            "}",
            f"const long long lane = {lane};",
            *(f"{self.real}* const {x} = columns + {k} / {WARP} * {self.places.rows * WARP}ll + {k} % {WARP};"
              for x, k in (("x", "lane"), ("y", "thread"))),
            f"if ({self._at(self._active)}[0] == 0) {{",
            "    return;",
            "}",
            *body,
        ]  # fmt: skip
        return "\n".join([f'extern "C" __global__ {head}({arguments})', "{", *(f"    {x}" for x in lines), "}", ""])

    def _break(self) -> None:
        """Ends a stage, unless it is empty; conditions that are open go on in the next."""
        if not self._fresh:
            self.stages.append(Stage(f"{NAME}_{len(self.stages)}", self._list, self._parts))
            self._bodies.append(self._lines)
        self._lines = [f"const int {on} = holds[{k} * lanes + thread];" for k, on in enumerate(self._open)]
        self._fresh = True

    def _add(self, lines: Sequence[str], on: str) -> None:
        """Lines of a step to the present stage, done where a condition holds."""
        if lines:
            self._lines += [f"if ({on}) {{", *(f"    {line}" for line in lines), "}"] if on else lines
            self._fresh = False

    def _staged(self, steps: Iterable[LaneStep], on: str, sound: list[Span]) -> list[Span]:
        """Steps in as many stages as they take; which arrays are known to be finite after them."""
        steps = list(steps)
        made = self._checks.where_made(steps, sound)
        for step in steps:
            if not _long(step):
                lines, sound = self._step(step, sound, made.get(id(step), ()))
                self._add(lines, on)
            elif isinstance(step, Where):
                self._condition(step, on, sound)
                sound = left_sound(sound, step.steps)
            else:
                self._break()
                self._parts = self._shared(step)
                lines, sound = self._step(step, sound, made.get(id(step), ()))
                self._add(lines, on)
                self._break()
                self._parts = 1
        return sound

    def _shared(self, step: LaneStep) -> int:
        """How many warps share a long step's work."""
        if not isinstance(step, Call) or not isinstance(step.kernel.program, Table):
            return 1
        return min(PARTS, len(self._part(step).entries))

    def _condition(self, step: Where, on: str, sound: list[Span]) -> None:
        """A condition with stages of its own."""
        if self._list is None and not on:
            if not self.stages:
                self._break()
                self._fresh = False  # the counts are set to 0 in a stage before
                self._break()
            k, self.lists = self.lists, self.lists + 1
            self._add([f"listed[{k} * lanes + atomicAdd(counts + {k}, 1)] = (int)lane;"], self._holds(step.mask))
            self._break()
            self._list = k
            self._staged(step.steps, "", list(sound))
            self._break()
            self._list = None
            return
        self._conditions += 1
        here, k = f"on{self._conditions}", len(self._open)
        both = f"{on} && {self._holds(step.mask)}" if on else self._holds(step.mask)
        self._add([f"const int {here} = {both};", f"holds[{k} * lanes + thread] = {here};"], "")
        self._open.append(here)
        self.depth = max(self.depth, len(self._open))
        self._staged(step.steps, here, list(sound))
        self._open.pop()

    def _rows_within(self, conditions: Sequence[Where]) -> frozenset[int]:
        """Rows of arrays that nobody reads or writes but the steps of these conditions, in each of them anew."""
        inside = {id(each) for condition in conditions for each in flat(condition.steps)}
        within, others = list[Array](), [self._active, *self._wanted]
        others += [x for each in conditions for x in carried(each.steps)]
        for step in flat(self._every):
            for part in reads_and_writes(step):
                (within if id(step) in inside else others).extend(part)
        taken = {row for x in others for row in self._rows(x)}
        while mixed := [x for x in within if len(taken.intersection(self._rows(x))) not in (0, x.size)]:
            taken.update(row for x in mixed for row in self._rows(x))
        return frozenset(row for x in within for row in self._rows(x)) - taken

    def _rows(self, array: Array) -> range:
        first = self.places.first(array)
        return range(first, first + array.size)

    # ---- steps
    def _step(self, step: LaneStep, sound: list[Span], made: Collection[int] = ()) -> tuple[list[str], list[Span]]:
        """The lines of a step in one stage, and which arrays are known to be finite after it.

        `made`: the outputs that a call looks through itself, by number.
        """
        if isinstance(step, Where | Repeat):
            return self._nested(step, sound)
        lines: list[str] = []
        if isinstance(step, Call | Sound):
            looked, sound = self._checks.of(step, sound)
            if isinstance(step, Sound):
                odd = " || ".join(f"ew_odd({self._at(array)}, {array.size})" for array in looked)
                lines += self._ends(step, odd) if odd else []
        if isinstance(step, Call):
            reads, writes = reads_and_writes(step)
            given = ", ".join(self._at(array) for array in (*reads, *writes))
            if isinstance(step.kernel.program, Table):
                given += f", part, {self._parts}" if self._parts > 1 else ", 0, 1"
            watched = tuple(k for k, array in enumerate(step.inputs) if any(array is each for each in looked))
            self._looked[id(step)] = Looked(frozenset(watched), frozenset(made))
            call = f"{self._function(step, watched, tuple(sorted(made)))}({given})"
            lines += self._ends(step, call) if watched or made else [f"{call};"]
            return lines, joined([*left_sound(sound, [step]), *(Span.of(writes[k]) for k in made)])
        if isinstance(step, Halt):
            lines += self._ends(step, self._holds(step.mask))
        elif not isinstance(step, Label | Around | Sound):
            lines += self._moved(step)
        return lines, left_sound(sound, [step])

    def _nested(self, step: Where | Repeat, sound: list[Span]) -> tuple[list[str], list[Span]]:
        still, lines = left_sound(sound, step.steps), list[str]()
        known = list(sound) if isinstance(step, Where) else still
        for each in step.steps:
            more, known = self._step(each, known)
            lines += [f"    {line}" for line in more]
        if isinstance(step, Where):
            return [f"if ({self._holds(step.mask)}) {{", *lines, "}"], still
        leave = [f"    if (!({self._holds(step.mask)})) {{", "        break;", "    }"]
        return [f"for (int round = 0; round < {step.most}; ++round) {{", *lines, *leave, "}"], still

    def _moved(self, step: LaneStep) -> list[str]:
        """Copies of all kinds."""
        if isinstance(step, Copy | Blend):
            if self._same(step) or not self._read(step.to):
                return []
            line = self._copied(self._at(step.to), self._at(step.source), step.to.size)
            return [line] if isinstance(step, Copy) else [f"if ({self._holds(step.mask)}) {{", f"    {line}", "}"]
        if not isinstance(step, FromRing | ToRing | Gather | Scatter):
            raise ElbowroomError(f"a card has no {type(step).__name__}: its lanes have tables of their own")
        at, own = f"{self._at(step.at)}[0]", step.to if isinstance(step, FromRing | Gather) else step.source
        size = own.size
        if isinstance(step, FromRing | ToRing):
            apart = WARP
            there = f"{self._at(step.ring)} + ew_row({at}, {len(step.ring)}, 0) * {size * WARP}"
        else:
            k, apart = self._table(step.tables), WARP if step.tables.together else 1
            own_rows, within = ("lane / 32", " * 32 + lane % 32") if step.tables.together else ("lane", "")
            there = f"table{k} + ({own_rows} * rows{k} + ew_row({at}, rows{k}, 0)) * {size}{within}"
        if isinstance(step, ToRing | Scatter):
            return [self._copied(there, self._at(own), size, to_apart=apart)]
        line = self._copied(self._at(own), there, size, from_apart=apart)
        if isinstance(step, FromRing):
            return [line]
        nan = f"for (int e = 0; e < {size}; ++e) {{ {self._at(own)}[e * {WARP}] = ew_real({_NAN[self.real]}); }}"
        return [f"if ({at} >= 0) {{", f"    {line}", "} else {", f"    {nan}", "}"]

    @staticmethod
    def _copied(to: str, source: str, size: int, *, to_apart: int = WARP, from_apart: int = WARP) -> str:
        return f"ew_copy({to}, {to_apart}, {source}, {from_apart}, {size});"

    def _ends(self, step: LaneStep, condition: str) -> list[str]:
        self.steps.append(step)
        lines = [f"codes[lane] = {len(self.steps)};", f"{self._at(self._active)}[0] = 0;", "return;"]
        return [f"if ({condition}) {{", *(f"    {line}" for line in lines), "}"]

    def _holds(self, mask: Array) -> str:
        return f"{self._at(mask)}[0] != 0"

    def _at(self, array: Array) -> str:
        rows = self._rows(array)
        scratch = self._list is not None and rows[0] in self._scratch
        return f"({'y' if scratch else 'x'} + {rows[0] * WARP})"

    def _same(self, step: Copy | Blend) -> bool:
        """Whether a copy has nothing to do."""
        return self._rows(step.source) == self._rows(step.to)

    def _read(self, array: Array) -> bool:
        """Whether somebody reads some of an array."""
        return self._needed is None or not self._needed.rows.isdisjoint(self._rows(array))

    def _table(self, tables: LaneTables) -> int:
        if tables not in self.tables:
            self.tables.append(tables)
        return self.tables.index(tables)

    # ---- functions
    def _function(self, step: Call, watched: tuple[int, ...], made: tuple[int, ...]) -> str:
        """The name of the function of a call that looks through these inputs and outputs, by number."""
        program = _program(step)
        taken, left = ([self._rows(x) for x in each] for each in reads_and_writes(step))
        pairs = [(p, q) for p, there in zip(program.inputs, taken, strict=True)
                 for q, here in zip(program.outputs, left, strict=True) if there == here]  # fmt: skip
        renewed = frozenset(port.name for pair in pairs for port in pair)
        part = self._part(step)
        beginning = dict(zip([p.name for p in program.inputs], (each[0] for each in taken), strict=True))
        there = {(name, k): (row - beginning[name], apart) for (name, k), (row, apart) in part.elsewhere.items()}
        part = part._replace(elsewhere=there)
        done = part.unwritten, frozenset(there.items()), part.entries, part.trusted
        key = program.digest, not isinstance(step, Unfused), watched, made, done, renewed
        if key not in self._functions:
            name = self._functions[key] = f"ew_{len(self._functions)}_{step.kernel.name}"
            names, results = {program.inputs[k].name for k in watched}, {program.outputs[k].name for k in made}
            made_so = CardFunction(
                name, program, self.real, names, results, fused=not isinstance(step, Unfused),
                part=part, renewed=renewed,
            )  # fmt: skip
            self._written.append(made_so)
            self._sources.append(self._source(step))
        return self._functions[key]

    def _part(self, step: Call) -> Part:
        return Part.all(_program(step)) if self._needed is None else self._needed.part(step)

    def _source(self, step: Call) -> Source:
        """That of the program, or of what a table does for each entry; one for equal programs."""
        program = _program(step)
        if program.digest not in self._one_source:
            self._one_source[program.digest] = Source(body_of(program), dialect(self.real))
        return self._one_source[program.digest]


def _program(step: Call) -> Program | Repeated | Table:
    program = step.kernel.program
    if not isinstance(program, Program | Repeated | Table):
        raise ElbowroomError(f"{step.kernel.name}: no program of nested loops on a card yet; got {program!r:.60}")
    return program


def _long(step: LaneStep) -> bool:
    """Whether a step has stages of its own."""
    if isinstance(step, Where | Repeat):
        return any(_long(each) for each in step.steps)
    if not isinstance(step, Call):
        return False
    program = _program(step)
    return isinstance(program, Table) or program.count.total >= LONG
