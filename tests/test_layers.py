"""Imports go one way (ARCHITECTURE.md, section 2): the AST of every file is walked, function bodies included."""

from __future__ import annotations

import ast
from functools import cache
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
    ["experiments"],
    ["identification"],
    ["bench"],
    ["campaign"],
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
ALLOWED["__init__"] = _below - {
    "cli",
    "bench",
    "campaign",
    "viewer",
    "experiments",
    "identification",
    "counting",
}  # import elbowroom stays light
ALLOWED["__main__"] = {"cli"}
ALLOWED["cli"] |= {"__init__"}
ALLOWED["bench"] |= {"__init__"}
ALLOWED["campaign"] |= {"__init__"}  # its version is in what it writes
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
    for node in ast.walk(tree(path) if text is None else ast.parse(text)):
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


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def found_in(paths: list[Path], look) -> dict[str, list[str]]:
    """What `look` finds in each of these files, where it finds anything."""
    assert paths, "no files to look at"
    found = {name(path): sorted(look(path)) for path in paths}
    return {where: what for where, what in found.items() if what}


def called(path: Path) -> set[str]:
    """The names of the functions that a file calls."""
    return {n.func.id for n in ast.walk(tree(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def imported_modules(path: Path) -> set[str]:
    """The top-level modules that a file imports by their full names."""
    nodes = list(ast.walk(tree(path)))
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and not n.level]
    return {each.partition(".")[0] for each in names}


def test_every_room_is_known():
    new = {room(path) for path in FILES} - set(ALLOWED)
    assert not new, f"new rooms: say in tests/test_layers.py what {', '.join(sorted(new))} stand on"


def test_imports_go_one_way():
    """File by file: the rooms that it must not import from."""
    wrong = found_in(FILES, lambda path: imported_rooms(path) - ALLOWED.get(room(path), set()) - {room(path)})
    assert wrong == {}


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


DOORS = {
    "avoidance/settings.py",
    "avoidance/safety/flight_recorder.py",
    "avoidance/planning/planner.py",
    "avoidance/planning/background.py",
}
"""Where settings files enter, recordings leave and a planner looks at the clock; the rest of these rooms computes."""


def test_formula_rooms_read_no_files_clocks_or_environment():
    formulas = [path for path in FILES if room(path) in FORMULAS and name(path) not in DOORS]
    assert found_in(formulas, lambda path: imported_modules(path) & MACHINE) == {}
    assert found_in(formulas, lambda path: called(path) & {"open", "print", "input", "exec", "eval"}) == {}


def test_the_library_has_no_print():
    library = [path for path in FILES if room(path) not in ("cli", "bench")]
    assert found_in(library, lambda path: called(path) & {"print"}) == {}
