"""`elbowroom check`: what looks wrong with an arm."""

from __future__ import annotations

import warnings

import typer
from rich.text import Text

from ..arm import Arm
from ..errors import ModelError, ModelWarning
from ..loading import read
from .show import Tip, What
from .terminal import console, one_line, plain

_STYLE = {"error": "bold red", "warning": "yellow"}


def check(what: What, tip: Tip = None) -> None:
    """Say what looks wrong with an arm.  The exit status is 1 if there is an error.

    \b
    elbowroom check my.urdf --tip tool0
    elbowroom check my.toml
    elbowroom check puma560
    """
    name, found, notes = _found(what, tip)
    out = console()
    for severity, message in found:
        mark = Text(f"{severity:<9}", style=_STYLE[severity])
        out.print(Text.assemble(mark, one_line(message)), soft_wrap=True)
    errors = sum(severity == "error" for severity, _ in found)
    for said in notes:
        out.print(Text.assemble(Text(f"{'note':<9}", style="cyan"), one_line(said)), soft_wrap=True)
    told = f"{_many(errors, 'error')}, {_many(len(found) - errors, 'warning')}"
    out.print(Text.assemble(plain(name), ": ", told), soft_wrap=True)
    if errors:
        raise typer.Exit(1)


def _found(what: str, tip: str | None) -> tuple[str, list[tuple[str, str]], list[str]]:
    """The arm's name, all that its loader and its examination say, (severity, message), and what it is not fit for."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            model = read(what, tip)
        except ModelError as error:
            return what, [("error", str(error).removeprefix(f"{what}: "))], []
        findings = Arm(model).examine()
    said = [("warning", str(warning.message).removeprefix(f"{model.name}: ")) for warning in caught]
    found = said + [(finding.severity, str(finding)) for finding in findings]
    bare = "no collision shapes, so no distances: `demo` and `run` need some; dynamics do not"
    notes = [] if model.capsules else [bare]
    return model.name, sorted(found, key=lambda pair: pair[0]), notes


def _many(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
