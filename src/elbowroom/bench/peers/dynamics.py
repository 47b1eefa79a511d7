"""The libraries that a user would take instead, each built from our own Model and called as its manual says."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ...arm import Arm
from ...export.write_mjcf import bare_mjcf
from ...model import Model
from . import frax
from .calls import POSE_AND_JACOBIAN, Array, Peer


class PeersFound(NamedTuple):
    """The peers that are installed, the names of those that are not, and notes on what one of them cannot do."""

    peers: list[Peer]
    missing: list[str]
    notes: list[str]


def peers(arm: Arm, *, only: Sequence[str] = (), threads: Sequence[int] = ()) -> PeersFound:
    """Peers on this arm, all or `only` some; `threads`: with Pinocchio's parallel calls on so many, too."""
    found = PeersFound([], [], [])
    for name, module, build in _LIBRARIES:
        if only and name not in only:
            continue
        try:
            library = frax.library() if module == "frax" else importlib.import_module(module)
        except ImportError:
            found.missing.append(name)
            continue
        try:
            built = _pinocchio(library, arm, threads) if name == "Pinocchio" else build(library, arm)
        except _RefusedError as why:
            found.notes.append(f"{name} has no {arm.name}: {why}.")
            continue
        found.peers.extend(built)
    return found


class _RefusedError(Exception):
    """A library cannot have this arm."""


def pinocchio_model(pin: ModuleType, model: Model) -> Any:
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


def _pinocchio(pin: ModuleType, arm: Arm, threads: Sequence[int] = ()) -> list[Peer]:
    model = pinocchio_model(pin, arm.model)
    data = model.createData()
    names = {
        "pin": pin,
        "model": model,
        "data": data,
        "tool": model.getFrameId("tool"),
        "world": pin.LOCAL_WORLD_ALIGNED,
    }
    one = {
        "mass_matrix": "pin.crba(model, data, q)",
        "coriolis_matrix": "pin.computeCoriolisMatrix(model, data, q, qd)",
        "mass_matrix_rate": "(C := pin.computeCoriolisMatrix(model, data, q, qd)) + C.T",
        "inverse_dynamics": "pin.rnea(model, data, q, qd, qdd)",
        "forward_dynamics": "pin.aba(model, data, q, qd, tau)",
        "mass_matrix_inverse": "pin.computeMinverse(model, data, q)",
        "poses": "pin.forwardKinematics(model, data, q)",  # into data.oMi
        POSE_AND_JACOBIAN: "pin.computeFrameJacobian(model, data, q, tool, world), "
        "pin.updateFramePlacement(model, data, tool)",  # after it: it uses the joints' places
    }
    if not (hasattr(pin, "ModelPool") and hasattr(pin, "rneaInParallel")):
        return [Peer("Pinocchio", pin.__version__, names, one)]
    # The pool's functions take one state a column.
    many = {
        "inverse_dynamics": "pin.rneaInParallel(threads, pool, q, qd, qdd)",
        "forward_dynamics": "pin.abaInParallel(threads, pool, q, qd, tau)",
    }
    pools = {count: names | {"pool": pin.ModelPool(model, count), "threads": count} for count in (1, *threads)}
    alone = Peer("Pinocchio", pin.__version__, pools[1], one, many, ready=columns)
    return [
        alone,
        *(
            Peer(f"Pinocchio, {count} threads", pin.__version__, pools[count], {}, many, ready=columns)
            for count in threads
        ),
    ]


def columns(array: Array) -> Array:
    """A state a column, each in one piece."""
    return np.asfortranarray(array.T)


def mujoco_xml(model: Model) -> str:
    """The chain as MJCF, for timing: the moving bodies alone (model/export)."""
    return bare_mjcf(model)


def _mujoco(mujoco: ModuleType, arm: Arm) -> list[Peer]:
    try:
        model = mujoco.MjModel.from_xml_string(mujoco_xml(arm.model))
    except ValueError as error:  # MuJoCo refuses some published tensors (a link of the Stanford arm has no moment)
        raise _RefusedError("it refuses the model") from error
    data = mujoco.MjData(model)
    M = np.zeros((arm.n, arm.n))

    def mass_matrix(q: Array) -> Array:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_fullM(model, data, M)
        return M

    def inverse_dynamics(q: Array, qd: Array, qdd: Array) -> object:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse

    def forward_dynamics(q: Array, qd: Array, tau: Array) -> object:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        return data.qacc

    calls = (mass_matrix, inverse_dynamics, forward_dynamics)
    texts = ("mass_matrix(q)", "inverse_dynamics(q, qd, qdd)", "forward_dynamics(q, qd, tau)")
    names = {call.__name__: call for call in calls}
    return [Peer("MuJoCo", mujoco.__version__, names, dict(zip(names, texts, strict=True)))]


def _toolbox(rtb: ModuleType, arm: Arm) -> list[Peer]:
    """The Robotics Toolbox with the arm's own modified Denavit-Hartenberg table: its compiled Newton-Euler takes that.

    E_i must be Rx(alpha) Rz(offset) and p_i = (a, -d sin(alpha), d cos(alpha)); then its link frames are ours.
    """
    model = arm.model
    links = [_mdh_link(rtb, model, i) for i in range(model.n)]
    robot = rtb.DHRobot(links, gravity=np.array(model.base[:3, :3].T @ model.gravity))
    one = {
        "mass_matrix": "robot.inertia(q)",
        "coriolis_matrix": "robot.coriolis(q, qd)",
        "inverse_dynamics": "robot.rne(q, qd, qdd)",
        "forward_dynamics": "robot.accel(q, qd, tau)",
    }
    return [Peer("Robotics Toolbox", importlib.metadata.version("roboticstoolbox-python"), {"robot": robot}, one)]


def _mdh_link(rtb: ModuleType, model: Model, i: int) -> object:
    E, p = model.E[i], model.p[i]
    alpha, offset = math.atan2(-E[1, 2], E[2, 2]), math.atan2(-E[0, 1], E[0, 0])
    sine, cosine = math.sin(alpha), math.cos(alpha)
    beside = abs(cosine * p[1] + sine * p[2])
    if not model.revolute(i) or abs(E[0, 2]) > 1e-9 or beside > 1e-9:  # rounding of a table's angles
        raise _RefusedError("its frames are no Denavit-Hartenberg table")
    return rtb.RevoluteMDH(
        a=p[0],
        alpha=alpha,
        d=cosine * p[2] - sine * p[1],
        offset=offset,
        m=model.mass[i],
        r=np.array(model.com[i]),
        I=np.array(model.inertia[i]),
        Jm=model.rotor_inertia[i],
        G=1.0,
    )


def _frax(library: ModuleType, arm: Arm) -> list[Peer]:
    return [frax.peer(arm)]


_LIBRARIES: tuple[tuple[str, str, Callable[[ModuleType, Arm], list[Peer]]], ...] = (
    ("Pinocchio", "pinocchio", _pinocchio),
    ("MuJoCo", "mujoco", _mujoco),
    ("Robotics Toolbox", "roboticstoolbox", _toolbox),
    (frax.NAME, "frax", _frax),
)
