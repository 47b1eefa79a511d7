"""The live page as a whole: engine, page, and what pages may do to it; rows F21, F22 and F24 of the safety table."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("viser")

from raw_page import Raw, until

from elbowroom.cell.recording.table import read
from elbowroom.errors import ElbowroomError
from elbowroom.viewer.session.live import Live
from elbowroom.viewer.session.setup import RANGES, Setup, name_of


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with Live(Setup(robot="panda"), port=0, out=tmp_path_factory.mktemp("out")) as made:
        made.wait()
        yield made


def shows(live, what, seconds=60.0):
    """Shows pictures until something is so; fails if it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        live.show()
        picture = live.board.look()
        if what(picture):
            return picture
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s; the last picture: {picture.status} {picture.problem}")


def test_the_cell_is_at_work_and_gives_way(live):
    live.order("set", "scenario", "cell")  # whatever ran on this page before
    first = shows(live, lambda p: p.scene.shown.scenario == "cell" and p.t > 0.2)
    assert live.address.startswith("http://127.0.0.1:")
    live.order("drag", (-0.5, -0.2))
    near = shows(live, lambda p: p.law_status == "AVOIDING")
    assert near.distance < first.distance
    live.order("let_go")
    shows(live, lambda p: abs(p.offset).max() < 0.01)


def test_what_pages_send_reaches_the_engine_held_and_of_one_page_alone(live):
    slider = live.panel.sliders["influence"]
    with Raw(live.address) as first, Raw(live.address) as second:
        until(lambda: len(live.steering_wheel._pages) == 2)
        steers, watches = (first, second) if live.steering == min(live.steering_wheel._pages) else (second, first)
        watches.set(slider, value=0.9)  # F21
        until(lambda: live.steering_wheel.dropped == 1)
        steers.set(slider, value=1e9)  # F22
        high = RANGES["influence"].high
        shows(live, lambda p: p.scene.shown.influence == high)
        until(lambda: steers.value(slider) == high and watches.value(slider) == high)
        for bad in (float("nan"), "much", None):
            steers.set(slider, value=bad)
        until(lambda: live.steering_wheel.dropped == 4)
        picture = shows(live, lambda p: p.t > 0.0)
        assert (picture.scene.shown.influence, picture.problem) == (high, "")
    until(lambda: not live.steering_wheel._pages)


def test_a_button_means_what_it_says(live):
    """Also one that a page still shows when things are so already."""
    run, gain = live.panel.run, live.panel.sliders["gain"]
    with Raw(live.address) as page:
        until(lambda: live.steering is not None)
        shows(live, lambda p: p.running and run.options[0] == "pause")
        page.set(run, value="pause")
        until(lambda: not live.board.look().running)
        page.set(run, value="pause")  # nothing was shown meanwhile
        page.set(gain, value=0.33)
        until(lambda: live.board.look().scene.shown.gain == 0.33)  # orders come in order
        assert not live.board.look().running
        shows(live, lambda p: run.options[0] == "go")
        page.set(run, value="go")
        shows(live, lambda p: p.running and run.options[0] == "pause")
    until(lambda: not live.steering_wheel._pages)


def test_the_sentence_and_the_buttons_of_a_moment_come_together(live, monkeypatch):
    run, say = live.panel.run, live.panel._say

    def slowly(*what):
        say(*what)
        time.sleep(0.1)  # time enough to send it alone

    monkeypatch.setattr(live.panel, "_say", slowly)
    with Raw(live.address) as page:
        until(lambda: live.steering is not None)
        shows(live, lambda p: page.says("cycles done") or page.says("cycle done"))
        live.order("pause")
        shows(live, lambda p: not p.running)
        end = time.monotonic() + 60.0
        while not (found := page.at_once(lambda: page.says("> paused<") and page.updates[run._impl.uuid]["options"])):
            assert time.monotonic() < end
            live.show()
            time.sleep(0.1)  # nothing is sent while a picture is being made, which takes long here
        assert found[0] == "go"
        live.order("play")
        shows(live, lambda p: p.running)
    until(lambda: not live.steering_wheel._pages)


def test_what_the_engine_refuses_the_page_shows_no_longer(live):
    live.order("set", "influence", 0.8)
    shows(live, lambda p: p.scene.shown.influence == 0.8)
    live.order("set", "scenario", "test 7")  # which is about another arm
    shows(live, lambda p: "puma560" in p.problem)
    live.panel.choices["scenario"].value = name_of("scenario", "test 7")
    live.panel.choices["scenario"]._impl.update_timestamp -= 10.0  # some time ago
    shows(live, lambda p: live.panel.choices["scenario"].value == name_of("scenario", "cell"))
    assert "puma560" in live.panel.numbers.content


def test_scenarios_and_arms_are_shown(live):
    live.order("set", "scenario", "test 3")
    shows(live, lambda p: p.scene.shown.scenario == "test 3" and live.stage.generation == p.generation)
    live.order("set", "robot", "puma560")
    shows(live, lambda p: p.scene.shown.robot == "puma560")
    live.order("set", "scenario", "cell")
    shows(live, lambda p: p.scene.shown.scenario == "cell")


def test_a_recording_and_where_it_is(live):
    live.order("tape")
    shows(live, lambda p: p.recorded > 20)
    shows(live, lambda p: "recording to" in live.panel.files.content)
    live.order("tape")
    picture = shows(live, lambda p: not p.recording)
    path = Path(picture.saved.split(" (")[0])
    assert path.parent == live.out
    assert len(read(path)["t"]) > 20
    shows(live, lambda p: path.name in live.panel.files.content)
    path.with_name(live._name("csv").name).touch()  # so a name is never given twice
    assert not live._name("csv").exists()


def test_a_recording_as_mcap(live, monkeypatch):
    pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")
    monkeypatch.setattr(live, "recordings", ".mcap")
    live.order("tape")
    shows(live, lambda p: p.recorded > 20)
    live.order("tape")
    path = Path(shows(live, lambda p: not p.recording and ".mcap" in p.saved).saved.split(" (")[0])
    assert path.suffix == ".mcap"
    assert len(read(path)["t"]) > 20


def test_pictures_are_kept_and_no_more_than_that(live):
    shows(live, lambda p: len(live._kept) > 5)
    assert live._kept.maxlen == 3600  # two minutes at thirty a second
    assert pickle.loads(live._kept[-1]).t >= 0.0
    size = max(len(each) for each in live._kept)
    assert size * live._kept.maxlen < 100e6  # bytes: what a page may take of a desktop's memory


def test_a_saved_page_plays_what_was_kept(live):
    shows(live, lambda p: len(live._kept) > 5)
    while len(live._kept) > 5:
        live._kept.popleft()
    live.order("page")
    assert "writing" in live._told
    shows(live, lambda p: live._told.startswith("page: "))
    path = Path(live._told.removeprefix("page: "))
    assert path.parent == live.out
    assert path.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


PICTURES = ("memoryview", "managedbuffer")  # how the arrays of kept pictures lie in memory; more of them come with time


def _size(live):
    """Of what a connection could leave behind: messages, connections, handles, and all objects."""
    inner = live.page.server._websock_server
    gc.collect()
    return {
        "messages": len(inner._broadcast_buffer.message_from_id),
        "keys": len(inner._broadcast_buffer.id_from_redundancy_key),
        "states": len(inner._client_state_from_id) + len(inner._live_connections) + len(live.page.door.inside),
        "cursors": len(inner._broadcast_buffer.generator_cursors),
        "pages": len(live.steering_wheel._pages) + len(live.page.server.get_clients()),
        "handles": len(live.page.server.gui._gui_input_handle_from_uuid),
        "objects": sum(type(x).__name__ not in PICTURES for x in gc.get_objects()),
    }


def _come_and_go(live, times):
    for k in range(times):
        with Raw(live.address, camera=k % 3 > 0):
            live.show()
    until(lambda: not live.steering_wheel._pages and not live.page.door.inside)


@pytest.mark.slow
def test_many_connects_and_disconnects_leave_nothing_behind(live):
    """F24: after the first have made what is made once, two hundred pages more leave the page's process as it was."""
    live.order("let_go")
    _come_and_go(live, 20)
    sizes = [_size(live)]
    for _ in range(2):
        _come_and_go(live, 100)
        sizes.append(_size(live))
    before, _, after = sizes
    assert before["states"] == after["states"] == after["cursors"] == after["pages"] == 0
    assert after["handles"] == before["handles"]
    assert after["messages"] <= before["messages"] + 5  # a few kinds of update come only now and then
    # A page makes some hundred objects; if only one of a kind stayed for each, there would be 100 more each time.  What
    # is made once, whenever that is, comes in one of the two.
    assert min(b["objects"] - a["objects"] for a, b in pairwise(sizes)) < 75


def test_a_page_that_leaves_while_its_camera_is_set_is_no_error(live):
    with Raw(live.address, camera=True):
        until(live.page.server.get_clients)
        (client,) = live.page.server.get_clients().values()
    until(lambda: not live.page.server.get_clients())
    live.stage.look(client, "top")  # from where it did not look before
    buffer = client._websock_connection.get_message_buffer()
    assert buffer.done
    assert not buffer._warned_push_after_done  # which viser does once, perhaps when the page came and left at once


@pytest.mark.slow
def test_scenes_that_come_and_go_leave_nothing_behind(live):
    """F24: what was drawn of another scene is gone, on the server too."""
    sizes = []
    for scenario in ("test 1", "cell") * 4:
        live.order("set", "scenario", scenario)
        shows(live, lambda p, name=scenario: p.scene.shown.scenario == name and live.stage.generation == p.generation)
        if scenario == "cell":
            sizes.append(_size(live)["messages"])
    assert sizes[-1] <= sizes[1] + 5


def test_an_engine_that_dies_is_told():
    with Live(Setup(robot="panda"), port=0) as live:
        live.wait()
        os.kill(live.engine.pid, signal.SIGKILL)
        with pytest.raises(ElbowroomError, match="has ended"):
            live.serve(60.0)
        assert "has ended" in live.panel.status.content


SCRIPT = """
import sys, time
from elbowroom.viewer.session.live import Live
from elbowroom.viewer.session.setup import Setup
with Live(Setup(robot="panda"), port=0) as live:
    live.wait()
    print(live.engine.pid, flush=True)
    live.serve(120.0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_a_page_that_is_killed_takes_its_engine_with_it(how):
    page = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    try:
        engine = int(page.stdout.readline())
        os.kill(engine, 0)  # it is there
        page.send_signal(getattr(signal, how))
        page.wait(30)
        until(lambda: not _alive(engine))
    finally:
        page.kill()
        page.stdout.close()


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # an orphan whom nobody has buried yet
