"""What passes between the page and the engine: snapshots one way, orders the other; nobody waits.

Snapshots go through a wait-free double buffer in shared memory: one writer, many readers.  The writer fills the slot
that nobody is pointed to and then points to it; a reader copies the slot and looks whether the writer has come round to
it meanwhile, in which case it copies again.  A snapshot that does not fit is left out and counted.

    orders = Orders(pipe);  orders.send("drag", (0.1, 0.0));  orders.close()

While the engine compiles another arm it reads nothing for seconds, and a pipe holds some hundred orders.  So they wait
here, and a thread of its own sends them.  Of several that say the same with other values (a slider, a drag) the last
counts.  What does not fit is dropped, but never a stop.
"""

from __future__ import annotations

import ctypes
import pickle
import threading
from collections import deque
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from typing import Any

SIZE = 1 << 18  # bytes of a slot; an arm drawn by its file's meshes takes 45 kB, others some 8 kB
HEAD = 3  # sequence number of the newest snapshot, lengths of both slots


class SharedBuffer:
    """One writer, any number of readers; may be handed to a child process."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._head = RawArray(ctypes.c_int64, HEAD)
        self._slots = RawArray(ctypes.c_char, 2 * size)
        self.dropped = 0

    def put(self, what: Any) -> bool:
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

    def look(self) -> Any:
        """The newest snapshot, None before the first."""
        data = self.data()
        return None if data is None else pickle.loads(data)

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


Order = tuple[Any, ...]

MOST = 200  # that wait
REPLACED = ("set", "drag", "hand", "goal", "joint")  # a later one of the same makes the earlier needless
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

    def send(self, *order: Any) -> bool:
        """Puts an order on its way, at once; False if there are too many, or nobody takes them any more."""
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
        """In the place of an earlier one of the same; not across anything else, which may have meant that one."""
        if order[0] not in REPLACED:
            return False
        for k in range(len(self._waiting) - 1, -1, -1):
            earlier = self._waiting[k]
            if earlier[0] not in REPLACED:
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
