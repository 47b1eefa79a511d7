"""A folder of C, generated as text and then written; and the same bodies as CUDA kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from .. import __version__
from ..arm import Arm
from ..compile import cuda_source
from ..compile.cuda_source import CudaText, Layout
from ..compile.source import Dialect, Trig
from ..compile.source_writer import Real
from ..errors import ElbowroomError, ModelError
from . import files, selftest
from .files import Job
from .functions import Function, functions_of, one_of, prefix_of


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
    kernels = {f.name: CudaText(f.source.program, real, layout, trig) for f in functions}
    return "\n".join([cuda_source.support(kernels.values()), *(k.text(name) for name, k in kernels.items())])


@dataclass(frozen=True)
class Code:
    """A folder of C, not yet written: `files` by name, and the functions in it."""

    prefix: str
    functions: tuple[Function, ...]
    files: Mapping[str, str]

    def write(self, folder: str | PathLike[str], *, force: bool = False) -> list[Path]:
        """Write the files.  A folder that is not empty is refused; with `force` these files are written over."""
        where = Path(folder)
        refuse_taken(where, force=force)
        try:
            where.mkdir(parents=True, exist_ok=True)
            for name, text in self.files.items():
                (where / name).write_text(text, encoding="ascii", newline="\n")
        except OSError as error:
            raise ElbowroomError(f"{where}: cannot be written to: {error.strerror or error}") from error
        return [where / name for name in self.files]


def refuse_taken(folder: Path, *, force: bool) -> None:
    """Refuses a file in the folder's place, and unless forced a folder with anything in it."""
    if folder.exists() and not folder.is_dir():
        raise ElbowroomError(f"{folder}: is a file; expected the name of a folder")
    try:
        taken = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise ElbowroomError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if taken and not force:
        raise ElbowroomError(f"{folder}: is not empty, and nothing in it is overwritten unasked; take another or force")


def generate(
    arm: Arm,
    quantities: Iterable[str],
    *,
    real: Real = "double",
    trig: Trig = "libm",
    method: str | None = None,
    wrench: str = "",
    name: str | None = None,
) -> Code:
    """C for these quantities of an arm: the texts of header, source, self-test, CMake file and README.

    `trig="own"` brings sine and cosine along instead of calling libm's.  `method` is of every quantity; without it the
    cheapest for this arm.  `wrench` is "tool" or "links": dynamics take outside wrenches there.  Files and functions
    begin with `name`, else with the arm's.
    """
    prefix = prefix_of(arm.name, name)
    dialect = Dialect(one_of("real", real, "double", "float"), one_of("trig", trig, "libm", "own"))
    functions = functions_of(arm, quantities, dialect, prefix, method, wrench)
    job = Job(arm.model, prefix, functions, f"elbowroom {__version__}")
    texts = {
        f"{prefix}.h": files.header(job),
        f"{prefix}.c": files.implementation(job),
        f"{prefix}_test.c": _test(job),
        "CMakeLists.txt": files.cmake(job),
        "README.txt": files.readme(job),
    }
    return Code(prefix, functions, MappingProxyType(texts))


def write(
    arm: Arm,
    quantities: Iterable[str],
    folder: str | PathLike[str],
    *,
    real: Real = "double",
    trig: Trig = "libm",
    method: str | None = None,
    wrench: str = "",
    name: str | None = None,
    force: bool = False,
) -> Code:
    """`generate`, and write the files into a folder; see there."""
    code = generate(arm, quantities, real=real, trig=trig, method=method, wrench=wrench, name=name)
    code.write(folder, force=force)
    return code


def _test(job: Job) -> str:
    width = max(len(f.name) for f in job.functions)
    parts = [selftest.HEAD.format(prefix=job.prefix, real=job.real, width=width, states=selftest.STATES)]
    for f in job.functions:
        program = f.source.program
        inputs = selftest.states(job.model, program)
        wanted = selftest.outputs(program, inputs)
        if not all(np.isfinite(x).all() for x in wanted.values()):
            raise ModelError(
                f"{job.model.name}: {f.quantity} by {f.method} is not finite at every state of the self-test"
            )
        most = selftest.limit(program, inputs, wanted, job.real)
        parts.append(selftest.function(f.quantity, f.name, f.source, inputs, wanted, most))
    return "\n".join([*parts, selftest.main(f.quantity for f in job.functions)])
