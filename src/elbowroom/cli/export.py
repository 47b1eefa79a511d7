"""`elbowroom export`: an arm as a file for others, MJCF or URDF."""

from __future__ import annotations

import dataclasses
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..arm import Arm
from ..export import Export, mjcf_with_notes, urdf_with_notes
from ..geometry import Body
from ..loading import load
from ..model import Model
from .show import Tip, What
from .terminal import note, writable


class Format(StrEnum):
    """What can be written."""

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
    pairs = Body(Arm(model)).self_pairs if contacts and model.capsules else ()
    return mjcf_with_notes(model, actuators=actuators.value, contacts=contacts, self_pairs=pairs, adjust=adjust)
