"""Contact felt by the momentum observer, in the standard cell on MuJoCo: how soon, how often wrongly, what it helps.

    pushes      the arm works; every `EVERY` s something pushes a point of a link, drawn along the link's capsules, in a
                random direction for `LASTS` s.  Seen in time: within `IN_TIME` of the push's beginning, by a reading.
                Feelable: |J^T F| of some joint is more than FEELABLE times its noise floor (`noise_floor`), the error
                with which readings of `IN_TIME` give a joint's torque if the model is right.  At best: those that the
                best test of these very readings would see in time more often than not (`best`).  What is felt `RESET`
                after the beginning is forgotten, as an operator's reset would have it
    alarms      the arm works for minutes and nothing touches it: each stop for contact is a false alarm
    reactions   the arm's way is blocked by a body that it does not see, as fixed as a wall and as soft as MuJoCo's
                default contact; of each reaction the force between both, as the engine has it

Every link of the plant is lighter or heavier than the arm's model by MASS_ERROR, by signs that are drawn, and its
readings of speeds and torques have white noise (not for reactions).  The observer has its default settings, which allow
for just that.  Alarms and reactions are the supervisor's own; for pushes the observer alone is asked, so that the arm
goes on working.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance import Contact, State, Status
from ..avoidance.safety.contact import SETTLES
from ..avoidance.safety.momentum_observer import MomentumObserver
from ..cell import Cell, Scene
from ..cell.layout import STANDARD
from ..cell.plants.mujoco import MuJoCo
from ..cell.runner import mounted
from ..errors import ElbowroomError
from ..geometry import Body, Capsule
from ..geometry.pairs import Clearance
from .timing import Progress, cpu_name, silent

Array = NDArray[np.float64]
PERIODS = (0.001, 0.01)  # s, of pushes
ALARM_PERIOD, FAST = 0.01, 0.001  # s, of work: `runs` times, and once
FORCE = 20.0  # N
LASTS, EVERY, SETTLED = 0.06, 0.4, 0.5  # s
IN_TIME = 0.010  # s
FEELABLE = 15.0  # standard deviations
SURE = 4.65  # standard deviations that noise alone exceeds once in 600,000 tests: ten minutes at 1 kHz
RESET = 0.3  # s after the beginning of a push: what is felt then is forgotten
ROUNDING = 1e-6  # s
MASS_ERROR = 0.1
MINUTES = 10.0
RUNS = 5  # seeds of alarms
PUSHES = 40  # of each link
CONFIDENCE = 0.95
REACTIONS = ("", "stop", "retract", "float")
AFTER = 1.0  # s after the first touch for which a reaction is looked at
RADIUS = 0.06  # m, of the body in the way
LONGEST = 10.0  # s until it is met
LOOKED, BRISK = 8.0, 0.8  # s of work, and part of the greatest speed of the tool, to find a place for it


@dataclass(frozen=True)
class PushRow:
    """Pushes of one link."""

    robot: str
    period: float  # s
    link: str
    pushes: int
    feelable: int
    feelable_in_time: int
    at_best: int  # that the best test sees in time more often than not
    in_time: int
    seen: int  # before it ended
    median: float  # s, of those that were seen
    named: int  # that link; of those that were seen
    inner: int  # a link before it, as far as its joints feel enough
    missed: float  # the strongest of those not seen in time, in noise floors; NaN if none was missed
    after: int  # felt when they had ended: as a push the other way, since the beginning was missed


@dataclass(frozen=True)
class AlarmRow:
    """Work without contact."""

    robot: str
    period: float  # s
    runs: int
    minutes: float  # of each
    cycles: int  # task cycles done
    alarms: int
    rate: float  # an hour, at most, with CONFIDENCE; alarms being independent
    closest: float  # greatest residual in thresholds
    change: float  # greatest change of it in thresholds


@dataclass(frozen=True)
class ReactionRow:
    """One reaction to a body in the way."""

    robot: str
    reaction: str
    felt: float  # s after the first touch; NaN if not at all
    speed: float  # m/s of the tool before it
    peak: float  # N
    impulse: float  # N s, in AFTER
    last: float  # N, after AFTER


@dataclass(frozen=True)
class ContactReport:
    """What was measured."""

    pushes: list[PushRow]
    alarms: list[AlarmRow]
    reactions: list[ReactionRow]
    engine: str  # MuJoCo's version
    cpu: str


def cell_scene(robot: str, period: float, contact: Contact | None) -> Scene:
    """The standard cell without people on MuJoCo."""
    scene = Scene.load(STANDARD, robot=robot, variant="alone").with_plant("mujoco")
    return dataclasses.replace(
        scene,
        controller=dataclasses.replace(scene.controller, period=period),
        limits=dataclasses.replace(scene.limits, contact=contact),
    )


def working(robot: str, period: float, seed: int, contact: Contact | None, mass_error: float = MASS_ERROR) -> Cell:
    """The cell with an arm whose links weigh otherwise than its model says, by signs of this seed."""
    scene = cell_scene(robot, period, contact)
    arm = mounted(scene)
    wrong = mass_error * np.random.default_rng(seed).choice([-1.0, 1.0], arm.n)
    return Cell(scene, plant=Noisy(arm, wrong, seed))


class Noisy(MuJoCo):
    """A plant whose readings of speeds and torques have the noise that the observer's settings state."""

    def __init__(self, arm: Arm, mass_error: Array, seed: int) -> None:
        stated, self._rng = Contact(), np.random.default_rng([seed, 1])
        turns = [arm.model.revolute(j) for j in range(arm.n)]
        self._noise = np.where(turns, stated.torque_noise, stated.force_noise)
        self._tremble = stated.speed_noise
        super().__init__(arm, 0, mass_error=mass_error, adjust=True)

    def read(self, state: State) -> None:
        """As MuJoCo's, and noise."""
        super().read(state)
        state.qd += self._tremble * self._rng.normal(size=self.arm.n)
        state.tau = None if state.tau is None else state.tau + self._noise * self._rng.normal(size=self.arm.n)


def push(plant: MuJoCo, link: int, point: Array, force: Array) -> None:
    """A force (3,) N, world axes, at a point of a link (m, its frame), until it is changed; zeros to end it."""
    data, body = plant.data, plant.model.body(plant.arm.model.link_names[link]).id
    at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
    data.xfrc_applied[body, :3] = force
    data.xfrc_applied[body, 3:] = np.cross(at - data.xipos[body], force)


def pushed(robot: str, period: float, pushes: int, seed: int) -> list[PushRow]:
    """So many pushes on each link, in turns."""
    cell = working(robot, period, seed, None)
    arm, plant = cell.arm, cell.plant
    assert isinstance(plant, MuJoCo)
    observer, rng = MomentumObserver(arm, Contact()), np.random.default_rng(seed + 1)
    found: list[list[_Push]] = [[] for _ in range(arm.n)]
    lasts, every, settled, reset = (round(x / period) for x in (LASTS, EVERY, SETTLED, RESET))
    k = 0
    for number in range(pushes * arm.n):
        link = number % arm.n
        point, force = _point(cell, link, rng), _direction(rng) * FORCE
        seen, named, strength, surest, after = math.inf, -1, 0.0, 0.0, False
        began = (k + settled) * period if number == 0 else k * period
        for step in range(-settled if number == 0 else 0, every):
            t = k * period
            cell.step(t)
            touched = observer.look(cell.state.t, cell.state.q, cell.state.qd, cell.state.tau)  # type: ignore[arg-type]  # measured
            since = t - began
            if step == reset and touched >= 0:
                after = True
                observer.forget()
            if step == 0:
                strength = felt(arm, cell.state.q, link, point, force, period)
                surest = best(arm, cell.state.q, link, point, force, period)
            if touched >= 0 and 0.0 < since <= lasts * period + ROUNDING:
                seen = min(seen, since)
                named = max(named, touched) if since - seen <= SETTLES / observer.settings.gain else named
            acts = 0 <= step < lasts
            push(plant, link, point, force if acts else np.zeros(3))
            cell.advance(t, period)
            k += 1
        found[link].append(_Push(seen, named, strength, surest, after))
    return [_push_row(robot, period, arm.model.link_names[i], i, each) for i, each in enumerate(found)]


class _Push(NamedTuple):
    seen: float  # s after its beginning
    named: int  # the link
    strength: float  # in noise floors
    surest: float  # in standard deviations of the best test
    after: bool  # still felt at RESET


def noise_floor(arm: Arm, q: Array, period: float) -> Array:
    """(n,) standard deviation of a joint's torque, N m or N, from readings of IN_TIME, at least one, of a right model.

    It is the mean of the torques measured less the change of momentum M qd over that time, both with white noise.
    """
    stated, T = Contact(), max(IN_TIME, period)
    torque = np.array([stated.torque_noise if arm.model.revolute(j) else stated.force_noise for j in range(arm.n)])
    momentum = stated.speed_noise * np.linalg.norm(arm.mass_matrix(q), axis=1)
    return np.asarray(np.sqrt(torque**2 * period / T + 2.0 * momentum**2 / T**2), dtype=float)


def felt(arm: Arm, q: Array, link: int, point: Array, force: Array, period: float) -> float:
    """What the joint that feels most of a force (3,) at a point of a link feels, |J^T F|, in noise floors."""
    torque = arm.jacobian(q, link=link, point=point).Jv.T @ force
    return float((np.abs(torque) / noise_floor(arm, q, period)).max())


def best(arm: Arm, q: Array, link: int, point: Array, force: Array, period: float) -> float:
    """How many standard deviations of noise a force (3,) is in the best test of the readings of IN_TIME.

    It is that of a push that acts from one reading on, on an arm whose masses, friction and speeds before are known,
    and where and which way the push acts.  What the drive does, a constant torque t, is known by its readings alone.
    N readings of the speeds, h apart, then show M^-1 (t + f) h k after k of them, f = J^T F, and those of torques t:

        d^2 = f^T (S + M M^T / I)^-1 f,    I = sum_k (k h)^2 / speed_noise^2,    S = torque_noise^2 / N

    A test that is wrong once in 600,000 times sees a push more often than not if d is more than SURE.
    """
    stated, n = Contact(), max(round(IN_TIME / period), 1)
    f = arm.jacobian(q, link=link, point=point).Jv.T @ force
    noise = np.array([stated.torque_noise if arm.model.revolute(j) else stated.force_noise for j in range(arm.n)])
    shown = float(np.sum((period * np.arange(1, n + 1)) ** 2)) / stated.speed_noise**2
    M = arm.mass_matrix(q)
    return float(np.sqrt(f @ np.linalg.solve(np.diag(noise**2 / n) + M @ M.T / shown, f)))


def _push_row(robot: str, period: float, name: str, link: int, found: list[_Push]) -> PushRow:
    times, strengths = np.array([each.seen for each in found]), np.array([each.strength for each in found])
    seen, in_time, feelable = np.isfinite(times), times <= IN_TIME + ROUNDING, strengths > FEELABLE
    named = [each.named for each in found if math.isfinite(each.seen)]
    return PushRow(
        robot,
        period,
        name,
        len(found),
        int(feelable.sum()),
        int((feelable & in_time).sum()),
        sum(each.surest > SURE for each in found),
        int(in_time.sum()),
        int(seen.sum()),
        float(np.median(times[seen])) if seen.any() else math.nan,
        sum(each == link for each in named),
        sum(each < link for each in named),
        math.nan if in_time.all() else float(strengths[~in_time].max()),
        sum(each.after for each in found),
    )


def _point(cell: Cell, link: int, rng: np.random.Generator) -> Array:
    """A point on the axis of one of the link's capsules, or its centre of mass where it has none (its frame)."""
    own = [each for each in cell.arm.model.capsules if each.link == link]
    if not own:
        return np.asarray(cell.arm.model.com[link], dtype=float)
    chosen, part = own[int(rng.integers(len(own)))], rng.uniform()
    return np.asarray((1.0 - part) * np.asarray(chosen.a) + part * np.asarray(chosen.b), dtype=float)


def _direction(rng: np.random.Generator) -> Array:
    way = rng.normal(size=3)
    return np.asarray(way / np.linalg.norm(way), dtype=float)


def alarms(
    robot: str, runs: int, minutes: float, seed: int, progress: Progress = silent, period: float = ALARM_PERIOD
) -> AlarmRow:
    """The arm at work, `runs` times with other signs of the error, and an operator who resets what stops it."""
    count, cycles, closest, change = 0, 0, 0.0, 0.0
    for number in range(runs):
        progress(f"{robot}: {minutes:g} minutes of work at {period:g} s, {number + 1} of {runs}")
        cell = working(robot, period, seed + number, Contact())
        guard = cell.guard
        assert guard is not None
        assert guard.contact is not None
        for k in range(round(minutes * 60.0 / period)):
            t = k * period
            cell.step(t)
            seen = guard.contact.observer
            if k:
                closest = max(closest, float(np.max(np.abs(seen.residual) / seen.threshold)))
                change = max(change, float(np.max(np.abs(seen.change) / seen.jump)))
            if guard.latched is not None:
                count += guard.reset(t)
            cell.advance(t, period)
        cycles += cell.task.cycles
    hours = runs * minutes / 60.0
    return AlarmRow(robot, period, runs, minutes, cycles, count, rate_bound(count) / hours, closest, change)


def rate_bound(count: int, confidence: float = CONFIDENCE) -> float:
    """The greatest mean of a Poisson number with which as few as `count` come as rarely as 1 - confidence."""
    low, high = 0.0, 10.0 * (count + 2)
    for _ in range(100):
        mean = 0.5 * (low + high)
        term = total = math.exp(-mean)
        for k in range(1, count + 1):
            term *= mean / k
            total += term
        low, high = (mean, high) if total > 1.0 - confidence else (low, mean)
    return high


class Blocked(MuJoCo):
    """A plant with a body in the arm's way that nobody is told of."""

    def __init__(self, arm: Arm, row: Array, mass_error: Array) -> None:
        self.row = row[None]
        super().__init__(arm, 1, mass_error=mass_error, adjust=True)

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """dt seconds pass, with the body where it is."""
        super().advance(dt, self.row)


def reacted(robot: str, reaction: str, period: float, seed: int) -> ReactionRow:
    """The arm meets a body on its way; one reaction to it, or, "", nobody who feels it."""
    scene = cell_scene(robot, period, Contact(reaction=reaction) if reaction else None)
    arm = mounted(scene)
    wrong = MASS_ERROR * np.random.default_rng(seed).choice([-1.0, 1.0], arm.n)
    plant = Blocked(arm, _in_the_way(Cell(scene, plant=MuJoCo(arm, 0, mass_error=wrong, adjust=True))), wrong)
    cell = Cell(scene, plant=plant)
    first, felt, speed, impulse, k = math.inf, math.nan, math.nan, 0.0, 0
    forces = [0.0]
    while k * period < min(LONGEST, first + AFTER):
        t = k * period
        cell.step(t)
        if cell.guard is not None and cell.guard.latched is Status.STOP_CONTACT and math.isnan(felt):
            felt = t - first
        cell.advance(t, period)
        impulse += plant.contact_impulse
        forces.append(plant.contact_force)
        if math.isinf(first) and plant.contact_force > 0.0:
            first, speed = t, float(np.linalg.norm(cell.tool_velocity))
        k += 1
    return ReactionRow(robot, reaction or "none", felt, speed, max(forces), impulse, forces[-1])


def _in_the_way(cell: Cell) -> Array:
    """The row of a ball that the arm meets first with its tool side, on the way and not slowly."""
    period, clear = cell.period, Clearance(Body(cell.arm), 1)
    places, tools, speeds = list[Array](), list[Array](), list[float]()
    for k in range(round(LOOKED / period)):
        cell.step(k * period)
        if k % round(0.01 / period) == 0:
            places.append(cell.state.q.copy())
            tools.append(cell.tool.copy())
            speeds.append(float(np.linalg.norm(cell.tool_velocity)))
        cell.advance(k * period, period)
    for k in np.flatnonzero(np.array(speeds) > BRISK * max(speeds)).tolist():
        row = Capsule(tools[k], tools[k] + np.array([0.0, 0.0, 1e-3]), RADIUS).row()
        apart = [clear.of(q, row[None])[1].surfaces for q in places]
        touch = next((i for i, gap in enumerate(apart) if gap <= 0.0), None)
        if touch is not None and touch > 10 and speeds[touch] > BRISK * max(speeds):
            return row
    raise ElbowroomError(f"{cell.arm.name}: no place in its way was found in {LOOKED:g} s of work")


def run(robots: Sequence[str], *, runs: int = RUNS, seed: int = 0, progress: Progress = silent) -> ContactReport:
    """Pushes, `runs` times ten minutes of work and once at 1 kHz, and reactions, of each arm."""
    pushes, work, reactions = list[PushRow](), list[AlarmRow](), list[ReactionRow]()
    for robot in robots:
        for period in PERIODS:
            progress(f"{robot}: pushes at {period:g} s")
            pushes += pushed(robot, period, PUSHES, seed)
        for reaction in REACTIONS:
            progress(f"{robot}: reaction {reaction or 'none'}")
            reactions.append(reacted(robot, reaction, PERIODS[0], seed))
        work.append(alarms(robot, runs, MINUTES, seed, progress))
        work.append(alarms(robot, 1, MINUTES, seed, progress, FAST))
    return ContactReport(pushes, work, reactions, version("mujoco-core"), cpu_name())
