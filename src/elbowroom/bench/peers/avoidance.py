"""The libraries that a user would take to keep an arm clear of capsules, on the same scene as ours.

    coal    distances alone: capsule by capsule from Python, all pairs in Pinocchio's own loop, the nearest by its tree
    mink    differential inverse kinematics by a QP on MuJoCo, with its CollisionAvoidanceLimit
    Pink    the same on Pinocchio and coal, with its SelfCollisionBarrier over the pairs of arm and person

mink and Pink solve a quadratic program a cycle, which is another method than ours: velocities towards an obstacle are
bounded, nothing pushes, and the obstacle's own velocity is not looked at.  They get the same arm and capsules, the same
task (the tool's position, and a weak pull to the rest posture), the same joint limits, and daqp for a solver.
Distances and gains are those of their own examples where the name says so.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...avoidance import Repulsion
from ...model.capsules import BASE, LinkCapsule
from ..scene import PERIOD, PlacedCapsule, TimedScene, middles, of_rows, placed
from .dynamics import mujoco_xml, pinocchio_model

Array = NDArray[np.float64]

SOLVER = "daqp"
INFLUENCE = Repulsion().influence  # m, as far as our field reaches by default
GAIN = PERIOD  # of the error a cycle: 1 m/s for a metre, as our attraction has it by default
NEAREST = 16  # pairs that Pink's lighter row looks at


@dataclass(frozen=True)
class Stepper:
    """Another library's cycle on the scene."""

    name: str
    version: str
    quantity: str
    says: str  # what it does in a cycle
    cycle: Callable[[float, Any], object]
    frames: Sequence[object]  # that `cycle` takes
    nearest: Callable[[], float]  # m, how far the person is from what can move, as it sees it after a cycle


def steppers(scene: TimedScene) -> tuple[list[Stepper], list[str]]:
    """The cycles of the peers that are installed, and the names of those that are not."""
    found: list[Stepper] = []
    missing: list[str] = []
    for name, build, modules in (
        ("mink", _mink, ("mink", "mujoco", SOLVER)),
        ("Pink", _pink, ("pink", "pinocchio", "coal", SOLVER)),
    ):
        try:
            libraries = [importlib.import_module(module) for module in modules]
        except ImportError:
            missing.append(name)
            continue
        found += build(scene, *libraries[:-1])
    return found, missing


# ---- mink


def mujoco_scene(mujoco: ModuleType, scene: TimedScene) -> Any:
    """The arm as MJCF with its capsules "arm 0", ..., a site "tool", and the person as mocap bodies "person 0", ...

    The mocap bodies are turned as the world is and their capsules in them, so that a person who sways without turning
    moves by `mocap_pos` alone.
    """
    model = scene.arm.model
    spec = mujoco.MjSpec.from_string(mujoco_xml(model))
    world, *links = spec.bodies
    for i, joint in enumerate(spec.joints):
        joint.name = model.joint_names[i]
        joint.range = [model.lower[i], model.upper[i]]
        joint.limited = True
    for k, capsule in enumerate(scene.body.link_capsules):
        owner = world if capsule.link == BASE else links[capsule.link]
        _geom(mujoco, owner, f"arm {k}", _on_link(capsule, model.base))
    links[-1].add_site(name="tool", pos=model.tool[:3, 3])
    for k, at in enumerate(of_rows(scene.frames[0].rows)):
        owner = world.add_body(name=f"person {k}", mocap=True, pos=at.middle)
        _geom(mujoco, owner, f"person {k}", at._replace(middle=np.zeros(3)))
    return spec.compile()


def _on_link(capsule: LinkCapsule, base: Array) -> PlacedCapsule:
    """In the axes of its link; what is on the base, in the world."""
    T = base if capsule.link == BASE else np.eye(4)
    a, b = (T[:3, :3] @ np.array(end) + T[:3, 3] for end in (capsule.a, capsule.b))
    return placed(a, b, capsule.radius)


def _geom(mujoco: ModuleType, body: Any, name: str, capsule: PlacedCapsule) -> None:
    kind, size = mujoco.mjtGeom.mjGEOM_CAPSULE, [capsule.radius, capsule.length / 2, 0.0]
    if capsule.length == 0.0:
        kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [capsule.radius, 0.0, 0.0]
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, capsule.R.ravel())
    body.add_geom(name=name, type=kind, size=size, pos=capsule.middle, quat=quaternion, mass=0.0)


class MinkProblem(NamedTuple):
    """What mink solves a cycle of."""

    configuration: Any
    tasks: list[Any]  # the tool, the posture
    limits: list[Any]  # positions, velocities, distances


class MinkFrame(NamedTuple):
    """What mink is told in a cycle."""

    q: Array  # (n,)
    places: Array  # (k, 3) the middles of the person's capsules
    goal: Any  # of the tool, as mink has it


def mink_problem(
    mink: ModuleType, mujoco: ModuleType, scene: TimedScene, reach: float, gain: float = GAIN
) -> MinkProblem:
    """The tool's task and the limits of the scene; `reach` (m) is where a pair begins to count."""
    model = mujoco_scene(mujoco, scene)
    tool = mink.FrameTask("tool", "site", position_cost=1.0, orientation_cost=0.0, gain=gain, lm_damping=1e-6)
    posture = mink.PostureTask(model, cost=1e-2, gain=gain)
    posture.set_target(scene.arm.ready)
    against = [f"person {k}" for k in range(scene.capsules)]
    pairs = [([f"arm {k}"], against) for k in range(len(scene.body))]
    pairs += [([f"arm {i}"], [f"arm {j}"]) for i, j in scene.body.self_pairs]
    clear = mink.CollisionAvoidanceLimit(
        model, pairs, minimum_distance_from_collisions=0.05, collision_detection_distance=reach
    )
    speeds = dict(zip(scene.arm.joint_names, scene.arm.model.velocity, strict=True))
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, speeds), clear]
    return MinkProblem(mink.Configuration(model), [tool, posture], limits)


def _mink(scene: TimedScene, mink: ModuleType, mujoco: ModuleType) -> list[Stepper]:
    frames = [MinkFrame(f.q, middles(f.rows), mink.SE3.from_translation(f.goal[:3])) for f in scene.frames]
    found = []
    for reach, whose in ((0.1, "as in its examples"), (INFLUENCE, "as far as our field")):
        problem = mink_problem(mink, mujoco, scene, reach)
        clear = problem.limits[-1]
        person = [problem.configuration.model.geom(f"person {k}").id for k in range(scene.capsules)]
        found.append(
            Stepper(
                "mink",
                importlib.metadata.version("mink"),
                f"QP, within {reach:g} m",
                f"within {reach:g} m, {whose}: kinematics, distances of {clear.max_num_contacts} pairs (MuJoCo, after "
                f"a broad phase), a QP ({SOLVER})",
                _mink_cycle(mink, problem),
                frames,
                _least_in_mujoco(mujoco, problem, person),
            )
        )
    return found


def _least_in_mujoco(mujoco: ModuleType, problem: MinkProblem, person: list[int]) -> Callable[[], float]:
    model, data, far = problem.configuration.model, problem.configuration.data, 10.0
    theirs = [(i, j) for i, j in problem.limits[-1].geom_id_pairs if i in person or j in person]
    return lambda: min(mujoco.mj_geomDistance(model, data, i, j, far, np.zeros(6)) for i, j in theirs)


def _mink_cycle(mink: ModuleType, problem: MinkProblem) -> Callable[[float, MinkFrame], object]:
    configuration, tasks, limits = problem
    mocap, tool = configuration.data.mocap_pos, tasks[0]
    solve = mink.solve_ik

    def cycle(t: float, frame: MinkFrame) -> object:
        q, places, goal = frame
        mocap[:] = places
        tool.set_target(goal)
        configuration.update(q)
        return solve(configuration, tasks, PERIOD, SOLVER, damping=1e-3, limits=limits)

    return cycle


# ---- Pinocchio, coal and Pink


class PinocchioScene(NamedTuple):
    """The arm and the capsules in Pinocchio."""

    model: Any
    geometry: Any
    person: list[int]  # the numbers of the person's capsules


def pinocchio_scene(pin: ModuleType, coal: ModuleType, scene: TimedScene, *, static: bool) -> PinocchioScene:
    """Capsules of the arm on its joints and of the person on the universe, and our own pairs between them.

    static: pairs of the fixed base and the person too, which no joint can part.
    """
    source = scene.arm.model
    model, geometry = pinocchio_model(pin, source), pin.GeometryModel()
    model.lowerPositionLimit, model.upperPositionLimit = np.array(source.lower), np.array(source.upper)
    model.velocityLimit = np.array(source.velocity)
    arm, person = [], []
    for k, capsule in enumerate(scene.body.link_capsules):
        at = _on_link(capsule, source.base)
        arm.append(_geometry_object(pin, coal, geometry, f"arm {k}", capsule.link + 1, at))
    for k, at in enumerate(of_rows(scene.frames[0].rows)):
        person.append(_geometry_object(pin, coal, geometry, f"person {k}", 0, at))
    for i, mine in enumerate(arm):
        if static or scene.body.links[i] != BASE:
            for other in person:
                geometry.addCollisionPair(pin.CollisionPair(mine, other))
    return PinocchioScene(model, geometry, person)


def _geometry_object(pin: ModuleType, coal: ModuleType, geometry: Any, name: str, joint: int, at: PlacedCapsule) -> int:
    number: int = geometry.addGeometryObject(
        pin.GeometryObject(name, joint, pin.SE3(at.R, at.middle), capsule_shape(coal, at))
    )
    return number


def capsule_shape(coal: ModuleType, at: PlacedCapsule) -> object:
    """coal's shape of a capsule; its own lengths are those of the axis, too."""
    return coal.Sphere(at.radius) if at.length == 0.0 else coal.Capsule(at.radius, at.length)


class PinkProblem(NamedTuple):
    """What Pink solves a cycle of."""

    configuration: Any
    tasks: list[Any]  # the tool, the posture
    barriers: list[Any]
    person: list[int]  # the numbers of the person's capsules


class PinkFrame(NamedTuple):
    """What Pink is told in a cycle."""

    q: Array  # (n,)
    placements: list[Any]  # of the person's capsules, as Pinocchio has them
    goal: Any  # of the tool


def pink_problem(
    pink: ModuleType,
    pin: ModuleType,
    coal: ModuleType,
    scene: TimedScene,
    nearest: int | None = None,
    gain: float = GAIN,
    cost: float = 1.0,
) -> PinkProblem:
    """The tool's task, of this cost, and the barriers of the scene, for all pairs or for so many of the nearest."""
    from pink.barriers import SelfCollisionBarrier
    from pink.tasks import FrameTask, PostureTask

    model, geometry, person = pinocchio_scene(pin, coal, scene, static=False)
    arm = [k for k in range(len(geometry.geometryObjects)) if k not in person]
    for i, j in scene.body.self_pairs:
        geometry.addCollisionPair(pin.CollisionPair(arm[i], arm[j]))
    count = len(geometry.collisionPairs) if nearest is None else nearest
    configuration = pink.Configuration(model, model.createData(), np.array(scene.arm.ready), collision_model=geometry)
    tool = FrameTask("tool", position_cost=cost, orientation_cost=0.0, gain=gain, lm_damping=1e-6)
    posture = PostureTask(cost=1e-2 * cost, gain=gain)
    posture.set_target(np.array(scene.arm.ready))
    barrier = SelfCollisionBarrier(count, gain=20.0, safe_displacement_gain=1.0, d_min=0.05)
    return PinkProblem(configuration, [tool, posture], [barrier], person)


def _pink(scene: TimedScene, pink: ModuleType, pin: ModuleType, coal: ModuleType) -> list[Stepper]:
    turned = [c.R for c in of_rows(scene.frames[0].rows)]  # the person sways without turning
    frames = [
        PinkFrame(
            f.q,
            [pin.SE3(R, middle) for R, middle in zip(turned, middles(f.rows), strict=True)],
            pin.SE3(np.eye(3), f.goal[:3]),
        )
        for f in scene.frames
    ]
    found = []
    for whose in ("all pairs", f"{NEAREST} nearest pairs"):
        everything = whose.startswith("all")
        problem = pink_problem(pink, pin, coal, scene, None if everything else NEAREST)
        pairs = len(problem.configuration.collision_model.collisionPairs)
        found.append(
            Stepper(
                "Pink",
                importlib.metadata.version("pin-pink"),
                f"QP, {whose}",
                f"{whose}{', as in its examples' if everything else ''}: kinematics, distances of "
                f"{pairs} pairs (coal), barriers for {pairs if everything else NEAREST}, a QP ({SOLVER})",
                _pink_cycle(pink, problem),
                frames,
                _least_in_coal(problem),
            )
        )
    return found


def _least_in_coal(problem: PinkProblem) -> Callable[[], float]:
    found, pairs = problem.configuration.collision_data, problem.configuration.collision_model.collisionPairs
    theirs = [k for k, pair in enumerate(pairs) if pair.second in problem.person]
    return lambda: min(found.distanceResults[k].min_distance for k in theirs)


def _pink_cycle(pink: ModuleType, problem: PinkProblem) -> Callable[[float, PinkFrame], object]:
    configuration, tasks, barriers, person = problem
    objects = [configuration.collision_model.geometryObjects[k] for k in person]
    solve, tool = pink.solve_ik, tasks[0]

    def cycle(t: float, frame: PinkFrame) -> object:
        q, placements, goal = frame
        tool.set_target(goal)
        for thing, placement in zip(objects, placements, strict=True):
            thing.placement = placement
        configuration.update(q)
        return solve(configuration, tasks, PERIOD, SOLVER, barriers=barriers)

    return cycle
