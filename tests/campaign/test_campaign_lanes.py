"""Runs side by side: which go together, and that nobody can tell from the table."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.campaign import lanes, loads, parameters, rows, schema
from elbowroom.campaign.runs import row

MIXED = """
arm = "panda"
law = { each = ["K supervised", "still"] }
duration = 0.5
limits.human_speed = { choice = [1.6, 2.0] }
sensor.latency = { uniform = [0.03, 0.1] }
"""


def test_the_same_table_as_one_by_one():
    campaign = loads(MIXED)
    columns = schema(campaign)
    runs = parameters(campaign, 4, 24)
    groups, alone = lanes.shared(runs)
    assert sorted(len(group) for group in groups) != []  # of two limits
    assert len(alone) >= 12  # those of an arm that stands
    expected = np.array([row(of, columns) for of in runs], dtype=columns.dtype)
    told = list[tuple[int, int]]()
    found = rows(campaign, 4, 24, lambda *each: told.append(each), columns=columns)
    assert found.tobytes() == expected.tobytes()
    assert told == [(1, 50)] * 24


def test_the_same_table_of_laws_without_a_supervisor():
    """Of K and F, too, with two people: a block of them, and one by one."""
    campaign = loads('law = { each = ["K", "F"] }\npeople = 2\nduration = 0.8\nseed = 3\n')
    columns = schema(campaign)
    runs = parameters(campaign, 0, 8)
    assert [len(group) for group in lanes.shared(runs)[0]] == [4, 4]
    expected = np.array([row(of, columns) for of in runs], dtype=columns.dtype)
    assert rows(campaign, 0, 8, columns=columns).tobytes() == expected.tobytes()


@pytest.mark.slow
def test_the_same_table_where_a_sensor_stops_arms():
    """Two arms, one and two people, a sensor that is silent for long: runs leave their lanes and come back."""
    campaign = loads(
        'arm = { choice = ["panda", "ur5e"] }\npeople = { integers = [1, 2] }\nduration = 3.0\nseed = 7\n'
        "sensor.latency = { uniform = [0.03, 0.25] }\nsensor.gap = { uniform = [0.1, 0.6] }\nsensor.gap_every = 1.0\n"
    )
    columns = schema(campaign)
    found = rows(campaign, 0, 16, columns=columns)
    expected = np.array([row(of, columns) for of in parameters(campaign, 0, 16)], dtype=columns.dtype)
    assert found.tobytes() == expected.tobytes()
    assert found["stops"].sum() > 4


def test_what_goes_together():
    """The scene, the sensor and the person's speed may differ, nothing else; a few are not worth it."""
    campaign = loads('law = { each = ["K supervised", "K", "K supervised with planning"] }\nduration = 1.0\n'
                     "limb_speed = { uniform = [1.6, 2.9] }\nsensor.noise = { uniform = [0.0, 0.02] }\n")  # fmt: skip
    groups, alone = lanes.shared(parameters(campaign, 0, 30))
    assert [[of.law for _, of in group] for group in groups] == [["K supervised"] * 10, ["K"] * 10]
    assert {of.law for _, of in alone} == {"K supervised with planning"}
    assert lanes.shared(parameters(campaign, 0, 3 * (lanes.FEWEST - 1)))[0] == []
    drawn = loads("controller.repulsion.influence = { uniform = [0.15, 0.3] }\n")
    assert lanes.shared(parameters(drawn, 0, 10))[0] == []


def test_single_precision_is_the_same_table_whatever_the_blocks():
    """One run alone, or all in one block: the same bits; and an arm that stands is as in double precision."""
    campaign = loads(MIXED)
    columns = schema(campaign)
    whole = rows(campaign, 4, 6, columns=columns, precision="float32")
    parts = [rows(campaign, k, 1, columns=columns, precision="float32") for k in range(4, 10)]
    assert whole.tobytes() == np.concatenate(parts).tobytes()
    double = rows(campaign, 4, 6, columns=columns)
    still = double["law"] == columns.labels["law"].index("still")
    assert whole[still].tobytes() == double[still].tobytes()
    assert np.abs(whole["least"] - double["least"]).max() < 1e-4  # m: 50 steps, each rounded at 1e-7
    assert whole[~still].tobytes() != double[~still].tobytes()
