"""What a person is taken by: where handles are, what dragging orders, and what no page can make them order."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from fake_page import Server, person, snapshot
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.viewer.session import drag_handles
from elbowroom.viewer.session.drag_handles import DragHandles, cut, over_floor

EYE = (4.0, -3.0, 1.5)


class Cell:
    """Keeps orders, and looks as told."""

    def __init__(self) -> None:
        self.server, self.orders, self.now = Server(), [], snapshot()
        self.grips = DragHandles(self.server.scene, lambda *order: self.orders.append(order), lambda: self.now)

    def show(self, **changes):
        self.now = snapshot(**changes)
        self.grips.show(self.now)
        return self.server.scene.things

    def drag(self, name, phase, start, end, client=0, eye=EYE):
        event = SimpleNamespace(
            phase=phase,
            client_id=client,
            start_position=start,
            end_position=end,
            client=SimpleNamespace(camera=SimpleNamespace(position=eye)),
        )
        asyncio.run(self.server.scene.things[name].callbacks["drag"](event))


@pytest.fixture
def cell():
    return Cell()


def seen_on_floor(x, y, z=-0.75, part=0.7, eye=EYE):
    """A point on the ray from the eye to a place on the floor, as a page tells it."""
    eye = np.array(eye)
    return tuple(eye + part * (np.array([x, y, z]) - eye))


# --- Where they are ---


def test_handles_are_on_the_person(cell):
    things = cell.show()
    np.testing.assert_allclose(things["/grips/person"].position, (1.0, 0.2, -0.75), atol=0.01)
    for side in ("left", "right"):
        np.testing.assert_allclose(things[f"/grips/{side}"].position, cell.now.hands[side])
    ball = things["/grips/left"]
    assert np.linalg.norm(ball.vertices, axis=1).max() > person()[7, 6]  # else the hand hides it
    assert 0.1 < ball.opacity < 0.5  # one sees the ball, and the hand in it
    assert things["/grips/person/body"].opacity == 0.0


def test_they_follow_and_stay_when_nothing_moves(cell):
    things = cell.show()
    moved = person(x=2.0)
    cell.show(people=moved, person=np.array([2.0, 0.2, -0.75]))
    assert things["/grips/person"].position[0] == 2.0
    sent = cell.server.scene.sent
    cell.show(people=moved, person=np.array([2.0, 0.2, -0.75]))
    assert cell.server.scene.sent == sent


def test_they_go_with_the_person(cell):
    things = cell.show()
    cell.show(generation=2, people=np.zeros((0, 7)), person=None, nearest=None)
    assert [name for name in things if name.startswith("/grips")] == ["/grips/goal"]
    cell.show(generation=3, people=np.array([[1, 0, -0.45, 1, 0, 0.75, 0.3]]), person=np.array([1.0, 0, -0.75]))
    assert "/grips/person" in things
    assert "/grips/left" not in things  # a cylinder has no hands
    cell.show(generation=3, person=np.full(3, 1e6))
    assert not things["/grips/person"].visible


def test_the_ring_lies_on_the_floor_and_is_whole():
    vertices, faces = drag_handles.ring()
    assert vertices[:, 2].min() == 0.0
    assert vertices[:, 2].max() == pytest.approx(drag_handles.HIGH)
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6  # positive only if faces look outwards
    flat = math.pi * (drag_handles.OUTER**2 - drag_handles.INNER**2) + 4 * 0.055 * 0.07
    assert volume == pytest.approx(flat * drag_handles.HIGH, rel=0.01)  # 64 corners of a circle leave out 0.2 %
    assert len(np.unique(faces)) == len(vertices)


def test_viser_takes_it_all():
    """A real server, so that what the fake one allows is what viser allows."""
    pytest.importorskip("viser")
    from elbowroom.avoidance import Workspace
    from elbowroom.model.visuals import Visual
    from elbowroom.viewer.access.server import open_page
    from elbowroom.viewer.scene3d.scene import PageScene

    box = Visual("some", 1, "box", (0.1, 0.1, 0.1), tuple(map(tuple, np.eye(4))), colour=(1.0, 0.0, 0.0, 0.5))
    walls = Workspace(floor=-0.5, inner=0.3, outer=0.9, center=(0.0, 0.0, 0.3))
    page = open_page("127.0.0.1", 0)
    try:
        stage, orders = PageScene(page.server), []
        shown = snapshot(visuals=(box,), poses=np.tile(np.eye(4), (2, 1, 1)), workspace=walls, objects=np.ones((2, 3)))
        held = DragHandles(page.server.scene, lambda *order: orders.append(order), lambda: shown)
        for stage.shells in (True, False):
            for t, generation in ((0.0, 1), (0.1, 1), (0.2, 2)):
                tool = np.array([t, 0.0, 0.5])
                stage.show(dataclasses.replace(shown, t=t, generation=generation, tool=tool))
                person = np.array([1.0 + t, 0.2, -0.75])
                held.show(dataclasses.replace(shown, generation=generation, person=person))
        assert page.server.scene._handle_from_node_name["/grips/left"].position[0] == pytest.approx(1.0)
        assert page.server.scene._handle_from_node_name["/grips/person"].position[0] == pytest.approx(1.2)
        assert orders == []
    finally:
        page.stop()


# --- The whole person ---


def test_a_person_goes_where_the_pointer_is_on_the_floor(cell):
    cell.show(offset=np.array([0.1, 0.0]))
    start = (1.3, 0.2, -0.75)
    cell.drag("/grips/person/ring", "start", start, start)
    assert cell.orders == [("drag", (pytest.approx(0.1), pytest.approx(0.0)))]
    assert cell.grips.held == "person"
    cell.drag("/grips/person/ring", "update", start, seen_on_floor(0.8, -0.3))
    # the point that was taken goes from (1.3, 0.2) to (0.8, -0.3); the offset was (0.1, 0)
    assert cell.orders[-1] == ("drag", (pytest.approx(-0.4), pytest.approx(-0.5)))
    cell.drag("/grips/person/ring", "end", start, seen_on_floor(0.8, -0.3))
    assert cell.grips.held is None


def test_a_body_is_taken_at_its_height(cell):
    cell.show()
    start = np.array([0.8, 0.2, 0.4])
    eye = np.array(EYE)
    cell.drag("/grips/person/body", "start", start, start)
    there = eye + 1.2 * (np.array([0.3, 0.2, 0.4]) - eye)  # beyond, on the same ray
    cell.drag("/grips/person/body", "update", start, there)
    assert cell.orders[-1] == ("drag", (pytest.approx(-0.5), pytest.approx(0.0, abs=1e-12)))


def test_who_walks_meanwhile_is_still_under_the_pointer(cell):
    cell.show()
    start = (1.3, 0.2, -0.75)
    cell.drag("/grips/person/ring", "start", start, start)
    # half a metre on their own, and 0.2 m of the way that they are dragged
    cell.show(person=np.array([1.7, 0.2, -0.75]), offset=np.array([0.2, 0.0]))
    cell.drag("/grips/person/ring", "update", start, seen_on_floor(1.3, 0.2))
    assert cell.orders[-1] == ("drag", (pytest.approx(-0.5), pytest.approx(0.0, abs=1e-12)))


@given(*[st.tuples(*[st.floats(-50, 50)] * 3)] * 2, st.floats(-5, 5))
def test_no_pointer_leads_out_of_the_room(eye, pointer, height):
    found = over_floor(np.array(eye), np.array(pointer), height)
    if found is not None:
        # straight down one is below the eye; else within BEYOND of it
        flat = np.hypot(*(np.array(pointer) - eye)[:2])
        assert np.linalg.norm(found - eye[:2]) <= max(drag_handles.BEYOND * (1 + 1e-9), flat)


def test_over_the_horizon_is_as_far_as_it_goes():
    eye = np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(over_floor(eye, np.array([1.0, 0.0, 1.5]), -0.75), [drag_handles.BEYOND, 0.0])
    np.testing.assert_allclose(over_floor(eye, np.array([1.0, 0.0, 0.5]), 0.0), [2.0, 0.0])
    assert over_floor(eye, eye, 0.0) is None


# --- Hands ---


def test_a_hand_goes_with_the_pointer(cell):
    cell.show(hand_offsets={"left": np.array([0.1, 0.0, 0.0]), "right": np.zeros(3)})
    cell.drag("/grips/left", "start", (1.0, 0.5, 0.0), (1.0, 0.5, 0.0))
    assert cell.grips.held == "left"
    # the start is where the point that was taken is by now, and of no interest
    cell.drag("/grips/left", "update", (0.95, 0.5, 0.0), (0.8, 0.6, 0.3))
    assert cell.orders[-1] == ("hand", "left", (pytest.approx(-0.1), pytest.approx(0.1), pytest.approx(0.3)))
    cell.show(person=np.array([1.2, 0.2, -0.75]))  # they went on
    cell.drag("/grips/left", "end", (0.95, 0.5, 0.0), (0.8, 0.6, 0.3))
    assert cell.orders[-1] == ("hand", "left", (pytest.approx(-0.3), pytest.approx(0.1), pytest.approx(0.3)))
    assert cell.grips.held is None


def test_an_arm_at_its_end_does_not_wind_up(cell):
    """The order depends on the pointer alone, however far behind the hand stays."""
    cell.show()
    cell.drag("/grips/right", "start", (1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    for k in range(5):
        cell.show(hand_offsets={"left": np.zeros(3), "right": np.array([0.3 * k, 0.0, 0.0])})
        cell.drag("/grips/right", "update", (1.0, 0.0, 0.0), (1.5, 0.0, 0.0))
    assert set(cell.orders[1:]) == {("hand", "right", (0.5, 0.0, 0.0))}


# --- What is not believed ---


@pytest.mark.parametrize(
    "bad", [(math.nan, 0.0, 0.0), (math.inf, 0.0, 0.0), (1e300, 1e300, 1e300), (0.0, 0.0), "abc", None, ({}, [], 1)]
)
@pytest.mark.parametrize("name", ["/grips/person/ring", "/grips/left"])
def test_nonsense_orders_nothing(cell, name, bad):
    cell.show()
    cell.drag(name, "start", bad, bad)
    assert cell.orders == []
    assert cell.grips.held is None
    good = (1.0, 0.2, -0.75)
    cell.drag(name, "start", good, good)
    cell.orders.clear()
    cell.drag(name, "update", bad, bad)
    if name.endswith("ring"):
        cell.drag(name, "update", good, good, eye=bad)
    assert cell.orders == []
    cell.drag(name, "end", bad, bad)
    assert cell.grips.held is None  # let go of all the same


@given(st.tuples(*[st.floats(allow_nan=True, allow_infinity=True)] * 3), st.tuples(*[st.floats()] * 3))
def test_whatever_is_sent_orders_are_finite_and_near(end, eye):
    cell = Cell()
    cell.show()
    for name in ("/grips/person/body", "/grips/right"):
        cell.drag(name, "start", (1.0, 0.2, 0.0), (1.0, 0.2, 0.0))
        cell.drag(name, "update", (1.0, 0.2, 0.0), end, eye=eye)
        cell.drag(name, "end", (1.0, 0.2, 0.0), end, eye=eye)
    for what, *_, offset in cell.orders:
        most = drag_handles.FARTHEST if what == "drag" else drag_handles.ARM
        assert all(isinstance(x, float) and math.isfinite(x) for x in offset)
        assert math.hypot(*offset) <= most * (1 + 1e-9)


def test_an_update_without_a_start_and_a_foreign_one_do_nothing(cell):
    cell.show()
    here = (1.0, 0.2, -0.75)
    cell.drag("/grips/left", "update", here, here)
    assert cell.orders == []
    cell.drag("/grips/left", "start", here, here, client=1)
    cell.orders.clear()
    cell.drag("/grips/left", "update", here, here, client=2)
    cell.drag("/grips/right", "update", here, here, client=1)
    assert cell.orders == []
    cell.drag("/grips/right", "start", here, here, client=2)  # the last one to take something has it
    assert cell.grips.held == "right"


def test_a_person_who_goes_is_let_go(cell):
    cell.show()
    here = (1.0, 0.2, -0.75)
    cell.drag("/grips/person/ring", "start", here, here)
    ring = cell.server.scene.things["/grips/person/ring"]
    cell.show(generation=2)
    assert cell.grips.held is None
    assert ring.removed
    cell.now = None
    cell.drag("/grips/person/ring", "start", here, here)
    assert cell.grips.held is None


def test_offsets_are_cut_back():
    np.testing.assert_allclose(cut(np.array([30.0, 40.0]), 10.0), [6.0, 8.0])
    np.testing.assert_array_equal(cut(np.zeros(3), 2.0), np.zeros(3))
    assert cut(np.array([1.0, math.nan]), 1.0) is None


# --- The goal ---


def test_the_goal_is_dragged_with_or_without_a_person(cell):
    for gone in (False, True):
        changes = {"people": np.zeros((0, 7)), "person": None, "nearest": None} if gone else {}
        things = cell.show(generation=5 + gone, **changes)
        np.testing.assert_allclose(things["/grips/goal"].position, (0.5, 0.0, 0.5))
        cell.orders.clear()
        cell.drag("/grips/goal", "start", (0.5, 0.0, 0.5), (0.5, 0.0, 0.5))
        cell.drag("/grips/goal", "update", (0.5, 0.0, 0.5), (0.4, 0.1, 0.7))
        what, place = cell.orders[-1]
        assert what == "goal"
        np.testing.assert_allclose(place, (0.4, 0.1, 0.7))
        cell.drag("/grips/goal", "end", (0.5, 0.0, 0.5), (0.4, 0.1, 0.7))
        assert cell.grips.held is None
