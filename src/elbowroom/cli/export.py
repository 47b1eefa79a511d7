"""`elbowroom export` and `elbowroom codegen`: an arm as MJCF or URDF, and its dynamics as C for a controller."""

from __future__ import annotations

import dataclasses
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .terminal import Tip, What, free_folder, line, note, plain, table, writable

if TYPE_CHECKING:
    from ..export import Export
    from ..model import Model


class Format(StrEnum):
    """The file formats of an arm."""

    MJCF = "mjcf"
    URDF = "urdf"


class Actuators(StrEnum):
    """How MuJoCo may drive the arm."""

    NONE = "none"
    TORQUE = "torque"
    VELOCITY = "velocity"
    POSITION = "position"


def export(
    what: What,
    format: Annotated[Format, typer.Option(help="MJCF for MuJoCo, URDF for ROS, Pinocchio and others.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write it.  [stdout]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    actuators: Annotated[Actuators, typer.Option(help="MJCF: one a joint, named after it.")] = Actuators.NONE,
    contacts: Annotated[bool, typer.Option(help="MJCF: whether the arm's capsules touch anything.")] = True,
    cover: Annotated[str | None, typer.Option(metavar="NAME", help="Another of the arm's covers as its shape.")] = None,
    allow_adjust: Annotated[
        bool, typer.Option("--allow-adjust", help="MJCF: change bodies that could not exist, by the least there is.")
    ] = False,
    tip: Tip = None,
) -> None:
    """Write an arm as MJCF or URDF.

    \b
    elbowroom export panda --format mjcf --actuators torque --out panda.xml
    elbowroom export my.urdf --tip tool0 --format urdf

    Joint torques, poses and shapes are kept.  What the format cannot hold is said on stderr and at the top of the file.
    """
    from ..export import urdf_with_notes
    from ..loading import load

    if format is Format.URDF and (actuators is not Actuators.NONE or not contacts or allow_adjust):
        raise typer.BadParameter("--actuators, --no-contacts and --allow-adjust are of --format mjcf alone")
    if out is not None:
        writable(out, force)
    model = load(what, tip).model
    if cover is not None:
        model = dataclasses.replace(model, capsules=model.cover(cover))
    written = urdf_with_notes(model) if format is Format.URDF else _mjcf(model, actuators, contacts, allow_adjust)
    for told in written.notes:
        note("note", told)
    if out is None:
        sys.stdout.write(written.text)
        return
    with out.open("w" if force else "x", encoding="ascii", newline="\n") as file:
        file.write(written.text)


def _mjcf(model: Model, actuators: Actuators, contacts: bool, adjust: bool) -> Export:
    from ..arm import Arm
    from ..export import mjcf_with_notes
    from ..geometry import Body

    pairs = Body(Arm(model)).self_pairs if contacts and model.capsules else ()
    return mjcf_with_notes(model, actuators=actuators.value, contacts=contacts, self_pairs=pairs, adjust=adjust)


# ---- C


class Language(StrEnum):
    """The languages of generated code."""

    C = "c"


class TrigSource(StrEnum):
    """Where sine and cosine come from."""

    LIBM = "libm"
    OWN = "own"


class WrenchAt(StrEnum):
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
    trig: Annotated[
        TrigSource, typer.Option(help="Sine and cosine of libm, or our own: no library then.")
    ] = TrigSource.LIBM,
    method: Annotated[str | None, typer.Option(metavar="NAME", help="Of every quantity.  [the cheapest]")] = None,
    wrench: Annotated[WrenchAt | None, typer.Option(help="Dynamics take outside wrenches there.  [none]")] = None,
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
    from ..codegen import generate
    from ..loading import load

    free_folder(out, force)
    arm = load(what, tip)
    code = generate(
        arm,
        quantities,
        real="float" if single else "double",
        trig="own" if trig is TrigSource.OWN else "libm",
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
