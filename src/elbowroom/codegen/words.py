"""What a header says about quantities and their inputs, and text from files made safe for a comment."""

from __future__ import annotations

import re

INPUTS = {
    "q": "joint positions, rad (m of a slide)",
    "qd": "joint speeds, rad/s (m/s)",
    "qdd": "joint accelerations, rad/s^2 (m/s^2)",
    "tau": "joint torques, N m (N)",
    "nu": "quasi-velocities",
    "epsilon": "quasi-forces",
}
WRENCHES = {
    "tool": "force (N) and moment (N m) on the arm at the tool, world axes",
    "links": "a row a link: force (N) and moment (N m) on it at its frame's origin, world axes",
}


def safe(text: object) -> str:
    """Text for a comment or a plain text file: printable ASCII on one line that ends no comment and no line.

    A backslash, which joins lines, a slash beside a star and doubled question marks (trigraphs) do not survive.
    """
    words = "".join(c if " " <= c <= "~" else " " if c.isspace() else "?" for c in str(text))
    words = re.sub(r"\?+", "?", words.replace("\\", "/"))
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=[*/])", " ", " ".join(words.split()))


def dimensions(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    return " x ".join(map(str, shape)) or "1"


def indexing(name: str, shape: tuple[int, ...]) -> str:
    """Where an element is, row-major."""
    if len(shape) < 2:
        return ""
    letters = "ijk"[: len(shape)]
    place = letters[0]
    for letter, size in zip(letters[1:], shape[1:], strict=True):
        place = f"{place} * {size} + {letter}" if len(place) == 1 else f"({place}) * {size} + {letter}"
    return f"row-major, element ({', '.join(letters)}) is {name}[{place}]"
