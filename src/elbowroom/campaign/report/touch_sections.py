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
    counts, rows = list[tuple[str, ...]](), list[tuple[str | LinkCell, ...]]()
    for (arm, law), runs in found.approaches.items():
        known = [(run, touch.approach) for run in runs if (touch := found.touches.get(run)) and touch.approach]
        if known:
            counts.append((arm_name(arm), law, *_counts([each for _, each in known])))
        for run, each in known[:SHOWN]:
            number = LinkCell(f"{run} ▶", links[run]) if run in links else f"{run}"
            rows.append((number, *([arm_name(arm), law] if len(found.approaches) > 1 else []), *_cells(each)))
    if not rows:
        return []
    which = ("run", *(["arm", "law"] if len(found.approaches) > 1 else []))
    head = (*which, "link", "part", "at, s", "deep, mm", "own, m/s", "lasted, s", "own then", "both then", "leaving")
    return [
        Section(
            "approaches",
            "Approach contacts of supervised laws",
            "Approach contacts",
            [
                Words(
                    "Each one, run again. When the contact began the arm's own motion closed the pair faster than"
                    f" {100 * APPROACH:g} cm/s, or slower, or was opening it; and while it closed the pair the arm was"
                    " leaving another one that overlapped, or none."
                ),
                ReportTable(
                    ("arm", "law", "runs", "began: closing", "slower", "opening", "leaving another", "fastest, m/s"),
                    counts,
                    words=2,
                ),
                Words(
                    f"The hardest, {SHOWN} of an arm and law at most: where the arm's own motion closed an overlapping"
                    " pair the fastest, how deep the overlap was, and for how long it was closed faster than"
                    f" {100 * APPROACH:g} cm/s; the arm's own speed and that of both (m/s) when the contact began; and"
                    " what the arm was leaving meanwhile, at which speed."
                ),
                ReportTable(head, rows, words=len(which) + 2),
            ],
        )
    ]


def _counts(contacts: list[ApproachContact]) -> tuple[str, ...]:
    began = [each.began_own for each in contacts]
    numbers = (
        len(contacts),
        sum(own > APPROACH for own in began),
        sum(0.0 < own <= APPROACH for own in began),
        sum(own <= 0.0 for own in began),
        sum(bool(each.retreat) for each in contacts),
    )
    return (*(f"{number:,}" for number in numbers), f"{max(each.own for each in contacts):.2f}")


def _cells(of: ApproachContact) -> tuple[str, ...]:
    return (
        of.link,
        of.part,
        f"{of.at:.2f}",
        f"{1e3 * of.depth:.0f}",
        f"{of.own:.2f}",
        f"{of.lasted:.2f}",
        f"{of.began_own:.2f}",
        f"{of.began_closing:.2f}",
        f"{of.retreat}, {of.retreating:.2f}" if of.retreat else "",
    )
