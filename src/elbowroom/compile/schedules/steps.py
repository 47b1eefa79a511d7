"""Steps of closed loops, as data: what lanes.py runs in SIMD lanes and card.py on a graphics card.

    Label("cycle")
    Gather(frames, at, rows)                           # a row of each lane's own table
    Call(law, (q, rows), results)                      # as in pipeline.py; `checked` inputs must be finite
    Where(lacking, [...])                              # done where a mask holds
    Repeat([...], left, most=9)                        # done once, and again as long as a mask holds
    Blend(solved, better, results.qd)                  # copied in the lanes of a mask
    Halt(finished)                                     # ends a lane's run
    Around(1000)                                       # back to the beginning

They are written for the arrays of one state; a schedule has each of these arrays once for every lane, and arrays that
share memory do so there (`ColumnPlaces`).  A mask is an array (1,), false where it is 0.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...algebra import Repeated
from ..kernel import Array
from ..pipeline import Call, Copy, FromRing, Sound, Span, ToRing


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
    """A table (rows, elements) of each lane's own, contiguous and of the schedule's precision; `tables[lane] = x`.

    `together`: most lanes are at the same row as their neighbours, which a card is quicker with.
    """

    width: int
    together: bool = False
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


def refuse_overlaps(steps: Iterable[LaneStep]) -> None:
    """Copies whose array overlaps its source: vectors of it may be written before they are read."""
    for step in flat(steps):
        if isinstance(step, Copy) and Span.of(step.to).meets(Span.of(step.source)):
            raise ValueError("a copy in a schedule must not overlap its source")


def carried(steps: Iterable[LaneStep]) -> list[Array]:
    """The arrays, each once, that steps read before they have written all of them: what lasts, and what is given."""
    found = dict[tuple[int, int], Array]()

    def visit(some: Iterable[LaneStep], written: list[Span]) -> None:
        for step in some:
            reads, writes = reads_and_writes(step)
            for array in reads:
                span = Span.of(array)
                if not any(span.within(other) for other in written):
                    found.setdefault((span.start, span.end), array)
            written.extend(Span.of(array) for array in writes)
            if isinstance(step, Where | Repeat):  # what a condition leaves out is not written for who comes after it
                visit(step.steps, list(written) if isinstance(step, Where) else written)

    visit(steps, [])
    return list(found.values())


class ColumnPlaces:
    """Where a schedule has each array of its steps: element e of an array is row `first(array) + e` of all its numbers.

    Arrays of one state that share memory share rows.  The order is that in which they come, whatever their addresses:
    every process makes the same of the same steps.  `same`: arrays, each with another whose rows it gets (new, old).
    """

    def __init__(self, arrays: Iterable[Array], same: Iterable[tuple[Array, Array]] = ()) -> None:
        spans, found = list[Span](), dict[Span, int]()
        given = [Span.of(x) for x in arrays]
        for span in sorted(given, key=lambda s: (s.start, s.end)):
            if spans and span.start < spans[-1].end:
                spans[-1] = spans[-1]._replace(end=max(span.end, spans[-1].end))
            elif span.end > span.start:
                spans.append(span)
        starts = [span.start for span in spans]
        for span in given:
            if span.end > span.start:
                found.setdefault(spans[bisect_right(starts, span.start) - 1], len(found))
        self._first, self.rows = list[tuple[Span, int]](), 0
        pairs = {Span.of(new): Span.of(old) for new, old in same if Span.of(new) in found and Span.of(old) in found}
        instead = {new: old for new, old in pairs.items() if old not in pairs}
        for span in found:
            if span not in instead:
                self._first.append((span, self.rows))
                self.rows += (span.end - span.start) // 8
        self._own = len(self._first)  # those after these have the rows of others
        at = dict(self._first)
        self._first += [(new, at[old]) for new, old in instead.items()]
        self.same = list(instead)
        """The arrays that have the rows of others."""

    def first(self, array: Array) -> int:
        """The first row of an array."""
        span = Span.of(array)
        for whole, first in self._first:
            if whole.start <= span.start and span.end <= whole.end and span.end > span.start:
                return first + (span.start - whole.start) // 8
        raise KeyError(f"an array of shape {array.shape} is none of the schedule's")

    def now(self) -> Array:
        """(rows,) what is in one state's arrays at present."""
        found: Array = np.empty(self.rows)
        for span, first in self._first[: self._own]:
            size = (span.end - span.start) // 8
            found[first : first + size] = np.ctypeslib.as_array((ctypes.c_double * size).from_address(span.start))
        return found


class Checks:
    """Which arrays a step's check looks through, where those known to be finite are left out."""

    def __init__(self, steps: Iterable[LaneStep]) -> None:
        every = list(flat(steps))
        written = [Span.of(x) for step in every for x in reads_and_writes(step)[1]]
        self._constant = [
            span
            for step in every
            for part in reads_and_writes(step)
            for array in part
            if (span := Span.of(array)) and not any(span.meets(w) for w in written) and np.isfinite(array).all()
        ]

    def of(self, step: Call | Sound, sound: list[Span]) -> tuple[list[Array], list[Span]]:
        """The arrays that a step must look through, and what is known to be finite after that."""
        if isinstance(step, Sound):
            arrays = [step.array]
        else:
            names = [p.name for p in step.kernel.signature.inputs]
            checked = names if step.checked is None else step.checked
            arrays = [x for name, x in zip(names, step.inputs, strict=True) if name in checked]
        found, looked = list(sound), list[Array]()
        for array in arrays:
            span = Span.of(array)
            if not any(span.within(other) for other in (*found, *self._constant)):
                looked.append(array)
                found.append(span)
        return looked, found

    def where_made(self, steps: Iterable[LaneStep], sound: list[Span]) -> dict[int, set[int]]:
        """What these steps can look through as soon as it is there, before it is written, in place of a later step.

        Which outputs, by number, of which calls, by `id`: those of which each number is looked through by a later one
        of these steps, under the same conditions, and not written between.
        """
        found, made, sound = dict[int, set[int]](), list[tuple[Span, int, int]](), list(sound)
        for step in steps:
            if isinstance(step, Call | Sound):
                looked, sound = self.of(step, sound)
                for array in looked:
                    whole = Span.of(array)
                    parts = [each for each in made if each[0].within(whole)]
                    if sum(span.end - span.start for span, _, _ in parts) == whole.end - whole.start:
                        for _, call, number in parts:
                            found.setdefault(call, set()).add(number)
            sound = left_sound(sound, [step])
            written = [Span.of(x) for each in flat([step]) for x in reads_and_writes(each)[1]]
            made = [each for each in made if not any(each[0].meets(w) for w in written)]
            if isinstance(step, Call) and not isinstance(step.kernel.program, Repeated):
                made += [(span, id(step), number) for number, span in enumerate(written)]
        return found


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same places in as few spans as they make."""
    found = list[Span]()
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        last = found[-1] if found else None
        if last and span.start <= last.end and span.dtype == last.dtype:
            found[-1] = last._replace(end=max(last.end, span.end))
        else:
            found.append(span)
    return found


def left_sound(sound: list[Span], steps: Iterable[LaneStep]) -> list[Span]:
    """What is still known to be finite after steps that may have written some of it."""
    written = [Span.of(x) for step in flat(steps) for x in reads_and_writes(step)[1]]
    return [span for span in sound if not any(span.meets(w) for w in written)]
