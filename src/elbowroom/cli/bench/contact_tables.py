"""What `elbowroom bench contact` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import __version__
from ..terminal import heading, line, plain, table

if TYPE_CHECKING:
    from ...bench.contact import ContactReport


def contact(report: ContactReport) -> None:
    """Pushes by link, alarms, reactions."""
    from ...bench.contact import AFTER, CONFIDENCE, FEELABLE, FORCE, IN_TIME, MASS_ERROR

    line(f"elbowroom {__version__}, MuJoCo {report.engine}; {plain(report.cpu)}; masses wrong by {MASS_ERROR:.0%}")
    for period in dict.fromkeys(row.period for row in report.pushes):
        heading(f"Pushes of {FORCE:g} N on an arm at work, read every {1e3 * period:g} ms")
        table(
            [
                *(
                    "robot",
                    "link",
                    "pushes",
                    "feelable",
                    f"seen in {1e3 * IN_TIME:g} ms",
                    "of all",
                    "at best",
                    "seen",
                    "median",
                ),
                *("named it", "an inner one", "missed", "after it"),
            ],
            (
                [
                    *(
                        r.robot,
                        r.link,
                        r.pushes,
                        r.feelable,
                        r.feelable_in_time,
                        r.in_time,
                        r.at_best,
                        r.seen,
                        _ms(r.median),
                    ),
                    *(r.named, r.inner, "" if math.isnan(r.missed) else f"{r.missed:.1f}", r.after),
                ]
                for r in report.pushes
                if r.period == period
            ),
            words=2,
        )
    line(f"feelable: |J^T F| of some joint is more than {FEELABLE:g} noise floors, and those of them seen in time.")
    line(
        "of all: all that were seen in time; at best: what the best test of these readings could see, at even odds: one"
    )
    line("that knows masses, friction and the push's direction, and is wrong once in ten minutes.")
    line(f"noise floor: the error of a joint's torque from readings of {1e3 * IN_TIME:g} ms, were the model right.")
    line("missed: the strongest push not seen in time, in noise floors; after it: how many ends were felt as pushes.")
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
