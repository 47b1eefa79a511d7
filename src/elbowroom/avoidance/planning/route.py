"""A route: a path of joint positions with times, within the joints' speeds and accelerations.

Along the path, with s its length, q' = dq/ds and q'' = d2q/ds2, the joints' speeds and accelerations are

    qd = q' v        qdd = q' a + q'' v^2        v = ds/dt,  a = dv/dt

Half of a joint's acceleration is kept for going faster and slower, the rest for the bends, of which a cubic between two
samples may need twice the mean:

    v <= min_i qd_max_i / |q'_i|     v^2 <= min_i qdd_max_i / (4 |q''_i|)     |a| <= min_i qdd_max_i / (2 |q'_i|)

A pass forwards and one backwards over samples of the path give the fastest v that begins and ends at rest.  Between
samples a cubic has the positions and speeds of both, so speeds do not jump; where one still asks for more than a joint
may, all of the route goes slower by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ShapeError

Array = NDArray[np.float64]
SAMPLES = 240
STRAIGHT = 1e-6  # 1/m: less bend is none


class Route:
    """Joint positions over time: `at(t)`; see the module's docstring.

    path (k, n)         its points; a corner is taken within one sample of the path, and so as slowly as that needs
    speed, acceleration (n,)    that no joint exceeds
    tool, tool_speed    where the tool is at joints (m, n), and a speed (m/s) that it keeps to, to a few per cent
    clearance           m, the least along it when it was planned; NaN where nobody said
    """

    def __init__(
        self,
        path: ArrayLike,
        speed: ArrayLike,
        acceleration: ArrayLike,
        *,
        tool: Callable[[Array], Array] | None = None,
        tool_speed: float = math.inf,
        clearance: float = math.nan,
    ) -> None:
        points = np.array(path, dtype=float)
        if points.ndim != 2 or len(points) < 1:
            raise ShapeError(f"path must have shape (k, n), k at least 1; got {points.shape}")
        self.path, self.clearance = points, clearance
        self.speed, self.acceleration = (np.array(x, dtype=float) for x in (speed, acceleration))
        for name, limit in (("speed", self.speed), ("acceleration", self.acceleration)):
            if limit.shape != points.shape[1:] or not (limit > 0.0).all():
                raise ValueError(f"{name} must be ({points.shape[1]},) positive numbers; got {limit}")
        self.q, self._qd, self._t = _timed(points, self.speed, self.acceleration, tool, tool_speed)

    @property
    def duration(self) -> float:
        """From the first point to the last, s."""
        return float(self._t[-1])

    def __repr__(self) -> str:
        return f"<Route: {len(self.path)} points, {self.duration:.2f} s, {self.clearance:.3f} m clear>"

    def at(self, t: float) -> tuple[Array, Array]:
        """Joint positions (n,) and speeds (n,) at a time (s); at rest before the start and after the end."""
        times = self._t
        if t <= 0.0 or t >= times[-1]:
            return self.q[0 if t <= 0.0 else -1].copy(), np.zeros(self.q.shape[1])
        k = int(np.searchsorted(times, t, side="right")) - 1
        span = times[k + 1] - times[k]
        x = (t - times[k]) / span
        a, b, va, vb = self.q[k], self.q[k + 1], self._qd[k] * span, self._qd[k + 1] * span
        step = b - a
        two, three = 3.0 * step - 2.0 * va - vb, va + vb - 2.0 * step  # the cubic with these ends and speeds
        return a + x * (va + x * (two + x * three)), (va + x * (2.0 * two + x * 3.0 * three)) / span

    def rest(self, t: float) -> Array:
        """(k, n) the samples that are still to come at a time."""
        k = min(int(np.searchsorted(self._t, t, side="right")), len(self.q) - 1)
        return np.vstack([self.at(t)[0], self.q[k:]])

    def times(self, t: float = 0.0) -> Array:
        """(k,) s from now on to each of `rest`."""
        k = min(int(np.searchsorted(self._t, t, side="right")), len(self.q) - 1)
        return np.concatenate([[0.0], self._t[k:] - t])


def _timed(
    path: Array, speed: Array, acceleration: Array, tool: Callable[[Array], Array] | None, tool_speed: float
) -> tuple[Array, Array, Array]:
    """Samples (m, n) of a path, joint speeds (m, n) there, and times (m,)."""
    legs = np.linalg.norm(np.diff(path, axis=0), axis=1)
    path, legs = path[np.r_[True, legs > 0.0]], legs[legs > 0.0]
    if not len(legs):
        return path[:1], np.zeros_like(path[:1]), np.zeros(1)
    marks = np.concatenate([[0.0], np.cumsum(legs)])
    even = np.linspace(0.0, marks[-1], SAMPLES)
    after = np.clip(np.searchsorted(marks, even), 1, len(marks) - 1)
    near = np.minimum(np.abs(even - marks[after - 1]), np.abs(marks[after] - even)) < 0.2 * marks[-1] / SAMPLES
    s = np.union1d(even[~near], marks)  # its own points stay, all of them: what was checked is between these
    q = np.column_stack([np.interp(s, marks, column) for column in path.T])
    ds = np.diff(s)
    way = np.diff(q, axis=0) / ds[:, None]  # q' between samples
    bend = np.abs(np.diff(way, axis=0)) / np.minimum(ds[1:], ds[:-1])[:, None]
    along = np.abs(way)
    fastest = _least(speed, along)
    if tool is not None:
        gone = np.linalg.norm(np.diff(tool(q), axis=0), axis=1)
        fastest = np.minimum(fastest, tool_speed * ds / np.maximum(gone, 1e-9))
    gain = _least(0.5 * acceleration, along)  # of each piece
    inner2 = np.minimum(np.minimum(fastest[1:], fastest[:-1]) ** 2, _least(0.25 * acceleration, bend))
    v2, more = [0.0, *inner2.tolist(), 0.0], (2.0 * gain * ds).tolist()  # in lists: numbers of arrays are slow
    for k in range(1, len(v2)):
        v2[k] = min(v2[k], v2[k - 1] + more[k - 1])
    for k in range(len(v2) - 2, -1, -1):
        v2[k] = min(v2[k], v2[k + 1] + more[k])
    v = np.sqrt(v2)
    times = np.concatenate([[0.0], np.cumsum(2.0 * ds / (v[1:] + v[:-1]))])
    inner = (way[1:] * ds[1:, None] + way[:-1] * ds[:-1, None]) / (ds[1:] + ds[:-1])[:, None]
    qd = np.vstack([way[:1], inner, way[-1:]]) * v[:, None]
    slower = _excess(q, qd, times, speed, acceleration)
    return q, qd / slower, times * slower


def _excess(q: Array, qd: Array, times: Array, speed: Array, acceleration: Array) -> float:
    """How much slower all of it must go so that the cubics keep the limits, too: 1 or a little more."""
    span = np.diff(times)[:, None]
    step, va, vb = np.diff(q, axis=0), qd[:-1] * span, qd[1:] * span
    two, three = 3.0 * step - 2.0 * va - vb, va + vb - 2.0 * step
    at = np.clip(-two / np.where(three == 0.0, 1.0, 3.0 * three), 0.0, 1.0)  # where the speed is greatest
    fastest = np.abs(va + at * (2.0 * two + at * 3.0 * three)) / span
    hardest = np.maximum(np.abs(2.0 * two), np.abs(2.0 * two + 6.0 * three)) / span**2
    return float(max(1.0, (fastest / speed).max(), np.sqrt((hardest / acceleration).max())))


def _least(limit: Array, of: Array) -> Array:
    """(m,) the least over the joints of limit (n,) / of (m, n)."""
    found: Array = (limit / np.maximum(of, STRAIGHT)).min(axis=1)
    return found
