"""The engine takes orders and makes pictures; here without its loop, so that every run is the same."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from elbowroom.cell.record import read
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


def test_numbers_are_tuned_at_once_and_structure_makes_a_new_cell(desk):
    engine, page = desk
    cell = engine.cell
    page.send(("set", "influence", 99.0))
    cycles(engine, 1)
    assert engine.cell is cell
    assert engine.cell.controller.config.repulsion.influence == 1.5  # held
    page.send(("set", "controller", "F"))
    cycles(engine, 1)
    assert engine.generation == 2
    assert engine.cell.controller.config.controller == "F"
    assert engine.cell.controller.config.repulsion.influence == 1.5


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
