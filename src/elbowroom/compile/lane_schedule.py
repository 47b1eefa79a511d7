"""LaneSchedule: steps of pipelines over one block of states in SIMD lanes, with conditions and loops, all native.

    schedule = LaneSchedule([
        Label("cycle"),
        Gather(frames, at, rows),                           # a row of each lane's own table
        Call(law, (q, rows), results),                      # as in pipeline.py; `checked` inputs must be finite
        Where(lacking, [...]),                              # done if the mask holds in any active lane
        Repeat([...], left, most=9),                        # done once, and again as long as the mask holds in one
        Blend(solved, better, results.qd),                  # copied in the lanes of the mask
        Halt(finished),                                     # ends the run where the mask holds
        Around(1000),                                       # back to the beginning
    ], active)
    ended = schedule.run()                                  # Ended(step, lanes)

Steps are written for the arrays of one state; the schedule has each of these arrays once for every lane, as columns
(`schedule[q]` is (elements, lanes)), and arrays that share memory do so there.  Every lane does the same operations as
a Pipeline does for one state, so the bits are the same.  A lane that is not active computes on, but whatever it finds
ends nothing and is read by nobody.

A run ends where a checked number of an active lane is not finite, at a Halt, or after an Around; it can go on at any
Label.  The interpreter's lock is free meanwhile: blocks may run in several threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import llvmlite
import numpy as np
from numpy.typing import NDArray

from .. import disk_cache as disk
from . import engine
from .column_code import column_code, lanes_of
from .kernel import Array
from .lane_code import OPERATIONS, module
from .llvm import ROOM
from .pipeline import Call, Copy, FromRing, Sound, Span, ToRing

ALIGNMENT = 64  # bytes


@dataclass(frozen=True, eq=False)
class Unfused(Call):
    """A kernel with products and sums apart: NumPy's bits."""


@dataclass(frozen=True, eq=False)
class Blend:
    """One array's numbers into another, in the lanes of a mask (1,)."""

    mask: Array
    source: Array
    to: Array


@dataclass(frozen=True, eq=False)
class Where:
    """Steps that are done if a mask (1,) holds in any active lane; their checks count in its lanes alone."""

    mask: Array
    steps: Sequence[LaneStep]


@dataclass(frozen=True, eq=False)
class Repeat:
    """Steps that are done once, and again as long as a mask (1,) holds in an active lane, `most` times in all."""

    steps: Sequence[LaneStep]
    mask: Array
    most: int


@dataclass(frozen=True, eq=False)
class LaneTables:
    """A table (rows, elements) of each lane's own, contiguous and of the schedule's precision; `tables[lane] = x`."""

    width: int
    of: dict[int, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Gather:
    """That row of each lane's table whose number is in `at` (1,), into an array; NaN where it is negative."""

    tables: LaneTables
    at: Array
    to: Array


@dataclass(frozen=True, eq=False)
class Spread:
    """That row whose number is in `at` (1,) of the first lane, of a table that all lanes share, into an array."""

    tables: LaneTables
    at: Array
    to: Array


@dataclass(frozen=True, eq=False)
class Scatter:
    """An array into that row of each lane's table."""

    source: Array
    at: Array
    tables: LaneTables


@dataclass(frozen=True, eq=False)
class Halt:
    """Ends the run where a mask (1,) holds in an active lane."""

    mask: Array


@dataclass(frozen=True, eq=False)
class Label:
    """Where a run can go on."""

    name: str


@dataclass(frozen=True, eq=False)
class Around:
    """Back to the first step; ends the run after so many turns."""

    most: int


_Table = Gather | Spread | Scatter
LaneStep = Call | Copy | FromRing | ToRing | Sound | Blend | Where | Repeat | _Table | Halt | Label | Around


class Ended(NamedTuple):
    """Why a run ended: the step, and the lanes for which it did."""

    step: LaneStep
    lanes: list[int]


def flat(steps: Iterable[LaneStep]) -> Iterator[LaneStep]:
    """All steps, those of conditions and loops too."""
    for step in steps:
        yield step
        if isinstance(step, Where | Repeat):
            yield from flat(step.steps)


def reads_and_writes(step: LaneStep) -> tuple[list[Array], list[Array]]:
    """The arrays that a step itself reads, and those that it writes."""
    if isinstance(step, Call):
        return list(step.inputs), [step.out] if isinstance(step.out, np.ndarray) else list(step.out)
    if isinstance(step, Copy):
        return [step.source], [step.to]
    if isinstance(step, Blend):
        return [step.mask, step.source, step.to], [step.to]
    if isinstance(step, FromRing):
        return [step.ring, step.at], [step.to]
    if isinstance(step, ToRing):
        return [step.source, step.ring, step.at], [step.ring]
    if isinstance(step, Gather | Spread):
        return [step.at], [step.to]
    if isinstance(step, Scatter):
        return [step.at, step.source], []
    if isinstance(step, Sound):
        return [step.array], []
    return ([step.mask], []) if isinstance(step, Where | Repeat | Halt) else ([], [])


def carried(steps: Iterable[LaneStep]) -> list[Array]:
    """The arrays, each once, that steps read before they have written all of them: what lasts, and what is given."""
    written, found = list[Span](), dict[tuple[int, int], Array]()

    def visit(some: Iterable[LaneStep], *, sure: bool) -> None:
        for step in some:
            reads, writes = reads_and_writes(step)
            for array in reads:
                span = Span.of(array)
                if not any(span.within(other) for other in written):
                    found.setdefault((span.start, span.end), array)
            if sure:
                written.extend(Span.of(array) for array in writes)
            if isinstance(step, Where | Repeat):
                visit(step.steps, sure=sure and isinstance(step, Repeat))

    visit(steps, sure=True)
    return list(found.values())


class _Columns:
    """The memory of a block: a vector of all lanes for every number of one state's arrays."""

    def __init__(self, arrays: Iterable[Array], lanes: int, dtype: np.dtype[Any]) -> None:
        self.lanes, self.dtype = lanes, dtype
        spans = list[Span]()
        for span in sorted((Span.of(x) for x in arrays), key=lambda s: (s.start, s.end)):
            if spans and span.start < spans[-1].end:
                spans[-1] = spans[-1]._replace(end=max(span.end, spans[-1].end))
            elif span.end > span.start:
                spans.append(span)
        self._spans = spans
        sizes = [(s.end - s.start) // 8 for s in spans]
        room = np.zeros(sum(sizes) * lanes + ALIGNMENT, dtype)
        first = -(room.ctypes.data % -ALIGNMENT) // dtype.itemsize
        self.all: Array = room[first : first + sum(sizes) * lanes].reshape(-1, lanes)
        self._parts = dict[int, NDArray[Any]]()  # by the address of one state's
        for span, size in zip(spans, sizes, strict=True):
            part = room[first : first + size * lanes].reshape(size, lanes)
            one = np.ctypeslib.as_array((ctypes.c_double * size).from_address(span.start))
            with np.errstate(over="ignore", invalid="ignore"):
                part[:] = one[:, None]
            self._parts[span.start], first = part, first + size * lanes

    def __getitem__(self, array: Array) -> Array:
        """(elements, lanes)."""
        span = Span.of(array)
        for whole in self._spans:
            if whole.start <= span.start and span.end <= whole.end and span.end > span.start:
                first = (span.start - whole.start) // 8
                return self._parts[whole.start][first : first + array.size]
        raise KeyError(f"an array of shape {array.shape} is none of the schedule's")


class LaneSchedule:
    """See the module's docstring.  `active` (1,) is the mask of lanes that count; it is 0 in all of them at first."""

    def __init__(self, steps: Sequence[LaneStep], active: Array, dtype: Any = np.float64) -> None:
        self.dtype = np.dtype(dtype)
        self.lanes = lanes_of(self.dtype)
        self.steps, self._active = tuple(steps), active
        every = list(flat(self.steps))
        self.arrays = [x for step in every for part in reads_and_writes(step) for x in part]
        self._columns = _Columns([active, *self.arrays], self.lanes, self.dtype)
        self._hit = _aligned(1, self.lanes, self.dtype)
        self._kept: list[Any] = []  # code, words and counters
        self._rows: list[tuple[int, int]] = []
        self._of: list[LaneStep] = []
        self._labels: dict[str, int] = {}
        self._tables: dict[LaneTables, list[Any]] = {}
        written = [Span.of(x) for step in every for x in reads_and_writes(step)[1]]
        self._constant = [
            span
            for array in self.arrays
            if (span := Span.of(array)) and not any(span.meets(w) for w in written) and np.isfinite(array).all()
        ]
        self._add_all(self.steps, active, [])
        self[active][:] = 0.0
        self._schedule = (ctypes.c_int64 * (2 * len(self._rows)))(*(word for row in self._rows for word in row))
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(_address(self.dtype, "run"))

    def __getitem__(self, array: Array) -> Array:
        """(elements, lanes): what stands for an array of the steps."""
        return self._columns[array]

    @property
    def columns(self) -> Array:
        """(numbers, lanes): all arrays, one after the other."""
        return self._columns.all

    def run(self, label: str | None = None) -> Ended:
        """From a label on, or from the first step."""
        at = self._run(self._schedule, 0 if label is None else self._labels[label])
        return Ended(self._of[at], np.flatnonzero(self._hit[0]).tolist())

    def assign(self, tables: LaneTables, lane: int | None, table: Array) -> None:
        """A lane's own table from now on; without a lane that of all."""
        if table.dtype != self.dtype or not table.flags.c_contiguous or table.size != len(table) * tables.width:
            raise ValueError(
                f"a lane's table must be contiguous, of {self.dtype}, in rows of {tables.width} numbers; "
                f"got {table.shape} of {table.dtype}"
            )
        which, address = range(self.lanes) if lane is None else (lane,), table.__array_interface__["data"][0]
        for each in which:
            tables.of[each] = table
        for pointers in self._tables[tables]:
            for each in which:
                pointers[each] = address

    # ---- records
    def _add_all(self, steps: Iterable[LaneStep], mask: Array, sound: list[Span]) -> list[Span]:
        for step in steps:
            sound = self._add(step, mask, sound)
        return sound

    def _add(self, step: LaneStep, mask: Array, sound: list[Span]) -> list[Span]:
        """Adds a step; which arrays are known to be finite after it."""
        if isinstance(step, Call | Sound):
            sound = self._check(step, mask, sound)
        if isinstance(step, Call):
            code = column_code(step.kernel, self.dtype, fused=not isinstance(step, Unfused))
            self._kept.append(code)
            reads, writes = reads_and_writes(step)
            self._row(step, "call", code.address, *(self._at(x) for x in (*reads, *writes)))
        elif isinstance(step, Copy):
            self._row(step, "copy", self._at(step.to), self._at(step.source), self[step.to].nbytes)
        elif isinstance(step, Blend):
            self._row(step, "blend", *(self._at(x) for x in (step.mask, step.to, step.source)), step.to.size)
        elif isinstance(step, FromRing | ToRing):
            own, kind = (step.to, "from_ring") if isinstance(step, FromRing) else (step.source, "to_ring")
            self._row(step, kind, *(self._at(x) for x in (own, step.ring, step.at)), own.size, len(step.ring))
        elif isinstance(step, Gather | Scatter):
            own, kind = (step.to, "gather") if isinstance(step, Gather) else (step.source, "scatter")
            at, live = self._at(step.at), self._at(self._active)
            self._row(step, kind, self._at(own), self._pointers(step.tables), at, own.size, live)
        elif isinstance(step, Spread):
            self._row(step, "spread", self._at(step.to), self._pointers(step.tables), self._at(step.at), step.to.size)
        elif isinstance(step, Halt):
            self._row(step, "halt", self._at(step.mask), self._at(self._active), self._hit.ctypes.data)
        elif isinstance(step, Label):
            self._labels[step.name] = len(self._rows)
        elif isinstance(step, Around):
            self._row(step, "around", self._counter(), step.most, -len(self._rows) - 1)
        elif isinstance(step, Where | Repeat):
            return self._nested(step, mask, sound)
        written = [Span.of(x) for x in reads_and_writes(step)[1]]
        return [span for span in sound if not any(span.meets(w) for w in written)]

    def _nested(self, step: Where | Repeat, mask: Array, sound: list[Span]) -> list[Span]:
        both = self._at(step.mask), self._at(self._active)
        inside = list(flat(step.steps))
        written = [Span.of(x) for each in inside for x in reads_and_writes(each)[1]]
        still = [span for span in sound if not any(span.meets(w) for w in written)]
        first = len(self._rows)
        if isinstance(step, Where):
            self._row(step, "skip", *both, 0)
            self._add_all(step.steps, step.mask, list(sound))
            operation, _ = self._rows[first]
            words = (ctypes.c_int64 * 3)(*both, len(self._rows) - first - 1)
            self._kept.append(words)
            self._rows[first] = operation, ctypes.addressof(words)
        else:
            self._add_all(step.steps, mask, still)
            self._row(step, "again", *both, self._counter(), step.most, first - len(self._rows) - 1)
        return still

    def _check(self, step: Call | Sound, mask: Array, sound: list[Span]) -> list[Span]:
        if isinstance(step, Sound):
            arrays = [step.array]
        else:
            names = [p.name for p in step.kernel.signature.inputs]
            checked = names if step.checked is None else step.checked
            arrays = [x for name, x in zip(names, step.inputs, strict=True) if name in checked]
        found, words = list(sound), list[int]()
        for array in arrays:
            span = Span.of(array)
            if not any(span.within(other) for other in (*found, *self._constant)):
                words += (self._at(array), array.size)
                found.append(span)
        if words:
            both = self._at(mask), self._at(self._active)
            self._row(step, "check", *both, self._hit.ctypes.data, len(words) // 2, *words)
        return found

    def _at(self, array: Array) -> int:
        return int(self[array].ctypes.data)

    def _row(self, step: LaneStep, operation: str, *words: int) -> None:
        record = (ctypes.c_int64 * len(words))(*words)
        self._kept.append(record)
        self._rows.append((_address(self.dtype, operation), ctypes.addressof(record)))
        self._of.append(step)

    def _counter(self) -> int:
        self._kept.append((ctypes.c_int64 * 1)(0))
        return ctypes.addressof(self._kept[-1])

    def _pointers(self, tables: LaneTables) -> int:
        pointers = (ctypes.c_int64 * self.lanes)()
        self._tables.setdefault(tables, []).append(pointers)
        return ctypes.addressof(pointers)


def _aligned(rows: int, lanes: int, dtype: np.dtype[Any]) -> Array:
    room = np.zeros(rows * lanes + ALIGNMENT, dtype)
    first = -(room.ctypes.data % -ALIGNMENT) // dtype.itemsize
    return room[first : first + rows * lanes].reshape(rows, lanes)


@cache
def _code(dtype: np.dtype[Any]) -> engine.Loaded:
    """The code that runs any schedule."""
    target, scalar, lanes = engine.host(), "double" if dtype.itemsize == 8 else "float", lanes_of(dtype)
    name = disk.key("lane schedule", scalar, target, llvmlite.__version__)
    found = disk.load(name)
    if found is None:
        found = {}, engine.object_code(module(ROOM, scalar, lanes), target)
        disk.store(name, *found)
    return engine.Loaded(found[1])


@cache
def _address(dtype: np.dtype[Any], function: str) -> int:
    assert function == "run" or function in OPERATIONS
    return _code(dtype).address(function)
