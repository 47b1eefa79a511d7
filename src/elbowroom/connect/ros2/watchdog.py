"""A process of its own that stops the arm when its controller is killed, hangs or is suspended.

A group controller of ros2_control follows the last speed until the next one comes: a controller that dies leaves the
arm moving.  So another process listens to the controller's heartbeat, a byte per command through a pipe.  When none
comes for `timeout`, or the pipe ends, it sends zeros to the same topic, fifty times a second: for `LAST` after the end
of the controller, and until a reset where the controller is merely late.  That it had to is a fault, which the
controller is told.

The process has a session of its own and ignores what ends a terminal's programs (SIGINT, SIGTERM, SIGHUP, SIGQUIT): it
ends when the controller says so, or some seconds after that.  It says that it is ready once it is connected with who
listens to commands.  It answers heartbeats, and a controller without an answer for `ANSWER` has a fault.

It is no substitute for the robot's own safety functions: both processes may be killed, and a network may be cut.

    python -m elbowroom.connect.ros2.watchdog DOMAIN INTERFACE HASHES TOPIC JOINTS TIMEOUT
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from ...errors import ConfigError
from .node import RELIABLE, Node
from .plant import SPEEDS, speeds_message

TIMEOUT = 0.2  # s
AGAIN = 0.02  # s between zeros
LAST = 3.0  # s that zeros are sent after the end
START = 60.0  # s that the process may take to start
MATCH = 10.0  # s of that for finding who listens to commands
ANSWER = 0.5  # s that a heartbeat may be without an answer, or `timeout` if that is more
NOBODY = "nobody"
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
BEAT, RESET, QUIT, TRIPPED = b".", b"r", b"q", b"!"


class Watchdog:
    """The controller's side: starts the process, and beats."""

    def __init__(
        self,
        node: Node,
        topic: str,
        joints: int,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeout, self.clock = timeout, clock
        words = [str(node.domain), node.interface, str(int(node.hashes)), topic, str(joints), repr(timeout)]
        call = [sys.executable, "-m", __name__, *words]
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            call,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": paths},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self.fault = ""
        self._waiting: float | None = None  # s, when the first heartbeat without an answer was sent
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
        if self.participant == NOBODY:
            self.close()
            raise ConfigError(f"watchdog: {topic}: expected a controller that listens; nobody does")
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        node.friends.add(self.participant)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def beat(self) -> None:
        """A command was sent.  Never waits, never raises; what the process says is heard."""
        self.listen()
        self._tell(BEAT)
        if self._waiting is None:
            self._waiting = self.clock()

    def listen(self) -> None:
        """Hears what the process says, or that it does not."""
        said = None
        with contextlib.suppress(OSError):
            said = os.read(self._out, 4096)
        if said:
            self._waiting = None
            if TRIPPED in said:
                self.fault = f"watchdog: no command came for {self.timeout:g} s, and it stopped the arm"
        elif said == b"":
            self.fault = self.fault or "watchdog: its process has ended"
        elif self._waiting is not None and self.clock() - self._waiting > max(ANSWER, self.timeout):
            self.fault = self.fault or "watchdog: its process does not answer"

    def _tell(self, what: bytes) -> None:
        try:
            os.write(self._in, what)
        except BlockingIOError:  # the process does not read: it is late, or suspended
            self.fault = self.fault or "watchdog: its process does not answer"
        except OSError:
            self.fault = self.fault or "watchdog: its process has ended"

    def reset(self) -> None:
        """After a stop: zeros are not sent any more."""
        self.fault, self._waiting = "", None
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
    end = time.monotonic() + MATCH
    while not writer.subscribers and time.monotonic() < end:
        time.sleep(AGAIN / 4)
    os.write(told, f"{node.id if writer.subscribers else NOBODY}\n".encode())
    os.set_blocking(told, False)
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
        if BEAT in data:
            heard = heard if tripped else time.monotonic()
            with contextlib.suppress(OSError):
                os.write(told, BEAT)
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
    for name in IGNORED:  # they are for the controller, which says when it is over
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    main()
