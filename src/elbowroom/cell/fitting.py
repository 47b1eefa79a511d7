"""Fitting a workplace to an arm: can it do the task from where it starts, and what would it be able to do?

The arm's motion through a whole cycle of the task is computed ahead, as the controller would move it: steps along the
way, each solved by damped least squares with the controller's weights of slow joints, the null space drawn back to the
start.  With q_k the joints at step k,

    error      how far the tool stays from the way, m
    margin     the least part of a limit's margin that is left, 1 outside of it: a controller slows a joint inside
    gap        the least distance between links that must be kept apart, m
    ease       the least singular value of the tool's Jacobian, as a part of that at the start: small when stretched out
    time       of the cycle at the task's speed, or as fast as the slowest joint allows

`fitted` keeps a scene whose task the arm can do.  Otherwise it looks for the largest copy of the task's shape, scaled
and shifted, that it can, puts floor and walls where they fit, and moves people along with it.  `refuse_unreachable` is
for scenes that are not to be changed: it names the point, and the nearest one that the tool gets to.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance.control.least_squares import speed_weights
from ..dynamics.inverse_kinematics import rotation_vector
from ..dynamics.ready import spread
from ..errors import ConfigError
from ..geometry import Body
from .people.settings import Movable, Somebody
from .pick_and_place import PickAndPlace
from .points import Point
from .scene import Scene
from .task import GoTo

Array = NDArray[np.float64]

STEP = 0.05  # m along the way, of the task in its full size
INNER = 3  # Newton steps at each of them
DAMPING = 0.02  # m, of the least squares: less than the controller's, which has longer to arrive
PULL = 0.1  # part of the way back to the start, in the null space, at each
SCALES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.42, 0.35, 0.28, 0.22, 0.17, 0.12)
LOWER = (1.0, 0.4)  # part of the heights, besides: a slow lift takes long for them
SHIFTS = ((0.0, 0.0), (0.0, -0.1), (0.0, 0.1), (-0.15, 0.0), (0.15, 0.0), (-0.15, -0.1), (0.15, -0.1), (-0.3, 0.0))
"""Along x and z, for a task in its full size, the one that changes least first."""
TURNED = 0.5  # a task with its belts across x counts as so much smaller: one of them is between person and arm
SLOWER = 1.4  # a fitted cycle may take this much longer than the task would with an arm that follows at once
USED = 0.7  # part of a joint's speed that the way may need; the rest is for giving way
WANTED_MARGIN, WANTED_GAP, WANTED_EASE = 0.6, 0.05, 0.4  # m the second, of a fitted task: with less the arm is slow
LEAST_MARGIN, LEAST_GAP, LEAST_EASE = 0.15, 0.001, 0.1  # m: less, and it would stand still
ROUNDING = 0.9  # of the distance at which links push each other off: so near they do it so weakly that nothing is held
PUSHED, HELD = 0.7, 0.4  # parts of the least gap of a cycle at which links are pushed off, and held apart
BENCH = (0.55, 1.35)  # m: heights of the work above the floor that a person can stand at
BENCH_HEIGHT = 1.0  # m, where it must be chosen
WALL = 0.3  # m from the way to the outer wall, at least
STARTS = 48  # configurations from which a point is tried
TRIES = 60  # steps of each
STRIDE = 0.1  # m, of each: the next step knows better


@dataclass(frozen=True, eq=False)
class Followed:
    """A batch of ways as the arm follows them; see the module's docstring.  All (B,)."""

    error: Array
    margin: Array
    gap: Array
    ease: Array
    time: Array

    def fine(self, tolerance: float, margin: float, gap: float, ease: float, time: float) -> NDArray[np.bool_]:
        """(B,) whether nothing is wrong."""
        near = (self.error <= tolerance) & (self.margin >= margin)
        good: NDArray[np.bool_] = near & (self.gap >= gap) & (self.ease >= ease) & (self.time <= time)
        return good


class Follower:
    """An arm that is led along ways from its start, in thought."""

    def __init__(self, scene: Scene, arm: Arm, body: Body, start: Array, lower: Array, upper: Array) -> None:
        self.arm, self.body, self.start, self.lower, self.upper = arm, body, start, lower, upper
        pose = arm.pose(start)
        self.tool: Array = pose[:3, 3]
        self.rotation: Array | None = pose[:3, :3] if scene.controller.task == "pose" else None
        revolute = np.array([arm.model.revolute(i) for i in range(arm.n)])
        unknown = np.where(revolute, scene.limits.velocity, scene.limits.linear_velocity)
        given = np.array(scene.limits.velocities or arm.model.velocity, dtype=float)
        self.speeds = np.where(np.isfinite(given) & (given > 0), given, unknown)
        span = np.where(np.isfinite(upper - lower), upper - lower, np.inf)
        weights = speed_weights(arm.model)
        self.weights = np.ones(arm.n) if weights is None else weights
        self.margins = np.minimum(scene.controller.joint_limits.margin, 0.25 * span)

    def towards(self, q: Array, target: Array, steps: int, pull: float = PULL) -> tuple[Array, Array]:
        """q (B, n) after so many steps to points (B, 3), and the tool there (B, 3)."""
        eye = np.eye(self.arm.n)
        for _ in range(steps):
            pose = self.arm.pose(q)
            Jv, Jw = self.arm.jacobian(q)
            J, error = Jv, target - pose[:, :3, 3]
            if self.rotation is not None:
                turn = np.array([rotation_vector(self.rotation @ each.T) for each in pose[:, :3, :3]])
                J, error = np.concatenate([Jv, Jw], axis=1), np.concatenate([error, turn], axis=1)
            weighted = J * self.weights
            square = weighted @ weighted.swapaxes(1, 2) + DAMPING**2 * np.eye(J.shape[1])
            back = np.linalg.solve(square, weighted * self.weights).swapaxes(1, 2)  # (B, n, m): the damped inverse
            rest = pull * self.weights * (self.start - q)
            change = (back @ error[..., None])[..., 0] + ((eye - back @ J) @ rest[..., None])[..., 0]
            q = np.clip(q + change, self.lower, self.upper)
        return q, self.arm.pose(q)[:, :3, 3]

    def follow(self, ways: Array, speed: float) -> Followed:
        """Ways (B, k, 3), each from the start on."""
        B = len(ways)
        q = np.tile(self.start, (B, 1))
        error, margin, ease, time = np.zeros(B), np.ones(B), np.ones(B), np.zeros(B)
        easy = float(self._least_value(q[:1])[0])
        gap, before = np.full(B, np.inf), np.tile(self.tool, (B, 1))
        for k in range(ways.shape[1]):
            last, target = q, ways[:, k]
            q, tool = self.towards(q, target, INNER)
            error = np.maximum(error, np.linalg.norm(target - tool, axis=1))
            room = np.minimum(q - self.lower, self.upper - q) / self.margins
            margin = np.minimum(margin, room.min(axis=1))
            gap = np.minimum(gap, self.body.self_gap(q))
            if easy > 1e-6:  # else it cannot move everywhere from its start either: a planar arm
                ease = np.minimum(ease, self._least_value(q) / easy)
            way = np.linalg.norm(target - before, axis=1) / speed
            time += np.maximum(way, (np.abs(q - last) / (USED * self.speeds)).max(axis=1))
            before = target
        return Followed(error, margin, gap, ease, time)

    def _least_value(self, q: Array) -> Array:
        J: Array = self.arm.jacobian(q)[0]
        return np.asarray(np.linalg.svd(J, compute_uv=False)[:, -1], dtype=float)

    def nearest(self, target: Array) -> Array:
        """The point (3,) nearest to a target (3,) that the tool was seen to get to."""
        low, high = np.maximum(self.lower, self.start - math.pi), np.minimum(self.upper, self.start + math.pi)
        q = np.vstack([self.start, spread(low, np.maximum(low, high), STARTS)])
        tool = self.arm.pose(q)[:, :3, 3]
        best: Array = self.tool
        for _ in range(TRIES):
            error = target - tool
            far = np.maximum(np.linalg.norm(error, axis=1, keepdims=True) / STRIDE, 1.0)
            q, tool = self.towards(q, tool + error / far, 1, pull=0.0)
            now = tool[int(np.argmin(np.linalg.norm(tool - target, axis=1)))]
            best = min((best, now), key=lambda point: _distance(point, target))
        return best


def way_of(task: PickAndPlace, tool: Array, step: float) -> Array:
    """(k, 3) points at most `step` apart on the way from the tool through a cycle: home, pick, place, home."""
    x, y, z = tool.tolist()
    stops: list[Point] = [(x, y, z), task.home, task.pick, task.place, task.home]
    corners = [stops[0]]
    for one, other in itertools.pairwise(stops):
        corners += task.way(one, other)[1:]
    points: list[Array] = []
    for a, b in itertools.pairwise(map(np.array, corners)):
        count = math.ceil(float(np.linalg.norm(b - a)) / step)
        points += [a + (b - a) * (k / count) for k in range(1, count + 1)]
    return np.array(points) if points else tool[None]


def fitted(scene: Scene, arm: Arm, body: Body, start: Array, lower: Array, upper: Array) -> Scene:
    """The scene, its task laid out anew if the arm could not do it; a ConfigError where there is no place for it."""
    task = scene.task
    if not isinstance(task, PickAndPlace):
        return scene
    follower = Follower(scene, arm, body, start, lower, upper)
    origin = follower.tool if scene.origin == "tool" else arm.model.base[:3, 3]
    longest = SLOWER * (task.cycle_time + _distance(follower.tool, task.placed(origin).home) / task.speed)
    written = follower.follow(way_of(task.placed(origin), follower.tool, STEP)[None], task.speed)
    pushed = scene.controller.self_collision
    least = LEAST_GAP if pushed is None else ROUNDING * pushed.influence
    if written.fine(task.tolerance, LEAST_MARGIN, least, LEAST_EASE, longest)[0] and _inside(scene, task, origin):
        return scene
    centre = follower.tool - origin if scene.origin == "base" else np.zeros(3)
    sizes = sorted(itertools.product(SCALES, (False, True)), key=lambda size: -size[0] * (TURNED if size[1] else 1.0))
    tasks = [
        _moved(task, scale, low, dx, dz, turned, centre)
        for scale, turned in sizes
        for low in LOWER
        for dx, dz in SHIFTS
    ]
    found = _largest(follower, tasks, origin, longest)
    if found is None:
        raise ConfigError(
            f"task: expected an arm with room for pick and place about its start; {arm.name} has none within its joint "
            "limits, clear of itself: give it another start, or a task with points of your own"
        )
    chosen, gap = found
    scene = dataclasses.replace(scene, task=chosen, people=_along(scene.people, task, chosen), fit=False)
    return _apart(_around(scene, chosen.placed(origin), arm), gap)


def _largest(
    follower: Follower, tasks: list[PickAndPlace], origin: Array, longest: float
) -> tuple[PickAndPlace, float] | None:
    """The first that can be done well, else the first that can be done; and the least gap between links in it."""
    placed = [task.placed(origin) for task in tasks]
    count = max(len(way_of(task, follower.tool, STEP)) for task in placed[:1])
    ways = np.array([_resampled(task, follower.tool, count) for task in placed])
    found = follower.follow(ways, tasks[0].speed)
    near = np.array([0.5 * task.tolerance for task in tasks])
    for asked in (
        (WANTED_MARGIN, WANTED_GAP, WANTED_EASE, longest),
        (WANTED_MARGIN, LEAST_GAP, WANTED_EASE, longest),
        (LEAST_MARGIN, LEAST_GAP, LEAST_EASE, longest),
        (LEAST_MARGIN, LEAST_GAP, 0.0, math.inf),
    ):
        good = (found.error <= near) & found.fine(math.inf, *asked)
        if good.any():
            k = int(np.argmax(good))
            return tasks[k], float(found.gap[k])
    return None


def _along(people: Mapping[str, Somebody], before: PickAndPlace, after: PickAndPlace) -> dict[str, Somebody]:
    """People moved as the middle of pick and place is, on the floor: they come to the work, wherever it is now."""
    middles = [0.5 * (np.array(task.pick) + np.array(task.place)) for task in (before, after)]
    dx, dy, _ = (middles[1] - middles[0]).tolist()
    return {name: who.moved(dx, dy) if isinstance(who, Movable) else who for name, who in people.items()}


def _apart(scene: Scene, gap: float) -> Scene:
    """Links that come as near as `gap` (m) in the task do not push each other off there, nor are they held.

    Many wrists hold links closer together than a controller keeps others apart: it would push for ever.
    """
    config, limits = scene.controller, scene.limits
    pushed = config.self_collision
    if pushed is not None and PUSHED * gap < pushed.influence:
        pushed = dataclasses.replace(pushed, influence=PUSHED * gap, floor=min(pushed.floor, 0.3 * gap))
        config = dataclasses.replace(config, self_collision=pushed)
    limits = dataclasses.replace(limits, keep_off=min(limits.keep_off, HELD * gap))
    return dataclasses.replace(scene, controller=config, limits=limits)


def _resampled(task: PickAndPlace, tool: Array, count: int) -> Array:
    """The way in `count` points, so that ways of all sizes make one array."""
    step = STEP
    while len(way := way_of(task, tool, step)) > count:
        step *= 1.1
    return np.vstack([way, np.tile(way[-1], (count - len(way), 1))])


def _moved(
    task: PickAndPlace, scale: float, low: float, dx: float, dz: float, turned: bool, centre: Array
) -> PickAndPlace:
    """The task's shape in another size, about its home if there is a centre, with the belts across x if turned."""
    about = np.array(task.home) if centre.any() else np.zeros(3)
    shift = centre + scale * np.array([dx, 0.0, dz])

    def moved(point: Point) -> Point:
        x, y, z = (scale * (np.array(point) - about)).tolist()
        x, y, z = (np.array([y, -x, low * z] if turned else [x, y, low * z]) + shift).tolist()
        return x, y, z

    sized: dict[str, Any] = {name: moved(getattr(task, name)) for name in ("home", "pick", "place")}
    leash = min(task.leash, max(0.5 * _distance(np.array(sized["pick"]), sized["place"]), 2 * task.tolerance))
    return dataclasses.replace(task, **sized, approach=scale * low * task.approach, leash=leash)


def _distance(a: Array, b: Point | Array) -> float:
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)))


def _inside(scene: Scene, task: PickAndPlace, origin: Array) -> bool:
    """Whether the walls leave room for the task as it is written."""
    walls = scene.controller.workspace
    if walls is None or walls.outer is None:
        return True
    points = (task.placed(origin).home, task.placed(origin).pick, task.placed(origin).place)
    return all(_distance(np.array(walls.center), point) <= walls.outer - walls.repulsion.influence for point in points)


def _around(scene: Scene, placed: PickAndPlace, arm: Arm) -> Scene:
    """The floor at a height that a person can work at, never above the base, and the walls beyond the work."""
    work = min(placed.pick[2], placed.place[2]) - float(arm.model.base[2, 3])
    floor = scene.floor
    if not BENCH[0] <= work - floor <= BENCH[1]:
        floor = min(0.0, work - BENCH_HEIGHT)
    walls = scene.controller.workspace
    if walls is not None:
        below = None if walls.floor is None else walls.floor + (floor - scene.floor)
        far = max(_distance(np.array(walls.center), point) for point in (placed.home, placed.pick, placed.place))
        outer = None if walls.outer is None else max(walls.outer, far + WALL)
        walls = dataclasses.replace(walls, floor=below, outer=outer)
    return dataclasses.replace(scene, floor=floor, controller=dataclasses.replace(scene.controller, workspace=walls))


def refuse_unreachable(scene: Scene, arm: Arm, body: Body, start: Array, lower: Array, upper: Array) -> None:
    """A ConfigError for a point of the task that the tool does not get to, with the nearest that it does."""
    task = scene.task
    if isinstance(task, PickAndPlace):
        points = {"home": task.home, "pick": task.pick, "place": task.place}
    elif isinstance(task, GoTo):
        points = {"point": task.point}
    else:
        return
    follower = Follower(scene, arm, body, start, lower, upper)
    origin = follower.tool if scene.origin == "tool" else arm.model.base[:3, 3]
    for name, point in points.items():
        target = origin + np.array(point)
        near = follower.nearest(target)
        off = _distance(near, target)
        if off > task.tolerance:
            said = ", ".join(f"{x:.3f}" for x in (near - origin + 0.0).tolist())
            turned = " with the tool turned as at the start" if follower.rotation is not None else ""
            raise ConfigError(
                f"task.{name}: expected a point that {arm.name} reaches{turned}; got {list(point)}, {off:.2f} m from "
                f"the nearest one, [{said}]"
            )
