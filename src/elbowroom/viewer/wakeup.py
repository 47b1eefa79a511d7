"""The senders of a viser server are woken for every message, whichever thread it comes from.

viser 1.1 keeps what is to be sent in buffers.  A sender that has nothing left waits for its buffer's `asyncio.Event`,
which `push` sets twice: in the thread that has the message, and once more in the server's loop.  An asyncio event is
not made for other threads.  If the first `set` falls between the sender's look at the flag and its entry into the list
of those who wait, it wakes nobody; the second finds the flag set and does nothing, and so does every later one.  A page
that is alone then shows nothing new any more, until another one is opened.

So the event is exchanged for one that only the loop's own thread can set.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any


class LoopEvent(asyncio.Event):
    """An event that `set` sets in one thread and leaves alone in any other."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._home = thread

    def set(self) -> None:
        """As `asyncio.Event.set`, in the loop's own thread."""
        if threading.get_ident() == self._home:
            super().set()


def wake_in_loop(server: Any) -> None:
    """Exchanges the events of a viser server that nobody is connected to yet, and of every page that will be."""
    inside = server._websock_server
    home = inside._server_thread.ident

    def exchange(buffer: Any) -> None:
        buffer.message_event = LoopEvent(home)

    exchange(inside.get_message_buffer())
    inside.on_client_connect(lambda connection: exchange(connection.get_message_buffer()))
