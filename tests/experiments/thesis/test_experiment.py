"""The seven tests hold the thesis' numbers and show what it puts in words; and a run's file is its recording."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cache

import numpy as np
import pytest

from elbowroom.cell.recording.columns import columns
from elbowroom.cell.recording.table import read as read_recording
from elbowroom.cell.runner import mounted
from elbowroom.errors import ConfigError, ElbowroomError, RecordingError
from elbowroom.experiments.thesis.checks import checks, counted, numbers
from elbowroom.experiments.thesis.experiment import (
    ARM,
    SCENES,
    TESTS,
    Experiment,
    Job,
    experiments,
    installed,
    read,
    run_job,
)
from elbowroom.experiments.thesis.outcome import IMPROVED, SUPERVISED
from elbowroom.export import urdf
from elbowroom.loading import load
from referees import thinned

THESIS = {  # chapter 4, sections 4.1.1 to 4.1.4; written here on its own, so that the data files cannot drift
    (1, "min_distance"): 0.75,
    (1, "min_x_difference"): 0.82,
    (1, "peak_x_speed"): 0.56,
    (2, "min_distance"): 0.35,
    (2, "min_x_difference"): 0.32,
    (2, "peak_x_speed"): 0.41,
    (3, "min_distance"): 0.50,
    (3, "min_y_difference"): 0.52,
    (4, "min_x_difference"): 0.70,
    (4, "peak_x_speed"): 0.61,
    (7, "min_joint3_deg"): 12.4,  # of the scaling factor, section 4.1.7.3
}
INFLUENCE = {1: 1.0, 2: 0.5, 3: 0.7, 4: 1.0, 5: 1.0, 6: 1.0, 7: 0.7}  # m; test 7 as its text has it
NEAR, FAST = 0.15, 0.25  # the project's own tolerances of distances and of speeds
FORMS = ("mended", "printed")
LIMITED = ("weak_potential", "strong_potential", "scaling")
ROW = {"test", "variant", "plant", "robot", "metrics", "thesis"}
mujoco = pytest.mark.skipif(not installed("mujoco"), reason="needs MuJoCo")
OTHER_PLANTS = [pytest.param("rigid", marks=pytest.mark.slow), pytest.param("mujoco", marks=[mujoco, pytest.mark.slow])]
PLANTS = ["kinematic", *OTHER_PLANTS]


def experiment(test):
    return experiments()[test - 1]


@cache
def outcome(test, variant="printed", plant="kinematic", robot=None):
    """A whole run, as the command makes it; once for all tests of this file."""
    return run_job(Job(experiment(test), variant, plant, robot))


def number(test, name, variant="printed", plant="kinematic", robot=None):
    return outcome(test, variant, plant, robot).metrics[name]


def main(test):
    """The variant that the thesis' numbers of a test are about."""
    return "scaling" if test == 7 else "printed"


def brief(test, **changes):
    """A test that lasts a moment."""
    return read(SCENES / f"test{test}.toml", {"duration": 0.5, **changes})


# ---- the thesis' numbers


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize(("test", "name"), THESIS)
def test_the_numbers_of_the_thesis(test, name, plant):
    tolerance = FAST if "speed" in name else NEAR
    assert number(test, name, main(test), plant=plant) == pytest.approx(THESIS[test, name], rel=tolerance)


def test_the_data_files_have_the_numbers_of_the_thesis():
    written = {(e.test, name): value for e in experiments() for name, value in e.thesis.get(main(e.test), {}).items()}
    assert written == THESIS
    assert len(written) == 11
    assert all(set(e.thesis) <= {main(e.test)} for e in experiments())


def test_the_scenes_are_those_of_the_thesis():
    for e in experiments():
        scene = e.scene(main(e.test))
        law = scene.controller
        assert (law.repulsion.form, law.joint_limits.form) == ("printed", "printed")
        assert law.superposition == "tool"
        assert law.repulsion.influence == INFLUENCE[e.test]
        assert law.repulsion.measure == "axis"
        assert law.repulsion.profile == "power5"
        assert law.attraction.slow_down == "printed"
        assert law.smoothing.duration > 0
        assert law.controller == ("F" if e.test == 4 else "K")
        assert (scene.robot, scene.cover) == (ARM, "thesis")
        assert e.axis == ("y" if e.test == 3 else "x")
    walk, side = (experiment(test).scene("printed").people["coworker"] for test in (1, 3))
    assert (walk.speed, walk.start[1], walk.end[1]) == (0.3, 0.0, 0.0)
    assert (side.speed, side.start, side.end[0]) == (0.2, (0.0, 2.5), 0.0)
    assert experiment(4).scene("printed").people == experiment(1).scene("printed").people
    limit = experiment(7).scene("scaling").lower[2] - experiment(7).joint3_zero
    assert math.degrees(limit) == pytest.approx(10.0, abs=0.01)  # the file's radians have three decimals


@pytest.mark.slow
def test_blind_runs_give_way_to_nobody():
    """Tests 1 to 5 have one, on the plant that costs least; but for what it does about people it is the main run."""
    assert [e.test for e in experiments() if "blind" in e.variants] == [1, 2, 3, 4, 5]
    for e in experiments()[:5]:
        assert "blind" not in e.main()
        main, blind = e.scene("printed"), e.scene("blind")
        assert blind.controller.attraction.slow_down == "off"
        assert blind.controller.repulsion.gain == 1e-9
        assert (blind.people, blind.start, blind.duration) == (main.people, main.start, main.duration)
    for test in (1, 2, 3, 4):
        run = outcome(test, "blind")
        assert max(run.metrics["joint_travel"]) < 1e-5  # rad: a push of 1e-9 of what counts
        assert run.metrics["min_clearance"] < number(test, "min_clearance") - 0.04  # somebody comes nearer
    for test in (1, 2, 4):  # along x the coworker turns 5 cm before the arm
        assert 0.0 < number(test, "min_clearance", "blind") < 0.06
    assert number(3, "contacts", "blind") == 1  # along y they walk into it
    assert "IN_COLLISION" in set(outcome(3, "blind").table["status"])


def test_test_7_is_the_scene_of_the_text():
    """The coworker comes to 25 cm and stays; the variants differ in how the limit is kept and in nothing else."""
    variants = {name: experiment(7).scene(name) for name in experiment(7).main()}
    assert tuple(variants) == (*LIMITED, *(f"mended_{name}" for name in LIMITED))
    walk = variants["scaling"].people["coworker"]
    assert (walk.speed, walk.end, walk.periods) == (0.3, (0.25, 0.0), 0.5)
    limits = {name: scene.controller.joint_limits for name, scene in variants.items()}
    for name in LIMITED:
        printed, mended = limits[name], limits[f"mended_{name}"]
        assert printed.method == mended.method == ("scaling" if name == "scaling" else "potential")
        assert (printed.form, mended.form) == ("printed", "mended")
        assert dataclasses.replace(mended, form="printed") == printed
    assert (limits["weak_potential"].gain, limits["strong_potential"].gain) == (1e-7, 1e-5)
    for scene in variants.values():
        one = variants["scaling"].controller
        same = dataclasses.replace(scene.controller, joint_limits=limits["scaling"], repulsion=one.repulsion)
        assert same == one
        assert scene.duration == 10.0
    assert {(limit.margin, limit.exponent) for limit in limits.values()} == {(0.5, 3)}


def test_bare_runs_are_watched_and_each_test_has_a_supervised_one():
    for e in experiments():
        said = {variant: e.scene(variant).supervision for variant in e.variants}
        assert said.pop(SUPERVISED) == "stop"
        assert said.pop(IMPROVED, "stop") == "stop"
        assert said.pop("supervised_goal_scaled", "stop") == "stop"  # of test 6
        assert set(said.values()) == {"watch"}
        assert SUPERVISED not in e.main()
        assert e.guarded == (IMPROVED if e.test in (1, 2, 3, 4) else SUPERVISED)


def test_who_watches_changes_nothing():
    alone = run_job(Job(read(SCENES / "test3.toml", {"supervision": "off"}), "printed", "kinematic"))
    watched = outcome(3)
    assert set(watched.table["verdict"]) > {"OK"}  # there was something to say
    for name in (n for n in watched.table if n not in ("verdict", "margin")):  # those are the supervisor's
        np.testing.assert_array_equal(alone.table[name], watched.table[name])


# ---- what the thesis puts in words


@pytest.mark.parametrize(("wanted", "without"), [("printed", "no_filter"), ("noise_filter", "noise_no_filter")])
def test_the_filter_takes_the_vibration_out(wanted, without):
    assert number(1, "rms_jerk", wanted) < number(1, "rms_jerk", without) / 2
    assert number(1, "vibration", wanted) < number(1, "vibration", without) / 2


@pytest.mark.parametrize("test", [1, 2, 3, 4])
def test_the_tool_returns_to_rest_in_every_period(test):
    """Whenever the coworker is back where they came from, the tool is where it began."""
    table = outcome(test).table
    axis = experiment(test).axis
    away = table[f"person_{axis}"] > table[f"person_{axis}"].max() - 0.02
    tool = np.stack([table[f"tool_{k}"] for k in "xyz"], axis=1)
    off = np.linalg.norm(tool - tool[0], axis=1)
    assert off.max() > 0.2  # it did give way
    assert off[away].max() < 0.02
    assert np.ptp(table["t"][away]) > 20  # the end is among them


@pytest.mark.slow
def test_the_filter_takes_the_vibration_out_in_a_confined_space():
    """Section 3.12.1: forces that counteract each other.  Between two people, without any noise of a sensor."""
    for variant in ("confined_filter", "confined_no_filter"):
        scene = experiment(1).scene(variant)
        assert scene.noise == 0.0
        assert [person.position for person in scene.people.values()] == [(0.0, 0.45), (0.0, -0.45)]
    calm, raw = (outcome(1, variant) for variant in ("confined_filter", "confined_no_filter"))
    assert raw.metrics["vibration"] > 0.2  # m/s above 2 Hz: the arm is thrown from one to the other
    assert calm.metrics["vibration"] < 0.5 * raw.metrics["vibration"]
    assert calm.metrics["rms_jerk"] < 0.5 * raw.metrics["rms_jerk"]
    assert calm.metrics["contacts"] == raw.metrics["contacts"] == 0
    assert number(1, "vibration", "no_filter") < 0.1 * raw.metrics["vibration"]  # a walk alone does not show it


def test_smaller_influence_smaller_distance_and_speed():
    for name in ("min_distance", "min_surface_distance", "min_x_difference", "peak_x_speed"):
        assert number(2, name) < number(1, name)


def test_half_the_influence_is_smoother_with_a_sensor_that_errs():
    assert number(2, "rms_jerk", "noise_filter") < 0.9 * number(1, "rms_jerk", "noise_filter")
    assert number(2, "rms_jerk") > number(1, "rms_jerk")  # and not without


def test_the_force_controller_lets_the_coworker_come_nearer_in_x():
    assert number(4, "min_x_difference") < number(1, "min_x_difference") - 0.02


def test_from_the_side_axis_1_moves_most_and_not_mainly():
    """It goes farther than any other, with less than half of all travel; and where the tool has gone farthest, axis 1
    alone brings it nearly there."""
    first, *others = number(3, "joint_travel")
    assert first > max(others)
    assert 0.35 < first / (first + sum(others)) < 0.5  # so "mainly axis 1" is not met
    table, arm = outcome(3).table, mounted(experiment(3).scene("printed"))
    q = np.stack([table[f"q{k}"] for k in range(1, 7)], axis=1)
    tool = np.stack([table[f"tool_{k}"] for k in "xyz"], axis=1)
    way = np.linalg.norm(tool - tool[0], axis=1)
    turned = q[0].copy()
    turned[0] = q[way.argmax(), 0]
    left = np.linalg.norm(arm.pose(turned)[:3, 3] - tool[way.argmax()])
    assert left < 0.15 * way.max()  # here 0.04 of 0.46 m; joints 2 and 3 are the rest


def test_the_force_controller_moves_light_joints_more():
    k, f = (number(test, "peak_joint_speeds") for test in (1, 4))
    assert f[2] / max(f[0], f[1]) > 1.2 * k[2] / max(k[0], k[1])
    assert f[2] == max(f)
    inertia = np.diag(load(ARM).mass_matrix(experiment(1).scene("printed").start))
    assert inertia[2] < 0.3 * min(inertia[0], inertia[1])  # joint 3 is the light one of those that move


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["mended", SUPERVISED])
@pytest.mark.parametrize("plant", ["kinematic", OTHER_PLANTS[1]])
def test_the_cell_does_its_task_without_contact(plant, variant):
    run = outcome(5, variant, plant=plant)
    assert run.metrics["cycles"] >= 3
    assert run.metrics["contacts"] == 0
    assert run.metrics["min_surface_distance"] > 0.1
    assert len(set(run.table["state"])) == 7  # all states of Fig 4.13, avoidance among them
    assert any("AVOID" in state.upper() for state in run.table["state"])


@pytest.mark.slow
def test_as_printed_the_cell_is_caught_at_the_end_of_joint_3():
    """(3.74) as printed also holds a joint that would leave its limit."""
    run = outcome(5)
    assert run.metrics["cycles"] == 0
    assert run.metrics["contacts"] == 0
    assert run.metrics["limit_hits"] == 1
    late = run.table["t"] > 0.5 * run.table["t"][-1]
    lower = mounted(experiment(5).scene("printed")).model.lower[2]
    np.testing.assert_allclose(run.table["q3"][late], lower, atol=1e-3)


@pytest.mark.slow
def test_the_cell_without_avoidance_touches():
    """So it is the avoidance that keeps the arm away, and not the coworker."""
    blind = outcome(5, "blind").metrics
    assert blind["contacts"] >= 1
    assert blind["min_clearance"] < 0
    assert blind["cycles"] > number(5, "cycles", "mended")  # giving way costs time
    for axis in "xy":
        np.testing.assert_array_equal(outcome(5, "blind").table[f"person_{axis}"], outcome(5).table[f"person_{axis}"])


@pytest.mark.parametrize(
    ("test", "variant"),
    [*((test, "printed") for test in (1, 2, 3, 4)), pytest.param(5, "mended", marks=pytest.mark.slow)],
)
def test_no_joint_runs_into_its_end(test, variant):
    assert number(test, "limit_hits", variant) == 0
    assert number(test, "min_self_distance", variant) > 0
    assert number(test, "min_height", variant) > 0
    own = mounted(experiment(test).scene(variant)).model
    for k in range(own.n):
        q = outcome(test, variant).table[f"q{k + 1}"]
        assert own.lower[k] <= q.min()
        assert q.max() <= own.upper[k]


@pytest.mark.slow
@pytest.mark.parametrize("variant", FORMS)
def test_the_plain_field_is_trapped(variant):
    run = outcome(6, variant)
    assert run.metrics["reached"] is False
    assert run.metrics["oscillation_amplitude"] > 0.01
    assert run.metrics["oscillation_frequency"] > 0.1
    assert np.ptp(run.table["person_x"]) == 0.0
    late = run.table["t"] > 0.9 * run.table["t"][-1]
    assert np.ptp(run.table["tool_x"][late]) > 0.02  # it does not die out
    assert number(6, "reached", "alone") is True  # so it is the obstacle that keeps it away
    assert run.metrics["contacts"] == 0
    assert run.metrics["limit_hits"] == (1 if variant == "printed" else 0)


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("prefix", ["", "mended_"])
def test_the_limit_of_joint_3(prefix, plant):
    low, held, scaled = (number(7, "min_joint3_deg", f"{prefix}{name}", plant) for name in LIMITED)
    assert low < 9.5
    assert 10.0 <= held < 13.0  # "close to 10 degrees"
    assert held + 1.0 < scaled < (14.3 if not prefix else 16.0)  # within 15 % of 12.4 as printed
    if not prefix:  # mended, with bent pushes, it is not
        jerk, jolted = (number(7, "rms_jerk", name, plant) for name in ("scaling", "strong_potential"))
        assert jerk < jolted


@pytest.mark.parametrize("variant", ["scaling", "mended_scaling"])
def test_the_scaling_factor_holds_to_the_end(variant):
    run = outcome(7, variant)
    assert run.metrics["duration"] == pytest.approx(10.0, abs=0.03)  # rows begin at 0 and are 0.02 s apart
    angle = np.degrees(run.table["q3"] - experiment(7).joint3_zero)
    late = run.table["t"] > 8.0
    assert np.ptp(run.table["person_x"][late]) < 1e-9  # they have come and stay
    assert 10.0 < angle[late].min() <= angle[late].max() < 25.0  # and joint 3 is held there


# ---- what the report says of them

UNMET = {  # what the thesis found and these runs do not show; the report says so
    "half the influence, a smoother velocity, a sensor without error (kinematic)",
    "mainly axis 1 moves (kinematic)",
    "the cell does its task without contact, as printed (kinematic)",
    "no joint runs into its end (kinematic)",  # of tests 5 and 6, as printed
    "the plain field is trapped and swings along x, as printed (kinematic)",  # it is caught at an end of joint 3
    "it is smoother than the strong potential, mended (kinematic)",
}


@pytest.mark.slow
def test_what_does_not_hold_is_told_and_all_else_holds():
    runs = [outcome(test) for test in (1, 2, 3, 4, 5, 6)]
    runs += [outcome(1, f"{name}{kind}") for name in ("noise_", "confined_") for kind in ("filter", "no_filter")]
    runs += [outcome(1, "no_filter"), outcome(2, "noise_filter"), outcome(5, "mended"), outcome(5, SUPERVISED)]
    runs += [outcome(5, "blind"), outcome(6, "mended"), outcome(6, "alone")]
    runs += [outcome(7, name) for name in experiment(7).main()]
    found = checks(runs, ARM)
    assert {check.text for check in found if not check.met} == UNMET
    assert [check.test for check in found if not check.met and "into its end" in check.text] == [5, 6]
    # 4 of the filter, 4 returns, 4 of half the influence, axis 1, 2 of F, 4 of the cell, 6 ends, 3 traps, 10 of joint 3
    assert len(found) == 38
    assert counted(found) == (31, 38)
    assert [check.met for check in numbers(runs, ARM)] == [True] * 11
    assert counted(numbers(runs, ARM)) == (11, 11)


# ---- other plants, other arms


@pytest.mark.parametrize("plant", OTHER_PLANTS)
@pytest.mark.parametrize("test", [1, 2, 3, 4])
def test_the_other_plants_keep_the_same_distance(test, plant):
    assert number(test, "min_distance", plant=plant) == pytest.approx(number(test, "min_distance"), abs=0.05)
    assert number(test, "contacts", plant=plant) == 0
    assert not np.array_equal(outcome(test, plant=plant).table["q2"], outcome(test).table["q2"])  # another plant


@pytest.mark.parametrize(
    "robot", thinned(["scara", "planar2", "stanford", "ur5e", "iiwa14", "panda"], {"scara", "planar2"})
)
def test_lists_of_the_default_arm_are_not_applied_to_another(robot):
    own = load(robot)
    for e in experiments()[:6]:
        scene = e.scene(main(e.test), robot=robot)
        assert len(scene.start) in (0, own.n)
        assert (scene.lower, scene.upper, scene.cover) == ((), (), "")
    run = run_job(Job(brief(1), "printed", "kinematic", robot))
    assert len(run.metrics["joint_travel"]) == own.n


def test_the_limit_of_joint_3_is_for_its_own_arm():
    assert [experiment(test).unfit("panda") is None for test in TESTS] == [True] * 6 + [False]
    assert experiment(7).unfit(None) is experiment(7).unfit(ARM) is None
    with pytest.raises(ConfigError, match=r"^test 7 is about a joint limit of puma560, .* panda.*$"):
        experiment(7).scene("scaling", robot="panda")
    at_home = Experiment(7, experiment(7).file, {**experiment(7).table, "robots": {"panda": {"lower": [0.0] * 7}}})
    assert at_home.unfit("panda") is None


def test_an_arm_from_a_file_is_looked_for_where_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.urdf").write_text(urdf(load("ur5e").model))
    job = Job(brief(3), "printed", "kinematic", "mine.urdf")
    assert job.name == "test3_printed_kinematic_mine"
    assert run_job(job).robot == "ur5e"
    with pytest.raises(ElbowroomError, match=r"nosuch\.urdf"):
        run_job(Job(brief(3), "printed", "kinematic", "nosuch.urdf"))
    with pytest.raises(ElbowroomError, match="nowhere"):
        run_job(Job(brief(3), "printed", "kinematic", "mine.urdf", "nowhere"))


def test_an_unknown_variant_is_told_with_its_file():
    with pytest.raises(ConfigError, match=r"test1\.toml: variants: expected printed or .*; got 'fliter'"):
        experiment(1).scene("fliter")


# ---- the row and the file of a run


def test_a_row_has_the_keys_that_were_promised():
    row = outcome(1).row()
    assert set(row) == ROW
    assert (row["test"], row["variant"], row["plant"], row["robot"]) == (1, "printed", "kinematic", ARM)
    wanted = {"min_distance", "min_surface_distance", "min_x_difference", "peak_tool_speed", "peak_x_speed"}
    assert wanted | {"contacts", "cycles", "rms_jerk", "min_joint3_deg"} <= set(row["metrics"])
    assert {"limit_hits", "min_self_distance", "min_height"} <= set(row["metrics"])
    assert row["thesis"] == {name: value for (test, name), value in THESIS.items() if test == 1}
    assert "min_y_difference" in outcome(3).row()["metrics"]
    json.dumps([outcome(test).row() for test in (1, 3)], allow_nan=False)
    json.dumps([run_job(Job(brief(test), "printed", "kinematic")).row() for test in (5, 6)], allow_nan=False)
    scene = Experiment(None, SCENES / "recorded.toml", brief(1).table, scene_name="somebody")
    row = run_job(Job(scene, "printed", "kinematic")).row()
    assert set(row) == ROW - {"test"} | {"scene"}
    assert (row["scene"], row["thesis"]) == ("somebody", {})


def test_the_recording_is_the_run_and_the_same_bytes_every_time(tmp_path):
    job = Job(brief(5, noise=0.01), "printed", "kinematic")
    one, two = (run_job(job, folder) for folder in (tmp_path, tmp_path / "again") if not folder.mkdir(exist_ok=True))
    assert one.csv == tmp_path / f"{job.name}.csv"
    assert one.csv.read_bytes() == two.csv.read_bytes()
    table = read_recording(one.csv)
    assert tuple(table) == columns(6)
    for name, column in table.items():
        np.testing.assert_array_equal(column, one.table[name])
    assert table.notes["variant"] == "printed"
    assert table.notes["robot"] == ARM


def test_a_recording_that_cannot_be_begun_does_not_stop_the_run(tmp_path):
    job = Job(brief(1), "printed", "kinematic")
    path = tmp_path / f"{job.name}.csv"
    path.mkdir()
    with pytest.raises(RecordingError, match="it is a folder"):
        run_job(job, tmp_path)
    said = []
    run = run_job(job, tmp_path, problem=said.append)
    assert run.csv is None
    assert run.metrics == run_job(job).metrics
    assert said == [f"{path}: expected a file; it is a folder: this run is not recorded; its numbers come from memory"]
