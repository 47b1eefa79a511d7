"""One step of a rolled loop: its symbols, its Program, and which scalars that it carries are constant or equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import TraceError
from .expr import Expr, Graph
from .program import Port, Program, assemble


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


class Carried:
    """Which scalars of a carried structure are constant, and which are equal: assumed, then held against traces."""

    def __init__(self, firsts: list[tuple[tuple[Any, ...], Any]]) -> None:
        self.constant = [x for _, x in firsts]  # None: not the same number everywhere
        self.label = _numbered([first for first, _ in firsts])

    def symbols(self, turn: Turn) -> Iterator[Any]:
        """Numbers and symbols for one trace."""
        pairs = zip(self.constant, self.label, strict=True)
        return iter([turn.leaf(f"k.{label}") if x is None else x for x, label in pairs])

    def settle(self, trace: Any) -> Any:
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


def _numbered(keys: list[Any]) -> list[int]:
    seen: dict[Any, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


def body(turn: Turn, made: dict[str, Any], needed: set[Any]) -> Program:
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


def is_read(name: str, needed: set[Any]) -> bool:
    """Whether some other loop, or the caller, reads this result of a step."""
    return name in ("forth", "back", "d") or name.startswith("v.") or name in needed
