"""Joint angles that bring the tool to a pose, within the joint limits: damped least squares with active limits.

With the pose error e (position, then rotation vector) and the Jacobian J of the joints that are free to move,

    dq = J^T (J J^T + mu 1)^-1 e

where mu grows when a step does not help and shrinks when it does (Levenberg-Marquardt).  A joint that a step would
take beyond its limit stops there and leaves the active set for that step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algebra.linalg import Array
from ..arrays import finite
from ..model import Model


@dataclass(frozen=True)
class IKResult:
    """What came out: `q` (n,) is within limits; `success` says whether `error` is below the tolerance asked for."""

    q: NDArray[np.float64]
    success: bool
    error: float  # sqrt(position error in m, squared, + rotation error in rad, squared)
    iterations: int
    restarts: int


def rotation_vector(R: Array) -> Array:
    """The vector along the axis of R whose length is its angle, 0 to pi."""
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 2 sin(angle) times the axis
    sine = float(np.linalg.norm(axis))
    angle = float(np.arctan2(sine, np.trace(R) - 1.0))
    if sine > 1e-6:
        return axis * (angle / sine)
    if angle < 1.0:
        return axis / 2  # a small turn: sin(angle) is the angle
    # Half a turn: R = 2 a a^T - 1, so the largest column of R + 1 lies along the axis.
    column = (R + np.eye(3))[:, int(np.argmax(np.diag(R)))]
    half: Array = angle * column / np.linalg.norm(column)
    return half


def solve(
    model: Model,
    pose: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    T: ArrayLike,
    start: ArrayLike,
    *,
    tolerance: float,
    iterations: int,
    restarts: int,
) -> IKResult:
    """The best found from `start` and, while that fails, from seeded random configurations within the limits."""
    goal = finite("inverse_kinematics: T", T, (4, 4))
    q0 = finite("inverse_kinematics: start", start, (model.n,))
    if restarts < 0 or iterations < 1:
        raise ValueError(f"inverse_kinematics: restarts must be >= 0 and iterations >= 1; got {restarts}, {iterations}")
    if not np.array_equal(goal[3], [0, 0, 0, 1]):
        raise ValueError(f"inverse_kinematics: the last row of T must be 0 0 0 1; got {goal[3]}")
    R = goal[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
        raise ValueError(f"inverse_kinematics: T must hold a rotation matrix; got\n{R}")

    def error(q: Array) -> Array:
        here = pose(q)
        return np.r_[goal[:3, 3] - here[:3, 3], rotation_vector(R @ here[:3, :3].T)]

    rng = np.random.default_rng(0)
    low, high = model.sampling_range()
    best: IKResult | None = None
    steps = 0
    for attempt in range(restarts + 1):
        q = np.clip(q0, model.lower, model.upper) if attempt == 0 else rng.uniform(low, high)
        q, e, used = _descend(model, q, error, jacobian, tolerance, iterations)
        steps += used
        if best is None or e < best.error:
            best = IKResult(q, e < tolerance, e, steps, attempt)
        if e < tolerance:
            break
    assert best is not None  # the loop ran at least once
    return best


def _descend(
    model: Model,
    q: Array,
    error: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    tolerance: float,
    iterations: int,
) -> tuple[Array, float, int]:
    e = error(q)
    size = float(np.linalg.norm(e))
    mu = 1e-3
    for k in range(iterations):
        if size < tolerance:
            return q, size, k
        J = jacobian(q)
        free = np.ones(model.n, bool)
        while True:  # joints that would leave their limits stop, and the rest is solved again
            Jf = J[:, free]
            dq = np.zeros(model.n)
            dq[free] = Jf.T @ np.linalg.solve(Jf @ Jf.T + mu * np.eye(6), e)
            stuck = free & (
                ((q + dq > model.upper) & (q >= model.upper)) | ((q + dq < model.lower) & (q <= model.lower))
            )
            if not stuck.any():
                break
            free &= ~stuck
        longest = np.abs(dq).max()
        trial = np.clip(q + dq * min(1.0, 0.5 / max(longest, 1e-12)), model.lower, model.upper)
        e_trial = error(trial)
        size_trial = float(np.linalg.norm(e_trial))
        if size_trial < size:
            q, e, size = trial, e_trial, size_trial
            mu = max(mu * 0.2, 1e-15)
        elif mu > 1e3 or longest < 1e-14:
            return q, size, k
        else:
            mu *= 10.0
    return q, size, iterations
