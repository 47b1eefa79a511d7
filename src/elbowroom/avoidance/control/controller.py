"""The controller: the law of an arm and its settings, compiled; `step` gives one command and allocates nothing.

One step is a few compiled calls: the arm's capsules with their velocities, the pair tables (all distances and pushes,
in SIMD lanes), and the law.  `step` does not raise: what cannot be computed is a command to stand still with a status
that says why.  It does not latch, watch clocks or hold limits either: that is the part of safety/supervisor.py.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algebra import Scalar, where
from ...algebra.linalg import Array as Scalars
from ...arm import Arm
from ...compile import compiled
from ...compile.pipeline import Call, Copy, FromRing, Step, ToRing
from ...errors import ConfigError, ShapeError, UnknownNameError, did_you_mean
from ...geometry import ROW, Body
from ...geometry.distance import LAMBDA_X, LAMBDA_Y
from ...geometry.shapes import A, B
from ...model import Model
from ..copies import Rebuilt
from ..settings import leaves, lifted
from . import force_law, velocity_law
from .command import GOAL, HUGE, INDEX, STATUSES, UNKNOWN, Command, Goal, State, Status, measured, still
from .config import Config, structure
from .obstacles import Obstacles
from .pushes import WIDTH, FieldReach, LinkTable, PairLayout, PairTable, per_gaps
from .repulsion import HALF, OCCUPIED, PROFILES
from .velocity_law import memory_size, situation, unpacked

Array = NDArray[np.float64]


CHUNK = 1024  # states that `many` takes at a time: their pair tables fill a few megabytes


class Many(NamedTuple):
    """Results of `Controller.many`, one row per state; `info` in the order of command.INFO."""

    qd: Array  # (B, n), unfiltered
    tau: Array  # (B, n), zero for velocity laws
    info: Array  # (B, 14)


def _expect(name: str, value: object, kind: type, hint: str) -> None:
    if not isinstance(value, kind):
        raise ConfigError(f"{name}: expected {kind.__name__}; got {value!r:.60}; {hint}")


@dataclass(frozen=True)
class _Law:
    """The law over any scalar, (model, q, qd, ...) -> what a step gives; gains are inputs."""

    config: Config
    layout: PairLayout
    lower: Array
    upper: Array

    def __call__(self, model: Model, **inputs: Scalars) -> dict[str, Scalars]:
        g, limits = lifted(self.config, inputs["gains"].tolist()), (self.lower, self.upper)
        given = (inputs[k] for k in ("q", "qd", "pairs", "goal", "posture"))
        s = situation(model, self.layout, g, limits, *given)
        dt, restart = inputs["clock"]
        samples = self.config.smoothing.samples(self.config.period)
        law = velocity_law.law if self.config.controller == "K" else force_law.law
        found = law(s, unpacked(inputs["memory"], model.n), dt, restart, inputs["oldest"], samples)
        size: Scalar = 0.0
        for value in (*found["qd"], *found["tool_velocity"], *found.get("tau", ())):
            size = size + value * value
        found["info"][_STATUS] = where(size < HUGE, found["info"][_STATUS], float(_SENSELESS))
        return found

    def compiled_as(self) -> tuple[object, ...]:
        return structure(self.config), PROFILES, self.layout, self.lower, self.upper


class Controller(Rebuilt):
    """Keeps an arm clear of what it is shown while the tool goes to its goal.

    `posture` (n,) is where the joints rest when the task leaves them free (`arm.ready` if omitted); `lower` and `upper`
    (n,) replace the arm's own joint limits in the law.  `self_gaps` (m) are how near the task brings each of
    `body.self_pairs`: links that a wrist holds close together are pushed off and held apart at less than that, each
    pair by itself; those at the ready pose if omitted.

    A copy, or what is unpickled, goes on from where the original was, with memory of its own.
    """

    def __init__(
        self,
        arm: Arm,
        config: Config | None = None,
        *,
        body: Body | None = None,
        people: int = 1,
        others: int = 0,
        person_capsules: int = 14,
        posture: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        self_gaps: Sequence[float] = (),
    ) -> None:
        _expect("arm", arm, Arm, "er.load makes one")
        _expect(
            "config", Config() if config is None else config, Config, 'avoidance.load(Config, "cell.toml") reads a file'
        )
        self.arm = arm
        self.config = Config() if config is None else config
        self.body = Body(arm) if body is None else body
        if self.body.arm.model.digest != arm.model.digest:
            same = "of this very arm, its payload, tool and base included: Body(arm)"
            raise ConfigError(f"body: expected {arm.name}'s, {same}; got that of another {self.body.arm.name}")
        self._seen = Obstacles(people, others, person_capsules)
        self.layout = PairLayout.of(
            self.body,
            people,
            others,
            person_capsules,
            self_collision=self.config.self_collision is not None,
            self_gaps=tuple(map(float, self_gaps)),
        )
        n = arm.n
        self.posture = self._joints("posture", posture, arm.ready)
        self.lower = self._joints("lower", lower, arm.model.lower, finite=False)
        self.upper = self._joints("upper", upper, arm.model.upper, finite=False)
        if not (self.lower < self.upper).all():
            raise ConfigError(f"lower must be below upper for every joint; got {self.lower} and {self.upper}")
        self.samples = self.config.smoothing.samples(self.config.period)
        self.all_rows = np.zeros((self.layout.rows + max(1, people * person_capsules), ROW))
        """The arm's capsules, the obstacles', and people as a supervisor last saw them: what its filter measures to."""
        self._compile()
        # everything else that a step writes to
        self.pairs = np.zeros(
            (len(self.layout.pairs), WIDTH)
        )  # (P, 13) after a step: separations and strengths, see geometry.distance
        self._results = self._law.empty()
        self._clock = np.zeros(2)
        self._oldest = np.zeros(n)  # (n,) what the moving average lets go
        self._memory = np.zeros(memory_size(n))
        self._ring = np.zeros((self.samples, n))
        self._slot = np.zeros(1)  # the row of the ring that is next
        self._gains = np.array([value for _, value in leaves(self.config)])
        self._overrides: dict[str, float] = {}
        self._level = np.zeros(1)  # of waiting
        self._reached = self._reach.empty()
        field = self.config.self_collision
        self._per_gap = np.array(per_gaps(self.layout, "" if field is None else field.measure)).reshape(-1, 1)
        self._started = False
        self._make_ready()
        self.command = Command(n)
        results = self._results
        # The command's arrays are those that the law fills; what it does not make stays zero.
        self.command.q, self.command.qd, self.command.info = results.q, results.qd, results.info
        self.command.tool_velocity = results.tool_velocity
        if self.makes_torque:
            self.command.tau, self.command.acceleration = results.tau, results.acceleration

    # ---- building
    def _joints(self, name: str, value: ArrayLike | None, default: Array, *, finite: bool = True) -> Array:
        array = np.array(default if value is None else value, dtype=float)
        if array.shape != (self.arm.n,):
            raise ShapeError(f"{name} must have shape ({self.arm.n},); got {array.shape}")
        if np.isnan(array).any() or (finite and not np.isfinite(array).all()):
            raise ValueError(f"{name} must be numbers; got {array}")
        return array

    @property
    def makes_torque(self) -> bool:
        """Whether `command.tau` holds torques."""
        return self.config.makes_torque

    @property
    def delay(self) -> float:
        """How late the moving average makes it, s: part of the reaction time."""
        return 0.0 if self.makes_torque else self.config.smoothing.delay(self.config.period)

    def _compile(self) -> None:
        config, layout, n = self.config, self.layout, self.arm.n
        inputs = {
            "q": (n,),
            "qd": (n,),
            "pairs": (len(layout.pairs), WIDTH),
            "goal": (GOAL,),
            "posture": (n,),
            "memory": (memory_size(n),),
            "gains": (len(leaves(config)),),
            "clock": (2,),
            "oldest": (n,),
        }
        law = _Law(config, layout, self.lower, self.upper)
        self._table = compiled(PairTable(config), layout)
        self._links = compiled(LinkTable(config), layout) if layout.self_pairs else None
        self._law = compiled(law, self.arm.model, inputs, name="law", method=config.controller)
        reach = {"goal": (GOAL,), "rows": (layout.slots, ROW), "level": (1,), "clock": (2,)}
        self._reach = compiled(FieldReach(config), layout, reach | {"gains": (len(leaves(config)),)}, name="reach")

    def _ready(self) -> None:
        """What a step enters and writes to besides its arrays: functions and views."""
        kernels = self._reach, self._table, self._law
        self._far, self._tabulate, self._step = (kernel.fast(kernel.general) for kernel in kernels)
        self._tabulate_links = None if self._links is None else self._links.fast(self._links.general)
        outside = self.layout.own * self.layout.slots
        self._outside, self._between = self.pairs[:outside], self.pairs[outside:]
        self._rows = self.all_rows[: self.layout.rows]
        self._own, self._others = self._rows[: self.layout.own], self._rows[self.layout.own :]
        self.body.rows(self.arm.ready, np.zeros(self.arm.n))  # compiled now, not in the loop
        results: Any = self._results
        self._clock_view, self._oldest_view, self._memory_view = (
            x.data for x in (self._clock, self._oldest, self._memory)
        )
        self._ring_views = [row.data for row in self._ring]
        self._slot_view = self._slot.data
        self._new_memory_view, self._info_view = results.memory.data, results.info.data
        self._raw_view = getattr(results, "raw", self._oldest).data

    def __copy__(self) -> Controller:
        return copy.deepcopy(self)  # two that wrote to the same arrays would be neither

    def __repr__(self) -> str:
        kind = f"F {self.config.force.method}" if self.config.controller == "F" else "K"
        return f"<Controller {kind} of {self.arm.name}: {self.layout.own} capsules, {len(self.layout.pairs)} pairs>"

    def tune(self, config: Config) -> None:
        """Other gains, from the next step on; what chooses the program must be the same."""
        if structure(config) != structure(self.config):
            raise ConfigError(
                "tune changes gains alone; another controller, method, filter length or waiting needs a new one"
            )
        self.config = config
        self.override(self._overrides)

    def override(self, gains: Mapping[str, float]) -> None:
        """Other values for some gains by their dotted names, until the next call; {} ends it.  `config` stays.

        For what lasts a while, such as a route that is followed: `tune` meanwhile changes all the others.
        """
        known = dict(leaves(self.config))
        for name in gains:
            if name not in known:
                raise UnknownNameError(f"override: expected a gain; got {name!r}{did_you_mean(name, known)}")
        self._overrides = {name: float(value) for name, value in gains.items()}
        self._gains[:] = list((known | self._overrides).values())

    def obstacles(self, *, own: bool = False) -> Obstacles:
        """New, empty places as this controller takes them; `own` ones are its own memory, and nothing is copied."""
        return Obstacles(*self._seen.layout, rows=self._others if own else None)

    def reset(self) -> None:
        """Forgets what was carried from step to step: the integral, the filter, the joint goal, waiting."""
        self._memory[:] = 0.0
        self._ring[:] = 0.0
        self._slot[:] = 0.0
        self._level[:] = 0.0
        self._started = False

    # ---- running
    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Command:
        """The command for the time t, dt after the last.  Never raises; see `Command.status`."""
        command = self.command
        try:
            self._compute(dt, state, obstacles, goal)
        except Exception as error:  # a loop must go on: the arm stands still and the command says why
            q = measured(state, "q", self.arm.n)
            fine = q is not None and measured(state, "qd", self.arm.n) is not None
            status = Status.STOP_INTERNAL if fine or state is None else Status.STOP_STATE_INVALID
            still(command, status, f"{type(error).__name__}: {error}", q)
            command.t, command.dt = t, dt
            return command
        return self.finish(t, dt)

    def _compute(self, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> None:
        q, qd = state.q, state.qd
        if not dt >= 0.0:
            raise ValueError(f"dt must not be negative; got {dt}")
        if not self._started:
            self._memory[-self.arm.n :] = q  # the joint goal begins where the arm is
        self.body.rows(q, qd, out=self._own)
        if obstacles.rows is not self._others:
            if obstacles.layout != self._seen.layout:
                expected = f"{self._seen.layout} (people, things, capsules a person)"
                raise ShapeError(
                    f"obstacles must have places {expected}, as obstacles() makes them; got {obstacles.layout}"
                )
            self._others[...] = obstacles.rows
        self.begin(dt, obstacles)
        self._far(*self._of_reach(goal.packed, self._clock), out=self._reached)
        self._tabulate(*self._of_table(), out=self._outside)
        if self._tabulate_links is not None:
            self._tabulate_links(*self._of_links(), out=self._between)
        memory, clock = self._memory, self._clock
        self._step(
            q, qd, self.pairs, goal.packed, self.posture, memory, self._gains, clock, self._oldest, out=self._results
        )
        if self._info_view[_STATUS] == _SENSELESS:
            raise ArithmeticError(SENSELESS)

    # ---- the same by another's hand: what a pipeline of a supervisor runs
    def calls(self, q: Array, qd: Array, goal: Array, clock: Array, slot: Array) -> tuple[list[Step], list[Step]]:
        """A step on these arrays and the controller's own places for obstacles; and, for its end, what is remembered.

        `clock` (2,) and `slot` (1,) are what `turned` gives.
        """
        law = q, qd, self.pairs, goal, self.posture, self._memory, self._gains, clock, self._oldest
        results: Any = self._results
        steps: list[Step] = [
            FromRing(self._ring, self._slot, self._oldest),
            Call(self.body.kernel, (q, qd), self._own),
            Call(self._reach, self._of_reach(goal, clock), self._reached),
            Call(self._table, self._of_table(), self._outside),
            *([] if self._links is None else [Call(self._links, self._of_links(), self._between)]),
            Call(self._law, law, self._results),
        ]
        level: Any = self._reached
        after: list[Step] = [
            Copy(results.memory, self._memory),
            Copy(slot, self._slot),
            Copy(level.new_level, self._level),
        ]
        if self._averages:
            after.insert(0, ToRing(results.raw, self._ring, self._slot))
        return steps, after

    def _of_reach(self, goal: Array, clock: Array) -> tuple[Array, ...]:
        return goal, self._others, self._level, clock, self._gains

    def _of_table(self) -> tuple[Array, ...]:
        reached: Any = self._reached
        return self._own, self._others, reached.reach, self._gains

    def _of_links(self) -> tuple[Array, ...]:
        return self._own, self._own, self._per_gap, self._gains

    @property
    def slot(self) -> Array:
        """(1,) which row of the moving average's ring is next."""
        return self._slot

    def turned(self, dt: Scalar, slot: Scalar) -> tuple[list[Scalar], Scalar]:
        """The law's clock, and the slot after this step."""
        last = slot + 1.0 >= float(self.samples)
        return [dt, where(last, 1.0, 0.0)], where(last, 0.0, slot + 1.0)

    @property
    def _averages(self) -> bool:
        return self.samples > 1 and not self.makes_torque

    @property
    def level(self) -> Array:
        """(1,) of waiting, as it is now; NaN for a controller that does not wait."""
        return UNKNOWN if self.config.waiting is None else self._level

    @property
    def started(self) -> bool:
        """Whether a step was made since the start or the last reset."""
        return self._started

    def begin(self, dt: float, obstacles: Obstacles) -> None:
        """Before the law is computed for dt."""
        self._seen = obstacles
        obstacles.reads += 1
        view: Any = self._clock_view
        slot = int(self._slot_view[0])
        view[0], view[1] = dt, float(slot + 1 == self.samples)
        self._oldest_view[:] = self._ring_views[slot]

    def finish(self, t: float, dt: float) -> Command:
        """After it: what is remembered, and the command; an ArithmeticError where it made no sense."""
        if self._info_view[_STATUS] == _SENSELESS:
            raise ArithmeticError(SENSELESS)
        self._memory_view[:] = self._new_memory_view
        reached: Any = self._reached
        self._level[:] = reached.new_level
        slot = int(self._slot_view[0])
        if self._averages:
            self._ring_views[slot][:] = self._raw_view
        self._slot_view[0] = slot + 1 if slot + 1 < self.samples else 0
        self._started = True
        return self.told(t, dt)

    def told(self, t: float, dt: float) -> Command:
        """The command of a step that was made."""
        command = self.command
        command.t, command.dt, command.status = t, dt, STATUSES[int(self._info_view[_STATUS])]
        command.level = self.level
        command.reason = OCCUPIED if command.status is Status.AVOIDING and command.level[0] >= HALF else ""
        return command

    def many(self, q: ArrayLike, qd: ArrayLike, rows: ArrayLike, goals: ArrayLike, *, threads: int = 1) -> Many:
        """The law for B independent states at once, without memory or filter: for planning, learning, maps.

        q, qd (B, n); rows (B, K, 13) obstacle rows in the layout of `obstacles()`, or (K, 13) for all; goals (B, 3)
        positions or (B, 15) packed goals.  Raises where an input does not fit.
        """
        q, qd = np.atleast_2d(np.asarray(q, float)), np.atleast_2d(np.asarray(qd, float))
        B, n = len(q), self.arm.n
        others = np.broadcast_to(np.asarray(rows, float), (B, self.layout.slots, ROW))
        packed = np.zeros((B, GOAL))
        given = np.atleast_2d(np.asarray(goals, float))
        if given.shape[-1] not in (3, GOAL):
            raise ShapeError(f"goals must have shape (B, 3) or (B, {GOAL}); got {given.shape}")
        packed[:, 6:GOAL] = np.eye(3).ravel()
        packed[:, : given.shape[-1]] = given
        found = Many(np.empty((B, n)), np.zeros((B, n)), np.empty((B, len(INDEX))))
        for first in range(0, B, CHUNK):
            part = slice(first, min(first + CHUNK, B))
            size = part.stop - first
            gains = np.broadcast_to(self._gains, (size, len(self._gains)))
            own = self.body.kernel(q[part], qd[part], threads=threads)
            far = np.full((size, self.layout.slots, 1), self.config.repulsion.influence)
            pairs = self._table(own, others[part], far, gains, threads=threads)
            if self._links is not None:
                per_gap = np.broadcast_to(self._per_gap, (size, *self._per_gap.shape))
                between = self._links(own, own, per_gap, gains, threads=threads)
                pairs = np.concatenate([pairs, between], axis=1)
            memory = np.zeros((size, memory_size(n)))
            memory[:, -n:] = q[part]
            clock = np.broadcast_to((self.config.period, 0.0), (size, 2))
            posture = np.broadcast_to(self.posture, (size, n))
            state = q[part], qd[part], pairs, packed[part], posture, memory, gains, clock, np.zeros((size, n))
            results = self._law(*state, threads=threads)
            found.qd[part] = results.qd if self.makes_torque else results.unfiltered
            found.info[part] = results.info
            if self.makes_torque:
                found.tau[part] = results.tau
        return found

    @property
    def rows(self) -> Array:
        """(K, 13) the capsules of the last step: the arm's, then the obstacles'.  The next step overwrites them."""
        return self._rows

    def nearest_points(self) -> tuple[Array, Array]:
        """Where the nearest two are nearest, after a step: points (3,) of the arm's axis and of the obstacle's."""
        pair = int(self._results.info[INDEX["nearest"]])
        i, k = divmod(pair, self.layout.slots)
        x, y, row = self._own[i], self._others[k], self.pairs[pair]
        return x[A] + row[LAMBDA_X] * (x[B] - x[A]), y[A] + row[LAMBDA_Y] * (y[B] - y[A])

    def nearest(self) -> tuple[str, str]:
        """The names of the arm's capsule and of the obstacle that are nearest, after a step."""
        i, k = divmod(int(self._results.info[INDEX["nearest"]]), self.layout.slots)
        return self.layout.capsules[i].name, self._seen.name(k)


_STATUS = INDEX["status"]
SENSELESS = "the law's numbers are not finite; a goal, a person or a speed is too far from real"
_SENSELESS = STATUSES.index(Status.STOP_INTERNAL)
