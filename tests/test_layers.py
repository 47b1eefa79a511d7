"""Imports go one way (ARCHITECTURE.md, section 2): the AST of every file is walked, function bodies included."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import elbowroom as er

SOURCE = Path(er.__file__).parent
ORDER = ["errors", "reading", "algebra", "model", "dynamics", "arm"]
LATER = (
    ["chains", "loading", "simulation", "codegen", "export"],
    ["geometry"],
    ["avoidance"],
    ["cell"],
    ["connect"],
    ["counting"],
    ["experiments", "bench"],
    ["viewer"],
    ["cli"],
)

ALLOWED: dict[str, set[str]] = {"errors": set(), "reading": {"errors"}, "algebra": {"errors"}}
ALLOWED["disk_cache"] = set()
ALLOWED["arrays"] = {"errors"}
ALLOWED["model"] = {"errors", "reading", "algebra", "disk_cache"}
ALLOWED["dynamics"] = {"errors", "arrays", "algebra", "model"}
ALLOWED["compile"] = {"errors", "algebra", "disk_cache"}  # machine rooms know nothing of robots
ALLOWED["arm"] = ALLOWED["dynamics"] | {"dynamics", "compile", "disk_cache"}
_below = ALLOWED["arm"] | {"arm", "reading"}
for _rooms in LATER:
    for _room in _rooms:
        ALLOWED[_room] = set(_below)
    _below |= set(_rooms)
ALLOWED["loading"] |= {"chains"}
ALLOWED["__init__"] = _below - {"cli", "bench", "viewer", "experiments", "counting"}  # import elbowroom stays light
ALLOWED["__main__"] = {"cli"}
ALLOWED["cli"] |= {"__init__"}
ALLOWED["bench"] |= {"__init__"}
ALLOWED["codegen"] |= {"__init__"}  # its version is in what it writes
ALLOWED["experiments"] |= {"__init__"}


def room(path: Path) -> str:
    """The room of a file: its top folder, or its own name at the top."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imported_rooms(path: Path, text: str | None = None) -> set[str]:
    """The rooms of elbowroom that a file imports from, anywhere in it."""
    package = ["elbowroom", *path.relative_to(SOURCE).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text() if text is None else text)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            targets = [[*module, alias.name] for alias in node.names] if len(module) == 1 else [module]
        elif isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] == "elbowroom":
                top = target[1] if len(target) > 1 else "__init__"
                known = (SOURCE / top).is_dir() or (SOURCE / f"{top}.py").exists()
                found.add(top if known else "__init__")
    return found


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    here = room(path)
    assert here in ALLOWED, f"a new room: say in tests/test_layers.py what {here} stands on"
    wrong = imported_rooms(path) - ALLOWED[here] - {here}
    assert not wrong, f"{here} must not import {', '.join(sorted(wrong))}"


@pytest.mark.parametrize(
    "path, text, rooms",
    [
        ("model/model.py", "from ..errors import ModelError", {"errors"}),
        ("model/model.py", "from .. import dynamics", {"dynamics"}),
        ("model/model.py", "from ..dynamics.crba import mass_matrix", {"dynamics"}),
        ("model/model.py", "def f():\n    import elbowroom.arm", {"arm"}),
        ("model/model.py", "from elbowroom import load", {"__init__"}),
        ("model/model.py", "from .inertia import Body", {"model"}),
        ("arm.py", "from . import dynamics\nfrom .compile import cpu", {"dynamics", "compile"}),
        ("arm.py", "import numpy", set()),
    ],
)
def test_the_walker_sees_every_way_to_import(path, text, rooms):
    assert imported_rooms(SOURCE / path, text) == rooms


FORMULAS = ("algebra", "dynamics", "geometry", "avoidance")
MACHINE = {"os", "time", "datetime", "pathlib", "tempfile", "subprocess", "socket", "random", "io", "shutil"}


DOORS = {"avoidance/settings.py", "avoidance/safety/flight_recorder.py"}
"""Where settings files enter and recordings leave; the rest of these rooms computes."""


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if room(p) in FORMULAS and p.relative_to(SOURCE).as_posix() not in DOORS],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_formula_rooms_read_no_files_clocks_or_environment(path):
    tree = ast.parse(path.read_text())
    imported = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {
        n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level
    }
    assert not imported & MACHINE
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not called & {"open", "print", "input", "exec", "eval"}


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if room(p) not in ("cli", "bench")],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_the_library_has_no_print(path):
    tree = ast.parse(path.read_text())
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert "print" not in called
