"""Load an arm and ask it what a controller needs: poses, Jacobians, inertia, torques; for one state and for many.

You learn the few calls of which most programs are made, and that a batch of 10,000 states is the same call.
"""

import numpy as np

import elbowroom as er

np.set_printoptions(precision=3, suppress=True, linewidth=110)

arm = er.load("panda")
q, qd = arm.ready, np.full(arm.n, 0.3)
print(f"{arm.name}: {arm.model.description}")
for name, low, high, speed, effort in zip(
    arm.joint_names, arm.model.lower, arm.model.upper, arm.model.velocity, arm.model.effort, strict=True
):
    print(f"  {name:14s} {np.degrees(low):7.1f} to {np.degrees(high):6.1f} deg  {speed:.2f} rad/s  {effort:5.1f} N m")

print("\ntool at the ready configuration (m):", arm.pose(q)[:3, 3])
Jv, Jw = arm.jacobian(q)
print("tool speed with every joint at 0.3 rad/s (m/s, rad/s):", Jv @ qd, Jw @ qd)
print("manipulability sqrt(det(Jv Jv^T)):", round(float(np.sqrt(np.linalg.det(Jv @ Jv.T))), 4))

print("\nmass matrix (kg m^2):")
print(arm.mass_matrix(q))
print("torque to hold still (N m):        ", arm.gravity_torque(q))
print("torque to brake at 2 rad/s^2 (N m):", arm.inverse_dynamics(q, qd, np.full(arm.n, -2.0)))

push = [0, 0, -20, 0, 0, 0]  # 20 N down on the tool, in world axes
print("torque against 20 N on the tool:   ", arm.inverse_dynamics(q, 0 * q, 0 * q, push) - arm.gravity_torque(q))
print("with 3 kg in the hand, to hold:    ", arm.with_payload(3.0, com=[0, 0, 0.05]).gravity_torque(q))

rng = np.random.default_rng(0)
states = rng.uniform(arm.model.lower, arm.model.upper, (10_000, arm.n))
worst = np.abs(arm.gravity_torque(states)).max(axis=0)
print("\nheaviest gravity load over 10,000 postures (N m):", worst)
print("as a share of the effort limit:                  ", worst / arm.model.effort)

goal = arm.pose(q)
goal[:3, 3] += [0.05, 0.1, -0.1]
found = arm.inverse_kinematics(goal)
print(f"\n15 cm away: success={found.success}, error {found.error:.1e}, {found.iterations} iterations; q =", found.q)
