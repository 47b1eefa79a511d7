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
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import llvmlite
import numpy as np

from ... import disk_cache as disk
from .. import engine
from ..kernel import Array
from ..llvm import ROOM
from ..pipeline import Call, Copy, FromRing, Sound, Span, ToRing
from .column_code import column_code, lanes_of
from .lane_code import OPERATIONS, module
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
    Spread,
    Unfused,
    Where,
    flat,
    left_sound,
    reads_and_writes,
    refuse_overlaps,
)

ALIGNMENT = 64  # bytes


class Ended(NamedTuple):
    """Why a run ended: the step, and the lanes for which it did."""

    step: LaneStep
    lanes: list[int]


class LaneSchedule:
    """See the module's docstring.  `active` (1,) is the mask of lanes that count; it is 0 in all of them at first."""

    def __init__(self, steps: Sequence[LaneStep], active: Array, dtype: Any = np.float64) -> None:
        self.dtype = np.dtype(dtype)
        self.lanes = lanes_of(self.dtype)
        self.steps, self._active = tuple(steps), active
        refuse_overlaps(self.steps)
        every = list(flat(self.steps))
        self.arrays = [x for step in every for part in reads_and_writes(step) for x in part]
        self._places = ColumnPlaces([active, *self.arrays])
        self.columns = _aligned(self._places.rows, self.lanes, self.dtype)  # (numbers, lanes)
        with np.errstate(over="ignore", invalid="ignore"):
            self.columns[:] = self._places.now()[:, None]
        self._hit = _aligned(1, self.lanes, self.dtype)
        self._kept: list[Any] = []  # code, words and counters
        self._rows: list[tuple[int, int]] = []
        self._of: list[LaneStep] = []
        self._labels: dict[str, int] = {}
        self._tables: dict[LaneTables, list[Any]] = {}
        self._checks = Checks(self.steps)
        self._add_all(self.steps, active, [])
        self[active][:] = 0.0
        self._schedule = (ctypes.c_int64 * (2 * len(self._rows)))(*(word for row in self._rows for word in row))
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(_address(self.dtype, "run"))

    def __getitem__(self, array: Array) -> Array:
        """(elements, lanes): what stands for an array of the steps."""
        first = self._places.first(array)
        return self.columns[first : first + array.size]

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
            self._row(step, "copy", self._at(step.to), self._at(step.source), step.to.size)
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
        return left_sound(sound, [step])

    def _nested(self, step: Where | Repeat, mask: Array, sound: list[Span]) -> list[Span]:
        both = self._at(step.mask), self._at(self._active)
        still = left_sound(sound, step.steps)
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
        looked, found = self._checks.of(step, sound)
        words = [word for array in looked for word in (self._at(array), array.size)]
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
