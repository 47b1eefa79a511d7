"""`elbowroom bench first-calls`: what derivatives cost where nothing is compiled yet.

For each quantity of the registry: its derivative by every input, and for those of inverse and forward dynamics the
second derivatives, which are the derivatives of their derivatives; of quantities that keep their loops in long chains
the product of a vector with the Jacobian too (`vjp`), which keeps them.  Tracing, differentiating and compiling, CPU
time; once for one state, and what the first batch takes besides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import chains, dynamics
from ..arm import Arm
from ..compile import compiled, engine
from ..compile.kernel import Kernel
from ..errors import ModelError
from ..loading import load
from .peers.calls import UNCACHED, environment
from .timing import Progress, cpu_name, load_average, silent

VJP = "all, vjp"


@dataclass(frozen=True)
class DerivativeRow:
    """A first call of a derivative."""

    robot: str
    n: int
    quantity: str
    by: str
    operations: int  # 0: with loops over the joints
    seconds: float  # of CPU time, until the first result
    batch: float  # of CPU time, for the first batch after that
    refused: str = ""  # why there is none


@dataclass(frozen=True)
class FirstCallReport:
    """All rows, and what they were measured on."""

    rows: list[DerivativeRow]
    cpu: str
    load: float | None = field(default_factory=load_average)
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)


def run(
    robots: Sequence[str] = ("panda",),
    *,
    joints: Sequence[int] = (),
    quantities: Sequence[str] = (),
    progress: Progress = silent,
) -> FirstCallReport:
    """The derivatives of quantities (all, if none is named) of arms, and of random chains of so many joints."""
    arms = [chains.random(n, seed=1) for n in joints] or [load(name) for name in robots]
    rows = []
    chains.random(2, seed=0).mass_matrix(np.zeros(2))  # LLVM itself is ready
    for arm in arms:
        for name, by in _derivatives(quantities):
            progress(f"{arm.name}: {name} by {by}")
            rows.append(_measured(arm, name, by))
    return FirstCallReport(rows, cpu_name())


def _derivatives(quantities: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in quantities or dynamics.REGISTRY:
        what = dynamics.quantity(name)
        for by in (*what.inputs, *([VJP] if what.looped else [])):
            yield name, by


def _reverse(arm: Arm, name: str) -> Kernel:
    """The kernel of a vector times the Jacobian of a quantity, by all its inputs."""
    return compiled(dynamics.chosen(arm.model, name)[1].vjp())


def _measured(arm: Arm, name: str, by: str) -> DerivativeRow:
    fresh = Arm(arm.model)
    engine.forget()
    with environment(**UNCACHED):
        start = time.process_time()
        try:
            kernel = _reverse(fresh, name) if by == VJP else fresh.compile(name, derivative=by)
        except ModelError as error:
            return DerivativeRow(arm.name, arm.n, name, by, 0, time.process_time() - start, 0.0, str(error))
        shapes = [port.shape for port in kernel.signature.inputs]
        kernel(*map(np.zeros, shapes))
        single = time.process_time() - start
        operations = len(getattr(kernel.program, "operations", ()))
        start = time.process_time()
        kernel(*[np.zeros((8, *shape)) for shape in shapes])
        return DerivativeRow(arm.name, arm.n, name, by, operations, single, time.process_time() - start)
