"""Recordings of a live session: a change of settings ends the file and begins the next one beside it.

    run.csv, run-2.csv, run-3.csv ...

The notes of a recording say with which settings it was made.  So a change of them ends the file, and the next cycle is
the first row of another, with the new ones in its notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from ...cell.recording.log import Log, record_to
from ...cell.recording.table import Recording
from ...cell.runner import Cell
from ...errors import ElbowroomError


class SessionRecording:
    """What is recorded now, if anything; `saved` says what was."""

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self.saved = ""
        self._log: Log | None = None
        self._first = Path()
        self._parts = self._cycles = 0
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """What the disk does not do, empty if it does all."""
        return self._trouble or ("" if self.recording is None else self.recording.problem or "")

    def begin(self, cell: Cell, path: Path, notes: Mapping[str, str]) -> None:
        """A new recording; one that is being made ends."""
        self.end()
        self._first, self._parts, self._cycles, self._trouble = path, 0, 0, ""
        self._open(cell, path, notes)

    def _open(self, cell: Cell, path: Path, notes: Mapping[str, str], *, replace: bool = False) -> None:
        # rows leave the memory once they are written: a page may stay open for days
        self.recording = record_to(cell, path, notes=notes, replace=replace, keep=False)
        self._log = Log(cell, self.recording)
        self._parts += 1

    def change(self, cell: Cell, notes: Mapping[str, str]) -> None:
        """Goes on with other settings, or another cell, in the next file; a file without a row yet is made again."""
        old = self.recording
        if old is None or old.path is None:
            return
        again, before = len(old) == 0, self.saved
        self.end()
        if again:
            path, self._parts, self.saved = old.path, self._parts - 1, before
        else:
            names = (self._first.with_stem(f"{self._first.stem}-{k}") for k in count(self._parts + 1))
            path = next(name for name in names if not name.exists())
        try:
            self._open(cell, path, notes, replace=again)
        except (ElbowroomError, OSError) as error:  # the settings have changed all the same
            self._trouble = f"the recording has ended: {error}"

    def add(self, t: float) -> None:
        """The cycle at t."""
        if self._log is not None:
            self._log.add(t)

    def end(self) -> None:
        """Closes the file, if there is one."""
        recording, self.recording, self._log = self.recording, None, None
        if recording is None:
            return
        recording.close()
        self._cycles += len(recording)
        last = f" to {recording.path.name}" if recording.path not in (None, self._first) else ""
        files = f" in {self._parts} files" if self._parts > 1 else ""
        self.saved = f"{self._first}{last} ({recording.problem or f'{self._cycles} cycles{files}'})"
