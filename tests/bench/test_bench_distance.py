"""The benchmark of distances: everybody measures the same, and the report has its rows."""

from __future__ import annotations

import sys
from dataclasses import asdict

import numpy as np
import pytest

from elbowroom.bench import distance, timing
from elbowroom.bench.scene import TimedScene, scene
from elbowroom.bench.timing import CallTime
from elbowroom.geometry.distance import DISTANCE
from elbowroom.geometry.pairs import Pairs

US = "elbowroom"


@pytest.fixture(scope="module")
def told() -> TimedScene:
    return scene(16)


@pytest.fixture(scope="module")
def ours(told):
    return distance.ours(told)


def test_our_calls_agree_with_each_other(told, ours):
    pairs = Pairs(len(told.body), told.capsules)
    every = ours[distance.ALL][US]()
    assert every.shape == (len(told.body) * told.capsules, 12)
    # from_joints rewrites the arm's rows from the same q: the same kernel, so the same numbers
    assert ours[distance.FROM_JOINTS][US]().tolist() == every.tolist()
    least = ours[distance.NEAREST][US]()
    assert least.distance == every[:, DISTANCE].min()
    batch = ours[distance.BATCH][US]()
    assert batch.shape == (distance.STATES, *every.shape)
    # lanes of a batch may fuse otherwise than one state does
    assert np.abs(batch[5] - pairs(told.rows(5))).max() < 1e-12


def test_coal_measures_the_same(told, ours):
    coal = pytest.importorskip("coal")
    theirs = distance.of_coal(coal, told)
    # coal errs by up to 1e-6 near parallel; these are not
    assert theirs[distance.NEAREST][distance.COAL]() == pytest.approx(ours[distance.NEAREST][US]().distance, abs=1e-9)
    one = ours[distance.ONE][US]()
    assert theirs[distance.ONE][distance.COAL]() == pytest.approx(one.distance, abs=1e-9)


def test_every_peer_is_asked_what_we_are(told, ours):
    pin, coal = pytest.importorskip("pinocchio"), pytest.importorskip("coal")
    assert set(distance.of_coal(coal, told)) <= set(ours)
    theirs = distance.of_pinocchio(pin, coal, told)
    assert set(theirs) <= set(ours)
    for calls in theirs.values():
        for call in calls.values():
            call()


def test_the_report(told):
    told_what: list[str] = []
    found = distance.run(rounds=1, shown=told, progress=told_what.append)
    assert found.missing == []
    assert [text.split(": ")[1] for text in told_what] == list(dict.fromkeys(row.quantity for row in found.rows))
    for row in found.rows:
        assert (row.bench, row.robot, row.n) == ("distance", "panda", 7)
        assert set(asdict(row)) >= {"quantity", "who", "version", "seconds_per_state", "ratio_to_us"}
        assert 0 < row.seconds_per_state <= row.median_seconds <= row.p90_seconds
        best = next(r for r in found.rows if (r.quantity, r.who) == (row.quantity, US)).seconds_per_state
        assert row.ratio_to_us == pytest.approx(row.seconds_per_state / best)
    assert {row.who for row in found.rows} == {US, distance.COAL, distance.LOOP}


def test_a_batch_is_told_by_the_scene(monkeypatch, told):
    """With calls that all take one second: ours of a batch is shared by its scenes, a loop over pairs does one."""
    pytest.importorskip("coal")
    monkeypatch.setattr(timing, "race", lambda calls, rounds: dict.fromkeys(calls, CallTime(1.0, 2.0, 3.0)))
    rows = {(row.quantity, row.who): row for row in distance.run(rounds=1, shown=told).rows}
    batch = rows[distance.BATCH, US]
    assert batch.seconds_per_state == 1.0 / distance.STATES
    assert (batch.median_seconds, batch.p90_seconds) == (2.0 / distance.STATES, 3.0 / distance.STATES)
    assert rows[distance.BATCH, distance.COAL].seconds_per_state == 1.0
    assert rows[distance.BATCH, distance.COAL].ratio_to_us == distance.STATES
    assert rows[distance.ALL, distance.COAL].ratio_to_us == 1.0


@pytest.mark.parametrize("absent, whose", [("coal", {US}), ("pinocchio", {US, "coal"})])
def test_what_is_missing_is_named(monkeypatch, told, absent, whose):
    monkeypatch.setitem(sys.modules, absent, None)
    found = distance.run(rounds=1, shown=told)
    assert [name.lower() for name in found.missing] == [absent]
    assert {row.who for row in found.rows} == whose
