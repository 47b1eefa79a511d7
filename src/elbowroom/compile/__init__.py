"""From Program to machine.  Knows nothing of robots.

recipe, identity        `compiled`, where every kernel comes from, and its name in the cache
kernel, method          what is called: kernels, and methods of classes that kernels compute
lower                   the steps that a machine does
cpu, llvm, engine       kernels of the CPU, their LLVM IR, and machine code in memory
ir, emit, loops, rolled, sincos, log, transpose, finite   pieces of that IR
entry, pipeline, pipeline_code                            calls from Python; many kernels in one native call
cuda, source, source_support                              kernels of a card; text of CUDA and C
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .kernel import Kernel as Kernel

if _TYPE_CHECKING:
    from .recipe import compiled as compiled


def __getattr__(name: str) -> _Any:
    if name == "compiled":  # brings LLVM along, which sources for other compilers do without
        from .recipe import compiled

        return compiled
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
