"""What a user's type checker sees of elbowroom: test_types.py runs mypy on this file, and nothing imports it.

A line that ends in `# error` must be refused, every other one must pass.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import elbowroom as er
from elbowroom.compile import Kernel
from elbowroom.dynamics.kinematics import Injected

Floats = NDArray[np.float64]

arm = er.load("panda")
q, qd, tau = arm.ready, np.zeros(arm.n), np.zeros((5, arm.n))
assert_type(arm, er.Arm)
assert_type(arm.model, er.Model)
assert_type(arm.ready, Floats)

# Quantities, of arrays and of lists.
assert_type(arm.mass_matrix(q), Floats)
assert_type(arm.mass_matrix([0.1] * 7), Floats)
assert_type(arm.inverse_dynamics(q, qd, tau, wrench=np.zeros(6)), Floats)
assert_type(arm.pose(q), Floats)
assert_type(arm.kinetic_energy(q, qd), float | Floats)
assert_type(arm.potential_energy(q), float | Floats)
assert_type(arm.inverse_kinematics(arm.pose(q)), er.IKResult)
assert_type(arm.inverse_kinematics(arm.pose(q)).success, bool)
assert_type(arm.inverse_kinematics(arm.pose(q)).q, Floats)
assert_type(er.simulate(arm, q, qd, tau[0], duration=0.1, dt=0.01).q, Floats)
arm.mass_matrix(q, qd)  # error
arm.mass_matrix(q, out=[0.0])  # error
arm.mass_matrx(q)  # error
assert_type(arm.mass_matrix(q), str)  # error

# Named results.
J = arm.jacobian(q, link="hand", point=(0, 0, 0.1))
Jv, Jw = J
assert_type(J, er.Jacobian)
assert_type(J.Jv, Floats)
assert_type(Jw, Floats)
assert_type(arm.jacobian_rate(q, qd), er.Jacobian)
assert_type(arm.jacobian(q, out=(np.zeros((3, 7)), np.zeros((3, 7)))).Jw, Floats)
assert_type(arm.injected_accelerations(q, qd, qd), Injected)
assert_type(arm.injected_accelerations(q, qd, qd).normal, Floats)
print(J.J)  # error
arm.jacobian(q, out=np.zeros((6, 7)))  # error

# Kernels.
assert_type(arm.compile("mass_matrix"), Kernel[Floats])
assert_type(arm.compile("mass_matrix", method="crba")(q), Floats)
assert_type(arm.compile("jacobian")(q).Jv, Floats)
assert_type(arm.compile("kinetic_energy")(q, qd), float | Floats)
assert_type(arm.compile("mass_matrix", dtype=np.float32), Kernel[Any])

# Tables.
rod = er.Arm.from_mdh(
    a=[0], alpha=[0], d=[0], mass=[1], com=[[0.5, 0, 0]], inertia=[np.eye(3)], kinds="R", lower=[-1.0], gear_ratio=[100]
)
assert_type(rod, er.Arm)
assert_type(er.Arm.from_dh(a=[1], alpha=[0], d=[0], mass=[1], com=np.zeros((1, 3)), inertia=[np.eye(3)]), er.Arm)
er.Arm.from_mdh(a=[0], alpha=[0], d=[0], masss=[1], com=[[0.5, 0, 0]], inertia=[np.eye(3)])  # error
er.Arm.from_dh(a=[0])  # error
er.Arm.from_mdh([0], [0], [0])  # error

# Names.
try:
    er.laod("panda")  # error
except (er.RecordingError, er.ElbowroomError) as error:
    assert_type(error, er.RecordingError | er.ElbowroomError)
