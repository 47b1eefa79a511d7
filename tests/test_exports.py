"""Every exported name exists and everything public has a docstring."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import elbowroom as er

SOURCE = Path(er.__file__).parent
MODULES = sorted(m.name for m in pkgutil.walk_packages(er.__path__, "elbowroom."))
FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("name", er.__all__)
def test_every_exported_name_exists_and_is_documented(name):
    assert getattr(er, name).__doc__, f"elbowroom.{name} has no docstring"


def test_the_public_face_is_a_dozen_names_and_nothing_slips_out():
    """Rooms, which are modules, and errors are besides the dozen."""
    public = {n for n in vars(er) if not n.startswith("_")}
    imported_rooms = {m.split(".")[1] for m in sys.modules if m.startswith("elbowroom.")}
    assert public - imported_rooms <= set(er.__all__), "public but not in __all__"
    assert len(er.__all__) == len(set(er.__all__))
    assert sorted(er.__all__) == er.__all__
    things = {name: getattr(er, name) for name in er.__all__}
    errors = {name for name, thing in things.items() if isinstance(thing, type) and issubclass(thing, Exception)}
    names = [name for name, thing in things.items() if not isinstance(thing, ModuleType) and name not in errors]
    assert 0 < len(names) <= 12, names


def test_every_module_imports():
    failed = {}
    for name in MODULES:
        if not name.endswith("__main__"):
            try:
                importlib.import_module(name)
            except Exception as error:
                failed[name] = repr(error)
    assert failed == {}


def test_everything_public_is_documented():
    missing = {str(path.relative_to(SOURCE)): list(undocumented(path)) for path in FILES}
    assert {path: names for path, names in missing.items() if names} == {}


def undocumented(path):
    """What a file has that is public and has no docstring."""
    tree = ast.parse(path.read_text())
    if tree.body and not ast.get_docstring(tree):  # an empty __init__ says nothing and needs nothing
        yield "the module itself"
    yield from _undocumented(tree, path.stem)


def _undocumented(node, where):
    """Public functions, classes and methods without a docstring; what is inside a function is its own affair."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if child.name.startswith("_") or any(ast.unparse(d) == "overload" for d in child.decorator_list):
                continue  # an overload is a signature of the function after it, which has the words
            if not ast.get_docstring(child):
                yield f"{where}.{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from _undocumented(child, f"{where}.{child.name}")


def test_the_names_of_the_contract_are_there():
    """ARCHITECTURE.md, section 3: scripts and checks rely on these."""
    wanted = [
        "mass_matrix",
        "coriolis_matrix",
        "centrifugal_matrix",
        "mass_matrix_rate",
        "coriolis_transpose_qd",
        "christoffel",
        "gravity_torque",
        "coriolis_torque",
        "bias_torque",
        "friction_torque",
        "kinetic_energy",
        "potential_energy",
        "inverse_dynamics",
        "forward_dynamics",
        "mass_matrix_inverse",
        "pose",
        "poses",
        "jacobian",
        "jacobian_rate",
        "inverse_kinematics",
        "with_payload",
        "with_tool",
        "compile",
        "n",
        "joint_names",
        "model",
        "from_urdf",
        "from_mdh",
        "from_dh",
    ]
    panda = er.load("panda")
    assert [name for name in wanted if not hasattr(panda, name)] == []
    assert callable(er.dynamics.gda.mass_matrix)


def test_versions_match():
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    assert er.__version__ == project["version"]


def test_import_needs_no_optional_package():
    """Nothing can be imported but Python's own and what every arm needs; the core still loads and computes."""
    code = """
import sys

class Bare:
    def find_spec(self, name, *_):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in NEEDED:
            raise ModuleNotFoundError(f"{name} is not here", name=name)

NEEDED = {"elbowroom", "numpy", "llvmlite", "platformdirs", "defusedxml"}
sys.meta_path.insert(0, Bare())
try:
    import hypothesis
except ModuleNotFoundError:
    print("bare")
before = set(sys.modules)
import elbowroom as er
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
M = er.load("panda").mass_matrix([0.1] * 7)
print(M.shape, "concurrent.futures" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    bare, imported, found = done.stdout.splitlines()
    assert bare == "bare"  # what is not needed is out of reach
    assert imported == "elbowroom", "import elbowroom imports them"
    assert found == "(7, 7) False", "a mass matrix takes no pool of processes, which takes long to import"


def test_every_error_is_ours_and_a_builtin_kind():
    for name in ("ModelError", "ShapeError", "UnknownNameError", "TraceError"):
        assert issubclass(getattr(er, name), er.ElbowroomError)
    assert issubclass(er.ShapeError, ValueError)
    assert issubclass(er.ModelError, ValueError)
    assert issubclass(er.UnknownNameError, KeyError)
    assert issubclass(er.TraceError, TypeError)
    assert str(er.UnknownNameError("no quotes")) == "no quotes"
