"""Sections of a campaign's report that say why people were touched, and explain every approach contact."""

from __future__ import annotations

from collections.abc import Mapping

from ...bench.encounters.run import APPROACH
from ...experiments.html_report import LinkCell, Part, ReportTable, Section, Words
from ..statistics import LOOKED, Summary
from ..touches import AFTER, BEFORE, ApproachContact
from .figures import arm_name

STILL = "still"
SHOWN = 100  # approach contacts


def touch_sections(found: Summary, links: Mapping[int, str]) -> list[Section]:
    """Which touches an arm that stands would have had, too, and the approach contacts one by one."""
    return [*_split(found), *_approaches(found, links)]


def _split(found: Summary) -> list[Section]:
    parts: list[Part] = []
    rows = []
    for (arm, law), runs in found.looked.items():
        touches = [found.touches[run] for run in runs if run in found.touches]
        if touches:
            both = sum(t.still and t.held for t in touches)
            counts = (both, sum(t.still for t in touches) - both, sum(t.held for t in touches) - both)
            rows.append((arm_name(arm), law, *(f"{n:,}" for n in (len(touches), *counts, len(touches) - sum(counts)))))
    if rows:
        parts += [
            Words(
                "Touched runs of supervised laws, run again and sorted: whether the people of the scene also touch an"
                " arm that stands at its ready pose for the whole run (at ready), and whether they touch this arm if it"
                f" stops {BEFORE:g} s before the first contact and stands there until {AFTER:g} s after it (held)."
                " What is in neither column the arm met by moving, or by giving way to another part of a person."
                f" The first {LOOKED} touched runs of each arm and law."
            ),
            ReportTable(("arm", "law", "touched", "both", "at ready alone", "held alone", "neither"), rows, words=2),
        ]
    paired = [pair for pair in found.pairs if pair.other == STILL or pair.this == STILL]
    lines = []
    for pair in paired:
        law, (only, other) = pair.this, pair.discordant["touched"]
        if law == STILL:
            law, only, other = pair.other, other, only
        lines.append((arm_name(pair.arm), law, f"{pair.scenes:,}", f"{pair.both:,}", f"{only:,}", f"{other:,}"))
    if lines:
        parts += [
            Words(
                "In the same scenes an arm that stands at its ready pose for the whole run (the law `still`) was"
                " touched, too, or was not."
            ),
            ReportTable(
                ("arm", "law", "scenes", "touched, as `still` was", "touched, `still` not", "`still` touched alone"),
                lines,
                words=2,
            ),
        ]
    return [Section("touches", "Touches that an arm standing still would have had", "Standing still", parts)] * bool(
        parts
    )


def _approaches(found: Summary, links: Mapping[int, str]) -> list[Section]:
    rows: list[tuple[str | LinkCell, ...]] = []
    for (arm, law), runs in found.approaches.items():
        for run in runs:
            touch = found.touches.get(run)
            if touch is not None and touch.approach is not None and len(rows) < SHOWN:
                number = LinkCell(f"{run} ▶", links[run]) if run in links else f"{run}"
                rows.append((number, arm_name(arm), law, *_cells(touch.approach)))
    if not rows:
        return []
    head = (
        "run",
        "arm",
        "law",
        "at, s",
        "link",
        "part",
        "deep, mm",
        "own, m/s",
        "lasted, s",
        "when it began",
        "meanwhile",
    )
    return [
        Section(
            "approaches",
            "Approach contacts of supervised laws",
            "Approach contacts",
            [
                Words(
                    "Each one, run again: where the arm's own motion closed an overlapping pair the fastest, how deep"
                    f" the overlap was and for how long it was closed faster than {100 * APPROACH:g} cm/s; who closed"
                    " the pair when the contact began; and which other overlapping pair the arm was leaving meanwhile."
                ),
                ReportTable(head, rows, words=3),
            ],
        )
    ]


def _cells(of: ApproachContact) -> tuple[str, ...]:
    person = of.began_closing - of.began_own
    who = "the arm" if of.began_own > max(person, APPROACH) else "the person"
    retreat = f"leaves {of.retreat} at {of.retreating:.2f} m/s" if of.retreat else ""
    return (
        f"{of.at:.2f}",
        of.link,
        of.part,
        f"{1e3 * of.depth:.0f}",
        f"{of.own:.2f}",
        f"{of.lasted:.2f}",
        f"{who}: own {of.began_own:.2f}, both {of.began_closing:.2f} m/s",
        retreat,
    )
