"""A route: a path of joint positions with times, within the joints' speeds and accelerations.

Along the path, with s its length, q' = dq/ds and q'' = d2q/ds2, the joints' speeds and accelerations are

    qd = q' v        qdd = q' a + q'' v^2        v = ds/dt,  a = dv/dt

In bends half of a joint's acceleration is for them, and half for going faster and slower; on straight ways all of it:

    v <= min_i qd_max_i / |q'_i|     v^2 <= min_i qdd_max_i / (2 |q''_i|)     |a| <= min_i qdd_max_i / |q'_i|, or half

A pass forwards and one backwards over samples of the path give the fastest v that begins and ends at rest.  Between
samples a cubic has the positions and speeds of both, so speeds do not jump.  Where one still asks for more than a joint
may, it goes slower there, and both passes are made again; what is left after some turns slows all of the route.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ShapeError

Array = NDArray[np.float64]
SAMPLES = 120
BENDS = 0.5  # of a joint's acceleration: for the bends
SAME = 1e-9  # rad or m: points nearer to each other are one
SHARP, CORNER = 0.15, 0.005  # change of direction, and rad or m of the path before and after, within which it is taken
TURNS, NEARLY = 4, 1.02  # of finding where it is still too fast, and by how much it may be for the last of them
STRAIGHT = 1e-6  # 1/m: less bend is none


class Route:
    """Joint positions over time: `at(t)`; see the module's docstring.

    path (k, n)         its points; a sharp corner is taken within `CORNER` of it, and so as slowly as that needs
    speed, acceleration (n,)    that no joint exceeds
    tool, tool_speed    where the tool is at joints (m, n), and a speed (m/s) that it keeps to, to a few per cent
    clearance           m, the least at its samples when it was planned; NaN where nobody said
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
    path, legs = path[np.r_[True, legs > SAME]], legs[legs > SAME]
    if not len(legs):
        return path[:1], np.zeros_like(path[:1]), np.zeros(1)
    path = _with_short_corners(path, legs)
    legs = np.linalg.norm(np.diff(path, axis=0), axis=1)
    pieces = np.maximum(1, np.rint(legs * (SAMPLES / legs.sum()))).astype(int)
    ds = np.repeat(legs / pieces, pieces)
    leg = np.repeat(np.arange(len(legs)), pieces)
    part = (np.arange(len(leg)) - (np.cumsum(pieces) - pieces)[leg]) / pieces[leg]
    q = np.vstack([path[leg] + part[:, None] * np.diff(path, axis=0)[leg], path[-1:]])  # its own points are all there
    way = np.diff(q, axis=0) / ds[:, None]  # q' between samples
    bend = np.abs(np.diff(way, axis=0)) / np.minimum(ds[1:], ds[:-1])[:, None]
    along = np.abs(way)
    fastest = _least(speed, along)
    if tool is not None:
        gone = np.linalg.norm(np.diff(tool(q), axis=0), axis=1)
        fastest = np.minimum(fastest, tool_speed * ds / np.maximum(gone, 1e-9))
    turns = np.r_[False, (bend > STRAIGHT).any(axis=1), False]
    gain = _least(acceleration, along) * np.where(turns[1:] | turns[:-1], 0.5, 1.0)  # of each piece
    limit2 = np.minimum(np.minimum(fastest[1:], fastest[:-1]) ** 2, _least(BENDS * acceleration, bend))
    limit2, more = np.concatenate([[0.0], limit2, [0.0]]), (2.0 * gain * ds).tolist()
    inner = (way[1:] * ds[1:, None] + way[:-1] * ds[:-1, None]) / (ds[1:] + ds[:-1])[:, None]
    direction = np.vstack([way[:1], inner, way[-1:]])
    for last in (False,) * TURNS + (True,):
        v = np.sqrt(_fastest(limit2.tolist(), more))
        times = np.concatenate([[0.0], np.cumsum(2.0 * ds / (v[1:] + v[:-1]))])
        qd = direction * v[:, None]
        slower = _excess(q, qd, times, speed, acceleration)
        if last or float(slower.max()) < NEARLY:
            break
        here = np.maximum(np.r_[1.0, slower], np.r_[slower, 1.0])  # at a sample that of both pieces beside it
        limit2 = np.where(here > 1.0, np.minimum(limit2, v * v) / here**2, limit2)
    worst = float(slower.max())
    return q, qd / worst, times * worst


def _with_short_corners(path: Array, legs: Array) -> Array:
    """The path with points close before and after its sharp corners, between which the route leaves it a little."""
    way = np.diff(path, axis=0) / legs[:, None]
    sharp = np.flatnonzero(np.linalg.norm(np.diff(way, axis=0), axis=1) > SHARP) + 1
    if not len(sharp):
        return path
    before, after = np.minimum(CORNER, 0.4 * legs[sharp - 1]), np.minimum(CORNER, 0.4 * legs[sharp])
    beside = np.stack([path[sharp] - before[:, None] * way[sharp - 1], path[sharp] + after[:, None] * way[sharp]], 1)
    return np.insert(path, np.stack([sharp, sharp + 1], 1).ravel(), beside.reshape(-1, path.shape[1]), axis=0)


def _fastest(v2: list[float], more: list[float]) -> list[float]:
    """The squared speeds at samples, within limits v2, of which no piece gains or loses more than this."""
    for k in range(1, len(v2)):  # lists: numbers of arrays are slow
        v2[k] = min(v2[k], v2[k - 1] + more[k - 1])
    for k in range(len(v2) - 2, -1, -1):
        v2[k] = min(v2[k], v2[k + 1] + more[k])
    return v2


def _excess(q: Array, qd: Array, times: Array, speed: Array, acceleration: Array) -> Array:
    """(m - 1,) how much slower each piece must go so that its cubic keeps the limits, too: 1 or a little more."""
    span = np.diff(times)[:, None]
    step, va, vb = np.diff(q, axis=0), qd[:-1] * span, qd[1:] * span
    two, three = 3.0 * step - 2.0 * va - vb, va + vb - 2.0 * step
    at = np.clip(-two / np.where(three == 0.0, 1.0, 3.0 * three), 0.0, 1.0)  # where the speed is greatest
    fastest = np.abs(va + at * (2.0 * two + at * 3.0 * three)) / span
    hardest = np.maximum(np.abs(2.0 * two), np.abs(2.0 * two + 6.0 * three)) / span**2
    found: Array = np.maximum(1.0, np.maximum(fastest / speed, np.sqrt(hardest / acceleration)).max(axis=1))
    return found


def _least(limit: Array, of: Array) -> Array:
    """(m,) the least over the joints of limit (n,) / of (m, n)."""
    found: Array = (limit / np.maximum(of, STRAIGHT)).min(axis=1)
    return found
