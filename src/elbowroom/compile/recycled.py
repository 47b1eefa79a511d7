"""Memory of large results, used again: what the system gives anew has to be filled with zeros, page by page.

    fresh((4096, 7, 7), np.dtype(float))        an array as np.empty gives it

C libraries hand memory of some megabytes back to the system as soon as it is free, and the next result then waits for
new pages longer than the kernel computes (0.2 us a page of 4 kB, beside 0.08 us for what a derivative writes into it).
Here the memory of a result waits for the next of the same size, at most `KEPT` pieces of at most `LARGEST` bytes, from
when the last array that looks at it is gone.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LARGE, LARGEST = 1 << 20, 1 << 24  # bytes: smaller ones the C library keeps; of larger ones too much would lie idle
KEPT = 8
_idle: deque[Array] = deque(maxlen=KEPT)  # appending and popping need no lock, so a finalizer may do it anywhere


class _Lent:
    """Memory that an array and all its views are made on; it is idle again when they are gone."""

    def __init__(self, memory: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (memory.__array_interface__["data"][0], False),
            "version": 3,
        }

    def __del__(self, idle: deque[Array] = _idle) -> None:  # bound here: the module may be gone at the end
        idle.append(self.memory)


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
