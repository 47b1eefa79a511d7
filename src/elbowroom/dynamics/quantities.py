"""The registry: quantity -> formulations.  Tests, counts, bench, CLI and `Arm` iterate it.

A formulation is rigid-body alone; what the drives bring is added in `whole_arm.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnknownNameError
from . import (
    aba,
    brandl,
    christoffel,
    columns,
    compliance,
    crba,
    dalembert,
    diagonalized,
    drives,
    energy,
    gda,
    gdahj,
    kalman,
    kinematics,
    lagrange_euler,
    operators,
    rnea,
    rnea_base,
    walker_orin,
)

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
    long: str = ""  # the one to take without tracing all for a long chain (whole_arm.LONG)
    variants: dict[str, Formulation] = field(default_factory=dict)  # same name, other numbers, by design
    wrench: bool = False  # takes outside wrenches
    located: bool = False  # is of a point on a link
    unit: str = ""

    def formulation(self, method: str) -> Formulation:
        """The function of a method, rigid body alone."""
        known = self.formulations | self.variants
        if method not in known:
            near = _near(method, known)
            raise UnknownNameError(f"method of {self.name} must be one of {', '.join(known)}; got {method!r}{near}")
        return known[method]


def _quantity(
    name: str, inputs: str, shape: Shape, formulations: dict[str, Formulation], *, fast: str, **rest: Any
) -> Quantity:
    return Quantity(name, tuple(inputs.split()), shape, formulations, tuple(fast.split()), **rest)


def _quasi(name: str, inputs: str, function: Formulation) -> Quantity:
    """A quantity of the diagonalized equations, in its normalized and its unnormalized form."""
    other = functools.partial(function, normalized=False)
    variants = {"diagonalized_unnormalized": other}
    return _quantity(name, inputs, per_joint, {"diagonalized": function}, fast="diagonalized", variants=variants)


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
            {
                "crba": crba.mass_matrix,
                "gda": gda.mass_matrix,
                "gdahj": gdahj.mass_matrix,
                "lagrange_euler": lagrange_euler.mass_matrix,
                "dalembert": dalembert.mass_matrix,
                "rnea_columns": columns.mass_matrix,
            },
            fast="crba gdahj",
            long="gdahj",
            unit="kg m^2",
        ),
        _quantity(
            "mass_matrix_inverse",
            "q",
            square,
            {
                "crba": crba.mass_matrix_inverse,
                "aba": aba.mass_matrix_inverse,
                "compliance": compliance.mass_matrix_inverse,
            },
            fast="crba aba",
            long="compliance",
            unit="1/(kg m^2)",
        ),
        _quantity(
            "mass_matrix_rate",
            "q qd",
            square,
            {"christoffel": christoffel.mass_matrix_rate, "gda": gda.mass_matrix_rate},
            fast="christoffel",
            variants={"difference": columns.mass_matrix_rate},
            unit="kg m^2/s",
        ),
        _quantity(
            "coriolis_matrix",
            "q qd",
            square,
            {
                "christoffel": christoffel.coriolis_matrix,
                "lagrange_euler": lagrange_euler.coriolis_matrix,
                "rnea_columns": columns.coriolis_matrix,
            },
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
            {"christoffel": christoffel.christoffel, "lagrange_euler": lagrange_euler.christoffel},
            fast="christoffel",
            unit="kg m^2",
        ),
        _quantity(
            "gravity_torque",
            "q",
            per_joint,
            {
                "rnea": rnea.gravity_torque,
                "gda": gda.gravity_torque,
                "rnea_base": rnea_base.gravity_torque,
                "lagrange_euler": lagrange_euler.gravity_torque,
                "dalembert": dalembert.gravity_torque,
            },
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
                "rnea_base": rnea_base.coriolis_torque,
                "lagrange_euler": lagrange_euler.coriolis_torque,
                "dalembert": dalembert.coriolis_torque,
            },
            fast="rnea",
            unit="N m",
        ),
        _quantity(
            "bias_torque",
            "q qd",
            per_joint,
            {"rnea": rnea.bias_torque, "rnea_base": rnea_base.bias_torque},
            fast="rnea",
            unit="N m",
        ),
        _quantity(
            "inverse_dynamics",
            "q qd qdd",
            per_joint,
            {
                "rnea": rnea.inverse_dynamics,
                "gda": gda.inverse_dynamics,
                "rnea_base": rnea_base.inverse_dynamics,
                "lagrange_euler": lagrange_euler.inverse_dynamics,
                "dalembert": dalembert.inverse_dynamics,
                "operator": operators.inverse_dynamics,
            },
            fast="rnea",
            wrench=True,
            unit="N m",
        ),
        _quantity(
            "forward_dynamics",
            "q qd tau",
            per_joint,
            {
                "aba": aba.forward_dynamics,
                "crba": crba.forward_dynamics,
                "brandl": brandl.forward_dynamics,
                "kalman": kalman.forward_dynamics,
                "walker_orin_1": walker_orin.forward_dynamics_1,
                "walker_orin_2": walker_orin.forward_dynamics_2,
                "walker_orin_3": walker_orin.forward_dynamics_3,
                "walker_orin_4": walker_orin.forward_dynamics_4,
                "diagonalized": diagonalized.forward_dynamics,
                "diagonalized_unnormalized": diagonalized.forward_dynamics_unnormalized,
            },
            fast="brandl crba",
            long="brandl",
            variants={"walker_orin_4_short": walker_orin.forward_dynamics_4_short},
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
        _quantity(
            "diagonal_inertia", "q", per_joint, {"diagonalized": diagonalized.diagonal_inertia}, fast="diagonalized"
        ),
        _quasi("quasi_velocities", "q qd", diagonalized.quasi_velocities),
        _quasi("joint_velocities", "q nu", diagonalized.joint_velocities),
        _quasi("quasi_forces", "q tau", diagonalized.quasi_forces),
        _quasi("joint_torques", "q epsilon", diagonalized.joint_torques),
        _quasi("quasi_coriolis", "q qd", diagonalized.coriolis),
        _quasi("quasi_acceleration", "q nu tau", diagonalized.quasi_acceleration),
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
        near = _near(name, REGISTRY)
        raise UnknownNameError(f"no quantity {name!r}{near}; expected one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def _near(name: str, known: Iterable[str]) -> str:
    """A hint at the names that look alike."""
    import difflib

    found = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(found)}?" if found else ""
