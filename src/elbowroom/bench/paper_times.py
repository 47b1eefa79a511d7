"""Times that the papers print, measured on this machine.

    table_2_1   the thesis' Table 2.1: one call for a PUMA 560 by each method that it compares
    figure_4    Fig. 4 of the GDAHJ paper: the mass matrix of long chains by GDAHJ and by composite bodies, and from how
                many joints on GDAHJ is ahead; figure4 has its times alone
    per_link    whether a thread for each link of a long chain would pay

Table 2.1 has two times for a method: the formulation's own text on floats, which is the like of the thesis' MATLAB
functions, and the compiled kernel.  The paper's curve leaves forward kinematics out for GDAHJ, since a controller
mostly has it already.  Here that is a kernel with the twelve numbers of every link frame as inputs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import dynamics
from ..algebra import Program, Rolled, trace
from ..algebra.linalg import matrix, vector
from ..algebra.loops import each
from ..algebra.rolling import roll
from ..compile import compiled
from ..compile.kernel import Kernel
from ..counting.compare import crossover
from ..dynamics.gdahj import from_frames
from ..dynamics.kinematics import Frames, forward_kinematics, poses
from ..dynamics.published import EXECUTION_TIMES
from ..loading import load
from ..model import Model, chains
from ..model.symbolic import RolledModel
from .timing import Progress, cpu_name, race, silent

Call = Callable[[], object]

ROBOT = "puma560"  # of Table 2.1
JOINTS = (6, 10, 14, 20, 30, 50, 100)
FRAME = (*(f"R{r}{c}" for r in range(3) for c in range(3)), "px", "py", "pz")
CODES = ("straight", "loops")
TEXT = "text"  # the formulation itself on floats: the like of the paper's Matlab functions
FIGURE_4 = (4, 6, 8, 10, 12, 13, 14, 16, 18, 20, 25, 30, 40, 50, 70, 100)
LONGEST = {"straight": 50, TEXT: 50}  # joints: a longer line compiles, and a longer text runs, for many seconds


class MethodTimes(NamedTuple):
    """Seconds of a call by one method."""

    text: float  # the formulation on floats
    compiled: float  # the kernel


def table_2_1(
    *, rounds: int = 20, progress: Callable[[int, int, str], None] | None = None
) -> dict[tuple[str, str], MethodTimes]:
    """Times of the lines of Table 2.1 that the registry has, all contenders in turns."""
    arm = load(ROBOT)
    rng = np.random.default_rng(0)
    state = {name: rng.uniform(-1, 1, arm.n) for name in ("q", "qd", "qdd", "tau")}
    texts: dict[str, Call] = {}
    kernels: dict[str, Call] = {}
    for k, (quantity, method, _) in enumerate(EXECUTION_TIMES):
        if progress is not None:
            progress(k, len(EXECUTION_TIMES), f"timing {quantity}, {method}")
        what = dynamics.quantity(quantity)
        if method in what.formulations | what.variants:
            inputs = [state[name] for name in what.inputs]
            name = f"{quantity} {method}"
            texts[name] = functools.partial(dynamics.whole(quantity, method), arm.model, *inputs)
            kernels[name] = functools.partial(arm.compile(quantity, method=method), *inputs)
    slow, fast = race(texts, rounds=rounds), race(kernels, rounds=rounds)
    lines = [(quantity, method, f"{quantity} {method}") for quantity, method, _ in EXECUTION_TIMES]
    return {(q, m): MethodTimes(slow[name].best, fast[name].best) for q, m, name in lines if name in texts}


# ---- long chains


@dataclass(frozen=True)
class Point:
    """One time of the figure."""

    n: int
    method: str  # crba, gdahj
    kinematics: bool  # included
    code: str  # straight, loops or text
    seconds: float
    median: float


@dataclass(frozen=True)
class Crossover:
    """From how many joints on GDAHJ takes less time than composite bodies, on that and every longer chain measured."""

    code: str
    kinematics: bool  # included in GDAHJ's time
    joints: int | None  # None: not on the longest
    always: bool  # ahead on the shortest chain, too, so that the curves do not cross
    ratio: float  # the best of CRBA's time over GDAHJ's, and
    ratio_joints: int  # where

    @property
    def text(self) -> str:
        """Where GDAHJ is ahead, in words."""
        where = "not on the longest" if self.joints is None else f"from {self.joints} on"
        at = "at every length measured" if self.always else where
        return f"{'with' if self.kinematics else 'without'} kinematics: {at}"


@dataclass(frozen=True)
class Figure4Report:
    """The figure's times, and where its curves cross."""

    rows: list[Point]
    crossovers: list[Crossover]
    cpu: str
    rounds: int

    def curve(self, code: str, method: str, *, kinematics: bool = True) -> list[Point]:
        """One curve, by the number of joints."""
        return [p for p in self.rows if (p.code, p.method, p.kinematics) == (code, method, kinematics)]


def figure_4(*, joints: Sequence[int] = FIGURE_4, rounds: int = 40, progress: Progress = silent) -> Figure4Report:
    """Figure 4 in three ways: the text on floats, compiled straight lines up to 50 joints, compiled loops."""
    codes = (TEXT, *CODES)
    rows: list[Point] = []
    for n in sorted(set(joints)):
        progress(f"{n} joints")
        rows += figure4([n], [code for code in codes if n <= LONGEST.get(code, n)], rounds=rounds)
    report = Figure4Report(rows, [], cpu_name(), rounds)
    for code in codes:
        crba = report.curve(code, "crba")
        for kinematics in (False, True) if crba else ():
            gdahj = report.curve(code, "gdahj", kinematics=kinematics)
            one, other, at = [p.seconds for p in gdahj], [p.seconds for p in crba], [p.n for p in crba]
            ratio, where = max((b / a, n) for a, b, n in zip(one, other, at, strict=True))
            ahead = crossover(one, other, at)
            report.crossovers.append(Crossover(code, kinematics, ahead, ahead == at[0], ratio, where))
    return report


def figure4(joints: Iterable[int] = JOINTS, codes: Iterable[str] = CODES, *, rounds: int = 40) -> list[Point]:
    """The mass matrix of random chains, one state a call from Python: crba, gdahj, and gdahj with the frames given.

    `codes`: "straight" lines and "loops" are compiled; "text" is the formulation itself on floats.
    """
    found = []
    for n in joints:
        model = chains.random(n, 1)
        q = np.random.default_rng(0).uniform(-1, 1, n)
        contenders: dict[str, Call] = {}
        for code in codes:
            for method in ("crba", "gdahj"):
                contenders[f"{code} {method} with"] = _mass_matrix_call(model, method, code, q)
            if code == TEXT:
                contenders[f"{code} gdahj without"] = functools.partial(
                    from_frames, model, forward_kinematics(model, q)
                )
                continue
            frames = np.asarray(poses(model, q), dtype=float)  # (n, 4, 4)
            columns = np.concatenate([frames[:, :3, :3].reshape(n, 9), frames[:, :3, 3]], axis=1).T.copy()
            contenders[f"{code} gdahj without"] = _call(_without_kinematics(model, code), *columns)
        for name, timing in race(contenders, rounds=rounds).items():
            code, method, kinematics = name.split()
            found.append(Point(n, method, kinematics == "with", code, timing.best, timing.median))
    return found


def _mass_matrix_call(model: Model, method: str, code: str, q: NDArray[np.float64]) -> Call:
    if code == TEXT:
        return functools.partial(dynamics.whole("mass_matrix", method), model, q)
    return _call(_mass_matrix(model, method, code), q)


def _call(kernel: Kernel, *inputs: NDArray[np.float64]) -> Call:
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
            runs: dict[str, Call] = {
                "one": whole,
                "half": half,
                "two": functools.partial(_both, pool, half, other),
                "hand_over": functools.partial(_both, pool, _nothing, _nothing),
            }
            best = {}
            for name, run in runs.items():
                run()
                best[name] = min(_timed(run) for _ in range(rounds))
            found.append(Threads(n, **best))
    return found


def _prepared(n: int) -> Call:
    """The bare code on arrays of its own; it runs without the interpreter's lock."""
    kernel = _mass_matrix(chains.random(n, 1), "gdahj", "loops")
    arrays = [np.random.default_rng(0).uniform(-1, 1, n)], [np.zeros((n, n))]
    return lambda: kernel.backend.one(*arrays)


def _nothing() -> None:
    pass


def _both(pool: ThreadPoolExecutor, first: Call, second: Call) -> None:
    """One call in another thread, one in this."""
    elsewhere = pool.submit(first)
    second()
    elsewhere.result()


def _timed(run: Call) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
