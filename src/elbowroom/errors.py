"""What elbowroom raises.  Every message names the thing, what was expected, and what came."""

from __future__ import annotations


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
