"""Recursions over joints: `each`, `scan` and `pairs`, as plain Python loops or traced into loops.

    each(n, f)                          f(i) of every i
    late(n, f)                          the same, for whoever reads each of them once
    scan(n, step, carry)                carry, out = step(i, carry) at one i after the other; the outs, by i
    scan(n, step, carry, then)          the same, and then(i, out) of every i
    pairs(n, start, read, move)         a column a joint, born at its own joint and carried inwards: at joint j every
                                        column i >= j is read into the elements (j, i) and (i, j), then moved on

Over a whole number n these are plain Python loops: on floats they compute, on Expr they unroll into one straight line.
Over a `Roll` (rolling.py) each function is traced once a kind of joint and the loop stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from .expr import Scalar
from .linalg import Array, matrix, vector, zeros

if TYPE_CHECKING:
    from .rolling import JointRows, Roll, Squared, Turn

Carry = TypeVar("Carry")
Out = TypeVar("Out")
Then = TypeVar("Then")
Step = Callable[[int, Carry], tuple[Carry, Out]]


def keeps_loops(n: int | Roll) -> bool:
    """Whether a function over n is being traced into loops."""
    return not isinstance(n, int)


@overload
def each(n: int, f: Callable[[int], Out]) -> list[Out]: ...
@overload
def each(n: Roll, f: Callable[[Turn], Any]) -> JointRows: ...
def each(n: int | Roll, f: Callable[[Any], Any]) -> list[Any] | JointRows:
    """f(i) of every i, by i; the order does not matter."""
    return [f(i) for i in range(n)] if isinstance(n, int) else n.each(f)


@overload
def late(n: int, f: Callable[[int], Out]) -> Late[Out]: ...
@overload
def late(n: Roll, f: Callable[[Turn], Any]) -> JointRows: ...
def late(n: int | Roll, f: Callable[[Any], Any]) -> Late[Any] | JointRows:
    """f(i) of every i, to be read once each: in a straight line it is made where it is read, not kept until then."""
    return Late(f) if isinstance(n, int) else n.each(f)


class Late(Generic[Out]):
    """f(i), made when it is read."""

    def __init__(self, f: Callable[[int], Out]) -> None:
        self._f = f

    def __getitem__(self, i: int) -> Out:
        return self._f(i)


@overload
def scan(n: int, step: Step[Carry, Out], carry: Carry, *, inward: bool = False) -> list[Out]: ...
@overload
def scan(
    n: int, step: Step[Carry, Out], carry: Carry, then: Callable[[int, Out], Then], *, inward: bool = False
) -> list[Then]: ...
@overload
def scan(
    n: Roll, step: Callable[[Turn, Carry], tuple[Carry, Any]], carry: Carry, then: Any = None, *, inward: bool = False
) -> JointRows: ...
def scan(n: int | Roll, step: Any, carry: Any, then: Any = None, *, inward: bool = False) -> list[Any] | JointRows:
    """The outs of `carry, out = step(i, carry)`, by i, from the first joint outwards or from the last inwards.

    `then(i, out)` is what becomes of each.  In a straight line it follows its step at once, so that an out need not
    wait for the whole recursion to end; over a Roll it is a loop of its own, whose joints do not wait for one another.
    """
    if not isinstance(n, int):
        rows = n.scan(step, carry, inward)
        return rows if then is None else n.each(lambda i: then(i, rows[i]))
    outs: list[Any] = [None] * n
    for i in range(n - 1, -1, -1) if inward else range(n):
        carry, out = step(i, carry)
        outs[i] = out if then is None else then(i, out)
    return outs


@overload
def pairs(
    n: int,
    start: Callable[[int], Carry],
    read: Callable[[int, Carry], tuple[Scalar, Scalar]],
    move: Callable[[int, Carry], Carry] | None = None,
    own: Callable[[int], Scalar] | None = None,
) -> Array: ...
@overload
def pairs(
    n: Roll,
    start: Callable[[Turn], Carry],
    read: Callable[[Turn, Carry], tuple[Scalar, Scalar]],
    move: Callable[[Turn, Carry], Carry] | None = None,
    own: Callable[[Turn], Scalar] | None = None,
) -> Squared: ...
def pairs(n: int | Roll, start: Any, read: Any, move: Any = None, own: Any = None) -> Array | Squared:
    """The matrix (n, n) whose elements (j, i) and (i, j), j <= i, are read(j, column of i at joint j).

    `start(i)` is a column at its own joint and move(j, column) carries it from joint j to the one before; without
    `move` it stays what it is.  On the diagonal the first of the two counts, or own(j), which must equal it: a shorter
    way for straight lines (a loop reads all its columns alike).
    """
    (found,) = matrices(n, 1, start, lambda j, column: (read(j, column),), move)
    if own is not None and isinstance(n, int):
        for i in range(n):
            found[i, i] = own(i)
    return found


def matrices(n: int | Roll, count: int, start: Any, read: Any, move: Any = None) -> tuple[Any, ...]:
    """So many matrices of one sweep of columns: `pairs`, where read(j, column) gives two elements for each of them."""
    if not isinstance(n, int):
        return n.pairs(start, read, move, count)
    found = [zeros(n, n) for _ in range(count)]
    for i in range(n - 1, -1, -1):  # a column to its end before the next is born: one is alive
        column = start(i)
        for j in range(i, -1, -1):
            for M, (forth, back) in zip(found, read(j, column), strict=True):
                M[i, j], M[j, i] = back, forth
            if move is not None and j > 0:
                column = move(j, column)
    return tuple(matrix(M) for M in found)


@overload
def same(n: int, thing: Out) -> list[Out]: ...
@overload
def same(n: Roll, thing: object) -> JointRows: ...
def same(n: int | Roll, thing: Any) -> list[Any] | JointRows:
    """The same thing for every i."""
    return [thing] * n if isinstance(n, int) else n.given([thing] * len(n.kinds))


@overload
def gathered(rows: Sequence[Scalar]) -> Array: ...
@overload
def gathered(rows: JointRows) -> JointRows: ...
def gathered(rows: Sequence[Scalar] | JointRows) -> Array | JointRows:
    """JointRows of one scalar each, as a vector."""
    return vector(*rows) if isinstance(rows, Sequence) else rows


def unzipped(rows: Any, count: int) -> tuple[Any, ...]:
    """JointRows of `count` things each, as so many sequences of rows."""
    if isinstance(rows, list):
        return tuple([row[k] for row in rows] for k in range(count))
    return tuple(rows.part(k) for k in range(count))


@overload
def length(rows: list[Any]) -> int: ...
@overload
def length(rows: JointRows) -> Roll: ...
def length(rows: list[Any] | JointRows) -> int | Roll:
    """How many rows there are: what `each`, `scan` and `pairs` take for n."""
    return len(rows) if isinstance(rows, list) else rows.roll


@overload
def on_diagonal(M: Array, extra: Array) -> Array: ...
@overload
def on_diagonal(M: Squared, extra: JointRows) -> Squared: ...
def on_diagonal(M: Array | Squared, extra: Any) -> Array | Squared:
    """M with extra[i] added to element (i, i)."""
    if not isinstance(M, np.ndarray):
        return M.on_diagonal(extra)
    rows = M.tolist()
    for i, more in enumerate(extra.tolist()):
        rows[i][i] = rows[i][i] + more
    return matrix(rows)
