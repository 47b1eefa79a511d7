"""Exciting trajectories: motions that make the parameters visible in the torques, within an arm's limits.

Fourier series (fourier.py) are chosen to minimise

    -log det(W^T W) / k + penalties                                                                                (1)

W being the k columns of base parameters and friction over the motion (equations.py), each joint's rows divided by the
size of its torques.  That is the volume of the parameters' confidence region (D-optimality), which, unlike the
condition number, is smooth and does not depend on the parameters' units.  Its gradient comes from the compiled
vector-Jacobian product of the regressor.  Penalties are the squared excess over limits of position, speed, acceleration
and torque, and of the margin to the floor and between the arm's links, whose slopes are differences.  L-BFGS of scipy
does the descent.

What comes out is held against the limits at every row and, for clearance, between the rows; as long as something is
beyond them, the motion is drawn together towards its centre, a configuration that is free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arm import Arm
from ...avoidance.planning import Checker
from ...avoidance.safety.limits import Bounds
from ...errors import ConfigError, ElbowroomError, pip_install
from ...geometry import Body
from ..measurements import Array
from .fourier import Series, series
from .limits import ENOUGH, INSIDE, Clearance, bounds_of, floor_world
from .objective import Objective

SAMPLES = 20  # of the shortest harmonic's period, where W and limits are looked at meanwhile
FINER = 3  # times as many for clearances
PENALTIES = (1.0, 10.0, 100.0, 1000.0)  # weights of the excess, one descent after the other
AGAIN, WIDER = 4, 0.2  # more descents, at most, each with so much of a margin more, where clearance lacks at the end
GOOD = 0.97  # what a motion is drawn together by at most that needs no more descents
CLOSER = 0.98  # what is beyond a limit is drawn together by this factor
STRONG = 0.7  # of the torque limits: what holding the centre may take
DRAWS = 30  # random motions, of which the best begins

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Excitation:
    """A trajectory, one row per sample, and what it is worth."""

    arm: Arm = field(repr=False)
    t: Array = field(repr=False)
    q: Array = field(repr=False)
    qd: Array = field(repr=False)
    qdd: Array = field(repr=False)
    coefficients: Array = field(repr=False)  # (2 L - 1, n), of fourier.py
    condition_before: float  # of W with columns of length 1, of the best random motion
    condition: float
    volume_before: float  # log det(W^T W) / k
    volume: float
    margin: float | None  # m, kept from the floor and between links; None: no shape, nothing was kept
    clearance: float | None  # m, the least there is
    bounds: Bounds = field(repr=False)
    notes: tuple[str, ...]
    evaluations: int

    @property
    def seconds(self) -> float:
        """The period."""
        return float(self.t[-1])

    @property
    def gain(self) -> float:
        """How many times smaller standard errors are than with the random motion, in the geometric mean."""
        return float(np.exp(0.5 * (self.volume - self.volume_before)))

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """q, qd, qdd at other times (M,)."""
        return series(self.seconds, (len(self.coefficients) + 1) // 2, t).motion(self.coefficients)


def excite(
    arm: Arm,
    seconds: float = 20.0,
    *,
    rate: float = 100.0,
    harmonics: int | None = None,
    part: float = 0.8,
    acceleration: float | None = None,
    floor: float | None = 0.0,
    margin: float = 0.05,
    seed: int = 0,
    steps: int = 60,
    progress: Progress | None = None,
) -> Excitation:
    """A trajectory of so many seconds that makes the arm's parameters visible in its torques.

    `rate` rows a second.  `part` of the limits of speed and acceleration is used; the latter is `acceleration`
    (rad/s^2 or m/s^2), or that of `Limits`.  `floor` (m, world; None: there is none) and the arm's own links are kept
    `margin` (m) away.  The same seed gives the same trajectory.  `steps` of each descent.
    """
    _check(
        seconds=seconds,
        rate=rate,
        harmonics=harmonics,
        part=part,
        acceleration=acceleration,
        margin=margin,
        steps=steps,
    )
    count = harmonics or int(np.clip(round(seconds / 2.0), 4, 10))
    optimize = _optimize()
    rng = np.random.default_rng(seed)
    bounds = bounds_of(arm, part, acceleration)
    centre = _centre(arm, bounds, floor, margin, rng)
    clear = Clearance(arm, bounds, floor, margin, centre)
    samples = series(seconds, count, np.linspace(0.0, seconds, SAMPLES * count, endpoint=False))
    fine = series(seconds, count, np.linspace(0.0, seconds, FINER * SAMPLES * count, endpoint=False))
    problem = Objective(arm, arm.base_parameters(), samples, fine, bounds, clear)
    rows = series(seconds, count, np.linspace(0.0, seconds, max(2, round(seconds * rate)) + 1))
    drawn = [_drawn(problem, rows, centre, rng) for _ in range(DRAWS)]
    first = max(drawn, key=lambda X: problem.worth(samples.motion(X))[0])
    volume, condition = problem.worth(samples.motion(first))
    x, best, worth = first.ravel(), first, volume
    for k, weight in enumerate((*PENALTIES, *[PENALTIES[-1]] * AGAIN)):
        if k >= len(PENALTIES):  # what was found there lacks clearance still
            clear.wanted += WIDER * clear.margin
        x = optimize.minimize(
            problem,
            x,
            args=(weight,),
            jac=True,
            method="L-BFGS-B",
            callback=_teller(progress, k, steps),
            options={"maxiter": steps},
        ).x
        if k + 1 < len(PENALTIES):
            continue
        held, size = _held(problem, rows, x.reshape(-1, arm.n), centre)
        found = problem.worth(samples.motion(held))[0]
        if found > worth:
            best, worth = held, found
        if size >= GOOD or clear.checker is None:
            break
    q, qd, qdd = rows.motion(best)
    after = problem.worth(samples.motion(best))
    least = clear.least(q)
    return Excitation(
        arm,
        rows.t,
        q,
        qd,
        qdd,
        best,
        condition,
        after[1],
        volume,
        after[0],
        None if clear.checker is None else clear.margin,
        least,
        bounds,
        clear.notes,
        problem.evaluations,
    )


def _teller(progress: Progress | None, descent: int, steps: int) -> Callable[[Any], None]:
    """Reports the steps of a descent."""
    done = 0

    def told(_: Any) -> None:
        nonlocal done
        done = min(done + 1, steps)
        if progress is not None:
            count = max(len(PENALTIES), descent + 1)
            progress(descent * steps + done, count * steps, f"descent {descent + 1} of {count}")

    return told


def _check(
    seconds: float,
    rate: float,
    harmonics: int | None,
    part: float,
    acceleration: float | None,
    margin: float,
    steps: int,
) -> None:
    for name, value, low, high, unit in (
        ("seconds", seconds, 2.0, 600.0, " s"),
        ("rate", rate, 10.0, 10_000.0, " Hz"),
        ("harmonics", 4 if harmonics is None else harmonics, 2, 50, ""),
        ("part", part, 0.01, 1.0, " of the limits"),
        ("acceleration", 1.0 if acceleration is None else acceleration, 1e-3, 1e3, " rad/s2 or m/s2"),
        ("margin", margin, 0.0, 1.0, " m"),
        ("steps", steps, 1, 10_000, ""),
    ):
        if not low <= value <= high:
            raise ConfigError(f"{name}: expected {low:g} to {high:g}{unit}; got {value!r}")


def _optimize() -> Any:
    try:
        from scipy import optimize
    except ImportError:
        raise ElbowroomError(f"excite needs the package scipy: {pip_install('identify')}") from None
    return optimize


def _centre(arm: Arm, bounds: Bounds, floor: float | None, margin: float, rng: np.random.Generator) -> Array:
    """A configuration clear of floor and itself: `ready`, or the clearest of some that can be held."""
    ready = np.clip(arm.ready, bounds.lower, bounds.upper)
    if not arm.model.capsules:
        return ready
    world, checker = floor_world(floor), Checker(Body(arm))
    middle = 0.5 * (bounds.lower + bounds.upper)
    quarter = 0.25 * (bounds.upper - bounds.lower)
    drawn = np.vstack([ready, rng.uniform(middle - quarter, middle + quarter, (500, arm.n))])
    clear = np.asarray(checker.clearance(drawn, world))
    if clear[0] >= margin / ENOUGH:
        return ready
    held = (np.abs(arm.gravity_torque(drawn)) <= STRONG * bounds.effort).all(axis=1)
    best = int(np.argmax(np.where(held, clear, np.minimum(clear, 0.0))))
    return ready if clear[0] >= clear[best] else drawn[best]


def _drawn(problem: Objective, rows: Series, centre: Array, rng: np.random.Generator) -> Array:
    """A random motion within the limits."""
    shapes = rows.value.shape[1] - 1
    X = np.vstack([centre, rng.normal(size=(shapes, problem.arm.n)) / np.sqrt(np.arange(1, shapes + 1))[:, None]])
    q, qd, qdd = problem.at.motion(X)
    room = np.minimum(centre - problem.bounds.lower, problem.bounds.upper - centre)
    size = np.min(
        [
            room / np.abs(q - centre).max(axis=0),
            problem.bounds.velocity / np.abs(qd).max(axis=0),
            problem.bounds.acceleration / np.abs(qdd).max(axis=0),
        ],
        axis=0,
    )
    X[1:] *= INSIDE * size
    return _held(problem, rows, X, centre)[0]


def _held(problem: Objective, rows: Series, X: Array, centre: Array) -> tuple[Array, float]:
    """The motion drawn together towards the centre until it keeps to everything, at every row and between; how far."""
    bounds, arm = problem.bounds, problem.arm
    rest = np.zeros_like(X)
    rest[0] = centre
    weight = np.abs(arm.gravity_torque(centre)) <= bounds.effort  # where standing there is too much, nothing helps
    size = 1.0
    while size > 1e-3:
        now = rest + size * (X - rest)
        q, qd, qdd = rows.motion(now)
        inside = (
            (q >= bounds.lower).all()
            and (q <= bounds.upper).all()
            and (np.abs(qd) <= bounds.velocity).all()
            and (np.abs(qdd) <= bounds.acceleration).all()
        )
        inside = inside and ((np.abs(arm.inverse_dynamics(q, qd, qdd)) <= bounds.effort) | ~weight).all()
        if inside and problem.clear.free(q):
            return now, size
        size *= CLOSER
    raise ElbowroomError(f"{arm.name}: no motion about {np.round(centre, 3).tolist()} keeps to the limits")
