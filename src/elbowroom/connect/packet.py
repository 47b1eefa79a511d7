"""Messages between plant and controller: a fixed layout, checked to the last bit; and what both sides are made of.

A message is packed into one buffer, without making anything new:

    at       what
    0   4s   magic, "ELBR"
    4   u8   version of this layout, 2
    5   u8   kind
    6   u16  n, how many numbers follow
    8   u64  session: who talks, drawn at random
    16  u64  sequence number, from 1, one stream a session and direction
    24  f64  stamp, s on the sender's monotonic clock
    32  f64  n numbers
    +   u32  CRC-32 of all that stands before it

Little-endian.  A stamp of one process can be held against the clock of another on the same machine: Python's
`time.monotonic` reads CLOCK_MONOTONIC, which is one for all of them (and does not tick while the machine sleeps).

What cannot be trusted is dropped and counted by its reason (`REASONS`).  The newest message counts: one that arrives
after a later one is of no use to a control loop and is dropped as well.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance import Status
from ..cell.plants.plant import positive_time
from ..errors import ConfigError

Array = NDArray[np.float64]
Address = tuple[str, int]

MAGIC, VERSION = b"ELBR", 3
HEADER = struct.Struct("<4sBBHQQd")
CHECK = struct.Struct("<I")
NUMBERS = 1024
"""The most numbers that a packet holds: 78 capsule rows."""

LARGEST = HEADER.size + 8 * NUMBERS + CHECK.size  # bytes
STATE_HEAD = 5  # numbers of a STATE before q, qd and tau
STATUSES = tuple(Status)
TIMEOUT = 0.1  # s
LONGEST = 1.0  # s, that one message may make a plant in lockstep advance

REASONS = (
    "short",  # fewer bytes than a header, or than its n says
    "long",  # more bytes than its n says
    "magic",
    "version",
    "corrupted",  # the CRC does not fit
    "kind",  # not one that this side takes
    "numbers",  # not as many as the kind has, or not finite
    "session",  # not the one that is being listened to
    "duplicated",
    "reordered",
    "stale",  # stamped too long ago
    "future",  # stamped in a time that has not come
    "busy",  # somebody else has control
    "joints",  # made for another arm
    "model",  # for an arm with the same joints that is not the same: its base, its tool, its masses
    "mode",  # lockstep on one side alone
    "stopped",  # a command while the plant waits for a reset
    "moving",  # a reset while the arm still moves, or while nobody knows whether it does
    "limits",  # a place outside the joint limits
)


class Kind(IntEnum):
    """What a packet is for; its numbers in brackets."""

    HELLO = 1  # controller asks for control [joints, CRC-32 of their names, part of the model's digest, lockstep]
    COMMAND = 2  # [status, qd, tau]
    BRAKE = 3  # the drive's own stop []
    ADVANCE = 4  # [dt, capsule rows of people]
    PLACE = 5  # arm at rest at [q]
    RESET = 6  # ends a stop []
    STATE = 7  # [t, sequence it answers, stop, touching, contacts, q, qd; tau too if the plant measures torques]
    ASK = 8  # anybody asks what plant this is []
    INFO = 9  # the answer, to HELLO too [as plant_info.py has it]
    BYE = 10  # controller leaves []


class Stop(IntEnum):
    """Why a plant does not obey commands."""

    NONE = 0
    START = 1
    TIMEOUT = 2
    ASKED = 3
    PLACE = 4
    FAULT = 5
    LEFT = 6

    @property
    def text(self) -> str:
        """The same in words."""
        return _TEXTS[self]


_TEXTS = {
    Stop.NONE: "",
    Stop.START: "started anew, or has another controller, and waits for a reset",
    Stop.TIMEOUT: "no valid command came in time",
    Stop.ASKED: "stopped at the plant",
    Stop.PLACE: "asked to place the arm outside its joint limits",
    Stop.FAULT: "the plant failed; its log says how",
    Stop.LEFT: "its controller left",
}


class Tally:
    """Dropped messages by reason."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(REASONS, 0)

    def drop(self, reason: str) -> bool:
        """Counts one; always False, to be returned."""
        self._counts[reason] += 1
        return False

    def __getitem__(self, reason: str) -> int:
        return self._counts[reason]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._counts.items())

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self._counts.values())

    def __repr__(self) -> str:
        return "<dropped: " + (", ".join(f"{n} {reason}" for reason, n in self if n) or "nothing") + ">"


class Encoder:
    """Packs messages of one session, all into the same buffer: `numbers[:n] = ...`, then `pack(kind, stamp, n)`."""

    def __init__(self, session: int = 0) -> None:
        self.session, self.sequence = session, 0
        self._buffer = bytearray(LARGEST)
        self._view = memoryview(self._buffer)
        self.numbers: Array = np.frombuffer(self._buffer, "<f8", NUMBERS, HEADER.size)

    def begin(self, session: int) -> None:
        """Another session; its numbers start again."""
        self.session, self.sequence = session, 0

    def pack(self, kind: Kind, stamp: float, n: int) -> memoryview:
        """The next message, with the first n of `numbers`; good until the next one is packed."""
        self.sequence += 1
        HEADER.pack_into(self._buffer, 0, MAGIC, VERSION, kind, n, self.session, self.sequence, stamp)
        end = HEADER.size + 8 * n
        CHECK.pack_into(self._buffer, end, zlib.crc32(self._view[:end]))
        return self._view[: end + CHECK.size]


class Decoder:
    """Unpacks messages from one buffer: receive into `buffer`, then `unpack(size)`."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.kind, self.session, self.sequence, self.stamp = Kind.HELLO, 0, 0, 0.0
        self._whole = bytearray(LARGEST + 1)  # a byte more, so that what is too long shows
        self.buffer = memoryview(self._whole)
        self._all: Array = np.frombuffer(self._whole, "<f8", NUMBERS, HEADER.size)
        self.numbers = self._all[:0]  # a view, good until the next message

    def unpack(self, size: int) -> bool:
        """Whether the first `size` bytes are a sound message; if so, its parts are in the attributes."""
        drop = self.tally.drop
        if size < HEADER.size + CHECK.size:
            return drop("short")
        magic, version, kind, n, session, sequence, stamp = HEADER.unpack_from(self._whole)
        if magic != MAGIC:
            return drop("magic")
        if version != VERSION:
            return drop("version")
        end = HEADER.size + 8 * n
        if size < end + CHECK.size:
            return drop("short")
        if size > end + CHECK.size:
            return drop("long")
        if CHECK.unpack_from(self._whole, end)[0] != zlib.crc32(self.buffer[:end]):
            return drop("corrupted")
        if kind not in _KINDS:
            return drop("kind")
        numbers = self._all[:n]
        if not (np.isfinite(numbers).all() and -_AGES < stamp < _AGES):
            return drop("numbers")
        self.kind, self.session, self.sequence, self.stamp = _KINDS[kind], session, sequence, stamp
        self.numbers = numbers
        return True


_KINDS = {int(kind): kind for kind in Kind}
_AGES = 1e12  # s; not true of NaN


class Order:
    """Lets every sequence number pass once, and only upwards."""

    WINDOW = 64  # how far back a repeated message is told from one that is merely late

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.lost = 0  # numbers that had not come when a later one did
        self.begin()

    def begin(self) -> None:
        """Another session: numbers start again."""
        self.last, self._seen = 0, 0  # bit k: whether last - k has come

    def admit(self, sequence: int) -> bool:
        """Whether this message is later than all before it."""
        ahead = sequence - self.last
        if ahead > 0:
            self.lost += ahead - 1
            self._seen = (self._seen << ahead | 1) & _MASK if ahead < self.WINDOW else 1
            self.last = sequence
            return True
        if -ahead < self.WINDOW:  # farther back nothing is known; and a shift by that much would take all memory
            bit = 1 << -ahead
            if self._seen & bit:
                return self.tally.drop("duplicated")
            self._seen |= bit
        return self.tally.drop("reordered")


_MASK = (1 << Order.WINDOW) - 1


class Endpoint:
    """One side of the link: a datagram socket, what it packs and unpacks, and what was dropped, lost or not sent."""

    def __init__(self, clock: Callable[[], float], timeout: float, *, lockstep: bool) -> None:
        self.clock, self.timeout, self.lockstep = clock, positive_time(timeout), lockstep
        self.dropped = Tally()
        self.unsent = 0  # messages that the system did not take
        self.stop_reason = Stop.START
        self._decoder, self._order, self._encoder = Decoder(self.dropped), Order(self.dropped), Encoder()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    @property
    def stopped(self) -> bool:
        """Whether the plant waits for a reset, as far as is known; `stop_reason.text` says why."""
        return self.stop_reason is not Stop.NONE

    @property
    def lost(self) -> int:
        """Messages that had not come when a later one did."""
        return self._order.lost

    def close(self) -> None:
        """Gives the socket back."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def joints_check(arm: Arm) -> int:
    """A number for the joints' names and order: plant and controller must have the same."""
    return zlib.crc32("\0".join(arm.joint_names).encode())


def digest_number(arm: Arm) -> int:
    """48 bits of the model's digest, which a float holds exactly."""
    return int(arm.model.digest[:12], 16)


def hello(arm: Arm, lockstep: bool) -> tuple[float, ...]:
    """The numbers of a HELLO."""
    return float(arm.n), float(joints_check(arm)), float(digest_number(arm)), float(lockstep)


def local_only(host: str) -> str:
    """The host, if it is this machine."""
    with contextlib.suppress(ValueError):
        if host == "localhost" or ipaddress.ip_address(host).is_loopback:
            return "127.0.0.1" if host == "localhost" else host
    raise ConfigError(f"address: expected one of this machine, such as 127.0.0.1; got {host!r}")
