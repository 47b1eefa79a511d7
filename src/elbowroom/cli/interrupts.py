"""Ctrl-C that waits for a good moment."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Within it the first Ctrl-C is remembered, and `check` raises it where nothing is half done.

    A second one before that raises at once, for what never comes to a `check`.  Where interrupts are ignored, as in a
    shell's background, they stay so.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        mine = threading.current_thread() is threading.main_thread()  # others cannot set handlers
        if mine and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.asked = not self.asked
        if not self.asked:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt if one was asked for since the last time."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt
