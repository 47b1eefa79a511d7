"""Planning beside a control loop: in a process of its own, with a hand-over that nobody waits for.

    planner = Background(controller, rules)      starts; `ready` once its kernels are loaded
    planner.ask(request)                         False while it is not ready; a newer request replaces one that waits
    answer = planner.poll(t)                     None, or the newest answer, once
    planner.close()

Requests and answers are blocks of fixed size in shared memory, with a number and a check sum: what was written in part,
by a process that was stopped or killed, is not an answer.  A byte in a pipe wakes the planner; the pipe's end tells it
that the control loop is gone, and it ends.  `ask` and `poll` copy a block and return.

A thread starts the process, and ends one that is silent: it sleeps but for some microseconds, ten times a second.  A
process that ended, or does not answer for `silent` seconds, is started again after a pause that doubles each time.
Until then `problem` says what is wrong.

`Inline` is the same without a process, for runs that must be repeatable: it counts iterations and not seconds, and
answers `latency` seconds later in the time of the run.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...geometry.pairs import Clearance
from ...geometry.shapes import ROW
from .decision import SAMPLES, Answer, Choice, Request, choose
from .follower import SampledRoute

if TYPE_CHECKING:
    from ...geometry import Body
    from ..control.controller import Controller
    from .planner import Planner
    from .settings import Planning
    from .world import Obstacle

Array = NDArray[np.float64]
log = logging.getLogger("elbowroom.planning")
log.addHandler(logging.NullHandler())

TICK = 0.1  # s between looks of the thread
STARTING = 120.0  # s: kernels may have to be compiled
LONGEST_PAUSE = 60.0  # s
TEXT = 32  # numbers that hold a problem's text
HEAD = 2  # number and check sum of a block
BOOT = "import pickle,sys;sys.path[:]=pickle.load(sys.stdin.buffer);from {0} import serve;serve()"


class Answering(Protocol):
    """What answers requests."""

    @property
    def problem(self) -> str:
        """What is wrong with it, if anything."""

    def ask(self, request: Request) -> bool:
        """False if it takes none now."""

    def poll(self, t: float) -> Answer | None:
        """The newest answer, once."""

    def close(self) -> None:
        """Ends it."""


def made_planner(body: Body, lower: Array, upper: Array, rules: Planning) -> Planner:
    """The planner of a body whose joints keep to these limits."""
    from .planner import Planner

    return Planner(body.arm, body=body, lower=lower, upper=upper, tool_speed=rules.speed)


class Inline:
    """Answers in the control loop, at once, but only `latency` seconds later: the same run, the same answers."""

    problem = ""

    def __init__(self, controller: Controller, rules: Planning, shapes: Sequence[Obstacle] = ()) -> None:
        self._planner = made_planner(controller.body, controller.lower, controller.upper, rules)
        self._rules, self._shapes = rules, tuple(shapes)
        people, _, capsules = controller.obstacles().layout
        self._near = Clearance(controller.body, people * capsules)
        self._answer: Answer | None = None

    def ask(self, request: Request) -> bool:
        """Answers it, for later."""
        self._answer = choose(self._planner, request, self._rules, self._shapes, near=self._near, repeatable=True)
        return True

    def poll(self, t: float) -> Answer | None:
        """The answer when its time has come."""
        answer = self._answer
        if answer is None or t < answer.t + self._rules.latency:
            return None
        self._answer = None
        return answer

    def close(self) -> None:
        """Nothing to end."""


# ---- blocks in shared memory


class Sizes(NamedTuple):
    """What decides how long the blocks are."""

    joints: int
    people: int
    capsules: int  # of a person
    things: int

    @property
    def request(self) -> int:
        """Numbers of a request."""
        return HEAD + 2 + self.joints + 3 + 9 + self.people + (self.people * self.capsules + self.things) * ROW

    @property
    def answer(self) -> int:
        """Numbers of an answer."""
        return HEAD + 9 + TEXT + 2 * SAMPLES * self.joints


class Block:
    """A numbered message of fixed size with one writer and one reader, neither of which waits."""

    def __init__(self, memory: Array) -> None:
        self._memory = memory
        self._copy = np.empty_like(memory)
        self._seen = 0.0

    def put(self, number: int, content: Array) -> None:
        """A message, in place of what is there."""
        self._memory[0] = 0.0
        self._memory[HEAD:] = content
        self._memory[1] = self._sum(number, content)
        self._memory[0] = number

    def take(self) -> Array | None:
        """The message, if it is new and whole."""
        number = self._memory[0]
        if number == 0.0 or number == self._seen:
            return None
        self._copy[:] = self._memory
        if self._copy[0] != number or self._copy[1] != self._sum(int(number), self._copy[HEAD:]):
            return None
        self._seen = number
        return self._copy[HEAD:]

    @staticmethod
    def _sum(number: int, content: Array) -> float:
        return float(zlib.crc32(np.ascontiguousarray(content).data, number & 0xFFFFFFFF))


def packed_request(asked: Request) -> Array:
    """The numbers of a request."""
    turned = np.zeros(9) if asked.rotation is None else asked.rotation.ravel()
    head = np.array([asked.t, float(asked.rotation is not None)])
    return np.concatenate([head, asked.q, asked.aim, turned, asked.stood, asked.people.ravel(), asked.things.ravel()])


def unpacked_request(number: int, content: Array, sizes: Sizes) -> Request:
    """The request that these numbers are."""
    n, people, capsules, things = sizes
    lengths = [2, n, 3, 9, people, people * capsules * ROW, things * ROW]
    head, q, aim, turned, stood, rows, put = np.split(content.copy(), np.cumsum(lengths)[:-1])
    rotation = turned.reshape(3, 3) if head[1] else None
    shape = (people, capsules, ROW)
    return Request(number, float(head[0]), q, aim, rotation, rows.reshape(shape), stood, put.reshape(things, ROW))


def packed_answer(answer: Answer, sizes: Sizes) -> Array:
    """The numbers of an answer."""
    content = np.zeros(sizes.answer - HEAD)
    route = answer.route
    duration = 0.0 if route is None else route.duration
    content[:9] = *(answer.number, answer.t, answer.choice, *answer.aim), answer.margin, answer.delay, duration
    text = answer.problem.encode()[: 8 * TEXT - 8]
    content[9] = answer.seconds
    content[10 : 9 + TEXT].view(np.uint8)[: len(text)] = np.frombuffer(text, np.uint8)
    if route is not None:
        content[9 + TEXT :] = np.concatenate([route.q.ravel(), route.qd.ravel()])
    return content


def unpacked_answer(content: Array, sizes: Sizes) -> Answer:
    """The answer that these numbers are."""
    number, t, choice, x, y, z, margin, delay, duration = content[:9].tolist()
    text = content[10 : 9 + TEXT].tobytes().rstrip(b"\0").decode(errors="replace")
    route = None
    if duration > 0.0:
        q, qd = content[9 + TEXT :].reshape(2, SAMPLES, sizes.joints)
        route = SampledRoute(q, qd, duration)
    aim = np.array([x, y, z])
    return Answer(int(number), t, Choice(int(choice)), aim, margin, delay, route, float(content[9]), text)


# ---- the process


@dataclass(frozen=True)
class Task:
    """What the process is started with."""

    memory: str  # the file of the shared memory
    sizes: Sizes
    body: Body
    lower: Array
    upper: Array
    rules: Planning
    shapes: tuple[Obstacle, ...]


class Link:
    """Shared memory: one number that is 1 when the planner is ready, a request, an answer."""

    def __init__(self, path: str, sizes: Sizes) -> None:
        numbers = 1 + sizes.request + sizes.answer
        with open(path, "r+b") as file:
            if os.fstat(file.fileno()).st_size < 8 * numbers:
                file.truncate(8 * numbers)
            self._map = mmap.mmap(file.fileno(), 8 * numbers)
        memory: Array = np.frombuffer(self._map, dtype=np.float64)
        self.ready = memory[:1]
        self.requests, self.answers = Block(memory[1 : 1 + sizes.request]), Block(memory[1 + sizes.request :])


def serve() -> None:
    """The process: answers requests until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        os.nice(5)  # the control loop comes first
    task: Task = pickle.load(sys.stdin.buffer)
    link = Link(task.memory, task.sizes)
    with contextlib.suppress(OSError):
        os.unlink(task.memory)  # both have it open
    planner = made_planner(task.body, task.lower, task.upper, task.rules)
    sizes = task.sizes
    near = Clearance(task.body, sizes.people * sizes.capsules)
    people = np.full((sizes.people, sizes.capsules, ROW), 1e3)
    first = Request(1, 0.0, task.body.arm.ready, task.body.arm.pose(task.body.arm.ready)[:3, 3], None, people,
                    np.zeros(sizes.people), np.full((sizes.things, ROW), 1e3))  # fmt: skip
    planner.checker.prepare(sizes.people * sizes.capsules + sizes.things, task.shapes)
    with contextlib.suppress(Exception):
        choose(planner, first, task.rules, task.shapes, near=near)  # compiles what is not there yet
    link.ready[0] = 1.0
    while os.read(sys.stdin.fileno(), 4096):
        content = link.requests.take()
        if content is None:
            continue
        asked = unpacked_request(int(link.requests._seen), content, sizes)
        try:
            answer = choose(planner, asked, task.rules, task.shapes, near=near)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            answer = Answer(asked.number, asked.t, Choice.FAILED, asked.aim, problem=said)
        link.answers.put(asked.number, packed_answer(answer, sizes))


class _Keeper:
    """Starts the process, and again when it ended or is silent.  Runs in a thread of its own."""

    def __init__(
        self, body: Body, lower: Array, upper: Array, sizes: Sizes, rules: Planning, shapes: tuple[Obstacle, ...]
    ):
        self._given = sizes, body, lower, upper, rules, shapes
        self.sizes, self._rules = sizes, rules
        self.link: Link | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.asked: float | None = None  # s, when a request was made that is not answered
        self.problem = ""
        self._path = ""
        self.starts = 0
        self._pause, self._start_at, self._started = rules.restart, 0.0, 0.0
        self._end, self.writing = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._work, name="planner", daemon=True)
        self.thread.start()

    @property
    def ready(self) -> bool:
        """Whether a request would be answered."""
        link = self.link
        return link is not None and link.ready[0] == 1.0

    def answered(self) -> None:
        """It works."""
        self.asked, self.problem, self._pause = None, "", self._rules.restart

    def close(self) -> None:
        """Ends the process, then the thread."""
        self._end.set()
        if threading.current_thread() is not self.thread:
            self.thread.join(5.0)

    def _work(self) -> None:
        try:
            while not self._end.wait(TICK if self.starts else 0.0):
                try:
                    self._look(time.monotonic())
                except Exception as error:  # a thread that dies in silence would leave an arm that waits for answers
                    self._give_up(f"cannot be started: {type(error).__name__}: {error}", time.monotonic())
        finally:
            self._kill()

    def _look(self, now: float) -> None:
        process, asked = self.process, self.asked
        if process is None:
            if now >= self._start_at:
                self._launch(now)
        elif (code := process.poll()) is not None:
            self._give_up(f"ended with {_named(code)}", now)
        elif asked is not None and now - asked > self._rules.silent:
            self._give_up("does not answer", now)
        elif self.ready:
            self.problem = ""  # a new one that can be asked
        elif now - self._started > STARTING:
            self._give_up(f"was not ready after {STARTING:g} s", now)

    def _launch(self, now: float) -> None:
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        handle, path = tempfile.mkstemp(prefix="elbowroom-planner-", dir=folder)
        os.close(handle)
        self._path = path
        link = Link(path, self.sizes)
        self.process = process = subprocess.Popen(
            [sys.executable, "-c", BOOT.format(__name__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C of the terminal is not for it
        )
        assert process.stdin is not None
        self.starts += 1
        self._started = now
        process.stdin.write(pickle.dumps(sys.path) + pickle.dumps(Task(path, *self._given)))
        os.set_blocking(process.stdin.fileno(), False)
        self.asked = None
        self.link = link

    def _give_up(self, why: str, now: float) -> None:
        self._kill()
        self.problem, self._start_at = why, now + self._pause
        log.warning("the planner %s; the arm goes on without it, and it is started again in %g s", why, self._pause)
        self._pause = min(2.0 * self._pause, LONGEST_PAUSE)

    def _kill(self) -> None:
        self.link, process, self.process = None, self.process, None
        self.asked = None
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()
            if process.stdin is not None:
                with self.writing, contextlib.suppress(OSError):  # never under a write: another file may get its number
                    process.stdin.close()
            process.wait()
        with contextlib.suppress(OSError):
            os.unlink(self._path)  # of a process that ended before it had opened the file


def _named(code: int) -> str:
    """An exit status in words."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


class Background:
    """A planner in a process of its own; see the module's docstring."""

    def __init__(self, controller: Controller, rules: Planning, shapes: Sequence[Obstacle] = ()) -> None:
        people, things, capsules = controller.obstacles().layout
        sizes = Sizes(controller.arm.n, people, capsules, things)
        self._keeper = _Keeper(controller.body, controller.lower, controller.upper, sizes, rules, tuple(shapes))
        self._closing = weakref.finalize(self, self._keeper.close)

    def __repr__(self) -> str:
        return f"<Background: {self.problem or ('ready' if self.ready else 'starting')}>"

    @property
    def ready(self) -> bool:
        """Whether its kernels are loaded."""
        return self._keeper.ready

    @property
    def problem(self) -> str:
        """Why it does not answer; empty where it does, or has not been asked."""
        return self._keeper.problem

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        process = self._keeper.process
        return None if process is None else process.pid

    @property
    def starts(self) -> int:
        """How often the process was started."""
        return self._keeper.starts

    def wait(self, seconds: float) -> bool:
        """Waits until it is ready; for tests and start-up, not for a control loop."""
        until = time.monotonic() + seconds
        while not self.ready and time.monotonic() < until:
            time.sleep(0.01)
        return self.ready

    def ask(self, request: Request) -> bool:
        """Puts the request where the planner reads, in place of an older one; False while there is no planner."""
        keeper = self._keeper
        link, process = keeper.link, keeper.process
        if link is None or process is None or process.stdin is None or link.ready[0] != 1.0:
            return False
        link.requests.put(request.number, packed_request(request))
        keeper.asked = keeper.asked or time.monotonic()
        if keeper.writing.acquire(blocking=False):  # else it is being closed
            try:
                with contextlib.suppress(
                    OSError, ValueError
                ):  # full: enough to wake up by; closed: the thread finds out
                    os.write(process.stdin.fileno(), b"!")
            finally:
                keeper.writing.release()
        return True

    def poll(self, t: float) -> Answer | None:
        """The newest answer, once.  One that makes no sense is as none."""
        link = self._keeper.link
        content = None if link is None else link.answers.take()
        if content is None:
            return None
        self._keeper.answered()
        try:
            return unpacked_answer(content, self._keeper.sizes)
        except (ValueError, OverflowError):
            return None

    def close(self) -> None:
        """Ends the process."""
        self._closing()
