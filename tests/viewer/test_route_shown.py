"""A way around on the page: said in the headline, drawn as a line, live and from a recording."""

from __future__ import annotations

import numpy as np
import pytest
from fake_page import Server, at_work, snapshot

from elbowroom.avoidance.planning.background import Background
from elbowroom.avoidance.planning.detour import RouteState
from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.runner import record_to
from elbowroom.viewer.panel.status import AMBER, ORANGE, detail, judged
from elbowroom.viewer.replay.recorded import Replay
from elbowroom.viewer.scene3d.scene import PageScene
from elbowroom.viewer.session.processes import SharedBuffer
from elbowroom.viewer.session.setup import Setup
from elbowroom.viewer.session.workplace import Workplace
from elbowroom.viewer.snapshot import Snapshot


@pytest.mark.parametrize(
    "state, waited, said, colour",
    [
        (RouteState.AROUND, 0.0, "going around torso: ", AMBER),
        (RouteState.AROUND, 5.0, "going around torso: ", AMBER),
        (RouteState.NO_WAY, 5.0, "waiting: no way around torso: ", ORANGE),
        (RouteState.OCCUPIED, 5.0, "waiting: torso occupies the goal: ", ORANGE),
        (RouteState.REACHABLE, 5.0, "waiting to go around torso: somebody moves who could reach the route: ", ORANGE),
        (RouteState.NONE, 5.0, "waiting for room: ", ORANGE),
    ],
)
def test_the_headline_says_which(state, waited, said, colour):
    shown = at_work(route_state=state, route_part="torso", waited=waited, status="AVOIDING")
    found, shade = judged(shown)
    assert found.startswith(said)
    assert shade == colour


def test_a_planner_that_does_not_answer_is_told_beside_what_the_arm_does():
    assert detail(at_work(route_state=RouteState.WITHOUT)) == "planner does not answer: going on without it"
    assert "for 5 s" in detail(at_work(route_state=RouteState.WITHOUT, waited=5.0))


def test_names_are_escaped():
    assert "<b>" not in judged(at_work(route_state=RouteState.AROUND, route_part="<b>"))[0]


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    path = tmp_path_factory.mktemp("around") / "run.csv"
    cell = Cell(Scene.load(STANDARD, variant="around"))
    with record_to(cell, path) as recording:
        run(cell, recording, cycles=280)
    return Replay(path)


def test_a_recording_shows_where_the_tool_went_on_its_route(replay):
    rows = np.flatnonzero(replay.table["route"] == RouteState.AROUND)
    first = Snapshot.from_row(replay, int(rows[0]))
    assert (first.route_state, first.route_part) == (RouteState.AROUND, "torso")
    assert len(first.route) > 2
    assert np.array_equal(first.route[0], replay.tool[rows[0]])
    assert judged(first)[0].startswith("going around torso")
    assert len(Snapshot.from_row(replay, 0).route) == 0


def test_a_number_that_is_no_state_is_none(replay, monkeypatch):
    monkeypatch.setitem(replay.table._columns, "route", np.full(len(replay), 99.5))
    assert Snapshot.from_row(replay, 3).route_state is RouteState.NONE


def test_the_live_cell_plans_beside_its_loop_when_asked_to():
    place = Workplace(SharedBuffer(), Setup(robot="panda", planning="on"))
    try:
        assert isinstance(place.cell.detour.planner, Background)
        assert place.alone.cell.detour is None  # nobody is in its way
        assert place.snapshot().scene.shown.planning == "on"
        old = place.cell
        place.build(place.setup.changed("planning", "off"), anew=False)
        assert place.cell.detour is None
        assert not isinstance(old.detour.planner, Background)  # its process has ended
    finally:
        place.cell.close()


def test_the_page_draws_the_route_while_there_is_one():
    server = Server()
    stage = PageScene(server)
    points = np.array([[0.0, 0.0, 0.5], [0.1, 0.0, 0.6], [0.2, 0.1, 0.6]])
    stage.show(snapshot(route=points))
    line = server.scene.things["/marks/route"]
    assert line.visible
    np.testing.assert_allclose(line.points[[0, -1], [0, 1]], points[[0, -1]], atol=1e-6)  # float32
    assert any(np.allclose(piece[0], points[1], atol=1e-6) for piece in line.points)  # and through the middle
    stage.show(snapshot())
    assert not line.visible
