"""`elbowroom bench gpu-derivatives`: derivatives on a graphics card, mass matrices of 14 to 20 joints, and gradients.

    derivatives    of inverse and forward dynamics by all their inputs, beside jax.jacfwd of frax under jit and vmap; of
                   the arm without friction and rotors, which frax does not know, so that both compute the same numbers
    chains         mass matrices of random chains, whose values a thread has too few registers for
    gradients      torch's gradcheck with tensors on the card, and JAX's gradients of arrays there

Rows are those of `bench gpu`: time, part of the card's copy, difference from the CPU.
"""

from __future__ import annotations

import dataclasses
import importlib
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
        notes += [_torch(arm), _jax(arm)]
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
