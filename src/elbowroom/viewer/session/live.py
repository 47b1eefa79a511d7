"""The live page: an engine in its own process, and a page that looks at its board thirty times a second.

    with Live(Setup(robot="ur5e")) as live:
        print(live.address)
        live.serve()

One page steers, others watch and can take over (access/steering.py).  A third process compiles the other arms when
nobody else needs the time (processes.py), and a fourth writes an HTML page of the last minutes when it is asked for.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ...cell.recording.table import CSV
from ...cell.runner import bare_told
from ...errors import ElbowroomError
from ..access.server import Page, open_page
from ..access.steering import Steering
from ..panel.panel import VIEWS, Panel
from ..scene3d.scene import PageScene
from ..snapshot import Snapshot
from . import engine
from .drag_handles import DragHandles
from .engine import RATE
from .processes import CONTEXT, Orders, SharedBuffer, end, precompile, start
from .setup import Setup, ShownSettings

if TYPE_CHECKING:
    import viser

PATIENCE = 120.0  # s, for the first snapshot: an arm that was never compiled takes a few
KEPT = 120.0  # s of snapshots that are kept for an HTML page, some 8 kB each
STILL = 0.4  # s that the slider of the filter rests before its value counts
SILENT = 1.0  # s without a snapshot, after which the page says so
TOLD = 0.3  # s that pages have to hear of the engine's end
STARTING = 10.0  # s that the end waits for a child that is just being started
BREATH = 0.005  # s between two snapshots at least: viser sends only while none is being made
REST = 2.0  # s after the first snapshot before other arms are compiled


class Live:
    """Engine and page, started and stopped together.

    Files are written into the folder `out`; `recordings` is how those of recordings end, .csv or .mcap.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: str | None = None,
        out: Path | str = ".",
        warming: bool = False,
        recordings: str = CSV,
    ) -> None:
        self.board = SharedBuffer()
        self.setup, self.out, self.recordings = setup, Path(out), recordings
        ours, theirs = CONTEXT.Pipe()
        self.engine = start(engine.main, theirs, self.board, setup)
        theirs.close()
        self._orders = Orders(ours)  # after it: Ctrl-C that is blocked in this thread would reach the new one
        self._warm_at = time.monotonic() + REST if warming else None
        self._warmer: SpawnProcess | None = None
        self._writer: SpawnProcess | None = None
        self._told = self._page_file = ""
        self._starting: threading.Thread | None = None
        self._later: tuple[float, tuple[object, ...]] | None = None
        self._seen, self._busy = 0, ""
        self._busy_since = self._heard = time.monotonic()
        self._kept: deque[bytes] = deque(maxlen=round(KEPT * RATE))
        with contextlib.ExitStack() as undo:
            undo.callback(end, self.engine)
            self.page: Page = open_page(host, port, token=token, label="elbowroom", build=self._build)
            undo.pop_all()

    def _build(self, server: viser.ViserServer) -> None:
        self.steering_wheel = Steering(server, order=2.0)
        self.stage = PageScene(server)
        self.panel = Panel(server.gui, self.order, self.setup)
        self.grips = DragHandles(server.scene, self.order, self.board.look)

    @property
    def address(self) -> str:
        """The address to open."""
        return self.page.address

    @property
    def steering(self) -> int | None:
        """The number of the page that steers, None if none is open."""
        return self.steering_wheel.who

    def take_over(self, client: int) -> None:
        """That page steers from now on."""
        self.page.server.get_event_loop().call_soon_threadsafe(self.steering_wheel.take, client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything; a second time does nothing."""
        self._orders.close()
        starting = self._starting
        if starting is not None:  # a child that is left half started complains
            starting.join(STARTING)
        end(self._warmer)
        end(self._writer)
        self.page.stop()
        end(self.engine, 3.0)

    # ---- orders
    def order(self, what: str, *given: Any) -> None:
        """Does what a page orders, or sends it to the engine; an engine that has ended gets nothing."""
        if what == "view":
            name, value = given
            if name in VIEWS:
                setattr(self.stage, name, value)
            return
        if what == "page":
            self._save_page()
            return
        if what == "camera":
            name, client = given
            self.stage.look(client, name)
            return
        if what in ("record", "tape") and not given:
            given = (str(self._name(self.recordings.removeprefix("."))),)
        if what == "set" and given[0] == "filter":  # another program: not one for every step of a slider
            self._later = time.monotonic() + STILL, given
            return
        if what == "set" and given[0] in ("scenario", "robot"):  # with settings of its own
            self._later = None
        self._orders.send(what, *given)

    def _name(self, ending: str) -> Path:
        """The name of a file that does not exist yet."""
        snapshot = self.board.look()
        shown = ShownSettings("cell", "arm") if snapshot is None else snapshot.scene.shown
        words = (shown.robot, shown.scenario, time.strftime("%Y%m%d-%H%M%S"))
        stem = "-".join(["elbowroom", *(re.sub(r"[^A-Za-z0-9-]+", "", word) for word in words)])
        names = (f"{stem}{'' if k == 1 else f'-{k}'}.{ending}" for k in range(1, 1000))
        return next(self.out / name for name in names if not (self.out / name).exists()).absolute()

    def _save_page(self) -> None:
        """Has the kept snapshots written, by a process of its own: it takes seconds, and the page goes on."""
        if self._starting is not None or self._writer is not None:
            return
        if not self._kept:
            self._told = "there is nothing to save yet"
            return
        path = self._name("html")
        self._page_file = str(path)
        self._told = f"writing {path}; two minutes of snapshots take about half a minute ..."
        kept = list(self._kept)

        def begin() -> None:  # handing the snapshots over takes a second, which no page should wait
            self._writer = start(write_page, kept, str(path))
            self._starting = None

        self._starting = threading.Thread(target=begin, daemon=True)
        self._starting.start()

    # ---- showing
    def show(self) -> bool:
        """Shows what is new; False if nothing is."""
        number, data = self.board.number, self.board.data()
        self._look_after()
        if data is None or number == self._seen:
            silent = time.monotonic() - self._heard
            if not self._seen:
                self.panel.wait(self.preparing, silent, cell=False)
            elif self._busy:
                self.panel.wait(self._busy, time.monotonic() - self._busy_since)
            elif self._seen and silent > SILENT:  # it is heard of thirty times a second, paused or not
                self.panel.lost(f"no news from the cell for {silent:.0f} s")
            return False
        self._seen, self._heard = number, time.monotonic()
        snapshot: Snapshot = pickle.loads(data)
        if snapshot.busy and not self._busy:
            self._busy_since = time.monotonic()
        self._busy = snapshot.busy
        if not self._busy:
            self._kept.append(data)
        with self.page.server.atomic():  # scene, sentence, numbers and buttons are of one moment
            self.stage.show(snapshot)
            self.grips.show(snapshot)
            self.panel.show(snapshot, self._files(snapshot))
        return True

    def _files(self, snapshot: Snapshot) -> str:
        """Which files are written where."""
        said = [bare_told(snapshot.scene.bare)] if snapshot.scene.bare else []
        said.append(f"Files go to {self.out.absolute()}")
        if snapshot.recording:
            said.append(f"recording to {snapshot.recording}: {snapshot.recorded} control steps")
        elif snapshot.saved:
            said.append(f"recorded: {snapshot.saved}")
        said += [self._told] if self._told else []
        said += [self.stage.problem] if self.stage.problem else []
        return "\n".join(said)

    def _look_after(self) -> None:
        """Starts and reaps the helpers, and sends what was to wait."""
        if self._later is not None and time.monotonic() > self._later[0]:
            given, self._later = self._later[1], None
            self._orders.send("set", *given)
        writer = self._writer
        if writer is not None and not writer.is_alive():
            done = writer.exitcode == 0
            self._told = f"page: {self._page_file}" if done else "the page could not be written; see the terminal"
            self._writer = None
        if self._warm_at is not None and self._seen and time.monotonic() > self._warm_at:
            self._warm_at = None
            theirs, self._warm_pipe = CONTEXT.Pipe(duplex=False)
            self._warmer = start(precompile, theirs, self.setup)
            theirs.close()

    @property
    def preparing(self) -> str:
        """What is done before there is something to show."""
        return f"preparing {self.setup.robot or 'the arm'}: compiling its controller and supervisor"

    def wait(self, tell: Callable[[float], object] = lambda _: None) -> float:
        """Waits until there is something to show; returns the time that took, s, which `tell` is given meanwhile."""
        begun = time.monotonic()
        last = begun + PATIENCE
        while not self.show():
            self._check()
            tell(time.monotonic() - begun)
            if time.monotonic() > last:
                raise ElbowroomError(f"the cell did not start within {PATIENCE:g} s")
            time.sleep(0.02)
        return time.monotonic() - begun

    def serve(self, seconds: float | None = None) -> None:
        """Shows until Ctrl-C, or for so long; raises if the engine dies."""
        last = math.inf if seconds is None else time.monotonic() + seconds
        due = time.monotonic()
        while time.monotonic() < last:
            self.show()
            self._check()
            due = max(due + 1 / RATE, time.monotonic())
            time.sleep(max(BREATH, due - time.monotonic()))

    def _check(self) -> None:
        if not self.engine.is_alive():
            code = self.engine.exitcode
            why = f"signal {-code}" if code is not None and code < 0 else f"status {code}"
            self.panel.lost("the process that runs the cell has ended; start again")
            time.sleep(TOLD)
            raise ElbowroomError(f"the process that runs the cell has ended ({why}); what it said is above")


def write_page(kept: Sequence[bytes], path: str) -> None:
    """A process: snapshots as one HTML file."""
    from ..replay.standalone import write

    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # behind the cell, but not behind everything: somebody waits for it
    snapshots: list[Snapshot] = [pickle.loads(each) for each in kept]
    shown = snapshots[-1].scene.shown
    title = f"{shown.robot}, {shown.scenario}"
    write(snapshots, Path(path), rate=RATE, title=title)
