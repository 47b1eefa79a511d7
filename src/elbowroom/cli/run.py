"""`elbowroom run`: a scene of one's own, from its file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..model.xacro import ALLOWED
from .replay import needs_viser, save_run
from .show import AllowBare, Xacro
from .terminal import console, duration, joints, line, note, plain, writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..cell import Cell, RealTime, Recording

INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended
EVERY = 20  # cycles between two movements of the bar: drawing takes time that a real-time loop needs
SHOWN = 12  # stops and resets in the summary
MEANINGS = {
    "SLOWING_LIMIT": "held within the joints' limits of position, speed or acceleration; mostly when it sets off",
    "IN_COLLISION": "bodies overlap as seen; the arm may only retreat, slowly, and no stop is latched unless "
    'limits.in_collision = "stop"',
}
"""Statuses whose names do not say it all (docs/avoidance/supervisor.md)."""


class Plants(StrEnum):
    """What moves the arm."""

    KINEMATIC = "kinematic"
    RIGID = "rigid"
    MUJOCO = "mujoco"


def run(
    scene: Annotated[
        Path | None,
        typer.Argument(metavar="SCENE.toml", help="The scene: arm, task, people, settings.  [the cell of `demo`]"),
    ] = None,
    variant: Annotated[str | None, typer.Option(metavar="NAME", help="A variant that the file has.")] = None,
    plant: Annotated[Plants | None, typer.Option(help="What moves, instead of what the file says.")] = None,
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another arm: a name, a URDF or a TOML file.")
    ] = None,
    tip: Annotated[str, typer.Option(metavar="LINK", help="Of --robot, a URDF file: where the arm ends.")] = "",
    xacro: Xacro = False,
    allow_bare: AllowBare = False,
    start: Annotated[
        str, typer.Option(metavar="Q1,Q2,...", help="Joints at the start, rad or m.  [the scene's, or a ready pose]")
    ] = "",
    seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0.0, help="How long, instead of what the file says.")
    ] = None,
    real_time: Annotated[bool, typer.Option("--real-time", help="A second takes a second, deadlines counted.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Where to record it.  [nowhere]")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="One file that plays the run in any browser.  [none]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Run nothing: say what is wrong with any variant.")] = False,
) -> None:
    """Run a scene and say what happened.

    \b
    elbowroom run cell.toml
    elbowroom run cell.toml --variant fast --plant mujoco --out fast.csv
    elbowroom run cell.toml --robot ur5e --real-time
    elbowroom run --robot my_arm.urdf --tip tool0 --seconds 40 --variant walking     the cell of `demo`
    elbowroom run cell.toml --html run.html     to look at, or to send to somebody
    elbowroom run cell.toml --check             nothing moves; every variant is looked at

    Ctrl-C keeps what there is.  A recording is shown again by `elbowroom replay`.  How a scene is written:
    docs/tutorials/your_own_cell.md.
    """
    from ..cell import Cell, RealTime, Recording  # what simulates is loaded when something is simulated
    from ..cell import run as run_cell
    from ..cell.layout import STANDARD
    from ..cell.runner import record_to
    from .run_check import Asked, checked, other_variants, refuse

    if xacro:
        os.environ[ALLOWED] = "1"
    for path in (out, html):
        if path is not None:
            writable(path, force)
    if html is not None:
        needs_viser()
    scene = STANDARD if scene is None else scene
    asked = Asked(scene, robot, tip, joints(start), seconds or None, plant and plant.value, allow_bare)
    refuse(scene, robot)
    if check:
        raise typer.Exit(checked(asked, variant))
    chosen = asked.scene(variant)
    other_variants(asked, variant)
    cell = Cell(chosen)
    notes = {"scene": scene.name, "variant": variant or ""}
    recording = Recording(cell.arm.n) if out is None else record_to(cell, out, notes=notes, replace=force)
    pace = RealTime(cell.period) if real_time else None
    interrupted = False
    try:
        with _bar(cell.scene.cycles) as progress:
            run_cell(cell, recording, pace=pace, progress=progress)
    except KeyboardInterrupt:
        interrupted = True
        note("interrupted", f"after {len(recording)} of {cell.scene.cycles} control steps; this is what there is")
    _summary(cell, recording, variant)
    if pace is not None:
        _punctual(pace)
    if recording.problem:
        note("warning", recording.problem)
    if html is not None and len(recording):
        save_run(cell, recording, html)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _bar(count: int) -> Iterator[Callable[[int, int], object]]:
    """A bar on stderr if that is a terminal, else nothing."""
    errors = console(stderr=True)
    if not errors.is_terminal:
        yield lambda done, total: None
        return
    parts = (TextColumn("running"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    with Progress(*parts, console=errors, transient=True, refresh_per_second=5) as bar:
        task = bar.add_task("", total=count)

        def moved(done: int, total: int) -> None:
            if done % EVERY == 0 or done == total:
                bar.update(task, completed=done)

        yield moved


def _summary(cell: Cell, recording: Recording, variant: str | None) -> None:
    """What happened, a line each."""
    from ..cell.recording.log import bare_told

    table: Mapping[str, Any] = recording.table()
    scene, rows = cell.scene, len(recording)
    if scene.title:
        line(plain(scene.title))
    called = f", variant {variant}" if variant else ""
    cycles = f"{rows} control steps of {duration(cell.period)}"
    line(plain(f"{cell.arm.name} on the {cell.plant_kind} plant{called}: {rows * cell.period:g} s, {cycles}"))
    if not rows:
        return
    if cell.bare:
        _said("without shape", bare_told(cell.bare))
    if told := sticking_out(cell):
        _said("shape", f"{told}: see `elbowroom check`")
    if cell.people:
        at = int(np.argmin(table["distance_surfaces"]))
        least, axes = table["distance_surfaces"][at], table["distance_axes"].min()
        _said("least distance", f"{least:.3f} m at {table['t'][at]:.2f} s; {axes:.3f} m between axes")
        if scene.cover:  # else both are the same
            clear = table["clearance"].min()
            _said("least clearance", f"{clear:.3f} m, of the whole arm: the controller knows the cover {scene.cover}")
    else:
        _said("people", "nobody")
    _said("contacts", str(int(table["contacts"][-1])))
    _said("task", f"{table['state'][-1]}, {_times(int(table['cycles'][-1]), 'task cycle')} completed")
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
    from ..cell.layers import is_file
    from ..cell.suitability import uncovered

    scene = cell.scene
    return uncovered(cell.arm, scene.robot, scene.tip or None) if is_file(scene.robot) else ""


def _said(what: str, text: str) -> None:
    line(f"  {what:16}", plain(text))


def _shares(column: Any) -> str:
    """Statuses and the part of the cycles that had them, the most frequent first."""
    counts = Counter(column.tolist())
    return ", ".join(f"{name} {100 * times / len(column):.3g} %" for name, times in counts.most_common())


def _times(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


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
