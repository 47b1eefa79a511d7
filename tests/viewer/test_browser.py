"""The live page as a person uses it: a real `elbowroom demo`, a real Chromium, the mouse and the keyboard.

One server and one browser serve all of it.  While the cell is paused nothing moves, so a page that draws a frame a
second is not waited for longer than it must be: things are changed while it stands still.
"""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

pytest.importorskip("viser")

from browser import Browser, Demo, need_chromium

import elbowroom as er
from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import Cell
from elbowroom.cell.task import DRAGGED
from elbowroom.model import catalogue
from elbowroom.viewer.session.setup import RANGES, SCENARIOS, Setup, name_of

COLOURS = 30  # a canvas of one colour has 1, the floor and the sky alone some 10
CHANGED = 1.0  # grey levels of 255, mean over the canvas: two pictures of one paused scene differ by less than 0.1
TIME = r"· (\d+\.\d) s"
WORKS = ("working", "resting", "avoiding", "slowed", "waiting")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    need_chromium()
    with Browser(tmp_path_factory.mktemp("chromium"), size=(1300, 800)) as made:
        yield made


@pytest.fixture(scope="module")
def demo(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    with Demo(
        "--no-planning", folder=folder
    ) as made:  # how an arm gives way; tests/viewer/test_route_shown.py goes around
        browser.open(made.address)
        yield made


@pytest.fixture
def page(browser, demo):
    """The browser, with the page open, the cell of a panda in it, running, and this page steering."""
    go(browser)
    for label, wanted in (("scenario", name_of("scenario", "cell")), ("arm", "panda")):
        browser.tab("Scene")
        if browser.value(label) != wanted:
            browser.choose(label, wanted)
            browser.until(lambda label=label, wanted=wanted: at_work(browser), f"{label} {wanted}")
    return browser


def at_work(page):
    return page.status().startswith(WORKS)


def time_of(page):
    """The simulated time that the page shows, s."""
    return page.number(TIME)


def go(page):
    """Runs, if it is paused; what takes a while ("changing the controller ... 0.1 s") says neither."""
    pressed(page, "go", lambda status: status not in ("", "paused") and " ... " not in status)


def pause(page):
    """Stands still, if it runs."""
    pressed(page, "pause", lambda status: status == "paused")


def pressed(page, button, so):
    """Presses a button, if the status is not so, and waits until it is; once more if that never came through.

    Not at once: the button is called otherwise then, and a second press would take the first one back.
    """
    for _ in range(3):
        if so(page.status()):
            return
        with contextlib.suppress(AssertionError):
            page.press(button, seconds=5.0)
            page.until(lambda: so(page.status()), f"{button} has come through", seconds=30.0)
    assert so(page.status()), page.story()


def difference(first, second):
    """Mean difference of two pictures, in grey levels."""
    return float(np.abs(np.asarray(first, float) - second).mean())


def still(page):
    """The canvas when two looks at it, some frames apart, are the same."""
    seen = [page.pixels()]

    def same():
        page.frames(2)
        seen.append(page.pixels())
        return difference(*seen[-2:]) < 0.01

    page.until(same, "the picture stands still")
    return seen[-1]


@pytest.mark.slow
def test_the_page_is_drawn_and_asks_for_nothing_outside(page, demo):
    page.until(lambda: len(np.unique(page.pixels().reshape(-1, 3), axis=0)) > COLOURS, "the scene is drawn")
    assert "Not a safety-rated device" in page.text()
    page.until(lambda: at_work(page), "the arm is at work")
    before = time_of(page)
    page.until(lambda: time_of(page) > before, "time goes on")
    asked = page.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert all(name.startswith((demo.address, "blob:", "data:")) for name in asked), asked
    assert "Content Security Policy" not in page.story()
    assert "Uncaught" not in page.story()


BOXES = """
const box = each => { const r = each.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const tabs = [...document.querySelectorAll('[role=tab]')].filter(each => each.offsetParent);
const canvas = [...document.querySelectorAll('canvas')].find(each => each.dataset.engine);
const groups = [...document.querySelectorAll('[class*=Flex-root]')].filter(each =>
  each.offsetParent && each.children.length > 1 && [...each.children].every(one => one.tagName === 'BUTTON'));
const bar = [...document.querySelectorAll('[data-orientation=vertical][class*=ScrollArea-scrollbar]')]
  .find(each => each.offsetHeight > 0.5 * innerHeight);
const panel = document.querySelector('[data-cell]').closest('[class*=ScrollArea-content]');
const title = [...document.querySelectorAll('span')].find(each => each.textContent.startsWith('distance to the n'));
const help = [...document.querySelectorAll('table ~ div')].find(each => each.offsetParent);
return {canvas: box(canvas), bar: bar ? box(bar) : null,
  apart: help ? box(title)[1] - box(help)[3] : null,
  under: [...panel.querySelectorAll('button, input, canvas, [data-strip], b')].filter(each =>
    each.offsetParent && (each.scrollWidth > each.clientWidth + 1 ||
    box(each)[2] > (bar ? box(bar)[0] : innerWidth))).map(each => each.tagName + ' ' + each.textContent),
  status: box(document.querySelector('[data-cell]')), tabs: tabs.map(box),
  cut: tabs.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent),
  window: [innerWidth, innerHeight], sign: document.getElementById('elbowroom-loading') !== null,
  strip: +document.querySelector('[data-strip]').dataset.strip, said: __seen.sign,
  broken: groups.filter(each => new Set([...each.children].map(one => box(one)[1])).size > 1)
    .map(each => each.innerText)};
"""


ARROWS = """return [...document.querySelectorAll('[role=button]')]
  .find(each => each.ariaLabel.startsWith(arguments[0]) && each.offsetParent) ?? null;"""
WIDTH = "return [...document.querySelectorAll('canvas')].find(each => each.dataset.engine).clientWidth"


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1440, 900), (900, 700)])
def test_the_panel_stands_beside_the_scene_and_all_of_the_cell_is_seen(browser, demo, tmp_path, size):
    exact = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", exact)
    try:
        browser.open(demo.address)
        browser.until(lambda: not browser.run(BOXES)["sign"], "what says that it loads goes away")
        go(browser)
        browser.until(lambda: browser.run(BOXES)["strip"], "the last minute is there")
        pause(browser)
        text = browser.text()
        browser.press("reset")
        browser.until(lambda: time_of(browser) == 0.0, "the arm is where it begins")
        for tab, there in (("Scene", "simulation speed"), ("Help", "One page steers"), ("View", "top")):
            browser.tab(tab)
            browser.until(lambda there=there: there in browser.text(), f"tab {tab}")
            boxes = browser.run(BOXES)
            assert boxes["under"] == []  # nothing lies under the scrollbar
            assert (boxes["bar"] is not None) >= (size[1] < 900)  # there is one where the window is small
            if tab == "Help":
                assert boxes["apart"] >= 4  # px from its last line to the title of the first plot
        found = browser.run(BOXES)
        said, over = found["said"]
        assert "loading" in said  # in the place of a white page
        assert [over["left"], over["top"], over["right"], over["bottom"]] == [0, 0, *size]
        assert found["broken"] == []  # buttons of a group stand on one line
        assert found["canvas"][2] <= found["status"][0] + 1  # nothing lies over the arm
        assert found["canvas"][2] > 0.6 * size[0]
        assert len(found["tabs"]) == 6
        assert len({top for _, top, _, _ in found["tabs"]}) == 1  # one line
        assert max(right for _, _, right, _ in found["tabs"]) <= size[0]
        assert found["cut"] == []
        cell = Cell(Setup(robot="panda").scene())
        for row in (*cell.body.rows(cell.start, 0 * cell.start), *cell.people_rows):
            for end in (row[:3], row[3:6]):
                x, y = browser.place(end)
                assert found["canvas"][0] < x < found["canvas"][2]
                assert found["canvas"][1] < y < found["canvas"][3]
                top = browser.run("return document.elementFromPoint(arguments[0], arguments[1]).tagName", x, y)
                assert top == "CANVAS"  # nothing lies there
        for words in ("separation", "approach", "contact", "throughput", "last minute", "simulation speed"):
            assert words in text
        assert text.count("Not a safety-rated device") == 1
        browser.pixels()
        browser.driver.save_screenshot(str(tmp_path / f"{size[0]}.png"))
        if size[0] < 1000:
            for does, least, most in (("Collapse", 0.9, 1.0), ("Expand", 0.6, 0.7)):  # viser's own button
                browser._click(ARROWS, does, what=f"an arrow that says {does}", whole=False)
                browser.until(
                    lambda least=least, most=most: least <= browser.run(WIDTH) / size[0] <= most, f"the panel: {does}"
                )
    finally:
        own = {"width": browser.size[0], "height": browser.size[1], "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", own)


@pytest.mark.slow
def test_label_and_panel_say_the_same_and_a_preset_turns_the_camera(page):
    pause(page)
    shown = re.search(r"distance to the nearest person\s+(\d\.\d\d) m", page.text())[1]
    assert re.search(rf"separation\s+{re.escape(shown)} m, needs", page.text())
    page.tab("View")
    last = before = page.run("return __seen.view")
    for name in ("front", "side", "top", "tool"):
        page.press(name)
        page.until(lambda last=last: difference(page.run("return __seen.view"), last) > 0.1, f"the camera: {name}")
        last = steady(page)
    page.press("cell")
    page.until(lambda: difference(page.run("return __seen.view"), before) < 0.05, "and back")


def steady(page):
    """Where the camera looks from when two looks, some frames apart, are the same."""
    seen = [page.run("return __seen.view")]

    def same():
        page.frames(2)
        seen.append(page.run("return __seen.view"))
        return difference(*seen[-2:]) < 1e-6

    page.until(same, "the camera stands")
    return seen[-1]


LINE = """
const canvas = document.querySelector('.uplot canvas'), [r, g, b] = [0x26, 0x5c, 0x7a];
const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
let count = 0;
for (let k = 0; k < data.length; k += 4)
  count += Math.abs(data[k] - r) + Math.abs(data[k + 1] - g) + Math.abs(data[k + 2] - b) < 30 && data[k + 3] > 200;
return count;
"""  # pixels of the first plot that have the colour of its line


@pytest.mark.slow
def test_plots_and_the_last_minute_begin_anew_with_the_scenario(page):
    page.until(lambda: time_of(page) > 0.5 and page.run(LINE) > 20, "a line is drawn")
    page.until(lambda: page.run(BOXES)["strip"], "and the last minute")
    pause(page)
    page.tab("Scene")
    page.choose("scenario", name_of("scenario", "walk past"))
    page.until(lambda: time_of(page) == 0.0 and page.run(LINE) == 0, "nothing is left of it")
    page.until(lambda: not page.run(BOXES)["strip"], "nor of the minute")


def recording(page):
    """Starts a recording; its file."""
    page.press_on("Record", "Record")
    return page.until(lambda: re.search(r"recording to (\S+\.csv)", page.text()), "it records")[1]


@pytest.mark.slow
def test_a_goal_that_is_dragged_is_followed_until_it_is_let_go_of(page):
    pause(page)
    page.press("reset")
    page.until(lambda: time_of(page) == 0.0, "it begins")
    file = recording(page)
    page.tab("Scene")
    cell = Cell(Setup(robot="panda").scene())
    cell.step(0.0)
    goal = np.array(cell.task.goal.position)
    assert "Back to work" not in page.text()
    for _ in range(4):  # a page that is slow to see what lies under the mouse may need a try more
        page.drag(page.place(goal), page.place(goal + np.array([0.0, 0.0, 0.2])))
        page.frames(3)
        if "Back to work" in page.text():
            break
    page.until(lambda: "Back to work" in page.text(), "the goal was taken")
    go(page)
    page.until(lambda: "following the dragged goal" in page.status(), "the tool follows it")
    page.until(lambda: time_of(page) > 1.0 and page.number(r"speed of the tool\s+(\d\.\d\d) m/s") < 0.01, "it is there")
    page.press("Back to work")
    page.until(lambda: "dragged" not in page.status() and at_work(page), "the work goes on")
    page.press_on("Record", "Save the recording")
    page.until(lambda: "recorded:" in page.text(), "it is saved")
    rows = read(file)
    tool, wanted = (np.stack([rows[f"{name}_{k}"] for k in "xyz"], axis=1) for name in ("tool", "goal"))
    followed = rows["state"] == DRAGGED
    last = np.flatnonzero(followed)[-1]
    assert np.linalg.norm(wanted[last] - goal) > 0.1
    assert np.linalg.norm(wanted[last] - tool[last]) < 0.02  # m, where it stands
    assert not followed[-1]


@pytest.mark.slow
def test_joints_are_moved_by_hand_while_nothing_runs(page):
    label = er.load("panda").joint_names[0]
    page.tab("Joints")
    page.until(lambda: "Pause, to move joints by hand" in page.text(), "it says how")
    assert page.value(label) is None
    pause(page)
    page.press("reset")
    page.until(lambda: page.value(label) and time_of(page) == 0.0, "a slider a joint")
    before, apart = still(page), page.number(r"separation\s+(\d\.\d\d) m")
    page.type(label, "1.2", leave=True)
    page.until(lambda: difference(page.pixels(), before) > CHANGED, "the arm has moved")
    page.until(lambda: abs(page.number(r"separation\s+(\d\.\d\d) m") - apart) > 0.05, "with what is measured of it")
    assert float(page.value(label)) == 1.2
    assert "refused" not in page.text()
    go(page)
    page.until(lambda: page.value(label) is None and at_work(page), "it works on from there, and no slider is left")
    page.press("reset")


def shown_anew(page, label, name, before):
    """Chooses something while paused, sees it drawn from its beginning, and lets it run a little."""
    page.choose(label, name)
    page.until(lambda: page.status() == "paused" and time_of(page) == 0.0, f"{name} stands at its beginning")
    assert page.value(label) == name
    assert "refused" not in page.text()
    page.until(lambda: difference(page.pixels(), before) > CHANGED, f"{name} looks different from what was before it")
    seen = page.pixels()
    go(page)
    page.until(lambda: time_of(page) > 0.1, f"{name} runs")
    said = page.status()
    pause(page)
    return seen, said


@pytest.mark.slow
def test_each_scenario_starts(page):
    page.until(lambda: time_of(page) > 0.1, "some time has passed")
    pause(page)
    cell, _ = shown_anew(page, "arm", "puma560", still(page))  # test 7 is about a joint of this one
    for name in SCENARIOS[1:]:
        if name != "recorded":  # which needs a file
            seen, said = shown_anew(
                page, "scenario", name_of("scenario", name), cell
            )  # some tests begin alike, but none as the cell does
            assert said.startswith(WORKS), (name, said)
    shown_anew(page, "scenario", name_of("scenario", "cell"), seen)


@pytest.mark.slow
def test_every_arm_of_the_catalogue_shows_and_works(page):
    page.until(lambda: time_of(page) > 0.1, "some time has passed")
    pause(page)
    seen = still(page)
    for name in [*(name for name in catalogue.names() if name != "panda"), "panda"]:
        seen, said = shown_anew(page, "arm", name, seen)
        assert said.startswith(WORKS), (name, said)
        least = re.search(r"\d+ % at (\S+)", page.text())  # the joint with the least margin is one of this arm
        assert least, page.text()
        assert least[1] in er.load(name).joint_names


@pytest.mark.slow
def test_a_number_that_is_typed_reaches_the_controller_and_comes_back_clamped(page):
    label, high, low = RANGES["influence"].label, RANGES["influence"].high, RANGES["influence"].low
    page.tab("Control")
    page.type(label, "99")  # the field keeps the focus, so it is not the page that clamps it
    page.until(lambda: float(page.value(label)) == high, "99 m comes back as the most there is")
    page.until(lambda: page.status().startswith(("avoiding", "waiting")), "somebody 0.7 m away is now avoided")
    page.type(label, "0.001", leave=True)
    page.until(lambda: float(page.value(label)) == low, "0.001 m comes back as the least there is")
    page.until(lambda: page.status().startswith("working"), "and now they are left alone")
    page.type(label, "0.5", leave=True)
    page.until(lambda: float(page.value(label)) == 0.5, "a number between comes back as it is")


@pytest.mark.slow
def test_a_person_who_is_dragged_comes_nearer_and_the_arm_moves_away(page, demo):
    cell = Cell(Setup(robot="panda").scene())
    feet = np.array(cell.people[0].actual.point(0.0)[0])
    toward = np.array(cell.tool) - feet
    toward[2] = 0.0
    file = recording(page)
    leg = feet + np.array([0.0, 0.0, 0.3])
    drag(page, leg, leg + 0.55 * toward)
    assert "Uncaught" not in page.story()  # a page that fails while something is taken draws nothing any more
    page.until(lambda: page.status().startswith(("avoiding", "waiting")), "they are avoided")
    before = time_of(page)
    page.until(lambda: time_of(page) > before + 1.0, "for a second")
    page.press_on("Record", "Save the recording")
    page.until(lambda: "recorded:" in page.text(), "it is saved")
    rows = read(file)
    person, tool, speed = (
        np.stack([rows[f"{name}{k}"] for k in "xyz"], axis=1) for name in ("person_", "tool_", "tool_v")
    )
    moved = np.linalg.norm(person[:, :2] - person[0, :2], axis=1)
    assert moved.max() > 0.2
    distance = rows["distance_surfaces"]
    assert distance.min() < distance[0] - 0.15
    assert (distance > 0.0).all()
    assert rows["contacts"][-1] == 0
    away = tool - person
    away[:, 2] = 0.0
    leaving = (speed * away).sum(axis=1) / np.linalg.norm(away, axis=1)
    assert leaving[distance < distance[0] - 0.1].max() > 0.05  # m/s, away from them, where they are near
    page.press_on("Scene", "Let go of the person")
    page.until(lambda: page.status().startswith("working"), "they went back, and the work goes on")


def drag(page, start, end):
    """Takes a handle by the mouse; a page that is slow to see what lies under the mouse may need a try more."""
    before = page.status()
    for _ in range(4):
        page.drag(page.place(start), page.place(end))
        page.frames(3)
        if page.status() != before and not page.status().startswith("working"):
            return


@pytest.mark.slow
def test_one_page_steers_and_another_watches_until_it_takes_over(page, demo):
    first = page.driver.current_window_handle
    assert "You steer" not in page.text()  # nobody else could
    pause(page)
    second = page.window()
    try:
        page.open(demo.address)
        page.until(lambda: "Watching" in page.text() and page.status() == "paused", "the second page watches")
        before = time_of(page)
        page.press("go")
        page.choose("arm", "ur5e")
        page.until(lambda: page.value("arm") == "panda", "the list is put right again")
        page.frames(5)
        assert (page.status(), time_of(page)) == ("paused", before)  # and the button, pressed before, did nothing
        page.press("Steer from this page")
        page.until(lambda: "You steer" in page.text(), "the second page steers")
        page.press("reset")
        page.until(lambda: time_of(page) == 0.0, "and is obeyed")
        page.to(first)
        page.until(lambda: "Watching" in page.text() and time_of(page) == 0.0, "which the first page shows")
        page.press("go")
        page.choose("arm", "ur5e")
        page.until(lambda: page.value("arm") == "panda", "where the list is put right now")
        assert (page.status(), time_of(page)) == ("paused", 0.0)
    finally:
        page.to(second)
        page.driver.close()
        page.to(first)
    page.until(lambda: not re.search("You steer|Watching", page.text()), "the page that is left steers")
    go(page)


@pytest.mark.slow
def test_a_page_that_is_loaded_again_shows_what_was_there_and_steers_on(page):
    page.tab("Control")
    page.choose("joint limits", name_of("limits", "potential"))
    page.until(lambda: at_work(page), "it works on")
    pause(page)
    before = time_of(page)
    page.reload()
    page.until(lambda: page.status() == "paused" and time_of(page) == before, "it stands where it stood")
    page.until(lambda: "Watching" not in page.text(), "and steers")
    page.tab("Control")
    assert page.value("joint limits") == name_of("limits", "potential")
    go(page)


@pytest.mark.slow
def test_a_server_that_was_killed_and_started_again_is_found_by_the_page(browser, tmp_path):
    with Demo("--robot", "planar2") as old:
        browser.open(old.address)
        pause(browser)
        old.kill()
        browser.until(lambda: not old.left(), "the engine of a killed server ends by itself")
        with Demo("--robot", "scara", port=old.port) as new:
            assert new.port == old.port
            # nobody touches the page
            browser.until(lambda: browser.value("arm") == "scara", "the page shows the new server's arm")
            browser.until(lambda: at_work(browser) and "Watching" not in browser.text(), "at work, steered from here")
            before = time_of(browser)
            browser.until(lambda: time_of(browser) > before, "time goes on")


EVIL = "<img src=x onerror=document.title='broken'>"
URDF = (
    f"""<robot name="{EVIL.replace("<", "&lt;")}">
  <link name="base"/>
"""
    + "".join(
        f"""
  <link name="&lt;b&gt;link{k}"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.2 0 0" rpy="0 1.5708 0"/><geometry><cylinder radius="0.05" length="0.4"/></geometry>
    </collision></link>
  <joint name="{EVIL.replace("<", "&lt;")}{k}" type="revolute">
    <parent link="{"base" if k == 0 else f"&lt;b&gt;link{k - 1}"}"/><child link="&lt;b&gt;link{k}"/>
    <origin xyz="{0.0 if k == 0 else 0.4} 0 0"/><axis xyz="0 {k % 2} {1 - k % 2}"/>
    <limit lower="-2" upper="2" effort="100" velocity="2"/></joint>
"""
        for k in range(3)
    )
    + "</robot>"
)


@pytest.mark.slow
def test_names_from_a_file_are_text_and_nothing_else(browser, tmp_path):
    path = tmp_path / f"{EVIL}.urdf"
    path.write_text(URDF)
    with Demo("--robot", str(path)) as demo:
        browser.open(demo.address)
        browser.until(lambda: f"{EVIL}2" in browser.text() or f"{EVIL}0" in browser.text(), "the joint's name is shown")
        assert browser.value("arm") == path.name
        assert not browser.run("return [...document.images].some(each => each.getAttribute('src') === 'x')")
        assert "broken" not in browser.driver.title
