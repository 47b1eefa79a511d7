"""A process of its own that stops the arm when its controller is killed, hangs or is suspended.

A group controller of ros2_control follows the last speed until the next one comes: a controller that dies leaves the
arm moving.  So another process listens to the controller's heartbeat, a byte per command through a pipe.  When none
comes for `timeout`, or the pipe ends, it sends zeros to the same topic, fifty times a second: for `LAST` after the end
of the controller, and until a reset where the controller is merely late.  That it had to is a fault, which the
controller is told.

It is no substitute for the robot's own safety functions: both processes may be killed, and a network may be cut.

    python -m elbowroom.connect.ros2.watchdog DOMAIN INTERFACE HASHES TOPIC JOINTS TIMEOUT
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time

from ...errors import ConfigError
from .node import RELIABLE, Node
from .plant import SPEEDS, speeds_message

TIMEOUT = 0.2  # s
AGAIN = 0.02  # s between zeros
LAST = 3.0  # s that zeros are sent after the end
START = 60.0  # s that the process may take to start
BEAT, RESET, QUIT, TRIPPED = b".", b"r", b"q", b"!"


class Watchdog:
    """The controller's side: starts the process, and beats."""

    def __init__(self, node: Node, topic: str, joints: int, timeout: float = TIMEOUT) -> None:
        self.timeout = timeout
        words = [str(node.domain), node.interface, str(int(node.hashes)), topic, str(joints), repr(timeout)]
        call = [sys.executable, "-m", __name__, *words]
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self.fault = ""
        said = b""
        end = time.monotonic() + START
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self._out], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._out, 256) if ready else b""
            if not part:
                self.close()
                raise ConfigError("watchdog: expected its process to start; it did not")
            said += part
        self.participant = said.decode().strip()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        node.friends.add(self.participant)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def beat(self) -> None:
        """A command was sent.  Never waits, never raises; what the process says is heard."""
        self._tell(BEAT)
        with contextlib.suppress(OSError):
            if TRIPPED in os.read(self._out, 64):
                self.fault = f"watchdog: no command came for {self.timeout:g} s, and it stopped the arm"

    def _tell(self, what: bytes) -> None:
        try:
            os.write(self._in, what)
        except BlockingIOError:  # the process does not read: it is late, or suspended
            self.fault = self.fault or "watchdog: its process does not answer"
        except OSError:
            self.fault = self.fault or "watchdog: its process has ended"

    def reset(self) -> None:
        """After a stop: zeros are not sent any more."""
        self.fault = ""
        self._tell(RESET)

    def close(self) -> None:
        """Ends the process; the arm should stand."""
        with contextlib.suppress(OSError, ValueError):
            os.write(self._in, QUIT)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def guard(node: Node, topic: str, joints: int, timeout: float, given: int, told: int) -> None:
    """The process: listens at one descriptor and says at another that it had to act."""
    zeros, writer = speeds_message((0.0,) * joints), node.publish(topic, SPEEDS, RELIABLE)
    os.write(told, f"{node.id}\n".encode())
    heard: float | None = None  # s, of the last beat; None before the first
    tripped, ended = False, 0.0
    while not ended or time.monotonic() < ended:
        waiting = AGAIN if tripped or ended else timeout / 4
        data = b""
        if not ended:
            if select.select([given], [], [], waiting)[0]:
                data = os.read(given, 4096)
                if not data:
                    ended = time.monotonic() + LAST if heard is not None else 1e-9
        else:
            time.sleep(waiting)
        if QUIT in data:
            return
        if RESET in data:
            tripped, heard = False, None
        if BEAT in data and not tripped:
            heard = time.monotonic()
        late = heard is not None and time.monotonic() - heard > timeout
        if late and not tripped:
            tripped = True
            with contextlib.suppress(OSError):
                os.write(told, TRIPPED)
        if tripped or ended > 1.0:
            writer.send(zeros)


def main() -> None:
    """The process's own entry."""
    domain, interface, hashes, topic, joints, timeout = sys.argv[1:]
    with Node(int(domain), interface=interface, hashes=hashes == "1") as node:
        guard(node, topic, int(joints), float(timeout), sys.stdin.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the controller, which says when it is over
    main()
