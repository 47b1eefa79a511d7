"""`elbowroom tables`: the papers' tables and curves, ours beside theirs, as a page and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..bench import papers
from ..experiments import figures, page
from .count import Waiting
from .terminal import line, plain


def tables(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into; made if it is not there.")],
) -> None:
    """Write the papers' tables and curves, ours beside theirs: HTML, PNG, SVG.

    \b
    elbowroom tables --out papers               then open papers/index.html
    """
    figures.pyplot()  # before anything is measured
    with Waiting() as waiting:
        timings = papers.run(progress=waiting)
        written = page.write(out, timings, progress=waiting)
    for path in written:
        line(plain(path))
