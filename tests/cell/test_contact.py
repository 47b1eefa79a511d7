"""Contact in the standard cell on MuJoCo: pushes are seen, work is no alarm, reactions, recordings, refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Contact, Limits, Status
from elbowroom.bench import contact as bench
from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.plants.mujoco import MuJoCo
from elbowroom.cell.recording.log import Log
from elbowroom.cell.recording.table import Recording, read
from elbowroom.errors import ConfigError
from elbowroom.geometry import Capsule

pytest.importorskip("mujoco")


def test_a_push_of_20_n_is_seen_within_10_ms():
    """The outer links of a panda that works, at 1 kHz; inner links have levers that are too short for some pushes."""
    rows = bench.pushed("panda", 0.001, 2, 0)
    assert [row.link for row in rows] == [f"panda_link{k}" for k in range(1, 8)]
    for row in rows[4:]:
        assert row.pushes == row.in_time == row.seen == 2
        assert row.median <= 0.010
    for row in rows:
        assert row.named + row.inner == row.seen  # never a link beyond that which was pushed


def test_the_supervisor_stops_names_the_link_and_records_it(tmp_path):
    cell = bench.working("panda", 0.01, 0, Contact())
    path = tmp_path / "run.csv"
    with Recording(cell.arm.n, path) as recording:
        log = Log(cell, recording)
        for k in range(130):
            t = k * 0.01
            cell.step(t)
            log.add(t)
            acts = 100 <= k < 120
            force = np.array([0.0, 0.0, 20.0]) if acts else np.zeros(3)
            bench.push(cell.plant, 6, np.zeros(3), force)
            cell.advance(t, 0.01)
    table = read(path)
    residual = np.array([table[f"residual{j}"] for j in range(1, 8)])
    first = table["status"].tolist().index("STOP_CONTACT")
    assert first == 101  # the first reading after the push
    assert cell.guard.latched is Status.STOP_CONTACT
    assert cell.guard.reason.startswith("contact with link 'panda_link")
    assert (table["felt"][:101] < 1.0).all()
    assert table["felt"][101] > 1.0
    assert table["felt_joint"][-1] == 1 + int(np.argmax(np.abs(cell.observer.felt()[0]) / cell.observer.felt()[1]))
    assert table["felt_torque"][-1] == cell.observer.felt()[0][int(table["felt_joint"][-1]) - 1]
    assert np.isfinite(residual).all()
    assert np.abs(residual[:, 119]).max() > 5.0  # N m
    assert np.array_equal(residual[:, -1], cell.observer.residual)


def test_work_with_wrong_masses_is_no_alarm():
    found = bench.alarms("panda", 1, 0.5, seed=3)
    assert found.cycles >= 2
    assert found.alarms == 0
    assert 0.05 < found.closest < 1.0
    assert math.isclose(found.rate, -math.log(0.05) * 120, rel_tol=1e-9)  # of no event in half a minute


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["panda", "iiwa14", "ur10e", "puma560"])  # the last with much dry friction
def test_ten_minutes_of_work_with_wrong_masses_are_no_alarm(robot):
    found = bench.alarms(robot, 2, 10.0, seed=11)
    assert found.cycles >= 20
    assert found.alarms == 0
    assert found.closest < 1.0


def test_retraction_lowers_the_force_against_a_plain_stop():
    rows = {reaction: bench.reacted("panda", reaction, 0.01, 0) for reaction in ("stop", "retract")}
    stop, retract = rows["stop"], rows["retract"]
    assert stop.felt == retract.felt <= 0.02
    assert stop.peak > 20.0  # N
    assert retract.peak <= stop.peak  # what the first 10 ms do, no reaction takes back
    assert retract.impulse < 0.1 * stop.impulse
    assert stop.last > 5.0
    assert retract.last == 0.0


@pytest.mark.slow
def test_every_reaction_is_better_than_none():
    rows = [bench.reacted("iiwa14", reaction, 0.001, 1) for reaction in bench.REACTIONS]
    none, stop, retract, floats = rows
    assert math.isnan(none.felt)
    assert all(row.felt <= 0.01 for row in rows[1:])
    assert none.impulse > stop.impulse > max(retract.impulse, floats.impulse)
    assert none.peak > stop.peak


def test_the_bound_of_a_rate():
    assert math.isclose(bench.rate_bound(0), -math.log(0.05), rel_tol=1e-9)
    assert math.isclose(bench.rate_bound(2), 6.295794, rel_tol=1e-6)  # half the chi-squared quantile of 6 at 0.95


def test_a_plant_without_torques_is_refused_by_name():
    scene = Scene.load(STANDARD, variant="alone")
    watched = dataclasses.replace(scene, limits=dataclasses.replace(scene.limits, contact=Contact()))
    with pytest.raises(
        ConfigError, match=r"limits\.contact: expected a plant that measures joint torques, .*kinematic"
    ):
        Cell(watched)
    link = dataclasses.replace(watched, limits=Limits(contact=Contact(measured="link"))).with_plant("rigid")
    with pytest.raises(ConfigError, match=r'limits\.contact\.measured: expected "motor", .*; got "link"'):
        Cell(link)
    cell = Cell(dataclasses.replace(scene, duration=0.1))
    assert cell.observer is None
    assert np.isnan(run(cell).table()["felt"]).all()  # said: not watched


def test_a_scene_says_so_in_its_file(tmp_path):
    path = tmp_path / "cell.toml"
    path.write_text(
        f'extends = "{STANDARD}"\nduration = 1.0\nplant.kind = "rigid"\n[limits.contact]\nreaction = "float"\n'
    )
    cell = Cell(Scene.load(path, variant="alone"))
    assert cell.guard.contact.settings == Contact(reaction="float")
    assert (run(cell).table()["felt"] < 1.0).all()
    assert cell.guard.latched is None


def test_force_and_impulse_of_contacts_add_up_over_substeps():
    arm = er.load("panda")
    elbow = arm.poses(arm.ready)[3, :3, 3]
    row = Capsule(elbow, elbow + np.array([0.0, 0.0, 0.1]), 0.05).row()[None]  # in the arm: pushed out at once
    whole, parts = MuJoCo(arm, 1), MuJoCo(arm, 1)
    whole.advance(0.02, row)
    found = []
    for _ in range(20):
        parts.advance(0.001, row)
        found.append((parts.contact_force, parts.contact_impulse))
    forces, impulses = np.array(found).T
    assert forces[0] > 10.0
    assert math.isclose(whole.contact_force, forces.max(), rel_tol=1e-9)
    assert math.isclose(whole.contact_impulse, impulses.sum(), rel_tol=1e-9)
    assert np.allclose(impulses, forces * 0.001)
    whole.advance(0.001)
    assert whole.contact_force == whole.contact_impulse == 0.0


@pytest.mark.parametrize("reaction", ["stop", "retract", "float"])
def test_a_push_that_only_the_change_shows_stops_the_arm_as_any_other(reaction):
    """8 N on the elbow of an arm that works, at 1 kHz, for a second: below what masses may be wrong by at all times."""
    cell = bench.working("panda", 0.001, 0, Contact(reaction=reaction))
    arm, guard, observer = cell.arm, cell.guard, cell.guard.contact.observer
    point, force = np.asarray(arm.model.com[3]), np.array([0.0, 0.0, -8.0])
    place = lambda: arm.poses(cell.state.q)[3] @ np.append(point, 1.0)  # noqa: E731
    seen, began, ended = None, None, None
    for k in range(2200):
        t = k * 0.001
        cell.step(t)
        if seen is None and guard.latched is not None:
            seen, began = k, place()
        if k > 1000:
            assert (np.abs(observer.residual) <= observer.threshold).all()
        if k == 2000:
            ended = place()
        if k in (1500, 1999):
            assert observer.touched >= 0
            assert not guard.reset(t)
        bench.push(cell.plant, 3, point, force if 1000 <= k < 2000 else np.zeros(3))
        cell.advance(t, 0.001)
    assert guard.latched is Status.STOP_CONTACT
    assert 1000 < seen <= 1010
    assert "panda_joint4' feels" in guard.reason
    assert "N m more than before, allowed" in guard.reason
    moved = float(force @ (ended - began)[:3]) / 8.0  # the way of the push
    assert moved > 0.01 if reaction != "stop" else abs(moved) < 0.005
    assert guard.reset(2.2)
