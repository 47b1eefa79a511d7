"""Least, greatest, sum and best of many numbers, in a tree: short chains of steps that wait for one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...algebra import maximum, minimum, where


def folded(join: Callable[[Any, Any], Any], values: Iterable[Any]) -> Any:
    """All values joined, neighbours first."""
    parts = list(values)
    while len(parts) > 1:
        parts = [join(*parts[k : k + 2]) if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), 2)]
    return parts[0]


def largest(values: Iterable[Any]) -> Any:
    """The greatest of some numbers, at least 0."""
    return folded(maximum, [0.0, *values])


def least(values: Iterable[Any]) -> Any:
    """The least of some numbers."""
    return folded(minimum, values)


def summed(values: Iterable[Any]) -> Any:
    """The sum of some numbers."""
    return folded(lambda x, y: x + y, values)


def best(candidates: list[tuple[Any, ...]], better: Callable[..., Any]) -> tuple[Any, ...]:
    """The best of some tuples, in a tree: the first of equals."""
    while len(candidates) > 1:
        pairs = zip(candidates[::2], candidates[1::2], strict=False)
        found = [
            tuple(where(better(second, first), new, old) for new, old in zip(second, first, strict=True))
            for first, second in pairs
        ]
        candidates = found + candidates[2 * len(found) :]
    return candidates[0]
