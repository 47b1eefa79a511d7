"""`elbowroom run`: a scene from its file, checked, run, and what happened in it."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ..errors import ConfigError, ElbowroomError, UnknownNameError
from .plant import ROS2, LinkWatch, WaitingPace, cell_of, connect, plant_option
from .replay import needs_viser, save_run
from .ros2 import (
    CommandJoints,
    CommandTopic,
    Domain,
    DryRun,
    Floor,
    Frame,
    Interface,
    JointStates,
    People,
    cell_on,
    introduce,
    options,
    terminated,
    would_stop,
)
from .terminal import (
    INTERRUPTED,
    AllowBare,
    OtherRobot,
    OtherTip,
    Start,
    Variant,
    Xacro,
    allow_xacro,
    console,
    duration,
    joints,
    line,
    note,
    one_line,
    plain,
    progress_bar,
    writable,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..cell import Cell, RealTime, Recording, Scene

EVERY = 20  # cycles between two movements of the bar: drawing takes time that a real-time loop needs
FAR = 1000.0  # m: who is farther away is nobody
SHOWN = 12  # stops and resets in the summary
MEANINGS = {
    "SLOWING_LIMIT": "held within the joints' limits of position, speed or acceleration; mostly when it sets off",
    "IN_COLLISION": "bodies overlap as seen; the arm may only retreat, slowly, and no stop is latched unless "
    'limits.in_collision = "stop"',
}
"""Statuses whose names do not say it all (docs/avoidance/supervisor.md)."""


OTHERS = {
    ".csv": "a recording or a table, not a scene; `elbowroom replay {0}` shows a recording",
    ".mcap": "a recording or a bag, not a scene; `elbowroom replay {0}` shows a recording",
    ".bvh": "a person's motion, not a scene; `elbowroom experiment recorded --motion {0}` runs beside it",
    ".urdf": "an arm, not a scene; `elbowroom show {0}` is about it, `elbowroom run SCENE.toml --robot {0}` moves it",
    ".xml": "an arm, not a scene; `elbowroom show {0}` is about it, `elbowroom run SCENE.toml --robot {0}` moves it",
}
"""Files that are easily taken for a scene, and what they are for."""


def run(
    scene: Annotated[
        Path | None,
        typer.Argument(metavar="SCENE.toml", help="The scene: arm, task, people, settings.  [the cell of `demo`]"),
    ] = None,
    variant: Variant = None,
    plant: Annotated[
        str | None,
        typer.Option(
            metavar="KIND|HOST:PORT",
            help="What moves, not as the file says: kinematic, rigid, mujoco, ros2, or an `elbowroom plant`.",
        ),
    ] = None,
    robot: OtherRobot = None,
    tip: OtherTip = "",
    xacro: Xacro = False,
    allow_bare: AllowBare = False,
    start: Start = "",
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="How long (above 0), instead of what the file says.")
    ] = None,
    real_time: Annotated[bool, typer.Option("--real-time", help="A second takes a second, deadlines counted.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A recording of it: CSV, or FILE.mcap.  [none]")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="One file that plays the run in any browser.  [none]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Run nothing: say what is wrong with any variant.")] = False,
    rerun: Annotated[bool, typer.Option("--rerun", help="Show the run in Rerun's viewer while it happens.")] = False,
    rerun_file: Annotated[
        Path | None, typer.Option(metavar="FILE.rrd", help="The same as a file for Rerun.  [none]")
    ] = None,
    joint_states: JointStates = "/joint_states",
    command: CommandTopic = None,
    command_joints: CommandJoints = "",
    dry_run: DryRun = False,
    people: People = 1,
    frame: Frame = "",
    floor: Floor = None,
    domain: Domain = None,
    interface: Interface = "lo",
) -> None:
    """Run a scene and say what happened.

    \b
    elbowroom run cell.toml
    elbowroom run cell.toml --variant fast --plant mujoco --out fast.csv
    elbowroom run cell.toml --robot ur5e --real-time
    elbowroom run cell.toml --plant 127.0.0.1:7777     `elbowroom plant cell.toml` in another terminal moves the arm
    elbowroom run --robot my_arm.urdf --tip tool0 --seconds 40 --variant walking     the cell of `demo`
    elbowroom run cell.toml --html run.html     to look at, or to send
    elbowroom run cell.toml --out run.mcap      for Foxglove and Rerun
    elbowroom run cell.toml --real-time --rerun     in Rerun's viewer, while it happens
    elbowroom run cell.toml --robot my.urdf --plant ros2 --command /velocity_controller/commands     on a ROS 2 robot
    elbowroom run cell.toml --check             nothing moves; every variant is looked at

    With a plant in another program the run is in real time, unless that is in lockstep.  A plant that is lost stops the
    arm; started again it is found, and an operator's reset (reset_after in the scene) goes on with the work.

    Ctrl-C keeps what there is.  A recording is shown again by `elbowroom replay`.  How a scene is written:
    docs/tutorials/your_own_cell.md.
    """
    from ..cell import (  # what simulates is loaded when something is simulated
        AsFastAsPossible,
        Cell,
        Pace,
        RealTime,
        Recording,
    )
    from ..cell import run as run_cell
    from ..cell.layout import STANDARD
    from ..cell.runner import record_to

    allow_xacro(xacro)
    kind, address = plant_option(plant)
    ros = joint_states, command, dry_run, people, domain, interface, frame, floor, command_joints
    asked_ros = options(*ros) if kind == ROS2 else None
    for path, endings in ((out, (".csv", ".mcap")), (html, (".html", ".htm")), (rerun_file, (".rrd",))):
        if path is not None:
            writable(path, force, *endings)
    if html is not None:
        needs_viser()
    if seconds is not None and not seconds > 0.0:
        raise ConfigError(f"--seconds: expected a number above 0; got {seconds:g}")
    scene = STANDARD if scene is None else scene
    given = scene is not STANDARD
    kind = None if asked_ros is not None else kind
    asked = SceneRequest(scene, robot, tip, joints(start), seconds, kind, allow_bare)
    refuse(scene, robot)
    if check:
        raise typer.Exit(checked(asked, variant))
    chosen = asked.scene(variant)
    other_variants(asked, variant)
    with ExitStack() as ends:
        watch = link = None
        if asked_ros is not None:
            from ..connect.ros2.session import Ros2Session

            ends.enter_context(terminated())
            link = ends.enter_context(Ros2Session(asked_ros))
            cell = cell_on(link, chosen)
            introduce(link, cell)
        elif address is None:
            cell = Cell(chosen)
        else:
            again = f"{asked.command('plant', variant, given=given)} --port {address[1]}"
            client = ends.enter_context(connect(chosen, address, again))
            cell = cell_of(chosen, client, again)
            watch = LinkWatch(cell, client, again)
        notes = {"scene": scene.name, "variant": variant or ""}
        if real_time or address is not None or link is not None:
            notes["epoch"] = str(time.time_ns())  # t = 0, nearly; else the same run gives the same bytes
        recording = Recording(cell.arm.n) if out is None else record_to(cell, out, notes=notes, replace=force)
        own_time = link is not None or (watch is not None and not watch.client.lockstep)
        clocked = RealTime(cell.period) if real_time or own_time else None
        pace: Pace = AsFastAsPossible(cell.period) if clocked is None else clocked
        if watch is not None and clocked is None:
            pace = WaitingPace(watch, pace)
        interrupted = False
        try:
            with _bar(cell.scene.cycles) as progress:
                told = link.told(cell, progress) if link else watch.told(progress) if watch else progress
                if rerun or rerun_file is not None:
                    from ..viewer.rerun_viewer import RerunViewer

                    told = ends.enter_context(RerunViewer(cell, rerun_file)).told(cell, told)
                ended = None if link is None else partial(link.run_down, cell)
                run_cell(cell, recording, pace=pace, progress=told, ended=ended)
        except KeyboardInterrupt:
            interrupted = True
            note("interrupted", f"after {len(recording)} of {cell.scene.cycles} control steps; this is what there is")
        for notice in link.notices if link is not None else ():
            note("warning", notice)
        if link is not None and link.options.dry and (held := would_stop(link)):
            note("warning", f"would stop: {held}")
    about = cell.plant_kind if link is not None else "" if watch is None else watch.text
    _summary(cell, recording, variant, about)
    if clocked is not None:
        _punctual(clocked)
    if recording.problem:
        note("warning", recording.problem)
    if html is not None and len(recording):
        save_run(cell, recording, html)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _bar(count: int) -> Iterator[Callable[[int, int], object]]:
    """A bar on stderr if that is a terminal, else nothing."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    parts = (TextColumn("running"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    with progress_bar(*parts, refresh=5.0) as bar:
        task = bar.add_task("", total=count)

        def moved(done: int, total: int) -> None:
            if done % EVERY == 0 or done == total:
                bar.update(task, completed=done)

        yield moved


def _summary(cell: Cell, recording: Recording, variant: str | None, link: str = "") -> None:
    """What happened, a line each; `link` is about a plant in another program."""
    from ..cell.runner import bare_told

    table: Mapping[str, Any] = recording.table()
    scene, rows = cell.scene, len(recording)
    if scene.title:
        line(plain(scene.title))
    called = f", variant {variant}" if variant else ""
    cycles = f"{rows} control steps of {duration(cell.period)}"
    moved = f"on the {cell.scene.plant.kind if link else cell.plant_kind} plant"
    moved = "on a ROS 2 robot" if link.startswith("ROS 2") else moved
    line(plain(f"{cell.arm.name} {moved}{called}: {rows * cell.period:g} s, {cycles}"))
    if link:
        _said("plant", link)
    if not rows:
        return
    if cell.bare:
        _said("without shape", bare_told(cell.bare))
    if told := sticking_out(cell):
        _said("shape", f"{told}: see `elbowroom check`")
    if cell.people and table["distance_surfaces"].min() > FAR:
        _said("people", "nobody was seen")
    elif cell.people:
        at = int(table["distance_surfaces"].argmin())
        least, axes = table["distance_surfaces"][at], table["distance_axes"].min()
        _said("least distance", f"{least:.3f} m at {table['t'][at]:.2f} s; {axes:.3f} m between axes")
        if scene.cover:  # else both are the same
            clear = table["clearance"].min()
            _said("least clearance", f"{clear:.3f} m, of the whole arm: the controller knows the cover {scene.cover}")
    else:
        _said("people", "nobody")
    _said("contacts", str(int(table["contacts"][-1])))
    _said("task", f"{table['state'][-1]}, {_times(int(table['cycles'][-1]), 'task cycle')} completed")
    if cell.detour is not None:
        _said("planning", _ways(table["route"], table["replans"]))
    _said("status", _shares(table["status"]))
    for name, meaning in MEANINGS.items():
        if name in set(table["status"].tolist()) | set(table["verdict"].tolist()):
            line(f"    {name}:", meaning)
    if cell.guard is not None:
        if scene.supervision == "watch":
            _said("supervisor", _shares(table["verdict"]) + "; it only watched")
        else:
            _said("controller", _shares(table["law_status"]) + ", before the supervisor")
        _stops(cell)
    where = "not written; --out FILE.csv does" if recording.path is None else f"{recording.path}, {rows} rows"
    _said("recording", where)


def sticking_out(cell: Cell) -> str:
    """What is said of an arm of one's own that is larger than its capsules; "" if nothing is."""
    from ..cell.scene import is_file
    from ..cell.suitability import uncovered

    scene = cell.scene
    return uncovered(cell.arm, scene.robot, scene.tip or None) if is_file(scene.robot) else ""


def _said(what: str, text: str) -> None:
    line(f"  {what:16}", plain(text))


def _shares(column: NDArray[np.str_]) -> str:
    """Statuses and the part of the cycles that had them, the most frequent first."""
    counts = Counter(column.tolist())
    return ", ".join(f"{name} {100 * times / len(column):.3g} %" for name, times in counts.most_common())


def _times(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _ways(route: NDArray[np.float64], replans: NDArray[np.float64]) -> str:
    """How often a way around was taken, waited for and given up: columns of a recording with planning."""
    from ..avoidance.planning.detour import RouteState

    def begun(*states: RouteState) -> int:
        there = [value in states for value in route.tolist()]
        return sum(now and not before for before, now in zip([False, *there], there, strict=False))

    waits = begun(*(state for state in RouteState if state.waits))
    taken, given_up = begun(RouteState.AROUND), int(replans[-1])
    return f"{_times(taken, 'way')} around, {_times(waits, 'wait')}, {_times(given_up, 'route')} given up"


def _stops(cell: Cell) -> None:
    """Stops with their reasons, and resets."""
    assert cell.guard is not None
    counters = cell.guard.counters
    _said("stops", f"{counters['stops']}, {_times(cell.resets, 'reset')}")
    told = [event for event in cell.guard.recorder.events if event.kind.startswith("STOP") or event.kind == "reset"]
    for event in told[:SHOWN]:
        line(f"    {event.t:9.2f} s ", plain(f"{event.kind}: {event.text}" if event.kind != "reset" else "reset"))
    if len(told) > SHOWN:
        line(f"    and {len(told) - SHOWN} more")


def _punctual(pace: RealTime) -> None:
    kept = pace.summary()
    late = ", ".join(
        f"{duration(value)} {name}"
        for value, name in ((kept.median, "median"), (kept.p99, "99 %"), (kept.p999, "99.9 %"), (kept.worst, "worst"))
    )
    counted = (
        f"{_times(kept.overruns, 'overrun')}, {kept.skipped} skipped, the clock back {_times(kept.steps_back, 'time')}"
    )
    _said("real time", f"late by {late}; {counted}")


# ---- before anything moves: the file, the arm that was asked for, every variant


@dataclass(frozen=True)
class SceneRequest:
    """What a command line asks for: a scene's file, and what shall differ from it."""

    file: Path
    robot: str | None = None
    tip: str = ""
    start: tuple[float, ...] = ()
    seconds: float | None = None
    plant: str | None = None
    allow_bare: bool = False

    def scene(self, variant: str | None) -> Scene:
        """The scene, in a variant if asked for."""
        from ..avoidance.checks import FieldError
        from ..cell import Scene
        from ..reading import named

        found = Scene.load(self.file, robot=self.robot, variant=variant)
        changes: dict[str, Any] = {"tip": self.tip, "start": self.start, "allow_bare": self.allow_bare}
        changes = {name: value for name, value in changes.items() if value}
        if self.seconds is not None:
            changes["duration"] = self.seconds
        try:
            found = replace(found, **changes)
        except FieldError as error:
            raise error.of(named(self.file)) from None
        return found if self.plant is None else found.with_plant(self.plant)

    def command(self, name: str, variant: str | None, *, given: bool) -> str:
        """The command that asks another program for the same arm; `given`: the scene's file was."""
        words = ["elbowroom", name, *([str(self.file)] if given else [])]
        words += ["--robot", self.robot] if self.robot else []
        words += ["--tip", self.tip] if self.tip else []
        words += ["--variant", variant] if variant else []
        words += [f"--start={','.join(f'{x:g}' for x in self.start)}"] if self.start else []
        return shlex.join([*words, *(["--allow-bare"] if self.allow_bare else [])])


def refuse(scene: Path, robot: str | None) -> None:
    """Raises for what the call, not the file, has wrong: no scene, or an arm that does not exist."""
    from ..cell.scene import is_file
    from ..loading import read

    other = OTHERS.get(scene.suffix.lower())
    if other is not None and scene.is_file():
        raise ConfigError(f"{scene}: is {other.format(scene)}")
    if robot is not None and not is_file(robot):
        try:
            read(robot)
        except UnknownNameError as error:
            raise ConfigError(f"--robot: {error}") from error


def other_variants(asked: SceneRequest, chosen: str | None) -> None:
    """Warns of variants that cannot be run, though another one was asked for."""
    from ..cell import Scene
    from ..cell.scene import is_file, read_file, variants
    from ..loading import read

    for name in variants(read_file(asked.file)):
        if name == chosen:
            continue
        try:
            arm = Scene.load(asked.file, robot=asked.robot, variant=name).robot
            if not is_file(arm):
                read(arm)
        except (ConfigError, UnknownNameError) as error:
            note("warning", f"variant {name} cannot be run: {error}")


def checked(asked: SceneRequest, only: str | None) -> int:
    """Builds the cell of every variant (or of one) and says what is wrong; the exit status."""
    from ..cell.scene import read_file, variants

    scene = asked.file
    names = (None, *variants(read_file(scene))) if only is None else (only,)
    out, errors = console(), 0
    for name, problem, cell in _built(asked, names):
        errors += cell is None
        mark = Text(f"{'ok' if cell else 'error':7}", style="green" if cell else "bold red")
        which = "as it is" if name is None else name
        said = problem if cell is None else _about(cell)
        out.print(Text.assemble(mark, plain(f"{which:12} "), one_line(said)), soft_wrap=True)
    told = "no errors" if not errors else f"{errors} error{'' if errors == 1 else 's'}"
    out.print(Text.assemble(plain(scene), f": {told}"), soft_wrap=True)
    return 1 if errors else 0


def _built(asked: SceneRequest, names: tuple[str | None, ...]) -> Iterator[tuple[str | None, str, Cell | None]]:
    from ..cell import Cell

    for name in names:
        try:
            yield name, "", Cell(asked.scene(name))
        except ElbowroomError as error:
            yield name, str(error).removeprefix(f"{asked.file}: "), None


def _about(cell: Cell) -> str:
    scene, people = cell.scene, len(cell.people)
    who = "nobody" if not people else "1 person" if people == 1 else f"{people} people"
    return f"{cell.arm.name} on the {cell.plant_kind} plant, {who}, {scene.duration:g} s, {scene.cycles} control steps"
