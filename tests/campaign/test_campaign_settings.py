"""Files of campaigns: what they may say, and what is said of what they may not; draws that depend on nothing else."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from elbowroom.avoidance.checks import FieldError
from elbowroom.bench.encounters.scene import SEARCH, SensorSettings
from elbowroom.campaign import load, loads, parameters, parameters_of
from elbowroom.campaign.distributions import Choice, Integers, LogUniform, Normal, Uniform, distribution
from elbowroom.campaign.draws import scene_seed, uniforms
from elbowroom.errors import ConfigError

EXAMPLE = Path(__file__).parents[2] / "examples/campaign.toml"
EVEN = (np.arange(20_000) + 0.5) / 20_000


def drawn(draw):
    return np.array(draw.values(EVEN))


# ---- distributions


def test_every_distribution_has_its_quantiles():
    """Evenly spread numbers give the distribution itself, to the width of their spacing."""
    for draw, cdf in (
        (Uniform(2.0, 5.0), lambda x: (x - 2) / 3),
        (LogUniform(0.01, 1.0), lambda x: np.log(x / 0.01) / math.log(100)),
    ):
        assert np.abs(cdf(drawn(draw)) - EVEN).max() < 1e-12  # rounding
    stats = pytest.importorskip("scipy.stats")
    found = drawn(Normal(1.0, 0.5, 0.8, 3.0))
    wanted = stats.truncnorm(-0.4, 4.0, loc=1.0, scale=0.5).cdf(found)
    assert np.abs(wanted - EVEN).max() < 1e-9  # scipy's truncated normal is good to some 1e-12
    assert np.bincount(drawn(Integers(1, 4))).tolist() == [0, 5000, 5000, 5000, 5000]
    words = drawn(Choice(("a", "b", "c"), (1.0, 0.0, 3.0))).tolist()
    assert (words.count("a"), words.count("b"), words.count("c")) == (5000, 0, 15000)


@pytest.mark.parametrize(
    "draw", [Uniform(-1.0, 2.0), LogUniform(1e-3, 0.3), Normal(0.0, 1.0, -9.0, 9.0), Integers(0, 6)]
)
def test_no_draw_leaves_its_bounds(draw):
    ends = np.array([0.0, np.nextafter(1.0, 0.0)])
    low, high = draw.values(ends)
    assert draw.low <= low < high <= draw.high


@pytest.mark.parametrize(
    "value, said",
    [
        ({"choice": []}, "x.choice: expected a list of at least one value"),
        ({"choice": [1, "a"]}, "expected values of one kind"),
        ({"choice": [1, 1]}, "expected values that differ"),
        ({"choice": [1, 2], "weights": [1]}, "x.weights: expected 2 numbers >= 0"),
        ({"choice": [1, 2], "weights": [0, 0]}, "not all of them 0"),
        ({"choice": [1, 2], "wieghts": [1, 1]}, "did you mean weights?"),
        ({"uniform": [2, 1]}, "x.uniform: expected two numbers, the least and the most"),
        ({"uniform": [1, math.inf]}, "x.uniform[1]: expected a finite number"),
        ({"loguniform": [0, 1]}, "expected two numbers > 0"),
        ({"normal": [0, 1]}, "x.bounds: expected two numbers"),
        ({"normal": [0, 0], "bounds": [0, 1]}, "expected a standard deviation > 0"),
        ({"normal": [0, 1], "bounds": [50, 60]}, "expected bounds near the mean, 0"),
        ({"integers": [1.5, 3]}, "expected two whole numbers"),
        ({"integers": [1, 3], "uniform": [1, 3]}, "expected one of choice, each, uniform"),
        ({"weights": [1]}, "expected one of choice, each, uniform"),
        (None, "expected a finite number, a word, true or false, or a distribution"),
    ],
)
def test_a_distribution_that_means_nothing_is_refused(value, said):
    with pytest.raises(FieldError) as caught:
        distribution(value, "x")
    assert said in str(caught.value)


# ---- files


def test_the_example_is_a_campaign():
    found = load(EXAMPLE)
    assert found.arms == ("panda", "ur5e")
    assert found.paired == 2
    assert {"sensor.noise", "limb_speed", "limits.human_speed", "controller.repulsion.influence"} <= set(found.drawn)
    assert "limits.sensor.noise" not in found.drawn
    assert loads(found.text, EXAMPLE.parent, "again") == found


def test_a_file_that_says_nothing_has_the_defaults_of_encounters():
    of = parameters_of(loads(""), 0)
    assert (of.arm, of.law, of.people, of.duration, of.limb_speed) == ("panda", "K supervised", 1, 10.0, 2.9)
    assert of.sensor == SensorSettings()
    assert of.limits == of.controller == of.drawn == ()


@pytest.mark.parametrize(
    "text, said",
    [
        ("sede = 1", "x.toml, line 1: sede: unknown key; did you mean seed?"),
        ("seed = -1", "x.toml, line 1: seed: expected a whole number from 0 to 1048575; got -1"),
        ('\narm = "pnada"', "x.toml, line 2: arm: expected an arm of the catalogue"),
        ('arm = "pnada"', "did you mean panda?"),
        ('arm = "no.urdf"', "arm: expected the file of an arm; there is none at"),
        ("arm = { uniform = [1, 2] }", "arm: expected a name, a choice of names"),
        ('law = "K supervisd"', "did you mean k-supervised"),
        ('law = { each = ["K", "k"] }', "law: expected values that differ"),
        ("people = 0", "people: expected whole numbers from 1 to 8"),
        ("people = { uniform = [1, 2] }", "people: expected whole numbers"),
        ("duration = { uniform = [0, 2] }", "duration: expected numbers from 0.1 to 3600 (s)"),
        ("limb_speed = { each = [1, 2] }", "`each` is for arm and law alone"),
        ("title = 3", "title: expected one line of text"),
        ("[sensor]\nnoise = 0.01\nlatensy = 0.1", "x.toml, line 3: sensor.latensy: unknown key; did you mean latency"),
        ("[sensor]\nnoise = { uniform = [0, 2] }", "x.toml, line 2: sensor.noise: expected a number >= 0 and <= 1 (m)"),
        ("sensor.frame_period = { uniform = [0.02, 0.05] }", "expected a multiple of the control period, 0.01 s"),
        ("sensor.latency = [0.1, 0.05]", "sensor.latency: expected two numbers >= 0 (s), the least and the most"),
        (
            "[sensor]\nnoise = { unifrom = [0, 0.1] }",
            "line 2: sensor.noise: unknown distribution 'unifrom'; did you mean uni",
        ),
        ("sensor = 3", "sensor: expected a table; got 3"),
        ("[limits]\n[limits.sensor]\nnose = 1", "x.toml, line 3: limits.sensor.nose: unknown key; did you mean noise"),
        ("limits.human_speed = { normal = [1, 1], bounds = [-1, 3] }", "line 1: limits.human_speed: expected a number"),
        ("limits.period = 0.01", "limits.period: cannot be set: it is 0.01 s in encounters"),
        ('controller.controller = "F"', "cannot be set: it is given by the law"),
        ('law = "K"\n[limits]\nhuman_speed = 2.0', "line 3: limits.human_speed: no law of this campaign has limits"),
        ('law = "CBF-QP"\ncontroller.damping = 0.1', "no law of this campaign has controller settings: CBF-QP"),
        ("tips = { panda = 3 }", "tips: expected names of links by arm"),
        ('tips.ur5e = "x"', "tips.ur5e: expected an arm of this campaign"),
        ("a = [", "x.toml: expected TOML;"),
    ],
)
def test_what_a_file_may_not_say_is_named_with_its_line(text, said):
    with pytest.raises(ConfigError) as caught:
        loads(text, Path(), "x.toml")
    assert said in str(caught.value)


def test_two_drawn_settings_that_do_not_go_together_are_found_before_anything_runs():
    """Each end alone is allowed beside the other's first, and some pairs are not."""
    both = """[limits]
    max_human_speed = { choice = [5.0, 1.0] }
    human_speed = { choice = [0.5, 3.0] }"""
    with pytest.raises(ConfigError, match=r"limits\.max_human_speed: expected a number >= 3"):
        loads(both)


# ---- draws


def test_a_run_is_a_function_of_campaign_and_number_alone():
    campaign = load(EXAMPLE)
    whole = parameters(campaign, 0, 40)
    assert [parameters_of(campaign, k) for k in range(40)] == whole
    assert parameters(campaign, 7, 13) == whole[7:20]
    assert [of.number for of in whole] == list(range(40))
    assert parameters(campaign, 0, 0) == []


def test_another_seed_gives_other_draws_and_one_more_parameter_changes_no_other():
    few, more = (
        loads("sensor.noise = { uniform = [0, 1] }"),
        loads(
            "limb_speed = { uniform = [1, 2] }\nsensor.noise = { uniform = [0, 1] }\n"
            "sensor.gap_every = { uniform = [1, 9] }"
        ),
    )
    noise = [of.sensor.noise for of in parameters(few, 0, 50)]
    assert [of.sensor.noise for of in parameters(more, 0, 50)] == noise
    assert not set(noise) & {of.sensor.noise for of in parameters(few.with_seed(1), 0, 50)}
    assert len({of.limb_speed for of in parameters(more, 0, 50)}) == 50


def test_draws_of_neighbours_are_independent():
    """Runs, parameters and seeds one apart: correlations of 20,000 even numbers, below 4 standard deviations."""
    first = uniforms(1, "sensor.noise", 0, 20_000)
    assert first.min() >= 0.0
    assert first.max() < 1.0
    assert abs(first.mean() - 0.5) < 4 / math.sqrt(12 * 20_000)
    others = (
        uniforms(1, "sensor.noise", 1, 20_000),
        uniforms(1, "limb_speed", 0, 20_000),
        uniforms(2, "sensor.noise", 0, 20_000),
    )
    for other in others:
        assert abs(np.corrcoef(first, other)[0, 1]) < 4 / math.sqrt(20_000)


def test_each_gives_every_arm_and_law_the_same_scene():
    campaign = loads("""
        arm = { each = ["panda", "ur5e"] }
        law = { each = ["K", "F", "still"] }
        sensor.noise = { uniform = [0, 1] }
    """)
    runs = parameters(campaign, 0, 12)
    assert [(of.arm, of.law) for of in runs] == [(a, k) for a in ("panda", "ur5e") for k in ("K", "F", "still")] * 2
    assert [of.seed for of in runs] == [scene_seed(0, 0)] * 6 + [scene_seed(0, 1)] * 6
    assert len({of.sensor for of in runs[:6]}) == len({of.sensor for of in runs[6:]}) == 1
    assert runs[0].sensor != runs[6].sensor


def test_seeds_of_scenes_are_of_no_search_and_of_one_campaign_alone():
    assert scene_seed(0, 0) > 1000 * SEARCH
    assert scene_seed(0, 2**32 - 1) < scene_seed(1, 0)
    assert scene_seed(2**20 - 1, 2**32 - 1) < 2**53  # a double holds it: JSON, a browser


def test_a_number_for_latency_is_that_of_the_run():
    of = parameters_of(loads("sensor.latency = { uniform = [0.03, 0.1] }"), 5)
    assert of.sensor.latency == (dict(of.drawn)["sensor.latency"],) * 2
    assert parameters_of(loads("sensor.latency = [0.01, 0.02]"), 0).sensor.latency == (0.01, 0.02)
