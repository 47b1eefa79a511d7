"""XML that others can read: names that are legal and different, numbers to the last digit, comments that stay comments.

Names come from files and may hold anything.  ElementTree escapes what has a meaning in XML; here goes what XML cannot
hold at all (control characters, lone surrogates), what is empty, and what is there twice.  The text is ASCII, with
character references for all else, so that no terminal and no default encoding can spoil it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Comment, Element, indent, tostring

import numpy as np
from numpy.typing import ArrayLike

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not a Char of XML 1.0


class Export(NamedTuple):
    """A file's text, and what a reader of it should know: what the format cannot hold, and what was changed for it."""

    text: str
    notes: tuple[str, ...]


def numbers(values: ArrayLike) -> str:
    """The numbers in a row, each with the fewest digits that give it back exactly."""
    return " ".join(repr(float(v) + 0.0).removesuffix(".0") for v in np.ravel(values))


def names(wanted: Iterable[str], what: str, taken: set[str], notes: list[str]) -> list[str]:
    """The wanted names, changed where XML or a reader could not take them; `taken` grows, `notes` tell."""
    found = []
    for k, name in enumerate(wanted):
        legal = _ILLEGAL.sub("_", name) or f"{what}{k + 1}"
        given, count = legal, 1
        while given in taken:
            count += 1
            given = f"{legal}_{count}"
        taken.add(given)
        found.append(given)
        if given != name:
            notes.append(f"{what} {name!r} is named {given!r} here")
    return found


def name_of_ours(wanted: str, taken: set[str]) -> str:
    """A name for a part that the model has no name for."""
    return names([wanted], "", taken, [])[0]


def element(tag: str, **attributes: ArrayLike | None) -> Element:
    """An element; attributes that are None are left out, numbers are written out."""
    found = Element(tag)
    for key, value in attributes.items():
        if value is not None:
            found.set(key, value if isinstance(value, str) else numbers(value))
    return found


def add(parent: Element, tag: str, **attributes: ArrayLike | None) -> Element:
    """A new element at the end of `parent`."""
    found = element(tag, **attributes)
    parent.append(found)
    return found


def document(root: Element, notes: Iterable[str]) -> str:
    """The whole text, the notes as comments at its top."""
    for k, note in enumerate(notes):
        root.insert(k, Comment(f" {_quiet(note)} "))
    indent(root)
    return '<?xml version="1.0"?>\n' + tostring(root, encoding="us-ascii").decode("ascii") + "\n"


def _quiet(note: str) -> str:
    """Text that does not end the comment that it stands in."""
    return re.sub("-(?=-)", "- ", _ILLEGAL.sub("_", " ".join(note.split())))
