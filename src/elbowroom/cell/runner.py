"""The loop of a cell: arm, controller, supervisor, plant, people and task, one control step at a time.

    cell = Cell(Scene.load("cell.toml"))
    recording = run(cell)                                  as fast as it goes; the same scene gives the same bytes
    run(cell, pace=RealTime(cell.period))                  in real time, overruns counted

One control step: read the plant, look at the people, ask the task for its goal and the controller for a command, let
the supervisor judge it, write it to the plant, and let time pass.  A cell does not raise in a step for what a sensor or
a controller does: the supervisor stops the arm and says why.

A supervisor that watches is shown the bare controller's command and what the sensor shows, and its own command goes
nowhere.  So the arm moves exactly as it does without one.

`Log` writes a cell's control steps into a recording, one row each (recording/log.py), and `record_to` makes one whose
first lines say what the scene is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..avoidance import Command, Controller, Goal, MotionLimit, Obstacles, State, Status, Supervisor
from ..avoidance.planning.background import Background, Inline
from ..avoidance.planning.detour import Detour, fixed_shapes
from ..avoidance.protocols import lacking
from ..avoidance.safety.momentum_observer import MomentumObserver
from ..avoidance.safety.perception import FAR
from ..errors import ConfigError
from ..geometry import PARKED, ROW, Body
from ..geometry.pairs import NOBODY, Clearance
from .layout import laid_out, plant_of
from .layout import mounted as mounted
from .pace import AsFastAsPossible, Pace, RealTime
from .people.coworker import Noisy
from .people.settings import Seen, made
from .plants.plant import JointPlant, LinkedPlant, Plant
from .recording.log import Log as Log
from .recording.log import bare_told as bare_told
from .recording.log import notes_of as notes_of
from .recording.log import record_to as record_to
from .recording.table import Recording
from .scene import Scene
from .task import Aiming, Task, at_work

Array = NDArray[np.float64]
ROUNDING = 1e-6  # s: a plant's clock that is off by less is on time
LONGEST = 1.0  # s, that a plant catches up with after a pause


class Cell:
    """A scene that has come to life.  `reset` begins anew; `step(t)` is one control step.

    After a step: `state` (as the plant said), `command` (what the plant was given), `tool` and `tool_velocity` (3,),
    `people_rows` (k, 13) where people are, `task`, `verdict` (the supervisor's status, None without one), `margin` (the
    supervisor's, m/s, NaN without one), `age` of what is known about people (s), `resets` by the operator.  `bare` are
    the names of links without a shape, where the scene allows them.

    Distances of arm and people are three quantities.  `near` is the true one of the shape that the controller keeps
    clear, `clearance` the true one of the moving links as they are, which also says whether they touch.  The
    controller's command has the distance to people as they are believed to be, and so has `distance_believed`.

    `plant` replaces the scene's own: a PlantClient, say, and the arm moves in another program.  It must be of the same
    arm, which is that of `mounted(scene)`.  A plant in another program may stop by itself, or vanish and be started
    again: the supervisor then stops, too, and a reset ends both stops.  `motion_limits` go to the supervisor.
    """

    def __init__(self, scene: Scene, *, plant: Plant | None = None, motion_limits: Sequence[MotionLimit] = ()) -> None:
        self.motion_limits = tuple(motion_limits)
        self._guard: Supervisor | None = None
        self._untouched: tuple[object, ...] | None = None  # what the supervisor was made of, until somebody has it
        try:
            self._build(scene, plant)
        except ConfigError as error:
            if not scene.source or str(error).startswith(scene.source):
                raise
            raise ConfigError(f"{scene.source}: {error}") from error

    def _build(self, scene: Scene, plant: Plant | None) -> None:
        place = laid_out(scene)
        scene, lower, upper = place.scene, place.lower, place.upper
        self.arm, self.body, self.start = place.arm, place.body, place.start
        self.bare = place.bare
        self.scene, self.period = scene, scene.period
        pose, base = self.arm.pose(self.start), self.arm.model.base[:3, 3]
        self.origin = np.array(pose[:3, 3] if scene.origin == "tool" else base, dtype=float)
        self.floor = float(base[2] + scene.floor)
        self._names = list(scene.people)
        self.people: list[Seen] = list(made(scene.people, self.origin, self.floor).values())
        if scene.noise:
            self.people = [
                Seen(Noisy(who.sensed, scene.noise, scene.seed + k), who.actual) for k, who in enumerate(self.people)
            ]
        sizes = [len(who.actual.names) for who in self.people]
        self.controller = Controller(
            self.arm,
            scene.controller,
            body=self.body,
            people=len(sizes),
            others=0 if sizes else 1,  # there must be room for something: a thing that is never put
            person_capsules=max(sizes, default=1),
            posture=self.start,
            lower=lower,
            upper=upper,
            self_gaps=scene.self_gaps,
        )
        rules = scene.controller.planning
        self.detour: Detour | None = None if rules is None else Detour(self.controller, rules)
        if plant is not None and (why := lacking(plant, Plant)):
            raise ConfigError(f"plant: expected an object that is a Plant, but {why}; got {plant!r:.60}")
        if plant is not None and plant.arm.model.digest != self.arm.model.digest:
            raise ConfigError(f"plant: expected that of {self.arm.name} as mounted(scene) has it; got {plant!r:.60}")
        self.plant: Plant = plant_of(scene, self.arm, sum(sizes)) if plant is None else plant
        self._linked = plant if isinstance(plant, LinkedPlant) else None
        self.plant_kind = scene.plant.kind if plant is None else type(plant).__name__
        if self._linked is not None:
            self.plant_kind = self._linked.description
        self._sensed = [np.zeros((k, ROW)) for k in sizes]
        self._stamps: list[float | None] = [None] * len(sizes)
        self.people_rows = np.tile(PARKED, (sum(sizes), 1))
        ends = np.cumsum([0, *sizes]).tolist()
        self._places = [self.people_rows[a:b] for a, b in pairwise(ends)]
        self._near = Clearance(self.body, sum(sizes))
        touches = Body(self.arm) if scene.cover and self.arm.model.capsules else self.body
        self._touch = self._near if touches is self.body else Clearance(touches, sum(sizes))
        own = self.plant if isinstance(self.plant, JointPlant) else None
        if own is not None and type(own).read is not JointPlant.read:
            own = None  # one that says otherwise than where it is counts by itself
        same = own is not None and own.body is not None and own.body.link_capsules == touches.link_capsules
        self._told = own if same else None  # a plant that would compute the same distance again
        self._axes = scene.controller.repulsion.measure == "axis"
        self.task: Task = at_work(scene.task, self.origin, pose[:3, 3])
        self.task.goal.rotation = pose[:3, :3]  # tasks say where; a controller that turns the tool keeps it as it rests
        self.state = State(self.start)
        self.tool, self.tool_velocity = pose[:3, 3].copy(), np.zeros(3)
        self.reset()

    def __repr__(self) -> str:
        people = ", ".join(self._names) or "nobody"
        work = type(self.scene.task).__name__
        return f"<Cell: {self.arm.name} on the plant {self.plant_kind}, {work}, with {people}>"

    @property
    def guard(self) -> Supervisor | None:
        """The supervisor; None in a scene without.  `reset` makes another, once this has been asked for."""
        self._untouched = None
        return self._guard

    @guard.setter
    def guard(self, guard: Supervisor | None) -> None:
        """Another supervisor, or none, until the next `reset`."""
        self._guard, self._untouched = guard, None

    @property
    def observer(self) -> MomentumObserver | None:
        """What feels contact; None where that is not watched."""
        return None if self._guard is None or self._guard.contact is None else self._guard.contact.observer

    def _supervisor(self) -> Supervisor | None:
        mode, limits = self.scene.supervision, dataclasses.replace(self.scene.limits, sensor=self.scene.sensor)
        if self.motion_limits and mode != "stop":
            raise ConfigError(
                f'motion_limits: expected a scene with supervision = "stop", which holds them; got "{mode}"'
            )
        if mode == "off":
            return None
        if mode == "watch":
            return Supervisor(_Echo(self.controller), limits, acting=False)
        return Supervisor(self.controller, limits, motion_limits=self.motion_limits)

    def reset(self) -> None:
        """The arm at rest where it starts, the task and the people at their beginning, the supervisor new."""
        if self._linked is not None:
            self._linked.wait(self._linked.patience)
        self.plant.reset(self.start)
        if self._linked is not None:
            self._linked.settle(self._linked.patience)
        if self.detour is not None:
            self.detour.reset()
        self.controller.reset()
        made_of = self.scene, self.controller, self.controller.config
        if self._untouched is None or any(a is not b for a, b in zip(self._untouched, made_of, strict=True)):
            self._guard, self._untouched = self._supervisor(), made_of
        self.obstacles = self.controller.obstacles(own=self._guard is None)  # a supervisor writes there
        self.plant.read(self.state)
        if self._guard is not None and self._guard.contact is not None:
            self._refuse_unmeasured(self._guard.contact.settings.measured)
        self.tool[:] = self.arm.pose(self.state.q if self._linked is not None else self.start)[:3, 3]
        self.task.start(self.tool)
        self.command: Command = self.controller.command
        self.near = self.clearance = NOBODY
        self.verdict: Status | None = None
        self.margin = math.nan
        self.age, self.resets, self._stopped = 0.0, 0, math.nan
        self._last, self._clock, self._connections = -self.period, math.nan, -1
        self._stamp = self._stamped = math.nan  # of the last state, and when that was on the clock of the run
        self._distance = math.inf
        self._place(0.0)

    def _refuse_unmeasured(self, side: str) -> None:
        """Contact is felt by torques: refuses a plant that measures none, or not where the settings say."""
        if self.state.tau is None:
            wanted = "expected a plant that measures joint torques, plant.kind rigid or mujoco"
            raise ConfigError(f"limits.contact: {wanted}; got {self.plant_kind}")
        if side != "motor" and self._linked is None:
            raise ConfigError(f'limits.contact.measured: expected "motor", as a simulated plant has it; got "{side}"')

    def goes_on(self, t: float) -> None:
        """The next control step is at t and follows one a period before, as where this cell takes another's place."""
        self._last = t - self.period

    def take_over(self, old: Cell, t: float, *, people: bool = True) -> None:
        """Stands where another cell of the same arm stood before the step at t: its work, joints and people."""
        if people:
            self.people = old.people
        self.task = old.task
        self.plant.reset(old.state.q)
        self.plant.read(self.state)
        self.tool[:] = old.tool
        self.people_rows[:] = old.people_rows
        self.goes_on(t)

    # ---- one control step
    def step(self, t: float) -> Command:
        """The control step at time t (s); until the next one the plant follows the command that is returned."""
        state = self.state
        dt = max(t - self._last, 0.0)
        self._last = t
        self.plant.read(state)
        state.t = self._taken(t, state.t)
        self._measure(t)
        self._look(t)
        goal = self.task.step(t, dt, self.tool, self._distance)
        if not isinstance(goal, Goal):
            raise ConfigError(f"task: {type(self.task).__name__}.step: expected a Goal; got {goal!r:.60}")
        if self.detour is not None:
            goal = self._around(self.detour, t, dt, goal)
        goal.t = t
        if self.guard is None or self.scene.supervision == "watch":
            self.command = self.controller.step(t, dt, state, self.obstacles, goal)
        if self.guard is not None:
            if self._linked is not None and self.scene.supervision == "stop" and self.guard.latched is None:
                wrong = self._linked.held if self._linked.connected else "it does not answer"
                if wrong:
                    self.guard.stop(wrong, by="plant")
            judged = self.guard.step(t, dt, state, self.obstacles, goal)
            self.verdict, self.margin = judged.status, judged.margin
            if self.scene.supervision == "stop":
                self.command = judged
        self._operator(t)
        info = self.controller.command
        self._distance = info.axis_distance if self._axes else info.distance
        if self.detour is not None:
            self._distance = self._distance if info.push > 0.0 and not self.detour.follower.active else math.inf
            if self.detour.text and not self.command.status.stops:
                why = self.command.reason
                self.command.reason = f"{self.detour.text}; {why}" if why else self.detour.text
        self.plant.write(self.command)
        return self.command

    def _around(self, detour: Detour, t: float, dt: float, goal: Goal) -> Goal:
        """The goal on a route, where there is one; else the task's own."""
        task, guard = self.task, self.guard if self.scene.supervision == "stop" else None
        seen = self.obstacles if guard is None else guard.watch.predicted
        aiming: Aiming | None = task if hasattr(task, "rejoin") else None  # type: ignore[assignment]  # isinstance is slow
        aim, work = (None, None) if aiming is None else (aiming.aim, aiming.work)
        turned = goal.rotation if self.controller.config.task == "pose" else None
        held = guard is not None and guard.latched is not None
        slowed = self.command.status is Status.SLOWING_HUMAN
        found = detour.step(
            *(t, dt, self.state.q, self.tool, aim, seen), work=work, rotation=turned, held=held, slowed=slowed
        )
        if detour.ended and aiming is not None:
            aiming.rejoin(self.tool)
        return goal if found is None else found

    def plan_in_background(self) -> None:
        """From now on a process of its own plans, for a loop in real time; a no-op without planning."""
        if self.detour is not None and isinstance(self.detour.planner, Inline):
            self.detour.planner = Background(self.controller, self.detour.rules, fixed_shapes(self.controller))

    def close(self) -> None:
        """Ends the planner's process, if there is one; also when nobody has the cell any more."""
        if self.detour is not None and isinstance(self.detour.planner, Background):
            self.detour.close()
            self.detour.planner = Inline(self.controller, self.detour.rules, fixed_shapes(self.controller))

    def _taken(self, t: float, stamp: float) -> float:
        """When the plant took the state that it has just given, on the clock of the run: a plant has one of its own."""
        linked = self._linked
        if stamp == self._stamp:  # the same state again has the same time, to the last bit
            return self._stamped
        if linked is not None and linked.lockstep and linked.connections != self._connections:
            self._clock, self._connections = math.nan, linked.connections  # started again, it counts from 0
        if math.isnan(self._clock):
            self._clock = t - (stamp if linked is None or linked.lockstep else linked.clock())
        at = stamp + self._clock
        if linked is not None and t < at and (at <= t + self.period or stamp <= linked.clock()):
            at = t  # taken after the step was due, which begins late
        self._stamp = stamp
        self._stamped = t if abs(at - t) < ROUNDING else at  # the plant counts the same steps, but rounds on its own
        return self._stamped

    def advance(self, t: float, dt: float) -> None:
        """dt (s) pass after the step at t, with people where they will be at its end."""
        self._place(t + dt)
        self.plant.advance(dt, self.people_rows if len(self.people_rows) else None)

    def _measure(self, t: float) -> None:
        """Tool and true distances at the state that was read; as they were where that has no numbers."""
        q, qd = self.state.q, self.state.qd
        try:
            self.tool[:] = self.arm.pose(q)[:3, 3]
        except ValueError:  # the supervisor stops for it
            self._place(t)
            return
        self.tool_velocity[:] = self.arm.jacobian(q)[0] @ qd
        self._place(t)
        try:
            self.near, moving = self._near.of(q, self.people_rows)
        except ValueError as error:
            raise self._without_place(t) or error from error
        if self._touch is not self._near:  # the controller keeps another shape clear than the one that touches
            _, moving = self._touch.of(q, self.people_rows)
        self.clearance = moving
        if self._told is not None:
            self._told.distance_known(moving.surfaces)

    def distance_believed(self) -> float:
        """Least distance (m) of surfaces to people as the supervisor believes them: as last seen, grown by their age.

        NaN without a supervisor; infinite where nobody is believed to be.
        """
        if self.guard is None:
            return math.nan
        rows = self.guard.watch.believed
        return self._near.of(self.state.q, rows[rows[:, 0] < FAR])[0].surfaces

    def _without_place(self, t: float) -> ConfigError | None:
        """What to say where somebody's actual rows are no numbers; None where they all are."""
        for name, place in zip(self._names, self._places, strict=True):
            if not np.isfinite(place).all():
                return ConfigError(f"people.{name}: look: expected rows of finite numbers; got NaN at {t:g} s")
        return None

    def _place(self, t: float) -> None:
        """People where they are at t."""
        for k, (place, who) in enumerate(zip(self._places, self.people, strict=True)):
            self._stamps[k] = stamp = who.actual.look(t, place)
            if stamp is None:
                place[:] = PARKED

    def _look(self, t: float) -> None:
        """What the sensor shows at t."""
        oldest = t
        for k, (rows, who) in enumerate(zip(self._sensed, self.people, strict=True)):
            if who.sensed is who.actual:  # seen as they are, and just placed
                rows, stamp = self._places[k], self._stamps[k]
            else:
                stamp = who.sensed.look(t, rows)
            if stamp is None:
                self.obstacles.nobody(t, k)
            else:
                oldest = min(oldest, stamp)
                if stamp > -math.inf and rows[0, 0] == PARKED[0]:  # nobody, as of then
                    self.obstacles.nobody(stamp, k)
                elif stamp > -math.inf:  # else nothing was ever measured, and nothing is shown
                    self.obstacles.see(rows, stamp, k)
                    self.obstacles.names[k] = who.sensed.names
        self.age = t - oldest

    def _operator(self, t: float) -> None:
        """Resets a stop when it has lasted, as an operator beside the cell would: the supervisor's and the plant's."""
        guard, linked, after = self.guard, self._linked, self.scene.reset_after
        held = linked is not None and bool(linked.held)
        if not held and (guard is None or guard.latched is None):
            self._stopped = math.nan
        elif math.isnan(self._stopped):
            self._stopped = t
        elif after and t - self._stopped >= after:
            self._stopped = t
            there = linked is None or linked.connected
            if there and (guard is None or guard.reset(t)):
                self.resets += 1
                if linked is not None and held:
                    linked.unlatch()


class _Echo:
    """A controller that has already stepped, to a supervisor that watches it: says again what it said."""

    def __init__(self, controller: Controller) -> None:
        self.arm, self._controller = controller.arm, controller

    def __getattr__(self, name: str) -> Any:
        if name == "reset":  # the supervisor's reset must not reach the arm
            raise AttributeError(name)
        return getattr(self._controller, name)

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Command:
        """The last command again."""
        return self._controller.command


def run(
    cell: Cell,
    recording: Recording | None = None,
    *,
    pace: Pace | None = None,
    cycles: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    ended: Callable[[], object] | None = None,
) -> Recording:
    """Runs a cell from its beginning for `cycles` control steps (the scene's own if None) and returns the recording.

    What has been recorded is in the recording at any time, also if this is interrupted: then the recording is closed,
    with its file complete up to the last step, and the interrupt goes on.  `progress` is called with the steps done and
    their number; `ended` at once after the last step, however that came to be, before anything waits for the disk.

    Where a pace skips deadlines, the plant goes on with its last command for that long, as a drive would, but for a
    second at most.
    """
    kept = Recording(cell.arm.n) if recording is None else recording
    try:
        count = cell.scene.cycles if cycles is None else cycles
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ConfigError(f"cycles: expected a whole number above 0; got {count!r}")
        chosen = AsFastAsPossible(cell.period) if pace is None else pace
        period = cell.period
        paced = getattr(chosen, "period", period)  # a pace of one's own need not have one
        if paced != period:
            raise ConfigError(f"pace: expected the cell's period, {period:g} s; got {paced:g} s")
        log = Log(cell, kept)
        if isinstance(chosen, RealTime):
            cell.plan_in_background()
        cell.reset()
        with chosen, ExitStack() as last:
            if ended is not None:
                last.callback(ended)
            t = chosen.wait(0)
            for k in range(count):
                if k:
                    due = t + period
                    t = chosen.wait(k)
                    if t - due > 0.5 * period:
                        cell.advance(due, min(t - due, LONGEST))
                cell.step(t)
                log.add(t)
                cell.advance(t, period)
                if progress is not None:
                    progress(k + 1, count)
    finally:
        kept.close()
        cell.close()
    return kept
