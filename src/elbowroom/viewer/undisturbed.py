"""The same cell with nobody in it, step for step beside the one that is shown: what the work would be without people.

    alone = Undisturbed(scene);  alone.step(t);  alone.cycles

A cycle of it takes a tenth of a millisecond.  It has the same controller and supervisor, so that all of the difference
is what people cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cell.coworker import Coworker
from ..cell.people import Seen
from ..cell.runner import Cell
from ..cell.scene import Scene
from ..geometry.shapes import A, B

Array = NDArray[np.float64]
AWAY = np.array([40.0, 0.0, 0.0])  # m


class _Away:
    """Somebody who does what they do far away, where it does not matter: nobody needs to be waited for."""

    def __init__(self, who: Coworker) -> None:
        self._who, self.names = who, who.names

    def look(self, t: float, rows: Array) -> float | None:
        """As they are, far away."""
        stamp = self._who.look(t, rows)
        rows[:, A] += AWAY
        rows[:, B] += AWAY
        return stamp

    def point(self, t: float) -> tuple[Array, Array]:
        """Where they are, and how fast."""
        at, velocity = self._who.point(t)
        return at + AWAY, velocity


class Undisturbed:
    """A cell without people; `cycles` is how often the work was done."""

    def __init__(self, scene: Scene, instead_of: Undisturbed | None = None, t: float = 0.0) -> None:
        self.cell = Cell(scene)
        away: Any = [_Away(who.actual) for who in self.cell.people]
        self.cell.people = [Seen(who, who) for who in away]
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
