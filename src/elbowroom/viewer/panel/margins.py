"""Live margins: how far the arm is from what its supervisor allows, at the pair of arm and person that are nearest.

    needed   C + Z + v_h (T_r + T_s) + v_r (T_r + T_s / 2)      separation, m, with T_s the time that a stop takes now
    had      the true distance, m
    believed the distance to the body that the supervisor goes by, as last seen and grown by its age, m; the true one
             where there is no supervisor, and of a recording, which does not hold it
    used     v_r, m/s: how fast the nearest point of the arm comes towards the person, 0 if it leaves
    allowed  m/s: the speed at which `needed` would be `believed`, if the arm comes straight towards the person with the
             least joint speeds (avoidance/safety/filter/approach_speed.py): T_s = v_r / a, and a its deceleration then
    bears    m/s: the speed at which a contact would keep to the force that this part of the body bears
             (avoidance/safety/filter/body_regions.py); NaN where there is none, and `why` says so

v_h is the speed that people may have, or that of the fastest of them as the supervisor believes it, if that is more; a
recording does not hold the latter.  Of a cell that runs (`margins`), and of one that was recorded: `at_nearest` takes
what a recording holds too. `WaitingTime` says for how long the arm has stood because of a person, and how much farther
away they would have to be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Status
from ...avoidance.control.repulsion import influence, occupied
from ...avoidance.safety.filter.approach_speed import separation_speed
from ...avoidance.safety.filter.body_regions import OF_CAPSULE, REGIONS, contact_speed
from ...avoidance.safety.limits import Limits, bounds
from ...cell.pick_and_place import AVOID, Handling
from ...cell.runner import Cell
from ...geometry.person import NAMES
from ...geometry.shapes import VELOCITY_A, VELOCITY_B, A, B

Array = NDArray[np.float64]

STANDS, MOVES = 0.01, 0.03  # m/s: a slower tool stands, and one that stood moves when it is faster
STILL = 1e-6  # m^2: of the squares of `towards`
THERE = 0.02  # m: a tool that is so near its goal has nothing to wait for
GIVES_WAY = (Status.AVOIDING, Status.SLOWING_HUMAN)


FORBIDDEN = "not permitted"
STANDING = "a link that stands"
UNKNOWN = "body part unknown"
NO_MASS = "no masses in the file"
"""Why there is no speed of a contact; a person who is one shape, such as a cylinder, has no named parts."""


class NearestCapsule(NamedTuple):
    """The arm's capsule that is nearest to a person, and where both are nearest."""

    row: Array  # (13,) of geometry.shapes
    link: int
    at: Array  # the point on its axis
    beside: Array  # the point on the axis of the person's capsule
    part: str  # of the person


class Margins(NamedTuple):
    """How far the arm is from what its supervisor allows (see above); NaN where it is not known."""

    needed: float
    had: float
    used: float
    allowed: float
    bears: float
    part: str  # of the person
    why: str = ""  # there is no `bears`
    believed: float = math.nan


class Stopping(NamedTuple):
    """What speed and separation ask for: the limits, how fast joints can brake (rad/s^2 or m/s^2), and T_r (s)."""

    limits: Limits
    acceleration: Array
    reaction: float
    pace: float = 0.0  # m/s, of the fastest person, where it is known

    @property
    def human_speed(self) -> float:
        """The speed that people are assumed to have, m/s."""
        return max(self.limits.human_speed, self.pace)

    def time(self, qd: Array) -> float:
        """How long a stop from these joint speeds takes, s."""
        return float(np.max(np.abs(qd) / (self.acceleration * self.limits.stop_factor), initial=0.0))

    def needed(self, qd: Array, used: float) -> float:
        """The separation that is needed at these speeds, m."""
        reaction, stopping = self.reaction, self.time(qd)
        return self.limits.clearance + self.human_speed * (reaction + stopping) + used * (reaction + 0.5 * stopping)

    def allowed(self, towards: Array, had: float) -> float:
        """The speed (m/s) that may be had at this distance, where qd moves the point by `towards` . qd."""
        square = float(towards @ towards)
        if square < STILL:
            return math.inf  # no joint brings this point nearer
        deceleration = 1.0 / self.time(towards / square)
        least = self.limits.creep
        return float(separation_speed(had, self.human_speed, self.reaction, deceleration, self.limits.clearance, least))


def stopping(limits: Limits, arm: Arm, lower: Array, upper: Array, period: float) -> Stopping | None:
    """What a supervisor with these limits asks for; None where it does not keep a separation."""
    if not limits.separation:
        return None
    return Stopping(limits, bounds(limits, arm, lower, upper).acceleration, limits.latency + period)


def margins(cell: Cell) -> Margins | None:
    """The margins of this control step; None where nobody is there."""
    if not cell.people or not math.isfinite(cell.near.surfaces):
        return None
    controller, guard = cell.controller, cell.guard
    own, part = controller.nearest()
    k = [capsule.name for capsule in controller.layout.capsules].index(own)
    rules = None
    if guard is not None and guard.limits.separation:
        pace = float(guard.watch.pace[:, 0].max())
        rules = Stopping(guard.limits, guard.bounds.acceleration, guard.reaction, pace)
    link = controller.layout.capsules[k].link
    nearest = NearestCapsule(controller.rows[k], link, *controller.nearest_points(), part)
    had, believed = cell.near.surfaces, math.nan if rules is None else cell.distance_believed()
    return at_nearest(cell.arm, cell.state.q, cell.state.qd, nearest, had, rules, believed)


def at_nearest(
    arm: Arm,
    q: Array,
    qd: Array,
    nearest: NearestCapsule,
    had: float,
    rules: Stopping | None,
    believed: float = math.nan,
) -> Margins | None:
    """The margins of an arm in that state; None where it touches a person, as no direction is known then."""
    believed = had if math.isnan(believed) else believed
    row, link, at, beside, part = nearest
    way = beside - at
    apart = float(np.linalg.norm(way))
    if not 0.0 < apart < 100.0:
        return None
    normal, along = way / apart, row[B] - row[A]
    share = float(np.clip((at - row[A]) @ along / max(float(along @ along), 1e-12), 0.0, 1.0))
    used = max(0.0, float(normal @ ((1.0 - share) * row[VELOCITY_A] + share * row[VELOCITY_B])))
    towards = _towards(arm, q, link, at, normal)
    needed = math.nan if rules is None else rules.needed(qd, used)
    allowed = math.nan if rules is None else rules.allowed(towards, believed)
    bears, why = _bears(arm, q, link, towards, part)
    return Margins(needed, had, used, allowed, bears, part, why, believed)


def _towards(arm: Arm, q: Array, link: int, at: Array, normal: Array) -> Array:
    """(n,) how fast each joint's speed moves a point of a link along the normal."""
    frames = arm.poses(q)[: link + 1]
    axes, places = frames[:, :3, 2], frames[:, :3, 3]
    turns = np.array([kind == "R" for kind in arm.model.kinds[: link + 1]], dtype=bool)
    a = np.zeros(arm.n)
    a[: link + 1] = np.where(turns[:, None], np.cross(axes, at - places), axes) @ normal
    return a


def _bears(arm: Arm, q: Array, link: int, a: Array, part: str) -> tuple[float, str]:
    """The speed of a contact that this part bears, m/s; NaN, and why, where there is none."""
    name = next((each for each in NAMES if part == each or part.endswith(f" {each}")), "")  # "person 1 left_hand"
    region = REGIONS.get(OF_CAPSULE.get(name, ""))
    if region is None:
        return math.nan, FORBIDDEN if name else UNKNOWN
    if link < 0:
        return math.nan, STANDING
    if arm.model.estimated:
        return math.nan, NO_MASS
    mobility = float(a @ np.linalg.solve(arm.mass_matrix(q), a))
    return float(contact_speed(region.bears, 1.0 / region.mass, mobility)), ""


class WaitingTime:
    """Counts for how long (s) the arm has stood because of a person."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def look(self, cell: Cell) -> None:
        """Counts one control step that has been done."""
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
    task = cell.task
    if isinstance(task, Handling) and task.state == AVOID:
        wanted = task.settings.safety + task.settings.hysteresis
    elif info.status is Status.AVOIDING:
        # with goal scaling the field's reach says little: what holds the arm is evasion
        return _out_of_reach(cell, distance) if config.goal_scaling is None else math.nan
    elif found is not None and found.needed > found.believed:
        return found.needed - found.believed
    else:
        return math.nan
    return max(0.0, wanted - distance)


def _out_of_reach(cell: Cell, distance: float) -> float:
    """How far (m) people have to go, from the arm and from its goal alike, until the field does not reach them."""
    config, people = cell.controller.config, cell.obstacles.people * cell.obstacles.person_capsules
    goal, rows, rules = cell.task.goal.position, list(cell.obstacles.rows[:people]), config.waiting
    if rules is None:
        return max(0.0, config.repulsion.influence - distance)

    def reach(step: float) -> float:
        level = occupied(rules.near - step, rules.clear - step, goal, rows)  # of a goal that is so much farther off
        return float(influence(rules, config.repulsion, level))

    low, high = 0.0, max(0.0, reach(0.0) - distance)  # the farther they are, the less it reaches
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if distance + middle < reach(middle) else (low, middle)
    return high
