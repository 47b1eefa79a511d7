"""From Program to machine.  Knows nothing of robots."""

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
