"""`elbowroom campaign report`: what a campaign's table says, as one HTML page, and its worst runs to be looked at."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .terminal import INTERRUPTED, DelayedBar, Interrupts, line, note

if TYPE_CHECKING:
    from ..campaign.statistics import Summary

PAGES = "worst"
"""The folder of the pages that play runs."""


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign, finished or not.")],
    pages: Annotated[
        bool, typer.Option("--pages/--no-pages", help="Write pages that play the worst runs; they need viser.")
    ] = True,
) -> None:
    """Write DIR/report.html: rates with exact bounds, distributions, what matters, and the worst runs to be played.

    \b
    elbowroom campaign report first
    elbowroom campaign report first --no-pages

    `elbowroom campaign` does it at its end.  A page in DIR/worst/ has a run again from its parameters, arm and people
    in 3D, and needs nothing else; 20 take about a minute and 40 MB.
    """
    try:
        with Interrupts() as interrupts:
            write_report(folder, interrupts, pages=pages)
    except KeyboardInterrupt:
        note("interrupted", "no report")
        raise typer.Exit(INTERRUPTED) from None


def write_report(folder: Path, interrupts: Interrupts, *, pages: bool = True) -> None:
    """Writes the report, and the pages that it leads to."""
    from ..campaign.report import write
    from ..campaign.statistics import summary

    found = summary(folder, interrupts.check)
    links, missing = dict[int, str](), ""
    if pages and importlib.util.find_spec("viser") is None:
        missing = "pages that play runs need viser: pip install '.[viewer]'"
    elif pages:
        links = _pages(folder, found, interrupts)
    path = write(folder, found, links, missing)
    line(f"{path}: {found.runs:,} runs{f', {len(links)} of them to be played' if links else ''}")


def _pages(folder: Path, found: Summary, interrupts: Interrupts) -> dict[int, str]:
    """A page for each of the worst runs, by its number."""
    from ..campaign import parameters_of
    from ..viewer.replay.encounter import write_run

    links, other = dict[int, str](), list[int]()
    (folder / PAGES).mkdir(exist_ok=True)
    with DelayedBar() as bar:
        for k, row in enumerate(found.worst):
            interrupts.check()
            run = int(str(row["run"]))
            bar(k, len(found.worst), f"run {run} again")
            name = f"{PAGES}/{run:06d}.html"
            least = write_run(parameters_of(found.campaign, run), folder / name)
            links[run] = name
            if least != row["least"]:
                other.append(run)
    for old in (folder / PAGES).glob("*.html"):
        if f"{PAGES}/{old.name}" not in links.values():
            old.unlink()  # of a report before this one
    if other:
        what = "another version of elbowroom, machine or engine made the table"
        note("differ", f"runs {', '.join(map(str, other))} are not as in the table to the bit: {what}")
    return links
