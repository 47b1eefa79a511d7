"""What an arm is good for: reach, dexterity at its ready pose, how well its capsules cover it, what its file lacks.

    found = suitability(arm, "my.urdf", tip="tool0")
    found.reach, found.dexterity, found.covers, found.unlimited, found.odd, found.cell

`elbowroom check` prints it.  Nothing here moves the arm; whether the standard cell can be run is answered by laying it
out for the arm (`standard_cell`).
"""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..errors import ElbowroomError, ModelError
from ..model import Model, meshes
from ..model.capsules import Cover, distance_to_segment
from ..model.visuals import MISSING, Visual, visuals_of
from .layout import STANDARD, bare_of, laid_out
from .pick_and_place import PickAndPlace
from .scene import Scene

Array = NDArray[Any]

SAMPLES = 4_000  # configurations
POINTS = 20_000  # of a link's surface
POOR, SINGULAR = 0.03, 0.003
"""Least over largest singular value of the Jacobian, lengths in units of the reach."""
ANGLES = 25  # of a joint, at which its neighbours' capsules are looked at
BASE_NAME = "base"
CANNOT = "cannot run the standard cell: "
MUCH = 0.03  # m that sticks out of the capsules, from which it is worth a warning: a finger is half as thick
STICKS_OUT = 0.002  # m, above what a mesh and its capsules may differ by rounding
LIGHT, HEAVY = 20.0, 9_000.0  # kg/m^3 of a link's capsules: a foam and solid steel
ALIKE = 3  # links with the same mass and inertia look like a placeholder


@dataclass(frozen=True)
class LinkCover:
    """How far what is seen of a link sticks out of its capsules, m; not positive where nothing does."""

    link: str
    sticks_out: float


@dataclass(frozen=True)
class Verdict:
    """Whether something can be done, and a sentence that says why or why not."""

    possible: bool
    sentence: str


@dataclass(frozen=True)
class Suitability:
    """What matters for use."""

    joints: int
    reach: float  # m, of the tool from the base
    dexterity: float  # at the ready pose, 0 singular to 1 equal in all directions
    manipulability: float  # the product of the singular values of Jv there: m^3, m^2 of two joints, m of one
    capsules: int
    covers: tuple[LinkCover, ...]  # by link, base first; () where nothing but capsules is known of the arm
    unlimited: dict[str, tuple[str, ...]]  # by position, velocity, effort: the joints without such a limit
    odd: tuple[str, ...]  # in the distribution of mass
    cell: Verdict
    bare: tuple[str, ...] = ()  # links that must have a shape and have none

    @property
    def worst(self) -> LinkCover | None:
        """The link that sticks out most."""
        return max(self.covers, key=lambda cover: cover.sticks_out, default=None)


def suitability(arm: Arm, source: str | os.PathLike[str], tip: str | None = None) -> Suitability:
    """All of it; `source` and `tip` are what the arm was loaded from: for what it looks like, and for the cell."""
    distance = reach(arm)
    bare = bare_of(arm)
    dexterity, manipulability = conditioning(arm, arm.ready, distance)
    return Suitability(
        joints=arm.n,
        reach=distance,
        dexterity=dexterity,
        manipulability=manipulability,
        capsules=len(arm.model.capsules),
        covers=tuple(covers(arm, visuals_of(source, tip))),
        unlimited=unlimited(arm),
        odd=tuple(mass_oddities(arm)),
        cell=Verdict(False, f"{CANNOT}{_bare(bare, arm.n)}") if bare else standard_cell(source, tip),
        bare=bare,
    )


def reach(arm: Arm) -> float:
    """The greatest distance of the tool from the base, of many configurations within the limits."""
    low, high = arm.model.sampling_range()
    rng = np.random.default_rng(0)  # the same arm has the same reach
    Q = rng.uniform(low, high, (SAMPLES, arm.n))
    tool = np.asarray(arm.pose(Q))[:, :3, 3]
    return float(np.linalg.norm(tool - arm.model.base[:3, 3], axis=1).max())


def conditioning(arm: Arm, q: Array, length: float) -> tuple[float, float]:
    """Least over largest singular value of the Jacobian with lengths in units of `length`, and the manipulability."""
    Jv, Jw = (np.asarray(part) for part in arm.jacobian(q))
    s = np.linalg.svd(np.concatenate([Jv / max(length, 1e-9), Jw]), compute_uv=False)
    translation = np.linalg.svd(Jv, compute_uv=False)
    return float(s[-1] / s[0]) if s[0] > 0 else 0.0, float(np.prod(translation))


def standard_cell(source: str | os.PathLike[str], tip: str | None = None) -> Verdict:
    """Whether the pick-and-place cell of `elbowroom demo` can be run with an arm, and how large its task is then.

    The cell is laid out for the arm as it is when it runs; no controller is compiled and nothing moves.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the arm was loaded
            written = Scene.load(STANDARD, robot=os.fspath(source))
            place = laid_out(dataclasses.replace(written, tip=tip or ""))
    except ElbowroomError as error:
        return Verdict(False, f"{CANNOT}{error}")
    model, known = place.arm.model, np.isfinite(place.lower) & np.isfinite(place.upper)
    endless = [model.joint_names[i] for i in range(model.n) if not model.revolute(i) and not known[i]]
    if endless:
        why = f"slide {endless[0]!r} has no limits, which planning needs; it can with --no-planning"
        return Verdict(False, f"{CANNOT}{why}")
    size = _length(place.scene) / _length(written)
    if place.scene.task == written.task:
        return Verdict(True, "can run the standard cell")
    if math.isclose(size, 1.0):
        return Verdict(True, "can run the standard cell with its task moved")
    return Verdict(True, f"can run the standard cell with its task at {size:.2f} of its size")


def _bare(bare: tuple[str, ...], n: int) -> str:
    return f"{len(bare) if len(bare) < n else f'all {n}'} {'link has' if len(bare) == 1 else 'links have'} no shape"


def far_out(found: Iterable[LinkCover]) -> list[LinkCover]:
    """The links that move and stick out of the capsules by more than `MUCH`; the base does not come to anybody."""
    return [cover for cover in found if cover.sticks_out > MUCH and cover.link != BASE_NAME]


def uncovered(arm: Arm, source: str | os.PathLike[str], tip: str | None = None) -> str:
    """The sentence about an arm that sticks out of its capsules by more than `MUCH`; "" where it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not drawn is said where it is drawn
        found = far_out(covers(arm, visuals_of(source, tip)))
    most = max((cover.sticks_out for cover in found if math.isfinite(cover.sticks_out)), default=0.0)
    return f"capsules leave up to {1e3 * most:.0f} mm of what is seen uncovered" if most > MUCH else ""


def _length(scene: Scene) -> float:
    """From pick to place, m."""
    task = scene.task
    assert isinstance(task, PickAndPlace)
    return math.dist(task.pick, task.place)


def unlimited(arm: Arm) -> dict[str, tuple[str, ...]]:
    """Joints without limits of position (sliding ones), speed or effort."""
    model = arm.model
    open_ = {
        "position": [not model.revolute(i) and math.isinf(model.upper[i] - model.lower[i]) for i in range(arm.n)],
        "velocity": np.isinf(model.velocity).tolist(),
        "effort": np.isinf(model.effort).tolist(),
    }
    return {
        what: tuple(joint for joint, lacks in zip(arm.joint_names, missing, strict=True) if lacks)
        for what, missing in open_.items()
        if any(missing)
    }


def mass_oddities(arm: Arm) -> list[str]:
    """What looks wrong with where the mass is: alike links, a centre of mass outside, a density of nothing known."""
    model = arm.model
    found = []
    kinds = Counter(
        (float(m), tuple(np.ravel(tensor).tolist())) for m, tensor in zip(model.mass, model.inertia, strict=True)
    )
    alike, count = kinds.most_common(1)[0]
    if count >= ALIKE and alike[0] > 0:
        found.append(f"{count} links have the same mass and inertia ({alike[0]:g} kg): placeholders?")
    shapes = defaultdict(list)
    for capsule in model.capsules:
        shapes[capsule.link].append(capsule)
    for i, link in enumerate(model.link_names):
        own, mass = shapes.get(i), float(model.mass[i])
        if not own or mass <= 0:
            continue
        axes = [(np.array(c.a), np.array(c.b), c.radius) for c in own]
        outside = min(float(distance_to_segment(model.com[i][None], a, b)[0]) - r for a, b, r in axes)
        if outside > 0.01:
            found.append(f"link {link!r}: its centre of mass lies {1e3 * outside:.0f} mm outside of its shape")
        density = mass / sum(Cover(a, b, r).volume for a, b, r in axes)
        if not LIGHT <= density <= HEAVY:
            found.append(f"link {link!r}: {mass:g} kg in its shape are {density:.3g} kg/m^3")
    return found


def covers(arm: Arm, visuals: tuple[Visual, ...]) -> list[LinkCover]:
    """By link of the chain, base first: how far what is seen sticks out of the arm's capsules.

    A point counts as covered by its own link's capsules, or by those of the link before or after if they hold it
    however the joint between them stands: a sleeve that turns about its axis is often given to the link that it turns
    on.
    """
    points: dict[int, list[Array]] = defaultdict(list)
    for visual in visuals:
        if visual.kind == MISSING:
            continue
        try:
            points[visual.link - 1].append(surface_points(visual))
        except ModelError:
            continue  # said when it is drawn
    names = (BASE_NAME, *arm.model.link_names)
    found = []
    for link in sorted(points):
        seen = np.concatenate(points[link])
        seen = seen[:: max(len(seen) // POINTS, 1)]
        out = _outside(arm, link, seen)
        far = out > STICKS_OUT
        if far.any() and np.isfinite(out).all():  # one without capsules has no shape, whatever is about it
            out[far] = np.minimum(out[far], _outside_neighbours(arm, link, seen[far]))
        found.append(LinkCover(names[link + 1], float(out.max())))
    return found


def _outside(arm: Arm, link: int, points: Array) -> Array:
    """(N,) how far points (N, 3) in the frame of a link are outside of its capsules; inf where it has none."""
    out = np.full(len(points), math.inf)
    for capsule in arm.model.capsules:
        if capsule.link == link:
            away = distance_to_segment(points, np.array(capsule.a), np.array(capsule.b)) - capsule.radius
            out = np.minimum(out, away)
    return out


def _outside_neighbours(arm: Arm, link: int, points: Array) -> Array:
    """(N,) the same for the capsules of the link before and of the one after, wherever the joint between stands."""
    model, out = arm.model, np.full(len(points), math.inf)
    low, high = model.sampling_range()
    for joint, other in ((link, link - 1), (link + 1, link + 1)):
        if not 0 <= joint < model.n:
            continue
        worst = np.full(len(points), -math.inf)
        for q in np.linspace(low[joint], high[joint], ANGLES):
            T = _moved(model, joint, q)  # the joint's link in the frame before it
            R, p = T[:3, :3], T[:3, 3]
            there = points @ R.T + p if other < link else (points - p) @ R
            worst = np.maximum(worst, _outside(arm, other, there))
        out = np.minimum(out, worst)
    return out


def _moved(model: Model, joint: int, q: float) -> Array:
    """(4, 4) the frame of a joint in the one before, or in the base, with the joint at q."""
    c, s = math.cos(q), math.sin(q)
    turns = model.revolute(joint)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) if turns else np.eye(3)
    shift = np.zeros(3) if turns else np.array([0.0, 0.0, q])
    T = np.eye(4)
    T[:3, :3] = model.E[joint] @ R
    T[:3, 3] = model.p[joint] + model.E[joint] @ shift
    return T


def surface_points(visual: Visual) -> Array:
    """(N, 3) points of a visual's surface in the link's frame: corners and middles of triangles."""
    T = np.array(visual.pose)
    if visual.kind == "mesh":
        parts = []
        for surface in meshes.surfaces(Path(visual.mesh)):
            corners = surface.vertices[surface.faces]
            parts += [surface.vertices, corners.mean(axis=1)]
        local = np.concatenate(parts) * np.array(visual.size)
    else:
        local = _solid_points(visual.kind, visual.size)
    return local @ T[:3, :3].T + T[:3, 3]


def _solid_points(kind: str, size: tuple[float, ...]) -> Array:
    if kind == "box":
        return np.array(np.meshgrid(*([-x / 2, 0.0, x / 2] for x in size))).reshape(3, -1).T
    turn = np.linspace(0.0, 2 * math.pi, 24, endpoint=False)
    if kind == "cylinder":
        radius, length = size
        ring = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros_like(turn)])
        return np.concatenate([ring + np.array([0, 0, z]) for z in (-length / 2, 0.0, length / 2)])
    radius, half = size[0], (size[1] / 2 if len(size) > 1 else 0.0)
    rings = [
        np.column_stack(
            [
                radius * math.cos(tilt) * np.cos(turn),
                radius * math.cos(tilt) * np.sin(turn),
                np.full_like(turn, radius * math.sin(tilt) + math.copysign(half, tilt)),
            ]
        )
        for tilt in np.linspace(-math.pi / 2, math.pi / 2, 12)
    ]
    return np.concatenate(rings)
