"""Batch validity on a CUDA card: the same compiled programs, one configuration a thread.

    against = OnCard(checker, world, margin=0.02)
    against.slack(Q)            Q (n, B), CuPy or what has DLPack -> (B,) m on the card

Arrays are columns, (n, B): neighbours read neighbours.  What a configuration's loop over the world reads is the same
for all of them and stays in the card's caches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...compile.cuda import CudaKernel, library
from .checker import Checker, tables
from .world import World


class OnCard:
    """A checker's slack for one world and margin, computed on the card; joint limits are not looked at."""

    def __init__(self, checker: Checker, world: World, margin: float = 0.0, dtype: DTypeLike = np.float32) -> None:
        cupy = library()
        self.dtype = np.dtype(dtype)
        placing = checker.placing(np.float32, False)
        self._placing = CudaKernel("capsules", placing.program, self.dtype, "columns")
        self._loops = []
        for rows in tables(world, margin) if checker.moving else ():
            loop = checker.loop(rows.shape[1], len(rows), np.float32, False)
            kernel = CudaKernel("clearance", loop.program, self.dtype, "columns")
            self._loops.append((kernel, cupy.asarray(rows.astype(self.dtype))))

    def slack(self, q: Any, *, check: bool = True) -> Any:
        """(B,) m for Q (n, B): what is left of the clearance to the world after the margin, or between the links."""
        ends, own = self._placing(q, check=check)
        least = own.min(axis=0, keepdims=True)
        for kernel, rows in self._loops:
            least = kernel(ends, least, rows, check=check)
        return least[0]
