"""Many supervised arms at once, for statistics: the ordinary cycles of all of them in SIMD lanes.

    batch = SupervisorBatch(lambda: Supervisor(controller, limits), arms=256)
    qd = batch.step(t, dt, q, qd, rows, stamps, goals)       # (256, n) each, as Supervisor.step gives it to the bit
    batch.latched                                            # (256,) which of them stopped
    batch.reset(k, t)

What an ordinary cycle does is a list of compiled calls on arrays (ordinary_cycle.py); here each array is there once for
every arm, and a call is made for all of them (compile/batch_pipeline.py).  Where rows are violated the filter's problem
is solved, again for all such arms together.  Everything else, the first cycle of an arm, its stops, resets and doubts,
is done by a Supervisor: the arm's numbers are copied into one that is free, which then goes on with this arm until its
cycles are ordinary again.

All arms have the settings of the supervisor that is made first.  Left out is what no command depends on: the flight
recorder, log lines and counters of ordinary cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...compile.batch_pipeline import BatchPipeline, Indices, distinct
from ...errors import ConfigError
from ..control.command import HUGE, Goal, State
from ..control.controller import Controller
from .filter.solver import ROUNDS
from .filter.stages import SUMMARY
from .ordinary_cycle import CycleSteps
from .perception import TOLD
from .supervisor import Supervisor

Array = NDArray[np.float64]
FOR_EVER = 1e300  # s: an infinity is what compiled code refuses

_OVERSPEED, _PEOPLE, _DISTANCE, _SIZE, _MARKS = (
    SUMMARY.index(name) for name in ("overspeed", "people_distance", "distance", "size", "marks")
)
_STALE = TOLD.index("stale")


class _Guard:
    """A supervisor of one arm that is not ordinary now, with the objects that its step takes."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.controller = _controller(supervisor)
        self.cycle: CycleSteps = supervisor._cycle
        self.arrays = distinct(self.cycle.cycle)
        self.new = [array.copy() for array in self.arrays]  # as they are before the first cycle
        self.state, self.goal = State(supervisor.arm.ready), Goal(np.zeros(3))
        self.obstacles = self.controller.obstacles()

    def born(self) -> None:
        """As a supervisor that was just made."""
        for array, new in zip(self.arrays, self.new, strict=True):
            array[...] = new
        self.at_ease(())
        sup = self.supervisor
        sup._started, sup._standing, sup._names = False, True, []
        self.controller._started = False
        self.controller._ring[...] = 0.0

    def at_ease(self, names: Sequence[tuple[str, ...]]) -> None:
        """As one whose cycles are ordinary."""
        sup, latch = self.supervisor, self.supervisor._latch
        latch.status, latch.reason, latch.doubted, latch.doubt_reason = None, "", None, ""
        latch._told.clear()
        sup._hold.active, sup._started, sup._asked = False, True, ""
        sup._names, sup.recorder.left, sup.timing.stepped, sup.timing.stop = list(names), -1, False, None
        self.controller._started = True

    @property
    def ordinary(self) -> bool:
        """Whether the next cycle may be made with the others."""
        sup, latch = self.supervisor, self.supervisor._latch
        return (
            latch.doubted is None
            and latch.status is None
            and sup._started
            and not sup._hold.active
            and self.controller._started
            and self.obstacles.names == sup._names
        )

    def step(self, t: float, dt: float) -> Array:
        """Its own step."""
        return self.supervisor.step(t, dt, self.state, self.obstacles, self.goal).qd

    def attended(self, t: float, *, correct: bool) -> Array:
        """The end of a cycle that was made with the others, and wants attention."""
        self.supervisor._commanded(t, self.obstacles, self.controller)
        return self.supervisor._corrected(t, self.state, self.obstacles, self.controller, correct=correct).qd


def _controller(supervisor: Supervisor) -> Controller:
    if supervisor._own is None:
        raise ConfigError(f"a batch needs supervisors of elbowroom's own controllers; got {supervisor.controller!r}")
    return supervisor._own


class SupervisorBatch:
    """See the module's docstring.  `make` gives a supervisor, always of the same settings."""

    def __init__(self, make: Callable[[], Supervisor], arms: int, names: Sequence[tuple[str, ...]]) -> None:
        self._make, self.arms, self._names = make, arms, [tuple(each) for each in names]
        self._first = first = _Guard(make())
        self._free = [first]
        sup = first.supervisor
        self._limits = sup.limits
        self.cycle = cycle = first.cycle
        limiter = sup.limiter
        steps = [*cycle.cycle, *cycle.keep]
        self._batch = batch = BatchPipeline(steps, arms)
        self._body, self._keep = (0, batch.lasting, len(cycle.cycle)), len(cycle.cycle)
        self._carried = [batch[array] for array in first.arrays]
        self._out, self._lack = limiter.out, batch[limiter.array("lack")]
        self._summary, self._told = batch[limiter.out.summary], batch[sup.watch.told]
        self._calm, self._qd = batch[cycle.calm], batch[limiter.out.qd]
        self._now, *self._inputs = (batch[array] for array in cycle.takes)
        self._correction = _Corrections(first, batch, arms)
        self._order = np.arange(arms)  # which arm is in each place; those with ordinary cycles come first
        self._place = np.arange(arms)
        self._count = 0
        self._guards: dict[int, _Guard] = {}  # of arms that are not ordinary
        self._born = False
        self.command = np.zeros((arms, sup.arm.n))

    def restart(self) -> None:
        """All arms as before their first cycle."""
        self._free += self._guards.values()
        self._guards.clear()
        self._count, self._born = 0, False
        self._order[:] = self._place[:] = np.arange(self.arms)

    @property
    def latched(self) -> NDArray[np.bool_]:
        """(arms,) which have stopped, and must be reset."""
        found = np.zeros(self.arms, dtype=bool)
        for arm, guard in self._guards.items():
            found[arm] = guard.supervisor.latched is not None
        return found

    def reset(self, arm: int, t: float) -> bool:
        """`Supervisor.reset` of one of them."""
        guard = self._guards.get(arm)
        return guard is None or guard.supervisor.reset(t)

    def step(
        self,
        t: float,
        dt: float,
        q: Array,
        qd: Array,
        rows: Array,
        stamps: Array,
        goals: Array,
        goal_times: ArrayLike = 0.0,
    ) -> Array:
        """(arms, n) speeds for the time t, which the joints' states q, qd (arms, n) are of, too.

        rows (arms, K, 13) and stamps (arms, people) are as `Obstacles` has them, goals (arms, 15) as `Goal.packed`.
        """
        given = q, qd, rows, stamps, goals, np.broadcast_to(np.asarray(goal_times, dtype=float), (self.arms,))
        alone = list(self._guards) if self._born else list(range(self.arms))
        self._together(t, given)
        for arm in alone:
            self._alone(arm, t, dt, given)
        self._born = True
        return self.command

    # ---- ordinary cycles
    def _together(self, t: float, given: tuple[Array, ...]) -> None:
        batch, count = self._batch, self._count
        *arrays, goal_times = given
        order = self._order[:count]
        for own, values in zip(self._inputs, arrays, strict=True):
            np.take(values, order, axis=0, out=own[:count])
        now = self._now[:count]
        now[:, 0] = now[:, 1] = t
        now[:, 2], now[:, 3] = goal_times[order], FOR_EVER
        left = list[int]()
        start, lasting, end = self._body
        while count:
            refused = batch.run(count, start, lasting)
            if refused is None:
                break
            for place in refused[::-1].tolist():
                left.append(int(self._order[place]))
                count -= 1
                self._swap(place, count)
        if count:
            batch.run(count, lasting, end)
            count = self._attend(t, count, given)
            batch.run(count, self._keep)
            self.command[self._order[:count]] = self._qd[:count]
        self._count = count
        for arm in left:
            self._leave(arm)
            self._alone(arm, t, self._first.supervisor.period, given)

    def _attend(self, t: float, count: int, given: tuple[Array, ...]) -> int:
        """Cycles that want attention: how many ordinary ones are left."""
        asking = ~np.isfinite(self._calm[:count, 0])
        if not asking.any():
            return count
        lacking = np.flatnonzero(asking & (self._lack[:count, 0] > 0.0))
        wrong = self._correction.run(lacking) if len(lacking) else []
        summary, limits = self._summary[:count], self._limits
        stops = (summary[:, _MARKS] > 0.0) & (self._told[:count, _STALE] > 0.0)
        stops |= summary[:, _OVERSPEED] > limits.overspeed
        stops |= ~(summary[:, _SIZE] < HUGE)
        if limits.stop_distance > 0.0:
            stops |= summary[:, _PEOPLE] < limits.stop_distance
        if limits.in_collision == "stop":
            stops |= summary[:, _DISTANCE] <= 0.0
        stops &= asking
        stops[wrong] = True
        for place in np.flatnonzero(stops)[::-1].tolist():
            arm = int(self._order[place])
            count -= 1
            self._swap(place, count)
            guard = self._leave(arm)
            self._given(guard, arm, t, given)
            self.command[arm] = guard.attended(t, correct=place in wrong)
        return count

    def _swap(self, a: int, b: int) -> None:
        self._batch.swap(a, b)
        self._order[[a, b]] = self._order[[b, a]]
        self._place[self._order[[a, b]]] = [a, b]

    # ---- all others
    def _leave(self, arm: int) -> _Guard:
        """An arm of the first places behind the ordinary ones gets a supervisor with its numbers."""
        guard = self._free.pop() if self._free else _Guard(self._make())
        guard.at_ease(self._names)
        guard.obstacles.names[:] = self._names
        place = self._place[arm]
        for own, values in zip(guard.arrays, self._carried, strict=True):
            own[...] = values[place].reshape(own.shape)
        self._guards[arm] = guard
        return guard

    def _given(self, guard: _Guard, arm: int, t: float, given: tuple[Array, ...]) -> None:
        q, qd, rows, stamps, goals, goal_times = given
        state, goal, obstacles = guard.state, guard.goal, guard.obstacles
        state.q[:], state.qd[:], state.t = q[arm], qd[arm], t
        obstacles.rows[:], obstacles.stamps[:] = rows[arm], stamps[arm]
        obstacles.names[:] = self._names
        goal.packed[:], goal.t = goals[arm], float(goal_times[arm])

    def _alone(self, arm: int, t: float, dt: float, given: tuple[Array, ...]) -> None:
        guard = self._guards.get(arm)
        if guard is None:
            guard = self._guards[arm] = self._free.pop() if self._free else _Guard(self._make())
            guard.born()
        self._given(guard, arm, t, given)
        self.command[arm] = guard.step(t, dt)
        if guard.ordinary:
            self._join(arm, guard)

    def _join(self, arm: int, guard: _Guard) -> None:
        """Back among the ordinary ones."""
        self._swap(int(self._place[arm]), self._count)
        for own, values in zip(guard.arrays, self._carried, strict=True):
            values[self._count] = own.reshape(values.shape[1:])
        self._count += 1
        del self._guards[arm]
        self._free.append(guard)


class _Corrections:
    """The filter's problem where rows are violated, for some of the arms of a batch."""

    def __init__(self, guard: _Guard, batch: BatchPipeline, arms: int) -> None:
        limiter, takes = guard.supervisor.limiter, guard.cycle.takes
        tau = guard.controller.command.tau
        steps = limiter.correcting(takes.q, takes.qd, tau, guard.controller.pairs)
        parts = steps.row, steps.first, *steps.again
        self._own = own = BatchPipeline([step for part in parts for step in part], arms)
        ends = np.cumsum([len(part) for part in parts]).tolist()
        self._parts = list(zip([0, *ends[:-1]], ends, strict=True))
        self._shared = [(own[array], batch[array]) for array in own.arrays if batch.has(array)]
        self._outs = [(own[array], batch[array]) for array in limiter.out]
        self._violated, self._left = own[steps.violated], [own[array] for array in steps.left]

    def run(self, places: Indices) -> list[int]:
        """Solves for the arms at these places, whose commands it replaces; those where a number was not finite."""
        count = len(places)
        for mine, its in self._shared:
            mine[:count] = its[places]
        places, wrong = self._part(0, places)
        if not len(places):
            return wrong
        violated = dict(zip(places.tolist(), (self._violated[: len(places), 0] > 0.0).tolist(), strict=True))
        places, bad = self._part(1, places)  # for all of them: to put the others aside would take longer
        wrong += [place for place in bad if violated[place]]
        asked = np.array([violated[place] for place in places.tolist()], dtype=bool)
        for k in range(ROUNDS):
            unsolved = asked & (self._left[k % 2][: len(places), 0] != 0.0)
            if k == ROUNDS - 1:
                unsolved[:] = False
            self._give(places, asked & ~unsolved)
            if not unsolved.any():
                break
            going = set(places[unsolved].tolist())
            places, bad = self._part(2 + k % 2, places)  # again for all of them; who is done has what they need
            wrong += [place for place in bad if place in going]
            asked = np.array([place in going for place in places.tolist()], dtype=bool)
        return wrong

    def _part(self, part: int, places: Indices) -> tuple[Indices, list[int]]:
        first, last = self._parts[part]
        bad = list[int]()
        while len(places):
            refused = self._own.run(len(places), first, last)
            if refused is None:
                break
            bad += places[refused].tolist()
            fine = np.ones(len(places), dtype=bool)
            fine[refused] = False
            places = self._only(places, fine)
        return places, bad

    def _only(self, places: Indices, which: NDArray[np.bool_]) -> Indices:
        """Those of the arms alone, in the first places."""
        kept = np.flatnonzero(which)
        self._own.keep(kept)
        return places[kept]

    def _give(self, places: Indices, which: NDArray[np.bool_]) -> None:
        done = np.flatnonzero(which)
        if len(done):
            for mine, its in self._outs:
                its[places[done]] = mine[done]
