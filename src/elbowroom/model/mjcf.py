"""Models from MJCF files: the chain from the world to a body or a site, with everything else merged into it.

MuJoCo's own parser reads the file, so includes, defaults and the frames of `<compiler>` are as MuJoCo has them.  A body
stands in its parent at T_b; its joints, in order, turn it about (or slide it along) an axis through an anchor, both in
the body's own axes, from the reference q = ref on.  With A_j = (z onto the axis, anchor), our frame i is

    B A_j Rz(-ref)       B: the body's pose in frame i-1, T_b T_c ... of the bodies on the way
    B := A_j^-1          the body's pose in frame i, at the reference

Of a body with several joints the links between them have no mass.  `damping`, `frictionloss` and `armature` are the
model's viscous and Coulomb friction and rotor inertia; forces are limited by `actuatorfrcrange`, else by the
`forcerange` of motors on the joint.  MJCF has no limits of speed.  A keyframe called home gives the ready
configuration.

Bodies off the chain are rigid in it where the reference puts them, with their masses, and a free joint below the chain
is locked; a `ModelWarning` names these joints, and springs and couplings, which the model has no place for.  Geoms that
can touch become capsules, or those that are seen where a body has no others; those of the world itself are the room's,
not the arm's.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingShapeWarning, ModelError, ModelNotice, close_names, pip_install, warn
from ..reading import named, read_bytes
from . import tips
from .capsules import (
    NOT_HELD,
    Cover,
    LinkCapsule,
    covering_capsule,
    covering_capsules,
    covering_cylinder,
    moved_capsule,
    reduced,
)
from .check import LENGTH, bounded
from .inertia import NOTHING, MassProperties, merge, moved
from .model import Array, Model, create
from .rotations import from_quaternion, pose, rz, z_to
from .urdf_xml import quoted

MAX_BYTES = 10_000_000
SUFFIXES = (".mjcf", ".xml")
HOME = "home"


def is_mjcf(path: Path) -> bool:
    """Whether a file's outermost element is <mujoco>."""
    if path.suffix.lower() == ".mjcf":
        return True
    try:
        head = read_bytes(path, MAX_BYTES, ModelError)
    except ModelError:
        return False  # said by the reader
    at = head.find(b"<mujoco")
    return at >= 0 and b"<robot" not in head[:at]


def load(path: str | os.PathLike[str], tip: str | None = None, *, name: str | None = None) -> Model:
    """The chain from the world to the body or site `tip` of an MJCF file; the tool frame is the tip's own frame."""
    try:
        robot = _Robot(_compiled(Path(path)))
        return _model(robot, tip, name or robot.title or Path(path).stem, Path(path))
    except ModelError as error:
        raise ModelError(f"{named(path)}: {error}") from error


def _compiled(path: Path) -> Any:
    read_bytes(path, MAX_BYTES, ModelError)  # a file, and not too large
    try:
        import mujoco
    except ImportError as error:
        raise ModelError(f"an MJCF file is read by MuJoCo: {pip_install('mujoco')}") from error
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError) as error:  # its text has the element and the line
        raise ModelError(f"MuJoCo does not take it: {' '.join(str(error).split())[:300]}") from error


@dataclass
class _Seat:
    """Where a body stands: the chain link that carries it (-1: the world), and its pose (4, 4) in that link's frame."""

    link: int
    T: Array


@dataclass
class _Chain:
    joints: list[int] = field(default_factory=list)
    placements: list[Array] = field(default_factory=list)
    seats: dict[int, _Seat] = field(default_factory=dict)
    locked: list[int] = field(default_factory=list)


class _Robot:
    """A compiled model, asked by number."""

    def __init__(self, model: Any) -> None:
        import mujoco

        self.m, self._types = model, mujoco.mjtObj
        self.hinge, self.slide = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
        self.free = int(mujoco.mjtJoint.mjJNT_FREE)
        self.geoms = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")): kind for kind in _GEOMS}
        self._name = mujoco.mj_id2name
        off = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        self.gravity = np.zeros(3) if off else np.array(model.opt.gravity)

    @property
    def title(self) -> str:
        """The name of the model; MuJoCo has one of its own for models without."""
        given = bytes(self.m.names).split(b"\0", 1)[0].decode("utf-8", "replace")
        return "" if given == "MuJoCo Model" else given

    def name(self, kind: str, number: int) -> str:
        given = self._name(self.m, getattr(self._types, f"mjOBJ_{kind.upper()}"), number)
        return given or ("world" if kind == "body" and number == 0 else f"{kind}{number}")

    def names(self, kind: str) -> dict[str, int]:
        count = {"body": self.m.nbody, "site": self.m.nsite, "joint": self.m.njnt}[kind]
        return {self.name(kind, k): k for k in range(count)}

    def joints(self, body: int) -> range:
        first = int(self.m.body_jntadr[body])
        return range(first, first + int(self.m.body_jntnum[body]))

    def T(self, kind: str, number: int) -> Array:
        """A body, site or geom in its parent."""
        return pose(from_quaternion(getattr(self.m, f"{kind}_quat")[number]), getattr(self.m, f"{kind}_pos")[number])

    def moves(self, joint: int) -> bool:
        return int(self.m.jnt_type[joint]) in (self.hinge, self.slide)

    def upward(self, body: int) -> list[int]:
        """A body and those that carry it, up to the world, without it."""
        way = []
        while body:
            way.append(body)
            body = int(self.m.body_parentid[body])
        return way


def _model(robot: _Robot, tip: str | None, name: str, file: Path) -> Model:
    m = robot.m
    if m.nbody < 2:
        raise ModelError("the model has no bodies")
    tip = _guessed(robot, name, file) if tip is None else tip
    body, T_tip = _tip(robot, tip)
    chain = _chain(robot, body, tip)
    n = len(chain.joints)
    parts: list[list[MassProperties]] = [[] for _ in range(n)]
    for b, seat in chain.seats.items():
        inertia = from_quaternion(m.body_iquat[b])
        own = MassProperties(
            float(m.body_mass[b]), m.body_ipos[b].copy(), inertia @ np.diag(m.body_inertia[b]) @ inertia.T
        )
        if seat.link >= 0 and (own.mass > 0 or own.inertia.any()):
            parts[seat.link].append(moved(own, seat.T))
    links = [reduce(merge, bodies) if bodies else NOTHING for bodies in parts]
    capsules, wrong = _capsules(robot, chain)
    _tell(robot, chain, name, tip, wrong)
    if (few := reduced(capsules)) is not capsules:
        warn(f"{name}: {len(capsules)} capsules were merged into {len(few)} that hold them; {NOT_HELD}", ModelNotice)
    dofs = [int(m.jnt_dofadr[j]) for j in chain.joints]
    tool = chain.seats[body].T @ T_tip
    names = [robot.name("joint", j) for j in chain.joints]
    bodies_ = [robot.name("body", int(m.jnt_bodyid[j])) for j in chain.joints]
    lower, upper = _limits(robot, chain.joints)
    return create(
        ["R" if int(m.jnt_type[j]) == robot.hinge else "P" for j in chain.joints],
        E=np.array([T[:3, :3] for T in chain.placements]),
        p=np.array([T[:3, 3] for T in chain.placements]),
        mass=[link.mass for link in links],
        com=np.array([link.com for link in links]),
        inertia=np.array([(link.inertia + link.inertia.T) / 2 for link in links]),
        name=name,
        joint_names=names,
        link_names=[f"{b}:{joint}" if bodies_.count(b) > 1 else b for b, joint in zip(bodies_, names, strict=True)],
        lower=lower,
        upper=upper,
        effort=[_effort(robot, j) for j in chain.joints],
        viscous=m.dof_damping[dofs],
        coulomb=m.dof_frictionloss[dofs],
        rotor_inertia=m.dof_armature[dofs],
        gravity=robot.gravity,
        tool=tool,
        ready=_ready(robot, chain.joints, lower, upper),
        source=file.name,
        capsules=few,
    )


def _inverse(T: Array) -> Array:
    return pose(T[:3, :3].T, -T[:3, :3].T @ T[:3, 3])


def _tip(robot: _Robot, tip: str) -> tuple[int, Array]:
    """The body at the end, and the tip's pose in it."""
    bodies, sites = robot.names("body"), robot.names("site")
    if bodies.get(tip):
        return bodies[tip], np.eye(4)
    if tip in sites:
        return int(robot.m.site_bodyid[sites[tip]]), robot.T("site", sites[tip])
    known = [*bodies, *sites][1:]
    near = close_names(tip, known, 5) or known
    raise ModelError(f"there is no body or site {tip!r} to be the tip; choose from {quoted(near)}")


def _guessed(robot: _Robot, name: str, file: Path) -> str:
    m = robot.m
    edges = []
    for body in range(1, m.nbody):
        title, parent = robot.name("body", body), robot.name("body", int(m.body_parentid[body]))
        joints = list(robot.joints(body))
        moving = [j for j in joints if robot.moves(j)]
        other = any(int(m.jnt_type[j]) not in (robot.hinge, robot.slide, robot.free) for j in joints)
        length = float(np.linalg.norm(m.body_pos[body]))
        for j in moving[:-1]:  # a joint more, and no body
            between = f"{title}:{robot.name('joint', j)}"
            edges.append(tips.Edge(between, parent, robot.name("joint", j), True, False, 0.0))
            parent = between
        last = robot.name("joint", moving[-1]) if moving else f"{title}:fixed"
        edges.append(tips.Edge(title, parent, last, bool(moving) and not other, other, length))
    for site in range(m.nsite):
        length = float(np.linalg.norm(m.site_pos[site]))
        title, parent = robot.name("site", site), robot.name("body", int(m.site_bodyid[site]))
        if title not in robot.names("body"):
            edges.append(tips.Edge(title, parent, f"{title}:site", False, False, length))
    found = tips.guess("world", edges, f"elbowroom check {named(file)} --tip")
    if found.choices > 1:
        warn(f"{name}: {found}", ModelNotice)
    return found.tip


def _chain(robot: _Robot, end: int, tip: str) -> _Chain:
    """The joints on the way to a body, and where every body of its tree sits with all others at their reference."""
    m = robot.m
    way = robot.upward(end)
    chain = _Chain(seats={0: _Seat(-1, np.eye(4))})
    for body in range(1, m.nbody):  # parents come before their children
        if int(m.body_rootid[body]) != way[-1]:
            continue
        above = chain.seats[int(m.body_parentid[body])]
        link, T = above.link, above.T @ robot.T("body", body)
        for j in robot.joints(body):
            if body not in way or int(m.jnt_type[j]) == robot.free:
                chain.locked.append(j)
                continue
            if not robot.moves(j):
                raise ModelError(
                    f"joint {robot.name('joint', j)!r}: a ball joint cannot be on the chain to {tip!r}; "
                    "expected hinge or slide"
                )
            A = pose(z_to(m.jnt_axis[j]), m.jnt_pos[j])
            ref = float(m.qpos0[m.jnt_qposadr[j]])
            hinge = int(m.jnt_type[j]) == robot.hinge
            back = pose(rz(-ref), (0, 0, 0)) if hinge else pose(np.eye(3), (0, 0, -ref))  # so that q is MuJoCo's
            chain.placements.append(T @ A @ back)
            chain.joints.append(j)
            link, T = len(chain.joints) - 1, _inverse(A)
        chain.seats[body] = _Seat(link, T)
    if not chain.joints:
        raise ModelError(f"no joint moves between the world and the tip {tip!r}")
    return chain


def _limits(robot: _Robot, joints: list[int]) -> tuple[list[float], list[float]]:
    m = robot.m
    ranges = [m.jnt_range[j] if m.jnt_limited[j] else (-math.inf, math.inf) for j in joints]
    return [float(low) for low, _ in ranges], [float(high) for _, high in ranges]


def _effort(robot: _Robot, joint: int) -> float:
    m = robot.m
    if m.jnt_actfrclimited[joint]:
        return float(np.abs(m.jnt_actfrcrange[joint]).max())
    import mujoco

    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    motors = [k for k in range(m.nu) if int(m.actuator_trntype[k]) in on_joint and m.actuator_trnid[k, 0] == joint]
    if not motors or not all(m.actuator_forcelimited[k] for k in motors):
        return math.inf
    return float(sum(np.abs(m.actuator_forcerange[k]).max() * abs(m.actuator_gear[k, 0]) for k in motors))


def _ready(robot: _Robot, joints: list[int], lower: list[float], upper: list[float]) -> Array | None:
    """The keyframe called home, where there is one and it is within the limits."""
    import mujoco

    key = mujoco.mj_name2id(robot.m, mujoco.mjtObj.mjOBJ_KEY, HOME)
    if key < 0:
        return None
    q = np.array([robot.m.key_qpos[key][robot.m.jnt_qposadr[j]] for j in joints])
    return q if (np.array(lower) <= q).all() and (q <= np.array(upper)).all() else None


def _tell(robot: _Robot, chain: _Chain, name: str, tip: str, wrong: list[str]) -> None:
    m = robot.m
    locked = [robot.name("joint", j) for j in chain.locked]
    if locked:
        message = f"{name}: joints off the chain to {tip!r} are locked at their reference: {quoted(locked)}"
        warn(message)
    springs = [robot.name("joint", j) for j in chain.joints if m.jnt_stiffness[j]]
    if springs:
        warn(f"{name}: springs on joints are left out: {quoted(springs)}")
    import mujoco

    couplings = [
        robot.name("joint", j)
        for k in range(m.neq)
        if int(m.eq_type[k]) == int(mujoco.mjtEq.mjEQ_JOINT)
        for j in (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
        if j in chain.joints
    ]
    if couplings:
        message = f"{name}: couplings of joints are left out: {quoted(dict.fromkeys(couplings))}"
        warn(message)
    if wrong:
        message = f"{name}: geoms without capsules, which distances will ignore: {'; '.join(wrong[:10])}"
        warn(MissingShapeWarning(message, tuple(wrong[:10])))


@dataclass(frozen=True, eq=False)
class SeenGeom:
    """A geom as it is seen: its body's name and link (0: the base), kind and size as a visual has them, and pose."""

    name: str
    link: int
    kind: str
    size: tuple[float, ...]
    T: Array
    mesh: str
    colour: tuple[float, float, float, float]


def seen(path: Path, tip: str | None) -> list[SeenGeom]:
    """The geoms of the arm that `load(path, tip)` gives which are there to be seen: those that cannot touch, or all."""
    robot = _Robot(_compiled(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said by `load`
        body, _ = _tip(robot, _guessed(robot, "", path) if tip is None else tip)
    m = robot.m
    found = []
    for b, seat in _chain(robot, body, tip or "").seats.items():
        first = int(m.body_geomadr[b])
        geoms = list(range(first, first + int(m.body_geomnum[b]))) if b else []
        bare = [g for g in geoms if not (m.geom_contype[g] or m.geom_conaffinity[g])]
        for g in bare or geoms:
            kind, size = robot.geoms.get(int(m.geom_type[g]), ""), [float(x) for x in m.geom_size[g]]
            T, mesh = seat.T @ robot.T("geom", g), ""
            if kind == "mesh":
                k = int(m.geom_dataid[g])
                T = T @ _inverse(pose(from_quaternion(m.mesh_quat[k]), m.mesh_pos[k]))  # MuJoCo centres meshes
                size, mesh = [float(x) for x in m.mesh_scale[k]], _mesh_file(robot, k, path)
            elif kind == "box":
                size = [2 * x for x in size]
            elif kind in ("cylinder", "capsule"):
                size = [size[0], 2 * size[1]]
            elif kind == "sphere":
                size = size[:1]
            else:
                continue
            material = int(m.geom_matid[g])
            rgba = m.mat_rgba[material] if material >= 0 else m.geom_rgba[g]
            r, green, blue, a = (float(x) for x in rgba)
            found.append(
                SeenGeom(robot.name("body", b), seat.link + 1, kind, tuple(size), T, mesh, (r, green, blue, a))
            )
    return found


def _mesh_file(robot: _Robot, mesh: int, path: Path) -> str:
    """The file of a mesh, as MuJoCo has found it."""
    start = int(robot.m.mesh_pathadr[mesh])
    if start < 0:
        return ""
    raw = bytes(robot.m.paths[start:])
    return str(path.parent / raw[: raw.index(b"\0")].decode("utf-8", "replace"))


_GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")


def geoms_of(robot: _Robot, body: int) -> list[int]:
    """The geoms of a body that can touch, or else all."""
    first = int(robot.m.body_geomadr[body])
    geoms = range(first, first + int(robot.m.body_geomnum[body]))
    touching = [g for g in geoms if robot.m.geom_contype[g] or robot.m.geom_conaffinity[g]]
    return touching or list(geoms)


def _capsules(robot: _Robot, chain: _Chain) -> tuple[list[LinkCapsule], list[str]]:
    found: list[LinkCapsule] = []
    wrong: list[str] = []
    for body, seat in chain.seats.items():
        if body == 0:
            continue
        name = robot.name("body", body)
        covers: list[LinkCapsule] = []
        for g in geoms_of(robot, body):
            try:
                for cover in _covers(robot, g):
                    a, b = (tuple(side.tolist()) for side in (cover.a, cover.b))
                    capsule = LinkCapsule(name, seat.link, a, b, cover.radius)
                    covers.append(moved_capsule(capsule, seat.T @ robot.T("geom", g)))
            except ModelError as error:
                wrong.append(f"body {name!r}: {error}")
        found += [
            capsule if len(covers) == 1 else replace(capsule, name=f"{name}:{k + 1}")
            for k, capsule in enumerate(covers)
        ]
    return sorted(found, key=lambda capsule: capsule.link), wrong


def _covers(robot: _Robot, geom: int) -> list[Cover]:
    m, kind = robot.m, robot.geoms.get(int(robot.m.geom_type[geom]), "")
    size = m.geom_size[geom]
    if kind == "sphere":
        return [Cover(np.zeros(3), np.zeros(3), float(size[0]))]
    if kind == "capsule":
        half = np.array([0.0, 0.0, size[1]])
        return [Cover(-half, half, float(size[0]))]
    if kind == "cylinder":
        return [covering_cylinder(float(size[0]), 2 * float(size[1]))]
    if kind in ("box", "ellipsoid"):  # the box about it: at most a little more
        return [covering_capsule(np.array(np.meshgrid(*([-x, x] for x in size))).reshape(3, -1).T)]
    if kind == "mesh":
        mesh = int(m.geom_dataid[geom])
        points = m.mesh_vert[m.mesh_vertadr[mesh] :][: m.mesh_vertnum[mesh]].astype(float)
        faces = m.mesh_face[m.mesh_faceadr[mesh] :][: m.mesh_facenum[mesh]]
        bounded(points, LENGTH, f"mesh {robot.name('mesh', mesh)!r}: its vertices")
        return covering_capsules(points, faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2))
    raise ModelError(f"geom {robot.name('geom', geom)!r}: a {kind} cannot be covered")
