"""What a motion does to the arm itself: whether it could be made at all.

limit_hits         how often a joint came to its end, at more than `GENTLE` (rad/s or m/s)
min_self_distance  between surfaces of the arm's own links that must not meet, m
min_height         of the lowest surface of the moving links above the floor, m
"""

from __future__ import annotations

import numpy as np

from ...cell.runner import Cell
from ...geometry import Body
from ...geometry.distance import DISTANCE
from ...geometry.pairs import Pairs
from ...geometry.shapes import RADIUS
from ...model.capsules import BASE
from .outcome import Table, Value

GENTLE = 0.05
AT = 1e-6  # rad or m: nearer to an end is at it
EVERY = 5  # rows: a link moves millimetres in that time


def bodily(cell: Cell, table: Table) -> dict[str, Value]:
    """The numbers of a run."""
    n = cell.arm.n
    q = np.stack([np.asarray(table[f"q{k + 1}"], dtype=float) for k in range(n)], axis=1)
    lower, upper = cell.arm.model.lower, cell.arm.model.upper
    speed = np.abs(np.diff(q, axis=0, prepend=q[:1])) / cell.period
    speed = np.maximum(speed, np.vstack([speed[:1], speed[:-1]]))  # the end may cut the last step short
    at = (q <= lower + AT) | (q >= upper - AT)
    came = at & ~np.vstack([at[:1], at[:-1]]) & (speed > GENTLE)
    found: dict[str, Value] = {"limit_hits": int(came.sum())}
    if not cell.arm.model.capsules:
        return found
    body = Body(cell.arm)
    some = np.ascontiguousarray(q[::EVERY])
    rows = body.kernel(some, np.zeros_like(some))
    moving = [k for k, capsule in enumerate(body.link_capsules) if capsule.link != BASE]
    heights = np.minimum(rows[:, moving, 2], rows[:, moving, 5]) - rows[:, moving, RADIUS]
    found["min_height"] = float(heights.min()) - cell.floor
    if body.self_pairs:
        found["min_self_distance"] = float(Pairs(len(body), 0, body.self_pairs)(rows)[..., DISTANCE].min())
    return found
