"""Spilling: which values of straight-line code wait in memory of the kernel's own, where registers are too few.

A graphics card gives a thread 255 registers.  What its compiler has no register for goes to "local" memory, which is
the card's slow main memory as soon as many threads do it.  Here it is decided beforehand, for the order of the steps
as they are written: when more than `registers` values are alive, the one whose next reader comes last is stored
(Belady's rule), once, since a value never changes, and read back before that reader.

A place serves one value after the other.  Places that somebody else needs from some step on, as those where results
will be written, may be given: they are taken first where their time is long enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from ..algebra.expr import CONDITIONS, Operation

Place = tuple[int, int]  # (value, slot)


@dataclass(frozen=True)
class Spills:
    """By the number of a step: what is stored after it (-1: before the first), and what is read back before it."""

    stores: dict[int, list[Place]] = field(default_factory=dict)
    loads: dict[int, list[Place]] = field(default_factory=dict)
    slots: int = 0  # beyond those that were given

    @property
    def moves(self) -> int:
        """How many stores and loads there are."""
        return sum(map(len, self.stores.values())) + sum(map(len, self.loads.values()))


def spills(
    first: Iterable[int],
    steps: Sequence[tuple[int, Operation]],
    registers: int,
    given: Mapping[int, int] | None = None,
) -> Spills:
    """What is spilled where `first` values are there before the first step; `given`: slot -> the last step it has.

    Slots that are not given are numbered from -1 downwards.
    """
    readers: dict[int, list[int]] = {}
    for at, (_, (_, *operands)) in enumerate(steps):
        for k in dict.fromkeys(operands):
            if k >= 0:
                readers.setdefault(k, []).append(at)
    flags = {k for k, (name, *_) in steps if name in CONDITIONS}  # no numbers: they stay where they are
    slots = _Slots(given or {})
    found = Spills({}, {}, 0)
    here: set[int] = set()

    def next_reader(k: int, at: int) -> int:
        coming = readers[k]
        return coming[bisect_left(coming, at + 1)]

    def let_go(at: int) -> None:
        """All but so many stay in registers after step `at`."""
        alive = [k for k in here if k not in flags]
        for _ in range(len(alive) - registers):
            k = max(alive, key=lambda k: (next_reader(k, at), k))
            alive.remove(k)
            here.discard(k)
            if k not in slots.of:
                found.stores.setdefault(at, []).append((k, slots.taken(k, at, readers[k][-1])))

    here.update(k for k in first if k in readers)
    let_go(-1)
    for at, (value, (_, *operands)) in enumerate(steps):
        for k in dict.fromkeys(operands):
            if k >= 0 and k not in here:
                found.loads.setdefault(at, []).append((k, slots.of[k]))
                here.add(k)
        here.difference_update([k for k in operands if k in here and readers[k][-1] == at])
        if value in readers:
            here.add(value)
        if len(here) > registers:
            let_go(at)
    return Spills(found.stores, found.loads, slots.own)


class _Slots:
    """The places of values that wait."""

    def __init__(self, given: Mapping[int, int]) -> None:
        self.of: dict[int, int] = {}  # of every value that was stored
        self.own = 0
        self._until: dict[int, float] = dict(given)  # slot -> the last step it has
        self._busy = dict.fromkeys(given, -1)  # slot -> the last reader of what is in it

    def taken(self, k: int, at: int, last: int) -> int:
        """A place for a value from a step to another: of those that are free, the one that is needed soonest."""
        fitting = [slot for slot, busy in self._busy.items() if busy <= at and self._until[slot] >= last]
        if fitting:
            slot = min(fitting, key=lambda slot: (self._until[slot], -slot))
        else:
            self.own += 1
            slot = -self.own
            self._until[slot] = inf
        self._busy[slot] = last
        self.of[k] = slot
        return slot
