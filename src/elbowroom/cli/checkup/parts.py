"""What the looks have in common: findings, and ways to try things that cannot take the doctor with them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OK, NOTE, MISSING, BROKEN = "ok", "note", "missing", "broken"
"""How it is: good; worth knowing; an extra that is not there; something that should work and does not."""

CORE, MACHINE, EXTRAS = "What elbowroom needs", "This machine", "Extras, each for some features"
PACKAGE = Path(__file__).parents[2]
PROBE = 60.0  # s that a process may take
MARK = "elbowroom doctor"  # as in probe.py


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: where it is told, its name, how it is, in words, as data, and what mends it."""

    section: str
    name: str
    state: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    mend: str = ""


def there(module: str) -> bool:
    """Whether there is such a module, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError, AttributeError):  # one that is there in part
        return False


def version(package: str) -> str:
    """Of a package as it is installed; empty if it is not."""
    try:
        return importlib.metadata.version(package)
    except Exception:  # not installed as a package, or its record is broken
        return ""


def imported(modules: list[str]) -> dict[str, tuple[str, str]]:
    """Module -> (version, what went wrong).  One that ends the process is told, and the rest is tried again."""
    found: dict[str, tuple[str, str]] = {}
    left = list(modules)
    while left:
        lines, problem = probe("import", *left)
        now = ""
        for line in lines:
            now = str(line.get("module", ""))
            if not line.get("trying"):
                found[now] = str(line.get("version", "")), str(line.get("error", ""))
        if now and now not in found:
            found[now] = "", problem or "the process ended"
        rest = [module for module in left if module not in found]
        if len(rest) == len(left):  # nothing was learnt: no process, or no answer
            found |= dict.fromkeys(rest, ("", problem or "no answer"))
            rest = []
        left = rest
    return found


def probe(*what: str) -> tuple[list[dict[str, Any]], str]:
    """The lines of probe.py, and how it ended if it did not end well."""
    program = Path(__file__).with_name("probe.py")
    paths = [str(PACKAGE.parent), *(path for path in sys.path if path)]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", str(program), *what],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )
        out, problem = done.stdout, ""
        if done.returncode < 0:
            problem = f"it crashed (signal {-done.returncode})"
        elif done.returncode:
            problem = " ".join(done.stderr.strip().splitlines()[-1:]) or f"it ended with status {done.returncode}"
    except subprocess.TimeoutExpired as error:
        out = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else error.stdout or ""
        problem = f"it took longer than {PROBE:.0f} s"
    except OSError as error:
        return [], f"no process could be started: {error.strerror}"
    lines = []
    for line in out.splitlines():
        try:
            facts = json.loads(line)
        except ValueError:
            continue  # what a package prints when it is imported
        if isinstance(facts, dict) and isinstance(facts.get(MARK), dict):
            lines.append(facts[MARK])
    return lines, problem


def short(path: Path) -> str:
    """With ~ for the home folder."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


def said(error: BaseException) -> str:
    """An error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
