"""What elbowroom needs: Python and packages, one kernel that computes what it should, the kernel cache."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .parts import BROKEN, CORE, NOTE, OK, PACKAGE, Finding, imported, probe, short, version

EQUAL = 1e-12  # of the largest entry: roundings of sums of a few hundred products
MODULES = {"numpy": "NumPy", "llvmlite": "llvmlite"} | dict.fromkeys(
    ("defusedxml", "platformdirs", "typer", "rich", "trimesh", "pycollada"), ""
)
"""The packages of pyproject.toml; those with a name have a line of their own."""
IMPORTED = {"pycollada": "collada"}  # by another name


def python() -> Iterator[Finding]:
    """elbowroom itself, and the interpreter."""
    own = _own_version()
    yield Finding(CORE, "elbowroom", OK, f"{own}, in {short(PACKAGE)}", {"version": own, "path": str(PACKAGE)})
    said = f"{platform.python_version()}, {platform.python_implementation()}, {platform.system()} {platform.machine()}"
    fits = sys.version_info >= (3, 11)
    text = said if fits else f"{said}; elbowroom needs 3.11 or newer"
    yield Finding(CORE, "Python", OK if fits else BROKEN, text, {"version": platform.python_version()})


def _own_version() -> str:
    """From the source, which may run without being installed."""
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    return next((line.split('"')[1] for line in text.splitlines() if line.startswith("__version__")), "unknown")


def packages() -> Iterator[Finding]:
    """Each package that the core cannot do without, imported in a process of its own."""
    results = imported([IMPORTED.get(module, module) for module in MODULES])
    others = []
    for module, shown in MODULES.items():
        known, error = results[IMPORTED.get(module, module)]
        known = known or version(module)
        if error:
            text, mend = f"cannot be imported: {error}", f"pip install --force-reinstall {module}"
            yield Finding(CORE, shown or module, BROKEN, text, {"module": module}, mend)
        elif not shown:
            others.append(f"{module} {known}".strip())
        else:
            beside = f", LLVM {_llvm()}" if module == "llvmlite" else ""
            yield Finding(CORE, shown, OK, f"{known}{beside}", {"version": known})
    if others:
        yield Finding(CORE, "others", OK, ", ".join(others))


def _llvm() -> str:
    try:
        import llvmlite.binding

        return ".".join(map(str, llvmlite.binding.llvm_version_info))
    except Exception:
        return "unknown"


def kernel() -> Iterator[Finding]:
    """One kernel, compiled now, beside the same algorithm without a compiler."""
    lines, problem = probe("kernel")
    facts: dict[str, Any] = lines[-1] if lines else {}
    problem = facts.get("error") or problem
    mend = "pip install --force-reinstall . llvmlite numpy"
    if "off" not in facts:
        yield Finding(CORE, "self check", BROKEN, f"no kernel could be compiled: {problem or 'no answer'}", facts, mend)
    elif not facts["off"] <= EQUAL:
        text = f"a compiled mass matrix differs from the reference by {facts['off']:.1e}: trust no numbers here"
        yield Finding(CORE, "self check", BROKEN, text, facts, mend)
    else:
        text = (
            f"a mass matrix: compiled in {1e3 * facts['compiled_s']:.0f} ms, equal to the reference"
            f" ({facts['off']:.0e}), {1e6 * facts['call_s']:.1f} us a call"
        )
        yield Finding(CORE, "self check", OK, text, facts)


def kernel_cache() -> Iterator[Finding]:
    """Kernels on disk.  Without them everything works, but each process compiles again."""
    name, again = "kernel cache", "each process compiles again"
    told = os.environ.get("ELBOWROOM_CACHE", "")
    if told.lower() in ("off", "0", "none"):
        yield Finding(CORE, name, NOTE, f"off, by ELBOWROOM_CACHE={told}: {again}", {"path": None})
        return
    from elbowroom import disk_cache as cache

    path = (Path(told).expanduser() if told else cache._default()) / "kernels"
    data: dict[str, Any] = {"path": str(path), "writable": False}
    if cache.folder() is None:
        open_to_others = path.is_dir()
        why = "not yours alone" if open_to_others else "it cannot be made"
        mend = f"chmod 700 {path}" if open_to_others else "export ELBOWROOM_CACHE=/some/folder/of/yours"
        yield Finding(CORE, name, NOTE, f"{short(path)} is not used ({why}): {again}", data, mend)
        return
    files = [file.lstat().st_size for file in path.iterdir() if not file.name.startswith(".")]
    size = f"{len(files)} files, {sum(files) / 1e6:.0f} of at most {cache.LARGEST / 1e6:.0f} MB"
    data |= {"files": len(files), "bytes": sum(files), "most_bytes": cache.LARGEST}
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"elbowroom")
    except OSError as error:
        text = f"{short(path)}, {size}, cannot be written ({error.strerror}): {again}"
        yield Finding(CORE, name, NOTE, text, data, "export ELBOWROOM_CACHE=/some/folder/of/yours")
        return
    yield Finding(CORE, name, OK, f"{short(path)}, {size}, can be written", data | {"writable": True})
