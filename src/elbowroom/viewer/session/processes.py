"""The processes of a live page: how they start and end, what passes between them, and the one that compiles ahead.

Ctrl-C goes to every process of a terminal.  A child that starts here inherits that it is not heard: the page's process
hears it and ends its children.  And a child that is spawned runs the caller's script again, up to its end; since
nothing in it is needed, the script is hidden meanwhile.  So a page can be started from any script, and starts sooner.

Between the page and the engine snapshots go one way, orders the other, and nobody waits.  Snapshots go through a
wait-free double buffer in shared memory: one writer, many readers.  The writer fills the slot that nobody is pointed to
and then points to it; a reader copies the slot and looks whether the writer has come round to it meanwhile, in which
case it copies again.  A snapshot that does not fit is left out and counted.

    orders = Orders(pipe);  orders.send("drag", (0.1, 0.0));  orders.close()

While the engine compiles another arm it reads nothing for seconds, and a pipe holds some hundred orders.  So they wait
here, and a thread of its own sends them.  Of several that say the same with other values (a slider, a drag) the last
counts.  What does not fit is dropped, but never a stop.

Cells that a user is likely to choose next are compiled into the disk cache by a process of its own, one after the
other, at the lowest priority there is, so that it has only the time that nobody else wants.  It ends with the page's
process: the pipe between them closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.sharedctypes import RawArray
from types import ModuleType

from ...cell.runner import Cell
from ...errors import ElbowroomError, ModelNotice, ModelWarning
from ..snapshot import Snapshot
from .setup import CELL, Setup

CONTEXT = multiprocessing.get_context("spawn")
_starting = threading.Lock()


def start(target: Callable[..., object], *given: object) -> SpawnProcess:
    """A child process at work; it ends with this one."""
    child = CONTEXT.Process(target=_silent, args=(target, *given), daemon=True)
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # when it starts, which the first child makes it, Ctrl-C is let in again
    with _starting, _unheard(), _bare():
        child.start()
    return child


def _silent(target: Callable[..., object], *given: object) -> None:
    """Runs the target without warnings about the arm's file: the page's own process has given them."""
    for category in (ModelWarning, ModelNotice):
        warnings.simplefilter("ignore", category)
    target(*given)


def end(child: SpawnProcess | None, patience: float = 0.0) -> None:
    """Waits so long (s) for a child to end, and then ends it."""
    if child is None:
        return
    child.join(patience)
    for put_out in (child.terminate, child.kill):
        if child.is_alive():
            _waken(child)
            put_out()
            child.join(3.0)


def _waken(child: SpawnProcess) -> None:
    """Gives a child of idle priority (`precompile`) its turn: it needs the processor to end, too."""
    with contextlib.suppress(OSError, AttributeError):  # gone already, or a system without this
        if child.pid is not None:
            os.sched_setscheduler(child.pid, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Ctrl-C waits until the end of the block; a child that starts within never hears it.

    The signal is blocked in this thread, which is what a child inherits.  Another thread may still take it, and Python
    then interrupts the main thread all the same, perhaps before the child was told what to do.  So the handler only
    takes a note meanwhile.
    """
    heard: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number)) if main else None
    try:
        with _blocked():
            yield
    finally:
        if main:
            signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
    if heard:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """Ctrl-C is blocked in this thread."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _bare() -> Iterator[None]:
    """The main module is one without a file."""
    real = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = real


# ---- snapshots, from the engine to the page
SIZE = 1 << 18  # bytes of a slot; an arm drawn by its file's meshes takes 45 kB, others some 8 kB
HEAD = 3  # sequence number of the newest snapshot, lengths of both slots


class SharedBuffer:
    """The newest snapshot: one writer, any number of readers; may be handed to a child process."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._head = RawArray(ctypes.c_int64, HEAD)
        self._slots = RawArray(ctypes.c_char, 2 * size)
        self.dropped = 0

    def put(self, what: Snapshot) -> bool:
        """The newest snapshot; False if it does not fit."""
        data = pickle.dumps(what, protocol=5)
        if len(data) > self._size:
            self.dropped += 1
            return False
        number = self._head[0] + 1
        slot = number & 1
        memory = memoryview(self._slots).cast("B")
        memory[slot * self._size : slot * self._size + len(data)] = data
        self._head[1 + slot] = len(data)
        self._head[0] = number  # last: from now on readers look there
        return True

    @property
    def number(self) -> int:
        """How many snapshots there have been."""
        return int(self._head[0])

    def look(self) -> Snapshot | None:
        """The newest snapshot, None before the first."""
        data = self.data()
        found: Snapshot | None = None if data is None else pickle.loads(data)
        return found

    def data(self) -> bytes | None:
        """The newest snapshot as it lies there, for `pickle.loads`; None before the first."""
        memory = memoryview(self._slots).cast("B")
        while True:
            number = self._head[0]
            if number == 0:
                return None
            slot = number & 1
            length = self._head[1 + slot]
            data = bytes(memory[slot * self._size : slot * self._size + length])
            if self._head[0] == number:  # else the writer may be filling this slot again
                return data


# ---- orders, from the page to the engine
Order = tuple[object, ...]

MOST = 200  # that wait
CONTINUOUS = ("set", "drag", "hand", "goal", "joint")  # orders of which the last is what counts
ALWAYS = ("stop", "pause", "toggle", "quit")


class Orders:
    """A queue with a thread that empties it into a pipe."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._waiting: deque[Order] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._deliver, daemon=True, name="orders")
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, *order: object) -> bool:
        """Queues an order and returns at once; False if too many wait, or the engine has ended."""
        with self._changed:
            if self._closed:
                return False
            if not self._replace(order):
                if len(self._waiting) >= MOST and order[0] not in ALWAYS:
                    return False
                self._waiting.append(order)
            self._changed.notify()
            return True

    def _replace(self, order: Order) -> bool:
        """Replaces an earlier order of the same kind; not across any other order, which may depend on that one."""
        if order[0] not in CONTINUOUS:
            return False
        for k in range(len(self._waiting) - 1, -1, -1):
            earlier = self._waiting[k]
            if earlier[0] not in CONTINUOUS:
                return False
            if earlier[:-1] == order[:-1]:
                self._waiting[k] = order
                return True
        return False

    def close(self, seconds: float = 1.0) -> None:
        """The last order is to quit; waits so long for it to be sent."""
        self.send("quit")
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _deliver(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    break
                order = self._waiting.popleft()
            try:
                self._pipe.send(order)
            except (OSError, ValueError):  # the engine has gone
                self._closed = True
                self._waiting.clear()
                break
        self._pipe.close()


# ---- compiling ahead
def wanted(setup: Setup) -> Iterator[Setup]:
    """What is likely to be chosen next: the other law, the other arms, then the other scenarios of this arm."""
    yield replace(setup, controller="F")
    for arm in setup.arms:
        yield Setup(CELL, arm, own=setup.own, tip=setup.tip)
    for scenario in setup.scenarios:
        yield Setup(scenario, setup.robot, motion=setup.motion, own=setup.own, tip=setup.tip)
    for arm in setup.arms:
        yield Setup(CELL, arm, controller="F", own=setup.own, tip=setup.tip)


def prepare(setup: Setup, tell: Callable[[str], object] = lambda _: None) -> int:
    """Every arm in the cell, and every scenario of this arm, compiled now; how many.  `tell` hears which is next."""
    plain = Setup(motion=setup.motion, own=setup.own, tip=setup.tip)
    cells = [replace(plain, robot=arm) for arm in setup.arms]
    cells += [replace(plain, scenario=scenario, robot=setup.robot) for scenario in setup.scenarios]
    done = 0
    for k, each in enumerate(cells):
        tell(f"{k + 1} of {len(cells)}: {each.robot}, {each.scenario}")
        with contextlib.suppress(ElbowroomError):  # an arm that does not fit a scenario
            Cell(each.scene())
            done += 1
    return done


def idle() -> None:
    """Gives this process the lowest priority there is."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(19)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def precompile(page: Connection, setup: Setup) -> None:
    """The process: builds what is wanted, until that is done or the page's process has gone."""
    idle()
    for each in wanted(setup):
        if page.poll():  # only the end of the pipe can be read
            return
        with contextlib.suppress(ElbowroomError):  # an arm that does not fit a scenario
            Cell(each.scene())
