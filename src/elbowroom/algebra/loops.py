"""Recursions over joints, said once.

    each(n, f)                          f(i) of every i
    scan(n, step, carry)                carry, out = step(i, carry) at one i after the other; the outs, by i
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


def scan(n: Any, step: Step, carry: Any, *, inward: bool = False) -> Any:
    """The outs of `carry, out = step(i, carry)`, by i, from the first joint outwards or from the last inwards."""
    if not isinstance(n, int):
        return n.scan(step, carry, inward)
    outs: list[Any] = [None] * n
    for i in range(n - 1, -1, -1) if inward else range(n):
        carry, outs[i] = step(i, carry)
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
    columns: list[Any] = [None] * n
    for j in range(n - 1, -1, -1):
        columns[j] = start(j)
        for i in range(j, n):
            forth, back = read(j, columns[i])
            M[i, j] = back
            M[j, i] = forth
            if move is not None and j > 0:
                columns[i] = move(j, columns[i])
        if own is not None:
            M[j, j] = own(j)
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
