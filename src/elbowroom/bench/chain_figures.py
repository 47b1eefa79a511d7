"""Long chains: GDAHJ against composite bodies as in Fig. 4 of the GDAHJ paper, and whether a thread a link would pay.

The paper's curve leaves forward kinematics out for GDAHJ, since a controller mostly has it already.  Here that is a
kernel with the twelve numbers of every link frame as inputs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dynamics
from ..algebra import Program, Rolled, trace
from ..algebra.linalg import matrix, vector
from ..algebra.loops import each
from ..algebra.rolling import roll
from ..compile import compiled
from ..compile.kernel import Kernel
from ..dynamics.gdahj import from_frames
from ..dynamics.kinematics import Frames, poses
from ..model import Model, chains
from ..model.symbolic import RolledModel
from .clock import race

JOINTS = (6, 10, 14, 20, 30, 50, 100)
FRAME = (*(f"R{r}{c}" for r in range(3) for c in range(3)), "px", "py", "pz")
CODES = ("straight", "loops")


@dataclass(frozen=True)
class Point:
    """One time of the figure."""

    n: int
    method: str  # crba, gdahj
    kinematics: bool  # included
    code: str  # straight or loops
    seconds: float
    median: float


def figure4(joints: Iterable[int] = JOINTS, codes: Iterable[str] = CODES, *, rounds: int = 40) -> list[Point]:
    """The mass matrix of random chains, one state a call from Python: crba, gdahj, and gdahj with the frames given."""
    found = []
    for n in joints:
        model = chains.random(n, 1)
        q = np.random.default_rng(0).uniform(-1, 1, n)
        contenders: dict[str, Any] = {}
        for code in codes:
            for method in ("crba", "gdahj"):
                contenders[f"{code} {method} with"] = _call(_mass_matrix(model, method, code), q)
            frames = np.asarray(poses(model, q), dtype=float)  # (n, 4, 4)
            columns = np.concatenate([frames[:, :3, :3].reshape(n, 9), frames[:, :3, 3]], axis=1).T.copy()
            contenders[f"{code} gdahj without"] = _call(_without_kinematics(model, code), *columns)
        for name, timing in race(contenders, rounds=rounds).items():
            code, method, kinematics = name.split()
            found.append(Point(n, method, kinematics == "with", code, timing.best, timing.median))
    return found


def _call(kernel: Kernel, *inputs: Any) -> Any:
    return lambda: kernel(*inputs)


def _mass_matrix(model: Model, method: str, code: str) -> Kernel:
    make = dynamics.rolled if code == "loops" else dynamics.program
    return compiled(functools.partial(make, name="mass_matrix", method=method), model, method=method)


def _without_kinematics(model: Model, code: str) -> Kernel:
    """M by gdahj from the link frames, each of their twelve numbers an input (n,)."""
    return compiled(_loops if code == "loops" else _straight, model, method="gdahj")


def _from_frames(subject: Any, **frame: Any) -> Any:
    def rotation(i: Any) -> Any:
        return matrix([[frame[f"R{r}{c}"][i] for c in range(3)] for r in range(3)])

    R = each(subject.n, rotation)
    p = each(subject.n, lambda i: vector(*(frame[f"p{axis}"][i] for axis in "xyz")))
    return from_frames(subject, Frames(R, p))


def _straight(model: Model) -> Program:
    return trace(_from_frames, model, dict.fromkeys(FRAME, (model.n,)), name="mass_matrix", output="mass_matrix")


def _loops(model: Model) -> Rolled:
    straight = functools.partial(_straight, model)
    shape = (model.n, model.n)
    return roll(_from_frames, RolledModel(model), FRAME, shape, name="mass_matrix", straight=straight)


@dataclass(frozen=True)
class Threads:
    """One thread on a chain, against two on half of its elements each."""

    n: int
    one: float  # s: M by gdahj with loops
    half: float  # s: a chain with half as many elements
    two: float  # s: two such in two threads at once, until both are done
    hand_over: float  # s: two threads that have nothing to do


def per_link(joints: Iterable[int] = (100, 200, 500), *, rounds: int = 200) -> list[Threads]:
    """Whether threads over links (or columns) pay: the work of one mass matrix cut into two.

    The two halves are whole chains of n / sqrt(2) joints, which share nothing: no real division of one chain could do
    better.
    """
    found = []
    with ThreadPoolExecutor(2) as pool:
        for n in joints:
            whole, half = (_prepared(k) for k in (n, round(n / 2**0.5)))
            other = _prepared(round(n / 2**0.5))
            runs = {
                "one": whole,
                "half": half,
                "two": lambda half=half, other=other: _both(pool, half, other),
                "hand_over": lambda: _both(pool, _nothing, _nothing),
            }
            best = {}
            for name, run in runs.items():
                run()
                best[name] = min(_timed(run) for _ in range(rounds))
            found.append(Threads(n, **best))
    return found


def _prepared(n: int) -> Any:
    """The bare code on arrays of its own; it runs without the interpreter's lock."""
    kernel = _mass_matrix(chains.random(n, 1), "gdahj", "loops")
    arrays = [np.random.default_rng(0).uniform(-1, 1, n)], [np.zeros((n, n))]
    return lambda: kernel.backend.one(*arrays)


def _nothing() -> None:
    pass


def _both(pool: ThreadPoolExecutor, first: Any, second: Any) -> None:
    """One call in another thread, one in this."""
    elsewhere = pool.submit(first)
    second()
    elsewhere.result()


def _timed(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
