"""The typed face: what mypy and `inspect` know of the public names, and where `Any` is in their signatures."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import numpy as np
import pytest
from numpy.typing import NDArray

import elbowroom as er
from elbowroom import errors
from elbowroom.compile import compiled
from elbowroom.dynamics.quantities import (
    REGISTRY,
    ArrayName,
    DerivativesName,
    EnergyName,
    JacobianName,
    OperationalSpaceName,
)

ROOT = Path(__file__).parents[1]
FACE = ROOT / "tests" / "typed_face.py"
ROOMS = (
    "elbowroom",
    "elbowroom.avoidance",
    "elbowroom.avoidance.planning",
    "elbowroom.campaign",
    "elbowroom.cell",
    "elbowroom.codegen",
    "elbowroom.connect",
    "elbowroom.counting",
    "elbowroom.export",
    "elbowroom.geometry",
    "elbowroom.identification",
    "elbowroom.model",
)


@pytest.mark.slow
def test_mypy_knows_the_types_of_the_public_face():
    """Of `tests/typed_face.py` it refuses the lines that say so, and no other."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(FACE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    told = [line for line in done.stdout.splitlines() if ": error:" in line]
    others = [line for line in told if not line.startswith("tests/typed_face.py:")]
    assert not others, "\n".join(others)
    assert not done.stderr, done.stderr
    refused = {int(line.split(":")[1]) for line in told}
    wrong = {k for k, line in enumerate(FACE.read_text().splitlines(), 1) if line.endswith("# error")}
    assert len(wrong) >= 10
    assert refused == wrong, done.stdout


def test_the_package_says_that_it_is_typed():
    assert (Path(er.__file__).parent / "py.typed").exists()


# Any.

MAY_BE_ANY = {
    "elbowroom.avoidance.Repulsion.thesis": "hands its other keywords on to the settings it is a method of",
    "elbowroom.codegen.casadi_function": "gives a Function of CasADi, which has no types",
}


def public(room: str) -> dict[str, object]:
    """The public names of a room that are no modules, with what they are."""
    module = importlib.import_module(room)
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    found = {f"{room}.{name}": getattr(module, name) for name in names}
    return {
        name: thing
        for name, thing in found.items()
        if not isinstance(thing, ModuleType) and getattr(thing, "__module__", "typing") != "typing"
    }


def signatures(name, thing):
    """The annotations of a function, or of the fields, properties and methods of a class, as they are written."""
    if not inspect.isclass(thing):
        if callable(thing):
            yield name, [str(signature_part) for signature_part in annotations(thing)]
        return
    yield name, [str(kind) for field, kind in inspect.get_annotations(thing).items() if not field.startswith("_")]
    for key, value in vars(thing).items():
        if key.startswith("_") and key not in ("__init__", "__call__"):
            continue
        if isinstance(value, property | cached_property):
            value = value.fget if isinstance(value, property) else value.func
        elif isinstance(value, classmethod | staticmethod) or hasattr(value, "method"):
            value = getattr(thing, key)
        if callable(value) and not inspect.isclass(value):
            yield f"{name}.{key}", annotations(value)


def annotations(function):
    """What a signature says of its parameters and its result."""
    signature = inspect.signature(function)
    return [str(p.annotation) for p in signature.parameters.values()] + [str(signature.return_annotation)]


def with_any(names):
    """Of public things, what has the word Any in a signature."""
    told = {where: parts for name, thing in names.items() for where, parts in signatures(name, thing)}
    return {where for where, parts in told.items() if any(re.search(r"\bAny\b", part) for part in parts)}


def test_any_is_in_no_public_signature_but_those_with_a_reason():
    """An array that may hold Expr is `algebra.Array`, which has its Any inside."""
    names = {name: thing for room in ROOMS for name, thing in public(room).items()}
    assert len(names) > 140
    assert with_any(names) == set(MAY_BE_ANY), "a type would help whoever calls these"


def test_the_walk_finds_any():
    class Loose:
        field: dict[str, Any]  # noqa: F821

        def __init__(self) -> None: ...

        @property
        def one(self) -> Any: ...  # noqa: F821

        @classmethod
        def two(cls, x: list[Any]) -> None: ...  # noqa: F821

        def fine(self, x: Anything) -> None: ...  # noqa: F821

    assert with_any({"Loose": Loose}) == {"Loose", "Loose.one", "Loose.two"}
    assert with_any({"arm": er.Arm}) == set()
    assert "arm.mass_matrix" in dict(signatures("arm", er.Arm))


# What `inspect` and `help` know.


def test_methods_keep_their_words_and_types():
    panda = er.load("panda")
    assert "positive definite" in panda.mass_matrix.__doc__
    assert str(inspect.signature(panda.mass_matrix)) == "(q, *, out=None)"
    floats = NDArray[np.float64]
    for name in get_args(ArrayName):
        assert get_type_hints(getattr(er.Arm, name))["return"] == floats, name
    for name in get_args(EnergyName):
        assert get_type_hints(getattr(er.Arm, name))["return"] == float | floats, name
    for name in get_args(JacobianName):
        assert get_type_hints(getattr(er.Arm, name))["return"] is er.Jacobian, name


def test_the_names_that_type_checkers_know_are_those_of_the_registry():
    arrays, energies, jacobians = map(set, map(get_args, (ArrayName, EnergyName, JacobianName)))
    others = {"injected_accelerations", *get_args(DerivativesName), *get_args(OperationalSpaceName)}
    assert arrays | energies | jacobians | others == set(REGISTRY)
    assert energies == {name for name, what in REGISTRY.items() if what.shape(7) == ()}
    assert jacobians == {name for name, what in REGISTRY.items() if what.result is er.Jacobian}
    assert {name for name, what in REGISTRY.items() if what.result} == jacobians | others


@pytest.mark.parametrize("convention", ["from_mdh", "from_dh"])
def test_every_parameter_of_a_table_is_named(convention):
    """Of the arm, of the model, and of `create`, to which they go."""
    own = inspect.signature(getattr(er.model, convention)).parameters
    assert inspect.signature(getattr(er.Arm, convention)).parameters == own
    assert {p.kind for p in own.values()} == {inspect.Parameter.KEYWORD_ONLY}
    made = inspect.signature(er.model.create).parameters
    assert set(own) == (set(made) - {"E", "p"}) | {"a", "alpha", "d", "theta"}
    for name in set(made) & set(own) - {"kinds"}:
        assert own[name].replace(kind=made[name].kind) == made[name]
    assert "kg m^2" in getattr(er.Arm, convention).__doc__


@pytest.mark.parametrize("convention", ["from_mdh", "from_dh"])
@pytest.mark.parametrize(
    "name, means",
    [
        ("masss", "mass"),
        ("damping", "viscous"),
        ("friction", "coulomb, or viscous for friction that grows with speed"),
        ("frictionloss", "coulomb"),
        ("armature", "rotor_inertia"),
        ("limits", "lower and upper, or velocity, or effort"),
        ("qlim", "lower and upper"),
    ],
)
def test_an_argument_by_another_name_is_refused_with_the_right_one(convention, name, means):
    for room in (er.Arm, er.model):
        with pytest.raises(TypeError) as refused:
            getattr(room, convention)(**{name: [1.0]})
        assert str(refused.value) == f"{convention}: unknown argument {name!r}; did you mean {means}?"
    with pytest.raises(TypeError, match=f"^{convention}: unknown argument 'zzz'; expected a, alpha, d, theta, mass,"):
        getattr(er.Arm, convention)(zzz=1)


def test_both_conventions_hand_every_parameter_on():
    """Each differs from its default, and is found in the model."""
    table = {"a": [0], "alpha": [0], "d": [0], "theta": [0.1], "kinds": "p"}
    table |= {"mass": [2], "com": [[0, 0, 0.1]], "inertia": [np.eye(3)]}
    tool, base = np.eye(4), np.eye(4)
    tool[2, 3], base[0, 3] = 0.2, 0.3
    capsule = er.model.LinkCapsule("rod", 0, (0, 0, 0), (0, 0, 0.1), 0.05)
    given = {"joint_names": ["j"], "link_names": ["l"], "lower": [-1], "upper": [2], "velocity": [3], "effort": [4]}
    given |= {"viscous": [5], "coulomb": [6], "base": base, "gravity": [1, 2, 3], "tool": tool, "ready": [0.5]}
    given |= {"name": "n", "description": "d", "source": "s", "capsules": [capsule], "covers": {"c": [capsule]}}
    for made in (er.model.from_mdh, er.model.from_dh):
        model = made(**table, **given, rotor_inertia=[7], gear_ratio=[10])
        for name, value in given.items():
            found = getattr(model, name)
            if name in ("capsules", "covers"):
                assert found == (capsule,) if name == "capsules" else dict(found) == {"c": (capsule,)}
            else:
                assert np.array_equal(found, value), name
        assert model.kinds == "P"
        assert model.rotor_inertia == [700]


# Named results and errors.


def test_a_jacobian_says_what_its_fields_are():
    assert er.Jacobian._fields == ("Jv", "Jw")
    for said in ("Jv    (3, n), the point's velocity: v = Jv qd, m/s", "Jw    (3, n), its link's angular velocity"):
        assert said in er.Jacobian.__doc__


def test_a_jacobian_is_one_class_for_states_batches_points_and_rates():
    panda = er.load("panda")
    q, qd = panda.ready, np.ones(7)
    batch = np.tile(q, (3, 1))
    kernel = panda.compile("jacobian")
    for J in (
        panda.jacobian(q),
        panda.jacobian(list(q)),
        panda.jacobian(batch),
        panda.jacobian(q, link=2),
        panda.jacobian(q, point=(0, 0, 1)),
        panda.jacobian_rate(q, qd),
        kernel(q),
        kernel(q, out=kernel.empty()),
        panda.compile("jacobian", dtype=np.float32)(q),
        er.dynamics.kinematics.jacobian(panda.model, q),
    ):
        assert type(J) is er.Jacobian
        Jv, Jw = J
        assert Jv is J.Jv
        assert Jw is J.Jw
    again = pickle.loads(pickle.dumps(panda.jacobian(q)))
    assert type(again) is er.Jacobian
    assert np.array_equal(again.Jw, panda.jacobian(q).Jw)
    assert type(pickle.loads(pickle.dumps(kernel))(q)) is er.Jacobian
    assert type(panda.injected_accelerations(q, qd, qd)) is er.dynamics.kinematics.Injected


def test_a_result_must_have_the_names_of_the_outputs():
    program = er.trace(lambda _, x: {"u": x, "v": x * 2.0}, None, {"x": (2,)}, name="two")
    with pytest.raises(TypeError, match=r"two: result must be a named tuple with the fields \('u', 'v'\)"):
        compiled(program, result=er.Jacobian)


def test_every_error_is_exported():
    ours = {name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)}
    assert {name for name in ours if issubclass(getattr(errors, name), errors.ElbowroomError)} <= set(er.__all__)
    assert er.RecordingError is errors.RecordingError
