"""`elbowroom campaign`: encounters of arms and people by the thousand, drawn from a file, one row per run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ...errors import ElbowroomError
from ..terminal import INTERRUPTED, Interrupts, heading, line, note, table
from .progress import CampaignProgress
from .report import report as report_command
from .report import write_report
from .search import search as search_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...campaign.execute import Tally
    from ...campaign.runs import Rows

RUNS = 1000


class Files(StrEnum):
    """How blocks are written."""

    PARQUET = "parquet"
    NPY = "npy"
    SUMMARY = "summary"


def campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What is drawn for each run, and from what.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results: a new one, or see --resume.")],
    runs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help=f"How many runs.  [{RUNS}; with --resume as before]")
    ] = None,
    engine: Annotated[str, typer.Option(metavar="local|cuda|ray", help="What runs them.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="W", help="Processes at work.  [one per core]")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Of a Ray cluster, or auto; without it engine ray starts its own here."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the campaign that is in DIR.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Another seed than the file's.")] = None,
    block: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, metavar="B", help="Runs in a file of results.  [some 200 files]"),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="float64|float32", help="Of closed loops.  [float64; with engine cuda float32]"),
    ] = None,
    format: Annotated[
        Files | None,
        typer.Option(help="Of the results: parquet needs pyarrow; summary has 53 bytes a run.  [parquet]"),
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write DIR/report.html at the end.")] = True,
) -> None:
    """Run encounters with arms, laws, people and sensor faults drawn from a file; one row of results per run.

    \b
    elbowroom campaign campaign.toml --runs 1000 --out first
    elbowroom campaign campaign.toml --out first --resume              after Ctrl-C, a crash, a full disk
    elbowroom campaign campaign.toml --out first --resume --runs 5000  more of the same
    elbowroom campaign campaign.toml --out other --seed 2 --workers 4
    elbowroom campaign campaign.toml --out ten --engine ray --address 10.0.0.1:6379
    elbowroom campaign campaign.toml --runs 1000000 --out million --engine cuda
    elbowroom campaign report first                                    DIR/report.html of what is there
    elbowroom campaign search campaign.toml --out worst                the worst, sought (see campaign search --help)
    elbowroom campaign convert first --out other --format npy          the same table in other files

    examples/campaign.toml is a file to begin with.  DIR then holds campaign.json and blocks/, Parquet files that
    elbowroom.campaign.read(DIR), pandas or DuckDB read as one table, and report.html.  The same file and seed give the
    same table, whatever the number of workers, and interrupted or not.

    Ctrl-C keeps every block that is complete; the exit status is then 130, and 1 after an error.
    """
    from ...campaign import Store, execute, load
    from ...campaign import engine as engine_of
    from ...campaign.store import read_manifest

    chosen = load(file)
    if seed is not None:
        chosen = chosen.with_seed(seed)
    if resume:
        if block is not None:
            raise typer.BadParameter("--block is as before with --resume")
        there = read_manifest(out)
        if format is not None and format.value != there["files"]:
            raise typer.BadParameter(f"--format is as before with --resume, {there['files']}; see campaign convert")
        precision = precision or str(there["precision"])
    motor = engine_of(engine, workers, address=address, precision=precision)
    with Interrupts() as interrupts:
        if resume:
            store = Store.resume(out, chosen, runs, precision=motor.precision)
        else:
            kept = (format or Files.PARQUET).value
            size = block or motor.block(runs or RUNS)
            store = Store.create(out, chosen, runs or RUNS, block=size, files=kept, precision=motor.precision)
        with store:
            for problem in store.damaged:
                note("damaged", f"{problem}; its runs are run again")
            interrupted = False
            before = store.done
            try:
                with CampaignProgress(store.runs, before, interrupts) as progress:
                    execute(chosen, store, motor, progress)
            except KeyboardInterrupt:
                interrupted = True
                words = f"{store.done} of {store.runs} runs are kept in {out}; --resume goes on"
                note("interrupted", f"{words}, Ctrl-C again leaves out the summary")
            try:
                summary(out, interrupts)
            except KeyboardInterrupt:
                interrupted = True
                note("interrupted", "no summary")
            if report and not interrupted:
                interrupted = not _reported(out, interrupts)
        if not interrupted:
            note("written", f"{store.runs} runs in {out}{progress.said()}", "green")
    raise typer.Exit(INTERRUPTED if interrupted else 0)


def _reported(out: Path, interrupts: Interrupts) -> bool:
    """Writes the report, or says why not; False if Ctrl-C was pressed.  What was run is there all the same."""
    try:
        write_report(out, interrupts)
    except KeyboardInterrupt:
        note("interrupted", f"no report; elbowroom campaign report {out} writes it")
        return False
    except ElbowroomError as error:
        note("no report", str(error))
    return True


def summary(out: Path, interrupts: Interrupts) -> None:
    """One line per arm and law."""
    from ...campaign.execute import tallies
    from ...campaign.store import each_rows, read_schema

    def checked() -> Iterator[Rows]:
        for rows in each_rows(out):
            interrupts.check()
            yield rows

    found = tallies(checked(), read_schema(out))
    if not found:
        return
    heading("Contacts by arm and law, with exact bounds of their rates at 95 %")
    columns = ("arm", "law", "runs", "touched", "standing", "approach", "goals a run", "stops")
    table(columns, [_line(tally) for tally in found], words=2)
    line("touched: arm and a person overlapped; standing: of these, by an arm that had not moved for 0.2 s;")
    line("approach: while they overlapped, the arm's own motion closed the pair faster than 5 cm/s.")


def _line(tally: Tally) -> tuple[str, ...]:
    return (
        Path(tally.arm).name,
        tally.law,
        f"{tally.runs}",
        bounds(tally.touched, tally.runs),
        f"{tally.standing}",
        bounds(tally.approach, tally.runs),
        f"{tally.goals / tally.runs:.2f}",
        f"{tally.stops}",
    )


def bounds(events: int, runs: int) -> str:
    """Events, and Clopper and Pearson's interval of their rate; where nothing happened, the bound of about 3/N."""
    from ...bench.encounters.run import rate

    try:
        found = rate(events, runs)
    except ElbowroomError:  # no scipy; what is needed without events is the closed form
        return f"{events}: {100 * events / runs:.2g} %" if events else _none(runs, 1.0 - 0.05 ** (1.0 / runs))
    return f"{events}: {100 * found.low:.2g} to {100 * found.high:.2g} %" if events else _none(runs, found.high)


def _none(runs: int, high: float) -> str:
    return f"none in {runs}: below {100 * high:.2g} %"


def convert_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to, a new one.")],
    format: Annotated[Files, typer.Option(help="Of the files there.")] = Files.PARQUET,
) -> None:
    """Write a campaign's table again in another format, such as Parquet from summaries that were made elsewhere."""
    from ...campaign.store import convert

    store = convert(folder, out, format.value)
    note("written", f"{store.done} of {store.runs} runs in {out}", "green")


class _Group(TyperGroup):
    """`campaign FILE.toml ...` beside `report` and `search`: what is no command's name is the file of a campaign."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_Group, rich_markup_mode=None)
app.command("run")(campaign)
app.command("report")(report_command)
app.command("search")(search_command)
app.command("convert")(convert_command)
