"""One HTML file that plays a run, offline."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

pytest.importorskip("viser")

from browser import CANVAS, Browser, chromium
from test_replay import recorded, walked

from elbowroom.cell import Cell
from elbowroom.errors import ConfigError, ElbowroomError
from elbowroom.viewer.replay.recorded import Replay
from elbowroom.viewer.replay.standalone import write
from elbowroom.viewer.scene3d.meshes import surfaces_of

TITLE = 'a <script>alert(1)</script> & "title" </script>'


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    cell = Cell(walked(robot="ur5e", start=()))  # which no wheel has meshes for, so that the size of the file is known
    return Replay(recorded(tmp_path_factory.mktemp("standalone") / "run.csv", cell, 300))


@pytest.fixture(scope="module")
def page(replay, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.html"
    pictures = [replay.snapshot(t) for t in replay.moments(10.0)]
    wicked = "</script><img src=x onerror=alert(1)>"
    pictures[3] = dataclasses.replace(pictures[3], state=wicked, status="OK")
    assert write(pictures, path, rate=10.0, title=TITLE) == 30
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    # It finds no name but this machine's.
    with Browser(tmp_path_factory.mktemp("chromium"), size=(420, 340), always=True) as made:
        yield made


def test_the_file_holds_everything_and_asks_for_nothing(page, replay):
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert text.index("<script") > text.index(policy[0])  # it holds for all that follows
    assert "default-src 'none'" in policy[1]
    assert "http" not in policy[1]
    head = text[: text.index("__VISER_EMBED_DATA__")]
    assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="(?!data:)', head)
    assert "Not a safety-rated device" in text
    # The player and 30 pictures of an arm of capsules take less than 3 MB.  Meshes, where a wheel has some of this arm,
    # come on top, packed and written in base64: at most 4/3 of the bytes of their corners and triangles.
    drawn = [surface for visual in replay.scene_view.visuals for surface in surfaces_of(visual)]
    meshes = sum(12 * (len(surface.vertices) + len(surface.faces)) for surface in drawn)
    assert 0.5e6 < page.stat().st_size < 3e6 + 4 / 3 * meshes


def test_names_are_text(page):
    text = page.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in text
    assert "<title>a &lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;title&quot; &lt;/script&gt;</title>" in text
    data = re.search(r'<script type="application/json" id="run">(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in data
    run = json.loads(data)
    assert (run["rate"], len(run["frames"])) == (10.0, 30)
    assert any("</script><img" in said for said, _ in run["sentences"])  # whole, and harmless


def test_what_cannot_be_written_is_told_and_leaves_nothing(replay, tmp_path):
    one = [replay.snapshot(0.0)]
    with pytest.raises(ConfigError, match="snapshots: expected one at least"):
        write([], tmp_path / "run.html")
    for rate in (0.0, float("nan"), 1e9):
        with pytest.raises(ConfigError, match="rate: expected"):
            write(one, tmp_path / "run.html", rate=rate)
    with pytest.raises(ElbowroomError, match=r"run\.html: cannot be written"):
        write(one, tmp_path / "nowhere" / "run.html")

    def broken():
        yield one[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(broken(), tmp_path / "run.html")
    assert list(tmp_path.iterdir()) == []


def test_the_distances_of_the_sheet_are_the_recorded_ones(page, replay):
    text = page.read_text(encoding="utf-8")
    run = json.loads(re.search(r'id="run">(.*?)</script>', text, re.DOTALL)[1])
    kept = [replay.snapshot(t).distance for t in replay.moments(10.0)]
    np.testing.assert_allclose([frame[1] for frame in run["frames"]], kept, atol=5.1e-5)  # four decimals


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason="needs Chromium and its driver")
def test_in_chromium_it_plays_from_the_disk_without_a_network(page, browser):
    browser.driver.execute_cdp_cmd("Network.enable", {})
    browser.driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    browser.driver.get(f"{page.as_uri()}?fixedDpr=0.2")
    browser.until(lambda: browser.run("return window.__seen && __seen.draws > 0"), "something is drawn")

    def now():
        return browser.run("return parseFloat(document.querySelector('[role=slider][aria-valuenow]').ariaValueNow)")

    def look():
        """Pauses, and plays on."""
        browser.key(" ")
        found = now(), browser.run("return document.getElementById('facts').textContent"), browser.pixels()
        browser.key(" ")
        return found

    first, facts, pixels = look()
    seen = []

    def moved():
        """Another time, and another text at it: the run is short and begins again by itself."""
        seen[:] = look()
        return abs(seen[0] - first) > 0.7 and seen[1] != facts

    browser.until(moved, "it plays")
    _, later, others = seen
    assert " s · tool " in later
    assert np.ptp(pixels.astype(int)) > 50  # not one colour
    assert np.abs(pixels.astype(int) - others).max() > 20  # and it moves
    assert browser.run("return document.title") == TITLE
    assert "Not a safety-rated device" in browser.text()
    names = browser.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert [name for name in names if not name.startswith(("data:", "blob:", "file:"))] == []


FRAMES = f"""
const [count, done] = arguments, small = document.createElement('canvas'), seen = [];
let time = 0, began = 0;  // how often it began again
[small.width, small.height] = [48, 36];
const pen = small.getContext('2d', {{willReadFrequently: true}});
const look = () => {{
  {CANVAS}
  pen.drawImage(canvas, 0, 0, small.width, small.height);
  if (began) seen.push([document.getElementById('facts').textContent,
    Array.from(pen.getImageData(0, 0, small.width, small.height).data)]);
  // from the second time on: fonts and shaders come while it plays first
  const now = +document.querySelector('[role=slider][aria-valuenow]').ariaValueNow;
  [began, time] = [began + (now < time), now];
  if (seen.length < count || began < 2) requestAnimationFrame(() => setTimeout(look)); else done(seen);
}};
requestAnimationFrame(() => setTimeout(look));
"""


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason="needs Chromium and its driver")
def test_in_chromium_every_frame_is_of_one_snapshot(replay, browser, tmp_path):
    """Two moments by turns, and again from the beginning: each text of the sheet goes with one picture."""
    first, last = replay.snapshot(0.0), replay.snapshot(2.5)
    write([first, last] * 3, tmp_path / "run.html", rate=3.0)
    browser.driver.get(f"{(tmp_path / 'run.html').as_uri()}?fixedDpr=0.2")
    browser.until(lambda: browser.run("return window.__seen && __seen.draws > 0"), "something is drawn")
    browser.until(lambda: np.ptp(browser.pixels()) > 50, "the scene is there")
    seen = browser.driver.execute_async_script(FRAMES, 20)
    pictures = {}
    for said, flat in seen:
        pictures.setdefault(said, []).append(np.array(flat, dtype=float))
    assert len(pictures) == 2
    one, other = (np.median(each, axis=0) for each in pictures.values())
    apart = np.abs(one - other).mean()
    for each, usual in zip(pictures.values(), (one, other), strict=True):
        off = np.abs(np.array(each) - usual).mean(axis=1)
        assert off.max() < 0.1 * apart, f"{(off > 0.1 * apart).sum()} of {len(off)} frames are of another moment"
