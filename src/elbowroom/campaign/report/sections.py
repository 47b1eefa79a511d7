"""The report of a campaign: one HTML page, written beside its table.

write(folder, summary(folder), links)        DIR/report.html; `links` lead from runs to pages that play them
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...bench.encounters.run import discordant, rate
from ...errors import ElbowroomError
from ...experiments.html_report import Definitions, LinkCell, Listing, Note, Part, Picture, ReportTable, Section, Words
from ...experiments.html_report import page as html_page
from ...reading import write_whole
from ..statistics import EDGES, REGIONS, SPEEDS, WORST, Summary, goals_ratio, quantile
from ..store import read_manifest
from .figures import arm_name, contact_speeds, goals, influences, least_distances
from .sensitivity import DRAWS, Correlation, correlations
from .touch_sections import touch_sections

NAME = "report.html"
LISTED = 8  # arms and laws without an approach contact that are listed below the table
FOOTER = "Simulated encounters; informed by ISO 10218:2025 / ISO/TS 15066, not certified."


def write(folder: str | Path, found: Summary, links: Mapping[int, str] | None = None, missing: str = "") -> Path:
    """Writes DIR/report.html; `missing` says why runs have no links."""
    return save(Path(folder), page(found, read_manifest(Path(folder)), links or {}, missing))


def save(folder: Path, text: str) -> Path:
    """The page as DIR/report.html, whole or not at all."""
    path = folder / NAME
    write_whole(path, text)
    return path


def page(found: Summary, manifest: Mapping[str, object], links: Mapping[int, str], missing: str = "") -> str:
    """The page."""
    laws = found.schema.labels["law"]
    ranked = [name for name in found.groups if name not in found.schema.labels]
    linked = correlations(found.sample, laws, ranked, found.campaign.paired)
    sections = [
        _contacts(found),
        *touch_sections(found, links),
        _least(found),
        *_speeds(found),
        _work(found),
        *_pairs(found),
    ]
    sections += _parameters(found, linked)
    sections += [_worst(found, links, missing), made(manifest)]
    return html_page(found.campaign.title or "Campaign", _introduction(found), sections, FOOTER)


def percent(events: int, runs: int) -> str:
    """A rate with Clopper and Pearson's exact bounds."""
    if not runs:
        return "-"
    bounds = rate(events, runs)
    if not events:
        return f"none: below {100 * bounds.high:.2g} %"
    return f"{100 * bounds.value:.3g} % ({100 * bounds.low:.2g} to {100 * bounds.high:.2g})"


def _introduction(found: Summary) -> list[Part]:
    laws, arms = (list(dict.fromkeys(getattr(cell, name) for cell in found.cells)) for name in ("law", "arm"))
    hours = found.seconds / 3600.0
    time = f"{hours:.1f} hours" if hours >= 1.0 else f"{found.seconds / 60.0:.1f} minutes"
    said = [Words(f"{found.runs:,} simulated encounters of an arm and people, {time} in all.", "lead")]
    parts: list[Part] = [
        *said,
        Definitions(
            [
                ("arms", ", ".join(map(arm_name, arms))),
                ("laws", ", ".join(laws)),
                ("drawn", ", ".join(f"`{name}`" for name in found.groups) or "nothing"),
                ("seed", f"{found.campaign.seed}"),
            ]
        ),
    ]
    if found.runs < found.asked:
        parts.append(Note("Not finished:", f"{found.runs:,} of {found.asked:,} runs are complete."))
    return parts


def _events(count: int, runs: int) -> str:
    """How many, and the exact bounds of their rate."""
    if not count:
        return percent(count, runs)
    bounds = rate(count, runs)
    return f"{count:,} ({100 * bounds.low:.3g} to {100 * bounds.high:.3g} %)"


def _contacts(found: Summary) -> Section:
    head = ("arm", "law", "runs", "touched", "approach contact", "touched standing")
    rows = [
        (
            arm_name(cell.arm),
            cell.law,
            f"{cell.runs:,}",
            *(_events(count, cell.runs) for count in (cell.touched, cell.approach, cell.standing)),
        )
        for cell in found.cells
    ]
    quiet = [cell for cell in found.cells if not cell.approach]
    notes: list[Part] = [
        Note("No approach contact", listed=[_none(arm_name(cell.arm), cell.law, cell.runs) for cell in quiet])
    ] * (0 < len(quiet) <= LISTED)
    return Section(
        "contacts",
        "Contacts",
        "Contacts",
        [
            Words(
                "Runs in which a moving part of the arm and a person overlapped at a control time (touched), and of"
                " these, runs in which the arm's own motion closed the pair faster than 5 cm/s meanwhile (approach"
                " contact). Touched standing: the arm had not moved by more than 1 mm in the 0.2 s before any contact"
                " of the run, so that an arm standing still would have been touched, too.\n\nIn brackets, exact bounds"
                " of the rate at 95 % (Clopper and Pearson); of what never happened, the upper bound, about 3/N."
            ),
            ReportTable(head, rows, words=2, unbroken=True),
            *notes,
        ],
    )


def _none(arm: str, law: str, runs: int) -> str:
    return f"{arm}, {law}: none in {runs:,} runs; below {100 * rate(0, runs).high:.2g} % of runs at 95 %"


def _least(found: Summary) -> Section:
    rows = []
    for cell in found.cells:
        arm, law, counts = cell.arm, cell.law, found.least[cell.arm, cell.law]
        quantiles = (quantile(counts, EDGES, part) for part in (0.001, 0.01, 0.05, 0.5))
        rows.append((arm_name(arm), law, f"{counts.sum():,}", *(f"{1e3 * x:.0f}" for x in quantiles)))
    return Section(
        "least",
        "Least distance",
        "Least distance",
        [
            picture(
                least_distances,
                found,
                "The part of runs whose least distance of arm and people was below a value. Where a curve crosses 0,"
                " arm and person overlap.",
            ),
            ReportTable(
                ("arm", "law", "runs", "0.1 %", "1 %", "5 %", "median"),
                rows,
                words=2,
                caption="Least distance, mm, below which a part of the runs was (to 2 mm).",
            ),
        ],
    )


def picture(draw: object, found: object, caption: str) -> Part:
    """A figure; a note where there is no matplotlib."""
    try:
        return Picture(draw(found), "", caption)  # type: ignore[operator]  # a function of this module's figures
    except ElbowroomError as error:
        return Note("No figure here:", str(error))


def _speeds(found: Summary) -> list[Section]:
    if not found.contacts:
        return []
    rows = []
    for region in REGIONS:
        for law in found.schema.labels["law"]:
            counts = found.contacts.get((law, region))
            if counts is not None:
                hardest = found.hardest[law, region]
                middle, high = (min(quantile(counts, SPEEDS, part), hardest) for part in (0.5, 0.95))  # ends of bins
                rows.append((region, law, f"{counts.sum():,}", f"{middle:.2f}", f"{high:.2f}", f"{hardest:.2f}"))
    return [
        Section(
            "speeds",
            "Contact speed by region of the body",
            "Contact speed",
            [
                Words(
                    "Of every touched run, the contact that began with the greatest closing speed of arm and person:"
                    " the person's own speed is in it. `own_speed` in the table is what the arm's motion added."
                ),
                picture(
                    contact_speeds,
                    found,
                    "Median (mark), from the 5th to the 95th of a hundred (line), and the greatest (stroke).",
                ),
                ReportTable(
                    ("region", "law", "runs", "median, m/s", "95 %, m/s", "greatest, m/s"),
                    rows,
                    words=2,
                    caption="Medians and 95 % to 1 cm/s.",
                ),
            ],
        )
    ]


def _work(found: Summary) -> Section:
    rows = []
    for cell in found.cells:
        minutes = found.times[cell.arm, cell.law] / 60.0
        rows.append(
            (
                arm_name(cell.arm),
                cell.law,
                f"{cell.goals / cell.runs:.2f}",
                f"{cell.goals / minutes:.1f}",
                f"{cell.stops:,}",
                f"{cell.stops / minutes:.2f}",
            )
        )
    return Section(
        "work",
        "Throughput and stops",
        "Throughput",
        [
            Words("Goals that the tool reached, and stops that latched until they were reset, 1 s later."),
            ReportTable(("arm", "law", "goals a run", "goals a minute", "stops", "stops a minute"), rows, words=2),
            picture(goals, found, "Runs by the number of goals reached."),
        ],
    )


def _pairs(found: Summary) -> list[Section]:
    if not found.pairs:
        return []
    rows = []
    for pair in found.pairs:
        told = []
        for name in ("touched", "approach"):
            test = discordant(*pair.discordant[name])
            told += [f"{test.only_this:,} / {test.only_other:,}", f"{test.p:.2g}"]
        ratio = goals_ratio(pair.goals)
        more = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})" if np.isfinite(ratio.value) else "-"
        rows.append((arm_name(pair.arm), f"{pair.this} / {pair.other}", f"{pair.scenes:,}", *told, more))
    return [
        Section(
            "pairs",
            "Laws in the same scenes",
            "Laws, paired",
            [
                Words(
                    "Every law met the same people with the same sensor. Scenes in which only the first law was touched"
                    " and those in which only the second was, with McNemar's exact test: how likely a difference as"
                    " large is if both are alike. Goals of the first over those of the second, with the bootstrap's"
                    " bounds at 95 %, scenes drawn anew and pairs kept."
                ),
                ReportTable(
                    ("arm", "laws", "scenes", "touched, only one", "p", "approach, only one", "p", "goals, ratio"),
                    rows,
                    words=2,
                    unbroken=True,
                ),
            ],
        )
    ]


def _parameters(found: Summary, linked: Sequence[Correlation]) -> list[Section]:
    if not found.groups:
        return []
    parts: list[Part] = [
        Words(
            "Method: Spearman's rank correlation of each drawn number with the least distance and with the goals of the"
            f" run, law by law, over {len(found.sample):,} runs; bounds at 95 % by {DRAWS:,} draws of a bootstrap in"
            " which the runs of a scene stay together. Parameters are drawn independently of each other, so that a"
            " correlation is not that of another parameter. It sees what rises or falls throughout, not a least or"
            f" greatest in between. {_by_chance(linked)}"
        )
    ]
    drawn = [each for each in linked if np.isfinite(each.rank.value)]
    if drawn:
        parts.append(
            picture(
                influences,
                drawn,
                "Positive with the least distance: the greater the parameter, the farther apart. Filled marks: 0 is"
                " outside the bounds.",
            )
        )
    rows: list[tuple[str, ...]] = []
    for name, groups in found.groups.items():
        rows.append((f"`{name}`",))
        for k, group in enumerate(groups):
            counts = [found.shares[law, name][k] for law in found.schema.labels["law"]]
            rows.append((group.label, *(percent(int(touched), int(runs)) for runs, touched in counts)))
    parts.append(
        ReportTable(
            ("from ... to below", *found.schema.labels["law"]),
            rows,
            caption="Part of runs touched, by quarters of each parameter's distribution or by its values, with exact"
            " bounds at 95 %.",
        )
    )
    return [Section("parameters", "Which parameters matter", "Parameters", parts)]


def _by_chance(linked: Sequence[Correlation]) -> str:
    count = sum(bool(np.isfinite(each.rank.value)) for each in linked)
    return f"Of {count} intervals at 95 %, about {0.05 * count:.1f} miss 0 by chance alone." if count else ""


def _worst(found: Summary, links: Mapping[int, str], missing: str) -> Section:
    head = ("run", "arm", "least, mm", "at, s", "contact, m/s", "arm's own", "part", "link", "standing")
    rows: list[tuple[str | LinkCell, ...]] = []
    laws, law = found.schema.labels["law"], ""
    for row in sorted(found.worst, key=lambda row: laws.index(str(row["law"]))):  # of each, the least first
        if row["law"] != law:
            law = str(row["law"])
            rows.append((law,))
        run = int(str(row["run"]))
        touched = bool(row["touched"])
        rows.append(
            (
                LinkCell(f"{run} ▶", links[run]) if run in links else f"{run}",
                arm_name(str(row["arm"])),
                f"{1e3 * float(str(row['least'])):.0f}",
                f"{float(str(row['least_at'])):.2f}",
                f"{float(str(row['contact_speed'])):.2f}" if touched else "",
                f"{float(str(row['own_speed'])):.2f}" if touched else "",
                str(row["contact_part"]).replace("_", " "),
                str(row["contact_link"]).replace("_", " "),
                ("yes" if row["standing"] else "no") if touched else "",
            )
        )
    said = f"The {WORST} runs" if len(found.worst) >= WORST else "All runs"
    parts: list[Part] = [
        Words(
            f"{said} with the least distance and with the greatest contact speed, taken by turns from both lists of"
            " every law. A link plays the run: arm and people as they truly were, with the distance over time. It is"
            " the run again from its parameters, the same to the bit on the same machine."
        )
    ]
    if missing:
        parts.append(Note("No links:", missing))
    parts.append(ReportTable(head, rows, words=2, unbroken=True))
    return Section("worst", "The worst runs", "Worst runs", parts)


RERUN = "The table is in `blocks/`, a row a run; `campaign.json` has what is needed to run it again."


def made(manifest: Mapping[str, object], words: str = RERUN) -> Section:
    """Versions and settings."""
    versions = [
        (name, str(manifest[name])) for name in ("elbowroom", "sources", "numpy", "precision") if name in manifest
    ]
    settings = json.dumps(manifest["settings"], indent=1)
    return Section(
        "made",
        "How it was made",
        "How it was made",
        [
            Words(words),
            Definitions(versions),
            Listing(settings, "What each run was drawn from"),
        ],
    )
