"""What a plant says of itself: which arm it is and how it is served, before anybody takes control.

info = ask(("127.0.0.1", 7777), 5.0)         None if nothing answers
info.difference(arm, lockstep=False)         "" if a controller for this arm can use it, else why not
"""

from __future__ import annotations

import contextlib
import secrets
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..errors import ConfigError
from .packet import REASONS, Address, Decoder, Encoder, Kind, Tally, digest_number, hello, joints_check, local_only

AGAIN = 0.1  # s between two questions
KINDS = {"Kinematic": "kinematic", "RigidBody": "rigid", "MuJoCo": "mujoco"}
"""Plants by the names that scenes have for them; others go by their class."""
HEAD = 10  # numbers before the text
LONGEST = 400  # bytes of text


@dataclass(frozen=True)
class PlantInfo:
    """A plant as it describes itself."""

    joints: int
    names: int  # CRC-32 of the joints' names
    digest: int  # part of the model's
    lockstep: bool
    period: float  # s of a tick
    timeout: float  # s without a command after which it stops
    capsules: int  # of people that it has room for
    torque: bool  # it takes torques, else joint speeds
    controlled: bool  # a controller has been heard from within the timeout
    refused: str  # why a HELLO was refused, one of REASONS; "" if it was not, or nobody said hello
    arm: str
    plant: str

    @property
    def text(self) -> str:
        """Arm and plant in words."""
        return f"{self.arm} on the {self.plant} plant"

    def difference(self, arm: Arm) -> str:
        """Why a controller for this arm cannot use the plant, in words; "" if it can."""
        if (self.joints, self.names) != (arm.n, joints_check(arm)):
            return f"the plant is {self.text}; the controller is for {arm.name}, whose joints are others"
        if self.digest != digest_number(arm):
            same = f"has the joints of {arm.name} here, but another base, tool, mass or limit"
            return f"the plant is {self.text}, which {same}"
        return ""

    def pack(self, numbers: NDArray[np.float64]) -> int:
        """Writes it into the numbers of a packet; how many."""
        text = f"{self.arm[: LONGEST // 8]}\0{self.plant[: LONGEST // 8]}".encode()[:LONGEST]
        head = (self.joints, self.names, self.digest, self.lockstep, self.period, self.timeout)
        why = REASONS.index(self.refused) + 1 if self.refused else 0
        numbers[:HEAD] = (*head, self.capsules, self.torque, self.controlled, why)
        numbers[HEAD : HEAD + len(text)] = list(text)
        return HEAD + len(text)

    @classmethod
    def read(cls, numbers: NDArray[np.float64]) -> PlantInfo | None:
        """From the numbers of a packet; None if they make no sense."""
        head, text = numbers[:HEAD].tolist(), numbers[HEAD:]
        whole = [x for k, x in enumerate(head) if k not in (4, 5)]
        if len(head) < HEAD or len(text) > LONGEST or any(x < 0 or x != int(x) for x in whole):
            return None
        if head[9] > len(REASONS) or ((text < 0) | (text > 255) | (text != np.floor(text))).any():
            return None
        arm, _, plant = bytes(text.astype(np.uint8)).decode(errors="replace").partition("\0")
        why = REASONS[int(head[9]) - 1] if head[9] else ""
        return cls(
            joints=int(head[0]),
            names=int(head[1]),
            digest=int(head[2]),
            lockstep=bool(head[3]),
            period=head[4],
            timeout=head[5],
            capsules=int(head[6]),
            torque=bool(head[7]),
            controlled=bool(head[8]),
            refused=why,
            arm=arm,
            plant=plant,
        )


def refusal(numbers: NDArray[np.float64], arm: Arm, lockstep: bool) -> str:
    """Why a HELLO with these numbers is refused by a plant of this arm, one of REASONS; "" if it is not."""
    expected = hello(arm, lockstep)
    if len(numbers) != len(expected) or tuple(numbers[:2]) != expected[:2]:
        return "joints"
    return "model" if numbers[2] != expected[2] else "mode" if numbers[3] != expected[3] else ""


def ask(address: Address, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> PlantInfo | None:
    """Asks what plant is at an address, for so long at most; None if nothing answers as one.  Takes no control."""
    encoder, decoder = Encoder(secrets.randbits(64) | 1), Decoder(Tally())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link, selectors.DefaultSelector() as arrivals:
        try:
            link.connect((local_only(address[0]), address[1]))
        except (OSError, OverflowError) as error:
            raise ConfigError(f"address: expected one of this machine; got {address}: {error}") from error
        link.setblocking(False)
        arrivals.register(link, selectors.EVENT_READ)
        end = clock() + seconds
        while True:
            with contextlib.suppress(OSError):  # nobody listens there yet
                link.send(encoder.pack(Kind.ASK, clock(), 0))
            due = min(clock() + AGAIN, end)
            while (left := due - clock()) > 0:
                arrivals.select(left)
                try:
                    size = link.recv_into(decoder.buffer)
                except BlockingIOError:
                    continue
                except OSError:  # nobody listens there yet
                    time.sleep(max(0.0, min(left, due - clock())))
                    break
                if decoder.unpack(size) and decoder.kind is Kind.INFO and decoder.session == encoder.session:
                    found = PlantInfo.read(decoder.numbers)
                    if found is not None:
                        return found
            if clock() >= end:
                return None
