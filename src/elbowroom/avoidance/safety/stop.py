"""Stops: latched with their reason until reset, the fallback goal meanwhile, and which status a command shows.

In a cycle any part may `doubt`; the first doubt counts, unless a later one is immediate.  `close` latches it.  Only
`open` ends a latched stop, and not while the last cycle had a doubt.  Everything that happens is an event of the flight
recorder and a line in the log "elbowroom.avoidance"; what may come often is reported once a second, and counted always.

The fallback goal is the tool pose at the time at which the caller's goal expired.

Where several statuses apply, a command shows the first of

    a latched stop, with its own reason
    IN_COLLISION            the arm overlaps what is believed to be there
    HOLD_COMMAND_TIMEOUT    the goal is not valid any more
    SLOWING_HUMAN           the command was slowed for a person, or the arm waits to know whether anybody is there
    SLOWING_LIMIT           the command was changed for a limit: of joints, the floor, things, its own links, yours
    what the controller says: AVOIDING, its own slowing, OK; AVOIDING too where evasion alone holds the arm off a person
"""

from __future__ import annotations

import logging
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ..control.command import Goal, Status
from .flight_recorder import Recorder

log = logging.getLogger("elbowroom.avoidance")
log.addHandler(logging.NullHandler())  # where no one listens, nothing is written: the loop must not wait for a terminal
IMMEDIATE = frozenset({Status.STOP_STATE_INVALID, Status.STOP_STATE_STALE})
QUIET = 1.0  # s between two lines of one kind


class Latch:
    """The stop that is latched, if one is, and the doubts of the present cycle."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.status: Status | None = None  # latched
        self.reason = ""
        self.doubted: Status | None = None  # in the present cycle, or the last
        self.doubt_reason = ""
        self.stops = self.refused = 0  # counted
        self._told: dict[str, float] = {}

    @property
    def immediate(self) -> bool:
        """Whether the latched stop is one that trusts nothing."""
        return self.status in IMMEDIATE

    def begin(self) -> None:
        """A new cycle, without a doubt yet."""
        self.doubted = None

    def doubt(self, status: Status, why: str) -> None:
        """A reason to stop in this cycle."""
        if self.doubted is None or (status in IMMEDIATE and self.doubted not in IMMEDIATE):
            self.doubted, self.doubt_reason = status, why

    def close(self, t: float) -> None:
        """Latches the doubt, if there is one.  A latched stop stays named, unless the new one is immediate."""
        status = self.doubted
        if status is not None and (self.status is None or (status in IMMEDIATE and not self.immediate)):
            self.status, self.reason = status, self.doubt_reason
            self.stops += 1
            self.tell(t, status, self.reason, logging.ERROR)
            self.recorder.freeze(t, f"{status}: {self.reason}")

    def explain(self, t: float, why: str) -> None:
        """The reason of the latched stop, known better by now."""
        if why != self.reason:
            self.reason = why
            self.tell(t, "reason", why, logging.WARNING)

    def open(self, t: float, but: str) -> bool:
        """Ends the stop, unless the last cycle had a doubt or `but` says why not."""
        if self.doubted is not None:
            but = f"there is still a reason to stop, {self.doubted}: {self.doubt_reason}"
        if but:
            self.refused += 1
            self.tell(t, "resets_refused", f"reset refused: {but}", logging.WARNING)
            return False
        self.tell(t, "reset", f"after {self.status}: {self.reason}", logging.WARNING)
        self.status, self.reason = None, ""
        return True

    def note(self, kind: str, t: float, text: str, level: int = logging.WARNING) -> None:
        """An event that may come often."""
        if not 0.0 <= t - self._told.get(kind, -math.inf) < QUIET:
            self._told[kind] = t
            self.tell(t, kind, text, level)

    def tell(self, t: float, kind: str, text: str, level: int) -> None:
        """An event."""
        self.recorder.note(t, kind, text)
        log.log(level, "%.3f s: %s: %s", t, kind, text)


class Hold:
    """The fallback goal: holds the tool for a while; avoidance goes on meanwhile, since only the goal is another."""

    def __init__(self, arm: Arm) -> None:
        self._arm, self._goal = arm, Goal(np.zeros(3))
        self.active = False  # set to False where there is a valid goal again
        self.since = 0.0  # s, since when the goal is held
        arm.pose(arm.ready)  # compiled now, not in the loop

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._arm.pose(self._arm.ready)  # an arm does not take its kernels along

    def goal(self, t: float, q: NDArray[np.float64]) -> Goal:
        """The goal to go by at time t; the first one since there was none is where the tool is at q (n,)."""
        if not self.active:
            self.active, self.since = True, t
            pose = self._arm.pose(q)
            self._goal.position[:], self._goal.rotation[:] = pose[:3, 3], pose[:3, :3]
        return self._goal


OVERLAP = "the arm overlaps what is believed to be there"
EVADING = "held off a person who is nearer than the evasion distance"
HELD = "the goal is not valid any more; the tool is held"
WAITING = "waiting for the sensor to see somebody, or nobody for long enough"
LIMITED = "changed for a limit: of joints, the floor, things, the arm's own links or a limit of yours"


class Shown(NamedTuple):
    """A status and a sentence about it."""

    status: Status
    reason: str


def shown(distance: float, held: bool, waiting: bool, human: float, limit: float, asked: Shown) -> Shown:
    """What a command shows while no stop is latched.

    distance (m) is the least there is; human and limit, 0 to 1, are the factors that people and limits took; `asked` is
    what the controller's command says.
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
        return Shown(Status.SLOWING_LIMIT, LIMITED)
    return asked
