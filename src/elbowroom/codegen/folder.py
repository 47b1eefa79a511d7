"""A folder of C, generated as text and then written; and the same bodies as CUDA kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from .. import __version__, dynamics
from ..arm import Arm
from ..compile.cuda import LAYOUTS, CudaText, Layout, dialect, support
from ..compile.source import Dialect, Real, Source, Trig, identifier
from ..errors import ElbowroomError, ModelError
from . import files, selftest
from .files import CFunction, CLibrary

T = TypeVar("T", bound=str)

NAMES = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"""
HEADERS = frozenset(NAMES.split())
"""Headers of C, which a header of ours would hide."""


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
    one_of("layout", layout, *LAYOUTS)
    spelling = dialect(real, trig)
    functions = functions_of(arm, quantities, spelling, prefix_of(arm.name, name), method, wrench)
    kernels = {f.name: CudaText(f.source.program, real, layout, trig) for f in functions}
    return "\n".join([support(kernels.values()), *(k.text(name) for name, k in kernels.items())])


@dataclass(frozen=True)
class Code:
    """A folder of C, not yet written: `files` by name, and the functions in it."""

    prefix: str
    functions: tuple[CFunction, ...]
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
    library = CLibrary(arm.model, prefix, functions, f"elbowroom {__version__}")
    texts = {
        f"{prefix}.h": files.header(library),
        f"{prefix}.c": files.implementation(library),
        f"{prefix}_test.c": _test(library),
        "CMakeLists.txt": files.cmake(library),
        "README.txt": files.readme(library),
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


def _test(library: CLibrary) -> str:
    width = max(len(f.name) for f in library.functions)
    parts = [selftest.HEAD.format(prefix=library.prefix, real=library.real, width=width, states=selftest.STATES)]
    for f in library.functions:
        program = f.source.program
        inputs = selftest.states(library.model, program)
        wanted = selftest.outputs(program, inputs)
        if not all(np.isfinite(x).all() for x in wanted.values()):
            raise ModelError(
                f"{library.model.name}: {f.quantity} by {f.method} is not finite at every state of the self-test"
            )
        most = selftest.limit(program, inputs, wanted, library.real)
        parts.append(selftest.function(f.quantity, f.name, f.source, inputs, wanted, most))
    return "\n".join([*parts, selftest.main(f.quantity for f in library.functions)])


# ---- what is asked for: checked and traced


def functions_of(
    arm: Arm, quantities: Iterable[str], dialect: Dialect, prefix: str, method: str | None, wrench: str
) -> tuple[CFunction, ...]:
    """A function for each quantity, by the method that is named or by the cheapest for this arm."""
    names = [quantities] if isinstance(quantities, str) else list(dict.fromkeys(quantities))
    if not names:
        raise ElbowroomError(f"quantities: expected at least one of {', '.join(dynamics.REGISTRY)}; got none")
    one_of("wrench", wrench, "", "tool", "links")
    made = []
    for quantity in names:
        what = dynamics.quantity(quantity)
        at = wrench if what.wrench else ""
        if method is None:
            chosen, program = dynamics.cheapest(arm.model, quantity, wrench=at)
        else:
            chosen, program = method, dynamics.program(arm.model, quantity, method, wrench=at)
        made.append(CFunction(f"{prefix}_{quantity}", quantity, chosen, what.unit, at, Source(program, dialect)))
    if wrench and not any(f.wrench for f in made):
        raise ElbowroomError(f"wrench: none of {', '.join(names)} takes outside wrenches; leave it out")
    return tuple(made)


def prefix_of(arm: str, name: str | None) -> str:
    """What files and functions begin with: the name that was asked for, else the arm's as C takes it."""
    prefix = identifier(arm)
    if name is None:
        return f"{prefix}_arm" if prefix.lower() in HEADERS else prefix
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,59}", name):
        raise ElbowroomError(
            f"name: expected at most 60 letters, digits and _, a letter first, for files and C functions; got {name!r}"
        )
    if name.lower() in HEADERS:
        raise ElbowroomError(f"name: {name}.h would hide a header of C; take another")
    return name


def one_of(name: str, value: T, *known: str) -> T:
    """The value, if it is one of the known ones."""
    if value not in known:
        raise ElbowroomError(f"{name}: expected one of {', '.join(map(repr, known))}; got {value!r}")
    return value
