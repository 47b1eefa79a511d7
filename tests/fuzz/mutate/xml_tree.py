"""XML as a tree: elements and attributes removed, doubled, moved, renamed, nested; numbers in attributes changed."""

from __future__ import annotations

import copy
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

import numpy as np

from .numbers import NUMBER, one_number
from .text import encode, raw, some, strange, words

Rng = np.random.Generator


def parse(data: bytes) -> Element:
    """The tree of a sound text."""
    return ET.fromstring(data)


def text_of(root: Element) -> bytes:
    """The tree as UTF-8; what XML has no text for stands there as it is, and will be refused."""
    return encode(ET.tostring(root, encoding="unicode"))


def mutated(rng: Rng, root: Element, wild: float = 0.4) -> bytes:
    """A tree after some changes, as text; one in ten of these is changed as text too."""
    root = copy.deepcopy(root)
    for _ in range(some(rng)):
        change(rng, root, wild)
    data = text_of(root)
    if rng.random() < 0.1:
        data = raw(rng, data) if rng.random() < 0.5 else words(rng, data)
    return data


def change(rng: Rng, root: Element, wild: float) -> None:
    """One change to a tree, in place."""
    how = rng.random()
    if how < 0.5:
        _number(rng, root, wild)
    elif how < 0.6:
        _rename(rng, root)
    elif how < 0.75:
        _attribute(rng, root, wild)
    else:
        _element(rng, root)


def _pick(rng: Rng, root: Element) -> Element:
    found = list(root.iter())
    return found[rng.integers(len(found))]


def _number(rng: Rng, root: Element, wild: float) -> None:
    found = [(e, key) for e in root.iter() for key, value in e.attrib.items() if NUMBER.search(value)]
    texts = [e for e in root.iter() if e.text and NUMBER.search(e.text)]
    k = int(rng.integers(len(found) + len(texts))) if found or texts else -1
    if 0 <= k < len(found):
        element, key = found[k]
        element.set(key, one_number(rng, element.attrib[key], wild))
    elif k >= 0:
        element = texts[k - len(found)]
        element.text = one_number(rng, element.text or "", wild)


def _rename(rng: Rng, root: Element) -> None:
    """A name changed wherever it stands, so that what refers to it still does."""
    names = sorted({e.attrib[key] for e in root.iter() for key in ("name", "id") if key in e.attrib})
    if not names:
        return
    old = names[rng.integers(len(names))]
    new = strange(rng) if rng.random() < 0.7 else names[rng.integers(len(names))]
    for element in root.iter():
        for key, value in element.attrib.items():
            if value == old:
                element.set(key, new)


def _attribute(rng: Rng, root: Element, wild: float) -> None:
    found = [e for e in root.iter() if e.attrib]
    if not found:
        return
    one, other = (found[rng.integers(len(found))] for _ in range(2))
    key, foreign = (str(rng.choice(sorted(e.attrib))) for e in (one, other))
    how = rng.integers(6)
    if how == 0:
        del one.attrib[key]
    elif how == 1:
        one.set(key, strange(rng))
    elif how == 2:
        one.set(foreign, other.attrib[foreign])
    elif how == 3:
        one.set(key, other.attrib[foreign])
    elif how == 4:
        one.set(key + ("x" if rng.random() < 0.5 else "X"), one.attrib.pop(key))
    else:
        one.set(key, " ".join([one.attrib[key]] * int(rng.choice([2, 3, 50]))))


def _element(rng: Rng, root: Element) -> None:
    parents = {child: parent for parent in root.iter() for child in parent}
    if not parents:
        return
    children = list(parents)
    one, other = (children[rng.integers(len(children))] for _ in range(2))
    parent = parents[one]
    how = rng.integers(9)
    if how == 0:
        parent.remove(one)
    elif how == 1:
        parent.insert(int(rng.integers(len(parent) + 1)), copy.deepcopy(one))
    elif how == 2:
        _pick(rng, root).append(copy.deepcopy(one))
    elif how == 3:
        one.tag = other.tag
    elif how == 4:
        order = list(parent)
        rng.shuffle(order)  # type: ignore[arg-type]
        parent[:] = order
    elif how == 5:
        one[:] = [copy.deepcopy(child) for child in other]
    elif how == 6:  # deep; copies of such trees take Python's stack
        inner = one
        for _ in range(int(rng.choice([1, 5, 70]))):
            inner = ET.SubElement(inner, one.tag)
    elif how == 7:  # many
        for k in range(int(rng.choice([2, 5, 30]))):
            again = copy.deepcopy(one)
            if "name" in again.attrib and rng.random() < 0.7:
                again.set("name", f"{again.attrib['name']}{k}")
            parent.append(again)
    else:
        one.text = strange(rng)
