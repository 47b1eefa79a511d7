"""What pages want, on its way to the engine: nobody waits for a pipe that is full.

    orders = Orders(pipe);  orders.send("drag", (0.1, 0.0));  orders.close()

While the engine compiles another arm it reads nothing for seconds, and a pipe holds some hundred orders.  So they wait
here, and a thread of its own sends them.  Of several that say the same with other values (a slider, a drag) the last
counts.  What does not fit is dropped, but never a stop.
"""

from __future__ import annotations

import threading
from collections import deque
from multiprocessing.connection import Connection
from typing import Any

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
