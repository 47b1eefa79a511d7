"""`elbowroom demo`: the live cell in a browser."""

from __future__ import annotations

import importlib.util
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ElbowroomError
from .terminal import line, note


def demo(
    robot: Annotated[str, typer.Option(metavar="NAME", help="An arm of the catalogue.")] = "panda",
    scenario: Annotated[str, typer.Option(metavar="NAME", help='cell, "test 1" to "test 7", or recorded.')] = "cell",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to serve; a busy one gives the next.")] = 8080,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    motion: Annotated[Path | None, typer.Option(metavar="FILE", help="recorded: a Vicon CSV or a BVH file.")] = None,
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Stop after so long.  [Ctrl-C]")] = None,
) -> None:
    """Watch an arm at work in the browser, and drag a person into its way.

    \b
    elbowroom demo
    elbowroom demo --robot ur5e --scenario "test 1" --port 9000 --no-open

    The page is served to this machine alone.  One page steers, others watch.  Ctrl-C ends it.
    """
    if importlib.util.find_spec("viser") is None:
        raise ElbowroomError(
            "the live page needs viser: pip install 'elbowroom[viewer]'; `elbowroom tour` needs nothing"
        )
    from ..viewer.live import Live
    from ..viewer.setup import Setup

    setup = Setup(motion="" if motion is None else str(motion.resolve()))
    setup = setup.changed("scenario", scenario).changed("robot", robot)
    setup.scene()  # what is wrong is said here, not in the other process
    line("starting; an arm that was never used takes a few seconds to compile")
    try:
        with Live(setup, port=port) as live:
            live.wait()
            line(f"the cell is live at {live.address}  (Ctrl-C ends it)")
            sys.stdout.flush()
            if open_:
                webbrowser.open(live.address)
            live.serve(seconds)
    except KeyboardInterrupt:
        note("ended", "by Ctrl-C", "green")
