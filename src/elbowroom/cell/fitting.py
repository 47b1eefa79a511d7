"""Fitting a workplace to an arm: can it do the task from where it starts, and what would it be able to do?

The arm's motion through a whole cycle of the task is computed ahead, as the controller would move it: steps along the
way, each solved by damped least squares with the controller's weights of slow joints, the null space drawn back to the
start.  With q_k the joints at step k,

    error      how far the tool stays from the way, m
    margin     the least part of a limit's margin that is left, 1 outside of it: a controller slows a joint inside
    gap        the least distance between links that must be kept apart, m; `gaps` those of every pair
    ease       the least singular value of the tool's Jacobian, as a part of that at the start: small when stretched out
    time       of the cycle at the task's speed, or as fast as the slowest joint allows

`fitted` keeps a scene whose task the arm can do.  Otherwise it looks for the largest copy of the task's shape, scaled
and shifted, that it can with its belts clear of its body.  The floor goes below what the arm is fixed to, walls beyond
the work, and people along with it, clear of the body.  `refuse_unreachable` is
for scenes that are not to be changed: it names the point, and the nearest one that the tool gets to.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance.control.least_squares import speed_weights
from ..avoidance.control.pushes import CLOSE, PUSHED
from ..dynamics.inverse_kinematics import rotation_vector
from ..dynamics.ready import spread
from ..errors import ConfigError
from ..geometry import Body
from ..geometry.shapes import RADIUS, A, B
from ..model.capsules import BASE, distance_to_segment
from .people.settings import Movable, PersonSettings
from .pick_and_place import PickAndPlace
from .scene import Scene
from .task import GoTo, Point

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
BENCH = (0.55, 1.35)  # m: heights of the work above the floor that a person can stand at
BENCH_HEIGHT = 1.0  # m, where it must be chosen
WALL = 0.3  # m from the way to the outer wall, at least
BELT = 0.05  # m: between a belt's middle and the arm's surfaces
POINTS = 40  # of each belt, where that is looked at
STANDING = 0.35  # m: between a person's feet and what the arm is fixed to; half of their width, and some room
FARTHEST = 2.0  # m that people are moved outward
DEEPEST = -3.0  # m of the floor under the base
STARTS = 48  # configurations from which a point is tried
TRIES = 60  # steps of each
STRIDE = 0.1  # m, of each: the next step knows better


@dataclass(frozen=True, eq=False)
class FollowedPaths:
    """A batch of ways as the arm follows them; see the module's docstring.  All (B,), `gaps` (B, pairs)."""

    error: Array
    margin: Array
    gaps: Array
    ease: Array
    time: Array

    @property
    def gap(self) -> Array:
        """The least of all pairs."""
        return np.asarray(self.gaps.min(axis=1, initial=np.inf))

    def fine(self, tolerance: float, margin: float, gap: float, ease: float, time: float) -> NDArray[np.bool_]:
        """(B,) whether nothing is wrong."""
        near = (self.error <= tolerance) & (self.margin >= margin)
        good: NDArray[np.bool_] = near & (self.gap >= gap) & (self.ease >= ease) & (self.time <= time)
        return good


class PathFollower:
    """Computes how an arm follows ways from its start, without a controller or a plant."""

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

    def follow(self, ways: Array, speed: float) -> FollowedPaths:
        """Ways (B, k, 3), each from the start on."""
        B = len(ways)
        q = np.tile(self.start, (B, 1))
        error, margin, ease, time = np.zeros(B), np.ones(B), np.ones(B), np.zeros(B)
        easy = float(self._least_value(q[:1])[0])
        gaps, before = np.full((B, len(self.body.self_pairs)), np.inf), np.tile(self.tool, (B, 1))
        for k in range(ways.shape[1]):
            last, target = q, ways[:, k]
            q, tool = self.towards(q, target, INNER)
            error = np.maximum(error, np.linalg.norm(target - tool, axis=1))
            room = np.minimum(q - self.lower, self.upper - q) / self.margins
            margin = np.minimum(margin, room.min(axis=1))
            gaps = np.minimum(gaps, self.body.self_gaps(q))
            if easy > 1e-6:  # else it cannot move everywhere from its start either: a planar arm
                ease = np.minimum(ease, self._least_value(q) / easy)
            way = np.linalg.norm(target - before, axis=1) / speed
            time += np.maximum(way, (np.abs(q - last) / (USED * self.speeds)).max(axis=1))
            before = target
        return FollowedPaths(error, margin, gaps, ease, time)

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
    follower = PathFollower(scene, arm, body, start, lower, upper)
    origin = follower.tool if scene.origin == "tool" else arm.model.base[:3, 3]
    longest = SLOWER * (task.cycle_time + _distance(follower.tool, task.placed(origin).home) / task.speed)
    written = follower.follow(way_of(task.placed(origin), follower.tool, STEP)[None], task.speed)
    pushed = scene.controller.self_collision
    least = LEAST_GAP if pushed is None else ROUNDING * pushed.influence
    fine = written.fine(task.tolerance, LEAST_MARGIN, least, LEAST_EASE, longest)[0] and _inside(scene, task, origin)
    if fine and belts_outside(task.placed(origin), body, start):
        scene = _beside(scene, task, task, body, origin)
        return dataclasses.replace(scene, floor=_below(scene.floor, body))
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
    chosen, gaps = found
    near = tuple(np.round(gaps, 4).tolist()) if (gaps < CLOSE).any() else ()
    scene = dataclasses.replace(scene, task=chosen, self_gaps=near, fit=False)
    scene = _beside(scene, task, chosen, body, origin)
    return _around(scene, chosen.placed(origin), body)


def _largest(
    follower: PathFollower, tasks: list[PickAndPlace], origin: Array, longest: float
) -> tuple[PickAndPlace, Array] | None:
    """The first that can be done well, else the first that can be done; and how near pairs of links come in it."""
    placed = [task.placed(origin) for task in tasks]
    count = max(len(way_of(task, follower.tool, STEP)) for task in placed[:1])
    ways = np.array([_resampled(task, follower.tool, count) for task in placed])
    found = follower.follow(ways, tasks[0].speed)
    near = np.array([0.5 * task.tolerance for task in tasks])
    outside = np.array([belts_outside(task, follower.body, follower.start) for task in placed])
    well = (
        (WANTED_MARGIN, WANTED_GAP, WANTED_EASE, longest),
        (WANTED_MARGIN, LEAST_GAP, WANTED_EASE, longest),
        (LEAST_MARGIN, LEAST_GAP, LEAST_EASE, longest),
        (LEAST_MARGIN, LEAST_GAP, 0.0, math.inf),
    )
    for there, asked in itertools.product((outside, ~outside), well):  # belts in the body are better than no work
        good = there & (found.error <= near) & found.fine(math.inf, *asked)
        if good.any():
            k = int(np.argmax(good))
            return tasks[k], found.gaps[k]
    return None


def gaps_at(body: Body, q: Array, influence: float) -> tuple[float, ...]:
    """`self_gaps` (m) of a scene whose arm begins at q (n,): no pair of links is pushed off as it stands there.

    () where what is held at the ready pose is enough.  Else in steps of `PUSHED`: a controller is compiled for its
    gaps, and an arm that begins somewhere else each time shall not be compiled each time.  `influence` (m) is that of
    `Config.self_collision`.
    """
    rest, now = (body.self_gaps(np.asarray(at, dtype=float)[None])[0] for at in (body.arm.ready, q))
    found, changed = [], False
    for gap, distance in zip(np.clip(rest, 1e-4, CLOSE).tolist(), now.tolist(), strict=True):
        if distance < (min(influence, PUSHED * gap) if gap < CLOSE else influence):
            gap, changed = min(gap, 0.999 * CLOSE), True
            while PUSHED * gap > distance and gap > 1e-4:
                gap *= PUSHED
        found.append(round(max(gap, 1e-4), 6))
    return tuple(found) if changed else ()


def belts_outside(placed: PickAndPlace, body: Body, start: Array) -> bool:
    """Whether both belts are clear of the arm as it stands at the start, but for the links that hold the tool."""
    last = max(body.links)
    rows = body.rows(start, np.zeros_like(start))[[link < last for link in body.links]]
    coming, going = placed.infeed, placed.outfeed
    pick, place = np.array(placed.pick), np.array(placed.place)
    parts = np.linspace(0.0, 1.0, POINTS)[:, None]
    line = np.vstack([pick - parts * coming.length * coming.way, place + parts * going.length * going.way])
    return bool(_surfaces(line, rows) > BELT)


def _surfaces(points: Array, rows: Array) -> float:
    """The least distance (m) of points (k, 3), or (k, 2) on the floor, from the surfaces of capsule rows."""
    d = points.shape[1]
    each = (distance_to_segment(points, row[A][:d], row[B][:d]).min() - row[RADIUS] for row in rows)
    return float(min(each, default=np.inf))


def _fixed(body: Body) -> Array:
    """Capsule rows of what stands still: the arm's base and all that is fixed to it."""
    q = body.arm.ready
    return np.asarray(body.rows(q, np.zeros_like(q))[[link == BASE for link in body.links]])


def _along(before: PickAndPlace, after: PickAndPlace) -> Array:
    """(2,) how far the middle of pick and place has moved, on the floor: people come along."""
    middles = [0.5 * (np.array(task.pick) + np.array(task.place)) for task in (before, after)]
    return np.asarray((middles[1] - middles[0])[:2])


def _beside(scene: Scene, before: PickAndPlace, after: PickAndPlace, body: Body, origin: Array) -> Scene:
    """People come along with the work, and farther along x until they are clear of what the arm is fixed to."""
    shift, rows = _along(before, after), _fixed(body)
    places = [
        np.array(where[:2]) + origin[:2] + shift
        for who in scene.people.values()
        for name in ("position", "start", "end")
        if isinstance(where := getattr(who, name, None), tuple)
    ]
    out = np.zeros(2)
    while places and len(rows) and out[0] < FARTHEST and _surfaces(np.array(places) + out, rows) < STANDING:
        out[0] += STEP
    if not (shift + out).any():
        return scene
    people = {name: _moved_by(who, shift + out) for name, who in scene.people.items()}
    return dataclasses.replace(scene, people=people)


def _moved_by(who: PersonSettings, shift: Array) -> PersonSettings:
    dx, dy = shift.tolist()
    return who.moved(dx, dy) if isinstance(who, Movable) else who


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


def _below(floor: float, body: Body) -> float:
    """A floor (m, in the base's frame) that nothing which the arm is fixed to goes through."""
    fixed = _fixed(body)
    ends = np.minimum(fixed[:, A][:, 2], fixed[:, B][:, 2]) - fixed[:, RADIUS]
    lowest = float(ends.min(initial=np.inf)) - float(body.arm.model.base[2, 3])
    return floor if lowest >= floor else max(lowest, DEEPEST)


def _around(scene: Scene, placed: PickAndPlace, body: Body) -> Scene:
    """The floor at a height that a person can work at, below what the arm is fixed to; the walls beyond the work."""
    base = float(body.arm.model.base[2, 3])
    work = min(placed.pick[2], placed.place[2]) - base
    floor = scene.floor
    if not BENCH[0] <= work - floor <= BENCH[1]:
        floor = min(0.0, work - BENCH_HEIGHT)
    floor = _below(floor, body)
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
    follower = PathFollower(scene, arm, body, start, lower, upper)
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
