"""Display names: links of an arm and parts of people as a page writes them, short and in words.

link_name("j2s6s200_link_finger_tip_1", ...)    finger tip 1     what all links of the arm begin with is left out
link_name("j2s6s200_link_1", ...)               link 1           but for the word before a number
part_name("left_hand", ["visitor"])             left hand
part_name("coworker", ["visitor"])              visitor          a person of one shape has no parts
part_name("person 1 head", ["a", "b"])          b head           as controllers say it where there are several
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

ONE_SHAPE = "coworker"  # geometry.Person.cylinder: the name of its only part
NUMBERED = re.compile(r"person (\d+) (.+)", re.DOTALL)


def words(name: str) -> list[str]:
    """The words of a name."""
    return [word for word in re.split(r"[_/:\s]+", name) if word] or [name]


@lru_cache(maxsize=8)
def _common(names: tuple[str, ...]) -> int:
    """How many words all names begin with; of each a word is left."""
    split = [words(name) for name in sorted(set(names))]
    if len(split) < 2:
        return 0
    alike = [len(set(column)) == 1 for column in zip(*split, strict=False)]
    return min([*alike, False].index(False), *(len(each) - 1 for each in split))


def link_name(name: str, names: tuple[str, ...]) -> str:
    """The name of a link among the names of all."""
    found = words(name)
    start = _common(names) if name in names else 0
    if start > 0 and found[start][0].isdigit():
        start -= 1
    return " ".join(found[start:])


def part_name(part: str, people: Sequence[str]) -> str:
    """A part of a person among these people; with who it is if there are several."""
    numbered = NUMBERED.fullmatch(part)
    if numbered and int(numbered[1]) < len(people):
        who, part = people[int(numbered[1])], numbered[2]
        part = who if part == ONE_SHAPE else f"{who} {part}"
    elif part == ONE_SHAPE and len(people) == 1:
        part = people[0]
    elif part.endswith(f" {ONE_SHAPE}"):  # a recording names them itself
        part = part.removesuffix(f" {ONE_SHAPE}")
    return part.replace("_", " ")
