"""Expr: a scalar that remembers how it was made.

An algorithm written for floats runs on Expr unchanged, in NumPy object arrays, and leaves behind a graph of the
operations it did.  The graph is hash-consed: asking twice for the same operation on the same operands gives the same
node, so equal expressions are shared.  Folding happens as nodes are made:

    constants are computed, x + 0, x - 0, x * 1, x / 1 are x, x * 0 is 0
    negation is pulled outwards: (-x) * y is -(x y), x + (-y) is x - y, sin(-x) is -sin x
    x - y is -(y - x) if y - x is already there; a negative factor becomes a negation
    (x * c) * d with constants c, d is x * (c d);  x / c is x * (1 / c)

Operands are held as integers: k >= 0 is node k, k < 0 is constant number -1 - k.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, final, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import TraceError
from .philox import check, checked

Operation = tuple[Any, ...]  # (name, operand, ...)
CONDITIONS = frozenset({"lt", "le", "eq", "and", "or", "not"})


class Graph:
    """All the nodes of one trace.  `share=False` keeps equal operations apart, to count a text as it is written."""

    def __init__(self, *, share: bool = True) -> None:
        self.share = share
        self.traced = False  # one graph, one trace
        self.nodes: list[Expr] = []
        self.constants: list[float] = []
        self._table: dict[Operation, Expr] = {}
        self._constant_index: dict[float, int] = {}

    def input(self, name: str, *, parameter: bool = False) -> Expr:
        """A new leaf.  A parameter is known before the robot moves: operations on parameters alone are offline."""
        return self._new(("parameter" if parameter else "input", name))

    def node(self, name: str, *operands: int) -> Expr:
        """The node for this operation, made if it is not there yet."""
        key = (name, *operands)
        if self.share:
            found = self._table.get(key)
            if found is not None:
                return found
        made = self._new(key)
        self._table[key] = made
        return made

    def _new(self, operation: Operation) -> Expr:
        made = Expr(self, len(self.nodes), operation)
        self.nodes.append(made)
        return made

    def existing(self, name: str, *operands: int) -> Expr | None:
        """The node for this operation if it is there (and nodes are shared)."""
        return self._table.get((name, *operands)) if self.share else None

    def constant(self, value: float) -> int:
        """The operand that stands for a number."""
        index = self._constant_index.get(value)
        if index is None:
            if math.isnan(value):
                raise TraceError("a traced expression met the constant NaN; expected a number")
            self.constants.append(value)
            index = self._constant_index[value] = -len(self.constants)
        return index

    def operand(self, value: Scalar) -> int:
        """The operand that stands for an Expr of this graph, or for a number."""
        if type(value) is not Expr:
            return self.constant(float(value))
        if value.graph is not self:
            raise TraceError("expressions of two different traces were mixed; trace both inputs together")
        return value.index

    def value(self, operand: int) -> Scalar:
        """What an operand stands for."""
        return self.nodes[operand] if operand >= 0 else self.constants[-1 - operand]


def _number(x: object) -> float | None:
    return float(x) if isinstance(x, int | float | np.floating | np.integer) else None


@final
class Expr:
    """One node of a Graph.  Behaves like a float in arithmetic; refuses to be one."""

    __slots__ = ("graph", "index", "operation")

    def __init__(self, graph: Graph, index: int, operation: Operation) -> None:
        self.graph = graph
        self.index = index
        self.operation = operation

    @property
    def op(self) -> str:
        """The operation's name: add, mul, sin, input, ..."""
        return str(self.operation[0])

    def _child(self) -> Expr:
        """The negated node of a negation."""
        return self.graph.nodes[self.operation[1]]

    # ---- sums
    def __add__(self, other: Scalar) -> Scalar:
        graph = self.graph
        if type(other) is not Expr:
            c = _number(other)
            if c is None:
                return NotImplemented
            if c == 0:
                return self
            if self.operation[0] == "neg":
                return self._child().__rsub__(c)
            if c < 0:
                return self._minus(graph.constant(-c))
            return graph.node("add", self.index, graph.constant(c))
        if other.graph is not graph:
            graph.operand(other)
        if self.operation[0] == "neg":
            if other.operation[0] == "neg":
                return -(self._child() + other._child())
            return other - self._child()
        if other.operation[0] == "neg":
            return self - other._child()
        i, j = self.index, other.index
        return graph.node("add", i, j) if i <= j else graph.node("add", j, i)

    __radd__ = __add__

    def _minus(self, operand: int) -> Expr:
        """self - operand, or the negation of operand - self where that is there already."""
        graph = self.graph
        reverse = graph.existing("sub", operand, self.index)
        return graph.node("sub", self.index, operand) if reverse is None else -reverse

    def __sub__(self, other: Scalar) -> Scalar:
        if type(other) is not Expr:
            c = _number(other)
            return NotImplemented if c is None else self.__add__(-c)
        if other.graph is not self.graph:
            self.graph.operand(other)
        if other is self:
            return 0.0
        if other.operation[0] == "neg":
            return self + other._child()
        if self.operation[0] == "neg":
            return -(self._child() + other)
        return self._minus(other.index)

    def __rsub__(self, other: Scalar) -> Scalar:
        c = _number(other)
        if c is None:
            return NotImplemented
        if c == 0:
            return -self
        if self.operation[0] == "neg":
            return self._child() + c
        if c < 0:
            return -(self + -c)
        graph = self.graph
        operand = graph.constant(c)
        reverse = graph.existing("sub", self.index, operand)
        return graph.node("sub", operand, self.index) if reverse is None else -reverse

    def __neg__(self) -> Expr:
        if self.operation[0] == "neg":
            return self._child()
        return self.graph.node("neg", self.index)

    def __pos__(self) -> Expr:
        return self

    # ---- products
    @overload
    def __mul__(self, other: Scalar) -> Scalar: ...
    @overload
    def __mul__(self, other: Array) -> Array: ...
    def __mul__(self, other: Scalar | Array) -> Scalar | Array:
        graph = self.graph
        if type(other) is not Expr:
            c = _number(other)
            return NotImplemented if c is None else self._scaled(c)
        if other.graph is not graph:
            graph.operand(other)
        if self.operation[0] == "neg":
            if other.operation[0] == "neg":
                return self._child() * other._child()
            return -(self._child() * other)
        if other.operation[0] == "neg":
            return -(self * other._child())
        i, j = self.index, other.index
        return graph.node("mul", i, j) if i <= j else graph.node("mul", j, i)

    __rmul__ = __mul__

    def _scaled(self, c: float) -> Scalar:
        if c == 0:
            return 0.0
        if self.operation[0] == "neg":
            return self._child()._scaled(-c)
        if c < 0:
            scaled = self._scaled(-c)
            return -scaled
        if c == 1:
            return self
        graph = self.graph
        if self.operation[0] == "mul" and self.operation[2] < 0:  # x * constant already
            return graph.nodes[self.operation[1]]._scaled(graph.constants[-1 - self.operation[2]] * c)
        return graph.node("mul", self.index, graph.constant(c))

    def __truediv__(self, other: Scalar) -> Scalar:
        if type(other) is not Expr:
            c = _number(other)
            if c is None:
                return NotImplemented
            if c == 0:
                raise ZeroDivisionError("a traced expression is divided by the constant zero")
            return self._scaled(1.0 / c)
        if self.operation[0] == "neg":
            return -(self._child() / other)
        if other.operation[0] == "neg":
            return -(self / other._child())
        return self.graph.node("div", self.index, self.graph.operand(other))

    def __rtruediv__(self, other: Scalar) -> Scalar:
        c = _number(other)
        if c is None:
            return NotImplemented
        if c == 0:
            return 0.0
        if self.operation[0] == "neg":
            return self._child().__rtruediv__(-c)
        if c < 0:
            return -self.__rtruediv__(-c)
        return self.graph.node("div", self.graph.constant(c), self.index)

    def __pow__(self, exponent: int) -> Scalar:
        if exponent not in (1, 2, 3, 4):
            raise TraceError(f"a traced power must be 1, 2, 3 or 4 (or use sqrt); got {exponent!r}")
        square = self * self
        return (self, square, square * self, square * square)[exponent - 1]

    # ---- comparisons, for `where`
    def __lt__(self, other: Scalar) -> Condition:
        return compare("lt", self, other)

    def __le__(self, other: Scalar) -> Condition:
        return compare("le", self, other)

    def __gt__(self, other: Scalar) -> Condition:
        return compare("lt", other, self)

    def __ge__(self, other: Scalar) -> Condition:
        return compare("le", other, self)

    # (object's own == takes any object and gives a bool, so these two cannot say Scalar -> Condition)
    def __eq__(self, other: Any) -> Any:
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return ~compare("eq", self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Condition) -> Condition:
        return logical("and", self, other)

    def __or__(self, other: Condition) -> Condition:
        return logical("or", self, other)

    def __invert__(self) -> Expr:
        if self.operation[0] not in CONDITIONS:
            raise TraceError("~ needs a condition such as (x < y); got a number's expression")
        return self._child() if self.operation[0] == "not" else self.graph.node("not", self.index)

    __rand__ = __and__
    __ror__ = __or__

    # ---- what an expression is not
    def __bool__(self) -> bool:
        raise TraceError(
            "a traced expression has no truth value, so `if`, `and`, `min` and `in` cannot branch on it; "
            "use elbowroom.algebra.where, minimum or maximum"
        )

    def __float__(self) -> float:
        raise TraceError(
            "a traced expression is not a number yet; keep it in an object array, use the functions of "
            "elbowroom.algebra (sin, cos, sqrt, ...) and evaluate the Program"
        )

    __int__ = __index__ = __float__  # the same refusal, whatever it is asked to be

    def __repr__(self) -> str:
        name, *operands = self.operation
        if name in ("input", "parameter"):
            return str(operands[0])
        return f"{name}({', '.join(_operand_name(self.graph, k) for k in operands)})"


Scalar = float | Expr
"""What a formula computes with: a number, or an expression that stands for one."""
Condition = bool | Expr
"""What a comparison of two scalars gives."""
Array = NDArray[Any]
"""An array of scalars: floats, or objects that are floats and Expr."""


def _operand_name(graph: Graph, operand: int) -> str:
    value = graph.value(operand)
    if isinstance(value, Expr):
        return str(value.operation[1]) if value.op in ("input", "parameter") else f"t{operand}"
    return f"{value:g}"


def compare(name: str, x: Scalar, y: Scalar) -> Condition:
    """The condition x < y, x <= y or x = y; a plain bool for two numbers."""
    graph = _graph_of(x, y)
    if graph is None:
        return bool({"lt": operator.lt, "le": operator.le, "eq": operator.eq}[name](x, y))
    return graph.node(name, graph.operand(x), graph.operand(y))


def logical(name: str, x: Condition, y: Condition) -> Condition:
    """Both, or either, of two conditions."""
    if not isinstance(x, Expr):
        x, y = y, x
    if not isinstance(x, Expr) or not isinstance(y, Expr):  # a plain bool decides or does not matter
        return x if bool(y) is (name == "and") else bool(y)
    for side in (x, y):
        if side.operation[0] not in CONDITIONS:
            raise TraceError(f"{name} needs conditions such as (x < y); got a number's expression")
    i, j = sorted((x.index, x.graph.operand(y)))
    return x.graph.node(name, i, j)


def _graph_of(*values: object) -> Graph | None:
    for value in values:
        if type(value) is Expr:
            return value.graph
    return None


def unary(name: str, x: Scalar, number: Callable[[float], float]) -> Scalar:
    """sin, cos, sqrt, log or abs of an Expr or a number; parity pulls a negation out."""
    if type(x) is not Expr:
        return number(float(x))
    if x.operation[0] == "neg":
        if name == "sin":
            return -x.graph.node("sin", x.operation[1])
        if name in ("cos", "abs"):
            return x.graph.node(name, x.operation[1])
    return x.graph.node(name, x.index)


def random_node(key: Scalar, run: Scalar, frame: Scalar, channel: Scalar) -> Scalar:
    """The random number of four whole numbers (philox.py), of which one is an Expr at least; see draws.py."""
    graph = _graph_of(key, run, frame, channel)
    if graph is None:
        return float(checked(key, run, frame, channel))
    check(*(0 if type(x) is Expr else x for x in (key, run, frame, channel)))
    return graph.node("uniform", *(graph.operand(x) for x in (key, run, frame, channel)))


def extremum(name: str, x: Scalar, y: Scalar) -> Scalar:
    """The smaller (`min`) or greater (`max`) of two."""
    graph = _graph_of(x, y)
    if graph is None:
        return float(min(x, y) if name == "min" else max(x, y))
    i, j = sorted((graph.operand(x), graph.operand(y)))
    return graph.value(i) if i == j else graph.node(name, i, j)


def select(condition: Condition, x: Scalar, y: Scalar) -> Scalar:
    """x where the condition holds, else y: a branch that every SIMD lane can take."""
    if type(condition) is not Expr:
        return x if condition else y
    if condition.operation[0] not in CONDITIONS:
        raise TraceError("where needs a condition such as (x < y); got a number's expression")
    graph = condition.graph
    i, j = graph.operand(x), graph.operand(y)
    return graph.value(i) if i == j else graph.node("select", condition.index, i, j)
