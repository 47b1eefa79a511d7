"""Reads docstrings as this library writes them, for the API pages.

    gain: float = setting(0.1, "(0, 9] m/s", "k of the profile")    a field: its meaning, unit and bounds are the text
    lower: Array  # (n,) rad or m                                   a field: the comment is the text

Fields and properties of a class become one table below its docstring.  Docstrings are plain text: columns in them keep
their shape, and what Markdown would take for a link, A[i][j], is escaped.  A method that is decorated with
`parameters_of(maker)` is shown with the parameters of the maker, and what the maker says of them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Any

import griffe

MAKERS = {"field", "setting"}
COLUMNS = re.compile(r"[^.\s](?:[^.]{0,28}?[^.\s])? {2,}\S")  # a word or a few, a gap, the rest
POINTER = re.compile(r"\s*;? ?[Ss]ee the module's docstring\.?")


class Fields(griffe.Extension):
    """The extension that mkdocs.yml names."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called for each class, its members known."""
        if cls.docstring is None:
            return
        text = _plain(cls.docstring.value)
        if POINTER.search(text) and cls.module.docstring is not None:
            text = POINTER.sub("", text).rstrip(";. ") + ".\n\n" + _plain(cls.module.docstring.value)
        cls.docstring.value = text + _table(cls)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Called for each function and method."""
        if func.docstring is not None:
            func.docstring.value = _plain(func.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when all is known."""
        for name in ("from_mdh", "from_dh"):
            method, maker = pkg[f"arm.arm.Arm.{name}"], pkg[f"model.dh.{name}"]
            method.parameters = griffe.Parameters(method.parameters["cls"], *maker.parameters)
            method.docstring.value += "\n\n" + maker.docstring.value

    def on_module(self, *, mod: griffe.Module, **_: Any) -> None:
        """Called for each module."""
        if mod.docstring is not None:
            mod.docstring.value = _plain(mod.docstring.value)


def _plain(text: str) -> str:
    """The same for Markdown."""
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def _paragraph(text: str) -> str:
    lines = text.split("\n")
    if lines[0].startswith("    "):
        return text
    if len(lines) > 1 and all(COLUMNS.match(x) or x.startswith("    ") for x in lines):
        return "\n".join("    " + line for line in lines)
    parted = "\n".join(lines)
    parted = re.sub(r"(?m)(^\S.*)\n(?=    )", r"\1\n\n", parted, count=1)  # equations right below a sentence
    return parted.replace("][", "]\\[")


def _table(cls: griffe.Class) -> str:
    """The public fields and properties that have a text, as a table; they are not shown on their own then."""
    comments = _comments(cls)
    rows = []
    for name, member in cls.members.items():
        if name.startswith("_") or not isinstance(member, griffe.Attribute):
            continue
        default, text = _read(member, comments)
        if member.docstring is not None:
            text, member.docstring = " ".join(member.docstring.value.split()), None
        if text:
            rows.append((name, default, text.replace("|", r"\|").replace("][", "]\\[")))
    if not rows:
        return ""
    if any(default for _, default, _ in rows):
        head = "| | default | |\n| --- | --- | --- |\n"
        return "\n\n" + head + "\n".join(f"| `{n}` | {f'`{d}`' if d else ''} | {t} |" for n, d, t in rows)
    return "\n\n| | |\n| --- | --- |\n" + "\n".join(f"| `{name}` | {text} |" for name, _, text in rows)


def _read(attribute: griffe.Attribute, comments: dict[int, str]) -> tuple[str, str]:
    """The default of a field, and what is said of it."""
    text, default = "", "" if attribute.value is None else str(attribute.value)
    called = ast.parse(default, mode="eval").body if default else None
    if isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id in MAKERS:
        named = {word.arg: word.value for word in called.keywords}
        first = called.args[0] if called.args else named.get("default")
        default = "" if first is None else ast.unparse(first)
        if called.func.id == "setting":
            bounds, unit = _allowed(called.args[1])
            text = (
                ast.literal_eval(called.args[2]) + (f" ({unit})" if unit else "") + (f", in {bounds}" if bounds else "")
            )
        elif isinstance(metadata := named.get("metadata"), ast.Dict):
            text = ast.literal_eval(metadata).get("doc", "")
    if "property" in attribute.labels or len(default) > 30 or "dataclass" not in (attribute.parent or attribute).labels:
        default = ""
    for line in range(attribute.lineno or 0, (attribute.endlineno or 0) + 1):
        text = text or comments.get(line, "")
    return default, text


def _allowed(node: ast.expr) -> tuple[str, str]:
    """The interval and the unit of a setting; neither where there are words to choose from."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = (
        part.value if isinstance(part, ast.Constant) else ast.unparse(getattr(part, "value", part)) for part in parts
    )
    found = re.fullmatch(r"([(\[]\S+, .+?[)\]](?= |$))? ?([^(\[].*)?", "".join(map(str, texts)))
    is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    return (found[1] or "", found[2] or "") if found and is_text else ("", "")


def _comments(cls: griffe.Class) -> dict[int, str]:
    """Comments that follow code, by the number of their line."""
    if cls.lineno is None or cls.endlineno is None or isinstance(cls.filepath, list):
        return {}
    source = "\n".join(cls.lines_collection[cls.filepath])
    found = tokenize.generate_tokens(io.StringIO(source + "\n").readline)
    inside = (t for t in found if t.type == tokenize.COMMENT and cls.lineno <= t.start[0] <= cls.endlineno)
    return {t.start[0]: t.string.lstrip("# ") for t in inside if t.line[: t.start[1]].strip()}
