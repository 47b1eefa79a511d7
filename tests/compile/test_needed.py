"""What a card leaves out of a schedule: `Needed`, by the rows of its ColumnPlaces."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import Program, Repeated, Table, trace
from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled
from elbowroom.compile.cuda import dialect
from elbowroom.compile.pipeline import Call, Copy, Sound
from elbowroom.compile.schedules.card_function import body_of
from elbowroom.compile.schedules.needed import Looked, Needed, renewed
from elbowroom.compile.schedules.steps import (
    Blend,
    Checks,
    ColumnPlaces,
    Halt,
    Where,
    flat,
    joined,
    left_sound,
    reads_and_writes,
)
from elbowroom.compile.source import Source
from elbowroom.errors import ElbowroomError


def sized(*shape):
    return np.zeros(shape)


def mixed(_, x, y):
    """Two sums, a number that is passed on, and a constant."""
    return {"sums": vector(x[0] + y[0], x[1] * y[1]), "rest": vector(x[1], 2.0)}


def call(function, inputs, out, checked=()):
    kernel = compiled(function, None, {name: x.shape for name, x in inputs.items()}, name=function.__name__)
    return Call(kernel, tuple(inputs.values()), out, checked=checked)


def table_call(function, shapes, rows, indices, columns, inputs, out):
    table = Table(trace(function, None, shapes), rows, indices, columns)
    return Call(compiled(table), tuple(inputs), out, checked=())


def needed(steps, wanted=()):
    """With what each call looks through, as a schedule has it that is made stage by stage."""
    every = [x for step in flat(steps) for part in reads_and_writes(step) for x in part]
    places, checks, sound, looked = ColumnPlaces(every, renewed(steps)), Checks(steps), [], {}
    for step in flat(steps):
        if isinstance(step, Call):
            found, sound = checks.of(step, sound)
            mine = frozenset(k for k, x in enumerate(step.inputs) if any(x is each for each in found))
            looked[id(step)] = Looked(mine, frozenset())
        sound = joined(left_sound(sound, [step]))
    calls = [x for x in flat(steps) if isinstance(x, Call)]
    sources = {id(x): Source(body_of(x.kernel.program), dialect("float")) for x in calls}
    return places, Needed(steps, places, sources, looked, list(wanted))


class TestElements:
    def setup_method(self):
        self.x, self.y, self.sums, self.rest = sized(2), sized(2), sized(2), sized(2)
        self.first = call(mixed, {"x": self.x, "y": self.y}, (self.sums, self.rest))

    def test_what_nobody_reads_is_not_written(self):
        _, found = needed([self.first], [self.sums[:1]])
        assert found.part(self.first).unwritten == {("sums", 1), ("rest", 0), ("rest", 1)}

    def test_all_that_is_wanted_is(self):
        assert needed([self.first], [self.sums, self.rest])[1].part(self.first).unwritten == set()

    @pytest.mark.parametrize("reader", [Halt, Sound, lambda x: Where(x, [])])
    def test_masks_and_checks_read(self, reader):
        assert ("sums", 1) not in needed([self.first, reader(self.sums[1:])])[1].part(self.first).unwritten

    def test_what_is_read_for_nothing_is_not_written(self):
        third, spare = sized(2), sized(2)
        second = call(mixed, {"x": self.sums, "y": self.y}, (third, spare))
        _, found = needed([self.first, second], [third[:1]])  # x[0] + y[0] alone
        assert found.part(self.first).unwritten == {("sums", 1), ("rest", 0), ("rest", 1)}
        assert found.part(second).unwritten == {("sums", 1), ("rest", 0), ("rest", 1)}

    def test_numbers_that_only_they_themselves_depend_on(self):
        _, found = needed([self.first, Copy(self.sums, self.x)], [self.rest[1:]])
        assert found.part(self.first).unwritten == {("sums", 0), ("sums", 1), ("rest", 0)}

    def test_a_copy_reads_what_is_read_of_it(self):
        to = sized(2)
        _, found = needed([self.first, Copy(self.sums, to)], [to[1:]])
        assert found.part(self.first).unwritten == {("sums", 0), ("rest", 0), ("rest", 1)}

    def test_a_blend_reads_all(self):
        to, mask = sized(2), sized(1)
        _, found = needed([self.first, Blend(mask, self.sums, to)], [to[1:]])
        assert found.part(self.first).unwritten == {("rest", 0), ("rest", 1)}


class TestOrigins:
    """`rest[0]` is x[1]: who reads it can read that."""

    def made(self, between=(), before=(), after=()):
        self.x, self.y, sums, self.rest, third = (sized(2) for _ in range(5))
        self.first = call(mixed, {"x": self.x, "y": self.y}, (sums, self.rest))
        self.second = call(mixed, {"x": self.rest, "y": self.y}, (third, sized(2)))
        steps = [*(each(self) for each in before), self.first, *(each(self) for each in between), self.second]
        return needed([*steps, *(each(self) for each in after)], [third])

    def where(self, **more):
        places, found = self.made(**more)
        there = found.part(self.second).elsewhere.get(("x", 0))
        return None if there is None else there[0] - places.first(self.x)

    def test_it_is_read_where_it_came_from(self):
        assert self.where() == 1
        assert ("rest", 0) in self.made()[1].part(self.first).unwritten

    def test_also_where_that_is_written_before(self):
        assert self.where(before=[lambda own: Copy(sized(2), own.x)]) == 1

    @pytest.mark.parametrize("at", ["between", "after"])
    def test_not_where_that_is_written_again(self, at):
        assert self.where(**{at: [lambda own: Copy(sized(2), own.x)]}) is None

    @pytest.mark.parametrize("at", ["before", "between", "after"])
    def test_not_where_others_write_it_too(self, at):
        assert self.where(**{at: [lambda own: Copy(sized(2), own.rest)]}) is None

    def test_not_where_it_is_read_before_it_is_written(self):
        """There it is that of the turn before."""
        places, found = self.made(before=[lambda own: Halt(own.rest[:1])])
        assert ("x", 0) not in found.part(self.second).elsewhere
        assert places.first(self.rest) in found.rows

    def test_not_where_it_is_passed_on_under_a_condition(self):
        x, y, sums, rest, third = (sized(2) for _ in range(5))
        first = call(mixed, {"x": x, "y": y}, (sums, rest))
        second = call(mixed, {"x": rest, "y": y}, (third, sized(2)))
        _, found = needed([Where(sized(1), [first]), second], [third])
        assert found.part(second).elsewhere == {}


def product(_, x, y, memory):
    return {"found": vector(x @ y), "new": memory * 0.5 + x[1]}


def halved(_, memory):
    return {"least": vector(memory[0] * 0.5)}


class TestEntries:
    """A table of five entries in columns of eight; entry 3 is given what entry 1 is."""

    INDICES = ((0, 1, 2, 1, 1), (0, 1, 0, 1, 0))

    def setup_method(self):
        self.rows, self.memory = sized(4, 2), sized(2, 8)
        self.found, self.new = sized(5, 1), sized(2, 8)
        shapes = {"x": (2,), "y": (2,), "memory": (2,)}
        given = (self.rows, self.rows, self.memory)
        self.first = table_call(product, shapes, (4, 4), self.INDICES, ("memory", "new"), given, (self.found, self.new))

    def test_columns_beyond_the_last_are_not_made(self):
        """Nobody but their own next turn would read them."""
        _, found = needed([self.first, Copy(self.new, self.memory)], [self.found])
        assert found.part(self.first).entries == (0, 1, 2, 3, 4)

    def test_unless_somebody_reads_them(self):
        _, found = needed([self.first, Copy(self.new, self.memory)], [self.found, self.memory])
        assert found.part(self.first).entries == tuple(range(8))

    def test_entries_whose_state_is_their_own_are_no_twins(self):
        _, found = needed([self.first, Copy(self.new, self.memory)], [self.found[1:2]])
        assert found.part(self.first).entries == (1,)  # but nobody reads that of entry 3

    def twins(self, wanted):
        out, last, halves = sized(1, 8), sized(1, 8), sized(2, 8)
        program = trace(lambda _, x: {"memory": vector(x[0] * 3.0, x[1])}, None, {"x": (2,)}, name="tripled")
        table = Table(program, (4,), ((0, 1, 2, 1, 1),), ("memory",))
        first = Call(compiled(table), (self.rows,), halves, checked=())
        by_column = Table(trace(halved, None, {"memory": (2,)}), (), (), ("memory", "least"), 5)
        second = Call(compiled(by_column), (halves,), out, checked=())
        third = call(lambda _, x: {"sum": vector(*(x[0] + 1.0))}, {"x": out}, last[0])
        steps = [first, second, third]
        _, found = needed(steps, [last[0, wanted]])
        return [found.part(step) for step in steps]

    def test_what_a_twin_has_is_read_there(self):
        """Entries 3 and 4 take row 1 as entry 1 does, and so do the columns made of them."""
        first, second, third = self.twins(slice(0, 5))
        assert first.entries == second.entries == (0, 1, 2)
        assert third.elsewhere.keys() == {("x", 3), ("x", 4), ("x", 5), ("x", 6), ("x", 7)}

    def test_an_entry_alone(self):
        first, second, _ = self.twins(slice(2, 3))
        assert first.entries == second.entries == (2,)


class TestRenewed:
    """A table's state that may lie where the one before it does."""

    def made(self, between=(), after=(), first=()):
        rows, self.memory, found, self.new = sized(4, 2), sized(2, 8), sized(5, 1), sized(2, 8)
        shapes = {"x": (2,), "y": (2,), "memory": (2,)}
        indices, given = TestEntries.INDICES, (rows, rows, self.memory)
        made = table_call(product, shapes, (4, 4), indices, ("memory", "new"), given, (found, self.new))
        steps = [*(each(self) for each in first), made, *(each(self) for each in between)]
        return renewed([*steps, Copy(self.new, self.memory), *(each(self) for each in after)])

    def test_it_is(self):
        (new, old), = self.made()  # fmt: skip
        assert new is self.new
        assert old is self.memory

    def test_what_sets_it_before_does_not_matter(self):
        assert len(self.made(first=[lambda own: Copy(sized(2, 8), own.memory)])) == 1
        assert len(self.made(between=[lambda own: Copy(own.new, sized(2, 8))])) == 1

    @pytest.mark.parametrize(
        ("at", "step"),
        [
            ("between", lambda own: Copy(own.memory, sized(2, 8))),  # wants the old one
            ("between", lambda own: Copy(sized(2, 8), own.memory)),
            ("between", lambda own: Copy(sized(2, 8), own.new)),
            ("after", lambda own: Copy(own.new, sized(2, 8))),  # by then it may have been set
            ("first", lambda own: Copy(own.new, sized(2, 8))),
        ],
    )
    def test_it_is_not_where_somebody_else_meddles(self, at, step):
        assert self.made(**{at: [step]}) == []

    def test_not_under_a_condition(self):
        memory, new = sized(2), sized(2)
        one = call(lambda _, x: {"new": x * 0.5}, {"x": memory}, new)
        assert renewed([one, Copy(new, memory)]) == []  # no table, which might read late what it has written
        assert isinstance(one.kernel.program, Program)


def doubled(_, row, held):
    return {"held": held * 0.5 + row}


def tripled(_, x):
    return {"memory": vector(x[0] * 3.0, x[1])}


def by_column(_, memory):
    return {"row": vector(memory[0] * 0.5, memory[1])}


class TestWhatWasWrongOnce:
    """Schedules that a reviewer thought of."""

    def test_every_row_of_a_loop_is_read(self):
        rows, out, x, y = sized(3, 2), sized(2), sized(2), sized(2)
        loop = Repeated(trace(doubled, None, {"row": (2,), "held": (2,)}), 3, "row")
        first = call(mixed, {"x": x, "y": y}, (rows[2], sized(2)))
        second = Call(compiled(loop), (rows, sized(2)), out, checked=())
        _, found = needed([first, second], [out])
        assert not {("sums", 0), ("sums", 1)} & found.part(first).unwritten

    def test_twins_that_undo_each_other_come_to_an_end(self):
        """Entry 3 of the last table is that of entry 1 if the first's are twins, which it ends."""
        source, memory, rows = sized(4, 2), sized(2, 8), sized(4, 2)
        into = Table(trace(tripled, None, {"x": (2,)}), (4,), ((0, 1, 2, 2),), ("memory",))
        again = Table(trace(tripled, None, {"x": (2,)}), (4,), ((0, 2, 3, 3),), ("memory",))
        out_of = Table(trace(by_column, None, {"memory": (2,)}), (), (), ("memory",), 4)
        steps = [
            Call(compiled(into), (source,), memory, checked=()),
            Call(compiled(out_of), (memory,), rows, checked=()),
            Call(compiled(again), (rows,), memory, checked=()),
        ]
        _, found = needed(steps, [memory])
        assert found.part(steps[2]).entries == tuple(range(8))
        assert found.part(steps[1]).entries == (0, 2, 3)  # those that the last table takes, and no twins

    def test_a_step_is_there_once(self):
        x, y = sized(2), sized(2)
        step = call(mixed, {"x": x, "y": y}, (sized(2), sized(2)))
        with pytest.raises(ElbowroomError, match="once"):
            needed([step, step])

    def test_entries_whose_columns_are_looked_through_are_done(self):
        memory, out = sized(2, 8), sized(1, 8)
        table = Table(trace(halved, None, {"memory": (2,)}), (), (), ("memory", "least"), 5)
        unlooked = Call(compiled(table), (memory,), out, checked=())
        assert needed([unlooked], [out[0, 2:3]])[1].part(unlooked).entries == (2,)
        looked = Call(compiled(table), (memory,), out)
        set_before = Copy(sized(2, 8), memory)  # what nobody writes is known to be finite
        assert needed([set_before, looked], [out[0, 2:3]])[1].part(looked).entries == (0, 1, 2, 3, 4)

    def test_a_state_that_somebody_looks_at_is_not_renewed(self):
        rows, memory, found, new = sized(4, 2), sized(2, 8), sized(5, 1), sized(2, 8)
        shapes, given = {"x": (2,), "y": (2,), "memory": (2,)}, (rows, rows, memory)
        made = table_call(product, shapes, (4, 4), TestEntries.INDICES, ("memory", "new"), given, (found, new))
        steps = [made, Copy(new, memory)]
        assert len(renewed(steps)) == 1
        assert renewed(steps, [memory]) == renewed(steps, [new[:1]]) == []
