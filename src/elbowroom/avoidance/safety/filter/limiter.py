"""The compiled filter of an arm, with the arrays that it works on; stages.py and approach_speed.py have the formulas.

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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....compile.kernel import Kernel
from ....compile.pipeline import Call, Copy, Pipeline
from ....errors import ConfigError
from ....model import Model
from ...control.pushes import WIDTH
from ...copies import Rebuilt
from ..flight_recorder import columns
from ..limits import Facts, Limits, rule_values
from ..perception import CLOCK
from .approach_speed import ENDS, FREE, PROMISE
from .body_regions import retreats, table
from .picked_rows import solving_kernels
from .rows import MotionLimit, not_finite, own_rows, people_rows
from .solver import ROUNDS, SINGLE, Tableau
from .stages import CHAIN, NOBODY, FilterStructure, given_in_single, kernels

Array = NDArray[np.float64]
STOP = CLOCK.index("stop")
BY_PAIR = ("promise", "met", "allowed", "mobility")


class Solving(NamedTuple):
    """The functions of the stages that are left out where the wish violates no row."""

    row: Callable[..., Any]
    pick: Callable[..., Any]
    solve: Callable[..., Any]
    give: Callable[..., Any]


def _begun(s: Tableau) -> tuple[Array, ...]:
    """What a step changes."""
    return s.table, s.at, s.price, s.side, s.entering


def _fixed(p: Tableau) -> tuple[Array, ...]:
    return p.low, p.high, p.weight


class Correction(NamedTuple):
    """Steps where the wish may violate a row: `row`, and where `violated` is above 0 `first`; then, as long as `left`
    of the last is not 0 and for ROUNDS in all, the two of `again` in turn."""

    row: list[Call]
    violated: Array  # (1,)
    first: list[Call]
    again: list[list[Call]]
    left: tuple[Array, Array]  # (1,) of first and of the second of `again`, and of the first of `again`


class Limiter(Rebuilt):
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
        motion_limits: tuple[MotionLimit, ...] = (),
    ) -> None:
        self.layout = layout = facts.pairs
        n, zero = model.n, np.zeros(model.n)
        jerk = limits.jerk > 0.0 and not facts.torque
        own = own_rows(model, motion_limits)
        self._structure = s = FilterStructure(
            layout, facts.torque, facts.floor is not None, jerk, limits.mode, motion_limits, own
        )
        self.lanes = s.lanes if rows is not None else None
        if self.lanes is None and layout is not None:
            s = s._replace(layout=layout if rows is not None else None)
        if motion_limits and s.layout is None:
            raise ConfigError("motion_limits: expected a Controller of elbowroom's own, which has pairs; got another")
        self._kernels, self._own = kernels(model, s), s.own
        self._model, self._motion_limits = model, motion_limits
        self.torque, self.clock, self.zero = facts.torque, clock, zero
        self.last, self.change = zero.copy(), zero.copy()  # (n,) the last command, and what it changed
        self.no_pairs = np.zeros((1 if layout is None else len(layout.pairs), WIDTH))
        self.no_pairs[:, :2] = NOBODY
        self._limits = limits
        self.bears = np.zeros_like(pace)  # (S, 2) body_regions.table
        self.retreat = np.full((len(pace), 1), limits.evasion_distance + limits.evasion_hands)  # body_regions.retreats
        self._rows = rows
        self._arrays: dict[str, Array] = {
            "last": self.last,
            "change": self.change,
            "bounds": facts.bounds.table,
            "clock": clock,
            "told": told,
            "rules": rule_values(limits, facts, horizon),
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
        self._make_ready()

    def _ready(self) -> None:
        """The compiled functions, and views: a short array is copied through them in a third of NumPy's time."""
        functions = {name: kernel.fast(kernel.general) for name, kernel in self._kernels.items()}
        self._run = {name: functions[name] for name in CHAIN if name in functions}
        self._give = functions["give"]
        names = ("row", "pick", "solve", "give_solved")
        self._solving = Solving(*(functions[k] for k in names)) if "solve" in functions else None
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

    def array(self, name: str) -> Array:
        """What the last cycle found: "wish", "ramp", "lack"...; "promise" (Q, 21) as `Lanes.order` has the pairs, and
        "allowed" (2 Q,)."""
        found = self._arrays[name]
        if name == "promise" and self.lanes is not None:
            return found.T[self.lanes.order]
        if name == "allowed" and self.lanes is not None:
            return found.reshape(ENDS, -1).T[self.lanes.order].ravel()
        return found

    def learn(self, names: Sequence[Sequence[str]], capsules: int) -> None:
        """Which parts of people there are, by the names of each person's capsules: what contact they bear, and from how
        far they are retreated from."""
        bears, retreat = table(names, capsules), retreats(names, capsules, self._limits)
        self.bears[:], self.retreat[:] = bears, retreat

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
        solving = self._solving
        if solving is None or not self.lacking or not self._violates(solving, arrays):
            self._give(*self._taken("give", arrays), out=self.out)
            return
        p = s = solving.pick(*self._taken("pick", arrays), out=self.picked)
        for k in range(ROUNDS):
            s = solving.solve(*_begun(s), *_fixed(p), out=self.solved[k % 2])
            if s.left[0] == 0.0:
                break
        solving.give(*self._taken("give_solved", arrays | self._found(s)), out=self.out)

    def unsound(self, q: Array, error: Exception) -> str:
        """Why a command could not be filtered: which motion limit is not finite at q, else the controller's numbers."""
        try:
            name = not_finite(self._motion_limits, self._model, q)
        except Exception as own:  # code of a user's
            return f"motion_limits: {type(own).__name__}: {own}"
        return f"motion_limits: the rows of {name} are not finite" if name else f"controller: {error}"

    def _violates(self, solving: Solving, arrays: dict[str, Array]) -> bool:
        """Writes the rows; whether the wish violates one."""
        solving.row(*self._taken("row", arrays), out=self._outs["row"])
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

    def correcting(self, q: Array, qd: Array, tau: Array, pairs: Array, *, single: bool = False) -> Correction:
        """What is left to do where a row may be violated, as steps of pipelines; `single`: for single precision."""
        known = self._in_single() if single else self._kernels
        p, (one, other), solve = self.picked, self.solved, known["solve"]
        arrays = self._inputs(q, qd, self.zero, tau, pairs)  # what is wanted counts no more

        def given(s: Tableau) -> Call:
            return Call(known["give_solved"], self._taken("give_solved", arrays | self._found(s)), self.out)

        row = Call(self._kernels["row"], self._taken("row", arrays), self._outs["row"])
        pick = Call(known["pick"], self._taken("pick", arrays), p)
        first = [pick, Call(solve, (*_begun(p), *_fixed(p)), one), given(one)]
        again = [[Call(solve, (*_begun(x), *_fixed(p)), y), given(y)] for x, y in ((one, other), (other, one))]
        return Correction([row], self._arrays["violated"], first, again, (one.left, other.left))

    def _in_single(self) -> dict[str, Kernel]:
        assert self.layout is not None  # whatever is corrected has pairs
        rows = self._kernels["pick"].signature.inputs[0].shape[0]
        solving = solving_kernels(self._model.n, rows, people_rows(self.layout), self._own, SINGLE)
        inputs = self._kernels["give_solved"].signature.inputs
        return solving | {"give_solved": given_in_single(self._model, self._structure, inputs)}

    def corrections(self, q: Array, qd: Array, tau: Array, pairs: Array) -> Callable[[], None]:
        """The same as a function."""
        steps = self.correcting(q, qd, tau, pairs)
        row, first, *more = (Pipeline(part).run for part in (steps.row, steps.first, *steps.again))
        left, violated = [x.data for x in steps.left], self._violated

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

    def _found(self, s: Tableau) -> dict[str, Array]:
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

    def react(self, q: Array, qd: Array, wanted: tuple[Array, Array], pairs: Array) -> None:
        """These speeds and torques in place of the standstill, as far as they are allowed."""
        self.clock[STOP] = 0.0
        try:
            self.allow(q, qd, *wanted, pairs)
        except (ValueError, TypeError):
            self.ramp(q, qd, pairs)

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
