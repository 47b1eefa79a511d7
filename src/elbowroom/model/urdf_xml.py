"""The XML of a URDF: read without DTD, entities or anything external, capped in size, depth and number of elements.

Also the numbers in its attributes, each refused by the name of its link or joint, its element and its attribute.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from ..errors import ModelError
from ..reading import decimal
from .check import ANGLE, LENGTH, bounded
from .model import Array
from .rotations import pose, rpy

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_ELEMENTS = 200_000


def origin(element: Element, owner: str) -> Array:
    """The pose (4, 4) in an element's <origin>; the identity where there is none."""
    at = part(element, "origin", owner)
    if "quat_xyzw" in at.attrib:
        raise ModelError(f"{owner}: quat_xyzw of <origin> is not supported; expected rpy")
    angles, place = vector(at, "rpy", owner), vector(at, "xyz", owner)
    bounded(angles, ANGLE, f"{owner}: rpy of <origin>")
    bounded(place, LENGTH, f"{owner}: xyz of <origin>")
    return pose(rpy(*angles), place)


def part(element: Element, tag: str, owner: str) -> Element:
    """The child element, an empty one where there is none."""
    found = only(element, tag, owner)
    return Element(tag) if found is None else found


def only(element: Element, tag: str, owner: str) -> Element | None:
    """The child element, None where there is none.  Of two, a reader could only guess which one is meant."""
    found = element.findall(tag)
    if len(found) > 1:
        raise ModelError(f"{owner}: <{element.tag}> must have one <{tag}> at most; got {len(found)}")
    return found[0] if found else None


def number(element: Element, key: str, owner: str, default: float | None = None) -> float:
    """The finite number in an attribute, or the default where it is missing."""
    return numbers(element, key, owner, 1, None if default is None else (default,))[0]


def vector(element: Element, key: str, owner: str, default: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """The three finite numbers in an attribute, or the default where it is missing."""
    return np.array(numbers(element, key, owner, 3, default))


def numbers(element: Element, key: str, owner: str, n: int, default: Sequence[float] | None) -> Sequence[float]:
    """The n finite numbers in an attribute, or the default where it is missing."""
    text = element.get(key)
    if text is None and default is not None:
        return default
    values = [math.nan if value is None else value for value in map(decimal, _words(text or ""))]
    if len(values) != n or not all(math.isfinite(value) for value in values):
        expected = "a finite number" if n == 1 else f"{n} finite numbers"
        got = "nothing" if text is None else repr(text[:60])
        raise ModelError(f"{owner}: {key} of <{element.tag}> must be {expected}; got {got}")
    return values


def _words(text: str) -> list[str]:
    """The words of an attribute, apart by blanks: XML's, not the many other blanks that Python knows."""
    return [word for word in re.split("[ \\t\\r\\n]+", text) if word]


def quoted(names: Iterable[str], most: int = 40) -> str:
    """The names in quotes, the first of them where there are many."""
    listed = [repr(name) for name in names]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def branches(joints: Mapping[str, str], most: int = 3) -> str:
    """Joints, given with the first one of their branch: by name, and of a branch with more than `most` how many."""
    sizes = Counter(joints.values())
    told = [
        f"{sizes[first]} joints from {first!r} on" if sizes[first] > most else repr(joint)
        for joint, first in joints.items()
        if sizes[first] <= most or joint == first
    ]
    return ", ".join(told[:40]) + (f" and {len(told) - 40} more" if len(told) > 40 else "")


class _CappedBuilder(TreeBuilder):
    """Builds the element tree while it stays small, and knows a xacro file when it sees one."""

    depth = 0
    count = 0
    namespace = ""  # of the root, as in "{...}robot"; dropped from every tag

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH:
            raise ModelError(f"XML must not be nested deeper than {MAX_DEPTH} elements")
        if self.count > MAX_ELEMENTS:
            raise ModelError(f"XML must not have more than {MAX_ELEMENTS} elements")
        namespace = tag[: tag.rfind("}") + 1]
        if self.count == 1:
            self.namespace = namespace
        if "xacro" in namespace or any("${" in value for value in attrs.values()):
            raise ModelError(
                "this is a xacro file; --xacro (xacro=True) evaluates it, "
                "or run xacro first, as in: xacro arm.xacro > arm.urdf"
            )
        return super().start(tag.removeprefix(self.namespace), attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag.removeprefix(self.namespace))


def read_robot(data: str | bytes) -> Element:
    """The <robot> element of a URDF."""
    if len(data) > MAX_BYTES:
        raise ModelError(f"a URDF must not be larger than {MAX_BYTES / 1e6:g} MB")
    parser = XMLParser(target=_CappedBuilder(), forbid_dtd=True)
    try:
        parser.feed(data)
        robot: Element = parser.close()
    except ModelError:
        raise
    except DefusedXmlException as error:
        raise ModelError("a URDF must not have a DTD, entities or external references") from error
    except ParseError as error:  # its text has the line and the column
        hint = "; if this is a xacro file, run xacro first" if "unbound prefix" in str(error) else ""
        raise ModelError(f"not well-formed XML: {error}{hint}") from error
    except (ValueError, LookupError) as error:
        raise ModelError(f"text that cannot be decoded: {error}") from error
    if robot.tag != "robot":
        raise ModelError(f"the outermost element of a URDF must be <robot>; got <{robot.tag}>")
    return robot
