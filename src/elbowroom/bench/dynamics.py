"""`elbowroom bench dynamics`: one state from Python, and batches on one thread, us and the peers in one process."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import __version__
from ..arm import Arm
from ..loading import load
from .clock import race
from .peers import peers

ROBOTS = ("panda", "ur5e", "puma560")
QUANTITIES = (
    "mass_matrix",
    "coriolis_matrix",
    "mass_matrix_rate",
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix_inverse",
    "pose and jacobian",
)
BATCH = 4096
US = "elbowroom"


@dataclass(frozen=True)
class Row:
    """One contender's time for one quantity of one robot."""

    bench: str  # "dynamics" (one state) or "batch"
    robot: str
    n: int
    quantity: str
    who: str
    version: str
    seconds_per_state: float
    median_seconds: float
    p90_seconds: float
    ratio_to_us: float


@dataclass(frozen=True)
class Report:
    """All rows of a run, and what it ran on."""

    rows: list[Row]
    missing: list[str]
    cpu: str


def run(robots: Sequence[str] = ROBOTS, *, rounds: int = 60, progress: Callable[[str], None] | None = None) -> Report:
    """Measure; `progress` is told what is being measured."""
    rows: list[Row] = []
    missing: list[str] = []
    for name in robots:
        arm = load(name)
        for row in _robot(arm, rounds, missing, progress or (lambda _: None)):
            rows.append(row)
    return Report(rows, sorted(set(missing)), cpu_name())


def _robot(arm: Arm, rounds: int, missing: list[str], progress: Callable[[str], None]) -> Iterator[Row]:
    found, absent = peers(arm)
    missing += absent
    versions = {US: __version__, **{p.name: p.version for p in found}}
    rng = np.random.default_rng(0)
    state = [x.copy() for x in rng.uniform(-1, 1, (4, arm.n))]
    for quantity in QUANTITIES:
        progress(f"{arm.name}: {quantity}, one state")
        contenders = {US: _ours(arm, quantity, state)}
        for peer in found:
            if quantity in peer.one:
                contenders[peer.name] = _bound(peer.one[quantity], state)
        yield from _rows("dynamics", arm, quantity, contenders, versions, rounds, 1)
    batch = [np.ascontiguousarray(x) for x in rng.uniform(-1, 1, (4, BATCH, arm.n))]
    columns = [np.asfortranarray(x.T) for x in batch]  # as Pinocchio's pool wants them
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        progress(f"{arm.name}: {quantity}, {BATCH} states")
        contenders = {US: _ours(arm, quantity, batch)}
        for peer in found:
            if quantity in peer.many:
                contenders[peer.name] = _bound(peer.many[quantity], columns)
            elif peer.name == "Pinocchio" and quantity in peer.one:
                contenders[peer.name] = _looped(peer.one[quantity], batch)
        yield from _rows("batch", arm, quantity, contenders, versions, max(3, rounds // 4), BATCH)


def _ours(arm: Arm, quantity: str, state: list[Any]) -> Callable[[], Any]:
    q, qd, qdd, tau = state
    if quantity == "pose and jacobian":
        return lambda: (arm.pose(q), arm.jacobian(q))
    if quantity in ("mass_matrix", "mass_matrix_inverse"):
        return lambda: getattr(arm, quantity)(q)
    if quantity in ("coriolis_matrix", "mass_matrix_rate"):
        return lambda: getattr(arm, quantity)(q, qd)
    return lambda: getattr(arm, quantity)(q, qd, qdd if quantity == "inverse_dynamics" else tau)


def _bound(call: Callable[..., Any], state: list[Any]) -> Callable[[], Any]:
    q, qd, qdd, tau = state
    return lambda: call(q, qd, qdd, tau)


def _looped(call: Callable[..., Any], batch: list[Any]) -> Callable[[], Any]:
    """A loop over single calls, where a peer has no batch of its own."""
    rows = [tuple(x[k] for x in batch) for k in range(BATCH)]

    def loop() -> None:
        for q, qd, qdd, tau in rows:
            call(q, qd, qdd, tau)

    return loop


def _rows(
    bench: str,
    arm: Arm,
    quantity: str,
    contenders: dict[str, Callable[[], Any]],
    versions: dict[str, str],
    rounds: int,
    states: int,
) -> Iterator[Row]:
    times = race(contenders, rounds=rounds)
    for who, t in times.items():
        yield Row(
            bench=bench,
            robot=arm.name,
            n=arm.n,
            quantity=quantity,
            who=who,
            version=versions[who],
            seconds_per_state=t.best / states,
            median_seconds=t.median / states,
            p90_seconds=t.p90 / states,
            ratio_to_us=t.best / times[US].best,
        )


def cpu_name() -> str:
    """The CPU's name as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
