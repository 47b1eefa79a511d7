"""`elbowroom plant`: an arm that moves in a program of its own; `elbowroom run --plant HOST:PORT` controls it."""

from __future__ import annotations

import logging
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ..errors import ConfigError
from .terminal import AllowBare, Xacro, allow_xacro, duration, joints, line, note, plain

if TYPE_CHECKING:
    from ..cell import Scene
    from ..cell.plants.plant import Plant
    from ..connect import PlantServer

PORT = 7777
ROOM = 42  # capsules of people that there is room for, where the scene has fewer: three people
PERIOD, TIMEOUT = 0.004, 0.1  # s


class PlantName(StrEnum):
    """What moves the arm."""

    KINEMATIC = "kinematic"
    RIGID = "rigid"
    MUJOCO = "mujoco"


def plant(
    scene: Annotated[
        Path | None,
        typer.Argument(metavar="SCENE.toml", help="The scene that will be run, for its arm.  [the cell of `demo`]"),
    ] = None,
    variant: Annotated[str | None, typer.Option(metavar="NAME", help="A variant that the file has.")] = None,
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another arm: a name, a URDF or a TOML file.")
    ] = None,
    tip: Annotated[str, typer.Option(metavar="LINK", help="Of --robot, a URDF file: where the arm ends.")] = "",
    xacro: Xacro = False,
    allow_bare: AllowBare = False,
    start: Annotated[
        str, typer.Option(metavar="Q1,Q2,...", help="Joints at the start, rad or m.  [the scene's, or a ready pose]")
    ] = "",
    kind: Annotated[
        PlantName | None, typer.Option("--plant", help="What moves, instead of what the file says.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen, on 127.0.0.1; 0: any free one.")] = PORT,
    period: Annotated[float, typer.Option(metavar="S", help="Time between two ticks, s.")] = PERIOD,
    timeout: Annotated[
        float, typer.Option(metavar="S", help="The arm stops when no command comes for so long, s.")
    ] = TIMEOUT,
    lockstep: Annotated[
        bool, typer.Option("--lockstep", help="Time passes as the controller says, as fast as it can.")
    ] = False,
    seconds: Annotated[float | None, typer.Option(metavar="S", min=0.0, help="Stop after so long.  [Ctrl-C]")] = None,
) -> None:
    """Simulate an arm in a program of its own, for a controller in another one.

    \b
    elbowroom plant cell.toml                                    the plant, in one terminal
                                                                 run cell.toml --plant 127.0.0.1:7777 in another
    elbowroom plant --robot puma560 --plant mujoco --port 7000   the arm of the cell of `demo`
    elbowroom plant cell.toml --lockstep                         the run gives the same bytes as in one program

    Give it the scene, --robot, --variant and --start that the run has: a scene may turn the arm's base, and both
    programs must have the same arm.  The arm stops by itself when its controller falls silent, and waits for a reset.
    A controller stops when its plant does, and finds one that is started again.  Only this machine is listened to.
    Ctrl-C ends it.
    """
    from ..cell.layout import STANDARD
    from .run import SceneRequest, refuse

    allow_xacro(xacro)
    file = STANDARD if scene is None else scene
    refuse(file, robot)
    asked = SceneRequest(file, robot, tip, joints(start), None, kind and kind.value, allow_bare)
    served = serve(asked.scene(variant), port, period=period, timeout=timeout, lockstep=lockstep)
    log, lines = logging.getLogger("elbowroom.cell"), _Lines()
    level = log.level
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        with served as server:
            _introduce(server, asked.command("run", variant, given=scene is not None))
            end = None if seconds is None else time.monotonic() + seconds
            server.serve(None if end is None else lambda: time.monotonic() >= end)
    except KeyboardInterrupt:
        note("ended", "by Ctrl-C", "green")
    finally:
        log.removeHandler(lines)
        log.setLevel(level)


def serve(scene: Scene, port: int, *, period: float, timeout: float, lockstep: bool) -> PlantServer:
    """The plant of a scene at a port of this machine; a ConfigError says what is wrong with the options."""
    from ..cell.layout import mounted, starting
    from ..connect import PlantServer, ask

    arm = mounted(scene)
    moving = made(scene)
    moving.reset(starting(scene, arm))
    try:
        return PlantServer(moving, ("127.0.0.1", port), period=period, timeout=timeout, lockstep=lockstep)
    except ValueError as error:  # a ConfigError is one
        text = str(error)
        if text.startswith("timeout:"):
            raise ConfigError(f"--{text}") from None
        if not text.startswith("address:"):
            raise ConfigError(f"--period and --timeout: {text}") from None
        there = ask(("127.0.0.1", port), 0.5)
        taken = f"there is a plant at it, {there.text}" if there else "something else listens there"
        raise ConfigError(
            f"--port: expected a free one; got {port}: {taken}; --port 0 takes any that is free"
        ) from None


def made(scene: Scene) -> Plant:
    """The plant that a scene asks for, with room for its people and some more."""
    import numpy as np

    from ..cell.layout import mounted, plant_of
    from ..cell.people.settings import made as people

    found = people(scene.people, np.zeros(3), 0.0).values()
    return plant_of(scene, mounted(scene), max(ROOM, sum(len(who.actual.names) for who in found)))


def _introduce(server: PlantServer, command: str) -> None:
    """What is served, where, and how to connect."""
    info = server.info(server.clock())
    host, port = server.address
    line(plain(f"{info.text} listens at {host}:{port}; Ctrl-C ends it"))
    if info.lockstep:
        line("  in lockstep: time passes as its controller says")
    else:
        every = f"a tick every {duration(info.period)}"
        line(f"  in real time, {every}; it stops when no command comes for {duration(info.timeout)}")
    line("  connect:", plain(f"{command} --plant {host}:{port}"))
    sys.stdout.flush()


class _Lines(logging.Handler):
    """What the server logs, a line each on stdout: controllers that come and go, stops with their reason."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line, seen at once; tracebacks are for --debug's place, the Python log."""
        style = "bold red" if record.levelno >= logging.ERROR else ""
        text = plain(record.getMessage())
        text.stylize(style)
        line(Text(time.strftime("%H:%M:%S", time.localtime(record.created))), text)
        sys.stdout.flush()
