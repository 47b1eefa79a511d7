"""The machine's own C compiler for tests: sources into a shared library, and its functions as Python functions."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from elbowroom.compile import engine

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler (cc, gcc, clang) on this machine")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
# What makes a compiler fuse where the kernels do; ARM's 64-bit compilers need no word.
HOST_FMA = engine.host().fma
FUSED = ["-mfma"] if HOST_FMA and platform.machine() in ("x86_64", "AMD64") else []


def compiled(command: list[str | Path], *, cwd: Path) -> subprocess.CompletedProcess:
    """Runs a compiler, and shows what it says if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return done


def library(folder: Path, sources: list[Path], *flags: str, strict: bool = True) -> ctypes.CDLL:
    """Sources in one shared library.  -O0: seconds matter, and every step is done as it is written."""
    path = folder / f"lib{abs(hash(flags))}.so"
    options = STRICT if strict else []
    compiled([CC, *options, "-O0", *flags, "-fPIC", "-shared", "-o", path, *sources, "-lm"], cwd=folder)
    return ctypes.CDLL(str(path))


def called(lib: ctypes.CDLL, name: str, program, inputs: dict[str, np.ndarray], dtype=np.float64) -> dict:
    """The outputs of a generated function, for every state of the inputs."""
    function = getattr(lib, name)
    function.restype = None
    states = len(next(iter(inputs.values())))
    given = {p.name: np.ascontiguousarray(inputs[p.name], dtype) for p in program.inputs}
    found = {p.name: np.full((states, *p.shape), np.nan, dtype) for p in program.outputs}
    for s in range(states):
        arrays = [given[p.name][s : s + 1] for p in program.inputs] + [
            found[p.name][s : s + 1] for p in program.outputs
        ]
        function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    return found
