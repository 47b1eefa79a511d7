"""The report of a search: how it went, what random runs have in as many evaluations, and its finds.

write(folder, found(folder), links)        DIR/report.html; `links` lead from runs to pages that play them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from ...errors import ElbowroomError
from ...experiments.figure_style import look, panels
from ...experiments.html_report import Definitions, LinkCell, Part, ReportTable, Section, Words, figure_svg
from ...experiments.html_report import page as html_page
from ..draws import parameters_from
from ..finds import Find
from ..runs import Rows, Schema
from ..search import LEAST, OBJECTIVES, costs, is_search, searched, setting, worst
from ..settings import Campaign
from ..store import campaign_of, each_rows, read_manifest, read_schema
from .figures import LINES, arm_name
from .sections import FOOTER, made, picture, save

Array = NDArray[np.float64]
FINDS = 20
SHOWN = 8  # rows of the table of progress
COMMON = 12  # parameters that finds have in common
TAIL = 0.02  # of the evaluations: those whose parameters are looked at
METRICS = ("run", "seed", "touched", "approach", "standing", "least", "contact_speed", "own_speed")
WORDS = dict(
    zip(OBJECTIVES, ("the least distance", "the greatest contact speed", "the arm's own part of it"), strict=True)
)


@dataclass
class SearchSummary:
    """What a search found."""

    campaign: Campaign
    schema: Schema
    asked: int  # evaluations
    rows: Rows  # all of them, `METRICS`
    finds: Rows  # whole rows
    tail: dict[str, float]  # by parameter: the median of the worst, as the part of its distribution below it
    beside: Rows | None = None  # random runs, `METRICS`
    beside_name: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def objective(self) -> str:
        """What was sought."""
        return str(setting(self.campaign, "objective"))


def found(
    folder: str | Path, beside: str | Path | None = None, check: Callable[[], object] | None = None
) -> SearchSummary:
    """Reads the table of a search, and of a campaign of random runs to be set beside it."""
    folder = Path(folder)
    campaign, columns = campaign_of(folder), read_schema(folder)
    if not is_search(campaign):
        raise ElbowroomError(f"{folder}: expected the folder of a search; it holds a campaign of random runs")
    finds = worst(folder, campaign, FINDS, check)
    names = [name for name in searched(campaign) if name not in columns.labels]
    whole = [repack_fields(rows[[*METRICS, *names]]) for rows in each_rows(folder)]
    rows = np.concatenate(whole)
    cost = costs(rows, str(setting(campaign, "objective")))
    some = rows[np.argsort(cost, kind="stable")[: max(FINDS, round(TAIL * len(rows)))]]
    tail = {name: _below(rows, some, name) for name in names}
    asked = int(read_manifest(folder)["runs"])
    summary = SearchSummary(campaign, columns, asked, repack_fields(rows[list(METRICS)]), finds, tail)
    if beside is not None:
        summary.beside, summary.beside_name = _random(Path(beside), campaign, len(rows)), Path(beside).name
        if len(summary.beside) < len(rows):
            summary.notes.append(
                f"{beside} has {len(summary.beside):,} runs of this arm and law; the search has {len(rows):,}."
            )
    return summary


def _below(rows: Rows, some: Rows, name: str) -> float:
    """The median of a parameter in some runs, as the part of the first generations below it."""
    if name.startswith("person"):
        return float(np.median(some[name]))  # is that already
    first = rows[name][: max(64, len(rows) // 16)]
    middle = np.median(some[name])
    return float(np.mean(first < middle) + 0.5 * np.mean(first == middle))


def _random(folder: Path, campaign: Campaign, count: int) -> Rows:
    """The first runs of a campaign with the arm and the law of a search."""
    other, labels = campaign_of(folder), read_schema(folder).labels
    if is_search(other):
        raise ElbowroomError(f"{folder}: expected the folder of a campaign of random runs; it holds a search")
    arm, law = (str(campaign.draws[name].probes[0]) for name in ("arm", "law"))
    if arm not in labels["arm"] or law not in labels["law"]:
        raise ElbowroomError(f"{folder}: expected runs of {arm} under {law}; it has none")
    codes, kept = (labels["arm"].index(arm), labels["law"].index(law)), list[Rows]()
    for rows in each_rows(folder):
        mine = rows[(rows["arm"] == codes[0]) & (rows["law"] == codes[1])]
        kept.append(repack_fields(mine[list(METRICS)]))
    if not sum(map(len, kept)):
        raise ElbowroomError(f"{folder}: no run is complete there")
    return np.concatenate(kept)[:count]


def finds(summary: SearchSummary) -> list[Find]:
    """The finds with all that they depend on."""
    return [
        Find(
            parameters_from(summary.campaign, row, summary.schema.labels),
            float(row["least"]),
            bool(row["approach"]),
            _title(row),
        )
        for row in summary.finds
    ]


def _title(row: np.void) -> str:
    speed = (
        f", contact at {row['contact_speed']:.2f} m/s, {row['own_speed']:.2f} of it the arm's" if row["touched"] else ""
    )
    return f"run {int(row['run'])}: least distance {1e3 * row['least']:.0f} mm{speed}"


# ---- the page


def write(
    folder: str | Path, summary: SearchSummary, links: Mapping[int, str] | None = None, missing: str = ""
) -> Path:
    """Writes DIR/report.html; `missing` says why finds have no links."""
    return save(Path(folder), page(summary, read_manifest(Path(folder)), links or {}, missing))


def page(summary: SearchSummary, manifest: Mapping[str, object], links: Mapping[int, str], missing: str = "") -> str:
    """The page."""
    campaign = summary.campaign
    arm, law = (str(campaign.draws[name].probes[0]) for name in ("arm", "law"))
    introduction: list[Part] = [
        Words(f"{len(summary.rows):,} encounters of a search for the worst: {WORDS[summary.objective]}.", "lead"),
        Definitions(
            [
                ("arm", arm_name(arm)),
                ("law", law),
                ("searched", f"{len(searched(campaign))} parameters: what each person does, and what the file draws"),
                (
                    "method",
                    f"CMA-ES, {setting(campaign, 'islands')} at a time, {setting(campaign, 'population')} runs a turn",
                ),
                ("seed", f"{campaign.seed}"),
            ]
        ),
        Words(
            "These runs are not drawn at random: how often something happens among them says nothing of how often it"
            " happens. Each could be drawn: all parameters are within the campaign's bounds, limb speed among them."
        ),
    ]
    sections = [_progress(summary), *_beside(summary), _finds(summary, links, missing), _common(summary)]
    sections.append(
        made(manifest, "The table is in `blocks/`, a row a run; `finds.toml` has the finds with all they depend on.")
    )
    return html_page(campaign.title or "Search", introduction, sections, FOOTER)


def _progress(summary: SearchSummary) -> Section:
    rows = summary.rows
    edges = np.linspace(0, len(rows), min(SHOWN, max(1, len(rows) // 64)) + 1).astype(int)
    table = []
    for first, last in pairwise(edges.tolist()):
        part = rows[first:last]
        table.append(
            (
                f"{first:,} to {last - 1:,}",
                f"{1e3 * float(rows['least'][:last].min()):.0f}",
                f"{1e3 * float(np.median(part['least'])):.0f}",
                _greatest(rows[:last]),
                f"{100 * part['touched'].mean():.1f} %",
                f"{int(part['approach'].sum())}",
            )
        )
    return Section(
        "progress",
        "How the search went",
        "Progress",
        [
            picture(
                _curves,
                summary,
                "The least distance so far, by the number of evaluations; random runs beside it where there are any.",
            ),
            ReportTable(
                (
                    "evaluations",
                    "least so far, mm",
                    "median, mm",
                    "fastest contact so far, m/s",
                    "touched",
                    "approach contacts",
                ),
                table,
            ),
        ],
    )


def _greatest(rows: Rows) -> str:
    speeds = rows["contact_speed"][rows["touched"]]
    return f"{float(speeds.max()):.2f}" if len(speeds) else "-"


def _curves(summary: SearchSummary) -> str:
    with look():
        figure, axes = panels(1, 1, 2.6)
        for k, (rows, label) in enumerate(((summary.rows, "search"), (summary.beside, "random runs"))):
            if rows is not None:
                best = np.minimum.accumulate(rows["least"])
                axes[0].step(np.arange(1, len(best) + 1), best, where="post", label=label, **LINES[k])
        axes[0].axhline(0.0, color="#999999", linewidth=0.8)
        axes[0].set_xscale("log")
        axes[0].set_xlabel("evaluations")
        axes[0].set_ylabel("least distance so far, m")
        if summary.beside is not None:
            axes[0].legend(fontsize=9)
        return figure_svg(figure, "progress", "least distance so far by the number of evaluations")


PARTS = {"least": 0.0, "0.1 %": 0.001, "1 %": 0.01, "5 %": 0.05, "median": 0.5}


def quantiles(rows: Rows) -> dict[str, float]:
    """m, least distances below which a part of the runs is."""
    return {name: float(np.quantile(rows["least"], part)) for name, part in PARTS.items()}


def _beside(summary: SearchSummary) -> list[Section]:
    if summary.beside is None:
        return []
    count = min(len(summary.beside), len(summary.rows))
    lines = []
    for name, rows in (("search", summary.rows[:count]), ("random", summary.beside[:count])):
        numbers = [f"{1e3 * value:.0f}" for value in quantiles(rows).values()]
        own = rows["own_speed"][rows["touched"]]
        lines.append(
            (
                name,
                f"{count:,}",
                *numbers,
                _greatest(rows),
                f"{float(own.max()):.2f}" if len(own) else "-",
                f"{int(rows['touched'].sum()):,}",
                f"{int(rows['approach'].sum()):,}",
            )
        )
    head = ("runs", "number", *PARTS, "fastest contact", "arm's own", "touched", "approach")
    parts: list[Part] = [
        ReportTable(
            head,
            lines,
            caption="Least distance, mm, below which a part of the runs was, and the greatest speeds of contacts, m/s;"
            " as many evaluations of both.",
        )
    ]
    parts += [Words(note) for note in summary.notes]
    return [Section("beside", f"Beside random runs ({summary.beside_name})", "Beside random", parts)]


def _finds(summary: SearchSummary, links: Mapping[int, str], missing: str) -> Section:
    head = ("run", "least, mm", "at, s", "contact, m/s", "arm's own", "part", "link", "standing", "approach")
    rows: list[tuple[str | LinkCell, ...]] = []
    labels = summary.schema.labels
    for row in summary.finds:
        run, touched = int(row["run"]), bool(row["touched"])
        rows.append(
            (
                LinkCell(f"{run} ▶", links[run]) if run in links else f"{run}",
                f"{1e3 * float(row['least']):.0f}",
                f"{float(row['least_at']):.2f}",
                f"{float(row['contact_speed']):.2f}" if touched else "",
                f"{float(row['own_speed']):.2f}" if touched else "",
                labels["contact_part"][int(row["contact_part"])].replace("_", " ") if touched else "",
                labels["contact_link"][int(row["contact_link"])].replace("_", " ") if touched else "",
                ("yes" if row["standing"] else "no") if touched else "",
                ("yes" if row["approach"] else "no") if touched else "",
            )
        )
    words = "The worst runs, at most a quarter of them in one scene. A link plays the run."
    parts: list[Part] = [Words(words + (f" No links: {missing}." if missing else ""))]
    return Section("finds", "Finds", "Finds", [*parts, ReportTable(head, rows, words=1, unbroken=True)])


def _common(summary: SearchSummary) -> Section:
    far = sorted(summary.tail.items(), key=lambda item: -abs(item[1] - 0.5))[:COMMON]
    rows = [(f"`{name}`", f"{part:.2f}") for name, part in far]
    return Section(
        "common",
        "What the worst have in common",
        "In common",
        [
            Words(
                f"Of the worst {100 * TAIL:.0f} % of the runs, the median of each parameter, as the part of its"
                f" distribution that lies below: of random runs it is 0.5. The farthest from it, {COMMON} of"
                f" {len(summary.tail)}; ends of distributions beyond {LEAST:g} are not searched."
            ),
            ReportTable(("parameter", "median, part of its distribution"), rows),
        ],
    )
