"""Copies and pickles of objects that hold compiled functions and views of their own arrays, which no copy can take."""

from __future__ import annotations


class Rebuilt:
    """An object whose copy makes anew what cannot be copied.

    `_ready` makes compiled functions and views of arrays.  `__init__` ends with `_make_ready`, which calls it and notes
    what it made; a copy, or what is unpickled, gets all the rest and calls `_ready` again.
    """

    _made: frozenset[str] = frozenset()

    def _ready(self) -> None:
        raise NotImplementedError

    def _make_ready(self) -> None:
        known = set(vars(self))
        self._ready()
        self._made = frozenset(vars(self)) - known

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in self._made}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._ready()
