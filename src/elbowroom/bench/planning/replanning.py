"""The benchmark: how soon a way around a walking person is there, and whether control steps are later for it.

Two standard cells, one with planning and one without, run in real time beside the same person, who walks across the
work and back; planning goes around people who move, as by default.  They take turns of `TURN` seconds, each
from where it stopped, so that a slow second of a shared machine meets both; which begins changes from run to run.  The
planner is a process of its own, as in use.  A turn with planning lasts until the last request is answered: no planner
works while the other cell runs.

answer    from a request in one control step to the step that has the answer, which is looked for once in a period; and
          the same of answers with a route
planning  what the planner says of itself: searches, shortcuts and timing, on the clock
CPU       the process' own time for the request: with no other work on the machine nearly all of the answer's time
step      of a control step: from its beginning until the command is written
own       CPU time of the step
late      from a step's deadline to its beginning
over      steps whose command was written after the next deadline, and deadlines that passed without a step

Steps with planning are counted once more by themselves where a request was not answered yet: the planner was at work.
The first `WARM` steps of a turn, which find another's data in the caches, are not counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...avoidance.planning.background import Answering, Background
from ...avoidance.planning.decision import Answer, Choice, Request
from ...avoidance.planning.settings import Planning
from ...cell.layout import STANDARD
from ...cell.pace import Pace, RealTime, collector
from ...cell.people.settings import WalkSettings
from ...cell.runner import LONGEST, Cell
from ...cell.scene import Scene
from ...errors import ElbowroomError
from ..encounters.run import Interval
from ..timing import Progress, cpu_name, load_average, silent

Array = NDArray[np.float64]

ROBOTS = ("panda",)
RUNS = 10
DURATION = 30.0  # s of a run, with planning and without each
TURN = 1.0  # s
WARM = 5  # steps
STARTING = 120.0  # s that the planner's process has to be ready: it may have to compile
CHOICES = {
    Choice.AROUND: "around",
    Choice.WAIT: "wait",
    Choice.NO_WAY: "no way",
    Choice.REACHABLE: "somebody moves",
    Choice.FAILED: "failed",
}
UNANSWERED = "unanswered"
WITH, AT_WORK, WITHOUT = "with", "at work", "without"
DRAWS, LEVEL = 1000, 0.95  # of the bootstrap


@dataclass(frozen=True)
class RequestResult:
    """One request; the times (s) are None where no answer came."""

    seed: int
    t: float  # s, of the run
    outcome: str  # of CHOICES, or UNANSWERED
    seconds: float | None  # until the answer was there
    planning: float | None
    cpu: float | None  # None where the system does not tell


@dataclass(frozen=True)
class TimeSpread:
    """Median, the times that 95 % and 99 % kept within, and the longest, s."""

    median: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True)
class RequestRow:
    """The requests of one arm; the module's docstring has the definitions."""

    robot: str
    requests: int
    outcomes: dict[str, int]
    replans: int  # routes that people blocked, given up and asked for anew
    dropped: int  # answers that were not taken
    routes: TimeSpread | None  # answer, of those with a route
    answers: TimeSpread | None
    planning: TimeSpread | None
    cpu: TimeSpread | None


@dataclass(frozen=True)
class StepRow:
    """The control steps of one arm with planning, of these while the planner was at work, or without."""

    robot: str
    planning: str  # WITH, AT_WORK or WITHOUT
    steps: int
    own: TimeSpread
    step: TimeSpread
    late: TimeSpread
    over: int


@dataclass(frozen=True)
class LaterRow:
    """All steps with planning less those without, s: differences of medians and of 99 % quantiles over all steps.

    The bounds are a bootstrap's at 95 %, whose unit is a pair of turns.
    """

    robot: str
    own_median: Interval
    own_p99: Interval
    step_median: Interval
    step_p99: Interval
    late_median: Interval
    late_p99: Interval
    contacts: int  # with planning
    contacts_without: int


@dataclass(frozen=True)
class ReplanningReport:
    """All rows, all requests, and under what conditions."""

    requests: list[RequestRow]
    steps: list[StepRow]
    later: list[LaterRow]
    results: dict[str, list[RequestResult]]  # by robot
    runs: int
    seed: int
    duration: float
    period: float
    notes: list[str]
    cpu: str
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    load: float | None = field(default_factory=load_average)


# ---- the scene


def walker(seed: int) -> WalkSettings:
    """A person who walks across the work, at tool's reach, to its other side and back, over and over."""
    rng = np.random.default_rng(seed)
    side = float(rng.choice((-1.0, 1.0)))
    (x, turned), (near, far) = rng.uniform((0.3, -0.1), (0.6, 0.1)), rng.uniform(0.5, 0.9, 2)
    return WalkSettings(
        start=(float(x), side * float(near)),
        end=(float(x + turned), -side * float(far)),
        speed=float(rng.uniform(0.2, 0.8)),
        pause=float(rng.uniform(0.3, 2.0)),
        acceleration=1.0,
        shape="standing",
    )


def scene_of(robot: str, seed: int, planning: Planning | None) -> Scene:
    """The standard cell with that person."""
    scene = Scene.load(STANDARD, robot=robot)
    controller = dataclasses.replace(scene.controller, planning=planning)
    return dataclasses.replace(scene, people={"coworker": walker(seed)}, controller=controller)


# ---- measuring


def process_time(pid: int) -> float | None:
    """CPU time (s) that another process has had; None where the system does not tell."""
    if not hasattr(time, "clock_gettime"):
        return None
    try:
        return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid(3) gives on Linux
    except (OSError, OverflowError):
        return None


class RequestTimer:
    """A planner whose requests are timed; to a `Detour` it is the planner."""

    def __init__(self, planner: Answering, seed: int = 0) -> None:
        self.planner, self.results = planner, list[RequestResult]()
        self._seed = seed
        self._asked: tuple[Request, float, float | None] | None = None

    @property
    def problem(self) -> str:
        """The planner's."""
        return self.planner.problem

    @property
    def pending(self) -> bool:
        """Whether an answer may still come."""
        return self._asked is not None and not self.planner.problem

    def ask(self, request: Request) -> bool:
        """Asks the planner; a request that another one replaces is never answered."""
        before, begin = self._cpu(), time.perf_counter()
        taken = self.planner.ask(request)
        if taken:
            self.give_up()
            self._asked = request, begin, before
        return taken

    def poll(self, t: float) -> Answer | None:
        """The planner's answer."""
        answer = self.planner.poll(t)
        if answer is not None and self._asked is not None and answer.number == self._asked[0].number:
            request, begin, before = self._asked
            now, after = time.perf_counter(), self._cpu()
            cpu = None if before is None or after is None else after - before
            found = RequestResult(self._seed, request.t, CHOICES[answer.choice], now - begin, answer.seconds, cpu)
            self.results.append(found)
            self._asked = None
        return answer

    def give_up(self) -> None:
        """The last request counts as unanswered, unless it was answered."""
        if self._asked is not None:
            self.results.append(RequestResult(self._seed, self._asked[0].t, UNANSWERED, None, None, None))
            self._asked = None

    def close(self) -> None:
        """Ends the planner."""
        self.planner.close()

    def _cpu(self) -> float | None:
        pid = self.planner.pid if isinstance(self.planner, Background) else None
        return None if pid is None else process_time(pid)


class TimedCell:
    """A cell that runs in turns, every control step of which is timed.

    turns    for each turn (steps, 5): CPU time of the step, how long it took, how late it began (s); how many deadlines
             it cost, its own and those skipped before it; 1 if it began with a request that was not answered
    """

    def __init__(self, cell: Cell, timer: RequestTimer | None = None) -> None:
        self.cell, self.timer = cell, timer
        self.turns = list[Array]()
        self.periods = 0  # of the run so far, those without a step too
        if timer is not None and cell.detour is not None:
            cell.detour.planner = timer
        cell.reset()

    def turn(self, pace: Pace, steps: int, more: int = 0) -> None:
        """So many steps, and up to so many more while a request is not answered."""
        cell, period, begin, k = self.cell, self.cell.period, self.periods, 0
        taken = np.empty((steps + more, 5))
        with pace:
            pace.wait(0)
            first = start = time.perf_counter()
            skipped = 0
            while True:
                t, due = self.periods * period, first + (self.periods - begin) * period
                pending = self.timer is not None and self.timer.pending
                before = time.thread_time()
                cell.step(t)
                own, end = time.thread_time() - before, time.perf_counter()
                taken[k] = own, end - start, start - due, skipped + (end - due > period), pending
                cell.advance(t, period)
                k += 1
                self.periods += 1
                if k >= steps and not (k < len(taken) and self.timer is not None and self.timer.pending):
                    break
                waited = pace.wait(k)
                start = time.perf_counter()
                skipped = begin + round(waited / period) - self.periods
                if skipped:  # the plant went on with its last command
                    cell.advance(self.periods * period, min(skipped * period, LONGEST))
                    self.periods += skipped
        if self.timer is not None:
            self.timer.give_up()
        self.turns.append(taken[WARM:k])


@dataclass(frozen=True)
class RunResult:
    """One run: both cells after their last turn, and what was asked."""

    planned: TimedCell
    plain: TimedCell
    requests: list[RequestResult]


def one_run(
    robot: str,
    seed: int,
    *,
    duration: float = DURATION,
    pace: Callable[[float], Pace] = RealTime,
    background: bool = True,
    progress: Progress = silent,
) -> RunResult:
    """Both cells beside the person of this seed.  Without `background` the planner answers in the control loop."""
    rules = Planning()
    cell, plain = Cell(scene_of(robot, seed, rules)), TimedCell(Cell(scene_of(robot, seed, None)))
    assert cell.detour is not None
    if background:
        cell.plan_in_background()
    timer = RequestTimer(cell.detour.planner, seed)
    with contextlib.closing(timer):
        if isinstance(timer.planner, Background) and not timer.planner.wait(STARTING):
            raise ElbowroomError(f"the planner's process was not ready after {STARTING:g} s: {timer.problem or 'slow'}")
        planned = TimedCell(cell, timer)
        size = round(TURN / cell.period)
        turns = max(1, round(duration / TURN))
        with collector:  # once, and not in every turn
            for count in range(turns):
                progress(f"turn {count + 1} of {turns}")
                order = (planned, plain) if (seed + count) % 2 == 0 else (plain, planned)
                for each in order:
                    each.turn(pace(cell.period), size, round(rules.latest / cell.period) if each is planned else 0)
    return RunResult(planned, plain, timer.results)


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    progress: Progress = silent,
    runs: int = RUNS,
    seed: int = 0,
    duration: float = DURATION,
    pace: Callable[[float], Pace] = RealTime,
    background: bool = True,
) -> ReplanningReport:
    """Every arm beside the people of the seeds from `seed` on."""
    requests, steps, later = list[RequestRow](), list[StepRow](), list[LaterRow]()
    results, notes, period = dict[str, list[RequestResult]](), list[str](), 0.0
    for robot in robots:
        found = list[RunResult]()
        for count in range(runs):

            def tell(text: str, where: str = f"{robot}: run {count + 1} of {runs}") -> None:
                progress(f"{where}, {text}")

            tell("the planner starts")
            found.append(
                one_run(robot, seed + count, duration=duration, pace=pace, background=background, progress=tell)
            )
        period = found[0].plain.cell.period
        results[robot] = [each for one in found for each in one.requests]
        requests.append(request_row(robot, found, results[robot]))
        steps += [row for name in (WITH, AT_WORK, WITHOUT) if (row := step_row(robot, found, name)) is not None]
        later.append(later_row(robot, found))
        if not results[robot]:
            notes.append(f"{robot}: nothing was asked for; the person of these seeds was not in its way.")
    return ReplanningReport(requests, steps, later, results, runs, seed, duration, period, notes, cpu_name())


# ---- figures


def time_spread(values: Sequence[float | None] | Array) -> TimeSpread | None:
    """Of the times that are there; None where there is none."""
    there = np.array([value for value in values if value is not None])
    if not len(there):
        return None
    quantiles = np.quantile(there, (0.95, 0.99), method="inverted_cdf")
    return TimeSpread(*map(float, (np.median(there), *quantiles, there.max())))


def request_row(robot: str, found: Sequence[RunResult], results: Sequence[RequestResult]) -> RequestRow:
    """What became of an arm's requests."""
    outcomes = {name: sum(each.outcome == name for each in results) for name in (*CHOICES.values(), UNANSWERED)}
    detours = [one.planned.cell.detour for one in found if one.planned.cell.detour is not None]
    return RequestRow(
        robot=robot,
        requests=len(results),
        outcomes=outcomes,
        replans=sum(each.replans for each in detours),
        dropped=sum(each.dropped for each in detours),
        routes=time_spread([each.seconds for each in results if each.outcome == CHOICES[Choice.AROUND]]),
        answers=time_spread([each.seconds for each in results]),
        planning=time_spread([each.planning for each in results]),
        cpu=time_spread([each.cpu for each in results]),
    )


def step_row(robot: str, found: Sequence[RunResult], planning: str) -> StepRow | None:
    """An arm's control steps; None where there are none of this kind."""
    cells = [one.plain if planning == WITHOUT else one.planned for one in found]
    taken = np.concatenate([turn for each in cells for turn in each.turns])
    if planning == AT_WORK:
        taken = taken[taken[:, 4] > 0.0]
    own, step, late = (time_spread(taken[:, column]) for column in range(3))
    if own is None or step is None or late is None:
        return None
    return StepRow(robot, planning, len(taken), own, step, late, int(taken[:, 3].sum()))


def later_row(robot: str, found: Sequence[RunResult]) -> LaterRow:
    """Both kinds of steps beside each other."""
    planned = [turn for one in found for turn in one.planned.turns]
    plain = [turn for one in found for turn in one.plain.turns]
    own, step, late = (
        [difference(planned, plain, column, part) for part in (0.5, 0.99)] for column in range(3)
    )  # median and 99 % each
    touched, touched_without = (
        sum(each.cell.plant.contacts for each in cells)
        for cells in ([one.planned for one in found], [one.plain for one in found])
    )
    return LaterRow(robot, own[0], own[1], step[0], step[1], late[0], late[1], touched, touched_without)


def difference(these: Sequence[Array], others: Sequence[Array], column: int, part: float) -> Interval:
    """Of a quantile over all steps, these less others; bounds by drawing pairs of turns."""

    def of(which: NDArray[np.int64]) -> float:
        both = [
            np.quantile(np.concatenate([turns[k][:, column] for k in which]), part, method="inverted_cdf")
            for turns in (these, others)
        ]
        return float(both[0] - both[1])

    count = len(these)
    drawn = [of(which) for which in np.random.default_rng(0).integers(count, size=(DRAWS, count))]
    low, high = np.quantile(drawn, ((1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2))
    return Interval(of(np.arange(count)), float(low), float(high))
