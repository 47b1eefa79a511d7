"""The registry: quantity -> formulations.  Tests, counts, bench, CLI and `Arm` iterate it.

A formulation is rigid-body alone; `whole` adds what the drives bring, so that for every method

    inverse_dynamics = M qdd + C qd + g + friction - J^T w       and       forward_dynamics undoes it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..algebra import Program, trace
from ..algebra.linalg import Array
from ..errors import UnknownNameError
from ..model import Model
from . import aba, christoffel, crba, drives, energy, gda, gdahj, kinematics, rnea

LONG = 30
"""Joints beyond which the asymptotically better method is taken as it is: tracing the others would cost seconds."""

Formulation = Callable[..., Any]
Shape = Callable[[int], tuple[int, ...]]


def scalar(_: int) -> tuple[int, ...]:
    """Shape of one number."""
    return ()


def per_joint(n: int) -> tuple[int, ...]:
    """Shape of one number a joint."""
    return (n,)


def square(n: int) -> tuple[int, ...]:
    """Shape of one number a pair of joints."""
    return (n, n)


def cube(n: int) -> tuple[int, ...]:
    """Shape of one number a triple of joints."""
    return (n, n, n)


@dataclass(frozen=True)
class Quantity:
    """Something to compute, with all the ways to compute it."""

    name: str
    inputs: tuple[str, ...]
    shape: Shape
    formulations: dict[str, Formulation]
    fast: tuple[str, ...]  # those that compete, by operation count, when no method is named
    long: str = ""  # the one to take without tracing all for more than LONG joints
    variants: dict[str, Formulation] = field(default_factory=dict)  # same name, other numbers, by design
    wrench: bool = False  # takes outside wrenches
    located: bool = False  # is of a point on a link
    unit: str = ""

    def formulation(self, method: str) -> Formulation:
        """The function of a method, rigid body alone."""
        known = self.formulations | self.variants
        if method not in known:
            raise UnknownNameError(f"method of {self.name} must be one of {', '.join(known)}; got {method!r}")
        return known[method]


def _quantity(
    name: str, inputs: str, shape: Shape, formulations: dict[str, Formulation], *, fast: str, **rest: Any
) -> Quantity:
    return Quantity(name, tuple(inputs.split()), shape, formulations, tuple(fast.split()), **rest)


def _poses(n: int) -> tuple[int, ...]:
    return (n, 4, 4)


def _pose(_: int) -> tuple[int, ...]:
    return (4, 4)


def _three_by(n: int) -> tuple[int, ...]:
    return (3, n)


def _by_three(n: int) -> tuple[int, ...]:
    return (n, 3)


REGISTRY: dict[str, Quantity] = {
    q.name: q
    for q in (
        _quantity(
            "mass_matrix",
            "q",
            square,
            {"crba": crba.mass_matrix, "gda": gda.mass_matrix, "gdahj": gdahj.mass_matrix},
            fast="crba gdahj",
            long="gdahj",
            unit="kg m^2",
        ),
        _quantity(
            "mass_matrix_inverse",
            "q",
            square,
            {"crba": crba.mass_matrix_inverse, "aba": aba.mass_matrix_inverse},
            fast="crba aba",
            unit="1/(kg m^2)",
        ),
        _quantity(
            "mass_matrix_rate",
            "q qd",
            square,
            {"christoffel": christoffel.mass_matrix_rate, "gda": gda.mass_matrix_rate},
            fast="christoffel gda",
            unit="kg m^2/s",
        ),
        _quantity(
            "coriolis_matrix",
            "q qd",
            square,
            {"christoffel": christoffel.coriolis_matrix},
            fast="christoffel",
            variants={"gda": gda.coriolis_matrix},
            unit="N m s",
        ),
        _quantity(
            "centrifugal_matrix",
            "q qd",
            square,
            {"gda": gda.centrifugal_matrix, "christoffel": christoffel.centrifugal_matrix},
            fast="gda christoffel",
            unit="N m s",
        ),
        _quantity(
            "coriolis_transpose_qd",
            "q qd",
            per_joint,
            {"christoffel": christoffel.coriolis_transpose_qd, "gda": gda.coriolis_transpose_qd},
            fast="christoffel",
            unit="N m",
        ),
        _quantity(
            "christoffel",
            "q",
            cube,
            {"christoffel": christoffel.christoffel},
            fast="christoffel",
            unit="kg m^2",
        ),
        _quantity(
            "gravity_torque",
            "q",
            per_joint,
            {"rnea": rnea.gravity_torque, "gda": gda.gravity_torque},
            fast="rnea gda",
            unit="N m",
        ),
        _quantity(
            "coriolis_torque",
            "q qd",
            per_joint,
            {
                "rnea": rnea.coriolis_torque,
                "gda": gda.coriolis_torque,
                "christoffel": christoffel.coriolis_torque,
            },
            fast="rnea",
            unit="N m",
        ),
        _quantity("bias_torque", "q qd", per_joint, {"rnea": rnea.bias_torque}, fast="rnea", unit="N m"),
        _quantity(
            "inverse_dynamics",
            "q qd qdd",
            per_joint,
            {"rnea": rnea.inverse_dynamics, "gda": gda.inverse_dynamics},
            fast="rnea",
            wrench=True,
            unit="N m",
        ),
        _quantity(
            "forward_dynamics",
            "q qd tau",
            per_joint,
            {"aba": aba.forward_dynamics, "crba": crba.forward_dynamics},
            fast="aba crba",
            long="aba",
            wrench=True,
            unit="rad/s^2",
        ),
        _quantity(
            "kinetic_energy",
            "q qd",
            scalar,
            {"rnea": energy.kinetic_energy, "crba": energy.kinetic_energy_from_mass_matrix},
            fast="rnea crba",
            unit="J",
        ),
        _quantity(
            "potential_energy",
            "q",
            scalar,
            {"kinematics": energy.potential_energy},
            fast="kinematics",
            unit="J",
        ),
        _quantity("friction_torque", "qd", per_joint, {"drives": drives.friction_torque}, fast="drives", unit="N m"),
        _quantity("pose", "q", _pose, {"kinematics": kinematics.pose}, fast="kinematics"),
        _quantity("poses", "q", _poses, {"kinematics": kinematics.poses}, fast="kinematics"),
        _quantity("jacobian", "q", _three_by, {"kinematics": kinematics.jacobian}, fast="kinematics", located=True),
        _quantity(
            "jacobian_rate",
            "q qd",
            _three_by,
            {"kinematics": kinematics.jacobian_rate},
            fast="kinematics",
            located=True,
        ),
        _quantity(
            "injected_accelerations",
            "q qd qdd",
            _by_three,
            {"kinematics": kinematics.injected_accelerations},
            fast="kinematics",
            located=True,
        ),
    )
}


def quantity(name: str) -> Quantity:
    """The registered quantity of this name."""
    if name not in REGISTRY:
        import difflib

        near = difflib.get_close_matches(name, REGISTRY, n=3, cutoff=0.5)
        raise UnknownNameError(f"quantity must be one of {', '.join(REGISTRY)}; got {name!r}" + _hint(near))
    return REGISTRY[name]


def _hint(near: list[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""


def whole(name: str, method: str) -> Formulation:
    """The function of the whole arm, drives included: f(model, q, ...)."""
    f = quantity(name).formulation(method)

    def mass_matrix(model: Model, q: Array) -> Array:
        return drives.rotors_on_diagonal(model, f(model, q))

    def mass_matrix_inverse(model: Model, q: Array) -> Array:
        return f(model, q, joint_inertia=model.rotor_inertia)

    def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
        return f(model, q, qd, qdd, wrench) + drives.rotor_torque(model, qdd) + drives.friction_torque(model, qd)

    def forward_dynamics(model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None) -> Array:
        driving = tau - drives.friction_torque(model, qd)
        return f(model, q, qd, driving, wrench, joint_inertia=model.rotor_inertia)

    def kinetic_energy(model: Model, q: Array, qd: Array) -> Any:
        return f(model, q, qd) + drives.rotor_energy(model, qd)

    return {
        g.__name__: g for g in (mass_matrix, mass_matrix_inverse, inverse_dynamics, forward_dynamics, kinetic_energy)
    }.get(name, f)


def program(
    model: Model, name: str, method: str, *, wrench: str = "", link: int | None = None, point: bool = False
) -> Program:
    """The traced Program of a quantity of the whole arm.

    `wrench` is "" (none), "tool" or "links"; `link` and `point` (an input then) place what is of a point on a link.
    """
    what = quantity(name)
    n = model.n
    inputs: dict[str, tuple[int, ...]] = dict.fromkeys(what.inputs, (n,))
    function = whole(name, method)
    if wrench:
        inputs["wrench"] = (6,) if wrench == "tool" else (n, 6)
    if what.located:
        function = functools.partial(function, link=link)
        if point:
            inputs["point"] = (3,)
    return trace(function, model, inputs, name=name, output=name)


def cheapest(model: Model, name: str, **options: Any) -> tuple[str, Program]:
    """The method with the fewest operations for this very arm, among the registry's fast ones, and its Program.

    A sine or cosine is taken for ten operations and a division for four, which is about what they cost on a CPU.
    """
    what = quantity(name)
    candidates = (what.long,) if what.long and model.n > LONG else what.fast
    traced = {method: program(model, name, method, **options) for method in candidates}

    def cost(method: str) -> int:
        count = traced[method].count
        return count.total + 3 * count.div + 10 * count.sincos + count.other

    best = min(traced, key=cost)
    return best, traced[best]
