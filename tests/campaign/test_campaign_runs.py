"""A run of a campaign is an encounter: the same figures, and what is said of its contacts is what happened."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from elbowroom.avoidance import Limits
from elbowroom.bench.encounters import run as loop
from elbowroom.bench.encounters.methods import METHODS, StandingArm, supervised
from elbowroom.bench.encounters.scene import PERIOD, SensorSettings, frames, place, scene
from elbowroom.campaign import loads, parameters, parameters_of, replay, rows, schema
from elbowroom.campaign.draws import scene_seed
from elbowroom.campaign.runs import contact, factory
from elbowroom.errors import ElbowroomError, UnknownNameError
from elbowroom.geometry import Capsule, distance
from elbowroom.geometry.person import NAMES
from elbowroom.geometry.shapes import RADIUS, A, B

SHORT = 'law = { each = ["K supervised", "still"] }\nduration = 2.0\nsensor.noise = { uniform = [0.0, 0.02] }\n'


@pytest.fixture(scope="module")
def panda():
    return place("panda")


# ---- the sensor


def test_the_sensor_as_it_was_is_the_default(panda):
    told = scene(panda, 3, duration=2.0)
    named, made = frames(told, "camera"), frames(told, SensorSettings())
    for name in ("stamps", "arrivals", "rows"):
        assert np.array_equal(getattr(named, name), getattr(made, name))
    assert np.array_equal(frames(told, SensorSettings(kind="ideal")).rows, told.rows)
    with pytest.raises(UnknownNameError, match="expected camera or ideal; got 'lidar'"):
        frames(told, "lidar")


def test_each_fault_of_the_sensor_changes_that_alone(panda):
    told = scene(panda, 3, duration=2.0)
    plain = frames(told, SensorSettings())
    late = frames(told, SensorSettings(latency=(0.25, 0.25)))
    assert np.array_equal(late.rows, plain.rows)
    assert np.abs(late.arrivals - late.stamps - 0.25).max() < 1e-12  # rounding of a sum
    never = frames(told, SensorSettings(gap_every=0.0))
    assert np.allclose(np.diff(never.stamps), 0.02, atol=1e-12)
    rare = frames(told, SensorSettings(gap_every=0.0, frame_period=0.05, noise=0.0))
    assert np.allclose(np.diff(rare.stamps), 0.05, atol=1e-12)
    at = np.round(rare.stamps / PERIOD).astype(int)
    assert np.allclose(rare.rows[at > 0][..., A], told.rows[at[at > 0]][..., A], atol=1e-12)
    blind = frames(told, SensorSettings(gap=(0.5, 0.5), gap_every=0.3))
    assert np.diff(blind.stamps).max() > 0.45


# ---- rows


def test_a_row_has_the_figures_of_the_encounter(panda):
    campaign = loads(SHORT)
    found, columns = rows(campaign, 0, 4), schema(campaign)
    assert found.dtype == columns.dtype
    assert found["run"].tolist() == [0, 1, 2, 3]
    for of, row in zip(parameters(campaign, 0, 4), found, strict=True):
        told = scene(panda, of.seed, duration=2.0)
        seen = frames(told, SensorSettings(noise=dict(of.drawn)["sensor.noise"]))
        wanted = loop.measured(told, loop.run(told, METHODS[of.law], seen), 0)
        for name in ("touched", "approach", "least", "itself", "floor", "ends", "goals", "stops", "jerk", "fastest"):
            assert row[name] == getattr(wanted, name), name
        assert row["seed"] == of.seed == scene_seed(0, of.number // 2)
        assert columns.labels["law"][row["law"]] == of.law
        assert row["sensor.noise"] == of.sensor.noise


def test_rows_do_not_depend_on_their_block_and_a_run_repeats_alone():
    campaign = loads(SHORT)
    whole = rows(campaign, 0, 6)
    parts = np.concatenate([rows(campaign, 0, 1), rows(campaign, 1, 4), rows(campaign, 5, 1)])
    assert whole.tobytes() == parts.tobytes()
    one = replay(parameters_of(campaign, 4))
    assert loop.measured(one.scene, one.track, 0).least == whole["least"][4]


def test_limits_and_settings_of_the_law_reach_it(panda):
    of = parameters_of(
        loads("limits.human_speed = 2.5\nlimits.sensor.noise = 0.02\ncontroller.repulsion.influence = 0.31"), 0
    )
    guard = factory(of)(panda.arm, 1, "camera")
    assert guard.limits.human_speed == 2.5
    assert guard.limits.sensor == replace(Limits().sensor, noise=0.02)
    assert guard.controller.config.repulsion.influence == 0.31
    plain = supervised(panda.arm, 1, "camera").controller.config
    assert guard.controller.config == replace(plain, repulsion=replace(plain.repulsion, influence=0.31))
    curve = parameters_of(loads('law = "v_h 2"\nlimits.stop_distance = 0.05'), 0)
    limits = factory(curve)(panda.arm, 1, "camera").limits
    assert (limits.human_speed, limits.stop_distance) == (2.0, 0.05)
    mixed = loads('law = { each = ["still", "K supervised"] }\nlimits.human_speed = 2.5')
    assert isinstance(factory(parameters_of(mixed, 0))(panda.arm, 1, "camera"), StandingArm)


def test_an_error_names_its_run():
    wrong = loads('arm = "ur5e"\nlimits.velocities = [1.0, 2.0]')
    with pytest.raises(ElbowroomError, match=r"^run 0 \(ur5e, K supervised\): "):
        rows(wrong, 0, 1)


# ---- contacts


def pairs_of(told, track):
    """(T + 1, R, C) distances of shapes one by one, by `geometry.distance`."""
    where = told.place

    def shapes(table):
        return [Capsule(row[A], row[B], float(row[RADIUS])) for row in table]

    return np.array(
        [
            [[distance(x, y).distance for y in shapes(people.reshape(-1, 13))] for x in shapes(own[where.moving])]
            for own, people in zip(where.body.kernel(track.q, np.zeros_like(track.q)), told.rows, strict=True)
        ]
    )


def touched_run(law):
    """The first run of the law in which a person is touched, but not from the beginning."""
    campaign = loads(f'law = "{law}"\nduration = 3.0')
    for of in parameters(campaign, 0, 200):
        one = replay(of)
        apart = loop.distances(one.scene, one.track)
        if (apart.distance < 0).any() and not (apart.distance[0] < 0).any():
            return one, apart
    raise AssertionError("nobody was touched")


def test_a_contact_of_an_arm_that_stands_is_the_persons_alone():
    one, apart = touched_run("still")
    found = contact(one.scene, apart)
    assert found.standing
    assert found.own == 0.0
    assert found.speed > 0.0  # the person came
    gaps = pairs_of(one.scene, one.track)
    assert np.allclose(gaps.reshape(len(gaps), -1), apart.distance, atol=1e-9)  # two ways to compute, metres
    begins = (gaps[1:] < 0) & (gaps[:-1] >= 0)
    k = gaps.shape[2]
    speeds = {}
    for t, i, j in zip(*np.nonzero(begins), strict=True):  # the speed by differences, which a pair's speed is between
        speeds[NAMES[j % k]] = max(speeds.get(NAMES[j % k], 0.0), (gaps[t, i, j] - gaps[t + 1, i, j]) / PERIOD)
    part = max(speeds, key=speeds.get)
    assert found.part == part
    assert found.speed == pytest.approx(speeds[part], abs=0.15)  # m/s: a hand accelerates by up to 15 m/s^2 in 10 ms


def test_a_contact_of_an_arm_that_moves_is_not_standing():
    one, apart = touched_run("blind")
    found = contact(one.scene, apart)
    assert not found.standing
    assert found.link in one.scene.place.body.names
    assert math.isfinite(found.own)


def test_without_contact_nothing_is_said_of_one(panda):
    told = scene(panda, 0, duration=0.2)
    apart = loop.Distances(*(np.ones((21, 3)) for _ in range(3)))
    found = contact(told, apart)
    assert math.isnan(found.speed)
    assert math.isnan(found.own)
    assert (found.part, found.link, found.standing) == ("", "", False)
