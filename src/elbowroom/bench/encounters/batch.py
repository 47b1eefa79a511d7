"""Many encounters at once: the arms of some scenes side by side in SIMD lanes (avoidance/safety/batch.py).

    tracks = run_together(scenes, factory, frames)      # a RunTrack a scene, as `run` has them

The same numbers as `run` for each scene alone, to the bit.  For supervised laws of the package; times of single steps
are not known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...avoidance import Goal, Supervisor
from ...avoidance.safety.batch import SupervisorBatch
from ...errors import ConfigError
from .methods import Factory
from .run import RESET_AFTER, RunTrack, reached
from .scene import PERIOD, EncounterScene, SensorFrames

Array = NDArray[np.float64]


class _Sensor:
    """What the arms are shown of people, cycle by cycle."""

    def __init__(self, frames: Sequence[SensorFrames], times: Array) -> None:
        self._rows = [each.rows.reshape(len(each.rows), -1, each.rows.shape[-1]) for each in frames]
        self._stamps = [each.stamps for each in frames]
        newest = [np.searchsorted(each.arrivals, times + 1e-9, side="right") - 1 for each in frames]
        self._newest = np.stack(newest, axis=1)  # (T, arms) the number of the newest frame that has arrived
        new = np.diff(self._newest, axis=0, prepend=-1) > 0
        self._new = [np.flatnonzero(each).tolist() for each in new]
        self.rows = np.zeros((len(frames), *self._rows[0].shape[1:]))
        self.stamps = np.full((len(frames), frames[0].rows.shape[1]), -np.inf)

    def look(self, k: int) -> None:
        """Takes what has arrived by the control time k."""
        newest = self._newest[k]
        for arm in self._new[k]:
            frame = newest[arm]
            self.rows[arm], self.stamps[arm] = self._rows[arm][frame], self._stamps[arm][frame]


def run_together(
    scenes: Sequence[EncounterScene], factory: Factory, frames: Sequence[SensorFrames], sensor: str = "camera"
) -> list[RunTrack]:
    """Each encounter with this method; all scenes have the same arm, people and duration."""
    first = scenes[0]
    arm, people, steps = first.place.arm, first.people, len(first.times) - 1
    if any((each.place, each.people, len(each.times)) != (first.place, people, steps + 1) for each in scenes):
        raise ConfigError("scenes that run together must have one arm, as many people and the same duration")

    def make() -> Supervisor:
        made = factory(arm, people, sensor)
        if not isinstance(made, Supervisor):
            raise ConfigError(f"only supervised laws run together; got {made!r:.60}")
        return made

    count, n = len(scenes), arm.n
    shown = _Sensor(frames, first.times[:-1])
    batch = SupervisorBatch(make, count, [frames[0].names] * people)
    q, asked = np.empty((count, steps + 1, n)), np.empty((count, steps, n))
    q[:, 0] = [arm.ready if each.start is None else each.start for each in scenes]
    lower, upper = arm.model.lower, arm.model.upper
    qd = np.zeros((count, n))
    targets = np.stack([each.goals for each in scenes])
    goals, goal_times = np.tile(Goal(np.zeros(3)).packed, (count, 1)), np.zeros(count)
    goals[:, :3] = targets[:, 0]
    done, stops = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    latched, reset_at = np.zeros(count, dtype=bool), np.zeros(count)
    pose = arm.compile("pose")
    every = np.arange(count)
    for k in range(steps):
        t = k * PERIOD
        shown.look(k)
        for arm_number in np.flatnonzero(latched & (t >= reset_at)).tolist():
            batch.reset(arm_number, t)
        here = np.ascontiguousarray(q[:, k])
        asked[:, k] = batch.step(t, PERIOD, here, qd, shown.rows, shown.stamps, goals, goal_times)
        now = batch.latched
        new = now & ~latched
        stops += new
        reset_at[new] = t + RESET_AFTER
        latched = now
        ahead = np.clip(here + PERIOD * asked[:, k], lower, upper)
        q[:, k + 1], qd = ahead, (ahead - here) / PERIOD
        there = np.flatnonzero(reached(pose(ahead)[:, :3, 3], goals[:, :3]))
        if len(there):
            done[there] += 1
            goals[there, :3] = targets[there, done[there] % targets.shape[1]]
            goal_times[there] = t
    unknown = np.full(steps, np.nan)
    return [RunTrack(q[i], asked[i], int(done[i]), int(stops[i]), unknown) for i in every.tolist()]
