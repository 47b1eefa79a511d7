"""How many operations a Program does, as the papers count: subtractions are additions, negations are free but
listed, and operations on parameters alone are offline (done once, before the robot moves) and free."""

from __future__ import annotations

from dataclasses import dataclass

from .program import Program

_KIND = {"add": "add", "sub": "add", "mul": "mul", "div": "div", "sqrt": "sqrt", "neg": "neg"}
_KIND |= {"sin": "sincos", "cos": "sincos"}


@dataclass(frozen=True)
class Count:
    """Operations by kind; `other` are comparisons, selections, minima, maxima and absolute values."""

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    sincos: int = 0
    neg: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """Multiplications, additions, divisions and roots."""
        return self.mul + self.add + self.div + self.sqrt

    def __str__(self) -> str:
        text = f"{self.mul} multiplications, {self.add} additions"
        for value, what in (
            (self.div, "divisions"),
            (self.sqrt, "roots"),
            (self.sincos, "sines and cosines"),
        ):
            text += f", {value} {what}" if value else ""
        return text


def count(program: Program) -> Count:
    """The live, online operations of a Program."""
    tally = dict.fromkeys(Count.__dataclass_fields__, 0)
    offline: list[bool] = []
    for op, *operands in program.operations:
        if op in ("input", "parameter"):
            offline.append(op == "parameter")
            continue
        free = all(offline[i] for i in operands if i >= 0)
        offline.append(free)
        if not free:
            tally[_KIND.get(op, "other")] += 1
    return Count(**tally)
