"""`elbowroom bench dynamics`, `batch` and `chains`: an arm's dynamics, ours and the peers' in one process.

`one_state`: a call from Python for one state, on arms of the catalogue.

`batches`: many states in a call on a CPU, the time of one of them.

    elbowroom                   one thread, float64, (B, n) rows in, rows out in a new array
    elbowroom, out=             the same into an array that is there, as one does who computes batch after batch
    elbowroom, float32          as out=, in float32, inputs too
    elbowroom, 2 threads        as out=; and on as many as the machine has
    Pinocchio                   its own parallel calls on one thread; a loop of single calls where it has none
    Pinocchio, 2 threads        its own parallel calls
    frax                        vmapped and jitted

Pinocchio on one thread is given `LOOPED` states at most: its time for one does not grow shorter with more, and a call
of many milliseconds would meet whatever else the machine does, which ours, being shorter, often escapes.

`long_chains`: random general chains of 6 to 100 joints, one state, beside Pinocchio.  The chains are those of the
GDAHJ paper's test (`chains.random`, seed 0).  For the mass matrix the two methods that compete stand beside our
choice: CRBA and GDAHJ, as in the paper's Figure 4.  "poses" is the kinematics alone, to be taken off where a reader has
the links' frames already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from .. import __version__, chains
from ..arm import Arm
from ..compile.cpu import BLOCK
from ..loading import load
from .peers import calls
from .peers.calls import Arrays
from .peers.dynamics import PeersFound, peers
from .timing import OURS_OUT, ROBOTS, ROUNDS, US, Contender, Progress, Report, Row, Statement, cpu_name, raced, silent

ONE_STATE = (
    "mass_matrix",
    "coriolis_matrix",
    "mass_matrix_rate",
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix_inverse",
    calls.POSE_AND_JACOBIAN,
)
BATCHED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix")
OF_CHAINS = ("mass_matrix", "inverse_dynamics", "forward_dynamics", "coriolis_matrix", "poses")
SIZES = (256, 4096, 65536)
LOOPED = 256
LEAST_ROUNDS = 3
STATES_IN_ALL = 10_000  # for each of the rounds asked for: the largest batches take fewer turns
JOINTS = (6, 7, 10, 13, 20, 30, 50, 100)
METHODS = {"mass_matrix": ("crba", "gdahj")}  # that stand beside our choice, on chains

Contenders = Iterator[tuple[str, Contender]]


def one_state(
    robots: Sequence[str] = ROBOTS,
    *,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = ONE_STATE,
    progress: Progress = silent,
) -> Report:
    """One state of each arm; `progress` is told what is being measured."""
    arms = [load(name) for name in robots]  # a wrong name is refused before anything is measured
    rows: list[Row] = []
    missing: list[str] = []
    notes: list[str] = []
    first_calls = []
    for arm in arms:
        found = peers(arm)
        missing += found.missing
        notes += found.notes
        state = calls.states(np.random.default_rng(0), arm.n)
        for quantity in quantities:
            progress(f"{arm.name}: {quantity}")
            contenders = {
                US: _ours(calls.one(arm, quantity, state)),
                OURS_OUT: _ours(calls.one(arm, quantity, state, out=True)),
            }
            rows += raced("dynamics", arm, quantity, contenders | dict(_of_peers(quantity, state, found)), rounds)
        progress(f"{arm.name}: a first call")
        first_calls += [calls.first_call(arm, quantity) for quantity in quantities[:1]]
    return Report(rows, _once(missing), cpu_name(), first_calls=first_calls, notes=_once(notes))


def _ours(call: Statement, states: int = 1) -> Contender:
    return Contender(__version__, call, states)


def _of_peers(quantity: str, state: Arrays, found: PeersFound) -> Contenders:
    for peer in found.peers:
        if quantity in peer.one:
            yield peer.name, Contender(peer.version, peer.for_state(quantity, state))


def _once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


# ---- many states


def batches(
    robots: Sequence[str] = ROBOTS,
    *,
    states: int | None = None,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = BATCHED,
    progress: Progress = silent,
) -> Report:
    """Batches of so many states, or of several sizes; `progress` is told what is being measured."""
    arms = [load(name) for name in robots]
    rows: list[Row] = []
    missing: list[str] = []
    threads = thread_counts()
    for arm in arms:
        found = peers(arm, threads=threads)
        missing += found.missing
        rng = np.random.default_rng(0)
        for size in SIZES if states is None else (states,):
            batch = calls.states(rng, size, arm.n)
            for quantity in quantities:
                progress(f"{arm.name}: {quantity}, {size} states")
                contenders = dict(_of_batch(arm, quantity, batch, found, threads))
                turns = max(LEAST_ROUNDS, min(rounds // 2, STATES_IN_ALL * rounds // size))
                rows += raced("batch", arm, quantity, contenders, turns, size)
    return Report(rows, _once(missing), cpu_name())


def thread_counts() -> list[int]:
    """Two, and as many as there are."""
    cores = os.cpu_count() or 1
    return sorted({2, cores} - {1})


def _of_batch(arm: Arm, quantity: str, batch: Arrays, found: PeersFound, threads: Sequence[int]) -> Contenders:
    size = len(batch[0])
    yield US, _ours(calls.many(arm, quantity, batch, out=False), size)
    yield OURS_OUT, _ours(calls.many(arm, quantity, batch), size)
    yield f"{US}, float32", _ours(calls.many(arm, quantity, batch, dtype=np.float32), size)
    for count in threads if size > BLOCK else ():  # up to there one thread does all, whatever is asked for
        yield f"{US}, {count} threads", _ours(calls.many(arm, quantity, batch, threads=count), size)
    some = [x[:LOOPED] for x in batch]
    for peer in found.peers:
        given = some if peer.name == "Pinocchio" else batch
        if quantity in peer.many:
            yield peer.name, Contender(peer.version, peer.for_batch(quantity, given), len(given[0]))
        elif peer.name == "Pinocchio" and quantity in peer.one:
            yield peer.name, Contender(peer.version, peer.in_loop(quantity, given), len(given[0]))


# ---- long chains


def long_chains(
    *,
    joints: Sequence[int] = JOINTS,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = OF_CHAINS,
    progress: Progress = silent,
) -> Report:
    """Chains of these lengths; `progress` is told what is measured.  Kernels that no cache has are compiled first."""
    rows: list[Row] = []
    missing: list[str] = []
    first_calls = []
    for n in joints:
        arm = chains.random(n)
        found = peers(arm, only=("Pinocchio",))
        missing += found.missing
        state = calls.states(np.random.default_rng(n), n)
        for quantity in quantities:
            progress(f"{n} joints: {quantity}")
            contenders = {US: _ours(calls.one(arm, quantity, state))}
            for method in METHODS.get(quantity, ()):
                contenders[f"{US}, {method}"] = _ours(calls.by_method(arm, quantity, method, state))
            rows += raced("chains", arm, quantity, contenders | dict(_of_peers(quantity, state, found)), rounds)
        progress(f"{n} joints: a first call")
        first_calls.append(calls.first_call(arm, quantities[0]))
    return Report(rows, _once(missing), cpu_name(), first_calls=first_calls)
