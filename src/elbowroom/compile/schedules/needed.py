"""What a card need not write, nor compute: numbers of a schedule that nobody reads, copies, and entries done twice.

On a card a number that is written costs as much as an operation on hundreds, and what a step computes is often more
than the next ones take: of a row of thirteen numbers nine, of a record none.  `Needed` finds what is left out, on the
rows of `ColumnPlaces`.

read        by a check, a mask, a table of the lane's own, or where `wanted` says so; or by a step that makes something
            which is read, if that depends on it.  What is carried from turn to turn counts like the rest: numbers that
            only they themselves depend on are not read.
origins     A number that a step passes on as it got it can be read where that came from.  Of two entries of a table
            that are given the same the second has what the first has.
entries     An entry of a table that makes nothing which is read is not done: those that only fill a vector of the CPU.

A state that a table's entries make anew, each from its own column, and that is then copied over the old one, may as
well be made in its place (`renewed`).

Columns beyond a table's last entry are padding: they repeat it, and whoever sets the state in them sets that alike.
What is not made of them is not looked through for NaN, either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import NamedTuple

from ...algebra import Port, Program, Repeated, Table
from ...errors import ElbowroomError
from ..kernel import Array
from ..pipeline import Call, Copy, Span
from ..source import Source
from .steps import Around, ColumnPlaces, Label, LaneStep, flat, reads_and_writes

Element = tuple[str, int]  # an output or input of a program, and the number of its element
NOWHERE = -1  # the row of what an entry does not write
ROUNDS = 10  # in which twins and origins mostly agree: two or three do


class Looked(NamedTuple):
    """What a call looks through for NaN: arrays that it is given, and outputs as it makes them, by number."""

    inputs: frozenset[int]
    outputs: frozenset[int]


class Part(NamedTuple):
    """What of a call is done.

    unwritten    elements of outputs that are left out
    elsewhere    elements of inputs that are read at another row: which for entry 0, and how far on for each entry
    entries      of a table
    trusted      elements of inputs that need not be looked through for NaN, as another of the same array is the same
    """

    unwritten: frozenset[Element]
    elsewhere: dict[Element, tuple[int, int]]
    entries: tuple[int, ...]
    trusted: frozenset[Element]

    @classmethod
    def all(cls, program: Program | Repeated | Table) -> Part:
        """Everything of a program."""
        count = 1
        if isinstance(program, Table):
            count = program.padded if program.columns else program.entries
        return cls(frozenset(), {}, tuple(range(count)), frozenset())


class CallRows:
    """The rows of `ColumnPlaces` behind each element of a call's program, for each entry of a table."""

    def __init__(self, step: Call, source: Source, places: ColumnPlaces) -> None:
        program = step.kernel.program
        assert isinstance(program, Program | Repeated | Table)
        self.source, self._table = source, program if isinstance(program, Table) else None
        self.loops = isinstance(program, Repeated)
        self.whole = self.loops or (isinstance(program, Table) and not program.apart)
        own = program.program if isinstance(program, Table) else program
        reads, writes = reads_and_writes(step)
        self.given = [_rows(places, x) for x in reads]
        firsts = [rows[0] for rows in self.given]
        chosen = dict[str, tuple[int, ...]]()  # which rows entries take
        self.real = self.entries = 1
        if isinstance(program, Table):
            chosen = dict(zip([p.name for p in own.inputs], program.indices, strict=False))
            if not program.apart:  # all of them from the first array
                firsts[:1] = firsts[:1] * len(chosen)
            self.real, self.entries = program.entries, program.padded if program.columns else program.entries
        filled = (program.places or range(program.entries)) if isinstance(program, Table) else (0,)
        beyond = self.entries - self.real  # columns that repeat the last entry: what is no column it has written
        self._inputs = dict[str, tuple[list[int], int]]()
        self._outputs = dict[str, tuple[list[int], int]]()
        for p, first in zip(own.inputs, firsts, strict=True):
            rows = chosen.get(p.name, (0,) * self.real)
            self._inputs[p.name] = self._of(p, first, [*rows, *(rows[-1] for _ in range(beyond))])
        for p, x in zip(own.outputs, writes, strict=True):
            self._outputs[p.name] = self._of(p, places.first(x), [*filled, *(NOWHERE for _ in range(beyond))])
        self.takes, self.names = [p.name for p in program.inputs], [p.name for p in own.outputs]
        self.elements = [(p.name, k) for p in own.outputs for k in range(p.size)]
        self.loads = sorted(set(source.lowered.loads.values()))

    def _of(self, port: Port, first: int, taken: Sequence[int]) -> tuple[list[int], int]:
        """The rows of a port's element 0, entry by entry, and how far it is to the next element."""
        if self._table and port.name in self._table.columns:
            return list(range(first, first + self.entries)), self._table.padded
        return [NOWHERE if k == NOWHERE else first + k * port.size for k in taken], 1

    def read(self, element: Element) -> list[int]:
        """Those of an element of an input, entry by entry."""
        rows, apart = self._inputs[element[0]]
        return [row + element[1] * apart for row in rows]

    def written(self, element: Element) -> list[int]:
        """Those of an element of an output, or NOWHERE."""
        rows, apart = self._outputs[element[0]]
        return [NOWHERE if row == NOWHERE else row + element[1] * apart for row in rows]

    def is_column(self, k: int) -> bool:
        """Whether each entry has a column of the input of this number."""
        return self._table is not None and self.takes[k] in self._table.columns

    def elements_of(self, k: int) -> Iterator[tuple[Element, int]]:
        """The elements of the input of this number, with their rows; none of a table's."""
        if not self._table:
            yield from (((self.takes[k], e), row) for e, row in enumerate(self.given[k]))

    def looked_through(self, k: int, entries: Sequence[int], trusted: AbstractSet[Element]) -> Iterator[int]:
        """The rows of the input of this number that a check reads."""
        if self.is_column(k) and self._table:
            size = len(self.given[k]) // self._table.padded
            for e in range(size):
                rows = self.read((self.takes[k], e))
                yield from (rows[entry] for entry in entries)
        else:
            yield from (row for e, row in enumerate(self.given[k]) if (self.takes[k], e) not in trusted)

    def passed_on(self) -> Iterator[tuple[int, int]]:
        """(to, from): rows that get what another has, as it is."""
        if not isinstance(self.source.program, Repeated):
            for to, came in self.source.passed_on():
                yield from zip(self.written(to), self.read(came), strict=True)

    def twins(self, origin: Mapping[int, int]) -> dict[int, int]:
        """Entries that are given the same as one before: entry -> that one."""
        if self.whole or not self._table:
            return {}
        given = zip(*([origin.get(row, row) for row in self.read(element)] for element in self.loads), strict=True)
        first = dict[tuple[int, ...], int]()
        found = {entry: first.setdefault(rows, entry) for entry, rows in enumerate(given)}
        return {entry: other for entry, other in found.items() if other != entry}


def _rows(places: ColumnPlaces, array: Array) -> range:
    first = places.first(array)
    return range(first, first + array.size)


class Needed:
    """What is done of the calls of some steps: `part(step)`.  See the module's docstring."""

    def __init__(
        self,
        steps: Sequence[LaneStep],
        places: ColumnPlaces,
        sources: Mapping[int, Source],
        looked: Mapping[int, Looked],
        wanted: Sequence[Array],
    ) -> None:
        """`sources` and `looked` are of calls, by `id`; `wanted` are read by others."""
        self._places, self._looked, self._every = places, looked, list(flat(steps))
        if len({id(step) for step in self._every}) < len(self._every):
            raise ElbowroomError("a step may be in a schedule once; got one that is there again: make another of it")
        self._calls = {id(x): CallRows(x, sources[id(x)], places) for x in self._every if isinstance(x, Call)}
        self._top = {id(step) for step in steps}
        self._twins, self._origin = self._same()
        self.rows = self._read_rows(wanted)

    def part(self, step: Call) -> Part:
        """What is done of a call."""
        return self._part(self._calls[id(step)], self._looked[id(step)], self._twins[id(step)], self.rows)

    # ---- where the same can be read
    def _same(self) -> tuple[dict[int, dict[int, int]], dict[int, int]]:
        """Twins of calls, by `id`, and origins: where entries are the same, those that take them may be, too.

        After `ROUNDS` a row whose origin is another than before has none any more, so that there is an end.
        """
        twins, origin, without = dict[int, dict[int, int]](), dict[int, int](), set[int]()
        for turn in count():
            now = {k: call.twins(origin) for k, call in self._calls.items()}
            if now == twins:
                return twins, origin
            found = {row: there for row, there in self._origins(now).items() if row not in without}
            if turn >= ROUNDS:
                without.update(row for row in origin.keys() | found.keys() if origin.get(row) != found.get(row))
                found = {row: there for row, there in found.items() if row not in without}
            twins, origin = now, found
        raise AssertionError("unreachable: every round takes some rows out")

    def _origins(self, twins: Mapping[int, Mapping[int, int]]) -> dict[int, int]:
        """Rows that have what another has, whenever a step reads them: row -> where to read it.

        All that write such a row pass the same one on, the first of them in every turn and before a step reads it.
        What is passed on was written before that and is not again in the turn, or is written by just the same calls.
        """
        writers, read = dict[int, list[int]](), dict[int, int]()
        found = dict[int, tuple[int, bool] | None]()
        for k, step in enumerate(self._every):
            if isinstance(step, Label | Around):
                continue
            reads, writes = reads_and_writes(step)
            for row in (row for x in reads for row in _rows(self._places, x)):
                read.setdefault(row, k)
            passed = self._passed(step, twins) if isinstance(step, Call) else {}
            for row in {row for x in writes for row in _rows(self._places, x)}:
                new = row not in writers
                writers.setdefault(row, []).append(k)
                same = new or found[row] == passed.get(row)
                found[row] = passed.get(row) if same and not (new and id(step) not in self._top) else None
        known = dict[int, int]()
        for row in sorted((x for x, origin in found.items() if origin), key=lambda x: (writers[x][0], x)):
            origin, twin = found[row] or (NOWHERE, False)
            there = writers.get(origin, [NOWHERE])
            lasts = there == writers[row] if twin else there[-1] < writers[row][0]
            if lasts and read.get(row, len(self._every)) > writers[row][0]:
                known[row] = known.get(origin, origin)
        return known

    def _passed(self, step: Call, twins: Mapping[int, Mapping[int, int]]) -> dict[int, tuple[int, bool]]:
        """Rows that a call gives what another has, and whether that is a twin's."""
        call = self._calls[id(step)]
        found = {to: (came, False) for to, came in call.passed_on() if to != NOWHERE}
        for entry, other in twins[id(step)].items():
            for element in call.elements:
                rows = call.written(element)
                if NOWHERE not in (rows[entry], rows[other]) and rows[entry] not in found:
                    found[rows[entry]] = rows[other], True
        return found

    # ---- what is read
    def _read_rows(self, wanted: Sequence[Array]) -> frozenset[int]:
        live = {row for x in wanted for row in _rows(self._places, x)}
        known = -1
        while known != len(live):
            known = len(live)
            for step in reversed(self._every):
                if isinstance(step, Call):
                    live.update(self._reads(step, live))
                elif isinstance(step, Copy):
                    both = zip(_rows(self._places, step.source), _rows(self._places, step.to), strict=True)
                    live.update([came for came, to in both if to in live])
                elif not isinstance(step, Label | Around):
                    reads, writes = reads_and_writes(step)
                    if not writes or any(row in live for x in writes for row in _rows(self._places, x)):
                        live.update(row for x in reads for row in _rows(self._places, x))
        return frozenset(live)

    def _reads(self, step: Call, live: AbstractSet[int]) -> Iterable[int]:
        """The rows that a call reads for what is read of it."""
        call, looked = self._calls[id(step)], self._looked[id(step)]
        unwritten, elsewhere, entries, trusted = self._part(call, looked, self._twins[id(step)], live)
        for k in looked.inputs:
            yield from call.looked_through(k, entries, trusted)
        checked = {call.names[k] for k in looked.outputs}
        results = [x for x in call.elements if x not in unwritten or x[0] in checked]
        if call.loops:
            for given in call.given:
                yield from given
            return
        for element in call.source.needed(results):
            if element in elsewhere:
                first, apart = elsewhere[element]
                yield from (first + entry * apart for entry in entries)
            else:
                rows = call.read(element)
                yield from (rows[entry] for entry in entries)

    def _part(self, call: CallRows, looked: Looked, twins: Mapping[int, int], live: AbstractSet[int]) -> Part:
        every = tuple(range(call.entries))
        if call.whole:
            return Part(frozenset(), {}, every, frozenset())
        written = {element: call.written(element) for element in call.elements}
        entries = every
        if call.entries > 1:
            looks = looked.outputs or any(call.is_column(k) for k in looked.inputs)
            own = [k for k in range(call.real) if k not in twins] if looks else []
            used = {k for rows in written.values() for k, row in enumerate(rows) if row in live}
            entries = tuple(sorted(used.union(own))) or every[:1]
        unwritten = frozenset(x for x, rows in written.items() if not any(rows[k] in live for k in entries))
        trusted = frozenset(
            element
            for k in looked.inputs
            for element, row in call.elements_of(k)
            if self._origin.get(row, NOWHERE) in call.given[k]
        )
        return Part(unwritten, self._elsewhere(call, entries), entries, trusted)

    def _elsewhere(self, call: CallRows, entries: Sequence[int]) -> dict[Element, tuple[int, int]]:
        found = dict[Element, tuple[int, int]]()
        for element in call.loads:
            rows = call.read(element)
            there = [(k, self._origin.get(rows[k], NOWHERE)) for k in entries]
            (entry, first), apart = there[0], 0
            if len(there) > 1:
                apart = (there[1][1] - first) // (there[1][0] - entry)
            if all(row != NOWHERE and row == first + (k - entry) * apart for k, row in there):
                found[element] = first - entry * apart, apart
        return found


# ---- copies over what was there before
def renewed(steps: Sequence[LaneStep], wanted: Iterable[Array] = ()) -> list[tuple[Array, Array]]:
    """Arrays that may lie where others are, which they are copied over: (new, old); none that somebody looks at.

    A lane that ends between has the new one already.
    """
    looked_at = list(wanted)
    order = list(flat(steps))
    place = {id(step): k for k, step in enumerate(order)}
    found = list[tuple[Array, Array]]()
    for copy in (x for x in steps if isinstance(x, Copy)):
        new, old, end = Span.of(copy.source), Span.of(copy.to), place[id(copy)]
        makers = [x for x in order if any(new.meets(Span.of(w)) for w in reads_and_writes(x)[1])]
        if len(makers) != 1 or not any(makers[0] is x for x in steps):
            continue
        maker, begin = makers[0], place[id(makers[0])]
        if begin > end or not _column_by_column(maker, copy) or _meets(new, looked_at) or _meets(old, looked_at):
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
