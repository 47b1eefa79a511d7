"""The layout of a cell before it runs: the arm in its place, joints at the start, its plant, the task where it fits.

Nothing is compiled for a controller here, so `elbowroom check` can ask for it, too.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..errors import ConfigError, MissingShapeWarning, ModelError, UnknownNameError
from ..geometry import Body
from ..geometry.body import bare_links
from ..loading import load
from ..model.check import ANGLE
from ..model.urdf_xml import quoted
from .fitting import fitted, refuse_unreachable
from .plants.mujoco import MuJoCo
from .plants.plant import ROUNDED, Kinematic, Plant, RigidBody
from .scene import Scene

Array = NDArray[np.float64]
WIDEST = 2.0  # m: the radius of a capsule; the largest arms that are made are thinner


def mounted(scene: Scene) -> Arm:
    """The arm, its base turned by quarter turns so that the resting tool is on the +x side."""
    return _faced(scene, _loaded(scene))


def _loaded(scene: Scene) -> Arm:
    try:
        return load(scene.robot, scene.tip or None, density=scene.density or None)
    except UnknownNameError as error:
        raise ConfigError(f"robot: {error}") from error


def shaped(scene: Scene) -> Arm:
    """The arm before it is mounted; a ConfigError where links of it have no shape (`bare_links`) and must have one.

    Why they have none is said in the error then, and else in a warning, as the loader does.
    """
    caught: list[warnings.WarningMessage] = []
    refused = False
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arm = _loaded(scene)
        bare = bare_of(arm, scene.cover)
        refused = bool(bare) and not (scene.allow_bare and len(bare) < arm.n)
        if refused:
            raise ConfigError(f"robot: {without_shape(arm, bare, reasons_of(caught))}")
        _sensible(arm, scene)
    finally:
        for each in caught:
            if not (refused and isinstance(each.message, MissingShapeWarning)):
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno, registry=_said)
    return arm


def _sensible(arm: Arm, scene: Scene) -> None:
    """A ConfigError for an arm that cannot move, or whose shapes are in other units than metres."""
    stuck = [name for name, speed in zip(arm.joint_names, arm.model.velocity, strict=True) if speed <= 0]
    if stuck and not scene.limits.velocities:
        raise ConfigError(
            f"robot: {arm.name}: expected velocity limits above 0; got 0 for {', '.join(stuck)}: mend the file, or "
            "give limits.velocities in the scene"
        )
    wide = max(arm.model.capsules, key=lambda capsule: capsule.radius, default=None)
    if wide is not None and wide.radius > WIDEST:
        raise ConfigError(
            f"robot: {arm.name}: expected links less than {2 * WIDEST:g} m thick; {wide.name} has a capsule of radius "
            f'{wide.radius:.3g} m: are its meshes in millimetres? <mesh ... scale="0.001 0.001 0.001"> says so'
        )


_said: dict[Any, Any] = {}  # what Python remembers of warnings that were shown


def reasons_of(caught: Iterable[warnings.WarningMessage]) -> tuple[str, ...]:
    """Why shapes are missing, of what was said while an arm was read."""
    found = [each.message.reasons for each in caught if isinstance(each.message, MissingShapeWarning)]
    return tuple(reason for reasons in found for reason in reasons)


def bare_of(arm: Arm, cover: str = "") -> tuple[str, ...]:
    """The links of an arm that must have a shape and have none; of one that is known by a cover alone, of that."""
    if arm.model.capsules:
        return Body(arm).bare
    return bare_links(arm.model, dict(arm.model.covers).get(cover, ()))


def without_shape(arm: Arm, bare: tuple[str, ...], why: tuple[str, ...] = ()) -> str:
    """What is said of an arm with links that have no shape: which, why, and what to do."""
    count = f"{len(bare)} of {arm.n}" if len(bare) < arm.n else f"all {arm.n}"
    cause = "; ".join(why) or "give them <collision> elements in the URDF, or capsules in a TOML file"
    anyway = (
        "; `run` and `demo` go on without them by --allow-bare (in a scene: allow_bare = true)"
        if len(bare) < arm.n
        else ""
    )
    return (
        f"{arm.name}: {count} moving links have no shape, so distances would ignore them: {quoted(bare)}; "
        f"{cause}{anyway if len(bare) < arm.n else ''}"
    )


def _faced(scene: Scene, arm: Arm) -> Arm:
    """The arm turned as the scene says."""
    if not scene.face:
        return arm
    start = starting(scene, arm)
    x, y, _ = arm.pose(start)[:3, 3] - arm.model.base[:3, 3]
    quarters = round(math.atan2(y, x) / (math.pi / 2)) % 4
    if quarters == 0:
        return arm
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[-quarters % 4]
    turned = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    return Arm(arm.model.with_base(turned @ arm.model.base))


def starting(scene: Scene, arm: Arm) -> Array:
    """Where the joints start (n,), rad or m; where they rest, if the scene does not say."""
    start = joints(scene.start, arm, "start", arm.ready)
    for i in np.flatnonzero(np.abs(start) > ANGLE.most):  # sine and cosine have few digits there, or none
        joint = arm.joint_names[i]
        raise ConfigError(f"start[{i}]: expected joint {joint!r} within {ANGLE.most:g} rad or m; got {start[i]:g}")
    return start


def joints(values: tuple[float, ...], arm: Arm, name: str, default: Array) -> Array:
    """A number a joint (n,), `default` if there are none."""
    if not values:
        return np.array(default, dtype=float)
    if len(values) != arm.n:
        raise ConfigError(f"{name}: expected {arm.n} numbers, one a joint of {arm.name}; got {len(values)}")
    return np.array(values, dtype=float)


def limited(scene: Scene, arm: Arm, start: Array) -> tuple[Array, Array]:
    """The task's joint limits, within the arm's own and about the start; or a ConfigError that names the joint."""
    model = arm.model
    lower, upper = (joints(getattr(scene, end), arm, end, getattr(model, end)) for end in ("lower", "upper"))
    for i, joint in enumerate(arm.joint_names):
        own = f"the arm's own limits, {model.lower[i]:g} to {model.upper[i]:g}"
        if lower[i] < model.lower[i] - ROUNDED:
            raise ConfigError(f"lower[{i}]: expected joint {joint!r} within {own}; got {lower[i]:g}")
        if upper[i] > model.upper[i] + ROUNDED:
            raise ConfigError(f"upper[{i}]: expected joint {joint!r} within {own}; got {upper[i]:g}")
        if not lower[i] < upper[i]:
            raise ConfigError(
                f"lower[{i}]: expected less than upper, {upper[i]:g}, for joint {joint!r}; got {lower[i]:g}"
            )
        if not lower[i] <= start[i] <= upper[i]:
            within = f"joint {joint!r} within its limits, {lower[i]:g} to {upper[i]:g}"
            raise ConfigError(f"start[{i}]: expected {within}; got {start[i]:g}")
    return lower, upper


def plant_of(scene: Scene, arm: Arm, capsules: int) -> Plant:
    """The plant that the scene asks for, with room for so many capsules of people."""
    settings, torque = scene.plant, scene.controller.makes_torque
    if settings.kind == "kinematic":
        if torque:
            raise ConfigError("plant.kind: expected rigid or mujoco, since the controller makes torques; got kinematic")
        return Kinematic(arm)
    options: dict[str, Any] = {
        "drive": "torque" if torque else "velocity",
        "mass_error": settings.mass_error,
        "payload": settings.payload,
    }
    return RigidBody(arm, **options) if settings.kind == "rigid" else MuJoCo(arm, capsules, **options)


STANDARD = Path(__file__).parent / "scenes" / "cell.toml"
"""The standard cell: that of the live page, of `elbowroom run` without a file, and of `elbowroom check`."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A scene as its arm can do it."""

    scene: Scene
    arm: Arm
    body: Body
    start: Array  # (n,), and the task's limits
    lower: Array
    upper: Array
    bare: tuple[str, ...] = ()  # links without a shape, which the scene allows


def laid_out(scene: Scene) -> Layout:
    """The arm mounted and started, and the task fitted to it or refused: a ConfigError says why."""
    arm = _faced(scene, shaped(scene))
    start = starting(scene, arm)
    lower, upper = limited(scene, arm, start)
    body = _body(arm, scene.cover)
    if not arm.model.has_ready and not scene.start:  # with the start that was searched for it can be read again
        scene = dataclasses.replace(scene, start=tuple(start.tolist()))
    if scene.fit:
        scene = fitted(scene, arm, body, start, lower, upper)
    elif scene.check_reach:
        refuse_unreachable(scene, arm, body, start, lower, upper)
    return Layout(scene, arm, body, start, lower, upper, bare_of(arm, scene.cover))


def _body(arm: Arm, cover: str) -> Body:
    try:
        return Body(arm, cover=cover or None)
    except (ModelError, KeyError) as error:
        raise ConfigError(f"cover: {error}" if cover else f"robot: {error}") from error
