"""The same bodies as CUDA kernels."""

from __future__ import annotations

from collections.abc import Iterable

from ..arm import Arm
from ..compile import cuda_source
from ..compile.cuda_source import Kernel, Layout
from ..compile.source import Trig
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
    """CUDA kernels for these quantities, a thread a state, as the text of one file for nvcc or NVRTC.

    layout="columns": element e of state s is x[e * count + s], a structure of arrays; "rows": x[s * size + e].
    After the arrays a kernel takes `count`, the number of states, and `odd`: null, or an int on the card that becomes
    1 if an input is not finite.  The threads of a block are in its __launch_bounds__.
    """
    real, trig = one_of("real", real, "double", "float"), one_of("trig", trig, "libm", "own")
    one_of("layout", layout, *cuda_source.LAYOUTS)
    dialect = cuda_source.dialect(real, trig)
    functions = functions_of(arm, quantities, dialect, prefix_of(arm.name, name), method, wrench)
    kernels = {f.name: Kernel(f.source.program, real, layout, trig) for f in functions}
    return "\n".join([cuda_source.support(kernels.values()), *(k.text(name) for name, k in kernels.items())])
