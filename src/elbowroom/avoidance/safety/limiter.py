"""The compiled filter of an arm, with the arrays that it works on; saturation.py and promise.py have the formulas.

move       how the last command moves and turns the arm's capsules
measure    every pair of the promise                                                   in lanes
notice     the nearest person, and the most urgent evasion, by capsule                 in lanes
box        what is wanted, and the joints' box
bear       how easily the arm gives way at every pair; only where contact counts
meet       how long the ramp may take for every pair, and what is allowed anyhow       in lanes
ask        the wish, and how it moves the capsules
compare    what every pair asks of it                                                  in lanes
weigh      how much the wish lacks
row        the rows                    left out, with the next two, where the wish violates none: the result is the same
pick       the worst rows
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

from ...algebra import Repeated, Table, trace
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.kernel import Kernel
from ...compile.pipeline import Call, Copy, Pipeline
from ...geometry import ROW
from ...model import Model
from ..control.pairs import Layout
from ..control.pushes import WIDTH
from .capsule_motion import WIDTH as MOTION
from .capsule_motion import capsule_motions, moving
from .compatibility import Facts
from .filter import ROWS, people_rows
from .flight_recorder import columns
from .limits import Limits
from .perception import CLOCK, TOLD
from .promise import ENDS, FREE, MET, PROMISE, Lanes, compared, measured, met, mobilities, noticed
from .saturation import ANYWHERE, NOBODY, RULES, asked, boxed, given, named_rules, picked, rowed, weighed
from .solver import CHANGED, GIVEN, ROUNDS, STEPS, Tableau, pivot

Array = NDArray[np.float64]
STOP = CLOCK.index("stop")
CHAIN = ("move", "measure", "notice", "box", "bear", "meet", "ask", "compare", "weigh")
COMMON = ("q", "qd", "last", "tau", "bounds", "clock", "told", "rules")
BY_PAIR = ("promise", "met", "allowed", "mobility")
CARRIED = ("M", "bias", "carried")  # of a controller that makes torques


class Structure(NamedTuple):
    """What chooses the programs."""

    layout: Layout | None  # of the pair table, None where a controller has none
    torque: bool
    floor: bool
    jerk: bool
    mode: str

    @property
    def lanes(self) -> Lanes | None:
        """Where the pairs with people lie, if there are any."""
        layout = self.layout
        return Lanes(layout) if layout is not None and layout.people and moving(layout) else None


# ---- kernels
def _kernels(model: Model, s: Structure) -> dict[str, Kernel]:
    """The kernels of CHAIN, those of the two ways to give a command, and that of the rows."""
    n, lanes = model.n, s.lanes
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
        "pairs": (1 if s.layout is None else len(s.layout.pairs), WIDTH),
        "at": (ROWS + n,),
        "price": (ROWS + n,),
        "kinds": (ROWS,),
    }
    known: dict[str, Kernel] = {}

    def add(name: str, kernel: Kernel) -> None:
        known[name] = kernel
        shapes.update((p.name, p.shape) for p in kernel.signature.outputs)

    def scalar(name: str, function: Any, *inputs: str) -> None:
        add(name, compiled(function, model, {k: shapes[k] for k in inputs}, name=name))

    stages = s._asdict()
    with_pairs = () if s.layout is None else ("pairs",)
    if lanes is not None:
        scalar("move", partial(_moved, s), "q", "speed")
        add("measure", compiled(_measuring, lanes))
        add("notice", compiled(_noticing, lanes))
    scalar("box", partial(boxed, **stages), *COMMON, "wanted", "change", *with_pairs, *(("noticed",) if lanes else ()))
    made = [p.name for p in known["box"].signature.outputs]
    if lanes is not None:
        if s.mode != "separation":
            scalar("bear", partial(_borne, s), "q", "promise")
        add("meet", compiled(_meeting, (lanes, s.mode)))
    found = *COMMON, *(k for k in made if k not in CARRIED)
    scalar("ask", partial(asked, **stages), *found, *(("time",) if lanes else ()))
    if lanes is not None:
        add("compare", compiled(_comparing, lanes))
    if s.layout is not None:
        near = *COMMON, "pairs", "moves", "timing", *(("worst",) if lanes else ())
        scalar("weigh", partial(weighed, **stages), *near, *(("margin",) if lanes else ()))
        scalar("row", partial(rowed, **stages), *near)
    takes = *COMMON, *(k for k in made if k in (*CARRIED, "desired")), "facts", "wish", "ramp", "lack"
    scalar("give", partial(given, **stages), *takes)
    if s.layout is not None:
        more = "low", "up", "at", "price", "kinds", *(("promise", "met", "allowed") if lanes else ())
        scalar("give_solved", partial(given, solved=True, **stages), *takes, *more)
        known["pick"] = picked_kernel(n, shapes["rows"][0], people_rows(s.layout))
        known["solve"] = solver(n)
    return known


def _moved(s: Structure, model: Model, q: Scalars, speed: Scalars) -> dict[str, Scalars]:
    assert s.layout is not None
    return {"motion": capsule_motions(model, s.layout, q, speed)}


def _borne(s: Structure, model: Model, q: Scalars, promise: Scalars) -> dict[str, Scalars]:
    assert s.lanes is not None
    found = mobilities(model, s.lanes.layout, q, promise)
    return {"mobility": found.reshape(s.lanes.steps, s.lanes.count)}


def _measuring(lanes: Lanes) -> Table:
    """`promise.measured`: one entry a pair."""
    layout, pairs = lanes.layout, lanes.pairs
    own, slots = moving(layout), layout.people * layout.person_capsules
    rows = {
        "own": (ROW, len(layout.capsules), [own[m] for m, _ in pairs]),
        "believed": (ROW, slots, [slot for _, slot in pairs]),
        "motion": (MOTION, len(own), [m for m, _ in pairs]),
        "pairs": (WIDTH, len(layout.pairs), [layout.pair(own[m], slot) for m, slot in pairs]),
        "pace": (2, slots, [slot for _, slot in pairs]),
        "retreat": (1, slots, [slot for _, slot in pairs]),
    }
    inputs = {name: (width,) for name, (width, _, _) in rows.items()} | {"rules": (len(RULES),)}
    program = trace(_measured, None, inputs, name="measure", output="promise")
    counts, indices = tuple(count for _, count, _ in rows.values()), tuple(tuple(at) for _, _, at in rows.values())
    return Table(program, counts, indices, ("promise",))


def _measured(
    _: Any,
    own: Scalars,
    believed: Scalars,
    motion: Scalars,
    pairs: Scalars,
    pace: Scalars,
    retreat: Scalars,
    rules: Scalars,
) -> Scalars:
    return measured(own, believed, motion, pairs, pace, retreat[0], named_rules(rules))


def _by_lane(lanes: Lanes, function: Any, inputs: dict[str, int], taken: str = "", at: Any = ()) -> Table:
    """One entry a lane.  What `taken` names is by rows, at `at`; other arrays are columns, but for those of SHARED."""
    program = trace(function, lanes, {name: (size,) for name, size in inputs.items()}, name="lanes")
    names = [name for name in inputs if name not in (*SHARED, taken)] + [p.name for p in program.outputs]
    rows, indices = ((max(at) + 1,), (tuple(at),)) if taken else ((), ())
    return Table(program, rows, indices, tuple(names), lanes.count)


SHARED = ("rules", "terms", "timing")


def _noticing(lanes: Lanes) -> Table:
    return _by_lane(lanes, _noticed, {"promise": len(PROMISE) * lanes.steps})


def _noticed(lanes: Lanes, promise: Scalars) -> dict[str, Scalars]:
    return {"noticed": noticed(promise.reshape(len(PROMISE), lanes.steps))}


def _meeting(structure: tuple[Lanes, str]) -> Table:
    lanes, mode = structure
    inputs = {"promise": len(PROMISE) * lanes.steps, "terms": 4, "rules": len(RULES)}
    if mode == "separation":
        return _by_lane(lanes, partial(_met, mode), inputs)
    inputs = {"bears": 2 * lanes.steps, **inputs, "mobility": lanes.steps}
    return _by_lane(lanes, partial(_met, mode), inputs, "bears", [p for p, _ in lanes.groups])


def _met(
    mode: str, lanes: Lanes, promise: Scalars, terms: Scalars, rules: Scalars, bears: Any = None, mobility: Any = None
) -> dict[str, Scalars]:
    left, _, stopping, _ = terms
    each = promise.reshape(len(PROMISE), lanes.steps)
    contact = () if bears is None else (bears.reshape(-1, 2), mobility)
    found, time = met(each, left, stopping, named_rules(rules, mode=mode), *contact)
    return {"met": found.ravel(), "time": vector(time)}


def _comparing(lanes: Lanes) -> Table:
    inputs = {"moves": 6, "promise": len(PROMISE) * lanes.steps, "met": len(MET) * lanes.steps, "timing": 3}
    return _by_lane(lanes, _compared, inputs | {"rules": len(RULES)}, "moves", [m for _, m in lanes.groups])


def _compared(
    lanes: Lanes, moves: Scalars, promise: Scalars, met: Scalars, timing: Scalars, rules: Scalars
) -> dict[str, Scalars]:
    each, found = promise.reshape(len(PROMISE), lanes.steps), met.reshape(len(MET), lanes.steps)
    allowed, margin, worst = compared(each, found, moves, timing[0], timing[1], named_rules(rules))
    return {"allowed": allowed.ravel(), "margin": vector(margin), "worst": worst}


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


MADE = {"_run", "_row", "_give", "_pick", "_solve", "_give_solved", "_views", "record", "summary", "_lack", "_violated"}
MADE |= {"_qd", "_last", "_changed", "_change", "_taking"}
"""What `Limiter._ready` makes: functions and views, which no copy can take along."""


class Limiter:
    """Holds the last command and works out the next; `out` has qd, q, tau, tool_velocity, summary and record.

    `clock` (4,) is perception.CLOCK, `told` (7,) perception.TOLD and `pace` (S, 2) the speeds of people, filled by
    others; `rows` are the controller's `all_rows`.
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
        jerk = limits.jerk > 0.0 and not facts.torque
        s = Structure(layout, facts.torque, facts.floor is not None, jerk, limits.mode)
        self.lanes = s.lanes if rows is not None else None
        if self.lanes is None and layout is not None:
            s = s._replace(layout=layout if rows is not None else None)
        self._kernels = _kernels(model, s)
        self.torque, self.clock, self.zero = facts.torque, clock, zero
        self.last, self.change = zero.copy(), zero.copy()  # (n,) the last command, and what it changed
        self.no_pairs = np.zeros((1 if layout is None else len(layout.pairs), WIDTH))
        self.no_pairs[:, :2] = NOBODY
        known = {"horizon": horizon, "period": facts.period, "reaction": facts.reaction, "floor": facts.floor or 0.0}
        known["stop_distance"] = limits.stop_distance or -ANYWHERE
        known["clearance"] = limits.clearance if limits.separation else -ANYWHERE
        rules = np.array([known[x] if x in known else float(getattr(limits, x)) for x in RULES])
        self.bears = np.zeros_like(pace)  # (S, 2) contact.table
        self.retreat = np.full((len(pace), 1), limits.evasion_distance + limits.evasion_hands)  # promise.retreats
        self._rows = rows
        self._arrays: dict[str, Array] = {
            "last": self.last,
            "change": self.change,
            "bounds": facts.bounds.table,
            "clock": clock,
            "told": told,
            "rules": rules,
            "pace": pace,
            "retreat": self.retreat,
        }
        self._outs: dict[str, Any] = {}  # what the kernels give
        for name in (*CHAIN, "row", "give", "pick"):
            if name not in self._kernels:
                continue
            self._outs[name] = out = self._kernels[name].empty()
            ports = self._kernels[name].signature.outputs
            for port, array in zip(ports, (out,) if isinstance(out, np.ndarray) else out, strict=True):
                array[:] = 0.0
                self._arrays.setdefault(port.name, array)
        self.out = self._outs["give"]
        if self.lanes is not None:
            self._no_promise = np.zeros_like(self._arrays["promise"])
            for name, value in (("distance", NOBODY), ("seen", NOBODY), ("evasion", FREE)):
                self._no_promise[PROMISE.index(name)] = value
        if "solve" in self._kernels:
            self.picked = self._outs["pick"]
            self.solved = tuple(self._kernels["solve"].empty() for _ in range(2))  # one is read, the other written
        place = columns(n)
        self._recorded = slice(place["command"].start, place["tool_velocity"].stop)  # what a command is made of
        self._ready()

    def _ready(self) -> None:
        """The compiled functions, and views: a short array is copied through them in a third of NumPy's time."""
        functions = {name: kernel.fast(kernel.general) for name, kernel in self._kernels.items()}
        self._run = {name: functions[name] for name in CHAIN if name in functions}
        self._row, self._give = functions.get("row"), functions["give"]
        self._pick, self._solve, self._give_solved = (functions.get(k) for k in ("pick", "solve", "give_solved"))
        self._taking = {name: k.signature.inputs for name, k in self._kernels.items()}
        self._views: dict[str, Array] = {}
        if self.lanes is not None and self.layout is not None and self._rows is not None:
            self._views = {"own": self._rows[: self.layout.own], "believed": self._rows[self.layout.rows :]}
            self._views["bears"] = self.bears.reshape(self.layout.people, -1)
        found = self._arrays
        self.record, self.summary, self._lack = self.out.record.data, self.out.summary.data, found["lack"].data
        self._violated = found["violated"].data if "violated" in found else self._lack
        self._qd, self._last = self.out.qd.data, self.last.data
        self._changed, self._change = self.out.change.data, self.change.data

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in MADE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    @property
    def posed(self) -> SimpleNamespace:
        """What the last cycle found, by name; `promise` (Q, 21) as `Lanes.order` has the pairs, `allowed` (2 Q,)."""
        found = SimpleNamespace(**self._arrays)
        if self.lanes is not None:
            order = self.lanes.order
            found.promise, found.allowed = found.promise.T[order], found.allowed.reshape(ENDS, -1).T[order].ravel()
        return found

    def _inputs(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> dict[str, Array]:
        """All arrays by name."""
        given = {"q": q, "qd": qd, "wanted": wanted, "tau": tau if self.torque else self.zero, "pairs": pairs}
        return self._arrays | self._views | given | {"speed": qd if self.torque else self.last}

    def _taken(self, name: str, arrays: dict[str, Array]) -> list[Array]:
        """What a kernel takes of them; pairs that are steps and lanes to one are columns to another."""
        found = [(port, arrays[port.name]) for port in self._taking[name]]
        return [x.reshape(port.shape) if port.name in BY_PAIR else x for port, x in found]

    def allow(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> None:
        """What is allowed of a command; a ValueError or TypeError if its numbers are not finite or do not fit."""
        arrays = self._inputs(q, qd, wanted, tau, pairs)
        for name, run in self._run.items():
            if name == "measure" and pairs is self.no_pairs:
                arrays["promise"] = self._no_promise
                continue
            run(*self._taken(name, arrays), out=self._outs[name])
        if self._row is None or not self.lacking or not self._violates(arrays):
            self._give(*self._taken("give", arrays), out=self.out)
            return
        # where there are rows there are these three, which the checker does not follow
        p = s = self._pick(*self._taken("pick", arrays), out=self.picked)  # type: ignore[misc]
        for k in range(ROUNDS):
            s = self._solve(*_begun(s), *_fixed(p), out=self.solved[k % 2])  # type: ignore[misc]
            if s.left[0] == 0.0:
                break
        self._give_solved(*self._taken("give_solved", arrays | self._found(s)), out=self.out)  # type: ignore[misc]

    def _violates(self, arrays: dict[str, Array]) -> bool:
        """Writes the rows; whether the wish violates one."""
        self._row(*self._taken("row", arrays), out=self._outs["row"])  # type: ignore[misc]
        return bool(self._violated[0] > 0.0)

    # ---- the same as steps of a pipeline, on arrays that stay where they are
    def calls(self, q: Array, qd: Array, wanted: Array, tau: Array, pairs: Array) -> list[Call]:
        """`allow`, as it is where no row is violated; `lacking` tells, and `corrections` must follow."""
        arrays = self._inputs(q, qd, wanted, tau, pairs)
        names = [name for name in (*CHAIN, "give") if name in self._kernels]
        return [Call(self._kernels[name], self._taken(name, arrays), self._outs[name]) for name in names]

    def kept(self) -> list[Copy]:
        """`keep` as steps of a pipeline."""
        return [Copy(self.out.qd, self.last), Copy(self.out.change, self.change)]

    def corrections(self, q: Array, qd: Array, tau: Array, pairs: Array) -> Callable[[], None]:
        """What is left to do where a row may be violated, as a function."""
        p, (one, other), solve = self.picked, self.solved, self._kernels["solve"]
        arrays, violated = self._inputs(q, qd, self.zero, tau, pairs), self._violated  # what is wanted counts no more

        def given(s: Any) -> Call:
            return Call(self._kernels["give_solved"], self._taken("give_solved", arrays | self._found(s)), self.out)

        row = Pipeline([Call(self._kernels["row"], self._taken("row", arrays), self._outs["row"])]).run
        pick = Call(self._kernels["pick"], self._taken("pick", arrays), p)
        first = Pipeline([pick, Call(solve, (*_begun(p), *_fixed(p)), one), given(one)]).run
        more = [
            Pipeline([Call(solve, (*_begun(old), *_fixed(p)), new), given(new)]).run
            for old, new in ((one, other), (other, one))
        ]
        left = one.left.data, other.left.data

        def correct() -> None:
            """An ArithmeticError where a number is not finite: such a command is not filtered, and must not go out."""
            refused = row()
            if refused is None and violated[0] <= 0.0:
                return
            refused = refused or first()
            for k in range(ROUNDS - 1):  # one round is mostly enough
                if refused is not None:
                    raise ArithmeticError(f"{refused.kernel}: {refused.input} is not finite")
                if left[k % 2][0] == 0.0:
                    return
                refused = more[k % 2]()
            if refused is not None:
                raise ArithmeticError(f"{refused.kernel}: {refused.input} is not finite")

        return correct

    def _found(self, s: Any) -> dict[str, Array]:
        return {"at": s.at, "price": s.price, "kinds": self.picked.kinds}

    @property
    def lacking(self) -> bool:
        """Whether the wish may violate a row."""
        return bool(self._lack[0] > 0.0)

    @property
    def whole(self) -> bool:
        """Whether it has all that `calls` need: pairs, and people."""
        return self.lanes is not None

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
