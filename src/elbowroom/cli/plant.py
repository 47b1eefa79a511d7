"""`elbowroom plant`: an arm that moves in a program of its own; and the side of `elbowroom run --plant HOST:PORT`.

The command first; then, for the run, the plant found, checked, lost and found again.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ..errors import ConfigError, did_you_mean
from .terminal import (
    AllowBare,
    OtherRobot,
    OtherTip,
    Start,
    Variant,
    Xacro,
    allow_xacro,
    duration,
    joints,
    line,
    note,
    plain,
)

if TYPE_CHECKING:
    from ..cell import Cell, Pace, Scene
    from ..cell.plants.plant import Plant
    from ..connect import PlantClient, PlantInfo, PlantServer

PORT = 7777
ROOM = 42  # capsules of people that there is room for, where the scene has fewer: three people
PERIOD, TIMEOUT = 0.004, 0.1  # s
WAIT = 10.0  # s for a plant that is just being started
TOLD = 1.0  # s of waiting that nobody needs to hear of

Address = tuple[str, int]


class PlantName(StrEnum):
    """What moves the arm."""

    KINEMATIC = "kinematic"
    RIGID = "rigid"
    MUJOCO = "mujoco"


PLANTS = tuple(each.value for each in PlantName)
ROS2 = "ros2"  # a robot on ROS 2 (cli/ros2.py)


def plant(
    scene: Annotated[
        Path | None,
        typer.Argument(metavar="SCENE.toml", help="The scene that will be run, for its arm.  [the cell of `demo`]"),
    ] = None,
    variant: Variant = None,
    robot: OtherRobot = None,
    tip: OtherTip = "",
    xacro: Xacro = False,
    allow_bare: AllowBare = False,
    start: Start = "",
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


# ---- the side of the run


def plant_option(text: str | None) -> tuple[str | None, Address | None]:
    """What --plant says: a kind of plant, or the address of one."""
    if text is None or text in (*PLANTS, ROS2):
        return text, None
    host, colon, port = text.rpartition(":")
    if not colon:
        expected = f"{', '.join(PLANTS)}, {ROS2}, or HOST:PORT of `elbowroom plant`, such as 127.0.0.1:7777"
        raise typer.BadParameter(f"--plant: expected {expected}; got {text!r}{did_you_mean(text, (*PLANTS, ROS2))}")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise typer.BadParameter(f"--plant: expected a port from 1 to 65535 after the colon; got {text!r}")
    from ..connect.packet import local_only

    try:
        return None, (local_only(host), int(port))
    except ConfigError:
        why = "the link is not encrypted, and its stamps are of this machine's clock"
        raise typer.BadParameter(
            f"--plant: expected a plant on this machine, such as 127.0.0.1:7777; got {text!r}: {why}"
        ) from None


def connect(scene: Scene, address: Address, start: str) -> PlantClient:
    """The plant at an address, for the scene's arm; `start` is the command that would start the right one."""
    from ..cell import mounted
    from ..connect import PlantClient

    arm, where = mounted(scene), f"{address[0]}:{address[1]}"
    info = _asked(address, where, start)
    if wrong := info.difference(arm):
        raise ConfigError(f"--plant {where}: {wrong}; start it for the same scene: {start}")
    torque = scene.controller.makes_torque
    if torque != info.torque:
        takes = ["joint speeds", "torques"]
        raise ConfigError(
            f"--plant {where}: expected a drive that takes {takes[torque]}, which the controller makes; "
            f"the plant takes {takes[info.torque]}; start it for the same scene: {start}"
        )
    client = PlantClient(arm, address, timeout=info.timeout, lockstep=info.lockstep)
    end = time.monotonic() + WAIT
    while not client.wait(0.2):
        busy = client.refused == "busy"
        if time.monotonic() >= end:
            client.close()
            raise ConfigError(f"--plant {where}: {'has another controller' if busy else 'does not answer any more'}")
    return client


def _asked(address: Address, where: str, start: str) -> PlantInfo:
    """What the plant there is; waits a little for one that is not there yet."""
    from ..connect import ask

    info = ask(address, min(TOLD, WAIT))
    if info is None and WAIT > TOLD:
        note("waiting", f"for a plant at {where}: {start}")
        info = ask(address, WAIT - TOLD)
    if info is None:
        raise ConfigError(f"--plant {where}: no plant answers there; start one: {start}")
    return info


def cell_of(scene: Scene, client: PlantClient, start: str) -> Cell:
    """The scene's cell, with its arm moved there."""
    from ..cell import Cell

    info = client.info
    if info is not None and info.plant in PLANTS and info.plant != scene.plant.kind:
        scene = replace(scene, plant=replace(scene.plant, kind=info.plant))  # for the recording
    cell = Cell(scene, plant=client)
    if info is not None and len(cell.people_rows) > info.capsules:
        raise ConfigError(
            f"--plant: expected room for the {len(cell.people_rows)} capsules of people in the scene; the plant has it "
            f"for {info.capsules}; start it for the same scene: {start}"
        )
    return cell


class LinkWatch:
    """Says when the plant is lost and when it is back, and remembers it for the summary."""

    def __init__(self, cell: Cell, client: PlantClient, start: str) -> None:
        self.cell, self.client, self._start = cell, client, start
        info = client.info
        if info is not None:
            self._start += f" --plant {info.plant}" * (info.plant in PLANTS) + " --lockstep" * info.lockstep
        self.gaps: list[tuple[float, float | None]] = []  # s: lost and back
        self._refused = ""

    def look(self, t: float) -> None:
        """Once a control step, at time t (s)."""
        lost = bool(self.gaps) and self.gaps[-1][1] is None
        if self.client.connected:
            if lost:
                self.gaps[-1] = (self.gaps[-1][0], t)
                self._refused = ""
                note("plant", f"back at {t:.2f} s; {self._afterwards()}")
        elif not lost:
            self.gaps.append((t, None))
            note("plant", f"lost at {t:.2f} s: the arm is stopped; waiting for it: {self._start}")
        elif self.client.refused and self.client.refused != self._refused:
            self._refused = self.client.refused
            info = self.client.info
            why = info.difference(self.client.arm) if info is not None else ""
            note("plant", f"refuses: {why or _REFUSALS.get(self._refused, self._refused)}: {self._start}")

    def told(self, progress: Callable[[int, int], object]) -> Callable[[int, int], object]:
        """A progress callback that also looks at the link."""

        def moved(done: int, total: int) -> None:
            self.look(self.cell.command.t)
            progress(done, total)

        return moved

    def _afterwards(self) -> str:
        after = self.cell.scene.reset_after
        return f"the stop is reset within {after:g} s" if after else "nobody resets the stop: reset_after = 0"

    @property
    def text(self) -> str:
        """A line of the summary."""
        info, (host, port) = self.client.info, self.client.address
        how = "in lockstep" if self.client.lockstep else "in real time"
        if info is not None and not info.lockstep:
            how += f", a tick every {duration(info.period)}"
        told = [f"at {t:.2f} s for {back - t:.2f} s" if back else f"at {t:.2f} s to the end" for t, back in self.gaps]
        gone = f"lost {len(told)} time{'' if len(told) == 1 else 's'}: {', '.join(told)}" if told else "never lost"
        return f"another program at {host}:{port}, {how}; {gone}"


_REFUSALS = {"busy": "it has another controller", "mode": "one runs in lockstep and the other in real time"}


class WaitingPace:
    """A pace for a plant in lockstep: as fast as it goes, but time stands still while the plant is not there.

    Steps go on until the arm is stopped, so that the recording says it, and then wait.
    """

    def __init__(self, watch: LinkWatch, pace: Pace) -> None:
        self.period = watch.cell.period
        self._watch, self._pace = watch, pace

    def __enter__(self) -> WaitingPace:
        self._pace.__enter__()
        return self

    def __exit__(self, *why: object) -> None:
        self._pace.__exit__(None, None, None)

    def wait(self, k: int) -> float:
        """The time of cycle k, as soon as the plant answers."""
        guard, client = self._watch.cell.guard, self._watch.client
        if k and (guard is None or guard.latched is not None):
            while not client.connected:
                client.wait(0.5)
                self._watch.look(self._watch.cell.command.t)
        return self._pace.wait(k)
