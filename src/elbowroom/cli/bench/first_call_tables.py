"""The table of `elbowroom bench first-calls`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terminal import line, plain, table

if TYPE_CHECKING:
    from ...bench.first_calls import DerivativeRow, FirstCallReport


def first_calls(report: FirstCallReport) -> None:
    """A line for each derivative."""
    line(f"CPU seconds with nothing compiled before; {plain(report.cpu)}, {report.cores} cores")
    table(
        ["arm", "quantity", "by", "operations", "one state", "first batch after that"],
        (_cells(row) for row in report.rows),
        words=3,
    )
    for reason in dict.fromkeys(row.refused for row in report.rows if row.refused):
        line(plain(reason))
    done = [row for row in report.rows if not row.refused]
    if done:
        last = max(done, key=lambda row: row.seconds)
        line(f"The longest of {len(done)}: {last.quantity} by {last.by}, {last.seconds:.2f} s.")


def _cells(row: DerivativeRow) -> list[str]:
    times = ["refused", "-", "-"] if row.refused else []
    operations = str(row.operations) if row.operations else "loops"
    return [row.robot, row.quantity, row.by, *(times or [operations, f"{row.seconds:.2f}", f"{row.batch:.2f}"])]
