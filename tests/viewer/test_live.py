"""The live page as a whole: engine, page, and what a page may do."""

from __future__ import annotations

import shutil
import time

import pytest

pytest.importorskip("viser")

from elbowroom.viewer.live import Live
from elbowroom.viewer.setup import Setup

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="module")
def live():
    with Live(Setup(robot="panda"), port=0) as made:
        made.wait()
        yield made


def until(live, what, seconds=60.0):
    """Shows pictures until something is so; fails if it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        live.show()
        picture = live.board.look()
        if what(picture):
            return picture
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s; the last picture: {picture['status']} {picture['problem']}")


def test_the_cell_is_at_work_and_gives_way(live):
    first = until(live, lambda p: p["t"] > 0.2)
    assert live.address.startswith("http://127.0.0.1:")
    live.order("drag", (-0.5, -0.2))
    near = until(live, lambda p: p["status"] == "AVOIDING")
    assert near["distance"] < first["distance"]
    live.order("let_go")
    until(live, lambda p: abs(p["offset"]).max() < 0.01)


def test_a_value_comes_back_clamped(live):
    live.order("set", "influence", 1e9)
    until(live, lambda p: p["shown"]["influence"] == 1.5)
    until(live, lambda p: live.panel.sliders["influence"].value == 1.5)


def test_scenarios_and_arms_are_shown(live):
    live.order("set", "scenario", "test 3")
    until(live, lambda p: p["shown"]["scenario"] == "test 3" and live.stage._generation == p["generation"])
    live.order("set", "robot", "puma560")
    until(live, lambda p: p["shown"]["robot"] == "puma560")
    live.order("set", "scenario", "cell")
    until(live, lambda p: p["shown"]["scenario"] == "cell")


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Chromium and its driver")
def test_in_chromium_the_page_is_drawn_and_says_what_is_going_on(live, tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless", "no-sandbox", "enable-unsafe-swiftshader", "use-angle=swiftshader", "disable-background-networking",
        "disable-component-update", "disable-sync", "no-first-run", "window-size=800,600", f"user-data-dir={tmp_path}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    browser.set_page_load_timeout(60)
    try:
        browser.get(f"{live.address}?fixedDpr=0.5")
        end = time.monotonic() + 90.0
        text, width = "", 0
        while time.monotonic() < end and not ("Not a safety-rated device" in text and "cycles done" in text and width):
            live.show()
            text = browser.execute_script("return document.body.innerText")
            width = browser.execute_script(
                "return Math.max(0, ...[...document.querySelectorAll('canvas')].map(c => c.width))"
            )
            time.sleep(0.2)
        assert "Not a safety-rated device" in text
        assert "cycles done" in text
        assert width > 100
        assert live.steering is not None
    finally:
        browser.quit()
