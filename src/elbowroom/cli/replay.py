"""`elbowroom replay`: a recording again, in the browser or as one HTML file."""

from __future__ import annotations

import importlib.util
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ElbowroomError, pip_install
from .terminal import Interrupts, line, note, plain, writable

FAR = 1000.0  # m: who is farther away is nobody

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..cell import Cell, Recording
    from ..viewer.replay.recorded import Replay


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, CSV or MCAP, of `run` or the live page.")],
    html: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write one HTML file that plays it offline, and stop.")
    ] = None,
    rate: Annotated[
        float, typer.Option(metavar="HZ", min=1.0, max=120.0, help="Pictures a second in the HTML file.")
    ] = 30.0,
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="The arm or its file, where the recording does not name it.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to serve; a busy one gives the next.")] = 8080,
    host: Annotated[str, typer.Option(metavar="NAME", help="This machine's name for others; needs a token.")] = (
        "127.0.0.1"
    ),
    token: Annotated[str | None, typer.Option(metavar="TEXT", help="Of one's own, for another --host.  [new]")] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Stop after so long.  [Ctrl-C]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the HTML file.")] = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Show nothing: print what happened, in numbers.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --numbers: as JSON.")] = False,
) -> None:
    """Watch a recorded run again, with a slider for time.

    \b
    elbowroom replay run.csv
    elbowroom replay run.mcap --html run.html
    elbowroom replay run.mcap --numbers         least distances, speeds, stops: as the report of an experiment has them

    Keys on the page: space plays and pauses, "," and "." go one cycle, J and L one second.  Ctrl-C ends it.
    """
    if json and not numbers:
        raise typer.BadParameter("--json belongs to --numbers")
    if numbers:
        _numbers(file, json)
        return
    if html is not None:
        writable(html, force, ".html", ".htm")
    needs_viser()
    from ..viewer.replay.recorded import Replay

    shown = Replay(file, robot=robot)
    for warning in shown.warnings:
        note("warning", warning)
    if html is not None:
        save(shown, html, rate)
        return
    from ..viewer.access.policy import LOOPBACK, new_token
    from ..viewer.replay.player import Player

    if token is None and host not in LOOPBACK:
        token = new_token()
    try:
        with Player(shown, host=host, port=port, token=token) as player:
            player.show()
            line(f"{len(shown)} control steps, {shown.duration:.1f} s, at {player.address}  (Ctrl-C ends it)")
            sys.stdout.flush()
            if open_:
                webbrowser.open(player.address)
            player.serve(seconds)
    except KeyboardInterrupt:
        note("ended", "by Ctrl-C", "green")


def _numbers(file: Path, json: bool) -> None:
    """The numbers of a recording, CSV or MCAP, on stdout."""
    import json as json_text

    import numpy as np

    from ..cell.recording.table import read
    from ..experiments.thesis.metrics import metrics
    from ..experiments.thesis.outcome import plain as values_of

    table = read(file)
    if table.torn:
        note("warning", table.torn)
    if table.rows < 2:
        raise ElbowroomError(f"{file}: expected a recording of two control steps or more; got {table.rows}")
    steps = np.diff(table["t"])
    found = values_of(metrics(table, period=float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.01))
    assert isinstance(found, dict)
    for name, value in found.items():
        if name.startswith("min_") and isinstance(value, float) and value > FAR:
            found[name] = None  # nobody was there
    if json:
        sys.stdout.write(json_text.dumps(found, indent=2, allow_nan=False) + "\n")
        return
    from ..experiments.thesis.texts import METRICS, Name

    names = {name: METRICS.get(name, Name(name.replace("_", " "))) for name in found}
    words = {name: f"{each.words}, {each.unit}" if each.unit else each.words for name, each in names.items()}
    for name, value in found.items():
        line(plain(f"{words[name]:{max(map(len, words.values()))}}  {_shown(value, names[name].decimals)}"))


def _shown(value: object, decimals: int) -> str:
    """A number, a list of them, or parts of a whole by name, as a person reads them."""
    if value is None:
        return "nobody, or unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "  ".join(_shown(each, decimals) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {part:.1%}".replace("%", " %") for key, part in sorted(value.items(), key=_least_last))
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)


def _least_last(part: tuple[str, float]) -> float:
    return -part[1]


def needs_viser() -> None:
    """Says how to get what draws, where it is missing."""
    if importlib.util.find_spec("viser") is None:
        raise ElbowroomError(f"the page needs viser: {pip_install('viewer')}")


def save(shown: Replay, path: Path, rate: float = 30.0) -> None:
    """Writes a run as one HTML file."""
    from ..viewer.replay.standalone import write
    from ..viewer.snapshot import Snapshot

    with Interrupts() as interrupts:

        def snapshots() -> Iterator[Snapshot]:
            for t in shown.moments(rate):
                interrupts.check()
                yield shown.snapshot(t)

        count = write(snapshots(), path, rate=rate, title=shown.title)
    size = path.stat().st_size / 1e6
    line(f"{path}: {count} pictures, {shown.duration:.1f} s, {size:.1f} MB; it opens in any browser, offline")


def save_run(cell: Cell, recording: Recording, path: Path) -> None:
    """Writes what has been recorded of a cell as one HTML file."""
    from ..cell.recording.columns import RecordedTable
    from ..cell.runner import notes_of
    from ..viewer.replay.recorded import Replay

    save(Replay(path, table=RecordedTable(recording.table(), cell.arm.n, notes_of(cell))), path)
