"""The engine takes orders and makes pictures; here without its loop, so that every run is the same."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import tracemalloc

import numpy as np
import pytest

from elbowroom.avoidance import State
from elbowroom.cell.people.dragged import DraggedPerson
from elbowroom.cell.people.settings import Seen
from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import Cell
from elbowroom.model import catalogue
from elbowroom.model.visuals import visuals_of
from elbowroom.viewer.panel.status import GREEN
from elbowroom.viewer.session.engine import Engine
from elbowroom.viewer.session.processes import SharedBuffer
from elbowroom.viewer.session.setup import SCENARIOS, Setup, chosen
from elbowroom.viewer.session.workplace import TOO_LARGE
from marks import slow_where
from referees import thinned


@pytest.fixture
def desk():
    """An engine and the end of the pipe that a page has."""
    page, orders = multiprocessing.Pipe()
    engine = Engine(orders, SharedBuffer(), Setup(robot="panda"))
    yield engine, page
    engine.close()


def cycles(engine, count):
    for _ in range(count):
        engine.control_step()
        engine.obey()


def test_a_person_who_is_dragged_near_makes_the_arm_give_way(desk):
    engine, page = desk
    cycles(engine, 50)
    before = engine.snapshot()
    assert before.status in ("OK", "SLOWING_LIMIT")
    page.send(("drag", (-0.5, 0.0)))
    cycles(engine, 200)
    after = engine.snapshot()
    assert after.law_status == "AVOIDING"
    assert after.distance < before.distance - 0.2
    np.testing.assert_allclose(after.offset, [-0.5, 0.0], atol=1e-3)
    np.testing.assert_allclose(after.people[:, :2] - before.people[:, :2], np.tile([-0.5, 0.0], (13, 1)), atol=1e-3)
    at, beside, link, part = after.nearest
    assert link in engine.cell.body.names
    assert part in engine.cell.people[0].actual.names
    # the axes' nearest points are as far apart as the distance between axes, for the pair that is nearest by surface
    assert np.linalg.norm(at - beside) >= after.axes - 1e-9


def test_the_last_minute_has_no_gap_where_nobody_looked(desk):
    engine, page = desk
    seen = []
    for _ in range(200):  # 2 s
        engine.control_step()
        engine.show()
        seen.append(engine.board.look() if len(seen) in (0, 199) else None)  # a page that is slow to be built
    assert [k for k, _ in seen[0].minute] == [0]
    assert [k for k, _ in seen[-1].minute] == [0, 1, 2, 3, 4]
    assert {colour for _, colour in seen[-1].minute} == {GREEN}
    page.send(("pause",))
    page.send(("reset",))
    cycles(engine, 1)
    engine.show()
    assert engine.board.look().minute == ()
    engine.control_step()  # a control step by hand, while it is paused
    engine.show()
    engine.show()
    assert engine.board.look().minute == ((0, GREEN),)
    assert not engine.board.look().running


def test_numbers_are_tuned_at_once(desk):
    engine, page = desk
    cell = engine.cell
    page.send(("set", "influence", 99.0))
    page.send(("set", "max_speed", 0.3))
    cycles(engine, 1)
    assert engine.cell is cell
    assert engine.cell.controller.config.repulsion.influence == 1.5  # held
    assert engine.cell.controller.config.attraction.max_speed == 0.3
    assert engine.snapshot().scene.shown.max_speed == 0.3


def test_another_controller_takes_over_where_the_last_one_was(desk):
    engine, page = desk
    page.send(("set", "influence", 0.7))
    page.send(("drag", (-0.2, 0.1)))
    cycles(engine, 300)
    before, task = engine.snapshot(), engine.cell.task
    page.send(("set", "controller", "F"))
    engine.obey()
    after = engine.snapshot()
    assert engine.generation == 2
    assert engine.cell.controller.config.controller == "F"
    assert engine.cell.controller.config.repulsion.influence == 0.7
    assert engine.cell.task is task
    assert after.t == pytest.approx(before.t + 0.01)  # it has made its first cycle
    assert (after.cycles, after.contacts) == (before.cycles, before.contacts)
    for key in ("q", "people", "offset", "tool", "goal"):
        # in that cycle nothing went faster than 2.7 m/s or rad/s
        np.testing.assert_allclose(getattr(after, key), getattr(before, key), atol=0.027, err_msg=key)
    at, speeds = [], []
    for _ in range(100):
        cycles(engine, 1)
        at.append(engine.cell.state.q.copy())
        speeds.append(np.abs(engine.cell.state.qd).max())
    assert not engine.snapshot().stopped
    assert max(speeds) > 0.01  # it is at work again
    # joints go on from where they were: no cycle moves them by more than their fastest, 2.7 rad/s, in 10 ms
    assert np.abs(np.diff([before.q, *at], axis=0)).max() < 0.027


def test_a_stop_outlives_the_controller(desk):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 60)
    page.send(("set", "limits", "none"))
    cycles(engine, 3)
    picture = engine.snapshot()
    assert picture.stopped
    assert "asked to" in picture.reason


def test_another_arm_begins_anew(desk):
    engine, page = desk
    cycles(engine, 20)
    page.send(("set", "robot", "puma560"))
    engine.obey()
    picture = engine.snapshot()
    assert (picture.generation, picture.t, picture.scene.shown.robot) == (2, 0.01, "puma560")


@pytest.mark.parametrize(("name", "value"), [("robot", "puma560"), ("scenario", "test 1"), ("controller", "F")])
def test_what_is_chosen_in_a_pause_is_shown_at_once(desk, name, value):
    engine, page = desk
    page.send(("pause",))
    page.send(("set", name, value))
    engine.obey()
    picture = engine.snapshot()
    assert not picture.running
    assert np.abs(picture.arm[:, :6]).max() > 0.1  # capsules have their places
    assert all(np.isfinite(getattr(picture, key)).all() for key in ("arm", "attraction", "repulsion", "tool"))
    assert picture.nearest[2] in engine.cell.body.names


def test_a_reset_ends_a_recording(desk, tmp_path):
    engine, page = desk
    page.send(("record", str(tmp_path / "run.csv")))
    engine.obey()
    cycles(engine, 20)
    page.send(("reset",))
    engine.obey()
    assert engine.tape.recording is None
    assert (np.diff(read(tmp_path / "run.csv")["t"]) > 0).all()
    assert "20 control steps" in engine.tape.saved


def test_what_toggles_goes_by_what_is_so_now(desk, tmp_path):
    """Not by the board, which may be older: two presses of a key are there and back, however fast."""
    engine, page = desk
    for order in (("pause",), ("toggle",), ("toggle",), ("toggle",)):
        page.send(order)
    engine.obey()
    assert engine.running
    for name in ("one.csv", "two.csv"):
        page.send(("tape", str(tmp_path / name)))
    cycles(engine, 1)
    assert engine.snapshot().saved.startswith(str(tmp_path / "one.csv"))
    assert engine.snapshot().recording == ""
    assert not (tmp_path / "two.csv").exists()


def test_while_another_arm_is_made_the_board_says_so(desk, monkeypatch):
    engine, page = desk
    cycles(engine, 5)
    told = []
    monkeypatch.setattr(engine.board, "put", lambda picture: told.append(picture.busy))
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
    picture, names = engine.snapshot(), engine.cell.people[0].actual.names
    for side in ("left", "right"):
        row = picture.people[names.index(f"{side}_hand")]
        np.testing.assert_allclose(picture.hands[side], 0.5 * (row[:3] + row[3:6]), atol=1e-12)
    np.testing.assert_allclose(picture.hand_offsets["left"], [0.1, 0.0, 0.2], atol=1e-3)
    assert not picture.hand_offsets["right"].any()
    arm = engine.cell.arm
    assert picture.poses.shape == (arm.n + 1, 4, 4)
    np.testing.assert_array_equal(picture.poses[0], arm.model.base)
    np.testing.assert_array_equal(picture.poses[1:], arm.poses(picture.q))
    assert len(picture.scene.arm_links) == len(picture.arm)
    assert len(picture.scene.people_names) == len(picture.people)
    walls = engine.cell.controller.config.workspace
    assert walls is not None  # the cell of the page has a floor and an outer sphere to show
    assert picture.scene.workspace == walls
    assert picture.scene.visuals == visuals_of("panda")  # none without the wheel that has them


def test_a_cylinder_has_no_hands(desk):
    engine, page = desk
    page.send(("set", "scenario", "test 1"))
    page.send(("hand", "left", (0.1, 0.0, 0.0)))
    engine.obey()
    picture = engine.snapshot()
    assert (picture.hands, picture.hand_offsets) == ({}, {})
    assert "left" in engine.problem


def test_it_carries_from_the_grip_to_the_release(desk):
    engine, _ = desk
    seen = set()
    for _ in range(900):
        engine.control_step()
        picture = engine.snapshot()
        seen.add((picture.state, picture.carrying))
    assert ("to_goal", True) in seen
    assert ("to_object", False) in seen
    assert ("to_object", True) not in seen


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_starts_and_runs(scenario, take):
    setup = chosen("puma560", scenario=scenario, motion=str(take))  # test 7 is about a joint of this one
    page, orders = multiprocessing.Pipe()
    engine = Engine(orders, SharedBuffer(), setup)
    cycles(engine, 150)
    page.close()
    shown = engine.snapshot()
    assert (shown.problem, shown.stopped) == ("", False)
    assert shown.t > 1.4
    assert shown.scene.shown.scenario == scenario
    assert len(shown.people)


@pytest.mark.parametrize("robot", thinned(catalogue.names(), {"panda", "planar2", "puma560"}))
def test_every_arm_does_the_work_of_the_cell(robot):
    """Two cycles of an object take some 15 s; within 25 s nobody touches anybody."""
    cell = Cell(Setup(robot=robot).scene())
    for k in range(round(25.0 / cell.period)):
        cell.step(k * cell.period)
        cell.advance(k * cell.period, cell.period)
    assert cell.task.cycles >= 2
    assert cell.plant.contacts == 0
    assert cell.guard.latched is None


@pytest.mark.slow
def test_a_long_run_keeps_no_memory(desk):
    """F24: the loop runs with the garbage collector off, so nothing in it may be garbage that only that would find."""
    engine, page = desk

    def go(count):
        for k in range(count):
            page.send(("drag", (0.3 * (k % 7), 0.0)))
            cycles(engine, 1)
            engine.board.put(engine.snapshot())

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
    assert engine.tape.recording.keep is False


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
    assert engine.snapshot().problem == engine.problem


def test_stop_and_resume(desk):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 60)
    assert engine.snapshot().stopped
    assert np.abs(engine.cell.state.qd).max() < 1e-9
    page.send(("resume",))
    cycles(engine, 60)
    assert not engine.snapshot().stopped


def stands(engine, count):
    """Whether the arm does not move at all in so many cycles."""
    at = engine.cell.state.q.copy()
    for _ in range(count):
        cycles(engine, 1)
        if (engine.cell.state.q != at).any() or engine.cell.state.qd.any():
            return False
    return True


def test_nobody_but_the_page_ends_a_stop(desk):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 60)
    assert stands(engine, 500)
    assert engine.snapshot().stopped


class Blind:
    """A sensor that has shown the same since t = 1 s."""

    def __init__(self, who):
        self.who, self.names, self.duration, self.point = who, who.names, who.duration, who.point

    def look(self, t, out):
        return self.who.look(min(t, 1.0), out)


def test_a_supervisors_own_stop_stays_too(desk):
    engine, page = desk
    who = engine.cell.people[0]
    engine.cell.people[0] = Seen(Blind(who.actual), who.actual)
    cycles(engine, 250)
    picture = engine.snapshot()
    assert (picture.stopped, picture.status, picture.verdict) == (True, *["STOP_HUMAN_STALE"] * 2)
    reason = engine.cell.guard.reason
    assert picture.reason == reason
    assert stands(engine, 500)
    page.send(("resume",))
    cycles(engine, 1)
    assert "there is still a reason" in engine.problem
    assert engine.snapshot().stopped
    for supervision in ("watch", "off", "stop"):
        page.send(("set", "supervision", supervision))
        cycles(engine, 1)
        assert engine.snapshot().reason == reason


@pytest.mark.parametrize("supervision", ["stop", "watch", "off"])
def test_a_stop_is_a_stop_whatever_the_supervisor_may_do(desk, supervision):
    engine, page = desk
    page.send(("set", "supervision", supervision))
    cycles(engine, 100)
    assert np.abs(engine.cell.state.qd).max() > 0.01
    page.send(("stop",))
    engine.obey()
    picture = engine.snapshot()
    assert (picture.stopped, picture.scene.supervision) == (True, supervision)
    assert picture.running is (supervision == "stop")
    if supervision == "stop":
        cycles(engine, 60)  # on its way to a standstill
    assert stands(engine, 100)
    page.send(("pause",))
    page.send(("play",))
    engine.obey()
    assert engine.problem == "the stop stays: press go on"
    page.send(("step",))
    engine.obey()
    assert stands(engine, 5)
    page.send(("resume",))
    page.send(("play",))
    cycles(engine, 60)
    picture = engine.snapshot()
    assert (picture.stopped, picture.reason, picture.running, engine.problem) == (False, "", True, "")
    assert np.abs(engine.cell.state.qd).max() > 0.01


@pytest.mark.parametrize("ran", [True, False])
def test_go_on_leaves_a_pause_as_it_was(desk, ran):
    engine, page = desk
    for order in (("set", "supervision", "off"), ("play" if ran else "pause",), ("stop",), ("resume",)):
        page.send(order)
    engine.obey()
    assert (engine.running, engine.held) == (ran, "")


def test_a_supervisor_that_watches_would_stop_and_does_not(desk):
    engine, page = desk
    page.send(("set", "supervision", "watch"))
    engine.obey()
    who = engine.cell.people[0]
    engine.cell.people[0] = Seen(Blind(who.actual), who.actual)
    cycles(engine, 50)
    assert engine.snapshot().would_stop is False
    cycles(engine, 200)
    picture = engine.snapshot()
    assert (picture.stopped, picture.would_stop, picture.scene.supervision) == (False, True, "watch")
    assert picture.reason
    assert not stands(engine, 5)


@pytest.mark.parametrize(
    "change",
    slow_where(
        lambda change: change in (("robot", "ur5e"), ("supervision", "watch")),
        [("supervision", "off"), ("supervision", "watch"), ("controller", "F"), ("robot", "ur5e"), ("kp", 2.0)],
    ),
)
@pytest.mark.parametrize("paused", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("latched", [False, True])
def test_no_change_ends_a_stop(desk, change, paused, latched):
    engine, page = desk
    cycles(engine, 100)
    page.send(("pause" if paused else "play",))
    page.send(("stop",))
    if latched:
        cycles(engine, 60)
    page.send(("set", *change))
    page.send(("play",))
    engine.obey()
    assert engine.snapshot().stopped
    cycles(engine, 60)  # one that was not latched comes to a standstill, or has one
    assert stands(engine, 30)
    page.send(("set", "supervision", "stop"))
    cycles(engine, 1)
    page.send(("reset",))
    cycles(engine, 1)
    assert stands(engine, 30)
    assert engine.snapshot().reason == "asked to on the page"
    page.send(("resume",))
    page.send(("play",))
    cycles(engine, 60)
    assert not engine.snapshot().stopped
    assert np.abs(engine.cell.state.qd).max() > 0.01


@pytest.mark.parametrize("supervision", ["watch", "off"])
def test_a_stop_without_its_supervisor_holds_the_arm_where_it_is(desk, supervision):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 60)
    at = engine.cell.state.q.copy()
    for order in (("set", "supervision", supervision), ("set", "controller", "F"), ("set", "limits", "none")):
        page.send(order)
        engine.obey()
        assert not engine.snapshot().running
        found = State(at)
        engine.cell.plant.read(found)  # after the cycle that a new controller makes, to be shown
        np.testing.assert_array_equal(found.q, at)
        assert not found.qd.any()


def test_a_stop_in_a_pause_is_told_at_once_and_can_be_taken_back(desk):
    engine, page = desk
    page.send(("pause",))
    page.send(("stop",))
    engine.obey()
    assert engine.snapshot().stopped
    page.send(("resume",))
    page.send(("play",))
    engine.obey()
    cycles(engine, 60)
    assert not engine.snapshot().stopped


def test_a_pause_on_the_way_to_a_standstill_is_no_trap(desk):
    engine, page = desk
    cycles(engine, 100)
    page.send(("stop",))
    cycles(engine, 2)
    page.send(("pause",))
    page.send(("resume",))
    engine.obey()
    assert engine.problem == "the stop stays: the arm still moves"
    assert engine.snapshot().stopped
    assert engine.running  # else it would never stand
    cycles(engine, 60)
    page.send(("resume",))
    engine.obey()
    assert not engine.snapshot().stopped


@pytest.mark.parametrize("order", [("reset",), (), 5, ("drag",), ("set", [], {})])
def test_no_order_ends_the_engine(desk, order, monkeypatch, caplog):
    engine, page = desk
    monkeypatch.setattr(engine.cell.plant, "reset", lambda q: 1 / 0)
    page.send(order)
    page.send(("pause",))
    with caplog.at_level(logging.ERROR, "elbowroom.viewer"):
        engine._obey, told = watched(engine)
        engine.obey()
    assert not engine.running  # the next order was taken
    assert told or "an order failed" in caplog.text
    if order == ("reset",):
        assert "ZeroDivisionError" in caplog.text
        page.send(order)
        engine.obey()
        assert engine.problem == "ZeroDivisionError: division by zero"


def watched(engine):
    """The engine's `_obey`, and what it raised that is an ordinary refusal."""
    told, real = [], engine._obey

    def obey(*order):
        try:
            real(*order)
        except ValueError as error:
            told.append(error)
            raise

    return obey, told


@pytest.mark.parametrize("where", ["cycle", "snapshot"])
def test_what_goes_wrong_in_the_loop_is_a_stop(desk, where, monkeypatch, caplog):
    engine, page = desk
    cycles(engine, 50)
    with monkeypatch.context() as broken, caplog.at_level(logging.ERROR, "elbowroom.viewer"):
        broken.setattr(*((engine.cell, "step") if where == "cycle" else (engine, "snapshot")), lambda *_: [][1])
        cycles(engine, 1)
        engine.show()
        engine.show()
    picture = engine.snapshot()
    assert (picture.stopped, picture.running) == (True, False)
    assert picture.reason == picture.problem == "IndexError: list index out of range"
    assert caplog.text.count("Traceback") == 1
    page.send(("resume",))
    engine.obey()
    cycles(engine, 60)
    assert not engine.held
    assert np.abs(engine.cell.state.qd).max() > 0.01


def test_the_first_person_is_dragged_and_nobody_else(desk):
    engine, page = desk
    who = engine.cell.people[0]
    other = DraggedPerson(who.actual.who)
    engine.cell.people.append(Seen(other, other))  # beside the cell's own places, to be dragged or not
    for order in (("drag", (0.3, 0.0)), ("hand", "left", (0.1, 0.0, 0.0))):
        page.send(order)
    engine.obey()
    assert who.actual._body.wanted.tolist() == [0.3, 0.0]
    assert who.actual._hands["left"].wanted.any()
    assert not other._body.wanted.any()
    assert not other._hands["left"].wanted.any()


def test_a_picture_that_is_too_large_is_shown_without_its_meshes_and_told():
    _, orders = multiprocessing.Pipe()
    engine = Engine(orders, SharedBuffer(30_000), Setup(robot="planar2"))  # bytes: a picture takes some 8000
    engine.show()
    assert engine.board.look().problem == ""
    engine.build(engine.setup)
    engine.visuals = tuple(range(30_000))
    engine.show()
    seen = engine.board.look()
    assert (seen.problem, seen.scene.visuals) == (TOO_LARGE, ())


def test_a_change_of_settings_is_another_file_of_the_recording(desk, tmp_path):
    engine, page = desk
    (tmp_path / "run-3.csv").write_text("not ours")
    page.send(("record", str(tmp_path / "run.csv")))
    cycles(engine, 1)
    cycles(engine, 20)
    page.send(("set", "influence", 0.7))
    page.send(("set", "gain", 0.33))  # before there is a row: the same file
    cycles(engine, 31)  # one before the order
    assert engine.snapshot().recording == str(tmp_path / "run-2.csv")
    assert "run.csv (21 control steps)" in engine.snapshot().saved
    page.send(("set", "controller", "F"))
    engine.obey()
    page.send(("set", "robot", "planar2"))
    engine.obey()
    cycles(engine, 5)
    page.send(("save",))
    engine.obey()
    tables = [read(tmp_path / f"run{part}.csv") for part in ("", "-2", "-4", "-5")]
    assert [len(table["t"]) for table in tables] == [21, 30, 1, 6]
    joined = np.concatenate([table["t"] for table in tables[:3]])
    np.testing.assert_allclose(np.diff(joined), 0.01, atol=1e-9)  # no cycle is lost between two files
    assert [table.notes.get("influence") for table in tables] == [None, "0.7", "0.7", "0.7"]
    assert ["influence = 0.7" in table.notes["scene.toml"] for table in tables] == [False, True, True, True]
    assert [table.notes.get("gain") for table in tables] == [None, "0.33", "0.33", "0.33"]
    assert [table.notes.get("controller") for table in tables] == [None, None, "F", "F"]
    assert [table.notes["robot"] for table in tables] == ["panda"] * 3 + ["planar2"]
    assert engine.snapshot().saved == f"{tmp_path / 'run.csv'} to run-5.csv (58 control steps in 4 files)"
    assert (tmp_path / "run-3.csv").read_text() == "not ours"


def test_a_next_file_that_cannot_be_is_told(desk, tmp_path):
    engine, page = desk
    folder = tmp_path / "out"
    folder.mkdir()
    page.send(("record", str(folder / "run.csv")))
    cycles(engine, 5)
    (folder / "run.csv").unlink()
    folder.rmdir()
    page.send(("set", "influence", 0.8))
    cycles(engine, 5)
    picture = engine.snapshot()
    assert "the recording has ended" in picture.disk
    assert picture.recording == ""
    assert picture.scene.shown.influence == 0.8


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


# --- What is moved by hand, and what it costs ---


def test_a_person_in_the_way_is_waited_for_and_the_work_falls_behind_an_undisturbed_arm(desk):
    engine, page = desk
    page.send(("drag", (-0.62, -0.25)))
    engine.obey()
    cycles(engine, 3000)
    waits = engine.snapshot()
    assert waits.waited > 1.0
    assert 0.0 < waits.farther < 1.0
    assert waits.undisturbed > waits.cycles
    assert waits.safety.had == waits.distance
    assert waits.safety.needed > engine.cell.guard.limits.clearance
    page.send(("drag", (-0.62 + 2 * waits.farther + 0.3, -0.25)))
    cycles(engine, 400)
    assert engine.snapshot().waited == 0.0
    engine.restart()
    again = engine.snapshot()
    assert (again.undisturbed, again.cycles, again.waited) == (0, 0, 0.0)


def test_with_nobody_near_nothing_is_lost(desk):
    engine, page = desk
    page.send(("drag", (3.0, 0.0)))
    engine.obey()
    cycles(engine, 1800)
    assert engine.snapshot().cycles == engine.snapshot().undisturbed > 0
    page.send(("set", "controller", "F"))  # both take over where they were
    cycles(engine, 2)
    assert engine.snapshot().cycles == engine.snapshot().undisturbed > 0


def test_the_tool_follows_a_goal_that_is_dragged_and_then_works_on(desk):
    engine, page = desk
    cycles(engine, 100)
    place = engine.cell.tool + np.array([-0.1, 0.05, 0.15])
    page.send(("goal", tuple(place)))
    cycles(engine, 600)
    there = engine.snapshot()
    assert there.dragged
    np.testing.assert_allclose(there.tool, place, atol=0.02)
    page.send(("work_on",))
    cycles(engine, 2500)
    assert not engine.snapshot().dragged
    assert engine.snapshot().cycles > there.cycles
    for wrong in ((9.0, 0.0, 0.0), (float("nan"), 0.0, 0.0), ("x", 0, 0), (1.0, 2.0)):
        page.send(("goal", wrong))
        engine.obey()
        assert engine.problem
        assert not engine.snapshot().dragged


def test_joints_are_set_by_hand_while_paused_and_the_work_goes_on_from_there(desk):
    engine, page = desk
    cycles(engine, 20)
    page.send(("joint", 0, 0.3))
    engine.obey()
    assert "pause first" in engine.problem
    page.send(("pause",))
    page.send(("joint", 0, 0.3))
    page.send(("joint", 1, 99.0))
    engine.obey()
    shown, generation = engine.snapshot(), engine.generation
    assert shown.q[0] == pytest.approx(0.3, abs=0.02)  # a cycle of 10 ms has passed, so that there is a picture
    assert shown.q[1] == pytest.approx(shown.scene.upper[1], abs=0.02)
    np.testing.assert_allclose(shown.tool, engine.cell.arm.pose(shown.q)[:3, 3], atol=0.02)
    assert not shown.stopped
    page.send(("joint", 9, 0.0))
    engine.obey()
    assert "joint: expected" in engine.problem
    page.send(("play",))
    cycles(engine, 300)
    assert not engine.snapshot().stopped
    assert engine.generation == generation  # the page need not be built anew
