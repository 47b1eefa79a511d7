"""What the doctor tries in a process of its own, so that what crashes there does not take the doctor with it.

    python probe.py import viser trimesh       a line a package: its name and its version, or what went wrong
    python probe.py kernel                     one kernel, compiled anew, against the reference
    python probe.py cuda                       the devices that CuPy sees

Every line is JSON, {MARK: facts}, and is written at once: after a crash the last one says how far it came.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

MARK = "elbowroom doctor"


def say(**facts: Any) -> None:
    """One line for the doctor, marked as ours and begun anew: packages print what they like."""
    out = sys.__stdout__
    assert out is not None  # the doctor reads it
    out.write("\n" + json.dumps({MARK: facts}) + "\n")
    out.flush()


def imports(names: list[str]) -> None:
    """Each module in turn; whatever it raises is told."""
    for name in names:
        say(module=name, trying=True)
        try:
            found = importlib.import_module(name)
        except BaseException as error:  # a broken package may raise anything
            say(module=name, error=f"{type(error).__name__}: {error}"[:200])
        else:
            say(module=name, version=str(getattr(found, "__version__", "")))


def kernel() -> None:
    """The Panda's mass matrix: compiled, not from the cache, and beside what the algorithm gives without a compiler."""
    import os

    os.environ["ELBOWROOM_CACHE"] = "off"
    import numpy as np

    from elbowroom import dynamics
    from elbowroom.loading import load

    arm = load("panda")
    start = time.perf_counter()
    compiled = arm.compile("mass_matrix")
    took = time.perf_counter() - start
    rng = np.random.default_rng(0)
    states = rng.uniform(arm.model.lower, arm.model.upper, (16, arm.n))
    wanted = np.array([dynamics.whole("mass_matrix", "crba")(arm.model, q) for q in states])
    off = max(
        float(np.abs(found - wanted).max()) for found in (np.array([compiled(q) for q in states]), compiled(states))
    )
    best, q = np.inf, states[0]
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            compiled(q)
        best = min(best, (time.perf_counter() - start) / 100)
    say(compiled_s=took, off=off / float(np.abs(wanted).max()), call_s=best)


def cuda() -> None:
    """CuPy and its devices."""
    import cupy

    runtime = cupy.cuda.runtime
    count = runtime.getDeviceCount()
    names = [runtime.getDeviceProperties(k)["name"].decode() for k in range(count)]
    say(cupy=cupy.__version__, devices=names, runtime=runtime.runtimeGetVersion())


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "import":
        imports(rest)
    else:
        try:
            {"kernel": kernel, "cuda": cuda}[what]()
        except BaseException as error:
            say(error=f"{type(error).__name__}: {error}"[:300])
