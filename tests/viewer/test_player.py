"""The page of a recording: time goes where it is told, and nowhere else."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip("viser")

from browser import Browser, chromium
from test_replay import recorded, walked

from elbowroom.cell import Cell
from elbowroom.viewer.panel.plots import worst_per_bin
from elbowroom.viewer.replay.player import Player, about
from elbowroom.viewer.replay.recorded import Replay


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    path = recorded(tmp_path_factory.mktemp("player") / "<b>run.csv", Cell(walked()), 250)
    with Player(Replay(path), port=0) as made:
        yield made


@pytest.fixture(autouse=True)
def still(player):
    player.playing, player.speed = False, 1.0
    player.seek(0.0)
    player.show()


def test_time_is_held_within_the_recording(player):
    for wanted, got in ((1.0, 1.0), (-3.0, 0.0), (1e300, 2.49)):
        player.seek(wanted)
        assert player.t == got
    for bad in (math.nan, math.inf, "1", None, True):
        player.seek(bad)
        assert player.t == 2.49


def test_orders(player):
    for what, t in (("step", 0.01), ("step", 0.02), ("back", 0.01), ("back", 0.0), ("back", 0.0), ("later", 1.0),
                    ("earlier", 0.0), ("end", 2.49), ("step", 2.49), ("nonsense", 2.49), ("start", 0.0)):  # fmt: skip
        player.order(what)
        assert player.t == pytest.approx(t, abs=1e-12), what
        assert not player.playing


def test_it_plays_at_its_speed_and_stops_at_the_end(player):
    player.order("toggle")
    player.speed = 2.0
    player.advance(0.5)
    assert player.t == pytest.approx(1.0)
    player.advance(5.0)
    assert (player.t, player.playing) == (2.49, False)
    player.order("toggle")  # once more
    assert (player.t, player.playing) == (0.0, True)
    player.order("step")
    assert not player.playing


def test_what_is_shown_is_the_time_of_now(player):
    player.seek(1.234)
    assert player.show()
    assert not player.show()  # it is shown already
    assert "1.2 s of 2.5 s" in player.numbers.content
    assert "(paused)" in player.status.content
    assert player.slider.value == 1.234
    line = player.plots.cursor(1.234, 1.5)
    assert player.plots.x[np.isfinite(line)].tolist() == pytest.approx([1.23, 1.24])


def test_names_of_files_are_escaped(player):
    said = about(player.replay)
    assert "&lt;b&gt;run.csv" in said
    assert "<b>run" not in said
    assert "scene.toml" not in said  # which is long


def test_a_plot_keeps_the_worst():
    values = np.arange(1000.0)
    values[777] = -5.0
    least = worst_per_bin(values, np.fmin, 100)
    assert len(least) == 100
    assert least.min() == -5.0
    assert worst_per_bin(values, np.fmax, 100)[-1] == 999.0
    np.testing.assert_array_equal(worst_per_bin(values, np.fmin, 1000), values)


AXIS = """const axis = Object.values(__viserTestpoints.uplots).map(({chart}) => chart.axes[0])
  .find(each => each.show && each.label === 'time, s');"""
NO_ROOM = f"{AXIS} [axis._found, axis._splits] = [[0, 0], null];"  # as of a plot that is made before it has a width


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason="needs Chromium and its driver")
def test_in_chromium_keys_move_time(player, tmp_path):
    import threading

    with Browser(tmp_path) as browser:
        serving = threading.Thread(target=player.serve, args=(60.0,), daemon=True)
        serving.start()
        browser.open(player.address)
        player.playing = False
        player.order("start")
        browser.until(lambda: "0.0 s of 2.5 s" in browser.text() and player.steering.who is not None, "the beginning")
        first = browser.pixels()
        assert "Not a safety-rated device" in browser.text()
        assert "<b>run.csv" in browser.text()
        assert re.search(r"separation\s+\d\.\d\d m, needs \d\.\d\d", browser.text())
        assert "You steer" not in browser.text()  # nobody else could
        assert "throughput" not in browser.text()  # which no recording holds
        browser.run(NO_ROOM)
        browser.until(lambda: len(browser.run(f"{AXIS} return axis._splits ?? []")) > 2, "the time has numbers")
        browser.key("l")
        browser.until(lambda: "1.0 s of 2.5 s" in browser.text(), "a second on")
        browser.key(".")
        browser.until(lambda: player.t == pytest.approx(1.01), "one cycle on")
        browser.key(",")
        browser.until(lambda: player.t == pytest.approx(1.0), "one cycle back")
        browser.until(lambda: np.abs(browser.pixels().astype(int) - first).max() > 20, "another picture")
        browser.key(" ")
        browser.until(lambda: player.t == pytest.approx(2.49) and not player.playing, "played to the end")
