"""Masses for links whose file has none: those of their capsules."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Force, Limits, Supervisor
from elbowroom.cell import Cell, Rest, Scene, run
from elbowroom.errors import ConfigError, ModelError, ModelWarning
from elbowroom.export.write_mjcf import mjcf
from elbowroom.export.write_urdf import urdf
from elbowroom.model import LinkCapsule, catalogue
from elbowroom.model.inertia import BALL, DENSITY, about_estimates, estimated, lacking
from elbowroom.viewer.panel.margins import NO_MASS, at_nearest

PLANAR = catalogue.load("planar2")
SHAPES = (LinkCapsule("upper", 0, (0, 0, 0), (0.5, 0, 0), 0.05), LinkCapsule("lower", 1, (0, 0, 0), (0.4, 0, 0), 0.04))
MASSLESS = dataclasses.replace(PLANAR, mass=np.zeros(2), inertia=np.zeros((2, 3, 3)), capsules=SHAPES)


def file_without_masses(tmp_path, model=PLANAR):
    """The planar arm as a URDF file in which no link has an <inertial>."""
    path = tmp_path / "massless.urdf"
    text = urdf(dataclasses.replace(model, capsules=SHAPES))
    while "<inertial>" in text:
        start, end = text.index("<inertial>"), text.index("</inertial>") + len("</inertial>")
        text = text[:start] + text[end:]
    path.write_text(text)
    return path


def test_a_capsule_weighs_and_turns_as_its_points_do():
    """Against sums over a fine grid; 1 % is what the grid's cells at the surface leave."""
    a, b, r = np.array([0.1, -0.05, 0.02]), np.array([0.3, 0.1, 0.15]), 0.08
    capsule = LinkCapsule("bent", 1, tuple(a), tuple(b), r)
    found = estimated(dataclasses.replace(MASSLESS, capsules=(SHAPES[0], capsule)), 700.0)
    cell = r / 25
    axes = [np.arange(min(p, q) - r, max(p, q) + r, cell) + cell / 2 for p, q in zip(a, b, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    along = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    points = points[np.linalg.norm(points - a - along[:, None] * (b - a), axis=1) < r]
    dm = 700.0 * cell**3
    off = points - points.mean(axis=0)
    inertia = dm * (np.eye(3) * (off**2).sum() - off.T @ off)
    assert found.mass[1] == pytest.approx(dm * len(points), rel=0.01)
    assert found.com[1] == pytest.approx((a + b) / 2)
    assert found.inertia[1] == pytest.approx(inertia, rel=0.01, abs=0.01 * np.abs(inertia).max())


def test_shapes_of_one_link_that_overlap_count_once():
    """A capsule, and the same as files write it: with a ball at both ends; or twice.  2 % is the grid's."""
    once = estimated(MASSLESS, DENSITY)
    ends = (LinkCapsule(end, 1, at, at, 0.04) for end, at in (("a", (0, 0, 0)), ("b", (0.4, 0, 0))))
    again = dataclasses.replace(SHAPES[1], name="again")
    third = dataclasses.replace(again, name="third")
    for more in (tuple(ends), (again,), (again, third)):
        found = estimated(dataclasses.replace(MASSLESS, capsules=(*SHAPES, *more)), DENSITY)
        assert found.mass == pytest.approx(once.mass, rel=0.02)
        assert found.com == pytest.approx(once.com, abs=1e-12)
    apart = LinkCapsule("apart", 1, (0, 1, 0), (0.4, 1, 0), 0.04)
    found = estimated(dataclasses.replace(MASSLESS, capsules=(*SHAPES, apart)), DENSITY)
    assert found.mass[1] == pytest.approx(2 * once.mass[1])


def test_a_ball_has_two_fifths():
    ball = LinkCapsule("ball", 1, (0.1, 0, 0), (0.1, 0, 0), 0.06)
    found = estimated(dataclasses.replace(MASSLESS, capsules=(SHAPES[0], ball)), 500.0)
    mass = 500.0 * 4 / 3 * math.pi * 0.06**3
    assert found.mass[1] == pytest.approx(mass)
    assert found.inertia[1] == pytest.approx(0.4 * mass * 0.06**2 * np.eye(3))


def test_only_what_is_missing_is_estimated():
    """A link with a mass keeps it and its centre; a whole one is left alone; one without a shape is a small ball."""
    model = dataclasses.replace(MASSLESS, mass=np.array([3.0, 0.0]), com=np.array([[0.2, 0, 0], [0, 0, 0]]))
    found = estimated(dataclasses.replace(model, capsules=SHAPES[:1]), DENSITY)
    assert found.mass[0] == 3.0
    assert found.com[0].tolist() == [0.2, 0, 0]
    assert found.inertia[0].any()
    assert found.mass[1] == pytest.approx(DENSITY * 4 / 3 * math.pi * BALL**3)
    assert found.estimated == lacking(model) == PLANAR.link_names
    whole = dataclasses.replace(MASSLESS, mass=PLANAR.mass * [1, 0], inertia=PLANAR.inertia * [[[1]], [[0]]])
    one = estimated(whole, DENSITY)
    assert one.estimated == PLANAR.link_names[1:]
    assert (one.inertia[0] == PLANAR.inertia[0]).all()
    assert repr(PLANAR.link_names[1]) in about_estimates(one)
    assert about_estimates(PLANAR) == ""
    assert one != dataclasses.replace(one, estimated=())


@pytest.mark.parametrize("density", [0, -1.0, math.inf, math.nan, "steel", True])
def test_a_density_that_is_none(density):
    with pytest.raises(ModelError, match="density must be a number of kg/m\\^3 above 0; got"):
        estimated(MASSLESS, density)


def test_a_file_without_masses_is_refused_with_a_remedy_and_loaded_with_it(tmp_path):
    path = file_without_masses(tmp_path)
    with pytest.raises(ModelError, match=r"moves nothing that has a mass; er.load\(..., density=650\) estimates them"):
        er.load(path)
    with pytest.warns(ModelWarning, match="missing for all 2 links: estimated from their shapes, together 4.4 kg"):
        arm = er.load(path, density=650)
    assert arm.model.estimated == PLANAR.link_names
    assert np.linalg.eigvalsh(arm.mass_matrix(arm.ready)).min() > 0


def test_an_arm_with_masses_is_not_changed_by_a_density(tmp_path):
    path = tmp_path / "whole.urdf"
    path.write_text(urdf(PLANAR))
    assert er.load(path, density=650).model == er.load(path).model


@pytest.mark.filterwarnings("ignore::elbowroom.errors.ModelWarning")
def test_a_file_that_is_written_does_not_pass_guesses_on(tmp_path):
    arm = er.load(file_without_masses(tmp_path), density=650)
    again = tmp_path / "again.urdf"
    for text in (urdf(arm.model), mjcf(arm.model)):
        assert "estimated from their shapes" in text.split("<worldbody>")[0].split("<link")[0]
    again.write_text(urdf(arm.model))
    assert "<inertial>" not in again.read_text()
    with pytest.raises(ModelError, match="mass"):
        er.load(again)


@pytest.mark.parametrize("method", [pytest.param("operational", marks=pytest.mark.slow), "joint"])
def test_torques_are_refused_with_guessed_masses(method):
    model = estimated(dataclasses.replace(MASSLESS, effort=np.array([80.0, 40.0])), DENSITY)
    torques = Config(controller="F", force=Force(method=method))
    with pytest.raises(ConfigError, match="planar2: torques need masses that somebody measured, and those of 'upper"):
        Supervisor(Controller(er.Arm(model), torques), Limits())
    measured = dataclasses.replace(model, estimated=())
    Supervisor(Controller(er.Arm(measured), torques), Limits())
    Supervisor(Controller(er.Arm(model), Config(controller="F")), Limits())  # linearised: it makes speeds


def test_torques_without_a_limit_are_logged(caplog):
    model = dataclasses.replace(PLANAR, capsules=SHAPES, effort=np.array([80.0, math.inf]))
    Supervisor(Controller(er.Arm(model), Config(controller="F", force=Force(method="joint"))), Limits())
    said = [each.getMessage() for each in caplog.records if "effort" in each.getMessage()]
    assert said == ["planar2: joint 'elbow' has no effort limit; its torque is not limited"]


@pytest.mark.filterwarnings("ignore::elbowroom.errors.ModelWarning")
def test_a_cell_runs_an_arm_without_masses_and_promises_nothing_of_contacts(tmp_path):
    path = file_without_masses(tmp_path)
    scene = Scene(robot=str(path), task=Rest(), duration=0.1, face=False, start=(0.3, 0.5))
    cell = Cell(scene)
    assert cell.arm.model.estimated == PLANAR.link_names
    assert len(run(cell)) == 10
    with pytest.raises(ModelError, match="mass matrix is not positive definite"):
        Cell(dataclasses.replace(scene, density=0.0))
    controller = Controller(cell.arm, Config())
    Supervisor(controller, Limits())
    for limits in (Limits(mode="power_and_force"), Limits(mode="both", separation=False)):
        with pytest.raises(ConfigError, match=r"mode: expected 'separation', as masses are estimates.*got '\w+'"):
            Supervisor(controller, limits)


def test_the_page_gives_no_speed_of_a_contact_without_masses():
    arm = er.Arm(estimated(MASSLESS, DENSITY))
    row = np.zeros(13)
    row[3] = 0.4
    nearest = (row, 1, np.zeros(3), np.array([0.0, 0.3, 0.0]), "left_hand")
    found = at_nearest(arm, np.array([0.3, 0.5]), np.zeros(2), nearest, 0.3, None)
    assert found is not None
    assert found.why == NO_MASS
    assert math.isnan(found.bears)


def test_limits_that_are_zero_everywhere_are_not_given(tmp_path):
    path = tmp_path / "blank.urdf"
    blank = dataclasses.replace(PLANAR, velocity=np.zeros(2), effort=np.array([0.0, 50.0]))
    path.write_text(urdf(blank))
    with pytest.warns(ModelWarning) as said:
        model = er.load(path).model
    limits = [str(each.message) for each in said if "limit" in str(each.message)]
    assert limits == [
        "planar2: taken as unlimited: the velocity limits are 0 for every joint",
        "planar2: joint 'shoulder': effort limit is zero",
    ]
    assert np.isinf(model.velocity).all()
    assert model.effort.tolist() == [0.0, 50.0]  # one that is 0 beside others says something
