"""Joint state, goal and command: what goes into a controller and what comes out, in arrays that a loop fills again."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ShapeError

Array = NDArray[np.float64]
HUGE = 1e18  # a command whose square is not below is not one


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
    STOP_CONTACT = "STOP_CONTACT"  # last: records count them in this order

    @property
    def stops(self) -> bool:
        """Whether the arm must stand still."""
        return self in _STOPS


_STOPS = frozenset(s for s in Status if s.name.startswith("STOP"))


GOAL = 15  # numbers of a goal

INFO = (
    "distance",  # to the nearest obstacle, between surfaces
    "axis_distance",  # and between axes
    "nearest",  # the number of that pair
    "slow",  # what is left of the attraction, (3.77)
    "push",  # the greatest push of a person or thing on a capsule
    "openness",  # 1 far from singularities, 0 at one
    "limit",  # the least of the joint-limit factors; 0 while the floor, a shell or the arm itself pushes
    "attraction_x",
    "attraction_y",
    "attraction_z",  # velocity (or acceleration) of attraction
    "repulsion_x",
    "repulsion_y",
    "repulsion_z",  # velocity (or acceleration) of the tool by repulsion
    "status",  # place in STATUSES
)
INDEX = {name: k for k, name in enumerate(INFO)}

STATUSES = (
    Status.OK,
    Status.SLOWING_SINGULARITY,
    Status.SLOWING_LIMIT,
    Status.SLOWING_HUMAN,
    Status.AVOIDING,
    Status.IN_COLLISION,
    Status.STOP_INTERNAL,  # its numbers are not finite, or none that an arm could follow
)
"""What a law can say of itself, the gravest last."""

UNKNOWN: Array = np.full(1, np.nan)
"""The level of waiting where nobody can say whether the goal is free."""
UNKNOWN.flags.writeable = False


def _vector(name: str, value: ArrayLike, size: int) -> Array:
    array = np.array(value, dtype=float)
    if array.shape != (size,):
        raise ShapeError(f"{name} must have shape ({size},); got {array.shape}")
    return array


def measured(state: object, name: str, n: int) -> Array | None:
    """q or qd of a state, whatever that is, if it is an array of n finite numbers."""
    return finite_numbers(getattr(state, name, None), n)


def finite_numbers(x: object, n: int) -> Array | None:
    """Anything at all, if it is an array of n finite numbers."""
    if not isinstance(x, np.ndarray) or x.shape != (n,) or x.dtype.kind not in "fiu":
        return None
    return x if np.isfinite(x).all() else None


class State:
    """The joints as measured: positions, speeds, and when (s, monotonic).  Assign into the arrays in a loop.

    `tau` (n,) are the joints' torques (N m or N), the mean since the reading before; None where nobody measures them.
    """

    __slots__ = ("q", "qd", "t", "tau")

    def __init__(self, q: ArrayLike, qd: ArrayLike | None = None, t: float = 0.0, tau: ArrayLike | None = None) -> None:
        self.q: Array = np.array(q, dtype=float)
        if self.q.ndim != 1:
            raise ShapeError(f"q must have one axis; got shape {self.q.shape}")
        self.qd: Array = np.zeros_like(self.q) if qd is None else _vector("qd", qd, len(self.q))
        self.t = float(t)
        self.tau: Array | None = None if tau is None else _vector("tau", tau, len(self.q))

    def __repr__(self) -> str:
        return f"State(q={self.q}, qd={self.qd}, t={self.t:g})"


class Goal:
    """Where the tool should be: position (3,), m; its velocity (3,); its orientation (3, 3); and until when.

    `t` is when the goal was given and `valid_for` how long it holds (s).  To move the goal, assign to them, whole or
    in part.
    """

    __slots__ = ("_position", "_rotation", "_velocity", "packed", "t", "valid_for")

    def __init__(
        self,
        position: ArrayLike,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        *,
        t: float = 0.0,
        valid_for: float = np.inf,
    ) -> None:
        self._pack(np.zeros(GOAL))
        self.position = _vector("position", position, 3)
        self.velocity = _vector("velocity", velocity, 3)
        R = np.eye(3) if rotation is None else np.array(rotation, dtype=float)
        if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
            raise ValueError(f"rotation must be a rotation matrix (3, 3); got\n{R}")
        self.rotation = R
        self.t, self.valid_for = float(t), float(valid_for)

    def _pack(self, packed: Array) -> None:
        """The parts are views of one array."""
        self.packed: Array = packed
        self._position, self._velocity = packed[:3], packed[3:6]
        self._rotation = packed[6:].reshape(3, 3)

    def __getstate__(self) -> tuple[Array, float, float]:
        return self.packed, self.t, self.valid_for

    def __setstate__(self, state: tuple[Array, float, float]) -> None:
        packed, self.t, self.valid_for = state
        self._pack(packed)

    @property
    def position(self) -> Array:
        """(3,) m."""
        return self._position

    @position.setter
    def position(self, value: ArrayLike) -> None:
        """Moves the goal."""
        self._position[:] = value

    @property
    def velocity(self) -> Array:
        """(3,) m/s."""
        return self._velocity

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        """Says how fast the goal moves."""
        self._velocity[:] = value

    @property
    def rotation(self) -> Array:
        """(3, 3)."""
        return self._rotation

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        """Turns the goal."""
        self._rotation[:] = value

    def __repr__(self) -> str:
        return f"Goal(position={self.position}, velocity={self.velocity})"


NOW = ("t", "state_t", "goal_t", "valid_for")


class CycleInputs(NamedTuple):
    """The arrays that a compiled cycle is given: times, joints and their speeds, obstacles' rows and stamps, goal."""

    now: Array  # (4,) NOW
    q: Array
    qd: Array
    rows: Array
    stamps: Array
    goal: Array


class Command:
    """What the arm should do now.  A controller fills the same one at every step: copy what you keep.

    qd, tau (n,)             joint speeds; torques, zero where the controller does not make any
    q (n,)                   where qd leads from the measured position in one dt; arms that take positions want a set
                             point of their own that qd is summed into
    tool_velocity (6,)       linear and angular, what qd makes of the tool
    acceleration (3,)        of the tool that tau gives; zero for velocity laws
    waiting                  from 0, the goal is free, to 1, a person occupies it and the arm waits at a distance, some
                             tenths of a second late; NaN where that is not known, or the controller does not wait
    margin                   m/s, what a supervisor leaves of the allowed speed towards people, where that is least
    status, info (see INFO), and by name: distance, axis_distance, slow, push, openness, limit
    """

    __slots__ = (
        "acceleration",
        "dt",
        "info",
        "level",
        "margin",
        "q",
        "qd",
        "reason",
        "status",
        "t",
        "tau",
        "tool_velocity",
    )

    def __init__(self, n: int) -> None:
        self.q: Array = np.zeros(n)
        self.qd: Array = np.zeros(n)
        self.tau: Array = np.zeros(n)
        self.tool_velocity: Array = np.zeros(6)
        self.acceleration: Array = np.zeros(3)
        self.info: Array = np.zeros(len(INFO))
        self.level: Array = UNKNOWN  # of waiting
        self.status = Status.OK
        self.reason = ""
        self.t = 0.0
        self.dt = 0.0
        self.margin = math.nan

    @property
    def distance(self) -> float:
        """To the nearest obstacle, between surfaces, m; beyond 1e5 there is none."""
        return float(self.info[INDEX["distance"]])

    @property
    def axis_distance(self) -> float:
        """The same between axes, m."""
        return float(self.info[INDEX["axis_distance"]])

    @property
    def waiting(self) -> float:
        """From 0, the goal is free, to 1, a person occupies it; NaN where that is not known."""
        return float(self.level[0])

    @property
    def slow(self) -> float:
        """How much of the attraction is left near people (3.77), 0 to 1."""
        return float(self.info[INDEX["slow"]])

    @property
    def push(self) -> float:
        """The greatest push of a person or thing on a capsule, m/s."""
        return float(self.info[INDEX["push"]])

    @property
    def openness(self) -> float:
        """Near 1 far from singularities of the tool, 0 at one."""
        return float(self.info[INDEX["openness"]])

    @property
    def limit(self) -> float:
        """The least joint-limit factor (3.74); 0 while the floor, a shell or the arm itself pushes."""
        return float(self.info[INDEX["limit"]])

    @property
    def attraction(self) -> Array:
        """What draws the tool (3,)."""
        return self.info[INDEX["attraction_x"] : INDEX["attraction_x"] + 3]

    @property
    def repulsion(self) -> Array:
        """What the pushes make of the tool (3,)."""
        return self.info[INDEX["repulsion_x"] : INDEX["repulsion_x"] + 3]

    def copy(self) -> Command:
        """A command of its own that no step overwrites."""
        other = Command(len(self.q))
        for name in ("q", "qd", "tau", "tool_velocity", "acceleration", "info"):
            np.copyto(getattr(other, name), getattr(self, name))
        other.level = self.level.copy()
        for name in ("status", "reason", "t", "dt", "margin"):
            setattr(other, name, getattr(self, name))
        return other

    def __repr__(self) -> str:
        return f"<Command {self.status} qd={np.round(self.qd, 4)}, {self.distance:.3f} m clear>"


def still(command: Command, status: Status, reason: str, q: Array | None = None) -> Command:
    """The command to stand still, with its reason."""
    for array in (command.qd, command.tau, command.tool_velocity, command.acceleration):
        array[:] = 0.0
    if q is not None:
        command.q[:] = q
    command.status, command.reason, command.level = status, reason, UNKNOWN
    return command
