"""The papers' tables and figures as one HTML page that needs nothing else, and the figures as files."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from .. import __version__
from . import accuracy, figures
from .papers import PaperTable, Timings, tables
from .thesis.report import html

JOINTS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60)  # of the error curve
Progress = Callable[[int, int, str], None]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fdfdfc; }
body { margin: 0 auto; max-width: 70rem; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; font-weight: 600; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; font-weight: 600; margin: 2.75rem 0 .25rem; }
p { max-width: 52rem; margin: .4rem 0 .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th { text-align: right; font-weight: 600; border-bottom: 2px solid #444; padding: .3rem .8rem; vertical-align: bottom; }
td { text-align: right; border-bottom: 1px solid #e2e2df; padding: .25rem .8rem; white-space: nowrap; }
td.word, th.word { text-align: left; white-space: normal; min-width: 7.5rem; }
th { white-space: normal; max-width: 9rem; }
tr.ours td { background: #f0f4f8; font-weight: 600; }
th:first-child, td:first-child { padding-left: 0; }
td.ours, th.ours { background: #f0f4f8; }
ul { max-width: 52rem; padding-left: 1.2rem; color: #444; font-size: .92rem; }
li { margin: .35rem 0; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
figcaption, footer { color: #555; font-size: .9rem; }
@media print { body { max-width: none; } h2 { break-after: avoid; } }
"""

INTRODUCTION = (
    "Operation counts of five papers on the dynamics of serial robots, ours beside theirs (tinted). Ours are counted "
    "by running each formulation once on symbols. Counted `shared`: two equal expressions once, products with 0 and 1 "
    "never, work on parameters alone offline; subtractions are additions. Where the papers contradict themselves, the "
    "corrected figure stands here and the remark says what is printed."
)


def write(folder: Path, timings: Timings, *, progress: Progress | None = None) -> list[Path]:
    """Everything into a folder, which is made if it is not there; the paths written, the page first."""
    figures.pyplot()  # say early if matplotlib is missing
    folder.mkdir(parents=True, exist_ok=True)
    found = accuracy.measure(JOINTS, progress=progress)
    if progress is not None:
        progress(0, 2, "counting for the curves")
    operations = figures.operations(folder / "operations")
    errors = figures.errors(folder / "errors", found)
    if progress is not None:
        progress(1, 2, "counting for the tables")
    page = folder / "index.html"
    page.write_text(_page(tables(timings), operations, errors), encoding="utf-8")
    return [page, *operations, *errors]


def _page(found: Sequence[PaperTable], operations: Sequence[Path], errors: Sequence[Path]) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>The papers' tables, by elbowroom {escape(__version__)}</title><style>{STYLE}</style></head><body>",
        "<h1>The papers' tables, ours beside theirs</h1>",
        f"<p>{html.text(INTRODUCTION)}</p>",
        *map(_table, found),
        _figure(
            "Figure 2.9, thesis (001): operations against joints",
            operations,
            "Thick lines are ours, thin lines with rings the published polynomials. CRBA works in link frames and "
            "costs the same on both sides; GDA and GDAHJ start from ready link frames on the left and from the joint "
            "angles on the right.",
        ),
        _figure(
            "Figure 5, GDAHJ paper (002): rounding error against joints",
            errors,
            "Metric (32): the sum of all absolute differences over the largest entry. As in the paper between the two "
            "methods, and each against a sum over the links in extended precision, which shows whose error it is.",
        ),
        f"<footer>elbowroom {escape(__version__)}. The same numbers: elbowroom count; elbowroom count --json.</footer>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _table(table: PaperTable) -> str:
    tinted = _tinted(table.columns)

    def cell(tag: str, k: int, text: str) -> str:
        names = [name for name, wanted in (("word", k < table.words), ("ours", k in tinted)) if wanted]
        attribute = f' class="{" ".join(names)}"' if names else ""
        return f"<{tag}{attribute}>{escape(text)}</{tag}>"

    def line(tag: str, cells: Sequence[str]) -> str:
        whole = ' class="ours"' if any(text.endswith(", ours") for text in cells) else ""
        return f"<tr{whole}>{''.join(cell(tag, k, text) for k, text in enumerate(cells))}</tr>"

    rows = "\n".join(line("td", row) for row in table.rows)
    remarks = "".join(f"<li>{html.text(remark)}</li>" for remark in table.remarks)
    return (
        f"<h2>{escape(table.title)}</h2>\n<p>{html.text(table.caption)}</p>\n"
        f'<div class="scroll"><table><thead>{line("th", table.columns)}</thead>\n<tbody>{rows}</tbody></table></div>\n'
        + (f"<ul>{remarks}</ul>" if remarks else "")
    )


def _tinted(columns: Sequence[str]) -> set[int]:
    """The columns that are ours: those named so, and the unnamed additions right of one."""
    found: set[int] = set()
    for k, name in enumerate(columns):
        if name.startswith("ours") or (name == "add" and k - 1 in found):
            found.add(k)
    return found


def _figure(title: str, files: Sequence[Path], caption: str) -> str:
    vector = next(path for path in files if path.suffix == ".svg")
    data = base64.b64encode(vector.read_bytes()).decode()
    links = ", ".join(f'<a href="{escape(path.name)}">{escape(path.name)}</a>' for path in files)
    return (
        f'<h2>{escape(title)}</h2>\n<figure><img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)} Files: {links}.</figcaption></figure>"
    )
