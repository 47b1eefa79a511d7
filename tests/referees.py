"""Two physics engines that nobody here wrote, built from the fields of a `Model`: Pinocchio and MuJoCo.

Nothing of elbowroom's algorithms is used here: placements, masses and tensors go from the data into the engine.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import mujoco
import numpy as np
import pinocchio as pin

import elbowroom as er
from elbowroom.bench.peers.dynamics import pinocchio_model
from elbowroom.export.write_mjcf import bare_mjcf
from elbowroom.model import Model, catalogue, chains, create
from marks import slow_where

STATES = 1000
TOLERANCE = 1e-10
"""The project's promise for the referees.  Two correct programs in double precision differ by
about 1e-16 times the number of operations in a row times the condition number (of M, where M is inverted: up to 1e5 for
these arms), so a sound arm lies between 1e-15 and 1e-11 and a wrong formula far above."""


def error(ours, theirs, floor=0.0) -> float:
    """The greatest relative error over a batch: per state, max |ours - theirs| over max |theirs|.

    The denominator is the greatest entry of that state's answer, because an entry that happens to cancel to nothing is
    only as accurate as the terms it is a sum of.  `floor` (a number a state) stands in where a whole answer may vanish:
    the size of those terms, for instance |M| |qd|^2 for the Coriolis torque, which is zero for one joint.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, f"shapes differ: {ours.shape} and {theirs.shape}"
    flat = (len(ours), -1)
    scale = np.maximum(np.abs(theirs).reshape(flat).max(axis=1), floor)
    assert (scale > 0).all(), "nothing to compare with: give a floor"
    return float((np.abs(ours - theirs).reshape(flat).max(axis=1) / scale).max())


def joined(found: Any, batch: int = 1) -> Any:
    """One array of several results with so many batch axes: their entries side by side; a single one as it is."""
    if not isinstance(found, dict | tuple):
        return found
    arrays = [np.asarray(x) for x in (found.values() if isinstance(found, dict) else found)]
    return np.concatenate([x.reshape(*x.shape[:batch], -1) for x in arrays], -1)


class States(NamedTuple):
    """A batch of states, each (B, n), with wrenches at the tool (B, 6) and on every link (B, n, 6)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    tool_wrench: np.ndarray
    link_wrench: np.ndarray


def states(model: Model, count: int = STATES, seed: int = 1) -> States:
    """Positions within the limits (a turn, or a metre, either way where there are none), speeds, torques, wrenches."""
    rng = np.random.default_rng(seed)
    turns = np.array([model.revolute(i) for i in range(model.n)])
    low = np.where(np.isfinite(model.lower), model.lower, np.where(turns, -math.pi, -1.0))
    high = np.where(np.isfinite(model.upper), model.upper, np.where(turns, math.pi, 1.0))

    def spread(size: float, *shape: int) -> np.ndarray:
        return rng.uniform(-size, size, (count, *shape))

    n = model.n
    q = rng.uniform(low, high, (count, n))
    return States(q, spread(2, n), spread(5, n), spread(50, n), spread(20, 6), spread(20, n, 6))


def frictionless(model: Model) -> Model:
    """The same arm without friction, which the engines do not have (MuJoCo's is another law)."""
    return dataclasses.replace(model, viscous=np.zeros(model.n), coulomb=np.zeros(model.n))


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A rotation matrix, uniform."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def placement(rng: np.random.Generator) -> np.ndarray:
    """A pose (4, 4) within a metre."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(rng), rng.uniform(-1, 1, 3)
    return T


def physical_tensor(rng: np.random.Generator, mass: float) -> np.ndarray:
    """The inertia (3, 3) of a cloud of six particles about its centre: a body that could exist, as MuJoCo asks."""
    x = rng.normal(size=(6, 3)) * 0.2
    x -= x.mean(axis=0)
    S = x.T @ x * (mass / 6)
    return np.trace(S) * np.eye(3) - S


def physical_chain(n: int, seed: int) -> Model:
    """n mixed joints at any angle, bodies that could exist, rotors, friction, tilted gravity, base and tool poses."""
    rng = np.random.default_rng([n, seed])
    mass = rng.uniform(0.5, 5.0, n)
    return create(
        "".join(rng.choice(["R", "R", "P"], n)),
        np.array([rotation(rng) for _ in range(n)]),
        rng.uniform(-0.5, 0.5, (n, 3)),
        mass,
        rng.uniform(-0.3, 0.3, (n, 3)),
        np.array([physical_tensor(rng, m) for m in mass]),
        name=f"physical{n}",
        rotor_inertia=rng.uniform(0, 0.5, n),
        viscous=rng.uniform(0, 2, n),
        coulomb=rng.uniform(0, 2, n),
        base=placement(rng),
        tool=placement(rng),
        gravity=rng.uniform(-9, 9, 3),
    )


def mixed_kinds(n: int, seed: int) -> str:
    """Joint kinds for `chains.random`: about one in three slides."""
    return "".join(np.random.default_rng([n, seed]).choice(["R", "R", "P"], n))


class Pinocchio:
    """Pinocchio's answers, one state at a time."""

    def __init__(self, model: Model) -> None:
        self.n = model.n
        self.model = m = pinocchio_model(pin, model)
        self.tool_in_last = pin.SE3(np.array(model.tool))
        self.tool = m.getFrameId("tool")
        self.data = m.createData()

    def add_body(self, mass: float, com: np.ndarray, inertia: np.ndarray, at: np.ndarray) -> None:
        """One more body on the last link, given in a frame at `at` (4, 4) in it."""
        self.model.appendBodyToJoint(self.n, pin.Inertia(mass, com, inertia), pin.SE3(at))
        self.data = self.model.createData()

    def add_frame(self, link: int, point: np.ndarray) -> int:
        """A frame at a point of a link (0 is the first)."""
        here = pin.SE3(np.eye(3), np.array(point, dtype=float))
        number = self.model.addFrame(pin.Frame(f"p{link}", link + 1, 0, here, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        return number

    def mass_matrix(self, q):
        M = pin.crba(self.model, self.data, q)
        return np.triu(M) + np.triu(M, 1).T

    def mass_matrix_inverse(self, q):
        M = pin.computeMinverse(self.model, self.data, q)
        return np.triu(M) + np.triu(M, 1).T

    def coriolis_matrix(self, q, qd):
        return pin.computeCoriolisMatrix(self.model, self.data, q, qd).copy()

    def gravity_torque(self, q):
        return pin.computeGeneralizedGravity(self.model, self.data, q).copy()

    def bias_torque(self, q, qd):
        return pin.nonLinearEffects(self.model, self.data, q, qd).copy()

    def inverse_dynamics(self, q, qd, qdd, wrench=None):
        if wrench is None:
            return pin.rnea(self.model, self.data, q, qd, qdd).copy()
        return pin.rnea(self.model, self.data, q, qd, qdd, self._forces(q, wrench)).copy()

    def forward_dynamics(self, q, qd, tau, wrench=None):
        if wrench is None:
            return pin.aba(self.model, self.data, q, qd, tau).copy()
        return pin.aba(self.model, self.data, q, qd, tau, self._forces(q, wrench)).copy()

    def kinetic_energy(self, q, qd):
        return pin.computeKineticEnergy(self.model, self.data, q, qd)

    def potential_energy(self, q):
        return pin.computePotentialEnergy(self.model, self.data, q)

    def poses(self, q):
        pin.forwardKinematics(self.model, self.data, q)
        return np.array([self.data.oMi[i + 1].homogeneous for i in range(self.n)])

    def pose(self, q):
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.tool].homogeneous.copy()

    def jacobian(self, q, frame=None):
        """(6, n): linear rows, then angular ones, world axes, at the frame's origin."""
        frame = self.tool if frame is None else frame
        J = pin.computeFrameJacobian(self.model, self.data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        return J.reshape(6, self.n).copy()

    def acceleration(self, q, qd, qdd, frame=None):
        """(6,) of the frame's origin, the ordinary (not spatial) acceleration; world axes."""
        frame = self.tool if frame is None else frame
        pin.forwardKinematics(self.model, self.data, q, qd, qdd)
        pin.updateFramePlacements(self.model, self.data)
        a = pin.getFrameClassicalAcceleration(self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED)
        return np.r_[a.linear, a.angular]

    def jacobian_rate(self, q, qd, frame=None):
        """(6, n): the time derivative of `jacobian` along qd."""
        frame = self.tool if frame is None else frame
        pin.computeJointJacobiansTimeVariation(self.model, self.data, q, qd)
        pin.updateFramePlacements(self.model, self.data)
        rate = pin.getFrameJacobianTimeVariation(self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED)
        return rate.reshape(6, self.n).copy()

    def _forces(self, q, wrench):
        """World wrenches at the tool (6,) or at the link frames (n, 6) -> forces in the joints' own frames."""
        pin.forwardKinematics(self.model, self.data, q)
        forces = pin.StdVec_Force()
        forces.append(pin.Force.Zero())  # the universe
        per_link = np.zeros((self.n, 6)) if wrench.ndim == 1 else wrench
        for i in range(self.n):
            R = self.data.oMi[i + 1].rotation
            forces.append(pin.Force(R.T @ per_link[i, :3], R.T @ per_link[i, 3:]))
        if wrench.ndim == 1:
            R = self.data.oMi[self.n].rotation
            at_tool = pin.Force(R.T @ wrench[:3], R.T @ wrench[3:])
            shift = pin.SE3(np.eye(3), self.tool_in_last.translation)
            forces[self.n] = shift.act(at_tool)
        return forces


def mujoco_accepts(model: Model) -> bool:
    """MuJoCo refuses a moving body without mass, or whose tensor is not definite or breaks the triangle inequality."""
    moments = np.linalg.eigvalsh(model.inertia)
    return bool(
        (model.mass > 1e-10).all() and (moments[:, 0] > 1e-10).all() and (moments[:, :2].sum(1) > moments[:, 2]).all()
    )


class MuJoCo:
    """MuJoCo's answers, one state at a time."""

    def __init__(self, model: Model) -> None:
        self.source = model
        self.model = mujoco.MjModel.from_xml_string(bare_mjcf(model))
        self.data = mujoco.MjData(self.model)
        assert self.model.nv == model.n
        self.first = self.model.nbody - model.n  # MuJoCo's number of our link 0

    def mass_matrix(self, q):
        self._place(q)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M

    def bias_torque(self, q, qd):
        self._place(q, qd)
        return self.data.qfrc_bias.copy()

    def inverse_dynamics(self, q, qd, qdd):
        self._place(q, qd)
        self.data.qacc[:] = qdd
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()

    def forward_dynamics(self, q, qd, tau, wrench=None):
        self.data.qpos[:], self.data.qvel[:] = q, qd
        self.data.qfrc_applied[:] = tau
        if wrench is not None:
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            self._push(wrench)
        mujoco.mj_forward(self.model, self.data)
        self.data.xfrc_applied[:] = 0
        return self.data.qacc.copy()

    def _push(self, wrench):
        """World wrenches at the tool or the link frames -> forces and torques at the centres of mass."""
        n, last = self.source.n, self.first + self.source.n - 1
        if wrench.ndim == 1:
            tool = self.data.xpos[last] + self.data.xmat[last].reshape(3, 3) @ self.source.tool[:3, 3]
            parts = [(last, tool, wrench)]
        else:
            parts = [(self.first + i, self.data.xpos[self.first + i], wrench[i]) for i in range(n)]
        for body, at, w in parts:
            self.data.xfrc_applied[body, :3] = w[:3]
            self.data.xfrc_applied[body, 3:] = w[3:] + np.cross(at - self.data.xipos[body], w[:3])

    def _place(self, q, qd=None):
        self.data.qpos[:] = q
        self.data.qvel[:] = 0 if qd is None else qd
        self.data.qfrc_applied[:] = 0
        mujoco.mj_forward(self.model, self.data)


def loop(function, *columns):
    """The referee's answers for a batch, one state after the other."""
    return np.array([function(*row) for row in zip(*columns, strict=True)])


@functools.cache
def subject(name: str) -> Model:
    """A model by its test name: a catalogue arm, "physical5" (5 mixed joints), "gdahj8" (the paper's generator)."""
    if name in CATALOGUE:
        return catalogue.load(name)
    if name.startswith("physical"):
        return physical_chain(int(name.removeprefix("physical")), seed=0)
    n = int(name.removeprefix("gdahj"))
    return chains.random(n, seed=n, kinds=mixed_kinds(n, seed=n))


@functools.cache
def arm(name: str, *, friction: bool = False) -> er.Arm:
    """The arm of a test name, without friction unless asked for; one a process, so that kernels are made once."""
    return er.Arm(subject(name) if friction else frictionless(subject(name)))


@functools.cache
def batch(name: str, count: int = STATES) -> States:
    """The states of a test name."""
    return states(subject(name), count)


@functools.cache
def pinocchio(name: str) -> Pinocchio:
    """Pinocchio's model of a test name."""
    return Pinocchio(subject(name))


@functools.cache
def mass_scale(name: str, count: int = STATES) -> np.ndarray:
    """Per state, the greatest entry of M by Pinocchio: the floor for what is made of M and may vanish."""
    return np.abs(loop(pinocchio(name).mass_matrix, batch(name, count).q)).max(axis=(1, 2))


CATALOGUE = catalogue.names()
SUBJECTS = (*CATALOGUE, *(f"physical{n}" for n in range(1, 13)), "gdahj3", "gdahj8", "gdahj12")

QUICK = {"panda", "stanford", "scara", "planar2", "physical1", "physical2", "physical4", "gdahj3"}
"""Seven turning joints, slides first and last, two links, chains at any angle: what is quick and hard enough."""


def thinned(names: Iterable[str], quick: Iterable[str] = QUICK) -> list[Any]:
    """Names of robots as parameters of a test: those that are not `quick` are marked slow."""
    return slow_where(lambda name: name not in quick, names)
