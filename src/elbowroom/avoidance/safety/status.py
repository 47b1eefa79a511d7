"""Status of a command: why it is what it is."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Why a command is what it is.  The supervisor latches what begins with STOP, and IN_COLLISION if it is set to."""

    OK = "OK"
    AVOIDING = "AVOIDING"
    SLOWING_HUMAN = "SLOWING_HUMAN"
    SLOWING_LIMIT = "SLOWING_LIMIT"
    SLOWING_SINGULARITY = "SLOWING_SINGULARITY"
    HOLD_COMMAND_TIMEOUT = "HOLD_COMMAND_TIMEOUT"
    STOP_HUMAN = "STOP_HUMAN"
    STOP_HUMAN_STALE = "STOP_HUMAN_STALE"
    STOP_STATE_INVALID = "STOP_STATE_INVALID"
    STOP_STATE_STALE = "STOP_STATE_STALE"
    STOP_LIMIT = "STOP_LIMIT"
    STOP_OVERRUN = "STOP_OVERRUN"
    STOP_COMMS = "STOP_COMMS"
    STOP_INTERNAL = "STOP_INTERNAL"
    IN_COLLISION = "IN_COLLISION"

    @property
    def stops(self) -> bool:
        """Whether the arm must stand still."""
        return self in _STOPS


_STOPS = frozenset(s for s in Status if s.name.startswith("STOP"))
