"""Tracing a recursion into loops.

A function written with `each`, `scan` and `pairs` (loops.py) runs once over a `Roll` instead of a whole number.  What
it indexes by joint are `JointRows`: columns of numbers, one a joint.  A step's index is a `Turn`, a turn of the loop at
a joint of some kind; rows[turn] gives symbols, and so every step becomes a small Program over columns.  Joints that
need different code (they turn or slide, say) are of different kinds, and a step is traced once for each.

What customisation does for straight-line code holds here for whatever is the same at all joints of a kind: a column
with one number is that number, equal columns are one, and what a recursion carries is assumed to be constant and equal
until a trace of its step shows otherwise, so that symmetric matrices stay symmetric and zeros zero.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import TraceError
from .expr import Expr, Graph, Scalar
from .linalg import Array, settled
from .looped import JointLoop, Rolled
from .program import Port, Program, assemble


@dataclass(frozen=True)
class ColumnName:
    """The place of a scalar of every joint."""

    name: str


def leaves(tree: Any) -> list[Any]:
    """The scalars of nested tuples and arrays, in order; None holds none."""
    if tree is None:
        return []
    if isinstance(tree, np.ndarray):
        return list(tree.ravel().tolist())
    if isinstance(tree, tuple | list):
        return [x for part in tree for x in leaves(part)]
    return [tree]


def rebuilt(tree: Any, scalars: Iterator[Any]) -> Any:
    """The same structure with other scalars."""
    if tree is None:
        return None
    if isinstance(tree, np.ndarray):
        array: Array = np.array([next(scalars) for _ in range(tree.size)] + [None], dtype=object)[:-1]
        return settled(array.reshape(tree.shape)) if not _has_columns(array) else array.reshape(tree.shape)
    if isinstance(tree, tuple | list):
        parts = [rebuilt(part, scalars) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(scalars)


def settled_tree(tree: Any) -> Any:
    """The structure itself; a recursion must start from numbers."""
    if any(type(x) is Expr for x in leaves(tree)):
        raise TraceError("a rolled recursion must start from numbers")
    return tree


def _has_columns(array: Array) -> bool:
    return any(isinstance(x, ColumnName) for x in array.flat)


class Turn:
    """The index of a step that is being traced: a turn of its loop at some joint of one kind."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.graph = Graph()
        self._leaves: dict[str, Expr] = {}

    def leaf(self, name: str) -> Expr:
        """The symbol of a column at this joint."""
        if name not in self._leaves:
            self._leaves[name] = self.graph.input(name)
        return self._leaves[name]

    def __index__(self) -> int:
        raise TraceError("a step of a rolled loop may index rows alone; got an array or a range")


Moved = list[tuple[Turn, list[Scalar]]]  # of each kind: its turn, and the carried scalars after it
Bodies = list[tuple[Turn, dict[str, Scalar]]]  # of each kind: its turn, and the results by name
Started = tuple[tuple[str, float], ...]  # what a scan carries, and its first values
Born = tuple[tuple[str, str | float], ...]  # of pairs: the column that moves, and where it is born


class Carried:
    """Which scalars of a carried structure are constant, and which are equal: assumed, then held against traces."""

    def __init__(self, firsts: Sequence[tuple[tuple[Hashable, ...], float | None]]) -> None:
        self.constant = [x for _, x in firsts]  # None: not the same number everywhere
        self.label = _numbered([first for first, _ in firsts])

    def symbols(self, turn: Turn) -> Iterator[Scalar]:
        """Numbers and symbols for one trace."""
        pairs = zip(self.constant, self.label, strict=True)
        return iter([turn.leaf(f"k.{label}") if x is None else x for x, label in pairs])

    def settle(self, trace: Callable[[Carried], Moved]) -> Moved:
        """The trace under which all that is assumed holds."""
        while True:
            moved = trace(self)
            before = (list(self.constant), list(self.label))
            operands = [[turn.graph.operand(x) for x in after] for turn, after in moved]
            for e, x in enumerate(self.constant):
                same = all(type(after[e]) is not Expr and float(after[e]) == x for _, after in moved)
                self.constant[e] = x if x is not None and same else None
            self.label = _numbered([(label, *(ops[e] for ops in operands)) for e, label in enumerate(self.label)])
            if before == (self.constant, self.label):
                return moved

    def members(self) -> list[tuple[int, int]]:
        """One scalar of every class that is not constant, and the class."""
        first: dict[int, int] = {}
        for e, (x, label) in enumerate(zip(self.constant, self.label, strict=True)):
            if x is None:
                first.setdefault(label, e)
        return [(e, label) for label, e in first.items()]


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


def body(turn: Turn, made: dict[str, Scalar], needed: set[str | float]) -> Program:
    """The Program of one kind's turn: what it carries, and of its columns those that are needed."""
    keep = {name: x for name, x in made.items() if name.startswith("k.") or is_read(name, needed)}
    used: dict[int, tuple[str, int]] = {}
    for node in turn.graph.nodes:
        if node.op == "input":
            used[node.index] = (node.operation[1], 0)
    traced = assemble("turn", turn.graph, (), keep, used)
    names = [operands[0][0] for op, *operands in traced.operations if op == "input"]
    ports = tuple(Port(name, ()) for name in dict.fromkeys(names))
    return Program(traced.name, ports, traced.outputs, traced.operations, traced.constants, traced.results)


def is_read(name: str, needed: set[str | float]) -> bool:
    """Whether some other loop, or the caller, reads this result of a step."""
    return name == "d" or name.startswith(("forth", "back", "v.")) or name in needed


class JointRows:
    """Things of some structure, one a joint: arrays and tuples whose scalars are columns or numbers."""

    def __init__(self, roll: Roll, trees: list[Any]) -> None:
        self.roll = roll
        self.trees = trees  # one a kind, with ColumnName or float for scalars

    def __getitem__(self, turn: Turn) -> Any:
        if not isinstance(turn, Turn):
            raise TraceError(f"rows of a rolled loop are indexed by the step's own turn; got {turn!r}")
        tree = self.trees[turn.kind]
        values = [turn.leaf(x.name) if isinstance(x, ColumnName) else x for x in leaves(tree)]
        return rebuilt(tree, iter(values))

    def __add__(self, other: JointRows) -> JointRows:
        return self.roll.each(lambda i: self[i] + other[i])

    def __sub__(self, other: JointRows) -> JointRows:
        return self.roll.each(lambda i: self[i] - other[i])

    def part(self, k: int) -> JointRows:
        """The k-th of what every row holds."""
        return JointRows(self.roll, [tree[k] for tree in self.trees])


class InputRows(JointRows):
    """An input with several numbers a joint, or (`ndim` 1) with some that one joint has."""

    def __init__(self, roll: Roll, trees: list[Any], ndim: int) -> None:
        super().__init__(roll, trees)
        self.ndim = ndim


class Squared:
    """A matrix that `pairs` or `matrices` over a Roll makes."""

    def __init__(self, roll: Roll, index: int = 0) -> None:
        self.roll, self.index = roll, index

    def on_diagonal(self, extra: JointRows) -> Squared:
        """The matrix with extra[i] added to element (i, i)."""
        roll = self.roll
        if any(x != 0.0 for tree in extra.trees for x in leaves(tree)):
            results = []
            for turn in roll.turns():
                results.append((turn, {"d": turn.leaf("d") + extra[turn]}))
            roll.record("diagonal", results, matrix=self.index)
        return self


class Roll:
    """What stands for the number of joints while a function is traced into loops."""

    def __init__(self, kinds: tuple[int, ...]) -> None:
        self.kinds = kinds
        self.constants: dict[tuple[int, tuple[float, ...]], str] = {}
        self.written: list[str] = []
        self._loops: list[tuple[str, Bodies, Started, Born, int]] = []

    def turns(self) -> list[Turn]:
        """A new turn for every kind."""
        return [Turn(kind) for kind in range(max(self.kinds) + 1)]

    def record(self, form: str, results: Bodies, carried: Started = (), born: Born = (), matrix: int = 0) -> None:
        """A loop with these results of each kind's turn; `matrix`: that a diagonal is of."""
        self._loops.append((form, results, carried, born, matrix))

    # ---- what the caller knows of every joint
    def given(self, things: list[Any]) -> JointRows:
        """JointRows of numbers, known beforehand: things[i] for joint i, alike in structure for joints of a kind."""
        trees = []
        for kind in range(max(self.kinds) + 1):
            mine = [i for i, k in enumerate(self.kinds) if k == kind]
            columns = zip(*(leaves(things[i]) for i in mine), strict=True)
            trees.append(rebuilt(things[mine[0]], iter([self._column(kind, mine, c) for c in columns])))
        return JointRows(self, trees)

    def _column(self, kind: int, mine: list[int], values: tuple[float, ...]) -> ColumnName | float:
        numbers = tuple(float(x) for x in values)
        if len(set(numbers)) == 1:
            return numbers[0]
        name = self.constants.setdefault((kind, numbers), f"t{len(self.constants)}")
        return ColumnName(name)

    def input(self, name: str) -> JointRows:
        """An input with one number a joint."""
        return JointRows(self, [ColumnName(name)] * (max(self.kinds) + 1))

    def rows(self, name: str, size: int) -> InputRows:
        """An input with so many numbers a joint."""
        tree = np.array([ColumnName(f"{name}.{c}") for c in range(size)], dtype=object)
        return InputRows(self, [tree] * (max(self.kinds) + 1), 2)

    def last(self, name: str, size: int) -> InputRows:
        """An input of so many numbers that the last joint has, the others zeros."""
        here = self.given([0.0] * (len(self.kinds) - 1) + [1.0])
        everywhere = self.rows(name, size)
        return InputRows(self, self.each(lambda i: everywhere[i] * here[i]).trees, 1)

    # ---- the loops
    def each(self, f: Callable[[Turn], Any]) -> JointRows:
        """`loops.each`."""
        return self._stored("each", [(turn, f(turn), {}) for turn in self.turns()])

    def scan(self, step: Any, carry: Any, inward: bool) -> JointRows:
        """`loops.scan`."""
        first = [float(x) for x in leaves(settled_tree(carry))]
        turns: list[Turn] = []
        outs: list[Any] = []

        def trace(carried: Carried) -> Moved:
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

    def pairs(self, start: Any, read: Any, move: Any, count: int) -> tuple[Squared, ...]:
        """`loops.matrices`."""
        born = self.turns()
        trees = [start(turn) for turn in born]
        flat = [leaves(tree) for tree in trees]
        firsts = []
        for entry in zip(*flat, strict=True):
            operands = tuple(turn.graph.operand(x) for turn, x in zip(born, entry, strict=True))
            constants = {x if type(x) is not Expr else None for x in entry}
            firsts.append((operands, constants.pop() if len(constants) == 1 else None))
        turns: list[Turn] = []

        def trace(carried: Carried) -> Moved:
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
            elements: dict[str, Scalar] = {}
            for k, (forth, back) in enumerate(read(turn, rebuilt(trees[turn.kind], iter(symbols)))):
                elements |= {f"forth{k}": forth, f"back{k}": back}
            names = {f"k.{c}": f"v.{places[c]}" for _, c in carried.members()}
            for leaf in turn._leaves.values():  # now that the columns have their places
                leaf.operation = ("input", names.get(leaf.operation[1], leaf.operation[1]))
            states = {f"v.{places[c]}": after[e] for e, c in carried.members() if f"v.{places[c]}" in copied}
            results.append((turn, {**elements, **states}))
        self.record("pairs", results, (), tuple((moving[2:], source) for moving, source in copied.items()))
        return tuple(Squared(self, k) for k in range(count))

    def _places(
        self, carried: Carried, born: list[Turn], flat: list[list[Scalar]], moved: Moved
    ) -> tuple[dict[int, str], dict[str, str | float]]:
        """The columns that lanes read; those that move, with where each is born: it must not move before its time."""
        sources = []
        for e, c in carried.members():
            after = [scalars[e] for _, scalars in moved]
            sources.append((e, c, all(type(x) is Expr and x.operation == ("input", f"k.{c}") for x in after)))
        entries: list[tuple[Turn, Any, dict[str, Scalar]]] = [
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
        self,
        form: str,
        results: list[tuple[Turn, Any, dict[str, Scalar]]],
        carried: Started = (),
        *,
        together: bool = False,
    ) -> JointRows:
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
            mine: dict[tuple[int, int], str] = {}
            made: dict[str, Scalar] = dict(states)
            values: list[ColumnName | float] = []
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
                values.append(ColumnName(mine[key]))
            trees.append(rebuilt(tree, iter(values)))
            bodies.append((turn, made))
        self.record(form, bodies, carried)
        return JointRows(self, trees)

    # ---- at the end
    def _output(self, result: JointRows) -> str:
        """The column that holds the result of every joint, made if it is not one yet."""
        places = [leaves(tree) for tree in result.trees]
        if not all(len(place) == 1 for place in places):
            raise TraceError(f"a rolled function must return a matrix of pairs or a number a joint; got {places}")
        first = places[0][0]
        if isinstance(first, ColumnName) and all(place == [first] for place in places):
            return first.name
        name = self._new()
        self.record("each", [(turn, {name: result[turn]}) for turn in self.turns()])
        return name

    def finished(self, result: JointRows | Squared | tuple[Squared, ...]) -> tuple[tuple[JointLoop, ...], str]:
        """The loops as Programs, without what nothing reads."""
        vector = self._output(result) if isinstance(result, JointRows) else ""
        needed: set[str | float] = {vector}
        loops: list[JointLoop] = []
        for form, results, carried, born, matrix in reversed(self._loops):
            live = any(is_read(name, needed) for _, made in results for name in made)
            if not live:
                continue
            bodies = [body(turn, made, needed) for turn, made in results]
            for traced in bodies:
                needed |= {port.name.removeprefix("v.") for port in traced.inputs}
            needed |= {source for _, source in born}
            loops.append(JointLoop(form, tuple(bodies), carried, born, matrix))
        return tuple(reversed(loops)), vector


def _held(x: Scalar) -> ColumnName | float | None:
    """Where a scalar already is: a number, or a column of this joint."""
    if type(x) is not Expr:
        return float(x)
    name = x.operation[1] if x.op == "input" else "k."
    return None if name.startswith("k.") else ColumnName(name)


def _where(x: ColumnName | float) -> str | float:
    return x.name if isinstance(x, ColumnName) else x


def roll(
    function: Callable[..., Any],
    subject: Any,
    inputs: tuple[str, ...],
    shape: tuple[int, ...],
    *,
    name: str,
    straight: Callable[[], Program],
    more: Mapping[str, tuple[int, ...]] | None = None,
) -> Rolled:
    """The loops of `function(subject, **inputs)`, where subject.n is a Roll and every input has one number a joint.

    `more`: inputs of several numbers for every joint, (n, k), or for the last one alone, (k,).
    A function that returns a named tuple of matrices has so many outputs, each of this shape.
    """
    over: Roll = subject.n
    n, more = len(over.kinds), more or {}
    rows = {port: (over.rows if len(shape) == 2 else over.last)(port, shape[-1]) for port, shape in more.items()}
    result = function(subject, **{port: over.input(port) for port in inputs}, **rows)
    loops, vector = over.finished(result)
    constants = {}
    for (kind, numbers), column in over.constants.items():
        values = iter(numbers)
        constants[column] = tuple(next(values) if k == kind else 0.0 for k in over.kinds)
    return Rolled(
        name=name,
        inputs=(*(Port(port, (n,)) for port in inputs), *(Port(port, shape) for port, shape in more.items())),
        columns={port: tuple(f"{port}.{c}" for c in range(shape[-1])) for port, shape in more.items()},
        outputs=tuple(Port(field, shape) for field in getattr(result, "_fields", (name,))),
        joints=n,
        kinds=over.kinds,
        constants=constants,
        written=tuple(over.written),
        loops=loops,
        vectors=(vector,) if vector else (),
        straight=straight,
    )
