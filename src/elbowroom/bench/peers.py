"""The libraries that a user would take instead, each built from our own Model and called as its manual says.

A peer is a name, a version, and a function per quantity of (q, qd, qdd, tau); what it does not offer is left out.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arm import Arm
from ..model import Model
from ..model.export.write_mjcf import bare_mjcf

Call = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True)
class Peer:
    """Another library on one arm."""

    name: str
    version: str
    one: dict[str, Call] = field(default_factory=dict)  # quantity -> one state
    many: dict[str, Call] = field(default_factory=dict)  # quantity -> a batch, one thread


def peers(arm: Arm) -> tuple[list[Peer], list[str]]:
    """The peers that are installed, on this arm, and the names of those that are not."""
    found, missing = [], []
    for name, module, build in (
        ("Pinocchio", "pinocchio", _pinocchio),
        ("MuJoCo", "mujoco", _mujoco),
        ("Robotics Toolbox", "roboticstoolbox", _toolbox),
    ):
        try:
            library = importlib.import_module(module)
        except ImportError:
            missing.append(name)
            continue
        if (peer := build(library, arm)) is not None:
            found.append(peer)
    return found, missing


def pinocchio_model(pin: Any, model: Model) -> Any:
    """The chain as a Pinocchio model, joint by joint; frame "tool" included."""
    built = pin.Model()
    built.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    parent = 0
    for i in range(model.n):
        placement = pin.SE3(np.array(model.E[i]), np.array(model.p[i]))
        if i == 0:
            placement = pin.SE3(np.array(model.base)) * placement
        joint = pin.JointModelRZ() if model.revolute(i) else pin.JointModelPZ()
        parent = built.addJoint(parent, joint, placement, model.joint_names[i])
        body = pin.Inertia(float(model.mass[i]), np.array(model.com[i]), np.array(model.inertia[i]))
        built.appendBodyToJoint(parent, body, pin.SE3.Identity())
    built.armature = np.array(model.rotor_inertia)
    built.addFrame(pin.Frame("tool", parent, 0, pin.SE3(np.array(model.tool)), pin.FrameType.OP_FRAME))
    return built


def _pinocchio(pin: Any, arm: Arm) -> Peer:
    model = pinocchio_model(pin, arm.model)
    data = model.createData()
    tool = model.getFrameId("tool")
    world = pin.LOCAL_WORLD_ALIGNED

    def rate(q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        C = pin.computeCoriolisMatrix(model, data, q, qd)
        return C + C.T

    def pose_and_jacobian(q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        J = pin.computeFrameJacobian(model, data, q, tool, world)
        return pin.updateFramePlacement(model, data, tool), J

    one: dict[str, Call] = {
        "mass_matrix": lambda q, qd, qdd, tau: pin.crba(model, data, q),
        "coriolis_matrix": lambda q, qd, qdd, tau: pin.computeCoriolisMatrix(model, data, q, qd),
        "mass_matrix_rate": rate,
        "inverse_dynamics": lambda q, qd, qdd, tau: pin.rnea(model, data, q, qd, qdd),
        "forward_dynamics": lambda q, qd, qdd, tau: pin.aba(model, data, q, qd, tau),
        "mass_matrix_inverse": lambda q, qd, qdd, tau: pin.computeMinverse(model, data, q),
        "pose and jacobian": pose_and_jacobian,
    }
    many: dict[str, Call] = {}
    if hasattr(pin, "ModelPool") and hasattr(pin, "rneaInParallel"):
        pool = pin.ModelPool(model, 1)
        # The pool's functions take one state a column; their arrays are prepared outside the clock.
        many["inverse_dynamics"] = lambda q, qd, qdd, tau: pin.rneaInParallel(1, pool, q, qd, qdd)
        many["forward_dynamics"] = lambda q, qd, qdd, tau: pin.abaInParallel(1, pool, q, qd, tau)
    return Peer("Pinocchio", pin.__version__, one, many)


def mujoco_xml(model: Model) -> str:
    """The chain as MJCF, for timing: the moving bodies alone (model/export)."""
    return bare_mjcf(model)


def _mujoco(mujoco: Any, arm: Arm) -> Peer | None:
    try:
        model = mujoco.MjModel.from_xml_string(mujoco_xml(arm.model))
    except ValueError:  # MuJoCo refuses some published tensors (a link of the Stanford arm has no moment)
        return None
    data = mujoco.MjData(model)
    M = np.zeros((arm.n, arm.n))

    def mass_matrix(q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_fullM(model, data, M)
        return M

    def inverse_dynamics(q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse

    def forward_dynamics(q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        return data.qacc

    calls: dict[str, Call] = {
        "mass_matrix": mass_matrix,
        "inverse_dynamics": inverse_dynamics,
        "forward_dynamics": forward_dynamics,
    }
    return Peer("MuJoCo", mujoco.__version__, calls)


def _toolbox(rtb: Any, arm: Arm) -> Peer | None:
    """The Robotics Toolbox has the PUMA 560 with its dynamics."""
    if arm.name != "puma560":
        return None
    robot = rtb.models.DH.Puma560()
    calls: dict[str, Call] = {
        "mass_matrix": lambda q, qd, qdd, tau: robot.inertia(q),
        "coriolis_matrix": lambda q, qd, qdd, tau: robot.coriolis(q, qd),
        "inverse_dynamics": lambda q, qd, qdd, tau: robot.rne(q, qd, qdd),
        "forward_dynamics": lambda q, qd, qdd, tau: robot.accel(q, qd, tau),
    }
    return Peer("Robotics Toolbox", importlib.metadata.version("roboticstoolbox-python"), calls)
