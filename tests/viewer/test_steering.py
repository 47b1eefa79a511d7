"""Rows F21 and F22 of the safety table: one page steers, and no page can make an element what it may not be."""

from __future__ import annotations

import contextlib
import gc
import math

import pytest

viser = pytest.importorskip("viser")

import msgspec.msgpack  # noqa: E402
from raw_page import Raw, until  # noqa: E402

from elbowroom.viewer.access import steering  # noqa: E402
from elbowroom.viewer.access.server import open_page  # noqa: E402
from elbowroom.viewer.access.steering import Steering, sound  # noqa: E402
from elbowroom.viewer.panel.panel import KEYS  # noqa: E402


class Desk:
    """A page with an element of each kind, and what it has heard."""

    def __init__(self):
        self.page = open_page(port=0)
        server = self.page.server
        self.steering = Steering(server)
        self.slider = server.gui.add_slider("slider", min=0.1, max=1.5, step=0.1, initial_value=0.5)
        self.choice = server.gui.add_dropdown("choice", ("K", "F"), initial_value="K")
        self.box = server.gui.add_checkbox("box", initial_value=False)
        self.button = server.gui.add_button("button")
        self.group = server.gui.add_button_group("group", ("pause", "stop"))
        self.grip = server.scene.add_transform_controls("/grip", position=(1.0, 2.0, 0.0))
        self.command = server.gui.add_command("command", hotkey="c")
        self.halt = server.gui.add_command("stop the arm", hotkey="x")
        self.watching = server.gui.add_dropdown("supervisor", ("off", "stop"), initial_value="off")
        self.heard = []
        for handle in (self.slider, self.choice, self.box, self.watching, self.grip):
            handle.on_update(self._hear)
        for handle in (self.button, self.group):
            handle.on_click(self._hear)
        self.command.on_trigger(self._hear)
        self.halt.on_trigger(self._hear)

    async def _hear(self, event):
        value = getattr(event.target, "value", None)
        self.heard.append((event.client_id, value))

    def pages(self):
        return sorted(self.steering._pages)


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.page.stop()


@pytest.fixture
def come(desk):
    """Opens pages, and closes those that are left."""
    opened = []

    def one():
        before = set(desk.pages())
        opened.append(Raw(desk.page.address))
        until(lambda: set(desk.pages()) - before)
        opened[-1].id = max(desk.pages())
        return opened[-1]

    yield one
    for each in opened:
        each.close()


def heard(desk, count):
    until(lambda: len(desk.heard) >= count)
    return desk.heard[-1]


# F21


def test_one_page_steers_and_the_other_watches(desk, come):
    first, second = come(), come()
    assert desk.steering.who == first.id
    until(lambda: first.says("You steer") and second.says("another page steers"))
    second.set(desk.slider, value=1.0)
    second.set(desk.choice, value="F")
    second.set(desk.button, value=True)
    second.send("CommandTriggerMessage", uuid=desk.command._impl.uuid)
    second.send("TransformControlsUpdateMessage", name="/grip", wxyz=(1, 0, 0, 0), position=(5, 5, 0), owner="")
    until(lambda: second.value(desk.slider) == 0.5 and second.value(desk.choice) == "K")  # told what is true
    until(lambda: second.updates.get("/grip", {}).get("position") == [1.0, 2.0, 0.0])
    first.set(desk.slider, value=0.7)
    assert heard(desk, 1) == (first.id, 0.7)
    until(lambda: second.value(desk.slider) == 0.7)
    assert desk.heard == [(first.id, 0.7)]  # the second page's four came before, so they would be there
    assert desk.grip.position.tolist() == [1.0, 2.0, 0.0]


def test_a_page_that_is_alone_is_not_told_that_it_steers(desk, come):
    first = come()
    line = desk.steering._pages[first.id].line
    until(lambda: desk.steering.who == first.id)
    assert line.content == ""
    second = come()
    until(lambda: first.says("You steer") and second.says("another page steers"))
    second.close()
    until(lambda: line.content == "")


def test_a_page_that_watches_can_stop_the_arm_and_nothing_else(desk, come):
    first, second = come(), come()
    second.set(desk.group, value="pause")
    second.set(desk.watching, value="stop")  # not everything that is called so is one
    second.set(desk.slider, value="stop")
    second.send("CommandTriggerMessage", uuid=desk.command._impl.uuid)
    second.send("CommandTriggerMessage", uuid="no such thing")
    second.set(desk.group, value="stop")
    assert heard(desk, 1) == (second.id, "stop")
    second.send("CommandTriggerMessage", uuid=desk.halt._impl.uuid)
    assert heard(desk, 2) == (second.id, None)
    assert desk.heard == [(second.id, "stop"), (second.id, None)]
    assert desk.steering.who == first.id
    until(lambda: second.says("but a stop is"))


def test_the_panels_stop_is_the_one_that_is_let_through():
    assert [{does} for _, key, does, _ in KEYS if key == "x"] == [steering.STOP_KEYS]


def test_a_page_that_watches_can_take_over(desk, come):
    first, second = come(), come()
    button = desk.steering._pages[second.id].button
    until(lambda: button.visible)
    second.set(button, value=True)
    until(lambda: desk.steering.who == second.id)
    until(lambda: first.says("another page steers") and second.says("You steer"))
    first.set(desk.slider, value=1.0)
    second.set(desk.slider, value=0.9)
    assert heard(desk, 1) == (second.id, 0.9)
    until(lambda: first.value(desk.slider) == 0.9)


@contextlib.contextmanager
def sender_waits(desk, page):
    """What is for that page alone is not sent within, as on a machine that is slow to."""
    buffer = desk.steering._inside._client_state_from_id[page.id].message_buffer
    buffer.atomic_start()
    try:
        yield
    finally:
        buffer.atomic_end()


def test_a_page_that_is_set_right_late_shows_what_is_true_by_then(desk, come):
    first, second = come(), come()
    until(lambda: second.says("another page steers"))
    with sender_waits(desk, second):
        second.set(desk.slider, value=1.0)
        second.send("TransformControlsUpdateMessage", name="/grip", wxyz=(1, 0, 0, 0), position=(5, 5, 0), owner="")
        until(lambda: desk.steering.dropped == 2)  # and the answer is on its way
        first.set(desk.slider, value=0.9)
        first.send("TransformControlsUpdateMessage", name="/grip", wxyz=(1, 0, 0, 0), position=(3, 2, 0), owner="")
        until(lambda: second.value(desk.slider) == 0.9)
        until(lambda: second.updates.get("/grip", {}).get("position") == [3.0, 2.0, 0.0])
    button = desk.steering._pages[second.id].button
    second.set(button, value=True)
    until(lambda: second.says("You steer"))  # which comes after the answer
    assert second.value(desk.slider) == 0.9
    assert second.updates["/grip"]["position"] == [3.0, 2.0, 0.0]


def test_nobody_presses_the_button_of_another_page(desk, come):
    first, second, third = come(), come(), come()
    third.set(desk.steering._pages[second.id].button, value=True)
    third.set(desk.slider, value=1.0)
    until(lambda: third.value(desk.slider) == 0.5)
    assert desk.steering.who == first.id


def test_who_is_left_steers(desk, come, monkeypatch):
    monkeypatch.setattr(steering, "GRACE", 0.05)
    first, second, third = come(), come(), come()
    for each in desk.steering._pages.values():
        each.since -= 1.0  # none of them has just come
    first.close()
    until(lambda: desk.steering.who == second.id)
    second.close()
    third.close()
    until(lambda: not desk.pages())
    assert desk.steering.who is None
    fourth = come()
    assert desk.steering.who == fourth.id


def test_a_page_that_is_loaded_again_steers_again(desk, come, monkeypatch):
    monkeypatch.setattr(steering, "GRACE", 1e6)
    first, second = come(), come()
    desk.steering._pages[second.id].since -= 2e6  # long ago
    first.close()  # as a browser does: the old connection goes, the new one comes
    until(lambda: desk.steering.who is None)
    until(lambda: second.says("nobody steers now"))
    again = come()
    assert desk.steering.who == again.id
    late = come()  # or the new one comes first
    again.close()
    until(lambda: desk.steering.who == late.id)


# F22


@pytest.mark.parametrize(("sent", "kept"), [(1e9, 1.5), (-1e9, 0.1), (1.5000001, 1.5), (1, 1.0)])
def test_a_number_beyond_the_range_is_held_and_the_page_told(desk, come, sent, kept):
    page = come()
    page.set(desk.slider, value=sent)
    assert heard(desk, 1) == (page.id, kept)
    if sent != kept:
        until(lambda: page.value(desk.slider) == kept)


@pytest.mark.parametrize("sent", [math.nan, math.inf, -math.inf, "much", None, True, [1.0], {"a": 1}])
def test_what_is_no_number_is_dropped_and_the_page_told(desk, come, sent):
    page = come()
    page.set(desk.slider, value=sent)
    until(lambda: desk.steering.dropped == 1)
    until(lambda: page.value(desk.slider) == 0.5)
    assert desk.slider.value == 0.5
    assert desk.heard == []


@pytest.mark.parametrize("sent", ["<img src=x>", "", 1, None, ["K"], True])
@pytest.mark.parametrize("name", ["choice", "group"])
def test_a_choice_that_does_not_exist_is_dropped(desk, come, name, sent):
    page, handle = come(), getattr(desk, name)
    before = handle.value
    page.set(handle, value=sent)
    until(lambda: desk.steering.dropped == 1)
    until(lambda: page.value(handle) == before)
    assert handle.value == before
    assert desk.heard == []


def test_nothing_but_a_value_can_be_changed(desk, come):
    page = come()
    page.set(desk.slider, update_cb=[])
    page.set(desk.slider, value=1.0, props=None)
    page.set(desk.box, value="yes")
    page.send("GuiUpdateMessage", uuid="no such thing", updates={"value": 1.0})
    page.send("GuiUpdateMessage", uuid=desk.slider._impl.uuid, updates=[1.0])
    page.set(desk.slider, value=1.2)
    assert heard(desk, 1) == (page.id, 1.2)
    assert desk.heard == [(page.id, 1.2)]
    assert desk.box.value is False


@pytest.mark.parametrize(
    ("position", "wxyz"),
    [
        ((math.nan, 0, 0), (1, 0, 0, 0)),
        ((1e9, 0, 0), (1, 0, 0, 0)),
        ((0, 0, 0), (1, 0, 0, math.inf)),
    ],
)
def test_a_handle_goes_nowhere_that_is_no_place(desk, come, position, wxyz):
    page = come()
    page.send("TransformControlsUpdateMessage", name="/grip", wxyz=wxyz, position=position, owner="")
    until(lambda: desk.steering.dropped == 1)
    until(lambda: page.updates.get("/grip", {}).get("position") == [1.0, 2.0, 0.0])
    assert desk.grip.position.tolist() == [1.0, 2.0, 0.0]
    page.send("TransformControlsUpdateMessage", name="/grip", wxyz=(1, 0, 0, 0), position=(3, 2, 0), owner="")
    heard(desk, 1)
    assert desk.grip.position.tolist() == [3.0, 2.0, 0.0]


NOTHING = {"name": "/nothing", "owner": ""}
CLICK = {"instance_index": None, "ray_origin": (0, 0, 0), "ray_direction": (0, 0, 1), "screen_pos": (0, 0)}
DRAG = {"instance_index": None, "start_position": (0, 0, 0), "end_position": (0, 0, 0), "button": "left"}
PIXELS = {"start_screen_pos": (0, 0), "end_screen_pos": (0, 0)}
STRANGE = {  # messages, but about what does not exist
    "GuiUpdateMessage": {"uuid": "nothing", "updates": {"value": 1.0}},
    "CommandTriggerMessage": {"uuid": "nothing"},
    "TransformControlsUpdateMessage": {**NOTHING, "wxyz": (1, 0, 0, 0), "position": (0, 0, 0)},
    "TransformControlsDragStartMessage": NOTHING,
    "TransformControlsDragEndMessage": NOTHING,
    "SceneNodeClickMessage": {**NOTHING, **CLICK, "modifier": None},
    "SceneNodeDragMessage": {**NOTHING, **DRAG, **PIXELS, "modifier": None, "phase": "start"},
    "GetRenderResponseMessage": {"payload": b"", "render_uuid": "nothing"},
}
WRONG = ([], [1.0], {"a": [1]}, b"abc", True)


def nonsense():
    """Messages with a value of another type in each field, one field less, one more; and what is no message."""
    for kind, fields in STRANGE.items():
        for name, right in fields.items():
            yield from ({"type": kind, **fields, name: value} for value in WRONG if type(value) is not type(right))
            if name != "owner":  # which has a default
                yield {"type": kind, **{key: value for key, value in fields.items() if key != name}}
        yield {"type": kind, **fields, "more": 1}
    moved = STRANGE["TransformControlsUpdateMessage"]
    for value in (None, "abc", *WRONG):
        yield value
        yield {"type": value}
        yield {"type": "TransformControlsUpdateMessage", **moved, "position": (value,) * 3}
    yield from ({"type": "ResetGuiMessage"}, {"type": "Message"}, {"uuid": "nothing"}, {})


def test_nonsense_is_dropped_without_a_word_and_the_page_stays(desk, come, capfd, caplog):
    page, other = come(), come()
    for kind, fields in STRANGE.items():
        page.send(kind, **fields)
    sent = [msgspec.msgpack.encode(each) for each in nonsense()]
    sent += [b"", b"\xc1", b"\x91" * 5000, "text", "{}"]
    for each in sent:
        page.link.send(each)
    page.set(desk.slider, value=1.2)
    assert heard(desk, 1) == (page.id, 1.2)
    until(lambda: other.value(desk.slider) == 1.2)
    assert desk.heard == [(page.id, 1.2)]
    assert desk.page.door.dropped == len(sent)
    assert desk.pages() == [page.id, other.id]
    gc.collect()  # what went wrong in a task is told when the task is collected
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


@pytest.mark.parametrize("position", [None, "abc", (None, 0, 0), ("a", 0, 0), (0, 0), 1.0])
def test_a_place_that_is_none_is_dropped_at_the_door(desk, come, position):
    page = come()
    page.send("TransformControlsUpdateMessage", name="/grip", wxyz=(1, 0, 0, 0), position=position, owner="")
    until(lambda: desk.page.door.dropped == 1)
    page.set(desk.slider, value=1.2)
    assert heard(desk, 1) == (page.id, 1.2)
    assert desk.grip.position.tolist() == [1.0, 2.0, 0.0]
    assert desk.heard == [(page.id, 1.2)]


def test_a_camera_of_nan_is_no_camera(desk):
    messages = viser._messages
    good = messages.ViewerCameraMessage((1, 0, 0, 0), (0, 0, 1), 1.0, 0.01, 1000.0, 600, 800, (0, 0, 0), (0, 0, 1))
    assert sound(good)
    good.fov = math.nan
    assert not sound(good)


def test_every_kind_of_element_works_for_the_page_that_steers(desk, come):
    page = come()
    for handle, value in ((desk.choice, "F"), (desk.box, True), (desk.button, True), (desk.group, "stop")):
        count = len(desk.heard)
        page.set(handle, value=value)
        assert heard(desk, count + 1) == (page.id, value)
    page.set(desk.group, value="stop")  # twice the same is two clicks
    heard(desk, 5)
    page.send("CommandTriggerMessage", uuid=desk.command._impl.uuid)
    heard(desk, 6)
