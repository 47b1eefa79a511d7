"""Encounters of the bench with a supervised arm, and what the filter had before it in every cycle of them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from elbowroom.avoidance.safety.filter.approach_speed import NO_MARGIN
from elbowroom.bench.encounters import SEARCH
from elbowroom.bench.encounters.methods import supervised
from elbowroom.bench.encounters.run import run
from elbowroom.bench.encounters.scene import frames, place, scene

PROBLEM = ("start", "low", "up", "A", "need", "yields")
POSED = ("rows", "lack", "ramp", "wish", "allowed")


class Logged(NamedTuple):
    """One cycle, or with a leading axis all of them."""

    start: Any  # (n,) in velocity limits, as low and up
    low: Any
    up: Any
    A: Any  # (K, n)
    need: Any
    yields: Any
    rows: Any  # (R, n + 4) all rows, before some were picked
    lack: Any  # (1,)
    ramp: Any  # (n,) rad/s, as wish and qd
    wish: Any
    allowed: Any  # (2 Q,) of both points of every pair of the promise
    qd: Any
    q: Any
    believed: Any  # (S, 13) people as the promise has them

    @property
    def problem(self):
        return self[: len(PROBLEM)]


class Logger:
    """A supervisor, as a method of the bench, that remembers."""

    def __init__(self, found, *place, **settings):
        self._found, self._inner = found, supervised(*place, **settings)
        self.controller, self.reset = self._inner.controller, self._inner.reset

    @property
    def latched(self):
        return self._inner.latched

    def step(self, *arguments):
        command = self._inner.step(*arguments)
        limiter = self._inner.limiter
        if self.latched is None and command.margin < NO_MARGIN:
            # Where the wish violates no row, rows and problem were not written: those of an earlier cycle lie there.
            state, zero = arguments[2], limiter.zero
            given = limiter._inputs(state.q, state.qd, zero, zero, self.controller.pairs)
            solved = limiter.lacking and limiter._violated[0] > 0.0
            had = [limiter.array(k).copy() for k in ("A", "need")]
            limiter._violates(limiter._solving, given)
            limiter._solving.pick(*limiter._taken("pick", given), out=limiter.picked)
            for k, before in zip(("A", "need"), had, strict=True):  # where the filter solved, it is that problem
                assert not solved or (limiter.array(k) == before).all()
            arrays = [limiter.array(k) for k in (*PROBLEM, *POSED)]
            believed = self.controller.all_rows[self.controller.layout.rows :]
            arrays += [command.qd, arguments[2].q, believed]
            self._found.append(Logged(*(x.copy() for x in arrays)))
        return command


@cache
def logged(name, first, runs, people=1, duration=10.0, **settings) -> Logged:
    """The cycles of some runs, where anybody was about; `first` is the first seed above SEARCH."""
    found: list[Logged] = []
    for seed in range(SEARCH + first, SEARCH + first + runs):
        one = scene(place(name), seed, people, duration)
        run(one, partial(Logger, found, **settings), frames(one, "camera"))
    return Logged(*map(np.array, zip(*found, strict=True)))
