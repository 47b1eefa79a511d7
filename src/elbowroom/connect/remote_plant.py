"""A plant in another process: the controller's side of plant_server.py, with the interface of any plant.

    plant = PlantClient(arm, address)
    plant.wait(5.0)                     until the plant answers: the only call that takes its time
    plant.reset(q)                      or plant.unlatch(), to go on where the arm stands
    plant.write(command); plant.advance(dt, person_rows); plant.read(state)

Nothing here raises because of the other side, and nothing waits for it.  A connection that is lost, half-open or reset
looks the same: no states come, `state.t` stays what it was, `connected` turns False, and a supervisor stops the arm for
its stale state.  The client then says hello again under a new session, and the plant does not move for that one before
it is reset.  So a plant that is started again is found again; `connections` counts, `held` says why it does not obey.

With `lockstep` (of client and server alike) `advance`, `reset` and `unlatch` wait for their answer, at most `patience`,
and not at all once one has not come: until the plant answers again.
"""

from __future__ import annotations

import math
import secrets
import selectors
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import Arm
from ..avoidance import Command, State
from ..cell.plants.plant import configuration, people_rows, positive_time
from ..errors import ConfigError, ShapeError
from ..geometry import ROW
from .packet import (
    LONGEST,
    NUMBERS,
    STATE_HEAD,
    STATUSES,
    TIMEOUT,
    Address,
    Endpoint,
    Kind,
    Stop,
    hello,
    local_only,
)
from .plant_info import PlantInfo

Array = NDArray[np.float64]
PATIENCE = 2.0  # s
AT_ONCE = 1024  # messages taken at a time: more than a system keeps, and an end all the same


class PlantClient(Endpoint):
    """A plant behind a socket.  See the module's docstring."""

    def __init__(
        self,
        arm: Arm,
        address: Address,
        *,
        timeout: float = TIMEOUT,
        lockstep: bool = False,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.arm, self.patience, self.address = arm, positive_time(patience), address
        super().__init__(clock, timeout, lockstep=lockstep)
        self.contacts, self.touching = 0, False
        self.connections = 0  # plants, or the same one again, that have answered a hello
        self.info: PlantInfo | None = None  # what the plant last said of itself
        self._hello_numbers = hello(arm, lockstep)
        self._contacts_before = self._contacts_told = 0  # of plants before this one; of this one
        self._placed = self._released = 0  # sequence numbers: of the last place, and of the last place or reset
        self._q, self._qd, self._t = np.zeros(arm.n), np.zeros(arm.n), -math.inf
        self._tau: Array | None = None  # torques, of a plant that measures them
        self._stamp = -math.inf  # s, of the newest state
        self._answered = 0  # sequence number of ours that it answers
        self._greeted = -math.inf  # s, when we last said hello
        self._left_alone = False  # lockstep: an answer did not come
        try:
            self._socket.connect((local_only(address[0]), address[1]))
        except (OSError, ConfigError) as error:
            self._socket.close()
            raise ConfigError(f"address: expected one of this machine; got {address}: {error}") from error
        self._socket.setblocking(False)
        self._arrivals = selectors.DefaultSelector()
        self._arrivals.register(self._socket, selectors.EVENT_READ)
        self._hello()

    # ---- what is known about the other side
    @property
    def connected(self) -> bool:
        """Whether the plant answers: its last state is younger than `timeout`; in lockstep, its last answer came."""
        if self._stamp == -math.inf:
            return False
        return not self._left_alone if self.lockstep else self.clock() - self._stamp <= self.timeout

    def wait(self, seconds: float) -> bool:
        """Waits until the plant answers, at most so long; whether it does."""
        end = self.clock() + seconds
        while True:
            self._pump()
            if self.connected or self.clock() >= end:
                return self.connected
            self._arrivals.select(0.01)

    def settle(self, seconds: float) -> bool:
        """Waits until the plant has answered all that was sent, at most so long; whether it has."""
        end, session, asked = self.clock() + seconds, self._encoder.session, self._encoder.sequence
        while True:
            self._pump()
            answered = self._answered >= asked and self._encoder.session == session
            if answered or self._encoder.session != session or self.clock() >= end:
                return answered
            self._arrivals.select(0.01)

    @property
    def refused(self) -> str:
        """Why the plant refused the last hello, one of packet.REASONS; "" if it did not."""
        return "" if self.info is None else self.info.refused

    @property
    def held(self) -> str:
        """Why the plant does not obey, in words; "" if it does, is not there, or has not yet answered our reset."""
        return self.stop_reason.text if self.connected and self._answered >= self._released else ""

    @property
    def description(self) -> str:
        """What plant this is, and where."""
        host, port = self.address
        return f"{'plant' if self.info is None else self.info.plant} at {host}:{port}"

    # ---- as any plant
    def reset(self, q: ArrayLike) -> None:
        """The arm at rest at q (n,); ends a stop.  For simulated arms: a real one cannot jump."""
        self._encoder.numbers[: self.arm.n] = configuration(self.arm, q)
        self._placed = self._released = self._encoder.sequence + 1
        self.contacts = self._contacts_before = self._contacts_told = 0
        self._ask(Kind.PLACE, self.arm.n)

    def unlatch(self) -> None:
        """Ends a stop where the arm stands; the plant refuses while the arm still moves."""
        self._released = self._encoder.sequence + 1
        self._ask(Kind.RESET, 0)

    def write(self, command: Command) -> None:
        """What the drive follows until the next write."""
        n, numbers = self.arm.n, self._encoder.numbers
        try:
            numbers[0] = _STATUS_NUMBER[command.status]
            numbers[1 : 1 + n], numbers[1 + n : 1 + 2 * n] = command.qd, command.tau
        except (KeyError, ValueError, TypeError):  # no command at all: the plant hears none, and stops
            self.unsent += 1
            return
        self._send(Kind.COMMAND, 1 + 2 * n)

    def brake(self) -> None:
        """The drive's own stop, until the next write."""
        self._send(Kind.BRAKE, 0)

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """Tells the plant where people are; in lockstep dt seconds pass there, else time passes by itself."""
        rows = np.empty(0) if person_rows is None else people_rows(person_rows).ravel()
        if len(rows) >= NUMBERS:
            raise ShapeError(f"person_rows must have at most {NUMBERS // ROW} rows; got {len(rows) // ROW}")
        if not 0 < dt <= LONGEST:
            raise ValueError(f"dt must be above 0 and at most {LONGEST:g} s; got {dt!r}")
        self._encoder.numbers[0] = dt
        self._encoder.numbers[1 : 1 + len(rows)] = rows
        self._ask(Kind.ADVANCE, 1 + len(rows))

    def read(self, state: State) -> None:
        """Fills state.q, state.qd, state.t and, of a plant that measures torques, state.tau from the newest message.

        t is when the plant took it, on the clock that all processes of this machine share; in lockstep, s since reset.
        """
        self._pump()
        if self._stamp > -math.inf:
            state.q[:], state.qd[:], state.t = self._q, self._qd, self._t
            state.tau = None if self._tau is None else self._tau.copy()

    def close(self) -> None:
        """Tells the plant, which stops, and gives the socket back."""
        self._send(Kind.BYE, 0)
        self._arrivals.close()
        super().close()

    # ---- messages
    def _hello(self) -> None:
        """Asks for control, under a new session."""
        self._greeted = self.clock()
        self._encoder.begin(secrets.randbits(64) | 1)
        self._order.begin()
        self._answered = self._placed = self._released = 0
        count = len(self._hello_numbers)
        self._encoder.numbers[:count] = self._hello_numbers
        self._send(Kind.HELLO, count)

    def _send(self, kind: Kind, n: int) -> None:
        try:
            self._socket.send(self._encoder.pack(kind, self.clock(), n))
        except OSError:  # nobody there, or no room: the next one may get through
            self.unsent += 1

    def _ask(self, kind: Kind, n: int) -> None:
        """Sends; in lockstep waits for the answer."""
        self._send(kind, n)
        self._pump()
        if not self.lockstep or self._left_alone:
            return
        asked, end = self._encoder.sequence, self.clock() + self.patience
        while self._answered < asked and self.clock() < end:
            self._arrivals.select(max(0.0, end - self.clock()))
            self._receive()
        self._left_alone = self._answered < asked

    def _pump(self) -> None:
        """Takes what has come, and says hello if that is not enough."""
        self._receive()
        if not self.connected and self.clock() - self._greeted > self.timeout:
            self._hello()

    def _receive(self) -> None:
        for _ in range(AT_ONCE):
            try:
                size = self._socket.recv_into(self._decoder.buffer)
            except OSError:  # nothing more has come, or nobody listens there now
                return
            if self._decoder.unpack(size):
                self._take()

    def _take(self) -> bool:
        message, drop, n = self._decoder, self.dropped.drop, self.arm.n
        if message.kind is not Kind.STATE and message.kind is not Kind.INFO:
            return drop("kind")
        if message.session != self._encoder.session:
            return drop("session")
        if message.kind is Kind.INFO:
            info = PlantInfo.read(message.numbers)
            if info is None:
                return drop("numbers")
            self.info = info
            return True
        numbers = message.numbers
        if len(numbers) not in (STATE_HEAD + 2 * n, STATE_HEAD + 3 * n) or numbers[2] not in _STOP_NUMBERS:
            return drop("numbers")
        if message.stamp > self.clock() + self.timeout:
            return drop("future")
        first = self._order.last == 0
        if not self._order.admit(message.sequence):
            return False
        self.connections += first
        self._left_alone = False
        self._stamp, self._t = message.stamp, float(numbers[0])
        self._answered = int(numbers[1])
        self.stop_reason = Stop(int(numbers[2]))
        self.touching = bool(numbers[3])
        if self._answered >= self._placed:
            self._count(int(numbers[4]), anew=first)
        self._q[:], self._qd[:] = numbers[STATE_HEAD : STATE_HEAD + n], numbers[STATE_HEAD + n : STATE_HEAD + 2 * n]
        self._tau = np.array(numbers[STATE_HEAD + 2 * n :]) if len(numbers) > STATE_HEAD + 2 * n else None
        return True

    def _count(self, contacts: int, *, anew: bool) -> None:
        """Touches since our reset; a plant that was started again counts from 0."""
        if anew and contacts < self._contacts_told:
            self._contacts_before += self._contacts_told
        self._contacts_told = contacts
        self.contacts = self._contacts_before + contacts


_STATUS_NUMBER = {status: float(k) for k, status in enumerate(STATUSES)}
_STOP_NUMBERS = frozenset(float(stop) for stop in Stop)
