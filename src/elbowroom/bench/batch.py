"""`elbowroom bench batch`: many states on a CPU, the time of one of them.

    elbowroom                   one thread, float64, (B, n) rows in, rows out in a new array
    elbowroom, out=             the same into an array that is there, as one does who computes batch after batch
    elbowroom, float32          as out=, in float32, inputs too
    elbowroom, 2 threads        as out=; and on as many as the machine has
    Pinocchio                   its own parallel calls on one thread; a loop of single calls where it has none
    Pinocchio, 2 threads        its own parallel calls
    frax                        vmapped and jitted

Pinocchio on one thread is given `LOOPED` states at most: its time for one does not grow shorter with more, and a call
of many milliseconds would meet whatever else the machine does, which ours, being shorter, often escapes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import __version__
from ..arm import Arm
from ..compile.cpu import BLOCK
from ..loading import load
from .peers import ours
from .peers.dynamics import Found, peers
from .report import OURS_OUT, ROBOTS, ROUNDS, US, Contender, Report, Row, cpu_name, raced

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix")
SIZES = (256, 4096, 65536)
LOOPED = 256
LEAST_ROUNDS = 3
STATES_IN_ALL = 10_000  # for each of the rounds asked for: the largest batches take fewer turns


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    states: int | None = None,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = QUANTITIES,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measure batches of so many states, or of several sizes; `progress` is told what is being measured."""
    arms = [load(name) for name in robots]
    rows: list[Row] = []
    missing: list[str] = []
    threads = thread_counts()
    for arm in arms:
        found = peers(arm, threads=threads)
        missing += found.missing
        rng = np.random.default_rng(0)
        for size in SIZES if states is None else (states,):
            batch = ours.states(rng, size, arm.n)
            for quantity in quantities:
                if progress is not None:
                    progress(f"{arm.name}: {quantity}, {size} states")
                contenders = dict(_contenders(arm, quantity, batch, found, threads))
                turns = max(LEAST_ROUNDS, min(rounds // 2, STATES_IN_ALL * rounds // size))
                rows += raced("batch", arm, quantity, contenders, turns, size)
    return Report(rows, list(dict.fromkeys(missing)), cpu_name())


def thread_counts() -> list[int]:
    """Two, and as many as there are."""
    cores = os.cpu_count() or 1
    return sorted({2, cores} - {1})


def _contenders(
    arm: Arm, quantity: str, batch: list[Any], found: Found, threads: Sequence[int]
) -> Iterator[tuple[str, Contender]]:
    size = len(batch[0])

    def us(name: str, **options: Any) -> tuple[str, Contender]:
        return name, Contender(__version__, ours.many(arm, quantity, batch, **options), size)

    yield us(US, out=False)
    yield us(OURS_OUT)
    yield us(f"{US}, float32", dtype=np.float32)
    for count in threads if size > BLOCK else ():  # up to there one thread does all, whatever is asked for
        yield us(f"{US}, {count} threads", threads=count)
    some = [x[:LOOPED] for x in batch]
    for peer in found.peers:
        given = some if peer.name == "Pinocchio" else batch
        if quantity in peer.many:
            yield peer.name, Contender(peer.version, peer.typed_many(quantity, given), len(given[0]))
        elif peer.name == "Pinocchio" and quantity in peer.one:
            yield peer.name, Contender(peer.version, peer.looped(quantity, given), len(given[0]))
