"""Why people were touched: an arm that stands, one that is held, and the arm's own motion in a contact."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.bench.encounters.run import Distances
from elbowroom.bench.encounters.scene import place, scene
from elbowroom.campaign import loads, parameters_of
from elbowroom.campaign import runs as runs_
from elbowroom.campaign.touches import _approach, look
from elbowroom.geometry.person import NAMES

CAMPAIGN = loads('seed = 5\nlaw = { each = ["blind", "still"] }\nduration = 4.0\n')


@pytest.mark.parametrize(
    "run, still, held, approach",
    [
        (9, True, True, False),  # the law `still`: whoever touches it touches an arm that stands
        (4, False, False, True),  # the blind arm drives into a person's trunk
        (22, True, False, True),  # somebody comes to where the arm was at first, but it is elsewhere
        (10, False, True, True),  # a hand comes to where the blind arm is
        (216, True, True, False),
    ],
)
def test_touches_are_told_apart(run, still, held, approach):
    found = look(parameters_of(CAMPAIGN, run))
    assert (found.still, found.held, found.approach is not None) == (still, held, approach)
    row = runs_.row(parameters_of(CAMPAIGN, run), columns := runs_.schema(CAMPAIGN))
    assert row[columns.names.index("approach")] == approach


def test_nobody_was_touched():
    assert look(parameters_of(CAMPAIGN, 0)) is None


def test_the_law_still_agrees_with_an_arm_held_at_ready():
    """In the scene of a run of another law, an arm at ready is touched exactly if the paired run of `still` is."""
    columns = runs_.schema(CAMPAIGN)
    touched = columns.names.index("touched")
    for run in (4, 10, 22, 56):
        paired = runs_.row(parameters_of(CAMPAIGN, run + 1), columns)
        assert look(parameters_of(CAMPAIGN, run)).still == paired[touched]


def test_an_approach_contact_is_described():
    """Made up: the arm leaves a hand with its last link, and closes on it with the one before."""
    where = place("panda")
    what = scene(where, 1, duration=0.1)
    count, others = len(what.times), len(NAMES)
    rows = where.body.kernel(np.tile(where.arm.ready, (count, 1)), np.zeros((count, where.arm.n)))
    distance, own = np.full((count, len(where.moving) * others), 0.1), np.zeros((count, len(where.moving) * others))
    hand = NAMES.index("left_hand")
    last, before = (len(where.moving) - 1) * others + hand, (len(where.moving) - 2) * others + hand
    distance[3:8, before], own[3, before], own[5:7, before] = -0.02, -0.1, [0.1, 0.2]
    distance[6, before], distance[5:8, last], own[6, last] = -0.03, -0.01, -0.5
    found = _approach(what, Distances(rows, distance, own))
    names = [where.body.names[k].replace("_", " ") for k in where.moving]
    assert (found.link, found.part) == (names[-2], "left hand")
    assert (found.depth, found.own, found.began_own) == (0.03, 0.2, -0.1)
    assert [round(x, 9) for x in (found.at, found.since, found.lasted)] == [0.06, 0.03, 0.02]
    assert (found.retreat, found.retreating) == (f"{names[-1]} and left hand", 0.5)
    assert _approach(what, Distances(rows, distance, np.minimum(own, 0.05))) is None  # the limit is not above it
