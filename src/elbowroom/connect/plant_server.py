"""Plant and controller in two processes, over a local socket: the plant's side.  The other is remote_plant.py.

    plant process         PlantServer(Kinematic(arm), ("127.0.0.1", 5005)).serve()
    controller process    plant = PlantClient(arm, ("127.0.0.1", 5005));  then as any plant

Messages are datagrams (UDP): they keep their boundaries, a sender is never held up by a receiver that hangs, and what
is lost is made up for by the next one.  Sockets do not block.  The server listens on this machine alone: nothing is
encrypted, and stamps of another machine's clock would mean nothing here.

Who has control: a controller says HELLO under a session that it has drawn at random, and is heard if its arm is the
plant's, to the last number of its model, and nobody else has been heard from within `timeout`.  Only messages of that
session count, until it says BYE or falls silent.  Anybody may ASK what plant this is (plant_info.py).

When the arm moves: never before the first reset, and never again after a stop without one.  The plant stops by itself,
by its drive's own brake, when no valid command is younger than `timeout`: whether the controller was killed, hangs,
or cannot be understood makes no difference.  After that it obeys nobody until a RESET (where it stands) or a PLACE
(a simulated arm, somewhere else) comes; a RESET while the arm still moves is refused.  A PLACE outside the joint limits
is refused and stops the arm: a controller that asks for it is broken.

When the plant fails: whatever it raises, and whatever state it gives that is not finite, the server brakes it, latches,
says so in its log and in every message to the controller, and goes on.  Until the plant has a state again the last one
is sent, with the time it was taken at.  A reset ends this stop as any other; a simulated arm that has diverged needs a
PLACE, since it stands nowhere.

In real time (the default) the plant advances by `period` a tick, at its own rate, whatever the controller does; a late
tick is counted in `overruns` and not made up for.  With `lockstep` it advances when and as far as it is asked to, which
gives the same numbers as a plant in the same process; time then stands still without a controller, and no timeout is
needed.
"""

from __future__ import annotations

import logging
import selectors
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance import Command, State
from ..cell.plants.plant import ROUNDED, Plant, positive_time
from ..errors import ConfigError, DivergenceError
from ..geometry import ROW
from ..geometry.shapes import LARGEST
from ..model.check import ANGLE, LENGTH
from .packet import (
    LONGEST,
    NUMBERS,
    STATE_HEAD,
    STATUSES,
    TIMEOUT,
    Address,
    Encoder,
    Endpoint,
    Kind,
    Stop,
    digest_number,
    joints_check,
    local_only,
)
from .plant_info import KINDS, PlantInfo, refusal

Array = NDArray[np.float64]
log = logging.getLogger("elbowroom.cell")

PERIOD = 0.004  # s
STANDING = 0.01  # rad/s or m/s: slower joints count as standing still, as for the supervisor
AT_ONCE = 64  # messages taken in one tick, so that a flood cannot hold it up


class PlantServer(Endpoint):
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
        self.plant, self.period = plant, positive_time(period)
        if not (lockstep or self.period < positive_time(timeout)):
            raise ConfigError(f"timeout: expected more than the period, {period:g} s; got {timeout:g} s")
        super().__init__(clock, timeout, lockstep=lockstep)
        self.fault = ""  # what the plant raised last, until the next reset
        self._logged: set[tuple[str, type[Exception]]] = set()
        self.overruns = 0
        self._room = int(getattr(plant, "person_capsules", NUMBERS // ROW))  # rows of people that the plant takes
        self._answers = Encoder()  # to those who ask, who have sessions of their own
        self._peer: Address | None = None
        self._known: Address | None = None  # the one that the log says is there
        self._since = -np.inf  # s, when it said hello
        self._heard = -np.inf  # s, when the session last said something
        self._commanded: float | None = None  # s, stamp of the last command that counted; None: none since the reset
        self._command, self._state = Command(plant.arm.n), State(np.zeros(plant.arm.n))
        self._told = State(np.array(plant.arm.ready))  # the last state that was finite, and what goes with it
        self._touched = (False, 0)
        self._people: Array | None = None
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
    def stop(self) -> None:
        """Stops the arm; it needs a reset."""
        self._stop(Stop.ASKED)

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
            self._known = None
            self._stop(Stop.TIMEOUT)
        if not self.lockstep:
            try:
                self.plant.advance(self.period, self._people)
            except Exception as error:  # whatever it is, the arm must be braked
                self._fail(error)
            self._tell(t)

    def _take(self, t: float, peer: Address) -> bool:
        """A sound message: obeys it, or drops it for a reason."""
        message, drop = self._decoder, self.dropped.drop
        age = 0.0 if self.lockstep else t - message.stamp  # there a message may have waited for a long step
        if age > self.timeout:
            return drop("stale")
        if age < -self.timeout:
            return drop("future")
        if message.kind is Kind.ASK:
            self._inform(t, peer)
            return True
        if message.kind is Kind.HELLO and message.session != self._encoder.session:
            if not self._adopt(t, peer):
                return False
        elif message.session != self._encoder.session or self._peer is None:
            return drop("session")
        if not self._order.admit(message.sequence):
            return False
        if message.kind is Kind.BYE:
            self._leave(t)
            return True
        try:
            if not self._obey(t, message.kind, message.numbers):
                return False
        except Exception as error:  # of the plant; the message was sound, and is answered
            self._fail(error)
        self._heard, self._peer = t, peer
        if self.lockstep:
            self._tell(t)
        return True

    def _adopt(self, t: float, peer: Address) -> bool:
        """Another controller, if its arm is ours and nobody else has control."""
        refused = refusal(self._decoder.numbers, self.plant.arm, self.lockstep)
        if not refused and self._controlled(t) and not self.lockstep:
            refused = "busy"
        self._inform(t, peer, refused)
        if refused:
            return self.dropped.drop(refused)
        self._encoder.begin(self._decoder.session)
        self._order.begin()
        self._peer = peer
        if not self.stopped:
            self._stop(Stop.START)
        if peer != self._known:  # one that was busy for a while says hello again
            self._known, self._since = peer, t
            log.info("%s: controller %s:%d connected", self.plant.arm.name, *peer)
        return True

    def _controlled(self, t: float) -> bool:
        return self._peer is not None and t - self._heard <= self.timeout

    def _leave(self, t: float) -> None:
        """The controller says that it goes: the arm stops, and the next one need not wait."""
        assert self._peer is not None
        log.info("%s: controller %s:%d left after %.1f s", self.plant.arm.name, *self._peer, t - self._since)
        self._peer = self._known = None
        self._encoder.begin(0)
        if not self.stopped:
            self._stop(Stop.LEFT)

    def _inform(self, t: float, peer: Address, refused: str = "") -> None:
        """Says what plant this is, to whoever asked or said hello."""
        self._answers.begin(self._decoder.session)
        size = self.info(t, refused).pack(self._answers.numbers)
        try:
            self._socket.sendto(self._answers.pack(Kind.INFO, t, size), peer)
        except OSError:
            self.unsent += 1

    def info(self, t: float, refused: str = "") -> PlantInfo:
        """What this plant says of itself at time t."""
        plant, arm = self.plant, self.plant.arm
        return PlantInfo(
            joints=arm.n,
            names=joints_check(arm),
            digest=digest_number(arm),
            lockstep=self.lockstep,
            period=self.period,
            timeout=self.timeout,
            capsules=self._room,
            torque=getattr(getattr(plant, "drive", None), "mode", "") == "torque",
            controlled=self._controlled(t),
            refused=refused,
            arm=arm.name,
            plant=KINDS.get(type(plant).__name__, type(plant).__name__),
        )

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
            if (np.abs(numbers) > LARGEST).any():  # no engine could place a person there, now or in the next tick
                return drop("numbers")
            self._people = numbers[1:].reshape(-1, ROW).copy() if len(numbers) > 1 else None
            if self.lockstep:
                self.plant.advance(float(numbers[0]), self._people)
        elif kind is Kind.BRAKE:
            self.plant.brake()
        elif kind is Kind.PLACE:
            if len(numbers) != n:
                return drop("numbers")
            if wrong := outside(self.plant.arm, numbers):
                drop("limits")
                self._stop(Stop.PLACE, wrong)
            else:
                self.plant.reset(numbers)
                self._go()
        elif kind is Kind.RESET:
            if self.stopped and not (self._read(t) and np.abs(self._told.qd).max() <= STANDING):
                drop("moving")
            elif self.stopped:
                self._go()
        else:
            return drop("kind")
        return True

    def _stop(self, reason: Stop, detail: str = "") -> None:
        news = self.stop_reason is not reason and reason not in (Stop.START, Stop.LEFT)
        self.stop_reason = reason  # before the brake, which may fail
        if news:  # a controller may ask for the same nonsense in every tick
            log.error("%s: stops: %s%s", self.plant.arm.name, reason.text, f": {detail}" if detail else "")
        try:
            self.plant.brake()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """The plant raised this: brakes it, latches, and says so."""
        self._log("the plant failed", error)
        self.stop_reason, self.fault = Stop.FAULT, f"{type(error).__name__}: {error}"
        try:
            self.plant.brake()
        except Exception as another:
            self._log("its brake failed", another)

    def _log(self, what: str, error: Exception) -> None:
        """Once until the next reset for each kind of failure: a plant may fail in every tick."""
        if (what, type(error)) not in self._logged:
            self._logged.add((what, type(error)))
            log.error("%s: stops: %s: %s: %s", self.plant.arm.name, what, type(error).__name__, error, exc_info=error)

    def _go(self) -> None:
        self.stop_reason, self.fault, self._commanded = Stop.NONE, "", None
        self._logged.clear()

    def _read(self, t: float) -> bool:
        """Takes the plant's state, if it has one; at t on the clock of the stamps, in lockstep on its own."""
        plant, state, told = self.plant, self._state, self._told
        try:
            plant.read(state)
            touched = bool(plant.touching), int(plant.contacts)
            if not (np.isfinite(state.q).all() and np.isfinite(state.qd).all() and np.isfinite(state.t)):
                raise DivergenceError(f"its state is not finite: q = {state.q}, qd = {state.qd}")
            if state.tau is not None and not np.isfinite(state.tau).all():
                raise DivergenceError(f"its torques are not finite: {state.tau}")
        except Exception as error:
            self._fail(error)
            return False
        told.q[:], told.qd[:], told.tau, self._touched = state.q, state.qd, state.tau, touched
        told.t = state.t if self.lockstep else t
        return True

    def _tell(self, t: float) -> None:
        """Sends the state to the controller that has control."""
        if self._peer is None:
            return
        self._read(t)
        numbers, told, n = self._encoder.numbers, self._told, self.plant.arm.n
        numbers[0] = told.t
        numbers[1], numbers[2] = self._order.last, self.stop_reason
        numbers[3], numbers[4] = self._touched
        size = STATE_HEAD + 2 * n
        numbers[STATE_HEAD : STATE_HEAD + n], numbers[STATE_HEAD + n : size] = told.q, told.qd
        if told.tau is not None:
            numbers[size : size + n] = told.tau
            size += n
        try:
            self._socket.sendto(self._encoder.pack(Kind.STATE, t, size), self._peer)
        except OSError:
            self.unsent += 1


_STATUS_NUMBERS = frozenset(map(float, range(len(STATUSES))))


def outside(arm: Arm, q: Array) -> str:
    """Which joint is outside its limits at q (n,), in words; "" if none is.

    A joint without limits, or with limits that only stand for none, must be where a model may have it at all.
    """
    for i, joint in enumerate(arm.joint_names):
        most = (ANGLE if arm.model.revolute(i) else LENGTH).most
        low, high = max(arm.model.lower[i] - ROUNDED, -most), min(arm.model.upper[i] + ROUNDED, most)
        if not low <= q[i] <= high:
            return f"joint {joint!r}: expected {low:g} to {high:g}; got {q[i]:g}"
    return ""
