"""A workplace that fits the arm, and points that are refused where it may not be changed."""

from __future__ import annotations

import dataclasses
import math
import re
import warnings

import numpy as np
import pytest

import elbowroom as er
from elbowroom.cell import Cell, GoTo, PickAndPlace, Scene, StandSettings, WalkSettings, fitting, run
from elbowroom.cell.layout import STANDARD, Layout, laid_out
from elbowroom.dynamics import ready
from elbowroom.errors import ConfigError
from elbowroom.export.write_urdf import urdf
from elbowroom.geometry import Body
from elbowroom.model import catalogue
from elbowroom.model.capsules import BASE, LinkCapsule
from referees import thinned


@pytest.mark.parametrize("name", thinned(catalogue.names(), {"panda", "planar2", "scara"}))
def test_the_standard_cell_stays_as_it_is_written_for_the_catalogue(name):
    scene = Scene.load(STANDARD, robot=name, variant="alone")
    assert Cell(scene).scene == scene


def small(folder, size: float) -> str:
    """The file of a UR5e of another size, its joints as they are, without a ready pose."""
    model = catalogue.load("ur5e")
    capsules = tuple(
        dataclasses.replace(c, a=tuple(size * x for x in c.a), b=tuple(size * x for x in c.b), radius=size * c.radius)
        for c in model.capsules
    )
    tool = model.tool.copy()
    tool[:3, 3] *= size
    scaled = dataclasses.replace(model, p=size * model.p, tool=tool, capsules=capsules, name="little")
    file = folder / "little.urdf"
    file.write_text(urdf(scaled))
    return str(file)


def little(folder, size: float, **changes) -> Scene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a URDF file cannot hold
        scene = Scene.load(STANDARD, robot=small(folder, size), variant="alone")
    return dataclasses.replace(scene, **changes)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A scene for an arm of a third of its size, and the cell that was made of it: its start is searched for once."""
    scene = little(tmp_path_factory.mktemp("little"), 0.3, duration=20.0)
    return scene, Cell(scene)


def out_of_reach(cell: Cell, task: PickAndPlace, more: float = 0.02) -> list[str]:
    """Points of a task about the tool at the start, in the order of the task, that are beyond the arm's length.

    `more` is the task's tolerance, within which the tool counts as there.
    """
    model = cell.arm.model
    shoulder = model.p[0]  # the base of these arms is the world
    points = {name: cell.origin + getattr(task, name) - shoulder for name in ("home", "pick", "place")}
    return [name for name, point in points.items() if np.linalg.norm(point) > ready.reach(model) + more]


@pytest.mark.slow
def test_a_little_arm_gets_a_little_workplace_and_works_there(fitted):
    scene, cell = fitted
    task = cell.scene.task
    assert out_of_reach(cell, scene.task) == ["place"]
    assert out_of_reach(cell, task, more=0.0) == []
    size = math.dist(task.pick, task.place) / math.dist(scene.task.pick, scene.task.place)
    assert size < 1.0
    lower = (task.home[2] - task.pick[2]) / (scene.task.home[2] - scene.task.pick[2])
    assert task.approach == pytest.approx(lower * scene.task.approach)  # heights are scaled alike
    assert lower <= size * (1 + 1e-9)
    assert run(cell).table()["cycles"][-1] >= 2
    assert Cell(cell.scene).scene == cell.scene  # what was made of it stands alone


@pytest.mark.slow
def test_a_large_arm_keeps_its_workplace_and_gets_farther_walls(tmp_path):
    scene = little(tmp_path, 3.0)
    cell = Cell(scene)
    assert math.dist(cell.scene.task.pick, cell.scene.task.place) > 0.3
    outer = cell.scene.controller.workspace.outer
    assert outer > scene.controller.workspace.outer
    for point in (cell.scene.task.pick, cell.scene.task.place, cell.scene.task.home):
        assert np.linalg.norm(cell.origin + point) < outer


def test_belts_lie_across_where_an_arm_can_hardly_turn():
    """A UR5e whose base and wrist turn by 0.2 rad has little room to the sides, and more to the front."""
    scene = Scene.load(STANDARD, robot="ur5e", variant="alone")
    model, start = catalogue.load("ur5e"), laid_out(scene).start
    lower, upper = model.lower.copy(), model.upper.copy()
    lower[[0, 4]], upper[[0, 4]] = start[[0, 4]] - 0.2, start[[0, 4]] + 0.2
    task = laid_out(dataclasses.replace(scene, lower=tuple(lower), upper=tuple(upper))).scene.task
    x, y, _ = np.abs(np.array(task.pick) - task.place)
    assert x > 0.5 * math.dist(scene.task.pick, scene.task.place)
    assert y < 1e-9


def on_a_body(**capsule) -> tuple[Scene, Layout]:
    """The standard cell with a UR5e that is fixed to a body, a capsule of the base."""
    model = catalogue.load("ur5e")
    trunk = LinkCapsule("trunk", BASE, **capsule)
    arm = er.Arm(dataclasses.replace(model, capsules=(trunk, *model.capsules)))
    scene = Scene.load(STANDARD, robot="ur5e", variant="walking")
    place = laid_out(scene)
    body = Body(arm)
    found = fitting.fitted(scene, arm, body, place.start, place.lower, place.upper)
    return scene, dataclasses.replace(place, scene=found, arm=arm, body=body)


def test_the_floor_is_below_what_the_arm_is_fixed_to():
    scene, place = on_a_body(a=(0, 0, -0.4), b=(0, 0, -0.9), radius=0.1)
    assert place.scene.floor == pytest.approx(-1.0)
    assert place.scene.task == scene.task  # nothing else is in the way


def test_people_and_belts_are_clear_of_what_the_arm_is_fixed_to():
    """A trunk that reaches from behind to where the coworker of the standard cell walks to."""
    scene, place = on_a_body(a=(0.5, -0.6, -0.6), b=(1.05, -0.3, -0.6), radius=0.15)
    feet = np.array(place.scene.people["coworker"].end) + place.arm.pose(place.start)[:2, 3]
    rows = place.body.rows(place.start, np.zeros(6))[[link == BASE for link in place.body.links]]
    assert fitting._surfaces(feet[None], rows) >= fitting.STANDING
    assert place.scene.people["coworker"].end[0] > scene.people["coworker"].end[0]
    task = place.scene.task.placed(place.arm.pose(place.start)[:3, 3])
    assert fitting.belts_outside(task, place.body, place.start)


def test_only_links_that_the_task_brings_together_are_held_at_less():
    """The supervisor's distance from the floor, from things and between all other links stays."""
    scene = dataclasses.replace(Scene.load(STANDARD, robot="ur5e", variant="alone"), fit=False)
    pairs = len(Body(er.load("ur5e")).self_pairs)
    gaps = np.full(pairs, 0.5)
    wide = Cell(dataclasses.replace(scene, self_gaps=tuple(gaps)))
    gaps[3] = 0.01
    tight = Cell(dataclasses.replace(scene, self_gaps=tuple(gaps)))
    changed = np.flatnonzero(np.array(tight.controller.layout.self_gaps) != wide.controller.layout.self_gaps)
    assert changed.tolist() == [3]
    assert tight.controller.layout.self_gaps[3] == 0.01
    with pytest.raises(ConfigError, match="self_gaps: expected a distance for each of ur5e's"):
        Cell(dataclasses.replace(scene, self_gaps=(0.1, 0.2)))


def test_people_go_with_the_work():
    """A task two metres off comes to the arm, and who walks up to it, too."""
    task = PickAndPlace(home=(2.0, 1.0, 0.5), pick=(2.0, 1.3, 0.4), place=(2.0, 0.7, 0.4))
    walker, anybody = WalkSettings((4.0, 1.0), (2.5, 1.2)), Anybody()
    cell = Cell(Scene(origin="base", fit=True, task=task, people={"ann": walker, "bob": anybody}))
    found = cell.scene.task
    before, after = ((np.array(each.pick) + each.place)[:2] / 2 for each in (task, found))
    assert np.linalg.norm(after) < 1.0 < np.linalg.norm(before)
    people = cell.scene.people
    for name in ("start", "end"):
        np.testing.assert_allclose(
            getattr(people["ann"], name) - after, getattr(walker, name) - before, rtol=0, atol=1e-12
        )
    assert people["bob"] is anybody  # who cannot be moved stays


class Anybody(StandSettings):
    """A person whose settings have no `moved`."""

    moved = None


@pytest.mark.slow
def test_a_scene_that_is_not_to_be_fitted_is_refused_instead(tmp_path):
    scene = little(tmp_path, 0.3)
    name, nearest = refused(dataclasses.replace(scene, fit=False))
    cell = Cell(dataclasses.replace(scene, fit=False, check_reach=False))
    first = out_of_reach(cell, scene.task)[0]
    assert name == f"task.{first}"
    asked = np.array(getattr(scene.task, first))
    assert np.linalg.norm(asked - nearest) < np.linalg.norm(asked)  # nearer than where the tool starts
    assert out_of_reach(cell, dataclasses.replace(scene.task, **{first: tuple(nearest)})) == []


def refused(scene: Scene) -> tuple[str, list[float]]:
    """The name of the point, and the nearest one that is reached."""
    with pytest.raises(er.ConfigError) as error:
        Cell(scene)
    said = re.fullmatch(r"(?:.*\.toml: )?(task\.\w+): expected .*nearest one, \[(.*)\]", str(error.value))
    assert said, str(error.value)
    return said[1], [float(x) for x in said[2].split(",")]


def test_an_unreachable_point_is_refused_with_one_that_is_not():
    name, nearest = refused(Scene(task=PickAndPlace(place=(0.9, -0.3, -0.2))))
    assert name == "task.place"
    Cell(Scene(task=PickAndPlace(place=tuple(nearest))))
    name, nearest = refused(Scene(task=GoTo((0.0, 0.0, 2.0))))
    assert name == "task.point"
    Cell(Scene(task=GoTo(tuple(nearest))))


def test_the_nearest_point_is_the_nearest():
    _, nearest = refused(Scene(robot="planar2", origin="base", task=GoTo((2.0, 0.0, 2.0))))
    model = catalogue.load("planar2")
    length = float(np.linalg.norm(model.p[1]) + np.linalg.norm(model.tool[:3, 3]))
    shoulder = model.p[0]
    towards = np.array([2.0, 0.0, 2.0]) - shoulder
    straight = shoulder + length * towards / np.linalg.norm(towards)
    assert nearest == pytest.approx(straight, abs=0.02)  # stretched out: damped steps arrive slowly there


@pytest.mark.parametrize("size", [0.3, pytest.param(1.0, marks=pytest.mark.slow)])
def test_a_start_that_was_searched_for_is_in_the_scene_of_the_cell(tmp_path, fitted, size):
    cell = fitted[1] if size == 0.3 else Cell(little(tmp_path, size))  # whose task is as it was
    assert cell.scene.start == tuple(cell.start)


def test_a_scene_may_ask_for_points_that_are_out_of_reach():
    cell = Cell(Scene(task=GoTo((0.0, 0.0, 2.0)), check_reach=False))
    assert cell.task.goal.position[2] == pytest.approx(cell.origin[2] + 2.0)
