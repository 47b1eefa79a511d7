"""Feel a touch without a sensor: the generalised-momentum observer.

You learn how to estimate the torque of a touch, and why the Christoffel form of C is needed for it.

The arm floats, held against gravity and damped; someone pushes the elbow for 0.2 s.  The observer sees joint
positions, speeds and motor torques alone.  With p = M qd and the Christoffel C,

    dp/dt = tau + C^T qd - g - friction + tau_outside,      r = K (p - integral(tau + C^T qd - g - friction + r))

so r follows the outside torque like a first-order filter with bandwidth K.
"""

import numpy as np

import elbowroom as er

arm = er.load("panda")
n, dt, K = arm.n, 1e-3, 60.0  # joints, s, 1/s
LINK, PUSH = 4, np.array([0.0, 25.0, -10.0, 0, 0, 0])  # N and N m, world axes, at the frame of link 5

q, qd = arm.ready.copy(), np.zeros(n)
integral, residual = arm.mass_matrix(q) @ qd, np.zeros(n)
touch = None
print(" time    pushed   outside torque (N m)            estimated (N m)")
for step in range(600):
    t = step * dt
    pushed = 0.2 <= t < 0.4
    wrench = np.zeros((n, 6))
    wrench[LINK] = PUSH if pushed else 0.0

    # The motor: gravity compensation and damping.
    tau = arm.gravity_torque(q) - 4.0 * qd

    # The observer, from q, qd and tau alone.
    known = tau + arm.coriolis_transpose_qd(q, qd) - arm.gravity_torque(q) - arm.friction_torque(qd)
    integral += (known + residual) * dt
    residual = K * (arm.mass_matrix(q) @ qd - integral)
    if touch is None and np.abs(residual).max() > 1.0:
        touch = t

    if step % 50 == 0:
        Jv, Jw = arm.jacobian(q, link=LINK)
        truth = Jv.T @ wrench[LINK, :3] + Jw.T @ wrench[LINK, 3:]
        row = " ".join(f"{x:6.2f}" for x in truth[:4])
        print(f"{t:5.2f} s  {'yes' if pushed else ' no'}   {row}   {' '.join(f'{x:6.2f}' for x in residual[:4])}")

    # The world: one step of the arm under motor and hand (semi-implicit Euler).
    qd = qd + arm.forward_dynamics(q, qd, tau, wrench) * dt
    q = q + qd * dt

print(f"\nThe push began at 0.200 s and was felt (1 N m on some joint) at {touch:.3f} s.")
