"""Recorded points over time: gaps, velocities, resampling, and their place in the cell.

Where a point was hidden it is not valid: a gap, which is old data and not absence.  Nothing is made up in a gap unless
`bridged` is asked to.  Between two frames a point moves along the cubic whose ends have the recorded places and the
velocities of central differences,

    v_i = (p_{i+1} - p_{i-1}) / (t_{i+1} - t_{i-1})

one-sided at the edges of a gap (Catmull and Rom), so that a velocity is the exact derivative of a place everywhere.
A central difference looks one frame ahead, as a recording can.  Metres, seconds, radians, z up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import finite, fixed, number
from ...errors import ElbowroomError, RecordingError, ShapeError, UnknownNameError
from ...geometry import Skeleton
from ...geometry.person import ALIASES, POINTS
from ...reading import decimal

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROUNDING = 1e-9  # s: times that are nearer than this are the same
MOST = 10_000_000  # frames after resampling
MAX_BYTES = 64 * 2**20  # of a file
MAX_FRAMES = 1_000_000  # of a file
LARGEST = 1000.0  # m: a point that is farther away has the wrong unit


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a recording is in the cell: its points p are at `scale` Rz(`yaw`) p + `translation`."""

    translation: Array = field(default_factory=lambda: fixed(np.zeros(3)))
    yaw: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "translation", fixed(finite("Placement.translation", self.translation, (3,))))
        object.__setattr__(self, "yaw", float(finite("Placement.yaw", self.yaw, ())))
        object.__setattr__(self, "scale", number("Placement.scale", self.scale, more=True))

    def apply(self, points: ArrayLike) -> Array:
        """The points (..., 3) in the cell."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        turned = np.asarray(points) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        return self.scale * turned + self.translation

    def then(self, translation: ArrayLike = (0.0, 0.0, 0.0), yaw: float = 0.0) -> Placement:
        """This placement, then a turn about the cell's origin, then a shift."""
        more = Placement(finite("translation", translation, (3,)), yaw)
        return replace(self, translation=more.apply(self.translation), yaw=self.yaw + yaw)


class Moment(NamedTuple):
    """Points at one time: places and velocities (P, 3) each, and when they were measured (-inf: never)."""

    positions: Array
    velocities: Array
    stamp: float


@dataclass(frozen=True, eq=False)
class Motion:
    """Named points over time: `times` (T,) s, `positions` (T, P, 3) m, `valid` (T, P); NaN where not valid."""

    points: tuple[str, ...]
    times: Array
    positions: Array
    valid: Mask
    source: str = ""
    unused: tuple[str, ...] = ()  # what else the file had

    def __post_init__(self) -> None:
        names, count = tuple(self.points), len(self.times)
        times = fixed(finite("Motion.times", self.times, (count,)))
        if count == 0 or (np.diff(times) <= 0).any():
            raise ValueError(f"Motion.times must grow, and there must be one at least; got {count} of them")
        positions = np.array(self.positions, dtype=float)
        if positions.shape != (count, len(names), 3):
            raise ShapeError(f"Motion.positions must have shape {(count, len(names), 3)}; got {positions.shape}")
        if np.shape(self.valid) != positions.shape[:2]:
            raise ShapeError(f"Motion.valid must have shape {positions.shape[:2]}; got {np.shape(self.valid)}")
        valid = np.array(self.valid, dtype=bool) & np.isfinite(positions).all(axis=2)
        positions[~valid] = np.nan
        valid.flags.writeable = positions.flags.writeable = False
        for name, value in (("points", names), ("times", times), ("positions", positions), ("valid", valid)):
            object.__setattr__(self, name, value)

    @property
    def duration(self) -> float:
        """From the first frame to the last, s."""
        return float(self.times[-1] - self.times[0])

    @cached_property
    def complete(self) -> Mask:
        """(T,) whether every point is valid."""
        return np.asarray(self.valid.all(axis=1))

    @cached_property
    def velocities(self) -> Array:
        """(T, P, 3) central differences, one-sided beside a gap; NaN where a point has no valid neighbour."""
        count, column = len(self.times), np.arange(len(self.points))
        here = np.arange(count)[:, None]
        before, after = np.maximum(here - 1, 0), np.minimum(here + 1, count - 1)
        first = np.where(self.valid[before, column], before, here)  # (T, P) the frames of the difference
        last = np.where(self.valid[after, column], after, here)
        way = self.positions[last, column] - self.positions[first, column]
        time = self.times[last] - self.times[first]
        known = (time > 0) & self.valid
        found = np.where(known[..., None], way / np.where(known, time, 1.0)[..., None], np.nan)
        found.flags.writeable = False
        return found

    @cached_property
    def gaps(self) -> tuple[tuple[float, float], ...]:
        """(from, until) of every stretch between two complete frames in which there is none, s."""
        good = np.flatnonzero(self.complete)
        edges = pairwise(good.tolist())
        return tuple((float(self.times[i]), float(self.times[j])) for i, j in edges if j > i + 1)

    def speeds(self, percentiles: Sequence[float] | None = None) -> dict[str, Array]:
        """Speeds (m/s) by point: of every frame with both neighbours, or these percentiles of them."""
        inner = np.zeros_like(self.valid)
        inner[1:-1] = self.valid[:-2] & self.valid[1:-1] & self.valid[2:]
        sizes = np.linalg.norm(self.velocities, axis=2)
        found: dict[str, Array] = {name: sizes[inner[:, k], k] for k, name in enumerate(self.points)}
        if percentiles is None:
            return found
        none = np.full(len(percentiles), np.nan)
        return {name: np.percentile(s, percentiles) if len(s) else none for name, s in found.items()}

    # ---- at a time

    def at(self, t: float) -> Moment:
        """All points at time t: interpolated in a stretch of complete frames, else those of the last complete one."""
        k = self._index(t)
        if not (0 <= k < len(self.times) - 1 and self.complete[k] and self.complete[k + 1]):
            return self.frame(t)
        step = float(self.times[k + 1] - self.times[k])
        ends = (self.positions[k], self.positions[k + 1], self.velocities[k], self.velocities[k + 1])
        return Moment(*_cubic(*ends, step, (t - float(self.times[k])) / step), t)

    def frame(self, t: float) -> Moment:
        """All points of the last complete frame that is not later than t."""
        k = self._index(t)
        k = int(self._last[k]) if k >= 0 else -1
        if k < 0:
            nowhere = np.full((len(self.points), 3), np.nan)
            return Moment(nowhere, nowhere, -math.inf)
        return Moment(self.positions[k], np.nan_to_num(self.velocities[k]), min(float(self.times[k]), t))

    @cached_property
    def _last(self) -> NDArray[np.int64]:
        """(T,) the last complete frame up to each; -1 before the first."""
        return np.maximum.accumulate(np.where(self.complete, np.arange(len(self.times)), -1))

    def _index(self, t: float) -> int:
        """The last frame that is not later than t, or -1."""
        return int(np.searchsorted(self.times, t + ROUNDING, side="right")) - 1

    # ---- other motions from this one

    def part(self, start: float, stop: float = math.inf) -> Motion:
        """The frames from `start` to `stop` (s), with times from 0."""
        keep = (self.times >= start - ROUNDING) & (self.times <= stop + ROUNDING)
        if not keep.any():
            raise ValueError(f"no frame from {start:g} s to {stop:g} s; the motion ends at {self.times[-1]:g} s")
        times = self.times[keep]
        return replace(self, times=times - times[0], positions=self.positions[keep], valid=self.valid[keep])

    def placed(self, placement: Placement) -> Motion:
        """The motion in the cell."""
        return replace(self, positions=placement.apply(self.positions))

    def only(self, names: Sequence[str]) -> Motion:
        """These points alone, in this order."""
        for name in names:
            if name not in self.points:
                raise UnknownNameError(f"no point {name!r} in the motion; it has {', '.join(self.points)}")
        at = [self.points.index(name) for name in names]
        return replace(self, points=tuple(names), positions=self.positions[:, at], valid=self.valid[:, at])

    def bridged(self, longest: float) -> Motion:
        """With gaps of one point of up to `longest` seconds, from valid frame to valid frame, filled by a line."""
        positions, valid = self.positions.copy(), self.valid.copy()
        for k in range(len(self.points)):
            good = np.flatnonzero(self.valid[:, k])
            for i, j in pairwise(good.tolist()):
                if j > i + 1 and self.times[j] - self.times[i] <= longest + ROUNDING:
                    part = (self.times[i + 1 : j] - self.times[i]) / (self.times[j] - self.times[i])
                    way = self.positions[j, k] - self.positions[i, k]
                    positions[i + 1 : j, k] = self.positions[i, k] + part[:, None] * way
                    valid[i + 1 : j, k] = True
        return replace(self, positions=positions, valid=valid)

    def smoothed(self, window: float) -> Motion:
        """Each point averaged over this time (s), as much before as after, and less beside a gap: lines stay lines."""
        positions = self.positions.copy()
        half = int(window / 2 / float(np.median(np.diff(self.times))) + ROUNDING) if len(self.times) > 1 else 0
        for k in range(len(self.points) if half else 0):
            edges = np.flatnonzero(np.diff(np.concatenate([[False], self.valid[:, k], [False]])))
            for i, j in zip(edges[::2], edges[1::2], strict=True):
                n = np.arange(j - i)
                reach = np.minimum(half, np.minimum(n, j - i - 1 - n))
                sums = np.vstack([np.zeros(3), np.cumsum(self.positions[i:j, k], axis=0)])
                positions[i:j, k] = (sums[n + reach + 1] - sums[n - reach]) / (2 * reach + 1)[:, None]
        return replace(self, positions=positions)

    def resampled(self, rate: float) -> Motion:
        """The motion at `rate` frames a second; a point is valid where it is so on both sides of the new frame."""
        step = 1 / number("rate", rate, more=True)
        if self.duration / step >= MOST:
            raise ValueError(f"rate: {rate:g} frames a second for {self.duration:g} s are more than {MOST}")
        times = self.times[0] + step * np.arange(int(self.duration / step + ROUNDING) + 1)
        k = np.maximum(np.searchsorted(self.times, times + ROUNDING, side="right") - 1, 0)
        after = np.minimum(k + 1, len(self.times) - 1)
        on = np.abs(times - self.times[k]) <= 2 * ROUNDING  # on a frame of the recording
        width = np.where(after > k, self.times[after] - self.times[k], 1.0)[:, None, None]
        part = (times - self.times[k])[:, None, None] / width
        ends = self.positions[k], self.positions[after], self.velocities[k], self.velocities[after]
        positions = np.where(on[:, None, None], ends[0], _cubic(*ends, width, part)[0])
        valid = np.where(on[:, None], self.valid[k], self.valid[k] & self.valid[after])
        return replace(self, times=times, positions=positions, valid=valid)

    def __repr__(self) -> str:
        hidden = 100 * (1 - self.complete.mean())
        frames = f"{len(self.times)} frames, {self.duration:.2f} s"
        return f"<Motion of {len(self.points)} points: {frames}, {hidden:.1f} % of the frames incomplete>"


def _cubic(p0: Array, p1: Array, v0: Array, v1: Array, step: float | Array, s: float | Array) -> tuple[Array, Array]:
    """Place and velocity at the part s of a step, on the cubic with these ends and end velocities."""
    way, r = p1 - p0, 1 - s
    at = p0 + s * (s * (3 - 2 * s) * way + step * r * (r * v0 - s * v1))
    rate = 6 * s * r * way / step + r * (r - 2 * s) * v0 + s * (s - 2 * r) * v1
    return at, rate


def coordinate(text: str) -> float | None:
    """The number in a cell of a file, NaN included, or None if it is none; infinity is none."""
    value = decimal(text)
    return None if value is None or math.isinf(value) else value


def skeleton_names(
    path: Path, found: Sequence[str], names: Mapping[str, str], standard: Mapping[str, str]
) -> list[str]:
    """The point of a skeleton for each name that was found, "" for none; refused if a person needs more.

    `names` is what the caller says, and goes before `standard`, what the format's names usually mean.
    """
    for name in names:
        if name not in found:
            raise RecordingError(f"{path}: names: {name!r} is not in the file, which has {', '.join(found)}")
    points = [names[name] if name in names else standard.get(name, "") for name in found]
    points = [ALIASES.get(point, point) for point in points]
    for name, point in zip(found, points, strict=True):
        if point and point not in POINTS:
            raise RecordingError(
                f"{path}: names: {name!r} is said to be {point!r}; expected one of {', '.join(POINTS)}"
            )
    try:
        Skeleton([point for point in points if point])
    except (ElbowroomError, ValueError) as error:
        raise RecordingError(
            f"{path}: {error}; the file has {', '.join(found)}; say which they are by names="
        ) from None
    return points
