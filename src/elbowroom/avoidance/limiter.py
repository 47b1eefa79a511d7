"""The compiled limiter of an arm, with the arrays that it works on; see saturation.py for what it does."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compile import compiled
from ..compile.kernel import Kernel
from ..model import Model
from .belief import CLOCK, TOLD
from .fitting import Facts
from .layout import Layout
from .limits import Limits
from .pushes import WIDTH
from .recorder import columns
from .saturation import ANYWHERE, NOBODY, RULES, limited

Array = NDArray[np.float64]
STOP = CLOCK.index("stop")


def limiting(model: Model, layout: Layout | None, torque: bool) -> Kernel:
    """The kernel.  `layout` is that of the pair table, None where a controller has none."""
    n, rows = model.n, 1 if layout is None else len(layout.pairs)
    inputs = {
        "q": (n,),
        "qd": (n,),
        "wanted": (n,),
        "last": (n,),
        "tau": (n,),
        "pairs": (rows, WIDTH),
        "bounds": (5, n),
        "clock": (len(CLOCK),),
        "told": (len(TOLD),),
        "rules": (len(RULES),),
    }
    return compiled(functools.partial(limited, layout=layout, torque=torque), model, inputs, name="limiter")


class Limiter:
    """Holds the last command and works out the next; `out` has qd, q, tau, tool_velocity, summary and record.

    `clock` (4,) is belief.CLOCK and `told` (7,) belief.TOLD, both filled by others.
    """

    def __init__(self, model: Model, facts: Facts, limits: Limits, clock: Array, told: Array, horizon: float) -> None:
        self._kernel = limiting(model, facts.pairs, facts.torque)
        self.out = self._kernel.empty()
        for array in self.out:
            array[:] = 0.0
        self.torque, self.clock, self._told = facts.torque, clock, told
        self.last = np.zeros(model.n)  # (n,) the last command
        self.zero = np.zeros(model.n)
        self.no_pairs = np.zeros((1 if facts.pairs is None else len(facts.pairs.pairs), WIDTH))
        self.no_pairs[:, :2] = NOBODY
        self._bounds = facts.bounds.table
        known = {"horizon": horizon, "period": facts.period, "reaction": facts.reaction}
        known["stop_distance"] = limits.stop_distance or -ANYWHERE
        known["clearance"] = limits.clearance if limits.separation else -ANYWHERE
        self._rules = np.array([known[x] if x in known else float(getattr(limits, x)) for x in RULES])
        place = columns(model.n)
        self._recorded = slice(place["command"].start, place["tool_velocity"].stop)  # what a command is made of
        self._ready()

    def _ready(self) -> None:
        """The compiled function, and views: a short array is copied through them in a third of NumPy's time."""
        self._run = self._kernel.fast(self._kernel.general)
        self.record, self.summary = self.out.record.data, self.out.summary.data
        self._qd, self._last = self.out.qd.data, self.last.data

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_run", "record", "summary", "_qd", "_last")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def allow(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> None:
        """What is allowed of a command; a ValueError or TypeError if its numbers are not finite or do not fit."""
        torque = tau if self.torque else self.zero
        bounds, clock, told, rules = self._bounds, self.clock, self._told, self._rules
        self._run(q, qd, wanted, self.last, torque, pairs, bounds, clock, told, rules, out=self.out)

    def ramp(self, q: Array, qd: Array, pairs: Array) -> None:
        """The way to a standstill, from now on: nothing is wanted."""
        self.clock[STOP] = 1.0
        try:
            self.allow(q, qd, self.zero, self.zero, pairs)
        except (ValueError, TypeError):  # a pair table without sense must not keep an arm from stopping
            self.allow(q, qd, self.zero, self.zero, self.no_pairs)

    def keep(self) -> None:
        """The command was given: the next one starts from it."""
        self._last[:] = self._qd

    def go(self) -> None:
        """From now on commands count again, from a standstill."""
        self.clock[STOP] = 0.0
        self.last[:] = 0.0

    def nothing(self) -> None:
        """All zeros, at once; the position stays where it was."""
        self.clock[STOP] = 1.0
        for array in (self.out.qd, self.out.tau, self.out.tool_velocity, self.last):
            array[:] = 0.0
        self.out.record[self._recorded] = 0.0
