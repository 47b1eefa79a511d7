"""`elbowroom bench`: the benchmarks of `elbowroom.bench`, from the command line."""

from __future__ import annotations

import contextlib
import importlib
import io
import json as json_
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ElbowroomError
from .terminal import console

DEFAULT_ROBOTS = ("panda", "ur5e", "puma560")


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
    robots = list(robot or DEFAULT_ROBOTS)
    if json is None:
        result = run(robots, json=False)
        if result is not None:
            console().print(result, markup=False)
        return
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        result = run(robots, json=True)
    if result is None:  # it printed what it found
        text = said.getvalue()
    else:
        sys.stderr.write(said.getvalue())
        text = result if isinstance(result, str) else json_.dumps(result, indent=2)
    text = text.rstrip("\n") + "\n"
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
