"""A real browser and a real `elbowroom demo`, for tests that do what a person does.

    with Demo() as demo, Browser(folder) as browser:
        browser.open(demo.address)
        browser.choose("arm", "ur5e")
        browser.until(lambda: "working" in browser.text(), "the arm works")

Chromium draws in software here: a frame takes a good part of a second, most of it for shadows.  So unless `shadows` is
asked for, what is drawn into shadow maps is left out, in the browser, and unless it is to draw `always`, only what
`pixels` looks at is drawn; the page and its server are as they are for everybody.  Nothing waits for a time: everything
waits for a condition, and what never happens is told with the text of the page and the browser's console.

The browser resolves no name but this machine's, keeps its files in a folder of its own, and is ended together with
everything that it started.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elbowroom

WAIT = 120.0  # s, far above what anything takes on a busy machine; only a failure waits so long
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
MISSING = "needs Chromium and chromedriver: apt-get install chromium chromium-driver"

FLAGS = (
    "headless=new",
    "no-sandbox",  # a container has no user namespaces, and these pages are ours
    "disable-dev-shm-usage",
    "enable-unsafe-swiftshader",
    "use-angle=swiftshader",
    "disable-gpu-compositing",  # in software it takes far less without: WebGL alone goes through swiftshader
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "disable-default-apps",
    "no-first-run",
    "no-default-browser-check",
    "no-proxy-server",
    "hide-scrollbars",
    "disable-renderer-backgrounding",
    "disable-background-timer-throttling",
    "disable-backgrounding-occluded-windows",
    "host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)

# Before the page's own scripts: keep what is drawn readable, count what is drawn to the screen, leave out shadows and
# frames that nobody looks at, and remember the camera's matrices, so that a place in the cell can be told in pixels.
INSIDE = """(() => {
  const plain = HTMLCanvasElement.prototype.getContext, names = new WeakMap();
  window.__seen = {draws: 0, view: null, projection: null, looking: ALWAYS};
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    if (!String(kind).startsWith('webgl')) return plain.call(this, kind, options);
    const gl = plain.call(this, kind, {...options, preserveDrawingBuffer: true, antialias: SHADOWS});
    if (!gl || gl.__watched) return gl;
    gl.__watched = true;
    let aside = null;
    const wrap = (name, around) => { const real = gl[name].bind(gl); gl[name] = (...a) => around(real, a); };
    wrap('bindFramebuffer', (real, a) => { if (a[0] !== gl.READ_FRAMEBUFFER) aside = a[1]; return real(...a); });
    for (const name of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced'])
      wrap(name, (real, a) => {
        if (aside && !SHADOWS) return;
        if (!aside) __seen.draws++;
        if (__seen.looking) return real(...a);
      });
    wrap('clear', (real, a) => { if (__seen.looking) return real(...a); });
    wrap('getUniformLocation', (real, a) => { const at = real(...a); if (at) names.set(at, a[1]); return at; });
    wrap('uniformMatrix4fv', (real, a) => {
      const name = aside ? '' : names.get(a[0]);
      if (name === 'viewMatrix') __seen.view = Array.from(a[2]);
      // an orthographic one belongs to an overlay, not to the camera
      if (name === 'projectionMatrix' && a[2][15] === 0) __seen.projection = Array.from(a[2]);
      return real(...a);
    });
    return gl;
  };
})();"""

# What is said to be in the page's way: the notice that there is no graphics card.
TIDY = "[class*=Notification-root], [class*=Notifications-root] { display: none !important }"

FIELD = """
for (const label of document.querySelectorAll('label')) {
  const said = label.textContent.trim(), at = document.getElementById(label.htmlFor);
  if (!at || (said !== arguments[0] && !said.startsWith(arguments[0] + ','))) continue;
  const field = at.tagName === 'INPUT' ? at : at.parentElement.querySelector('input[inputmode=decimal]');
  if (field) return field;
}
return null;
"""

NAMED = """return [...document.querySelectorAll(arguments[0])]
  .find(each => each.textContent.trim() === arguments[1] && each.offsetParent) ?? null;"""

AIM = """
if (!at || at.disabled) return null;
at.scrollIntoView({block: 'nearest'});
const box = at.getBoundingClientRect(), middle = [box.left + box.width / 2, box.top + box.height / 2];
if (!at.contains(document.elementFromPoint(...middle))) return null;
window.__down = window.__hit = false;
at.addEventListener('pointerdown', () => { window.__down = true; }, {once: true, capture: true});
document.addEventListener('pointerup', up => {  // seen before anybody acts on it; viser's arrows make no click of it
  window.__hit = window.__down && at.contains(document.elementFromPoint(up.clientX, up.clientY));
}, {once: true, capture: true});
return middle;
"""

CANVAS = """
const screen = [...document.querySelectorAll('canvas')].filter(each => each.width && each.dataset.engine);
const canvas = screen.sort((a, b) => b.clientWidth * b.clientHeight - a.clientWidth * a.clientHeight)[0];
"""


def chromium() -> tuple[str, str] | None:
    """The browser and its driver, where both are installed."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None and sys.platform == "darwin" and Path(MAC).exists():
        found = MAC
    driver = shutil.which("chromedriver")
    return (found, driver) if found and driver else None


def need_chromium() -> tuple[str, str]:
    """The browser and its driver; skips the test, and says what to install, where one is missing."""
    pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install '.[dev]'")
    found = chromium()
    if found is None:
        pytest.skip(MISSING)
    return found


class Demo:
    """`elbowroom demo` in a process of its own, as a user starts it."""

    def __init__(self, *options: str, port: int = 0, folder: Path | None = None) -> None:
        where = Path(elbowroom.__file__).parents[1]  # what the tests import is what is started
        paths = os.pathsep.join(filter(None, [str(where), os.environ.get("PYTHONPATH", "")]))
        self._output: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "elbowroom", "demo", *options, "--no-open", "--port", str(port)],
            cwd=folder,  # where recordings go
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "200"},
            start_new_session=True,  # so that all of it can be ended at once
        )
        self.address = self._hear()
        self.port = int(re.search(r":(\d+)/", self.address)[1])

    def _hear(self) -> str:
        """The address that it prints; it may compile an arm before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            if found := re.search(r"http://\S+", line):
                return found[0]
        self.close()
        raise AssertionError("it ended before it was live; it said: " + "".join(self._output))

    def kill(self) -> None:
        """As `kill -9` does: the one process, without a word; its engine must notice by itself."""
        self.process.kill()
        self.process.wait()

    def left(self) -> list[int]:
        """The processes of it that are still there."""
        listing = subprocess.run(["ps", "-axo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in listing.splitlines()]
        return [int(pid) for pid, group, state in rows if int(group) == self.process.pid and state[0] != "Z"]

    def close(self) -> None:
        """Ends it, and what is left of it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10.0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Demo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Browser:
    """Chromium without a window, and what a person does with it."""

    def __init__(
        self,
        folder: Path,
        *,
        size: tuple[int, int] = (900, 760),
        scale: float = 0.3,
        shadows: bool = False,
        always: bool = False,
    ) -> None:
        from selenium import webdriver
        from selenium.common.exceptions import SessionNotCreatedException

        binary, driver = need_chromium()
        self.folder, self.scale, self.size = Path(folder), scale, size
        self.shadows, self.always = shadows, always
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        for flag in (*FLAGS, f"window-size={size[0]},{size[1]}", f"user-data-dir={self.folder}"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        try:
            self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        except SessionNotCreatedException as error:
            self._end_all()
            if "version" in str(error):
                pytest.skip(f"Chromium and its driver do not fit: {error.msg}")
            raise
        self.driver.set_page_load_timeout(WAIT)
        self.driver.set_script_timeout(WAIT)
        self._prepare()

    def _prepare(self) -> None:
        """For every page of the window that is driven now."""
        source = INSIDE.replace("SHADOWS", str(self.shadows).lower()).replace("ALWAYS", str(self.always).lower())
        tidy = f"""addEventListener('DOMContentLoaded', () => {{
            const style = document.createElement('style');
            style.textContent = {TIDY!r};
            document.head.append(style);
            const sign = document.getElementById('elbowroom-loading');
            if (sign) window.__seen.sign = [sign.innerText, sign.getBoundingClientRect().toJSON()];
        }});"""
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source + tidy})
        exact = {"width": self.size[0], "height": self.size[1], "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", exact)
        # viser looks for a server that has gone only while its window is the one in front
        self.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})

    def close(self) -> None:
        """Ends it, and whatever runs with its folder."""
        try:
            self.driver.quit()
        finally:
            self._end_all()

    def _end_all(self) -> None:
        """Chromium is many processes; those that carry our folder's name are ours, and all must go."""
        listing = subprocess.run(["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=False).stdout
        for row in listing.splitlines():
            pid, _, words = row.strip().partition(" ")
            if f"--user-data-dir={self.folder}" in words:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(int(pid), signal.SIGKILL)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- pages
    def open(self, address: str) -> None:
        """Opens a page of the demo and waits until it shows something."""
        joint = "&" if "?" in address else "?"
        self.driver.get(f"{address}{joint}fixedDpr={self.scale:g}")
        self.until_live()

    def reload(self) -> None:
        """As F5 does."""
        self.driver.refresh()
        self.until_live()

    def until_live(self) -> None:
        """Until the panel has numbers and the canvas has been drawn."""
        self.until(lambda: re.search(r"cycles? done", self.text()), "the panel has numbers")
        self.until(lambda: self.run("return __seen.draws") > 0 and self.run("return __seen.view !== null"), "drawn")

    def window(self) -> str:
        """Another window beside; it is driven from now on.  Unlike a hidden tab, both go on drawing."""
        self.driver.switch_to.new_window("window")
        self._prepare()
        return self.driver.current_window_handle

    def to(self, handle: str) -> None:
        """Drives that window from now on."""
        self.driver.switch_to.window(handle)

    def run(self, script: str, *given: Any) -> Any:
        """What a script says in the page."""
        return self.driver.execute_script(script, *given)

    # ---- what one sees
    def text(self) -> str:
        """All that can be read on the page."""
        return self.run("return document.body ? document.body.innerText : ''")

    def status(self) -> str:
        """The sentence at the top: what the arm is doing."""
        found = re.search(r"^\s*\u25cf\s*(.*)$", self.text(), re.MULTILINE)
        return found[1].strip() if found else ""

    def value(self, label: str) -> str:
        """What stands in a field."""
        return self.run(f"const at = (function () {{{FIELD}}})(arguments[0]); return at && at.value", label)

    def number(self, pattern: str) -> float:
        """A number of the text; NaN where it is not."""
        found = re.search(pattern, self.text())
        return float(found[1]) if found else float("nan")

    def pixels(self, width: int = 96, height: int = 64) -> np.ndarray:
        """The three-dimensional part as it is now, reduced: (height, width, 3)."""
        self.run("__seen.looking = true")
        self.frames(2)  # the second begins when the first, which may have begun before, has been drawn
        flat = self.run(
            f"""{CANVAS} __seen.looking = {str(self.always).lower()}; if (!canvas) return null;
            const small = document.createElement('canvas');
            [small.width, small.height] = [arguments[0], arguments[1]];
            const pen = small.getContext('2d', {{willReadFrequently: true}});
            pen.drawImage(canvas, 0, 0, small.width, small.height);
            return Array.from(pen.getImageData(0, 0, small.width, small.height).data);""",
            width,
            height,
        )
        if flat is None:
            return np.zeros((height, width, 3), dtype=int)
        return np.array(flat).reshape(height, width, 4)[:, :, :3]

    def place(self, point: Any) -> tuple[float, float]:
        """Where in the window a place of the cell is drawn, by the camera's own matrices."""
        view, projection, at = self.run(
            CANVAS + "return [__seen.view, __seen.projection, canvas.getBoundingClientRect()]"
        )
        x, y, z = point
        matrix = np.reshape(projection, (4, 4)).T @ np.reshape(view, (4, 4)).T
        a, b, _, w = matrix @ [-y, z, -x, 1.0]  # the page's own world has y up
        return at["x"] + (0.5 + 0.5 * a / w) * at["width"], at["y"] + (0.5 - 0.5 * b / w) * at["height"]

    # ---- what one does
    def tab(self, name: str) -> None:
        """A tab of the panel; it is open when this returns."""
        chosen = f"const at = (function () {{{NAMED}}})(...arguments); return at && at.ariaSelected === 'true'"

        def opened() -> bool:
            self._click(NAMED, "[role=tab]", name, what=f"a tab {name!r}")
            return self.run(chosen, "[role=tab]", name)

        self.until(opened, f"the tab {name!r} is open")

    def choose(self, label: str, option: str) -> None:
        """An option of a list, by two clicks."""
        self._click(FIELD, label, what=f"a field {label!r}")
        self._click(NAMED, "[role=option]", option, what=f"{option!r} listed under {label}")

    def type(self, label: str, text: str, *, leave: bool = False) -> None:
        """Text into a field in the place of what stood there; `leave` goes to the next field, as the Tab key does.

        It comes at once, as from the clipboard: where a machine is slow, a second may pass between two keys, and the
        panel answers what was typed until then.
        """
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys

        self._click(FIELD, label, what=f"a field {label!r}")
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        if leave:
            ActionChains(self.driver).send_keys(Keys.TAB).perform()

    def press(self, label: str, seconds: float = WAIT) -> None:
        """A button that is called so."""
        self._click(NAMED, "button", label, what=f"a button {label!r}", seconds=seconds)

    def press_on(self, tab: str, label: str) -> None:
        """A button of a tab: where the panel shows another tab by the time it is looked for, the tab is opened again.

        A busy machine draws a press late, and then the panel can come back to a tab that was left before.
        """

        def done() -> bool:
            self.tab(tab)
            try:
                self.press(label, seconds=10.0)
            except AssertionError:
                return False
            return True

        self.until(done, f"the button {label!r} of the tab {tab!r} is pressed")

    def _click(self, find: str, *given: str, what: str, whole: bool = True, seconds: float = WAIT) -> None:
        """Clicks with the mouse what a script finds, once it lies in the window with nothing over it.

        Where the panel has moved between the look and the click, something else lies there: the button is let go of
        beside it, so that nothing is clicked, and the thing is looked for again.  Only a whole click counts: one whose
        button goes up where something else has come to lie is none.  Not `whole`: of what moves away at the press.
        (The driver's own click takes all for not there after another size of the window.)
        """
        script = f"const at = (function () {{{find}}})(...arguments); {AIM}"

        def hit() -> bool:
            at = self.run(script, *given)
            if at is None:
                return False
            self.mouse("mouseMoved", *at, 0)
            self.mouse("mousePressed", *at, 1)
            self.mouse("mouseReleased", *(at if self.run("return __down") else (0.0, 0.0)), 1)
            if not self.run("return __hit" if whole else "return __down"):
                time.sleep(0.5)  # what it did, if it did anything, is seen by then
                return False
            return True

        self.until(hit, f"there is {what} to click", seconds)

    def key(self, key: str) -> None:
        """A key, pressed while nothing has the focus."""
        from selenium.webdriver import ActionChains

        self.run("document.activeElement && document.activeElement.blur()")
        ActionChains(self.driver).send_keys(key).perform()

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> None:
        """With the mouse: down, a few moves, up; each after the page has drawn the one before."""
        self.mouse("mouseMoved", *start, 0)
        self.frames(2)  # what lies under the mouse is found when something is drawn
        self.mouse("mousePressed", *start, 1)
        self.frames(1)
        for k in range(1, steps + 1):
            self.mouse("mouseMoved", *(np.array(start) + (np.array(end) - start) * k / steps), 1)
            self.frames(1)
        self.mouse("mouseReleased", *end, 1)

    def mouse(self, what: str, x: float, y: float, held: int) -> None:
        """One event of the mouse, as the system would send it."""
        self.driver.execute_cdp_cmd(
            "Input.dispatchMouseEvent",
            {
                "type": what,
                "x": float(x),
                "y": float(y),
                "button": "none" if what == "mouseMoved" and not held else "left",
                "buttons": 0 if what == "mouseReleased" else held,
                "clickCount": 0 if what == "mouseMoved" else 1,
            },
        )

    def frames(self, count: int) -> None:
        """Waits until the browser has shown so many frames."""
        self.driver.execute_async_script(
            """let left = arguments[0]; const done = arguments[1];
            const next = () => left-- > 0 ? requestAnimationFrame(next) : done(); next();""",
            count,
        )

    # ---- waiting
    def until(self, condition: Any, what: str, seconds: float = WAIT) -> Any:
        """Waits for something that the page comes to by itself; what came is given back."""
        from selenium.common.exceptions import JavascriptException, StaleElementReferenceException

        end = time.monotonic() + seconds
        while True:
            try:
                if got := condition():
                    return got
            except (StaleElementReferenceException, JavascriptException):  # the page was being drawn anew
                pass
            if time.monotonic() > end:
                raise AssertionError(f"never came: {what}\n{self.story()}")
            time.sleep(0.05)

    def story(self) -> str:
        """What the page and its console say, for whoever reads a failure."""
        try:
            said = "\n".join(f"  {each['level']} {each['message'][:300]}" for each in self.driver.get_log("browser"))
            return f"--- the page ({self.driver.current_url})\n{self.text()}\n--- its console\n{said}"
        except Exception as error:
            return f"(the page cannot be asked: {error})"
