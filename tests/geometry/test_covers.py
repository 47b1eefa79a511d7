"""The catalogue's capsules really cover the arms: against the meshes of their sources, where those are installed.

Every mesh is placed by frames that the test computes itself, at several configurations, and every point of its surface,
triangles filled to 10 mm, must lie in the capsules of its own link.
"""

from __future__ import annotations

import importlib.util
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import elbowroom as er
from elbowroom.geometry import Body, Capsule, distance
from elbowroom.model import catalogue
from elbowroom.model.rotations import pose, rpy

SPACING = 0.01  # m between the points of a triangle that are looked at
ROUNDING = 1e-3  # m: how far a point may stick out; radii are rounded up to millimetres, so none should
EXAMPLES = "../cmeel.prefix/share/example-robot-data/robots"
PUMA = "rtbdata", "meshes/UNIMATE/puma560"


def folder(package: str, path: str) -> Path:
    """A folder of data that a wheel brings along."""
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / path).is_dir():
            return Path(place) / path
    pytest.skip(f"the meshes in {package}'s {path} are not installed")


def triangles(file: Path) -> np.ndarray:
    """(N, 3, 3) corners in an STL file, binary or text."""
    data = file.read_bytes()
    if data[:5] == b"solid" and b"vertex" in data[:500]:
        words = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
        return np.array(words, dtype=float).reshape(-1, 3, 3)
    kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
    return np.frombuffer(data, kind, offset=84)["corners"].astype(float)


def surface(corners: np.ndarray) -> np.ndarray:
    """(M, 3) points all over the triangles, `SPACING` apart at most."""
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    pieces = np.maximum(1, np.ceil(edges / SPACING).astype(int))
    found = []
    for n in np.unique(pieces):
        grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
        found.append(np.einsum("gk,tkx->tgx", grid, corners[pieces == n]).reshape(-1, 3))
    return np.vstack(found)


def outside(points: np.ndarray, capsules) -> float:
    """How far the outermost point sticks out of the union of the capsules; negative where none does."""
    depths = []
    for c in capsules:
        d = c.b - c.a
        part = np.clip((points - c.a) @ d / (d @ d), 0, 1) if d.any() else np.zeros(len(points))
        depths.append(np.linalg.norm(points - c.a - part[:, None] * d, axis=1) - c.radius)
    return float(np.min(depths, axis=0).max())


def frames(name: str, q) -> list[np.ndarray]:
    """The base and every link's frame of the convention, in which the source's mesh is given, by the file alone."""
    table = tomllib.loads((Path(catalogue.__file__).with_name("catalogue") / f"{name}.toml").read_text())
    T, found = np.eye(4), [np.eye(4)]
    for qi, row in zip(q, table["joint"], strict=True):
        if table["convention"] == "frames":
            T = T @ pose(rpy(*np.radians(row.get("rpy_deg", (0, 0, 0)))), row["xyz"]) @ pose(rpy(0, 0, qi), (0, 0, 0))
        else:  # standard Denavit-Hartenberg, all joints revolute
            T = T @ pose(rpy(0, 0, qi), (0, 0, row.get("d", 0)))
            T = T @ pose(rpy(math.radians(row.get("alpha_deg", 0)), 0, 0), (row.get("a", 0), 0, 0))
        found.append(T)
    return found


def shifted(corners: np.ndarray, x=0.0, y=0.0, z=0.0) -> np.ndarray:
    return corners + np.array([x, y, z])


def panda() -> list[np.ndarray]:
    where = folder("cmeel", f"{EXAMPLES}/panda_description/meshes/collision")
    return [triangles(where / f"link{i}.stl") for i in range(8)]


def iiwa7() -> list[np.ndarray]:
    where = folder("diff_robot_data", "kuka_iiwa")
    text = (where / "urdf/iiwa7.urdf").read_text()
    found = []
    for i in range(8):
        link = re.search(rf'<link name="iiwa_link_{i}">(.*?)</link>', text, re.S)[1]
        place = re.search(r'<collision>\s*<origin rpy="0 0 0" xyz="(\S+) (\S+) (\S+)"', link).groups()
        found.append(shifted(triangles(where / f"meshes/iiwa7/collision/link_{i}.stl"), *map(float, place)))
    return found


def iiwa14() -> list[np.ndarray]:
    where = folder("pybullet_data", "kuka_iiwa/meshes")
    return [triangles(where / f"link_{i}.stl") for i in range(8)]


def puma560() -> list[np.ndarray]:
    links = [triangles(folder(*PUMA) / f"link{i}.stl") for i in range(6)]
    flange = folder("rtbdata", "xacro/unimation_puma560_description/meshes") / "puma_link7.stl"
    return [*links, shifted(triangles(flange) * 0.0254, z=0.0558 - 0.010)]  # inches; its place is the URDF's


MESHES = {"panda": panda, "iiwa7": iiwa7, "iiwa14": iiwa14, "puma560": puma560}


@pytest.mark.parametrize("name", MESHES)
def test_every_link_lies_in_its_own_capsules(name):
    links = [surface(link) for link in MESHES[name]()]
    arm = er.load(name)
    body = Body(arm)
    assert set(body.links) == set(range(-1, arm.n))
    low, high = arm.model.lower, arm.model.upper
    for q in np.random.default_rng(1).uniform(low, high, (2, arm.n)):
        capsules = body.capsules(q)
        for i, (T, points) in enumerate(zip(frames(name, q), links, strict=True)):
            own = [c for c, link in zip(capsules, body.links, strict=True) if link == i - 1]
            out = outside(points @ T[:3, :3].T + T[:3, 3], own)
            assert out < ROUNDING, f"link {i - 1} sticks out by {out * 1000:.1f} mm"


def test_the_cover_is_not_bloated():
    """The panda's capsules are at most 2.5 times as large as its links (2.4 for the base, 1.4 to 2.1 else)."""
    for link, capsule in zip(panda(), er.load("panda").model.capsules, strict=True):
        a, b, c = np.moveaxis(link, 1, 0)
        mesh = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
        length = np.linalg.norm(np.subtract(capsule.b, capsule.a))
        assert mesh < math.pi * capsule.radius**2 * (length + 4 / 3 * capsule.radius) < 2.5 * mesh


def test_the_thesis_cover_holds_the_puma_beyond_its_shoulder_whatever_the_wrist_does():
    links = [surface(link) for link in puma560()]
    arm = er.load("puma560")
    body = Body(arm, cover="thesis")
    assert body.names == ("upper_arm", "lower_arm")
    for q in np.random.default_rng(2).uniform(arm.model.lower, arm.model.upper, (6, 6)):
        upper, lower = body.capsules(q)
        T = frames("puma560", q)
        placed = [points @ Ti[:3, :3].T + Ti[:3, 3] for Ti, points in zip(T, links, strict=True)]
        assert outside(placed[2], [upper]) < ROUNDING
        for points in placed[3:]:
            assert outside(points, [lower]) < ROUNDING


# The UR5e and UR10e have no meshes at hand.  Their capsules come from those of the UR5 and UR10: each housing, in the
# mesh's own frame, stands at the newer arm's offset along the joint, or anywhere between the two.

UR = {  # mesh, the maker's mesh offset (rpy in degrees, z), shifts along y or z to the newer arm's place
    "ur5e": (
        "ur5",
        [
            ("shoulder", (0, 0, 180), 0.0, [{}]),
            ("upperarm", (90, 0, -90), 0.138, [{}]),
            ("forearm", (90, 0, -90), 0.007, [{}]),
            ("wrist1", (90, 0, 0), -0.127, [{}, {"y": 0.034}]),
            ("wrist2", (0, 0, 0), -0.0997, [{}, {"z": 0.0051}]),
            ("wrist3", (90, 0, 0), -0.0989, [{}, {"y": 0.0173}]),
        ],
        0.008,
    ),
    "ur10e": (
        "ur10",
        [
            ("shoulder", (0, 0, 180), 0.0, [{}]),
            ("upperarm", (90, 0, -90), 0.1762, [{"y": 0.035}, {"y": 0.045}]),
            ("forearm", (90, 0, -90), 0.0393, [{}]),
            ("wrist1", (90, 0, 0), -0.135, [{}, {"y": 0.0201}]),
            ("wrist2", (0, 0, 0), -0.12, [{}, {"z": 0.0043}]),
            ("wrist3", (90, 0, 0), -0.1168, [{}, {"y": 0.0246}]),
        ],
        0.010,
    ),
}


@pytest.mark.parametrize("name", UR)
def test_the_newer_ur_arms_cover_the_older_ones_housings_with_room(name):
    """The room is the file's own number, less 1.5 mm: what ends rounded to millimetres can take of it."""
    older, links, room = UR[name]
    where = folder("cmeel", f"{EXAMPLES}/ur_description/meshes/{older}/collision")
    capsules = Body(er.load(name)).link_capsules
    for i, (mesh, turn, z, shifts) in enumerate(links):
        T = pose(rpy(*np.radians(turn)), (0, 0, z))
        own = [Capsule(c.a, c.b, c.radius) for c in capsules if c.link == i]
        for shift in shifts:
            points = surface(shifted(triangles(where / f"{mesh}.stl"), **shift)) @ T[:3, :3].T + T[:3, 3]
            assert outside(points, own) < -room + 0.0015, mesh


@pytest.mark.parametrize("name", catalogue.names())
def test_every_arm_has_a_body_that_reaches_its_tool(name):
    """The tool's point lies in or on the body, so that no part of the arm is left out at its end."""
    arm = er.load(name)
    body = Body(arm)
    for q in np.random.default_rng(3).uniform(arm.model.lower, arm.model.upper, (5, arm.n)):
        assert outside(arm.pose(q)[None, :3, 3], body.capsules(q)) < ROUNDING


@pytest.mark.parametrize("name", catalogue.names())
def test_neighbouring_links_leave_no_gap(name):
    """Capsules of the chain hang together: each moving link touches a link before it, in every configuration."""
    arm = er.load(name)
    body = Body(arm)
    for q in np.random.default_rng(4).uniform(arm.model.lower, arm.model.upper, (3, arm.n)):
        capsules = body.capsules(q)
        for i, (x, link) in enumerate(zip(capsules, body.links, strict=True)):
            before = [y for y, other in zip(capsules, body.links, strict=True) if other == link - 1]
            before += [y for j, (y, o) in enumerate(zip(capsules, body.links, strict=True)) if o == link and j != i]
            if link >= 0 and before:
                assert min(distance(x, y).distance for y in before) < 0, body.names[i]
