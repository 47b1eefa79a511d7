"""Which status a command shows where several apply: the first of

a latched stop, with its own reason
IN_COLLISION            the arm overlaps what is believed to be there
HOLD_COMMAND_TIMEOUT    the goal is not valid any more
SLOWING_HUMAN           the command was slowed for a person, or the arm waits to know whether anybody is there
SLOWING_LIMIT           the command was scaled for a joint's limit
what the controller says: AVOIDING, its own slowing, OK
"""

from __future__ import annotations

from typing import NamedTuple

from .status import Status

OVERLAP = "the arm overlaps what is believed to be there"
HELD = "the goal is not valid any more; the tool is held"
WAITING = "waiting for the sensor to see somebody, or nobody for long enough"


class Shown(NamedTuple):
    """A status and a sentence about it."""

    status: Status
    reason: str


def shown(distance: float, held: bool, waiting: bool, human: float, limit: float, said: Status) -> Shown:
    """What a command shows while no stop is latched.

    distance (m) is the least there is; human and limit, 0 to 1, are the factors that people and limits took.
    """
    if distance <= 0.0:
        return Shown(Status.IN_COLLISION, OVERLAP)
    if held:
        return Shown(Status.HOLD_COMMAND_TIMEOUT, HELD)
    if waiting:
        return Shown(Status.SLOWING_HUMAN, WAITING)
    if human < 1.0:
        return Shown(Status.SLOWING_HUMAN, "slowed for a person")
    if limit < 1.0:
        return Shown(Status.SLOWING_LIMIT, "scaled for a joint's limit")
    return Shown(said, "")
