"""Plant and controller in two processes, over a local socket: the plant's side.  The other is remote.py.

    plant process         PlantServer(Kinematic(arm), ("127.0.0.1", 5005)).serve()
    controller process    plant = PlantClient(arm, ("127.0.0.1", 5005));  then as any plant

Messages are datagrams (UDP): they keep their boundaries, a sender is never held up by a receiver that hangs, and what
is lost is made up for by the next one.  Sockets do not block.  The server listens on this machine alone: nothing is
encrypted, and stamps of another machine's clock would mean nothing here.

Who has control: a controller says HELLO under a session that it has drawn at random, and is heard if its arm is the
plant's and nobody else has been heard from within `timeout`.  Only messages of that session count.

When the arm moves: never before the first reset, and never again after a stop without one.  The plant stops by itself,
by its drive's own brake, when no valid command is younger than `timeout`: whether the controller was killed, hangs,
or cannot be understood makes no difference.  After that it obeys nobody until a RESET (where it stands) or a PLACE
(a simulated arm, somewhere else) comes; a RESET while the arm still moves is refused.

In real time (the default) the plant advances by `period` a tick, at its own rate, whatever the controller does; a late
tick is counted in `overruns` and not made up for.  With `lockstep` it advances when and as far as it is told, which
gives the same numbers as a plant in the same process; time then stands still without a controller, and no timeout is
needed.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import selectors
import socket
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance import Command, State, Status
from ..errors import ConfigError
from ..geometry import ROW
from .packet import NUMBERS, Decoder, Encoder, Kind, Order, Stop, Tally
from .plant import Plant, positive_time

Array = NDArray[np.float64]
Address = tuple[str, int]
log = logging.getLogger("elbowroom.cell")

TIMEOUT = 0.1  # s
PERIOD = 0.004  # s
STANDING = 0.01  # rad/s or m/s: slower joints count as standing still, as for the supervisor
AT_ONCE = 64  # messages taken in one tick, so that a flood cannot hold it up
LONGEST = 1.0  # s, that one message may make a plant in lockstep advance
STATUSES = tuple(Status)
STATE_HEAD = 5  # numbers of a STATE before q and qd


def joints_check(arm: Arm) -> int:
    """A number for the joints' names and order: plant and controller must have the same."""
    return zlib.crc32("\0".join(arm.joint_names).encode())


class PlantServer:
    """A plant that takes its commands from a socket.  See the module's docstring.

    `address` may have port 0 for any free one; `server.address` has the true one.  `step(t)` is one tick, at a time t
    on the clock of the stamps; `serve` calls it at its rate.
    """

    def __init__(
        self,
        plant: Plant,
        address: Address = ("127.0.0.1", 0),
        *,
        period: float = PERIOD,
        timeout: float = TIMEOUT,
        lockstep: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plant, self.clock, self.lockstep = plant, clock, lockstep
        self.period, self.timeout = positive_time(period), positive_time(timeout)
        if not (lockstep or self.period < self.timeout):
            raise ConfigError(f"timeout: expected more than the period, {period:g} s; got {timeout:g} s")
        self.dropped = Tally()
        self.stop_reason = Stop.START
        self.overruns = self.unsent = 0
        self._joints = joints_check(plant.arm)
        self._room = int(getattr(plant, "person_capsules", NUMBERS))  # rows of people that the plant takes
        self._decoder, self._order, self._encoder = Decoder(self.dropped), Order(self.dropped), Encoder()
        self._peer: Any = None
        self._heard = -np.inf  # s, when the session last said something
        self._commanded: float | None = None  # s, stamp of the last command that counted; None: none since the reset
        self._command, self._state = Command(plant.arm.n), State(np.zeros(plant.arm.n))
        self._people: Array | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((local_only(address[0]), address[1]))
        except OSError as error:
            self._socket.close()
            raise ConfigError(f"address: expected one that is free; got {address}: {error}") from error
        except ConfigError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        host, port = self._socket.getsockname()
        self.address: Address = (str(host), int(port))

    # ---- from outside
    @property
    def stopped(self) -> bool:
        """Whether the plant waits for a reset."""
        return self.stop_reason is not Stop.NONE

    @property
    def lost(self) -> int:
        """Messages that had not come when a later one did."""
        return self._order.lost

    def stop(self) -> None:
        """Stops the arm; it needs a reset."""
        self._stop(Stop.ASKED)

    def close(self) -> None:
        """Gives the socket back."""
        self._socket.close()

    def __enter__(self) -> PlantServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serve(self, until: Callable[[], bool] | None = None) -> None:
        """Ticks until `until()` is true, asked once a tick; for ever without."""
        due = self.clock()
        with selectors.DefaultSelector() as arrivals:
            arrivals.register(self._socket, selectors.EVENT_READ)
            while until is None or not until():
                if self.lockstep:
                    arrivals.select(self.timeout)
                self.step(self.clock())
                if self.lockstep:
                    continue
                due += self.period
                left = due - self.clock()
                if left > 0:
                    time.sleep(left)
                else:
                    self.overruns += 1
                    due = self.clock()

    # ---- one tick
    def step(self, t: float) -> None:
        """Takes what has come, stops the arm if that is not enough, lets time pass, tells the state."""
        for _ in range(AT_ONCE):
            try:
                size, peer = self._socket.recvfrom_into(self._decoder.buffer)
            except BlockingIOError:
                break
            except OSError:  # what an earlier answer ran into
                continue
            if self._decoder.unpack(size):
                self._take(t, peer)
        late = not self.lockstep and self._commanded is not None and t - self._commanded > self.timeout
        if late and not self.stopped:
            self._stop(Stop.TIMEOUT)
        if not self.lockstep:
            self.plant.advance(self.period, self._people)
            self._tell(t)

    def _take(self, t: float, peer: Any) -> bool:
        """A sound message: obeys it, or drops it for a reason."""
        message, drop = self._decoder, self.dropped.drop
        age = 0.0 if self.lockstep else t - message.stamp  # there a message may have waited for a long step
        if age > self.timeout:
            return drop("stale")
        if age < -self.timeout:
            return drop("future")
        if message.kind is Kind.HELLO and message.session != self._encoder.session:
            if not self._adopt(t, peer):
                return False
        elif message.session != self._encoder.session or self._peer is None:
            return drop("session")
        if not (self._order.admit(message.sequence) and self._obey(t, message.kind, message.numbers)):
            return False
        self._heard, self._peer = t, peer
        if self.lockstep:
            self._tell(t)
        return True

    def _adopt(self, t: float, peer: Any) -> bool:
        """Another controller, if its arm is ours and nobody else has control."""
        numbers = self._decoder.numbers
        if len(numbers) != 2 or tuple(numbers) != (self.plant.arm.n, self._joints):
            return self.dropped.drop("joints")
        if self._peer is not None and not self.lockstep and t - self._heard <= self.timeout:
            return self.dropped.drop("busy")
        self._encoder.begin(self._decoder.session)
        self._order.begin()
        self._peer = peer
        if not self.stopped:
            self._stop(Stop.START)
        log.info("%s: a controller at %s says hello", self.plant.arm.name, peer)
        return True

    def _obey(self, t: float, kind: Kind, numbers: Array) -> bool:
        """Does what a message of our session says, or counts why not; False if it makes no sense."""
        drop, n = self.dropped.drop, self.plant.arm.n
        if kind is Kind.HELLO:
            return True
        if kind is Kind.COMMAND:
            if len(numbers) != 1 + 2 * n or numbers[0] not in _STATUS_NUMBERS:
                return drop("numbers")
            if self.stopped:
                drop("stopped")
                return True
            command = self._command
            command.status = STATUSES[int(numbers[0])]
            command.qd[:], command.tau[:] = numbers[1 : 1 + n], numbers[1 + n :]
            self.plant.write(command)
            self._commanded = min(t, self._decoder.stamp)
        elif kind is Kind.ADVANCE:
            if len(numbers) % ROW != 1 or not 0 < numbers[0] <= LONGEST or len(numbers) > 1 + ROW * self._room:
                return drop("numbers")
            self._people = numbers[1:].reshape(-1, ROW).copy() if len(numbers) > 1 else None
            if self.lockstep:
                self.plant.advance(float(numbers[0]), self._people)
        elif kind is Kind.BRAKE:
            self.plant.brake()
        elif kind is Kind.PLACE:
            if len(numbers) != n:
                return drop("numbers")
            self.plant.reset(numbers)
            self._go()
        elif kind is Kind.RESET:
            self.plant.read(self._state)
            if self.stopped and np.abs(self._state.qd).max() > STANDING:
                drop("moving")
            elif self.stopped:
                self._go()
        else:
            return drop("kind")
        return True

    def _stop(self, reason: Stop) -> None:
        self.plant.brake()
        self.stop_reason = reason
        if reason is not Stop.START:
            log.error("%s: stops: %s", self.plant.arm.name, reason.text)

    def _go(self) -> None:
        self.stop_reason = Stop.NONE
        self._commanded = None

    def _tell(self, t: float) -> None:
        """Sends the state to whoever has control."""
        if self._peer is None:
            return
        plant, state, n = self.plant, self._state, self.plant.arm.n
        plant.read(state)
        numbers = self._encoder.numbers
        numbers[0] = state.t if self.lockstep else t
        numbers[1], numbers[2] = self._order.last, self.stop_reason
        numbers[3], numbers[4] = plant.touching, plant.contacts
        numbers[STATE_HEAD : STATE_HEAD + n], numbers[STATE_HEAD + n : STATE_HEAD + 2 * n] = state.q, state.qd
        try:
            self._socket.sendto(self._encoder.pack(Kind.STATE, t, STATE_HEAD + 2 * n), self._peer)
        except OSError:
            self.unsent += 1


_STATUS_NUMBERS = frozenset(map(float, range(len(STATUSES))))


def local_only(host: str) -> str:
    """The host, if it is this machine."""
    with contextlib.suppress(ValueError):
        if host == "localhost" or ipaddress.ip_address(host).is_loopback:
            return "127.0.0.1" if host == "localhost" else host
    raise ConfigError(f"address: expected one of this machine, such as 127.0.0.1; got {host!r}")
