"""The compiled filter of an arm, with the arrays that it works on; saturation.py and safety/filter.py say what it does.

asked      the joints' box, the rows and how much the wish violates them
picked     the worst rows              left out, with `solve`, where the wish violates none: the result is the same
solve      the sweeps
given      the command; there are two: of the wish, and of what was solved
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra import Repeated, Table, trace
from ..algebra.linalg import Array as Scalars
from ..compile import compiled
from ..compile.kernel import Kernel
from ..compile.pipeline import Call
from ..geometry import ROW
from ..geometry.distance import separation
from ..model import Model
from .belief import CLOCK, TOLD
from .fitting import Facts
from .layout import Layout
from .limits import Limits
from .pushes import WIDTH
from .recorder import columns
from .safety.filter import ROWS, SWEEPS, Problem, moving, people_rows, sweep
from .saturation import ANYWHERE, NOBODY, RULES, asked, given, picked

Array = NDArray[np.float64]
STOP = CLOCK.index("stop")
PROMISE = 5  # numbers of a pair of the promise: distance, normal, share


class Structure(NamedTuple):
    """What chooses the programs."""

    layout: Layout | None  # of the pair table, None where a controller has none
    torque: bool
    floor: bool
    jerk: bool
    mode: str


def _promise(layout: Layout | None) -> dict[str, tuple[int, ...]]:
    return {"promise": (len(promise_pairs(layout)) or 1, PROMISE)}


def _common(n: int) -> dict[str, tuple[int, ...]]:
    return {
        "q": (n,),
        "qd": (n,),
        "last": (n,),
        "tau": (n,),
        "bounds": (5, n),
        "clock": (len(CLOCK),),
        "told": (len(TOLD),),
        "rules": (len(RULES),),
    }


def asked_kernel(model: Model, s: Structure) -> Kernel:
    """`saturation.asked`."""
    n, layout = model.n, s.layout
    pairs, slots = (1, 1) if layout is None else (len(layout.pairs), layout.people * layout.person_capsules)
    inputs = _common(n) | _promise(layout) | {"wanted": (n,), "change": (n,)}
    inputs |= {"pairs": (pairs, WIDTH), "pace": (max(1, slots), 2)}
    if s.mode != "separation":
        inputs["bears"] = (max(1, slots), 2)
    return compiled(partial(asked, **s._asdict()), model, inputs, name="asked")


PROBLEM = ("low", "up", "allowed", "runs")  # of what `asked` gives, what `given` takes only with a solution
ROWS_ALONE = ("rows", "start")  # and what it never takes


def given_kernel(model: Model, s: Structure, posed: Any, *, solved: bool = False) -> Kernel:
    """`saturation.given`; `posed` are the arrays that `asked` fills."""
    inputs = _common(model.n) | {k: x.shape for k, x in posed._asdict().items() if k not in PROBLEM + ROWS_ALONE}
    if solved:
        inputs |= {k: getattr(posed, k).shape for k in PROBLEM} | _promise(s.layout)
        inputs |= {"z": (model.n,), "price": (ROWS,), "kinds": (ROWS,)}
    return compiled(partial(given, solved=solved, **s._asdict()), model, inputs, name="given")


def picked_kernel(rows: tuple[int, ...], promises: int) -> Kernel:
    """`saturation.picked` of rows (K, n + 4), the first so many of them people's."""
    return compiled(picked, promises, {"rows": rows}, name="picked")


def _solving(n: int) -> Repeated:
    inputs = {"z": (n,), "price": (ROWS,), "low": (n,), "up": (n,), "A": (ROWS, n), "need": (ROWS,), "yields": (ROWS,)}
    return Repeated(trace(_turn, None, inputs, name="solve"), SWEEPS)


def _turn(_: Any, z: Scalars, price: Scalars, **problem: Scalars) -> dict[str, Scalars]:
    after, paid = sweep(Problem(wish=z, **problem), z, price)
    return {"z": after, "price": paid}


def solver(n: int) -> Kernel:
    """The sweeps, for any arm of n joints: z (n,) and price (ROWS,) as they begin, and the Problem."""
    return compiled(_solving, n)


def promise_pairs(layout: Layout | None) -> list[tuple[int, int]]:
    """(row, row) of every capsule that moves with every capsule of a person as last seen, which lie behind the rest."""
    if layout is None:
        return []
    return [(i, layout.rows + k) for i in moving(layout) for k in range(layout.people * layout.person_capsules)]


def _promised(_: Any, x: Scalars, y: Scalars) -> Scalars:
    near = separation(x, y)
    return np.array([near.distance, *near.normal, near.lambda_x])


def _promise_table(layout: Layout) -> Table:
    program = trace(_promised, None, {"x": (ROW,), "y": (ROW,)}, name="promise", output="promise")
    first, second = zip(*promise_pairs(layout), strict=True)
    return Table(program, layout.rows + layout.people * layout.person_capsules, (first, second))


def promise_table(layout: Layout) -> Kernel:
    """The distances that the promise is about."""
    return compiled(_promise_table, layout)


class Limiter:
    """Holds the last command and works out the next; `out` has qd, q, tau, tool_velocity, summary and record.

    `clock` (4,) is belief.CLOCK, `told` (7,) belief.TOLD and `pace` (S,) the speeds of people, filled by others; `rows`
    are the controller's `all_rows`.
    """

    def __init__(
        self,
        model: Model,
        facts: Facts,
        limits: Limits,
        clock: Array,
        told: Array,
        pace: Array,
        rows: Array | None,
        horizon: float,
    ) -> None:
        self.layout = layout = facts.pairs
        n, zero = model.n, np.zeros(model.n)
        s = Structure(layout, facts.torque, facts.floor is not None, limits.jerk > 0.0 and not facts.torque, limits.mode)
        self._kernels = {"ask": asked_kernel(model, s)}
        self.posed = self._kernels["ask"].empty()
        self._kernels["give"] = given_kernel(model, s, self.posed)
        self.out = self._kernels["give"].empty()
        for array in (*self.posed, *self.out):
            array[:] = 0.0
        self.torque, self.clock, self.zero = facts.torque, clock, zero
        self.last, self.change = zero.copy(), zero.copy()  # (n,) the last command, and what it changed
        self.no_pairs = np.zeros((1 if layout is None else len(layout.pairs), WIDTH))
        self.no_pairs[:, :2] = NOBODY
        self._promise = self._no_promise = np.zeros((1, PROMISE))
        self._rows = rows
        if layout is not None:
            self._kernels["pick"] = picked_kernel(self.posed.rows.shape, people_rows(layout))
            self._kernels["solve"] = solver(n)
            self._kernels["give_solved"] = given_kernel(model, s, self.posed, solved=True)
            self.picked, self.solved = self._kernels["pick"].empty(), self._kernels["solve"].empty()
            self._no_price = np.zeros(ROWS)
            if layout.people and rows is not None:
                self._kernels["measure"] = promise_table(layout)
                self._promise = self._kernels["measure"].empty()
                self._no_promise = np.zeros_like(self._promise)
        self._no_promise[:, 0] = NOBODY
        known = {"horizon": horizon, "period": facts.period, "reaction": facts.reaction, "floor": facts.floor or 0.0}
        known["stop_distance"] = limits.stop_distance or -ANYWHERE
        known["clearance"] = limits.clearance if limits.separation else -ANYWHERE
        self._rules = np.array([known[x] if x in known else float(getattr(limits, x)) for x in RULES])
        self._fixed = facts.bounds.table, clock, told, self._rules
        self._people = [pace if layout is not None else np.zeros((1, 2))]
        self.bears = np.zeros_like(self._people[0])  # (S, 2) contact.table
        if limits.mode != "separation":
            self._people.append(self.bears)
        place = columns(n)
        self._recorded = slice(place["command"].start, place["tool_velocity"].stop)  # what a command is made of
        self._ready()

    def _ready(self) -> None:
        """The compiled functions, and views: a short array is copied through them in a third of NumPy's time."""
        functions = {name: kernel.fast(kernel.general) for name, kernel in self._kernels.items()}
        self._ask, self._give = functions["ask"], functions["give"]
        self._pick, self._solve, self._give_solved = (functions.get(k) for k in ("pick", "solve", "give_solved"))
        self._measure = functions.get("measure")
        posed = self.posed._asdict()
        self._carried = [x for name, x in posed.items() if name not in PROBLEM + ROWS_ALONE]
        self._problem = [posed[name] for name in PROBLEM if name in posed]
        self.record, self.summary, self._lack = self.out.record.data, self.out.summary.data, self.posed.lack.data
        self._qd, self._last = self.out.qd.data, self.last.data
        self._changed, self._change = self.out.change.data, self.change.data

    def __getstate__(self) -> dict[str, Any]:
        made = ("_ask", "_give", "_pick", "_solve", "_give_solved", "_measure", "_carried", "_problem")
        made += ("record", "summary", "_lack")
        views = ("_qd", "_last", "_changed", "_change")
        return {k: v for k, v in vars(self).items() if k not in made + views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def allow(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> None:
        """What is allowed of a command; a ValueError or TypeError if its numbers are not finite or do not fit."""
        promise = self._no_promise
        if self._measure is not None and pairs is not self.no_pairs:
            promise = self._measure(self._rows, out=self._promise)
        common, posed = self._common(q, qd, tau), self.posed
        self._ask(*common, promise, wanted, self.change, pairs, *self._people, out=posed)
        if self._give_solved is None or not self.lacking:
            self._give(*common, *self._carried, out=self.out)
            return
        p = self._pick(posed.rows, out=self.picked)  # type: ignore[misc]  # these three are there or none is
        rows = posed.low, posed.up, p.A, p.need, p.yields
        s = self._solve(posed.start, self._no_price, *rows, out=self.solved)  # type: ignore[misc]
        found = *self._carried, *self._problem, promise, *s, p.kinds
        self._give_solved(*common, *found, out=self.out)

    # ---- the same as steps of a pipeline, on arrays that stay where they are
    def calls(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> list[Call]:
        """`allow`, as it is where no row is violated; `lacking` tells, and `corrections` must follow."""
        common = self._common(q, qd, tau)
        asked = *common, self._promise, wanted, self.change, pairs, *self._people
        return [
            Call(self._kernels["measure"], (self._rows,), self._promise),
            Call(self._kernels["ask"], asked, self.posed),
            Call(self._kernels["give"], (*common, *self._carried), self.out),
        ]

    def corrections(self, q: Array, qd: Array, tau: Array) -> list[Call]:
        """What is left to do where a row is violated."""
        posed, p = self.posed, self.picked
        problem = posed.start, self._no_price, posed.low, posed.up, p.A, p.need, p.yields
        found = *self._carried, *self._problem, self._promise, *self.solved, p.kinds
        return [
            Call(self._kernels["pick"], (posed.rows,), p),
            Call(self._kernels["solve"], problem, self.solved),
            Call(self._kernels["give_solved"], (*self._common(q, qd, tau), *found), self.out),
        ]

    @property
    def lacking(self) -> bool:
        """Whether the wish violates a row."""
        return bool(self._lack[0] > 0.0)

    @property
    def whole(self) -> bool:
        """Whether it has all that `calls` need: pairs, and people."""
        return self._measure is not None

    def _common(self, q: Array, qd: Array, tau: Array) -> tuple[Array, ...]:
        return q, qd, self.last, tau if self.torque else self.zero, *self._fixed

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
        self._change[:] = self._changed

    def go(self) -> None:
        """From now on commands count again, from a standstill."""
        self.clock[STOP] = 0.0
        self.last[:] = 0.0
        self.change[:] = 0.0

    def nothing(self) -> None:
        """All zeros, at once; the position stays where it was."""
        self.clock[STOP] = 1.0
        for array in (self.out.qd, self.out.tau, self.out.tool_velocity, self.out.change, self.last, self.change):
            array[:] = 0.0
        self.out.record[self._recorded] = 0.0
