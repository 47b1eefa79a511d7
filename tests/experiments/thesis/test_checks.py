"""Every claim as a check, with made-up runs: met by those that show it, and not by those that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elbowroom.experiments.thesis.checks import CLAIMS, Check, checks, counted, numbers, variant_words
from elbowroom.experiments.thesis.experiment import ARM
from elbowroom.experiments.thesis.outcome import Outcome


def run(test, variant="printed", plant="kinematic", robot=ARM, thesis=None, table=None, **metrics):
    return Outcome(test, None, variant, plant, robot, "", metrics, thesis or {}, table or {})


def verdicts(*runs, about="", robot=ARM):
    """Whether the checks with these words are met."""
    return [check.met for check in checks(runs, robot) if about in check.text]


@pytest.mark.parametrize(
    ("wanted", "without"),
    [
        ("printed", "no_filter"),
        ("noise_filter", "noise_no_filter"),
        ("confined_filter", "confined_no_filter"),
    ],
)
def test_the_filter(wanted, without):
    def found(jerk, raw):
        a, b = run(1, wanted, rms_jerk=jerk), run(1, without, rms_jerk=raw)
        return verdicts(a, b, about="makes the motion smoother")

    assert found(1.0, 2.0) == [True]
    assert found(2.0, 1.0) == [False]
    assert found(None, 1.0) == [False]
    assert found(0.0, 0.0) == [False]
    assert verdicts(run(1, wanted, rms_jerk=1.0), about="smoother") == []  # nothing to compare with


def test_the_filter_in_a_confined_space():
    def found(calm, raw, wanted="confined_filter", without="confined_no_filter"):
        return verdicts(run(1, wanted, vibration=calm), run(1, without, vibration=raw), about="takes out vibration")

    assert found(0.04, 0.1) == [True]
    assert found(0.05, 0.1) == found(0.06, 0.1) == [False]  # half is not enough
    assert found(None, 0.1) == found(0.1, None) == found(0.0, 0.0) == [False]
    assert found(0.04, 0.1, "printed", "no_filter") == []  # of a walk nothing of the kind is said


@pytest.mark.parametrize("test", [1, 2, 3, 4])
def test_the_return_to_rest(test):
    assert verdicts(run(test, return_error=0.01), about="comes back") == [True]
    assert verdicts(run(test, return_error=0.03), about="comes back") == [False]
    assert verdicts(run(test, return_error=None), about="comes back") == [False]


def walks(*off, far=2.0):
    """A coworker who comes to 1 m and goes to `far` again and again; `off` is the tool's error while they are away."""
    distance = np.array([far, 1.5, 1.0, 1.5] * len(off) + [far, 1.5, 1.0])
    tool = np.where(distance == 1.0, 0.5, 0.0)
    tool[4 : 4 * len(off) + 1 : 4] = off
    return {"t": np.arange(len(distance)), "distance_axes": distance, "tool_x": 0.3 + tool} | dict.fromkeys(
        ("tool_y", "tool_z"), np.zeros(len(distance))
    )


@pytest.mark.parametrize("test", [1, 2, 3, 4])
def test_the_return_to_rest_in_every_period(test):
    """The end is one of the times that the coworker is away, not the only one."""

    def found(*off, far=2.0, last=0.0):
        return verdicts(run(test, return_error=last, table=walks(*off, far=far)), about="comes back")

    assert found(0.0, 0.01, 0.0) == [True]
    assert found(0.03, 0.0, 0.0) == found(0.0, 0.03, 0.0) == found(0.0, 0.0, -0.03) == [False]
    assert found(0.0, 0.0, last=0.03) == [False]
    assert found(0.03, 0.03, far=1.4) == [True]  # they never were away
    told = [check.value for check in checks([run(test, return_error=0.0, table=walks(0.012, 0.034))], ARM)]
    assert told == ["34 mm away at most"]


@pytest.mark.parametrize("table", [{}, {name: column[:2] for name, column in walks(0.0).items()}])
def test_the_return_to_rest_of_a_run_of_a_moment(table):
    assert verdicts(run(1, return_error=0.01, table=table), about="comes back") == [True]
    assert verdicts(run(1, return_error=0.03, table=table), about="comes back") == [False]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("min_distance", "a smaller least distance"),
        ("peak_x_speed", "a smaller peak speed"),
        ("rms_jerk", "a smoother velocity, a sensor without error"),
    ],
)
def test_half_the_influence(name, what):
    def found(one, two):
        both = dict.fromkeys(("min_distance", "peak_x_speed", "rms_jerk"), 1.0)
        runs = run(1, **both | {name: one}), run(2, **dict.fromkeys(both, 0.5) | {name: two})
        own = verdicts(*runs, about=f"half the influence, {what}")
        assert len(own) == 1
        return own + sorted(verdicts(*runs, about="half the influence"))

    assert found(0.7, 0.6) == [True, True, True, True]
    assert found(0.6, 0.7) == found(0.6, 0.6) == found(0.6, None) == [False, False, True, True]
    assert verdicts(run(2, **{name: 0.5}), about="half") == verdicts(run(1, **{name: 0.5}), about="half") == []


def test_half_the_influence_with_a_sensor_that_errs():
    def found(one, two):
        runs = run(1, "noise_filter", rms_jerk=one), run(2, "noise_filter", rms_jerk=two)
        return verdicts(run(1), run(2), *runs, about="a smoother velocity, a sensor with 1 cm of noise")

    assert found(3.6, 3.2) == [True]
    assert found(3.2, 3.6) == found(3.2, 3.2) == found(None, 3.2) == [False]
    assert verdicts(run(1), run(2), run(1, "noise_filter", rms_jerk=1.0), about="noise") == []


def test_the_force_controller_is_nearer_in_x():
    def found(k, f):
        return verdicts(run(1, min_x_difference=k), run(4, min_x_difference=f), about="nearer in x than K")

    assert found(0.82, 0.70) == [True]
    assert found(0.731, 0.733) == found(0.7, 0.7) == [False]
    assert found(None, 0.7) == found(0.7, None) == [False]
    assert verdicts(run(4, min_x_difference=0.7), about="nearer") == []


def test_axis_1():
    """Mainly is more than half of all: to be the first of many is not enough."""
    assert verdicts(run(3, joint_travel=[1.5, 0.8, 0.6]), about="axis 1") == [True]
    assert verdicts(run(3, joint_travel=[1.5, 0.8, 0.7]), about="axis 1") == [False]  # half
    assert verdicts(run(3, joint_travel=[1.5, 1.4, 1.2]), about="axis 1") == [False]
    (check,) = checks([run(3, joint_travel=[4.3, 3.0, 2.7])], ARM)[1:]
    assert check.value == "43 % of all joints' travel; the next joint 30 %"
    assert verdicts(run(3, joint_travel=[0.0, 0.0, 0.0]), about="axis 1") == [False]  # nothing moved


def test_light_joints():
    def found(k, f, robot=ARM):
        runs = run(1, robot=robot, peak_joint_speeds=k), run(4, robot=robot, peak_joint_speeds=f)
        return verdicts(*runs, about="low inertia", robot=robot)

    assert found([1.0, 1.0, 1.0], [1.0, 1.0, 2.0]) == [True]
    assert found([1.0, 1.0, 2.0], [1.0, 1.0, 1.0]) == [False]
    assert found([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]) == [False]
    assert found([1.0, 1.0], [1.0, 2.0], robot="planar2") == []  # of another arm nothing is known
    assert found([1.0, 1.0, 1.0], [1.0, 1.0, 2.0], robot="panda") == []


@pytest.mark.parametrize("variant", ["printed", "mended", "supervised"])
def test_the_cell(variant):
    def found(**metrics):
        return verdicts(run(5, variant, **metrics), about=f"does its task without contact, {variant_words(variant)}")

    assert found(cycles=1, contacts=0) == [True]
    assert found(cycles=0, contacts=0) == [False]
    assert found(cycles=7, contacts=1) == [False]
    assert found() == [False]


def test_the_cell_says_what_it_found():
    (check,) = checks([run(5, cycles=0, contacts=0, limit_hits=1)], ARM)[:1]
    assert check.value == "0 task cycles, 0 contacts, 1 joint ends hit"
    assert (variant_words("printed"), variant_words("improved")) == ("as printed", "as improved")
    assert variant_words("slow_down_mended") == "slow down mended"


def test_the_cell_without_avoidance():
    """If that touches nobody, then the cell's own run shows nothing."""
    touches = {"about": "without avoidance touches"}
    assert verdicts(run(5, "blind", cycles=7, contacts=2), **touches) == [True]
    assert verdicts(run(5, "blind", cycles=7, contacts=0), **touches) == [False]
    assert verdicts(run(5, "blind"), **touches) == [False]
    assert verdicts(run(5, cycles=7, contacts=2), **touches) == []
    assert verdicts(run(5, "blind", cycles=7, contacts=0), about="does its task") == []


@pytest.mark.parametrize("test", range(1, 7))
def test_no_joint_runs_into_its_end(test):
    assert verdicts(run(test, limit_hits=0), about="into its end") == [True]
    assert verdicts(run(test, limit_hits=1), about="into its end") == [False]
    assert verdicts(run(test), about="into its end") == []  # nobody looked
    runs = run(test, limit_hits=0), run(test, "fast", limit_hits=3), run(test, "improved", limit_hits=2)
    assert verdicts(*runs, about="into its end") == [False]  # one result, over every variant
    assert [check.value for check in checks(runs, ARM) if "into" in check.text] == [
        "fast: 3 times, as improved: 2 times"
    ]
    assert [check.value for check in checks(runs[:1], ARM) if "into" in check.text] == ["none of 1 runs"]
    assert verdicts(run(7, "scaling", limit_hits=1), about="into its end") == []  # that one is about its limit


def test_a_count_of_joint_ends_that_is_not_there_is_not_none():
    assert verdicts(run(1, limit_hits=None), about="into its end") == [False]
    assert verdicts(run(1, limit_hits=0), run(1, "mended", limit_hits=None), about="into its end") == [False]


@pytest.mark.parametrize("variant", ["printed", "mended"])
def test_the_trap(variant):
    def found(swing=0.05, *, reached=False, frequency=0.5):
        metrics = {"oscillation_amplitude": swing, "oscillation_frequency": frequency, "goal_error": 0.3}
        about = f"trapped and swings along x, {variant_words(variant)}"
        return verdicts(run(6, variant, reached=reached, **metrics), about=about)

    assert found() == [True]
    assert found(0.005) == [False]
    assert found(reached=True) == [False]
    assert found(None, frequency=None) == [False]
    alone = {"about": "without the obstacle"}
    assert verdicts(run(6, "alone", reached=True, goal_error=0.0), **alone) == [True]
    assert verdicts(run(6, "alone", reached=False, goal_error=0.3), **alone) == [False]


@pytest.mark.parametrize(("prefix", "words"), [("", "as printed"), ("mended_", "mended")])
def test_the_joint_limit(prefix, words):
    def found(low=8.0, held=10.5, scaled=12.4, rough=3.0, smooth=1.0):
        runs = (
            run(7, f"{prefix}weak_potential", min_joint3_deg=low),
            run(7, f"{prefix}strong_potential", min_joint3_deg=held, rms_jerk=rough),
            run(7, f"{prefix}scaling", min_joint3_deg=scaled, rms_jerk=smooth),
        )
        assert all(f", {words} (kinematic)" in check.text for check in checks(runs, ARM))
        return verdicts(*runs)

    assert found() == [True] * 5
    assert found(low=10.5) == [False, True, True, True, True]
    assert found(held=9.9) == [True, False, True, True, True]
    assert found(held=13.5) == [True, False, True, False, True]
    assert found(scaled=9.0) == [True, True, False, False, True]
    assert found(scaled=10.2) == [True, True, True, False, True]
    assert found(smooth=4.0) == [True, True, True, True, False]
    assert found(*[None] * 5) == [False] * 5
    assert verdicts(run(7, f"{prefix}scaling", min_joint3_deg=12.0)) == []


def test_mujoco_beside_the_kinematic_plant():
    def found(distance, contacts=0, test=1):
        runs = run(test, min_distance=0.7), run(test, plant="mujoco", min_distance=distance, contacts=contacts)
        return verdicts(*runs, about="MuJoCo")

    assert found(0.74) == [True, True]
    assert found(0.76) == [False, True]
    assert found(None) == [False, True]
    assert found(0.7, contacts=1) == [True, False]
    assert found(0.7, contacts=1, test=5) == [False]  # no distance of test 5 is promised
    assert verdicts(run(1, min_distance=0.7), about="MuJoCo") == []


@pytest.mark.parametrize("variant", ["improved", "supervised"])
def test_other_arms(variant):
    well = {"contacts": 0, "limit_hits": 0, "min_self_distance": 0.1, "min_height": 0.2}

    def found(**changes):
        one = run(2, variant, robot="panda", **well | changes)
        return verdicts(run(1), one, about="a motion that panda can make")

    assert found() == [True]
    assert found(contacts=2) == found(contacts=None) == [False]
    assert found(limit_hits=1) == found(limit_hits=None) == [False]
    assert found(min_self_distance=-0.01) == [False]
    assert found(min_height=-0.01) == [False]
    assert found(min_self_distance=None) == [True]  # an arm without links that could meet
    assert verdicts(run(2, variant, limit_hits=1, min_height=-1.0), about="a motion") == []  # its own arm has others
    assert verdicts(run(2, robot="panda", **well), about="a motion") == []  # as printed nothing is claimed


def test_every_plant_is_checked_on_its_own_and_tests_come_in_order():
    runs = [run(t, plant=p, return_error=e) for t in (3, 1) for p, e in (("kinematic", 0.0), ("rigid", 1.0))]
    found = [check for check in checks(runs, ARM) if "comes back" in check.text]
    assert [(check.test, check.met) for check in found] == [(1, True), (1, False), (3, True), (3, False)]
    assert [check.text[-11:] for check in found][:2] == ["(kinematic)", "ime (rigid)"]


@pytest.mark.parametrize("variant", ["supervised", "improved"])
def test_supervised_runs_prove_nothing_of_the_thesis(variant):
    """What the supervisor did is not the controller's; but that a joint hit its end is told of every run."""
    metrics = {"return_error": 0.0, "rms_jerk": 0.0, "min_distance": 0.5, "contacts": 0, "cycles": 1, "limit_hits": 0}
    found = checks([run(t, variant, **metrics) for t in range(1, 8)], ARM)
    cell = ["the cell does its task without contact, supervised (kinematic)"] if variant == "supervised" else []
    assert [check.text for check in found if "into its end" not in check.text] == cell
    assert len(found) == 6 + len(cell)
    assert run(1, variant).supervised
    assert not run(1, "printed").supervised


def test_a_result_that_was_looked_at_on_several_plants_counts_once():
    def result(text, met=True, test=1):
        return Check(test, text, "", "", met)

    every = [result(f"it holds ({plant})") for plant in ("kinematic", "rigid", "mujoco")]
    assert counted([]) == (0, 0)
    assert counted(every) == (1, 1)
    assert counted([*every, result("it holds (rigid)", test=2)]) == (2, 2)  # another test's
    assert counted([*every[:2], result("it holds (mujoco)", met=False)]) == (0, 1)  # on all of them or not at all
    assert counted([result("it holds (mujoco)", met=False), *every[:2]]) == (0, 1)
    assert counted([*every, result("it swings (kinematic)", met=False), result("without a plant")]) == (2, 3)
    runs = [run(1, plant=plant, thesis={"min_distance": 0.75}, min_distance=0.7) for plant in ("kinematic", "rigid")]
    assert len(numbers(runs, ARM)) == 2
    assert counted(numbers(runs, ARM)) == (1, 1)


def test_every_claim_is_checked_here():
    assert len(CLAIMS) == 10


@pytest.mark.parametrize(
    ("name", "wanted", "least", "most"),
    [
        ("min_distance", 0.75, 0.638, 0.862),
        ("peak_x_speed", 0.56, 0.421, 0.699),
        ("min_joint3_deg", 12.4, 10.541, 14.259),
    ],
)
def test_numbers_have_their_tolerance(name, wanted, least, most):
    def met(value):
        return [check.met for check in numbers([run(1, thesis={name: wanted}, **{name: value})], ARM)]

    assert met(least) == met(most) == met(wanted) == [True]
    assert met(least - 0.002) == met(most + 0.002) == [False]
    assert met(None) == met(math.nan) == [False]  # a number that is not there is not met


def test_numbers_without_a_tolerance_or_of_another_arm_are_not_judged():
    assert numbers([run(1, thesis={"rms_jerk": 3.0}, rms_jerk=3.0)], ARM) == []
    assert numbers([run(1, robot="panda", thesis={"min_distance": 0.75}, min_distance=0.1)], ARM) == []
    assert len(numbers([run(1, robot="panda", thesis={"min_distance": 0.75}, min_distance=0.1)], "panda")) == 1
