"""Recordings from one file format to another: CSV, MCAP, Parquet.

    convert("run.csv", "run.mcap")          for Foxglove and Rerun; the numbers are the same to the bit
    convert("run.mcap", "run.parquet")      for pandas, Polars and DuckDB

Parquet is written only: one column per quantity, the notes as metadata of the schema (pyarrow, extra `campaign`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...arm import Arm
from ...errors import ElbowroomError, RecordingError, did_you_mean, pip_install
from ...reading import named
from .columns import TEXT, RecordedTable, columns
from .table import BLOCK, FileThread, SharedRows, format_of, read

ENDINGS = (".csv", ".mcap", ".parquet")


def convert(source: str | Path, target: str | Path, *, replace: bool = False, arm: Arm | None = None) -> RecordedTable:
    """Writes a recording again, in the format that the target's name asks for; what was read.

    An `arm` is drawn in MCAP.  A file that exists is refused unless `replace` is set.
    """
    path = Path(target)
    if path.suffix.lower() not in ENDINGS:
        expected = f"a name that ends in {', '.join(ENDINGS)}"
        raise RecordingError(
            f"{named(path)}: expected {expected}; got {path.suffix!r}{did_you_mean(path.suffix, ENDINGS)}"
        )
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise RecordingError(f"{named(path)}: expected another file than the recording itself")
    table = read(source)
    write(table, path, replace=replace, arm=arm)
    return table


def write(table: RecordedTable, path: Path, *, replace: bool = False, arm: Arm | None = None) -> None:
    """Writes a table to a file, in the format that its name asks for."""
    if path.suffix.lower() == ".parquet":
        _parquet(table, path, replace)
        return
    texts: dict[str, int] = {"": 0}
    values = []
    for name in columns(table.n):
        column = table[name]
        values.append([texts.setdefault(str(x), len(texts)) for x in column] if name in TEXT else column)
    whole = np.column_stack(values).astype(float)
    rows = SharedRows(whole.shape[1])
    rows.blocks = {k: whole[k * BLOCK : (k + 1) * BLOCK].reshape(-1) for k in range(-(-len(whole) // BLOCK))}
    rows.count, rows.texts = len(whole), list(texts)
    writer = FileThread(path, rows, format_of(path, table.n, table.notes, arm), True, replace)
    writer.close()
    if writer.problem:
        raise RecordingError(writer.problem)


def _parquet(table: RecordedTable, path: Path, replace: bool) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ElbowroomError(f"Parquet needs the package pyarrow: {pip_install('campaign')}") from None
    if path.exists() and not replace:
        raise RecordingError(f"{named(path)}: expected a new file; one is there already, and replace is not set")
    found = pa.table({name: table[name] for name in table})
    notes = {f"elbowroom.{key}": value.encode(errors="backslashreplace") for key, value in table.notes.items()}
    try:
        parquet.write_table(found.replace_schema_metadata(notes), path)
    except OSError as error:
        raise RecordingError(f"{named(path)}: cannot be written: {error.strerror or error}") from None
