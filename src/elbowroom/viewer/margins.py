"""Live margins: how far the arm is from what its supervisor allows, at the pair of arm and person that are nearest.

    needed   C + Z + v_h (T_r + T_s) + v_r (T_r + T_s / 2)      separation, m, with T_s the time that a stop takes now
    had      the distance, m
    used     v_r, m/s: how fast the nearest point of the arm comes towards the person, 0 if it leaves
    left     the supervisor's own margin, m/s: what the worst of all pairs leaves of the allowed speed; so used + left
             is allowed here at least
    bears    m/s: the speed at which a contact would keep to the force that this part of the body bears
             (avoidance/safety/contact.py); 0 where contact is not permitted

`Waiting` says for how long the arm has stood because of a person, and how much farther away they would have to be.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..avoidance import Status
from ..avoidance.safety.contact import OF_CAPSULE, REGIONS, contact_speed
from ..cell.pick_and_place import AVOID
from ..cell.runner import Cell
from ..cell.task import Handling
from ..geometry.shapes import VELOCITY_A, VELOCITY_B, A, B

Array = NDArray[np.float64]

STANDS, MOVES = 0.01, 0.03  # m/s: a slower tool stands, and one that stood moves when it is faster
THERE = 0.02  # m: a tool that is so near its goal has nothing to wait for
GIVES_WAY = (Status.AVOIDING, Status.SLOWING_HUMAN)


class Margins(NamedTuple):
    """See the module's docstring; NaN where it is not known."""

    needed: float
    had: float
    used: float
    left: float
    bears: float
    part: str  # of the person


def margins(cell: Cell) -> Margins | None:
    """Of this cycle; None where nobody is there."""
    if not cell.people or not math.isfinite(cell.near.surfaces):
        return None
    controller = cell.controller
    at, beside = controller.nearest_points()
    own, part = controller.nearest()
    way = beside - at
    apart = float(np.linalg.norm(way))
    if not 0.0 < apart < 100.0:
        return None
    names = [capsule.name for capsule in controller.layout.capsules]
    k = names.index(own)
    row, normal = controller.rows[k], way / apart
    along = row[B] - row[A]
    share = float(np.clip((at - row[A]) @ along / max(float(along @ along), 1e-12), 0.0, 1.0))
    used = max(0.0, float(normal @ ((1.0 - share) * row[VELOCITY_A] + share * row[VELOCITY_B])))
    link = controller.layout.capsules[k].link
    return Margins(
        _needed(cell, used), cell.near.surfaces, used, cell.margin, _bears(cell, link, at, normal, part), part
    )


def _needed(cell: Cell, used: float) -> float:
    guard = cell.guard
    if guard is None or not guard.limits.separation:
        return math.nan
    limits, bounds = guard.limits, guard.bounds
    stopping = float(np.max(np.abs(cell.state.qd) / (bounds.acceleration * limits.stop_factor), initial=0.0))
    reaction = guard.reaction
    return limits.clearance + limits.human_speed * (reaction + stopping) + used * (reaction + 0.5 * stopping)


def _bears(cell: Cell, link: int, at: Array, normal: Array, part: str) -> float:
    """The speed of a contact that this part bears, m/s; NaN for a link that does not move."""
    if part not in OF_CAPSULE:
        return 0.0
    if link < 0:
        return math.nan
    arm, q = cell.arm, cell.state.q
    frames = arm.poses(q)[: link + 1]
    axes, places = frames[:, :3, 2], frames[:, :3, 3]
    turns = np.array([kind == "R" for kind in arm.model.kinds[: link + 1]])
    speeds = np.where(turns[:, None], np.cross(axes, at - places), axes) @ normal
    a = np.zeros(arm.n)
    a[: link + 1] = speeds
    mobility = float(a @ np.linalg.solve(arm.mass_matrix(q), a))
    region = REGIONS[OF_CAPSULE[part]]
    return float(contact_speed(region.bears, 1.0 / region.mass, mobility))


class Waiting:
    """For how long (s) the arm has stood because of a person."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def look(self, cell: Cell) -> None:
        """After every cycle."""
        speed = float(np.linalg.norm(cell.tool_velocity))
        why = (
            cell.task.state == AVOID or cell.command.status in GIVES_WAY or cell.controller.command.status in GIVES_WAY
        )
        why = why and (cell.task.state == AVOID or math.dist(cell.tool, cell.task.goal.position) > THERE)
        stands = speed < (MOVES if self.seconds else STANDS)
        self.seconds = self.seconds + cell.period if why and stands else 0.0


def farther(cell: Cell, found: Margins | None) -> float:
    """By how much (m) people would have to be farther away for the arm to go on; NaN if that is not known."""
    info, config = cell.controller.command, cell.controller.config
    distance = info.axis_distance if config.repulsion.measure == "axis" else info.distance
    task: Any = cell.task
    if isinstance(task, Handling) and task.state == AVOID:
        wanted = task.settings.safety + task.settings.hysteresis
    elif info.status is Status.AVOIDING:
        wanted = config.repulsion.influence
    elif found is not None and found.needed > found.had:
        return found.needed - found.had
    else:
        return math.nan
    return max(0.0, wanted - distance)
