"""Which of the arm's own geoms may touch each other in MuJoCo.

A cover is wider than the arm, and the capsules of neighbours overlap by construction, so that most pairs must not push.
MuJoCo excludes pairs of bodies, and lists pairs of geoms that touch whatever is excluded.  So a pair of bodies of which
all capsules may meet is left alone; any other is excluded, and those of its capsules that may meet are listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from xml.etree.ElementTree import Element

from ...errors import ModelError
from ..capsules import BASE
from ..model import Model
from .xml_text import add, element


def filter_contacts(root: Element, model: Model, bodies: list[str], self_pairs: Iterable[tuple[int, int]]) -> None:
    """Excludes the pairs of bodies that must not meet, and lists the pairs of geoms that may all the same."""
    meet = {(min(pair), max(pair)) for pair in self_pairs}
    for pair in sorted(meet):
        if not 0 <= pair[0] < pair[1] < len(model.capsules):
            raise ModelError(
                f"{model.name}: self_pairs must be two different capsules, by number, of {len(model.capsules)}; "
                f"got {pair}"
            )
        if model.capsules[pair[0]].link == model.capsules[pair[1]].link:
            raise ModelError(f"{model.name}: self_pairs must be of two links; got {pair}, both of one")
    by_link: dict[int, list[int]] = {}
    for k, capsule in enumerate(model.capsules):
        by_link.setdefault(capsule.link, []).append(k)
    contact = element("contact")
    listed: list[tuple[int, int]] = []
    for i, j in combinations(sorted(by_link), 2):
        both = [(min(x, y), max(x, y)) for x in by_link[i] for y in by_link[j]]
        allowed = [pair for pair in both if pair in meet]
        if len(allowed) < len(both) or _filtered_by_mujoco(i, j):
            add(contact, "exclude", body1=bodies[i - BASE], body2=bodies[j - BASE])
            listed += allowed
    for x, y in sorted(listed):
        add(contact, "pair", geom1=model.capsules[x].name, geom2=model.capsules[y].name)
    if len(contact):
        root.append(contact)


def _filtered_by_mujoco(i: int, j: int) -> bool:
    """MuJoCo keeps a body and its parent apart by itself; what is asked for is then to be listed."""
    return abs(i - j) == 1
