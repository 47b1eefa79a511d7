"""`elbowroom bench chains`: random general chains of 6 to 100 joints, one state, beside Pinocchio.

The chains are those of the GDAHJ paper's test (`chains.random`, seed 0).  For the mass matrix the two methods that
compete stand beside our choice: CRBA and GDAHJ, as in the paper's Figure 4.  "poses" is the kinematics alone, to be
taken off where a reader has the links' frames already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import __version__, chains
from ..arm import Arm
from .peers import ours
from .peers.dynamics import Found, peers
from .report import ROUNDS, US, Contender, Report, Row, cpu_name, raced

JOINTS = (6, 7, 10, 13, 20, 30, 50, 100)
QUANTITIES = ("mass_matrix", "inverse_dynamics", "forward_dynamics", "coriolis_matrix", "poses")
METHODS = {"mass_matrix": ("crba", "gdahj")}
PEERS = ("Pinocchio",)


def run(
    *,
    joints: Sequence[int] = JOINTS,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = QUANTITIES,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measure; `progress` is told what is being measured.  Kernels that no cache has are compiled first."""
    rows: list[Row] = []
    missing: list[str] = []
    first_calls = []
    say = progress or (lambda _: None)
    for n in joints:
        arm = chains.random(n)
        found = peers(arm, only=PEERS)
        missing += found.missing
        state = ours.states(np.random.default_rng(n), n)
        for quantity in quantities:
            say(f"{n} joints: {quantity}")
            rows += raced("chains", arm, quantity, dict(_contenders(arm, quantity, state, found)), rounds)
        say(f"{n} joints: a first call")
        first_calls.append(ours.first_call(arm, quantities[0]))
    return Report(rows, list(dict.fromkeys(missing)), cpu_name(), first_calls=first_calls)


def _contenders(arm: Arm, quantity: str, state: list[object], found: Found) -> Iterator[tuple[str, Contender]]:
    yield US, Contender(__version__, ours.one(arm, quantity, state))
    for method in METHODS.get(quantity, ()):
        yield f"{US}, {method}", Contender(__version__, ours.by_method(arm, quantity, method, state))
    for peer in found.peers:
        yield peer.name, Contender(peer.version, peer.typed(quantity, state))
