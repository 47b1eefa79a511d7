"""The report: one HTML file that needs nothing else, from whatever runs there are.

    report(outcomes, figures, Path("report.html"), checks=checks, discussion=texts, settings={"gains": toml})

A test that was not run, or failed, is listed as missing with its reason; the rest stands.  The pieces of the page are
those of experiments/html_report.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ... import __version__
from ..html_report import (
    Checks,
    ComparedCell,
    Definitions,
    Heading,
    ListedCheck,
    Listing,
    Note,
    Part,
    Picture,
    ReportTable,
    Section,
    Words,
    inline_svg,
    page,
)
from .checks import Check as Check
from .checks import counted as all_counted
from .checks import variant_words
from .figures import FIGURES, Drawn
from .outcome import IMPROVED, PRINTED, Outcome, Value, find
from .texts import (
    ARMS,
    COMPARED,
    IMPROVEMENTS,
    INTRODUCTION,
    METRICS,
    RECORDED,
    SAFETY,
    SHOWN,
    TESTS,
    TOLERANCE,
    Name,
)

ABSENT = "–"
PLANTS = ("kinematic", "rigid", "mujoco")

Settings = Mapping[str, str | Mapping[str, object]]
"""Title -> a text such as TOML, shown as it is, or names with their values."""


@dataclass(frozen=True)
class _Report:
    """Everything that the sections are made of."""

    outcomes: Sequence[Outcome]
    figures: Mapping[str, Drawn]
    checks: Sequence[Check]
    discussion: Mapping[str, str]
    settings: Settings
    expected: Sequence[int]
    missing: Mapping[str, str]
    robot: str
    plants: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        seen = dict.fromkeys(run.plant for run in self.outcomes)
        order = [plant for plant in PLANTS if plant in seen] + [plant for plant in seen if plant not in PLANTS]
        object.__setattr__(self, "plants", order)

    def runs(self, test: int) -> list[Outcome]:
        """The runs of a test with the main arm."""
        return [run for run in self.outcomes if run.test == test and run.robot == self.robot]


def report(
    outcomes: Iterable[Outcome],
    figures: Mapping[str, Drawn],
    path: Path,
    *,
    checks: Iterable[Check] = (),
    discussion: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    expected: Iterable[int] = tuple(TESTS),
    missing: Mapping[str, str] | None = None,
    robot: str | None = None,
    command: str = "elbowroom experiment all",
) -> Path:
    """Writes the report and returns its path.

    `discussion` has texts by "1" to "7" (a test), "summary", "arms" and "recorded"; empty lines part paragraphs.
    `expected` are the tests that were asked for, `missing` says why something is not there: by "1" to "7" or a name of
    yours.  `robot` is the arm of the tests; others go into a table of their own (the first run's if omitted).
    `command` is the call that makes the same numbers again.
    """
    runs = list(outcomes)
    arm = robot or next((run.robot for run in runs if run.test is not None), runs[0].robot if runs else "")
    whole = _Report(
        runs,
        dict(figures),
        list(checks),
        {str(key): value for key, value in (discussion or {}).items()},
        settings or {},
        list(expected),
        {str(key): value for key, value in (missing or {}).items()},
        arm,
    )
    improved = _improved(whole)
    sections = [_summary(whole), *([] if improved is None else [improved])]
    sections += [_test(whole, test) for test in whole.expected]
    sections += [part for part in (_arms(whole), _recorded(whole), _settings(whole)) if part is not None]
    sections.append(_reproduce(command))
    part = path.with_name(path.name + ".part")  # what could not be written whole does not take the old one's place
    part.write_text(_page(whole, sections), encoding="utf-8")
    part.replace(path)
    return path


def _page(whole: _Report, sections: Sequence[Section]) -> str:
    several = "The seven experiments" if len(whole.expected) == len(TESTS) else "Experiments of the thesis"
    title = several if len(whole.expected) > 1 else "An experiment of the thesis"
    if not whole.expected:
        title = "Recorded people"
    introduction: list[Part] = [
        Words(
            f"elbowroom {__version__}. Arm: {whole.robot or 'none'}. Plants: {', '.join(whole.plants) or 'none'}.",
            "lead",
        ),
        *(Words(words) for words in INTRODUCTION if whole.expected),
        Words(SAFETY, "note"),
        *_absent(whole),
    ]
    return page(title, introduction, sections, f"{SAFETY} elbowroom {__version__}.")


def _absent(whole: _Report) -> list[Part]:
    """What is not in the report, and why."""
    items = [f"Test {test}: {_reason(whole, test)}" for test in whole.expected if not whole.runs(test)]
    known = {str(test) for test in whole.expected if not whole.runs(test)}
    for name, reason in whole.missing.items():
        if name not in known:
            items.append(f"Test {name}: {reason}" if name.isdigit() else f"{name}: {reason}")
    for test in whole.expected:
        there = {run.plant for run in whole.runs(test)}
        lacking = [plant for plant in whole.plants if plant not in there]
        if there and lacking:
            items.append(f"Test {test}: no run on {', '.join(lacking)}.")
    return [Note("This report is not complete.", listed=items)] if items else []


def _reason(whole: _Report, test: int) -> str:
    return whole.missing.get(str(test), "not run.")


def _summary(whole: _Report) -> Section:
    """All of the thesis' numbers in one table, and the checks that do not hold."""
    rows: list[list[str | ComparedCell]] = []
    counted: list[bool] = []
    for test in whole.expected:
        for metric, variant, thesis in _thesis_numbers(whole, test):
            name = METRICS.get(metric, Name(metric, "", 3))
            cells, fitting = [], []
            for plant in whole.plants:
                run = next((r for r in whole.runs(test) if r.variant == variant and r.plant == plant), None)
                value = None if run is None else run.metrics.get(metric)
                cells.append(beside(metric, value, thesis))
                fitting += [met(metric, value, thesis)] if value is not None else []
            if fitting and None not in fitting:
                counted.append(all(fitting))
            tolerance = TOLERANCE.get(metric)
            allowed = "none" if tolerance is None else f"±{100 * tolerance:.0f} %"
            rows.append([f"{test}", name.words, shown(thesis, name), allowed, *cells])
    words = []
    if counted:
        where = "" if len(whole.plants) == 1 else ", on every plant"
        words.append(f"{sum(counted)} of {len(counted)} numbers are within their tolerance of the thesis'{where}.")
    if whole.checks:
        holds, of = all_counted(whole.checks)
        words.append(f"{holds} of {of} results that are said in words hold.")
    parts: list[Part] = [Words(" ".join(words))]
    if rows:
        parts.append(ReportTable(["test", "number", "thesis", "tolerance", *whole.plants], rows, words=2))
    else:
        parts.append(Words("No run here has a number of the thesis to be held against."))
    for title, chosen in (
        ("Results that do not hold", [check for check in whole.checks if not check.met]),
        ("Results across tests", [check for check in whole.checks if check.test is None and check.met]),
    ):
        if chosen:
            parts += [Heading(title), listed_checks(chosen, named=True)]
    parts.append(Words(whole.discussion.get("summary", "")))
    return Section("summary", "Summary", "Summary", parts)


def _improved(whole: _Report) -> Section | None:
    """Tests 1 to 4 as printed, with each improvement by itself, and as improved."""
    rows: list[list[str | ComparedCell]] = []
    names = [METRICS.get(metric, Name(metric, "", 3)) for metric in COMPARED]
    for test in whole.expected:
        runs = [run for run in whole.runs(test) if run.plant == whole.plants[0]]
        found = {variant: find(runs, test, variant) for variant in IMPROVEMENTS}
        if found[PRINTED] is None or found[IMPROVED] is None:
            continue
        rows.append([f"Test {test}"])
        for variant, run in found.items():
            if run is not None:
                values = zip(COMPARED, names, strict=True)
                rows.append([IMPROVEMENTS[variant], *(shown(run.metrics.get(metric), name) for metric, name in values)])
    if not rows:
        return None
    title = "As printed and as improved"
    table = ReportTable(["", *(name.short or name.words for name in names)], rows)
    return Section("improved", title, title, [Words(whole.discussion.get("improved", "")), table])


def _thesis_numbers(whole: _Report, test: int) -> list[tuple[str, str, float]]:
    """(metric, variant, number) of a test's runs, each once; a supervised run is not what the thesis ran."""
    found: dict[tuple[str, str], float] = {}
    for run in whole.runs(test):
        if not run.supervised:
            found |= {(metric, run.variant): number for metric, number in run.thesis.items()}
    return [(metric, variant, number) for (metric, variant), number in found.items()]


def _test(whole: _Report, test: int) -> Section:
    about, runs = TESTS.get(test), whole.runs(test)
    title = f"Test {test}" + ("" if about is None else f": {about.title}")
    short = f"{test}" + ("" if about is None else f". {about.title}")
    parts: list[Part] = []
    if about is not None:
        parts.append(Definitions([("The thesis", about.thesis), ("Here", about.ours)]))
    if not runs:
        parts.append(Note("Missing.", _reason(whole, test)))
        return Section(f"test-{test}", title, short, parts)
    if str(test) in whole.missing:
        parts.append(Note("Not complete.", _reason(whole, test)))
    checks = [check for check in whole.checks if check.test == test]
    if checks:
        parts += [Heading("Results"), listed_checks(checks)]
    parts.append(Words(whole.discussion.get(str(test), "")))
    several = len(whole.plants) > 1
    parts += [_figure(number, drawn, several) for number, drawn in _figures(whole, test)]
    parts += [Heading("Numbers"), _numbers(whole, test)]
    return Section(f"test-{test}", title, short, parts)


def _figures(whole: _Report, test: int) -> list[tuple[str, Drawn]]:
    order = {number: k for k, number in enumerate(FIGURES)}
    mine = [(number, drawn) for number, drawn in whole.figures.items() if drawn.test == test]
    return sorted(mine, key=lambda pair: order.get(pair[0], len(order)))


def _figure(number: str, drawn: Drawn, several: bool) -> Part:
    """The figure and its caption, which names the plant where there are several."""
    name = f"Figure {number}"
    if drawn.svg is None:
        return Note(f"{name} is missing.", drawn.missing or "It was not drawn.")
    prefix = "f" + "".join(c if c.isalnum() else "_" for c in number) + "-"
    plant = f" Plant: {drawn.plant}." if several and drawn.plant else ""
    svg = inline_svg(drawn.svg.read_text(encoding="utf-8"), prefix, f"{name}. {drawn.caption}")
    return Picture(svg, name, drawn.caption + plant)


def _numbers(whole: _Report, test: int) -> ReportTable:
    """The metrics of a test, a block a variant, a column a plant; single improvements have a section of their own."""
    apart = set(IMPROVEMENTS) - {PRINTED, IMPROVED} if find(whole.runs(test), test, IMPROVED) is not None else set()
    runs = [run for run in whole.runs(test) if run.variant not in apart]
    variants = list(dict.fromkeys(run.variant for run in sorted(runs, key=lambda run: run.supervised)))
    rows: list[list[str | ComparedCell]] = []
    for variant in variants:
        mine = {run.plant: run for run in runs if run.variant == variant}
        if len(variants) > 1:
            rows.append([variant_words(variant)])
        for metric in SHOWN.get(test, tuple(METRICS)):
            if not any(metric in run.metrics for run in mine.values()):
                continue
            bare = [run.thesis for run in mine.values() if not run.supervised]
            thesis = next((numbers[metric] for numbers in bare if metric in numbers), None)
            values = [
                beside(metric, mine[p].metrics.get(metric), thesis) if p in mine else ABSENT for p in whole.plants
            ]
            name = METRICS.get(metric, Name(metric, "", 3))
            rows.append([name.words, ABSENT if thesis is None else shown(thesis, name), *values])
    if all(row[1] == ABSENT for row in rows if len(row) > 1):  # nothing to stand beside
        return ReportTable(["", *whole.plants], [row if len(row) == 1 else [row[0], *row[2:]] for row in rows])
    return ReportTable(["", "thesis", *whole.plants], rows)


def _arms(whole: _Report) -> Section | None:
    runs = [run for run in whole.outcomes if run.test is not None and run.robot != whole.robot]
    if not runs:
        return None
    runs.sort(key=lambda run: run.robot)  # stable: within an arm as they were run
    cells = [[run.robot, str(run.test), variant_words(run.variant), run.plant] for run in runs]
    words = "The same tests with other arms. Least distances are to the person."
    return _listed(
        "arms", "Other arms", words, whole, listed_runs(runs, ("arm", "test", "variant", "plant"), cells, ARMS)
    )


def _recorded(whole: _Report) -> Section | None:
    runs = [run for run in whole.outcomes if run.scene is not None]
    if not runs:
        return None
    cells = [[str(run.scene), run.robot, run.variant.replace("_", " "), run.plant] for run in runs]
    words = "Recorded people in the cell. Nothing is tuned for a file."
    found = listed_runs(runs, ("scene", "arm", "variant", "plant"), cells, RECORDED)
    return _listed("recorded", "Recorded people", words, whole, found)


def _listed(anchor: str, title: str, words: str, whole: _Report, found: ReportTable) -> Section:
    return Section(anchor, title, title, [Words(words), found, Words(whole.discussion.get(anchor, ""))])


def _settings(whole: _Report) -> Section | None:
    if not whole.settings:
        return None
    parts: list[Part] = []
    for title, values in whole.settings.items():
        if isinstance(values, str):
            parts.append(Listing(values, title))
        else:
            rows = [[name, str(value)] for name, value in values.items()]
            parts += [Heading(title), ReportTable(["setting", "value"], rows, words=2)]
    return Section("settings", "Settings", "Settings", parts)


def _reproduce(command: str) -> Section:
    words = "Nothing is left to chance: the same version on the same machine gives the same numbers."
    return Section("reproduce", "How to reproduce", "How to reproduce", [Words(words), Listing(command)])


# ---- values with units, and how far they are from the thesis'


def shown(value: Value, name: Name) -> str:
    """A value with its unit."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {part:.3g}" for key, part in value.items())
    if isinstance(value, list):
        return " · ".join(_number(part, name) for part in value) + (f" {name.unit}" if name.unit else "")
    if isinstance(value, str):
        return value
    gap = "" if name.unit in ("", "°") else "\u00a0"
    return f"{_number(value, name)}{gap}{name.unit}"


def _number(value: float, name: Name) -> str:
    return (f"{value:.{name.decimals}f}" if name.decimals else f"{value:g}").replace("-", "−")


def deviation(value: Value, thesis: float) -> float | None:
    """How far a value is from the thesis', as a part of it."""
    if isinstance(value, int | float) and not isinstance(value, bool) and thesis:
        return (value - thesis) / thesis
    return None


def met(metric: str, value: Value, thesis: float) -> bool | None:
    """Whether a value is within the tolerance of the thesis'; None where there is none."""
    tolerance = TOLERANCE.get(metric)
    if tolerance is None:
        return None
    off = deviation(value, thesis)
    return off is not None and abs(off) <= tolerance


def beside(metric: str, value: Value, thesis: float | None) -> str | ComparedCell:
    """A value, and under it how far it is from the thesis'."""
    cell = shown(value, METRICS.get(metric, Name(metric, "", 3)))
    off = None if thesis is None else deviation(value, thesis)
    if thesis is None or off is None:
        return cell
    return ComparedCell(cell, f"{100 * off:+.0f} %".replace("-", "−"), met(metric, value, thesis))


def listed_checks(checks: Iterable[Check], *, named: bool = False) -> Checks:
    """The checks as a list; `named`, with their tests."""
    found = []
    for check in checks:
        where = f"Test {check.test}: " if named and check.test is not None else ""
        value = f"{check.value:.4g}" if isinstance(check.value, float) else str(check.value)
        found.append(ListedCheck(check.met, where + check.text, value, check.wanted))
    return Checks(found)


def listed_runs(
    runs: Sequence[Outcome], first: Sequence[str], cells: Sequence[Sequence[str]], metrics: Sequence[str]
) -> ReportTable:
    """A row a run: its names, then these metrics.  A name that all rows share stands above the table instead."""
    kept = [metric for metric in metrics if any(run.metrics.get(metric) is not None for run in runs)]
    shared = [k for k in range(1, len(first)) if len({names[k] for names in cells}) == 1]
    apart = [k for k in range(len(first)) if k not in shared]
    rows = [
        [*(names[k] for k in apart), *(shown(run.metrics.get(metric), METRICS[metric]) for metric in kept)]
        for run, names in zip(runs, cells, strict=True)
    ]
    head = [*(first[k] for k in apart), *(METRICS[metric].short or METRICS[metric].words for metric in kept)]
    caption = ", ".join(f"{first[k]}: {cells[0][k]}" for k in shared)
    return ReportTable(head, rows, words=len(apart), caption=caption)
