"""The board between two processes: one puts up what is now, the other looks when it likes.  Neither ever waits.

Two slots in shared memory take turns.  The writer fills the one that nobody is pointed to and then points to it; a
reader copies the slot and looks whether the writer has come round to it meanwhile, in which case it copies again.  A
picture that does not fit is left out and counted.
"""

from __future__ import annotations

import ctypes
import pickle
from multiprocessing.sharedctypes import RawArray
from typing import Any

SIZE = 1 << 18  # bytes of a slot; an arm drawn by its file's meshes takes 45 kB, others some 8 kB
HEAD = 3  # sequence number of the newest picture, lengths of both slots


class Board:
    """One writer, any number of readers; may be handed to a child process."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._head = RawArray(ctypes.c_int64, HEAD)
        self._slots = RawArray(ctypes.c_char, 2 * size)
        self.dropped = 0

    def put(self, what: Any) -> bool:
        """The newest picture; False if it does not fit."""
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
        """How many pictures there have been."""
        return int(self._head[0])

    def look(self) -> Any:
        """The newest picture, None before the first."""
        data = self.data()
        return None if data is None else pickle.loads(data)

    def data(self) -> bytes | None:
        """The newest picture as it lies there, for `pickle.loads`; None before the first."""
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
