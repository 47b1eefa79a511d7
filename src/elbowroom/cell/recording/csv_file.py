"""CSV files of recordings: comma-separated text, exact, and read back to the last whole row.

    # robot: puma560                           notes, a line each
    t,state,status,verdict,law_status,...      the names of the columns (columns.py)
    0.0,GO_HOME,OK,OK,OK,0,0,0.61,...          one row per control step

A number is the shortest text that gives the same float64 back, so the same run gives the same bytes, and reading gives
the same numbers.  Control characters, "\\" and, in cells, "#" are written as in Python's strings ("\\n", "\\x23"), so a
line break is the end of a row and nothing else.  What follows the last line break was torn off, and is not read.

Older recordings have no `law_status`, and the controller's view in `status`; they are read as if written today.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ...errors import RecordingError
from ...reading import excerpt, opened, parse_toml, wrong_line
from .columns import COUNTS, LATER, MOST_JOINTS, TEXT, Array, RecordedTable, columns, count, places, table

NOTE = "scene.toml"
"""The key of the note that holds the scene (scene.py)."""
LONGEST = 2**20  # bytes of a line

_ESCAPED = re.compile("[\\x00-\\x1f\\x7f\\\\\\ud800-\\udfff]")
_ESCAPED_CELL = re.compile("[\\x00-\\x1f\\x7f\\\\\\ud800-\\udfff#]")
_ESCAPE = re.compile(r"\\(?:[\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4})")
_KEY = re.compile(r"\w(?:[\w .-]*\w)?")


class CsvFormat:
    """A recording of n joints as CSV: what `Recording` asks a file format for (`RecordingFormat`)."""

    def __init__(self, n: int, notes: Mapping[str, str]) -> None:
        check_notes(notes)
        lines = [*(f"# {key}: {escaped(value)}" for key, value in notes.items()), ",".join(columns(n))]
        self.beginning = "".join(f"{line}\n" for line in lines).encode()
        self._cells: list[str] = []

    def encoded(self, rows: Array, texts: Sequence[str]) -> bytes:
        """Rows (k, width) as lines; the columns of `TEXT` hold the numbers of their texts."""
        cells = self._cells
        while len(cells) < len(texts):
            cells.append(cell(texts[len(cells)]))
        lines = []
        for t, state, status, verdict, law, cycles, contacts, *rest in rows.tolist():
            words = f"{cells[int(state)]},{cells[int(status)]},{cells[int(verdict)]},{cells[int(law)]}"
            lines.append(f"{t!r},{words},{count(cycles)},{count(contacts)},{','.join(map(repr, rest))}\n")
        return "".join(lines).encode()

    def framed(self, lines: bytes) -> bytes:
        """The lines of rows that are written together: as they are."""
        return lines

    def whole(self, data: bytes) -> tuple[int, int]:
        """How many whole rows such bytes hold, and where the last of them ends."""
        return data.count(b"\n"), data.rfind(b"\n") + 1

    def ending(self) -> bytes:
        """Nothing: the last row is the end."""
        return b""


def check_notes(notes: Mapping[str, str]) -> None:
    """Raises for notes that no file can hold."""
    for key, value in notes.items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ValueError(f"notes: expected a key of letters, digits, blanks, '.', '-' and '_'; got {key!r}")
        if not isinstance(value, str):
            raise ValueError(f"notes: {key}: expected a text; got {value!r}")


def escaped(text: str, what: re.Pattern[str] = _ESCAPED) -> str:
    """The text on one line; `unescaped` undoes it."""
    return what.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    return "\\x23" if character == "#" else character.encode("unicode_escape").decode()


def unescaped(text: str) -> str:
    """What was escaped."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: found[0].encode().decode("unicode_escape"), text)


def cell(text: str) -> str:
    """A text as a cell: escaped, and in quotes where it has a comma or a quote."""
    text = escaped(text, _ESCAPED_CELL)
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def read(file: str | Path) -> RecordedTable:
    """The recording in a file, to its last whole row; `torn` says what is missing, as where a process was killed."""
    path = Path(file)
    with opened(path, RecordingError) as stream:
        return _read(path, stream)


class _Lines:
    """The whole lines of a file, numbered; what comes after the last line break is `rest`."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path, self.stream, self.number, self.rest = path, stream, 0, b""

    def __iter__(self) -> Iterator[str]:
        for data in iter(lambda: self.stream.readline(LONGEST), b""):
            if not data.endswith(b"\n"):
                if len(data) == LONGEST:
                    raise RecordingError(
                        f"{self.path}, line {self.number + 1}: expected at most {LONGEST} bytes a line"
                    )
                self.rest = data
                return
            self.number += 1
            try:
                yield data.rstrip(b"\r\n").decode("utf-8-sig" if self.number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise RecordingError(
                    f"{self.path}, line {self.number}: expected text in UTF-8; got binary data"
                ) from None


def _read(path: Path, stream: BinaryIO) -> RecordedTable:
    lines = _Lines(path, stream)
    notes: dict[str, str] = {}
    given = iter(lines)
    for line in given:
        if not line.startswith("#"):
            break
        key, colon, value = line[1:].lstrip().partition(": ")
        if not colon:
            raise wrong_line(path, lines.number, "a note, '# key: value'", line)
        notes[key] = unescaped(value)
    else:
        raise RecordingError(f"{path}: expected the names of the columns; the file ends after line {lines.number}")
    n, names = _names(path, lines.number, line)
    values, texts = _rows(path, lines, given, names)
    rows = np.frombuffer(values, dtype=np.float64).reshape(-1, len(names))
    found = dict(zip(names, rows.T, strict=True))
    if "law_status" not in found:
        found["law_status"] = found["status"]
        if _acted(notes):
            said = found["verdict"] != (texts.index("") if "" in texts else -1)
            found["status"] = np.where(said, found["verdict"], found["status"])
    unknown = np.full(len(rows), np.nan)
    whole = np.column_stack([found.get(name, unknown) for name in columns(n)])
    return RecordedTable(table(whole, n, texts), n, notes, _torn(path, lines, len(names)))


def _acted(notes: Mapping[str, str]) -> bool:
    """Whether the supervisor of an older recording held the arm, as its scene says; without one it is taken to."""
    try:
        scene = parse_toml(notes.get(NOTE, ""), NOTE, RecordingError)
    except RecordingError:
        return True
    return scene.get("supervision", "stop") == "stop"


def _names(path: Path, number: int, line: str) -> tuple[int, tuple[str, ...]]:
    """How many joints the names of the columns are for, and the names; an older recording has not all of them."""
    names = line.split(",")
    n = sum(bool(re.fullmatch(r"q[0-9]+", name)) for name in names)
    joints = min(max(n, 1), MOST_JOINTS)
    whole = columns(joints)
    for first in (places(joints)[later[0]].start for later in LATER):
        older = tuple(name for name in whole[:first] if name != "law_status" or name in names)
        if tuple(names) == older:
            return n, older
    expected = tuple(name for name in whole if name != "law_status" or name in names)
    for k, name in enumerate(expected):
        if k >= len(names) or names[k] != name:
            came = names[k] if k < len(names) else ""
            raise wrong_line(path, number, f"{name!r}, the name of column {k + 1} of a recording", came)
    if len(names) > len(expected):
        raise wrong_line(path, number, f"{len(expected)} columns and no more", names[len(expected)])
    return n, expected


def _rows(path: Path, lines: _Lines, given: Iterable[str], names: Sequence[str]) -> tuple[array[float], list[str]]:
    """The numbers of all rows one after the other, texts by their codes, and the texts."""
    width, first = len(names), names.index("cycles")
    words_at, counts_at = slice(1, first), slice(first, first + len(COUNTS))
    values = array("d")
    codes: dict[str, int] = {}
    for line in given:
        cells = line.split(",") if '"' not in line else _quoted(path, lines.number, line)
        if len(cells) != width:
            raise RecordingError(
                f"{path}, line {lines.number}: expected {width} cells; got {len(cells)}: {excerpt(line)}"
            )
        words = [codes.setdefault(word, len(codes)) for word in cells[words_at]]
        try:
            counts = list(map(int, cells[counts_at]))
            numbers = [float(cells[0]), *words, *counts, *map(float, cells[counts_at.stop :])]
        except ValueError:
            raise _wrong_cell(path, lines.number, names, cells) from None
        given_numbers = cells[0] + "".join(cells[first:])
        if "_" in given_numbers or not given_numbers.isascii() or max(map(abs, counts)) >= 2**53:
            raise _wrong_cell(
                path, lines.number, names, cells
            )  # what Python takes for a number, or for a float64, and is none
        values.extend(numbers)
    return values, [unescaped(word) for word in codes]


def _quoted(path: Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except (csv.Error, StopIteration):
        raise wrong_line(path, number, "cells with their quotes closed", line) from None


def _wrong_cell(path: Path, number: int, names: Sequence[str], cells: list[str]) -> RecordingError:
    """About the first cell of a row that is no number."""
    for name, word in zip(names, cells, strict=True):
        if name not in TEXT and not _is_number(word, whole=name in COUNTS):
            kind = "a whole number" if name in COUNTS else "a number"
            return wrong_line(path, number, f"{kind} in column {name!r}", word)
    return wrong_line(path, number, "a row of numbers", ",".join(cells))


def _is_number(word: str, *, whole: bool) -> bool:
    try:
        plain = "_" not in word and word.isascii()
        return plain and (abs(int(word)) < 2**53 if whole else float(word) is not None)
    except ValueError:
        return False


def _torn(path: Path, lines: _Lines, width: int) -> str | None:
    if not lines.rest:
        return None
    found = lines.rest.count(b",") + 1
    return f"{path}, line {lines.number + 1}: the end is torn off, after {found} of {width} cells; the row is left out"
