"""Your own robot from a Denavit-Hartenberg table: a SCARA with a slide, in modified and in standard convention.

You learn which columns a table has, how the two conventions differ, and what each part of the torque is worth.
"""

import math

import numpy as np

import elbowroom as er

np.set_printoptions(precision=3, suppress=True, linewidth=110)

rest = {
    "kinds": "RRPR",
    "mass": [6.0, 4.0, 1.0, 0.4],
    "lower": [-2.2, -2.5, 0.0, -math.pi],
    "upper": [2.2, 2.5, 0.2, math.pi],
    "velocity": [5, 6, 1.2, 20],
    "effort": [120, 60, 200, 10],
    "viscous": [1.2, 0.6, 30.0, 0.02],
    "coulomb": [0.8, 0.4, 5.0, 0.01],
    "rotor_inertia": [6e-5, 4e-5, 2e-5, 5e-6],
    "gear_ratio": [80, 80, 300, 20],
    "name": "my_scara",
}
tensors = np.array([np.diag(d) for d in ([0.02, 0.09, 0.1], [0.01, 0.04, 0.045], [4e-3, 4e-3, 2e-4], [3e-4] * 3)])

# Modified DH (Craig): frame i sits on joint i's axis; the tool axis points down after the flip of joint 3.
modified = er.Arm.from_mdh(
    a=[0, 0.4, 0.3, 0],
    alpha=[0, 0, math.pi, 0],
    d=[0.35, 0, 0, 0],
    com=[[0.2, 0, 0], [0.15, 0, 0], [0, 0, -0.1], [0, 0, 0.02]],
    inertia=tensors,
    **rest,
)
# Standard DH (Paul): frame i sits at the far end of link i, and so do the centres of mass.
standard = er.Arm.from_dh(
    a=[0.4, 0.3, 0, 0],
    alpha=[0, math.pi, 0, 0],
    d=[0.35, 0, 0, 0],
    com=[[-0.2, 0, 0], [-0.15, 0, 0], [0, 0, -0.1], [0, 0, 0.02]],
    inertia=tensors,  # diagonal, and Rx(180 deg) leaves a diagonal tensor alone
    **rest,
)

q, qd, qdd = np.array([0.4, -0.7, 0.1, 0.2]), np.array([1.0, -2.0, 0.3, 4.0]), np.array([5.0, 5.0, 2.0, 10.0])
print(modified)
print("tool (m):", modified.pose(q)[:3, 3])
print("mass matrix:\n", modified.mass_matrix(q), sep="")
for name, part in {
    "inertia": modified.mass_matrix(q) @ qdd,
    "Coriolis": modified.coriolis_torque(q, qd),
    "gravity": modified.gravity_torque(q),
    "friction": modified.friction_torque(qd),
    "total": modified.inverse_dynamics(q, qd, qdd),
}.items():
    print(f"{name:9s}", part, "N m, N m, N, N m")
difference = np.abs(modified.inverse_dynamics(q, qd, qdd) - standard.inverse_dynamics(q, qd, qdd)).max()
print(f"modified and standard tables differ by {difference:.1e} N m")
