"""`elbowroom bench gpu-derivatives`: derivatives on a graphics card, mass matrices of 14 to 20 joints, and gradients.

    derivatives    of inverse and forward dynamics by all their inputs, beside jax.jacfwd of frax under jit and vmap; of
                   the arm without friction and rotors, which frax does not know, so that both compute the same numbers
    chains         mass matrices of random chains, whose values a thread has too few registers for
    gradients      torch's gradcheck with tensors on the card, and JAX's gradients of arrays there: by kernels of the
                   CPU, and by kernels of the card in XLA's own stream, between steps of XLA that they depend on

Rows are those of `bench gpu`: time, part of the card's copy, difference from the CPU.
"""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import chains
from ..arm import Arm
from ..errors import ElbowroomError
from ..loading import load
from .gpu import DTYPES, ROUNDS, CardReport, difference, frax_contenders, measured, raced, reported
from .peers import frax
from .timing import Progress, Row, silent

JOINTS = (14, 16, 18, 20)
FRAX_STATES = (1 << 13, 1 << 15, 1 << 17)  # the best of them counts; 2**19 need more than 56 GB of a card
GRADIENTS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
IN_STREAM, SLOPES, TIMED = 100_000, 200, 1 << 20  # states in JAX's stream: of values, of gradients, timed
IN_STREAM_DIFFERS = 1e-10  # of the largest: M^-1 multiplies rounding, and sums of adjoints go another way


def run(
    robots: Sequence[str] = ("panda",),
    *,
    joints: Sequence[int] = JOINTS,
    states: int | None = None,
    rounds: int = ROUNDS,
    progress: Progress = silent,
) -> CardReport:
    """All three parts, batches of so many states or of as many as move some gigabytes."""
    arms = [bare(load(name)) for name in robots]
    card = measured(rounds, progress)
    rows: list[Row] = []
    missing: list[str] = []
    for arm in arms:
        theirs = frax_contenders(arm, missing, frax.derivatives, FRAX_STATES)
        for dtype in DTYPES:
            for name in frax.DIFFERENTIATED:
                progress(f"{arm.name}: {name}_derivatives, {dtype}")
                rows += raced(card, arm, f"{name}_derivatives", dtype, theirs, rounds, states)
    for n in joints:
        chain = chains.random(n, seed=1)
        for dtype in DTYPES:
            progress(f"{chain.name}: mass_matrix, {dtype}")
            rows += raced(card, chain, "mass_matrix", dtype, lambda *_: None, rounds, states)
    notes = (
        [] if missing else ["frax: jax.jacfwd, jitted and vmapped, arrays on the card before, the best of three sizes."]
    )
    for arm in arms:
        progress(f"{arm.name}: gradients in torch and JAX")
        notes += [_torch(arm), _jax(arm), _jax_on_card(arm)]
    return reported(card, rows, missing, notes)


def bare(arm: Arm) -> Arm:
    """The arm without friction and rotors."""
    model = arm.model.without_friction()
    return Arm(dataclasses.replace(model, rotor_inertia=np.zeros(model.n)))


def _torch(arm: Arm) -> str:
    """Gradients of kernels on the card against differences, by torch itself."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return "torch: not installed."
    if not torch.cuda.is_available():
        return "torch: sees no card."
    rng = np.random.default_rng(0)
    for name in GRADIENTS:
        kernel = arm.compile(name, device="cuda")
        states = rng.uniform(-1, 1, (len(kernel.signature.inputs), 3, arm.n))
        tensors = [torch.tensor(x, device="cuda", requires_grad=True) for x in states]
        if not torch.autograd.gradcheck(kernel, tensors):
            raise ElbowroomError(f"{arm.name}: torch's gradcheck of {name} failed")
    return f"torch {torch.__version__}: gradcheck of {', '.join(GRADIENTS)} passes with tensors on the card."


def _jax(arm: Arm) -> str:
    """Gradients of arrays on the card under jit and vmap, against the derivatives on the CPU."""
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        return "JAX: not installed."
    device = jax.devices()[0]
    if device.platform == "cpu":
        return "JAX: sees no card."
    states = np.random.default_rng(0).uniform(-1, 1, (3, 5, arm.n))
    kernel = arm.compile("inverse_dynamics")
    with frax.precision(np.float64):
        arrays = [jax.device_put(x, device) for x in states]
        found: Any = jax.jit(jax.vmap(jax.jacrev(kernel, argnums=(0, 1, 2))))(*arrays)
        where = ", ".join(sorted({str(next(iter(x.devices())).platform) for x in found}))
    differs = difference([np.asarray(x) for x in found], arm.inverse_dynamics_derivatives(*states))
    if differs > 1e-12:  # the same operations in another order
        raise ElbowroomError(f"{arm.name}: JAX's gradients on the card differ from the CPU's by {differs:.1e}")
    what = f"jit, vmap and jacrev of inverse_dynamics, arrays on {where}"
    return f"JAX {jax.__version__}: {what}: {differs:.1e} from the CPU's."


def _jax_on_card(arm: Arm) -> str:
    """Kernels of the card in XLA's stream there: values and gradients against the CPU's, and the time of a batch."""
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        return "JAX in its own stream: not installed."
    device = jax.devices()[0]
    if device.platform == "cpu":
        return "JAX in its own stream: sees no card."
    differs = 0.0
    with frax.precision(np.float64):
        for name in GRADIENTS:
            kernel, on_cpu = arm.compile(name, device="cuda"), arm.compile(name)
            ports = range(len(kernel.signature.inputs))
            states = np.random.default_rng(1).uniform(-1, 1, (len(ports), IN_STREAM, arm.n))
            arrays = [jax.device_put(x, device) for x in states]
            differs = max(differs, _between(jax, kernel, on_cpu, arrays, states))
            slopes = jax.jit(jax.vmap(jax.jacrev(kernel, argnums=tuple(ports))))(*(x[:SLOPES] for x in arrays))
            exact = arm.compile(name, derivative=tuple(p.name for p in kernel.signature.inputs))
            wanted = exact(*(x[:SLOPES] for x in states))
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            differs = max(differs, difference([np.asarray(x) for x in slopes], tuple(wanted)))
        kernel = arm.compile("inverse_dynamics", device="cuda")
        wide = [jax.device_put(np.random.default_rng(2).uniform(-1, 1, (TIMED, arm.n)), device) for _ in range(3)]
        jitted = jax.jit(kernel)
        taken = [_seconds(jitted, wide) for _ in range(ROUNDS)]
    if differs > IN_STREAM_DIFFERS:
        raise ElbowroomError(f"{arm.name}: kernels in JAX's stream on the card differ from the CPU's by {differs:.1e}")
    what = f"values and jit, vmap and jacrev of {', '.join(GRADIENTS)}: {differs:.1e} from the CPU's"
    return f"JAX in its own stream: {what}; inverse_dynamics {min(taken) / TIMED * 1e12:.0f} ps a state of {TIMED}."


def _between(jax: Any, kernel: Any, on_cpu: Any, arrays: Sequence[Any], states: Any) -> float:
    """A kernel between steps of XLA whose results it takes, and which take its own: wrong where it does not wait."""

    def before_and_after(*xs: Any) -> Any:
        return 3.0 * kernel(*(jax.numpy.sort(2.0 * x, axis=0) for x in xs)) + 1.0

    found = jax.jit(before_and_after)(*arrays)
    wanted = 3.0 * on_cpu(*(np.sort(2.0 * x, axis=0) for x in states)) + 1.0
    return float(difference([np.asarray(found)], wanted))


def _seconds(function: Any, arrays: Sequence[Any]) -> float:
    began = time.perf_counter()
    function(*arrays).block_until_ready()
    return time.perf_counter() - began
