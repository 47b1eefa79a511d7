"""What a page may choose: clamped, checked, and never more than that."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from elbowroom.errors import ConfigError
from elbowroom.model import catalogue
from elbowroom.viewer.session.setup import RANGES, SCENARIOS, Setup, chosen, name_of, named, scenario_named


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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_has_a_scene_and_takes_the_settings(scenario, take):
    setup = chosen("puma560", scenario=scenario, motion=str(take)).changed("influence", 0.8).changed("filter", 0.2)
    scene = setup.scene()
    assert scene.controller.repulsion.influence == 0.8
    assert scene.controller.smoothing.duration == 0.2
    assert scene.people
    assert scene.reset_after == 0.0  # nobody but the person at the page ends a stop


@pytest.mark.parametrize("number", range(1, 8))
def test_a_test_is_shown_with_its_laws_mended(number):
    """As printed an arm may be caught at an end of a joint, and whoever plays with it could not free it."""
    law = chosen("puma560", scenario=f"test {number}").scene().controller
    assert law.joint_limits.form == "mended"
    assert (law.repulsion.form, law.repulsion.max_strength) == ("mended", 2.8)
    assert law.repulsion.measure == "axis"


def test_another_scenario_has_settings_of_its_own():
    setup = Setup(robot="ur5e", speed=2.0).changed("gain", 0.9).changed("scenario", "test 1")
    assert (setup.gain, setup.robot, setup.speed) == (None, "ur5e", 2.0)


def test_a_recording_must_be_given():
    with pytest.raises(ConfigError, match="--motion"):
        Setup("recorded").scene()
    with pytest.raises(ConfigError, match=r"motion: expected a recording.*no such take\.csv"):
        chosen("panda", scenario="recorded", motion="no such take.csv")


@pytest.mark.parametrize(
    "said", ["test 1", "test1", "1", "Test-1", " TEST_1 ", "walk up to the arm", name_of("scenario", "test 1")]
)
def test_a_scenario_by_any_of_its_names(said):
    assert scenario_named(said) == "test 1"


@pytest.mark.parametrize("said", ["0", "8", "test", "11", "", "test 1 2"])
def test_a_scenario_that_does_not_exist_is_refused(said):
    with pytest.raises(ConfigError, match="scenario"):
        scenario_named(said)


def test_an_arm_of_a_file_is_known_by_its_bare_name(tmp_path):
    text = (Path(catalogue.__file__).parent / "catalogue" / "planar2.toml").read_text(encoding="utf-8")
    file = tmp_path / "mine.toml"
    file.write_text(text.replace('name = "planar2"', 'name = "mine"'), encoding="utf-8")
    setup = chosen(str(file), scenario="1")
    assert (setup.robot, setup.scenario, setup.arms[0]) == ("mine.toml", "test 1", "mine.toml")
    assert setup.scene().robot == str(file)
    other = setup.changed("robot", "ur5e")
    assert other.scene().robot == "ur5e"
    assert other.changed("scenario", "cell").changed("robot", "mine.toml").scene().robot == str(file)
    with pytest.raises(ConfigError, match="robot"):
        setup.changed("robot", str(file))  # a page knows names, not paths


def test_a_tip_is_for_urdf_files():
    with pytest.raises(ConfigError, match="tip"):
        chosen("panda", tip="hand")


def test_a_start_is_for_the_arm_that_it_was_given_with():
    setup = chosen("scara", start=(0.6, -1.2, 0.1, 0.0))
    assert setup.scene().start == (0.6, -1.2, 0.1, 0.0)
    assert setup.changed("robot", "panda").scene().start != (0.6, -1.2, 0.1, 0.0)
    assert setup.changed("scenario", "test 1").scene().start == (0.6, -1.2, 0.1, 0.0)


def test_every_scenario_has_a_name_of_its_own_and_tests_their_number():
    names = [name_of("scenario", each) for each in SCENARIOS]
    assert len(set(names)) == len(SCENARIOS)
    assert [named("scenario", each) for each in names] == list(SCENARIOS)
    for each, name in zip(SCENARIOS, names, strict=True):
        assert each not in ("cell", "recorded") or name != each
        assert not each.startswith("test") or name.endswith(f" ({each})")
    assert (name_of("controller", "K"), name_of("controller", "F")) == ("velocity (K)", "force (F)")
    assert name_of("robot", "panda") == named("robot", "panda") == "panda"


def test_a_touch_needs_mujoco(monkeypatch):
    assert "touch" in Setup().scenarios
    scene = Setup(scenario="touch").scene()
    assert scene.plant.kind == "mujoco"
    assert scene.limits.contact is not None
    monkeypatch.setattr("elbowroom.viewer.session.setup.find_spec", lambda name: None)
    assert "touch" not in Setup().scenarios
