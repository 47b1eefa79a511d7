"""Tables: one program over many pairs of rows, against its slow evaluation and against a loop over the program."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import Table, maximum, sin, sqrt, trace
from elbowroom.compile import compiled, cpu
from elbowroom.errors import ShapeError


def _pair(_: object, x: np.ndarray, y: np.ndarray) -> dict[str, object]:
    d = x - y
    return {"gap": sqrt(d @ d) - x[2], "vector": np.array([*(d * sin(y[0])), maximum(x[0], y[1])])}


def _table(rows: int, pairs: list[tuple[int, int]]) -> Table:
    program = trace(_pair, None, {"x": (3,), "y": (3,)}, name="pair")
    first, second = zip(*pairs, strict=True)
    return Table(program, rows, (first, second))


@pytest.fixture(params=[1, 2, 3, 4, 5, 7, 8, 21])
def case(request: pytest.FixtureRequest) -> tuple[Table, cpu.Kernel]:
    """A table with fewer, as many and more entries than any CPU has lanes, whole blocks or not."""
    pairs = list(itertools.islice(itertools.cycle(itertools.permutations(range(7), 2)), request.param))
    table = _table(7, pairs)
    return table, compiled(table, method="table")


def test_one_is_the_program_entry_by_entry(case: tuple[Table, cpu.Kernel]) -> None:
    """The lanes do what the program does on each pair of rows alone, to the last bit."""
    table, kernel = case
    rows = np.random.default_rng(0).normal(size=(7, 3))
    got = kernel(rows)
    program = compiled(table.program, method="pair")
    for k, (i, j) in enumerate(zip(*table.indices, strict=True)):
        alone = program(rows[i], rows[j])
        assert got.gap[k] == alone.gap
        np.testing.assert_array_equal(got.vector[k], alone.vector)
    slow = table.evaluate(rows)
    np.testing.assert_allclose(got.gap, slow["gap"], rtol=0, atol=1e-14)  # fused products round differently
    np.testing.assert_allclose(got.vector, slow["vector"], rtol=0, atol=1e-14)


def test_given_arrays_are_filled_by_every_way_in(case: tuple[Table, cpu.Kernel]) -> None:
    """`out=` takes what `empty` makes, a plain tuple, and gives the same as a fresh result."""
    _, kernel = case
    rows = np.random.default_rng(1).normal(size=(7, 3))
    fresh, given = kernel(rows), kernel.empty()
    assert kernel(rows, out=given) is given
    plain = tuple(kernel.empty())
    kernel(rows, out=plain)
    for a, b, c in zip(fresh, given, plain, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_a_batch_is_one_after_the_other(case: tuple[Table, cpu.Kernel]) -> None:
    """(B, rows, w) gives what B calls give, bit by bit, on threads too."""
    _, kernel = case
    rows = np.random.default_rng(2).normal(size=(9, 7, 3))
    for threads in (1, 2):
        got = kernel(rows, threads=threads)
        for b in range(9):
            alone = kernel(rows[b])
            np.testing.assert_array_equal(got.gap[b], alone.gap)
            np.testing.assert_array_equal(got.vector[b], alone.vector)


def test_bad_rows_are_refused(case: tuple[Table, cpu.Kernel]) -> None:
    """NaN in any row, alone or in a batch; a wrong shape."""
    _, kernel = case
    rows = np.ones((4, 7, 3))
    rows[2, 6, 2] = np.nan
    with pytest.raises(ValueError, match="rows must be finite; got nan at"):
        kernel(rows[2])
    with pytest.raises(ValueError, match="rows must be finite; got nan at"):
        kernel(rows)
    with pytest.raises(er.ShapeError, match="rows"):
        kernel(np.ones((6, 3)))


def test_outputs_that_overlap_are_refused(case: tuple[Table, cpu.Kernel]) -> None:
    """Neither on each other nor, wrongly filled, on the input."""
    table, kernel = case
    block = np.empty(table.entries * 5)
    gap, vector = block[: table.entries], block[: 4 * table.entries].reshape(table.entries, 4)
    with pytest.raises(ValueError, match="lies on another"):
        kernel(np.ones((7, 3)), out=type(kernel.empty())(gap, vector))


def test_the_way_with_given_arrays_allocates_nothing() -> None:
    """Thousands of calls with out= leave no memory behind and take none."""
    table = _table(7, [(0, 1), (2, 3), (4, 5)])
    kernel = compiled(table, method="table")
    rows, out = np.ones((7, 3)), kernel.empty()
    kernel(rows, out=out)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        kernel(rows, out=out)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 1000  # bytes: the loop's own integer, not 1000 arrays
    assert peak - before < 10_000


def test_a_table_refuses_what_does_not_fit() -> None:
    """Indices out of range, columns of unlike length, inputs of unlike shape."""
    program = trace(_pair, None, {"x": (3,), "y": (3,)}, name="pair")
    for indices, message in (
        (((0, 7), (1, 2)), "from 0 to 6; got 7"),
        (((0,), (1, 2)), "equally long"),
        (((), ()), "not empty"),
        ((), "1 to 2 columns"),
    ):
        with pytest.raises(er.ShapeError, match=message):
            Table(program, 7, indices)
    unlike = trace(lambda _, x, y: x[0] * y[0], None, {"x": (3,), "y": (2,)}, name="unlike")
    with pytest.raises(er.ShapeError, match="one shape"):
        Table(unlike, 7, ((0,), (1,)))


def test_shared_inputs_go_to_every_entry() -> None:
    """Inputs beyond the rows are one for all, alone and with one a table in a batch."""

    def scaled(_: object, x: np.ndarray, y: np.ndarray, gains: np.ndarray, more: np.ndarray) -> object:
        return gains[0] * (x - y) + gains[1] * more[0]

    program = trace(scaled, None, {"x": (3,), "y": (3,), "gains": (2,), "more": (1,)}, name="scaled")
    table = Table(program, 4, ((0, 1, 2, 3, 0), (1, 2, 3, 0, 2)))
    kernel = compiled(table, method="table")
    rng = np.random.default_rng(3)
    rows, gains, more = rng.normal(size=(6, 4, 3)), rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    got = kernel(rows, gains, more)
    for b in range(6):
        np.testing.assert_array_equal(got[b], kernel(rows[b], gains[b], more[b]))
        np.testing.assert_allclose(got[b], table.evaluate(rows[b], gains[b], more[b]), rtol=0, atol=1e-14)
    more[4] = np.inf
    with pytest.raises(ValueError, match="more must be finite"):
        kernel(rows, gains, more)


@pytest.mark.parametrize("entries", [1, 13, 16, 91])
def test_every_input_may_have_rows_of_its_own_and_entries_may_be_columns(entries: int) -> None:
    """Arrays of different widths, a column an entry, and what is shared: as the program alone does it."""

    def mixed(_: None, wide: Any, narrow: Any, column: Any, scale: Any) -> dict[str, Any]:
        return {"less": wide[:2] * narrow[0] + column[1], "more": np.array([wide[2] - scale[1], column[0], wide[4]])}

    inputs = {"wide": (5,), "narrow": (1,), "column": (2,), "scale": (3,)}
    program = trace(mixed, None, inputs, name="mixed")
    rng = np.random.default_rng(entries)
    first, second = rng.integers(0, 7, entries), rng.integers(0, 4, entries)
    table = Table(program, (7, 4), (tuple(first.tolist()), tuple(second.tolist())), ("column", "less", "more"))
    assert [p.shape for p in table.inputs] == [(7, 5), (4, 1), (2, table.padded), (3,)]
    given = [rng.normal(size=p.shape) for p in table.inputs]
    kernel, alone = compiled(table), compiled(program, method="mixed")
    got = kernel(*given)
    wide, narrow, column, scale = given
    for k in range(table.padded):
        last = min(k, entries - 1)
        expected = alone(wide[first[last]], narrow[second[last]], column[:, k], scale)
        np.testing.assert_array_equal(got.more[:, k], expected.more)
        np.testing.assert_array_equal(got.less[:, k], expected.less)
    slow = table.evaluate(*given)
    for name in ("less", "more"):
        fast = getattr(got, name)[:, :entries]
        # numbers of order 1: the program's own evaluation does not fuse a product and a sum
        np.testing.assert_allclose(slow[name][:, :entries], fast, rtol=0, atol=1e-14)
    with pytest.raises(ShapeError, match="index of the table"):
        Table(program, (7, 2), ((0,), (2,)))


def _scaled(_: None, column: Any, scale: Any) -> dict[str, Any]:
    return {"y": column * scale[0]}


def test_a_table_may_take_columns_alone() -> None:
    program = trace(_scaled, None, {"column": (2,), "scale": (1,)}, name="scaled")
    table = Table(program, (), (), ("column", "y"), 13)
    x, scale = np.random.default_rng(0).normal(size=(2, 16)), np.array([3.0])
    np.testing.assert_array_equal(compiled(table)(x, scale), x * 3.0)
    np.testing.assert_array_equal(table.evaluate(x, scale)[:, :13], x[:, :13] * 3.0)
    with pytest.raises(ShapeError, match="columns of indices"):
        Table(program, (), (), ("column", "y"))


@pytest.mark.parametrize("others", [1, 3])
def test_entries_fill_the_rows_that_they_are_given_and_share_what_is_the_same(others: int) -> None:
    """Eight rows with one of others, then with the next: the second input is the same in all lanes of a block."""
    pairs = [(i, 8 + k) for k in range(others) for i in range(8)]
    places = tuple(i * others + k for k in range(others) for i in range(8))
    plain = _table(8 + others, pairs)
    table = Table(plain.program, plain.rows, plain.indices, places=places)
    assert [table.uniform(lanes) for lanes in (2, 4, 8)] == [{"y"}] * 3
    assert _table(9, [*pairs[:7], (0, 1)]).uniform(8) == set()
    rows = np.random.default_rng(others).normal(size=(3, 8 + others, 3))
    got, expected = compiled(table)(rows), compiled(plain)(rows)
    slow = table.evaluate(rows[0])
    for name in ("gap", "vector"):
        np.testing.assert_array_equal(getattr(got, name)[:, list(places)], getattr(expected, name))
        # numbers of order 1, some of them fused
        np.testing.assert_allclose(slow[name], getattr(got, name)[0], rtol=0, atol=1e-14)
    with pytest.raises(ShapeError, match="places must be"):
        Table(plain.program, plain.rows, plain.indices, places=places[:-1])
