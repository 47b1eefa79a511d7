"""Times that the papers print: every point is there, and each kernel gives the same matrix."""

from __future__ import annotations

import numpy as np

from elbowroom import dynamics
from elbowroom.bench import paper_times
from elbowroom.dynamics.kinematics import poses
from elbowroom.model import chains


def test_figure_4_has_every_curve():
    points = paper_times.figure4((5,), rounds=1)
    assert {(p.code, p.method, p.kinematics) for p in points} == {
        (code, *rest) for code in ("straight", "loops") for rest in (("crba", True), ("gdahj", True), ("gdahj", False))
    }
    assert all(0 < p.seconds <= p.median for p in points)


def test_given_frames_give_the_same_matrix():
    model = chains.random(5, 1, kinds="RRPRR")
    q = np.linspace(-1, 1, 5)
    frames = np.asarray(poses(model, q), dtype=float)
    columns = np.concatenate([frames[:, :3, :3].reshape(5, 9), frames[:, :3, 3]], axis=1).T.copy()
    expected = dynamics.crba.mass_matrix(model, q)
    for code in paper_times.CODES:
        got = paper_times._without_kinematics(model, code)(*columns)
        assert np.abs(got - expected).max() < 1e-12 * np.abs(expected).max()  # a few hundred roundings


def test_threads_over_links():
    (row,) = paper_times.per_link((8,), rounds=2)
    assert row.n == 8
    assert min(row.one, row.half, row.two, row.hand_over) > 0
