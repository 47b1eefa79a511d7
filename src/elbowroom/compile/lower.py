"""From a Program to the steps that a machine does: one order, fused multiply-adds, sines grouped.

Every backend emits these steps as they are, so all of them do the same roundings: a * b + c is fused here, by rule, and
nowhere else.  On a machine without fused multiply-add the steps fma, fms, fnma are a product and a sum.

    fma  a b c   a * b + c          fms  a b c   a * b - c          fnma  a b c   c - a * b
"""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra import Program
from ..algebra.expr import Operation

SHORT = 2000  # steps


@dataclass(frozen=True)
class Lowered:
    """Steps in order; step k writes value `number`.  Operands are values (>= 0) or constants (< 0), as in Program."""

    program: Program
    steps: tuple[tuple[int, Operation], ...]  # (value, (name, operand, ...)), inputs left out
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
    order = _depth_first(program, operations)
    divides = any(operations[k][0] == "div" for k in order)
    return order if divides and len(order) <= SHORT else sorted(order)


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
