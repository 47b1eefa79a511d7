"""Recursions over joints, said once.

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

from collections.abc import Callable
from typing import Any

from .linalg import Array, matrix, vector, zeros

Step = Callable[[Any, Any], tuple[Any, Any]]


def each(n: Any, f: Callable[[Any], Any]) -> Any:
    """f(i) of every i, by i; the order does not matter."""
    return [f(i) for i in range(n)] if isinstance(n, int) else n.each(f)


def late(n: Any, f: Callable[[Any], Any]) -> Any:
    """f(i) of every i, to be read once each: in a straight line it is made where it is read, not kept until then."""
    return _Late(f) if isinstance(n, int) else n.each(f)


class _Late:
    def __init__(self, f: Callable[[Any], Any]) -> None:
        self._f = f

    def __getitem__(self, i: int) -> Any:
        return self._f(i)


def scan(n: Any, step: Step, carry: Any, then: Callable[[Any, Any], Any] | None = None, *, inward: bool = False) -> Any:
    """The outs of `carry, out = step(i, carry)`, by i, from the first joint outwards or from the last inwards.

    `then(i, out)` is what becomes of each.  In a straight line it follows its step at once, so that an out need not
    wait for the whole recursion to end; over a Roll it is a loop of its own, whose joints do not wait for one another.
    """
    if not isinstance(n, int):
        outs_: Any = n.scan(step, carry, inward)
        return outs_ if then is None else n.each(lambda i: then(i, outs_[i]))
    outs: list[Any] = [None] * n
    for i in range(n - 1, -1, -1) if inward else range(n):
        carry, out = step(i, carry)
        outs[i] = out if then is None else then(i, out)
    return outs


def pairs(
    n: Any,
    start: Callable[[Any], Any],
    read: Callable[[Any, Any], tuple[Any, Any]],
    move: Callable[[Any, Any], Any] | None = None,
    own: Callable[[Any], Any] | None = None,
) -> Array:
    """The matrix (n, n) whose elements (j, i) and (i, j), j <= i, are read(j, column of i at joint j).

    `start(i)` is a column at its own joint and move(j, column) carries it from joint j to the one before; without
    `move` it stays what it is.  On the diagonal the first of the two counts, or own(j), which must equal it: a shorter
    way for straight lines (a loop reads all its columns alike).
    """
    if not isinstance(n, int):
        matrix_: Array = n.pairs(start, read, move)
        return matrix_
    M = zeros(n, n)
    for i in range(n - 1, -1, -1):  # a column to its end before the next is born: one is alive
        column = start(i)
        for j in range(i, -1, -1):
            M[i, j], M[j, i] = read(j, column)[::-1]
            if move is not None and j > 0:
                column = move(j, column)
        if own is not None:
            M[i, i] = own(i)
    return matrix(M)


def same(n: Any, thing: Any) -> Any:
    """The same thing for every i."""
    return [thing] * n if isinstance(n, int) else n.given([thing] * len(n.kinds))


def gathered(rows: Any) -> Array:
    """Rows of one scalar each, as a vector."""
    one_a_joint: Array = vector(*rows) if isinstance(rows, list) else rows
    return one_a_joint


def unzipped(rows: Any, count: int) -> tuple[Any, ...]:
    """Rows of `count` things each, as so many sequences of rows."""
    if isinstance(rows, list):
        return tuple([row[k] for row in rows] for k in range(count))
    return tuple(rows.part(k) for k in range(count))


def length(rows: Any) -> Any:
    """How many rows there are: what `each`, `scan` and `pairs` take for n."""
    return len(rows) if isinstance(rows, list | tuple) else rows.roll


def on_diagonal(M: Any, extra: Any) -> Any:
    """M with extra[i] added to element (i, i)."""
    if hasattr(M, "on_diagonal"):
        return M.on_diagonal(extra)
    rows = M.tolist()
    for i, more in enumerate(extra.tolist()):
        rows[i][i] = rows[i][i] + more
    return matrix(rows)
