"""From a Program to the steps that a machine does: one order, fused multiply-adds, sines grouped.

Every backend emits these steps as they are, so all of them do the same roundings: a * b + c is fused here, by rule, and
nowhere else.  On a machine without fused multiply-add the steps fma, fms, fnma are a product and a sum.

    fma  a b c   a * b + c          fms  a b c   a * b - c          fnma  a b c   c - a * b

The time to compile a function grows faster than its length, so a long straight-line program is cut into a chain of
functions that pass values on through a scratch array: `crossing` says which values, `slots_for` where they wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..algebra import Program
from ..algebra.expr import Operation

SHORT = 2000  # steps
Steps = tuple[tuple[int, Operation], ...]  # (value, (name, operand, ...))


@dataclass(frozen=True)
class Lowered:
    """Steps in order; step k writes value `number`.  Operands are values (>= 0) or constants (< 0), as in Program."""

    program: Program
    steps: Steps  # inputs left out
    loads: dict[int, tuple[str, int]]  # value -> (input, element)
    turns: tuple[int, ...]  # input values whose sine or cosine is needed: all at once, first

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers that negative operands stand for."""
        return self.program.constants


def lower(program: Program) -> Lowered:
    """The steps of a Program."""
    operations = _fused(program)
    order = _order(program, operations)
    loads = {k: operations[k][1] for k in order if operations[k][0] in ("input", "parameter")}
    steps = tuple((k, operations[k]) for k in order if k not in loads)
    turning = {op[1] for _, op in steps if op[0] in ("sin", "cos")} & loads.keys()
    return Lowered(program, steps, loads, tuple(sorted(turning, key=loads.__getitem__)))  # neighbours in memory


def _fused(program: Program) -> list[Operation]:
    """The operations, with every product that only one sum reads taken into that sum."""
    operations = list(program.operations)
    readers = [0] * len(operations)
    for name, *operands in operations:
        if name not in ("input", "parameter"):
            for k in operands:
                if k >= 0:
                    readers[k] += 1
    for operands_ in program.results:
        for k in operands_:
            if k >= 0:
                readers[k] += 1

    def product(k: int) -> bool:
        return k >= 0 and readers[k] == 1 and operations[k][0] == "mul"

    for k, (name, *operands) in enumerate(operations):
        if name == "add":
            x, y = operands
            if product(y):
                operations[k] = ("fma", *operations[y][1:], x)
            elif product(x):
                operations[k] = ("fma", *operations[x][1:], y)
        elif name == "sub":
            x, y = operands
            if product(y):
                operations[k] = ("fnma", *operations[y][1:], x)
            elif product(x):
                operations[k] = ("fms", *operations[x][1:], y)
    return operations


def _order(program: Program, operations: list[Operation]) -> list[int]:
    """The values that the outputs need, in the order in which they are computed.

    As the algorithm did them: of all simple orders this one keeps fewest values alive.  But a recursion that divides
    waits for each division, and depth first there is other work among its steps to do meanwhile; in a long one the
    values that wait in memory cost more than that.
    """
    needed = _needed(program, operations)
    divides = any(operations[k][0] == "div" for k in needed)
    return _depth_first(program, operations) if divides and len(needed) <= SHORT else needed


def _needed(program: Program, operations: list[Operation]) -> list[int]:
    """The values that the outputs need, in the order of the program."""
    live = bytearray(len(operations))
    for results in program.results:
        for k in results:
            if k >= 0:
                live[k] = 1
    for k in range(len(operations) - 1, -1, -1):
        if live[k] and operations[k][0] not in ("input", "parameter"):
            for i in operations[k][1:]:
                if i >= 0:
                    live[i] = 1
    return [k for k, is_live in enumerate(live) if is_live]


def _depth_first(program: Program, operations: list[Operation]) -> list[int]:
    """The values that the outputs need, each as late as its first reader allows."""
    order: list[int] = []
    done = bytearray(len(operations))
    for results in program.results:
        for root in results:
            if root < 0 or done[root]:
                continue
            stack = [(root, False)]
            while stack:
                k, expanded = stack.pop()
                if expanded:
                    order.append(k)
                    continue
                if done[k]:
                    continue
                done[k] = 1
                stack.append((k, True))
                name, *operands = operations[k]
                if name not in ("input", "parameter"):
                    stack.extend((i, False) for i in reversed(operands) if i >= 0 and not done[i])
    return order


def turned_steps(lowered: Lowered) -> dict[int, tuple[int, str]]:
    """The sines and cosines of inputs: step -> (input value, sin or cos)."""
    turns = set(lowered.turns)
    return {k: (op[1], op[0]) for k, op in lowered.steps if op[0] in ("sin", "cos") and op[1] in turns}


def _reads(operation: Operation) -> Iterable[int]:
    return (k for k in operation[1:] if k >= 0)


Crossing = list[tuple[set[int], set[int]]]
MANY = 1000
"""Inputs that the first chunk alone loads: the time to compile one grows with the square of its loads."""


def loading(lowered: Lowered, chunks: list[Steps], together: int) -> dict[int, int]:
    """The chunk that loads each input: the first; of `MANY` or more, that which reads it first.

    `together`: neighbours that are loaded together, by the first that reads any of them.
    """
    found = dict.fromkeys(lowered.loads, 0)
    if len(found) < MANY:
        return found
    first: dict[tuple[str, int], int] = {}  # by tiles
    turned, early = turned_steps(lowered), set(lowered.turns)
    early.update(k for operands in lowered.program.results for k in operands)
    tile = {k: (port, element // together) for k, (port, element) in lowered.loads.items()}
    for k in early & tile.keys():
        first[tile[k]] = 0
    for number, chunk in enumerate(chunks):
        for value, operation in chunk:
            for k in _reads(operation) if value not in turned else ():
                if k in tile:
                    first.setdefault(tile[k], number)
    return {k: first.get(place, 0) for k, place in tile.items()}


def crossing(lowered: Lowered, chunks: list[Steps], loads: Mapping[int, int]) -> Crossing:
    """Per chunk: the values it takes from earlier ones, and those it leaves for later ones."""
    made: dict[int, int] = dict(loads)
    for number, chunk in enumerate(chunks):
        for value, _ in chunk:
            made[value] = number
    taken: list[set[int]] = [set() for _ in chunks]
    left: list[set[int]] = [set() for _ in chunks]
    turned = turned_steps(lowered)
    made |= dict.fromkeys(turned, 0)
    for number, chunk in enumerate(chunks):
        for value, operation in chunk:
            for k in _reads(operation) if value not in turned else ():
                if made[k] < number:
                    taken[number].add(k)
                    left[made[k]].add(k)
    return list(zip(taken, left, strict=True))


def slots_for(crossings: Crossing) -> dict[int, int]:
    """A place in the scratch array for every value that crosses; a place is used again after its last reader."""
    last: dict[int, int] = {}
    for number, (taken, left) in enumerate(crossings):
        for k in left:
            last.setdefault(k, number)
        for k in taken:
            last[k] = number
    ends: list[list[int]] = [[] for _ in crossings]
    for k, number in last.items():
        ends[number].append(k)
    free: list[int] = []
    slots: dict[int, int] = {}
    used = 0
    for number, (_, left) in enumerate(crossings):
        for k in sorted(left):
            if free:
                slots[k] = free.pop()
            else:
                slots[k] = used
                used += 1
        free += [slots[k] for k in ends[number]]
    return slots
