"""Numbers of a schedule that nobody reads, so that a card need not write them; and copies that need not be made.

What a step computes is often more than the next ones take: of a row of thirteen numbers nine, of a record none.  On a
card a number that is written costs as much as one that is read, so those are left out (`unread`).  A number is read

    by a check, a mask, a table of the lane's own, or where `wanted` says so;
    by a step that makes something which is read, if that depends on it.

What is carried from turn to turn counts like the rest: numbers that only they themselves depend on are not read.

A state that a table's entries make anew, each from its own column, and that is then copied over the old one, may as
well be made in its place (`renewed`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...algebra import Port, Program, Repeated, Table
from ..kernel import Array
from ..pipeline import Call, Copy, Span
from ..source import Source
from .steps import Around, ColumnPlaces, Label, LaneStep, flat, reads_and_writes

Element = tuple[str, int]  # an output or input of a program, and the number of its element


class Looked(NamedTuple):
    """What a call looks through for NaN: arrays that it is given, and outputs as it makes them, by number."""

    inputs: frozenset[int]
    outputs: frozenset[int]


class CallRows:
    """The rows of `ColumnPlaces` behind each element of a call's program: one, or one an entry of a table."""

    def __init__(self, step: Call, source: Source, places: ColumnPlaces) -> None:
        program = step.kernel.program
        assert isinstance(program, Program | Repeated | Table)
        self.source, self._program = source, program
        own = program.program if isinstance(program, Table) else program
        reads, writes = reads_and_writes(step)
        self.given = [_rows(places, x) for x in reads]
        firsts = [rows[0] for rows in self.given]
        chosen = dict[str, tuple[int, ...]]()  # which rows entries take
        if isinstance(program, Table):
            chosen = dict(zip([p.name for p in own.inputs], program.indices, strict=False))
            if not program.apart:  # all of them from the first array
                firsts[:1] = firsts[:1] * len(chosen)
        self._inputs = {
            p.name: self._of(p, first, chosen.get(p.name)) for p, first in zip(own.inputs, firsts, strict=True)
        }
        every = tuple(program.places or range(program.entries)) if isinstance(program, Table) else None
        self._outputs = {p.name: self._of(p, places.first(x), every) for p, x in zip(own.outputs, writes, strict=True)}
        self.names = [p.name for p in own.outputs]
        self.elements = [(p.name, k) for p in own.outputs for k in range(p.size)]

    def _of(self, port: Port, first: int, taken: tuple[int, ...] | None) -> tuple[list[int], int]:
        """The rows of a port's element 0, and how far it is to the next."""
        if isinstance(self._program, Table) and port.name in self._program.columns:
            return list(range(first, first + self._program.padded)), self._program.padded
        return [first + k * port.size for k in sorted(set(taken or (0,)))], 1

    def read(self, element: Element) -> Iterable[int]:
        """Those of an element of an input."""
        return _stepped(*self._inputs[element[0]], element[1])

    def written(self, element: Element) -> Iterable[int]:
        """Those of an element of an output."""
        return _stepped(*self._outputs[element[0]], element[1])

    def unwritten(self, live: Collection[int]) -> frozenset[Element]:
        """Elements of outputs that nobody reads, in no entry."""
        if isinstance(self.source.program, Repeated):
            return frozenset()
        return frozenset(x for x in self.elements if not any(row in live for row in self.written(x)))


def _stepped(rows: Iterable[int], apart: int, k: int) -> Iterable[int]:
    return (row + k * apart for row in rows)


def read_rows(
    steps: Iterable[LaneStep],
    places: ColumnPlaces,
    sources: Mapping[int, Source],
    looked: Mapping[int, Looked],
    wanted: Sequence[Array],
) -> frozenset[int]:
    """The rows that somebody reads; sources and checks of calls by `id`."""
    every = list(flat(steps))
    calls = {id(x): CallRows(x, sources[id(x)], places) for x in every if isinstance(x, Call)}
    live = {row for x in wanted for row in _rows(places, x)}
    known = -1
    while known != len(live):
        known = len(live)
        for step in reversed(every):
            if isinstance(step, Call):
                live.update(_read(calls[id(step)], looked[id(step)], live))
            elif not isinstance(step, Label | Around):
                reads, writes = reads_and_writes(step)
                if not writes or any(row in live for x in writes for row in _rows(places, x)):
                    live.update(row for x in reads for row in _rows(places, x))
    return frozenset(live)


def _rows(places: ColumnPlaces, array: Array) -> range:
    first = places.first(array)
    return range(first, first + array.size)


def _read(call: CallRows, looked: Looked, live: Collection[int]) -> Iterable[int]:
    """What a call reads for what is read of it."""
    for k in looked.inputs:
        yield from call.given[k]
    checked = {call.names[k] for k in looked.outputs}
    results = [x for x in call.elements if x[0] in checked or any(row in live for row in call.written(x))]
    for element in call.source.needed(results):
        yield from call.read(element)


def renewed(steps: Sequence[LaneStep]) -> list[tuple[Array, Array]]:
    """Arrays that may lie where others are, which they are copied over: (new, old).

    A lane that ends between has the new one already.
    """
    order = list(flat(steps))
    place = {id(step): k for k, step in enumerate(order)}
    found = list[tuple[Array, Array]]()
    for copy in (x for x in steps if isinstance(x, Copy)):
        new, old, end = Span.of(copy.source), Span.of(copy.to), place[id(copy)]
        makers = [x for x in order if any(new.meets(Span.of(w)) for w in reads_and_writes(x)[1])]
        if len(makers) != 1 or not any(makers[0] is x for x in steps):
            continue
        maker, begin = makers[0], place[id(makers[0])]
        if begin > end or not _column_by_column(maker, copy):
            continue
        between = range(begin + 1, end)
        uses = [(k, *reads_and_writes(x)) for k, x in enumerate(order) if x is not copy and x is not maker]
        late = any(k not in between and _meets(new, reads) for k, reads, _ in uses)
        early = any(k in between and _meets(old, [*reads, *writes]) for k, reads, writes in uses)
        if not late and not early:
            found.append((copy.source, copy.to))
    return found


def _meets(span: Span, arrays: Iterable[Array]) -> bool:
    return any(span.meets(Span.of(x)) for x in arrays)


def _column_by_column(maker: LaneStep, copy: Copy) -> bool:
    """Whether each entry of a table makes its own column of the one from its own column of the other, and no other."""
    if not isinstance(maker, Call) or not isinstance(maker.kernel.program, Table):
        return False
    table, (reads, writes) = maker.kernel.program, reads_and_writes(maker)
    new, old = Span.of(copy.source), Span.of(copy.to)
    inputs = [p.name for p, x in zip(table.inputs, reads, strict=True) if old.meets(Span.of(x))]
    outputs = [p.name for p, x in zip(table.outputs, writes, strict=True) if new.meets(Span.of(x))]
    whole = any(Span.of(x) == old for x in reads) and any(Span.of(x) == new for x in writes)
    spare = not _meets(new, reads) and not _meets(old, writes)
    return whole and spare and len(inputs) == len(outputs) == 1 and {*inputs, *outputs} <= set(table.columns)
