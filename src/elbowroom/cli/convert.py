"""`elbowroom convert`: a recording as CSV, MCAP or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ElbowroomError
from .terminal import line, note, writable

if TYPE_CHECKING:
    from ..arm import Arm


def convert(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, CSV or MCAP.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="OUT.mcap, OUT.csv or OUT.parquet.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a recording in another format.

    \b
    elbowroom convert run.csv run.mcap          for Foxglove, Rerun and rosbags
    elbowroom convert run.mcap run.csv          the same numbers, to the bit
    elbowroom convert run.mcap run.parquet      for pandas, Polars and DuckDB
    """
    from ..cell.recording import convert as formats
    from ..cell.recording.table import read

    writable(target, force)
    if target.suffix.lower() not in formats.ENDINGS or not source.exists():
        formats.convert(source, target, replace=force)  # which says what is wrong
    table = read(source)
    if table.torn:
        note("warning", table.torn)
    formats.write(table, target, replace=force, arm=_arm(table.notes, source))
    line(f"{target}: {table.rows} control steps, {target.stat().st_size / 1e6:.1f} MB")


def _arm(notes: dict[str, str], source: Path) -> Arm | None:
    """The arm of a recording, to be drawn; None where the recording does not say, or its file is gone."""
    from ..arm import Arm
    from ..cell.layout import mounted
    from ..cell.recording.arm_note import ARM, arm_of
    from ..cell.scene import NOTE, scene_of

    try:
        if ARM in notes:
            return Arm(arm_of(notes[ARM]))
        if NOTE not in notes:
            return None
        return mounted(scene_of(notes[NOTE], source.parent))
    except (ElbowroomError, OSError) as error:
        note("warning", f"the arm is not drawn: {error}")
        return None
