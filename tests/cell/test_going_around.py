"""Planning in a cell: a person who stands in the way is gone around, the run says so, and it can be repeated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from elbowroom.avoidance.planning.background import Background, Inline
from elbowroom.avoidance.planning.detour import RouteState
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.cell import Cell, GoTo, RealTime, Scene, run
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.people.settings import WalkSettings
from elbowroom.cell.pick_and_place import AVOID, TO_OBJECT, PickAndPlace
from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import record_to
from elbowroom.cell.task import Aiming, DraggedGoal

PLANNING = Planning()


def scene(seconds: float, planning: Planning | None = PLANNING, **changes) -> Scene:
    """The standard cell with a person where the tool goes across."""
    found = Scene.load(STANDARD, variant="around")
    controller = dataclasses.replace(found.controller, planning=planning)
    return dataclasses.replace(found, duration=seconds, controller=controller, **changes)


@pytest.fixture(scope="module")
def table():
    return run(Cell(scene(6.0))).table()


class TestStandingPerson:
    def test_holds_the_arm_up_without_planning(self):
        cell = Cell(scene(6.0, None))
        run(cell)
        assert cell.task.state != "pick"
        assert cell.task.before == "to_home" or cell.task.state == "to_home"

    def test_is_gone_around_within_three_seconds(self, table):
        """From where it stands still to the next state of its work, without contact and without a stop."""
        around = np.flatnonzero(table["route"] == RouteState.AROUND)
        assert len(around)
        assert table["t"][around[0]] < 3.0
        assert (table["state"] == TO_OBJECT).any()
        assert table["contacts"].max() == 0
        assert (table["clearance"] > 0.0).all()
        assert not any(verdict.startswith("STOP") for verdict in set(table["verdict"]))

    def test_one_who_walks_up_is_gone_around_within_three_seconds_of_standing(self):
        arrives = WalkSettings(
            start=(0.5, -1.2), end=(0.5, 0.15), speed=0.6, acceleration=1.0, pause=60.0, shape="standing"
        )
        table = run(Cell(scene(6.0, people={"coworker": arrives}))).table()
        walks = np.hypot(table["person_vx"], table["person_vy"]) > 0.01
        stands = table["t"][np.flatnonzero(walks)[-1]]
        around = table["t"][table["route"] == RouteState.AROUND][0]
        assert 2.0 < stands < around < stands + 3.0
        assert table["contacts"].max() == 0

    @pytest.mark.slow
    def test_the_work_is_done(self):
        alone, around = Cell(scene(30.0, None)), Cell(scene(30.0))
        run(alone)
        run(around)
        assert alone.task.cycles == 0
        assert around.task.cycles >= 2
        assert around.plant.contacts == 0

    def test_the_same_scene_gives_the_same_rows(self, table):
        again = run(Cell(scene(6.0))).table()
        for name, values in table.items():
            assert np.array_equal(values, again[name], equal_nan=values.dtype.kind == "f"), name

    def test_the_recording_says_it(self, table, tmp_path):
        cell = Cell(scene(2.5))
        with record_to(cell, tmp_path / "run.csv") as recording:
            run(cell, recording)
        back = read(tmp_path / "run.csv")
        assert np.array_equal(back["route"], table["route"][: len(back["route"])])
        part = back["route_part"][back["route"] == RouteState.AROUND]
        names = cell.people[0].actual.names
        assert {names[int(k)] for k in part} == {"torso"}
        assert "planning" in back.notes["scene.toml"]

    def test_the_command_says_it(self):
        cell = Cell(scene(4.0))
        cell.reset()
        said = set()
        for k in range(300):
            said.add(cell.step(k * cell.period).reason)
            cell.advance(k * cell.period, cell.period)
        assert "going around torso" in said

    def test_without_planning_the_columns_are_empty(self):
        table = run(Cell(scene(0.1, None))).table()
        assert np.isnan(table["route"]).all()


class TestTasks:
    def test_pick_and_place_aims_above_its_next_point(self):
        task = PickAndPlace().begin((0.0, 0.0, 0.0))
        assert isinstance(task, Aiming)
        assert np.allclose(task.aim, task.settings.up(task.settings.home))
        assert np.allclose(task.work, task.settings.home)

    def test_pick_and_place_rejoins_from_the_tool(self):
        task = PickAndPlace().begin((0.0, 0.0, 0.0))
        tool = np.zeros(3)
        for k in range(400):
            tool = np.array(task.step(0.01 * k, 0.01, tool, math.inf).position)
            if task.state == TO_OBJECT and k > 60:
                break
        task.step(5.0, 0.01, tool, 0.1)
        assert task.state == AVOID
        task.rejoin(np.array([0.1, 0.2, 0.3]))
        assert task.state == TO_OBJECT
        assert np.allclose(task.goal.position, [0.1, 0.2, 0.3])
        for k in range(2000):
            tool = np.array(task.step(6.0 + 0.01 * k, 0.01, tool, math.inf).position)
            if task.state == "pick":
                break
        assert task.state == "pick"

    def test_on_the_last_way_down_there_is_no_aim(self):
        task = PickAndPlace(home=(0.0, 0.0, 0.2)).begin((0.0, 0.0, 0.2))
        tool, seen = np.array([0.0, 0.0, 0.2]), []
        for k in range(1000):
            tool = np.array(task.step(0.01 * k, 0.01, tool, math.inf).position)
            if task.state == "pick":
                break
            if task.state == TO_OBJECT:
                seen.append((tool[2], task.aim is None))
        assert {down for height, down in seen if height < -0.15} == {True}
        assert (seen[0][1], task.aim) == (False, None)

    def test_go_to_aims_until_it_is_there(self):
        task = GoTo((0.3, 0.0, 0.0)).begin((0.0, 0.0, 0.0))
        assert np.allclose(task.aim, (0.3, 0.0, 0.0))
        task.step(0.0, 0.01, np.array([0.3, 0.0, 0.0]), math.inf)
        assert task.aim is None

    def test_a_dragged_goal_is_an_aim(self):
        task = DraggedGoal(PickAndPlace().begin((0.0, 0.0, 0.0)), (0.4, 0.1, 0.2))
        assert np.allclose(task.aim, (0.4, 0.1, 0.2))
        task.rejoin(np.zeros(3))


class TestBackground:
    def test_a_run_in_real_time_has_a_process_and_ends_it(self):
        cell, kinds = Cell(scene(0.05)), []
        run(cell, pace=RealTime(cell.period), progress=lambda k, n: kinds.append(type(cell.detour.planner)))
        assert set(kinds) == {Background}
        assert type(cell.detour.planner) is Inline

    def test_one_as_fast_as_possible_has_none(self):
        cell, kinds = Cell(scene(0.05)), []
        run(cell, progress=lambda k, n: kinds.append(type(cell.detour.planner)))
        assert set(kinds) == {Inline}
