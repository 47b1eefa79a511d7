"""Joint poses that bring the tool to a pose or to a point: several, from a batch of random starts.

Damped least squares (Levenberg-Marquardt with a fixed damping) on all starts at once:

    dq = J^T (J J^T + mu I)^-1 e        e: what is missing of position, and of orientation where that is asked for

Joints stay within their limits.  Solutions that are nearly the same count once; those nearest to where the arm is
come first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ..control.command import Goal

Array = NDArray[np.float64]

STARTS = 48
STEPS = 60
DAMPING = 1e-3
LONGEST = 0.5  # rad or m a step
CLOSE = 1e-4  # m and rad: what counts as there
FROM_ENDS = 0.1  # rad or m: solutions nearer to a joint's end count only where there are no others
APART = 0.3  # rad: solutions that are nearer in every joint are one


def solutions(
    arm: Arm,
    target: Array,
    start: Array,
    lower: Array,
    upper: Array,
    rng: np.random.Generator,
    *,
    most: int = 12,
    starts: int = STARTS,
    at_ends: bool = False,
) -> Array:
    """(k, n), k at most `most`: for a pose (4, 4), or for a point (3,) with any orientation of the tool.

    `at_ends`: those beside a joint's end count like all others.
    """
    pose = target.shape == (4, 4)
    model = arm.model
    low, high = model.sampling_range()
    low, high = np.maximum(low, lower), np.minimum(high, upper)
    q = np.vstack([start, arm.ready, rng.uniform(low, high, (starts, arm.n))])
    position = target[:3, 3] if pose else target
    size = 6 if pose else 3
    rotation = target[:3, :3] if pose else None
    away = np.arange(len(q))  # those that are not there yet
    for _ in range(STEPS):
        e = _error(arm, q[away], position, rotation)
        far = np.linalg.norm(e, axis=1) >= CLOSE
        away, e = away[far], e[far]
        if not len(away):
            break
        at = arm.jacobian(q[away])
        J = np.concatenate([at.Jv, at.Jw], axis=1) if pose else at.Jv
        dq = np.einsum(
            "bij,bi->bj", J, np.linalg.solve(J @ J.transpose(0, 2, 1) + DAMPING * np.eye(size), e[..., None])[..., 0]
        )
        dq *= np.minimum(1.0, LONGEST / np.maximum(np.abs(dq).max(axis=1, keepdims=True), 1e-12))
        q[away] = np.clip(q[away] + dq, lower, upper)
    e = _error(arm, q, position, rotation)
    there = q[np.linalg.norm(e, axis=1) < 10 * CLOSE]
    there = wrapped(there, start, lower, upper, np.array([model.revolute(i) for i in range(arm.n)]))
    roomy = (np.minimum(there - lower, upper - there) > FROM_ENDS).all(axis=1)
    if roomy.any() and not at_ends:  # at the end of a joint a controller is slow to come, or does not
        there = there[roomy]
    order = np.argsort(np.abs(there - start).max(axis=1))
    found: list[Array] = []
    for candidate in there[order]:
        if all(np.abs(candidate - other).max() > APART for other in found):
            found.append(candidate)
        if len(found) == most:
            break
    return np.array(found).reshape(-1, arm.n)


def _error(arm: Arm, q: Array, position: Array, rotation: Array | None) -> Array:
    """(B, 3) or (B, 6): what is missing of the position, and of the orientation."""
    here = arm.pose(q)
    e: Array = position - here[:, :3, 3]
    if rotation is None:
        return e
    return np.concatenate([e, _turned(here[:, :3, :3], rotation)], axis=1)


def _turned(of: Array, to: Array) -> Array:
    """(B, 3) `rotation_error` of a batch (B, 3, 3): one by one it would take most of a plan's time."""
    R = to @ of.transpose(0, 2, 1)
    a, e, i = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    squares = np.stack([1.0 + a + e + i, 1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i], axis=1)
    wx, wy, wz = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    xy, xz, yz = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    s = squares.T
    rows = np.array([[s[0], wx, wy, wz], [wx, s[1], xy, xz], [wy, xy, s[2], yz], [wz, xz, yz, s[3]]])  # (4, 4, B)
    best, every = squares.argmax(axis=1), np.arange(len(of))
    row = rows[best, :, every]
    scale = np.where(row[:, 0] < 0.0, -1.0, 1.0) / np.sqrt(squares[every, best])
    found: Array = row[:, 1:] * scale[:, None]
    return found


def wrapped(poses: Array, start: Array, lower: Array, upper: Array, turns: NDArray[np.bool_]) -> Array:
    """Joint poses (k, n) whose joints that may (n,) have gone whole turns, as near to a start (n,) as limits let them.

    Half a turn is nobody's shorter way: it stays as it is.
    """
    off = (start - poses) / (2.0 * np.pi)
    whole = np.where(turns, np.rint(off), 0.0)
    for count in (whole, whole - np.sign(whole)):  # where that is beyond a limit, one turn less may not be
        moved = poses + 2.0 * np.pi * count
        poses = np.where(
            (moved >= lower) & (moved <= upper) & (np.abs(moved - start) < np.abs(poses - start)), moved, poses
        )
    return poses


def other_ways(poses: Array, start: Array, endless: NDArray[np.bool_]) -> Array:
    """The poses (k, n), each once, and after them each with one joint that has no ends (n,) turned the other way."""
    if not endless.any():
        return poses
    poses = poses[np.sort(np.unique(poses.round(9), axis=0, return_index=True)[1])]
    found = [poses]
    for j in np.flatnonzero(endless):
        turned = poses.copy()
        turned[:, j] -= np.where(poses[:, j] > start[j], 2.0, -2.0) * np.pi
        found.append(turned)
    return np.vstack(found)


def target_of(goal: object, joints: int) -> Array | None:
    """The pose or point that a goal names: a Goal's position, an array (4, 4); None for joint poses.

    For an arm of four joints a (4, 4) array is a pose if it is one: a rotation above a row of 0, 0, 0, 1.
    """
    if isinstance(goal, Goal):
        return np.array(goal.position)
    array = np.asarray(goal, dtype=float)
    if array.shape != (4, 4):
        return None
    R = array[:3, :3]
    pose = np.allclose(array[3], (0.0, 0.0, 0.0, 1.0)) and np.allclose(R @ R.T, np.eye(3), atol=1e-6)
    pose = pose and bool(np.linalg.det(R) > 0.0)  # no mirror
    if not pose and joints != 4:
        raise ValueError(f"goal: expected a pose (4, 4), a rotation above a row of 0, 0, 0, 1; got\n{array.round(3)}")
    return array if pose else None
