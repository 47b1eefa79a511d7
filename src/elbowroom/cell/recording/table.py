"""The recording of a run: one table in memory and, as it happens, in a file.

    with Recording(arm.n, Path("run.csv"), notes={"robot": arm.name}) as recording:
        tool = recording.view("tool")             # three numbers of `recording.row`
        ...                                       # in the loop:
        tool[:] = place
        recording.append(task.state, status, verdict, law_status)
    recording.table()["distance_axes"]            # arrays, for metrics
    read("run.csv")                               # the same numbers, bit by bit

`append` copies the row into memory and is done.  A thread of its own writes the file, so a disk that is slow or full
does not hold up the loop, and a process that is killed loses less than a second.

Four times a second the thread encodes the rows that came and writes them.  Only one thread of Python runs at a time,
and a loop that wakes up in the middle of a thousand rows would wait for the interpreter's next change of threads, 5 ms.
So the thread rests after each row, which a loop of up to 8 kHz allows.  Where it is further behind, as when a run goes
as fast as it can, nobody waits for a deadline, and it does not rest.

How rows become bytes is a `RecordingFormat`'s affair: CsvFormat (csv_file.py), or McapFormat (mcap_file.py) for a file
whose name ends in .mcap.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ...arm import Arm
from ...errors import RecordingError, UnknownNameError
from .columns import SIGNALS as SIGNALS
from .columns import TEXT as TEXT
from .columns import Array, places, table
from .columns import RecordedTable as RecordedTable
from .columns import columns as columns
from .csv_file import CsvFormat
from .csv_file import read as read_csv

log = logging.getLogger("elbowroom.cell")
log.addHandler(logging.NullHandler())

BLOCK = 1024  # rows; a power of two
EVERY = 0.25  # s between writes
GENTLE = 2000  # rows behind up to which the thread rests after each
REST = 50e-6  # s
PATIENCE = 0.2  # s after which it rests no more: a loop that never sleeps lets go of the interpreter once in 5 ms
BACKLOG = 128  # blocks that wait for the disk where rows are not kept, some 60 MB

_write = os.write


class RecordingFormat(Protocol):
    """A file format of recordings, for the columns of one arm and one set of notes."""

    @property
    def beginning(self) -> bytes:
        """What the file begins with."""

    def encoded(self, rows: Array, texts: Sequence[str]) -> bytes:
        """Rows (k, width), to be written next; in the columns of `TEXT` they have places in `texts`, which grows."""

    def framed(self, encoded: bytes) -> bytes:
        """What is written at a time: the encoded rows since the last time, all of them."""

    def whole(self, data: bytes) -> tuple[int, int]:
        """Of framed rows that were written in part: how many rows are whole, and where the last of them ends."""

    def ending(self) -> bytes:
        """What a file that is complete ends with."""


CSV, MCAP = ".csv", ".mcap"
"""How the names of recordings end: one that ends otherwise than MCAP is CSV."""


def format_of(path: Path | None, n: int, notes: Mapping[str, str], arm: Arm | None = None) -> RecordingFormat:
    """The format of a file, by the ending of its name."""
    if path is not None and path.suffix.lower() == MCAP:
        from .mcap_file import McapFormat  # needs a package that is optional

        return McapFormat(n, notes, arm)
    return CsvFormat(n, notes)


def read(file: str | Path) -> RecordedTable:
    """The recording in a file, CSV or MCAP, to its last whole row; `torn` says what is missing."""
    path = Path(file)
    if path.suffix.lower() == MCAP:
        from .mcap_read import read as read_mcap

        return read_mcap(path)
    return read_csv(path)


class Recording:
    """Takes the rows of a run of an arm with n joints, and writes them to `path` if there is one.

    `row` is the row of now, float64, a number for each of `columns(n)`: fill it, by `view` or index, and `append`.
    What is not set stays as it was, NaN in the beginning.  Texts go to `append`; each different one is remembered.
    `notes` are the first lines of the file.  With `keep=False` rows leave the memory once they are written, for runs
    without an end.  A file that exists is refused unless `replace` is set, and is gone then at once.  A file whose name
    ends in .mcap is MCAP, which also draws the `arm`, if there is one; any other is CSV.
    """

    def __init__(
        self,
        n: int,
        path: Path | str | None = None,
        *,
        notes: Mapping[str, str] | None = None,
        keep: bool = True,
        replace: bool = False,
        arm: Arm | None = None,
    ) -> None:
        self.columns = columns(n)
        self.n, self.notes, self.keep, self._arm = n, dict(notes or {}), keep, arm
        self.path = None if path is None else Path(path)
        self._places = places(n)
        self.row: Array = np.full(len(self.columns), np.nan)
        self.row[1:7] = 0.0  # texts and counts
        self._source: Any = self.row.data
        self._rows = SharedRows(len(self.columns))
        self._flat: Any = None
        self._codes: dict[str, int] = {}
        self._state = self._status = self._verdict = self._law = ""
        self._state_code = self._status_code = self._verdict_code = self._law_code = self._code("")
        form = format_of(self.path, n, self.notes, arm)  # refuses notes that cannot be written, file or not
        self._writer = None if self.path is None else FileThread(self.path, self._rows, form, keep, replace)
        # An unclosed recording is closed when nobody has it any more, or the program ends.
        self._closing = weakref.finalize(self, _nothing if self._writer is None else self._writer.close)

    def view(self, name: str) -> Array:
        """The part of `row` that holds a quantity: a column, or "tool", "tool_v", "person", "person_v", "goal", "q",
        "qd", "command", "object", "left_hand", "right_hand", "attraction", "repulsion", "residual", "tau".  Assign to
        it in place, `view[:] = ...`.
        """
        if name in self._places:
            return self.row[self._places[name]]
        if name in self.columns:
            k = self.columns.index(name)
            return self.row[k : k + 1]
        raise UnknownNameError(f"Recording.view: expected one of {', '.join(self._places)}; got {name!r}")

    def append(self, state: str, status: str, verdict: str = "", law_status: str = "") -> None:
        """The control step is over: `row`, with these texts, is the next of the recording.  Never waits, never fails.

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
        rows = SharedRows(self._rows.width)
        kept = self._kept()
        rows.blocks = {k: block.reshape(-1) for k, block in enumerate(_blocks(kept))}
        rows.count, rows.texts = len(kept), self._rows.texts
        form = format_of(Path(path), self.n, self.notes, self._arm)
        writer = FileThread(Path(path), rows, form, True, replace)
        writer.close()
        if writer.problem:
            raise RecordingError(writer.problem)

    def close(self) -> None:
        """Writes what is left, waits until it is on the disk, and ends the thread.  A second time does nothing."""
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SharedRows:
    """What the loop and the thread share.  The loop alone adds, `count` last: a row counts when it is there."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.blocks: dict[int, Array] = {}  # of BLOCK rows, flat
        self.count = 0
        self.texts: list[str] = []


class FileThread:
    """The thread that writes a recording's file, and owns it.  An error leaves the file with its last whole row."""

    def __init__(self, path: Path, rows: SharedRows, form: RecordingFormat, keep: bool, replace: bool) -> None:
        self.path, self._rows, self._format, self._keep = path, rows, form, keep
        self._done = 0  # rows in the file
        self._until: float | None = None  # s, of the last of them
        self._reason = ""
        self._size = 0  # bytes of whole rows
        self._file = _opened(path, replace)
        try:
            self._put(form.beginning)
        except OSError as error:  # nothing runs yet, so this is raised at once
            os.close(self._file)
            with contextlib.suppress(OSError):
                if path.is_file():
                    path.unlink()
            raise RecordingError(f"{path}: cannot be written: {_said(error)}") from None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"recording {path.name}", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """What happened, and up to when the file holds rows."""
        reason = self._reason
        if not reason and not self._thread.is_alive() and self._done < self._rows.count:
            reason = "rows came after it was closed"
        if not reason:
            return None
        held = "no row" if self._until is None else f"the {self._done} rows until t = {self._until:.9g} s"
        memory = "; memory holds all of them" if self._keep else ""
        return f"{self.path}: {reason}: the file holds {held}{memory}"

    def give_up(self, reason: str) -> None:
        """No more is written.  The thread says so in the log: the loop must not wait for a terminal either."""
        self._reason = self._reason or reason

    def close(self) -> None:
        """Ends the thread when it has written everything."""
        self._end.set()
        if threading.current_thread() is not self._thread:  # it may be the one that finds a recording nobody has
            self._thread.join()

    def _work(self) -> None:
        try:
            ending = told = False
            while not ending:
                ending = self._end.wait(EVERY)  # asked first: what came before the end is then seen below
                try:
                    self._catch_up(rest=not ending)
                    if ending:
                        if not self._reason:
                            self._put(self._format.ending())
                        self._synchronise()
                except OSError as error:
                    self.give_up(_said(error))
                except Exception as error:  # a thread that dies in silence would leave a file that looks whole
                    self.give_up(f"{type(error).__name__}: {error}")
                if self._reason and not told:
                    told = True
                    log.warning("%s", self.problem)
        finally:
            with contextlib.suppress(OSError):
                os.close(self._file)

    def _synchronise(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a pipe or a device has nothing to synchronise
                raise

    def _catch_up(self, *, rest: bool) -> None:
        """Writes the rows that are there, a block at a time."""
        rows = self._rows
        count = rows.count
        until = time.monotonic() + PATIENCE if rest and count - self._done <= GENTLE else 0.0
        while self._done < count and not self._reason:
            number, first = divmod(self._done, BLOCK)
            block = rows.blocks.get(number)
            if block is None:  # given up, and dropped by the loop
                return
            part = block.reshape(-1, rows.width)[first : first + count - self._done]
            pieces, k = [], 0
            while k < len(part) and time.monotonic() < until:
                pieces.append(self._format.encoded(part[k : k + 1], rows.texts))
                k += 1
                time.sleep(REST)
            pieces.append(self._format.encoded(part[k:], rows.texts))
            self._put(self._format.framed(b"".join(pieces)), part)
            if not self._keep and first + len(part) == BLOCK:
                rows.blocks.pop(number, None)

    def _put(self, encoded: bytes, part: Array | None = None) -> None:
        """To the file.  If that fails, what is left of it are the whole rows."""
        data = memoryview(encoded)
        sent = 0
        try:
            while sent < len(data):
                sent += _write(self._file, data[sent:])
        finally:  # so too where the thread is stopped otherwise
            held, end = self._format.whole(encoded[:sent])
            self._size += end
            if sent < len(data):
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
            if part is not None and held:
                self._done += held
                self._until = float(part[held - 1, 0])


def _opened(path: Path, replace: bool) -> int:
    """The file, new."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags | (os.O_TRUNC if replace else os.O_EXCL), 0o666)
    except FileExistsError:
        raise RecordingError(f"{path}: expected a new file; one is there already, and replace is not set") from None
    except FileNotFoundError:
        raise RecordingError(f"{path}: expected a folder for it; there is no {path.parent}") from None
    except IsADirectoryError:
        raise RecordingError(f"{path}: expected a file; it is a folder") from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {_said(error)}") from None


def _said(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, "")
    return f"{error.strerror or error}" + (f" ({name})" if name else "")


def _nothing() -> None:
    """There is no file."""


def _blocks(rows: Array) -> list[Array]:
    return [rows[k : k + BLOCK] for k in range(0, len(rows), BLOCK)]
