"""The two-process link: packets to a plant, and packets to a controller.

An input is JSON: what the other side is, and events in order.  An event is a wait (s) or a packet, whose fields are
given one by one, so that most packets are sound in all but one.  Session, sequence number and stamp count from what the
receiver expects, and a right checksum is computed when the packet is sent.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Command, State
from elbowroom.cell.plants.plant import Kinematic, RigidBody
from elbowroom.connect.packet import HEADER, MAGIC, STATE_HEAD, VERSION, Kind, Stop, hello
from elbowroom.connect.plant_server import PlantServer
from elbowroom.connect.remote_plant import PlantClient
from elbowroom.geometry import ROW, Person

from ..mutate.numbers import extreme, gentle, number
from ..mutate.text import raw
from ..target import Broken, Target

Rng = np.random.Generator
SESSION = 77
LATER = 10.0  # s: longer than any timeout
EVENTS = 14


def packed(fields: dict[str, Any], session: int, sequence: int, clock: float) -> bytes:
    """The bytes of a packet; what its fields do not say is as it should be."""
    numbers = fields.get("numbers", [])
    session = fields.get("session", session) % 2**64
    sequence = (sequence + fields.get("skip", 0)) % 2**64
    head = HEADER.pack(
        fields.get("magic", MAGIC.decode()).encode("latin-1")[:4].ljust(4),
        fields.get("version", VERSION),
        fields["kind"],
        fields.get("n", len(numbers)) % 2**16,
        session,
        sequence,
        fields["stamp"] if "stamp" in fields else clock + fields.get("late", 0.0),
    )
    data = head + struct.pack(f"<{len(numbers)}d", *numbers)
    data += struct.pack("<I", fields.get("check", zlib.crc32(data)) % 2**32)
    return bytes.fromhex(fields["raw"]) if "raw" in fields else data[: fields.get("cut", len(data))]


def spoiled(rng: Rng, fields: dict[str, Any]) -> dict[str, Any]:
    """One field of a packet made wrong, or strange."""
    how = rng.integers(12)
    numbers = fields.get("numbers", [])
    if how < 4 and numbers:
        k = int(rng.integers(len(numbers)))
        numbers[k] = number(rng, numbers[k])
    elif how == 4 and numbers:
        value = extreme(rng)
        fields["numbers"] = [value] * len(numbers)
    elif how == 5:
        fields["numbers"] = numbers[:-1] if rng.random() < 0.5 else numbers + [0.0] * int(rng.choice([1, 13, 1000]))
    elif how == 6:
        fields["skip"] = int(rng.choice([-3, -1, 1, 100, 2**63]))
    elif how == 7:
        fields["late"] = float(rng.choice([-1e9, -1.0, -0.05, 0.05, 1.0, 1e9]))
    elif how == 8:
        fields["stamp"] = extreme(rng)
    elif how == 9:
        key = ("session", "version", "kind", "n", "check")[rng.integers(5)]
        fields[key] = int(rng.integers(0, 256)) if key in ("version", "kind") else int(rng.integers(0, 2**16))
    elif how == 10:
        fields["cut"] = int(rng.integers(0, 60))
    else:
        fields["raw"] = raw(rng, packed(fields, SESSION, 1, 0.0)).hex()
    return fields


class Exchange:
    """A socket of the other side, and a clock that only events move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sequence = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)

    def clock(self) -> float:
        return self.now

    def send(self, fields: dict[str, Any], to: Any, session: int) -> None:
        self.sequence += 1
        with contextlib.suppress(OSError):
            self.socket.sendto(packed(fields, session, self.sequence, self.now), to)

    def heard(self) -> tuple[tuple[Any, ...], list[float]] | None:
        """Header and numbers of the newest packet that came; None without one."""
        data = None
        with contextlib.suppress(OSError):
            while True:
                data = self.socket.recv(65536)
        if data is None:
            return None
        head = HEADER.unpack_from(data)
        return head, list(struct.unpack_from(f"<{head[3]}d", data, HEADER.size))


class Server(Target):
    """Packets to a PlantServer: whatever comes, it lives, its state stays finite, the next controller can use it."""

    name, suffix, share = "server", ".json", 8.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.arm = er.load("planar2")
        self.plants = {"kinematic": Kinematic(self.arm), "rigid": RigidBody(self.arm)}
        self.ready = self.arm.ready.tolist()
        self.hellos = [{"kind": int(Kind.HELLO), "numbers": [*hello(self.arm, mode)]} for mode in (False, True)]

    def generate(self, rng: Rng) -> bytes:
        lockstep = bool(rng.random() < 0.5)
        events: list[Any] = [self.hellos[lockstep], {"kind": int(Kind.PLACE), "numbers": self.ready}]
        for _ in range(int(rng.integers(2, EVENTS))):
            if rng.random() < 0.3:
                events.append(float(rng.choice([0.004, 0.004, 0.05, 0.2, 5.0])))
                continue
            fields = self._sound(rng, lockstep)
            events.append(spoiled(rng, fields) if rng.random() < 0.35 else fields)
        if rng.random() < 0.1:
            del events[int(rng.integers(2))]
        plant = "rigid" if rng.random() < 0.5 else "kinematic"
        return json.dumps({"plant": plant, "lockstep": lockstep, "events": events}).encode()

    def _sound(self, rng: Rng, lockstep: bool) -> dict[str, Any]:
        n = self.arm.n
        kind = Kind(int(rng.choice([1, 2, 2, 2, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9, 10])))
        numbers: list[float] = []
        if kind is Kind.HELLO:
            numbers = list(self.hellos[lockstep]["numbers"])  # type: ignore[call-overload]
        elif kind is Kind.COMMAND:
            numbers = [float(rng.integers(6)), *rng.uniform(-1, 1, n).tolist(), *([0.0] * n)]
        elif kind is Kind.ADVANCE:
            person = Person.standing((1.0, 0.2, -0.75)).rows[: int(rng.integers(0, 3))]
            numbers = [float(rng.choice([0.001, 0.01, 0.1, 1.0])), *person.ravel().tolist()]
        elif kind is Kind.PLACE:
            numbers = [gentle(rng, x) for x in self.ready]
        elif kind is Kind.STATE:
            numbers = [0.0] * (STATE_HEAD + 2 * n)
        return {"kind": int(kind), "numbers": numbers}

    def feed(self, data: bytes) -> bool:
        given = json.loads(data)
        plant, lockstep = self.plants[given["plant"]], given["lockstep"]
        plant.reset(self.arm.ready)
        there = Exchange()
        with (
            contextlib.closing(there.socket),
            PlantServer(plant, ("127.0.0.1", 0), lockstep=lockstep, clock=there.clock) as server,
        ):
            server.step(there.now)
            for event in given["events"]:
                if isinstance(event, dict):
                    there.send(event, server.address, SESSION)
                else:
                    there.now += event
                server.step(there.now)
                self._look(server)
            dropped = server.dropped.total
            self._afterwards(server, there)
        return dropped == 0

    def _look(self, server: PlantServer) -> None:
        state = State(np.zeros(self.arm.n))
        server.plant.read(state)
        if not (np.isfinite(state.q).all() and np.isfinite(state.qd).all() and math.isfinite(state.t)):
            raise Broken("the state of a plant is not finite")

    def _afterwards(self, server: PlantServer, there: Exchange) -> None:
        """Another controller says hello, puts the arm to its place and is answered."""
        there.now += LATER
        server.step(there.now)
        there.heard()
        there.sequence = 0
        greeting = self.hellos[server.lockstep]["numbers"]
        for kind, numbers in ((Kind.HELLO, greeting), (Kind.PLACE, self.ready), (Kind.RESET, [])):
            there.now += 0.001
            there.send({"kind": int(kind), "numbers": numbers}, server.address, SESSION + 1)
            server.step(there.now)
        answer = there.heard()
        if answer is None:
            raise Broken("a plant does not answer the next controller")
        head, numbers = answer
        if head[2] != Kind.STATE or head[4] != SESSION + 1 or not np.isfinite(numbers).all():
            raise Broken("a plant answers the next controller with something else than its state")
        if numbers[2] != Stop.NONE:
            raise Broken(f"a plant that was placed anew still stops: {Stop(int(numbers[2])).name}")
        if not np.allclose(numbers[STATE_HEAD : STATE_HEAD + self.arm.n], self.ready, atol=0.01):
            raise Broken("a plant that was placed anew is elsewhere")


class Client(Target):
    """Packets to a PlantClient: reading and writing never raise, and what it says of the plant stays finite."""

    name, suffix, share = "client", ".json", 6.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.arm = er.load("planar2")

    def generate(self, rng: Rng) -> bytes:
        n, events, t = self.arm.n, list[Any](), 0.0
        for _ in range(int(rng.integers(2, EVENTS))):
            if rng.random() < 0.3:
                events.append(float(rng.choice([0.004, 0.004, 0.05, 0.2, 5.0])))
                continue
            t += 0.004
            numbers = [t, 1.0, float(rng.integers(4)), 0.0, 0.0, *rng.uniform(-1, 1, 2 * n).tolist()]
            fields: dict[str, Any] = {"kind": int(Kind.STATE), "numbers": numbers}
            if rng.random() < 0.2:
                told = [
                    float(n),
                    0.0,
                    0.0,
                    0.0,
                    0.004,
                    0.1,
                    14.0,
                    0.0,
                    0.0,
                    float(rng.integers(20)),
                    *b"planar2\0rigid",
                ]
                fields = {"kind": int(Kind.INFO), "numbers": [float(x) for x in told]}
            events.append(spoiled(rng, fields) if rng.random() < 0.35 else fields)
        return json.dumps({"lockstep": bool(rng.random() < 0.2), "events": events}).encode()

    def feed(self, data: bytes) -> bool:
        given = json.loads(data)
        there, state, command = Exchange(), State(np.zeros(self.arm.n)), Command(self.arm.n)
        with (
            contextlib.closing(there.socket),
            PlantClient(
                self.arm, there.socket.getsockname(), lockstep=given["lockstep"], clock=there.clock, patience=0.001
            ) as client,
        ):
            here = client._socket.getsockname()
            for event in given["events"]:
                heard = there.heard()
                session = SESSION if heard is None else heard[0][4]
                if isinstance(event, dict):
                    there.send(event, here, session)
                else:
                    there.now += event
                client.read(state)
                client.write(command)
                client.brake()
                if not given["lockstep"]:  # there these wait for an answer, and this clock stands still
                    client.advance(0.004, np.zeros((1, ROW)))
                    client.unlatch()
                _ = client.connected, client.stopped, client.stop_reason.text, client.lost
                numbers = [*state.q, *state.qd, state.t]
                if not np.isfinite(numbers).all():
                    raise Broken("the state that a client reads is not finite")
            return client.dropped.total == 0
