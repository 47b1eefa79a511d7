"""What a method is shown of the people: frames with their time of capture, late, noisy and sometimes missing.

camera   50 frames/s of the skeleton's points, each coordinate with an error of 1 cm (standard deviation), velocities
         by the difference to the fifth frame before, as a driver of a skeleton camera makes them; all frames of a
         run come late by one latency, drawn from 30 to 100 ms; now and then no frame is taken for 20 to 120 ms
ideal    the truth of this very cycle, velocities included
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import UnknownNameError
from .scene import PERIOD, Scene, capsules

Array = NDArray[np.float64]

SENSORS = ("camera", "ideal")
FRAME = 0.02  # s between frames
NOISE = 0.01  # m
LATENCY = (0.03, 0.1)  # s
GAP = (0.02, 0.12)  # s, of a drop-out
BEFORE = 0.2  # s, that the camera runs before the arm does: the first cycle has a frame already
BASELINE = 5  # frames, between those whose difference is the velocity
EVERY = 1.5  # s between drop-outs, on the average


class Frames(NamedTuple):
    """Frames in the order of their arrival."""

    stamps: Array  # (F,) s, when each was taken
    arrivals: Array  # (F,) s, when it is there
    rows: Array  # (F, people, 13, 13)


def frames(scene: Scene, sensor: str) -> Frames:
    """What the sensor gives in this scene; the same for every method."""
    if sensor == "ideal":
        return Frames(scene.times, scene.times, scene.rows)
    if sensor != "camera":
        raise UnknownNameError(f"sensor: expected {' or '.join(SENSORS)}; got {sensor!r}")
    random = np.random.default_rng([2, scene.seed])
    latency = random.uniform(*LATENCY)
    numbers = np.arange(-round(BEFORE / FRAME), math.floor(scene.duration / FRAME + 1e-9) + 1, dtype=float)
    stamps = FRAME * numbers
    keep = np.ones(len(stamps), dtype=bool)
    gap = random.exponential(EVERY)
    while gap < scene.duration:
        length = random.uniform(*GAP)
        keep &= (stamps < gap) | (stamps >= gap + length)
        gap += length + random.exponential(EVERY)
    truth = scene.points[np.maximum(np.round(stamps / PERIOD).astype(int), 0)]  # people stand until 0
    seen = (truth + NOISE * random.standard_normal(truth.shape))[keep]
    stamps = stamps[keep]
    velocities = np.zeros_like(seen)
    times = stamps[BASELINE:] - stamps[:-BASELINE]
    velocities[BASELINE:] = (seen[BASELINE:] - seen[:-BASELINE]) / times[:, None, None, None]
    return Frames(stamps, stamps + latency, capsules(scene.place, seen, velocities))
