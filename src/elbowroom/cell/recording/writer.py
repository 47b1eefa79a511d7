"""The thread that writes the file of a recording while the loop goes on.

Four times a second it turns the rows that came into text and writes them.  Only one thread of Python runs at a time,
and a loop that wakes up in the middle of a thousand rows would wait for the interpreter's next change of threads, 5 ms.
So the thread rests after each row, which a loop of up to 8 kHz allows.  Where it is further behind, as when a run goes
as fast as it can, nobody waits for a deadline, and it does not rest.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import time
from pathlib import Path

from ...errors import RecordingError
from .file import Array, text

log = logging.getLogger("elbowroom.cell")
log.addHandler(logging.NullHandler())

BLOCK = 1024  # rows; a power of two
EVERY = 0.25  # s between writes
GENTLE = 2000  # rows behind up to which the thread rests after each
REST = 50e-6  # s
PATIENCE = 0.2  # s after which it rests no more: a loop that never sleeps lets go of the interpreter once in 5 ms

_write = os.write


class Rows:
    """What the loop and the thread share.  The loop alone adds, `count` last: a row counts when it is there."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.blocks: dict[int, Array] = {}  # of BLOCK rows, flat
        self.count = 0
        self.texts: list[str] = []
        self.cells: list[str] = []  # the same, as they stand in the file


class Writer:
    """The thread that writes; it owns the file.  After an error it leaves the file with its last whole row."""

    def __init__(self, path: Path, rows: Rows, beginning: str, keep: bool, replace: bool) -> None:
        self.path, self._rows, self._keep = path, rows, keep
        self._done = 0  # rows in the file
        self._until: float | None = None  # s, of the last of them
        self._reason = ""
        self._size = 0  # bytes of whole rows
        self._file = _opened(path, replace)
        try:
            self._put(beginning)
        except OSError as error:  # nothing runs yet, so this is told at once
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
            lines, k = [], 0
            while k < len(part) and time.monotonic() < until:
                lines.append(text(part[k : k + 1], rows.cells))
                k += 1
                time.sleep(REST)
            lines.append(text(part[k:], rows.cells))
            self._put("".join(lines), part)
            if not self._keep and first + len(part) == BLOCK:
                rows.blocks.pop(number, None)

    def _put(self, lines: str, part: Array | None = None) -> None:
        """To the file.  If that fails, what is left of it are the whole lines."""
        data = memoryview(lines.encode())
        sent = 0
        try:
            while sent < len(data):
                sent += _write(self._file, data[sent:])
        finally:  # so too where the thread is stopped otherwise
            whole = bytes(data[:sent])
            self._size += whole.rfind(b"\n") + 1
            if sent < len(data):
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
            if part is not None and (held := whole.count(b"\n")):
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
