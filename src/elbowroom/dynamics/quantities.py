"""The registry: quantity -> formulations.  Tests, counts, bench, CLI and `Arm` iterate it.

A new formulation is one file with its function f(model, q, ...) and one record here, which says all that is to be
known about it.  Formulations are rigid-body alone; a quantity's `drives` says how rotors and friction enter
(drives.py), and whole_arm.py puts the two together.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

from ..errors import UnknownNameError, did_you_mean
from . import (
    aba,
    brandl,
    christoffel,
    columns,
    compliance,
    crba,
    dalembert,
    derivatives,
    diagonalized,
    drives,
    energy,
    gda,
    gdahj,
    kalman,
    kinematics,
    lagrange_euler,
    operational_space,
    operators,
    regressor,
    rnea,
    rnea_base,
    walker_orin,
)
from .formulation import BODIES as BODIES
from .formulation import (
    MOMENTS,
    SECOND,
    Formulation,
    Function,
    Quantity,
    Shape,
    by_three,
    cube,
    every_pose,
    fixed,
    one_pose,
    per_joint,
    per_joint_and,
    per_parameter,
    scalar,
    square,
    three_by,
)

ArrayName = Literal[
    "mass_matrix", "mass_matrix_inverse", "mass_matrix_rate", "coriolis_matrix", "centrifugal_matrix",
    "coriolis_transpose_qd", "christoffel", "gravity_torque", "coriolis_torque", "bias_torque", "friction_torque",
    "inverse_dynamics", "forward_dynamics", "diagonal_inertia", "quasi_velocities", "joint_velocities", "quasi_forces",
    "joint_torques", "quasi_coriolis", "quasi_acceleration", "pose", "poses", "regressor",
]  # fmt: skip
EnergyName = Literal["kinetic_energy", "potential_energy"]
JacobianName = Literal["jacobian", "jacobian_rate"]
OperationalSpaceName = Literal["operational_space", "operational_space_translation"]
DerivativesName = Literal["inverse_dynamics_derivatives", "forward_dynamics_derivatives"]
"""The names of REGISTRY for type checkers and editors, by what a kernel gives."""


def _quantity(name: str, inputs: str, shape: Shape, *ways: Formulation, **rest: Any) -> Quantity:
    usual = {each.method: each for each in ways if not each.variant}
    others = {each.method: each for each in ways if each.variant}
    return Quantity(name, tuple(inputs.split()), shape, usual, others, **rest)


def _quasi(name: str, inputs: str, function: Function, meaning: str) -> Quantity:
    """A quantity of the diagonalized equations, in its normalized and its unnormalized form."""
    return _quantity(
        name,
        inputs,
        per_joint,
        Formulation("diagonalized", function, fast=True),
        Formulation("diagonalized_unnormalized", functools.partial(function, normalized=False), variant=True),
        drives=drives.rotors_inside,
        meaning=meaning,
    )


def _at_tool(name: str, k: int, function: Function, meaning: str) -> Quantity:
    """The dynamics at the tool, of k directions."""
    shapes = fixed(k, k), per_joint_and(k), square, fixed(k), scalar
    ways = Formulation("ltdl", function, SECOND, fast=True)
    result = operational_space.OperationalSpace
    rest = {"drives": drives.rotors_inside, "result": result, "parts": shapes, "meaning": meaning}
    return _quantity(name, "q qd", shapes[0], ways, **rest)


REGISTRY: dict[str, Quantity] = {
    q.name: q
    for q in (
        _quantity(
            "mass_matrix",
            "q",
            square,
            Formulation("crba", crba.mass_matrix, MOMENTS, fast=True, loops_from=16),
            Formulation("gda", gda.mass_matrix),
            Formulation("gdahj", gdahj.mass_matrix, fast=True, long=True, loops_from=16),
            Formulation("lagrange_euler", lagrange_euler.mass_matrix),
            Formulation("dalembert", dalembert.mass_matrix),
            Formulation("rnea_columns", columns.mass_matrix, MOMENTS),
            drives=drives.rotors_on_diagonal,
            unit="kg m^2",
            meaning="M, symmetric positive definite, rotors included",
        ),
        _quantity(
            "mass_matrix_inverse",
            "q",
            square,
            Formulation("crba", crba.mass_matrix_inverse, MOMENTS, fast=True),
            Formulation("aba", aba.mass_matrix_inverse, MOMENTS, fast=True),
            Formulation("compliance", compliance.mass_matrix_inverse, MOMENTS, long=True, loops_from=16),
            drives=drives.rotors_inside,
            unit="1/(kg m^2)",
            meaning="The inverse of M",
        ),
        _quantity(
            "mass_matrix_rate",
            "q qd",
            square,
            Formulation("christoffel", christoffel.mass_matrix_rate, SECOND, fast=True, loops_from=12),
            Formulation("gda", gda.mass_matrix_rate),
            Formulation("difference", columns.mass_matrix_rate, MOMENTS, variant=True),
            unit="kg m^2/s",
            meaning="dM/dt along qd",
        ),
        _quantity(
            "coriolis_matrix",
            "q qd",
            square,
            Formulation("christoffel", christoffel.coriolis_matrix, SECOND, fast=True, loops_from=12),
            Formulation("lagrange_euler", lagrange_euler.coriolis_matrix),
            Formulation("rnea_columns", columns.coriolis_matrix, MOMENTS),
            Formulation("gda", gda.coriolis_matrix, variant=True),
            unit="N m s",
            meaning="C with C qd the Coriolis and centrifugal torque",
        ),
        _quantity(
            "centrifugal_matrix",
            "q qd",
            square,
            Formulation("gda", gda.centrifugal_matrix, fast=True, long=True),
            Formulation("christoffel", christoffel.centrifugal_matrix, SECOND, fast=True),
            unit="N m s",
            meaning="The part of C that multiplies each speed with itself",
        ),
        _quantity(
            "coriolis_transpose_qd",
            "q qd",
            per_joint,
            Formulation("christoffel", christoffel.coriolis_transpose_qd, MOMENTS, fast=True),
            Formulation("gda", gda.coriolis_transpose_qd),
            unit="N m",
            meaning="C^T qd with the Christoffel C, the momentum observer's term",
        ),
        _quantity(
            "christoffel",
            "q",
            cube,
            Formulation("christoffel", christoffel.christoffel, SECOND, fast=True),
            Formulation("lagrange_euler", lagrange_euler.christoffel),
            slices=("coriolis_matrix", "qd", 15),
            unit="kg m^2",
            meaning="Christoffel symbols of the first kind: Gamma[i][j][k] qd_j qd_k summed is the Coriolis torque",
        ),
        _quantity(
            "gravity_torque",
            "q",
            per_joint,
            Formulation("rnea", rnea.gravity_torque, MOMENTS, fast=True, loops_from=12),
            Formulation("gda", gda.gravity_torque, fast=True),
            Formulation("rnea_base", rnea_base.gravity_torque),
            Formulation("lagrange_euler", lagrange_euler.gravity_torque),
            Formulation("dalembert", dalembert.gravity_torque),
            slopes=derivatives.gravity_torque_by,
            unit="N m",
            meaning="The torque that holds the arm still",
        ),
        _quantity(
            "coriolis_torque",
            "q qd",
            per_joint,
            Formulation("rnea", rnea.coriolis_torque, SECOND, fast=True, loops_from=12),
            Formulation("gda", gda.coriolis_torque),
            Formulation("christoffel", christoffel.coriolis_torque, MOMENTS),
            Formulation("rnea_base", rnea_base.coriolis_torque),
            Formulation("lagrange_euler", lagrange_euler.coriolis_torque),
            Formulation("dalembert", dalembert.coriolis_torque),
            slopes=derivatives.coriolis_torque_by,
            unit="N m",
            meaning="C qd",
        ),
        _quantity(
            "bias_torque",
            "q qd",
            per_joint,
            Formulation("rnea", rnea.bias_torque, SECOND, fast=True, loops_from=12),
            Formulation("rnea_base", rnea_base.bias_torque),
            slopes=derivatives.bias_torque_by,
            unit="N m",
            meaning="C qd + gravity torque",
        ),
        _quantity(
            "inverse_dynamics",
            "q qd qdd",
            per_joint,
            Formulation("rnea", rnea.inverse_dynamics, SECOND, fast=True, loops_from=12),
            Formulation("gda", gda.inverse_dynamics),
            Formulation("rnea_base", rnea_base.inverse_dynamics),
            Formulation("lagrange_euler", lagrange_euler.inverse_dynamics),
            Formulation("dalembert", dalembert.inverse_dynamics),
            Formulation("operator", operators.inverse_dynamics),
            drives=drives.added_to_torque,
            slopes=derivatives.inverse_dynamics_by,
            wrench=True,
            unit="N m",
            meaning="The torque for an acceleration: M qdd + C qd + gravity + friction",
        ),
        _quantity(
            "forward_dynamics",
            "q qd tau",
            per_joint,
            Formulation("aba", aba.forward_dynamics, MOMENTS),
            Formulation("crba", crba.forward_dynamics, SECOND, fast=True),
            Formulation("brandl", brandl.forward_dynamics, SECOND, fast=True, long=True, loops_from=12),
            Formulation("kalman", kalman.forward_dynamics),
            Formulation("walker_orin_1", walker_orin.forward_dynamics_1),
            Formulation("walker_orin_2", walker_orin.forward_dynamics_2),
            Formulation("walker_orin_3", walker_orin.forward_dynamics_3),
            Formulation("walker_orin_4", walker_orin.forward_dynamics_4),
            Formulation("diagonalized", diagonalized.forward_dynamics),
            Formulation("diagonalized_unnormalized", diagonalized.forward_dynamics_unnormalized),
            Formulation("walker_orin_4_short", walker_orin.forward_dynamics_4_short, variant=True),
            drives=drives.taken_from_torque,
            wrench=True,
            unit="rad/s^2",
            meaning="The acceleration that a torque gives; undoes inverse_dynamics",
        ),
        _quantity(
            "inverse_dynamics_derivatives",
            "q qd qdd",
            square,
            Formulation(
                "recursion", derivatives.inverse_dynamics_derivatives, SECOND, fast=True, long=True, loops_from=12
            ),
            Formulation("automatic", derivatives.inverse_dynamics_automatic, SECOND, fast=True),
            drives=drives.added_to_derivatives,
            result=derivatives.InverseDynamicsDerivatives,
            meaning="d tau/d q, d tau/d qd and d tau/d qdd = M of inverse_dynamics",
        ),
        _quantity(
            "forward_dynamics_derivatives",
            "q qd tau",
            square,
            Formulation("recursion", derivatives.forward_dynamics_derivatives, SECOND, fast=True, long=True),
            drives=drives.inside_derivatives,
            most=30,
            result=derivatives.ForwardDynamicsDerivatives,
            meaning="d qdd/d q, d qdd/d qd and d qdd/d tau = M^-1 of forward_dynamics",
        ),
        _quantity(
            "regressor",
            "q qd qdd",
            per_parameter,
            Formulation("axes", regressor.regressor, fast=True),
            meaning="Y with Y(q, qd, qdd) @ model.parameters the torque of the rigid bodies, ten columns a link",
        ),
        _at_tool(
            "operational_space",
            6,
            operational_space.operational_space,
            "Lambda, Jbar, N, mu and rank of the tool's velocity and angular velocity, world axes",
        ),
        _at_tool(
            "operational_space_translation",
            3,
            operational_space.operational_space_translation,
            "Lambda, Jbar, N, mu and rank of the tool's velocity alone, world axes",
        ),
        _quantity(
            "kinetic_energy",
            "q qd",
            scalar,
            Formulation("rnea", energy.kinetic_energy, fast=True),
            Formulation("crba", energy.kinetic_energy_from_mass_matrix, MOMENTS, fast=True),
            drives=drives.rotors_in_energy,
            unit="J",
            meaning="qd^T M qd / 2",
        ),
        _quantity(
            "potential_energy",
            "q",
            scalar,
            Formulation("kinematics", energy.potential_energy, fast=True),
            unit="J",
            meaning="Its gradient is gravity_torque",
        ),
        _quantity(
            "diagonal_inertia",
            "q",
            per_joint,
            Formulation("diagonalized", diagonalized.diagonal_inertia, fast=True),
            drives=drives.rotors_inside,
            meaning="D: the inertia each joint feels with the joints beyond it free",
        ),
        _quasi(
            "quasi_velocities",
            "q qd",
            diagonalized.quasi_velocities,
            "Velocities in which the kinetic energy is a sum of squares",
        ),
        _quasi("joint_velocities", "q nu", diagonalized.joint_velocities, "qd from the quasi-velocities"),
        _quasi(
            "quasi_forces",
            "q tau",
            diagonalized.quasi_forces,
            "The torques as the quasi-velocities feel them; friction is not in it",
        ),
        _quasi("joint_torques", "q epsilon", diagonalized.joint_torques, "tau from the quasi-forces"),
        _quasi(
            "quasi_coriolis",
            "q qd",
            diagonalized.coriolis,
            "The Coriolis and gravity term of the diagonalized equations",
        ),
        _quasi(
            "quasi_acceleration",
            "q nu tau",
            diagonalized.quasi_acceleration,
            "The rate of the quasi-velocities that torques give; friction is not in it",
        ),
        _quantity(
            "friction_torque",
            "qd",
            per_joint,
            Formulation("drives", drives.friction_torque, fast=True),
            unit="N m",
            meaning="viscous qd + Coulomb sign(qd)",
        ),
        _quantity(
            "pose",
            "q",
            one_pose,
            Formulation("kinematics", kinematics.pose, fast=True),
            meaning="The tool in the world, a homogeneous matrix (m)",
        ),
        _quantity(
            "poses",
            "q",
            every_pose,
            Formulation("kinematics", kinematics.poses, fast=True),
            meaning="The link frames in the world, a homogeneous matrix each (m)",
        ),
        _quantity(
            "jacobian",
            "q",
            three_by,
            Formulation("kinematics", kinematics.jacobian, fast=True),
            located=True,
            result=kinematics.Jacobian,
            meaning="v = Jv qd, w = Jw qd: the tool's velocity (m/s) and angular velocity (rad/s), world axes",
        ),
        _quantity(
            "jacobian_rate",
            "q qd",
            three_by,
            Formulation("kinematics", kinematics.jacobian_rate, fast=True),
            located=True,
            result=kinematics.Jacobian,
            meaning="The time derivatives of Jv and Jw along qd",
        ),
        _quantity(
            "injected_accelerations",
            "q qd qdd",
            by_three,
            Formulation("kinematics", kinematics.injected_accelerations, fast=True),
            located=True,
            result=kinematics.Injected,
            meaning="The tool's acceleration (m/s^2) by the frame that injects it, world axes",
        ),
    )
}
"""`loops_from`: straight-line code knows more zeros, but grows with the square of n and leaves the caches; the numbers
are where the two took the same time for one state of a random chain (docs/chains.md)."""


def quantity(name: str) -> Quantity:
    """The registered quantity of this name."""
    if name not in REGISTRY:
        near = did_you_mean(name, REGISTRY, 3, 0.5)
        raise UnknownNameError(f"no quantity {name!r}{near}; expected one of {', '.join(REGISTRY)}")
    return REGISTRY[name]
