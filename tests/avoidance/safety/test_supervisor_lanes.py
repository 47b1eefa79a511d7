"""Stops in lanes: who is stopped, who stands, whose stop may end; whole runs are held in tests/bench."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from elbowroom.avoidance.control.lanes import DOUBTED, FIRST, STANDING, STOPPED
from elbowroom.avoidance.safety.filter.stages import SUMMARY
from elbowroom.avoidance.safety.lanes import _attended, _resetting
from elbowroom.avoidance.safety.perception import TOLD


def test_a_stop_ends_where_it_is_asked_for_and_may():
    """As `Supervisor.reset`: not while there is a reason to stop, nor while the arm moves."""
    q, memory = np.array([0.1, 0.2]), np.array([3.0, 4.0, 5.0])
    for active, asked, stopped, doubted, standing in product((0.0, 1.0), repeat=5):
        latch = np.array([stopped, doubted, standing, 0.0])
        found = _resetting(2, np.array([active]), latch, np.array([asked]), q, memory)
        assert found["resets"][0] == float(active and asked and stopped and standing and not doubted)
        assert found["opened"][STOPPED] == 0.0
        assert list(found["forgotten"]) == [0.0, 0.1, 0.2]  # the joint goal begins where the arm is


@pytest.mark.parametrize(
    ("change", "stops", "standing"),
    [
        ({}, False, True),
        ({"fastest": 0.02}, False, False),
        ({"commanded": 0.1}, False, False),
        ({"overspeed": 1.3}, True, True),
        ({"people_distance": 0.1}, True, True),
        ({"distance": -0.01}, True, True),
        ({"marks": 1.0, "stale": 1.0}, True, True),
        ({"marks": 1.0}, False, True),
    ],
)
def test_what_stops_an_arm_and_whether_it_stands(change, stops, standing):
    told = np.zeros(len(TOLD))
    told[TOLD.index("stale")] = change.pop("stale", 0.0)
    values = {"attention": 1.0, "distance": 1.0, "people_distance": 1.0} | change
    summary = np.array([values.get(name, 0.0) for name in SUMMARY])
    rules = np.array([1.2, 0.2, 1.0, 0.01])  # overspeed, stop distance, in collision, standing
    for stopped, calm in product((0.0, 1.0), (0.0, np.inf)):
        latch = np.array([stopped, 0.0, 0.5, 1.0])
        given = {"active": np.ones(1), "latch": latch, "calm": np.array([calm]), "summary": summary}
        found = _attended(False, **given, told=told, rules=rules)
        looked = stopped or calm > 0.0  # an ordinary cycle has nothing to stop for
        assert found["stops"][0] == float(stops and looked and not stopped)
        assert found["latched"][STOPPED] == float(stopped or (stops and looked))
        assert found["latched"][DOUBTED] == float(stops and looked)
        assert found["latched"][STANDING] == (float(standing) if looked else 0.5)
        assert found["latched"][FIRST] == 0.0
        assert found["fails"][0] == 0.0
