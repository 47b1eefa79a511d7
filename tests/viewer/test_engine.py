"""The engine takes orders and makes pictures; here without its loop, so that every run is the same."""

from __future__ import annotations

import gc
import multiprocessing
import tracemalloc

import numpy as np
import pytest

from elbowroom.cell.record import read
from elbowroom.cell.runner import Cell
from elbowroom.model import catalogue
from elbowroom.viewer.board import Board
from elbowroom.viewer.engine import Engine
from elbowroom.viewer.setup import Setup


@pytest.fixture
def desk():
    """An engine and the end of the pipe that a page has."""
    page, orders = multiprocessing.Pipe()
    engine = Engine(orders, Board(), Setup(robot="panda"))
    yield engine, page
    engine.close()


def cycles(engine, count):
    for _ in range(count):
        engine.cycle()
        engine.obey()


def test_a_person_who_is_dragged_near_makes_the_arm_give_way(desk):
    engine, page = desk
    cycles(engine, 50)
    before = engine.picture()
    assert before["status"] in ("OK", "SLOWING_LIMIT")
    page.send(("drag", (-0.5, 0.0)))
    cycles(engine, 200)
    after = engine.picture()
    assert after["status"] == "AVOIDING"
    assert after["distance"] < before["distance"] - 0.2
    np.testing.assert_allclose(after["offset"], [-0.5, 0.0], atol=1e-3)
    np.testing.assert_allclose(
        after["people"][:, :2] - before["people"][:, :2], np.tile([-0.5, 0.0], (13, 1)), atol=1e-3
    )
    at, beside, link, part = after["nearest"]
    assert link in engine.cell.body.names
    assert part in engine.cell.people[0].actual.names
    # the axes' nearest points are as far apart as the distance between axes, for the pair that is nearest by surface
    assert np.linalg.norm(at - beside) >= after["axes"] - 1e-9


def test_numbers_are_tuned_at_once(desk):
    engine, page = desk
    cell = engine.cell
    page.send(("set", "influence", 99.0))
    page.send(("set", "max_speed", 0.3))
    cycles(engine, 1)
    assert engine.cell is cell
    assert engine.cell.controller.config.repulsion.influence == 1.5  # held
    assert engine.cell.controller.config.attraction.max_speed == 0.3
    assert engine.picture()["shown"]["max_speed"] == 0.3


def test_another_controller_takes_over_where_the_last_one_was(desk):
    engine, page = desk
    page.send(("set", "influence", 0.7))
    page.send(("drag", (-0.2, 0.1)))
    cycles(engine, 300)
    before, task = engine.picture(), engine.cell.task
    page.send(("set", "controller", "F"))
    engine.obey()
    after = engine.picture()
    assert engine.generation == 2
    assert engine.cell.controller.config.controller == "F"
    assert engine.cell.controller.config.repulsion.influence == 0.7
    assert engine.cell.task is task
    assert after["t"] == pytest.approx(before["t"] + 0.01)  # it has made its first cycle
    assert (after["cycles"], after["contacts"]) == (before["cycles"], before["contacts"])
    for key in ("q", "people", "offset", "tool", "goal"):
        # in that cycle nothing went faster than 2.7 m/s or rad/s
        np.testing.assert_allclose(after[key], before[key], atol=0.027, err_msg=key)
    at, speeds = [], []
    for _ in range(100):
        cycles(engine, 1)
        at.append(engine.cell.state.q.copy())
        speeds.append(np.abs(engine.cell.state.qd).max())
    assert not engine.picture()["stopped"]
    assert max(speeds) > 0.01  # it is at work again
    # joints go on from where they were: no cycle moves them by more than their fastest, 2.7 rad/s, in 10 ms
    assert np.abs(np.diff([before["q"], *at], axis=0)).max() < 0.027


def test_a_stop_outlives_the_controller(desk):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 60)
    page.send(("set", "limits", "none"))
    cycles(engine, 3)  # fewer than after which the operator of this scene would reset it
    picture = engine.picture()
    assert picture["stopped"]
    assert "asked to" in picture["reason"]


def test_another_arm_begins_anew(desk):
    engine, page = desk
    cycles(engine, 20)
    page.send(("set", "robot", "puma560"))
    engine.obey()
    picture = engine.picture()
    assert (picture["generation"], picture["t"], picture["shown"]["robot"]) == (2, 0.01, "puma560")


@pytest.mark.parametrize(("name", "value"), [("robot", "puma560"), ("scenario", "test 1"), ("controller", "F")])
def test_what_is_chosen_in_a_pause_is_shown_at_once(desk, name, value):
    engine, page = desk
    page.send(("pause",))
    page.send(("set", name, value))
    engine.obey()
    picture = engine.picture()
    assert not picture["running"]
    assert np.abs(picture["arm"][:, :6]).max() > 0.1  # capsules have their places
    assert all(np.isfinite(picture[key]).all() for key in ("arm", "attraction", "repulsion", "tool"))
    assert picture["nearest"][2] in engine.cell.body.names


def test_a_reset_ends_a_recording(desk, tmp_path):
    engine, page = desk
    page.send(("record", str(tmp_path / "run.csv")))
    engine.obey()
    cycles(engine, 20)
    page.send(("reset",))
    engine.obey()
    assert engine.recording is None
    assert (np.diff(read(tmp_path / "run.csv")["t"]) > 0).all()
    assert "20 cycles" in engine.saved


def test_while_another_arm_is_made_the_board_says_so(desk, monkeypatch):
    engine, page = desk
    cycles(engine, 5)
    told = []
    monkeypatch.setattr(engine.board, "put", lambda picture: told.append(picture["busy"]))
    page.send(("set", "robot", "puma560"))
    engine.obey()
    assert told == ["loading puma560"]
    assert engine.busy == ""
    page.send(("set", "scenario", "test 7"))
    engine.obey()
    page.send(("set", "robot", "panda"))  # which test 7 refuses
    engine.obey()
    assert "puma560" in engine.problem
    assert engine.busy == ""


def test_of_values_that_follow_each_other_the_last_counts(desk):
    engine, page = desk
    for k in range(10):
        page.send(("set", "controller", "FK"[k % 2]))
    page.send(("drag", (0.1, 0.0)))
    page.send(("drag", (0.2, 0.0)))
    page.send(("let_go",))
    page.send(("drag", (0.3, 0.0)))
    engine.obey()
    assert engine.generation == 1  # K, as it was
    assert engine.people[0]._body.wanted.tolist() == [0.3, 0.0]


def test_hands_and_links_are_in_the_picture(desk):
    engine, page = desk
    page.send(("hand", "left", (0.1, 0.0, 0.2)))
    cycles(engine, 150)
    picture, names = engine.picture(), engine.cell.people[0].actual.names
    for side in ("left", "right"):
        row = picture["people"][names.index(f"{side}_hand")]
        np.testing.assert_allclose(picture["hands"][side], 0.5 * (row[:3] + row[3:6]), atol=1e-12)
    np.testing.assert_allclose(picture["hand_offsets"]["left"], [0.1, 0.0, 0.2], atol=1e-3)
    assert not picture["hand_offsets"]["right"].any()
    arm = engine.cell.arm
    assert picture["poses"].shape == (arm.n + 1, 4, 4)
    np.testing.assert_array_equal(picture["poses"][0], arm.model.base)
    np.testing.assert_array_equal(picture["poses"][1:], arm.poses(picture["q"]))
    assert len(picture["arm_links"]) == len(picture["arm"])
    assert len(picture["people_names"]) == len(picture["people"])
    assert picture["shells"] == {"floor": None, "inner": None, "outer": None, "center": None, "influence": None}
    assert picture["visuals"] == ()


def test_a_cylinder_has_no_hands(desk):
    engine, page = desk
    page.send(("set", "scenario", "test 1"))
    page.send(("hand", "left", (0.1, 0.0, 0.0)))
    engine.obey()
    picture = engine.picture()
    assert (picture["hands"], picture["hand_offsets"]) == ({}, {})
    assert "left" in engine.problem


def test_it_carries_from_the_grip_to_the_release(desk):
    engine, _ = desk
    seen = set()
    for _ in range(900):
        engine.cycle()
        picture = engine.picture()
        seen.add((picture["state"], picture["carrying"]))
    assert ("to_goal", True) in seen
    assert ("to_object", False) in seen
    assert ("to_object", True) not in seen


@pytest.mark.parametrize("robot", catalogue.names())
def test_every_arm_does_the_work_of_the_cell(robot):
    """Two cycles of an object take some 15 s; within 25 s nobody touches anybody."""
    cell = Cell(Setup(robot=robot).scene())
    for k in range(round(25.0 / cell.period)):
        cell.step(k * cell.period)
        cell.advance(k * cell.period, cell.period)
    assert cell.task.cycles >= 2
    assert cell.plant.contacts == 0
    assert cell.guard.latched is None


def test_a_long_run_keeps_no_memory(desk):
    """F24: the loop runs with the garbage collector off, so nothing in it may be garbage that only that would find."""
    engine, page = desk

    def go(count):
        for k in range(count):
            page.send(("drag", (0.3 * (k % 7), 0.0)))
            cycles(engine, 1)
            engine.board.put(engine.picture())

    gc.disable()
    try:
        tracemalloc.start()
        go(700)  # the supervisor's flight recorder, 5 s long, has been filled
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        go(500)
        found = gc.collect()  # and what Python keeps of freed tuples, for the next ones, is given back
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert found < 50  # one cycle of references in ten cycles of the loop would be as many
    assert after - before < 50e3  # bytes: 100 a cycle would add up to 36 MB in an hour


def test_a_recording_without_end_keeps_no_rows(desk, tmp_path):
    engine, page = desk
    page.send(("record", str(tmp_path / "run.csv")))
    engine.obey()
    assert engine.recording.keep is False


@pytest.mark.parametrize(
    "order",
    [("set", "influence", "much"), ("dance",), ("drag", (float("nan"), 0.0)), ("set", "robot", "r2d2"), ("set",)],
)
def test_an_order_that_makes_no_sense_changes_nothing_and_is_told(desk, order):
    engine, page = desk
    setup, generation = engine.setup, engine.generation
    page.send(order)
    cycles(engine, 1)
    assert (engine.setup, engine.generation) == (setup, generation)
    assert engine.problem
    assert engine.picture()["problem"] == engine.problem


def test_stop_and_resume(desk):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 60)
    assert engine.picture()["stopped"]
    assert np.abs(engine.cell.state.qd).max() < 1e-9
    page.send(("resume",))
    cycles(engine, 60)
    assert not engine.picture()["stopped"]


def test_a_recording_of_what_was_shown(desk, tmp_path):
    engine, page = desk
    page.send(("record", str(tmp_path / "run.csv")))
    engine.obey()
    cycles(engine, 30)
    page.send(("save",))
    engine.obey()
    table = read(tmp_path / "run.csv")
    assert len(table["t"]) == 30
    assert table.notes["scenario"] == "cell"


def test_it_ends_when_the_page_has_gone(desk):
    engine, page = desk
    page.close()
    engine.obey()
    assert engine.quit
