"""`elbowroom campaign report`: what a campaign's table says, as one HTML page, and its worst runs to be looked at."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import pip_install
from ..terminal import INTERRUPTED, DelayedBar, Interrupts, line, note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...campaign import RunParameters

    Wanted = Mapping[int, tuple[RunParameters, float | None]]

PAGES = "worst"
"""The folder of the pages that play runs."""
PLAYED = 10  # approach contacts of an arm and a law that have pages


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign, finished or not.")],
    pages: Annotated[
        bool, typer.Option("--pages/--no-pages", help="Write pages that play the worst runs; they need viser.")
    ] = True,
    beside: Annotated[
        Path | None, typer.Option(metavar="CAMPAIGN", help="Random runs to set beside a search: their folder.")
    ] = None,
) -> None:
    """Write DIR/report.html: rates with exact bounds, distributions, what matters, and the worst runs to be played.

    \b
    elbowroom campaign report first
    elbowroom campaign report first --no-pages

    `elbowroom campaign` does it at its end.  A page in DIR/worst/ has a run again from its parameters, arm and people
    in 3D, and needs nothing else; 20 take about a minute and 40 MB.
    """
    from ...campaign.search import is_search
    from ...campaign.store import campaign_of

    try:
        with Interrupts() as interrupts:
            if is_search(campaign_of(folder)):
                write_search_report(folder, interrupts, pages=pages, beside=beside)
            else:
                write_report(folder, interrupts, pages=pages)
    except KeyboardInterrupt:
        note("interrupted", "no report")
        raise typer.Exit(INTERRUPTED) from None


def write_report(folder: Path, interrupts: Interrupts, *, pages: bool = True) -> None:
    """Writes the report, and the pages that it leads to."""
    from ...campaign import parameters_of
    from ...campaign.report import write
    from ...campaign.statistics import look_again, summary

    found = summary(folder, interrupts.check)
    if pages:
        with DelayedBar() as bar:

            def looked(done: int, total: int) -> None:
                interrupts.check()
                bar(done, total, "touched runs again")

            look_again(found, looked)
    wanted: dict[int, float | None] = {int(str(row["run"])): float(str(row["least"])) for row in found.worst}
    for runs in found.approaches.values():
        wanted.update(dict.fromkeys((run for run in runs[:PLAYED] if run not in wanted), None))
    links, missing = _played(
        folder,
        {run: (parameters_of(found.campaign, run), least) for run, least in wanted.items()},
        interrupts,
        pages,
        found.precision,
    )
    path = write(folder, found, links, missing)
    line(f"{path}: {found.runs:,} runs{f', {len(links)} of them to be played' if links else ''}")


def write_search_report(
    folder: Path, interrupts: Interrupts, *, pages: bool = True, beside: Path | None = None
) -> None:
    """Writes the report of a search, its finds as a file, and the pages that it leads to."""
    from ...campaign.finds import write_finds
    from ...campaign.report.search import finds, found, write

    summary = found(folder, beside, interrupts.check)
    each = finds(summary)
    head = f"The worst encounters of a search for {summary.objective}; elbowroom.campaign.read_finds reads them."
    write_finds(folder / "finds.toml", each, head)
    wanted: dict[int, tuple[RunParameters, float | None]] = {
        find.parameters.number: (find.parameters, find.least) for find in each
    }
    links, missing = _played(folder, wanted, interrupts, pages)
    path = write(folder, summary, links, missing)
    line(f"{path}: {len(summary.rows):,} runs{f', {len(links)} of them to be played' if links else ''}")


def _played(
    folder: Path, wanted: Wanted, interrupts: Interrupts, pages: bool, precision: str = "float64"
) -> tuple[dict[int, str], str]:
    """Pages of runs by their numbers, and why there are none."""
    if pages and importlib.util.find_spec("viser") is None:
        return {}, f"pages that play runs need viser: {pip_install('viewer')}"
    return (_pages(folder, wanted, interrupts, precision) if pages else {}), ""


def _pages(folder: Path, wanted: Wanted, interrupts: Interrupts, precision: str) -> dict[int, str]:
    """A page for each of these runs, which have their least distance beside them."""
    from ...viewer.replay.encounter import write_run

    links, other = dict[int, str](), list[int]()
    (folder / PAGES).mkdir(exist_ok=True)
    with DelayedBar() as bar:
        for k, (run, (of, least)) in enumerate(wanted.items()):
            interrupts.check()
            bar(k, len(wanted), f"run {run} again")
            name = f"{PAGES}/{run:06d}.html"
            links[run] = name
            if write_run(of, folder / name, precision=precision) != least and least is not None:
                other.append(run)
    for old in (folder / PAGES).glob("*.html"):
        if f"{PAGES}/{old.name}" not in links.values():
            old.unlink()  # of a report before this one
    if other:
        what = "another version of elbowroom, machine or engine made the table"
        note("differ", f"runs {', '.join(map(str, other))} are not as in the table to the bit: {what}")
    return links
