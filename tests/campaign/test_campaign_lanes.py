"""Runs side by side: which go together, and that nobody can tell from the table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from elbowroom.avoidance.safety.lanes import Guard
from elbowroom.avoidance.settings import leaves
from elbowroom.campaign import arms, lanes, loads, parameters, rows, schema
from elbowroom.campaign.runs import row
from elbowroom.errors import ConfigError
from elbowroom.geometry.person import NAMES

MIXED = """
arm = "panda"
law = { each = ["K supervised", "K", "still"] }
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
    assert len(alone) == 8  # those of an arm that stands
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


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_same_table_where_the_laws_numbers_are_drawn(precision):
    """In a block, one by one, and alone again; where a camera is late the arm itself makes the first cycles."""
    campaign = loads(
        'arm = "scara"\nlaw = { each = ["K supervised", "K", "no waiting"] }\nduration = 0.8\nseed = 4\n'
        "sensor.latency = { choice = [0.05, 0.4] }\ncontroller.repulsion.influence = { uniform = [0.15, 0.6] }\n"
        "controller.attraction.kp = { uniform = [1.0, 4.0] }\n"
    )
    columns = schema(campaign)
    runs = parameters(campaign, 0, 30)
    assert [len(group) for group in lanes.shared(runs)[0]] == [10, 10, 10]
    found = rows(campaign, 0, 30, columns=columns, precision=precision)
    for again in (0, 29):
        alone = rows(campaign, again, 1, columns=columns, precision=precision)
        assert alone.tobytes() == found[again : again + 1].tobytes()
    alone = found[found["law"] == columns.labels["law"].index("K")]
    assert len(np.unique(alone["jerk"])) == 10  # each arm by its own numbers
    if precision == "float64":
        assert found.tobytes() == np.array([row(of, columns) for of in runs], dtype=columns.dtype).tobytes()


@pytest.mark.parametrize("law", ["K supervised", "F supervised"])
def test_what_a_law_is_set_to_is_in_its_gains_and_nowhere_else(law):
    """Every number of its settings: a supervised arm is given the same with another, but for the gains."""
    arm = arms.where("scara").arm
    known = arms.law_settings(arm, law=law[0])
    made, programs = {}, set()
    for name, value in leaves(known):
        changed = (("controller." + name, 0.97 * value or 0.05),)
        of = dataclasses.replace(parameters(loads(f'law = "{law}"\narm = "scara"\n'), 0, 1)[0], controller=changed)
        try:
            guard = Guard(arms.factory(of)(arm, 1, "camera"), [NAMES])
        except ConfigError:  # not a number that may be so
            continue
        if name in ("period", "smoothing.duration") or name.startswith("workspace"):
            assert arms.program(of) not in programs  # one that goes alone
            continue
        programs.add(arms.program(of))
        guard.born()
        made[name] = guard
        assert np.array_equal(arms.gains(of), guard.controller._gains)
    assert len(made) > 10
    assert len(programs) == 1
    first, *others = made.values()
    for guard in others:
        for one, other in zip(first.lasting, guard.lasting, strict=True):
            if one is not first.controller._gains:
                assert np.array_equal(one, other, equal_nan=True)


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
    for what, together in (
        ("controller.repulsion.influence = { uniform = [0.15, 0.3] }", 10),  # a number of the law
        ("controller.workspace.floor = { uniform = [-0.9, -0.8] }", 0),  # which the supervisor reads, too
        ("limits.human_speed = { uniform = [1.6, 2.0] }", 0),
    ):
        groups, alone = lanes.shared(parameters(loads(f"{what}\n"), 0, 10))
        assert sum(map(len, groups)) == together, what
        assert len(alone) == 10 - together
        assert lanes.shared(parameters(loads(f"{what}\n"), 0, 10), card=True)[0] == []


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
