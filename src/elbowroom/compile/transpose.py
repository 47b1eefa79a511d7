"""Transposing blocks of states: one after the other in memory (rows), one a lane in registers (columns).

rows        element e of lane l is x[l * size + e]      as callers hold them
columns     element e of lane l is x[e * lanes + l]     as registers are loaded and stored
"""

from __future__ import annotations

from collections.abc import Callable

from .ir import IrWriter


def joined(w: IrWriter, rows: list[str]) -> str:
    """Narrow rows, each of a tile's width, as a wide one, behind each other."""
    width = w.tile
    while len(rows) > 1:
        kind, listed = f"<{width} x {w.scalar}>", ", ".join(f"i32 {k}" for k in range(2 * width))
        rows = [
            w.put(f"shufflevector {kind} {x}, {kind} {y}, <{2 * width} x i32> <{listed}>")
            for x, y in zip(rows[::2], rows[1::2], strict=True)
        ]
        width *= 2
    return rows[0]


def transposed(w: IrWriter, rows: list[str]) -> list[str]:
    """Squares in a row of registers turned about their diagonals, as many as fit: log2(rows) rounds of shuffles."""
    n, step = w.lanes, 1
    while step < len(rows):
        result = list(rows)
        for i in range(len(rows)):
            if i & step:
                continue
            j = i | step
            low = [(k if not k & step else n + (k ^ step)) for k in range(n)]
            high = [(k | step) if not k & step else n + k for k in range(n)]
            for to, mask in ((i, low), (j, high)):
                listed = ", ".join(f"i32 {k}" for k in mask)
                result[to] = w.put(f"shufflevector {w.type} {rows[i]}, {w.type} {rows[j]}, <{n} x i32> <{listed}>")
        rows = result
        step *= 2
    return rows


def into_columns(w: IrWriter, *, apart: bool = False) -> list[str]:
    """The function that copies a block's rows of `size` elements into columns; `apart`: `rows` says where each is."""

    def tile(k: str) -> None:
        rows = [w.put(f"load {_tile(w)}, ptr {_at(w, f'%row{lane}', k)}, align {w.size}") for lane in range(w.lanes)]
        columns = transposed(w, [joined(w, rows[j :: w.tile]) for j in range(w.tile)])
        for j, column in enumerate(columns):
            w.lines.append(f"  store {w.type} {column}, ptr {_column(w, k, j)}, align {w.bytes}")

    def element(k: str) -> None:
        packed = "undef"
        for lane in range(w.lanes):
            scalar = w.put(f"load {w.scalar}, ptr {_at(w, f'%row{lane}', k)}")
            packed = w.put(f"insertelement {w.type} {packed}, {w.scalar} {scalar}, i32 {lane}")
        w.lines.append(f"  store {w.type} {packed}, ptr {_column(w, k)}, align {w.bytes}")

    return _copying(w, "into_columns", tile, element, apart=apart)


def into_rows(w: IrWriter, *, apart: bool = False) -> list[str]:
    """The function that copies columns of `size` elements into a block's rows."""

    def tile(k: str) -> None:
        columns = [w.put(f"load {w.type}, ptr {_column(w, k, j)}, align {w.bytes}") for j in range(w.tile)]
        for j, row in enumerate(transposed(w, columns)):
            for first in range(0, w.lanes, w.tile):
                listed = ", ".join(f"i32 {first + i}" for i in range(w.tile))
                mask = f"<{w.tile} x i32> <{listed}>"
                piece = w.put(f"shufflevector {w.type} {row}, {w.type} {row}, {mask}")
                address = _at(w, f"%row{first + j}", k)
                w.lines.append(f"  store {_tile(w)} {piece}, ptr {address}, align {w.size}")

    def element(k: str) -> None:
        column = w.put(f"load {w.type}, ptr {_column(w, k)}, align {w.bytes}")
        for lane in range(w.lanes):
            scalar = w.put(f"extractelement {w.type} {column}, i32 {lane}")
            w.lines.append(f"  store {w.scalar} {scalar}, ptr {_at(w, f'%row{lane}', k)}")

    return _copying(w, "into_rows", tile, element, apart=apart)


def _copying(
    w: IrWriter, name: str, tile: Callable[[str], None], element: Callable[[str], None], *, apart: bool
) -> list[str]:
    """A loop over tiles of elements, the last over its neighbour, or over elements where there is not one tile."""
    w.restart()
    for lane in range(w.lanes):
        if apart:
            w.lines.append(f"  %at{lane} = getelementptr ptr, ptr %rows, i64 {lane}")
            w.lines.append(f"  %row{lane} = load ptr, ptr %at{lane}")
        else:
            w.lines.append(f"  %first{lane} = mul i64 %size, {lane}")
            w.lines.append(f"  %row{lane} = getelementptr {w.scalar}, ptr %rows, i64 %first{lane}")
    w.lines += [
        f"  %last = sub i64 %size, {w.tile}",
        "  %wide = icmp sge i64 %last, 0",
        "  br i1 %wide, label %tiles, label %elements",
        "tiles:",
        "  %k = phi i64 [0, %entry], [%next, %tiles]",
        "  %inside = icmp sle i64 %k, %last",
        "  %at = select i1 %inside, i64 %k, i64 %last",
    ]
    tile("%at")
    w.lines += [
        f"  %next = add i64 %k, {w.tile}",
        "  %more = icmp slt i64 %next, %size",
        "  br i1 %more, label %tiles, label %done",
        "elements:",
        "  %e = phi i64 [0, %entry], [%after, %elements]",
    ]
    element("%e")
    w.lines += [
        "  %after = add i64 %e, 1",
        "  %again = icmp slt i64 %after, %size",
        "  br i1 %again, label %elements, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return [
        f"define internal void @{name}(ptr noalias %rows, ptr noalias %columns, i64 %size) {{",
        "entry:",
        *w.lines,
    ]


def _tile(w: IrWriter) -> str:
    return f"<{w.tile} x {w.scalar}>"


def _at(w: IrWriter, row: str, k: str) -> str:
    return w.put(f"getelementptr {w.scalar}, ptr {row}, i64 {k}")


def _column(w: IrWriter, k: str, more: int = 0) -> str:
    at = w.put(f"getelementptr {w.type}, ptr %columns, i64 {k}")
    return w.put(f"getelementptr {w.type}, ptr {at}, i64 {more}") if more else at
