"""`elbowroom bench`: the benchmarks of `elbowroom.bench`, from the command line."""

from __future__ import annotations

import dataclasses
import importlib
import json as json_
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from .. import __version__
from ..errors import ElbowroomError
from .terminal import console, duration, heading, line, table

if TYPE_CHECKING:
    from ..bench.dynamics import Report, Row

DEFAULT_ROBOTS = ("panda", "ur5e", "puma560")
US = "elbowroom"


class Suite(StrEnum):
    """What can be measured."""

    DYNAMICS = "dynamics"


def bench(
    suite: Annotated[Suite, typer.Argument(help="What to measure.")],
    robot: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"An arm, as often as wanted.  [{', '.join(DEFAULT_ROBOTS)}]"),
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="PATH|-", help="Write JSON to a file, or to stdout with -.")
    ] = None,
) -> None:
    """Measure speed here, beside other libraries."""
    run = _runner(suite)
    with console(stderr=True).status("measuring") as status:  # shows on a terminal alone
        report = run(list(robot or DEFAULT_ROBOTS), progress=lambda text: status.update(escape(text)))
    if json is None:
        _print(report)
        return
    text = json_.dumps({"elbowroom": __version__, **dataclasses.asdict(report)}, indent=2) + "\n"
    if json == "-":
        sys.stdout.write(text)
    else:
        Path(json).write_text(text, encoding="utf-8")


def _runner(suite: Suite) -> Any:
    """The `run` of the suite's module, which is imported only here: it brings the other libraries in."""
    name = f"elbowroom.bench.{suite.value}"
    try:
        return importlib.import_module(name).run
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name.startswith(missing):
            raise ElbowroomError(f"the benchmark {suite.value!r} is not part of this installation") from error
        raise ElbowroomError(
            f"the benchmark {suite.value!r} needs {missing}: pip install 'elbowroom[bench]'"
        ) from error


def _print(report: Report) -> None:
    versions = {row.who: row.version for row in report.rows}
    line(", ".join(f"{who} {version}" for who, version in versions.items()) + f"; {report.cpu}")
    for kind, title in (
        ("dynamics", "One state: a call from Python, array in, new array out"),
        ("batch", "A batch: time a state, one thread"),
    ):
        rows = [row for row in report.rows if row.bench == kind]
        if rows:
            heading(f"{title}; in brackets how many times ours")
            _compare(rows)
    if "Pinocchio" in versions:
        line("Pinocchio's batches: its own parallel calls on one thread; the mass matrix one call a state.")
    if report.missing:
        line(f"Not installed here: {', '.join(report.missing)}.  pip install 'elbowroom[bench]' adds them.")


def _compare(rows: list[Row]) -> None:
    """A line a robot and quantity, a column a contender."""
    others = list(dict.fromkeys(row.who for row in rows if row.who != US))
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row.robot, row.quantity), {})[row.who] = row

    def theirs(row: Row | None) -> str:
        return "" if row is None else f"{duration(row.seconds_per_state)} ({row.ratio_to_us:.1f})"

    table(
        ["robot", "quantity", US, *others],
        (
            [robot, quantity, duration(by[US].seconds_per_state), *(theirs(by.get(who)) for who in others)]
            for (robot, quantity), by in lines.items()
        ),
        words=2,
    )
