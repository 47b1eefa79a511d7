"""Many encounters at once: closed loops in SIMD lanes, a block of them in one schedule (compile/schedules/lanes.py).

    tracks = run_together(scenes, factory, frames)      # a RunTrack a scene, as `run` has them

A step of the schedule, for all lanes of the block:

    the newest frame that has arrived     a row of the run's own table
    the arm's cycle                       avoidance/safety/lanes.py, or avoidance/control/lanes.py
    the plant                             q + PERIOD qd, held at the joints' limits
    the task                              the next goal where the tool has reached its own
    the track                             q and the commanded speeds, in the run's own arrays

The same numbers as `run` for each scene alone, to the bit, stops and resets included.  Every lane has its own time: a
run that ends gives its lane to the next.  Where a lane does not know how to go on, as before a person's first frame,
the arm itself goes on with that run alone, until its cycles are ordinary.  For laws of the package, supervised or not;
times of single steps are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import maximum, minimum, where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...avoidance import Controller, Goal, Supervisor
from ...avoidance.control.lanes import ATTEND, CYCLE, STOPPED, AloneArm, ArmLanes, ControllerLanes, Names
from ...avoidance.safety.lanes import SupervisorLanes
from ...compile import compiled
from ...compile.pipeline import Call, Copy
from ...compile.recycled import piece
from ...compile.schedules.lanes import LaneSchedule
from ...compile.schedules.steps import Around, Gather, Halt, Label, LaneStep, LaneTables, Scatter, Unfused
from ...errors import ConfigError
from ...geometry.person import NAMES
from . import people as people_
from .methods import Factory
from .run import RESET_AFTER, RunTrack, reached
from .scene import CAPSULES, PERIOD, REACHED, EncounterScene, Place, SensorFrames

Array = NDArray[Any]
FOR_EVER = 1e30  # s: an infinity is what compiled code refuses
TURNS = 2000  # control steps before Python looks whether anybody wants to interrupt
LOOK = "look"  # a label


def _moved(_: None, q: Scalars, asked: Scalars, bounds: Scalars) -> dict[str, Scalars]:
    """The plant: joints that follow the command exactly; bounds are the joints' limits and the period."""
    lower, upper, period = bounds[: len(q)], bounds[len(q) : -1], bounds[-1]
    ahead = [minimum(maximum(x + period * v, low), up) for x, v, low, up in zip(q, asked, lower, upper, strict=True)]
    speeds = [(x - old) / period for x, old in zip(ahead, q, strict=True)]
    return {"ahead": vector(*ahead), "speed": vector(*speeds)}


def _tasked(_: None, pose: Scalars, goal: Scalars, now: Scalars, task: Scalars) -> dict[str, Scalars]:
    """The task: TASK and the time of the next step."""
    k, steps, done, place, goals, period = task
    off = [pose[i][3] - goal[i] for i in range(3)]
    there = off[0] * off[0] + off[1] * off[1] + off[2] * off[2] < REACHED**2
    place = where(there, where(place + 1.0 >= goals, 0.0, place + 1.0), place)
    t = (k + 1.0) * period
    return {
        "later": vector(t, t, where(there, now[0], now[2]), now[3]),
        "new_task": vector(k + 1.0, steps, where(there, done + 1.0, done), place, goals, period),
        "finished": vector(where(k + 1.0 >= steps, 1.0, 0.0)),
    }


TASK = ("k", "steps", "done", "place", "goals", "period")
STOPS = (
    "count",
    "reset_at",
    "before",
)  # latched so far; when the last one ends (s), whether it was on before this step


def _patience(_: None, now: Scalars, latch: Scalars, stops: Scalars) -> dict[str, Scalars]:
    """Before a step: whether a stop has lasted long enough, and STOPS."""
    count, reset_at, _ = stops
    stopped = latch[STOPPED] > 0.0
    return {
        "reset": vector(where(stopped & (now[0] >= reset_at), 1.0, 0.0)),
        "seen": vector(count, reset_at, where(stopped, 1.0, 0.0)),
    }


def _stopped(_: None, now: Scalars, latch: Scalars, stops: Scalars) -> dict[str, Scalars]:
    """After it: STOPS."""
    count, reset_at, before = stops
    new = (latch[STOPPED] > 0.0) & (before <= 0.0)
    return {"new_stops": vector(where(new, count + 1.0, count), where(new, now[0] + RESET_AFTER, reset_at), before)}


def _lanes(make: Callable[[], Any], names: Names, single: bool) -> ArmLanes[Any]:
    """Lanes for a method: our laws, supervised or not."""
    made = [make()]

    def another() -> Any:
        return made.pop() if made else make()

    if isinstance(made[0], Supervisor):
        return SupervisorLanes(another, names, single=single)
    if type(made[0]) is Controller:
        return ControllerLanes(another, names)
    raise ConfigError(f"only laws of this package, supervised or alone, run together; got {made[0]!r:.60}")


@dataclass
class Run:
    """A run on its way: where it is, and what was recorded."""

    number: int
    scene: EncounterScene
    frames: SensorFrames | None  # None where they were copied
    newest: Array  # (T,) number of the newest frame that has arrived, -1 for none
    q: Array  # (T + 1, n)
    asked: Array  # (T, n)
    speed: Array  # (n,) of the joints now
    gains: Array | None = None  # the law's numbers, where they are not those of the others
    k: int = 0
    done: int = 0
    goal_time: float = 0.0
    stops: int = 0
    latched: bool = False
    reset_at: float = 0.0

    @property
    def over(self) -> bool:
        """Whether all its steps were made."""
        return self.k >= len(self.asked)


Encounter = tuple[EncounterScene, SensorFrames] | tuple[EncounterScene, SensorFrames, Array | None]
"""A scene, what its sensor shows, and numbers of the law that are the run's own."""


class Finished(NamedTuple):
    """A run that has ended; its number among those that were given."""

    number: int
    scene: EncounterScene
    track: RunTrack


class ClosedLoop:
    """A step of encounters of one arm and so many people under one law, as steps of a schedule.

    With the arrays that it works on, and the tables of each run: what it is shown, and its track.
    """

    def __init__(
        self, factory: Factory, where: Place, people: int, sensor: str = "camera", dtype: Any = np.float64
    ) -> None:
        self.where, self.people, self.dtype = where, people, np.dtype(dtype)
        arm = where.arm

        self.arms = arms = _lanes(lambda: factory(arm, people, sensor), [NAMES] * people, self.dtype == np.float32)
        self.pose, self._goal = arm.compile("pose"), Goal(np.zeros(3)).packed.copy()
        self.takes = takes = arms.takes
        self.task, self._at, self.stops = np.zeros(len(TASK)), np.zeros(1), np.zeros(len(STOPS))
        watched = {"now": takes.now, "latch": arms.latch, "stops": self.stops}
        seen, new_stops = np.zeros_like(self.stops), np.zeros_like(self.stops)
        patience, stopped = (
            compiled(each, None, {name: x.shape for name, x in watched.items()}, name=each.__name__.strip("_"))
            for each in (_patience, _stopped)
        )
        self.given = takes.now, takes.q, takes.qd, takes.goal, self.task, self.stops
        self.wanted = np.zeros(1)
        n, k, finished = arm.n, self.task[:1], np.zeros(1)
        bounds = np.array([*arm.model.lower, *arm.model.upper, PERIOD])
        tool, ahead, speed = np.zeros((4, 4)), np.zeros(n), np.zeros(n)
        later, new_task = np.zeros_like(takes.now), np.zeros_like(self.task)
        skeleton = people_.skeleton(float(where.base[2]))
        points = np.zeros((people, len(skeleton.points), 3))
        velocities, rows = np.zeros_like(points), takes.rows.reshape(people, CAPSULES, -1)
        moved = compiled(_moved, None, {"q": (n,), "asked": (n,), "bounds": bounds.shape}, name="moved")
        given = {"pose": tool, "goal": takes.goal, "now": takes.now, "task": self.task}
        tasked = compiled(_tasked, None, {name: x.shape for name, x in given.items()}, name="tasked")
        self.tables = {
            "newest": LaneTables(1, together=True),
            "points": LaneTables(points.size),
            "velocities": LaneTables(points.size),
            "stamps": LaneTables(people),
            "goals": LaneTables(3),
            "q": LaneTables(n, together=True),
            "asked": LaneTables(n, together=True),
        }
        of = self.tables
        self.finished, self.early = Halt(finished), Halt(self.wanted)
        self.steps: list[LaneStep] = [
            Label(LOOK),
            Gather(of["newest"], k, self._at),
            Gather(of["points"], self._at, points),
            Gather(of["velocities"], self._at, velocities),
            *(Call(skeleton.kernel, (points[k], velocities[k]), rows[k], checked=()) for k in range(people)),
            Gather(of["stamps"], self._at, takes.stamps),
            Unfused(patience, tuple(watched.values()), (arms.reset, seen), checked=()),
            Copy(seen, self.stops),
            *arms.steps,
            Unfused(stopped, tuple(watched.values()), new_stops, checked=()),
            Copy(new_stops, self.stops),
            Scatter(arms.command, k, of["asked"]),
            Unfused(moved, (takes.q, arms.command, bounds), (ahead, speed), checked=()),
            Call(self.pose, (ahead,), tool, checked=()),
            Unfused(tasked, tuple(given.values()), (later, new_task, finished), checked=()),
            Copy(ahead, takes.q),
            Copy(speed, takes.qd),
            Copy(later, takes.now),
            Copy(new_task, self.task),
            Gather(of["goals"], self.task[3:4], takes.goal[:3]),
            Scatter(takes.q, k, of["q"]),
            self.finished,
            self.early,
            Around(TURNS),
        ]

    def new(self, number: int, scene: EncounterScene, frames: SensorFrames, gains: Array | None = None) -> Run:
        """A run before its first step; with numbers of the law (`Controller`'s gains) of its own if they are given."""
        if (scene.place, scene.people) != (self.where, self.people):
            raise ConfigError("scenes that run together must have one arm and as many people")
        if frames.points is None:
            raise ConfigError("scenes that run together must have people in them; got frames of something else")
        steps, arm = len(scene.times) - 1, self.where.arm
        newest = np.searchsorted(frames.arrivals, scene.times[:-1] + 1e-9, side="right") - 1
        q, asked = (piece((rows, arm.n), self.dtype) for rows in (steps + 1, steps))
        q[0] = arm.ready if scene.start is None else scene.start
        return Run(number, scene, frames, newest, q, asked, np.zeros(arm.n), gains)

    def shown(self, run: Run) -> dict[str, Array]:
        """A run's tables by name, but for its track's."""
        frames = run.frames
        assert frames is not None  # as it was made
        assert frames.points is not None  # new looks
        points = frames.points
        stamps = np.repeat(frames.stamps[:, None], self.people, axis=1)
        tables = {"newest": run.newest[:, None], "stamps": stamps, "goals": run.scene.goals}
        return tables | {"points": points.at, "velocities": points.velocities}

    def values(self, run: Run) -> list[tuple[Array, Any]]:
        """The arrays that a run has numbers of its own in, with these."""
        t, goals = run.k * PERIOD, len(run.scene.goals)
        self._goal[:3] = run.scene.goals[run.done % goals]
        task = run.k, len(run.asked), run.done, run.done % goals, goals, PERIOD
        stops = run.stops, run.reset_at, float(run.latched)
        now = t, t, run.goal_time, FOR_EVER
        own = now, run.q[run.k], run.speed, self._goal.copy(), task, stops
        return list(zip(self.given, own, strict=True))

    def track(self, run: Run) -> RunTrack:
        """What the arm did in a run that has ended."""
        unknown = np.full(len(run.asked), np.nan)
        q, asked = (x.astype(np.float64, copy=False) for x in (run.q, run.asked))
        return RunTrack(q, asked, run.done, run.stops, unknown)


class Together:
    """A law for any number of encounters of one arm and so many people, a block of them at a time."""

    def __init__(
        self, factory: Factory, where: Place, people: int, sensor: str = "camera", dtype: Any = np.float64
    ) -> None:
        self.loop = loop = ClosedLoop(factory, where, people, sensor, dtype)
        self.where, self._arms = where, loop.arms
        self._schedule = schedule = LaneSchedule(loop.steps, loop.arms.active, loop.dtype)
        loop.arms.bind(schedule)
        self._given, self._wanted = [schedule[x] for x in loop.given], schedule[loop.wanted]
        self.lanes = schedule.lanes

    def run(self, scenes: Sequence[EncounterScene], frames: Sequence[SensorFrames]) -> list[RunTrack]:
        """Each encounter."""
        found = {number: track for number, _, track in self.stream(zip(scenes, frames, strict=True))}
        return [found[number] for number in range(len(scenes))]

    def stream(self, runs: Iterable[Encounter]) -> Iterator[Finished]:
        """Each encounter as it ends; another is taken of `runs` when there is a lane for it."""
        waiting: Iterator[tuple[int, Encounter]] | None = enumerate(runs)
        found, ready = list[Finished](), list[tuple[Run, AloneArm]]()  # ready: whose next cycle is ordinary
        lanes, label = dict[int, Run](), LOOK
        try:
            while waiting or ready or lanes:
                while label == LOOK and (waiting or ready) and len(lanes) < self.lanes:
                    if ready:
                        self._join(lanes, *ready.pop())
                    elif waiting and (following := next(waiting, None)):
                        run = self.loop.new(following[0], *following[1])
                        if run.over or run.newest[0] < 0:  # nobody was seen yet
                            self._go_on(run, self._arms.born(run.gains), ready, found)
                        else:
                            self._join(lanes, run, None)
                    else:
                        waiting = None
                if lanes:
                    label = self._run_lanes(label, lanes, ready, found)
                yield from found
                found.clear()
        finally:
            self._arms.free(*lanes)
            for _, alone in ready:
                self._arms.release(alone)

    def _run_lanes(
        self, label: str, lanes: dict[int, Run], ready: list[tuple[Run, AloneArm]], found: list[Finished]
    ) -> str:
        """Runs the block until something ends it, and sees to that; where it goes on."""
        self._wanted[:] = 1.0 if ready else 0.0  # whoever is ready joins before the next step
        step, ended = self._schedule.run(label)
        if step is self.loop.finished:
            for lane in ended:
                run = lanes.pop(lane)
                self._read(lane, run)
                self._done(run, found)
            self._arms.free(*ended)
        elif step is not self.loop.early and not isinstance(step, Around):
            for lane in ended:
                run = lanes.pop(lane)
                alone, label = self._arms.leave(lane, step)
                self._read(lane, run)
                self._show(run, alone)
                if label != CYCLE:  # the cycle was made, but for its end
                    self._obey(run, alone, alone.attended(run.k * PERIOD, correct=label == ATTEND))
                self._go_on(run, alone, ready, found, made=label != CYCLE)
            return label if lanes else LOOK
        return LOOK

    def _done(self, run: Run, found: list[Finished]) -> None:
        found.append(Finished(run.number, run.scene, self.loop.track(run)))

    # ---- in a lane
    def _join(self, lanes: dict[int, Run], run: Run, alone: AloneArm | None) -> None:
        """A run's numbers into a lane that is free; without one its first cycle is still to come."""
        lane = next(k for k in range(self.lanes) if k not in lanes)
        lanes[lane] = run
        schedule, loop = self._schedule, self.loop
        for name, table in {**loop.shown(run), "q": run.q, "asked": run.asked}.items():
            schedule.assign(loop.tables[name], lane, _contiguous(table, loop.dtype))
        if alone is None:
            self._arms.begin(lane, run.q[0], run.k * PERIOD, PERIOD, run.gains)
        else:
            self._arms.join(lane, alone)
        for columns, (_, numbers) in zip(self._given, loop.values(run), strict=True):
            columns[:, lane] = numbers

    def _read(self, lane: int, run: Run) -> None:
        """Where the run of a lane is now."""
        now, _, qd, _, task, stops = (columns[:, lane] for columns in self._given)
        run.k, run.done = (int(task[TASK.index(name)]) for name in ("k", "done"))
        run.goal_time, run.speed = float(now[2]), qd.astype(float)
        run.stops, run.reset_at, run.latched = int(stops[0]), float(stops[1]), bool(stops[2])

    # ---- alone
    def _go_on(
        self, run: Run, alone: AloneArm, ready: list[tuple[Run, AloneArm]], found: list[Finished], *, made: bool = False
    ) -> None:
        """A run alone until its next cycle is ordinary, as it may be after one that was just made; or to its end."""
        while not run.over and not (made and alone.ordinary):
            made = True
            t = run.k * PERIOD
            self._show(run, alone)
            if run.latched and t >= run.reset_at:
                alone.end_stop(t)
            self._obey(run, alone, alone.step(t, PERIOD))
        if run.over:
            self._arms.release(alone)
            self._done(run, found)
        else:
            ready.append((run, alone))

    def _show(self, run: Run, alone: AloneArm) -> None:
        """What the arm is given for a step."""
        state, goal, obstacles, goals = alone.state, alone.goal, alone.obstacles, run.scene.goals
        state.q[:], state.qd[:], state.t = run.q[run.k], run.speed, run.k * PERIOD
        newest = run.newest[run.k]
        if newest >= 0 and run.frames is not None:
            obstacles.rows[:] = run.frames.row(newest).reshape(obstacles.rows.shape)
            obstacles.stamps[:], obstacles.names[:] = run.frames.stamps[newest], alone.names
        goal.position, goal.t = goals[run.done % len(goals)], run.goal_time

    def _obey(self, run: Run, alone: AloneArm, command: Array) -> None:
        """A stop, the plant and the task, as `run` has them."""
        t, k, model = run.k * PERIOD, run.k, self.where.arm.model
        if not alone.latched:
            run.latched = False
        elif not run.latched:
            run.latched, run.stops, run.reset_at = True, run.stops + 1, t + RESET_AFTER
        run.asked[k] = command
        run.q[k + 1] = np.clip(run.q[k] + PERIOD * run.asked[k], model.lower, model.upper)
        run.speed = (run.q[k + 1] - run.q[k]).astype(float) / PERIOD
        if reached(self.loop.pose(run.q[k + 1])[:3, 3], run.scene.goals[run.done % len(run.scene.goals)]):
            run.done, run.goal_time = run.done + 1, t
        run.k += 1


def _contiguous(table: Array, dtype: np.dtype[Any]) -> Array:
    """The same numbers as a lane has them."""
    if table.dtype == dtype and table.flags.c_contiguous:
        return table
    found = piece(table.shape, dtype)
    np.copyto(found, table, casting="same_kind")
    return found


def run_together(
    scenes: Sequence[EncounterScene],
    factory: Factory,
    frames: Sequence[SensorFrames],
    sensor: str = "camera",
    dtype: Any = np.float64,
) -> list[RunTrack]:
    """Each encounter with this method; all scenes have the same arm and people."""
    return Together(factory, scenes[0].place, scenes[0].people, sensor, dtype).run(scenes, frames)
