"""`elbowroom doctor`: what is installed, what this machine can do, and what is missing for which feature."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.text import Text

from . import checkup
from .terminal import console

STYLE = {
    r"^  ok\b": "green",
    r"^  (note|missing)\b": "yellow",
    r"^  broken\b": "bold red",
    r"^\S.*": "bold",
}


def doctor(
    json: Annotated[bool, typer.Option("--json", help="The same as JSON, alone on stdout.")] = False,
) -> None:
    """Say what is installed, what this machine can do, and what is missing for which feature.

    \b
    elbowroom doctor
    elbowroom doctor --json

    It takes a few seconds: it compiles a kernel and imports what is optional.  The exit status is 1 if the core does
    not work.
    """
    found = checkup.examine()
    if json:
        sys.stdout.write(checkup.as_json(found))
    else:
        out = console()
        for line in checkup.as_text(found).splitlines():
            text = Text(line)
            for pattern, style in STYLE.items():
                text.highlight_regex(pattern, style)
            out.print(text, soft_wrap=True)
    raise typer.Exit(0 if checkup.healthy(found) else 1)
