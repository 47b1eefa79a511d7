"""Times that the papers print: every point is there, and each kernel gives the same matrix."""

from __future__ import annotations

import json

import numpy as np
import pytest

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


def point(n, method, seconds, code="loops", *, kinematics=True):
    return paper_times.Point(n, method, kinematics, code, seconds, seconds)


@pytest.fixture
def invented(monkeypatch):
    """Times that cross at 8 joints with kinematics, at 4 without; straight lines never do."""

    def times(joints, codes, *, rounds):
        for n in joints:
            for code in codes:
                slow = 1.0 if code == "loops" else 100.0
                yield point(n, "crba", n**2 * 1e-8, code)
                yield point(n, "gdahj", slow * 7 * n * 1e-8, code)
                yield point(n, "gdahj", slow * 3.5 * n * 1e-8, code, kinematics=False)

    monkeypatch.setattr(paper_times, "figure4", lambda *args, **kwargs: list(times(*args, **kwargs)))


def test_crossovers_are_found(invented):
    report = paper_times.figure_4(joints=[100, 2, 4, 8], rounds=1)
    found = {(c.code, c.kinematics): c for c in report.crossovers}
    assert found["loops", True].joints == 8
    assert found["loops", False].joints == 4
    assert (found["loops", True].ratio, found["loops", True].ratio_joints) == (pytest.approx(100 / 7), 100)
    assert found["straight", True].joints is None
    assert found["straight", True].text == "with kinematics: not on the longest"
    assert max(p.n for p in report.curve("straight", "crba")) == 8  # a longer line would compile for long
    (only,) = {c.joints for c in paper_times.figure_4(joints=[20], rounds=1).crossovers if c.code == "loops"}
    assert only == 20


def test_the_command_prints_and_draws_figure_4(invented, run, tmp_path):
    picture = tmp_path / "figure4.svg"
    status, out, _ = run("bench", "figure4", "--joints", 4, "--joints", 8, "--joints", 20, "--plot", picture)
    assert status == 0
    assert "GDAHJ ahead with kinematics: from 8 on; at best 2.86 times as fast, at 20 joints" in out
    assert "GDAHJ ahead without kinematics: at every length measured" in out
    assert "ahead above 13 joints, by 2.2 times" in out
    assert "<svg" in picture.read_text()
    status, out, _ = run("bench", "figure4", "--joints", 8, "--json", "-")
    data = json.loads(out)
    assert {row["code"] for row in data["rows"]} == {"text", "straight", "loops"}
    assert {c["joints"] for c in data["crossovers"] if c["code"] == "loops"} == {8}


def test_figure_4_is_measured_on_text_too():
    report = paper_times.figure_4(joints=[3], rounds=1)
    assert {p.code for p in report.rows} == {"text", "straight", "loops"}
    assert all(p.seconds > 0 for p in report.rows)
