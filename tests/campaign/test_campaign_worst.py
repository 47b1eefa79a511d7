"""Regression scenes: the worst encounters that searches and campaigns found must not become worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from elbowroom.bench.encounters.run import APPROACH, distances
from elbowroom.campaign import read_finds, replay

FINDS = read_finds(Path(__file__).parents[2] / "examples/worst.toml")
SLACK = 0.01  # m: another CPU rounds otherwise, and rounding each number of a find to 4 digits changes 5 mm at most
FASTEST = 0.25  # m/s: when they were found, the arm's own motion closed a pair in contact by up to 0.23


def test_there_are_some_of_each_kind():
    assert sum(find.approach for find in FINDS) >= 2
    assert sum(not find.approach for find in FINDS) >= 4
    assert all(find.least < -0.05 for find in FINDS)
    assert all("supervised" in find.parameters.law for find in FINDS)


@pytest.mark.parametrize("find", FINDS, ids=lambda find: f"{find.parameters.number}: {1e3 * find.least:.0f} mm")
def test_the_worst_have_not_become_worse(find):
    again = replay(find.parameters)
    apart = distances(again.scene, again.track)
    own = apart.own[apart.distance < 0.0].max(initial=0.0)
    assert apart.distance.min() > find.least - SLACK
    assert own <= (FASTEST if find.approach else APPROACH)
