"""HTML reports: one style sheet, and the pieces of a page that needs nothing else.

    page(title, introduction, [Section("one", "The first", "First", table(head, rows))], footer)

Figures are inline SVG; there are no scripts and no links that lead elsewhere.  Words that come from files are escaped
by `text` and `paragraphs`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from .. import __version__

STYLE = """
:root { --ink: #23211e; --soft: #5d5952; --line: #dedad2; --tint: #f4f1ea; --page: #fff; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; color: var(--ink); margin: 0;
  background: var(--page); display: grid; grid-template-columns: 13rem minmax(0, 52rem); gap: 3rem;
  justify-content: center; padding: 2.5rem 2rem 5rem; }
nav { position: sticky; top: 2.5rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto;
  font-size: .84rem; line-height: 1.35; }
nav ol { list-style: none; margin: 0; padding: 0; border-left: 1px solid var(--line); }
nav li { margin: 0; padding: .22rem 0 .22rem .9rem; }
nav a { color: var(--soft); text-decoration: none; }
nav a:hover, nav a:focus { color: var(--ink); text-decoration: underline; }
nav b { display: block; font-size: .75rem; font-weight: 600; margin: 0 0 .5rem .9rem; color: var(--soft); }
h1 { font-size: 1.9rem; font-weight: 600; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; font-weight: 600; margin: 3.6rem 0 .6rem; padding-top: 1.1rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; font-weight: 600; margin: 1.8rem 0 .3rem; }
p { margin: .5rem 0 .9rem; max-width: 44rem; }
.lead { color: var(--soft); margin-top: 0; }
.note { border-left: 3px solid var(--ink); background: var(--tint); padding: .6rem .9rem; margin: 1rem 0;
  max-width: 44rem; }
.note ul { margin: .3rem 0 0; padding-left: 1.1rem; }
dl.two { margin: .6rem 0 1.2rem; display: grid; grid-template-columns: 6.5rem 1fr; gap: .4rem 1rem; max-width: 46rem; }
dl.two dt { color: var(--soft); }
dl.two dd { margin: 0; }
.scroll { overflow-x: auto; margin: .6rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .87rem; line-height: 1.4; min-width: 60%;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .35rem; }
th, td { padding: .3rem 1.1rem .3rem 0; vertical-align: top; text-align: right; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
thead th { border-bottom: 1.5px solid var(--ink); vertical-align: bottom; }
tr.group th { text-align: left; padding-top: .8rem; background: none; }
.word { text-align: left; }
.ours { background: var(--tint); }
tr.ours td { font-weight: 600; }
table.unbroken td:not(.word) { white-space: nowrap; }
table.unbroken :is(th, td) { padding: .3rem .5rem; }
body:has(table.unbroken) { grid-template-columns: 12rem minmax(0, 72rem); gap: 2rem; }
th:last-child, td:last-child { padding-right: .2rem; }
small { display: block; color: var(--soft); font-size: .92em; white-space: nowrap; }
.unmet { font-weight: 600; color: #8c2f14; }
.met { color: #23563a; }
ul.checks { list-style: none; padding: 0; margin: .4rem 0 1.2rem; max-width: 48rem; }
ul.checks li { padding: .35rem 0 .35rem 1.7rem; border-bottom: 1px solid var(--line); position: relative; }
ul.checks li > b { position: absolute; left: 0; }
ul.checks small { white-space: normal; }
figure { margin: 1.3rem 0 1.6rem; break-inside: avoid; }
figure svg { width: 100%; height: auto; display: block; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { color: var(--soft); font-size: .87rem; margin-top: .3rem; }
figcaption b { color: var(--ink); font-weight: 600; }
pre, code { font: .85rem/1.5 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
pre { background: var(--tint); padding: .8rem 1rem; overflow-x: auto; }
details { margin: .5rem 0; }
summary { cursor: pointer; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .87rem; }
@media (max-width: 64rem) {
  body { display: block; max-width: 54rem; margin: 0 auto; padding: 1.25rem 1.1rem 4rem; }
  nav { position: static; max-height: none; margin-bottom: 2rem; }
  nav ol { columns: 2; border: 0; }
}
@page { margin: 16mm 15mm; }
@media print {
  body { display: block; background: #fff; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  h2, h3 { break-after: avoid; }
  h2 { margin-top: 2rem; }
  tr, .note, ul.checks li { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; }
  figure svg { max-height: 9cm; }
  table { font-size: 8.5pt; }
}
"""


class Section(NamedTuple):
    """A part of the page: the name that links lead to, its title, what the contents call it, and its HTML."""

    anchor: str
    title: str
    short: str
    html: str


def page(title: str, introduction: str, sections: Sequence[Section], footer: str) -> str:
    """A whole page with its contents beside it; introduction and footer are ready HTML."""
    links = "".join(f'<li><a href="#{part.anchor}">{escape(part.short)}</a></li>' for part in sections)
    body = "\n".join(
        f'<section id="{part.anchor}"><h2>{escape(part.title)}</h2>\n{part.html}</section>' for part in sections
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}, by elbowroom {escape(__version__)}</title><style>{STYLE}</style></head><body>",
            f'<nav aria-label="Contents"><b>Contents</b><ol>{links}</ol></nav>',
            f"<main><h1>{escape(title)}</h1>",
            introduction,
            body,
            f"<footer>{footer}</footer>",
            "</main></body></html>",
            "",
        ]
    )


def text(words: object) -> str:
    """Escaped, with `code` as code."""
    pieces = escape(str(words)).split("`")
    if len(pieces) % 2 == 0:  # a lone backquote is a backquote
        return "`".join(pieces)
    return "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))


def paragraphs(words: str) -> str:
    """Escaped; empty lines part paragraphs, and lines that begin with "- " are a list."""
    blocks = [block.strip() for block in re.split(r"\n\s*\n", words.strip()) if block.strip()]
    return "\n".join(map(_block, blocks))


def _block(block: str) -> str:
    lines = [line.strip() for line in block.splitlines()]
    if not lines[0].startswith("- "):
        return f"<p>{text(' '.join(lines))}</p>"
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(line[2:])
        else:
            items[-1] += f" {line}"
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    caption: str = "",
    ours: Collection[int] = (),
    our_rows: Collection[int] = (),
    unbroken: bool = False,
) -> str:
    """A table of ready HTML cells, the first `words` columns being words; a row of one cell is a heading in it.

    `ours` and `our_rows` are the columns and rows to tint; `unbroken` keeps numbers and formulas on one line.
    """

    def cell(tag: str, k: int, content: str) -> str:
        names = [name for name, wanted in (("word", k < words), ("ours", k in ours)) if wanted]
        return f"<{tag}{_classes(names)}>{content}</{tag}>"

    def line(tag: str, cells: Sequence[str], *, tinted: bool = False) -> str:
        if len(cells) == 1 < len(head):
            return f'<tr class="group"><th colspan="{len(head)}" scope="rowgroup">{cells[0]}</th></tr>'
        inner = "".join(cell(tag, k, content) for k, content in enumerate(cells))
        return f"<tr{_classes(['ours'] if tinted else [])}>{inner}</tr>"

    body = "\n".join(line("td", row, tinted=k in our_rows) for k, row in enumerate(rows))
    top = f"<caption>{caption}</caption>" if caption else ""
    whole = f"<table{_classes(['unbroken'] if unbroken else [])}>{top}<thead>{line('th', head)}</thead>"
    return f'<div class="scroll">{whole}\n<tbody>{body}</tbody></table></div>'


def _classes(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def verdict(met: bool | None) -> str:
    """A sign and words: never colour alone."""
    if met is None:
        return "no tolerance"
    return '<span class="met">✓ met</span>' if met else '<span class="unmet">✗ not met</span>'


def figure(svg: Path, prefix: str, label: str, caption: str) -> str:
    """A figure in its SVG file, with a caption of ready HTML; `prefix` goes before the ids in the file."""
    picture = inline_svg(svg.read_text(encoding="utf-8"), prefix, label)
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


_ID = re.compile(r'\bid="([^"]+)"')
_HREF = re.compile(r'\b(?:xlink:)?href="#([^"]+)"')
_URL = re.compile(r"url\(#([^)]+)\)")


def inline_svg(source: str, prefix: str, label: str) -> str:
    """An SVG file of matplotlib as an element of the page; its ids get a prefix, so that figures do not share them."""
    start = source.find("<svg")
    if start < 0:
        raise ValueError(f"{label}: no <svg> element in the file")
    body = re.sub(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE.*?>", "", source[start:], flags=re.DOTALL)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"\s+", " ", body).replace("> <", "><")
    head, _, rest = body.partition(">")
    box = re.search(r'viewBox="([^"]*)"', head)
    shape = f' viewBox="{escape(box.group(1))}"' if box else ""
    rest = _ID.sub(rf'id="{prefix}\1"', rest)
    rest = _HREF.sub(rf'href="#{prefix}\1"', rest)
    rest = _URL.sub(rf"url(#{prefix}\1)", rest)
    return f'<svg role="img" aria-label="{escape(label)}"{shape}>{rest}'
