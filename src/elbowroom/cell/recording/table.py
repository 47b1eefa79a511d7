"""The recording of a run: one table, a row a cycle, in memory and, as it happens, in a CSV file.

    with Recording(arm.n, Path("run.csv"), notes={"robot": arm.name}) as recording:
        tool = recording.view("tool")             # three numbers of `recording.row`
        ...                                       # in the loop:
        tool[:] = place
        recording.append(task.state, status, verdict, law_status)
    recording.table()["distance_axes"]            # arrays, for metrics
    read("run.csv")                               # the same numbers, bit by bit

`append` copies the row into memory and is done.  A thread of its own (writer.py) turns rows into text and writes
them, so a disk that is slow or full does not hold up the loop, and a process that is killed loses less than a second.
What the file looks like is in file.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ...errors import RecordingError, UnknownNameError
from .file import SIGNALS as SIGNALS
from .file import TEXT as TEXT
from .file import Array, cell, head, places, table
from .file import RecordedTable as RecordedTable
from .file import columns as columns
from .file import read as read
from .writer import BLOCK, Rows, Writer

BACKLOG = 128  # blocks that wait for the disk where rows are not kept, some 60 MB


class Recording:
    """Takes the rows of a run of an arm with n joints, and writes them to `path` if there is one.

    `row` is the row of now, float64, a number for each of `columns(n)`: fill it, by `view` or index, and `append`.
    What is not set stays as it was, NaN in the beginning.  Texts go to `append`; each different one is remembered.
    `notes` are the first lines of the file.  With `keep=False` rows leave the memory once they are written, for runs
    without an end.  A file that exists is refused unless `replace` is set, and is gone then at once.
    """

    def __init__(
        self,
        n: int,
        path: Path | str | None = None,
        *,
        notes: Mapping[str, str] | None = None,
        keep: bool = True,
        replace: bool = False,
    ) -> None:
        self.columns = columns(n)
        self.n, self.notes, self.keep = n, dict(notes or {}), keep
        self.path = None if path is None else Path(path)
        self._places = places(n)
        self.row: Array = np.full(len(self.columns), np.nan)
        self.row[1:7] = 0.0  # texts and counts
        self._source: Any = self.row.data
        self._rows = Rows(len(self.columns))
        self._flat: Any = None
        self._codes: dict[str, int] = {}
        self._state = self._status = self._verdict = self._law = ""
        self._state_code = self._status_code = self._verdict_code = self._law_code = self._code("")
        beginning = head(n, self.notes)  # refuses notes that cannot be written, file or not
        self._writer = None if self.path is None else Writer(self.path, self._rows, beginning, keep, replace)
        # An unclosed recording is closed when nobody has it any more, or the program ends.
        self._closing = weakref.finalize(self, _nothing if self._writer is None else self._writer.close)

    def view(self, name: str) -> Array:
        """The part of `row` that holds a quantity: a column, or "tool", "tool_v", "person", "person_v", "goal", "q",
        "qd", "command", "object", "left_hand", "right_hand", "attraction", "repulsion".  Assign to it in place,
        `view[:] = ...`.
        """
        if name in self._places:
            return self.row[self._places[name]]
        if name in self.columns:
            k = self.columns.index(name)
            return self.row[k : k + 1]
        raise UnknownNameError(f"Recording.view: expected one of {', '.join(self._places)}; got {name!r}")

    def append(self, state: str, status: str, verdict: str = "", law_status: str = "") -> None:
        """The cycle is over: `row`, with these texts, is the next of the recording.  Never waits, never fails.

        `state` is the task's, `status` what the arm did; `verdict` and `law_status` are what supervisor and controller
        said, each for itself.
        """
        if state is not self._state:  # names repeat from cycle to cycle, so that this is cheaper than looking them up
            self._state_code = self._code(state)
            self._state = state
        if status is not self._status:
            self._status_code = self._code(status)
            self._status = status
        if verdict is not self._verdict:
            self._verdict_code = self._code(verdict)
            self._verdict = verdict
        if law_status is not self._law:
            self._law_code = self._code(law_status)
            self._law = law_status
        source, rows = self._source, self._rows
        source[1], source[2], source[3] = self._state_code, self._status_code, self._verdict_code
        source[4] = self._law_code
        count, width = rows.count, rows.width
        at = (count & (BLOCK - 1)) * width
        if not at:
            self._turn(count)
        self._flat[at : at + width] = source
        rows.count = count + 1  # last: Ctrl-C before it leaves the row out, and nothing half done

    def _code(self, text: str) -> int:
        text = str(text)
        code = self._codes.get(text)
        if code is None:
            code = len(self._rows.texts)
            self._rows.cells.append(cell(text))
            self._rows.texts.append(text)
            self._codes[text] = code
        return code

    def _turn(self, count: int) -> None:
        """A new block, for the row of that number."""
        blocks = self._rows.blocks
        if not self.keep:
            writer = self._writer
            if writer is not None and not writer.problem and len(blocks) >= BACKLOG:
                writer.give_up(f"the disk is {BACKLOG * BLOCK} rows behind")
            if writer is None or writer.problem:
                blocks.clear()
        block = np.empty(BLOCK * self._rows.width)
        blocks[count // BLOCK] = block
        self._flat = block.data

    def __len__(self) -> int:
        return self._rows.count

    @property
    def problem(self) -> str | None:
        """None, or why the file does not hold every row, and up to when it does."""
        return None if self._writer is None else self._writer.problem

    def table(self) -> dict[str, Array]:
        """The columns so far: name -> (k,), text, int64 for counts, or float64."""
        return table(self._kept(), self.n, self._rows.texts)

    def _kept(self) -> Array:
        if not self.keep:
            raise RecordingError(
                "Recording: expected keep=True, for a table; got keep=False, by which rows are not kept"
            )
        rows, count = self._rows, self._rows.count
        blocks = [rows.blocks[k] for k in range(-(-count // BLOCK))]
        whole: Array = np.concatenate(blocks) if blocks else np.empty(0)
        return whole.reshape(-1, rows.width)[:count]

    def save(self, path: Path | str, *, replace: bool = False) -> None:
        """Every row so far to another file, as after a full disk.  Not for the control loop: disks make one wait."""
        rows = Rows(self._rows.width)
        kept = self._kept()
        rows.blocks = {k: block.reshape(-1) for k, block in enumerate(_blocks(kept))}
        rows.count, rows.cells = len(kept), self._rows.cells
        writer = Writer(Path(path), rows, head(self.n, self.notes), True, replace)
        writer.close()
        if writer.problem:
            raise RecordingError(writer.problem)

    def close(self) -> None:
        """Writes what is left, waits until it is on the disk, and ends the thread.  A second time does nothing."""
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _nothing() -> None:
    """There is no file."""


def _blocks(rows: Array) -> list[Array]:
    return [rows[k : k + BLOCK] for k in range(0, len(rows), BLOCK)]
