"""`elbowroom bench page`: how late control steps begin with no page open, with one, and with more.

    for row in measure((0, 1, 5), seconds=20.0):  print(row)

The pages are websocket clients that read all they are sent, as a browser does, in a process of their own.  They draw
nothing: a browser's drawing takes another program's time, and would measure the machine.  Before them an empty loop of
the same period is measured in the same way, which is what this machine can do at all.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from ...bench.timing import cpu_name
from ...cell.pace import PaceSummary, RealTime
from ...errors import ElbowroomError
from ..snapshot import Snapshot
from .live import Live
from .processes import CONTEXT, end, start
from .setup import Setup

EMPTY = -1
"""In the place of the number of pages: an empty loop."""
PERIOD = 0.01  # s, of the cell's controller


@dataclass(frozen=True)
class LoadRow:
    """Lateness of control steps (s) with so many pages open, and what each page was sent in a second."""

    pages: int
    cycles: int
    median: float
    p99: float
    p999: float
    worst: float
    overruns: int
    bytes_a_second: float  # to each page


@dataclass(frozen=True)
class LoadReport:
    """All rows of a run, and what it ran on."""

    rows: list[LoadRow]
    cpu: str
    period: float


def run(*, progress: Callable[[str], object] | None = None) -> LoadReport:
    """The report that `elbowroom bench page` shows."""
    return LoadReport(measure(progress=progress), cpu_name(), PERIOD)


def measure(
    pages: Sequence[int] = (0, 1, 5), seconds: float = 20.0, progress: Callable[[str], object] | None = None
) -> list[LoadRow]:
    """A row for an empty loop, and one for each number of pages, so long (s) each."""
    if seconds < 3.0 or any(count < 0 for count in pages):
        raise ElbowroomError(f"measure: expected 3 s at least, and no pages or more; got {seconds!r} and {pages!r}")
    tell = progress or (lambda _: None)
    tell("an empty loop")
    rows = [_row(EMPTY, empty(seconds), 0.0)]
    with Live(Setup(robot="panda"), port=0) as live:
        live.wait()
        for count in pages:
            tell(f"{count} pages")
            rows.append(_with(live, count, seconds))
    return rows


def _with(live: Live, count: int, seconds: float) -> LoadRow:
    ours, theirs = CONTEXT.Pipe()
    readers = start(read_pages, theirs, live.address, count)
    theirs.close()
    try:
        opened = time.monotonic()
        while not ours.poll():  # until all are open
            live.show()
            if not readers.is_alive() or time.monotonic() - opened > 60.0:
                raise ElbowroomError("the pages could not be opened")
            time.sleep(0.01)
        ours.recv()
        live.serve(1.0)  # what is sent only once has been sent
        live.order("pause")
        _until(live, running=False)
        ours.send("from now")
        live.order("play")  # which begins to count anew
        live.serve(seconds)
        snapshot = _until(live, running=True)
        ours.send("how much")
        sent = ours.recv() / max(count, 1) / seconds
    finally:
        end(readers)
    assert snapshot.pace is not None  # it runs
    return replace(_row(count, snapshot.pace, sent), cycles=round(seconds / PERIOD))


def _until(live: Live, running: bool) -> Snapshot:
    while True:
        live.show()
        snapshot = live.board.look()
        if snapshot is not None and snapshot.running is running:
            return snapshot
        time.sleep(0.01)


def _row(count: int, found: PaceSummary, sent: float) -> LoadRow:
    return LoadRow(count, found.cycles, found.median, found.p99, found.p999, found.worst, found.overruns, sent)


def empty(seconds: float) -> PaceSummary:
    """A loop that does nothing but keep its time, in a process of its own."""
    ours, theirs = CONTEXT.Pipe()
    child = start(_empty, theirs, seconds)
    theirs.close()
    try:
        found: PaceSummary = ours.recv()
    finally:
        end(child)
    return found


def _empty(back: Connection, seconds: float) -> None:
    pace = RealTime(PERIOD)
    with pace:
        for k in range(round(seconds / PERIOD)):
            pace.wait(k)
    back.send(pace.summary())


def read_pages(back: Connection, address: str, count: int) -> None:
    """A process: so many pages that read everything; says when they are open, and how much came."""
    import msgspec
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    camera = {
        "type": "ViewerCameraMessage", "wxyz": (1, 0, 0, 0), "position": (3, -3, 2), "fov": 0.7, "near": 0.01,
        "far": 1000.0, "image_height": 800, "image_width": 1280, "look_at": (0, 0, 0), "up_direction": (0, 0, 1),
    }  # fmt: skip
    came = [0] * count
    links = [
        connect(
            address.replace("http", "ws"),
            origin=address.rstrip("/"),  # type: ignore[arg-type]  # a str of a type of its own
            subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]  # likewise
            max_size=None,
            proxy=None,
        )
        for _ in range(count)
    ]

    def read(k: int) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            for data in links[k]:
                came[k] += len(data)

    for k, link in enumerate(links):
        threading.Thread(target=read, args=(k,), daemon=True).start()
        link.send(msgspec.msgpack.encode(camera))
    with contextlib.suppress(EOFError, OSError):
        back.send("open")
        back.recv()
        before = sum(came)
        back.recv()
        back.send(sum(came) - before)
