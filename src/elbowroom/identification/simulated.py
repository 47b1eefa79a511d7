"""Measurements of an arm in MuJoCo that follows a trajectory: another engine's dynamics, friction, and sensor noise.

A computed-torque controller follows the trajectory with the parameters that are believed, friction among them:

    tau = M_believed(q) (qdd_r + 2 w (qd_r - qd) + w^2 (q_r - q)) + bias_believed(q, qd) + friction_believed(qd_r)

MuJoCo moves the arm as it truly is by its Runge-Kutta integrator, with dry friction as a constraint of its own.  Rows
are taken at `rate`: positions with the encoder's noise, torques with the sensor's, which reads the mean of the steps
before and after the row.  Speeds and accelerations are not measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arm import Arm
from ..errors import ElbowroomError, pip_install
from ..export import mjcf_with_notes
from .excitation import Excitation
from .measurements import Array, Measurements

STEP = 5e-4  # s
EVERY = 4  # steps between two rows
STIFF = 60.0  # rad/s: w
GRIP = 4 * STEP  # s: MuJoCo's dry friction settles in this time; its own 20 ms would creep through every reversal


@dataclass(frozen=True, eq=False)
class Followed:
    """What an arm did: rows without noise."""

    t: Array = field(repr=False)
    q: Array = field(repr=False)
    tau: Array = field(repr=False)

    def measured(
        self, name: str, rng: np.random.Generator, torque_noise: Array | float = 0.0, encoder_noise: float = 0.0
    ) -> Measurements:
        """The rows as sensors with white noise read them: N m or N (n,), rad or m."""
        q = self.q + encoder_noise * rng.normal(size=self.q.shape)
        return Measurements(name, self.t, q, self.tau + torque_noise * rng.normal(size=self.tau.shape))


def follow(believed: Arm, true: Arm, reference: Excitation) -> Followed:
    """The arm as it truly is, moved along a trajectory by a controller that believes otherwise; 500 rows a second."""
    q, qd, qdd = reference.at(np.arange(0.0, reference.seconds, STEP))
    mujoco = _engine()
    model: Any = mujoco.MjModel.from_xml_string(mjcf_with_notes(true.model, contacts=False, adjust=True).text)
    model.opt.timestep = STEP
    model.opt.integrator = int(mujoco.mjtIntegrator.mjINT_RK4)
    model.dof_solref[:] = (GRIP, 1.0)
    data: Any = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q[0], qd[0]
    inverse = believed.without_friction().compile("inverse_dynamics")
    friction = believed.friction_torque(qd)
    effort = np.where(true.model.effort > 0.0, true.model.effort, np.inf)
    before = np.full(true.n, np.nan)
    t, positions, torques = [], [], []
    for k in range(len(q)):
        here, speed = data.qpos.copy(), data.qvel.copy()
        wanted = qdd[k] + 2.0 * STIFF * (qd[k] - speed) + STIFF**2 * (q[k] - here)
        tau = np.clip(inverse(here, speed, wanted) + friction[k], -effort, effort)
        if k and k % EVERY == 0:
            t.append(k * STEP)
            positions.append(here)
            torques.append(0.5 * (before + tau))
        before = tau
        data.qfrc_applied[:] = tau
        mujoco.mj_step(model, data)
    found = Followed(np.array(t), np.array(positions), np.array(torques))
    if not np.isfinite(found.q).all():
        raise ElbowroomError(f"{true.name}: the simulation diverged")
    return found


def _engine() -> Any:
    try:
        import mujoco
    except ImportError as missing:
        raise ElbowroomError(f"simulated measurements need MuJoCo: {pip_install('mujoco')}") from missing
    return mujoco
