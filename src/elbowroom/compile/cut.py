"""Cutting a long program into functions: which values cross from one to another, and where they wait.

The time to compile a function grows faster than its length, so a long straight-line program becomes a chain of
functions that pass values on through a scratch array.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..algebra.expr import Operation
from .lower import Lowered


def turned_steps(lowered: Lowered) -> dict[int, tuple[int, str]]:
    """The sines and cosines of inputs: step -> (input value, sin or cos)."""
    turns = set(lowered.turns)
    return {k: (op[1], op[0]) for k, op in lowered.steps if op[0] in ("sin", "cos") and op[1] in turns}


def _reads(operation: Operation) -> Iterable[int]:
    return (k for k in operation[1:] if k >= 0)


Crossing = list[tuple[set[int], set[int]]]


def crossing(lowered: Lowered, chunks: list[tuple[tuple[int, Operation], ...]]) -> Crossing:
    """Per chunk: the values it takes from earlier ones, and those it leaves for later ones."""
    made: dict[int, int] = dict.fromkeys(lowered.loads, 0)  # inputs are loaded, and turned, by the first chunk
    for number, chunk in enumerate(chunks):
        for value, _ in chunk:
            made[value] = number
    taken: list[set[int]] = [set() for _ in chunks]
    left: list[set[int]] = [set() for _ in chunks]
    turned = turned_steps(lowered)
    made |= dict.fromkeys(turned, 0)
    for number, chunk in enumerate(chunks):
        for value, operation in chunk:
            for k in _reads(operation) if value not in turned else ():
                if made[k] < number:
                    taken[number].add(k)
                    left[made[k]].add(k)
    return list(zip(taken, left, strict=True))


def slots_for(crossings: Crossing) -> dict[int, int]:
    """A place in the scratch array for every value that crosses; a place is used again after its last reader."""
    last: dict[int, int] = {}
    for number, (taken, left) in enumerate(crossings):
        for k in left:
            last.setdefault(k, number)
        for k in taken:
            last[k] = number
    free: list[int] = []
    slots: dict[int, int] = {}
    used = 0
    for number, (_, left) in enumerate(crossings):
        for k in sorted(left):
            if free:
                slots[k] = free.pop()
            else:
                slots[k] = used
                used += 1
        free += [slot for k, slot in slots.items() if last[k] == number]
    return slots
