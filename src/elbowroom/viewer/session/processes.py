"""Processes beside the page's own, started so that neither Ctrl-C nor the caller's script gets in the way.

Ctrl-C goes to every process of a terminal.  A child that starts here inherits that it is not heard: the page's process
hears it and ends its children.  And a child that is spawned runs the caller's script again, up to its end; since
nothing in it is needed, the script is hidden meanwhile.  So a page can be started from any script, and starts sooner.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import Any

from ...errors import ModelNotice, ModelWarning

CONTEXT = multiprocessing.get_context("spawn")
_starting = threading.Lock()


def start(target: Callable[..., object], *given: Any) -> SpawnProcess:
    """A child process at work; it ends with this one."""
    child = CONTEXT.Process(target=_silent, args=(target, *given), daemon=True)
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # when it starts, which the first child makes it, Ctrl-C is let in again
    with _starting, _unheard(), _bare():
        child.start()
    return child


def _silent(target: Callable[..., object], *given: Any) -> None:
    """What is to say about an arm's file is said once, by the process that the page belongs to."""
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
    """One that works only when nobody else does (precompile.py) needs the processor to end, too."""
    with contextlib.suppress(OSError, AttributeError):  # gone already, or a system without this
        if child.pid is not None:
            os.sched_setscheduler(child.pid, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Ctrl-C waits until the end; who starts within inherits that, for good.

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
