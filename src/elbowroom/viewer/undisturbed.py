"""The same cell with nobody in it, step for step beside the one that is shown: what the work would be without people.

    alone = Undisturbed(scene);  alone.step(t);  alone.cycles

A cycle of it takes a tenth of a millisecond.  It has the same controller and supervisor, so that all of the difference
is what people cost.
"""

from __future__ import annotations

from typing import Any

from ..cell.people import Seen
from ..cell.runner import Cell
from ..cell.scene import Scene


class _Nobody:
    """In a person's place: never seen."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def look(self, t: float, rows: Any) -> None:
        """Nobody is there."""

    def point(self, t: float) -> Any:
        """Nowhere."""
        raise NotImplementedError


class Undisturbed:
    """A cell without people; `cycles` is how often the work was done."""

    def __init__(self, scene: Scene, instead_of: Undisturbed | None = None, t: float = 0.0) -> None:
        self.cell = Cell(scene)
        absent: Any = [_Nobody(tuple(who.actual.names)) for who in self.cell.people]
        self.cell.people = [Seen(who, who) for who in absent]
        if instead_of is not None:  # with another controller, from where the last one was
            self.cell.take_over(instead_of.cell, t, people=False)

    @property
    def cycles(self) -> int:
        """How often the work was done."""
        return self.cell.task.cycles

    def reset(self) -> None:
        """From the beginning."""
        self.cell.reset()

    def step(self, t: float) -> None:
        """The cycle at t, and the time until the next."""
        self.cell.step(t)
        self.cell.advance(t, self.cell.period)
