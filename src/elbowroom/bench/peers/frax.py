"""frax: kinematics and dynamics in JAX, built from our own Model and timed as its makers advise.

Functions are jitted, and for a batch vmapped; arrays lie on the device before the clock starts; the result is waited
for (`block_until_ready`); compiling and the first call happen before.  float64 where we use float64.  On a CPU the
settings that its README recommends are made, if JAX is not imported already.  Rotors and friction, which it does not
know, are left out of its robot: it has less to do.

    robot(arm)                      its Manipulator
    functions(arm)                  quantity -> a plain function of its inputs, for one state, to jit as you like
    compiled(function, arrays)      one of them jitted for arrays of these shapes and type; vmapped if they are (B, n)
    on_device(Q, dtype, device)     such an array
    peer(arm)                       all of it as a contender, in float64 on JAX's default device
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ...arm import Arm
from ...export import urdf
from .calls import POSE_AND_JACOBIAN, Peer

NAME = "frax"
FLAGS = ("--xla_cpu_multi_thread_eigen=false", "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED")
SCHEDULER_SINCE = (0, 9, 1)  # JAX's version from which the second of them is known
INPUTS = {
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    POSE_AND_JACOBIAN: ("q",),
}
DIFFERENTIATED = ("inverse_dynamics", "forward_dynamics")
BATCHED = ("mass_matrix", "inverse_dynamics", "forward_dynamics")


def library() -> ModuleType:
    """frax, imported with the settings that it recommends; ImportError where it is not installed."""
    if "jax" not in sys.modules:
        set_already = os.environ.get("XLA_FLAGS", "")
        wanted = [flag for flag in _known_flags() if flag.split("=")[0] not in set_already]
        os.environ["XLA_FLAGS"] = " ".join([set_already, *wanted]).strip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for settings of the whole process, precision among them
        return importlib.import_module("frax")


def version() -> str:
    """Of it and of what it runs on."""
    return f"{importlib.metadata.version(NAME)} on JAX {importlib.import_module('jax').__version__}"


def _known_flags() -> tuple[str, ...]:
    """Those that the installed JAX knows: a flag that it does not know ends the process."""
    try:
        version = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        return ()
    return FLAGS if tuple(map(int, re.findall(r"\d+", version)[:3])) >= SCHEDULER_SINCE else FLAGS[:1]


def precision(dtype: DTypeLike) -> AbstractContextManager[object]:
    """Within it JAX traces and makes arrays in this precision."""
    jax = importlib.import_module("jax")
    double: AbstractContextManager[object] = jax.enable_x64(np.dtype(dtype) == np.float64)
    return double


def on_device(array: ArrayLike, dtype: DTypeLike = np.float64, device: object = None) -> Any:
    """A JAX array with these numbers, there before anything is timed."""
    jax = importlib.import_module("jax")
    with precision(dtype):
        return jax.device_put(np.asarray(array, dtype), device).block_until_ready()


def robot(arm: Arm) -> Any:
    """frax's Manipulator of the arm, through a URDF file of ours; the root gets the (empty) body that it looks for."""
    library()
    manipulator = importlib.import_module("frax.core.manipulator").Manipulator
    root = ET.fromstring(urdf(arm.model))
    link = root.find("link")
    assert link is not None  # ours: the root comes first
    body = ET.SubElement(link, "inertial")
    ET.SubElement(body, "mass", value="0")
    ET.SubElement(body, "inertia", dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        ET.ElementTree(root).write(path)
        return manipulator(path, ee_offset=np.array(arm.model.tool))


def functions(arm: Arm) -> dict[str, Callable[..., object]]:
    """Quantity -> a function of one state's inputs (`INPUTS`), to be jitted."""
    theirs = robot(arm)
    jnp = importlib.import_module("jax.numpy")
    lift = -np.array([*arm.model.gravity, 0.0, 0.0, 0.0])

    def inverse_dynamics(q: object, qd: object, qdd: object) -> object:
        return theirs.rnea(q, qd, qdd, jnp.asarray(lift), None)

    return {
        "mass_matrix": theirs.mass_matrix,
        "mass_matrix_inverse": lambda q: theirs.mass_matrix_inverse(theirs.mass_matrix(q)),
        "inverse_dynamics": inverse_dynamics,
        "forward_dynamics": lambda q, qd, tau: theirs.forward_dynamics(q, qd, tau, None),
        POSE_AND_JACOBIAN: lambda q: theirs.velocity_control_matrices(q)[::-1],
    }


def batched(arm: Arm) -> dict[str, Callable[..., object]]:
    """Those of them that are timed in batches."""
    made = functions(arm)
    return {quantity: made[quantity] for quantity in BATCHED}


def derivatives(arm: Arm) -> dict[str, Callable[..., object]]:
    """Of inverse and forward dynamics by all their inputs, by `jax.jacfwd`: (7, 7) each for a Panda."""
    made = functions(arm)
    jacfwd = importlib.import_module("jax").jacfwd
    return {f"{name}_derivatives": jacfwd(made[name], argnums=(0, 1, 2)) for name in DIFFERENTIATED}


def compiled(function: Callable[..., object], arrays: Sequence[Any]) -> Any:
    """Jitted for these arrays, vmapped where they have a batch axis; called once already."""
    jax = importlib.import_module("jax")
    many = arrays[0].ndim > 1
    with precision(arrays[0].dtype):
        ready = jax.jit(jax.vmap(function) if many else function).lower(*arrays).compile()
    jax.block_until_ready(ready(*arrays))
    return ready


def peer(arm: Arm) -> Peer:
    """frax on this arm, in float64 on JAX's default device."""
    jax = importlib.import_module("jax")
    made = functions(arm)
    cache: dict[tuple[str, int], Any] = {}

    def call(quantity: str) -> Callable[..., object]:
        def run(*arrays: Any) -> object:
            key = quantity, arrays[0].size
            if key not in cache:
                cache[key] = compiled(made[quantity], arrays)
            return cache[key](*arrays)

        return run

    names: dict[str, object] = {f"f{k}": call(quantity) for k, quantity in enumerate(INPUTS)} | {"jax": jax}
    texts = {q: f"f{k}({', '.join(inputs)}).block_until_ready()" for k, (q, inputs) in enumerate(INPUTS.items())}
    pair = list(INPUTS).index(POSE_AND_JACOBIAN)
    texts[POSE_AND_JACOBIAN] = f"jax.block_until_ready(f{pair}(q))"
    return Peer(
        NAME,
        version(),
        names,
        one=texts,
        many={quantity: texts[quantity] for quantity in BATCHED},
        ready=on_device,
        ready_one=on_device,
    )
