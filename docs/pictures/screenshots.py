"""Makes the pictures of the live cell beside itself, in Chromium: `make screenshots`.

    python docs/pictures/screenshots.py              all of them
    python docs/pictures/screenshots.py movie        those that are named

The engine is paused and stepped, and every picture waits until the page has drawn that step.  So a browser that draws
a frame a second makes a moving picture of twelve, and every run makes the same ones, as far as browsers do.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "viewer"))

from browser import Browser  # noqa: E402

from elbowroom.model import catalogue  # noqa: E402
from elbowroom.viewer.panel.panel import EVERY, WIDE  # noqa: E402
from elbowroom.viewer.session.live import Live  # noqa: E402
from elbowroom.viewer.session.setup import Setup  # noqa: E402
from elbowroom.viewer.snapshot import Snapshot  # noqa: E402

VIEW = (1440, 900)  # pixels
MOVIE = (900, 560)
RATE = 8.0  # moving pictures a second, of simulated time
LASTS = 8.5  # s
TILE = (440, 400)  # of the arms, a picture each
QUALITY = 88  # of 100, for stills; moving pictures take less
GONE = "return document.getElementById('elbowroom-loading') === null"


class Studio:
    """A live cell that stands still until it is told, and a browser that looks at it."""

    def __init__(self, size: tuple[int, int], *, shadows: bool = True, **chosen: Any) -> None:
        self.live = Live(Setup(**chosen), port=0)
        show = self.live.panel.show
        self.live.panel.show = lambda shown, *rest: show(
            dataclasses.replace(shown, running=True), *rest
        )  # not "paused"
        self.live.wait()
        self.mark = self.live.page.server.gui.add_html("", order=1e6)
        self.folder = tempfile.TemporaryDirectory(prefix="elbowroom-screenshots-")
        self.browser = Browser(Path(self.folder.name), size=size, scale=1.0, shadows=shadows, always=True)
        self.marks = 0
        self.order("pause")
        self.order("reset")
        self.until(lambda picture: not picture.running and picture.t < 0.05)

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self.live.close()
        self.folder.cleanup()

    # ---- the engine
    def order(self, *what: Any) -> None:
        self.live.order(*what)

    def until(self, what: Callable[[Snapshot], bool], shown: bool = True) -> Snapshot:
        """Shows what the engine does until something is so; or only waits."""
        end = time.monotonic() + 120.0
        while time.monotonic() < end:
            if shown:
                self.live.show()
            picture = self.live.board.look()
            if what(picture):
                return picture
            time.sleep(0.02)
        raise RuntimeError(f"never came; the cell says: {picture.status} {picture.problem}")

    def choose(self, **wanted: Any) -> None:
        """Another scenario, arm or setting."""
        for name, value in wanted.items():
            self.order("set", name, value)
            self.until(lambda picture, name=name, value=value: getattr(picture.scene.shown, name) == value)

    def step(self, seconds: float, shown: bool = True) -> None:
        """Simulated time passes; the page sees about every thirtieth of it, as always, or only what is asked for."""
        start = self.live.board.look().t
        self.order("step")
        period = self.until(lambda snapshot: snapshot.t > start, shown).t - start
        left, some = round(seconds / period) - 1, max(1, round(1 / (30 * period)))
        while left > 0:
            count, before = min(some, left), self.live.board.look().t
            for _ in range(count):
                self.order("step")
            self.until(lambda picture, wanted=before + (count - 0.5) * period: picture.t > wanted, shown)
            left -= count

    # ---- the page
    def open(self) -> None:
        """The page anew, seen as everybody sees it."""
        server = self.live.page.server
        before = set(server.get_clients())
        self.browser.driver.get(f"{self.live.address}?fixedDpr=1&hideViserLogo")
        self.browser.until(lambda: set(server.get_clients()) - before, "the page is there")
        self.drawn()
        self.browser.until(lambda: self.browser.run(GONE), "what says that it loads has gone")

    def look(self, name: str) -> None:
        """From another of the page's cameras."""
        server = self.live.page.server
        self.order("camera", name, server.get_clients()[max(server.get_clients())])

    def drawn(self) -> None:
        """Waits until the page shows what the cell is now."""
        self.live.panel._count = EVERY - 1  # texts and plots are renewed now and then: now
        self.live.panel._columns = 0  # and so is the strip of the last minute
        while not self.live.show() and self.live.engine.is_alive():
            time.sleep(0.01)
        self.marks += 1
        self.mark.content = f'<i id="mark" data-mark="{self.marks}"></i>'
        seen = "const at = document.getElementById('mark'); return at && at.dataset.mark === String(arguments[0])"
        self.browser.until(lambda: self.browser.run(seen, self.marks), "the page has it")
        self.browser.until(lambda: self.browser.run("return __seen.draws") > 0, "something is drawn")
        self.browser.frames(2)

    def picture(self, hidden: str = "") -> Image.Image:
        """What the window shows."""
        self.browser.run(
            """let style = document.getElementById('studio');
            if (!style) { style = document.createElement('style'); style.id = 'studio'; document.head.append(style); }
            style.textContent = arguments[0];""",
            hidden,
        )
        self.drawn()
        taken = self.browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})  # waits longer than
        return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")  # the driver's own


def save(image: Image.Image, name: str) -> None:
    """As WebP: a fifth of a PNG, and no bands on round things."""
    path = HERE / f"{name}.webp"
    image.save(path, quality=QUALITY, method=6)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def views() -> None:
    """The cell at work; somebody in its way, with the shells and without."""
    with Studio(VIEW, robot="panda") as studio:
        studio.step(6.4)
        studio.open()
        save(studio.picture(), "cell")
        studio.order("drag", (-0.35, -0.1))
        studio.order("hand", "left", (-0.25, 0.0, 0.45))
        studio.step(4.4)
        save(studio.picture(), "avoiding")
        studio.order("view", "shells", True)
        save(studio.picture(), "shells")


def contact() -> None:
    """Somebody comes so near that the arm cannot give way any more, and it feels them."""
    with Studio(VIEW, robot="panda", scenario="touch") as studio:
        studio.step(5.0)
        studio.open()
        studio.order("drag", (-1.15, -0.25))  # where the arm cannot give way any more
        for _ in range(300):
            studio.step(0.01, shown=False)
            if studio.live.board.look().stopped:
                break
        studio.step(0.05)
        save(studio.picture(), "contact")


def arms() -> None:
    """Every arm of the catalogue at work, in one picture."""
    font = ImageFont.load_default(22)
    names = catalogue.names()
    columns = 3
    rows = -(-len(names) // columns)
    width, height = TILE
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    with Studio((width + WIDE, height), robot=names[0]) as studio:
        for k, name in enumerate(names):
            studio.choose(robot=name)
            studio.step(1.5)
            studio.open()
            tile = studio.picture().crop((0, 0, width, height))  # without the panel
            ImageDraw.Draw(tile).text((16, 12), name, fill=(60, 68, 74), font=font)
            sheet.paste(tile, ((k % columns) * width, (k // columns) * height))
    save(sheet, "arms")


def way(t: float) -> tuple[tuple[float, float], float]:
    """How far somebody has come into the cell, (x, y) m and how far the hand is up (0 to 1), at a time of the movie."""
    inside = np.interp(t, [1.2, 3.0, 5.6, 7.2], [0.0, 1.0, 1.0, 0.0])
    smooth = inside * inside * (3 - 2 * inside)
    return (-0.42 * smooth, -0.12 * smooth), float(smooth)


def movie() -> None:
    """Somebody comes into the way, the arm gives way, and goes on when they have gone."""
    frames = []
    with Studio(MOVIE, shadows=False, robot="panda") as studio:  # which takes a browser without a GPU ten times as long
        studio.step(3.0)
        studio.open()
        for k in range(round(LASTS * RATE)):
            offset, up = way(k / RATE)
            studio.order("drag", offset)
            studio.order("hand", "left", (-0.2 * up, 0.0, 0.4 * up))
            studio.step(1 / RATE, shown=False)  # a slow browser would draw what nobody sees
            frames.append(studio.picture())
            print(f"\rframe {k + 1}", end="", flush=True)
    print()
    path = HERE / "live.webp"
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1000 / RATE), loop=0, quality=72, method=4
    )
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {len(frames)} frames", flush=True)


MAKES: dict[str, Callable[[], None]] = {"views": views, "contact": contact, "arms": arms, "movie": movie}


def main(names: list[str]) -> None:
    """Makes them."""
    unknown = set(names) - set(MAKES)
    if unknown:
        sys.exit(f"expected some of {', '.join(MAKES)}; got {', '.join(sorted(unknown))}")
    for name in names or MAKES:
        MAKES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
