"""A Program with fewer operations: what algebra allows and rounding does not forbid.

Tracing keeps an algorithm's text: each operation rounds as it would on floats, and counts are those of the paper.  A
program that is to run may take liberties which change its results by a rounding error:

    x c + x d           x (c + d) with constants c, d; x + x is x 2
    (x + c) + d         x + (c + d)
    (x + y) - y         x, likewise x - (x - y) and the rest of that family
    x y + x z + ...     x (y + z) + ..., where nobody else reads the products

The first three go over sums as they are built; the last over a whole tree of sums, the most common factor first.  A
tree in which there is nothing to find keeps its order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .expr import Expr, Graph, Operation, Scalar, compare, extremum, logical, random_node, select, unary
from .linalg import vector
from .program import Program, assemble

PASSES = 2  # a factor taken out may bring two equal terms together; a third pass finds next to nothing
SUMS = ("add", "sub")


def rearranged(program: Program) -> Program:
    """The same outputs up to rounding, in no more operations (negations are steps of a machine, and count here)."""

    def cost(of: Program) -> int:
        return of.count.total + of.count.neg

    for _ in range(PASSES):
        found = _Pass(program).program()
        if cost(found) >= cost(program):
            break
        program = found
    return program


class _Term(NamedTuple):
    """A term of a sum."""

    sign: int
    value: Scalar
    alone: bool  # nobody else reads it

    def factors(self) -> tuple[int, ...]:
        """The two operands of a product that may be taken apart."""
        return self.value.operation[1:] if self.alone and type(self.value) is Expr and self.value.op == "mul" else ()


class _Pass:
    """A program built anew, operation by operation, on a graph of its own."""

    def __init__(self, program: Program) -> None:
        self.old = program
        self.graph = Graph()
        self.position: dict[int, tuple[str, int]] = {}
        self.new: list[Scalar] = []
        self.readers, self.inner = _readers(program)

    def program(self) -> Program:
        """What is found in one go."""
        for k, operation in enumerate(self.old.operations):
            self.new.append(self._made(k, operation))
        results = {}
        for port, operands in zip(self.old.outputs, self.old.results, strict=True):
            results[port.name] = vector(*map(self._value, operands)).reshape(port.shape)
        return assemble(self.old.name, self.graph, self.old.inputs, results, self.position)

    def _value(self, operand: int) -> Scalar:
        return self.new[operand] if operand >= 0 else self.old.constants[-1 - operand]

    def _made(self, k: int, operation: Operation) -> Scalar:
        name, *operands = operation
        if name in ("input", "parameter"):
            leaf = self.graph.input(str(operands[0]), parameter=name == "parameter")
            self.position[leaf.index] = operands[0]
            return leaf
        if name not in SUMS:
            return REMAKE[name](*map(self._value, operands))
        if not self.inner[k]:
            factored = _factored(self._terms(k, 1))
            if factored is not None:
                return factored
        x, y = map(self._value, operands)
        return _merged(x, y, 1 if name == "add" else -1)

    def _terms(self, k: int, sign: int) -> list[_Term]:
        """The terms of the whole tree of sums at k."""
        name, *operands = self.old.operations[k]
        found: list[_Term] = []
        for operand, side in zip(operands, (sign, sign if name == "add" else -sign), strict=True):
            if operand >= 0 and self.inner[operand]:
                found += self._terms(operand, side)
            else:
                found.append(_term(side, self._value(operand), operand >= 0 and self.readers[operand] == 1))
        return found


def _readers(program: Program) -> tuple[list[int], list[bool]]:
    """How many read a value, and whether it is a sum that only another sum reads."""
    readers, sums = [0] * len(program.operations), [0] * len(program.operations)
    for name, *operands in program.operations:
        if name not in ("input", "parameter"):
            for k in operands:
                if k >= 0:
                    readers[k] += 1
                    sums[k] += name in SUMS
    for results in program.results:
        for k in results:
            if k >= 0:
                readers[k] += 1
    alone = zip(program.operations, readers, sums, strict=True)
    return readers, [operation[0] in SUMS and n == by_sums == 1 for operation, n, by_sums in alone]


def _term(sign: int, value: Scalar, alone: bool) -> _Term:
    if type(value) is Expr and value.op == "neg":
        return _Term(-sign, -value, alone)
    return _Term(sign, value, alone)


def _factored(terms: list[_Term]) -> Scalar | None:
    """The sum of the terms with the most common factor taken out, again and again; None if there is none."""
    found = False
    while True:
        counter = Counter(factor for term in terms for factor in set(term.factors()))
        if not counter or (common := counter.most_common(1)[0])[1] < 2:
            break
        found, factor = True, common[0]
        graph = next(term.value.graph for term in terms if type(term.value) is Expr and factor in term.factors())
        inside: Scalar = 0.0
        for term in (term for term in terms if factor in term.factors()):
            i, j = term.factors()
            inside = _merged(inside, graph.value(j if i == factor else i), term.sign)
        rest = [term for term in terms if factor not in term.factors()]
        terms = [*rest, _term(1, inside * graph.value(factor), alone=True)]
    if not found:
        return None
    total: Scalar = 0.0
    for term in sorted(terms, key=lambda term: -term.sign):  # a positive one first: no negation
        total = _merged(total, term.value, term.sign)
    return total


def _merged(x: Scalar, y: Scalar, sign: int) -> Scalar:
    """x + sign y, with what cancels gone and constants collected."""
    if type(y) is not Expr:
        return _shifted(x, sign * y)
    if type(x) is not Expr:
        return _shifted(y if sign > 0 else -y, x)
    flip = 1
    if y.op == "neg":
        y, sign = -y, -sign
    if x.op == "neg":
        x, sign, flip = -x, -sign, -1
    (a, c), (b, d) = _scaled(x), _scaled(y)
    if a is b:
        return a * (flip * (c + sign * d))
    found = _cancelled(x, y, sign)
    if found is None:
        found = x + y if sign > 0 else x - y
    return found if flip > 0 else -found


def _scaled(x: Expr) -> tuple[Expr, float]:
    """x as a node times a constant."""
    if x.op == "mul" and x.operation[2] < 0:
        return x.graph.nodes[x.operation[1]], float(x.graph.constants[-1 - x.operation[2]])
    return x, 1.0


def _cancelled(x: Expr, y: Expr, sign: int) -> Scalar | None:
    """x + sign y where one of them is a sum with the other in it, else None."""
    value = x.graph.value
    (first, *left), (second, *right) = x.operation, y.operation
    if sign > 0:
        if first == "sub" and left[1] == y.index:
            return value(left[0])
        return value(right[0]) if second == "sub" and right[1] == x.index else None
    if first == "add" and y.index in left:
        return value(left[1] if left[0] == y.index else left[0])
    if first == "sub" and left[0] == y.index:
        return -value(left[1])
    if second == "add" and x.index in right:
        return -value(right[1] if right[0] == x.index else right[0])
    return value(right[1]) if second == "sub" and right[0] == x.index else None


def _shifted(x: Scalar, c: float) -> Scalar:
    """x + c, added to a constant that x may have already."""
    if type(x) is not Expr or x.op not in ("add", "sub"):
        return x + c
    name, i, j = x.operation
    if j < 0:
        d = float(x.graph.constants[-1 - j])
        return x.graph.value(i) + (c + d if name == "add" else c - d)
    if i < 0:  # d - y
        return (x.graph.constants[-1 - i] + c) - x.graph.value(j)
    return x + c


REMAKE: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "sin": lambda x: unary("sin", x, math.sin),
    "cos": lambda x: unary("cos", x, math.cos),
    "sqrt": lambda x: unary("sqrt", x, math.sqrt),
    "log": lambda x: unary("log", x, np.log),
    "abs": lambda x: unary("abs", x, abs),
    "uniform": random_node,
    "min": lambda x, y: extremum("min", x, y),
    "max": lambda x, y: extremum("max", x, y),
    "lt": lambda x, y: compare("lt", x, y),
    "le": lambda x, y: compare("le", x, y),
    "eq": lambda x, y: compare("eq", x, y),
    "and": lambda x, y: logical("and", x, y),
    "or": lambda x, y: logical("or", x, y),
    "not": lambda x: ~x if isinstance(x, Expr) else not x,
    "select": select,
}
"""Every operation on scalars, by its name: how to make it again on another graph."""
