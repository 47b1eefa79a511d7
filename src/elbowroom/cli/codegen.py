"""`elbowroom codegen`: quantities of an arm as C for a controller."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..codegen import generate
from ..codegen.folder import refuse_taken
from ..errors import ElbowroomError
from ..loading import load
from .show import Tip, What
from .terminal import line, plain, table


class Language(StrEnum):
    """What can be written."""

    C = "c"


class Trig(StrEnum):
    """Where sine and cosine come from."""

    LIBM = "libm"
    OWN = "own"


class Wrench(StrEnum):
    """Where outside forces act."""

    TOOL = "tool"
    LINKS = "links"


def codegen(
    what: What,
    quantities: Annotated[
        list[str], typer.Argument(metavar="QUANTITY", help="What to compute, such as mass_matrix inverse_dynamics.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into; made if it is not there.")],
    lang: Annotated[Language, typer.Option(help="C99, which is C++ too.")] = Language.C,
    single: Annotated[bool, typer.Option("--float", help="Single precision.  [double]")] = False,
    trig: Annotated[Trig, typer.Option(help="Sine and cosine of libm, or our own: no library then.")] = Trig.LIBM,
    method: Annotated[str | None, typer.Option(metavar="NAME", help="Of every quantity.  [the cheapest]")] = None,
    wrench: Annotated[Wrench | None, typer.Option(help="Dynamics take outside wrenches there.  [none]")] = None,
    name: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="What files and functions begin with.  [the arm's name]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    tip: Tip = None,
) -> None:
    """Write C for a controller: a header, the functions, a self-test and a CMake file.

    \b
    elbowroom codegen panda mass_matrix inverse_dynamics --out panda_c
    elbowroom codegen my.urdf gravity_torque --tip tool0 --float --trig own --out arm_c

    No allocation, no state, no branches on data.  The numbers are those of the library, to rounding.
    """
    try:
        refuse_taken(out, force=force)
    except ElbowroomError as error:
        raise ElbowroomError(str(error).replace("or force", "or --force")) from error
    arm = load(what, tip)
    code = generate(
        arm,
        quantities,
        real="float" if single else "double",
        trig="own" if trig is Trig.OWN else "libm",
        method=method,
        wrench=wrench.value if wrench else "",
        name=name,
    )
    written = code.write(out, force=force)
    rows = []
    for f in code.functions:
        c = f.source.program.count
        rows.append([f.name, f.method, c.mul, c.add, c.div, c.sqrt, c.sincos])
    table(["function", "method", "mul", "add", "div", "root", "sin, cos"], rows, words=2)
    line("\nWritten:", plain(", ".join(str(path) for path in written)))
