"""Named parts of a formulation's text, so that its operations can be counted part by part.

    part("P")                      the lines from here on belong to the recursion P

On its own this does nothing.  Within `listening`, a count by parts (counting/recursions.py) hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("part", default=None)


def part(name: str) -> None:
    """What comes next, until another part is named, belongs to this one."""
    listener = _listener.get()
    if listener is not None:
        listener(name)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """The listener is called with every part's name where it begins."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
