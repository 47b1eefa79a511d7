"""What a page may choose: clamped, checked, and never more than that."""

from __future__ import annotations

import math

import pytest

from elbowroom.errors import ConfigError
from elbowroom.viewer.setup import RANGES, SCENARIOS, Setup


@pytest.mark.parametrize("name", RANGES)
def test_numbers_are_held_within_their_ranges(name):
    low, high = RANGES[name].low, RANGES[name].high
    assert getattr(Setup().changed(name, 1e9), name) == high
    assert getattr(Setup().changed(name, -1e9), name) == low
    middle = 0.5 * (low + high)
    assert getattr(Setup().changed(name, middle), name) == middle


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None, True, [1.0]])
def test_what_is_no_number_is_refused(name, bad):
    with pytest.raises(ConfigError, match=name):
        Setup().changed(name, bad)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("scenario", "moon"),
        ("controller", "X"),
        ("robot", "../etc/passwd"),
        ("robot", "<b>"),
        ("__class__", 1),
        ("motion", "/etc/passwd"),
    ],
)
def test_names_that_are_not_known_are_refused(name, bad):
    with pytest.raises(ConfigError):
        Setup().changed(name, bad)


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "recorded"])
def test_every_scenario_has_a_scene_and_takes_the_settings(scenario):
    setup = Setup(scenario).changed("influence", 0.8).changed("filter", 0.2)
    scene = setup.scene()
    assert scene.controller.repulsion.influence == 0.8
    assert scene.controller.smoothing.duration == 0.2
    assert scene.people


def test_another_scenario_has_settings_of_its_own():
    setup = Setup(robot="ur5e", speed=2.0).changed("gain", 0.9).changed("scenario", "test 1")
    assert (setup.gain, setup.robot, setup.speed) == (None, "ur5e", 2.0)


def test_a_recording_must_be_given():
    with pytest.raises(ConfigError, match="--motion"):
        Setup("recorded").scene()
