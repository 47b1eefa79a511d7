"""What the readers of recordings share: text of a bounded size, numbers, names, and errors with file and line."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from ... import reading
from ...errors import ElbowroomError, RecordingError
from ...geometry import Skeleton
from ...geometry.skeleton import ALIASES, POINTS
from ...reading import named

MAX_BYTES = 64 * 2**20
MAX_FRAMES = 1_000_000
LARGEST = 1000.0  # m: a point that is farther away has the wrong unit


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to read from; a RecordingError where that fails."""
    try:
        stream = open(path, "rb", opener=reading.regular)  # noqa: SIM115  # closed below
    except ValueError:  # a zero byte or half a character in the name
        raise RecordingError(f"{named(path)}: cannot be read: not a name that a file can have") from None
    except FileNotFoundError:
        raise RecordingError(f"{named(path)}: there is no such file") from None
    except OSError as error:
        raise RecordingError(f"{named(path)}: cannot be read: {error.strerror or error}") from None
    with stream:
        try:
            yield stream
        except OSError as error:
            raise RecordingError(f"{named(path)}: cannot be read: {error.strerror or error}") from None


def lines(path: Path, most: int = MAX_BYTES) -> list[str]:
    """The lines of a text file of at most this many bytes."""
    with opened(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise RecordingError(f"{path}: expected at most {most / 2**20:g} MiB; the file is larger")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise RecordingError(f"{path}: expected text in UTF-8; got binary data")
    if not text.strip():
        raise RecordingError(f"{path}: the file is empty")
    return text.splitlines()


def wrong(path: Path, line: int, expected: str, got: str) -> RecordingError:
    """FILE, line N: expected this; got that."""
    return RecordingError(f"{path}, line {line}: expected {expected}; got {shown(got)}")


def shown(text: str) -> str:
    """A cell or a line in quotes, cut short."""
    text = text.strip()
    if not text:
        return "nothing"
    return repr(text if len(text) <= 60 else text[:57] + "...")


def decimal(text: str) -> float | None:
    """The number, NaN included, or None if it is none; infinity is none."""
    value = reading.decimal(text)
    return None if value is None or math.isinf(value) else value


def skeleton_names(
    path: Path, found: Sequence[str], names: Mapping[str, str], standard: Mapping[str, str]
) -> list[str]:
    """The point of a skeleton for each name that was found, "" for none; refused if a person needs more.

    `names` is what the caller says, and goes before `standard`, what the format's names usually mean.
    """
    for name in names:
        if name not in found:
            raise RecordingError(f"{path}: names: {name!r} is not in the file, which has {', '.join(found)}")
    points = [names[name] if name in names else standard.get(name, "") for name in found]
    points = [ALIASES.get(point, point) for point in points]
    for name, point in zip(found, points, strict=True):
        if point and point not in POINTS:
            raise RecordingError(
                f"{path}: names: {name!r} is said to be {point!r}; expected one of {', '.join(POINTS)}"
            )
    try:
        Skeleton([point for point in points if point])
    except (ElbowroomError, ValueError) as error:
        raise RecordingError(
            f"{path}: {error}; the file has {', '.join(found)}; say which they are by names="
        ) from None
    return points
