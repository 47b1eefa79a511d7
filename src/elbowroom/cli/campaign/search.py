"""`elbowroom campaign search`: the worst encounters of a campaign, sought by CMA-ES over what people and sensor do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..terminal import INTERRUPTED, Interrupts, note
from .progress import CampaignProgress
from .report import write_search_report

if TYPE_CHECKING:
    from ...campaign import Store

EVALUATIONS = 4096


def search(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="A campaign of one arm and one law.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results: a new one, or see --resume.")],
    objective: Annotated[
        str, typer.Option(metavar="least-distance|contact-speed|own-speed", help="What is sought.")
    ] = "least-distance",
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"How many runs, rounded up to whole generations.  [{EVALUATIONS}; with --resume as before]",
        ),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="local|ray", help="What runs them.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="W", help="Processes at work.  [one per core]")
    ] = None,
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Of a Ray cluster.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the search that is in DIR.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Another seed than the file's.")] = None,
    beside: Annotated[
        Path | None, typer.Option(metavar="CAMPAIGN", help="A folder of random runs, for the report to set beside it.")
    ] = None,
    format: Annotated[str, typer.Option(metavar="parquet|npy", help="Of the results.")] = "parquet",
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write DIR/report.html at the end.")] = True,
) -> None:
    """Search for the worst encounters of a campaign: what random runs find in a million, in thousands.

    \b
    elbowroom campaign search faults.toml --evaluations 4096 --out worst
    elbowroom campaign search faults.toml --objective own-speed --out own
    elbowroom campaign search faults.toml --out worst --resume                  after Ctrl-C, a crash, a full disk
    elbowroom campaign search faults.toml --out worst --beside faults           the report compares with random runs

    CMA-ES over where, when and how fast each person walks and reaches, and over what the file draws, within the bounds
    that random runs have.  The same file and seed give the same search.  DIR then holds the table of all runs,
    report.html with the worst twenty to be played, and finds.toml with all that these depend on.
    """
    from ...campaign import Store, load
    from ...campaign import engine as engine_of
    from ...campaign.search import evaluations as whole
    from ...campaign.search import generation, over
    from ...campaign.search import search as seek

    if format not in ("parquet", "npy"):
        raise typer.BadParameter(f"--format: expected parquet or npy; got {format!r}")
    chosen = load(file)
    chosen = over(chosen if seed is None else chosen.with_seed(seed), objective)
    motor = engine_of(engine, workers, address=address, precision="float64")  # as finds are repeated
    count = None if evaluations is None and resume else whole(chosen, evaluations or EVALUATIONS)
    interrupted = False
    with Interrupts() as interrupts:
        store: Store
        if resume:
            store = Store.resume(out, chosen, count, precision=motor.precision)
        else:
            store = Store.create(
                out, chosen, count or 0, block=generation(chosen), files=format, precision=motor.precision
            )
        with store:
            for problem in store.damaged:
                note("damaged", f"{problem}; the search goes on from before it")
            try:
                with CampaignProgress(store.runs, store.done, interrupts) as progress:
                    seek(chosen, store, motor, progress)
            except KeyboardInterrupt:
                interrupted = True
                note("interrupted", f"{store.done} of {store.runs} runs are kept in {out}; --resume goes on")
            if report and not interrupted:
                try:
                    write_search_report(out, interrupts, beside=beside)
                except KeyboardInterrupt:
                    interrupted = True
                    note("interrupted", f"no report; elbowroom campaign report {out} writes it")
        if not interrupted:
            note("written", f"{store.runs} runs in {out}{progress.said()}", "green")
    raise typer.Exit(INTERRUPTED if interrupted else 0)
