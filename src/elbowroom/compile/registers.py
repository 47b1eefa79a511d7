"""Which values of a straight-line function stay in registers: those that are read again soonest (Belady's rule).

LLVM finds registers for functions of any shape, and takes most of the time there is for a long straight line.  Here
the order of all reads is known, so that a value which makes room is the one whose next read is furthest away; LLVM
then has nothing left to decide, and the code is shorter than its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..algebra.expr import Operation

Steps = Sequence[tuple[int, Operation]]


class Registers:
    """The values in registers, step by step."""

    def __init__(self, steps: Steps, room: int, there: Iterable[int]) -> None:
        self.room = room
        self._steps = iter(steps if room else ())
        self._later: dict[int, list[int]] = {}  # of every value, the steps that will read it, the next one last
        for at in range(len(steps) - 1, -1, -1) if room else ():
            for k in steps[at][1][1:]:
                if k >= 0:
                    self._later.setdefault(k, []).append(at)
        self._held = {k: self._later[k][-1] for k in there if k in self._later}  # the next step that reads it

    def next(self) -> list[int]:
        """After the next step: the values that make room for what it made and read; none if there is always room."""
        step = next(self._steps, None)
        if step is None:
            return []
        held, later = self._held, self._later
        value, operation = step
        for k in operation[1:]:
            if k >= 0:
                reads = later[k]
                reads.pop()
                if reads:
                    held[k] = reads[-1]
                else:
                    held.pop(k, None)
        if value in later:
            held[value] = later[value][-1]
        gone = []
        while len(held) > self.room:
            last = max(held, key=held.__getitem__)
            del held[last]
            gone.append(last)
        return gone
