"""Kernels for one block of states whose arrays are columns: element e of lane l is x[e * lanes + l].

    code = column_code(kernel)                      # of a kernel of the CPU, in its own precision or another
    code.run([q, qd], [rows])                       # arrays (elements, code.lanes) each, one state a column

The same steps as `kernel(q, qd)` for one state, so the same bits.  Nothing is checked and nothing transposed: it is for
schedules that keep their arrays so (lanes.py).  `fused=False` keeps products and sums apart, as NumPy does.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import disk_cache as disk
from .. import engine
from ..cpu import MachineCode
from ..engine import alone
from ..kernel import Array, Kernel

KEPT = 512
_kept: OrderedDict[tuple[object, ...], MachineCode] = OrderedDict()


@dataclass(frozen=True, eq=False)
class ColumnCode:
    """Machine code, and where its function is that takes an array of pointers."""

    code: MachineCode
    address: int
    lanes: int

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """One block."""
        arrays = [*inputs, *outputs]
        pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)(pointers)


def lanes_of(dtype: Any) -> int:
    """States in a block."""
    return engine.host().lanes("double" if np.dtype(dtype).itemsize == 8 else "float")


@alone
def column_code(kernel: Kernel[Any], dtype: Any = None, *, fused: bool = True) -> ColumnCode:
    """The code of a kernel for one block, from the cache if it was compiled before."""
    kind, number = "columns" if fused else "unfused", np.dtype(kernel.dtype if dtype is None else dtype)
    identity = kernel.identity
    which = (disk.folder(), disk.SOURCES.digest, identity, number, kind)
    code = _kept.pop(which, None) if identity else None
    if code is None:
        code = MachineCode(identity, kind, number, lambda: kernel.program)
    if identity:
        _kept[which] = code
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return ColumnCode(code, code.address("columns", lambda _: kernel.signature), lanes_of(number))
