"""What `elbowroom bench contact` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import __version__
from ..terminal import heading, line, plain, table

if TYPE_CHECKING:
    from ...bench.contact import ContactReport, PushRow


def contact(report: ContactReport) -> None:
    """Pushes by link, alarms, reactions."""
    from ...bench.contact import AFTER, CONFIDENCE, FEELABLE, FORCE, IN_TIME, MASS_ERROR

    line(f"elbowroom {__version__}, MuJoCo {report.engine}; {plain(report.cpu)}; masses wrong by {MASS_ERROR:.0%}")
    soon = f"{1e3 * IN_TIME:g} ms"
    columns = ["robot", "link", "pushes", f"in {soon}", f"at best in {soon}", "feelable", f"of these in {soon}"]
    columns += ["seen at all", "median", "named it", "an inner one", "missed", "after it"]
    for period in dict.fromkeys(row.period for row in report.pushes):
        heading(f"Pushes of {FORCE:g} N on an arm at work, read every {1e3 * period:g} ms")
        table(columns, (_pushes(row) for row in report.pushes if row.period == period), words=2)
    for text in (
        f"in {soon}: seen so soon after the push began; seen at all: before it ended; median: how soon, of these.",
        f"at best in {soon}: pushes that the best test of the same readings would see more often than not: one that",
        "  knows masses, friction and the push's direction, and at 1 kHz is wrong once in ten minutes.",
        f"feelable: some joint feels more than {FEELABLE:g} times its noise floor: how far its torque from readings",
        f"  of {soon} is off, were the model right.",
        "named it, an inner one: the link that was named, of those seen at all: the pushed one, or one before it.",
        f"missed: the strongest push not seen in {soon}, in noise floors; after it: ends felt as pushes the other way.",
    ):
        line(text)
    heading("Work without contact")
    table(
        [
            *("robot", "read every", "minutes", "task cycles", "false alarms", f"an hour, at most ({CONFIDENCE:.0%})"),
            *("closest", "change"),
        ],
        (
            [
                *(r.robot, _ms(r.period), f"{r.runs} x {r.minutes:g}", r.cycles, r.alarms, f"{r.rate:.1f}"),
                *(f"{r.closest:.2f}", f"{r.change:.2f}"),
            ]
            for r in report.alarms
        ),
        words=1,
    )
    line("closest: the greatest residual, in thresholds; change: the greatest change of it.")
    heading("A body in the way, unseen")
    table(
        ["robot", "reaction", "tool, m/s", "felt after", "peak, N", f"impulse in {AFTER:g} s, N s", "force then, N"],
        (
            [
                *(r.robot, r.reaction, f"{r.speed:.2f}", _ms(r.felt), f"{r.peak:.0f}"),
                *(f"{r.impulse:.2f}", f"{r.last:.1f}"),
            ]
            for r in report.reactions
        ),
        words=2,
    )
    line("none: contact is not watched, and whatever else the supervisor finds stops the arm.")


def _ms(seconds: float) -> str:
    return "" if math.isnan(seconds) else f"{1e3 * seconds:.0f} ms"


def _pushes(r: PushRow) -> list[object]:
    """A row of pushes."""
    counts = [r.pushes, r.in_time, r.at_best, r.feelable, r.feelable_in_time, r.seen]
    missed = "" if math.isnan(r.missed) else f"{r.missed:.1f}"
    return [r.robot, r.link, *counts, _ms(r.median), r.named, r.inner, missed, r.after]
