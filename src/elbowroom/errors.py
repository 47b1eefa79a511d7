"""What elbowroom raises.  Every message names the thing, what was expected, and what came."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable


class ElbowroomError(Exception):
    """Base of every error raised on purpose by elbowroom."""


class ModelError(ElbowroomError, ValueError):
    """A robot description that cannot be used: a broken file, a negative mass, reversed limits."""


class ConfigError(ElbowroomError, ValueError):
    """Settings that cannot be used; the message begins with the file and the path to the key."""


class RecordingError(ElbowroomError, ValueError):
    """A recording that cannot be read or written; the message begins with the file and, if there is one, the line."""


class ModelWarning(UserWarning):
    """A robot description that can be used but looks wrong somewhere, named in the message."""


class MissingShapeWarning(ModelWarning):
    """Shapes of a robot description that could not be read, so that distances ignore them; `reasons` says why."""

    def __init__(self, message: str, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reasons = reasons

    def __reduce__(self) -> tuple[type[MissingShapeWarning], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.reasons)


class RecordingWarning(UserWarning):
    """A recording or bag that could be read in part; the message names the file and says what is missing."""


class ModelNotice(UserWarning):
    """A choice that was made for the caller when a robot description was read, and how to make another."""


class ShapeError(ElbowroomError, ValueError):
    """An array whose shape does not fit."""


class DtypeError(ElbowroomError, TypeError, ValueError):
    """An array of something that is not the numbers asked for."""


class UnknownNameError(ElbowroomError, KeyError):
    """A robot, quantity, method or link name that does not exist; the message lists near ones."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class DivergenceError(ElbowroomError, ArithmeticError):
    """A simulation whose numbers stopped being finite; the message names the time."""


class TraceError(ElbowroomError, TypeError):
    """An expression used where only a number works, such as an `if` or a `float(...)`."""


def pip_install(extra: str, *, again: bool = False) -> str:
    """The command that installs an extra; an installation that follows the sources goes on to do so."""
    import importlib.metadata  # what is slow to import is needed for messages alone
    import json

    try:
        record = importlib.metadata.distribution("elbowroom").read_text("direct_url.json") or "{}"
        follows = json.loads(record).get("dir_info", {}).get("editable", False)
    except Exception:  # not installed, or its record is broken
        follows = False
    return f"pip install {'--force-reinstall ' if again else ''}{'-e ' if follows else ''}'.[{extra}]'"


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str | Warning, category: type[Warning] = ModelWarning) -> None:
    """Warns at the line that called elbowroom, however deep in it this is said."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def close_names(name: object, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names that look like `name`, the nearest first; none for what is not text."""
    import difflib  # read when something is wrong already

    return difflib.get_close_matches(name, list(known), most, cutoff) if isinstance(name, str) else []


def did_you_mean(name: object, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """The question for the end of a message, "; did you mean x or y?", or nothing."""
    near = close_names(name, known, most, cutoff)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def nearest_hint(name: object, known: Iterable[str]) -> str:
    """The question for the middle of a message, after what was expected: " (did you mean 'x'?)", or nothing."""
    near = close_names(name, known)
    return f" (did you mean {near[0]!r}?)" if near else ""
