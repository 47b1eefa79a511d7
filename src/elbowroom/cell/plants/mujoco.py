"""MuJoCo as a plant: another engine's dynamics, joint limits and contacts.

The arm is the exporter's MJCF (export/write_mjcf.py).  Each step our drive gives the torques (`qfrc_applied`), and
MuJoCo integrates them with its own `implicitfast` in steps of `substep`, 1 ms or less.  Joint limits and Coulomb
friction are constraints of the engine with its default, soft settings: a joint driven into its limit gives way by
milliradians, one that falls into it without a drive by tenths of a radian for a moment; and friction creeps where
ours holds.

People are mocap capsules: `advance` sets where they are and how long, and nothing moves them.  What the engine lists
as a contact of a person's geom with one of the arm's is a touch.  The arm alone feels it, along the normal (condim 1,
no friction) with MuJoCo's default softness (solref 0.02 1), as if the person were as heavy as a wall; so the forces say
nothing about a real person.  With `pushes=False` contacts are listed and nobody feels them.

Needs the package `mujoco-core`, which is imported when a `MuJoCo` is made.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arm import Arm
from ...avoidance import Command, State
from ...errors import ElbowroomError, ShapeError, pip_install
from ...export import mjcf_with_notes
from ...geometry import Body
from ...geometry.shapes import RADIUS, A, B
from .drive import GAIN, Drive, MeanTorque
from .plant import (
    SUBSTEP,
    TouchCounter,
    configuration,
    diverged,
    heavier,
    own_body,
    people_rows,
    positive_time,
    substeps,
)

Array = NDArray[np.float64]

AWAY = 1000.0  # m: where capsules wait that nobody needs
SHORTEST = 1e-6  # m, half the axis of a capsule: MuJoCo wants one, also of a sphere
UNFELT = 10.0  # m: contacts shallower than this have no force with pushes=False


class MuJoCo:
    """An arm in MuJoCo, with room for `person_capsules` capsules of people.

    `drive`, `velocity`, `acceleration`, `gain`, `mass_error`, `payload` and `body` as of `RigidBody`.  `adjust` lets
    the exporter change bodies that could not exist where no joint-preserving change is found; `notes` tell what it
    did.  `model` and `data` are MuJoCo's own.

    `contact_force` (N) is the greatest sum of the normal forces between arm and people in the last `advance`, and
    `contact_impulse` (N s) what it came to.
    """

    def __init__(
        self,
        arm: Arm,
        person_capsules: int = 14,
        *,
        drive: str = "velocity",
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        gain: float = GAIN,
        mass_error: ArrayLike = 0.0,
        payload: float = 0.0,
        substep: float = SUBSTEP,
        body: Body | None = None,
        pushes: bool = True,
        adjust: bool = False,
    ) -> None:
        self._mj = _engine()
        self.arm = arm
        if isinstance(person_capsules, bool) or not isinstance(person_capsules, int) or person_capsules < 0:
            raise ValueError(f"person_capsules must be a whole number, at least 0; got {person_capsules!r}")
        self.person_capsules = person_capsules
        self.substep = min(positive_time(substep), SUBSTEP)
        self.drive = Drive(arm, drive, velocity, acceleration, gain).prepare()
        actual = heavier(arm, mass_error, payload).model
        chosen = own_body(arm, body)
        shaped = dataclasses.replace(actual, capsules=() if chosen is None else chosen.link_capsules)
        written = mjcf_with_notes(shaped, extra=_people(person_capsules, pushes), adjust=adjust)
        self.notes = written.notes
        self.model: Any = self._mj.MjModel.from_xml_string(written.text)
        self.data: Any = self._mj.MjData(self.model)
        flags = self._mj.mjtDisableBit
        # Capsules change their length, so the boxes that the engine made for them at the start do not hold; and
        # numbers that are not finite must be reported, not reset.
        self.model.opt.disableflags |= int(flags.mjDSBL_MIDPHASE) | int(flags.mjDSBL_AUTORESET)
        self._geoms = np.array([self.model.geom(f"person{k}").id for k in range(person_capsules)], dtype=int)
        self._is_person = np.zeros(self.model.ngeom, dtype=bool)
        self._is_person[self._geoms] = True
        self._contacts = TouchCounter()
        self._torques = MeanTorque(arm.n)
        self.contact_force = self.contact_impulse = 0.0
        self.t = 0.0
        self.reset(arm.ready)

    @property
    def contacts(self) -> int:
        """How often the arm has touched a person since `reset`; a touch that lasts counts once."""
        return self._contacts.count

    @property
    def touching(self) -> bool:
        """Whether it touches one now."""
        return self._contacts.touching

    def reset(self, q: ArrayLike) -> None:
        """The arm at rest at q (n,), held there until a command comes; t = 0 and no contacts."""
        start = configuration(self.arm, q)
        self._mj.mj_resetData(self.model, self.data)
        self.data.qpos[:] = start
        self._place(np.empty((0, 13)))
        self._mj.mj_forward(self.model, self.data)
        self.t = 0.0
        self._contacts.reset()
        self._torques.reset()
        self.drive.reset(start)

    def write(self, command: Command) -> None:
        """What the drive follows until the next write."""
        self.drive.write(command, self.data.qpos, self.data.qvel)

    def brake(self) -> None:
        """The drive's own stop: down to a standstill within the limits, and held there until the next write."""
        self.drive.brake(self.data.qpos, self.data.qvel)

    def read(self, state: State) -> None:
        """Fills state.q, state.qd, state.t, and state.tau with the motors' mean torques since the last reading."""
        state.q[:], state.qd[:], state.t = self.data.qpos, self.data.qvel, self.t
        state.tau = self._torques.read().copy()

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """dt seconds pass, with people where these capsule rows (k, 13) are; None: nobody is there."""
        steps = substeps(dt, self.substep)
        model, data = self.model, self.data
        model.opt.timestep = h = dt / steps
        self._place(np.empty((0, 13)) if person_rows is None else people_rows(person_rows))
        q, qd = data.qpos, data.qvel
        touched, self.contact_force, self.contact_impulse = False, 0.0, 0.0
        try:
            for _ in range(steps):
                data.qfrc_applied[:] = torque = self.drive.torque(q, qd, h)
                self._torques.add(torque, h)
                self._mj.mj_step(model, data)
                if self._touched():
                    touched, force = True, self._normal_force()
                    self.contact_force = max(self.contact_force, force)
                    self.contact_impulse += force * h
        except ValueError as error:  # the drive met a number that is not finite
            raise diverged(self.t) from error
        self.t += dt
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise diverged(self.t)
        self._mj.mj_fwdPosition(model, data)  # contacts, and what a viewer shows, where the arm is now
        if touched:
            self._contacts.see(self.t, True)
        self._contacts.see(self.t, self._touched())

    def _touched(self) -> bool:
        """Whether the engine lists a contact of arm and person."""
        return bool(self.data.ncon and self._is_person[self.data.contact.geom].any())

    def _normal_force(self) -> float:
        """The sum of the normal forces of all contacts of arm and person, N."""
        force, total = np.zeros(6), 0.0
        for k in np.flatnonzero(self._is_person[self.data.contact.geom].any(axis=1)):
            self._mj.mj_contactForce(self.model, self.data, int(k), force)
            total += float(force[0])
        return total

    def _place(self, rows: Array) -> None:
        """Puts people where the rows are, and the capsules left over far away."""
        model, data, k = self.model, self.data, len(rows)
        if k > len(self._geoms):
            raise ShapeError(f"person_rows must have at most {len(self._geoms)} rows, person_capsules; got {k}")
        if len(self._geoms) == 0:
            return
        data.mocap_pos[k:] = AWAY
        if k == 0:
            return
        axis = rows[:, B] - rows[:, A]
        length = np.sqrt(np.einsum("ij,ij->i", axis, axis))
        half, radius, geoms = np.maximum(0.5 * length, SHORTEST), rows[:, RADIUS], self._geoms[:k]
        data.mocap_pos[:k] = 0.5 * (rows[:, A] + rows[:, B])
        data.mocap_quat[:k] = _turns_z_to(axis, length)
        model.geom_size[geoms, 0], model.geom_size[geoms, 1] = radius, half
        model.geom_rbound[geoms] = radius + half  # the sphere about it, and its box, for the engine's first sieve
        model.geom_aabb[geoms, 3:5], model.geom_aabb[geoms, 5] = radius[:, None], radius + half


def _turns_z_to(axis: Array, length: Array) -> Array:
    """(k, 4) unit quaternions that turn z to the axes (k, 3); half a turn about x where one points down."""
    unit = axis / np.where(length > 0, length, 1.0)[:, None]
    unit[length == 0] = (0.0, 0.0, 1.0)
    down = unit[:, 2] < -0.5  # then the way round by -z is exact where the other loses digits
    sign = np.where(down, -1.0, 1.0)
    w = 1.0 + sign * unit[:, 2]
    turned = np.stack([w, -sign * unit[:, 1], sign * unit[:, 0], np.zeros(len(w))], axis=1)
    turned /= np.sqrt(np.einsum("ij,ij->i", turned, turned))[:, None]
    return turned  # a capsule looks the same from both ends, so z may as well go to minus the axis


def _people(count: int, pushes: bool) -> str:
    """The mocap capsules as XML; priority makes their contact settings hold, not the arm's."""
    depth = 0.0 if pushes else UNFELT
    contact = f'condim="1" priority="1" margin="{-depth}" gap="{depth}"'
    shape = f'type="capsule" size="0.1 0.1" rgba="0.8 0.5 0.3 1" {contact}'
    return "".join(
        f'<body name="person{k}" mocap="true" pos="{AWAY} {AWAY} {AWAY}"><geom name="person{k}" {shape}/></body>'
        for k in range(count)
    )


def _engine() -> Any:
    try:
        import mujoco
    except ImportError as missing:
        raise ElbowroomError(f"the MuJoCo plant needs MuJoCo: {pip_install('mujoco')}") from missing
    return mujoco
