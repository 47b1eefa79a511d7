"""The same bodies as CUDA kernels."""

from __future__ import annotations

from collections.abc import Iterable

from ..arm import Arm
from ..compile import source
from ..compile.source import Layout, Trig
from ..compile.source_support import fused, own_sincos
from ..compile.source_writer import Real
from .functions import functions_of, one_of, prefix_of


def cuda(
    arm: Arm,
    quantities: Iterable[str],
    *,
    real: Real = "double",
    trig: Trig = "own",
    layout: Layout = "columns",
    method: str | None = None,
    wrench: str = "",
    name: str | None = None,
) -> str:
    """CUDA kernels for these quantities, a thread a state, as the text of one file.

    layout="columns": element e of state s is x[e * count + s], a structure of arrays; "rows": x[s * size + e].
    The last argument of a kernel is `count`, the number of states.
    """
    real, trig = one_of("real", real, "double", "float"), one_of("trig", trig, "libm", "own")
    dialect = source.cuda(real, trig, one_of("layout", layout, "columns", "rows"))
    functions = functions_of(arm, quantities, dialect, prefix_of(arm.name, name), method, wrench)
    turns = trig == "own" and any(f.source.has("sin", "cos") for f in functions)
    support = [fused(real), own_sincos(dialect)] if turns else [fused(real)]
    return "\n".join([*support, *(f.source.text(f.name) for f in functions)])
