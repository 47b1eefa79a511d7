"""`elbowroom demo`: the live cell in a browser."""

from __future__ import annotations

import dataclasses
import importlib.util
import ipaddress
import sys
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ..errors import ElbowroomError, pip_install
from .terminal import (
    AllowBare,
    RecordingFormat,
    RecordingKind,
    Xacro,
    allow_xacro,
    joints,
    line,
    needs_format,
    note,
    plain,
    progress_line,
)

if TYPE_CHECKING:
    from ..cell.scene import Scene
    from ..viewer.session.setup import Setup

EVERY = 5.0  # s between two lines while the arm is prepared


def demo(
    robot: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="An arm of the catalogue, or a URDF or TOML file.")
    ] = "panda",
    tip: Annotated[str, typer.Option(metavar="LINK", help="Of a URDF file: the link that the arm ends at.")] = "",
    xacro: Xacro = False,
    allow_bare: AllowBare = False,
    start: Annotated[
        str, typer.Option(metavar="Q1,Q2,...", help="Joints at the start, rad or m.  [the arm's ready pose]")
    ] = "",
    scenario: Annotated[
        str, typer.Option(metavar="NAME", help='cell, "walk past", "reach in", touch, test1 to test7, or recorded.')
    ] = "cell",
    motion: Annotated[
        Path | None, typer.Option(metavar="FILE", help="recorded: Vicon CSV, BVH or a ROS 2 bag.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to serve; a busy one gives the next.")] = 8080,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="This machine's, for pages on others: needs a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="For --host: 16 letters or more.  [a new one each time]")
    ] = None,
    planning: Annotated[
        bool, typer.Option("--planning/--no-planning", help="A held-up arm goes around, or waits.")
    ] = True,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where recordings and saved pages go.")] = Path(),
    format_: RecordingFormat = RecordingKind.CSV,
    seconds: Annotated[float | None, typer.Option(metavar="S", min=0.0, help="Stop after so long.  [Ctrl-C]")] = None,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only compile all arms, so that changing them takes no time.")
    ] = False,
) -> None:
    """Watch an arm at work in the browser, and drag a person into its way.

    \b
    elbowroom demo
    elbowroom demo --robot ur5e --scenario "walk past"
    elbowroom demo --robot my_arm.urdf --tip tool0 --out recordings
    elbowroom demo --robot my_arm.urdf --start 0,-1.2,1.5,-1.9,-1.57,0
    elbowroom demo --host 192.168.1.20 --no-open

    The page is served to this machine alone, unless --host says otherwise: then its address holds a token, and who has
    the address can steer.  One page steers, others watch and can take over.  Ctrl-C ends it.
    """
    if importlib.util.find_spec("viser") is None:
        raise ElbowroomError(f"the live page needs viser: {pip_install('viewer')}; `elbowroom tour` needs nothing")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ElbowroomError(f"--out: expected a folder; {str(out)!r} cannot be one: {error.strerror}") from None
    allow_xacro(xacro)
    needs_format(format_)
    try:
        from ..viewer.access.policy import new_token
        from ..viewer.session.live import Live
        from ..viewer.session.setup import chosen

        setup = chosen(robot, tip, scenario, "" if motion is None else str(motion.absolute()), start=joints(start))
        setup = dataclasses.replace(setup, allow_bare=allow_bare, planning="on" if planning else None)
        _fit(setup.scene())  # what is wrong is said here, not in the other process
        if prepare:
            _prepare(setup)
            return
        secret = new_token() if token is None and not _here(host) else token
        _said("starting the page")
        ending = f".{format_.value}"
        with Live(setup, host=host, port=port, token=secret, out=out, warming=True, recordings=ending) as live:
            _said("the page is at", plain(live.address), " (Ctrl-C ends it); it says when the cell is there")
            if open_:
                webbrowser.open(live.address)
            _said(plain(f"{live.preparing}; an arm that was never used takes some seconds"))
            took = live.wait(_Ticks())
            _said(f"the cell is live after {took:.0f} s")
            live.serve(seconds)
    except KeyboardInterrupt:
        note("ended", "by Ctrl-C", "green")


def _said(*parts: str | Text) -> None:
    """A line that is seen at once, also where the output is a pipe."""
    line(*parts)
    sys.stdout.flush()


class _Ticks:
    """A line every five seconds while something is prepared."""

    def __init__(self) -> None:
        self._next = EVERY

    def __call__(self, seconds: float) -> None:
        if seconds >= self._next:
            _said(f"  ... {self._next:.0f} s")
            self._next += EVERY


def _prepare(setup: Setup) -> None:
    """Compiles what the page may be asked for."""
    from ..viewer.session.processes import prepare

    with progress_line() as progress:
        count = prepare(setup, lambda said: progress(f"compiling {said}"))
    line(f"{count} cells are compiled")


def _fit(scene: Scene) -> None:
    """Refuses an arm of one's own that cannot be kept clear of anything, and says what is missing of its shape."""
    from ..cell.layout import bare_of, reasons_of, shaped
    from ..cell.runner import bare_told
    from ..cell.scene import is_file
    from ..cell.suitability import uncovered
    from ..errors import MissingShapeWarning
    from ..model.visuals import visuals_of

    if not is_file(scene.robot):
        return
    tip = scene.tip or None
    with warnings.catch_warnings(record=True) as caught:
        arm = shaped(scene)
    with warnings.catch_warnings(record=True) as drawing:  # what is not drawn is said here: other processes are silent
        visuals_of(scene.robot, tip)
    known = set(reasons_of(caught))
    for each in (*caught, *drawing):
        warning = each.message
        if each in drawing and isinstance(warning, MissingShapeWarning) and known.issuperset(warning.reasons):
            note("note", f"{arm.name}: nor are these shapes drawn; capsules are shown instead")
        else:
            warnings.warn(warning, each.category, stacklevel=2)
    for told in (bare_told(bare) if (bare := bare_of(arm)) else "", uncovered(arm, scene.robot, tip)):
        if told:
            note("warning", f"{arm.name}: {told}: see `elbowroom check`")


def _here(host: str) -> bool:
    """Whether only this machine reaches that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
