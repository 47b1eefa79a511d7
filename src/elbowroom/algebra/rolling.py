"""Tracing a recursion into loops.

A function written with `each`, `scan` and `pairs` (loops.py) runs once over a `Roll` instead of a whole number.  What
it indexes by joint are `Rows`: columns of numbers, one a joint.  A step's index is a `Turn`, a turn of the loop at a
joint of some kind; rows[turn] gives symbols, and so every step becomes a small Program over columns.  Joints that need
different code (they turn or slide, say) are of different kinds, and a step is traced once for each.

What customisation does for straight-line code holds here for whatever is the same at all joints of a kind: a column
with one number is that number, equal columns are one, and what a recursion carries is assumed to be constant and equal
until a trace of its step shows otherwise (carried.py), so that symmetric matrices stay symmetric and zeros zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import TraceError
from .carried import Carried, Turn, body, is_read
from .expr import Expr
from .program import Port, Program
from .rolled import Loop, Rolled
from .trees import Column, leaves, rebuilt, settled_tree


class Rows:
    """Things of some structure, one a joint: arrays and tuples whose scalars are columns or numbers."""

    def __init__(self, roll: Roll, trees: list[Any]) -> None:
        self.roll = roll
        self.trees = trees  # one a kind, with Column or float for scalars

    def __getitem__(self, turn: Turn) -> Any:
        if not isinstance(turn, Turn):
            raise TraceError(f"rows of a rolled loop are indexed by the step's own turn; got {turn!r}")
        tree = self.trees[turn.kind]
        values = [turn.leaf(x.name) if isinstance(x, Column) else x for x in leaves(tree)]
        return rebuilt(tree, iter(values))

    def __add__(self, other: Rows) -> Rows:
        return self.roll.each(lambda i: self[i] + other[i])

    def __sub__(self, other: Rows) -> Rows:
        return self.roll.each(lambda i: self[i] - other[i])

    def part(self, k: int) -> Rows:
        """The k-th of what every row holds."""
        return Rows(self.roll, [tree[k] for tree in self.trees])


class Squared:
    """The matrix that `pairs` over a Roll makes."""

    def __init__(self, roll: Roll) -> None:
        self.roll = roll

    def on_diagonal(self, extra: Rows) -> Squared:
        """The matrix with extra[i] added to element (i, i)."""
        roll = self.roll
        if any(x != 0.0 for tree in extra.trees for x in leaves(tree)):
            results = []
            for turn in roll.turns():
                results.append((turn, {"d": turn.leaf("d") + extra[turn]}))
            roll.record("diagonal", results)
        return self


class Roll:
    """What stands for the number of joints while a function is traced into loops."""

    def __init__(self, kinds: tuple[int, ...]) -> None:
        self.kinds = kinds
        self.constants: dict[tuple[int, tuple[float, ...]], str] = {}
        self.written: list[str] = []
        self._loops: list[tuple[str, list[tuple[Turn, dict[str, Any]]], Any, Any]] = []

    def turns(self) -> list[Turn]:
        """A new turn for every kind."""
        return [Turn(kind) for kind in range(max(self.kinds) + 1)]

    def record(self, form: str, results: list[tuple[Turn, dict[str, Any]]], carried: Any = (), born: Any = ()) -> None:
        """A loop with these results of each kind's turn."""
        self._loops.append((form, results, carried, born))

    # ---- what the caller knows of every joint
    def given(self, things: list[Any]) -> Rows:
        """Rows of numbers, known beforehand: things[i] for joint i, alike in structure for joints of a kind."""
        trees = []
        for kind in range(max(self.kinds) + 1):
            mine = [i for i, k in enumerate(self.kinds) if k == kind]
            columns = zip(*(leaves(things[i]) for i in mine), strict=True)
            trees.append(rebuilt(things[mine[0]], iter([self._column(kind, mine, c) for c in columns])))
        return Rows(self, trees)

    def _column(self, kind: int, mine: list[int], values: tuple[Any, ...]) -> Column | float:
        numbers = tuple(float(x) for x in values)
        if len(set(numbers)) == 1:
            return numbers[0]
        name = self.constants.setdefault((kind, numbers), f"t{len(self.constants)}")
        return Column(name)

    def input(self, name: str) -> Rows:
        """An input with one number a joint."""
        return Rows(self, [Column(name)] * (max(self.kinds) + 1))

    # ---- the loops
    def each(self, f: Callable[[Turn], Any]) -> Rows:
        """`loops.each`."""
        return self._stored("each", [(turn, f(turn), {}) for turn in self.turns()])

    def scan(self, step: Any, carry: Any, inward: bool) -> Rows:
        """`loops.scan`."""
        first = [float(x) for x in leaves(settled_tree(carry))]
        turns: list[Turn] = []
        outs: list[Any] = []

        def trace(carried: Carried) -> list[tuple[Turn, list[Any]]]:
            turns[:], outs[:] = self.turns(), []
            moved = []
            for turn in turns:
                after, out = step(turn, rebuilt(carry, carried.symbols(turn)))
                outs.append(out)
                moved.append((turn, leaves(after)))
            return moved

        carried = Carried([((x,), x) for x in first])
        moved = carried.settle(trace)
        states = [{f"k.{c}": after[e] for e, c in carried.members()} for _, after in moved]
        start = tuple((f"k.{c}", first[e]) for e, c in carried.members())
        form = "inward" if inward else "outward"
        return self._stored(form, list(zip(turns, outs, states, strict=True)), start)

    def pairs(self, start: Any, read: Any, move: Any) -> Squared:
        """`loops.pairs`."""
        born = self.turns()
        trees = [start(turn) for turn in born]
        flat = [leaves(tree) for tree in trees]
        firsts = []
        for entry in zip(*flat, strict=True):
            operands = tuple(turn.graph.operand(x) for turn, x in zip(born, entry, strict=True))
            constants = {x if type(x) is not Expr else None for x in entry}
            firsts.append((operands, constants.pop() if len(constants) == 1 else None))
        turns: list[Turn] = []

        def trace(carried: Carried) -> list[tuple[Turn, list[Any]]]:
            turns[:] = self.turns()
            symbols = [list(carried.symbols(turn)) for turn in turns]
            if move is None:
                return list(zip(turns, symbols, strict=True))
            return [
                (turn, leaves(move(turn, rebuilt(trees[turn.kind], iter(x)))))
                for turn, x in zip(turns, symbols, strict=True)
            ]

        carried = Carried(firsts)
        moved = carried.settle(trace)
        places, copied = self._places(carried, born, flat, moved)
        results = []
        for turn, after in moved:
            symbols = list(carried.symbols(turn))
            forth, back = read(turn, rebuilt(trees[turn.kind], iter(symbols)))
            names = {f"k.{c}": f"v.{places[c]}" for _, c in carried.members()}
            for leaf in turn._leaves.values():  # now that the columns have their places
                leaf.operation = ("input", names.get(leaf.operation[1], leaf.operation[1]))
            states = {f"v.{places[c]}": after[e] for e, c in carried.members() if f"v.{places[c]}" in copied}
            results.append((turn, {"forth": forth, "back": back, **states}))
        self.record("pairs", results, (), tuple((moving[2:], source) for moving, source in copied.items()))
        return Squared(self)

    def _places(
        self, carried: Carried, born: list[Turn], flat: list[list[Any]], moved: list[tuple[Turn, list[Any]]]
    ) -> tuple[dict[int, str], dict[str, str | float]]:
        """The columns that lanes read; those that move, with where each is born: it must not move before its time."""
        sources = []
        for e, c in carried.members():
            sources.append((e, c, all(type(a[e]) is Expr and a[e].operation == ("input", f"k.{c}") for _, a in moved)))
        entries: list[tuple[Turn, Any, dict[str, Any]]] = [
            (turn, tuple(x[e] for e, _, _ in sources), {}) for turn, x in zip(born, flat, strict=True)
        ]
        rows = self._stored("each", entries, together=True)
        places: dict[int, str] = {}
        copied: dict[str, str | float] = {}
        for k, (_, c, stays) in enumerate(sources):
            source = _where(rows.trees[0][k])
            if stays and isinstance(source, str):
                places[c] = source
            else:
                places[c] = self._new()
                copied[f"v.{places[c]}"] = source
        return places, copied

    def _new(self) -> str:
        self.written.append(f"s{len(self.written)}")
        return self.written[-1]

    def _stored(
        self, form: str, results: list[tuple[Turn, Any, dict[str, Any]]], carried: Any = (), *, together: bool = False
    ) -> Rows:
        """The rows of a loop's outs, and the loop: a scalar that is a column or a number already stays where it is.

        `together`: every kind's scalar in one column, since lanes read it of joints of any kind.
        """
        wanted = [leaves(tree) for _, tree, _ in results]
        held = [[_held(x) for x in entries] for entries in wanted]
        if together and len(results) > 1:
            for column in zip(*held, strict=True):
                if len(set(column)) > 1:
                    held = [[None] * len(entries) for entries in held]
                    break
        slots: list[str] = []
        trees, bodies = [], []
        for (turn, tree, states), entries, known in zip(results, wanted, held, strict=True):
            mine: dict[Any, str] = {}
            made: dict[str, Any] = dict(states)
            values: list[Column | float] = []
            for k, (x, at) in enumerate(zip(entries, known, strict=True)):
                if at is not None:
                    values.append(at)
                    continue
                key = (k if together else 0, turn.graph.operand(x))
                if key not in mine:
                    if len(mine) == len(slots):
                        slots.append(self._new())
                    mine[key] = slots[len(mine)]
                    made[mine[key]] = x
                values.append(Column(mine[key]))
            trees.append(rebuilt(tree, iter(values)))
            bodies.append((turn, made))
        self.record(form, bodies, carried)
        return Rows(self, trees)

    # ---- at the end
    def _output(self, result: Rows) -> str:
        """The column that holds the result of every joint, made if it is not one yet."""
        places = [leaves(tree) for tree in result.trees]
        if not all(len(place) == 1 for place in places):
            raise TraceError(f"a rolled function must return a matrix of pairs or a number a joint; got {places}")
        first = places[0][0]
        if isinstance(first, Column) and all(place == [first] for place in places):
            return first.name
        name = self._new()
        self.record("each", [(turn, {name: result[turn]}) for turn in self.turns()])
        return name

    def finished(self, result: Any) -> tuple[tuple[Loop, ...], str]:
        """The loops as Programs, without what nothing reads."""
        vector = "" if isinstance(result, Squared) else self._output(result)
        needed: set[Any] = {vector}
        loops: list[Loop] = []
        for form, results, carried, born in reversed(self._loops):
            live = any(is_read(name, needed) for _, made in results for name in made)
            if not live:
                continue
            bodies = [body(turn, made, needed) for turn, made in results]
            for traced in bodies:
                needed |= {port.name.removeprefix("v.") for port in traced.inputs}
            needed |= {source for _, source in born}
            loops.append(Loop(form, tuple(bodies), carried, born))
        return tuple(reversed(loops)), vector


def _held(x: Any) -> Column | float | None:
    """Where a scalar already is: a number, or a column of this joint."""
    if type(x) is not Expr:
        return float(x)
    name = x.operation[1] if x.op == "input" else "k."
    return None if name.startswith("k.") else Column(name)


def _where(x: Column | float) -> str | float:
    return x.name if isinstance(x, Column) else x


def roll(
    function: Callable[..., Any],
    subject: Any,
    inputs: tuple[str, ...],
    shape: tuple[int, ...],
    *,
    name: str,
    straight: Callable[[], Program],
) -> Rolled:
    """The loops of `function(subject, **inputs)`, where subject.n is a Roll and every input has one number a joint."""
    over: Roll = subject.n
    result = function(subject, **{port: over.input(port) for port in inputs})
    loops, vector = over.finished(result)
    n = len(over.kinds)
    constants = {}
    for (kind, numbers), column in over.constants.items():
        values = iter(numbers)
        constants[column] = tuple(next(values) if k == kind else 0.0 for k in over.kinds)
    return Rolled(
        name=name,
        inputs=tuple(Port(port, (n,)) for port in inputs),
        outputs=(Port(name, shape),),
        joints=n,
        kinds=over.kinds,
        constants=constants,
        written=tuple(over.written),
        loops=loops,
        vector=vector,
        straight=straight,
    )
