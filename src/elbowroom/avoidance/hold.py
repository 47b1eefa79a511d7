"""The goal that stands in for one that is not valid any more: where the tool was when that happened."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from .command import Goal


class Hold:
    """Holds the tool for a while; avoidance goes on meanwhile, since only the goal is another."""

    def __init__(self, arm: Arm) -> None:
        self._arm, self._goal = arm, Goal(np.zeros(3))
        self.active = False  # set to False where there is a valid goal again
        self.since = 0.0  # s, since when the goal is held
        arm.pose(arm.ready)  # compiled now, not in the loop

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._arm.pose(self._arm.ready)  # an arm does not take its kernels along

    def goal(self, t: float, q: NDArray[np.float64]) -> Goal:
        """The goal to go by at time t; the first one since there was none is where the tool is at q (n,)."""
        if not self.active:
            self.active, self.since = True, t
            pose = self._arm.pose(q)
            self._goal.position[:], self._goal.rotation[:] = pose[:3, 3], pose[:3, :3]
        return self._goal
