"""Memory of large results, used again: what the system gives anew has to be filled with zeros, page by page.

    fresh((4096, 7, 7), np.dtype(float))        an array as np.empty gives it
    piece((1001, 15, 3), np.dtype(float))       the same, for some hundred kB that are written once and read once

C libraries hand memory of some megabytes back to the system as soon as it is free, and the next result then waits for
new pages longer than the kernel computes (0.2 us a page of 4 kB, beside 0.08 us for what a derivative writes into it).
Here the memory of a result waits for the next of the same size, at most `KEPT` pieces of at most `LARGEST` bytes, from
when the last array that looks at it is gone.  Pieces come in `SIZES`, a quarter apart, so that those of campaigns whose
runs are not equally long serve each other; when more than `IDLE` bytes of them wait, none
is kept any longer; a slab of them goes back to the system with its last piece.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LARGE, LARGEST = 1 << 20, 1 << 24  # bytes: smaller ones the C library keeps; of larger ones too much would lie idle
KEPT = 8
_idle: deque[Array] = deque(maxlen=KEPT)  # appending and popping need no lock, so a finalizer may do it anywhere
SLAB = 1 << 24  # bytes, of which pieces are cut
PIECE, LINE = 1 << 14, 64  # bytes: of the smallest piece, and what all of them begin at multiples of
IDLE = 1 << 28  # bytes
SIZES = [PIECE]
while SIZES[-1] < SLAB // 4:
    SIZES.append(-(-5 * SIZES[-1] // (4 * LINE)) * LINE)
_pieces: dict[int, deque[Array]] = {size: deque() for size in SIZES}
_slab = [np.empty(0, np.uint8)]  # what is left of the last
_cutting = threading.Lock()


class _Lent:
    """Memory that an array and all its views are made on; it is idle again when they are gone."""

    def __init__(self, memory: Array, shape: tuple[int, ...], dtype: np.dtype[Any], idle: deque[Array] = _idle) -> None:
        self.memory, self.idle = memory, idle  # idle: the module may be gone at the end
        self.__array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (memory.__array_interface__["data"][0], False),
            "version": 3,
        }

    def __del__(self) -> None:
        self.idle.append(self.memory)


class _LentPiece(_Lent):
    """The same of a piece."""

    def __del__(self, pieces: dict[int, deque[Array]] = _pieces, most: int = IDLE) -> None:
        self.idle.append(self.memory)
        if sum(size * len(idle) for size, idle in pieces.items()) > most:
            for idle in pieces.values():
                idle.clear()


def fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array with any content, as np.empty gives it."""
    size = math.prod(shape) * dtype.itemsize
    if not LARGE <= size <= LARGEST:
        return np.empty(shape, dtype)
    return np.asarray(_Lent(_taken(size), shape, dtype))


def _taken(size: int) -> Array:
    """Idle memory of exactly this size, or new."""
    for _ in range(len(_idle)):
        try:
            memory = _idle.popleft()
        except IndexError:  # another thread was faster
            break
        if memory.nbytes == size:
            return memory
        _idle.append(memory)
    return np.empty(size, np.uint8)


def piece(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array with any content; one that is small, or too large for a slab, is of the C library."""
    size = math.prod(shape) * dtype.itemsize
    if not PIECE <= size <= SLAB // 4:
        return np.empty(shape, dtype)
    size = SIZES[bisect_left(SIZES, size)]
    idle = _pieces[size]
    try:
        memory = idle.pop()
    except IndexError:
        memory = _cut(size + 17 * LINE)  # those that are read side by side begin at other places of a page
    return np.asarray(_LentPiece(memory, shape, dtype, idle))


def _cut(size: int) -> Array:
    with _cutting:
        if len(_slab[0]) < size:
            slab = np.empty(SLAB, np.uint8)
            _slab[0] = slab[-slab.ctypes.data % LINE :]
        found, _slab[0] = _slab[0][:size], _slab[0][size:]
    return found
