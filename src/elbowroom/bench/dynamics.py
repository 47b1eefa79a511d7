"""`elbowroom bench dynamics`: one state from Python, us and the peers in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import __version__
from ..arm import Arm
from ..loading import load
from .peers import ours
from .peers.dynamics import peers
from .report import OURS_OUT, ROBOTS, ROUNDS, US, Contender, Report, Row, cpu_name, raced

QUANTITIES = (
    "mass_matrix",
    "coriolis_matrix",
    "mass_matrix_rate",
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix_inverse",
    ours.POSE_AND_JACOBIAN,
)


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = QUANTITIES,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measure; `progress` is told what is being measured."""
    arms = [load(name) for name in robots]  # a wrong name is refused before anything is measured
    say = progress or (lambda _: None)
    rows: list[Row] = []
    missing: list[str] = []
    notes: list[str] = []
    first_calls = []
    for arm in arms:
        rows += _robot(arm, quantities, rounds, missing, notes, say)
        say(f"{arm.name}: a first call")
        first_calls += [ours.first_call(arm, quantity) for quantity in quantities[:1]]
    return Report(rows, _once(missing), cpu_name(), first_calls=first_calls, notes=_once(notes))


def _once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _robot(
    arm: Arm,
    quantities: Sequence[str],
    rounds: int,
    missing: list[str],
    notes: list[str],
    say: Callable[[str], None],
) -> Iterator[Row]:
    found = peers(arm)
    missing += found.missing
    notes += found.notes
    state = ours.states(np.random.default_rng(0), arm.n)
    for quantity in quantities:
        say(f"{arm.name}: {quantity}")
        contenders = {
            US: Contender(__version__, ours.one(arm, quantity, state)),
            OURS_OUT: Contender(__version__, ours.one(arm, quantity, state, out=True)),
        }
        for peer in found.peers:
            if quantity in peer.one:
                contenders[peer.name] = Contender(peer.version, peer.typed(quantity, state))
        yield from raced("dynamics", arm, quantity, contenders, rounds)
