"""The compiled filter of an arm, with the arrays that it works on; saturation.py and safety/filter.py say what it does.

move       how the last command moves and turns the arm's capsules
measure    every pair of the promise                                                   in lanes
box        what is wanted, and the joints' box
bear       how easily the arm gives way at every pair; only where contact counts
meet       how long the ramp may take for every pair, and what is allowed anyhow       in lanes
ask        the wish, and how it moves the capsules
compare    what every pair asks of it                                                  in lanes
pose       the rows, and how much the wish violates them
pick       the worst rows              left out, with `solve`, where the wish violates none: the result is the same
solve      the steps of the solver, some at a time, until none is left to be made
give       the command; there are two: of the wish, and of what was solved
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algebra import Repeated, Table, trace
from ..algebra.linalg import Array as Scalars
from ..algebra.table import padded
from ..compile import compiled
from ..compile.kernel import Kernel
from ..compile.pipeline import Call, Pipeline
from ..geometry import ROW
from ..geometry.distance import separation
from ..geometry.shapes import A, B
from ..model import Model
from .belief import CLOCK, TOLD
from .fitting import Facts
from .layout import Layout
from .limits import Limits
from .pushes import WIDTH
from .recorder import columns
from .safety.filter import (
    ASKED,
    CHANGED,
    COLUMNS,
    FOREVER,
    FREE,
    GIVEN,
    MOTION,
    PAIR,
    PROMISE,
    ROUNDS,
    ROWS,
    STEPS,
    Tableau,
    compared,
    met,
    mobilities,
    motions,
    people_pairs,
    people_rows,
    pivot,
    promised,
)
from .saturation import ANYWHERE, NOBODY, RULES, asked, boxed, given, named_rules, picked, rowed

Array = NDArray[np.float64]
STOP = CLOCK.index("stop")
CHAIN = ("move", "measure", "box", "bear", "meet", "ask", "compare", "pose")


class Structure(NamedTuple):
    """What chooses the programs."""

    layout: Layout | None  # of the pair table, None where a controller has none
    torque: bool
    floor: bool
    jerk: bool
    mode: str

    @property
    def people(self) -> bool:
        """Whether there are pairs with people."""
        return self.layout is not None and bool(people_pairs(self.layout))

    @property
    def pairs(self) -> Layout:
        """The layout, where there is one."""
        assert self.layout is not None
        return self.layout


def _kernels(model: Model, s: Structure) -> dict[str, Kernel]:
    """The kernels of CHAIN, and the first of the two of `give`."""
    n, layout = model.n, s.layout
    shapes: dict[str, tuple[int, ...]] = {
        "q": (n,),
        "qd": (n,),
        "last": (n,),
        "tau": (n,),
        "bounds": (5, n),
        "clock": (len(CLOCK),),
        "told": (len(TOLD),),
        "rules": (len(RULES),),
        "speed": (n,),
        "wanted": (n,),
        "change": (n,),
        "pairs": (1 if layout is None else len(layout.pairs), WIDTH),
        "promise": (len(PROMISE), _count(layout)),
        "met": (len(PAIR), _count(layout)),
        "asks": (len(ASKED), _count(layout)),
    }
    known: dict[str, Kernel] = {}

    def scalar(name: str, function: Any, *inputs: str) -> None:
        known[name] = kernel = compiled(function, model, {k: shapes[k] for k in inputs}, name=name)
        shapes.update((p.name, p.shape) for p in kernel.signature.outputs)

    common = COMMON if layout is None else (*COMMON, "pairs", "promise")
    if s.people:
        scalar("move", partial(_moved, s), "q", "speed")
        known["measure"] = compiled(_measuring, s)
    scalar("box", partial(boxed, **s._asdict()), *common, "wanted", "change")
    made = [p.name for p in known["box"].signature.outputs]
    if s.people:
        if s.mode != "separation":
            scalar("bear", partial(_borne, s), "q", "promise")
        known["meet"] = compiled(_meeting, s)
    found = *COMMON, *(k for k in made if k not in CARRIED)
    scalar("ask", partial(asked, **s._asdict()), *found, *(() if layout is None else ("met",)))
    if s.people:
        known["compare"] = compiled(_comparing, s)
    if layout is not None:
        scalar("pose", partial(rowed, **s._asdict()), *common, "asks", "moves")
    takes = *COMMON, *(k for k in made if k in (*CARRIED, "desired", "facts")), "wish", "ramp", "lack"
    scalar("give", partial(given, **s._asdict()), *takes)
    if layout is not None:
        m = ROWS + n
        shapes |= {"at": (m,), "price": (m,), "kinds": (ROWS,)}
        solved = partial(given, solved=True, **s._asdict())
        inputs = {k: shapes[k] for k in (*takes, "low", "up", "promise", "met", "asks", "at", "price", "kinds")}
        known["give_solved"] = compiled(solved, model, inputs, name="given")
    return known


COMMON = ("q", "qd", "last", "tau", "bounds", "clock", "told", "rules")
CARRIED = ("M", "bias", "carried")  # of a controller that makes torques


def _count(layout: Layout | None) -> int:
    """Columns of an array of pairs."""
    return 1 if layout is None else padded(len(people_pairs(layout))) or 1


def _moved(s: Structure, model: Model, q: Scalars, speed: Scalars) -> dict[str, Scalars]:
    return {"motion": motions(model, s.pairs, q, speed)}


def _borne(s: Structure, model: Model, q: Scalars, promise: Scalars) -> dict[str, Scalars]:
    return {"mobility": mobilities(model, s.pairs, q, promise.T)}


# ---- tables: one program for every pair of the promise
def _table(s: Structure, function: Any, output: str, takes: dict[str, int], shared: dict[str, int]) -> Table:
    """`takes`: the inputs that differ from pair to pair, and how many numbers they are."""
    layout = s.pairs
    pairs = people_pairs(layout)
    slots, capsules = layout.people * layout.person_capsules, len(layout.capsules)
    by_capsule, by_slot = (capsules, [i for i, _ in pairs]), (slots, [slot for _, slot in pairs])
    rows: dict[str, tuple[int, list[int]]] = {
        "own": by_capsule,
        "motion": by_capsule,
        "moves": by_capsule,
        "believed": by_slot,
        "pace": by_slot,
        "bears": by_slot,
        "pairs": (len(layout.pairs), [layout.pair(*pair) for pair in pairs]),
    }
    rows["mobility"] = len(pairs), list(range(len(pairs)))
    counts, columns = zip(*(rows[name] for name in takes if name not in COLUMNS), strict=True)
    inputs = {name: (width,) for name, width in (takes | shared).items()}
    inputs = dict(sorted(inputs.items(), key=lambda port: port[0] not in takes or port[0] in COLUMNS))
    program = trace(partial(function, s), None, inputs, name=output, output=output)
    return Table(program, counts, tuple(map(tuple, columns)), tuple(sorted(COLUMNS)))


def _measuring(s: Structure) -> Table:
    takes = {"own": ROW, "believed": ROW, "motion": MOTION, "pairs": WIDTH, "pace": 2}
    return _table(s, _measured, "promise", takes, {"rules": len(RULES)})


def _measured(
    _s: Structure, _: Any, own: Scalars, believed: Scalars, motion: Any, pairs: Any, pace: Any, rules: Any
) -> Any:
    near = separation(own, believed)
    return promised(near, own[B] - own[A], motion, pairs, pace, named_rules(rules))


def _meeting(s: Structure) -> Table:
    takes = {"promise": len(PROMISE), "pace": 2} | ({} if s.mode == "separation" else {"bears": 2, "mobility": 1})
    return _table(s, _met, "met", takes, {"terms": 4, "rules": len(RULES)})


def _met(
    s: Structure, _: Any, promise: Any, pace: Any, terms: Any, rules: Any, bears: Any = None, mobility: Any = None
) -> Any:
    left, _rest, stopping, _promptness = terms
    return met(promise, pace, left, stopping, named_rules(rules, mode=s.mode), bears, mobility)


def _comparing(s: Structure) -> Table:
    takes = {"promise": len(PROMISE), "met": len(PAIR), "moves": 6}
    return _table(s, _compared, "asks", takes, {"timing": 2, "rules": len(RULES)})


def _compared(_s: Structure, _: Any, timing: Any, rules: Any, **pair: Any) -> Any:
    return compared(**pair, stopping=timing[0], promptness=timing[1], rules=named_rules(rules))


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


def _begun(s: Any) -> tuple[Array, ...]:
    """Of a Tableau, what a step changes."""
    return s.table, s.at, s.price, s.side, s.entering


def _fixed(p: Any) -> tuple[Array, ...]:
    return p.low, p.high, p.weight


MADE = {"posed", "_run", "_give", "_pick", "_solve", "_give_solved", "_views", "record", "summary"}
MADE |= {"_promise", "lack", "_qd", "_last", "_changed", "_change"}
"""What `Limiter._ready` makes: functions and views, which no copy can take along."""


class Limiter:
    """Holds the last command and works out the next; `out` has qd, q, tau, tool_velocity, summary and record.

    `clock` (4,) is belief.CLOCK, `told` (7,) belief.TOLD and `pace` (S,) the speeds of people, filled by others; `rows`
    are the controller's `all_rows`.  `posed` has what the kernels of CHAIN found, by name.
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
        self._kernels = _kernels(model, s)
        self.torque, self.clock, self.zero = facts.torque, clock, zero
        self.last, self.change = zero.copy(), zero.copy()  # (n,) the last command, and what it changed
        self.no_pairs = np.zeros((1 if layout is None else len(layout.pairs), WIDTH))
        self.no_pairs[:, :2] = NOBODY
        self._no_promise = np.zeros((len(PROMISE), _count(layout)))
        for name, value in (("distance", NOBODY), ("seen", NOBODY), ("evasion", FREE)):
            self._no_promise[PROMISE.index(name)] = value
        known = {"horizon": horizon, "period": facts.period, "reaction": facts.reaction, "floor": facts.floor or 0.0}
        known["stop_distance"] = limits.stop_distance or -ANYWHERE
        known["clearance"] = limits.clearance if limits.separation else -ANYWHERE
        numbers = [known[x] if x in known else float(getattr(limits, x)) for x in RULES]
        self.bears = np.zeros_like(pace)  # (S, 2) contact.table
        self._rows = rows
        self._arrays: dict[str, Array] = {
            "last": self.last,
            "change": self.change,
            "bounds": facts.bounds.table,
            "clock": clock,
            "told": told,
            "rules": np.array(numbers),
            "pace": pace,
            "bears": self.bears,
            "promise": self._no_promise,
            "met": np.full((len(PAIR), _count(layout)), FOREVER),
            "asks": np.zeros((len(ASKED), _count(layout))),
        }
        self._outs: dict[str, Any] = {}  # of the kernels of CHAIN
        for name in CHAIN:
            if name in self._kernels:
                self._outs[name] = out = self._kernels[name].empty()
                ports = self._kernels[name].signature.outputs
                for port, array in zip(ports, (out,) if isinstance(out, np.ndarray) else out, strict=True):
                    array[:] = 0.0
                    self._arrays[port.name] = array
        self.out = self._kernels["give"].empty()
        for array in self.out:
            array[:] = 0.0
        if layout is not None:
            self._kernels["pick"] = picked_kernel(n, len(self._arrays["rows"]), people_rows(layout))
            self._kernels["solve"] = solver(n)
            self.picked = self._kernels["pick"].empty()
            self.solved = tuple(self._kernels["solve"].empty() for _ in range(2))  # one is read, the other written
        place = columns(n)
        self._recorded = slice(place["command"].start, place["tool_velocity"].stop)  # what a command is made of
        self._ready()

    def _ready(self) -> None:
        """The compiled functions, and views: a short array is copied through them in a third of NumPy's time."""
        functions = {name: kernel.fast(kernel.general) for name, kernel in self._kernels.items()}
        self._run = {name: functions[name] for name in self._outs}
        self._give = functions["give"]
        self._pick, self._solve, self._give_solved = (functions.get(k) for k in ("pick", "solve", "give_solved"))
        self._views: dict[str, Array] = {}
        if self.layout is not None and self._rows is not None:
            own = len(self.layout.capsules)
            self._views = {"own": self._rows[:own], "believed": self._rows[self.layout.rows :]}
        found = self._arrays
        count = 0 if self.layout is None else len(people_pairs(self.layout))
        self.posed = SimpleNamespace(**found, allowed=found["asks"][ASKED.index("allowed"), :count])
        self._promise = found["promise"].T[:count]
        self.record, self.summary, self.lack = self.out.record.data, self.out.summary.data, found["lack"].data
        self._qd, self._last = self.out.qd.data, self.last.data
        self._changed, self._change = self.out.change.data, self.change.data

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in MADE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def _inputs(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> dict[str, Array]:
        """All arrays by name."""
        given = {"q": q, "qd": qd, "wanted": wanted, "tau": tau if self.torque else self.zero, "pairs": pairs}
        return self._arrays | self._views | given | {"speed": qd if self.torque else self.last}

    def _taken(self, name: str, arrays: dict[str, Array]) -> list[Array]:
        """What a kernel takes of them."""
        return [arrays[port.name] for port in self._kernels[name].signature.inputs]

    def allow(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> None:
        """What is allowed of a command; a ValueError or TypeError if its numbers are not finite or do not fit."""
        arrays = self._inputs(q, qd, wanted, tau, pairs)
        for name, run in self._run.items():
            if name == "measure" and pairs is self.no_pairs:
                arrays["promise"] = self._no_promise
                continue
            run(*self._taken(name, arrays), out=self._outs[name])
        if self._give_solved is None or not self.lacking:
            self._give(*self._taken("give", arrays), out=self.out)
            return
        p = s = self._pick(*self._taken("pick", arrays), out=self.picked)  # type: ignore[misc]
        for k in range(ROUNDS):  # what is not None above is not None here
            s = self._solve(*_begun(s), *_fixed(p), out=self.solved[k % 2])  # type: ignore[misc]
            if s.left[0] == 0.0:
                break
        self._give_solved(*self._taken("give_solved", arrays | self._found(s)), out=self.out)

    # ---- the same as steps of a pipeline, on arrays that stay where they are
    def calls(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> list[Call]:
        """`allow`, as it is where no row is violated; `lacking` tells, and `corrections` must follow."""
        arrays = self._inputs(q, qd, wanted, tau, pairs)
        outs = self._outs | {"give": self.out}
        return [Call(self._kernels[name], self._taken(name, arrays), out) for name, out in outs.items()]

    def corrections(self, q: Array, qd: Array, tau: Array) -> Callable[[], None]:
        """What is left to do where a row is violated, as a function."""
        p, (one, other), solve = self.picked, self.solved, self._kernels["solve"]
        arrays = self._inputs(q, qd, self.zero, tau, self.no_pairs)  # neither what is wanted nor pairs count any more

        def given(s: Any) -> Call:
            return Call(self._kernels["give_solved"], self._taken("give_solved", arrays | self._found(s)), self.out)

        pick = Call(self._kernels["pick"], self._taken("pick", arrays), p)
        first = Pipeline([pick, Call(solve, (*_begun(p), *_fixed(p)), one), given(one)]).run
        more = [
            Pipeline([Call(solve, (*_begun(old), *_fixed(p)), new), given(new)]).run
            for old, new in ((one, other), (other, one))
        ]
        left = one.left.data, other.left.data

        def correct() -> None:
            first()
            for k in range(ROUNDS - 1):  # one round is mostly enough
                if left[k % 2][0] == 0.0:
                    return
                more[k % 2]()

        return correct

    def _found(self, s: Any) -> dict[str, Array]:
        return {"at": s.at, "price": s.price, "kinds": self.picked.kinds}

    @property
    def lacking(self) -> bool:
        """Whether the wish violates a row."""
        return bool(self.lack[0] > 0.0)

    @property
    def whole(self) -> bool:
        """Whether it has all that `calls` need: pairs, and people."""
        return "measure" in self._kernels

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
