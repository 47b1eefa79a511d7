"""HTML reports: a page that needs nothing else, from parts that are data; report.html has how each looks, by Jinja2.

    page(title, [Words("What this is.")], [Section("one", "The first", "First", [ReportTable(head, rows)])], footer)

Figures are inline SVG; there are no scripts, and links lead within the page or to files beside it.  The template
escapes all words, and sets `code` in them as code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .. import __version__
from .figure_style import pyplot

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

WIDTH = 9.6  # in, of a figure on a page
HERE = Path(__file__).parent


class Part(Protocol):
    """A piece of a page."""

    @property
    def kind(self) -> str:
        """The macro of report.html that writes it."""


class Words(NamedTuple):
    """Paragraphs: empty lines part them, and lines that begin with "- " are a list."""

    text: str
    style: str = ""
    kind: str = "words"


class Heading(NamedTuple):
    """Above what follows in a section."""

    text: str
    kind: str = "heading"


class ComparedCell(NamedTuple):
    """A value in a table with, under it, how far it is from another one, and whether that is near enough."""

    text: str
    percent: str
    met: bool | None


class LinkCell(NamedTuple):
    """A value in a table that leads to a file beside the page."""

    text: str
    href: str


class ReportTable(NamedTuple):
    """A table, the first `words` columns being words; a row of one cell is a heading in it.

    `ours` and `our_rows` are the columns and rows to tint; `unbroken` keeps numbers and formulas on one line.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | ComparedCell | LinkCell]]
    words: int = 1
    caption: str = ""
    ours: Collection[int] = ()
    our_rows: Collection[int] = ()
    unbroken: bool = False
    kind: str = "table"


class ListedCheck(NamedTuple):
    """A result that is said in words, and what was found."""

    met: bool
    text: str
    found: str
    wanted: str


class Checks(NamedTuple):
    """Results as a list, each with a sign, words and numbers."""

    checks: Sequence[ListedCheck]
    kind: str = "checks"


class Picture(NamedTuple):
    """A figure: its SVG as `inline_svg` makes it, its name and words, and files that have it."""

    svg: str
    name: str
    caption: str
    files: Sequence[str] = ()
    kind: str = "figure"


class Note(NamedTuple):
    """Something to be noticed: a title with words, or with a list."""

    title: str
    text: str = ""
    listed: Sequence[str] = ()
    kind: str = "note"


class Listing(NamedTuple):
    """A text as it is; one with a title is folded."""

    text: str
    title: str = ""
    kind: str = "listing"


class Definitions(NamedTuple):
    """Names and what is said about them."""

    rows: Sequence[tuple[str, str]]
    kind: str = "pairs"


class Section(NamedTuple):
    """A part of the page: the name that links lead to, its title, what the contents call it, and its parts."""

    anchor: str
    title: str
    short: str
    parts: Sequence[Part]


def page(title: str, introduction: Iterable[Part], sections: Sequence[Section], footer: str) -> str:
    """A whole page with its contents beside it."""
    return _template().render(
        title=title, introduction=list(introduction), sections=sections, footer=footer, version=__version__
    )


@cache
def _template() -> Template:
    import jinja2  # read when a report is written
    from markupsafe import Markup

    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    found.filters |= {"code": lambda words: Markup(_code(words)), "blocks": blocks}
    found.globals["style"] = Markup((HERE / "report.css").read_text(encoding="utf-8"))
    return found.get_template("report.html")


def _code(words: str) -> str:
    """Escaped, with `code` as code."""
    pieces = escape(words).split("`")
    if len(pieces) % 2 == 0:  # a lone backquote is a backquote
        return "`".join(pieces)
    return "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))


def blocks(words: str) -> list[str | list[str]]:
    """The paragraphs of a text; a list is its items."""
    found: list[str | list[str]] = []
    for block in re.split(r"\n\s*\n", words.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if not lines:
            continue
        if lines[0].startswith("- "):
            found.append([" ".join(item.split()) for item in re.split(r"(?:^|\n)- ", "\n".join(lines)) if item])
        else:
            found.append(" ".join(lines))
    return found


_ID = re.compile(r'\bid="([^"]+)"')
_HREF = re.compile(r'\b(?:xlink:)?href="#([^"]+)"')
_URL = re.compile(r"url\(#([^)]+)\)")


def figure_svg(figure: Figure, name: str, label: str) -> str:
    """A figure of matplotlib, as wide as the page, as an element of it; closes the figure."""
    out = StringIO()
    figure.set_figwidth(WIDTH)
    figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot().close(figure)
    return inline_svg(out.getvalue(), f"{name}-", label)


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
