"""MotionBenchMaker's problems of the Panda and the UR5, read from the source archive of vamp-planner.

MotionBenchMaker (Chamzas et al., 2022) has seven scenes of 100 problems for each arm.  The archive of vamp-planner
carries them as MoveIt's YAML (`resources/<arm>/problems.tar.bz2`) beside the arm's URDF and meshes.  They are read
where they lie; nothing of them is part of this package.

The arm is the one of the archive, with its hand, covered with capsules as every URDF is (model/meshes.py).  The
fingers of the UR5's gripper close in on what they will hold, and capsules about them overlap it in most goals: that
gripper has the spheres that the archive's second URDF covers it with, as VAMP has them.

Boxes and spheres are taken as they are.  A cylinder becomes one of three covers: the box around it, the capsule of its
own radius, or the capsule of least volume; the one that leaves start and goal the most room, or else the smallest.  So
our obstacles are a little larger than those of the problems, and a problem whose start or goal is in contact all the
same is `refused`.
"""

from __future__ import annotations

import io
import math
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance.planning import Box, Checker, World
from ...errors import ElbowroomError, UnknownNameError, did_you_mean
from ...geometry import Body, Capsule, Sphere
from ...loading import load
from .problems import Problem, ProblemSet, Shape

Array = NDArray[np.float64]

ARMS = {"panda": "panda_hand", "ur5": "tool0"}  # the folder of each, and the link that it ends at
SPHERES = {"ur5": "robotiq"}  # links whose names begin so have the archive's spheres
PREFIX = "MBM"  # of the sets' names
ROOM = 0.05  # m: more room than this at start and goal makes no cover better
SCENES = ("bookshelf_small", "bookshelf_tall", "bookshelf_thin", "box", "cage", "table_pick", "table_under_pick")
HOW = (
    "pip download --no-deps --no-binary :all: vamp-planner, or the .tar.gz from the files of vamp-planner at your "
    "package index, then --problems vamp_planner-X.Y.Z.tar.gz"
)


class Raw(NamedTuple):
    """A scene and a request as the files have them."""

    scene: Any
    request: Any


def archive(path: Path) -> Path:
    """The archive or the unpacked folder that a path names: itself, or the only one in the folder."""
    if path.is_file() and path.name.endswith((".tar.gz", ".tgz")):
        return path
    if path.is_dir():
        if (path / "resources").is_dir():
            return path
        inside = sorted([*path.glob("vamp*planner*.tar.gz"), *(p.parent for p in path.glob("vamp*planner*/resources"))])
        if inside:
            return inside[-1]
    raise ElbowroomError(
        f"--problems: expected the source archive of vamp-planner, its unpacked folder, or a folder that holds one; "
        f"got {str(path)!r}.  To get it: {HOW}"
    )


@contextmanager
def unpacked(path: Path, arm: str) -> Iterator[Path]:
    """The folder with an arm's URDF, meshes and problems, while it is needed."""
    if arm not in ARMS:
        raise UnknownNameError(f"no problems of {arm!r}: expected {' or '.join(ARMS)}{did_you_mean(arm, ARMS, 2, 0.5)}")
    found = archive(path)
    if found.is_dir():
        yield found / "resources" / arm
        return
    with tempfile.TemporaryDirectory() as folder, tarfile.open(found) as tar:
        wanted = [m for m in tar.getmembers() if re.match(rf"[^/]+/resources/{arm}/", m.name)]
        if not wanted:
            raise ElbowroomError(f"{found.name}: expected a folder resources/{arm} in it; got none.  To get it: {HOW}")
        tar.extractall(folder, wanted, filter="data")
        yield Path(folder) / wanted[0].name.split("/")[0] / "resources" / arm


def the_arm(folder: Path, arm: str) -> Arm:
    """The arm of the archive, with its hand."""
    return load(str(folder / f"{arm}.urdf"), tip=ARMS[arm])


def the_body(folder: Path, arm: str, model: Arm) -> Body:
    """Its capsules, with the archive's spheres where they are wanted."""
    own = Body(model)
    if arm not in SPHERES:
        return own
    spheres = Body(load(str(folder / f"{arm}_spherized.urdf"), tip=ARMS[arm]))
    kept = [capsule for capsule in own.link_capsules if not capsule.name.startswith(SPHERES[arm])]
    return Body(model, [*kept, *(c for c in spheres.link_capsules if c.name.startswith(SPHERES[arm]))])


def raw_problems(folder: Path, arm: str, scene: str, count: int) -> Iterator[tuple[int, Raw]]:
    """The first problems of a scene, with their numbers."""
    load_yaml = _yaml()
    with tarfile.open(folder / "problems.tar.bz2") as tar:
        texts: dict[tuple[str, int], str] = {}
        for member in tar:
            parts = re.fullmatch(rf"[^/]+/{scene}_{arm}/(scene|request)(\d+)\.yaml", member.name)
            file = tar.extractfile(member) if parts else None
            if parts and file is not None:
                texts[parts[1], int(parts[2])] = io.TextIOWrapper(file, encoding="utf-8").read()
    numbers = sorted(number for what, number in texts if what == "scene" and ("request", number) in texts)
    for number in numbers[:count]:
        yield number, Raw(load_yaml(texts["scene", number]), load_yaml(texts["request", number]))


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise ElbowroomError("MotionBenchMaker's problems are YAML: pip install pyyaml") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return lambda text: yaml.load(text, loader)


def problem(number: int, raw: Raw, checker: Checker) -> Problem:
    """A problem from its files."""
    state = raw.request["start_state"]["joint_state"]
    start = dict(zip(state["name"], state["position"], strict=True))
    constraints = raw.request["goal_constraints"][0]["joint_constraints"]
    goal = {each["joint_name"]: each["position"] for each in constraints}
    names = checker.body.arm.joint_names
    ends = np.array([[float(values[name]) for name in names] for values in (start, goal)])
    shapes: list[Shape] = []
    for thing in raw.scene["world"]["collision_objects"]:
        R, p = _pose(thing["pose"]) if "pose" in thing else (np.eye(3), np.zeros(3))
        for primitive, at in zip(thing["primitives"], thing["primitive_poses"], strict=True):
            R_in, p_in = _pose(at)
            covers = _covers(primitive["type"], primitive["dimensions"], R @ R_in, R @ p_in + p)
            room = [min(float(np.min(checker.clearance(ends, World([cover])))), ROOM) for cover in covers]
            shapes.append(covers[int(np.argmax(room))])
    return Problem(number, ends[0], ends[1], tuple(shapes))


def _pose(at: Any) -> tuple[Array, Array]:
    """Rotation (3, 3) and position (3,) of a pose with a quaternion x, y, z, w."""
    x, y, z, w = np.array(at["orientation"], float) / np.linalg.norm(at["orientation"])
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return R, np.array(at["position"], float)


def _covers(kind: str, size: list[float], R: Array, p: Array) -> list[Shape]:
    """The shapes that hold a primitive, the smallest first."""
    if kind == "box":
        return [Box(p, np.array(size, float) / 2, R)]
    if kind == "sphere":
        return [Sphere(p, float(size[0]))]
    if kind == "cylinder":
        return cylinder_covers(p, R, float(size[0]), float(size[1]))
    raise ElbowroomError(f"a shape of a problem: expected box, sphere or cylinder; got {kind!r}")


def cylinder_covers(p: Array, R: Array, length: float, radius: float) -> list[Shape]:
    """Covers of a cylinder about z of a frame, the smallest by volume first.

    A capsule whose axis ends e short of the cylinder's must have the radius sqrt(radius^2 + e^2) to hold its rim.
    """
    short = np.linspace(0.0, length / 2, 65)
    wide = np.sqrt(radius**2 + short**2)
    volumes = math.pi * wide**2 * (length - 2 * short) + 4 / 3 * math.pi * wide**3
    found: list[tuple[float, Shape]] = [(4 * radius**2 * length, Box(p, np.array([radius, radius, length / 2]), R))]
    for k in {0, int(volumes.argmin())}:
        half = R[:, 2] * (length / 2 - short[k])
        found.append((float(volumes[k]), Capsule(p - half, p + half, float(wide[k]))))
    return [shape for _, shape in sorted(found, key=lambda each: each[0])]


def problem_sets(path: Path, arm: str, count: int, scenes: tuple[str, ...] = SCENES) -> list[ProblemSet]:
    """The first `count` problems of each scene, for one arm."""
    sets = []
    with unpacked(path, arm) as folder:
        model = the_arm(folder, arm)
        body = the_body(folder, arm, model)
        checker = Checker(body)
        for scene in scenes:
            found, refused = list[Problem](), list[int]()
            for number, raw in raw_problems(folder, arm, scene, count):
                one = problem(number, raw, checker)
                ends = checker.free(np.array([one.start, one.goal]), World(one.shapes))
                (found.append(one) if np.all(ends) else refused.append(number))
            sets.append(ProblemSet(f"{PREFIX} {arm} {scene}", model, body, checker, found, refused))
    return sets
