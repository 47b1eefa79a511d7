"""Peer: another library on one arm, as statements that its users would type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..clock import Typed

STATE = ("q", "qd", "qdd", "tau")


def as_given(array: Any) -> Any:
    """An input as we take it: a state (n,), or one state a row."""
    return array


@dataclass(frozen=True)
class Peer:
    """Statements by quantity, over the names q, qd, qdd, tau and those in `names`.  What it has not is left out."""

    name: str
    version: str
    names: dict[str, Any]
    one: dict[str, str] = field(default_factory=dict)  # one state
    many: dict[str, str] = field(default_factory=dict)  # a batch in one call
    ready: Callable[[Any], Any] = as_given  # a batch's input as the peer wants it, made outside of the clock
    ready_one: Callable[[Any], Any] = as_given

    def typed(self, quantity: str, state: list[Any]) -> Typed:
        """Its statement for one state (q, qd, qdd, tau)."""
        return Typed(self.one[quantity], self.names | _named(self.ready_one, state))

    def typed_many(self, quantity: str, batch: list[Any]) -> Typed:
        """Its statement for a batch, one state a row."""
        return Typed(self.many[quantity], self.names | _named(self.ready, batch))

    def looped(self, quantity: str, batch: list[Any]) -> Typed:
        """A list of its single calls, where it has no batch of its own."""
        rows = [tuple(x[k] for x in batch) for k in range(len(batch[0]))]
        loop = f"for q, qd, qdd, tau in rows:\n    {self.one[quantity]}"
        return Typed(loop, self.names | {"rows": rows})


def _named(ready: Callable[[Any], Any], arrays: list[Any]) -> dict[str, Any]:
    return {name: ready(x) for name, x in zip(STATE, arrays, strict=True)}
