"""Input files: bytes up to a cap, TOML up to a depth, numbers in decimal; and text files written whole.

Every file that a user names is opened here, and every TOML text is parsed here, so that none ends in an exception of
Python's own.  A function that refuses takes the error class of the caller: `ModelError` for a robot, `ConfigError` for
settings and scenes, `RecordingError` for recordings.  What else is in a file (XML, JSON, CSV, meshes) is the affair of
its reader.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .errors import ElbowroomError, RecordingError

MAX_DEPTH = 32
"""Tables and lists of a TOML file within one another; the deepest that is read has six.  Python's own limit, of calls,
is about 1000: what comes near it cannot be shown in a message or merged with another file."""

MAX_BITS = 4096
"""Of a whole number in a TOML file.  Python refuses to print one of more than 4300 digits (14,000 bits)."""

LONGEST_NAME = 400  # characters of a file's name in a message


def named(path: str | os.PathLike[str]) -> str:
    """A file's name for a message: as it is, or quoted and escaped where it cannot be printed; cut if it is long."""
    text = os.fspath(path)
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME // 2]}...{shown[-LONGEST_NAME // 2 :]}"


def regular(path: str, flags: int) -> int:
    """An opener for `open`: a file on a disk, or an OSError.  A pipe or a device may never say a word, nor end."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder is refused by `open`
        os.close(descriptor)
        raise OSError(errno.EINVAL, "expected a regular file; it is a pipe or a device", path)
    return descriptor


def read_bytes(path: str | os.PathLike[str], most: int, error: type[ElbowroomError]) -> bytes:
    """The content of a file, which must not have more than `most` bytes."""
    data = read_up_to(path, most + 1, error)
    if len(data) > most:
        raise error(f"{named(path)}: expected at most {most} bytes; the file is larger")
    return data


def read_up_to(path: str | os.PathLike[str], most: int, error: type[ElbowroomError]) -> bytes:
    """The first `most` bytes of a file."""
    with opened(path, error) as stream:
        return stream.read(most)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text file, all of it or nothing: one that was there stays until the new one is."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            part.unlink()
        raise ElbowroomError(f"{path}: cannot be written: {problem.strerror or problem}") from problem


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], error: type[ElbowroomError]) -> Iterator[BinaryIO]:
    """A file to read from; opening or reading that fails raises `error`."""
    try:
        stream = open(path, "rb", opener=regular)  # noqa: SIM115  # closed below
    except OSError as problem:
        raise error(f"{named(path)}: cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:  # a zero byte or half a character in the name
        raise error(f"{named(path)}: cannot be read: not a name that a file can have") from problem
    with stream:
        try:
            yield stream
        except OSError as problem:
            raise error(f"{named(path)}: cannot be read: {problem.strerror or problem}") from problem


def text_lines(path: str | os.PathLike[str], most: int) -> list[str]:
    """The lines of a recording's text file of at most `most` bytes."""
    data = read_up_to(path, most + 1, RecordingError)
    if len(data) > most:
        raise RecordingError(f"{named(path)}: expected at most {most / 2**20:g} MiB; the file is larger")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise RecordingError(f"{named(path)}: expected text in UTF-8; got binary data")
    if not text.strip():
        raise RecordingError(f"{named(path)}: the file is empty")
    return text.splitlines()


def wrong_line(path: str | os.PathLike[str], line: int, expected: str, got: str) -> RecordingError:
    """FILE, line N: expected this; got that."""
    return RecordingError(f"{named(path)}, line {line}: expected {expected}; got {excerpt(got)}")


def excerpt(text: str) -> str:
    """A cell or a line in quotes, cut short."""
    text = text.strip()
    if not text:
        return "nothing"
    return repr(text if len(text) <= 60 else text[:57] + "...")


def parse_toml(data: str | bytes, file: str, error: type[ElbowroomError]) -> dict[str, Any]:
    """The table that a TOML text holds; `file` begins every complaint."""
    too_deep = f"{file}: expected TOML with tables and lists at most {MAX_DEPTH} deep"
    try:
        table = tomllib.loads(data.decode("utf-8") if isinstance(data, bytes) else data)
    except UnicodeDecodeError as problem:
        raise error(f"{file}: expected TOML in UTF-8; {problem.reason} at byte {problem.start}") from problem
    except RecursionError:
        raise error(too_deep) from None  # its chain of a thousand calls says nothing
    except ValueError as problem:  # no TOML, or a number of too many digits
        raise error(f"{file}: expected TOML; {problem}") from problem
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        if any(isinstance(value, int) and value.bit_length() > MAX_BITS for value in level):
            raise error(f"{file}: expected whole numbers of at most {MAX_BITS} bits; got a longer one")
        level = [value for value in level if isinstance(value, dict | list)]
    if level:
        raise error(too_deep)
    return table


def decimal(text: str) -> float | None:
    """The number in a text, NaN and infinity included, or None.

    Of what Python's `float` takes, digits of other scripts and underscores between digits are no numbers in any file
    format that is read here.
    """
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None
