"""What `elbowroom bench` prints for the suites whose rows are times of quantities, and for open pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import __version__
from ..terminal import duration, heading, line, table

if TYPE_CHECKING:
    from ...bench.gpu import CardReport, CardRow
    from ...bench.report import Report, Row

US = "elbowroom"
EXTRAS = {"frax": "frax", "CuPy": "cupy-cuda13x"}  # too large for everybody, or of one machine


def dynamics(report: Report) -> None:
    """One state."""
    _introduce(report)
    heading("One state: a call from Python, array in, new array out (out=: into one); in brackets how many times ours")
    _compare(report.rows)
    _first_calls(report)
    _end(report)


def batch(report: Report) -> None:
    """Batches, a table a size."""
    versions = _introduce(report)
    for size in dict.fromkeys(row.states for row in report.rows):
        heading(f"{size} states a call: time of one; in brackets how many times ours")
        _compare([row for row in report.rows if row.states == size])
    line(f"{US}: one thread, float64, a state a row, the result in a new array; the others of ours fill one with out=.")
    if "Pinocchio" in versions:
        line("Pinocchio: its own parallel calls, on one thread where none are named; matrices one call a state.")
    if "frax" in versions:
        line("frax: jitted and vmapped in float64, its arrays on the device before; on as many threads as JAX takes.")
    _end(report)


def chains(report: Report) -> None:
    """Chains, a line a length."""
    _introduce(report)
    heading("Random chains, one state: a call from Python; in brackets how many times ours")
    _compare(report.rows)
    line(f"{US}: by the method that it chooses itself; crba and gdahj are named ones.")
    _first_calls(report)
    _end(report)


def distance(report: Report) -> None:
    """Distances."""
    versions = _introduce(report)
    heading("Capsules of an arm against those of a person: best time; in brackets how many times ours")
    _compare(report.rows)
    if "coal" in versions:
        line("coal: its function for two shapes, called from Python for each pair; the least taken as we go.")
    if "coal in Pinocchio" in versions:
        line("coal in Pinocchio: Pinocchio's own loop over all pairs (computeDistances); it does not pick the least.")
    line("Ours in one call also has the speed at which each pair closes.  A batch has a scene of ours after the other.")
    _end(report)


def gpu(report: CardReport) -> None:
    """Batches on a card, a line a layout, and how close it comes to what the card can do."""
    versions = {row.who: row.version for row in report.rows}
    told = [f"{who} {version}" for who, version in versions.items() if "," not in who]
    line(", ".join(told) + f"; {report.card}")
    rates = ", ".join(f"{rate / 1e12:.1f} T/s in {dtype}" for dtype, rate in report.fused_per_second.items())
    line(f"The card copies {report.copy_bytes_per_second / 1e12:.2f} TB/s, read and written; multiply-adds: {rates}.")
    rows: list[Any] = list(report.rows)
    for dtype in dict.fromkeys(row.dtype for row in rows):
        heading(f"{dtype}: time of one state; in brackets how many times ours in rows")
        table(
            ["robot", "quantity", "who", "states", "a state", "G states/s", "of copy", "of arithmetic", "spread"],
            (_card_cells(row) for row in rows if row.dtype == dtype),
            words=3,
        )
    line("of copy: what must be read and written, as a part of what a copy moves in that time; of arithmetic: steps,")
    line("as a part of the multiply-adds.  spread: nine tenths of the rounds kept within so many times the best.")
    worst = max(row.differs for row in rows)
    line("Results: " + (f"up to {worst:.1e} from the CPU's." if worst else "the CPU's, to the last bit."))
    _end(report)


def _card_cells(row: CardRow) -> list[Any]:
    return [
        row.robot,
        row.quantity,
        "rows" if row.who == US else row.who.removeprefix(f"{US}, "),
        row.states,
        f"{row.seconds_per_state * 1e12:.1f} ps ({ratio(row.ratio_to_us)})",
        f"{1e-9 / row.seconds_per_state:.3g}",
        f"{100 * row.of_copy:.0f} %" if row.steps_per_state else "",
        f"{100 * row.of_arithmetic:.0f} %" if row.steps_per_state else "",
        f"{row.p90_seconds / row.seconds_per_state:.2f}",
    ]


def page(report: Any) -> None:
    """How late cycles begin with pages open."""
    line(f"elbowroom {__version__}; {report.cpu}; the live cell's loop, {1000 * report.period:g} ms a cycle")
    heading("How late cycles begin, by open pages")
    table(
        ["pages", "cycles", "median", "99 %", "99.9 %", "worst", "overruns", "kB/s a page"],
        (
            [
                "an empty loop" if row.pages < 0 else str(row.pages),
                row.cycles,
                *map(duration, (row.median, row.p99, row.p999, row.worst)),
                row.overruns,
                f"{row.bytes_a_second / 1000:.0f}" if row.pages > 0 else "",
            ]
            for row in report.rows
        ),
    )
    line("A page here is a websocket client that reads all it is sent, and draws nothing.")


def _introduce(report: Report) -> dict[str, str]:
    versions = {row.who: row.version for row in report.rows}
    told = {who: version for who, version in versions.items() if who.split(",")[0] == who}
    cores = f"{report.cores} core{'s' if report.cores > 1 else ''}"
    line(", ".join(f"{who} {version}" for who, version in told.items()) + f"; {report.cpu}, {cores}")
    return versions


def _compare(rows: list[Row]) -> None:
    """A line a robot and quantity, a column a contender, and how noisy it was."""
    others = list(dict.fromkeys(row.who for row in rows if row.who != US))
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row.robot, row.quantity), {})[row.who] = row

    def theirs(row: Row | None) -> str:
        return "" if row is None else f"{duration(row.seconds_per_state)} ({ratio(row.ratio_to_us)})"

    table(
        ["robot", "quantity", US, *(who.removeprefix(f"{US}, ") for who in others), "spread"],
        (
            [
                robot,
                quantity,
                duration(by[US].seconds_per_state),
                *(theirs(by.get(who)) for who in others),
                f"{max(row.p90_seconds / row.seconds_per_state for row in by.values()):.1f}",
            ]
            for (robot, quantity), by in lines.items()
        ),
        words=2,
    )
    line("spread: nine tenths of the rounds of everybody in a line kept within so many times their best.")


def ratio(value: float) -> str:
    """With a digit after the point where it tells something."""
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _first_calls(report: Report) -> None:
    if report.first_calls:
        told = ", ".join(f"{call.robot} {duration(call.seconds)}" for call in report.first_calls)
        line(f"A first call of {report.first_calls[0].quantity}, without the cache of compiled code: {told}.")


def _end(report: Report) -> None:
    if report.load is not None and report.load > 0.75 + 0.5 * report.cores:
        line(
            f"The machine was busy: {report.load:.1f} processes on {report.cores} cores.  Long calls suffer more from "
            "that than short ones: ratios are too large."
        )
    for note in report.notes:
        line(note)
    missing(report.missing)


def missing(names: list[str]) -> None:
    """What is not installed, and how to get it."""
    if not names:
        return
    there = [name for name in names if name not in EXTRAS]
    advice = [f"{', '.join(there)}: pip install '.[bench]'." if there else ""]
    advice += [f"{name}: pip install {EXTRAS[name]}." for name in names if name in EXTRAS]
    line(f"Not installed here: {', '.join(names)}. ", " ".join(filter(None, advice)))
