"""xacro: a URDF written by macros and expressions, evaluated by the package `xacro`, which needs no ROS.

A xacro file is a program: its expressions are Python's, and it reads files and the environment.  So it is evaluated
only when the caller says so (`xacro=True`, `--xacro`, or ELBOWROOM_XACRO=1, which processes of ours hand on), in a
process of its own with a limit of time and memory.  What comes out of it is read as any URDF.  `$(find name)` is looked
for as `package://name` is (model/packages.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ..errors import ModelError, pip_install
from .urdf_xml import MAX_BYTES

ALLOWED = "ELBOWROOM_XACRO"
SECONDS = 30.0
MEMORY = 2 * 1024**3
KEPT = 16
"""Evaluations that are kept: an arm is read for its model and again for its looks."""
_NOTICE, _FILE = "elbowroom notice: ", "elbowroom file: "
_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
_MISSING = 3  # exit status of the process where the package is not installed


class Expanded(NamedTuple):
    """A URDF, and what is worth saying about how it came to be."""

    urdf: bytes
    notices: tuple[str, ...] = ()


def is_xacro(path: Path, data: bytes, allowed: bool) -> bool:
    """Whether a file is to be evaluated: by its name, or where that is allowed by what is in it."""
    return path.suffix.lower() == ".xacro" or ((allowed or _permitted()) and b"<xacro:" in data)


def _permitted() -> bool:
    return os.environ.get(ALLOWED) == "1"


def expanded(path: Path, data: bytes, allowed: bool) -> Expanded:
    """The URDF that a xacro file gives; evaluated again where it, or a file that it includes, has changed."""
    if not (allowed or _permitted()):
        raise ModelError(
            f"{path}: this is a xacro file, which runs expressions when it is read; if you trust it: --xacro "
            "(xacro=True in Python), or run xacro first, as in: xacro arm.xacro > arm.urdf"
        )
    key = (str(path.absolute()), data, *(os.environ.get(name) for name in _PATHS))
    kept = _evaluated.get(key)
    if kept is None or any(_stamp(file) != stamp for file, stamp in kept[1].items()):
        found, files = _run(str(path.absolute()))
        kept = found, {file: _stamp(file) for file in files}
        _evaluated.pop(key, None)
        _evaluated[key] = kept
        while len(_evaluated) > KEPT:
            _evaluated.pop(next(iter(_evaluated)), None)
    return kept[0]


_evaluated: dict[tuple[str | bytes | None, ...], tuple[Expanded, dict[str, tuple[int, int] | None]]] = {}
"""By path, content and where packages are looked for: the URDF, and the files that it includes as they were then."""


def _stamp(file: str) -> tuple[int, int] | None:
    """What changes with a file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _run(path: str) -> tuple[Expanded, list[str]]:
    """What xacro gives, and the files that it included."""
    command = [sys.executable, "-c", _PROGRAM, path, str(MEMORY)]
    kept = ("PATH", "HOME", "PYTHONPATH", *_PATHS, "SYSTEMROOT")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=SECONDS, env=environment, cwd=Path(path).parent, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{path}: xacro did not end within {SECONDS:g} s") from error
    if done.returncode == _MISSING:
        raise ModelError(f"{path}: a xacro file is evaluated by the package xacro: {pip_install('xacro')}")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        told = "; ".join(line.strip() for line in lines[-3:]) or f"exit status {done.returncode}"
        raise ModelError(f"{path}: xacro does not take it: {told[-300:]}")
    if len(done.stdout) > MAX_BYTES:
        raise ModelError(f"{path}: xacro must not give more than {MAX_BYTES / 1e6:g} MB")
    lines = done.stderr.decode("utf-8", "surrogateescape").splitlines()
    notices = dict.fromkeys(line[len(_NOTICE) :] for line in lines if line.startswith(_NOTICE))
    files = [line[len(_FILE) :] for line in lines if line.startswith(_FILE)]
    return Expanded(done.stdout, tuple(notices)), files


_PROGRAM = f"""
import sys
try:
    import xacro
except ImportError:
    sys.exit({_MISSING})
path, memory = sys.argv[1], int(sys.argv[2])
from pathlib import Path
from xacro import substitution_args
from elbowroom.model.packages import model_folders, package_folders, taken_instead
def find(name):
    for folder in package_folders(name, Path(path)):
        return str(folder)
    own = model_folders(Path(path))
    if len(own) < 2:
        raise RuntimeError(f"no package {{name!r}} in the tree of the file or ROS_PACKAGE_PATH")
    print("{_NOTICE}" + taken_instead(name), file=sys.stderr)
    return str(own[-1])
substitution_args._eval_find = find
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
except (ImportError, ValueError, OSError):
    pass
try:
    text = xacro.process_file(path).toxml()
except (Exception, SystemExit) as error:
    sys.exit(f"{{type(error).__name__}}: {{error}}")
for file in dict.fromkeys(xacro.all_includes):
    print("{_FILE}" + file, file=sys.stderr)
sys.stdout.buffer.write(text.encode("utf-8"))
"""
