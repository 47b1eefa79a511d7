"""What a cell is before it runs: the arm in its place, its joints at the start, and the task where the arm can do it.

Nothing is compiled for a controller here, so `elbowroom check` can ask for it, too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..errors import ConfigError, ModelError
from ..geometry import Body
from ..model.capsules import BASE
from .fitting import fitted, refuse_unreachable
from .mounting import limited, mounted, starting
from .scene import Scene

Array = NDArray[np.float64]
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


def laid_out(scene: Scene) -> Layout:
    """The arm mounted and started, and the task fitted to it or refused: a ConfigError says why."""
    arm = mounted(scene)
    start = starting(scene, arm)
    lower, upper = limited(scene, arm, start)
    body = _body(arm, scene.cover)
    if not arm.model.has_ready and not scene.start:  # with the start that was searched for it can be read again
        scene = dataclasses.replace(scene, start=tuple(start.tolist()))
    if scene.fit:
        scene = fitted(scene, arm, body, start, lower, upper)
    elif scene.check_reach:
        refuse_unreachable(scene, arm, body, start, lower, upper)
    return Layout(scene, arm, body, start, lower, upper)


def _body(arm: Arm, cover: str) -> Body:
    try:
        body = Body(arm, cover=cover or None)
    except (ModelError, KeyError) as error:
        raise ConfigError(f"cover: {error}" if cover else f"robot: {error}") from error
    if all(link == BASE for link in body.links):
        raise ConfigError(f"robot: {arm.name}: expected capsules on links that move; got them on the fixed base alone")
    return body
