"""Structures of scalars: nested tuples, named tuples and arrays, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import TraceError
from .expr import Expr
from .linalg import Array, settled


@dataclass(frozen=True)
class Column:
    """The place of a scalar of every joint."""

    name: str


def leaves(tree: Any) -> list[Any]:
    """The scalars of nested tuples and arrays, in order; None holds none."""
    if tree is None:
        return []
    if isinstance(tree, np.ndarray):
        return list(tree.ravel().tolist())
    if isinstance(tree, tuple | list):
        return [x for part in tree for x in leaves(part)]
    return [tree]


def rebuilt(tree: Any, scalars: Iterator[Any]) -> Any:
    """The same structure with other scalars."""
    if tree is None:
        return None
    if isinstance(tree, np.ndarray):
        array: Array = np.array([next(scalars) for _ in range(tree.size)] + [None], dtype=object)[:-1]
        return settled(array.reshape(tree.shape)) if not _has_columns(array) else array.reshape(tree.shape)
    if isinstance(tree, tuple | list):
        parts = [rebuilt(part, scalars) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(scalars)


def settled_tree(tree: Any) -> Any:
    """The structure itself; a recursion must start from numbers."""
    if any(type(x) is Expr for x in leaves(tree)):
        raise TraceError("a rolled recursion must start from numbers")
    return tree


def _has_columns(array: Array) -> bool:
    return any(isinstance(x, Column) for x in array.flat)
