"""The compiled filter of an arm, with the arrays that it works on; saturation.py and safety/filter.py say what it does.

asked      the joints' box, the rows and how much the wish violates them
picked     the worst rows              left out, with `solve`, where the wish violates none: the result is the same
solve      the steps of the solver, some at a time, until none is left to be made
given      the command; there are two: of the wish, and of what was solved
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Repeated, Table, trace
from ...algebra.linalg import Array as Scalars
from ...compile import compiled
from ...compile.kernel import Kernel
from ...compile.pipeline import Call, Pipeline
from ...geometry import ROW
from ...geometry.distance import separation
from ...model import Model
from ..control.pairs import Layout
from ..control.pushes import WIDTH
from .compatibility import Facts
from .filter import CHANGED, GIVEN, ROUNDS, ROWS, STEPS, Tableau, moving, people_rows, pivot
from .flight_recorder import columns
from .limits import Limits
from .perception import CLOCK, TOLD
from .saturation import ANYWHERE, NOBODY, RULES, asked, given, picked

Array = NDArray[np.float64]
STOP = CLOCK.index("stop")
PROMISE = 6  # numbers of a pair of the promise: distance, normal, share, distance of axes


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
        inputs |= {"at": (ROWS + model.n,), "price": (ROWS + model.n,), "kinds": (ROWS,)}
    return compiled(partial(given, solved=solved, **s._asdict()), model, inputs, name="given")


def picked_kernel(n: int, rows: int, promises: int) -> Kernel:
    """`saturation.picked` of so many rows, the first of them people's."""
    inputs = {"rows": (rows, n + 4), "start": (n,), "low": (n,), "up": (n,)}
    return compiled(picked, promises, inputs, name="picked")


def _solving(size: tuple[int, int]) -> Repeated:
    n, steps = size
    m = ROWS + n
    shapes = {"table": (m * (m + 1) // 2,), "entering": (1,)}
    inputs = {name: shapes.get(name, (m,)) for name in GIVEN}
    return Repeated(trace(_turn, None, inputs, name="solve"), steps)


def _turn(_: Any, **tableau: Scalars) -> dict[str, Scalars]:
    after = pivot(Tableau(**tableau))
    return {name: getattr(after, name) for name in CHANGED}


def solver(n: int, steps: int = STEPS) -> Kernel:
    """So many steps of the solver, for any arm of n joints; it takes a Tableau and gives what changes of it."""
    return compiled(_solving, (n, steps))


def promise_pairs(layout: Layout | None) -> list[tuple[int, int]]:
    """(row, row) of every capsule that moves with every capsule of a person as last seen, which lie behind the rest."""
    if layout is None:
        return []
    return [(i, layout.rows + k) for i in moving(layout) for k in range(layout.people * layout.person_capsules)]


def _promised(_: Any, x: Scalars, y: Scalars) -> Scalars:
    near = separation(x, y)
    return np.array([near.distance, *near.normal, near.lambda_x, near.axis_distance])


def _promise_table(layout: Layout) -> Table:
    program = trace(_promised, None, {"x": (ROW,), "y": (ROW,)}, name="promise", output="promise")
    first, second = zip(*promise_pairs(layout), strict=True)
    return Table(program, layout.rows + layout.people * layout.person_capsules, (first, second))


def promise_table(layout: Layout) -> Kernel:
    """The distances that the promise is about."""
    return compiled(_promise_table, layout)


def _begun(s: Any) -> tuple[Array, ...]:
    """Of a Tableau, what a step changes."""
    return s.table, s.at, s.price, s.side, s.entering


def _fixed(p: Any) -> tuple[Array, ...]:
    return p.low, p.high, p.weight


MADE = {"_ask", "_give", "_pick", "_solve", "_give_solved", "_measure", "_carried", "_problem", "record", "summary"}
MADE |= {"_lack", "_qd", "_last", "_changed", "_change"}
"""What `Limiter._ready` makes: functions and views, which no copy can take along."""


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
        s = Structure(
            layout, facts.torque, facts.floor is not None, limits.jerk > 0.0 and not facts.torque, limits.mode
        )
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
            self._kernels["pick"] = picked_kernel(n, len(self.posed.rows), people_rows(layout))
            self._kernels["solve"] = solver(n)
            self._kernels["give_solved"] = given_kernel(model, s, self.posed, solved=True)
            self.picked = self._kernels["pick"].empty()
            self.solved = tuple(self._kernels["solve"].empty() for _ in range(2))  # one is read, the other written
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
        return {k: v for k, v in vars(self).items() if k not in MADE}

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
        # `_give_solved` is there, so these two are, which the checker does not follow
        p = s = self._pick(posed.rows, posed.start, posed.low, posed.up, out=self.picked)  # type: ignore[misc]
        for k in range(ROUNDS):
            s = self._solve(*_begun(s), *_fixed(p), out=self.solved[k % 2])  # type: ignore[misc]
            if s.left[0] == 0.0:
                break
        self._give_solved(*common, *self._found(promise, s), out=self.out)

    # ---- the same as steps of a pipeline, on arrays that stay where they are
    def calls(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> list[Call]:
        """`allow`, as it is where no row is violated; `lacking` tells, and `corrections` must follow."""
        common = self._common(q, qd, tau)
        asked = *common, self._promise, wanted, self.change, pairs, *self._people
        return [
            Call(self._kernels["measure"], [x for x in (self._rows,) if x is not None], self._promise),
            Call(self._kernels["ask"], asked, self.posed),
            Call(self._kernels["give"], (*common, *self._carried), self.out),
        ]

    def corrections(self, q: Array, qd: Array, tau: Array) -> Callable[[], None]:
        """What is left to do where a row is violated, as a function."""
        posed, p, (one, other) = self.posed, self.picked, self.solved
        common, solve = self._common(q, qd, tau), self._kernels["solve"]

        def given(s: Any) -> Call:
            return Call(self._kernels["give_solved"], (*common, *self._found(self._promise, s)), self.out)

        pick = Call(self._kernels["pick"], (posed.rows, posed.start, posed.low, posed.up), p)
        first = Pipeline([pick, Call(solve, (*_begun(p), *_fixed(p)), one), given(one)]).run
        more = [
            Pipeline([Call(solve, (*_begun(old), *_fixed(p)), new), given(new)]).run
            for old, new in ((one, other), (other, one))
        ]
        left = one.left.data, other.left.data

        def correct() -> None:
            """An ArithmeticError where a number is not finite: such a command is not filtered, and must not go out."""
            refused = first()
            for k in range(ROUNDS - 1):  # one round is mostly enough
                if refused is not None:
                    raise ArithmeticError(f"{refused.kernel}: {refused.input} is not finite")
                if left[k % 2][0] == 0.0:
                    return
                refused = more[k % 2]()
            if refused is not None:
                raise ArithmeticError(f"{refused.kernel}: {refused.input} is not finite")

        return correct

    def _found(self, promise: Array, s: Any) -> tuple[Array, ...]:
        return *self._carried, *self._problem, promise, s.at, s.price, self.picked.kinds

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
