"""`elbowroom bench gpu`: batches on a graphics card, beside what the card can do and beside frax on the same card.

Two limits are measured in the same run: how fast the card copies (bytes read and written), and how many fused
multiply-adds it does a second.  A kernel must read its inputs and write its outputs once, and do its steps; the larger
of those two times is the floor, and each row says how close it comes to either.

Times are those of the card's own clock around several launches.  Before a kernel is timed its results are compared
with the CPU's.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..arm import Arm
from ..compile import compiled, cuda
from ..compile.cuda import LAYOUTS, WARP, CudaKernel, Layout
from ..compile.source_support import sincos_steps
from ..errors import ElbowroomError
from ..loading import load
from .peers import frax
from .timing import ROBOTS, US, Progress, Report, Row, cpu_name, silent

QUANTITIES = (
    "mass_matrix",
    "inverse_dynamics",
    "forward_dynamics",
    "coriolis_matrix",
    "mass_matrix_rate",
    "christoffel",
)
DTYPES = ("float64", "float32")
MOVED = 4 << 30  # bytes that a launch reads and writes, about: many times the card's cache
FRAX_STATES = (1 << 17, 1 << 20, 1 << 22)  # the best of them counts
NO_MEMORY = "RESOURCE_EXHAUSTED"  # XLA's word for a card that has no memory left
CHECKED = 4096  # states at either end that are compared with the CPU's
LAUNCHES = 4  # between two looks at the clock
ROUNDS = 15
FREE = ("neg", "lt", "le", "eq", "and", "or", "not", "select")  # part of another instruction, or not of the real unit

PEAK = """
extern "C" __global__ void peak(REAL* x, int turns)
{
    const REAL b = (REAL)0.999, c = (REAL)1e-3;
    REAL a[8];
    for (int k = 0; k < 8; ++k) a[k] = (REAL)(threadIdx.x + k);
    for (int i = 0; i < turns; ++i) {
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = FMA(a[k], b, c);
    }
    REAL sum = 0;
    for (int k = 0; k < 8; ++k) sum += a[k];
    x[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


@dataclass(frozen=True)
class CardRow(Row):
    """A row, and how close it comes to what the card can do."""

    dtype: str = "float64"
    layout: str = "rows"
    bytes_per_state: int = 0  # inputs read once, outputs written once
    steps_per_state: int = 0  # real instructions, those of sines included
    of_copy: float = 0.0  # part of the copy's bandwidth
    of_arithmetic: float = 0.0  # part of the fused multiply-adds a second
    differs: float = 0.0  # the greatest difference from the CPU's results, as a part of their greatest number
    registers: int = 0
    spilled: int = 0  # bytes of local memory a thread


@dataclass(frozen=True)
class CardReport(Report):
    """A report with what the card is and can do."""

    card: str = ""
    copy_bytes_per_second: float = 0.0
    fused_per_second: dict[str, float] = field(default_factory=dict)  # multiply-adds, by dtype


class Card(NamedTuple):
    """CuPy, and what it measured the card to do."""

    cupy: ModuleType
    copy: float  # bytes a second, read and written
    fused: dict[str, float]


Timer = tuple[str, int, Callable[[], float]]
"""A contender: its version, its states, and what gives the seconds of a call."""


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    states: int | None = None,
    rounds: int = ROUNDS,
    progress: Progress = silent,
) -> CardReport:
    """Measure batches of so many states, or of as many as move some gigabytes; `progress` is told what is measured."""
    arms = [load(name) for name in robots]
    card = measured(rounds, progress)
    rows: list[Row] = []
    missing: list[str] = []
    for arm in arms:
        theirs = frax_contenders(arm, missing)
        for dtype in DTYPES:
            for quantity in QUANTITIES:
                progress(f"{arm.name}: {quantity}, {dtype}")
                rows += raced(card, arm, quantity, dtype, theirs, rounds, states)
    notes = [] if missing else ["frax: jitted and vmapped, arrays (B, n) on the card before, at its best batch size."]
    return reported(card, rows, missing, notes)


def measured(rounds: int, progress: Progress) -> Card:
    """The card, and what it can do."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the card's memory
    cupy = cuda.library()
    progress("what the card can do")
    return Card(cupy, _copy(cupy, rounds), {dtype: _arithmetic(cupy, dtype, rounds) for dtype in DTYPES})


def reported(card: Card, rows: list[Row], missing: list[str], notes: list[str]) -> CardReport:
    """A report of rows that were measured on a card."""
    return CardReport(
        rows,
        list(dict.fromkeys(missing)),
        cpu_name(),
        notes=notes,
        card=_name(card.cupy),
        copy_bytes_per_second=card.copy,
        fused_per_second=card.fused,
    )


def _name(cupy: ModuleType) -> str:
    runtime = cupy.cuda.runtime
    card = runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    version = runtime.runtimeGetVersion()
    return f"{card}, CuPy {cupy.__version__}, CUDA {version // 1000}.{version % 1000 // 10}"


def _timed(cupy: ModuleType, call: Callable[[], object], launches: int = LAUNCHES) -> float:
    """Seconds a call, by the card's clock."""
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    for _ in range(launches):
        call()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) / 1000.0 / launches


def _copy(cupy: ModuleType, rounds: int) -> float:
    """Bytes a second, read and written, of the fastest copy from card to card."""
    size = MOVED // 2 // 8
    x, y = cupy.random.random(size), cupy.empty(size)
    cupy.copyto(y, x)
    return 2 * x.nbytes / min(_timed(cupy, lambda: cupy.copyto(y, x)) for _ in range(rounds))


def _arithmetic(cupy: ModuleType, dtype: str, rounds: int) -> float:
    """Fused multiply-adds a second."""
    real, fma = ("double", "fma") if dtype == "float64" else ("float", "fmaf")
    function = cupy.RawModule(code=PEAK.replace("REAL", real).replace("FMA", fma)).get_function("peak")
    blocks, threads, turns = 132 * 16, 256, 4096
    x = cupy.empty(blocks * threads, dtype)

    def call() -> None:
        function((blocks,), (threads,), (x, np.int32(turns)))

    call()
    return blocks * threads * turns * 8 / min(_timed(cupy, call) for _ in range(rounds))


def steps(kernel: CudaKernel) -> int:
    """Real instructions a state: a step each, and those that a sine and cosine take."""
    lowered = kernel.source.lowered
    turned = {op[1] for _, op in lowered.steps if op[0] in ("sin", "cos")}
    others = sum(op[0] not in ("sin", "cos", *FREE) for _, op in lowered.steps)
    return others + len(turned) * sincos_steps(kernel.source.dialect)


def raced(
    card: Card, arm: Arm, quantity: str, dtype: str, theirs: Theirs, rounds: int, states: int | None
) -> Iterator[CardRow]:
    """A row a layout, and one for frax where it has the quantity; they take turns."""
    kernels = {layout: arm.compile(quantity, dtype=dtype, device="cuda", layout=layout) for layout in LAYOUTS}
    ports = kernels["rows"].signature
    width = np.dtype(dtype).itemsize * sum(p.size for p in (*ports.inputs, *ports.outputs))
    count = states or MOVED // width // WARP * WARP
    inputs = [card.cupy.random.uniform(-1, 1, (count, *p.shape)).astype(dtype) for p in ports.inputs]
    contenders: dict[str, list[Timer]] = {}
    facts: dict[str, dict[str, Any]] = {}
    for layout, kernel in kernels.items():
        who = US if layout == "rows" else f"{US}, {layout}"
        call, differs = _launch(card.cupy, arm, kernel, layout, inputs)
        contenders[who] = [(__version__, count, partial(_timed, card.cupy, call))]
        facts[who] = {
            "layout": layout,
            "steps_per_state": steps(kernel),
            "differs": differs,
            "registers": int(kernel.function.num_regs),
            "spilled": int(kernel.function.local_size_bytes),
        }
    if found := theirs(quantity, dtype, [card.cupy.asnumpy(x[: max(FRAX_STATES)]) for x in inputs]):
        contenders[frax.NAME], facts[frax.NAME] = found.timers, {"differs": found.differs}
    taken: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for who, timers in contenders.items():
            for k, (_, size, seconds) in enumerate(timers):
                taken.setdefault((who, k), []).append(seconds() / size)
    ours = min(taken[US, 0])
    for who, timers in contenders.items():
        times, (version, size, _) = min(
            ((taken[who, k], timer) for k, timer in enumerate(timers)), key=lambda pair: min(pair[0])
        )
        best, mine = min(times), facts.get(who, {})
        yield CardRow(
            bench="gpu",
            robot=arm.name,
            n=arm.n,
            quantity=quantity,
            who=who,
            version=version,
            seconds_per_state=best,
            median_seconds=float(np.median(times)),
            p90_seconds=float(np.quantile(times, 0.9)),
            ratio_to_us=best / ours,
            states=size,
            dtype=dtype,
            bytes_per_state=width,
            of_copy=width / best / card.copy,
            of_arithmetic=mine.get("steps_per_state", 0) / best / card.fused[dtype],
            **mine,
        )


def _launch(
    cupy: ModuleType, arm: Arm, kernel: CudaKernel, layout: Layout, inputs: list[Any]
) -> tuple[Callable[[], object], float]:
    """A launch without waiting for its end, and by how much its results differ from the CPU's."""
    turned = layout == "columns"
    given = [cupy.ascontiguousarray(cupy.moveaxis(x, 0, -1)) for x in inputs] if turned else inputs
    states = len(inputs[0])
    shapes = [(*p.shape, states) if turned else (states, *p.shape) for p in kernel.signature.outputs]
    results = [cupy.full(shape, np.nan, kernel.dtype) for shape in shapes]
    out = results if len(results) > 1 else results[0]
    kernel(*given, out=out)
    reference = compiled(kernel.program, dtype=kernel.dtype)
    differs = 0.0
    for part in (slice(0, CHECKED), slice(max(0, states - CHECKED), states)):
        found = [cupy.asnumpy(cupy.moveaxis(x, -1, 0)[part] if turned else x[part]) for x in results]
        if not all(np.isfinite(x).all() for x in found):
            raise ElbowroomError(f"{arm.name}: {kernel!r} left results unwritten")
        differs = max(differs, difference(found, reference(*(cupy.asnumpy(x[part]) for x in inputs))))
    return partial(kernel, *given, out=out, check=False), differs


def difference(found: Sequence[Any], wanted: Any) -> float:
    """The greatest of arrays' differences, each as a part of its greatest number."""
    arrays = wanted if isinstance(wanted, tuple) else (wanted,)
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, arrays, strict=True))


class Contender(NamedTuple):
    """Another library's: a timer a batch size, and by how much its results differ from the CPU's of ours."""

    timers: list[Timer]
    differs: float


Theirs = Callable[[str, str, list[Any]], Contender | None]


def frax_contenders(
    arm: Arm,
    missing: list[str],
    functions: Callable[[Arm], dict[str, Callable[..., object]]] = frax.batched,
    sizes: Sequence[int] = FRAX_STATES,
) -> Theirs:
    """What gives frax's contenders; None where it is not installed or has no such quantity."""
    try:
        theirs = functions(arm)
        jax = importlib.import_module("jax")
    except ImportError:
        missing.append(frax.NAME)
        return lambda quantity, dtype, inputs: None
    version = frax.version()

    def contenders(quantity: str, dtype: str, inputs: list[Any]) -> Contender | None:
        if quantity not in theirs:
            return None
        found: list[Timer] = []
        differs = 0.0
        for size in dict.fromkeys(min(size, len(inputs[0])) for size in sorted(sizes)):
            try:
                arrays = [frax.on_device(x[:size], dtype) for x in inputs]
                ready = frax.compiled(theirs[quantity], arrays)
                results = jax.tree_util.tree_leaves(ready(*arrays))
            except Exception as error:
                if NO_MEMORY not in str(error):
                    raise
                break  # for more states there is none either
            found.append((version, size, partial(_waited, jax, ready, arrays)))
            count = min(CHECKED, size)
            few = [x[:count] for x in inputs]
            differs = difference([np.asarray(x[:count]) for x in results], arm.compile(quantity, dtype=dtype)(*few))
        return Contender(found, differs) if found else None

    return contenders


def _waited(jax: ModuleType, call: Callable[..., object], arrays: list[Any]) -> float:
    """Seconds a call until its result is there."""
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        jax.block_until_ready(call(*arrays))
    return (time.perf_counter() - start) / LAUNCHES
