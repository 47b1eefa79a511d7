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
from ...geometry.person import NAMES
from .methods import Factory
from .run import RESET_AFTER, RunTrack, reached
from .scene import PERIOD, EncounterScene, Place, SensorFrames

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


class Together:
    """A supervised law for as many encounters at a time as `arms`, of one arm and so many people."""

    def __init__(self, factory: Factory, where: Place, people: int, arms: int, sensor: str = "camera") -> None:
        self.where, self.people, self.arms = where, people, arms

        def make() -> Supervisor:
            made = factory(where.arm, people, sensor)
            if not isinstance(made, Supervisor):
                raise ConfigError(f"only supervised laws run together; got {made!r:.60}")
            return made

        self._batch = SupervisorBatch(make, arms, [NAMES] * people)
        self._pose = where.arm.compile("pose")

    def run(self, scenes: Sequence[EncounterScene], frames: Sequence[SensorFrames]) -> list[RunTrack]:
        """Each encounter; all have the same duration, and there are `arms` of them."""
        first, batch, arm = scenes[0], self._batch, self.where.arm
        count, steps, n = len(scenes), len(first.times) - 1, arm.n
        alike = self.where, self.people, steps + 1
        if count != self.arms or any((s.place, s.people, len(s.times)) != alike for s in scenes):
            raise ConfigError(
                f"scenes that run together must have one arm, as many people and the same duration, and be {self.arms}"
            )
        batch.restart()
        shown = _Sensor(frames, first.times[:-1])
        q, asked = np.empty((steps + 1, count, n)), np.empty((steps, count, n))
        q[0] = [arm.ready if each.start is None else each.start for each in scenes]
        lower, upper = arm.model.lower, arm.model.upper
        qd = np.zeros((count, n))
        targets = np.stack([each.goals for each in scenes])
        goals, goal_times = np.tile(Goal(np.zeros(3)).packed, (count, 1)), np.zeros(count)
        goals[:, :3] = targets[:, 0]
        done, stops = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        latched, reset_at = np.zeros(count, dtype=bool), np.zeros(count)
        for k in range(steps):
            t = k * PERIOD
            shown.look(k)
            for number in np.flatnonzero(latched & (t >= reset_at)).tolist():
                batch.reset(number, t)
            asked[k] = batch.step(t, PERIOD, q[k], qd, shown.rows, shown.stamps, goals, goal_times)
            now = batch.latched
            new = now & ~latched
            stops += new
            reset_at[new] = t + RESET_AFTER
            latched = now
            q[k + 1] = np.clip(q[k] + PERIOD * asked[k], lower, upper)
            qd = (q[k + 1] - q[k]) / PERIOD
            there = np.flatnonzero(reached(self._pose(q[k + 1])[:, :3, 3], goals[:, :3]))
            if len(there):
                done[there] += 1
                goals[there, :3] = targets[there, done[there] % targets.shape[1]]
                goal_times[there] = t
        unknown = np.full(steps, np.nan)
        return [
            RunTrack(
                np.ascontiguousarray(q[:, i]), np.ascontiguousarray(asked[:, i]), int(done[i]), int(stops[i]), unknown
            )
            for i in range(count)
        ]


def run_together(
    scenes: Sequence[EncounterScene], factory: Factory, frames: Sequence[SensorFrames], sensor: str = "camera"
) -> list[RunTrack]:
    """Each encounter with this method; all scenes have the same arm, people and duration."""
    first = scenes[0]
    return Together(factory, first.place, first.people, len(scenes), sensor).run(scenes, frames)
