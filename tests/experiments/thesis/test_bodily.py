"""What a motion does to the arm itself, against motions and distances that are known beforehand."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from elbowroom.experiments.thesis.metrics import EVERY, GENTLE, bodily
from elbowroom.geometry import Body
from elbowroom.loading import load

PERIOD = 0.02


def cell(robot="planar2", floor=0.0, capsules=True):
    """As much of a cell as is looked at."""
    arm = load(robot)
    if not capsules:
        arm = SimpleNamespace(n=arm.n, model=SimpleNamespace(lower=arm.model.lower, upper=arm.model.upper, capsules=()))
    return SimpleNamespace(arm=arm, period=PERIOD, floor=floor)


def table(q):
    return {f"q{k + 1}": column for k, column in enumerate(np.asarray(q, dtype=float).T)}


def hits(*columns, robot="planar2"):
    return bodily(cell(robot), table(np.stack(columns, axis=1)))["limit_hits"]


def driven(speed, end, rows=60, short=0.0):
    """A joint that goes to its end at a speed, and stays there.  `short` is what is left for its last step, of 1."""
    steps = np.arange(rows)[::-1] - rows // 2 - 1.0 + short
    return end - np.sign(end) * speed * PERIOD * np.maximum(steps, 0.0)


UPPER = float(load("planar2").model.upper[0])
LOWER = float(load("planar2").model.lower[0])
AT_EASE = np.zeros(60)


@pytest.mark.parametrize("end", [LOWER, UPPER])
def test_a_joint_driven_into_its_end_counts_once(end):
    assert hits(driven(1.0, end), AT_EASE) == 1
    assert hits(AT_EASE, driven(1.0, end)) == 1
    assert hits(driven(1.0, end), driven(1.0, -end)) == 2
    assert hits(np.concatenate([driven(1.0, end), driven(1.0, end)]), np.zeros(120)) == 2  # it went away and came back


@pytest.mark.parametrize("short", [0.01, 0.5, 0.99])
def test_it_counts_wherever_the_last_step_begins(short):
    """The end cuts the step short that meets it: its own speed would be small by chance."""
    q = driven(1.0, UPPER, short=short)
    assert np.diff(q[q < UPPER])[-1] == pytest.approx(PERIOD)
    assert UPPER - q[q < UPPER][-1] == pytest.approx(short * PERIOD)
    assert hits(q, AT_EASE) == 1


def test_a_gentle_touch_does_not_count():
    assert hits(driven(0.9 * GENTLE, UPPER), AT_EASE) == 0
    assert hits(driven(1.1 * GENTLE, UPPER), AT_EASE) == 1
    easing = UPPER - np.maximum(np.exp(-np.arange(60) * 0.5) - 1e-6, 0.0)  # fast at first, slow when it is there
    assert easing[-1] == UPPER
    assert np.diff(easing).max() / PERIOD > 10.0
    assert hits(easing, AT_EASE) == 0


def test_near_its_end_is_not_at_it_and_to_rest_there_is_no_hit():
    assert hits(driven(1.0, UPPER - 1e-3), AT_EASE) == 0
    assert hits(np.full(60, UPPER), np.full(60, LOWER)) == 0
    assert hits(driven(1.0, UPPER)[::-1], AT_EASE) == 0  # it leaves


def motion(robot, rows=6 * EVERY + 1):
    """From one pose to another that is far from it; the last row is one of those looked at."""
    model = load(robot).model
    q = np.linspace(0.3 * model.lower, 0.4 * model.upper, rows)
    return np.where(np.isfinite(q), q, 0.0)


@pytest.mark.parametrize("robot", ["puma560", "ur10e"])
def test_distances_are_those_of_the_capsules(robot):
    q, arm = motion(robot), load(robot)
    found = bodily(cell(robot, floor=-0.3), table(q))
    body = Body(arm)
    poses = [body.capsules(pose) for pose in q[::EVERY]]
    heights = [
        min(shape.a[2], shape.b[2]) - shape.radius
        for shapes in poses
        for shape, link in zip(shapes, body.links, strict=True)
        if link >= 0
    ]
    assert found["min_height"] == pytest.approx(min(heights) + 0.3, abs=1e-12)
    assert body.self_pairs
    own = [apart(shapes[i], shapes[j]) for shapes in poses for i, j in body.self_pairs]
    # Both are closed forms; where capsules are nearly parallel they differ by rounding, and a micrometre is no contact.
    assert found["min_self_distance"] == pytest.approx(min(own), abs=1e-6)


def apart(one, two):
    """Between the surfaces of two capsules: of two segments, the nearest points are within both or at an end."""
    u, v, w = one.b - one.a, two.b - two.a, one.a - two.a
    candidates = []
    for s in (0.0, 1.0):
        candidates.append((s, np.clip((w + s * u) @ v / max(v @ v, 1e-300), 0.0, 1.0)))
    for t in (0.0, 1.0):
        candidates.append((np.clip((t * v - w) @ u / max(u @ u, 1e-300), 0.0, 1.0), t))
    matrix = np.array([[u @ u, -u @ v], [-u @ v, v @ v]])
    if np.linalg.det(matrix) > 1e-12:
        s, t = np.linalg.solve(matrix, [-u @ w, v @ w])
        if 0 <= s <= 1 and 0 <= t <= 1:
            candidates.append((s, t))
    return min(float(np.linalg.norm(w + s * u - t * v)) for s, t in candidates) - one.radius - two.radius


def test_an_arm_that_meets_itself_is_below_zero():
    body = Body(load("ur10e"))
    folded = np.tile([0.0, -1.5, 3.1, 0.0, 0.0, 0.0], (EVERY, 1))
    shapes = body.capsules(folded[0])
    assert any(
        apart(shapes[i], shapes[j]) < 0 for i, j in combinations(range(len(body)), 2) if (i, j) in body.self_pairs
    )
    assert bodily(cell("ur10e"), table(folded))["min_self_distance"] < 0
    assert bodily(cell("ur10e", floor=2.0), table(folded))["min_height"] < 0


def test_without_capsules_only_joints_are_looked_at():
    q = np.stack([driven(1.0, UPPER), AT_EASE], axis=1)
    assert bodily(cell(capsules=False), table(q)) == {"limit_hits": 1}


def test_one_row_is_enough():
    found = bodily(cell("puma560"), table(motion("puma560")[:1]))
    assert found["limit_hits"] == 0
    assert np.isfinite([found["min_height"], found["min_self_distance"]]).all()
